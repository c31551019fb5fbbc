//! Classes whose rule holds only by the rows of one person: rules count rows, so that a person with
//! several rows can make a class diverse alone, and whoever takes these rows away sees what the
//! others share.
//!
//! Guarantee: each person of a class who has several rows of it is taken away in turn, and the rules
//! are asked again, by the code that verified the class. Of a class with more than a thousand such
//! persons, those with the most rows are. Classes of more rows than are cut at once are not looked
//! at, whether or not they fit in memory.
//! Cost: a sort of the rows of each class; a check of the rules for each such person.

use std::cmp::Reverse;

use albers_privacy::{ClassSummary, Facts, Requirement};
use albers_release::door::{GiantRows, InMemory, Passed, PassedClasses};
use albers_table::row::RowIdx;
use rayon::prelude::*;

use crate::classes::Classes;

/// Persons of a class that are taken away, at most.
const MAX_PERSONS: usize = 1000;

/// Classes ruled by one person, from what passes the door.
pub struct PersonParts {
    n_classes: Vec<u64>,
    /// Classes of more rows are not looked at.
    max_rows: usize,
    /// The rows so far of a class that does not fit in memory.
    giant: Facts,
}

impl PersonParts {
    /// Of no class yet; those of more than so many rows are not looked at.
    pub fn new(max_rows: usize) -> PersonParts {
        PersonParts { n_classes: Vec::new(), max_rows, giant: Facts::default() }
    }

    /// Adds some classes.
    pub fn add(&mut self, part: &Passed<'_, '_>) {
        let is_asked = |requirement: &Requirement| {
            requirement.shape().counts_subjects && !requirement.rules().is_empty()
        };
        match part {
            Passed::Classes(classes) if is_asked(classes.requirement()) => {
                let more = ruled_by_one(*classes, self.max_rows);
                self.count(more.into_iter());
            }
            Passed::GiantRows(rows) if is_asked(rows.requirement) => self.add_giant_rows(*rows),
            _ => {}
        }
    }

    /// Gathers the rows of a class until all have come.
    fn add_giant_rows(&mut self, rows: GiantRows<'_, '_>) {
        let n_rows = rows.class.n_rows as usize;
        if n_rows > self.max_rows {
            return;
        }
        self.giant.subjects.extend_from_slice(&rows.facts.subjects);
        self.giant.sensitive.extend_from_slice(&rows.facts.sensitive);
        self.giant.n_sensitive = rows.facts.n_sensitive;
        if self.giant.subjects.len() == n_rows {
            let giant = std::mem::take(&mut self.giant);
            let mut summary = ClassSummary::new(rows.requirement.shape());
            let all = RowIdx::FIRST.take(n_rows).collect();
            let missed = missed_without_one(all, &giant, rows.requirement, &mut summary);
            self.count(missed.into_iter().map(u64::from));
        }
    }

    fn count(&mut self, more: impl ExactSizeIterator<Item = u64>) {
        self.n_classes.resize(more.len(), 0);
        self.n_classes.iter_mut().zip(more).for_each(|(own, more)| *own += more);
    }

    /// How many classes satisfy the rules of each sensitive column, in the order of the
    /// requirement, only by the rows of one person.
    pub fn n_classes(&self) -> &[u64] {
        &self.n_classes
    }
}

fn ruled_by_one(classes: PassedClasses<'_, '_>, max_rows: usize) -> Vec<u64> {
    const CLASSES_PER_TASK: usize = 4096;
    let requirement = classes.requirement();
    let nothing = || vec![0; requirement.columns().len()];
    let of_task = |classes_met: &[InMemory]| {
        let mut summary = ClassSummary::new(requirement.shape());
        let mut counts = nothing();
        for met in classes_met {
            let class = classes.class_of(met);
            if class.n_rows() > max_rows {
                continue;
            }
            let rows = class.parts().flat_map(|(row_idxs, _)| row_idxs.iter().copied()).collect();
            let missed = missed_without_one(rows, classes.facts(), requirement, &mut summary);
            counts.iter_mut().zip(missed).for_each(|(count, own)| *count += u64::from(own));
        }
        counts
    };
    let tasks = classes.classes_by_memory().par_chunks(CLASSES_PER_TASK);
    tasks.map(of_task).reduce(nothing, |mut sum, task| {
        sum.iter_mut().zip(task).for_each(|(own, more)| *own += more);
        sum
    })
}

/// How many classes of a release that was read back satisfy the rules of each sensitive column only
/// by the rows of one person. Its rows are those of the original that stand behind them, and classes
/// of more than so many are not looked at.
pub fn ruled_by_one_of_released(
    classes: &Classes,
    original_rows: &[RowIdx],
    facts: &Facts,
    requirement: &Requirement,
    max_rows: usize,
) -> Vec<u64> {
    let mut summary = ClassSummary::new(requirement.shape());
    let mut counts = vec![0; requirement.columns().len()];
    for class in classes.iter().filter(|class| class.n_rows() <= max_rows) {
        let rows: Vec<RowIdx> = class.rows().map(|row| original_rows[row.index()]).collect();
        // Nobody has verified that the rules hold of such a class.
        summary.clear();
        rows.iter().for_each(|row| facts.add(row.index(), &mut summary));
        let holds = |column| requirement.holds_of_column(&summary, column);
        let holds: Vec<bool> = (0..counts.len()).map(holds).collect();
        let missed = missed_without_one(rows, facts, requirement, &mut summary);
        let ruled = holds.into_iter().zip(missed).map(|(holds, missed)| holds && missed);
        counts.iter_mut().zip(ruled).for_each(|(count, own)| *count += u64::from(own));
    }
    counts
}

/// The sensitive columns whose rules do not hold without the rows of some person who has several.
fn missed_without_one(
    mut rows: Vec<RowIdx>,
    facts: &Facts,
    requirement: &Requirement,
    summary: &mut ClassSummary,
) -> Vec<bool> {
    let mut missed = vec![false; requirement.columns().len()];
    let person = |row: &RowIdx| facts.subject(row.index());
    rows.sort_unstable_by_key(person);
    let persons = rows.chunk_by(|a, b| person(a) == person(b));
    let mut persons: Vec<&[RowIdx]> = persons.filter(|own| own.len() > 1).collect();
    if persons.is_empty() {
        return missed;
    }
    persons.sort_by_key(|own| Reverse(own.len()));
    summary.clear();
    rows.iter().for_each(|row| facts.add(row.index(), summary));
    for own in persons.into_iter().take(MAX_PERSONS) {
        own.iter().for_each(|row| facts.remove(row.index(), summary));
        for (column, missed) in missed.iter_mut().enumerate() {
            *missed |= !requirement.holds_of_column(summary, column);
        }
        own.iter().for_each(|row| facts.add(row.index(), summary));
    }
    missed
}

#[cfg(test)]
mod tests {
    use albers_privacy::{Criterion, GroundDistance, SensitiveColumn};

    use super::*;

    fn missed(rows: &[(u64, u32)], l: u32) -> bool {
        let column = SensitiveColumn {
            name: "disease".to_owned(),
            n_values: 4,
            distance: GroundDistance::Equal,
            numbers: None,
        };
        let rules = vec![(0, Criterion::DistinctLDiversity { l })];
        let requirement = Requirement::new(1, true, vec![column], rules).unwrap();
        let facts = Facts {
            subjects: rows.iter().map(|row| row.0).collect(),
            sensitive: rows.iter().map(|row| row.1).collect(),
            n_sensitive: 1,
        };
        let mut summary = ClassSummary::new(requirement.shape());
        let row_idxs = RowIdx::FIRST.take(rows.len()).collect();
        missed_without_one(row_idxs, &facts, &requirement, &mut summary)[0]
    }

    #[test]
    fn a_person_with_several_rows_who_makes_a_class_diverse_is_found() {
        // Person 7 has all diseases but one, which all others share.
        assert!(missed(&[(1, 0), (7, 1), (2, 0), (7, 2), (3, 0)], 3));
        assert!(!missed(&[(1, 0), (7, 1), (2, 1), (7, 2), (3, 2)], 3));
        // A row of one's own is what the rule allows for.
        assert!(!missed(&[(1, 0), (7, 1), (2, 0)], 2));
        // Without its only person nothing is left of a class.
        assert!(missed(&[(7, 1), (7, 2)], 1));
    }
}
