use num_bigint::BigUint;
use proptest::prelude::*;

use super::*;

/// A positive rational number.
type Ratio = (BigUint, BigUint);

fn ratio(numerator: u128, denominator: u128) -> Ratio {
    (BigUint::from(numerator), BigUint::from(denominator))
}

/// Whether the probability that more than gamma n of n rows are sampled is below delta, exactly.
fn is_below(n: u32, beta: &Ratio, gamma: &Ratio, delta: &Ratio) -> bool {
    let first = (BigUint::from(n) * &gamma.0 / &gamma.1).to_u32_digits();
    let first = first.first().copied().unwrap_or(0) + 1;
    let rest = &beta.1 - &beta.0;
    let mut choose = BigUint::from(1u8);
    let mut sum = BigUint::from(0u8);
    for j in 0..=n {
        if j >= first {
            sum += &choose * beta.0.pow(j) * rest.pow(n - j);
        }
        choose = choose * (n - j) / (j + 1);
    }
    sum * &delta.1 < &delta.0 * beta.1.pow(n)
}

/// The least k by exact arithmetic: of all numbers of rows up to a bound, the last that breaks the
/// promise decides.
fn exact_k(beta: &Ratio, gamma: &Ratio, delta: &Ratio, bound: u32) -> u64 {
    let last = (1..=bound).rev().find(|&n| !is_below(n, beta, gamma, delta)).unwrap_or(0);
    let most = BigUint::from(last + 1) * &gamma.0 / &gamma.1;
    u64::from(most.to_u32_digits().first().copied().unwrap_or(0)) + 1
}

const DELTAS: [(f64, u128); 3] = [(1e-4, 10_000), (1e-5, 100_000), (1e-6, 1_000_000)];

/// e^-epsilon, to twenty digits.
const POWERS: [(f64, u128, [u64; 3]); 4] = [
    (0.5, 60_653_065_971_263_342_360, [39, 51, 63]),
    (1.0, 36_787_944_117_144_232_160, [47, 61, 74]),
    (1.5, 22_313_016_014_842_982_893, [62, 80, 99]),
    (2.0, 13_533_528_323_661_269_189, [81, 113, 131]),
];
const UNIT: u128 = 100_000_000_000_000_000_000;

#[test]
fn k_is_that_of_the_literature_by_both_computations() {
    for (epsilon, power, ks) in POWERS {
        let beta = ratio(UNIT - power, UNIT);
        let square = BigUint::from(power) * BigUint::from(power);
        let whole = BigUint::from(UNIT) * BigUint::from(UNIT);
        let gamma = (&whole - square, whole);
        for ((delta, parts), k) in DELTAS.into_iter().zip(ks) {
            let found = DifferentialPrivacy::of(epsilon, delta).unwrap();
            assert_eq!(found.k, k, "epsilon {epsilon}, delta {delta}");
            assert_eq!(exact_k(&beta, &gamma, &ratio(1, parts), 150), k);
        }
    }
}

/// Where e^epsilon is 2 and 3, beta and gamma are simple fractions, and gamma n is a whole number for
/// some n: whether the row at it counts, floats cannot tell, and so it does.
#[test]
fn simple_fractions_have_the_k_of_the_literature() {
    let cases = [
        (2.0f64, (1, 2), (3, 4), [41, 53, 66], [43, 55, 67]),
        (3.0, (2, 3), (8, 9), [50, 62, 77], [50, 65, 81]),
    ];
    for (power, (b, of_b), (g, of_g), ks, of_floats) in cases {
        for (at, (delta, parts)) in DELTAS.into_iter().enumerate() {
            let exact = exact_k(&ratio(b, of_b), &ratio(g, of_g), &ratio(1, parts), 150);
            assert_eq!(exact, ks[at]);
            let found = DifferentialPrivacy::of(power.ln(), delta).unwrap();
            assert_eq!(found.k, of_floats[at], "e^epsilon = {power}, delta {delta}");
        }
    }
}

#[test]
fn beta_and_gamma_are_those_of_the_literature_and_rounded_to_the_safe_side() {
    let literature = [
        (0.5, 0.393_469, 0.632_121),
        (2f64.ln(), 0.5, 0.75),
        (1.0, 0.632_121, 0.864_665),
        (3f64.ln(), 0.666_667, 0.888_889),
        (1.5, 0.776_870, 0.950_213),
        (2.0, 0.864_665, 0.981_684),
    ];
    for (epsilon, beta, gamma) in literature {
        let rate = DifferentialPrivacy::of(epsilon, 1e-6).unwrap().rate;
        assert!((rate.share() - beta).abs() < 1e-6, "beta of {epsilon}");
        let tail = Tail::of(epsilon, rate);
        assert!(tail.gamma.0 < tail.gamma.1 && tail.gamma.1 - tail.gamma.0 < 1e-10);
        assert!((tail.gamma.0 - gamma).abs() < 1e-6, "gamma of {epsilon}");
    }
    for (epsilon, power, _) in POWERS {
        let rate = DifferentialPrivacy::of(epsilon, 1e-6).unwrap().rate;
        // rate / 2^64 <= 1 - power / UNIT
        let most = BigUint::from(UNIT - power) << 64u32;
        assert!(BigUint::from(rate.0) * BigUint::from(UNIT) <= most);
    }
}

#[test]
fn promises_that_cannot_be_kept_or_mean_nothing_are_refused() {
    for (epsilon, delta) in [
        (0.0, 1e-6),
        (-1.0, 1e-6),
        (f64::NAN, 1e-6),
        (6.0, 1e-6),
        (1.0, 0.0),
        (1.0, 0.5),
        (1.0, f64::NAN),
    ] {
        assert!(DifferentialPrivacy::of(epsilon, delta).is_err(), "{epsilon}, {delta}");
    }
    for epsilon in [0.01, 5.0] {
        let found = DifferentialPrivacy::of(epsilon, 1e-9).unwrap();
        assert!(found.k > 50 && found.k < 10_000, "{epsilon}: {}", found.k);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A third look: the promise itself, on every number of rows in a cell, in plain floats.
    #[test]
    fn no_cell_breaks_the_promise(epsilon in 0.05..2.5f64, digits in 1..7i32) {
        let delta = 10f64.powi(-digits);
        let DifferentialPrivacy { k, rate, .. } = DifferentialPrivacy::of(epsilon, delta).unwrap();
        let tail = Tail::of(epsilon, rate);
        let published = |n: u64| -> Vec<f64> {
            let mut term = if n < k { 0.0 } else { tail.term(n, k) };
            let next = |j: u64| {
                let own = term;
                term *= (n - j) as f64 / (j + 1) as f64 * (rate.share() / rate.rest());
                own
            };
            (k..=n).map(next).collect()
        };
        for n in 1..=3 * k {
            let (more, fewer) = (published(n), published(n - 1));
            let at = |own: &[f64], j: usize| own.get(j).copied().unwrap_or(0.0);
            let beyond: f64 = (0..more.len())
                .map(|j| (at(&more, j) - epsilon.exp() * at(&fewer, j)).max(0.0))
                .sum();
            prop_assert!(beyond <= delta * (1.0 + 1e-9), "{n} rows: {beyond}");
            let (none, none_of_fewer) =
                (1.0 - more.iter().sum::<f64>(), 1.0 - fewer.iter().sum::<f64>());
            prop_assert!(none <= epsilon.exp() * none_of_fewer + 1e-9);
            prop_assert!(none_of_fewer <= epsilon.exp() * none + 1e-9);
            for j in 0..fewer.len() {
                // Terms of hardly any probability have hardly any digits.
                prop_assert!(fewer[j] <= epsilon.exp() * more[j] * (1.0 + 1e-9) + 1e-290);
            }
        }
    }
}
