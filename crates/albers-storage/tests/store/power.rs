//! The power is cut at every call of a small history; of what was not synced, anything may be left.

use std::sync::Arc;

use albers_storage::store::disk::{Fault, FaultyDisk, MemoryDisk};
use albers_storage::store::{Access, Store};

use crate::common::*;
use crate::faults::continues;

fn n_seeds() -> u64 {
    std::env::var("STORE_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(3)
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

#[test]
fn a_power_cut_after_a_killed_process_leaves_a_whole_store() {
    // What the killed process wrote last is in the file, but not on the disk; the next process must
    // not use pages again that it freed before it is.
    for nth in (1..).step_by(5) {
        let disk = MemoryDisk::new();
        let Some(progress) = run_until_off(&disk, nth) else { break };
        if progress.committed.is_none() {
            continue;
        }
        let found = state(&try_open(&disk, Access::Read).unwrap());
        assert!(progress.allows(&found), "call {nth}");
        for second in 1.. {
            let again = disk.copy();
            let fault = Some(Fault::Off { nth: second });
            let faulty = Arc::new(FaultyDisk::new(Arc::new(again.clone()), fault));
            let mut progress = progress.clone();
            let to_write = Access::Write;
            let opened =
                Store::open_on(Arc::<FaultyDisk>::clone(&faulty), FORMAT, to_write, CACHE_BYTES);
            let outcome = opened.and_then(|store| {
                progress = Progress { committed: Some(found.clone()), attempted: None };
                small_batch(store, 8, &mut progress)
            });
            drop(outcome);
            let crashed = again.crash(nth * 100 + second);
            continues(&crashed, progress, &format!("call {nth}, then call {second}"));
            if faulty.n_changes() < second {
                break;
            }
        }
    }
}
