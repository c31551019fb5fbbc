//! Tables that are cut outside of memory by counts of their values, against the same in memory.

use std::path::PathBuf;

use albers_classes::packed::{FactColumns, RowBlock, RowLayout};
use albers_classes::points::Points;
use albers_classes::space::{Axis, AxisKind, Space};
use albers_classes::{Region, TargetCodes};
use albers_index::buffer_tree::{BulkPlan, Intake, Loaded, Sizes};
use albers_index::rothko_tree::{Passes, RothkoPlan, RothkoTree};
use albers_partition::cell::TableSize;
use albers_partition::grain::Grain;
use albers_partition::mondrian::{Plan, partition};
use albers_partition::plan::PlannedWorkload;
use albers_partition::split::Policy;
use albers_partition::split::workload::{Target, TargetPlace, TargetValues, Workload};
use albers_privacy::Facts;
use albers_storage::memory_budget::MemoryBudget;
use albers_storage::spill::SpillStore;
use albers_storage::spill::backend::{Backend, Fault, FaultyBackend, MemoryBackend};
use albers_storage::watch::Silent;
use albers_storage::{Result, StorageError};
use albers_table::domain::Ruler;
use albers_table::row::RowId;
use proptest::prelude::*;

use super::load::pool;
use super::properties::config;
use super::table::{Asked, Dice, N_SECRETS, Table};

/// How a table is cut.
#[derive(Debug, Clone, Copy)]
struct Ways {
    keep_regions: bool,
    has_targets: bool,
    count_groups: Option<usize>,
    memory_rows: Option<usize>,
    budget_bytes: usize,
    sizes: Sizes,
    n_threads: usize,
}

impl Ways {
    /// In absurdly small pieces.
    fn draw(seed: u64) -> Ways {
        let mut dice = Dice(seed ^ 0x7ee);
        let block_bytes = dice.of(&[128, 256, 1024]);
        Ways {
            keep_regions: dice.once_in(2),
            has_targets: dice.once_in(2),
            count_groups: dice.of(&[None, Some(1), Some(2), Some(5)]),
            memory_rows: dice.of(&[None, Some(5), Some(20), Some(60)]),
            budget_bytes: dice.of(&[256 << 10, 1 << 20]),
            sizes: Sizes {
                part_bytes: dice.of(&[1 << 10, 4 << 10, 16 << 10]),
                buffer_bytes: dice.of(&[2, 3, 32]) * block_bytes,
                block_bytes,
            },
            n_threads: 1 + dice.below(3) as usize,
        }
    }

    /// A balanced table with much memory, so that the knobs alone decide.
    fn knobs(count_groups: usize, memory_rows: usize) -> Ways {
        Ways {
            keep_regions: false,
            has_targets: false,
            count_groups: Some(count_groups),
            memory_rows: Some(memory_rows),
            budget_bytes: 64 << 20,
            sizes: Sizes::within(64 << 20),
            n_threads: 1,
        }
    }
}

/// A leaf: its rows by their numbers, ascending, and its region.
#[derive(Debug, PartialEq)]
struct Leaf {
    rows: Vec<u32>,
    region: Option<Region>,
}

/// A class for each row that follows from its first code, more or less, and may be missing.
fn classes_of(table: &Table) -> Vec<u32> {
    let mut dice = Dice(table.n_rows as u64);
    table.rows.iter().map(|row| (row[0] / 3 + dice.below(2)) % 5).collect()
}

fn workload() -> Workload {
    let target = Target {
        place: TargetPlace::Carried(0),
        values: TargetValues::Classes { n_classes: 5, missing: Some(4) },
        weight: 1.0,
    };
    Workload { targets: vec![target], ..Workload::default() }
}

/// The plan of a table; facts are by row number where they are given.
fn with_plan<T>(table: &Table, ways: &Ways, facts: &Facts, work: impl FnOnce(&Plan<'_>) -> T) -> T {
    let requirement = table.requirement(&table.asked);
    let classes = TargetCodes::of_columns(&[&classes_of(table)]);
    let workload = workload();
    let planned = PlannedWorkload { workload: &workload, carried: &classes };
    work(&Plan {
        space: &table.space,
        requirement: &requirement,
        facts,
        workload: ways.has_targets.then_some(planned),
        policy: Policy::Median,
        keep_regions: ways.keep_regions,
        labels_apart: false,
        is_exact: true,
        trust: None,
        portfolio: None,
        grain: Grain::exact(),
        seed: 1,
    })
}

/// The leaves of a table that is cut in memory, from left to right.
fn inside(table: &Table, ways: &Ways) -> Vec<Leaf> {
    let n_sensitive = table.secrets.len();
    let row = |row: usize| table.secrets.iter().map(move |column| column[row]);
    let sensitive = (0..table.n_rows).flat_map(row).collect();
    let facts = Facts { subjects: Vec::new(), sensitive, n_sensitive };
    let column = |axis: usize| vec![table.rows.iter().map(|row| row[axis]).collect()];
    let n_attributes = table.greatest.len();
    let points = Points::new((0..n_attributes).map(column).collect());
    let groups = with_plan(table, ways, &facts, |plan| partition(points, None, plan, &Silent));
    let mut leaves = Vec::new();
    for block in &groups.expect("nothing cancels it").blocks {
        for (class, places) in block.classes().enumerate() {
            let rows = places.map(|place| block.row_idxs[place].index() as u32);
            let region = &block.regions[..];
            let own = class * n_attributes..(class + 1) * n_attributes;
            leaves.push(leaf(rows.collect(), ways.keep_regions.then(|| region[own].to_vec())));
        }
    }
    leaves
}

fn leaf(mut rows: Vec<u32>, region: Option<Region>) -> Leaf {
    rows.sort_unstable();
    Leaf { rows, region }
}

/// What came of a table that was cut outside of memory.
#[derive(Debug)]
struct Outside {
    leaves: Vec<Leaf>,
    n_giants: usize,
    passes: Passes,
}

fn outside(table: &Table, ways: &Ways) -> Outside {
    let budget = MemoryBudget::new(ways.budget_bytes);
    let store = store_at(Box::new(MemoryBackend::new()), &budget);
    let found = pool(ways.n_threads).install(|| try_outside(table, ways, &budget, &store));
    assert_eq!((budget.used_bytes(), store.space_bytes()), (0, 0), "all is given back");
    assert!(budget.peak_bytes() <= ways.budget_bytes);
    assert!(store.written_bytes() > 0, "nothing was spilled");
    found.expect("a store in memory does not fail")
}

/// A store that keeps nothing in memory.
fn store_at(backend: Box<dyn Backend>, budget: &MemoryBudget) -> SpillStore {
    let store = SpillStore::with_backend(backend, PathBuf::from("nowhere"), budget.clone());
    store.with_room(budget.limit_bytes())
}

fn try_outside(
    table: &Table,
    ways: &Ways,
    budget: &MemoryBudget,
    store: &SpillStore,
) -> Result<Outside> {
    let n_secrets = table.secrets.len();
    let greatest_facts: Vec<u32> = vec![N_SECRETS - 1; n_secrets].into_iter().chain([4]).collect();
    let layout = RowLayout::new(&table.greatest, &greatest_facts, !table.payloads.is_empty());
    let facts =
        FactColumns { subject: None, ruled: (0..n_secrets).collect(), targets: vec![n_secrets] };
    let no_facts = Facts::default();
    let requirement = table.requirement(&table.asked);
    with_plan(table, ways, &no_facts, |plan| {
        let bulk = BulkPlan {
            plan: *plan,
            strictest: &requirement,
            has_coarser: false,
            layout: &layout,
            facts: &facts,
            table: TableSize::Small,
            budget,
            store,
            sizes: ways.sizes,
        };
        let Ways { count_groups, memory_rows, .. } = *ways;
        let plan = RothkoPlan { bulk: &bulk, count_groups, memory_rows };
        let mut tree = RothkoTree::new(&plan, table.n_rows as u64, &table.greatest)?;
        take_in(table, &mut tree)?;
        let (mut leaves, mut n_giants) = (Vec::new(), 0);
        let passes = tree.drain(&mut |loaded| -> Result<()> {
            match loaded {
                Loaded::Subtree(subtree) => {
                    let whole = subtree.region.as_ref();
                    let regions = whole.map(|whole| subtree.tree.leaf_regions(whole));
                    let n_attributes = table.greatest.len();
                    let mut start = 0;
                    for (at, &end) in subtree.tree.leaf_ends().iter().enumerate() {
                        let own = at * n_attributes..(at + 1) * n_attributes;
                        let region = regions.as_ref().map(|regions| regions[own].to_vec());
                        let places = &subtree.order[start..end as usize];
                        leaves.push(leaf(ids(&layout, subtree.rows, places), region));
                        start = end as usize;
                    }
                }
                Loaded::Giant(giant) => {
                    let mut rows = RowBlock::default();
                    for block in &giant.blocks {
                        rows.read_from(&layout, &store.read(block)?);
                    }
                    let places: Vec<u32> = (0..rows.n_rows() as u32).collect();
                    leaves.push(leaf(ids(&layout, &rows, &places), giant.region));
                    n_giants += 1;
                }
            }
            Ok(())
        })?;
        Ok(Outside { leaves, n_giants, passes })
    })
}

fn ids(layout: &RowLayout, rows: &RowBlock, places: &[u32]) -> Vec<u32> {
    places.iter().map(|&place| rows.row_id(layout, place as usize).get() as u32).collect()
}

/// Takes all rows in, in chunks.
fn take_in<'a>(table: &Table, intake: &mut impl Intake<'a>) -> Result<()> {
    let router = intake.router();
    let facts: Vec<Vec<u32>> = table.secrets.iter().cloned().chain([classes_of(table)]).collect();
    let chunk_rows = table.n_rows.div_ceil(3);
    for first in (0..table.n_rows).step_by(chunk_rows) {
        let end = (first + chunk_rows).min(table.n_rows);
        let facts: Vec<Vec<u32>> = facts.iter().map(|own| own[first..end].to_vec()).collect();
        let codes = table.rows[first..end].concat();
        let payload = |row: usize| table.payload(first + row);
        intake.append(&router.route(RowId::new(first as u64), &codes, &facts, payload))?;
    }
    assert_eq!(intake.n_rows(), table.n_rows as u64);
    Ok(())
}

fn table_of(seed: u64, n_rows: usize, n_attributes: usize) -> Table {
    let mut table = Table::draw(seed, n_rows, n_attributes, true);
    table.subjects.clear();
    table
}

/// A table of one interval with so many codes for its rows.
fn line(n_rows: usize, k: u64, code: impl Fn(u32) -> u32) -> Table {
    let mut table = table_of(0, n_rows, 1);
    let codes: Vec<u32> = (0..n_rows as u32).map(code).collect();
    let greatest = codes.iter().copied().max().unwrap_or(0);
    let kind =
        AxisKind::Interval { scale: 1.0 / f64::from(greatest.max(1)), ruler: Ruler::of_codes() };
    table.space = Space { axes: vec![Axis { kind, weight: 1.0, preferred: false }] };
    table.rows = codes.into_iter().map(|code| vec![code]).collect();
    table.greatest = vec![greatest];
    (table.secrets, table.payloads) = (Vec::new(), Vec::new());
    table.asked = Asked { k, rules: Vec::new() };
    table
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn a_table_cut_by_counts_has_the_leaves_that_it_has_in_memory(
        seed in any::<u64>().no_shrink(),
        n_rows in prop_oneof![1 => 1..100usize, 2 => 100..=500usize],
        n_attributes in 1..=4usize,
    ) {
        let table = table_of(seed, n_rows, n_attributes);
        let ways = Ways::draw(seed);
        let found = outside(&table, &ways);
        assert!(found.leaves == inside(&table, &ways), "leaves differ: {ways:?}");
        let Passes { imported_bytes, loaded_bytes, n_repartitions, .. } = found.passes;
        assert!(imported_bytes > 0 && (loaded_bytes > 0 || found.n_giants > 0));
        if ways.memory_rows.is_some_and(|most| n_rows > most) {
            let is_one = found.leaves.len() == 1;
            assert!(n_repartitions > 0 || is_one, "{n_rows} rows were never apart: {ways:?}");
        }
    }
}

/// How often the rows of a table were moved, with their headers left out.
fn times(n_bytes: u64, passes: &Passes) -> f64 {
    n_bytes as f64 / passes.imported_bytes as f64
}

/// Figure 14: two groups fit. The root is counted while rows arrive, its children in one scan; those
/// of the next level do not fit, and the rows are divided among four parts.
#[test]
fn with_two_groups_in_memory_two_levels_are_counted_before_rows_are_divided_in_four() {
    let table = line(4096, 2, |row| row * 769 % 4096);
    let found = outside(&table, &Ways::knobs(2, 1024));
    assert_eq!((found.passes.n_scans, found.passes.n_repartitions), (1, 1));
    let found = outside(&table, &Ways::knobs(2, 512));
    // One scan for both children of the root, and one for each of the four parts, which are divided
    // once more.
    assert_eq!((found.passes.n_scans, found.passes.n_repartitions), (1 + 4, 1 + 4));
    assert_eq!(found.leaves.len(), 2048);
    assert_eq!(found.leaves, inside(&table, &Ways::knobs(2, 512)));
}

/// Section 5.3.1. The first of the scans of the model is the import, which reads the table itself.
#[test]
fn a_balanced_table_is_moved_as_often_as_the_cost_model_says() {
    let n_rows = 1 << 14;
    let table = line(n_rows, 2, |row| row * 12_289 % (1 << 14));
    for memory_rows in [64, 1000, 1 << 12, 1 << 13] {
        for count_groups in [1, 2, 3, 4, 8, 64] {
            let height = (n_rows as f64 / memory_rows as f64).log2().ceil();
            let levels = (count_groups as f64).log2().floor() + 1.0;
            let repartitions = (height / levels).ceil();
            let mut ways = Ways::knobs(count_groups, memory_rows);
            ways.sizes.block_bytes = 4096;
            let Outside { passes, .. } = outside(&table, &ways);
            let Passes { counted_bytes, repartitioned_read, loaded_bytes, .. } = passes;
            let read = times(counted_bytes + repartitioned_read + loaded_bytes, &passes) + 1.0;
            let written = times(passes.repartitioned_written, &passes);
            // Blocks that are not full have a header as large as others.
            let is_near = |given: f64, model: f64| (given - model).abs() <= 0.1 * model;
            let model = height + repartitions + 1.0;
            assert!(is_near(read, model), "{memory_rows} {count_groups}: {read}, not {model}");
            assert!(is_near(written, repartitions), "{memory_rows} {count_groups}: {written}");
        }
    }
}

#[test]
fn rows_that_are_all_alike_are_one_giant_leaf() {
    let table = line(1000, 3, |_| 7);
    let ways = Ways { keep_regions: true, ..Ways::knobs(4, 100) };
    let found = outside(&table, &ways);
    assert_eq!((found.leaves.len(), found.n_giants), (1, 1));
    assert_eq!(found.leaves, inside(&table, &ways));
    assert_eq!(found.passes.n_repartitions, 0);
}

#[test]
fn a_giant_leaf_stands_between_its_neighbours() {
    let table = line(1000, 3, |row| if row % 10 < 8 { 500 } else { row });
    let found = outside(&table, &Ways::knobs(2, 40));
    assert_eq!(found.n_giants, 1);
    assert_eq!(found.leaves, inside(&table, &Ways::knobs(2, 40)));
}

/// Cuts that each leave nearly all rows on one side: neither the stack nor the disk is used up.
#[test]
fn a_long_chain_of_uneven_cuts_is_followed_to_its_end() {
    let table = line(20_000, 2, |row| (f64::from(row) / 20.0).exp2().min(1e9) as u32);
    let mut ways = Ways::knobs(3, 50);
    (ways.has_targets, ways.keep_regions) = (true, true);
    ways.sizes = Sizes { part_bytes: 1 << 12, buffer_bytes: 1 << 12, block_bytes: 1 << 11 };
    let found = outside(&table, &ways);
    assert_eq!(found.leaves, inside(&table, &ways));
    assert!(times(found.passes.counted_bytes, &found.passes) < 100.0, "{:?}", found.passes);
}

#[test]
fn a_count_group_that_does_not_fit_is_refused_and_told_what_would_do() {
    let table = line(5000, 2, |row| row * 200_000);
    let mut ways = Ways { budget_bytes: 100_000, ..Ways::knobs(2, 100) };
    ways.sizes = Sizes { part_bytes: 1 << 12, buffer_bytes: 1 << 14, block_bytes: 1 << 10 };
    let attempt = |budget_bytes: usize| {
        let budget = MemoryBudget::new(budget_bytes);
        let store = store_at(Box::new(MemoryBackend::new()), &budget);
        let found = try_outside(&table, &ways, &budget, &store);
        assert_eq!((budget.used_bytes(), store.space_bytes()), (0, 0), "all is given back");
        found
    };
    let Err(StorageError::OverBudget { needed_bytes, what, .. }) = attempt(100_000) else {
        panic!("5,000 codes were counted in 100 kB");
    };
    assert!(what.contains("counts"), "{what}");
    let found = attempt(needed_bytes as usize).expect("as much as was told");
    assert_eq!(found.leaves, inside(&table, &ways));
}

#[test]
fn every_failing_write_or_read_is_an_error_and_leaves_nothing_behind() {
    let table = line(400, 2, |row| row * 37 % 400);
    let mut ways = Ways { budget_bytes: 1 << 20, ..Ways::knobs(2, 50) };
    ways.sizes = Sizes { part_bytes: 1 << 12, buffer_bytes: 1 << 12, block_bytes: 1 << 8 };
    let attempt = |fault: Option<Fault>| {
        let budget = MemoryBudget::new(ways.budget_bytes);
        let backend = Box::new(FaultyBackend::new(Box::new(MemoryBackend::new()), fault));
        let store = store_at(backend, &budget);
        let found = pool(1).install(|| try_outside(&table, &ways, &budget, &store));
        assert_eq!((budget.used_bytes(), store.space_bytes()), (0, 0), "all is given back");
        found
    };
    let kind = std::io::ErrorKind::StorageFull;
    let (mut n_writes, mut n_reads) = (0, 0);
    for nth in 1.. {
        match attempt(Some(Fault::Write { nth, kind })) {
            Err(StorageError::SpillWrite { .. }) => n_writes += 1,
            Err(other) => panic!("{other}"),
            Ok(_) => break,
        }
    }
    for nth in 1.. {
        match attempt(Some(Fault::Read { nth, kind })) {
            Err(StorageError::SpillRead { .. }) => n_reads += 1,
            Err(other) => panic!("{other}"),
            Ok(_) => break,
        }
    }
    assert!(n_writes > 10 && n_reads > n_writes, "{n_writes} writes, {n_reads} reads");
}
