//! Tables that are too large to be cut at once: the first cuts are chosen on a sample.

use albers_classes::space::{Axis, AxisKind, Space};
use albers_partition::split::Policy;
use albers_privacy::Facts;
use albers_privacy::{Criterion, Requirement};
use albers_table::domain::Ruler;

use super::table::{Dice, Table, bound, sensitive};

/// More rows than are cut at once.
const N_LARGE: usize = 150_000;
/// More rows than the top's sample has.
const N_SAMPLED: usize = 400_000;

/// Two intervals and a set, and a sensitive column of two values in nearly equal shares.
fn table(n_rows: usize, k: u64, criteria: &[Criterion]) -> Table {
    let mut dice = Dice(11);
    let sizes = [1000, 50, 1 << 20];
    let columns = sizes.map(|n_codes| (0..n_rows).map(|_| dice.below(n_codes)).collect());
    let axis = |kind| Axis { kind, weight: 1.0, preferred: false };
    let space = Space {
        axes: vec![
            axis(AxisKind::Interval { scale: 1.0 / 999.0, ruler: Ruler::of_codes() }),
            axis(AxisKind::Set { scale: 1.0 / 49.0, n_codes: 50 }),
            axis(AxisKind::Interval {
                scale: 1.0 / f64::from((1 << 20) - 1),
                ruler: Ruler::of_codes(),
            }),
        ],
    };
    let facts = Facts {
        subjects: Vec::new(),
        sensitive: (0..n_rows).map(|_| dice.below(2)).collect(),
        n_sensitive: 1,
    };
    let rules = criteria.iter().map(|criterion| (0, *criterion)).collect();
    let requirement = Requirement::new(k, false, vec![sensitive("s", 2)], rules).expect("valid");
    let requirement = bound(requirement, &facts, n_rows).expect("all rows satisfy it");
    Table { space, columns: columns.into(), n_rows, facts, requirement }
}

#[test]
fn classes_of_a_large_table_satisfy_cannot_be_cut_and_tile_the_space() {
    let table = table(N_LARGE, 40, &[]);
    for policy in [Policy::Compact, Policy::Median, Policy::Sizes] {
        let classes = table.classes(policy, true);
        table.check_every_class_holds(&classes);
        classes.iter().for_each(|class| table.check_minimal(class));
        table.check_regions(&classes);
        assert!(classes.len() > N_LARGE / 160, "only {} classes", classes.len());
    }
}

/// A cell that satisfies the requirement on the sample need not do so with all its rows, and its
/// union with a satisfying neighbour need not either.
#[test]
fn cells_of_the_sampled_top_that_violate_are_merged_until_they_satisfy() {
    // The whole table is just even enough; cells of some thousand rows often are not.
    for criterion in [Criterion::AlphaK { alpha: 0.502 }, Criterion::TCloseness { t: 0.002 }] {
        let table = table(N_SAMPLED, 40, &[criterion]);
        for policy in [Policy::Compact, Policy::Median, Policy::Sizes] {
            let classes = table.classes(policy, false);
            table.check_every_class_holds(&classes);
            assert!(classes.len() > 1, "{criterion} leaves one class");
        }
    }
}
