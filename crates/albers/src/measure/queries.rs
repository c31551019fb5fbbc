//! How well a release answers random queries, beside what its original answers.
//!
//! ```text
//!   rows of the original ──► records by content ──► queries ──┬──► rows that satisfy: the truth
//!   classes of the release ──► boxes of codes ────────────────┴──► overlap, estimate
//!                                                                     errors, by selectivity
//! ```
//!
//! Source: Iwuchukwu & Naughton 2007, section 5.4 and figure 12; Anjum & Raschia 2017, section 5.4
//! and figures 12 and 13.
//! Departures: cells are read in the codes of the original: what lies beyond its values is cut off,
//! and `*` is the whole of its domain. An estimate spreads the rows of a class over the codes of
//! its cells: over all steps between two ends, whether or not they occur, as whoever has only the
//! release would. Where a key tells which rows were left out, the truth is that of the others.
//! Guarantee: for the owner alone. No query is told, only figures over many of them; they are the
//! same for any number of threads and any order of the rows of both files.
//! Cost: see `draw` and `truth`; the release is looked at class by class.

mod axes;
mod draw;
mod figures;
mod predicates;
mod truth;

use albers_measure::Classes;
use albers_measure::released::ReleasedColumn;
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::domain::Domain;
use albers_table::row::RowIdx;
use rayon::prelude::*;

use crate::error::{Error, Result};

pub use draw::QueryKind;
pub use figures::{EmptyQueries, MeasuredQueries, QueryErrors, QueryGroup, SelectivityBin, Spread};
pub use predicates::Predicates;

use axes::Answering;
use draw::{DrawnQuery, OnAttributes, Records};
use truth::Counted;

/// The most queries that are drawn.
const MOST_QUERIES: usize = 1_000_000;

/// Random queries that a release is to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryWorkload {
    /// How many.
    pub n_queries: usize,
    /// What they ask for.
    pub kind: QueryKind,
    /// Of which attributes.
    pub predicates: Predicates,
    /// What they are drawn with.
    pub seed: u64,
}

/// What a query comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueryAnswer {
    /// How many attributes it asks of.
    pub n_predicates: usize,
    /// Rows behind the release that satisfy it.
    pub truth: u64,
    /// Rows of the release that may.
    pub overlap: u64,
    /// Rows of the release that do if rows are spread evenly over what their cells show.
    pub estimate: f64,
}

impl QueryAnswer {
    /// How far the overlap is from the truth, by the truth.
    pub fn overlap_error(&self) -> f64 {
        (self.overlap as f64 - self.truth as f64) / self.truth as f64
    }

    /// How far the estimate is from the truth, by the truth.
    pub fn estimate_error(&self) -> f64 {
        (self.estimate - self.truth as f64) / self.truth as f64
    }
}

/// What all queries of a workload come to.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryAnswers {
    /// Each query, in the order in which they were drawn.
    pub each: Vec<QueryAnswer>,
    /// Errors over many of them.
    pub figures: MeasuredQueries,
    /// Whether the release has levels that tell nothing, since classes of one level overlap: then
    /// each class is all of its box.
    pub has_idle_levels: bool,
}

/// A release and its original, as queries see them.
pub(super) struct Asking<'a> {
    /// What the release shows.
    pub(super) columns: &'a [ReleasedColumn<'a>],
    /// Its rows by class.
    pub(super) classes: &'a Classes,
    /// The level of each run of its rows, where it has some.
    pub(super) levels: Option<&'a [i64]>,
    /// The codes of the original, attribute by attribute.
    pub(super) codes: &'a [Vec<u32>],
    /// The rows of the original that are behind the release, where it is known which.
    pub(super) published: Option<&'a [RowIdx]>,
}

impl QueryWorkload {
    /// Refuses a number of queries that nobody can ask.
    pub(super) fn check(&self) -> Result<()> {
        match (1..=MOST_QUERIES).contains(&self.n_queries) {
            true => Ok(()),
            false => Err(Error::usage(
                wording![Field::Queries.of(self.n_queries.to_string()), " is no number of queries"],
                format!("use a number from 1 to {MOST_QUERIES}"),
            )),
        }
    }

    /// Asks a release and its original.
    pub(super) fn ask(&self, asking: &Asking<'_>) -> Result<QueryAnswers> {
        let domains: Vec<&Domain> =
            asking.columns.iter().map(|column| &column.attribute.domain).collect();
        let attributes = self.predicates.on(&domains)?;
        let counted = Counted::of(asking.codes, asking.published);
        let records = Records::of(&domains, asking.codes);
        if records.is_empty() {
            return Err(Error::usage(
                "the original has no rows, so that there is nothing to draw queries from",
                wording!["drop ", Field::Queries],
            ));
        }
        let queries = records.draw(self.n_queries, self.kind, &attributes, self.seed);
        drop(records);
        let truths = counted.satisfying(&queries);
        let answering = Answering::of(asking.columns, asking.classes, asking.levels, &queries);
        let answer = |(query, truth): (&DrawnQuery, u64)| {
            let (overlap, estimate) = answering.answer(query);
            QueryAnswer { n_predicates: query.terms.len(), truth, overlap, estimate }
        };
        let each: Vec<QueryAnswer> = queries.par_iter().zip(truths).map(answer).collect();
        let named = match &attributes {
            OnAttributes::These(axes) if self.predicates != Predicates::All => {
                axes.iter().map(|&axis| domains[axis].name().to_owned()).collect()
            }
            _ => Vec::new(),
        };
        let n_rows = counted.n_rows() as u64;
        let figures = MeasuredQueries::of(self.kind, self.seed, named, n_rows, &each);
        Ok(QueryAnswers { each, figures, has_idle_levels: answering.has_idle_levels })
    }
}

#[cfg(test)]
mod tests;
