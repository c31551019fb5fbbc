//! The n-th write or read of temporary data fails, for every n.

use std::io::ErrorKind;
use std::sync::Arc;

use albers_partition::split::Policy;
use albers_storage::memory_budget::MemoryBudget;
use albers_storage::spill::backend::{Fault, FaultyBackend, MemoryBackend};
use albers_storage::{Result, StorageError};

use super::giant::{setup, table};
use super::load::{Outcome, pool, store, try_load, visit};
use super::table::Table;

/// Rows of which some can be divided and many cannot, so that every way out is taken.
fn mixed_table() -> Table {
    let row = |at: u32| match at % 2 {
        0 => vec![7, 9],
        _ => vec![at * 37 % 1009, at * 61 % 1013],
    };
    table((0..360).map(row).collect(), vec![0; 360], 2, &[])
}

/// The outcome with a fault, and how many writes and reads there were. One thread, so that the n-th
/// operation is the same in every run.
fn run(table: &Table, fault: Option<Fault>) -> (Result<Outcome>, u64, u64) {
    let setup = setup(Policy::Median);
    let budget = MemoryBudget::new(setup.budget_bytes);
    let backend = Arc::new(FaultyBackend::new(Box::new(MemoryBackend::new()), fault));
    let store = store(&setup, Box::new(Arc::clone(&backend)), &budget);
    let outcome = pool(1).install(|| try_load(table, &setup, &budget, &store));
    assert_eq!((budget.used_bytes(), store.space_bytes()), (0, 0), "all is given back");
    (outcome, backend.n_writes(), backend.n_reads())
}

#[test]
fn every_write_that_fails_is_an_error_and_gives_all_memory_back() {
    let table = mixed_table();
    let (outcome, n_writes, _) = run(&table, None);
    let n_giants = outcome.unwrap().n_giants();
    assert!(n_writes > 10 && n_giants > 0, "{n_writes} writes, {n_giants} giants");
    for nth in 1..=n_writes {
        let kind = ErrorKind::StorageFull;
        let (outcome, ..) = run(&table, Some(Fault::Write { nth, kind }));
        let Err(StorageError::SpillWrite { source, .. }) = outcome else {
            panic!("write {nth} of {n_writes} failed unnoticed");
        };
        assert_eq!(source.kind(), kind);
    }
}

#[test]
fn every_read_that_fails_is_an_error_and_gives_all_memory_back() {
    let table = mixed_table();
    let (_, _, n_reads) = run(&table, None);
    assert!(n_reads > 10, "{n_reads} reads");
    for nth in 1..=n_reads {
        let kind = ErrorKind::TimedOut;
        let (outcome, ..) = run(&table, Some(Fault::Read { nth, kind }));
        let Err(StorageError::SpillRead { source, .. }) = outcome else {
            panic!("read {nth} of {n_reads} failed unnoticed");
        };
        assert_eq!(source.kind(), kind);
    }
}

#[test]
fn a_sink_that_refuses_any_part_ends_the_load_and_gives_all_memory_back() {
    let table = mixed_table();
    let n_parts = run(&table, None).0.unwrap().pieces.len();
    assert!(n_parts > 2, "{n_parts} parts");
    for refused in 0..n_parts {
        let setup = setup(Policy::Median);
        let budget = MemoryBudget::new(setup.budget_bytes);
        let store = store(&setup, Box::new(MemoryBackend::new()), &budget);
        let mut n_seen = 0;
        let outcome = visit(&table, &setup, &budget, &store, &mut |_, _| {
            n_seen += 1;
            if n_seen > refused { Err(StorageError::Stopped) } else { Ok(()) }
        });
        assert!(matches!(outcome, Err(StorageError::Stopped)));
        assert_eq!(n_seen, refused + 1, "nothing comes after a refusal");
        assert_eq!((budget.used_bytes(), store.space_bytes()), (0, 0), "all is given back");
    }
}
