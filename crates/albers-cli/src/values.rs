//! Values of flags: words of a choice, and what is said of a column.

use std::str::FromStr;

use albers::Choice;
use anyhow::{Result, anyhow};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::plain::Said;

/// `COLUMN=VALUE`.
#[derive(Clone)]
pub struct Assignment<V> {
    /// The column.
    pub column: String,
    /// What is said of it.
    pub value: V,
}

impl<V: Said> FromStr for Assignment<V> {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Assignment<V>> {
        let (column, value) =
            text.rsplit_once('=').ok_or_else(|| anyhow!("write COLUMN=VALUE; there is no '='"))?;
        if column.trim().is_empty() {
            return Err(anyhow!("write COLUMN=VALUE; no column stands before '='"));
        }
        let value = V::read(value).map_err(|error| anyhow!("{error}"))?;
        Ok(Assignment { column: column.trim().to_owned(), value })
    }
}

/// Reads one of the words of a choice; help texts list them with what they mean.
pub fn choice<C: Choice + Send + Sync>() -> impl TypedValueParser<Value = C> {
    let words = C::ALL.iter().map(|choice| PossibleValue::new(choice.name()).help(choice.about()));
    let refused = C::EXPECTED.iter().map(|&word| PossibleValue::new(word).hide(true));
    PossibleValuesParser::new(words.chain(refused).collect::<Vec<_>>())
        .try_map(|word| C::of_name(&word).ok_or(C::why_not(&word).unwrap_or("it is not known")))
}
