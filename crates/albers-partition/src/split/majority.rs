//! What most of some items are, if most are the same: found without counting any other.
//!
//! Source: Boyer & Moore 1991 (a fast majority vote algorithm).
//! Guarantee: whatever more than half of the items are is found, in any order; whoever finds something
//! counts whether it is.
//! Cost: one comparison per item.

/// Looks at items one by one.
#[derive(Debug, Clone)]
pub struct Majority<T> {
    found: Option<T>,
    n_ahead: u64,
}

impl<T> Default for Majority<T> {
    fn default() -> Majority<T> {
        Majority { found: None, n_ahead: 0 }
    }
}

impl<T: Clone + PartialEq> Majority<T> {
    /// Looks at the next item.
    #[inline]
    pub fn add(&mut self, item: &T) {
        match &self.found {
            Some(own) if own == item => self.n_ahead += 1,
            Some(_) if self.n_ahead > 0 => self.n_ahead -= 1,
            _ => (self.found, self.n_ahead) = (Some(item.clone()), 1),
        }
    }

    /// What most items are, if most are the same.
    pub fn finish(self) -> Option<T> {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_more_than_half_are_is_found_wherever_it_stands() {
        for items in [[1, 2, 1, 1, 3], [1, 1, 1, 2, 2], [2, 3, 1, 1, 1]] {
            let mut majority = Majority::default();
            items.iter().for_each(|item| majority.add(item));
            assert_eq!(majority.finish(), Some(1), "{items:?}");
        }
        assert_eq!(Majority::<u32>::default().finish(), None);
    }
}
