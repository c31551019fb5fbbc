//! Of which attributes queries ask.

use std::str::FromStr;

use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::domain::Domain;

use super::draw::OnAttributes;
use crate::error::{Error, Result};

const USE: &str = "use a number such as 2, numbers such as 1..3, or names of columns";

/// Of which attributes queries ask: of all, of so many that are drawn for each query, or of these.
///
/// A text is `3`, `1..3` (numbers in turn), `1..` (up to all) or names between commas. What reads
/// as a number is one: a column of such a name, or with a comma in it, stands in double quotes.
///
/// ```
/// use albers::Predicates;
///
/// assert_eq!("1..3".parse(), Ok(Predicates::Numbers { least: 1, most: Some(3) }));
/// assert_eq!("\"3\", age".parse(), Ok(Predicates::Columns(vec!["3".into(), "age".into()])));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Predicates {
    /// Of all of them.
    #[default]
    All,
    /// Of some at random: one query of the least number, the next of one more, up to the greatest,
    /// and again.
    Numbers {
        /// The least number.
        least: usize,
        /// The greatest one; nothing for all attributes.
        most: Option<usize>,
    },
    /// Of these.
    Columns(Vec<String>),
}

impl FromStr for Predicates {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Predicates, String> {
        let text = text.trim();
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let number = |text: &str| -> std::result::Result<usize, String> {
            text.parse().map_err(|_| format!("the number is too large; {USE}"))
        };
        if text.is_empty() {
            return Err(format!("nothing is named; {USE}"));
        }
        if is_number(text) {
            let least = number(text)?;
            return Predicates::numbers(least, Some(least));
        }
        if let Some((least, most)) = text.split_once("..")
            && !least.is_empty()
            && is_number(least)
            && is_number(most)
        {
            let most = if most.is_empty() { None } else { Some(number(most)?) };
            return Predicates::numbers(number(least)?, most);
        }
        names_of(text).map(Predicates::Columns)
    }
}

impl Predicates {
    fn numbers(least: usize, most: Option<usize>) -> std::result::Result<Predicates, String> {
        match (least, most) {
            (0, _) => Err(format!("a query asks of one column at least; {USE}")),
            (least, Some(most)) if most < least => {
                Err(format!("the least number is above the greatest; {USE}"))
            }
            _ => Ok(Predicates::Numbers { least, most }),
        }
    }

    /// The attributes of a table that are meant.
    pub(super) fn on(&self, domains: &[&Domain]) -> Result<OnAttributes> {
        match self {
            Predicates::All => Ok(OnAttributes::These((0..domains.len()).collect())),
            Predicates::Numbers { least, most } => {
                let most = most.unwrap_or(domains.len());
                match most.max(*least) > domains.len() {
                    true => Err(Error::usage(
                        wording![
                            Field::Predicates,
                            format!(
                                " asks of up to {}, more than there are quasi-identifiers ({})",
                                most.max(*least),
                                domains.len()
                            )
                        ],
                        wording!["ask of fewer, or name more with ", Field::Quasi],
                    )),
                    false => Ok(OnAttributes::Random { least: *least, most }),
                }
            }
            Predicates::Columns(names) => these(names, domains),
        }
    }
}

/// The attributes of some names.
fn these(names: &[String], domains: &[&Domain]) -> Result<OnAttributes> {
    let mut axes = Vec::with_capacity(names.len());
    for name in names {
        let axis = domains.iter().position(|domain| domain.name() == name);
        let Some(axis) = axis else {
            return Err(Error::usage(
                wording![Field::Predicates, format!(" names '{name}', which is not quasi")],
                wording!["name it with ", Field::Quasi, " too, or ask of others"],
            ));
        };
        if axes.contains(&axis) {
            return Err(Error::usage(
                wording![Field::Predicates, format!(" names '{name}' twice")],
                "name every column once",
            ));
        }
        axes.push(axis);
    }
    axes.sort_unstable();
    Ok(OnAttributes::These(axes))
}

/// Names between commas; one in double quotes may hold anything, a quote as two.
fn names_of(text: &str) -> std::result::Result<Vec<String>, String> {
    let mut names = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let name = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (name, after) =
                    unquoted(quoted).ok_or_else(|| "a quote is never closed".to_owned())?;
                rest = after.trim_start();
                name
            }
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                let name = rest[..end].trim_end().to_owned();
                rest = &rest[end..];
                name
            }
        };
        if name.is_empty() {
            return Err(format!("a name is empty; {USE}"));
        }
        names.push(name);
        if rest.is_empty() {
            return Ok(names);
        }
        rest = rest.strip_prefix(',').ok_or_else(|| {
            "after a name in quotes there is something else than a comma".to_owned()
        })?;
    }
}

/// What stands before the closing quote, and what follows it.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let quote = rest.find('"')?;
        name.push_str(&rest[..quote]);
        rest = &rest[quote + 1..];
        match rest.strip_prefix('"') {
            Some(after) => {
                name.push('"');
                rest = after;
            }
            None => return Some((name, rest)),
        }
    }
}
