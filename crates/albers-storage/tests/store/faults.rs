//! Every call of a small history fails once, in every way.

use std::io::ErrorKind;
use std::sync::Arc;

use albers_storage::StorageError;
use albers_storage::store::disk::{Call, Fault, FaultyDisk, MemoryDisk};
use albers_storage::store::{Access, Store, StoreError};

use crate::common::*;

/// Runs the small history with a fault and answers whether the fault happened; then the store on the
/// same disk must be as it was committed, and go on.
fn survives(fault: Fault) -> bool {
    let disk = MemoryDisk::new();
    let mut progress = Progress::default();
    let faulty = Arc::new(FaultyDisk::new(Arc::new(disk.clone()), Some(fault)));
    let outcome = small_history(Arc::<FaultyDisk>::clone(&faulty), &mut progress);
    let happened = match fault {
        Fault::Nth { call, nth, .. } => faulty.n_calls(call) >= nth,
        Fault::ShortWrite { nth, .. } => faulty.n_calls(Call::Write) >= nth,
        Fault::Off { nth } => faulty.n_changes() >= nth,
    };
    assert!(outcome.is_ok() || happened, "{fault:?}: {outcome:?}");
    if let Err(error) = &outcome {
        assert!(error.to_string().contains("memory"), "the file is not named: {error}");
    }
    drop(outcome);
    continues(&disk, progress, &format!("{fault:?}"));
    happened
}

/// A store after a fault is as it was committed, whole, and takes further changes.
pub fn continues(disk: &MemoryDisk, mut progress: Progress, what: &str) {
    let store = match try_open(disk, Access::Write) {
        Err(StorageError::Store(StoreError::Missing { .. })) if progress.committed.is_none() => {
            progress.committed = Some(State::default());
            create(disk)
        }
        opened => opened.unwrap_or_else(|error| panic!("{what}: {error}")),
    };
    let found = state(&store);
    progress.committed.get_or_insert_default();
    assert!(progress.allows(&found), "{what}: neither the last commit nor the one under way");
    assert_eq!(problems(&store), Vec::<String>::new(), "{what}");
    let mut progress = Progress { committed: Some(found), attempted: None };
    let store = small_batch(store, 9, &mut progress).unwrap();
    drop(store);
    let store = try_open(disk, Access::Read).unwrap();
    assert_eq!(Some(state(&store)), progress.committed, "{what}");
}

fn every_n(fault: impl Fn(u64) -> Fault) {
    let n_tried = (1..).take_while(|nth| survives(fault(*nth))).count();
    assert!(n_tried > 0, "nothing was tried");
}

#[test]
fn a_failed_write_loses_nothing() {
    every_n(|nth| Fault::Nth { call: Call::Write, nth, kind: ErrorKind::StorageFull });
}

#[test]
fn a_short_write_loses_nothing() {
    every_n(|nth| Fault::ShortWrite { nth, kind: ErrorKind::WriteZero });
}

#[test]
fn a_failed_sync_loses_nothing() {
    every_n(|nth| Fault::Nth { call: Call::Sync, nth, kind: ErrorKind::Other });
    every_n(|nth| Fault::Nth { call: Call::SyncFolder, nth, kind: ErrorKind::Other });
}

#[test]
fn a_failed_change_of_length_loses_nothing() {
    every_n(|nth| Fault::Nth { call: Call::SetLength, nth, kind: ErrorKind::StorageFull });
}

#[test]
fn a_failed_open_rename_or_removal_loses_nothing() {
    every_n(|nth| Fault::Nth { call: Call::Open, nth, kind: ErrorKind::PermissionDenied });
    every_n(|nth| Fault::Nth { call: Call::Rename, nth, kind: ErrorKind::Other });
    every_n(|nth| Fault::Nth { call: Call::Remove, nth, kind: ErrorKind::Other });
}

#[test]
fn a_failed_read_loses_nothing() {
    every_n(|nth| Fault::Nth { call: Call::Read, nth, kind: ErrorKind::Other });
}

#[test]
fn after_a_failure_work_is_refused_until_the_store_is_opened_again() {
    for call in [Call::Write, Call::Sync] {
        let disk = MemoryDisk::new();
        let faulty = Arc::new(FaultyDisk::new(Arc::new(disk.clone()), None));
        let store =
            Store::create_on(Arc::<FaultyDisk>::clone(&faulty), FORMAT, CACHE_BYTES).unwrap();
        let mut progress = Progress { committed: Some(State::default()), attempted: None };
        let store = small_batch(store, 0, &mut progress).unwrap();
        faulty.set_fault(Some(Fault::Nth { call, nth: 1, kind: ErrorKind::StorageFull }));
        let mut changes = store.begin().unwrap();
        let written = changes.write(b"some bytes");
        let error = match call {
            Call::Write => {
                assert!(is_refused(&changes.put(RECORDS, b"key", b"value").unwrap_err()));
                assert!(is_refused(&changes.commit().unwrap_err()));
                written.unwrap_err()
            }
            _ => changes.commit().unwrap_err(),
        };
        assert!(error.to_string().contains("pages.1") && error.to_string().contains("make room"));
        assert!(is_refused(&store.begin().unwrap_err()));
        assert!(is_refused(&store.snapshot().unwrap_err()));
        assert!(is_refused(&store.compact().unwrap_err()));
        assert_eq!(Some(state(&open(&disk))), progress.committed);
    }
}

fn is_refused(error: &StorageError) -> bool {
    let text = error.to_string();
    matches!(error, StorageError::Store(StoreError::Failed { .. }))
        && text.ends_with("open it again")
}
