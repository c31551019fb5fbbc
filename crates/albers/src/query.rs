//! What a release answers to a condition, without the table it was made of.
//!
//! ```text
//!   condition ──► tests ──────────────────────────────┐
//!   manifest, codebook, flags ──► columns ──► cells ──► positions ──► boxes ──► answers
//!   release ──► runs of rows ─────────────────────────┘
//! ```
//!
//! - `columns`: what the columns of a release show. `read`: its rows, as runs that show the same.
//! - `shape`, `cells`: what a cell shows, as its text tells it; the cells of a column.
//! - `yardstick`, `line`, `axis`: values in order, as positions.
//! - `table`: the classes of a release as boxes, and conditions as questions about them.
//! - `total`: sums and means. `sql`: the same in a database. `report`: what is answered. `room`: the
//!   memory that conditions and answers take.
//!
//! Source: Iwuchukwu & Naughton 2007, sections 2.3 and 5.4; Raschia & Anjum 2011, sections 1.3 and
//! 3.2.
//! Departures: see `albers_query`.
//! Guarantee: nothing but the release and what stands beside it is looked at; bounds hold for
//! whatever rows stand behind its classes. A label that nothing explains may stand for any value: it
//! widens `upper` and never `lower`.
//! Cost: one pass over the release, and memory for its classes and for all conditions.

mod axis;
mod cells;
mod columns;
mod line;
mod read;
mod report;
mod room;
mod shape;
mod sql;
mod table;
mod total;
mod yardstick;

use albers_query::term::TooManyTerms;
use albers_storage::spelling::columns_hint;
use albers_storage::watch::Watch;
use albers_storage::wording;
use albers_storage::wording::{Field, Wording};
use albers_table::source::Source;

use crate::condition::{Condition, ConditionError, Test};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::memory::{Memory, on_threads};
use crate::plan::Resources;
use crate::report::{Codebook, Manifest, Note};

use columns::{ColumnKind, ReleaseColumn, ReleaseColumns};
use room::Room;
use table::{BoxQuery, QueriedTable, Wanted};

pub use report::{GroupAnswer, QueryAnswer, QueryReport, SingleReport, Total, Totals};
pub use room::conditions_of;
pub use sql::{Dialect, SqlSource};

/// What stands beside a release.
#[derive(Clone, Copy, Default)]
pub struct ReleaseBeside<'a> {
    /// Its manifest.
    pub manifest: Option<&'a Manifest>,
    /// Its codebook.
    pub codebook: Option<&'a Codebook>,
}

/// What is asked of a release.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Question {
    /// Conditions in SQL, without `where`; all rows are asked for where there is none.
    pub conditions: Vec<String>,
    /// A column whose values are answered one by one.
    pub group_by: Option<String>,
    /// Columns whose values are added up.
    pub sums: Vec<String>,
    /// Columns whose mean is asked for.
    pub means: Vec<String>,
}

/// The most groups that are answered one by one.
const MAX_GROUPS: usize = 1_000;

/// Answers a question by a release alone.
///
/// ```
/// use albers::source::{ReadOptions, StreamSource};
/// use albers::{Job, Question, ReleaseBeside, Role, Silent, query};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let text = "age\n\"[30, 39]\"\n\"[30, 39]\"\n\"[50, 59]\"\n\"[50, 59]\"\n".as_bytes();
/// let release = StreamSource::text(Box::new(text), "a release", None, &ReadOptions::default())?;
/// let mut job = Job::default();
/// job.set_role("age", Role::Quasi)?;
/// let question = Question { conditions: vec!["age < 35".to_owned()], ..Question::default() };
/// let report = query(&job, &release, &ReleaseBeside::default(), &question, &Silent)?;
/// assert_eq!((report.answers[0].overlap, report.answers[0].estimate), (2, 1.0));
/// # Ok(())
/// # }
/// ```
pub fn query(
    job: &Job,
    release: &dyn Source,
    beside: &ReleaseBeside<'_>,
    question: &Question,
    watch: &dyn Watch,
) -> Result<QueryReport> {
    let job = job.with_hierarchies()?;
    let resources = Resources::of(&job)?;
    on_threads(resources.n_threads, || {
        let memory = Memory::of_resources(&resources);
        answered(&job, release, beside, question, (&memory, watch))
    })
}

/// Plain SQL that gives the same answer in a database: overlap, estimate, lower and upper.
pub fn query_sql(
    job: &Job,
    release: &dyn Source,
    beside: &ReleaseBeside<'_>,
    question: &Question,
    source: &SqlSource,
    watch: &dyn Watch,
) -> Result<String> {
    if question.group_by.is_some() || !question.sums.is_empty() || !question.means.is_empty() {
        return Err(Error::usage(
            "SQL is written for counts, not for groups, sums and means",
            wording!["drop ", Field::GroupBy, ", ", Field::Sum, " and ", Field::Avg],
        ));
    }
    let job = job.with_hierarchies()?;
    let resources = Resources::of(&job)?;
    on_threads(resources.n_threads, || {
        let memory = Memory::of_resources(&resources);
        let asked = Asked::of(&job, release, beside, question, (&memory, watch))?;
        let Asked { conditions, queries, table, mut room } = asked;
        let conditions = conditions.iter().zip(&queries).enumerate();
        let texts = conditions.map(|(place, (condition, query))| {
            let text = Some(condition.to_string()).filter(|own| !own.is_empty());
            let sql = table.sql(query, text.as_deref(), source)?;
            room.add_text(place, &sql)?;
            Ok(sql)
        });
        Ok(texts.collect::<Result<Vec<String>>>()?.join("\n"))
    })
}

/// A question, and the release that is asked.
struct Asked {
    conditions: Vec<Condition>,
    queries: Vec<BoxQuery>,
    table: QueriedTable,
    room: Room,
}

impl Asked {
    fn of(
        job: &Job,
        release: &dyn Source,
        beside: &ReleaseBeside<'_>,
        question: &Question,
        (memory, watch): (&Memory, &dyn Watch),
    ) -> Result<Asked> {
        let n_totals = question.sums.len() + question.means.len();
        let mut room = Room::of(&memory.budget, &question.conditions, n_totals)?;
        let conditions = read_conditions(question, &mut room)?;
        let columns = ReleaseColumns::of(job, release, beside)?;
        let asking = Asking { question };
        let tests: Vec<(usize, &Test)> = conditions
            .iter()
            .enumerate()
            .flat_map(|(place, own)| own.boxes().iter().flatten().map(move |test| (place, test)))
            .collect();
        check_columns(&tests, &columns, release, asking)?;
        let totals: Vec<&str> =
            question.sums.iter().chain(&question.means).map(String::as_str).collect();
        let mut named: Vec<&str> = conditions.iter().flat_map(Condition::columns).collect();
        named.extend(question.group_by.as_deref());
        named.extend(&totals);
        for name in question.group_by.iter().map(String::as_str).chain(totals.iter().copied()) {
            columns.check(name, release)?;
        }
        total::check(&columns, &totals)?;
        let wanted =
            Wanted { columns: &columns, named: &named, totals: &totals, tests: &tests, asking };
        let table = QueriedTable::read(&wanted, release, (memory, watch))?;
        let queries = conditions.iter().enumerate().map(|(place, condition)| {
            let query = table.query(condition.boxes());
            let query = query.map_err(|error| asking.refuse(place, &error))?;
            room.add_query(place, &query)?;
            Ok(query)
        });
        let queries = queries.collect::<Result<Vec<BoxQuery>>>()?;
        Ok(Asked { conditions, queries, table, room })
    }
}

fn answered(
    job: &Job,
    release: &dyn Source,
    beside: &ReleaseBeside<'_>,
    question: &Question,
    (memory, watch): (&Memory, &dyn Watch),
) -> Result<QueryReport> {
    let Asked { conditions, queries, table, mut room } =
        Asked::of(job, release, beside, question, (memory, watch))?;
    let groups = question.group_by.as_deref().map(|name| table.groups(name)).transpose()?;
    let n_groups = groups.as_ref().map_or(0, Vec::len);
    room.add_groups(n_groups, question.sums.len() + question.means.len())?;
    let answers = table.answers(&queries);
    let mut all = Vec::with_capacity(answers.len());
    for ((condition, query), answer) in conditions.iter().zip(&queries).zip(answers) {
        let condition = Some(condition.to_string()).filter(|own| !own.is_empty());
        let mut own = QueryAnswer::of(condition, answer, table.totals(query, question)?);
        if let Some(groups) = &groups {
            own.groups = Some(table.group_answers(query, groups, question)?);
        }
        all.push(own);
    }
    let mut notes = table.notes();
    let left_out = beside.manifest.and_then(|own| own.suppressed).filter(|&n_rows| n_rows > 0);
    notes.extend(left_out.map(|n_rows| Note::RowsLeftOut { n_rows }));
    let (rows, group_by) = (table.n_rows(), question.group_by.clone());
    Ok(QueryReport { rows, answers: all, group_by, notes })
}

/// The conditions of a question, by their texts.
#[derive(Clone, Copy)]
struct Asking<'a> {
    question: &'a Question,
}

impl Asking<'_> {
    /// The refusal of a condition, with the place marked where it is wrong.
    fn refuse(self, place: usize, error: &ConditionError) -> Error {
        self.refuse_for(place, error, error.hint.clone().into())
    }

    /// The same, with another hint.
    fn refuse_for(self, place: usize, error: &ConditionError, mut hint: Wording) -> Error {
        let conditions = &self.question.conditions;
        let drawing = error.drawing(conditions.get(place).map_or("", String::as_str));
        let problem = match conditions.len() > 1 {
            true => format!("condition {}: {}", place + 1, error.problem),
            false => error.problem.clone(),
        };
        hint.append(drawing.into());
        Error::usage(problem, hint)
    }
}

/// The conditions of a question; one that all rows satisfy where there is none.
fn read_conditions(question: &Question, room: &mut Room) -> Result<Vec<Condition>> {
    if question.conditions.is_empty() {
        return Ok(vec![Condition::of_all_rows()]);
    }
    let read = |(place, text): (usize, &String)| {
        let read = Condition::read(text);
        let condition = read.map_err(|error| Asking { question }.refuse(place, &error))?;
        room.add_condition(place, &condition)?;
        Ok(condition)
    };
    question.conditions.iter().enumerate().map(read).collect()
}

/// Refuses conditions on columns of which nothing is known.
fn check_columns(
    tests: &[(usize, &Test)],
    columns: &ReleaseColumns,
    release: &dyn Source,
    asking: Asking<'_>,
) -> Result<()> {
    for &(place, test) in tests {
        if let Err((problem, hint)) = columns.find(&test.column, release) {
            let error = ConditionError::new(problem, "").at(test.column_mark);
            return Err(asking.refuse_for(place, &error, hint));
        }
    }
    Ok(())
}

impl ReleaseColumns {
    /// Whether a column can be asked for, or what is wrong and what to do.
    fn find(
        &self,
        name: &str,
        release: &dyn Source,
    ) -> std::result::Result<&ReleaseColumn, (String, Wording)> {
        if let Some(own) = self.named(name) {
            return match own.kind {
                ColumnKind::Level => Err((
                    format!("column '{name}' tells how deep classes lie, and nothing of people"),
                    "ask for another column".into(),
                )),
                _ => Ok(own),
            };
        }
        let is_in = |own: &&ReleaseColumn| own.shown_in.iter().any(|shown| shown == name);
        if let Some(own) = self.columns.iter().find(is_in) {
            return Err((
                format!("column '{name}' shows a part of '{}'", own.name),
                format!("ask for '{}' itself", own.name).into(),
            ));
        }
        let is_there = release.columns().iter().any(|own| own.name == name);
        if is_there && !self.is_ours {
            return Err((
                format!(
                    "nothing tells what column '{name}' shows: no manifest stands beside the release"
                ),
                wording![
                    "say that it is generalized with ",
                    Field::Quasi,
                    ", or that it left as it came with ",
                    Field::Keep
                ],
            ));
        }
        let known: Vec<&str> = self.columns.iter().map(|own| own.name.as_str()).collect();
        let hint = match known.is_empty() {
            true => wording!["name the columns that are generalized with ", Field::Quasi],
            false => columns_hint(name, &known).into(),
        };
        Err((format!("there is no column '{name}'"), hint))
    }

    /// The same for a column that stands in no condition.
    fn check(&self, name: &str, release: &dyn Source) -> Result<()> {
        match self.find(name, release) {
            Ok(_) => Ok(()),
            Err((problem, hint)) => Err(Error::usage(problem, hint)),
        }
    }
}

fn too_many(_: TooManyTerms) -> ConditionError {
    ConditionError::new(
        format!("the condition comes to more than {} boxes", albers_query::term::MAX_TERMS),
        "ask for less at once",
    )
}

/// How many digits after the point the values of tests have at most.
fn n_digits(tests: &[&Test]) -> u8 {
    let values = tests.iter().flat_map(|test| test.values());
    values.map(yardstick::digits_after_point).max().unwrap_or(0)
}
