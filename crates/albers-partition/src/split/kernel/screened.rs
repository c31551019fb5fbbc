//! The screens of a requirement over the points of a node: which cuts need no closer look.
//!
//! Source: see [`albers_privacy::screen`].
//! Departures: none.
//! Guarantee: a cut that is refused has a side that does not satisfy the requirement.
//! Cost: eight additions for each point and cut, four of them an instruction.

use albers_privacy::screen::{MAX_NARROW_ROWS, Screen, Share};

use super::order::place_of;
use super::{Chosen, MAX_POINTS};
use crate::split::rule::Rule;

const _: () = assert!(MAX_POINTS <= MAX_NARROW_ROWS, "sums of all points fit in 32 bits");

const NOTHING: Share = [0; 8];

/// What the points of a node have for each screen, once it is asked for.
#[derive(Default)]
pub struct Screened {
    is_loaded: bool,
    /// Screen by screen, by place.
    shares: Vec<[Share; MAX_POINTS]>,
}

impl Screened {
    /// Forgets the points of the last node.
    pub fn forget(&mut self) {
        self.is_loaded = false;
    }

    /// The screens of a rule, each with what the points have; `locals` are those of all places.
    fn load<'r>(
        &mut self,
        rule: &Rule<'r>,
        locals: &[u32],
    ) -> impl Iterator<Item = (&'r Screen, &[Share; MAX_POINTS])> {
        let screens = rule.requirement.screens();
        if !self.is_loaded {
            self.shares.resize(screens.len(), [NOTHING; MAX_POINTS]);
            for (shares, screen) in self.shares.iter_mut().zip(screens) {
                for (share, &local) in shares.iter_mut().zip(locals) {
                    *share = screen.share(rule.facts.codes(local as usize)[screen.column()]);
                }
            }
            self.is_loaded = true;
        }
        screens.iter().zip(&self.shares)
    }

    /// Whether a cut is refused.
    pub fn refuses(
        &mut self,
        rule: &Rule<'_>,
        order: &[u16],
        Chosen { n_before, .. }: Chosen,
        locals: &[u32],
    ) -> bool {
        self.load(rule, locals).any(|(screen, shares)| {
            let (first, second) = order.split_at(n_before);
            [first, second].iter().any(|side| screen.refuses(side.len(), &sum(side, shares)))
        })
    }

    /// Calls for each cut of an order that is refused, from the one with `first` points before it to
    /// the one with `last`.
    pub fn for_each_refused(
        &mut self,
        rule: &Rule<'_>,
        order: &[u16],
        (first, last): (usize, usize),
        locals: &[u32],
        mut refuse: impl FnMut(usize),
    ) {
        for (screen, shares) in self.load(rule, locals) {
            let (early, late) = order.split_at(first - 1);
            let (mut before, mut after) = (sum(early, shares), sum(late, shares));
            for (&key, n_before) in late.iter().zip(first..=last) {
                let share = &shares[place_of(key)];
                for at in 0..NOTHING.len() {
                    before[at] += share[at];
                    after[at] -= share[at];
                }
                let n_after = order.len() - n_before;
                if screen.refuses(n_before, &before) || screen.refuses(n_after, &after) {
                    refuse(n_before);
                }
            }
        }
    }
}

/// What some points have together.
fn sum(order: &[u16], shares: &[Share; MAX_POINTS]) -> Share {
    let mut sum = NOTHING;
    for &key in order {
        let share = &shares[place_of(key)];
        for at in 0..NOTHING.len() {
            sum[at] += share[at];
        }
    }
    sum
}
