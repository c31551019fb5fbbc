//! The cells of all rows, where each attribute is halved on its own.

use albers_classes::Span;

use crate::bang_file::scale::Scale;

/// A cell for each row and attribute.
pub(super) struct Cells {
    scales: Vec<Scale>,
    columns: Vec<Vec<u64>>,
}

/// The smallest halved range of cells around some rows that do not all lie in one: its own bits are
/// those of `first` above `bit`, the bit that tells its two halves apart.
#[derive(Clone, Copy)]
pub(super) struct Halves {
    first: u64,
    bit: u32,
}

impl Halves {
    /// The first cell of the second half.
    pub(super) fn middle(self) -> u64 {
        (self.first >> self.bit | 1) << self.bit
    }
}

impl Cells {
    /// The cells of rows with these codes, attribute by attribute.
    pub(super) fn of(columns: &[Vec<u32>], scales: Vec<Scale>) -> Cells {
        let cells = columns.iter().zip(&scales);
        let cells =
            cells.map(|(codes, scale)| codes.iter().map(|&code| scale.cell(code)).collect());
        let columns = cells.collect();
        Cells { scales, columns }
    }

    /// Number of attributes.
    pub(super) fn n_attributes(&self) -> usize {
        self.columns.len()
    }

    /// All rows.
    pub(super) fn rows(&self) -> Vec<u32> {
        (0..self.columns.first().map_or(0, Vec::len) as u32).collect()
    }

    /// The cells of some rows on an attribute.
    pub(super) fn of_rows(&self, attribute: usize, rows: &[u32]) -> impl Iterator<Item = u64> {
        let cells = &self.columns[attribute];
        rows.iter().map(move |&row| cells[row as usize])
    }

    /// The halves of the smallest range around some rows, both with rows; nothing if all lie in one
    /// cell.
    pub(super) fn halves(&self, attribute: usize, rows: &[u32]) -> Option<Halves> {
        let first = self.of_rows(attribute, rows).next()?;
        let differs = self.of_rows(attribute, rows).fold(0, |all, cell| all | (cell ^ first));
        differs.checked_ilog2().map(|bit| Halves { first, bit })
    }

    /// Rows in cells below one, and all others, in their order.
    pub(super) fn parted(&self, attribute: usize, rows: &[u32], cell: u64) -> [Vec<u32>; 2] {
        let cells = &self.columns[attribute];
        let (below, others) = rows.iter().partition(|&&row| cells[row as usize] < cell);
        [below, others]
    }

    /// The codes of the smallest halved range around some rows.
    pub(super) fn halved_span(&self, attribute: usize, rows: &[u32]) -> Span {
        let scale = &self.scales[attribute];
        let first = self.of_rows(attribute, rows).next().unwrap_or(0);
        let n_own = self.halves(attribute, rows).map_or(0, |halves| halves.bit + 1);
        scale.span(first >> n_own, scale.n_bits() - n_own)
    }

    /// The codes of the cells from one to another, some of which have rows.
    pub(super) fn span(&self, attribute: usize, first: u64, last: u64) -> Span {
        self.scales[attribute].range(first, last).expect("the cell of a row has a code")
    }

    /// The last cell of an attribute.
    pub(super) fn last(&self, attribute: usize) -> u64 {
        (1 << self.scales[attribute].n_bits()) - 1
    }
}
