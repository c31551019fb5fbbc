//! What the cells of a release show, read from their text.

use super::column::{Column, Shown};
use super::files::Texts;
use super::value::Value;

/// What a class shows on one column.
#[derive(Debug, PartialEq)]
pub struct Cover {
    pub with_missing: bool,
    pub rest: Rest,
}

/// What a class shows besides the missing value.
#[derive(Debug, PartialEq)]
pub enum Rest {
    Nothing,
    Between(Value, Value),
    Names(Vec<String>),
    Label(String),
}

/// The columns of a release that show one column of the table.
pub fn places(column: &Column, release: &Texts) -> Vec<usize> {
    names(column, release).iter().map(|name| release.place(name)).collect()
}

/// Their names. That missing values are shown is told only where some are.
pub fn names(column: &Column, release: &Texts) -> Vec<String> {
    let name = &column.name;
    if column.shown != Shown::Bounds {
        return vec![name.clone()];
    }
    let flag = format!("{name}_missing");
    let has_flag = release.header.contains(&flag);
    if has_flag {
        let place = release.place(&flag);
        assert!(release.rows.iter().any(|row| row[place] == "true"), "{name} shows none missing");
    }
    let bounds = [format!("{name}_min"), format!("{name}_max")];
    bounds.into_iter().chain(has_flag.then_some(flag)).collect()
}

/// Reads what a class shows.
pub fn read(column: &Column, texts: &[&str]) -> Cover {
    let value = |text: &str| Value::read(column.kind, text);
    if column.shown == Shown::Bounds {
        let with_missing = texts.get(2) == Some(&"true");
        let rest = match (value(texts[0]), value(texts[1])) {
            (Value::Missing, Value::Missing) => Rest::Nothing,
            (lo, hi) => Rest::Between(lo, hi),
        };
        return Cover { with_missing, rest };
    }
    let text = texts[0];
    if text.is_empty() {
        return Cover { with_missing: true, rest: Rest::Nothing };
    }
    let inner = text.strip_prefix('{').map(|rest| rest.strip_suffix('}').expect("a set ends"));
    // A name in quotes is read like the only member of a set.
    let name = || members(text).concat();
    let name = || if text.starts_with('"') { name() } else { text.to_owned() };
    let with_missing = inner.is_some_and(|inner| inner.starts_with(", "));
    let rest = match column.shown {
        Shown::Interval => {
            let shown = inner.map_or(text, |inner| &inner[2..]);
            let range = shown.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            let (lo, hi) =
                range.map_or((shown, shown), |range| range.split_once(", ").expect("two bounds"));
            Rest::Between(value(lo), value(hi))
        }
        Shown::Set => match inner.map(members) {
            None => Rest::Names(vec![value(&name()).canonical(column.kind)]),
            Some(members) => Rest::Names(members[usize::from(with_missing)..].to_vec()),
        },
        Shown::Label => Rest::Label(match inner.map(members) {
            None => name(),
            Some(members) => {
                assert!(members.len() == 2 && with_missing, "a label, or one with the missing");
                members[1].clone()
            }
        }),
        Shown::Bounds => unreachable!("read above"),
    };
    Cover { with_missing, rest }
}

/// The members of a set, letter by letter.
fn members(inner: &str) -> Vec<String> {
    let mut members = vec![String::new()];
    let mut in_quotes = false;
    let mut letters = inner.chars().peekable();
    while let Some(letter) = letters.next() {
        let member = members.last_mut().expect("one is open");
        match letter {
            '"' if in_quotes && letters.peek() == Some(&'"') => {
                letters.next();
                member.push('"');
            }
            '"' => in_quotes = !in_quotes,
            ',' if !in_quotes => {
                assert_eq!(letters.next(), Some(' '), "a space follows a comma");
                members.push(String::new());
            }
            letter => member.push(letter),
        }
    }
    assert!(!in_quotes, "a quote is never closed");
    members
}

impl Cover {
    /// Whether a row with this value may stand behind the cell.
    pub fn covers(&self, column: &Column, value: &Value) -> bool {
        if value.is_missing() {
            return self.with_missing;
        }
        match &self.rest {
            Rest::Nothing => false,
            Rest::Between(lo, hi) => lo <= value && value <= hi,
            Rest::Names(names) => names.contains(&value.canonical(column.kind)),
            Rest::Label(label) => {
                let tree = column.tree.as_ref().expect("labels come from a hierarchy");
                tree.is_under(&value.canonical(column.kind), label)
            }
        }
    }

    /// Whether a value may stand behind both cells; for intervals and sets.
    pub fn meets(&self, other: &Cover) -> bool {
        (self.with_missing && other.with_missing)
            || match (&self.rest, &other.rest) {
                (Rest::Nothing, _) | (_, Rest::Nothing) => false,
                (Rest::Between(lo, hi), Rest::Between(from, to)) => lo <= to && from <= hi,
                (Rest::Names(names), Rest::Names(others)) => {
                    names.iter().any(|name| others.contains(name))
                }
                _ => unreachable!("one column is shown in one way"),
            }
    }

    /// The one number at which two intervals of floats touch.
    pub fn touches_at(&self, other: &Cover) -> Option<&Value> {
        let (Rest::Between(lo, hi), Rest::Between(from, to)) = (&self.rest, &other.rest) else {
            return None;
        };
        match (hi == from, to == lo) {
            _ if self.with_missing && other.with_missing => None,
            (true, false) if matches!(hi, Value::Float(_)) => Some(hi),
            (false, true) if matches!(lo, Value::Float(_)) => Some(lo),
            _ => None,
        }
    }

    /// The least that covers these values.
    pub fn tightest(column: &Column, values: &[&Value]) -> Cover {
        let with_missing = values.iter().any(|value| value.is_missing());
        let mut present: Vec<&Value> =
            values.iter().copied().filter(|value| !value.is_missing()).collect();
        present.sort_unstable();
        present.dedup();
        let names = || present.iter().map(|value| value.canonical(column.kind)).collect();
        let rest = match (present.first(), column.shown) {
            (None, _) => Rest::Nothing,
            (Some(&first), Shown::Interval | Shown::Bounds) => {
                Rest::Between(first.clone(), present[present.len() - 1].clone())
            }
            (Some(_), Shown::Set) => Rest::Names(names()),
            (Some(_), Shown::Label) => {
                let tree = column.tree.as_ref().expect("labels come from a hierarchy");
                let leaves: Vec<String> = names();
                Rest::Label(tree.common_label(&leaves).to_owned())
            }
        };
        Cover { with_missing, rest }
    }

    /// The same, with the members of a set in one order.
    pub fn sorted(mut self) -> Cover {
        if let Rest::Names(names) = &mut self.rest {
            names.sort_unstable();
        }
        self
    }

    /// What the cell loses, from 0 to 1.
    pub fn loss(&self, column: &Column) -> f64 {
        let of_values = |n: usize| (n.max(1) - 1) as f64 / (column.n_values().max(2) - 1) as f64;
        match &self.rest {
            Rest::Nothing => 0.0,
            Rest::Names(names) => of_values(names.len() + usize::from(self.with_missing)),
            _ if self.with_missing => 1.0,
            Rest::Between(lo, hi) if lo == hi => 0.0,
            Rest::Between(lo, hi) => {
                let (first, last) = (&column.present[0], &column.present[column.present.len() - 1]);
                lo.half_distance(hi) / first.half_distance(last)
            }
            Rest::Label(_) => of_values(self.n_covered(column)),
        }
    }

    /// How many values may stand behind the cell.
    pub fn n_covered(&self, column: &Column) -> usize {
        let n_present = match &self.rest {
            Rest::Nothing => 0,
            Rest::Names(names) => names.len(),
            Rest::Between(lo, hi) => {
                column.present.iter().filter(|&value| lo <= value && value <= hi).count()
            }
            Rest::Label(label) => column.tree.as_ref().expect("a hierarchy").n_under(label),
        };
        n_present + usize::from(self.with_missing)
    }
}
