//! A memory budget that everything large asks before it allocates.
//!
//! Source: the reservations of DataFusion's memory pool (`try_grow`, else spill).
//! Departures: one counter for all, without a share per operator, since only one operator runs at a
//! time.
//! Guarantee: the reserved bytes never exceed the limit, whatever the threads do; what is dropped
//! is given back.
//! Cost: one atomic exchange per reservation, no locks.
//!
//! ```text
//!   0                     used            peak       limit
//!   ├──── reservations ────┤───── free ────┼───────────┤
//! ```
//!
//! The budget counts what it is told. It allocates nothing itself.

mod byte_size;
mod machine;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use byte_size::{format_bytes, parse_bytes};
pub use machine::{default_bytes, machine_memory_bytes};

pub(crate) use byte_size::advised_bytes;

use crate::{Result, StorageError};

/// A limit on memory, shared by all its clones.
#[derive(Debug, Clone)]
pub struct MemoryBudget {
    counters: Arc<Counters>,
}

/// The numbers guard no other memory, so that no ordering stronger than relaxed is needed.
#[derive(Debug)]
struct Counters {
    limit_bytes: usize,
    used_bytes: AtomicUsize,
    peak_bytes: AtomicUsize,
}

impl MemoryBudget {
    /// A budget of which nothing is used yet.
    pub fn new(limit_bytes: usize) -> MemoryBudget {
        let counters = Counters {
            limit_bytes,
            used_bytes: AtomicUsize::new(0),
            peak_bytes: AtomicUsize::new(0),
        };
        MemoryBudget { counters: Arc::new(counters) }
    }

    /// The most that can be reserved at any time.
    pub fn limit_bytes(&self) -> usize {
        self.counters.limit_bytes
    }

    /// What is reserved now.
    pub fn used_bytes(&self) -> usize {
        self.counters.used_bytes.load(Ordering::Relaxed)
    }

    /// What can still be reserved now.
    pub fn free_bytes(&self) -> usize {
        self.limit_bytes() - self.used_bytes()
    }

    /// The most that was ever reserved at one time.
    pub fn peak_bytes(&self) -> usize {
        self.counters.peak_bytes.load(Ordering::Relaxed)
    }

    /// Reserves `n_bytes`. `what` names their purpose in the message of a refusal.
    pub fn try_reserve(&self, what: &'static str, n_bytes: usize) -> Result<Reservation> {
        let mut reservation = self.reserve_nothing(what);
        reservation.try_grow(n_bytes)?;
        Ok(reservation)
    }

    /// A reservation of no bytes, to be grown.
    pub fn reserve_nothing(&self, what: &'static str) -> Reservation {
        Reservation { budget: self.clone(), what, n_bytes: 0 }
    }

    /// Reserves `n_bytes` if `room_bytes` stay free beside them.
    pub(crate) fn reserve_beside(
        &self,
        what: &'static str,
        n_bytes: usize,
        room_bytes: usize,
    ) -> Option<Reservation> {
        self.add_used(n_bytes, room_bytes).ok()?;
        Some(Reservation { budget: self.clone(), what, n_bytes })
    }

    /// Counts `n_bytes` as used, or says how many were used when that was too much.
    fn add_used(&self, n_bytes: usize, room_bytes: usize) -> std::result::Result<(), usize> {
        let limit_bytes = self.counters.limit_bytes;
        let grown = |used: usize| {
            let after = used.checked_add(n_bytes)?;
            (after.checked_add(room_bytes)? <= limit_bytes).then_some(after)
        };
        // A compare-exchange loop: no other thread can come between the comparison and the change.
        let before =
            self.counters.used_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown)?;
        self.counters.peak_bytes.fetch_max(before + n_bytes, Ordering::Relaxed);
        Ok(())
    }

    fn remove_used(&self, n_bytes: usize) {
        self.counters.used_bytes.fetch_sub(n_bytes, Ordering::Relaxed);
    }
}

/// Bytes of a [`MemoryBudget`] that are set aside, given back on drop.
#[derive(Debug)]
pub struct Reservation {
    budget: MemoryBudget,
    what: &'static str,
    n_bytes: usize,
}

impl Reservation {
    /// Reserves `n_bytes` more, or changes nothing.
    pub fn try_grow(&mut self, n_bytes: usize) -> Result<()> {
        self.budget.add_used(n_bytes, 0).map_err(|used_bytes| StorageError::OverBudget {
            what: self.what,
            needed_bytes: (used_bytes as u64).saturating_add(n_bytes as u64),
            limit_bytes: self.budget.limit_bytes() as u64,
        })?;
        self.n_bytes += n_bytes;
        Ok(())
    }

    /// Gives `n_bytes` back.
    ///
    /// # Panics
    ///
    /// When fewer are reserved.
    pub fn shrink(&mut self, n_bytes: usize) {
        assert!(
            n_bytes <= self.n_bytes,
            "cannot give back {n_bytes} of {} bytes reserved for {}",
            self.n_bytes,
            self.what
        );
        self.n_bytes -= n_bytes;
        self.budget.remove_used(n_bytes);
    }

    /// What is reserved here.
    pub fn n_bytes(&self) -> usize {
        self.n_bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.remove_used(self.n_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_reservation_is_given_back() {
        let budget = MemoryBudget::new(100);
        let mut reservation = budget.try_reserve("rows", 60).unwrap();
        reservation.try_grow(40).unwrap();
        assert_eq!((budget.used_bytes(), budget.free_bytes()), (100, 0));
        reservation.shrink(70);
        assert_eq!((reservation.n_bytes(), budget.used_bytes()), (30, 30));
        drop(reservation);
        assert_eq!((budget.used_bytes(), budget.peak_bytes()), (0, 100));
    }

    #[test]
    fn a_refusal_changes_nothing_and_names_the_least_limit_that_suffices() {
        let needs = [(60, 41), (0, 101), (99, 2), (100, usize::MAX - 100)];
        for (held_bytes, asked_bytes) in needs {
            let budget = MemoryBudget::new(100);
            let _held = budget.try_reserve("rows", held_bytes).unwrap();
            let mut grown = budget.reserve_nothing("classes");
            let Err(StorageError::OverBudget { what, needed_bytes, limit_bytes }) =
                grown.try_grow(asked_bytes)
            else {
                panic!("{asked_bytes} beside {held_bytes} were granted");
            };
            assert_eq!((what, limit_bytes), ("classes", 100));
            assert_eq!(needed_bytes, (held_bytes + asked_bytes) as u64);
            assert_eq!((grown.n_bytes(), budget.used_bytes()), (0, held_bytes));

            let larger = MemoryBudget::new(usize::try_from(needed_bytes).unwrap());
            let _held = larger.try_reserve("rows", held_bytes).unwrap();
            larger.try_reserve("classes", asked_bytes).unwrap();
        }
    }

    #[test]
    fn a_reservation_beyond_the_largest_number_is_refused() {
        let budget = MemoryBudget::new(usize::MAX);
        let _held = budget.try_reserve("rows", 1).unwrap();
        assert!(budget.try_reserve("rows", usize::MAX).is_err());
        assert!(budget.reserve_beside("rows", 1, usize::MAX).is_none());
        assert_eq!(budget.used_bytes(), 1);
    }

    #[test]
    fn room_beside_a_reservation_is_asked_for_but_not_reserved() {
        let budget = MemoryBudget::new(100);
        assert!(budget.reserve_beside("blocks", 61, 40).is_none());
        let reservation = budget.reserve_beside("blocks", 60, 40).unwrap();
        assert_eq!((reservation.n_bytes(), budget.used_bytes()), (60, 60));
    }

    #[test]
    fn the_message_of_a_refusal_advises_a_limit_that_suffices() {
        let error =
            MemoryBudget::new(64 << 10).try_reserve("the rows of a chunk", 95_001).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the memory budget of 64 KiB is too small for the rows of a chunk; \
             give `memory = 96KB` or more"
        );
    }

    #[test]
    fn threads_together_never_exceed_the_limit() {
        const LIMIT_BYTES: usize = 1000;
        let budget = MemoryBudget::new(LIMIT_BYTES);
        std::thread::scope(|scope| {
            for thread_idx in 0..4 {
                let budget = budget.clone();
                scope.spawn(move || {
                    let mut held = budget.reserve_nothing("turns");
                    for turn in 0..20_000_usize {
                        let n_bytes = (turn * 7 + thread_idx * 13) % 400;
                        if held.try_grow(n_bytes).is_err() {
                            held.shrink(held.n_bytes());
                        }
                        assert!(budget.used_bytes() <= LIMIT_BYTES);
                        assert!(budget.used_bytes() >= held.n_bytes());
                    }
                });
            }
        });
        assert_eq!(budget.used_bytes(), 0);
        assert!(budget.peak_bytes() <= LIMIT_BYTES && budget.peak_bytes() > LIMIT_BYTES / 2);
    }
}
