//! Answers against brute force over rows.

use std::fmt::Write as _;
use std::io::Cursor;

use albers_release::CellContent;
use albers_storage::choice::Choice as _;
use albers_storage::watch::Silent;
use albers_table::code::Code;
use albers_table::hierarchy::HierarchySpec;
use albers_table::schema::Role;
use albers_table::sink::BatchSink;
use albers_table::source::{BatchSource, ReadOptions, StreamSource};
use proptest::prelude::*;

use super::super::{Sides, looked_at, query_answers};
use super::draw::Between;
use super::*;
use crate::anonymize::anonymize;
use crate::finding::{Acceptance, FindingName};
use crate::job::{Categories, Job, Method};

/// Age, trade, zip and score; nothing where a cell is missing.
type Row = (Option<u8>, Option<u8>, u8, Option<i32>);

const QUASI: [&str; 4] = ["age", "trade", "zip", "score"];

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (
        prop::option::weighted(0.9, 20u8..60),
        prop::option::weighted(0.9, 0u8..6),
        0u8..27,
        prop::option::weighted(0.9, -3..4i32),
    );
    prop::collection::vec(row, 12..80)
}

fn text_of(rows: &[(usize, Row)]) -> String {
    fn cell<T: ToString>(value: Option<T>) -> String {
        value.map_or(String::new(), |own| own.to_string())
    }
    let mut text = "id,age,trade,zip,score\n".to_owned();
    for (id, (age, trade, zip, score)) in rows {
        let trade = trade.map(|own| char::from(b'p' + own));
        let zip = format!("z{}{}{}", zip / 9, zip / 3 % 3, zip % 3);
        // Numbers that lie far apart.
        let score = score.map(|own| f64::from(own) * 10f64.powi(own.abs() * 3) + 0.5);
        writeln!(text, "{id},{},{},{zip},{}", cell(*age), cell(trade), cell(score)).unwrap();
    }
    text
}

fn source(text: &str) -> StreamSource {
    let reader = Box::new(Cursor::new(text.to_owned().into_bytes()));
    StreamSource::text(reader, "a table", None, &ReadOptions::default()).unwrap()
}

/// How a table is released.
#[derive(Debug, Clone, Copy)]
enum Way {
    Sets,
    Labels,
    Regions,
    FullDomain,
    Nested,
}

const WAYS: [Way; 5] = [Way::Sets, Way::Labels, Way::Regions, Way::FullDomain, Way::Nested];

fn job(way: Way) -> Job {
    let accept = FindingName::ALL.iter().map(|&name| Acceptance { name, column: None });
    let mut job = Job { k: Some(3), accept: accept.collect(), ..Job::default() };
    for name in QUASI {
        job.set_role(name, Role::Quasi).unwrap();
    }
    job.set_role("id", Role::Keep).unwrap();
    match way {
        Way::Sets => {}
        Way::Labels => {
            job.column("zip").hierarchy = Some(HierarchySpec::Prefix);
            job.categories = Some(Categories::Label);
        }
        Way::Regions => job.compact = Some(false),
        Way::FullDomain => {
            job.method = Some(Method::Incognito);
            let given = ["ranges:5,10,20", "suppress", "prefix", "ranges:10,100"];
            for (name, hierarchy) in QUASI.into_iter().zip(given) {
                job.column(name).hierarchy = Some(hierarchy.parse().unwrap());
            }
            job.suppress = Some(0.4);
        }
        Way::Nested => job.method = Some(Method::Bang),
    }
    job
}

fn released(job: &Job, original: &str) -> BatchSource {
    let (sink, collected) = BatchSink::new();
    anonymize(job, &source(original), vec![Box::new(sink)], &Silent).unwrap();
    BatchSource::of(collected.take(), &ReadOptions::default()).unwrap()
}

fn workload(kind: QueryKind, predicates: Predicates) -> QueryWorkload {
    QueryWorkload { n_queries: 40, kind, predicates, seed: 5 }
}

/// What a query asks for as ranges of codes.
fn runs(between: Between) -> Vec<(Code, Code)> {
    let mut runs = match between {
        Between::Range(lo, hi) => vec![(lo, hi)],
        Between::Either(a, b) => vec![(a, a), (b, b)],
    };
    runs.dedup();
    runs.into_iter().map(|(lo, hi)| (Code::new(lo), Code::new(hi))).collect()
}

/// The share of a cell's values that are asked for, by counting codes.
fn share(content: &CellContent, domain: &Domain, between: Between) -> f64 {
    let missing = domain.missing_code();
    let (ranges, shows_missing): (Vec<(Code, Code)>, bool) = match content {
        CellContent::Missing => (Vec::new(), true),
        CellContent::Interval { lo, hi, with_missing } => (vec![(*lo, *hi)], *with_missing),
        CellContent::Label { node, with_missing } => {
            let leaves = domain.hierarchy().unwrap().leaves_of(*node);
            (leaves.into_iter().map(|code| (code, code)).collect(), *with_missing)
        }
        CellContent::Set(codes) => {
            let values = codes.iter().filter(|&&code| Some(code) != missing);
            let has_missing = missing.is_some_and(|own| codes.contains(&own));
            (values.map(|&code| (code, code)).collect(), has_missing)
        }
        CellContent::Everything => (vec![domain.code_range()], false),
    };
    let asked = runs(between);
    let asks_missing = asked.iter().any(|run| Some(run.0) == missing);
    let (mut n_all, mut n_inside) = (0.0, 0.0);
    for (lo, hi) in ranges {
        n_all += f64::from(hi - lo) + 1.0;
        for run in asked.iter().filter(|run| Some(run.0) != missing) {
            let (first, last) = (lo.max(run.0), hi.min(run.1));
            n_inside += if first <= last { f64::from(last - first) + 1.0 } else { 0.0 };
        }
    }
    let of_missing = if asks_missing { 1.0 } else { 0.0 };
    match (n_all == 0.0, shows_missing) {
        (true, _) => of_missing,
        (false, true) => 0.5 * n_inside / n_all + 0.5 * of_missing,
        (false, false) => n_inside / n_all,
    }
}

/// Compares what queries come to with what all rows say.
fn check(sides: &Sides<'_>, workload: &QueryWorkload, way: Option<Way>) {
    let columns = sides.columns;
    let domains: Vec<&Domain> = columns.iter().map(|column| &column.attribute.domain).collect();
    let records = Records::of(&domains, sides.codes);
    let attributes = workload.predicates.on(&domains).unwrap();
    let queries = records.draw(workload.n_queries, workload.kind, &attributes, workload.seed);
    let answers = sides.answers(workload).unwrap();
    assert_eq!((queries.len(), answers.each.len()), (40, 40));
    assert!(!answers.has_idle_levels);
    for (query, answer) in queries.iter().zip(&answers.each) {
        let satisfies = |row: usize| {
            let is_in = |code: Code, run: &(Code, Code)| run.0 <= code && code <= run.1;
            query.terms.iter().all(|&(axis, between)| {
                let code = Code::new(sides.codes[axis][row]);
                runs(between).iter().any(|run| is_in(code, run))
            })
        };
        let n_original = sides.codes[0].len();
        assert!((0..n_original).any(satisfies), "the record it was drawn from satisfies it");
        for &(axis, between) in &query.terms {
            let Between::Range(lo, hi) = between else { continue };
            // Trades and zips have no order; ages and scores have one, whatever they are shown as.
            assert!([0, 3].contains(&axis) && lo <= hi);
        }
        let published = sides.original_rows.unwrap();
        let truth = published.iter().filter(|row| satisfies(row.index())).count() as u64;
        assert_eq!((answer.truth, answer.n_predicates), (truth, query.terms.len()));
        let (mut overlap, mut estimate) = (0, 0.0);
        let row_runs = columns[0].runs;
        assert_eq!(row_runs.n_rows(), sides.released.n_rows());
        for run in row_runs.iter().enumerate().flat_map(|(run, rows)| rows.map(move |_| run)) {
            let cell = |axis: usize| &columns[axis].cell(run).content;
            let meets = |&(axis, between): &(usize, Between)| {
                cell(axis).overlaps(domains[axis], &runs(between))
            };
            overlap += u64::from(query.terms.iter().all(meets));
            let of_term =
                |&(axis, between): &(usize, Between)| share(cell(axis), domains[axis], between);
            estimate += query.terms.iter().map(of_term).product::<f64>();
        }
        assert!(answer.truth <= answer.overlap && answer.overlap <= overlap);
        assert!(answer.estimate <= answer.overlap as f64 + 1e-9);
        if !matches!(way, Some(Way::Nested)) {
            assert_eq!(answer.overlap, overlap);
            assert!((answer.estimate - estimate).abs() < 1e-9 * estimate.max(1.0));
        }
        if way.is_none() {
            assert_eq!((answer.overlap, answer.estimate), (truth, truth as f64));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn answers_are_those_of_brute_force_and_overlap_is_never_below_the_truth(
        rows in rows(),
        way in prop::sample::select(&WAYS[..]),
    ) {
        let numbered: Vec<(usize, Row)> = rows.into_iter().enumerate().collect();
        let text = text_of(&numbered);
        let job = job(way);
        let release = released(&job, &text);
        for kind in [QueryKind::Window, QueryKind::Point] {
            for predicates in ["1..", "2", "age,score"] {
                let workload = workload(kind, predicates.parse().unwrap());
                let look = |sides: Sides<'_>| {
                    check(&sides, &workload, Some(way));
                    Ok(())
                };
                looked_at(&job, (&source(&text), &release), Some("id"), &Silent, look).unwrap();
                let look = |sides: Sides<'_>| {
                    check(&sides, &workload, None);
                    Ok(())
                };
                let both = (source(&text), source(&text));
                looked_at(&job, (&both.0, &both.1), Some("id"), &Silent, look).unwrap();
            }
        }
    }

    #[test]
    fn answers_are_the_same_in_any_order_of_rows_and_on_any_number_of_threads(
        rows in rows(),
        way in prop::sample::select(&WAYS[..]),
    ) {
        let mut numbered: Vec<(usize, Row)> = rows.into_iter().enumerate().collect();
        let text = text_of(&numbered);
        numbered.sort_by_key(|(id, row)| (row.2, row.0, std::cmp::Reverse(*id)));
        let sorted = text_of(&numbered);
        let job = Job { threads: Some(1), ..job(way) };
        // Another seed has the rows of a release in another order.
        let shuffled = Job { threads: Some(3), seed: Some(77), ..job.clone() };
        let release = released(&job, &text);
        let other = released(&shuffled, &text);
        for kind in [QueryKind::Window, QueryKind::Point] {
            let workload = workload(kind, "1..3".parse().unwrap());
            let ask = |job: &Job, text: &str, release: &BatchSource, key: Option<&str>| {
                query_answers(job, &source(text), release, key, &workload, &Silent).unwrap()
            };
            for key in [None, Some("id")] {
                let found = ask(&job, &text, &release, key);
                prop_assert_eq!(&found, &ask(&shuffled, &sorted, &other, key));
                prop_assert_eq!(found.figures.seed, 5);
            }
        }
    }
}

#[test]
fn more_queries_begin_with_the_fewer_and_another_seed_draws_others() {
    let rows: Vec<(usize, Row)> = (0..50u8)
        .map(|row| (row as usize, (Some(20 + row % 40), Some(row % 6), row % 27, None)))
        .collect();
    let text = text_of(&rows);
    let job = job(Way::Sets);
    let release = released(&job, &text);
    let ask = |n_queries: usize, seed: u64| {
        let few = workload(QueryKind::Window, Predicates::All);
        let workload = QueryWorkload { n_queries, seed, ..few };
        query_answers(&job, &source(&text), &release, None, &workload, &Silent).unwrap().each
    };
    assert_eq!(ask(100, 1)[..30], ask(30, 1));
    assert_ne!(ask(30, 1), ask(30, 2));
}

#[test]
fn predicates_are_numbers_unless_they_stand_in_quotes() {
    let read = |text: &str| text.parse::<Predicates>();
    let columns = |names: &[&str]| {
        Ok(Predicates::Columns(names.iter().map(|&name| name.to_owned()).collect()))
    };
    assert_eq!(read("3"), Ok(Predicates::Numbers { least: 3, most: Some(3) }));
    assert_eq!(read("2..5"), Ok(Predicates::Numbers { least: 2, most: Some(5) }));
    assert_eq!(read("2.."), Ok(Predicates::Numbers { least: 2, most: None }));
    assert_eq!(read("\"3\""), columns(&["3"]));
    assert_eq!(read("\"1..2\", age"), columns(&["1..2", "age"]));
    assert_eq!(read("\"a,b\",\"say \"\"hm\"\"\""), columns(&["a,b", "say \"hm\""]));
    assert_eq!(read("3,age"), columns(&["3", "age"]));
    for wrong in
        ["", " ", "0", "3..2", "0..", "age,", ",", "\"age", "\"age\" x", "99999999999999999999"]
    {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}
