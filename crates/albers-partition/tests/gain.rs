//! Splits that follow targets, against a look at every cut.

#[allow(dead_code, reason = "the tables are those of another test, which asks more of them")]
#[path = "mondrian/table.rs"]
mod table;

#[path = "mondrian/lanes.rs"]
mod lanes;

use std::collections::BTreeSet;

use albers_classes::TargetCodes;
use albers_classes::space::AxisKind;
use albers_partition::split::gain::Gains;
use albers_partition::split::rule::{Allowance, Rule};
use albers_partition::split::state::NodeState;
use albers_partition::split::workload::{
    FeatureCells, Target, TargetPlace, TargetValues, Workload,
};
use albers_partition::split::{Chooser, Policy, Scratch, Split};
use proptest::prelude::*;

use lanes::{Lanes, points_of};
use table::{Dice, Table};

/// A class that is carried, a number that is carried, and at times an attribute; at times with a
/// feature that tells something of the class.
fn workload(dice: &mut Dice, n_rows: usize) -> (Workload, TargetCodes) {
    let classes: Vec<u32> = (0..n_rows).map(|_| dice.below(3).min(dice.below(4))).collect();
    let numbers: Vec<u32> = (0..n_rows).map(|_| dice.below(1000)).collect();
    let class = Target {
        place: TargetPlace::Carried(0),
        values: TargetValues::Classes { n_classes: 4, missing: Some(3) },
        weight: 1.0,
    };
    let number = Target {
        place: TargetPlace::Carried(1),
        values: TargetValues::Numbers { by_code: Vec::new(), missing: Some(0) },
        weight: 0.5,
    };
    let axis = Target { place: TargetPlace::Axis(0), weight: 2.0, ..number.clone() };
    let targets = match dice.below(4) {
        0 => vec![class],
        1 => vec![number],
        2 => vec![class, number],
        _ => vec![axis, class],
    };
    let features = [None, Some(FeatureCells { place: 2, n_cells: 9 })][dice.below(2) as usize];
    let cell = |&class: &u32| 2 * dice.below(3) + u32::from(class == 0);
    let cells: Vec<u32> = classes.iter().map(cell).collect();
    let carried = TargetCodes::of_columns(&[&classes, &numbers, &cells]);
    (Workload { targets, features, ..Workload::default() }, carried)
}

/// The impurity of some rows by its definition.
fn impurity(target: &Target, rows: &[usize], points: &[Lanes], carried: &TargetCodes) -> f64 {
    let code = |row: usize| match target.place {
        TargetPlace::Axis(axis) => points[row][axis],
        TargetPlace::Carried(place) => carried.of_row(row)[place],
    };
    let (TargetValues::Classes { missing, .. } | TargetValues::Numbers { missing, .. }) =
        target.values;
    let known: Vec<u32> =
        rows.iter().map(|&row| code(row)).filter(|&code| Some(code) != missing).collect();
    let n = known.len() as f64;
    match target.values {
        _ if known.is_empty() => 0.0,
        TargetValues::Classes { n_classes, .. } => (0..n_classes)
            .map(|class| known.iter().filter(|&&own| own == class).count() as f64)
            .filter(|&count| count > 0.0)
            .map(|count| -count * (count / n).log2())
            .sum(),
        TargetValues::Numbers { .. } => {
            let mean = known.iter().map(|&own| f64::from(own)).sum::<f64>() / n;
            known.iter().map(|&own| (f64::from(own) - mean).powi(2)).sum()
        }
    }
}

/// The same over the feature space: the sum of the impurities of the rows of each cell.
fn impurity_by_cell(
    workload: &Workload,
    target: &Target,
    rows: &[usize],
    points: &[Lanes],
    carried: &TargetCodes,
) -> f64 {
    let Some(FeatureCells { place, n_cells }) = workload.features else {
        return impurity(target, rows, points, carried);
    };
    let of_cell = |cell: u32| -> f64 {
        let rows = rows.iter().copied().filter(|&row| carried.of_row(row)[place] == cell);
        impurity(target, &rows.collect::<Vec<_>>(), points, carried)
    };
    (0..n_cells).map(of_cell).sum()
}

/// What all targets together count for in some rows, over what they do in the whole table.
fn score(workload: &Workload, rows: &[usize], points: &[Lanes], carried: &TargetCodes) -> f64 {
    let all: Vec<usize> = (0..points.len()).collect();
    let is_one_class =
        matches!(&workload.targets[..], [Target { values: TargetValues::Classes { .. }, .. }]);
    let of_target = |target: &Target| {
        let root = impurity_by_cell(workload, target, &all, points, carried) / points.len() as f64;
        let own = impurity_by_cell(workload, target, rows, points, carried);
        match is_one_class {
            true => own,
            false if root == 0.0 => 0.0,
            false => target.weight * own / root,
        }
    };
    workload.targets.iter().map(of_target).sum()
}

/// The least score of all allowable cuts of the first attributes that have one, and the gain that
/// it must have.
fn best_by_looking(
    table: &Table,
    workload: &Workload,
    points: &[Lanes],
    carried: &TargetCodes,
) -> Option<f64> {
    let all: Vec<usize> = (0..points.len()).collect();
    // A target with one value has no say.
    let has_say =
        |target: &&Target| impurity_by_cell(workload, target, &all, points, carried) > 0.0;
    let weights: f64 = workload.targets.iter().filter(has_say).map(|target| target.weight).sum();
    let is_one_class =
        matches!(&workload.targets[..], [Target { values: TargetValues::Classes { .. }, .. }]);
    let least = if is_one_class { 0.01 } else { 0.01 * weights } * points.len() as f64;
    let whole = score(workload, &all, points, carried);
    for preferred in [true, false] {
        let mut best: Option<f64> = None;
        for (axis, own) in table.space.axes.iter().enumerate() {
            if own.preferred != preferred {
                continue;
            }
            let mut codes: Vec<u32> = points.iter().map(|point| point[axis]).collect();
            codes.sort_unstable();
            codes.dedup();
            for &code in &codes[..codes.len() - 1] {
                let (left, right): (Vec<usize>, Vec<usize>) =
                    all.iter().partition(|&&row| points[row][axis] <= code);
                if table.holds(&left) && table.holds(&right) {
                    let found = score(workload, &left, points, carried)
                        + score(workload, &right, points, carried);
                    if whole - found > least - 1e-4 && best.is_none_or(|best| found < best) {
                        best = Some(found);
                    }
                }
            }
        }
        if best.is_some() {
            return best;
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_chosen_cut_tells_as_much_as_the_best_of_all(seed in any::<u64>(), n_rows in 4..90usize) {
        let table = Table::draw(seed, n_rows, 3, false);
        prop_assert!(table.space.axes.iter().all(|axis| !matches!(axis.kind, AxisKind::Label(_))));
        let mut dice = Dice(seed ^ 7);
        let points = points_of(&table);
        let (workload, carried) = workload(&mut dice, n_rows);
        let locals: Vec<u32> = (0..n_rows as u32).collect();
        let chooser = Chooser::<12, 12>::new(&table.space, Policy::Compact, false)
            .with_gains(Some(Gains::new(&workload, Some(&carried), &points)));
        let rule = table.requirement.is_only_row_count().is_none()
            .then_some(Rule { requirement: &table.requirement, facts: &table.facts });
        let min_rows = table.requirement.min_rows() as usize;
        let allowance = Allowance { min_rows, rule };
        let mut scratch = Scratch::default();
        let split = chooser.choose(&allowance, &points, &locals, &mut NodeState::default(), &mut scratch);
        if let Some(best) = best_by_looking(&table, &workload, &points, &carried) {
            let Some(Split::Cut { axis, code }) = split else {
                panic!("a cut was there to be found, not {split:?}")
            };
            let all: Vec<usize> = (0..n_rows).collect();
            let (left, right): (Vec<usize>, Vec<usize>) =
                all.iter().partition(|&&row| points[row][axis] <= code);
            prop_assert!(table.holds(&left) && table.holds(&right));
            let found = score(&workload, &left, &points, &carried)
                + score(&workload, &right, &points, &carried);
            prop_assert!(found < best + 1e-4, "{found} for {best}");
        }
    }
}

#[test]
fn a_split_is_the_same_whatever_the_order_of_the_rows() {
    for seed in 0..30 {
        let table = Table::draw(seed, 70, 4, true);
        let mut dice = Dice(seed ^ 11);
        let points = points_of(&table);
        let (workload, carried) = workload(&mut dice, 70);
        let chosen = |order: &[u32]| {
            let points: Vec<Lanes> = order.iter().map(|&row| points[row as usize]).collect();
            let gains = Gains::new(&workload, Some(&carried), &points_of(&table));
            let chooser = Chooser::<12, 12>::new(&table.space, Policy::Compact, false)
                .with_gains(Some(gains));
            let rule = Rule { requirement: &table.requirement, facts: &table.facts };
            let min_rows = table.requirement.min_rows() as usize;
            let allowance = Allowance { min_rows, rule: Some(rule) };
            chooser.choose(
                &allowance,
                &points,
                order,
                &mut NodeState::default(),
                &mut Scratch::default(),
            )
        };
        let forward: Vec<u32> = (0..70).collect();
        let backward: Vec<u32> = (0..70).rev().collect();
        let mut shuffled = forward.clone();
        shuffled.sort_by_key(|&row| Dice(u64::from(row) ^ seed << 32).bits());
        assert_eq!(chosen(&forward), chosen(&backward));
        assert_eq!(chosen(&forward), chosen(&shuffled));
    }
}

/// Figure 2 of LeFevre et al. 2008: whoever is under 40 and European is one class of people, and no
/// other cut tells it.
#[test]
fn classes_of_two_columns_are_told_by_cuts_of_these() {
    let table = Table::draw(5, 400, 3, false);
    let points = points_of(&table);
    let (first, second) = (points[17][0], points[23][1]);
    let label = |point: &Lanes| u32::from(point[0] <= first && point[1] <= second);
    let labels: Vec<u32> = points.iter().map(label).collect();
    let carried = TargetCodes::of_columns(&[&labels]);
    let values = TargetValues::Classes { n_classes: 2, missing: None };
    let target = Target { place: TargetPlace::Carried(0), values, weight: 1.0 };
    let workload = Workload { targets: vec![target], ..Workload::default() };
    let gains = Gains::new(&workload, Some(&carried), &points);
    let chooser =
        Chooser::<12, 12>::new(&table.space, Policy::Compact, false).with_gains(Some(gains));
    let allowance = Allowance { min_rows: 1, rule: None };
    let locals: Vec<u32> = (0..400).collect();
    let split = chooser.choose(
        &allowance,
        &points,
        &locals,
        &mut NodeState::default(),
        &mut Scratch::default(),
    );
    let Some(Split::Cut { axis, code }) = split else { panic!("{split:?}") };
    let expected = [first, second].get(axis).copied();
    let next = |code: u32| points.iter().map(|point| point[axis]).filter(|&own| own > code).min();
    assert_eq!(
        next(code),
        next(expected.expect("an axis that the label looks at")),
        "between the two kinds of people"
    );
}

/// Figure 3 of LeFevre et al. 2008: a class that follows from a feature beside the attributes. Without
/// the feature the cut that tells the class is chosen; with it nothing is left to tell, and a second
/// class, which the feature does not tell, decides alone.
#[test]
fn a_target_that_a_feature_tells_does_not_steer_the_cut() {
    let is_fine = |axis: &Vec<u32>| axis.iter().collect::<BTreeSet<_>>().len() > 20;
    let mut tables = (0..).map(|seed| Table::draw(seed, 300, 3, false));
    let mut table = tables.find(|own| own.columns.iter().all(is_fine)).expect("there is one");
    table.space.axes.iter_mut().for_each(|axis| axis.preferred = false);
    let points = points_of(&table);
    let middle = |axis: usize| {
        let mut codes: Vec<u32> = points.iter().map(|point| point[axis]).collect();
        *codes.select_nth_unstable(150).1
    };
    let (first, second) = (middle(0), middle(1));
    let told: Vec<u32> = points.iter().map(|point| u32::from(point[0] <= first)).collect();
    let other: Vec<u32> = points.iter().map(|point| u32::from(point[1] <= second)).collect();
    let carried = TargetCodes::of_columns(&[&told, &other]);
    let class = |place: usize| Target {
        place: TargetPlace::Carried(place),
        values: TargetValues::Classes { n_classes: 2, missing: None },
        weight: if place == 0 { 3.0 } else { 1.0 },
    };
    let locals: Vec<u32> = (0..300).collect();
    let chosen = |targets: Vec<Target>, features: Option<FeatureCells>, follows: bool| {
        let workload = Workload { targets, features, ..Workload::default() };
        let gains = follows.then(|| Gains::new(&workload, Some(&carried), &points));
        let chooser =
            Chooser::<12, 12>::new(&table.space, Policy::Compact, false).with_gains(gains);
        let allowance = Allowance { min_rows: 1, rule: None };
        let mut state = NodeState::default();
        chooser.choose(&allowance, &points, &locals, &mut state, &mut Scratch::default())
    };
    let feature = Some(FeatureCells { place: 0, n_cells: 2 });
    let axis = |split: Option<Split>| match split {
        Some(Split::Cut { axis, .. }) => axis,
        other => panic!("{other:?}"),
    };
    assert_eq!(axis(chosen(vec![class(0)], None, true)), 0);
    assert_eq!(chosen(vec![class(0)], feature, true), chosen(vec![class(0)], feature, false));
    assert_eq!(axis(chosen(vec![class(0), class(1)], None, true)), 0);
    assert_eq!(axis(chosen(vec![class(0), class(1)], feature, true)), 1);
}
