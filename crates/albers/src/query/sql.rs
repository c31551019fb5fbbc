//! Plain SQL that gives the answers of a release in a database, where recipients have no program
//! of ours.
//!
//! ```text
//!   part      rows that are alike in all quasi-identifiers and in the carried columns asked for
//!   judged    how each lies to every box of the condition, and of its opposite
//!   class     the same, class by class
//! ```
//!
//! Guarantee: the same figures as those of `query`, to the rounding of the estimate. What an
//! ordered column shows is computed with; what names and labels show is listed with the share of
//! each, as many as the release shows.
//! Cost: the text grows with the names and labels of the columns that are asked for; that of nested
//! releases with the elementary ranges of all columns, whose number is a product. Both are refused
//! with their number where they are too many.

mod elementary;
mod expression;
mod listed;

use albers_query::cells::CellJudgement;
use albers_query::term::Term;
use albers_query::{Asked, Cover};
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::source::{Layout, Source};

use super::axis::known;
use super::columns::ReleaseColumn;
use super::shape::{Shape, Values};
use super::table::{BoxQuery, QueriedColumn, QueriedTable};
use crate::error::{Error, Result};

use elementary::Elementary;
use expression::{Judgement, aliases};

/// The most names and labels that are listed.
const MAX_LISTED: usize = 5_000;

/// A dialect of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// DuckDB reads the file itself.
    DuckDb,
    /// PostgreSQL has it as a table.
    PostgreSql,
}

albers_storage::choices!(Dialect {
    DuckDb: "duckdb", "DuckDB, which reads the file of the release itself";
    PostgreSql: "postgresql", "PostgreSQL, which has the release as a table";
});

/// Where a database finds the release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlSource {
    /// The dialect.
    pub dialect: Dialect,
    /// What stands behind `from`.
    pub from: String,
}

impl SqlSource {
    /// A file that DuckDB reads as the source is laid out, or a table of a name.
    pub fn of(dialect: Dialect, path: &str, source: &dyn Source, table: Option<&str>) -> SqlSource {
        let from = match (dialect, table, source.delimiter()) {
            (_, Some(table), _) => identifier(table),
            (Dialect::PostgreSql, None, _) => "release".to_owned(),
            (Dialect::DuckDb, None, None) => format!("read_parquet({})", text(path)),
            (Dialect::DuckDb, None, _) if source.layout() == Layout::JsonLines => {
                let columns = source.columns().iter();
                let columns = columns.map(|own| format!("{}: 'VARCHAR'", text(&own.name)));
                format!(
                    "read_json({}, format = 'newline_delimited', columns = {{{}}})",
                    text(path),
                    columns.collect::<Vec<_>>().join(", ")
                )
            }
            (Dialect::DuckDb, None, Some(delimiter)) => format!(
                "read_csv({}, header = true, all_varchar = true, delim = {}, quote = '\"', escape = \
                 '\"')",
                text(path),
                text(&char::from(delimiter).to_string())
            ),
        };
        SqlSource { dialect, from }
    }
}

/// A name of a column, in quotes.
pub(super) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text, in quotes.
pub(super) fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

impl QueriedTable {
    /// The SQL of a query.
    pub(super) fn sql(
        &self,
        query: &BoxQuery,
        condition: Option<&str>,
        source: &SqlSource,
    ) -> Result<String> {
        if query.must.is_some() {
            return Err(Error::usage(
                "the condition asks for an order of labels that nothing explains",
                wording!["give their ", Field::Hierarchy, " or ask without SQL"],
            ));
        }
        let query = &query.may;
        let named = self.named_keys();
        let keys: Vec<String> = named.0.iter().map(|(_, alias)| alias.clone()).collect();
        let mut writer = Writer { table: self, tables: Vec::new(), columns: Vec::new() };
        let elementary = match self.is_nested() {
            true => Some(Elementary::of(self, query)?),
            false => None,
        };
        let terms = writer.terms("t", query.terms(), elementary.as_ref())?;
        let opposite = match query.opposite() {
            Some(opposite) => writer.terms("o", opposite, elementary.as_ref())?,
            None => Vec::new(),
        };
        let mut tables = vec![part_table(&named, source)];
        let by_class = if keys.is_empty() {
            String::new()
        } else {
            format!("partition by {}", keys.join(", "))
        };
        let shown: String = writer.columns.iter().map(|own| format!(",\n    {own}")).collect();
        tables.push(format!(
            "sized as (\n  select part.*, sum(part_rows) over ({by_class}) as n{shown}\n  from \
             part\n)"
        ));
        tables.append(&mut writer.tables);
        if let Some(elementary) = &elementary {
            tables.extend(elementary.tables(self, &keys));
        }
        let mut judged: Vec<String> = vec!["sized.*".to_owned()];
        for own in terms.iter().chain(&opposite) {
            judged.extend(own.columns());
        }
        let joins: Vec<String> =
            terms.iter().chain(&opposite).flat_map(|own| own.joins.clone()).collect();
        let nested_join = elementary.as_ref().map(|own| own.join(&keys)).unwrap_or_default();
        tables.push(format!(
            "judged as (\n  select {}\n  from sized{}{}\n)",
            judged.join(",\n    "),
            joins.concat(),
            nested_join
        ));
        tables.push(class_table(&keys, &terms, &opposite));
        let head = condition.map_or_else(
            || "-- All rows.\n".to_owned(),
            |own| own.lines().map(|line| format!("-- {line}\n")).collect(),
        );
        Ok(format!("{head}with {}\n{};\n", tables.join(", "), answer(&terms, &opposite)))
    }
}

/// The columns that tell classes apart, and those that tell their parts apart, with their names in the
/// query.
type NamedKeys = (Vec<(String, String)>, Vec<(String, String)>);

/// What the column of levels is called in the query.
const LEVEL: &str = "c_level";

impl QueriedTable {
    fn named_keys(&self) -> NamedKeys {
        let of = |own: &QueriedColumn| {
            let names = own.column.shown_in.iter().map(|name| identifier(name));
            names.zip(aliases(own)).collect::<Vec<_>>()
        };
        let mut keys: Vec<(String, String)> = self.quasi().flat_map(of).collect();
        keys.extend(self.level_column().map(|name| (identifier(name), LEVEL.to_owned())));
        (keys, self.carried().flat_map(of).collect())
    }
}

/// Rows that are alike in all that is asked for.
fn part_table((keys, carried): &NamedKeys, source: &SqlSource) -> String {
    let all = || keys.iter().chain(carried);
    let shown: Vec<String> = all().map(|(name, alias)| format!("{name} as {alias}")).collect();
    let names: Vec<&str> = all().map(|(name, _)| name.as_str()).collect();
    let by =
        if names.is_empty() { String::new() } else { format!("\n  group by {}", names.join(", ")) };
    let shown: String = shown.iter().map(|own| format!("{own}, ")).collect();
    format!("part as (\n  select {shown}count(*) as part_rows\n  from {}{by}\n)", source.from)
}

/// The table of classes: what each has in the terms.
fn class_table(keys: &[String], terms: &[Judgement], opposite: &[Judgement]) -> String {
    let mut columns = vec!["n".to_owned()];
    for own in terms.iter().chain(opposite) {
        columns.extend(own.by_class());
    }
    for (name, all) in [("met", terms), ("met_opposite", opposite)] {
        let any: Vec<String> = all.iter().map(|own| format!("{} = 1", own.name("in"))).collect();
        if !any.is_empty() {
            columns.push(format!(
                "coalesce(sum(part_rows) filter (where {}), 0) as {name}",
                any.join(" or ")
            ));
        }
    }
    let group = keys.iter().map(String::as_str).chain(["n"]).collect::<Vec<_>>().join(", ");
    format!(
        "class as (\n  select {}\n  from judged\n  group by {group}\n)",
        columns.join(",\n    ")
    )
}

/// The answer, from the table of classes.
fn answer(terms: &[Judgement], opposite: &[Judgement]) -> String {
    if terms.is_empty() {
        return "select 0 as overlap, 0.0 as estimate, 0 as lower, 0 as upper".to_owned();
    }
    let sum = |all: &[Judgement], what: &str| -> String {
        all.iter().map(|own| own.name(what)).collect::<Vec<_>>().join(" + ")
    };
    let lower = match opposite {
        [] if terms.len() == 1 => format!("greatest(0, {})", terms[0].name("least")),
        [] => "n".to_owned(),
        _ => format!("n - least(met_opposite, {})", sum(opposite, "most")),
    };
    let upper = format!("least(met, {})", sum(terms, "most"));
    format!(
        "select coalesce(sum(met), 0) as overlap,\n  coalesce(sum(greatest({lower}, least({upper}, \
         {}))), 0) as estimate,\n  coalesce(sum({lower}), 0) as lower,\n  coalesce(sum({upper}), 0) \
         as upper\nfrom class\nwhere met > 0",
        sum(terms, "share")
    )
}

/// What is written on the way.
struct Writer<'t> {
    table: &'t QueriedTable,
    /// Lists of names and labels.
    tables: Vec<String>,
    /// What all terms compute with.
    columns: Vec<String>,
}

impl Writer<'_> {
    /// How parts lie to some terms.
    fn terms(
        &mut self,
        prefix: &str,
        terms: &[Term],
        elementary: Option<&Elementary>,
    ) -> Result<Vec<Judgement>> {
        let mut all = Vec::with_capacity(terms.len());
        for (place, term) in terms.iter().enumerate() {
            let name = format!("{prefix}{}", place + 1);
            all.push(Judgement::of(self, &name, term, elementary.is_some())?);
        }
        Ok(all)
    }
}

impl QueriedTable {
    /// How a cell of a column lies to what is asked for; nothing if it does not meet it.
    fn told_of_cell(&self, axis: usize, cover: &Cover, asked: &Asked) -> Option<CellJudgement> {
        let own = &self.columns[axis];
        let known = known(&own.cells.notation, own.column.ends_are_values);
        own.ground.scale().judge(known, cover, asked)
    }

    /// The share of any value that is asked for.
    fn share_of_any(&self, axis: usize, asked: &Asked) -> f64 {
        let any = Shape { values: Values::Any, missing: true };
        let cover = self.columns[axis].ground.cover(&any);
        self.told_of_cell(axis, &cover, asked).map_or(0.0, |own| own.share)
    }
}

/// Refuses what would be too much to write down.
fn too_many_listed(column: &ReleaseColumn, n_listed: usize) -> Error {
    Error::usage(
        format!(
            "the query would list {n_listed} names and labels of '{}', more than {MAX_LISTED}",
            column.name
        ),
        "ask the release itself, without SQL",
    )
}
