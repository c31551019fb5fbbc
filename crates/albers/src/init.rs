//! Looks at a table and proposes a job: roles, hierarchies and requirements, each with its reason.
//!
//! ```text
//!   table ──one pass──► profile ──► choice by name and counts ─┐
//!                          ├─► sets that identify ─────────────┼─► proposal ──► job file
//!                          └─► columns that tell each other ───┘
//! ```
//!
//! - `roles`: what its counts say, and how it is generalized.
//! - `seen`: findings that can be seen before there is a release.
//! - `identify`: the fewest columns that tell most rows apart.
//! - `relations`: columns that tell each other.
//! - `fields`: every field of a job file, with a word on each.
//! - `job_file`: the proposal as a commented job file.
//!
//! Guarantee: no cell's value is in the proposal, not even a least or greatest number; sizes of
//! offered ranges tell how far numbers lie apart, to the power of ten and 1, 2 or 5. Memory does not
//! grow with the rows.

mod fields;
mod identify;
mod job_file;
mod relations;
mod roles;
mod seen;

use std::collections::BTreeMap;
use std::path::PathBuf;

use albers_partition::mondrian::MAX_ATTRIBUTES;
use albers_storage::threads;
use albers_storage::watch::{Phase, Watch};
use albers_storage::wording;
use albers_storage::wording::{Field, Setting};
use albers_table::notation::{DateFormat, DecimalMark, Notation, TextEncoding};
use albers_table::profile::dependence::{self, Dependence};
use albers_table::profile::{TableProfile, profile};
use albers_table::schema::{ColumnType, Role};
use albers_table::source::{ColumnRequest, RequestedTypes, Source, SourceColumn, place_of};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::files;
use crate::finding::Finding;
use crate::job::Job;
use crate::memory::on_threads;
use identify::{ColumnSet, IDENTIFYING_SHARE, identifying_sets};
use relations::Relations;
use roles::{Choice, Facts};

pub use fields::JOB_FILE_FIELDS;

/// Blocks of text are parsed by at most so many threads at a time, since each holds one in memory.
const MAX_TEXT_THREADS: usize = 2;

/// Columns that only counts speak for become quasi-identifiers up to so many in all: the more there
/// are, the less is left of each.
const MAX_PROPOSED_QUASI: usize = 8;

/// What is to be looked at, and where the proposal goes.
#[derive(Debug, Clone, PartialEq)]
pub struct InitRequest {
    /// The table.
    pub input: PathBuf,
    /// The job file.
    pub job: PathBuf,
    /// Whether an existing job file is replaced.
    pub force: bool,
    /// Rows per class that the job asks for.
    pub k: u64,
    /// The character between the cells of a CSV file.
    pub delimiter: Option<char>,
    /// Whether the first line of a CSV file holds the names of the columns.
    pub header: Option<bool>,
    /// The sheet of a workbook.
    pub sheet: Option<String>,
    /// Texts that stand for a missing value.
    pub missing: Vec<String>,
    /// How the text is written, where that is not told from it.
    pub text: TextNotation,
    /// The types of columns that are not to be told from the file.
    pub types: BTreeMap<String, ColumnType>,
}

/// How a text is written, where that is not told from it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextNotation {
    /// How letters are stored.
    pub encoding: Option<TextEncoding>,
    /// The decimal mark of all numbers.
    pub decimal: Option<DecimalMark>,
    /// The formats of the dates of columns.
    pub date_formats: Vec<(String, DateFormat)>,
}

/// What was found and proposed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InitReport {
    /// Rows of the table.
    pub rows: u64,
    /// Its columns, in file order.
    pub columns: Vec<ColumnProposal>,
    /// Columns that make most rows unique, alone or together.
    pub identifying_sets: Vec<IdentifyingSet>,
    /// Whether the shares of sets of several columns are estimates from a sample of the rows.
    pub sets_are_estimates: bool,
    /// What puts people at risk, as far as the table shows it: in the job, or if it kept or
    /// generalized what it drops.
    pub findings: Vec<Finding>,
    /// Things the user should know.
    pub notes: Vec<String>,
    /// The job file.
    pub job: PathBuf,
}

/// What is proposed for a column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnProposal {
    /// Its name.
    pub name: String,
    /// The type of its values; nothing for a column that cannot be read.
    #[serde(rename = "type")]
    pub column_type: Option<String>,
    /// Distinct values.
    pub distinct: u64,
    /// Whether the number of distinct values is an estimate; the unique share is one then too.
    pub distinct_is_estimate: bool,
    /// Cells without a value.
    pub missing: u64,
    /// The share of the rows whose value no other row has.
    pub unique_share: f64,
    /// The role; a column without one is dropped.
    pub role: Option<String>,
    /// Why.
    pub reason: String,
    /// What it tells of other columns, or they of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<String>,
    /// The hierarchy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hierarchy: Option<String>,
    /// The diversity asked of a sensitive column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l_diversity: Option<String>,
    /// Lines of the job file that the user may take over.
    #[serde(skip)]
    suggestions: Vec<String>,
    /// Whether the job file offers to publish it as it is.
    #[serde(skip)]
    may_be_kept: bool,
    /// The type, where the user gave it.
    #[serde(skip)]
    given_type: Option<String>,
}

/// Columns that make most rows unique.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IdentifyingSet {
    /// Their names, in file order.
    pub columns: Vec<String>,
    /// The share of the rows that no other row agrees with in all of them.
    pub unique_share: f64,
}

/// Looks at a table and writes a job file that can be run as it stands.
///
/// ```
/// use albers::init::InitRequest;
/// use albers::{Job, Silent, init};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let (people, job) = (folder.path().join("people.csv"), folder.path().join("job.toml"));
/// std::fs::write(&people, "name,age\nAda,30\nBob,31\nCleo,52\nDan,55\n")?;
/// let request = InitRequest {
///     input: people,
///     job: job.clone(),
///     force: false,
///     k: 2,
///     delimiter: None,
///     header: None,
///     sheet: None,
///     missing: Vec::new(),
///     text: Default::default(),
///     types: Default::default(),
/// };
/// let report = init(&request, &Silent)?;
/// assert_eq!((report.rows, Job::from_file(&job)?.k), (4, Some(2)));
/// # Ok(())
/// # }
/// ```
pub fn init(request: &InitRequest, watch: &dyn Watch) -> Result<InitReport> {
    let proposed = propose_job(request, watch)?;
    proposed.write()?;
    Ok(proposed.report)
}

/// A job file that is proposed and not written yet.
pub struct ProposedJob {
    /// What is to be said of it.
    pub report: InitReport,
    job: Job,
    text: String,
}

impl ProposedJob {
    /// Writes it where the request said.
    pub fn write(&self) -> Result<()> {
        files::write_text(&self.job, &self.report.job, &self.text)
    }
}

/// The same for whoever wants to say all before anything is written.
pub fn propose_job(request: &InitRequest, watch: &dyn Watch) -> Result<ProposedJob> {
    if request.k == 0 {
        return Err(Error::usage("k = 0 hides nobody", "use a k of 2 or more"));
    }
    let job = Job {
        input: Some(request.input.clone()),
        delimiter: request.delimiter,
        header: request.header,
        sheet: request.sheet.clone(),
        missing: request.missing.clone(),
        encoding: request.text.encoding,
        decimal: request.text.decimal,
        force: Some(request.force),
        ..Job::default()
    };
    let mut job = job;
    for (name, format) in &request.text.date_formats {
        job.column(name).date_format = Some(format.clone());
    }
    // A link is there too, also one that leads nowhere.
    check_may_be_written(request, request.job.is_symlink())?;
    files::check_output_place(&job, &request.job)?;
    check_may_be_written(request, request.job.exists())?;
    let n_threads = threads::of_machine().min(MAX_TEXT_THREADS);
    let table = on_threads(Some(n_threads), || look_at(request, &job, watch))?;
    watch.phase(Phase::Search, None);
    let report = propose(request, &table);
    let k = lowered_k(request.k, table.profile.n_rows);
    let text = job_file::text(&report, request, k)?;
    Ok(ProposedJob { report, job, text })
}

/// Refuses a job file that is there already, unless it may be replaced.
fn check_may_be_written(request: &InitRequest, is_there: bool) -> Result<()> {
    match is_there && !request.force {
        false => Ok(()),
        true => Err(Error::usage(
            format!("{} exists already", request.job.display()),
            wording![
                "name another file with ",
                Field::Output,
                ", or replace it with ",
                Field::Force
            ],
        )),
    }
}

/// A share of rows for people: never rounded to all or to nothing.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        p if p < 1.0 => "under 1 %".to_owned(),
        p if (99.0..100.0).contains(&p) => "over 99 %".to_owned(),
        p => format!("{p:.0} %"),
    }
}

/// Text in lines of at most so many characters, which end between words.
pub fn wrapped(text: &str, n_chars: usize) -> Vec<String> {
    job_file::wrapped(text, n_chars)
}

/// Text of a name that stays on its line and does nothing to a terminal.
pub fn plain(name: &str) -> String {
    job_file::plain(name)
}

/// A table as looked at.
struct LookedAt {
    header: Vec<SourceColumn>,
    /// The place in the profile of each column of the header that could be read.
    places: Vec<Option<usize>>,
    column_types: Vec<ColumnType>,
    profile: TableProfile,
    /// What was found out as it was read.
    remarks: Vec<String>,
    /// What could not be.
    doubts: Vec<String>,
    relations: Relations,
}

impl LookedAt {
    fn facts(&self, column_idx: usize) -> Option<Facts<'_>> {
        let place = self.places[column_idx]?;
        Some(Facts {
            name: &self.header[column_idx].name,
            column_type: self.column_types[place],
            profile: &self.profile.columns[place],
            n_rows: self.profile.n_rows,
        })
    }
}

fn look_at(request: &InitRequest, job: &Job, watch: &dyn Watch) -> Result<LookedAt> {
    let source = files::open_to_look(job, &request.input)?;
    let header = source.columns().to_vec();
    for (name, _) in &request.text.date_formats {
        place_of(source.name(), &header, name)?;
    }
    for name in request.types.keys() {
        place_of(source.name(), &header, name)?;
    }
    let mut requests = Vec::new();
    let mut places = Vec::new();
    for column in &header {
        let can_be_read = column.can_be_coded();
        places.push(can_be_read.then_some(requests.len()));
        if can_be_read {
            requests.push(ColumnRequest {
                name: column.name.clone(),
                column_type: request.types.get(&column.name).copied(),
                coded: true,
                carried: false,
            });
        }
    }
    let (types, profile) = profile(source.as_ref(), &requests, watch)?;
    if profile.n_rows == 0 {
        return Err(Error::usage(
            format!("{} has column names but no rows", source.name()),
            "there is nothing to look at",
        ));
    }
    let remarks = source.remarks().iter().map(ToString::to_string).collect();
    let doubt = |(request, notation): (&ColumnRequest, &Notation)| match notation {
        Notation::Undecided(doubt) => {
            let (name, problem) = (&request.name, doubt.problem());
            let hint = doubt.hint(&request.name).text(&in_quotes);
            Some(format!("'{name}' is read as names, since {problem}; {hint}"))
        }
        _ => None,
    };
    let doubts = requests.iter().zip(&types.notations).filter_map(doubt).collect();
    let pairs = related(source.as_ref(), &requests, &types, &profile, watch)?;
    let in_header = |place: usize| {
        let at = places.iter().position(|&own| own == Some(place));
        at.expect("every profiled column is in the header")
    };
    let mut pairs: Vec<Dependence> = pairs
        .iter()
        .map(|pair| Dependence { from: in_header(pair.from), to: in_header(pair.to) })
        .collect();
    for (from, to) in equal_columns(&profile) {
        let pair = Dependence { from: in_header(from), to: in_header(to) };
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    let relations = Relations::new(pairs);
    let column_types = types.column_types;
    Ok(LookedAt { header, places, column_types, profile, remarks, doubts, relations })
}

/// Pairs of columns that have the same cells in all rows, both ways; constants are alike anyway.
fn equal_columns(profile: &TableProfile) -> Vec<(usize, usize)> {
    let columns = &profile.columns;
    let is_equal = |a: usize, b: usize| {
        a != b && columns[a].fingerprint == columns[b].fingerprint && columns[a].n_distinct > 1
    };
    let others = |a: usize| (0..columns.len()).filter(move |&b| is_equal(a, b));
    (0..columns.len()).flat_map(|a| others(a).map(move |b| (a, b))).collect()
}

/// The dependences of the requested columns: as the sample tells them if it is the table, else
/// those of them that hold in all rows.
fn related(
    source: &dyn Source,
    requests: &[ColumnRequest],
    types: &RequestedTypes,
    profile: &TableProfile,
    watch: &dyn Watch,
) -> Result<Vec<Dependence>> {
    let pairs = dependence::candidates(&profile.sample, requests.len());
    if pairs.is_empty() || profile.sample.n_rows() as u64 == profile.n_rows {
        return Ok(pairs);
    }
    Ok(dependence::that_hold(source, requests, types, &pairs, watch)?)
}

fn propose(request: &InitRequest, table: &LookedAt) -> InitReport {
    let n_columns = table.header.len();
    let mut choices: Vec<Choice> = (0..n_columns)
        .map(|column_idx| match table.facts(column_idx) {
            Some(facts) => roles::choose(&facts),
            None => roles::unreadable(),
        })
        .collect();
    let name = |column_idx: usize| table.header[column_idx].name.clone();
    // Before sets are looked for, so that none is made of the same cells twice; and after.
    table.relations.settle(&mut choices, &name);
    let sets = find_sets(table, &choices);
    take_over_sets(&mut choices, &sets);
    limit_quasi(&mut choices);
    table.relations.settle(&mut choices, &name);
    let findings = seen::findings(table, &choices, request.k);
    let columns: Vec<ColumnProposal> =
        (0..n_columns).map(|column_idx| proposal(request, table, column_idx, &choices)).collect();
    let identifying_sets = sets
        .iter()
        .map(|set| IdentifyingSet {
            columns: set.columns.iter().map(|&column_idx| name(column_idx)).collect(),
            unique_share: set.unique_share,
        })
        .collect();
    let notes = notes(request, table, &columns);
    InitReport {
        rows: table.profile.n_rows,
        columns,
        identifying_sets,
        sets_are_estimates: (table.profile.sample.n_rows() as u64) < table.profile.n_rows,
        findings,
        notes,
        job: request.job.clone(),
    }
}

/// Columns that identify alone, then the smallest sets of the others that do it together.
fn find_sets(table: &LookedAt, choices: &[Choice]) -> Vec<ColumnSet> {
    let mut sets = Vec::new();
    let mut others = Vec::new();
    if table.profile.n_rows < 2 {
        return sets;
    }
    for (column_idx, choice) in choices.iter().enumerate() {
        let is_looked_at = choice.is_open && !table.relations.is_repeated(column_idx);
        let Some(facts) = table.facts(column_idx).filter(|_| is_looked_at) else { continue };
        let unique_share = facts.unique_share();
        if unique_share >= IDENTIFYING_SHARE {
            sets.push(ColumnSet { columns: vec![column_idx], unique_share });
        } else {
            others.extend(table.places[column_idx]);
        }
    }
    let profile = &table.profile;
    for mut set in identifying_sets(&profile.sample, profile.n_rows, &others) {
        for column in &mut set.columns {
            let at = table.places.iter().position(|&place| place == Some(*column));
            *column = at.expect("every profiled column is in the header");
        }
        sets.push(set);
    }
    sets
}

/// Open columns of the sets become quasi-identifiers, while there are not too many.
fn take_over_sets(choices: &mut [Choice], sets: &[ColumnSet]) {
    let is_quasi = |choice: &&Choice| choice.role == Some(Role::Quasi);
    let mut n_quasi = choices.iter().filter(is_quasi).count();
    let mut is_told = vec![false; choices.len()];
    for set in sets {
        for &column_idx in &set.columns {
            let choice = &mut choices[column_idx];
            if choice.role.is_some() || std::mem::replace(&mut is_told[column_idx], true) {
                continue;
            }
            let share = percent(set.unique_share);
            let reason = match set.columns.len() {
                1 => format!("alone it makes {share} of the rows unique"),
                n => format!("one of {n} columns that make {share} of the rows unique"),
            };
            if n_quasi < MAX_PROPOSED_QUASI {
                choice.make_quasi(reason);
                n_quasi += 1;
            } else {
                choice.may_be_kept = false;
                choice.add_reason(format!(
                    "{reason}; left out, since of more than {MAX_PROPOSED_QUASI} quasi-identifiers \
                     little would be left: give it the role quasi in the place of another, or \
                     sensitive if nobody else can know it"
                ));
            }
        }
    }
}

/// No method cuts more columns than a certain number; what is beyond is dropped.
fn limit_quasi(choices: &mut [Choice]) {
    let quasi = choices.iter_mut().filter(|choice| choice.role == Some(Role::Quasi));
    for choice in quasi.skip(MAX_ATTRIBUTES) {
        choice.role = None;
        choice.reason =
            format!("would be the quasi-identifier after the {MAX_ATTRIBUTES} that are possible");
    }
}

fn proposal(
    request: &InitRequest,
    table: &LookedAt,
    column_idx: usize,
    choices: &[Choice],
) -> ColumnProposal {
    let choice = &choices[column_idx];
    let name_of = |column_idx: usize| job_file::plain(&table.header[column_idx].name);
    let related = table.relations.of(column_idx);
    let name = table.header[column_idx].name.clone();
    let mut proposal = ColumnProposal {
        given_type: request.types.get(&name).map(ToString::to_string),
        name,
        column_type: None,
        distinct: 0,
        distinct_is_estimate: false,
        missing: 0,
        unique_share: 0.0,
        role: choice.role.map(|role| role.to_string()),
        reason: choice.reason.clone(),
        relations: related.sentences(choices, column_idx, &name_of),
        hierarchy: None,
        l_diversity: None,
        suggestions: Vec::new(),
        may_be_kept: choice.may_be_kept,
    };
    let Some(facts) = table.facts(column_idx) else { return proposal };
    proposal.column_type = Some(facts.column_type.to_string());
    proposal.distinct = facts.profile.n_distinct;
    proposal.distinct_is_estimate = facts.profile.is_estimate;
    proposal.missing = facts.profile.n_missing;
    proposal.unique_share = facts.unique_share();
    match choice.role {
        Some(Role::Quasi) => {
            let shape = roles::shape(&facts);
            proposal.hierarchy = shape.hierarchy.map(str::to_owned);
            proposal.suggestions = shape.suggestions;
        }
        Some(Role::Sensitive) => {
            let l = roles::suggested_l(facts.profile);
            proposal.l_diversity = l.map(|l| format!("distinct:{l}"));
        }
        _ if choice.may_be_subject => {
            proposal.suggestions.push(r#"role = "subject""#.to_owned());
        }
        _ => {}
    }
    proposal
}

/// A setting as it is to be written into a job file, where texts stand in quotes.
fn in_quotes(setting: &Setting) -> String {
    let value = setting.value.as_ref().map(|value| format!("\"{value}\""));
    Setting { value, ..setting.clone() }.to_string()
}

/// A table with fewer rows than asked for hides all of them among each other; one row hides
/// nowhere, and then the job is left to say so.
fn lowered_k(k: u64, n_rows: u64) -> u64 {
    if n_rows > 1 { k.min(n_rows) } else { k }
}

fn notes(request: &InitRequest, table: &LookedAt, columns: &[ColumnProposal]) -> Vec<String> {
    let n_rows = table.profile.n_rows;
    let has_role = |role: Role| columns.iter().any(|c| c.role.as_deref() == Some(role.name()));
    let mut notes = [table.remarks.clone(), table.doubts.clone()].concat();
    if !has_role(Role::Quasi) {
        notes.push(
            "no quasi-identifier could be proposed: no name is known as one and no few columns \
             together make many rows unique; give the columns that others know the role quasi, \
             without one the job does not run"
                .to_owned(),
        );
    }
    if n_rows == 1 && request.k > 1 {
        notes.push("a single row cannot be hidden among others; the job does not run".to_owned());
    } else if lowered_k(request.k, n_rows) < request.k {
        notes.push(format!("k is {n_rows} instead of {}: there are no more rows", request.k));
    }
    if columns.iter().any(|column| column.suggestions.iter().any(|line| line.contains("subject"))) {
        notes.push(
            "k counts rows; if a person has several of them, give the column that tells the \
             person the role subject"
                .to_owned(),
        );
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_never_rounded_to_all_or_nothing() {
        let shares = [0.0, 1e-9, 0.25, 0.9999, 1.0].map(percent);
        assert_eq!(shares, ["0 %", "under 1 %", "25 %", "over 99 %", "100 %"]);
    }

    #[test]
    fn a_single_row_is_not_hidden_by_asking_for_less() {
        assert_eq!([(5, 1), (5, 3), (5, 100)].map(|(k, n)| lowered_k(k, n)), [5, 3, 5]);
    }
}
