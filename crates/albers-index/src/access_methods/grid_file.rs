//! A grid file: buckets are boxes of cells between lines that run through all of space.
//!
//! ```text
//!       2     4       6         lines of the first attribute: its linear scale
//!   ┌───┬─────┬───────┐
//!   │   ┊     │       │   5     a bucket is cut at a line that is there, if both sides satisfy;
//!   ├───┼─────┼───────┤         else at a new one, which runs through all other buckets too
//!   │   │     ┊       │
//!   └───┴─────┴───────┘         the directory has an entry for each cell: 3 x 2 of them
//! ```
//!
//! Source: Nievergelt, Hinterberger & Sevcik 1984; Samet 2006, section 1.7.2; Raschia & Anjum 2011,
//! table 2 and section 2.3 (a large and sparse directory).
//! Departures: of the lines that are there, the one that divides the rows best is taken; a new line
//! halves the smallest halved range around the rows, on the next attribute of a cycle on which both
//! sides satisfy. Lines are entered after each round, so that all buckets of a round see the same
//! ones. The directory is not built, since nothing is searched in it, but its size is counted, and
//! refused beyond [`MAX_CELLS`]: a method that needs it would explode.
//! Guarantee: regions lie side by side and are boxes of cells of the directory.
//! Cost: O(rows log rows attributes) for each round, and a look at the rows for each line where more
//! than their number decides.

use albers_classes::Span;

use super::bucket::{AccessMethod, Bucket, Judge, Stop};
use super::cells::Cells;

/// A directory has no more cells.
pub const MAX_CELLS: u128 = 1 << 24;

/// Buckets of rows in any order.
pub(super) struct GridFile {
    cells: Cells,
    /// The first cell behind each line, ascending, for each attribute.
    lines: Vec<Vec<u64>>,
}

/// A line through all of space.
#[derive(Clone, Copy)]
pub(super) struct Line {
    attribute: usize,
    /// The first cell behind it.
    cell: u64,
}

impl GridFile {
    pub(super) fn new(cells: Cells) -> GridFile {
        let lines = vec![Vec::new(); cells.n_attributes()];
        GridFile { cells, lines }
    }

    /// The attributes, that after the one of a line first.
    fn cycle(&self, after: Option<Line>) -> impl Iterator<Item = usize> {
        let n_attributes = self.cells.n_attributes();
        let next = after.map_or(0, |line| line.attribute + 1);
        (0..n_attributes).map(move |turn| (next + turn) % n_attributes)
    }

    /// The lines that have enough rows on both sides, that which divides them best first.
    fn lines_between(&self, bucket: &Bucket<Option<Line>>, min_rows: usize) -> Vec<Line> {
        let n_rows = bucket.rows.len();
        let mut found = Vec::new();
        for (turn, attribute) in self.cycle(bucket.place).enumerate() {
            let lines = &self.lines[attribute];
            if lines.is_empty() {
                continue;
            }
            let mut cells: Vec<u64> = self.cells.of_rows(attribute, &bucket.rows).collect();
            cells.sort_unstable();
            for &cell in lines {
                let n_below = cells.partition_point(|&own| own < cell);
                if n_below.min(n_rows - n_below) >= min_rows.max(1) {
                    let imbalance = (2 * n_below).abs_diff(n_rows);
                    found.push((imbalance, turn, cell, Line { attribute, cell }));
                }
            }
        }
        found.sort_unstable_by_key(|&(imbalance, turn, cell, _)| (imbalance, turn, cell));
        found.into_iter().map(|(.., line)| line).collect()
    }

    /// New lines, each in the middle of the smallest halved range around the rows.
    fn new_lines(&self, bucket: &Bucket<Option<Line>>) -> impl Iterator<Item = Line> {
        self.cycle(bucket.place).filter_map(|attribute| {
            let cell = self.cells.halves(attribute, &bucket.rows)?.middle();
            let is_new = self.lines[attribute].binary_search(&cell).is_err();
            is_new.then_some(Line { attribute, cell })
        })
    }
}

impl AccessMethod for GridFile {
    /// The line at which a bucket was cut off last.
    type Place = Option<Line>;

    fn whole(&self) -> Bucket<Option<Line>> {
        Bucket { place: None, rows: self.cells.rows() }
    }

    fn split(
        &self,
        bucket: &Bucket<Option<Line>>,
        judge: &mut Judge<'_>,
    ) -> Option<Vec<Bucket<Option<Line>>>> {
        let there = self.lines_between(bucket, judge.min_rows());
        there.into_iter().chain(self.new_lines(bucket)).find_map(|line| {
            let [first, second] = self.cells.parted(line.attribute, &bucket.rows, line.cell);
            let part = |rows: Vec<u32>| Bucket { place: Some(line), rows };
            judge.hold_all(&[&first, &second]).then(|| vec![part(first), part(second)])
        })
    }

    fn settle(&mut self, parts: &[Bucket<Option<Line>>]) -> Result<(), Stop> {
        for line in parts.iter().filter_map(|part| part.place) {
            let lines = &mut self.lines[line.attribute];
            if let Err(at) = lines.binary_search(&line.cell) {
                lines.insert(at, line.cell);
            }
        }
        let n_ranges = self.lines.iter().map(|lines| lines.len() as u128 + 1);
        let n_cells = n_ranges.fold(1, u128::saturating_mul);
        if n_cells > MAX_CELLS { Err(Stop::Directory { n_cells }) } else { Ok(()) }
    }

    fn region_box(&self, bucket: &Bucket<Option<Line>>) -> Vec<Span> {
        let span = |attribute: usize| {
            let cells = || self.cells.of_rows(attribute, &bucket.rows);
            let (least, greatest) = (cells().min().unwrap_or(0), cells().max().unwrap_or(0));
            let lines = &self.lines[attribute];
            let first = lines[..lines.partition_point(|&line| line <= least)].last();
            let next = lines.get(lines.partition_point(|&line| line <= greatest));
            let last = next.map_or(self.cells.last(attribute), |line| line - 1);
            self.cells.span(attribute, first.copied().unwrap_or(0), last)
        };
        (0..self.cells.n_attributes()).map(span).collect()
    }
}
