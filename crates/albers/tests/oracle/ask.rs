//! Random conditions, and how many rows of a table satisfy them, by a look at every row.

use std::path::Path;

use albers::{ColumnType, Job, QueryReport, Question, ReleaseBeside, Role, Silent, files, query};

use super::case::Case;
use super::column::Column;
use super::dice::Dice;
use super::value::Value;

/// A condition and the rows that satisfy it.
pub struct Ask {
    pub text: String,
    test: Box<dyn Fn(usize) -> bool>,
    /// Whether it looks at a carried column.
    pub is_carried: bool,
}

impl Ask {
    /// Draws a condition on the columns that a case publishes.
    pub fn draw(case: &Case, dice: &mut Dice) -> Ask {
        let published: Vec<&Column> = case
            .columns
            .iter()
            .filter(|own| matches!(own.role, Some(Role::Quasi | Role::Sensitive | Role::Keep)))
            .collect();
        let mut all = Ask::of_column(published[dice.below(published.len())], dice);
        for _ in 0..dice.below(4) {
            let one = Ask::of_column(published[dice.below(published.len())], dice);
            let is_and = dice.chance(0.7);
            let word = if is_and { "and" } else { "or" };
            let (a, b) = (all.test, one.test);
            all = Ask {
                text: format!("({}) {word} ({})", all.text, one.text),
                test: match is_and {
                    true => Box::new(move |row| a(row) && b(row)),
                    false => Box::new(move |row| a(row) || b(row)),
                },
                is_carried: all.is_carried || one.is_carried,
            };
        }
        all
    }

    /// What a release answers, with its codebook or without.
    pub fn answered(&self, release: &Path, with_codebook: bool) -> Result<QueryReport, String> {
        self.asked(release, with_codebook).map_err(|error| error.to_string())
    }

    #[expect(clippy::result_large_err, reason = "the error of the library, as it is")]
    fn asked(&self, release: &Path, with_codebook: bool) -> albers::Result<QueryReport> {
        let job = Job::default();
        let manifest = files::manifest_of(&job, release, None)?;
        let codebook = files::codebook_of(&job, release)?.filter(|_| with_codebook);
        let beside = ReleaseBeside { manifest: manifest.as_ref(), codebook: codebook.as_ref() };
        let source = files::open_table(&job, release, None)?;
        let question = Question { conditions: vec![self.text.clone()], ..Question::default() };
        query(&job, source.as_ref(), &beside, &question, &Silent)
    }

    /// Rows of a table that satisfy it.
    pub fn n_rows(&self, n_rows: usize) -> u64 {
        (0..n_rows).filter(|&row| (self.test)(row)).count() as u64
    }

    fn of_column(column: &Column, dice: &mut Dice) -> Ask {
        let name = format!("\"{}\"", column.name.replace('"', "\"\""));
        let is_carried = column.role != Some(Role::Quasi);
        let values = column.values.clone();
        let ask = |text: String, test: Box<dyn Fn(&Value) -> bool>| Ask {
            text,
            test: Box::new(move |row| test(&values[row])),
            is_carried,
        };
        if column.present.is_empty() || dice.chance(0.05) {
            return ask(format!("{name} is null"), Box::new(Value::is_missing));
        }
        if dice.chance(0.05) {
            return ask(format!("{name} is not null"), Box::new(|own| !own.is_missing()));
        }
        let style = dice.below(4);
        let literal = |value: &Value| {
            let text = value.canonical(column.kind);
            match value {
                // Numbers can be written in several ways.
                Value::Ticks(ticks) if column.kind == ColumnType::Decimal && style == 0 => {
                    format!("{ticks}e-6")
                }
                Value::Ticks(_) if column.kind == ColumnType::Integer && style == 0 => {
                    format!("{text}.0")
                }
                Value::Name(_) => format!("'{}'", text.replace('\'', "''")),
                _ if column.kind.is_ordered() && text.contains('-') && !text.starts_with('-') => {
                    format!("'{text}'")
                }
                Value::Float(_) => format!("'{text}'"),
                _ => text,
            }
        };
        let (a, b) = (dice.pick(&column.present).clone(), dice.pick(&column.present).clone());
        let (lo, hi) = if a <= b { (a, b) } else { (b, a) };
        let has = |own: &Value, test: bool| !own.is_missing() && test;
        let is_named = matches!(column.kind, ColumnType::Text | ColumnType::Code);
        if is_named && dice.chance(0.2) {
            return ask(
                format!("{name} between {} and {}", literal(&lo), literal(&hi)),
                Box::new(move |own| has(own, lo <= *own && *own <= hi)),
            );
        }
        if !column.kind.is_ordered() || dice.chance(0.2) {
            return match dice.below(3) {
                0 => ask(format!("{name} = {}", literal(&lo)), Box::new(move |own| *own == lo)),
                1 => ask(
                    format!("{name} <> {}", literal(&lo)),
                    Box::new(move |own| has(own, *own != lo)),
                ),
                _ => ask(
                    format!("{name} in ({}, {})", literal(&lo), literal(&hi)),
                    Box::new(move |own| *own == lo || *own == hi),
                ),
            };
        }
        match dice.below(4) {
            0 => ask(
                format!("{name} between {} and {}", literal(&lo), literal(&hi)),
                Box::new(move |own| has(own, lo <= *own && *own <= hi)),
            ),
            1 => ask(
                format!("{name} > {} and {name} < {}", literal(&lo), literal(&hi)),
                Box::new(move |own| has(own, lo < *own && *own < hi)),
            ),
            2 => ask(
                format!("not {name} <= {}", literal(&lo)),
                Box::new(move |own| has(own, *own > lo)),
            ),
            _ => ask(
                format!("{name} <= {}", literal(&hi)),
                Box::new(move |own| has(own, *own <= hi)),
            ),
        }
    }
}
