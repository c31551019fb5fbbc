//! What a release loses, from the definitions in `docs/formats.md`.

use std::collections::BTreeMap;

use albers::Role;

use super::check::Pair;
use super::value::Value;

/// What the figures of a manifest are made of.
pub struct Sums {
    pub discernibility: f64,
    /// The losses of all rows, quasi-identifier by quasi-identifier.
    pub losses: Vec<f64>,
    /// The sums over rows of the logarithms that the divergences are the means of, where the rows
    /// of the table behind those of the release are known.
    pub log_ratios: Option<LogRatios>,
}

/// Sums over rows of the logarithms that divergences are the means of.
#[derive(Clone, Copy, Default)]
pub struct LogRatios {
    /// Over the quasi-identifiers.
    pub quasi: f64,
    /// Over these and the sensitive columns.
    pub with_sensitive: f64,
}

impl Sums {
    /// Of a release beside its table. A row that is left out loses everything: it may be any of
    /// all rows, and its cells may be anything.
    pub fn of(pair: &Pair<'_>) -> Sums {
        let quasi: Vec<_> = pair.case.with_role(Role::Quasi).collect();
        let n_left_out = pair.n_left_out() as f64;
        let mut sums = Sums {
            discernibility: n_left_out * pair.case.n_rows as f64,
            losses: vec![n_left_out; quasi.len()],
            log_ratios: pair.origin.as_ref().map(|_| LogRatios::default()),
        };
        for class in &pair.classes {
            let n_rows = class.len() as f64;
            sums.discernibility += n_rows * n_rows;
            let mut volume = 1.0;
            for ((column, cover), loss) in
                quasi.iter().zip(pair.covers(class)).zip(&mut sums.losses)
            {
                *loss += n_rows * cover.loss(column);
                volume *= cover.n_covered(column) as f64;
            }
            if let Some(origin) = &pair.origin {
                let rows = class.iter().map(|&row| (origin[row], pair.secrets(row)));
                sums.add_log_ratios(pair, &rows.collect::<Vec<_>>(), volume);
            }
        }
        if let Some(rows) = pair.left_out() {
            let secret = |row: usize| {
                let columns = pair.case.with_role(Role::Sensitive);
                columns.map(|column| column.values[row].clone()).collect()
            };
            let volume = quasi.iter().map(|column| column.n_values() as f64).product();
            let rows = rows.into_iter().map(|row| (row, secret(row)));
            sums.add_log_ratios(pair, &rows.collect::<Vec<_>>(), volume);
        }
        sums
    }

    /// Adds rows of the table with their secrets, which form one class. In the release, the rows
    /// of a secret are spread evenly over what the class covers; in the table, each stands where it
    /// stands.
    fn add_log_ratios(&mut self, pair: &Pair<'_>, rows: &[(usize, Vec<Value>)], volume: f64) {
        let tuple = |row: usize| -> Vec<&Value> {
            pair.case.with_role(Role::Quasi).map(|column| &column.values[row]).collect()
        };
        let mut n_of_secret: BTreeMap<&[Value], f64> = BTreeMap::new();
        let mut n_of_tuple: BTreeMap<(&[Value], Vec<&Value>), f64> = BTreeMap::new();
        for (row, secrets) in rows {
            *n_of_secret.entry(secrets).or_default() += 1.0;
            *n_of_tuple.entry((secrets, tuple(*row))).or_default() += 1.0;
        }
        let log_ratio = |((secrets, _), n_rows): (&(&[Value], _), &f64)| {
            n_rows * (n_rows * volume / n_of_secret[secrets]).ln()
        };
        let with_sensitive: f64 = n_of_tuple.iter().map(log_ratio).sum();
        let mut n_of_quasi: BTreeMap<Vec<&Value>, f64> = BTreeMap::new();
        rows.iter().for_each(|(row, _)| *n_of_quasi.entry(tuple(*row)).or_default() += 1.0);
        let log_ratio = |n_same: &f64| n_same * (n_same * volume / rows.len() as f64).ln();
        let quasi: f64 = n_of_quasi.values().map(log_ratio).sum();
        self.log_ratios = self.log_ratios.map(|sum| LogRatios {
            quasi: sum.quasi + quasi,
            with_sensitive: sum.with_sensitive + with_sensitive,
        });
    }
}
