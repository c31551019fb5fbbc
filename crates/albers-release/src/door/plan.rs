//! What comes to the door, and what it is checked against.

use albers_classes::Attribute;
use albers_classes::packed::{FactColumns, RowLayout};
use albers_privacy::Facts;
use albers_storage::memory_budget::MemoryBudget;
use albers_storage::spill::SpillStore;
use albers_storage::threads;

use crate::publish::{
    CarriedColumn, FeatureColumn, Output, OutputColumn, Payload, SlabLimits, Values,
};
use crate::verify::ShowOptions;

/// What is released, and what it is checked against.
pub struct DoorPlan<'a> {
    /// The quasi-identifiers.
    pub attributes: &'a [Attribute],
    /// The columns of the release, in order.
    pub columns: &'a [OutputColumn],
    /// What classes show beside their quasi-identifiers; behind the last of these columns.
    pub features: &'a [FeatureColumn],
    /// How intervals are written.
    pub values: Values,
    /// The byte between the cells of text, where the sink does not tell it.
    pub delimiter: Option<u8>,
    /// Decides the order of classes and rows.
    pub seed: u64,
    /// Whether classes show their regions instead of their points' bounds.
    pub show_regions: bool,
    /// Whether regions end where cuts are, and not at values of rows.
    pub ends_in_gaps: bool,
    /// Whether classes come with regions and their holes. Then every row must lie in its class's
    /// region and outside of the holes; otherwise a region is widened to its rows.
    pub is_nested: bool,
    /// Rows that were read: every one must come through the door or be left out.
    pub n_rows: u64,
    /// How many of them miss the value of each attribute, where its domain is that of other rows.
    pub n_missing: Option<Vec<u64>>,
    /// The fingerprint of their codes.
    pub fingerprint: u64,
    /// How many rows may be left out.
    pub max_left_out: u64,
    /// Whether all of them may be.
    pub may_be_empty: bool,
    /// Where the rows have their facts and what they carry.
    pub rows: RowStore<'a>,
}

/// Where the rows that come to the door have their facts and what they carry.
#[derive(Clone, Copy)]
pub enum RowStore<'a> {
    /// The table is in memory; rows are told by their numbers.
    Memory(TableRows<'a>),
    /// Rows bring everything along, packed; classes are shuffled into buckets.
    Packed(PackedRows<'a>),
}

/// What rows of a table in memory have, by their numbers.
#[derive(Clone, Copy)]
pub struct TableRows<'a> {
    /// What the requirement looks at.
    pub facts: &'a Facts,
    /// The codes of all sensitive columns, which the measures look at.
    pub sensitive: &'a [Vec<u32>],
    /// The columns that leave as they came.
    pub carried: &'a [CarriedColumn],
}

/// What packed rows have, and where they are kept.
#[derive(Clone, Copy)]
pub struct PackedRows<'a> {
    /// How rows are packed.
    pub layout: &'a RowLayout,
    /// Their facts.
    pub facts: &'a FactColumns,
    /// The facts that the measures look at: all sensitive columns.
    pub sensitive_facts: &'a [usize],
    /// The columns that leave as they came.
    pub payload: &'a Payload,
    /// About how much all rows carry.
    pub payload_bytes: usize,
    /// The memory of all.
    pub budget: &'a MemoryBudget,
    /// Where what does not fit goes.
    pub store: &'a SpillStore,
}

/// The sizes of things in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct BucketSizes {
    /// Number of buckets; a power of two.
    pub(super) n_buckets: usize,
    /// What is written to the store at once.
    pub(super) block_bytes: usize,
    /// What a thread sorts by bucket at a time.
    pub(super) stretch_bytes: usize,
    /// What is built before it is written to the release.
    pub(super) slab: SlabLimits,
}

impl<'a> DoorPlan<'a> {
    pub(super) fn show_options(&self) -> ShowOptions {
        ShowOptions {
            seed: self.seed,
            show_regions: self.show_regions,
            ends_in_gaps: self.ends_in_gaps,
            is_nested: self.is_nested,
            n_features: self.features.len(),
            shows_means: self.values == Values::Mean,
            shows_places: self.values == Values::Features,
        }
    }

    /// What a release looks like; where rows are packed, built within the budget.
    pub(super) fn output(&self, sizes: Option<&BucketSizes>) -> Output<'a> {
        Output {
            columns: self.columns,
            features: self.features,
            values: self.values,
            delimiter: self.delimiter,
            seed: self.seed,
            limits: sizes.map_or_else(SlabLimits::default, |sizes| sizes.slab),
        }
    }
}

impl BucketSizes {
    /// How the classes of so many rows are shuffled within the budget, for all releases at once.
    pub(super) fn within(rows: &PackedRows<'_>, n_rows: u64, n_releases: usize) -> BucketSizes {
        let PackedRows { layout, budget, payload_bytes, .. } = *rows;
        let budget_bytes = budget.limit_bytes();
        let block_bytes = (budget_bytes / 1024).next_power_of_two().clamp(1 << 10, 1 << 18);
        let n_bytes = n_rows as usize * row_bytes(layout) + 3 * payload_bytes;
        let wanted = n_bytes.div_ceil((budget_bytes / 6).max(1)).next_power_of_two();
        let most = (budget_bytes / 8 / n_releases / block_bytes).max(2);
        // The greatest power of two that is not above the most.
        let most = 1 << most.ilog2();
        // A slab is built in the formats of all columns, and the next while it is written.
        let n_slab_bytes = (budget_bytes / 8).clamp(1 << 16, 256 << 20);
        let n_slab_rows = n_slab_bytes / (64 * (layout.n_attributes() + 1));
        BucketSizes {
            n_buckets: wanted.min(most),
            block_bytes,
            stretch_bytes: stretch_bytes(budget_bytes),
            slab: SlabLimits { n_rows: n_slab_rows.clamp(64, 1 << 18), n_bytes: n_slab_bytes },
        }
    }
}

/// Rows that one thread sorts by bucket at a time. Of each there are two rounds of two, and all of
/// them together take no more than this.
fn stretch_bytes(budget_bytes: usize) -> usize {
    const MOST_BYTES: usize = 16 << 20;
    const LEAST_STRETCH_BYTES: usize = 1 << 16;
    let all_bytes = (budget_bytes / 16).min(MOST_BYTES);
    (all_bytes / (4 * threads::of_pool())).max(LEAST_STRETCH_BYTES)
}

/// About how much a row takes while its bucket goes through the door, payload left out.
pub(super) fn row_bytes(layout: &RowLayout) -> usize {
    // Packed, as codes, row numbers, facts, and its share of a class's description.
    layout.stride_bytes() + 4 * layout.n_attributes() + 4 * layout.n_facts() + 32
}
