//! Coarser releases from the leaves of an index built once.
//!
//! Source: Iwuchukwu & Naughton 2007, section 3; Anjum & Raschia 2017, section 4.
//! Departures: see the modules. The papers make every release of leaves; here each is made of the
//! classes of the next finer one, as they are shown: classes that show the same are one.
//! Guarantee: every class is a union of whole classes of each finer release, as shown, so that
//! whoever holds some of the releases has the finest of them and no more; every class satisfies its
//! requirement, if all leaves together do.
//! Cost: one pass over the leaves for each release; `cut` weighs each class of the finer release
//! against its neighbours, on all threads; a dendrogram is built once for all releases.
//!
//! ```text
//!   leaves           5 7  6 5  9 5  6 8  5 6      rows of each; those that show the same are one
//!   release, k = 10  [12] [11] [14] [14] [11]     made of leaves, and what the next is made of
//!   release, k = 25  [-----37-----] [---25--]
//! ```
//!
//! - [`leaves`]: leaves with their rows, of a tree or a BANG file. `units`: what must stay together.
//! - `walk`: leaves one after another. `scan` and `cut`: runs of a walk.
//! - `hierarchical`: nodes of a tree. [`mod@nested`]: regions with what lies in them.
//! - [`dendrogram`]: clusters of neighbours. `lists`: lists of numbers.

pub mod dendrogram;
pub mod leaves;
pub mod nested;

mod cut;
mod hierarchical;
mod lists;
mod scan;
mod units;
mod walk;

use albers_classes::space::AxisKind;
use albers_classes::{ClassId, Span};
use albers_partition::mondrian::Plan;
use albers_partition::split::Point;
use albers_partition::split::extent::{Extent, Weigher, has_small_sets};
use albers_privacy::Requirement;
use rayon::prelude::*;

use dendrogram::{Closeness, Dendrogram};
use hierarchical::Nodes;
use leaves::{Index, LeafRuns};
use lists::Lists;
use units::{Units, renumbered};

/// How leaves are brought together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Granularity {
    /// The runs of a walk through the index that lose least.
    #[default]
    Cut,
    /// Leaves in the order of the index, a class closed as soon as it satisfies the requirement.
    LeafScan,
    /// The lowest nodes of a tree that satisfy it together with all their siblings.
    Hierarchical,
    /// Regions with regions that lie in them, of an index with nested regions.
    Nested,
    /// Clusters of neighbours, and clusters of these.
    Dendrogram,
    /// The runs of the leaves of these clusters that lose least.
    DendrogramCut,
}

albers_storage::choices!(Granularity {
    Cut: "cut", "The runs of neighbouring leaves that lose least";
    LeafScan: "leaf-scan", "Leaves one after another, until they are enough";
    Hierarchical: "hierarchical", "Whole nodes of the index";
    Nested: "nested", "Regions with what lies in them, where regions lie in each other";
    Dendrogram: "dendrogram", "Clusters of neighbouring leaves";
    DendrogramCut: "dendrogram-cut", "The runs along these clusters that lose least";
});

impl Granularity {
    /// Whether leaves are merged into a dendrogram.
    pub fn has_dendrogram(self) -> bool {
        matches!(self, Granularity::Dendrogram | Granularity::DendrogramCut)
    }

    /// Whether there must be regions that lie in each other.
    pub fn needs_nesting(self) -> bool {
        self == Granularity::Nested
    }
}

/// The most children of a node of the index, where nobody asks for another number: with few, nodes
/// are hardly larger than what a release asks for.
pub const FAN_OUT: usize = 4;

pub use hierarchical::{LEAST_FAN_OUT, MOST_FAN_OUT};

/// How classes are made of the leaves of an index.
#[derive(Clone, Copy)]
pub struct Coarsening<'a> {
    /// How leaves are brought together.
    pub granularity: Granularity,
    /// The most children of a node, see [`FAN_OUT`].
    pub fan_out: usize,
    /// Which clusters are near to each other.
    pub closeness: Closeness,
    /// How the leaves were split.
    pub plan: &'a Plan<'a>,
}

/// Several releases of the same leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Releases {
    /// The class of each leaf in each release, the finest first, numbered by their first leaves.
    pub classes: Vec<Vec<ClassId>>,
    /// What they were cut from, where they were.
    pub dendrogram: Option<Dendrogram>,
}

/// Tells which classes of a release show the same: given the place of the release and the class of
/// each leaf, the number of what its class shows, less than the number of leaves.
pub type Shown<'s, E> = dyn FnMut(usize, &[ClassId]) -> Result<Vec<ClassId>, E> + 's;

/// The release of the leaves, and one for each of the requirements, every one of which implies those
/// before it. Classes that show the same are one, and each class is a union of whole classes of the
/// release before it. All leaves together must satisfy the requirements.
///
/// # Panics
/// When the index has no nodes, or no nested regions, of which classes are to be made.
pub fn releases<E>(
    leaves: LeafRuns<'_>,
    coarsening: Coarsening<'_>,
    requirements: &[&Requirement],
    shown: &mut Shown<'_, E>,
) -> Result<Releases, E> {
    let Coarsening { granularity, closeness, plan, .. } = coarsening;
    let has_dendrogram = granularity.has_dendrogram();
    let dendrogram = has_dendrogram.then(|| Dendrogram::of(leaves, plan, closeness));
    let walk = match (granularity, &dendrogram) {
        (Granularity::DendrogramCut, Some(dendrogram)) => dendrogram.order().to_vec(),
        (Granularity::Cut | Granularity::Hierarchical, _) => walk::nearer_first(leaves, plan),
        _ => walk::in_order(leaves),
    };
    let has_nodes =
        granularity == Granularity::Hierarchical && matches!(leaves.index, Index::Tree(_));
    let nodes = has_nodes.then(|| Nodes::of(leaves, walk.clone(), coarsening.fan_out, plan));
    let (dendrogram_of, nodes) = (dendrogram.as_ref(), nodes.as_ref());
    let coarser = Coarser { leaves, coarsening, walk, dendrogram: dendrogram_of, nodes };
    let single: Vec<ClassId> = ClassId::first(leaves.n_leaves()).collect();
    let mut classes = vec![renumbered(shown(0, &single)?)];
    for (finer, requirement) in requirements.iter().enumerate() {
        let made = coarser.classes(&Units::of(&classes[finer]), requirement);
        classes.push(coarser.as_shown(finer + 1, &made, shown)?);
    }
    Ok(Releases { classes, dendrogram })
}

/// What the classes of a release lose: the certainty penalty of the boxes around their rows, or around
/// the regions of their leaves, where these are shown; summed over the rows in the order of classes.
pub fn loss(
    leaves: LeafRuns<'_>,
    classes: &[ClassId],
    regions: Option<&[Span]>,
    plan: &Plan<'_>,
) -> f64 {
    let (n_attributes, sets) = (leaves.n_attributes(), has_small_sets(plan.space));
    albers_partition::with_lanes!(n_attributes, sets, loss_lanes(leaves, classes, regions, plan))
}

fn loss_lanes<const L: usize, const M: usize>(
    leaves: LeafRuns<'_>,
    classes: &[ClassId],
    regions: Option<&[Span]>,
    plan: &Plan<'_>,
) -> f64 {
    let n_attributes = leaves.n_attributes();
    let weigher = Weigher::<L, M>::new(plan.space);
    let class_of: Vec<u32> = classes.iter().map(|class| class.get()).collect();
    let of_class = Lists::of_groups(&class_of);
    let losses: Vec<f64> = (0..of_class.len())
        .into_par_iter()
        .map(|class| {
            let own = of_class.get(class);
            let mut extent = leaves.extent::<L, M>(own);
            for &leaf in own {
                let at = leaf as usize * n_attributes;
                let region = regions.map_or(&[][..], |all| &all[at..at + n_attributes]);
                add_region(&mut extent, region, plan);
            }
            leaves.count(own) as f64 * f64::from(weigher.loss(&extent))
        })
        .collect();
    losses.iter().sum()
}

/// Makes a box large enough for a region, with all values of its sets.
fn add_region<const L: usize, const M: usize>(
    extent: &mut Extent<L, M>,
    region: &[Span],
    plan: &Plan<'_>,
) {
    let mut point: Point<L> = [0; L];
    for end in [|span: &Span| span.0.get(), |span: &Span| span.1.get()] {
        point.iter_mut().zip(region).for_each(|(slot, span)| *slot = end(span));
        if !region.is_empty() {
            extent.add(&point);
        }
    }
    for (attribute, (span, axis)) in region.iter().zip(&plan.space.axes).enumerate() {
        if let AxisKind::Set { n_codes, .. } = axis.kind
            && n_codes as usize <= u64::BITS as usize
        {
            let end = span.1.get();
            for code in span.0.get()..=end {
                point[attribute] = code;
                extent.add(&point);
            }
            point[attribute] = end;
        }
    }
}

/// What a coarser release is made from.
struct Coarser<'a> {
    leaves: LeafRuns<'a>,
    coarsening: Coarsening<'a>,
    /// The leaves, one after another.
    walk: Vec<u32>,
    dendrogram: Option<&'a Dendrogram>,
    nodes: Option<&'a Nodes>,
}

impl Coarser<'_> {
    /// The class of each leaf, numbered by their first leaves; each class has whole units.
    fn classes(&self, units: &Units, requirement: &Requirement) -> Vec<ClassId> {
        let Coarsening { granularity, plan, .. } = self.coarsening;
        let leaves = self.leaves;
        let walk = || walk::units_of(self.walk.iter().copied(), units);
        renumbered(match (granularity, leaves.index, self.dendrogram, self.nodes) {
            (Granularity::LeafScan, ..) => {
                units.of_leaves(&scan::leaf_scan(leaves, units, &walk(), requirement))
            }
            (Granularity::Cut | Granularity::DendrogramCut, ..) => {
                let (n_attributes, sets) = (leaves.n_attributes(), has_small_sets(plan.space));
                units.of_leaves(&albers_partition::with_lanes!(
                    n_attributes,
                    sets,
                    cut_lanes(
                        (leaves, units),
                        (&walk(), &self.walk_of_scan(units)),
                        requirement,
                        plan
                    )
                ))
            }
            (Granularity::Dendrogram, _, Some(dendrogram), _) => {
                units.joined(dendrogram.classes(leaves, requirement))
            }
            (Granularity::Hierarchical, .., Some(nodes)) => {
                units.joined(nodes.classes(leaves, requirement))
            }
            (Granularity::Nested, Index::Blocks(file), ..) => {
                nested::nested(leaves, file, units, requirement, plan)
            }
            _ => panic!("this index has nothing that {granularity} brings together"),
        })
    }

    /// The units in the order in which the scan meets them that a cut must not lose more than.
    fn walk_of_scan(&self, units: &Units) -> Vec<u32> {
        walk::units_of(walk::in_order(self.leaves), units)
    }

    /// Classes that show the same as one. Where classes are connected, so are those that are joined,
    /// and what lies between them shows something else then: they are looked at again.
    fn as_shown<E>(
        &self,
        release: usize,
        made: &[ClassId],
        shown: &mut Shown<'_, E>,
    ) -> Result<Vec<ClassId>, E> {
        let mut classes = renumbered(shown(release, made)?);
        if let (Granularity::Nested, Index::Blocks(file)) =
            (self.coarsening.granularity, self.leaves.index)
        {
            loop {
                let connected = nested::connected(file, &classes);
                if connected == classes {
                    break;
                }
                classes = renumbered(shown(release, &connected)?);
            }
        }
        Ok(classes)
    }
}

/// The runs of one walk, if they lose no more than the leaf scan of another.
fn cut_lanes<const L: usize, const M: usize>(
    (leaves, units): (LeafRuns<'_>, &Units),
    (walk, walk_of_scan): (&[u32], &[u32]),
    requirement: &Requirement,
    plan: &Plan<'_>,
) -> Vec<ClassId> {
    let scanned = scan::leaf_scan(leaves, units, walk_of_scan, requirement);
    cut::Cutter::<L, M>::new(leaves, units, walk, requirement, plan).classes(scanned)
}

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;
