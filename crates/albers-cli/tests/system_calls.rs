//! Faults of the system, call by call, by strace's injection: every n-th read, write, sync, open and
//! naming of a small job of each kind fails, is interrupted, or is where the program is killed.
//!
//! ```text
//!   fails         exit code 2, or 0 if the job can do without it; all files as before, or all new,
//!                 or what was there before is where the message says
//!   interrupted   as if nothing had happened
//!   killed        every file is the old one or the new one as a whole, a new manifest is the last
//! ```
//!
//! An index is its state, as `albers index info` tells it: that of before or that of after. One
//! without rows is none, since a creation that fails may leave it.
//!
//! Some calls are tried unless `CALLS_ALL` is set; then all of them, with a thousand kills or more.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]
#![expect(clippy::print_stdout, reason = "a test says how many faults it tried")]

mod common;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arrow_array::StringArray;
use common::{Folder, array, patients, rows_of, table};

const ROLES: &str = "--quasi age,zip,city --sensitive disease --keep pay -k 3 \
    --accept unique-keep,secret-without-rule,model-beside-release";
/// The same without a column that an index would have to keep.
const LIVING: &str = "--key id --quasi age,zip,city --sensitive disease -k 3 \
    --accept secret-without-rule";
/// What occurs in cells of the table and in no message.
const CELLS: [&str; 6] = ["Aachen", "Dresden", "asthma", "bronchitis", "cough", "p0000"];
/// What strace may write about itself; not a file of the job.
const LOG: &str = "calls.log";
/// The folder of an index.
const INDEX: &str = "idx";

/// What happens at a call.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Fails(&'static str),
    /// And so do all later ones.
    FailsOn(&'static str),
    Interrupted,
    Killed,
}

impl Fault {
    /// As strace takes it, at the n-th call.
    fn injected(self, call: &str, n: usize) -> String {
        let (what, on) = match self {
            Fault::Fails(error) => (format!("error={error}"), ""),
            Fault::FailsOn(error) => (format!("error={error}"), "+"),
            Fault::Interrupted => ("error=EINTR".to_owned(), ""),
            Fault::Killed => ("signal=SIGKILL".to_owned(), ""),
        };
        format!("inject={call}:{what}:when={n}{on}")
    }
}

/// Calls that touch files, and how they fail.
const FAILING: [(&str, &str); 20] = [
    ("read", "EIO"),
    ("pread64", "EIO"),
    ("write", "ENOSPC"),
    ("pwrite64", "ENOSPC"),
    ("openat", "EMFILE"),
    ("openat", "EACCES"),
    ("fsync", "EIO"),
    ("fdatasync", "EIO"),
    ("linkat", "EIO"),
    ("linkat", "EPERM"),
    ("linkat", "EROFS"),
    ("renameat2", "EIO"),
    ("renameat2", "EINVAL"),
    ("rename", "EACCES"),
    ("unlink", "EACCES"),
    ("fchmod", "EPERM"),
    ("statx", "EIO"),
    ("getcwd", "ENOENT"),
    ("ftruncate", "ENOSPC"),
    ("clone3", "EAGAIN"),
];
const INTERRUPTED: [&str; 9] =
    ["read", "pread64", "write", "pwrite64", "openat", "fsync", "linkat", "renameat2", "ftruncate"];
const KILLED: [&str; 15] = [
    "read",
    "write",
    "pwrite64",
    "openat",
    "fsync",
    "fdatasync",
    "linkat",
    "renameat2",
    "unlink",
    "fchmod",
    "statx",
    "close",
    "munmap",
    "fcntl",
    "exit_group",
];

/// A disk on which names cannot be exchanged.
const NO_EXCHANGE: &str = "inject=renameat2:error=EINVAL";
/// And on which files have one name: after the four that a release and what belongs to it wait under.
const NO_LINKS: &str = "inject=linkat:error=EPERM:when=5+";
/// Faults of such a disk, where a release takes the place of another.
const LESS_ABLE: [(&str, Fault, &[&str]); 10] = [
    ("rename", Fault::Fails("EIO"), &[NO_EXCHANGE]),
    ("rename", Fault::FailsOn("EIO"), &[NO_EXCHANGE]),
    ("linkat", Fault::Fails("EPERM"), &[NO_EXCHANGE]),
    ("linkat", Fault::FailsOn("EPERM"), &[NO_EXCHANGE]),
    ("rename", Fault::Fails("EIO"), &[NO_EXCHANGE, NO_LINKS]),
    ("rename", Fault::FailsOn("EIO"), &[NO_EXCHANGE, NO_LINKS]),
    ("rename", Fault::Interrupted, &[NO_EXCHANGE]),
    ("linkat", Fault::Interrupted, &[NO_EXCHANGE]),
    ("rename", Fault::Killed, &[NO_EXCHANGE]),
    ("linkat", Fault::Killed, &[NO_EXCHANGE]),
];

/// The files of a folder, by name.
type Digests = BTreeMap<String, u64>;

/// A job, in a folder as it is before.
struct Kind {
    folder: Folder,
    arguments: String,
    kept: BTreeMap<String, Vec<u8>>,
    before: Digests,
    after: Digests,
    code: Option<i32>,
    /// What it writes to standard output, where that is its release.
    out: Option<String>,
    n_tried: usize,
    n_killed: usize,
}

impl Kind {
    /// A job after others that succeed.
    fn new(first: &[&str], arguments: &str) -> Kind {
        let folder = with_tables(arguments);
        assert_traces(&folder);
        for arguments in first {
            let run = folder.run(arguments);
            assert_eq!(run.code, Some(0), "{}", run.said());
        }
        let (kept, before) = (files_of(&folder), digests(&folder));
        let run = folder.run_once(&arguments.split_whitespace().collect::<Vec<_>>());
        assert!(matches!(run.code, Some(0 | 1)), "{}", run.said());
        assert!(run.code == Some(0) || arguments.starts_with("check"), "{}", run.said());
        let after = digests(&folder);
        let (out, code) = (arguments.contains(" -o - ").then_some(run.out), run.code);
        let arguments = arguments.to_owned();
        Kind { folder, arguments, kept, before, after, code, out, n_tried: 0, n_killed: 0 }
    }

    fn restore(&self) {
        for name in files_of(&self.folder).into_keys() {
            if !self.kept.contains_key(&name) {
                std::fs::remove_file(self.folder.path(&name)).unwrap();
            }
        }
        if !self.before.contains_key(INDEX) && self.folder.path(INDEX).is_dir() {
            std::fs::remove_dir(self.folder.path(INDEX)).unwrap();
        }
        for (name, bytes) in &self.kept {
            if self.folder.path(name).metadata().is_err() || self.folder.bytes(name) != *bytes {
                self.folder.write(name, bytes);
            }
        }
    }

    /// Runs the job with a fault at the n-th such call of each thread; nothing if there is none.
    fn run(&self, call: &str, fault: Fault, with: &[&str], n: usize) -> Option<Output> {
        self.restore();
        let mut command = self.folder.command_of("strace");
        command.args(["-f", "-qq", "-o", LOG, "-e", &fault.injected(call, n)]);
        let mut traced = format!("trace={call}");
        for inject in with {
            command.args(["-e", inject]);
            let other = inject.strip_prefix("inject=").and_then(|rest| rest.split(':').next());
            traced = format!("{traced},{}", other.unwrap());
        }
        command.args(["-e", &traced]);
        command.arg(env!("CARGO_BIN_EXE_albers")).args(self.arguments.split_whitespace());
        let output = command.stdin(Stdio::null()).output().unwrap();
        let log = String::from_utf8_lossy(&self.folder.bytes(LOG)).into_owned();
        std::fs::remove_file(self.folder.path(LOG)).unwrap();
        let is_of = |line: &str| {
            line.contains(&format!("{call}(")) || line.contains(&format!("{call} resumed"))
        };
        let mut injected = log.lines().filter(|line| line.contains("(INJECTED)"));
        let has_happened = match fault {
            Fault::Killed => output.status.signal().is_some() || log.contains("killed by SIGKILL"),
            _ => injected.any(is_of),
        };
        has_happened.then_some(output)
    }

    /// Tries a fault at calls from the first to the last.
    fn try_all(&mut self, call: &str, fault: Fault, with: &[&str]) {
        let mut n = 1;
        while let Some(output) = self.run(call, fault, with, n) {
            let what = format!("{}: {call} {n} {fault:?} {with:?}", self.arguments);
            let said = String::from_utf8_lossy(&output.stderr);
            match fault {
                // The program has not begun.
                _ if said.contains("error while loading shared libraries") => {}
                Fault::Killed => self.assert_whole(&what),
                Fault::Fails(_) | Fault::FailsOn(_) => self.assert_refused(&output, &what),
                Fault::Interrupted => {
                    assert_eq!(output.status.code(), self.code, "{what}: {output:?}");
                    assert_eq!(digests(&self.folder), self.after, "{what}");
                    self.assert_sent(&output, &what);
                }
            }
            self.n_tried += 1;
            self.n_killed += usize::from(matches!(fault, Fault::Killed));
            // On disks that can do less every call leads another way.
            n += if tries_all() || !with.is_empty() { 1 } else { 1 + n };
        }
    }

    fn assert_refused(&self, output: &Output, what: &str) {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("panicked"), "{what}: {said}");
        assert!(!CELLS.iter().any(|cell| said.contains(cell)), "{what}: {said}");
        let files = digests(&self.folder);
        match output.status.code() {
            code if code == self.code => {
                assert_eq!(files, self.after, "{what}: {said}");
                self.assert_sent(output, what);
            }
            Some(2) if said.contains("everything was written, but") => {
                let named = files.into_iter().filter(|(name, _)| !is_temporary(name));
                assert_eq!(named.collect::<BTreeMap<_, _>>(), self.after, "{what}: {said}");
            }
            Some(2) if said.contains("these could not be taken back: ") => {
                self.assert_nothing_is_lost(&files, &said, what);
            }
            Some(2) => {
                self.assert_as_before(files, &format!("{what}: {said}"));
                // What is said is written too.
                let is_mute = said.is_empty() && what.contains(": write ");
                let is_plain = said.starts_with("albers: ") && said.lines().count() <= 2;
                // What is told of a release on standard output comes before it.
                let last = said.lines().last().filter(|_| self.out.is_some());
                let is_at_end = last.is_some_and(|line| line.starts_with("albers: "));
                assert!(is_mute || is_plain || is_at_end, "{what}: {said}");
            }
            _ => panic!("{what}: {:?}, {said}", output.status),
        }
    }

    /// A release on standard output is whole where the program says so.
    fn assert_sent(&self, output: &Output, what: &str) {
        let Some(out) = &self.out else { return };
        assert!(output.stdout == out.as_bytes(), "{what}: what was sent is not whole");
    }

    /// All files are as before; an index may have changed as a whole.
    fn assert_as_before(&self, mut files: Digests, what: &str) {
        if files.get(INDEX) == self.after.get(INDEX) {
            files.remove(INDEX);
            let before = self.before.get(INDEX);
            files.extend(before.map(|state| (INDEX.to_owned(), *state)));
        }
        assert_eq!(files, self.before, "{what}");
    }

    /// What was there before has its name, or one that the message tells.
    fn assert_nothing_is_lost(&self, files: &Digests, said: &str, what: &str) {
        for (name, digest) in &self.before {
            let is_there = files.get(name) == Some(digest);
            let mut elsewhere = files.iter().filter(|(other, _)| is_temporary(other));
            let is_told = elsewhere.any(|(other, own)| own == digest && said.contains(other));
            assert!(is_there || is_told, "{what}: {name} is lost: {said}");
        }
    }

    /// After a kill each file is an old or a new one, and a new manifest stands beside new files.
    fn assert_whole(&self, what: &str) {
        let files = digests(&self.folder);
        let named: Vec<_> = files.iter().filter(|(name, _)| !is_temporary(name)).collect();
        for (name, digest) in &named {
            let is_whole =
                [&self.before, &self.after].iter().any(|own| own.get(*name) == Some(digest));
            assert!(is_whole, "{what}: {name} is neither the old one nor the new one");
        }
        assert!(self.before.keys().all(|name| files.contains_key(name)), "{what}: a file is gone");
        let is_new = |name: &str| {
            self.after.get(name) != self.before.get(name) && files.get(name) == self.after.get(name)
        };
        let manifests = self.after.keys().filter(|name| name.ends_with(".manifest.json"));
        for manifest in manifests.filter(|name| is_new(name)) {
            let release = manifest.strip_suffix(".manifest.json").unwrap();
            assert_eq!(
                files.get(release),
                self.after.get(release),
                "{what}: a manifest came first"
            );
        }
    }

    /// All faults at all calls; how many there were, and how many of them were kills.
    fn try_everything(mut self) -> (usize, usize) {
        for (call, error) in FAILING {
            self.try_all(call, Fault::Fails(error), &[]);
        }
        for call in INTERRUPTED {
            self.try_all(call, Fault::Interrupted, &[]);
        }
        for call in KILLED {
            self.try_all(call, Fault::Killed, &[]);
        }
        for (call, fault, with) in LESS_ABLE {
            if self.arguments.contains("--force") {
                self.try_all(call, fault, with);
            }
        }
        println!("{} faults, of which {} kills: {}", self.n_tried, self.n_killed, self.arguments);
        assert!(self.n_tried > 20 && self.n_killed > 10, "faults were injected");
        (self.n_tried, self.n_killed)
    }
}

fn tries_all() -> bool {
    std::env::var_os("CALLS_ALL").is_some()
}

/// Where no program can be traced the tests fail: they must not pass without having tried anything.
fn assert_traces(folder: &Folder) {
    let traced = folder.command_of("strace").args(["-qq", "-o", LOG, "true"]).output();
    assert!(
        traced.is_ok_and(|output| output.status.success()),
        "no program can be traced here: install strace, and allow it to trace"
    );
    std::fs::remove_file(folder.path(LOG)).unwrap();
}

/// A folder with the tables that a job reads.
fn with_tables(arguments: &str) -> Folder {
    let people = patients(300, 1);
    let folder = Folder::with(table(&people));
    let rows = rows_of(&table(&people), ',');
    let (names, rows) = rows.split_first().unwrap();
    if arguments.contains("in.parquet") {
        let column =
            |at: usize| array(StringArray::from_iter_values(rows.iter().map(|row| &row[at])));
        let columns = names.iter().enumerate().map(|(at, name)| (name.as_str(), column(at)));
        folder.write_parquet("in.parquet", columns.collect());
    }
    if arguments.contains("in.jsonl") {
        let cells = |row: &Vec<String>| {
            let cells = names.iter().zip(row).map(|(name, cell)| format!("\"{name}\":\"{cell}\""));
            format!("{{{}}}\n", cells.collect::<Vec<_>>().join(","))
        };
        folder.write("in.jsonl", rows.iter().map(cells).collect::<String>());
    }
    if arguments.contains("in.xlsx") {
        let mut book = rust_xlsxwriter::Workbook::new();
        let sheet = book.add_worksheet();
        for (at, row) in std::iter::once(names).chain(rows).enumerate() {
            sheet.write_row(at as u32, 0, row).unwrap();
        }
        book.save(folder.path("in.xlsx")).unwrap();
    }
    if arguments.contains("more.csv") {
        folder.write("more.csv", table(&patients(330, 1)[300..]));
    }
    folder
}

/// Every file with its bytes, also those of an index.
fn files_of(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let mut files = folder.files();
    if let Ok(entries) = std::fs::read_dir(folder.path(INDEX)) {
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        files.extend(names.map(|name| format!("{INDEX}/{name}")).map(|name| {
            let bytes = folder.bytes(&name);
            (name, bytes)
        }));
    }
    files
}

/// The digest of every file. A report tells how long things took, so of it only whether it is whole;
/// an index is what it says.
fn digests(folder: &Folder) -> Digests {
    let hashed = |bytes: &[u8]| {
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        hasher.finish()
    };
    let digest = |name: &str, bytes: &[u8]| match name {
        "report.json" => u64::from(serde_json::from_slice::<serde_json::Value>(bytes).is_ok()),
        _ => hashed(bytes),
    };
    let files = folder.files();
    let mut digests: Digests =
        files.iter().map(|(name, bytes)| (name.clone(), digest(name, bytes))).collect();
    if folder.path(INDEX).is_dir() {
        let told = folder.run(&format!("index info {INDEX} --json")).out;
        let told: serde_json::Value = serde_json::from_str(&told).unwrap_or_default();
        let state = ["rows", "batches", "releases"].map(|field| told[field].to_string());
        if told["rows"].as_u64().is_some_and(|n_rows| n_rows > 0) {
            digests.insert(INDEX.to_owned(), hashed(state.concat().as_bytes()));
        }
    }
    digests
}

fn is_temporary(name: &str) -> bool {
    name.starts_with(".albers-")
}

/// Jobs, each after others that succeed.
fn jobs() -> Vec<(Vec<String>, String)> {
    let release = format!("anonymize in.csv -o out.csv {ROLES}");
    let model = format!("{release} --model model.bin");
    let create = format!("index create {INDEX} in.csv {LIVING}");
    let alone = |job: &str| (Vec::new(), job.to_owned());
    let after = |first: &str, job: &str| (vec![first.to_owned()], job.to_owned());
    let index = "--method rtree --memory 300KB --least-memory 200KB --also-k 9 --threads 1";
    let hierarchies = "--hierarchy zip=prefix --hierarchy city=suppress --hierarchy age=ranges:10";
    let narrowed = "--key id --quasi age,zip,city --sensitive disease -k 3 \
                    --accept secret-without-rule";
    vec![
        alone(&format!("{release} --owner-report report.json")),
        after(
            "anonymize in.csv -o out.parquet --quasi age,zip,city -k 9",
            &format!("anonymize in.csv -o out.parquet --force {ROLES}"),
        ),
        alone(&format!("{release} {index}")),
        alone(&model),
        after(
            &model,
            "recode model.bin in.csv -o again.csv \
             --accept unique-keep,secret-without-rule,model-beside-release",
        ),
        alone(&format!("anonymize in.csv -o out.csv.gz {ROLES} --method incognito {hierarchies}")),
        after(
            &release,
            "check out.csv --original in.csv -k 3 --rows rows.csv --accept secret-without-rule",
        ),
        after(&release, "measure in.csv out.csv --quasi age,zip,city"),
        after(&release, "query out.csv age<50"),
        alone(&format!("anonymize in.csv -o - {ROLES}")),
        alone(&format!("anonymize in.parquet -o out.csv {ROLES}")),
        alone(&format!("anonymize in.jsonl -o out.jsonl {ROLES}")),
        alone(&format!("anonymize in.xlsx -o out.csv {ROLES}")),
        after(
            "anonymize in.csv -o wide.csv --quasi age,zip,city --keep id -k 3 --accept unique-keep",
            &format!("compact in.csv wide.csv -o new.csv {narrowed}"),
        ),
        alone("init in.csv -o job.toml"),
        alone("hierarchy in.csv zip -o levels.csv"),
        alone(
            "lattice in.csv --quasi zip,city -k 3 --hierarchy zip=prefix --hierarchy city=suppress",
        ),
        alone("generate agrawal -n 300 -o made.csv"),
        alone(&create),
        after(&create, &format!("index insert {INDEX} more.csv")),
        after(&create, &format!("index release {INDEX} -o out.csv")),
    ]
}

/// Jobs are tried side by side: each has a folder of its own, and mostly waits.
#[test]
fn jobs_of_each_kind_leave_all_or_nothing_at_every_call() {
    const LEAST_KILLS: usize = 1_000;
    let jobs = jobs();
    let (next, sum) = (AtomicUsize::new(0), Mutex::new((0, 0)));
    let work = || {
        while let Some((first, job)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let first: Vec<&str> = first.iter().map(String::as_str).collect();
            let (n_tried, n_killed) = Kind::new(&first, job).try_everything();
            let mut sum = sum.lock().unwrap();
            *sum = (sum.0 + n_tried, sum.1 + n_killed);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().unwrap().get() {
            scope.spawn(work);
        }
    });
    let (n_tried, n_killed) = *sum.lock().unwrap();
    println!("{n_tried} faults in all, of which {n_killed} kills");
    assert!(!tries_all() || n_killed >= LEAST_KILLS, "{n_killed} kills of {LEAST_KILLS}");
}

/// A job whose files get their names slowly, and what it is doing.
fn named_slowly(folder: &Folder, out: &str) -> Child {
    let mut command = folder.command_of("strace");
    command.args(["-f", "-qq", "-o", LOG, "-e", "trace=linkat"]);
    command.args(["-e", "inject=linkat:delay_exit=300000", env!("CARGO_BIN_EXE_albers")]);
    command.args(format!("anonymize in.csv -o {out} --also-k 9 {ROLES}").split_whitespace());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn an_interrupt_waits_until_all_files_have_their_names() {
    let folder = Folder::with(table(&patients(300, 1)));
    assert_traces(&folder);
    let mut child = named_slowly(&folder, "out.csv");
    while !folder.path("out.csv").exists() {
        assert!(child.try_wait().unwrap().is_none(), "the job ended before it was interrupted");
        std::thread::sleep(Duration::from_millis(5));
    }
    // The program itself, not who traces it.
    let id = child.id();
    let traced = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
    let mut interrupt = folder.command_of("sh");
    interrupt.arg("-c").arg(format!("kill -s INT {traced}"));
    assert!(interrupt.status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    // Two releases, each with a manifest and both codebooks; the table; the log.
    assert_eq!(folder.names().len(), 10, "{:?}: {said}", folder.names());
    // Who is interrupted so late may end as if nothing had been, but must not say otherwise.
    let was_interrupted = said.contains("interrupted: ");
    let code = if was_interrupted { 130 } else { 0 };
    assert_eq!(ended.status.code(), Some(code), "{said}");
    assert!(!was_interrupted || said.contains("written already: "), "{said}");
}
