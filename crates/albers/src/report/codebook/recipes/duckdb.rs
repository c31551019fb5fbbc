//! SQL of DuckDB.

use super::{ANY, Asked, ENDS, Kind, columns_of, is_json, labels_of, level, typed};
use crate::report::codebook::{Codebook, CodebookColumn};

/// The recipe.
pub(super) fn code(codebook: &Codebook, asked: &[Asked<'_>]) -> String {
    let file = text(&codebook.release);
    let read = match &codebook.delimiter {
        None if is_json(codebook) => {
            let columns = columns_of(codebook).map(|own| format!("{}: 'VARCHAR'", text(own)));
            let columns = columns.collect::<Vec<_>>().join(", ");
            format!("read_json({file}, format = 'newline_delimited', columns = {{{columns}}})")
        }
        None => format!("read_parquet({file})"),
        Some(delimiter) => {
            let delim = if delimiter == "\t" { "'\\t'".to_owned() } else { text(delimiter) };
            format!("read_csv({file}, delim = {delim}, header = true, all_varchar = true)")
        }
    };
    let mut columns = Vec::new();
    if codebook.delimiter.is_some() || is_json(codebook) {
        let (numbers, times) = typed(codebook);
        let cast = |own: &str, to: &str| format!("CAST({0} AS {to}) AS {0}", name(own));
        columns.extend(numbers.into_iter().map(|own| cast(own, "DOUBLE")));
        columns.extend(times.into_iter().map(|own| cast(own, "TIMESTAMP")));
    }
    let replaced = match columns.is_empty() {
        true => String::new(),
        false => format!(" REPLACE (\n    {})", columns.join(",\n    ")),
    };
    let ends: Vec<String> = asked.iter().flat_map(interval).collect();
    let mut code = match ends.is_empty() {
        true => String::new(),
        false => format!(
            "-- [48, 62] becomes two columns: 48 ends in _from, 62 in _to.\n\
             CREATE MACRO one_end(cell, which) AS\nregexp_extract(cell, {}, which);\n\n",
            text(ENDS)
        ),
    };
    code.push_str(&format!("CREATE VIEW release AS\nSELECT *{replaced}{}\n", ends.concat()));
    code.push_str(&format!("FROM {read};\n"));
    for own in asked {
        code.push_str(&format!("\n-- {}\n", own.words()));
        code.push_str(&format!("SELECT count(*) FROM release WHERE {};\n", condition(own, false)));
    }
    let conditions: Vec<String> = asked.iter().map(|own| condition(own, true)).collect();
    if let Some(level) = level(codebook).map(name).filter(|_| !conditions.is_empty()) {
        let around = conditions.join("\n    AND ");
        code.push_str(&format!(
            "\n-- The class of one person: of the rows around the person's values, those of the \
             greatest \
             level.\nWITH around AS (\n  SELECT * FROM release\n  WHERE {around})\n\
             SELECT count(*) FROM around WHERE {level} = (SELECT max({level}) FROM around);\n"
        ));
    }
    code
}

/// A text in quotes.
fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The name of a column in quotes.
fn name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn type_of(column: &CodebookColumn) -> &'static str {
    if column.is_time() { "TIMESTAMP" } else { "DOUBLE" }
}

fn value(column: &CodebookColumn, own: &str) -> String {
    if column.is_time() { format!("TIMESTAMP {}", text(own)) } else { own.to_owned() }
}

/// The ends of a column of intervals as two more columns.
fn interval(asked: &Asked<'_>) -> Vec<String> {
    if !matches!(asked.kind, Kind::Interval(_)) {
        return Vec::new();
    }
    let (own, to_type) = (&asked.column.name, type_of(asked.column));
    let end = |group: u8| format!("one_end({}, {group})", name(own));
    let (from, to) = (name(&format!("{own}_from")), name(&format!("{own}_to")));
    vec![
        format!(",\n  TRY_CAST({} AS {to_type}) AS {from}", end(1)),
        format!(",\n  TRY_CAST(coalesce(nullif({}, ''), {}) AS {to_type}) AS {to}", end(2), end(1)),
    ]
}

fn condition(asked: &Asked<'_>, is_point: bool) -> String {
    let column = asked.column;
    let cell = name(&column.name);
    let window = |from: &str, to: &str, low: &str, high: &str| {
        let high = if is_point { low } else { high };
        let (low, high) = (value(column, low), value(column, high));
        format!("{} <= {high} AND {} >= {low}", name(from), name(to))
    };
    match &asked.kind {
        Kind::Interval(example) => {
            let (from, to) = (format!("{}_from", column.name), format!("{}_to", column.name));
            let inside = window(&from, &to, &example.low, &example.high);
            format!("({cell} IN ({}) OR {inside})", ANY.map(text).join(", "))
        }
        Kind::Bounds(example) => {
            let (min, max) = (&column.shown_in[0], &column.shown_in[1]);
            format!("({})", window(min, max, &example.low, &example.high))
        }
        Kind::Set(member) => {
            // A member with a comma stands in quotes.
            let quoted = format!("\"{}\"", member.replace('"', "\"\""));
            let either = [text(member), text(&quoted)].join(", ");
            format!(
                "({cell} IN ({either}) OR {cell} LIKE '{{%}}' AND \
                 list_has_any(regexp_extract_all(substr({cell}, 2, length({cell}) - 2), \
                 '\"(?:[^\"]|\"\")*\"|[^,\"]+[^,]*'), [{either}, {}, {}]))",
                text(&format!(" {member}")),
                text(&format!(" {quoted}"))
            )
        }
        Kind::Label(path) => {
            let labels: Vec<String> = labels_of(path).into_iter().map(text).collect();
            format!("{} IN ({})", plain(column, &cell), labels.join(", "))
        }
        Kind::Prefix(own) => {
            let (plain, own) = (plain(column, &cell), text(own));
            format!(
                "({plain} = {own} OR {plain} LIKE '%*' AND starts_with({own}, rtrim({plain}, '*')))"
            )
        }
        Kind::Year(year) => {
            let plain = plain(column, &cell);
            format!("(starts_with({plain}, {}) OR {plain} = '*')", text(year))
        }
    }
}

/// The labels of a column, without the missing value beside them.
fn plain(column: &CodebookColumn, cell: &str) -> String {
    match column.missing {
        true => format!("regexp_replace({cell}, '^\\{{, \"?(.*?)\"?\\}}$', '\\1')"),
        false => cell.to_owned(),
    }
}
