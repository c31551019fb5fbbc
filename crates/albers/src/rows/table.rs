//! A table in memory: read, and coded.

use albers_classes::Attribute;
use albers_classes::points::Points;
use albers_classes::space::Shown;
use albers_release::publish::{CarriedColumn, OutputColumn};
use albers_storage::memory_budget::Reservation;
use albers_table::chunk::ColumnChunk;
use albers_table::domain::{CodedColumn, Coding, RawColumn, encode};
use albers_table::schema::{ColumnType, Role};
use albers_table::source::SourceChunk;
use arrow_array::ArrayRef;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::{KnownColumns, Reading, subjects};
use crate::error::Result;
use crate::plan::PlannedColumn;

/// A table, read and coded.
pub(crate) struct Table {
    /// Number of rows.
    pub(crate) n_rows: usize,
    /// The quasi-identifiers, in the order of the source.
    pub(crate) attributes: Vec<Attribute>,
    /// Their codes.
    pub(crate) points: Points,
    /// The sensitive columns, coded as categories.
    pub(crate) sensitive: Vec<SensitiveData>,
    /// The subject of each row, if a column tells it.
    pub(crate) subjects: Option<Vec<u32>>,
    /// Number of distinct subjects.
    pub(crate) n_subjects: u64,
    /// The columns that leave as they came: sensitive and kept ones, in the order of the source.
    pub(crate) carried: Vec<CarriedColumn>,
    /// All published columns, in the order of the source.
    pub(crate) output_columns: Vec<OutputColumn>,
    /// The types of the columns that were read.
    pub(crate) column_types: Vec<(String, ColumnType)>,
    /// The texts of the key, if one was asked for.
    pub(crate) key: Option<CodedColumn>,
    /// What it takes.
    _memory: Reservation,
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
struct Cells {
    coded: Vec<Vec<ColumnChunk>>,
    carried: Vec<Vec<ArrayRef>>,
}

impl Cells {
    fn of(known: &KnownColumns, mut chunks: Vec<SourceChunk>) -> Cells {
        let n_columns = known.requests.len();
        let mut cells =
            Cells { coded: vec![Vec::new(); n_columns], carried: vec![Vec::new(); n_columns] };
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
        let Cells { coded, carried } = Cells::of(known, chunks);
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
            sensitive: Vec::new(),
            subjects: None,
            n_subjects: 0,
            carried: Vec::new(),
            output_columns: Vec::new(),
            column_types: Vec::new(),
            key,
            _memory: memory,
        };
        let mut points = Vec::new();
        let columns = known.planned.iter().zip(encoded).zip(carried).enumerate();
        for (column_idx, ((column, encoded), carried)) in columns {
            let kind = known.types.column_types[column_idx];
            table.column_types.push((column.name.clone(), kind));
            match (column.role, encoded) {
                (Role::Quasi, CodedCells::Column(encoded)) => {
                    points.push(table.add_attribute(column, encoded, known.shown[column_idx]));
                }
                (Role::Subject, CodedCells::Subjects(subjects, n_subjects)) => {
                    table.n_subjects = n_subjects;
                    table.subjects = Some(subjects);
                }
                (_, encoded) => {
                    let name = column.name.clone();
                    let carried = CarriedColumn::new(name, kind, carried, reading.typed_output);
                    table.add_carried(carried, encoded.into_column());
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

    /// Adds a column that leaves as it came; a sensitive one is also coded.
    fn add_carried(&mut self, carried: CarriedColumn, encoded: Option<CodedColumn>) {
        self.output_columns.push(OutputColumn::Carried(self.carried.len()));
        self.carried.push(carried);
        self.sensitive.extend(encoded.map(|column| SensitiveData { column }));
    }

    /// The points, which are then gone from the table.
    pub(crate) fn take_points(&mut self) -> Points {
        std::mem::replace(&mut self.points, Points::new(Vec::new()))
    }
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
    /// As persons, and how many there are.
    Subjects(Vec<u32>, u64),
}

impl CodedCells {
    fn into_column(self) -> Option<CodedColumn> {
        match self {
            CodedCells::Column(column) => Some(column),
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
        Some(column) if column.role == Role::Subject => return Ok(persons(&chunks)),
        Some(_) => known.coding(column_idx),
        // The key, by its distinct texts.
        None => Some(Coding::Categories { hierarchy: None, by_frequency: false }),
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

/// Persons, numbered as they come.
fn persons(chunks: &[ColumnChunk]) -> CodedCells {
    let mut place_of: FxHashMap<u64, u32> = FxHashMap::default();
    let mut persons = Vec::new();
    for chunk in chunks {
        for number in subjects::numbers_of(chunk) {
            let next = place_of.len() as u32;
            persons.push(*place_of.entry(number).or_insert(next));
        }
    }
    CodedCells::Subjects(persons, place_of.len() as u64)
}
