//! A Parquet release as other readers see it: the types, the missing cells, the rows and every cell
//! of the CSV release of the same job.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

mod codebook {
    pub mod tools;
}

use codebook::tools::{has_tools, printed};
use common::{Folder, Numbers};

/// Prints, of a Parquet file by pyarrow and by DuckDB and of a CSV file, a line each: rows, missing
/// cells of each column, and a checksum of all cells in their order; then the types of the former
/// two. Cells of text are read as the type that Parquet has for their column.
const SCRIPT: &str = r#"
import csv, datetime, decimal, hashlib, sys
import duckdb, pyarrow.parquet

release, text = sys.argv[1], sys.argv[2]
table = pyarrow.parquet.read_table(release)

def told(columns):
    missing = [sum(cell is None for cell in column) for column in columns]
    digest = hashlib.sha256()
    for row in zip(*columns):
        digest.update(repr(row).encode())
    return len(columns[0]), missing, digest.hexdigest()

def parsed(cell, own):
    if cell is None:
        return None
    kind = str(own)
    if kind.startswith(('int', 'uint')):
        return int(cell)
    if kind.startswith('decimal'):
        return decimal.Decimal(cell).quantize(decimal.Decimal(1).scaleb(-own.scale))
    if kind.startswith('date32'):
        return datetime.date.fromisoformat(cell)
    if kind.startswith('timestamp'):
        return datetime.datetime.fromisoformat(cell)
    if kind in ('float', 'double'):
        return float(cell)
    return cell == 'true' if kind == 'bool' else cell

def cells(line):
    # A missing cell is empty, an empty text is quoted.
    raw = next(csv.reader([line]))
    return [None if cell == '' else cell for cell in raw]

lines = open(text, encoding='utf-8').read().splitlines()
names = next(csv.reader([lines[0]]))
assert names == table.schema.names, (names, table.schema.names)
rows = [cells(line) for line in lines[1:]]
by_text = [[parsed(row[at], own) for row in rows] for at, own in enumerate(table.schema.types)]
by_arrow = [table.column(at).to_pylist() for at in range(table.num_columns)]
found = duckdb.sql(f"SELECT * FROM '{release}'")
by_duckdb = list(zip(*found.fetchall()))
for columns in (by_arrow, by_duckdb, by_text):
    print(told(columns))
print(' '.join(str(own) for own in table.schema.types))
print(' '.join(str(own) for own in found.types))
"#;

/// People with values of every type; many are missing.
fn people(n_rows: usize) -> String {
    let mut numbers = Numbers::new(11);
    let mut below = |end: u64| numbers.below(end);
    let mut text = "age,pay,weight,born,seen,city,job,note,score\n".to_owned();
    for _ in 0..n_rows {
        let mut cells = [
            (20 + below(60)).to_string(),
            format!("{}.{}", 100 + below(900), below(10)),
            format!("{}e-1", 400 + below(600)),
            format!("19{}-{:02}-{:02}", 50 + below(40), 1 + below(12), 1 + below(28)),
            format!("2020-0{}-1{} {:02}:30:00", 1 + below(9), below(10), below(24)),
            ["Aachen", "Bonn", "Celle", "Düren"][below(4) as usize].to_owned(),
            ["nurse", "doctor", "cook", "waiter"][below(4) as usize].to_owned(),
            below(900).to_string(),
            format!("{}.25", below(50)),
        ];
        for at in [0, 3, 5, 7] {
            if below(12) == 0 {
                cells[at].clear();
            }
        }
        text.push_str(&cells.join(","));
        text.push('\n');
    }
    text
}

/// Compares a release of some flags, as Parquet and as CSV.
fn assert_readers_agree(folder: &Folder, table: &str, flags: &str) -> (String, String) {
    for release in ["out.parquet", "out.csv"] {
        folder.anonymize(&format!("{table} -o {release} {flags}"));
    }
    let printed = printed(folder, SCRIPT, &["out.parquet", "out.csv"]);
    let lines: Vec<&str> = printed.lines().collect();
    let [arrow, duckdb, text, arrow_types, duckdb_types] = lines[..] else { panic!("{printed}") };
    assert_eq!((arrow, duckdb), (text, text), "{flags}");
    (arrow_types.to_owned(), duckdb_types.to_owned())
}

#[test]
fn readers_see_the_cells_of_the_csv_release_in_the_types_of_the_table() {
    if !has_tools("readers_see_the_cells_of_the_csv_release_in_the_types_of_the_table") {
        return;
    }
    let folder = Folder::with(people(3_000));
    let flags = "--quasi age,pay,weight,born,seen,city --keep job,note,score -k 5";
    for values in ["bounds", "mean", "features", "interval"] {
        let flags = format!("{flags} --values {values}");
        let (arrow, duckdb) = assert_readers_agree(&folder, "in.csv", &flags);
        if values == "bounds" {
            assert_eq!(
                arrow,
                "int64 int64 bool decimal128(4, 1) decimal128(4, 1) double double date32[day] \
                 date32[day] bool timestamp[us] timestamp[us] string string int64 decimal128(4, 2)"
            );
            assert_eq!(
                duckdb,
                "BIGINT BIGINT BOOLEAN DECIMAL(4,1) DECIMAL(4,1) DOUBLE DOUBLE DATE DATE BOOLEAN \
                 TIMESTAMP TIMESTAMP VARCHAR VARCHAR BIGINT DECIMAL(4,2)"
            );
        }
    }
}

#[test]
fn readers_see_all_rows_of_a_release_of_many_pages() {
    if !has_tools("readers_see_all_rows_of_a_release_of_many_pages") {
        return;
    }
    let folder = Folder::new();
    assert_eq!(folder.run("generate agrawal -n 150000 -o in.parquet").code, Some(0));
    let flags =
        "--quasi salary,commission,age,zipcode,hvalue,loan --keep car,hyears --values bounds";
    for k in [2, 50, 150_000] {
        assert_readers_agree(&folder, "in.parquet", &format!("{flags} -k {k}"));
    }
}
