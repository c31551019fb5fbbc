//! What is answered.

use std::collections::BTreeMap;

use albers_query::Answer;
use serde::Serialize;

use crate::report::Note;

/// What a release answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct QueryReport {
    /// Rows of the release.
    pub rows: u64,
    /// The column whose values are answered one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_by: Option<String>,
    /// An answer to each condition.
    pub answers: Vec<QueryAnswer>,
    /// Things the user should know.
    pub notes: Vec<Note>,
}

/// What a release answers to a single question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SingleReport<'r> {
    /// Rows of the release.
    rows: u64,
    /// The column whose values are answered one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    group_by: Option<&'r str>,
    /// The answer.
    #[serde(flatten)]
    answer: &'r QueryAnswer,
    /// Things the user should know.
    notes: &'r [Note],
}

impl QueryReport {
    /// The report as one answer, where one was asked for.
    pub fn single(&self) -> Option<SingleReport<'_>> {
        let [answer] = &self.answers[..] else { return None };
        let group_by = self.group_by.as_deref();
        Some(SingleReport { rows: self.rows, group_by, answer, notes: &self.notes })
    }
}

/// The answer to a condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct QueryAnswer {
    /// The condition; none where all rows were asked for.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Rows whose region meets the condition.
    pub overlap: u64,
    /// Rows that satisfy it if they are spread evenly over their regions.
    pub estimate: f64,
    /// Rows that satisfy it at least.
    pub lower: u64,
    /// Rows that satisfy it at most.
    pub upper: u64,
    /// Sums and means, as they were asked for.
    #[serde(flatten)]
    pub totals: Totals,
    /// The same for each value of the column that rows are grouped by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<GroupAnswer>>,
}

/// Sums and means by column.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Totals {
    /// Sums.
    #[serde(rename = "sum", skip_serializing_if = "BTreeMap::is_empty")]
    pub sums: BTreeMap<String, Total>,
    /// Means.
    #[serde(rename = "avg", skip_serializing_if = "BTreeMap::is_empty")]
    pub means: BTreeMap<String, Total>,
}

/// A sum or a mean.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Total {
    /// What it is if rows are spread evenly over their regions; nothing where no row has a value.
    pub estimate: Option<f64>,
    /// What it is at least.
    pub lower: Option<f64>,
    /// What it is at most.
    pub upper: Option<f64>,
}

/// The answer for one value of a column.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct GroupAnswer {
    /// The value; none for the missing one.
    pub value: Option<String>,
    /// Rows whose region meets it.
    pub overlap: u64,
    /// Rows that have it if they are spread evenly.
    pub estimate: f64,
    /// Rows that have it at least.
    pub lower: u64,
    /// Rows that have it at most.
    pub upper: u64,
    /// Sums and means, as they were asked for.
    #[serde(flatten)]
    pub totals: Totals,
}

impl QueryAnswer {
    pub(super) fn of(condition: Option<String>, answer: Answer, totals: Totals) -> QueryAnswer {
        let Answer { overlap, estimate, lower, upper } = answer;
        QueryAnswer { condition, overlap, estimate, lower, upper, totals, groups: None }
    }
}

impl GroupAnswer {
    pub(super) fn of(value: Option<String>, answer: Answer, totals: Totals) -> GroupAnswer {
        let Answer { overlap, estimate, lower, upper } = answer;
        GroupAnswer { value, overlap, estimate, lower, upper, totals }
    }
}
