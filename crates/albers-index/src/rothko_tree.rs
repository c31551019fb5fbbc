//! Rothko-T: a table that does not fit in memory, cut as it would be in memory.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 5.1 and figure 14; Gehrke, Ramakrishnan &
//! Ganti 1998 for the counts.
//! Departures: the counts of the root are made while rows are read, so that the first scan of the
//! paper is the import. Neighbouring leaves that fit in memory together are one partition. A part
//! of which little is still to be split is repartitioned early: the rest is not scanned again.
//! Guarantee: the leaves, their regions and their order are those of the same plan in memory;
//! memory stays within the budget, or the rows are refused. What is spilled, and how often, depends
//! on the memory, and nothing else does.
//! Cost: rows are read once per level of the tree above the parts that fit, and written once per
//! repartition; see [`Passes`]. A long chain of uneven splits takes a scan for each, of the rows
//! that it still concerns. Memory for the counts of all nodes of a level, of one at least.
//!
//! ```text
//!   rows ──► blocks ──► spill store                      tree of a part           scans of it
//!     └────► counts of the root (1)
//!                                                              1                  while rows arrive
//!   part:  choose splits of all nodes that are counted       /   \
//!          count their children, breadth first             2       3              one for both
//!          ... until their counts do not fit              / \     / \
//!          repartition the rows across the leaves        R1 R2   R3 R4            one, and a write
//!
//!   R1, R2, ...   fits in memory:  load ──► split to the end ──► subtree ──► sink
//!                 has no split:    giant leaf ──► sink
//!                 otherwise:       a part, with a tree of its own
//! ```

mod breadth;
mod drain;
mod grown;
mod scan;

use std::sync::Arc;

use albers_partition::counts::group::{CountColumns, Counter, GroupShape};
use albers_storage::memory_budget::Reservation;
use albers_storage::{Result, StorageError};

use crate::buffer_tree::part::Part;
use crate::buffer_tree::{BulkPlan, Intake, Loaded, RoutedRows, Router};
use scan::counted_rows;

/// What the counts of a refusal are called.
const COUNTS: &str = "the counts of the values of one part";

/// What is to be loaded, and how.
pub struct RothkoPlan<'a> {
    /// How leaves are split, and the sizes of things.
    pub bulk: &'a BulkPlan<'a>,
    /// How many nodes are counted at once at most; as many as fit when not given.
    pub count_groups: Option<usize>,
    /// Parts of so many rows are split in memory; those that fit when not given.
    pub memory_rows: Option<usize>,
}

/// Bytes of rows that were moved, before they are packed for the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Passes {
    /// Written while the rows were read; the root was counted then.
    pub imported_bytes: u64,
    /// Read to count the values of other nodes.
    pub counted_bytes: u64,
    /// Read to be divided among partitions.
    pub repartitioned_read: u64,
    /// Written then.
    pub repartitioned_written: u64,
    /// Read to be split in memory.
    pub loaded_bytes: u64,
    /// How many parts were repartitioned.
    pub n_repartitions: u64,
    /// How often a part was read to count.
    pub n_scans: u64,
}

/// Rows that are taken in, and the counts of their values.
pub struct RothkoTree<'a> {
    plan: &'a RothkoPlan<'a>,
    columns: CountColumns,
    shape: GroupShape,
    rows: Part,
    counter: Counter,
    counts: Reservation,
}

impl RothkoPlan<'_> {
    /// What the work on a part may take: its rows, or the counts of its nodes.
    fn most_bytes(&self) -> usize {
        2 * self.bulk.sizes.part_bytes
    }

    /// What all nodes that are counted at once may take, unless it is one.
    fn count_bytes(&self) -> u64 {
        self.most_bytes() as u64
    }

    /// About what rows take while they are split in memory.
    fn load_bytes(&self, n_rows: u64, payload_bytes: usize) -> usize {
        let bulk = self.bulk;
        let n_lanes = match bulk.layout.n_attributes() {
            0..=8 => 8,
            9..=12 => 12,
            13..=24 => 24,
            _ => 64,
        };
        // Points and their places, twice while they are moved; what is known of them, also by target;
        // and their order along an attribute.
        let n_facts = bulk.facts.ruled.len() + 2 * bulk.facts.targets.len();
        let point_bytes = 2 * (n_lanes + 1) * size_of::<u32>();
        let row_bytes = bulk.row_bytes() + point_bytes + n_facts * size_of::<u32>() + 16;
        (n_rows as usize).saturating_mul(row_bytes).saturating_add(payload_bytes)
    }

    /// Whether so many rows are split in memory.
    fn is_small(&self, n_rows: u64, payload_bytes: usize) -> bool {
        match self.memory_rows {
            Some(memory_rows) => n_rows <= memory_rows as u64,
            None => self.load_bytes(n_rows, payload_bytes) <= self.most_bytes(),
        }
    }

    /// The same for some rows of a part, as far as can be told before they are apart.
    fn is_small_part(&self, n_rows: u64, part: &Part) -> bool {
        let payload_bytes = part.n_payload_bytes / part.n_rows.max(1) as usize;
        self.is_small(n_rows, payload_bytes.saturating_mul(n_rows as usize))
    }
}

impl<'a> RothkoTree<'a> {
    /// Of a table of so many rows, with codes no greater than these.
    pub fn new(plan: &'a RothkoPlan<'a>, n_rows: u64, greatest: &[u32]) -> Result<RothkoTree<'a>> {
        let bulk = plan.bulk;
        let workload = bulk.plan.workload.map(|own| own.workload);
        let sensitive = match bulk.plan.has_rule() {
            true => &bulk.plan.requirement.shape().n_values[..],
            false => &[],
        };
        let columns = CountColumns::new(workload, sensitive);
        let shape = GroupShape::of_table(n_rows, greatest);
        let mut counts = bulk.budget.reserve_nothing(COUNTS);
        grow(&mut counts, shape.least_bytes(&columns), || shape.n_bytes(&columns))?;
        let counter = Counter::new(&columns, &[&shape]);
        Ok(RothkoTree { plan, columns, shape, rows: Part::counting_rows(), counter, counts })
    }

    /// Splits all rows and hands them on from left to right; the sink may fail in its own way.
    pub fn drain<E: From<StorageError>>(
        self,
        sink: &mut dyn FnMut(Loaded<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<Passes, E> {
        drain::drain(self, sink)
    }
}

impl<'a> Intake<'a> for RothkoTree<'a> {
    fn router(&self) -> Router<'a> {
        let n_attributes = self.plan.bulk.layout.n_attributes();
        let parts_of = move |codes: &[u32]| vec![0; codes.len() / n_attributes.max(1)];
        Router::new(self.plan.bulk.layout, Arc::new(parts_of), 1)
    }

    fn append(&mut self, rows: &RoutedRows) -> Result<()> {
        let bulk = self.plan.bulk;
        let group_of = vec![0; rows.block().n_rows()];
        counted_rows(bulk, rows.block(), &group_of, |rows| self.counter.add(rows));
        let (shape, columns) = (&self.shape, &self.columns);
        grow(&mut self.counts, self.counter.n_bytes(), || shape.n_bytes(columns))?;
        rows.append_to(bulk, std::slice::from_mut(&mut self.rows))
    }

    fn n_rows(&self) -> u64 {
        self.rows.n_rows
    }

    fn n_payload_bytes(&self) -> usize {
        self.rows.n_payload_bytes
    }
}

/// Grows a reservation to so many bytes. A refusal names the most that the counts can come to, since
/// that much will do.
fn grow(reserved: &mut Reservation, n_bytes: u64, most: impl FnOnce() -> u64) -> Result<()> {
    let more = (n_bytes as usize).saturating_sub(reserved.n_bytes());
    reserved.try_grow(more).map_err(|refused| match refused {
        StorageError::OverBudget { what, needed_bytes, limit_bytes } => {
            let rest = most().saturating_sub(n_bytes);
            let needed_bytes = needed_bytes.saturating_add(rest);
            crate::buffer_tree::drain::enough(StorageError::OverBudget {
                what,
                needed_bytes,
                limit_bytes,
            })
        }
        other => other,
    })
}
