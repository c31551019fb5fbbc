//! The rows by class, and how a step divides them.

use rayon::prelude::*;

use super::column::{Column, Span};
use super::weigh::{Buckets, Judge, part_of_ranks};

/// All classes.
pub struct Classes {
    classes: Vec<Class>,
    n_attributes: usize,
    /// The group of each class on each attribute, class by class.
    groups: Vec<u32>,
    /// How many rows are in classes that violate the requirement.
    pub n_violating: usize,
}

/// The rows that have the same groups.
#[derive(Default)]
pub struct Class {
    /// The rows, in ascending order.
    pub rows: Vec<u32>,
    /// Whether they violate the requirement.
    pub violates: bool,
}

/// What became of a class, or of a part of it.
pub struct Change {
    /// The class.
    pub class: u32,
    /// The part of the divided group that it has now.
    pub part: u32,
    /// Whether it has fewer rows than before.
    pub is_divided: bool,
    /// Whether it did not exist before.
    pub is_new: bool,
}

impl Class {
    /// How many rows violate the requirement.
    pub fn n_violating(&self) -> i64 {
        if self.violates { self.rows.len() as i64 } else { 0 }
    }
}

impl Classes {
    /// One class of all rows, which has the first group of each attribute.
    pub fn top(columns: &[Column<'_>]) -> Classes {
        let n_rows = columns.first().map_or(0, |column| column.ranks.len()) as u32;
        Classes {
            classes: vec![Class { rows: (0..n_rows).collect(), violates: false }],
            n_attributes: columns.len(),
            groups: (0..columns.len() as u32).collect(),
            n_violating: 0,
        }
    }

    /// All of them.
    pub fn all(&self) -> &[Class] {
        &self.classes
    }

    /// Some classes, by their numbers.
    pub fn of(&self, numbers: &[u32]) -> Vec<&Class> {
        numbers.iter().map(|&class| &self.classes[class as usize]).collect()
    }

    /// The group of a class on each attribute.
    pub fn groups_of(&self, class: u32) -> impl Iterator<Item = u32> + '_ {
        let first = class as usize * self.n_attributes;
        self.groups[first..first + self.n_attributes].iter().copied()
    }

    /// Gives a class another group.
    pub fn set_group(&mut self, class: u32, attribute: usize, group: u32) {
        self.groups[class as usize * self.n_attributes + attribute] = group;
    }

    /// Divides some classes by the parts of a group. The first part of a class keeps its number.
    pub fn divide(
        &mut self,
        numbers: &[u32],
        (column, span): (&Column<'_>, Span),
        ends: &[u32],
        judge: &Judge<'_>,
    ) -> Vec<Change> {
        let part_of = part_of_ranks(span, ends);
        let divided: Vec<Vec<(u32, Class)>> = numbers
            .par_iter()
            .map_init(Buckets::default, |buckets, &number| {
                let class = &self.classes[number as usize];
                buckets.fill(&class.rows, ends.len(), |row| {
                    part_of[(column.ranks[row] - span.first) as usize]
                });
                parts_of(class, buckets, judge)
            })
            .collect();
        let mut changes = Vec::new();
        for (&number, parts) in numbers.iter().zip(divided) {
            let is_divided = parts.len() > 1;
            let old = std::mem::take(&mut self.classes[number as usize]);
            self.n_violating -= old.n_violating() as usize;
            for (part_idx, (part, class)) in parts.into_iter().enumerate() {
                self.n_violating += class.n_violating() as usize;
                let is_new = part_idx > 0;
                let class = if is_new { self.add(number, class) } else { self.put(number, class) };
                changes.push(Change { class, part, is_divided, is_new });
            }
        }
        changes
    }

    fn put(&mut self, number: u32, class: Class) -> u32 {
        self.classes[number as usize] = class;
        number
    }

    /// Adds a class with the groups of another.
    fn add(&mut self, like: u32, class: Class) -> u32 {
        let number = u32::try_from(self.classes.len()).expect("fewer classes than rows");
        let first = like as usize * self.n_attributes;
        self.groups.extend_from_within(first..first + self.n_attributes);
        self.classes.push(class);
        number
    }
}

/// The parts of a class that have rows.
fn parts_of(class: &Class, buckets: &mut Buckets, judge: &Judge<'_>) -> Vec<(u32, Class)> {
    let Buckets { rows, part_ends, scratch } = buckets;
    let mut parts = Vec::new();
    let mut first = 0;
    for (part, &end) in (0..).zip(part_ends.iter()) {
        let rows = &rows[first..end];
        first = end;
        if rows.is_empty() {
            continue;
        }
        // An undivided class was judged before.
        let is_whole = rows.len() == class.rows.len();
        let is_judged = is_whole || judge.is_lost(class);
        let violates = if is_judged { class.violates } else { judge.violates(rows, scratch) };
        parts.push((part, Class { rows: rows.to_vec(), violates }));
    }
    parts
}
