//! Attempts to falsify answers: random releases of random tables by every method are asked random
//! conditions, without their tables, and a look at every row of the table says what is true.

mod oracle {
    pub mod ask;
    pub mod case;
    pub mod column;
    pub mod dice;
    pub mod files;
    pub mod require;
    pub mod tally;
    pub mod tree;
    pub mod value;
}

use std::path::Path;

use albers::{
    Choice, Job, Method, QueryReport, Question, ReleaseBeside, Report, Silent, anonymize_files,
    files, query,
};
use oracle::ask::Ask;
use oracle::case::{Case, releases};
use oracle::dice::Dice;
use oracle::tally::Tally;
use proptest::prelude::*;

mod accept;

static ASKED: Tally = Tally::new();

/// So many cases, unless `PROPTEST_CASES` asks for another number.
fn config(usual: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(usual),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn done(job: &Job) -> Result<Report, TestCaseError> {
    anonymize_files(job, &Silent)
        .map_err(|error| TestCaseError::fail(format!("a feasible job fails: {error}")))
}

fn answers(release: &Path, with_codebook: bool, ask: &Ask) -> Result<QueryReport, albers::Error> {
    let manifest = files::manifest_of(release, None)?;
    let codebook = files::codebook_of(release)?.filter(|_| with_codebook);
    let beside = ReleaseBeside { manifest: manifest.as_ref(), codebook: codebook.as_ref() };
    let job = Job::default();
    let source = files::open_table(&job, release, None)?;
    let conditions = vec![ask.text.clone()];
    let question = Question { conditions, ..Question::default() };
    query(&job, source.as_ref(), &beside, &question, &Silent)
}

proptest! {
    #![proptest_config(config(400))]

    fn ask_any_release(
        seed in any::<u64>().no_shrink(),
        n_rows in prop_oneof![1 => 1..8usize, 3 => 1..150usize],
        n_quasi in 1..=4usize,
        method in prop_oneof![
            4 => prop::sample::select(Method::ALL),
            1 => prop::sample::select(&[Method::Bang, Method::BdTree, Method::HbTree][..]),
        ],
    ) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let case = Case::draw(method, (seed, n_rows, n_quasi), folder.path());
        let report = done(&case.job)?;
        let mut dice = Dice::new(!seed);
        let asks: Vec<Ask> = (0..12).map(|_| Ask::draw(&case, &mut dice)).collect();
        for (path, _) in releases(&case.job) {
            let with_codebook = dice.chance(0.7);
            for ask in &asks {
                let found = match answers(&path, with_codebook, ask) {
                    Ok(found) => found,
                    // Without a codebook nothing tells what places are of; the first letters of
                    // numbers never tell their order.
                    Err(error) => {
                        let error = error.to_string();
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
                prop_assert!(answer.estimate >= -1e-9, "{}", told);
                prop_assert!(answer.estimate <= answer.overlap as f64 + 1e-6, "{}", told);
                ASKED.count(method.name());
                if answer.upper < answer.overlap {
                    ASKED.count("bounded by known values");
                }
                if ask.is_carried {
                    ASKED.count("on a carried column");
                }
            }
            ASKED.count(if with_codebook { "with a codebook" } else { "without" });
        }
    }
}

#[test]
fn what_any_release_answers_bounds_what_its_table_says() {
    ask_any_release();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        let kinds = [
            "bounded by known values",
            "on a carried column",
            "with a codebook",
            "without",
            "refused",
            "bang",
            "local",
            "incognito",
        ];
        ASKED.assert_at_least(20, &kinds);
    }
}
