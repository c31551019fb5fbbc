//! Splits chosen by counts of values, against those chosen by looking at all rows.

#[allow(dead_code, reason = "the tables are those of another test, which asks more of them")]
#[path = "mondrian/table.rs"]
mod table;

#[path = "mondrian/lanes.rs"]
mod lanes;

use albers_classes::TargetCodes;
use albers_partition::cell::{Cell, TableSize};
use albers_partition::counts::divide::{Division, divide};
use albers_partition::counts::group::{
    CountColumns, CountGroup, CountedRows, Counter, GroupShape, NO_GROUP,
};
use albers_partition::counts::{CountPlan, choose, rooted};
use albers_partition::grain::Grain;
use albers_partition::mondrian::Plan;
use albers_partition::plan::{CellFacts, PlannedWorkload, whole_region};
use albers_partition::split::Policy;
use albers_partition::split::cut::Cut;
use albers_partition::split::place::Placement;
use albers_partition::split::state::NodeState;
use albers_partition::split::workload::{Target, TargetPlace, TargetValues, Workload};
use albers_partition::split_tree::{SplitTree, TreeNode};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use lanes::points_of;
use table::{Dice, Table};

/// Classes that are carried, and at times an attribute; none of them, at times.
fn workload(dice: &mut Dice, table: &Table) -> (Option<Workload>, TargetCodes) {
    let n_rows = table.n_rows;
    let first: Vec<u32> = (0..n_rows).map(|_| dice.below(3).min(dice.below(4))).collect();
    // Follows the first attribute, so that it pays to cut there.
    let second: Vec<u32> =
        table.columns[0].iter().map(|&code| (code / 3 + dice.below(2)) % 5).collect();
    let target = |place: TargetPlace, n_classes: u32, weight: f64| Target {
        place,
        values: TargetValues::Classes { n_classes, missing: Some(2) },
        weight,
    };
    let axis = dice.below(table.columns.len() as u32) as usize;
    let n_codes = table.columns[axis].iter().max().map_or(1, |code| code + 1);
    let classes = [
        target(TargetPlace::Carried(0), 4, 1.0),
        target(TargetPlace::Carried(1), 5, 0.5),
        target(TargetPlace::Axis(axis), n_codes, 2.0),
    ];
    let chosen: &[usize] = match dice.below(6) {
        0 => &[],
        1 => &[0],
        2 => &[1],
        3 => &[2],
        4 => &[1, 2],
        _ => &[2, 0, 1],
    };
    let carried = TargetCodes::of_columns(&[&first, &second]);
    let targets: Vec<Target> = chosen.iter().map(|&at| classes[at].clone()).collect();
    let workload = Workload { targets, ..Workload::default() };
    ((!chosen.is_empty()).then_some(workload), carried)
}

/// A table, with what is known of its rows and asked of its cuts.
struct Counted<'a> {
    table: &'a Table,
    carried: &'a TargetCodes,
    columns: CountColumns,
}

impl Counted<'_> {
    /// The counts of some rows, in two stretches, among rows that are not counted.
    fn count(&self, rows: &[usize], shape: &GroupShape) -> CountGroup {
        let n_bytes = shape.n_bytes(&self.columns);
        let mut counter = Counter::new(&self.columns, &[shape]);
        for half in [0..self.table.n_rows / 2, self.table.n_rows / 2..self.table.n_rows] {
            let codes: Vec<u32> = half
                .clone()
                .flat_map(|row| self.table.columns.iter().map(move |column| column[row]))
                .collect();
            let is_own = |row: usize| rows.binary_search(&row).is_ok();
            let group_of: Vec<u32> =
                half.clone().map(|row| if is_own(row) { 0 } else { NO_GROUP }).collect();
            let carried = (0..2)
                .map(|place| half.clone().map(|row| self.carried.of_row(row)[place]).collect());
            let facts = &self.table.facts;
            let is_ruled = self.table.requirement.is_only_row_count().is_none();
            let sensitive = (0..if is_ruled { facts.n_sensitive } else { 0 })
                .map(|column| half.clone().map(|row| facts.codes(row)[column]).collect());
            counter.add(&CountedRows {
                codes: &codes,
                carried: carried.collect(),
                sensitive: sensitive.collect(),
                group_of: &group_of,
            });
        }
        assert!(counter.n_bytes() <= n_bytes, "{} > {n_bytes}", counter.n_bytes());
        let mut groups = counter.finish();
        let group = groups.pop().expect("one shape, one group");
        assert_eq!((groups.len(), group.n_rows()), (0, rows.len()));
        for (axis, column) in self.table.columns.iter().enumerate() {
            let codes = || rows.iter().map(|&row| column[row]);
            let own = shape.axes[axis];
            assert!(codes().all(|code| (own.lo..=own.hi).contains(&code)));
            assert!(group.runs(axis).len() as u64 <= own.n_distinct);
        }
        group
    }

    /// The whole tree, grown by counts alone.
    fn grow(
        &self,
        plan: &CountPlan<'_>,
        placement: Option<&Placement>,
        (rows, shape, state): (Vec<usize>, GroupShape, NodeState),
        nodes: &mut Vec<TreeNode>,
    ) {
        let group = self.count(&rows, &shape);
        let Some(split) = choose(plan, &group, &state) else {
            nodes.push(TreeNode::Leaf { n_rows: rows.len() as u32 });
            return;
        };
        let Division { cuts, parts } = divide(plan, split, &group, state, placement);
        assert_eq!(cuts.len() + 1, parts.len());
        let mut rest = rows;
        for (place, part) in parts.into_iter().enumerate() {
            let takes =
                |cut: &Cut, row: usize| cut.takes(self.table.columns[cut.axis as usize][row]);
            let own = match cuts.get(place) {
                None => std::mem::take(&mut rest),
                Some(&cut) => {
                    nodes.push(if place == 0 { TreeNode::Cut(cut) } else { TreeNode::Next(cut) });
                    let (own, others) = rest.iter().partition(|&&row| takes(&cut, row));
                    rest = others;
                    own
                }
            };
            assert_eq!(part.shape.n_rows, own.len() as u64);
            self.grow(plan, placement, (own, part.shape, part.state), nodes);
        }
    }
}

fn check(seed: u64, n_rows: usize, n_attributes: usize, keep_regions: bool) {
    let table = Table::draw(seed, n_rows, n_attributes, true);
    if table.requirement.shape().counts_subjects {
        return;
    }
    let (own, carried) = workload(&mut Dice(seed ^ 1), &table);
    let is_ruled = table.requirement.is_only_row_count().is_none();
    let sensitive = &table.requirement.shape().n_values;
    let columns = CountColumns::new(own.as_ref(), if is_ruled { sensitive } else { &[] });
    let counted = Counted { table: &table, carried: &carried, columns };
    let greatest = |column: &Vec<u32>| column.iter().copied().max().unwrap_or(0) + 1;
    let greatest: Vec<u32> = table.columns.iter().map(greatest).collect();
    let shape = GroupShape::of_table(n_rows as u64, &greatest);
    let all: Vec<usize> = (0..n_rows).collect();
    let root = counted.count(&all, &shape);
    let planned = |workload| PlannedWorkload { workload, carried: &carried };
    let plan = Plan {
        space: &table.space,
        requirement: &table.requirement,
        facts: &table.facts,
        workload: own.as_ref().map(planned),
        policy: Policy::Median,
        keep_regions,
        labels_apart: false,
        is_exact: true,
        trust: None,
        portfolio: None,
        grain: Grain::exact(),
        seed: 0,
    };
    let mut cell = Cell::new(points_of(&table));
    let region = whole_region(&plan);
    let facts = CellFacts { rule: is_ruled.then_some(&table.facts), targets: Some(&carried) };
    let tree = cell.grow::<12>(&plan, facts, TableSize::Small, region.as_ref());

    let by_counts = own.as_ref().map(|own| rooted(own, &root));
    if let Some((own, by_counts)) = own.as_ref().zip(by_counts.as_ref()) {
        assert_eq!(own.rooted(&points_of(&table), Some(&carried)).roots, by_counts.roots);
    }
    let rooted_plan = plan.with_workload(by_counts.as_ref());
    let placement = keep_regions.then(|| {
        let codes = |axis: usize| root.runs(axis).iter().map(|run| run.code).collect();
        Placement::at_none_of(&table.space, codes)
    });
    let mut nodes = Vec::new();
    let start = (all, shape, NodeState::default());
    counted.grow(&CountPlan::of(&rooted_plan), placement.as_ref(), start, &mut nodes);
    let mut grown = SplitTree::default();
    nodes.into_iter().for_each(|node| grown.push(node));
    assert!(
        grown == tree,
        "the trees differ: {} and {} nodes",
        grown.nodes().len(),
        tree.nodes().len()
    );
}

/// So many cases, unless `PROPTEST_CASES` asks for another number.
fn config(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(cases),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(48))]

    #[test]
    fn counts_of_values_choose_the_splits_that_rows_choose(
        seed: u64,
        n_rows in 1usize..300,
        n_attributes in 1usize..6,
        keep_regions: bool,
    ) {
        check(seed, n_rows, n_attributes, keep_regions);
    }
}

#[test]
fn large_nodes_are_cut_exactly_too() {
    for seed in 0..4 {
        check(seed, 6000, 3, seed % 2 == 0);
    }
}
