//! What clusters lose as they will be shown, and what they would lose together.
//!
//! Added loss is counted by row: small clusters would otherwise be near to everybody.

use albers_partition::split::extent::{Extent, Weigher};
use rayon::prelude::*;

use super::rounds::{Clusters, pair};
use crate::granularity::lists::Lists;

/// Clusters with boxes: the less their rows lose more by being one, the nearer they are.
pub struct Losses<'a, const L: usize, const M: usize> {
    weigher: &'a Weigher<'a, L, M>,
    n_rows: Vec<u64>,
    extents: Vec<Extent<L, M>>,
    /// What all rows of each lose.
    losses: Vec<f64>,
}

impl<'a, const L: usize, const M: usize> Losses<'a, L, M> {
    /// Of clusters with so many rows and such boxes.
    pub fn new(
        weigher: &'a Weigher<'a, L, M>,
        n_rows: Vec<u64>,
        extents: Vec<Extent<L, M>>,
    ) -> Self {
        let own = n_rows.iter().zip(&extents);
        let losses = own.map(|(&n, extent)| n as f64 * f64::from(weigher.loss(extent))).collect();
        Losses { weigher, n_rows, extents, losses }
    }

    /// What two clusters lose more as one, by row.
    fn added(&self, a: u32, b: u32) -> f64 {
        let [a, b] = [a as usize, b as usize];
        let mut both = self.extents[a];
        both.merge(&self.extents[b]);
        let n_rows = (self.n_rows[a] + self.n_rows[b]) as f64;
        f64::from(self.weigher.loss(&both)) - (self.losses[a] + self.losses[b]) / n_rows
    }
}

impl<const L: usize, const M: usize> Clusters for Losses<'_, L, M> {
    fn len(&self) -> usize {
        self.n_rows.len()
    }

    fn nearest(&self, of: u32, among: impl Iterator<Item = u32>) -> Option<u32> {
        let mut nearest: Option<(f64, u32)> = None;
        for other in among {
            let added = self.added(of, other);
            let is_nearer = nearest.is_none_or(|(least, best)| {
                added.total_cmp(&least).then_with(|| pair(of, other).cmp(&pair(of, best))).is_lt()
            });
            if is_nearer {
                nearest = Some((added, other));
            }
        }
        nearest.map(|(_, other)| other)
    }

    fn merged(&self, groups: &Lists) -> Self {
        let extent = |group: usize| {
            let mut extent = Extent::EMPTY;
            let members = groups.get(group).iter();
            members.for_each(|&member| extent.merge(&self.extents[member as usize]));
            extent
        };
        let rows = |members: &[u32]| members.iter().map(|&own| self.n_rows[own as usize]).sum();
        let extents = (0..groups.len()).into_par_iter().map(extent).collect();
        Losses::new(self.weigher, groups.iter().map(rows).collect(), extents)
    }
}
