//! An attribute as ranks of the codes that occur, and what dividing a group of them saves.

use std::ops::Range;

use albers_classes::points::{PointChunk, Points};
use albers_classes::space::{Axis, AxisKind, Space, Specialization};
use rayon::prelude::*;

use super::Step;

/// One attribute. Every rank occurs, so that groups are intervals of ranks without gaps.
pub struct Column<'a> {
    /// How it is shown.
    pub axis: &'a Axis,
    /// The codes that occur, by rank.
    pub codes: Vec<u32>,
    /// The rank of each row's code.
    pub ranks: Vec<u32>,
    /// How many rows have a lower rank, for each rank and the one after the last.
    n_below: Vec<u32>,
}

/// An interval of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The least rank.
    pub first: u32,
    /// The greatest rank.
    pub last: u32,
}

impl Span {
    /// Number of ranks.
    pub fn len(self) -> usize {
        (self.last - self.first) as usize + 1
    }

    /// The parts of a span that end at the given ranks.
    pub fn parts(self, ends: &[u32]) -> impl Iterator<Item = Span> {
        ends.iter().scan(self.first, |first, &last| {
            let part = Span { first: *first, last };
            *first = last + 1;
            Some(part)
        })
    }
}

/// The attributes of a table.
pub fn columns_of(points: Points, space: &Space) -> Vec<Column<'_>> {
    let chunks = points.into_chunks();
    let axes = space.axes.par_iter().enumerate();
    axes.map(|(attribute, axis)| Column::new(axis, &chunks, attribute)).collect()
}

impl<'a> Column<'a> {
    fn new(axis: &'a Axis, chunks: &[PointChunk], attribute: usize) -> Column<'a> {
        let mut ranks: Vec<u32> = Vec::new();
        chunks.iter().for_each(|chunk| ranks.extend_from_slice(&chunk.columns[attribute]));
        let mut sorted = ranks.clone();
        sorted.sort_unstable();
        let (mut codes, mut n_below) = (Vec::new(), Vec::new());
        for (row_idx, &code) in sorted.iter().enumerate() {
            if codes.last() != Some(&code) {
                codes.push(code);
                n_below.push(row_idx as u32);
            }
        }
        n_below.push(sorted.len() as u32);
        for code in &mut ranks {
            *code = codes.partition_point(|other| other < code) as u32;
        }
        Column { axis, codes, ranks, n_below }
    }

    /// All ranks.
    pub fn whole(&self) -> Span {
        Span { first: 0, last: self.codes.len() as u32 - 1 }
    }

    /// The least and the greatest code of a span.
    pub fn code_range(&self, span: Span) -> (u32, u32) {
        (self.codes[span.first as usize], self.codes[span.last as usize])
    }

    /// The last rank of each node of a level that has ranks, and of the missing value; all ranks are
    /// one part at the top of the hierarchy, and where there is none.
    pub fn ends_at(&self, level: usize) -> Vec<u32> {
        let last = self.whole().last;
        match &self.axis.kind {
            AxisKind::Label(tree) if level < tree.height() => {
                let step = Specialization { level: level.max(tree.finest()) };
                let codes =
                    self.codes.chunk_by(|&a, &b| tree.part_of(step, a) == tree.part_of(step, b));
                self.ends_of(codes, 0)
            }
            _ => vec![last],
        }
    }

    /// The last rank of each of some runs of codes, the first of which has the given rank.
    fn ends_of<'c>(&self, runs: impl Iterator<Item = &'c [u32]>, first: u32) -> Vec<u32> {
        let ends = runs.scan(first, |end, run| {
            *end += run.len() as u32;
            Some(*end - 1)
        });
        ends.collect()
    }

    /// How a span can be divided, and the most that this can score.
    pub fn step(&self, span: Span, caution: f64) -> (Step, Option<f64>) {
        match &self.axis.kind {
            _ if span.len() == 1 => (Step::Cuts(Vec::new()), None),
            AxisKind::Label(tree) => {
                let codes = &self.codes[span.first as usize..=span.last as usize];
                let level = tree.specialization(codes.iter().copied());
                let children =
                    codes.chunk_by(|&a, &b| tree.part_of(level, a) == tree.part_of(level, b));
                let ends = self.ends_of(children, span.first);
                let score = self.score(span, &ends, caution);
                (Step::Children(ends), Some(score))
            }
            AxisKind::Interval { .. } | AxisKind::Set { .. } => {
                let cuts: Vec<u32> = (span.first..span.last).collect();
                let score = self.best_cut(span, &cuts, caution).map(|(_, score)| score);
                (Step::Cuts(cuts), score)
            }
        }
    }

    /// The cut that scores highest, the least of equals.
    pub fn best_cut(&self, span: Span, cuts: &[u32], caution: f64) -> Option<(u32, f64)> {
        let scored = cuts.iter().map(|&cut| (cut, self.score(span, &[cut, span.last], caution)));
        scored.reduce(|best, other| if other.1 > best.1 { other } else { best })
    }

    /// What a division into parts that end at the given ranks is worth: the loss it saves, and less
    /// if its smallest part is small, because that part leaves the least room for further steps.
    pub fn score(&self, span: Span, ends: &[u32], caution: f64) -> f64 {
        let parts = || Span::parts(span, ends);
        let saved = self.loss(span) - parts().map(|part| self.loss(part)).sum::<f64>();
        let smallest = parts().map(|part| self.n_rows(part)).fold(f64::INFINITY, f64::min);
        saved * (smallest / self.n_rows(span)).powf(caution)
    }

    /// What each row of a span loses, with weights.
    pub fn row_loss(&self, span: Span) -> f64 {
        let (lo, hi) = self.code_range(span);
        // The missing value lies a whole domain away, and nobody can lose more than everything.
        self.axis.width(lo, hi).min(1.0) * self.axis.weight
    }

    /// Where the rows of a span stand among all rows in the order of their ranks.
    pub fn places(&self, span: Span) -> Range<usize> {
        self.n_below[span.first as usize] as usize..self.n_below[span.last as usize + 1] as usize
    }

    /// All rows in the order of their ranks.
    pub fn rows_by_rank(&self) -> Vec<u32> {
        let mut next = self.n_below.clone();
        let mut rows = vec![0; self.ranks.len()];
        for (row, &rank) in (0..).zip(&self.ranks) {
            let place = &mut next[rank as usize];
            rows[*place as usize] = row;
            *place += 1;
        }
        rows
    }

    fn loss(&self, span: Span) -> f64 {
        self.n_rows(span) * self.row_loss(span)
    }

    fn n_rows(&self, span: Span) -> f64 {
        f64::from(self.n_below[span.last as usize + 1] - self.n_below[span.first as usize])
    }
}
