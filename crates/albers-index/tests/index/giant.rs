//! Rows that cannot be divided.

use albers_classes::space::{Axis, AxisKind, Space};
use albers_partition::grain::Grain;
use albers_partition::split::Policy;
use albers_privacy::Criterion;
use albers_table::domain::Ruler;

use super::load::{Setup, load};
use super::table::{Asked, Table};

/// A table of intervals and one secret.
pub fn table(rows: Vec<Vec<u32>>, secrets: Vec<u32>, k: u64, rules: &[Criterion]) -> Table {
    let kind = || AxisKind::Interval { scale: 1.0 / 1023.0, ruler: Ruler::of_codes() };
    let axis = |_| Axis { kind: kind(), weight: 1.0, preferred: false };
    let n_attributes = rows[0].len();
    let asked = Asked { k, rules: rules.iter().map(|&rule| (0, rule)).collect() };
    Table {
        space: Space { axes: (0..n_attributes).map(axis).collect() },
        n_rows: rows.len(),
        rows,
        greatest: vec![1023; n_attributes],
        subjects: Vec::new(),
        secrets: vec![secrets],
        payloads: Vec::new(),
        coarser: asked.clone(),
        asked,
    }
}

/// A setup in which 300 rows are too many to be cut at once. No block stays in memory.
pub fn setup(policy: Policy) -> Setup {
    let sizes = albers_index::buffer_tree::Sizes {
        part_bytes: 2 << 10,
        buffer_bytes: 1 << 10,
        block_bytes: 256,
    };
    Setup {
        policy,
        keep_regions: true,
        budget_bytes: 64 << 10,
        room_bytes: 64 << 10,
        sizes,
        grain: Grain { whole_rows: 60, cell_rows: 10, sample_bytes: 16 << 10, sample_rows: None },
        trust: None,
        n_chunks: 3,
    }
}

#[test]
fn identical_rows_that_are_too_many_come_out_as_one_giant() {
    for policy in [Policy::Compact, Policy::Median] {
        let table = table(vec![vec![7, 9]; 300], vec![0; 300], 2, &[]);
        let outcome = load(&table, &setup(policy), 4);
        assert_eq!((outcome.pieces.len(), outcome.n_giants()), (1, 1));
        let mut rows = outcome.pieces[0].leaves[0].rows.clone();
        rows.sort_unstable();
        assert!(rows.into_iter().eq(0..300));
    }
}

#[test]
fn identical_rows_among_others_come_out_as_a_giant_beside_subtrees() {
    for policy in [Policy::Compact, Policy::Median] {
        let row = |at: u32| if at % 5 < 4 { vec![7, 9] } else { vec![100 + at, at] };
        let table = table((0..400).map(row).collect(), vec![0; 400], 2, &[]);
        let outcome = load(&table, &setup(policy), 1);
        assert_eq!(outcome.n_giants(), 1);
        assert!(outcome.pieces.len() > 1, "nothing else came out");
        let giant = outcome.pieces.iter().find(|piece| piece.is_giant).unwrap();
        let n_identical = giant.leaves[0].rows.iter().filter(|&&row| row % 5 < 4).count();
        assert_eq!(n_identical, 320, "identical rows were divided");
    }
}

/// Each half has one secret only: no cut is allowable, however far apart the halves lie.
#[test]
fn rows_that_no_rule_lets_divide_come_out_as_one_giant() {
    let rows = (0..300).map(|at| vec![at, 0]).collect();
    let secrets = (0..300).map(|at| u32::from(at >= 150)).collect();
    let table = table(rows, secrets, 2, &[Criterion::AlphaK { alpha: 0.5 }]);
    let outcome = load(&table, &setup(Policy::Compact), 1);
    assert_eq!((outcome.pieces.len(), outcome.n_giants()), (1, 1));
}

#[test]
fn rows_that_are_too_many_but_can_be_divided_make_no_giant() {
    for policy in [Policy::Compact, Policy::Median] {
        let row = |at: u32| vec![at * 37 % 1009, at * 61 % 1013];
        let table = table((0..400).map(row).collect(), vec![0; 400], 2, &[]);
        let outcome = load(&table, &setup(policy), 1);
        assert_eq!(outcome.n_giants(), 0);
        assert!(outcome.pieces.len() > 3, "{} parts", outcome.pieces.len());
    }
}

/// Each attribute tells a few rows from all others, so that every cut takes a few and the top is as
/// deep as it is wide: more parts than there are buffers for, all of them small but one.
#[test]
fn a_top_of_many_small_parts_and_a_large_one_is_divided_as_far_as_buffers_go() {
    let row = |at: u32| (0..10).map(|axis| u32::from(at / 33 == axis)).collect();
    let table = table((0..600).map(row).collect(), vec![0; 600], 2, &[]);
    let outcome = load(&table, &setup(Policy::Median), 1);
    let mut n_rows: Vec<usize> = outcome.leaves().map(|leaf| leaf.rows.len()).collect();
    n_rows.sort_unstable();
    assert_eq!(n_rows.last(), Some(&270), "{n_rows:?}");
}
