//! Several releases of one table: together they may tell no more than the finest.

use albers_release::ReleaseError;
use albers_release::door::LeafClasses;
use albers_storage::watch::Silent;

use super::table::{Case, Row, Table, WAYS, Way, groups_of};

/// Six leaves of three rows.
fn table_of_leaves() -> (Table, Vec<Vec<Row>>) {
    let ages: Vec<String> = (0..18).map(|age| (20 + age).to_string()).collect();
    let ages: Vec<&str> = ages.iter().map(String::as_str).collect();
    let table = Table::of_ages(&ages, &[0; 18]);
    let rows: Vec<u32> = (0..18).collect();
    let leaves = table.classes(&rows.chunks(3).collect::<Vec<_>>());
    (table, leaves)
}

#[test]
fn every_release_has_classes_of_whole_leaves() {
    let (table, leaves) = table_of_leaves();
    let requirements = vec![table.requirement(3, &[]), table.requirement(6, &[])];
    let texts = WAYS.map(|way| {
        let case = Case::new(&table, way, requirements.clone());
        let outcome = case.pass(&Silent, |door, packer| {
            // In two parts: the classes of each part are numbered anew.
            for part in leaves.chunks(4) {
                let pairs = (0..part.len() as u32).map(|leaf| leaf / 2).collect();
                let classes = [LeafClasses::default(), LeafClasses::from(Some(pairs))];
                door.admit_leaves(packer.leaves(part).rows(packer), &classes)?;
            }
            Ok(())
        });
        let outcome = outcome.unwrap();
        assert_eq!((outcome.classes[0].n_classes, outcome.classes[1].n_classes), (6, 3));
        assert_eq!((outcome.classes[0].min, outcome.classes[1].min), (3, 6));
        outcome.texts
    });
    assert_eq!(texts[0], texts[1]);
}

#[test]
fn a_coarser_release_below_its_own_k_is_refused() {
    let (table, leaves) = table_of_leaves();
    for way in WAYS {
        let requirements = vec![table.requirement(3, &[]), table.requirement(4, &[])];
        let outcome = Case::new(&table, way, requirements).pass_classes(&leaves);
        assert!(matches!(outcome, Err(ReleaseError::RequirementViolated { n_rows: 3, .. })));
    }
}

#[test]
fn intersection_attack_across_granularities_fails() {
    // Each release alone would be fine. Together they would tell row 0 apart from 1 and 2: their
    // classes have only it in common.
    let (table, _) = table_of_leaves();
    let rows: Vec<u32> = (0..18).collect();
    let fine = table.classes(&[&rows[..3], &rows[3..9], &rows[9..]]);
    let torn: Vec<u32> = [0].into_iter().chain(3..9).collect();
    let rest: Vec<u32> = [1, 2].into_iter().chain(9..18).collect();
    let whole: Vec<u32> = (0..9).collect();
    let requirements = vec![table.requirement(3, &[]), table.requirement(6, &[])];
    let pass = |coarse: &[&[u32]]| {
        Case::new(&table, Way::Memory, requirements.clone()).pass(&Silent, |door, _| {
            for (release, classes) in [&fine, &table.classes(coarse)].into_iter().enumerate() {
                for block in groups_of(1, std::slice::from_ref(classes)).blocks {
                    door.admit(release, block)?;
                }
            }
            Ok(())
        })
    };
    assert!(pass(&[&whole, &rows[9..]]).is_ok());
    assert!(matches!(pass(&[&torn, &rest]), Err(ReleaseError::RowsChanged)));
    let lost = pass(&[&whole]);
    assert!(matches!(lost, Err(ReleaseError::RowsChanged)), "each release has all rows");
}
