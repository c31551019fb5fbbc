use std::collections::BTreeMap;

use albers_table::row::RowId;
use proptest::prelude::*;

use super::*;

/// A tree of cuts: nodes are drawn as long as there are sides to come, then leaves.
fn tree() -> impl Strategy<Value = Vec<Option<Cut>>> {
    let cut =
        (0..2usize, 0..40u32, 0..40u32).prop_map(|(axis, a, b)| Cut::new(axis, a.min(b), a.max(b)));
    prop::collection::vec(prop::option::weighted(0.6, cut), 0..30).prop_map(|drawn| {
        let mut nodes = Vec::new();
        let mut n_open = 1;
        for node in drawn {
            if n_open == 0 {
                break;
            }
            n_open = if node.is_some() { n_open + 1 } else { n_open - 1 };
            nodes.push(node);
        }
        nodes.extend(std::iter::repeat_n(None, n_open));
        nodes
    })
}

/// The leaf of a row, by a walk over the nodes.
fn leaf_of(nodes: &[Option<Cut>], codes: &[u32]) -> u32 {
    /// The first node after a subtree, and its leaves.
    fn end(nodes: &[Option<Cut>], at: usize) -> (usize, u32) {
        match nodes[at] {
            None => (at + 1, 1),
            Some(_) => {
                let (outside, n_inside) = end(nodes, at + 1);
                let (after, n_outside) = end(nodes, outside);
                (after, n_inside + n_outside)
            }
        }
    }
    let (mut at, mut leaf) = (0, 0);
    while let Some(cut) = nodes[at] {
        let (outside, n_inside) = end(nodes, at + 1);
        if cut.takes(codes[cut.axis as usize]) {
            at += 1;
        } else {
            (at, leaf) = (outside, leaf + n_inside);
        }
    }
    leaf
}

/// The leaf of every row that is shown: leaf by leaf from left to right, in boxes around them.
fn seen(groups: &mut LeafGroups<'_>, layout: &RowLayout, store: &SpillStore) -> BTreeMap<u64, u32> {
    let mut found: BTreeMap<u64, u32> = BTreeMap::new();
    let mut last = None;
    groups
        .visit(&mut |recoded| -> Result<()> {
            match recoded {
                Recoded::Leaves(LoadedLeaves { leaves, rows, order, ends, boxes }) => {
                    let mut start = 0;
                    for (place, (&leaf, &end)) in leaves.iter().zip(&ends).enumerate() {
                        assert!(last < Some(leaf), "leaves come from left to right, once");
                        last = Some(leaf);
                        for &row in &order[start..end as usize] {
                            let at = row as usize;
                            found.insert(rows.row_id(layout, at).get(), leaf);
                            for axis in 0..2 {
                                let (lo, hi) = boxes[place * 2 + axis];
                                let code = rows.code(layout, at, axis);
                                assert!((lo.get()..=hi.get()).contains(&code));
                            }
                        }
                        start = end as usize;
                    }
                }
                Recoded::Giant { leaf, blocks, n_rows } => {
                    assert!(last < Some(leaf));
                    last = Some(leaf);
                    let before = found.len();
                    for block in blocks {
                        let mut rows = RowBlock::default();
                        rows.read_from(layout, &store.read(block)?);
                        for row in 0..rows.n_rows() {
                            found.insert(rows.row_id(layout, row).get(), leaf);
                        }
                    }
                    assert_eq!(found.len() - before, n_rows as usize);
                }
            }
            Ok(())
        })
        .unwrap();
    found
}

/// So many cases, unless `PROPTEST_CASES` asks for another number.
fn config() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig::with_cases(asked.unwrap_or(64))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_row_comes_with_its_leaf_in_any_memory_and_as_often_as_asked(
        nodes in tree(),
        rows in prop::collection::vec((0..40u32, 0..40u32, 0..60usize), 1..400),
        budget_bytes in prop::sample::select(&[9_000usize, 20_000, 1 << 20][..]),
        weight in 0..3u32,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let budget = MemoryBudget::new(budget_bytes);
        let store = SpillStore::in_folder(folder.path(), budget.clone());
        let store = store.with_room(budget_bytes / 5 * 3);
        let layout = RowLayout::new(&[39, 39], &[], true);
        let sizes = Sizes { part_bytes: 1_500, buffer_bytes: 4_096, block_bytes: 512 };
        let plan = LeafPlan { layout: &layout, budget: &budget, store: &store, sizes };
        let leaf_tree = Arc::new(LeafTree::of(&nodes).unwrap());
        let n_leaves = leaf_tree.n_leaves();
        let weights = vec![weight; n_leaves];
        let mut buffers =
            LeafBuffers::new(plan, leaf_tree, &weights, (rows.len() as u64, 30)).unwrap();
        let router = buffers.router();
        for (chunk_idx, chunk) in rows.chunks(37).enumerate() {
            let codes: Vec<u32> = chunk.iter().flat_map(|row| [row.0, row.1]).collect();
            let payloads: Vec<Vec<u8>> = chunk.iter().map(|row| vec![7; row.2]).collect();
            let first = RowId::new(chunk_idx as u64 * 37);
            let routed = router.route(first, &codes, &[], |row| &payloads[row]);
            buffers.append(&routed).unwrap();
        }
        let mut groups = buffers.gathered().unwrap();
        prop_assert_eq!(groups.n_rows(), rows.len() as u64);
        let expected: BTreeMap<u64, u32> = (0u64..)
            .zip(&rows)
            .map(|(row, own)| (row, leaf_of(&nodes, &[own.0, own.1])))
            .collect();
        for _ in 0..2 {
            let found = seen(&mut groups, &layout, &store);
            prop_assert_eq!(&found, &expected);
        }
        // What does not fit is written, and what fits is not.
        if budget_bytes == 1 << 20 {
            prop_assert_eq!(store.written_bytes(), 0);
        }
    }
}

#[test]
fn a_tree_that_lacks_a_side_or_has_too_many_is_none() {
    let cut = Some(Cut::new(0, 0, 3));
    assert!(LeafTree::of(&[]).is_none());
    assert!(LeafTree::of(&[cut, None]).is_none());
    assert!(LeafTree::of(&[None, None]).is_none());
    assert_eq!(LeafTree::of(&[cut, None, None]).map(|tree| tree.n_leaves()), Some(2));
}

#[test]
fn a_leaf_that_does_not_fit_comes_in_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let budget = MemoryBudget::new(6_000);
    let store = SpillStore::in_folder(folder.path(), budget.clone());
    let layout = RowLayout::new(&[9], &[], false);
    let sizes = Sizes { part_bytes: 1_000, buffer_bytes: 1_024, block_bytes: 256 };
    let plan = LeafPlan { layout: &layout, budget: &budget, store: &store, sizes };
    let nodes = [Some(Cut::new(0, 0, 4)), None, None];
    let tree = Arc::new(LeafTree::of(&nodes).unwrap());
    let mut buffers = LeafBuffers::new(plan, tree, &[1, 1], (2_000, 0)).unwrap();
    let router = buffers.router();
    let codes: Vec<u32> = (0..2_000).map(|row| if row % 100 == 0 { 2 } else { 7 }).collect();
    buffers.append(&router.route(RowId::new(0), &codes, &[], |_| &[])).unwrap();
    let mut groups = buffers.gathered().unwrap();
    let mut seen = Vec::new();
    groups
        .visit(&mut |recoded| -> Result<()> {
            seen.push(match recoded {
                Recoded::Leaves(leaves) => (leaves.leaves, leaves.order.len() as u64, false),
                Recoded::Giant { leaf, n_rows, .. } => (vec![leaf], n_rows, true),
            });
            Ok(())
        })
        .unwrap();
    assert_eq!(seen, [(vec![0], 20, false), (vec![1], 1_980, true)]);
    assert!(store.written_bytes() > 0, "it spilled");
}
