//! Which splits a sample supports: tests whether parts will satisfy the requirement once all rows
//! are divided like the sample.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 5.2.1.
//! Departures: the number of rows is tested by the exact tail of the hypergeometric distribution. The
//! paper's normal approximation accepts too much where few sampled rows are expected: where it is one
//! of 1,000, it takes a part of k - 1 rows for one of k with a probability of 0.079 instead of 0.025.
//! What is to be refuted is that a part has k - 1 rows, since k are allowable. The paper's other
//! tests divide by the number of sampled rows less one, so that parts of one are refused. Requirements
//! that the paper has no test for are judged as follows:
//!
//! | requirement | what decides | why |
//! | --- | --- | --- |
//! | distinct l | the values of the sample | what a sample has, all rows have |
//! | entropy l | the entropy of the sample | it is below that of all rows on average: conservative |
//! | t-closeness | the distance of the sample | chance adds distance: conservative |
//! | (alpha, k) | Clopper and Pearson's upper bound of the greatest share | exact for one value |
//! | k persons | the persons of the sample | a lower bound, as long as points are persons |
//!
//! A sample has points, one for the rows that it stands for: points of a tuple that has many rows are
//! in proportion to them, and vary less than drawn rows would. Points do not know their persons: each
//! counts as one.
//! Guarantee: a part with less than k rows is accepted with a probability of at most alpha, shared by
//! the parts of a split. Nothing bounds the chance that some split of a tree is wrong: all rows are
//! counted afterwards, and what violates the requirement is undone. A sample of all rows is judged by
//! the requirement itself.
//! Cost: the least number of sampled rows is found once, in O(k); quantiles once for each size of a
//! part.

mod cost;
mod tail;

use std::sync::RwLock;

use albers_privacy::l_diversity::top_and_tail;
use albers_privacy::variance_diversity::variance;
use albers_privacy::{ClassSummary, Criterion, Histogram, Requirement, SummaryShape};
use rustc_hash::FxHashMap;
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};
use statrs::function::beta::beta_reg;

use crate::split::rule::Asked;

pub use cost::{levels, repartitions};
pub use tail::{exact_least_rows, naive_least_rows, normal_least_rows};

/// The probability with which a split may be made in error.
pub const ALPHA: f64 = 0.05;

/// Sampled trees are split in two, and both parts are tested at once.
const N_PARTS: f64 = 2.0;

/// How a sample is asked whether a split will hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Test {
    /// By the exact probability for the number of rows, and the paper's tests for the rest.
    #[default]
    Exact,
    /// By the paper's normal approximation for the number of rows.
    Normal,
    /// Not at all: the sample is taken for the rows themselves, on a smaller scale.
    Naive,
}

/// That the first cuts of a large table are made as far as its sample supports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Trust {
    /// How the sample is asked.
    pub test: Test,
    /// The most splits one below the other before all rows are divided along them.
    pub height: Option<usize>,
}

/// The test of the parts of one sample.
pub struct SampleTest<'a> {
    requirement: &'a Requirement,
    test: Test,
    population: Population,
    least_rows: usize,
    /// What a part of so many sampled rows is compared with, by rule.
    bounds: RwLock<FxHashMap<(usize, u64), f64>>,
}

/// How many rows there are, and how many of them a sample has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Population {
    /// All rows.
    pub n_rows: u64,
    /// Those of the sample.
    pub n_sampled: u64,
}

impl Population {
    /// Whether the sample has all rows.
    pub fn is_whole(&self) -> bool {
        self.n_sampled >= self.n_rows
    }

    /// The share of the rows that the sample does not have.
    fn unseen(&self) -> f64 {
        1.0 - (self.n_sampled as f64 / self.n_rows.max(1) as f64).min(1.0)
    }
}

impl<'a> SampleTest<'a> {
    /// The test of a requirement, no part of which has fewer than `min_rows` rows.
    pub fn new(
        requirement: &'a Requirement,
        min_rows: usize,
        test: Test,
        population: Population,
    ) -> SampleTest<'a> {
        let k = min_rows as u64;
        let least_rows = match test {
            _ if population.is_whole() => k,
            Test::Exact => exact_least_rows(k, population, ALPHA / N_PARTS),
            Test::Normal => normal_least_rows(k, population, ALPHA / N_PARTS),
            Test::Naive => naive_least_rows(k, population),
        };
        let least_rows = usize::try_from(least_rows).unwrap_or(usize::MAX).max(1);
        SampleTest { requirement, test, population, least_rows, bounds: RwLock::default() }
    }

    /// No part with fewer sampled rows is accepted.
    pub fn least_rows(&self) -> usize {
        self.least_rows
    }

    fn has_persons(&self, sample: &ClassSummary) -> bool {
        let k = match self.test {
            Test::Naive => naive_least_rows(self.requirement.k(), self.population),
            Test::Exact | Test::Normal => self.requirement.k(),
        };
        !self.requirement.shape().counts_subjects || sample.n_subjects() >= k
    }

    fn supports(&self, sample: &ClassSummary, rule_idx: usize) -> bool {
        let (column, criterion) = self.requirement.rules()[rule_idx];
        let histogram = sample.histogram(column);
        match criterion {
            _ if self.test == Test::Naive => self.requirement.holds_of_rule(sample, rule_idx),
            _ if !criterion.asks_for_something() => true,
            Criterion::RecursiveDiversity { c, l } => self.is_recursive(histogram, c, l),
            Criterion::Variance { minimum } => {
                let numbers = self.requirement.columns()[column].numbers.as_deref();
                let numbers = numbers.expect("a variance is asked of numbers only");
                let n_rows = histogram.n_rows();
                // The sum of squares; the sample's variance is it divided by the rows less one.
                let squares = n_rows as f64 * variance(histogram, numbers);
                n_rows > 1 && squares / minimum >= self.bound(rule_idx, n_rows, chi_square_quantile)
            }
            Criterion::AlphaK { alpha } => {
                let most = self.bound(rule_idx, histogram.n_rows(), |n| most_of_value(n, alpha));
                histogram.max_count() as f64 <= most
            }
            Criterion::DistinctLDiversity { .. }
            | Criterion::EntropyLDiversity { .. }
            | Criterion::TCloseness { .. } => self.requirement.holds_of_rule(sample, rule_idx),
        }
    }

    /// Whether the greatest share is below c times that of the tail by more than chance explains.
    fn is_recursive(&self, histogram: &Histogram, c: f64, l: u32) -> bool {
        let n_rows = histogram.n_rows();
        let Some((top, tail)) = top_and_tail(histogram, l).filter(|_| n_rows > 1) else {
            return false;
        };
        let share = |n: u64| n as f64 / n_rows as f64;
        let (top, tail) = (share(top), share(tail));
        let spread = c * c * tail * (1.0 - tail) + top * (1.0 - top);
        let variance = spread / (n_rows - 1) as f64 * self.population.unseen();
        c * tail - top > normal_quantile(ALPHA / N_PARTS) * variance.sqrt()
    }

    /// What a part of so many sampled rows is compared with under a rule.
    fn bound(&self, rule_idx: usize, n_rows: u64, find: impl FnOnce(u64) -> f64) -> f64 {
        let key = (rule_idx, n_rows);
        let known = self.bounds.read().expect("no holder of the lock panics").get(&key).copied();
        known.unwrap_or_else(|| {
            let bound = find(n_rows);
            self.bounds.write().expect("no holder of the lock panics").insert(key, bound);
            bound
        })
    }
}

impl Asked for SampleTest<'_> {
    fn shape(&self) -> &SummaryShape {
        self.requirement.shape()
    }

    fn holds(&self, sample: &ClassSummary) -> bool {
        if self.population.is_whole() {
            return self.requirement.holds(sample);
        }
        sample.n_rows() >= self.least_rows as u64
            && self.has_persons(sample)
            && (0..self.requirement.rules().len()).all(|rule| self.supports(sample, rule))
    }
}

/// What a standard normal variable exceeds with this probability.
fn normal_quantile(alpha: f64) -> f64 {
    Normal::standard().inverse_cdf(1.0 - alpha)
}

/// What the sum of squares of so many sampled rows, over the variance of all, exceeds by chance
/// with the probability of an error.
fn chi_square_quantile(n_rows: u64) -> f64 {
    let freedom = (n_rows - 1) as f64;
    let chi_square = ChiSquared::new(freedom).expect("two rows leave one degree of freedom");
    chi_square.inverse_cdf(1.0 - ALPHA / N_PARTS)
}

/// The most of so many sampled rows that may have one value, so that the upper bound of its share
/// is at most alpha; less than 0 where no number will do.
fn most_of_value(n_rows: u64, alpha: f64) -> f64 {
    // The bound is at most alpha where a share of alpha gives so few rows by chance alone rarely
    // enough: the lower tail of the binomial distribution, which rises with the number.
    let is_rare = |n_own: u64| {
        let (lesser, others) = (n_own as f64 + 1.0, (n_rows - n_own) as f64);
        beta_reg(others, lesser, 1.0 - alpha) <= ALPHA / N_PARTS
    };
    let (mut n_rare, mut end) = (0, n_rows);
    while n_rare < end {
        let middle = n_rare + (end - n_rare) / 2;
        if is_rare(middle) {
            n_rare = middle + 1;
        } else {
            end = middle;
        }
    }
    n_rare as f64 - 1.0
}

#[cfg(test)]
mod tests;
