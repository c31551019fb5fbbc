//! What must be true of every file, checked by walking it.

use std::collections::BTreeSet;

use albers_classes::region::is_in_box;

use super::BangFile;
use super::contain::encloses;

impl BangFile {
    /// Asserts every invariant; for tests. `codes` are those of each row, `holds` tells whether
    /// rows satisfy the requirement.
    ///
    /// # Panics
    /// When an invariant is broken.
    pub fn check_invariants(&self, codes: &[Vec<u32>], holds: impl Fn(&[u32]) -> bool) {
        let n_blocks = self.n_blocks() as u32;
        let mut rows: Vec<u32> = (0..n_blocks).flat_map(|block| self.rows_of(block)).collect();
        rows.sort_unstable();
        assert!(rows.into_iter().eq(0..codes.len() as u32), "every row is in one block");
        for block in 0..n_blocks {
            let own: Vec<u32> = self.rows_of(block).collect();
            assert!(holds(&own), "every block satisfies the requirement");
            self.check_regions(block);
            let (outer, holes) = (self.region_box(block), self.hole_boxes(block));
            for &row in &own {
                let point = &codes[row as usize];
                assert_eq!(self.search(point), Some(block), "a row is found where it is");
                assert_eq!(self.search_all(point), Some(block), "so it is by a look at all");
                assert!(is_in_box(&outer, point), "rows lie in their region");
                assert!(!holes.iter().any(|hole| is_in_box(hole, point)), "and in no hole");
            }
        }
        if self.is_nested() && n_blocks > 0 {
            let outermost = (0..n_blocks).filter(|&block| self.nesting.parent(block).is_none());
            let outermost: Vec<u32> = outermost.map(|block| self.region(block).1 as u32).collect();
            assert_eq!(outermost, [0], "one region holds all others, and all of space");
        }
    }

    /// A region holds another or shares nothing with it; its parent is the smallest around it.
    fn check_regions(&self, block: u32) {
        let (key, n_bits) = self.region(block);
        let mut around = BTreeSet::new();
        for other in (0..self.n_blocks() as u32).filter(|&other| other != block) {
            let (other_key, n_other_bits) = self.region(other);
            let is_around = encloses((other_key, n_other_bits), key) && n_other_bits <= n_bits;
            if is_around {
                assert!(n_other_bits < n_bits, "no region is that of two blocks");
                around.insert((n_other_bits, other));
            }
            let boxes = [self.region_box(block), self.region_box(other)];
            let meet = boxes[0].iter().zip(&boxes[1]).all(|(a, b)| a.0 <= b.1 && b.0 <= a.1);
            let is_inside = encloses((key, n_bits), other_key) && n_bits < n_other_bits;
            assert!(meet == (is_around || is_inside), "regions lie in each other or apart");
            assert!(self.is_nested() || !meet, "without nesting they lie apart");
        }
        assert_eq!(self.nesting.depth(block) as usize, around.len(), "depths are exact");
        let parent = around.last().map(|&(_, other)| other);
        assert_eq!(self.nesting.parent(block), parent, "parents are the smallest around");
        if let Some(parent) = parent {
            assert!(self.nesting.children(parent).contains(&block), "and know their children");
        }
    }

    /// The block of the smallest region that holds a point, by a look at all regions.
    fn search_all(&self, point: &[u32]) -> Option<u32> {
        let blocks = 0..self.n_blocks() as u32;
        let around = blocks.filter(|&block| is_in_box(&self.region_box(block), point));
        around.max_by_key(|&block| self.region(block).1)
    }
}
