//! The life of an index, step by step.

use albers::{Index, Job, ReleaseRequest, Role, Silent};

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
    assert!(index.check(&Silent).unwrap().problems.is_empty());
}

#[test]
fn compacting_keeps_the_codes_of_rows_that_still_wait_in_buffers() {
    let (_, mut index) = index(&job(5));
    // Too few for a leaf, so that they stay in buffers; the second has values below all others.
    insert(&mut index, &People::from([(0, Person { age: 50, zip: 500, illness: 0 })])).unwrap();
    let mut index = index.compact(&Silent).unwrap();
    insert(&mut index, &People::from([(1, Person { age: -20, zip: 3, illness: 1 })])).unwrap();
    let mut index = index.compact(&Silent).unwrap();
    assert!(index.check(&Silent).unwrap().problems.is_empty());
    let others = people(8).into_iter().filter(|(id, _)| *id > 1).collect();
    insert(&mut index, &others).unwrap();
    let (report, rows) = release(&mut index, &with_keys()).unwrap();
    assert_eq!(report.report.rows, 8);
    assert!(rows.iter().all(|row| row.id.is_some()));
}

/// A table of people of whom some have several rows, as text, with a subject.
fn rows(rows: &[(&str, i32, &str, &str)]) -> String {
    let row = |(id, age, illness, person): &(&str, i32, &str, &str)| {
        format!("{id},{age},{illness},{person}\n")
    };
    "id,age,illness,person\n".to_owned() + &rows.iter().map(row).collect::<String>()
}

fn person_job(k: u64, has_subject: bool, diversity: Option<&str>) -> Job {
    let mut job = Job { k: Some(k), threads: Some(1), ..Job::default() };
    job.set_role("age", Role::Quasi).unwrap();
    job.set_role("illness", Role::Sensitive).unwrap();
    if has_subject {
        job.set_role("person", Role::Subject).unwrap();
    }
    job.column("illness").l_diversity = diversity.map(|text| text.parse().unwrap());
    let accepted = ["secret-without-rule", "keep-tells-quasi", "person-rules-class"];
    job.accept = accepted.iter().map(|name| name.parse().unwrap()).collect();
    job
}

fn plain_release(index: &mut Index) -> albers::Result<albers::living::ReleaseReport> {
    let (sink, _batches) = albers::sink::BatchSink::new();
    index.release(&ReleaseRequest::default(), vec![Box::new(sink)], &Silent)
}

#[test]
fn a_row_that_came_back_and_went_again_is_known_as_it_was_published() {
    let table =
        [("a", 1, "x", "p1"), ("b", 1, "y", "p1"), ("c", 1, "x", "p2"), ("d", 1, "y", "p3")];
    // By single rows, and through runs, where least memory makes every batch a large one.
    for least_memory in [None, Some("64KB".parse().unwrap())] {
        for (has_subject, diversity) in [(true, None), (false, Some("distinct:2"))] {
            let job = Job { least_memory, ..person_job(2, has_subject, diversity) };
            let (_, mut index) = index(&job);
            index.insert(&source(rows(&table)), &Silent).unwrap();
            plain_release(&mut index).unwrap();
            let gone = |index: &mut Index, keys: &str| {
                index.delete(&source(format!("id\n{keys}")), &Silent).unwrap();
            };
            gone(&mut index, "a\n");
            index.insert(&source(rows(&table[..1])), &Silent).unwrap();
            gone(&mut index, "a\nb\n");
            let outcome = plain_release(&mut index);
            match has_subject {
                // Both rows that are gone are those of one person.
                true => assert!(outcome.unwrap_err().to_string().contains("in sets below")),
                false => assert_eq!(outcome.unwrap().smallest_set, Some(2)),
            }
        }
    }
}

#[test]
fn who_changed_and_changed_back_hides_nobody_who_changed() {
    let table = [("a", 1, "x", "p1"), ("b", 1, "y", "p2"), ("c", 1, "z", "p3")];
    let (_, mut index) = index(&person_job(3, false, None));
    index.insert(&source(rows(&table)), &Silent).unwrap();
    plain_release(&mut index).unwrap();
    let update = |index: &mut Index, own: &[(&str, i32, &str, &str)]| {
        index.update(&source(rows(own)), &Silent).unwrap();
    };
    update(&mut index, &[("a", 1, "y", "p1"), ("b", 1, "z", "p2"), ("c", 1, "x", "p3")]);
    update(&mut index, &[("c", 1, "z", "p3")]);
    assert!(plain_release(&mut index).unwrap_err().to_string().contains("in sets below"));
    // All of them back: nothing happened.
    update(&mut index, &[("a", 1, "x", "p1"), ("b", 1, "y", "p2")]);
    assert_eq!(plain_release(&mut index).unwrap().smallest_set, Some(3));
}

#[test]
fn a_change_of_the_person_alone_hides_nobody_whose_row_changed() {
    let table = [("a", 1, "x", "p1"), ("b", 1, "y", "p2"), ("c", 1, "z", "p3")];
    let (_, mut index) = index(&person_job(3, true, None));
    index.insert(&source(rows(&table)), &Silent).unwrap();
    plain_release(&mut index).unwrap();
    let changed = [("a", 1, "y", "p1"), ("b", 1, "z", "p2"), ("c", 1, "z", "p4")];
    let report = index.update(&source(rows(&changed)), &Silent).unwrap();
    assert_eq!(report.updated, 3);
    assert!(plain_release(&mut index).unwrap_err().to_string().contains("in sets below"));
}
