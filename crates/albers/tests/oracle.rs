//! Attempts to falsify releases: random tables, roles, hierarchies, requirements and options, each
//! release read back by a reader of its own and checked against brute force.
//!
//! The method is drawn first and then what suits it, so that no case goes untested; each test ends
//! by asserting how many cases of each kind it has seen.
//!
//! A failure prints the seed and the size of its case, and stands in `oracle.regressions`, which is
//! replayed first from then on.

mod oracle {
    pub mod ask;
    pub mod case;
    pub mod check;
    pub mod column;
    pub mod dice;
    pub mod files;
    pub mod levels;
    pub mod loss;
    pub mod require;
    pub mod shown;
    pub mod tally;
    pub mod tree;
    pub mod value;
}

mod accept;

use std::path::Path;

use albers::{
    ByteSize, Choice, Effort, Error, ErrorKind, FindingName, Job, Method, RecodeJob, Report, Role,
    Silent, anonymize_files, recode_files,
};
use oracle::ask::Ask;
use oracle::case::{Case, OF_TREES, can_leave_out, releases};
use oracle::check::{check_recoded, check_releases};
use oracle::column::Shown;
use oracle::dice::Dice;
use oracle::require::{Diversity, Secret, exp_entropy, max_share, n_distinct, top_over_tail};
use oracle::tally::Tally;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// So many cases, unless `PROPTEST_CASES` asks for another number.
fn n_cases(usual: u32) -> usize {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(usual) as usize
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases: n_cases(cases) as u32,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    }
}

/// A seed, rows and quasi-identifiers. The seed is not worth shrinking.
fn sizes() -> impl Strategy<Value = (u64, usize, usize)> {
    let n_rows = prop_oneof![1 => 1..8usize, 3 => 1..200usize];
    (any::<u64>().no_shrink(), n_rows, 1..=5usize)
}

/// The same with rows that do not fit in the least memory.
fn large_sizes() -> impl Strategy<Value = (u64, usize, usize)> {
    (any::<u64>().no_shrink(), 300..1500usize, 1..=5usize)
}

/// Every method, those that cut and nested ones more often: more is looked at with them.
fn any_method() -> impl Strategy<Value = Method> {
    let cutting = prop::sample::select(&[Method::Auto, Method::Mondrian, Method::Rtree][..]);
    let nested = prop::sample::select(&[Method::Bang, Method::BdTree, Method::HbTree][..]);
    prop_oneof![3 => cutting, 6 => prop::sample::select(Method::ALL), 1 => nested]
}

const FULL_DOMAIN_METHODS: [Method; 4] =
    [Method::Incognito, Method::Samarati, Method::BottomUp, Method::AttributeSuppression];

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// The job with its releases under another name.
fn renamed(job: &Job, name: &str) -> Job {
    let output = job.output.as_ref().expect("set when drawn");
    let ending = output.extension().and_then(|ending| ending.to_str()).expect("an ending");
    Job { output: Some(output.with_file_name(format!("{name}.{ending}"))), ..job.clone() }
}

/// All releases of a job.
fn bytes_of(job: &Job) -> Vec<Vec<u8>> {
    let paths = releases(job).into_iter().map(|(path, _)| path);
    paths.map(|path| std::fs::read(path).expect("the release is there")).collect()
}

/// Runs a job that can be done.
fn done(job: &Job) -> Result<Report, TestCaseError> {
    let failed = |error: Error| TestCaseError::fail(format!("a feasible job fails: {error}"));
    anonymize_files(job, &Silent).map_err(failed)
}

/// Runs a job in the least memory that will do, found by asking.
fn in_least_memory(job: &mut Job) -> Result<Report, TestCaseError> {
    let mut memory: ByteSize = "64KiB".parse().expect("a size");
    for n_refused in 0..30 {
        job.memory = Some(memory);
        match anonymize_files(job, &Silent) {
            Err(error) if error.kind() == ErrorKind::Memory => {
                let advice = error.advice().expect("how much would do");
                let value = advice.settings().find_map(|setting| setting.value.clone());
                let advised: ByteSize = value.expect("so much").parse().expect("a size");
                prop_assert!(advised.0 > memory.0, "no more is advised: {error}");
                // Where memory is asked for bit by bit, each advice is about the next bit.
                let least_bytes = if n_refused < 10 { 0 } else { memory.0 / 8 * 9 };
                memory = ByteSize(advised.0.max(least_bytes));
            }
            Err(error) => prop_assert!(false, "a feasible job fails: {error}"),
            Ok(report) => return Ok(report),
        }
    }
    Err(TestCaseError::fail("more and more memory is advised"))
}

// Each test counts its own cases: tests run beside each other.
static CHECKED: Tally = Tally::new();
static REPEATED: Tally = Tally::new();
static OUTSIDE: Tally = Tally::new();
static INDEXED: Tally = Tally::new();
static RECODED: Tally = Tally::new();
static ASKED: Tally = Tally::new();

proptest! {
    #![proptest_config(config(1500))]

    fn check_any_release(sizes in sizes(), method in any_method()) {
        let folder = folder();
        let case = Case::draw(method, sizes, folder.path());
        done(&case.job)?;
        check_releases(&case, &CHECKED);
    }
}

proptest! {
    #![proptest_config(config(400))]

    fn ask_any_release(sizes in sizes(), method in any_method()) {
        let folder = folder();
        let case = Case::draw(method, sizes, folder.path());
        let report = done(&case.job)?;
        let mut dice = Dice::new(!sizes.0);
        let asks: Vec<Ask> = (0..12).map(|_| Ask::draw(&case, &mut dice)).collect();
        for (path, _) in releases(&case.job) {
            let with_codebook = dice.chance(0.7);
            ASKED.count(if with_codebook { "with a codebook" } else { "without" });
            for ask in &asks {
                let found = match ask.answered(&path, with_codebook) {
                    Ok(found) => found,
                    // Without a codebook nothing tells what places are of; the first letters of
                    // numbers never tell their order.
                    Err(error) => {
                        let is_known = ["order that nothing tells", "do not tell the order"];
                        prop_assert!(is_known.iter().any(|own| error.contains(own)), "{}", error);
                        ASKED.count("refused");
                        continue;
                    }
                };
                prop_assert_eq!(found.rows, report.rows);
                let answer = &found.answers[0];
                let truth = ask.n_rows(case.n_rows);
                let told = format!("{method}, {}: {truth} in {answer:?}", ask.text);
                prop_assert!(answer.lower <= truth, "{}", told);
                prop_assert!(truth <= answer.upper + report.suppressed, "{}", told);
                prop_assert!(answer.lower <= answer.upper, "{}", told);
                prop_assert!(answer.upper <= answer.overlap, "{}", told);
                prop_assert!(answer.estimate >= answer.lower as f64 - 1e-6, "{}", told);
                prop_assert!(answer.estimate <= answer.upper as f64 + 1e-6, "{}", told);
                ASKED.count(method.name());
                if answer.upper < answer.overlap {
                    ASKED.count("bounded by known values");
                }
                if ask.is_carried {
                    ASKED.count("on a carried column");
                }
            }
        }
    }
}

#[test]
fn what_any_release_answers_bounds_what_its_table_says() {
    ask_any_release();
    let kinds = ["bounded by known values", "on a carried column", "with a codebook", "without"];
    ASKED.assert_at_least(n_cases(400) / 40, &kinds);
    ASKED.assert_at_least(n_cases(400) / 40, &["refused", "bang", "local", "incognito"]);
}

proptest! {
    #![proptest_config(config(600))]

    fn repeat_any_release(sizes in sizes(), method in any_method()) {
        let folder = folder();
        let case = Case::draw(method, sizes, folder.path());
        let report = done(&case.job)?;
        REPEATED.count(method.name());
        if report.suppressed > 0 {
            REPEATED.count("rows left out");
        }
        if !report.also.is_empty() {
            REPEATED.count("several releases");
        }
        let on_more = Job {
            threads: Some(case.job.threads.unwrap_or(0) % 3 + 1),
            ..renamed(&case.job, "on-more-threads")
        };
        let report_on_more = done(&on_more)?;
        prop_assert!(bytes_of(&case.job) == bytes_of(&on_more), "threads change the release");
        prop_assert_eq!(report.loss, report_on_more.loss);
        prop_assert_eq!(report.table_loss, report_on_more.table_loss);
        let mut order: Vec<usize> = (0..case.n_rows).collect();
        Dice::new(sizes.0).shuffle(&mut order);
        case.write_table(order);
        let shuffled = renamed(&case.job, "shuffled");
        done(&shuffled)?;
        prop_assert!(bytes_of(&case.job) == bytes_of(&shuffled), "row order changes the release");
    }
}

proptest! {
    #![proptest_config(config(150))]

    fn run_full_domain_outside(
        sizes in large_sizes(),
        method in prop::sample::select(&FULL_DOMAIN_METHODS)
    ) {
        let folder = folder();
        let mut case = Case::draw(method, sizes, folder.path());
        let in_memory = case.job.clone();
        let report = done(&in_memory)?;
        prop_assert_eq!(report.spilled_bytes, 0);
        case.job = renamed(&in_memory, "outside");
        let outside = in_least_memory(&mut case.job)?;
        prop_assert!(bytes_of(&in_memory) == bytes_of(&case.job), "memory changes the release");
        prop_assert_eq!(report.generalization, outside.generalization);
        prop_assert_eq!(report.suppressed, outside.suppressed);
        check_releases(&case, &OUTSIDE);
        if outside.spilled_bytes > 0 {
            OUTSIDE.count("spilled");
            OUTSIDE.count(format!("spilled by {method}"));
            if outside.suppressed > 0 {
                OUTSIDE.count("spilled, rows left out");
            }
        }
    }
}

proptest! {
    #![proptest_config(config(260))]

    fn run_index_outside(
        sizes in prop_oneof![1 => sizes(), 2 => large_sizes()],
        method in prop::sample::select(&[Method::Auto, Method::Rtree, Method::Bang])
    ) {
        let folder = folder();
        let mut case = Case::draw(method, sizes, folder.path());
        // Some hundred rows are then too many to be cut at once.
        case.job.least_memory = Some("64KB".parse().expect("a size"));
        let report = in_least_memory(&mut case.job)?;
        if report.spilled_bytes > 0 {
            INDEXED.count("spilled");
            INDEXED.count(format!("spilled by {method}"));
            if !report.also.is_empty() {
                INDEXED.count("spilled, several releases");
            }
        }
        check_releases(&case, &INDEXED);
        let found = bytes_of(&case.job);
        let roomy = Job { memory: None, ..renamed(&case.job, "roomy") };
        if done(&roomy)?.ran.starts_with("mondrian") {
            INDEXED.count("compared with a table in memory");
        }
        prop_assert!(bytes_of(&roomy) == found, "memory changes the release");
        // Parts of an index with coarser releases must not show the same, as labels may.
        let has_labels = case.with_role(Role::Quasi).any(|column| column.shown == Shown::Label);
        if !report.also.is_empty() && !has_labels {
            INDEXED.count("compared with the finest alone");
            let (also_k, granularity, fan_out, memory) = (Vec::new(), None, None, None);
            let alone = renamed(&case.job, "alone");
            let alone = Job { also_k, granularity, fan_out, memory, ..alone };
            done(&alone)?;
            // A file of which coarser releases have no levels shows none in the finest.
            let header = oracle::files::read(&releases(&case.job)[0].0).header;
            let keeps_levels = case.job.nesting == Some(false)
                || case.level_column(&header).is_some_and(|name| header.iter().any(|own| own == name));
            // What stays must be enough for the coarsest release, so that it has a say in who is
            // left out.
            let leaves_out = case.max_left_out() > 0;
            if !leaves_out && (method != Method::Bang || keeps_levels) {
                prop_assert!(bytes_of(&alone)[0] == found[0], "coarser releases change the finest");
            }
        }
        let mut order: Vec<usize> = (0..case.n_rows).collect();
        Dice::new(sizes.0).shuffle(&mut order);
        case.write_table(order);
        let shuffled = Job { threads: Some(1), ..renamed(&case.job, "shuffled") };
        done(&shuffled)?;
        prop_assert!(bytes_of(&shuffled) == found, "row order changes a release outside memory");
        done(&Job { threads: Some(3), ..roomy.clone() })?;
        prop_assert!(bytes_of(&roomy) == found, "row order changes a release in memory");
    }
}

/// A job of one release that keeps its model, and the recoding of its table.
fn with_model(case: &mut Case, folder: &Path) -> RecodeJob {
    let own = folder.join("own");
    std::fs::create_dir(&own).expect("a folder");
    case.job.also_k.clear();
    (case.job.granularity, case.job.fan_out) = (None, None);
    case.job.model = Some(own.join("model"));
    let accept = accept::all();
    let Job { input, force, threads, .. } = case.job.clone();
    let Job { output, owner_report, .. } = renamed(&case.job, "recoded");
    let job = Job { input, output, owner_report, force, threads, accept, ..Job::default() };
    RecodeJob { model: own.join("model"), job, ..RecodeJob::default() }
}

fn any_cuts() -> impl Strategy<Value = Method> {
    prop::sample::select(&[Method::Auto, Method::Mondrian, Method::Rtree][..])
}

proptest! {
    #![proptest_config(config(300))]

    fn recode_its_own_rows(sizes in sizes(), method in any_cuts(), least in any::<bool>()) {
        let folder = folder();
        let mut case = Case::draw(method, sizes, folder.path());
        // A recoding function knows no rows that are left out.
        case.job.suppress = None;
        let again = with_model(&mut case, folder.path());
        let plain = Job { model: None, ..renamed(&case.job, "plain") };
        if least {
            case.job.least_memory = Some("64KB".parse().expect("a size"));
        }
        let plain = Job { least_memory: case.job.least_memory, ..plain };
        // A model is of one way to cut; where the job says which, there is no effort to be given.
        let one_way = Job { effort: Some(Effort::Fast), ..plain.clone() };
        match anonymize_files(&one_way, &Silent) {
            Err(error) if error.kind() == ErrorKind::Usage => done(&plain).map(drop)?,
            outcome => prop_assert!(outcome.is_ok(), "a feasible job fails"),
        }
        let report = done(&case.job)?;
        prop_assert!(bytes_of(&plain) == bytes_of(&case.job), "a model changes the release");
        let mut order: Vec<usize> = (0..case.n_rows).collect();
        Dice::new(sizes.0).shuffle(&mut order);
        case.write_table(order);
        let failed = |error: Error| TestCaseError::fail(format!("no recoding: {error}"));
        let recoded = recode_files(&again, &Silent).map_err(failed)?;
        let again = bytes_of(&Job { k: Some(1), ..again.job.clone() });
        prop_assert!(bytes_of(&case.job) == again, "the same rows come to another release");
        let is_second = |own: &albers::Finding| own.name == FindingName::SecondRelease;
        prop_assert!(!recoded.findings.iter().any(is_second), "the same rows are a second release");
        prop_assert_eq!(recoded.loss, report.loss);
        prop_assert_eq!(recoded.table_loss.ncp, report.table_loss.ncp);
    }

    fn recode_other_rows(sizes in sizes(), method in any_cuts()) {
        let folder = folder();
        let mut case = Case::draw(method, sizes, folder.path());
        for secret in &mut case.secrets {
            let column = &case.columns[secret.column];
            // Whether a value is missing decides what is close, and not all rows are published.
            secret.asked.t = secret.asked.t.filter(|_| !column.has_missing);
            secret.asked.write(case.job.column(&column.name));
        }
        case.job.suppress = None;
        let later = with_model(&mut case, folder.path());
        let mut dice = Dice::new(!sizes.0);
        let known: Vec<usize> = (0..case.n_rows).filter(|_| dice.chance(0.7)).collect();
        case.write_table(known);
        if anonymize_files(&case.job, &Silent).is_err() {
            RECODED.count("a part is refused");
            return Ok(());
        }
        case.write_table((0..case.n_rows).collect());
        match recode_files(&later, &Silent) {
            Err(error) if error.kind() == ErrorKind::Requirement => RECODED.count("nothing left"),
            Err(error) => prop_assert!(false, "no recoding: {error}"),
            Ok(report) => {
                RECODED.count("recoded");
                case.job.output = later.job.output.clone();
                case.job.suppress = Some(1.0);
                if report.notes.iter().any(|note| note.to_string().contains("does not know")) {
                    RECODED.count("values outside");
                }
                check_recoded(&case, &RECODED);
            }
        }
    }
}

#[test]
fn the_rows_of_a_model_give_their_release_again() {
    recode_its_own_rows();
}

#[test]
fn recoded_releases_satisfy_and_cover_as_brute_force_says() {
    recode_other_rows();
    let n_cases = n_cases(300);
    RECODED.assert_at_least(n_cases / 3, &["recoded"]);
    RECODED.assert_at_least(n_cases / 10, &["rows left out", "values outside"]);
    RECODED.assert_at_least(n_cases / 100, &["rows left out under t-closeness"]);
}

#[test]
fn every_release_satisfies_covers_and_is_measured_as_brute_force_says() {
    check_any_release();
    let n_cases = n_cases(1500);
    CHECKED.assert_at_least(n_cases / 100, Method::ALL);
    let often = ["rows may be left out", "rows left out", "releases intersected"];
    CHECKED.assert_at_least(n_cases / 100, &often);
    CHECKED.assert_at_least(n_cases / 4, &["divergence recomputed"]);
    CHECKED.assert_at_least(n_cases / 1000, &["rows left out under t-closeness"]);
    CHECKED.assert_at_least(n_cases / 200, &["nested classes looked up"]);
    for method in Method::ALL.iter().filter(|method| can_leave_out(**method)) {
        CHECKED.assert_at_least(n_cases / 1500, &[format!("rows left out by {method}")]);
    }
    for granularity in OF_TREES {
        let kind = format!("several releases by {granularity}");
        CHECKED.assert_at_least(n_cases / 100, &[kind]);
    }
}

#[test]
fn a_release_depends_neither_on_the_threads_nor_on_the_order_of_the_input() {
    repeat_any_release();
    let n_cases = n_cases(600);
    REPEATED.assert_at_least(n_cases / 200, Method::ALL);
    REPEATED.assert_at_least(n_cases / 60, &["rows left out", "several releases"]);
}

#[test]
fn full_domain_jobs_outside_memory_publish_what_they_publish_in_memory() {
    run_full_domain_outside();
    let n_cases = n_cases(150);
    OUTSIDE.assert_at_least(n_cases / 4, &["spilled"]);
    OUTSIDE.assert_at_least(n_cases / 40, &["spilled, rows left out"]);
    for method in FULL_DOMAIN_METHODS {
        OUTSIDE.assert_at_least(n_cases / 20, &[format!("spilled by {method}")]);
    }
}

#[test]
fn a_release_is_the_same_in_any_memory_and_any_order() {
    run_index_outside();
    let n_cases = n_cases(260);
    INDEXED.assert_at_least(n_cases / 10, &[Method::Auto, Method::Rtree, Method::Bang]);
    INDEXED.assert_at_least(n_cases / 20, &["spilled by bang"]);
    INDEXED.assert_at_least(n_cases / 6, &["spilled"]);
    INDEXED.assert_at_least(n_cases / 20, &["compared with a table in memory"]);
    INDEXED.assert_at_least(n_cases / 60, &["spilled, several releases"]);
    INDEXED.assert_at_least(n_cases / 60, &["compared with the finest alone"]);
    for granularity in OF_TREES {
        let kind = format!("several releases by {granularity}");
        INDEXED.assert_at_least(n_cases / 150, &[kind]);
    }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn an_index_in_memory_publishes_what_mondrian_publishes(sizes in sizes()) {
        let folder = folder();
        let case = Case::draw(Method::Mondrian, sizes, folder.path());
        done(&case.job)?;
        let indexed = Job { method: Some(Method::Rtree), ..renamed(&case.job, "indexed") };
        done(&indexed)?;
        prop_assert!(bytes_of(&case.job) == bytes_of(&indexed), "the releases differ");
    }

    #[test]
    fn what_even_the_whole_table_misses_is_refused_and_nothing_is_written(
        sizes in sizes(),
        method in any_method()
    ) {
        let folder = folder();
        let mut case = Case::draw(method, sizes, folder.path());
        // What the whole table misses, a part of it may reach.
        case.job.suppress = None;
        ask_too_much(&mut case, &mut Dice::new(!sizes.0));
        let before = files_in(folder.path());
        match anonymize_files(&case.job, &Silent) {
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
    let mut job = Job { input: Some(input), k: Some(2), accept: accept::all(), ..Job::default() };
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
        job.column("pay").l_diversity = Some("distinct:2".parse().expect("a diversity"));
        job.column("pay").t_closeness = Some(0.2);
        let report = anonymize_files(&job, &Silent).unwrap();
        assert!(report.classes > 1, "cut where values alternate");
    }
}

/// A value that is missing only in rows that are left out is any value, where any value is shown.
#[test]
fn a_label_for_everything_hides_what_only_rows_left_out_miss() {
    let folder = folder();
    let case = Case::draw(Method::Subtree, (12_563_750_458_165_876_713, 6, 5), folder.path());
    done(&case.job).expect("a release");
    check_releases(&case, &Tally::new());
}
