//! Which pages of a page file are free: the smallest gap that fits is taken, the lowest among equals.
//!
//! ```text
//!   page   0        1 2 3    4 5     6 7 8   9 ..
//!          header   extent   gap     extent  never used, the end
//! ```
//!
//! Guarantee: a page is given out once until it is given back.
//! Cost: O(log gaps) each; 100 bytes or so for a gap.

use std::collections::{BTreeMap, BTreeSet};

/// Some pages in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Run {
    pub(super) first_page: u64,
    pub(super) n_pages: u64,
}

impl Run {
    /// The page behind the last one, if there can be such a page.
    pub(super) fn end(self) -> Option<u64> {
        self.first_page.checked_add(self.n_pages)
    }
}

/// The free pages of a page file.
#[derive(Debug)]
pub(super) struct Space {
    /// First page to count of pages.
    gaps: BTreeMap<u64, u64>,
    /// The same gaps by count of pages, then first page.
    by_size: BTreeSet<(u64, u64)>,
    /// The first page behind everything in use.
    end: u64,
}

impl Space {
    /// All pages from `first_page` are free.
    pub(super) fn starting_at(first_page: u64) -> Space {
        Space { gaps: BTreeMap::new(), by_size: BTreeSet::new(), end: first_page }
    }

    /// The pages from `first_page` that no run uses; nothing where runs overlap, begin before it, or have no end.
    pub(super) fn left_by(first_page: u64, mut runs: Vec<Run>) -> Option<Space> {
        runs.retain(|run| run.n_pages > 0);
        runs.sort_unstable();
        let mut space = Space::starting_at(first_page);
        for run in runs {
            if run.first_page < space.end {
                return None;
            }
            let gap = Run { first_page: space.end, n_pages: run.first_page - space.end };
            space.end = run.end()?;
            space.add_gap(gap);
        }
        Some(space)
    }

    /// The first of `n_pages` free pages in a row, which are free no more.
    pub(super) fn take(&mut self, n_pages: u64) -> u64 {
        if n_pages == 0 {
            return 0;
        }
        let Some(&(gap_pages, first_page)) = self.by_size.range((n_pages, 0)..).next() else {
            let first_page = self.end;
            self.end += n_pages;
            return first_page;
        };
        self.remove_gap(Run { first_page, n_pages: gap_pages });
        self.add_gap(Run { first_page: first_page + n_pages, n_pages: gap_pages - n_pages });
        first_page
    }

    /// Frees pages that were taken.
    pub(super) fn give_back(&mut self, run: Run) {
        if run.n_pages == 0 {
            return;
        }
        let mut free = run;
        let before = self.gaps.range(..run.first_page).next_back();
        if let Some((&first_page, &n_pages)) = before {
            assert!(first_page + n_pages <= run.first_page, "free pages are given back");
            if first_page + n_pages == run.first_page {
                self.remove_gap(Run { first_page, n_pages });
                free = Run { first_page, n_pages: n_pages + run.n_pages };
            }
        }
        let end = free.first_page + free.n_pages;
        assert!(end <= self.end, "pages are given back that were never taken");
        if end == self.end {
            self.end = free.first_page;
            return;
        }
        if let Some(&n_pages) = self.gaps.get(&end) {
            self.remove_gap(Run { first_page: end, n_pages });
            free.n_pages += n_pages;
        }
        self.add_gap(free);
    }

    /// The first page behind everything in use.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    fn add_gap(&mut self, gap: Run) {
        if gap.n_pages > 0 {
            self.gaps.insert(gap.first_page, gap.n_pages);
            self.by_size.insert((gap.n_pages, gap.first_page));
        }
    }

    fn remove_gap(&mut self, gap: Run) {
        self.gaps.remove(&gap.first_page);
        self.by_size.remove(&(gap.n_pages, gap.first_page));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run(first_page: u64, n_pages: u64) -> Run {
        Run { first_page, n_pages }
    }

    #[test]
    fn the_smallest_gap_that_fits_is_taken_and_the_end_otherwise() {
        let mut space = Space::left_by(1, vec![run(4, 1), run(10, 2), run(7, 1)]).unwrap();
        assert_eq!((space.take(2), space.take(3), space.take(3), space.end()), (5, 1, 12, 15));
    }

    #[test]
    fn overlapping_runs_leave_no_space() {
        assert!(Space::left_by(1, vec![run(1, 2), run(2, 1)]).is_none());
        assert!(Space::left_by(1, vec![run(0, 2)]).is_none());
        assert!(Space::left_by(1, vec![run(2, u64::MAX)]).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_page_is_given_out_twice_and_what_is_given_back_is_as_if_computed_anew(
            steps in prop::collection::vec((any::<bool>(), 0_u64..5, any::<prop::sample::Index>()), 1..60),
        ) {
            let mut space = Space::starting_at(1);
            let mut taken: Vec<Run> = Vec::new();
            for (take, n_pages, which) in steps {
                if take || taken.is_empty() {
                    taken.push(run(space.take(n_pages), n_pages));
                } else {
                    space.give_back(taken.swap_remove(which.index(taken.len())));
                }
                let anew = Space::left_by(1, taken.clone()).expect("runs do not overlap");
                prop_assert_eq!(&space.gaps, &anew.gaps);
                prop_assert_eq!(&space.by_size, &anew.by_size);
                prop_assert_eq!(space.end, anew.end);
            }
        }
    }
}
