//! Rows of a source that a coding has places for: a source of its own.
//!
//! Guarantee: what becomes of a row follows from its own cells; whoever reads this source never sees
//! a row that is outside, and no message names a value. Where classes show their regions, a value that
//! the coding would have to grow for is outside too: regions end in the gaps between known values, and
//! a value in a gap would move an end that others show, also if its row is left out.
//! Cost: a look at the ends of each chunk; a look at every row of those with something outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use albers_release::ReleaseError;
use albers_storage::wording;
use albers_storage::wording::{Field, Wording};
use albers_table::TableError;
use albers_table::chunk::ColumnChunk;
use albers_table::coding::{Coding, ColumnCoding, Fit};
use albers_table::schema::{ColumnType, Role};
use albers_table::source::{
    ColumnRequest, RequestedTypes, Scan, Source, SourceChunk, SourceColumn, Stamp,
};
use arrow_array::{ArrayRef, UInt32Array};
use arrow_select::take::take;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::job::Job;
use crate::model::ModelFile;

/// The columns of a source that a model asks for, in the order of the model; refuses a source that
/// lacks one. Identifiers that are not there are no loss: they are only looked at.
pub(super) fn check_columns(
    model: &ModelFile,
    job: &mut Job,
    source: &dyn Source,
) -> Result<Vec<SourceColumn>> {
    let mut columns = Vec::new();
    for name in &model.head().columns {
        let own = source.columns().iter().find(|own| own.name == *name);
        let role = job.columns.get(name).and_then(|column| column.role);
        match (own, role) {
            (Some(own), _) => columns.push(own.clone()),
            (None, Some(Role::Identifier)) => {
                job.columns.remove(name);
            }
            (None, _) => {
                return Err(Error::usage(
                    format!("{}: there is no column '{name}', which the model has", source.name()),
                    "check that the first line holds the names of the columns, as that of the \
                     model's table did",
                ));
            }
        }
    }
    Ok(columns)
}

/// Refuses columns whose cells are of another type than those of a model.
pub(super) fn check_types(
    table: &str,
    coding: &Coding,
    kinds: &[ColumnType],
    (requests, types): (&[ColumnRequest], &RequestedTypes),
) -> albers_table::Result<()> {
    for (own, &kind) in coding.columns().iter().zip(kinds) {
        let name = own.domain().name();
        let Some(place) = requests.iter().position(|request| request.name == name) else {
            continue;
        };
        let found = types.column_types[place];
        if found != kind {
            return Err(other_type(table, name, &format!("{found}, and in the model {kind}")));
        }
    }
    Ok(())
}

/// An error of reading a table by the types of a model: other types cannot be asked for.
pub(super) fn by_types_of_model(error: TableError) -> TableError {
    let names_types = |hint: &Wording| hint.settings().any(|own| own.field == Field::Type);
    let mended: Wording =
        "the types are those of the model: mend the cell, or leave its row out".into();
    match error {
        TableError::Cell { table, place, column, problem, hint } if names_types(&hint) => {
            TableError::Cell { table, place, column, problem, hint: mended }
        }
        TableError::Column { column, problem, hint } if names_types(&hint) => {
            TableError::Column { column, problem, hint: mended }
        }
        TableError::File { table, problem, hint } if names_types(&hint) => {
            TableError::File { table, problem, hint: mended }
        }
        other => other,
    }
}

pub(super) fn other_type(table: &str, column: &str, what: &str) -> TableError {
    TableError::File {
        table: table.to_owned(),
        problem: format!("column '{column}' is of type {what}"),
        hint: "give rows of the types that the model's table had".into(),
    }
}

/// Those rows of a source that a coding has places for.
pub(super) struct LaterRows<'s> {
    source: &'s dyn Source,
    coding: Arc<Coding>,
    kinds: Vec<ColumnType>,
    /// The columns that the model asks for, in its order.
    columns: Vec<SourceColumn>,
    /// Whether a row without a place is an error.
    refuses: bool,
    /// Whether a row has no place where the coding would have to grow for it.
    is_fixed: bool,
    n_inside: AtomicU64,
    n_outside: AtomicU64,
}

impl<'s> LaterRows<'s> {
    pub(super) fn new(
        source: &'s dyn Source,
        model: &ModelFile,
        refuses: bool,
    ) -> Result<LaterRows<'s>> {
        let mut job = model.job.clone();
        Ok(LaterRows {
            source,
            coding: Arc::new(model.coding.clone()),
            kinds: model.head().types.clone(),
            columns: check_columns(model, &mut job, source)?,
            refuses,
            is_fixed: model.head().has_regions,
            n_inside: AtomicU64::new(0),
            n_outside: AtomicU64::new(0),
        })
    }

    /// Rows without a place, of the last scan.
    pub(super) fn n_outside(&self) -> u64 {
        self.n_outside.load(Ordering::Relaxed)
    }

    /// An error of reading these rows: where none of them has a place, there is nothing to publish.
    pub(super) fn explained(&self, error: Error) -> Error {
        let n_inside = self.n_inside.load(Ordering::Relaxed);
        match (n_inside, self.n_outside()) {
            (0, n_rows) if n_rows > 0 && matches!(error, Error::Usage { .. }) => {
                Error::Release(ReleaseError::NothingLeft { n_rows })
            }
            _ => error,
        }
    }
}

impl Source for LaterRows<'_> {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn delimiter(&self) -> Option<u8> {
        self.source.delimiter()
    }

    fn n_rows(&self) -> Option<u64> {
        self.source.n_rows()
    }

    fn stamp(&self) -> Option<Stamp> {
        self.source.stamp()
    }

    fn types(&self, requests: &[ColumnRequest]) -> albers_table::Result<RequestedTypes> {
        let types = self.source.types(requests).map_err(by_types_of_model)?;
        check_types(self.name(), &self.coding, &self.kinds, (requests, &types))?;
        Ok(types)
    }

    fn scan<'a>(
        &'a self,
        requests: &'a [ColumnRequest],
        types: &'a RequestedTypes,
    ) -> albers_table::Result<Box<dyn Scan + 'a>> {
        self.n_inside.store(0, Ordering::Relaxed);
        self.n_outside.store(0, Ordering::Relaxed);
        let coded = requests.iter().filter(|request| request.coded);
        let coding_of = |request: &ColumnRequest| {
            self.coding.columns().iter().find(|own| own.domain().name() == request.name)
        };
        let codings = coded.map(coding_of).collect();
        let scan = self.source.scan(requests, types)?;
        Ok(Box::new(InsideScan { rows: self, scan, codings }))
    }

    fn read_bytes(&self) -> u64 {
        self.source.read_bytes()
    }
}

struct InsideScan<'a> {
    rows: &'a LaterRows<'a>,
    scan: Box<dyn Scan + 'a>,
    /// The coding of each column that comes coded, if it is one of the model's.
    codings: Vec<Option<&'a ColumnCoding>>,
}

impl Scan for InsideScan<'_> {
    fn next_round(&mut self) -> albers_table::Result<Vec<SourceChunk>> {
        let round = self.scan.next_round().map_err(by_types_of_model)?;
        let (rows, codings) = (self.rows, &self.codings[..]);
        round.into_par_iter().map(|chunk| inside(rows, codings, chunk)).collect()
    }
}

/// The rows of a chunk that have places.
fn inside(
    rows: &LaterRows<'_>,
    codings: &[Option<&ColumnCoding>],
    chunk: SourceChunk,
) -> albers_table::Result<SourceChunk> {
    let mut is_inside: Option<Vec<bool>> = None;
    for (coding, cells) in codings.iter().zip(&chunk.coded) {
        let Some(coding) = coding else { continue };
        let name = coding.domain().name();
        if !coding.reads(cells) {
            return Err(other_type(rows.name(), name, "another than in the model"));
        }
        let grows = if rows.is_fixed { coding.grows_by(cells) } else { None };
        if grows.is_none() && coding.covers(cells) {
            continue;
        }
        let mut fits = coding.placed(cells).fits;
        let new = grows.iter().flatten().zip(&mut fits).filter(|(grows, _)| **grows);
        new.for_each(|(_, fit)| *fit = Fit::Unknown);
        if rows.refuses
            && let Some(row) = fits.iter().position(|&fit| fit != Fit::Inside)
        {
            return Err(unknown_value(chunk.first_row + row as u64, name));
        }
        let kept = is_inside.get_or_insert_with(|| vec![true; chunk.n_rows]);
        kept.iter_mut().zip(fits).for_each(|(kept, fit)| *kept &= fit == Fit::Inside);
    }
    let fitted = |(place, cells): (usize, ColumnChunk)| match codings.get(place).copied().flatten()
    {
        Some(coding) => coding.fitted(cells),
        None => cells,
    };
    let Some(is_inside) = is_inside else {
        rows.n_inside.fetch_add(chunk.n_rows as u64, Ordering::Relaxed);
        let coded = chunk.coded.into_iter().enumerate().map(fitted).collect();
        return Ok(SourceChunk { coded, ..chunk });
    };
    let places: Vec<u32> =
        (0u32..).zip(&is_inside).filter(|(_, inside)| **inside).map(|(row, _)| row).collect();
    rows.n_inside.fetch_add(places.len() as u64, Ordering::Relaxed);
    rows.n_outside.fetch_add((chunk.n_rows - places.len()) as u64, Ordering::Relaxed);
    let selected = chunk.coded.iter().map(|cells| cells.select(&places));
    let coded = selected.enumerate().map(fitted).collect();
    let taken = UInt32Array::from(places);
    let pick = |array: &ArrayRef| take(array.as_ref(), &taken, None);
    let carried = chunk.carried.iter().map(pick).collect::<std::result::Result<_, _>>();
    let carried = carried.map_err(|_| TableError::Column {
        column: "(kept and sensitive columns)".to_owned(),
        problem: "their cells cannot be divided".to_owned(),
        hint: "convert them to text, or leave them out".into(),
    })?;
    let n_rows = taken.values().len();
    Ok(SourceChunk { first_row: chunk.first_row, n_rows, coded, carried })
}

/// A row with a value that a model has no place for, which is not told.
pub(super) fn unknown_value(row: albers_table::row::RowId, column: &str) -> TableError {
    TableError::Column {
        column: column.to_owned(),
        problem: format!("the model does not know its value in row {row}"),
        hint: wording!["leave the row out, or drop ", Field::Outside.of("refuse")],
    }
}
