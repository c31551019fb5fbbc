//! Regions within regions, and what classes show beside their cells.

use albers_classes::class_block::{ClassBlock, ClassDetails};
use albers_classes::region::{ALL_CODES, span};
use albers_classes::space::Shown;
use albers_classes::{ClassRegion, FeatureValue, Span};
use albers_release::ReleaseError;
use albers_release::door::{GiantLeaf, LeafClasses};
use albers_release::publish::{FeatureColumn, FeatureKind};
use albers_storage::watch::Silent;
use albers_table::row::RowIdx;
use albers_table::schema::ColumnType;

use super::table::{Case, Outcome, Table, WAYS, Way, attribute};

/// Points in the square from 0 to 9: the first four lie around the hole, the others in it.
fn square() -> Table {
    let xs = ["0", "9", "0", "9", "4", "5", "4", "5"];
    let ys = ["0", "0", "9", "9", "4", "4", "5", "5"];
    let columns = vec![
        attribute("x", ColumnType::Integer, Shown::Interval, &xs),
        attribute("y", ColumnType::Integer, Shown::Interval, &ys),
    ];
    Table::new(columns, &[0; 8])
}

const OUTER: [Span; 2] = [span(0, 9); 2];
const INNER: [Span; 2] = [span(3, 6); 2];

fn level() -> Vec<FeatureColumn> {
    vec![FeatureColumn { name: "level".to_owned(), kind: FeatureKind::Integer }]
}

/// What there is to tell of two classes: their levels, and the hole of the first.
fn details(levels: &[i64]) -> ClassDetails {
    let features = levels.iter().map(|&level| FeatureValue::integer(level)).collect();
    let mut details = ClassDetails { features, ..ClassDetails::default() };
    details.holes.push(INNER);
    details.holes.push([]);
    details
}

fn case(table: &Table, way: Way) -> Case<'_> {
    let case = Case::of_k(table, way, 2);
    Case { features: level(), show_regions: true, is_nested: true, ..case }
}

/// Publishes two classes with these regions.
fn pass(
    case: &Case<'_>,
    classes: [&[u32]; 2],
    regions: [[Span; 2]; 2],
    details: &ClassDetails,
) -> Result<Outcome, ReleaseError> {
    case.pass(&Silent, |door, packer| {
        let mut leaves = packer.leaves(&packer.table.classes(&classes));
        leaves.regions = Some(regions.concat());
        let classes = LeafClasses { of_leaf: None, details: Some(details.clone()) };
        door.admit_leaves(leaves.rows(packer), &[classes])
    })
}

#[test]
fn nested_classes_are_published_with_their_level() {
    let table = square();
    let texts = WAYS.map(|way| {
        let case = case(&table, way);
        let details = details(&[0, 1]);
        let outcome = pass(&case, [&[0, 1, 2, 3], &[4, 5, 6, 7]], [OUTER, INNER], &details);
        let outcome = outcome.unwrap();
        assert_eq!(outcome.texts[0].lines().next(), Some("x,y,level,note"));
        let mut lines = outcome.lines();
        lines.sort_unstable();
        assert_eq!(lines[0], "\"[0, 9]\",\"[0, 9]\",0,note 0");
        assert_eq!(lines[7], "\"[3, 6]\",\"[3, 6]\",1,note 7");
        assert_eq!(outcome.classes[0].n_classes, 2);
        assert_eq!(outcome.spilled_bytes > 0, way != Way::Memory);
        outcome.texts
    });
    assert_eq!(texts[0], texts[1]);
}

#[test]
fn classes_told_by_number_may_be_nested_too() {
    let table = square();
    let outer = ClassRegion::Nested { outer: OUTER.to_vec(), holes: vec![INNER.to_vec()] };
    let inner = ClassRegion::Box(INNER.to_vec());
    let pass = |outer_rows: &[u32], inner_rows: &[u32]| {
        let mut block = ClassBlock::default();
        for (region, level, rows) in [(&outer, 0, outer_rows), (&inner, 1, inner_rows)] {
            let codes: Vec<u32> = rows.iter().flat_map(|&row| table.codes(row)).collect();
            let rows: Vec<RowIdx> = rows.iter().map(|&row| RowIdx::new(row)).collect();
            block.push_class(&rows, &codes, region, &[FeatureValue::integer(level)]);
        }
        case(&table, Way::Memory).pass(&Silent, |door, _| door.admit(0, block))
    };
    assert_eq!(pass(&[0, 1, 2, 3], &[4, 5, 6, 7]).unwrap().classes[0].n_classes, 2);
    let in_hole = pass(&[0, 1, 2, 3, 4], &[5, 6, 7]);
    assert!(matches!(in_hole, Err(ReleaseError::OutsideRegion)));
}

#[test]
fn a_row_in_a_hole_or_outside_of_its_region_is_refused() {
    let table = square();
    for way in WAYS {
        let case = case(&table, way);
        let details = details(&[0, 1]);
        let in_hole = pass(&case, [&[0, 1, 2, 3, 4], &[5, 6, 7]], [OUTER, INNER], &details);
        assert!(matches!(in_hole, Err(ReleaseError::OutsideRegion)));
        let outside = pass(&case, [&[1, 2, 3], &[4, 5, 6, 7, 0]], [OUTER, INNER], &details);
        assert!(matches!(outside, Err(ReleaseError::OutsideRegion)));
        // Bounds are told by the rows then; regions are checked all the same.
        let tight = Case { show_regions: false, ..self::case(&table, way) };
        let in_hole = pass(&tight, [&[0, 1, 2, 3, 4], &[5, 6, 7]], [OUTER, INNER], &details);
        assert!(matches!(in_hole, Err(ReleaseError::OutsideRegion)));
        let inside = pass(&tight, [&[0, 1, 2, 3], &[4, 5, 6, 7]], [OUTER, INNER], &details);
        assert!(inside.unwrap().texts[0].contains("\"[4, 5]\",\"[4, 5]\",1,note 4"));
    }
}

#[test]
fn equal_boxes_of_different_levels_are_two_classes_and_without_levels_one() {
    let table = square();
    let rows: [&[u32]; 2] = [&[0, 1, 2], &[3, 4, 5, 6, 7]];
    for way in WAYS {
        // Each has enough rows only together with the other.
        let boxes = Case { is_nested: false, ..case(&table, way) };
        let of_levels = |levels: &[i64]| ClassDetails {
            features: levels.iter().map(|&level| FeatureValue::integer(level)).collect(),
            ..ClassDetails::default()
        };
        let n_classes = |levels: &[i64]| {
            let outcome = pass(&boxes, rows, [OUTER, OUTER], &of_levels(levels)).unwrap();
            (outcome.classes[0].n_classes, outcome.classes[0].min)
        };
        assert_eq!(n_classes(&[0, 1]), (2, 3));
        assert_eq!(n_classes(&[1, 1]), (1, 8));
        let strict = Case { requirements: vec![table.requirement(4, &[])], ..boxes };
        let apart = pass(&strict, rows, [OUTER, OUTER], &of_levels(&[0, 1]));
        assert!(matches!(apart, Err(ReleaseError::RequirementViolated { n_rows: 3, .. })));
        let dropped = Case { features: Vec::new(), ..strict };
        let outcome = pass(&dropped, rows, [OUTER, OUTER], &ClassDetails::default()).unwrap();
        assert_eq!(outcome.classes[0].n_classes, 1);
        assert_eq!(outcome.texts[0].lines().next(), Some("x,y,note"));
    }
}

#[test]
fn classes_without_what_they_should_show_are_refused() {
    let table = square();
    let rows: [&[u32]; 2] = [&[0, 1, 2, 3], &[4, 5, 6, 7]];
    for way in WAYS {
        for levels in [&[][..], &[0], &[0, 1, 2]] {
            let outcome = pass(&case(&table, way), rows, [OUTER, INNER], &details(levels));
            assert!(matches!(outcome, Err(ReleaseError::Incomplete { .. })), "{levels:?}");
        }
        let no_regions = case(&table, way).pass(&Silent, |door, packer| {
            let leaves = packer.leaves(&table.classes(&rows));
            let classes = LeafClasses { of_leaf: None, details: Some(details(&[0, 1])) };
            door.admit_leaves(leaves.rows(packer), &[classes])
        });
        assert!(matches!(no_regions, Err(ReleaseError::Incomplete { .. })));
    }
}

#[test]
fn a_giant_shows_its_features_and_keeps_out_of_its_holes() {
    // Ages from 20 to 59; the hole is that of all ages from 70 on.
    let ages: Vec<String> = (0..3000).map(|row| (20 + row % 40).to_string()).collect();
    let ages: Vec<&str> = ages.iter().map(String::as_str).collect();
    let table = Table::of_ages(&ages, &vec![0; ages.len()]);
    let rows: Vec<u32> = (0..3000).collect();
    let mean = FeatureColumn { name: "mean".to_owned(), kind: FeatureKind::Number };
    let pass = |way, holes: &[Span]| {
        let case = Case { features: vec![mean.clone()], ..case(&table, way) };
        case.pass(&Silent, |door, packer| {
            let mut bytes = Vec::new();
            packer.pack(table.classes(&[&rows])[0].iter()).write_to(&mut bytes);
            let blocks = [packer.store.put(bytes)?];
            door.admit_giant(GiantLeaf {
                layout: packer.layout,
                store: packer.store,
                blocks: &blocks,
                region: Some(&[ALL_CODES]),
                holes,
                features: &[FeatureValue::number(39.5)],
            })
        })
    };
    let texts = WAYS.map(|way| {
        let outcome = pass(way, &[span(50, 60)]).unwrap();
        assert_eq!(outcome.n_parts[0][1], usize::from(way != Way::Memory));
        assert!(outcome.lines().iter().all(|line| line.starts_with("\"[20, 59]\",39.5,note")));
        assert!(matches!(pass(way, &[span(39, 60)]), Err(ReleaseError::OutsideRegion)));
        outcome.texts
    });
    assert_eq!(texts[0], texts[1]);
}
