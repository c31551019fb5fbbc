//! What an index knows of itself, as it is stored.
//!
//! ```text
//!   folder ── catalogue   one record: job, table, coding, directory, parts, runs, keys, ledger
//!          ├─ counters    rows, numbers given, single rows: what a single row changes
//!          ├─ pending     key hash ──► a single row, or that it is gone
//!          └─ extents     parts, runs of rows that arrived, runs of keys, lists, the ledger
//! ```
//!
//! A batch of many rows writes the record anew; a single row only the counters and its own record.

use std::collections::BTreeMap;

use albers_storage::store::{Changes, Extent, Format, Snapshot, Table};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::coding::Epochs;
use super::events::Event;
use super::keys::KeyRun;
use super::ledger::LedgerRecord;
use super::row_number::RowNumber;
use super::stored_table::StoredTable;
use crate::error::{Error, Result};

/// What the folder of an index is.
pub(super) const FORMAT: Format = Format { name: "albers index", version: 1 };

/// Records by name.
const RECORDS: Table = Table::new("records");
/// Single rows that are in no part yet, by the hash of their key; and, under a shorter key, the
/// counters: a single row changes one table only.
pub(super) const PENDING: Table = Table::new("pending");

const CATALOGUE: &[u8] = b"catalogue";
/// Shorter than a hash.
const COUNTERS: &[u8] = b"counters";

/// What an index is, and where everything lies.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Catalogue {
    /// The column that tells rows apart.
    pub(super) key: String,
    /// The job, as a job file says it.
    pub(super) job: String,
    /// What hashes of keys and rows are keyed with.
    pub(super) secret: [u8; 16],
    /// What a known row hashes to: tells whether hashes are still made alike.
    pub(super) canary: u64,
    /// The columns, when the first rows have come.
    pub(super) table: Option<StoredTable>,
    /// Which value has which code, and had.
    pub(super) epochs: Epochs,
    /// The top of the tree.
    pub(super) directory: Vec<u8>,
    /// The parts below it.
    pub(super) parts: BTreeMap<u32, PartRecord>,
    /// The number of the next part.
    pub(super) next_part: u32,
    /// Rows that have arrived and are in no part yet.
    pub(super) arrivals: Vec<ArrivalRun>,
    /// Which row belongs to which key, from the oldest to the newest.
    pub(super) keys: Vec<KeyRun>,
    /// What happened to rows since the ledger was told, in order.
    pub(super) events: Vec<EventRun>,
    /// Rows that are gone, and that some part or run still has.
    pub(super) removed: Vec<EventRun>,
    /// What was released.
    pub(super) ledger: LedgerRecord,
}

/// A part as the catalogue knows it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct PartRecord {
    /// Its bytes.
    pub(super) extent: Extent,
    /// Its rows.
    pub(super) n_rows: u64,
    /// Its leaves.
    pub(super) n_leaves: u64,
    /// The epoch of its codes.
    pub(super) epoch: u32,
    /// How many of its rows have no value, by attribute.
    pub(super) n_missing: Vec<u64>,
}

/// Rows that arrived together, sorted by the parts that they belong to.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ArrivalRun {
    /// The bytes of all.
    pub(super) extent: Extent,
    /// The epoch of their codes.
    pub(super) epoch: u32,
    /// Those of each part.
    pub(super) pieces: Vec<ArrivalPiece>,
}

/// The rows of a run that belong to one part.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ArrivalPiece {
    pub(super) part: u32,
    /// Where they begin in the run.
    pub(super) start: u64,
    pub(super) n_bytes: u64,
    pub(super) n_rows: u64,
}

/// Events, or numbers of rows, that were written together.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct EventRun {
    pub(super) extent: Extent,
    pub(super) n_events: u64,
}

/// What a single row changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counters {
    /// The number of the next row.
    pub(super) next_row: u32,
    /// Rows of the table.
    pub(super) n_rows: u64,
    /// Records of single rows.
    pub(super) n_pending: u64,
    /// Batches that were committed.
    pub(super) n_batches: u64,
}

/// A key whose last change is in no run yet.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct PendingKey {
    /// Its row, or its last one.
    pub(super) row: RowNumber,
    /// Its content.
    pub(super) content: u64,
    /// The row, packed, with the epoch of its codes; nothing if it is gone.
    pub(super) packed: Option<(u32, Vec<u8>)>,
    /// What happened, in order.
    pub(super) events: Vec<Event>,
}

/// Where records are read.
pub(super) trait Records {
    /// The bytes of a key of a table.
    fn bytes(&self, table: Table, key: &[u8]) -> albers_storage::Result<Option<Vec<u8>>>;

    /// A record of a table.
    fn record<T: DeserializeOwned>(&self, table: Table, key: &[u8]) -> Result<Option<T>> {
        let bytes = self.bytes(table, key)?;
        bytes.map(|bytes| decoded(&bytes, "a record of the catalogue")).transpose()
    }

    /// The catalogue.
    fn catalogue(&self) -> Result<Catalogue> {
        let found = self.record(RECORDS, CATALOGUE)?;
        found.ok_or_else(|| {
            Error::usage(
                "the creation of the index was interrupted",
                "create it again in the same folder",
            )
        })
    }

    /// The counters.
    fn counters(&self) -> Result<Counters> {
        let found = self.record(PENDING, COUNTERS)?;
        found.ok_or_else(|| damaged("the counters are not there"))
    }

    /// What is pending of a key.
    fn pending(&self, key: &[u8]) -> Result<Option<PendingKey>> {
        self.record(PENDING, key)
    }
}

impl Records for Snapshot {
    fn bytes(&self, table: Table, key: &[u8]) -> albers_storage::Result<Option<Vec<u8>>> {
        self.get(table, key)
    }
}

impl Records for Changes {
    fn bytes(&self, table: Table, key: &[u8]) -> albers_storage::Result<Option<Vec<u8>>> {
        self.get(table, key)
    }
}

/// Whether there is a catalogue; there is none while an index is being created.
pub(super) fn has_catalogue(records: &impl Records) -> Result<bool> {
    Ok(records.bytes(RECORDS, CATALOGUE)?.is_some())
}

/// Writes the catalogue.
pub(super) fn put_catalogue(changes: &mut Changes, catalogue: &Catalogue) -> Result<()> {
    Ok(changes.put(RECORDS, CATALOGUE, &encoded(catalogue))?)
}

/// Writes the counters.
pub(super) fn put_counters(changes: &mut Changes, counters: &Counters) -> Result<()> {
    Ok(changes.put(PENDING, COUNTERS, &encoded(counters))?)
}

/// A record as bytes.
pub(super) fn encoded<T: Serialize>(record: &T) -> Vec<u8> {
    postcard::to_stdvec(record).expect("records have only plain fields")
}

/// A record of bytes.
pub(super) fn decoded<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T> {
    postcard::from_bytes(bytes).map_err(|_| damaged(&format!("{what} cannot be read")))
}

/// The refusal of an index whose bytes are not what was written.
pub(super) fn damaged(problem: &str) -> Error {
    Error::DamagedIndex { problem: problem.to_owned() }
}
