//! The number that orders classes is a function of the text that they show: two tables that hold
//! the same class show the same text and give it the same number, whatever else they hold.

use std::collections::BTreeMap;

use albers_classes::Attribute;
use albers_classes::space::Shown;
use albers_release::Describer;
use albers_table::chunk::TextColumnBuilder;
use albers_table::coding::{CodingPlan, RawColumn, encode};
use albers_table::hierarchy::HierarchySpec;
use albers_table::schema::ColumnType;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::FileFailurePersistence;

const TIMES: [&str; 4] =
    ["2024-02-29 23:59:59", "1969-12-31 00:00:00.25", "2024-03-01 00:00:00", "0001-01-01 00:00:00"];

/// A kind of column, how it is shown, and some of its cells.
const KINDS: [(ColumnType, Shown, &[&str]); 12] = [
    (ColumnType::Integer, Shown::Interval, &["7", "12", "-40", "123456", "98765432", "0"]),
    (ColumnType::Integer, Shown::Interval, &["7", "12", "9223372036854775807", "-100000000"]),
    (ColumnType::Integer, Shown::Set, &["7", "12", "-40", "100"]),
    (ColumnType::Decimal, Shown::Interval, &["1.5", "-2", "0.25", "7", "12.0", "1000000.125"]),
    (ColumnType::Decimal, Shown::Label, &["1.5", "-2", "0.25", "7", "12.0"]),
    (ColumnType::Float, Shown::Interval, &["1.5", "-2", "1e300", "7", "0.1", "-1e-7"]),
    (ColumnType::Date, Shown::Interval, &["1970-01-01", "2024-02-29", "0000-01-01", "9999-12-31"]),
    (ColumnType::Timestamp, Shown::Interval, &TIMES),
    (ColumnType::Timestamp, Shown::Set, &TIMES),
    (ColumnType::Text, Shown::Set, &["7", "A, B", "\"D\"", "[7, 12]", "{7}", "a\0", "a", "*"]),
    (ColumnType::Code, Shown::Label, &["7", "12", "5371", "5372", "5381", "[7, 12]"]),
    (ColumnType::Code, Shown::Set, &["5371", "5372", "12", "7", "100"]),
];

/// What else a table holds.
#[derive(Debug, Clone)]
struct Rest {
    /// Cells of the kind, each so many times.
    cells: Vec<(Index, usize)>,
    has_missing: bool,
    /// So many values that no class has.
    n_others: usize,
    /// The level of labels, where only the top's and the lowest are asked for.
    is_at_top: bool,
}

fn rest() -> impl Strategy<Value = Rest> {
    let cells = prop::collection::vec((any::<Index>(), 1usize..4), 0..4);
    let n_others = prop_oneof![0usize..3, 60usize..70, Just(1200)];
    (cells, any::<bool>(), n_others, prop::bool::weighted(0.2)).prop_map(
        |(cells, has_missing, n_others, is_at_top)| Rest {
            cells,
            has_missing,
            n_others,
            is_at_top,
        },
    )
}

/// A value of a type that is in none of the lists above.
fn other(kind: ColumnType, at: usize) -> String {
    match kind {
        ColumnType::Integer => format!("{}", 20_000 + 3 * at as i64),
        ColumnType::Decimal => format!("-{}.5", 20 + at),
        ColumnType::Float => format!("-{}.75", 2 + at),
        ColumnType::Date => format!("18{:02}-06-{:02}", at / 28 % 100, 1 + at % 28),
        ColumnType::Timestamp => format!("1801-01-01 {:02}:{:02}:00", at / 60, at % 60),
        _ => format!("5{at:03}x"),
    }
}

/// The text and the number of a class of these cells, in a table that holds the rest too.
fn text_and_hash(
    (kind, shown, pool): (ColumnType, Shown, &[&str]),
    class: &[&str],
    rest: &Rest,
) -> (String, u64) {
    let mut cells: Vec<String> = class.iter().map(|&cell| cell.to_owned()).collect();
    for (index, n_times) in &rest.cells {
        cells.extend(vec![(*index.get(pool)).to_owned(); *n_times]);
    }
    cells.extend((0..rest.n_others).map(|at| other(kind, at)));
    cells.extend(rest.has_missing.then(String::new));
    let mut builder = TextColumnBuilder::new(kind);
    for cell in &cells {
        match cell.is_empty() {
            true => builder.push_missing(),
            false => builder.push(cell.as_bytes()).expect("a value of the type"),
        }
    }
    let chunks = vec![builder.finish().expect("a column")];
    let column = RawColumn { name: "x".to_owned(), column_type: kind, data_type: None, chunks };
    let spec =
        if kind == ColumnType::Code { HierarchySpec::Prefix } else { HierarchySpec::Suppress };
    let coding = match shown {
        Shown::Interval => CodingPlan::Ordered,
        Shown::Set => CodingPlan::Categories { hierarchy: None, by_frequency: true },
        Shown::Label => CodingPlan::Categories { hierarchy: Some(&spec), by_frequency: true },
    };
    let coded = encode(column, coding).expect("codes");
    let top = coded.domain.hierarchy().filter(|_| rest.is_at_top).map(|tree| tree.height());
    let attribute =
        Attribute { domain: coded.domain, shown, level: top, weight: 1.0, preferred: false };
    let describer = Describer::new(&attribute);
    let codes = coded.codes.concat();
    let cell = describer.describe(codes[..class.len()].iter().copied());
    let mut text = String::new();
    describer.write_text(cell, &mut text);
    (text, describer.content_hash(cell))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_number_of_a_class_tells_its_text_and_nothing_else(
        kinds in prop::sample::subsequence(KINDS.to_vec(), 1..=2),
        picks in prop::collection::vec((any::<Index>(), any::<Index>(), any::<bool>()), 1..4),
        rests in prop::collection::vec(rest(), 4),
    ) {
        let mut hash_of: BTreeMap<String, u64> = BTreeMap::new();
        for &kind in &kinds {
            // Other kinds may put the members of a set in another order.
            let mut text_of: BTreeMap<u64, String> = BTreeMap::new();
            for (a, b, with_missing) in &picks {
                let mut class = vec![*a.get(kind.2), *b.get(kind.2)];
                class.extend(with_missing.then_some(""));
                for rest in &rests {
                    let (text, hash) = text_and_hash(kind, &class, rest);
                    prop_assert_eq!(*hash_of.entry(text.clone()).or_insert(hash), hash, "{}", text);
                    let same = text_of.entry(hash).or_insert_with(|| text.clone());
                    prop_assert_eq!(&*same, &text);
                }
            }
        }
    }

    #[test]
    fn the_rest_of_the_table_changes_neither_text_nor_number(
        at in 0..KINDS.len(),
        class in any::<Index>(),
        with_missing in any::<bool>(),
        rests in prop::collection::vec(rest(), 2),
    ) {
        let (kind, shown, pool) = KINDS[at];
        let mut class = vec![*class.get(pool)];
        class.extend(with_missing.then_some(""));
        let rests = rests.into_iter().map(|rest| Rest { is_at_top: false, ..rest });
        let shown: Vec<_> =
            rests.map(|rest| text_and_hash((kind, shown, pool), &class, &rest)).collect();
        prop_assert_eq!(&shown[0], &shown[1]);
    }
}

#[test]
fn texts_that_differ_in_kind_only_have_the_same_number() {
    let rest = Rest { cells: Vec::new(), has_missing: true, n_others: 3, is_at_top: false };
    let of = |at: usize, class: &[&str]| text_and_hash(KINDS[at], class, &rest);
    for (text, all) in [
        ("7", [of(0, &["7"]), of(2, &["7"]), of(9, &["7"]), of(10, &["7"]), of(11, &["7", "7"])]),
        ("", [of(0, &[""]), of(2, &[""]), of(5, &[""]), of(9, &[""]), of(10, &[""])]),
        (
            "{, 7}",
            [
                of(0, &["", "7"]),
                of(2, &["", "7"]),
                of(9, &["", "7"]),
                of(10, &["7", ""]),
                of(11, &["7", ""]),
            ],
        ),
        (
            "[7, 12]",
            [
                of(0, &["7", "12"]),
                of(1, &["12", "7"]),
                of(0, &["7", "12", "7"]),
                of(0, &["12", "7", "7"]),
                of(1, &["7", "12"]),
            ],
        ),
        (
            "\"[7, 12]\"",
            [
                of(9, &["[7, 12]"]),
                of(10, &["[7, 12]"]),
                of(9, &["[7, 12]", "[7, 12]"]),
                of(10, &["[7, 12]", "[7, 12]"]),
                of(9, &["[7, 12]"]),
            ],
        ),
    ] {
        for (own, hash) in &all {
            assert_eq!((own.as_str(), hash), (text, &all[0].1));
        }
    }
    let top = Rest { is_at_top: true, ..rest };
    let everything = text_and_hash(KINDS[10], &["7", ""], &top);
    let any_name = text_and_hash((ColumnType::Text, Shown::Set, &["*"]), &["*"], &top);
    assert_eq!((everything.0.as_str(), any_name.0.as_str()), ("*", "\"*\""));
    assert_ne!(everything.1, any_name.1);
}
