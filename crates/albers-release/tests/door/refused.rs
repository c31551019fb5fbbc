//! Rows that are not those that were read, and classes that do not satisfy.

use albers_privacy::Criterion;
use albers_release::ReleaseError;
use albers_storage::watch::Silent;
use albers_table::row::RowIdx;

use super::table::{Case, Row, Table, WAYS, Way, groups_of, leaf_classes};

pub const AGES: [&str; 6] = ["20", "21", "25", "25", "30", "31"];

fn is_changed<T>(outcome: &Result<T, ReleaseError>) -> bool {
    matches!(outcome, Err(ReleaseError::RowsChanged))
}

#[test]
fn satisfying_classes_pass() {
    let table = Table::of_ages(&AGES, &[0, 1, 0, 1, 0, 1]);
    for way in WAYS {
        let case = Case::of_k(&table, way, 2);
        let outcome = case.pass_classes(&table.classes(&[&[0, 1], &[2, 3], &[5, 4]])).unwrap();
        let classes = outcome.classes[0];
        assert_eq!((classes.n_rows, classes.n_classes, classes.min, classes.max), (6, 3, 2, 2));
        let mut lines = outcome.lines();
        lines.sort_unstable();
        assert_eq!(
            lines,
            [
                "\"[20, 21]\",note 0",
                "\"[20, 21]\",note 1",
                "\"[30, 31]\",note 4",
                "\"[30, 31]\",note 5",
                "25,note 2",
                "25,note 3"
            ]
        );
        assert_eq!(outcome.spilled_bytes > 0, way != Way::Memory);
        assert!(outcome.seconds > 0.0);
    }
}

#[test]
fn both_ways_write_the_same_bytes() {
    let table = Table::mixed(2000);
    let classes = table.neighbours(5);
    let classes: Vec<&[u32]> = classes.iter().map(Vec::as_slice).collect();
    let classes = table.classes(&classes);
    let [memory, buckets] =
        WAYS.map(|way| Case::of_k(&table, way, 5).pass_classes(&classes).unwrap());
    assert_eq!(memory.texts, buckets.texts);
    assert_eq!(memory.classes, buckets.classes);
    assert!(buckets.n_parts[0][0] > 1, "it came in several buckets");
    let by_number = Case::of_k(&table, Way::Memory, 5).pass(&Silent, |door, _| {
        door.admit_groups(groups_of(3, &[classes[..7].to_vec(), classes[7..].to_vec()]))
    });
    assert_eq!(by_number.unwrap().texts, memory.texts);
}

#[test]
fn a_class_below_k_is_refused() {
    let table = Table::of_ages(&AGES, &[0; 6]);
    for way in WAYS {
        let case = Case::of_k(&table, way, 2);
        let outcome = case.pass_classes(&table.classes(&[&[0, 1], &[2, 3, 4], &[5]]));
        assert!(matches!(outcome, Err(ReleaseError::RequirementViolated { n_rows: 1, .. })));
    }
}

#[test]
fn a_class_without_diversity_is_refused() {
    let table = Table::of_ages(&AGES, &[0, 1, 2, 2, 0, 1]);
    let requirement = table.requirement(2, &[Criterion::DistinctLDiversity { l: 2 }]);
    for way in WAYS {
        let case = Case::new(&table, way, vec![requirement.clone()]);
        let outcome = case.pass_classes(&table.classes(&[&[0, 1], &[2, 3], &[4, 5]]));
        assert!(matches!(outcome, Err(ReleaseError::RequirementViolated { n_rows: 2, .. })));
        assert!(case.pass_classes(&table.classes(&[&[0, 1], &[2, 3, 4, 5]])).is_ok());
    }
}

#[test]
fn the_first_of_many_violations_in_the_order_of_publication_is_named() {
    // Groups of one to seven rows, all below k, each of its own age.
    let ages: Vec<String> =
        (0..4000).flat_map(|age| std::iter::repeat_n(age.to_string(), 1 + age % 7)).collect();
    let ages: Vec<&str> = ages.iter().map(String::as_str).collect();
    let table = Table::of_ages(&ages, &vec![0; ages.len()]);
    let rows: Vec<u32> = (0..ages.len() as u32).collect();
    let mut groups: Vec<&[u32]> =
        rows.chunk_by(|&a, &b| ages[a as usize] == ages[b as usize]).collect();
    let mut named = Vec::new();
    for _ in 0..8 {
        // Wherever the groups lie in memory, and whichever thread sees them first.
        groups.rotate_left(517);
        let blocks = [table.classes(&groups[..2000]), table.classes(&groups[2000..])];
        let case = Case::of_k(&table, Way::Memory, 8);
        match case.pass(&Silent, |door, _| door.admit_groups(groups_of(1, &blocks))) {
            Err(ReleaseError::RequirementViolated { n_rows, .. }) => named.push(n_rows),
            _ => panic!("no class has 8 rows"),
        }
    }
    assert!(named.iter().all(|n_rows| *n_rows == named[0]), "{named:?}");
}

#[test]
fn lost_doubled_swapped_and_changed_rows_are_refused() {
    let table = Table::of_ages(&AGES, &[0; 6]);
    for way in WAYS {
        let pass = |classes: &[Vec<Row>]| Case::of_k(&table, way, 2).pass_classes(classes);
        let of_rows = |classes: &[&[u32]]| pass(&table.classes(classes));
        assert!(is_changed(&of_rows(&[&[0, 1], &[2, 3, 4]])), "lost");
        assert!(is_changed(&of_rows(&[&[0, 1], &[2, 3, 4, 4]])), "doubled");
        assert!(is_changed(&of_rows(&[&[0, 1], &[2, 3, 4, 5, 5]])), "added");
        let whole = table.classes(&[&[0, 1], &[2, 3, 4, 5]]);
        let mut swapped = whole.clone();
        (swapped[0][0].id, swapped[1][3].id) = (5, 0);
        assert!(is_changed(&pass(&swapped)), "rows with the codes of others");
        for (class, row) in [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (1, 3)] {
            let mut changed = whole.clone();
            changed[class][row].codes[0] ^= 1;
            assert!(is_changed(&pass(&changed)), "a changed code");
        }
        assert!(pass(&whole).is_ok());
    }
}

#[test]
fn blocks_that_are_not_whole_are_refused() {
    let table = Table::of_ages(&AGES, &[0; 6]);
    let whole = || groups_of(1, &[table.classes(&[&[0, 1], &[2, 3, 4, 5]])]);
    let pass = |groups| {
        Case::of_k(&table, Way::Memory, 2).pass(&Silent, |door, _| door.admit_groups(groups))
    };
    assert!(pass(whole()).is_ok());
    let mut short = whole();
    short.blocks[0].codes.pop();
    assert!(is_changed(&pass(short)));
    let mut beyond = whole();
    beyond.blocks[0].class_ends[1] = 9;
    assert!(is_changed(&pass(beyond)));
    let mut empty = whole();
    empty.blocks[0].class_ends.insert(0, 0);
    assert!(is_changed(&pass(empty)));
    let mut unknown = whole();
    unknown.blocks[0].row_idxs[0] = RowIdx::new(77);
    assert!(is_changed(&pass(unknown)));
}

#[test]
fn classes_that_leave_leaves_out_are_refused() {
    let table = Table::of_ages(&AGES, &[0; 6]);
    let leaves = table.classes(&[&[0, 1], &[2, 3], &[4, 5]]);
    for way in WAYS {
        let pass = |of_leaf: &[u32]| {
            Case::of_k(&table, way, 2).pass(&Silent, |door, packer| {
                let leaves = packer.leaves(&leaves);
                door.admit_leaves(leaves.rows(packer), &[leaf_classes(of_leaf)])
            })
        };
        assert_eq!(pass(&[0, 1, 0]).unwrap().classes[0].n_classes, 2);
        assert!(is_changed(&pass(&[0, 1])), "a leaf without a class");
        assert!(is_changed(&pass(&[0, 2, 0])), "a class without a leaf");
    }
}
