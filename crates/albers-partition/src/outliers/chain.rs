//! What leaving out more and more rows of a class saves.
//!
//! ```text
//!   saving ▲            ___*  all rows
//!          │       _*---      trims: rows at an end of the box, a rare value, a small part
//!          │    _*  .         below a label go together; what lies below the hull is no step
//!          │   /              of its own
//!          └──*──────────────► rows left out
//! ```

use albers_classes::space::{AxisKind, LabelTree, Space};

use super::covered::Covered;

/// A class is trimmed so often at most, before it is left out as a whole.
const MAX_TRIMS: usize = 16;
/// Savings below it are rounding.
const LEAST_SAVING: f64 = 1e-9;

/// Rows of a class that are left out together, once those of the steps before are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// How many.
    pub n_rows: u32,
    /// What each of them saves: its own loss, and its part of what those who stay no longer lose.
    pub per_row: f64,
}

/// What may be left out of a class, step by step; each saves less per row than the one before.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chain {
    steps: Vec<Step>,
    /// The places of all rows of the steps, in their order.
    places: Vec<u32>,
}

impl Chain {
    /// The steps.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The rows of the first steps, as places in the class.
    pub fn first_rows(&self, n_steps: usize) -> &[u32] {
        let n_rows: u32 = self.steps[..n_steps].iter().map(|step| step.n_rows).sum();
        &self.places[..n_rows as usize]
    }

    /// The rows of one step.
    pub fn rows_of(&self, step: usize) -> &[u32] {
        let start = self.first_rows(step).len();
        &self.first_rows(step + 1)[start..]
    }

    /// Gives up the steps from this one on.
    pub fn end_at(&mut self, step: usize) {
        self.places.truncate(self.first_rows(step).len());
        self.steps.truncate(step);
    }
}

/// A class that may lose rows.
#[derive(Clone, Copy)]
pub struct TrimmedClass<'c> {
    /// The attributes.
    pub space: &'c Space,
    /// The codes of its rows, row by row.
    pub codes: &'c [u32],
    /// Classes near to it, with their numbers of rows: rows that are too few alone may join them.
    pub near: &'c [(&'c Covered, usize)],
    /// How many rows may be left out in all.
    pub max_rows: u64,
}

impl<'c> TrimmedClass<'c> {
    fn row(&self, place: u32) -> &'c [u32] {
        let n_attributes = self.space.axes.len();
        &self.codes[place as usize * n_attributes..(place as usize + 1) * n_attributes]
    }

    fn covered(&self, places: &[u32]) -> Covered {
        Covered::of(self.space, places.iter().map(|&place| self.row(place)))
    }

    /// What all rows at some places lose.
    fn loss(&self, places: &[u32]) -> f64 {
        match places.is_empty() {
            true => 0.0,
            false => places.len() as f64 * self.covered(places).loss(self.space),
        }
    }

    /// The least that it costs if rows that are too few join a class near to them.
    fn join_cost(&self, rest: &[u32]) -> f64 {
        let own = self.covered(rest);
        let costs = self.near.iter().map(|&(other, n_rows)| {
            let together = (n_rows + rest.len()) as f64 * own.union(other).loss(self.space);
            together - n_rows as f64 * other.loss(self.space)
        });
        costs.fold(f64::INFINITY, f64::min)
    }

    /// The steps of the class. `holds` tells whether the rows at some places are a class by
    /// themselves.
    pub fn chain(&self, holds: &mut dyn FnMut(&[u32]) -> bool) -> Chain {
        let n_rows = self.codes.len() / self.space.axes.len().max(1);
        let mut rest: Vec<u32> = (0..n_rows as u32).collect();
        let whole = self.loss(&rest);
        let mut places: Vec<u32> = Vec::new();
        // Rows left out, and what that saves.
        let mut points: Vec<(usize, f64)> = Vec::new();
        let mut loss = whole;
        for _ in 0..MAX_TRIMS {
            if loss <= LEAST_SAVING {
                break;
            }
            let Some((trim, stays)) = self.best_trim(&rest, loss) else { break };
            if (places.len() + trim.len()) as u64 > self.max_rows {
                break;
            }
            loss = self.loss(&stays);
            let cost = if holds(&stays) { loss } else { self.join_cost(&stays) };
            places.extend(trim);
            rest = stays;
            points.push((places.len(), whole - cost));
        }
        if n_rows as u64 <= self.max_rows && whole > LEAST_SAVING {
            places.extend(rest);
            points.push((n_rows, whole));
        }
        let steps = hull(&points);
        let n_places = steps.iter().map(|step| step.n_rows as usize).sum();
        places.truncate(n_places);
        Chain { steps, places }
    }

    /// The rows whose absence saves most per row among those that stay, and what stays then.
    fn best_trim(&self, rest: &[u32], loss: f64) -> Option<(Vec<u32>, Vec<u32>)> {
        let mut best: Option<(f64, Vec<u32>, Vec<u32>)> = None;
        for attribute in 0..self.space.axes.len() {
            for is_trimmed in self.trims(rest, attribute) {
                let (trim, stays): (Vec<u32>, Vec<u32>) =
                    rest.iter().partition(|&&place| is_trimmed.takes(self.row(place)[attribute]));
                if trim.is_empty() || stays.is_empty() {
                    continue;
                }
                let per_row = (loss - self.loss(&stays)) / trim.len() as f64;
                // Of equal ones the first, whatever the order of the rows.
                if best.as_ref().is_none_or(|(most, ..)| per_row > *most) {
                    best = Some((per_row, trim, stays));
                }
            }
        }
        best.map(|(_, trim, stays)| (trim, stays))
    }

    /// What may be trimmed on one attribute.
    fn trims(&self, rest: &[u32], attribute: usize) -> Vec<Trim<'c>> {
        let codes = rest.iter().map(|&place| self.row(place)[attribute]);
        match &self.space.axes[attribute].kind {
            AxisKind::Interval { .. } => {
                let ends = codes.fold((u32::MAX, 0), |(lo, hi), code| (lo.min(code), hi.max(code)));
                vec![Trim::Code(ends.0), Trim::Code(ends.1)]
            }
            AxisKind::Set { .. } => rarest(codes).map(Trim::Code).into_iter().collect(),
            AxisKind::Label(tree) => {
                let specialization = tree.specialization(codes.clone());
                let part_of = move |code: u32| tree.part_of(specialization, code);
                let smallest = rarest(codes.map(part_of));
                let trim = |part| Trim::Part { tree, level: specialization.level, part };
                smallest.map(trim).into_iter().collect()
            }
        }
    }
}

/// Which rows go together, by their codes on one attribute.
#[derive(Clone, Copy)]
enum Trim<'c> {
    /// Those with a code.
    Code(u32),
    /// Those in a part below a label.
    Part { tree: &'c LabelTree, level: usize, part: u32 },
}

impl Trim<'_> {
    fn takes(&self, code: u32) -> bool {
        match *self {
            Trim::Code(own) => code == own,
            Trim::Part { tree, level, part } => {
                let specialization = albers_classes::space::Specialization { level };
                tree.part_of(specialization, code) == part
            }
        }
    }
}

/// The number that occurs least often, of several the least.
fn rarest(numbers: impl Iterator<Item = u32>) -> Option<u32> {
    let mut sorted: Vec<u32> = numbers.collect();
    sorted.sort_unstable();
    let runs = sorted.chunk_by(|a, b| a == b);
    runs.min_by_key(|run| run.len()).map(|run| run[0])
}

/// The steps along the upper hull of savings, while they save something.
fn hull(points: &[(usize, f64)]) -> Vec<Step> {
    let slope = |from: (usize, f64), to: (usize, f64)| (to.1 - from.1) / (to.0 - from.0) as f64;
    let mut corners = vec![(0usize, 0.0f64)];
    for &point in points {
        while let [.., before, last] = corners[..]
            && slope(before, last) <= slope(last, point)
        {
            corners.pop();
        }
        corners.push(point);
    }
    let steps = corners.windows(2).map(|pair| Step {
        n_rows: (pair[1].0 - pair[0].0) as u32,
        per_row: slope(pair[0], pair[1]),
    });
    steps.take_while(|step| step.per_row > LEAST_SAVING).collect()
}

#[cfg(test)]
mod tests {
    use albers_classes::space::Axis;
    use albers_table::domain::Ruler;

    use super::*;

    fn line() -> Space {
        let kind = AxisKind::Interval { scale: 1.0 / 100.0, ruler: Ruler::of_codes() };
        Space { axes: vec![Axis { kind, weight: 1.0, preferred: false }] }
    }

    fn chain_of(codes: &[u32], k: usize, near: &[(&Covered, usize)]) -> Chain {
        let space = line();
        let class = TrimmedClass { space: &space, codes, near, max_rows: 100 };
        class.chain(&mut |rest| rest.len() >= k)
    }

    #[test]
    fn a_row_far_from_all_others_is_the_first_to_go() {
        let chain = chain_of(&[10, 90, 11, 10, 12], 3, &[]);
        assert_eq!(chain.rows_of(0), [1]);
        // Five rows no longer lose 0.8, and four lose 0.02.
        let saved = 5.0 * 0.8 - 4.0 * 0.02;
        assert!((chain.steps()[0].per_row - saved).abs() < 1e-9);
        assert!(chain.steps().windows(2).all(|pair| pair[0].per_row > pair[1].per_row));
    }

    #[test]
    fn what_stays_may_join_a_class_near_to_it_at_its_cost() {
        let space = line();
        let codes = [10, 10, 90];
        let alone = chain_of(&codes, 3, &[]);
        assert_eq!(alone.steps().len(), 1, "nothing but the whole class can go");
        assert_eq!(alone.steps()[0].n_rows, 3);
        let other = Covered::of(&space, [[12u32], [14]].iter().map(|row| &row[..]));
        let near = chain_of(&codes, 3, &[(&other, 3)]);
        assert_eq!(near.rows_of(0), [2]);
        // Five rows then lose 0.04, of which three lost 0.02 before.
        let saved = 3.0 * 0.8 - (5.0 * 0.04 - 3.0 * 0.02);
        assert!((near.steps()[0].per_row - saved).abs() < 1e-9);
    }

    #[test]
    fn equal_rows_save_nothing() {
        assert!(chain_of(&[7, 7, 7, 7], 2, &[]).steps().is_empty());
    }

    #[test]
    fn no_step_leaves_out_more_rows_than_may_be() {
        let space = line();
        let codes = [0, 0, 50, 100, 100];
        for max_rows in 0..5 {
            let class = TrimmedClass { space: &space, codes: &codes, near: &[], max_rows };
            let chain = class.chain(&mut |rest| rest.len() >= 2);
            let n_rows: u32 = chain.steps().iter().map(|step| step.n_rows).sum();
            assert!(u64::from(n_rows) <= max_rows);
        }
    }
}
