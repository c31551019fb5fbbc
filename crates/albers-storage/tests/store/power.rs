//! The power is cut at every call of a small history; of what was not synced, anything may be left.

use std::sync::Arc;

use albers_storage::store::disk::{Call, Fault, FaultyDisk, MemoryDisk};
use albers_storage::store::{Access, Store};

use crate::common::*;
use crate::faults::continues;

fn n_seeds() -> u64 {
    std::env::var("STORE_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(2)
}

/// Runs the small history on a machine that goes off at a call; the answer is how far it came.
fn run_until_off(disk: &MemoryDisk, nth: u64) -> Option<Progress> {
    let mut progress = Progress::default();
    let faulty = Arc::new(FaultyDisk::new(Arc::new(disk.clone()), Some(Fault::Off { nth })));
    let outcome = small_history(Arc::<FaultyDisk>::clone(&faulty), &mut progress);
    drop(outcome);
    (faulty.n_changes() >= nth).then_some(progress)
}

#[test]
fn a_power_cut_at_any_call_leaves_a_whole_store() {
    for nth in 1.. {
        let disk = MemoryDisk::new();
        let Some(progress) = run_until_off(&disk, nth) else {
            assert!(nth > 50, "the history is too short to show anything");
            break;
        };
        for seed in 0..n_seeds() {
            let crashed = disk.crash(seed * 1000 + nth);
            continues(&crashed, progress.clone(), &format!("call {nth}, seed {seed}"));
        }
    }
}

/// A process was killed, the next one opens the store and changes it, and the power is cut at one of
/// its calls; answers whether it came so far.
fn open_until_off(disk: &MemoryDisk, progress: &Progress, nth: u64, seed: u64) -> bool {
    let found = state(&try_open(disk, Access::Read).unwrap());
    assert!(progress.allows(&found), "a killed process left something else than it committed");
    let disk = disk.copy();
    let faulty = Arc::new(FaultyDisk::new(Arc::new(disk.clone()), Some(Fault::Off { nth })));
    let mut progress = progress.clone();
    let to_write = Access::Write;
    let opened = Store::open_on(Arc::<FaultyDisk>::clone(&faulty), FORMAT, to_write, CACHE_BYTES);
    let outcome = opened.and_then(|store| {
        progress = Progress { committed: Some(found), attempted: None };
        small_batch(store, 8, &mut progress)
    });
    drop(outcome);
    continues(&disk.crash(seed), progress, &format!("then call {nth}, seed {seed}"));
    faulty.n_changes() >= nth
}

#[test]
fn a_power_cut_after_a_killed_process_leaves_a_whole_store() {
    // What the killed process wrote last is in the file, but not on the disk; the next process must
    // not use pages again that it freed before it is.
    let step = if std::env::var_os("STORE_ALL").is_some() { 1 } else { 9 };
    for nth in 1.. {
        let disk = MemoryDisk::new();
        let Some(progress) = run_until_off(&disk, nth) else { break };
        if progress.committed.is_some() {
            let mut calls = (1 + nth % step..).step_by(step as usize);
            while open_until_off(&disk, &progress, calls.next().unwrap(), nth) {}
        }
    }
}

#[test]
fn a_rename_that_is_not_on_the_disk_yet_is_so_before_the_old_files_go() {
    let mut n_tried = 0;
    for nth in 1.. {
        let disk = MemoryDisk::new();
        let kind = std::io::ErrorKind::Other;
        let fault = Some(Fault::Nth { call: Call::SyncFolder, nth, kind });
        let faulty = Arc::new(FaultyDisk::new(Arc::new(disk.clone()), fault));
        let mut progress = Progress::default();
        let outcome = small_history(Arc::<FaultyDisk>::clone(&faulty), &mut progress);
        if outcome.is_ok() {
            break;
        }
        if try_open(&disk, Access::Read).is_ok() {
            // A creation that was not answered may have happened.
            if progress.committed.is_none() {
                progress.attempted = Some(State::default());
            }
            for seed in 0..3 {
                n_tried +=
                    (1..).take_while(|nth| open_until_off(&disk, &progress, *nth, seed)).count();
            }
        }
    }
    assert!(n_tried > 0, "nothing was tried");
}
