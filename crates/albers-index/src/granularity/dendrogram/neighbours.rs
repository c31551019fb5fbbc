//! The regions of leaves, and which of them lie face to face.
//!
//! ```text
//!   ┌───────┬───┐
//!   │       × b │     from the middle of each face of a region, one step outside:
//!   │   a   ├───┤     a finds b or c, and both find a, so that the large need not
//!   │       × c │     look for the small
//!   └───────┴───┘
//! ```
//!
//! Source: Anjum & Raschia 2017, section 4.1 (a shared hyperplane of one dimension less).
//! Departures: neighbours are found by searches in the index, not by looking at all pairs. A contact
//! that no middle of a face of either lies on is missed, which costs a candidate, no more.
//! Guarantee: who is found lies at the other side of a face; the relation is symmetric. Regions of a
//! tree are told by its rows: a cut counts as placed in the middle between the rows of its sides,
//! wherever it was moved to be shown. Where a piece was taken from the middle of a region, what is
//! left keeps all of it, so that regions of labels may overlap.
//! Cost: a search for each face that is not at the border of all space.

use albers_classes::Span;
use albers_classes::region::NO_CODES;
use albers_partition::split::cut::Cut;
use albers_table::code::Code;
use rayon::prelude::*;

use super::density::Volumes;
use crate::granularity::leaves::{Index, LeafRuns};
use crate::granularity::lists::Lists;
use crate::rplus_tree::{Child, RPlusTree};

/// So many leaves are probed by one thread at a time.
const STRETCH: usize = 256;

/// The regions of all leaves, by the places of the leaves in the order of the index.
pub struct Regions<'a> {
    leaves: LeafRuns<'a>,
    n_attributes: usize,
    /// One after another.
    spans: Vec<Span>,
    /// What holds them all.
    whole: Vec<Span>,
    /// The cuts of a tree, as its rows tell them.
    cuts: Vec<Cut>,
    /// The leaf at each place.
    walk: &'a [u32],
    place_of: Vec<u32>,
}

impl<'a> Regions<'a> {
    /// Of the leaves in some order.
    pub fn new(leaves: LeafRuns<'a>, walk: &'a [u32]) -> Regions<'a> {
        let n_attributes = leaves.n_attributes();
        let mut place_of = vec![0; walk.len()];
        (0u32..).zip(walk).for_each(|(place, &leaf)| place_of[leaf as usize] = place);
        let (spans, cuts) = match leaves.index {
            Index::Tree(tree) => {
                let cuts = told_cuts(tree);
                (tree_regions(tree, &cuts, &place_of), cuts)
            }
            Index::Blocks(file) => {
                let regions = walk.par_iter().map(|&block| file.region_box(block));
                let regions: Vec<Vec<Span>> = regions.collect();
                (regions.concat(), Vec::new())
            }
        };
        let mut whole = vec![NO_CODES; n_attributes];
        for region in spans.chunks_exact(n_attributes.max(1)) {
            for (all, own) in whole.iter_mut().zip(region) {
                *all = (all.0.min(own.0), all.1.max(own.1));
            }
        }
        Regions { leaves, n_attributes, spans, whole, cuts, walk, place_of }
    }

    /// The region of the leaf at a place.
    pub fn of(&self, place: usize) -> &[Span] {
        &self.spans[place * self.n_attributes..(place + 1) * self.n_attributes]
    }

    /// The volume of each region, without the regions that lie in it.
    pub fn volumes(&self) -> Volumes {
        let mut volumes = Volumes::within(&self.whole, self.walk.len());
        let mut holes: Vec<Span> = Vec::new();
        for (place, &leaf) in self.walk.iter().enumerate() {
            holes.clear();
            if let Index::Blocks(file) = self.leaves.index {
                let inner = file.nesting().children(leaf).iter();
                let places = inner.map(|&block| self.place_of[block as usize] as usize);
                holes.extend(places.flat_map(|inner| self.of(inner)));
            }
            volumes.push(self.of(place), &holes);
        }
        volumes
    }

    /// The places of the neighbours of each leaf.
    pub fn neighbours(&self) -> Lists {
        let stretch = |start: usize| {
            let mut lists = Lists::default();
            let (mut point, mut found) = (vec![0; self.n_attributes], Vec::new());
            for place in start..(start + STRETCH).min(self.walk.len()) {
                found.clear();
                self.probe(place, &mut point, &mut found);
                lists.push_set(found.iter().copied());
            }
            lists
        };
        let starts: Vec<usize> = (0..self.walk.len()).step_by(STRETCH).collect();
        Lists::concat(starts.into_par_iter().map(stretch).collect()).symmetric()
    }

    /// Finds who lies on the other side of each face of a region, at its middle.
    fn probe(&self, place: usize, point: &mut [u32], found: &mut Vec<u32>) {
        let region = self.of(place);
        let middle = |&(lo, hi): &Span| lo.get() + (hi - lo) / 2;
        point.iter_mut().zip(region).for_each(|(code, own)| *code = middle(own));
        for (axis, (&(lo, hi), whole)) in region.iter().zip(&self.whole).enumerate() {
            let below = (lo > whole.0).then(|| lo.get() - 1);
            let above = (hi < whole.1).then(|| hi.get() + 1);
            for code in below.into_iter().chain(above) {
                point[axis] = code;
                let other = self.search(point).map(|leaf| self.place_of[leaf as usize]);
                found.extend(other.filter(|&other| other as usize != place));
            }
            point[axis] = middle(&(lo, hi));
        }
    }

    /// The leaf that a point belongs to, if any region holds it.
    fn search(&self, point: &[u32]) -> Option<u32> {
        match self.leaves.index {
            Index::Tree(tree) => Some(search_tree(tree, &self.cuts, point)),
            Index::Blocks(file) => file.search(point),
        }
    }
}

/// The cuts of a tree, each in the middle between the rows of its sides where these lie apart: so
/// they do not depend on where cuts are placed to be shown.
fn told_cuts(tree: &RPlusTree) -> Vec<Cut> {
    let told = tree.splits().iter().map(|split| {
        let axis = split.cut.axis as usize;
        let [inside, outside] = [split.inside, split.outside].map(|side| tree.box_of(side)[axis]);
        let between = |last: Code, first: Code| last.get() + (first - last - 1) / 2;
        if inside.1 < outside.0 {
            Cut::new(axis, 0, between(inside.1, outside.0))
        } else if outside.1 < inside.0 {
            Cut::new(axis, between(outside.1, inside.0) + 1, u32::MAX)
        } else {
            Cut::new(axis, split.cut.lo, split.cut.hi)
        }
    });
    told.collect()
}

/// The regions of the leaves of a tree with other cuts, inside the box of all rows.
fn tree_regions(tree: &RPlusTree, cuts: &[Cut], place_of: &[u32]) -> Vec<Span> {
    let n_attributes = tree.n_attributes();
    let mut regions = vec![NO_CODES; tree.n_leaves() * n_attributes];
    // Split by split on the way down, one axis is changed and put back on the way up.
    enum Step {
        Enter(Child),
        Set(usize, Span),
    }
    let mut region = tree.box_of(tree.root()).to_vec();
    let mut pending = vec![Step::Enter(tree.root())];
    while let Some(step) = pending.pop() {
        match step {
            Step::Set(axis, own) => region[axis] = own,
            Step::Enter(Child::Leaf(leaf)) => {
                let at = place_of[leaf as usize] as usize * n_attributes;
                regions[at..at + n_attributes].copy_from_slice(&region);
            }
            Step::Enter(Child::Split(split)) => {
                let (cut, node) = (&cuts[split as usize], &tree.splits()[split as usize]);
                let axis = cut.axis as usize;
                let whole = region[axis];
                let [inside, outside] = cut.spans(whole);
                let steps = [
                    Step::Set(axis, whole),
                    Step::Enter(node.outside),
                    Step::Set(axis, outside),
                    Step::Enter(node.inside),
                    Step::Set(axis, inside),
                ];
                pending.extend(steps);
            }
        }
    }
    regions
}

fn search_tree(tree: &RPlusTree, cuts: &[Cut], point: &[u32]) -> u32 {
    let mut at = tree.root();
    loop {
        match at {
            Child::Leaf(leaf) => return leaf,
            Child::Split(split) => {
                let Cut { axis, lo, hi, .. } = cuts[split as usize];
                let is_inside = (lo..=hi).contains(&point[axis as usize]);
                let node = &tree.splits()[split as usize];
                at = if is_inside { node.inside } else { node.outside };
            }
        }
    }
}

#[cfg(test)]
mod tests;
