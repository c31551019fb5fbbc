use albers_classes::region::is_in_box;
use proptest::prelude::*;

use super::*;
use crate::granularity::sample::{Kind, Sample, requirement, rows};

fn classes_of(sample: &Sample, k: u64, l: Option<u32>) -> Vec<ClassId> {
    let single: Vec<ClassId> = ClassId::first(sample.leaves().n_leaves()).collect();
    let (plan, asked) = (sample.plan(), requirement(k, l));
    renumbered(nested(sample.leaves(), sample.file(), &Units::of(&single), &asked, &plan))
}

proptest! {
    #[test]
    fn the_class_of_a_row_is_the_innermost_of_the_classes_around_it(
        rows in rows(),
        min_rows in 1usize..4,
        k in 1u64..20,
        has_rule in any::<bool>(),
    ) {
        let sample = Sample::of(Kind::Nested, &rows, min_rows.min(rows.len()));
        let (file, nesting) = (sample.file(), sample.file().nesting());
        let classes = classes_of(&sample, k.min(rows.len() as u64), has_rule.then_some(2));
        let tree = ClassTree::of(file, &classes);
        for block in 0..file.n_blocks() as u32 {
            let class = classes[block as usize];
            let parent = nesting.parent(block);
            let is_top = tree.top(class) == block;
            prop_assert!(is_top || parent.is_some_and(|parent| classes[parent as usize] == class));
            let regions: Vec<_> = ClassId::first(tree.n_classes())
                .map(|class| (class, file.region_box(tree.top(class))))
                .collect();
            for &row in sample.leaves().rows(block) {
                let codes = &sample.codes[row as usize];
                let around = regions.iter().filter(|(_, region)| is_in_box(region, codes));
                let innermost = around.max_by_key(|(class, _)| tree.depth(*class));
                prop_assert_eq!(innermost.map(|own| own.0), Some(class));
                let is_in_hole =
                    tree.holes(class).iter().any(|&hole| is_in_box(&file.region_box(hole), codes));
                prop_assert!(!is_in_hole, "a row lies in a hole of its class");
            }
        }
        for class in ClassId::first(tree.n_classes()) {
            let depth = tree.parent(class).map_or(0, |around| tree.depth(around) + 1);
            prop_assert_eq!(tree.depth(class), depth);
            for &hole in tree.holes(class) {
                prop_assert_eq!(tree.parent(classes[hole as usize]), Some(class));
            }
        }
    }

    #[test]
    fn every_nested_class_satisfies_if_all_rows_do(
        rows in rows(),
        k in 1u64..20,
        l in prop::option::of(1u32..4),
    ) {
        let sample = Sample::of(Kind::Nested, &rows, 2.min(rows.len()));
        let leaves = sample.leaves();
        let asked = requirement(k, l);
        let all: Vec<u32> = (0..leaves.n_leaves() as u32).collect();
        if !leaves.hold(&all, &asked) {
            return Ok(());
        }
        let groups: Vec<u32> = classes_of(&sample, k, l).iter().map(|class| class.get()).collect();
        for class in Lists::of_groups(&groups).iter() {
            prop_assert!(leaves.hold(class, &asked));
        }
    }

    #[test]
    fn what_lies_between_the_pieces_of_a_class_is_joined_with_them_and_nothing_else(
        rows in rows(),
        drawn in prop::collection::vec(0u32..6, 90),
    ) {
        let sample = Sample::of(Kind::Nested, &rows, 1);
        let file = sample.file();
        let given: Vec<ClassId> =
            drawn[..file.n_blocks()].iter().map(|&class| ClassId::new(class)).collect();
        // Numbers below the number of leaves are asked for.
        let given: Vec<ClassId> =
            given.iter().map(|class| ClassId::new(class.get() % given.len() as u32)).collect();
        let given = renumbered(given);
        let joined = connected(file, &given);
        prop_assert_eq!(&connected(file, &joined), &joined);
        let tree = ClassTree::of(file, &joined);
        for block in 0..file.n_blocks() as u32 {
            let class = joined[block as usize];
            let around = file.nesting().parent(block).map(|parent| joined[parent as usize]);
            prop_assert!(tree.top(class) == block || around == Some(class));
            for other in 0..block {
                let (a, b) = (block as usize, other as usize);
                prop_assert!(given[a] != given[b] || joined[a] == joined[b]);
            }
        }
    }
}

#[test]
fn what_is_left_around_all_others_joins_the_class_that_adds_least() {
    // Two crowds and two rows far out, which are too few for a class of their own.
    let crowd = |at: i64| (0..10i64).map(move |row| vec![at + row % 4, at + row / 4]);
    let far = [vec![0, 0], vec![1000, 1000]];
    let rows: Vec<Vec<i64>> = crowd(100).chain(crowd(700)).chain(far).collect();
    let sample = Sample::of(Kind::Nested, &rows, 2);
    let classes = classes_of(&sample, 5, None);
    let tree = ClassTree::of(sample.file(), &classes);
    let outermost = ClassId::first(tree.n_classes()).find(|&class| tree.depth(class) == 0);
    let n_rows: usize = (0..classes.len() as u32)
        .filter(|&block| Some(classes[block as usize]) == outermost)
        .map(|block| sample.leaves().rows(block).len())
        .sum();
    assert!(n_rows >= 5, "{n_rows}");
    assert!(tree.n_classes() >= 2, "the rest takes one class, not all");
}
