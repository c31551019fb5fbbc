//! Classes that do not fit in memory.
//!
//! Such a class is described by witnesses: the few codes that decide what it shows. Its rows are
//! read block by block, first to check it, then to write it. Rows leave in the order of what they
//! hold, so they are scattered once more, by the keys that order rows within a class.

use std::collections::BTreeSet;

use albers_classes::Attribute;
use albers_classes::class_block::ClassBlock;
use albers_classes::packed::RowBlock;
use albers_classes::points::{codes_hash, row_fingerprint};
use albers_classes::space::Shown;
use albers_privacy::ClassSummary;
use albers_storage::spill::Block;
use albers_table::mix::mix;
use rustc_hash::FxHashMap;

use super::bucket::{Bucket, leaf_row, whole_leaf};
use super::scatter::{Run, Scattered, bucket_of};
use super::{Door, Passed, Shuffle, StreamPlan, Totals};
use crate::cell::{Describer, ShownCell};
use crate::error::{ReleaseError, Result};
use crate::publish::RowKeys;
use crate::verify::{Verified, content_key, covering};

/// More distinct tuples than this are not counted one by one for the divergence.
const MAX_TUPLES: usize = 1 << 16;

/// The rows of a class are scattered into this many pieces at once, at most.
const MAX_PIECES: usize = 16;

/// A class that does not fit in memory, for those who measure it.
pub struct GiantClass<'a> {
    /// One describer per attribute.
    pub describers: Vec<Describer<'a>>,
    /// What it shows, attribute by attribute.
    pub cells: Vec<ShownCell>,
    /// Number of rows.
    pub n_rows: u64,
    /// How many rows have which secret and which codes, both as hashes. Rows beyond the first
    /// 65,536 distinct tuples are left out.
    pub tuples: FxHashMap<(u64, u64), u64>,
}

/// Codes that decide what a class shows.
struct Witnesses {
    region: Vec<(u32, u32)>,
    by_attribute: Vec<Seen>,
}

/// The codes of one attribute.
struct Seen {
    missing: Option<u32>,
    with_missing: bool,
    ends: Option<(u32, u32)>,
    /// All codes, where the class shows a set.
    set: Option<BTreeSet<u32>>,
}

impl Witnesses {
    fn new(attributes: &[Attribute]) -> Witnesses {
        let seen = |attribute: &Attribute| Seen {
            missing: attribute.domain.missing_code(),
            with_missing: false,
            ends: None,
            set: (attribute.shown == Shown::Set).then(BTreeSet::new),
        };
        Witnesses { region: Vec::new(), by_attribute: attributes.iter().map(seen).collect() }
    }

    fn add(&mut self, codes: &[u32]) {
        for (seen, &code) in self.by_attribute.iter_mut().zip(codes) {
            if let Some(set) = &mut seen.set {
                set.insert(code);
            } else if seen.missing == Some(code) {
                seen.with_missing = true;
            } else {
                let (lo, hi) = seen.ends.unwrap_or((code, code));
                seen.ends = Some((lo.min(code), hi.max(code)));
            }
        }
    }

    /// What the class shows, by these describers.
    fn cells(&self, describers: &[Describer<'_>]) -> Vec<ShownCell> {
        let of_attribute = |(attribute, (seen, describer)): (usize, (&Seen, &Describer<'_>))| {
            let ends = seen.ends.into_iter().flat_map(|(lo, hi)| [lo, hi]);
            let missing = seen.missing.filter(|_| seen.with_missing);
            let set = seen.set.iter().flatten().copied();
            let codes: Vec<u32> = ends.chain(missing).chain(set).collect();
            match self.region.get(attribute) {
                Some(&(lo, hi)) => covering(describer, lo, hi, codes.into_iter()),
                None => describer.describe(codes.iter().copied()),
            }
        };
        self.by_attribute.iter().zip(describers).enumerate().map(of_attribute).collect()
    }
}

fn describers_of<'a>(plan: &StreamPlan<'a>) -> Vec<Describer<'a>> {
    plan.attributes.iter().map(Describer::new).collect()
}

/// Adds a leaf of the index that does not fit in memory as a class; returns its rows.
pub(super) fn scatter_giant(
    shuffle: &mut Shuffle<'_>,
    blocks: &[Block],
    leaf_id: u64,
    region: Option<&[(u32, u32)]>,
) -> Result<u64> {
    let plan = shuffle.plan;
    let read = |block: &Block| -> Result<RowBlock> {
        let mut rows = RowBlock::default();
        rows.read_from(plan.layout, &plan.store.read(block)?);
        Ok(rows)
    };
    let mut witnesses = Witnesses::new(plan.attributes);
    if plan.show_regions {
        witnesses.region = region.unwrap_or_default().to_vec();
    }
    let mut codes = vec![0; plan.attributes.len()];
    for block in blocks {
        let rows = read(block)?;
        for row in 0..rows.n_rows() {
            rows.codes(plan.layout, row, &mut codes);
            witnesses.add(&codes);
        }
    }
    let cells = witnesses.cells(&shuffle.describers);
    let key = content_key(&cells, &shuffle.describers, plan.seed);
    let bucket = &mut shuffle.buckets[bucket_of(key, plan.sizes.n_buckets)];
    let mut n_rows = 0;
    for block in blocks {
        let rows = read(block)?;
        let n_own = rows.n_rows();
        n_rows += n_own as u64;
        let run = Run { class_id: shuffle.n_classes, leaf_id, key, n_rows: n_own as u32 };
        let regions = if plan.show_regions { witnesses.region.clone() } else { Vec::new() };
        let piece = Scattered { runs: vec![run], rows, regions, ends: Vec::new() };
        bucket.append(plan, &piece, 0..1, 0..n_own)?;
    }
    Ok(n_rows)
}

/// Verifies, measures and writes a bucket whose classes all show the same and do not fit in memory.
pub(super) fn pass_giant(
    door: &mut Door<'_, '_>,
    bucket: Bucket,
    prefix: u64,
    n_bits: u32,
) -> Result<()> {
    door.write_passed()?;
    let plan = door.plan;
    let (witnesses, giant, totals) = check_giant(plan, &bucket)?;
    let key = content_key(&giant.cells, &giant.describers, plan.seed);
    if n_bits > 0 && key >> (u64::BITS - n_bits) != prefix {
        return Err(ReleaseError::RowsChanged);
    }
    door.totals.add(&totals);
    (door.measure)(&Passed::Giant(&giant));
    drop(giant);
    let mut write = |rows: &RowBlock| {
        let payloads = (0..rows.n_rows()).map(|row| rows.payload(row));
        let carried = plan.payload.decode(payloads)?;
        let describers = describers_of(plan);
        let cells = witnesses.cells(&describers);
        let verified = Verified::piece(describers, cells, group_of(plan, rows));
        door.writer.write(&verified, &carried, door.progress)
    };
    if plan.payload.is_empty() {
        // All rows look the same, in any order.
        return bucket.into_pieces(plan).try_for_each(|piece| write(&piece?.rows));
    }
    let (pieces, n_bits) = row_order(plan, bucket)?;
    pieces.into_iter().try_for_each(|piece| write_rows(plan, piece, n_bits, &mut write))
}

/// Writes some rows of a class, whose keys have so many bits in common. What does not fit in memory
/// is divided by further bits, until all keys are the same: then the rows look the same, in any
/// order.
fn write_rows(
    plan: &StreamPlan<'_>,
    piece: Bucket,
    n_bits: u32,
    write: &mut dyn FnMut(&RowBlock) -> Result<()>,
) -> Result<()> {
    if piece.n_rows == 0 {
        return Ok(());
    }
    match plan.budget.try_reserve("some rows of a large class", piece.n_bytes(plan)) {
        Ok(_memory) => write(&piece.load(plan)?.rows),
        Err(_) if piece.has_one_key || n_bits == u64::BITS => {
            piece.into_pieces(plan).try_for_each(|block| write(&block?.rows))
        }
        Err(_) => {
            let halves = piece.halves(plan, n_bits)?;
            halves.into_iter().try_for_each(|half| write_rows(plan, half, n_bits + 1, write))
        }
    }
}

/// Recomputes a class from all its rows and checks the requirement.
fn check_giant<'a>(
    plan: &StreamPlan<'a>,
    bucket: &Bucket,
) -> Result<(Witnesses, GiantClass<'a>, Totals)> {
    let mut witnesses = Witnesses::new(plan.attributes);
    let mut summary = ClassSummary::new(plan.requirement.shape());
    let mut known_subject = 0;
    let mut totals = Totals::default();
    let mut leaves: FxHashMap<(u64, u64), u64> = FxHashMap::default();
    let mut tuples: FxHashMap<(u64, u64), u64> = FxHashMap::default();
    let mut codes = vec![0; plan.attributes.len()];
    let mut sensitive = Vec::new();
    for piece in bucket.pieces(plan) {
        let piece = piece?;
        if plan.show_regions && witnesses.region.is_empty() {
            witnesses.region = piece.regions[..plan.attributes.len()].to_vec();
        }
        let mut row = 0;
        for run in &piece.runs {
            *leaves.entry((run.class_id, run.leaf_id)).or_insert(0) += u64::from(run.n_rows);
            for _ in 0..run.n_rows {
                let row_id = piece.rows.row_id(plan.layout, row);
                piece.rows.codes(plan.layout, row, &mut codes);
                witnesses.add(&codes);
                totals.n_rows += 1;
                totals.leaf_rows = totals.leaf_rows.wrapping_add(leaf_row(run.leaf_id, row_id));
                let of_row = row_fingerprint(row_id, &codes);
                totals.fingerprint = totals.fingerprint.wrapping_add(of_row);
                let fact = |fact: usize| piece.rows.fact(plan.layout, row, fact);
                // Once there are enough subjects, the others need no memory.
                if summary.n_subjects() < plan.requirement.k() {
                    known_subject = plan.facts.subject.map_or(0, fact);
                }
                sensitive.clear();
                sensitive.extend(plan.facts.ruled.iter().map(|&at| fact(at)));
                summary.add(known_subject, &sensitive);
                let secrets = plan.sensitive_facts.iter().map(|&at| fact(at));
                let secret = secrets.fold(0, |hash, code| mix(hash ^ u64::from(code)));
                count_tuple(&mut tuples, (secret, codes_hash(&codes)));
                row += 1;
            }
        }
    }
    for ((_, leaf_id), n_rows) in leaves {
        totals.whole_leaves = totals.whole_leaves.wrapping_add(whole_leaf(leaf_id, n_rows));
    }
    if !plan.requirement.holds(&summary) {
        let violations = plan.requirement.violations(&summary);
        return Err(ReleaseError::RequirementViolated { n_rows: summary.n_rows(), violations });
    }
    let describers = describers_of(plan);
    let cells = witnesses.cells(&describers);
    let giant = GiantClass { describers, cells, n_rows: totals.n_rows, tuples };
    Ok((witnesses, giant, totals))
}

fn count_tuple(tuples: &mut FxHashMap<(u64, u64), u64>, tuple: (u64, u64)) {
    if let Some(n_rows) = tuples.get_mut(&tuple) {
        *n_rows += 1;
    } else if tuples.len() < MAX_TUPLES {
        tuples.insert(tuple, 1);
    }
}

/// The rows of a class in pieces by the first bits of their keys, and how many bits that are. The
/// runs of the pieces carry the keys of rows, not of classes.
fn row_order(plan: &StreamPlan<'_>, bucket: Bucket) -> Result<(Vec<Bucket>, u32)> {
    let n_bytes = bucket.n_bytes(plan);
    let wanted = n_bytes.div_ceil((plan.budget.limit_bytes() / 8).max(1)).next_power_of_two();
    let n_pieces = wanted.min(MAX_PIECES);
    let buffer_bytes = n_pieces * plan.sizes.block_bytes;
    let _buffers = plan.budget.try_reserve("the rows of a large class", buffer_bytes)?;
    let mut pieces: Vec<Bucket> = (0..n_pieces).map(|_| Bucket::default()).collect();
    for piece in bucket.into_pieces(plan) {
        let piece = piece?;
        let payloads = (0..piece.rows.n_rows()).map(|row| piece.rows.payload(row));
        let carried = plan.payload.decode(payloads)?;
        let Some(keys) = RowKeys::of(&carried, plan.seed)? else { continue };
        for row in 0..piece.rows.n_rows() {
            let key = keys.key_of(row);
            let run = Run { n_rows: 1, key, ..piece.runs[0] };
            let mut alone = Scattered { runs: vec![run], ..Scattered::default() };
            alone.regions = piece.regions[..plan.region_len()].to_vec();
            alone.rows.extend_row(plan.layout, &piece.rows, row);
            pieces[bucket_of(key, n_pieces)].append(plan, &alone, 0..1, 0..1)?;
        }
    }
    for piece in &mut pieces {
        piece.flush(plan)?;
    }
    Ok((pieces, n_pieces.trailing_zeros()))
}

fn group_of(plan: &StreamPlan<'_>, rows: &RowBlock) -> ClassBlock {
    let n_attributes = plan.attributes.len();
    let mut codes = vec![0; rows.n_rows() * n_attributes];
    for (row, slot) in codes.chunks_exact_mut(n_attributes).enumerate() {
        rows.codes(plan.layout, row, slot);
    }
    let n_rows = rows.n_rows() as u32;
    let row_ids = (0..n_rows).collect();
    ClassBlock { row_ids, codes, class_ends: vec![n_rows], regions: Vec::new() }
}
