//! The skeleton of a hierarchy file: one line per value, from specific to general.

use std::str::FromStr;

use albers_table::hierarchy::{Hierarchy, HierarchyRows, HierarchySpec, Node};
use albers_table::profile::shape::RoundWidth;
use albers_table::schema::ColumnType;

use super::ColumnValues;
use crate::error::{Error, Result};

/// What the levels of a skeleton are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Like {
    /// By the type of the column.
    #[default]
    Told,
    /// Intervals, of sizes that are told by the numbers.
    Ranges,
    /// One group, to be divided by hand.
    Groups,
    /// Those of a built-in hierarchy.
    BuiltIn(HierarchySpec),
}

impl FromStr for Like {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Like, String> {
        match text {
            "ranges" => Ok(Like::Ranges),
            "groups" => Ok(Like::Groups),
            _ => match text.parse()? {
                HierarchySpec::File(_) => Err(format!(
                    "'{text}' is nothing that levels are like; use ranges, ranges:5,10,20, dates, \
                     dates:month,year, prefix or groups"
                )),
                spec => Ok(Like::BuiltIn(spec)),
            },
        }
    }
}

/// The hierarchy that a skeleton spells out.
pub(super) fn spec(like: &Like, column: &ColumnValues) -> Result<HierarchySpec> {
    let all_digits =
        || column.values.iter().all(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
    match like {
        Like::BuiltIn(spec) => Ok(spec.clone()),
        Like::Groups => Ok(HierarchySpec::Suppress),
        Like::Ranges => ranges(column),
        Like::Told => match column.column_type {
            ColumnType::Date | ColumnType::Timestamp => Ok(built_in("dates")),
            ColumnType::Integer | ColumnType::Decimal | ColumnType::Float => {
                Ok(ranges(column).unwrap_or(HierarchySpec::Suppress))
            }
            ColumnType::Text | ColumnType::Code if all_digits() => Ok(HierarchySpec::Prefix),
            ColumnType::Text | ColumnType::Code | ColumnType::Boolean => {
                Ok(HierarchySpec::Suppress)
            }
        },
    }
}

/// Round sizes of intervals that go with the numbers of a column.
fn ranges(column: &ColumnValues) -> Result<HierarchySpec> {
    let numbers = || column.values.iter().filter_map(|value| value.parse::<f64>().ok());
    let least = numbers().fold(f64::INFINITY, f64::min);
    let greatest = numbers().fold(f64::NEG_INFINITY, f64::max);
    let is_whole = column.column_type == ColumnType::Integer;
    let all_are_numbers = numbers().count() == column.values.len();
    let width = RoundWidth::between(least, greatest).filter(|_| all_are_numbers);
    let sizes = width.and_then(|width| width.sizes(is_whole)).ok_or_else(|| {
        Error::usage(
            format!("sizes of intervals cannot be told from the values of '{}'", column.column),
            "give them, for example ranges:5,10,20, or use groups",
        )
    })?;
    Ok(built_in(&format!("ranges:{sizes}")))
}

fn built_in(text: &str) -> HierarchySpec {
    text.parse().expect("the words of built-in hierarchies can be read")
}

/// The text of a skeleton, and whether its first line holds names: only where no value of the column
/// may be taken for one.
pub(super) fn text(
    column: &ColumnValues,
    hierarchy: &Hierarchy,
    spec: &HierarchySpec,
) -> Result<(String, bool)> {
    let mut lines = String::new();
    for value in &column.values {
        let code = hierarchy.code_of(value).expect("every value is a leaf");
        let label = |level: usize| {
            let index = hierarchy.node_at(level, code);
            hierarchy.label(Node { level, index }).to_owned()
        };
        let labels: Vec<String> = (0..=hierarchy.height()).map(label).collect();
        lines.push_str(&line(&labels));
    }
    let mut header = vec![column.column.clone()];
    header.extend((1..hierarchy.height()).map(|level| level_name(spec, column, level)));
    header.push(if *spec == HierarchySpec::Suppress { "group" } else { "all" }.to_owned());
    let with_header = line(&header) + &lines;
    for (text, has_header) in [(with_header, true), (lines, false)] {
        if is_read_as(&text, column, hierarchy) {
            return Ok((text, has_header));
        }
    }
    Err(Error::usage(
        format!("the values of '{}' cannot be told from labels in a file", column.column),
        "use a built-in hierarchy instead of a file",
    ))
}

/// Whether a text is read as the hierarchy that it spells out.
fn is_read_as(text: &str, column: &ColumnValues, hierarchy: &Hierarchy) -> bool {
    let rows = HierarchySpec::Rows(HierarchyRows::of_text("skeleton", text).into());
    let Ok(read) = Hierarchy::build(&rows, &column.column, column.column_type, &column.values)
    else {
        return false;
    };
    let labels = |own: &Hierarchy, value: &String| {
        let code = own.code_of(value)?;
        let label = |level| own.label(Node { level, index: own.node_at(level, code) }).to_owned();
        Some((0..=own.height()).map(label).collect::<Vec<String>>())
    };
    read.n_leaves() == hierarchy.n_leaves()
        && column.values.iter().all(|value| labels(&read, value) == labels(hierarchy, value))
}

/// What a level is called in the header.
fn level_name(spec: &HierarchySpec, column: &ColumnValues, level: usize) -> String {
    let has_time = column.column_type == ColumnType::Timestamp;
    let name = match spec {
        HierarchySpec::Dates(levels) => levels.of(has_time).get(level - 1).map(ToString::to_string),
        HierarchySpec::Ranges(sizes) => sizes.get(level - 1).map(|size| format!("by {size}")),
        _ => None,
    };
    name.unwrap_or_else(|| format!("level {level}"))
}

/// A line of fields, quoted where they need it.
fn line(fields: &[String]) -> String {
    let quoted = |field: &String| {
        let is_plain =
            !field.contains(['"', ',', ';', '\t', '|', '\n', '\r']) && field.trim() == field;
        match is_plain {
            true => field.clone(),
            false => format!("\"{}\"", field.replace('"', "\"\"")),
        }
    };
    fields.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n"
}
