//! The second pass: rows are coded, packed and taken into the buffer tree.

use std::path::Path;

use albers_classes::Attribute;
use albers_classes::packed::RowBlock;
use albers_classes::points::{Points, row_fingerprint};
use albers_index::buffer_tree::{BufferTree, BulkPlan, RoutedRows};
use albers_release::publish::{OutputColumn, Payload, PayloadRows};
use albers_storage::memory_budget::{MemoryBudget, Reservation};
use albers_table::TableError;
use albers_table::chunk::ColumnChunk;
use albers_table::progress::Progress;
use albers_table::read::{self, SourceChunk};
use albers_table::schema::Role;
use arrow_array::ArrayRef;

use super::subjects;
use super::survey::Surveyed;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::table::Table;

/// A table whose rows are in the buffers of a tree.
pub struct LoadedTable<'a> {
    /// All of the table but its rows.
    pub table: Table,
    /// Its rows.
    pub tree: BufferTree<'a>,
    /// The columns that leave as they came.
    pub payload: Payload,
    /// Tells whether every row is there with its codes.
    pub fingerprint: u64,
    /// Things the user should know.
    pub notes: Vec<String>,
    /// What the domains take.
    pub memory: [Reservation; 2],
}

/// Reads a table for the second time.
pub struct Loader<'a> {
    /// The job.
    pub job: &'a Job,
    /// The table.
    pub path: &'a Path,
    /// The memory of all.
    pub budget: &'a MemoryBudget,
}

/// A chunk, coded.
pub struct CodedChunk {
    /// The codes of the attributes, row by row.
    pub codes: Vec<u32>,
    /// The facts, column by column: the subject, then all sensitive columns.
    pub facts: Vec<Vec<u32>>,
}

impl Surveyed {
    /// Codes a chunk.
    pub fn code(&self, coded: Vec<ColumnChunk>, n_rows: usize) -> albers_table::Result<CodedChunk> {
        let n_attributes = self.planned.iter().filter(|column| column.role == Role::Quasi).count();
        let mut codes = vec![0; n_rows * n_attributes];
        let mut subjects = None;
        let mut sensitive = Vec::new();
        let mut attribute = 0;
        let columns = self.planned.iter().zip(&self.coders).zip(&self.requests);
        let columns = columns.filter(|(_, request)| request.coded);
        for (((column, coder), _), chunk) in columns.zip(coded) {
            match (column.role, coder) {
                (Role::Subject, _) => subjects = Some(subjects::codes_of(&chunk)),
                (Role::Quasi, Some(coder)) => {
                    let slots = codes[attribute..].iter_mut().step_by(n_attributes);
                    slots.zip(coder.encode(chunk)?).for_each(|(slot, code)| *slot = code);
                    attribute += 1;
                }
                (_, Some(coder)) => sensitive.push(coder.encode(chunk)?),
                (_, None) => {}
            }
        }
        let facts = subjects.into_iter().chain(sensitive).collect();
        Ok(CodedChunk { codes, facts })
    }

    /// The columns that leave as they came, as bytes; nothing if there are none.
    pub fn encode_payload(
        &self,
        carried: &[ArrayRef],
    ) -> albers_table::Result<Option<PayloadRows>> {
        if self.payload.is_empty() {
            return Ok(None);
        }
        self.payload.encode(carried).map(Some).map_err(as_table_error)
    }
}

/// The rows of the sample, packed without their payload.
pub fn sample_rows(plan: &BulkPlan<'_>, surveyed: &mut Surveyed) -> Result<RowBlock> {
    let mut rows = RowBlock::default();
    let n_attributes = plan.layout.n_attributes();
    for chunk in std::mem::take(&mut surveyed.sample.chunks) {
        let n_rows = chunk.row_ids.len();
        let CodedChunk { codes, facts } = surveyed.code(chunk.coded, n_rows)?;
        for (row, &row_id) in chunk.row_ids.iter().enumerate() {
            let own = codes[row * n_attributes..(row + 1) * n_attributes].iter().copied();
            let values = own.chain(facts.iter().map(|column| column[row]));
            rows.push(plan.layout, row_id, values, &[]);
        }
    }
    Ok(rows)
}

impl Loader<'_> {
    /// Takes all rows of the table into the tree.
    pub fn load<'t>(
        &self,
        mut surveyed: Surveyed,
        mut tree: BufferTree<'t>,
        progress: &dyn Progress,
    ) -> Result<LoadedTable<'t>> {
        let options = self.job.read_options()?;
        let (memory, notes) = self.count_values(&mut surveyed);
        let router = tree.router();
        let mut fingerprint = 0u64;
        let n_attributes = surveyed.coders_of(Role::Quasi).count();
        let map = |chunk: SourceChunk| -> albers_table::Result<(RoutedRows, u64)> {
            let SourceChunk { first_row, n_rows, coded, carried } = chunk;
            let CodedChunk { codes, facts } = surveyed.code(coded, n_rows)?;
            let first_row = first_row as u32;
            let rows = (first_row..).zip(codes.chunks_exact(n_attributes));
            let fingerprint = rows.fold(0u64, |sum, (row_id, codes)| {
                sum.wrapping_add(row_fingerprint(row_id, codes))
            });
            let routed = match surveyed.encode_payload(&carried)? {
                None => router.route(first_row, &codes, &facts, |_| &[]),
                Some(payload) => {
                    let rows: Vec<_> = payload.iter().collect();
                    router.route(first_row, &codes, &facts, |row| rows[row].data())
                }
            };
            Ok((routed, fingerprint))
        };
        read::read_mapped(
            self.path,
            &options,
            &surveyed.requests,
            progress,
            &map,
            &mut |(routed, of_chunk)| {
                fingerprint = fingerprint.wrapping_add(of_chunk);
                Ok(tree.append(&routed)?)
            },
        )?;
        if tree.n_rows() != surveyed.n_rows {
            return Err(changed(self.path));
        }
        let payload = std::mem::replace(&mut surveyed.payload, Payload::new(Vec::new())?);
        let (table, values) = table_of(surveyed);
        let memory = [memory, values];
        Ok(LoadedTable { table, tree, payload, fingerprint, notes, memory })
    }

    /// Remembers which values occur where there is room for it.
    fn count_values(&self, surveyed: &mut Surveyed) -> (Reservation, Vec<String>) {
        let mut memory = self.budget.reserve_nothing("the values that occur");
        let mut notes = Vec::new();
        for coder in surveyed.coders.iter_mut().flatten() {
            let most_bytes = self.budget.limit_bytes() / 32;
            if let Some(n_bytes) = coder.memory_to_count_values()
                && n_bytes <= most_bytes
                && memory.try_grow(n_bytes).is_ok()
            {
                coder.count_values();
            }
            if !coder.knows_values() {
                notes.push(format!(
                    "the divergence counts all values between the least and the greatest of '{}', \
                     whether they occur or not",
                    coder.domain().name()
                ));
            }
        }
        (memory, notes)
    }
}

/// The table is not the one that was read before.
pub fn changed(path: &Path) -> Error {
    Error::usage(
        format!("{} changed while it was read", path.display()),
        "let nobody write to it, and run again",
    )
}

fn as_table_error(error: albers_release::ReleaseError) -> TableError {
    match error {
        albers_release::ReleaseError::Table(error) => error,
        other => TableError::Column {
            column: "(kept columns)".to_owned(),
            problem: other.to_string(),
            hint: "leave some of them out".to_owned(),
        },
    }
}

/// The table without its rows, and what its domains take.
pub fn table_of(surveyed: Surveyed) -> (Table, Reservation) {
    let mut attributes = Vec::new();
    let mut output_columns = Vec::new();
    let mut column_types = Vec::new();
    let mut n_carried = 0;
    let kinds = surveyed.columns.column_types.iter();
    let columns = surveyed.planned.into_iter().zip(surveyed.coders).zip(&surveyed.shown).zip(kinds);
    for (((column, coder), &shown), &kind) in columns {
        column_types.push((column.name, kind));
        match (column.role, coder) {
            (Role::Quasi, Some(coder)) => {
                output_columns.push(OutputColumn::Attribute(attributes.len()));
                attributes.push(Attribute {
                    domain: coder.into_domain(),
                    shown,
                    level: None,
                    weight: column.weight,
                    preferred: column.preferred,
                });
            }
            (Role::Sensitive | Role::Keep, _) => {
                output_columns.push(OutputColumn::Carried(n_carried));
                n_carried += 1;
            }
            _ => {}
        }
    }
    // The way from values to codes is gone.
    let mut values = surveyed.values;
    values.shrink(values.n_bytes() / 3 * 2);
    let table = Table {
        n_rows: surveyed.n_rows as usize,
        attributes,
        points: Points::new(Vec::new()),
        sensitive: Vec::new(),
        subjects: None,
        n_subjects: 0,
        carried: Vec::new(),
        output_columns,
        delimiter: surveyed.columns.delimiter,
        header: surveyed.header,
        column_types,
        n_bytes: 0,
    };
    (table, values)
}
