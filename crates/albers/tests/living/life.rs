//! The life of an index, step by step.

use super::table::*;

fn people(n: u32) -> People {
    (0..n)
        .map(|id| {
            let age = (id * 37 % 90) as i32;
            let zip = (id * 101 % 1000) as i32;
            (id, Person { age, zip, illness: (id % 3) as u8 })
        })
        .collect()
}

#[test]
fn an_index_takes_rows_and_releases_all_of_them() {
    let (_, mut index) = index(&job(5));
    let all = people(200);
    let report = insert(&mut index, &all).unwrap();
    assert_eq!((report.inserted, report.rows), (200, 200));
    let (report, rows) = release(&mut index, &with_keys()).unwrap();
    assert_eq!((report.report.rows, report.release), (200, 1));
    assert!(report.report.class_size.min >= 5);
    let mut ids: Vec<u32> = rows.iter().filter_map(|row| row.id).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..200).collect::<Vec<_>>());
    assert!(index.check(&albers::Silent).unwrap().problems.is_empty());
}

#[test]
fn compacting_keeps_the_codes_of_rows_that_still_wait_in_buffers() {
    let (_, mut index) = index(&job(5));
    // Too few for a leaf, so that they stay in buffers; the second has values below all others.
    insert(&mut index, &People::from([(0, Person { age: 50, zip: 500, illness: 0 })])).unwrap();
    let mut index = index.compact(&albers::Silent).unwrap();
    insert(&mut index, &People::from([(1, Person { age: -20, zip: 3, illness: 1 })])).unwrap();
    let mut index = index.compact(&albers::Silent).unwrap();
    assert!(index.check(&albers::Silent).unwrap().problems.is_empty());
    let others = people(8).into_iter().filter(|(id, _)| *id > 1).collect();
    insert(&mut index, &others).unwrap();
    let (report, rows) = release(&mut index, &with_keys()).unwrap();
    assert_eq!(report.report.rows, 8);
    assert!(rows.iter().all(|row| row.id.is_some()));
}
