//! What a split makes of a node: cuts as they are kept, and what is known of the parts.

use std::ops::Range;

use super::CountPlan;
use super::group::{AxisShape, CountGroup, GroupShape, Run};
use super::walk::{Allowed, parts_of};
use crate::split::Split;
use crate::split::cut::Cut;
use crate::split::place::Placement;
use crate::split::state::NodeState;

/// A node, divided.
pub struct Division {
    /// A chain of cuts: each takes the next part from what those before it left.
    pub cuts: Vec<Cut>,
    /// The parts: one more than there are cuts.
    pub parts: Vec<DividedPart>,
}

/// What is known of a part.
pub struct DividedPart {
    /// Before it is counted.
    pub shape: GroupShape,
    /// Of the splits above it.
    pub state: NodeState,
}

/// Divides a node by the split that was chosen for it. Cuts are placed where regions are kept.
pub fn divide(
    plan: &CountPlan<'_>,
    split: Split,
    group: &CountGroup,
    state: NodeState,
    placement: Option<&Placement>,
) -> Division {
    let (axis, cuts, parts) = match split {
        Split::Cut { axis, code } | Split::Bound { axis, code } => {
            let runs = group.runs(axis);
            let n_left = runs.partition_point(|run| run.code <= code);
            let gap = (runs[n_left - 1].code, runs[n_left].code);
            let placed = placement.map(|own| own.place_between(split, plan.space, gap));
            let cut = Cut::of(&placed.unwrap_or(split));
            (axis, vec![cut], vec![vec![0..n_left], vec![n_left..runs.len()]])
        }
        Split::Peel { axis, lo, hi } => {
            let runs = group.runs(axis);
            let start = runs.partition_point(|run| run.code < lo);
            let end = runs.partition_point(|run| run.code <= hi);
            let parts = vec![vec![start..end], vec![0..start, end..runs.len()]];
            (axis, vec![Cut::of(&split)], parts)
        }
        Split::Specialize { axis, .. } => {
            let (cuts, parts) = specialize(plan, split, group);
            (axis, cuts, parts)
        }
    };
    let shapes: Vec<GroupShape> = parts.iter().map(|runs| shape_of(group, axis, runs)).collect();
    let part_rows: Vec<usize> = shapes.iter().map(|shape| shape.n_rows as usize).collect();
    let states = state.parts(cuts.iter().copied(), &part_rows, &[]);
    let parts = shapes.into_iter().zip(states).map(|(shape, state)| DividedPart { shape, state });
    Division { parts: parts.collect(), cuts }
}

/// A chain of cuts, and the places of the codes of each part.
type Chain = (Vec<Cut>, Vec<Vec<Range<usize>>>);

/// Into the parts that stand alone, and the rest as one.
fn specialize(plan: &CountPlan<'_>, split: Split, group: &CountGroup) -> Chain {
    let Split::Specialize { axis, step } = split else { unreachable!("called for labels") };
    let tree = plan.label_tree(axis).expect("only labels are specialized");
    let counts = &group.axes[axis];
    let parts = parts_of(tree, step, &counts.runs);
    let kept = Allowed::new(plan, counts).kept(&parts).expect("a chosen specialization has parts");
    let mut cuts = Vec::new();
    let mut places = Vec::new();
    for (part, _) in parts.iter().zip(&kept).filter(|(_, kept)| **kept) {
        cuts.push(Cut::new(axis, part.range.0, part.range.1));
        places.push(vec![part.runs.clone()]);
    }
    let rest: Vec<_> = parts.iter().zip(&kept).filter(|(_, kept)| !**kept).collect();
    let last = match &rest[..] {
        // The last part is what no cut takes; it is a child of its own.
        [] => cuts.pop().map(|cut| (cut.lo, cut.hi)),
        [(part, _)] => Some(part.range),
        _ => None,
    };
    if !rest.is_empty() {
        places.push(rest.iter().map(|(part, _)| part.runs.clone()).collect());
    }
    if let Some((cut, last)) = cuts.last_mut().zip(last) {
        cut.rest = last;
    }
    (cuts, places)
}

/// What is known of the rows with the codes at some places of an attribute.
fn shape_of(group: &CountGroup, axis: usize, places: &[Range<usize>]) -> GroupShape {
    let runs = group.runs(axis);
    let own = || places.iter().flat_map(|range| &runs[range.clone()]);
    let n_rows = own().map(|run: &Run| u64::from(run.n_rows)).sum();
    let shape = |other: usize| match other == axis {
        false => group.axis_shape(other),
        true => {
            let codes = || own().map(|run| run.code);
            AxisShape {
                lo: codes().min().unwrap_or(0),
                hi: codes().max().unwrap_or(0),
                n_distinct: own().count() as u64,
            }
        }
    };
    GroupShape { n_rows, axes: (0..group.axes.len()).map(shape).collect() }
}
