//! Classes whose keys begin with the same bits.
//!
//! ```text
//!   block   | n_runs | runs | regions | rows |
//! ```

use albers_classes::class_block::{ClassBlock, Groups};
use albers_classes::packed::RowBlock;
use albers_storage::spill::Block;
use albers_table::mix::mix;
use rayon::prelude::*;

use super::scatter::{Run, Scattered, half_of};
use super::{StreamPlan, Totals};
use crate::error::Result;
use crate::verify::{Expectation, Verified, verify_part};

/// A bucket while classes come.
pub struct Bucket {
    buffer: Scattered,
    blocks: Vec<Block>,
    pub(super) n_rows: u64,
    pub(super) n_payload_bytes: usize,
    first_key: Option<u64>,
    pub(super) has_one_key: bool,
}

impl Default for Bucket {
    fn default() -> Bucket {
        Bucket {
            buffer: Scattered::default(),
            blocks: Vec::new(),
            n_rows: 0,
            n_payload_bytes: 0,
            first_key: None,
            has_one_key: true,
        }
    }
}

const RUN_BYTES: usize = 28;

impl Bucket {
    /// Adds some runs with their rows.
    pub(super) fn append(
        &mut self,
        plan: &StreamPlan<'_>,
        from: &Scattered,
        runs: std::ops::Range<usize>,
        rows: std::ops::Range<usize>,
    ) -> Result<()> {
        for run in &from.runs[runs.clone()] {
            self.has_one_key &= *self.first_key.get_or_insert(run.key) == run.key;
        }
        self.buffer.runs.extend_from_slice(&from.runs[runs.clone()]);
        let n_region = plan.region_len();
        let regions = &from.regions[runs.start * n_region..runs.end * n_region];
        self.buffer.regions.extend_from_slice(regions);
        let before = self.buffer.rows.n_bytes();
        self.n_rows += rows.len() as u64;
        let n_fixed = rows.len() * plan.layout.stride_bytes();
        self.buffer.rows.extend(plan.layout, &from.rows, rows);
        self.n_payload_bytes += self.buffer.rows.n_bytes() - before - n_fixed;
        let n_bytes = self.buffer.rows.n_bytes() + self.buffer.runs.len() * RUN_BYTES;
        if n_bytes >= plan.sizes.block_bytes {
            self.flush(plan)?;
        }
        Ok(())
    }

    /// Hands the buffer to the store.
    pub(super) fn flush(&mut self, plan: &StreamPlan<'_>) -> Result<()> {
        let Scattered { runs, rows, regions, .. } = &mut self.buffer;
        if runs.is_empty() {
            return Ok(());
        }
        let n_bytes = 24 + runs.len() * RUN_BYTES + regions.len() * 8 + rows.n_bytes();
        let mut bytes = Vec::with_capacity(n_bytes);
        bytes.extend_from_slice(&(runs.len() as u64).to_le_bytes());
        for run in runs.iter() {
            bytes.extend_from_slice(&run.class_id.to_le_bytes());
            bytes.extend_from_slice(&run.leaf_id.to_le_bytes());
            bytes.extend_from_slice(&run.key.to_le_bytes());
            bytes.extend_from_slice(&run.n_rows.to_le_bytes());
        }
        for (lo, hi) in regions.iter() {
            bytes.extend_from_slice(&lo.to_le_bytes());
            bytes.extend_from_slice(&hi.to_le_bytes());
        }
        rows.write_to(&mut bytes);
        runs.clear();
        regions.clear();
        rows.clear();
        self.blocks.push(plan.store.put(bytes)?);
        Ok(())
    }

    /// Adds the runs and rows of a block of bytes.
    fn read(plan: &StreamPlan<'_>, bytes: &[u8], into: &mut Scattered) {
        let word =
            |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let half =
            |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let n_runs = word(0) as usize;
        let mut at = 8;
        for _ in 0..n_runs {
            into.runs.push(Run {
                class_id: word(at),
                leaf_id: word(at + 8),
                key: word(at + 16),
                n_rows: half(at + 24),
            });
            at += RUN_BYTES;
        }
        for _ in 0..n_runs * plan.region_len() {
            into.regions.push((half(at), half(at + 4)));
            at += 8;
        }
        into.rows.read_from(plan.layout, &bytes[at..]);
    }

    /// The blocks one by one, gone from the store.
    pub(super) fn into_pieces<'p>(
        self,
        plan: &'p StreamPlan<'_>,
    ) -> impl Iterator<Item = Result<Scattered>> + 'p {
        self.blocks.into_iter().map(move |block| {
            let bytes = plan.store.take(block)?;
            let mut piece = Scattered::default();
            Bucket::read(plan, &bytes, &mut piece);
            Ok(piece)
        })
    }

    /// The same, without taking them from the store.
    pub(super) fn pieces<'p>(
        &'p self,
        plan: &'p StreamPlan<'_>,
    ) -> impl Iterator<Item = Result<Scattered>> + 'p {
        self.blocks.iter().map(move |block| {
            let mut piece = Scattered::default();
            Bucket::read(plan, &plan.store.read(block)?, &mut piece);
            Ok(piece)
        })
    }

    /// About how much it takes while it goes through the door.
    pub(super) fn n_bytes(&self, plan: &StreamPlan<'_>) -> usize {
        self.n_rows as usize * StreamPlan::row_bytes(plan.layout) + 3 * self.n_payload_bytes
    }

    /// Divides a flushed bucket by the next bit of the keys.
    pub(super) fn halves(self, plan: &StreamPlan<'_>, n_bits: u32) -> Result<[Bucket; 2]> {
        let mut halves = [Bucket::default(), Bucket::default()];
        for piece in self.into_pieces(plan) {
            let piece = piece?;
            let mut row = 0;
            for (at, run) in piece.runs.iter().enumerate() {
                let end = row + run.n_rows as usize;
                halves[half_of(run.key, n_bits)].append(plan, &piece, at..at + 1, row..end)?;
                row = end;
            }
        }
        for half in &mut halves {
            half.flush(plan)?;
        }
        Ok(halves)
    }

    /// All classes of a flushed bucket, in memory.
    pub(super) fn load(self, plan: &StreamPlan<'_>) -> Result<BucketRows> {
        let mut all = Scattered {
            rows: RowBlock::with_capacity(plan.layout, self.n_rows as usize),
            ..Default::default()
        };
        for block in self.blocks {
            let bytes = plan.store.take(block)?;
            Bucket::read(plan, &bytes, &mut all);
        }
        Ok(BucketRows { runs: all.runs, regions: all.regions, rows: all.rows })
    }
}

/// A bucket in memory.
pub struct BucketRows {
    runs: Vec<Run>,
    regions: Vec<(u32, u32)>,
    pub(super) rows: RowBlock,
}

impl BucketRows {
    /// What the leaves add up to. Runs of a leaf that lie in different classes are counted apart,
    /// so that a leaf that was torn apart is noticed.
    pub(super) fn leaf_totals(&self, plan: &StreamPlan<'_>) -> Totals {
        let mut totals = Totals { n_rows: self.rows.n_rows() as u64, ..Totals::default() };
        let mut row = 0;
        for run in &self.runs {
            for _ in 0..run.n_rows {
                let row_id = self.rows.row_id(plan.layout, row);
                totals.leaf_rows = totals.leaf_rows.wrapping_add(leaf_row(run.leaf_id, row_id));
                row += 1;
            }
        }
        let mut by_leaf: Vec<(u64, u64, u64)> = self
            .runs
            .iter()
            .map(|run| (run.class_id, run.leaf_id, u64::from(run.n_rows)))
            .collect();
        by_leaf.sort_unstable();
        for runs in by_leaf.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let n_rows = runs.iter().map(|run| run.2).sum();
            totals.whole_leaves = totals.whole_leaves.wrapping_add(whole_leaf(runs[0].1, n_rows));
        }
        totals
    }

    /// The codes of each sensitive column.
    pub(super) fn sensitive(&self, plan: &StreamPlan<'_>) -> Vec<Vec<u32>> {
        let rows = 0..self.rows.n_rows();
        let column = |&fact: &usize| {
            rows.clone().map(|row| self.rows.fact(plan.layout, row, fact)).collect()
        };
        plan.sensitive_facts.iter().map(column).collect()
    }

    /// Checks the classes, and returns the fingerprint of their rows.
    pub(super) fn verify<'a>(&self, plan: &StreamPlan<'a>) -> Result<(Verified<'a>, u64)> {
        let n_rows = self.rows.n_rows();
        let row_ids: Vec<u32> = (0..n_rows).map(|row| self.rows.row_id(plan.layout, row)).collect();
        let facts = plan.facts.facts_of(plan.layout, &self.rows, 0..n_rows as u32);
        let expected = Expectation {
            requirement: plan.requirement,
            facts: &facts,
            n_rows,
            max_suppressed: 0,
            fingerprint: 0,
            row_ids: Some(&row_ids),
            seed: plan.seed,
            show_regions: plan.show_regions,
        };
        verify_part(self.groups(plan), plan.attributes, &expected)
    }

    /// The classes, each with all its runs, wherever they lie.
    fn groups(&self, plan: &StreamPlan<'_>) -> Groups {
        const BLOCK_ROWS: usize = 16_384;
        let n_attributes = plan.attributes.len();
        let mut starts = Vec::with_capacity(self.runs.len());
        let mut row = 0u32;
        for run in &self.runs {
            starts.push(row);
            row += run.n_rows;
        }
        let mut order: Vec<u32> = (0..self.runs.len() as u32).collect();
        order.sort_by_key(|&at| self.runs[at as usize].class_id);
        let class_of = |run: &u32| self.runs[*run as usize].class_id;
        let classes: Vec<&[u32]> = order.chunk_by(|a, b| class_of(a) == class_of(b)).collect();
        // Whole classes, about so many rows at a time.
        let mut tasks: Vec<&[&[u32]]> = Vec::new();
        let (mut first, mut n_rows) = (0, 0);
        for (at, class) in classes.iter().enumerate() {
            n_rows +=
                class.iter().map(|&run| self.runs[run as usize].n_rows as usize).sum::<usize>();
            if n_rows >= BLOCK_ROWS || at + 1 == classes.len() {
                tasks.push(&classes[first..=at]);
                (first, n_rows) = (at + 1, 0);
            }
        }
        let block_of = |classes: &&[&[u32]]| self.block_of(plan, classes, &starts);
        Groups::of_all(n_attributes, tasks.par_iter().map(block_of).collect())
    }

    /// Some classes; `starts` are the first rows of the runs.
    fn block_of(&self, plan: &StreamPlan<'_>, classes: &[&[u32]], starts: &[u32]) -> ClassBlock {
        let n_attributes = plan.attributes.len();
        let mut block = ClassBlock::default();
        for class in classes {
            for &run in *class {
                let start = starts[run as usize];
                let rows = start..start + self.runs[run as usize].n_rows;
                let at = block.codes.len();
                block.codes.resize(at + rows.len() * n_attributes, 0);
                let slots = block.codes[at..].chunks_exact_mut(n_attributes);
                for (row, slot) in rows.clone().zip(slots) {
                    self.rows.codes(plan.layout, row as usize, slot);
                }
                block.row_ids.extend(rows);
            }
            block.class_ends.push(block.row_ids.len() as u32);
            let n_region = plan.region_len();
            let at = class[0] as usize * n_region;
            block.regions.extend_from_slice(&self.regions[at..at + n_region]);
        }
        block
    }
}

/// What a row of a leaf adds to [`Totals::leaf_rows`].
pub(super) fn leaf_row(leaf_id: u64, row_id: u32) -> u64 {
    mix(mix(leaf_id) ^ u64::from(row_id))
}

/// What a leaf of so many rows in one class adds to [`Totals::whole_leaves`].
pub(super) fn whole_leaf(leaf_id: u64, n_rows: u64) -> u64 {
    mix(mix(leaf_id ^ 0x3c6e_f372_fe94_f82b) ^ n_rows)
}
