use proptest::prelude::*;

use super::*;
use crate::granularity::sample::{Sample, kinds, requirement, rows};

proptest! {
    #[test]
    fn every_node_is_a_run_of_the_order_and_the_union_of_its_parts(
        rows in rows(),
        kind in kinds(),
        min_rows in 1usize..5,
        by_loss in any::<bool>(),
    ) {
        let sample = Sample::of(kind, &rows, min_rows.min(rows.len()));
        let closeness = if by_loss { Closeness::Loss } else { Closeness::Density };
        let dendrogram = Dendrogram::of(sample.leaves(), &sample.plan(), closeness);
        let n_leaves = sample.leaves().n_leaves();
        let mut order = dendrogram.order().to_vec();
        order.sort_unstable();
        prop_assert!(order.into_iter().eq(0..n_leaves as u32));
        let root = dendrogram.root().unwrap();
        prop_assert_eq!(dendrogram.run(root), 0..n_leaves);
        for node in 0..=root {
            let mut runs: Vec<_> =
                dendrogram.children(node).iter().map(|&part| dendrogram.run(part)).collect();
            runs.sort_by_key(|run| run.start);
            let own = dendrogram.run(node);
            match runs.len() {
                0 => prop_assert_eq!(&dendrogram.order()[own], &[node][..]),
                _ => {
                    prop_assert!(runs.windows(2).all(|two| two[0].end == two[1].start));
                    prop_assert_eq!(runs[0].start..runs[runs.len() - 1].end, own);
                }
            }
            let of_parts = dendrogram.children(node).iter();
            prop_assert!(of_parts.clone().all(|&part| dendrogram.round(part) < dendrogram.round(node)));
        }
    }

    #[test]
    fn a_cut_for_more_rows_is_made_of_whole_classes_of_one_for_fewer(
        rows in rows(),
        kind in kinds(),
        ks in (2u64..10, 2u64..30),
    ) {
        let sample = Sample::of(kind, &rows, 2.min(rows.len()));
        let dendrogram = Dendrogram::of(sample.leaves(), &sample.plan(), Closeness::Loss);
        let cut = |k: u64| dendrogram.classes(sample.leaves(), &requirement(k, None));
        let (fine, coarse) = (cut(ks.0.min(ks.1)), cut(ks.0.max(ks.1)));
        for (a, b) in (0..fine.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
            prop_assert!(fine[a] != fine[b] || coarse[a] == coarse[b]);
        }
    }
}
