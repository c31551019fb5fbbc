//! Coarser releases from the leaves of an index built once.
//!
//! Source: Iwuchukwu & Naughton 2007, section 3.
//! Departures: `hierarchical` takes the lowest nodes whose siblings all satisfy the requirement,
//! path by path, since the index is not balanced; `cut` is not in the paper, see its module. The
//! paper makes every release of leaves; here each is made of the classes of the next finer one, as
//! they are shown: classes that show the same are one.
//! Guarantee: every class is a union of whole classes of each finer release, as shown, so that
//! whoever holds some of the releases has the finest of them and no more; every class satisfies its
//! requirement, if all leaves together do.
//! Cost: one pass over the leaves for each release; `cut` weighs each class of the finer release
//! against its neighbours, on all threads.
//!
//! ```text
//!   leaves           5 7  6 5  9 5  6 8  5 6      rows of each; those that show the same are one
//!   release, k = 10  [12] [11] [14] [14] [11]     made of leaves, and what the next is made of
//!   release, k = 25  [-----37-----] [---25--]
//! ```

mod cut;
mod units;

use albers_classes::ClassId;
use albers_partition::mondrian::Plan;
use albers_partition::split::extent::has_small_sets;
use albers_privacy::{ClassSummary, Requirement};

use crate::rplus_tree::grow::Source;
use crate::rplus_tree::{Child, RPlusTree};
use units::{Units, renumbered};

/// How leaves are brought together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Granularity {
    /// The runs of a walk through the tree that lose least.
    #[default]
    Cut,
    /// Leaves in tree order, a class closed as soon as it satisfies the requirement.
    LeafScan,
    /// The lowest nodes of the index that satisfy it together with all their siblings.
    Hierarchical,
}

albers_storage::choices!(Granularity {
    Cut: "cut", "The runs of neighbouring leaves that lose least";
    LeafScan: "leaf-scan", "Leaves one after another, until they are enough";
    Hierarchical: "hierarchical", "Whole nodes of the index";
});

/// The most children of a node of the index, unless a test wants a deeper tree.
pub const FAN_OUT: usize = 16;

/// A tree with its rows.
#[derive(Clone, Copy)]
pub struct TreeRows<'a> {
    /// The tree.
    pub tree: &'a RPlusTree,
    /// Where its rows are packed.
    pub source: Source<'a>,
    /// The rows in tree order.
    pub order: &'a [u32],
}

impl TreeRows<'_> {
    /// Adds the rows of some neighbouring leaves to a summary.
    fn add(&self, leaves: std::ops::Range<u32>, summary: &mut ClassSummary) {
        let Source { layout, block, facts } = self.source;
        let rows = self.order[self.tree.rows_of(leaves)].iter().copied();
        let n_rows = rows.len();
        let facts = facts.facts_of(layout, block, rows);
        (0..n_rows).for_each(|row| facts.add(row, summary));
    }

    /// Adds the rows of a unit to a summary.
    fn add_unit(&self, unit: &[u32], summary: &mut ClassSummary) {
        unit.iter().for_each(|&leaf| self.add(leaf..leaf + 1, summary));
    }

    /// The rows of a unit, as places in what they are packed in.
    fn rows_of_unit(&self, unit: &[u32]) -> impl Iterator<Item = u32> {
        unit.iter().flat_map(|&leaf| self.order[self.tree.rows_of(leaf..leaf + 1)].iter().copied())
    }
}

/// How classes are made of the leaves of a tree.
#[derive(Clone, Copy)]
pub struct Coarsening<'a> {
    /// How leaves are brought together.
    pub granularity: Granularity,
    /// The most children of a node, see [`FAN_OUT`].
    pub fan_out: usize,
    /// How the leaves were split.
    pub plan: &'a Plan<'a>,
}

/// Tells which classes of a release show the same: given the place of the release and the class of
/// each leaf, the number of what its class shows, less than the number of leaves.
pub type Shown<'s, E> = dyn FnMut(usize, &[ClassId]) -> Result<Vec<ClassId>, E> + 's;

/// The class of each leaf, numbered by their first leaves, in the release of the leaves and in one
/// for each of the requirements, every one of which implies those before it. Classes that show the
/// same are one, and each class is a union of whole classes of the release before it. All leaves
/// together must satisfy the requirements.
pub fn nested<E>(
    rows: TreeRows<'_>,
    coarsening: Coarsening<'_>,
    requirements: &[&Requirement],
    shown: &mut Shown<'_, E>,
) -> Result<Vec<Vec<ClassId>>, E> {
    let leaves: Vec<ClassId> = ClassId::first(rows.tree.n_leaves()).collect();
    let mut releases = vec![renumbered(shown(0, &leaves)?)];
    for (finer, requirement) in requirements.iter().enumerate() {
        let classes = classes(rows, &Units::of(&releases[finer]), coarsening, requirement);
        releases.push(renumbered(shown(finer + 1, &classes)?));
    }
    Ok(releases)
}

/// The class of each leaf, numbered from 0; each class has whole units.
fn classes(
    rows: TreeRows<'_>,
    units: &Units,
    coarsening: Coarsening<'_>,
    requirement: &Requirement,
) -> Vec<ClassId> {
    let Coarsening { granularity, fan_out, plan } = coarsening;
    let classes = match granularity {
        Granularity::LeafScan => units.of_leaves(&leaf_scan(rows, units, requirement)),
        Granularity::Hierarchical => units.joined(hierarchical(rows, requirement, fan_out)),
        Granularity::Cut => {
            let n_attributes = rows.tree.n_attributes();
            let sets = has_small_sets(plan.space);
            units.of_leaves(&albers_partition::with_lanes!(
                n_attributes,
                sets,
                cut_lanes(rows, units, requirement, plan)
            ))
        }
    };
    renumbered(classes)
}

/// The class of each unit.
fn leaf_scan(rows: TreeRows<'_>, units: &Units, requirement: &Requirement) -> Vec<ClassId> {
    let mut summary = ClassSummary::new(requirement.shape());
    let mut n_rows = 0;
    let mut class = 0;
    let mut classes: Vec<ClassId> = Vec::with_capacity(units.len());
    let mut is_closed = true;
    for unit in units.iter() {
        classes.push(ClassId::new(class));
        is_closed = match requirement.is_only_row_count() {
            Some(k) => {
                n_rows += rows.rows_of_unit(unit).count() as u64;
                n_rows >= k
            }
            None => {
                rows.add_unit(unit, &mut summary);
                requirement.holds(&summary)
            }
        };
        if is_closed {
            class += 1;
            n_rows = 0;
            summary.clear();
        }
    }
    if !is_closed {
        join_last(rows, units, requirement, &mut classes, ClassId::new(class));
    }
    classes
}

/// What is left at the end joins the classes before it, as many as it needs.
fn join_last(
    rows: TreeRows<'_>,
    units: &Units,
    requirement: &Requirement,
    classes: &mut [ClassId],
    rest: ClassId,
) {
    let mut first = classes.iter().position(|&class| class == rest).unwrap_or(0);
    let mut summary = ClassSummary::new(requirement.shape());
    let add = |own: std::ops::Range<usize>, summary: &mut ClassSummary| {
        own.for_each(|unit| rows.add_unit(units.get(unit), summary));
    };
    add(first..classes.len(), &mut summary);
    while first > 0 {
        let (class, end) = (classes[first - 1], first);
        first = classes[..end].iter().rposition(|&other| other != class).map_or(0, |at| at + 1);
        add(first..end, &mut summary);
        if requirement.holds(&summary) {
            break;
        }
    }
    let class = classes[first];
    classes[first..].fill(class);
}

/// The class of each leaf.
fn hierarchical(rows: TreeRows<'_>, requirement: &Requirement, fan_out: usize) -> Vec<ClassId> {
    let tree = rows.tree;
    let nodes = tree.nodes(fan_out);
    let mut node_of_split = vec![u32::MAX; tree.splits().len()];
    for (at, node) in nodes.iter().enumerate() {
        node_of_split[node.split as usize] = at as u32;
    }
    let mut classes = vec![ClassId::new(0); tree.n_leaves()];
    let mut pending = vec![tree.root()];
    while let Some(child) = pending.pop() {
        if let Child::Split(split) = child {
            let children = &nodes[node_of_split[split as usize] as usize].children;
            if children.iter().all(|&child| holds(rows, tree.leaves_of(child), requirement)) {
                pending.extend(children);
                continue;
            }
        }
        let leaves = tree.leaves_of(child);
        classes[leaves.start as usize..leaves.end as usize].fill(ClassId::new(leaves.start));
    }
    classes
}

/// Whether the rows of some neighbouring leaves satisfy a requirement.
fn holds(rows: TreeRows<'_>, leaves: std::ops::Range<u32>, requirement: &Requirement) -> bool {
    if let Some(k) = requirement.is_only_row_count() {
        return rows.tree.rows_of(leaves).len() as u64 >= k;
    }
    let mut summary = ClassSummary::new(requirement.shape());
    rows.add(leaves, &mut summary);
    requirement.holds(&summary)
}

fn cut_lanes<const L: usize, const M: usize>(
    rows: TreeRows<'_>,
    units: &Units,
    requirement: &Requirement,
    plan: &Plan<'_>,
) -> Vec<ClassId> {
    let scanned = leaf_scan(rows, units, requirement);
    cut::Cutter::<L, M>::new(rows, units, requirement, plan).classes(scanned)
}
