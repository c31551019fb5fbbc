//! Python with pandas.

use super::{ANY, Asked, ENDS, Kind, all_quoted, is_json, labels_of, level, quoted, typed};
use crate::report::codebook::{Codebook, CodebookColumn};

/// The recipe.
pub(super) fn code(codebook: &Codebook, asked: &[Asked<'_>]) -> String {
    let file = quoted(&codebook.release);
    let mut lines = Vec::new();
    if asked.iter().any(|own| matches!(own.kind, Kind::Set(_))) {
        lines.push("import csv".to_owned());
    }
    if is_json(codebook) {
        let is_packed = codebook.release.ends_with(".gz");
        lines.extend(is_packed.then(|| "import gzip".to_owned()));
        lines.push("import json".to_owned());
    }
    lines.extend(["import pandas as pd".to_owned(), String::new()]);
    match &codebook.delimiter {
        None if is_json(codebook) => {
            lines.push("# Texts stay texts, so that codes keep their zeros.".to_owned());
            lines.push(match opened(&codebook.release) {
                Some(opened) => {
                    format!("with {opened} as lines:\n    release = pd.DataFrame(map(json.loads, lines))")
                }
                None => format!("release = pd.read_json({file}, lines=True, dtype=False)"),
            });
            lines.extend(types(codebook));
        }
        None => lines.push(format!("release = pd.read_parquet({file})")),
        Some(delimiter) => {
            lines.push("# Text at first, so that codes keep their zeros.".to_owned());
            let sep = quoted(delimiter);
            lines.push(format!(
                "release = pd.read_csv({file}, sep={sep}, dtype=str, keep_default_na=False, \
                 na_values=[\"\"])"
            ));
            lines.extend(types(codebook));
        }
    }
    lines.extend(intervals(asked));
    lines.extend(sets(asked));
    for own in asked {
        lines.extend([
            String::new(),
            format!("# {}", own.words()),
            format!("print(len(release[{}]))", condition(own, false)),
        ]);
    }
    lines.extend(nested(codebook, asked));
    lines.join("\n") + "\n"
}

/// How Python opens a file of lines; nothing where it cannot by itself.
fn opened(release: &str) -> Option<String> {
    let file = quoted(release);
    match release.rsplit('.').next() {
        Some("gz") => Some(format!("gzip.open({file}, \"rt\", encoding=\"utf-8\")")),
        Some("zst" | "zstd") => None,
        _ => Some(format!("open({file}, encoding=\"utf-8\")")),
    }
}

fn types(codebook: &Codebook) -> Vec<String> {
    let (numbers, times) = typed(codebook);
    let each = |names: Vec<&str>, to: &str| {
        let names = (!names.is_empty()).then(|| all_quoted(names.into_iter()))?;
        Some(format!("for name in [{names}]:\n    release[name] = pd.{to}(release[name])"))
    };
    each(numbers, "to_numeric").into_iter().chain(each(times, "to_datetime")).collect()
}

/// How texts become values of a column.
fn reader(column: &CodebookColumn) -> &'static str {
    if column.is_time() { "to_datetime" } else { "to_numeric" }
}

/// A value of a column.
fn value(column: &CodebookColumn, text: &str) -> String {
    if column.is_time() { format!("pd.Timestamp({})", quoted(text)) } else { text.to_owned() }
}

fn intervals(asked: &[Asked<'_>]) -> Vec<String> {
    let mut lines = Vec::new();
    for reader_of in ["to_numeric", "to_datetime"] {
        let is_own = |own: &&Asked<'_>| {
            matches!(own.kind, Kind::Interval(_)) && reader(own.column) == reader_of
        };
        let names: Vec<&str> =
            asked.iter().filter(is_own).map(|own| own.column.name.as_str()).collect();
        if names.is_empty() {
            continue;
        }
        lines.extend([
            String::new(),
            "# [48, 62] becomes two columns: 48 ends in _from, 62 in _to.".to_owned(),
            format!("for name in [{}]:", all_quoted(names.into_iter())),
            format!("    ends = release[name].str.extract(r'{ENDS}')"),
            format!("    release[name + \"_from\"] = pd.{reader_of}(ends[0], errors=\"coerce\")"),
            format!(
                "    release[name + \"_to\"] = pd.{reader_of}(ends[1].fillna(ends[0]), \
                 errors=\"coerce\")"
            ),
        ]);
    }
    lines
}

fn sets(asked: &[Asked<'_>]) -> Vec<String> {
    if !asked.iter().any(|own| matches!(own.kind, Kind::Set(_))) {
        return Vec::new();
    }
    let lines = [
        "",
        "# {a, \"b, c\"} becomes [\"a\", \"b, c\"]; the missing value is \"\".",
        "def members(cell):",
        "    if not isinstance(cell, str):",
        "        return [\"\"]",
        "    inner = cell[1:-1] if cell.startswith(\"{\") else cell",
        "    is_one = not cell.startswith((\"{\", '\"'))",
        "    return [cell] if is_one else next(csv.reader([inner], skipinitialspace=True))",
    ];
    lines.map(str::to_owned).to_vec()
}

/// Which rows may have a value, or lie in a window.
fn condition(asked: &Asked<'_>, is_point: bool) -> String {
    let column = asked.column;
    let name = quoted(&column.name);
    let window = |from: &str, to: &str, low: &str, high: &str| {
        let high = if is_point { low } else { high };
        let (low, high) = (value(column, low), value(column, high));
        format!("(release[{}] <= {high}) & (release[{}] >= {low})", quoted(from), quoted(to))
    };
    let any = match column.shown.as_str() {
        "interval" | "label" if !column.is_by_bounds() => {
            format!(" | release[{name}].isin([{}])", all_quoted(ANY.into_iter()))
        }
        _ => String::new(),
    };
    match &asked.kind {
        Kind::Interval(example) => {
            let (from, to) = (format!("{}_from", column.name), format!("{}_to", column.name));
            format!("({}{any})", window(&from, &to, &example.low, &example.high))
        }
        Kind::Bounds(example) => {
            let (min, max) = (&column.shown_in[0], &column.shown_in[1]);
            format!("({})", window(min, max, &example.low, &example.high))
        }
        Kind::Set(member) => {
            format!("release[{name}].map(lambda cell: {} in members(cell))", quoted(member))
        }
        Kind::Label(path) => {
            let labels = all_quoted(labels_of(path).into_iter());
            format!("{}.isin([{labels}])", plain(column, &name))
        }
        Kind::Prefix(beginning) => format!(
            "{}.map(lambda cell: isinstance(cell, str) and (cell == {1} or cell.endswith(\"*\") \
             and {1}.startswith(cell[:-1])))",
            plain(column, &name),
            quoted(beginning)
        ),
        Kind::Year(year) => {
            let plain = plain(column, &name);
            format!("{plain}.str.startswith(({}, \"*\"), na=False)", quoted(year))
        }
    }
}

/// The labels of a column, without the missing value beside them.
fn plain(column: &CodebookColumn, name: &str) -> String {
    match column.missing {
        true => {
            format!("release[{name}].str.replace(r'^\\{{, \"?(.*?)\"?\\}}$', r'\\1', regex=True)")
        }
        false => format!("release[{name}]"),
    }
}

fn nested(codebook: &Codebook, asked: &[Asked<'_>]) -> Vec<String> {
    let Some(level) = level(codebook).map(quoted) else { return Vec::new() };
    let conditions: Vec<String> = asked.iter().map(|own| condition(own, true)).collect();
    if conditions.is_empty() {
        return Vec::new();
    }
    vec![
        String::new(),
        "# The class of one person: of the rows around the person's values, those of the greatest \
         level."
            .to_owned(),
        format!("around = release[{}]", conditions.join("\n                 & ")),
        format!("print(len(around[around[{level}] == around[{level}].max()]))"),
    ]
}
