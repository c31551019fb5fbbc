//! A job that is no longer wanted.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use albers_release::ReleaseError;
use albers_release::door::{GiantLeaf, LeafClasses};
use albers_storage::StorageError;
use albers_storage::watch::{Phase, Watch};

use super::table::{Case, Table, WAYS, Way};

/// Breaks at one of the calls, and counts them.
struct Breaking {
    at: u64,
    n_calls: AtomicU64,
    n_rows: AtomicU64,
    phases: Mutex<Vec<Phase>>,
}

impl Breaking {
    fn at(at: u64) -> Breaking {
        let (n_calls, n_rows) = (AtomicU64::new(0), AtomicU64::new(0));
        Breaking { at, n_calls, n_rows, phases: Mutex::new(Vec::new()) }
    }
}

impl Watch for Breaking {
    fn phase(&self, phase: Phase, _n_rows: Option<u64>) {
        self.phases.lock().expect("nobody panics").push(phase);
        self.n_rows.store(0, Ordering::Relaxed);
    }

    fn advance(&self, n_rows: u64) -> ControlFlow<()> {
        self.n_rows.fetch_add(n_rows, Ordering::Relaxed);
        match self.n_calls.fetch_add(1, Ordering::Relaxed) < self.at {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}

#[test]
fn cancelling_at_any_time_leaves_nothing_behind() {
    let table = Table::mixed(2000);
    let rows: Vec<u32> = (0..2000).collect();
    let classes: Vec<&[u32]> = rows[..700].chunks(7).collect();
    for way in WAYS {
        let case = Case::of_k(&table, way, 7);
        let pass = |watch: &Breaking| {
            case.pass(watch, |door, packer| {
                let leaves = packer.leaves(&table.classes(&classes));
                door.admit_leaves(leaves.rows(packer), &[LeafClasses::default()])?;
                // One that does not fit in the memory of the buckets.
                let mut bytes = Vec::new();
                packer.pack(table.classes(&[&rows[700..]])[0].iter()).write_to(&mut bytes);
                let (layout, store) = (packer.layout, packer.store);
                let blocks = [store.put(bytes)?];
                let (region, holes, features) = (None, &[][..], &[][..]);
                door.admit_giant(GiantLeaf {
                    layout,
                    store,
                    blocks: &blocks,
                    region,
                    holes,
                    features,
                })
            })
        };
        let whole = Breaking::at(u64::MAX);
        let outcome = pass(&whole).unwrap();
        assert_eq!(outcome.n_parts[0][1], usize::from(way != Way::Memory), "one is a giant");
        assert_eq!(*whole.phases.lock().unwrap(), [Phase::Verify, Phase::Write]);
        assert_eq!(whole.n_rows.into_inner(), 2000, "every row is written once");
        let n_calls = whole.n_calls.into_inner();
        assert!(n_calls > 4, "{n_calls}");
        for at in 0..n_calls {
            // The case itself looks whether anything is left in the folder.
            let cancelled = pass(&Breaking::at(at)).unwrap_err();
            let is_told = matches!(cancelled, ReleaseError::Storage(StorageError::Cancelled));
            assert!(is_told, "{at} of {n_calls}: {cancelled}");
        }
    }
}
