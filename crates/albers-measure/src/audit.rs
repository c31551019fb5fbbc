//! Which requirement the classes of a table satisfy, whoever made it.
//!
//! Source: the definitions of `albers-privacy`, which this module only applies class by class.
//! Departures: none.
//! Guarantee: every figure is that of the worst class; a requirement holds if and only if no class
//! violates it.
//! Cost: one pass over the rows, class by class.

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
use crate::risk::ClassSizes;

/// What the classes of a table reach.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// The sizes of each class.
    pub sizes: Vec<ClassSizes>,
    /// Per sensitive column, in the order of the requirement's.
    pub sensitive: Vec<SensitiveReached>,
    /// The parts of the requirement that some class does not satisfy.
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

/// Computes what classes reach, and whether the requirement holds. The facts must have the shape
/// that the requirement asks for: all its sensitive columns.
pub fn audit(classes: &Classes, facts: &Facts, requirement: &mut Requirement) -> Audit {
    const CLASSES_PER_TASK: usize = 1024;
    let mut whole = ClassSummary::new(requirement.shape());
    (0..classes.n_rows()).for_each(|row| facts.add(row, &mut whole));
    requirement.bind(&whole);
    let requirement = &*requirement;
    let wholes: Vec<WholeDistribution> = (0..requirement.columns().len())
        .map(|column| {
            let distance = &requirement.columns()[column].distance;
            WholeDistribution::new(distance, whole.histogram(column))
        })
        .collect();
    let n_tasks = classes.n_classes().div_ceil(CLASSES_PER_TASK);
    // Tasks are merged in their order, so that nothing depends on the threads.
    let by_task: Vec<Audit> = (0..n_tasks)
        .into_par_iter()
        .map(|task| {
            let mut summary = ClassSummary::new(requirement.shape());
            let mut audit = Audit::empty(requirement);
            let end = ((task + 1) * CLASSES_PER_TASK).min(classes.n_classes());
            for class in task * CLASSES_PER_TASK..end {
                summary.clear();
                let rows = classes.rows_of(class);
                rows.iter().for_each(|&row| facts.add(row as usize, &mut summary));
                audit.add(&summary, requirement, &wholes);
            }
            audit
        })
        .collect();
    by_task.into_iter().fold(Audit::empty(requirement), Audit::merged)
}

impl Audit {
    fn empty(requirement: &Requirement) -> Audit {
        let columns = requirement.columns().iter();
        let sensitive = columns.map(|column| SensitiveReached {
            distinct_l: u32::MAX,
            entropy_l: f64::INFINITY,
            t: 0.0,
            distance: distance_name(&column.distance),
            max_share: 0.0,
            variance: column.numbers.as_ref().map(|_| f64::INFINITY),
        });
        Audit { sizes: Vec::new(), sensitive: sensitive.collect(), missed: Vec::new() }
    }

    fn add(&mut self, class: &ClassSummary, asked: &Requirement, wholes: &[WholeDistribution]) {
        self.sizes.push(ClassSizes { n_rows: class.n_rows(), group_size: group_size(class) });
        for (at, reached) in self.sensitive.iter_mut().enumerate() {
            let column = &asked.columns()[at];
            let histogram = class.histogram(at);
            let numbers = column.numbers.as_deref();
            reached.worsen(&SensitiveReached {
                distinct_l: distinct_l(histogram),
                entropy_l: entropy_l(histogram),
                t: emd_to(&column.distance, histogram, &wholes[at]),
                distance: reached.distance,
                max_share: max_share(histogram),
                variance: numbers.map(|numbers| variance(histogram, numbers)),
            });
        }
        for violation in asked.violations(class) {
            self.miss(Missed::by(violation, class.n_rows()));
        }
    }

    fn merged(mut self, other: Audit) -> Audit {
        self.sizes.extend(other.sizes);
        for (mine, theirs) in self.sensitive.iter_mut().zip(&other.sensitive) {
            mine.worsen(theirs);
        }
        other.missed.into_iter().for_each(|missed| self.miss(missed));
        self
    }

    fn miss(&mut self, missed: Missed) {
        match self.missed.iter_mut().find(|mine| mine.what == missed.what) {
            Some(mine) => mine.worsen(&missed),
            None => self.missed.push(missed),
        }
    }
}

impl SensitiveReached {
    fn worsen(&mut self, other: &SensitiveReached) {
        self.distinct_l = self.distinct_l.min(other.distinct_l);
        self.entropy_l = self.entropy_l.min(other.entropy_l);
        self.t = self.t.max(other.t);
        self.max_share = self.max_share.max(other.max_share);
        self.variance = self.variance.zip(other.variance).map(|(a, b)| a.min(b));
    }
}

impl Missed {
    fn by(violation: Violation, n_rows: u64) -> Missed {
        let Violation { what, bound, asked, reached } = violation;
        Missed { what, bound, asked, reached, classes: 1, rows: n_rows }
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
