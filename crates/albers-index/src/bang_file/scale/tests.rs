use albers_classes::Attribute;
use albers_classes::points::Points;
use albers_classes::region::span;
use albers_classes::space::Shown;
use albers_table::chunk::TextColumnBuilder;
use albers_table::code::Code;
use albers_table::coding::{CodingPlan, RawColumn, encode};
use albers_table::hierarchy::HierarchySpec;
use albers_table::schema::ColumnType;
use proptest::prelude::*;

use super::*;

/// A column and its codes.
fn column(kind: ColumnType, shown: Shown, cells: &[&str]) -> (Attribute, Points) {
    let mut builder = TextColumnBuilder::new(kind);
    for cell in cells {
        match cell.is_empty() {
            true => builder.push_missing(),
            false => builder.push(cell.as_bytes()).unwrap(),
        }
    }
    let chunks = vec![builder.finish().unwrap()];
    let raw = RawColumn { name: "x".to_owned(), column_type: kind, data_type: None, chunks };
    let prefix = HierarchySpec::Prefix;
    let coding = match shown {
        Shown::Interval => CodingPlan::Ordered,
        Shown::Set => CodingPlan::Categories { hierarchy: None, by_frequency: false },
        Shown::Label => CodingPlan::Categories { hierarchy: Some(&prefix), by_frequency: true },
    };
    let coded = encode(raw, coding).unwrap();
    let attribute =
        Attribute { domain: coded.domain, shown, level: None, weight: 1.0, preferred: false };
    (attribute, Points::new(vec![coded.codes]))
}

fn scale(spec: &str, attribute: &Attribute, points: &Points) -> Result<Scale, ScaleProblem> {
    let spec: ScaleSpec = spec.parse().unwrap();
    Scale::of(Some(&spec), attribute, (points, 0))
}

/// The cells of all rows, in the order of the table.
fn cells(scale: &Scale, points: &Points) -> Vec<u64> {
    points.chunks()[0].columns[0].iter().map(|&code| scale.cell(code)).collect()
}

/// Every dyadic range is the interval of just those codes whose cells begin with its bits.
fn check_spans(scale: &Scale, points: &Points) {
    let codes = &points.chunks()[0].columns[0];
    for n_bits in 0..=scale.n_bits() {
        let prefix = |code: u32| scale.cell(code) >> (scale.n_bits() - n_bits);
        for &code in codes {
            let (lo, hi) = scale.span(prefix(code), n_bits);
            assert!((lo..=hi).contains(&Code::new(code)), "a span holds its codes");
            let n_more = scale.n_bits() - n_bits;
            let (first, last) = (prefix(code) << n_more, ((prefix(code) + 1) << n_more) - 1);
            assert_eq!(scale.range(first, last), Some((lo, hi)), "as a run of cells too");
            for &other in codes {
                let is_inside = (lo..=hi).contains(&Code::new(other));
                assert_eq!(is_inside, prefix(other) == prefix(code), "and no other");
            }
        }
    }
}

#[test]
fn specs_are_read_and_written_back() {
    for text in [
        "equal",
        "equal:8",
        "equal:0..100",
        "equal:-5..1e3:24",
        "quantile",
        "quantile:3",
        "hierarchy",
    ] {
        let spec: ScaleSpec = text.parse().unwrap();
        assert_eq!(spec.to_string(), text);
    }
    assert_eq!("ages.csv".parse(), Ok(ScaleSpec::File("ages.csv".into())));
    for text in ["", "equal:", "equal:0", "equal:25", "equal:..5", "quantile:x", "hierarchy:2"] {
        assert!(text.parse::<ScaleSpec>().is_err(), "{text}");
    }
}

#[test]
fn equal_ranges_begin_where_the_line_is_halved() {
    let (ages, points) = column(ColumnType::Integer, Shown::Interval, &["20", "27", "28", "35"]);
    let halves = scale("equal:1", &ages, &points).unwrap();
    assert_eq!(cells(&halves, &points), [0, 0, 1, 1]);
    assert_eq!((halves.span(0, 1), halves.span(1, 1)), (span(0, 7), span(8, 15)));
    // Sixteen values are told apart by four bits.
    assert_eq!(scale("equal", &ages, &points).unwrap().n_bits(), 4);
    // Values beyond the ends that are given fall into the ranges there.
    let given = scale("equal:21..30:1", &ages, &points).unwrap();
    assert_eq!(cells(&given, &points), [0, 1, 1, 1]);
    assert_eq!((given.span(0, 1), given.span(1, 1)), (span(0, 5), span(6, 15)));
    let wide = scale("equal:0..1000:2", &ages, &points).unwrap();
    assert_eq!(cells(&wide, &points), [0; 4]);
    assert_eq!(wide.span(0, 2), span(0, 15));
}

#[test]
fn a_missing_value_has_a_range_of_its_own() {
    for (kind, shown) in [(ColumnType::Integer, Shown::Interval), (ColumnType::Text, Shown::Set)] {
        let (column, points) = column(kind, shown, &["20", "", "31", ""]);
        for spec in ["equal", "equal:2", "quantile"] {
            let scale = scale(spec, &column, &points).unwrap();
            let cells = cells(&scale, &points);
            let first_bits: Vec<u64> =
                cells.iter().map(|cell| cell >> (scale.n_bits() - 1)).collect();
            assert_eq!(first_bits[1], first_bits[3]);
            assert!(first_bits[0] == first_bits[2] && first_bits[0] != first_bits[1]);
            check_spans(&scale, &points);
        }
    }
}

#[test]
fn a_column_without_any_value_is_one_cell() {
    let kinds = [
        (ColumnType::Integer, Shown::Interval),
        (ColumnType::Text, Shown::Set),
        (ColumnType::Text, Shown::Label),
    ];
    for (kind, shown) in kinds {
        let (column, points) = column(kind, shown, &["", "", ""]);
        let scale = Scale::of(None, &column, (&points, 0)).unwrap();
        let cells = cells(&scale, &points);
        assert!(cells.iter().all(|&cell| cell == cells[0]));
        check_spans(&scale, &points);
    }
}

#[test]
fn quantiles_follow_the_rows() {
    let ages = ["1", "1", "1", "1", "2", "3", "90", "91"];
    let (column, points) = column(ColumnType::Integer, Shown::Interval, &ages);
    let scale = scale("quantile:1", &column, &points).unwrap();
    assert_eq!(cells(&scale, &points), [0, 0, 0, 0, 1, 1, 1, 1]);
}

#[test]
fn every_label_is_a_dyadic_range() {
    let zips = ["5371", "5372", "5373", "5401", "5411", "6000", "6000", ""];
    let (column, points) = column(ColumnType::Code, Shown::Label, &zips);
    let scale = Scale::of(None, &column, (&points, 0)).unwrap();
    check_spans(&scale, &points);
    let tree = column.domain.hierarchy().unwrap();
    for level in 0..=tree.height() {
        for index in 0..tree.n_nodes(level) {
            let leaves = tree.leaves_of(albers_table::hierarchy::Node { level, index });
            let label = span(leaves.start.get(), leaves.end.get() - 1);
            let cell = scale.cell(leaves.start.get());
            let is_range =
                |n_bits: u32| scale.span(cell >> (scale.n_bits() - n_bits), n_bits) == label;
            assert!((0..=scale.n_bits()).any(is_range), "{}", tree.n_nodes(level));
        }
    }
}

#[test]
fn a_file_lists_ranges_without_gaps() {
    let (ages, points) =
        column(ColumnType::Integer, Shown::Interval, &["17", "18", "64", "65", "90"]);
    let of_text = |text: &str| {
        let lines = ScaleSpec::Lines(ScaleLines::of_text("ages.csv", text).into());
        Scale::of(Some(&lines), &ages, (&points, 0))
    };
    let scale = of_text("0, 18\n18,65\n\n65,100\n").unwrap();
    assert_eq!((scale.n_bits(), cells(&scale, &points)), (2, vec![0, 1, 1, 2, 2]));
    check_spans(&scale, &points);
    // What lies outside falls into the first or the last range.
    assert_eq!(cells(&of_text("20,30\n30,40\n").unwrap(), &points), [0, 0, 1, 1, 1]);
    for (text, says) in [
        ("0,18\n20,30\n", "line 2 leaves a gap"),
        ("0,18\n17,30\n", "line 2 overlaps"),
        ("0,18\n30,18\n", "line 2 ends before"),
        ("0,18\n18\n", "line 2 has no comma"),
        ("0,old\n", "line 1 has an end that is no integer"),
        ("\n", "without ranges"),
    ] {
        let problem = of_text(text).unwrap_err();
        assert!(problem.problem.contains(says), "{says}: {problem:?}");
    }
}

#[test]
fn a_scale_that_does_not_suit_its_column_is_refused() {
    let (ages, points) = column(ColumnType::Integer, Shown::Interval, &["17", "18"]);
    let (names, name_points) = column(ColumnType::Text, Shown::Set, &["a", "b"]);
    for spec in ["hierarchy", "equal:5..1", "equal:a..b", "equal:1..1"] {
        assert!(scale(spec, &ages, &points).is_err(), "{spec}");
    }
    for spec in ["hierarchy", "equal:a..b"] {
        assert!(scale(spec, &names, &name_points).is_err(), "{spec}");
    }
}

const SPECS: [&str; 8] = [
    "equal",
    "equal:3",
    "quantile",
    "quantile:2",
    "equal:-20..33:4",
    "equal:-5..5",
    "equal:-5..5:24",
    "equal:0..60",
];
const KINDS: [ColumnType; 3] = [ColumnType::Integer, ColumnType::Float, ColumnType::Text];

proptest! {
    #[test]
    fn dyadic_ranges_are_intervals_of_codes(
        numbers in prop::collection::vec(prop_oneof![-50i64..50, any::<i64>()], 1..25),
        n_missing in 0usize..3,
        spec in prop::sample::select(&SPECS[..]),
        kind in prop::sample::select(&KINDS[..]),
    ) {
        let mut texts: Vec<String> = numbers.iter().map(|number| number.to_string()).collect();
        texts.extend((0..n_missing).map(|_| String::new()));
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let shown = if kind == ColumnType::Text { Shown::Set } else { Shown::Interval };
        let (column, points) = column(kind, shown, &texts);
        if let Ok(scale) = scale(spec, &column, &points) {
            check_spans(&scale, &points);
        } else {
            prop_assert!(kind == ColumnType::Text && spec.contains(".."));
        }
    }
}
