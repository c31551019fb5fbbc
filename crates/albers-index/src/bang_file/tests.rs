use albers_classes::points::Points;
use albers_classes::region::span;
use albers_partition::split::rule::Rule;
use albers_privacy::{Criterion, Facts, GroundDistance, Requirement, SensitiveColumn};
use albers_storage::watch::Silent;
use proptest::prelude::*;

use super::scale::Scale;
use super::*;
use crate::drawn::column;

/// Whole numbers, row by row, as points with a scale for each attribute.
fn points_of(rows: &[Vec<i64>]) -> (Points, Vec<Scale>) {
    let attributes = (0..rows[0].len()).map(|at| column(rows.iter().map(|row| Some(row[at]))));
    let (attributes, codes): (Vec<_>, Vec<_>) = attributes.unzip();
    let points = Points::new(codes);
    let scales = attributes.iter().enumerate();
    let scales = scales.map(|(at, own)| Scale::of(None, own, (&points, at)).unwrap()).collect();
    (points, scales)
}

fn codes_of(points: &Points) -> Vec<Vec<u32>> {
    let columns = &points.chunks()[0].columns;
    (0..points.n_rows()).map(|row| columns.iter().map(|codes| codes[row]).collect()).collect()
}

fn of_rows(min_rows: usize) -> Allowance<'static> {
    Allowance { min_rows, rule: None }
}

fn built(rows: &[Vec<i64>], allowance: Allowance<'_>, nests: bool) -> (BangFile, Vec<Vec<u32>>) {
    let (points, scales) = points_of(rows);
    let codes = codes_of(&points);
    (built_of(&codes, scales, allowance, nests, WHOLE), codes)
}

/// Sizes with which no block is divided by lots.
const WHOLE: LotSizes = LotSizes { large_rows: 1 << 17, lot_rows: 1 << 17 };

fn built_of(
    codes: &[Vec<u32>],
    scales: Vec<Scale>,
    allowance: Allowance<'_>,
    nests: bool,
    lot_sizes: LotSizes,
) -> BangFile {
    let plan = BangPlan { space: HalvedSpace::new(scales).into(), allowance, nests, lot_sizes };
    let of_row = |row: usize, out: &mut [u32]| out.copy_from_slice(&codes[row]);
    BangFile::build(codes.len(), of_row, &plan, &Silent).unwrap()
}

/// The rows of all blocks as values, with their depths: whatever the order of the rows, the same.
fn content(file: &BangFile, rows: &[Vec<i64>]) -> Vec<(u32, Vec<Vec<i64>>)> {
    let mut all: Vec<_> = (0..file.n_blocks() as u32)
        .map(|block| {
            let mut own: Vec<_> =
                file.rows_of(block).map(|row| rows[row as usize].clone()).collect();
            own.sort();
            (file.nesting().depth(block), own)
        })
        .collect();
    all.sort();
    all
}

/// Figure 3b of Raschia & Anjum 2011: six points, three to a block.
#[test]
fn a_region_within_a_region_divides_what_no_cut_divides() {
    let rows: Vec<Vec<i64>> =
        [[1, 2], [2, 1], [2, 2], [2, 2], [2, 3], [3, 2]].map(|point| point.to_vec()).into();
    for (at, cut) in [(0, 1), (0, 2), (1, 1), (1, 2)] {
        assert_ne!(rows.iter().filter(|row| row[at] <= cut).count(), 3, "every cut fails");
    }
    let (flat, _) = built(&rows, of_rows(3), false);
    assert_eq!(flat.n_blocks(), 1, "and so do boxes side by side");
    let (file, codes) = built(&rows, of_rows(3), true);
    file.check_invariants(&codes, |own| own.len() == 3);
    let of = |points: [[i64; 2]; 3]| points.map(|point| point.to_vec()).to_vec();
    assert_eq!(
        content(&file, &rows),
        [(0, of([[1, 2], [2, 3], [3, 2]])), (1, of([[2, 1], [2, 2], [2, 2]]))]
    );
    let inner = (0..2).find(|&block| file.nesting().depth(block) == 1).unwrap();
    assert_eq!(file.region_box(inner), [span(1, 1), span(0, 1)]);
    assert_eq!(file.region_number(inner).unwrap().to_string(), "(4, 3)");
}

/// Figure 5 of Anjum & Raschia 2017, as far as its text tells: A holds B, D and G directly, B holds C,
/// and D holds E and F. With it the point query of Raschia & Anjum 2011, section 3.2.
#[test]
fn regions_of_the_paper_lie_in_each_other_as_it_says() {
    let rows: Vec<Vec<i64>> = (0..64).map(|at| vec![at / 8, at % 8]).collect();
    let (points, scales) = points_of(&rows);
    let (space, codes) = (HalvedSpace::new(scales), codes_of(&points));
    let keys = SortedKeys::of(&space, 64, |row, out| out.copy_from_slice(&codes[row]));
    let starts = |key: &[u64], bits: &str| {
        bits.bytes().enumerate().all(|(at, own)| key::bit(key, at) == (own == b'1'))
    };
    let regions = ["", "00", "0010", "1", "100", "1110", "01"];
    let blocks: Vec<Block> = regions
        .iter()
        .map(|bits| {
            let at = (0..64).find(|&place| starts(keys.key(place), bits)).unwrap();
            Block { n_bits: bits.len() as u32, places: vec![at] }
        })
        .collect();
    let region_of = |block: u32| region(&keys, &blocks[block as usize]);
    let nesting = Nesting::of(blocks.len(), region_of);
    let [a, b, c, d, e, f, g] = [0, 1, 2, 3, 4, 5, 6];
    assert_eq!([a, b, c, d, e, f, g].map(|block| nesting.depth(block)), [0, 1, 2, 1, 2, 2, 1]);
    assert_eq!(nesting.children(a), [b, g, d]);
    assert_eq!((nesting.children(b), nesting.children(d)), (&[c][..], &[e, f][..]));
    for place in 0..64 {
        let key = keys.key(place);
        let around = (0..7).filter(|&block| starts(key, regions[block as usize]));
        let innermost = around.max_by_key(|&block| nesting.depth(block));
        assert_eq!(nesting.search(key, region_of), innermost);
    }
    let in_e = (0..64).find(|&place| starts(keys.key(place), "1001")).unwrap();
    let around: Vec<(u32, u32)> = (0..7)
        .filter(|&block| starts(keys.key(in_e), regions[block as usize]))
        .map(|block| (block, nesting.depth(block)))
        .collect();
    assert_eq!(around, [(a, 0), (d, 1), (e, 2)]);
}

#[test]
fn one_value_everywhere_is_one_block() {
    for nests in [false, true] {
        let rows = vec![vec![7, 7]; 50];
        let (file, codes) = built(&rows, of_rows(2), nests);
        assert_eq!(file.n_blocks(), 1);
        file.check_invariants(&codes, |own| own.len() == 50);
        assert_eq!(file.region_number(0), Some(RegionNumber { number: 0, level: 0 }));
    }
}

#[test]
fn a_third_of_the_rows_at_least_is_on_each_side_of_a_split() {
    // Concentrated rows, all of them different: no block of three times k is left whole.
    let rows: Vec<Vec<i64>> =
        (0..2000i64).map(|at| vec![at * at % 4093, at * at * at % 100_003]).collect();
    let (file, codes) = built(&rows, of_rows(10), true);
    file.check_invariants(&codes, |own| (10..30).contains(&own.len()));
}

#[test]
fn many_attributes_and_heavy_duplicates_are_divided() {
    let rows: Vec<Vec<i64>> = (0..300i64)
        .map(|row| {
            (0..64).map(|at| if row % 3 == 0 { 5 } else { row * (at + 7) % 1_000_000 }).collect()
        })
        .collect();
    for nests in [false, true] {
        let (file, codes) = built(&rows, of_rows(4), nests);
        assert!(!nests || file.n_blocks() > 20, "{}", file.n_blocks());
        file.check_invariants(&codes, |own| own.len() >= 4);
    }
}

fn rows_strategy() -> impl Strategy<Value = Vec<Vec<i64>>> {
    let values = prop_oneof![2 => 0i64..4, 2 => 0i64..60, 1 => any::<i64>()];
    (1usize..4).prop_flat_map(move |n_attributes| {
        let row = prop::collection::vec(values.clone(), n_attributes);
        prop::collection::vec(row, 1..70)
    })
}

proptest! {
    #[test]
    fn every_file_keeps_its_invariants_in_any_order(
        mut rows in rows_strategy(),
        min_rows in 1usize..6,
        nests in any::<bool>(),
    ) {
        let min_rows = min_rows.min(rows.len());
        let (file, codes) = built(&rows, of_rows(min_rows), nests);
        file.check_invariants(&codes, |own| own.len() >= min_rows);
        let found = content(&file, &rows);
        for order in 0..2 {
            match order {
                0 => rows.reverse(),
                _ => rows.sort(),
            }
            let (file, _) = built(&rows, of_rows(min_rows), nests);
            prop_assert_eq!(&content(&file, &rows), &found);
        }
    }

    /// With lots as small as blocks, most blocks are divided by them: without nesting nothing changes,
    /// with it only regions that are smaller than lots are left.
    #[test]
    fn blocks_that_are_divided_by_lots_keep_their_invariants(
        mut rows in rows_strategy(),
        min_rows in 1usize..6,
        (large_rows, lot_rows) in (4usize..30).prop_flat_map(|large| (Just(large), 1..=large)),
    ) {
        let min_rows = min_rows.min(rows.len());
        let sizes = LotSizes { large_rows, lot_rows };
        for nests in [false, true] {
            let (points, scales) = points_of(&rows);
            let codes = codes_of(&points);
            let file = built_of(&codes, scales, of_rows(min_rows), nests, sizes);
            file.check_invariants(&codes, |own| own.len() >= min_rows);
            let found = content(&file, &rows);
            rows.reverse();
            let (points, scales) = points_of(&rows);
            let again = built_of(&codes_of(&points), scales, of_rows(min_rows), nests, sizes);
            prop_assert_eq!(&content(&again, &rows), &found);
            if !nests || lot_rows <= min_rows {
                let (whole, _) = built(&rows, of_rows(min_rows), nests);
                prop_assert_eq!(&content(&whole, &rows), &found);
            }
        }
    }

    #[test]
    fn a_rule_holds_in_every_block(
        rows in rows_strategy(),
        secrets in prop::collection::vec(0u32..3, 70),
        k in 1u64..5,
        nests in any::<bool>(),
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
        let (file, codes) = built(&rows, allowance, nests);
        file.check_invariants(&codes, |own| {
            let mut values: Vec<u32> = own.iter().map(|&row| secrets[row as usize]).collect();
            values.sort_unstable();
            values.dedup();
            own.len() as u64 >= k && values.len() >= l
        });
    }
}
