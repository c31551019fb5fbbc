//! What passes the door, for the ledger: the class of every row.

use std::time::Instant;

use albers_classes::ClassId;
use albers_ledger::{LedgerError, Opened, RowFacts, Tested};
use albers_release::door::{Passed, PassedClasses};

use super::ledger::refused;
use crate::error::Result;

/// The classes of a release as they pass the door.
pub(super) struct SeenClasses<'l> {
    opened: Opened<'l>,
    /// The finest of the releases: the classes of the others are unions of its classes.
    finest: usize,
    /// Rows of a class that does not fit in memory that are still to come.
    n_to_come: u64,
    failed: Option<LedgerError>,
    /// The time that it took so far.
    seconds: f64,
}

impl<'l> SeenClasses<'l> {
    /// None has passed yet.
    pub(super) fn new(opened: Opened<'l>, finest: usize) -> SeenClasses<'l> {
        SeenClasses { opened, finest, n_to_come: 0, failed: None, seconds: 0.0 }
    }

    /// Sees some rows of a release.
    pub(super) fn see(&mut self, release: usize, passed: &Passed<'_, '_>) {
        if release != self.finest || self.failed.is_some() {
            return;
        }
        let start = Instant::now();
        self.failed = self.add(passed).err();
        self.seconds += start.elapsed().as_secs_f64();
    }

    fn add(&mut self, passed: &Passed<'_, '_>) -> std::result::Result<(), LedgerError> {
        match passed {
            Passed::Classes(classes) => self.add_classes(*classes),
            Passed::Giant(class) => {
                self.n_to_come = class.n_rows;
                Ok(())
            }
            Passed::GiantRows(rows) => {
                let n_rows = rows.codes.len() / rows.class.cells.len().max(1);
                for row in 0..n_rows {
                    let facts = RowFacts {
                        subject: rows.facts.subject(row),
                        codes: rows.facts.codes(row),
                    };
                    let id = rows.row_ids.of(albers_table::row::RowIdx::of_index(row));
                    self.opened.add(id.get() as u32, facts)?;
                }
                self.n_to_come = self.n_to_come.saturating_sub(n_rows as u64);
                if self.n_to_come == 0 { self.opened.end_class() } else { Ok(()) }
            }
            Passed::LeftOut(_) => Ok(()),
        }
    }

    fn add_classes(
        &mut self,
        classes: PassedClasses<'_, '_>,
    ) -> std::result::Result<(), LedgerError> {
        let facts = classes.facts();
        for class_id in ClassId::first(classes.n_classes()) {
            for (row_idxs, _) in classes.class(class_id).parts() {
                for &row_idx in row_idxs {
                    let row = row_idx.index();
                    let own =
                        RowFacts { subject: facts.subject(row), codes: facts.codes(row) };
                    self.opened.add(classes.row_id(row_idx).get() as u32, own)?;
                }
            }
            self.opened.end_class()?;
        }
        Ok(())
    }

    /// All have passed: what came of it, and the time that it took.
    pub(super) fn finish(self) -> Result<(Tested<'l>, f64)> {
        let start = Instant::now();
        match self.failed {
            Some(error) => Err(refused(error)),
            None => {
                let tested = self.opened.finish().map_err(refused)?;
                Ok((tested, self.seconds + start.elapsed().as_secs_f64()))
            }
        }
    }
}
