//! Hierarchies that need no file: `prefix` and `suppress`.
//!
//! Rules: a label that reads like a value of the data but stands for other values is refused, as
//! in files. `prefix` takes text, codes and whole numbers (postal codes without leading zeros are
//! often read as such) of at most 64 characters: it has one level per character.

use super::builder::Builder;
use super::{Hierarchy, Place, TOP};
use crate::schema::ColumnType;
use crate::{Result, TableError};

/// More levels than this help nobody and cost memory for each value.
const MAX_PREFIX_CHARS: usize = 64;

/// `53715`, `5371*`, `537*`, `53*`, `5*`, `*`; a value that is short enough stays itself.
pub(super) fn prefix(
    place: &Place,
    column_type: ColumnType,
    values: &[String],
) -> Result<Hierarchy> {
    if !matches!(column_type, ColumnType::Text | ColumnType::Code | ColumnType::Integer) {
        return Err(wrong_type(place, column_type, "prefix needs text or codes"));
    }
    let longest = values.iter().map(|value| value.chars().count()).max().unwrap_or(0);
    if longest > MAX_PREFIX_CHARS {
        return Err(place.error(
            format!("the longest value has {longest} characters, the limit is {MAX_PREFIX_CHARS}"),
            "prefix is meant for codes; write the hierarchy as a file, or use suppress",
        ));
    }
    let n_groups = longest.max(1);
    let mut builder = Builder::new(n_groups);
    let mut path = vec![String::new(); n_groups];
    path[n_groups - 1].push_str(TOP);
    for value in values {
        let ends: Vec<usize> = value.char_indices().map(|(start, _)| start).collect();
        for (group, label) in path[..n_groups - 1].iter_mut().enumerate() {
            let n_kept = longest - group - 1;
            label.clear();
            match ends.get(n_kept) {
                None => label.push_str(value),
                Some(&end) => {
                    label.push_str(&value[..end]);
                    label.push('*');
                }
            }
        }
        builder.add(0, value, &path).map_err(|_| ambiguous(place))?;
    }
    builder.finish().map_err(|_| ambiguous(place))
}

/// The value or `*`.
pub(super) fn suppress(place: &Place, values: &[String]) -> Result<Hierarchy> {
    let mut builder = Builder::new(1);
    for value in values {
        builder.add(0, value, &[TOP]).map_err(|_| ambiguous(place))?;
    }
    builder.finish().map_err(|_| ambiguous(place))
}

/// The refusal of a built-in that does not go with the type of the column.
pub(super) fn wrong_type(place: &Place, column_type: ColumnType, needs: &str) -> TableError {
    let better = match column_type {
        ColumnType::Integer | ColumnType::Decimal | ColumnType::Float => "ranges:5,10,20",
        ColumnType::Date | ColumnType::Timestamp => "dates",
        ColumnType::Text | ColumnType::Code => "prefix",
        ColumnType::Boolean => "suppress",
    };
    place.error(
        format!("{needs}, but the column's type is {column_type}"),
        format!("use {better} or a file, or give the column another type"),
    )
}

/// The refusal of values that read like labels.
pub(super) fn ambiguous(place: &Place) -> TableError {
    place.error(
        "a value of the column reads like the label of a group of other values",
        "write the hierarchy as a file, with labels that are no values",
    )
}
