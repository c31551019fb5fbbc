//! The cells of a column, and what conditions ask of it, as positions of one axis.
//!
//! All ends that occur in cells and in conditions are positions, so that every question about values
//! becomes an exact one about whole numbers. How long positions are decides the estimate alone:
//! whole numbers and days count, other numbers and times have lengths, names count each once, and of
//! names that begin alike each hidden letter is one of as many as occur.

use std::cmp::Ordering;

use albers_query::cells::Known;
use albers_query::{Asked, Cover, Missing, Scale};
use albers_table::hierarchy::Hierarchy;
use albers_table::schema::ColumnType;
use albers_table::value;
use rustc_hash::FxHashSet;

use super::line::{Lengths, Line};
use super::shape::{Edge, Notation, Shape, Values, places_of};
use super::yardstick::{KeyLengths, Yardstick, shorter_number};
use crate::condition::{Asks, ConditionError, Side, Test};

/// The positions of an axis.
pub(super) struct Ground {
    kind: GroundKind,
    column_type: Option<ColumnType>,
    /// Whether each cell may be anything.
    is_unread: bool,
    /// Whether cells may be beginnings of names.
    is_prefix: bool,
    /// Whether somebody says that values are names.
    are_names: bool,
}

enum GroundKind {
    Keys(Line<i64>, Yardstick),
    Texts(Line<String>),
    /// The leaves of a hierarchy in its order, and behind them whatever it does not know.
    Leaves(Hierarchy),
}

impl Ground {
    /// The positions of some cells and of what tests compare with.
    pub(super) fn of(
        notation: &Notation,
        shapes: &[Shape],
        tests: &[&Test],
        (column_type, is_sure): (Option<ColumnType>, bool),
    ) -> Result<Ground, ConditionError> {
        let kind = match notation {
            Notation::Ordered(yardstick) | Notation::Dates(yardstick) => {
                GroundKind::Keys(key_line(*yardstick, shapes, tests)?, *yardstick)
            }
            Notation::Names | Notation::Booleans | Notation::Unknown | Notation::Prefix => {
                GroundKind::Texts(text_line(notation, shapes, tests, column_type))
            }
            Notation::Labels(hierarchy) | Notation::Places(hierarchy) => {
                GroundKind::Leaves(hierarchy.clone())
            }
        };
        let is_unread = matches!(notation, Notation::Unknown);
        let is_prefix = matches!(notation, Notation::Prefix);
        let names = [ColumnType::Text, ColumnType::Code, ColumnType::Boolean];
        let are_names = is_sure && column_type.is_some_and(|own| names.contains(&own));
        Ok(Ground { kind, column_type, is_unread, is_prefix, are_names })
    }

    pub(super) fn n_positions(&self) -> u32 {
        self.last() + 1
    }

    fn last(&self) -> u32 {
        match &self.kind {
            GroundKind::Keys(line, _) => line.last(),
            GroundKind::Texts(line) => line.last(),
            GroundKind::Leaves(hierarchy) => hierarchy.n_leaves(),
        }
    }

    pub(super) fn scale(&self) -> Scale {
        match &self.kind {
            GroundKind::Keys(line, _) => Scale::Measured(line.edges().into()),
            GroundKind::Texts(line) => Scale::Measured(line.edges().into()),
            GroundKind::Leaves(hierarchy) => {
                let n_leaves = hierarchy.n_leaves();
                Scale::Measured((0..=n_leaves).chain([n_leaves]).map(f64::from).collect())
            }
        }
    }

    /// What a cell covers.
    pub(super) fn cover(&self, shape: &Shape) -> Cover {
        let missing = if shape.missing { Missing::Shown } else { Missing::No };
        match (&shape.values, &self.kind) {
            (Values::None, _) => Cover::missing(),
            (Values::Any, _) => Cover::range(0, self.last()).with(Missing::Possible),
            (Values::Range(lo, hi), GroundKind::Keys(line, _)) => {
                let at = |key: &i64| line.position(key).unwrap_or(0);
                let first = match lo {
                    Edge::At(key) => at(key),
                    Edge::Before(key) => at(key) + 1,
                    Edge::Open => 0,
                };
                let last = match hi {
                    Edge::At(key) => at(key),
                    Edge::Before(key) => at(key).saturating_sub(1),
                    Edge::Open => line.last(),
                };
                Cover::range(first, last.max(first)).with(missing)
            }
            (Values::Names(names), GroundKind::Texts(line)) => {
                let positions = names.iter().filter_map(|name| line.position(name));
                Cover::positions(positions.collect()).with(missing)
            }
            (Values::Prefix(stem), GroundKind::Texts(line)) => {
                let first = line.position(stem).unwrap_or(0);
                let end = successor(stem).and_then(|next| line.position(&next));
                Cover::range(first, end.map_or(line.last(), |end| end - 1)).with(missing)
            }
            (Values::Leaves(ranges), GroundKind::Leaves(_)) => {
                let leaves = ranges.iter().flat_map(|&(first, last)| first..=last);
                Cover::positions(leaves.collect()).with(missing)
            }
            _ => Cover::range(0, self.last()).with(Missing::Possible),
        }
    }

    /// What a test asks for; nothing on the axis satisfies a value that it does not have.
    pub(super) fn asked(&self, test: &Test) -> Result<Asked, ConditionError> {
        let whole = || Asked::range(0, self.last());
        Ok(match &test.asks {
            Asks::Missing(true) => Asked::missing(),
            Asks::Missing(false) => whole(),
            Asks::OneOf { values, negated } => {
                let mut asked = Asked::nothing();
                let mut others = Vec::new();
                for value in values {
                    asked = asked.or(&self.equal(value, test)?);
                    others.extend(self.other_text(value));
                }
                match negated {
                    // Which values are meant is not known.
                    true if self.is_unknown(test) => whole(),
                    false => others.iter().fold(asked, |all, own| all.or(&self.named(own))),
                    true => asked.opposite(self.n_positions()).and(&whole()),
                }
            }
            Asks::Bound(side, value) => self.on_side(*side, value, test)?,
        })
    }

    fn equal(&self, value: &str, test: &Test) -> Result<Asked, ConditionError> {
        Ok(match &self.kind {
            GroundKind::Keys(line, yardstick) => {
                let placed = placed(*yardstick, value, test)?;
                let floor = line.position(&placed.floor);
                match (floor, placed.is_exact, yardstick.is_discrete()) {
                    (Some(at), true, _) => Asked::range(at, at),
                    (Some(at), false, false) => Asked::range(at + 1, at + 1),
                    _ => Asked::nothing(),
                }
            }
            GroundKind::Texts(line) if self.is_prefix && is_beginning(value) => {
                let stem = value.trim_end_matches('*').to_owned();
                let end = successor(&stem).and_then(|next| line.position(&next));
                let last = end.map_or(line.last(), |end| end - 1);
                line.position(&stem).map_or_else(Asked::nothing, |at| Asked::range(at, last))
            }
            GroundKind::Texts(_) => self.named(&name_of(value, self.column_type)),
            GroundKind::Leaves(hierarchy) => match hierarchy.node_by_label(value) {
                Some(_) => self.named(value),
                None => leaves_where(hierarchy, self.are_names, value, &|order| order.is_eq()),
            },
        })
    }

    fn on_side(&self, side: Side, value: &str, test: &Test) -> Result<Asked, ConditionError> {
        let range = |first: Option<u32>, last: Option<u32>| match (first, last) {
            (Some(first), Some(last)) if first <= last => Asked::range(first, last),
            _ => Asked::nothing(),
        };
        Ok(match &self.kind {
            GroundKind::Keys(line, yardstick) => {
                let placed = placed(*yardstick, value, test)?;
                let (floor, ceiling) = (placed.floor, placed.ceiling());
                let is_between = !placed.is_exact && !yardstick.is_discrete();
                match side {
                    Side::From if is_between => {
                        range(line.position(&floor).map(|at| at + 1), Some(line.last()))
                    }
                    Side::UpTo if is_between => {
                        range(Some(0), line.position(&ceiling).map(|at| at - 1))
                    }
                    Side::From => range(line.position(&ceiling), Some(line.last())),
                    Side::Above => range(line.position(&floor).map(|at| at + 1), Some(line.last())),
                    Side::UpTo => range(Some(0), line.position(&floor)),
                    Side::Below => range(Some(0), line.position(&ceiling).map(|at| at - 1)),
                }
            }
            // Where nothing is known of any cell, each may satisfy whatever is asked.
            GroundKind::Texts(line) if self.is_unread => Asked::range(0, line.last()),
            GroundKind::Texts(line) => {
                if !self.has_order(line) {
                    let problem = format!(
                        "the texts of '{}' do not tell the order of their values",
                        test.column
                    );
                    let hint = "compare with = or in; texts are compared letter by letter where the \
                                type of the column is said to be text or code";
                    return Err(ConditionError::new(problem, hint).at(test.value_mark));
                }
                let at = line.position(&name_of(value, self.column_type));
                match side {
                    Side::From => range(at, Some(line.last())),
                    Side::Above => range(at.map(|at| at + 1), Some(line.last())),
                    Side::UpTo => range(Some(0), at),
                    Side::Below => range(Some(0), at.map(|at| at - 1)),
                }
            }
            GroundKind::Leaves(hierarchy) => {
                leaves_where(hierarchy, self.are_names, value, &|order| side.has(order))
            }
        })
    }

    /// Whether it is not known which cells a test asks for, though some may satisfy it.
    pub(super) fn is_unknown(&self, test: &Test) -> bool {
        let is_order = self.is_unread && matches!(test.asks, Asks::Bound(..));
        let is_between = |value: &str| match &self.kind {
            // Values with more digits than are told apart lie somewhere between two that are.
            GroundKind::Keys(_, yardstick) if !yardstick.is_discrete() => {
                yardstick.place(value).is_some_and(|own| !own.is_exact)
            }
            _ => false,
        };
        let mut values = test.values();
        is_order || values.any(|value| is_between(value) || self.other_text(value).is_some())
    }

    /// A text that means the same as one of a condition if both are numbers, where nobody says that
    /// they are names.
    fn other_text(&self, value: &str) -> Option<String> {
        let GroundKind::Texts(line) = &self.kind else { return None };
        shorter_number(value).filter(|_| !self.has_order(line))
    }

    /// Whether texts are in the order of what they stand for: names are, numbers are not. Where nobody
    /// says what they are, a letter or a leading zero shows that they are names.
    fn has_order(&self, line: &Line<String>) -> bool {
        let is_name = |text: &String| {
            let has_zero = value::has_leading_zero(text.as_bytes())
                && text.bytes().all(|byte| byte.is_ascii_digit());
            has_zero || text.chars().any(|own| own.is_alphabetic() && !matches!(own, 'e' | 'E'))
        };
        self.are_names || line.values().iter().any(is_name)
    }

    /// What asks for a name, or for a leaf.
    pub(super) fn named(&self, name: &str) -> Asked {
        match &self.kind {
            GroundKind::Keys(..) => Asked::nothing(),
            GroundKind::Texts(line) => line
                .position(&name.to_owned())
                .map_or_else(Asked::nothing, |at| Asked::range(at, at)),
            GroundKind::Leaves(hierarchy) => {
                let leaves = places_of(hierarchy, name).unwrap_or_default();
                Asked::positions(leaves.iter().flat_map(|&(first, last)| first..=last).collect())
            }
        }
    }

    /// The least and the greatest number of a cell that is asked for.
    pub(super) fn hull(&self, cover: &Cover, asked: &Asked) -> Option<(f64, f64)> {
        let GroundKind::Keys(line, yardstick) = &self.kind else { return None };
        let own = Asked { spans: cover.spans.clone(), missing: false }.and(asked);
        let (first, last) = (own.spans.first()?.0, own.spans.last()?.1);
        let (least, greatest) = line.hull(first, last)?;
        Some((yardstick.number(*least), yardstick.number(*greatest)))
    }

    /// The leaves of its hierarchy, where it has one.
    pub(super) fn leaves(&self) -> Option<Vec<String>> {
        match &self.kind {
            GroundKind::Leaves(hierarchy) => Some(hierarchy.leaves().map(str::to_owned).collect()),
            _ => None,
        }
    }

    /// Where a span of positions begins and ends; nothing where it is open. Only where values are
    /// ordered.
    pub(super) fn span_ends(&self, (first, last): (u32, u32)) -> Option<[Option<SpanEnd>; 2]> {
        let GroundKind::Keys(line, _) = &self.kind else { return None };
        let end = |position: u32, inward: i64| {
            let own = line.value_at(position).map(|&key| SpanEnd { key, is_in: true });
            own.or_else(|| {
                let beyond = u32::try_from(i64::from(position) - inward).ok()?;
                line.value_at(beyond).map(|&key| SpanEnd { key, is_in: false })
            })
        };
        Some([end(first, 1), end(last, -1)])
    }

    /// The value at a position, where it is one.
    pub(super) fn value_at(&self, position: u32) -> Option<i64> {
        match &self.kind {
            GroundKind::Keys(line, _) => line.value_at(position).copied(),
            _ => None,
        }
    }

    /// How long a position is.
    pub(super) fn length_at(&self, position: u32) -> f64 {
        match &self.kind {
            GroundKind::Keys(line, _) => line.length_at(position),
            GroundKind::Texts(line) => line.length_at(position),
            GroundKind::Leaves(_) => 1.0,
        }
    }

    /// The type of its values, for messages.
    pub(super) fn yardstick(&self) -> Option<Yardstick> {
        match &self.kind {
            GroundKind::Keys(_, yardstick) => Some(*yardstick),
            _ => None,
        }
    }
}

/// Whether a text of a condition stands for all names that begin with it.
fn is_beginning(value: &str) -> bool {
    value.len() > 1 && value.ends_with('*')
}

/// The leaves that compare so with a value: in the order of what all of them are, or by letters.
fn leaves_where(
    hierarchy: &Hierarchy,
    are_names: bool,
    value: &str,
    is_asked: &dyn Fn(Ordering) -> bool,
) -> Asked {
    let leaves: Vec<&str> = hierarchy.leaves().collect();
    let yardstick = Yardstick::of_texts(leaves.iter().copied()).filter(|_| !are_names);
    let yardstick = yardstick.map(|own| own.with_digits_of([value].into_iter()));
    let placed = yardstick.and_then(|own| own.place(value).map(|placed| (own, placed)));
    let order = |leaf: &str| match placed {
        Some((yardstick, placed)) => {
            let order = yardstick.key(leaf).map(|key| key.cmp(&placed.floor));
            // What lies between two keys is above the lower one.
            match order {
                Some(Ordering::Equal) if !placed.is_exact => Ordering::Less,
                Some(order) => order,
                None => leaf.cmp(value),
            }
        }
        None => leaf.cmp(value),
    };
    let asked = leaves.iter().filter(|leaf| is_asked(order(leaf)));
    let places = asked.filter_map(|leaf| places_of(hierarchy, leaf));
    Asked::positions(places.flatten().map(|(first, _)| first).collect())
}

/// Where a span of positions begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SpanEnd {
    /// The value there.
    pub(super) key: i64,
    /// Whether it belongs to the span.
    pub(super) is_in: bool,
}

/// Which values rows of a class surely have, by how the column is shown.
pub(super) fn known(notation: &Notation, ends_are_values: bool) -> Known {
    match notation {
        Notation::Ordered(_) if ends_are_values => Known::Ends,
        Notation::Names if ends_are_values => Known::All,
        _ => Known::Nothing,
    }
}

/// A name as cells have it.
fn name_of(value: &str, column_type: Option<ColumnType>) -> String {
    let canonical = column_type.and_then(|own| value::canonical(own, value));
    canonical.unwrap_or_else(|| value.to_owned())
}

fn placed(
    yardstick: Yardstick,
    value: &str,
    test: &Test,
) -> Result<super::yardstick::Placed, ConditionError> {
    yardstick.place(value).ok_or_else(|| {
        let kind = match yardstick {
            Yardstick::Day => ColumnType::Date,
            other => other.column_type(),
        };
        let example = match yardstick {
            Yardstick::Date | Yardstick::Day => "a date is written as '2020-12-31'",
            Yardstick::Timestamp => "a point in time is written as '2020-12-31 23:59'",
            _ => "write a number without quotes",
        };
        let problem =
            format!("column '{}' holds values of type {kind}, and this is none", test.column);
        ConditionError::new(problem, example).at(test.value_mark)
    })
}

/// The values that tests compare with.
fn literals<'t>(tests: &'t [&Test]) -> impl Iterator<Item = (&'t str, &'t Test)> {
    tests.iter().flat_map(|test| test.values().map(move |value| (value, *test)))
}

fn key_line(
    yardstick: Yardstick,
    shapes: &[Shape],
    tests: &[&Test],
) -> Result<Line<i64>, ConditionError> {
    let mut keys = Vec::with_capacity(2 * shapes.len());
    let (mut n_finite, mut length, mut has_open) = (0u32, 0.0, false);
    for shape in shapes {
        let Values::Range(lo, hi) = &shape.values else { continue };
        let key = |edge: &Edge| match edge {
            Edge::At(key) | Edge::Before(key) => Some(*key),
            Edge::Open => None,
        };
        match (key(lo), key(hi)) {
            (Some(lo), Some(hi)) => {
                n_finite += 1;
                length += yardstick.number(hi) - yardstick.number(lo);
            }
            _ => has_open = true,
        }
        keys.extend([key(lo), key(hi)].into_iter().flatten());
    }
    for (value, test) in literals(tests) {
        let placed = placed(yardstick, value, test)?;
        keys.extend([placed.floor, placed.ceiling()]);
    }
    let beyond = if has_open { (length / f64::from(n_finite.max(1))).max(1.0) } else { 0.0 };
    Ok(Line::of(keys, &KeyLengths { yardstick, beyond }))
}

fn text_line(
    notation: &Notation,
    shapes: &[Shape],
    tests: &[&Test],
    column_type: Option<ColumnType>,
) -> Line<String> {
    let mut texts: FxHashSet<String> = FxHashSet::default();
    for shape in shapes {
        match &shape.values {
            Values::Names(names) => texts.extend(names.iter().cloned()),
            Values::Prefix(stem) => {
                texts.insert(stem.clone());
                texts.extend(successor(stem));
            }
            _ => {}
        }
    }
    for (value, _) in literals(tests) {
        texts.insert(name_of(value, column_type));
        texts.extend(shorter_number(value));
        if is_beginning(value) {
            let stem = value.trim_end_matches('*').to_owned();
            texts.extend(successor(&stem));
            texts.insert(stem);
        }
    }
    match notation {
        Notation::Prefix => {
            let letters = Letters::of(shapes, tests);
            Line::of(texts.into_iter().collect(), &letters)
        }
        Notation::Unknown => {
            // Each text may be any of as many values as there are texts.
            let others = shapes.len().saturating_sub(texts.len()) as f64;
            Line::of(texts.into_iter().collect(), &NameLengths { beyond: others / 2.0 })
        }
        _ => Line::of(texts.into_iter().collect(), &NameLengths { beyond: 0.0 }),
    }
}

/// Names count each once.
struct NameLengths {
    beyond: f64,
}

impl Lengths<String> for NameLengths {
    fn of_value(&self, _value: &String) -> f64 {
        1.0
    }

    fn between(&self, _below: &String, _above: &String) -> Option<f64> {
        Some(0.0)
    }

    fn beyond(&self) -> f64 {
        self.beyond
    }
}

/// Names that begin alike, as numbers between 0 and 1: every letter is a digit.
struct Letters {
    /// The letters that occur, ascending.
    alphabet: Vec<char>,
    /// How many letters a name has at most.
    n_letters: i32,
}

impl Letters {
    fn of(shapes: &[Shape], tests: &[&Test]) -> Letters {
        let mut alphabet: Vec<char> = ('0'..='9').collect();
        let mut n_letters = 1;
        let mut add = |text: &str, n_hidden: usize| {
            alphabet.extend(text.chars());
            n_letters = n_letters.max(text.chars().count() + n_hidden);
        };
        for shape in shapes {
            match &shape.values {
                Values::Names(names) => names.iter().for_each(|name| add(name, 0)),
                Values::Prefix(stem) => add(stem, 1),
                _ => {}
            }
        }
        literals(tests).for_each(|(value, _)| add(value, 0));
        alphabet.sort_unstable();
        alphabet.dedup();
        Letters { alphabet, n_letters: n_letters as i32 }
    }

    fn base(&self) -> f64 {
        self.alphabet.len() as f64
    }

    fn number(&self, text: &str) -> f64 {
        let digit = |letter: char| self.alphabet.partition_point(|&own| own < letter) as f64;
        let places = text.chars().zip(1..);
        places.map(|(letter, place)| digit(letter) / self.base().powi(place)).sum()
    }
}

impl Lengths<String> for Letters {
    fn of_value(&self, value: &String) -> f64 {
        let is_whole = value.chars().count() as i32 == self.n_letters;
        if is_whole { self.base().powi(-self.n_letters) } else { 0.0 }
    }

    fn between(&self, below: &String, above: &String) -> Option<f64> {
        let length = self.number(above) - self.number(below) - self.of_value(below);
        Some(length.max(0.0))
    }

    fn beyond(&self) -> f64 {
        0.0
    }
}

/// The least text that is greater than all that begin with this one.
fn successor(stem: &str) -> Option<String> {
    let mut letters: Vec<char> = stem.chars().collect();
    while let Some(last) = letters.pop() {
        let next = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32);
        if let Some(next) = next {
            letters.push(next);
            return Some(letters.into_iter().collect());
        }
    }
    None
}
