//! The door: what is refused, what counts as one class, and in which order rows leave.

use std::path::Path;
use std::sync::Arc;

use albers_classes::Attribute;
use albers_classes::class_block::{ClassBlock, Groups, Suppressed};
use albers_classes::points::Points;
use albers_classes::space::Shown;
use albers_privacy::Facts;
use albers_privacy::{Criterion, GroundDistance, Requirement, SensitiveColumn};
use albers_release::ReleaseError;
use albers_release::cell::Describer;
use albers_release::publish::{
    CarriedColumn, Destination, OutputColumn, SlabLimits, Values, publish_in_slabs,
};
use albers_release::verify::{Expectation, Verified, verify};
use albers_table::chunk::TextColumnBuilder;
use albers_table::domain::{Coding, RawColumn, encode};
use albers_table::hierarchy::HierarchySpec;
use albers_table::progress::Silent;
use albers_table::schema::ColumnType;
use arrow_array::StringArray;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

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
        Shown::Interval => Coding::Ordered,
        Shown::Set => Coding::Categories { hierarchy: None, by_frequency: true },
        Shown::Label => Coding::Categories { hierarchy: Some(&prefix), by_frequency: true },
    };
    let coded = encode(column, coding).expect("codes");
    let attribute =
        Attribute { domain: coded.domain, shown, level: None, weight: 1.0, preferred: false };
    (attribute, coded.codes.concat())
}

/// A table of one attribute, ages, and one secret.
struct Table {
    attributes: Vec<Attribute>,
    codes: Vec<u32>,
    facts: Facts,
    requirement: Requirement,
}

impl Table {
    fn of(ages: &[&str], secrets: &[u32], k: u64, criteria: &[Criterion]) -> Table {
        let (ages, codes) = attribute(ColumnType::Integer, Shown::Interval, ages);
        let secret = SensitiveColumn {
            name: "secret".to_owned(),
            n_values: 4,
            distance: GroundDistance::Equal,
            numbers: None,
        };
        let rules = criteria.iter().map(|criterion| (0, *criterion)).collect();
        Table {
            attributes: vec![ages],
            codes,
            facts: Facts { subjects: Vec::new(), sensitive: secrets.to_vec(), n_sensitive: 1 },
            requirement: Requirement::new(k, false, vec![secret], rules).expect("valid"),
        }
    }

    fn verify(&self, groups: Groups) -> Result<Verified<'_>, ReleaseError> {
        let fingerprint = Points::new(vec![vec![self.codes.clone()]]).fingerprint();
        let expected = Expectation {
            requirement: &self.requirement,
            facts: &self.facts,
            n_rows: self.codes.len(),
            max_suppressed: 1,
            fingerprint,
            row_ids: None,
            seed: 3,
            show_regions: false,
        };
        verify(groups, &self.attributes, &expected)
    }

    /// Groups of rows, each block of groups apart, with the rows' own codes.
    fn groups(&self, blocks: &[&[&[u32]]]) -> Groups {
        let block = |groups: &&[&[u32]]| {
            let row_ids: Vec<u32> = groups.concat();
            let mut end = 0;
            let class_end = |group: &&[u32]| {
                end += group.len() as u32;
                end
            };
            ClassBlock {
                codes: row_ids.iter().map(|&row| self.codes[row as usize]).collect(),
                class_ends: groups.iter().map(class_end).collect(),
                row_ids,
                regions: Vec::new(),
            }
        };
        Groups::of_all(1, blocks.iter().map(block).collect())
    }
}

const AGES: [&str; 6] = ["20", "21", "25", "25", "30", "31"];

fn is_changed(verified: &Result<Verified<'_>, ReleaseError>) -> bool {
    matches!(verified, Err(ReleaseError::RowsChanged))
}

#[test]
fn verify_lets_satisfying_groups_through() {
    let table = Table::of(&AGES, &[0, 1, 0, 1, 0, 1], 2, &[]);
    let verified = table.verify(table.groups(&[&[&[0, 1], &[2, 3]], &[&[5, 4]]])).unwrap();
    assert_eq!((verified.n_rows(), verified.n_classes()), (6, 3));
}

#[test]
fn verify_refuses_a_class_below_k() {
    let table = Table::of(&AGES, &[0; 6], 2, &[]);
    let verified = table.verify(table.groups(&[&[&[0, 1], &[2, 3, 4]], &[&[5]]]));
    assert!(matches!(verified, Err(ReleaseError::RequirementViolated { n_rows: 1, .. })));
}

#[test]
fn verify_refuses_a_class_without_diversity() {
    let criterion = Criterion::DistinctLDiversity { l: 2 };
    let table = Table::of(&AGES, &[0, 1, 2, 2, 0, 1], 2, &[criterion]);
    let verified = table.verify(table.groups(&[&[&[0, 1], &[2, 3], &[4, 5]]]));
    assert!(matches!(verified, Err(ReleaseError::RequirementViolated { n_rows: 2, .. })));
    assert!(table.verify(table.groups(&[&[&[0, 1], &[2, 3, 4, 5]]])).is_ok());
}

#[test]
fn verify_names_the_first_of_many_violations_in_the_order_of_publication() {
    // Groups of one to seven rows, all below k, each of its own age.
    let ages: Vec<String> =
        (0..4000).flat_map(|at| std::iter::repeat_n(at.to_string(), 1 + at % 7)).collect();
    let ages: Vec<&str> = ages.iter().map(String::as_str).collect();
    let table = Table::of(&ages, &vec![0; ages.len()], 8, &[]);
    let rows: Vec<u32> = (0..ages.len() as u32).collect();
    let mut groups: Vec<&[u32]> =
        rows.chunk_by(|&a, &b| ages[a as usize] == ages[b as usize]).collect();
    let mut named = Vec::new();
    for _ in 0..8 {
        // Wherever the groups lie in memory, and whichever thread sees them first.
        groups.rotate_left(517);
        match table.verify(table.groups(&[&groups[..2000], &groups[2000..]])) {
            Err(ReleaseError::RequirementViolated { n_rows, .. }) => named.push(n_rows),
            _ => panic!("no class has 8 rows"),
        }
    }
    assert!(named.iter().all(|n_rows| *n_rows == named[0]), "{named:?}");
}

#[test]
fn verify_refuses_lost_doubled_swapped_and_changed_rows() {
    let table = Table::of(&AGES, &[0; 6], 2, &[]);
    assert!(is_changed(&table.verify(table.groups(&[&[&[0, 1], &[2, 3, 4]]]))), "lost");
    assert!(is_changed(&table.verify(table.groups(&[&[&[0, 1], &[2, 3, 4, 4]]]))), "doubled");
    let added: &[&[u32]] = &[&[0, 1], &[2, 3, 4, 5, 5]];
    assert!(is_changed(&table.verify(table.groups(&[added]))), "added");
    let mut groups = table.groups(&[&[&[0, 1], &[2, 3, 4, 5]]]);
    groups.blocks[0].row_ids.swap(0, 5);
    assert!(is_changed(&table.verify(groups)), "rows with the codes of others");
    for place in 0..6 {
        let mut groups = table.groups(&[&[&[0, 1], &[2, 3, 4, 5]]]);
        groups.blocks[0].codes[place] ^= 1;
        assert!(is_changed(&table.verify(groups)), "a changed code");
    }
}

#[test]
fn groups_that_show_the_same_are_one_class() {
    // 25 alone and 25 alone again: each is below k, together they are not.
    let table = Table::of(&AGES, &[0; 6], 2, &[]);
    let verified = table.verify(table.groups(&[&[&[0, 1], &[2]], &[&[3], &[4, 5]]])).unwrap();
    assert_eq!(verified.n_classes(), 3);
    let sizes: Vec<usize> = (0..3).map(|class| verified.class(class).n_rows()).collect();
    assert_eq!(sizes, [2, 2, 2]);
    let merged = (0..3).map(|class| verified.class(class)).find(|class| class.parts().count() == 2);
    let mut rows: Vec<u32> = merged.unwrap().parts().flat_map(|(rows, _)| rows.to_vec()).collect();
    rows.sort_unstable();
    assert_eq!(rows, [2, 3]);
}

#[test]
fn a_row_may_be_left_out_but_not_forgotten() {
    let table = Table::of(&AGES, &[0; 6], 2, &[]);
    let classes: [&[&[u32]]; 1] = [&[&[0, 1], &[2, 3, 4]]];
    let left_out = |row_ids: Vec<u32>| {
        let mut groups = table.groups(&classes);
        let codes = row_ids.iter().map(|&row| table.codes[row as usize]).collect();
        groups.suppressed = Suppressed { row_ids, codes };
        table.verify(groups)
    };
    let verified = left_out(vec![5]).unwrap();
    assert_eq!((verified.n_rows(), verified.n_suppressed()), (5, 1));
    // Nobody accounts for the last row, another one is there twice, or one too many is left out.
    assert!(matches!(left_out(Vec::new()), Err(ReleaseError::RowsChanged)));
    assert!(matches!(left_out(vec![4]), Err(ReleaseError::RowsChanged)));
    assert!(matches!(left_out(vec![4, 5]), Err(ReleaseError::TooManySuppressed { .. })));
}

#[test]
fn regions_are_widened_to_their_rows() {
    let table = Table::of(&AGES, &[0; 6], 2, &[]);
    let mut groups = table.groups(&[&[&[0, 1], &[2, 3, 4, 5]]]);
    // The second claims a region that its last row lies beyond.
    groups.blocks[0].regions = vec![(0, 3), (4, 7)];
    let expected = Expectation {
        requirement: &table.requirement,
        facts: &table.facts,
        n_rows: 6,
        max_suppressed: 0,
        fingerprint: Points::new(vec![vec![table.codes.clone()]]).fingerprint(),
        row_ids: None,
        seed: 3,
        show_regions: true,
    };
    let verified = verify(groups, &table.attributes, &expected).unwrap();
    let describer = &verified.describers()[0];
    let mut texts: Vec<String> = (0..verified.n_classes())
        .map(|class| text_of(describer, verified.class(class).cells[0]))
        .collect();
    texts.sort_unstable();
    assert_eq!(texts, ["[20, 23]", "[24, 31]"]);
}

fn text_of(describer: &Describer<'_>, cell: albers_release::ShownCell) -> String {
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
    assert_eq!(text(&["1.5", "-2"]), "[-2.00, 1.50]");
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
        let describer = Describer::new(&attribute);
        let cell = describer.describe_region(0, u32::MAX);
        assert_eq!((text_of(&describer, cell), describer.loss(cell)), (String::new(), 0.0));
    }
}

#[test]
fn regions_of_values_far_apart_show_only_values_within() {
    let floats = ["0.25", "0.5", "0.75", "1"];
    let (attribute, codes) = attribute(ColumnType::Float, Shown::Interval, &floats);
    let describer = Describer::new(&attribute);
    let text = |lo, hi| text_of(&describer, describer.describe_region(lo, hi));
    assert_eq!(text(0, codes[1] - 1), "0.25");
    assert_eq!(text(codes[0] + 1, codes[2] + 5), "[0.5, 0.75]");
    assert_eq!(text(codes[0] + 1, u32::MAX), "[0.5, 1.0]");
}

/// The bytes of a release of these rows, in groups of equal ages.
fn published(rows: &[(usize, &str)], limits: SlabLimits, folder: &Path) -> Vec<u8> {
    const GROUPS: [&str; 3] = ["20", "30", "40"];
    let ages: Vec<&str> = rows.iter().map(|(group, _)| GROUPS[*group]).collect();
    let table = Table::of(&ages, &vec![0; rows.len()], 1, &[]);
    let of_group = |group: usize| -> Vec<u32> {
        (0u32..).zip(rows).filter(|(_, row)| row.0 == group).map(|(at, _)| at).collect()
    };
    let groups: Vec<Vec<u32>> = (0..3).map(of_group).filter(|rows| !rows.is_empty()).collect();
    let groups: Vec<&[u32]> = groups.iter().map(Vec::as_slice).collect();
    let verified = table.verify(table.groups(&[&groups])).expect("k is 1");
    let cells = StringArray::from_iter_values(rows.iter().map(|(_, note)| *note));
    let carried =
        [CarriedColumn::new("note".to_owned(), ColumnType::Text, vec![Arc::new(cells)], false)];
    let path = folder.join("release.csv");
    let destination = Destination {
        path: &path,
        delimiter: None,
        values: Values::Interval,
        columns: &[OutputColumn::Attribute(0), OutputColumn::Carried(0)],
        carried: &carried,
        seed: 3,
    };
    let pending =
        publish_in_slabs(&verified, &destination, limits, &Silent).expect("it is written");
    assert!(!path.exists(), "nothing appears before the end");
    pending.finish("{}\n").expect("it can be written");
    std::fs::read(&path).expect("the release is there")
}

/// Failures stand in `release.regressions` and are replayed first.
fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_order_of_the_input_does_not_show(
        rows in prop::collection::vec((0..3usize, "[a-c]{1,2}"), 1..40),
        shuffled in any::<prop::sample::Index>(),
        (n_rows, n_bytes) in (1..20usize, 0..400usize),
    ) {
        // Nor does the size of what is built at once.
        let limits = SlabLimits { n_rows, n_bytes };
        let folder = tempfile::tempdir().unwrap();
        let rows: Vec<(usize, &str)> =
            rows.iter().map(|(group, note)| (*group, note.as_str())).collect();
        let before = published(&rows, SlabLimits::default(), folder.path());
        let mut others = rows.clone();
        others.rotate_left(shuffled.index(rows.len()));
        let middle = others.len() / 2;
        others[middle..].reverse();
        std::fs::remove_file(folder.path().join("release.csv")).unwrap();
        prop_assert_eq!(before, published(&others, limits, folder.path()));
    }
}
