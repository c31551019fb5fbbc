//! What counts as one class, and in which order rows leave.

use albers_classes::region::{ALL_CODES, span};
use albers_classes::{ClassId, Span};
use albers_release::door::{GiantLeaf, LeafClasses};
use albers_release::publish::{OutputColumn, Values};
use albers_storage::watch::Silent;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::refused::AGES;
use super::table::{Case, Packer, Table, WAYS, Way, groups_of, text_hash};

#[test]
fn classes_that_show_the_same_are_one() {
    // 25 alone and 25 alone again: each is below k, together they are not.
    let table = Table::of_ages(&AGES, &[0; 6]);
    for way in WAYS {
        let case = Case::of_k(&table, way, 2);
        let outcome = case.pass_classes(&table.classes(&[&[0, 1], &[2], &[3], &[4, 5]])).unwrap();
        assert_eq!((outcome.classes[0].n_classes, outcome.classes[0].max), (3, 2));
        assert_eq!(outcome.lines().iter().filter(|line| line.starts_with("25,")).count(), 2);
    }
}

#[test]
fn regions_are_widened_to_their_rows() {
    let table = Table::of_ages(&AGES, &[0; 6]);
    for way in WAYS {
        let case = Case { show_regions: true, ..Case::of_k(&table, way, 2) };
        let outcome = case.pass(&Silent, |door, packer| {
            let mut leaves = packer.leaves(&table.classes(&[&[0, 1], &[2, 3, 4, 5]]));
            // The second claims a region that its last row lies beyond.
            leaves.regions = Some(vec![span(0, 3), span(4, 7)]);
            door.admit_leaves(leaves.rows(packer), &[LeafClasses::default()])
        });
        let outcome = outcome.unwrap();
        let mut shown: Vec<&str> =
            outcome.lines().iter().filter_map(|line| line.split("\",").next()).collect();
        shown.sort_unstable();
        shown.dedup();
        assert_eq!(shown, ["\"[20, 23]", "\"[24, 31]"]);
    }
}

/// A class that does not fit in memory, its rows in blocks of the store.
fn admit_giant(
    door: &mut albers_release::Door<'_>,
    packer: &Packer<'_>,
    rows: &[u32],
    region: Option<&[Span]>,
) -> Result<(), albers_release::ReleaseError> {
    let blocks = rows
        .chunks(100)
        .map(|rows| {
            let mut bytes = Vec::new();
            packer.pack(packer.table.classes(&[rows])[0].iter()).write_to(&mut bytes);
            Ok(packer.store.put(bytes)?)
        })
        .collect::<Result<Vec<_>, albers_release::ReleaseError>>()?;
    door.admit_giant(GiantLeaf {
        layout: packer.layout,
        store: packer.store,
        blocks: &blocks,
        region,
        holes: &[],
        features: &[],
    })
}

#[test]
fn a_giant_leaves_as_it_would_from_memory() {
    // Two classes of which one takes twice the memory there is.
    let table = Table::mixed(3000);
    let rows: Vec<u32> = (0..3000).collect();
    let whole: Vec<Span> = vec![ALL_CODES; 3];
    for show_regions in [false, true] {
        let texts = WAYS.map(|way| {
            let case = Case { show_regions, ..Case::of_k(&table, way, 100) };
            let outcome = case.pass(&Silent, |door, packer| {
                admit_giant(door, packer, &rows[..2800], Some(&whole))?;
                let mut leaves = packer.leaves(&table.classes(&[&rows[2800..]]));
                leaves.regions = Some(vec![span(0, 30); 3]);
                door.admit_leaves(leaves.rows(packer), &[LeafClasses::default()])
            });
            let outcome = outcome.unwrap();
            let expected_giants = usize::from(way != Way::Memory);
            assert_eq!(outcome.n_parts[0][1], expected_giants, "giants are measured as such");
            assert_eq!(outcome.classes[0].n_rows, 3000);
            outcome.texts
        });
        assert_eq!(texts[0], texts[1]);
    }
}

#[test]
fn the_bytes_change_only_on_purpose() {
    let table = Table::mixed(3000);
    let classes = table.neighbours(6);
    let classes: Vec<&[u32]> = classes.iter().map(Vec::as_slice).collect();
    for (values, show_regions, expected) in GOLDEN {
        let case = Case { values, show_regions, ..Case::of_k(&table, Way::Memory, 6) };
        let mut groups = groups_of(3, &[table.classes(&classes)]);
        for class in &classes {
            groups.blocks[0].regions.extend(table.columns.iter().map(|column| {
                let codes = class.iter().map(|&row| column[row as usize]);
                span(codes.clone().min().unwrap().saturating_sub(1), codes.max().unwrap())
            }));
        }
        let outcome = case.pass(&Silent, |door, _| door.admit_groups(groups)).unwrap();
        assert_eq!(text_hash(&outcome.texts[0]), expected, "{values:?}, {show_regions}");
    }
    let requirements = [6, 12].map(|k| table.requirement(k, &[])).to_vec();
    for way in WAYS {
        let outcome = Case::new(&table, way, requirements.clone()).pass(&Silent, |door, packer| {
            let leaves = packer.leaves(&table.classes(&classes));
            let leaves = leaves.rows(packer);
            // Classes that show the same are one, in both releases.
            let each: Vec<ClassId> = ClassId::first(classes.len()).collect();
            let shown = numbered(&door.shown_together(0, leaves, (&each, &[]))?);
            let n_shown = shown.iter().max().unwrap().get() + 1;
            let pair = |class: &ClassId| (class.get() / 2).min(n_shown / 2 - 1);
            let pairs: Vec<ClassId> = shown.iter().map(pair).map(ClassId::new).collect();
            let pairs = numbered(&door.shown_together(1, leaves, (&pairs, &[]))?);
            let of_releases = [shown, pairs].map(|classes| LeafClasses::from(Some(classes)));
            door.admit_leaves(leaves, &of_releases)
        });
        let texts = outcome.unwrap().texts;
        assert_eq!([text_hash(&texts[0]), text_hash(&texts[1])], GOLDEN_PAIR);
    }
}

/// The same classes, numbered from 0.
fn numbered(classes: &[ClassId]) -> Vec<ClassId> {
    let mut numbers: Vec<ClassId> = classes.to_vec();
    numbers.sort_unstable();
    numbers.dedup();
    let place = |class: &ClassId| numbers.binary_search(class).expect("a class that is there");
    classes.iter().map(place).map(ClassId::of_index).collect()
}

/// Hashes of the bytes, by how values are written and whether regions are shown.
const GOLDEN: [(Values, bool, u64); 4] = [
    (Values::Interval, false, 0x2430_cbc1_8dee_3be6),
    (Values::Interval, true, 0x1eb2_03fe_43f4_1bd3),
    (Values::Bounds, false, 0xadbe_820d_0489_1afc),
    (Values::Bounds, true, 0x130b_5e29_9cb2_cea0),
];

/// Of classes of 6 rows, and of pairs of them.
const GOLDEN_PAIR: [u64; 2] = [0x2430_cbc1_8dee_3be6, 0x9a7e_b433_2df7_2129];

/// The text of a release of these rows, in groups of equal ages.
fn published(rows: &[(usize, &str)], way: Way) -> String {
    const GROUPS: [&str; 3] = ["20", "30", "40"];
    let ages: Vec<&str> = rows.iter().map(|(group, _)| GROUPS[*group]).collect();
    let mut table = Table::of_ages(&ages, &vec![0; rows.len()]);
    table.notes = rows.iter().map(|(_, note)| (*note).to_owned()).collect();
    let of_group = |group: usize| -> Vec<u32> {
        (0u32..).zip(rows).filter(|(_, row)| row.0 == group).map(|(row, _)| row).collect()
    };
    let groups: Vec<Vec<u32>> = (0..3).map(of_group).filter(|rows| !rows.is_empty()).collect();
    let groups: Vec<&[u32]> = groups.iter().map(Vec::as_slice).collect();
    let columns = vec![OutputColumn::Carried(0), OutputColumn::Attribute(0)];
    let case = Case { columns, ..Case::of_k(&table, way, 1) };
    case.pass_classes(&table.classes(&groups)).expect("k is 1").texts.remove(0)
}

/// Failures stand in `order.regressions` and are replayed first.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 48,
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
    ) {
        // Nor does the way.
        let rows: Vec<(usize, &str)> =
            rows.iter().map(|(group, note)| (*group, note.as_str())).collect();
        let before = published(&rows, Way::Memory);
        let mut others = rows.clone();
        others.rotate_left(shuffled.index(rows.len()));
        let middle = others.len() / 2;
        others[middle..].reverse();
        prop_assert_eq!(&before, &published(&others, Way::Memory));
        prop_assert_eq!(&before, &published(&others, Way::Buckets(1 << 16)));
    }
}
