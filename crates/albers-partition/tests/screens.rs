//! Screens spare a closer look at cuts, and decide nothing: trees are those that a requirement
//! without screens gives.

use albers_classes::space::{Axis, AxisKind, Space};
use albers_partition::grow::{Arity, Grower, grow};
use albers_partition::split::rule::{Allowance, Asked, Rule};
use albers_partition::split::{Chooser, Policy};
use albers_partition::split_tree::SplitTree;
use albers_privacy::{
    ClassSummary, Criterion, Facts, GroundDistance, Requirement, SensitiveColumn, SummaryShape,
};
use proptest::prelude::*;

/// The same requirement, without screens.
struct Plain<'a>(&'a Requirement);

impl Asked for Plain<'_> {
    fn shape(&self) -> &SummaryShape {
        self.0.shape()
    }

    fn holds(&self, rows: &ClassSummary) -> bool {
        self.0.holds(rows)
    }
}

/// Points, and a number for each that two of the attributes tell something of.
#[derive(Debug, Clone)]
struct Table {
    points: Vec<[u32; 4]>,
    secrets: Vec<u32>,
    n_values: u32,
}

fn table() -> impl Strategy<Value = Table> {
    let n_values = prop_oneof![Just(7u32), Just(1000), Just(5000)];
    let n_points = prop_oneof![3 => 2..128usize, 2 => 128..700usize];
    (n_values, n_points, any::<u64>()).prop_map(|(n_values, n_points, seed)| {
        let mut state = seed | 1;
        let mut draw = move |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) as u32) % below
        };
        let (mut points, mut secrets) = (Vec::new(), Vec::new());
        for _ in 0..n_points {
            let secret = draw(n_values);
            let near = secret * 50 / n_values + draw(10);
            points.push([draw(200), near, if 2 * secret > n_values { 0 } else { draw(90) }, 0]);
            secrets.push(secret);
        }
        Table { points, secrets, n_values }
    })
}

fn space() -> Space {
    let axis = |at: usize| {
        let n_codes = [200, 100, 90][at];
        let kind = AxisKind::Set { scale: 1.0 / f64::from(n_codes - 1), n_codes };
        Axis { kind, weight: 1.0, preferred: false }
    };
    Space { axes: (0..3).map(axis).collect() }
}

/// A requirement of t-closeness, and what it looks at; the whole table satisfies it.
fn requirement(table: &Table, k: u64, t: f64, min_distinct: u32) -> (Requirement, Facts) {
    let column = SensitiveColumn {
        name: "salary".into(),
        n_values: table.n_values,
        distance: GroundDistance::ranks(table.n_values),
        numbers: None,
    };
    let rules = vec![
        (0, Criterion::DistinctLDiversity { l: min_distinct }),
        (0, Criterion::TCloseness { t }),
    ];
    let mut requirement =
        Requirement::new(k, false, vec![column], rules).expect("a requirement of one rule");
    let facts = Facts { subjects: Vec::new(), sensitive: table.secrets.clone(), n_sensitive: 1 };
    let mut all = ClassSummary::new(requirement.shape());
    (0..table.secrets.len()).for_each(|row| facts.add(row, &mut all));
    requirement.bind(&all);
    (requirement, facts)
}

/// The tree of a table, and the places of its points as they are moved.
fn grown(
    table: &Table,
    asked: &dyn Asked,
    facts: &Facts,
    (min_rows, may_sample, is_exact): (usize, bool, bool),
) -> (SplitTree, Vec<u32>) {
    let space = space();
    let rule = Some(Rule { requirement: asked, facts });
    let chooser = Chooser::<4, 0>::new(&space, Policy::Compact, may_sample);
    let grower = Grower {
        chooser: chooser.with_exactness(is_exact),
        stop: &|_| Some(Allowance { min_rows, rule }),
        arity: Arity::Many,
        placement: None,
    };
    let mut points = table.points.clone();
    let mut places: Vec<u32> = (0..points.len() as u32).collect();
    let tree = grow(&grower, &mut points, &mut places, None);
    (tree, places)
}

proptest! {
    #[test]
    fn screens_change_no_cut(
        table in table(),
        k in 1..12u64,
        t in prop_oneof![0.02..0.4f64, Just(0.0), Just(1.0)],
        min_distinct in 1..4u32,
        may_sample: bool,
        is_exact: bool,
    ) {
        let (requirement, facts) = requirement(&table, k, t, min_distinct);
        let how = (requirement.min_rows() as usize, may_sample, is_exact);
        let screened = grown(&table, &requirement, &facts, how);
        prop_assert_eq!(screened, grown(&table, &Plain(&requirement), &facts, how));
    }
}

#[test]
fn there_are_screens_and_cuts_that_they_leave() {
    let secrets: Vec<u32> = (0..900).map(|row| row * 37 % 1000).collect();
    let points = secrets.iter().zip(0..).map(|(&own, row)| [row % 200, own / 20, 0, 0]).collect();
    let table = Table { points, secrets, n_values: 1000 };
    let (requirement, facts) = requirement(&table, 5, 0.2, 1);
    assert_eq!(requirement.screens().len(), 1);
    let (tree, _) = grown(&table, &requirement, &facts, (5, false, false));
    assert!(tree.leaf_rows().count() > 5);
    assert!(requirement.lasting_part().screens().is_empty());
}
