//! What becomes of a row of a batch, by what is known of its key.

use albers_table::row::RowId;

use super::catalogue::PendingKey;
use super::events::{Content, Event};
use super::keys::{KeyEntry, KeyHash};
use super::report::BatchReport;
use super::row_number::RowNumber;
use crate::error::{Error, Result};

/// What a batch is for.
pub(super) struct Purpose<'p> {
    pub(super) kind: Kind,
    pub(super) report: &'p mut BatchReport,
    /// The rows of the index that the batch has met, where it may meet any.
    pub(super) seen: Option<&'p mut RowSet>,
}

/// What a batch is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its rows are new.
    Insert,
    /// Its rows take the place of others.
    Update,
    /// It is the whole table.
    Sync,
}

/// What is known of a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) row: RowNumber,
    pub(super) is_gone: bool,
    content: Content,
}

impl From<KeyEntry> for Known {
    fn from(entry: KeyEntry) -> Known {
        let KeyEntry { row, is_gone, content, .. } = entry;
        Known { row, is_gone, content: Content(content) }
    }
}

impl From<&PendingKey> for Known {
    fn from(pending: &PendingKey) -> Known {
        let is_gone = pending.packed.is_none();
        Known { row: pending.row, is_gone, content: Content(pending.content) }
    }
}

/// A change of what is known of a key.
pub(super) struct Decision {
    pub(super) hash: KeyHash,
    /// The row that its key has now, or had last.
    pub(super) row: RowNumber,
    pub(super) content: u64,
    /// Whether that is the row at hand.
    pub(super) is_put: bool,
    pub(super) entry: Option<KeyEntry>,
    pub(super) event: Option<Event>,
}

/// What becomes of a row that would have the number `next`; nothing if the index has it already.
pub(super) fn decide(
    purpose: &mut Purpose<'_>,
    (hash, content): (KeyHash, u64),
    known: Option<Known>,
    next: RowNumber,
    row: &dyn Fn() -> RowId,
) -> Result<Option<Decision>> {
    let living = known.filter(|own| !own.is_gone);
    match (purpose.kind, living) {
        (Kind::Insert, Some(_)) => return Err(already_there(row())),
        (Kind::Update, None) => return Err(unknown_key(row())),
        _ => {}
    }
    if let (Some(seen), Some(own)) = (&mut purpose.seen, living) {
        if seen.contains(own.row) {
            return Err(twice_in_batch(row()));
        }
        seen.add(own.row);
    }
    let report = &mut purpose.report;
    let after = Content(content);
    let event = match (living, known) {
        (Some(own), _) if own.content == after => {
            report.unchanged += 1;
            return Ok(None);
        }
        (Some(own), _) => {
            report.updated += 1;
            Some(Event::Replaced { old: own.row, new: next, before: own.content, after })
        }
        (None, Some(gone)) => {
            report.inserted += 1;
            Some(Event::Revived { old: gone.row, new: next, before: gone.content, after })
        }
        (None, None) => {
            report.inserted += 1;
            None
        }
    };
    let entry = KeyEntry { hash, row: next, is_gone: false, content };
    Ok(Some(Decision { hash, row: next, content, is_put: true, entry: Some(entry), event }))
}

/// The removal of a row, whose key must be there.
pub(super) fn remove(hash: KeyHash, known: Option<Known>, row: RowId) -> Result<Decision> {
    let living = known.filter(|own| !own.is_gone).ok_or_else(|| unknown_key(row))?;
    let Known { row, content: Content(content), .. } = living;
    let entry = KeyEntry { hash, row, is_gone: true, content };
    let event = Some(Event::Removed { row });
    Ok(Decision { hash, row, content, is_put: false, entry: Some(entry), event })
}

pub(super) fn twice_in_batch(row: RowId) -> Error {
    Error::usage(
        format!("row {row} has a key that another row of the batch has"),
        "give every row a key of its own; the index is as it was",
    )
}

fn already_there(row: RowId) -> Error {
    Error::usage(
        format!("row {row} has a key that a row of the index has"),
        "use 'albers index update' for rows that are there; the index is as it was",
    )
}

fn unknown_key(row: RowId) -> Error {
    Error::usage(
        format!("row {row} has a key that no row of the index has"),
        "use 'albers index insert' for new rows; the index is as it was",
    )
}

/// Some rows, by their numbers.
#[derive(Default)]
pub(super) struct RowSet {
    words: Vec<u64>,
}

impl RowSet {
    /// No row of so many.
    pub(super) fn of(n_rows: u32) -> RowSet {
        RowSet { words: vec![0; n_rows as usize / 64 + 1] }
    }

    pub(super) fn add(&mut self, row: RowNumber) {
        let word = row.index() / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (row.index() % 64);
    }

    pub(super) fn contains(&self, row: RowNumber) -> bool {
        self.words.get(row.index() / 64).is_some_and(|word| word >> (row.index() % 64) & 1 == 1)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }
}
