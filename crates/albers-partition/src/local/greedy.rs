//! A first grouping: classes grow from a seed by the tuple that makes them lose least.
//!
//! Tuples whose rows satisfy the requirement alone are classes from the start.

use super::pool::Pool;
use super::regroup::best_free;
use super::tuple_space::TupleSpace;
use super::{Member, Test};
use crate::split::rule::RuleScratch;

/// A class that lacks many rows takes one part in so many of what it lacks at once.
const BATCH: u32 = 16;

/// Classes of a cell that satisfy the requirement, and the tuples that are in none.
pub struct Start {
    /// The classes.
    pub classes: Vec<Vec<Member>>,
    /// The tuples.
    pub rest: Vec<Member>,
}

/// Groups the tuples of a cell, numbered by their places in it; `ids` are their numbers in the
/// table.
pub fn start(ground: &TupleSpace<'_>, test: &Test<'_>, ids: &[u32]) -> Start {
    let mut scratch = RuleScratch::default();
    let (mut classes, mut free) = (Vec::new(), Vec::new());
    for (place, &id) in (0u32..).zip(ids) {
        let member = Member { tuple: place, n_rows: test.tuples.n_rows(id) };
        match test.holds(&[member], ids, &mut scratch) {
            true => classes.push(vec![member]),
            false => free.push(member),
        }
    }
    let mut grower =
        Grower { ground, test, ids, free: Pool::default(), scores: Vec::new(), scratch };
    grower.free.fill(ground, free);
    let mut rest = Vec::new();
    while !grower.free.members.is_empty() {
        let class = grower.grow();
        if !test.holds(&class, ids, &mut grower.scratch) {
            // Nothing is left to add.
            rest = class;
            break;
        }
        classes.push(class);
    }
    Start { classes, rest }
}

struct Grower<'g, 'a, 't> {
    ground: &'g TupleSpace<'a>,
    test: &'g Test<'t>,
    ids: &'g [u32],
    free: Pool,
    scores: Vec<(f32, u32)>,
    scratch: RuleScratch,
}

impl Grower<'_, '_, '_> {
    /// Grows a class until it satisfies the requirement or nothing is left to add.
    fn grow(&mut self) -> Vec<Member> {
        let mut class = vec![self.free.take(0)];
        let mut covered = self.ground.covered(&class);
        let mut n_rows = class[0].n_rows;
        self.free.begin(self.ground, &covered);
        while !self.test.holds_of(n_rows, &class, self.ids, &mut self.scratch) {
            let n_before = class.len();
            self.add_nearest(&mut class, n_rows);
            if class.len() == n_before {
                break;
            }
            let mut changed = 0;
            for member in &class[n_before..] {
                changed |= self.ground.cover(&mut covered, member.tuple);
                n_rows += member.n_rows;
            }
            self.free.weigh(self.ground, &covered, changed);
        }
        class
    }

    /// Adds what makes the class lose least: a tuple, or several if many rows are lacking.
    fn add_nearest(&mut self, class: &mut Vec<Member>, n_rows: u32) {
        let min_rows = self.test.min_rows;
        let n_lacking = min_rows.saturating_sub(n_rows).max(1);
        let n_batch = ((n_lacking / BATCH) as usize).min(self.free.members.len());
        if n_batch > 1 {
            self.add_batch(class, n_rows, n_batch);
            return;
        }
        if let Some((_, at)) = best_free(&self.free, n_rows, min_rows) {
            class.push(self.free.take(at));
        }
    }

    /// Adds so many free tuples at once.
    fn add_batch(&mut self, class: &mut Vec<Member>, n_rows: u32, n_batch: usize) {
        let min_rows = self.test.min_rows;
        let free = self.free.members.iter().zip(self.free.losses());
        self.scores.clear();
        self.scores.extend((0u32..).zip(free).map(|(at, (member, &loss))| {
            let n_after = (n_rows + member.n_rows).max(min_rows);
            (loss * n_after as f32 / min_rows as f32, at)
        }));
        self.scores
            .select_nth_unstable_by(n_batch - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.scores.truncate(n_batch);
        // From the back, so that taking one does not move the others.
        self.scores.sort_unstable_by_key(|&(_, at)| std::cmp::Reverse(at));
        class.extend(self.scores.iter().map(|&(_, at)| self.free.take(at as usize)));
    }
}
