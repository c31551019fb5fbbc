//! A BANG file outside of memory is that of all rows in memory, and ends well when it cannot be built.

use std::io::ErrorKind;
use std::sync::Arc;

use albers_classes::Span;
use albers_classes::space::Shown;
use albers_index::bang_file::scale::Scale;
use albers_index::bang_file::space::HalvedSpace;
use albers_index::bang_file::{BangFile, BangPlan, LotSizes};
use albers_index::buffer_tree::BulkPlan;
use albers_index::key_buffers::{BangLoad, BangUnit, KeyBuffers, LoadedUnit, Visit};
use albers_partition::split::Policy;
use albers_partition::split::rule::{Allowance, Rule};
use albers_privacy::Facts;
use albers_storage::memory_budget::MemoryBudget;
use albers_storage::spill::SpillStore;
use albers_storage::spill::backend::{Fault, FaultyBackend, MemoryBackend};
use albers_storage::watch::Silent;
use albers_storage::{Result, StorageError};
use albers_table::chunk::{ColumnChunk, TickUnit, narrow_ticks};
use albers_table::coding::{CodingPlan, RawColumn, encode};
use albers_table::row::RowIdx;
use albers_table::schema::ColumnType;
use proptest::prelude::*;

use super::giant::{setup, table};
use super::load::{Setup, checked_row, pool, store, take_in, tuples_of, with_plan};
use super::oracle;
use super::properties::config;
use super::table::Table;

/// A block: its rows, its region, and the regions in it.
type Found = (Vec<u32>, Vec<Span>, Vec<Vec<Span>>);

/// The same table with codes that are whole numbers near each other.
fn tamed(mut table: Table) -> Table {
    const GREATEST: u32 = 1 << 29;
    table.rows.iter_mut().flatten().for_each(|code| *code = (*code).min(GREATEST));
    table.greatest.iter_mut().for_each(|code| *code = (*code).min(GREATEST));
    table
}

/// Whole numbers from 0 to the greatest code of each attribute.
fn space(table: &Table) -> Arc<HalvedSpace> {
    let scale = |&greatest: &u32| {
        let cells = narrow_ticks(vec![0, i64::from(greatest)], &[], TickUnit::Integer);
        let chunks = vec![ColumnChunk { cells, missing: Vec::new() }];
        let column_type = ColumnType::Integer;
        let raw = RawColumn { name: "x".to_owned(), column_type, data_type: None, chunks };
        let domain = encode(raw, CodingPlan::Ordered).expect("whole numbers").domain;
        Scale::of_counts(None, (&domain, Shown::Interval), None).expect("a scale")
    };
    Arc::new(HalvedSpace::new(table.greatest.iter().map(scale).collect()))
}

fn lot_sizes(table: &Table, setup: &Setup) -> LotSizes {
    LotSizes::of(table.n_rows as u64, &setup.grain)
}

/// The blocks of a unit; asserts that rows are as they were put in.
fn blocks_of(table: &Table, plan: &BulkPlan<'_>, unit: &BangUnit<'_>) -> Vec<Found> {
    let mut start = 0;
    let block = |(block, &end): (u32, &u32)| {
        let own = &unit.order[start as usize..end as usize];
        start = end;
        let mut rows: Vec<u32> =
            own.iter().map(|&row| checked_row(table, plan, unit.rows, row as usize)).collect();
        rows.sort_unstable();
        let mut holes = unit.file.hole_boxes(block);
        holes.sort();
        (rows, unit.file.region_box(block), holes)
    };
    (0u32..).zip(&unit.ends).map(block).collect()
}

/// All blocks of a file that is built through buffers, and how many of them do not fit.
fn loaded(
    table: &Table,
    setup: &Setup,
    (budget, store): (&MemoryBudget, &SpillStore),
    nests: bool,
) -> Result<(Vec<Found>, usize)> {
    with_plan(table, setup, (budget, store), |plan| {
        let (space, lot_sizes) = (space(table), lot_sizes(table, setup));
        let load = BangLoad { bulk: plan, space: &space, nests, lot_sizes, is_one_unit: false };
        let tuples = tuples_of(table, setup);
        let mut buffers =
            KeyBuffers::new(load, &tuples, table.n_rows as u64, table.payload_bytes())?;
        take_in(table, setup, &mut buffers)?;
        let mut file = buffers.sort(&Silent)?;
        let (mut found, mut n_giants, mut n_before) = (Vec::new(), 0, 0);
        file.visit(Visit::Again, &Silent, &mut |_| -> Result<()> {
            n_before += 1;
            Ok(())
        })?;
        let mut n_units = 0;
        file.visit(Visit::Last, &Silent, &mut |loaded| -> Result<()> {
            n_units += 1;
            match loaded {
                LoadedUnit::Unit(unit) => found.extend(blocks_of(table, plan, &unit)),
                LoadedUnit::Giant(giant) => {
                    n_giants += 1;
                    let mut rows = albers_classes::packed::RowBlock::default();
                    for block in &giant.blocks {
                        rows.read_from(plan.layout, &plan.store.read(block)?);
                    }
                    let mut own: Vec<u32> = (0..rows.n_rows())
                        .map(|row| RowIdx::of_id(rows.row_id(plan.layout, row)).get())
                        .collect();
                    own.sort_unstable();
                    let n_attributes = table.greatest.len();
                    let holes = giant.holes.chunks_exact(n_attributes).map(<[Span]>::to_vec);
                    let mut holes: Vec<Vec<Span>> = holes.collect();
                    holes.sort();
                    found.push((own, giant.region.clone(), holes));
                }
            }
            Ok(())
        })?;
        assert_eq!(n_before, n_units, "a file can be looked at again");
        found.sort();
        Ok((found, n_giants))
    })
}

/// The blocks of all rows in memory.
fn built(table: &Table, setup: &Setup, nests: bool) -> Vec<Found> {
    let requirement = table.requirement(&table.asked);
    let n_secrets = table.secrets.len();
    let sensitive = (0..table.n_rows).flat_map(|row| table.secrets.iter().map(move |own| own[row]));
    let facts = Facts {
        subjects: table.subjects.iter().map(|&own| u64::from(own)).collect(),
        sensitive: sensitive.collect(),
        n_sensitive: n_secrets,
    };
    let has_rule = requirement.is_only_row_count().is_none();
    let rule = has_rule.then_some(Rule { requirement: &requirement, facts: &facts });
    let allowance = Allowance { min_rows: requirement.min_rows() as usize, rule };
    let lot_sizes = lot_sizes(table, setup);
    let plan = BangPlan { space: space(table), allowance, nests, lot_sizes };
    let of_row = |row: usize, out: &mut [u32]| out.copy_from_slice(&table.rows[row]);
    let file = BangFile::build(table.n_rows, of_row, &plan, &Silent).expect("a file");
    file.check_invariants(&table.rows, |rows| oracle::holds(table, &table.asked, rows));
    let mut found: Vec<Found> = (0..file.n_blocks() as u32)
        .map(|block| {
            let mut rows: Vec<u32> = file.rows_of(block).collect();
            rows.sort_unstable();
            let mut holes = file.hole_boxes(block);
            holes.sort();
            (rows, file.region_box(block), holes)
        })
        .collect();
    found.sort();
    found
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn a_file_of_any_budget_is_that_of_all_rows_in_memory(
        seed in any::<u64>(),
        n_rows in prop_oneof![1 => 1..100usize, 2 => 100..=400usize],
        n_attributes in 1..=4usize,
        nests in any::<bool>(),
    ) {
        let table = tamed(Table::draw(seed, n_rows, n_attributes, false));
        let setup = Setup::draw(seed, Policy::Median, true);
        let whole = built(&table, &setup, nests);
        for budget_bytes in [setup.budget_bytes, 1 << 30] {
            let roomy = budget_bytes > setup.budget_bytes;
            let sizes = albers_index::buffer_tree::Sizes::within(budget_bytes);
            let setup = Setup {
                budget_bytes,
                sizes: if roomy { sizes } else { setup.sizes },
                room_bytes: if roomy { 0 } else { setup.room_bytes },
                ..setup
            };
            let budget = MemoryBudget::new(budget_bytes);
            let store = store(&setup, Box::new(MemoryBackend::new()), &budget);
            let found = loaded(&table, &setup, (&budget, &store), nests);
            match found {
                Ok((found, _)) => prop_assert_eq!(&found, &whole),
                // A unit must fit.
                Err(StorageError::OverBudget { .. }) => prop_assert!(!roomy),
                Err(other) => prop_assert!(false, "{other}"),
            }
            prop_assert_eq!((budget.used_bytes(), store.space_bytes()), (0, 0));
        }
    }
}

/// Rows of which some can be divided and many cannot, so that every way out is taken.
fn mixed_table() -> Table {
    let row = |at: u32| match at % 2 {
        0 => vec![7, 9],
        _ => vec![at * 37 % 1009, at * 61 % 1013],
    };
    table((0..360).map(row).collect(), vec![0; 360], 2, &[])
}

type Run = (Result<(Vec<Found>, usize)>, u64, u64);

/// The outcome with a fault, and how many writes and reads there were.
fn run(table: &Table, fault: Option<Fault>) -> Run {
    let setup = setup(Policy::Median);
    let budget = MemoryBudget::new(setup.budget_bytes);
    let backend = Arc::new(FaultyBackend::new(Box::new(MemoryBackend::new()), fault));
    let store = store(&setup, Box::new(Arc::clone(&backend)), &budget);
    let outcome = pool(1).install(|| loaded(table, &setup, (&budget, &store), true));
    assert_eq!((budget.used_bytes(), store.space_bytes()), (0, 0), "all is given back");
    (outcome, backend.n_writes(), backend.n_reads())
}

#[test]
fn every_write_and_read_that_fails_is_an_error_and_gives_all_memory_back() {
    let table = mixed_table();
    let (outcome, n_writes, n_reads) = run(&table, None);
    let n_giants = outcome.unwrap().1;
    assert!(n_writes > 10 && n_reads > 10 && n_giants > 0, "{n_writes}, {n_reads}, {n_giants}");
    for nth in 1..=n_writes {
        let kind = ErrorKind::StorageFull;
        let (outcome, ..) = run(&table, Some(Fault::Write { nth, kind }));
        assert!(matches!(outcome, Err(StorageError::SpillWrite { .. })), "write {nth}");
    }
    for nth in 1..=n_reads {
        let kind = ErrorKind::TimedOut;
        let (outcome, ..) = run(&table, Some(Fault::Read { nth, kind }));
        assert!(matches!(outcome, Err(StorageError::SpillRead { .. })), "read {nth}");
    }
}
