//! The living R+-tree: the index kept, while rows come and go.
//!
//! Source: Iwuchukwu & Naughton 2007, sections 2 and 4: incremental maintenance of an anonymizing
//! index with buffers; Arge 1995 for emptying buffers lazily.
//! Departures: buffers stand at one level only, before the parts, and are all emptied by
//! [`settle()`]. What misses the requirement is grown anew together with its neighbours instead of
//! being distributed among them. Subtrees that have changed much are grown anew.
//! Guarantee: after a settle every leaf satisfies the requirement, unless all rows together miss
//! it. The tree is a function of the sets of rows that came and went before each settle, and of the
//! plan: neither of threads and memory nor of the order of rows.
//! Cost: that of growing about as many rows as came and went, and of copying the parts that these
//! belong to.
//!
//! ```text
//!   directory           cut ── cut ── part        cuts that lead to the parts
//!                        │      └──── part
//!                        └─────────── part
//!   part                rows in tree order, their splits      ◄── loaded, mended, put back
//!   buffer of a part    rows that have arrived                ◄── emptied
//!   removed rows        by number                             ◄── dropped
//! ```
//!
//! - [`directory`]: the top of the tree.
//! - [`part`]: the rows below one node of it; `bytes`: as they are stored; `stored`: cuts and
//!   trees.
//! - `mend`: a part takes in what changed. `policy`: what is grown anew. `pieces`: what becomes
//!   parts.
//! - [`settle`](mod@settle): all parts; `settling`: what its steps share; `join`: parts that miss
//!   the requirement; `large`: more rows than are cut at once.
//! - [`recode`]: codes that change.

mod bytes;
pub mod directory;
mod join;
mod large;
mod mend;
pub mod part;
mod pieces;
mod policy;
pub mod recode;
pub mod settle;
mod settling;
mod stored;

use albers_classes::packed::RowBlock;
use albers_storage::StorageError;

pub use directory::{Directory, DirectoryNode, DirectoryRouter, PartId};
pub use part::Part;
pub use recode::recode_rows;
pub use settle::settle;
pub use settling::Settled;
pub use stored::DamagedPart;

use crate::buffer_tree::BulkPlan;

/// How an index lives.
pub struct LivingPlan<'a> {
    /// How its rows are split, as in a bulk load. Whether the table is large is found out when it
    /// settles.
    pub bulk: BulkPlan<'a>,
    /// A part has about so many rows, and is divided when it has twice as many.
    pub part_rows: usize,
    /// Whether leaves may miss the requirement although their rows did not change, because the
    /// requirement or the space did: then all parts are looked at.
    pub looks_at_all: bool,
}

/// How much of a part the store knows without loading it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartSize {
    /// Rows in its tree.
    pub n_rows: usize,
    /// Rows that have arrived since.
    pub n_arrivals: usize,
    /// What all of them take in memory as packed rows with their payloads.
    pub n_bytes: usize,
}

/// Where parts are kept.
pub trait PartStore: Sync {
    /// What can go wrong.
    type Error: From<StorageError> + Send;

    /// The size of a part, from a catalogue.
    fn size(&self, part: PartId) -> PartSize;

    /// Loads a part; called by several threads.
    fn load(&self, part: PartId) -> Result<Part, Self::Error>;

    /// Hands on the rows that have arrived at a part, block by block; called by several threads,
    /// and at times twice.
    fn each_arrival(
        &self,
        part: PartId,
        take: &mut dyn FnMut(RowBlock) -> Result<(), Self::Error>,
    ) -> Result<(), Self::Error>;

    /// Keeps a new part, at which nothing has arrived.
    fn add(&mut self, part: Part) -> Result<PartId, Self::Error>;

    /// Forgets a part and all that has arrived at it: its rows are in other parts now, or gone.
    fn remove(&mut self, part: PartId) -> Result<(), Self::Error>;
}
