//! What a method hands to the release: rows in groups, with their codes.

use albers_table::row::RowIdx;

use crate::region::{ClassRegion, FeatureValue, Holes, Span};

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
    /// The place of each row in the table, which is in memory.
    pub row_idxs: Vec<RowIdx>,
    /// The codes of each row, row by row.
    pub codes: Vec<u32>,
}

/// A run of classes.
#[derive(Default)]
pub struct ClassBlock {
    /// The place of each row among those in memory, class by class: that in the table, where all
    /// of it is.
    pub row_idxs: Vec<RowIdx>,
    /// The codes of each row, row by row.
    pub codes: Vec<u32>,
    /// Where each class ends among the rows.
    pub class_ends: Vec<u32>,
    /// The least and greatest code of each class's region, attribute by attribute; empty when
    /// regions were not asked for.
    pub regions: Vec<Span>,
    /// What else there is to tell of the classes; most methods tell nothing.
    pub details: Option<Box<ClassDetails>>,
}

/// What some classes show or are bounded by beside their boxes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClassDetails {
    /// The values of the published features, class by class.
    pub features: Vec<FeatureValue>,
    /// The holes of the classes' regions.
    pub holes: Holes,
}

impl ClassDetails {
    /// The values that a class shows, of so many features.
    pub fn features_of(&self, class_idx: usize, n_features: usize) -> &[FeatureValue] {
        &self.features[class_idx * n_features..(class_idx + 1) * n_features]
    }

    /// Adds the next class.
    pub fn push(&mut self, features: &[FeatureValue], holes: &[Span]) {
        self.features.extend_from_slice(features);
        self.holes.push(holes.iter().copied());
    }

    /// Forgets all classes and keeps the room.
    pub fn clear(&mut self) {
        self.features.clear();
        self.holes.clear();
    }
}

impl Groups {
    /// Classes that hold all rows.
    pub fn of_all(n_attributes: usize, blocks: Vec<ClassBlock>) -> Groups {
        Groups { n_attributes, blocks, suppressed: Suppressed::default() }
    }

    /// Number of rows in classes.
    pub fn n_rows(&self) -> usize {
        self.blocks.iter().map(|block| block.row_idxs.len()).sum()
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.blocks.iter().map(|block| block.class_ends.len()).sum()
    }
}

impl ClassBlock {
    /// Adds a class with its region and the features that it shows: its rows and their codes.
    pub fn push_class(
        &mut self,
        row_idxs: &[RowIdx],
        codes: &[u32],
        region: &ClassRegion,
        features: &[FeatureValue],
    ) {
        self.row_idxs.extend_from_slice(row_idxs);
        self.codes.extend_from_slice(codes);
        self.class_ends.push(self.row_idxs.len() as u32);
        self.regions.extend_from_slice(region.outer());
        let details = self.details.get_or_insert_default();
        details.push(features, &region.holes().concat());
    }

    /// The rows of each class, as ranges into the block's rows.
    pub fn classes(&self) -> impl ExactSizeIterator<Item = std::ops::Range<usize>> + '_ {
        (0..self.class_ends.len()).map(|class_idx| {
            let start = if class_idx == 0 { 0 } else { self.class_ends[class_idx - 1] };
            start as usize..self.class_ends[class_idx] as usize
        })
    }
}
