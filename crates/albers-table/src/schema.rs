//! The type and the role of each column.

use std::fmt;
use std::str::FromStr;

use albers_storage::spelling;
use serde::{Deserialize, Serialize};

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    /// Whole numbers that fit in 64 bits.
    Integer,
    /// Numbers with a fixed number of digits after the point, kept exactly.
    Decimal,
    /// Binary floating-point numbers; NaN and infinities are refused.
    Float,
    /// Days, `YYYY-MM-DD`.
    Date,
    /// Points in time, `YYYY-MM-DD HH:MM:SS`, with an optional fraction and offset.
    Timestamp,
    /// `true` and `false`.
    Boolean,
    /// Names.
    Text,
    /// Digits that are names, such as postal codes: leading zeros stay.
    Code,
}

impl ColumnType {
    /// Every type, in the order in which help texts list them.
    pub const ALL: [ColumnType; 8] = [
        ColumnType::Integer,
        ColumnType::Decimal,
        ColumnType::Float,
        ColumnType::Date,
        ColumnType::Timestamp,
        ColumnType::Boolean,
        ColumnType::Text,
        ColumnType::Code,
    ];

    /// Whether a distance between two values means something, so that an interval describes them.
    pub fn is_ordered(self) -> bool {
        match self {
            ColumnType::Integer
            | ColumnType::Decimal
            | ColumnType::Float
            | ColumnType::Date
            | ColumnType::Timestamp => true,
            ColumnType::Boolean | ColumnType::Text | ColumnType::Code => false,
        }
    }

    /// The word used in flags, job files and messages.
    pub fn name(self) -> &'static str {
        match self {
            ColumnType::Integer => "integer",
            ColumnType::Decimal => "decimal",
            ColumnType::Float => "float",
            ColumnType::Date => "date",
            ColumnType::Timestamp => "timestamp",
            ColumnType::Boolean => "boolean",
            ColumnType::Text => "text",
            ColumnType::Code => "code",
        }
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ColumnType {
    type Err = String;

    fn from_str(word: &str) -> Result<ColumnType, String> {
        ColumnType::ALL.into_iter().find(|kind| kind.name() == word).ok_or_else(|| {
            let names = ColumnType::ALL.map(ColumnType::name).join(", ");
            let question = spelling::question(word, ColumnType::ALL.map(ColumnType::name));
            let question = question.map(|own| format!("; {own}")).unwrap_or_default();
            format!("'{word}' is not a type; use one of {names}{question}")
        })
    }
}

/// What a column is to the people in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Known to others, identifies people in combination: generalized.
    Quasi,
    /// Must not be linked to a person: published as it is, protected by the requirement.
    Sensitive,
    /// Identifies a person alone: dropped.
    Identifier,
    /// Published as it is.
    Keep,
    /// Tells which rows belong to the same person: counted, then dropped.
    Subject,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 5] =
        [Role::Quasi, Role::Sensitive, Role::Identifier, Role::Keep, Role::Subject];

    /// The word used in flags, job files and messages.
    pub fn name(self) -> &'static str {
        match self {
            Role::Quasi => "quasi",
            Role::Sensitive => "sensitive",
            Role::Identifier => "identifier",
            Role::Keep => "keep",
            Role::Subject => "subject",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
