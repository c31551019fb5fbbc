//! A disk that kills its process at a chosen call, for tests that open afterwards what is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Disk;
use super::tapped::{Call, Tap, TappedDisk, Verdict, pass_on_to};

/// On which side of a call the process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Nothing of the call is done.
    Before,
    /// The call is done, and its caller does not learn it.
    After,
}

/// Another disk, which aborts the process at its n-th call that changes something, counted from 1.
#[derive(Debug)]
pub struct KillingDisk {
    tapped: TappedDisk<Killer>,
}

#[derive(Debug)]
struct Killer {
    nth: u64,
    moment: Moment,
    n_changes: AtomicU64,
}

impl KillingDisk {
    /// Passes everything on to `inner` until the `nth` call that changes something.
    pub fn new(inner: Arc<dyn Disk>, nth: u64, moment: Moment) -> KillingDisk {
        let killer = Killer { nth, moment, n_changes: AtomicU64::new(0) };
        KillingDisk { tapped: TappedDisk { inner, tap: Arc::new(killer) } }
    }
}

impl Disk for KillingDisk {
    pass_on_to!(tapped);
}

impl Tap for Killer {
    fn before(&self, call: Call) -> Verdict {
        if call.changes() {
            let turn = self.n_changes.fetch_add(1, Ordering::SeqCst) + 1;
            if turn == self.nth && self.moment == Moment::Before {
                std::process::abort();
            }
        }
        Verdict::Pass
    }

    fn after(&self, call: Call) {
        let turn = self.n_changes.load(Ordering::SeqCst);
        if call.changes() && turn == self.nth && self.moment == Moment::After {
            std::process::abort();
        }
    }
}
