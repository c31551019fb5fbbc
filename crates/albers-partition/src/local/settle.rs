//! A home for tuples that no class could take.

use super::board::Board;
use super::tuple_space::TupleSpace;
use super::{Member, Test};
use crate::split::rule::RuleScratch;

/// A tuple is tried in so many classes, those that would lose least by it.
const N_TRIED: usize = 16;

/// Puts each of some tuples into the class that loses least by it and still satisfies the
/// requirement; returns those that found none.
pub fn place(
    board: &mut Board<'_, '_>,
    test: &Test<'_>,
    ids: &[u32],
    rest: Vec<Member>,
) -> Vec<Member> {
    let mut scratch = RuleScratch::default();
    let mut costs = Vec::new();
    let mut unplaced = Vec::new();
    for member in rest {
        board.join_costs(member, &mut costs);
        let mut order: Vec<usize> =
            (0..costs.len()).filter(|&class| !board.classes[class].members.is_empty()).collect();
        order.sort_by(|&a, &b| costs[a].total_cmp(&costs[b]));
        let joined = order.into_iter().take(N_TRIED).find_map(|class| {
            let joined = board.classes[class].with(member);
            test.holds(&joined, ids, &mut scratch).then_some((class, joined))
        });
        match joined {
            Some((class, joined)) => board.set_members(class, joined),
            None => unplaced.push(member),
        }
    }
    unplaced
}

/// What became of members that no class could take.
pub enum Absorbed {
    /// A class that satisfies the requirement.
    Class(Vec<Member>),
    /// All there was, and it does not satisfy the requirement.
    All(Vec<Member>),
}

/// Makes one class of some members and of whole classes near them: first one, then twice as many at
/// a time, until it satisfies the requirement.
pub fn absorb(
    ground: &TupleSpace<'_>,
    test: &Test<'_>,
    ids: &[u32],
    mut rest: Vec<Member>,
    classes: &mut Vec<Vec<Member>>,
) -> Absorbed {
    let mut scratch = RuleScratch::default();
    let mut n_absorbed = 1;
    loop {
        if test.holds(&rest, ids, &mut scratch) {
            return Absorbed::Class(rest);
        }
        if classes.is_empty() {
            return Absorbed::All(rest);
        }
        let covered = ground.covered(&rest);
        classes.sort_by_cached_key(|class| {
            // Losses are not negative, so that their bits are in their order.
            std::cmp::Reverse(ground.loss_with(&covered.spans, &covered, class[0].tuple).to_bits())
        });
        let first = classes.len().saturating_sub(n_absorbed);
        rest.extend(classes.drain(first..).flatten());
        rest.sort_unstable_by_key(|member| member.tuple);
        n_absorbed *= 2;
    }
}
