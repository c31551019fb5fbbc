//! How parts lie to a box, as expressions.

use albers_query::Asked;
use albers_query::cells::Known;
use albers_query::term::Term;

use super::listed::listed;
use super::{Writer, text};
use crate::error::{Error, Result};
use crate::query::axis::{SpanEnd, known};
use crate::query::columns::ColumnKind;
use crate::query::shape::{Edge, Notation, Values};
use crate::query::table::QueriedColumn;
use crate::query::yardstick::Yardstick;

/// How parts lie to one term.
pub(super) struct Judgement {
    name: String,
    /// Whether a part meets it: conditions, all of which hold.
    meets: Vec<String>,
    /// The share of its class inside: factors.
    shares: Vec<String>,
    /// Rows of its class that it can have at most, by each axis.
    caps: Vec<String>,
    /// Rows of its class that may lie outside, by each axis.
    slacks: Vec<String>,
    /// Lists that are joined.
    pub(super) joins: Vec<String>,
    is_nested: bool,
}

/// How a class lies to what is asked on one axis.
pub(super) struct AxisJudgement {
    pub(super) meets: String,
    pub(super) inside: String,
    pub(super) share: String,
    pub(super) known_inside: String,
    pub(super) known_outside: String,
    pub(super) join: Option<String>,
}

impl Judgement {
    pub(super) fn of(
        writer: &mut Writer<'_>,
        name: &str,
        term: &Term,
        is_nested: bool,
    ) -> Result<Judgement> {
        let mut own = Judgement {
            name: name.to_owned(),
            meets: Vec::new(),
            shares: Vec::new(),
            caps: vec!["n".to_owned()],
            slacks: Vec::new(),
            joins: Vec::new(),
            is_nested,
        };
        for (axis, asked) in term {
            let column = &writer.table.columns[*axis];
            if column.column.kind == ColumnKind::Carried {
                own.meets.push(carried(column, asked)?);
                continue;
            }
            let AxisJudgement { meets, inside, share, known_inside, known_outside, join } =
                match is_computed(column) {
                    true => computed(column, asked, writer)?,
                    false => listed(writer, column, asked)?,
                };
            own.joins.extend(join);
            own.meets.push(meets);
            own.shares.push(share);
            own.caps.push(format!("case when {inside} then n else n - ({known_outside}) end"));
            own.slacks.push(format!("case when {inside} then 0 else n - ({known_inside}) end"));
        }
        if is_nested {
            own.meets.push(format!("own.{name}_cells > 0"));
        }
        Ok(own)
    }

    /// One of its columns.
    pub(super) fn name(&self, what: &str) -> String {
        format!("{}_{what}", self.name)
    }

    /// Its columns in the table of parts.
    pub(super) fn columns(&self) -> Vec<String> {
        let joined = |all: &[String], by: &str, none: &str| match all.is_empty() {
            true => none.to_owned(),
            false => all.join(by),
        };
        let meets = joined(&self.meets, " and ", "1 = 1");
        let share = match self.is_nested {
            true => format!("own.{}_share", self.name),
            false => joined(&self.shares, " * ", "1"),
        };
        vec![
            format!("case when {meets} then 1 else 0 end as {}", self.name("in")),
            format!("{share} as {}", self.name("part")),
            format!("least({}) as {}", joined(&self.caps, ", ", "n"), self.name("cap")),
            format!("{} as {}", joined(&self.slacks, " + ", "0"), self.name("slack")),
        ]
    }

    /// Its columns in the table of classes.
    pub(super) fn by_class(&self) -> Vec<String> {
        let [is_in, part, cap, slack] = ["in", "part", "cap", "slack"].map(|what| self.name(what));
        let rows = format!("coalesce(sum(part_rows) filter (where {is_in} = 1), 0)");
        vec![
            format!(
                "coalesce(sum(part_rows * {part}) filter (where {is_in} = 1), 0) as {}",
                self.name("share")
            ),
            format!("least({rows}, max({cap})) as {}", self.name("most")),
            format!("{rows} - max({slack}) as {}", self.name("least")),
        ]
    }
}

/// Whether what a column shows can be computed with: intervals with both ends, values, and `*`.
pub(super) fn is_computed(column: &QueriedColumn) -> bool {
    let is_closed = |values: &Values| {
        matches!(values, Values::None | Values::Any | Values::Range(Edge::At(_), Edge::At(_)))
    };
    matches!(column.cells.notation, Notation::Ordered(_))
        && column.cells.shapes.iter().all(|shape| is_closed(&shape.values))
}

/// What the columns that show one are called in the query, where no name of the table can meet one of
/// its own.
pub(super) fn aliases(column: &QueriedColumn) -> Vec<String> {
    let places = 0..column.column.shown_in.len();
    places.map(|place| format!("c{}_{place}", column.axis)).collect()
}

/// The ends of an ordered column, whether it shows the missing value and whether it shows anything.
pub(super) struct Ends {
    pub(super) lo: String,
    pub(super) hi: String,
    has_missing: String,
    is_any: String,
}

pub(super) fn ends(column: &QueriedColumn) -> Ends {
    let aliases = aliases(column);
    let yardstick = column.ground.yardstick().unwrap_or(Yardstick::Integer);
    let cast = |own: &str| format!("cast({own} as {})", sql_type(yardstick));
    match &aliases[..] {
        [min, max, rest @ ..] => {
            let has_missing = rest.first().map_or_else(
                || format!("{min} is null"),
                |flag| {
                    let flag = format!("lower(cast({flag} as varchar)) = 'true'");
                    format!("({min} is null or coalesce({flag}, false))")
                },
            );
            let [lo, hi] = [min, max].map(|own| cast(own));
            Ends { lo, hi, has_missing, is_any: "false".to_owned() }
        }
        shown_in => {
            let own = format!("cast({} as varchar)", shown_in[0]);
            let plain = format!("ltrim(translate({own}, '{{}}[]\"', ''), ', ')");
            let part = |place: u8| format!("nullif(split_part({plain}, ', ', {place}), '')");
            let number = |text: String| cast(&format!("nullif({text}, '*')"));
            Ends {
                lo: number(part(1)),
                hi: number(format!("coalesce({}, {})", part(2), part(1))),
                has_missing: format!("({own} is null or {own} like '{{,%')"),
                is_any: format!("coalesce({own} in ('*', '{{, *}}'), false)"),
            }
        }
    }
}

/// The type that values are cast to: one that holds them exactly.
fn sql_type(yardstick: Yardstick) -> String {
    match yardstick {
        Yardstick::Integer | Yardstick::Whole(0) => "decimal(38, 0)".to_owned(),
        Yardstick::Whole(scale) | Yardstick::Decimal(scale) => format!("decimal(38, {scale})"),
        Yardstick::Date => "date".to_owned(),
        Yardstick::Day | Yardstick::Timestamp => "timestamp".to_owned(),
        Yardstick::Float => "float8".to_owned(),
    }
}

/// A value of an ordered column.
pub(super) fn literal(yardstick: Yardstick, key: i64) -> String {
    let own = yardstick.text(key);
    match yardstick {
        Yardstick::Date => format!("date {}", text(&own)),
        Yardstick::Day | Yardstick::Timestamp => format!("timestamp {}", text(&own)),
        Yardstick::Float => format!("cast({} as float8)", text(&own)),
        _ if own.starts_with('-') => format!("({own})"),
        _ => own,
    }
}

/// A share, which is no decimal: products of several would have too many digits.
pub(super) fn double(share: f64) -> String {
    format!("cast({share} as float8)")
}

/// How far two values lie apart.
fn distance(yardstick: Yardstick, greater: &str, lesser: &str) -> String {
    match yardstick {
        Yardstick::Day | Yardstick::Timestamp => {
            format!("(extract(epoch from {greater}) - extract(epoch from {lesser}))")
        }
        _ => format!("({greater} - {lesser})"),
    }
}

fn computed(
    column: &QueriedColumn,
    asked: &Asked,
    writer: &mut Writer<'_>,
) -> Result<AxisJudgement> {
    let Some(yardstick) = column.ground.yardstick() else { return Err(not_computed(column)) };
    let Ends { lo, hi, has_missing, is_any } = ends(column);
    let names = ["lo", "hi", "missing", "any"].map(|what| format!("q{}_{what}", column.axis));
    for (own, name) in [lo, hi, has_missing, is_any].into_iter().zip(&names) {
        let shown = format!("{own} as {name}");
        if !writer.columns.contains(&shown) {
            writer.columns.push(shown);
        }
    }
    let [lo, hi, has_missing, is_any] = names;
    let spans: Vec<[Option<SpanEnd>; 2]> =
        asked.spans.iter().filter_map(|&span| column.ground.span_ends(span)).collect();
    let some = |one: &dyn Fn(&[Option<SpanEnd>; 2]) -> String| -> String {
        let all: Vec<String> = spans.iter().map(one).collect();
        if all.is_empty() { "false".to_owned() } else { format!("({})", all.join(" or ")) }
    };
    let bounded = |value: &str, end: &Option<SpanEnd>, closed: &str, open: &str| match end {
        None => "true".to_owned(),
        Some(end) => {
            let sign = if end.is_in { closed } else { open };
            format!("{value} {sign} {}", literal(yardstick, end.key))
        }
    };
    let meets = some(&|[from, to]| {
        format!("({} and {})", bounded(&hi, from, ">=", ">"), bounded(&lo, to, "<=", "<"))
    });
    let inside = some(&|[from, to]| {
        format!("({} and {})", bounded(&lo, from, ">=", ">"), bounded(&hi, to, "<=", "<"))
    });
    let has = |value: &str| {
        some(&|[from, to]| {
            format!("({} and {})", bounded(value, from, ">=", ">"), bounded(value, to, "<=", "<"))
        })
    };
    let asks_missing = asked.missing;
    let by_missing = if asks_missing { has_missing.clone() } else { "false".to_owned() };
    let is_inside = format!(
        "(not {is_any} and ({} not {has_missing}) and ({lo} is null or {inside}))",
        if asks_missing { "true or" } else { "" }
    );
    let share = share(yardstick, [&lo, &hi], &spans, &meets);
    let whole = double(writer.table.share_of_any(column.axis, asked));
    let missing_share = u8::from(asks_missing);
    let share = format!(
        "case when {is_inside} then 1 when {is_any} then {whole} when {lo} is null then \
         {missing_share} when {has_missing} then 0.5 * {share} + 0.5 * {missing_share} else {share} \
         end"
    );
    let shown = Shown { lo: &lo, hi: &hi, has_missing: &has_missing, is_any: &is_any };
    let (known_inside, known_outside) =
        match known(&column.cells.notation, column.column.ends_are_values) {
            Known::Nothing | Known::All => ("0".to_owned(), "0".to_owned()),
            Known::Ends => shown.known(&by_missing, [&has(&lo), &has(&hi)]),
        };
    Ok(AxisJudgement {
        meets: format!("({is_any} or {by_missing} or ({lo} is not null and {meets}))"),
        inside: is_inside,
        share,
        known_inside,
        known_outside,
        join: None,
    })
}

/// The names of what an ordered column shows.
struct Shown<'a> {
    lo: &'a str,
    hi: &'a str,
    has_missing: &'a str,
    is_any: &'a str,
}

impl Shown<'_> {
    /// How many values that rows surely have are asked for, and how many are not: the missing one by
    /// its own condition, and both ends.
    fn known(&self, by_missing: &str, [lo_is_in, hi_is_in]: [&str; 2]) -> (String, String) {
        let Shown { lo, hi, has_missing, is_any } = self;
        let one_if = |own: &str| format!("case when {own} then 1 else 0 end");
        let inside = format!(
            "{} + {} + {}",
            one_if(by_missing),
            one_if(&format!("{lo} is not null and {lo_is_in}")),
            one_if(&format!("{hi} <> {lo} and {hi_is_in}"))
        );
        let all = format!(
            "{} + {} + {}",
            one_if(has_missing),
            one_if(&format!("{lo} is not null")),
            one_if(&format!("{hi} <> {lo}"))
        );
        let unless_any = |own: &str| format!("case when {is_any} then 0 else {own} end");
        (unless_any(&inside), unless_any(&format!("{all} - ({inside})")))
    }
}

/// The share of an interval that lies in some spans.
fn share(
    yardstick: Yardstick,
    [lo, hi]: [&str; 2],
    spans: &[[Option<SpanEnd>; 2]],
    meets: &str,
) -> String {
    let is_counted = yardstick.is_counted();
    let end = |value: &str, end: &Option<SpanEnd>, which: &str, step: i64| match end {
        None => value.to_owned(),
        Some(end) => {
            let key = if is_counted { yardstick.next_counted(*end, step) } else { end.key };
            format!("{which}({value}, {})", literal(yardstick, key))
        }
    };
    let lengths: Vec<String> = spans
        .iter()
        .map(|[from, to]| {
            let (first, last) = (end(lo, from, "greatest", 1), end(hi, to, "least", -1));
            let length = distance(yardstick, &last, &first);
            match is_counted {
                true => format!("greatest(0, {length} + 1)"),
                false => format!("greatest(0, {length})"),
            }
        })
        .collect();
    let length = if lengths.is_empty() { "0".to_owned() } else { lengths.join(" + ") };
    let whole = distance(yardstick, hi, lo);
    match is_counted {
        true => format!("cast({length} as float8) / ({whole} + 1)"),
        false => format!(
            "case when {hi} = {lo} then case when {meets} then 1 else 0 end else cast({length} as \
             float8) / {whole} end"
        ),
    }
}

/// What is asked of a column that left as it came.
fn carried(column: &QueriedColumn, asked: &Asked) -> Result<String> {
    let own = &aliases(column)[0];
    let missing = if asked.missing { format!("{own} is null") } else { "false".to_owned() };
    if let Some(yardstick) = column.ground.yardstick() {
        let value = format!("cast({own} as {})", sql_type(yardstick));
        let spans = asked.spans.iter().filter_map(|&span| column.ground.span_ends(span));
        let ranges: Vec<String> = spans
            .map(|[from, to]| {
                let bound = |end: Option<SpanEnd>, closed: &str, open: &str| match end {
                    None => "true".to_owned(),
                    Some(end) => {
                        let sign = if end.is_in { closed } else { open };
                        format!("{value} {sign} {}", literal(yardstick, end.key))
                    }
                };
                format!(
                    "({own} is not null and {} and {})",
                    bound(from, ">=", ">"),
                    bound(to, "<=", "<")
                )
            })
            .collect();
        return Ok(format!(
            "({missing}{})",
            ranges.iter().map(|own| format!(" or {own}")).collect::<String>()
        ));
    }
    let mut names: Vec<String> = Vec::new();
    let texts = column.cells.texts.iter().flatten();
    for (shape, own) in column.cells.shapes.iter().zip(texts) {
        if column.ground.cover(shape).is_inside(asked) {
            names.extend(own.as_deref().map(text));
        }
    }
    if names.len() > super::MAX_LISTED {
        return Err(super::too_many_listed(&column.column, names.len()));
    }
    let is_one = match names.is_empty() {
        true => "false".to_owned(),
        false => format!("coalesce(cast({own} as varchar) in ({}), false)", names.join(", ")),
    };
    Ok(format!("({missing} or {is_one})"))
}

pub(super) fn not_computed(column: &QueriedColumn) -> Error {
    Error::usage(
        format!("what '{}' shows cannot be told in SQL", column.column.name),
        "ask the release itself, without SQL",
    )
}
