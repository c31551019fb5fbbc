//! Quasi-identifiers, and what classes show beside them, as columns of the release.

use std::sync::Arc;

use albers_classes::space::Shown;
use albers_table::domain::OrderedValue;
use albers_table::schema::ColumnType;
use albers_table::value::TickFormat;
use arrow_array::builder::StringBuilder;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, PrimitiveArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, TimeUnit};

use super::slab::Slab;
use super::{means, places};
use crate::describe::{CellContent, Describer, PlaceNumbers, ShownFacts};

/// How intervals of ordered values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// One column of text, `[48, 62]`.
    Interval,
    /// Two typed columns, `age_min` and `age_max`, and `age_missing` where values are missing.
    Bounds,
    /// The same and the mean of the class's values, `age_mean`.
    Mean,
    /// Bounds, and labels and sets by their least and greatest place in a public order, as whole
    /// numbers: every class is a point in twice as many dimensions.
    Features,
}

/// A value that every class shows beside its quasi-identifiers, such as the depth of its region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureColumn {
    /// The column's name.
    pub name: String,
    /// Its values.
    pub kind: FeatureKind,
}

/// The values of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeatureKind {
    /// Whole numbers.
    Integer,
    /// Any numbers.
    Number,
}

impl FeatureColumn {
    /// The column's field in the release.
    pub(super) fn field(&self) -> Field {
        let data_type = match self.kind {
            FeatureKind::Integer => DataType::Int64,
            FeatureKind::Number => DataType::Float64,
        };
        Field::new(&self.name, data_type, true)
    }

    /// What each piece of a slab shows; `feature` is the column's place among the features.
    pub(super) fn array(&self, slab: &Slab, feature: usize) -> ArrayRef {
        let values = slab.features_of(feature);
        match self.kind {
            FeatureKind::Integer => {
                Arc::new(values.map(|value| value.as_integer()).collect::<Int64Array>())
            }
            FeatureKind::Number => {
                Arc::new(values.map(|value| value.as_number()).collect::<Float64Array>())
            }
        }
    }
}

albers_storage::choices!(Values {
    Interval: "interval", "One column of text, [48, 62] (default for CSV)";
    Bounds: "bounds", "Two typed columns, age_min and age_max (default for Parquet)";
    Mean: "mean", "The same, and age_mean: the mean of each class, with few digits";
    Features: "features",
        "Bounds for all: labels and sets as job_min and job_max, whole numbers that tell places in an \
         order";
} but not {
    "median": "a median is the value of somebody, or lies half-way between two of them, and the \
               medians of classes do not tell that of their union; 'mean' publishes means";
});

/// The fields that show an attribute in a release that shows this of it.
pub fn fields(describer: &Describer<'_>, values: Values, facts: &ShownFacts) -> Vec<Field> {
    let name = describer.attribute().domain.name();
    let has_nulls = facts.has_missing_alone;
    if describer.shows_places() {
        return places::fields(describer, facts);
    }
    if values == Values::Interval || describer.attribute().shown != Shown::Interval {
        return vec![Field::new(name, DataType::Utf8, has_nulls)];
    }
    let data_type = bounds_type(describer, facts);
    let bound = |end: &str| Field::new(format!("{name}_{end}"), data_type.clone(), has_nulls);
    let mut fields = vec![bound("min"), bound("max")];
    if facts.shows_missing {
        fields.push(Field::new(format!("{name}_missing"), DataType::Boolean, false));
    }
    if values == Values::Mean {
        fields.push(means::field(describer, &data_type));
    }
    fields
}

/// The arrays of an attribute's fields: what each piece of a slab shows.
pub fn arrays(
    describer: &Describer<'_>,
    slab: &Slab,
    attribute: usize,
    values: Values,
    (facts, places): (&ShownFacts, &PlaceNumbers),
) -> Vec<ArrayRef> {
    if describer.shows_places() {
        return places::arrays(describer, slab, attribute, (facts, places));
    }
    let cells = slab.cells_of(attribute);
    if values == Values::Interval || describer.attribute().shown != Shown::Interval {
        let mut builder = StringBuilder::with_capacity(slab.sizes.len(), slab.sizes.len() * 8);
        let mut text = String::new();
        for cell in cells {
            text.clear();
            describer.write_text(cell, &mut text);
            builder.append_option((!text.is_empty()).then_some(&text));
        }
        return vec![Arc::new(builder.finish())];
    }
    let bounds: Vec<Bounds> = cells
        .map(|cell| match describer.content(cell) {
            CellContent::Interval { with_missing, .. } => {
                Bounds { ends: describer.ends(cell), with_missing }
            }
            _ => Bounds { ends: None, with_missing: true },
        })
        .collect();
    let data_type = bounds_type(describer, facts);
    let array_of = |end: fn((OrderedValue, OrderedValue)) -> OrderedValue| {
        let ends: Vec<_> = bounds.iter().map(|bounds| bounds.ends.map(end)).collect();
        value_array(describer, &ends, &data_type, facts.has_missing_alone)
    };
    let mut arrays = vec![array_of(|(lo, _)| lo), array_of(|(_, hi)| hi)];
    if facts.shows_missing {
        let flags: Vec<bool> = bounds.iter().map(|bounds| bounds.with_missing).collect();
        arrays.push(Arc::new(BooleanArray::from(flags)));
    }
    if values == Values::Mean {
        arrays.push(means::array(describer, slab, attribute, &data_type));
    }
    arrays
}

/// The values at the ends of a class's interval; none if all its values are missing.
struct Bounds {
    ends: Option<(OrderedValue, OrderedValue)>,
    with_missing: bool,
}

/// The type of the bounds: the column's own in a typed file, else the natural one.
fn bounds_type(describer: &Describer<'_>, facts: &ShownFacts) -> DataType {
    let domain = &describer.attribute().domain;
    let natural = match domain.column_type() {
        ColumnType::Integer => DataType::Int64,
        // Nothing shown has a fraction: only values that are not shown make these decimals.
        ColumnType::Decimal if facts.n_fraction_digits == 0 => DataType::Int64,
        ColumnType::Decimal => {
            let n_digits = facts.n_whole_digits + facts.n_fraction_digits;
            let scale = i8::try_from(facts.n_fraction_digits).expect("at most 18 digits");
            DataType::Decimal128(n_digits, scale)
        }
        ColumnType::Float => DataType::Float64,
        ColumnType::Date => DataType::Date32,
        ColumnType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        ColumnType::Boolean | ColumnType::Text | ColumnType::Code => DataType::Utf8,
    };
    match (domain.data_type(), &natural) {
        (Some(own), _) if is_same_kind(own, domain.column_type()) => own.clone(),
        _ => natural,
    }
}

/// Whether a column type is what a typed file's type is read as.
fn is_same_kind(own: &DataType, column_type: ColumnType) -> bool {
    match column_type {
        ColumnType::Integer => own.is_integer(),
        ColumnType::Decimal => matches!(own, DataType::Decimal128(..)),
        ColumnType::Float => matches!(own, DataType::Float32 | DataType::Float64),
        ColumnType::Date => matches!(own, DataType::Date32),
        ColumnType::Timestamp => matches!(own, DataType::Timestamp(..)),
        ColumnType::Boolean | ColumnType::Text | ColumnType::Code => false,
    }
}

/// One value of an attribute's domain for each piece of a class, as an array of a type.
pub(super) fn value_array(
    describer: &Describer<'_>,
    values: &[Option<OrderedValue>],
    data_type: &DataType,
    has_nulls: bool,
) -> ArrayRef {
    let nulls = has_nulls.then(|| nulls_of(values));
    let ticks = |value: &Option<OrderedValue>| match *value {
        Some(OrderedValue::Ticks(ticks)) => ticks,
        Some(OrderedValue::Float(_)) => unreachable!("floats are not written as ticks"),
        None => 0,
    };
    macro_rules! of_ticks {
        ($type:ty, $from:expr) => {{
            let values = values.iter().map(|value| $from(ticks(value)));
            primitive::<$type>(values, nulls, data_type)
        }};
    }
    match data_type {
        DataType::Int8 => of_ticks!(Int8Type, |tick| tick as i8),
        DataType::Int16 => of_ticks!(Int16Type, |tick| tick as i16),
        DataType::Int32 => of_ticks!(Int32Type, |tick| tick as i32),
        DataType::Int64 => {
            let unit = unit_at(describer, 0);
            of_ticks!(Int64Type, |tick: i64| tick / unit)
        }
        DataType::UInt8 => of_ticks!(UInt8Type, |tick| tick as u8),
        DataType::UInt16 => of_ticks!(UInt16Type, |tick| tick as u16),
        DataType::UInt32 => of_ticks!(UInt32Type, |tick| tick as u32),
        DataType::UInt64 => of_ticks!(UInt64Type, |tick| tick as u64),
        DataType::Date32 => of_ticks!(Date32Type, |tick| tick as i32),
        DataType::Decimal128(_, scale) => {
            // Digits that nothing shown needs are zeros.
            let unit = unit_at(describer, *scale);
            of_ticks!(Decimal128Type, |tick: i64| i128::from(tick / unit))
        }
        DataType::Timestamp(TimeUnit::Second, _) => {
            of_ticks!(TimestampSecondType, |tick: i64| tick.div_euclid(1_000_000))
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            of_ticks!(TimestampMillisecondType, |tick: i64| tick.div_euclid(1_000))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            of_ticks!(TimestampMicrosecondType, |tick| tick)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            of_ticks!(TimestampNanosecondType, |tick: i64| tick.saturating_mul(1_000))
        }
        _ => {
            let float = |value: &Option<OrderedValue>| match *value {
                Some(OrderedValue::Float(float)) => float,
                Some(OrderedValue::Ticks(_)) | None => 0.0,
            };
            if *data_type == DataType::Float32 {
                let values = values.iter().map(|value| float(value) as f32);
                primitive::<Float32Type>(values, nulls, data_type)
            } else {
                primitive::<Float64Type>(values.iter().map(float), nulls, data_type)
            }
        }
    }
}

/// The ticks that the last of so many digits after the point counts.
pub(super) fn unit_at(describer: &Describer<'_>, scale: i8) -> i64 {
    match describer.attribute().domain.tick_format() {
        Some(TickFormat::Decimal { scale: own }) => {
            let n_more = own.saturating_sub(scale.unsigned_abs());
            10i64.pow(u32::from(n_more))
        }
        _ => 1,
    }
}

pub(super) fn primitive<T: ArrowPrimitiveType>(
    values: impl Iterator<Item = T::Native>,
    nulls: Option<NullBuffer>,
    data_type: &DataType,
) -> ArrayRef {
    let array = PrimitiveArray::<T>::new(values.collect(), nulls);
    Arc::new(array.with_data_type(data_type.clone()))
}

/// Which pieces have a value.
pub(super) fn nulls_of<V>(values: &[Option<V>]) -> NullBuffer {
    values.iter().map(Option::is_some).collect()
}
