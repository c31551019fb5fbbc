//! What the program publishes, job by job: hundreds of jobs whose releases, manifests and exit
//! codes are pinned in `pinned/jobs.json`.
//!
//! The jobs are drawn so that every two choices that fit meet in one of them (`pinned/factors.rs`),
//! or written down (`pinned/listed.rs`), or mistakes (`pinned/mistakes.rs`). Releases are compared
//! by the SHA-256 of their bytes, manifests field by field, losses to 12 significant digits. The
//! words of a refusal are not pinned.
//!
//! A job is memory dependent if it comes to something else in another budget: a part of the tree
//! was divided, `auto` took the index, or a divergence was reckoned over fewer values. It is
//! compared by its rows, its columns, its requirement, its loss to 0.5 %, and the files whose bytes
//! are the same in all budgets. Which jobs these are is found out when they are renewed: every job
//! with a budget is also run with one and a half times, three times and ample memory.
//!
//! Whoever changes releases on purpose renews what is pinned in the same commit, and says why in
//! the changelog:
//!
//! ```sh
//! ALBERS_RENEW_PINNED=1 cargo test -p albers-cli --test pinned
//! ```
//!
//! With `ALBERS_PROGRAM=/path/to/albers` another program than the one just built is held against
//! what is pinned, or renews it.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

mod pinned {
    pub mod cells;
    pub mod compare;
    pub mod factors;
    pub mod listed;
    pub mod mistakes;
    pub mod outcome;
    pub mod pairs;
    pub mod record;
    pub mod tables;
    pub mod words;
}

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::Folder;
use pinned::compare::{differences, files};
use pinned::factors::{arguments, factors};
use pinned::outcome::{Outcome, Program};
use pinned::pairs::{apart, draws};
use pinned::record::{Pinned, Record, with_digests};
use pinned::{listed, mistakes, tables};

/// Jobs that run at the same time.
const N_THREADS: usize = 2;
/// Memory in which every job has room.
const AMPLE: &str = "500MB";

/// A job by its arguments, and what is known of it before it runs.
struct Job {
    arguments: String,
    is_mistake: bool,
}

/// All jobs, in the order in which they are pinned.
fn all_jobs() -> Vec<Job> {
    let factors = factors();
    let drawn = draws(&factors);
    let drawn = drawn.iter().map(|draw| arguments(&factors, draw));
    let good = drawn.chain(listed::jobs()).map(|arguments| Job { arguments, is_mistake: false });
    good.chain(mistakes::jobs().map(|arguments| Job { arguments, is_mistake: true })).collect()
}

#[test]
fn every_two_choices_that_fit_meet_in_a_job() {
    let factors = factors();
    let drawn = draws(&factors);
    let (missing, n_met) = apart(&factors, &drawn);
    assert!(missing.is_empty(), "these never meet: {}", missing.join("\n"));
    assert!(n_met > 3_500, "only {n_met} pairs of choices are there to meet");
}

#[test]
fn no_job_is_pinned_twice() {
    let mut seen = std::collections::BTreeSet::new();
    let twice = all_jobs().into_iter().find(|job| !seen.insert(job.arguments.clone()));
    assert!(twice.is_none(), "{}", twice.unwrap().arguments);
}

#[test]
fn jobs_come_to_what_is_pinned() {
    let folder = Folder::new();
    let program = Program::new(&folder.path(""));
    tables::make(&program.path, &program.tables);
    let made = tables::digests(&program.tables);
    let jobs = all_jobs();
    let outcomes = on_threads(&jobs, |job| program.run(&job.arguments));
    assert!(tables::digests(&program.tables) == made, "a job changed a table");
    let is_renewed = std::env::var_os("ALBERS_RENEW_PINNED").is_some();
    if !is_renewed {
        check_pinned(&Record::read(), &made, &jobs, &outcomes);
    }
    check_kinds(&jobs, &outcomes);
    check_counts(&jobs, &outcomes);
    if is_renewed {
        renew(&program, &made, &jobs, &outcomes);
    }
}

/// Does something with every job, in any order.
fn on_threads<J: Sync, T: Send>(jobs: &[J], work: impl Fn(&J) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let one_thread = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(at) else { return done };
            done.push((at, work(job)));
        }
    };
    let mut done: Vec<(usize, T)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..N_THREADS).map(|_| scope.spawn(one_thread)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, own)| own).collect()
}

/// Mistakes are refused, and nothing else is.
fn check_kinds(jobs: &[Job], outcomes: &[Outcome]) {
    let wrong = jobs.iter().zip(outcomes).filter_map(|(job, outcome)| {
        let is_as_expected = match job.is_mistake {
            true => matches!(outcome.exit, Some(1 | 2)),
            false => outcome.exit == Some(0),
        };
        let faults = &outcome.faults;
        let is_fine = is_as_expected && faults.is_empty();
        (!is_fine).then(|| format!("{}\n    {} {faults:?}", job.arguments, outcome.said))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} jobs end as they should not:\n{}", wrong.len(), wrong.join("\n"));
}

/// The methods, and how many jobs of each publish at least.
const METHODS: [(&str, usize); 20] = [
    ("auto", 50),
    ("mondrian", 20),
    ("rtree", 30),
    ("incognito", 45),
    ("samarati", 10),
    ("bottom-up", 20),
    ("attribute-suppression", 10),
    ("subtree", 10),
    ("ordered-set", 10),
    ("tds", 5),
    ("local", 10),
    ("bang", 6),
    ("bd-tree", 2),
    ("hb-tree", 2),
    ("kd-trie", 2),
    ("kd-b-trie", 1),
    ("pr-quadtree", 1),
    ("grid-file", 1),
    ("grid", 4),
    ("compact", 12),
];

/// Jobs that publish nothing, or never spill, would agree with anything.
fn check_counts(jobs: &[Job], outcomes: &[Outcome]) {
    let mut n_by_method: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut n_published, mut n_refused, mut n_spilled) = (0, 0, 0);
    for (job, outcome) in jobs.iter().zip(outcomes) {
        n_refused += usize::from(outcome.exit != Some(0));
        n_spilled += usize::from(outcome.spilled_bytes > 0);
        if !outcome.files.is_empty() {
            n_published += 1;
            *n_by_method.entry(method_of(&job.arguments)).or_default() += 1;
        }
    }
    for (method, n_least) in METHODS {
        let n = n_by_method.get(method).copied().unwrap_or(0);
        assert!(n >= n_least, "{method} published {n} times: {n_by_method:?}");
    }
    assert!(n_published >= 260, "{n_published} jobs published");
    assert!(n_refused >= 100, "{n_refused} jobs were refused");
    assert!(n_spilled >= 40, "{n_spilled} jobs spilled");
}

/// The method that a job asks for, or the command that has none.
fn method_of(arguments: &str) -> &str {
    let mut words = arguments.split(' ');
    match words.next() {
        Some("anonymize") => words.skip_while(|word| *word != "--method").nth(1).unwrap_or("auto"),
        other => other.unwrap_or_default(),
    }
}

/// Tells every job that differs, and in what.
fn check_pinned(
    record: &Record,
    made: &BTreeMap<String, String>,
    jobs: &[Job],
    outcomes: &[Outcome],
) {
    let mut differ = Vec::new();
    files(&record.tables, made, &mut differ);
    let pinned = record.jobs.iter().map(|job| (job.arguments.as_str(), job));
    let mut pinned: BTreeMap<&str, &Pinned> = pinned.collect();
    for (Job { arguments, .. }, outcome) in jobs.iter().zip(outcomes) {
        let own = match pinned.remove(arguments.as_str()) {
            Some(expected) => differences(expected, outcome),
            None => vec!["not pinned yet".to_owned()],
        };
        if !own.is_empty() {
            differ.push(format!("{arguments}\n    {}", own.join("\n    ")));
        }
    }
    differ.extend(pinned.keys().map(|arguments| format!("{arguments}\n    not drawn any more")));
    let n_jobs = jobs.len();
    assert!(differ.is_empty(), "{} of {n_jobs} jobs differ:\n{}", differ.len(), differ.join("\n"));
}

/// Pins what the jobs came to.
fn renew(program: &Program, tables: &BTreeMap<String, String>, jobs: &[Job], outcomes: &[Outcome]) {
    let both: Vec<(&Job, &Outcome)> = jobs.iter().zip(outcomes).collect();
    let pinned = on_threads(&both, |(job, outcome)| {
        let budgets = if job.is_mistake { Vec::new() } else { other_budgets(&job.arguments) };
        let others: Vec<Outcome> = budgets.iter().map(|budget| program.run(budget)).collect();
        let differ = |pinned: &Pinned| -> Vec<String> {
            others.iter().flat_map(|other| differences(pinned, other)).collect()
        };
        let exact = Pinned::of(&job.arguments, outcome);
        match differ(&exact).is_empty() {
            true => (exact, Vec::new()),
            false => {
                let rough = exact.memory_dependent();
                let differ = differ(&rough);
                (rough, differ)
            }
        }
    });
    // What is pinned must be true of other budgets too, or it is an accident of one.
    let wrong = pinned.iter().filter(|(_, differ)| !differ.is_empty());
    let wrong =
        wrong.map(|(job, differ)| format!("{}\n    {}", job.arguments, differ.join("\n    ")));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "choose another budget:\n{}", wrong.join("\n"));
    let jobs = pinned.into_iter().map(|(job, _)| job).collect();
    Record { tables: with_digests(tables), jobs }.write();
}

/// The same job with more memory, if it says how much it has.
fn other_budgets(arguments: &str) -> Vec<String> {
    let Some((before, rest)) = arguments.split_once("--memory ") else { return Vec::new() };
    let (budget, after) = rest.split_once(' ').unwrap_or((rest, ""));
    let (number, unit) = budget.split_at(budget.len() - 2);
    let number: f64 = number.parse().expect("budgets are whole KB or MB");
    let more = [1.5, 3.0].map(|times| format!("{}{unit}", number * times));
    let budgets = more.into_iter().chain([AMPLE.to_owned()]);
    budgets.map(|budget| format!("{before}--memory {budget} {after}")).collect()
}
