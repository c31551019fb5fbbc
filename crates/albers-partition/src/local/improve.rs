//! Changes to the classes of a cell that lower the loss of all rows together.
//!
//! ```text
//!   move:      {a a b} {c c c d}   ->  {a a b d} {c c c}      d goes where it costs less
//!   swap:      {a a c} {c b c}     ->  {a a b} {c c c}        both classes keep their size
//!   dissolve:  {a b} {a a} {b b}   ->  {a a a} {b b b}        one class less
//!   regroup:   {a b c} {a b c} ..  ->  {a a ..} {b b ..} ..   a few classes grown anew
//! ```
//!
//! Regrouping may add a little loss at first, less from round to round; the classes that lost least
//! are kept, so that it never adds any in the end.

use albers_table::mix::mix;

use super::board::{Board, Class, Nearest};
use super::pool::Pool;
use super::regroup::Regrouper;
use super::{Member, Test};
use crate::split::rule::RuleScratch;

/// Rounds of moves over all classes, at most.
const MAX_ROUNDS: usize = 4;
/// Rounds of regrouping, each followed by moves of the classes that have changed: so many where
/// classes are small, and there are many of them.
const LEAST_ROUNDS: u32 = 6;
/// The same at most.
const MOST_ROUNDS: u32 = 30;
/// The rounds of large classes, each of which costs more, times the rows of a class.
const ROUND_ROWS: u32 = 1500;
/// In the first round classes that are grown anew may lose more by this share than those that were
/// there: what is best of its neighbourhood need not be best of all. It falls slowly at first, as the
/// fourth root of the rounds that are left. Twice the share loses less where classes show labels, but
/// more, and takes longer, where they show intervals of many values.
const FIRST_SLACK: f64 = 0.05;
/// A class is regrouped with up to so many others.
const MAX_REGROUPED: u64 = 4;
/// No more members are regrouped: the cost grows with their square.
const MAX_LOOSE: usize = 128;
/// But those of so many classes of one row each are.
const LOOSE_CLASSES: usize = 3;
/// It is swapped with one of the first so many members.
const MAX_SWAPPED: usize = 64;
/// So many changes that the requirement refuses, and a member stays where it is.
const MAX_REFUSED: usize = 16;
/// Less is taken for rounding.
const LEAST_GAIN: f64 = 1e-6;

/// Improves the classes of a board; `ids` are the numbers of its tuples in the table.
pub fn improve(board: &mut Board<'_, '_>, test: &Test<'_>, ids: &[u32]) {
    let mut improver = Improver {
        is_changed: vec![true; board.classes.len()],
        board,
        test,
        ids,
        nearest: Nearest::default(),
        n_refused: 0,
        slack: 0.0,
        loose: Pool::default(),
        scratch: RuleScratch::default(),
    };
    for _ in 0..MAX_ROUNDS {
        if !improver.move_all() {
            break;
        }
        improver.is_changed.fill(true);
    }
    let n_rounds = n_rounds(test.min_rows);
    let mut best = improver.state();
    for round in 0..n_rounds {
        let rest = 1.0 - f64::from(round) / f64::from(n_rounds);
        improver.slack = FIRST_SLACK * rest.sqrt().sqrt();
        improver.regroup_all(u64::from(round));
        improver.move_all();
        if improver.total() < best.total {
            best = improver.state();
        }
    }
    improver.board.reset(best.classes);
    improver.is_changed.fill(true);
    improver.move_all();
}

/// How many rounds of regrouping classes of so many rows get.
fn n_rounds(min_rows: u32) -> u32 {
    let most = (ROUND_ROWS / min_rows.max(1)).clamp(LEAST_ROUNDS, MOST_ROUNDS);
    min_rows.clamp(LEAST_ROUNDS, most)
}

/// Classes as they were at a time, and what they lost.
struct State {
    total: f64,
    classes: Vec<Vec<Member>>,
}

struct Improver<'b, 'g, 'a, 't> {
    board: &'b mut Board<'g, 'a>,
    test: &'b Test<'t>,
    ids: &'b [u32],
    /// Whether a class is other than when its members were last moved.
    is_changed: Vec<bool>,
    /// Classes that would lose least by a tuple, and how much.
    nearest: Nearest,
    /// Changes for one member that the requirement has refused.
    n_refused: usize,
    /// The share of loss that classes which are grown anew may add.
    slack: f64,
    /// Reused from regrouping to regrouping.
    loose: Pool,
    scratch: RuleScratch,
}

impl Improver<'_, '_, '_, '_> {
    /// Moves and swaps the members of all changed classes, and tells whether anything was done.
    fn move_all(&mut self) -> bool {
        let mut any = false;
        for class in 0..self.board.classes.len() {
            if std::mem::replace(&mut self.is_changed[class], false)
                && self.board.classes[class].total() > LEAST_GAIN
            {
                any |= self.move_members(class);
            }
        }
        any
    }

    fn move_members(&mut self, class: usize) -> bool {
        let mut any = false;
        let mut least_cost = 0.0;
        let mut at = 0;
        while at < self.board.classes[class].members.len() {
            self.n_refused = 0;
            self.find_nearest(class, self.board.classes[class].members[at]);
            least_cost +=
                self.nearest.classes.first().map_or(f64::INFINITY, |&(cost, _)| f64::from(cost));
            if self.relocate(class, at) || self.swap(class, at) {
                any = true;
            } else {
                at += 1;
            }
        }
        if !any && least_cost < self.board.classes[class].total() {
            any = self.dissolve(class);
        }
        any
    }

    /// Finds the classes that lose least if a member of another one joins them.
    fn find_nearest(&mut self, own: usize, member: Member) {
        self.board.find_nearest(own, member, &mut self.nearest);
    }

    /// Moves a member to a nearest class.
    fn relocate(&mut self, own: usize, at: usize) -> bool {
        let class = &self.board.classes[own];
        let member = class.members[at];
        let n_left = class.n_rows - member.n_rows;
        if n_left > 0 && n_left < self.test.min_rows {
            return false;
        }
        let gain = class.total() - f64::from(n_left) * class.rest_losses[at] - LEAST_GAIN;
        for near in 0..self.nearest.classes.len() {
            let (_, other) = self.nearest.classes[near];
            if self.n_refused >= MAX_REFUSED {
                break;
            }
            if self.board.join_cost(other, member) > gain {
                continue;
            }
            let left = self.board.classes[own].without(at);
            let joined = self.board.classes[other].with(member);
            if (left.is_empty() || self.holds(&left)) && self.holds(&joined) {
                self.set(own, left);
                self.set(other, joined);
                return true;
            }
        }
        false
    }

    /// Swaps a member with one of a nearest class.
    fn swap(&mut self, own: usize, at: usize) -> bool {
        let class = &self.board.classes[own];
        // Where the class would be no narrower without it, only the other class can gain, and that is
        // seen from there.
        if class.rest_losses[at] >= class.loss {
            return false;
        }
        for near in 0..self.nearest.classes.len() {
            let (_, other) = self.nearest.classes[near];
            let n_members = self.board.classes[other].members.len().min(MAX_SWAPPED);
            if (0..n_members).any(|at_other| self.swap_pair((own, at), (other, at_other))) {
                return true;
            }
        }
        false
    }

    fn swap_pair(&mut self, (a, at_a): (usize, usize), (b, at_b): (usize, usize)) -> bool {
        let (class_a, class_b) = (&self.board.classes[a], &self.board.classes[b]);
        let (from_a, from_b) = (class_a.members[at_a], class_b.members[at_b]);
        let n_a = class_a.n_rows - from_a.n_rows + from_b.n_rows;
        let n_b = class_b.n_rows - from_b.n_rows + from_a.n_rows;
        let min_rows = self.test.min_rows;
        if n_a < min_rows || n_b < min_rows {
            return false;
        }
        if self.n_refused >= MAX_REFUSED {
            return false;
        }
        let (n_a, n_b) = (f64::from(n_a), f64::from(n_b));
        let limit = class_a.total() + class_b.total() - LEAST_GAIN;
        // Most pairs are refused before the costly part.
        let rest_a = n_a * class_a.rest_losses[at_a];
        if rest_a + n_b * class_b.rest_losses[at_b] > limit {
            return false;
        }
        let is_too_much = |loss_b: f64| rest_a + n_b * loss_b > limit;
        let loss_b = self.board.loss_with_instead((b, at_b), from_a.tuple, is_too_much);
        let Some(after_b) = loss_b.map(|loss_b| n_b * loss_b) else { return false };
        let is_too_much = |loss_a: f64| n_a * loss_a + after_b > limit;
        if self.board.loss_with_instead((a, at_a), from_b.tuple, is_too_much).is_none() {
            return false;
        }
        let (mut members_a, mut members_b) = (class_a.without(at_a), class_b.without(at_b));
        members_a.push(from_b);
        members_b.push(from_a);
        if !self.holds(&members_a) || !self.holds(&members_b) {
            return false;
        }
        self.set(a, members_a);
        self.set(b, members_b);
        true
    }

    /// Divides the members of a class among the others, if all together lose less then.
    fn dissolve(&mut self, own: usize) -> bool {
        let members = self.board.classes[own].members.clone();
        let mut left_to_spend = self.board.classes[own].total() - LEAST_GAIN;
        let mut undo: Vec<(usize, Vec<Member>)> = Vec::new();
        for &member in &members {
            self.find_nearest(own, member);
            let Some(&(_, other)) = self.nearest.classes.first() else { break };
            left_to_spend -= self.board.join_cost(other, member);
            let joined = self.board.classes[other].with(member);
            if left_to_spend < 0.0 || !self.holds(&joined) {
                break;
            }
            undo.push((other, self.board.classes[other].members.clone()));
            self.set(other, joined);
        }
        if undo.len() == members.len() {
            self.set(own, Vec::new());
            return true;
        }
        undo.into_iter().rev().for_each(|(other, members)| self.set(other, members));
        false
    }

    /// Regroups each class with some near ones.
    fn regroup_all(&mut self, round: u64) {
        for class in 0..self.board.classes.len() {
            let dice = mix(round << 32 | class as u64);
            if self.board.classes[class].total() > LEAST_GAIN {
                self.regroup(class, dice, 1 + (dice >> 32) % MAX_REGROUPED);
            }
        }
    }

    /// Takes a class and near ones apart, and grows classes from their members. Near classes that
    /// lose nothing stay.
    fn regroup(&mut self, own: usize, dice: u64, n_others: u64) {
        let members = &self.board.classes[own].members;
        self.find_nearest(own, members[(dice % members.len() as u64) as usize]);
        let mut loose = std::mem::take(&mut self.loose);
        let (mut old, mut free): (Vec<usize>, Vec<Member>) = (Vec::new(), Vec::new());
        let most = MAX_LOOSE.max((self.test.min_rows as usize).saturating_mul(LOOSE_CLASSES));
        for class in
            std::iter::once(own).chain(self.nearest.classes.iter().map(|&(_, class)| class))
        {
            let Class { members, loss, .. } = &self.board.classes[class];
            let is_small = free.len() + members.len() <= most;
            if *loss > 0.0 && is_small && old.len() as u64 <= n_others {
                free.extend_from_slice(members);
                old.push(class);
            }
        }
        if free.is_empty() {
            self.loose = loose;
            return;
        }
        loose.fill(self.board.ground, free);
        let limit: f64 = old.iter().map(|&class| self.board.classes[class].total()).sum();
        let limit = limit * (1.0 + self.slack) - LEAST_GAIN;
        let (ground, ids, test) = (self.board.ground, self.ids, self.test);
        let mut regrouper = Regrouper { ground, test, ids, scratch: &mut self.scratch };
        let grown = regrouper.regroup(&mut loose, mix(dice), limit);
        let Some(grown) = grown.filter(|grown| grown.len() <= old.len() + self.board.n_gone())
        else {
            self.loose = loose;
            return;
        };
        old.into_iter().for_each(|class| self.set(class, Vec::new()));
        for members in grown {
            let class = self.board.gone().expect("counted before");
            self.set(class, members);
        }
        self.loose = loose;
    }

    /// What all rows lose.
    fn total(&self) -> f64 {
        self.board.classes.iter().map(Class::total).sum()
    }

    fn state(&self) -> State {
        let classes = self.board.classes.iter().map(|class| class.members.clone());
        State { total: self.total(), classes: classes.collect() }
    }

    fn set(&mut self, class: usize, members: Vec<Member>) {
        self.is_changed[class] = true;
        self.board.set_members(class, members);
    }

    fn holds(&mut self, members: &[Member]) -> bool {
        let holds = self.test.holds(members, self.ids, &mut self.scratch);
        self.n_refused += usize::from(!holds);
        holds
    }
}
