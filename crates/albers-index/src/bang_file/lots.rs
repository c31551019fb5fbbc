//! Lots: neighbours in key order that are divided only when their block is small.
//!
//! ```text
//!   keys     0000 0010 0011 | 0100 0101 | 0111 | 10.. 1111      a region of too many rows is halved,
//!   lots     └──── 00 ────┘  └── 010 ─┘  └011┘  └── 1 ──┘       until it has few or equal keys
//! ```
//!
//! The blocks of a large table are divided by its lots alone, so that its rows need not be at hand.
//!
//! Guarantee: a lot is the greatest region around its rows that has no more rows than were asked
//! for, or all its rows have one key. Lots are a function of the keys, in whatever parts they come:
//! parts that are regions have lots that, gathered again, are those of the whole.
//! Cost: a binary search for each lot and each region around it.

use std::ops::Range;

use albers_partition::split::rule::Asked;
use albers_privacy::{ClassSummary, Requirement, SummaryShape};
use rayon::prelude::*;

use super::items::{Items, Judge, RowItems};
use super::key::{bit, common_bits};
use super::sorted::SortedKeys;
use super::space::HalvedSpace;

/// Lots in the order of their keys.
pub struct Lots<'a> {
    n_words: usize,
    n_levels: usize,
    /// What blocks must satisfy, where more than the number of rows decides.
    rule: Option<&'a dyn Asked>,
    /// What is counted of each lot, where more than its number of rows is ever asked for.
    shape: Option<&'a SummaryShape>,
    firsts: Vec<u64>,
    lasts: Vec<u64>,
    /// The place of the first row of each among all rows, and the end of the last.
    starts: Vec<u64>,
    summaries: Vec<ClassSummary>,
}

impl<'a> Lots<'a> {
    /// None yet. `rule` is what blocks must satisfy, where more than their number of rows decides, and
    /// `shape` what is counted, where more is ever asked for.
    pub fn new(
        space: &HalvedSpace,
        rule: Option<&'a dyn Asked>,
        shape: Option<&'a SummaryShape>,
    ) -> Lots<'a> {
        Lots::empty(space.n_words(), space.n_levels(), (rule, shape))
    }

    fn empty(
        n_words: usize,
        n_levels: usize,
        (rule, shape): (Option<&'a dyn Asked>, Option<&'a SummaryShape>),
    ) -> Lots<'a> {
        let (firsts, lasts, summaries) = (Vec::new(), Vec::new(), Vec::new());
        Lots { n_words, n_levels, rule, shape, firsts, lasts, starts: vec![0], summaries }
    }

    /// What is counted of each lot, where more than its number of rows is ever asked for.
    pub fn shape(&self) -> Option<&'a SummaryShape> {
        self.shape
    }

    /// Adds the lots of rows that follow all others in key order: of all rows, or of a part, whose
    /// first and last regions may go on in other parts. `facts` adds what is known of the rows at some
    /// places to a summary.
    pub fn extend(
        &mut self,
        keys: &SortedKeys,
        (most_rows, is_part): (usize, bool),
        facts: impl Fn(Range<u32>, &mut ClassSummary) + Sync,
    ) {
        let rows = RowItems { keys, rule: None };
        let ranges = ranges(&rows, keys.n_rows(), (most_rows, is_part));
        let summary = |range: &Range<u32>| {
            let mut summary = ClassSummary::new(self.shape?);
            facts(range.clone(), &mut summary);
            Some(summary)
        };
        let summaries: Vec<Option<ClassSummary>> = ranges.par_iter().map(summary).collect();
        for (range, summary) in ranges.into_iter().zip(summaries) {
            let [first, last] = [range.start, range.end - 1].map(|place| keys.key(place));
            self.push(first, last, range.len() as u64, summary);
        }
    }

    /// Number of lots.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rows of all lots.
    pub fn n_all_rows(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The places of a lot's rows among all rows in key order.
    pub fn places(&self, lot: u32) -> Range<u64> {
        self.starts[lot as usize]..self.starts[lot as usize + 1]
    }

    /// Adds the next lot; `summary` tells of its rows, where more than their number decides.
    pub fn push(
        &mut self,
        first: &[u64],
        last: &[u64],
        n_rows: u64,
        summary: Option<ClassSummary>,
    ) {
        self.firsts.extend_from_slice(first);
        self.lasts.extend_from_slice(last);
        self.starts.push(self.n_all_rows() + n_rows);
        self.summaries.extend(summary);
        assert_eq!(self.summaries.len(), self.shape.map_or(0, |_| self.len()), "one for each");
    }

    /// The lots of all rows, from the lots of parts.
    pub fn gathered(self, most_rows: usize) -> Lots<'a> {
        let ranges = ranges(&self, self.len(), (most_rows, false));
        if ranges.len() == self.len() {
            return self;
        }
        let mut all = Lots::empty(self.n_words, self.n_levels, (self.rule, self.shape));
        for Range { start, end } in ranges {
            let summary = self.shape.map(|shape| self.summary(shape, start..end));
            let n_rows = self.starts[end as usize] - self.starts[start as usize];
            all.push(self.first_key(start), self.last_key(end - 1), n_rows, summary);
        }
        all
    }

    /// Whether the rows of some lots satisfy a requirement.
    pub fn hold(&self, lots: impl Iterator<Item = u32> + Clone, requirement: &Requirement) -> bool {
        match requirement.is_only_row_count() {
            Some(k) => {
                let n_rows = lots.map(|lot| self.places(lot)).map(|own| own.end - own.start);
                n_rows.sum::<u64>() >= k
            }
            None => self.are_as_asked(lots, requirement),
        }
    }

    fn are_as_asked(&self, lots: impl Iterator<Item = u32>, asked: &dyn Asked) -> bool {
        asked.holds(&self.summary(asked.shape(), lots))
    }

    fn summary(&self, shape: &SummaryShape, lots: impl Iterator<Item = u32>) -> ClassSummary {
        let mut summary = ClassSummary::new(shape);
        lots.for_each(|lot| summary.merge(&self.summaries[lot as usize]));
        summary
    }
}

impl Items for Lots<'_> {
    type Judge<'j>
        = LotJudge<'j>
    where
        Self: 'j;

    fn n_levels(&self) -> usize {
        self.n_levels
    }

    fn first_key(&self, item: u32) -> &[u64] {
        &self.firsts[item as usize * self.n_words..(item as usize + 1) * self.n_words]
    }

    fn last_key(&self, item: u32) -> &[u64] {
        &self.lasts[item as usize * self.n_words..(item as usize + 1) * self.n_words]
    }

    fn n_rows(&self, items: &[u32]) -> usize {
        items.iter().map(|&lot| self.places(lot)).map(|own| (own.end - own.start) as usize).sum()
    }

    fn judge(&self) -> LotJudge<'_> {
        LotJudge { lots: self, all: Vec::new(), inside: Vec::new() }
    }
}

/// Adds up whole lots each time it is asked: they are few.
pub(super) struct LotJudge<'a> {
    lots: &'a Lots<'a>,
    /// The lots of the block, and of the region that was reached.
    all: Vec<u32>,
    inside: Vec<u32>,
}

impl LotJudge<'_> {
    /// Whether some lots satisfy, and all others of the block do.
    fn hold_apart(&self, part: &[u32]) -> bool {
        let Some(rule) = self.lots.rule else { return true };
        let others = self.all.iter().copied().filter(|lot| !is_in_run(part, *lot));
        self.lots.are_as_asked(part.iter().copied(), rule) && self.lots.are_as_asked(others, rule)
    }
}

impl Judge for LotJudge<'_> {
    fn begin(&mut self, items: &[u32]) {
        self.all = items.to_vec();
        self.inside = items.to_vec();
    }

    fn leave(&mut self, items: &[u32]) {
        self.inside.retain(|lot| !is_in_run(items, *lot));
    }

    fn holds_inside(&mut self) -> bool {
        self.hold_apart(&self.inside)
    }

    fn holds_apart(&mut self, part: &[u32]) -> bool {
        self.hold_apart(part)
    }

    fn forget(&mut self, items: &[u32]) {
        self.all.retain(|lot| !is_in_run(items, *lot));
    }
}

/// Whether one of a block's lots is in a run of them.
fn is_in_run(run: &[u32], lot: u32) -> bool {
    run.first().is_some_and(|&first| first <= lot) && run.last().is_some_and(|&last| lot <= last)
}

/// The items of each lot of no more than so many rows, or of one key; of a part, none has the first or
/// the last item with others.
fn ranges(
    items: &impl Items,
    n_items: usize,
    (most_rows, is_part): (usize, bool),
) -> Vec<Range<u32>> {
    let all: Vec<u32> = (0..n_items as u32).collect();
    let mut found = Vec::new();
    let mut pending = Vec::new();
    if n_items > 0 {
        pending.push(0..n_items as u32);
    }
    while let Some(range) = pending.pop() {
        let own = &all[range.start as usize..range.end as usize];
        let may_go_on = is_part && (range.start == 0 || range.end == n_items as u32);
        let is_small = !may_go_on && items.n_rows(own) <= most_rows;
        match halves(items, own).filter(|_| !is_small) {
            Some((middle, _)) => {
                let middle = range.start + middle as u32;
                pending.push(middle..range.end);
                pending.push(range.start..middle);
            }
            None => found.push(range),
        }
    }
    found
}

/// Where the second half of the smallest region around some items begins among them, so that both
/// halves have some, and the bits of the halves; nothing if all have the same key.
pub(super) fn halves(items: &impl Items, own: &[u32]) -> Option<(usize, usize)> {
    let first = items.first_key(*own.first()?);
    let last = items.last_key(*own.last()?);
    if own.len() == 1 || first == last {
        return None;
    }
    let level = common_bits(first, last);
    let middle = own.partition_point(|&item| !bit(items.first_key(item), level));
    Some((middle, level + 1))
}
