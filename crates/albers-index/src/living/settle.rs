//! All buffers are emptied: parts take in what has arrived and let go what was removed.
//!
//! ```text
//!   parts that changed ──window by window, all threads──► mended ──► added, directory edited
//!     │ more rows than are cut at once ──► the buffer tree of the bulk load
//!     │ all rows of a part miss the requirement ──► joined with their neighbours
//!     │ no rows are left ──► dropped with the cut above
//!     └ very few rows are left ──► one part with its sibling
//! ```

use albers_classes::Region;
use albers_partition::cell::TableSize;
use albers_partition::plan::whole_region;
use albers_storage::StorageError;
use albers_storage::memory_budget::Reservation;
use albers_storage::threads;
use albers_storage::watch::{Phase, Watch};
use albers_table::row::RowId;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::directory::{Directory, DirectoryNode, Edit, PartId};
use super::mend::{Changes, Mended, mend};
use super::settling::{Settled, Settling, n_all};
use super::{LivingPlan, PartStore, join, large};
use crate::buffer_tree::BulkPlan;
use crate::buffer_tree::drain::enough;

/// Parts of a window for each thread, so that no thread waits long for another.
const PARTS_PER_THREAD: usize = 8;

/// Empties all buffers. `is_removed` tells the rows that are to be dropped, if `has_removed`.
///
/// After an error the directory and the store are to be thrown away: what has arrived may be partly
/// in the parts.
pub fn settle<S: PartStore>(
    directory: &mut Directory,
    parts: &mut S,
    plan: &LivingPlan<'_>,
    is_removed: &(dyn Fn(RowId) -> bool + Sync),
    has_removed: bool,
    watch: &dyn Watch,
) -> Result<Settled, S::Error> {
    let n_rows = directory.parts().map(|part| n_all(parts.size(part))).sum::<usize>() as u64;
    let table = TableSize::of(n_rows, &plan.bulk.plan.grain);
    watch.phase(Phase::Partition, Some(n_rows));
    let plan = LivingPlan { bulk: BulkPlan { table, ..plan.bulk }, ..*plan };
    let mut settling = Settling {
        plan: &plan,
        parts,
        is_removed,
        has_removed,
        watch,
        missing: FxHashSet::default(),
        settled: Settled::default(),
    };
    settling.mend_all(directory)?;
    join::join_missing(&mut settling, directory)?;
    join::join_small(&mut settling, directory)?;
    let Settling { parts, mut settled, .. } = settling;
    settled.n_rows = directory.parts().map(|part| parts.size(part).n_rows as u64).sum();
    Ok(settled)
}

/// A part that is looked at: its node in the directory, its number and its region.
struct Due {
    at: usize,
    part: PartId,
    region: Option<Region>,
}

impl<S: PartStore> Settling<'_, S> {
    /// Mends every part that changed, and edits the directory.
    fn mend_all(&mut self, directory: &mut Directory) -> Result<(), S::Error> {
        let mut edits: Vec<Edit> = Vec::new();
        let (due, due_large) = self.due(directory);
        let is_all = directory.nodes().len() == 1;
        let mut due = due.into_iter().peekable();
        while due.peek().is_some() {
            let (window, _memory) = self.window(&mut due)?;
            let mended: Vec<Result<Mended, S::Error>> =
                window.par_iter().map(|own| self.mend_part(own)).collect();
            for (own, mended) in window.into_iter().zip(mended) {
                let n_rows = n_all(self.parts.size(own.part));
                if let Some(nodes) = self.put(&[own.part], mended?)? {
                    edits.push((own.at..own.at + 1, nodes));
                }
                self.watch.done(n_rows as u64)?;
            }
        }
        for Due { at, part, region } in due_large {
            if !self.plan.looks_at_all && !large::has_changed(self, part)? {
                continue;
            }
            let mended = large::regrow(self, &[part], region, is_all)?;
            edits.push((at..at + 1, mended));
        }
        edits.sort_by_key(|(range, _)| range.start);
        self.edit(directory, edits)
    }

    /// The parts that are looked at, and those with more rows than are cut at once.
    fn due(&self, directory: &Directory) -> (Vec<Due>, Vec<Due>) {
        let regions = directory.regions(whole_region(&self.plan.bulk.plan));
        let looks_at_all = self.looks_at_all(directory);
        let nodes = directory.nodes().iter().zip(regions).enumerate();
        let parts = nodes.filter_map(|(at, (node, region))| match node {
            DirectoryNode::Part(part) => Some(Due { at, part: *part, region }),
            DirectoryNode::Cut(_) => None,
        });
        let has_changed = |own: &Due| {
            let size = self.parts.size(own.part);
            size.n_arrivals > 0 || (self.has_removed || looks_at_all) && size.n_rows > 0
        };
        let is_small =
            |own: &Due| n_all(self.parts.size(own.part)) <= self.plan.bulk.plan.grain.whole_rows;
        parts.filter(has_changed).partition(is_small)
    }

    /// An index of one part may be one whose rows missed the requirement.
    fn looks_at_all(&self, directory: &Directory) -> bool {
        self.plan.looks_at_all || directory.nodes().len() == 1
    }

    /// As many parts as there is memory for, and the memory.
    fn window(
        &self,
        due: &mut std::iter::Peekable<std::vec::IntoIter<Due>>,
    ) -> Result<(Vec<Due>, Vec<Reservation>), S::Error> {
        let most = PARTS_PER_THREAD * threads::of_pool();
        let (mut window, mut memory) = (Vec::new(), Vec::new());
        while window.len() < most
            && let Some(own) = due.peek()
        {
            match self.reserve(self.parts.size(own.part)) {
                Ok(reserved) => memory.push(reserved),
                Err(StorageError::OverBudget { .. }) if !window.is_empty() => break,
                Err(refused) => return Err(enough(refused).into()),
            }
            window.extend(due.next());
        }
        Ok((window, memory))
    }

    fn mend_part(&self, due: &Due) -> Result<Mended, S::Error> {
        let part = self.parts.load(due.part)?;
        let mut arrivals = Vec::new();
        self.parts.each_arrival(due.part, &mut |block| {
            arrivals.push(block);
            Ok(())
        })?;
        // A part whose rows all belong to the only one leaf may be one that missed the requirement.
        let changes = Changes {
            arrivals,
            is_removed: self.is_removed,
            has_removed: self.has_removed,
            looks_at_all: self.plan.looks_at_all || part.n_leaves() == 1,
        };
        Ok(mend(self.plan, self.plan.bulk.table, part, &changes, due.region.as_ref()))
    }
}
