use albers_table::hierarchy::{HierarchyRows, HierarchySpec};
use proptest::prelude::*;

use super::*;

fn scale(lo: &str, hi: &str, n_bits: u32) -> FixedScale {
    FixedScale::of_ends((lo, hi), n_bits, None).unwrap()
}

fn shown<'s>(scale: &'s FixedScale, text: &str) -> Option<&'s str> {
    scale.place(text).map(|place| scale.labels()[place as usize].as_str())
}

#[test]
fn the_first_and_the_last_range_are_open() {
    let age = scale("0", "99", 2);
    assert_eq!(age.labels(), ["(-inf, 24]", "[25, 49]", "[50, 74]", "[75, inf)"]);
    assert_eq!(age.column_type(), ColumnType::Integer);
    for (text, expected) in
        [("-7", 0), ("0", 0), ("24", 0), ("25", 1), ("74", 2), ("75", 3), ("200", 3)]
    {
        assert_eq!(age.place(text), Some(expected), "{text}");
    }
    for text in ["", "x", "3.5", "inf", "1e2", "2020-01-01"] {
        assert_eq!(age.place(text), None, "{text}");
    }
}

#[test]
fn ranges_of_one_value_are_that_value_and_more_bits_than_values_make_no_empty_ones() {
    let few = scale("1", "3", 4);
    assert_eq!(few.labels(), ["(-inf, 1]", "2", "[3, inf)"]);
    assert_eq!([shown(&few, "0"), shown(&few, "2")], [Some("(-inf, 1]"), Some("2")]);
}

#[test]
fn days_times_and_fractions_have_ranges_of_their_kind() {
    let days = scale("2020-01-01", "2020-12-31", 1);
    assert_eq!(days.labels(), ["(-inf, 2020-07-01]", "[2020-07-02, inf)"]);
    assert_eq!((days.place("2020-07-02"), days.place("2020-13-01")), (Some(1), None));
    let times = scale("2020-01-01T00:00:00", "2020-01-01T23:59:59.999999", 1);
    assert_eq!(times.column_type(), ColumnType::Timestamp);
    assert_eq!(times.place("2020-01-01T12:00:00"), Some(1));
    assert_eq!(times.place("2020-01-01T12:00:00Z"), None, "a time with an offset is another kind");
    let dose = scale("0", "0.5", 2);
    assert_eq!(dose.labels(), ["(-inf, 0.125)", "[0.125, 0.25)", "[0.25, 0.375)", "[0.375, inf)"]);
    assert_eq!(
        (dose.place("0.125"), dose.place("0.1249"), dose.place("1")),
        (Some(1), Some(0), Some(3))
    );
    let whole = FixedScale::of_ends(("0", "8"), 1, Some(ColumnType::Decimal)).unwrap();
    assert_eq!(whole.labels(), ["(-inf, 4.0)", "[4.0, inf)"]);
}

#[test]
fn ends_that_make_no_ranges_are_refused() {
    let refused = |lo: &str, hi: &str, n_bits, given| {
        FixedScale::of_ends((lo, hi), n_bits, given).unwrap_err().problem
    };
    assert!(refused("9", "1", 2, None).contains("before it begins"));
    assert!(refused("1", "2020-01-01", 2, None).contains("one type"));
    assert!(refused("1", "9", 20, None).contains("16 bits"));
    assert!(refused("1", "9", 2, Some(ColumnType::Text)).contains("one type"));
    assert!(refused("1", "9", 2, Some(ColumnType::Date)).contains("no date"));
    assert!(refused("0.5", "0.5", 2, None).contains("before it begins"));
}

#[test]
fn labels_of_a_file_are_those_of_a_level() {
    let rows = HierarchyRows::of_text("jobs", "Nurse;Health;*\nDoctor;Health;*\nClerk;Office;*\n");
    let spec = HierarchySpec::Rows(std::sync::Arc::new(rows));
    let tree = Hierarchy::build(&spec, "job", ColumnType::Text, &[]).unwrap();
    let of = |level| FixedScale::of_hierarchy(&tree, ColumnType::Text, level);
    let groups = of(1).unwrap();
    assert_eq!(groups.labels(), ["Health", "Office"]);
    assert_eq!(
        [shown(&groups, "Doctor"), shown(&groups, "Clerk")],
        [Some("Health"), Some("Office")]
    );
    assert_eq!((groups.place("Pilot"), groups.place("Health")), (None, None));
    assert_eq!(of(0).unwrap().labels().len(), 3);
    assert!(of(2).unwrap_err().problem.contains("top"));
}

proptest! {
    #[test]
    fn every_number_lies_in_the_range_that_it_is_shown_in(
        lo in -1000..1000i64,
        length in 1..500i64,
        n_bits in 1..7u32,
        value in -2000..2000i64,
    ) {
        let scale = scale(&lo.to_string(), &(lo + length).to_string(), n_bits);
        let label = shown(&scale, &value.to_string()).unwrap();
        let inner = label.trim_matches(['(', '[', ']', ')']);
        let (least, most) = inner.split_once(", ").unwrap_or((inner, inner));
        let least = least.parse::<i64>().unwrap_or(i64::MIN);
        let most = most.parse::<i64>().unwrap_or(i64::MAX);
        prop_assert!(least <= value && value <= most, "{} in {}", value, label);
        // Ranges follow each other without a gap, and are about equally long.
        prop_assert!(scale.labels().len() <= 1 << n_bits);
    }
}
