//! The grower against a plain recursion, with every way to stop, to split and to place cuts.
//!
//! A failure prints its seed, and stands in `grow.regressions`, which is replayed first.

#[allow(dead_code, reason = "the tables are those of another test, which asks more of them")]
#[path = "mondrian/table.rs"]
mod table;

#[path = "mondrian/lanes.rs"]
mod lanes;

use albers_partition::grow::{Arity, Grower, grow};
use albers_partition::split::apply::{apply, as_binary};
use albers_partition::split::cut::Cut;
use albers_partition::split::place::Placement;
use albers_partition::split::rule::{Allowance, Rule};
use albers_partition::split::state::NodeState;
use albers_partition::split::{Chooser, Point, Policy, Scratch, Split};
use albers_partition::split_tree::{SplitTree, TreeNode};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use lanes::points_of;
use table::Table;

/// So many cases, unless `PROPTEST_CASES` asks for another number.
fn config(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(cases),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    }
}

/// How a tree is to be grown.
#[derive(Debug, Clone, Copy)]
struct Ways {
    policy: Policy,
    may_sample: bool,
    arity: Arity,
    places_cuts: bool,
    /// Nodes of so many points are leaves, of which each has a size of its own.
    most: usize,
}

fn ways() -> impl Strategy<Value = Ways> {
    let policy = prop_oneof![Just(Policy::Compact), Just(Policy::Median), Just(Policy::Sizes)];
    let arity = prop_oneof![Just(Arity::Two), Just(Arity::Many)];
    let most = prop_oneof![Just(0), 1..200usize];
    (policy, any::<bool>(), arity, any::<bool>(), most).prop_map(
        |(policy, may_sample, arity, places_cuts, most)| Ways {
            policy,
            may_sample,
            arity,
            places_cuts,
            most,
        },
    )
}

fn size_of(place: u32) -> usize {
    1 + place as usize % 3
}

/// Grows a tree and compares it with one that is grown by recursion.
fn check(table: &Table, ways: Ways) -> SplitTree {
    let is_count = table.requirement.is_only_row_count().is_some();
    let rule = Rule { requirement: &table.requirement, facts: &table.facts };
    let rule = (!is_count).then_some(rule);
    let allowance = Allowance { min_rows: table.requirement.min_rows() as usize, rule };
    let stop = |places: &[u32]| {
        let size: usize = places.iter().map(|&place| size_of(place)).sum();
        (size > ways.most).then_some(allowance)
    };
    let grower = Grower::<12, 12> {
        chooser: Chooser::new(&table.space, ways.policy, ways.may_sample),
        stop: &stop,
        arity: ways.arity,
        placement: ways.places_cuts.then(Placement::default),
    };
    let mut points = points_of(table);
    let mut places: Vec<u32> = (0..table.n_rows as u32).collect();
    let tree = grow(&grower, &mut points, &mut places, None);

    let mut plain = Plain { grower, nodes: Vec::new(), levels: Vec::new() };
    let mut plain_points = points_of(table);
    let mut plain_places: Vec<u32> = (0..table.n_rows as u32).collect();
    plain.grow(&mut plain_points, &mut plain_places, 0);
    assert!(points == plain_points && places == plain_places, "points lie in other leaves");
    assert_eq!(tree.leaf_levels(), plain.levels);
    assert_eq!(tree.nodes().len(), plain.nodes.len());
    for (node, plain) in tree.nodes().iter().zip(&plain.nodes) {
        match (node, plain) {
            (TreeNode::Cut(cut), Some(Some(plain))) => assert_eq!(cut, plain),
            // Of several parts, it is told where the points of the first are.
            (TreeNode::Cut(_) | TreeNode::Next(_), Some(None)) => {}
            (TreeNode::Leaf { .. }, None) => {}
            _ => panic!("{node:?} is another kind of node"),
        }
    }
    tree
}

/// Grows by recursion.
struct Plain<'a> {
    grower: Grower<'a, 12, 12>,
    /// Nothing for leaves, no cut for those of a split into many parts.
    nodes: Vec<Option<Option<Cut>>>,
    /// How many splits lie above each leaf.
    levels: Vec<u32>,
}

impl Plain<'_> {
    fn grow(&mut self, points: &mut [Point<12>], places: &mut [u32], level: u32) {
        let mut scratch = Scratch::default();
        let Grower { chooser, stop, arity, placement } = &self.grower;
        let allowance = stop(places);
        let chosen = allowance.and_then(|allowance| {
            let split = chooser.choose(
                &allowance,
                points,
                places,
                &mut NodeState::default(),
                &mut scratch,
            )?;
            Some((allowance, split))
        });
        let Some((allowance, mut split)) = chosen else {
            self.nodes.push(None);
            self.levels.push(level);
            return;
        };
        if *arity == Arity::Two {
            split = as_binary(split, chooser.space, points, false);
        }
        let ends = apply(split, chooser, &allowance, points, places, &mut scratch);
        if let Some(placement) = placement {
            let (left, right) = points.split_at(ends[0]);
            split = placement.place(split, chooser.space, left, right);
        }
        let is_wide = matches!(split, Split::Specialize { .. });
        assert!(!is_wide || *arity == Arity::Many);
        let mut start = 0;
        for (part, &end) in ends.iter().enumerate() {
            if part + 1 < ends.len() {
                self.nodes.push(Some((!is_wide).then(|| Cut::of(&split))));
            }
            self.grow(&mut points[start..end], &mut places[start..end], level + 1);
            start = end;
        }
    }
}

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn the_grower_grows_what_a_plain_recursion_grows(
        seed in any::<u64>().no_shrink(),
        n_rows in prop_oneof![4 => 1..100usize, 1 => 100..500usize],
        n_attributes in 1..=9usize,
        ways in ways(),
    ) {
        check(&Table::draw(seed, n_rows, n_attributes, true), ways);
    }
}

#[test]
fn large_nodes_are_grown_on_two_threads_as_a_plain_recursion_grows_them() {
    for seed in 0..12 {
        let table = Table::draw(seed, 20_000, 1 + seed as usize % 5, true);
        let policy = if seed % 2 == 0 { Policy::Compact } else { Policy::Median };
        let arity = if seed % 3 == 0 { Arity::Two } else { Arity::Many };
        let places_cuts = seed % 4 < 2;
        check(&table, Ways { policy, may_sample: true, arity, places_cuts, most: 3000 });
    }
}

#[test]
fn all_ways_to_grow_are_met() {
    let (mut n_stopped, mut n_chains, mut n_in_two) = (0, 0, 0);
    for seed in 0..60 {
        let table = Table::draw(seed, 300, 3, true);
        let ways = |arity, most| Ways {
            policy: Policy::Median,
            may_sample: false,
            arity,
            places_cuts: false,
            most,
        };
        let n_nodes = |tree: &SplitTree| tree.nodes().len();
        let has_chain =
            |tree: &SplitTree| tree.nodes().iter().any(|node| matches!(node, TreeNode::Next(_)));
        let whole = check(&table, ways(Arity::Many, 0));
        n_stopped += usize::from(n_nodes(&check(&table, ways(Arity::Many, 200))) < n_nodes(&whole));
        n_chains += usize::from(has_chain(&whole));
        let in_two = check(&table, ways(Arity::Two, 0));
        assert!(!has_chain(&in_two), "a tree of splits in two has a chain");
        n_in_two += usize::from(in_two != whole);
    }
    assert!(n_stopped > 10 && n_chains > 10 && n_in_two > 10, "{n_stopped} {n_chains} {n_in_two}");
}
