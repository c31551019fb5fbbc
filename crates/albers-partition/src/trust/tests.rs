//! The paper's numbers, errors counted by drawing, and one test per requirement.

use albers_privacy::{GroundDistance, SensitiveColumn};
use albers_table::mix::mix;
use proptest::prelude::*;

use super::*;

fn of(n_rows: u64, n_sampled: u64) -> Population {
    Population { n_rows, n_sampled }
}

const HALF: f64 = ALPHA / N_PARTS;

#[test]
fn the_normal_test_asks_for_the_rows_that_the_paper_s_formula_gives() {
    let asked = |n_sampled: u64| {
        [10, 100, 1_000, 10_000].map(|k| normal_least_rows(k, of(100_000, n_sampled), HALF))
    };
    assert_eq!(asked(1_000), [1, 3, 17, 119]);
    assert_eq!(asked(10_000), [3, 16, 119, 1056]);
    assert_eq!(normal_least_rows(1_000, of(50_000_000, 2_000_000), HALF), 53);
    let naive = |n_sampled: u64| {
        [10, 100, 1_000, 10_000].map(|k| naive_least_rows(k, of(100_000, n_sampled)))
    };
    assert_eq!(naive(1_000), [1, 1, 10, 100]);
    assert_eq!(naive(10_000), [1, 10, 100, 1_000]);
}

#[test]
fn the_exact_test_asks_for_a_row_more_where_the_normal_one_accepts_too_much() {
    let asked = |n_sampled: u64| {
        [10, 100, 1_000, 10_000].map(|k| exact_least_rows(k, of(100_000, n_sampled), HALF))
    };
    assert_eq!(asked(1_000), [2, 4, 18, 120]);
    assert_eq!(asked(10_000), [4, 17, 120, 1057]);
}

#[test]
fn a_sample_of_all_rows_is_judged_by_the_requirement() {
    for least in [exact_least_rows(7, of(90, 90), HALF), normal_least_rows(7, of(90, 90), HALF)] {
        assert_eq!(least, 7);
    }
    assert_eq!(naive_least_rows(7, of(90, 90)), 7);
    assert_eq!(exact_least_rows(1, of(90, 5), HALF), 1, "a part without rows has none sampled");
}

#[test]
fn levels_and_repartitions_are_those_of_the_cost_model() {
    let sampled = [1_000, 10_000, 20_000, 100_000, 500_000, 1_000_000, 2_000_000];
    let found = sampled.map(|n| levels(1_000, of(50_000_000, n)));
    assert_eq!(found, [11, 13, 13, 14, 14, 15, 15]);
    for n_rows in [10_000_000, 25_000_000, 50_000_000, 100_000_000] {
        assert_eq!(repartitions(1_000, n_rows, 2_000_000), 1);
    }
    assert_eq!(repartitions(1_000, 2_000_000, 2_000_000), 0);
    assert_eq!(repartitions(50_000, 100_000, 100), 0, "no split is supported");
}

/// How many rows of a part are drawn, of a sample without replacement.
fn drawn(n_part: u64, population: Population, state: &mut u64) -> u64 {
    let mut n_own = 0;
    for row in 0..n_part {
        *state = mix(*state);
        let chance = (population.n_sampled - n_own) as f64 / (population.n_rows - row) as f64;
        n_own += u64::from(*state as f64 / 2f64.powi(64) < chance);
    }
    n_own
}

#[test]
fn a_part_that_is_too_small_is_accepted_rarely_by_the_exact_test_and_often_by_the_normal_one() {
    const N_DRAWN: usize = 20_000;
    let population = of(100_000, 1_000);
    let [exact, normal] =
        [exact_least_rows, normal_least_rows].map(|own| own(100, population, HALF));
    let mut state = 5;
    let counts: Vec<u64> = (0..N_DRAWN).map(|_| drawn(99, population, &mut state)).collect();
    let accepted =
        |least: u64| counts.iter().filter(|&&own| own >= least).count() as f64 / N_DRAWN as f64;
    assert!(accepted(exact) <= HALF, "{}", accepted(exact));
    assert!((accepted(normal) - 0.079).abs() < 0.006, "{}", accepted(normal));
}

/// The chance of at least so many sampled rows, by adding up the chances of all numbers.
fn tail(n_part: u64, population: Population, least: u64) -> f64 {
    let Population { n_rows, n_sampled } = population;
    let ln = statrs::function::factorial::ln_binomial;
    let chance = |n_own: u64| {
        (ln(n_part, n_own) + ln(n_rows - n_part, n_sampled - n_own) - ln(n_rows, n_sampled)).exp()
    };
    let first = (n_sampled + n_part).saturating_sub(n_rows).max(least);
    (first..=n_part.min(n_sampled)).map(chance).sum()
}

proptest! {
    #[test]
    fn the_exact_test_asks_for_the_least_number_that_is_rare_enough(
        n_rows in 2..3_000u64,
        sampled in 0.0..1.0f64,
        k in 2..400u64,
        alpha in 0.001..0.2f64,
    ) {
        let population = of(n_rows, ((n_rows - 1) as f64 * sampled) as u64 + 1);
        prop_assume!(k <= n_rows && !population.is_whole());
        let least = exact_least_rows(k, population, alpha);
        prop_assert!(tail(k - 1, population, least) <= alpha + 1e-9);
        prop_assert!(least == 1 || tail(k - 1, population, least - 1) > alpha - 1e-9);
    }
}

fn requirement(k: u64, persons: bool, rule: Option<Criterion>) -> Requirement {
    let numbers = Some((0..10).map(f64::from).collect());
    let (name, distance) = ("secret".to_owned(), GroundDistance::Equal);
    let column = SensitiveColumn { name, n_values: 10, distance, numbers };
    let rules = rule.map(|rule| (0, rule)).into_iter().collect();
    Requirement::new(k, persons, vec![column], rules).unwrap()
}

/// Whether a sample with so many rows of each code is accepted, of a hundred times as many rows.
fn accepts(requirement: &Requirement, test: Test, counts: &[u64]) -> bool {
    let mut sample = ClassSummary::new(requirement.shape());
    let codes = (0u32..).zip(counts).flat_map(|(code, &n)| (0..n).map(move |_| code));
    for (row, code) in codes.enumerate() {
        sample.add(row as u64, &[code]);
    }
    let test = SampleTest::new(requirement, 1, test, of(100_000, 1_000));
    test.holds(&sample)
}

fn accepted(rule: Criterion, counts: &[u64]) -> [bool; 2] {
    let mut asked = requirement(1, false, Some(rule));
    let mut whole = ClassSummary::new(asked.shape());
    (0..10).for_each(|code| whole.add(u64::from(code), &[code]));
    asked.bind(&whole);
    [Test::Exact, Test::Naive].map(|test| accepts(&asked, test, counts))
}

#[test]
fn what_only_chance_gave_is_not_taken_for_diversity() {
    let recursive = Criterion::RecursiveDiversity { c: 1.0, l: 2 };
    assert_eq!(accepted(recursive, &[10, 6, 6]), [false, true]);
    assert_eq!(accepted(recursive, &[400, 401, 200]), [true, true]);
    assert_eq!(accepted(recursive, &[1]), [false, false], "one row");
    // The variance of 0 and 2 in equal shares is 1.
    let variance = Criterion::Variance { minimum: 0.9 };
    assert_eq!(accepted(variance, &[20, 0, 20]), [false, true]);
    assert_eq!(accepted(variance, &[2_000, 0, 2_000]), [true, true]);
    assert_eq!(accepted(variance, &[1]), [false, false], "one row");
    let alpha = Criterion::AlphaK { alpha: 0.5 };
    assert_eq!(accepted(alpha, &[4, 5, 1]), [false, true]);
    assert_eq!(accepted(alpha, &[450, 440, 200]), [true, true]);
}

#[test]
fn what_the_sample_shows_is_enough_where_it_errs_on_the_safe_side() {
    let distinct = Criterion::DistinctLDiversity { l: 3 };
    assert_eq!(accepted(distinct, &[1, 1, 1]), [true, true]);
    assert_eq!(accepted(distinct, &[9, 9]), [false, false]);
    let entropy = Criterion::EntropyLDiversity { l: 2.0 };
    assert_eq!(accepted(entropy, &[5, 5]), [true, true]);
    assert_eq!(accepted(entropy, &[5, 6]), [false, false]);
    let closeness = Criterion::TCloseness { t: 0.8 };
    assert_eq!(accepted(closeness, &[5, 5]), [true, true]);
    assert_eq!(accepted(closeness, &[5]), [false, false]);
}

#[test]
fn persons_are_asked_of_the_sample_itself() {
    let asked = requirement(30, true, None);
    assert!(!accepts(&asked, Test::Exact, &[29]) && accepts(&asked, Test::Exact, &[30]));
    assert!(accepts(&asked, Test::Naive, &[1]));
}

#[test]
fn the_upper_bound_of_a_share_is_that_of_clopper_and_pearson() {
    // Of no row in 10, the bound is 1 - 0.025 ^ (1 / 10) = 0.3085.
    assert_eq!((most_of_value(10, 0.31), most_of_value(10, 0.30)), (0.0, -1.0));
    // Of 3 rows in 10 it is 0.6525.
    assert_eq!((most_of_value(10, 0.653), most_of_value(10, 0.652)), (3.0, 2.0));
    assert_eq!(most_of_value(10, 1.0 - 1e-12), 9.0);
}

#[test]
fn quantiles_agree_with_tables() {
    assert!((normal_quantile(0.025) - 1.959_963_985).abs() < 1e-9);
    assert!((chi_square_quantile(2) - 5.023_886_187).abs() < 1e-8);
    assert!((chi_square_quantile(101) - 129.561_197).abs() < 1e-5);
    assert!((chi_square_quantile(100_001) - 100_878.42).abs() < 1.0);
}
