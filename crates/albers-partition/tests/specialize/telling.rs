//! Recodings that follow targets: an example by hand, ties, and many values.

use albers_classes::TargetCodes;
use albers_partition::split::workload::{Target, TargetPlace, TargetValues, Workload};
use albers_privacy::Facts;
use albers_table::row::RowIdx;

use super::edges::{groups_of, interval, table};
use super::recoded::Recoded;
use crate::table::{Dice, Table};

fn classes(n_classes: u32, missing: Option<u32>) -> Target {
    Target {
        place: TargetPlace::Carried(0),
        values: TargetValues::Classes { n_classes, missing },
        weight: 1.0,
    }
}

fn workload(targets: Vec<Target>) -> Workload {
    Workload { targets, ..Workload::default() }
}

/// A class and a number that rows carry, with values that are missing, and at times an attribute;
/// at times all rows have the same class.
pub fn drawn_workload(dice: &mut Dice, table: &Table) -> (Workload, TargetCodes) {
    let n_values = [1, 4, 4][dice.below(3) as usize];
    let of_first = &table.columns[0];
    let class = |row: usize, dice: &mut Dice| match dice.below(3) {
        0 => dice.below(n_values),
        _ => (of_first[row] / 3) % n_values,
    };
    let labels: Vec<u32> = (0..table.n_rows).map(|row| class(row, dice)).collect();
    let numbers: Vec<u32> = (0..table.n_rows).map(|_| dice.below(1000)).collect();
    let class = classes(4, Some(3));
    let number = Target {
        place: TargetPlace::Carried(1),
        values: TargetValues::Numbers { by_code: Vec::new(), missing: Some(0) },
        weight: 0.5,
    };
    let axis = Target { place: TargetPlace::Axis(0), weight: 2.0, ..number.clone() };
    let targets = match dice.below(4) {
        0 | 1 => vec![class],
        2 => vec![class, number],
        _ => vec![axis, class],
    };
    (workload(targets), TargetCodes::of_columns(&[&labels, &numbers]))
}

/// The same rows in another order.
pub fn shuffled(table: Table, carried: &TargetCodes, dice: &mut Dice) -> (Table, TargetCodes) {
    let mut order: Vec<u32> = (0..table.n_rows as u32).collect();
    for end in (1..order.len()).rev() {
        order.swap(end, dice.below(end as u32 + 1) as usize);
    }
    let moved = |column: &Vec<u32>| order.iter().map(|&row| column[row as usize]).collect();
    let columns = table.columns.iter().map(moved).collect();
    let rows: Vec<RowIdx> = order.iter().map(|&row| RowIdx::new(row)).collect();
    let facts: Facts = table.facts.gather(order.iter().map(|&row| row as usize));
    (Table { columns, facts, ..table }, carried.gather(&rows))
}

/// Twelve rows, k = 2, two attributes of two values, and a class that is y five times:
///
/// ```text
///   first    0 0 0 0 0 0   1 1 1 1 1 1
///   second   1 0 0 0 0 0   1 0 0 0 0 0
///   class    y n n n n n   y y y y n n          H(5/12) = 0.9799
/// ```
///
/// The first attribute leaves y1 n5 and y4 n2: 0.9799 - (0.6500 + 0.9183) / 2 = 0.1957 bits, and
/// classes of 6: 0.1957 / (12 - 6 + 1) = 0.0280. The second leaves y2 and y3 n7: 0.9799 -
/// 0.8813 * 10 / 12 = 0.2455 bits, which is more, but classes of 2: 0.2455 / (12 - 2 + 1) = 0.0223.
/// So the first is divided, and then the second no longer can be.
#[test]
fn a_step_that_tells_more_waits_for_one_that_leaves_larger_classes() {
    let first = vec![0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1];
    let second = vec![1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0];
    let labels = [1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0];
    let carried = TargetCodes::of_columns(&[&labels]);
    let table = table(vec![interval(2), interval(2)], vec![first, second], 2);
    let recoded = Recoded::telling(&table, &workload(vec![classes(2, None)]), &carried);
    assert_eq!(groups_of(&recoded), [[(0, 0), (0, 1)], [(1, 1), (0, 1)]]);
}

/// Eight rows, k = 2. Cuts of the first attribute tell H(1/2) - 3/4 H(1/3) = 0.3113 bits after 0,
/// 1 - H(1/4) = 0.1887 after 1, and nothing after 2; the second attribute tells nothing at all.
/// After the cut at 0, both cuts of the rest leave 5.510 - 3.245 - 2 = 0.265 bits less in its six
/// rows: the lesser is taken. The last cut tells 0.3113 again. Only then the second attribute is
/// divided, for the loss alone. With k = 3 the cut that tells most is not allowable.
#[test]
fn where_nothing_is_told_any_more_loss_is_saved() {
    let first = vec![0, 0, 1, 1, 2, 2, 3, 3];
    let second = vec![0, 0, 1, 1, 0, 0, 1, 1];
    let labels = [1, 1, 1, 0, 0, 0, 0, 1];
    let carried = TargetCodes::of_columns(&[&labels]);
    let exact = [[(0, 0), (0, 0)], [(1, 1), (1, 1)], [(2, 2), (0, 0)], [(3, 3), (1, 1)]];
    for (k, expected) in [(2, &exact[..]), (3, &[[(0, 1), (0, 1)], [(2, 3), (0, 1)]])] {
        let axes = vec![interval(4), interval(2)];
        let table = table(axes, vec![first.clone(), second.clone()], k);
        let recoded = Recoded::telling(&table, &workload(vec![classes(2, None)]), &carried);
        assert_eq!(groups_of(&recoded), expected, "k = {k}");
    }
}

#[test]
fn of_steps_that_tell_the_same_the_first_attribute_and_the_preferred_one_win() {
    // Two attributes are the same up to rows that only one of them can part.
    let codes = vec![vec![0, 0, 0, 1, 1, 1], vec![0, 0, 1, 0, 1, 1]];
    let carried = TargetCodes::of_columns(&[&[1, 1, 0, 0, 1, 0]]);
    for (preferred, expected) in [(0, [(0, 0), (0, 1)]), (1, [(0, 1), (0, 0)])] {
        let mut table = table(vec![interval(2), interval(2)], codes.clone(), 3);
        table.space.axes[preferred].preferred = true;
        let recoded = Recoded::telling(&table, &workload(vec![classes(2, None)]), &carried);
        assert_eq!(groups_of(&recoded)[0], expected);
    }
    let equal = vec![vec![0, 0, 0, 1, 1, 1], vec![0, 0, 1, 0, 1, 1]];
    let carried = TargetCodes::of_columns(&[&[1, 1, 1, 1, 0, 0]]);
    let table = table(vec![interval(2), interval(2)], equal, 3);
    let recoded = Recoded::telling(&table, &workload(vec![classes(2, None)]), &carried);
    assert_eq!(groups_of(&recoded)[0], [(0, 0), (0, 1)]);
}

#[test]
fn rows_that_miss_a_target_have_no_say_in_it() {
    // The first attribute parts class 2 from the others, the second those from each other.
    let codes = vec![vec![0, 0, 0, 0, 1, 1, 1, 1], vec![0, 0, 1, 1, 0, 0, 1, 1]];
    let carried = TargetCodes::of_columns(&[&[0, 0, 1, 1, 2, 2, 2, 2]]);
    let of = |missing| {
        let table = table(vec![interval(2), interval(2)], codes.clone(), 4);
        groups_of(&Recoded::telling(&table, &workload(vec![classes(3, missing)]), &carried))
    };
    assert_eq!(of(Some(2))[0], [(0, 1), (0, 0)]);
    assert_eq!(of(None)[0], [(0, 0), (0, 1)]);
}

#[test]
fn a_column_of_many_values_is_recoded_to_the_end_for_a_target() {
    let n_rows = 40_000;
    let mut dice = Dice(3);
    let wide = (0..n_rows).map(|row| row as u32 / 2).collect();
    let narrow = (0..n_rows).map(|_| dice.below(2)).collect();
    let labels: Vec<u32> = (0..n_rows).map(|row| dice.below(1 + row as u32 / 9_000)).collect();
    let table = table(vec![interval(n_rows as u32 / 2), interval(2)], vec![wide, narrow], 5);
    let carried = TargetCodes::of_columns(&[&labels]);
    let recoded = Recoded::telling(&table, &workload(vec![classes(5, None)]), &carried);
    recoded.check_classes(&table);
    assert!(recoded.classes.len() > 1000, "only {} classes", recoded.classes.len());
}

#[test]
fn threads_change_nothing_of_what_is_told() {
    for seed in 0..20 {
        let table = Table::draw(seed, 3000, 6, seed % 2 == 0);
        let (workload, carried) = drawn_workload(&mut Dice(!seed), &table);
        let on = |n_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build();
            let of = || Recoded::telling(&table, &workload, &carried);
            let classes = pool.expect("threads").install(of).classes.into_iter();
            classes.map(|class| (class.rows, class.region)).collect::<Vec<_>>()
        };
        assert!(on(1) == on(2), "two threads recode table {seed} in another way than one");
    }
}
