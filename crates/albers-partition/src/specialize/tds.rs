//! Top-down specialization: the steps that tell most of the targets of a workload, for as little as
//! possible of what is left of the smallest class.
//!
//! ```text
//!                        sex  *                    zip  *
//!   gain, bits per row       0.08                      0.31
//!   smallest class        100 ──► 48               100 ──► 9
//!   score              0.08 / (52 + 1)           0.31 / (91 + 1)     zip is specialized first
//! ```
//!
//! Source: Fung, Wang & Yu 2005, sections 3 and 4: `Score = InfoGain / (AnonyLoss + 1)`.
//! Departures: what may be published is the whole requirement, not k alone. The smallest class is
//! counted in persons where the requirement counts persons, in rows elsewhere. Intervals, and sets
//! of names without a hierarchy in the order of their codes, are cut in two where most is told of
//! all allowable cuts; the paper gives up an interval whose best cut is not allowable. Where no
//! allowable step tells anything the paper stops; here the step is taken that saves the most loss,
//! as [`super::partition`] does, and steps that tell something then come first again: every class
//! satisfies all the same, and more of each row is shown. See `told` for what steps tell.
//! Guarantee: every class satisfies the requirement, if the whole table does, equal values are
//! shown alike in all rows, and no further step is allowable. Each step has the greatest score of
//! all groups of preferred attributes, or of the others if those have none, where a group that is cut
//! stands for its allowable cut of most gain; of equals it is that of the first attribute, then of the
//! least rank. The result depends on the table, the plan
//! and nothing else.
//! Cost: that of [`super::partition`] with one try, and O(rows of the group) for each group whose
//! gain is above the best score of a round and whose classes have changed since it was last looked
//! at. A score rises when the smallest class shrinks elsewhere, and is never above the gain, which
//! never rises: so groups are looked at by their gains, down to the best score.

use std::collections::BinaryHeap;

use albers_classes::class_block::Groups;
use albers_classes::points::Points;
use albers_storage::Result;
use albers_storage::watch::{Phase, Watch};
use rayon::prelude::*;

use super::column::{Column, Span, columns_of};
use super::told::Targets;
use super::{Candidate, Recoding, Step, blocks};
use crate::plan::{MAX_ATTRIBUTES, Plan};
use crate::split::rule::RuleScratch;

/// Divides points into classes of equal groups. The whole table must satisfy the requirement, and
/// the plan must have a workload; no row is left out.
pub fn partition(points: Points, plan: &Plan<'_>, watch: &dyn Watch) -> Result<Groups> {
    assert!(points.n_attributes() <= MAX_ATTRIBUTES, "checked when the job was planned");
    let n_rows = points.n_rows();
    watch.phase(Phase::Partition, Some(n_rows as u64));
    if n_rows == 0 {
        return Ok(Groups::of_all(points.n_attributes(), Vec::new()));
    }
    let columns = columns_of(points, plan.space);
    let targets = Targets::new(plan.workload.expect("planned with a target"), &columns);
    let mut told = ToldRecoding::top(&columns, plan, targets);
    told.refine(watch)?;
    let Recoding { classes, .. } = &told.recoding;
    let groups = blocks::groups_of(classes, &told.recoding.spans(), &columns);
    assert!(groups.suppressed.row_idxs.is_empty(), "no step leaves rows out");
    watch.done(n_rows as u64)?;
    Ok(groups)
}

/// A recoding on its way from the top, with what its steps tell.
struct ToldRecoding<'a> {
    recoding: Recoding<'a>,
    targets: Targets,
    /// What is known of the steps of each group, by its number.
    known: Vec<Known>,
    /// The groups with steps that tell something, by the most that one of them may tell.
    candidates: BinaryHeap<Candidate>,
    /// The size of the smallest class.
    smallest: u64,
}

/// What is known of the steps of a group.
struct Known {
    /// What they tell: one for the children of a node, else one for a cut after each rank.
    gains: Vec<f64>,
    /// The one that tells most, while no class of the group changes.
    most: Option<Told>,
}

/// The allowable step of a group that tells most.
#[derive(Clone)]
struct Told {
    /// The last rank of each part.
    ends: Vec<u32>,
    gain: f64,
    /// The size of the smallest class that comes of it.
    smallest: u64,
}

impl<'a> ToldRecoding<'a> {
    /// Every attribute is one group, and all rows are one class.
    fn top(columns: &'a [Column<'a>], plan: &'a Plan<'a>, targets: Targets) -> ToldRecoding<'a> {
        let recoding = Recoding::top(columns, (plan, 0), 0.0);
        let all = &recoding.classes.all()[0].rows;
        let smallest = recoding.judge.size(all, &mut RuleScratch::default());
        let (known, candidates) = (Vec::new(), BinaryHeap::new());
        let mut told = ToldRecoding { recoding, targets, known, candidates, smallest };
        told.know_new_groups();
        told
    }

    /// Takes the best allowable step until there is none.
    fn refine(&mut self, watch: &dyn Watch) -> Result<()> {
        loop {
            watch.check()?;
            if let Some((group_idx, told)) = self.most_telling() {
                self.divide(group_idx, &told.ends, told.smallest);
            } else if let Some((group_idx, ends)) = self.recoding.most_saving(watch)? {
                let smallest = self.smallest_part(group_idx, &ends);
                self.divide(group_idx, &ends, smallest);
            } else {
                return Ok(());
            }
        }
    }

    /// The allowable step with the greatest score, if it tells anything.
    fn most_telling(&mut self) -> Option<(u32, Told)> {
        let mut best: Option<(Candidate, Told)> = None;
        let mut others = Vec::new();
        while let Some(candidate) = self.candidates.pop() {
            if best.as_ref().is_some_and(|(best, _)| *best > candidate) {
                others.push(candidate);
                break;
            }
            let Some(told) = self.told(candidate.group) else { continue };
            if told.gain < candidate.score {
                self.candidates.push(Candidate { score: told.gain, ..candidate });
                continue;
            }
            let lost = self.smallest - told.smallest.min(self.smallest);
            let scored = Candidate { score: told.gain / (lost + 1) as f64, ..candidate };
            if best.as_ref().is_none_or(|(best, _)| scored > *best) {
                let before = best.replace((scored, told));
                others.extend(before.map(|(own, told)| Candidate { score: told.gain, ..own }));
            } else {
                others.push(candidate);
            }
        }
        self.candidates.extend(others);
        best.map(|(candidate, told)| (candidate.group, told))
    }

    /// The allowable step of a group that tells most, the least of equals, if it tells anything.
    fn told(&mut self, group_idx: u32) -> Option<Told> {
        let is_known = self.recoding.groups[group_idx as usize].is_weighed;
        if is_known && let Some(told) = &self.known[group_idx as usize].most {
            return Some(told.clone());
        }
        self.known[group_idx as usize].most = None;
        self.recoding.refuse(group_idx);
        let group = &self.recoding.groups[group_idx as usize];
        let gains = &self.known[group_idx as usize].gains;
        let (gain, ends) = match &group.step {
            Step::Children(ends) => (gains[0], ends.clone()),
            Step::Cuts(cuts) => {
                let (cut, gain) = most_told(group.span, cuts, gains)?;
                (gain, vec![cut, group.span.last])
            }
        };
        if gain <= 0.0 {
            return None;
        }
        let smallest = self.smallest_part(group_idx, &ends);
        let told = Told { ends, gain, smallest };
        self.known[group_idx as usize].most = Some(told.clone());
        Some(told)
    }

    /// The size of the smallest class that comes of a division of a group.
    fn smallest_part(&self, group_idx: u32, ends: &[u32]) -> u64 {
        let Recoding { columns, judge, groups, classes, .. } = &self.recoding;
        let group = &groups[group_idx as usize];
        let classes = classes.of(&group.classes);
        judge.smallest_part(&columns[group.attribute], group.span, ends, &classes)
    }

    fn divide(&mut self, group_idx: u32, ends: &[u32], smallest: u64) {
        // The parts of a class are no larger than it was, so that no other has to be looked at.
        self.smallest = self.smallest.min(smallest);
        self.known[group_idx as usize] = Known { gains: Vec::new(), most: None };
        self.recoding.divide(group_idx, ends);
        self.know_new_groups();
    }

    /// Looks at what the steps of groups tell that are new.
    fn know_new_groups(&mut self) {
        let Recoding { columns, groups, .. } = &self.recoding;
        let first_new = self.known.len();
        let targets = &self.targets;
        let new_groups = groups[first_new..].par_iter();
        let gains = new_groups.map_init(
            || targets.tallies(),
            |tallies, group| {
                let column = &columns[group.attribute];
                targets.gains(group.attribute, (column, group.span), &group.step, tallies)
            },
        );
        self.known.par_extend(gains.map(|gains| Known { gains, most: None }));
        for (group_idx, group) in (0..).zip(groups).skip(first_new) {
            let score = self.known[group_idx as usize].gains.iter().copied().fold(0.0, f64::max);
            if score > 0.0 {
                self.candidates.push(Candidate {
                    preferred: columns[group.attribute].axis.preferred,
                    score,
                    attribute: group.attribute,
                    first_rank: group.span.first,
                    group: group_idx,
                });
            }
        }
    }
}

/// The cut that tells most, the least of equals.
fn most_told(span: Span, cuts: &[u32], gains: &[f64]) -> Option<(u32, f64)> {
    let told = cuts.iter().map(|&cut| (cut, gains[(cut - span.first) as usize]));
    told.reduce(|best, other| if other.1 > best.1 { other } else { best })
}
