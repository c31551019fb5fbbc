//! What goes out: classes as they will be shown, verified and written through one door.
//!
//! ```text
//!   groups of a method ──► describe ──► verify ──► Verified ──► publish ──► file + manifest
//!                          (from the rows)  (grouped by what is shown)
//! ```
//!
//! - [`cell`]: what a class shows on one attribute, as codes and as text.
//! - [`content`]: what a cell shows, spelled out: its loss, and which values it covers.
//! - [`parse`]: the text of a release, ours or anybody's, back to what it shows.
//! - [`verify`](mod@verify): recomputes every class from its rows and checks the requirement.
//! - [`publish`](mod@publish): writes a verified release; there is no other way to write one.
//! - [`stream`]: the same for releases larger than memory, bucket by bucket.

pub mod cell;
pub mod content;
pub mod error;
pub mod parse;
pub mod publish;
pub mod stream;
pub mod verify;

pub use cell::ShownCell;
pub use error::{ReleaseError, Result};
pub use verify::{Verified, verify};
