//! The example of the paper: figures 1, 2, 5 and 7.

use albers_privacy::Facts;
use albers_privacy::Requirement;

use super::{Column, TestTable};
use crate::bottom_up::BottomUp;
use crate::incognito::{Variant, search_observed};
use crate::lattice::{Lattice, NodeSet};
use crate::search::{Algorithm, search};
use crate::walk::{Family, Walked};

/// Birthdate, sex and zipcode of the Patients table, with the hierarchies of figure 2.
fn patients() -> TestTable {
    let columns = [
        (
            ["1/21/76", "4/13/86", "2/28/76", "1/21/76", "4/13/86", "2/28/76"],
            vec!["1/21/76 *", "2/28/76 *", "4/13/86 *"],
        ),
        (
            ["Male", "Female", "Male", "Male", "Female", "Female"],
            vec!["Male Person", "Female Person"],
        ),
        (
            ["53715", "53715", "53703", "53703", "53706", "53706"],
            vec![
                "53715 5371* 537**",
                "53710 5371* 537**",
                "53706 5370* 537**",
                "53703 5370* 537**",
            ],
        ),
    ];
    let words = |path: &str| path.split(' ').map(str::to_owned).collect();
    let columns = columns.map(|(cells, hierarchy)| Column {
        cells: cells.map(str::to_owned).to_vec(),
        hierarchy: hierarchy.into_iter().map(words).collect(),
    });
    let facts = Facts { subjects: Vec::new(), sensitive: Vec::new(), n_sensitive: 0 };
    let requirement = Requirement::new(2, false, Vec::new(), Vec::new()).expect("valid");
    TestTable::new(&columns, facts, requirement)
}

const B: usize = 0;
const S: usize = 1;
const Z: usize = 2;

/// What became of the generalizations of some attributes, as levels.
struct Trace {
    attributes: Vec<usize>,
    candidates: Vec<Vec<u16>>,
    roots: Vec<Vec<u16>>,
    looked_at: Vec<Vec<u16>>,
    satisfying: Vec<Vec<u16>>,
}

fn levels_of(lattice: &Lattice, nodes: &NodeSet) -> Vec<Vec<u16>> {
    nodes.iter().map(|node| lattice.levels(node)).collect()
}

/// The steps of a subset of the attributes.
fn of<'t>(trace: &'t [Trace], attributes: &[usize]) -> &'t Trace {
    trace.iter().find(|own| own.attributes == attributes).expect("every subset is searched")
}

#[test]
fn patients_of_the_paper_have_its_candidates_and_its_result() {
    let table = patients();
    let question = table.question(0);
    for variant in [Variant::Basic, Variant::SuperRoots, Variant::Cube] {
        let mut trace = Vec::new();
        let (found, _) = table.on_ground(1 << 20, |counted| {
            let mut observe = |family: &Family, walked: &Walked| {
                let lattice = &family.lattice;
                trace.push(Trace {
                    attributes: family.attributes.clone(),
                    candidates: levels_of(lattice, &family.candidates),
                    roots: family.roots().iter().map(|&root| lattice.levels(root)).collect(),
                    looked_at: levels_of(lattice, &walked.looked_at),
                    satisfying: levels_of(lattice, &walked.satisfying),
                });
            };
            search_observed(counted, &question, variant, &mut observe).expect("found")
        });
        // Example 3.1: each attribute alone is 2-anonymous as it is.
        for attribute in [B, S, Z] {
            assert_eq!(of(&trace, &[attribute]).looked_at, [[0]]);
        }
        // Figure 5 (a): <S0,Z0> violates, <S1,Z0> satisfies, <S0,Z1> violates, <S0,Z2> satisfies.
        let sex_zip = of(&trace, &[S, Z]);
        assert_eq!(sex_zip.looked_at, [[0, 0], [0, 1], [0, 2], [1, 0]]);
        assert_eq!(sex_zip.satisfying, [[0, 2], [1, 0], [1, 1], [1, 2]]);
        // Figure 5 (b): of <B,Z>, what is left generalizes <B1,Z0> or is <B0,Z2>.
        assert_eq!(of(&trace, &[B, Z]).satisfying, [[0, 2], [1, 0], [1, 1], [1, 2]]);
        // Figure 5 (c): of <B,S>, <B0,S1> and <B1,S0> satisfy.
        assert_eq!(of(&trace, &[B, S]).satisfying, [[0, 1], [1, 0], [1, 1]]);
        // Figure 7 (a): five candidates, of which three are roots.
        let whole = of(&trace, &[B, S, Z]);
        let candidates = [[0, 1, 2], [1, 0, 2], [1, 1, 0], [1, 1, 1], [1, 1, 2]];
        assert_eq!(whole.candidates, candidates);
        assert_eq!(whole.roots, [[0, 1, 2], [1, 0, 2], [1, 1, 0]]);
        assert_eq!(whole.satisfying, candidates);
        let minimal: Vec<_> = found.minimal.iter().map(|own| own.levels.clone()).collect();
        assert_eq!(minimal, [[0, 1, 2], [1, 0, 2], [1, 1, 0]]);
        assert_eq!(found.satisfying.len(), 5);
    }
}

#[test]
fn all_searches_agree_on_the_patients() {
    let table = patients();
    let question = table.question(0);
    let minimal = |algorithm| {
        let (found, _) = table
            .on_ground(1 << 20, |counted| search(counted, &question, algorithm).expect("found"));
        found.minimal.into_iter().map(|own| own.levels).collect::<Vec<_>>()
    };
    let all = [vec![0, 1, 2], vec![1, 0, 2], vec![1, 1, 0]];
    assert_eq!(minimal(Algorithm::BottomUp(BottomUp::Rollup)), all);
    assert_eq!(minimal(Algorithm::BottomUp(BottomUp::Scan)), all);
    // The least height at which any satisfies is 2.
    assert_eq!(minimal(Algorithm::Samarati), [vec![1, 1, 0]]);
}
