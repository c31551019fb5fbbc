//! The leaf scan: leaves one after another, a class closed as soon as it satisfies the requirement.
//!
//! Source: Iwuchukwu & Naughton 2007, section 3.2 and figure 5.
//! Departures: units are scanned, which are classes of the next finer release; what is left at the
//! end joins as many classes before it as it needs.
//! Guarantee: every class satisfies the requirement, if all leaves together do.
//! Cost: one pass over the rows.

use albers_classes::ClassId;
use albers_privacy::{ClassSummary, Requirement};

use super::leaves::LeafRuns;
use super::units::Units;

/// The class of each unit; `walk` are the units in the order in which they are scanned.
pub fn leaf_scan(
    leaves: LeafRuns<'_>,
    units: &Units,
    walk: &[u32],
    requirement: &Requirement,
) -> Vec<ClassId> {
    let mut summary = ClassSummary::new(requirement.shape());
    let mut n_rows = 0;
    let mut class = 0;
    let mut along: Vec<ClassId> = Vec::with_capacity(walk.len());
    let mut is_closed = true;
    for &unit in walk {
        let unit = units.get(unit as usize);
        along.push(ClassId::new(class));
        is_closed = match requirement.is_only_row_count() {
            Some(k) => {
                n_rows += leaves.count(unit);
                n_rows >= k
            }
            None => {
                leaves.add_leaves(unit, &mut summary);
                requirement.holds(&summary)
            }
        };
        if is_closed {
            class += 1;
            n_rows = 0;
            summary.clear();
        }
    }
    let scan = Scan { leaves, units, walk, requirement };
    if !is_closed {
        scan.join_last(&mut along, ClassId::new(class));
    }
    let mut classes = vec![ClassId::new(0); units.len()];
    walk.iter().zip(along).for_each(|(&unit, class)| classes[unit as usize] = class);
    classes
}

struct Scan<'a> {
    leaves: LeafRuns<'a>,
    units: &'a Units,
    walk: &'a [u32],
    requirement: &'a Requirement,
}

impl Scan<'_> {
    /// What is left at the end joins the classes before it, as many as it needs.
    fn join_last(&self, along: &mut [ClassId], rest: ClassId) {
        let mut first = along.iter().position(|&class| class == rest).unwrap_or(0);
        let mut summary = ClassSummary::new(self.requirement.shape());
        let add = |own: std::ops::Range<usize>, summary: &mut ClassSummary| {
            let units = self.walk[own].iter().map(|&unit| self.units.get(unit as usize));
            units.for_each(|unit| self.leaves.add_leaves(unit, summary));
        };
        add(first..along.len(), &mut summary);
        while first > 0 {
            let (class, end) = (along[first - 1], first);
            first = along[..end].iter().rposition(|&other| other != class).map_or(0, |at| at + 1);
            add(first..end, &mut summary);
            if self.requirement.holds(&summary) {
                break;
            }
        }
        let class = along[first];
        along[first..].fill(class);
    }
}
