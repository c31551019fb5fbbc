//! What a run of the program came to, as far as it is pinned.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::common::{Folder, Run, advised, finished};

/// What a run came to.
pub struct Outcome {
    /// The exit code; none if a signal ended the program.
    pub exit: Option<i32>,
    /// The digest of each file written, manifests left out.
    pub files: BTreeMap<String, String>,
    /// What was printed, without what differs from run to run.
    pub report: Option<Value>,
    /// Bytes that went to temporary files.
    pub spilled_bytes: u64,
    /// The words of a refusal, for whoever wonders; they may improve, and are not pinned.
    pub said: String,
    /// What is wrong whatever was expected.
    pub faults: Vec<String>,
}

/// The program that runs, and the tables that it reads.
pub struct Program {
    pub path: PathBuf,
    pub tables: PathBuf,
    pub version: String,
}

impl Program {
    /// The one that was built, or that of `ALBERS_PROGRAM`.
    pub fn new(tables: &Path) -> Program {
        let named = std::env::var_os("ALBERS_PROGRAM").map(PathBuf::from);
        let path = named.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_albers")));
        let said = finished(Command::new(&path).arg("--version")).out;
        let version = said.trim().rsplit(' ').next().expect("a program has a version").to_owned();
        Program { path, tables: tables.to_owned(), version }
    }

    /// Runs a job in a folder of its own, in which the tables stand.
    pub fn run(&self, arguments: &str) -> Outcome {
        let folder = Folder::new();
        std::os::unix::fs::symlink(&self.tables, folder.path("tables")).unwrap();
        let run_with = |more: &[&str]| {
            let mut command = Command::new(&self.path);
            command.current_dir(folder.path("")).args(arguments.split_whitespace());
            finished(command.arg("--json").args(more))
        };
        let mut run = run_with(&[]);
        if let Some(accept) = advised(&run) {
            run = run_with(&["--accept", &accept]);
        }
        let mut outcome = Outcome {
            exit: run.code,
            files: BTreeMap::new(),
            report: None,
            spilled_bytes: 0,
            said: run.err.trim_end().to_owned(),
            faults: Vec::new(),
        };
        match run.code {
            Some(0) => outcome.take_report(&run, self),
            _ => outcome.take_refusal(&run),
        }
        outcome.take_files(&folder, self);
        outcome
    }
}

impl Outcome {
    fn take_report(&mut self, run: &Run, program: &Program) {
        if !run.err.is_empty() {
            self.faults.push(format!("standard error is not empty: {}", self.said));
        }
        match serde_json::from_str::<Value>(&run.out) {
            Err(error) => self.faults.push(format!("what was printed is no object: {error}")),
            Ok(report) => {
                self.spilled_bytes = report["spilled_bytes"].as_u64().unwrap_or(0);
                self.report = Some(program.without_what_differs(report));
            }
        }
    }

    /// A refusal is one line on standard error.
    fn take_refusal(&mut self, run: &Run) {
        if !run.out.is_empty() {
            self.faults.push("a refusal prints to standard output".to_owned());
        }
        if !run.err.starts_with("albers: ") || run.err.lines().count() != 1 {
            self.faults.push(format!("a refusal is not one line: {}", self.said));
        }
    }

    /// Data by its digest; a manifest must say what was printed of its release.
    fn take_files(&mut self, folder: &Folder, program: &Program) {
        for name in folder.names().into_iter().filter(|name| name != "tables") {
            if name.contains(".codebook.") {
                // Its words are not pinned; that it is there is looked at below.
                continue;
            }
            let Some(release) = name.strip_suffix(".manifest.json") else {
                self.files.insert(name.clone(), digest_of(&folder.path(&name)));
                continue;
            };
            let manifest = serde_json::from_str::<Value>(&folder.read(&name));
            let manifest = manifest.ok().map(|own| program.without_what_differs(own));
            let says_so =
                manifest.zip(self.report_of(release)).is_some_and(|(manifest, report)| {
                    let fields = manifest.as_object().into_iter().flatten();
                    fields.filter(|(name, _)| !["columns", "also"].contains(&name.as_str())).all(
                        |(name, field)| match name.as_str() {
                            "findings" => has_findings(report, field),
                            _ => report.get(name) == Some(field),
                        },
                    )
                });
            if !says_so {
                self.faults.push(format!("{name} does not say what was printed"));
            }
        }
        for name in self.files.keys().filter(|name| !name.ends_with(".svg")) {
            if !folder.path(&format!("{name}.manifest.json")).exists() {
                self.faults.push(format!("{name} has no manifest"));
            }
            if !folder.path(&format!("{name}.codebook.md")).exists() {
                self.faults.push(format!("{name} has no codebook"));
            }
        }
        if self.exit != Some(0) && !self.files.is_empty() {
            self.faults.push("a refused job wrote files".to_owned());
        }
    }

    /// What was printed of a release: one of the coarser ones, or the first.
    fn report_of(&self, release: &str) -> Option<&Value> {
        let report = self.report.as_ref()?;
        let also = report["also"].as_array().into_iter().flatten();
        let coarser = also.clone().find(|own| own["path"] == release).map(|own| &own["report"]);
        coarser.or(Some(report))
    }
}

/// Whether all findings of a manifest are in a report, which tells more of each.
fn has_findings(report: &Value, findings: &Value) -> bool {
    let is_there = |finding: &Value| {
        let same = |own: &&Value| {
            ["name", "column", "count"].iter().all(|field| own[field] == finding[field])
        };
        report["findings"].as_array().is_some_and(|all| all.iter().any(|own| same(&own)))
    };
    findings.as_array().is_some_and(|findings| findings.iter().all(is_there))
}

/// Times, memory, and what memory decides.
const DIFFERS: [&str; 5] =
    ["seconds", "peak_rss_bytes", "spilled_bytes", "read_back_bytes", "bytes"];

impl Program {
    /// A report without what differs from run to run; its version must be the program's.
    fn without_what_differs(&self, mut report: Value) -> Value {
        match &mut report {
            Value::Object(fields) => {
                // A new version alone changes no release.
                let is_own = fields.get("version").is_some_and(|own| *own == *self.version);
                let differs = |name: &str| DIFFERS.contains(&name) || (is_own && name == "version");
                fields.retain(|name, _| !differs(name));
                for field in fields.values_mut() {
                    *field = self.without_what_differs(field.take());
                }
            }
            Value::Array(items) => {
                for item in items {
                    *item = self.without_what_differs(item.take());
                }
            }
            _ => {}
        }
        report
    }
}

/// The SHA-256 of a file's bytes, unpacked where they are packed. What is no file, or not packed as
/// its name says, differs from what is expected, and is no reason to stop.
pub fn digest_of(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    let unpacked = match path.extension().and_then(|ending| ending.to_str()) {
        Some("gz") => {
            let mut unpacked = Vec::new();
            let read = flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut unpacked);
            read.ok().map(|_| unpacked)
        }
        Some("zst") => zstd::stream::decode_all(&bytes[..]).ok(),
        _ => None,
    };
    let digest = Sha256::digest(unpacked.as_ref().unwrap_or(&bytes));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
