//! Values of flags in plain words: what a number is, and what is said of what is none.

use std::error::Error as _;
use std::fmt;
use std::process::ExitCode;
use std::str::FromStr;

use albers::{ColumnType, DateFormat, Finest};
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::render;

/// What a flag must be, where it is something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Must(pub String);

impl fmt::Display for Must {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it must be {}", self.0)
    }
}

impl std::error::Error for Must {}

/// A whole number.
pub fn whole<N: FromStr>(text: &str) -> Result<N, Must> {
    let is_whole = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().map_err(|_| match is_whole {
        true => Must("a smaller whole number".to_owned()),
        false => Must("a whole number such as 5".to_owned()),
    })
}

/// Any number; whether it lies where it may is said in the words of its setting.
pub fn number(text: &str) -> Result<f64, Must> {
    text.parse().map_err(|_| Must("a number such as 0.5".to_owned()))
}

/// What can be said of a column by `COLUMN=VALUE`.
pub trait Said: Sized {
    /// Reads it, or says what is wrong.
    fn read(text: &str) -> Result<Self, String>;
}

impl Said for f64 {
    fn read(text: &str) -> Result<f64, String> {
        number(text).map_err(|Must(what)| format!("what follows '=' must be {what}"))
    }
}

impl Said for u16 {
    fn read(text: &str) -> Result<u16, String> {
        whole(text).map_err(|Must(what)| format!("what follows '=' must be {what}"))
    }
}

impl Said for ColumnType {
    fn read(text: &str) -> Result<ColumnType, String> {
        text.parse()
    }
}

impl Said for Finest {
    fn read(text: &str) -> Result<Finest, String> {
        text.parse()
    }
}

impl Said for DateFormat {
    fn read(text: &str) -> Result<DateFormat, String> {
        text.parse()
    }
}

impl Said for String {
    fn read(text: &str) -> Result<String, String> {
        Ok(text.to_owned())
    }
}

/// Says what is wrong with the arguments, or shows the help that was asked for.
pub fn refuse(error: &clap::Error) -> ExitCode {
    let code = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
    let told = match words(error) {
        Some(words) => {
            render::refuse(&words);
            Ok(())
        }
        None => render::print_about_arguments(error),
    };
    told.map_or_else(|error| render::fail(&error), |()| code)
}

/// A wrong value, or one too many, in our own words; all else has those of the reader of arguments.
fn words(error: &clap::Error) -> Option<String> {
    let text = |kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        _ => None,
    };
    let argument = text(ContextKind::InvalidArg)?;
    if error.kind() == ErrorKind::UnknownArgument && !argument.starts_with('-') {
        return Some(format!(
            "'{argument}' is one argument too many; names of columns are joined by commas without \
             spaces, as in --quasi age,sex, a condition stands between double quotes, and the \
             output is named with -o FILE"
        ));
    }
    if error.kind() == ErrorKind::UnknownArgument && argument == "--k" {
        return Some("there is no flag '--k'; did you mean '-k'?".to_owned());
    }
    let value = text(ContextKind::InvalidValue)?;
    let flag = argument.split([' ', '=']).next().unwrap_or_default().trim_matches(['<', '>']);
    match error.kind() {
        ErrorKind::ValueValidation => {
            let source = error.source()?;
            Some(match source.downcast_ref::<Must>() {
                Some(Must(what)) => format!("{flag} must be {what}, not '{value}'"),
                None => format!("{flag} '{value}': {source}"),
            })
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            Some(format!("{flag} needs a value; see --help for what it takes"))
        }
        ErrorKind::InvalidValue => {
            let Some(ContextValue::Strings(valid)) = error.get(ContextKind::ValidValue) else {
                return None;
            };
            let question = albers::spelling::question(&value, valid.iter().map(String::as_str));
            let question = question.map(|own| format!("; {own}")).unwrap_or_default();
            Some(format!("{flag} must be one of {}, not '{value}'{question}", valid.join(", ")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_whole_or_refused_in_plain_words() {
        assert_eq!(whole::<u64>("5"), Ok(5));
        for wrong in ["", "x", "-1", "1.5", " 5"] {
            let must = whole::<u64>(wrong).unwrap_err();
            assert_eq!(must.0, "a whole number such as 5", "{wrong}");
        }
        assert_eq!(whole::<u16>("70000").unwrap_err().0, "a smaller whole number");
    }

    #[test]
    fn what_is_no_number_is_refused() {
        assert_eq!(number("-0.5"), Ok(-0.5));
        for wrong in ["", "x", "0,5", "1 2"] {
            assert_eq!(number(wrong).unwrap_err().0, "a number such as 0.5", "{wrong}");
        }
    }
}
