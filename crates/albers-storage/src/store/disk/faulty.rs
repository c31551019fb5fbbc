//! A disk that fails when it is told to, for tests that try every n.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::Disk;
use super::tapped::{Call, Tap, TappedDisk, Verdict, pass_on_to};

/// Which call fails, counted from 1, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The n-th call of a kind fails, and nothing of it is done.
    Nth {
        /// The kind.
        call: Call,
        /// Which of them.
        nth: u64,
        /// How.
        kind: io::ErrorKind,
    },
    /// The n-th write fails after half of its bytes.
    ShortWrite {
        /// Which.
        nth: u64,
        /// How.
        kind: io::ErrorKind,
    },
    /// The n-th call that changes the disk and everything after it fail, reads too: the machine is off.
    Off {
        /// Which.
        nth: u64,
    },
}

/// Another disk, of which one call may fail, and a count of its calls.
#[derive(Debug)]
pub struct FaultyDisk {
    tapped: TappedDisk<Counts>,
}

#[derive(Debug)]
struct Counts {
    fault: Mutex<Option<Fault>>,
    n_calls: [AtomicU64; N_KINDS],
    n_changes: AtomicU64,
}

const N_KINDS: usize = Call::SyncFolder as usize + 1;

impl FaultyDisk {
    /// Passes everything on to `inner` but what `fault` says; without one, it only counts.
    pub fn new(inner: Arc<dyn Disk>, fault: Option<Fault>) -> FaultyDisk {
        let fault = Mutex::new(fault);
        let counts = Counts { fault, n_calls: Default::default(), n_changes: AtomicU64::new(0) };
        FaultyDisk { tapped: TappedDisk { inner, tap: Arc::new(counts) } }
    }

    /// Fails from now on as `fault` says, and counts anew.
    pub fn set_fault(&self, fault: Option<Fault>) {
        let counts = &self.tapped.tap;
        *counts.fault.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = fault;
        for count in counts.n_calls.iter().chain([&counts.n_changes]) {
            count.store(0, Ordering::SeqCst);
        }
    }

    /// How many calls of a kind were asked for, failed ones included.
    pub fn n_calls(&self, call: Call) -> u64 {
        self.tapped.tap.n_calls[call as usize].load(Ordering::SeqCst)
    }

    /// How many calls that change the disk were asked for, failed ones included.
    pub fn n_changes(&self) -> u64 {
        self.tapped.tap.n_changes.load(Ordering::SeqCst)
    }
}

impl Disk for FaultyDisk {
    pass_on_to!(tapped);
}

impl Tap for Counts {
    fn before(&self, call: Call) -> Verdict {
        let turn = self.n_calls[call as usize].fetch_add(1, Ordering::SeqCst) + 1;
        let n_changes = if call.changes() {
            self.n_changes.fetch_add(1, Ordering::SeqCst) + 1
        } else {
            self.n_changes.load(Ordering::SeqCst)
        };
        let fault = *self.fault.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match fault {
            Some(Fault::Nth { call: which, nth, kind }) if which == call && nth == turn => {
                Verdict::Fail(kind.into())
            }
            Some(Fault::ShortWrite { nth, kind }) if call == Call::Write && nth == turn => {
                Verdict::FailHalfDone(kind.into())
            }
            Some(Fault::Off { nth }) if n_changes >= nth => {
                Verdict::Fail(io::Error::other("the machine is off"))
            }
            _ => Verdict::Pass,
        }
    }

    fn after(&self, _call: Call) {}
}
