//! The check before the door: every class recomputed from its rows.
//!
//! Guarantee: a [`Verified`] release satisfies its requirement, grouped by what its rows will show
//! and whatever the method that made the classes claims; and its classes are in an order that
//! depends on the seed and on the texts that they show, neither on the order of the input nor on
//! rows that are left out. Whoever describes rows gets their fingerprint and must compare it with
//! what was read.
//! Cost: one pass over the rows, and a sort of the classes.

use albers_classes::class_block::ClassBlock;
use albers_classes::packed::PackedRowIds;
use albers_classes::points::row_fingerprint;
use albers_classes::region::{is_in_box, span};
use albers_classes::{Attribute, ClassId, FeatureValue, Span};
use albers_privacy::Facts;
use albers_privacy::{ClassSummary, Requirement};
use albers_storage::watch::Watch;
use albers_table::code::Code;
use albers_table::mix::mix;
use albers_table::row::{RowId, RowIdx};
use rayon::prelude::*;

use crate::describe::{Describer, ShownCell, ShownFacts};
use crate::error::{ReleaseError, Result};
use crate::mean::{Mean, ValueSum, means_of};

/// What classes show beside the bounds of their points, and in which order they leave.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShowOptions {
    /// Decides the order of classes and rows.
    pub(crate) seed: u64,
    /// Whether classes show their regions instead of their points' bounds.
    pub(crate) show_regions: bool,
    /// Whether regions end where cuts are, and not at values of rows.
    pub(crate) ends_in_gaps: bool,
    /// Whether every row must lie in its class's region and outside of the region's holes.
    pub(crate) is_nested: bool,
    /// Values that each class shows beside its cells.
    pub(crate) n_features: usize,
    /// Whether classes show the means of their intervals.
    pub(crate) shows_means: bool,
    /// Whether classes show labels and sets by their places.
    pub(crate) shows_places: bool,
}

impl ShowOptions {
    /// One describer per attribute; `hides_missing` tells of which of them all missing values are
    /// left out, and is empty as long as nobody knows.
    pub(crate) fn describers<'a>(
        self,
        attributes: &'a [Attribute],
        hides_missing: &[bool],
    ) -> Vec<Describer<'a>> {
        let hides_missing = hides_missing.iter().copied().chain(std::iter::repeat(false));
        let describer = |(attribute, hides_missing)| {
            Describer::new(attribute)
                .with_ends_in_gaps(self.ends_in_gaps)
                .with_missing_hidden(hides_missing)
                .with_places(self.shows_places)
        };
        attributes.iter().zip(hides_missing).map(describer).collect()
    }
}

/// Classes with what they show, not yet checked.
pub(crate) struct Described<'a> {
    describers: Vec<Describer<'a>>,
    blocks: Vec<VerifiedBlock>,
    options: ShowOptions,
    /// Rows of all classes.
    pub(crate) n_rows: u64,
    /// Tells whether every row is there with its codes.
    pub(crate) fingerprint: u64,
}

/// Classes that may go out.
pub(crate) struct Verified<'a> {
    describers: Vec<Describer<'a>>,
    blocks: Vec<VerifiedBlock>,
    /// The method's classes in the order of publication.
    order: Vec<Member>,
    /// Where each published class ends in the order: classes that show the same are one.
    ends: Vec<u32>,
    /// The published classes in the order in which their rows lie in memory.
    by_memory: Vec<InMemory>,
    /// The keys that order the classes, of the first and of the last.
    key_range: Option<(u64, u64)>,
    n_rows: u64,
    /// The means of the whole class, where these are some rows of one.
    means_of_whole: Option<Vec<Option<Mean>>>,
}

struct VerifiedBlock {
    classes: ClassBlock,
    /// What each class shows, attribute by attribute.
    cells: Vec<ShownCell>,
    n_attributes: usize,
    /// The values that each class shows beside its cells.
    n_features: usize,
}

/// A class of the method's, whose rows are a published class or a part of one.
#[derive(Clone, Copy)]
struct Member {
    block: u32,
    class: u32,
    n_rows: u32,
}

/// A published class where it is met in memory: with its first member, so that nothing is looked up
/// elsewhere where that is the only one.
#[derive(Clone, Copy)]
pub struct InMemory {
    first: Member,
    n_members: u32,
    class_id: ClassId,
}

/// A published class.
#[derive(Clone, Copy)]
pub struct Class<'v> {
    /// What it shows, attribute by attribute.
    pub cells: &'v [ShownCell],
    /// The values of the published features.
    pub features: &'v [FeatureValue],
    members: &'v [Member],
    blocks: &'v [VerifiedBlock],
}

impl<'v> Class<'v> {
    /// Its rows: their places in memory and their codes, row by row.
    pub fn parts(self) -> impl Iterator<Item = (&'v [RowIdx], &'v [u32])> {
        let n_attributes = self.cells.len();
        self.members.iter().map(move |member| {
            let classes = &self.blocks[member.block as usize].classes;
            let rows = class_rows(classes, member.class as usize);
            (
                &classes.row_idxs[rows.clone()],
                &classes.codes[rows.start * n_attributes..rows.end * n_attributes],
            )
        })
    }

    /// Number of rows.
    pub fn n_rows(self) -> usize {
        self.members.iter().map(|member| member.n_rows as usize).sum()
    }
}

impl<'a> Verified<'a> {
    /// Some rows of a class that was verified as a whole, with what the whole shows; its means where
    /// these are shown.
    pub(crate) fn piece(
        describers: Vec<Describer<'a>>,
        cells: Vec<ShownCell>,
        classes: ClassBlock,
        means_of_whole: Option<Vec<Option<Mean>>>,
    ) -> Verified<'a> {
        let n_rows = classes.row_idxs.len();
        let first = Member { block: 0, class: 0, n_rows: n_rows as u32 };
        let n_attributes = describers.len();
        let n_features = classes.details.as_ref().map_or(0, |details| details.features.len());
        Verified {
            describers,
            blocks: vec![VerifiedBlock { classes, cells, n_attributes, n_features }],
            order: vec![first],
            ends: vec![1],
            by_memory: vec![InMemory { first, n_members: 1, class_id: ClassId::new(0) }],
            key_range: None,
            n_rows: n_rows as u64,
            means_of_whole,
        }
    }

    /// Number of rows.
    pub(crate) fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// Number of published classes.
    pub(crate) fn n_classes(&self) -> usize {
        self.ends.len()
    }

    /// Whether some of the classes that came show the same, and are published as one.
    pub(crate) fn has_alike(&self) -> bool {
        self.order.len() != self.ends.len()
    }

    /// One describer per attribute.
    pub(crate) fn describers(&self) -> &[Describer<'a>] {
        &self.describers
    }

    /// What the classes show, attribute by attribute.
    pub(crate) fn facts(&self) -> Vec<ShownFacts> {
        let n_attributes = self.describers.len();
        let of_block = |block: &VerifiedBlock| {
            let mut all = vec![ShownFacts::default(); n_attributes];
            let classes = block.cells.chunks_exact(n_attributes.max(1));
            classes.for_each(|cells| ShownFacts::add_class(&mut all, &self.describers, cells));
            all
        };
        let nothing = || vec![ShownFacts::default(); n_attributes];
        self.blocks.par_iter().map(of_block).reduce(nothing, |mut all, others| {
            ShownFacts::add_all(&mut all, &others);
            all
        })
    }

    /// The means of a published class, attribute by attribute, from all its rows.
    pub(crate) fn means(&self, class_id: ClassId) -> Vec<Option<Mean>> {
        if let Some(means) = &self.means_of_whole {
            return means.clone();
        }
        let class = self.class(class_id);
        let n_attributes = self.describers.len();
        let mut sums = ValueSum::of_nothing(&self.describers);
        for (_, codes) in class.parts() {
            for (attribute, describer) in self.describers.iter().enumerate() {
                if let Some(sum) = &mut sums[attribute] {
                    let of_attribute = codes[attribute..].iter().step_by(n_attributes).copied();
                    sum.add(&describer.attribute().domain, of_attribute);
                }
            }
        }
        means_of(&sums, &self.describers, class.cells, class.n_rows() as u64)
    }

    /// The keys that order the classes, of the first and of the last.
    pub(crate) fn key_range(&self) -> Option<(u64, u64)> {
        self.key_range
    }

    /// The published classes in the order in which a pass over all rows is fastest.
    pub(crate) fn classes_by_memory(&self) -> &[InMemory] {
        &self.by_memory
    }

    /// A published class that is met in memory.
    pub(crate) fn class_of<'v>(&'v self, met: &'v InMemory) -> Class<'v> {
        if met.n_members > 1 {
            return self.class(met.class_id);
        }
        let members = std::slice::from_ref(&met.first);
        let (cells, features) = shown_by(&self.blocks, met.first);
        Class { cells, features, members, blocks: &self.blocks }
    }

    /// A published class, in the order of publication.
    pub(crate) fn class(&self, class_id: ClassId) -> Class<'_> {
        let class_idx = class_id.index();
        let start = if class_idx == 0 { 0 } else { self.ends[class_idx - 1] };
        let members = &self.order[start as usize..self.ends[class_idx] as usize];
        let (cells, features) = shown_by(&self.blocks, members[0]);
        Class { cells, features, members, blocks: &self.blocks }
    }
}

/// Recomputes what classes show from their rows. `row_ids` are the numbers that the rows have in
/// their table, where only some of its rows are in memory.
pub(crate) fn describe<'a>(
    blocks: Vec<ClassBlock>,
    describers: Vec<Describer<'a>>,
    options: ShowOptions,
    row_ids: Option<&PackedRowIds>,
    watch: &dyn Watch,
) -> Result<Described<'a>> {
    let described: Vec<(VerifiedBlock, u64)> = blocks
        .into_par_iter()
        .map(|block| {
            check_block(&block, describers.len(), options)?;
            watch.done(block.row_idxs.len() as u64)?;
            Ok(describe_block(block, &describers, options, row_ids))
        })
        .collect::<Result<_>>()?;
    let fingerprint = described.iter().fold(0u64, |sum, (_, own)| sum.wrapping_add(*own));
    let blocks: Vec<VerifiedBlock> = described.into_iter().map(|(block, _)| block).collect();
    let n_rows = blocks.iter().map(|block| block.classes.row_idxs.len() as u64).sum();
    Ok(Described { describers, blocks, options, n_rows, fingerprint })
}

impl<'a> Described<'a> {
    /// Puts the classes in the order of publication and checks them. `facts` are by the rows'
    /// places in memory.
    pub(crate) fn verify(self, requirement: &Requirement, facts: &Facts) -> Result<Verified<'a>> {
        let Described { describers, blocks, options, n_rows, .. } = self;
        let mut order: Vec<(u64, Member)> = blocks
            .par_iter()
            .enumerate()
            .flat_map_iter(|(block_idx, block)| {
                let describers = &describers;
                block.classes.classes().enumerate().map(move |(class, rows)| {
                    let (cells, features) = block.shown_by(class);
                    let key = content_key(cells, features, describers, options.seed);
                    let n_rows = rows.len() as u32;
                    (key, Member { block: block_idx as u32, class: class as u32, n_rows })
                })
            })
            .collect();
        let shown = |class: &(u64, Member)| shown_by(&blocks, class.1);
        // Members of one published class may stand in any order: their rows are ordered as one.
        order.par_sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| compare_shown(&describers, shown(a), shown(b)))
        });
        let mut ends = Vec::with_capacity(order.len());
        for end in 1..=order.len() {
            let shows_the_same = end < order.len()
                && order[end].0 == order[end - 1].0
                && shown(&order[end]) == shown(&order[end - 1]);
            if !shows_the_same {
                ends.push(end as u32);
            }
        }
        let key_range = order.first().zip(order.last()).map(|(first, last)| (first.0, last.0));
        let order: Vec<Member> = order.into_iter().map(|(_, member)| member).collect();
        let by_memory = memory_order(&blocks, &order, &ends);
        let verified = Verified {
            describers,
            blocks,
            order,
            ends,
            by_memory,
            key_range,
            n_rows,
            means_of_whole: None,
        };
        check_requirement(&verified, requirement, facts)?;
        Ok(verified)
    }
}

/// The published classes in the order of their first members' rows.
fn memory_order(blocks: &[VerifiedBlock], order: &[Member], ends: &[u32]) -> Vec<InMemory> {
    const NOT_FIRST: u32 = 0;
    let mut starts = Vec::with_capacity(blocks.len());
    let mut n_classes = 0;
    for block in blocks {
        starts.push(n_classes);
        n_classes += block.classes.class_ends.len();
    }
    let nothing = Member { block: 0, class: 0, n_rows: 0 };
    let not_first =
        InMemory { first: nothing, n_members: NOT_FIRST, class_id: ClassId::new(u32::MAX) };
    let mut published = vec![not_first; n_classes];
    for (class_idx, &end) in ends.iter().enumerate() {
        let start = if class_idx == 0 { 0 } else { ends[class_idx - 1] };
        let place = |member: &&Member| starts[member.block as usize] + member.class as usize;
        let members = &order[start as usize..end as usize];
        let first = members.iter().min_by_key(place).expect("a published class has members");
        let class_id = ClassId::of_index(class_idx);
        published[place(&first)] = InMemory { first: *first, n_members: end - start, class_id };
    }
    published.retain(|class| class.n_members != NOT_FIRST);
    published
}

fn class_rows(classes: &ClassBlock, class: usize) -> std::ops::Range<usize> {
    let start = if class == 0 { 0 } else { classes.class_ends[class - 1] };
    start as usize..classes.class_ends[class] as usize
}

impl VerifiedBlock {
    /// The cells and the features of a class.
    fn shown_by(&self, class: usize) -> (&[ShownCell], &[FeatureValue]) {
        let n_attributes = self.n_attributes;
        let features = match &self.classes.details {
            Some(details) => details.features_of(class, self.n_features),
            None => &[],
        };
        (&self.cells[class * n_attributes..(class + 1) * n_attributes], features)
    }
}

fn shown_by(blocks: &[VerifiedBlock], class: Member) -> (&[ShownCell], &[FeatureValue]) {
    blocks[class.block as usize].shown_by(class.class as usize)
}

/// Refuses blocks that do not hold what they say, and rows that are not where their class is.
fn check_block(block: &ClassBlock, n_attributes: usize, options: ShowOptions) -> Result<()> {
    let (n_rows, n_classes) = (block.row_idxs.len(), block.class_ends.len());
    let n_in_classes = block.class_ends.last().map_or(0, |&end| end as usize);
    let has_empty = (0..n_classes).any(|class| {
        block.class_ends[class] <= class.checked_sub(1).map_or(0, |last| block.class_ends[last])
    });
    if n_in_classes != n_rows || block.codes.len() != n_rows * n_attributes || has_empty {
        return Err(ReleaseError::RowsChanged);
    }
    let has_regions = block.regions.len() == n_classes * n_attributes;
    if (options.show_regions || options.is_nested) && !has_regions {
        return Err(ReleaseError::Incomplete { missing: "their regions" });
    }
    let n_features = block.details.as_ref().map_or(0, |details| details.features.len());
    if n_features != n_classes * options.n_features {
        return Err(ReleaseError::Incomplete { missing: "what they show beside their cells" });
    }
    if options.is_nested && !are_in_regions(block, n_attributes) {
        return Err(ReleaseError::OutsideRegion);
    }
    Ok(())
}

/// Whether every row lies in its class's region and in none of the region's holes.
fn are_in_regions(block: &ClassBlock, n_attributes: usize) -> bool {
    block.classes().enumerate().all(|(class, rows)| {
        let region = &block.regions[class * n_attributes..(class + 1) * n_attributes];
        let codes = &block.codes[rows.start * n_attributes..rows.end * n_attributes];
        codes.chunks_exact(n_attributes).all(|row| {
            let details = block.details.as_ref();
            is_in_box(region, row) && !details.is_some_and(|own| own.holes.contain(class, row))
        })
    })
}

/// What each class of a block shows, from its rows, and the fingerprint of the rows.
fn describe_block(
    classes: ClassBlock,
    describers: &[Describer<'_>],
    options: ShowOptions,
    row_ids: Option<&PackedRowIds>,
) -> (VerifiedBlock, u64) {
    let show_regions = options.show_regions;
    let n_attributes = describers.len();
    let mut cells = Vec::with_capacity(classes.class_ends.len() * n_attributes);
    let mut fingerprint = 0u64;
    let are_plain = !show_regions && describers.iter().all(Describer::is_plain_interval);
    let (mut lo, mut hi) = (vec![0; n_attributes], vec![0; n_attributes]);
    for (class, rows) in classes.classes().enumerate() {
        let codes = &classes.codes[rows.start * n_attributes..rows.end * n_attributes];
        if are_plain {
            lo.fill(u32::MAX);
            hi.fill(0);
            for row in codes.chunks_exact(n_attributes) {
                for ((lo, hi), &code) in lo.iter_mut().zip(&mut hi).zip(row) {
                    *lo = code.min(*lo);
                    *hi = code.max(*hi);
                }
            }
            let ends = lo.iter().zip(&hi).map(|(&lo, &hi)| span(lo, hi));
            cells.extend(ends.map(ShownCell::plain_interval));
        } else {
            for (attribute, describer) in describers.iter().enumerate() {
                let shown = codes[attribute..].iter().step_by(n_attributes).copied();
                cells.push(if show_regions {
                    let region = classes.regions[class * n_attributes + attribute];
                    covering(describer, region, shown)
                } else {
                    describer.describe(shown)
                });
            }
        }
        for (row, &row_idx) in codes.chunks_exact(n_attributes).zip(&classes.row_idxs[rows]) {
            let row_id = row_ids.map_or(RowId::from(row_idx), |row_ids| row_ids.of(row_idx));
            fingerprint = fingerprint.wrapping_add(row_fingerprint(row_id, row));
        }
    }
    let n_features = options.n_features;
    (VerifiedBlock { classes, cells, n_attributes, n_features }, fingerprint)
}

/// The description of a region, widened should a row lie outside of it.
pub(crate) fn covering(
    describer: &Describer<'_>,
    region: Span,
    codes: impl Iterator<Item = u32>,
) -> ShownCell {
    let wider = codes.map(Code::new).fold(region, |(lo, hi), code| (lo.min(code), hi.max(code)));
    describer.describe_region(wider)
}

/// The order of classes with the same key: by what they publish, should different texts ever have
/// the same key; by codes where also the texts are the same.
fn compare_shown<'v>(
    describers: &[Describer<'_>],
    a: (&'v [ShownCell], &'v [FeatureValue]),
    b: (&'v [ShownCell], &'v [FeatureValue]),
) -> std::cmp::Ordering {
    if a == b {
        return std::cmp::Ordering::Equal;
    }
    let texts = |cells: &[ShownCell]| -> Vec<String> {
        let text = |(describer, &cell): (&Describer<'_>, &ShownCell)| {
            let mut text = String::new();
            describer.write_text(cell, &mut text);
            text
        };
        describers.iter().zip(cells).map(text).collect()
    };
    texts(a.0).cmp(&texts(b.0)).then_with(|| (a.1, a.0).cmp(&(b.1, b.0)))
}

/// A number that orders classes at random but depends only on the seed and on what they publish:
/// the texts of their cells, and their features.
pub(crate) fn content_key(
    cells: &[ShownCell],
    features: &[FeatureValue],
    describers: &[Describer<'_>],
    seed: u64,
) -> u64 {
    let start = mix(seed ^ 0x6a09_e667_f3bc_c908);
    let key = cells
        .iter()
        .zip(describers)
        .fold(start, |key, (&cell, describer)| mix(key ^ describer.content_hash(cell)));
    features.iter().flat_map(|value| value.to_words()).fold(key, |key, word| mix(key ^ word))
}

/// Looks at every class; of those that violate the requirement, the first in the order of
/// publication is reported, whichever thread finds it.
fn check_requirement(
    verified: &Verified<'_>,
    requirement: &Requirement,
    facts: &Facts,
) -> Result<()> {
    const CLASSES_PER_TASK: usize = 1024;
    let first_violating = |classes: &[InMemory]| -> Option<ClassId> {
        let mut summary = ClassSummary::new(requirement.shape());
        let violates = |met: &&InMemory| {
            let class = verified.class_of(met);
            if requirement.is_only_row_count().is_some_and(|k| class.n_rows() as u64 >= k) {
                return false;
            }
            summarize(class, facts, &mut summary);
            !requirement.holds(&summary)
        };
        classes.iter().filter(violates).map(|met| met.class_id).min()
    };
    let first = verified.by_memory.par_chunks(CLASSES_PER_TASK).filter_map(first_violating).min();
    let Some(class_id) = first else { return Ok(()) };
    let mut summary = ClassSummary::new(requirement.shape());
    summarize(verified.class(class_id), facts, &mut summary);
    Err(ReleaseError::RequirementViolated {
        n_rows: summary.n_rows(),
        violations: requirement.violations(&summary),
    })
}

fn summarize(class: Class<'_>, facts: &Facts, summary: &mut ClassSummary) {
    summary.clear();
    for (row_idxs, _) in class.parts() {
        row_idxs.iter().for_each(|row| facts.add(row.index(), summary));
    }
}
