//! Labels and sets by their places: told by what is shown, and by nothing else.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::collections::{BTreeMap, BTreeSet};

use albers_classes::Attribute;
use albers_classes::space::Shown;
use albers_release::describe::{Describer, PlaceNumbers};
use albers_table::chunk::TextColumnBuilder;
use albers_table::code::Code;
use albers_table::coding::{CodingPlan, RawColumn, encode};
use albers_table::hierarchy::HierarchySpec;
use albers_table::schema::ColumnType;
use proptest::prelude::*;

/// A column of some cells, coded by how many rows have each value; an empty cell is missing.
fn attribute(
    cells: &[String],
    (column_type, hierarchy): (ColumnType, Option<&HierarchySpec>),
    shown: Shown,
) -> Attribute {
    let mut builder = TextColumnBuilder::new(column_type);
    for cell in cells {
        match cell.is_empty() {
            true => builder.push_missing(),
            false => builder.push(cell.as_bytes()).unwrap(),
        }
    }
    let chunks = vec![builder.finish().unwrap()];
    let column = RawColumn { name: "column".to_owned(), column_type, data_type: None, chunks };
    let coded = encode(column, CodingPlan::Categories { hierarchy, by_frequency: true }).unwrap();
    Attribute { domain: coded.domain, shown, level: None, weight: 1.0, preferred: false }
}

/// The least and greatest place, and whether the missing value is told.
type Places = (Option<(i64, i64)>, bool);

/// The text and the places of each class of cells.
fn published(attribute: &Attribute, classes: &[Vec<String>]) -> Vec<(String, Places)> {
    let domain = &attribute.domain;
    let code_of: BTreeMap<&str, Code> =
        domain.categories().map(|(code, name)| (name, code)).collect();
    let code = |cell: &String| match cell.is_empty() {
        true => domain.missing_code().unwrap().get(),
        false => code_of[cell.as_str()].get(),
    };
    let (plain, placed) = (Describer::new(attribute), Describer::new(attribute).with_places(true));
    let cells: Vec<_> = classes.iter().map(|own| placed.describe(own.iter().map(code))).collect();
    let ends = cells.iter().filter_map(|&cell| placed.place_ends(cell));
    let numbers = PlaceNumbers::of(attribute, ends.flat_map(|(lo, hi)| [lo, hi]));
    let of_class = |(own, &cell)| {
        let own: &Vec<String> = own;
        let mut text = String::new();
        plain.write_text(plain.describe(own.iter().map(code)), &mut text);
        let ends = placed.place_ends(cell);
        let places = ends.map(|(lo, hi)| (numbers.number(lo), numbers.number(hi)));
        (text, (places, placed.tells_of_missing(cell)))
    };
    classes.iter().zip(&cells).map(of_class).collect()
}

/// So many cases, unless `PROPTEST_CASES` asks for another number.
fn n_cases(n_cases: u32) -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(n_cases)
}

fn cells() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (0u32..400).prop_map(|number| number.to_string()),
        1 => Just(String::new()),
    ]
}

fn kinds() -> impl Strategy<Value = (ColumnType, Option<HierarchySpec>, Shown)> {
    let built_in = |text: &str| Some(text.parse::<HierarchySpec>().unwrap());
    prop_oneof![
        Just((ColumnType::Text, None, Shown::Set)),
        Just((ColumnType::Text, built_in("prefix"), Shown::Label)),
        Just((ColumnType::Integer, built_in("prefix"), Shown::Label)),
        Just((ColumnType::Integer, built_in("prefix"), Shown::Set)),
        Just((ColumnType::Integer, built_in("ranges:10,50"), Shown::Label)),
        Just((ColumnType::Code, built_in("suppress"), Shown::Label)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(n_cases(64)))]

    #[test]
    fn rows_that_are_left_out_move_no_place(
        classes in prop::collection::vec(prop::collection::vec(cells(), 1..5), 1..8),
        left_out in prop::collection::vec(cells(), 0..40),
        (column_type, hierarchy, shown) in kinds(),
    ) {
        let kind = (column_type, hierarchy.as_ref());
        // A missing value in both, so that each has a code for it.
        let all = [classes.concat(), vec![String::new()]].concat();
        let without = published(&attribute(&all, kind, shown), &classes);
        let with = [all, left_out].concat();
        let with = published(&attribute(&with, kind, shown), &classes);
        if without.iter().zip(&with).all(|(a, b)| a.0 == b.0) {
            prop_assert_eq!(without, with);
        }
    }

    #[test]
    fn labels_have_the_same_places_if_and_only_if_they_are_the_same(
        classes in prop::collection::vec(prop::collection::vec(cells(), 1..4), 1..10),
        (column_type, hierarchy, shown) in kinds(),
    ) {
        let kind = (column_type, hierarchy.as_ref());
        let own = attribute(&[classes.concat(), vec![String::new()]].concat(), kind, shown);
        let told = published(&own, &classes);
        for (a, b) in told.iter().flat_map(|a| told.iter().map(move |b| (a, b))) {
            if shown == Shown::Label {
                prop_assert_eq!(a.0 == b.0, a.1 == b.1, "{} {}", a.0, b.0);
            } else if a.0 == b.0 {
                prop_assert_eq!(&a.1, &b.1);
            }
        }
        // Places are dense: every number up to the greatest is an end of some class.
        let ends = told.iter().filter_map(|(_, (places, _))| *places);
        let ends: BTreeSet<i64> = ends.flat_map(|(lo, hi)| [lo, hi]).collect();
        prop_assert!(ends.iter().copied().eq(1..=ends.len() as i64));
    }
}

#[test]
fn under_a_file_a_label_has_the_places_of_all_its_leaves_whoever_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.csv");
    // Rows of one group stand apart, and Midwife and Sheriff have no row.
    let file = "Nurse;Health;*\nJudge;Law;*\nDoctor;Health;*\nMidwife;Health;*\nClerk;Law;*\n\
                Sheriff;Law;*\n";
    std::fs::write(&path, file).unwrap();
    let spec = HierarchySpec::File(path);
    let rows = ["Clerk", "Clerk", "Clerk", "Judge", "Doctor", "Doctor", "Nurse"];
    let rows: Vec<String> = rows.map(str::to_owned).to_vec();
    let class = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let classes: Vec<Vec<String>> =
        vec![class(&["Nurse", "Doctor"]), class(&["Judge", "Clerk"]), class(&["Clerk", "Doctor"])];
    let places = |shown: Shown| -> Vec<(i64, i64)> {
        let own = attribute(&rows, (ColumnType::Text, Some(&spec)), shown);
        published(&own, &classes).into_iter().filter_map(|(_, (places, _))| places).collect()
    };
    assert_eq!(places(Shown::Label), [(1, 3), (4, 6), (1, 6)]);
    assert_eq!(places(Shown::Set), [(1, 2), (4, 5), (2, 5)]);
}
