//! Whether a file is what it was when it was opened.
//!
//! A text that somebody cuts at the end of a line while it is read is still a text, of fewer
//! persons, and one that is written to meanwhile may be half of the old and half of the new:
//! neither shows in what is read.
//!
//! Guarantee: whoever has read a file to its end and finds it unchanged has read all of one file, as
//! far as its length and the time of its last change tell.

use std::sync::Arc;

use albers_storage::input::{FileStamp, InputFile};

use super::table_error;
use crate::{Result, TableError};

/// A file, and what it was when it was opened.
pub(super) struct Opened {
    name: String,
    file: Arc<InputFile>,
    stamp: FileStamp,
}

impl Opened {
    /// A file that was just opened, and of which nothing was read yet.
    pub(super) fn now(name: &str, file: &Arc<InputFile>) -> Result<Opened> {
        let (_, changed_at) = file.stamp()?;
        Ok(Opened {
            name: name.to_owned(),
            file: file.clone(),
            stamp: (file.n_bytes(), changed_at),
        })
    }

    /// What it was.
    pub(super) fn stamp(&self) -> FileStamp {
        self.stamp
    }

    /// Refuses it if it is not what it was.
    pub(super) fn check_unchanged(&self) -> Result<()> {
        match self.file.stamp()? == self.stamp {
            true => Ok(()),
            false => Err(changed(&self.name)),
        }
    }
}

/// Refuses a file that was changed.
pub(super) fn changed(table: &str) -> TableError {
    table_error(
        table,
        "the file was changed while it was read",
        "try again when nobody writes to it",
    )
}
