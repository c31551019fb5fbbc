//! Small classes that show of generalizations that they violate.

use albers_privacy::{Facts, Requirement};
use albers_table::mix::mix;

use super::{Column, TestTable};
use crate::bottom_up::{self, BottomUp};
use crate::counted_table::CountedTable;
use crate::found::Found;
use crate::incognito::{self, Variant};
use crate::lattice::Lattice;
use crate::witness::{TupleBits, Witness};

const N_ATTRIBUTES: usize = 5;
const N_VALUES: usize = 8;
const N_ROWS: u64 = 600;

/// Pairs, fours and all of eight values, of which some rows miss one; the rows of a seed crowd around
/// the first values.
fn table(seed: u64, k: u64) -> TestTable {
    let path = |value: usize| {
        let label = |of: usize| format!("{of} of {}", value / of);
        vec![format!("v{value}"), label(2), label(4), "*".to_owned()]
    };
    let cell = |attribute: u64, row: u64| {
        let dice = mix(mix(seed << 8 | attribute) ^ row) % 64;
        match dice.isqrt() {
            0 => String::new(),
            root => format!("v{}", N_VALUES as u64 - root),
        }
    };
    let column = |attribute: u64| Column {
        cells: (0..N_ROWS).map(|row| cell(attribute, row)).collect(),
        hierarchy: (0..N_VALUES).map(path).collect(),
    };
    let columns: Vec<Column> = (0..N_ATTRIBUTES as u64).map(column).collect();
    let facts = Facts { subjects: Vec::new(), sensitive: Vec::new(), n_sensitive: 0 };
    let requirement = Requirement::new(k, false, Vec::new(), Vec::new()).expect("valid");
    TestTable::new(&columns, facts, requirement)
}

#[test]
fn a_class_is_below_k_where_the_count_of_its_rows_is() {
    for k in [2, 5, 30] {
        let table = table(k, k);
        let question = table.question(0);
        let lattice = Lattice::new(table.dimensions.iter().map(|own| own.height()).collect());
        table.on_ground(1 << 24, |counted| {
            let bits = TupleBits::of(counted, counted.table()).expect("memory suffices");
            let bits = bits.expect("there is room");
            let (mut n_below, mut n_others) = (0, 0);
            for node in (0..lattice.n_nodes()).step_by(7) {
                let set = counted.derive_all(counted.table(), &lattice.levels(node));
                let witness = Witness::of(counted.workspace, &question, &set.expect("it fits"));
                let Some(witness) = witness.expect("memory suffices") else { continue };
                assert!(bits.is_below(&witness, &lattice.levels(node), k));
                for above in (node..lattice.n_nodes()).filter(|&own| is_above(&lattice, own, node))
                {
                    let levels = lattice.levels(above);
                    let is_below = rows_of(&table, &witness, &levels) < k;
                    assert_eq!(bits.is_below(&witness, &levels, k), is_below);
                    n_below += usize::from(is_below);
                    n_others += usize::from(!is_below);
                }
            }
            assert!(n_below > 20 && n_others > 20, "{n_below} and {n_others}");
        });
    }
}

fn is_above(lattice: &Lattice, node: usize, below: usize) -> bool {
    lattice.levels(node).iter().zip(lattice.levels(below)).all(|(own, below)| *own >= below)
}

/// How many rows are in the class of a witness at some levels, row by row.
fn rows_of(table: &TestTable, witness: &Witness, levels: &[u16]) -> u64 {
    let class = witness.values_at(&table.dimensions, levels);
    let value = |row: usize, at: usize| {
        let code = table.codes[at][row];
        table.dimensions[at].map(0, levels[at]).map_or(code, |map| map[code as usize])
    };
    let is_in = |row: &usize| (0..levels.len()).all(|at| value(*row, at) == class[at]);
    (0..table.n_rows()).filter(is_in).count() as u64
}

#[test]
fn a_search_by_witnesses_finds_what_one_by_sets_finds() {
    type Search = fn(&CountedTable<'_>, &TestTable) -> Found;
    let searches: [Search; 2] = [
        |counted, table| {
            bottom_up::search(counted, &table.question(0), BottomUp::Rollup)
                .expect("memory suffices")
        },
        |counted, table| {
            incognito::search(counted, &table.question(0), Variant::Basic).expect("memory suffices")
        },
    ];
    for (seed, k) in [(1, 2), (2, 4), (3, 12)] {
        let table = table(seed, k);
        for (search, n_least) in searches.into_iter().zip([100, 0]) {
            let run =
                |n_bytes: usize| table.on_ground(n_bytes, |counted| search(counted, &table)).0;
            let (by_sets, by_witnesses) = (run(1 << 26), run(300_000));
            assert!(by_sets.satisfying == by_witnesses.satisfying);
            assert!(by_sets.looked_at == by_witnesses.looked_at);
            assert_eq!(by_sets.minimal, by_witnesses.minimal);
            assert_eq!(by_sets.effort.checked, by_witnesses.effort.checked);
            let n_sets = |found: &Found| found.effort.scans + found.effort.rollups;
            assert!(
                n_sets(&by_sets) >= n_sets(&by_witnesses) + n_least,
                "k = {k}: {:?}",
                by_witnesses.effort
            );
        }
    }
}
