//! One cell: its points in memory, cut until nothing is allowable.

use albers_classes::Region;
use albers_classes::class_block::ClassBlock;
use albers_classes::points::PointChunk;
use albers_classes::space::AxisKind;
use albers_privacy::Facts;

use crate::plan::{Plan, whole_region};
use crate::split::apply::{apply, move_first};
use crate::split::extent::Weigher;
use crate::split::rule::{Allowance, Rule};
use crate::split::{Chooser, Point, Scratch, Split};

/// Nodes above this size are cut further on two threads.
const PARALLEL_ROWS: usize = 8192;

/// The points of a cell.
pub struct Cell<const L: usize> {
    points: Vec<Point<L>>,
    row_ids: Vec<u32>,
    n_attributes: usize,
    region: Option<Region>,
}

impl<const L: usize> Cell<L> {
    /// An empty cell with room for some rows.
    pub fn with_capacity(n_rows: usize, n_attributes: usize, region: Option<Region>) -> Cell<L> {
        Cell {
            points: Vec::with_capacity(n_rows),
            row_ids: Vec::with_capacity(n_rows),
            n_attributes,
            region,
        }
    }

    /// A cell with all rows of a table.
    pub fn whole(chunks: Vec<PointChunk>, n_attributes: usize, plan: &Plan<'_>) -> Cell<L> {
        let n_rows = chunks.iter().map(|chunk| chunk.n_rows).sum();
        let mut cell = Cell::with_capacity(n_rows, n_attributes, whole_region(plan));
        for chunk in chunks {
            for row in 0..chunk.n_rows {
                let mut point = [0; L];
                for (lane, column) in chunk.columns.iter().enumerate() {
                    point[lane] = column[row];
                }
                cell.points.push(point);
                cell.row_ids.push(chunk.first_row + row as u32);
            }
        }
        cell
    }

    /// Adds rows whose codes stand row by row.
    pub fn extend(&mut self, row_ids: &[u32], codes: &[u32]) {
        self.row_ids.extend_from_slice(row_ids);
        self.points.extend(codes.chunks_exact(self.n_attributes).map(|row| {
            let mut point = [0; L];
            point[..row.len()].copy_from_slice(row);
            point
        }));
    }
}

/// A class in the making: where its points end, and its region.
struct Leaf {
    end: u32,
    region: Option<Region>,
}

/// Cuts cells; shared by all threads.
pub struct Cutter<'a, const L: usize, const M: usize> {
    plan: &'a Plan<'a>,
    may_sample: bool,
    arch: pulp::Arch,
}

/// A stretch of a cell's points that is still to be cut.
struct Node<'n, const L: usize> {
    points: &'n mut [Point<L>],
    /// Where each point's row stands in the cell's facts.
    locals: &'n mut [u32],
    first: u32,
    region: Option<Region>,
}

impl<'a, const L: usize, const M: usize> Cutter<'a, L, M> {
    /// A cutter for a plan; `may_sample` lets it weigh large nodes on a sample.
    pub fn new(plan: &'a Plan<'a>, may_sample: bool) -> Self {
        Cutter { plan, may_sample, arch: pulp::Arch::new() }
    }

    /// Cuts a cell into classes.
    pub fn cut(&self, cell: Cell<L>) -> ClassBlock {
        let Cell { mut points, row_ids, n_attributes, region } = cell;
        let facts = self.plan.has_rule().then(|| self.plan.facts.gather(&row_ids));
        let chooser = self.chooser(facts.as_ref());
        let mut locals: Vec<u32> = (0..row_ids.len() as u32).collect();
        let node = Node { points: &mut points, locals: &mut locals, first: 0, region };
        let leaves = self.divide(&chooser, node);
        let mut codes = Vec::with_capacity(points.len() * n_attributes);
        points.iter().for_each(|point| codes.extend_from_slice(&point[..n_attributes]));
        ClassBlock {
            row_ids: locals.iter().map(|&local| row_ids[local as usize]).collect(),
            codes,
            class_ends: leaves.iter().map(|leaf| leaf.end).collect(),
            regions: leaves.into_iter().filter_map(|leaf| leaf.region).flatten().collect(),
            ..ClassBlock::default()
        }
    }

    fn chooser<'c>(&'c self, facts: Option<&'c Facts>) -> Chooser<'c, L, M> {
        let requirement = self.plan.requirement;
        Chooser {
            space: self.plan.space,
            weigher: Weigher::new(self.plan.space),
            allowance: Allowance {
                min_rows: self.plan.min_rows(),
                rule: facts.map(|facts| Rule { requirement, facts }),
            },
            policy: self.plan.policy,
            may_sample: self.may_sample,
            arch: self.arch,
        }
    }

    /// The classes of a node, in order; large nodes on two threads.
    fn divide(&self, chooser: &Chooser<'_, L, M>, node: Node<'_, L>) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        let mut next = Some(node);
        while let Some(node) = next.take() {
            if node.points.len() <= PARALLEL_ROWS {
                leaves.extend(self.divide_here(chooser, node, &mut Scratch::default()));
                break;
            }
            let n_points = node.points.len();
            let mut children = match self.split_node(chooser, node) {
                Ok(children) => children,
                Err(leaf) => {
                    leaves.push(leaf);
                    break;
                }
            };
            // A part that is nearly the whole node is cut in this loop: a long chain of such cuts
            // must not become a deep recursion.
            let is_most = |child: &Node<'_, L>| child.points.len() > n_points / 8 * 7;
            next = children.iter().position(is_most).map(|at| children.remove(at));
            leaves.extend(self.divide_all(chooser, children));
        }
        leaves.sort_unstable_by_key(|leaf| leaf.end);
        leaves
    }

    /// Cuts a node once, or finds that it is a class.
    fn split_node<'n>(
        &self,
        chooser: &Chooser<'_, L, M>,
        node: Node<'n, L>,
    ) -> Result<Vec<Node<'n, L>>, Leaf> {
        let Node { points, locals, first, region } = node;
        let mut scratch = Scratch::default();
        let Some(split) = chooser.choose(points, locals, &mut scratch) else {
            return Err(Leaf { end: first + points.len() as u32, region });
        };
        let ends = apply(split, chooser, points, locals, &mut scratch);
        let regions = part_regions(split, chooser, points, &ends, region.as_ref());
        let mut children = Vec::with_capacity(ends.len());
        let (mut points, mut locals) = (points, locals);
        let mut start = 0;
        for (end, region) in ends.into_iter().zip(regions) {
            let (own_points, rest_points) = points.split_at_mut(end - start);
            let (own_locals, rest_locals) = locals.split_at_mut(end - start);
            let child_first = first + start as u32;
            children.push(Node {
                points: own_points,
                locals: own_locals,
                first: child_first,
                region,
            });
            (points, locals, start) = (rest_points, rest_locals, end);
        }
        Ok(children)
    }

    fn divide_all(&self, chooser: &Chooser<'_, L, M>, mut nodes: Vec<Node<'_, L>>) -> Vec<Leaf> {
        match nodes.len() {
            0 => Vec::new(),
            1 => self.divide(chooser, nodes.remove(0)),
            n => {
                let later = nodes.split_off(n / 2);
                let (mut leaves, more) = rayon::join(
                    || self.divide_all(chooser, nodes),
                    || self.divide_all(chooser, later),
                );
                leaves.extend(more);
                leaves
            }
        }
    }

    /// The classes of a node, in order, on this thread and without recursion.
    fn divide_here(
        &self,
        chooser: &Chooser<'_, L, M>,
        node: Node<'_, L>,
        scratch: &mut Scratch<L, M>,
    ) -> Vec<Leaf> {
        let Node { points, locals, first, region } = node;
        let mut leaves = Vec::new();
        let mut pending = vec![(0, points.len(), region)];
        while let Some((start, end, region)) = pending.pop() {
            let (own_points, own_locals) = (&mut points[start..end], &mut locals[start..end]);
            let Some(split) = chooser.choose(own_points, own_locals, scratch) else {
                leaves.push(Leaf { end: first + end as u32, region });
                continue;
            };
            if let (Split::Cut { axis, code }, None) = (split, &region) {
                let is_first = |point: &Point<L>| point[axis] <= code;
                let middle = start + move_first(own_points, own_locals, scratch, is_first);
                pending.push((middle, end, None));
                pending.push((start, middle, None));
                continue;
            }
            let ends = apply(split, chooser, own_points, own_locals, scratch);
            let regions = part_regions(split, chooser, own_points, &ends, region.as_ref());
            let starts = std::iter::once(0).chain(ends.iter().copied());
            let parts: Vec<_> = starts
                .zip(&ends)
                .zip(regions)
                .map(|((from, &to), region)| (start + from, start + to, region))
                .collect();
            pending.extend(parts.into_iter().rev());
        }
        leaves
    }
}

/// The region of each part, where regions are kept.
fn part_regions<const L: usize, const M: usize>(
    split: Split,
    chooser: &Chooser<'_, L, M>,
    points: &[Point<L>],
    ends: &[usize],
    region: Option<&Region>,
) -> Vec<Option<Region>> {
    let Some(region) = region else { return vec![None; ends.len()] };
    let narrowed = |axis: usize, lo: u32, hi: u32| {
        let mut part = region.clone();
        part[axis] = (part[axis].0.max(lo), part[axis].1.min(hi));
        Some(part)
    };
    match split {
        Split::Cut { axis, code } => {
            vec![narrowed(axis, 0, code), narrowed(axis, code + 1, u32::MAX)]
        }
        // What is left of a peeled label keeps the label.
        Split::Peel { axis, lo, hi } => vec![narrowed(axis, lo, hi), Some(region.clone())],
        Split::Specialize { axis, step } => {
            let AxisKind::Label(tree) = &chooser.space.axes[axis].kind else {
                unreachable!("only labels are specialized")
            };
            let starts = std::iter::once(0).chain(ends.iter().copied());
            starts
                .zip(ends)
                .map(|(start, &end)| {
                    let part = &points[start..end];
                    let (lo, hi) = tree.part_range(step, part[0][axis]);
                    if part.iter().all(|point| (lo..=hi).contains(&point[axis])) {
                        narrowed(axis, lo, hi)
                    } else {
                        // The rest keeps the label.
                        Some(region.clone())
                    }
                })
                .collect()
        }
    }
}
