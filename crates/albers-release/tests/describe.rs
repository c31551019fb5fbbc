//! What classes show: intervals, sets and labels as text.

use albers_classes::Attribute;
use albers_classes::region::{ALL_CODES, span};
use albers_classes::space::Shown;
use albers_release::{Describer, ShownCell};
use albers_table::chunk::TextColumnBuilder;
use albers_table::coding::{CodingPlan, RawColumn, encode};
use albers_table::hierarchy::HierarchySpec;
use albers_table::schema::ColumnType;

/// An attribute and the codes of its cells; an empty cell is missing.
fn attribute(kind: ColumnType, shown: Shown, cells: &[&str]) -> (Attribute, Vec<u32>) {
    let mut builder = TextColumnBuilder::new(kind);
    for cell in cells {
        if cell.is_empty() {
            builder.push_missing();
        } else {
            builder.push(cell.as_bytes()).expect("a value of the type");
        }
    }
    let chunks = vec![builder.finish().expect("a column")];
    let column = RawColumn { name: "x".to_owned(), column_type: kind, data_type: None, chunks };
    let prefix = HierarchySpec::Prefix;
    let coding = match shown {
        Shown::Interval => CodingPlan::Ordered,
        Shown::Set => CodingPlan::Categories { hierarchy: None, by_frequency: true },
        Shown::Label => CodingPlan::Categories { hierarchy: Some(&prefix), by_frequency: true },
    };
    let coded = encode(column, coding).expect("codes");
    let attribute =
        Attribute { domain: coded.domain, shown, level: None, weight: 1.0, preferred: false };
    (attribute, coded.codes.concat())
}

fn text_of(describer: &Describer<'_>, cell: ShownCell) -> String {
    let mut text = String::new();
    describer.write_text(cell, &mut text);
    text
}

/// What a class with these cells shows, in a table of `all` cells.
fn shown(kind: ColumnType, shown: Shown, all: &[&str], class: &[&str]) -> String {
    let (attribute, codes) = attribute(kind, shown, all);
    let describer = Describer::new(&attribute);
    let place = |cell: &&str| all.iter().position(|other| other == cell).expect("in the table");
    let codes: Vec<u32> = class.iter().map(|cell| codes[place(cell)]).collect();
    text_of(&describer, describer.describe(codes.iter().copied()))
}

#[test]
fn intervals_show_their_ends_and_the_missing_value_beside_them() {
    let ages = ["7", "12", "40", ""];
    let text = |class: &[&str]| shown(ColumnType::Integer, Shown::Interval, &ages, class);
    assert_eq!(text(&["12", "7", "12"]), "[7, 12]");
    assert_eq!(text(&["12", "12"]), "12");
    assert_eq!(text(&["", ""]), "");
    assert_eq!(text(&["40", "", "7"]), "{, [7, 40]}");
    assert_eq!(text(&["40", ""]), "{, 40}");
    let decimals = ["1.5", "-2", "0.25"];
    let text = |class: &[&str]| shown(ColumnType::Decimal, Shown::Interval, &decimals, class);
    assert_eq!(text(&["1.5", "-2"]), "[-2, 1.5]");
}

#[test]
fn sets_quote_members_that_could_be_taken_for_more() {
    let names = ["A", "B, C", "say \"D\"", " E", "{F}", "[1, 2]", "G-H", ""];
    let text = |class: &[&str]| shown(ColumnType::Text, Shown::Set, &names, class);
    assert_eq!(text(&["A", "G-H", "A"]), "{A, G-H}");
    assert_eq!(text(&["B, C"]), "B, C");
    assert_eq!(text(&["A", "B, C"]), "{A, \"B, C\"}");
    assert_eq!(text(&["A", "say \"D\""]), "{A, \"say \"\"D\"\"\"}");
    assert_eq!(text(&["A", " E"]), "{\" E\", A}");
    assert_eq!(text(&["{F}", "[1, 2]"]), "{\"[1, 2]\", \"{F}\"}");
    assert_eq!(text(&["A", ""]), "{, A}");
    assert_eq!(text(&["A", "", "B, C"]), "{, A, \"B, C\"}");
    assert_eq!(text(&[""]), "");
}

#[test]
fn sets_of_many_possible_values_show_the_same_text() {
    let names: Vec<String> = (0..200).map(|at| format!("n{at:03}")).collect();
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.push("");
    let text = |class: &[&str]| shown(ColumnType::Text, Shown::Set, &names, class);
    assert_eq!(text(&["n150", "n007", "n150"]), "{n007, n150}");
    assert_eq!(text(&["n150", ""]), "{, n150}");
    assert_eq!(text(&["n150"]), "n150");
    assert_eq!(text(&[""]), "");
}

#[test]
fn labels_show_the_lowest_common_prefix() {
    let codes = ["5371", "5372", "5381", "9000", ""];
    let text = |class: &[&str]| shown(ColumnType::Code, Shown::Label, &codes, class);
    assert_eq!(text(&["5371", "5371"]), "5371");
    assert_eq!(text(&["5371", "5372"]), "537*");
    assert_eq!(text(&["5381", "5372"]), "53*");
    assert_eq!(text(&["5381", "9000"]), "*");
    assert_eq!(text(&["5371", "", "5372"]), "{, 537*}");
    assert_eq!(text(&["", ""]), "");
}

#[test]
fn the_region_of_a_column_without_values_shows_nothing() {
    for (kind, shown) in [
        (ColumnType::Integer, Shown::Interval),
        (ColumnType::Float, Shown::Interval),
        (ColumnType::Code, Shown::Label),
        (ColumnType::Text, Shown::Set),
    ] {
        let (attribute, _) = attribute(kind, shown, &["", "", ""]);
        for ends_in_gaps in [false, true] {
            let describer = Describer::new(&attribute).with_ends_in_gaps(ends_in_gaps);
            let cell = describer.describe_region(ALL_CODES);
            assert_eq!((text_of(&describer, cell), describer.loss(cell)), (String::new(), 0.0));
        }
    }
}

#[test]
fn regions_of_values_far_apart_show_only_values_within() {
    let floats = ["0.25", "0.5", "0.75", "1"];
    let (attribute, codes) = attribute(ColumnType::Float, Shown::Interval, &floats);
    let describer = Describer::new(&attribute);
    let text = |lo, hi| text_of(&describer, describer.describe_region(span(lo, hi)));
    assert_eq!(text(0, codes[1] - 1), "0.25");
    assert_eq!(text(codes[0] + 1, codes[2] + 5), "[0.5, 0.75]");
    assert_eq!(text(codes[0] + 1, u32::MAX), "[0.5, 1.0]");
}

#[test]
fn regions_that_end_in_gaps_show_round_values_that_nobody_has() {
    let floats = ["0.2501", "0.5", "0.75", "1", ""];
    let (attribute, codes) = attribute(ColumnType::Float, Shown::Interval, &floats);
    let describer = Describer::new(&attribute).with_ends_in_gaps(true);
    let text = |lo, hi| text_of(&describer, describer.describe_region(span(lo, hi)));
    assert_eq!(text(codes[0], codes[1] - 1), "[0.2501, 0.4]");
    // The same cut, wherever its code lies between the two values.
    assert_eq!(text(codes[0], codes[0]), "[0.2501, 0.4]");
    assert_eq!(text(codes[0] + 1, codes[2] + 5), "[0.4, 0.9]");
    assert_eq!(text(codes[1], codes[2]), "[0.4, 0.9]");
    assert_eq!(text(codes[1], u32::MAX), "[0.4, 1.0]");
    assert_eq!(text(0, codes[0]), "{, [0.2501, 0.4]}");
    assert_eq!(text(0, 0), "");
}

#[test]
fn cells_of_regions_are_equal_if_and_only_if_their_texts_are() {
    let times = ["2024-02-29 10:00:00", "2024-02-29 10:00:00.000001", "1999-01-01 00:00:00", ""];
    for (kind, cells) in [
        (ColumnType::Integer, &["1", "2", "4", "8", "9999999999", ""][..]),
        (ColumnType::Float, &["1", "1.0000000000000002", "4", "8", "1e300", ""]),
        (ColumnType::Timestamp, &times),
    ] {
        let (attribute, codes) = attribute(kind, Shown::Interval, cells);
        let describer = Describer::new(&attribute).with_ends_in_gaps(true);
        let ends: Vec<u32> = codes.iter().flat_map(|&code| [code, code + 1]).collect();
        let pairs = ends.iter().flat_map(|&lo| ends.iter().map(move |&hi| (lo, hi)));
        let cells: Vec<ShownCell> = pairs
            .filter(|&(lo, hi)| codes.iter().any(|code| (lo..=hi).contains(code)))
            .map(|(lo, hi)| describer.describe_region(span(lo, hi)))
            .collect();
        for (a, b) in cells.iter().flat_map(|a| cells.iter().map(move |b| (a, b))) {
            let are_same = text_of(&describer, *a) == text_of(&describer, *b);
            assert_eq!(a == b, are_same);
            assert_eq!(describer.content_hash(*a) == describer.content_hash(*b), are_same);
        }
    }
}
