//! Tables that are out of the ordinary: tiny, uniform, wide, missing, or with many values.

use albers_classes::space::{Axis, AxisKind, Shown, Space};
use albers_privacy::Facts;
use albers_privacy::Requirement;
use albers_table::chunk::TextColumnBuilder;
use albers_table::coding::{CodedColumn, CodingPlan, RawColumn, encode};
use albers_table::domain::Ruler;
use albers_table::hierarchy::HierarchySpec;
use albers_table::schema::ColumnType;

use super::recoded::Recoded;
use crate::table::{Dice, Table};

pub fn interval(n_codes: u32) -> Axis {
    let scale = 1.0 / f64::from((n_codes - 1).max(1));
    Axis {
        kind: AxisKind::Interval { scale, ruler: Ruler::of_codes() },
        weight: 1.0,
        preferred: false,
    }
}

pub fn table(axes: Vec<Axis>, columns: Vec<Vec<u32>>, k: u64) -> Table {
    Table {
        space: Space { axes },
        n_rows: columns[0].len(),
        columns,
        facts: Facts { subjects: Vec::new(), sensitive: Vec::new(), n_sensitive: 0 },
        requirement: Requirement::new(k, false, Vec::new(), Vec::new()).expect("valid"),
    }
}

/// Codes under their prefixes; an empty text is a missing value.
fn prefixes(cells: &[&str]) -> (Axis, Vec<u32>) {
    let mut builder = TextColumnBuilder::new(ColumnType::Code);
    for cell in cells {
        match cell.is_empty() {
            true => builder.push_missing(),
            false => builder.push(cell.as_bytes()).expect("a code"),
        }
    }
    let chunks = vec![builder.finish().expect("a column")];
    let column_type = ColumnType::Code;
    let column = RawColumn { name: "code".to_owned(), column_type, data_type: None, chunks };
    let prefix = HierarchySpec::Prefix;
    let coding = CodingPlan::Categories { hierarchy: Some(&prefix), by_frequency: false };
    let CodedColumn { domain, codes } = encode(column, coding).expect("a hierarchy");
    (Axis::new(&domain, Shown::Label, 1.0, false), codes.concat())
}

pub fn groups_of(recoded: &Recoded) -> Vec<Vec<(u32, u32)>> {
    let mut groups: Vec<_> = recoded.classes.iter().map(|class| class.region.clone()).collect();
    groups.sort();
    groups
}

#[test]
fn a_single_row_a_constant_column_and_sixty_four_attributes_are_no_trouble() {
    for (n_rows, n_attributes, k) in [(1, 1, 1), (7, 2, 7), (9, 64, 2), (1, 64, 1), (5, 3, 1)] {
        let axes = (0..n_attributes).map(|_| interval(1)).collect();
        let recoded = Recoded::of(&table(axes, vec![vec![0; n_rows]; n_attributes], k), 0);
        assert_eq!(groups_of(&recoded), [vec![(0, 0); n_attributes]]);
    }
}

#[test]
fn a_k_of_all_rows_leaves_one_class() {
    let recoded = Recoded::of(&table(vec![interval(6)], vec![(0..6).collect()], 6), 0);
    assert_eq!(groups_of(&recoded), [[(0, 5)]]);
}

#[test]
fn an_interval_is_cut_where_the_loss_falls_most_and_shows_the_codes_that_occur() {
    let codes = vec![0, 0, 1, 1, 90, 90, 100, 100];
    let four = table(vec![interval(101)], vec![codes.clone()], 4);
    assert_eq!(groups_of(&Recoded::of(&four, 0)), [[(0, 1)], [(90, 100)]]);
    let two = table(vec![interval(101)], vec![codes], 2);
    assert_eq!(groups_of(&Recoded::of(&two, 0)), [[(0, 0)], [(1, 1)], [(90, 90)], [(100, 100)]]);
}

#[test]
fn a_column_without_any_value_is_one_group() {
    let (axis, codes) = prefixes(&["", "", ""]);
    let missing = codes[0];
    let recoded = Recoded::of(&table(vec![axis], vec![codes], 1), 0);
    assert_eq!(groups_of(&recoded), [[(missing, missing)]]);
}

#[test]
fn the_missing_value_leaves_the_top_as_a_group_of_its_own() {
    let cells = ["53", "53", "54", "54", "67", "67", "", ""];
    let (axis, codes) = prefixes(&cells);
    let recoded = Recoded::of(&table(vec![axis], vec![codes], 2), 0);
    assert_eq!(groups_of(&recoded), [[(0, 0)], [(1, 1)], [(2, 2)], [(3, 3)]]);
    let (axis, codes) = prefixes(&cells);
    let recoded = Recoded::of(&table(vec![axis], vec![codes], 3), 0);
    assert_eq!(groups_of(&recoded), [[(0, 3)]]);
}

#[test]
fn a_node_is_divided_and_its_sibling_is_not() {
    let (axis, codes) = prefixes(&["53", "53", "54", "54", "67", "68"]);
    let recoded = Recoded::of(&table(vec![axis], vec![codes], 2), 0);
    assert_eq!(groups_of(&recoded), [[(0, 0)], [(1, 1)], [(2, 3)]]);
}

#[test]
fn one_outlier_that_may_be_left_out_blocks_nothing() {
    let codes = vec![0, 0, 0, 1, 1, 1, 2];
    let of = |max_suppressed| {
        Recoded::of(&table(vec![interval(3)], vec![codes.clone()], 3), max_suppressed)
    };
    let (without, with) = (of(0), of(1));
    assert_eq!((groups_of(&without), without.n_left_out), (vec![vec![(0, 0)], vec![(1, 2)]], 0));
    assert_eq!((groups_of(&with), with.n_left_out), (vec![vec![(0, 0)], vec![(1, 1)]], 1));
}

#[test]
fn a_column_of_many_values_is_recoded_to_the_end() {
    let n_rows = 40_000;
    let mut dice = Dice(3);
    let wide = (0..n_rows).map(|row| row as u32 / 2).collect();
    let narrow = (0..n_rows).map(|_| dice.below(2)).collect();
    let table = table(vec![interval(n_rows as u32 / 2), interval(2)], vec![wide, narrow], 5);
    let recoded = Recoded::of(&table, 0);
    recoded.check_classes(&table);
    assert!(recoded.classes.len() > 1000, "only {} classes", recoded.classes.len());
}

#[test]
fn threads_change_nothing() {
    for seed in 0..20 {
        let table = Table::draw(seed, 3000, 6, seed % 2 == 0);
        let on = |n_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build();
            let recoded = pool.expect("threads").install(|| Recoded::of(&table, 30));
            let classes = recoded.classes.into_iter();
            classes.map(|class| (class.rows, class.region)).collect::<Vec<_>>()
        };
        assert!(on(1) == on(2), "two threads recode table {seed} in another way than one");
    }
}
