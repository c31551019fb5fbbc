//! How many rows a step would leave in classes that violate the requirement.
//!
//! A cut is weighed for all ranks at once, by a sum over the classes of what each adds:
//!
//! ```text
//!   ranks of a class's rows            1 1       4     6   7     9
//!   a cut after rank                  |1   2   3 | 4 5 | 6 | 7 8 |
//!   leaves on sides of less than 3    |  2 rows  |  0  | 2 |  1  |
//! ```
//!
//! Cost: O(rows of the group + its ranks) if only rows are counted, O(rows log rows) with rules.

use albers_privacy::Criterion;
use rayon::prelude::*;

use super::classes::Class;
use super::column::{Column, Span};
use crate::plan::Plan;
use crate::split::rule::{Rule, RuleScratch};

/// Tells which classes satisfy the requirement.
pub struct Judge<'a> {
    min_rows: usize,
    rule: Option<Rule<'a>>,
    /// Whether no part of a violating class satisfies.
    is_hereditary: bool,
}

/// The most pieces a sum over classes is computed in.
const MAX_PIECES: usize = 8;
/// Fewer classes are no piece of their own.
const MIN_PIECE: usize = 32;

impl<'a> Judge<'a> {
    /// The judge of a plan.
    pub fn new(plan: &'a Plan<'a>) -> Judge<'a> {
        let rules = plan.requirement.rules();
        let rule = Rule { requirement: plan.requirement, facts: plan.facts };
        Judge {
            min_rows: plan.min_rows(),
            rule: plan.has_rule().then_some(rule),
            is_hereditary: rules
                .iter()
                .all(|(_, rule)| matches!(rule, Criterion::DistinctLDiversity { .. })),
        }
    }

    /// Whether some rows violate the requirement.
    pub fn violates(&self, rows: &[u32], scratch: &mut RuleScratch) -> bool {
        let holds = |rule: &Rule<'_>| rule.holds(rows.iter().copied(), scratch);
        rows.len() < self.min_rows || !self.rule.as_ref().is_none_or(holds)
    }

    /// Whether every part of a class violates, because the class does.
    pub fn is_lost(&self, class: &Class) -> bool {
        class.violates && self.is_hereditary
    }

    /// How many more rows violate, if a group is divided into parts that end at the given ranks.
    pub fn violating_children(
        &self,
        column: &Column<'_>,
        span: Span,
        ends: &[u32],
        classes: &[&Class],
    ) -> i64 {
        let part_of = part_of_ranks(span, ends);
        let classes = classes.par_iter().filter(|class| !self.is_lost(class));
        let added = classes.map_init(Buckets::default, |buckets, class| {
            buckets.fill(&class.rows, ends.len(), |row| {
                part_of[(column.ranks[row] - span.first) as usize]
            });
            let Buckets { rows, part_ends, scratch } = buckets;
            let mut n_violating = -class.n_violating();
            let mut first = 0;
            for &end in part_ends.iter() {
                let part = &rows[first..end];
                if !part.is_empty() && self.violates(part, scratch) {
                    n_violating += part.len() as i64;
                }
                first = end;
            }
            n_violating
        });
        added.sum()
    }

    /// The size of the smallest class that a group has after it is divided into parts that end at
    /// the given ranks: in persons where the requirement counts them, in rows elsewhere.
    pub fn smallest_part(
        &self,
        column: &Column<'_>,
        span: Span,
        ends: &[u32],
        classes: &[&Class],
    ) -> u64 {
        let part_of = part_of_ranks(span, ends);
        let smallest = classes.par_iter().map_init(Buckets::default, |buckets, class| {
            buckets.fill(&class.rows, ends.len(), |row| {
                part_of[(column.ranks[row] - span.first) as usize]
            });
            let Buckets { rows, part_ends, scratch } = buckets;
            let mut smallest = u64::MAX;
            let mut first = 0;
            for &end in part_ends.iter() {
                let part = &rows[first..end];
                first = end;
                if !part.is_empty() {
                    smallest = smallest.min(self.size(part, scratch));
                }
            }
            smallest
        });
        smallest.min().unwrap_or(u64::MAX)
    }

    /// How many persons some rows are where the requirement counts them, how many rows elsewhere.
    pub fn size(&self, rows: &[u32], scratch: &mut RuleScratch) -> u64 {
        match &self.rule {
            Some(rule) if rule.requirement.shape().counts_subjects => {
                let (summary, _) = rule.sides(scratch);
                rows.iter().for_each(|&row| rule.facts.add(row as usize, summary));
                summary.n_subjects()
            }
            _ => rows.len() as u64,
        }
    }

    /// How many more rows violate, for a cut after each rank of a group. Ranks that are not among
    /// `cuts` may get any number.
    pub fn violating_cuts(
        &self,
        column: &Column<'_>,
        span: Span,
        cuts: &[u32],
        classes: &[&Class],
    ) -> Vec<i64> {
        let piece = classes.len().div_ceil(MAX_PIECES).max(MIN_PIECE);
        let pieces = classes.par_chunks(piece).map(|classes| {
            let mut sums = Sums { first: span.first, steps: vec![0; span.len() + 1] };
            let mut scratch = CutScratch::default();
            for class in classes.iter().filter(|class| !self.is_lost(class)) {
                match &self.rule {
                    None => self.add_counts(column, class, &mut sums, &mut scratch.ranks),
                    Some(rule) => {
                        self.add_sweep(rule, column, class, cuts, &mut sums, &mut scratch);
                    }
                }
            }
            sums.steps
        });
        let mut steps = pieces.reduce(
            || vec![0; span.len() + 1],
            |mut sum, other| {
                sum.iter_mut().zip(other).for_each(|(sum, other)| *sum += other);
                sum
            },
        );
        let mut sum = 0;
        for step in &mut steps {
            sum += *step;
            *step = sum;
        }
        steps
    }

    /// Only rows are counted: those on a side that has at least one row and too few.
    fn add_counts(
        &self,
        column: &Column<'_>,
        class: &Class,
        sums: &mut Sums,
        ranks: &mut Vec<u32>,
    ) {
        let few = self.min_rows - 1;
        ranks.clear();
        ranks.extend(class.rows.iter().map(|&row| column.ranks[row as usize]));
        assert!(ranks.len() > few, "a class that violates by its rows is lost");
        let (least, next, _) = ranks.select_nth_unstable(few);
        least.iter().for_each(|&rank| sums.add_from(rank, 1));
        sums.add_from(*next, -(few as i64));
        let n_rows = ranks.len();
        let (_, next, greatest) = ranks.select_nth_unstable(n_rows - 1 - few);
        sums.add_from(*next, few as i64);
        greatest.iter().for_each(|&rank| sums.add_from(rank, -1));
    }

    /// The rule is asked about both sides, between any two ranks that the class has.
    fn add_sweep(
        &self,
        rule: &Rule<'_>,
        column: &Column<'_>,
        class: &Class,
        cuts: &[u32],
        sums: &mut Sums,
        scratch: &mut CutScratch,
    ) {
        let CutScratch { keys, summaries, .. } = scratch;
        let ranks = class.rows.iter().map(|&row| column.ranks[row as usize]);
        let (lo, hi) = ranks.fold((u32::MAX, 0), |(lo, hi), rank| (lo.min(rank), hi.max(rank)));
        if !has_cut(cuts, lo, hi) {
            return;
        }
        keys.clear();
        keys.extend(class.rows.iter().map(|&row| (column.ranks[row as usize], row)));
        keys.sort_unstable();
        let (left, right) = rule.sides(summaries);
        class.rows.iter().for_each(|&row| rule.facts.add(row as usize, right));
        let mut n_left = 0;
        for equals in keys.chunk_by(|a, b| a.0 == b.0) {
            for &(_, row) in equals {
                rule.facts.add(row as usize, left);
                rule.facts.remove(row as usize, right);
            }
            n_left += equals.len();
            let Some(&(next_rank, _)) = keys.get(n_left) else { break };
            let rank = equals[0].0;
            if !has_cut(cuts, rank, next_rank) {
                continue;
            }
            let n_right = keys.len() - n_left;
            let violating = |n_rows: usize, side| {
                let holds = n_rows >= self.min_rows && rule.requirement.holds(side);
                if holds { 0 } else { n_rows as i64 }
            };
            let n_violating =
                violating(n_left, left) + violating(n_right, right) - class.n_violating();
            sums.add_from(rank, n_violating);
            sums.add_from(next_rank, -n_violating);
        }
    }
}

/// Whether some cut separates two ranks; cuts are in ascending order.
fn has_cut(cuts: &[u32], rank: u32, next_rank: u32) -> bool {
    let at = cuts.partition_point(|&cut| cut < rank);
    cuts.get(at).is_some_and(|&cut| cut < next_rank)
}

/// Numbers per rank, as the steps from one to the next.
struct Sums {
    first: u32,
    steps: Vec<i64>,
}

impl Sums {
    /// Adds a number at this rank and all later ones.
    fn add_from(&mut self, rank: u32, number: i64) {
        self.steps[(rank - self.first) as usize] += number;
    }
}

#[derive(Default)]
struct CutScratch {
    ranks: Vec<u32>,
    keys: Vec<(u32, u32)>,
    summaries: RuleScratch,
}

/// Rows by part, in their order.
#[derive(Default)]
pub struct Buckets {
    /// The rows, part by part.
    pub rows: Vec<u32>,
    /// Where each part ends among the rows.
    pub part_ends: Vec<usize>,
    /// For those who ask whether a part violates.
    pub scratch: RuleScratch,
}

impl Buckets {
    /// Sorts rows by part.
    pub fn fill(&mut self, rows: &[u32], n_parts: usize, part_of: impl Fn(usize) -> u32) {
        self.part_ends.clear();
        self.part_ends.resize(n_parts + 1, 0);
        for &row in rows {
            self.part_ends[part_of(row as usize) as usize + 1] += 1;
        }
        for part in 1..=n_parts {
            self.part_ends[part] += self.part_ends[part - 1];
        }
        self.rows.clear();
        self.rows.resize(rows.len(), 0);
        for &row in rows {
            let slot = &mut self.part_ends[part_of(row as usize) as usize];
            self.rows[*slot] = row;
            *slot += 1;
        }
        self.part_ends.pop();
    }
}

/// The part of each rank of a span.
pub fn part_of_ranks(span: Span, ends: &[u32]) -> Vec<u32> {
    let parts = (0..).zip(Span::parts(span, ends));
    parts.flat_map(|(part, ranks)| std::iter::repeat_n(part, ranks.len())).collect()
}
