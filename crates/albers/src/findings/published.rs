//! Findings that are counted on the cells that are published, as they are written.
//!
//! ```text
//!   door ──runs──► CountedSink ──runs──► sink
//!                       │
//!                   Exposure ──► findings
//! ```
//!
//! Guarantee: what is found depends on the release alone, so that it may stand in its manifest.
//! Cost: a hash per class and column that it shows, and per row and column that is kept or
//! sensitive, where there are some.

use std::sync::{Arc, Mutex};

use albers_classes::Attribute;
use albers_classes::space::Shown;
use albers_measure::exposure::{Exposure, ExposurePlan, HashedRows, RowCount};
use albers_partition::grain::Grain;
use albers_privacy::Criterion;
use albers_release::publish::cell_hashes;
use albers_table::mix::mix;
use albers_table::schema::{ColumnType, Role};
use albers_table::sink::{RunBatch, RunColumn, Sealed, Sink, WriteOptions};
use albers_table::{Result as TableResult, TableError};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::finding::{Finding, FindingName};
use crate::names::names_a_person;
use crate::plan::{Plan, PlannedColumn, TableColumn};

/// Of the rows, those in one class of equal secrets that make a secret without a rule severe.
const SEVERE_SHARED_SHARE: f64 = 0.05;
/// Of the rows, those alone by a kept value that make it severe.
const SEVERE_UNIQUE_SHARE: f64 = 0.5;
/// Values of a text up to which lists of it are those of a category.
const CATEGORY_VALUES: u64 = 20;
/// Values of a text above which lists of it may be severe.
const SEVERE_TEXT_VALUES: u64 = 100;
/// A hash and a count in a table that is half full.
const VALUE_BYTES: usize = 48;

/// The columns that are watched, and what was counted of them.
#[derive(Clone)]
pub(crate) struct PublishedCounts {
    /// Columns that are kept, and sensitive ones without a rule.
    kept: Vec<String>,
    secrets: Vec<String>,
    /// Columns that are kept and that cuts follow.
    targets: Vec<String>,
    /// All that leave as they came.
    carried: Vec<String>,
    exposure: Arc<Mutex<Exposure>>,
}

impl PublishedCounts {
    /// Of a plan, before anything is published.
    pub(crate) fn of_nothing(plan: &Plan) -> PublishedCounts {
        let with = |role: Role| -> Vec<String> {
            let own = |column: &&TableColumn| column.role == Some(role);
            plan.table.iter().filter(own).map(|column| column.name.clone()).collect()
        };
        let (kept, sensitive) = (with(Role::Keep), with(Role::Sensitive));
        let is_ruled = |name: &String| {
            let asks =
                |column: &PlannedColumn| column.criteria.iter().any(Criterion::asks_for_something);
            plan.columns.iter().any(|column| column.name == *name && asks(column))
        };
        let carried = kept.iter().chain(&sensitive).cloned().collect();
        let secrets: Vec<String> = sensitive.into_iter().filter(|name| !is_ruled(name)).collect();
        let is_target =
            |name: &&String| plan.workload.targets.iter().any(|own| own.column == **name);
        let targets: Vec<String> = kept.iter().filter(is_target).cloned().collect();
        let grain = plan.method.grain().unwrap_or_default();
        let n_samples = if kept.is_empty() { 0 } else { kept.len() + 2 };
        let exposure = Exposure::new(&ExposurePlan {
            n_kept: kept.len(),
            n_secrets: secrets.len() + targets.len(),
            max_values: max_values(&grain, n_samples),
        });
        let exposure = Arc::new(Mutex::new(exposure));
        PublishedCounts { kept, secrets, targets, carried, exposure }
    }

    fn has_nothing_to_count(&self) -> bool {
        self.kept.is_empty() && self.secrets.is_empty()
    }

    fn add(&self, rows: &RunBatch) -> TableResult<()> {
        let shown = self.shown_hashes(rows)?;
        let missing_as_value = |cells: Vec<Option<u64>>| -> Vec<u64> {
            cells.into_iter().map(Option::unwrap_or_default).collect()
        };
        let shared = self.secrets.iter().chain(&self.targets);
        let secrets: Vec<_> = shared
            .map(|name| row_hashes(rows, name).map(missing_as_value))
            .collect::<TableResult<_>>()?;
        let hashed = HashedRows { shown: &shown, secrets: &secrets };
        let kept = |column: usize| row_hashes(rows, &self.kept[column]);
        self.exposure.lock().expect("no thread panics while it counts").add(&hashed, kept)
    }

    /// What is shown beside carried cells, one number for each row: where classes show all of it, it
    /// is looked at once for each of them.
    fn shown_hashes(&self, rows: &RunBatch) -> TableResult<Vec<u64>> {
        let fields = rows.schema().fields().iter().zip(rows.columns());
        let shown: Vec<_> =
            fields.filter(|(field, _)| !self.carried.contains(field.name())).collect();
        let are_of_runs = shown.iter().all(|(_, own)| matches!(own, RunColumn::OfRuns(_)));
        let n_cells = if are_of_runs { rows.run_rows().len() } else { rows.n_rows() };
        let mut hashes = vec![0; n_cells];
        for (field, column) in shown {
            let cells = match are_of_runs {
                true => cell_hashes(column.cells()).map_err(|_| unfit(field.name()))?,
                false => row_hashes(rows, field.name())?,
            };
            for (hash, cell) in hashes.iter_mut().zip(cells) {
                *hash = mix(*hash ^ cell.unwrap_or(0));
            }
        }
        Ok(if are_of_runs { repeated(rows, &hashes) } else { hashes })
    }

    /// What was found in a release of at least `k` rows a class, which lists so many values of each
    /// of its attributes.
    pub(crate) fn findings(
        &self,
        k: u64,
        attributes: &[Attribute],
        n_listed: &[Option<u64>],
    ) -> Vec<Finding> {
        let mut exposure = self.exposure.lock().expect("no thread panics while it counts");
        exposure.finish();
        let mut findings: Vec<Finding> = Vec::new();
        for (column, name) in self.kept.iter().enumerate() {
            let alone = exposure.alone_by_value(column);
            let n_values = exposure.n_values(column);
            findings.extend(unique_keep(name, alone, n_values, exposure.n_rows(), k));
        }
        findings.extend(unique_keeps(&exposure, self.kept.len()));
        for (column, name) in self.secrets.iter().enumerate() {
            let (n_shared, highest_share) = exposure.shared_secrets(column);
            let n_rows = exposure.n_rows();
            let found =
                (n_rows > 0).then(|| secret_without_rule(name, n_shared, n_rows, highest_share));
            findings.extend(found);
        }
        for (place, name) in self.targets.iter().enumerate() {
            let (n_shared, _) = exposure.shared_secrets(self.secrets.len() + place);
            findings.extend(target_in_classes(name, n_shared, exposure.n_rows()));
        }
        let lists = attributes.iter().zip(n_listed);
        findings.extend(lists.filter_map(|(own, n_listed)| text_list(own, (*n_listed)?)));
        findings
    }
}

/// A number for the cell of each row in a column.
fn row_hashes(rows: &RunBatch, name: &str) -> TableResult<Vec<Option<u64>>> {
    let place = rows.schema().index_of(name).map_err(|_| unfit(name))?;
    let column = &rows.columns()[place];
    let hashes = cell_hashes(column.cells()).map_err(|_| unfit(name))?;
    Ok(match column {
        RunColumn::OfRows(_) => hashes,
        RunColumn::OfRuns(_) => repeated(rows, &hashes),
    })
}

/// What runs have, once for each of their rows.
fn repeated<T: Copy>(rows: &RunBatch, of_runs: &[T]) -> Vec<T> {
    let mut of_rows = Vec::with_capacity(rows.n_rows());
    for (&own, &n_rows) in of_runs.iter().zip(rows.run_rows()) {
        of_rows.extend(std::iter::repeat_n(own, n_rows as usize));
    }
    of_rows
}

/// A finding that nothing hides anybody.
pub(crate) fn low_k(n_rows: u64) -> Finding {
    Finding {
        name: FindingName::LowK,
        column: None,
        count: n_rows,
        is_about: false,
        is_severe: true,
        sentence: "k = 1 without any other rule hides nobody: a class may be a single row".into(),
    }
}

/// Rows of which some have a value of a kept column that nobody else has.
pub(crate) fn unique_keep(
    name: &str,
    alone: RowCount,
    n_values: u64,
    n_rows: u64,
    k: u64,
) -> Option<Finding> {
    let is_severe = is_unique_severely(name, alone.n_rows, n_values, n_rows, k);
    (alone.n_rows > 0 || names_many(name, n_values, n_rows, k)).then(|| Finding {
        name: FindingName::UniqueKeep,
        column: Some(name.to_owned()),
        count: alone.n_rows,
        is_about: alone.is_about,
        is_severe,
        sentence: format!(
            "{}{} of {n_rows} rows have a value of '{name}' that nobody else has: whoever knows it \
             finds the row",
            about(alone.is_about),
            alone.n_rows,
        )
        .into(),
    })
}

/// Rows that are alone by all kept columns.
pub(crate) fn unique_keeps(exposure: &Exposure, n_kept: usize) -> Option<Finding> {
    let (alone, beside) = (exposure.alone_by_kept(), exposure.alone_by_kept_and_shown());
    (n_kept > 0 && beside.n_rows > 0).then(|| Finding {
        name: FindingName::UniqueKeeps,
        column: None,
        count: alone.n_rows,
        is_about: alone.is_about,
        is_severe: false,
        sentence: format!(
            "{}{} of {} rows are alone by their kept values together, and {}{} beside what their \
             class shows",
            about(alone.is_about),
            alone.n_rows,
            exposure.n_rows(),
            about(beside.is_about),
            beside.n_rows,
        )
        .into(),
    })
}

/// Rows in classes that share one value of a sensitive column without a rule.
pub(crate) fn secret_without_rule(
    name: &str,
    n_shared: u64,
    n_rows: u64,
    highest_share: f64,
) -> Finding {
    Finding {
        name: FindingName::SecretWithoutRule,
        column: Some(name.to_owned()),
        count: n_shared,
        is_about: false,
        is_severe: n_shared as f64 >= SEVERE_SHARED_SHARE * n_rows as f64,
        sentence: format!(
            "no rule protects '{name}': {n_shared} of {n_rows} rows are in classes that share one \
             value of it, and one value has up to {:.1} % of a class",
            highest_share * 100.0,
        )
        .into(),
    }
}

/// Rows in classes that share one value of a kept column that cuts follow.
fn target_in_classes(name: &str, n_shared: u64, n_rows: u64) -> Option<Finding> {
    (n_shared > 0).then(|| Finding {
        name: FindingName::TargetInClasses,
        column: Some(name.to_owned()),
        count: n_shared,
        is_about: false,
        is_severe: n_shared as f64 >= SEVERE_SHARED_SHARE * n_rows as f64,
        sentence: format!(
            "{n_shared} of {n_rows} rows are in classes that share one value of '{name}', which \
             cuts follow: whoever finds a person's class knows it"
        )
        .into(),
    })
}

fn text_list(attribute: &Attribute, n_listed: u64) -> Option<Finding> {
    let domain = &attribute.domain;
    let is_text = matches!(domain.column_type(), ColumnType::Text | ColumnType::Code);
    if !is_text || attribute.shown != Shown::Set || domain.hierarchy().is_some() {
        return None;
    }
    if !is_listed(n_listed) {
        return None;
    }
    let name = domain.name();
    let n_values = domain.n_values();
    let n_single = domain.n_single().unwrap_or(0);
    Some(Finding {
        name: FindingName::TextList,
        column: Some(name.to_owned()),
        count: n_listed,
        is_about: false,
        is_severe: is_list_of_itself(n_values, n_single),
        sentence: format!(
            "'{name}' is text without a hierarchy, published as lists of {n_listed} of its own \
             values: a value that one person has is still there"
        )
        .into(),
    })
}

/// Whether so many values of a text are more than those of a category.
pub(crate) fn is_listed(n_values: u64) -> bool {
    n_values > CATEGORY_VALUES
}

/// Whether a text with so many values, of which some are those of one row each, would be published
/// as a list of itself.
pub(crate) fn is_list_of_itself(n_values: u64, n_single: u64) -> bool {
    n_values > SEVERE_TEXT_VALUES && 2 * n_single >= n_values
}

/// Whether a kept column of so many rows is severe: by the rows that are alone, or by its name and
/// its values.
pub(crate) fn is_unique_severely(
    name: &str,
    n_alone: u64,
    n_values: u64,
    n_rows: u64,
    k: u64,
) -> bool {
    names_many(name, n_values, n_rows, k) || n_alone as f64 >= SEVERE_UNIQUE_SHARE * n_rows as f64
}

/// Whether a column is named like a person's identifier and has more values than classes can hide.
fn names_many(name: &str, n_values: u64, n_rows: u64, k: u64) -> bool {
    names_a_person(name) && n_values > n_rows / k.max(1)
}

/// The word before a number that is an estimate.
pub(crate) fn about(is_about: bool) -> &'static str {
    if is_about { "about " } else { "" }
}

fn unfit(column: &str) -> TableError {
    TableError::Column {
        column: column.to_owned(),
        problem: "its cells cannot be told apart".to_owned(),
        hint: "convert the column to text, or leave it out".into(),
    }
}

/// Distinct values up to which counts are exact: an eighth of the least memory, whatever more there
/// is, since findings are published.
fn max_values(grain: &Grain, n_samples: usize) -> usize {
    (grain.sample_bytes / VALUE_BYTES / n_samples.max(1)).clamp(1 << 10, 1 << 20)
}

/// A sink that counts what goes through it.
pub(crate) struct CountedSink {
    sink: Box<dyn Sink>,
    counts: PublishedCounts,
}

impl CountedSink {
    /// Around another one.
    pub(crate) fn around(sink: Box<dyn Sink>, counts: &PublishedCounts) -> Box<dyn Sink> {
        match counts.has_nothing_to_count() {
            true => sink,
            false => Box::new(CountedSink { sink, counts: counts.clone() }),
        }
    }
}

impl Sink for CountedSink {
    fn name(&self) -> &str {
        self.sink.name()
    }

    fn is_typed(&self) -> bool {
        self.sink.is_typed()
    }

    fn shows_bounds(&self) -> bool {
        self.sink.shows_bounds()
    }

    fn begin(&mut self, schema: SchemaRef, options: WriteOptions) -> TableResult<()> {
        self.sink.begin(schema, options)
    }

    fn write(&mut self, batch: &RecordBatch) -> TableResult<()> {
        self.write_runs(&RunBatch::of_rows(batch))
    }

    fn write_runs(&mut self, rows: &RunBatch) -> TableResult<()> {
        self.counts.add(rows)?;
        self.sink.write_runs(rows)
    }

    fn seal(self: Box<Self>) -> TableResult<Box<dyn Sealed>> {
        self.sink.seal()
    }
}
