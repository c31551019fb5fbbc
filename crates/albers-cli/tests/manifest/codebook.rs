//! The columns of a codebook, from the release file and the job alone.

use serde_json::{Value, json};

use super::cells::Shown;

/// What a job says of a quasi-identifier: how it is shown, and its hierarchy as the job names it.
pub struct Told<'a> {
    pub shown: &'a Shown,
    pub hierarchy: Option<&'a str>,
}

/// What a codebook says of the columns of a release, but for its sentences.
pub fn columns<'a>(
    rows: &[Vec<String>],
    quasi: impl Fn(&str) -> Option<Told<'a>>,
    file: &str,
    shows_regions: bool,
) -> Vec<Value> {
    let column = |(at, name): (usize, &String)| {
        let cells: Vec<&str> = rows[1..].iter().map(|row| row[at].as_str()).collect();
        let Some(told) = quasi(name) else {
            let (role, shown) = match name.as_str() {
                "level" => ("level", "depth"),
                "note" => ("keep", "as is"),
                _ => ("sensitive", "as is"),
            };
            return json!({
                "name": name, "role": role, "shown": shown, "in": [name],
                "type": type_of(&cells), "type_from": "cells", "missing": cells.contains(&""),
            });
        };
        let shown = match told.shown {
            Shown::Numbers | Shown::Dates => "interval",
            Shown::Set => "set",
            _ => "label",
        };
        let ends = if shown == "label" || shows_regions { "regions" } else { "values" };
        let missing = cells.iter().any(|cell| cell.is_empty() || cell.starts_with("{, "));
        let values: Vec<&str> = cells.iter().flat_map(|cell| values_in(cell)).collect();
        let leaves = || file.lines().map(|line| line.split(';').next().unwrap());
        let column_type = match told.shown {
            Shown::File(_) => type_of(&leaves().collect::<Vec<_>>()),
            Shown::Prefix if values.is_empty() => "text",
            Shown::Ranges(_) if values.is_empty() => "integer",
            Shown::Prefix => "code",
            Shown::DateLabels if type_of(&values) != "timestamp" => "date",
            _ => type_of(&values),
        };
        let mut column = json!({
            "name": name, "role": "quasi", "shown": shown, "in": [name],
            "type": column_type, "type_from": "cells", "ends": ends, "missing": missing,
        });
        if let Some(hierarchy) = told.hierarchy {
            let rows = || file.lines().map(|line| line.split(';').collect::<Vec<_>>());
            column["hierarchy"] = match hierarchy {
                "file" => json!({ "kind": "file", "rows": in_places(rows().collect()) }),
                ranges if ranges.starts_with("ranges") => {
                    json!({ "kind": "ranges", "spec": ranges })
                }
                kind => json!({ "kind": kind }),
            };
        }
        column
    };
    rows[0].iter().enumerate().map(column).collect()
}

/// Rows of one label together, where the first of them stands: groups within groups.
fn in_places(rows: Vec<Vec<&str>>) -> Vec<Vec<&str>> {
    let Some(n_levels) = rows.first().map(Vec::len) else { return rows };
    if n_levels < 2 {
        return rows;
    }
    let mut groups: Vec<(&str, Vec<Vec<&str>>)> = Vec::new();
    for mut row in rows {
        let label = row.pop().unwrap();
        match groups.iter_mut().find(|(own, _)| *own == label) {
            Some((_, group)) => group.push(row),
            None => groups.push((label, vec![row])),
        }
    }
    let mut all = Vec::new();
    for (label, group) in groups {
        all.extend(in_places(group).into_iter().map(|mut row| {
            row.push(label);
            row
        }));
    }
    all
}

/// The values that stand in a cell; no name of these tables has a comma or a quote.
fn values_in(cell: &str) -> Vec<&str> {
    let bare = cell.trim_matches(|letter| "{}[]()".contains(letter));
    let values = bare.split(", ").map(|own| own.trim_matches(|letter| "[]()".contains(letter)));
    values.filter(|own| !own.is_empty() && *own != "*").collect()
}

/// The type that all texts have.
fn type_of(texts: &[&str]) -> &'static str {
    let present = || texts.iter().filter(|own| !own.is_empty());
    let all = |is: fn(&str) -> bool| present().count() > 0 && present().all(|own| is(own));
    let is_number = |own: &str| own.parse::<f64>().is_ok();
    match () {
        () if all(|own| own.parse::<i64>().is_ok()) => "integer",
        () if all(is_number) && present().any(|own| own.contains('e')) => "float",
        () if all(is_number) => "decimal",
        () if all(|own| own.len() == 10 && own.as_bytes()[4] == b'-') => "date",
        () if all(|own| own.len() >= 19 && own.as_bytes()[10] == b' ') => "timestamp",
        () => "text",
    }
}
