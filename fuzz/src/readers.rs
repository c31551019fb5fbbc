//! Everything that reads what comes from outside, each as a function of bytes.
//!
//! Guarantee: whatever the bytes are, a reader gives what they say or an error; it never panics, and it
//! ends. Whoever calls these with bytes of his own tries to break that: the fuzz targets with bytes that
//! they make up, `crates/albers/tests/fuzz_corpus.rs` with those that were kept.

use std::io::{Cursor, Write as _};
use std::path::Path;

use albers::source::{
    ColumnRequest, ReadOptions, Source, SourceColumn, StreamSource, with_settled_types,
};
use albers::{
    ColumnType, Condition, Format, HierarchyRows, HierarchySpec, Job, Plan, TableError, files,
};
use albers_classes::Attribute;
use albers_classes::space::Shown;
use albers_release::parse::{
    CellParser, is_set_of_values, members_of, names_of, shows_missing_too,
};
use albers_table::chunk::TextColumnBuilder;
use albers_table::coding::{CodingPlan, RawColumn, encode};
use albers_table::hierarchy::Hierarchy;

/// A reader, by the name of its target and of the folder of its seeds.
pub type Reader = (&'static str, fn(&[u8]));

/// All of them.
pub const READERS: [Reader; 9] = [
    ("csv", csv),
    ("parquet", parquet),
    ("json_lines", json_lines),
    ("sheet", sheet),
    ("hierarchy", hierarchy),
    ("job", job),
    ("cell", cell),
    ("manifest", manifest),
    ("condition", condition),
];

/// What a table may take of memory: more than any honest one of this size needs.
const LIMIT_BYTES: u64 = 64_000_000;

fn options() -> ReadOptions {
    ReadOptions { limit_bytes: Some(LIMIT_BYTES), ..ReadOptions::default() }
}

/// Delimited text, plain or packed, in any encoding.
pub fn csv(bytes: &[u8]) {
    let reader = Box::new(Cursor::new(bytes.to_vec()));
    read_all(StreamSource::text(reader, "table", None, &options()));
}

/// Parquet.
pub fn parquet(bytes: &[u8]) {
    let reader = Box::new(Cursor::new(bytes.to_vec()));
    read_all(StreamSource::parquet(reader, "table", &std::env::temp_dir(), &options()));
}

/// JSON Lines, plain or packed.
pub fn json_lines(bytes: &[u8]) {
    put_aside(bytes, Format::JsonLines);
}

/// A workbook.
pub fn sheet(bytes: &[u8]) {
    put_aside(bytes, Format::Sheet);
}

fn put_aside(bytes: &[u8], format: Format) {
    let reader = Box::new(Cursor::new(bytes.to_vec()));
    let folder = std::env::temp_dir();
    read_all(StreamSource::put_aside(reader, "table", &folder, format, &options()));
}

/// Reads all rows of a table that could be opened, as cells to be coded and as they are.
fn read_all(source: Result<impl Source, TableError>) {
    let Ok(source) = source else { return };
    let request = |coded: bool| {
        move |column: &SourceColumn| ColumnRequest {
            name: column.name.clone(),
            column_type: None,
            coded: coded && column.can_be_coded(),
            carried: true,
        }
    };
    for is_coded in [true, false] {
        let requests: Vec<ColumnRequest> = source.columns().iter().map(request(is_coded)).collect();
        let read = with_settled_types(&source, &requests, &mut |types| {
            let mut scan = source.scan(&requests, types)?;
            while !scan.next_round()?.is_empty() {}
            Ok(())
        });
        if read.is_err() {
            return;
        }
    }
}

/// A file of a hierarchy, for values that it may have lines for.
pub fn hierarchy(bytes: &[u8]) {
    let first_cells = bytes.split(|&byte| byte == b'\n').filter_map(|line| {
        let cell = line.split(|byte| b",;\t".contains(byte)).next()?;
        std::str::from_utf8(cell).ok().map(str::to_owned)
    });
    let mut values: Vec<String> = first_cells.filter(|cell| !cell.is_empty()).collect();
    values.extend(["1", "20", "a"].map(str::to_owned));
    values.sort_unstable();
    values.dedup();
    let rows = HierarchyRows::of_bytes("hierarchy", bytes.to_vec());
    let spec = HierarchySpec::Rows(rows.into());
    for column_type in [ColumnType::Text, ColumnType::Integer] {
        let _ = Hierarchy::build(&spec, "column", column_type, &values);
    }
}

/// A job file, planned for a table of two columns.
pub fn job(bytes: &[u8]) {
    with_file(bytes, |path| {
        let Ok(job) = Job::from_file(path) else { return };
        let column = |name: &str| SourceColumn { name: name.to_owned(), data_type: None };
        let _ = Plan::of(&job, "table", &["age", "zip"].map(column));
    });
}

/// A cell of a release, for columns of several kinds.
pub fn cell(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    is_set_of_values(text);
    shows_missing_too(text);
    members_of(text);
    names_of(text);
    for attribute in attributes() {
        for shows_missing in [false, true] {
            let parser = CellParser::new(&attribute, shows_missing);
            let _ = parser.parse(Some(text));
            let (least, greatest) = text.split_once('|').unwrap_or((text, text));
            let _ = parser.parse_bounds(Some(least), Some(greatest), None);
            let _ = parser.parse_bounds(Some(least), Some(greatest), Some(text));
        }
    }
}

/// Columns whose cells show an interval, a date, a set and a label.
fn attributes() -> [Attribute; 4] {
    let numbers = ["-7", "12", "40"];
    let dates = ["2024-02-29", "2023-01-01", "1999-12-31"];
    let names = ["53711", "53712", "5a,b}"];
    [
        attribute(ColumnType::Integer, Shown::Interval, &numbers),
        attribute(ColumnType::Date, Shown::Interval, &dates),
        attribute(ColumnType::Text, Shown::Set, &names),
        attribute(ColumnType::Text, Shown::Label, &names),
    ]
}

fn attribute(column_type: ColumnType, shown: Shown, cells: &[&str]) -> Attribute {
    let mut builder = TextColumnBuilder::new(column_type);
    for cell in cells {
        builder.push(cell.as_bytes()).expect("cells are of the type");
    }
    builder.push_missing();
    let chunks = vec![builder.finish().expect("few cells fit")];
    let column = RawColumn { name: "column".to_owned(), column_type, data_type: None, chunks };
    let prefix = HierarchySpec::Prefix;
    let coding = match shown {
        Shown::Interval => CodingPlan::Ordered,
        Shown::Set => CodingPlan::Categories { hierarchy: None, by_frequency: true },
        Shown::Label => CodingPlan::Categories { hierarchy: Some(&prefix), by_frequency: true },
    };
    let domain = encode(column, coding).expect("few cells can be coded").domain;
    Attribute { domain, shown, level: None, weight: 1.0, preferred: false }
}

/// A manifest, which is written again as it was read.
pub fn manifest(bytes: &[u8]) {
    with_file(bytes, |path| {
        let Ok(Some(manifest)) = files::manifest_of(&Job::default(), path, Some(path)) else {
            return;
        };
        let text = manifest.text();
        with_file(text.as_bytes(), |path| {
            let again = files::manifest_of(&Job::default(), path, Some(path));
            let again = again.expect("what is written can be read").expect("it is there");
            assert_eq!(again.text(), text, "a manifest that is read again says the same");
        });
    });
}

/// A condition of a query.
pub fn condition(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = text.parse::<Condition>();
    }
}

/// Some bytes as a file, where a reader takes nothing else.
fn with_file(bytes: &[u8], read: impl FnOnce(&Path)) {
    let mut file = tempfile::NamedTempFile::new().expect("temporary files can be made");
    file.write_all(bytes).expect("temporary files can be written");
    read(file.path());
}
