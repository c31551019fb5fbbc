//! How a block is taken out of a bucket, which keeps its region and what is left.
//!
//! ```text
//!   all 12 ▸ denser half 10 ▸ denser half 7: no more than two thirds
//!   the 7 are a bucket of their own; the other 5 stay in the region around them
//! ```
//!
//! Source: Ohsawa & Sakauchi 1983 (halves of halves); Lomet & Salzberg 1990 (subtrees of cuts).
//! Departures: a block is taken out only where it and the rest satisfy; where they do not, the way
//! goes on into the denser part, down to the fewest rows that could satisfy.
//! Guarantee: regions of one way of dividing space lie in each other or apart, because all blocks
//! are taken from the same one.
//! Cost: O(rows) for each block on the way that could be taken, where more than numbers decide.

use super::bucket::{Bucket, Judge};

/// A way to divide space in two again and again, with rows in an order in which every region is a
/// run.
pub(super) trait Divided {
    /// A region of it.
    type Region: Copy;

    /// The two parts of the smallest region around some rows of a region, both with rows: how many
    /// of the rows are in the first, and both regions. Nothing if no region parts the rows.
    fn parts(&self, region: Self::Region, rows: &[u32]) -> Option<(usize, [Self::Region; 2])>;
}

/// A block of a bucket that satisfies, and the rest, which does too.
pub(super) fn extract<D: Divided>(
    divided: &D,
    bucket: &Bucket<D::Region>,
    judge: &mut Judge<'_>,
) -> Option<Vec<Bucket<D::Region>>> {
    let rows = &bucket.rows;
    let (mut region, mut block) = (bucket.place, 0..rows.len());
    loop {
        let (n_first, [first, second]) = divided.parts(region, &rows[block.clone()])?;
        let middle = block.start + n_first;
        (region, block) = match block.end - middle > n_first {
            true => (second, middle..block.end),
            false => (first, block.start..middle),
        };
        if block.len() < judge.min_rows() {
            return None;
        }
        let (before, inside, after) =
            (&rows[..block.start], &rows[block.clone()], &rows[block.end..]);
        let is_taken = 3 * block.len() <= 2 * rows.len()
            && judge.holds(before, after)
            && judge.holds(inside, &[]);
        if is_taken {
            let inner = Bucket { place: region, rows: inside.to_vec() };
            let outer = Bucket { place: bucket.place, rows: [before, after].concat() };
            return Some(vec![inner, outer]);
        }
    }
}
