use albers_table::chunk::TextColumnBuilder;
use albers_table::coding::{CodingPlan, RawColumn, encode};
use albers_table::hierarchy::HierarchySpec;

use super::*;
use crate::describe::Describer;

/// An attribute and the codes of its cells; an empty cell is missing.
fn attribute(column_type: ColumnType, shown: Shown, cells: &[&str]) -> (Attribute, Vec<u32>) {
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
    let prefix = HierarchySpec::Prefix;
    let coding = match shown {
        Shown::Interval => CodingPlan::Ordered,
        Shown::Set => CodingPlan::Categories { hierarchy: None, by_frequency: true },
        Shown::Label => CodingPlan::Categories { hierarchy: Some(&prefix), by_frequency: true },
    };
    let coded = encode(column, coding).unwrap();
    let attribute =
        Attribute { domain: coded.domain, shown, level: None, weight: 1.0, preferred: false };
    (attribute, coded.codes.concat())
}

/// Every pair of cells, described, written and read again, shows and loses the same.
fn assert_round_trip(column_type: ColumnType, shown: Shown, cells: &[&str]) {
    let (attribute, codes) = attribute(column_type, shown, cells);
    let describer = Describer::new(&attribute).with_ends_in_gaps(true);
    let parser = CellParser::new(&attribute, true);
    for &a in &codes {
        for &b in &codes {
            let bounds = describer.describe([a, b].into_iter());
            let region = describer.describe_region(a.min(b), a.max(b));
            for cell in [bounds, region] {
                let mut text = String::new();
                describer.write_text(cell, &mut text);
                let read = parser.parse((!text.is_empty()).then_some(&text[..])).unwrap();
                assert_eq!(read.lost_steps, describer.lost_steps(cell), "{text}");
                assert_eq!(read.content.n_covered(&attribute.domain), describer.n_covered(cell));
                for &code in &codes {
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
