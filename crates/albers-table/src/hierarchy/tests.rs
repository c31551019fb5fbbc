use proptest::collection::vec;
use proptest::prelude::*;

use super::builder::Builder;
use super::*;

fn values(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn built(spec: &str, column_type: ColumnType, texts: &[&str]) -> Hierarchy {
    let hierarchy = try_built(spec, column_type, texts).unwrap();
    hierarchy.check_invariants();
    hierarchy
}

fn try_built(spec: &str, column_type: ColumnType, texts: &[&str]) -> Result<Hierarchy> {
    Hierarchy::build(&spec.parse().unwrap(), "column", column_type, &values(texts))
}

fn refusal(spec: &str, column_type: ColumnType, texts: &[&str]) -> String {
    let message = try_built(spec, column_type, texts).unwrap_err().to_string();
    assert!(texts.iter().all(|text| !message.contains(text)), "the message shows a value");
    message
}

/// The labels from a value to the top.
fn path<'a>(hierarchy: &'a Hierarchy, value: &str) -> Vec<&'a str> {
    let code = hierarchy.code_of(value).unwrap();
    (0..=hierarchy.height())
        .map(|level| hierarchy.label(Node { level, index: hierarchy.node_at(level, code) }))
        .collect()
}

#[test]
fn prefix_strips_characters_from_the_right() {
    let zips = built("prefix", ColumnType::Code, &["53711", "53712", "53722", "60601"]);
    assert_eq!(path(&zips, "53712"), ["53712", "5371*", "537*", "53*", "5*", "*"]);
    assert_eq!(
        zips.lowest_common_ancestor(Code::ZERO, Code::new(2)),
        zips.node_by_label("537*").unwrap()
    );
    assert_eq!(zips.leaves_of(zips.node_by_label("5*").unwrap()).indexes(), 0..3);
    assert!(!zips.added_top());
}

#[test]
fn prefix_keeps_short_values_until_the_prefix_is_shorter() {
    let codes = built("prefix", ColumnType::Text, &["E1", "E119", "E12"]);
    assert_eq!(path(&codes, "E1"), ["E1", "E1", "E1", "E*", "*"]);
    assert_eq!(path(&codes, "E12"), ["E12", "E12", "E1*", "E*", "*"]);
    assert_eq!(path(&codes, "E119"), ["E119", "E11*", "E1*", "E*", "*"]);
}

#[test]
fn prefix_strips_characters_and_not_bytes() {
    let names = built("prefix", ColumnType::Text, &["Öä", "Öß"]);
    assert_eq!(path(&names, "Öß"), ["Öß", "Ö*", "*"]);
}

#[test]
fn prefix_refuses_a_value_that_reads_like_a_label() {
    let message = refusal("prefix", ColumnType::Text, &["5370", "5371", "537*"]);
    assert!(message.contains("reads like the label"), "{message}");
    assert!(try_built("suppress", ColumnType::Text, &["*", "a"]).is_err());
    built("suppress", ColumnType::Text, &["*"]);
}

#[test]
fn prefix_refuses_very_long_values() {
    let long = "x".repeat(65);
    let message = refusal("prefix", ColumnType::Text, &[&long]);
    assert!(message.contains("65 characters"), "{message}");
}

#[test]
fn ranges_of_whole_numbers_show_both_ends() {
    let ages = built("ranges:1,5,10,20", ColumnType::Integer, &["-6", "-5", "-1", "0", "24", "25"]);
    assert_eq!(path(&ages, "24"), ["24", "24", "[20, 24]", "[20, 29]", "[20, 39]", "*"]);
    assert_eq!(path(&ages, "-1"), ["-1", "-1", "[-5, -1]", "[-10, -1]", "[-20, -1]", "*"]);
    assert_eq!(path(&ages, "-6"), ["-6", "-6", "[-10, -6]", "[-10, -1]", "[-20, -1]", "*"]);
    assert_eq!((ages.leaf(Code::ZERO), ages.leaf(Code::new(5))), ("-6", "25"));
}

#[test]
fn ranges_of_whole_numbers_hold_the_extremes() {
    let (least, most) = (i64::MIN.to_string(), i64::MAX.to_string());
    let numbers = built("ranges:1000000000000000000", ColumnType::Integer, &[&least, &most]);
    assert_eq!(path(&numbers, &least)[1], "[-10000000000000000000, -9000000000000000001]");
}

#[test]
fn ranges_of_fractions_leave_the_upper_end_out() {
    let doses = built("ranges:0.5,2", ColumnType::Decimal, &["-0.1", "0.49", "0.5", "2.00"]);
    assert_eq!(path(&doses, "-0.1"), ["-0.1", "[-0.5, 0)", "[-2, 0)", "*"]);
    assert_eq!(path(&doses, "0.49"), ["0.49", "[0, 0.5)", "[0, 2)", "*"]);
    assert_eq!(path(&doses, "0.5"), ["0.5", "[0.5, 1)", "[0, 2)", "*"]);
    assert_eq!(path(&doses, "2.00"), ["2.00", "[2, 2.5)", "[2, 4)", "*"]);
}

#[test]
fn ranges_of_floats_read_exponents_exactly() {
    let floats = built("ranges:0.1,1", ColumnType::Float, &["-1e-300", "1e-7", "0.3", "2.5e3"]);
    assert_eq!(path(&floats, "-1e-300"), ["-1e-300", "[-0.1, 0)", "[-1, 0)", "*"]);
    assert_eq!(path(&floats, "1e-7"), ["1e-7", "[0, 0.1)", "[0, 1)", "*"]);
    assert_eq!(path(&floats, "0.3"), ["0.3", "[0.3, 0.4)", "[0, 1)", "*"]);
    assert_eq!(path(&floats, "2.5e3"), ["2.5e3", "[2500, 2500.1)", "[2500, 2501)", "*"]);
}

#[test]
fn ranges_refuse_what_they_cannot_hold() {
    let message = refusal("ranges:5", ColumnType::Float, &["7.25", "1e300"]);
    assert!(message.contains("1 of 2 values are no numbers of at most 38 digits"), "{message}");
    let message = refusal("ranges:0.5", ColumnType::Integer, &["77"]);
    assert!(message.contains("whole"), "{message}");
    let by_hand = HierarchySpec::Ranges(vec!["2".parse().unwrap(), "3".parse().unwrap()]);
    let message = Hierarchy::build(&by_hand, "column", ColumnType::Integer, &[]).unwrap_err();
    assert!(message.to_string().contains("3 is not a multiple of 2"), "{message}");
}

#[test]
fn dates_go_from_day_to_year() {
    let days = built("dates", ColumnType::Date, &["2024-03-31", "2024-04-01", "2025-12-24"]);
    assert_eq!(path(&days, "2024-03-31"), ["2024-03-31", "2024-03", "2024-Q1", "2024", "*"]);
    assert_eq!(path(&days, "2025-12-24")[2], "2025-Q4");
    let texts = ["2024-03-31 10:00:00", "2024-03-31T11:00:00Z"];
    let times = built("dates", ColumnType::Timestamp, &texts);
    assert_eq!(path(&times, texts[0])[1..], ["2024-03-31", "2024-03", "2024-Q1", "2024", "*"]);
    assert_eq!(times.label(times.lowest_common_ancestor(Code::ZERO, Code::new(1))), "2024-03-31");
}

#[test]
fn dates_refuse_texts_of_another_form() {
    for text in ["24.12.2024", "2024-13-01", "2024-12-011", "2024-1", "２０24-01-01"] {
        let message = refusal("dates", ColumnType::Date, &[text]);
        assert!(message.contains("1 of 1 values do not start with a day"), "{message}");
    }
}

#[test]
fn suppress_has_two_levels_for_every_type() {
    for column_type in ColumnType::ALL {
        let hierarchy = built("suppress", column_type, &["1", "2"]);
        assert_eq!(path(&hierarchy, "2"), ["2", "*"]);
    }
}

#[test]
fn built_ins_refuse_other_types_with_a_hint() {
    let cases = [
        ("prefix", ColumnType::Float, "use ranges:5,10,20"),
        ("prefix", ColumnType::Date, "use dates"),
        ("prefix", ColumnType::Boolean, "use suppress"),
        ("ranges:5", ColumnType::Code, "use prefix"),
        ("ranges:5", ColumnType::Timestamp, "use dates"),
        ("dates", ColumnType::Integer, "use ranges:5,10,20"),
        ("dates", ColumnType::Text, "use prefix"),
    ];
    for (spec, column_type, hint) in cases {
        let message = refusal(spec, column_type, &["77777"]);
        assert!(message.contains(hint) && message.contains(column_type.name()), "{message}");
    }
}

#[test]
fn a_column_without_values_has_only_a_top() {
    for (spec, column_type) in [
        ("prefix", ColumnType::Text),
        ("ranges:5,10", ColumnType::Integer),
        ("dates", ColumnType::Date),
        ("suppress", ColumnType::Boolean),
    ] {
        let empty = built(spec, column_type, &[]);
        assert_eq!((empty.n_leaves(), empty.height(), empty.n_nodes(1)), (0, 1, 1));
        assert_eq!(empty.leaves_of(empty.node_by_label("*").unwrap()).indexes(), 0..0);
        empty.ordered_by_frequency(&[]).check_invariants();
    }
}

#[test]
fn debug_output_shows_no_label() {
    let zips = built("prefix", ColumnType::Code, &["53711", "53712"]);
    let shown = format!("{zips:?}");
    assert!(!shown.contains("53") && shown.contains("n_nodes"), "{shown}");
}

#[test]
fn ordered_by_frequency_puts_frequent_siblings_first() {
    let zips = built("prefix", ColumnType::Code, &["11", "12", "13", "21", "22"]);
    let zips = zips.ordered_by_frequency(&[1, 3, 3, 4, 5]);
    zips.check_invariants();
    assert!(zips.leaves().eq(["22", "21", "12", "13", "11"]));
    assert_eq!(zips.leaves_of(zips.node_by_label("2*").unwrap()).indexes(), 0..2);
}

#[test]
fn a_hundred_thousand_leaves_are_built_in_depth_first_order() {
    let mut builder = Builder::new(3);
    for leaf in 0..100_000u32 {
        let groups = [format!("a{}", leaf % 1000), format!("b{}", leaf % 10), "*".to_owned()];
        builder.add(u64::from(leaf), &leaf.to_string(), &groups).unwrap();
    }
    let hierarchy = builder.finish().unwrap();
    hierarchy.check_invariants();
    assert_eq!(hierarchy.n_nodes(1), 1000);
    assert_eq!(hierarchy.leaves_of(hierarchy.node_by_label("b0").unwrap()).indexes(), 0..10_000);
}

/// Paths of a random hierarchy: the parent of each node is drawn from a few nodes above.
fn random_paths() -> impl Strategy<Value = Vec<Vec<String>>> {
    (vec(vec(0..3usize, 8), 0..4), 1..20usize).prop_flat_map(|(parents, n_leaves)| {
        vec(0..4usize, n_leaves).prop_map(move |first| {
            let path = |(leaf, first): (usize, &usize)| {
                let mut labels = vec![format!("leaf{leaf}"), format!("1.{first}")];
                let mut node = *first;
                for (level, parents) in parents.iter().enumerate() {
                    node = parents[node];
                    labels.push(format!("{}.{node}", level + 2));
                }
                labels
            };
            first.iter().enumerate().map(path).collect()
        })
    })
}

fn from_paths(paths: &[Vec<String>]) -> Hierarchy {
    let mut builder = Builder::new(paths[0].len() - 1);
    for (line, labels) in paths.iter().enumerate() {
        builder.add(line as u64, &labels[0], &labels[1..]).unwrap();
    }
    builder.finish().unwrap()
}

/// Compares every lookup with the paths themselves.
fn check_against(hierarchy: &Hierarchy, paths: &[Vec<String>]) {
    hierarchy.check_invariants();
    let mut by_code = paths.to_vec();
    by_code.sort_by_key(|labels| hierarchy.code_of(&labels[0]).unwrap());
    if hierarchy.added_top() {
        by_code.iter_mut().for_each(|labels| labels.push("*".to_owned()));
    }
    let n_leaves = hierarchy.n_leaves() as usize;
    assert_eq!(n_leaves, paths.len());
    assert_eq!(hierarchy.height() + 1, by_code[0].len());
    for lo in 0..n_leaves {
        for hi in lo..n_leaves {
            let expected = (0..by_code[0].len())
                .find(|&level| {
                    by_code[lo..=hi].iter().all(|path| path[level] == by_code[lo][level])
                })
                .unwrap();
            let node = hierarchy.lowest_common_ancestor(Code::of_index(lo), Code::of_index(hi));
            assert_eq!(node.level, expected);
            assert_eq!(hierarchy.label(node), by_code[lo][expected]);
            let turned = hierarchy.lowest_common_ancestor(Code::of_index(hi), Code::of_index(lo));
            assert_eq!(node, turned);
        }
    }
    for (level, map) in (1..).zip(hierarchy.level_maps()) {
        for (code, &index) in map.iter().enumerate() {
            assert_eq!(hierarchy.node_at(level, Code::of_index(code)), index as usize);
            let node = Node { level, index: index as usize };
            assert_eq!(hierarchy.label(node), by_code[code][level]);
            assert_eq!(hierarchy.node_by_label(&by_code[code][level]), Some(node));
        }
    }
}

proptest! {
    #[test]
    fn lowest_common_ancestors_equal_brute_force(paths in random_paths()) {
        check_against(&from_paths(&paths), &paths);
    }

    #[test]
    fn ordering_by_frequency_keeps_the_hierarchy(
        paths in random_paths(),
        n_rows in vec(0..5u64, 20),
    ) {
        let before = from_paths(&paths);
        let n_rows = &n_rows[..paths.len()];
        let after = before.clone().ordered_by_frequency(n_rows);
        check_against(&after, &paths);
        let new_codes: Vec<Code> =
            before.leaves().map(|leaf| after.code_of(leaf).expect("the same leaves")).collect();
        let mut rows_by_code = vec![0; n_rows.len()];
        for (code, &new_code) in new_codes.iter().enumerate() {
            rows_by_code[new_code.index()] = n_rows[code];
        }
        for level in 0..after.height() {
            let rows_of = |index: usize| -> u64 {
                rows_by_code[after.leaves_of(Node { level, index }).indexes()].iter().sum()
            };
            for index in 1..after.n_nodes(level) {
                let parent_of = |index: usize| {
                    after.node_at(level + 1, after.leaves_of(Node { level, index }).start)
                };
                let siblings = parent_of(index - 1) == parent_of(index);
                prop_assert!(!siblings || rows_of(index - 1) >= rows_of(index));
            }
        }
    }
}
