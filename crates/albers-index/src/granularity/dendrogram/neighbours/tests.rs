use std::collections::BTreeSet;

use albers_classes::region::is_in_box;
use proptest::prelude::*;

use super::*;
use crate::granularity::sample::{Kind, Sample, kinds, rows};
use crate::granularity::walk::in_order;

/// The leaf whose region holds a point, the innermost of several.
fn innermost(regions: &Regions<'_>, point: &[u32]) -> Option<u32> {
    let places = 0..regions.walk.len() as u32;
    let around = places.filter(|&place| is_in_box(regions.of(place as usize), point));
    around.max_by_key(|&place| match regions.leaves.index {
        Index::Tree(_) => 0,
        Index::Blocks(file) => file.nesting().depth(regions.walk[place as usize]),
    })
}

/// Who is at the other side of the middle of each face, and the other way round.
fn brute_force(regions: &Regions<'_>) -> BTreeSet<(u32, u32)> {
    let mut pairs = BTreeSet::new();
    for place in 0..regions.walk.len() as u32 {
        let region = regions.of(place as usize);
        for axis in 0..region.len() {
            let (lo, hi) = (region[axis].0.get(), region[axis].1.get());
            for code in [lo.checked_sub(1), hi.checked_add(1)].into_iter().flatten() {
                let mut point: Vec<u32> =
                    region.iter().map(|own| own.0.get() + (own.1 - own.0) / 2).collect();
                point[axis] = code;
                if let Some(other) = innermost(regions, &point) {
                    pairs.extend([(place, other), (other, place)]);
                }
            }
        }
    }
    pairs
}

/// Whether two regions share a face, or one holds the other.
fn touch(a: &[Span], b: &[Span]) -> bool {
    let holds = |outer: &[Span], inner: &[Span]| {
        outer.iter().zip(inner).all(|(outer, inner)| outer.0 <= inner.0 && inner.1 <= outer.1)
    };
    if holds(a, b) || holds(b, a) {
        return true;
    }
    let beside = |a: &Span, b: &Span| a.1.get() + 1 == b.0.get() || b.1.get() + 1 == a.0.get();
    let meet = |a: &Span, b: &Span| a.0 <= b.1 && b.0 <= a.1;
    let both = || a.iter().zip(b);
    both().filter(|(a, b)| beside(a, b)).count() == 1
        && both().filter(|(a, b)| meet(a, b)).count() == a.len() - 1
}

proptest! {
    #[test]
    fn neighbours_are_who_brute_force_finds_at_the_middle_of_a_face(
        rows in rows(),
        kind in kinds(),
        min_rows in 1usize..5,
    ) {
        let sample = Sample::of(kind, &rows, min_rows.min(rows.len()));
        let walk = in_order(sample.leaves());
        let regions = Regions::new(sample.leaves(), &walk);
        let lists = regions.neighbours();
        let mut found = BTreeSet::new();
        for (place, others) in (0u32..).zip(lists.iter()) {
            found.extend(others.iter().map(|&other| (place, other)));
            for &other in others {
                let (own, other) = (regions.of(place as usize), regions.of(other as usize));
                // Without nesting, halves without rows are nobody's.
                prop_assert!(touch(own, other), "{own:?} {other:?}");
            }
        }
        prop_assert_eq!(found, brute_force(&regions));
        if kind == Kind::Tree && rows[0].len() == 1 {
            let n_pairs: usize = lists.iter().map(<[u32]>::len).sum();
            prop_assert_eq!(n_pairs, 2 * (walk.len() - 1), "a line of leaves");
        }
    }

    #[test]
    fn regions_of_a_tree_hold_their_rows_and_tile_their_box(rows in rows(), min_rows in 1usize..5) {
        let sample = Sample::of(Kind::Tree, &rows, min_rows.min(rows.len()));
        let walk = in_order(sample.leaves());
        let regions = Regions::new(sample.leaves(), &walk);
        for (place, &leaf) in walk.iter().enumerate() {
            for &row in sample.leaves().rows(leaf) {
                let codes = &sample.codes[row as usize];
                prop_assert!(is_in_box(regions.of(place), codes));
                prop_assert_eq!(regions.search(codes), Some(leaf));
            }
        }
        let volume = |region: &[Span]| -> f64 {
            region.iter().map(|own| f64::from(own.1 - own.0) + 1.0).product()
        };
        let sum: f64 = (0..walk.len()).map(|place| volume(regions.of(place))).sum();
        prop_assert!((sum / volume(&regions.whole) - 1.0).abs() < 1e-9);
    }
}
