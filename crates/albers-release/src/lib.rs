//! What goes out: classes as they will be shown, verified and written through one door.
//!
//! ```text
//!   classes of a method ──► door ──► describe ──► verify ──► publish ──► sinks
//!                                 (from the rows)  (grouped by what is shown)
//! ```
//!
//! - [`describe`]: what a class shows on one attribute, as codes and as text, and what it loses.
//! - [`parse`]: the text of a release, ours or anybody's, back to what it shows.
//! - [`door`]: takes classes and rows that are left out, verifies all of them, measures and writes;
//!   in memory or, where the rows do not fit there, bucket by bucket.
//! - [`publish`]: the columns of a release, and how verified classes become rows of it.

pub mod describe;
pub mod door;
pub mod error;
mod mean;
pub mod parse;
pub mod publish;
mod verify;

pub use describe::{CellContent, Describer, ShownCell};
pub use door::{Door, DoorPlan, Passage, Passed, RowStore};
pub use error::{ReleaseError, Result};
pub use mean::FEWEST_VALUES;
