//! Where long work says how far it is, and hears that it is no longer wanted.

use std::ops::ControlFlow;

use crate::{Result, StorageError};

/// A stretch of a job that a person can tell apart from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// The source is read and coded.
    Read,
    /// Classes are found.
    Partition,
    /// A lattice is searched for the levels that make classes.
    Search,
    /// Classes are recomputed, checked and measured.
    Verify,
    /// Rows are written.
    Write,
    /// The loss of a given release is measured.
    Measure,
    /// The classes of a given table are audited.
    Audit,
}

impl Phase {
    /// The word for people.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Read => "read",
            Phase::Partition => "partition",
            Phase::Search => "search",
            Phase::Verify => "verify",
            Phase::Write => "write",
            Phase::Measure => "measure",
            Phase::Audit => "audit",
        }
    }
}

/// Hears of phases and of rows done in them; called from several threads.
pub trait Watch: Sync {
    /// A phase begins, with the number of rows it will handle where that is known.
    fn phase(&self, phase: Phase, n_rows: Option<u64>);

    /// So many more rows are done. A break cancels the job: it ends with
    /// [`StorageError::Cancelled`] and leaves nothing behind.
    fn advance(&self, n_rows: u64) -> ControlFlow<()>;
}

impl dyn Watch + '_ {
    /// Says that rows are done, and ends the work if it is no longer wanted.
    pub fn done(&self, n_rows: u64) -> Result<()> {
        match self.advance(n_rows) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(StorageError::Cancelled),
        }
    }

    /// Ends the work if it is no longer wanted.
    pub fn check(&self) -> Result<()> {
        self.done(0)
    }
}

/// Hears nothing, and cancels nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Watch for Silent {
    fn phase(&self, _phase: Phase, _n_rows: Option<u64>) {}

    fn advance(&self, _n_rows: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
