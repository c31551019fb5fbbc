//! Parts are joined with their neighbours: those whose rows miss the requirement, and those that
//! have become very small.

use std::ops::Range;

use albers_partition::plan::whole_region;
use albers_partition::split_tree::{SplitTree, TreeNode};
use albers_privacy::ClassSummary;
use rustc_hash::FxHashMap;

use super::directory::{Directory, DirectoryNode, Edit, PartId};
use super::part::Part;
use super::settling::{Settling, n_all, parts_of};
use super::{PartStore, large};
use crate::buffer_tree::drain::enough;
use crate::buffer_tree::part::add_facts;

/// A part with fewer rows than this share of what it should have is joined with its sibling.
const SMALL_SHARE: usize = 8;

/// Joins every part that misses the requirement with its neighbours, as far up as the rows together
/// satisfy it, and grows them anew. If even all rows miss it, they become one leaf.
pub(super) fn join_missing<S: PartStore>(
    settling: &mut Settling<'_, S>,
    directory: &mut Directory,
) -> Result<(), S::Error> {
    if settling.missing.is_empty() {
        return Ok(());
    }
    let mut climb =
        Climb { settling, directory, ends: directory.ends(), known: FxHashMap::default() };
    let groups = climb.groups()?;
    let Some(groups) = groups else {
        let summary = climb.summary(0..directory.nodes().len())?;
        let bulk = &settling.plan.bulk;
        let [own, strictest] =
            [bulk.plan.requirement, bulk.strictest].map(|asked| asked.violations(&summary));
        settling.settled.missing = if own.is_empty() { strictest } else { own };
        let all: Vec<PartId> = directory.parts().collect();
        if all.len() > 1 || settling.parts.load(all[0])?.n_leaves() > 1 {
            let part = large::as_leaf(settling, &all)?;
            *directory = Directory::new(part);
        }
        return Ok(());
    };
    let regions = directory.regions(whole_region(&settling.plan.bulk.plan));
    let mut edits: Vec<Edit> = Vec::new();
    for nodes in groups {
        let parts = parts_of(directory, nodes.clone());
        let region = regions[nodes.start].clone();
        let is_all = nodes.len() == directory.nodes().len();
        edits.push((nodes, large::regrow(settling, &parts, region, is_all)?));
    }
    settling.edit(directory, edits)
}

struct Climb<'c, 's, S> {
    settling: &'c Settling<'s, S>,
    directory: &'c Directory,
    ends: Vec<usize>,
    /// What is known of the rows below nodes that were looked at.
    known: FxHashMap<usize, ClassSummary>,
}

impl<S: PartStore> Climb<'_, '_, S> {
    /// The highest nodes below which something misses the requirement, but not all together;
    /// nothing if all rows miss it.
    fn groups(&mut self) -> Result<Option<Vec<Range<usize>>>, S::Error> {
        let nodes = self.directory.nodes();
        let mut holds = vec![true; nodes.len()];
        let mut is_joined = vec![false; nodes.len()];
        for at in (0..nodes.len()).rev() {
            holds[at] = match nodes[at] {
                DirectoryNode::Part(part) => !self.settling.missing.contains(&part),
                DirectoryNode::Cut(_) if holds[at + 1] && holds[self.ends[at + 1]] => true,
                DirectoryNode::Cut(_) => {
                    is_joined[at] = self.holds(at)?;
                    is_joined[at]
                }
            };
        }
        if !holds[0] {
            return Ok(None);
        }
        let mut groups = Vec::new();
        let mut at = 0;
        while at < nodes.len() {
            let end = if is_joined[at] { self.ends[at] } else { at + 1 };
            if is_joined[at] {
                groups.push(at..end);
            }
            at = end;
        }
        Ok(Some(groups))
    }

    /// Whether all rows below a node satisfy the requirement together.
    fn holds(&mut self, at: usize) -> Result<bool, S::Error> {
        let bulk = &self.settling.plan.bulk;
        let ks = [bulk.plan.requirement, bulk.strictest].map(|asked| asked.is_only_row_count());
        if let [Some(own), Some(strictest)] = ks {
            let parts = parts_of(self.directory, at..self.ends[at]);
            let n_rows = parts.into_iter().map(|part| n_all(self.settling.parts.size(part)) as u64);
            return Ok(n_rows.sum::<u64>() >= own.max(strictest));
        }
        let middle = self.ends[at + 1];
        let mut summary = self.known_or_read(at + 1..middle)?;
        summary.merge(&self.known_or_read(middle..self.ends[at])?);
        let holds = bulk.plan.requirement.holds(&summary) && bulk.strictest.holds(&summary);
        self.known.insert(at, summary);
        Ok(holds)
    }

    fn known_or_read(&mut self, nodes: Range<usize>) -> Result<ClassSummary, S::Error> {
        match self.known.remove(&nodes.start) {
            Some(known) => Ok(known),
            None => self.summary(nodes),
        }
    }

    fn summary(&self, nodes: Range<usize>) -> Result<ClassSummary, S::Error> {
        let bulk = &self.settling.plan.bulk;
        let mut summary = ClassSummary::new(bulk.strictest.shape());
        let mut known_subject = 0;
        for part in parts_of(self.directory, nodes) {
            let part = self.settling.parts.load(part)?;
            let rows = part.rows();
            add_facts(bulk, rows, 0..rows.n_rows(), (&mut summary, &mut known_subject));
        }
        Ok(summary)
    }
}

/// Makes one part of a small part and its sibling, where that is a part too, until there are no
/// more.
pub(super) fn join_small<S: PartStore>(
    settling: &mut Settling<'_, S>,
    directory: &mut Directory,
) -> Result<(), S::Error> {
    loop {
        let mut edits: Vec<Edit> = Vec::new();
        for (at, nodes) in directory.nodes().windows(3).enumerate() {
            let &[DirectoryNode::Cut(cut), DirectoryNode::Part(a), DirectoryNode::Part(b)] = nodes
            else {
                continue;
            };
            let sizes = [a, b].map(|part| settling.parts.size(part).n_rows);
            let part_rows = settling.plan.part_rows;
            let is_small = sizes.iter().any(|&n_rows| n_rows < part_rows / SMALL_SHARE);
            if is_small && sizes.iter().sum::<usize>() <= part_rows {
                let joined = join_siblings(settling, TreeNode::Cut(cut), [a, b])?;
                edits.push((at..at + 3, vec![DirectoryNode::Part(joined)]));
            }
        }
        if edits.is_empty() {
            return Ok(());
        }
        settling.edit(directory, edits)?;
    }
}

fn join_siblings<S: PartStore>(
    settling: &mut Settling<'_, S>,
    cut: TreeNode,
    old: [PartId; 2],
) -> Result<PartId, S::Error> {
    let layout = settling.plan.bulk.layout;
    let _memory = settling.reserve(large::size_of(settling, &old)).map_err(enough)?;
    let [inside, outside] = old.map(|part| settling.parts.load(part).map(Part::into_parts));
    let (mut rows, inside_tree, mut grown_rows) = inside?;
    let (outside_rows, outside_tree, outside_grown) = outside?;
    rows.extend(layout, &outside_rows, 0..outside_rows.n_rows());
    grown_rows.extend(outside_grown);
    let mut tree = SplitTree::default();
    tree.push(cut);
    tree.append(inside_tree);
    tree.append(outside_tree);
    let joined = settling.add(Part::new(rows, tree, grown_rows))?;
    for part in old {
        settling.remove(part)?;
    }
    Ok(joined)
}
