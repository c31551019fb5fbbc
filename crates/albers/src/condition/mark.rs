//! Where something stands in a condition, and what is wrong there.

use std::fmt;

use sqlparser::ast::{Expr, Spanned};
use sqlparser::parser::ParserError;
use sqlparser::tokenizer::Span;

/// A stretch of a condition, by lines and letters that count from 1; nowhere if these are 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    start: (u64, u64),
    /// Behind its last letter.
    end: (u64, u64),
}

impl From<Span> for Mark {
    fn from(span: Span) -> Mark {
        let Span { start, end } = span;
        Mark { start: (start.line, start.column), end: (end.line, end.column) }
    }
}

impl Mark {
    /// Where an expression stands.
    pub(crate) fn of(expression: &Expr) -> Mark {
        expression.span().into()
    }

    /// Where several stand.
    pub(crate) fn of_all(expressions: &[Expr]) -> Mark {
        let mut marks = expressions.iter().map(Mark::of);
        let first = marks.next().unwrap_or_default();
        marks.next_back().map_or(first, |last| first.up_to(last))
    }

    /// Where reading ended.
    pub(crate) fn of_parser_error(error: &ParserError) -> Mark {
        let (ParserError::TokenizerError(text) | ParserError::ParserError(text)) = error else {
            return Mark::default();
        };
        let number = |text: &str| -> Option<u64> {
            let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        };
        let place = text.rsplit_once("Line: ").and_then(|(_, place)| {
            let (line, column) = place.split_once(", Column: ")?;
            Some((number(line)?, number(column)?))
        });
        place.map_or_else(Mark::default, |start| Mark { start, end: (start.0, start.1 + 1) })
    }

    /// The end of a condition.
    pub(crate) fn at_end_of(text: &str) -> Mark {
        let n_lines = text.lines().count().max(1) as u64;
        let place = (n_lines, text.lines().last().map_or(0, |own| own.chars().count()) as u64 + 1);
        Mark { start: place, end: place }
    }

    /// Whether it is nowhere.
    pub(crate) fn is_nowhere(self) -> bool {
        self == Mark::default()
    }

    /// From where this begins to where another ends.
    pub(crate) fn up_to(self, other: Mark) -> Mark {
        Mark { start: self.start, end: other.end }
    }

    /// The line of a condition on which it begins, and below it as many carets as it has letters
    /// there.
    fn drawn(self, condition: &str) -> Option<String> {
        let line_idx = usize::try_from(self.start.0.checked_sub(1)?).ok()?;
        let line = condition.lines().nth(line_idx)?;
        let first = usize::try_from(self.start.1.checked_sub(1)?).ok()?;
        let n_letters = line.chars().count();
        let end = match self.end.0 == self.start.0 {
            true => usize::try_from(self.end.1.saturating_sub(1)).ok()?.min(n_letters),
            false => n_letters,
        };
        let carets = "^".repeat(end.saturating_sub(first).max(1));
        Some(format!("\n    {line}\n    {}{carets}", " ".repeat(first.min(n_letters))))
    }
}

/// What is wrong with a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConditionError {
    /// What is wrong.
    pub(crate) problem: String,
    /// What to write instead.
    pub(crate) hint: String,
    mark: Mark,
}

impl ConditionError {
    /// Something is wrong, nobody knows where.
    pub(crate) fn new(problem: impl Into<String>, hint: impl Into<String>) -> ConditionError {
        ConditionError { problem: problem.into(), hint: hint.into(), mark: Mark::default() }
    }

    /// The same, there.
    pub(crate) fn at(self, mark: Mark) -> ConditionError {
        ConditionError { mark, ..self }
    }

    /// The condition, with the place marked below it, to stand behind what is said of it.
    pub(crate) fn drawing(&self, condition: &str) -> String {
        self.mark.drawn(condition.trim()).unwrap_or_default()
    }
}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.problem, self.hint)
    }
}
