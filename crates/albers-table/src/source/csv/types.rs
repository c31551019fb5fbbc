//! What the cells of the requested columns look like, and how all columns are read by it.
//!
//! ```text
//!   cells of a column ──► its type, and how it is written          45.310 and 1.5: with a point
//!                              │ can be read in two ways           45.310 only
//!                              ▼
//!   other columns that are read                                    0,5: commas are decimal
//!                              │ tell nothing, or both, or a comma
//!                              │ stands in one that is not read
//!                              ▼
//!   undecided: refused, or read as names; with a point, which is remarked on, where nothing looks
//!   as where commas are decimal: semicolons, 31.12.2020, or 980 beside 12.500
//! ```

use crate::infer::TypeSample;
use crate::notation::{DecimalMark, Notation};
use crate::schema::ColumnType;
use crate::source::{ColumnRequest, ReadOptions, RequestedTypes};

/// What cells of the requested columns look like, over one text or several.
pub(crate) struct TypeSamples {
    /// One per request; nothing where cells are text because somebody said so.
    samples: Vec<Option<TypeSample>>,
    /// How many rows are to be looked at yet.
    n_missing_rows: usize,
    /// Whether a number has a comma in a column that nobody asked for: it may be an answer or a note,
    /// so that it tells nothing but that a comma may be decimal.
    beside_has_commas: bool,
    /// Whether cells are separated by semicolons, as where commas are decimal.
    has_semicolons: bool,
}

impl TypeSamples {
    /// Nothing was looked at yet, and no more than so many rows will be.
    pub(crate) fn of_first(n_rows: usize, requests: &[ColumnRequest]) -> TypeSamples {
        let sample =
            |request: &ColumnRequest| TypeSamples::is_open(request).then(TypeSample::default);
        let samples: Vec<_> = requests.iter().map(sample).collect();
        let is_needed = samples.iter().any(Option::is_some);
        TypeSamples {
            samples,
            n_missing_rows: if is_needed { n_rows } else { 0 },
            beside_has_commas: false,
            has_semicolons: false,
        }
    }

    /// Nothing was looked at yet, and all rows will be.
    pub(super) fn of_all(requests: &[ColumnRequest]) -> TypeSamples {
        TypeSamples::of_first(usize::MAX, requests)
    }

    /// Whether rows can change how these columns are read.
    pub(crate) fn are_open(requests: &[ColumnRequest]) -> bool {
        requests.iter().any(TypeSamples::is_open)
    }

    /// Whether rows can change how a column is read: nobody said that it is text.
    pub(super) fn is_open(request: &ColumnRequest) -> bool {
        !matches!(request.column_type, Some(ColumnType::Text | ColumnType::Code))
    }

    /// Whether enough was seen.
    pub(crate) fn is_enough(&self) -> bool {
        self.n_missing_rows == 0
    }

    /// Whether another row is to be looked at, which then counts as seen.
    pub(super) fn wants_row(&mut self) -> bool {
        let is_wanted = self.n_missing_rows > 0;
        self.n_missing_rows -= usize::from(is_wanted);
        is_wanted
    }

    /// What the cells of each requested column look like; nothing where they are said to be text.
    pub(crate) fn samples_mut(&mut self) -> &mut [Option<TypeSample>] {
        &mut self.samples
    }

    /// Looks at a cell with a comma of a column that nobody asked for.
    pub(super) fn look_beside(&mut self, cell: &[u8]) {
        let mut sample = TypeSample::default();
        sample.add(cell);
        self.beside_has_commas |= sample.has_comma();
    }

    /// Looks at the byte between cells.
    pub(super) fn look_at_delimiter(&mut self, delimiter: u8) {
        self.has_semicolons |= delimiter == b';';
    }

    /// Adds what other rows look like.
    pub(super) fn merge(&mut self, other: &TypeSamples) {
        for (sample, other) in self.samples.iter_mut().zip(&other.samples) {
            if let (Some(sample), Some(other)) = (sample, other) {
                sample.merge(other);
            }
        }
        self.beside_has_commas |= other.beside_has_commas;
        self.has_semicolons |= other.has_semicolons;
    }

    /// Whether a column that is read as decimals has digits that no decimals can hold.
    pub(super) fn are_too_wide_for(&self, types: &RequestedTypes) -> bool {
        let columns = self.samples.iter().zip(&types.column_types).zip(&types.notations);
        let mut decimals = columns.filter(|((_, kind), _)| **kind == ColumnType::Decimal);
        decimals.any(|((sample, _), notation)| {
            sample.as_ref().is_some_and(|sample| sample.is_too_wide(notation))
        })
    }

    /// How many cells of each requested column are known to stand for a missing value.
    pub(super) fn n_known_missing(&self, request_idx: usize) -> u64 {
        self.samples[request_idx].as_ref().map_or(0, TypeSample::n_known_missing)
    }

    /// How many cells of a requested column programs write where there is no value.
    pub(super) fn n_written_for_missing(&self, request_idx: usize) -> u64 {
        self.samples[request_idx].as_ref().map_or(0, TypeSample::n_written_for_missing)
    }

    /// Whether the numbers of a column that is read with a point could all be thousands, and nothing
    /// but habit says that they are not.
    pub(super) fn is_point_assumed(&self, request_idx: usize) -> bool {
        self.samples[request_idx].as_ref().is_some_and(TypeSample::is_all_undecided)
            && self.told_mark() == TableMark::Assumed
    }

    /// Whether a column of objects or of a sheet has texts in the place of numbers: a number of theirs
    /// has no zero at its end.
    pub(super) fn has_texts_for_numbers(&self, request_idx: usize) -> bool {
        self.samples[request_idx].as_ref().is_some_and(TypeSample::has_final_zero)
    }

    /// Whether a column is text since its cells are months.
    pub(super) fn are_months(&self, request_idx: usize) -> bool {
        self.samples[request_idx].as_ref().is_some_and(TypeSample::are_months)
    }

    /// Whether a column is whole numbers that could be days.
    pub(super) fn may_be_days(&self, request_idx: usize) -> bool {
        self.samples[request_idx].as_ref().is_some_and(TypeSample::may_be_days)
    }

    /// Whether the cells of a column would be numbers if somebody said how they are written.
    pub(super) fn are_texts_of_numbers(&self, request_idx: usize) -> bool {
        let sample = self.samples[request_idx].as_ref();
        sample
            .is_some_and(|sample| matches!(sample.told(sample.told_mark()).1, Notation::Numbers(_)))
    }

    /// The types and how cells are written, those that are given first.
    pub(crate) fn types(
        &self,
        requests: &[ColumnRequest],
        options: &ReadOptions,
    ) -> RequestedTypes {
        let of_table = self.told_mark();
        let columns = requests.iter().zip(&self.samples);
        let (column_types, notations) = columns
            .map(|(request, sample)| told_of(request, sample.as_ref(), of_table, options))
            .unzip();
        let data_types = vec![None; requests.len()];
        RequestedTypes { column_types, data_types, notations, encoding: None }
    }

    /// The decimal mark of all numbers, if columns tell one and the same. A point, where no number
    /// has a comma anywhere, and neither the byte between cells nor days are as where commas are
    /// decimal.
    fn told_mark(&self) -> TableMark {
        let samples = || self.samples.iter().flatten();
        let marks = samples().filter_map(TypeSample::told_mark);
        let (mut by_point, mut by_comma) = (false, false);
        for mark in marks {
            match mark {
                DecimalMark::Point => by_point = true,
                DecimalMark::Comma => by_comma = true,
            }
        }
        let has_commas = samples().any(TypeSample::has_comma) || self.beside_has_commas;
        let is_habit =
            || !has_commas && !self.has_semicolons && !samples().any(TypeSample::has_dotted_days);
        match (by_point, by_comma) {
            (false, true) => TableMark::Told(DecimalMark::Comma),
            (true, false) if !self.beside_has_commas => TableMark::Told(DecimalMark::Point),
            (false, false) if is_habit() => TableMark::Assumed,
            _ => TableMark::Unknown,
        }
    }
}

/// What is known of the decimal mark of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TableMark {
    /// Columns tell it.
    Told(DecimalMark),
    /// Nothing tells it, and nothing looks as where it is a comma: it is a point, but for columns that
    /// look so themselves.
    Assumed,
    Unknown,
}

impl TableMark {
    /// The mark of a column whose own cells do not tell it.
    fn of_column(self, sample: &TypeSample) -> Option<DecimalMark> {
        match self {
            TableMark::Told(mark) => Some(mark),
            TableMark::Assumed => (!sample.may_be_thousands()).then_some(DecimalMark::Point),
            TableMark::Unknown => None,
        }
    }
}

/// The type of a column, and how its cells are written.
fn told_of(
    request: &ColumnRequest,
    sample: Option<&TypeSample>,
    of_table: TableMark,
    options: &ReadOptions,
) -> (ColumnType, Notation) {
    if let Some(format) = options.date_format(&request.name) {
        let told = if format.has_time() { ColumnType::Timestamp } else { ColumnType::Date };
        let kind = request.column_type.unwrap_or(told);
        let notation = match kind == told {
            true => Notation::Dates(format.clone()),
            false => Notation::Plain,
        };
        return (kind, notation);
    }
    let mark = |sample: &TypeSample| {
        let told = options.said_mark().or_else(|| sample.told_mark());
        told.or_else(|| of_table.of_column(sample))
    };
    let (kind, notation) = match (request.column_type, sample) {
        (Some(kind), Some(sample)) => (kind, sample.told_notation(kind, mark(sample))),
        (None, Some(sample)) => sample.told(mark(sample)),
        (kind, None) => (kind.unwrap_or(ColumnType::Text), Notation::Plain),
    };
    match notation {
        Notation::Numbers(_) if options.numbers_are_plain && options.decimal.is_none() => {
            (request.column_type.unwrap_or(ColumnType::Text), Notation::Plain)
        }
        Notation::Dates(_) | Notation::Undecided(_) if options.is_fixed => {
            (request.column_type.unwrap_or(ColumnType::Text), Notation::Plain)
        }
        notation => (kind, notation),
    }
}
