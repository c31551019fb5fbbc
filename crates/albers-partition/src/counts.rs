//! Splits chosen by counts of values, without the rows behind them.
//!
//! ```text
//!   rows of a node ──count──► for each attribute:  AV   code          ──► rows
//!                                                  AVC  code, class   ──► rows
//!                                                  AVS  code, secret  ──► rows
//!                                  │ choose             divide
//!                                  └──────► a split ──────────► cuts, and what is known of the parts
//! ```
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 5.1 (AV, AVC and AVS groups); Gehrke,
//! Ramakrishnan & Ganti 1998.
//! Departures: several sensitive columns and several targets are counted side by side. What a node
//! knows of its codes from the splits above bounds its counts before they are made.
//! Guarantee: the chosen split is that of [`crate::split`] in exact mode for the rows behind the
//! counts, whatever their order: all that it looks at are sums of rows by code, class and sensitive
//! value, which are whole numbers. This holds for the median and for gains of targets that are
//! classes, and for every requirement on the distributions of sensitive columns; what looks at
//! several attributes of a row at once (boxes, persons, selections) cannot be chosen so.
//! Cost: O(1) per row and table to count; O(cells) per node to choose.
//!
//! - [`group`]: the counts of a node, how they are made, and what they take.
//! - `median`, `gain`: the choice.
//! - [`divide`]: what a split makes of a node.
//! - `walk`: the codes of an attribute in their order, and the sides of a cut.

pub mod divide;
mod gain;
pub mod group;
mod median;
mod walk;

use albers_classes::space::{AxisKind, LabelTree, Space};
use albers_privacy::Requirement;

use crate::plan::Plan;
use crate::split::Split;
use crate::split::gain::Gains;
use crate::split::state::NodeState;
use crate::split::workload::{TargetPlace, TargetValues, Workload};
use group::CountGroup;

/// What decides on a split, besides the counts.
pub struct CountPlan<'a> {
    /// The attributes.
    pub space: &'a Space,
    /// No part with fewer rows can satisfy the requirement.
    pub min_rows: usize,
    /// The whole requirement, unless the number of rows says it all.
    pub rule: Option<&'a Requirement>,
    /// What is tried before the median; its workload knows the impurities of the whole table.
    pub gains: Option<Gains<'static>>,
}

impl<'a> CountPlan<'a> {
    /// Of a plan, whose workload knows the impurities of the whole table.
    pub fn of(plan: &Plan<'a>) -> CountPlan<'a> {
        let workload = plan.workload.filter(|own| !own.workload.targets.is_empty());
        CountPlan {
            space: plan.space,
            min_rows: plan.min_rows(),
            rule: plan.has_rule().then_some(plan.requirement),
            gains: workload.map(|own| Gains::of_rooted(own.workload)),
        }
    }

    fn label_tree(&self, axis: usize) -> Option<&'a LabelTree> {
        match &self.space.axes[axis].kind {
            AxisKind::Label(tree) => Some(tree),
            AxisKind::Interval { .. } | AxisKind::Set { .. } => None,
        }
    }
}

/// The chosen split of the rows behind some counts, or nothing if no split is allowable.
pub fn choose(plan: &CountPlan<'_>, group: &CountGroup, state: &NodeState) -> Option<Split> {
    if group.n_rows() < 2 * plan.min_rows {
        return None;
    }
    let by_workload = match &plan.gains {
        Some(gains) if !state.is_worn() => gain::choose(plan, gains, group),
        _ => None,
    };
    by_workload.or_else(|| median::choose(plan, group))
}

/// Whether counts decide what a workload gains: its targets are classes, and nothing else is looked
/// at.
pub fn decide(workload: &Workload) -> bool {
    let is_class = |values: &TargetValues| matches!(values, TargetValues::Classes { .. });
    workload.targets.iter().all(|target| is_class(&target.values))
        && workload.features.is_none()
        && workload.predicates.is_empty()
}

/// The same workload, with the impurities of the rows behind some counts as those of the whole
/// table.
pub fn rooted(workload: &Workload, group: &CountGroup) -> Workload {
    let mut tallies = workload.tallies();
    for (place, (target, tally)) in workload.targets.iter().zip(&mut tallies).enumerate() {
        match target.place {
            TargetPlace::Axis(axis) => {
                let runs = group.runs(axis).iter();
                runs.for_each(|run| group::add_to(tally, target.value_of(run.code), run.n_rows));
            }
            TargetPlace::Carried(_) => {
                group.each_class(place, |class, n_rows| tally.add_many(class, n_rows));
            }
        }
    }
    let n_rows = group.n_rows().max(1) as f64;
    let roots = tallies.iter().map(|tally| tally.impurity() / n_rows).collect();
    Workload { roots, ..workload.clone() }
}
