//! Vector instructions against plain words, and choices against a look at every cut.

use albers_classes::space::{Axis, AxisKind, Space};
use proptest::prelude::*;

use super::*;
use crate::split::Policy;
use crate::split::extent::has_small_sets;

/// Points with some attributes of few values, which are followed one by one, and some of many.
#[derive(Debug, Clone)]
struct Table {
    n_codes: Vec<u32>,
    weights: Vec<f64>,
    preferred: Vec<bool>,
    points: Vec<Point<64>>,
}

fn table() -> impl Strategy<Value = Table> {
    let axis = (prop_oneof![1..6u32, 40..64u32, 65..2000u32, Just(1 << 30)], 1..9u32, 0..8u32);
    let n_axes = prop_oneof![4 => 1..12usize, 1 => 12..50usize];
    let axes = n_axes.prop_flat_map(move |n_axes| prop::collection::vec(axis.clone(), n_axes));
    (axes, 1..=MAX_POINTS, any::<u64>()).prop_map(|(axes, n_points, seed)| {
        let mut state = seed | 1;
        let mut draw = move |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) as u32) % below
        };
        let point = |_| {
            let mut point = [0; 64];
            let codes = axes.iter().map(|&(n_codes, _, _)| draw(n_codes));
            point.iter_mut().zip(codes).for_each(|(lane, code)| *lane = code);
            point
        };
        Table {
            points: (0..n_points).map(point).collect(),
            n_codes: axes.iter().map(|axis| axis.0).collect(),
            weights: axes.iter().map(|axis| f64::from(axis.1) / 4.0).collect(),
            preferred: axes.iter().map(|axis| axis.2 == 0).collect(),
        }
    })
}

impl Table {
    fn space(&self) -> Space {
        let axis = |at: usize| {
            let n_codes = self.n_codes[at];
            let scale = 1.0 / f64::from(n_codes.max(2) - 1);
            let kind = AxisKind::Set { scale, n_codes };
            Axis { kind, weight: self.weights[at], preferred: self.preferred[at] }
        };
        Space { axes: (0..self.n_codes.len()).map(axis).collect() }
    }
}

/// What becomes of the nodes of a table, and the points and places as they are moved.
type Grown = (Vec<Step>, Vec<Point<64>>, Vec<u32>);

fn grown<A: Lanes>(table: &Table, space: &Space, min_rows: usize, lanes: A) -> Grown {
    let mut board = Board::default();
    let mut points = table.points.clone();
    let mut places: Vec<u32> = (0..points.len() as u32).collect();
    let mut steps = Vec::new();
    pulp::NullaryFnOnce::call(Growing {
        lanes,
        chooser: &Chooser::<64, 64>::new(space, Policy::Compact, false),
        stop: &|_| Some(Allowance { min_rows, rule: None }),
        board: &mut board,
        points: &mut points,
        places: &mut places,
        keep: &mut |step| steps.push(step),
    });
    (steps, points, places)
}

/// The cost of a cut in floating point, as the weigher has it.
fn cost(space: &Space, points: &[Point<64>], axis: usize, code: u32) -> f64 {
    let weigher = Weigher::<64, 64>::new(space);
    let sides: [Vec<Point<64>>; 2] = [true, false]
        .map(|first| points.iter().copied().filter(|p| (p[axis] <= code) == first).collect());
    sides.iter().map(|side| side.len() as f64 * f64::from(weigher.loss(&Extent::of(side)))).sum()
}

proptest! {
    #[test]
    fn vectors_cut_where_plain_words_cut(table in table(), min_rows in 1..20usize) {
        let space = table.space();
        let Some(vectors) = vectors() else { return Ok(()) };
        let by_vectors = grown(&table, &space, min_rows, vectors);
        prop_assert_eq!(by_vectors, grown(&table, &space, min_rows, lanes::Plain));
    }

    #[test]
    fn the_cut_of_least_loss_is_chosen(table in table(), min_rows in 1..20usize) {
        let space = table.space();
        prop_assume!(!has_small_sets(&space) || table.n_codes.len() <= 64);
        let points = &table.points;
        let chooser = Chooser::<64, 64>::new(&space, Policy::Compact, false);
        let allowance = Allowance { min_rows, rule: None };
        let chosen = choose(&chooser, &allowance, points, &[], &mut Board::default());
        let weigher = Weigher::<64, 64>::new(&space);
        let whole = Extent::<64, 64>::of(points);
        let width = |axis: usize| match weigher.sets.iter().find(|set| set.0 == axis) {
            Some(set) => (whole.seen[axis].count_ones() - 1) as f32 * set.1,
            None => (whole.hi[axis] - whole.lo[axis]) as f32 * weigher.per_code[axis],
        };
        let allowed: Vec<(usize, u32)> = (0..table.n_codes.len())
            .flat_map(|axis| points.iter().map(move |point| (axis, point[axis])))
            .filter(|&(axis, code)| {
                let n_first = points.iter().filter(|point| point[axis] <= code).count();
                n_first >= min_rows && points.len() - n_first >= min_rows
            })
            .collect();
        let Some(Split::Cut { axis, code }) = chosen else {
            prop_assert!(allowed.is_empty(), "an allowable cut was passed over");
            return Ok(());
        };
        prop_assert!(allowed.contains(&(axis, code)), "the cut is not allowable");
        // Preferred attributes before all others, wide ones before narrow ones.
        let best_group = allowed.iter().map(|&(axis, _)| table.preferred[axis]).max();
        prop_assert_eq!(Some(table.preferred[axis]), best_group);
        let group = |axis: usize| table.preferred[axis] == best_group.unwrap_or_default();
        let widest = (0..table.n_codes.len())
            .filter(|&axis| group(axis) && whole.lo[axis] < whole.hi[axis])
            .map(width)
            .fold(0.0, f32::max);
        let is_wide = |axis: usize| 4.0 * width(axis) >= widest;
        // What is a quarter but for rounding may be taken for more or for less.
        let is_near = |axis: usize| (4.0 * width(axis) - widest).abs() < 1e-3 * widest;
        prop_assume!(!(0..table.n_codes.len()).any(is_near));
        let rivals = || allowed.iter().filter(|&&(axis, _)| group(axis));
        let any_wide = rivals().any(|&(axis, _)| is_wide(axis));
        prop_assert_eq!(is_wide(axis), any_wide);
        let least = rivals()
            .filter(|&&(axis, _)| is_wide(axis) == any_wide)
            .map(|&(axis, code)| cost(&space, points, axis, code))
            .fold(f64::INFINITY, f64::min);
        // Each code is rounded to a part of what the widest loses.
        let widest = (0..table.n_codes.len()).map(width).fold(0.0, f32::max);
        let unit = f64::from(widest) / f64::from(WIDEST);
        let rounding = unit * (points.len() * 64 * table.n_codes.len()) as f64;
        let own = cost(&space, points, axis, code);
        prop_assert!(own <= least + rounding + 1e-4 * least, "{own} above {least}");
    }
}
