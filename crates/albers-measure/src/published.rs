//! What a release loses as anybody who holds it can compute: from its cells, the job and the number
//! of rows left out.
//!
//! Source: as in [`crate::loss`], but normalised by what is published: the least and the greatest
//! published end of ordered values, the names that occur in the release, the leaves of a hierarchy
//! file, the height of a built-in hierarchy, the least and the greatest published place.
//! Guarantee: nothing but published cells enters, neither codes nor the domain of the table; equal
//! releases have equal figures, in whatever order and groups classes come.
//! Cost: one look at the cells of each class; memory for the names and labels that occur.
//!
//! - `column`: what the cells of one quasi-identifier add up to.

mod column;

use std::collections::BTreeMap;

use albers_classes::Attribute;
use albers_release::door::{Passed, PassedClasses};
use albers_release::{Describer, ShownCell};
use albers_table::hierarchy::HierarchySpec;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::loss::times;
use column::ColumnSums;

/// What a release loses by what it shows; rows left out lose everything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublishedLoss {
    /// The sum of the squared class sizes, and all rows for each row left out.
    pub discernibility: u64,
    /// The sum over rows and attributes of weight times loss, to four digits.
    pub certainty_penalty: f64,
    /// The certainty penalty as a share of the greatest possible, to four digits.
    pub ncp: f64,
    /// The mean loss of each attribute, before weights, to four digits.
    pub ncp_by_column: BTreeMap<String, f64>,
}

/// A quasi-identifier, as the job tells of it.
#[derive(Clone, Copy)]
pub struct PublishedAttribute<'a> {
    /// Its values, and how much they count.
    pub attribute: &'a Attribute,
    /// Its hierarchy.
    pub hierarchy: Option<&'a HierarchySpec>,
    /// Whether labels and sets are shown by their places.
    pub shows_places: bool,
}

/// The loss of a release, from what passes the door: all at once or part by part.
pub struct PublishedParts<'a> {
    attributes: Vec<PublishedAttribute<'a>>,
    sums: Sums,
    n_left_out: u64,
}

/// What some classes add up to.
struct Sums {
    n_rows: u64,
    squares: u128,
    columns: Vec<ColumnSums>,
}

impl Sums {
    fn zero(describers: &[Describer<'_>]) -> Sums {
        Sums {
            n_rows: 0,
            squares: 0,
            columns: describers
                .iter()
                .map(|own| ColumnSums::zero(own.attribute(), own.shows_places()))
                .collect(),
        }
    }

    fn add(&mut self, describers: &[Describer<'_>], cells: &[ShownCell], n_rows: u64) {
        self.n_rows += n_rows;
        self.squares += times(n_rows, n_rows);
        for ((column, describer), &cell) in self.columns.iter_mut().zip(describers).zip(cells) {
            column.add(describer, cell, n_rows);
        }
    }

    fn plus(mut self, other: Sums) -> Sums {
        self.n_rows += other.n_rows;
        self.squares += other.squares;
        for (column, more) in self.columns.iter_mut().zip(other.columns) {
            column.merge(more);
        }
        self
    }
}

impl<'a> PublishedParts<'a> {
    /// Of no part yet.
    pub fn new(attributes: Vec<PublishedAttribute<'a>>) -> PublishedParts<'a> {
        let zero = |own: &PublishedAttribute<'_>| ColumnSums::zero(own.attribute, own.shows_places);
        let columns = attributes.iter().map(zero).collect();
        PublishedParts { attributes, sums: Sums { n_rows: 0, squares: 0, columns }, n_left_out: 0 }
    }

    /// Adds some classes, or counts the rows that are left out.
    pub fn add(&mut self, part: &Passed<'_, '_>) {
        let more = match part {
            Passed::Classes(classes) => sums_of_classes(*classes),
            Passed::Giant(giant) => {
                let mut sums = Sums::zero(&giant.describers);
                sums.add(&giant.describers, &giant.cells, giant.n_rows);
                sums
            }
            Passed::GiantRows(_) => return,
            Passed::LeftOut(left_out) => {
                self.n_left_out += left_out.n_rows();
                return;
            }
        };
        let nothing = Sums { n_rows: 0, squares: 0, columns: Vec::new() };
        self.sums = std::mem::replace(&mut self.sums, nothing).plus(more);
    }

    /// Counts rows that are left out and never came to the door.
    pub fn leave_out(&mut self, n_rows: u64) {
        self.n_left_out += n_rows;
    }

    /// How many values the cells of each attribute list, where they are sets.
    pub fn n_listed(&self) -> Vec<Option<u64>> {
        self.sums.columns.iter().map(ColumnSums::n_listed).collect()
    }

    /// The loss of all parts.
    pub fn finish(self) -> PublishedLoss {
        let n_rows = self.sums.n_rows + self.n_left_out;
        let squares = self.sums.squares + times(self.n_left_out, n_rows);
        let columns = self.attributes.iter().zip(&self.sums.columns).map(|(own, sums)| {
            let lost = sums.lost(own.attribute, own.hierarchy) + self.n_left_out as f64;
            WeighedColumn {
                name: own.attribute.domain.name().to_owned(),
                weight: own.attribute.weight,
                lost,
            }
        });
        PublishedLoss::of(squares, n_rows, &columns.collect::<Vec<_>>())
    }
}

/// What all rows lose on one quasi-identifier, rows left out included.
pub struct WeighedColumn {
    /// Its name.
    pub name: String,
    /// How much a loss on it counts.
    pub weight: f64,
    /// The sum of what the rows lose, each from 0 to 1.
    pub lost: f64,
}

impl PublishedLoss {
    /// Of what so many rows lose, column by column, rows left out included.
    pub fn of(squares: u128, n_rows: u64, columns: &[WeighedColumn]) -> PublishedLoss {
        let n_rows = n_rows.max(1) as f64;
        let penalty: f64 = columns.iter().map(|column| column.weight * column.lost).sum();
        let weights: f64 = columns.iter().map(|column| column.weight).sum();
        let means =
            columns.iter().map(|column| (column.name.clone(), four_digits(column.lost / n_rows)));
        PublishedLoss {
            discernibility: u64::try_from(squares).unwrap_or(u64::MAX),
            certainty_penalty: four_digits(penalty),
            ncp: four_digits(penalty / (n_rows * weights.max(f64::MIN_POSITIVE))),
            ncp_by_column: means.collect(),
        }
    }
}

/// A figure rounded to four significant digits.
fn four_digits(figure: f64) -> f64 {
    format!("{figure:.3e}").parse().unwrap_or(figure)
}

/// The sums of all rows of some classes.
fn sums_of_classes(classes: PassedClasses<'_, '_>) -> Sums {
    const CLASSES_PER_TASK: usize = 4096;
    let describers = classes.describers();
    classes
        .classes_by_memory()
        .par_chunks(CLASSES_PER_TASK)
        .map(|classes_met| {
            let mut sums = Sums::zero(describers);
            for met in classes_met {
                let class = classes.class_of(met);
                sums.add(describers, class.cells, class.n_rows() as u64);
            }
            sums
        })
        .reduce(|| Sums::zero(describers), Sums::plus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_four_digits() {
        let cases = [(0.0, 0.0), (1.0, 1.0), (0.123_449, 0.1234), (98_765.4, 98_770.0)];
        for (figure, rounded) in cases {
            assert_eq!(four_digits(figure), rounded);
        }
    }

    #[test]
    fn weights_count_and_left_out_rows_are_among_the_lost() {
        let column = |name: &str, weight, lost| WeighedColumn { name: name.into(), weight, lost };
        let columns = [column("age", 3.0, 2.0), column("zip", 1.0, 4.0)];
        let loss = PublishedLoss::of(10, 4, &columns);
        assert_eq!((loss.discernibility, loss.certainty_penalty), (10, 10.0));
        assert_eq!((loss.ncp, loss.ncp_by_column["age"]), (0.625, 0.5));
    }
}
