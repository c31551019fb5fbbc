//! Columns of drawn numbers, for tests.

use albers_classes::Attribute;
use albers_classes::space::Shown;
use albers_table::chunk::{ColumnChunk, TickUnit, narrow_ticks};
use albers_table::coding::{CodingPlan, RawColumn, encode};
use albers_table::schema::ColumnType;

/// The attribute of a column of whole numbers, some of which may be missing, and their codes.
pub fn column(numbers: impl IntoIterator<Item = Option<i64>>) -> (Attribute, Vec<Vec<u32>>) {
    let numbers: Vec<Option<i64>> = numbers.into_iter().collect();
    let missing = (0u32..).zip(&numbers).filter(|(_, number)| number.is_none());
    let missing: Vec<u32> = missing.map(|(row, _)| row).collect();
    let numbers = numbers.into_iter().map(Option::unwrap_or_default).collect();
    let cells = narrow_ticks(numbers, &missing, TickUnit::Integer);
    let chunks = vec![ColumnChunk { cells, missing }];
    let column_type = ColumnType::Integer;
    let raw = RawColumn { name: "x".to_owned(), column_type, data_type: None, chunks };
    let coded = encode(raw, CodingPlan::Ordered).expect("whole numbers have codes");
    let (domain, shown) = (coded.domain, Shown::Interval);
    (Attribute { domain, shown, level: None, weight: 1.0, preferred: false }, coded.codes)
}
