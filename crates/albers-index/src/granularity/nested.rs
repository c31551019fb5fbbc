//! Nested classes: connected pieces of the tree of regions that lie in each other.
//!
//! ```text
//!   blocks: a holds b and c, c holds d and e         classes for a larger k: {a b}, {c d}, {e}
//!
//!            a                a region without those      a class is the region of its top block
//!          /   \              directly in it              without the tops of the classes
//!         b     c                                         directly in it, and the innermost of
//!              / \                                        them around a point is still its own
//!             d   e
//! ```
//!
//! Source: Raschia & Anjum 2011, section 3.2 (the innermost region around a point is its own).
//! Departures: neither paper says what a coarser nested release is made of. From the innermost
//! regions outwards, what does not satisfy the requirement joins the region around it; what is left
//! at the outermost joins the class in it that adds least to the certainty penalty.
//! Guarantee: every class satisfies the requirement, if all blocks together do, and is connected.
//! Cost: one pass over the rows, and one over the classes in the outermost if it is left; no recursion.

use albers_classes::class_block::ClassDetails;
use albers_classes::{ClassId, FeatureValue};
use albers_partition::mondrian::Plan;
use albers_partition::split::extent::{Extent, Weigher, has_small_sets};
use albers_privacy::{ClassSummary, Requirement};

use super::leaves::LeafRuns;
use super::lists::Lists;
use super::units::{Units, renumbered};
use super::walk::by_region;
use crate::bang_file::BangFile;

/// No block.
const NONE: u32 = u32::MAX;

/// How the classes of nested blocks lie in each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassTree {
    tops: Vec<u32>,
    parents: Vec<Option<ClassId>>,
    depths: Vec<u32>,
    /// The outermost blocks of the classes directly in each class.
    holes: Lists,
}

impl ClassTree {
    /// From the class of each block, all numbered from 0 without gaps.
    pub fn of(file: &BangFile, classes: &[ClassId]) -> ClassTree {
        let n_classes = classes.iter().max().map_or(0, |class| class.index() + 1);
        let mut tree = ClassTree {
            tops: vec![NONE; n_classes],
            parents: vec![None; n_classes],
            depths: vec![0; n_classes],
            holes: Lists::default(),
        };
        let mut holes = vec![Vec::new(); n_classes];
        for block in by_region(file) {
            let class = classes[block as usize];
            let around = file.nesting().parent(block).map(|parent| classes[parent as usize]);
            if around == Some(class) {
                continue;
            }
            around.iter().for_each(|around| holes[around.index()].push(block));
            if tree.tops[class.index()] == NONE {
                tree.tops[class.index()] = block;
                tree.parents[class.index()] = around;
                let depth = around.map(|around| tree.depths[around.index()] + 1);
                tree.depths[class.index()] = depth.unwrap_or(0);
            }
        }
        holes.into_iter().for_each(|own| tree.holes.push(own));
        tree
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.tops.len()
    }

    /// The outermost block of a class, whose region is the region of the class. Where a class is
    /// several pieces, since they show the same, it is that of the first.
    pub fn top(&self, class: ClassId) -> u32 {
        self.tops[class.index()]
    }

    /// The class around a class.
    pub fn parent(&self, class: ClassId) -> Option<ClassId> {
        self.parents[class.index()]
    }

    /// How many classes lie around a class.
    pub fn depth(&self, class: ClassId) -> u32 {
        self.depths[class.index()]
    }

    /// The blocks whose regions are the holes of a class: the outermost of the classes directly in it.
    pub fn holes(&self, class: ClassId) -> &[u32] {
        self.holes.get(class.index())
    }

    /// The depth of each class as its feature, and its holes.
    pub fn details(&self, file: &BangFile) -> ClassDetails {
        let mut details = ClassDetails::default();
        for class in ClassId::first(self.n_classes()) {
            let depth = FeatureValue::integer(self.depth(class).into());
            let holes = self.holes(class).iter().flat_map(|&block| file.region_box(block));
            details.push(&[depth], &holes.collect::<Vec<_>>());
        }
        details
    }
}

/// The class of each block: connected, and made of whole units.
pub fn nested(
    leaves: LeafRuns<'_>,
    file: &BangFile,
    units: &Units,
    requirement: &Requirement,
    plan: &Plan<'_>,
) -> Vec<ClassId> {
    let mut pieces = Pieces::of_units(file, units);
    let rest = pieces.grow(leaves, requirement);
    if let Some(rest) = rest {
        let (n_attributes, sets) = (leaves.n_attributes(), has_small_sets(plan.space));
        albers_partition::with_lanes!(
            n_attributes,
            sets,
            settle(&mut pieces, leaves, rest, requirement, plan)
        );
    }
    pieces.classes()
}

/// The classes, once those are joined that lie between the pieces of one.
pub fn connected(file: &BangFile, classes: &[ClassId]) -> Vec<ClassId> {
    renumbered(Pieces::of_units(file, &Units::of(classes)).classes())
}

/// Connected pieces of the tree of regions. Blocks are named by their places in the order of
/// regions, in which a parent comes before its children, and a piece by its outermost block.
struct Pieces {
    /// The block at each place.
    walk: Vec<u32>,
    /// The place of each block.
    place_of: Vec<u32>,
    /// The place of the block around each. Regions that lie in no other count as lying in the first.
    parents: Vec<u32>,
    /// A place further out in the same piece; of the outermost, its own.
    outwards: Vec<u32>,
}

impl Pieces {
    /// The smallest pieces that have whole units.
    fn of_units(file: &BangFile, units: &Units) -> Pieces {
        let walk = by_region(file);
        let mut place_of = vec![0; walk.len()];
        (0u32..).zip(&walk).for_each(|(place, &block)| place_of[block as usize] = place);
        let parent = |&block: &u32| {
            file.nesting().parent(block).map_or(0, |parent| place_of[parent as usize])
        };
        let parents = walk.iter().map(parent).collect();
        let outwards = (0..walk.len() as u32).collect();
        let mut pieces = Pieces { walk, place_of, parents, outwards };
        for unit in units.iter() {
            for two in unit.windows(2) {
                pieces.connect(pieces.place_of[two[0] as usize], pieces.place_of[two[1] as usize]);
            }
        }
        pieces
    }

    /// The outermost place of a piece.
    fn top(&mut self, place: u32) -> u32 {
        let mut at = place as usize;
        while self.outwards[at] as usize != at {
            // Every other step is skipped from now on.
            self.outwards[at] = self.outwards[self.outwards[at] as usize];
            at = self.outwards[at] as usize;
        }
        at as u32
    }

    /// Joins a piece with the one around it.
    fn join_outwards(&mut self, top: u32) {
        self.outwards[top as usize] = self.parents[top as usize];
    }

    /// Joins two pieces and all that lie between them.
    fn connect(&mut self, a: u32, b: u32) {
        loop {
            let (a, b) = (self.top(a), self.top(b));
            if a == b {
                return;
            }
            // The later of the two holds not the other: the way leads through what is around it.
            self.join_outwards(a.max(b));
        }
    }

    /// Joins what does not satisfy the requirement with what is around it, the innermost first. Gives
    /// the outermost piece if it does not satisfy it then.
    fn grow(&mut self, leaves: LeafRuns<'_>, requirement: &Requirement) -> Option<u32> {
        let mut tallies: Vec<Option<Tally>> = self.walk.iter().map(|_| None).collect();
        for place in (0..self.walk.len() as u32).rev() {
            let top = self.top(place);
            let tally = tallies[top as usize].get_or_insert_with(|| Tally::new(requirement));
            tally.add(leaves, self.walk[place as usize]);
            if top != place || tally.holds(requirement) {
                continue;
            }
            if place == 0 {
                return Some(0);
            }
            self.join_outwards(place);
            let around = self.top(place) as usize;
            if let Some(tally) = tallies[place as usize].take() {
                tallies[around].get_or_insert_with(|| Tally::new(requirement)).merge(&tally);
            }
        }
        None
    }

    /// The blocks of each piece, by the place of its outermost; none where there is no such piece.
    fn blocks(&mut self) -> Lists {
        let mut tops: Vec<u32> = (0..self.walk.len() as u32).map(|place| self.top(place)).collect();
        // Every place has a list, if need be an empty one.
        let last = self.walk.len() as u32;
        tops.push(last);
        let lists = Lists::of_groups(&tops);
        let mut blocks = Lists::with_capacity(self.walk.len(), self.walk.len());
        for place in 0..self.walk.len() {
            blocks.push(lists.get(place).iter().map(|&own| self.walk[own as usize]));
        }
        blocks
    }

    /// The class of each block, numbered below their number.
    fn classes(&mut self) -> Vec<ClassId> {
        let places = std::mem::take(&mut self.place_of);
        let classes = places.iter().map(|&place| ClassId::new(self.top(place))).collect();
        self.place_of = places;
        classes
    }
}

/// What is known of the rows of a piece.
struct Tally {
    n_rows: u64,
    /// Where more than the number of rows decides.
    summary: Option<ClassSummary>,
}

impl Tally {
    fn new(requirement: &Requirement) -> Tally {
        let has_rule = requirement.is_only_row_count().is_none();
        let summary = has_rule.then(|| ClassSummary::new(requirement.shape()));
        Tally { n_rows: 0, summary }
    }

    fn add(&mut self, leaves: LeafRuns<'_>, block: u32) {
        self.n_rows += leaves.count(&[block]);
        if let Some(summary) = &mut self.summary {
            leaves.add_leaves(&[block], summary);
        }
    }

    fn merge(&mut self, other: &Tally) {
        self.n_rows += other.n_rows;
        if let (Some(own), Some(other)) = (&mut self.summary, &other.summary) {
            own.merge(other);
        }
    }

    fn holds(&self, requirement: &Requirement) -> bool {
        self.n_rows >= requirement.min_rows()
            && self.summary.as_ref().is_none_or(|summary| requirement.holds(summary))
    }
}

/// Joins the outermost piece, which does not satisfy the requirement, with pieces directly in it, by
/// what that adds to the loss, until it does.
fn settle<const L: usize, const M: usize>(
    pieces: &mut Pieces,
    leaves: LeafRuns<'_>,
    rest: u32,
    requirement: &Requirement,
    plan: &Plan<'_>,
) {
    let weigher = Weigher::<L, M>::new(plan.space);
    let loss = |extent: &Extent<L, M>, blocks: &[u32]| {
        leaves.count(blocks) as f64 * f64::from(weigher.loss(extent))
    };
    let mut gathered = pieces.blocks().get(rest as usize).to_vec();
    loop {
        let blocks = pieces.blocks();
        let own = leaves.extent::<L, M>(&gathered);
        let mut inner: Vec<(f64, u32)> = Vec::new();
        for top in rest + 1..pieces.walk.len() as u32 {
            if pieces.top(top) != top || pieces.top(pieces.parents[top as usize]) != rest {
                continue;
            }
            let of_top = blocks.get(top as usize);
            let extent = leaves.extent::<L, M>(of_top);
            let mut both = own;
            both.merge(&extent);
            let together = loss(&both, &gathered) + loss(&both, of_top);
            inner.push((together - loss(&extent, of_top), top));
        }
        if inner.is_empty() {
            return;
        }
        inner.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (_, top) in inner {
            pieces.join_outwards(top);
            gathered.extend(blocks.get(top as usize));
            if leaves.hold(&gathered, requirement) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
