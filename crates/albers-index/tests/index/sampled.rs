//! What must be true where tests tell how far a sample is trusted.

use albers_index::buffer_tree::{Loaded, Sizes};
use albers_partition::split::Policy;
use albers_partition::top::SampledTops;
use albers_partition::trust::{Population, SampleTest, Test, Trust};
use albers_storage::memory_budget::MemoryBudget;
use albers_storage::spill::backend::MemoryBackend;
use proptest::prelude::*;

use super::load::{Setup, checked_giant, checked_row, pool, store, tuples_of, visit, with_plan};
use super::oracle;
use super::properties::{Leaves, config, mondrian_counted, policies, sizes};
use super::table::Table;

/// The leaves of a table that is loaded outside of memory, and what became of sampled trees.
fn loaded(table: &Table, setup: &Setup, n_threads: usize) -> (Leaves, SampledTops) {
    let budget = MemoryBudget::new(setup.budget_bytes);
    let store = store(setup, Box::new(MemoryBackend::new()), &budget);
    let mut leaves: Leaves = Vec::new();
    let tops = pool(n_threads).install(|| {
        visit(table, setup, &budget, &store, &mut |plan, loaded| {
            match loaded {
                Loaded::Giant(giant) => {
                    let piece = checked_giant(table, plan, giant)?;
                    leaves.extend(piece.leaves.into_iter().map(|leaf| (leaf.rows, leaf.region)));
                }
                Loaded::Subtree(subtree) => {
                    let tree = &subtree.tree;
                    let regions = subtree.region.as_ref().map(|own| tree.leaf_regions(own));
                    for leaf in 0..tree.n_leaves() as u32 {
                        let places = &subtree.order[tree.rows_of(leaf..leaf + 1)];
                        let row = |&at: &u32| checked_row(table, plan, subtree.rows, at as usize);
                        let at = leaf as usize * tree.n_attributes();
                        let region = regions
                            .as_ref()
                            .map(|regions| regions[at..at + tree.n_attributes()].to_vec());
                        leaves.push((places.iter().map(row).collect(), region));
                    }
                }
            }
            Ok(())
        })
    });
    leaves.iter_mut().for_each(|(rows, _)| rows.sort_unstable());
    leaves.sort();
    (leaves, tops.expect("a store in memory does not fail"))
}

fn trusts() -> impl Strategy<Value = Trust> {
    let tests = prop_oneof![Just(Test::Exact), Just(Test::Normal), Just(Test::Naive)];
    (tests, prop_oneof![Just(None), (1..5usize).prop_map(Some)])
        .prop_map(|(test, height)| Trust { test, height })
}

/// A table is loaded as always, with its samples trusted.
fn setup_of(seed: u64, policy: Policy, trust: Trust, sample_rows: Option<usize>) -> Setup {
    let mut setup = Setup::draw(seed, policy, true);
    setup.trust = Some(trust);
    setup.grain.sample_rows = sample_rows;
    setup
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn leaves_and_counts_are_those_of_mondrian_whatever_the_memory_and_the_threads(
        (seed, n_rows, n_attributes) in sizes(),
        policy in policies(),
        trust in trusts(),
        sample_rows in prop_oneof![Just(None), (10..200usize).prop_map(Some)],
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, true);
        let setup = setup_of(seed, policy, trust, sample_rows);
        let (leaves, tops) = mondrian_counted(&table, &setup);
        for (rows, _) in &leaves {
            prop_assert!(oracle::holds(&table, &table.asked, rows));
        }
        let roomy = Sizes { part_bytes: 100 << 10, ..setup.sizes };
        let narrow = Sizes { part_bytes: 300, buffer_bytes: 512, block_bytes: 256 };
        for (n_threads, sizes) in [(1, setup.sizes), (4, roomy), (2, narrow)] {
            let (other, other_tops) = loaded(&table, &Setup { sizes, ..setup }, n_threads);
            prop_assert!(other == leaves, "other leaves, or other regions");
            prop_assert_eq!(Some(other_tops), tops.or(Some(SampledTops::default())));
        }
    }

    #[test]
    fn no_cell_of_a_tested_top_has_fewer_sampled_rows_than_the_test_asks_for(
        (seed, n_rows, n_attributes) in sizes(),
        policy in policies(),
        trust in trusts(),
        sample_rows in 10..200usize,
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, true);
        let setup = setup_of(seed, policy, trust, Some(sample_rows));
        let budget = MemoryBudget::new(setup.budget_bytes);
        let store = store(&setup, Box::new(MemoryBackend::new()), &budget);
        with_plan(&table, &setup, (&budget, &store), |plan| {
            let top = plan.top_of_table(&tuples_of(&table, &setup), n_rows as u64);
            let population =
                Population { n_rows: n_rows as u64, n_sampled: top.n_sampled(0) as u64 };
            let (asked, min_rows) = (plan.plan.requirement, plan.plan.min_rows());
            let least = SampleTest::new(asked, min_rows, trust.test, population).least_rows();
            let mut pending = vec![(0, 0)];
            while let Some((node, height)) = pending.pop() {
                prop_assert!(top.n_cells() == 1 || top.n_sampled(node) >= least);
                prop_assert!(trust.height.is_none_or(|most| height <= most));
                let children = top.children(node).into_iter().flatten();
                pending.extend(children.map(|child| (child, height + 1)));
            }
            Ok(())
        })?;
    }

    #[test]
    fn the_counts_of_the_house_are_the_same_whatever_the_memory(
        (seed, n_rows, n_attributes) in sizes(), policy in policies()
    ) {
        let mut table = Table::draw(seed, n_rows, n_attributes, true);
        table.coarser = table.asked.clone();
        let setup = Setup::draw(seed, policy, true);
        let (_, tops) = mondrian_counted(&table, &setup);
        let (_, found) = loaded(&table, &setup, 2);
        prop_assert_eq!(Some(found), tops.or(Some(SampledTops::default())));
    }
}

/// The tables above would prove little if no sampled split were undone, or all were.
#[test]
fn drawn_tables_are_divided_again_and_splits_are_kept_and_undone() {
    let mut all = SampledTops::default();
    let (mut n_again, mut n_pruned) = (0, 0);
    for seed in 0..200 {
        let table = Table::draw(seed, 400, 1 + seed as usize % 4, true);
        let trust = Trust { test: Test::Naive, height: Some(3) };
        let setup = setup_of(seed, Policy::Compact, trust, Some(40));
        let Some(tops) = mondrian_counted(&table, &setup).1 else { continue };
        n_again += u64::from(tops.repartitions > 1);
        n_pruned += u64::from(0 < tops.pruned && tops.pruned < tops.splits);
        all.merge(&tops);
    }
    assert!(n_again > 20 && n_pruned > 20, "{n_again} divided again, {n_pruned} pruned: {all:?}");
    assert!(all.fell_back > 5 && all.maybe_divisible > 0, "{all:?}");
}
