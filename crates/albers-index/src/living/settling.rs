//! A settle under way: what all its steps share.

use std::ops::Range;

use albers_privacy::Violation;
use albers_storage::memory_budget::Reservation;
use albers_storage::watch::Watch;
use albers_table::row::RowId;
use rustc_hash::FxHashSet;

use super::directory::{Directory, DirectoryNode, Edit, PartId};
use super::mend::Mended;
use super::part::Part;
use super::pieces::Pieces;
use super::{LivingPlan, PartSize, PartStore};

/// What came of a settle.
#[derive(Debug, Clone, Default)]
pub struct Settled {
    /// Rows in the index now.
    pub n_rows: u64,
    /// Parts that were made anew.
    pub n_written: usize,
    /// Rows that went through the grower.
    pub n_grown: u64,
    /// How all rows together miss the requirement; nothing if they satisfy it or there are none.
    /// While it is missed all rows are one leaf, and nothing can be released.
    pub missing: Vec<Violation>,
}

/// A settle under way.
pub(super) struct Settling<'s, S> {
    pub(super) plan: &'s LivingPlan<'s>,
    pub(super) parts: &'s mut S,
    pub(super) is_removed: &'s (dyn Fn(RowId) -> bool + Sync),
    pub(super) has_removed: bool,
    pub(super) watch: &'s dyn Watch,
    /// Parts whose rows miss the requirement.
    pub(super) missing: FxHashSet<PartId>,
    pub(super) settled: Settled,
}

impl<S: PartStore> Settling<'_, S> {
    /// Memory for rows while they are mended: as they were, with all that arrived, and as they
    /// become.
    pub(super) fn reserve(&self, size: PartSize) -> albers_storage::Result<Reservation> {
        let bulk = &self.plan.bulk;
        let n_bytes = 3 * size.n_bytes + n_all(size) * bulk.row_bytes();
        bulk.budget.try_reserve("a part of the index", n_bytes)
    }

    /// Keeps what has become of some parts in their place, and returns the nodes that lead there;
    /// nothing if nothing changed.
    pub(super) fn put(
        &mut self,
        old: &[PartId],
        mended: Mended,
    ) -> Result<Option<Vec<DirectoryNode>>, S::Error> {
        let nodes = match mended {
            Mended::Unchanged => return Ok(None),
            Mended::Empty => Vec::new(),
            Mended::Missing(part) => {
                let part = self.add(part)?;
                self.missing.insert(part);
                vec![DirectoryNode::Part(part)]
            }
            Mended::Pieces { pieces, n_grown } => {
                self.settled.n_grown += n_grown;
                self.add_pieces(pieces)?
            }
        };
        for &part in old {
            self.remove(part)?;
        }
        Ok(Some(nodes))
    }

    pub(super) fn add(&mut self, part: Part) -> Result<PartId, S::Error> {
        self.settled.n_written += 1;
        self.parts.add(part)
    }

    pub(super) fn remove(&mut self, part: PartId) -> Result<(), S::Error> {
        self.missing.remove(&part);
        self.parts.remove(part)
    }

    pub(super) fn add_pieces(&mut self, pieces: Pieces) -> Result<Vec<DirectoryNode>, S::Error> {
        let Pieces { nodes, parts } = pieces;
        let mut parts = parts.into_iter();
        let node = |cut| match cut {
            Some(cut) => Ok(DirectoryNode::Cut(cut)),
            None => {
                let part = parts.next().expect("there is a part for each node without a cut");
                Ok(DirectoryNode::Part(self.add(part)?))
            }
        };
        nodes.into_iter().map(node).collect()
    }

    /// Edits the directory; an index without any rows has one empty part.
    pub(super) fn edit(
        &mut self,
        directory: &mut Directory,
        edits: Vec<Edit>,
    ) -> Result<(), S::Error> {
        if !directory.edit(edits) {
            let empty = self.add(Part::empty())?;
            *directory = Directory::new(empty);
        }
        Ok(())
    }
}

/// The parts among some nodes of a directory.
pub(super) fn parts_of(directory: &Directory, nodes: Range<usize>) -> Vec<PartId> {
    let parts = directory.nodes()[nodes].iter().filter_map(|node| match node {
        DirectoryNode::Part(part) => Some(*part),
        DirectoryNode::Cut(_) => None,
    });
    parts.collect()
}

/// All rows of a part.
pub(super) fn n_all(size: PartSize) -> usize {
    size.n_rows + size.n_arrivals
}
