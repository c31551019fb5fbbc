//! The codes of any run of cells, also of one that is no half of a half.

use albers_classes::Span;
use albers_classes::region::span;

use super::Scale;

impl Scale {
    /// The codes of the cells from one to another; nothing where no code lies in them.
    pub fn range(&self, first: u64, last: u64) -> Option<Span> {
        let n_value_bits = self.n_value_bits;
        let Some(missing) = self.missing else {
            return self.value_range(first, last).map(|(lo, hi)| span(lo, hi));
        };
        // One of the two halves is that of the missing value.
        let cell_of_missing = self.bit_of_missing() << n_value_bits;
        let start = (1 - self.bit_of_missing()) << n_value_bits;
        let end = start + (1 << n_value_bits);
        let values = match first < end && last >= start {
            true => self.value_range(first.max(start) - start, last.min(end - 1) - start),
            false => None,
        };
        let has_missing = (first..=last).contains(&cell_of_missing);
        match (values, has_missing) {
            (None, false) => None,
            (None, true) => Some(span(missing, missing)),
            (Some((lo, hi)), false) => Some(span(lo, hi)),
            (Some((lo, hi)), true) => Some(span(lo.min(missing), hi.max(missing))),
        }
    }

    /// The same of the cells of values. Cells never fall as codes rise.
    fn value_range(&self, first: u64, last: u64) -> Option<(u32, u32)> {
        let (least, greatest) = self.codes;
        let n_codes = u64::from(greatest - least) + 1;
        // How many codes lie in cells below one.
        let n_below = |cell: u64| {
            let (mut lo, mut hi) = (0, n_codes);
            while lo < hi {
                let middle = lo + (hi - lo) / 2;
                match self.value_cell(least + middle as u32) < cell {
                    true => lo = middle + 1,
                    false => hi = middle,
                }
            }
            lo
        };
        let (start, end) = (n_below(first), n_below(last + 1));
        (start < end).then(|| (least + start as u32, least + (end - 1) as u32))
    }
}
