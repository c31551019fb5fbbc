//! What all releases of a changing table tell together.
//!
//! ```text
//! insert, update, delete --> Ledger: row -> set of equal signature
//!                               |
//!                             open(release) --class, class, ..--> finish --> Verdict
//!                               |                                              |
//!                             dropped: as if it had never been opened        keep --> changed pieces
//! ```
//!
//! The *signature* of a row is the list of the classes in which it was published, release by
//! release, with a *changed* event between two of them where a published column of the row was
//! updated in between. A release that is not in the list is one in which the row was absent. Whoever
//! holds all releases and can link their rows tells two rows apart exactly when their signatures
//! differ, so that all rows of one signature, also deleted ones, are a **set**, and every set must
//! satisfy what a class must satisfy.
//!
//! Invariants:
//! - Sets are only ever divided: no row joins a set that was shown before.
//! - Every set that was shown satisfies the requirement with its values in each release that it is
//!   in, or it was below at a release whose owner accepted that.
//! - A row that was never published leaves no trace.
//! - No message and no `Debug` output holds a cell value.
//!
//! Deliberately absent: files, keys of rows, the choice of classes.

mod dead;
mod error;
mod facts;
mod judge;
mod ledger;
mod opened;
mod past;
mod piece_key;
mod pieces;
mod recoding;
mod release;
mod signatures;
mod tested;
mod unsaved;
mod verdict;

pub use error::LedgerError;
pub use facts::{DeadRow, Needs, RowFacts};
pub use ledger::{CurrentSet, Ledger};
pub use opened::Opened;
pub use piece_key::PieceKey;
pub use pieces::Piece;
pub use release::{NewRelease, Release, ReleaseKind};
pub use signatures::SetId;
pub use tested::Tested;
pub use verdict::Verdict;
