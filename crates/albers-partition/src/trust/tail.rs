//! The least number of sampled rows that lets a part have k rows.

use super::{Population, normal_quantile};

/// Probabilities below this add nothing to a tail that is compared with an error of some percent.
const NEGLIGIBLE: f64 = 1e-18;

/// The least number of sampled rows that a part of k - 1 rows has with a probability of at most
/// `alpha`: by the hypergeometric distribution, from the logarithms of ratios, so that nothing large
/// cancels, however many rows there are.
pub fn exact_least_rows(k: u64, population: Population, alpha: f64) -> u64 {
    let Population { n_rows, n_sampled } = population;
    if population.is_whole() || k > n_rows {
        return k;
    }
    let n_part = k.saturating_sub(1);
    let n_unseen = n_rows - n_sampled;
    let (least, most) = (n_part.saturating_sub(n_unseen), n_part.min(n_sampled));
    // The chance of the least possible number: that all rows of the part are unseen, or that all
    // unseen rows are of the part.
    let ln_ratio = |over: u64, under: u64| (over as f64 / under as f64).ln();
    let ln_least: f64 = match least {
        0 => (0..n_part).map(|row| ln_ratio(n_unseen - row, n_rows - row)).sum(),
        _ => (0..n_unseen).map(|row| ln_ratio(n_part - row, n_rows - row)).sum(),
    };
    let expected = n_part as f64 * n_sampled as f64 / n_rows as f64;
    // The chances of all numbers from about the expected one on, which is where the tail begins.
    let mut chances = Vec::new();
    let mut ln_chance = ln_least;
    for n_own in least..=most {
        let chance = ln_chance.exp();
        if n_own as f64 + 1.0 >= expected {
            chances.push((n_own, chance));
            if chance < NEGLIGIBLE {
                break;
            }
        }
        let unseen = n_unseen + n_own + 1 - n_part.min(n_unseen + n_own + 1);
        ln_chance += ln_ratio(n_part - n_own, n_own + 1) + ln_ratio(n_sampled - n_own, unseen);
    }
    let mut tail = 0.0;
    for &(n_own, chance) in chances.iter().rev() {
        tail += chance;
        if tail > alpha {
            return n_own + 1;
        }
    }
    least.max(1)
}

/// The same by the paper's normal approximation of the share of a part of k rows.
pub fn normal_least_rows(k: u64, population: Population, alpha: f64) -> u64 {
    let Population { n_rows, n_sampled } = population;
    if population.is_whole() {
        return k;
    }
    let share = (k as f64 / n_rows as f64).min(1.0);
    let excess = normal_quantile(alpha) * deviation(share, population);
    (n_sampled as f64 * (share + excess)).ceil() as u64
}

/// The same by proportion alone.
pub fn naive_least_rows(k: u64, population: Population) -> u64 {
    let Population { n_rows, n_sampled } = population;
    if population.is_whole() {
        return k;
    }
    let least = (u128::from(k) * u128::from(n_sampled)).div_ceil(u128::from(n_rows.max(1)));
    u64::try_from(least).unwrap_or(u64::MAX)
}

/// The standard deviation of the share that a part has in the sample, of one that has this share of
/// all rows.
pub(super) fn deviation(share: f64, population: Population) -> f64 {
    let n_free = population.n_sampled.saturating_sub(1).max(1) as f64;
    (share * (1.0 - share) / n_free * population.unseen()).sqrt()
}
