use std::convert::Infallible;

use albers_storage::choice::Choice;
use proptest::prelude::*;

use super::*;
use crate::granularity::lists::Lists;
use crate::granularity::sample::{Kind, Sample, kinds, requirement, rows};

/// What a class of intervals shows: the box of its rows.
fn shown(sample: &Sample, classes: &[ClassId]) -> Vec<ClassId> {
    let groups: Vec<u32> = classes.iter().map(|class| class.get()).collect();
    let leaves = sample.leaves();
    let boxes: Vec<Vec<(u32, u32)>> = Lists::of_groups(&groups)
        .iter()
        .map(|class| {
            let extent = leaves.extent::<8, 0>(class);
            extent.lo.into_iter().zip(extent.hi).collect()
        })
        .collect();
    let first = |class: &ClassId| {
        let own = &boxes[class.index()];
        ClassId::of_index(boxes.iter().position(|other| other == own).unwrap())
    };
    classes.iter().map(first).collect()
}

fn made(
    sample: &Sample,
    (granularity, closeness): (Granularity, Closeness),
    requirements: &[Requirement],
) -> Releases {
    let plan = sample.plan();
    let coarsening = Coarsening { granularity, fan_out: 3, closeness, plan: &plan };
    let requirements: Vec<&Requirement> = requirements.iter().collect();
    let Ok(releases) = releases(sample.leaves(), coarsening, &requirements, &mut |_, classes| {
        Ok::<_, Infallible>(shown(sample, classes))
    });
    releases
}

/// The rows of each class of each release, by their values and without any order.
fn content(sample: &Sample, releases: &Releases, rows: &[Vec<i64>]) -> Vec<Vec<Vec<Vec<i64>>>> {
    let of_release = |classes: &Vec<ClassId>| {
        let groups: Vec<u32> = classes.iter().map(|class| class.get()).collect();
        let mut content: Vec<Vec<Vec<i64>>> = Lists::of_groups(&groups)
            .iter()
            .map(|class| {
                let places = class.iter().flat_map(|&leaf| sample.leaves().rows(leaf));
                let mut own: Vec<Vec<i64>> =
                    places.map(|&row| rows[row as usize].clone()).collect();
                own.sort();
                own
            })
            .collect();
        content.sort();
        content
    };
    releases.classes.iter().map(of_release).collect()
}

/// Every way that suits an index.
fn ways(kind: Kind) -> Vec<(Granularity, Closeness)> {
    let suits = |granularity: &Granularity| match granularity {
        Granularity::Hierarchical => kind == Kind::Tree,
        Granularity::Nested => kind == Kind::Nested,
        _ => true,
    };
    let all = Granularity::ALL.iter().copied().filter(suits);
    let by_loss = all.map(|granularity| (granularity, Closeness::Loss));
    let by_density = [Granularity::Dendrogram, Granularity::DendrogramCut];
    by_loss.chain(by_density.map(|granularity| (granularity, Closeness::Density))).collect()
}

proptest! {
    #[test]
    fn nodes_are_balanced_and_hold_every_leaf(rows in rows(), fan_out in 3usize..9) {
        let sample = Sample::of(Kind::Tree, &rows, 2.min(rows.len()));
        let (leaves, plan) = (sample.leaves(), sample.plan());
        let nodes = Nodes::of(leaves, walk::nearer_first(leaves, &plan), fan_out, &plan);
        nodes.check_invariants(fan_out);
        let all = requirement(1, None);
        let found: std::collections::BTreeSet<_> =
            nodes.classes(leaves, &all).into_iter().collect();
        prop_assert_eq!(found.len(), leaves.n_leaves(), "a leaf that satisfies stands alone");
    }

    #[test]
    fn releases_of_any_index_satisfy_and_are_nested_in_each_other(
        rows in rows(),
        kind in kinds(),
        ks in prop::collection::vec(2u64..30, 1..4),
        has_rule in any::<bool>(),
    ) {
        let sample = Sample::of(kind, &rows, 2.min(rows.len()));
        let all: Vec<u32> = (0..sample.leaves().n_leaves() as u32).collect();
        let mut ks = ks;
        ks.sort_unstable();
        let asked = ks.iter().map(|&k| requirement(k, has_rule.then_some(2)));
        let asked: Vec<Requirement> =
            asked.filter(|own| sample.leaves().hold(&all, own)).collect();
        for way in ways(kind) {
            let releases = made(&sample, way, &asked);
            prop_assert_eq!(releases.classes.len(), 1 + asked.len());
            for (finer, requirement) in asked.iter().enumerate() {
                let (fine, coarse) = (&releases.classes[finer], &releases.classes[finer + 1]);
                let groups: Vec<u32> = coarse.iter().map(|class| class.get()).collect();
                for class in Lists::of_groups(&groups).iter() {
                    prop_assert!(sample.leaves().hold(class, requirement), "{way:?}");
                }
                for (a, b) in (0..fine.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
                    prop_assert!(fine[a] != fine[b] || coarse[a] == coarse[b], "{way:?}");
                }
            }
        }
    }

    #[test]
    fn releases_depend_neither_on_the_order_of_rows_nor_on_threads(
        mut rows in rows(),
        kind in kinds(),
        k in 2u64..20,
    ) {
        let asked = [requirement(k.min(rows.len() as u64), None)];
        let first = Sample::of(kind, &rows, 2.min(rows.len()));
        let found: Vec<_> = ways(kind)
            .into_iter()
            .map(|way| content(&first, &made(&first, way, &asked), &rows))
            .collect();
        rows.reverse();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let other = pool.install(|| Sample::of(kind, &rows, 2.min(rows.len())));
        for (way, found) in ways(kind).into_iter().zip(found) {
            let again = pool.install(|| made(&other, way, &asked));
            prop_assert_eq!(content(&other, &again, &rows), found, "{:?}", way);
        }
    }
}
