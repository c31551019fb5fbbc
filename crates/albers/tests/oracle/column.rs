//! Columns of random tables.

use std::collections::BTreeSet;

use albers::{Categories, ColumnType, Role};

use super::dice::Dice;
use super::tree::Tree;
use super::value::{self, Value};

/// How a quasi-identifier is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shown {
    Interval,
    Bounds,
    Set,
    Label,
}

/// A column of the table.
pub struct Column {
    pub name: String,
    pub role: Option<Role>,
    pub kind: ColumnType,
    pub cells: Vec<String>,
    pub values: Vec<Value>,
    /// The values that occur, each once and in order, the missing one left out.
    pub present: Vec<Value>,
    pub has_missing: bool,
    pub tree: Option<Tree>,
    pub shown: Shown,
    pub weight: f64,
}

impl Column {
    fn new(name: &str, role: Option<Role>, kind: ColumnType, cells: Vec<String>) -> Column {
        let values: Vec<Value> = cells.iter().map(|cell| Value::read(kind, cell)).collect();
        let mut present: Vec<Value> =
            values.iter().filter(|value| !value.is_missing()).cloned().collect();
        present.sort_unstable();
        present.dedup();
        Column {
            name: name.to_owned(),
            role,
            kind,
            cells,
            has_missing: values.iter().any(Value::is_missing),
            values,
            present,
            tree: None,
            shown: Shown::Set,
            weight: 1.0,
        }
    }

    /// Draws a quasi-identifier or a sensitive column.
    pub fn draw(dice: &mut Dice, name: &str, role: Role, n_rows: usize) -> Column {
        const KINDS: [ColumnType; 7] = [
            ColumnType::Integer,
            ColumnType::Decimal,
            ColumnType::Float,
            ColumnType::Date,
            ColumnType::Boolean,
            ColumnType::Text,
            ColumnType::Code,
        ];
        let kind = *dice.pick(&KINDS);
        let n_pool = match role {
            Role::Sensitive => 1 + dice.below(6),
            _ => *dice.pick(&[1, 2, 5, 20, 100, 1000]),
        };
        let pool = draw_pool(dice, kind, n_pool);
        let share_missing = *dice.pick(&[0.0, 0.0, 0.0, 0.1, 0.5, 0.97]);
        let is_skewed = dice.chance(0.5);
        let cell = |_: usize| {
            if dice.chance(share_missing) {
                return String::new();
            }
            let at = dice.below(pool.len());
            pool[if is_skewed { at.min(dice.below(pool.len())) } else { at }].clone()
        };
        Column::new(name, Some(role), kind, (0..n_rows).map(cell).collect())
    }

    /// What a hierarchy of the values that occur stands on.
    pub fn leaves(&self) -> Vec<String> {
        let names = self.present.iter().map(|value| value.canonical(self.kind));
        names.collect::<BTreeSet<String>>().into_iter().collect()
    }

    /// How it is shown as a quasi-identifier.
    pub fn shown_by(&self, categories: Option<Categories>, as_bounds: bool) -> Shown {
        match (self.tree.is_some() && categories != Some(Categories::Set), as_bounds) {
            (true, _) => Shown::Label,
            _ if !self.kind.is_ordered() => Shown::Set,
            (false, true) => Shown::Bounds,
            (false, false) => Shown::Interval,
        }
    }

    /// Its values as far as a class can show them: the leaves of the hierarchy if it has one and is
    /// not shown by bounds, else what occurs; and the missing value if it occurs.
    pub fn n_values(&self) -> usize {
        let of_tree = self.tree.as_ref().map(|tree| tree.paths.len());
        let n_present = match self.shown {
            Shown::Interval | Shown::Bounds => self.present.len(),
            Shown::Set | Shown::Label => of_tree.unwrap_or(self.present.len()),
        };
        n_present + usize::from(self.has_missing)
    }
}

/// The columns besides quasi-identifiers and sensitive ones.
pub fn plain(dice: &mut Dice, n_rows: usize) -> Vec<Column> {
    let text = |name, role, cells| Column::new(name, role, ColumnType::Text, cells);
    let numbered = |word: &str| (0..n_rows).map(|row| format!("{word}{row}")).collect();
    let mut columns = Vec::new();
    if dice.chance(0.85) {
        columns.push(text("id", Some(Role::Keep), numbered("id ")));
    }
    if dice.chance(0.3) {
        let cells = (0..n_rows).map(|row| ["x", "", "y, \"z\""][row % 3].to_owned()).collect();
        columns.push(text("note", Some(Role::Keep), cells));
    }
    if dice.chance(0.3) {
        columns.push(text("name", Some(Role::Identifier), numbered("person ")));
    }
    if dice.chance(0.3) {
        columns.push(text("extra", None, numbered("extra ")));
    }
    if dice.chance(0.3) {
        let n_persons = 1 + dice.below(n_rows);
        let cells = (0..n_rows).map(|_| match dice.below(n_persons + 1) {
            0 => String::new(),
            person => format!("subject {person}"),
        });
        columns.push(text("subject", Some(Role::Subject), cells.collect()));
    }
    columns
}

/// A kept column of few values, some of them missing.
pub fn told(dice: &mut Dice, n_rows: usize) -> Column {
    let cells = (0..n_rows).map(|_| ["yes", "no", "perhaps", ""][dice.below(4)].to_owned());
    Column::new("told", Some(Role::Keep), ColumnType::Text, cells.collect())
}

/// Texts that a column takes its cells from.
fn draw_pool(dice: &mut Dice, kind: ColumnType, n_pool: usize) -> Vec<String> {
    const NAMES: [&str; 13] = [
        "a",
        "ab",
        "abc",
        "b, c",
        " d",
        "say \"e\"",
        "[1, 2]",
        "new\nline",
        "Ärger",
        "{a, ab}",
        "\"quoted\"",
        "(x; y)",
        "{",
    ];
    let flavour = dice.below(3);
    let draw = |at: usize| match (kind, flavour) {
        (ColumnType::Integer, 0) => dice.between(0, 99).to_string(),
        (ColumnType::Integer, 1) => (dice.bits() as i64).to_string(),
        (ColumnType::Integer, _) => dice.between(-2_000_000_000, 2_000_000_000).to_string(),
        (ColumnType::Decimal, 0) => {
            let n_digits = dice.below(4);
            let sign = if dice.chance(0.3) { "-" } else { "" };
            // With a zero at the end beside a whole number they might be thousands.
            let (whole, fraction) = (dice.below(10), dice.below(1000) | 1);
            let text = format!("{sign}{whole}.{fraction:03}");
            text[..text.len() - 3 + n_digits].trim_end_matches('.').to_owned()
        }
        (ColumnType::Decimal, _) => {
            format!("{}.{:02}", dice.between(1, 5_000_000_000), dice.below(100))
        }
        (ColumnType::Float, 0) => (dice.unit() * 10.0 - 5.0).to_string(),
        (ColumnType::Float, 1) => format!("{}e{}", dice.unit(), dice.between(-300, 300)),
        (ColumnType::Float, _) => (dice.between(-4, 4) as f64 * 0.25).to_string(),
        (ColumnType::Date, 0) => value::date(dice.between(43_000, 43_100).into()),
        (ColumnType::Date, _) => value::date(dice.between(0, 70_000).into()),
        (ColumnType::Boolean, _) => ["true", "False"][at % 2].to_owned(),
        (ColumnType::Code, _) => format!("{:05}", dice.below(2000) * 37),
        (ColumnType::Text, 0) => NAMES[at % NAMES.len()].to_owned(),
        (ColumnType::Text, _) => format!("name {}", dice.below(500)),
        (ColumnType::Timestamp, _) => unreachable!("not drawn"),
    };
    (0..n_pool).map(draw).collect()
}
