//! What must be true of the index of any table.

use std::collections::{BTreeMap, BTreeSet};

use albers_classes::points::Points;
use albers_classes::region::is_in_box;
use albers_classes::{ClassId, Region, Span};
use albers_index::buffer_tree::Sizes;
use albers_partition::grain::Grain;
use albers_partition::mondrian::{Plan, partition_counted};
use albers_partition::split::Policy;
use albers_partition::top::SampledTops;
use albers_privacy::{Criterion, Facts};
use albers_storage::watch::Silent;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::giant;
use super::load::{GRANULARITIES, Outcome, Piece, Setup, load, tuples_of};
use super::oracle;
use super::table::{Asked, Table};

/// So many cases, unless `PROPTEST_CASES` asks for another number.
pub fn config(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(cases),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    }
}

/// A seed, rows and attributes.
pub fn sizes() -> impl Strategy<Value = (u64, usize, usize)> {
    let n_rows = prop_oneof![1 => 1..100usize, 2 => 100..=400usize];
    (any::<u64>().no_shrink(), n_rows, 1..=4usize)
}

pub fn policies() -> impl Strategy<Value = Policy> {
    prop_oneof![Just(Policy::Compact), Just(Policy::Median), Just(Policy::Sizes)]
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn leaves_hold_every_row_once_and_each_satisfies_the_requirement(
        (seed, n_rows, n_attributes) in sizes(), policy in policies()
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, true);
        let outcome = load(&table, &Setup::draw(seed, policy, false), 1);
        check_rows(&table, &outcome);
        check_leaves(&table, &outcome);
    }

    #[test]
    fn the_index_depends_neither_on_the_threads_nor_on_what_stays_in_memory(
        (seed, n_rows, n_attributes) in sizes(), policy in policies()
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, true);
        let setup = Setup::draw(seed, policy, true);
        let (one, four) = (load(&table, &setup, 1), load(&table, &setup, 4));
        prop_assert!(one == four, "one thread and four threads build different trees");
        let all_spilled = Setup { room_bytes: setup.budget_bytes, ..setup };
        let spilled = load(&table, &all_spilled, 4);
        prop_assert!(one == spilled, "the tree depends on what stays in memory");
    }

    #[test]
    fn leaves_and_classes_are_the_same_whatever_the_memory_and_the_order_of_the_rows(
        (seed, n_rows, n_attributes) in sizes(), policy in policies()
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, true);
        let setup = Setup::draw(seed, policy, true);
        let found = content(&load(&table, &setup, 1), |row| row);
        let roomy = Sizes { part_bytes: 100 << 10, ..setup.sizes };
        let narrow = Sizes { part_bytes: 300, buffer_bytes: 512, block_bytes: 256 };
        for sizes in [roomy, narrow] {
            let other = load(&table, &Setup { sizes, ..setup }, 2);
            prop_assert!(content(&other, |row| row) == found, "the index depends on the memory");
        }
        let last = n_rows as u32 - 1;
        let reversed = load(&table.reversed(), &setup, 1);
        let is_same = content(&reversed, |row| last - row) == found;
        prop_assert!(is_same, "the index depends on the order of the rows");
    }

    #[test]
    fn the_index_has_the_leaves_and_the_regions_of_mondrian_whatever_coarser_classes_are_made(
        (seed, n_rows, n_attributes) in sizes(), policy in policies()
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, true);
        let setup = Setup::draw(seed, policy, true);
        let (leaves, _) = content(&load(&table, &setup, 1), |row| row);
        prop_assert!(leaves == mondrian(&table, &setup), "other leaves, or other regions");
    }

    #[test]
    fn regions_hold_their_rows_and_tile_the_space(
        (seed, n_rows, n_attributes) in sizes(), policy in policies(), with_labels in any::<bool>()
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, with_labels);
        let outcome = load(&table, &Setup::draw(seed, policy, true), 1);
        check_regions(&table, &outcome);
    }

    #[test]
    fn coarser_classes_are_numbered_in_order_and_satisfy_the_coarser_requirement(
        (seed, n_rows, n_attributes) in sizes(), policy in policies()
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, true).with_k(2);
        let outcome = load(&table, &Setup::draw(seed, policy, false), 1);
        check_classes(&table, &outcome);
    }

    #[test]
    fn releases_are_nested_as_they_are_shown_and_any_of_them_leave_the_least_k(
        (seed, n_rows, n_attributes) in sizes(), policy in policies()
    ) {
        let table = Table::draw(seed, n_rows, n_attributes, true).with_k(2);
        let outcome = load(&table, &Setup::draw(seed, policy, false), 1);
        (0..GRANULARITIES.len()).for_each(|granularity| check_nested(&table, &outcome, granularity));
    }
}

/// The tables above would prove little if they all fitted in memory.
#[test]
fn drawn_tables_are_divided_twice_and_leave_giants_and_many_leaves() {
    let (mut n_divided, mut n_divided_again, mut n_giants, mut n_coarser) = (0, 0, 0, 0);
    for seed in 0..200 {
        let table = Table::draw(seed, 400, 1 + seed as usize % 4, true);
        let setup = Setup::draw(seed, Policy::Compact, false);
        let outcome = load(&table, &setup, 1);
        let n_subtrees = outcome.pieces.len() - outcome.n_giants();
        n_divided += usize::from(n_subtrees > 1);
        n_divided_again += usize::from(has_deep_parts(&table, &setup, &outcome));
        n_giants += outcome.n_giants();
        let has_several = |own: &Vec<ClassId>| own.iter().max() > Some(&ClassId::new(0));
        let is_coarser = |piece: &Piece| piece.coarsest().all(has_several);
        let n_leaves = outcome.leaves().count();
        n_coarser += usize::from(n_leaves > 9 && outcome.pieces.iter().any(is_coarser));
    }
    let counts = [n_divided, n_divided_again, n_giants, n_coarser];
    assert!(counts.iter().all(|&count| count > 5), "{counts:?}");
}

/// Whether a kept cell of the first top was divided by a top of its own: another setup, in which
/// all is cut at once, has other leaves.
fn has_deep_parts(table: &Table, setup: &Setup, outcome: &Outcome) -> bool {
    let whole = Grain { whole_rows: table.n_rows, ..setup.grain };
    let other = load(table, &Setup { grain: whole, ..*setup }, 1);
    outcome.pieces.len() > 2 && content(&other, |row| row) != content(outcome, |row| row)
}

/// The classes of the same table by Mondrian, as the leaves of [`content`].
fn mondrian(table: &Table, setup: &Setup) -> Leaves {
    mondrian_counted(table, setup).0
}

/// The same, with what became of the trees that were grown on samples.
pub fn mondrian_counted(table: &Table, setup: &Setup) -> (Leaves, Option<SampledTops>) {
    let n_attributes = table.rows[0].len();
    let column = |axis: usize| vec![table.rows.iter().map(|row| row[axis]).collect()];
    let points = Points::new((0..n_attributes).map(column).collect());
    let secrets = |row: usize| table.secrets.iter().map(move |column| column[row]);
    let facts = Facts {
        subjects: table.subjects.iter().map(|&subject| u64::from(subject)).collect(),
        sensitive: (0..table.n_rows).flat_map(secrets).collect(),
        n_sensitive: table.secrets.len(),
    };
    let requirement = table.requirement(&table.asked);
    let plan = Plan {
        space: &table.space,
        requirement: &requirement,
        facts: &facts,
        policy: setup.policy,
        keep_regions: true,
        workload: None,
        labels_apart: setup.trust.is_none(),
        is_exact: false,
        trust: setup.trust,
        portfolio: None,
        grain: setup.grain,
        seed: 1,
    };
    let counts_facts = setup.trust.is_some() && !table.secrets.is_empty();
    // Without facts, as a table in memory has its sample.
    let tuples =
        tuples_of(table, &Setup { trust: setup.trust.filter(|_| !counts_facts), ..*setup });
    let (groups, tops) =
        partition_counted(points, Some(tuples), &plan, &Silent).expect("nothing cancels it");
    let mut leaves = Vec::new();
    for block in &groups.blocks {
        for (class, rows) in block.classes().enumerate() {
            let mut rows: Vec<u32> = block.row_idxs[rows].iter().map(|row| row.get()).collect();
            rows.sort_unstable();
            let region = block.regions[class * n_attributes..(class + 1) * n_attributes].to_vec();
            leaves.push((rows, Some(region)));
        }
    }
    leaves.sort();
    (leaves, tops)
}

/// What an index says, without any order: each leaf as its rows and its region, and each class as
/// its rows. `row` gives the rows their numbers in the table.
type Content = (Leaves, Vec<Vec<Vec<u32>>>);

/// The rows and the region of each leaf.
pub type Leaves = Vec<(Vec<u32>, Option<Region>)>;

fn content(outcome: &Outcome, row: impl Fn(u32) -> u32) -> Content {
    let sorted = |rows: &[u32]| {
        let mut rows: Vec<u32> = rows.iter().map(|&own| row(own)).collect();
        rows.sort_unstable();
        rows
    };
    let mut leaves: Vec<_> =
        outcome.leaves().map(|leaf| (sorted(&leaf.rows), leaf.region.clone())).collect();
    leaves.sort();
    let n_releases = outcome.pieces.first().map_or(0, |piece| piece.releases[0].len());
    let classes_of = |granularity: usize, release: usize| {
        let of_release = classes_of(outcome, granularity, release);
        let mut classes: Vec<Vec<u32>> = of_release.iter().map(|rows| sorted(rows)).collect();
        classes.sort();
        classes
    };
    let releases = (0..GRANULARITIES.len())
        .flat_map(|granularity| (0..n_releases).map(move |release| (granularity, release)));
    (leaves, releases.map(|(granularity, release)| classes_of(granularity, release)).collect())
}

/// The rows of each class of a release.
fn classes_of(outcome: &Outcome, granularity: usize, release: usize) -> Vec<Vec<u32>> {
    let mut classes: Vec<Vec<u32>> = Vec::new();
    for piece in &outcome.pieces {
        let mut rows_of: BTreeMap<ClassId, Vec<u32>> = BTreeMap::new();
        for (leaf, &class) in piece.leaves.iter().zip(&piece.releases[granularity][release]) {
            rows_of.entry(class).or_default().extend(&leaf.rows);
        }
        classes.extend(rows_of.into_values());
    }
    classes
}

/// More leaves than are weighed in one stretch, and classes that are made of others.
#[test]
fn classes_of_many_leaves_satisfy_the_requirement() {
    let mut setup = Setup::draw(0, Policy::Median, false);
    (setup.budget_bytes, setup.room_bytes) = (16 << 20, 8 << 20);
    (setup.sizes.part_bytes, setup.grain) = (4 << 20, Grain::default());
    let row = |at: u32| vec![at * 37 % 1009, at * 61 % 1013];
    let secrets: Vec<u32> = (0..10_000).map(|at| at * at % 97 % 4).collect();
    for (rules, k) in [(&[][..], 5), (&[], 300), (&[Criterion::DistinctLDiversity { l: 3 }], 150)] {
        let mut table = giant::table((0..10_000).map(row).collect(), secrets.clone(), 1, &[]);
        table.coarser = Asked { k, rules: rules.iter().map(|&rule| (0, rule)).collect() };
        let outcome = load(&table, &setup, 1);
        assert!(outcome.leaves().count() > 5000, "{} leaves", outcome.leaves().count());
        check_classes(&table, &outcome);
        assert!(outcome == load(&table, &setup, 4), "one and four threads make different classes");
    }
}

/// Secrets in two shares at first, then only one of them: what is left at the end needs many of the
/// classes before it.
#[test]
fn leaves_that_miss_a_rule_join_as_many_neighbours_as_they_need() {
    let n_rows = 1200;
    let mut setup = Setup::draw(0, Policy::Median, false);
    (setup.budget_bytes, setup.room_bytes) = (16 << 20, 8 << 20);
    (setup.sizes.part_bytes, setup.grain) = (4 << 20, Grain::default());
    let rows = (0..n_rows).map(|at| vec![at * 1024 / n_rows, 0]).collect();
    let secrets = (0..n_rows).map(|at| u32::from(at % 2 == 1 || at >= n_rows / 2)).collect();
    let mut table = giant::table(rows, secrets, 1, &[]);
    table.coarser = Asked { k: 2, rules: vec![(0, Criterion::AlphaK { alpha: 0.8 })] };
    let outcome = load(&table, &setup, 1);
    assert!(outcome.leaves().count() > 1000, "{} leaves", outcome.leaves().count());
    check_classes(&table, &outcome);
    let n_scanned = outcome.pieces[0].coarsest().next().and_then(|own| own.iter().max());
    assert!(n_scanned > Some(&ClassId::new(50)), "the rest took all classes");
}

fn check_rows(table: &Table, outcome: &Outcome) {
    let mut rows: Vec<u32> = outcome.leaves().flat_map(|leaf| leaf.rows.clone()).collect();
    rows.sort_unstable();
    assert!(rows.into_iter().eq(0..table.n_rows as u32), "a row was lost or came twice");
}

fn check_leaves(table: &Table, outcome: &Outcome) {
    for leaf in outcome.leaves() {
        assert!(oracle::holds(table, &table.asked, &leaf.rows), "a leaf misses the requirement");
    }
    for piece in &outcome.pieces {
        let rows: Vec<u32> = piece.leaves.iter().flat_map(|leaf| leaf.rows.clone()).collect();
        let holds = oracle::holds(table, &table.coarser, &rows);
        assert!(holds, "a part misses the strictest requirement");
    }
}

fn check_regions(table: &Table, outcome: &Outcome) {
    let regions: Vec<_> =
        outcome.leaves().map(|leaf| leaf.region.as_ref().expect("regions are kept")).collect();
    for (leaf, region) in outcome.leaves().zip(&regions) {
        for &row in &leaf.rows {
            assert!(
                is_in_box(region, &table.rows[row as usize]),
                "a region does not hold its rows"
            );
        }
    }
    if table.has_labels() {
        // What is left when a label's child is taken from the middle keeps the whole region.
        return;
    }
    for (at, one) in regions.iter().enumerate() {
        for other in &regions[..at] {
            let apart = one.iter().zip(other.iter()).any(|(a, b)| a.1 < b.0 || b.1 < a.0);
            assert!(apart, "two regions have a point in common");
        }
    }
    let share = |&(lo, hi): &Span| (f64::from(hi - lo) + 1.0) / 2f64.powi(32);
    let volume: f64 = regions.iter().map(|own| own.iter().map(share).product::<f64>()).sum();
    assert!((volume - 1.0).abs() < 1e-9, "regions fill {volume} of the space");
}

fn check_classes(table: &Table, outcome: &Outcome) {
    for piece in &outcome.pieces {
        for (classes, granularity) in piece.coarsest().zip(GRANULARITIES) {
            assert_eq!(classes.len(), piece.leaves.len(), "every leaf has a class");
            let mut rows_of: Vec<Vec<u32>> = Vec::new();
            for (leaf, &class) in piece.leaves.iter().zip(classes) {
                assert!(class.index() <= rows_of.len(), "{granularity:?} leaves a number out");
                if class.index() == rows_of.len() {
                    rows_of.push(Vec::new());
                }
                rows_of[class.index()].extend(&leaf.rows);
            }
            for rows in rows_of {
                let holds = oracle::holds(table, &table.coarser, &rows);
                assert!(holds, "{granularity:?} makes a class that misses the requirement");
            }
        }
    }
}

/// Whoever holds some releases, and can tell which rows are which, has groups of rows that no
/// release tells apart: they must be classes of the finest that is held.
fn check_nested(table: &Table, outcome: &Outcome, granularity: usize) {
    let releases = table.releases();
    let asked: Vec<&Asked> = [&table.asked].into_iter().chain(&releases).collect();
    // What the class of each row shows, in each release: that is all there is to tell rows by.
    let shown: Vec<BTreeMap<u32, Vec<Vec<u32>>>> = (0..asked.len())
        .map(|release| {
            let classes = classes_of(outcome, granularity, release);
            let of_class = |rows: &Vec<u32>| (table.shown_by(rows), rows.clone());
            let shown: Vec<_> = classes.iter().map(of_class).collect();
            let mut different: Vec<_> = shown.iter().map(|(cells, _)| cells).collect();
            different.sort();
            different.dedup();
            assert_eq!(different.len(), classes.len(), "two classes show the same");
            let rows = |(cells, rows): (Vec<Vec<u32>>, Vec<u32>)| {
                rows.into_iter().map(move |row| (row, cells.clone()))
            };
            shown.into_iter().flat_map(rows).collect()
        })
        .collect();
    for held in 1u32..1 << asked.len() {
        let held: Vec<usize> =
            (0..asked.len()).filter(|release| held >> release & 1 == 1).collect();
        let mut groups: BTreeMap<Vec<&Vec<Vec<u32>>>, Vec<u32>> = BTreeMap::new();
        for row in 0..table.n_rows as u32 {
            let all = held.iter().map(|&release| &shown[release][&row]).collect();
            groups.entry(all).or_default().push(row);
        }
        for rows in groups.values() {
            let holds = oracle::holds(table, asked[held[0]], rows);
            assert!(holds, "{} rows are left of releases {held:?}", rows.len());
        }
        let finest: BTreeSet<_> = shown[held[0]].values().collect();
        assert_eq!(groups.len(), finest.len(), "a class of release {} is torn", held[0]);
    }
}
