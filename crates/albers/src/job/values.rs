//! Values of a job that are written as text: parsed once, when the job is read.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use albers_privacy::{Criterion, PrivacyError};
use albers_storage::choice::Choice;
use albers_storage::memory_budget;

use super::SelectSpec;
use super::choices::TargetKind;

/// An amount of memory, such as `256MB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteSize(pub u64);

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<ByteSize, String> {
        memory_budget::parse_bytes(text).map(ByteSize)
    }
}

impl fmt::Display for ByteSize {
    /// Whole bytes, so that what is read back is what was given.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}B", self.0)
    }
}

/// The time that a search may take, such as `30s`, `500ms`, `2m` or `1h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimit(pub Duration);

impl FromStr for TimeLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<TimeLimit, String> {
        let text = text.trim();
        let unit_at = text.find(|symbol: char| symbol.is_ascii_alphabetic()).unwrap_or(text.len());
        let (number, unit) = text.split_at(unit_at);
        let seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "" => return Err("there is no unit; use for example 30s, 500ms or 2m".to_owned()),
            _ => return Err("the unit is not known; use for example 30s, 500ms or 2m".to_owned()),
        };
        let number: f64 = number.trim().parse().map_err(|_| {
            "the number cannot be read; use for example 30s, 500ms or 2m".to_owned()
        })?;
        if !(number > 0.0 && number * seconds <= 1e7) {
            return Err("it is not a time between nothing and some weeks".to_owned());
        }
        Ok(TimeLimit(Duration::from_secs_f64(number * seconds)))
    }
}

impl fmt::Display for TimeLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0.as_secs_f64() * 1e3)
    }
}

/// The diversity of a sensitive column: `distinct:3`, `entropy:3` or `recursive:2,3`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Diversity(pub Criterion);

impl FromStr for Diversity {
    type Err = String;

    fn from_str(text: &str) -> Result<Diversity, String> {
        let read = albers_privacy::parse_diversity(text)
            .and_then(|criterion| criterion.check().map(|()| criterion));
        read.map(Diversity).map_err(|error| match error {
            PrivacyError::Syntax { text, problem } => {
                format!(
                    "'{text}' cannot be read: {problem}; use distinct:3, entropy:3 or recursive:2,3"
                )
            }
            PrivacyError::Parameter { parameter, given, hint } => {
                format!("{parameter} is {given}; {hint}")
            }
            other => other.to_string(),
        })
    }
}

impl fmt::Display for Diversity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Criterion::DistinctLDiversity { l } => write!(f, "distinct:{l}"),
            Criterion::EntropyLDiversity { l } => write!(f, "entropy:{l}"),
            Criterion::RecursiveDiversity { c, l } => write!(f, "recursive:{c},{l}"),
            other => write!(f, "{other:?}"),
        }
    }
}

/// A column that classes should tell: `COLUMN`, `COLUMN:number` or `COLUMN:class:2`.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetSpec {
    /// The column.
    pub column: String,
    /// What is told of it; as the split has it when not given.
    pub kind: Option<TargetKind>,
    /// How much it counts beside other targets; 1 when not given.
    pub weight: Option<f64>,
}

impl FromStr for TargetSpec {
    type Err = String;

    /// From the end, since names of columns may hold anything.
    fn from_str(text: &str) -> Result<TargetSpec, String> {
        let mut column = text.trim();
        let mut target = TargetSpec { column: String::new(), kind: None, weight: None };
        if let Some((rest, last)) = column.rsplit_once(':')
            && let Ok(weight) = last.trim().parse()
        {
            (column, target.weight) = (rest, Some(weight));
        }
        if let Some((rest, last)) = column.rsplit_once(':')
            && let Some(kind) = TargetKind::of_name(last.trim())
        {
            (column, target.kind) = (rest, Some(kind));
        }
        column.trim().clone_into(&mut target.column);
        match target.column.is_empty() {
            true => {
                Err("no column is named; use COLUMN, COLUMN:number or COLUMN:class:2".to_owned())
            }
            false => Ok(target),
        }
    }
}

impl fmt::Display for TargetSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.column)?;
        self.kind.map_or(Ok(()), |kind| write!(f, ":{kind}"))?;
        self.weight.map_or(Ok(()), |weight| write!(f, ":{weight}"))
    }
}

impl FromStr for SelectSpec {
    type Err = String;

    /// `age >= 40`, or with a weight `2: age >= 40`.
    fn from_str(text: &str) -> Result<SelectSpec, String> {
        let weighted = text.split_once(':').and_then(|(weight, condition)| {
            weight.trim().parse::<f64>().ok().map(|weight| (weight, condition))
        });
        let (weight, condition) = match weighted {
            Some((weight, condition)) => (Some(weight), condition),
            None => (None, text),
        };
        Ok(SelectSpec { condition: condition.parse()?, weight })
    }
}

/// Texts of a job file and the values that they stand for.
pub(crate) mod as_text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the text, if there is a value.
    pub fn serialize<T: Display, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => serializer.collect_str(value),
            None => serializer.serialize_none(),
        }
    }

    /// Reads the value of a text.
    pub fn deserialize<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Some).map_err(serde::de::Error::custom)
    }
}

/// A text of a job file that must be there, and the value that it stands for.
pub(crate) mod as_plain_text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the text.
    pub fn serialize<T: Display, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    /// Reads the value of a text.
    pub fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Lists of texts of a job file and the values that they stand for.
pub(crate) mod as_texts {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the texts.
    pub fn serialize<T: Display, S: Serializer>(
        values: &[T],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(ToString::to_string))
    }

    /// Reads the values of some texts.
    pub fn deserialize<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let texts = Vec::<String>::deserialize(deserializer)?;
        texts.iter().map(|text| text.parse().map_err(serde::de::Error::custom)).collect()
    }
}

/// Words of a job file and the choices that they stand for.
pub(crate) mod as_word {
    use albers_storage::choice::Choice;
    use albers_storage::spelling;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the word, if there is a choice.
    pub fn serialize<C: Choice, S: Serializer>(
        choice: &Option<C>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match choice {
            Some(choice) => serializer.serialize_str(choice.name()),
            None => serializer.serialize_none(),
        }
    }

    /// Reads the choice of a word.
    pub fn deserialize<'de, C: Choice, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<C>, D::Error> {
        let word = String::deserialize(deserializer)?;
        C::of_name(&word).map(Some).ok_or_else(|| {
            let names = C::ALL.iter().map(|choice| choice.name());
            let question = spelling::question(&word, names);
            let question = question.map(|own| format!("; {own}")).unwrap_or_default();
            let names = format!("'{word}' is none of {}{question}", C::names());
            serde::de::Error::custom(match C::why_not(&word) {
                Some(why) => format!("{names}: {why}"),
                None => names,
            })
        })
    }

    /// What a job file may say.
    pub fn schema<C: Choice>(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let words: Vec<&str> = C::ALL.iter().map(|choice| choice.name()).collect();
        schemars::json_schema!({ "type": "string", "enum": words })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let time = |text: &str| text.parse::<TimeLimit>().map(|time| time.0);
        assert_eq!(time("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(time("500 ms"), Ok(Duration::from_millis(500)));
        assert_eq!(time("1.5m"), Ok(Duration::from_secs(90)));
        for wrong in ["", "30", "s", "-1s", "0s", "NaNs", "3 fortnights", "1e99s"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_read_back_as_they_were_written() {
        let size: ByteSize = "256MB".parse().unwrap();
        assert_eq!(size.to_string().parse(), Ok(size));
        let time: TimeLimit = "1.5s".parse().unwrap();
        assert_eq!(time.to_string().parse(), Ok(time));
        for text in ["distinct:3", "entropy:2.5", "recursive:2,3"] {
            assert_eq!(text.parse::<Diversity>().unwrap().to_string(), text);
        }
    }
}
