//! A release is measured the same however its rows stand.

use std::sync::Arc;

use albers_storage::watch::Silent;
use albers_table::mix::mix;
use albers_table::source::{BatchSource, ReadOptions};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use proptest::prelude::*;

use super::queries::QueryKind;
use super::*;
use crate::measure::queries::Predicates;

/// A person: number, age and trade.
type Row = (i64, u8, u8);

fn source(batches: Vec<RecordBatch>) -> BatchSource {
    BatchSource::of(batches, &ReadOptions::default()).unwrap()
}

fn batch(columns: [(&str, ArrayRef); 3]) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn texts(rows: &[Row], text: impl Fn(&Row) -> String) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(rows.iter().map(text)))
}

fn trade(number: u8) -> char {
    char::from(b'p' + number)
}

fn original(rows: &[Row]) -> BatchSource {
    source(vec![batch([
        ("id", Arc::new(Int64Array::from_iter_values(rows.iter().map(|own| own.0)))),
        ("age", Arc::new(Int64Array::from_iter_values(rows.iter().map(|own| own.1.into())))),
        ("trade", texts(rows, |own| trade(own.2).to_string())),
    ])])
}

/// A class shows ten years, and all trades or its own, in batches of so many rows.
fn release(rows: &[Row], n_each: usize) -> BatchSource {
    let of_rows = |rows: &[Row]| {
        batch([
            ("id", Arc::new(Int64Array::from_iter_values(rows.iter().map(|own| own.0)))),
            ("age", texts(rows, |own| format!("[{}, {}]", own.1 / 10 * 10, own.1 / 10 * 10 + 9))),
            (
                "trade",
                texts(rows, |own| match own.1 / 10 % 2 {
                    0 => "{p, q, r}".to_owned(),
                    _ => trade(own.2).to_string(),
                }),
            ),
        ])
    };
    source(rows.chunks(n_each).map(of_rows).collect())
}

proptest! {
    #[test]
    fn rows_that_stand_class_by_class_are_measured_as_those_that_do_not(
        runs in prop::collection::vec((0u8..40, 0u8..3, 1usize..9), 3..50),
        n_each in 1usize..40,
        has_key: bool,
    ) {
        let mut rows: Vec<Row> = Vec::new();
        for &(age, trade, n_rows) in &runs {
            rows.extend((0..n_rows).map(|row| (0, age / 10 * 10 + (row % 10) as u8, trade)));
        }
        // All trades that a class may show are there.
        rows.extend([(0, 5, 0), (0, 5, 1), (0, 5, 2)]);
        (0..).zip(&mut rows).for_each(|(id, own)| own.0 = id);
        let mut scattered = rows.clone();
        scattered.sort_by_key(|own| mix(own.0 as u64));
        let mut job = Job::default();
        job.set_role("age", Role::Quasi).unwrap();
        job.set_role("trade", Role::Quasi).unwrap();
        let original = original(&scattered);
        let (kind, predicates) = (QueryKind::Point, Predicates::All);
        let queries = Some(QueryWorkload { n_queries: 20, kind, predicates, seed: 3 });
        let options = MeasureOptions { queries, ..MeasureOptions::default() };
        let report = |rows: &[Row], n_each: usize| {
            let key = has_key.then_some("id");
            measure_with(&job, &original, &release(rows, n_each), key, &options, &Silent).unwrap()
        };
        let expected = report(&scattered, 1);
        prop_assert_eq!(&report(&rows, rows.len()), &expected);
        prop_assert_eq!(&report(&rows, n_each), &expected);
        prop_assert_eq!(&report(&scattered, n_each), &expected);
    }
}
