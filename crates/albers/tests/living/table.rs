//! Small tables, and what is read back of releases of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use albers::living::{BatchReport, ReleaseReport};
use albers::sink::BatchSink;
use albers::source::{ReadOptions, StreamSource};
use albers::{Index, Job, ReleaseRequest, Result, Role, Silent};
use albers_storage::store::disk::MemoryDisk;
use arrow_array::cast::AsArray;
use proptest::prelude::ProptestConfig;

/// A person: what others know, and what they must not learn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Person {
    pub age: i32,
    pub zip: i32,
    pub illness: u8,
}

/// People by their keys.
pub type People = BTreeMap<u32, Person>;

/// Whose row it is, where persons are counted: some have two.
pub fn subject_of(id: u32) -> u32 {
    id / 2
}

/// How the ages and zips of people are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// As whole numbers.
    Plain,
    /// As decimals of more or fewer digits, as names, or not at all.
    Odd,
}

impl Style {
    /// The age and the zip of a person.
    pub fn cells(self, Person { age, zip, .. }: &Person) -> [String; 2] {
        match self {
            Style::Plain => [age.to_string(), zip.to_string()],
            Style::Odd => {
                let width = 1 + zip.unsigned_abs() as usize % 4;
                let age_text = match age.rem_euclid(12) {
                    0 => String::new(),
                    own if own % 2 == 0 => age.to_string(),
                    _ => format!("{age}.{:0>width$}", zip.rem_euclid(10)),
                };
                let zip_text = match zip {
                    8 => String::new(),
                    _ => format!("n{}{}", zip * 7 % 10, if *age > 30 { "x" } else { "" }),
                };
                [age_text, zip_text]
            }
        }
    }

    /// Whether what a class shows covers a cell.
    pub fn covers(self, shown: &str, cell: &str) -> bool {
        let inner = shown.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        if shown == cell || shown == "*" {
            return true;
        }
        if cell.is_empty() {
            return inner.is_some_and(|own| own.starts_with(','));
        }
        let inner = inner.unwrap_or(shown);
        let Ok(number) = cell.parse::<f64>() else {
            return inner.split(", ").any(|own| own.trim_start_matches([',', ' ']) == cell);
        };
        let ends = inner.trim_start_matches([',', ' ']).trim_matches(['[', ']']);
        let (lo, hi) = ends.split_once(", ").unwrap_or((ends, ends));
        (lo.parse().unwrap()..=hi.parse::<f64>().unwrap()).contains(&number)
    }

    /// The table of some people, as text.
    pub fn text_of(self, people: &People) -> String {
        let mut text = "id,who,age,zip,illness\n".to_owned();
        for (id, person) in people {
            let [age, zip] = self.cells(person);
            text += &format!("p{id},s{},{age},{zip},i{}\n", subject_of(*id), person.illness);
        }
        text
    }
}

/// The table of some people, as text.
pub fn text_of(people: &People) -> String {
    Style::Plain.text_of(people)
}

/// A table of text.
pub fn source(text: String) -> StreamSource {
    let options = ReadOptions { delimiter: Some(b','), ..ReadOptions::default() };
    StreamSource::text(Box::new(std::io::Cursor::new(text.into_bytes())), "rows", None, &options)
        .unwrap()
}

/// A job that hides people in classes of k by age and zip.
pub fn job(k: u64) -> Job {
    let mut job = Job { k: Some(k), threads: Some(1), ..Job::default() };
    job.set_role("age", Role::Quasi).unwrap();
    job.set_role("zip", Role::Quasi).unwrap();
    job.set_role("illness", Role::Sensitive).unwrap();
    job.column("age").column_type = Some("integer".parse().unwrap());
    job.column("zip").column_type = Some("integer".parse().unwrap());
    job.values = Some(albers::Values::Interval);
    let accepted = ["secret-without-rule", "keep-tells-quasi", "unique-keep", "unique-keeps"];
    job.accept = accepted.iter().map(|name| name.parse().unwrap()).collect();
    job
}

pub fn index(job: &Job) -> (Arc<MemoryDisk>, Index) {
    let disk = Arc::new(MemoryDisk::new());
    let index = Index::create_on(disk.clone(), job, "id").unwrap();
    (disk, index)
}

pub fn insert(index: &mut Index, people: &People) -> Result<BatchReport> {
    index.insert(&source(text_of(people)), &Silent)
}

pub fn delete(index: &mut Index, ids: &[u32]) -> Result<BatchReport> {
    let keys: String = ids.iter().map(|id| format!("p{id}\n")).collect();
    index.delete(&source(format!("id\n{keys}")), &Silent)
}

/// A published row: what it shows, and its secret; with its key, which attackers are given.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Published {
    pub id: Option<u32>,
    pub shown: Vec<String>,
    pub illness: String,
}

/// A release with the keys of its rows.
pub fn release(
    index: &mut Index,
    request: &ReleaseRequest,
) -> Result<(ReleaseReport, Vec<Published>)> {
    let (sink, batches) = BatchSink::new();
    let outcome = index.release(request, vec![Box::new(sink)], &Silent);
    let rows = published(batches.take());
    assert!(outcome.is_ok() || rows.is_empty(), "a refused release appeared");
    Ok((outcome?, rows))
}

/// The rows of a release.
pub fn published(batches: Vec<arrow_array::RecordBatch>) -> Vec<Published> {
    let mut rows = Vec::new();
    for batch in batches {
        let texts: Vec<Vec<String>> = (0..batch.num_columns())
            .map(|column| {
                let text = arrow_cast::cast(batch.column(column), &arrow_schema::DataType::Utf8);
                let text = text.unwrap();
                let cells = text.as_string::<i32>();
                (0..batch.num_rows()).map(|row| cells.value(row).to_owned()).collect()
            })
            .collect();
        let names: Vec<String> =
            batch.schema().fields().iter().map(|field| field.name().clone()).collect();
        for row in 0..batch.num_rows() {
            let mut published = Published { id: None, shown: Vec::new(), illness: String::new() };
            for (name, cells) in names.iter().zip(&texts) {
                match name.as_str() {
                    "id" => published.id = cells[row][1..].parse().ok(),
                    "illness" => published.illness = cells[row].clone(),
                    _ => published.shown.push(cells[row].clone()),
                }
            }
            rows.push(published);
        }
    }
    rows
}

pub fn with_keys() -> ReleaseRequest {
    let accept = vec!["unique-keep:id".parse().unwrap()];
    ReleaseRequest { keep_key: true, accept, ..ReleaseRequest::default() }
}

/// A folder for tests of the real disk.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

pub fn open(folder: &Path) -> Index {
    Index::open(folder).unwrap()
}

/// Whether what a class shows of a number covers it.
pub fn covers(shown: &str, value: i32) -> bool {
    match shown.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        None => shown == value.to_string(),
        Some(ends) => {
            let (lo, hi) = ends.split_once(", ").unwrap();
            (lo.parse().unwrap()..=hi.parse().unwrap()).contains(&value)
        }
    }
}

/// So many cases, unless the environment says how many.
pub fn config(cases: u32) -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(cases),
    }
}
