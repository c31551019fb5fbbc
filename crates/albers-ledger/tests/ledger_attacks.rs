//! Attacks on several releases of a changing table: each works on releases that satisfy the
//! requirement one by one, and the ledger refuses the release that would make it possible.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::collections::BTreeMap;

use albers_ledger::{DeadRow, Ledger, LedgerError, Needs, NewRelease, RowFacts, SetId, Verdict};
use albers_privacy::{Criterion, GroundDistance, Requirement, SensitiveColumn};

/// One release as it is published: the classes, and the disease of each linkable row.
type Published<'a> = &'a [&'a [u32]];

/// What whoever links the rows of some releases knows of a row: all that are as often, and in the
/// same classes, seen as it is. Rows are named alike in all releases.
fn candidates(releases: &[Published<'_>], victim: u32) -> Vec<u32> {
    let mut seen: BTreeMap<u32, Vec<(usize, usize)>> = BTreeMap::new();
    for (release_idx, release) in releases.iter().enumerate() {
        for (class_idx, class) in release.iter().enumerate() {
            for &row in *class {
                seen.entry(row).or_default().push((release_idx, class_idx));
            }
        }
    }
    seen.iter().filter(|(_, places)| **places == seen[&victim]).map(|(&row, _)| row).collect()
}

fn satisfies_alone(k: usize, release: Published<'_>) -> bool {
    release.iter().all(|class| class.len() >= k)
}

fn requirement(k: u64) -> Requirement {
    Requirement::new(k, false, vec![], vec![]).unwrap()
}

fn diverse(k: u64, l: u32) -> Requirement {
    with_rule(k, Criterion::DistinctLDiversity { l })
}

fn with_rule(k: u64, rule: Criterion) -> Requirement {
    let column = SensitiveColumn {
        name: "disease".into(),
        n_values: 4,
        distance: GroundDistance::Equal,
        numbers: None,
    };
    Requirement::new(k, false, vec![column], vec![(0, rule)]).unwrap()
}

/// Publishes classes of rows, whose codes `code_of` gives.
fn publish(
    ledger: &mut Ledger,
    requirement: &Requirement,
    classes: Published<'_>,
    code_of: impl Fn(u32) -> u32,
    accepts: bool,
) -> (Verdict, Result<(), LedgerError>) {
    publish_some(ledger, requirement, classes, &[], code_of, accepts)
}

/// Publishes classes of rows while others wait.
fn publish_some(
    ledger: &mut Ledger,
    requirement: &Requirement,
    classes: Published<'_>,
    waiting: &[u32],
    code_of: impl Fn(u32) -> u32,
    accepts: bool,
) -> (Verdict, Result<(), LedgerError>) {
    let mut opened = ledger.open(NewRelease::new("r", 1, ""), requirement, None).unwrap();
    let n_codes = requirement.columns().len();
    for class in classes {
        for &row in *class {
            let code = [code_of(row)];
            opened.add(row, RowFacts { subject: 0, codes: &code[..n_codes] }).unwrap();
        }
        opened.end_class().unwrap();
    }
    for &row in waiting {
        opened.waiting(row, RowFacts { subject: 0, codes: &[code_of(row)] }).unwrap();
    }
    let tested = opened.finish().unwrap();
    (tested.verdict(), tested.keep(accepts))
}

fn publish_rows(ledger: &mut Ledger, k: u64, classes: Published<'_>) -> Verdict {
    let (verdict, kept) = publish(ledger, &requirement(k), classes, |_| 0, false);
    assert_eq!(kept.is_ok(), verdict.holds());
    verdict
}

fn verdict(smallest_set: u64, rows_below: u64, sets_below: u64) -> Verdict {
    Verdict { smallest_set: Some(smallest_set), rows_below, sets_below }
}

fn ledger(k: u64) -> Ledger {
    Ledger::new(Needs::of(&requirement(k)))
}

#[test]
fn a_person_inserted_alone_between_two_releases_is_told_and_refused() {
    let first: Published<'_> = &[&[0, 1, 2, 3, 4], &[5, 6, 7, 8, 9]];
    let second: Published<'_> = &[&[0, 1, 2, 3, 4, 10], &[5, 6, 7, 8, 9]];
    assert!(satisfies_alone(5, first) && satisfies_alone(5, second));
    assert_eq!(candidates(&[first, second], 10), [10], "the row that was not there before");

    let mut ledger = ledger(5);
    assert_eq!(publish_rows(&mut ledger, 5, first), verdict(5, 0, 0));
    assert_eq!(publish_rows(&mut ledger, 5, second), verdict(1, 1, 1));
    assert_eq!(ledger.n_releases(), 1, "nothing was kept of it");
    assert_eq!(publish_rows(&mut ledger, 5, first), verdict(5, 0, 0), "the new row waits");
}

#[test]
fn a_person_deleted_alone_is_told_and_refused() {
    let first: Published<'_> = &[&[0, 1, 2, 3, 4, 5], &[6, 7, 8, 9, 10]];
    let second: Published<'_> = &[&[0, 1, 2, 3, 4], &[6, 7, 8, 9, 10]];
    assert!(satisfies_alone(5, first) && satisfies_alone(5, second));
    assert_eq!(candidates(&[first, second], 5), [5], "the row that is gone");

    let mut ledger = ledger(5);
    publish_rows(&mut ledger, 5, first);
    assert!(ledger.delete(5, RowFacts::default()).unwrap().is_some());
    assert_eq!(publish_rows(&mut ledger, 5, second), verdict(1, 1, 1));
}

#[test]
fn a_class_that_is_deleted_whole_tells_nobody_apart() {
    let mut ledger = ledger(5);
    publish_rows(&mut ledger, 5, &[&[0, 1, 2, 3, 4], &[6, 7, 8, 9, 10]]);
    (0..5).for_each(|row| drop(ledger.delete(row, RowFacts::default()).unwrap()));
    assert_eq!(publish_rows(&mut ledger, 5, &[&[6, 7, 8, 9, 10]]), verdict(5, 0, 0));
}

#[test]
fn a_person_updated_alone_is_told_and_refused() {
    // Each release has one class, diverse both times; only row 2 has another disease in the second,
    // so that the difference of the two histograms is one person's old and new disease.
    let class: Published<'_> = &[&[0, 1, 2, 3, 4, 5]];
    let before = |row: u32| row % 2;
    let after = |row: u32| if row == 2 || row == 12 { 3 } else { row % 2 };
    let differs: Vec<u32> = class[0].iter().copied().filter(|&r| before(r) != after(r)).collect();
    assert_eq!(differs, [2]);

    let requirement = diverse(3, 2);
    let mut ledger = Ledger::new(Needs::of(&requirement));
    let (first, _) = publish(&mut ledger, &requirement, class, before, false);
    assert_eq!(first, verdict(6, 0, 0));
    ledger.replace(2, 12, true, RowFacts { subject: 0, codes: &[before(2)] }).unwrap();
    let class: Published<'_> = &[&[0, 1, 12, 3, 4, 5]];
    let (second, kept) = publish(&mut ledger, &requirement, class, after, false);
    assert_eq!(second, verdict(1, 1, 1));
    assert_eq!(kept, Err(LedgerError::Linkage { n_sets: 1, n_rows: 1 }));
}

#[test]
fn an_update_of_what_is_not_published_tells_nothing() {
    let mut ledger = ledger(3);
    publish_rows(&mut ledger, 3, &[&[0, 1, 2]]);
    ledger.replace(1, 7, false, RowFacts::default()).unwrap();
    assert_eq!(publish_rows(&mut ledger, 3, &[&[0, 7, 2]]), verdict(3, 0, 0));
}

#[test]
fn those_who_did_not_change_are_told_too() {
    // Five of six change: the sixth is alone.
    let mut ledger = ledger(5);
    publish_rows(&mut ledger, 5, &[&[0, 1, 2, 3, 4, 5]]);
    (0..5).for_each(|row| ledger.replace(row, row + 10, true, RowFacts::default()).unwrap());
    let second: Published<'_> = &[&[10, 11, 12, 13, 14, 5]];
    assert_eq!(publish_rows(&mut ledger, 5, second), verdict(1, 1, 1));
}

#[test]
fn a_person_moved_by_a_merge_is_told_and_refused() {
    let first: Published<'_> = &[&[0, 1, 2, 3, 4], &[5, 6, 7, 8, 9], &[10, 11, 12, 13, 14]];
    let second: Published<'_> = &[&[0, 1, 2, 3, 4, 5], &[6, 7, 8, 9, 10, 11, 12, 13, 14]];
    assert!(satisfies_alone(5, first) && satisfies_alone(5, second));
    assert_eq!(candidates(&[first, second], 5), [5], "the row that changed its neighbours");

    let mut ledger = ledger(5);
    publish_rows(&mut ledger, 5, first);
    assert_eq!(publish_rows(&mut ledger, 5, second), verdict(1, 5, 2));
    let union: Published<'_> = &[first[0], &[5, 6, 7, 8, 9, 10, 11, 12, 13, 14]];
    assert_eq!(publish_rows(&mut ledger, 5, union), verdict(5, 0, 0), "whole sets may be joined");
}

#[test]
fn two_releases_at_different_k_that_cross_are_intersected_and_refused() {
    let finer: Published<'_> = &[&[0, 1, 2], &[3, 4, 5], &[6, 7, 8], &[9, 10, 11]];
    let coarser: Published<'_> = &[&[0, 1, 2, 3], &[4, 5, 6, 7], &[8, 9, 10, 11]];
    assert!(satisfies_alone(3, finer) && satisfies_alone(4, coarser));
    assert_eq!(candidates(&[finer, coarser], 3), [3]);

    let mut ledger = ledger(3);
    publish_rows(&mut ledger, 3, finer);
    assert_eq!(publish_rows(&mut ledger, 3, coarser), verdict(1, 6, 4));
    let nested: Published<'_> = &[&[0, 1, 2, 3, 4, 5], &[6, 7, 8, 9, 10, 11]];
    assert_eq!(publish_rows(&mut ledger, 3, nested), verdict(3, 0, 0));
}

#[test]
fn an_intersection_that_is_large_enough_and_shares_one_disease_is_refused() {
    let first: Published<'_> = &[&[0, 1, 2, 3], &[4, 5, 6, 7]];
    let second: Published<'_> = &[&[0, 1, 4, 5], &[2, 3, 6, 7]];
    let code_of = |row: u32| u32::from([0, 1, 6, 7].contains(&row));
    for class in first.iter().chain(second) {
        let mut codes: Vec<u32> = class.iter().map(|&row| code_of(row)).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), 2, "each class alone is diverse");
    }
    let both = candidates(&[first, second], 0);
    assert_eq!(both, [0, 1]);
    assert!(both.iter().all(|&row| code_of(row) == 1), "and their common rows tell the disease");

    let requirement = diverse(2, 2);
    let mut ledger = Ledger::new(Needs::of(&requirement));
    publish(&mut ledger, &requirement, first, code_of, false).1.unwrap();
    let (second, kept) = publish(&mut ledger, &requirement, second, code_of, false);
    assert_eq!(second, verdict(2, 8, 4));
    assert!(kept.is_err());
}

#[test]
fn a_person_deleted_and_inserted_again_is_no_new_one() {
    // Whoever is in the first and the third release and not in the second is alone, though the
    // third release is made of the same rows as the first.
    let all: Published<'_> = &[&[0, 1, 2, 3, 4, 5]];
    let without: Published<'_> = &[&[0, 1, 2]];
    assert_eq!(candidates(&[all, without, &[&[0, 1, 2, 3]]], 3), [3]);

    let mut ledger = ledger(3);
    publish_rows(&mut ledger, 3, all);
    let dead: Vec<DeadRow> =
        (3..6).map(|row| ledger.delete(row, RowFacts::default()).unwrap().unwrap()).collect();
    assert_eq!(publish_rows(&mut ledger, 3, without), verdict(3, 0, 0));
    ledger.revive(dead[0].clone(), 13, false).unwrap();
    assert!(!ledger.is_new(13), "its signature goes on");
    assert_eq!(publish_rows(&mut ledger, 3, &[&[0, 1, 2, 13]]), verdict(1, 3, 2));
    ledger.revive(dead[1].clone(), 14, false).unwrap();
    ledger.revive(dead[2].clone(), 15, false).unwrap();
    assert_eq!(publish_rows(&mut ledger, 3, &[&[0, 1, 2, 13, 14, 15]]), verdict(3, 0, 0));
    assert_eq!(ledger.revive(dead[2].clone(), 16, false), Err(LedgerError::UnknownDead));
}

#[test]
fn inserts_alone_pass_in_batches_for_ever() {
    let mut ledger = ledger(3);
    let rows: Vec<u32> = (0..30).collect();
    for n_batches in 1..=10 {
        let classes: Vec<&[u32]> = rows.chunks(3).take(n_batches).collect();
        assert_eq!(publish_rows(&mut ledger, 3, &classes), verdict(3, 0, 0));
        assert_eq!(ledger.n_sets(), n_batches as u64);
        assert!(ledger.current_sets().all(|set| set.is_whole && set.n_living == 3));
    }
}

#[test]
fn a_set_that_was_accepted_counts_again_only_when_it_shrinks_or_changes() {
    let requirement = requirement(3);
    let mut ledger = ledger(3);
    let next = |classes: Published<'_>, ledger: &mut Ledger| {
        let (verdict, kept) = publish(ledger, &requirement, classes, |_| 0, true);
        kept.map(|()| verdict).unwrap()
    };
    next(&[&[0, 1, 2, 3, 4, 5]], &mut ledger);
    // Two crossing classes leave sets of 2 and 4.
    assert_eq!(next(&[&[0, 1, 6], &[2, 3, 4, 5]], &mut ledger), verdict(1, 3, 2));
    assert_eq!(next(&[&[0, 1, 6], &[2, 3, 4, 5]], &mut ledger), verdict(4, 0, 0));
    assert_eq!(next(&[&[0, 6], &[1, 2, 3, 4, 5]], &mut ledger), verdict(1, 2, 2), "it shrinks");
    ledger.replace(0, 10, true, RowFacts::default()).unwrap();
    assert_eq!(next(&[&[10, 6], &[1, 2, 3, 4, 5]], &mut ledger), verdict(1, 1, 1), "it changes");
    assert!(ledger.releases().skip(1).all(|release| release.linkage_accepted));
}

#[test]
fn an_accepted_set_that_changes_counts_again_for_what_it_showed_before() {
    // Rows 0 and 1 are known to share a disease. Both change, to different ones: the change tells
    // that they are the two, so that what they shared counts again.
    let requirement = diverse(2, 2);
    let mut ledger = Ledger::new(Needs::of(&requirement));
    let code_of = |row: u32| [0, 0, 1, 1].get(row as usize).copied().unwrap_or(row % 4);
    publish(&mut ledger, &requirement, &[&[0, 1, 2, 3]], code_of, false).1.unwrap();
    let apart: Published<'_> = &[&[0, 1], &[2, 3]];
    let (accepted, _) = publish(&mut ledger, &requirement, apart, code_of, true);
    assert_eq!(accepted, verdict(2, 4, 2));
    for row in [0, 1] {
        ledger.replace(row, row + 10, true, RowFacts { subject: 0, codes: &[0] }).unwrap();
    }
    let changed: Published<'_> = &[&[10, 11], &[2, 3]];
    assert_eq!(publish(&mut ledger, &requirement, changed, code_of, false).0, verdict(2, 2, 1));
}

#[test]
fn what_is_left_of_an_accepted_set_and_satisfies_is_a_set_as_any_other() {
    let requirement = with_rule(2, Criterion::AlphaK { alpha: 0.5 });
    let mut ledger = Ledger::new(Needs::of(&requirement));
    let code_of = |row: u32| u32::from(row == 3);
    let publish = |ledger: &mut Ledger, class: &[u32], waiting: &[u32]| {
        publish_some(ledger, &requirement, &[class], waiting, code_of, true).0
    };
    assert_eq!(publish(&mut ledger, &[0, 1, 2, 3], &[]), verdict(4, 4, 1));
    assert_eq!(publish(&mut ledger, &[0, 1], &[2, 3]), verdict(2, 2, 1));
    assert_eq!(publish(&mut ledger, &[2, 3], &[0, 1]), verdict(2, 0, 0), "it is tested again");
}

#[test]
fn whoever_was_never_published_leaves_no_trace() {
    let mut ledger = ledger(3);
    publish_rows(&mut ledger, 3, &[&[0, 1, 2]]);
    let before = ledger.pieces();
    ledger.replace(7, 8, true, RowFacts::default()).unwrap();
    assert_eq!(ledger.delete(8, RowFacts::default()), Ok(None));
    assert!(ledger.pieces() == before);
    assert_eq!(ledger.set_of(9), Ok(SetId::NEW));
}

#[test]
fn a_change_that_was_never_shown_is_no_difference_among_the_absent() {
    // Rows 3, 4 and 5 are gone from the second release; that one of them changed before it went was
    // shown nowhere.
    let mut ledger = ledger(3);
    publish_rows(&mut ledger, 3, &[&[0, 1, 2, 3, 4, 5]]);
    ledger.replace(3, 13, true, RowFacts::default()).unwrap();
    for row in [13, 4, 5] {
        ledger.delete(row, RowFacts::default()).unwrap();
    }
    assert_eq!(publish_rows(&mut ledger, 3, &[&[0, 1, 2]]), verdict(3, 0, 0));
}

#[test]
fn rows_that_do_not_fit_are_refused_by_number() {
    let requirement = diverse(2, 2);
    let mut ledger = Ledger::new(Needs::of(&requirement));
    let classes: Published<'_> = &[&[0, 1, 2, 3]];
    publish(&mut ledger, &requirement, classes, |row| row % 4, false).1.unwrap();
    let before = ledger.pieces();
    let facts = |codes: &'static [u32]| RowFacts { subject: 0, codes };

    assert_eq!(ledger.delete(1, facts(&[])), Err(LedgerError::Facts { row: 1 }));
    assert_eq!(ledger.replace(1, 9, true, facts(&[])), Err(LedgerError::Facts { row: 1 }));
    assert_eq!(ledger.replace(1, 2, true, facts(&[1])), Err(LedgerError::RowTaken { row: 2 }));
    let other = self::requirement(2);
    assert!(matches!(
        ledger.open(NewRelease::new("r", 1, ""), &other, None).err(),
        Some(LedgerError::OtherRequirement)
    ));
    let mut opened = ledger.open(NewRelease::new("r", 1, ""), &requirement, None).unwrap();
    assert_eq!(opened.add(0, facts(&[4])), Err(LedgerError::Facts { row: 0 }));
    opened.class([(0, facts(&[0])), (1, facts(&[1]))]).unwrap();
    assert_eq!(opened.waiting(0, facts(&[0])), Err(LedgerError::RowTwice { row: 0 }));
    opened.waiting(2, facts(&[2])).unwrap();
    let missing = opened.finish().err();
    assert_eq!(missing, Some(LedgerError::RowsMissing { expected: 2, given: 1 }));
    assert!(ledger.pieces() == before, "what failed left no trace");
}

#[test]
fn no_debug_output_shows_a_value() {
    let requirement = diverse(2, 2);
    let mut ledger = Ledger::new(Needs::of(&requirement));
    publish(&mut ledger, &requirement, &[&[0, 1]], |row| row + 2, false).1.unwrap();
    let dead = ledger.delete(1, RowFacts { subject: 77, codes: &[3] }).unwrap().unwrap();
    let shown = format!("{dead:?} {:?}", ledger.pieces());
    assert!(!shown.contains("77") && !shown.contains("codes"));
}
