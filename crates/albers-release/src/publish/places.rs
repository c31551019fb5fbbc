//! Labels and sets by their places, as columns of the release.

use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, BooleanArray};
use arrow_schema::{DataType, Field};

use super::columns::{nulls_of, primitive};
use super::slab::Slab;
use crate::describe::{Describer, PlaceNumbers, ShownFacts};

/// Whether a column tells of missing values.
fn tells_of_missing(describer: &Describer<'_>, facts: &ShownFacts) -> bool {
    facts.shows_missing || describer.tells_of_missing_at_top()
}

/// The fields that show an attribute by its places.
pub(super) fn fields(describer: &Describer<'_>, facts: &ShownFacts) -> Vec<Field> {
    let name = describer.attribute().domain.name();
    let end =
        |end: &str| Field::new(format!("{name}_{end}"), DataType::Int64, facts.has_missing_alone);
    let mut fields = vec![end("min"), end("max")];
    if tells_of_missing(describer, facts) {
        fields.push(Field::new(format!("{name}_missing"), DataType::Boolean, false));
    }
    fields
}

/// The arrays of these fields: what each piece of a slab shows.
pub(super) fn arrays(
    describer: &Describer<'_>,
    slab: &Slab,
    attribute: usize,
    (facts, numbers): (&ShownFacts, &PlaceNumbers),
) -> Vec<ArrayRef> {
    let places: Vec<Option<(i64, i64)>> = slab
        .cells_of(attribute)
        .map(|cell| {
            let (lo, hi) = describer.place_ends(cell)?;
            Some((numbers.number(lo), numbers.number(hi)))
        })
        .collect();
    let array_of = |end: fn((i64, i64)) -> i64| {
        let nulls = facts.has_missing_alone.then(|| nulls_of(&places));
        let values = places.iter().map(|places| places.map_or(0, end));
        primitive::<Int64Type>(values, nulls, &DataType::Int64)
    };
    let mut arrays = vec![array_of(|(lo, _)| lo), array_of(|(_, hi)| hi)];
    if tells_of_missing(describer, facts) {
        let flags = slab.cells_of(attribute).map(|cell| describer.tells_of_missing(cell));
        arrays.push(Arc::new(BooleanArray::from(flags.collect::<Vec<bool>>())));
    }
    arrays
}
