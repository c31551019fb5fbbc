//! A few near classes taken apart and grown anew from other seeds.

use albers_table::mix::mix;

use super::pool::Pool;
use super::tuple_space::{Covered, TupleSpace};
use super::{Member, Test};
use crate::split::rule::RuleScratch;

/// Losses are compared with so many at a time.
const CHUNK: usize = 16;

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
    /// requirement.
    pub fn regroup(&mut self, free: &mut Pool, seed: u64, limit: f64) -> Option<Vec<Vec<Member>>> {
        let mut sprouts: Vec<Sprout> = Vec::new();
        let mut total = 0.0;
        let mut dice = seed;
        while !free.members.is_empty() {
            dice = mix(dice);
            let first = free.take((dice % free.members.len() as u64) as usize);
            let sprout = self.grow(first, free);
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
            let covered = &sprout.covered;
            n_after * self.ground.loss_with(&covered.spans, covered, member.tuple)
                - f64::from(sprout.n_rows) * self.ground.loss(covered)
        };
        let costs = sprouts.iter().map(cost).enumerate();
        let (best, cost) = costs.min_by(|a, b| a.1.total_cmp(&b.1))?;
        sprouts[best].join(member, self.ground);
        Some(cost)
    }

    fn holds(&mut self, sprout: &Sprout) -> bool {
        let Sprout { members, n_rows, .. } = sprout;
        self.test.holds_of(*n_rows, members, self.ids, self.scratch)
    }

    /// Grows a class until it satisfies the requirement or nothing is left to add.
    fn grow(&mut self, first: Member, free: &mut Pool) -> Sprout {
        let mut sprout = Sprout { members: Vec::new(), covered: self.ground.nothing(), n_rows: 0 };
        sprout.join(first, self.ground);
        free.begin(self.ground, &sprout.covered);
        let min_rows = self.test.min_rows;
        while !self.holds(&sprout) {
            let Some((_, at)) = best_free(free, sprout.n_rows, min_rows) else { break };
            let changed = sprout.join(free.take(at), self.ground);
            free.weigh(self.ground, &sprout.covered, changed);
        }
        sprout
    }
}

impl Sprout {
    /// Takes a member in, and tells the lanes on which more is covered then.
    fn join(&mut self, member: Member, ground: &TupleSpace<'_>) -> u64 {
        self.n_rows += member.n_rows;
        self.members.push(member);
        ground.cover(&mut self.covered, member.tuple)
    }
}

/// What each row of a class of so many rows would lose with the free tuple that it loses least by,
/// and more if there were more rows than needed; and the place of the tuple.
pub fn best_free(free: &Pool, n_rows: u32, min_rows: u32) -> Option<(f32, usize)> {
    let mut best = (f32::INFINITY, usize::MAX);
    let per_row = 1.0 / min_rows as f32;
    for (chunk, losses) in free.losses().chunks(CHUNK).enumerate() {
        // Without branches; most chunks have none.
        if !losses.iter().fold(false, |any, &loss| any | (loss < best.0)) {
            continue;
        }
        for (at, &loss) in (chunk * CHUNK..).zip(losses) {
            // What is lost already by the least number of rows is lost by more too.
            if loss < best.0 {
                let n_after = (n_rows + free.members[at].n_rows).max(min_rows);
                let score = loss * (n_after as f32 * per_row);
                if score < best.0 {
                    best = (score, at);
                }
            }
        }
    }
    (best.1 < usize::MAX).then_some(best)
}
