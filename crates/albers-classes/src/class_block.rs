//! What a method hands to the release: rows in groups, with their codes.

/// All rows of a table, divided into classes.
pub struct Groups {
    /// Number of attributes.
    pub n_attributes: usize,
    /// The classes, in blocks; a class lies in one block.
    pub blocks: Vec<ClassBlock>,
    /// Rows that are in no class: they are left out of the release.
    pub suppressed: Suppressed,
}

/// Rows that are left out of a release.
#[derive(Default)]
pub struct Suppressed {
    /// The number of each row in the table.
    pub row_ids: Vec<u32>,
    /// The codes of each row, row by row.
    pub codes: Vec<u32>,
}

/// A run of classes.
#[derive(Default)]
pub struct ClassBlock {
    /// The number of each row in the table, class by class.
    pub row_ids: Vec<u32>,
    /// The codes of each row, row by row.
    pub codes: Vec<u32>,
    /// Where each class ends among the rows.
    pub class_ends: Vec<u32>,
    /// The least and greatest code of each class's region, attribute by attribute; empty when
    /// regions were not asked for.
    pub regions: Vec<(u32, u32)>,
}

impl Groups {
    /// Classes that hold all rows.
    pub fn of_all(n_attributes: usize, blocks: Vec<ClassBlock>) -> Groups {
        Groups { n_attributes, blocks, suppressed: Suppressed::default() }
    }

    /// Number of rows in classes.
    pub fn n_rows(&self) -> usize {
        self.blocks.iter().map(|block| block.row_ids.len()).sum()
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.blocks.iter().map(|block| block.class_ends.len()).sum()
    }
}

impl ClassBlock {
    /// The rows of each class, as ranges into the block's rows.
    pub fn classes(&self) -> impl ExactSizeIterator<Item = std::ops::Range<usize>> + '_ {
        (0..self.class_ends.len()).map(|class_idx| {
            let start = if class_idx == 0 { 0 } else { self.class_ends[class_idx - 1] };
            start as usize..self.class_ends[class_idx] as usize
        })
    }
}
