//! Looks at a table and proposes a job: roles, hierarchies and requirements, each with its reason.
//!
//! ```text
//!   table ──one pass──► profile ──► choice by name and counts ─┐
//!                          └─► sets that identify ─────────────┴─► proposal ──► job file
//! ```
//!
//! - `roles`: what its counts say, and how it is generalized.
//! - `seen`: findings that can be seen before there is a release.
//! - `identify`: the fewest columns that tell most rows apart.
//! - `job_file`: the proposal as a commented job file.
//!
//! Guarantee: no cell's value is in the proposal, not even a least or greatest number. Memory does
//! not grow with the rows.

mod identify;
mod job_file;
mod roles;
mod seen;

use std::collections::BTreeMap;
use std::path::PathBuf;

use albers_partition::mondrian::MAX_ATTRIBUTES;
use albers_storage::watch::{Phase, Watch};
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::profile::{TableProfile, profile};
use albers_table::schema::{ColumnType, Role};
use albers_table::source::{ColumnRequest, SourceColumn, place_of};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::files;
use crate::finding::Finding;
use crate::job::Job;
use crate::memory::on_threads;
use identify::{ColumnSet, IDENTIFYING_SHARE, identifying_sets};
use roles::{Choice, Facts};

/// Blocks of text are parsed by at most so many threads at a time, since each holds one in memory.
const MAX_TEXT_THREADS: usize = 2;

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
    /// Texts that stand for a missing value.
    pub missing: Vec<String>,
    /// The types of columns that are not to be told from the file.
    pub types: BTreeMap<String, ColumnType>,
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
    /// The hierarchy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hierarchy: Option<String>,
    /// The diversity asked of a sensitive column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l_diversity: Option<String>,
    /// Lines of the job file that the user may take over.
    #[serde(skip)]
    suggestions: Vec<String>,
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
///     missing: Vec::new(),
///     types: Default::default(),
/// };
/// let report = init(&request, &Silent)?;
/// assert_eq!((report.rows, Job::from_file(&job)?.k), (4, Some(2)));
/// # Ok(())
/// # }
/// ```
pub fn init(request: &InitRequest, watch: &dyn Watch) -> Result<InitReport> {
    if request.k == 0 {
        return Err(Error::usage("k = 0 hides nobody", "use a k of 2 or more"));
    }
    let job = Job {
        input: Some(request.input.clone()),
        delimiter: request.delimiter,
        header: request.header,
        missing: request.missing.clone(),
        ..Job::default()
    };
    files::check_output_place(&job, &request.job)?;
    if request.job.exists() && !request.force {
        return Err(Error::usage(
            format!("{} exists already", request.job.display()),
            wording![
                "name another file with ",
                Field::Output,
                ", or replace it with ",
                Field::Force
            ],
        ));
    }
    let n_threads = rayon::current_num_threads().min(MAX_TEXT_THREADS);
    let table = on_threads(Some(n_threads), || look_at(request, &job, watch))?;
    watch.phase(Phase::Search, None);
    let report = propose(request, &table);
    let k = lowered_k(request.k, table.profile.n_rows);
    let text = job_file::text(&report, request, k)?;
    files::write_text(&job, &request.job, &text)?;
    Ok(report)
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
    let source = files::open_input(job)?;
    let header = source.columns().to_vec();
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
    Ok(LookedAt { header, places, column_types: types.column_types, profile })
}

fn propose(request: &InitRequest, table: &LookedAt) -> InitReport {
    let n_columns = table.header.len();
    let mut choices: Vec<Choice> = (0..n_columns)
        .map(|column_idx| match table.facts(column_idx) {
            Some(facts) => roles::choose(&facts),
            None => roles::unreadable(),
        })
        .collect();
    let sets = find_sets(table, &choices);
    take_over_sets(&mut choices, &sets);
    limit_quasi(&mut choices);
    let findings = seen::findings(table, &choices, request.k);
    let columns: Vec<ColumnProposal> = choices
        .into_iter()
        .enumerate()
        .map(|(column_idx, choice)| proposal(request, table, column_idx, choice))
        .collect();
    let name = |&column_idx: &usize| table.header[column_idx].name.clone();
    let identifying_sets = sets
        .iter()
        .map(|set| IdentifyingSet {
            columns: set.columns.iter().map(name).collect(),
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
        let Some(facts) = table.facts(column_idx).filter(|_| choice.is_open) else { continue };
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

/// Open columns of the sets become quasi-identifiers.
fn take_over_sets(choices: &mut [Choice], sets: &[ColumnSet]) {
    for set in sets {
        for &column_idx in &set.columns {
            let share = percent(set.unique_share);
            choices[column_idx].make_quasi(match set.columns.len() {
                1 => format!("alone it makes {share} of the rows unique"),
                n => format!("one of {n} columns that make {share} of the rows unique"),
            });
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
    choice: Choice,
) -> ColumnProposal {
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
        reason: choice.reason,
        hierarchy: None,
        l_diversity: None,
        suggestions: Vec::new(),
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
            proposal.suggestions = shape.suggestions.into_iter().map(str::to_owned).collect();
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

/// A table with fewer rows than asked for hides all of them among each other; one row hides
/// nowhere, and then the job is left to say so.
fn lowered_k(k: u64, n_rows: u64) -> u64 {
    if n_rows > 1 { k.min(n_rows) } else { k }
}

fn notes(request: &InitRequest, table: &LookedAt, columns: &[ColumnProposal]) -> Vec<String> {
    let n_rows = table.profile.n_rows;
    let has_role = |role: Role| columns.iter().any(|c| c.role.as_deref() == Some(role.name()));
    let mut notes = Vec::new();
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

/// Where an example of a job file is needed: every field, with a word on each.
pub const JOB_FILE_FIELDS: &str = r#"A job file with all its fields:

  input = "people.csv"            # relative to the job file
  output = "people.anonymized.csv"
  from = "csv"                    # csv, tsv, parquet: told by the ending when not given
  to = "csv"                      # the same for the release
  manifest = "people.json"        # beside the release when not given
  codebook = true                 # false: nothing beside the release tells how it is read
  owner-report = "people.mine.json"  # figures of the table, not for publication; for its owner alone
  accept = ["unique-keep:note"]   # severe findings that do not stop the release
  force = false                   # true: a release that is there already is replaced
  k = 5                           # rows (or subjects) per class, at least
  method = "auto"                 # how classes are found: auto, mondrian, rtree, incognito, samarati,
                                  # bottom-up, attribute-suppression, subtree, ordered-set, tds,
                                  # local, bang; to compare with it: bd-tree, hb-tree, kd-trie,
                                  # kd-b-trie, pr-quadtree, grid-file
  variant = "super-roots"         # of incognito: basic, super-roots, cube; of bottom-up: rollup, scan
  minimize = "ncp"                # the best full-domain release: ncp, height, discernibility, weights
  suppress = 0.02                 # the share of the rows that may be left out
  time = "30s"                    # what a search may take; all it needs when not given
  split = "compact"               # how cuts are chosen: compact, median, info-gain, regression
  then = "compact"                # the same where targets have no say: compact, median
  categories = "label"            # columns with a hierarchy as label or set
  values = "interval"             # intervals as interval or bounds
  compact = true                  # false: regions instead of bounds of the rows
  nesting = true                  # of bang: false: classes side by side, none within another
  level-column = "level"          # of bang, bd-tree, hb-tree: the column that tells how deep a class lies in others
  also-k = [10, 100]              # coarser releases of the same index
  granularity = "cut"             # how its leaves are brought together: cut, leaf-scan, hierarchical,
                                  # dendrogram, dendrogram-cut
  dendrogram = "tree.svg"         # how they were merged, drawn for their owner alone
  memory = "256MB"                # a quarter of the machine's when not given
  spill-dir = "/var/tmp"          # for temporary files; beside the release when not given
  seed = 0                        # decides the order of classes and rows
  threads = 2                     # all cores when not given
  delimiter = ","                 # told from the header when not given
  header = true                   # false: no line of names, columns are c1, c2; told when not given
  missing = ["NA", "?"]           # besides the empty cell

  [workload]
  targets = ["buys", "income:number:2"]  # what classes should tell, with info-gain, regression, tds
  features = ["visits"]           # kept columns that will be known beside the quasi-identifiers

  [columns.zip]
  role = "quasi"                  # quasi, sensitive, identifier, keep, subject
  type = "code"                   # integer, decimal, float, date, timestamp, boolean, text, code
  hierarchy = "prefix"            # FILE, prefix, ranges:5,10,20, dates, suppress
  weight = 2.0                    # how much a loss on it counts
  level = 2                       # where a full-domain release shows it
  bias = true                     # cut before all others
  scale = "equal"                 # of bang and what halves like it: equal:LO..HI:BITS, quantile:BITS, hierarchy, FILE

  [columns."main diagnosis"]
  role = "sensitive"
  l-diversity = "distinct:3"      # or entropy:3, recursive:2,3
  t-closeness = 0.3
  alpha = 0.5
  # variance = 10.0               # numbers only
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_a_job_file_can_be_read() {
        let (_, text) = JOB_FILE_FIELDS.split_once('\n').unwrap();
        let job: Job = toml::from_str(text).unwrap();
        assert_eq!(job.columns.len(), 2);
    }

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
