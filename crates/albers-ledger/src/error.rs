//! What can go wrong with a ledger, by what the caller can do about it.

use thiserror::Error;

use crate::piece_key::PieceKey;

/// What a ledger refuses. Messages name rows by number and hold no cell values.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LedgerError {
    /// A row was named that was deleted or replaced before.
    #[error("row {row} is gone; hint: name the row by the number that it has now")]
    UnknownRow {
        /// The row's number.
        row: u32,
    },
    /// A new row has the number of another.
    #[error("row {row} exists already; hint: give every row a number that was never used")]
    RowTaken {
        /// The row's number.
        row: u32,
    },
    /// A row was given twice to one release.
    #[error("row {row} is twice in one release; hint: give every row once, in a class or waiting")]
    RowTwice {
        /// The row's number.
        row: u32,
    },
    /// The facts of a row do not fit the requirement.
    #[error(
        "what row {row} tells does not fit the requirement; \
         hint: give one code of the column's domain for each sensitive column"
    )]
    Facts {
        /// The row's number.
        row: u32,
    },
    /// Rows of a set were neither published nor named as waiting.
    #[error(
        "{given} of {expected} rows of a set were named; \
         hint: name every living row, in a class or waiting"
    )]
    RowsMissing {
        /// Members of the set that are alive and not in the release.
        expected: u64,
        /// How many of them were named.
        given: u64,
    },
    /// A deleted row is not one of this ledger, or was revived before.
    #[error("no such deleted row is in the ledger; hint: insert the row as a new one")]
    UnknownDead,
    /// The requirement is not the one that the ledger was made for.
    #[error(
        "the ledger was made for another kind of requirement; \
         hint: use the requirement that the index was created with"
    )]
    OtherRequirement,
    /// A t-closeness rule was given no rows to compare with.
    #[error("a release without rows has no distribution to compare with; hint: publish some rows")]
    NoWhole,
    /// Numbers of sets or rows ran out.
    #[error("the ledger has no numbers left; hint: create a new index")]
    Full,
    /// Sets fall below the requirement and nobody accepted that.
    #[error(
        "{n_sets} sets of {n_rows} rows in all fall below the requirement when releases are \
         linked; hint: publish a batch, wait for more changes, or accept linkage"
    )]
    Linkage {
        /// Sets below.
        n_sets: u64,
        /// Rows in them.
        n_rows: u64,
    },
    /// Stored bytes are not a ledger.
    #[error("{piece} of the ledger is damaged: {problem}; hint: restore the index from a copy")]
    Damaged {
        /// The damaged piece.
        piece: PieceKey,
        /// What contradicts what.
        problem: &'static str,
    },
    /// Stored bytes are of a version that this program does not know.
    #[error(
        "the ledger has version {found}, this program knows {known}; hint: use a newer program"
    )]
    Version {
        /// The version found.
        found: u32,
        /// The newest version known.
        known: u32,
    },
}
