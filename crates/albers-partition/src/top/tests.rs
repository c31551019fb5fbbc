//! What is left of a sampled tree when all rows are counted.

use super::*;

/// A tree in which every node but the leaves is a cut, by the rows of its leaves.
fn tree(nodes: &[Option<u32>]) -> SplitTree {
    let mut tree = SplitTree::default();
    for node in nodes {
        tree.push(match *node {
            None => TreeNode::Cut(Cut::new(0, 0, 0)),
            Some(n_rows) => TreeNode::Leaf { n_rows },
        });
    }
    tree
}

/// Figure 15: node 7 violates the requirement, so that it is merged with 6 and 8, its parent's other
/// leaves, and the others stay.
#[test]
fn the_tree_of_figure_15_is_pruned_below_the_parent_of_the_node_that_violates() {
    let part = |number: usize| Some(number as u32);
    let left = [None, None, part(1), part(2), None, part(3), None, part(4), part(5)];
    let right = [None, part(7), None, part(6), part(8)];
    let top = Top::of_tree(&tree(&[&[None][..], &left, &right].concat()));
    let numbers = [1, 2, 3, 4, 5, 7, 6, 8];
    let kept = top.satisfying(0, |cell| numbers[cell] != 7, |_, _| true);
    let mut cells: Vec<Vec<usize>> = Vec::new();
    for node in &kept {
        if let KeptNode::Cell(cell) = node {
            let mut own = numbers[cell.first..cell.end].to_vec();
            own.sort_unstable();
            cells.push(own);
        }
    }
    assert_eq!(cells, [vec![1], vec![2], vec![3], vec![4], vec![5], vec![6, 7, 8]]);
    let mut tops = SampledTops::default();
    tops.add_tree(0, top.n_cells(), KeptNode::n_splits(&kept));
    assert_eq!((tops.splits, tops.pruned, tops.repartitions), (7, 2, 1));
}

#[test]
fn a_tree_is_trimmed_to_its_largest_nodes_and_to_a_height() {
    let whole = tree(&[None, None, Some(1), Some(2), None, Some(3), None, Some(4), Some(5)]);
    let rows = |tree: &SplitTree| tree.leaf_rows().collect::<Vec<_>>();
    assert_eq!(whole.trimmed(9, 9), whole);
    assert_eq!(rows(&whole.trimmed(4, 9)), [3, 3, 4, 5]);
    assert_eq!(rows(&whole.trimmed(3, 9)), [3, 3, 9]);
    assert_eq!(rows(&whole.trimmed(9, 2)), [1, 2, 3, 9]);
    assert_eq!(rows(&whole.trimmed(9, 0)), [15]);
    assert_eq!(rows(&SplitTree::leaf(3).trimmed(1, 1)), [3]);
}

#[test]
fn counts_of_parts_add_up_and_the_tree_of_the_table_lies_above_them() {
    let mut below = SampledTops { fell_back: 1, maybe_divisible: 2, ..SampledTops::default() };
    below.add_tree(1, 5, 3);
    below.merge(&SampledTops { repartitions: 1, trees: 1, splits: 2, ..SampledTops::default() });
    let all = SampledTops {
        repartitions: 3,
        trees: 3,
        splits: 9,
        pruned: 2,
        fell_back: 1,
        maybe_divisible: 2,
    };
    assert_eq!(below.below(4, 2), all);
    let undivided = below.below(1, 0);
    assert_eq!((undivided.repartitions, undivided.trees), (2, 2));
}
