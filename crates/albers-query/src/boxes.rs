//! The classes of a release as boxes of positions, and what they answer.
//!
//! Source: Iwuchukwu & Naughton 2007, sections 2.3 and 5.4: a class is returned as a whole if it
//! meets the query, or by the share of its region that lies inside. Raschia & Anjum 2011, section
//! 3.2: of classes that lie within each other, the innermost around a point is the right one.
//! Departures: bounds that always hold. Where the ends of intervals and the members of sets are
//! values of rows, as in a compacted release, each of them is the value of a row at least: of the
//! class `[48, 62]` at least one row is up to 50, and at least one is not. For nested classes no
//! elementary ranges are enumerated: a class meets a box if it has more positions in it than its
//! holes have.
//! Guarantee: `lower <= true <= upper <= overlap`, whichever rows stand behind the classes, as long
//! as every row lies in the cells of its class and in no hole of it.
//! Cost: for each box of a query one scan of two columns of 4 bytes per class, on the axis where the
//! fewest classes meet it; the other axes look only at what is left.

use rayon::prelude::*;

use crate::axis::{Axis, Test};
use crate::cells::AxisCells;
use crate::cover::Asked;
use crate::holes::Holes;
use crate::term::{Query, Term};

/// Rows of a class that are alike on carried columns.
#[derive(Debug, Clone)]
pub struct Parts {
    /// Where the parts of each class begin, and where those of the last one end.
    pub starts: Vec<u32>,
    /// Rows of each part.
    pub sizes: Vec<u64>,
    /// The carried columns, whose cells hold one value each; numbered after the other axes.
    pub axes: Vec<AxisCells>,
}

/// What a release answers to a query.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Answer {
    /// Rows whose region meets the query.
    pub overlap: u64,
    /// Rows that satisfy it if those of each class are spread evenly over its region, as far as its
    /// bounds allow.
    pub estimate: f64,
    /// Rows that satisfy it at least.
    pub lower: u64,
    /// Rows that satisfy it at most.
    pub upper: u64,
}

/// What a class contributes to an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contribution {
    /// The class.
    pub class: usize,
    /// Of its rows.
    pub answer: Answer,
}

/// What rows of a class that are alike on carried columns contribute to an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PartContribution {
    /// The part.
    pub part: usize,
    /// Rows that satisfy the query if they are spread evenly over the region of their class.
    pub estimate: f64,
    /// Rows that satisfy it at least.
    pub lower: u64,
    /// Rows that satisfy it at most.
    pub upper: u64,
}

/// The classes of a release.
pub struct Boxes {
    sizes: Vec<u64>,
    axes: Vec<Axis>,
    parts: Option<Parts>,
    holes: Option<Holes>,
}

/// A class that meets a term.
struct Judged {
    class: usize,
    term: usize,
    /// Its rows that satisfy what is asked of carried columns.
    n_rows: u64,
    /// The share of its region inside.
    share: f64,
    /// Its rows in the term at least: all but those that may lie outside on some axis. Holes have no
    /// say in it.
    at_least: u64,
    /// Its rows in the term at most.
    at_most: u64,
}

impl Boxes {
    /// Classes of so many rows.
    pub fn new(sizes: Vec<u64>, axes: Vec<AxisCells>) -> Boxes {
        let axes = axes.into_par_iter().map(Axis::new).collect();
        Boxes { sizes, axes, parts: None, holes: None }
    }

    /// The same, with rows that are told apart by carried columns.
    pub fn with_parts(self, parts: Parts) -> Boxes {
        Boxes { parts: Some(parts), ..self }
    }

    /// The same, where a class is its box without those of greater levels. Nothing is changed, and
    /// `false` told, if boxes of one level share something: then a level tells nothing.
    pub fn with_levels(mut self, levels: &[u32]) -> (Boxes, bool) {
        let axes: Vec<&AxisCells> = self.axes.iter().map(|axis| &axis.own).collect();
        self.holes = Holes::of(&axes, levels);
        let is_nested = self.holes.is_some();
        (self, is_nested)
    }

    /// Whether a class is its box without those of greater levels.
    pub fn is_nested(&self) -> bool {
        self.holes.is_some()
    }

    /// How many positions each axis has, the carried ones last.
    pub fn n_positions(&self) -> Vec<u32> {
        let carried = self.parts.iter().flat_map(|parts| &parts.axes);
        self.axes.iter().map(|axis| &axis.own).chain(carried).map(|own| own.n_positions).collect()
    }

    /// Whether a query needs the boxes of its opposite: a single box tells itself what lies inside
    /// of it, but for holes.
    pub fn needs_opposite(&self, query: &Query) -> bool {
        self.holes.is_some() || query.terms().len() > 1
    }

    /// What the classes answer to queries.
    ///
    /// # Panics
    /// When a query lacks the opposite that it needs.
    pub fn answers(&self, queries: &[Query]) -> Vec<Answer> {
        queries.par_iter().map(|query| self.answer(query)).collect()
    }

    /// What they answer to one.
    ///
    /// # Panics
    /// When the query lacks the opposite that it needs.
    pub fn answer(&self, query: &Query) -> Answer {
        self.contributions(query).into_iter().fold(Answer::default(), |sum, own| Answer {
            overlap: sum.overlap + own.answer.overlap,
            estimate: sum.estimate + own.answer.estimate,
            lower: sum.lower + own.answer.lower,
            upper: sum.upper + own.answer.upper,
        })
    }

    /// What each class contributes to that, those that meet the query, in ascending order.
    ///
    /// # Panics
    /// When the query lacks the opposite that it needs.
    pub fn contributions(&self, query: &Query) -> Vec<Contribution> {
        let mut judged: Vec<Judged> = Vec::new();
        for (term_idx, term) in query.terms().iter().enumerate() {
            let classes = self.meeting(term);
            let classes = classes.into_iter().map(|class| class as usize);
            judged.extend(classes.filter_map(|class| self.judge(class, term_idx, term)));
        }
        if query.terms().len() > 1 {
            judged.sort_by_key(|own| own.class);
        }
        let by_class = judged.chunk_by(|one, other| one.class == other.class);
        by_class.map(|own| self.contribution(own, query)).collect()
    }

    /// What each part of a class contributes, where rows are told apart by carried columns.
    ///
    /// # Panics
    /// When the query lacks the opposite that it needs.
    pub fn part_contributions(&self, query: &Query) -> Vec<PartContribution> {
        let Some(parts) = &self.parts else { return Vec::new() };
        let mut found = Vec::new();
        for Contribution { class, answer } in self.contributions(query) {
            let is_sure = answer.lower == answer.overlap;
            for part in parts.of(class) {
                let terms = query.terms().iter().filter(|term| self.is_part_in(parts, part, term));
                let shares = terms.filter_map(|term| Some(self.judge(class, 0, term)?.share));
                let shares: Vec<f64> = shares.collect();
                if !shares.is_empty() {
                    let upper = parts.sizes[part];
                    let estimate = upper as f64 * shares.iter().sum::<f64>();
                    let lower = if is_sure { upper } else { 0 };
                    found.push(PartContribution { part, estimate, lower, upper });
                }
            }
        }
        found
    }

    fn contribution(&self, judged: &[Judged], query: &Query) -> Contribution {
        let class = judged[0].class;
        let overlap = self.n_in_some(judged, query.terms());
        let estimate: f64 = judged.iter().map(|own| own.n_rows as f64 * own.share).sum();
        let lower = match query.opposite() {
            Some(opposite) => {
                let terms = opposite.iter().enumerate();
                let outside: Vec<Judged> =
                    terms.filter_map(|(idx, term)| self.judge(class, idx, term)).collect();
                self.sizes[class] - self.at_most(&outside, opposite)
            }
            None => {
                assert!(!self.needs_opposite(query), "the query has its opposite");
                judged[0].at_least
            }
        };
        let upper = self.at_most(judged, query.terms());
        let estimate = estimate.clamp(lower.min(upper) as f64, upper as f64);
        Contribution { class, answer: Answer { overlap, estimate, lower, upper } }
    }

    /// Rows of a class in some of the terms that it meets, at most.
    fn at_most(&self, judged: &[Judged], terms: &[Term]) -> u64 {
        let at_most = judged.iter().map(|own| own.at_most).sum();
        self.n_in_some(judged, terms).min(at_most)
    }

    /// Rows of a class that some of the terms return which it meets.
    fn n_in_some(&self, judged: &[Judged], terms: &[Term]) -> u64 {
        let Some(first) = judged.first() else { return 0 };
        let Some(parts) = self.parts.as_ref().filter(|_| judged.len() > 1) else {
            return first.n_rows;
        };
        let terms = || judged.iter().map(|own| &terms[own.term]);
        let own = parts.of(first.class);
        let is_in = |&part: &usize| terms().any(|term| self.is_part_in(parts, part, term));
        own.filter(is_in).map(|part| parts.sizes[part]).sum()
    }

    /// The classes whose boxes meet a term, ascending.
    fn meeting(&self, term: &Term) -> Vec<u32> {
        let axes = term.iter().filter(|(axis, _)| *axis < self.axes.len());
        let mut asked: Vec<(u64, &Axis, Test<'_>)> = axes
            .map(|(axis, asked)| {
                let axis = &self.axes[*axis];
                let test = axis.test(asked);
                (axis.n_meeting(&test), axis, test)
            })
            .collect();
        asked.sort_by_key(|own| own.0);
        let mut asked = asked.into_iter();
        let Some((_, axis, test)) = asked.next() else {
            return (0..self.sizes.len() as u32).collect();
        };
        let mut classes = axis.all_meeting(&test);
        for (_, axis, test) in asked {
            axis.keep_meeting(&mut classes, &test);
        }
        classes
    }

    /// How a class lies to a term; nothing if it does not meet it.
    fn judge(&self, class: usize, term_idx: usize, term: &Term) -> Option<Judged> {
        let n_class = self.sizes[class];
        let n_rows = self.n_satisfying(class, term);
        if n_rows == 0 {
            return None;
        }
        let (mut share, mut at_most, mut at_least) = (1.0, n_rows, n_rows);
        for (axis, asked) in self.quasi_of(term) {
            let own = axis.judge(class, asked)?;
            if !own.is_inside {
                share *= own.share;
                at_most = at_most.min(n_class.saturating_sub(own.known_outside));
                at_least = at_least.saturating_sub(n_class.saturating_sub(own.known_inside));
            }
        }
        if let Some(holes) = &self.holes {
            let axes: Vec<&AxisCells> = self.axes.iter().map(|axis| &axis.own).collect();
            share = holes.share(&axes, class, term, share)?;
        }
        Some(Judged { class, term: term_idx, n_rows, share, at_least, at_most })
    }

    fn quasi_of<'q>(&'q self, term: &'q Term) -> impl Iterator<Item = (&'q Axis, &'q Asked)> {
        let quasi = term.iter().filter(|(axis, _)| *axis < self.axes.len());
        quasi.map(|(axis, asked)| (&self.axes[*axis], asked))
    }

    /// The rows of a class that satisfy what a term asks of carried columns.
    fn n_satisfying(&self, class: usize, term: &Term) -> u64 {
        let asks = term.last().is_some_and(|(axis, _)| *axis >= self.axes.len());
        match self.parts.as_ref().filter(|_| asks) {
            None => self.sizes[class],
            Some(parts) => {
                let own = parts.of(class).filter(|&part| self.is_part_in(parts, part, term));
                own.map(|part| parts.sizes[part]).sum()
            }
        }
    }

    fn is_part_in(&self, parts: &Parts, part: usize, term: &Term) -> bool {
        term.iter().all(|(axis, asked)| match axis.checked_sub(self.axes.len()) {
            None => true,
            Some(carried) => {
                let axis = &parts.axes[carried];
                axis.cells[axis.cell_of[part] as usize].is_inside(asked)
            }
        })
    }
}

impl Parts {
    /// The parts of a class.
    fn of(&self, class: usize) -> std::ops::Range<usize> {
        self.starts[class] as usize..self.starts[class + 1] as usize
    }
}
