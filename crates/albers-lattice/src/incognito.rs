//! Incognito: all full-domain generalizations that satisfy, by ever larger subsets of the
//! attributes.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2005, section 3 and figure 8 (basic), section 3.3.1
//! (super-roots), section 3.3.2 (cube).
//! Departures: any monotone requirement takes the place of k. Candidates are upward closed, so that
//! join, prune and edge generation become a look at the subsets of one attribute less.
//! With super-roots the table is also rolled up to the levels that no candidate of any family is
//! below, and once that has made it small, one pass over it serves all families: the sets of larger
//! subsets come first, those of smaller ones from them.
//! Guarantee: sound and complete, if the question is monotone: the subset property prunes what one
//! attribute less already violates, the generalization property takes what generalizes a satisfying
//! node.
//! Cost: exponential in the attributes; in practice a third of the lattice of nine attributes.
//!
//! ```text
//!   size 1     <age>        <sex>        <zip>            each a graph of levels, searched upwards
//!                 \         /  \         /
//!   size 2    <age, sex>  <age, zip>  <sex, zip>          candidates: all smaller ones satisfy
//!                       \     |     /
//!   size 3         <age, sex, zip>                        what is left satisfies
//! ```

use std::time::Instant;

use albers_storage::Result;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::counted_table::CountedTable;
use crate::found::{Effort, Found, found};
use crate::frequency_set::FrequencySet;
use crate::lattice::{Lattice, NodeSet};
use crate::question::Question;
use crate::walk::{Family, Sourcing, Walked, walk};

/// How Incognito comes by the frequency sets of its roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Each root from the table.
    Basic,
    /// The roots of one subset of the attributes together.
    SuperRoots,
    /// From sets at the lowest levels, computed beforehand for all subsets.
    Cube,
}

/// More attributes have more subsets than a cube can be computed for.
pub const MAX_CUBE_ATTRIBUTES: usize = 16;

/// With fewer entries the sets of all subsets stay near the processor, so that it pays to compute
/// them from each other rather than each from the table.
const SMALL_TABLE: u64 = 1 << 16;

/// A subset of the attributes, as bits.
type Subset = u64;

/// Frequency sets that were computed before a family is searched, by its attributes.
type Prepared = FxHashMap<Subset, FrequencySet>;

/// The satisfying nodes of each subset of one size.
type Satisfying = FxHashMap<Subset, NodeSet>;

/// Finds all generalizations that satisfy a monotone question.
pub fn search(
    counted: &CountedTable<'_>,
    question: &Question<'_>,
    variant: Variant,
) -> Result<Found> {
    search_observed(counted, question, variant, &mut |_, _| {})
}

/// The same, with somebody who sees what becomes of each family.
pub(crate) fn search_observed(
    counted: &CountedTable<'_>,
    question: &Question<'_>,
    variant: Variant,
    observe: &mut dyn FnMut(&Family, &Walked),
) -> Result<Found> {
    let n_attributes = counted.dimensions.len();
    let mut effort = Effort::default();
    let mut sources = Sources::new(counted, variant, &mut effort)?;
    let mut satisfying = Satisfying::default();
    for size in 1..=n_attributes {
        let subsets = subsets_of(n_attributes, size);
        let families: Vec<Family> =
            subsets.par_iter().map(|&subset| candidates(counted, subset, &satisfying)).collect();
        if variant == Variant::SuperRoots {
            sources.roll_up(counted, &families, size, &mut effort)?;
        }
        let walked: Vec<Walked> = subsets
            .par_iter()
            .zip(&families)
            .map(|(subset, family)| {
                let sourcing = sources.of(counted, subset, variant == Variant::SuperRoots);
                walk(counted, question, family, sourcing)
            })
            .collect::<Result<_>>()?;
        subsets.iter().for_each(|subset| drop(sources.prepared.remove(subset)));
        for (family, of_family) in families.iter().zip(&walked) {
            effort.add(&of_family.effort, size);
            observe(family, of_family);
        }
        if size == n_attributes {
            let whole = families.into_iter().zip(walked).next();
            let (family, walked) = whole.expect("all attributes are one subset");
            let Walked { satisfying, looked_at, verdicts, .. } = walked;
            effort.scans += u64::from(variant == Variant::Cube);
            return Ok(found(family.lattice, satisfying, looked_at, &verdicts, effort));
        }
        let walked = walked.into_iter().map(|walked| walked.satisfying);
        satisfying = subsets.into_iter().zip(walked).collect();
    }
    unreachable!("a table has at least one quasi-identifier")
}

/// Where the frequency sets of roots come from.
struct Sources {
    /// Sets that were computed before a family is searched.
    prepared: Prepared,
    /// The table at the levels that no candidate is below.
    rolled_up: Option<FrequencySet>,
}

impl Sources {
    /// The table, and its cube if that is the variant.
    fn new(counted: &CountedTable<'_>, variant: Variant, effort: &mut Effort) -> Result<Sources> {
        let mut sources = Sources { prepared: Prepared::default(), rolled_up: None };
        if variant == Variant::Cube {
            let (start, before) = (Instant::now(), counted.moved());
            sources.prepared = sets_of_subsets(counted, counted.table(), 1, Room::Any)?;
            effort.cube_sets = sources.prepared.len() as u64;
            effort.cube_seconds = start.elapsed().as_secs_f64();
            effort.cube_moved = counted.moved().since(before);
        }
        Ok(sources)
    }

    /// Rolls up the table as far as the candidates of this size allow, if that makes it smaller.
    fn roll_up(
        &mut self,
        counted: &CountedTable<'_>,
        families: &[Family],
        size: usize,
        effort: &mut Effort,
    ) -> Result<()> {
        let table = self.rolled_up.as_ref().unwrap_or(counted.table());
        let Some(smaller) = roll_up_table(counted, table, families)? else { return Ok(()) };
        effort.scans += 1;
        self.prepared.clear();
        if smaller.n_entries() <= SMALL_TABLE {
            self.prepared = sets_of_subsets(counted, &smaller, size, Room::AsThereIs)?;
            effort.rollups += self.prepared.len() as u64;
        }
        self.rolled_up = Some(smaller);
        Ok(())
    }

    /// What serves the family of a subset.
    fn of<'s>(
        &'s self,
        counted: &'s CountedTable<'_>,
        subset: &Subset,
        super_roots: bool,
    ) -> Sourcing<'s> {
        let own = self.prepared.get(subset);
        let table = self.rolled_up.as_ref().unwrap_or(counted.table());
        let (source, is_table) = (own.unwrap_or(table), own.is_none());
        Sourcing { source, is_table, super_roots, rollup: true }
    }
}

/// The generalizations of a subset whose smaller subsets all satisfy.
fn candidates(counted: &CountedTable<'_>, subset: Subset, smaller: &Satisfying) -> Family {
    let attributes: Vec<usize> =
        (0..counted.dimensions.len()).filter(|attribute| subset >> attribute & 1 == 1).collect();
    let heights = attributes.iter().map(|&attribute| counted.dimensions[attribute].height());
    let lattice = Lattice::new(heights.collect());
    let without: Vec<(usize, &NodeSet)> = attributes
        .iter()
        .enumerate()
        .filter_map(|(at, &attribute)| Some((at, smaller.get(&(subset & !(1 << attribute)))?)))
        .collect();
    let mut candidates = NodeSet::empty(lattice.n_nodes());
    for node in 0..lattice.n_nodes() {
        if without.iter().all(|(at, smaller)| smaller.contains(lattice.without(node, *at))) {
            candidates.insert(node);
        }
    }
    Family { attributes, lattice, candidates }
}

/// All subsets of a size, ascending.
fn subsets_of(n_attributes: usize, size: usize) -> Vec<Subset> {
    (0..1u64 << n_attributes).filter(|subset| subset.count_ones() as usize == size).collect()
}

/// The table at the levels that no candidate of any family is below, if that makes it smaller.
fn roll_up_table(
    counted: &CountedTable<'_>,
    table: &FrequencySet,
    families: &[Family],
) -> Result<Option<FrequencySet>> {
    let mut lowest = counted.heights();
    for family in families {
        let meet = family.meet(&family.roots());
        for (&attribute, level) in family.attributes.iter().zip(meet) {
            lowest[attribute] = lowest[attribute].min(level);
        }
    }
    if lowest == table.layout().levels() {
        return Ok(None);
    }
    if table.n_entries() <= SMALL_TABLE {
        return counted.derive_all(table, &lowest).map(Some);
    }
    counted.derive_if_worth(table, table.layout().attributes(), &lowest, families.len())
}

/// A set that is about to be derived.
struct PlannedSet<'s> {
    subset: Subset,
    source: &'s FrequencySet,
    attributes: Vec<usize>,
    levels: Vec<u16>,
}

/// Where sets may be that are computed beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    /// In memory or in the spill store.
    Any,
    /// In memory; sets for which there is no room are left out.
    AsThereIs,
}

/// The frequency sets of all subsets of at least this size at the levels of `table`, each from one
/// with an attribute more; fewer, from the larger subsets on, where there is no room for all.
fn sets_of_subsets(
    counted: &CountedTable<'_>,
    table: &FrequencySet,
    least_size: usize,
    room: Room,
) -> Result<Prepared> {
    let n_attributes = counted.dimensions.len();
    let levels = table.layout().levels();
    let mut sets = Prepared::default();
    for size in (least_size..=n_attributes).rev() {
        let planned: Vec<PlannedSet<'_>> = subsets_of(n_attributes, size)
            .into_iter()
            .map(|subset| {
                let larger = (0..n_attributes).map(|attribute| subset | 1 << attribute);
                let larger = larger.filter_map(|larger| sets.get(&larger));
                let source = larger.min_by_key(|set| set.n_entries()).unwrap_or(table);
                let in_subset = |&attribute: &usize| subset >> attribute & 1 == 1;
                let attributes: Vec<usize> = (0..n_attributes).filter(in_subset).collect();
                let levels = attributes.iter().map(|&at| levels[at]).collect();
                PlannedSet { subset, source, attributes, levels }
            })
            .collect();
        let most_bytes =
            |own: &PlannedSet<'_>| counted.most_bytes(own.source, &own.attributes, &own.levels);
        let n_bytes = planned.iter().map(most_bytes).sum();
        if room == Room::AsThereIs && !counted.has_room(n_bytes) {
            break;
        }
        let derive = |own: &PlannedSet<'_>| {
            Ok((own.subset, counted.derive(own.source, &own.attributes, &own.levels)?))
        };
        let of_size: Vec<(Subset, FrequencySet)> =
            planned.par_iter().map(derive).collect::<Result<_>>()?;
        sets.extend(of_size);
    }
    Ok(sets)
}
