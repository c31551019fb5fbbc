//! Attempts to falsify releases: random tables, roles, hierarchies, requirements and options, each
//! release read back by a reader of its own and checked against brute force.
//!
//! A failure prints the seed and the size of its case, and stands in `oracle.regressions`, which is
//! replayed first from then on.

mod oracle {
    pub mod case;
    pub mod check;
    pub mod dice;
    pub mod files;
    pub mod require;
    pub mod shown;
    pub mod tree;
    pub mod value;
}

use std::path::Path;

use albers::{Error, Job, Method, Role, Silent, anonymize};
use oracle::case::Case;
use oracle::check::check_release;
use oracle::dice::Dice;
use oracle::require::{Diversity, Secret, exp_entropy, max_share, n_distinct, top_over_tail};
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

/// A seed, rows and quasi-identifiers. The seed is not worth shrinking.
fn sizes() -> impl Strategy<Value = (u64, usize, usize)> {
    let n_rows = prop_oneof![1 => 1..8usize, 3 => 1..200usize];
    (any::<u64>().no_shrink(), n_rows, 1..=5usize)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// The job with its release under another name.
fn renamed(job: &Job, name: &str) -> Job {
    let output = job.output.as_ref().expect("set when drawn");
    let ending = output.extension().and_then(|ending| ending.to_str()).expect("an ending");
    Job { output: Some(output.with_file_name(format!("{name}.{ending}"))), ..job.clone() }
}

fn bytes_of(job: &Job) -> Vec<u8> {
    std::fs::read(job.output.as_ref().expect("set when drawn")).expect("the release is there")
}

/// Methods besides those that every other test draws.
const OTHER_METHODS: [Method; 7] = [
    Method::Incognito,
    Method::Samarati,
    Method::BottomUp,
    Method::AttributeSuppression,
    Method::Subtree,
    Method::OrderedSet,
    Method::Local,
];

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn every_release_satisfies_covers_and_is_measured_as_brute_force_says(
        (seed, n_rows, n_quasi) in sizes()
    ) {
        let folder = folder();
        let case = Case::draw(seed, n_rows, n_quasi, folder.path());
        let report = anonymize(&case.job, &Silent);
        prop_assert!(report.is_ok(), "a feasible job fails: {}", report.unwrap_err());
        check_release(&case);
    }

    #[test]
    fn a_release_depends_neither_on_the_threads_nor_on_the_order_of_the_input(
        (seed, n_rows, n_quasi) in sizes()
    ) {
        let folder = folder();
        let case = Case::draw(seed, n_rows, n_quasi, folder.path());
        let report = anonymize(&case.job, &Silent).unwrap();
        let on_more = Job {
            threads: Some(case.job.threads.unwrap_or(0) % 3 + 1),
            ..renamed(&case.job, "on-more-threads")
        };
        let report_on_more = anonymize(&on_more, &Silent).unwrap();
        prop_assert!(bytes_of(&case.job) == bytes_of(&on_more), "threads change the release");
        prop_assert_eq!(report.loss, report_on_more.loss);
        let mut order: Vec<usize> = (0..n_rows).collect();
        Dice::new(seed).shuffle(&mut order);
        case.write_table(order);
        let shuffled = renamed(&case.job, "shuffled");
        anonymize(&shuffled, &Silent).unwrap();
        prop_assert!(bytes_of(&case.job) == bytes_of(&shuffled), "row order changes the release");
    }

    #[test]
    fn releases_of_every_other_method_are_as_safe_and_as_ordered(
        (seed, n_rows, n_quasi) in sizes(),
        method in prop::sample::select(&OTHER_METHODS)
    ) {
        let folder = folder();
        // Some methods need a hierarchy for each column, which many columns rarely have.
        let n_quasi = if method == Method::Local { n_quasi } else { n_quasi.min(2) };
        let case = Case::draw(seed, n_rows, n_quasi, folder.path());
        let Some(case) = case.by(method) else { return Ok(()) };
        let report = anonymize(&case.job, &Silent);
        prop_assert!(report.is_ok(), "a feasible job fails: {}", report.unwrap_err());
        check_release(&case);
        let on_more = Job {
            threads: Some(case.job.threads.unwrap_or(0) % 3 + 1),
            ..renamed(&case.job, "on-more-threads")
        };
        anonymize(&on_more, &Silent).unwrap();
        prop_assert!(bytes_of(&case.job) == bytes_of(&on_more), "threads change the release");
        let mut order: Vec<usize> = (0..n_rows).collect();
        Dice::new(seed).shuffle(&mut order);
        case.write_table(order);
        let shuffled = renamed(&case.job, "shuffled");
        anonymize(&shuffled, &Silent).unwrap();
        prop_assert!(bytes_of(&case.job) == bytes_of(&shuffled), "row order changes the release");
    }

    #[test]
    fn an_index_in_memory_publishes_what_mondrian_publishes(
        (seed, n_rows, n_quasi) in sizes()
    ) {
        let folder = folder();
        let mut case = Case::draw(seed, n_rows, n_quasi, folder.path());
        case.job.method = Some(Method::Mondrian);
        // What is left of a label when a child is taken out keeps a narrower region in the index.
        case.job.compact = None;
        anonymize(&case.job, &Silent).unwrap();
        let indexed = Job { method: Some(Method::Rtree), ..renamed(&case.job, "indexed") };
        let report = anonymize(&indexed, &Silent);
        prop_assert!(report.is_ok(), "a feasible job fails: {}", report.unwrap_err());
        prop_assert!(bytes_of(&case.job) == bytes_of(&indexed), "the releases differ");
    }

    #[test]
    fn an_index_in_the_least_memory_is_as_safe(
        (seed, n_rows, n_quasi) in sizes()
    ) {
        let folder = folder();
        let mut case = Case::draw(seed, n_rows, n_quasi, folder.path());
        case.job.method = Some(Method::Rtree);
        // The least that will do, found by asking.
        let mut memory = "64KiB".to_owned();
        for n_refused in 0.. {
            case.job.memory = Some(memory);
            match anonymize(&case.job, &Silent) {
                Ok(_) => break,
                Err(error) => {
                    let said = error.to_string();
                    let advised = said.split("give --memory ").nth(1);
                    prop_assert!(advised.is_some() && n_refused < 20, "a feasible job fails: {said}");
                    memory = advised.and_then(|rest| rest.split(' ').next()).unwrap().to_owned();
                }
            }
        }
        check_release(&case);
    }

    #[test]
    fn what_even_the_whole_table_misses_is_refused_and_nothing_is_written(
        (seed, n_rows, n_quasi) in sizes()
    ) {
        let folder = folder();
        let mut case = Case::draw(seed, n_rows, n_quasi, folder.path());
        ask_too_much(&mut case, &mut Dice::new(!seed));
        let before = files_in(folder.path());
        match anonymize(&case.job, &Silent) {
            Err(Error::CannotHold { .. } | Error::Usage { .. }) => {}
            Err(other) => prop_assert!(false, "another error: {other}"),
            Ok(_) => prop_assert!(false, "the impossible was done"),
        }
        prop_assert_eq!(before, files_in(folder.path()));
    }
}

fn files_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.expect("an entry").file_name().to_string_lossy().into_owned()
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort_unstable();
    names
}

/// Raises one part of the requirement above what the whole table reaches.
fn ask_too_much(case: &mut Case, dice: &mut Dice) {
    let n_units = case.n_units();
    let Some(secret) = case.secrets.first_mut() else {
        case.job.k = Some(n_units as u64 + 1);
        return;
    };
    let Secret { whole, .. } = secret;
    match dice.below(5) {
        0 => case.job.k = Some(n_units as u64 + 1),
        1 => secret.asked.diversity = Some(Diversity::Distinct(n_distinct(whole) + 1)),
        2 => secret.asked.diversity = Some(Diversity::Entropy(exp_entropy(whole) * 1.01)),
        3 if n_distinct(whole) > 1 => {
            let c = top_over_tail(whole, 2) * 0.99;
            secret.asked.diversity = Some(Diversity::Recursive(c, 2));
        }
        _ => secret.asked.alpha = Some(max_share(whole) * 0.99),
    }
    let name = case.columns[secret.column].name.clone();
    secret.asked.write(case.job.column(&name));
}

/// A job on a table of three columns: `age` quasi, `pay` sensitive, `id` kept.
fn pay_job(folder: &Path, pays: &[&str]) -> Job {
    let header = ["id", "age", "pay"].map(str::to_owned).to_vec();
    let rows = (0..20).map(|row| {
        vec![row.to_string(), (20 + row).to_string(), pays[row % pays.len()].to_owned()]
    });
    let input = folder.join("table.csv");
    oracle::files::write(&input, ',', std::iter::once(header).chain(rows));
    let mut job = Job { input: Some(input), k: Some(2), ..Job::default() };
    job.output = Some(folder.join("release.csv"));
    for (name, role) in [("id", Role::Keep), ("age", Role::Quasi), ("pay", Role::Sensitive)] {
        job.set_role(name, role).expect("one role each");
    }
    job
}

/// As 64-bit floats the first two are equal, and the last two are further apart than any.
#[test]
fn sensitive_numbers_that_floats_cannot_tell_apart_or_span_are_protected() {
    for pays in [["1152921504606846976", "1152921504606846977"], ["-1.7e308", "1.7e308"]] {
        let folder = folder();
        let mut job = pay_job(folder.path(), &pays);
        job.column("pay").l_diversity = Some("distinct:2".to_owned());
        job.column("pay").t_closeness = Some(0.2);
        let report = anonymize(&job, &Silent).unwrap();
        assert!(report.classes > 1, "cut where values alternate");
    }
}
