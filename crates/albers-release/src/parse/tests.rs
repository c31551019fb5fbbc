use albers_classes::region::span;
use albers_table::chunk::TextColumnBuilder;
use albers_table::coding::{CodingPlan, RawColumn, encode};
use albers_table::hierarchy::HierarchySpec;
use proptest::prelude::*;

use super::*;
use crate::describe::Describer;

/// An attribute and the codes of its cells; an empty cell is missing.
fn attribute(column_type: ColumnType, shown: Shown, cells: &[&str]) -> (Attribute, Vec<u32>) {
    try_attribute(column_type, shown, cells, &HierarchySpec::Prefix).unwrap()
}

/// The same, unless the hierarchy refuses the cells.
fn try_attribute(
    column_type: ColumnType,
    shown: Shown,
    cells: &[&str],
    hierarchy: &HierarchySpec,
) -> Option<(Attribute, Vec<u32>)> {
    let mut builder = TextColumnBuilder::new(column_type);
    for cell in cells {
        if cell.is_empty() {
            builder.push_missing();
        } else {
            builder.push(cell.as_bytes()).unwrap();
        }
    }
    let chunks = vec![builder.finish().unwrap()];
    let column = RawColumn { name: "x".to_owned(), column_type, data_type: None, chunks };
    let coding = match shown {
        Shown::Interval => CodingPlan::Ordered,
        Shown::Set => CodingPlan::Categories { hierarchy: None, by_frequency: true },
        Shown::Label => CodingPlan::Categories { hierarchy: Some(hierarchy), by_frequency: true },
    };
    let coded = encode(column, coding).ok()?;
    let attribute =
        Attribute { domain: coded.domain, shown, level: None, weight: 1.0, preferred: false };
    Some((attribute, coded.codes.concat()))
}

/// Every pair of cells, described, written and read again, shows and loses the same.
fn assert_round_trip(column_type: ColumnType, shown: Shown, cells: &[&str]) {
    let (attribute, codes) = attribute(column_type, shown, cells);
    assert_all_read_again(&attribute, &codes);
}

fn assert_all_read_again(attribute: &Attribute, codes: &[u32]) {
    let describer = Describer::new(attribute).with_ends_in_gaps(true);
    let parser = CellParser::new(attribute, true);
    for &a in codes {
        for &b in codes {
            let bounds = describer.describe([a, b].into_iter());
            let region = describer.describe_region(span(a.min(b), a.max(b)));
            for cell in [bounds, region] {
                let mut text = String::new();
                describer.write_text(cell, &mut text);
                let read = parser.parse((!text.is_empty()).then_some(&text[..])).unwrap();
                assert_eq!(read.lost_steps, describer.lost_steps(cell), "{text}");
                assert_eq!(read.content.n_covered(&attribute.domain), describer.n_covered(cell));
                for code in codes.iter().map(|&code| Code::new(code)) {
                    let covers = describer.content(cell).covers(&attribute.domain, code);
                    assert_eq!(read.content.covers(&attribute.domain, code), covers, "{text}");
                }
            }
        }
    }
}

#[test]
fn what_is_written_is_read_again() {
    let numbers = ["-7", "12", "", "40"];
    assert_round_trip(ColumnType::Integer, Shown::Interval, &numbers);
    assert_round_trip(ColumnType::Decimal, Shown::Interval, &["1.50", "2", "", "-0.25"]);
    assert_round_trip(ColumnType::Float, Shown::Interval, &["1e300", "0.1", "", "-2.5"]);
    let dates = ["2024-02-29", "2023-01-01", ""];
    assert_round_trip(ColumnType::Date, Shown::Interval, &dates);
    let times = ["2024-02-29 10:00:00", "2023-01-01 00:00:00.5", ""];
    assert_round_trip(ColumnType::Timestamp, Shown::Interval, &times);
    let names = ["A", "B, C", "", "say \"x\"", "{D}", " padded ", "[1, 2]"];
    assert_round_trip(ColumnType::Text, Shown::Set, &names);
    assert_round_trip(ColumnType::Text, Shown::Set, &["*", "a", "b"]);
    assert_round_trip(ColumnType::Boolean, Shown::Set, &["true", "false"]);
    assert_round_trip(ColumnType::Code, Shown::Label, &["0123", "0124", "", "9999"]);
    assert_round_trip(ColumnType::Integer, Shown::Label, &["123", "124", "999"]);
}

#[test]
fn intervals_of_others_are_understood() {
    let (ages, _) = attribute(ColumnType::Integer, Shown::Interval, &["20", "25", "29", "60"]);
    let parser = CellParser::new(&ages, false);
    let loss = |text| parser.parse(Some(text)).map(|cell| cell.loss(&ages.domain));
    for text in ["[20, 30)", "[20, 30[", "[20,29]", "20-29", "]19;29]", "(19, 29]", "20 - 29"] {
        assert_eq!(loss(text), Ok(9.0 / 40.0), "{text}");
    }
    assert_eq!(loss("[0, 99]"), Ok(1.0));
    assert_eq!(loss("*"), Ok(1.0));
    assert_eq!(loss("[29, 20]"), Err(CellProblem::Reversed));
    assert_eq!(loss("30-50"), Err(CellProblem::NoValueThere));
    assert_eq!(loss("21"), Err(CellProblem::NoValueThere));
    for text in ["", "[", "[]", "[20]", "[a, b]", "20-", "{20, 60}", "{", "{}", "young", "[20, 3é"]
    {
        assert_eq!(loss(text), Err(CellProblem::NotUnderstood), "{text}");
    }
    assert_eq!(parser.parse(None), Err(CellProblem::NothingMissing));
    assert_eq!(loss("{, [20, 25]}"), Err(CellProblem::NothingMissing));
}

#[test]
fn labels_in_a_set_count_all_their_leaves() {
    let (codes, _) = attribute(ColumnType::Code, Shown::Label, &["011", "012", "021", "031"]);
    let parser = CellParser::new(&codes, false);
    let loss = |text| parser.parse(Some(text)).map(|cell| cell.loss(&codes.domain));
    assert_eq!(loss("{01*, 021}"), Ok(2.0 / 3.0));
    assert_eq!(loss("{01*}"), Ok(1.0 / 3.0));
    assert_eq!(loss("*"), Ok(1.0));
    assert_eq!(loss("{01*, 999}"), Err(CellProblem::NotUnderstood));
}

#[test]
fn the_top_covers_missing_values_only_where_they_are_shown_nowhere_else() {
    let (codes, _) = attribute(ColumnType::Code, Shown::Label, &["011", "021", ""]);
    let apart = CellParser::new(&codes, true).parse(Some("*")).unwrap();
    assert_eq!((apart.loss(&codes.domain), apart.content.n_covered(&codes.domain)), (0.5, 2));
    let together = CellParser::new(&codes, false).parse(Some("*")).unwrap();
    assert_eq!((together.loss(&codes.domain), together.content.n_covered(&codes.domain)), (1.0, 3));
}

#[test]
fn an_end_is_told_from_one_that_is_nobodys_value() {
    let (pays, _) = attribute(ColumnType::Float, Shown::Interval, &["0.1", "2.5", "1e300", ""]);
    let parser = CellParser::new(&pays, true);
    for (text, are_values) in [
        ("[0.1, 2.5]", [true, true]),
        ("{, [0.1, 2.5]}", [true, true]),
        ("2.5", [true, true]),
        ("[0, 2.5]", [false, true]),
        ("[0.1, 2.6]", [true, false]),
        ("*", [false, false]),
    ] {
        assert_eq!(parser.parse(Some(text)).unwrap().are_values, are_values, "{text}");
    }
}

#[test]
fn bounds_come_in_pairs() {
    let (ages, _) = attribute(ColumnType::Integer, Shown::Interval, &["20", "60", ""]);
    let parser = CellParser::new(&ages, true);
    let read = |min, max, missing| {
        parser.parse_bounds(min, max, missing).map(|cell| cell.loss(&ages.domain))
    };
    assert_eq!(read(Some("20"), Some("60"), Some("false")), Ok(1.0));
    assert_eq!(read(Some("20"), Some("20"), None), Ok(0.0));
    assert_eq!(read(Some("20"), Some("20"), Some("true")), Ok(1.0));
    assert_eq!(read(None, None, Some("true")), Ok(0.0));
    assert_eq!(read(None, Some("20"), None), Err(CellProblem::HalfBounds));
    assert_eq!(read(Some("60"), Some("20"), None), Err(CellProblem::Reversed));
    assert_eq!(read(Some("20"), Some("x"), None), Err(CellProblem::NotUnderstood));
}

#[test]
fn sets_and_missing_members_are_told_from_the_text() {
    assert!(is_set_of_values("{A, B}") && is_set_of_values("{, A, \"B, C\"}"));
    assert!(!is_set_of_values("{, A}") && !is_set_of_values("A") && !is_set_of_values("{\"A}"));
    assert!(shows_missing_too("{, A}") && !shows_missing_too("{A, B}"));
}

/// Names made of what cells are made of.
fn nasty_name() -> impl Strategy<Value = String> {
    const PIECES: [&str; 22] = [
        "a", "b", "*", "{", "}", "[", "]", "(", ")", "\"", "\"\"", ",", ", ", ";", "..", "-", " ",
        "1", "2", "{a, b}", "[1, 2]", "é",
    ];
    prop::collection::vec(prop::sample::select(PIECES.to_vec()), 1..5).prop_map(|p| p.concat())
}

fn nasty_names() -> impl Strategy<Value = Vec<String>> {
    // Blanks alone are a missing value wherever they are read.
    let names = prop::collection::vec(nasty_name(), 1..6);
    names.prop_map(|names| names.into_iter().filter(|name| !name.trim().is_empty()).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn whatever_names_there_are_is_read_in_one_way(
        names in nasty_names(),
        with_missing in any::<bool>(),
        is_suppressed in any::<bool>(),
    ) {
        let missing = with_missing.then_some("");
        let cells: Vec<&str> = names.iter().map(String::as_str).chain(missing).collect();
        if cells.is_empty() {
            return Ok(());
        }
        assert_round_trip(ColumnType::Text, Shown::Set, &cells);
        let spec = if is_suppressed { HierarchySpec::Suppress } else { HierarchySpec::Prefix };
        // A name like the label of a group of others is refused.
        if let Some((attribute, codes)) =
            try_attribute(ColumnType::Text, Shown::Label, &cells, &spec)
        {
            assert_all_read_again(&attribute, &codes);
        }
    }

    #[test]
    fn different_sets_have_different_texts(names in nasty_names()) {
        let cells: Vec<&str> = names.iter().map(String::as_str).collect();
        if cells.is_empty() {
            return Ok(());
        }
        let (attribute, codes) = attribute(ColumnType::Text, Shown::Set, &cells);
        let describer = Describer::new(&attribute);
        let mut texts = std::collections::BTreeMap::new();
        for bits in 1u32..1 << codes.len() {
            let of_bits = (0..codes.len()).filter(|at| bits >> at & 1 == 1).map(|at| codes[at]);
            let cell = describer.describe(of_bits);
            let mut text = String::new();
            describer.write_text(cell, &mut text);
            let known = *texts.entry(text.clone()).or_insert(cell);
            prop_assert_eq!(known, cell, "{}", text);
            prop_assert!(text != "*" && !text.is_empty());
        }
    }
}

#[test]
fn ordinary_names_stand_as_they_are() {
    let plain =
        ["A", "B, C", "say \"x\"", "(none)", "[sic]", "a{b}", " padded ", "3-4", "x*", "a;b"];
    let (names, codes) = attribute(ColumnType::Text, Shown::Set, &plain);
    for (name, code) in plain.into_iter().zip(codes) {
        let mut text = String::new();
        let describer = Describer::new(&names);
        describer.write_text(describer.describe([code].into_iter()), &mut text);
        assert_eq!(text, name);
    }
}

#[test]
fn a_lone_star_is_any_value_whatever_the_values_are() {
    let (names, _) = attribute(ColumnType::Text, Shown::Set, &["*", "{a, b}", "a", "b"]);
    let parser = CellParser::new(&names, false);
    let n_covered = |text| parser.parse(Some(text)).unwrap().content.n_covered(&names.domain);
    assert_eq!([n_covered("*"), n_covered("\"*\""), n_covered("{\"*\", a}")], [4, 1, 2]);
    assert_eq!([n_covered("{a, b}"), n_covered("\"{a, b}\"")], [2, 1]);
    // What no release of ours holds is still looked for as a value.
    let (others, _) = attribute(ColumnType::Text, Shown::Set, &["{x", "{a; b}", "\"q\"", "[1, 2]"]);
    let parser = CellParser::new(&others, false);
    for text in ["{x", "{a; b}", "\"q\"", "[1, 2]"] {
        assert_eq!(
            parser.parse(Some(text)).unwrap().content.n_covered(&others.domain),
            1,
            "{text}"
        );
    }
}
