//! Faults from outside, through the program: a full disk, an interrupt, a reader that goes away.
//! Nothing that is half written stays behind.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use common::{Folder, PEOPLE, finished, patients, send, table, wait_until_it_writes};

const ROLES: &str = "--quasi age,zip,city --sensitive disease --keep pay -k 3 \
    --accept unique-keep,secret-without-rule";
const ENDINGS: [&str; 6] = ["csv", "tsv", "csv.gz", "csv.zst", "tsv.gz", "parquet"];

fn program() -> &'static str {
    env!("CARGO_BIN_EXE_albers")
}

fn shell(folder: &Folder, script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(folder.path("."));
    command
}

#[test]
fn a_file_that_may_not_grow_leaves_nothing_behind() {
    let folder = Folder::with(table(&patients(20_000, 1)));
    for ending in ENDINGS {
        let out = format!("out.{ending}");
        // A write beyond the limit then fails like one to a full disk, instead of ending the
        // program by a signal.
        let script = format!(
            "trap '' XFSZ; ulimit -f 8; exec {} anonymize in.csv -o {out} {ROLES}",
            program()
        );
        let run = finished(&mut shell(&folder, &script));
        assert_eq!(run.code, Some(2), "{ending}: {}", run.said());
        assert!(run.err.contains(&format!("cannot write {out}: ")), "{}", run.err);
        let hint = "nothing was written; make room, or write to another disk\n";
        assert!(run.err.ends_with(hint), "{ending}: {}", run.err);
        assert_eq!((run.out.as_str(), run.err.lines().count()), ("", 1));
        assert_eq!(folder.names(), ["in.csv"], "{ending}");
    }
}

/// Runs the program with `small` a disk of so many pages of 4 KiB of its own, mounted by root or in
/// a namespace of the user's; what is in `small` at the end is the last line of the output. Where
/// neither may be done the test fails: it must not pass without having run.
fn on_a_small_disk(folder: &Folder, n_pages: usize, arguments: &str) -> common::Run {
    const NO_MOUNT: i32 = 99;
    std::fs::create_dir_all(folder.path("small")).unwrap();
    for unshare in ["unshare -m", "unshare -Urm"] {
        let script = format!(
            "{unshare} sh -c 'mount -t tmpfs -o size={}k tmpfs small || exit {NO_MOUNT}; \
             {} {arguments}; code=$?; echo; echo left: $(ls -A small); exit $code' || exit $?",
            n_pages * 4,
            program(),
        );
        let run = finished(&mut shell(folder, &script));
        if run.code != Some(NO_MOUNT) && run.out.contains("left:") {
            return run;
        }
    }
    panic!("no disk can be mounted here: run the tests as root, or allow user namespaces");
}

fn left(run: &common::Run) -> &str {
    run.out.lines().last().unwrap().strip_prefix("left:").unwrap().trim()
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    let folder = Folder::with(table(&patients(20_000, 1)));
    for ending in ENDINGS {
        let arguments = format!("anonymize in.csv -o small/out.{ending} {ROLES}");
        let run = on_a_small_disk(&folder, 16, &arguments);
        assert_eq!(run.code, Some(2), "{ending}: {}", run.said());
        let says = format!("cannot write small/out.{ending}: No space left on device");
        assert!(run.err.contains(&says), "{}", run.err);
        assert!(run.err.ends_with("make room, or write to another disk\n"), "{}", run.err);
        assert_eq!(left(&run), "", "{ending}");
    }
}

/// Every number of pages is tried, also the one that holds the release but not its manifest.
#[test]
fn a_disk_that_fills_at_any_page_leaves_all_or_nothing() {
    let folder = Folder::with(table(&patients(600, 1)));
    let arguments = format!("anonymize in.csv -o small/out.csv {ROLES}");
    let (mut n_failed, mut n_pages) = (0, 1);
    loop {
        let run = on_a_small_disk(&folder, n_pages, &arguments);
        if run.code == Some(0) {
            assert_eq!(left(&run), common::WITH_RELEASE[1..].join(" "));
            break;
        }
        assert_eq!(run.code, Some(2), "{n_pages} pages: {}", run.said());
        assert_eq!(left(&run), "", "{n_pages} pages");
        n_failed += 1;
        n_pages += 1;
        assert!(n_pages < 100, "the release is small");
    }
    assert!(n_failed > 2, "the release has several pages");
}

/// Temporary data goes to the small disk, the release to a large one. Every size is tried.
#[test]
fn a_spill_folder_that_fills_at_any_page_stops_the_job() {
    let folder = Folder::with(table(&patients(8_000, 1)));
    let arguments = format!(
        "anonymize in.csv -o out.csv {ROLES} --method rtree --memory 300KB --least-memory 200KB \
         --spill-dir small"
    );
    let mut n_failed = 0;
    for n_pages in 1.. {
        let run = on_a_small_disk(&folder, 3 * n_pages, &arguments);
        if run.code == Some(0) {
            break;
        }
        assert_eq!(run.code, Some(2), "{n_pages}: {}", run.said());
        assert!(run.err.contains("No space left on device"), "{}", run.err);
        assert!(run.err.contains("--spill-dir"), "{}", run.err);
        assert_eq!(left(&run), "", "{n_pages}");
        assert_eq!(folder.names(), ["in.csv", "small"], "{n_pages}");
        n_failed += 1;
        assert!(n_pages < 200, "the table is small");
    }
    assert!(n_failed > 3, "the job spills several pages");
}

/// Several releases appear together or not at all, whichever of their pages does not fit.
#[test]
fn a_disk_that_fills_at_any_page_leaves_all_releases_or_none() {
    let folder = Folder::with(table(&patients(600, 1)));
    let arguments =
        format!("anonymize in.csv -o small/out.csv {ROLES} --also-k 9,30 --spill-dir .");
    let mut n_failed = 0;
    for n_pages in 1.. {
        let run = on_a_small_disk(&folder, n_pages, &arguments);
        if run.code == Some(0) {
            // Three releases, each with a manifest and both codebooks.
            assert_eq!(left(&run).split_whitespace().count(), 12);
            break;
        }
        assert_eq!(run.code, Some(2), "{n_pages} pages: {}", run.said());
        assert_eq!(left(&run), "", "{n_pages} pages");
        n_failed += 1;
        assert!(n_pages < 200, "the releases are small");
    }
    assert!(n_failed > 4, "the releases have several pages");
}

#[test]
fn a_killed_job_that_spills_leaves_nothing_behind() {
    let folder = Folder::with(table(&patients(120_000, 2)));
    std::fs::create_dir(folder.path("spill")).unwrap();
    let arguments = format!(
        "anonymize in.csv -o out.csv {ROLES} --also-k 9 --memory 1MB --least-memory 1MB --spill-dir spill"
    );
    for milliseconds in [50, 150, 300, 600] {
        let script = format!("timeout -s KILL {}.{:03} {} {arguments}", 0, milliseconds, program());
        let run = finished(&mut shell(&folder, &script));
        let left: Vec<String> = std::fs::read_dir(folder.path("spill"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(left, Vec::<String>::new(), "temporary data has no name");
        if run.code != Some(0) {
            let named = folder.names().into_iter().filter(|name| !name.starts_with(".albers-"));
            assert_eq!(named.collect::<Vec<_>>(), ["in.csv", "spill"]);
        }
        // What a run that was too fast has published must not be taken for that of the next.
        for name in folder.names().into_iter().filter(|name| name != "in.csv" && name != "spill") {
            std::fs::remove_file(folder.path(&name)).unwrap();
        }
    }
}

#[test]
fn an_interrupt_while_it_writes_leaves_nothing_behind() {
    let folder = Folder::with(table(&patients(300_000, 2)));
    for signal in ["INT", "TERM"] {
        for ending in ["csv.gz", "parquet"] {
            let mut child = folder.start(&format!("anonymize in.csv -o out.{ending} {ROLES}"));
            wait_until_it_writes(&folder, &mut child);
            send(signal, &child);
            let ended = child.wait_with_output().unwrap();
            assert_eq!(ended.status.code(), Some(130), "{signal}");
            assert_eq!(ended.stdout, b"", "{signal}");
            assert_eq!(folder.names(), ["in.csv"], "{signal} while {ending} is written");
        }
    }
}

#[test]
fn an_interrupt_before_it_writes_leaves_nothing_behind() {
    let folder = Folder::with(table(&patients(40_000, 2)));
    for signal in ["INT", "TERM"] {
        let mut command = folder.command();
        command.args(format!("anonymize - -o out.csv {ROLES}").split_whitespace());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // More than a pipe holds, so that the program has begun to read, and handles signals, when
        // all is written; and no end, so that it waits for more.
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(&folder.bytes("in.csv")).unwrap();
        send(signal, &child);
        let ended = child.wait_with_output().unwrap();
        drop(pipe);
        let by_signal = ended.status.signal().is_some();
        assert!(by_signal || ended.status.code() == Some(130), "{:?}", ended.status);
        assert_eq!(folder.names(), ["in.csv"], "{signal}");
    }
}

#[test]
fn an_interrupt_leaves_an_earlier_release_as_it_was() {
    let folder = Folder::with(table(&patients(300_000, 2)));
    folder.write("out.csv.gz", "an earlier release");
    let mut child = folder.start(&format!("anonymize in.csv -o out.csv.gz --force {ROLES}"));
    wait_until_it_writes(&folder, &mut child);
    send("INT", &child);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert_eq!(folder.read("out.csv.gz"), "an earlier release");
    assert_eq!(folder.names(), ["in.csv", "out.csv.gz"]);
}

/// Starts the program, whose files get their names so late that another run has looked at them.
fn named_late(folder: &Folder, arguments: &str) -> Child {
    let mut command = folder.command_of("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=linkat"]);
    command.args(["-e", "inject=linkat:delay_enter=500000", program()]);
    command.args(arguments.split_whitespace());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn of_two_runs_on_one_output_one_wins_whole_and_the_other_says_so() {
    const ENDS: [&str; 4] = ["", ".manifest.json", ".codebook.md", ".codebook.json"];
    let roles = ROLES.replace("-k 3", "");
    let folder = Folder::with(table(&patients(3_000, 1)));
    for (earlier, force) in [(false, ""), (true, "--force")] {
        let kinds = [3, 9].map(|k| {
            let name = format!("alone{k}.csv");
            folder.anonymize(&format!("in.csv -o {name} {roles} -k {k}"));
            let bytes =
                |ending: &&str| folder.read(&format!("{name}{ending}")).replace(&name, "out.csv");
            ENDS.iter().map(bytes).collect::<Vec<String>>()
        });
        if earlier {
            folder.anonymize(&format!("in.csv -o out.csv {roles} -k 20"));
        }
        let start = |k: u32| {
            named_late(&folder, &format!("anonymize in.csv -o out.csv {force} {roles} -k {k}"))
        };
        let runs = [3, 9].map(start).map(|child| child.wait_with_output().unwrap());
        let n_won = runs.iter().filter(|run| run.status.success()).count();
        assert_eq!(n_won, 1, "one wins: {runs:?}");
        for lost in runs.iter().filter(|run| !run.status.success()) {
            let said = String::from_utf8_lossy(&lost.stderr);
            assert_eq!(lost.status.code(), Some(2), "{said}");
            assert!(
                said.contains("by another program") || said.contains("is there already"),
                "{said}"
            );
        }
        let found: Vec<String> =
            ENDS.iter().map(|ending| folder.read(&format!("out.csv{ending}"))).collect();
        assert!(kinds.contains(&found), "the files of one run, not of two");
        assert!(!folder.names().iter().any(|name| name.starts_with(".albers-")));
        folder.remove_release("out.csv");
    }
}

#[test]
fn too_few_open_files_and_a_full_output_are_said_and_leave_nothing_behind() {
    let folder = Folder::with(table(&patients(300, 1)));
    for n_files in 4..12 {
        let script = format!(
            "ulimit -n {n_files}; exec {} anonymize in.csv -o out.csv --also-k 9 {ROLES}",
            program()
        );
        let run = finished(&mut shell(&folder, &script));
        if run.err.contains("error while loading shared libraries") {
            continue;
        }
        assert_eq!(run.code, Some(2), "{n_files}: {}", run.said());
        assert!(!run.err.contains("panicked"), "{n_files}: {}", run.err);
        assert_eq!(folder.names(), ["in.csv"], "{n_files}");
    }
    // One file is read, and temporary data has none.
    let script = format!("ulimit -n 4; exec {} anonymize in.csv -o - {ROLES}", program());
    let run = finished(&mut shell(&folder, &script));
    if !run.err.contains("error while loading shared libraries") {
        assert_eq!(run.code, Some(2), "{}", run.said());
        assert!(run.err.contains("Too many open files"), "{}", run.err);
        assert!(run.err.contains("ulimit -n"), "{}", run.err);
    }
    // An index that could not be made is no reason not to make it.
    let create = format!("{} index create idx --key id --quasi age,zip -k 3", program());
    for n_files in 4.. {
        let run = finished(&mut shell(&folder, &format!("ulimit -n {n_files}; exec {create}")));
        if run.err.contains("error while loading shared libraries") {
            continue;
        }
        if run.code == Some(0) {
            break;
        }
        assert_eq!(run.code, Some(2), "{n_files}: {}", run.said());
        assert!(run.err.contains("ulimit -n"), "{n_files}: {}", run.err);
        assert!(n_files < 40, "a few files suffice");
    }
    std::fs::remove_dir_all(folder.path("idx")).unwrap();
    for arguments in [
        format!("anonymize in.csv -o - {ROLES}"),
        format!("anonymize in.csv -o out.csv --json {ROLES}"),
        format!("anonymize in.csv -o out.csv {ROLES}"),
        "check in.csv --quasi age --accept low-k".to_owned(),
        "init in.csv -o job.toml".to_owned(),
        "init in.csv -o job.toml --json".to_owned(),
        "hierarchy in.csv age --like ranges -o age.csv".to_owned(),
        "generate adult -n 9 -o adult.csv".to_owned(),
        "--help".to_owned(),
        "--version".to_owned(),
        "help anonymize".to_owned(),
    ] {
        let run = finished(&mut shell(&folder, &format!("{} {arguments} >/dev/full", program())));
        assert_eq!(run.code, Some(2), "{arguments}: {}", run.said());
        let says = "cannot write to standard output: No space left on device";
        assert!(run.err.contains(says), "{arguments}: {}", run.err);
        assert_eq!(folder.names(), ["in.csv"], "{arguments}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = Folder::with(PEOPLE);
    for arguments in [
        "check in.csv --quasi age --accept low-k --json",
        "check in.csv --quasi age --accept low-k",
        "anonymize in.csv -o out.csv --quasi age -k 2 --json",
        "--help",
    ] {
        let mut child = folder.start(arguments);
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{arguments}");
        assert_eq!(String::from_utf8(ended.stderr).unwrap(), "", "{arguments}");
    }
    let script =
        format!("{} check in.csv --quasi age --accept low-k --json | head -c 1", program());
    let run = finished(&mut shell(&folder, &script));
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(0), "{", ""));
}
