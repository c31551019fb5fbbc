//! How tools read this very release: its name, its format and its columns.
//!
//! Every recipe is text that runs as it stands, in the folder of the release. What it looks for is the
//! first published cell of a column.

mod duckdb;
mod pandas;
mod r;
mod spreadsheet;

use super::{Codebook, CodebookColumn, CodebookHierarchy, Example};

/// The ends of an interval in one text, alone or beside the missing value.
const ENDS: &str = r"^(?:\{, )?[\[(]?([^,\[\](){}]+?)(?:, ([^,\[\](){}]+?))?[\])]?\}?$";

/// A column whose cells can be asked for a value.
struct Asked<'a> {
    column: &'a CodebookColumn,
    kind: Kind<'a>,
}

/// How cells of a column are asked.
enum Kind<'a> {
    /// Intervals in one text, which become two columns, and a window to look for.
    Interval(&'a Example),
    /// Two columns.
    Bounds(&'a Example),
    /// A set, and a member to look for.
    Set(&'a str),
    /// A label, and a value to look for, with all labels above it.
    Label(&'a [String]),
    /// The beginning of a value, and a value to look for.
    Prefix(&'a str),
}

/// All recipes.
pub(super) fn text(codebook: &Codebook, examples: &[Option<Example>]) -> String {
    let asked = asked(codebook, examples);
    let mut text = "\n## Recipes\n".to_owned();
    let mut add = |title: &str, language: &str, code: String| {
        text.push_str(&format!("\n### {title}\n\n```{language}\n{code}```\n"));
    };
    add("Python with pandas", "python", pandas::code(codebook, &asked));
    add("R", "r", r::code(codebook, &asked));
    add("DuckDB", "sql", duckdb::code(codebook, &asked));
    text.push_str(&spreadsheet::text(codebook, &asked));
    text
}

/// The columns that can be asked for something, in their order.
fn asked<'a>(codebook: &'a Codebook, examples: &'a [Option<Example>]) -> Vec<Asked<'a>> {
    let quasi = codebook.columns.iter().zip(examples).filter(|(own, _)| own.role == "quasi");
    let asked = quasi.filter_map(|(column, example)| {
        let is_measured = column.is_number() || column.is_time();
        let kind = match (&column.hierarchy, example) {
            (_, Some(example)) if column.is_by_bounds() && is_measured => Kind::Bounds(example),
            (_, Some(example)) if column.is_interval_text() && is_measured => {
                Kind::Interval(example)
            }
            (_, Some(example)) if column.shown == "set" => Kind::Set(&example.low),
            (Some(CodebookHierarchy::File { rows }), _) if column.shown == "label" => {
                Kind::Label(rows.iter().find(|row| row.iter().all(|own| is_plain(own)))?)
            }
            (Some(CodebookHierarchy::Prefix), Some(example)) if column.shown == "label" => {
                Kind::Prefix(example.low.trim_end_matches('*'))
            }
            _ => return None,
        };
        Some(Asked { column, kind })
    });
    asked.collect()
}

/// Whether a name stands in a cell as it is, alone or in a set.
fn is_plain(name: &str) -> bool {
    !name.contains(['"', '{', '}', '[', ']', '(', ')', ',']) && name.trim() == name
}

/// The column that tells how deep classes lie.
fn level(codebook: &Codebook) -> Option<&str> {
    let level = codebook.columns.iter().find(|own| own.shown == "depth");
    level.map(|own| own.name.as_str())
}

/// Columns of the file that hold numbers, and others that hold days or points in time, where text has
/// to become such.
fn typed(codebook: &Codebook) -> (Vec<&str>, Vec<&str>) {
    let columns = || {
        codebook.columns.iter().filter(|own| own.shown == "as is" || own.is_by_bounds()).flat_map(
            |own| {
                let shown = own.shown_in.iter().filter(|name| !name.ends_with("_missing"));
                shown.chain(&own.mean).map(move |name| (own, name.as_str()))
            },
        )
    };
    let numbers = columns().filter(|(own, _)| own.is_number()).map(|(_, name)| name);
    let times = columns().filter(|(own, _)| own.is_time()).map(|(_, name)| name);
    (numbers.chain(level(codebook)).collect(), times.collect())
}

/// A text in quotes, for Python and R.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Some texts in quotes, with commas between them.
fn all_quoted<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.map(quoted).collect::<Vec<_>>().join(", ")
}
