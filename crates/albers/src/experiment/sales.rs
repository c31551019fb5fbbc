//! The table that figures of Iwuchukwu & Naughton 2007 are about, with all columns ordered.
//!
//! Source: Iwuchukwu & Naughton 2007, section 5: eight attributes of sales, whose names were given
//! an order so that all are numbers.
//! Departures: the table is made up, and names are ordered by their ranks.

use albers_generate::{Kind, Options};
use albers_index::granularity::Granularity;
use albers_table::schema::{ColumnType, Role};

use super::trial::{Rows, Table};
use crate::error::Result;
use crate::job::{Job, Method, Split};

/// The quasi-identifiers; those of names become numbers.
pub(super) const QUASI: [&str; 8] =
    ["zipcode", "order-date", "gender", "style", "price", "quantity", "cost", "shipment"];
const NAMES: [&str; 4] = ["zipcode", "gender", "style", "shipment"];

/// The k of the paper's figures.
pub(super) const KS: [u64; 8] = [5, 10, 25, 50, 100, 250, 500, 1_000];
/// Some of them, for small tables.
pub(super) const FEW_KS: [u64; 4] = [5, 10, 25, 100];
/// The k that an index is built for which serves them all.
pub(super) const BASE_K: u64 = 5;

/// A way to anonymize sales that the paper compares with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contender {
    /// An index of [`BASE_K`], whose leaves are brought together for other k.
    Scan,
    /// An index that is built for its k.
    Built,
    /// Mondrian, shown by regions.
    Regions,
    /// Mondrian, shown by the bounds of its rows.
    Bounds,
}

impl Contender {
    /// All of them, in the order of their lines.
    pub(super) const ALL: [Contender; 4] =
        [Contender::Scan, Contender::Built, Contender::Regions, Contender::Bounds];

    /// What its line is called.
    pub(super) fn name(self) -> &'static str {
        match self {
            Contender::Scan => "index, leaf-scan from k = 5",
            Contender::Built => "index, built for k",
            Contender::Regions => "Mondrian, as regions",
            Contender::Bounds => "Mondrian, with bounds",
        }
    }

    /// The job that publishes for all of these k, ascending, where one job does; else for the
    /// first.
    pub(super) fn job(self, table: &Table, ks: &[u64]) -> Result<Job> {
        let mut job = job(table, ks[0])?;
        match self {
            Contender::Scan => {
                (job.method, job.k) = (Some(Method::Rtree), Some(BASE_K));
                job.also_k = ks.iter().copied().filter(|&k| k != BASE_K).collect();
                job.granularity = (!job.also_k.is_empty()).then_some(Granularity::LeafScan);
            }
            Contender::Built => job.method = Some(Method::Rtree),
            Contender::Regions => (job.split, job.compact) = (Some(Split::Median), Some(false)),
            Contender::Bounds => job.split = Some(Split::Median),
        }
        Ok(job)
    }

    /// What it publishes for a k.
    pub(super) fn release(self, table: &Table, k: u64) -> Result<Rows> {
        // The release for the k that is asked for is the last one.
        let mut releases = table.releases(&self.job(table, &[k])?)?;
        Ok(releases.pop().expect("a job has a release"))
    }
}

/// Sales, all columns ordered.
pub(super) fn sales(n_rows: u64, seed: u64) -> Result<Table> {
    Ok(Table::generate(Kind::LandsEnd, n_rows, seed, &Options::default())?.ranked(&NAMES))
}

/// A job for them.
pub(super) fn job(table: &Table, k: u64) -> Result<Job> {
    let mut job = table.job(k, &[])?;
    for name in QUASI {
        job.set_role(name, Role::Quasi)?;
    }
    for name in NAMES {
        job.column(name).column_type = Some(ColumnType::Integer);
    }
    Ok(job)
}
