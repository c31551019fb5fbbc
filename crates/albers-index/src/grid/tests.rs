use std::collections::BTreeMap;

use albers_classes::region::is_in_box;
use albers_partition::split::rule::Rule;
use albers_privacy::{Criterion, Facts, GroundDistance, Requirement, SensitiveColumn};
use albers_storage::watch::Silent;
use proptest::prelude::*;

use super::*;
use crate::drawn::column;

/// Whole numbers, row by row, as points with a scale for each attribute; a negative one is missing.
fn points_of(rows: &[Vec<i64>]) -> (Points, Vec<Scale>) {
    let number = |number: i64| Some(number).filter(|&own| own >= 0);
    let attributes = (0..rows[0].len()).map(|at| column(rows.iter().map(|row| number(row[at]))));
    let (attributes, codes): (Vec<_>, Vec<_>) = attributes.unzip();
    let points = Points::new(codes);
    let scales = attributes.iter().enumerate();
    let scales = scales.map(|(at, own)| Scale::of(None, own, (&points, at)).unwrap()).collect();
    (points, scales)
}

fn of_rows(min_rows: usize) -> Allowance<'static> {
    Allowance { min_rows, rule: None }
}

/// The rows of each cell after so many halvings, by the bits of each attribute alone.
fn by_force(rows: &[Vec<i64>], n_halvings: usize) -> Vec<Vec<u32>> {
    let (points, scales) = points_of(rows);
    let n_bits: Vec<u32> = scales.iter().map(Scale::n_bits).collect();
    let mut n_own = vec![0; scales.len()];
    let mut left = n_halvings;
    for round in 0..64 {
        for at in 0..scales.len() {
            if left > 0 && n_bits[at] > round {
                (n_own[at], left) = (n_own[at] + 1, left - 1);
            }
        }
    }
    let mut cells: BTreeMap<Vec<u64>, Vec<u32>> = BTreeMap::new();
    let columns = &points.chunks()[0].columns;
    for row in 0..rows.len() {
        let prefix = |at: usize| scales[at].cell(columns[at][row]) >> (n_bits[at] - n_own[at]);
        let prefixes = (0..scales.len()).map(prefix).collect();
        cells.entry(prefixes).or_default().push(row as u32);
    }
    let mut cells: Vec<Vec<u32>> = cells.into_values().collect();
    cells.sort();
    cells
}

fn cells_of(grid: &Grid, n_halvings: usize) -> Vec<Vec<u32>> {
    let rows = |cell: Range<usize>| {
        let mut rows = grid.keys.row_ids()[cell].to_vec();
        rows.sort_unstable();
        rows
    };
    let mut cells: Vec<Vec<u32>> = grid.cells(n_halvings).map(rows).collect();
    cells.sort();
    cells
}

#[test]
fn four_corners_are_told_apart_by_two_halvings() {
    let rows: Vec<Vec<i64>> = [[0, 0], [0, 3], [3, 0], [3, 3], [3, 2]].map(Vec::from).into();
    let (points, scales) = points_of(&rows);
    let grid = Grid::of(&points, scales, &Silent).unwrap();
    let figures = grid.resolutions(None, &Silent).unwrap();
    let told: Vec<_> = figures
        .iter()
        .map(|own| (own.n_halvings, own.n_ranges.clone(), own.n_cells, own.k))
        .collect();
    assert_eq!(
        told,
        [
            (0, vec![1, 1], 1, 5),
            (1, vec![2, 1], 2, 2),
            (2, vec![2, 2], 4, 1),
            (4, vec![2, 3], 5, 1)
        ]
    );
    assert_eq!(grid.finest(&of_rows(2), &Silent).unwrap(), Some(1));
    assert_eq!(grid.finest(&of_rows(6), &Silent).unwrap(), None);
    let persons = [7, 7, 8, 8, 8];
    let figures = grid.resolutions(Some(&persons), &Silent).unwrap();
    assert_eq!(figures.iter().map(|own| own.k).collect::<Vec<_>>(), [2, 1, 1, 1]);
}

#[test]
fn a_table_without_rows_has_no_cells() {
    let points = Points::new(vec![Vec::new()]);
    let grid = Grid::of(&points, Vec::new(), &Silent).unwrap();
    assert_eq!(grid.cells(0).count(), 0);
    assert!(grid.resolutions(None, &Silent).unwrap().is_empty());
    assert_eq!(grid.finest(&of_rows(2), &Silent).unwrap(), Some(0));
}

fn rows() -> impl Strategy<Value = Vec<Vec<i64>>> {
    (1..4usize).prop_flat_map(|n_attributes| {
        prop::collection::vec(prop::collection::vec(-1..20i64, n_attributes), 1..40)
    })
}

/// The finest level whose cells all satisfy, when each is looked at.
fn satisfying(rows: &[Vec<i64>], grid: &Grid, holds: impl Fn(&[u32]) -> bool) -> Option<usize> {
    let all_hold = |level: usize| by_force(rows, level).iter().all(|cell| holds(cell));
    (0..=grid.n_levels()).rev().find(|&level| all_hold(level))
}

proptest! {
    #[test]
    fn cells_are_those_that_a_look_at_every_attribute_finds(rows in rows(), k in 1..6usize) {
        let (points, scales) = points_of(&rows);
        let grid = Grid::of(&points, scales, &Silent).unwrap();
        for level in 0..=grid.n_levels() {
            prop_assert_eq!(cells_of(&grid, level), by_force(&rows, level));
        }
        for own in grid.resolutions(None, &Silent).unwrap() {
            let cells = by_force(&rows, own.n_halvings);
            prop_assert_eq!(own.n_cells as usize, cells.len());
            prop_assert_eq!(own.k as usize, cells.iter().map(Vec::len).min().unwrap());
        }
        let found = grid.finest(&of_rows(k), &Silent).unwrap();
        prop_assert_eq!(found, satisfying(&rows, &grid, |cell| cell.len() >= k));
        if let Some(level) = found {
            let groups = grid.groups(points, level);
            prop_assert_eq!(groups.n_rows(), rows.len());
            for block in &groups.blocks {
                let n_attributes = groups.n_attributes;
                for (class, own) in block.classes().enumerate() {
                    prop_assert!(own.len() >= k);
                    let region = &block.regions[class * n_attributes..(class + 1) * n_attributes];
                    let codes = &block.codes[own.start * n_attributes..own.end * n_attributes];
                    prop_assert!(codes.chunks_exact(n_attributes).all(|row| is_in_box(region, row)));
                }
            }
        }
    }

    #[test]
    fn any_requirement_has_the_finest_grid_that_satisfies_it(
        rows in rows(),
        secrets in prop::collection::vec(0..3u32, 40),
        l in 1.0..2.5f64,
    ) {
        let secrets = secrets[..rows.len()].to_vec();
        let column = SensitiveColumn {
            name: "ill".to_owned(),
            n_values: 3,
            distance: GroundDistance::Equal,
            numbers: None,
        };
        let rules = vec![(0, Criterion::EntropyLDiversity { l })];
        let requirement = Requirement::new(2, false, vec![column], rules).unwrap();
        let facts = Facts { subjects: Vec::new(), sensitive: secrets, n_sensitive: 1 };
        let rule = Rule { requirement: &requirement, facts: &facts };
        let (points, scales) = points_of(&rows);
        let grid = Grid::of(&points, scales, &Silent).unwrap();
        let allowance = Allowance { min_rows: 2, rule: Some(rule) };
        let holds = |cell: &[u32]| rule.holds(cell.iter().copied(), &mut RuleScratch::default());
        let found = grid.finest(&allowance, &Silent).unwrap();
        prop_assert_eq!(found, satisfying(&rows, &grid, holds));
    }
}
