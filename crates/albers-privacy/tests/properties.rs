//! Attempts to falsify what every method relies on: summaries do not depend on their history, and
//! requirements are monotone under merging classes.

use albers_privacy::t_closeness::emd;
use albers_privacy::{
    ClassSummary, Criterion, GroundDistance, Histogram, RELATIVE_TOLERANCE, Requirement,
    SensitiveColumn,
};
use proptest::prelude::*;

const N_SMALL: u32 = 6;
/// Beyond the dense limit of a histogram.
const N_LARGE: u32 = 5000;

type Row = (u64, [u32; 2]);

fn rows(n_max: usize) -> impl Strategy<Value = Vec<Row>> {
    let row = (0..4u64, 0..N_SMALL, 0..N_SMALL)
        .prop_map(|(subject, small, large)| (subject, [small, large * 900]));
    prop::collection::vec(row, 0..n_max)
}

fn requirement(k: u64, counts_subjects: bool, rules: Vec<(usize, Criterion)>) -> Requirement {
    Requirement::new(k, counts_subjects, columns(GroundDistance::Equal), rules)
        .expect("a valid requirement")
}

fn columns(distance: GroundDistance) -> Vec<SensitiveColumn> {
    let column = |name: &str, n_values: u32, distance| SensitiveColumn {
        name: name.into(),
        n_values,
        distance,
        numbers: Some((0..n_values).map(|code| f64::from(code).sqrt()).collect()),
    };
    let large = GroundDistance::ranks(N_LARGE);
    vec![column("small", N_SMALL, distance), column("large", N_LARGE, large)]
}

fn summary(requirement: &Requirement, rows: &[Row]) -> ClassSummary {
    let mut summary = ClassSummary::new(requirement.shape());
    rows.iter().for_each(|(subject, codes)| summary.add(*subject, codes));
    summary
}

/// Everything a requirement can see of a summary: rows, subjects, counts by column and code.
fn visible(summary: &ClassSummary) -> (u64, u64, [Vec<(u32, u64)>; 2]) {
    let counts = [0, 1].map(|column| summary.histogram(column).iter().collect());
    (summary.n_rows(), summary.n_subjects(), counts)
}

fn distance() -> impl Strategy<Value = GroundDistance> {
    prop_oneof![
        Just(GroundDistance::Equal),
        Just(GroundDistance::ranks(N_SMALL)),
        Just(GroundDistance::Ordered { positions: vec![-3.0, 0.0, 0.5, 0.5, 7.0, 100.0] }),
        Just(GroundDistance::Hierarchical {
            levels: vec![vec![0, 0, 1, 2, 2, 2], vec![0, 0, 0, 1, 1, 1], vec![0; 6]],
        }),
    ]
}

fn criterion() -> impl Strategy<Value = Criterion> {
    let l = || 1..4u32;
    prop_oneof![
        l().prop_map(|l| Criterion::DistinctLDiversity { l }),
        prop_oneof![l().prop_map(f64::from), 1.0..3.0f64]
            .prop_map(|l| Criterion::EntropyLDiversity { l }),
        (prop_oneof![Just(1.0), Just(0.5), 0.2..4.0f64], l())
            .prop_map(|(c, l)| Criterion::RecursiveDiversity { c, l }),
        prop_oneof![Just(0.5), 0.05..0.9f64].prop_map(|t| Criterion::TCloseness { t }),
        prop_oneof![Just(0.5), Just(1.0 / 3.0), 0.2..1.0f64]
            .prop_map(|alpha| Criterion::AlphaK { alpha }),
        (0.0..1.0f64).prop_map(|minimum| Criterion::Variance { minimum }),
    ]
}

/// The verdict of t-closeness over many values, from the distance alone.
fn is_close_plainly(class: &[u32], whole: &[u32], t: f64) -> bool {
    let counted = |codes: &[u32]| {
        let mut histogram = Histogram::new(N_LARGE);
        codes.iter().for_each(|&code| histogram.add(code));
        histogram
    };
    let distance = emd(&GroundDistance::ranks(N_LARGE), &counted(class), &counted(whole));
    distance <= t * (1.0 + RELATIVE_TOLERANCE)
}

proptest! {
    #[test]
    fn bounds_decide_t_closeness_as_the_distance_does(
        whole in prop::collection::vec(0..N_LARGE, 20..200),
        end in 1..=20usize,
        (lo, hi) in (0..N_LARGE, 0..N_LARGE),
        t in prop_oneof![0.0..0.6f64, Just(0.0), Just(1.0)],
        cut in 0..200usize,
    ) {
        // Some rows that come as they are, and those of a range of values, on both sides of a cut.
        let in_range = |code: &&u32| (lo.min(hi)..=lo.max(hi)).contains(*code);
        let class: Vec<u32> =
            whole[..end].iter().chain(whole.iter().filter(in_range)).copied().collect();
        let cut = cut % class.len();
        let rules = vec![(0, Criterion::TCloseness { t })];
        let column = columns(GroundDistance::Equal).remove(1);
        let mut requirement = Requirement::new(1, false, vec![column], rules).unwrap();
        let mut summary = ClassSummary::new(requirement.shape());
        whole.iter().for_each(|&code| summary.add(0, &[code]));
        requirement.bind(&summary);
        summary.clear();
        class.iter().for_each(|&code| summary.add(0, &[code]));
        prop_assert_eq!(requirement.holds(&summary), is_close_plainly(&class, &whole, t));
        class[..cut].iter().for_each(|&code| summary.remove(0, &[code]));
        prop_assert_eq!(requirement.holds(&summary), is_close_plainly(&class[cut..], &whole, t));
    }


    #[test]
    fn a_summary_does_not_depend_on_its_history(
        kept in rows(20), passing in rows(20), counts_subjects: bool,
    ) {
        let requirement = requirement(1, counts_subjects, vec![]);
        let mut changed = summary(&requirement, &passing);
        for (subject, codes) in &kept {
            changed.add(*subject, codes);
            changed.check_invariants();
        }
        for (subject, codes) in &passing {
            changed.remove(*subject, codes);
            changed.check_invariants();
        }
        prop_assert_eq!(visible(&changed), visible(&summary(&requirement, &kept)));
    }

    #[test]
    fn merging_agrees_with_summarizing_all_rows(
        a in rows(20), b in rows(20), counts_subjects: bool,
    ) {
        let requirement = requirement(1, counts_subjects, vec![]);
        let mut merged = summary(&requirement, &a);
        merged.merge(&summary(&requirement, &b));
        merged.check_invariants();
        let all = [a, b].concat();
        prop_assert_eq!(visible(&merged), visible(&summary(&requirement, &all)));
    }

    #[test]
    fn a_cleared_summary_is_as_good_as_new(
        before in rows(20), after in rows(20), counts_subjects: bool,
    ) {
        let requirement = requirement(1, counts_subjects, vec![]);
        let mut reused = summary(&requirement, &before);
        reused.clear();
        reused.check_invariants();
        prop_assert_eq!(visible(&reused), visible(&ClassSummary::new(requirement.shape())));
        after.iter().for_each(|(subject, codes)| reused.add(*subject, codes));
        reused.check_invariants();
        prop_assert_eq!(visible(&reused), visible(&summary(&requirement, &after)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn a_union_of_satisfying_classes_satisfies(
        a in rows(12),
        b in rows(12),
        rest in rows(12),
        k in 1..4u64,
        counts_subjects: bool,
        distance in distance(),
        column in 0..2usize,
        criterion in criterion(),
    ) {
        let rules = vec![(column, criterion)];
        let built = Requirement::new(k, counts_subjects, columns(distance), rules);
        let mut requirement = built.expect("a valid requirement");
        let whole = [a.clone(), b.clone(), rest].concat();
        requirement.bind(&summary(&requirement, &whole));
        let (mut a, b) = (summary(&requirement, &a), summary(&requirement, &b));
        for class in [&a, &b] {
            let holds = requirement.holds(class);
            prop_assert_eq!(holds, requirement.violations(class).is_empty());
            prop_assert!(!holds || class.n_rows() >= requirement.min_rows());
        }
        let both_hold = requirement.holds(&a) && requirement.holds(&b);
        a.merge(&b);
        prop_assert!(!both_hold || requirement.holds(&a));
    }
}

/// Guards the property above against passing because nothing ever holds.
#[test]
fn every_criterion_holds_for_some_pairs_of_small_classes() {
    for criterion in [
        Criterion::DistinctLDiversity { l: 2 },
        Criterion::EntropyLDiversity { l: 2.0 },
        Criterion::RecursiveDiversity { c: 2.0, l: 2 },
        Criterion::TCloseness { t: 0.5 },
        Criterion::AlphaK { alpha: 0.5 },
        Criterion::Variance { minimum: 0.1 },
    ] {
        let mut requirement = requirement(2, false, vec![(0, criterion)]);
        let class = summary(&requirement, &[(0, [0, 0]), (1, [1, 0])]);
        let mut whole = class.clone();
        whole.merge(&summary(&requirement, &[(0, [2, 0]), (1, [1, 0])]));
        requirement.bind(&whole);
        assert!(requirement.holds(&class), "{criterion}");
        let uniform = summary(&requirement, &[(0, [5, 0]), (1, [5, 0])]);
        assert!(!requirement.holds(&uniform), "{criterion}");
    }
}
