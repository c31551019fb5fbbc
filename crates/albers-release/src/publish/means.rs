//! The means of classes as a column of the release.
//!
//! Numbers are decimals with one digit after the point more than the bounds of their column, times
//! have the type of their bounds, and floats are those of 64 bits.

use albers_table::domain::OrderedValue;
use albers_table::schema::ColumnType;
use arrow_array::ArrayRef;
use arrow_array::types::Decimal128Type;
use arrow_schema::{DataType, Field};

use super::columns::{nulls_of, primitive, unit_at, value_array};
use super::slab::Slab;
use crate::describe::Describer;
use crate::mean::Mean;

/// The digits of the longest integer, and one after the point.
const INTEGER_DIGITS: u8 = 21;

/// The digits that a decimal can have.
const MOST_DIGITS: u8 = 38;

/// The field of an attribute whose bounds have this type. A class may show no mean, whatever its
/// values.
pub(super) fn field(describer: &Describer<'_>, bounds: &DataType) -> Field {
    let name = describer.attribute().domain.name();
    Field::new(format!("{name}_mean"), mean_type(describer, bounds), true)
}

/// The field's array: what each piece of a slab shows.
pub(super) fn array(
    describer: &Describer<'_>,
    slab: &Slab,
    attribute: usize,
    bounds: &DataType,
) -> ArrayRef {
    let data_type = mean_type(describer, bounds);
    let means: Vec<Option<Mean>> = slab.means_of(attribute).collect();
    let DataType::Decimal128(_, scale) = data_type else {
        let value = |mean: &Option<Mean>| -> Option<OrderedValue> { mean.map(Mean::value) };
        let values: Vec<_> = means.iter().map(value).collect();
        return value_array(describer, &values, &data_type, true);
    };
    // Digits that nothing shown needs are zeros.
    let unit = i128::from(unit_at(describer, scale - 1));
    let tenths = means.iter().map(|mean| match mean {
        Some(Mean::Tenths(tenths)) => tenths / unit,
        Some(Mean::Float(_)) | None => 0,
    });
    let nulls = Some(nulls_of(&means));
    primitive::<Decimal128Type>(tenths, nulls, &data_type)
}

/// The type of means beside bounds of a type.
fn mean_type(describer: &Describer<'_>, bounds: &DataType) -> DataType {
    let column_type = describer.attribute().domain.column_type();
    match (column_type, bounds) {
        (ColumnType::Date | ColumnType::Timestamp, own) => own.clone(),
        (_, DataType::Decimal128(n_digits, scale)) => {
            DataType::Decimal128((n_digits + 1).min(MOST_DIGITS), scale.max(&0) + 1)
        }
        (ColumnType::Float, _) => DataType::Float64,
        _ => DataType::Decimal128(INTEGER_DIGITS, 1),
    }
}
