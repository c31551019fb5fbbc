//! What the end-to-end tests share: a folder, the program run in it, and tables.

#![allow(dead_code, reason = "every test file uses its own part of this")]
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

pub mod helped;
pub mod living;
pub mod watched;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

/// Twelve people. No cell is part of any word or figure of a message.
pub const PEOPLE: &str = "\
name,age,zip,disease,pay,born
Xanthippe,7301,01907,measles,52001,1971-03-04
Quillon,7302,01908,mumps,52002,1971-03-05
Ysolde,7303,01909,rubella,52003,1971-04-06
Zebedee,7304,01910,measles,52004,1971-04-07
Oswin,7305,01911,mumps,52005,1972-03-08
Philomena,7306,01912,rubella,52006,1972-03-09
Barnaby,7307,01913,measles,52007,1972-05-10
Clementine,7308,01914,mumps,52008,1973-03-11
Thaddeus,7309,01915,rubella,52009,1973-07-12
Wilhelmina,7310,01916,measles,52010,1974-03-13
Ignatius,7311,01917,mumps,52011,1974-03-14
Evangeline,7312,01918,rubella,52012,1975-03-15
";

/// The names in a folder with a table and its release.
pub const WITH_RELEASE: [&str; 5] =
    ["in.csv", "out.csv", "out.csv.codebook.json", "out.csv.codebook.md", "out.csv.manifest.json"];

/// What a run of the program came to.
pub struct Run {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Run {
    /// All that was said, to whomever.
    pub fn said(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

/// What a run that a finding stopped advises to accept.
pub fn advised(run: &Run) -> Option<String> {
    let (_, accept) = run.err.split_once("--accept ")?;
    (run.code == Some(1)).then(|| accept.trim().to_owned())
}

/// A folder of its own, in which the program runs.
pub struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    pub fn new() -> Folder {
        Folder { folder: tempfile::tempdir().unwrap() }
    }

    /// With a table `in.csv`.
    pub fn with(table: impl AsRef<[u8]>) -> Folder {
        let folder = Folder::new();
        folder.write("in.csv", table);
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    /// Writes the table with its rows in the order of their texts.
    pub fn write_sorted(&self, name: &str) {
        let text = self.read("in.csv");
        let (header, rows) = text.split_once('\n').unwrap();
        let mut rows: Vec<&str> = rows.lines().collect();
        rows.sort_unstable();
        self.write(name, format!("{header}\n{}\n", rows.join("\n")));
    }

    pub fn read(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        let path = self.path(name);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Removes a release, its codebook and its manifest.
    pub fn remove_release(&self, name: &str) {
        for ending in ["", ".codebook.json", ".codebook.md", ".manifest.json"] {
            std::fs::remove_file(self.path(&format!("{name}{ending}"))).unwrap();
        }
    }

    /// The names in the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Every file with its bytes, nothing else.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let names = self.names().into_iter().filter(|name| self.path(name).is_file());
        names.map(|name| (name.clone(), self.bytes(&name))).collect()
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_albers"));
        command.current_dir(self.folder.path());
        command
    }

    /// Another program, in the folder.
    pub fn command_of(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path());
        command
    }

    /// Runs the program with arguments that hold no blanks.
    pub fn run(&self, arguments: &str) -> Run {
        self.run_with(&arguments.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs the program, and again as it advises where a finding stops it: most tests are not about
    /// what their tables show beside the classes.
    pub fn run_with(&self, arguments: &[&str]) -> Run {
        let run = self.run_once(arguments);
        match advised(&run) {
            Some(accept) => self.run_once(&[arguments, &["--accept", &accept]].concat()),
            None => run,
        }
    }

    /// Runs the program once, whatever it advises.
    pub fn run_once(&self, arguments: &[&str]) -> Run {
        finished(self.command().args(arguments))
    }

    /// Starts the program and does not wait for it.
    pub fn start(&self, arguments: &str) -> Child {
        let mut command = self.command();
        command.args(arguments.split_whitespace());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The owner's report of `albers anonymize`, which must succeed.
    pub fn anonymize(&self, arguments: &str) -> Value {
        self.anonymize_with(&arguments.split_whitespace().collect::<Vec<_>>())
    }

    pub fn anonymize_with(&self, arguments: &[&str]) -> Value {
        let arguments = [&["anonymize"], arguments, &["--json", "--force"]].concat();
        let run = self.run_with(&arguments);
        assert_eq!(run.code, Some(0), "{arguments:?}: {}", run.err);
        assert_eq!(run.err, "", "{arguments:?}");
        serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("not one object: {}", run.out))
    }

    /// A file of JSON.
    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// The cells of a table of text without quotes; the header first.
    pub fn rows(&self, name: &str) -> Vec<Vec<String>> {
        rows_of(&self.read(name), ',')
    }

    /// One column of a table of text without quotes.
    pub fn column(&self, name: &str, column: &str) -> Vec<String> {
        let rows = self.csv(name);
        let at = rows[0].iter().position(|other| other == column).expect("the column is there");
        rows[1..].iter().map(|row| row[at].clone()).collect()
    }

    /// The cells of a table of text with quotes; the header first.
    pub fn csv(&self, name: &str) -> Vec<Vec<String>> {
        csv_of(&self.read(name), ',')
    }

    pub fn write_parquet(&self, name: &str, columns: Vec<(&str, ArrayRef)>) {
        write_parquet(&self.path(name), columns);
    }

    /// A Parquet file as one batch.
    pub fn parquet(&self, name: &str) -> RecordBatch {
        let file = File::open(self.path(name)).unwrap();
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let reader = builder.with_batch_size(1 << 20).build().unwrap();
        let mut batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
        assert_eq!(batches.len(), 1, "the tables of these tests are small");
        batches.remove(0)
    }
}

/// The divergence that an owner is told, or what it is at most.
pub fn divergence(report: &Value) -> &Value {
    let kl = report.get("kl").filter(|kl| kl.is_number());
    kl.or(report.get("kl_at_most")).expect("one of them is told")
}

/// Whether two numbers are the same but for rounding.
pub fn is_near(a: &Value, b: &Value) -> bool {
    let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
    (a - b).abs() <= 1e-9 * b.abs()
}

/// Asserts that a manifest says nothing but what the owner's report says at the same places, of
/// published columns and by the names of files.
pub fn assert_is_part_of(manifest: &Value, report: &Value) {
    match (manifest, report) {
        (Value::Object(fields), Value::Object(_)) => {
            for (name, field) in fields {
                let told = report.get(name).unwrap_or_else(|| panic!("the owner lacks {name}"));
                assert_is_part_of(field, told);
            }
        }
        (Value::Array(items), Value::Array(told)) => {
            for item in items {
                let Some(fields) = item.as_object() else {
                    assert!(told.contains(item), "the owner lacks {item}");
                    continue;
                };
                let by = if fields.contains_key("file") { "file" } else { "name" };
                let is_same = |own: &&Value| own[by] == item[by] && own["column"] == item["column"];
                let own = told.iter().find(is_same).expect("the owner has it");
                assert_is_part_of(item, own);
            }
        }
        (a, b) => assert_eq!(a, b),
    }
}

pub fn finished(command: &mut Command) -> Run {
    let output = command.output().unwrap();
    Run {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

pub fn write_parquet(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

pub fn array<A: arrow_array::Array + 'static>(array: A) -> ArrayRef {
    Arc::new(array)
}

/// Cells between delimiters, without quotes.
pub fn rows_of(text: &str, delimiter: char) -> Vec<Vec<String>> {
    text.lines().map(|line| line.split(delimiter).map(str::to_owned).collect()).collect()
}

/// Cells between delimiters, with quotes but without line breaks in them.
pub fn csv_of(text: &str, delimiter: char) -> Vec<Vec<String>> {
    text.lines().map(|line| cells_of(line, delimiter)).collect()
}

fn cells_of(line: &str, delimiter: char) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let cell = cells.last_mut().unwrap();
        match letter {
            '"' if quoted && letters.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' if quoted => quoted = false,
            '"' if cell.is_empty() => quoted = true,
            letter if letter == delimiter && !quoted => cells.push(String::new()),
            letter => cell.push(letter),
        }
    }
    cells
}

/// Whether a program has a file in the folder open that has no name, or one that is not its last.
fn writes(folder: &Folder, child: &Child) -> bool {
    let root = folder.path(".").canonicalize().unwrap();
    let Ok(open) = std::fs::read_dir(format!("/proc/{}/fd", child.id())) else { return false };
    let open = open.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let mut own = open.filter_map(|path| Some(path.strip_prefix(&root).ok()?.to_owned()));
    own.any(|path| path.to_string_lossy().starts_with(['#', '.']))
}

/// Waits until a started program writes, and fails if it ends before.
pub fn wait_until_it_writes(folder: &Folder, child: &mut Child) {
    while !writes(folder, child) {
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "the program ended before it was seen to write: {ended:?}");
        std::thread::yield_now();
    }
}

/// Sends a signal, by its name without `SIG`.
pub fn send(signal: &str, child: &Child) {
    let command = format!("kill -s {signal} {}", child.id());
    let sent = Command::new("sh").args(["-c", &command]).status().unwrap();
    assert!(sent.success());
}

/// Pseudo-random numbers for tables: the same in every run.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Numbers {
        Numbers(seed)
    }

    /// A number below `end` (splitmix64).
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end as u64 + 1) as usize);
        }
    }
}

/// A table of patients: id, age, zip, city, disease, pay; `n_rows` of them, always the same.
pub fn patients(n_rows: usize, seed: u64) -> Vec<String> {
    const CITIES: [&str; 5] = ["Aachen", "Bonn", "Celle", "Dresden", "Essen"];
    const DISEASES: [&str; 4] = ["asthma", "bronchitis", "cough", "diabetes"];
    let mut numbers = Numbers::new(seed);
    let mut pick = |end: usize| numbers.below(end as u64) as usize;
    let rows = (0..n_rows).map(|row| {
        let (age, zip) = (18 + pick(60), pick(90));
        let (city, disease, pay) = (CITIES[pick(5)], DISEASES[pick(4)], 20_000 + pick(4000));
        format!("p{row:06},{age},{zip:05},{city},{disease},{pay}")
    });
    rows.collect()
}

/// Rows as a table.
pub fn table(rows: &[String]) -> String {
    format!("id,age,zip,city,disease,pay\n{}\n", rows.join("\n"))
}

/// Runs the program with bytes on its standard input; returns exit code, standard output and error.
pub fn piped(folder: &Folder, arguments: &str, input: &[u8]) -> (Option<i32>, Vec<u8>, String) {
    let mut command = folder.command();
    command.args(arguments.split_whitespace());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // A program that refuses its flags does not read.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    (output.status.code(), output.stdout, String::from_utf8(output.stderr).unwrap())
}
