//! Rows, batches and requests that are out of the ordinary: clear errors or correct results, and an
//! index that is as it was.

use std::collections::BTreeMap;

use albers::sink::BatchSink;
use albers::{ErrorKind, HierarchySpec, Index, Job, ReleaseRequest, Result, Role, Silent};
use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, ArrayRef, RecordBatch};

use super::table::*;

pub fn people(ids: impl Iterator<Item = u32>) -> People {
    let person = |id: u32| Person {
        age: (id * 37 % 90) as i32,
        zip: (id * 101 % 1000) as i32,
        illness: (id % 3) as u8,
    };
    ids.map(|id| (id, person(id))).collect()
}

pub fn tiny(k: u64) -> Job {
    Job { least_memory: Some("64KB".parse().unwrap()), ..job(k) }
}

/// An index with some rows.
pub fn filled(job: &Job, n_rows: u32) -> Index {
    let (_, mut index) = index(job);
    insert(&mut index, &people(0..n_rows)).unwrap();
    index
}

/// A row of a release, by the names of its columns.
pub type Row = BTreeMap<String, String>;

pub fn rows_of(batches: Vec<RecordBatch>) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let cell = |column: &ArrayRef| {
                let text = arrow_cast::cast(column, &arrow_schema::DataType::Utf8).unwrap();
                let text = text.as_string::<i32>();
                if text.is_null(row) { String::new() } else { text.value(row).to_owned() }
            };
            let schema = batch.schema();
            let names = schema.fields().iter().map(|field| field.name().clone());
            rows.push(names.zip(batch.columns().iter().map(cell)).collect());
        }
    }
    rows
}

pub fn release_rows(index: &mut Index, request: &ReleaseRequest) -> Result<Vec<Row>> {
    let (sink, batches) = BatchSink::new();
    index.release(request, vec![Box::new(sink)], &Silent)?;
    Ok(rows_of(batches.take()))
}

pub fn accepting() -> ReleaseRequest {
    let mut request = with_keys();
    request.accept.push("linkage".parse().unwrap());
    request
}

/// An index is as it was, whole, with so many rows.
fn is_as_it_was(index: &mut Index, n_rows: u64) {
    assert_eq!(index.info().unwrap().rows, n_rows);
    assert!(index.check(&Silent).unwrap().problems.is_empty());
    if n_rows > 0 {
        let rows = release_rows(index, &accepting()).unwrap();
        assert_eq!(rows.len() as u64, n_rows);
    }
}

pub fn insert_text(index: &mut Index, text: &str) -> Result<u64> {
    index.insert(&source(text.to_owned()), &Silent).map(|report| report.inserted)
}

/// A job on one column beside the key.
fn one_column(name: &str, change: impl FnOnce(&mut Job)) -> Job {
    let mut job = tiny(2);
    job.columns.clear();
    job.set_role(name, Role::Quasi).unwrap();
    change(&mut job);
    job
}

#[test]
fn a_batch_larger_than_memory_gives_the_same_release() {
    let all = people(0..20_000);
    let releases = ["1MB", "256MB"].map(|memory| {
        let least_memory = Some("1MB".parse().unwrap());
        let job = Job { memory: Some(memory.parse().unwrap()), least_memory, ..job(5) };
        let (_, mut index) = index(&job);
        insert(&mut index, &all).unwrap();
        insert(&mut index, &people(20_000..24_000)).unwrap();
        delete(&mut index, &(0..5000).collect::<Vec<_>>()).unwrap();
        let (_, mut rows) = release(&mut index, &with_keys()).unwrap();
        rows.sort();
        assert!(index.check(&Silent).unwrap().problems.is_empty());
        rows
    });
    assert_eq!(releases[0].len(), 19_000);
    assert!(releases[0] == releases[1]);
}

#[test]
fn duplicate_keys_are_refused_with_their_row_also_far_apart() {
    let job = Job { memory: Some("1MB".parse().unwrap()), ..tiny(5) };
    let mut index = filled(&job, 100);
    let near = "id,who,age,zip,illness\npa,s,1,2,i\npb,s,1,2,i\npa,s,1,2,i\n";
    let mut far = text_of(&people(1000..20_000));
    far += "p1007,s,1,2,i1\n";
    for (text, row) in [(near, 3), (far.as_str(), 19_001)] {
        for kind in 0..3 {
            let rows = source(text.to_owned());
            let outcome = match kind {
                0 => index.insert(&rows, &Silent),
                1 => index.sync(&rows, 1.0, &Silent),
                _ => index.delete(
                    &source(text.lines().fold(String::new(), |keys, line| {
                        keys + line.split(',').next().unwrap() + "\n"
                    })),
                    &Silent,
                ),
            };
            let message = outcome.unwrap_err().to_string();
            assert!(message.contains(&format!("{row}")), "{message}");
            assert!(message.contains("the index is as it was"), "{message}");
        }
    }
    is_as_it_was(&mut index, 100);
}

#[test]
fn keys_that_are_unknown_or_there_already_are_refused_with_their_row() {
    let mut index = filled(&tiny(5), 100);
    let text = text_of(&people(99..130));
    let inserted = index.insert(&source(text.clone()), &Silent).unwrap_err().to_string();
    assert!(inserted.contains("row 1 has a key that a row of the index has"), "{inserted}");
    let updated = index.update(&source(text), &Silent).unwrap_err().to_string();
    assert!(updated.contains("row 2 has a key that no row"), "{updated}");
    let deleted = delete(&mut index, &[5, 7, 200]).unwrap_err().to_string();
    assert!(deleted.contains("row 3 has a key that no row"), "{deleted}");
    let single = delete(&mut index, &[200]).unwrap_err().to_string();
    assert!(single.contains("row 1 has a key that no row"), "{single}");
    is_as_it_was(&mut index, 100);
}

#[test]
fn a_batch_without_the_key_or_a_column_is_refused_by_name() {
    let mut index = filled(&tiny(5), 100);
    let texts = [
        ("age,zip,illness\n1,2,i1\n", "'id'"),
        ("id,zip,illness\np900,2,i1\n", "'age'"),
        ("id,age,zip\np900,1,2\n", "'illness'"),
    ];
    for (text, name) in texts {
        let error = insert_text(&mut index, text).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
        assert!(matches!(error.kind(), ErrorKind::Usage | ErrorKind::Input));
    }
    let error = index.delete(&source("key\np1\n".to_owned()), &Silent).unwrap_err();
    assert!(error.to_string().contains("'id'"), "{error}");
    let error = insert_text(&mut index, "id,who,age,zip,illness\n,s,1,2,i1\n").unwrap_err();
    assert!(error.to_string().contains("row 1"), "{error}");
    is_as_it_was(&mut index, 100);
    // The first batch is asked for the key too.
    let (_, mut empty) = self::index(&tiny(5));
    let error = insert_text(&mut empty, "age,zip,illness\n1,2,i1\n").unwrap_err();
    assert!(error.to_string().contains("'id'"), "{error}");
    is_as_it_was(&mut empty, 0);
}

#[test]
fn empty_batches_change_nothing() {
    let header = "id,who,age,zip,illness\n";
    let (_, mut empty) = index(&tiny(5));
    let report = empty.insert(&source(header.to_owned()), &Silent);
    assert!(report.is_err() || report.is_ok_and(|own| own.rows == 0));
    is_as_it_was(&mut empty, 0);
    insert(&mut empty, &people(0..100)).unwrap();
    assert_eq!(insert_text(&mut empty, header).unwrap(), 0);
    assert_eq!(empty.update(&source(header.to_owned()), &Silent).unwrap().updated, 0);
    assert_eq!(empty.delete(&source("id\n".to_owned()), &Silent).unwrap().deleted, 0);
    let error = empty.sync(&source(header.to_owned()), 0.1, &Silent).unwrap_err();
    assert!(error.to_string().contains("100 of the 100 rows"), "{error}");
    is_as_it_was(&mut empty, 100);
}

#[test]
fn an_index_without_rows_releases_nothing() {
    let (_, mut index) = index(&tiny(2));
    let error = release(&mut index, &with_keys()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    insert(&mut index, &people(0..20)).unwrap();
    release(&mut index, &with_keys()).unwrap();
    delete(&mut index, &(0..20).collect::<Vec<_>>()).unwrap();
    for batch in [false, true] {
        let error = release(&mut index, &ReleaseRequest { batch, ..accepting() }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    }
    let mut index = index.compact(&Silent).unwrap();
    is_as_it_was(&mut index, 0);
    insert(&mut index, &people(0..30)).unwrap();
    is_as_it_was(&mut index, 30);
}

#[test]
fn rows_that_are_too_few_outlive_a_compaction_through_new_codes() {
    let (_, mut index) = index(&tiny(40));
    insert(&mut index, &people(0..10)).unwrap();
    let later: People = people(10..25)
        .into_iter()
        .map(|(id, own)| (id, Person { age: own.age - 500, illness: own.illness + 7, ..own }))
        .collect();
    insert(&mut index, &later).unwrap();
    assert!(release(&mut index, &with_keys()).is_err());
    let mut index = index.compact(&Silent).unwrap();
    assert!(index.check(&Silent).unwrap().problems.is_empty());
    insert(&mut index, &people(30..60)).unwrap();
    is_as_it_was(&mut index, 55);
}

#[test]
fn new_names_and_numbers_beyond_all_others_are_taken_in() {
    let job = one_column("color", |job| {
        job.set_role("size", Role::Quasi).unwrap();
        job.column("size").column_type = Some("integer".parse().unwrap());
    });
    let (_, mut index) = index(&job);
    insert_text(&mut index, "id,color,size\na,red,5\nb,blue,6\nc,red,7\nd,blue,5\n").unwrap();
    release_rows(&mut index, &accepting()).unwrap();
    let more = "id,color,size\ne,amber,-400000000\nf,zinc,400000000\ng,green,0\nh,green,1\n";
    insert_text(&mut index, more).unwrap();
    index.update(&source("id,color,size\na,cyan,3\n".to_owned()), &Silent).unwrap();
    let rows = release_rows(&mut index, &accepting()).unwrap();
    assert_eq!(rows.len(), 8);
    let size = [("a", 3i64), ("e", -400_000_000), ("f", 400_000_000), ("g", 0)];
    for (id, size) in size {
        let row = rows.iter().find(|row| row["id"] == id).unwrap();
        let shown = row["size"].trim_matches(['[', ']']);
        let (lo, hi) = shown.split_once(", ").unwrap_or((shown, shown));
        assert!((lo.parse().unwrap()..=hi.parse::<i64>().unwrap()).contains(&size));
    }
    // Codes have room for so many values.
    let far = "id,color,size\ni,red,0\nj,red,-9123456789\n";
    let text = insert_text(&mut index, far).unwrap_err().to_string();
    assert!(text.contains("row 2, column 'size'") && !text.contains("9123456789"), "{text}");
    is_as_it_was(&mut index, 8);
    let colors = [("a", "cyan"), ("b", "blue"), ("e", "amber"), ("f", "zinc"), ("h", "green")];
    for (id, color) in colors {
        let row = rows.iter().find(|row| row["id"] == id).unwrap();
        assert!(row["color"].contains(color) || row["color"] == "*", "a color is not covered");
    }
}

#[test]
fn a_missing_value_may_come_later_and_go_again() {
    let (_, mut index) = index(&tiny(2));
    insert(&mut index, &people(0..40)).unwrap();
    release_rows(&mut index, &accepting()).unwrap();
    let text = "id,who,age,zip,illness\nm1,s,,5,i1\nm2,s,3,,i2\nm3,s,,,\n";
    insert_text(&mut index, text).unwrap();
    let rows = release_rows(&mut index, &accepting()).unwrap();
    assert_eq!(rows.len(), 43);
    // Who has no value is not in a class that says that all have.
    let of = |id: &str| rows.iter().find(|row| row["id"] == id).unwrap();
    let is_plain = |shown: &str| shown.parse::<i32>().is_ok() || shown.starts_with('[');
    assert!(!is_plain(&of("m1")["age"]) && !is_plain(&of("m2")["zip"]));
    index.update(&source(text.replace(",,", ",7,").replace(",,", ",7,")), &Silent).unwrap();
    is_as_it_was(&mut index, 43);
    let rows = release_rows(&mut index, &accepting()).unwrap();
    assert!(rows.iter().all(|row| is_plain(&row["age"]) && is_plain(&row["zip"])));
}

#[test]
fn a_decimal_may_have_more_digits_later() {
    let job = one_column("weight", |job| {
        job.column("weight").column_type = Some("decimal".parse().unwrap());
    });
    let (_, mut index) = index(&job);
    insert_text(&mut index, "id,weight\na,1.5\nb,2.5\nc,30\nd,31\n").unwrap();
    release_rows(&mut index, &accepting()).unwrap();
    match insert_text(&mut index, "id,weight\ne,1.625\nf,1.6250\ng,0.001\n") {
        Ok(inserted) => {
            assert_eq!(inserted, 3);
            let rows = release_rows(&mut index, &accepting()).unwrap();
            for (id, weight) in [("a", 1.5), ("d", 31.0), ("e", 1.625), ("g", 0.001)] {
                let row = rows.iter().find(|row| row["id"] == id).unwrap();
                let shown = row["weight"].trim_matches(['[', ']']);
                let (lo, hi) = shown.split_once(", ").unwrap_or((shown, shown));
                assert!((lo.parse().unwrap()..=hi.parse::<f64>().unwrap()).contains(&weight));
            }
        }
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("row 1") && text.contains("'weight'"), "{text}");
            assert!(!text.contains("1.625"), "a value is told");
            is_as_it_was(&mut index, 4);
        }
    }
}

#[test]
fn a_hierarchy_of_prefixes_takes_in_new_leaves() {
    let job = one_column("zip", |job| {
        job.column("zip").hierarchy = Some(HierarchySpec::Prefix);
        job.column("zip").column_type = Some("code".parse().unwrap());
    });
    let (_, mut index) = index(&job);
    insert_text(&mut index, "id,zip\na,10115\nb,10117\nc,20095\nd,20097\n").unwrap();
    release_rows(&mut index, &accepting()).unwrap();
    insert_text(&mut index, "id,zip\ne,10116\nf,99999\ng,00001\nh,20096\n").unwrap();
    let rows = release_rows(&mut index, &accepting()).unwrap();
    assert_eq!(rows.len(), 8);
    for (id, zip) in [("a", "10115"), ("e", "10116"), ("f", "99999"), ("g", "00001")] {
        let shown = &rows.iter().find(|row| row["id"] == id).unwrap()["zip"];
        assert!(zip.starts_with(shown.trim_end_matches('*')), "a code is not covered");
    }
    // A code of another length changes what prefixes are, or is refused by its place.
    match insert_text(&mut index, "id,zip\ni,10115\nj,123456789\n") {
        Ok(_) => is_as_it_was(&mut index, 10),
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("row 2") && text.contains("'zip'"), "{text}");
            assert!(!text.contains("123456789"), "a value is told");
            is_as_it_was(&mut index, 8);
        }
    }
}

#[test]
fn a_value_that_a_hierarchy_does_not_have_is_refused_by_its_place() {
    let folder = folder();
    let path = folder.path().join("animals.csv");
    std::fs::write(&path, "cat;mammal;*\ndog;mammal;*\ncrow;bird;*\ngull;bird;*\n").unwrap();
    let job = one_column("animal", |job| {
        job.column("animal").hierarchy = Some(HierarchySpec::File(path.clone()));
    });
    let (disk, mut index) = index(&job);
    insert_text(&mut index, "id,animal\na,cat\nb,dog\nc,crow\nd,cat\n").unwrap();
    // What the hierarchy says is kept in the index.
    std::fs::remove_file(&path).unwrap();
    drop(index);
    let mut index = Index::open_on(disk).unwrap();
    insert_text(&mut index, "id,animal\ne,gull\n").unwrap();
    for text in ["id,animal\nf,crow\ng,secretfish\n", "id,animal\ng,secretfish\n"] {
        let text = insert_text(&mut index, text).unwrap_err().to_string();
        assert!(text.contains("row ") && text.contains("'animal'"), "{text}");
        assert!(!text.contains("secretfish"), "a value is told");
    }
    is_as_it_was(&mut index, 5);
    let rows = release_rows(&mut index, &accepting()).unwrap();
    let shown = &rows.iter().find(|row| row["id"] == "e").unwrap()["animal"];
    assert!(["gull", "bird", "*"].contains(&shown.as_str()));
}

#[test]
fn a_cell_of_another_type_is_refused_by_its_place() {
    let mut index = filled(&tiny(5), 100);
    let text = "id,who,age,zip,illness\np500,s,12,3,i1\np501,s,secretage,3,i1\n";
    for kind in 0..3 {
        let rows = source(text.to_owned());
        let outcome = match kind {
            0 => index.insert(&rows, &Silent),
            1 => index.update(&rows, &Silent),
            _ => index.sync(&rows, 1.0, &Silent),
        };
        let text = outcome.unwrap_err().to_string();
        assert!(text.contains("'age'") || text.contains("no row of the index"), "{text}");
        assert!(!text.contains("secretage"), "a value is told");
    }
    is_as_it_was(&mut index, 100);
}

#[test]
fn two_writers_and_a_reader_beside_a_writer_are_refused() {
    let parent = folder();
    let folder = parent.path().join("index");
    let mut writer = Index::create(&folder, &tiny(5), "id").unwrap();
    insert(&mut writer, &people(0..50)).unwrap();
    for opened in [Index::open(&folder), Index::open_to_read(&folder)] {
        let text = opened.err().unwrap().to_string();
        assert!(text.contains("in use"), "{text}");
    }
    let again = Index::create(&folder, &tiny(5), "id").err().unwrap().to_string();
    assert!(again.contains("not empty") || again.contains("in use"), "{again}");
    drop(writer);
    let mut readers = [0, 1].map(|_| Index::open_to_read(&folder).unwrap());
    for reader in &mut readers {
        assert_eq!(reader.info().unwrap().rows, 50);
        assert!(reader.check(&Silent).unwrap().problems.is_empty());
        assert!(insert(reader, &people(60..61)).unwrap_err().to_string().contains("reading only"));
        assert!(release(reader, &with_keys()).is_err());
    }
    assert!(Index::open(&folder).err().unwrap().to_string().contains("in use"));
    drop(readers);
    is_as_it_was(&mut open(&folder), 50);
    let again = Index::create(&folder, &tiny(5), "id").err().unwrap().to_string();
    assert!(again.contains("not empty"), "{again}");
}

#[test]
fn a_sync_that_would_remove_too_many_rows_is_refused() {
    let mut index = filled(&tiny(5), 100);
    let error = index.sync(&source(text_of(&people(11..130))), 0.1, &Silent).unwrap_err();
    assert!(error.to_string().contains("11 of the 100 rows"), "{error}");
    is_as_it_was(&mut index, 100);
    let report = index.sync(&source(text_of(&people(10..130))), 0.1, &Silent).unwrap();
    assert_eq!((report.inserted, report.deleted, report.unchanged), (30, 10, 90));
    is_as_it_was(&mut index, 120);
}
