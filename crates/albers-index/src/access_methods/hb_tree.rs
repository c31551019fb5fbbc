//! An hB-tree: subtrees of a kd-tree, taken out of what is around them.
//!
//! ```text
//!   ┌─────┬───────┐     the kd-tree cuts the widest attribute at its median; the way into the larger
//!   │     │ ::    │     part ends at a subtree of at most two thirds of the rows, which becomes a
//!   │  ·  ├──┬────┤     bucket with its part of the tree. What is left is a holey brick, and keeps
//!   │     │▒▒│ ·  │     the tree, so that later subtrees lie in earlier ones, around them or apart
//!   └─────┴──┴────┘
//! ```
//!
//! Source: Lomet & Salzberg 1990 (the hB-tree); Bentley 1975 and Friedman, Bentley & Finkel 1977 (cuts at the
//! median of the widest attribute); Raschia & Anjum 2011, table 2.
//! Departures: see `extract`. The tree is grown at once on all rows, since a part of it without
//! holes is cut by the same rows whenever that is done. Cuts are placed at round values between the
//! rows of their sides. No index nodes are split, and so nothing is posted to several parents.
//! Guarantee: regions are boxes of cuts that lie in each other or apart; one holds all others, and
//! all of space. Cuts depend on the rows of a region alone, whatever their order.
//! Cost: O(rows attributes) for each level of the tree, then O(rows) for each round.

use std::ops::Range;

use albers_classes::Span;
use albers_classes::region::ALL_CODES;
use albers_classes::space::{AxisKind, Space};
use albers_storage::Result;
use albers_storage::watch::Watch;
use albers_table::code::Code;
use albers_table::domain::Ruler;

use super::bucket::{AccessMethod, Bucket, Judge};
use super::extract::{Divided, extract};

/// Buckets of rows in the order of a kd-tree.
pub(super) struct HbTree<'a> {
    columns: &'a [Vec<u32>],
    nodes: Vec<Node>,
    /// All rows: those of every node are a run.
    order: Vec<u32>,
}

struct Node {
    parent: Option<u32>,
    run: Range<usize>,
    /// Nothing in a leaf.
    cut: Option<Cut>,
}

#[derive(Clone, Copy)]
struct Cut {
    attribute: usize,
    /// The last code of the first part.
    code: u32,
    /// The nodes of both parts.
    parts: [u32; 2],
}

impl<'a> HbTree<'a> {
    /// The tree of rows with these codes, attribute by attribute. No part with fewer rows can be a
    /// bucket, and so none is cut further.
    pub(super) fn build(
        columns: &'a [Vec<u32>],
        space: &Space,
        min_rows: usize,
        watch: &dyn Watch,
    ) -> Result<HbTree<'a>> {
        let n_rows = columns.first().map_or(0, Vec::len);
        let mut order: Vec<u32> = (0..n_rows as u32).collect();
        let mut nodes = vec![Node { parent: None, run: 0..n_rows, cut: None }];
        let cutter = Cutter::new(columns, space);
        let mut pending = vec![0];
        while let Some(at) = pending.pop() {
            watch.check()?;
            let run = nodes[at].run.clone();
            if run.len() <= min_rows {
                continue;
            }
            let rows = &mut order[run.clone()];
            let Some((attribute, last, code)) = cutter.choose(rows) else { continue };
            let codes = &columns[attribute];
            let (first, second): (Vec<u32>, Vec<u32>) =
                rows.iter().partition(|&&row| codes[row as usize] <= last);
            let middle = run.start + first.len();
            rows.copy_from_slice(&[first, second].concat());
            let parts = [nodes.len(), nodes.len() + 1];
            nodes[at].cut = Some(Cut { attribute, code, parts: parts.map(|part| part as u32) });
            let parent = Some(at as u32);
            nodes.push(Node { parent, run: run.start..middle, cut: None });
            nodes.push(Node { parent, run: middle..run.end, cut: None });
            pending.extend(parts);
        }
        Ok(HbTree { columns, nodes, order })
    }
}

impl Divided for HbTree<'_> {
    /// A node.
    type Region = u32;

    fn parts(&self, region: u32, rows: &[u32]) -> Option<(usize, [u32; 2])> {
        let mut node = region;
        loop {
            let Cut { attribute, code, parts } = self.nodes[node as usize].cut?;
            let codes = &self.columns[attribute];
            let n_first = rows.partition_point(|&row| codes[row as usize] <= code);
            match n_first {
                0 => node = parts[1],
                all if all == rows.len() => node = parts[0],
                _ => return Some((n_first, parts)),
            }
        }
    }
}

impl AccessMethod for HbTree<'_> {
    type Place = u32;

    fn whole(&self) -> Bucket<u32> {
        Bucket { place: 0, rows: self.order.clone() }
    }

    fn split(&self, bucket: &Bucket<u32>, judge: &mut Judge<'_>) -> Option<Vec<Bucket<u32>>> {
        extract(self, bucket, judge)
    }

    fn region_box(&self, bucket: &Bucket<u32>) -> Vec<Span> {
        let mut spans = vec![ALL_CODES; self.columns.len()];
        let mut node = bucket.place;
        while let Some(parent) = self.nodes[node as usize].parent {
            let cut = self.nodes[parent as usize].cut.expect("a parent was cut");
            let (lo, hi) = &mut spans[cut.attribute];
            match node == cut.parts[0] {
                true => *hi = (*hi).min(Code::new(cut.code)),
                false => *lo = (*lo).max(Code::new(cut.code + 1)),
            }
            node = parent;
        }
        spans
    }

    fn run(&self, bucket: &Bucket<u32>) -> Option<Range<usize>> {
        Some(self.nodes[bucket.place as usize].run.clone())
    }
}

/// Chooses where rows are cut.
struct Cutter<'a> {
    columns: &'a [Vec<u32>],
    space: &'a Space,
    /// The codes that rows have, ascending, where a ruler asks for them.
    taken: Vec<Vec<u32>>,
}

impl<'a> Cutter<'a> {
    fn new(columns: &'a [Vec<u32>], space: &'a Space) -> Cutter<'a> {
        let taken = |(attribute, codes): (usize, &Vec<u32>)| {
            if !ruler_of(space, attribute).is_some_and(Ruler::asks_for_codes) {
                return Vec::new();
            }
            let mut codes = codes.clone();
            codes.sort_unstable();
            codes.dedup();
            codes
        };
        let taken = columns.iter().enumerate().map(taken).collect();
        Cutter { columns, space, taken }
    }

    /// The attribute, the last code that rows of the first part have, and where in the gap behind it
    /// the cut is placed; nothing if all rows are alike.
    fn choose(&self, rows: &[u32]) -> Option<(usize, u32, u32)> {
        let attribute = self.widest(rows)?;
        let codes = &self.columns[attribute];
        let mut codes: Vec<u32> = rows.iter().map(|&row| codes[row as usize]).collect();
        codes.sort_unstable();
        let median = codes[codes.len() / 2];
        // The boundary before the median value or behind it, whichever leaves the parts more equal.
        let before = codes.partition_point(|&code| code < median);
        let behind = codes.partition_point(|&code| code <= median);
        let n_first = [before, behind]
            .into_iter()
            .filter(|&n_first| n_first > 0 && n_first < codes.len())
            .min_by_key(|&n_first| (2 * n_first).abs_diff(codes.len()))?;
        let (last, next) = (codes[n_first - 1], codes[n_first]);
        let code = match ruler_of(self.space, attribute) {
            Some(ruler) => {
                ruler.cut(Code::new(last), Code::new(next), &self.taken[attribute]).get()
            }
            None => last,
        };
        Some((attribute, last, code))
    }

    /// The attribute on which rows are spread over the greatest share of the domain; of several the
    /// first.
    fn widest(&self, rows: &[u32]) -> Option<usize> {
        let mut widest: Option<(f64, usize)> = None;
        for (attribute, (codes, axis)) in self.columns.iter().zip(&self.space.axes).enumerate() {
            let own = rows.iter().map(|&row| codes[row as usize]);
            let (lo, hi) = own.fold((u32::MAX, 0), |(lo, hi), code| (lo.min(code), hi.max(code)));
            if lo < hi {
                let width = axis.width(lo, hi) * axis.weight;
                if widest.is_none_or(|(most, _)| width > most) {
                    widest = Some((width, attribute));
                }
            }
        }
        widest.map(|(_, attribute)| attribute)
    }
}

fn ruler_of(space: &Space, attribute: usize) -> Option<&Ruler> {
    match &space.axes[attribute].kind {
        AxisKind::Interval { ruler, .. } => Some(ruler),
        AxisKind::Set { .. } | AxisKind::Label(_) => None,
    }
}
