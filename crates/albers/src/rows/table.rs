//! A table in memory: read, and coded.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use albers_classes::Attribute;
use albers_classes::points::Points;
use albers_classes::space::Shown;
use albers_index::grid::fixed::FixedScale;
use albers_partition::grain::Grain;
use albers_partition::sample::Tuples;
use albers_release::publish::{CarriedColumn, OutputColumn};
use albers_storage::memory_budget::Reservation;
use albers_table::chunk::{Cells, ColumnChunk};
use albers_table::coding::{CodedColumn, CodingPlan, RawColumn, encode};
use albers_table::row::RowIdx;
use albers_table::schema::{ColumnType, Role};
use albers_table::source::SourceChunk;
use albers_table::value_hash::value_hashes;
use arrow_array::ArrayRef;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::tuples::{LeastTuples, tuple_hashes, tuples_of};
use super::{KnownColumns, Reading, set_aside};
use crate::error::Result;
use crate::plan::PlannedColumn;
use crate::report::Note;

/// What stands for the person of a row that names none, where persons are drawn.
pub(crate) const NO_PERSON: u64 = u64::MAX;

/// A table, read and coded.
pub(crate) struct Table {
    /// Number of rows.
    pub(crate) n_rows: usize,
    /// The quasi-identifiers, in the order of the source.
    pub(crate) attributes: Vec<Attribute>,
    /// Their codes.
    pub(crate) points: Points,
    /// Some tuples of them, by hash, number of rows and a row that has it, if a sample was wanted.
    sample: Vec<(u64, u64, RowIdx)>,
    /// The kept columns that are targets of a workload, coded.
    pub(crate) targets: Vec<CodedColumn>,
    /// Those that are features of it.
    pub(crate) features: Vec<CodedColumn>,
    /// The sensitive columns, coded as categories.
    pub(crate) sensitive: Vec<SensitiveData>,
    /// The subject of each row, if a column tells it.
    pub(crate) subjects: Option<Vec<u64>>,
    /// Number of distinct subjects.
    pub(crate) n_subjects: u64,
    /// The columns that leave as they came: sensitive and kept ones, in the order of the source.
    pub(crate) carried: Vec<CarriedColumn>,
    /// All published columns, in the order of the source.
    pub(crate) output_columns: Vec<OutputColumn>,
    /// The types of the columns that were read.
    pub(crate) column_types: Vec<(String, ColumnType)>,
    /// Columns of a fixed grid with cells that are in none of its ranges, and how many.
    unfit: Vec<(String, u64)>,
    /// The texts of the key, if one was asked for.
    pub(crate) key: Option<CodedColumn>,
    /// What it takes.
    _memory: [Reservation; 2],
}

/// A sensitive column.
pub(crate) struct SensitiveData {
    /// Its codes, and what they mean.
    pub(crate) column: CodedColumn,
}

impl SensitiveData {
    /// The codes of all rows.
    pub(crate) fn codes(&self) -> Vec<u32> {
        self.column.codes.concat()
    }
}

/// The cells of a table, column by column.
struct CellsByColumn {
    coded: Vec<Vec<ColumnChunk>>,
    carried: Vec<Vec<ArrayRef>>,
}

impl CellsByColumn {
    fn of(known: &KnownColumns, mut chunks: Vec<SourceChunk>) -> CellsByColumn {
        let n_columns = known.requests.len();
        let mut cells = CellsByColumn {
            coded: vec![Vec::new(); n_columns],
            carried: vec![Vec::new(); n_columns],
        };
        chunks.sort_by_key(|chunk| chunk.first_row);
        for chunk in chunks {
            let mut coded = chunk.coded.into_iter();
            let mut carried = chunk.carried.into_iter();
            for (column_idx, request) in known.requests.iter().enumerate() {
                if request.coded {
                    cells.coded[column_idx].extend(coded.next());
                }
                if request.carried {
                    cells.carried[column_idx].extend(carried.next());
                }
            }
        }
        cells
    }
}

impl Table {
    /// Codes all rows of a source.
    pub(super) fn of(
        reading: &Reading<'_>,
        known: &KnownColumns,
        chunks: Vec<SourceChunk>,
        n_rows: usize,
        memory: Reservation,
    ) -> Result<Table> {
        let sample = sample_of(reading, known, &chunks, n_rows);
        let CellsByColumn { coded, carried } = CellsByColumn::of(known, chunks);
        let hierarchies = reserve_hierarchies(reading, known, &coded)?;
        let mut encoded: Vec<CodedCells> = coded
            .into_par_iter()
            .enumerate()
            .map(|(column_idx, chunks)| encoded(known, column_idx, chunks))
            .collect::<Result<_>>()?;
        let key = encoded.split_off(known.planned.len()).pop().and_then(CodedCells::into_column);
        let mut table = Table {
            n_rows,
            attributes: Vec::new(),
            points: Points::new(Vec::new()),
            sample,
            sensitive: Vec::new(),
            targets: Vec::new(),
            features: Vec::new(),
            subjects: None,
            n_subjects: 0,
            carried: Vec::new(),
            output_columns: Vec::new(),
            column_types: Vec::new(),
            unfit: Vec::new(),
            key,
            _memory: [memory, hierarchies],
        };
        let mut points = Vec::new();
        let columns = known.planned.iter().zip(encoded).zip(carried).enumerate();
        for (column_idx, ((column, encoded), carried)) in columns {
            let kind = known.types.column_types[column_idx];
            let kind = column.fixed.as_ref().map_or(kind, |fixed| fixed.column_type());
            table.column_types.push((column.name.clone(), kind));
            match (column.role, encoded) {
                (Role::Quasi, CodedCells::Fixed(encoded, n_unfit)) => {
                    table.unfit.extend((n_unfit > 0).then(|| (column.name.clone(), n_unfit)));
                    points.push(table.add_attribute(column, encoded, known.shown[column_idx]));
                }
                (Role::Quasi, CodedCells::Column(encoded)) => {
                    points.push(table.add_attribute(column, encoded, known.shown[column_idx]));
                }
                (Role::Subject, CodedCells::Subjects(subjects, n_subjects)) => {
                    table.n_subjects = n_subjects;
                    table.subjects = Some(subjects);
                }
                (_, encoded) => {
                    let name = column.name.clone();
                    let typing = known.typing(column_idx, reading.typed_output);
                    let carried = CarriedColumn::new(name, typing, carried);
                    table.add_carried(carried, encoded.into_column(), column);
                }
            }
        }
        table.points = Points::new(points);
        Ok(table)
    }

    /// Adds a quasi-identifier; its codes are given back, since points need those of all.
    fn add_attribute(
        &mut self,
        column: &PlannedColumn,
        encoded: CodedColumn,
        shown: Shown,
    ) -> Vec<Vec<u32>> {
        self.output_columns.push(OutputColumn::Attribute(self.attributes.len()));
        self.attributes.push(attribute_of(column, encoded.domain, shown));
        encoded.codes
    }

    /// Adds a column that leaves as it came; a sensitive one is also coded, and so are targets and
    /// features.
    fn add_carried(
        &mut self,
        carried: CarriedColumn,
        encoded: Option<CodedColumn>,
        column: &PlannedColumn,
    ) {
        self.output_columns.push(OutputColumn::Carried(self.carried.len()));
        self.carried.push(carried);
        match column.role {
            Role::Keep if column.is_feature => self.features.extend(encoded),
            Role::Keep => self.targets.extend(encoded),
            _ => self.sensitive.extend(encoded.map(|column| SensitiveData { column })),
        }
    }

    /// The sample, coded; nothing if none was wanted.
    pub(crate) fn tuples(&self) -> Option<Tuples> {
        if self.sample.is_empty() {
            return None;
        }
        let n_attributes = self.attributes.len();
        let chunks = self.points.chunks();
        let mut codes = Vec::with_capacity(self.sample.len() * n_attributes);
        for &(_, _, row_idx) in &self.sample {
            let chunk = &chunks[chunks.partition_point(|own| own.first_row <= row_idx) - 1];
            let row = row_idx.index() - chunk.first_row.index();
            codes.extend(chunk.columns.iter().map(|column| column[row]));
        }
        let tuples = self.sample.iter().zip(codes.chunks_exact(n_attributes));
        Some(Tuples::new(
            n_attributes,
            tuples.map(|(&(hash, n_rows, _), codes)| (hash, n_rows, codes)),
        ))
    }

    /// What its owner should know of cells that are in no range of a fixed grid.
    pub(crate) fn unfit_notes(&self) -> Vec<Note> {
        let unfit = self.unfit.iter();
        unfit
            .map(|(column, n_rows)| Note::Unfit { column: column.clone(), n_rows: *n_rows })
            .collect()
    }

    /// The points, which are then gone from the table.
    pub(crate) fn take_points(&mut self) -> Points {
        std::mem::replace(&mut self.points, Points::new(Vec::new()))
    }
}

/// The tuples of least hash, if the method cuts and the table is too large to be cut at once.
fn sample_of(
    reading: &Reading<'_>,
    known: &KnownColumns,
    chunks: &[SourceChunk],
    n_rows: usize,
) -> Vec<(u64, u64, RowIdx)> {
    let is_large = |grain: &Grain| n_rows > grain.whole_rows;
    if reading.plan.method.sample_grain().filter(is_large).is_none() {
        return Vec::new();
    }
    let seed = reading.plan.show.seed;
    let bound = AtomicU64::new(u64::MAX);
    let limit = reading.sample_tuples(known);
    let found = Mutex::new(LeastTuples::new(limit));
    chunks.par_iter().for_each(|chunk| {
        let quasi = known
            .coded_columns()
            .zip(&chunk.coded)
            .filter(|(column_idx, _)| known.planned[*column_idx].role == Role::Quasi);
        let quasi: Vec<&ColumnChunk> = quasi.map(|(_, cells)| cells).collect();
        let hashes = tuple_hashes(&quasi, chunk.n_rows, seed);
        let tuples = tuples_of(&hashes, bound.load(Ordering::Relaxed), limit);
        // Whoever panicked with the lock had added whole tuples.
        let mut found = found.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        for tuple in tuples {
            let row_idx = RowIdx::of_id(chunk.first_row + u64::from(tuple.row));
            found.add(tuple.hash, u64::from(tuple.n_rows), row_idx);
        }
        if found.is_full() {
            found.trim();
        }
        bound.store(found.bound(), Ordering::Relaxed);
    });
    let mut found = found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    found.trim();
    found.iter().collect()
}

/// Sets aside what the hierarchies of the columns take while they are made.
fn reserve_hierarchies(
    reading: &Reading<'_>,
    known: &KnownColumns,
    coded: &[Vec<ColumnChunk>],
) -> Result<Reservation> {
    let mut memory = reading.memory.budget.reserve_nothing("the hierarchies of the columns");
    let mut n_bytes = 0;
    for (column, chunks) in known.planned.iter().zip(coded) {
        let Some(spec) = &column.hierarchy else { continue };
        let names = chunks.iter().filter_map(|chunk| match &chunk.cells {
            Cells::Names { names, .. } => Some(names),
            _ => None,
        });
        n_bytes += spec.memory_bytes(names.flatten().map(String::as_str).collect());
        set_aside(&mut memory, n_bytes)?;
    }
    Ok(memory)
}

/// A quasi-identifier of these values.
pub(crate) fn attribute_of(
    column: &PlannedColumn,
    domain: albers_table::domain::Domain,
    shown: Shown,
) -> Attribute {
    let PlannedColumn { weight, preferred, .. } = *column;
    Attribute { domain, shown, level: None, weight, preferred }
}

/// The cells of a column, coded by its role.
enum CodedCells {
    /// It is not coded.
    Nothing,
    /// By its values.
    Column(CodedColumn),
    /// By the ranges of a fixed grid, and how many are in none although they have a text.
    Fixed(CodedColumn, u64),
    /// As persons, and how many there are.
    Subjects(Vec<u64>, u64),
}

impl CodedCells {
    fn into_column(self) -> Option<CodedColumn> {
        match self {
            CodedCells::Column(column) | CodedCells::Fixed(column, _) => Some(column),
            _ => None,
        }
    }
}

fn encoded(
    known: &KnownColumns,
    column_idx: usize,
    chunks: Vec<ColumnChunk>,
) -> Result<CodedCells> {
    let coding = match known.planned.get(column_idx) {
        Some(column) if column.role == Role::Subject && known.is_fixed() => {
            return Ok(named_persons(&chunks));
        }
        Some(column) if column.role == Role::Subject => return Ok(persons(&chunks)),
        Some(PlannedColumn { fixed: Some(fixed), name, .. }) => {
            return Ok(fixed_cells(name, fixed, &chunks));
        }
        Some(_) => known.coding(column_idx),
        // The key, by its distinct texts.
        None => Some(CodingPlan::Categories { hierarchy: None, by_frequency: false }),
    };
    let Some(coding) = coding else { return Ok(CodedCells::Nothing) };
    let raw = RawColumn {
        name: known.requests[column_idx].name.clone(),
        column_type: known.types.column_types[column_idx],
        data_type: known.types.data_types[column_idx].clone(),
        chunks,
    };
    Ok(CodedCells::Column(encode(raw, coding)?))
}

/// Persons: two rows of one person always have the same number. Two persons share one with a chance
/// of one in 2^64, and then count as one: a class can only be thought smaller than it is.
fn persons(chunks: &[ColumnChunk]) -> CodedCells {
    let persons: Vec<u64> = chunks.iter().flat_map(value_hashes).collect();
    let n_persons = persons.iter().collect::<FxHashSet<_>>().len();
    CodedCells::Subjects(persons, n_persons as u64)
}

/// The ranges that cells lie in by their texts: neither the type nor the values of the column have a
/// say in it.
fn fixed_cells(name: &str, fixed: &FixedScale, chunks: &[ColumnChunk]) -> CodedCells {
    let mut n_unfit = 0;
    let mut of_chunk = |chunk: &ColumnChunk| -> Vec<Option<u32>> {
        let Cells::Names { names, places } = &chunk.cells else {
            // No other cells are asked for, but a column without any may have another form.
            return vec![None; chunk.n_rows()];
        };
        let ranges: Vec<Option<u32>> = names.iter().map(|name| fixed.place(name)).collect();
        let mut missing = chunk.missing.iter().copied().peekable();
        let range = |(row, &place): (u32, &u32)| {
            if missing.next_if_eq(&row).is_some() {
                return None;
            }
            let range = ranges.get(place as usize).copied().flatten();
            n_unfit += u64::from(range.is_none());
            range
        };
        (0..).zip(places).map(range).collect()
    };
    let places = chunks.iter().map(&mut of_chunk).collect();
    let coded = CodedColumn::of_labels(name, fixed.column_type(), fixed.labels(), places);
    CodedCells::Fixed(coded.expect("the ranges of a scale have different texts"), n_unfit)
}

/// Persons by their very texts: where one is drawn of each, two must never be taken for one. A row
/// that names none is nobody's.
fn named_persons(chunks: &[ColumnChunk]) -> CodedCells {
    let mut numbers: FxHashMap<&str, u64> = FxHashMap::default();
    let mut persons = Vec::new();
    for chunk in chunks {
        let first = persons.len();
        match &chunk.cells {
            Cells::Names { names, places } => {
                let mut number = |name| {
                    let next = numbers.len() as u64;
                    *numbers.entry(name).or_insert(next)
                };
                let own: Vec<u64> = names.iter().map(|name| number(name)).collect();
                let person = |place: &u32| own.get(*place as usize).copied().unwrap_or(NO_PERSON);
                persons.extend(places.iter().map(person));
            }
            _ => persons.resize(first + chunk.n_rows(), NO_PERSON),
        }
        chunk.missing.iter().for_each(|&row| persons[first + row as usize] = NO_PERSON);
    }
    CodedCells::Subjects(persons, numbers.len() as u64)
}
