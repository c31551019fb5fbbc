//! Several ways to divide a table, of which the one that loses least is taken.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

#[path = "mondrian/table.rs"]
#[expect(dead_code, reason = "other tests look at more")]
mod table;

use albers_classes::space::{Axis, AxisKind, Space};
use albers_partition::grain::Grain;
use albers_partition::outliers::covered::Covered;
use albers_partition::portfolio::Portfolio;
use albers_partition::split::Policy;
use albers_privacy::{
    ClassSummary, Criterion, Facts, GroundDistance, Requirement, SensitiveColumn,
};
use albers_table::domain::Ruler;

use table::{Class, Dice, Table};

/// Tables of all kinds of axes and requirements.
const N_TABLES: u64 = 120;

fn drawn(seed: u64) -> Table {
    Table::draw(seed, 40 + 13 * seed as usize, 1 + seed as usize % 5, true)
}

fn tried(table: &Table, is_disjoint: bool) -> (Vec<Class>, Portfolio) {
    let ways = Portfolio::new(is_disjoint);
    let classes = table.classes_by((Policy::Compact, Some(&ways)), false, Grain::default());
    (classes, ways)
}

fn row_of(table: &Table, row: usize) -> Vec<u32> {
    table.columns.iter().map(|column| column[row]).collect()
}

fn loss(table: &Table, classes: &[Class]) -> f64 {
    let of_class = |class: &Class| {
        let rows: Vec<Vec<u32>> = class.rows.iter().map(|&row| row_of(table, row)).collect();
        let covered = Covered::of(&table.space, rows.iter().map(Vec::as_slice));
        rows.len() as f64 * covered.loss(&table.space)
    };
    classes.iter().map(of_class).sum()
}

fn holds(table: &Table, class: &Class) -> bool {
    let mut summary = ClassSummary::new(table.requirement.shape());
    class.rows.iter().for_each(|&row| table.facts.add(row, &mut summary));
    table.requirement.holds(&summary)
}

/// Classes as sorted lists of what their rows hold.
fn contents(table: &Table, classes: &[Class]) -> Vec<Vec<Vec<u32>>> {
    let mut all: Vec<Vec<Vec<u32>>> = classes
        .iter()
        .map(|class| {
            let mut rows: Vec<Vec<u32>> =
                class.rows.iter().map(|&row| row_of(table, row)).collect();
            rows.sort_unstable();
            rows
        })
        .collect();
    all.sort_unstable();
    all
}

/// The same rows in another order.
fn shuffled(table: &Table, seed: u64) -> Table {
    let mut dice = Dice(seed);
    let mut order: Vec<usize> = (0..table.n_rows).collect();
    order.sort_by_cached_key(|_| dice.bits());
    let Facts { subjects, sensitive, n_sensitive } = &table.facts;
    let n_own = *n_sensitive;
    Table {
        space: Space { axes: table.space.axes.iter().map(same_axis).collect() },
        columns: table
            .columns
            .iter()
            .map(|column| order.iter().map(|&row| column[row]).collect())
            .collect(),
        n_rows: table.n_rows,
        facts: Facts {
            subjects: match subjects.is_empty() {
                true => Vec::new(),
                false => order.iter().map(|&row| subjects[row]).collect(),
            },
            sensitive: order
                .iter()
                .flat_map(|&row| sensitive[row * n_own..(row + 1) * n_own].to_vec())
                .collect(),
            n_sensitive: n_own,
        },
        requirement: table.requirement.clone(),
    }
}

fn same_axis(axis: &Axis) -> Axis {
    let kind = match &axis.kind {
        AxisKind::Interval { scale, .. } => {
            AxisKind::Interval { scale: *scale, ruler: Ruler::of_codes() }
        }
        AxisKind::Set { scale, n_codes } => AxisKind::Set { scale: *scale, n_codes: *n_codes },
        AxisKind::Label(_) => unreachable!("tables without labels are shuffled"),
    };
    Axis { kind, ..*axis }
}

#[test]
fn a_portfolio_never_loses_more_than_any_way_alone_and_every_class_satisfies() {
    let mut n_better = 0;
    for seed in 0..N_TABLES {
        let table = drawn(seed);
        let (classes, ways) = tried(&table, false);
        assert!(classes.iter().all(|class| holds(&table, class)), "table {seed}");
        let own = loss(&table, &classes);
        for policy in [Policy::Compact, Policy::Median] {
            let alone = loss(&table, &table.classes(policy, false));
            assert!(own <= alone * (1.0 + 1e-9), "table {seed}: {own} and {alone} by {policy}");
            n_better += usize::from(own < alone * 0.999);
        }
        let found = ways.found().unwrap();
        let weights: f64 = table.space.axes.iter().map(|axis| axis.weight).sum();
        let told = found.tried.iter().find(|(way, _)| *way == found.ran).unwrap().1;
        let whole = table.n_rows as f64 * weights;
        assert!((told * whole - own).abs() < 1e-6 * own.max(1.0), "table {seed}");
        assert!(found.tried.iter().all(|(_, other)| *other >= told) && found.tried.len() == 6);
    }
    assert!(n_better > 60, "only {n_better} of {} lost less", 2 * N_TABLES);
}

#[test]
fn neither_the_order_of_the_rows_nor_the_threads_choose() {
    for seed in 0..40 {
        let table = Table::draw(seed, 30 + 11 * seed as usize, 1 + seed as usize % 4, false);
        for grain in [Grain::default(), Grain::of(64_000)] {
            let of = |table: &Table, n_threads| {
                let ways = Portfolio::new(false);
                let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
                let classes =
                    pool.install(|| table.classes_by((Policy::Compact, Some(&ways)), false, grain));
                (contents(table, &classes), ways.found().cloned())
            };
            let expected = of(&table, 1);
            assert!(expected == of(&table, 3), "table {seed}");
            assert!(expected == of(&shuffled(&table, seed), 2), "table {seed}");
        }
    }
}

#[test]
fn ways_that_may_overlap_are_not_tried_where_classes_must_not() {
    for seed in 0..40 {
        let table = Table::draw(seed, 200, 2, false);
        let (classes, ways) = tried(&table, true);
        assert!(ways.found().unwrap().tried.iter().all(|(way, _)| !way.may_overlap()));
        let boxes: Vec<Vec<(u32, u32)>> = classes
            .iter()
            .map(|class| {
                let span = |column: &Vec<u32>| {
                    let codes = class.rows.iter().map(|&row| column[row]);
                    (codes.clone().min().unwrap(), codes.max().unwrap())
                };
                table.columns.iter().map(span).collect()
            })
            .collect();
        for (place, a) in boxes.iter().enumerate() {
            for b in &boxes[place + 1..] {
                let meet = a.iter().zip(b).all(|(a, b)| a.0 <= b.1 && b.0 <= a.1);
                assert!(!meet, "table {seed}");
            }
        }
    }
}

/// Rows that have one secret in common at one end of a column, and all secrets beyond.
fn with_poor_end(n_poor: usize) -> Table {
    let n_rows = 400;
    let secret = |row: usize| if row < n_poor { 0 } else { row as u32 * 7 % 5 };
    let column = SensitiveColumn {
        name: "secret".to_owned(),
        n_values: 5,
        distance: GroundDistance::Equal,
        numbers: None,
    };
    let rules = vec![(0, Criterion::DistinctLDiversity { l: 2 })];
    Table {
        facts: Facts {
            subjects: Vec::new(),
            sensitive: (0..n_rows).map(secret).collect(),
            n_sensitive: 1,
        },
        requirement: Requirement::new(5, false, vec![column], rules).unwrap(),
        ..one_column((0..n_rows as u32).map(|row| 20 * row + row * row % 17).collect(), 5)
    }
}

#[test]
fn rows_that_satisfy_nothing_among_themselves_do_not_keep_leaves_from_being_joined() {
    for n_poor in [2, 9, 12, 60] {
        let table = with_poor_end(n_poor);
        let (classes, ways) = tried(&table, false);
        assert!(classes.iter().all(|class| holds(&table, class)), "{n_poor}");
        let found = ways.found().unwrap();
        let least = |overlaps: bool| {
            let own = found.tried.iter().filter(|(way, _)| way.may_overlap() == overlaps);
            own.map(|(_, loss)| *loss).fold(f64::INFINITY, f64::min)
        };
        assert!(least(true) < least(false), "{n_poor}: {:?}", found.tried);
    }
}

/// One ordered column with some values.
fn one_column(values: Vec<u32>, k: u64) -> Table {
    let most = f64::from(*values.iter().max().unwrap());
    let kind = AxisKind::Interval { scale: 1.0 / most, ruler: Ruler::of_codes() };
    Table {
        space: Space { axes: vec![Axis { kind, weight: 1.0, preferred: false }] },
        n_rows: values.len(),
        columns: vec![values],
        facts: Facts { subjects: Vec::new(), sensitive: Vec::new(), n_sensitive: 0 },
        requirement: Requirement::new(k, false, Vec::new(), Vec::new()).unwrap(),
    }
}

/// The least loss of any division of sorted values into runs of at least k, equal values together.
fn optimum(table: &Table, k: usize) -> f64 {
    let mut values = table.columns[0].clone();
    values.sort_unstable();
    let most = f64::from(*values.last().unwrap());
    let mut least = vec![f64::INFINITY; values.len() + 1];
    least[0] = 0.0;
    for end in k..=values.len() {
        if end < values.len() && values[end] == values[end - 1] {
            continue;
        }
        for start in 0..=end - k {
            let width = f64::from(values[end - 1] - values[start]) / most;
            least[end] = least[end].min(least[start] + (end - start) as f64 * width);
        }
    }
    least[values.len()]
}

#[test]
fn of_one_column_no_division_into_runs_loses_less() {
    for seed in 0..24 {
        let mut dice = Dice(seed);
        let n_values = [30, 300, 5_000, 1 << 20][seed as usize % 4];
        let k = [2, 5, 10, 50][seed as usize / 4 % 4];
        let skew = |dice: &mut Dice| dice.below(n_values).min(dice.below(n_values));
        let values = (0..900).map(|_| skew(&mut dice)).collect();
        let table = one_column(values, k);
        let (classes, _) = tried(&table, false);
        let (own, best) = (loss(&table, &classes), optimum(&table, k as usize));
        assert!(own <= best * (1.0 + 1e-6), "table {seed}: {own} against {best}");
    }
}

#[test]
fn a_tuple_of_half_of_all_rows_is_alone_and_costs_the_others_nothing() {
    for (n_rows, grain) in [(3_000, Grain::default()), (6_000, Grain::of(500_000))] {
        let mut dice = Dice(n_rows as u64);
        let column = |dice: &mut Dice| -> Vec<u32> {
            (0..n_rows).map(|row| if row % 2 == 0 { 500 } else { dice.below(1_000) }).collect()
        };
        let axis = || Axis {
            kind: AxisKind::Interval { scale: 1.0 / 999.0, ruler: Ruler::of_codes() },
            weight: 1.0,
            preferred: false,
        };
        let table = Table {
            space: Space { axes: vec![axis(), axis()] },
            columns: vec![column(&mut dice), column(&mut dice)],
            ..one_column(vec![1; n_rows], 10)
        };
        let ways = Portfolio::new(false);
        let classes = table.classes_by((Policy::Compact, Some(&ways)), false, grain);
        let alone = table.classes_by((Policy::Compact, None), false, grain);
        let (own, alone) = (loss(&table, &classes), loss(&table, &alone));
        assert!(own <= alone * 1.05, "{own} and {alone} of {n_rows} rows");
        let heavy = classes.iter().find(|class| class.rows.len() > n_rows / 3).unwrap();
        let is_other = |&&row: &&usize| row % 2 == 1;
        assert!(heavy.rows.iter().filter(is_other).count() < 10, "others are shown with it");
    }
}
