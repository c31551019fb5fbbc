//! Releases of a table in memory: classes are kept as they come, and checked when all have come.
//!
//! Guarantee: over several releases, every class is a union of whole classes of the next finer one,
//! as they are shown. So some of them together tell no more than the finest of these, and every
//! record is k-bound (Iwuchukwu & Naughton 2007, definition 2).
//! Cost: the rows of each release, and the number of its class in the finer one for each row where
//! there are several releases.

use albers_classes::class_block::{ClassBlock, ClassDetails};
use albers_classes::packed::{RowBlock, RowLayout};
use albers_classes::{ClassId, FeatureValue, Span};
use albers_privacy::{ClassSummary, Facts};
use albers_table::row::{RowId, RowIdx};
use rayon::prelude::*;

use super::leaves::{ClassLeaves, GiantLeaf, LeafClasses, LeafRows, class_box};
use crate::error::{ReleaseError, Result};
use crate::verify::{ShowOptions, Verified};

/// The classes of all releases.
pub(super) struct MemoryDoor {
    releases: Vec<Vec<ClassBlock>>,
    /// The classes of the last release that was verified, where there are several.
    finer: Option<Finer>,
}

/// Which rows make a class of the next finer release.
struct Finer {
    /// The class of each row of the table.
    class_of: Vec<ClassId>,
    /// Rows of each class.
    sizes: Vec<u32>,
}

const NO_CLASS: ClassId = ClassId::new(u32::MAX);

impl MemoryDoor {
    pub(super) fn new(n_releases: usize) -> MemoryDoor {
        MemoryDoor { releases: (0..n_releases).map(|_| Vec::new()).collect(), finer: None }
    }

    /// Adds classes to a release.
    pub(super) fn admit(&mut self, release: usize, block: ClassBlock) {
        self.releases[release].push(block);
    }

    /// Adds the classes that each release makes of some leaves.
    pub(super) fn admit_leaves(
        &mut self,
        leaves: LeafRows<'_>,
        classes: &[LeafClasses],
        options: ShowOptions,
    ) -> Result<()> {
        for (release, classes) in self.releases.iter_mut().zip(classes) {
            let classes = ClassLeaves::new(leaves.ends.len(), classes, options.n_features)?;
            release.append(&mut blocks_of(leaves, &classes, options));
        }
        Ok(())
    }

    /// Adds a leaf that is a class of a release.
    pub(super) fn admit_giant(
        &mut self,
        release: usize,
        giant: GiantLeaf<'_>,
        options: ShowOptions,
    ) -> Result<()> {
        let mut block = ClassBlock::default();
        for piece in giant.blocks {
            let rows = giant.read(piece)?;
            push_rows(giant.layout, &rows, 0..rows.n_rows() as u32, &mut block);
        }
        block.class_ends.push(block.row_idxs.len() as u32);
        block.regions.extend_from_slice(giant.region.unwrap_or_default());
        block.details = details_of(giant.features, giant.holes, options);
        self.releases[release].push(block);
        Ok(())
    }

    /// Rows of a release.
    pub(super) fn n_rows(&self, release: usize) -> u64 {
        self.releases[release].iter().map(|block| block.row_idxs.len() as u64).sum()
    }

    /// Counts the sensitive codes of all rows of the finest release.
    pub(super) fn count(
        &self,
        facts: &Facts,
        n_rows: u64,
        counts: &mut ClassSummary,
    ) -> Result<()> {
        for &row in self.releases[0].iter().flat_map(|block| &block.row_idxs) {
            if RowId::from(row).get() >= n_rows {
                return Err(ReleaseError::RowsChanged);
            }
            counts.add(0, facts.codes(row.index()));
        }
        Ok(())
    }

    /// The classes of a release, taken out once they are known to be unions of whole classes of the
    /// release that was noted last.
    pub(super) fn take(&mut self, release: usize) -> Result<Vec<ClassBlock>> {
        let blocks = std::mem::take(&mut self.releases[release]);
        match &self.finer {
            Some(finer) if !blocks.par_iter().all(|block| finer.are_whole(block)) => {
                Err(ReleaseError::NotNested)
            }
            _ => Ok(blocks),
        }
    }

    /// Notes what a release shows: the next is to be made of it. Where there are several releases,
    /// no two classes may show the same.
    pub(super) fn note(&mut self, classes: &Verified<'_>, n_rows: u64) -> Result<()> {
        if self.releases.len() > 1 {
            if classes.has_alike() {
                return Err(ReleaseError::NotNested);
            }
            self.finer = Some(Finer::of(classes, n_rows)?);
        }
        Ok(())
    }
}

impl Finer {
    /// The classes of a release of a table of so many rows; none may be in two.
    fn of(classes: &Verified<'_>, n_rows: u64) -> Result<Finer> {
        let mut class_of = vec![NO_CLASS; n_rows as usize];
        let mut sizes = Vec::with_capacity(classes.n_classes());
        for class_id in ClassId::first(classes.n_classes()) {
            let class = classes.class(class_id);
            for row in class.parts().flat_map(|(row_idxs, _)| row_idxs) {
                match class_of.get_mut(row.index()) {
                    Some(slot) if *slot == NO_CLASS => *slot = class_id,
                    _ => return Err(ReleaseError::RowsChanged),
                }
            }
            sizes.push(class.n_rows() as u32);
        }
        Ok(Finer { class_of, sizes })
    }

    /// Whether every class of a block has all rows of each class of the finer release that it has
    /// any of.
    fn are_whole(&self, block: &ClassBlock) -> bool {
        let mut of_class: Vec<ClassId> = Vec::new();
        block.classes().all(|rows| {
            let Some(row_idxs) = block.row_idxs.get(rows) else { return false };
            of_class.clear();
            let finer_of = |row: &RowIdx| self.class_of.get(row.index()).copied();
            of_class.extend(row_idxs.iter().map(|row| finer_of(row).unwrap_or(NO_CLASS)));
            of_class.sort_unstable();
            of_class.chunk_by(|a, b| a == b).all(|same| {
                self.sizes.get(same[0].index()).is_some_and(|&size| size as usize == same.len())
            })
        })
    }
}

/// The classes of some leaves, in blocks that are described in parallel.
fn blocks_of(
    leaves: LeafRows<'_>,
    classes: &ClassLeaves<'_>,
    options: ShowOptions,
) -> Vec<ClassBlock> {
    const CLASSES_PER_BLOCK: usize = 2048;
    let n_attributes = leaves.layout.n_attributes();
    let starts: Vec<usize> = (0..classes.n_classes()).step_by(CLASSES_PER_BLOCK).collect();
    let block_from = |&start: &usize| {
        let mut block = ClassBlock::default();
        let mut details = ClassDetails::default();
        let mut region = Vec::new();
        for class in start..(start + CLASSES_PER_BLOCK).min(classes.n_classes()) {
            for &leaf in classes.of(class) {
                let rows = leaves.of(leaf).iter().copied();
                push_rows(leaves.layout, leaves.rows, rows, &mut block);
            }
            block.class_ends.push(block.row_idxs.len() as u32);
            class_box(leaves.regions, classes.of(class), n_attributes, &mut region);
            block.regions.extend_from_slice(&region);
            details.push(classes.features(class, options.n_features), classes.holes(class));
        }
        block.details = has_details(options).then(|| Box::new(details));
        block
    };
    starts.par_iter().map(block_from).collect()
}

fn has_details(options: ShowOptions) -> bool {
    options.is_nested || options.n_features > 0
}

fn details_of(
    features: &[FeatureValue],
    holes: &[Span],
    options: ShowOptions,
) -> Option<Box<ClassDetails>> {
    has_details(options).then(|| {
        let mut details = ClassDetails::default();
        details.push(features, holes);
        Box::new(details)
    })
}

/// Adds packed rows, by their numbers and their codes.
fn push_rows(
    layout: &RowLayout,
    rows: &RowBlock,
    places: impl Iterator<Item = u32>,
    block: &mut ClassBlock,
) {
    let n_attributes = layout.n_attributes();
    for row in places {
        block.row_idxs.push(RowIdx::of_id(rows.row_id(layout, row as usize)));
        let start = block.codes.len();
        block.codes.resize(start + n_attributes, 0);
        rows.codes(layout, row as usize, &mut block.codes[start..]);
    }
}
