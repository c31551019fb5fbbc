//! Releases at several k, at once and one after another.

use std::collections::{BTreeMap, BTreeSet};

use albers::sink::{BatchSink, Sink};
use albers::{Categories, ErrorKind, Granularity, Index, ReleaseRequest, Silent};

use super::attacker::Seen;
use super::odd::{Row, filled, people, release_rows, rows_of, tiny};
use super::table::*;

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
