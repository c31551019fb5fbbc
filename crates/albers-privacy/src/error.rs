//! What can be wrong with a requirement, by what the caller can do about it.

use thiserror::Error;

/// A requirement that cannot be built. Messages hold column names and parameters, no cell values.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PrivacyError {
    /// A parameter such as k, l, c, t or alpha is outside its range.
    #[error("{parameter} is {given}; hint: {hint}")]
    Parameter {
        /// The parameter, as the user knows it.
        parameter: &'static str,
        /// What was given.
        given: String,
        /// What to give instead.
        hint: &'static str,
    },
    /// A rule points at a sensitive column that was not declared.
    #[error(
        "a rule names sensitive column {column_idx}, but there are {n_columns}; \
         hint: declare the column as sensitive"
    )]
    NoSuchColumn {
        /// 0-based position the rule asked for.
        column_idx: usize,
        /// Number of sensitive columns declared.
        n_columns: usize,
    },
    /// Variance diversity was asked of a column that holds no numbers.
    #[error(
        "the variance of column '{column}' was bounded, but the column is not a number; \
         hint: ask for l-diversity or t-closeness of it instead"
    )]
    NotNumeric {
        /// The column's name.
        column: String,
    },
    /// The description of a sensitive column contradicts itself.
    #[error("sensitive column '{column}': {problem}; hint: {hint}")]
    Column {
        /// The column's name.
        column: String,
        /// What contradicts what.
        problem: &'static str,
        /// How to repair it.
        hint: &'static str,
    },
    /// A criterion written as text could not be read.
    #[error(
        "'{text}' is not a diversity: {problem}; \
         hint: write distinct:3 (or just 3), entropy:3, or recursive:2,3 (c, then l)"
    )]
    Syntax {
        /// The text given.
        text: String,
        /// What could not be read.
        problem: String,
    },
}
