//! Specialization: one recoding of each attribute for all rows, refined from the top.
//!
//! ```text
//!                     all values of one attribute are one group
//!   subtree                                    ordered set
//!             *                                [17 ........ 90]
//!        ┌────┴─────┐                          [17 . 38][39 . 90]
//!       53*        54*                         [17 . 38][39 52][53 90]
//!     ┌──┴──┐   (no step is allowable)
//!   5371   5372                                a step is taken for all rows or for none
//! ```
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2005, section 5.1 (the models: single-dimension
//! full-subtree recoding and ordered-set partitioning); Fung, Wang & Yu 2005 (top-down
//! specialization).
//! Departures: a step is scored by the loss it saves, not by what it tells of a class label (see
//! [`tds`] for that), and the best of several recodings is taken: some avoid small parts, some use
//! less of the allowance of rows that may be left out, which lose everything, and one goes on from
//! given levels, so that what comes out loses no more than a full-domain recoding at these. An
//! attribute with labels is specialized down its hierarchy, any other is cut in two. A group shows the lowest
//! label, or the bounds, of those of its values that occur. Rows of classes that violate the
//! requirement can be left out, as long as they are few.
//! Guarantee: every class satisfies the requirement, if the whole table does, and equal values are
//! shown alike in all rows. If no row may be left out, no further step is allowable. If some may,
//! nothing that was tried loses less, but a further step may still be allowable. The result depends
//! on the table, the plan and nothing else.
//! Cost: O(rows) for each level of a hierarchy; for a cut O(rows of its group) each time the group
//! is the most promising one, more by a logarithm with rules. Memory for the codes, and twice for
//! the rows of the classes.
//!
//! - `column`: an attribute as ranks of the codes that occur, and what a step saves.
//! - `classes`: the rows by class, and how a step divides them.
//! - `weigh`: how many rows a step would leave in violating classes.
//! - `blocks`: the classes as groups of the release.
//! - [`tds`]: the same by what steps tell of the targets of a workload; `told`: how much that is.

mod blocks;
mod classes;
mod column;
pub mod tds;
mod told;
mod weigh;

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use albers_classes::class_block::Groups;
use albers_classes::points::Points;
use albers_storage::Result;
use albers_storage::watch::{Phase, Watch};
use rayon::prelude::*;

use crate::plan::{MAX_ATTRIBUTES, Plan};
use classes::Classes;
use column::{Column, Span};
use weigh::Judge;

/// How much a step is disliked for a small part; the best of the recodings that come of it counts.
/// On census data neither is always better, and more of them find little more.
const CAUTIONS: [f64; 2] = [0.0, 0.25];

/// The parts of the allowance that are tried; a step that leaves rows out is taken as soon as it
/// may be, so that more allowance is not always better. The last is none at all.
const ALLOWANCE_SHARES: [usize; 4] = [1, 4, 16, 0];

/// What a recoding is to do.
pub struct SpecializePlan<'a> {
    /// The attributes, whose kinds decide how they are recoded, and the requirement. The policy is
    /// not asked, and regions are always kept: they are the groups that the release shows.
    pub plan: &'a Plan<'a>,
    /// How many rows may be left out.
    pub max_suppressed: usize,
    /// A level of each attribute's hierarchy, 0 for the leaves, at which all rows together satisfy
    /// the requirement and leave out no more: some recodings go on from there. Without it, all start
    /// at the top.
    pub start: Option<&'a [usize]>,
}

/// Divides points into classes of equal groups. The whole table must satisfy the requirement.
pub fn partition(points: Points, plan: &SpecializePlan<'_>, watch: &dyn Watch) -> Result<Groups> {
    assert!(points.n_attributes() <= MAX_ATTRIBUTES, "checked when the job was planned");
    let n_rows = points.n_rows();
    watch.phase(Phase::Partition, Some(n_rows as u64));
    if n_rows == 0 {
        return Ok(Groups::of_all(points.n_attributes(), Vec::new()));
    }
    let columns = column::columns_of(points, plan.plan.space);
    let mut tries: Vec<(usize, f64)> = Vec::new();
    // Some row must be left: to leave out all of them loses no more than one class of everything.
    let most = plan.max_suppressed.min(n_rows - 1);
    for share in ALLOWANCE_SHARES {
        let max_suppressed = most.checked_div(share).unwrap_or(0);
        if tries.last().is_none_or(|&(last, _)| last != max_suppressed) {
            tries.extend(CAUTIONS.map(|caution| (max_suppressed, caution)));
        }
    }
    let tries = tries.into_iter().map(|own| (own, None));
    // Whoever leaves out more rows may lose more than at the levels: these alone are tried too.
    let onwards = [Onward::Freely, Onward::LeavingOutNoMore, Onward::NotAtAll];
    let onwards = &onwards[..if most == 0 { 1 } else { onwards.len() }];
    let from_start = plan.start.into_iter().flat_map(|levels| {
        onwards.iter().map(move |&onward| ((most, CAUTIONS[0]), Some((levels, onward))))
    });
    let tries: Vec<Try<'_>> = tries.chain(from_start).collect();
    let recode = |&((max_suppressed, caution), start): &Try<'_>| {
        let mut recoding = Recoding::top(&columns, (plan.plan, max_suppressed), caution);
        if let Some((levels, _)) = start {
            recoding.go_down(levels);
        }
        let n_left_out = recoding.classes.n_violating;
        if n_left_out > max_suppressed {
            return Ok(None);
        }
        match start.map_or(Onward::Freely, |(_, onward)| onward) {
            Onward::Freely => recoding.refine(watch)?,
            Onward::LeavingOutNoMore => {
                recoding.max_suppressed = n_left_out;
                recoding.refine(watch)?;
            }
            Onward::NotAtAll => {}
        }
        Ok(Some(recoding))
    };
    let recodings: Vec<Option<Recoding<'_>>> =
        tries.par_iter().map(recode).collect::<Result<_>>()?;
    let best = recodings.into_iter().flatten().min_by(|a, b| a.loss().total_cmp(&b.loss()));
    let recoding = best.expect("one way is tried");
    let groups = blocks::groups_of(&recoding.classes, &recoding.spans(), &columns);
    assert!(groups.suppressed.row_idxs.len() <= plan.max_suppressed, "steps keep to the allowance");
    watch.done(n_rows as u64)?;
    Ok(groups)
}

/// How many rows a recoding may leave out, how much it dislikes small parts, where it starts if not at
/// the top, and how it goes on from there.
type Try<'a> = ((usize, f64), Option<(&'a [usize], Onward)>);

/// How a recoding goes on from given levels.
#[derive(Clone, Copy)]
enum Onward {
    /// As from the top.
    Freely,
    /// Without leaving out more rows than at the levels.
    LeavingOutNoMore,
    /// It ends there.
    NotAtAll,
}

/// The recoding of all attributes on its way from the top.
struct Recoding<'a> {
    columns: &'a [Column<'a>],
    judge: Judge<'a>,
    max_suppressed: usize,
    caution: f64,
    groups: Vec<Group>,
    classes: Classes,
    /// The groups that may still be divided, by the best that can be hoped for.
    candidates: BinaryHeap<Candidate>,
}

/// A group of values of one attribute.
struct Group {
    attribute: usize,
    span: Span,
    /// The classes that have it.
    classes: Vec<u32>,
    step: Step,
    /// Whether no class has changed since the step was weighed.
    is_weighed: bool,
}

/// How a group can be divided.
enum Step {
    /// Into the children of its node: the last rank of each.
    Children(Vec<u32>),
    /// At one of these ranks, each the last of the first part.
    Cuts(Vec<u32>),
}

/// A group that may be divided.
#[derive(PartialEq)]
struct Candidate {
    preferred: bool,
    score: f64,
    attribute: usize,
    first_rank: u32,
    group: u32,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    /// The greatest is to be divided first.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.score.total_cmp(&other.score);
        (self.preferred.cmp(&other.preferred).then(by_score))
            .then(other.attribute.cmp(&self.attribute))
            .then(other.first_rank.cmp(&self.first_rank))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'a> Recoding<'a> {
    /// Every attribute is one group, and all rows are one class.
    fn top(
        columns: &'a [Column<'a>],
        (plan, max_suppressed): (&'a Plan<'a>, usize),
        caution: f64,
    ) -> Recoding<'a> {
        let mut recoding = Recoding {
            columns,
            judge: Judge::new(plan),
            max_suppressed,
            caution,
            groups: Vec::new(),
            classes: Classes::top(columns),
            candidates: BinaryHeap::new(),
        };
        for (attribute, column) in columns.iter().enumerate() {
            recoding.add_group(attribute, column.whole(), vec![0]);
        }
        recoding
    }

    /// Divides attributes into the nodes of a level of their hierarchies, each at once.
    fn go_down(&mut self, levels: &[usize]) {
        for (attribute, &level) in levels.iter().enumerate() {
            let ends = self.columns[attribute].ends_at(level);
            if ends.len() > 1 {
                // The attribute's first group, which is still whole.
                self.divide(attribute as u32, &ends);
            }
        }
    }

    /// Takes the best allowable step until there is none.
    fn refine(&mut self, watch: &dyn Watch) -> Result<()> {
        while let Some((group_idx, ends)) = self.most_saving(watch)? {
            self.divide(group_idx, &ends);
        }
        Ok(())
    }

    /// The allowable step that saves most: a group, and the last rank of each of its parts.
    ///
    /// What a step saves never changes, and a step that is refused stays refused: what a candidate
    /// can hope for only falls. It is weighed when it is the most promising of all.
    fn most_saving(&mut self, watch: &dyn Watch) -> Result<Option<(u32, Vec<u32>)>> {
        while let Some(candidate) = self.candidates.pop() {
            watch.check()?;
            let group_idx = candidate.group;
            let Some(ends) = self.weighed(group_idx) else { continue };
            let group = &self.groups[group_idx as usize];
            let score = self.columns[group.attribute].score(group.span, &ends, self.caution);
            let weighed = Candidate { score, ..candidate };
            match self.candidates.peek() {
                Some(better) if *better > weighed => self.candidates.push(weighed),
                _ => return Ok(Some((group_idx, ends))),
            }
        }
        Ok(None)
    }

    /// The last rank of each part of the best allowable division of a group.
    fn weighed(&mut self, group_idx: u32) -> Option<Vec<u32>> {
        self.refuse(group_idx);
        let group = &mut self.groups[group_idx as usize];
        match &mut group.step {
            Step::Children(ends) => Some(std::mem::take(ends)),
            Step::Cuts(cuts) => {
                let column = &self.columns[group.attribute];
                let (cut, _) = column.best_cut(group.span, cuts, self.caution)?;
                Some(vec![cut, group.span.last])
            }
        }
    }

    /// Forgets the divisions of a group that are not allowable, unless that was done since one of
    /// its classes has changed.
    fn refuse(&mut self, group_idx: u32) {
        let group = &mut self.groups[group_idx as usize];
        if group.is_weighed && self.max_suppressed == 0 {
            return;
        }
        group.is_weighed = true;
        let column = &self.columns[group.attribute];
        let allowance = self.max_suppressed as i64 - self.classes.n_violating as i64;
        match &mut group.step {
            Step::Cuts(cuts) if cuts.is_empty() => {}
            Step::Children(ends) => {
                let classes = self.classes.of(&group.classes);
                let added = self.judge.violating_children(column, group.span, ends, &classes);
                if added > allowance {
                    group.step = Step::Cuts(Vec::new());
                }
            }
            Step::Cuts(cuts) => {
                let classes = self.classes.of(&group.classes);
                let added = self.judge.violating_cuts(column, group.span, cuts, &classes);
                cuts.retain(|cut| added[(cut - group.span.first) as usize] <= allowance);
            }
        }
    }

    /// Replaces a group by its parts, in all classes that have it.
    fn divide(&mut self, group_idx: u32, ends: &[u32]) {
        let group = &mut self.groups[group_idx as usize];
        let (attribute, span) = (group.attribute, group.span);
        let classes = std::mem::take(&mut group.classes);
        group.step = Step::Cuts(Vec::new());
        let column = &self.columns[attribute];
        let first_new = self.groups.len() as u32;
        let changes = self.classes.divide(&classes, (column, span), ends, &self.judge);
        let mut classes_of = vec![Vec::new(); ends.len()];
        for change in changes {
            classes_of[change.part as usize].push(change.class);
            self.classes.set_group(change.class, attribute, first_new + change.part);
            if !change.is_divided {
                continue;
            }
            for (other, group) in self.classes.groups_of(change.class).enumerate() {
                if other != attribute {
                    let group = &mut self.groups[group as usize];
                    group.is_weighed = false;
                    if change.is_new {
                        group.classes.push(change.class);
                    }
                }
            }
        }
        for (part, classes) in Span::parts(span, ends).zip(classes_of) {
            self.add_group(attribute, part, classes);
        }
    }

    fn add_group(&mut self, attribute: usize, span: Span, classes: Vec<u32>) {
        let column = &self.columns[attribute];
        let group = u32::try_from(self.groups.len()).expect("fewer groups than codes");
        let (step, score) = column.step(span, self.caution);
        self.groups.push(Group { attribute, span, classes, step, is_weighed: false });
        if let Some(score) = score {
            let preferred = column.axis.preferred;
            let first_rank = span.first;
            self.candidates.push(Candidate { preferred, score, attribute, first_rank, group });
        }
    }

    /// What all rows lose; a row that is left out loses everything.
    fn loss(&self) -> f64 {
        let everything: f64 = self.columns.iter().map(|column| column.axis.weight).sum();
        let row_loss_of = |class_idx| -> f64 {
            let groups = self.columns.iter().zip(self.classes.groups_of(class_idx));
            groups.map(|(column, group)| column.row_loss(self.groups[group as usize].span)).sum()
        };
        let classes = (0..).zip(self.classes.all());
        classes
            .map(|(class_idx, class)| {
                let row_loss = if class.violates { everything } else { row_loss_of(class_idx) };
                class.rows.len() as f64 * row_loss
            })
            .sum()
    }

    /// The span of each group.
    fn spans(&self) -> Vec<Span> {
        self.groups.iter().map(|group| group.span).collect()
    }
}
