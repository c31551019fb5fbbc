//! Where cuts lie, by a walk over a grown tree that looks at the points of both sides.

use albers_classes::space::Space;
use albers_partition::cell::{Cell, TableSize};
use albers_partition::grain::Grain;
use albers_partition::mondrian::Plan;
use albers_partition::plan::CellFacts;
use albers_partition::split::Policy;
use albers_partition::split::cut::Cut;
use albers_partition::split_tree::{SplitTree, TreeNode};
use albers_privacy::{Facts, Requirement};

use super::table::{Dice, interval};

/// Grows a tree on intervals, with and without regions, and looks at all its cuts.
pub fn check_cuts(seed: u64, n_rows: usize, n_attributes: usize, policy: Policy, k: u64) {
    let mut dice = Dice(seed);
    let (axes, sizes): (Vec<_>, Vec<u32>) = (0..n_attributes).map(|_| interval(&mut dice)).unzip();
    let points: Vec<[u32; 8]> = (0..n_rows)
        .map(|_| {
            let mut point = [0; 8];
            // Values that are round themselves, so that they are met by cuts which do not look.
            let code = |&n_codes: &u32| dice.below(n_codes) / 10 * 10;
            point.iter_mut().zip(sizes.iter().map(code)).for_each(|(lane, code)| *lane = code);
            point
        })
        .collect();
    let space = Space { axes };
    let grow = |keep_regions: bool| {
        let requirement = Requirement::new(k, false, Vec::new(), Vec::new()).expect("valid");
        let facts = Facts { subjects: Vec::new(), sensitive: Vec::new(), n_sensitive: 0 };
        let plan = Plan {
            space: &space,
            requirement: &requirement,
            facts: &facts,
            policy,
            keep_regions,
            workload: None,
            labels_apart: false,
            is_exact: false,
            trust: None,
            portfolio: None,
            grain: Grain::default(),
            seed: 0,
        };
        let mut cell = Cell::new(points.clone());
        let tree = cell.grow::<0>(&plan, CellFacts::default(), TableSize::Small, None);
        (cell, tree)
    };
    let (cell, tree) = grow(true);
    let (without, plain) = grow(false);
    assert_eq!(cell.places, without.places, "regions change the classes");
    assert_eq!(tree.nodes().len(), plain.nodes().len());
    let mut walk = Walk { tree: &tree, points: &cell.points, at: 0, first: 0 };
    assert_eq!(walk.below().len(), n_rows);
}

struct Walk<'w> {
    tree: &'w SplitTree,
    points: &'w [[u32; 8]],
    at: usize,
    first: usize,
}

impl<'w> Walk<'w> {
    /// The points below the next node, whose cuts are looked at.
    fn below(&mut self) -> &'w [[u32; 8]] {
        let start = self.first;
        let node = self.tree.nodes()[self.at];
        self.at += 1;
        match node {
            TreeNode::Leaf { n_rows } => self.first += n_rows as usize,
            TreeNode::Cut(cut) | TreeNode::Next(cut) => {
                let (inside, outside) = (self.below(), self.below());
                self.check(&cut, inside, outside);
            }
        }
        &self.points[start..self.first]
    }

    fn check(&self, cut: &Cut, inside: &[[u32; 8]], outside: &[[u32; 8]]) {
        let axis = cut.axis as usize;
        let left = inside.iter().map(|point| point[axis]).max().expect("points");
        let right = outside.iter().map(|point| point[axis]).min().expect("points");
        assert!(left <= cut.hi && cut.hi < right, "a point has changed its side");
        let mut codes: Vec<u32> = self.points.iter().map(|point| point[axis]).collect();
        codes.sort_unstable();
        codes.dedup();
        let own = codes.iter().copied().filter(|code| (left..=right).contains(code));
        let own: Vec<u32> = own.collect();
        let is_free = |code: &u32| own.binary_search(code).is_err();
        if own.windows(2).any(|pair| pair[1] - pair[0] > 2) {
            assert!(is_free(&cut.hi) && is_free(&(cut.hi + 1)), "a cut lies at a value");
        }
    }
}
