//! Attempts to falsify what a global recoding promises, on small tables and by brute force.
//!
//! A failure prints its seed, and stands in `specialize.regressions`, which is replayed first.

#[path = "mondrian/table.rs"]
#[expect(dead_code, reason = "what is asked of a local partitioning is not asked of a global one")]
mod table;

mod specialize {
    pub mod edges;
    pub mod naive;
    pub mod recoded;
    pub mod telling;
}

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use specialize::naive;
use specialize::recoded::Recoded;
use specialize::telling::{drawn_workload, shuffled};
use table::{Dice, Table};

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
    let n_rows = prop_oneof![4 => 1..100usize, 1 => 100..500usize];
    (any::<u64>().no_shrink(), n_rows, 1..=9usize)
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn every_class_satisfies_values_are_recoded_globally_and_no_step_is_left(
        (seed, n_rows, n_attributes) in sizes(), with_labels in any::<bool>()
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, with_labels);
        let recoded = Recoded::of(&table, 0);
        recoded.check_classes(&table);
        recoded.check_is_global(&table);
        recoded.check_minimal(&table);
    }

    #[test]
    fn what_goes_on_from_given_levels_satisfies_is_global_and_loses_no_more(
        (seed, n_rows, n_attributes) in sizes(), share in prop_oneof![Just(0.0), 0.0..1.0f64]
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, true);
        let max_suppressed = (n_rows as f64 * share) as usize;
        let mut dice = Dice(!seed);
        let levels: Vec<usize> = (0..n_attributes).map(|_| dice.below(4) as usize).collect();
        let recoded = Recoded::from_start(&table, max_suppressed, Some(&levels));
        recoded.check_classes(&table);
        prop_assert!(recoded.n_left_out <= max_suppressed);
        recoded.check_is_global(&table);
        if max_suppressed == 0 {
            recoded.check_minimal(&table);
        }
        let loss = recoded.loss(&table);
        let of_top = Recoded::of(&table, max_suppressed).loss(&table);
        prop_assert!(loss <= of_top * (1.0 + 1e-9), "{} instead of {}", loss, of_top);
        let at_levels = Recoded::loss_at_levels(&table, &levels, max_suppressed);
        prop_assert!(at_levels.is_none_or(|own| loss <= own * (1.0 + 1e-9) + 1e-9));
    }

    #[test]
    fn no_more_rows_are_left_out_than_may_be(
        (seed, n_rows, n_attributes) in sizes(), share in 0.0..1.0f64
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, true);
        let max_suppressed = (n_rows as f64 * share) as usize;
        let recoded = Recoded::of(&table, max_suppressed);
        recoded.check_classes(&table);
        prop_assert!(recoded.n_left_out <= max_suppressed);
        recoded.check_is_global(&table);
    }

    #[test]
    fn what_tells_most_satisfies_is_global_and_leaves_no_step_in_any_order(
        (seed, n_rows, n_attributes) in sizes(), with_labels in any::<bool>()
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, with_labels);
        let (workload, carried) = drawn_workload(&mut Dice(!seed), &table);
        let recoded = Recoded::telling(&table, &workload, &carried);
        recoded.check_classes(&table);
        prop_assert_eq!(recoded.n_left_out, 0);
        recoded.check_is_global(&table);
        recoded.check_minimal(&table);
        let (table, carried) = shuffled(table, &carried, &mut Dice(seed / 2));
        let again = Recoded::telling(&table, &workload, &carried);
        prop_assert_eq!(recoded.shown(), again.shown(), "the order of the rows decides");
    }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn every_step_has_the_greatest_score_of_all_that_are_allowable(
        seed in any::<u64>().no_shrink(), n_rows in 1..60usize, n_attributes in 1..=4usize
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, true);
        let (workload, carried) = drawn_workload(&mut Dice(!seed), &table);
        let recoded = Recoded::telling(&table, &workload, &carried);
        prop_assert_eq!(recoded.shown(), naive::shown(&table, &workload, &carried));
    }
}
