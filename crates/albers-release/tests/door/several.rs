//! Several releases of one table: some of them together may tell no more than the finest of these.

use albers_classes::ClassId;
use albers_classes::space::Shown;
use albers_release::ReleaseError;
use albers_release::door::LeafClasses;
use albers_storage::watch::Silent;
use albers_table::schema::ColumnType;

use super::table::{Case, Outcome, Row, Table, WAYS, Way, attribute, groups_of, leaf_classes};

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
                let pairs: Vec<u32> = (0..part.len() as u32).map(|leaf| leaf / 2).collect();
                let classes = [LeafClasses::default(), leaf_classes(&pairs)];
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
    assert!(matches!(pass(&[&torn, &rest]), Err(ReleaseError::NotNested)));
    let lost = pass(&[&whole]);
    assert!(matches!(lost, Err(ReleaseError::RowsChanged)), "each release has all rows");
}

/// What comes of releases for some k, each with the class of each leaf.
fn pass_leaves(
    (table, leaves): &(Table, Vec<Vec<Row>>),
    way: Way,
    releases: &[(u64, [u32; 6])],
) -> Result<Outcome, ReleaseError> {
    let requirements = releases.iter().map(|&(k, _)| table.requirement(k, &[])).collect();
    Case::new(table, way, requirements).pass(&Silent, |door, packer| {
        let classes = |(_, of_leaf): &(u64, [u32; 6])| leaf_classes(of_leaf);
        let classes: Vec<LeafClasses> = releases.iter().map(classes).collect();
        door.admit_leaves(packer.leaves(leaves).rows(packer), &classes)
    })
}

#[test]
fn a_release_that_tears_the_next_finer_one_is_refused_although_its_leaves_are_whole() {
    let leaves = [0, 1, 2, 3, 4, 5];
    let pairs = [0, 0, 1, 1, 2, 2];
    let halves = [0, 0, 0, 1, 1, 1];
    let whole = [0, 0, 0, 0, 1, 1];
    for way in WAYS {
        let pass = |releases: &[(u64, [u32; 6])]| pass_leaves(&table_of_leaves(), way, releases);
        // Together, pairs and halves tell the third and the fourth leaf apart.
        let torn = pass(&[(3, leaves), (5, pairs), (6, halves)]);
        assert!(matches!(torn, Err(ReleaseError::NotNested)), "{way:?}");
        assert!(pass(&[(3, leaves), (6, halves)]).is_ok(), "{way:?}: alone it is fine");
        // In any order: the coarser is the one with the greater k.
        let nested = pass(&[(3, leaves), (6, whole), (5, pairs)]).unwrap();
        let n_classes: Vec<u64> = nested.classes.iter().map(|own| own.n_classes).collect();
        assert_eq!(n_classes, [6, 2, 3], "{way:?}");
        let torn = pass(&[(3, leaves), (5, whole), (6, pairs)]);
        assert!(matches!(torn, Err(ReleaseError::NotNested)), "{way:?}");
    }
}

#[test]
fn classes_that_show_the_same_count_as_one_for_coarser_releases() {
    // Prefixes of two digits have two leaves each, which show the same.
    let zips = ["511", "512", "512", "511", "512", "511", "521", "522", "521", "522", "521", "522"];
    let zips = attribute("zip", ColumnType::Code, Shown::Label, &zips);
    let table = Table::new(vec![zips], &[0; 12]);
    let rows: Vec<u32> = (0..12).collect();
    let leaves = table.classes(&rows.chunks(3).collect::<Vec<_>>());
    let requirements = vec![table.requirement(3, &[]), table.requirement(6, &[])];
    for way in WAYS {
        let pass = |finest: [u32; 4], coarser: [u32; 4]| {
            Case::new(&table, way, requirements.clone()).pass(&Silent, |door, packer| {
                let leaves = packer.leaves(&leaves);
                let together = door.shown_together(
                    0,
                    leaves.rows(packer),
                    (&[0, 1, 2, 3].map(ClassId::new), &[]),
                )?;
                assert_eq!(together, [0, 0, 2, 2].map(ClassId::new));
                let classes = [finest, coarser].map(|own| leaf_classes(&own));
                door.admit_leaves(leaves.rows(packer), &classes)
            })
        };
        assert!(pass([0, 0, 1, 1], [0, 0, 1, 1]).is_ok(), "{way:?}");
        // Whole leaves, and yet the coarser release tells apart what the finer shows as one.
        let torn = pass([0, 1, 2, 3], [0, 1, 0, 1]);
        assert!(matches!(torn, Err(ReleaseError::NotNested)), "{way:?}");
    }
}
