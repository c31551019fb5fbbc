//! How to add a source: implement `Source` and `Scan`, and hand it to any command.
//!
//! This one is a table of people that a program has in memory. A source tells its columns and their
//! types, and gives its rows out in chunks of typed cells; whether it can be read again it tells by
//! its stamp.

mod accept;

use albers::sink::BatchSink;
use albers::source::{
    ColumnRequest, RequestedTypes, Scan, Source, SourceChunk, SourceColumn, Stamp,
};
use albers::{ColumnType, Job, Method, Role, RowId, Silent, TableError, anonymize};
use albers_table::chunk::{ColumnChunk, TickUnit, narrow_ticks};

struct Person {
    age: i64,
    height: i64,
}

struct People {
    people: Vec<Person>,
    columns: Vec<SourceColumn>,
}

impl People {
    fn new(people: Vec<Person>) -> People {
        let column = |name: &str| SourceColumn { name: name.to_owned(), data_type: None };
        People { people, columns: vec![column("age"), column("height")] }
    }

    /// The cells of a column of some people.
    fn cells(people: &[Person], name: &str) -> ColumnChunk {
        let number = |person: &Person| if name == "age" { person.age } else { person.height };
        let ticks = people.iter().map(number).collect();
        let cells = narrow_ticks(ticks, &[], TickUnit::Integer);
        ColumnChunk { cells, missing: Vec::new() }
    }
}

impl Source for People {
    fn name(&self) -> &str {
        "people in memory"
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn n_rows(&self) -> Option<u64> {
        Some(self.people.len() as u64)
    }

    fn stamp(&self) -> Option<Stamp> {
        Some(Stamp::Fixed)
    }

    fn types(&self, requests: &[ColumnRequest]) -> Result<RequestedTypes, TableError> {
        let column_types = vec![ColumnType::Integer; requests.len()];
        Ok(RequestedTypes::plain(column_types, vec![None; requests.len()]))
    }

    fn scan<'s>(
        &'s self,
        requests: &'s [ColumnRequest],
        _types: &'s RequestedTypes,
    ) -> Result<Box<dyn Scan + 's>, TableError> {
        Ok(Box::new(PeopleScan { source: self, requests, n_done: 0 }))
    }

    fn read_bytes(&self) -> u64 {
        0
    }
}

struct PeopleScan<'s> {
    source: &'s People,
    requests: &'s [ColumnRequest],
    n_done: usize,
}

impl Scan for PeopleScan<'_> {
    fn next_round(&mut self) -> Result<Vec<SourceChunk>, TableError> {
        const CHUNK_ROWS: usize = 1024;
        let Some(people) = self.source.people[self.n_done..].chunks(CHUNK_ROWS).next() else {
            return Ok(Vec::new());
        };
        let coded = self.requests.iter().map(|request| People::cells(people, &request.name));
        let chunk = SourceChunk {
            first_row: RowId::new(self.n_done as u64),
            n_rows: people.len(),
            coded: coded.collect(),
            carried: Vec::new(),
        };
        self.n_done += people.len();
        Ok(vec![chunk])
    }
}

#[test]
fn a_new_source_serves_methods_in_memory_and_beyond() {
    let people = (0..3_000).map(|row| Person { age: 20 + row % 60, height: 150 + row * 7 % 50 });
    let source = People::new(people.collect());
    for (method, memory) in [(Method::Auto, None), (Method::Rtree, Some("200KB"))] {
        let mut job =
            Job { k: Some(5), method: Some(method), accept: accept::all(), ..Job::default() };
        job.memory = memory.map(|text| text.parse().unwrap());
        job.set_role("age", Role::Quasi).unwrap();
        job.set_role("height", Role::Quasi).unwrap();
        let (sink, collected) = BatchSink::new();
        let report = anonymize(&job, &source, vec![Box::new(sink)], &Silent).unwrap();
        let n_rows: usize = collected.take().iter().map(|batch| batch.num_rows()).sum();
        assert_eq!((report.rows, n_rows), (3_000, 3_000), "{method}");
    }
}
