//! Attempts to falsify what a partitioning promises, on small tables and by brute force.
//!
//! A failure prints its seed, and stands in `mondrian.regressions`, which is replayed first.

mod mondrian {
    pub mod gaps;
    mod large;
    pub mod table;
}

use albers_partition::split::Policy;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use mondrian::gaps;
use mondrian::table::Table;

/// So many cases, unless `PROPTEST_CASES` asks for another number.
fn config(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(cases),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    }
}

/// A seed, rows and attributes. Some tables have more rows than a node that is weighed exactly.
fn sizes() -> impl Strategy<Value = (u64, usize, usize)> {
    let n_rows = prop_oneof![4 => 1..100usize, 1 => 100..500usize];
    (any::<u64>().no_shrink(), n_rows, 1..=9usize)
}

fn policies() -> impl Strategy<Value = Policy> {
    prop_oneof![Just(Policy::Compact), Just(Policy::Median), Just(Policy::Sizes)]
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn every_class_satisfies_the_requirement_and_cannot_be_cut_further(
        (seed, n_rows, n_attributes) in sizes(), policy in policies()
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, true);
        let classes = table.classes(policy, false);
        table.check_every_class_holds(&classes);
        classes.iter().for_each(|class| table.check_minimal(class));
    }

    #[test]
    fn intervals_and_sets_make_disjoint_boxes(
        (seed, n_rows, n_attributes) in sizes(), policy in policies()
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, false);
        table.check_boxes(&table.classes(policy, false));
    }

    #[test]
    fn regions_hold_their_points_and_tile_the_space(
        (seed, n_rows, n_attributes) in sizes(), policy in policies(), with_labels in any::<bool>()
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, with_labels);
        let classes = table.classes(policy, true);
        table.check_regions(&classes);
        let without = table.classes(policy, false);
        let same = classes.iter().zip(&without).all(|(a, b)| a.rows == b.rows);
        prop_assert!(same && classes.len() == without.len(), "regions change the classes");
    }
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn cuts_lie_in_the_gap_between_their_sides_and_at_nobodys_value_if_there_is_room(
        (seed, n_rows, n_attributes) in sizes(), policy in policies(), k in 1..6u64
    ) {
        gaps::check_cuts(seed, n_rows, n_attributes.min(8), policy, k);
    }
}

#[test]
fn compact_loses_less_than_median_over_many_tables() {
    let sum = |policy| -> f64 {
        (0..200)
            .map(|seed| {
                let table = Table::draw(seed, 60 + seed as usize, 1 + seed as usize % 5, false);
                table.penalty(&table.classes(policy, false))
            })
            .sum()
    };
    let (compact, median) = (sum(Policy::Compact), sum(Policy::Median));
    assert!(compact <= median, "compact loses {compact}, median {median}");
}

/// Of every table, since classes that are small by design are compared with those that are by chance.
#[test]
fn sizes_leave_smaller_classes_than_compact_and_median_over_many_tables() {
    let sum = |policy, with_labels| -> u64 {
        (0..200)
            .map(|seed| {
                let n_rows = 60 + seed as usize;
                let table = Table::draw(seed, n_rows, 1 + seed as usize % 5, with_labels);
                let classes = table.classes(policy, false);
                classes.iter().map(|class| (class.rows.len() as u64).pow(2)).sum::<u64>()
            })
            .sum()
    };
    for with_labels in [false, true] {
        let [sizes, compact, median] =
            [Policy::Sizes, Policy::Compact, Policy::Median].map(|own| sum(own, with_labels));
        assert!(sizes < compact && sizes < median, "{sizes}, {compact} and {median}");
    }
}
