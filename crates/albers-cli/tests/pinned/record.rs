//! What is expected of the jobs: `jobs.json`, one job per line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::outcome::Outcome;

/// Files by name, with the digest of those whose bytes are expected to be the same.
pub type Files = BTreeMap<String, Option<String>>;

/// What is expected of all jobs.
pub struct Record {
    /// Every table.
    pub tables: Files,
    /// In the order in which they are drawn.
    pub jobs: Vec<Pinned>,
}

/// What is expected of a job.
pub struct Pinned {
    /// The arguments, which are also its name.
    pub arguments: String,
    /// The exit code; none if a signal ended the program.
    pub exit: Option<i32>,
    /// Whether the memory decides what is said beside the release.
    pub is_memory_dependent: bool,
    /// The files written.
    pub files: Files,
    /// What was printed.
    pub report: Option<Value>,
}

impl Pinned {
    /// What a job came to is what is expected of it from now on.
    pub fn of(arguments: &str, outcome: &Outcome) -> Pinned {
        Pinned {
            arguments: arguments.to_owned(),
            exit: outcome.exit,
            is_memory_dependent: false,
            files: with_digests(&outcome.files),
            report: outcome.report.clone(),
        }
    }

    /// The same job, compared by what does not depend on its memory. No byte of a release does.
    pub fn memory_dependent(self) -> Pinned {
        Pinned { is_memory_dependent: true, ..self }
    }

    fn to_json(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("arguments".to_owned(), json!(self.arguments));
        fields.insert("exit".to_owned(), json!(self.exit));
        if self.is_memory_dependent {
            fields.insert("memory_dependent".to_owned(), json!(true));
        }
        if !self.files.is_empty() {
            fields.insert("files".to_owned(), json!(self.files));
        }
        if let Some(report) = &self.report {
            fields.insert("report".to_owned(), report.clone());
        }
        Value::Object(fields)
    }

    fn from_json(job: &Value) -> Pinned {
        Pinned {
            arguments: job["arguments"].as_str().expect("a job has arguments").to_owned(),
            exit: job["exit"].as_i64().map(|code| code as i32),
            is_memory_dependent: job["memory_dependent"] == true,
            files: files_of(&job["files"]),
            report: job.get("report").cloned(),
        }
    }
}

impl Record {
    fn path() -> PathBuf {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pinned/jobs.json"))
    }

    /// As it stands in the file.
    pub fn read() -> Record {
        let text = std::fs::read_to_string(Record::path()).expect("jobs.json can be read");
        let all: Value = serde_json::from_str(&text).expect("jobs.json is one object");
        let jobs = all["jobs"].as_array().expect("jobs are a list");
        Record {
            tables: files_of(&all["tables"]),
            jobs: jobs.iter().map(Pinned::from_json).collect(),
        }
    }

    /// Replaces the file. Every job has a line of its own, so that a difference shows which change.
    pub fn write(&self) {
        let tables =
            self.tables.iter().map(|(name, digest)| format!("{}: {}", json!(name), json!(digest)));
        let jobs = self.jobs.iter().map(|job| job.to_json().to_string());
        let [tables, jobs] =
            [tables.collect::<Vec<_>>(), jobs.collect()].map(|own| own.join(",\n"));
        let text = format!("{{\"tables\": {{\n{tables}\n}},\n\"jobs\": [\n{jobs}\n]}}\n");
        std::fs::write(Record::path(), text).expect("jobs.json can be written");
    }
}

/// Files whose bytes are all expected to be the same.
pub fn with_digests(files: &BTreeMap<String, String>) -> Files {
    files.iter().map(|(name, digest)| (name.clone(), Some(digest.clone()))).collect()
}

fn files_of(object: &Value) -> Files {
    let fields = object.as_object().into_iter().flatten();
    fields.map(|(name, digest)| (name.clone(), digest.as_str().map(str::to_owned))).collect()
}
