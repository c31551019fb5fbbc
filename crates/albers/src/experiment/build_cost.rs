//! How many rows are looked at to build an index and to cut from the top, by k, and what bounds
//! add.
//!
//! ```text
//!            all rows            looked at once each: 12 rows
//!           /        \
//!         7            5         once more: 12
//!        / \          / \
//!       4   3        2   3       once more, to see that there is no cut left: 12
//!                                and once more where classes are shown by the bounds of their rows
//! ```
//!
//! Source: Iwuchukwu & Naughton 2007, sections 5.1 and 5.3 and figures 7(a) and 9.
//! Departures: the paper has seconds; here rows are counted that are looked at in nodes, so that
//! figures follow from name and scale, and leaves that are looked at where they are brought
//! together. The paper's index puts row after row into a tree that is there; this one is cut from
//! the top as well, by other cuts, with all rows at hand. All columns are ordered.
//! Cost: one copy of the points at a time.

use albers_classes::space::{Axis as SpaceAxis, AxisKind, Space};
use albers_partition::cell::{Cell, TableSize};
use albers_partition::grain::Grain;
use albers_partition::plan::{CellFacts, Plan};
use albers_partition::split::{Point, Policy};
use albers_partition::split_tree::SplitTree;
use albers_privacy::{Facts, Requirement};
use albers_table::domain::Ruler;

use super::sales::{self, BASE_K, FEW_KS, KS};
use super::trial::Table;
use super::{Experiment, Outcome, Setting};
use crate::chart::{Axis, Chart, Series};
use crate::error::Result;

pub(super) const BY_K: Experiment = Experiment {
    name: "build-cost-by-k",
    source: "Iwuchukwu and Naughton 2007, figure 7(a)",
    claim: "Building an index for k = 5 and bringing its leaves together costs the same whatever k \
            is, and less than cutting from the top at every k, which costs less the greater k is.",
    seed: 70,
    run: run_by_k,
};

pub(super) const COMPACTION: Experiment = Experiment {
    name: "compaction-cost",
    source: "Iwuchukwu and Naughton 2007, figure 9",
    claim: "Finding the bounds of classes is a small part of the work of anonymizing, whatever the \
            rows of the table.",
    seed: 90,
    run: run_compaction,
};

/// Costs that differ by no more are the same.
const SAME: f64 = 1.05;
/// A part up to this share is small.
const SMALL_SHARE: f64 = 0.1;
/// The k at which bounds are found.
const COMPACTION_K: u64 = 10;

/// Points of as many lanes as there are columns.
const LANES: usize = sales::QUASI.len();

/// Sales as points, and the space they lie in.
struct Sales {
    points: Vec<Point<LANES>>,
    space: Space,
}

impl Sales {
    fn of(table: &Table) -> Sales {
        let columns = sales::QUASI.map(|name| table.rows().codes(name));
        let n_rows = columns[0].len();
        let point = |row: usize| std::array::from_fn(|lane| columns[lane][row]);
        let axis = |codes: &Vec<u32>| {
            let greatest = codes.iter().copied().max().unwrap_or(0);
            let scale = 1.0 / f64::from(greatest.max(1));
            let kind = AxisKind::Interval { scale, ruler: Ruler::of_codes() };
            SpaceAxis { kind, weight: 1.0, preferred: false }
        };
        let space = Space { axes: columns.iter().map(axis).collect() };
        Sales { points: (0..n_rows).map(point).collect(), space }
    }

    /// The first of the points, cut until no class of k rows can be cut further.
    fn cut(&self, n_rows: usize, k: u64, policy: Policy) -> Result<Work> {
        let requirement = Requirement::new(k, false, Vec::new(), Vec::new())?;
        let facts = Facts { subjects: Vec::new(), sensitive: Vec::new(), n_sensitive: 0 };
        let plan = Plan {
            space: &self.space,
            requirement: &requirement,
            facts: &facts,
            workload: None,
            policy,
            keep_regions: false,
            labels_apart: false,
            grain: Grain::exact(),
            is_exact: true,
            trust: None,
            portfolio: None,
            seed: 0,
        };
        let mut cell = Cell::new(self.points[..n_rows].to_vec());
        Ok(Work::of(&cell.grow::<0>(&plan, CellFacts::default(), TableSize::Small, None)))
    }
}

/// What was done to grow a tree.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Work {
    /// Rows that were looked at, once in each node they were in.
    rows_looked_at: f64,
    n_leaves: f64,
}

impl Work {
    fn of(tree: &SplitTree) -> Work {
        let leaves = || tree.leaf_rows().zip(tree.leaf_levels());
        let looked_at = leaves().map(|(n_rows, level)| f64::from(n_rows) * f64::from(level + 1));
        Work { rows_looked_at: looked_at.sum(), n_leaves: leaves().count() as f64 }
    }
}

fn run_by_k(setting: &Setting) -> Result<Outcome> {
    let n_rows = setting.pick(8_000, 4_591_581);
    let sales = Sales::of(&sales::sales(n_rows, setting.seed)?);
    let ks = setting.pick(&FEW_KS[..], &KS);
    let n_rows = sales.points.len();
    let index = sales.cut(n_rows, BASE_K, Policy::Compact)?;
    let of_index = |&k: &u64| {
        let scanned = if k == BASE_K { 0.0 } else { index.n_leaves };
        (k as f64, index.rows_looked_at + scanned)
    };
    let of_mondrian =
        |&k: &u64| Ok((k as f64, sales.cut(n_rows, k, Policy::Median)?.rows_looked_at));
    let top_down = ks.iter().map(of_mondrian).collect::<Result<_>>()?;
    let series = vec![
        Series::new("index, built for k = 5", ks.iter().map(of_index).collect()),
        Series::new("from the top, anew for each k", top_down),
    ];
    let (holds, found) = verdict_by_k(&series, n_rows);
    let panel = Chart {
        title: "work".to_owned(),
        x: Axis::log("k"),
        y: Axis::linear("rows and leaves looked at"),
        series,
    };
    let title = "What building an index costs, beside cutting from the top".to_owned();
    Ok(Outcome { title, panels: vec![panel], holds, found })
}

fn verdict_by_k(series: &[Series], n_rows: usize) -> (bool, String) {
    let times = |at: usize| -> Vec<f64> {
        series[at].points.iter().map(|point| point.1 / n_rows as f64).collect()
    };
    let (index, top_down) = (times(0), times(1));
    let (least, most) =
        index.iter().fold((f64::MAX, 0.0f64), |(lo, hi), &own| (lo.min(own), hi.max(own)));
    let falls = top_down.windows(2).all(|pair| pair[1] < pair[0]);
    let n_below = index.iter().zip(&top_down).filter(|(own, other)| own < other).count();
    let n_ks = index.len();
    let found = format!(
        "the index looks {least:.2} to {most:.2} times at each row whatever k is, and cutting from \
         the top {:.2} times at k = {} and {:.2} at k = {}; the index is below it at {n_below} of \
         {n_ks} k, and serves all of them with one build where cutting anew for each looks {:.2} \
         times at each row.",
        top_down[0],
        series[1].points[0].0,
        top_down[n_ks - 1],
        series[1].points[n_ks - 1].0,
        top_down.iter().sum::<f64>()
    );
    (most <= SAME * least && falls && n_below == n_ks, found)
}

fn run_compaction(setting: &Setting) -> Result<Outcome> {
    const N_SIZES: usize = 9;
    let step = setting.pick(5_000, 500_000);
    let sales = Sales::of(&sales::sales((step * N_SIZES) as u64, setting.seed)?);
    let line = |name: &str, policy: Policy| {
        let share = |times: usize| {
            let n_rows = times * step;
            let cut = sales.cut(n_rows, COMPACTION_K, policy)?.rows_looked_at;
            Ok((n_rows as f64, n_rows as f64 / (n_rows as f64 + cut)))
        };
        let points = (1..=N_SIZES).map(share).collect::<Result<_>>()?;
        Ok::<_, crate::error::Error>(Series::new(name, points))
    };
    let series = vec![line("Mondrian", Policy::Median)?, line("index", Policy::Compact)?];
    let shares = || series.iter().flat_map(|own| &own.points).map(|point| point.1);
    let (least, most) =
        shares().fold((f64::MAX, 0.0f64), |(lo, hi), own| (lo.min(own), hi.max(own)));
    let found = format!(
        "of all looks at rows {:.1} to {:.1} % are for bounds.",
        100.0 * least,
        100.0 * most
    );
    let panel = Chart {
        title: "share".to_owned(),
        x: Axis::linear("rows of the table"),
        y: Axis::linear("share of looks at rows that are for bounds"),
        series,
    };
    let title = "What the bounds of classes cost".to_owned();
    Ok(Outcome { title, panels: vec![panel], holds: most <= SMALL_SHARE, found })
}

#[cfg(test)]
mod tests {
    use albers_partition::split::cut::Cut;
    use albers_partition::split_tree::TreeNode;

    use super::*;

    #[test]
    fn a_row_is_looked_at_in_every_node_that_it_is_in() {
        let mut tree = SplitTree::default();
        for node in [
            TreeNode::Cut(Cut::new(0, 0, 9)),
            TreeNode::Leaf { n_rows: 5 },
            TreeNode::Cut(Cut::new(0, 10, 19)),
            TreeNode::Leaf { n_rows: 3 },
            TreeNode::Leaf { n_rows: 4 },
        ] {
            tree.push(node);
        }
        let expected = f64::from(12 + 12 + 7);
        assert_eq!(Work::of(&tree), Work { rows_looked_at: expected, n_leaves: 3.0 });
        let whole = Work::of(&SplitTree::leaf(7));
        assert_eq!(whole, Work { rows_looked_at: 7.0, n_leaves: 1.0 });
    }
}
