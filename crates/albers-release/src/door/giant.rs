//! Classes that do not fit in memory.
//!
//! Such a class is described by witnesses: the few codes that decide what it shows. Its rows are
//! read block by block, first to check it, then to write it. Rows leave in the order of what they
//! hold, so they are scattered once more, by the keys that order rows within a class.

use std::collections::BTreeSet;
use std::time::Instant;

use albers_classes::class_block::{ClassBlock, ClassDetails};
use albers_classes::packed::RowBlock;
use albers_classes::points::{codes_hash, row_fingerprint};
use albers_classes::region::is_in_box;
use albers_classes::space::Shown;
use albers_classes::{Attribute, FeatureValue, Span};
use albers_privacy::{ClassSummary, Requirement};
use albers_storage::watch::Watch;
use albers_table::code::Code;
use albers_table::row::RowIdx;
use rustc_hash::FxHashMap;

use super::buckets::bucket::Bucket;
use super::buckets::gate::Gate;
use super::buckets::scatter::{Run, Scattered, bucket_of};
use super::buckets::{BucketPlan, Shuffle, Totals};
use super::leaves::GiantLeaf;
use super::passed::{GiantRows, Passed, secret_hash};
use crate::describe::{Describer, ShownCell, ShownFacts};
use crate::error::{ReleaseError, Result};
use crate::mean::{Mean, ValueSum, means_of};
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
    /// The values of the published features.
    pub features: Vec<FeatureValue>,
    /// Number of rows.
    pub n_rows: u64,
    /// How many rows have which secret and which codes, both as hashes. Rows beyond the first
    /// 65,536 distinct tuples are left out; there are none when its rows come.
    pub tuples: FxHashMap<(u64, u64), u64>,
}

/// Codes that decide what a class shows.
struct Witnesses {
    /// The region, where it is shown.
    region: Vec<Span>,
    features: Vec<FeatureValue>,
    by_attribute: Vec<Seen>,
}

/// The codes of one attribute.
struct Seen {
    missing: Option<Code>,
    with_missing: bool,
    ends: Option<Span>,
    /// All codes, where the class shows a set.
    set: Option<BTreeSet<Code>>,
}

impl Witnesses {
    fn new(attributes: &[Attribute], region: Vec<Span>, features: Vec<FeatureValue>) -> Witnesses {
        let seen = |attribute: &Attribute| Seen {
            missing: attribute.domain.missing_code(),
            with_missing: false,
            ends: None,
            set: (attribute.shown == Shown::Set).then(BTreeSet::new),
        };
        Witnesses { region, features, by_attribute: attributes.iter().map(seen).collect() }
    }

    fn add(&mut self, codes: &[u32]) {
        let codes = codes.iter().map(|&code| Code::new(code));
        for (seen, code) in self.by_attribute.iter_mut().zip(codes) {
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
            let codes = ends.chain(missing).chain(set).map(Code::get);
            match self.region.get(attribute) {
                Some(&span) => covering(describer, span, codes),
                None => describer.describe(codes),
            }
        };
        self.by_attribute.iter().zip(describers).enumerate().map(of_attribute).collect()
    }

    /// What orders the class.
    fn key(&self, cells: &[ShownCell], describers: &[Describer<'_>], seed: u64) -> u64 {
        content_key(cells, &self.features, describers, seed)
    }
}

/// Adds a leaf of the index that does not fit in memory as a class; returns its rows.
pub(super) fn scatter_giant(
    shuffle: &mut Shuffle<'_>,
    plan: &BucketPlan<'_>,
    leaf: GiantLeaf<'_>,
    part_id: u64,
    watch: &dyn Watch,
) -> Result<u64> {
    let region = leaf.region.unwrap_or_default();
    let shown_region = if plan.options.show_regions { region.to_vec() } else { Vec::new() };
    let mut witnesses = Witnesses::new(plan.attributes, shown_region, leaf.features.to_vec());
    let mut codes = vec![0; plan.attributes.len()];
    for block in leaf.blocks {
        watch.check()?;
        let rows = leaf.read(block)?;
        for row in 0..rows.n_rows() {
            rows.codes(plan.rows.layout, row, &mut codes);
            witnesses.add(&codes);
        }
    }
    let cells = witnesses.cells(&shuffle.describers);
    ShownFacts::add_class(&mut shuffle.shown, &shuffle.describers, &cells);
    let key = witnesses.key(&cells, &shuffle.describers, plan.options.seed);
    let bucket = &mut shuffle.buckets[bucket_of(key, plan.sizes.n_buckets)];
    let mut details = ClassDetails { features: leaf.features.to_vec(), ..Default::default() };
    if plan.options.is_nested {
        details.holes.push(leaf.holes.iter().copied());
    }
    let mut n_rows = 0;
    for block in leaf.blocks {
        watch.check()?;
        let rows = leaf.read(block)?;
        let n_own = rows.n_rows();
        n_rows += n_own as u64;
        let run = Run { class_id: shuffle.n_classes, part_id, key, n_rows: n_own as u32 };
        let regions = region[..plan.region_len()].to_vec();
        let details = details.clone();
        let runs = vec![run];
        let piece = Scattered { runs, rows, regions, details, ..Scattered::default() };
        bucket.append(plan, &piece, 0..1, 0..n_own)?;
    }
    Ok(n_rows)
}

/// Verifies, measures and writes a bucket whose classes all show the same and do not fit in memory.
pub(super) fn pass_giant(
    gate: &mut Gate<'_, '_>,
    bucket: Bucket,
    prefix: u64,
    n_bits: u32,
) -> Result<()> {
    gate.write_passed()?;
    let plan = gate.plan;
    let start = Instant::now();
    let checked = check_giant(plan, gate.requirement, &bucket, gate.watch)?;
    let Checked { witnesses, class: mut giant, totals, means } = checked;
    let key = witnesses.key(&giant.cells, &giant.describers, plan.options.seed);
    if n_bits > 0 && key >> (u64::BITS - n_bits) != prefix {
        return Err(ReleaseError::RowsChanged);
    }
    gate.totals.add(&totals);
    gate.sizes.add(giant.n_rows);
    (gate.measure)(&Passed::Giant(&giant));
    giant.tuples = FxHashMap::default();
    gate.verify_seconds += start.elapsed().as_secs_f64();
    gate.announce_writing(true);
    let mut write = |rows: &RowBlock| {
        let payloads = (0..rows.n_rows()).map(|row| rows.payload(row));
        let carried = plan.rows.payload.decode(payloads)?;
        let describers = plan.describers();
        let cells = witnesses.cells(&describers);
        let block = block_of(plan, rows, &witnesses.features);
        let numbers = 0..rows.n_rows() as u32;
        let facts = plan.rows.facts.facts_of(plan.rows.layout, rows, numbers);
        let row_ids = rows.row_ids(plan.rows.layout);
        (gate.measure)(&Passed::GiantRows(GiantRows {
            class: &giant,
            row_ids: &row_ids,
            codes: &block.codes,
            facts: &facts,
            carried: &carried,
            requirement: gate.requirement,
        }));
        let piece = Verified::piece(describers, cells, block, means.clone());
        gate.writer.write(&piece, &carried, gate.watch)
    };
    if plan.rows.payload.is_empty() {
        // All rows look the same, in any order.
        return bucket.into_pieces(plan).try_for_each(|piece| write(&piece?.rows));
    }
    let (pieces, n_bits) = row_order(plan, bucket, gate.watch)?;
    pieces.into_iter().try_for_each(|piece| write_rows(plan, piece, n_bits, &mut write))
}

/// Writes some rows of a class, whose keys have so many bits in common. What does not fit in memory
/// is divided by further bits, until all keys are the same: then the rows look the same, in any
/// order.
fn write_rows(
    plan: &BucketPlan<'_>,
    piece: Bucket,
    n_bits: u32,
    write: &mut dyn FnMut(&RowBlock) -> Result<()>,
) -> Result<()> {
    if piece.n_rows == 0 {
        return Ok(());
    }
    match plan.rows.budget.try_reserve("some rows of a large class", piece.n_bytes(plan)) {
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

/// What is learned of a class from its rows, one by one.
struct GiantCheck {
    witnesses: Witnesses,
    summary: ClassSummary,
    known_subject: u64,
    totals: Totals,
    /// Rows of each part in each of the method's classes.
    parts: FxHashMap<(u64, u64), u64>,
    tuples: FxHashMap<(u64, u64), u64>,
    codes: Vec<u32>,
    sensitive: Vec<u32>,
    /// The values of each attribute, where means are shown.
    sums: Vec<Option<ValueSum>>,
}

/// A class that satisfies the requirement, and what it shows.
struct Checked<'a> {
    witnesses: Witnesses,
    class: GiantClass<'a>,
    totals: Totals,
    means: Option<Vec<Option<Mean>>>,
}

impl GiantCheck {
    fn new(plan: &BucketPlan<'_>, requirement: &Requirement, first: &Scattered) -> GiantCheck {
        let region = match plan.options.show_regions {
            true => first.regions[..plan.attributes.len()].to_vec(),
            false => Vec::new(),
        };
        let features = first.details.features_of(0, plan.options.n_features).to_vec();
        GiantCheck {
            witnesses: Witnesses::new(plan.attributes, region, features),
            summary: ClassSummary::new(requirement.shape()),
            known_subject: 0,
            totals: Totals::default(),
            parts: FxHashMap::default(),
            tuples: FxHashMap::default(),
            codes: vec![0; plan.attributes.len()],
            sensitive: Vec::new(),
            sums: match plan.options.shows_means {
                true => ValueSum::of_nothing(&plan.describers()),
                false => Vec::new(),
            },
        }
    }

    /// Adds all rows of a piece.
    fn add(&mut self, plan: &BucketPlan<'_>, k: u64, piece: &Scattered) -> Result<()> {
        let n_attributes = plan.attributes.len();
        let mut row = 0;
        for (run_idx, run) in piece.runs.iter().enumerate() {
            let features = piece.details.features_of(run_idx, plan.options.n_features);
            if features != self.witnesses.features {
                return Err(ReleaseError::RowsChanged);
            }
            *self.parts.entry((run.class_id, run.part_id)).or_insert(0) += u64::from(run.n_rows);
            for _ in 0..run.n_rows {
                self.add_row(plan, k, &piece.rows, row, run);
                if plan.options.is_nested {
                    let region = &piece.regions[run_idx * n_attributes..][..n_attributes];
                    let is_in_hole = piece.details.holes.contain(run_idx, &self.codes);
                    if is_in_hole || !is_in_box(region, &self.codes) {
                        return Err(ReleaseError::OutsideRegion);
                    }
                }
                row += 1;
            }
        }
        Ok(())
    }

    /// Adds a row of a run.
    fn add_row(&mut self, plan: &BucketPlan<'_>, k: u64, rows: &RowBlock, row: usize, run: &Run) {
        let layout = plan.rows.layout;
        let row_id = rows.row_id(layout, row);
        rows.codes(layout, row, &mut self.codes);
        self.witnesses.add(&self.codes);
        for ((sum, attribute), &code) in self.sums.iter_mut().zip(plan.attributes).zip(&self.codes)
        {
            if let Some(sum) = sum {
                sum.add(&attribute.domain, std::iter::once(code));
            }
        }
        let totals = &mut self.totals;
        totals.n_rows += 1;
        totals.add_row(run, row_id);
        let of_row = row_fingerprint(row_id, &self.codes);
        totals.fingerprint = totals.fingerprint.wrapping_add(of_row);
        let fact = |fact: usize| rows.fact(layout, row, fact);
        // Once there are enough subjects, the others need no memory.
        if self.summary.n_subjects() < k {
            self.known_subject = plan.rows.facts.subject_of(layout, rows, row as u32);
        }
        self.sensitive.clear();
        self.sensitive.extend(plan.rows.facts.ruled.iter().map(|&ruled| fact(ruled)));
        self.summary.add(self.known_subject, &self.sensitive);
        let secret = secret_hash(plan.rows.sensitive_facts.iter().map(|&place| fact(place)));
        count_tuple(&mut self.tuples, (secret, codes_hash(&self.codes)));
    }
}

/// Recomputes a class from all its rows and checks the requirement.
fn check_giant<'a>(
    plan: &BucketPlan<'a>,
    requirement: &Requirement,
    bucket: &Bucket,
    watch: &dyn Watch,
) -> Result<Checked<'a>> {
    let mut check: Option<GiantCheck> = None;
    for piece in bucket.pieces(plan) {
        watch.check()?;
        let piece = piece?;
        let check = check.get_or_insert_with(|| GiantCheck::new(plan, requirement, &piece));
        check.add(plan, requirement.k(), &piece)?;
    }
    let Some(check) = check else { return Err(ReleaseError::RowsChanged) };
    let GiantCheck { witnesses, summary, mut totals, parts, tuples, sums, .. } = check;
    let mut classes: FxHashMap<u64, u64> = FxHashMap::default();
    for ((class_id, part_id), n_rows) in parts {
        totals.parts.add_whole(part_id, n_rows);
        *classes.entry(class_id).or_insert(0) += n_rows;
    }
    classes.iter().for_each(|(&class_id, &n_rows)| totals.classes.add_whole(class_id, n_rows));
    if plan.are_several && classes.len() > 1 {
        return Err(ReleaseError::NotNested);
    }
    if !requirement.holds(&summary) {
        let violations = requirement.violations(&summary);
        return Err(ReleaseError::RequirementViolated { n_rows: summary.n_rows(), violations });
    }
    let describers = plan.describers();
    let cells = witnesses.cells(&describers);
    let features = witnesses.features.clone();
    let shows_means = plan.options.shows_means;
    let means = shows_means.then(|| means_of(&sums, &describers, &cells, totals.n_rows));
    let class = GiantClass { describers, cells, features, n_rows: totals.n_rows, tuples };
    Ok(Checked { witnesses, class, totals, means })
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
fn row_order(
    plan: &BucketPlan<'_>,
    bucket: Bucket,
    watch: &dyn Watch,
) -> Result<(Vec<Bucket>, u32)> {
    let budget = plan.rows.budget;
    let n_bytes = bucket.n_bytes(plan);
    let wanted = n_bytes.div_ceil((budget.limit_bytes() / 8).max(1)).next_power_of_two();
    let n_pieces = wanted.min(MAX_PIECES);
    let buffer_bytes = n_pieces * plan.sizes.block_bytes;
    let _buffers = budget.try_reserve("the rows of a large class", buffer_bytes)?;
    let mut pieces: Vec<Bucket> = (0..n_pieces).map(|_| Bucket::default()).collect();
    for piece in bucket.into_pieces(plan) {
        watch.check()?;
        let piece = piece?;
        let payloads = (0..piece.rows.n_rows()).map(|row| piece.rows.payload(row));
        let carried = plan.rows.payload.decode(payloads)?;
        let Some(keys) = RowKeys::of(&carried, plan.options.seed)? else { continue };
        // Blocks of rows have the format of blocks of classes, details included.
        let mut details = ClassDetails {
            features: piece.details.features_of(0, plan.options.n_features).to_vec(),
            ..ClassDetails::default()
        };
        details.holes.push(piece.details.holes.of(0).iter().copied());
        for row in 0..piece.rows.n_rows() {
            let key = keys.key_of(row);
            let run = Run { n_rows: 1, key, ..piece.runs[0] };
            let mut alone = Scattered { runs: vec![run], ..Scattered::default() };
            alone.regions = piece.regions[..plan.region_len()].to_vec();
            alone.details = details.clone();
            alone.rows.extend_row(plan.rows.layout, &piece.rows, row);
            pieces[bucket_of(key, n_pieces)].append(plan, &alone, 0..1, 0..1)?;
        }
    }
    for piece in &mut pieces {
        piece.flush(plan)?;
    }
    Ok((pieces, n_pieces.trailing_zeros()))
}

/// Some rows of one class.
fn block_of(plan: &BucketPlan<'_>, rows: &RowBlock, features: &[FeatureValue]) -> ClassBlock {
    let n_attributes = plan.attributes.len();
    let mut codes = vec![0; rows.n_rows() * n_attributes];
    for (row, slot) in codes.chunks_exact_mut(n_attributes).enumerate() {
        rows.codes(plan.rows.layout, row, slot);
    }
    let n_rows = rows.n_rows() as u32;
    let row_idxs = RowIdx::FIRST.take(rows.n_rows()).collect();
    let details = (!features.is_empty())
        .then(|| Box::new(ClassDetails { features: features.to_vec(), ..ClassDetails::default() }));
    let regions = Vec::new();
    ClassBlock { row_idxs, codes, class_ends: vec![n_rows], regions, details }
}
