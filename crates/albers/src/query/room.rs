//! The memory of a question: its conditions, the boxes that they come to, and what is answered.
//!
//! Guarantee: what grows with the number of conditions is reserved before it is made, or as soon as
//! its length is known; figures are of the real program, rounded up.

use std::mem::size_of;
use std::path::Path;

use albers_query::{Asked, Query};
use albers_storage::StorageError;
use albers_storage::memory_budget::{MemoryBudget, Reservation};

use super::table::BoxQuery;
use crate::condition::Condition;
use crate::error::{Error, Result};
use crate::files::text_of;
use crate::job::Job;

/// What a refusal calls it.
const WHAT: &str = "the conditions of a query";

/// An answer, from its figures to the line that shows them.
const ANSWER_BYTES: usize = 700;
/// The same of a sum or a mean beside it.
const TOTAL_BYTES: usize = 300;
/// A condition, besides its text and what it asks.
const CONDITION_BYTES: usize = 300;
/// How often the text of a condition, or its values, are in memory.
const TEXT_COPIES: usize = 6;
/// What is asked of one column, besides the values that it is compared with.
const TEST_BYTES: usize = 300;
/// A value that a column is compared with, and its place among all values of the column.
const VALUE_BYTES: usize = 140;
/// The boxes of a condition that is one.
const BOX_BYTES: usize = 160;

/// The memory of a question.
pub(super) struct Room {
    memory: Reservation,
    n_conditions: usize,
}

impl Room {
    /// The room of conditions that compare one column with one value, and of an answer to each
    /// with some totals.
    pub(super) fn of(budget: &MemoryBudget, texts: &[String], n_totals: usize) -> Result<Room> {
        let n_conditions = texts.len().max(1);
        let n_bytes = simple_bytes(n_conditions, texts.iter().map(String::len).sum(), n_totals);
        let memory = budget.try_reserve(WHAT, n_bytes).map_err(with_release)?;
        Ok(Room { memory, n_conditions })
    }

    /// Makes room for what a condition asks besides one comparison.
    pub(super) fn add_condition(&mut self, place: usize, condition: &Condition) -> Result<()> {
        let tests = condition.boxes().iter().flatten();
        let sizes = tests.map(|own| TEST_BYTES + own.values().count() * VALUE_BYTES);
        self.add(place, sizes.sum::<usize>().saturating_sub(TEST_BYTES + VALUE_BYTES))
    }

    /// Makes room for the boxes of a condition besides a single one.
    pub(super) fn add_query(&mut self, place: usize, query: &BoxQuery) -> Result<()> {
        let n_bytes = of_query(&query.may) + query.must.as_ref().map_or(0, of_query);
        self.add(place, n_bytes.saturating_sub(BOX_BYTES))
    }

    /// Makes room for so many answers to each condition besides the first.
    pub(super) fn add_groups(&mut self, n_groups: usize, n_totals: usize) -> Result<()> {
        let n_answers = self.n_conditions.saturating_mul(n_groups);
        Ok(self.memory.try_grow(n_answers.saturating_mul(answer_bytes(n_totals)))?)
    }

    /// Makes room for a text of a condition that is written, and for all texts together.
    pub(super) fn add_text(&mut self, place: usize, text: &str) -> Result<()> {
        const COPIES: usize = 3;
        self.add(place, COPIES * text.len())
    }

    /// Makes room for a condition; a refusal tells what would do if those behind it are like those
    /// before.
    fn add(&mut self, place: usize, n_bytes: usize) -> Result<()> {
        let n_left = self.n_conditions.saturating_sub(place + 1);
        let grown = self.memory.try_grow(n_bytes).map_err(|error| match error {
            StorageError::OverBudget { what, needed_bytes, limit_bytes } => {
                let before = self.memory.n_bytes() / (place + 1);
                let left = before.max(n_bytes).saturating_mul(n_left) as u64;
                let needed_bytes = needed_bytes.saturating_add(left);
                StorageError::OverBudget { what, needed_bytes, limit_bytes }
            }
            other => other,
        });
        Ok(grown?)
    }
}

/// The conditions of a file, one on each line; lines that begin with `#` are skipped.
pub fn conditions_of(job: &Job, path: &Path) -> Result<Vec<String>> {
    let text = text_of(job, path, "the conditions")?;
    let text = text.trim_start_matches('\u{feff}');
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    check_room(job, lines.clone().count(), text.len())?;
    let conditions: Vec<String> = lines.map(str::to_owned).collect();
    match conditions.is_empty() {
        true => Err(Error::usage(
            format!("{} holds no condition", path.display()),
            "write one on each line",
        )),
        false => Ok(conditions),
    }
}

/// Refuses more conditions than fit in the memory that a job gives, before each has a text of its
/// own.
fn check_room(job: &Job, n_conditions: usize, text_bytes: usize) -> Result<()> {
    let Some(limit) = job.memory else { return Ok(()) };
    let (needed_bytes, limit_bytes) = (simple_bytes(n_conditions, text_bytes, 0) as u64, limit.0);
    match needed_bytes > limit_bytes {
        true => {
            let error = StorageError::OverBudget { what: WHAT, needed_bytes, limit_bytes };
            Err(with_release(error).into())
        }
        false => Ok(()),
    }
}

/// The same refusal, which tells of what the release takes beside the conditions too, as far as it
/// is not much: nobody has looked at it yet.
fn with_release(error: StorageError) -> StorageError {
    match error {
        StorageError::OverBudget { what, needed_bytes, limit_bytes } => {
            let needed_bytes = needed_bytes.saturating_add(needed_bytes / 4);
            StorageError::OverBudget { what, needed_bytes, limit_bytes }
        }
        other => other,
    }
}

fn simple_bytes(n_conditions: usize, text_bytes: usize, n_totals: usize) -> usize {
    let own = CONDITION_BYTES + TEST_BYTES + VALUE_BYTES + BOX_BYTES + answer_bytes(n_totals);
    n_conditions.saturating_mul(own).saturating_add(text_bytes.saturating_mul(TEXT_COPIES))
}

fn answer_bytes(n_totals: usize) -> usize {
    ANSWER_BYTES.saturating_add(n_totals.saturating_mul(TOTAL_BYTES))
}

fn of_query(query: &Query) -> usize {
    const SPAN_BYTES: usize = size_of::<(u32, u32)>();
    // What the system takes beside each piece of memory.
    const BESIDE_BYTES: usize = 16;
    let terms = query.terms().iter().chain(query.opposite().into_iter().flatten());
    let of_asked = |(_, own): &(usize, Asked)| {
        size_of::<(usize, Asked)>() + BESIDE_BYTES + own.spans.len() * SPAN_BYTES
    };
    let of_term = |term: &Vec<(usize, Asked)>| {
        size_of::<Vec<(usize, Asked)>>() + BESIDE_BYTES + term.iter().map(of_asked).sum::<usize>()
    };
    terms.map(of_term).sum()
}

#[cfg(test)]
mod tests {
    use albers_table::TableError;

    use super::*;
    use crate::error::Error;

    #[test]
    fn conditions_are_refused_before_they_take_more_than_there_is() {
        let texts = vec!["a > 1".to_owned(); 1_000];
        let budget = MemoryBudget::new(1_000_000);
        assert!(Room::of(&budget, &texts, 0).is_err());
        assert_eq!(budget.used_bytes(), 0);
        let budget = MemoryBudget::new(10_000_000);
        let mut room = Room::of(&budget, &texts, 0).unwrap();
        assert!(room.add_groups(100, 0).is_err());
        let simple = Condition::read("a > 1").unwrap();
        (0..1_000).for_each(|place| room.add_condition(place, &simple).unwrap());
        drop(room);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn what_is_said_to_do_does_where_conditions_are_alike() {
        let many: Vec<String> = (0..100).map(|value| value.to_string()).collect();
        let texts = vec![format!("a in ({})", many.join(", ")); 1_000];
        let condition = Condition::read(&texts[0]).unwrap();
        let read_within = |limit_bytes: usize| {
            let budget = MemoryBudget::new(limit_bytes);
            let mut room = Room::of(&budget, &texts, 0)?;
            (0..1_000).try_for_each(|place| room.add_condition(place, &condition))
        };
        let error = read_within(8_000_000).unwrap_err();
        let Error::Table(TableError::Storage(StorageError::OverBudget { needed_bytes, .. })) =
            error
        else {
            panic!("{error}");
        };
        read_within(needed_bytes as usize).unwrap();
    }

    #[test]
    fn a_job_without_a_limit_takes_any_number_of_conditions() {
        let job = |memory| Job { memory, ..Job::default() };
        check_room(&job(None), usize::MAX, usize::MAX).unwrap();
        let limit = Some("32MB".parse().unwrap());
        check_room(&job(limit), 10_000, 50_000).unwrap();
        let error = check_room(&job(limit), 1_000_000, 3_000_000).unwrap_err().to_string();
        assert!(error.contains("the conditions of a query"), "{error}");
    }
}
