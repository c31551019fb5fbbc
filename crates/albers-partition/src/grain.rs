//! Sizes that decide which cuts are made.
//!
//! A release is a function of the rows, the job and the seed, and never of the memory at hand. So
//! the size of a sample, of a cell and of what is cut at once follow from the least memory that a
//! job is planned for; more memory only saves spilling.

/// The least memory that jobs are planned for, unless they say another.
pub const LEAST_BYTES: usize = 64_000_000;

/// Sizes that decide which cuts are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grain {
    /// Tables, and parts of tables, up to this size are cut with all their rows at hand.
    pub whole_rows: usize,
    /// A cell of the sampled top has about this many rows: it fits in a core's cache.
    pub cell_rows: usize,
    /// What a sample may take.
    pub sample_bytes: usize,
    /// The tuples of a sample, where it is not to be as large as it may.
    pub sample_rows: Option<usize>,
}

impl Default for Grain {
    fn default() -> Grain {
        Grain::of(LEAST_BYTES)
    }
}

impl Grain {
    /// The sizes for this much memory.
    pub fn of(least_bytes: usize) -> Grain {
        const WHOLE_ROWS: u128 = 1 << 17;
        let whole_rows = (WHOLE_ROWS * least_bytes as u128 / LEAST_BYTES as u128).max(32) as usize;
        let (cell_rows, sample_bytes) = (whole_rows / 8, least_bytes / 8);
        Grain { whole_rows, cell_rows, sample_bytes, sample_rows: None }
    }

    /// Every table is cut at once.
    pub fn exact() -> Grain {
        Grain { whole_rows: usize::MAX, cell_rows: usize::MAX, ..Grain::default() }
    }

    /// Whether some tables are not cut at once, so that samples are drawn of them.
    pub fn has_samples(&self) -> bool {
        self.whole_rows < usize::MAX
    }

    /// Distinct tuples of a sample, each with its hash and its number of rows; while it is drawn
    /// there are a quarter more.
    pub fn sample_tuples(&self, n_attributes: usize) -> usize {
        if let Some(n_rows) = self.sample_rows {
            return n_rows.max(1);
        }
        let tuple_bytes = n_attributes * size_of::<u32>() + 56;
        (self.sample_bytes / tuple_bytes).clamp(16, self.whole_rows.max(8).saturating_mul(2))
    }

    /// The most cells of a tree that is grown as far as its sample supports it: with its regions and
    /// comparisons it takes about as much as a sample may.
    pub fn top_cells(&self, n_attributes: usize) -> usize {
        let node_bytes = n_attributes * size_of::<(u32, u32)>() + 128;
        (self.sample_bytes / (2 * node_bytes)).max(16)
    }
}
