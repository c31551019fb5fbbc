//! What is known beside the attributes: columns that are published as they are, and that a reader
//! will use like the attributes to predict the targets of a workload.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 3.1.3 and figure 3: attributes are split, and
//! targets are scored over the space of all features.
//! Departures: the paper does not say how numbers beside the attributes divide that space; each row
//! would be a cell of its own, and no split would tell anything. So the space is divided into cells
//! before the first split, by values of categories and by bins of numbers ([`Histogram`]).
//! Guarantee: the cell of a row depends on the whole table and not on its order.
//! Cost: O(features) per row.

mod histogram;

pub use histogram::Histogram;

/// Numbers are put into no more bins, besides that of missing values.
pub const MAX_BINS: usize = 16;

/// How the codes of a feature become bins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bins {
    /// Every code is one, also that of a missing value.
    Codes {
        /// How many there are.
        n_codes: u32,
    },
    /// Stretches of codes.
    Stretches {
        /// The last code of each but the last, ascending.
        ends: Vec<u32>,
        /// The code of a missing value, which is a bin of its own before all others.
        missing: Option<u32>,
    },
}

impl Bins {
    /// How many there are.
    pub fn n_bins(&self) -> u32 {
        match self {
            Bins::Codes { n_codes } => *n_codes,
            Bins::Stretches { ends, missing } => {
                ends.len() as u32 + 1 + u32::from(missing.is_some())
            }
        }
    }

    /// The bin of a code.
    #[inline]
    fn of(&self, code: u32) -> u32 {
        match self {
            Bins::Codes { .. } => code,
            Bins::Stretches { missing, .. } if *missing == Some(code) => 0,
            Bins::Stretches { ends, missing } => {
                ends.partition_point(|&end| end < code) as u32 + u32::from(missing.is_some())
            }
        }
    }
}

/// The cells of all features together, numbered by their bins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureSpace {
    features: Vec<Bins>,
}

impl FeatureSpace {
    /// Of features with these bins.
    pub fn new(features: Vec<Bins>) -> FeatureSpace {
        FeatureSpace { features }
    }

    /// How many cells there are, whether or not they occur.
    pub fn n_cells(&self) -> u64 {
        self.features.iter().fold(1, |cells, bins| cells.saturating_mul(bins.n_bins().into()))
    }

    /// The cell of each of some rows, by the codes of each feature.
    pub fn cells(&self, columns: &[&[u32]]) -> Vec<u32> {
        let mut cells = vec![0; columns.first().map_or(0, |column| column.len())];
        for (bins, column) in self.features.iter().zip(columns) {
            let n_bins = bins.n_bins();
            let rows = cells.iter_mut().zip(*column);
            rows.for_each(|(cell, &code)| *cell = *cell * n_bins + bins.of(code));
        }
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_one_cell_if_all_their_bins_are_the_same() {
        let age = Bins::Stretches { ends: vec![39, 64], missing: Some(0) };
        let space = FeatureSpace::new(vec![Bins::Codes { n_codes: 3 }, age]);
        assert_eq!(space.n_cells(), 12);
        let cells = space.cells(&[&[0, 0, 2, 2, 2, 1], &[0, 39, 40, 64, 65, 20]]);
        assert_eq!(cells, [0, 1, 10, 10, 11, 5]);
    }
}
