//! Answers of boxes against brute force over rows and points.

use albers_query::boxes::Parts;
use albers_query::cells::Known;
use albers_query::{Answer, Asked, AxisCells, Boxes, Cover, Missing, Query, Scale};
use proptest::prelude::*;

const N: u32 = 9;
const N_AXES: usize = 2;

/// A position, or the missing value.
type Coordinate = Option<u32>;

/// A class: what it covers, and its rows, each with a carried value.
#[derive(Debug, Clone)]
struct Class {
    covers: [Cover; N_AXES],
    rows: Vec<([Coordinate; N_AXES], u32)>,
    level: u32,
}

fn has(asked: &Asked, own: Coordinate) -> bool {
    match own {
        None => asked.missing,
        Some(own) => asked.spans.iter().any(|&(first, last)| (first..=last).contains(&own)),
    }
}

fn covers(cover: &Cover, own: Coordinate) -> bool {
    has(&Asked { spans: cover.spans.clone(), missing: cover.missing != Missing::No }, own)
}

/// Points that are covered, and rows that have all of them that are surely there.
fn class(known: Known) -> impl Strategy<Value = Class> {
    let rows = prop::collection::vec(([0..N + 1, 0..N + 1], 0u32..3), 1..7);
    rows.prop_map(move |rows| {
        let coordinate = |own: u32| (own < N).then_some(own);
        let rows: Vec<_> = rows
            .into_iter()
            .map(|([x, y], carried)| ([coordinate(x), coordinate(y)], carried))
            .collect();
        let cover = |axis: usize| -> Cover {
            let values: Vec<u32> = rows.iter().filter_map(|(point, _)| point[axis]).collect();
            let is_missing = rows.iter().any(|(point, _)| point[axis].is_none());
            let missing = if is_missing { Missing::Shown } else { Missing::No };
            match (values.iter().min(), values.iter().max(), known) {
                (Some(_), _, Known::All) => Cover::positions(values).with(missing),
                (Some(&lo), Some(&hi), Known::Ends) => Cover::range(lo, hi).with(missing),
                (Some(&lo), Some(&hi), Known::Nothing) => {
                    Cover::range(lo.saturating_sub(1), (hi + 1).min(N - 1)).with(missing)
                }
                _ => Cover::missing(),
            }
        };
        Class { covers: [cover(0), cover(1)], rows: rows.clone(), level: 0 }
    })
}

fn asked(n_positions: u32) -> impl Strategy<Value = Asked> {
    let range = (0..n_positions, 0..n_positions, any::<bool>())
        .prop_map(|(a, b, missing)| Asked { missing, ..Asked::range(a.min(b), a.max(b)) });
    let some = prop::collection::vec(0..n_positions, 0..4).prop_map(Asked::positions);
    prop_oneof![3 => range, 1 => some]
}

/// Boxes of what is asked on two axes and of a carried column of three values.
fn query() -> impl Strategy<Value = Vec<Vec<(usize, Asked)>>> {
    let test =
        (0usize..3).prop_flat_map(|axis| (Just(axis), asked(if axis < N_AXES { N } else { 3 })));
    prop::collection::vec(prop::collection::vec(test, 0..4), 1..4)
}

fn axis(classes: &[Class], axis: usize, known: Known) -> AxisCells {
    AxisCells {
        cells: classes.iter().map(|class| class.covers[axis].clone()).collect(),
        cell_of: (0..classes.len() as u32).collect(),
        n_positions: N,
        scale: Scale::Counted,
        known,
    }
}

fn parts(classes: &[Class]) -> Parts {
    let mut parts = Parts { starts: vec![0], sizes: Vec::new(), axes: Vec::new() };
    let mut cell_of = Vec::new();
    for class in classes {
        for value in 0..3 {
            let n_rows = class.rows.iter().filter(|row| row.1 == value).count() as u64;
            if n_rows > 0 {
                parts.sizes.push(n_rows);
                cell_of.push(value);
            }
        }
        parts.starts.push(parts.sizes.len() as u32);
    }
    let cells = (0..3).map(|value| Cover::range(value, value)).collect();
    let (scale, known) = (Scale::Counted, Known::All);
    parts.axes.push(AxisCells { cells, cell_of, n_positions: 3, scale, known });
    parts
}

fn boxes(classes: &[Class], known: Known) -> Boxes {
    let sizes = classes.iter().map(|class| class.rows.len() as u64).collect();
    let axes = (0..N_AXES).map(|place| axis(classes, place, known)).collect();
    Boxes::new(sizes, axes).with_parts(parts(classes))
}

fn satisfies(boxes: &[Vec<(usize, Asked)>], point: [Coordinate; N_AXES], carried: u32) -> bool {
    boxes.iter().any(|tests| {
        tests.iter().all(|(axis, asked)| match point.get(*axis) {
            Some(own) => has(asked, *own),
            None => has(asked, Some(carried)),
        })
    })
}

fn points() -> impl Iterator<Item = [Coordinate; N_AXES]> {
    let line = || (0..N).map(Some).chain([None]);
    line().flat_map(move |x| line().map(move |y| [x, y]))
}

/// What the answer must be by a look at every point, where rows may be anywhere in their cells; and
/// how many rows satisfy the query.
fn by_brute_force(classes: &[Class], query: &[Vec<(usize, Asked)>]) -> (u64, u64, u64) {
    let (mut overlap, mut inside, mut truth) = (0, 0, 0);
    for class in classes {
        let own = |point: &[Coordinate; N_AXES]| {
            let is_in = |other: &Class| (0..N_AXES).all(|at| covers(&other.covers[at], point[at]));
            let deeper = classes.iter().filter(|other| other.level > class.level);
            is_in(class) && !deeper.clone().any(is_in)
        };
        for (point, carried) in &class.rows {
            truth += u64::from(satisfies(query, *point, *carried));
            let mut of_class = points().filter(own);
            overlap += u64::from(of_class.any(|point| satisfies(query, point, *carried)));
            let mut of_class = points().filter(own);
            inside += u64::from(of_class.all(|point| satisfies(query, point, *carried)));
        }
    }
    (overlap, inside, truth)
}

fn answered(boxes: &Boxes, query: &[Vec<(usize, Asked)>]) -> Answer {
    let n_positions = boxes.n_positions();
    let mut query = Query::any_of(query.to_vec(), &n_positions).expect("few boxes");
    if boxes.needs_opposite(&query) {
        query = query.with_opposite(&n_positions).expect("few boxes");
    }
    boxes.answer(&query)
}

proptest! {
    #[test]
    fn bounds_hold_and_overlap_is_what_a_look_at_every_point_finds(
        classes in prop::collection::vec(class(Known::Nothing), 1..6),
        query in query(),
    ) {
        let answer = answered(&boxes(&classes, Known::Nothing), &query);
        let (overlap, inside, truth) = by_brute_force(&classes, &query);
        prop_assert_eq!((answer.overlap, answer.lower, answer.upper), (overlap, inside, overlap));
        prop_assert!(inside <= truth && truth <= overlap);
        prop_assert!(answer.estimate <= overlap as f64 + 1e-9);
        prop_assert!(answer.estimate >= inside as f64 - 1e-9);
    }

    #[test]
    fn bounds_by_known_values_hold_and_are_no_wider(
        all_are_known in any::<bool>(),
        (ends, sets) in (
            prop::collection::vec(class(Known::Ends), 1..6),
            prop::collection::vec(class(Known::All), 1..6),
        ),
        query in query(),
    ) {
        let (classes, known) =
            if all_are_known { (sets, Known::All) } else { (ends, Known::Ends) };
        let answer = answered(&boxes(&classes, known), &query);
        let (overlap, inside, truth) = by_brute_force(&classes, &query);
        prop_assert_eq!(answer.overlap, overlap);
        prop_assert!(inside <= answer.lower, "{} {}", inside, answer.lower);
        prop_assert!(answer.lower <= truth && truth <= answer.upper, "{:?} {}", answer, truth);
        prop_assert!(answer.upper <= overlap);
    }

    #[test]
    fn of_nested_classes_a_class_is_its_box_without_those_of_greater_levels(
        cuts in prop::collection::vec((0..N, 0..N, 0..N, 0..N), 1..5),
        rows in prop::collection::vec(([0..N, 0..N], 0u32..3), 20..60),
        shrink in any::<bool>(),
        query in query(),
    ) {
        let classes = nested(&cuts, &rows, shrink);
        let levels: Vec<u32> = classes.iter().map(|class| class.level).collect();
        let (boxes, is_nested) = boxes(&classes, Known::Nothing).with_levels(&levels);
        prop_assert!(is_nested);
        let answer = answered(&boxes, &query);
        let (overlap, inside, truth) = by_brute_force(&classes, &query);
        prop_assert_eq!((answer.overlap, answer.lower), (overlap, inside));
        prop_assert!(inside <= truth && truth <= overlap);
        prop_assert!(answer.estimate <= overlap as f64 + 1e-6);
    }
}

/// Classes that lie within each other: each region in the one before it, or beside it in the same.
fn nested(cuts: &[(u32, u32, u32, u32)], rows: &[([u32; 2], u32)], shrink: bool) -> Vec<Class> {
    let mut regions: Vec<([(u32, u32); N_AXES], u32)> = vec![([(0, N - 1); N_AXES], 0)];
    for &(a, b, c, d) in cuts {
        let new = [(a.min(b), a.max(b)), (c.min(d), c.max(d))];
        let meets =
            |own: &[(u32, u32); 2]| own.iter().zip(&new).all(|(a, b)| a.0 <= b.1 && b.0 <= a.1);
        let holds =
            |own: &[(u32, u32); 2]| own.iter().zip(&new).all(|(a, b)| a.0 <= b.0 && b.1 <= a.1);
        if regions.iter().all(|(own, _)| !meets(own) || (holds(own) && *own != new)) {
            let level = regions.iter().filter(|(own, _)| holds(own)).count() as u32;
            regions.push((new, level));
        }
    }
    let mut classes: Vec<Class> = regions
        .iter()
        .map(|(region, level)| {
            let covers = region.map(|(first, last)| Cover::range(first, last));
            Class { covers, rows: Vec::new(), level: *level }
        })
        .collect();
    for (point, carried) in rows {
        let point = point.map(Some);
        let around = classes
            .iter_mut()
            .filter(|class| (0..N_AXES).all(|axis| covers(&class.covers[axis], point[axis])));
        let own = around.max_by_key(|class| class.level).expect("the outermost is around all");
        own.rows.push((point, *carried));
    }
    classes.retain(|class| !class.rows.is_empty());
    if shrink {
        for class in &mut classes {
            for axis in 0..N_AXES {
                let values = || class.rows.iter().filter_map(|(point, _)| point[axis]);
                let (lo, hi) = (values().min(), values().max());
                class.covers[axis] = Cover::range(lo.unwrap_or(0), hi.unwrap_or(0));
            }
        }
    }
    classes
}

#[test]
fn shares_are_those_of_lengths() {
    // Whole numbers 0..=9, then a gap, then 20: the estimate counts values, not positions.
    let edges = (0..=10).map(f64::from).chain([20.0, 21.0]).collect();
    let axis = AxisCells {
        cells: vec![Cover::range(0, 11), Cover::range(11, 11)],
        cell_of: vec![0, 1],
        n_positions: 12,
        scale: Scale::Measured(edges),
        known: Known::Nothing,
    };
    let boxes = Boxes::new(vec![21, 4], vec![axis]);
    let query = vec![vec![(0, Asked::range(10, 11))]];
    let answer = answered(&boxes, &query);
    assert_eq!((answer.overlap, answer.lower, answer.upper), (25, 4, 25));
    assert!((answer.estimate - 15.0).abs() < 1e-9, "{}", answer.estimate);
}
