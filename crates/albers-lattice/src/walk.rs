//! The breadth-first search of one graph of candidates, from its roots upwards.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2005, section 3.1.1 and figure 8.
//! Departures: nodes of one height are looked at in parallel; a frequency set is rolled up from the
//! smallest set below, not from any.
//! Guarantee: afterwards exactly the satisfying candidates are left, if the question is monotone.
//! Cost: one frequency set per node that generalizes no satisfying one; those of two heights are
//! kept at a time, as far as there is room. In little memory more of them come from the source,
//! which is faster than to bring others back from the spill store. Where the sets of a large family
//! surely have no room, the smallest class of each is kept instead, see [`crate::witness`].
//!
//! ```text
//!   height 2      +     +  (+)        (+)  generalizes a satisfying node: not looked at
//!                  \   / \  |          +   looked at, satisfies
//!   height 1        -     - +          -   looked at, violates: rolled up to the nodes above
//!                    \   / /
//!   height 0           -
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use albers_storage::Result;
use albers_storage::threads;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::counted_table::CountedTable;
use crate::found::Effort;
use crate::frequency_set::FrequencySet;
use crate::lattice::{Lattice, NodeSet};
use crate::question::{Question, Verdict};
use crate::witness::{TupleBits, Witness};

/// Generalizations of one subset of the attributes.
pub(crate) struct Family {
    /// The attributes, ascending.
    pub(crate) attributes: Vec<usize>,
    /// All combinations of their levels.
    pub(crate) lattice: Lattice,
    /// Those that may satisfy; with a node, all that generalize it.
    pub(crate) candidates: NodeSet,
}

/// Where the frequency sets of roots come from, and those of the others.
#[derive(Clone, Copy)]
pub(crate) struct Sourcing<'s> {
    /// A set with all attributes of the family, at levels that no candidate is below.
    pub(crate) source: &'s FrequencySet,
    /// Whether that is the table itself, rolled up or not.
    pub(crate) is_table: bool,
    /// Whether several roots come from their greatest lower bounds, the super-roots.
    pub(crate) super_roots: bool,
    /// Whether the others come from a node below.
    pub(crate) rollup: bool,
}

/// What a walk leaves.
pub(crate) struct Walked {
    /// The candidates that satisfy.
    pub(crate) satisfying: NodeSet,
    /// Those that were looked at.
    pub(crate) looked_at: NodeSet,
    /// What is known of those that were looked at and satisfy.
    pub(crate) verdicts: Vec<(usize, Verdict)>,
    pub(crate) effort: Effort,
}

impl Family {
    /// The candidates that generalize no other candidate.
    pub(crate) fn roots(&self) -> Vec<usize> {
        let is_root =
            |&node: &usize| !self.lattice.below(node).any(|below| self.candidates.contains(below));
        self.candidates.iter().filter(is_root).collect()
    }

    /// The greatest levels that no root is below.
    pub(crate) fn meet(&self, roots: &[usize]) -> Vec<u16> {
        let lowest = |at: usize| roots.iter().map(|&root| self.lattice.level(root, at)).min();
        (0..self.attributes.len()).map(|at| lowest(at).unwrap_or(0)).collect()
    }
}

/// Searches a family.
pub(crate) fn walk(
    counted: &CountedTable<'_>,
    question: &Question<'_>,
    family: &Family,
    sourcing: Sourcing<'_>,
) -> Result<Walked> {
    let Family { lattice, candidates, .. } = family;
    let roots = family.roots();
    let of_roots = match sourcing.super_roots
        && roots.len() > 1
        && fit(counted, family, sourcing, &roots)
    {
        true => RootSets { counted, family }.derive(sourcing.source, sourcing.is_table, &roots)?,
        false => Vec::new(),
    };
    let mut walked = Walked {
        satisfying: candidates.clone(),
        looked_at: NodeSet::empty(lattice.n_nodes()),
        verdicts: Vec::new(),
        effort: Effort::default(),
    };
    let bits = bits_of(counted, question, family, sourcing)?;
    let mut look = Look { counted, question, family, sourcing, below: Below::default(), bits };
    let mut prepared: FxHashMap<usize, FrequencySet> = FxHashMap::default();
    for RootSet { root, set, is_scan, n_bounds } in of_roots {
        walked.effort.count(is_scan);
        walked.effort.rollups += n_bounds[0];
        walked.effort.scans += n_bounds[1];
        prepared.insert(root, set);
    }
    let mut queue: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for root in roots {
        queue.entry(lattice.height_of_node(root)).or_default().push(root);
    }
    let mut below_height = 0;
    while let Some((height, mut nodes)) = queue.pop_first() {
        nodes.sort_unstable();
        nodes.dedup();
        nodes.retain(|&node| !walked.generalizes_satisfying(family, node));
        if height > below_height + 1 {
            look.below = Below::default();
        }
        let own: Vec<(usize, Option<FrequencySet>)> =
            nodes.into_iter().map(|node| (node, prepared.remove(&node))).collect();
        let looked: Vec<Looked> =
            own.into_par_iter().map(|(node, own)| look.at(node, own)).collect::<Result<_>>()?;
        look.below = Below::default();
        below_height = height;
        for Looked { node, found, is_scan } in looked {
            walked.note(node, &found);
            is_scan.into_iter().for_each(|is_scan| walked.effort.count(is_scan));
            if !matches!(found, NodeFound::Satisfies(_)) {
                queue.entry(height + 1).or_default().extend(lattice.above(node));
                look.below.keep(node, found);
            }
        }
        queue.retain(|_, nodes| !nodes.is_empty());
    }
    Ok(walked)
}

/// What is kept of the nodes of one height for those above.
#[derive(Default)]
struct Below {
    sets: FxHashMap<usize, FrequencySet>,
    witnesses: FxHashMap<usize, Arc<Witness>>,
}

impl Below {
    fn keep(&mut self, node: usize, found: NodeFound) {
        match found {
            NodeFound::Violates(Some(set)) => drop(self.sets.insert(node, set)),
            NodeFound::Witnessed(witness) => drop(self.witnesses.insert(node, witness)),
            NodeFound::Violates(None) | NodeFound::Satisfies(_) => {}
        }
    }
}

/// A family of fewer candidates is searched sooner than the bits of all tuples are there.
const MANY_CANDIDATES: usize = 256;

/// The bits of the source, where there are many candidates whose sets have no room: those of two heights.
fn bits_of<'a>(
    counted: &CountedTable<'a>,
    question: &Question<'_>,
    family: &Family,
    sourcing: Sourcing<'_>,
) -> Result<Option<TupleBits<'a>>> {
    let Sourcing { source, rollup, .. } = sourcing;
    let Family { lattice, candidates, .. } = family;
    let has_witnesses = rollup && question.least_rows(source.layout()).is_some();
    if !has_witnesses || candidates.len() < MANY_CANDIDATES {
        return Ok(None);
    }
    let mut n_nodes = vec![0; lattice.height() + 1];
    candidates.iter().for_each(|node| n_nodes[lattice.height_of_node(node)] += 1);
    let widest: usize = n_nodes.into_iter().max().unwrap_or(0);
    let n_bytes = source.most_bytes(source.layout()).saturating_mul(2 * widest);
    match counted.has_room(n_bytes) {
        true => Ok(None),
        false => TupleBits::of(counted, source),
    }
}

/// A look at the nodes of one height.
struct Look<'w, 'a> {
    counted: &'w CountedTable<'a>,
    question: &'w Question<'w>,
    family: &'w Family,
    sourcing: Sourcing<'w>,
    below: Below,
    /// Those of the source, where witnesses take the place of sets.
    bits: Option<TupleBits<'a>>,
}

impl Look<'_, '_> {
    /// Looks at a node, whose set may be there already. Else a small class of a node below may show
    /// that it violates, or its set comes from the smallest set below.
    fn at(&self, node: usize, own: Option<FrequencySet>) -> Result<Looked> {
        let Look { counted, question, family, sourcing, below, .. } = self;
        let Family { attributes, lattice, .. } = family;
        let levels = lattice.levels(node);
        if let Some(witness) = self.witness(node, &levels) {
            counted.workspace.watch.check()?;
            return Ok(Looked { node, found: NodeFound::Witnessed(witness), is_scan: None });
        }
        let smallest = lattice.below(node).filter_map(|node| below.sets.get(&node));
        let smallest = smallest.min_by_key(|set| set.n_entries()).filter(|_| sourcing.rollup);
        let is_scan = own.is_none().then_some(smallest.is_none() && sourcing.is_table);
        let source = smallest.unwrap_or(sourcing.source);
        let set = match own {
            Some(set) => set,
            None => counted.derive(source, attributes, &levels)?,
        };
        let verdict = question.judge(counted.workspace, &set)?;
        let found = match verdict.holds {
            true => NodeFound::Satisfies(verdict),
            false => self.kept(set)?,
        };
        Ok(Looked { node, found, is_scan })
    }

    /// A class that is too small at these levels, among those that are too small below.
    fn witness(&self, node: usize, levels: &[u16]) -> Option<Arc<Witness>> {
        let bits = self.bits.as_ref()?;
        let k = self.question.least_rows(self.sourcing.source.layout())?;
        let mut below = self.family.lattice.below(node);
        below.find_map(|node| {
            let witness = self.below.witnesses.get(&node)?;
            bits.is_below(witness, levels, k).then(|| Arc::clone(witness))
        })
    }

    /// What is kept of the set of a node that violates. One that would crowd others out is not worth
    /// keeping, where the source is at hand.
    fn kept(&self, set: FrequencySet) -> Result<NodeFound> {
        let Look { counted, question, sourcing, bits, .. } = self;
        if bits.is_some() {
            let witness = Witness::of(counted.workspace, question, &set)?;
            return Ok(witness.map_or(NodeFound::Violates(None), NodeFound::Witnessed));
        }
        let is_kept = !sourcing.source.is_in_memory() || counted.has_room(0);
        Ok(NodeFound::Violates(is_kept.then_some(set)))
    }
}

/// Whether the sets of all roots can wait for their turn in memory; else each is made when it comes.
fn fit(
    counted: &CountedTable<'_>,
    family: &Family,
    sourcing: Sourcing<'_>,
    roots: &[usize],
) -> bool {
    let Family { attributes, lattice, .. } = family;
    let most_bytes =
        |&root: &usize| counted.most_bytes(sourcing.source, attributes, &lattice.levels(root));
    // Families are searched side by side.
    let n_bytes = roots.iter().map(most_bytes).sum::<usize>();
    counted.has_room(n_bytes.saturating_mul(threads::of_pool()))
}

/// A node that was looked at.
struct Looked {
    node: usize,
    found: NodeFound,
    /// Whether its set came from the table; nothing if it was there before, or not needed.
    is_scan: Option<bool>,
}

/// What was found of a node.
enum NodeFound {
    Satisfies(Verdict),
    /// It violates; its set, where there is room.
    Violates(Option<FrequencySet>),
    /// It violates, as this class shows.
    Witnessed(Arc<Witness>),
}

/// The set of a root.
struct RootSet {
    root: usize,
    set: FrequencySet,
    /// Whether it came from the table.
    is_scan: bool,
    /// Bounds that were computed on the way, and those of them that came from the table.
    n_bounds: [u64; 2],
}

/// The sets of roots, by ever closer lower bounds of fewer of them.
///
/// ```text
///              source
///                |
///            meet of all                 the super-root
///            /         \
///      meet of two    meet of three      each much smaller than the one before, or left out
///       /     \          / | \
///     root   root       roots
/// ```
struct RootSets<'s> {
    counted: &'s CountedTable<'s>,
    family: &'s Family,
}

impl<'s> RootSets<'s> {
    fn derive(
        &self,
        source: &FrequencySet,
        is_table: bool,
        roots: &[usize],
    ) -> Result<Vec<RootSet>> {
        let Family { attributes, lattice, .. } = self.family;
        if let [root] = roots {
            let set = self.counted.derive(source, attributes, &lattice.levels(*root))?;
            return Ok(vec![RootSet { root: *root, set, is_scan: is_table, n_bounds: [0, 0] }]);
        }
        let bound = self.counted.derive_if_worth(
            source,
            attributes,
            &self.family.meet(roots),
            roots.len(),
        )?;
        let of_table = is_table && bound.is_none();
        let source = bound.as_ref().unwrap_or(source);
        let (low, high) = self.divide(roots);
        let (low, high) = rayon::join(
            || self.derive(source, of_table, &low),
            || self.derive(source, of_table, &high),
        );
        let mut sets = low?;
        sets.extend(high?);
        if bound.is_some() {
            sets[0].n_bounds[usize::from(is_table)] += 1;
        }
        Ok(sets)
    }

    /// Divides roots by their level of the attribute whose values become fewest between them.
    fn divide(&self, roots: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let Family { attributes, lattice, .. } = self.family;
        let ends = |at: usize| {
            let levels = roots.iter().map(|&root| lattice.level(root, at));
            levels.fold((u16::MAX, 0), |(lo, hi), level| (lo.min(level), hi.max(level)))
        };
        let shrinks = |at: usize| {
            let (lo, hi) = ends(at);
            let dimension = &self.counted.dimensions[attributes[at]];
            let ratio =
                f64::from(dimension.n_values(lo)) / f64::from(dimension.n_values(hi).max(1));
            // Roots differ somewhere, be it between levels with equally many values.
            ratio + f64::from(hi - lo) * 1e-6
        };
        let widest = (0..attributes.len()).max_by(|&a, &b| shrinks(a).total_cmp(&shrinks(b)));
        let at = widest.expect("a family has attributes");
        let mut levels: Vec<u16> = roots.iter().map(|&root| lattice.level(root, at)).collect();
        levels.sort_unstable();
        // Above the median if something is, else from the greatest level on.
        let median = levels[levels.len() / 2];
        let first_high = if median > levels[0] { median } else { median + 1 };
        roots.iter().partition(|&&root| lattice.level(root, at) < first_high)
    }
}

impl Walked {
    fn generalizes_satisfying(&self, family: &Family, node: usize) -> bool {
        family.lattice.below(node).any(|below| self.satisfying.contains(below))
    }

    fn note(&mut self, node: usize, found: &NodeFound) {
        self.effort.checked += 1;
        self.looked_at.insert(node);
        match found {
            NodeFound::Satisfies(verdict) => self.verdicts.push((node, *verdict)),
            NodeFound::Violates(_) | NodeFound::Witnessed(_) => self.satisfying.remove(node),
        }
    }
}
