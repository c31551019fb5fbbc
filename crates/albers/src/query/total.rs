//! Sums and means: of what leaves as it came, and of quasi-identifiers whose classes show means.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 3.3: a mean for each class serves SUM and
//! AVG.
//! Departures: bounds are told too, by the ends of cells. Where a class lies only in part in what is
//! asked of the column itself, its mean is that of all its rows, and the middle of the part is taken
//! instead.
//! Guarantee: the sum over the rows that satisfy a condition lies between its bounds, and so does
//! their mean. Missing values are not counted.

use albers_query::boxes::Contribution;
use albers_query::{Asked, Query};
use albers_storage::wording;
use albers_storage::wording::Field;

use super::Question;
use super::columns::{ColumnKind, ReleaseColumns};
use super::read::Runs;
use super::report::{Total, Totals};
use super::shape::{Edge, Values};
use super::table::{BoxQuery, QueriedColumn, QueriedTable};
use super::yardstick::Yardstick;
use crate::error::{Error, Result};

/// Refuses totals of columns that have no numbers to add up.
pub(super) fn check(columns: &ReleaseColumns, names: &[&str]) -> Result<()> {
    for name in names {
        let Some(own) = columns.named(name) else { continue };
        if own.kind == ColumnKind::Quasi && own.mean.is_none() {
            return Err(Error::usage(
                format!("the release carries no means of '{name}'"),
                wording![
                    "sums and means can be told of columns that left as they came, and of releases \
                     made with ",
                    Field::Values.of("mean")
                ],
            ));
        }
    }
    Ok(())
}

/// The numbers of a column of means, run by run.
pub(super) fn numbers(runs: &Runs, place: usize) -> Vec<Option<f64>> {
    let texts = super::cells::texts_of(&runs.columns[place]);
    texts.into_iter().map(|text| text.and_then(|own| own.parse().ok())).collect()
}

/// Values of rows that are alike, as far as they are known.
struct Spread {
    /// The least and the greatest that they can be.
    ends: (f64, f64),
    /// What they are on average.
    mean: f64,
}

/// Sums over classes.
#[derive(Default)]
struct Sums {
    n_rows: f64,
    sum: f64,
    lower: f64,
    upper: f64,
    /// The least and the greatest value of any row.
    ends: Option<(f64, f64)>,
}

impl Sums {
    fn add(&mut self, rows: (f64, u64, u64), spread: &Spread) {
        let (estimate, at_least, at_most) = rows;
        let (lo, hi) = spread.ends;
        self.n_rows += estimate;
        self.sum += estimate * spread.mean;
        let times = |n_rows: u64, value: f64| n_rows as f64 * value;
        self.lower += times(if lo < 0.0 { at_most } else { at_least }, lo);
        self.upper += times(if hi < 0.0 { at_least } else { at_most }, hi);
        let (least, greatest) = self.ends.unwrap_or((lo, hi));
        self.ends = Some((least.min(lo), greatest.max(hi)));
    }
}

impl QueriedTable {
    /// The sums and means that a question asks for, of the rows of a query.
    pub(super) fn totals(&self, query: &BoxQuery, question: &Question) -> Result<Totals> {
        let mut totals = Totals::default();
        for name in &question.sums {
            let Sums { sum, lower, upper, .. } = self.sums(query, name)?;
            let total = Total { estimate: Some(sum), lower: Some(lower), upper: Some(upper) };
            totals.sums.insert(name.clone(), total);
        }
        for name in &question.means {
            let sums = self.sums(query, name)?;
            let total = Total {
                estimate: (sums.n_rows > 0.0).then(|| sums.sum / sums.n_rows),
                lower: sums.ends.map(|(least, _)| least),
                upper: sums.ends.map(|(_, greatest)| greatest),
            };
            totals.means.insert(name.clone(), total);
        }
        Ok(totals)
    }

    fn sums(&self, query: &BoxQuery, name: &str) -> Result<Sums> {
        let own = self.column(name);
        let yardstick = own.ground.yardstick().filter(|own| own.is_number()).ok_or_else(|| {
            Error::usage(
                format!("column '{name}' holds no numbers, which could be added up"),
                "name a column of numbers",
            )
        })?;
        let with_value = Asked::range(0, own.ground.n_positions() - 1);
        let query = self.narrowed(query, own.axis, &with_value)?;
        let mut sums = Sums::default();
        if own.column.kind == ColumnKind::Carried {
            self.add_carried(&query, own, yardstick, &mut sums);
            return Ok(sums);
        }
        let asked = asked_on(&query.may, own.axis);
        let is_sure = query.must.is_none();
        for Contribution { class, answer } in self.boxes.contributions(&query.may) {
            let run = self.grouped.runs[class];
            let shape = &own.cells.shapes[own.cells.of_run[run] as usize];
            let Values::Range(Edge::At(lo), Edge::At(hi)) = shape.values else { continue };
            let whole = (yardstick.number(lo), yardstick.number(hi));
            let part = own.ground.hull(&own.ground.cover(shape), &asked).unwrap_or(whole);
            let mean = own.means.as_ref().and_then(|means| means[run]);
            let middle = f64::midpoint(part.0, part.1);
            let mean = mean.filter(|_| part == whole).unwrap_or(middle);
            let lower = if is_sure { answer.lower } else { 0 };
            let rows = (answer.estimate, lower, answer.upper);
            sums.add(rows, &Spread { ends: part, mean });
        }
        Ok(sums)
    }

    /// Adds up a column that left as it came: the value of each part is known.
    fn add_carried(
        &self,
        query: &BoxQuery,
        own: &QueriedColumn,
        yardstick: Yardstick,
        sums: &mut Sums,
    ) {
        let is_sure = query.must.is_none();
        for part in self.boxes.part_contributions(&query.may) {
            let run = self.grouped.part_runs[part.part];
            let shape = &own.cells.shapes[own.cells.of_run[run] as usize];
            let Values::Range(Edge::At(key), _) = shape.values else { continue };
            let value = yardstick.number(key);
            let rows = (part.estimate, if is_sure { part.lower } else { 0 }, part.upper);
            sums.add(rows, &Spread { ends: (value, value), mean: value });
        }
    }
}

/// All that a query asks for on an axis, in some of its boxes.
fn asked_on(query: &Query, axis: usize) -> Asked {
    let asked = query.terms().iter().filter_map(|term| term.iter().find(|(own, _)| *own == axis));
    asked.fold(Asked::nothing(), |all, (_, asked)| all.or(asked))
}
