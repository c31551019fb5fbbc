//! How many rows selections return from a release that do not satisfy them.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 3.2: a selection returns every row whose
//! published values overlap it; its imprecision is what it returns less what satisfies it.
//! Departures: both readings of the paper are told: rows that any box of a selection returns, each
//! once, and the weighted sum over boxes. What a row shows overlaps a box where it covers a value of
//! the original that lies in it: between two values that occur nothing can be told apart.
//! Guarantee: of selections that fewer than k rows satisfy, only the whole of them is told, and
//! nothing if that has fewer than k rows too; the sum is over the other selections, and over their
//! boxes that k rows or more satisfy. Where rows were left out and it is not known which, no number
//! of satisfying rows is told, which would tell of those.

use albers_measure::Classes;
use albers_measure::released::ReleasedColumn;
use albers_partition::split::workload::Predicate;
use albers_table::domain::Domain;
use albers_table::row::RowIdx;
use serde::Serialize;

use crate::error::Result;
use crate::job::Job;
use crate::method::selects::TableSelects;
use crate::plan::planned_selects;
use crate::report::Note;

/// How many rows selections return that do not satisfy them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredSelections {
    /// Each selection that enough rows satisfy; those that fewer satisfy as one, without a
    /// condition.
    pub each: Vec<MeasuredSelection>,
    /// The sum over the boxes of those with a condition that enough rows satisfy, each by how much a
    /// row in vain counts; nothing where it is not known which rows were left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weighted_imprecision: Option<f64>,
}

/// How many rows a selection returns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredSelection {
    /// What it asks for; several are measured as one where fewer than k rows satisfy each.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Rows of the release that it returns.
    pub returned: u64,
    /// Rows behind the release that satisfy it; nothing where it is not known which were left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub satisfying: Option<u64>,
    /// Rows too many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imprecision: Option<u64>,
}

/// The rows of a release and of its original.
#[derive(Clone, Copy)]
pub(super) struct BothRows<'a> {
    /// What the release shows.
    pub(super) columns: &'a [ReleasedColumn<'a>],
    /// Its rows by class.
    pub(super) classes: &'a Classes,
    /// The codes of the original, attribute by attribute.
    pub(super) codes: &'a [Vec<u32>],
    /// The rows of the original that are behind the release, where it is known which.
    pub(super) published: Option<&'a [RowIdx]>,
}

/// Measures the selections of a job; nothing if it has none.
pub(super) fn measured(
    job: &Job,
    rows: BothRows<'_>,
    notes: &mut Vec<Note>,
) -> Result<Option<MeasuredSelections>> {
    let planned = planned_selects(job)?;
    if planned.is_empty() {
        return Ok(None);
    }
    let domains: Vec<&Domain> =
        rows.columns.iter().map(|column| &column.attribute.domain).collect();
    let selects = TableSelects::of(&planned, &domains)?;
    let smallest = || rows.classes.iter().map(|own| own.n_rows() as u64).min().unwrap_or(1);
    let k = job.k.unwrap_or_else(smallest);
    let is_known = rows.published.is_some() || rows.has_all_rows();
    notes.extend((!is_known).then_some(Note::LeftOutUnknown));
    let mut each = Vec::new();
    let mut told: Vec<&Predicate> = Vec::new();
    let mut few: Vec<(usize, Vec<&Predicate>)> = Vec::new();
    for (place, (select, predicates)) in planned.iter().zip(selects.each()).enumerate() {
        let predicates: Vec<&Predicate> = predicates.iter().collect();
        match rows.n_satisfying(&predicates) < k {
            true => few.push((place, predicates)),
            false => {
                let condition = Some(select.condition.to_string());
                each.push(rows.selection(&predicates, condition, is_known));
                told.extend(predicates);
            }
        }
    }
    let pooled: Vec<&Predicate> = few.iter().flat_map(|(_, own)| own.iter().copied()).collect();
    match rows.n_satisfying(&pooled) < k {
        true => notes.extend(few.iter().map(|(place, _)| Note::SelectsFew { place: place + 1 })),
        false => each.push(rows.selection(&pooled, None, is_known)),
    }
    told.retain(|own| rows.n_satisfying(&[own]) >= k);
    let in_vain = |own: &&Predicate| own.weight * rows.n_in_vain(&[own]) as f64;
    let weighted_imprecision = is_known.then(|| told.iter().map(in_vain).sum());
    Ok(Some(MeasuredSelections { each, weighted_imprecision }))
}

impl BothRows<'_> {
    fn has_all_rows(&self) -> bool {
        self.codes.first().is_none_or(|codes| codes.len() == self.classes.n_rows())
    }

    /// What some predicates return together.
    fn selection(
        &self,
        any: &[&Predicate],
        condition: Option<String>,
        is_known: bool,
    ) -> MeasuredSelection {
        MeasuredSelection {
            condition,
            returned: self.n_returned(any),
            satisfying: is_known.then(|| self.n_satisfying(any)),
            imprecision: is_known.then(|| self.n_in_vain(any)),
        }
    }

    /// Rows that some predicates return and that satisfy none of them.
    fn n_in_vain(&self, any: &[&Predicate]) -> u64 {
        self.n_returned(any).saturating_sub(self.n_satisfying(any))
    }

    /// Rows of the release whose cells overlap some of the predicates.
    fn n_returned(&self, any: &[&Predicate]) -> u64 {
        let is_returned = |run: usize| any.iter().any(|own| self.overlaps(own, run));
        let returned = self.classes.iter().filter(|class| is_returned(class.first_run()));
        returned.map(|class| class.n_rows() as u64).sum()
    }

    /// Rows of the original that satisfy some of the predicates, without those known to be left out.
    fn n_satisfying(&self, any: &[&Predicate]) -> u64 {
        let mut codes = vec![0; self.codes.len()];
        let mut satisfies = |row: usize| {
            codes.iter_mut().zip(self.codes).for_each(|(code, own)| *code = own[row]);
            any.iter().any(|own| own.selects(&codes))
        };
        let n_rows = self.codes.first().map_or(0, Vec::len);
        let found = match self.published {
            Some(rows) => rows.iter().filter(|row| satisfies(row.index())).count(),
            None => (0..n_rows).filter(|&row| satisfies(row)).count(),
        };
        found as u64
    }

    /// Whether what a run of rows of the release shows overlaps a predicate.
    fn overlaps(&self, predicate: &Predicate, run: usize) -> bool {
        predicate.terms.iter().all(|term| {
            let column = &self.columns[term.axis];
            column.cell(run).content.overlaps(&column.attribute.domain, &term.codes)
        })
    }
}
