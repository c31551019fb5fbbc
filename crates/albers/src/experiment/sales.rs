//! The table that figures of Iwuchukwu & Naughton 2007 are about, with all columns ordered.
//!
//! Source: Iwuchukwu & Naughton 2007, section 5: eight attributes of sales, whose names were given an
//! order so that all are numbers.
//! Departures: the table is made up, and names are ordered by their ranks.

use albers_generate::{Kind, Options};
use albers_table::schema::ColumnType;

use super::trial::Table;
use crate::error::Result;
use crate::job::Job;

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

/// Sales, all columns ordered.
pub(super) fn sales(n_rows: u64, seed: u64) -> Result<Table> {
    Ok(Table::generate(Kind::LandsEnd, n_rows, seed, &Options::default())?.ranked(&NAMES))
}

/// A job for them.
pub(super) fn job(table: &Table, k: u64) -> Result<Job> {
    let mut job = table.job(k, &[])?;
    for name in QUASI {
        job.set_role(name, albers_table::schema::Role::Quasi)?;
    }
    for name in NAMES {
        job.column(name).column_type = Some(ColumnType::Integer);
    }
    Ok(job)
}
