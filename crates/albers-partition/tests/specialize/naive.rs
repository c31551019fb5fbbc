//! Top-down specialization as its definition has it: everything is computed anew for each step.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use albers_classes::TargetCodes;
use albers_partition::split::tally::Tally;
use albers_partition::split::workload::{Target, TargetPlace, TargetValues, Workload};

use super::recoded::steps;
use crate::table::Table;

/// A group of an attribute: its least and its greatest code.
type Group = (u32, u32);
/// Rows by what they show.
type Classes = BTreeMap<Vec<Group>, Vec<usize>>;
/// A division of a group: the part of each of its codes.
type Parts = BTreeMap<u32, u32>;

/// A step that may be taken.
struct Step {
    attribute: usize,
    group: Group,
    parts: Parts,
    /// What it is chosen by within its group.
    within: f64,
    /// What it is chosen by among groups.
    among: f64,
}

/// A recoding on its way from the top.
struct Recoding<'t> {
    table: &'t Table,
    workload: &'t Workload,
    carried: &'t TargetCodes,
    /// The groups of each attribute.
    groups: Vec<BTreeSet<Group>>,
}

/// What the classes show in the end, with how many rows show it.
pub fn shown(
    table: &Table,
    workload: &Workload,
    carried: &TargetCodes,
) -> BTreeMap<Vec<Group>, usize> {
    let all: Vec<usize> = (0..table.n_rows).collect();
    let whole = |attribute| BTreeSet::from([table.bounds(&all, attribute)]);
    let groups = (0..table.columns.len()).map(whole).collect();
    let mut recoding = Recoding { table, workload, carried, groups };
    while let Some(step) = recoding.best_step() {
        recoding.take(&step);
    }
    recoding.classes().into_iter().map(|(shown, rows)| (shown, rows.len())).collect()
}

impl Recoding<'_> {
    /// The rows by what they show.
    fn classes(&self) -> Classes {
        let mut classes: Classes = BTreeMap::new();
        for row in 0..self.table.n_rows {
            let columns = self.groups.iter().zip(&self.table.columns);
            let shown = columns.map(|(groups, column)| {
                let holds = |group: &&Group| group.0 <= column[row] && column[row] <= group.1;
                *groups.iter().find(holds).expect("groups hold all codes")
            });
            classes.entry(shown.collect()).or_default().push(row);
        }
        classes
    }

    /// The allowable step with the greatest score; if none tells anything, that which saves most.
    fn best_step(&self) -> Option<Step> {
        let told = self.best_by(|own, step, classes, after| {
            let gain = own.gain(step);
            let size = |rows: &Vec<usize>| own.size(rows);
            let before = classes.values().map(size).min().expect("a class");
            let lost = before - after.iter().map(size).min().expect("a class");
            (gain > 0.0).then_some((gain, gain / (lost + 1) as f64))
        });
        told.or_else(|| {
            self.best_by(|own, step, _, _| {
                let saved = own.saved(step);
                Some((saved, saved))
            })
        })
    }

    /// The allowable step of the greatest worth, if any has one. Of each group only the first of
    /// those with the greatest worth within it is looked at.
    fn best_by(
        &self,
        worth: impl Fn(&Self, &Step, &Classes, &[Vec<usize>]) -> Option<(f64, f64)>,
    ) -> Option<Step> {
        let classes = self.classes();
        let mut best: Option<Step> = None;
        for (attribute, groups) in self.groups.iter().enumerate() {
            for &group in groups {
                let mut of_group: Option<Step> = None;
                for parts in steps(self.table, attribute, &self.codes(attribute, group)) {
                    let mut step = Step { attribute, group, parts, within: 0.0, among: 0.0 };
                    let after = self.classes_after(&step, &classes);
                    if !after.iter().all(|rows| self.table.holds(rows)) {
                        continue;
                    }
                    let Some(worth) = worth(self, &step, &classes, &after) else { continue };
                    (step.within, step.among) = worth;
                    if of_group.as_ref().is_none_or(|other| step.within > other.within) {
                        of_group = Some(step);
                    }
                }
                let Some(step) = of_group else { continue };
                if best.as_ref().is_none_or(|best| self.order(&step, best).is_gt()) {
                    best = Some(step);
                }
            }
        }
        best
    }

    /// Preferred attributes first; equals stay in the order of attributes and codes.
    fn order(&self, step: &Step, other: &Step) -> Ordering {
        let preferred = |own: &Step| self.table.space.axes[own.attribute].preferred;
        preferred(step).cmp(&preferred(other)).then(step.among.total_cmp(&other.among))
    }

    fn codes(&self, attribute: usize, (lo, hi): Group) -> BTreeSet<u32> {
        let codes = self.table.columns[attribute].iter().copied();
        codes.filter(|&code| lo <= code && code <= hi).collect()
    }

    fn classes_after(&self, step: &Step, classes: &Classes) -> Vec<Vec<usize>> {
        let mut after: BTreeMap<(&[Group], Option<u32>), Vec<usize>> = BTreeMap::new();
        for (shown, rows) in classes {
            for &row in rows {
                let code = self.table.columns[step.attribute][row];
                after
                    .entry((shown.as_slice(), step.parts.get(&code).copied()))
                    .or_default()
                    .push(row);
            }
        }
        after.into_values().collect()
    }

    /// Persons where they are counted, rows elsewhere.
    fn size(&self, rows: &[usize]) -> usize {
        let subjects = &self.table.facts.subjects;
        match subjects.is_empty() {
            true => rows.len(),
            false => rows.iter().map(|&row| subjects[row]).collect::<BTreeSet<_>>().len(),
        }
    }

    /// The rows of each part of a step.
    fn parts(&self, step: &Step) -> BTreeMap<u32, Vec<usize>> {
        let mut parts: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (row, code) in self.table.columns[step.attribute].iter().enumerate() {
            if let Some(&part) = step.parts.get(code) {
                parts.entry(part).or_default().push(row);
            }
        }
        parts
    }

    /// What a step tells, per row of its group.
    fn gain(&self, step: &Step) -> f64 {
        let parts = self.parts(step);
        let rows: Vec<usize> = parts.values().flatten().copied().collect();
        let all: Vec<usize> = (0..self.table.n_rows).collect();
        let is_one_class = matches!(
            &self.workload.targets[..],
            [Target { values: TargetValues::Classes { .. }, .. }]
        );
        let told = |target: &Target| {
            let whole = self.tally(target, &rows);
            let left: f64 = parts.values().map(|part| self.tally(target, part).impurity()).sum();
            let gain = whole.impurity() - left;
            let root = self.tally(target, &all).impurity() / all.len() as f64;
            match gain > whole.rounding() * (parts.len() + 1) as f64 {
                false => 0.0,
                true if is_one_class => gain,
                true => target.weight / root * gain,
            }
        };
        self.workload.targets.iter().map(told).sum::<f64>() / rows.len() as f64
    }

    fn tally(&self, target: &Target, rows: &[usize]) -> Tally {
        let (mut tally, missing) = match target.values {
            TargetValues::Classes { n_classes, missing } => (Tally::of_classes(n_classes), missing),
            TargetValues::Numbers { missing, .. } => (Tally::of_numbers(), missing),
        };
        for &row in rows {
            let code = match target.place {
                TargetPlace::Axis(axis) => self.table.columns[axis][row],
                TargetPlace::Carried(place) => self.carried.of_row(row)[place],
            };
            if Some(code) != missing {
                tally.add(code);
            }
        }
        tally
    }

    /// The loss that a step saves.
    fn saved(&self, step: &Step) -> f64 {
        let axis = &self.table.space.axes[step.attribute];
        let loss = |rows: &Vec<usize>| {
            let (lo, hi) = self.table.bounds(rows, step.attribute);
            rows.len() as f64 * (axis.width(lo, hi).min(1.0) * axis.weight)
        };
        let parts = self.parts(step);
        let whole: Vec<usize> = parts.values().flatten().copied().collect();
        loss(&whole) - parts.values().map(loss).sum::<f64>()
    }

    fn take(&mut self, step: &Step) {
        let groups = &mut self.groups[step.attribute];
        groups.remove(&step.group);
        let mut bounds: BTreeMap<u32, Group> = BTreeMap::new();
        for (&code, &part) in &step.parts {
            let own = bounds.entry(part).or_insert((code, code));
            *own = (own.0.min(code), own.1.max(code));
        }
        groups.extend(bounds.into_values());
    }
}
