//! Attempts to falsify what local recoding promises, on small tables and by brute force.
//!
//! A failure prints its seed, and stands in `local.regressions`, which is replayed first.

#[allow(dead_code, reason = "the tables are those of another test, which asks more of them")]
#[path = "mondrian/table.rs"]
mod table;

use albers_classes::class_block::Groups;
use albers_classes::points::Points;
use albers_classes::space::{Axis, AxisKind, Shown, Space};
use albers_partition::grain::Grain;
use albers_partition::local::partition;
use albers_partition::mondrian::{self, Plan};
use albers_partition::split::Policy;
use albers_privacy::Facts;
use albers_privacy::Requirement;
use albers_storage::watch::Silent;
use albers_table::chunk::TextColumnBuilder;
use albers_table::coding::{CodingPlan, RawColumn, encode};
use albers_table::domain::Ruler;
use albers_table::hierarchy::HierarchySpec;
use albers_table::schema::ColumnType;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use table::{Class, Dice, Table};

/// So many cases, unless `PROPTEST_CASES` asks for another number.
fn config(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(cases),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    }
}

fn plan_of(table: &Table) -> Plan<'_> {
    Plan {
        space: &table.space,
        requirement: &table.requirement,
        facts: &table.facts,
        policy: Policy::Compact,
        keep_regions: false,
        workload: None,
        labels_apart: false,
        is_exact: false,
        trust: None,
        portfolio: None,
        grain: Grain::default(),
        seed: 0,
    }
}

fn points_of(table: &Table) -> Points {
    let middle = table.n_rows / 2;
    let chunked = |column: &Vec<u32>| vec![column[..middle].to_vec(), column[middle..].to_vec()];
    Points::new(table.columns.iter().map(chunked).collect())
}

/// The classes of a table, once it is seen that every row is there once with its own codes.
fn classes(table: &Table) -> Vec<Class> {
    let groups = partition(points_of(table), None, &plan_of(table), &Silent);
    classes_of(table, &groups.expect("nothing cancels it"))
}

fn classes_of(table: &Table, groups: &Groups) -> Vec<Class> {
    assert!(groups.suppressed.row_idxs.is_empty());
    let n_attributes = table.columns.len();
    let mut is_seen = vec![false; table.n_rows];
    let mut classes = Vec::new();
    for block in &groups.blocks {
        for places in block.classes() {
            let rows: Vec<usize> =
                block.row_idxs[places.clone()].iter().map(|row| row.index()).collect();
            for (&row, at) in rows.iter().zip(places) {
                assert!(!std::mem::replace(&mut is_seen[row], true), "a row came twice");
                let codes = &block.codes[at * n_attributes..][..n_attributes];
                let own = table.columns.iter().map(|column| column[row]);
                assert!(own.eq(codes.iter().copied()), "a row has the codes of another");
            }
            classes.push(Class { rows, region: Vec::new() });
        }
    }
    assert!(is_seen.into_iter().all(|seen| seen), "a row was lost");
    table.check_every_class_holds(&classes);
    classes
}

/// A table of which nothing but k is asked.
fn plain(axes: Vec<Axis>, columns: Vec<Vec<u32>>, k: u64) -> Table {
    Table {
        space: Space { axes },
        n_rows: columns[0].len(),
        columns,
        facts: Facts { subjects: Vec::new(), sensitive: Vec::new(), n_sensitive: 0 },
        requirement: Requirement::new(k, false, Vec::new(), Vec::new()).expect("valid"),
    }
}

fn interval(n_codes: u32) -> Axis {
    let scale = 1.0 / f64::from((n_codes - 1).max(1));
    let kind = AxisKind::Interval { scale, ruler: Ruler::of_codes() };
    Axis { kind, weight: 1.0, preferred: false }
}

fn set(n_codes: u32) -> Axis {
    let kind = AxisKind::Set { scale: 1.0 / f64::from((n_codes - 1).max(1)), n_codes };
    Axis { kind, weight: 1.0, preferred: false }
}

/// Codes of three digits under their prefixes, all of them below `n_codes`.
fn label(n_codes: u32) -> Axis {
    let mut builder = TextColumnBuilder::new(ColumnType::Code);
    for code in 0..n_codes {
        builder.push(format!("{code:03}").as_bytes()).expect("a code");
    }
    let chunks = vec![builder.finish().expect("a column")];
    let column_type = ColumnType::Code;
    let column = RawColumn { name: "code".to_owned(), column_type, data_type: None, chunks };
    let coding =
        CodingPlan::Categories { hierarchy: Some(&HierarchySpec::Prefix), by_frequency: true };
    Axis::new(&encode(column, coding).expect("a hierarchy").domain, Shown::Label, 1.0, false)
}

fn draw(dice: &mut Dice, n_rows: usize, n_codes: u32) -> Vec<u32> {
    (0..n_rows).map(|_| dice.below(n_codes)).collect()
}

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn every_class_satisfies_the_requirement_and_every_row_is_there_once(
        seed in any::<u64>().no_shrink(),
        n_rows in prop_oneof![4 => 1..100usize, 1 => 100..600usize],
        n_attributes in 1..=9usize,
    ) {
        classes(&Table::draw(seed, n_rows, n_attributes, true));
    }

    #[test]
    fn classes_never_lose_more_than_cuts(
        seed in any::<u64>().no_shrink(),
        n_rows in prop_oneof![4 => 1..100usize, 1 => 100..600usize],
        n_attributes in 1..=9usize,
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, true);
        let cut = mondrian::partition(points_of(&table), None, &plan_of(&table), &Silent);
        let of_cuts = table.penalty(&classes_of(&table, &cut.expect("nothing cancels it")));
        let loss = table.penalty(&classes(&table));
        prop_assert!(loss <= of_cuts * (1.0 + 1e-6) + 1e-6, "{} instead of {}", loss, of_cuts);
    }

    /// Which of them goes where could only be told by what they carry.
    #[test]
    fn equal_records_are_in_one_class(
        seed in any::<u64>().no_shrink(), n_rows in 2..200usize, n_codes in 1..12u32, k in 1..9u64
    ) {
        let mut dice = Dice(seed);
        let columns = [n_codes, 3].map(|n_codes| draw(&mut dice, n_rows, n_codes)).to_vec();
        let table = plain(vec![interval(n_codes), set(3)], columns, k.min(n_rows as u64));
        let mut class_of = std::collections::BTreeMap::new();
        for (class, own) in classes(&table).iter().enumerate() {
            for &row in &own.rows {
                let tuple: Vec<u32> = table.columns.iter().map(|column| column[row]).collect();
                prop_assert_eq!(*class_of.entry(tuple).or_insert(class), class);
            }
        }
    }

    #[test]
    fn tuples_that_can_stand_alone_lose_nothing(
        seed in any::<u64>().no_shrink(), n_tuples in 1..40usize, k in 1..6u64
    ) {
        let mut dice = Dice(seed);
        let mut columns = vec![Vec::new(); 2];
        for _ in 0..n_tuples {
            let codes = [dice.below(50), dice.below(9)];
            for _ in 0..k + u64::from(dice.below(4)) {
                columns.iter_mut().zip(codes).for_each(|(column, code)| column.push(code));
            }
        }
        let table = plain(vec![interval(50), set(9)], columns, k);
        prop_assert_eq!(table.penalty(&classes(&table)), 0.0);
    }

    #[test]
    fn tiny_tables_lose_little_more_than_they_must(
        seed in any::<u64>().no_shrink(), n_rows in 2..9usize, k in 2..4u64
    ) {
        let mut dice = Dice(seed);
        let axes = vec![interval(20), set(4), label(30)];
        let columns = [20, 4, 30].map(|n_codes| draw(&mut dice, n_rows, n_codes)).to_vec();
        let table = plain(axes, columns, k.min(n_rows as u64));
        let (found, least) = (table.penalty(&classes(&table)), least_penalty(&table));
        prop_assert!(found <= 1.5 * least + 1e-9, "{found} is lost, {least} must be");
    }
}

/// The least penalty of all ways to divide the rows into classes of k.
fn least_penalty(table: &Table) -> f64 {
    let k = table.requirement.k() as usize;
    let mut least = f64::INFINITY;
    let mut pending: Vec<Vec<Vec<usize>>> = vec![Vec::new()];
    while let Some(classes) = pending.pop() {
        let row = classes.iter().map(Vec::len).sum();
        if row == table.n_rows {
            if classes.iter().all(|rows| rows.len() >= k) {
                let as_class = |rows| Class { rows, region: Vec::new() };
                let classes: Vec<Class> = classes.into_iter().map(as_class).collect();
                least = least.min(table.penalty(&classes));
            }
            continue;
        }
        for class in 0..=classes.len() {
            let mut more = classes.clone();
            more.resize(more.len().max(class + 1), Vec::new());
            more[class].push(row);
            pending.push(more);
        }
    }
    least
}

/// More tuples than a cell has, with attributes of many codes.
fn large(n_rows: usize, k: u64) -> Table {
    let mut dice = Dice(11);
    let axes = vec![interval(1 << 30), label(900), set(300), interval(12)];
    let columns = [1 << 30, 900, 300, 12].map(|n_codes| draw(&mut dice, n_rows, n_codes));
    plain(axes, columns.to_vec(), k)
}

#[test]
fn the_number_of_threads_does_not_change_the_classes() {
    let table = large(9000, 4);
    let rows_on = |n_threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().expect("threads");
        let classes = pool.install(|| classes(&table));
        classes.into_iter().map(|class| class.rows).collect::<Vec<_>>()
    };
    assert_eq!(rows_on(1), rows_on(2));
}

#[test]
fn classes_lose_less_than_those_of_cuts() {
    for k in [3, 40] {
        let table = large(6000, k);
        let local = table.penalty(&classes(&table));
        let cut = table.penalty(&table.classes(Policy::Compact, false));
        assert!(local < cut, "{local} is lost at k = {k}, and {cut} by cuts");
    }
}

#[test]
fn a_class_may_need_as_many_rows_as_there_are() {
    let table = large(5000, 5000);
    assert_eq!(classes(&table).len(), 1);
    let table = large(5000, 1700);
    assert!(classes(&table).len() <= 2);
}

#[test]
fn degenerate_tables_are_grouped() {
    let distinct: Vec<u32> = (0..300).collect();
    let cases = [
        (vec![vec![7]], 1),
        (vec![vec![7; 100]], 100),
        (vec![vec![7; 100]], 3),
        (vec![distinct.clone()], 1),
        (vec![distinct.clone()], 7),
        (vec![distinct.clone()], 300),
        (vec![distinct; 64], 5),
    ];
    for (columns, k) in cases {
        let n_attributes = columns.len();
        let axes = |axis: fn(u32) -> Axis| (0..n_attributes).map(|_| axis(300)).collect();
        for kind in [interval, set, label] {
            let table = plain(axes(kind), columns.clone(), k);
            let n_classes = classes(&table).len() as u64;
            assert!((1..=table.n_rows as u64 / k).contains(&n_classes));
        }
    }
}

#[test]
fn columns_of_missing_values_lose_nothing() {
    // The missing value of a label follows its leaves.
    let table = plain(vec![label(30), interval(2)], vec![vec![30; 12], vec![0; 12]], 5);
    assert_eq!(table.penalty(&classes(&table)), 0.0);
}
