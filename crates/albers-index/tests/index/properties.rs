//! What must be true of the index of any table.

use albers_partition::split::Policy;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::load::{GRANULARITIES, Outcome, Setup, load};
use super::oracle;
use super::table::Table;

/// So many cases, unless `PROPTEST_CASES` asks for another number.
fn config(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(cases),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    }
}

/// A seed, rows and attributes.
fn sizes() -> impl Strategy<Value = (u64, usize, usize)> {
    let n_rows = prop_oneof![1 => 1..100usize, 2 => 100..=400usize];
    (any::<u64>().no_shrink(), n_rows, 1..=4usize)
}

fn policies() -> impl Strategy<Value = Policy> {
    prop_oneof![Just(Policy::Compact), Just(Policy::Median)]
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn leaves_hold_every_row_once_and_each_satisfies_the_requirement(
        (seed, n_rows, n_attributes) in sizes(), policy in policies()
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, true);
        let outcome = load(&table, &Setup::draw(seed, policy, false), 1);
        check_rows(&table, &outcome);
        check_leaves(&table, &outcome);
    }

    #[test]
    fn the_index_does_not_depend_on_the_threads(
        (seed, n_rows, n_attributes) in sizes(), policy in policies()
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, true);
        let setup = Setup::draw(seed, policy, true);
        let (one, four) = (load(&table, &setup, 1), load(&table, &setup, 4));
        prop_assert!(one == four, "one thread and four threads build different trees");
    }

    #[test]
    fn regions_hold_their_rows_and_tile_the_space(
        (seed, n_rows, n_attributes) in sizes(), policy in policies(), with_labels in any::<bool>()
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, with_labels);
        let outcome = load(&table, &Setup::draw(seed, policy, true), 1);
        check_regions(&table, &outcome);
    }

    #[test]
    fn coarser_classes_are_numbered_in_order_and_satisfy_the_coarser_requirement(
        (seed, n_rows, n_attributes) in sizes(), policy in policies()
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, true).with_k(2);
        let outcome = load(&table, &Setup::draw(seed, policy, false), 1);
        check_classes(&table, &outcome);
    }
}

fn check_rows(table: &Table, outcome: &Outcome) {
    let mut rows: Vec<u32> = outcome.leaves().flat_map(|leaf| leaf.rows.clone()).collect();
    rows.sort_unstable();
    assert!(rows.into_iter().eq(0..table.n_rows as u32), "a row was lost or came twice");
}

fn check_leaves(table: &Table, outcome: &Outcome) {
    for leaf in outcome.leaves() {
        assert!(oracle::holds(table, &table.asked, &leaf.rows), "a leaf misses the requirement");
    }
    for piece in &outcome.pieces {
        let rows: Vec<u32> = piece.leaves.iter().flat_map(|leaf| leaf.rows.clone()).collect();
        let holds = oracle::holds(table, &table.coarser, &rows);
        assert!(holds, "a part misses the strictest requirement");
    }
}

fn check_regions(table: &Table, outcome: &Outcome) {
    let regions: Vec<_> =
        outcome.leaves().map(|leaf| leaf.region.as_ref().expect("regions are kept")).collect();
    for (leaf, region) in outcome.leaves().zip(&regions) {
        for &row in &leaf.rows {
            let codes = table.rows[row as usize].iter().zip(region.iter());
            let is_inside = codes.into_iter().all(|(code, (lo, hi))| lo <= code && code <= hi);
            assert!(is_inside, "a region does not hold its rows");
        }
    }
    if table.has_labels() {
        // What is left when a label's child is taken from the middle keeps the whole region.
        return;
    }
    for (at, one) in regions.iter().enumerate() {
        for other in &regions[..at] {
            let apart = one.iter().zip(other.iter()).any(|(a, b)| a.1 < b.0 || b.1 < a.0);
            assert!(apart, "two regions have a point in common");
        }
    }
    let share = |&(lo, hi): &(u32, u32)| (f64::from(hi - lo) + 1.0) / 2f64.powi(32);
    let volume: f64 = regions.iter().map(|own| own.iter().map(share).product::<f64>()).sum();
    assert!((volume - 1.0).abs() < 1e-9, "regions fill {volume} of the space");
}

fn check_classes(table: &Table, outcome: &Outcome) {
    for piece in &outcome.pieces {
        for (classes, granularity) in piece.classes.iter().zip(GRANULARITIES) {
            assert_eq!(classes.len(), piece.leaves.len(), "every leaf has a class");
            let mut rows_of: Vec<Vec<u32>> = Vec::new();
            for (leaf, &class) in piece.leaves.iter().zip(classes) {
                assert!(class as usize <= rows_of.len(), "{granularity:?} leaves a number out");
                if class as usize == rows_of.len() {
                    rows_of.push(Vec::new());
                }
                rows_of[class as usize].extend(&leaf.rows);
            }
            for rows in rows_of {
                let holds = oracle::holds(table, &table.coarser, &rows);
                assert!(holds, "{granularity:?} makes a class that misses the requirement");
            }
        }
    }
}
