//! What a release loses, ours or anybody's, from its file and the original alone.
//!
//! ```text
//!   original ──► domains, codes ──────────┐
//!   release  ──► texts ──► what they show ┴──► classes ──► loss
//!   key      ──► pairs of rows ──► every row covered? ──► divergence
//!   queries  ──► true answers ──► those of the classes ──► errors
//! ```

pub mod queries;
mod selections;
mod targets;

use std::collections::BTreeMap;

use albers_classes::Attribute;
use albers_measure::relation::relation_of_released;
use albers_measure::released::{Pairing, ReleasedColumn, loss_of_released};
use albers_measure::{Classes, Codes, ColumnSteps, Divergence, Loss, Relation};
use albers_storage::choice::Choice;
use albers_storage::watch::{Phase, Watch};
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::row::RowIdx;
use albers_table::schema::Role;
use albers_table::source::Source;
use rayon::prelude::*;
use serde::Serialize;

use crate::columns::level_of;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::memory::{Memory, on_threads};
use crate::method::works_in_memory;
use crate::plan::{Plan, Resources};
use crate::protection::sensitive_codes;
use crate::released::{Released, ReleasedColumns, codes_of, differing_quasi, find_sets, pairs};
use crate::report::{ClassSize, KlBasis, Note, shown_word};
use crate::rows::{Reading, Rows, Table, Wanted};

use queries::{Asking, MeasuredQueries, QueryAnswers, QueryWorkload};
use selections::BothRows;
pub use selections::{MeasuredSelection, MeasuredSelections};
pub use targets::MeasuredTarget;

/// What a release loses.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MeasureReport {
    /// Rows of the release.
    pub rows: u64,
    /// Rows of the original.
    pub original_rows: u64,
    /// Rows of the original that the release leaves out.
    pub suppressed: u64,
    /// Groups of rows that show the same on the quasi-identifiers.
    pub classes: u64,
    /// Rows per class.
    pub class_size: ClassSize,
    /// What is lost.
    pub loss: MeasuredLoss,
    /// What the divergence is over; nothing if it was not computed.
    pub kl_basis: Option<KlBasis>,
    /// How much classes tell of each target.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<MeasuredTarget>,
    /// How many rows selections return that do not satisfy them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selections: Option<MeasuredSelections>,
    /// How well random queries are answered: for the owner alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries: Option<MeasuredQueries>,
    /// The quasi-identifiers.
    pub columns: Vec<MeasuredColumn>,
    /// Things the user should know.
    pub notes: Vec<Note>,
}

/// Which values of a column with a hierarchy its loss is a share of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LossDomain {
    /// All leaves of its hierarchy.
    #[default]
    Declared,
    /// Those that occur in the original.
    Occurring,
}

albers_storage::choices!(LossDomain {
    Declared: "declared", "All leaves of the hierarchy: what reports of this program divide by";
    Occurring: "occurring", "The values that occur in the original, as other programs count";
});

/// What is asked of a release beside its losses, and how these are counted.
#[derive(Debug, Clone, Default)]
pub struct MeasureOptions {
    /// Which values of a column with a hierarchy its loss is a share of.
    pub domain: LossDomain,
    /// Random queries that it is asked.
    pub queries: Option<QueryWorkload>,
}

/// The losses; see [`Loss`] for their definitions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredLoss {
    /// The values that the certainty penalty and the ncp of a column with a hierarchy are shares of:
    /// `declared` or `occurring`.
    pub domain: &'static str,
    /// The sum of the squared class sizes, and the original's rows for each row left out.
    pub discernibility: f64,
    /// The sum over rows and attributes of weight times loss.
    pub certainty_penalty: f64,
    /// The certainty penalty as a share of the greatest possible.
    pub ncp: f64,
    /// The divergence of the release from the original over the quasi-identifiers, if the rows are
    /// paired and shown classes are disjoint.
    pub kl: Option<f64>,
    /// What it is at most, if the rows are paired and classes may overlap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kl_at_most: Option<f64>,
    /// The same with the sensitive columns, if there are any.
    pub kl_with_sensitive: Option<f64>,
    /// The mean loss of each attribute, before weights.
    pub ncp_by_column: BTreeMap<String, f64>,
}

/// A quasi-identifier as it was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredColumn {
    /// Its name in the original.
    pub name: String,
    /// The type of its values.
    #[serde(rename = "type")]
    pub column_type: String,
    /// How the release shows it: `interval`, `set` or `label`.
    pub shown: &'static str,
    /// How much a loss on it counts.
    pub weight: f64,
    /// Cells without a value in the original.
    pub missing: u64,
}

/// Measures a release of an original. The key is a column that is unique in both and tells which
/// rows belong together.
///
/// ```
/// use albers::source::{ReadOptions, StreamSource};
/// use albers::{Job, Role, Silent, measure};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let table = |text: &'static str| {
///     StreamSource::text(Box::new(text.as_bytes()), "a table", None, &ReadOptions::default())
/// };
/// let original = table("age\n30\n31\n52\n70\n")?;
/// let release = table("age\n30-31\n30-31\n50-70\n50-70\n")?;
/// let mut job = Job::default();
/// job.set_role("age", Role::Quasi)?;
/// let report = measure(&job, &original, &release, None, &Silent)?;
/// assert!(0.0 < report.loss.ncp && report.loss.ncp < 1.0);
/// # Ok(())
/// # }
/// ```
pub fn measure(
    job: &Job,
    original: &dyn Source,
    release: &dyn Source,
    key: Option<&str>,
    watch: &dyn Watch,
) -> Result<MeasureReport> {
    measure_with(job, original, release, key, &MeasureOptions::default(), watch)
}

/// Measures a release as [`measure`] does, over another domain or with random queries too.
pub fn measure_with(
    job: &Job,
    original: &dyn Source,
    release: &dyn Source,
    key: Option<&str>,
    options: &MeasureOptions,
    watch: &dyn Watch,
) -> Result<MeasureReport> {
    options.queries.as_ref().map_or(Ok(()), QueryWorkload::check)?;
    looked_at(job, (original, release), key, watch, |sides| sides.report(options))
}

/// Asks a release random queries, and tells what each comes to: for the owner alone.
///
/// ```
/// use albers::source::{ReadOptions, StreamSource};
/// use albers::{Job, Predicates, QueryKind, QueryWorkload, Role, Silent, query_answers};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let table = |text: &'static str| {
///     StreamSource::text(Box::new(text.as_bytes()), "a table", None, &ReadOptions::default())
/// };
/// let original = table("age\n30\n31\n52\n70\n")?;
/// let release = table("age\n30-31\n30-31\n50-70\n50-70\n")?;
/// let mut job = Job::default();
/// job.set_role("age", Role::Quasi)?;
/// let (kind, predicates) = (QueryKind::Point, Predicates::All);
/// let workload = QueryWorkload { n_queries: 100, kind, predicates, seed: 7 };
/// let answers = query_answers(&job, &original, &release, None, &workload, &Silent)?;
/// assert!(answers.each.iter().all(|query| (query.truth, query.overlap) == (1, 2)));
/// # Ok(())
/// # }
/// ```
pub fn query_answers(
    job: &Job,
    original: &dyn Source,
    release: &dyn Source,
    key: Option<&str>,
    workload: &QueryWorkload,
    watch: &dyn Watch,
) -> Result<QueryAnswers> {
    workload.check()?;
    looked_at(job, (original, release), key, watch, |sides| sides.answers(workload))
}

/// Reads an original and its release, and shows both.
fn looked_at<T: Send>(
    job: &Job,
    (original, release): (&dyn Source, &dyn Source),
    key: Option<&str>,
    watch: &dyn Watch,
    look: impl FnOnce(Sides<'_>) -> Result<T> + Send,
) -> Result<T> {
    check_key(job, key)?;
    targets::check(job)?;
    let job = job.with_hierarchies()?;
    let resources = Resources::of(&job)?;
    on_threads(resources.n_threads, || {
        let memory = Memory::of_resources(&resources);
        let too_large =
            |error| works_in_memory(error, "measure", wording!["give more ", Field::Memory]);
        let columns = released_columns(&job, release, key)?;
        let released = Released::read(release, &columns, &memory, watch).map_err(too_large)?;
        let roles = [Role::Quasi, Role::Sensitive];
        let is_by_bounds = |name: &str| released.is_by_bounds(name);
        let plan = Plan::of_original(&job, &roles, original, is_by_bounds)?;
        let reading = Reading {
            plan: &plan,
            source: original,
            memory: &memory,
            typed_output: false,
            key,
            watch,
        };
        let limit_bytes = memory.budget.limit_bytes();
        let rows = reading.read(Wanted::OnlyTable { limit_bytes }).map_err(too_large)?;
        let Rows::InMemory(table) = rows else {
            unreachable!("a table in memory was wanted, and no other")
        };
        watch.phase(Phase::Measure, None);
        both_sides(&job, original.name(), &released, *table, look)
    })
}

/// The columns of a release that a job tells of.
fn released_columns<'j>(
    job: &'j Job,
    release: &dyn Source,
    key: Option<&'j str>,
) -> Result<ReleasedColumns<'j>> {
    Ok(ReleasedColumns {
        quasi: job.with_role(Role::Quasi).collect(),
        level: level_of(job, release)?,
        key,
        sensitive: job.with_role(Role::Sensitive).collect(),
        targets: job.workload.targets.iter().map(|own| own.column.as_str()).collect(),
    })
}

/// A release and its original, in the same codes.
struct Sides<'a> {
    job: &'a Job,
    released: &'a Released,
    table: &'a Table,
    columns: &'a [ReleasedColumn<'a>],
    classes: &'a Classes,
    /// The codes of the original, attribute by attribute.
    codes: &'a [Vec<u32>],
    sensitive: &'a [Vec<u32>],
    /// The row of the original behind each row of the release, where a key tells.
    original_rows: Option<&'a [RowIdx]>,
}

/// Brings a release and its original together, and refuses a release that is not of it.
fn both_sides<T>(
    job: &Job,
    original: &str,
    released: &Released,
    mut table: Table,
    look: impl FnOnce(Sides<'_>) -> Result<T>,
) -> Result<T> {
    check_has_no_more_rows(released, original, &table)?;
    find_sets(job.categories, released, &mut table.attributes);
    let codes = codes_of(&mut table);
    let columns = table
        .attributes
        .par_iter()
        .map(|attribute| released.column(attribute))
        .collect::<Result<Vec<ReleasedColumn<'_>>>>()?;
    let levels = released.levels();
    let places = columns
        .iter()
        .map(|column| Codes { codes: &column.places, n_values: column.cells.len() as u32 });
    let levels = levels.iter().map(|(codes, n_values)| Codes { codes, n_values: *n_values });
    let places: Vec<Codes<'_>> = places.chain(levels).collect();
    let classes = released.classes_by(&places);
    let rows = match (&table.key, &released.key) {
        (Some(of_original), Some(keys)) => {
            Some(pairs::pair((original, of_original), (&released.name, keys))?)
        }
        _ => None,
    };
    let sides = Sides {
        job,
        released,
        table: &table,
        columns: &columns,
        classes: &classes,
        codes: &codes,
        sensitive: &sensitive_codes(&table),
        original_rows: rows.as_deref(),
    };
    sides.check_describes()?;
    look(sides)
}

impl Sides<'_> {
    fn pairing(&self) -> Option<Pairing<'_>> {
        self.original_rows.map(|original_rows| Pairing {
            original_rows,
            codes: self.codes,
            sensitive: self.sensitive,
        })
    }

    /// Refuses a release with rows that are not those of its original.
    fn check_describes(&self) -> Result<()> {
        let Some(pairing) = self.pairing() else { return Ok(()) };
        let mut differing = differing_quasi(self.columns, &pairing);
        let released = self.released;
        differing.extend(pairs::differing_sensitive(&released.sensitive, self.table, &pairing));
        match differing.is_empty() {
            true => Ok(()),
            false => {
                let release = released.name.clone();
                Err(Error::DoesNotDescribe { release, columns: differing })
            }
        }
    }

    /// The steps that each quasi-identifier can lose. Where none has a hierarchy, all values occur.
    fn steps(&self, domain: LossDomain) -> Result<Vec<ColumnSteps>> {
        let columns = self.table.attributes.iter().map(|own| &own.domain);
        let has_tree = columns.clone().any(|column| column.hierarchy().is_some());
        if domain == LossDomain::Occurring && !has_tree {
            return Err(Error::usage(
                format!(
                    "the domain of {domain} values has no effect: no quasi-identifier has a \
                     hierarchy that declares others"
                ),
                wording!["drop it, or give a ", Field::Hierarchy],
            ));
        }
        let steps = columns.zip(self.codes).map(|(column, codes)| match domain {
            LossDomain::Declared => ColumnSteps::declared(column),
            LossDomain::Occurring => ColumnSteps::occurring(column, codes),
        });
        Ok(steps.collect())
    }

    /// What is lost, and how queries are answered where some are to be asked.
    fn report(&self, options: &MeasureOptions) -> Result<MeasureReport> {
        let (columns, classes, pairing) = (self.columns, self.classes, self.pairing());
        let (n_rows, steps) = (self.table.n_rows, self.steps(options.domain)?);
        let (loss, divergence) =
            loss_of_released((columns, &steps), classes, n_rows, pairing.as_ref());
        let told = pairing.as_ref().map(|_| {
            (divergence, relation_of_released(columns, classes) == Some(Relation::Disjoint))
        });
        let targets = targets::measured(self.job, &self.released.targets, classes)?;
        let mut notes = self.released.notes.clone();
        let behind =
            BothRows { columns, classes, codes: self.codes, published: self.original_rows };
        let selections = selections::measured(self.job, behind, &mut notes)?;
        let answers = options.queries.as_ref().map(|own| self.answers(own)).transpose()?;
        let is_unknown = self.original_rows.is_none() && classes.n_rows() < n_rows;
        if let Some(answers) = &answers {
            notes.extend(is_unknown.then_some(Note::LeftOutAsked));
            notes.extend(answers.has_idle_levels.then_some(Note::LevelsTellNothing));
        }
        let report = report(self.table, classes, (loss, options.domain), told, notes);
        let queries = answers.map(|answers| answers.figures);
        Ok(MeasureReport { targets, selections, queries, ..report })
    }

    /// What random queries come to.
    fn answers(&self, workload: &QueryWorkload) -> Result<QueryAnswers> {
        let levels = self.released.level_numbers()?;
        workload.ask(&Asking {
            columns: self.columns,
            classes: self.classes,
            levels: levels.as_deref(),
            codes: self.codes,
            published: self.original_rows,
        })
    }
}

/// Refuses a release of more rows than its original.
pub(crate) fn check_has_no_more_rows(
    released: &Released,
    original: &str,
    table: &Table,
) -> Result<()> {
    if released.n_rows() <= table.n_rows {
        return Ok(());
    }
    Err(Error::usage(
        format!(
            "{} has {} rows, more than the {} of {original}",
            released.name,
            released.n_rows(),
            table.n_rows
        ),
        "make sure that this is the release of this original",
    ))
}

fn report(
    table: &Table,
    classes: &Classes,
    (loss, domain): (Loss, LossDomain),
    told: Option<(Divergence, bool)>,
    mut notes: Vec<Note>,
) -> MeasureReport {
    let columns: Vec<MeasuredColumn> = table.attributes.iter().map(measured_column).collect();
    let sensitive = table.sensitive.iter().map(|data| data.column.domain.name().to_owned());
    let sensitive: Vec<String> = sensitive.collect();
    let (divergence, is_disjoint) = told.unzip();
    let with_sensitive = divergence.filter(|_| !sensitive.is_empty());
    let in_tuple = columns.iter().map(|column| column.name.clone()).collect();
    if divergence.is_none() {
        notes.push(Note::NoKey);
    }
    MeasureReport {
        rows: classes.n_rows() as u64,
        original_rows: table.n_rows as u64,
        suppressed: (table.n_rows - classes.n_rows()) as u64,
        classes: classes.n_classes() as u64,
        class_size: ClassSize::of(classes.iter().map(|own| own.n_rows() as u64)),
        loss: MeasuredLoss {
            domain: domain.name(),
            discernibility: loss.discernibility,
            certainty_penalty: loss.certainty_penalty,
            ncp: loss.ncp,
            kl: divergence.filter(|_| is_disjoint == Some(true)).map(|own| own.quasi),
            kl_at_most: divergence.filter(|_| is_disjoint == Some(false)).map(|own| own.quasi),
            kl_with_sensitive: with_sensitive.map(|divergence| divergence.with_sensitive),
            ncp_by_column: loss.ncp_by_column,
        },
        kl_basis: divergence.map(|_| KlBasis::over(in_tuple, sensitive)),
        targets: Vec::new(),
        selections: None,
        queries: None,
        columns,
        notes,
    }
}

fn measured_column(attribute: &Attribute) -> MeasuredColumn {
    MeasuredColumn {
        name: attribute.domain.name().to_owned(),
        column_type: attribute.domain.column_type().to_string(),
        shown: shown_word(attribute.shown),
        weight: attribute.weight,
        missing: attribute.domain.n_missing(),
    }
}

/// Refuses a job without quasi-identifiers, and a key that a release changes.
pub(crate) fn check_key(job: &Job, key: Option<&str>) -> Result<()> {
    if job.with_role(Role::Quasi).next().is_none() {
        return Err(Error::usage(
            "no column is a quasi-identifier, so there is no loss to measure",
            wording![
                "name the generalized columns with ",
                Field::Quasi,
                ", or give the job file that the release was made with"
            ],
        ));
    }
    if let Some(key) = key.filter(|key| job.with_role(Role::Quasi).any(|name| name == *key)) {
        return Err(Error::usage(
            format!("the key '{key}' is a quasi-identifier, which the release changes"),
            "use a column that both files hold unchanged",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
