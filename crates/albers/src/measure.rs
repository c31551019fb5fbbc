//! What a release loses, ours or anybody's, from its file and the original alone.
//!
//! ```text
//!   original ──► domains, codes ──────────┐
//!   release  ──► texts ──► what they show ┴──► classes ──► loss
//!   key      ──► pairs of rows ──► every row covered? ──► divergence
//! ```

pub(crate) mod pairs;

use std::collections::BTreeMap;
use std::path::Path;

use albers_classes::Attribute;
use albers_classes::space::Shown;
use albers_measure::released::{Pairing, ReleasedColumn, loss_of_released, uncovered};
use albers_measure::{Classes, Codes, Loss};
use albers_release::content::CellContent;
use albers_release::parse::{CellParser, CellProblem, is_set_of_values, shows_missing_too};
use albers_table::TableError;
use albers_table::domain::CodedColumn;
use albers_table::progress::Progress;
use albers_table::read;
use albers_table::schema::{ColumnType, Role};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::columns::{ShownIn, Wanted, intern, read_columns};
use crate::error::{Differing, Error, Result};
use crate::job::Job;
use crate::report::{ClassSize, KlBasis};
use crate::table::{self, Table};

/// What a release loses.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// The quasi-identifiers.
    pub columns: Vec<MeasuredColumn>,
    /// Things the user should know.
    pub notes: Vec<String>,
}

/// The losses; see [`Loss`] for their definitions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredLoss {
    /// The sum of the squared class sizes, and the original's rows for each row left out.
    pub discernibility: f64,
    /// The sum over rows and attributes of weight times loss.
    pub certainty_penalty: f64,
    /// The certainty penalty as a share of the greatest possible.
    pub ncp: f64,
    /// The divergence of the release from the original, if the rows are paired.
    pub kl: Option<f64>,
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

/// Measures a release. The key is a column that is unique in both files and tells which rows belong
/// together.
pub fn measure(
    job: &Job,
    original: &Path,
    release: &Path,
    key: Option<&str>,
    progress: &dyn Progress,
) -> Result<MeasureReport> {
    check_columns(job, key)?;
    let released = Released::read(job, release, key, progress)?;
    let mut table = table::load(&original_job(job, &released), original, false, None, progress)?;
    if released.n_rows > table.n_rows {
        return Err(Error::usage(
            format!(
                "{} has {} rows, more than the {} of {}",
                release.display(),
                released.n_rows,
                table.n_rows,
                original.display()
            ),
            "make sure that this is the release of this original",
        ));
    }
    progress.phase("measure", None);
    find_sets(job, &released, &mut table.attributes);
    let codes = codes_of(&mut table);
    let columns = table
        .attributes
        .par_iter()
        .map(|attribute| released.column(release, attribute))
        .collect::<Result<Vec<ReleasedColumn<'_>>>>()?;
    let places: Vec<Codes<'_>> = columns
        .iter()
        .map(|column| Codes { codes: &column.places, n_values: column.cells.len() as u32 })
        .collect();
    let classes = Classes::of(released.n_rows, &places);
    let rows = match &released.key {
        Some(keys) => Some(pairs::pair(job, original, release, keys, progress)?),
        None => None,
    };
    let sensitive: Vec<Vec<u32>> = table.sensitive.iter().map(|data| data.codes()).collect();
    let pairing = rows.as_ref().map(|original_rows| Pairing {
        original_rows,
        codes: &codes,
        sensitive: &sensitive,
    });
    if let Some(pairing) = &pairing {
        let mut differing = differing_quasi(&columns, pairing);
        differing.extend(pairs::differing_sensitive(&released.sensitive, &table, pairing));
        if !differing.is_empty() {
            return Err(Error::DoesNotDescribe { path: release.to_owned(), columns: differing });
        }
    }
    let loss = loss_of_released(&columns, &classes, table.n_rows, pairing.as_ref());
    Ok(report(&table, &classes, loss, pairing.is_some(), released.notes))
}

fn report(
    table: &Table,
    classes: &Classes,
    loss: Loss,
    has_kl: bool,
    mut notes: Vec<String>,
) -> MeasureReport {
    let columns: Vec<MeasuredColumn> = table.attributes.iter().map(measured_column).collect();
    let sensitive = table.sensitive.iter().map(|data| data.column.domain.name().to_owned());
    let in_tuple = columns.iter().map(|column| column.name.clone()).chain(sensitive).collect();
    if !has_kl {
        notes.push(
            "the KL divergence needs to know which rows belong together: name a column that is \
             unique in both files with --key"
                .to_owned(),
        );
    }
    MeasureReport {
        rows: classes.n_rows() as u64,
        original_rows: table.n_rows as u64,
        suppressed: (table.n_rows - classes.n_rows()) as u64,
        classes: classes.n_classes() as u64,
        class_size: ClassSize::of(classes.iter().map(|rows| rows.len() as u64)),
        loss: MeasuredLoss {
            discernibility: loss.discernibility,
            certainty_penalty: loss.certainty_penalty,
            ncp: loss.ncp,
            kl: has_kl.then_some(loss.kl),
            ncp_by_column: loss.ncp_by_column,
        },
        kl_basis: has_kl.then(|| KlBasis::over(in_tuple)),
        columns,
        notes,
    }
}

fn measured_column(attribute: &Attribute) -> MeasuredColumn {
    MeasuredColumn {
        name: attribute.domain.name().to_owned(),
        column_type: attribute.domain.column_type().to_string(),
        shown: match attribute.shown {
            Shown::Interval => "interval",
            Shown::Set => "set",
            Shown::Label => "label",
        },
        weight: attribute.weight,
        missing: attribute.domain.n_missing(),
    }
}

pub(crate) fn check_columns(job: &Job, key: Option<&str>) -> Result<()> {
    if job.with_role(Role::Quasi).next().is_none() {
        return Err(Error::usage(
            "no column is a quasi-identifier, so there is no loss to measure",
            "name the generalized columns with --quasi",
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

/// The job as far as it tells how the original is to be read. A quasi-identifier that the release
/// shows by its bounds is ordered, whatever its hierarchy.
fn original_job(job: &Job, released: &Released) -> Job {
    let mut job = job.clone();
    for (name, column) in &mut job.columns {
        if !matches!(column.role, Some(Role::Quasi | Role::Sensitive)) {
            column.role = None;
        }
        let shown = released.quasi.iter().find(|quasi| quasi.name == *name);
        if shown.is_some_and(|quasi| quasi.is_bounds) {
            column.hierarchy = None;
        }
    }
    job
}

/// A category with a hierarchy that is shown by sets loses by values, not by labels.
pub(crate) fn find_sets(job: &Job, released: &Released, attributes: &mut [Attribute]) {
    for attribute in attributes {
        let hierarchy = attribute.domain.hierarchy();
        let (Some(hierarchy), Shown::Label, None) = (hierarchy, attribute.shown, job.categories)
        else {
            continue;
        };
        let column = released.quasi_of(attribute);
        let is_set = |text: &str| is_set_of_values(text) && hierarchy.node_by_label(text).is_none();
        if column.texts().any(is_set) {
            attribute.shown = Shown::Set;
        }
    }
}

/// The codes of the original, attribute by attribute.
pub(crate) fn codes_of(table: &mut Table) -> Vec<Vec<u32>> {
    let points =
        std::mem::replace(&mut table.points, albers_classes::points::Points::new(Vec::new()));
    let mut codes = vec![Vec::with_capacity(table.n_rows); table.attributes.len()];
    for chunk in points.into_chunks() {
        for (all, of_chunk) in codes.iter_mut().zip(chunk.columns) {
            all.extend_from_slice(&of_chunk);
        }
    }
    codes
}

pub(crate) fn differing_quasi(
    columns: &[ReleasedColumn<'_>],
    pairing: &Pairing<'_>,
) -> Vec<Differing> {
    let faults = columns.iter().zip(uncovered(columns, pairing));
    let differing = faults.filter_map(|(column, fault)| {
        let fault = fault?;
        Some(Differing {
            column: column.attribute.domain.name().to_owned(),
            n_rows: fault.n_rows,
            first_row: u64::from(fault.first_row) + 1,
        })
    });
    differing.collect()
}

/// A release as read: texts, not yet understood.
pub(crate) struct Released {
    pub(crate) n_rows: usize,
    quasi: Vec<QuasiTexts>,
    pub(crate) key: Option<CodedColumn>,
    sensitive: Vec<CodedColumn>,
    pub(crate) notes: Vec<String>,
}

/// The texts of one quasi-identifier, in one column or as bounds.
struct QuasiTexts {
    name: String,
    is_bounds: bool,
    columns: Vec<CodedColumn>,
}

impl Released {
    pub(crate) fn read(
        job: &Job,
        path: &Path,
        key: Option<&str>,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let options = job.read_options()?;
        let header = read::header(path, &options)?;
        let as_text =
            |name: &str| Wanted { name: name.to_owned(), column_type: Some(ColumnType::Text) };
        let mut wanted = Vec::new();
        let mut places = Vec::new();
        let mut notes = Vec::new();
        for name in job.with_role(Role::Quasi) {
            let shown_in = ShownIn::find(path, &header, name)?;
            notes.extend(shown_in.note(name));
            wanted.extend(shown_in.names().iter().map(|name| as_text(name)));
            let is_bounds = matches!(shown_in, ShownIn::Bounds(_));
            places.push((name.to_owned(), is_bounds, shown_in.names().len()));
        }
        let others = key.into_iter().chain(job.with_role(Role::Sensitive));
        for name in others {
            read::place_of(path, &header, name)?;
            wanted.push(as_text(name));
        }
        let (n_rows, raw) = read_columns(path, &options, wanted, progress)?;
        let columns: Vec<CodedColumn> = raw.into_par_iter().map(intern).collect::<Result<_>>()?;
        let mut columns = columns.into_iter();
        let quasi = places
            .into_iter()
            .map(|(name, is_bounds, n_columns)| {
                let columns = columns.by_ref().take(n_columns).collect();
                QuasiTexts { name, is_bounds, columns }
            })
            .collect();
        let key = key.and_then(|_| columns.next());
        Ok(Released { n_rows, quasi, key, sensitive: columns.collect(), notes })
    }

    /// Rows that show the same text on all quasi-identifiers, whether or not it is understood.
    pub(crate) fn classes_of_texts(&self) -> Classes {
        let columns = self.quasi.iter().flat_map(|quasi| &quasi.columns);
        let codes: Vec<(Vec<u32>, u32)> = columns
            .map(|column| (column.codes.concat(), column.domain.n_values() as u32))
            .collect();
        let columns: Vec<Codes<'_>> =
            codes.iter().map(|(codes, n_values)| Codes { codes, n_values: *n_values }).collect();
        Classes::of(self.n_rows, &columns)
    }

    fn quasi_of(&self, attribute: &Attribute) -> &QuasiTexts {
        let name = attribute.domain.name();
        self.quasi.iter().find(|quasi| quasi.name == name).expect("every attribute was read")
    }

    /// What the cells of an attribute show.
    pub(crate) fn column<'a>(
        &self,
        path: &Path,
        attribute: &'a Attribute,
    ) -> Result<ReleasedColumn<'a>> {
        let texts = self.quasi_of(attribute);
        let codes: Vec<Vec<u32>> = texts.columns.iter().map(|c| c.codes.concat()).collect();
        let columns: Vec<Codes<'_>> = texts
            .columns
            .iter()
            .zip(&codes)
            .map(|(column, codes)| Codes { codes, n_values: column.domain.n_values() as u32 })
            .collect();
        let parser = CellParser::new(attribute, texts.shows_missing());
        let mut cells = Vec::new();
        let mut place_of: FxHashMap<(CellContent, u64), u32> = FxHashMap::default();
        let mut places = vec![0u32; self.n_rows];
        for rows in Classes::of(self.n_rows, &columns).iter() {
            let first_row = rows[0] as usize;
            let text = |at: usize| texts.columns[at].domain.category(codes[at][first_row]);
            let cell = match texts.columns.len() {
                1 => parser.parse(text(0)),
                2 => parser.parse_bounds(text(0), text(1), None),
                _ => parser.parse_bounds(text(0), text(1), text(2)),
            };
            let cell = cell.map_err(|problem| cell_error(path, first_row, texts, problem))?;
            let place =
                *place_of.entry((cell.content.clone(), cell.loss.to_bits())).or_insert_with(|| {
                    cells.push(cell);
                    cells.len() as u32 - 1
                });
            rows.iter().for_each(|&row| places[row as usize] = place);
        }
        Ok(ReleasedColumn { attribute, cells, places })
    }
}

impl QuasiTexts {
    /// The distinct texts of the first column.
    fn texts(&self) -> impl Iterator<Item = &str> {
        let domain = &self.columns[0].domain;
        (0u32..).map_while(|code| domain.category(code))
    }

    /// Whether a cell shows the missing value, alone or beside others.
    fn shows_missing(&self) -> bool {
        self.columns[0].domain.n_missing() > 0 || self.texts().any(shows_missing_too)
    }
}

fn cell_error(path: &Path, row_idx: usize, texts: &QuasiTexts, problem: CellProblem) -> Error {
    let names: Vec<&str> = texts.columns.iter().map(|column| column.domain.name()).collect();
    Error::Table(TableError::Cell {
        path: path.to_owned(),
        place: format!("row {}", row_idx + 1),
        column: names.join(", "),
        problem: problem.problem().to_owned(),
        hint: problem.hint(&texts.name),
    })
}
