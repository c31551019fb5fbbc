//! A release against its original: the findings that the release alone does not tell.
//!
//! ```text
//!   original ──► domains, codes ───────────┐
//!   release  ──► texts ──► what they show ─┼──► ends that are the value of few rows
//!   carried values of both ────────────────┼──► cells that tell what their class hides
//!   key      ──► pairs of rows ────────────┴──► classes that one person rules
//! ```
//!
//! Guarantee: without rows left out, ends and telling cells are those that the owner was told when
//! the release was made. Rows left out are among the original's and count with them. Carried values
//! that the original lacks are counted, so that another form of them does not read as safety.
//! Cost: both tables in memory, of the columns that are looked at; two passes over the original.

use albers_measure::released::Pairing;
use albers_measure::{CarriedCells, EndParts, ReleasedColumn, TellParts, ruled_by_one_of_released};
use albers_partition::grain::Grain;
use albers_privacy::{ClassSummary, Facts};
use albers_release::parse::CellProblem;
use albers_storage::memory_budget::Reservation;
use albers_storage::watch::Watch;
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::coding::CodedColumn;
use albers_table::hierarchy::HierarchySpec;
use albers_table::schema::Role;
use albers_table::source::{Source, place_of};
use albers_table::value;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::asked::requirement_of;
use super::manifest::{built_in, closeness_by};
use crate::columns::{WantedColumn, intern, level_of, read_columns};
use crate::error::{Error, Result};
use crate::finding::Finding;
use crate::findings::{keep_tells_quasi, own_value_bounds, person_rules_class};
use crate::job::{Categories, ColumnJob, Job};
use crate::measure::{check_has_no_more_rows, check_key};
use crate::memory::Memory;
use crate::method::works_in_memory;
use crate::plan::{Plan, criteria_of};
use crate::protection::{interleave, sensitive_codes};
use crate::released::{Released, ReleasedColumns, codes_of, differing_quasi, find_sets, pairs};
use crate::report::{Manifest, Note, PLACES};
use crate::rows::{Reading, Rows, Table, Wanted};

/// The table that a release was made of.
#[derive(Clone, Copy)]
pub struct Original<'a> {
    /// The table.
    pub table: &'a dyn Source,
    /// A column that is unique in both and tells which rows belong together.
    pub key: Option<&'a str>,
}

/// A release that is compared with its original, by a job whose hierarchies are read.
pub(super) struct Comparison<'a> {
    pub(super) job: Job,
    pub(super) release: &'a dyn Source,
    pub(super) original: Original<'a>,
    /// The k that is asked for, or reached.
    pub(super) k: u64,
    pub(super) memory: &'a Memory,
    pub(super) watch: &'a dyn Watch,
}

/// What the comparison came to.
#[derive(Default)]
pub(super) struct Compared {
    pub(super) findings: Vec<Finding>,
    pub(super) notes: Vec<Note>,
}

impl Original<'_> {
    /// Refuses what cannot be compared, before anything is read.
    pub(super) fn check(&self, job: &Job, release: &dyn Source) -> Result<()> {
        check_key(job, self.key)?;
        for table in [release, self.table] {
            if table.stamp().is_none() {
                return Err(Error::usage(
                    format!("{} can be read only once", table.name()),
                    "give a file: a release and its original are read more than once",
                ));
            }
        }
        let (name, columns) = (self.table.name(), self.table.columns());
        let looked_at = job.with_role(Role::Quasi).chain(job.with_role(Role::Subject));
        for column in looked_at.chain(self.key) {
            place_of(name, columns, column)?;
        }
        Ok(())
    }
}

/// The job with what a manifest says and only the original makes sense of, where the job does not
/// say it: the hierarchies of labels, and closeness, which is told by the types of the original.
pub(super) fn told_by(job: &Job, manifest: Option<&Manifest>) -> Result<Job> {
    let mut told = job.clone();
    let Some(manifest) = manifest else { return Ok(told) };
    for (name, t) in closeness_by(manifest)? {
        let own = told.columns.get_mut(&name);
        if let Some(own) = own.filter(|own| own.role == Some(Role::Sensitive)) {
            own.t_closeness = own.t_closeness.or(Some(t));
        }
    }
    for column in manifest.columns.iter().filter(|own| own.shown == PLACES) {
        let own = told.columns.get(&column.name);
        let has_file = |own: &ColumnJob| {
            matches!(own.hierarchy, Some(HierarchySpec::File(_) | HierarchySpec::Rows(_)))
        };
        if column.hierarchy.as_deref() != Some("file") || !own.is_some_and(has_file) {
            return Err(unknown_order(&column.name));
        }
        told.categories = Some(Categories::Label);
    }
    if told.categories == Some(Categories::Label) {
        for column in manifest.columns.iter().filter(|own| own.shown == "interval") {
            // Bounds, and no places.
            if let Some(own) = told.columns.get_mut(&column.name) {
                own.hierarchy = None;
            }
        }
    }
    for column in manifest.columns.iter().filter(|own| own.shown == "label") {
        let own = told.columns.get_mut(&column.name);
        if let Some(own) = own.filter(|own| own.role == Some(Role::Quasi)) {
            let by_manifest = || column.hierarchy.as_deref().and_then(built_in);
            own.hierarchy = own.hierarchy.take().or_else(by_manifest);
        }
    }
    Ok(told)
}

/// The refusal of a column that is shown by places in an order that the release does not tell.
fn unknown_order(column: &str) -> Error {
    let problem = CellProblem::UnknownOrder;
    let sentence = format!("column '{column}': {}", problem.problem());
    Error::usage(sentence, problem.hint(column))
}

impl Comparison<'_> {
    /// Reads both tables and counts.
    pub(super) fn compare(&self) -> Result<Compared> {
        let too_large = |error| {
            let method = "check against an original";
            works_in_memory(error, method, wording!["give more ", Field::Memory])
        };
        let carried: Vec<&str> = [Role::Keep, Role::Sensitive]
            .iter()
            .flat_map(|&role| self.job.with_role(role))
            .collect();
        let (carried, unknown): (Vec<&str>, Vec<&str>) =
            carried.into_iter().partition(|name| self.can_be_compared(name));
        let mut compared = Compared::default();
        let asks_persons = self.asks_persons()?;
        let key = self.original.key;
        if asks_persons && key.is_none() {
            compared.notes.push(Note::NoKeyForPersons);
        }
        let columns = ReleasedColumns {
            quasi: self.job.with_role(Role::Quasi).collect(),
            level: level_of(&self.job, self.release)?,
            key,
            sensitive: carried.clone(),
            targets: Vec::new(),
        };
        let released = Released::read(self.release, &columns, self.memory, self.watch);
        let released = released.map_err(too_large)?;
        let roles = match asks_persons && key.is_some() {
            true => &[Role::Quasi, Role::Sensitive, Role::Subject][..],
            false => &[Role::Quasi][..],
        };
        let table = self.read_original(roles, &released).map_err(too_large)?;
        check_has_no_more_rows(&released, self.original.table.name(), &table)?;
        let n_rows = released.n_rows() as u64;
        let unknown = unknown.into_iter().map(str::to_owned);
        compared.notes.extend(unknown.map(|column| Note::NotInOriginal { column, n_rows }));
        let carried = self.carried(&carried, &released, &mut compared.notes);
        let (carried, _room) = carried.map_err(too_large)?;
        self.count(table, &released, &carried, &mut compared)?;
        Ok(compared)
    }

    /// Whether both tables have the values of a column.
    fn can_be_compared(&self, name: &str) -> bool {
        let is_in = |table: &dyn Source| {
            table.columns().iter().any(|own| own.name == name && own.can_be_coded())
        };
        is_in(self.release) && is_in(self.original.table)
    }

    /// Whether persons are told apart and a sensitive column has a rule.
    fn asks_persons(&self) -> Result<bool> {
        let mut has_rule = false;
        for name in self.job.with_role(Role::Sensitive) {
            has_rule |= !criteria_of(name, &self.job.columns[name])?.is_empty();
        }
        Ok(has_rule && self.job.with_role(Role::Subject).next().is_some())
    }

    fn read_original(&self, roles: &[Role], released: &Released) -> Result<Table> {
        let source = self.original.table;
        let is_by_bounds = |name: &str| released.is_by_bounds(name);
        // A column that was made for the release is none of the original.
        let mut job = self.job.clone();
        job.columns.retain(|_, own| own.role.is_some_and(|role| roles.contains(&role)));
        let plan = Plan::of_original(&job, roles, source, is_by_bounds)?;
        let reading = Reading {
            plan: &plan,
            source,
            memory: self.memory,
            typed_output: false,
            key: self.original.key,
            watch: self.watch,
        };
        let limit_bytes = self.memory.budget.limit_bytes();
        match reading.read(Wanted::OnlyTable { limit_bytes })? {
            Rows::InMemory(table) => Ok(*table),
            Rows::Outside(_) => unreachable!("a table in memory was wanted, and no other"),
        }
    }

    /// The values of carried columns in both tables, and the room that they take.
    fn carried(
        &self,
        names: &[&str],
        released: &Released,
        notes: &mut Vec<Note>,
    ) -> Result<(Vec<CarriedCells>, Reservation)> {
        let mut room = self.memory.budget.reserve_nothing("the carried values of two tables");
        if names.is_empty() {
            return Ok((Vec::new(), room));
        }
        let wanted = names.iter().map(|&name| WantedColumn {
            name: name.to_owned(),
            column_type: self.job.columns[name].column_type,
        });
        let table = self.original.table;
        let whole = read_columns(table, wanted.collect(), 0, (self.memory, self.watch))?;
        let n_rows = whole.runs.n_rows() + released.n_rows();
        room.try_grow(size_of::<u64>() * names.len() * n_rows)?;
        let mut all = Vec::new();
        for (raw, shown) in whole.columns.into_iter().zip(&released.sensitive) {
            let (cells, n_unknown) = carried_cells(&intern(raw)?, shown);
            if n_unknown > 0 {
                let column = cells.name.clone();
                notes.push(Note::NotInOriginal { column, n_rows: n_unknown });
            }
            all.push(cells);
        }
        Ok((all, room))
    }

    fn count(
        &self,
        mut table: Table,
        released: &Released,
        carried: &[CarriedCells],
        compared: &mut Compared,
    ) -> Result<()> {
        find_sets(self.job.categories, released, &mut table.attributes);
        let codes = codes_of(&mut table);
        let columns = table.attributes.par_iter().map(|attribute| released.column(attribute));
        let columns = columns.collect::<Result<Vec<ReleasedColumn<'_>>>>()?;
        // As much as the owner's findings were counted in.
        let n_bytes = Grain::default().sample_bytes;
        let mut ends = EndParts::new(&table.attributes, n_bytes, self.k);
        ends.add_released(&columns, &codes);
        let ends = table.attributes.iter().zip(ends.own_ends(self.k));
        let findings = &mut compared.findings;
        findings.extend(ends.filter_map(|(own, ends)| own_value_bounds(own, ends?, self.k, false)));
        findings.extend(self.ruled_by_one(&table, released, (&columns, &codes))?);
        let mut tells = TellParts::new(&table.attributes, n_bytes);
        tells.add_released(&columns, &codes, carried);
        let n_rows = released.n_rows() as u64;
        let told = tells.told();
        findings.extend(
            told.iter().filter_map(|told| keep_tells_quasi(&table.attributes, told, n_rows)),
        );
        Ok(())
    }

    /// Classes whose rule holds only by one person's rows, where rows are paired; a release whose
    /// rows do not describe those of the original is refused.
    fn ruled_by_one(
        &self,
        table: &Table,
        released: &Released,
        (columns, codes): (&[ReleasedColumn<'_>], &[Vec<u32>]),
    ) -> Result<Vec<Finding>> {
        let (Some(of_original), Some(keys)) = (&table.key, &released.key) else {
            return Ok(Vec::new());
        };
        let original = self.original.table.name();
        let original_rows = pairs::pair((original, of_original), (&released.name, keys))?;
        let sensitive = sensitive_codes(table);
        let pairing = Pairing { original_rows: &original_rows, codes, sensitive: &sensitive };
        let mut differing = differing_quasi(columns, &pairing);
        differing.extend(pairs::differing_sensitive(&released.sensitive, table, &pairing));
        if !differing.is_empty() {
            let release = released.name.clone();
            return Err(Error::DoesNotDescribe { release, columns: differing });
        }
        let Some(subjects) = &table.subjects else { return Ok(Vec::new()) };
        let domains: Vec<_> = table.sensitive.iter().map(|data| &data.column.domain).collect();
        // What there is to know of these columns has been said of the release.
        let mut requirement = requirement_of(&self.job, &domains, true, &mut Vec::new())?;
        let all: Vec<usize> = (0..sensitive.len()).collect();
        let facts = Facts {
            subjects: subjects.clone(),
            sensitive: interleave(&sensitive, &all, table.n_rows),
            n_sensitive: sensitive.len(),
        };
        let mut published = ClassSummary::new(requirement.shape());
        original_rows.iter().for_each(|row| facts.add(row.index(), &mut published));
        requirement.bind(&published);
        let classes = released.classes_of_texts();
        let max_rows = Grain::default().whole_rows;
        let n_ruled =
            ruled_by_one_of_released(&classes, &original_rows, &facts, &requirement, max_rows);
        let ruled = requirement.columns().iter().zip(n_ruled);
        Ok(ruled.filter_map(|(own, count)| person_rules_class(&own.name, count)).collect())
    }
}

/// The values of a carried column as numbers that are the same in both tables, and how many rows of
/// the release have one that the original lacks.
fn carried_cells(original: &CodedColumn, released: &CodedColumn) -> (CarriedCells, u64) {
    let column_type = original.domain.column_type();
    let mut number_of: FxHashMap<String, u64> = FxHashMap::default();
    let values = original.domain.categories();
    let of_original: Vec<u64> = values
        .map(|(_, text)| {
            let next = number_of.len() as u64 + 1;
            let canonical = value::canonical(column_type, text);
            *number_of.entry(canonical.unwrap_or_else(|| text.to_owned())).or_insert(next)
        })
        .collect();
    let values = released.domain.categories();
    let of_released: Vec<u64> = values
        .map(|(_, text)| {
            let canonical = value::canonical(column_type, text);
            let number = canonical.and_then(|own| number_of.get(&own).copied());
            number.or_else(|| number_of.get(text).copied()).unwrap_or(0)
        })
        .collect();
    // The missing value has the last code, and is no value that tells anything.
    let number = |numbers: &[u64], code: u32| numbers.get(code as usize).copied();
    let codes = |column: &CodedColumn| column.codes.concat();
    let shown = codes(released);
    let n_unknown = shown.iter().filter(|&&code| number(&of_released, code) == Some(0)).count();
    let cells = CarriedCells {
        name: original.domain.name().to_owned(),
        original: codes(original)
            .into_iter()
            .map(|code| number(&of_original, code).unwrap_or(0))
            .collect(),
        released: shown.into_iter().map(|code| number(&of_released, code).unwrap_or(0)).collect(),
    };
    (cells, n_unknown as u64)
}
