//! How tools read this very release: its name, its format and its columns.
//!
//! Every recipe is text that runs as it stands, in the folder of the release. What it looks for is
//! the
//! first published cell of a column.

mod duckdb;
mod pandas;
mod r;
mod spreadsheet;

use super::{Codebook, CodebookColumn, CodebookHierarchy, Example};
use crate::report::PLACES;

/// The ends of an interval in one text, alone or beside the missing value.
const ENDS: &str = r#"^(?:\{, )?"?[\[(]?([^,\[\](){}"]+?)(?:, ([^,\[\](){}"]+?))?[\])]?"?\}?$"#;

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
    /// A day, a month, a quarter or a year, and a year to look for.
    Year(&'a str),
}

impl Asked<'_> {
    /// What is looked for, for a comment of one line.
    fn words(&self) -> String {
        let what = match &self.kind {
            Kind::Interval(own) | Kind::Bounds(own) if self.column.shown == PLACES => {
                format!("have a place from {} to {}", own.low, own.high)
            }
            Kind::Interval(own) | Kind::Bounds(own) => {
                format!("lie between {} and {}", own.low, own.high)
            }
            Kind::Label(path) if path.len() > 1 => {
                format!("be {}: the value, or a label above it", path[0])
            }
            Kind::Label(path) => format!("be {}", path[0]),
            Kind::Set(own) | Kind::Prefix(own) => format!("be {own}"),
            Kind::Year(own) => format!("lie in the year {own}"),
        };
        format!("Rows whose {} may {what}.", self.column.name).replace(['\n', '\r'], " ")
    }
}

/// The cells that stand for any value.
const ANY: [&str; 3] = ["*", "{, *}", "{, \"*\"}"];

/// The labels that a value may be shown as, and the one for any.
fn labels_of(path: &[String]) -> Vec<&str> {
    let mut labels: Vec<&str> = path.iter().map(String::as_str).collect();
    if !labels.contains(&"*") {
        labels.push("*");
    }
    labels
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
            (Some(CodebookHierarchy::File { rows }), example) if column.shown == "label" => {
                let is_shown = |row: &&Vec<String>| {
                    example.as_ref().is_none_or(|example| row.contains(&example.low))
                };
                let plain = rows.iter().filter(|row| row.iter().all(|own| is_plain(own)));
                Kind::Label(plain.clone().find(is_shown).or(plain.clone().next())?)
            }
            (Some(CodebookHierarchy::Suppress), Some(example)) if is_plain(&example.low) => {
                Kind::Label(std::slice::from_ref(&example.low))
            }
            (Some(CodebookHierarchy::Dates { spec: None }), Some(example))
                if column.shown == "label" =>
            {
                let year = example.low.get(..4)?;
                Kind::Year(year.bytes().all(|byte| byte.is_ascii_digit()).then_some(year)?)
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

/// Columns of the file that hold numbers, and others that hold days or points in time, where text
/// has
/// to become such.
fn typed(codebook: &Codebook) -> (Vec<&str>, Vec<&str>) {
    let columns = || {
        codebook.columns.iter().filter(|own| own.shown == "as is" || own.is_by_bounds()).flat_map(
            |own| {
                let shown = own.shown_in.iter().take(2);
                shown.chain(&own.mean).map(move |name| (own, name.as_str()))
            },
        )
    };
    let numbers = columns().filter(|(own, _)| own.is_number()).map(|(_, name)| name);
    let times = columns().filter(|(own, _)| own.is_time()).map(|(_, name)| name);
    (numbers.chain(level(codebook)).collect(), times.collect())
}

/// Whether the release has one object per row.
fn is_json(codebook: &Codebook) -> bool {
    codebook.format == "jsonl"
}

/// All columns of the file.
fn columns_of(codebook: &Codebook) -> impl Iterator<Item = &str> {
    let columns = codebook.columns.iter();
    columns.flat_map(|own| own.shown_in.iter().chain(&own.mean).map(String::as_str))
}

/// A text in quotes, for Python and R.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Some texts in quotes, with commas between them.
fn all_quoted<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.map(quoted).collect::<Vec<_>>().join(", ")
}
