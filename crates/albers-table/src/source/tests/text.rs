//! Delimited text.

use arrow_array::Array as _;

use super::*;
use crate::format::Format;

fn read_all(
    path: &Path,
    column_type: Option<ColumnType>,
    sink: &mut (dyn FnMut(SourceChunk) + Send),
) -> Result<RequestedTypes> {
    let source = FileSource::open(path, None, &ReadOptions::default())?;
    read_as(&source, column_type, sink)
}

#[test]
fn a_first_line_of_more_columns_than_the_memory_allows_is_refused_with_what_would_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let names: Vec<String> = (0..100_000).map(|at| format!("name{at}")).collect();
    std::fs::write(&path, names.join(",") + "\n").unwrap();
    let open = |header, limit_bytes| {
        let limit_bytes = Some(limit_bytes);
        let options = ReadOptions { header, limit_bytes, ..ReadOptions::default() };
        FileSource::open(&path, None, &options).map(|source| source.columns().len())
    };
    for header in [None, Some(true), Some(false)] {
        let message = open(header, 32 << 20).unwrap_err().to_string();
        assert!(message.contains("too small for the columns of the first line"), "{message}");
        assert!(message.contains("410MB"), "{message}");
        assert_eq!(open(header, 410_000_000).unwrap(), 100_000);
    }
    std::fs::write(&path, names[..20_000].join(",") + "\n").unwrap();
    assert_eq!(open(None, 1 << 20).unwrap(), 20_000, "few are read in any memory");
}

/// The text after the header is so long that it takes several blocks.
const N_MANY: usize = 1 << 21;

#[test]
fn blank_lines_of_one_column_are_rows_in_every_block() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, format!("x\n{}z\n", "\n7\n\r\n".repeat(N_MANY))).unwrap();
    let (mut n_rows, mut n_missing) = (0, 0);
    let outcome = read_all(&path, Some(ColumnType::Text), &mut |chunk| {
        n_rows += chunk.n_rows;
        n_missing += chunk.coded[0].missing.len();
    });
    assert!(outcome.is_ok());
    assert_eq!((n_rows, n_missing), (3 * N_MANY + 1, 2 * N_MANY));
    let outcome = read_all(&path, Some(ColumnType::Integer), &mut |_| ());
    let Err(TableError::Cell { place, .. }) = outcome else { panic!("z is no integer") };
    assert_eq!(place, format!("line {}", 3 * N_MANY + 2));
}

#[test]
fn a_leading_zero_after_the_first_rows_makes_codes_unless_the_type_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, format!("x,y\n{}00123,1\n", "7,1\n".repeat(30_000))).unwrap();
    let outcome = read_all(&path, None, &mut |_| ());
    let Err(TableError::OtherTypes { types, .. }) = outcome else {
        panic!("the zero would be lost")
    };
    assert_eq!(types.column_types, [ColumnType::Code, ColumnType::Integer]);
    assert!(read_all(&path, Some(ColumnType::Integer), &mut |_| ()).is_ok());
}

#[test]
fn lines_that_end_in_a_carriage_return_alone_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    for text in ["a,b\r1,2\r3,4\r", "a,b\r1,2\n3,4\n", "a\r1", "\"a\",b\r\"1\",2\r"] {
        std::fs::write(&path, text).unwrap();
        let outcome = FileSource::open(&path, None, &ReadOptions::default());
        let Err(TableError::File { problem, .. }) = outcome else { panic!("{text:?}") };
        assert!(problem.contains("carriage return"), "{problem}");
    }
    std::fs::write(&path, "\"a\rb\",c\r\n1,2\r\n").unwrap();
    assert_eq!(open(&path).columns().len(), 2);
}

#[test]
fn a_fault_is_told_by_the_line_on_which_its_row_starts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    for (text, expected) in [
        ("a,b\n1,2\n3\n", 3),
        ("a,b\n1\n3,3\n", 2),
        ("a,b\r\n1,2\r\n3\r\n", 3),
        ("a,b\r\n1\r\n3,4\r\n", 2),
        ("\n\na,b\n1,2\n3", 5),
        ("a,b\n1,2\n\"x\ny\",4\n\n5,6\n3\n", 7),
        ("\"a\nx\",b\n1\n", 3),
    ] {
        std::fs::write(&path, text).unwrap();
        let outcome = read_all(&path, Some(ColumnType::Text), &mut |_| ());
        let Err(TableError::Line { line, .. }) = outcome else { panic!("{text:?} is ragged") };
        assert_eq!(line, expected, "{text:?}");
    }
}

#[test]
fn what_is_wrong_first_is_told_whatever_the_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let good = "7,1\n".repeat(N_MANY);
    std::fs::write(&path, format!("x,y\n{good}z,1\n{good}1\n")).unwrap();
    for n_threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        let outcome = pool.install(|| read_all(&path, Some(ColumnType::Integer), &mut |_| ()));
        let Err(TableError::Cell { place, .. }) = outcome else { panic!("z is no integer") };
        assert_eq!(place, format!("line {}", N_MANY + 2));
    }
}

#[test]
fn a_given_format_of_tsv_means_tabs_and_an_ending_is_sniffed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tsv");
    std::fs::write(&path, "a;b;c\n1;2;3\n").unwrap();
    assert_eq!((open(&path).delimiter(), open(&path).columns().len()), (Some(b';'), 3));
    let options = ReadOptions::default();
    let tabs = FileSource::open(&path, Some(Format::Tsv), &options);
    assert!(tabs.is_err_and(|error| error.to_string().contains("another delimiter")));
    std::fs::write(&path, "a;b;c\n1;2;3\n4\n").unwrap();
    let tabs = FileSource::open(&path, Some(Format::Tsv), &options).unwrap();
    assert_eq!((tabs.delimiter(), tabs.columns().len()), (Some(b'\t'), 1));
    let bars = ReadOptions { delimiter: Some(b'|'), ..options };
    let bars = FileSource::open(&path, Some(Format::Tsv), &bars).unwrap();
    assert_eq!(bars.delimiter(), Some(b'|'));
}

#[test]
fn a_header_that_changes_between_two_scans_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, "a,b\n1,2\n").unwrap();
    let source = open(&path);
    let before = source.stamp();
    assert_eq!(chunks_of(&source).unwrap().len(), 1);
    std::fs::write(&path, "a\n1\n").unwrap();
    assert_ne!(source.stamp(), before);
    assert!(matches!(chunks_of(&source), Err(TableError::File { .. })));
}

fn nameless() -> ReadOptions {
    ReadOptions { header: Some(false), ..ReadOptions::default() }
}

/// The names of the columns, and all rows as texts.
fn rows_of(source: &dyn Source) -> (Vec<String>, Vec<Vec<Option<String>>>) {
    let names: Vec<String> = source.columns().iter().map(|column| column.name.clone()).collect();
    let request = |name: &String| ColumnRequest {
        name: name.clone(),
        column_type: Some(ColumnType::Text),
        coded: false,
        carried: true,
    };
    let requests: Vec<ColumnRequest> = names.iter().map(request).collect();
    let types = source.types(&requests).unwrap();
    let mut scan = source.scan(&requests, &types).unwrap();
    let mut rows = Vec::new();
    loop {
        let round = scan.next_round().unwrap();
        if round.is_empty() {
            return (names, rows);
        }
        for chunk in round {
            for row_idx in 0..chunk.n_rows {
                let cell = |array: &ArrayRef| {
                    let texts = array.as_any().downcast_ref::<StringArray>().unwrap();
                    texts.is_valid(row_idx).then(|| texts.value(row_idx).to_owned())
                };
                rows.push(chunk.carried.iter().map(cell).collect());
            }
        }
    }
}

#[test]
fn without_a_header_every_record_is_a_row_whatever_stands_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let row = |cells: &[&str]| -> Vec<Option<String>> {
        cells.iter().map(|cell| (!cell.is_empty()).then(|| (*cell).to_owned())).collect()
    };
    for (text, n_columns, expected) in [
        ("Ann,34\nBen,29\n", 2, vec![row(&["Ann", "34"]), row(&["Ben", "29"])]),
        ("\u{feff}\r\n\nAnn,34\r\nBen,", 2, vec![row(&["Ann", "34"]), row(&["Ben", ""])]),
        ("a,a\n,\n", 2, vec![row(&["a", "a"]), row(&["", ""])]),
        ("\n7\n\n8\n", 1, vec![row(&[""]), row(&["7"]), row(&[""]), row(&["8"])]),
        ("\"x\ny\";1\n", 2, vec![row(&["x\ny", "1"])]),
        ("7", 1, vec![row(&["7"])]),
    ] {
        std::fs::write(&path, text).unwrap();
        let source = FileSource::open(&path, None, &nameless()).unwrap();
        let names: Vec<String> = (1..=n_columns).map(|at| format!("c{at}")).collect();
        assert_eq!(rows_of(&source), (names.clone(), expected.clone()), "{text:?}");
        assert_eq!(rows_of(&source), (names, expected), "{text:?}, again");
    }
}

#[test]
fn without_a_header_lines_are_counted_from_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    for (text, expected) in [("1,2\n3\n", 2), ("\n\n1,2\n3,4\n5\n", 5), ("\"a\nb\",2\n3\n", 3)] {
        std::fs::write(&path, text).unwrap();
        let source = FileSource::open(&path, None, &nameless()).unwrap();
        let outcome = read_as(&source, Some(ColumnType::Text), &mut |_| ());
        let Err(TableError::Line { line, .. }) = outcome else { panic!("{text:?} is ragged") };
        assert_eq!(line, expected, "{text:?}");
    }
}

#[test]
fn a_first_line_that_is_a_record_is_refused_unless_the_user_says_that_it_is_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, "town,2019,2020\nUlm,5,6\nKiel,7,8\n").unwrap();
    let outcome = FileSource::open(&path, None, &ReadOptions::default());
    let Err(TableError::File { problem, hint, .. }) = outcome else { panic!("years look so") };
    assert!(problem.contains("looks like a record") && !problem.contains("2019"), "{problem}");
    assert!(hint.to_string().contains("`header = true`"), "{hint}");
    let options = ReadOptions { header: Some(true), ..ReadOptions::default() };
    let (names, rows) = rows_of(&FileSource::open(&path, None, &options).unwrap());
    assert_eq!((names, rows.len()), (["town", "2019", "2020"].map(str::to_owned).to_vec(), 2));
}

#[test]
fn a_name_that_may_be_a_cell_is_not_shown_when_it_stands_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let message = |text: &str| {
        std::fs::write(&path, text).unwrap();
        FileSource::open(&path, None, &ReadOptions::default()).err().unwrap().to_string()
    };
    let words = message("Ann,Ulm,Ann\nBen,Kiel,Cleo\n");
    assert!(!words.contains("Ann") && words.contains("`header = false`"), "{words}");
    let named = message("name,age,name\nBen,34,Cleo\n");
    assert!(named.contains("both named 'name'"), "{named}");
    let empty = message("Ann,,Ulm\nBen,Kiel,Bonn\n");
    assert!(empty.contains("column 2 has no name") && empty.contains("`header = false`"));
}
