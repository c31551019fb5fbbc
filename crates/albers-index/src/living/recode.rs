//! Codes that change when a coding grows.
//!
//! Guarantee: every old row stays on its side of every cut. A value that is new goes where its
//! neighbours are.

use albers_classes::packed::{RowBlock, RowLayout};
use albers_partition::split::cut::Cut;
use albers_partition::split_tree::{SplitTree, TreeNode};
use albers_table::code::Code;
use albers_table::coding::CodeMap;

use super::directory::Directory;
use super::part::Part;

/// How codes change: for each attribute, then for each fact; nothing where they stay.
pub type CodeMaps<'m> = [Option<&'m CodeMap>];

/// The same rows in the new codes and the new layout, which has the same fields.
///
/// # Panics
/// When there is not one map for each field.
pub fn recode_rows(
    rows: &RowBlock,
    old: &RowLayout,
    new: &RowLayout,
    maps: &CodeMaps<'_>,
) -> RowBlock {
    let n_attributes = old.n_attributes();
    assert_eq!(maps.len(), n_attributes + old.n_facts(), "one map for each field");
    assert_eq!(new.n_attributes() + new.n_facts(), maps.len(), "layouts have the same fields");
    let mut recoded = RowBlock::with_capacity(new, rows.n_rows());
    for row in 0..rows.n_rows() {
        let values = maps.iter().enumerate().map(|(field, map)| {
            let code = match field.checked_sub(n_attributes) {
                None => rows.code(old, row, field),
                Some(fact) => rows.fact(old, row, fact),
            };
            map.map_or(code, |map| map.code(Code::new(code)).get())
        });
        recoded.push(new, rows.row_id(old, row), values, rows.payload(row));
    }
    recoded
}

/// The same cut in the new codes. What lies between two old codes goes with the one below, but to
/// the inside where a range begins.
fn recoded_cut(cut: Cut, maps: &CodeMaps<'_>) -> Cut {
    let Some(map) = maps[cut.axis as usize] else { return cut };
    let last = |code: u32| match code {
        u32::MAX => code,
        _ => map.code(Code::new(code)).get(),
    };
    let first = |code: u32| match code {
        0 => 0,
        _ => map.code(Code::new(code - 1)).get() + 1,
    };
    let range = |(lo, hi): (u32, u32)| (first(lo), last(hi));
    let (lo, hi) = range((cut.lo, cut.hi));
    assert!(lo <= hi, "a cut was chosen for a code that goes inside");
    Cut { lo, hi, rest: range(cut.rest), ..cut }
}

impl Part {
    /// The same part in the new codes and the new layout.
    ///
    /// # Panics
    /// When there is not one map for each field.
    pub fn recoded(&self, old: &RowLayout, new: &RowLayout, maps: &CodeMaps<'_>) -> Part {
        let mut tree = SplitTree::default();
        for node in self.tree().nodes() {
            tree.push(match *node {
                TreeNode::Cut(cut) => TreeNode::Cut(recoded_cut(cut, maps)),
                TreeNode::Next(cut) => TreeNode::Next(recoded_cut(cut, maps)),
                TreeNode::Leaf { .. } => *node,
            });
        }
        Part::new(recode_rows(self.rows(), old, new, maps), tree, self.grown_rows().to_vec())
    }
}

impl Directory {
    /// The same directory in the new codes.
    ///
    /// # Panics
    /// When there is not one map for each attribute.
    pub fn recoded(&self, maps: &CodeMaps<'_>) -> Directory {
        self.with_cuts(|cut| recoded_cut(cut, maps))
    }
}
