//! The space at a backend: which extents are taken, and which are free again.
//!
//! Guarantee: extents in use never overlap; neighbouring free extents are always one.
//! Cost: O(log n) in the number of free extents; 4 KiB are the least that an extent takes.
//!
//! ```text
//!   0                                             end       peak
//!   ├─ taken ─┼─ free ─┼─ taken ─┼── free ──┼─ taken ─┤ ┄┄┄┄┄┄┄ ┤
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

/// Extents start and end at multiples of this, the usual size of a page on disk.
pub(super) const PAGE_BYTES: u64 = 4096;

/// The extents of one backend, shared by their owners.
#[derive(Debug, Clone, Default)]
pub(super) struct Space {
    map: Arc<Mutex<FreeMap>>,
}

impl Space {
    /// Takes the smallest free extent that holds `n_bytes`, or a new one at the end.
    pub(super) fn allocate(&self, n_bytes: u64) -> Extent {
        let n_bytes = n_bytes.max(1).next_multiple_of(PAGE_BYTES);
        let offset = self.lock().allocate(n_bytes);
        Extent { space: self.clone(), offset, n_bytes }
    }

    /// How far the backend was used at most.
    pub(super) fn peak_bytes(&self) -> u64 {
        self.lock().peak
    }

    /// How many bytes are taken now.
    pub(super) fn taken_bytes(&self) -> u64 {
        let map = self.lock();
        map.end - map.by_offset.values().sum::<u64>()
    }

    /// Whether both are the same space.
    pub(super) fn is(&self, other: &Space) -> bool {
        Arc::ptr_eq(&self.map, &other.map)
    }

    fn lock(&self) -> MutexGuard<'_, FreeMap> {
        // Nothing that changes the map can panic half way but for want of memory, which ends all.
        self.map.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A part of a backend that belongs to its owner alone, free again on drop.
#[derive(Debug)]
pub(super) struct Extent {
    space: Space,
    offset: u64,
    n_bytes: u64,
}

impl Extent {
    /// Where it starts.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The space that it is a part of.
    pub(super) fn space(&self) -> &Space {
        &self.space
    }
}

impl Drop for Extent {
    fn drop(&mut self) {
        self.space.lock().free(self.offset, self.n_bytes);
    }
}

/// The free extents below `end`, by place and by size.
#[derive(Debug, Default)]
struct FreeMap {
    /// Offset to length.
    by_offset: BTreeMap<u64, u64>,
    /// Length and offset of the same extents.
    by_length: BTreeSet<(u64, u64)>,
    end: u64,
    peak: u64,
}

impl FreeMap {
    fn allocate(&mut self, n_bytes: u64) -> u64 {
        let Some(&(length, offset)) = self.by_length.range((n_bytes, 0)..).next() else {
            let offset = self.end;
            self.end += n_bytes;
            self.peak = self.peak.max(self.end);
            return offset;
        };
        self.remove(offset, length);
        if length > n_bytes {
            self.insert(offset + n_bytes, length - n_bytes);
        }
        offset
    }

    fn free(&mut self, offset: u64, n_bytes: u64) {
        let (mut start, mut end) = (offset, offset + n_bytes);
        if let Some((&before, &length)) = self.by_offset.range(..start).next_back()
            && before + length == start
        {
            self.remove(before, length);
            start = before;
        }
        if let Some(&length) = self.by_offset.get(&end) {
            self.remove(end, length);
            end += length;
        }
        if end == self.end {
            self.end = start;
        } else {
            self.insert(start, end - start);
        }
    }

    fn insert(&mut self, offset: u64, length: u64) {
        self.by_offset.insert(offset, length);
        self.by_length.insert((length, offset));
    }

    fn remove(&mut self, offset: u64, length: u64) {
        self.by_offset.remove(&offset);
        self.by_length.remove(&(length, offset));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_invariants(space: &Space, taken: &[Extent]) {
        let map = space.lock();
        assert_eq!(map.by_offset.len(), map.by_length.len());
        assert!(map.by_offset.iter().all(|(&at, &length)| map.by_length.contains(&(length, at))));
        // Free and taken extents together cover the space without gap or overlap.
        let free = map.by_offset.iter().map(|(&offset, &length)| (offset, length, true));
        let taken = taken.iter().map(|extent| (extent.offset, extent.n_bytes, false));
        let mut all: Vec<_> = free.chain(taken).collect();
        all.sort_unstable();
        let mut end = 0;
        let mut was_free = false;
        for (offset, length, is_free) in all {
            assert_eq!(offset, end);
            assert!(length > 0 && length % PAGE_BYTES == 0);
            assert!(!(was_free && is_free), "neighbours at {offset} are not one");
            end += length;
            was_free = is_free;
        }
        assert!(!was_free, "the last extent is free");
        assert!(end == map.end && map.end <= map.peak);
    }

    #[test]
    fn extents_cover_the_space_without_overlap_whatever_is_taken_and_freed() {
        for seed in 1..20_u64 {
            let space = Space::default();
            let mut taken: Vec<Extent> = Vec::new();
            let mut random = super::super::tests::Random(seed);
            for _ in 0..300 {
                let number = usize::try_from(random.next() % 1000).unwrap();
                if number < 550 || taken.is_empty() {
                    taken.push(space.allocate(random.next() % (5 * PAGE_BYTES)));
                } else {
                    drop(taken.swap_remove(number % taken.len()));
                }
                check_invariants(&space, &taken);
            }
            taken.clear();
            check_invariants(&space, &taken);
            assert_eq!(space.taken_bytes(), 0, "seed {seed}");
        }
    }

    #[test]
    fn the_smallest_extent_that_fits_is_taken_and_split() {
        let space = Space::default();
        let mut extents: Vec<_> =
            [3, 1, 2, 1, 9].map(|n_pages| space.allocate(n_pages * PAGE_BYTES)).into();
        extents.remove(2);
        extents.remove(0);
        assert_eq!(space.allocate(PAGE_BYTES + 1).offset(), 4 * PAGE_BYTES);
        let one = space.allocate(1);
        assert_eq!(one.offset(), 4 * PAGE_BYTES);
        assert_eq!(space.allocate(1).offset(), 5 * PAGE_BYTES);
        assert_eq!(space.allocate(3 * PAGE_BYTES).offset(), 0);
        assert_eq!(space.peak_bytes(), 16 * PAGE_BYTES);
    }
}
