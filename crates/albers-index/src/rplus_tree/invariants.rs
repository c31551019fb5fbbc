//! What must be true of every tree, checked by walking it.

use albers_partition::split::cut::Cut;

use super::{Child, RPlusTree};

/// The codes of one attribute that route to a node, as disjoint ranges.
type Ranges = Vec<(u32, u32)>;

impl RPlusTree {
    /// Asserts every invariant; for tests. `rows` gives the codes of each row in tree order,
    /// `holds` tells whether the rows at some places satisfy the requirement.
    ///
    /// # Panics
    /// When an invariant is broken.
    pub fn check_invariants(
        &self,
        rows: &[Vec<u32>],
        holds: impl Fn(std::ops::Range<usize>) -> bool,
    ) {
        assert_eq!(self.n_rows(), rows.len(), "every row is in a leaf");
        let whole: Vec<Ranges> = vec![vec![(0, u32::MAX)]; self.n_attributes()];
        self.check_regions(self.root(), &whole, rows);
        for leaf in 0..self.n_leaves() as u32 {
            let places = self.rows_of(leaf..leaf + 1);
            assert!(!places.is_empty(), "no leaf is empty");
            assert!(holds(places.clone()), "every leaf satisfies the requirement");
            for row in &rows[places] {
                assert_eq!(self.search(row), leaf, "every record is found where it is");
            }
        }
    }

    /// Children tile their parent's region without meeting, and boxes are exact and inside of it.
    fn check_regions(&self, root: Child, whole: &[Ranges], rows: &[Vec<u32>]) {
        let mut pending = vec![(root, whole.to_vec())];
        while let Some((child, region)) = pending.pop() {
            let own_rows = &rows[self.rows_of(self.leaves_of(child))];
            for (axis, &(lo, hi)) in self.box_of(child).iter().enumerate() {
                let codes = || own_rows.iter().map(|row| row[axis]);
                let ends = (codes().min(), codes().max());
                assert_eq!(ends, (Some(lo.get()), Some(hi.get())), "boxes are exact");
                for code in codes() {
                    let routes_here =
                        region[axis].iter().any(|&(lo, hi)| (lo..=hi).contains(&code));
                    assert!(routes_here, "records lie inside their region");
                }
            }
            let Child::Split(split) = child else { continue };
            let split = &self.splits()[split as usize];
            assert!(self.leaves_of(split.inside).end == self.leaves_of(split.outside).start);
            assert!(self.leaves_of(split.inside).start == split.first_leaf, "counts are exact");
            assert!(self.leaves_of(split.outside).end == split.end_leaf, "counts are exact");
            let Cut { axis, lo, hi, .. } = split.cut;
            let axis = axis as usize;
            let inside = meet(&region[axis], lo, hi);
            let outside = without(&region[axis], lo, hi);
            let measure =
                |ranges: &Ranges| ranges.iter().map(|(lo, hi)| u64::from(hi - lo) + 1).sum::<u64>();
            assert!(!inside.is_empty() && !outside.is_empty(), "a split has two sides");
            assert_eq!(
                measure(&inside) + measure(&outside),
                measure(&region[axis]),
                "the two sides tile the region"
            );
            for (side, ranges) in [(split.inside, inside), (split.outside, outside)] {
                let mut narrowed = region.clone();
                narrowed[axis] = ranges;
                pending.push((side, narrowed));
            }
        }
    }
}

fn meet(ranges: &Ranges, lo: u32, hi: u32) -> Ranges {
    let cut = ranges.iter().map(|&(a, b)| (a.max(lo), b.min(hi)));
    cut.filter(|(a, b)| a <= b).collect()
}

fn without(ranges: &Ranges, lo: u32, hi: u32) -> Ranges {
    let below = |&(a, b): &(u32, u32)| (lo > 0).then(|| (a, b.min(lo - 1)));
    let above = |&(a, b): &(u32, u32)| (hi < u32::MAX).then(|| (a.max(hi + 1), b));
    let pieces = ranges.iter().flat_map(|range| [below(range), above(range)]);
    pieces.flatten().filter(|(a, b)| a <= b).collect()
}
