//! How many rows selections return from a release that do not satisfy them.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 3.2: a selection returns every row whose
//! published values overlap it; its imprecision is what it returns less what satisfies it.
//! Departures: both readings of the paper are told: rows that any box of a selection returns, each
//! once, and the weighted sum over all boxes.
//! Guarantee: of selections that fewer than k rows satisfy, only the whole of them is told, and
//! nothing if that has fewer than k rows too; sums leave out what is not told.

use albers_measure::Classes;
use albers_measure::released::ReleasedColumn;
use albers_partition::split::workload::Predicate;
use albers_table::domain::Domain;
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
    /// The same over all of these: what a row counts for in vain, box by box.
    pub weighted_imprecision: f64,
}

/// How many rows a selection returns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredSelection {
    /// What it asks for; several are measured as one where fewer than k rows satisfy each.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Rows of the release that it returns.
    pub returned: u64,
    /// Rows of the original that satisfy it.
    pub satisfying: u64,
    /// Rows too many.
    pub imprecision: i64,
}

/// Measures the selections of a job; nothing if it has none. `codes` are those of the original,
/// attribute by attribute.
pub(super) fn measured(
    job: &Job,
    columns: &[ReleasedColumn<'_>],
    classes: &Classes,
    codes: &[Vec<u32>],
    notes: &mut Vec<Note>,
) -> Result<Option<MeasuredSelections>> {
    let planned = planned_selects(job)?;
    if planned.is_empty() {
        return Ok(None);
    }
    let domains: Vec<&Domain> = columns.iter().map(|column| &column.attribute.domain).collect();
    let selects = TableSelects::of(&planned, &domains)?;
    let table = Rows { columns, classes, codes };
    let k =
        job.k.unwrap_or_else(|| classes.iter().map(|rows| rows.len() as u64).min().unwrap_or(1));
    let mut each = Vec::new();
    let mut told: Vec<&Predicate> = Vec::new();
    let mut few: Vec<(usize, &[Predicate])> = Vec::new();
    for (place, (select, predicates)) in planned.iter().zip(selects.each()).enumerate() {
        let predicates_of: Vec<&Predicate> = predicates.iter().collect();
        let selection = table.selection(&predicates_of, Some(select.condition.to_string()));
        match selection.satisfying < k {
            true => few.push((place, predicates)),
            false => {
                told.extend(predicates_of);
                each.push(selection);
            }
        }
    }
    if !few.is_empty() {
        let pooled: Vec<&Predicate> = few.iter().flat_map(|(_, predicates)| *predicates).collect();
        let selection = table.selection(&pooled, None);
        match selection.satisfying < k {
            true => {
                notes.extend(few.iter().map(|(place, _)| Note::SelectsFew { place: place + 1 }));
            }
            false => {
                told.extend(pooled);
                each.push(selection);
            }
        }
    }
    let in_vain = |own: &&Predicate| own.weight * table.selection(&[*own], None).imprecision as f64;
    let weighted_imprecision = told.iter().map(in_vain).sum();
    Ok(Some(MeasuredSelections { each, weighted_imprecision }))
}

/// The rows of a release and of its original.
struct Rows<'a> {
    columns: &'a [ReleasedColumn<'a>],
    classes: &'a Classes,
    codes: &'a [Vec<u32>],
}

impl Rows<'_> {
    /// What some predicates return together.
    fn selection(&self, any: &[&Predicate], condition: Option<String>) -> MeasuredSelection {
        let returned: u64 = self
            .classes
            .iter()
            .filter(|rows| any.iter().any(|own| self.overlaps(own, rows[0])))
            .map(|rows| rows.len() as u64)
            .sum();
        let n_rows = self.codes.first().map_or(0, Vec::len);
        let mut codes = vec![0; self.codes.len()];
        let mut satisfying = 0;
        for row in 0..n_rows {
            codes.iter_mut().zip(self.codes).for_each(|(code, own)| *code = own[row]);
            satisfying += u64::from(any.iter().any(|own| own.selects(&codes)));
        }
        let imprecision = returned as i64 - satisfying as i64;
        MeasuredSelection { condition, returned, satisfying, imprecision }
    }

    /// Whether what a row of the release shows overlaps a predicate.
    fn overlaps(&self, predicate: &Predicate, row: u32) -> bool {
        predicate.terms.iter().all(|term| {
            let column = &self.columns[term.axis];
            let cell = &column.cells[column.places[row as usize] as usize];
            cell.content.overlaps(&column.attribute.domain, &term.codes)
        })
    }
}
