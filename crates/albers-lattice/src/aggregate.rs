//! Adds up the counts of equal keys.
//!
//! - dense: one counter for each possible key, where there are few of them;
//! - narrow: a table of keys of one word, with open addressing;
//! - wide: the same for longer keys.
//!
//! Guarantee: the sums do not depend on the order of the keys; that of the result depends on the
//! keys and their order alone, not on memory or threads.
//! Cost: one look-up per key. Tables grow by doubling, each time after asking the budget.

use albers_storage::memory_budget::{MemoryBudget, Reservation};

use crate::entries::Entries;
use crate::layout::{KeyLayout, hash_word, hash_words};

/// The budget refuses the memory that the next key needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

/// Sums so far.
pub(crate) struct Aggregator {
    kind: Kind,
    memory: Reservation,
    /// Whether the memory is taken even if the budget refuses it.
    at_any_price: bool,
}

enum Kind {
    Dense(Vec<u32>),
    Narrow(NarrowTable),
    Wide(WideTable),
}

/// A counter for each key is cheaper than a table of keys up to this many.
const FEW_KEYS: u64 = 1 << 12;
const FIRST_SLOTS: usize = 1 << 8;
const MAX_FIRST_ENTRIES: u64 = 1 << 14;

impl Aggregator {
    /// For keys of a layout, about so many of them.
    pub(crate) fn new(
        layout: &KeyLayout,
        n_entries: u64,
        budget: &MemoryBudget,
        at_any_price: bool,
    ) -> Result<Aggregator, Full> {
        let few = FEW_KEYS.max(8 * n_entries);
        let mut aggregator = Aggregator {
            kind: Kind::Dense(Vec::new()),
            memory: budget.reserve_nothing("a frequency set"),
            at_any_price,
        };
        match layout.n_keys().filter(|&n_keys| n_keys <= few) {
            Some(n_keys) => {
                aggregator.reserve(n_keys as usize * size_of::<u32>())?;
                aggregator.kind = Kind::Dense(vec![0; n_keys as usize]);
            }
            None if layout.n_words() == 1 => {
                // Small sets rarely shrink to nothing: no need to grow step by step.
                let n_slots = (2 * n_entries.min(MAX_FIRST_ENTRIES)).next_power_of_two() as usize;
                aggregator.kind =
                    Kind::Narrow(NarrowTable::new(n_slots.max(FIRST_SLOTS), layout.seed()));
            }
            None => aggregator.kind = Kind::Wide(WideTable::new(layout.n_words(), layout.seed())),
        }
        Ok(aggregator)
    }

    fn reserve(&mut self, n_bytes: usize) -> Result<(), Full> {
        match self.memory.try_grow(n_bytes) {
            Err(_) if !self.at_any_price => Err(Full),
            _ => Ok(()),
        }
    }

    /// Adds to the counts of keys of one word.
    pub(crate) fn add_narrow(
        &mut self,
        keys: impl Iterator<Item = u64>,
        counts: &[u32],
    ) -> Result<(), Full> {
        match &mut self.kind {
            Kind::Dense(sums) => {
                for (key, &count) in keys.zip(counts) {
                    sums[key as usize] += count;
                }
            }
            Kind::Narrow(_) => {
                for (key, &count) in keys.zip(counts) {
                    self.add_to_table(key, count)?;
                }
            }
            Kind::Wide(_) => unreachable!("the layout has one word"),
        }
        Ok(())
    }

    #[inline]
    fn add_to_table(&mut self, key: u64, count: u32) -> Result<(), Full> {
        let Kind::Narrow(table) = &mut self.kind else { unreachable!("called for tables only") };
        if table.is_full() {
            let n_bytes = 2 * table.slots.len() * size_of::<Slot>();
            self.reserve(n_bytes)?;
            let Kind::Narrow(table) = &mut self.kind else { unreachable!("it was one") };
            table.grow();
        }
        let Kind::Narrow(table) = &mut self.kind else { unreachable!("it was one") };
        table.add(key, count);
        Ok(())
    }

    /// Adds to the count of a key.
    pub(crate) fn add(&mut self, key: &[u64], count: u32) -> Result<(), Full> {
        match &mut self.kind {
            Kind::Dense(sums) => sums[key[0] as usize] += count,
            Kind::Narrow(_) => self.add_to_table(key[0], count)?,
            Kind::Wide(table) => {
                if table.is_full() {
                    let n_bytes = table.slots.len() * (4 + 2 * (8 * key.len() + 4));
                    self.reserve(n_bytes)?;
                    let Kind::Wide(table) = &mut self.kind else { unreachable!("it was one") };
                    table.grow();
                }
                let Kind::Wide(table) = &mut self.kind else { unreachable!("it was one") };
                table.add(key, count);
            }
        }
        Ok(())
    }

    /// The keys with their sums.
    pub(crate) fn finish(self) -> Entries {
        match self.kind {
            Kind::Dense(sums) => {
                const STRETCH: usize = 16;
                let n_entries = sums.iter().filter(|&&sum| sum > 0).count();
                let mut entries = Entries::with_capacity(1, n_entries);
                for (first, stretch) in (0u64..).step_by(STRETCH).zip(sums.chunks(STRETCH)) {
                    // Most stretches of a sparse array are empty.
                    if stretch.iter().fold(0, |all, sum| all | sum) == 0 {
                        continue;
                    }
                    for (key, &sum) in (first..).zip(stretch).filter(|(_, sum)| **sum > 0) {
                        entries.keys.push(key);
                        entries.counts.push(sum);
                    }
                }
                entries
            }
            Kind::Narrow(table) => {
                let mut entries = Entries::with_capacity(1, table.n_entries);
                for slot in table.slots.iter().filter(|slot| slot.count > 0) {
                    entries.keys.push(slot.key);
                    entries.counts.push(slot.count);
                }
                entries
            }
            Kind::Wide(table) => table.entries,
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Slot {
    key: u64,
    /// Zero in a free slot.
    count: u32,
}

/// Keys of one word in a table with open addressing.
struct NarrowTable {
    slots: Vec<Slot>,
    n_entries: usize,
    shift: u32,
    seed: u64,
}

impl NarrowTable {
    fn new(n_slots: usize, seed: u64) -> NarrowTable {
        let shift = 64 - n_slots.trailing_zeros();
        NarrowTable { slots: vec![Slot::default(); n_slots], n_entries: 0, shift, seed }
    }

    fn is_full(&self) -> bool {
        self.n_entries * 3 >= self.slots.len() * 2
    }

    fn grow(&mut self) {
        let mut grown = NarrowTable::new(2 * self.slots.len(), self.seed);
        for slot in self.slots.iter().filter(|slot| slot.count > 0) {
            grown.add(slot.key, slot.count);
        }
        *self = grown;
    }

    #[inline]
    fn add(&mut self, key: u64, count: u32) {
        let mask = self.slots.len() - 1;
        let mut at = (hash_word(key, self.seed) >> self.shift) as usize;
        loop {
            let slot = &mut self.slots[at];
            if slot.count == 0 {
                *slot = Slot { key, count };
                self.n_entries += 1;
                return;
            }
            if slot.key == key {
                slot.count += count;
                return;
            }
            at = (at + 1) & mask;
        }
    }
}

/// Longer keys: a table of places among the entries.
struct WideTable {
    /// One more than the place of an entry; zero in a free slot.
    slots: Vec<u32>,
    entries: Entries,
    shift: u32,
    seed: u64,
}

impl WideTable {
    fn new(n_words: usize, seed: u64) -> WideTable {
        let shift = 64 - FIRST_SLOTS.trailing_zeros();
        WideTable { slots: vec![0; FIRST_SLOTS], entries: Entries::new(n_words), shift, seed }
    }

    fn is_full(&self) -> bool {
        self.entries.len() * 2 >= self.slots.len()
    }

    fn grow(&mut self) {
        let n_slots = 2 * self.slots.len();
        self.slots = vec![0; n_slots];
        self.shift -= 1;
        for place in 0..self.entries.len() {
            let mut at = (hash_words(self.entries.key(place), self.seed) >> self.shift) as usize;
            while self.slots[at] != 0 {
                at = (at + 1) & (n_slots - 1);
            }
            self.slots[at] = place as u32 + 1;
        }
    }

    fn add(&mut self, key: &[u64], count: u32) {
        let mask = self.slots.len() - 1;
        let mut at = (hash_words(key, self.seed) >> self.shift) as usize;
        loop {
            match self.slots[at] {
                0 => {
                    self.slots[at] = self.entries.len() as u32 + 1;
                    self.entries.push(key, count);
                    return;
                }
                place if self.entries.key(place as usize - 1) == key => {
                    self.entries.counts[place as usize - 1] += count;
                    return;
                }
                _ => at = (at + 1) & mask,
            }
        }
    }
}
