//! Frequency sets: how many rows have which values, and how one follows from another.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2005, section 1.1 (frequency set), section 3 (rollup and
//! subset properties).
//! Departures: a set may tell rows of a class apart by their subjects and sensitive values, so that
//! it serves every requirement. What outgrows the memory budget is divided by a hash of the class
//! and goes to the spill store, part by part.
//! Guarantee: the counts of a set are those of the table, whatever it was derived from; all rows of
//! a class are in one part.
//! Cost: one pass over the set that it is derived from; two if the result does not fit in memory.
//!
//! ```text
//!   <age 0, zip 0>            <age 0, zip 1>            <age 0>
//!    30 | 5371 : 2   rollup    30 | 537* : 3   project   30 : 4
//!    30 | 5372 : 1  ───────►   30 | 538* : 1  ─────────►
//!    30 | 5381 : 1
//! ```

use albers_storage::Result;
use albers_storage::memory_budget::{MemoryBudget, Reservation};
use albers_storage::spill::{Block, SpillStore};
use albers_storage::threads;
use albers_storage::watch::Watch;
use rustc_hash::FxHashSet;

use crate::aggregate::{Aggregator, Full};
use crate::dimension::Dimension;
use crate::entries::Entries;
use crate::layout::{KeyLayout, Mapping};

/// Where frequency sets live.
#[derive(Clone, Copy)]
pub struct Workspace<'a> {
    /// The memory of all.
    pub budget: &'a MemoryBudget,
    /// Where what does not fit goes.
    pub store: &'a SpillStore,
    /// Who may cancel the work: asked before each look at a frequency set.
    pub watch: &'a dyn Watch,
}

/// How many rows have which values of some attributes at some levels.
pub struct FrequencySet {
    layout: KeyLayout,
    parts: Vec<Part>,
    n_entries: u64,
}

/// Some classes of a set, with all their rows.
enum Part {
    Memory { entries: Entries, _memory: Reservation },
    Stored(Vec<Block>),
}

/// Entries that are written or read at once.
const BLOCK_ENTRIES: usize = 1 << 15;
/// A part with fewer entries is not divided any further.
const SMALL_PART: u64 = 1 << 12;
/// Parts that a set is divided into at once.
const MAX_PARTS: usize = 64;

impl FrequencySet {
    /// The values that are counted.
    pub fn layout(&self) -> &KeyLayout {
        &self.layout
    }

    /// Number of different tuples.
    pub fn n_entries(&self) -> u64 {
        self.n_entries
    }

    /// Whether nothing of it is in the spill store.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Memory { .. }))
    }

    /// What the set of a coarser layout takes at most.
    pub(crate) fn most_bytes(&self, layout: &KeyLayout) -> usize {
        let n_entries = layout.n_keys().map_or(self.n_entries, |most| most.min(self.n_entries));
        n_entries as usize * Entries::entry_bytes(layout.n_words())
    }

    /// The set of a coarser layout: fewer attributes, or higher levels, or both.
    pub fn derive(
        &self,
        workspace: Workspace<'_>,
        dimensions: &[Dimension],
        layout: KeyLayout,
    ) -> Result<FrequencySet> {
        let mapping = Mapping::new(dimensions, &self.layout, &layout);
        let mut aggregator = Aggregator::new(&layout, self.n_entries, workspace.budget, false);
        if let Ok(sums) = &mut aggregator {
            let is_narrow = self.layout.n_words() == 1 && layout.n_words() == 1;
            let narrow = is_narrow.then(|| mapping.narrow(self.n_entries));
            let mut out = vec![0; layout.n_words()];
            let mut is_full = false;
            self.visit(workspace, &mut |entries| {
                let added = match &narrow {
                    Some(narrow) => {
                        let keys = entries.keys.iter().map(|&key| narrow.apply(key));
                        sums.add_narrow(keys, &entries.counts)
                    }
                    None => (0..entries.len()).try_for_each(|at| {
                        mapping.apply(entries.key(at), &mut out);
                        sums.add(&out, entries.counts[at])
                    }),
                };
                is_full = added.is_err();
                Ok(!is_full)
            })?;
            if is_full {
                aggregator = Err(Full);
            }
        }
        match aggregator {
            Ok(sums) => {
                let mut builder = Builder::new(workspace, layout);
                builder.add_part(sums.finish())?;
                Ok(builder.finish())
            }
            Err(Full) => self.derive_in_parts(workspace, &mapping, layout),
        }
    }

    /// Whether the set of a coarser layout has at most so many entries, as far as a sample tells.
    pub(crate) fn shrinks(&self, dimensions: &[Dimension], layout: &KeyLayout, most: u64) -> bool {
        const MAX_SAMPLE: u64 = 1 << 13;
        if layout.n_keys().is_some_and(|n_keys| n_keys <= most) {
            return true;
        }
        let [Part::Memory { entries, .. }] = &self.parts[..] else { return false };
        let mapping = Mapping::new(dimensions, &self.layout, layout);
        let n_sampled = (self.n_entries / 8).min(MAX_SAMPLE);
        let stride = entries.len() / n_sampled.max(1) as usize;
        let mut out = vec![0; layout.n_words()];
        let mut distinct: FxHashSet<u64> = FxHashSet::default();
        for at in (0..entries.len()).step_by(stride.max(1)).take(n_sampled as usize) {
            mapping.apply(entries.key(at), &mut out);
            distinct.insert(layout.class_hash(&out));
        }
        // Draws from as many equally likely keys leave so many different ones.
        let (most, n_sampled) = (most.max(1) as f64, n_sampled as f64);
        distinct.len() as f64 <= most * (1.0 - (-n_sampled / most).exp())
    }

    fn derive_in_parts(
        &self,
        workspace: Workspace<'_>,
        mapping: &Mapping<'_>,
        layout: KeyLayout,
    ) -> Result<FrequencySet> {
        let mut divided = Divided::new(workspace, &layout, self.n_entries, 0);
        let mut out = vec![0; layout.n_words()];
        self.visit(workspace, &mut |entries| {
            for at in 0..entries.len() {
                mapping.apply(entries.key(at), &mut out);
                divided.push(&layout, &out, entries.counts[at])?;
            }
            Ok(true)
        })?;
        let mut builder = Builder::new(workspace, layout);
        divided.add_to(&mut builder)?;
        Ok(builder.finish())
    }

    /// Hands all entries to `see`, some at a time, until it returns false.
    fn visit(
        &self,
        workspace: Workspace<'_>,
        see: &mut dyn FnMut(&Entries) -> Result<bool>,
    ) -> Result<()> {
        for part in &self.parts {
            match part {
                Part::Memory { entries, .. } => {
                    if !see(entries)? {
                        return Ok(());
                    }
                }
                Part::Stored(blocks) => {
                    for block in blocks {
                        let bytes = workspace.store.read(block)?;
                        if !see(&Entries::from_bytes(self.layout.n_words(), &bytes))? {
                            return Ok(());
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Hands all entries to `see`, whole classes at a time where `whole_classes` says so.
    pub(crate) fn visit_classes(
        &self,
        workspace: Workspace<'_>,
        whole_classes: bool,
        see: &mut dyn FnMut(&Entries),
    ) -> Result<()> {
        if !whole_classes {
            return self.visit(workspace, &mut |entries| {
                see(entries);
                Ok(true)
            });
        }
        for part in &self.parts {
            match part {
                Part::Memory { entries, .. } => see(entries),
                Part::Stored(blocks) => {
                    let mut all = Entries::new(self.layout.n_words());
                    for block in blocks {
                        let bytes = workspace.store.read(block)?;
                        all.append(&Entries::from_bytes(self.layout.n_words(), &bytes));
                    }
                    see(&all);
                }
            }
        }
        Ok(())
    }
}

/// A set that is being made of whole parts.
struct Builder<'a> {
    workspace: Workspace<'a>,
    set: FrequencySet,
}

impl<'a> Builder<'a> {
    fn new(workspace: Workspace<'a>, layout: KeyLayout) -> Builder<'a> {
        Builder { workspace, set: FrequencySet { layout, parts: Vec::new(), n_entries: 0 } }
    }

    fn add_part(&mut self, entries: Entries) -> Result<()> {
        let Workspace { budget, store, .. } = self.workspace;
        self.set.n_entries += entries.len() as u64;
        let n_bytes = entries.len() * Entries::entry_bytes(self.set.layout.n_words());
        // Some memory stays free for the work on the next sets.
        let may_stay = budget.free_bytes() / 2 >= n_bytes;
        let memory = budget.try_reserve("a frequency set", n_bytes).ok().filter(|_| may_stay);
        self.set.parts.push(match memory {
            Some(memory) => Part::Memory { entries, _memory: memory },
            None => Part::Stored(stored(store, &entries)?),
        });
        Ok(())
    }

    fn finish(self) -> FrequencySet {
        self.set
    }
}

fn stored(store: &SpillStore, entries: &Entries) -> Result<Vec<Block>> {
    let starts = (0..entries.len()).step_by(BLOCK_ENTRIES);
    let put = |start: usize| {
        store.put(entries.to_bytes(start..(start + BLOCK_ENTRIES).min(entries.len())))
    };
    starts.map(put).collect()
}

/// Entries divided by a hash of their classes; equal keys are not added up yet.
struct Divided<'a> {
    workspace: Workspace<'a>,
    parts: Vec<DividedPart>,
    n_bits: u32,
    /// How often they were divided before, so that other bits of the hash decide.
    depth: u32,
    part_entries: usize,
}

struct DividedPart {
    buffer: Entries,
    blocks: Vec<Block>,
    n_entries: u64,
}

impl<'a> Divided<'a> {
    fn new(
        workspace: Workspace<'a>,
        layout: &KeyLayout,
        n_entries: u64,
        depth: u32,
    ) -> Divided<'a> {
        // A table of keys takes up to 48 bytes per entry of one word while it grows.
        let n_bytes = n_entries as usize * 48 * layout.n_words();
        let free_bytes = workspace.budget.free_bytes() / (2 * threads::of_pool());
        let n_parts = n_bytes.div_ceil(free_bytes.max(1)).clamp(2, MAX_PARTS).next_power_of_two();
        let part = || DividedPart {
            buffer: Entries::new(layout.n_words()),
            blocks: Vec::new(),
            n_entries: 0,
        };
        let buffers_bytes = workspace.budget.free_bytes() / 8;
        let entry_bytes = Entries::entry_bytes(layout.n_words());
        let part_entries = (buffers_bytes / n_parts / entry_bytes).clamp(64, BLOCK_ENTRIES);
        Divided {
            workspace,
            parts: (0..n_parts).map(|_| part()).collect(),
            n_bits: n_parts.trailing_zeros(),
            depth,
            part_entries,
        }
    }

    fn push(&mut self, layout: &KeyLayout, key: &[u64], count: u32) -> Result<()> {
        let hash = albers_table::mix::mix(layout.class_hash(key) ^ u64::from(self.depth));
        let part = &mut self.parts[(hash >> (64 - self.n_bits)) as usize];
        part.buffer.push(key, count);
        part.n_entries += 1;
        if part.buffer.len() >= self.part_entries {
            part.blocks.push(self.workspace.store.put(part.buffer.to_bytes(0..part.buffer.len()))?);
            part.buffer.clear();
        }
        Ok(())
    }

    /// Adds up each part, which is divided again if it does not fit in memory.
    fn add_to(self, builder: &mut Builder<'a>) -> Result<()> {
        let Divided { workspace, parts, depth, .. } = self;
        for part in parts {
            let layout = builder.set.layout.clone();
            let at_any_price = part.n_entries <= SMALL_PART || depth >= 4;
            let sums = Aggregator::new(&layout, part.n_entries, workspace.budget, at_any_price);
            let sums = match sums {
                Ok(sums) => part.sum(workspace, &layout, sums)?,
                Err(Full) => Err(Full),
            };
            match sums {
                Ok(entries) => builder.add_part(entries)?,
                Err(Full) => {
                    let mut again = Divided::new(workspace, &layout, part.n_entries, depth + 1);
                    part.visit(workspace, &layout, &mut |entries| {
                        (0..entries.len()).try_for_each(|at| {
                            again.push(&layout, entries.key(at), entries.counts[at])
                        })
                    })?;
                    drop(part);
                    again.add_to(builder)?;
                }
            }
        }
        Ok(())
    }
}

impl DividedPart {
    fn visit(
        &self,
        workspace: Workspace<'_>,
        layout: &KeyLayout,
        see: &mut dyn FnMut(&Entries) -> Result<()>,
    ) -> Result<()> {
        for block in &self.blocks {
            see(&Entries::from_bytes(layout.n_words(), &workspace.store.read(block)?))?;
        }
        see(&self.buffer)
    }

    fn sum(
        &self,
        workspace: Workspace<'_>,
        layout: &KeyLayout,
        mut sums: Aggregator,
    ) -> Result<std::result::Result<Entries, Full>> {
        let mut outcome = Ok(());
        self.visit(workspace, layout, &mut |entries| {
            if outcome.is_ok() {
                let mut places = 0..entries.len();
                outcome = places.try_for_each(|at| sums.add(entries.key(at), entries.counts[at]));
            }
            Ok(())
        })?;
        Ok(outcome.map(|()| sums.finish()))
    }
}

/// The set of a whole table at the lowest levels, row by row.
pub struct SetBuilder<'a> {
    workspace: Workspace<'a>,
    layout: KeyLayout,
    /// Rows that are not added up yet.
    pending: Entries,
    blocks: Vec<Block>,
    n_rows: u64,
}

impl<'a> SetBuilder<'a> {
    /// Of no rows yet.
    pub fn new(workspace: Workspace<'a>, layout: KeyLayout) -> SetBuilder<'a> {
        let pending = Entries::new(layout.n_words());
        SetBuilder { workspace, layout, pending, blocks: Vec::new(), n_rows: 0 }
    }

    /// Adds rows by their keys; see [`KeyLayout::pack`].
    pub fn add_keys(&mut self, keys: &[u64]) -> Result<()> {
        self.add_counted(keys, std::iter::repeat(1))
    }

    /// Adds rows that somebody has counted already: so many have each key.
    pub fn add_counted(&mut self, keys: &[u64], counts: impl Iterator<Item = u32>) -> Result<()> {
        for (key, count) in keys.chunks_exact(self.layout.n_words()).zip(counts) {
            self.pending.push(key, count);
            self.n_rows += u64::from(count);
            if self.pending.len() >= BLOCK_ENTRIES {
                let bytes = self.pending.to_bytes(0..self.pending.len());
                self.blocks.push(self.workspace.store.put(bytes)?);
                self.pending.clear();
            }
        }
        Ok(())
    }

    /// Rows so far.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// The set of all rows.
    pub fn finish(self, dimensions: &[Dimension]) -> Result<FrequencySet> {
        let SetBuilder { workspace, layout, pending, mut blocks, n_rows } = self;
        blocks.push(workspace.store.put(pending.to_bytes(0..pending.len()))?);
        let parts = vec![Part::Stored(blocks)];
        let rows = FrequencySet { layout: layout.clone(), parts, n_entries: n_rows };
        rows.derive(workspace, dimensions, layout)
    }
}
