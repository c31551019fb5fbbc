//! The library as its users have it: sources and sinks without files, jobs that are cancelled, jobs
//! side by side.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod accept;

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use albers::sink::{BatchSink, Collected, FileSink, Sink};
use albers::source::{BatchSource, FileSource, FilesSource, ReadOptions, Source, StreamSource};
use albers::{
    Choice, ErrorKind, HierarchySpec, Job, Method, Phase, Role, Silent, Watch, anonymize,
};
use arrow_cast::display::{ArrayFormatter, FormatOptions};

/// A table of so many people, as text.
fn table(n_rows: usize) -> String {
    let mut text = "age,zip,pay,note\n".to_owned();
    for row in 0..n_rows {
        let (age, zip, pay) = (20 + row * 7 % 60, 10_000 + row * 131 % 900, row * 17 % 11);
        text.push_str(&format!("{age},{zip},{pay},note {row}\n"));
    }
    text
}

/// A job on such a table, by a method.
fn job(method: Method) -> Job {
    let mut job = Job {
        k: Some(4),
        method: Some(method),
        threads: Some(2),
        accept: accept::all(),
        ..Job::default()
    };
    for (name, role) in
        [("age", Role::Quasi), ("zip", Role::Quasi), ("pay", Role::Sensitive), ("note", Role::Keep)]
    {
        job.set_role(name, role).unwrap();
    }
    job.column("age").hierarchy = Some("ranges:5,10,20".parse().unwrap());
    job.column("zip").hierarchy = Some(HierarchySpec::Prefix);
    job.column("zip").column_type = Some(albers::ColumnType::Code);
    job.column("pay").l_diversity = Some("distinct:2".parse().unwrap());
    if method == Method::Tds {
        job.workload.targets = vec!["pay".parse().unwrap()];
    }
    job
}

fn stream(text: &str) -> StreamSource {
    let reader = Box::new(std::io::Cursor::new(text.to_owned().into_bytes()));
    StreamSource::text(reader, "a pipe", None, &ReadOptions::default()).unwrap()
}

fn collecting() -> (Vec<Box<dyn Sink>>, Collected) {
    let (sink, collected) = BatchSink::new();
    (vec![Box::new(sink)], collected)
}

/// The release as text, whatever the sizes of its batches.
fn shown(collected: &Collected) -> String {
    let options = FormatOptions::new();
    let mut text = String::new();
    for batch in collected.take() {
        let columns = batch.columns().iter();
        let cells: Vec<_> =
            columns.map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
        for row in 0..batch.num_rows() {
            let cells: Vec<String> = cells.iter().map(|own| own.value(row).to_string()).collect();
            text.push_str(&format!("{}\n", cells.join("|")));
        }
    }
    text
}

/// The same job in little memory, and planned for it if it cuts.
fn small(job: Job, memory: &str) -> Job {
    let memory = Some(memory.parse().unwrap());
    let cuts = matches!(job.method(), Method::Auto | Method::Mondrian | Method::Rtree);
    Job { memory, least_memory: memory.filter(|_| cuts), ..job }
}

/// The release of a source.
fn released(job: &Job, source: &dyn Source) -> (albers::Report, String) {
    let (sinks, collected) = collecting();
    let report = anonymize(job, source, sinks, &Silent).unwrap();
    (report, shown(&collected))
}

#[test]
fn arrow_batches_go_in_and_out_of_every_method_with_no_file() {
    // The batches are those of another release: what it keeps as it came.
    let mut keep = Job { k: Some(1), accept: accept::all(), ..Job::default() };
    for name in ["age", "zip", "pay", "note"] {
        keep.set_role(name, Role::Keep).unwrap();
    }
    keep.set_role("row", Role::Quasi).unwrap();
    let text = table(300).replace("age,", "row,age,").lines().enumerate().fold(
        String::new(),
        |mut all, (line, cells)| {
            let cells = if line == 0 { cells.to_owned() } else { format!("{line},{cells}") };
            all.push_str(&format!("{cells}\n"));
            all
        },
    );
    let (sinks, collected) = collecting();
    anonymize(&keep, &stream(&text), sinks, &Silent).unwrap();
    let batches = collected.take();
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 300);
    for &method in Method::ALL {
        let source = BatchSource::of(batches.clone(), &ReadOptions::default()).unwrap();
        let (report, shown) = released(&job(method), &source);
        assert_eq!(report.rows, 300, "{method}");
        assert!(report.classes > 0 && shown.lines().count() == 300, "{method}");
        let reader = batches.clone().into_iter().map(Ok);
        let once =
            BatchSource::once(batches[0].schema(), Box::new(reader), &ReadOptions::default());
        assert_eq!(released(&job(method), &once.unwrap()).1, shown, "{method}");
    }
}

#[test]
fn a_pipe_that_does_not_fit_is_released_like_a_file_and_was_spilled() {
    let folder = tempfile::tempdir().unwrap();
    let text = table(12_000);
    let path = folder.path().join("table.csv");
    std::fs::write(&path, &text).unwrap();
    for method in [Method::Auto, Method::Rtree, Method::Incognito] {
        let job = small(job(method), "400KB");
        let file = FileSource::open(&path, None, &ReadOptions::default()).unwrap();
        let (of_file, from_file) = released(&job, &file);
        let (of_pipe, from_pipe) = released(&job, &stream(&text));
        assert_eq!(from_file, from_pipe, "{method}");
        assert_eq!(of_file.loss, of_pipe.loss, "{method}");
        assert_eq!(of_file.table_loss, of_pipe.table_loss, "{method}");
        let (of_pipe, of_file) = (of_pipe.bytes, of_file.bytes);
        assert!(of_pipe.partition_spilled > 0, "{method}: {of_pipe:?}");
        assert!(of_pipe.source < of_file.source, "a file is read twice, a pipe once");
        assert!(of_file.source <= 2 * text.len() as u64, "no file is read a third time");
    }
}

/// Rows that no longer fit are given up before what they hold needs their room.
#[test]
fn a_table_that_does_not_fit_makes_room_for_its_survey() {
    let mut text = "a,b,secret\n".to_owned();
    for row in 0..30_000usize {
        text.push_str(&format!("{},{},v{}\n", row * 7 % 100, row * 13 % 997, row * 31 % 2_500));
    }
    let mut job = small(Job { k: Some(10), accept: accept::all(), ..Job::default() }, "900KB");
    job.set_role("a", Role::Quasi).unwrap();
    job.set_role("b", Role::Quasi).unwrap();
    job.set_role("secret", Role::Sensitive).unwrap();
    let (report, _) = released(&job, &stream(&text));
    assert!(report.bytes.partition_spilled > 0, "the table fits: {:?}", report.bytes);
    assert_eq!(report.rows, 30_000);
}

/// A method that works in memory only does not read to the end what cannot fit.
#[test]
fn a_method_that_works_in_memory_refuses_a_pipe_at_once() {
    let text = table(200_000);
    let job = Job { memory: Some("400KB".parse().unwrap()), ..job(Method::Local) };
    let (sinks, collected) = collecting();
    let source = stream(&text);
    let error = anonymize(&job, &source, sinks, &Silent).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
    assert!(collected.take().is_empty());
}

#[test]
fn several_files_are_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let text = table(600);
    let whole = folder.path().join("whole.csv");
    std::fs::write(&whole, &text).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let mut parts = Vec::new();
    for (part, rows) in lines[1..].chunks(250).enumerate() {
        let path = folder.path().join(format!("part{part}.csv"));
        std::fs::write(&path, format!("{}\n{}\n", lines[0], rows.join("\n"))).unwrap();
        parts.push(path);
    }
    for method in [Method::Auto, Method::Rtree, Method::Local] {
        let options = ReadOptions::default();
        let one = FileSource::open(&whole, None, &options).unwrap();
        let several = FilesSource::open(parts.clone(), None, &options).unwrap();
        assert_eq!(released(&job(method), &one).1, released(&job(method), &several).1);
    }
}

/// Cancels at the n-th call, and remembers the phases it has heard of.
struct Canceller {
    calls: AtomicU64,
    at: u64,
    phases: Mutex<Vec<Phase>>,
}

impl Canceller {
    fn at(at: u64) -> Canceller {
        Canceller { calls: AtomicU64::new(0), at, phases: Mutex::new(Vec::new()) }
    }
}

impl Watch for Canceller {
    fn phase(&self, phase: Phase, _n_rows: Option<u64>) {
        self.phases.lock().unwrap().push(phase);
    }

    fn advance(&self, _n_rows: u64) -> ControlFlow<()> {
        match self.calls.fetch_add(1, Ordering::Relaxed) >= self.at {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Every moment at which a job looks whether it is still wanted is tried, so that it is cancelled
/// in every phase.
#[test]
fn a_job_that_is_cancelled_at_any_moment_leaves_nothing_and_the_process_usable() {
    let text = table(600);
    for &method in Method::ALL {
        for memory in [None, Some("300KB")] {
            let in_memory = [
                Method::Mondrian,
                Method::Subtree,
                Method::OrderedSet,
                Method::Tds,
                Method::Local,
                Method::Bang,
            ];
            let is_in_memory = in_memory.contains(&method) || method.relative().is_some();
            if memory.is_some() && is_in_memory {
                continue;
            }
            let job = match memory {
                Some(memory) => small(job(method), memory),
                None => job(method),
            };
            let mut phases = Vec::new();
            for at in 0.. {
                let folder = tempfile::tempdir().unwrap();
                let output = folder.path().join("release.csv");
                let manifest = folder.path().join("release.json");
                let sink = FileSink::new(&output, None, Some(manifest)).unwrap();
                let watch = Canceller::at(at);
                let outcome = anonymize(&job, &stream(&text), vec![Box::new(sink)], &watch);
                phases.extend(watch.phases.lock().unwrap().last().copied());
                match outcome {
                    Ok(_) => break,
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}"),
                }
                assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{method} {at}");
            }
            for phase in [Phase::Read, Phase::Verify, Phase::Write] {
                assert!(phases.contains(&phase), "{method} was never cancelled in {phase:?}");
            }
            assert!(
                phases.contains(&Phase::Partition) || phases.contains(&Phase::Search),
                "{method} was never cancelled while it looked for classes: {phases:?}"
            );
        }
    }
}

#[test]
fn two_jobs_run_at_the_same_time_each_in_its_own_budget() {
    let text = table(3_000);
    let alone: Vec<String> = [Method::Rtree, Method::Incognito]
        .map(|method| {
            let roomy = Job { memory: None, ..small(job(method), "600KB") };
            released(&roomy, &stream(&text)).1
        })
        .to_vec();
    let together: Vec<String> = std::thread::scope(|scope| {
        let started: Vec<_> = [(Method::Rtree, "600KB"), (Method::Incognito, "400KB")]
            .map(|(method, memory)| {
                let text = &text;
                let job = Job { threads: Some(1), ..small(job(method), memory) };
                scope.spawn(move || released(&job, &stream(text)).1)
            })
            .into_iter()
            .collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(together, alone, "a release does not depend on the memory");
}

/// One clock, and one meaning of every phase: nothing is counted twice or left out.
#[test]
fn the_parts_of_the_time_add_up_for_every_method_in_memory_and_beyond() {
    let text = table(12_000);
    let outside = [Method::Auto, Method::Rtree, Method::Incognito];
    let jobs = Method::ALL.iter().map(|&method| job(method));
    for job in jobs.chain(outside.map(|method| small(job(method), "400KB"))) {
        let (report, _) = released(&job, &stream(&text));
        let seconds = &report.seconds;
        let sum = seconds.read + seconds.partition + seconds.verify + seconds.write;
        assert!((sum - seconds.total).abs() < 1e-9 * (1.0 + sum), "{:?}: {seconds:?}", job.method);
    }
}

#[test]
fn a_source_that_can_be_read_once_is_not_asked_twice_by_any_method() {
    let text = table(500);
    for &method in Method::ALL {
        let (report, _) = released(&job(method), &stream(&text));
        assert_eq!(report.bytes.source, text.len() as u64, "{method}");
    }
}
