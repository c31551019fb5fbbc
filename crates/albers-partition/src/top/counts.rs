//! What became of the trees that were grown on samples: for the owner of the table alone.

/// What became of the trees that were grown on samples of a table and of its parts. It is a function
/// of the rows and the plan, whatever the memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SampledTops {
    /// How often rows were divided anew at most: trees one below the other.
    pub repartitions: u64,
    /// Trees along which rows were divided.
    pub trees: u64,
    /// Their splits.
    pub splits: u64,
    /// Splits that were undone, since with all rows some part violated the requirement.
    pub pruned: u64,
    /// Parts whose sample supported no split that held with all rows, and that were divided without
    /// a test.
    pub fell_back: u64,
    /// Parts of more rows than are cut at once that stayed whole, although some split of them may be
    /// allowable.
    pub maybe_divisible: u64,
}

impl SampledTops {
    /// Adds a tree of so many cells, of whose splits some were kept, below so many others.
    pub fn add_tree(&mut self, depth: usize, n_cells: usize, n_kept: usize) {
        if n_cells < 2 {
            return;
        }
        let n_splits = n_cells as u64 - 1;
        self.repartitions = self.repartitions.max(depth as u64 + 1);
        self.trees += 1;
        self.splits += n_splits;
        self.pruned += n_splits - n_kept as u64;
    }

    /// Adds what became of parts that lie beside each other.
    pub fn merge(&mut self, other: &SampledTops) {
        self.repartitions = self.repartitions.max(other.repartitions);
        self.trees += other.trees;
        self.splits += other.splits;
        self.pruned += other.pruned;
        self.fell_back += other.fell_back;
        self.maybe_divisible += other.maybe_divisible;
    }

    /// The same below the tree of the whole table, which has so many cells and kept some splits.
    pub fn below(mut self, n_cells: usize, n_kept: usize) -> SampledTops {
        self.repartitions += u64::from(n_cells > 1);
        let mut tops = SampledTops::default();
        tops.add_tree(0, n_cells, n_kept);
        tops.merge(&self);
        tops
    }
}
