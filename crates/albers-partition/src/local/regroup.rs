//! A few near classes taken apart and grown anew from other seeds.

use albers_table::mix::mix;

use super::greedy::LENT_FACTOR;
use super::pool::Pool;
use super::tuple_space::{Covered, TupleSpace};
use super::{Member, Test, join};
use crate::split::rule::RuleScratch;

/// Losses are compared with so many at a time.
const CHUNK: usize = 16;

/// What classes are grown from.
#[derive(Default)]
pub struct Loose {
    /// Members that must all find a class.
    pub free: Pool,
    /// Rows that may be borrowed: no class has to take them.
    pub givers: Pool,
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
        while !loose.free.members.is_empty() {
            dice = mix(dice);
            let first = loose.free.take((dice % loose.free.members.len() as u64) as usize);
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
    fn grow(&mut self, first: Member, loose: &mut Loose) -> Sprout {
        let Loose { free, givers } = loose;
        let mut sprout = Sprout { members: Vec::new(), covered: self.ground.nothing(), n_rows: 0 };
        sprout.join(first, self.ground);
        free.begin(self.ground, &sprout.covered);
        givers.begin(self.ground, &sprout.covered);
        let min_rows = self.test.min_rows;
        while !self.holds(&sprout) {
            let n_lacking = min_rows.saturating_sub(sprout.n_rows);
            let lent = best_giver(givers);
            let member = match (best_free(free, sprout.n_rows, min_rows), lent) {
                (Some((score, at)), lent) => match lent {
                    Some((lent, at)) if lent * LENT_FACTOR < score => {
                        borrow(&mut givers.members[at], n_lacking)
                    }
                    _ => free.take(at),
                },
                (None, Some((_, at))) => borrow(&mut givers.members[at], n_lacking),
                (None, None) => break,
            };
            let changed = sprout.join(member, self.ground);
            free.weigh(self.ground, &sprout.covered, changed);
            givers.weigh(self.ground, &sprout.covered, changed);
        }
        sprout
    }
}

impl Sprout {
    /// Takes a member in, and tells the lanes on which more is covered then.
    fn join(&mut self, member: Member, ground: &TupleSpace<'_>) -> u64 {
        self.n_rows += member.n_rows;
        join(&mut self.members, member);
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

/// The giver that a class would lose least by, among those that have rows, and how much.
pub fn best_giver(givers: &Pool) -> Option<(f32, usize)> {
    let with_rows = givers.members.iter().zip(givers.losses()).enumerate();
    let with_rows = with_rows.filter(|(_, (member, _))| member.n_rows > 0);
    with_rows.map(|(at, (_, &loss))| (loss, at)).min_by(|a, b| a.0.total_cmp(&b.0))
}

/// Takes up to `n_lacking` rows of a giver. There are givers only where the number of rows
/// decides, so that a class that is still growing lacks some.
fn borrow(giver: &mut Member, n_lacking: u32) -> Member {
    let n_rows = giver.n_rows.min(n_lacking);
    giver.n_rows -= n_rows;
    Member { tuple: giver.tuple, n_rows }
}
