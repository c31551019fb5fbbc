//! Rows that are left out.

use albers_classes::class_block::Suppressed;
use albers_classes::space::Shown;
use albers_privacy::{ClassSummary, Criterion, Requirement};
use albers_release::ReleaseError;
use albers_release::door::LeafClasses;
use albers_release::publish::Values;
use albers_storage::watch::Silent;
use albers_table::row::RowIdx;
use albers_table::schema::ColumnType;

use super::refused::AGES;
use super::table::{Case, Outcome, Table, WAYS, Way, attribute, groups_of};

/// Publishes classes and leaves rows out, as packed rows.
fn pass(case: &Case<'_>, classes: &[&[u32]], left_out: &[u32]) -> Result<Outcome, ReleaseError> {
    case.pass(&Silent, |door, packer| {
        let leaves = packer.leaves(&packer.table.classes(classes));
        door.admit_leaves(leaves.rows(packer), &vec![LeafClasses::default(); door.n_releases()])?;
        let rows = packer.pack(packer.table.classes(&[left_out])[0].iter());
        door.leave_out_packed(packer.layout, &rows, 0..rows.n_rows() as u32)
    })
}

#[test]
fn a_row_may_be_left_out_but_not_forgotten() {
    let table = Table::of_ages(&AGES, &[0; 6]);
    for way in WAYS {
        let case = Case { max_left_out: 1, ..Case::of_k(&table, way, 2) };
        let pass = |left_out: &[u32]| pass(&case, &[&[0, 1], &[2, 3, 4]], left_out);
        let outcome = pass(&[5]).unwrap();
        assert_eq!((outcome.classes[0].n_rows, outcome.n_left_out), (5, 1));
        assert_eq!(outcome.n_parts[0][2], 1, "what is left out is measured once");
        // Nobody accounts for the last row, another one is there twice, or one too many is out.
        assert!(matches!(pass(&[]), Err(ReleaseError::RowsChanged)));
        assert!(matches!(pass(&[4]), Err(ReleaseError::RowsChanged)));
        let too_many = pass(&[4, 5]);
        assert!(matches!(
            too_many,
            Err(ReleaseError::TooManySuppressed { n_suppressed: 2, max_suppressed: 1, n_rows: 6 })
        ));
    }
}

#[test]
fn rows_told_by_number_may_be_left_out_too() {
    let table = Table::of_ages(&AGES, &[0; 6]);
    let case = Case { max_left_out: 2, ..Case::of_k(&table, Way::Memory, 2) };
    let pass = |row_ids: Vec<u32>| {
        let mut groups = groups_of(1, &[table.classes(&[&[0, 1], &[2, 3, 4]])]);
        let codes = row_ids.iter().map(|&row| table.columns[0].get(row as usize).copied());
        let codes = codes.map(Option::unwrap_or_default).collect();
        let row_idxs = row_ids.into_iter().map(RowIdx::new).collect();
        groups.suppressed = Suppressed { row_idxs, codes };
        case.pass(&Silent, |door, _| door.admit_groups(groups))
    };
    assert_eq!(pass(vec![5]).unwrap().n_left_out, 1);
    assert!(matches!(pass(vec![4]), Err(ReleaseError::RowsChanged)));
    assert!(matches!(pass(vec![77]), Err(ReleaseError::RowsChanged)), "a row that there is not");
}

#[test]
fn not_all_rows_may_be_left_out() {
    let table = Table::of_ages(&AGES, &[0; 6]);
    for way in WAYS {
        let case = Case { max_left_out: 6, ..Case::of_k(&table, way, 2) };
        let outcome = pass(&case, &[], &[0, 1, 2, 3, 4, 5]);
        assert!(matches!(outcome, Err(ReleaseError::NothingLeft { n_rows: 6 })));
    }
}

#[test]
fn rows_that_are_left_out_leave_no_trace_in_any_file() {
    let published = [("1.5", "7"), ("2", ""), ("3.25", "8.5"), ("3.5", "7"), ("3.5", "9")];
    // Longer fractions, larger numbers, missing values, other types.
    let left_out =
        [("1.5", "7"), ("0.123456", "1e9"), ("", ""), ("-123456.5", "x"), ("7", "123456.789")];
    for values in [Values::Interval, Values::Bounds] {
        for ending in ["csv", "parquet"] {
            let mut files = std::collections::BTreeSet::new();
            for (last, way) in left_out.iter().flat_map(|last| WAYS.map(|way| (last, way))) {
                let rows: Vec<_> = published.iter().chain([last]).collect();
                let pays: Vec<&str> = rows.iter().map(|row| row.0).collect();
                let pay = attribute("pay", ColumnType::Decimal, Shown::Interval, &pays);
                let mut table = Table::new(vec![pay], &[0; 6]);
                table.notes = rows.iter().map(|row| row.1.to_owned()).collect();
                let case = Case { max_left_out: 1, values, ending, ..Case::of_k(&table, way, 2) };
                let mut outcome = pass(&case, &[&[0, 1], &[2, 3, 4]], &[5]).unwrap();
                files.insert(outcome.files.remove(0));
            }
            assert_eq!(files.len(), 1, "{values} {ending}");
        }
    }
}

/// What is left of the whole table: half of it has secret 0 and half 1, all the others were left
/// out.
fn is_close(requirement: &Requirement, secrets: &[u32]) -> bool {
    let mut class = ClassSummary::new(requirement.shape());
    secrets.iter().for_each(|&secret| class.add(0, &[secret]));
    requirement.holds(&class)
}

#[test]
fn closeness_is_to_what_is_published_where_rows_are_left_out() {
    // A quarter of the whole table has each secret; half of what is published has 0 or 1.
    let ages: Vec<String> = (0..8).map(|age| (20 + age).to_string()).collect();
    let ages: Vec<&str> = ages.iter().map(String::as_str).collect();
    let table = Table::of_ages(&ages, &[0, 1, 0, 1, 2, 3, 2, 3]);
    let requirement = table.requirement(2, &[Criterion::TCloseness { t: 0.1 }]);
    assert!(!is_close(&requirement, &[0, 1]), "too far from the whole table");
    for way in WAYS {
        let case = Case { max_left_out: 4, ..Case::new(&table, way, vec![requirement.clone()]) };
        let outcome = pass(&case, &[&[0, 1], &[2, 3]], &[4, 5, 6, 7]).unwrap();
        assert!(is_close(&outcome.requirements[0], &[0, 1]));
        assert!(!is_close(&outcome.requirements[0], &[0, 1, 2, 3]), "no longer to the whole");
        // Close to the whole table, but not to what is published.
        let refused = pass(&case, &[&[0, 1, 4, 5], &[2, 3, 6]], &[7]);
        assert!(matches!(refused, Err(ReleaseError::RequirementViolated { .. })));
        // Where no row is left out, the whole table is what is published.
        let case = Case { max_left_out: 4, ..Case::new(&table, way, vec![requirement.clone()]) };
        let outcome = pass(&case, &[&[0, 1, 4, 5], &[2, 3, 6, 7]], &[]).unwrap();
        assert!(is_close(&outcome.requirements[0], &[0, 1, 2, 3]));
    }
}
