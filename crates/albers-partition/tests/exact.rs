//! Cuts that are chosen exactly are the best of all, however large a node is.

#[allow(dead_code, reason = "the tables are those of another test, which asks more of them")]
#[path = "mondrian/table.rs"]
mod table;

use albers_classes::TargetCodes;
use albers_classes::space::{Axis, AxisKind, Space};
use albers_partition::split::gain::Gains;
use albers_partition::split::rule::Allowance;
use albers_partition::split::state::NodeState;
use albers_partition::split::workload::{Target, TargetPlace, TargetValues, Workload};
use albers_partition::split::{Chooser, Point, Policy, Scratch, Split};
use albers_table::domain::Ruler;

use table::Dice;

const N_CODES: u32 = 100_000;

fn space() -> Space {
    let kind = AxisKind::Interval { scale: 1.0 / f64::from(N_CODES - 1), ruler: Ruler::of_codes() };
    Space { axes: vec![Axis { kind, weight: 1.0, preferred: false }] }
}

/// Points on a line, at any place.
fn points(seed: u64, n_points: usize) -> Vec<Point<8>> {
    let mut dice = Dice(seed);
    let point = |_| {
        let mut point = [0; 8];
        // Denser at the start, so that the best cut is not the middle.
        point[0] = dice.below(N_CODES).min(dice.below(N_CODES));
        point
    };
    (0..n_points).map(point).collect()
}

/// The last code of the left side.
fn cut(chooser: &Chooser<'_, 8, 0>, min_rows: usize, points: &[Point<8>]) -> Option<u32> {
    let locals: Vec<u32> = (0..points.len() as u32).collect();
    let allowance = Allowance { min_rows, rule: None };
    let mut state = NodeState::default();
    let split = chooser.choose(&allowance, points, &locals, &mut state, &mut Scratch::default());
    match split? {
        Split::Cut { code, .. } => Some(code),
        other => panic!("{other:?} is no cut of an interval"),
    }
}

#[test]
fn a_target_is_told_by_the_one_cut_that_tells_all_of_it() {
    let (space, points) = (space(), points(1, 10_000));
    let edge = 12_345;
    let classes: Vec<u32> = points.iter().map(|point| u32::from(point[0] > edge)).collect();
    let target = Target {
        place: TargetPlace::Carried(0),
        values: TargetValues::Classes { n_classes: 2, missing: None },
        weight: 1.0,
    };
    let workload = Workload { targets: vec![target], ..Workload::default() };
    let carried = TargetCodes::of_columns(&[&classes]);
    let tells_all = |is_exact: bool| {
        let gains = Gains::new(&workload, Some(&carried), &points);
        let chooser = Chooser::new(&space, Policy::Median, true)
            .with_exactness(is_exact)
            .with_gains(Some(gains));
        let code = cut(&chooser, 2, &points).expect("a cut tells all");
        points.iter().all(|point| (point[0] > code) == (point[0] > edge))
    };
    assert!(tells_all(true));
    assert!(!tells_all(false), "the edge lies between two stretches of codes");
}

#[test]
fn the_least_loss_is_found_among_all_cuts_of_a_large_node() {
    let space = space();
    let mut n_better = 0;
    for seed in 0..20 {
        let points = points(seed, 700);
        let mut codes: Vec<u32> = points.iter().map(|point| point[0]).collect();
        codes.sort_unstable();
        let (min_rows, n) = (5, codes.len());
        let cost = |n_left: usize| {
            let left = u64::from(codes[n_left - 1] - codes[0]) * n_left as u64;
            left + u64::from(codes[n - 1] - codes[n_left]) * (n - n_left) as u64
        };
        let cuts = (min_rows..=n - min_rows).filter(|&at| codes[at - 1] != codes[at]);
        let least = cuts.map(cost).min().expect("there are cuts");
        let cost_of = |is_exact: bool| {
            let chooser = Chooser::new(&space, Policy::Compact, true).with_exactness(is_exact);
            let code = cut(&chooser, min_rows, &points).expect("there are cuts");
            cost(codes.partition_point(|&own| own <= code)) as f64
        };
        // Costs are weighed in single precision.
        assert!(cost_of(true) <= least as f64 * 1.00001, "seed {seed}");
        n_better += u32::from(cost_of(false) > least as f64 * 1.00001);
    }
    assert!(n_better > 10, "a sample and stretches of codes find the same cuts");
}
