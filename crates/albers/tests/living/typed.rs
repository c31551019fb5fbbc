//! Batches with types, and releases that leave with them; what types, digits and names tell of rows
//! that are not there.

use std::sync::Arc;

use albers::sink::BatchSink;
use albers::source::{BatchSource, ReadOptions};
use albers::{HierarchySpec, Index, Job, ReleaseRequest, Role, Silent, Values};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};

use super::odd::{accepting, insert_text, release_rows, rows_of, tiny};
use super::table::*;

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
