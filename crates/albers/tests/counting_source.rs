//! A source that counts its rows itself, as a database would: the lattice asks it "how many rows
//! have which values", and reads none of them.

use albers::source::{
    ColumnRequest, CountedRows, FileSource, ReadOptions, RequestedTypes, Scan, Source, SourceChunk,
    SourceColumn, Stamp,
};
use albers::{ColumnType, Job, LatticeRequest, Role, RowId, Silent, TableError, lattice};
use albers_table::chunk::TextColumnBuilder;

/// Rows of three texts, and how often each occurs.
const COUNTED: [([&str; 3], u32); 6] = [
    (["31", "f", "flu"], 3),
    (["33", "f", "cold"], 2),
    (["34", "m", "flu"], 4),
    (["52", "m", "cold"], 1),
    (["55", "m", "flu"], 2),
    (["58", "f", "cough"], 5),
];
const NAMES: [&str; 3] = ["age", "sex", "illness"];

/// A table that can be counted but not read.
struct Database {
    columns: Vec<SourceColumn>,
}

impl Source for Database {
    fn name(&self) -> &str {
        "a database"
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn stamp(&self) -> Option<Stamp> {
        Some(Stamp::Fixed)
    }

    fn types(&self, requests: &[ColumnRequest]) -> Result<RequestedTypes, TableError> {
        let kind = |request: &ColumnRequest| match request.name.as_str() {
            "age" => ColumnType::Integer,
            _ => ColumnType::Text,
        };
        let column_types = requests.iter().map(kind).collect();
        Ok(RequestedTypes::plain(column_types, vec![None; requests.len()]))
    }

    fn scan<'s>(
        &'s self,
        _requests: &'s [ColumnRequest],
        _types: &'s RequestedTypes,
    ) -> Result<Box<dyn Scan + 's>, TableError> {
        panic!("no row of it is read")
    }

    fn read_bytes(&self) -> u64 {
        0
    }

    fn count_by(
        &self,
        requests: &[ColumnRequest],
        types: &RequestedTypes,
    ) -> Result<Option<CountedRows>, TableError> {
        let mut coded = Vec::new();
        for (request, &kind) in requests.iter().zip(&types.column_types) {
            let place = NAMES.iter().position(|name| *name == request.name).expect("it is there");
            let mut cells = TextColumnBuilder::new(kind);
            for (row, _) in COUNTED {
                cells.push(row[place].as_bytes()).expect("cells have their types");
            }
            coded.push(cells.finish().map_err(|_| "whole").expect("cells have their types"));
        }
        let rows = SourceChunk {
            first_row: RowId::FIRST,
            n_rows: COUNTED.len(),
            coded,
            carried: Vec::new(),
        };
        Ok(Some(CountedRows { rows, counts: COUNTED.map(|(_, count)| count).to_vec() }))
    }
}

#[test]
fn the_lattice_takes_the_counts_of_a_source_and_finds_what_its_rows_tell() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    let mut text = NAMES.join(",") + "\n";
    for (row, count) in COUNTED {
        text.push_str(&format!("{}\n", row.join(",")).repeat(count as usize));
    }
    std::fs::write(&path, text).unwrap();
    let column = |name: &str| SourceColumn { name: name.to_owned(), data_type: None };
    let database = Database { columns: NAMES.map(column).to_vec() };
    for (k, suppress, closeness) in [(2, None, None), (4, Some(0.2), None), (3, None, Some(0.4))] {
        let mut job = Job { k: Some(k), suppress, ..Job::default() };
        job.set_role("age", Role::Quasi).unwrap();
        job.set_role("sex", Role::Quasi).unwrap();
        job.set_role("illness", Role::Sensitive).unwrap();
        job.column("age").hierarchy = Some("ranges:5,10,20".parse().unwrap());
        job.column("sex").hierarchy = Some("suppress".parse().unwrap());
        job.column("illness").t_closeness = closeness;
        let file = FileSource::open(&path, None, &ReadOptions::default()).unwrap();
        let request = LatticeRequest::default();
        let from_rows = lattice(&job, &file, request, &Silent).unwrap();
        let from_counts = lattice(&job, &database, request, &Silent).unwrap();
        assert_eq!(from_counts.rows, 17);
        assert_eq!(from_counts.minimal.len(), from_rows.minimal.len(), "k = {k}");
        for (counted, read) in from_counts.minimal.iter().zip(&from_rows.minimal) {
            assert_eq!(counted.levels, read.levels, "k = {k}");
            assert_eq!(counted.suppressed, read.suppressed, "k = {k}");
            assert_eq!(counted.discernibility, read.discernibility, "k = {k}");
            // The order in which losses are added up may differ.
            assert!((counted.ncp - read.ncp).abs() < 1e-12, "k = {k}");
        }
        assert_eq!(from_counts.satisfying, from_rows.satisfying);
    }
}
