use albers_classes::region::span;
use albers_classes::{Attribute, Span};
use albers_partition::split::rule::Rule;
use albers_privacy::{Criterion, Facts, GroundDistance, Requirement, SensitiveColumn};
use albers_storage::watch::Silent;
use proptest::prelude::*;

use super::*;
use crate::drawn::column;

const ALL: [Relative; 6] = [
    Relative::KdTrie,
    Relative::PrQuadtree,
    Relative::KdBTrie,
    Relative::GridFile,
    Relative::BdTree,
    Relative::HbTree,
];

/// Whole numbers, row by row, as points; a missing one is `None`.
struct Table {
    points: Points,
    attributes: Vec<Attribute>,
    codes: Vec<Vec<u32>>,
}

fn table(rows: &[Vec<Option<i64>>]) -> Table {
    let attributes = (0..rows[0].len()).map(|at| column(rows.iter().map(|row| row[at])));
    let (attributes, codes): (Vec<_>, Vec<_>) = attributes.unzip();
    let points = Points::new(codes);
    let columns = &points.chunks()[0].columns;
    let codes =
        (0..points.n_rows()).map(|row| columns.iter().map(|codes| codes[row]).collect()).collect();
    Table { points, attributes, codes }
}

impl Table {
    fn scales(&self, spec: Option<&str>) -> Vec<Scale> {
        let spec = spec.map(|spec| spec.parse().unwrap());
        let attributes = self.attributes.iter().enumerate();
        attributes
            .map(|(at, own)| Scale::of(spec.as_ref(), own, (&self.points, at)).unwrap())
            .collect()
    }

    fn divide(self, relative: Relative, spec: Option<&str>, allowance: Allowance<'_>) -> Division {
        let space = Space { axes: self.attributes.iter().map(Attribute::axis).collect() };
        let scales = self.scales(spec);
        let plan = AccessPlan { relative, scales, space: &space, allowance };
        divide(self.points, plan, &Silent).unwrap()
    }
}

fn of_rows(min_rows: usize) -> Allowance<'static> {
    Allowance { min_rows, rule: None }
}

fn whole(rows: &[Vec<i64>]) -> Vec<Vec<Option<i64>>> {
    rows.iter().map(|row| row.iter().copied().map(Some).collect()).collect()
}

type Content = Vec<(Option<u32>, Vec<Vec<Option<i64>>>)>;

/// The rows of all buckets as values, with their depths: whatever the order of the rows, the same.
fn content(division: &Division, rows: &[Vec<Option<i64>>]) -> Content {
    let mut all: Vec<_> = (0..division.n_buckets())
        .map(|bucket| {
            let own = division.rows_of(bucket).iter();
            let mut own: Vec<_> = own.map(|&row| rows[row as usize].clone()).collect();
            own.sort();
            (division.depth(bucket), own)
        })
        .collect();
    all.sort();
    all
}

/// Figure 3b of Raschia & Anjum 2011: six points, three to a block.
#[test]
fn a_block_within_a_region_divides_what_no_boxes_side_by_side_do() {
    let rows: Vec<Vec<i64>> =
        [[1, 2], [2, 1], [2, 2], [2, 2], [2, 3], [3, 2]].map(|point| point.to_vec()).into();
    for (at, cut) in [(0, 1), (0, 2), (1, 1), (1, 2)] {
        assert_ne!(rows.iter().filter(|row| row[at] <= cut).count(), 3, "every cut fails");
    }
    let rows = whole(&rows);
    for relative in ALL {
        let table = table(&rows);
        let codes = table.codes.clone();
        let division = table.divide(relative, None, of_rows(3));
        division.check_invariants(&codes, |own| own.len() >= 3);
        assert_eq!(division.n_buckets(), 1 + usize::from(relative.is_nested()), "{relative:?}");
    }
    let division = table(&rows).divide(Relative::BdTree, None, of_rows(3));
    let inner = (0..2).find(|&bucket| division.depth(bucket) == Some(1)).unwrap();
    assert_eq!(division.region_box(inner), [span(1, 1), span(0, 1)]);
}

#[test]
fn one_value_everywhere_is_one_bucket() {
    for relative in ALL {
        let table = table(&whole(&vec![vec![7, 7]; 50]));
        let codes = table.codes.clone();
        let division = table.divide(relative, None, of_rows(2));
        assert_eq!(division.n_buckets(), 1);
        division.check_invariants(&codes, |own| own.len() == 50);
    }
}

#[test]
fn no_rows_are_no_bucket() {
    for relative in ALL {
        let table = table(&whole(&[vec![1]]));
        let points = Points::new(vec![vec![Vec::new()]]);
        let empty = Table { points, ..table };
        assert_eq!(empty.divide(relative, None, of_rows(2)).n_buckets(), 0);
    }
}

/// In the order of the figure above the module: what each method divides that the one before it
/// does not.
#[test]
fn each_method_divides_as_it_says() {
    let sizes = |relative: Relative, rows: &[Vec<i64>], min_rows: usize| {
        let division = table(&whole(rows)).divide(relative, None, of_rows(min_rows));
        let buckets = 0..division.n_buckets();
        let mut sizes: Vec<usize> = buckets.map(|own| division.rows_of(own).len()).collect();
        sizes.sort_unstable();
        sizes
    };
    // Two rows to the left and six to the right, four to either half of the second attribute.
    let uneven: Vec<Vec<i64>> = [[0, 0], [1, 3]]
        .into_iter()
        .chain([[2, 0], [3, 1], [3, 0], [2, 3], [3, 2], [3, 3]])
        .map(Vec::from)
        .collect();
    assert_eq!(sizes(Relative::KdTrie, &uneven, 3), [8], "only the first attribute is tried");
    assert_eq!(sizes(Relative::KdBTrie, &uneven, 3), [4, 4], "any attribute will do");
    assert_eq!(sizes(Relative::GridFile, &uneven, 3), [4, 4]);
    // A quarter of the four is empty: three parts, all at once.
    let quarters: Vec<Vec<i64>> =
        [[0, 0], [1, 1], [0, 3], [1, 2], [3, 3], [2, 2]].map(Vec::from).into();
    assert_eq!(sizes(Relative::PrQuadtree, &quarters, 2), [2, 2, 2]);
    assert_eq!(sizes(Relative::PrQuadtree, &quarters, 3), [6], "two of a quarter are too few");
    assert_eq!(sizes(Relative::KdTrie, &quarters, 2), [2, 2, 2]);
}

#[test]
fn a_line_of_a_grid_file_is_used_by_other_buckets_before_new_ones_are_drawn() {
    // Both halves of the first attribute are cut on the second: at 8, where one of them lies in
    // the upper half alone and would be halved at 12 by any method that halves.
    let low = (0..8i64).map(|at| vec![0, 2 * at]);
    let high = (0..8i64).map(|at| vec![1, 7 + at]);
    let rows = whole(&low.chain(high).collect::<Vec<_>>());
    let grid = table(&rows).divide(Relative::GridFile, None, of_rows(3));
    let boxes = || (0..grid.n_buckets()).map(|bucket| grid.region_box(bucket)[1]);
    let mut spans: Vec<Span> = boxes().collect();
    spans.sort_unstable();
    spans.dedup();
    let lines: Vec<u32> = spans.iter().map(|span| span.0.get()).filter(|&lo| lo > 0).collect();
    assert!(lines.contains(&8), "{spans:?}");
    for span in boxes() {
        let ends_at_line = |code: u32| code == 0 || code == 15 || lines.contains(&code);
        assert!(ends_at_line(span.0.get()) && ends_at_line((span.1.get() + 1).min(15)), "{span:?}");
    }
}

#[test]
fn a_directory_that_explodes_is_refused_with_its_size() {
    // Attributes that rise together: a line divides one bucket, and is of no use to any other.
    let rows: Vec<Vec<i64>> = (0..400i64).map(|row| vec![row; 8]).collect();
    let own = table(&whole(&rows));
    let space = Space { axes: own.attributes.iter().map(Attribute::axis).collect() };
    let plan = AccessPlan {
        relative: Relative::GridFile,
        scales: own.scales(None),
        space: &space,
        allowance: of_rows(2),
    };
    match divide(own.points, plan, &Silent) {
        Err(Stop::Directory { n_cells }) => assert!(n_cells > MAX_CELLS),
        other => panic!("{:?}", other.map(|division| division.n_buckets())),
    }
}

#[test]
fn a_third_of_the_rows_at_least_is_on_each_side_of_a_block() {
    // Concentrated rows, all of them different: no bucket of three times k is left whole.
    let rows: Vec<Vec<i64>> =
        (0..2000i64).map(|at| vec![at * at % 4093, at * at * at % 100_003]).collect();
    for relative in [Relative::BdTree, Relative::HbTree] {
        let table = table(&whole(&rows));
        let codes = table.codes.clone();
        let division = table.divide(relative, None, of_rows(10));
        division.check_invariants(&codes, |own| (10..30).contains(&own.len()));
    }
}

#[test]
fn many_attributes_and_heavy_duplicates_are_divided() {
    let rows: Vec<Vec<i64>> = (0..300i64)
        .map(|row| {
            (0..64).map(|at| if row % 3 == 0 { 5 } else { row * (at + 7) % 1_000_000 }).collect()
        })
        .collect();
    for relative in [Relative::KdTrie, Relative::KdBTrie, Relative::BdTree, Relative::HbTree] {
        let table = table(&whole(&rows));
        let codes = table.codes.clone();
        let division = table.divide(relative, None, of_rows(4));
        assert!(!relative.is_nested() || division.n_buckets() > 20, "{relative:?}");
        division.check_invariants(&codes, |own| own.len() >= 4);
    }
}

fn rows_strategy() -> impl Strategy<Value = Vec<Vec<Option<i64>>>> {
    let values = prop_oneof![2 => 0i64..4, 2 => 0i64..60, 1 => any::<i64>()];
    let values = prop_oneof![9 => values.prop_map(Some), 1 => Just(None)];
    (1usize..4).prop_flat_map(move |n_attributes| {
        let row = prop::collection::vec(values.clone(), n_attributes);
        // A column of nothing but missing values has no type.
        prop::collection::vec(row, 1..70).prop_map(|mut rows: Vec<Vec<Option<i64>>>| {
            rows[0].iter_mut().for_each(|cell| *cell = cell.or(Some(1)));
            rows
        })
    })
}

fn spec_strategy() -> impl Strategy<Value = Option<&'static str>> {
    prop::sample::select(&[None, Some("quantile"), Some("equal:3"), Some("equal:-5..50:6")][..])
}

proptest! {
    #[test]
    fn every_division_keeps_its_invariants_in_any_order(
        mut rows in rows_strategy(),
        min_rows in 1usize..6,
        relative in prop::sample::select(&ALL[..]),
        spec in spec_strategy(),
    ) {
        let min_rows = min_rows.min(rows.len());
        let own = table(&rows);
        let codes = own.codes.clone();
        let division = own.divide(relative, spec, of_rows(min_rows));
        division.check_invariants(&codes, |own| own.len() >= min_rows);
        let found = content(&division, &rows);
        for order in 0..2 {
            match order {
                0 => rows.reverse(),
                _ => rows.sort(),
            }
            let division = table(&rows).divide(relative, spec, of_rows(min_rows));
            prop_assert_eq!(&content(&division, &rows), &found);
        }
    }

    #[test]
    fn a_rule_holds_in_every_bucket(
        rows in rows_strategy(),
        secrets in prop::collection::vec(0u32..3, 70),
        k in 1u64..5,
        relative in prop::sample::select(&ALL[..]),
    ) {
        let secrets = &secrets[..rows.len()];
        let mut distinct = secrets.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let k = k.min(rows.len() as u64);
        let l = distinct.len().min(2);
        let column = SensitiveColumn {
            name: "secret".to_owned(),
            n_values: 3,
            distance: GroundDistance::Equal,
            numbers: None,
        };
        let criterion = Criterion::DistinctLDiversity { l: l as u32 };
        let requirement = Requirement::new(k, false, vec![column], vec![(0, criterion)]).unwrap();
        let facts =
            Facts { subjects: Vec::new(), sensitive: secrets.to_vec(), n_sensitive: 1 };
        let rule = Some(Rule { requirement: &requirement, facts: &facts });
        let allowance = Allowance { min_rows: requirement.min_rows() as usize, rule };
        let own = table(&rows);
        let codes = own.codes.clone();
        let division = own.divide(relative, None, allowance);
        division.check_invariants(&codes, |own| {
            let mut values: Vec<u32> = own.iter().map(|&row| secrets[row as usize]).collect();
            values.sort_unstable();
            values.dedup();
            own.len() as u64 >= k && values.len() >= l
        });
    }
}
