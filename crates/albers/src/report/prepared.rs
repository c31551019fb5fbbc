//! Releases that are written and wait for their names, so that all that is to be said of them can
//! be said before.

use albers_table::sink::{self, Sealed};

use super::Report;
use crate::error::Result;

/// Releases that are verified and written, and that do not appear before they are named.
pub struct Prepared {
    /// What there is to tell of them.
    pub report: Report,
    /// A drawing of how leaves were merged (SVG), if one was asked for; only for their owner.
    pub drawing: Option<String>,
    sealed: Vec<Box<dyn Sealed>>,
}

impl Prepared {
    pub(crate) fn new(report: Report, sealed: Vec<Box<dyn Sealed>>) -> Prepared {
        Prepared { report, drawing: None, sealed }
    }

    /// Lets all of them appear, or none.
    pub fn name(self) -> Result<Report> {
        sink::name_all(self.sealed)?;
        Ok(self.report)
    }

    /// Something that appears together with them, after their tables.
    pub(crate) fn add(&mut self, sealed: Box<dyn Sealed>) {
        self.sealed.push(sealed);
    }
}
