//! Which requirement the classes of a table satisfy, whoever made it.
//!
//! Source: the definitions of `albers-privacy`, which this module only applies class by class.
//! Departures: none.
//! Guarantee: every figure is that of the worst class; a requirement holds if and only if no class
//! violates it.
//! Cost: one pass over the rows, class by class; over the classes alone where rows tell nothing.
//!
//! ```text
//!   classes in memory ────────┐
//!   classes of a bucket ──────┼─ summary ──► Auditor ──► Audit ──merged──► Audit of the table
//!   a class beyond memory ────┘
//! ```
//!
//! Audits are mergeable, and the same in whatever order classes come: sizes are counted, figures
//! are the worst of all, and what is missed is listed by its name.

use albers_classes::ClassId;
use albers_privacy::Facts;
use albers_privacy::alpha_k::max_share;
use albers_privacy::k_anonymity::group_size;
use albers_privacy::l_diversity::{distinct_l, entropy_l};
use albers_privacy::t_closeness::{WholeDistribution, emd_to};
use albers_privacy::variance_diversity::variance;
use albers_privacy::{Bound, ClassSummary, GroundDistance, Requirement, Violation};
use rayon::prelude::*;
use serde::Serialize;

use crate::classes::Classes;
use crate::risk::SizeHistogram;

/// What the classes of a table reach.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// The sizes of the classes.
    pub sizes: SizeHistogram,
    /// Per sensitive column, in the order of the requirement's.
    pub sensitive: Vec<SensitiveReached>,
    /// The parts of the requirement that some class does not satisfy: k, then the others by name.
    pub missed: Vec<Missed>,
}

/// What the worst class reaches on a sensitive column; each figure may be another class's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SensitiveReached {
    /// The fewest distinct values.
    pub distinct_l: u32,
    /// The least exp(entropy).
    pub entropy_l: f64,
    /// The greatest distance from the table's distribution.
    pub t: f64,
    /// How far values lie apart for `t`: `equal`, `ordered` or `hierarchical`.
    pub distance: &'static str,
    /// The greatest share of one value.
    pub max_share: f64,
    /// Rows in classes that share one value.
    pub shared_rows: u64,
    /// The least variance, where the column holds numbers and misses none.
    pub variance: Option<f64>,
}

/// A part of a requirement that does not hold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Missed {
    /// The part, such as `distinct l-diversity of 'disease'`.
    pub what: String,
    /// On which side of `asked` a class must lie.
    pub bound: Bound,
    /// The figure asked.
    pub asked: f64,
    /// The figure of the worst class.
    pub reached: f64,
    /// How many classes miss it.
    pub classes: u64,
    /// How many rows they have.
    pub rows: u64,
}

/// Audits classes by their summaries.
pub struct Auditor<'r> {
    requirement: &'r Requirement,
    wholes: Vec<WholeDistribution>,
}

/// Computes what classes reach, and whether the requirement holds. The facts must have the shape
/// that the requirement asks for: all its sensitive columns.
pub fn audit(classes: &Classes, facts: &Facts, requirement: &mut Requirement) -> Audit {
    let mut whole = ClassSummary::new(requirement.shape());
    // Where nothing is told of rows, they are counted.
    let tells_rows = facts.n_sensitive > 0 || !facts.subjects.is_empty();
    match tells_rows {
        true => (0..classes.n_rows()).for_each(|row| facts.add(row, &mut whole)),
        false => whole.add_many(0, &[], classes.n_rows() as u64),
    }
    let auditor = Auditor::new(requirement, &whole);
    drop(whole);
    auditor.audit(classes.n_classes(), |class, summary| {
        let class = classes.class(ClassId::of_index(class));
        match tells_rows {
            true => class.rows().for_each(|row| facts.add(row.index(), summary)),
            false => summary.add_many(0, &[], class.n_rows() as u64),
        }
    })
}

impl<'r> Auditor<'r> {
    /// Binds the requirement to the summary of the whole table.
    pub fn new(requirement: &'r mut Requirement, whole: &ClassSummary) -> Auditor<'r> {
        requirement.bind(whole);
        let columns = requirement.columns().iter().enumerate();
        let wholes = columns
            .map(|(at, column)| WholeDistribution::new(&column.distance, whole.histogram(at)));
        Auditor { wholes: wholes.collect(), requirement }
    }

    /// The requirement, bound.
    pub fn requirement(&self) -> &Requirement {
        self.requirement
    }

    /// Audits so many classes, each summarized when its turn comes.
    pub fn audit(
        &self,
        n_classes: usize,
        summarize: impl Fn(usize, &mut ClassSummary) + Sync,
    ) -> Audit {
        const CLASSES_PER_TASK: usize = 1024;
        let by_task: Vec<Audit> = (0..n_classes.div_ceil(CLASSES_PER_TASK))
            .into_par_iter()
            .map(|task| {
                let mut summary = ClassSummary::new(self.requirement.shape());
                let mut audit = self.nothing();
                let end = ((task + 1) * CLASSES_PER_TASK).min(n_classes);
                for class in task * CLASSES_PER_TASK..end {
                    summary.clear();
                    summarize(class, &mut summary);
                    self.add(&summary, &mut audit);
                }
                audit
            })
            .collect();
        by_task.into_iter().fold(self.nothing(), Audit::merged)
    }

    /// The audit of no class yet.
    pub fn nothing(&self) -> Audit {
        let columns = self.requirement.columns().iter();
        let sensitive = columns.map(|column| SensitiveReached {
            distinct_l: u32::MAX,
            entropy_l: f64::INFINITY,
            t: 0.0,
            distance: distance_name(&column.distance),
            max_share: 0.0,
            shared_rows: 0,
            variance: column.numbers.as_ref().map(|_| f64::INFINITY),
        });
        let sizes = SizeHistogram::default();
        Audit { sizes, sensitive: sensitive.collect(), missed: Vec::new() }
    }

    /// Adds a class to an audit.
    pub fn add(&self, class: &ClassSummary, audit: &mut Audit) {
        self.add_sized(class, group_size(class), audit);
    }

    /// Adds a class that hides so many persons, of whom the summary need list no more than k: they
    /// tell whether k is reached.
    pub fn add_sized(&self, class: &ClassSummary, n_persons: u64, audit: &mut Audit) {
        audit.sizes.add(class.n_rows(), n_persons);
        for (at, reached) in audit.sensitive.iter_mut().enumerate() {
            let column = &self.requirement.columns()[at];
            let histogram = class.histogram(at);
            let numbers = column.numbers.as_deref();
            reached.worsen(&SensitiveReached {
                distinct_l: distinct_l(histogram),
                entropy_l: entropy_l(histogram),
                t: emd_to(&column.distance, histogram, &self.wholes[at]),
                distance: reached.distance,
                max_share: max_share(histogram),
                shared_rows: if distinct_l(histogram) == 1 { class.n_rows() } else { 0 },
                variance: numbers.map(|numbers| variance(histogram, numbers)),
            });
        }
        for violation in self.requirement.violations(class) {
            audit.miss(Missed::by(violation, class.n_rows()));
        }
    }
}

impl Audit {
    /// The audit of all classes of two.
    #[must_use]
    pub fn merged(mut self, other: Audit) -> Audit {
        self.sizes.merge(&other.sizes);
        for (mine, theirs) in self.sensitive.iter_mut().zip(&other.sensitive) {
            mine.worsen(theirs);
        }
        other.missed.into_iter().for_each(|missed| self.miss(missed));
        self
    }

    /// Parts stand in an order of their own, not in that of the classes that miss them.
    fn miss(&mut self, missed: Missed) {
        match self.missed.binary_search_by(|mine| mine.place().cmp(&missed.place())) {
            Ok(at) => self.missed[at].worsen(&missed),
            Err(at) => self.missed.insert(at, missed),
        }
    }
}

impl SensitiveReached {
    fn worsen(&mut self, other: &SensitiveReached) {
        self.distinct_l = self.distinct_l.min(other.distinct_l);
        self.entropy_l = self.entropy_l.min(other.entropy_l);
        self.t = self.t.max(other.t);
        self.max_share = self.max_share.max(other.max_share);
        self.shared_rows += other.shared_rows;
        self.variance = self.variance.zip(other.variance).map(|(a, b)| a.min(b));
    }
}

impl Missed {
    fn by(violation: Violation, n_rows: u64) -> Missed {
        let Violation { what, bound, asked, reached } = violation;
        Missed { what, bound, asked, reached, classes: 1, rows: n_rows }
    }

    /// Where it stands among the others: k comes before the rules for sensitive columns.
    fn place(&self) -> (bool, &str) {
        (!self.what.starts_with("k-anonymity"), &self.what)
    }

    fn worsen(&mut self, other: &Missed) {
        self.reached = match self.bound {
            Bound::AtLeast => self.reached.min(other.reached),
            Bound::AtMost | Bound::Below => self.reached.max(other.reached),
        };
        self.classes += other.classes;
        self.rows += other.rows;
    }
}

fn distance_name(distance: &GroundDistance) -> &'static str {
    match distance {
        GroundDistance::Equal => "equal",
        GroundDistance::Ordered { .. } => "ordered",
        GroundDistance::Hierarchical { .. } => "hierarchical",
    }
}
