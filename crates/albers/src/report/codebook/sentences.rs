//! How the cells of a column are read, in words for somebody who knows nothing.

use super::{CodebookColumn, CodebookHierarchy};

/// How the cells of a column are read; `has_any` says that some are `*`.
pub(crate) fn reads(column: &CodebookColumn, has_any: bool) -> String {
    let mut sentences = vec![match column.shown.as_str() {
        "depth" => {
            return format!(
                "How many classes lie around this one, 0 for the outermost. Of all rows whose \
                 cells hold a person's values, the person's own are those of the greatest {}.",
                column.name
            );
        }
        "as is" => "Values as they came, one for each row.".to_owned(),
        "places" => places(column),
        "interval" if column.is_by_bounds() => bounds(column),
        "interval" => interval(column),
        "set" => set(column),
        _ => label(column),
    }];
    if let Some(mean) = &column.mean {
        sentences.push(format!(
            "{mean} is the mean of the class's values, rounded; it is empty where too few rows \
             have a value, or where it would tell one of them."
        ));
    }
    if has_any && column.shown != "as is" {
        sentences.push("* is any value.".to_owned());
    }
    sentences.extend(missing(column));
    sentences.join(" ")
}

/// Whose values the ends are.
fn whose(column: &CodebookColumn) -> &'static str {
    match column.ends.as_deref() {
        Some("values") => "are values that rows of the class have",
        _ => "need not be values that rows of the class have",
    }
}

/// Whether there may be other values between the ends than they look like.
fn between(column: &CodebookColumn) -> &'static str {
    match column.type_from == "cells" && column.column_type == "integer" {
        true => " Values between whole numbers may have fractions.",
        false => "",
    }
}

fn interval(column: &CodebookColumn) -> String {
    format!(
        "[a, b] means that every row of the class has a value from a to b, both included{}. One \
         value alone is the value of all rows of the class. The ends {}.{}",
        match column.ends.as_deref() {
            Some("values") => "",
            _ => "; a round bracket leaves its end out, -inf and inf have no end",
        },
        whose(column),
        between(column)
    )
}

fn bounds(column: &CodebookColumn) -> String {
    let (min, max) = (&column.shown_in[0], &column.shown_in[1]);
    format!(
        "Every row of the class has a value from {min} to {max}, both included. They {}.{}",
        whose(column),
        between(column)
    )
}

fn set(column: &CodebookColumn) -> String {
    let members = match column.ends.as_deref() {
        Some("values") => "each of them is the value of some row of the class",
        _ => "some of them may be the value of no row of the class",
    };
    format!(
        "{{a, b}} means that every row of the class has one of these values; {members}. One value \
         alone is the value of all rows of the class. A member that holds a comma, a quote or a \
         bracket stands in \" \", quotes doubled inside."
    )
}

fn label(column: &CodebookColumn) -> String {
    let how = match &column.hierarchy {
        Some(CodebookHierarchy::File { .. }) => {
            "A label stands for all values below it in the hierarchy, which is listed under this \
             column in the file for programs: each row has a value first, and then the labels \
             above it"
        }
        Some(CodebookHierarchy::Prefix) => {
            "0106* stands for all values that begin with 0106; without a star it is the value \
             itself"
        }
        Some(CodebookHierarchy::Ranges { .. }) => {
            "[a, b] stands for all values from a to b, both included, of which people may have \
             any; one value alone is the value itself"
        }
        Some(CodebookHierarchy::Dates { spec: None }) => {
            "2024-03 is a month, 2024-Q1 a quarter, 2024 a year; a whole date is the day itself"
        }
        Some(CodebookHierarchy::Dates { spec: Some(_) }) => {
            "2024-W11 is a week from Monday to Sunday (ISO 8601), 2024-03 a month, 2024-Q1 a quarter, \
             2024 a year, 2020-2024 the years from 2020 to 2024; a whole date is the day itself"
        }
        Some(CodebookHierarchy::Suppress) => "The value itself, or *",
        None => "A label stands for a group of values",
    };
    format!("Every row of the class has a value that its cell stands for. {how}.")
}

fn places(column: &CodebookColumn) -> String {
    let (min, max) = (&column.shown_in[0], &column.shown_in[1]);
    let order = match &column.hierarchy {
        Some(CodebookHierarchy::File { .. }) => {
            "place 1 is the first row of the hierarchy that is listed under this column in the \
             file for programs, place 2 the second"
        }
        Some(_) => {
            "places count where labels that the release shows begin and end, in the order of the \
             values; which values they are is not told"
        }
        None => {
            "places count the names that are first or last in some class; the names are not told"
        }
    };
    format!(
        "Every row of the class has a value whose place in an order lies from {min} to {max}: \
         {order}."
    )
}

fn missing(column: &CodebookColumn) -> Option<String> {
    if !column.missing {
        return None;
    }
    // The third of two bounds and what tells of missing values.
    let flag = column.shown_in.get(2);
    Some(match (column.shown.as_str(), flag) {
        ("as is", _) => "An empty cell is a missing value.".to_owned(),
        (_, Some(flag)) => format!(
            "{flag} is true where some rows of the class have no value; where none has one, the \
             other cells are empty."
        ),
        ("set", _) => {
            "An empty member, {, a}, means that some rows of the class have no value; an empty \
                       cell that none has one."
                .to_owned()
        }
        _ => {
            "{, x} means x, or no value at all; an empty cell means that no row of the class has a \
              value."
                .to_owned()
        }
    })
}
