//! A hierarchy as a tree of text: labels above the values, with what lies below each.
//!
//! ```text
//! *                    12 values, 400 rows
//! ├─ 2023              5 values, 180 rows
//! │  ├─ 2023-Q1        2 values, 60 rows
//! │  └─ 2023-Q4        3 values, 120 rows
//! └─ 2024              7 values, 220 rows
//! ```

use albers_table::code::CodeRange;
use albers_table::hierarchy::{Hierarchy, Node};

use super::ColumnValues;

/// Lines of a drawing, at most.
const MAX_LINES: usize = 40;

struct Drawing<'a> {
    hierarchy: &'a Hierarchy,
    /// Rows of each leaf, by code; leaves that the column does not have are of none.
    rows: Vec<Option<u64>>,
    lowest: usize,
    lines: Vec<(String, String)>,
    n_left_out: usize,
}

/// The drawing; where there are too many labels, those of the lower levels are left out.
pub(super) fn lines(column: &ColumnValues, hierarchy: &Hierarchy) -> Vec<String> {
    let mut rows = vec![None; hierarchy.n_leaves() as usize];
    for (value, &n_rows) in column.values.iter().zip(&column.rows) {
        let code = hierarchy.code_of(value).expect("every value is a leaf");
        rows[code.index()] = Some(n_rows);
    }
    let height = hierarchy.height();
    let n_lines =
        |lowest: usize| (lowest..=height).map(|level| hierarchy.n_nodes(level)).sum::<usize>();
    // One line says what is left out.
    let fits = |lowest: &usize| n_lines(*lowest) < MAX_LINES;
    let lowest = (1..height).find(fits).unwrap_or(height.saturating_sub(1).max(1));
    let mut drawing = Drawing { hierarchy, rows, lowest, lines: Vec::new(), n_left_out: 0 };
    drawing.add(Node { level: height, index: 0 }, "", "");
    let width = drawing.lines.iter().map(|(tree, _)| tree.chars().count()).max().unwrap_or(0);
    let line = |(tree, counts): &(String, String)| format!("{tree:width$}  {counts}");
    let mut lines: Vec<String> = drawing.lines.iter().map(line).collect();
    if drawing.n_left_out > 0 {
        lines.push(format!("and {} more labels", drawing.n_left_out));
    } else if lowest > 1 {
        let n_below: usize = (1..lowest).map(|level| hierarchy.n_nodes(level)).sum();
        lines.push(format!("and {n_below} labels at {} lower levels", lowest - 1));
    }
    if column.n_missing > 0 {
        lines.push(format!("{} of {} rows have no value", column.n_missing, column.n_rows));
    }
    lines
}

impl Drawing<'_> {
    fn add(&mut self, node: Node, before: &str, before_children: &str) {
        if self.lines.len() + 1 >= MAX_LINES {
            self.n_left_out += 1;
            return;
        }
        let leaves = self.hierarchy.leaves_of(node);
        let label = crate::init::plain(self.hierarchy.label(node));
        self.lines.push((format!("{before}{label}"), self.counts(leaves)));
        // A label that is repeated above itself is one group.
        let mut below = node;
        let mut children = Vec::new();
        while below.level > self.lowest {
            children = self.children(below);
            match children[..] {
                [only] if self.hierarchy.label(only) == self.hierarchy.label(below) => below = only,
                _ => break,
            }
            children = Vec::new();
        }
        let n_children = children.len();
        for (at, child) in children.into_iter().enumerate() {
            let (branch, on) =
                if at + 1 == n_children { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            self.add(
                child,
                &format!("{before_children}{branch}"),
                &format!("{before_children}{on}"),
            );
        }
    }

    fn children(&self, node: Node) -> Vec<Node> {
        let leaves = self.hierarchy.leaves_of(node);
        let level = node.level - 1;
        if leaves.is_empty() {
            return Vec::new();
        }
        let first = self.hierarchy.node_at(level, leaves.start);
        let last = leaves.into_iter().map(|code| self.hierarchy.node_at(level, code)).max();
        (first..=last.unwrap_or(first)).map(|index| Node { level, index }).collect()
    }

    fn counts(&self, leaves: CodeRange) -> String {
        let own = &self.rows[leaves.indexes()];
        let n_values = own.iter().flatten().count();
        let n_rows: u64 = own.iter().flatten().sum();
        let plural = |n: u64, word: &str| match n {
            1 => format!("1 {word}"),
            n => format!("{n} {word}s"),
        };
        let mut counts = format!("{}, {}", plural(n_values as u64, "value"), plural(n_rows, "row"));
        if own.len() > n_values {
            let n_more = (own.len() - n_values) as u64;
            counts.push_str(&format!(", {} without a row", plural(n_more, "value")));
        }
        counts
    }
}
