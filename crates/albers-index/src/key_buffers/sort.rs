//! All rows in the order of their keys: at hand, or in blocks.

use std::ops::Range;
use std::sync::Arc;

use albers_classes::packed::RowBlock;
use albers_partition::split::rule::Asked;
use albers_privacy::ClassSummary;
use albers_storage::memory_budget::Reservation;
use albers_storage::spill::Block;
use albers_storage::watch::Watch;
use albers_storage::{Result, StorageError};

use super::{BangLoad, KeyBuffers};
use crate::bang_file::lots::Lots;
use crate::bang_file::sorted::SortedKeys;
use crate::bang_file::space::HalvedSpace;
use crate::buffer_tree::part::add_facts;
use crate::buffer_tree::{Intake, Part};

/// How many times as large as planned a part may be: a sample tells its size only roughly.
const MAX_EXCESS: usize = 2;

/// How many keys of a part that is too large tell where it is divided.
const SAMPLED_KEYS: usize = 4096;

/// Stretches of keys, each from where the last ends.
pub(super) struct KeyRanges {
    n_words: usize,
    /// The first key of each but the first.
    starts: Vec<u64>,
}

impl KeyRanges {
    /// About so many stretches of about equally many rows, from some keys and their rows; at least
    /// two where more than one is asked for and two keys differ.
    pub(super) fn of_sample(mut keys: Vec<(Vec<u64>, u64)>, n_parts: usize) -> KeyRanges {
        keys.sort_unstable();
        keys.dedup_by(|next, own| {
            let is_same = next.0 == own.0;
            own.1 += if is_same { next.1 } else { 0 };
            is_same
        });
        let n_rows: u64 = keys.iter().map(|(_, n_own)| n_own).sum();
        let n_words = keys.first().map_or(1, |(key, _)| key.len());
        let mut starts: Vec<u64> = Vec::new();
        let (mut n_before, mut n_next) = (0u64, 1u64);
        for (key, n_own) in &keys {
            if n_before * n_parts as u64 >= n_next * n_rows && n_before > 0 {
                starts.extend_from_slice(key);
                n_next = n_before * n_parts as u64 / n_rows + 1;
            }
            n_before += n_own;
        }
        if starts.is_empty() && n_parts > 1 && keys.len() > 1 {
            // One key has most of the rows: it is parted from those before it, or after it.
            let most = (0..keys.len()).rev().max_by_key(|&at| keys[at].1).unwrap_or(0);
            starts.extend_from_slice(&keys[most.max(1)].0);
        }
        KeyRanges { n_words, starts }
    }

    /// Number of stretches.
    pub(super) fn len(&self) -> usize {
        self.starts.len() / self.n_words + 1
    }

    /// The stretch of each of some rows, given their codes row by row.
    pub(super) fn parts_of(&self, space: &HalvedSpace, codes: &[u32]) -> Vec<u32> {
        let n_attributes = space.n_attributes();
        if self.starts.is_empty() {
            return vec![0; codes.len() / n_attributes];
        }
        let starts: Vec<&[u64]> = self.starts.chunks_exact(self.n_words).collect();
        let (mut cells, mut key) = (vec![0; n_attributes], vec![0; self.n_words]);
        let part = |codes: &[u32]| {
            space.write_key(codes, &mut cells, &mut key);
            starts.partition_point(|&start| start <= &key[..]) as u32
        };
        codes.chunks_exact(n_attributes).map(part).collect()
    }
}

/// Into how many parts so many rows are to be divided.
pub(super) fn n_parts(load: &BangLoad<'_>, n_rows: u64, payload_bytes: usize) -> usize {
    let sizes = load.bulk.sizes;
    let n_bytes = n_rows as usize * (load.row_bytes() + payload_bytes);
    let most = (sizes.buffer_bytes / sizes.block_bytes).max(2);
    match n_bytes <= sizes.part_bytes {
        true => 1,
        // A sample tells sizes only roughly.
        false => (n_bytes / sizes.part_bytes * 3 / 2 + 1).clamp(2, most),
    }
}

/// All rows in the order of their keys, and their lots.
pub(super) struct Sorted<'a> {
    pub(super) lots: Lots<'a>,
    pub(super) rows: SortedRows,
    /// About what each row has besides its codes.
    pub(super) payload_bytes: usize,
}

/// Where rows are.
pub(super) enum SortedRows {
    /// At hand: the rows and their keys in order.
    Whole { rows: RowBlock, keys: Arc<SortedKeys>, _memory: Reservation },
    /// In blocks, one after another.
    Blocks(Vec<SortedBlock>),
}

/// A stretch of the rows in key order.
pub(super) struct SortedBlock {
    pub(super) block: Option<Block>,
    /// The places of its rows.
    pub(super) places: Range<u64>,
    /// Rows that have not been asked for.
    pub(super) n_left: u64,
}

/// Sorts all rows.
pub(super) fn sorted<'a>(mut buffers: KeyBuffers<'a>, watch: &dyn Watch) -> Result<Sorted<'a>> {
    let load = buffers.load;
    let payload_bytes = buffers.n_payload_bytes() / buffers.n_rows().max(1) as usize;
    for part in &mut buffers.parts {
        part.flush(load.bulk)?;
    }
    let KeyBuffers { parts, buffers, .. } = buffers;
    drop(buffers);
    let asked = load.rule().map(|own| own as &dyn Asked);
    let lots = Lots::new(load.space, asked, load.shape());
    let mut sorter = Sorter { load, lots, blocks: Vec::new(), watch };
    let rows = match <[Part; 1]>::try_from(parts) {
        Ok([part]) => sorter.whole(part)?,
        Err(parts) => {
            parts.into_iter().try_for_each(|part| sorter.part(part))?;
            SortedRows::Blocks(std::mem::take(&mut sorter.blocks))
        }
    };
    Ok(Sorted { lots: sorter.lots.gathered(load.lot_sizes.lot_rows), rows, payload_bytes })
}

struct Sorter<'a, 'w> {
    load: BangLoad<'a>,
    lots: Lots<'a>,
    blocks: Vec<SortedBlock>,
    watch: &'w dyn Watch,
}

impl Sorter<'_, '_> {
    /// All rows, which were thought to fit.
    fn whole(&mut self, part: Part) -> Result<SortedRows> {
        match self.reserve(&part) {
            Ok(memory) => {
                let (rows, keys) = self.sort(part, false)?;
                Ok(SortedRows::Whole { rows, keys: Arc::new(keys), _memory: memory })
            }
            Err(StorageError::OverBudget { .. }) => {
                self.divide(part)?;
                Ok(SortedRows::Blocks(std::mem::take(&mut self.blocks)))
            }
            Err(error) => Err(error),
        }
    }

    /// The rows of a part, sorted and put aside again.
    fn part(&mut self, part: Part) -> Result<()> {
        self.watch.check()?;
        let memory = match self.reserve(&part) {
            Ok(memory) => memory,
            Err(StorageError::OverBudget { .. }) => return self.divide(part),
            Err(error) => return Err(error),
        };
        let first = self.lots.n_all_rows();
        let (rows, keys) = self.sort(part, true)?;
        let plan = self.load.bulk;
        let mut block = RowBlock::default();
        let mut start = first;
        for (place, &row) in (first..).zip(keys.row_ids()) {
            block.extend_row(plan.layout, &rows, row as usize);
            if block.n_bytes() >= plan.sizes.block_bytes {
                self.put(&mut block, start..place + 1)?;
                start = place + 1;
            }
        }
        self.put(&mut block, start..first + rows.n_rows() as u64)?;
        drop(memory);
        Ok(())
    }

    fn put(&mut self, rows: &mut RowBlock, places: Range<u64>) -> Result<()> {
        if places.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(16 + rows.n_bytes());
        rows.write_to(&mut bytes);
        rows.clear();
        let block = Some(self.load.bulk.store.put(bytes)?);
        let n_left = places.end - places.start;
        self.blocks.push(SortedBlock { block, places, n_left });
        Ok(())
    }

    fn reserve(&self, part: &Part) -> Result<Reservation> {
        let n_bytes = part.n_payload_bytes + part.n_rows as usize * self.load.row_bytes();
        let what = "rows in the order of their keys";
        let limit_bytes = MAX_EXCESS * self.load.bulk.sizes.part_bytes;
        if n_bytes > limit_bytes {
            let [needed_bytes, limit_bytes] = [n_bytes, limit_bytes].map(|own| own as u64);
            return Err(StorageError::OverBudget { what, needed_bytes, limit_bytes });
        }
        self.load.bulk.budget.try_reserve(what, n_bytes)
    }

    /// The rows of a part with their keys in order; adds their lots.
    fn sort(&mut self, part: Part, is_part: bool) -> Result<(RowBlock, SortedKeys)> {
        let plan = self.load.bulk;
        let rows = part.load(plan)?;
        let codes = |row: usize, codes: &mut [u32]| rows.codes(plan.layout, row, codes);
        let keys = SortedKeys::of(self.load.space, rows.n_rows(), codes);
        let lot_rows = self.load.lot_sizes.lot_rows;
        self.lots.extend(&keys, (lot_rows, is_part), |places, summary| {
            let row_ids = &keys.row_ids()[places.start as usize..places.end as usize];
            let row_ids = row_ids.iter().map(|&row| row as usize);
            add_facts(plan, &rows, row_ids, (summary, &mut 0));
        });
        Ok((rows, keys))
    }

    /// Divides a part that does not fit; rows of one key stay together and are in order as they are.
    fn divide(&mut self, part: Part) -> Result<()> {
        let plan = self.load.bulk;
        let look = self.look_at(&part)?;
        if look.least == look.greatest {
            return self.put_aside(part, &look.least);
        }
        let n_payload_bytes = part.n_payload_bytes / part.n_rows.max(1) as usize;
        let n_parts = n_parts(&self.load, part.n_rows, n_payload_bytes).max(2);
        let ranges = KeyRanges::of_sample(look.into_sample(), n_parts);
        let mut buffers = KeyBuffers::between(self.load, ranges)?;
        let router = buffers.router();
        for block in part.blocks {
            let mut rows = RowBlock::default();
            rows.read_from(plan.layout, &plan.store.take(block)?);
            buffers.append(&router.route_packed(&rows))?;
        }
        for part in &mut buffers.parts {
            part.flush(plan)?;
        }
        let KeyBuffers { parts, buffers, .. } = buffers;
        drop(buffers);
        parts.into_iter().filter(|part| part.n_rows > 0).try_for_each(|part| self.part(part))
    }

    /// Some keys of a part, and the ends of all of them.
    fn look_at(&self, part: &Part) -> Result<Look> {
        let (plan, space) = (self.load.bulk, self.load.space);
        let mut look = Look { least: Vec::new(), greatest: Vec::new(), some: Vec::new() };
        let step = (part.n_rows as usize / SAMPLED_KEYS).max(1);
        let (mut codes, mut at) = (vec![0; space.n_attributes()], 0);
        for block in &part.blocks {
            let mut rows = RowBlock::default();
            rows.read_from(plan.layout, &plan.store.read(block)?);
            for row in 0..rows.n_rows() {
                rows.codes(plan.layout, row, &mut codes);
                let key = space.key(&codes);
                if look.least.is_empty() || key < look.least {
                    look.least.clone_from(&key);
                }
                if key > look.greatest {
                    look.greatest.clone_from(&key);
                }
                if at % step == 0 {
                    look.some.push(key);
                }
                at += 1;
            }
        }
        Ok(look)
    }

    /// Rows of one key, as they are.
    fn put_aside(&mut self, part: Part, key: &[u64]) -> Result<()> {
        let plan = self.load.bulk;
        let mut summary = self.lots.shape().map(ClassSummary::new);
        let mut known_subject = 0;
        let mut start = self.lots.n_all_rows();
        for block in part.blocks {
            let mut rows = RowBlock::default();
            rows.read_from(plan.layout, &plan.store.read(&block)?);
            if let Some(summary) = &mut summary {
                add_facts(plan, &rows, 0..rows.n_rows(), (summary, &mut known_subject));
            }
            let n_left = rows.n_rows() as u64;
            let places = start..start + n_left;
            start = places.end;
            self.blocks.push(SortedBlock { block: Some(block), places, n_left });
        }
        self.lots.push(key, key, part.n_rows, summary);
        Ok(())
    }
}

/// What is seen of the keys of a part.
struct Look {
    least: Vec<u64>,
    greatest: Vec<u64>,
    some: Vec<Vec<u64>>,
}

impl Look {
    /// Some keys, of which two differ at least.
    fn into_sample(self) -> Vec<(Vec<u64>, u64)> {
        let all = self.some.into_iter().chain([self.least, self.greatest]);
        all.map(|key| (key, 1)).collect()
    }
}
