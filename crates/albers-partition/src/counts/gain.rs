//! The split that tells most about the targets of a workload: [`crate::split::gain`] by counts.

use super::CountPlan;
use super::group::{AxisCounts, CountGroup, Run};
use super::walk::{Allowed, Part, Sweep, parts_of, step_of};
use crate::split::Split;
use crate::split::gain::{Best, Gains, MAX_SIBLINGS};
use crate::split::tally::Tally;

/// The counts of a node, about to be split.
struct Node<'n> {
    plan: &'n CountPlan<'n>,
    gains: &'n Gains<'n>,
    n_rows: usize,
}

/// Chooses a split; see the module.
pub(super) fn choose(plan: &CountPlan<'_>, gains: &Gains<'_>, group: &CountGroup) -> Option<Split> {
    let node = Node { plan, gains, n_rows: group.n_rows() };
    let open = |axis: usize| !group.axes[axis].is_closed();
    let first = (0..group.axes.len()).find(|&axis| open(axis))?;
    let mut whole = gains.workload().tallies();
    let some = &group.axes[first];
    some.runs.iter().for_each(|&run| node.add(some, run, &mut whole));
    let score = gains.score(&whole);
    let most = score - gains.workload().least_gain() * group.n_rows() as f64;
    // All rows agree, or nearly so: no split can tell enough.
    if most < 0.0 || score == 0.0 {
        return None;
    }
    let axes = &plan.space.axes;
    for preferred in [true, false] {
        let mut best = Best::none(most);
        let own = (0..axes.len()).filter(|&axis| axes[axis].preferred == preferred && open(axis));
        for axis in own {
            let counts = &group.axes[axis];
            match plan.label_tree(axis).is_some() {
                true => node.weigh_label((axis, counts), &mut whole, &mut best),
                false => node.weigh_cuts((axis, counts), &mut whole, &mut best),
            }
        }
        if best.split.is_some() {
            return best.split;
        }
    }
    None
}

impl Node<'_> {
    fn add(&self, counts: &AxisCounts, run: Run, tallies: &mut [Tally]) {
        let targets = self.gains.workload().targets.iter().enumerate();
        for (target, tally) in targets.zip(tallies) {
            counts.classes(target, run, |class, n_rows| tally.add_many(class, n_rows));
        }
    }

    fn remove(&self, counts: &AxisCounts, run: Run, tallies: &mut [Tally]) {
        let targets = self.gains.workload().targets.iter().enumerate();
        for (target, tally) in targets.zip(tallies) {
            counts.classes(target, run, |class, n_rows| tally.remove_many(class, n_rows));
        }
    }

    /// How uneven a part and the rest are.
    fn imbalance(&self, n_part: usize) -> usize {
        (2 * n_part).abs_diff(self.n_rows)
    }

    /// Weighs the cuts of an attribute. `whole` are the tallies of all rows, before and after.
    fn weigh_cuts(
        &self,
        (axis, counts): (usize, &AxisCounts),
        whole: &mut Vec<Tally>,
        best: &mut Best,
    ) {
        let (first, last) = (self.plan.min_rows, self.n_rows - self.plan.min_rows);
        let mut before = self.gains.workload().tallies();
        let mut sweep = self.plan.rule.map(|rule| Sweep::new(rule, counts, 0));
        let mut n_before = 0;
        for (place, &run) in counts.runs.iter().enumerate() {
            self.add(counts, run, &mut before);
            self.remove(counts, run, whole);
            n_before += run.n_rows as usize;
            if place + 1 == counts.runs.len() || !(first..=last).contains(&n_before) {
                continue;
            }
            let score = self.gains.score(&before) + self.gains.score(whole);
            let imbalance = self.imbalance(n_before);
            let mut holds = || sweep.as_mut().is_none_or(|sweep| sweep.holds_at(place + 1));
            if best.is_better(score, imbalance) && holds() {
                best.offer(score, imbalance, Split::Cut { axis, code: run.code });
            }
        }
        // All rows have changed sides; now the sides change.
        *whole = before;
    }

    /// Weighs the ways to specialize a label: into the parts that satisfy the requirement and the
    /// rest, and into one part and the others.
    fn weigh_label(
        &self,
        (axis, counts): (usize, &AxisCounts),
        whole: &mut [Tally],
        best: &mut Best,
    ) {
        let tree = self.plan.label_tree(axis).expect("called for label axes");
        let step = step_of(tree, &counts.runs);
        let parts = parts_of(tree, step, &counts.runs);
        // What stands alone of all rows: each part in turn, and what is left without it.
        let mut scores = Vec::with_capacity(parts.len());
        for part in &parts {
            let mut own = self.gains.workload().tallies();
            for &run in &counts.runs[part.runs.clone()] {
                self.add(counts, run, &mut own);
                self.remove(counts, run, whole);
            }
            scores.push((self.gains.score(&own), self.gains.score(whole)));
            let runs = counts.runs[part.runs.clone()].iter();
            runs.for_each(|&run| self.add(counts, run, whole));
        }
        let mut allowed = Allowed::new(self.plan, counts);
        if let Some(kept) = allowed.kept(&parts) {
            let score = self.score_of_parts(counts, &parts, &kept, &scores);
            let largest = parts.iter().map(|part| part.n_rows).max().unwrap_or(0);
            best.offer(score, self.imbalance(largest), Split::Specialize { axis, step });
        }
        if !(3..=MAX_SIBLINGS).contains(&parts.len()) {
            return;
        }
        for (place, part) in parts.iter().enumerate() {
            let (score, imbalance) =
                (scores[place].0 + scores[place].1, self.imbalance(part.n_rows));
            let others = || parts[..place].iter().chain(&parts[place + 1..]);
            if best.is_better(score, imbalance)
                && allowed.holds(std::iter::once(part))
                && allowed.holds(others())
            {
                let (lo, hi) = part.range;
                best.offer(score, imbalance, Split::Peel { axis, lo, hi });
            }
        }
    }

    /// The score of parts that stand alone, and of the others together.
    fn score_of_parts(
        &self,
        counts: &AxisCounts,
        parts: &[Part],
        kept: &[bool],
        scores: &[(f64, f64)],
    ) -> f64 {
        let alone = kept.iter().zip(scores).filter(|(kept, _)| **kept).map(|(_, own)| own.0);
        let mut rest = self.gains.workload().tallies();
        for (part, _) in parts.iter().zip(kept).filter(|(_, kept)| !**kept) {
            let runs = counts.runs[part.runs.clone()].iter();
            runs.for_each(|&run| self.add(counts, run, &mut rest));
        }
        alone.sum::<f64>() + self.gains.score(&rest)
    }
}
