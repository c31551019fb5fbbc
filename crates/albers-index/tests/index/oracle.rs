//! Whether rows satisfy what is asked, by counting; shares no code with the library.

use std::collections::BTreeSet;

use albers_privacy::Criterion;

use super::table::{Asked, N_SECRETS, Table};

/// What rounding may take from or add to a figure.
const SLACK: f64 = 1e-6;

/// Whether some rows of a table satisfy what is asked.
pub fn holds(table: &Table, asked: &Asked, rows: &[u32]) -> bool {
    let n_persons = match table.subjects.is_empty() {
        true => rows.len(),
        false => {
            let persons: BTreeSet<u32> =
                rows.iter().map(|&row| table.subjects[row as usize]).collect();
            persons.len()
        }
    };
    let meets = |&(column, criterion): &(usize, Criterion)| {
        let secrets = &table.secrets[column];
        let own = counts(rows.iter().map(|&row| secrets[row as usize]));
        rule_holds(criterion, own, counts(secrets.iter().copied()))
    };
    n_persons as u64 >= asked.k && asked.rules.iter().all(meets)
}

type Counts = [f64; N_SECRETS as usize];

fn counts(secrets: impl Iterator<Item = u32>) -> Counts {
    let mut counts = [0.0; N_SECRETS as usize];
    secrets.for_each(|secret| counts[secret as usize] += 1.0);
    counts
}

fn shares(counts: Counts) -> Counts {
    let n_rows: f64 = counts.iter().sum();
    counts.map(|count| count / n_rows)
}

fn rule_holds(criterion: Criterion, own: Counts, whole: Counts) -> bool {
    let shares_of_own = shares(own);
    match criterion {
        Criterion::DistinctLDiversity { l } => {
            own.iter().filter(|&&count| count > 0.0).count() >= l as usize
        }
        Criterion::EntropyLDiversity { l } => {
            let present = shares_of_own.into_iter().filter(|&share| share > 0.0);
            let entropy: f64 = present.map(|share| -share * share.log2()).sum();
            entropy >= l.log2() - SLACK
        }
        Criterion::RecursiveDiversity { c, l } => {
            let mut sorted = own;
            sorted.sort_by(|a, b| b.total_cmp(a));
            let tail: f64 = sorted[l as usize - 1..].iter().sum();
            l == 1 || sorted[0] < c * tail
        }
        Criterion::TCloseness { t } => {
            let shares_of_all = shares(whole);
            let mut carried = 0.0;
            let mut work = 0.0;
            for (own, all) in shares_of_own.iter().zip(shares_of_all) {
                carried += own - all;
                work += f64::abs(carried);
            }
            work / f64::from(N_SECRETS - 1) <= t + SLACK
        }
        Criterion::AlphaK { alpha } => {
            shares_of_own.into_iter().all(|share| share <= alpha + SLACK)
        }
        Criterion::Variance { minimum } => {
            let mean_of = |of: &dyn Fn(f64) -> f64| -> f64 {
                (0..N_SECRETS)
                    .zip(shares_of_own)
                    .map(|(secret, share)| share * of(f64::from(secret)))
                    .sum()
            };
            let mean = mean_of(&|number| number);
            mean_of(&|number| (number - mean).powi(2)) >= minimum - SLACK
        }
    }
}
