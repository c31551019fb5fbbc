//! A column that comes in runs, as pages of a Parquet file: a dictionary, and runs of its numbers.
//!
//! ```text
//!   20 20 20 20 31 31 31 20 20      what rows show
//!   4 x 20      3 x 31   2 x 20     runs, as they come
//!   dictionary 20 31                one page, of the values that occur
//!   4 x 0       3 x 1    2 x 0      data pages, `RLE_DICTIONARY`
//! ```
//!
//! Whether a cell is missing is told by runs, too. Once the dictionary would be too large, values
//! stand in the pages themselves, once for each row, as every writer of Parquet does it.
//!
//! Guarantee: the bytes are a function of the rows, whatever runs and batches they came in: equal
//! runs that follow each other are one.
//! Cost: a look at each run and some bytes for it, however many rows it has.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use parquet::basic::Type as Physical;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;
use parquet::schema::types::ColumnDescPtr;

use super::dictionary::{Dictionary, Mantissa, PageValue};
use super::pages::{PageContent, PageList, Runs};

/// A dictionary ends when its values reach this size.
const DICTIONARY_BYTES: usize = 1 << 20;

/// A page of values that stand there once for each row ends when it reaches this size.
const PLAIN_PAGE_BYTES: usize = 1 << 20;

/// Whether the values of a column can be written by runs.
pub(super) fn takes(data_type: &DataType) -> bool {
    use DataType::{
        Date32, Decimal128, Float32, Float64, Int8, Int16, Int32, Int64, Timestamp, UInt8, UInt16,
        UInt32, UInt64, Utf8,
    };
    matches!(
        data_type,
        Int8 | Int16
            | Int32
            | Int64
            | UInt8
            | UInt16
            | UInt32
            | UInt64
            | Float32
            | Float64
            | Date32
            | Timestamp(..)
            | Utf8
            | Decimal128(..)
    )
}

/// A column of a row group that is being written.
pub(super) struct RunColumnWriter {
    column: ColumnDescPtr,
    dictionary: Dictionary,
    max_dictionary_bytes: usize,
    /// Whether the dictionary was too small.
    is_plain: bool,
    page: OpenPage,
    pages: PageList,
}

/// A page that is being filled.
#[derive(Default)]
struct OpenPage {
    n_rows: usize,
    /// 1 for rows that have a value, 0 for others.
    levels: Runs,
    /// The numbers of values, of rows that have one.
    numbers: Runs,
    /// The values themselves, where there is no room for more in the dictionary.
    values: Vec<u8>,
}

impl RunColumnWriter {
    /// A column whose type it [`takes`].
    pub(super) fn new(column: ColumnDescPtr) -> RunColumnWriter {
        RunColumnWriter {
            column,
            dictionary: Dictionary::default(),
            max_dictionary_bytes: DICTIONARY_BYTES,
            is_plain: false,
            page: OpenPage::default(),
            pages: PageList::default(),
        }
    }

    /// What it takes in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.dictionary.n_bytes() + self.pages.n_bytes()
    }

    /// Appends a cell for each run, which has so many rows.
    pub(super) fn write(&mut self, cells: &ArrayRef, run_rows: &[u32]) -> Result<()> {
        macro_rules! push_as {
            ($type:ty, $own:ty, $bits:ty) => {
                self.push_numbers::<$type, $bits>(cells, run_rows, |own| own as $own as $bits)
            };
        }
        match cells.data_type() {
            DataType::Int8 => push_as!(Int8Type, i32, u32),
            DataType::Int16 => push_as!(Int16Type, i32, u32),
            DataType::Int32 => push_as!(Int32Type, i32, u32),
            DataType::Int64 => push_as!(Int64Type, i64, u64),
            DataType::UInt8 => push_as!(UInt8Type, u32, u32),
            DataType::UInt16 => push_as!(UInt16Type, u32, u32),
            DataType::UInt32 => push_as!(UInt32Type, u32, u32),
            DataType::UInt64 => push_as!(UInt64Type, u64, u64),
            DataType::Date32 => push_as!(Date32Type, i32, u32),
            DataType::Float32 => {
                self.push_numbers::<Float32Type, u32>(cells, run_rows, f32::to_bits)
            }
            DataType::Float64 => {
                self.push_numbers::<Float64Type, u64>(cells, run_rows, f64::to_bits)
            }
            DataType::Timestamp(unit, _) => match unit {
                TimeUnit::Second => push_as!(TimestampSecondType, i64, u64),
                TimeUnit::Millisecond => push_as!(TimestampMillisecondType, i64, u64),
                TimeUnit::Microsecond => push_as!(TimestampMicrosecondType, i64, u64),
                TimeUnit::Nanosecond => push_as!(TimestampNanosecondType, i64, u64),
            },
            DataType::Decimal128(..) => self.push_decimals(cells, run_rows),
            DataType::Utf8 => {
                let texts = cells.as_string::<i32>().iter();
                self.push_runs(texts.map(|text| text.map(str::as_bytes)), run_rows)
            }
            other => unreachable!("columns of type {other} are not written by runs"),
        }
    }

    /// Decimals are stored as Parquet does it for their digits: in 4 bytes, in 8, or in as many as
    /// they need.
    fn push_decimals(&mut self, cells: &ArrayRef, run_rows: &[u32]) -> Result<()> {
        match self.column.physical_type() {
            Physical::INT32 => {
                self.push_numbers::<Decimal128Type, u32>(cells, run_rows, |own| own as i32 as u32)
            }
            Physical::INT64 => {
                self.push_numbers::<Decimal128Type, u64>(cells, run_rows, |own| own as i64 as u64)
            }
            _ => {
                let n_bytes = self.column.type_length().clamp(1, 16) as usize;
                let mantissa = |value| Mantissa { value, n_bytes };
                self.push_numbers::<Decimal128Type, Mantissa>(cells, run_rows, mantissa)
            }
        }
    }

    fn push_numbers<T: ArrowPrimitiveType, V: PageValue>(
        &mut self,
        cells: &ArrayRef,
        run_rows: &[u32],
        value_of: impl Fn(T::Native) -> V,
    ) -> Result<()> {
        let cells = cells.as_primitive::<T>();
        let values = cells.values().iter().map(|&own| value_of(own));
        match cells.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => self.push_runs(values.map(Some), run_rows),
            Some(nulls) => {
                let values = values.zip(nulls).map(|(value, is_valid)| is_valid.then_some(value));
                self.push_runs(values, run_rows)
            }
        }
    }

    fn push_runs<V: PageValue>(
        &mut self,
        cells: impl Iterator<Item = Option<V>>,
        run_rows: &[u32],
    ) -> Result<()> {
        for (cell, &n_rows) in cells.zip(run_rows) {
            match cell {
                None => {
                    self.page.levels.push(0, n_rows);
                    self.page.n_rows += n_rows as usize;
                }
                Some(value) if self.is_plain => self.push_plain(value, n_rows)?,
                Some(value) => match self.dictionary.number(value, self.max_dictionary_bytes) {
                    Some(number) => {
                        self.page.levels.push(1, n_rows);
                        self.page.numbers.push(number, n_rows);
                        self.page.n_rows += n_rows as usize;
                    }
                    None => {
                        self.end_page()?;
                        self.is_plain = true;
                        self.push_plain(value, n_rows)?;
                    }
                },
            }
        }
        Ok(())
    }

    /// Appends a value once for each row.
    fn push_plain(&mut self, value: impl PageValue, n_rows: u32) -> Result<()> {
        let mut n_left = n_rows;
        while n_left > 0 {
            let OpenPage { n_rows: n_page_rows, levels, values, .. } = &mut self.page;
            let before = n_left;
            while n_left > 0 && values.len() < PLAIN_PAGE_BYTES {
                value.push(values);
                n_left -= 1;
            }
            levels.push(1, before - n_left);
            *n_page_rows += (before - n_left) as usize;
            if values.len() >= PLAIN_PAGE_BYTES {
                self.end_page()?;
            }
        }
        Ok(())
    }

    /// Ends the page at hand.
    pub(super) fn end_page(&mut self) -> Result<()> {
        let OpenPage { n_rows, levels, numbers, values } = &mut self.page;
        if *n_rows == 0 {
            return Ok(());
        }
        let content = match self.is_plain {
            true => PageContent::Plain(values),
            false => PageContent::Numbers(numbers, self.dictionary.n_values()),
        };
        let levels_told = (self.column.max_def_level() > 0).then_some(&*levels);
        self.pages.add(*n_rows, levels_told, content)?;
        *n_rows = 0;
        levels.clear();
        numbers.clear();
        values.clear();
        Ok(())
    }

    /// Ends the column: its bytes, and what the file says of them.
    pub(super) fn close(mut self) -> Result<(bytes::Bytes, ColumnCloseResult)> {
        self.end_page()?;
        self.pages.close(self.column, self.dictionary.encoded(), self.dictionary.n_values())
    }
}
