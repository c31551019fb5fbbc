//! Parts as bytes, and back with every check.
//!
//! ```text
//!   part   | nodes of the tree | rows |
//!   node   a cut, or a leaf with its rows and what it had when it was grown
//! ```

use albers_classes::packed::{RowBlock, RowLayout};
use albers_partition::split_tree::{SplitTree, TreeNode};
use serde::{Deserialize, Serialize};

use super::part::Part;
use super::stored::{DamagedPart, StoredCut, is_one_tree};

#[derive(Serialize, Deserialize)]
enum StoredNode {
    Leaf { n_rows: u32, grown_rows: u32 },
    Cut(StoredCut),
}

impl Part {
    /// The part as bytes, after what `out` holds.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        let mut grown_rows = self.grown_rows().iter();
        let node = |node: &TreeNode| match node {
            TreeNode::Leaf { n_rows } => {
                let grown_rows = grown_rows.next().copied().unwrap_or(0);
                StoredNode::Leaf { n_rows: *n_rows, grown_rows }
            }
            TreeNode::Cut(cut) | TreeNode::Next(cut) => StoredNode::Cut(StoredCut::of(cut)),
        };
        let nodes: Vec<StoredNode> = self.tree().nodes().iter().map(node).collect();
        let nodes = postcard::to_stdvec(&nodes).expect("numbers can always be written");
        out.extend(nodes);
        self.rows().write_to(out);
    }

    /// The part of some bytes.
    pub fn read_from(layout: &RowLayout, bytes: &[u8]) -> Result<Part, DamagedPart> {
        let (nodes, rest) = postcard::take_from_bytes::<Vec<StoredNode>>(bytes)
            .map_err(|_| DamagedPart("the splits of a part cannot be read"))?;
        let (rows, rest) = RowBlock::try_read_from(layout, rest)
            .ok_or(DamagedPart("the rows of a part cannot be read"))?;
        if !rest.is_empty() {
            return Err(DamagedPart("something follows a part"));
        }
        if !is_one_tree(nodes.iter().map(|node| matches!(node, StoredNode::Cut(_)))) {
            return Err(DamagedPart("the splits of a part make no tree"));
        }
        let (mut tree, mut grown, mut n_leaf_rows) = (SplitTree::default(), Vec::new(), 0u64);
        for node in nodes {
            tree.push(match node {
                StoredNode::Cut(cut) => TreeNode::Cut(cut.checked(layout.n_attributes())?),
                StoredNode::Leaf { n_rows, grown_rows } => {
                    n_leaf_rows += u64::from(n_rows);
                    grown.push(grown_rows);
                    TreeNode::Leaf { n_rows }
                }
            });
        }
        match n_leaf_rows == rows.n_rows() as u64 {
            true => Ok(Part::new(rows, tree, grown)),
            false => Err(DamagedPart("the leaves of a part have other rows than the part")),
        }
    }
}
