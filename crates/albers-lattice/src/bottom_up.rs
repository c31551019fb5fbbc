//! Bottom-up search: the whole lattice, height by height, without looking at smaller subsets.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2005, section 2.2.
//! Departures: nodes of one height are looked at in parallel.
//! Guarantee: finds all generalizations that satisfy, if the question is monotone.
//! Cost: looks at every generalization that violates, and at the lowest of those that satisfy.

use albers_storage::Result;

use crate::counted_table::CountedTable;
use crate::found::{Effort, Found, found};
use crate::lattice::{Lattice, NodeSet};
use crate::question::Question;
use crate::walk::{Family, Sourcing, Walked, walk};

/// How the bottom-up search comes by its frequency sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BottomUp {
    /// From a generalization below.
    Rollup,
    /// From the table, each time.
    Scan,
}

/// Finds all generalizations that satisfy a monotone question.
pub fn search(
    counted: &CountedTable<'_>,
    question: &Question<'_>,
    variant: BottomUp,
) -> Result<Found> {
    let lattice = Lattice::new(counted.heights());
    let mut candidates = NodeSet::empty(lattice.n_nodes());
    (0..lattice.n_nodes()).for_each(|node| candidates.insert(node));
    let attributes: Vec<usize> = (0..counted.dimensions.len()).collect();
    let family = Family { attributes, lattice, candidates };
    let sourcing = Sourcing {
        source: counted.table(),
        is_table: true,
        super_roots: false,
        rollup: variant == BottomUp::Rollup,
    };
    let walked = walk(counted, question, &family, sourcing)?;
    let Walked { satisfying, looked_at, verdicts, effort: of_walk } = walked;
    let mut effort = Effort::default();
    effort.add(&of_walk, family.attributes.len());
    Ok(found(family.lattice, satisfying, looked_at, &verdicts, effort))
}
