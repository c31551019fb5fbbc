//! Differential privacy by sampling and by leaving out small cells of a grid that nobody's row moves.
//!
//! ```text
//!   rows ──each with probability beta, in secret──► sampled rows ──► cells of a fixed grid
//!                                                                     │
//!                                         fewer than k rows: nothing ─┴─ k or more: all of them
//! ```
//!
//! Source: Li, Qardaji & Su 2012, theorem 5 (sampling before a k-anonymization that does not look
//! at the rows); Bild, Kuhn & Prasser 2018 use it too. Anjum & Raschia 2017, section 6, sketch the
//! like without a proof.
//! Departures: what is computed with rounding errs on the safe side; `c_n` is the tighter bound of
//! Chernoff by the divergence of gamma from beta.
//! Guarantee: let D' be a table D with one row more, let every row be sampled independently with
//! probability beta <= 1 - e^-epsilon, and let the grid be the same for both. Then for every set S
//! of releases P(M(D') in S) <= e^epsilon P(M(D) in S) + delta, and the same with D and D' exchanged.
//! Cost: O(n^2) for the n rows that decide k; a few thousand at most.
//!
//! **Proof.** Cells are sampled independently, and D and D' differ in one cell, with m and n = m + 1
//! rows. What is published of it is the number j >= k of its sampled rows, or nothing. With
//! f(j; n) the probability of j among n:
//!
//! - f(j; n) / f(j; m) = n (1 - beta) / (n - j). That is at most e^epsilon for all j <= gamma n,
//!   where gamma = 1 - (1 - beta) e^-epsilon. Greater j >= k have together, in D', the probability
//!   a_n = P(Bin(n, beta) > gamma n) at most. Where gamma n < k it is P(Bin(n, beta) >= k), which
//!   rises with n, and so is at most that of the greatest such n, ceil(k / gamma - 1), which is at
//!   most its a_n. So delta(k) = max of a_n over all n >= ceil(k / gamma - 1) is enough. That nothing
//!   is published is less likely in D'.
//! - f(j; m) / f(j; n) = (n - j) / (n (1 - beta)) <= 1 / (1 - beta) <= e^epsilon; and nothing is
//!   published of n rows if it is of m and the last is not sampled: P(nothing, D') >= (1 - beta)
//!   P(nothing, D).
//!
//! **Rounding.** gamma and e^-epsilon are known between two numbers, and of each the one is taken
//! that makes delta greater. Terms are products and quotients of at most 10 n factors, each off by
//! 2^-53 at most; 32 n of these are added. Only the operations that IEEE 754 rounds exactly decide,
//! so that k is the same on all machines.

use crate::error::PrivacyError;

/// The least and the greatest epsilon: below, more rows decide than can be looked at one by one;
/// above, next to nothing is promised.
const EPSILONS: (f64, f64) = (0.01, 5.0);

/// No result of [`exp_minus`] is further off, relatively: 2^-38, where 2^-39 can be shown.
const SLACK: f64 = 3.637_978_807_091_713e-12;

/// A probability as so many of 2^64, so that a random word decides exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamplingRate(u64);

impl SamplingRate {
    /// So many of 2^64.
    pub const fn of_words(n_words: u64) -> SamplingRate {
        SamplingRate(n_words)
    }

    /// Whether a random word takes a row.
    pub fn takes(self, word: u64) -> bool {
        word < self.0
    }

    /// About how likely a row is taken.
    pub fn share(self) -> f64 {
        self.0 as f64 / 2f64.powi(64)
    }

    /// About how likely a row is not taken.
    fn rest(self) -> f64 {
        self.0.wrapping_neg() as f64 / 2f64.powi(64)
    }
}

/// What is promised, and what keeps the promise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DifferentialPrivacy {
    /// How much likelier a release may become by one person, as a logarithm.
    pub epsilon: f64,
    /// How likely it may be that this does not hold.
    pub delta: f64,
    /// Sampled rows that a cell must have at least to be published.
    pub k: u64,
    /// How likely a row is sampled.
    pub rate: SamplingRate,
}

impl DifferentialPrivacy {
    /// What keeps a promise: the greatest rate that may be, and the least k for it.
    pub fn of(epsilon: f64, delta: f64) -> Result<DifferentialPrivacy, PrivacyError> {
        let (least, greatest) = EPSILONS;
        if !(least..=greatest).contains(&epsilon) {
            return Err(PrivacyError::Parameter {
                parameter: "epsilon",
                given: epsilon.to_string(),
                hint: "use a number from 0.01 to 5, for example 1",
            });
        }
        if !(1e-100..=0.1).contains(&delta) {
            return Err(PrivacyError::Parameter {
                parameter: "delta",
                given: delta.to_string(),
                hint: "use a number above 0 and up to 0.1, for example 1e-6",
            });
        }
        // A decimal number may be a little below the float that stands for it.
        let (asked_epsilon, asked_delta) = (epsilon.next_down(), delta.next_down());
        let (_, most) = exp_minus(asked_epsilon);
        // Scaling by a power of two is exact, and the cast rounds down.
        let rate = SamplingRate(((1.0 - most) * (1.0 - SLACK) * 2f64.powi(64)) as u64);
        let tail = Tail::of(asked_epsilon, rate);
        // A cell of one row hides nobody, whatever the sampling does.
        let k = tail.least_k(asked_epsilon, asked_delta).max(2);
        Ok(DifferentialPrivacy { epsilon, delta, k, rate })
    }
}

/// How likely more than a share gamma of some rows is sampled.
struct Tail {
    rate: SamplingRate,
    /// Gamma lies between these.
    gamma: (f64, f64),
}

impl Tail {
    fn of(epsilon: f64, rate: SamplingRate) -> Tail {
        let (least, most) = exp_minus(epsilon);
        let rest = rate.rest();
        let gamma = (1.0 - rest * most * (1.0 + SLACK), 1.0 - rest * least * (1.0 - SLACK));
        // The subtraction is off by half of the last bit of a number below 1.
        Tail { rate, gamma: (gamma.0 - SLACK, (gamma.1 + SLACK).min(1.0)) }
    }

    /// The least k for which no number of rows in a cell breaks the promise with probability delta.
    fn least_k(&self, epsilon: f64, delta: f64) -> u64 {
        let mut n = self.enough_rows(epsilon, delta);
        while n > 0 && self.at_most(n) < delta {
            n -= 1;
        }
        // All cells of n + 1 or more rows keep it; ceil(k / gamma - 1) > n if k > gamma (n + 1).
        (self.gamma.1 * (n + 1) as f64 * (1.0 + SLACK)).floor() as u64 + 1
    }

    /// So many rows, and any more, keep the promise by the bound of Chernoff,
    /// a_n <= exp(-n (gamma ln(gamma / beta) + (1 - gamma) ln((1 - gamma) / (1 - beta)))).
    fn enough_rows(&self, epsilon: f64, delta: f64) -> u64 {
        let (gamma, _) = self.gamma;
        let ratio = gamma / self.rate.share();
        // The logarithm of a number above 1 is more than this, and that of the other quotient is
        // -epsilon.
        let logarithm = 2.0 * (ratio - 1.0) / (ratio + 1.0);
        let divergence = gamma * logarithm - (1.0 - gamma) * epsilon;
        // One part in a million more, for what rounding may have added.
        (-delta.ln() / divergence * (1.0 + 1e-6)).ceil() as u64 + 1
    }

    /// Not less than a_n: the probability that more than gamma n of n rows are sampled.
    fn at_most(&self, n: u64) -> f64 {
        let first = ((self.gamma.0 * n as f64 * (1.0 - SLACK)).floor() as u64 + 1).min(n);
        let (share, rest) = (self.rate.share(), self.rate.rest());
        let mut term = self.term(n, first);
        let mut sum = term;
        for j in first..n {
            term *= (n - j) as f64 / (j + 1) as f64 * (share / rest);
            sum += term;
        }
        sum * (1.0 + n as f64 * 2f64.powi(-48)) + f64::MIN_POSITIVE
    }

    /// The probability that j of n rows are sampled. Factors above and below 1 take turns, so that
    /// no product leaves the range of floats before the result does.
    fn term(&self, n: u64, j: u64) -> f64 {
        let (share, rest) = (self.rate.share(), self.rate.rest());
        let mut product = 1.0;
        let mut n_rest = n - j;
        for i in 1..=j {
            while product > 1.0 && n_rest > 0 {
                product *= rest;
                n_rest -= 1;
            }
            product *= (n - j + i) as f64 / i as f64 * share;
        }
        (0..n_rest).fold(product, |product, _| product * rest)
    }
}

/// e^-x between two numbers, for x from 0 to 8: the series for a 128th of x, squared seven times.
fn exp_minus(x: f64) -> (f64, f64) {
    let y = x / 128.0;
    // The rest of the series is below 2^-80. Each squaring doubles what the sum is off by.
    let series = (1..=16).rev().fold(1.0, |sum, n| 1.0 - y * sum / f64::from(n));
    let power = (0..7).fold(series, |power: f64, _| power * power);
    (power * (1.0 - SLACK), power * (1.0 + SLACK))
}

#[cfg(test)]
mod tests;
