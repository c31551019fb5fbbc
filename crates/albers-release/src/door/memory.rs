//! Releases of a table in memory: classes are kept as they come, and checked when all have come.
//!
//! Guarantee: over several releases, every class is a union of whole leaves: of those of the index,
//! or else of the classes of the finest release. So every record is k-bound (Iwuchukwu & Naughton
//! 2007, definition 2).
//! Cost: the rows of each release, and the number of its leaf for each row where there are several
//! releases.

use albers_classes::class_block::{ClassBlock, ClassDetails};
use albers_classes::packed::{RowBlock, RowLayout};
use albers_classes::{FeatureValue, Span};
use albers_privacy::{ClassSummary, Facts};
use rayon::prelude::*;

use super::leaves::{ClassLeaves, GiantLeaf, LeafClasses, LeafRows, class_box};
use super::plan::DoorPlan;
use crate::error::{ReleaseError, Result};
use crate::verify::ShowOptions;

/// The classes of all releases, and the leaves that they are made of.
pub(super) struct MemoryDoor {
    releases: Vec<Vec<ClassBlock>>,
    /// Only where there are several releases.
    leaves: Option<Leaves>,
}

/// Which rows make a leaf.
struct Leaves {
    /// The leaf of each row of the table.
    leaf_of: Vec<u32>,
    /// Rows of each leaf.
    sizes: Vec<u32>,
}

const NO_LEAF: u32 = u32::MAX;

impl MemoryDoor {
    pub(super) fn new(plan: &DoorPlan<'_>, n_releases: usize) -> MemoryDoor {
        let no_leaves =
            || Leaves { leaf_of: vec![NO_LEAF; plan.n_rows as usize], sizes: Vec::new() };
        MemoryDoor {
            releases: (0..n_releases).map(|_| Vec::new()).collect(),
            leaves: (n_releases > 1).then(no_leaves),
        }
    }

    /// Adds classes to a release. Those of the finest are leaves.
    pub(super) fn admit(&mut self, release: usize, block: ClassBlock) -> Result<()> {
        if release == 0
            && let Some(leaves) = &mut self.leaves
        {
            for rows in block.classes() {
                let row_ids = block.row_ids.get(rows).ok_or(ReleaseError::RowsChanged)?;
                leaves.add(row_ids.iter().copied())?;
            }
        }
        self.releases[release].push(block);
        Ok(())
    }

    /// Adds the classes that each release makes of some leaves.
    pub(super) fn admit_leaves(
        &mut self,
        leaves: LeafRows<'_>,
        classes: &[LeafClasses],
        options: ShowOptions,
    ) -> Result<()> {
        if let Some(known) = &mut self.leaves {
            for leaf in 0..leaves.ends.len() as u32 {
                let rows = leaves.of(leaf).iter();
                known.add(rows.map(|&row| leaves.rows.row_id(leaves.layout, row as usize)))?;
            }
        }
        for (release, classes) in self.releases.iter_mut().zip(classes) {
            let classes = ClassLeaves::new(leaves.ends.len(), classes, options.n_features)?;
            release.append(&mut blocks_of(leaves, &classes, options));
        }
        Ok(())
    }

    /// Adds a leaf that is a class of every release.
    pub(super) fn admit_giant(&mut self, giant: GiantLeaf<'_>, options: ShowOptions) -> Result<()> {
        for release in 0..self.releases.len() {
            let mut block = ClassBlock::default();
            for piece in giant.blocks {
                let rows = giant.read(piece)?;
                push_rows(giant.layout, &rows, 0..rows.n_rows() as u32, &mut block);
            }
            block.class_ends.push(block.row_ids.len() as u32);
            block.regions.extend_from_slice(giant.region.unwrap_or_default());
            block.details = details_of(giant.features, giant.holes, options);
            if release == 0
                && let Some(leaves) = &mut self.leaves
            {
                leaves.add(block.row_ids.iter().copied())?;
            }
            self.releases[release].push(block);
        }
        Ok(())
    }

    /// Rows of a release.
    pub(super) fn n_rows(&self, release: usize) -> u64 {
        self.releases[release].iter().map(|block| block.row_ids.len() as u64).sum()
    }

    /// Counts the sensitive codes of all rows of the finest release.
    pub(super) fn count(
        &self,
        facts: &Facts,
        n_rows: u64,
        counts: &mut ClassSummary,
    ) -> Result<()> {
        for &row in self.releases[0].iter().flat_map(|block| &block.row_ids) {
            if u64::from(row) >= n_rows {
                return Err(ReleaseError::RowsChanged);
            }
            counts.add(0, facts.codes(row as usize));
        }
        Ok(())
    }

    /// The classes of a release, taken out once they are known to be unions of whole leaves.
    pub(super) fn take(&mut self, release: usize) -> Result<Vec<ClassBlock>> {
        let blocks = std::mem::take(&mut self.releases[release]);
        if let Some(leaves) = &self.leaves
            && !blocks.par_iter().all(|block| leaves.are_whole(block))
        {
            return Err(ReleaseError::RowsChanged);
        }
        Ok(blocks)
    }
}

impl Leaves {
    /// Adds a leaf; its rows may be in no other.
    fn add(&mut self, row_ids: impl Iterator<Item = u32>) -> Result<()> {
        let leaf = self.sizes.len() as u32;
        let mut n_rows = 0;
        for row_id in row_ids {
            match self.leaf_of.get_mut(row_id as usize) {
                Some(slot) if *slot == NO_LEAF => *slot = leaf,
                _ => return Err(ReleaseError::RowsChanged),
            }
            n_rows += 1;
        }
        self.sizes.push(n_rows);
        Ok(())
    }

    /// Whether every class of a block has all rows of each of its leaves.
    fn are_whole(&self, block: &ClassBlock) -> bool {
        let mut of_class: Vec<u32> = Vec::new();
        block.classes().all(|rows| {
            let Some(row_ids) = block.row_ids.get(rows) else { return false };
            of_class.clear();
            let leaf_of = |&row: &u32| self.leaf_of.get(row as usize).copied().unwrap_or(NO_LEAF);
            of_class.extend(row_ids.iter().map(leaf_of));
            of_class.sort_unstable();
            of_class.chunk_by(|a, b| a == b).all(|same| {
                self.sizes.get(same[0] as usize).is_some_and(|&size| size as usize == same.len())
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
            block.class_ends.push(block.row_ids.len() as u32);
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
        block.row_ids.push(rows.row_id(layout, row as usize));
        let start = block.codes.len();
        block.codes.resize(start + n_attributes, 0);
        rows.codes(layout, row as usize, &mut block.codes[start..]);
    }
}
