//! A few near classes taken apart and grown anew from other seeds.

use albers_table::mix::mix;

use super::greedy::LENT_FACTOR;
use super::tuple_space::{Covered, TupleSpace};
use super::{Member, Test, join};
use crate::split::rule::RuleScratch;

/// What classes are grown from.
#[derive(Default)]
pub struct Loose {
    /// Members that must all find a class.
    pub free: Vec<Member>,
    /// Rows that may be borrowed: no class has to take them.
    pub givers: Vec<Member>,
}

/// A class in the making.
struct Sprout {
    members: Vec<Member>,
    covered: Covered,
    n_rows: u32,
}

/// Grows classes.
pub struct Regrouper<'r, 'a, 't> {
    /// The tuples.
    pub ground: &'r TupleSpace<'a>,
    /// What classes must satisfy.
    pub test: &'r Test<'t>,
    /// The tuples' numbers in the table.
    pub ids: &'r [u32],
    /// Reused from class to class.
    pub scratch: &'r mut RuleScratch,
}

impl Regrouper<'_, '_, '_> {
    /// Classes of all free members; nothing if they would lose more than `limit` or violate the
    /// requirement. The givers keep what was not borrowed.
    pub fn regroup(
        &mut self,
        loose: &mut Loose,
        seed: u64,
        limit: f64,
    ) -> Option<Vec<Vec<Member>>> {
        let mut sprouts: Vec<Sprout> = Vec::new();
        let mut total = 0.0;
        let mut dice = seed;
        while !loose.free.is_empty() {
            dice = mix(dice);
            let first = loose.free.swap_remove((dice % loose.free.len() as u64) as usize);
            let sprout = self.grow(first, loose);
            if self.holds(&sprout) {
                total += f64::from(sprout.n_rows) * self.ground.loss(&sprout.covered);
                sprouts.push(sprout);
            } else {
                for member in sprout.members {
                    total += self.place(member, &mut sprouts)?;
                }
            }
            if total > limit {
                return None;
            }
        }
        let all_hold = sprouts.iter().all(|sprout| self.holds(sprout));
        all_hold.then(|| sprouts.into_iter().map(|sprout| sprout.members).collect())
    }

    /// Puts a member where it costs least, and tells how much; nothing if there is no class.
    fn place(&self, member: Member, sprouts: &mut [Sprout]) -> Option<f64> {
        let cost = |sprout: &Sprout| {
            let n_after = f64::from(sprout.n_rows + member.n_rows);
            n_after * self.loss_with(sprout, member)
                - f64::from(sprout.n_rows) * self.ground.loss(&sprout.covered)
        };
        let costs = sprouts.iter().map(cost).enumerate();
        let (best, cost) = costs.min_by(|a, b| a.1.total_cmp(&b.1))?;
        sprouts[best].join(member, self.ground);
        Some(cost)
    }

    fn holds(&mut self, sprout: &Sprout) -> bool {
        self.test.holds(&sprout.members, self.ids, self.scratch)
    }

    fn loss_with(&self, sprout: &Sprout, member: Member) -> f64 {
        self.ground.loss_with(&sprout.covered.spans, &sprout.covered, member.tuple)
    }

    /// Grows a class until it satisfies the requirement or nothing is left to add.
    fn grow(&mut self, first: Member, loose: &mut Loose) -> Sprout {
        let mut sprout = Sprout { members: Vec::new(), covered: self.ground.nothing(), n_rows: 0 };
        sprout.join(first, self.ground);
        let min_rows = self.test.min_rows;
        while !self.holds(&sprout) {
            let score = |member: &Member| {
                let n_after = (sprout.n_rows + member.n_rows).max(min_rows);
                self.loss_with(&sprout, *member) * f64::from(n_after)
            };
            let lent_score =
                |member: &Member| self.loss_with(&sprout, *member) * f64::from(min_rows);
            let free = least(&loose.free, score);
            let lent = least(&loose.givers, lent_score);
            let member = match (free, lent) {
                (Some((score, at)), lent) => match lent {
                    Some((lent, at)) if lent * f64::from(LENT_FACTOR) < score => {
                        borrow(&mut loose.givers[at], min_rows - sprout.n_rows)
                    }
                    _ => loose.free.swap_remove(at),
                },
                (None, Some((_, at))) => borrow(&mut loose.givers[at], min_rows - sprout.n_rows),
                (None, None) => break,
            };
            sprout.join(member, self.ground);
        }
        sprout
    }
}

impl Sprout {
    fn join(&mut self, member: Member, ground: &TupleSpace<'_>) {
        ground.cover(&mut self.covered, member.tuple);
        self.n_rows += member.n_rows;
        join(&mut self.members, member);
    }
}

/// The least score and whose it is, among members that have rows.
fn least(members: &[Member], score: impl Fn(&Member) -> f64) -> Option<(f64, usize)> {
    let with_rows = members.iter().enumerate().filter(|(_, member)| member.n_rows > 0);
    with_rows.map(|(at, member)| (score(member), at)).min_by(|a, b| a.0.total_cmp(&b.0))
}

/// Takes up to `n_lacking` rows of a giver. There are givers only where the number of rows
/// decides, so that a class that is still growing lacks some.
fn borrow(giver: &mut Member, n_lacking: u32) -> Member {
    let n_rows = giver.n_rows.min(n_lacking);
    giver.n_rows -= n_rows;
    Member { tuple: giver.tuple, n_rows }
}
