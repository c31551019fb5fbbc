//! Rows, batches and requests that are out of the ordinary: clear errors or correct results, and an
//! index that is as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use albers::sink::{BatchSink, Sink};
use albers::source::{BatchSource, ReadOptions};
use albers::{
    Categories, ErrorKind, Granularity, HierarchySpec, Index, Job, ReleaseRequest, Result, Role,
    Silent, Values,
};
use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};

use super::attacker::Seen;
use super::table::*;

fn people(ids: impl Iterator<Item = u32>) -> People {
    let person = |id: u32| Person {
        age: (id * 37 % 90) as i32,
        zip: (id * 101 % 1000) as i32,
        illness: (id % 3) as u8,
    };
    ids.map(|id| (id, person(id))).collect()
}

fn tiny(k: u64) -> Job {
    Job { least_memory: Some("64KB".parse().unwrap()), ..job(k) }
}

/// An index with some rows.
fn filled(job: &Job, n_rows: u32) -> Index {
    let (_, mut index) = index(job);
    insert(&mut index, &people(0..n_rows)).unwrap();
    index
}

/// A row of a release, by the names of its columns.
type Row = BTreeMap<String, String>;

fn rows_of(batches: Vec<RecordBatch>) -> Vec<Row> {
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

fn release_rows(index: &mut Index, request: &ReleaseRequest) -> Result<Vec<Row>> {
    let (sink, batches) = BatchSink::new();
    index.release(request, vec![Box::new(sink)], &Silent)?;
    Ok(rows_of(batches.take()))
}

fn accepting() -> ReleaseRequest {
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

fn insert_text(index: &mut Index, text: &str) -> Result<u64> {
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

fn typed_batch(ids: std::ops::Range<i64>, ages: ArrayRef) -> RecordBatch {
    let ids: Vec<i64> = ids.collect();
    let scores: Vec<f64> = ids.iter().map(|&id| id as f64 / 4.0).collect();
    let notes: Vec<String> = ids.iter().map(|id| format!("n{}", id % 2)).collect();
    let columns: [(&str, ArrayRef); 4] = [
        ("id", Arc::new(Int64Array::from(ids))),
        ("age", ages),
        ("score", Arc::new(Float64Array::from(scores))),
        ("note", Arc::new(StringArray::from(notes))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn typed_job() -> Job {
    let mut job = tiny(3);
    job.columns.clear();
    job.set_role("age", Role::Quasi).unwrap();
    job.set_role("score", Role::Quasi).unwrap();
    job.set_role("note", Role::Keep).unwrap();
    job.values = Some(Values::Bounds);
    job
}

fn integers(values: std::ops::Range<i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

#[test]
fn typed_batches_come_and_leave_with_their_types() {
    let (disk, mut index) = index(&typed_job());
    let options = ReadOptions::default();
    for first in [0, 20, 40] {
        let batch = typed_batch(first..first + 20, integers(first..first + 20));
        index.insert(&BatchSource::of(vec![batch], &options).unwrap(), &Silent).unwrap();
        drop(index);
        index = Index::open_on(disk.clone()).unwrap();
    }
    let floats: ArrayRef = Arc::new(Float64Array::from_iter_values((0..9).map(f64::from)));
    let other = BatchSource::of(vec![typed_batch(90..99, floats)], &options).unwrap();
    let text = index.insert(&other, &Silent).unwrap_err().to_string();
    assert!(text.contains("'age'") && text.contains("Float64"), "{text}");
    let text = insert_text(&mut index, "id,age,score,note\n99,1,1.0,n1\n").unwrap_err().to_string();
    assert!(text.contains("column '") && text.contains("text"), "{text}");
    // Keys of a number are told by their texts, in whatever they come to be deleted.
    let keys = RecordBatch::try_from_iter([("id", integers(0..5))]).unwrap();
    let keys = BatchSource::of(vec![keys], &options).unwrap();
    assert_eq!(index.delete(&keys, &Silent).unwrap().deleted, 5);
    let (sink, batches) = BatchSink::new();
    let mut request = ReleaseRequest { keep_key: true, ..ReleaseRequest::default() };
    request.accept.push("unique-keep:id".parse().unwrap());
    index.release(&request, vec![Box::new(sink)], &Silent).unwrap();
    let batches = batches.take();
    let schema = batches[0].schema();
    let type_of = |name: &str| schema.field_with_name(name).unwrap().data_type().to_string();
    assert_eq!([type_of("id"), type_of("age_min"), type_of("age_max")], ["Int64"; 3]);
    assert_eq!([type_of("score_min"), type_of("score_max")], ["Float64"; 2]);
    let rows = rows_of(batches);
    assert_eq!(rows.len(), 55);
    for row in rows {
        let id: i64 = row["id"].parse().unwrap();
        let age = row["age_min"].parse().unwrap()..=row["age_max"].parse::<i64>().unwrap();
        let score = row["score_min"].parse().unwrap()..=row["score_max"].parse::<f64>().unwrap();
        assert!(age.contains(&id) && score.contains(&(id as f64 / 4.0)));
        assert_eq!(row["note"], format!("n{}", id % 2));
    }
}

#[test]
fn a_missing_typed_value_may_come_later() {
    let (_, mut index) = index(&typed_job());
    let options = ReadOptions::default();
    let batch = typed_batch(0..20, integers(0..20));
    index.insert(&BatchSource::of(vec![batch], &options).unwrap(), &Silent).unwrap();
    let ages: ArrayRef = Arc::new(Int64Array::from(vec![None, Some(5), None, None]));
    let batch = typed_batch(20..24, ages);
    index.insert(&BatchSource::of(vec![batch], &options).unwrap(), &Silent).unwrap();
    assert!(index.check(&Silent).unwrap().problems.is_empty());
    let rows = release_rows(&mut index, &ReleaseRequest::default()).unwrap();
    assert_eq!(rows.len(), 24);
    assert!(rows[0].contains_key("age_missing"));
}

/// Releases at several k at once.
fn release_many(index: &mut Index, ks: &[u64], granularity: Granularity) -> Vec<Vec<Row>> {
    let mut request = ReleaseRequest { k: Some(ks[0]), also_k: ks[1..].to_vec(), ..with_keys() };
    request.granularity = Some(granularity);
    let (sinks, batches): (Vec<Box<dyn Sink>>, Vec<_>) = ks
        .iter()
        .map(|_| {
            let (sink, batches) = BatchSink::new();
            (Box::new(sink) as Box<dyn Sink>, batches)
        })
        .unzip();
    index.release(&request, sinks, &Silent).unwrap();
    batches.into_iter().map(|own| rows_of(own.take())).collect()
}

/// The keys of each class of a release, by what the class shows.
fn classes(rows: &[Row], shown: &[&str]) -> BTreeMap<Vec<String>, BTreeSet<String>> {
    let mut classes: BTreeMap<Vec<String>, BTreeSet<String>> = BTreeMap::new();
    for row in rows {
        let own = shown.iter().map(|name| row[*name].clone()).collect();
        classes.entry(own).or_default().insert(row["id"].clone());
    }
    classes
}

fn are_nested(releases: &[Vec<Row>], ks: &[u64], shown: &[&str]) {
    for (rows, &k) in releases.iter().zip(ks) {
        let own = classes(rows, shown);
        assert!(own.values().all(|ids| ids.len() as u64 >= k), "every class has k rows");
    }
    for pair in releases.windows(2) {
        let [fine, coarse] = [&pair[0], &pair[1]].map(|rows| classes(rows, shown));
        for ids in fine.values() {
            assert!(coarse.values().any(|own| own.is_superset(ids)), "a class is divided");
        }
    }
}

#[test]
fn coarser_releases_at_the_same_time_are_nested() {
    use Granularity::{Cut, Dendrogram, DendrogramCut, Hierarchical, LeafScan};
    for granularity in [Cut, LeafScan, Hierarchical, Dendrogram, DendrogramCut] {
        let mut index = filled(&tiny(3), 300);
        let ks = [3, 10, 25, 60];
        let releases = release_many(&mut index, &ks, granularity);
        assert!(releases.iter().all(|rows| rows.len() == 300));
        are_nested(&releases, &ks, &["age", "zip"]);
        // Some time later they are so together with the earlier ones, or are refused.
        insert(&mut index, &people(300..420)).unwrap();
        let request = ReleaseRequest { batch: true, k: Some(5), ..with_keys() };
        release(&mut index, &request).unwrap();
    }
}

#[test]
fn labels_at_several_k_are_nested() {
    let mut job = tiny(2);
    job.column("zip").hierarchy = Some("ranges:10,100,1000".parse().unwrap());
    job.column("age").hierarchy = Some("ranges:5,20,40".parse().unwrap());
    job.categories = Some(Categories::Label);
    let mut index = filled(&job, 250);
    let ks = [2, 8, 30];
    let releases = release_many(&mut index, &ks, Granularity::Cut);
    are_nested(&releases, &ks, &["age", "zip"]);
    insert(&mut index, &people(250..300)).unwrap();
    let rows = release_rows(&mut index, &ReleaseRequest { batch: true, ..with_keys() }).unwrap();
    assert_eq!(rows.len(), 300);
}

#[test]
fn k_may_be_greater_than_a_part_and_than_the_index() {
    let mut index = filled(&tiny(2), 200);
    assert!(index.info().unwrap().buffered > 0);
    release(&mut index, &with_keys()).unwrap();
    assert!(index.info().unwrap().parts > 5);
    let mut seen = Seen::default();
    for k in [50, 100, 101, 200] {
        let request = ReleaseRequest { k: Some(k), ..with_keys() };
        let (report, rows) = release(&mut index, &request).unwrap();
        assert!(report.report.class_size.min >= k);
        seen.publish(&rows);
    }
    for k in [201, 1] {
        let request = ReleaseRequest { k: Some(k), ..with_keys() };
        assert_eq!(release(&mut index, &request).unwrap_err().kind(), ErrorKind::Usage);
    }
    assert_eq!(seen.releases.len(), 4);
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

/// Rows with everything that may tell of other rows: digits, lengths of codes, names, types.
fn telling_job(values: Values) -> Job {
    let mut job = tiny(2);
    job.columns.clear();
    for name in ["weight", "zip", "color"] {
        job.set_role(name, Role::Quasi).unwrap();
    }
    job.set_role("note", Role::Keep).unwrap();
    job.column("weight").column_type = Some("decimal".parse().unwrap());
    job.column("zip").column_type = Some("code".parse().unwrap());
    job.column("zip").hierarchy = Some(HierarchySpec::Prefix);
    job.values = Some(values);
    job
}

#[test]
fn a_release_tells_nothing_of_rows_that_are_gone() {
    let kept = "id,weight,zip,color,note\na,1.5,101,red,7\nb,1.6,102,blue,8\nc,90,901,red,9\n\
                d,91.5,902,blue,7\n";
    let gone = "id,weight,zip,color,note\nx,0.12345,1234567,amber,text\ny,,,,\nz,99.1,,zinc,1.25\n";
    for values in [Values::Interval, Values::Bounds] {
        let (_, mut plain) = index(&telling_job(values));
        insert_text(&mut plain, kept).unwrap();
        let shapes = |index: &mut Index| {
            let (sink, batches) = BatchSink::new();
            index.release(&accepting(), vec![Box::new(sink)], &Silent).unwrap();
            let schema = batches.schema();
            let mut rows = rows_of(batches.take());
            rows.sort();
            (schema, rows)
        };
        let expected = shapes(&mut plain);
        let (_, mut other) = index(&telling_job(values));
        insert_text(&mut other, kept).unwrap();
        insert_text(&mut other, gone).unwrap();
        other.delete(&source("id\nx\ny\nz\n".to_owned()), &Silent).unwrap();
        assert!(shapes(&mut other) == expected, "before a compaction");
        let mut other = other.compact(&Silent).unwrap();
        assert!(shapes(&mut other) == expected, "after a compaction");
    }
}

#[test]
fn a_release_tells_nothing_of_rows_that_wait() {
    let kept = "id,weight,zip,color,note\na,1.5,101,red,7\nb,1.6,102,blue,8\nc,90,901,red,9\n\
                d,91.5,902,blue,7\n";
    let waiting = "id,weight,zip,color,note\nx,0.12345,1234567,amber,text\n";
    for values in [Values::Interval, Values::Bounds] {
        let (_, mut index) = index(&telling_job(values));
        insert_text(&mut index, kept).unwrap();
        let release = |index: &mut Index| {
            let (sink, batches) = BatchSink::new();
            let request = ReleaseRequest { batch: true, ..with_keys() };
            let report = index.release(&request, vec![Box::new(sink)], &Silent).unwrap();
            let schema = batches.schema();
            let mut rows = rows_of(batches.take());
            rows.sort();
            (report.waiting, schema, rows)
        };
        let (_, schema, rows) = release(&mut index);
        insert_text(&mut index, waiting).unwrap();
        assert!(release(&mut index) == (1, schema, rows));
    }
}
