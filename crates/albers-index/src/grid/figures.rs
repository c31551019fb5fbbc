//! What each resolution of a grid comes to, for those who choose one.

use albers_storage::Result;
use albers_storage::watch::Watch;
use rustc_hash::FxHashSet;

use super::Grid;

/// What a resolution comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// How often space is halved.
    pub n_halvings: usize,
    /// How many ranges of each attribute hold rows.
    pub n_ranges: Vec<u64>,
    /// Cells that hold rows.
    pub n_cells: u64,
    /// Rows of the smallest of these, or persons: the k that is reached.
    pub k: u64,
}

impl Grid {
    /// All resolutions at which a cell is parted that was one before, from the coarsest on. Where
    /// rows belong to persons, these are given by row, and counted.
    pub fn resolutions(
        &self,
        persons: Option<&[u64]>,
        watch: &dyn Watch,
    ) -> Result<Vec<Resolution>> {
        let mut found: Vec<Resolution> = Vec::new();
        let by_column = self.ranges_by_column();
        let mut n_own = vec![0; self.space.n_attributes()];
        for n_halvings in 0..=self.n_levels() {
            watch.check()?;
            if n_halvings > 0 {
                n_own[self.space.interleaving().attribute(n_halvings - 1)] += 1;
            }
            let n_cells = self.cells(n_halvings).count() as u64;
            if n_cells == 0 || found.last().is_some_and(|last| last.n_cells == n_cells) {
                continue;
            }
            let ranges = by_column
                .iter()
                .zip(&n_own)
                .map(|(column, &n_bits): (&Vec<u64>, &usize)| column[n_bits]);
            let k = self.least_cell(n_halvings, persons);
            found.push(Resolution { n_halvings, n_ranges: ranges.collect(), n_cells, k });
        }
        Ok(found)
    }

    /// Rows, or persons, of the smallest cell.
    fn least_cell(&self, n_halvings: usize, persons: Option<&[u64]>) -> u64 {
        let mut seen: FxHashSet<u64> = FxHashSet::default();
        let sizes = self.cells(n_halvings).map(|cell| match persons {
            None => cell.len(),
            Some(persons) => {
                seen.clear();
                seen.extend(self.keys.row_ids()[cell].iter().map(|&row| persons[row as usize]));
                seen.len()
            }
        });
        sizes.min().unwrap_or(0) as u64
    }

    /// For each attribute, how many of its ranges hold rows after each of its own halvings.
    fn ranges_by_column(&self) -> Vec<Vec<u64>> {
        (0..self.space.n_attributes()).map(|attribute| self.ranges_of(attribute)).collect()
    }

    fn ranges_of(&self, attribute: usize) -> Vec<u64> {
        let n_bits = self.space.scales()[attribute].n_bits();
        let keys = self.keys.keys();
        let mut cells: Vec<u64> =
            keys.map(|key| self.space.interleaving().cell_of(key, attribute)).collect();
        cells.sort_unstable();
        cells.dedup();
        let mut n_ranges = vec![u64::from(!cells.is_empty()); n_bits as usize + 1];
        for pair in cells.windows(2) {
            // The first halving that parts them, and all behind it.
            let n_common = n_bits - (64 - (pair[0] ^ pair[1]).leading_zeros());
            n_ranges[n_common as usize + 1..].iter_mut().for_each(|own| *own += 1);
        }
        n_ranges
    }
}
