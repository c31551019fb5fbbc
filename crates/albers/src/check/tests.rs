//! A table is audited the same whether it fits or not, in budgets of a few kilobytes.

use std::fmt::Write as _;
use std::io::Cursor;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use albers_storage::watch::{Phase, Silent};
use albers_table::mix::mix;
use albers_table::schema::Role;
use albers_table::source::{BatchSource, FileSource, ReadOptions, StreamSource};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use proptest::prelude::*;

use super::*;

/// So little that hardly any table fits, and enough for the values of these tables.
const FEW_BYTES: usize = 12_000;

fn stream(text: &str) -> StreamSource {
    let reader = Box::new(Cursor::new(text.to_owned().into_bytes()));
    StreamSource::text(reader, "a pipe", None, &ReadOptions::default()).unwrap()
}

/// What is asked of tables with the columns of [`table_of`].
fn job(counts_subjects: bool) -> Job {
    let mut job = Job { k: Some(3), ..Job::default() };
    let roles = [
        ("age", Role::Quasi),
        ("zip", Role::Quasi),
        ("disease", Role::Sensitive),
        ("pay", Role::Sensitive),
    ];
    for (name, role) in roles {
        job.set_role(name, role).unwrap();
    }
    if counts_subjects {
        job.set_role("person", Role::Subject).unwrap();
    }
    job.column("disease").l_diversity = Some("distinct:2".parse().unwrap());
    job.column("pay").t_closeness = Some(0.3);
    job.column("pay").alpha = Some(0.6);
    job
}

/// A row: age, zip, person, disease and pay; the least of a text stands for a missing cell.
type Row = (u8, u8, u16, u8, u8);

fn table_of(rows: &[Row]) -> String {
    let mut text = "age_min,age_max,zip,person,disease,pay\n".to_owned();
    for (age, zip, person, disease, pay) in rows {
        let cell = |letter: char, number: &u8| match number {
            0 => String::new(),
            number => format!("{letter}{number}"),
        };
        let (zip, disease) = (cell('z', zip), cell('d', disease));
        writeln!(text, "{age},{},{zip},p{person},{disease},{pay}.5", age + 4).unwrap();
    }
    text
}

fn within(job: &Job, table: &dyn Source, limit_bytes: usize) -> CheckReport {
    audit_within(
        job,
        (table, &mut Looked::default()),
        Some(0.2),
        &Memory::new(limit_bytes, None),
        &Silent,
    )
    .unwrap()
}

/// The report without what was spilled, which is given apart.
fn shown(mut report: CheckReport) -> (String, u64) {
    let spilled_bytes = std::mem::take(&mut report.spilled_bytes);
    (serde_json::to_string_pretty(&report).unwrap(), spilled_bytes)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_table_that_does_not_fit_is_audited_as_one_that_does(
        rows in prop::collection::vec((0u8..6, 0u8..5, 0u16..90, 0u8..5, 0u8..6), 150..900),
        counts_subjects: bool,
        more_bytes in 0usize..4000,
    ) {
        let (text, job) = (table_of(&rows), job(counts_subjects));
        let (whole, nothing) = shown(within(&job, &stream(&text), usize::MAX));
        let (outside, spilled) = shown(within(&job, &stream(&text), FEW_BYTES + more_bytes));
        prop_assert_eq!(whole, outside);
        prop_assert_eq!(nothing, 0);
        prop_assert!(spilled > 0);
    }
}

/// Typed batches of so many rows of a table with the columns of [`table_of`].
fn batches_of(rows: &[Row], n_each: usize) -> BatchSource {
    let batch = |rows: &[Row]| {
        let numbers = |number: fn(&Row) -> i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values(rows.iter().map(number)))
        };
        let texts = |text: fn(&Row) -> Option<String>| -> ArrayRef {
            Arc::new(rows.iter().map(text).collect::<StringArray>())
        };
        let pay = Float64Array::from_iter_values(rows.iter().map(|own| f64::from(own.4) + 0.5));
        let columns = [
            ("age_min", numbers(|own| own.0.into()), false),
            ("age_max", numbers(|own| i64::from(own.0) + 4), false),
            ("zip", texts(|own| (own.1 > 0).then(|| format!("z{}", own.1))), true),
            ("person", texts(|own| Some(format!("p{}", own.2))), false),
            ("disease", texts(|own| (own.3 > 0).then(|| format!("d{}", own.3))), true),
            ("pay", Arc::new(pay), false),
        ];
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    };
    BatchSource::of(rows.chunks(n_each).map(batch).collect(), &ReadOptions::default()).unwrap()
}

proptest! {
    #[test]
    fn rows_that_stand_class_by_class_are_audited_as_those_that_do_not(
        runs in prop::collection::vec((0u8..4, 0u8..3, 0u8..4, 0u8..4, 1usize..9), 1..60),
        n_each in 1usize..40,
        counts_subjects: bool,
    ) {
        let alike = runs.iter().flat_map(|own| vec![own; own.4]);
        let rows: Vec<Row> =
            (0u16..).zip(alike).map(|(row, own)| (own.0, own.1, row % 50, own.2, own.3)).collect();
        let mut scattered: Vec<(usize, Row)> = rows.iter().copied().enumerate().collect();
        scattered.sort_by_key(|(row, _)| mix(*row as u64));
        let scattered: Vec<Row> = scattered.into_iter().map(|(_, own)| own).collect();
        let mut job = job(counts_subjects);
        if !counts_subjects {
            job.set_role("person", Role::Keep).unwrap();
        }
        let report = |rows: &[Row], n_each: usize| {
            shown(within(&job, &batches_of(rows, n_each), usize::MAX)).0
        };
        let expected = report(&scattered, 1);
        prop_assert_eq!(&report(&rows, rows.len()), &expected);
        prop_assert_eq!(&report(&rows, n_each), &expected);
        prop_assert_eq!(&report(&scattered, n_each), &expected);
    }
}

#[test]
fn a_class_larger_than_memory_is_audited_as_a_whole() {
    let rows: Vec<Row> = (0..6000u16)
        .map(|row| (u8::from(row % 1000 == 7), 1, row % 97, (row % 4) as u8, (row % 5) as u8))
        .collect();
    let text = table_of(&rows);
    for counts_subjects in [false, true] {
        let job = job(counts_subjects);
        let (whole, _) = shown(within(&job, &stream(&text), usize::MAX));
        let (outside, spilled) = shown(within(&job, &stream(&text), FEW_BYTES));
        assert_eq!(whole, outside);
        assert!(spilled > 0);
    }
}

#[test]
fn a_person_with_more_rows_than_fit_is_one_person() {
    let mut rows: Vec<Row> = vec![(1, 1, 5, 1, 1); 3000];
    rows.extend([(1, 1, 6, 2, 2), (1, 1, 7, 0, 3)]);
    let report = within(&job(true), &stream(&table_of(&rows)), FEW_BYTES);
    assert_eq!((report.rows, report.classes, report.k), (3002, 1, 3));
    assert!(report.spilled_bytes > 0);
}

#[test]
fn a_file_is_read_again_instead_of_being_put_aside() {
    let rows: Vec<Row> = (0..3000u16)
        .map(|row| ((row % 7) as u8, (row % 3) as u8, row, (row % 4) as u8, (row % 5) as u8))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    std::fs::write(&path, table_of(&rows)).unwrap();
    let file = FileSource::open(&path, None, &ReadOptions::default()).unwrap();
    let pipe = stream(&table_of(&rows));
    let (of_file, file_spilled) = shown(within(&job(false), &file, FEW_BYTES));
    let (of_pipe, pipe_spilled) = shown(within(&job(false), &pipe, FEW_BYTES));
    assert_eq!(of_file, of_pipe);
    assert!(file_spilled > 0 && pipe_spilled > 0);
    let n_bytes = std::fs::metadata(&path).unwrap().len();
    assert_eq!((file.read_bytes(), pipe.read_bytes()), (2 * n_bytes, n_bytes));
}

#[test]
fn values_that_do_not_fit_are_refused_with_what_would_do() {
    let mut text = "age_min,age_max,zip,person,disease,pay\n".to_owned();
    (0..2000).for_each(|row| writeln!(text, "1,2,z,p,d{row},1").unwrap());
    let memory = Memory::new(FEW_BYTES, None);
    let refused = audit_within(
        &job(false),
        (&stream(&text), &mut Looked::default()),
        Some(0.2),
        &memory,
        &Silent,
    )
    .unwrap_err();
    assert_eq!(refused.kind(), crate::error::ErrorKind::Memory);
}

/// Cancels after so many calls.
struct Impatient {
    n_calls: AtomicU64,
    last: u64,
}

impl Watch for Impatient {
    fn phase(&self, _phase: Phase, _n_rows: Option<u64>) {}

    fn advance(&self, _n_rows: u64) -> ControlFlow<()> {
        match self.n_calls.fetch_add(1, Ordering::Relaxed) < self.last {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}

#[test]
fn an_audit_can_be_cancelled_in_both_passes_and_between_buckets() {
    let rows: Vec<Row> = (0..2000u16).map(|row| ((row % 50) as u8, 1, row, 1, 1)).collect();
    let text = table_of(&rows);
    let mut last = 0;
    loop {
        let watch = Impatient { n_calls: AtomicU64::new(0), last };
        let memory = Memory::new(FEW_BYTES, None);
        match audit_within(
            &job(false),
            (&stream(&text), &mut Looked::default()),
            Some(0.2),
            &memory,
            &watch,
        ) {
            Ok(report) => break assert_eq!(report.rows, 2000),
            Err(error) => assert_eq!(error.kind(), crate::error::ErrorKind::Cancelled),
        }
        assert_eq!(memory.budget.used_bytes(), 0, "nothing is left behind");
        last += 1;
    }
    assert!(last > 10, "only {last} places to cancel at");
}
