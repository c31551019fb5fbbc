//! Classes whose keys begin with the same bits.
//!
//! ```text
//!   block   | n_runs | runs | regions | features | holes | rows |
//! ```

use albers_classes::packed::RowBlock;
use albers_classes::region::span;
use albers_classes::{FeatureValue, Span};
use albers_storage::spill::Block;

use super::BucketPlan;
use super::scatter::{Run, Scattered, half_of};
use crate::door::plan::row_bytes;
use crate::error::Result;

/// A bucket while classes come.
pub(in crate::door) struct Bucket {
    buffer: Scattered,
    blocks: Vec<Block>,
    pub(in crate::door) n_rows: u64,
    pub(in crate::door) n_payload_bytes: usize,
    first_key: Option<u64>,
    pub(in crate::door) has_one_key: bool,
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
    pub(in crate::door) fn append(
        &mut self,
        plan: &BucketPlan<'_>,
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
        let n_features = plan.options.n_features;
        let features = &from.details.features[runs.start * n_features..runs.end * n_features];
        self.buffer.details.features.extend_from_slice(features);
        if plan.options.is_nested {
            for run in runs.clone() {
                self.buffer.details.holes.push(from.details.holes.of(run).iter().copied());
            }
        }
        let before = self.buffer.rows.n_bytes();
        self.n_rows += rows.len() as u64;
        let n_fixed = rows.len() * plan.rows.layout.stride_bytes();
        self.buffer.rows.extend(plan.rows.layout, &from.rows, rows);
        self.n_payload_bytes += self.buffer.rows.n_bytes() - before - n_fixed;
        let n_bytes = self.buffer.rows.n_bytes() + self.buffer.runs.len() * RUN_BYTES;
        if n_bytes >= plan.sizes.block_bytes {
            self.flush(plan)?;
        }
        Ok(())
    }

    /// Hands the buffer to the store.
    pub(in crate::door) fn flush(&mut self, plan: &BucketPlan<'_>) -> Result<()> {
        let Scattered { runs, rows, regions, details, .. } = &mut self.buffer;
        if runs.is_empty() {
            return Ok(());
        }
        let n_bytes = 24 + runs.len() * RUN_BYTES + regions.len() * 8 + rows.n_bytes();
        let mut bytes = Vec::with_capacity(n_bytes);
        bytes.extend_from_slice(&(runs.len() as u64).to_le_bytes());
        for run in runs.iter() {
            bytes.extend_from_slice(&run.class_id.to_le_bytes());
            bytes.extend_from_slice(&run.part_id.to_le_bytes());
            bytes.extend_from_slice(&run.key.to_le_bytes());
            bytes.extend_from_slice(&run.n_rows.to_le_bytes());
        }
        write_spans(regions, &mut bytes);
        for word in details.features.iter().flat_map(|value| value.to_words()) {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        for run in 0..details.holes.n_classes() {
            let holes = details.holes.of(run);
            bytes.extend_from_slice(&(holes.len() as u32).to_le_bytes());
            write_spans(holes, &mut bytes);
        }
        rows.write_to(&mut bytes);
        runs.clear();
        regions.clear();
        details.clear();
        rows.clear_within(4 * plan.sizes.block_bytes);
        self.blocks.push(plan.rows.store.put(bytes)?);
        Ok(())
    }

    /// Adds the runs and rows of a block of bytes.
    fn read(plan: &BucketPlan<'_>, bytes: &[u8], into: &mut Scattered) {
        let mut fields = Fields { bytes };
        let n_runs = fields.word() as usize;
        for _ in 0..n_runs {
            into.runs.push(Run {
                class_id: fields.word(),
                part_id: fields.word(),
                key: fields.word(),
                n_rows: fields.half(),
            });
        }
        for _ in 0..n_runs * plan.region_len() {
            into.regions.push(fields.span());
        }
        for _ in 0..n_runs * plan.options.n_features {
            let words = [fields.word(), fields.word()];
            into.details.features.push(FeatureValue::of_words(words));
        }
        if plan.options.is_nested {
            for _ in 0..n_runs {
                let n_spans = fields.half();
                into.details.holes.push((0..n_spans).map(|_| fields.span()));
            }
        }
        into.rows.read_from(plan.rows.layout, fields.bytes);
    }

    /// The blocks one by one, gone from the store.
    pub(in crate::door) fn into_pieces<'p>(
        self,
        plan: &'p BucketPlan<'_>,
    ) -> impl Iterator<Item = Result<Scattered>> + 'p {
        self.blocks.into_iter().map(move |block| {
            let bytes = plan.rows.store.take(block)?;
            let mut piece = Scattered::default();
            Bucket::read(plan, &bytes, &mut piece);
            Ok(piece)
        })
    }

    /// The same, without taking them from the store.
    pub(in crate::door) fn pieces<'p>(
        &'p self,
        plan: &'p BucketPlan<'_>,
    ) -> impl Iterator<Item = Result<Scattered>> + 'p {
        self.blocks.iter().map(move |block| {
            let mut piece = Scattered::default();
            Bucket::read(plan, &plan.rows.store.read(block)?, &mut piece);
            Ok(piece)
        })
    }

    /// About how much it takes while it goes through the door.
    pub(in crate::door) fn n_bytes(&self, plan: &BucketPlan<'_>) -> usize {
        self.n_rows as usize * row_bytes(plan.rows.layout) + 3 * self.n_payload_bytes
    }

    /// Divides a flushed bucket by the next bit of the keys.
    pub(in crate::door) fn halves(self, plan: &BucketPlan<'_>, n_bits: u32) -> Result<[Bucket; 2]> {
        let mut halves = [Bucket::default(), Bucket::default()];
        for piece in self.into_pieces(plan) {
            let piece = piece?;
            let mut row = 0;
            for (place, run) in piece.runs.iter().enumerate() {
                let end = row + run.n_rows as usize;
                let half = &mut halves[half_of(run.key, n_bits)];
                half.append(plan, &piece, place..place + 1, row..end)?;
                row = end;
            }
        }
        for half in &mut halves {
            half.flush(plan)?;
        }
        Ok(halves)
    }

    /// All classes of a flushed bucket, in memory.
    pub(in crate::door) fn load(self, plan: &BucketPlan<'_>) -> Result<Scattered> {
        let mut all = Scattered {
            rows: RowBlock::with_room(plan.rows.layout, self.n_rows as usize, self.n_payload_bytes),
            ..Default::default()
        };
        for block in self.blocks {
            let bytes = plan.rows.store.take(block)?;
            Bucket::read(plan, &bytes, &mut all);
        }
        Ok(all)
    }
}

fn write_spans(spans: &[Span], bytes: &mut Vec<u8>) {
    for (lo, hi) in spans {
        bytes.extend_from_slice(&lo.get().to_le_bytes());
        bytes.extend_from_slice(&hi.get().to_le_bytes());
    }
}

/// The fields of a block, one after another.
struct Fields<'b> {
    bytes: &'b [u8],
}

impl<'b> Fields<'b> {
    fn word(&mut self) -> u64 {
        u64::from_le_bytes(self.take::<8>())
    }

    fn half(&mut self) -> u32 {
        u32::from_le_bytes(self.take::<4>())
    }

    fn span(&mut self) -> Span {
        span(self.half(), self.half())
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest): (&'b [u8; N], &'b [u8]) =
            self.bytes.split_first_chunk().expect("a block is read as it was written");
        self.bytes = rest;
        *field
    }
}
