//! The best steps of all chains, until no more rows may be left out.
//!
//! Guarantee: what is chosen does not depend on the order in which steps are offered.
//! Cost: memory for the best steps with about twice as many rows as may be left out.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use rustc_hash::{FxHashMap, FxHashSet};

/// Where a class is: the number of those that it is divided anew with, and its own among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassPlace {
    /// The number of the classes that are divided anew together.
    pub together: u32,
    /// Its number among them.
    pub class: u32,
}

/// A step that is offered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer {
    /// What each row of it saves.
    pub per_row: f64,
    /// Decides among those that save the same: a number told by the codes of the class.
    pub tie: u64,
    /// Its number in its chain.
    pub step: u32,
    /// How many rows it leaves out.
    pub n_rows: u32,
    /// Its class.
    pub place: ClassPlace,
}

impl Offer {
    /// What an offer takes while it waits.
    pub const N_BYTES: usize = 2 * size_of::<Offer>();
}

impl Eq for Offer {}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Offer) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The better offer is the lesser one, so that the worst is on top of a heap.
impl Ord for Offer {
    fn cmp(&self, other: &Offer) -> Ordering {
        // No two classes have the same codes, so that the place all but never decides.
        let key = |own: &Offer| (own.tie, own.step, own.n_rows, own.place);
        other.per_row.total_cmp(&self.per_row).then_with(|| key(self).cmp(&key(other)))
    }
}

/// The best of the steps that were offered.
pub struct Choice {
    max_rows: u64,
    offers: BinaryHeap<Offer>,
    n_rows: u64,
}

impl Choice {
    /// Nothing yet, of so many rows at most.
    pub fn new(max_rows: u64) -> Choice {
        Choice { max_rows, offers: BinaryHeap::new(), n_rows: 0 }
    }

    /// Offers a step; those before it in its chain must be offered too.
    pub fn offer(&mut self, offer: Offer) {
        if u64::from(offer.n_rows) > self.max_rows {
            return;
        }
        self.n_rows += u64::from(offer.n_rows);
        self.offers.push(offer);
        // The worst are not needed while the others have more than enough rows.
        while let Some(worst) = self.offers.peek() {
            let n_better = self.n_rows - u64::from(worst.n_rows);
            if n_better < 2 * self.max_rows {
                break;
            }
            self.n_rows = n_better;
            self.offers.pop();
        }
    }

    /// How many steps wait to be chosen.
    pub fn n_offers(&self) -> usize {
        self.offers.len()
    }

    /// How many steps of each class are taken: the best that there is room for, each only if all before
    /// it in its chain are.
    pub fn taken(self) -> FxHashMap<ClassPlace, u32> {
        let mut taken: FxHashMap<ClassPlace, u32> = FxHashMap::default();
        let mut ended: FxHashSet<ClassPlace> = FxHashSet::default();
        let mut n_left = self.max_rows;
        for offer in self.offers.into_sorted_vec() {
            let n_rows = u64::from(offer.n_rows);
            if n_rows > n_left || ended.contains(&offer.place) {
                ended.insert(offer.place);
                continue;
            }
            n_left -= n_rows;
            taken.insert(offer.place, offer.step + 1);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use albers_table::mix::mix;

    use super::*;

    fn offer(class: u32, step: u32, n_rows: u32, per_row: f64) -> Offer {
        let place = ClassPlace { together: 0, class };
        Offer { per_row, tie: mix(u64::from(class)), step, n_rows, place }
    }

    fn taken(offers: &[Offer], max_rows: u64) -> Vec<(u32, u32)> {
        let mut choice = Choice::new(max_rows);
        offers.iter().for_each(|&own| choice.offer(own));
        let mut taken: Vec<(u32, u32)> =
            choice.taken().into_iter().map(|(place, n_steps)| (place.class, n_steps)).collect();
        taken.sort_unstable();
        taken
    }

    #[test]
    fn the_best_per_row_are_taken_while_there_is_room() {
        let offers =
            [offer(0, 0, 1, 5.0), offer(0, 1, 3, 1.0), offer(1, 0, 2, 4.0), offer(2, 0, 1, 0.5)];
        assert_eq!(taken(&offers, 1), [(0, 1)]);
        assert_eq!(taken(&offers, 3), [(0, 1), (1, 1)]);
        assert_eq!(taken(&offers, 4), [(0, 1), (1, 1), (2, 1)]);
        assert_eq!(taken(&offers, 7), [(0, 2), (1, 1), (2, 1)]);
    }

    #[test]
    fn the_order_of_offers_decides_nothing_and_few_of_them_wait() {
        let steps = |class: u32| {
            let draw = mix(u64::from(class) << 7);
            let first = (draw % 50) as f64;
            [offer(class, 0, 1 + (draw >> 8) as u32 % 4, first), offer(class, 1, 2, first / 2.0)]
        };
        let mut offers: Vec<Offer> = (0..400).flat_map(steps).collect();
        let expected = taken(&offers, 60);
        assert!(expected.len() > 10);
        for round in 0..5u64 {
            offers.sort_by_key(|own| mix(round ^ own.tie ^ u64::from(own.step) << 40));
            assert_eq!(taken(&offers, 60), expected);
            let mut choice = Choice::new(60);
            offers.iter().for_each(|&own| choice.offer(own));
            assert!(choice.n_offers() <= 125, "{} wait", choice.n_offers());
        }
    }
}
