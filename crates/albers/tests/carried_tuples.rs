//! The attack of somebody who knows everybody's quasi-identifiers, and looks at what is published
//! beside the rows to learn who has which secret.
//!
//! ```text
//!   table a   rows of a class:  1 flu   2 hiv   3 flu ──┐ the same release
//!                                                       ├──► the same bytes in all files
//!   table b   the same class:   1 flu   2 flu   3 hiv ──┘
//! ```
//!
//! All that rows carry is exchanged together, sensitive and kept cells. Which cuts are made may
//! depend on secrets where rules look at them; where the release is another one, nothing is claimed.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod accept;

use std::collections::BTreeMap;

use albers::sink::FileSink;
use albers::source::{ReadOptions, StreamSource};
use albers::{Choice, Job, Method, Role, Silent, Split, Values, anonymize};

/// Numbers that look random, by a seed.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % end
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end as u64 + 1) as usize);
        }
    }
}

/// A row: what others know, and what it carries. The notes of all rows differ.
#[derive(Clone)]
struct Row {
    quasi: String,
    carried: String,
}

fn rows(draws: &mut Draws) -> Vec<Row> {
    let row = |at: u64| {
        // Few enough values that some people have the same.
        let (age, zip) = (20 + draws.below(12), 1000 + draws.below(4) * 11);
        let city = ["Aachen", "Bonn", "Celle"][draws.below(3) as usize];
        let ill = ["asthma", "cough", "flu", "hiv"][draws.below(4) as usize];
        Row { quasi: format!("{age},0{zip},{city}"), carried: format!("{ill},note {at}") }
    };
    (0..80).map(row).collect()
}

fn job(method: Method, rule: &str, draws: &mut Draws) -> Job {
    let mut job = Job {
        k: Some(4),
        method: Some(method),
        threads: Some(1),
        accept: accept::all(),
        ..Job::default()
    };
    job.values = Some(Values::Interval);
    job.seed = Some(draws.below(3));
    for (name, hierarchy) in [("age", "ranges:5,20"), ("zip", "prefix"), ("city", "suppress")] {
        job.set_role(name, Role::Quasi).unwrap();
        let climbs = match method {
            Method::OrderedSet => false,
            Method::Auto
            | Method::Mondrian
            | Method::Rtree
            | Method::Tds
            | Method::Local
            | Method::Bang
            | Method::Grid
            | Method::BdTree
            | Method::HbTree
            | Method::KdTrie
            | Method::KdBTrie
            | Method::PrQuadtree
            | Method::GridFile => name == "zip" && draws.below(2) == 0,
            _ => true,
        };
        job.column(name).hierarchy = climbs.then(|| hierarchy.parse().unwrap());
    }
    let leaves_out = match method {
        Method::Auto
        | Method::Mondrian
        | Method::Rtree
        | Method::Tds
        | Method::Local
        | Method::Bang
        | Method::BdTree
        | Method::HbTree
        | Method::KdTrie
        | Method::KdBTrie
        | Method::PrQuadtree
        | Method::GridFile
        | Method::Grid => false,
        // Recodings that leave rows out do not know what the others are close to.
        Method::Subtree | Method::OrderedSet => rule != "closeness",
        _ => true,
    };
    job.suppress = leaves_out.then_some(0.2);
    if method == Method::Tds {
        // A target that others know, so that nothing that is carried has a say.
        job.workload.targets = vec!["city".parse().unwrap()];
    }
    job.set_role("ill", Role::Sensitive).unwrap();
    job.set_role("note", Role::Keep).unwrap();
    let ill = job.column("ill");
    match rule {
        "distinct" => ill.l_diversity = Some("distinct:2".parse().unwrap()),
        "entropy" => ill.l_diversity = Some("entropy:1.6".parse().unwrap()),
        "recursive" => ill.l_diversity = Some("recursive:4,2".parse().unwrap()),
        "closeness" => ill.t_closeness = Some(0.6),
        "alpha" => ill.alpha = Some(0.75),
        _ => {}
    }
    job
}

/// The bytes of a release, and of what stands beside it: its manifest and its codebook.
fn published(job: &Job, rows: &[Row]) -> Option<(String, String)> {
    let lines = rows.iter().map(|row| format!("{},{}\n", row.quasi, row.carried));
    let text = format!("age,zip,city,ill,note\n{}", lines.collect::<String>());
    let reader = Box::new(std::io::Cursor::new(text.into_bytes()));
    let source = StreamSource::text(reader, "a pipe", None, &ReadOptions::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (output, manifest) = (folder.path().join("release.tsv"), folder.path().join("m.json"));
    let codebooks = albers::files::codebook_paths(&output);
    let sink = FileSink::new(&output, None, Some(manifest.clone())).unwrap();
    let sink = sink.with_texts(&codebooks);
    anonymize(job, &source, vec![Box::new(sink)], &Silent).ok()?;
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
    let beside = codebooks.iter().map(|path| read(path)).collect::<String>();
    assert!(beside.contains("# How to read `release.tsv`") && beside.contains("\"codebook\": 1"));
    Some((read(&output), read(&manifest) + &beside))
}

/// What the rows of a release show of the quasi-identifiers, and of levels, in their order.
fn shown(release: &str) -> Vec<Vec<&str>> {
    release.lines().map(|line| shown_and_carried(line).0).collect()
}

/// What a row shows, and the note that it carries behind its illness.
fn shown_and_carried(line: &str) -> (Vec<&str>, &str) {
    let mut cells: Vec<&str> = line.split('\t').collect();
    let note = cells.pop().unwrap();
    cells.pop();
    (cells, note)
}

/// The rows of each class of a release, as numbers of rows of the table.
fn classes(release: &str, rows: &[Row]) -> Vec<Vec<usize>> {
    let row_of: BTreeMap<&str, usize> =
        rows.iter().enumerate().map(|(at, row)| (note_of(&row.carried), at)).collect();
    let mut classes: BTreeMap<Vec<&str>, Vec<usize>> = BTreeMap::new();
    for line in release.lines().skip(1) {
        let (shown, note) = shown_and_carried(line);
        classes.entry(shown).or_default().push(row_of[note]);
    }
    classes.into_values().collect()
}

fn note_of(carried: &str) -> &str {
    carried.split_once(',').unwrap().1
}

/// The same rows, with what these carry in another order.
fn exchanged(rows: &[Row], among: &[usize], draws: &mut Draws) -> Vec<Row> {
    let mut from = among.to_vec();
    draws.shuffle(&mut from);
    let mut exchanged = rows.to_vec();
    for (&to, &from) in among.iter().zip(&from) {
        exchanged[to].carried = rows[from].carried.clone();
    }
    exchanged
}

const RULES: [&str; 6] = ["rows", "distinct", "entropy", "recursive", "closeness", "alpha"];
const N_CASES: u64 = 24;

/// Pairs of one method and one rule that must publish the same, so that something is tried.
const LEAST_SAME: u64 = 4;

#[test]
fn what_is_published_does_not_tell_who_of_a_class_has_which_secret() {
    for method in Method::ALL {
        for rule in RULES {
            let mut n_same = 0;
            for case in 0..N_CASES {
                let mut draws = Draws(case * 1_000_003 + 29);
                let table = rows(&mut draws);
                let job = job(*method, rule, &mut draws);
                let Some((release, manifest)) = published(&job, &table) else { continue };
                let within = classes(&release, &table)
                    .iter()
                    .fold(table.clone(), |rows, class| exchanged(&rows, class, &mut draws));
                let Some((release_within, manifest_within)) = published(&job, &within) else {
                    assert_ne!(rule, "rows", "{method}: secrets decide whether rows are published");
                    continue;
                };
                if rule == "rows" {
                    // Nor is which of two people with equal quasi-identifiers is where.
                    assert!(release == release_within, "{method}, case {case}: other rows");
                }
                if release == release_within {
                    n_same += 1;
                    assert!(manifest == manifest_within, "{method}, {rule}, case {case}");
                }
            }
            assert!(n_same >= LEAST_SAME, "{method}, {rule}: only {n_same} releases are the same");
        }
    }
}

#[test]
fn with_a_requirement_on_rows_alone_nothing_that_is_carried_changes_a_cell_or_a_size() {
    for method in Method::ALL {
        for case in 0..N_CASES {
            let mut draws = Draws(case * 1_000_003 + 31);
            let table = rows(&mut draws);
            let job = job(*method, "rows", &mut draws);
            let Some((release, _)) = published(&job, &table) else { continue };
            let all: Vec<usize> = (0..table.len()).collect();
            let over_all = exchanged(&table, &all, &mut draws);
            let (release_of_all, _) = published(&job, &over_all).unwrap();
            assert!(shown(&release) == shown(&release_of_all), "{method}, case {case}");
            let is_one_class = shown(&release)[1..].windows(2).all(|pair| pair[0] == pair[1]);
            assert!(is_one_class || release != release_of_all, "something was exchanged");
        }
    }
}

/// Lets cuts follow what others know: a target that is a quasi-identifier, or a selection.
fn follow_quasi(job: &mut Job, case: u64) {
    match case % 2 {
        0 => {
            job.split = Some(Split::InfoGain);
            job.workload.targets = vec!["city".parse().unwrap()];
        }
        _ => {
            job.split = Some(Split::Selection);
            job.workload.select = vec!["age >= 26 and city <> 'Bonn'".parse().unwrap()];
        }
    }
}

const CUTS: [Method; 3] = [Method::Auto, Method::Mondrian, Method::Rtree];

#[test]
fn cuts_for_what_others_know_do_not_look_at_what_is_carried() {
    for method in CUTS {
        for case in 0..N_CASES {
            let mut draws = Draws(case * 1_000_003 + 37);
            let table = rows(&mut draws);
            let mut job = job(method, "rows", &mut draws);
            let plain = published(&job, &table).unwrap();
            follow_quasi(&mut job, case);
            let (release, _) = published(&job, &table).unwrap();
            assert!(case > 3 || release != plain.0, "the workload has a say");
            let all: Vec<usize> = (0..table.len()).collect();
            let over_all = exchanged(&table, &all, &mut draws);
            let (release_of_all, _) = published(&job, &over_all).unwrap();
            assert!(shown(&release) == shown(&release_of_all), "{method}, case {case}");
        }
    }
}

/// A carried target steers the cuts, so that the release may be another one; where it is not, nothing
/// beside it is.
#[test]
fn what_is_published_for_a_secret_target_does_not_tell_who_of_a_class_has_which_secret() {
    for rule in ["distinct", "entropy", "recursive", "alpha"] {
        let mut n_same = 0;
        for case in 0..2 * N_CASES {
            let mut draws = Draws(case * 1_000_003 + 41);
            let table = rows(&mut draws);
            let mut job = job(CUTS[case as usize % 3], rule, &mut draws);
            job.split = Some(Split::InfoGain);
            job.workload.targets = vec!["ill".parse().unwrap()];
            let Some((release, manifest)) = published(&job, &table) else { continue };
            // Two rows of one class exchange what they carry: most cuts stay.
            let class = classes(&release, &table).swap_remove(0);
            let within = exchanged(&table, &class[..2], &mut draws);
            let Some((release_within, manifest_within)) = published(&job, &within) else {
                continue;
            };
            if release == release_within {
                n_same += 1;
                assert!(manifest == manifest_within, "{rule}, case {case}");
            }
        }
        assert!(n_same >= LEAST_SAME, "{rule}: only {n_same} releases are the same");
    }
}
