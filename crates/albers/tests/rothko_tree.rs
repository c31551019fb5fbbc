//! A table that is cut outside of memory by counts of its values has the release that it has when it
//! is cut exactly in memory, byte by byte.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod accept;

use std::fmt::Write as _;
use std::path::Path;

use albers::report::PassesReport;
use albers::{
    Categories, Error, ErrorKind, External, Job, Knobs, Method, Policy, Role, Silent, Split,
    anonymize_files,
};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// So many cases, unless `PROPTEST_CASES` asks for another number.
fn config(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(cases),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    }
}

/// Numbers that look random, by a seed.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % end
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }

    fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// What rows are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rows {
    Mixed,
    /// Two thirds of all people are the same.
    Repeated,
    /// All are.
    Alike,
}

/// People with numbers near and far from each other, codes, names and missing values, and a note each
/// that takes more room than all else.
fn table(draws: &mut Draws, n_rows: u64, rows: Rows) -> String {
    let mut text = "age,pay,zip,city,ill,work,note\n".to_owned();
    for row in 0..n_rows {
        let is_same = match rows {
            Rows::Mixed => false,
            Rows::Repeated => !draws.once_in(3),
            Rows::Alike => true,
        };
        let ill = draws.of(&["asthma", "cough", "flu", "hiv", "flu"]);
        let (age, pay) = (20 + draws.below(60), draws.below(150) * 6_543_210_987);
        let work = match draws.below(3) {
            0 => "none",
            _ if age > 60 => "retired",
            _ => draws.of(&["clerk", "baker"]),
        };
        let note = format!("note {row:0300}");
        if is_same {
            writeln!(text, "33,1.5,01234,Bonn,{ill},{work},{note}").unwrap();
            continue;
        }
        let age = if draws.once_in(30) { String::new() } else { age.to_string() };
        let zip = 1000 + draws.below(9) * 111 + draws.below(4) * 10;
        let zip = if draws.once_in(40) { String::new() } else { format!("0{zip}") };
        let city = draws.of(&["Aachen", "Bonn", "Celle", "Dresden", "Essen", ""]);
        let pay = pay as f64 / 1e4;
        writeln!(text, "{age},{pay},{zip},{city},{ill},{work},{note}").unwrap();
    }
    text
}

/// A job that counts decide, of any kind.
fn job(draws: &mut Draws) -> Job {
    let mut job = Job {
        k: Some(2 + draws.below(9)),
        method: Some(draws.of(&[Method::Mondrian, Method::Auto])),
        split: Some(Split::Median),
        threads: Some(1 + draws.below(3) as usize),
        seed: Some(draws.below(3)),
        accept: accept::all(),
        ..Job::default()
    };
    let n_quasi = 1 + draws.below(4) as usize;
    for name in &["age", "zip", "city", "pay"][4 - n_quasi..] {
        job.set_role(name, Role::Quasi).unwrap();
        job.column(name).bias = draws.once_in(6).then_some(true);
    }
    for name in ["work", "note"] {
        job.set_role(name, Role::Keep).unwrap();
    }
    job.set_role("ill", Role::Sensitive).unwrap();
    let has_zip = n_quasi > 2;
    if has_zip && draws.once_in(2) {
        job.column("zip").hierarchy = Some("prefix".parse().unwrap());
    } else if draws.once_in(3) {
        job.categories = Some(Categories::Set);
    }
    job.compact = draws.once_in(3).then_some(false);
    if draws.once_in(2) {
        (job.split, job.then) = (Some(Split::InfoGain), Some(Policy::Median));
        let targets = ["work", "ill", if n_quasi > 1 { "city" } else { "work" }];
        job.workload.targets = vec![draws.of(&targets).parse().unwrap()];
    }
    let ill = job.column("ill");
    ill.l_diversity =
        Some(draws.of(&["distinct:2", "entropy:2", "recursive:3,2"]).parse().unwrap());
    match draws.below(5) {
        0 => ill.t_closeness = Some(0.4),
        1 => ill.alpha = Some(0.7),
        2 | 3 if job.workload.targets.iter().all(|own| own.column != "ill") => {
            job.column("ill").l_diversity = None;
        }
        _ => {}
    }
    job
}

/// The bytes of the release and of its manifest.
type Files = (Vec<u8>, Vec<u8>);

type Published = Result<(Files, Option<PassesReport>), Box<Error>>;

fn publish(job: &Job, folder: &Path, name: &str) -> Published {
    let own = folder.join(name);
    std::fs::create_dir_all(&own).unwrap();
    let (output, manifest) = (own.join("release.csv"), own.join("manifest.json"));
    let mut job = Job { input: Some(folder.join("people.csv")), ..job.clone() };
    (job.output, job.manifest) = (Some(output.clone()), Some(manifest.clone()));
    (job.spill_dir, job.force) = (Some(folder.to_owned()), Some(true));
    let report = anonymize_files(&job, &Silent).map_err(Box::new)?;
    let files = (std::fs::read(output).unwrap(), std::fs::read(manifest).unwrap());
    Ok((files, report.passes))
}

/// The same job in memory.
fn in_memory(job: &Job) -> Job {
    Job { exact: Some(true), ..job.clone() }
}

/// The same job outside of it.
fn outside(job: &Job, memory: &str, knobs: Knobs) -> Job {
    let memory = Some(memory.parse().unwrap());
    Job { external: Some(External::Tree), memory, knobs, ..job.clone() }
}

fn knobs(draws: &mut Draws) -> Knobs {
    Knobs {
        count_groups: draws.of(&[None, Some(1), Some(2), Some(5)]),
        memory_rows: draws.of(&[None, Some(30), Some(200), Some(700)]),
        ..Knobs::default()
    }
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn a_release_by_counts_has_the_bytes_of_an_exact_one_in_memory(
        seed in any::<u64>().no_shrink(),
        n_rows in 1600..2000u64,
        rows in prop_oneof![
            8 => Just(Rows::Mixed), 2 => Just(Rows::Repeated), 1 => Just(Rows::Alike),
        ],
    ) {
        let mut draws = Draws(seed);
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("people.csv"), table(&mut draws, n_rows, rows)).unwrap();
        let job = job(&mut draws);
        let inside = publish(&in_memory(&job), folder.path(), "inside");
        let (inside, passes) = match inside {
            Ok(found) => found,
            // All rows together do not satisfy it: neither do they outside.
            Err(error) => {
                let other = publish(&outside(&job, "64MB", Knobs::default()), folder.path(), "other");
                prop_assert_eq!(error.to_string(), other.unwrap_err().to_string());
                return Ok(());
            }
        };
        prop_assert!(passes.is_none());
        let same = publish(&outside(&job, "64MB", Knobs::default()), folder.path(), "same").unwrap();
        prop_assert!(same.0 == inside, "another release in the same memory");
        prop_assert!(same.1.is_none(), "a table that fits is cut in memory");
        for memory in ["350KB", "450KB"] {
            let knobs = knobs(&mut draws);
            let (files, passes) =
                publish(&outside(&job, memory, knobs), folder.path(), "outside").unwrap();
            prop_assert!(files.0 == inside.0, "another release in {} with {:?}", memory, knobs);
            prop_assert!(files.1 == inside.1, "another manifest in {} with {:?}", memory, knobs);
            let passes = passes.expect("the table does not fit");
            prop_assert!(passes.imported_bytes > 0);
            if knobs.memory_rows.is_some() && rows == Rows::Mixed {
                prop_assert!(passes.repartitions > 0, "{:?} {:?}", knobs, passes);
            }
        }
    }
}

/// A job on a table that does not fit in 350 KB.
fn plain_job(folder: &Path) -> Job {
    let mut draws = Draws(7);
    std::fs::write(folder.join("people.csv"), table(&mut draws, 2400, Rows::Mixed)).unwrap();
    let mut job = Job { k: Some(5), accept: accept::all(), ..Job::default() };
    (job.method, job.split) = (Some(Method::Mondrian), Some(Split::Median));
    for name in ["age", "zip", "city"] {
        job.set_role(name, Role::Quasi).unwrap();
    }
    job.set_role("note", Role::Keep).unwrap();
    job
}

#[test]
fn an_exact_release_that_does_not_fit_is_refused_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let job = plain_job(folder.path());
    let mut exact = Job { memory: Some("350KB".parse().unwrap()), ..in_memory(&job) };
    let refused = |job: &Job| {
        let Err(error) = publish(job, folder.path(), "none") else { panic!("it fits") };
        assert_eq!(error.kind(), ErrorKind::Memory);
        error.to_string()
    };
    let words = refused(&exact);
    assert!(words.contains("external") && words.contains("tree"), "{words}");
    exact.split = None;
    let words = refused(&exact);
    assert!(words.contains("memory") && !words.contains("tree"), "{words}");
}

#[test]
fn a_count_group_that_does_not_fit_is_refused_and_told_what_would_do() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = plain_job(folder.path());
    job.set_role("pay", Role::Quasi).unwrap();
    // Each value is another: the counts are as many as the rows.
    let mut refused = 0;
    let mut memory = "80KB".to_owned();
    let (inside, _) = publish(&in_memory(&job), folder.path(), "inside").unwrap();
    loop {
        match publish(&outside(&job, &memory, Knobs::default()), folder.path(), "outside") {
            Ok((files, _)) => {
                assert!(files == inside, "another release in {memory}");
                break;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
                let words = error.to_string();
                let advised = words.rsplit("memory").next().unwrap_or_default();
                let number = |part: &str| {
                    part.chars().all(|own| own.is_ascii_alphanumeric() || own == '.')
                        && part.starts_with(|own: char| own.is_ascii_digit())
                };
                let advised = advised.split([' ', '"', '`', '=', ',', ';']).find(|own| number(own));
                memory = advised.unwrap_or_else(|| panic!("no advice in: {words}")).to_owned();
                refused += 1;
                assert!(refused < 4, "{words}");
            }
        }
    }
    assert!(refused > 0, "80 KB were enough");
}

#[test]
fn a_wide_table_has_one_release_in_any_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut draws = Draws(11);
    let names: Vec<String> = (0..30).map(|column| format!("c{column}")).collect();
    let mut text = names.join(",") + "\n";
    for _ in 0..1500 {
        let cells: Vec<String> = names.iter().map(|_| draws.below(6).to_string()).collect();
        text.push_str(&(cells.join(",") + "\n"));
    }
    std::fs::write(folder.path().join("people.csv"), text).unwrap();
    let mut job = Job { k: Some(5), accept: accept::all(), ..Job::default() };
    (job.method, job.split) = (Some(Method::Mondrian), Some(Split::Median));
    names.iter().for_each(|name| job.set_role(name, Role::Quasi).unwrap());
    let (inside, _) = publish(&in_memory(&job), folder.path(), "inside").unwrap();
    let knobs = Knobs { memory_rows: Some(100), ..Knobs::default() };
    let (files, passes) =
        publish(&outside(&job, "150KB", knobs), folder.path(), "outside").unwrap();
    assert!(files == inside);
    assert!(passes.unwrap().repartitions > 0);
}
