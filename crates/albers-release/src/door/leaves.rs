//! Leaves of an index, and the classes that are made of them.

use albers_classes::packed::{RowBlock, RowLayout};
use albers_classes::{ClassDetails, ClassId, FeatureValue, Span};
use albers_storage::spill::{Block, SpillStore};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::describe::{Describer, ShownCell};
use crate::error::{ReleaseError, Result};
use crate::verify::{ShowOptions, covering};

/// Some leaves of an index, with their rows in tree order.
#[derive(Clone, Copy)]
pub struct LeafRows<'s> {
    /// How the rows are packed.
    pub layout: &'s RowLayout,
    /// The rows.
    pub rows: &'s RowBlock,
    /// Their places, leaf by leaf.
    pub order: &'s [u32],
    /// Where each leaf ends in the order.
    pub ends: &'s [u32],
    /// The least and greatest code of each leaf on each attribute, one after another. They matter
    /// only for attributes that show plain intervals.
    pub boxes: &'s [Span],
    /// The regions of the leaves, one after another, where classes have regions.
    pub regions: Option<&'s [Span]>,
}

impl<'s> LeafRows<'s> {
    /// The places of a leaf's rows.
    pub(super) fn of(&self, leaf: u32) -> &'s [u32] {
        let start = if leaf == 0 { 0 } else { self.ends[leaf as usize - 1] };
        &self.order[start as usize..self.ends[leaf as usize] as usize]
    }

    /// What a class of some leaves shows. The boxes of the index tell it where they can; the door
    /// will look at the rows. `region` is that of the class, where regions are shown.
    pub(super) fn describe(
        &self,
        describers: &[Describer<'_>],
        class: &[u32],
        region: &[Span],
    ) -> Vec<ShownCell> {
        let n_attributes = describers.len();
        let mut around = Vec::with_capacity(n_attributes);
        class_box(Some(self.boxes), class, n_attributes, &mut around);
        let of_attribute = |attribute: usize| {
            let describer = &describers[attribute];
            let rows = class.iter().flat_map(|&leaf| self.of(leaf));
            let codes = rows.map(|&row| self.rows.code(self.layout, row as usize, attribute));
            match region.get(attribute) {
                Some(&span) => covering(describer, span, codes),
                None if describer.is_plain_interval() => {
                    ShownCell::plain_interval(around[attribute])
                }
                None => describer.describe(codes),
            }
        };
        (0..n_attributes).map(of_attribute).collect()
    }

    /// For each leaf, the number of the first class that shows what its class shows.
    pub(super) fn shown_together(
        &self,
        describers: &[Describer<'_>],
        (of_leaf, features): (&[ClassId], &[FeatureValue]),
        options: ShowOptions,
    ) -> Result<Vec<ClassId>> {
        let (by_class, ends) = by_class(self.ends.len(), of_leaf)?;
        let n_features = options.n_features;
        if features.len() != ends.len() * n_features {
            return Err(ReleaseError::Incomplete { missing: "what they show beside their cells" });
        }
        let cells_of = |class: usize| {
            let start = if class == 0 { 0 } else { ends[class - 1] };
            let of_class = &by_class[start as usize..ends[class] as usize];
            let mut region = Vec::new();
            if options.show_regions {
                class_box(self.regions, of_class, describers.len(), &mut region);
            }
            self.describe(describers, of_class, &region)
        };
        let cells: Vec<Vec<ShownCell>> = (0..ends.len()).into_par_iter().map(cells_of).collect();
        let mut first_of: FxHashMap<(&[ShownCell], &[FeatureValue]), ClassId> =
            FxHashMap::default();
        let firsts: Vec<ClassId> = ClassId::first(cells.len())
            .zip(&cells)
            .map(|(class, own)| {
                let at = class.index() * n_features;
                *first_of.entry((own, &features[at..at + n_features])).or_insert(class)
            })
            .collect();
        Ok(of_leaf.iter().map(|class| firsts[class.index()]).collect())
    }

    /// Refuses leaves that do not hold what they say.
    pub(super) fn check(&self, n_attributes: usize, options: ShowOptions) -> Result<()> {
        let n_rows = self.ends.last().map_or(0, |&end| end as usize);
        let n_spans = self.ends.len() * n_attributes;
        let is_whole = n_rows == self.order.len()
            && self.boxes.len() == n_spans
            && self.ends.is_sorted_by(|a, b| a < b)
            && self.ends.first().is_none_or(|&end| end > 0);
        if !is_whole || self.layout.n_attributes() != n_attributes {
            return Err(ReleaseError::RowsChanged);
        }
        let has_regions = self.regions.is_some_and(|regions| regions.len() == n_spans);
        if (options.show_regions || options.is_nested) && !has_regions {
            return Err(ReleaseError::Incomplete { missing: "their regions" });
        }
        Ok(())
    }
}

/// The classes that one release makes of some leaves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeafClasses {
    /// The class of each leaf, numbered from 0; without it each leaf is a class.
    pub of_leaf: Option<Vec<ClassId>>,
    /// What else there is to tell of the classes.
    pub details: Option<ClassDetails>,
}

impl From<Option<Vec<ClassId>>> for LeafClasses {
    fn from(of_leaf: Option<Vec<ClassId>>) -> LeafClasses {
        LeafClasses { of_leaf, details: None }
    }
}

/// What the classes of a release are made of: the classes of the next finer one; of the finest, the
/// leaves.
#[derive(Clone, Copy)]
pub(super) struct Finer<'c> {
    /// The number of the first class or leaf at hand.
    pub(super) first: u64,
    /// The class of each leaf, numbered from 0; without it each leaf is one.
    pub(super) of_leaf: Option<&'c [ClassId]>,
}

impl Finer<'_> {
    /// The number of what a leaf lies in.
    pub(super) fn of(&self, leaf: u32) -> u64 {
        self.first + u64::from(self.of_leaf.map_or(leaf, |of_leaf| of_leaf[leaf as usize].get()))
    }
}

/// A leaf whose rows do not fit in memory: a class of its own in every release.
#[derive(Clone, Copy)]
pub struct GiantLeaf<'s> {
    /// How the rows are packed.
    pub layout: &'s RowLayout,
    /// Where they are.
    pub store: &'s SpillStore,
    /// Their blocks there.
    pub blocks: &'s [Block],
    /// Its region, where classes have regions.
    pub region: Option<&'s [Span]>,
    /// The holes of its region, box after box.
    pub holes: &'s [Span],
    /// What it shows beside its quasi-identifiers, release by release.
    pub features: &'s [FeatureValue],
}

impl GiantLeaf<'_> {
    /// The rows of one of its blocks.
    pub(super) fn read(&self, block: &Block) -> Result<RowBlock> {
        let mut rows = RowBlock::default();
        rows.read_from(self.layout, &self.store.read(block)?);
        Ok(rows)
    }

    /// Refuses a leaf that does not come with what it should.
    pub(super) fn check(&self, n_attributes: usize, options: ShowOptions) -> Result<()> {
        let has_region = self.region.is_some_and(|region| region.len() == n_attributes);
        if (options.show_regions || options.is_nested) && !has_region {
            return Err(ReleaseError::Incomplete { missing: "their regions" });
        }
        Ok(())
    }
}

/// The leaves of each class, and what else there is to tell of it.
pub(super) struct ClassLeaves<'c> {
    /// Class by class.
    leaves: Vec<u32>,
    ends: Vec<u32>,
    details: Option<&'c ClassDetails>,
}

impl<'c> ClassLeaves<'c> {
    pub(super) fn new(
        n_leaves: usize,
        classes: &'c LeafClasses,
        n_features: usize,
    ) -> Result<ClassLeaves<'c>> {
        let details = classes.details.as_ref();
        let (leaves, ends) = match &classes.of_leaf {
            None => ((0..n_leaves as u32).collect(), (1..=n_leaves as u32).collect()),
            Some(class_of) => by_class(n_leaves, class_of)?,
        };
        let has_features = details.map_or(0, |own| own.features.len()) == ends.len() * n_features;
        let n_holed = details.map_or(0, |own| own.holes.n_classes());
        if !has_features || (n_holed > 0 && n_holed != ends.len()) {
            return Err(ReleaseError::Incomplete { missing: "what they show beside their cells" });
        }
        Ok(ClassLeaves { leaves, ends, details })
    }

    pub(super) fn n_classes(&self) -> usize {
        self.ends.len()
    }

    /// The leaves of a class.
    pub(super) fn of(&self, class: usize) -> &[u32] {
        let start = if class == 0 { 0 } else { self.ends[class - 1] };
        &self.leaves[start as usize..self.ends[class] as usize]
    }

    /// The features of a class.
    pub(super) fn features(&self, class: usize, n_features: usize) -> &[FeatureValue] {
        self.details.map_or(&[], |details| details.features_of(class, n_features))
    }

    /// The holes of a class, box after box.
    pub(super) fn holes(&self, class: usize) -> &[Span] {
        self.details.map_or(&[], |details| details.holes.of(class))
    }
}

/// The leaves class by class, and where each class ends; every class must have a leaf.
fn by_class(n_leaves: usize, class_of: &[ClassId]) -> Result<(Vec<u32>, Vec<u32>)> {
    let n_classes = class_of.iter().max().map_or(0, |class| class.index() + 1);
    if class_of.len() != n_leaves || n_classes > n_leaves {
        return Err(ReleaseError::RowsChanged);
    }
    let mut next = vec![0u32; n_classes + 1];
    class_of.iter().for_each(|class| next[class.index() + 1] += 1);
    if next[1..].contains(&0) {
        return Err(ReleaseError::RowsChanged);
    }
    for class in 0..n_classes {
        next[class + 1] += next[class];
    }
    let ends = next[1..].to_vec();
    let mut leaves = vec![0; n_leaves];
    for (leaf, class) in (0u32..).zip(class_of) {
        let slot = &mut next[class.index()];
        leaves[*slot as usize] = leaf;
        *slot += 1;
    }
    Ok((leaves, ends))
}

/// The smallest box around the boxes of a class's leaves, where there are any.
pub(super) fn class_box(
    boxes: Option<&[Span]>,
    class: &[u32],
    n_attributes: usize,
    around: &mut Vec<Span>,
) {
    around.clear();
    let Some(boxes) = boxes else { return };
    for &leaf in class {
        let of_leaf = &boxes[leaf as usize * n_attributes..(leaf as usize + 1) * n_attributes];
        if around.is_empty() {
            around.extend_from_slice(of_leaf);
        } else {
            for (all, span) in around.iter_mut().zip(of_leaf) {
                *all = (all.0.min(span.0), all.1.max(span.1));
            }
        }
    }
}
