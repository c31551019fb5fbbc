//! The elementary ranges of a nested release: the innermost rule, range by range.
//!
//! Source: Raschia & Anjum 2011, section 3.2: a window is decomposed into ranges at the finest
//! resolution, and each belongs to the innermost region around it.
//! Departures: ranges lie between the ends that occur, not at a resolution; the greatest level is
//! the innermost one.

use albers_query::Query;
use albers_query::term::Term;

use super::LEVEL;
use super::expression::{ends, is_computed, literal};
use crate::error::{Error, Result};
use crate::query::table::{QueriedColumn, QueriedTable};

/// The most elementary ranges that are written down as a query.
const MAX_RANGES: u64 = 1_000_000;

/// The elementary ranges of a release.
pub(super) struct Elementary {
    /// A table of positions for each axis.
    axes: Vec<String>,
    n_axes: usize,
    terms: Vec<String>,
}

impl Elementary {
    pub(super) fn of(table: &QueriedTable, query: &Query) -> Result<Elementary> {
        let quasi: Vec<&QueriedColumn> = table.quasi().collect();
        for own in &quasi {
            let has_more = own.cells.shapes.iter().any(|shape| shape.missing);
            if has_more || !is_computed(own) {
                return Err(Error::usage(
                    format!(
                        "the release is nested, and '{}' shows sets or missing values: its elementary \
                         ranges cannot be told in SQL",
                        own.column.name
                    ),
                    "ask the release itself, without SQL",
                ));
            }
        }
        let n_ranges = quasi.iter().fold(1u64, |product, own| {
            product.saturating_mul(u64::from(own.ground.n_positions().saturating_sub(2)))
        });
        if n_ranges > MAX_RANGES {
            return Err(Error::usage(
                format!(
                    "the release is nested, and its columns come to {n_ranges} elementary ranges, \
                     more than {MAX_RANGES}"
                ),
                "ask the release itself, without SQL",
            ));
        }
        let all: Vec<(String, &Term)> = named("t", query.terms())
            .chain(named("o", query.opposite().unwrap_or_default()))
            .collect();
        let axes = quasi.iter().map(|own| positions(own, &all)).collect();
        let terms = all.into_iter().map(|(name, _)| name).collect();
        Ok(Elementary { axes, n_axes: quasi.len(), terms })
    }

    /// The tables: positions, classes by their positions, and what belongs to each class.
    pub(super) fn tables(&self, table: &QueriedTable, keys: &[String]) -> Vec<String> {
        let mut tables = self.axes.clone();
        let axes: Vec<usize> = (0..self.n_axes).collect();
        let of_axes = |one: &dyn Fn(usize) -> String, by: &str| -> String {
            axes.iter().map(|&axis| one(axis)).collect::<Vec<_>>().join(by)
        };
        let boxes = of_axes(&|axis| format!("f{axis}.p as f{axis}, l{axis}.p as l{axis}"), ", ");
        let joins: String = table
            .quasi()
            .enumerate()
            .map(|(axis, own)| {
                let ends = ends(own);
                format!(
                    "\n  join e{axis} f{axis} on f{axis}.v = {}\n  join e{axis} l{axis} on l{axis}.v \
                     = {}",
                    ends.lo, ends.hi
                )
            })
            .collect();
        let plain = keys.join(", ");
        tables.push(format!(
            "box as (\n  select {plain}, {boxes}\n  from (select distinct {plain} from part) \
             shown{joins}\n)"
        ));
        let flags: String = self
            .terms
            .iter()
            .map(|term| {
                let product = of_axes(&|axis| format!("e{axis}.{term}"), " * ");
                format!(", {product} as {term}")
            })
            .collect();
        let length = of_axes(
            &|axis| format!("case when box.f{axis} = box.l{axis} then 1 else e{axis}.len end"),
            " * ",
        );
        let places = of_axes(&|axis| format!("e{axis}.p"), ", ");
        let within = of_axes(
            &|axis| format!("\n  join e{axis} on e{axis}.p between box.f{axis} and box.l{axis}"),
            "",
        );
        tables.push(format!(
            "around as (\n  select {}, {length} as len{flags},\n    rank() over (partition by {places} \
             order by cast(box.{LEVEL} as integer) desc) as place\n  from box{within}\n)",
            keys.iter().map(|key| format!("box.{key}")).collect::<Vec<_>>().join(", ")
        ));
        let sums: String = self
            .terms
            .iter()
            .map(|term| {
                format!(
                    ",\n    sum({term}) as {term}_cells,\n    case when sum(len) > 0 then \
                     cast(sum({term} * len) as float8) / sum(len) else cast(sum({term}) as float8) / \
                     count(*) end as {term}_share"
                )
            })
            .collect();
        tables.push(format!(
            "own as (\n  select {plain}{sums}\n  from around\n  where place = 1\n  group by {plain}\n)"
        ));
        tables
    }

    /// What belongs to each class, beside its parts.
    pub(super) fn join(&self, keys: &[String]) -> String {
        let same = keys.iter().map(|key| format!("own.{key} = sized.{key}"));
        format!("\n  join own on {}", same.collect::<Vec<_>>().join(" and "))
    }
}

fn named<'t>(prefix: &'t str, terms: &'t [Term]) -> impl Iterator<Item = (String, &'t Term)> {
    terms.iter().enumerate().map(move |(place, term)| (format!("{prefix}{}", place + 1), term))
}

/// The positions of an axis: each with its value, if it is one, how long it is, and whether each
/// term asks for it.
fn positions(column: &QueriedColumn, terms: &[(String, &Term)]) -> String {
    let last = column.ground.n_positions() - 1;
    let rows = (1..last).map(|position| {
        let value = column.ground.value_at(position);
        let value = match (value, column.ground.yardstick()) {
            (Some(key), Some(yardstick)) => literal(yardstick, key),
            _ => "null".to_owned(),
        };
        let asks = |(_, term): &(String, &Term)| {
            let asked = term.iter().find(|(axis, _)| *axis == column.axis);
            let is_in = |&(first, last): &(u32, u32)| (first..=last).contains(&position);
            u8::from(asked.is_none_or(|(_, asked)| asked.spans.iter().any(is_in)))
        };
        let flags: String = terms.iter().map(|term| format!(", {}", asks(term))).collect();
        format!("({position}, {value}, {}{flags})", column.ground.length_at(position))
    });
    let names: String = terms.iter().map(|(name, _)| format!(", {name}")).collect();
    format!(
        "e{}(p, v, len{names}) as (\n  values {}\n)",
        column.axis,
        rows.collect::<Vec<_>>().join(",\n    ")
    )
}
