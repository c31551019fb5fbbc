//! The top of the tree: the cuts that lead to the parts.
//!
//! ```text
//!        age in [0, 40]?             nodes: parents first, what lies inside before what lies
//!        /            \              outside, as in every history of splits
//!   zip in [0, 7]?    part 4
//!     /       \                      cut, cut, part 9, part 2, part 4
//!  part 9    part 2
//! ```
//!
//! Nothing is known of what goes outside of a cut: rows that arrive may lie anywhere.
//! Cost: a dozen bytes per part; O(depth) to route a row.

use std::ops::Range;

use albers_classes::Region;
use albers_partition::split::cut::{Cut, Turn};
use albers_partition::top::{RouteStep, cells_of_rows, steps_of};
use serde::{Deserialize, Serialize};

use super::stored::{DamagedPart, StoredCut, is_one_tree};

/// A part of the tree, by its number in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PartId(pub u32);

/// A node of the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectoryNode {
    /// A cut; two children follow.
    Cut(Cut),
    /// A part.
    Part(PartId),
}

/// The cuts that lead to the parts. There is always at least one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    nodes: Vec<DirectoryNode>,
}

/// Tells the part of each of some rows; a copy of the directory for many threads.
pub struct DirectoryRouter {
    steps: Vec<RouteStep>,
    parts: Vec<PartId>,
    n_attributes: usize,
}

/// The nodes that are replaced by others, or dropped together with the cut above them.
pub(super) type Edit = (Range<usize>, Vec<DirectoryNode>);

impl Directory {
    /// A directory that leads to one part.
    pub fn new(part: PartId) -> Directory {
        Directory { nodes: vec![DirectoryNode::Part(part)] }
    }

    /// All nodes: parents first, what lies inside before what lies outside.
    pub fn nodes(&self) -> &[DirectoryNode] {
        &self.nodes
    }

    /// The parts in tree order.
    pub fn parts(&self) -> impl Iterator<Item = PartId> + '_ {
        self.nodes.iter().filter_map(|node| match node {
            DirectoryNode::Part(part) => Some(*part),
            DirectoryNode::Cut(_) => None,
        })
    }

    /// What tells the part of a row.
    pub fn router(&self, n_attributes: usize) -> DirectoryRouter {
        let cuts = self.nodes.iter().map(|node| match node {
            DirectoryNode::Cut(cut) => Some(*cut),
            DirectoryNode::Part(_) => None,
        });
        DirectoryRouter { steps: steps_of(cuts), parts: self.parts().collect(), n_attributes }
    }

    /// The region of each part in tree order, inside the region of the whole.
    pub fn part_regions(&self, whole: &Region) -> Vec<Region> {
        let regions = self.regions(Some(whole.clone()));
        let is_part = |node: &DirectoryNode| matches!(node, DirectoryNode::Part(_));
        let parts = self.nodes.iter().zip(regions).filter(|(node, _)| is_part(node));
        parts.filter_map(|(_, region)| region).collect()
    }

    /// The region of each node, where regions are kept.
    pub(super) fn regions(&self, whole: Option<Region>) -> Vec<Option<Region>> {
        let mut pending = vec![whole];
        let mut regions = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let region = pending.pop().expect("every cut has two children");
            if let DirectoryNode::Cut(cut) = node {
                let sides = region.as_ref().map(|own| cut.regions(own));
                let [inside, outside] = sides.map_or([None, None], |sides| sides.map(Some));
                pending.extend([outside, inside]);
            }
            regions.push(region);
        }
        regions
    }

    /// The first node after everything below each node.
    pub(super) fn ends(&self) -> Vec<usize> {
        let mut ends = vec![0; self.nodes.len()];
        let mut later: Vec<usize> = Vec::new();
        for (at, node) in self.nodes.iter().enumerate().rev() {
            ends[at] = match node {
                DirectoryNode::Part(_) => at + 1,
                DirectoryNode::Cut(_) => {
                    later.pop();
                    later.pop().expect("every cut has two children")
                }
            };
            later.push(ends[at]);
        }
        ends
    }

    /// Puts other nodes in the place of some subtrees, which stand in tree order and do not meet.
    /// One that is replaced by nothing is dropped together with the cut above it. Returns whether
    /// any part is left; if none is, the directory is of no use.
    #[must_use]
    pub(super) fn edit(&mut self, edits: Vec<Edit>) -> bool {
        let mut nodes = Vec::with_capacity(self.nodes.len());
        let mut edits = edits.into_iter().peekable();
        let mut at = 0;
        while at < self.nodes.len() {
            match edits.next_if(|(range, _)| range.start == at) {
                None => {
                    nodes.push(Some(self.nodes[at]));
                    at += 1;
                }
                Some((range, new)) => {
                    match new.is_empty() {
                        true => nodes.push(None),
                        false => nodes.extend(new.into_iter().map(Some)),
                    }
                    at = range.end;
                }
            }
        }
        self.nodes = without_gaps(&nodes);
        !self.nodes.is_empty()
    }

    /// The directory as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let stored: Vec<StoredNode> = self.nodes.iter().map(StoredNode::of).collect();
        postcard::to_stdvec(&stored).expect("numbers can always be written")
    }

    /// The directory of some bytes, of so many attributes.
    pub fn from_bytes(n_attributes: usize, bytes: &[u8]) -> Result<Directory, DamagedPart> {
        let (stored, rest) = postcard::take_from_bytes::<Vec<StoredNode>>(bytes)
            .map_err(|_| DamagedPart("the directory cannot be read"))?;
        if !rest.is_empty() {
            return Err(DamagedPart("something follows the directory"));
        }
        let nodes = stored.into_iter().map(|node| node.checked(n_attributes));
        let directory = Directory { nodes: nodes.collect::<Result<_, _>>()? };
        let is_cut = |node: &DirectoryNode| matches!(node, DirectoryNode::Cut(_));
        if !is_one_tree(directory.nodes.iter().map(is_cut)) {
            return Err(DamagedPart("the nodes of the directory make no tree"));
        }
        let mut parts: Vec<PartId> = directory.parts().collect();
        parts.sort_unstable();
        match parts.is_sorted_by(|a, b| a < b) {
            true => Ok(directory),
            false => Err(DamagedPart("the directory names a part twice")),
        }
    }

    /// The same directory after codes have changed, as `cut` changes every cut.
    pub(super) fn with_cuts(&self, cut: impl Fn(Cut) -> Cut) -> Directory {
        let node = |node: &DirectoryNode| match node {
            DirectoryNode::Cut(own) => DirectoryNode::Cut(cut(*own)),
            DirectoryNode::Part(part) => DirectoryNode::Part(*part),
        };
        Directory { nodes: self.nodes.iter().map(node).collect() }
    }

    /// Asserts that the nodes make one tree in which no part occurs twice, and that no cut claims
    /// to know what goes outside; for tests.
    ///
    /// # Panics
    /// When that is not so.
    pub fn check_invariants(&self) {
        let is_cut = |node: &DirectoryNode| matches!(node, DirectoryNode::Cut(_));
        assert!(is_one_tree(self.nodes.iter().map(is_cut)), "the nodes make one tree");
        let mut parts: Vec<PartId> = self.parts().collect();
        parts.sort_unstable();
        assert!(parts.is_sorted_by(|a, b| a < b), "no part occurs twice");
        for node in &self.nodes {
            if let DirectoryNode::Cut(cut) = node {
                assert!(cut.lo <= cut.hi, "something goes inside");
                assert_eq!(*cut, cut.without_rest(), "nothing is known of what goes outside");
            }
        }
    }
}

impl DirectoryRouter {
    /// The part of each row; codes stand row by row.
    pub fn route(&self, codes: &[u32]) -> Vec<PartId> {
        self.places(codes).into_iter().map(|place| self.parts[place as usize]).collect()
    }

    /// The place of each row's part in tree order.
    pub fn places(&self, codes: &[u32]) -> Vec<u32> {
        cells_of_rows(codes, self.n_attributes, &self.steps, 0)
    }

    /// The parts in tree order.
    pub fn parts(&self) -> &[PartId] {
        &self.parts
    }
}

/// The nodes that lead to some subtrees, given in tree order with the way to each.
pub(super) fn nodes_of_ways(subtrees: Vec<(Vec<Turn>, Vec<DirectoryNode>)>) -> Vec<DirectoryNode> {
    let mut nodes = Vec::new();
    let mut before: Vec<Turn> = Vec::new();
    for (way, subtree) in subtrees {
        // Where the ways part, the cut was written with the first of them.
        let n_common = before.iter().zip(&way).take_while(|(a, b)| a == b).count();
        let n_known = if nodes.is_empty() { 0 } else { n_common + 1 };
        let cuts = way[n_known..].iter().map(|turn| turn.cut.without_rest());
        nodes.extend(cuts.map(DirectoryNode::Cut));
        nodes.extend(subtree);
        before = way;
    }
    nodes
}

/// The order of ways in the tree.
pub(super) fn by_way(a: &[Turn], b: &[Turn]) -> std::cmp::Ordering {
    let outside = |way: &[Turn]| way.iter().map(|turn| !turn.is_inside).collect::<Vec<bool>>();
    outside(a).cmp(&outside(b))
}

/// The nodes that are left when subtrees are missing: a cut stays if something is left on both
/// sides.
fn without_gaps(nodes: &[Option<DirectoryNode>]) -> Vec<DirectoryNode> {
    let mut kept = Vec::with_capacity(nodes.len());
    let mut is_alive: Vec<bool> = Vec::new();
    // From the end, so that children come before their parents.
    for node in nodes.iter().rev() {
        let (alive, stays) = match node {
            None => (false, false),
            Some(DirectoryNode::Part(_)) => (true, true),
            Some(DirectoryNode::Cut(_)) => {
                let [a, b] = [(); 2].map(|()| is_alive.pop().expect("a cut has two children"));
                (a || b, a && b)
            }
        };
        is_alive.push(alive);
        kept.extend(node.filter(|_| stays));
    }
    kept.reverse();
    kept
}

#[derive(Serialize, Deserialize)]
enum StoredNode {
    Part(PartId),
    Cut(StoredCut),
}

impl StoredNode {
    fn of(node: &DirectoryNode) -> StoredNode {
        match node {
            DirectoryNode::Part(part) => StoredNode::Part(*part),
            DirectoryNode::Cut(cut) => StoredNode::Cut(StoredCut::of(cut)),
        }
    }

    fn checked(self, n_attributes: usize) -> Result<DirectoryNode, DamagedPart> {
        Ok(match self {
            StoredNode::Part(part) => DirectoryNode::Part(part),
            StoredNode::Cut(cut) => DirectoryNode::Cut(cut.checked(n_attributes)?.without_rest()),
        })
    }
}
