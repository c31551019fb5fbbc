//! What must be true of every division, checked by a look at all pairs.

use albers_classes::Span;
use albers_classes::region::is_in_box;

use super::division::Division;

impl Division {
    /// Asserts every invariant; for tests. `codes` are those of each row, `holds` tells whether rows
    /// satisfy the requirement.
    ///
    /// # Panics
    /// When an invariant is broken.
    pub fn check_invariants(&self, codes: &[Vec<u32>], holds: impl Fn(&[u32]) -> bool) {
        let buckets = 0..self.n_buckets();
        let mut rows: Vec<u32> =
            buckets.clone().flat_map(|bucket| self.rows_of(bucket)).copied().collect();
        rows.sort_unstable();
        assert!(rows.into_iter().eq(0..codes.len() as u32), "every row is in one bucket");
        for bucket in buckets {
            assert!(holds(self.rows_of(bucket)), "every bucket satisfies the requirement");
            self.check_region(bucket);
            for &row in self.rows_of(bucket) {
                let found = self.innermost(&codes[row as usize]);
                assert_eq!(found, Some(bucket), "a row's bucket is the innermost around it");
            }
        }
    }

    /// A region holds another or shares nothing with it, and knows those directly in it.
    fn check_region(&self, bucket: usize) {
        let own = self.region_box(bucket);
        let others = || (0..self.n_buckets()).filter(|&other| other != bucket);
        let around: Vec<usize> =
            others().filter(|&other| encloses(self.region_box(other), own)).collect();
        for other in others() {
            let boxes = (own, self.region_box(other));
            let meet = boxes.0.iter().zip(boxes.1).all(|(a, b)| a.0 <= b.1 && b.0 <= a.1);
            let is_nested = encloses(own, boxes.1) || around.contains(&other);
            assert!(boxes.0 != boxes.1, "no region is that of two buckets");
            assert_eq!(meet, is_nested, "regions lie in each other or apart");
            assert!(self.depth(bucket).is_some() || !meet, "those side by side lie apart");
        }
        let depth = self.depth(bucket).unwrap_or(0) as usize;
        assert_eq!(depth, around.len(), "depths are exact");
        let parent = around.iter().max_by_key(|&&other| self.depth(other));
        let knows = |other: &usize| self.children(*other).contains(&bucket);
        let knowing: Vec<usize> = others().filter(knows).collect();
        assert_eq!(knowing, Vec::from_iter(parent.copied()), "the smallest around it knows it");
    }

    /// The bucket of the greatest depth around a point.
    fn innermost(&self, point: &[u32]) -> Option<usize> {
        let around = (0..self.n_buckets()).filter(|&at| is_in_box(self.region_box(at), point));
        around.max_by_key(|&bucket| self.depth(bucket))
    }
}

/// Whether a box holds all of another.
fn encloses(outer: &[Span], inner: &[Span]) -> bool {
    outer.iter().zip(inner).all(|(outer, inner)| outer.0 <= inner.0 && inner.1 <= outer.1)
}
