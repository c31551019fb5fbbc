//! Names and labels, which are listed with what they have of what is asked for: a value is expanded
//! along its hierarchy.

use albers_query::Asked;

use super::expression::{AxisJudgement, aliases, double, not_computed};
use super::{MAX_LISTED, Writer, text, too_many_listed};
use crate::error::Result;
use crate::query::table::QueriedColumn;

/// How a class lies to what is asked of names and labels.
pub(super) fn listed(
    writer: &mut Writer<'_>,
    column: &QueriedColumn,
    asked: &Asked,
) -> Result<AxisJudgement> {
    let Some(texts) = &column.cells.texts else { return Err(not_computed(column)) };
    let mut rows = Vec::new();
    for (shape, cell) in column.cells.shapes.iter().zip(texts) {
        let told = writer.table.told_of_cell(column.axis, &column.ground.cover(shape), asked);
        if let Some(told) = told {
            let cell = cell.as_deref().map_or_else(|| "cast(null as varchar)".to_owned(), text);
            rows.push(format!(
                "({cell}, {}, {}, {}, {})",
                u8::from(told.is_inside),
                double(told.share),
                told.known_inside,
                told.known_outside
            ));
        }
    }
    if rows.is_empty() {
        let nothing = || "0".to_owned();
        return Ok(AxisJudgement {
            meets: "1 = 0".to_owned(),
            inside: "1 = 0".to_owned(),
            share: nothing(),
            known_inside: nothing(),
            known_outside: nothing(),
            join: None,
        });
    }
    if rows.len() > MAX_LISTED {
        return Err(too_many_listed(&column.column, rows.len()));
    }
    let name = format!("cells{}", writer.tables.len() + 1);
    writer.tables.push(format!(
        "{name}(cell, inside, share, known_inside, known_outside) as (\n  values {}\n)",
        rows.join(",\n    ")
    ));
    let own = &aliases(column)[0];
    Ok(AxisJudgement {
        meets: format!("{name}.share is not null"),
        inside: format!("coalesce({name}.inside, 0) = 1"),
        share: format!("{name}.share"),
        known_inside: format!("{name}.known_inside"),
        known_outside: format!("{name}.known_outside"),
        join: Some(format!(
            "\n  left join {name} on {name}.cell is not distinct from cast(sized.{own} as varchar)"
        )),
    })
}
