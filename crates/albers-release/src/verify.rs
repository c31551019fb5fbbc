//! The check before the door: every class recomputed from its rows.
//!
//! Guarantee: a [`Verified`] release satisfies its requirement, grouped by what its rows will show
//! and whatever the method that made the groups claims; it holds exactly the rows that were read,
//! with their codes, but for those that may be and are left out; and its classes are in an order
//! that depends on the seed and on what they show, not on the order of the input.
//! Cost: one pass over the rows, and a sort of the classes.

use albers_classes::Attribute;
use albers_classes::class_block::{ClassBlock, Groups};
use albers_classes::points::row_fingerprint;
use albers_privacy::Facts;
use albers_privacy::{ClassSummary, Requirement};
use albers_table::mix::mix;
use rayon::prelude::*;

use crate::cell::{Describer, ShownCell};
use crate::error::{ReleaseError, Result};

/// What a release is to be checked against.
pub struct Expectation<'a> {
    /// What every class must satisfy.
    pub requirement: &'a Requirement,
    /// What the requirement looks at, by row number.
    pub facts: &'a Facts,
    /// Rows read.
    pub n_rows: usize,
    /// How many of them may be left out.
    pub max_suppressed: usize,
    /// The fingerprint of the points that were read.
    pub fingerprint: u64,
    /// The number that each row has in its table, where the groups number only some of its rows.
    pub row_ids: Option<&'a [u32]>,
    /// Decides the order of the classes.
    pub seed: u64,
    /// Whether classes show their regions instead of their points' bounds.
    pub show_regions: bool,
}

/// A release that may go out.
pub struct Verified<'a> {
    describers: Vec<Describer<'a>>,
    blocks: Vec<VerifiedBlock>,
    /// The method's classes in the order of publication.
    order: Vec<ClassRef>,
    /// Where each published class ends in the order: classes that show the same are one.
    ends: Vec<u32>,
    /// The published classes in the order in which their rows lie in memory.
    by_memory: Vec<u32>,
    n_rows: usize,
    n_suppressed: usize,
}

struct VerifiedBlock {
    groups: ClassBlock,
    /// What each class shows, attribute by attribute.
    cells: Vec<ShownCell>,
}

#[derive(Clone, Copy)]
struct ClassRef {
    key: u64,
    block: u32,
    class: u32,
    n_rows: u32,
}

/// A published class.
#[derive(Clone, Copy)]
pub struct Class<'v> {
    /// What it shows, attribute by attribute.
    pub cells: &'v [ShownCell],
    members: &'v [ClassRef],
    blocks: &'v [VerifiedBlock],
}

impl<'v> Class<'v> {
    /// Its rows: their numbers and their codes, row by row.
    pub fn parts(self) -> impl Iterator<Item = (&'v [u32], &'v [u32])> {
        let n_attributes = self.cells.len();
        self.members.iter().map(move |member| {
            let groups = &self.blocks[member.block as usize].groups;
            let rows = class_rows(groups, member.class as usize);
            (
                &groups.row_ids[rows.clone()],
                &groups.codes[rows.start * n_attributes..rows.end * n_attributes],
            )
        })
    }

    /// Number of rows.
    pub fn n_rows(self) -> usize {
        self.members.iter().map(|member| member.n_rows as usize).sum()
    }
}

impl<'a> Verified<'a> {
    /// Some rows of a class that was verified as a whole, with what the whole shows.
    pub(crate) fn piece(
        describers: Vec<Describer<'a>>,
        cells: Vec<ShownCell>,
        groups: ClassBlock,
    ) -> Verified<'a> {
        let n_rows = groups.row_ids.len();
        let class = ClassRef { key: 0, block: 0, class: 0, n_rows: n_rows as u32 };
        Verified {
            describers,
            blocks: vec![VerifiedBlock { groups, cells }],
            order: vec![class],
            ends: vec![1],
            by_memory: vec![0],
            n_rows,
            n_suppressed: 0,
        }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of rows that are left out.
    pub fn n_suppressed(&self) -> usize {
        self.n_suppressed
    }

    /// Number of published classes.
    pub fn n_classes(&self) -> usize {
        self.ends.len()
    }

    /// One describer per attribute.
    pub fn describers(&self) -> &[Describer<'a>] {
        &self.describers
    }

    /// The keys that order the classes, of the first and of the last.
    pub(crate) fn key_range(&self) -> Option<(u64, u64)> {
        Some((self.order.first()?.key, self.order.last()?.key))
    }

    /// The published classes, by their place in the order of publication, in the order in which a
    /// pass over all rows is fastest.
    pub fn classes_by_memory(&self) -> &[u32] {
        &self.by_memory
    }

    /// A published class, in the order of publication.
    pub fn class(&self, class_idx: usize) -> Class<'_> {
        let start = if class_idx == 0 { 0 } else { self.ends[class_idx - 1] };
        let members = &self.order[start as usize..self.ends[class_idx] as usize];
        Class { cells: cells_of(&self.blocks, members[0]), members, blocks: &self.blocks }
    }
}

/// Checks groups and puts them in the order of publication. Every row that was read must be in a
/// class or among those left out, of which there may not be too many.
pub fn verify<'a>(
    mut groups: Groups,
    attributes: &'a [Attribute],
    expected: &Expectation<'_>,
) -> Result<Verified<'a>> {
    let suppressed = std::mem::take(&mut groups.suppressed);
    let n_suppressed = suppressed.row_ids.len();
    if n_suppressed > expected.max_suppressed {
        let (n_rows, max_suppressed) = (expected.n_rows, expected.max_suppressed);
        return Err(ReleaseError::TooManySuppressed { n_suppressed, max_suppressed, n_rows });
    }
    if n_suppressed > 0 && groups.n_rows() == 0 {
        return Err(ReleaseError::NothingLeft { n_rows: expected.n_rows });
    }
    let codes = suppressed.codes.chunks_exact(groups.n_attributes.max(1));
    let left_out = suppressed
        .row_ids
        .iter()
        .zip(codes)
        .fold(0u64, |sum, (&row_id, codes)| sum.wrapping_add(row_fingerprint(row_id, codes)));
    let (mut verified, fingerprint) = verify_part(groups, attributes, expected)?;
    if verified.n_rows() + n_suppressed != expected.n_rows
        || fingerprint.wrapping_add(left_out) != expected.fingerprint
    {
        return Err(ReleaseError::RowsChanged);
    }
    verified.n_suppressed = n_suppressed;
    Ok(verified)
}

/// Checks some classes of a release, and returns the fingerprint of their rows: whoever puts the
/// parts together must see that all rows are there.
pub(crate) fn verify_part<'a>(
    groups: Groups,
    attributes: &'a [Attribute],
    expected: &Expectation<'_>,
) -> Result<(Verified<'a>, u64)> {
    let n_rows = groups.n_rows();
    let n_attributes = groups.n_attributes;
    if n_attributes != attributes.len() {
        return Err(ReleaseError::RowsChanged);
    }
    let describers: Vec<Describer<'a>> = attributes.iter().map(Describer::new).collect();
    let described: Vec<(VerifiedBlock, u64)> = groups
        .blocks
        .into_par_iter()
        .map(|block| describe_block(block, &describers, expected))
        .collect();
    let fingerprint =
        described.iter().fold(0u64, |sum, (_, fingerprint)| sum.wrapping_add(*fingerprint));
    let blocks: Vec<VerifiedBlock> = described.into_iter().map(|(block, _)| block).collect();
    let mut order: Vec<ClassRef> = blocks
        .par_iter()
        .enumerate()
        .flat_map_iter(|(block_idx, block)| {
            let cells = block.cells.chunks_exact(n_attributes);
            let describers = &describers;
            cells.zip(block.groups.classes()).enumerate().map(move |(class, (cells, rows))| {
                ClassRef {
                    key: content_key(cells, describers, expected.seed),
                    block: block_idx as u32,
                    class: class as u32,
                    n_rows: rows.len() as u32,
                }
            })
        })
        .collect();
    order.par_sort_unstable_by(|a, b| {
        a.key.cmp(&b.key).then_with(|| cells_of(&blocks, *a).cmp(cells_of(&blocks, *b)))
    });
    let mut ends = Vec::with_capacity(order.len());
    for at in 1..=order.len() {
        let shows_the_same = at < order.len()
            && order[at].key == order[at - 1].key
            && cells_of(&blocks, order[at]) == cells_of(&blocks, order[at - 1]);
        if !shows_the_same {
            ends.push(at as u32);
        }
    }
    let by_memory = memory_order(&blocks, &order, &ends);
    let verified = Verified { describers, blocks, order, ends, by_memory, n_rows, n_suppressed: 0 };
    check_requirement(&verified, expected)?;
    Ok((verified, fingerprint))
}

/// The published classes in the order of their first members' rows.
fn memory_order(blocks: &[VerifiedBlock], order: &[ClassRef], ends: &[u32]) -> Vec<u32> {
    const NOT_FIRST: u32 = u32::MAX;
    let mut starts = Vec::with_capacity(blocks.len());
    let mut n_classes = 0;
    for block in blocks {
        starts.push(n_classes);
        n_classes += block.groups.class_ends.len();
    }
    let mut published = vec![NOT_FIRST; n_classes];
    for (class_idx, &end) in ends.iter().enumerate() {
        let start = if class_idx == 0 { 0 } else { ends[class_idx - 1] };
        let first = order[start as usize..end as usize]
            .iter()
            .map(|member| starts[member.block as usize] + member.class as usize)
            .min()
            .expect("a published class has members");
        published[first] = class_idx as u32;
    }
    published.retain(|&class_idx| class_idx != NOT_FIRST);
    published
}

fn class_rows(groups: &ClassBlock, class: usize) -> std::ops::Range<usize> {
    let start = if class == 0 { 0 } else { groups.class_ends[class - 1] };
    start as usize..groups.class_ends[class] as usize
}

fn cells_of(blocks: &[VerifiedBlock], class: ClassRef) -> &[ShownCell] {
    let block = &blocks[class.block as usize];
    let n_attributes = block.cells.len() / block.groups.class_ends.len();
    &block.cells[class.class as usize * n_attributes..(class.class as usize + 1) * n_attributes]
}

/// What each class of a block shows, from its rows, and the fingerprint of the rows.
fn describe_block(
    groups: ClassBlock,
    describers: &[Describer<'_>],
    expected: &Expectation<'_>,
) -> (VerifiedBlock, u64) {
    let show_regions = expected.show_regions;
    let n_attributes = describers.len();
    let mut cells = Vec::with_capacity(groups.class_ends.len() * n_attributes);
    let mut fingerprint = 0u64;
    let are_plain = !show_regions && describers.iter().all(Describer::is_plain_interval);
    let (mut lo, mut hi) = (vec![0; n_attributes], vec![0; n_attributes]);
    for (class, rows) in groups.classes().enumerate() {
        let codes = &groups.codes[rows.start * n_attributes..rows.end * n_attributes];
        if are_plain {
            lo.fill(u32::MAX);
            hi.fill(0);
            for row in codes.chunks_exact(n_attributes) {
                for ((lo, hi), &code) in lo.iter_mut().zip(&mut hi).zip(row) {
                    *lo = code.min(*lo);
                    *hi = code.max(*hi);
                }
            }
            cells.extend(lo.iter().zip(&hi).map(|(&lo, &hi)| ShownCell::plain_interval(lo, hi)));
        } else {
            for (attribute, describer) in describers.iter().enumerate() {
                let shown = codes[attribute..].iter().step_by(n_attributes).copied();
                cells.push(if show_regions {
                    let (lo, hi) = groups.regions[class * n_attributes + attribute];
                    covering(describer, lo, hi, shown)
                } else {
                    describer.describe(shown)
                });
            }
        }
        for (row, &row_id) in codes.chunks_exact(n_attributes).zip(&groups.row_ids[rows]) {
            let row_id = expected.row_ids.map_or(row_id, |row_ids| row_ids[row_id as usize]);
            fingerprint = fingerprint.wrapping_add(row_fingerprint(row_id, row));
        }
    }
    (VerifiedBlock { groups, cells }, fingerprint)
}

/// The description of a region, widened should a row lie outside of it.
pub(crate) fn covering(
    describer: &Describer<'_>,
    lo: u32,
    hi: u32,
    codes: impl Iterator<Item = u32>,
) -> ShownCell {
    let (lo, hi) = codes.fold((lo, hi), |(lo, hi), code| (lo.min(code), hi.max(code)));
    describer.describe_region(lo, hi)
}

/// A number that orders classes at random but depends only on what they show and on the seed.
pub(crate) fn content_key(cells: &[ShownCell], describers: &[Describer<'_>], seed: u64) -> u64 {
    let start = mix(seed ^ 0x6a09_e667_f3bc_c908);
    cells
        .iter()
        .zip(describers)
        .fold(start, |key, (&cell, describer)| mix(key ^ describer.content_hash(cell)))
}

/// Looks at every class; of those that violate the requirement, the first in the order of
/// publication is reported, whichever thread finds it.
fn check_requirement(verified: &Verified<'_>, expected: &Expectation<'_>) -> Result<()> {
    const CLASSES_PER_TASK: usize = 1024;
    let requirement = expected.requirement;
    let first_violating = |class_idxs: &[u32]| -> Option<u32> {
        let mut summary = ClassSummary::new(requirement.shape());
        let violates = |class_idx: &u32| {
            let class = verified.class(*class_idx as usize);
            if requirement.is_only_row_count().is_some_and(|k| class.n_rows() as u64 >= k) {
                return false;
            }
            summarize(class, expected, &mut summary);
            !requirement.holds(&summary)
        };
        class_idxs.iter().copied().filter(violates).min()
    };
    let first = verified.by_memory.par_chunks(CLASSES_PER_TASK).filter_map(first_violating).min();
    let Some(class_idx) = first else { return Ok(()) };
    let mut summary = ClassSummary::new(requirement.shape());
    summarize(verified.class(class_idx as usize), expected, &mut summary);
    Err(ReleaseError::RequirementViolated {
        n_rows: summary.n_rows(),
        violations: requirement.violations(&summary),
    })
}

fn summarize(class: Class<'_>, expected: &Expectation<'_>, summary: &mut ClassSummary) {
    summary.clear();
    for (row_ids, _) in class.parts() {
        row_ids.iter().for_each(|&row| expected.facts.add(row as usize, summary));
    }
}
