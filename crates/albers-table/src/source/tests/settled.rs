//! Types are those of all rows, whatever their order, and however the text is cut.

use std::cell::Cell;
use std::fs::File;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use crate::chunk::TextColumnBuilder;
use crate::notation::{Doubt, Notation, is_known_missing};
use crate::source::csv::{TextSizes, TypeSamples};

/// Cells that look like something, by what they look like; the first are missing.
const LOOKS: [&[&str]; 18] = [
    &["", " ", "NA"],
    &["0", "7", "-12", "+3", " 45 ", "123456789012345"],
    &["007", "-01", "00"],
    &["1.5", ".25", "5.", "-0.125", "0.1234567890123456"],
    &["1e5", "-2.5E-3", "1e400", "NaN", "inf"],
    &["03.2019", "12.2019", "1.2020"],
    &["1E10", "20E5"],
    &["12345678901234567890", "9223372036854775807", "0.1234567890123456789"],
    &["2024-01-31", "1970-01-01", "2024-02-31", "9999-99-99"],
    &["2024-01-31 10:00:00", "2024-01-31T10:00:00.25"],
    &["true", "FALSE", "True"],
    &["word", "North", "in", "t", "-", "1.2.3", "2024"],
    &["?", "null", "N/A", "unknown"],
    &["1,5", "-0,25", "1.234,5", "1.234.567", "1,5e3"],
    &["45.310", "1.234", "-7.125"],
    &["45,310", "1,234.5", "1,234,567", "1 234", "1'234"],
    &["31.12.2020", "1.2.2020", "30.11.1999"],
    &["03/04/2020", "12/31/2020", "1/2/1999", "31/12/2020"],
];

/// A column: what most cells look like, and how often which other looks come between.
fn column() -> impl Strategy<Value = Vec<&'static str>> {
    let look = || (0..LOOKS.len(), any::<prop::sample::Index>());
    (0..LOOKS.len(), 0..LOOKS.len(), 1u32..40).prop_flat_map(move |(most, other, one_in)| {
        let cell = (0..one_in, 0..60u32, look(), any::<prop::sample::Index>());
        let cell = cell.prop_map(move |(draw, rare, (any_look, at), place)| {
            let look = match (draw, rare) {
                (_, 0) => any_look,
                (0, _) => other,
                _ => most,
            };
            *[at, place][usize::from(rare > 0)].get(LOOKS[look])
        });
        prop::collection::vec(cell, N_ROWS)
    })
}

const N_ROWS: usize = 60;

#[derive(Debug, Clone)]
struct Case {
    /// The columns `coded`, `carried` and `both`.
    columns: [Vec<&'static str>; 3],
    orders: Vec<Vec<usize>>,
    sizes: (usize, usize),
    /// A file, several files or a stream.
    way: usize,
}

fn case() -> impl Strategy<Value = Case> {
    let order = Just((0..N_ROWS).collect::<Vec<usize>>()).prop_shuffle();
    let orders = prop::collection::vec(order, 3);
    let columns = [column(), column(), column()];
    (columns, orders, (10usize..600, 0..N_ROWS), 0..3usize)
        .prop_map(|(columns, orders, sizes, way)| Case { columns, orders, sizes, way })
}

impl Case {
    fn options() -> ReadOptions {
        ReadOptions { missing: vec!["NA".to_owned()], ..ReadOptions::default() }
    }

    fn lines(&self, order: &[usize]) -> Vec<String> {
        let shown = |cell: &str| match cell.contains(',') {
            true => format!("\"{cell}\""),
            false => cell.to_owned(),
        };
        let line =
            |&row: &usize| self.columns.each_ref().map(|cells| shown(cells[row])).join(",") + "\n";
        order.iter().map(line).collect()
    }

    fn open(&self, folder: &Path, order: &[usize]) -> Box<dyn Source> {
        let header = "coded,carried,both\n";
        let (block_bytes, first_rows) = self.sizes;
        let sizes = TextSizes::tiny(block_bytes, first_rows);
        let options = Case::options();
        let lines = self.lines(order);
        let text = |lines: &[String]| format!("{header}{}", lines.concat());
        match self.way {
            0 => {
                let path = folder.join("t.csv");
                std::fs::write(&path, text(&lines)).unwrap();
                let source =
                    FileSource::open_sized(&path, None, &options, Arc::default(), sizes).unwrap();
                Box::new(source)
            }
            1 => {
                let paths: Vec<PathBuf> =
                    (0..3).map(|at| folder.join(format!("{at}.csv"))).collect();
                for (path, lines) in paths.iter().zip(lines.chunks(N_ROWS / 3)) {
                    std::fs::write(path, text(lines)).unwrap();
                }
                Box::new(FilesSource::open_sized(paths, None, &options, sizes).unwrap())
            }
            _ => {
                let reader = Box::new(std::io::Cursor::new(text(&lines).into_bytes()));
                let source =
                    StreamSource::text_sized(folder, reader, "pipe", None, &options, sizes)
                        .unwrap();
                Box::new(source)
            }
        }
    }

    /// The types and the notations that a look at every cell tells.
    fn types(&self) -> RequestedTypes {
        let options = Case::options();
        let requests = requests();
        let mut samples = TypeSamples::of_first(N_ROWS, &requests);
        for (sample, cells) in samples.samples_mut().iter_mut().flatten().zip(&self.columns) {
            let cells = cells.iter().filter(|cell| !options.is_missing(cell.as_bytes()));
            cells.for_each(|cell| sample.add(cell.as_bytes()));
        }
        samples.types(&requests, &options)
    }

    /// The first place in an order whose cell does not fit the type of all rows.
    fn misfit(&self, order: &[usize]) -> Option<usize> {
        let types = self.types();
        let fits = |row: usize, column_idx: usize| {
            let cell = self.columns[column_idx][row].as_bytes();
            let kind = types.column_types[column_idx];
            let is_typed = kind != ColumnType::Text;
            let mut buffer = Vec::new();
            let plain = types.notations[column_idx].plain(kind, cell, &mut buffer);
            Case::options().is_missing(cell)
                || plain.is_ok_and(|cell| TextColumnBuilder::inferred(kind).push(cell).is_ok())
                || (is_typed && is_known_missing(cell))
        };
        // What is only carried is not parsed.
        order.iter().position(|&row| !fits(row, 0) || !fits(row, 2))
    }

    /// Whether a column can be read in two ways: of what is only carried, numbers, which leave as
    /// such.
    fn is_undecided(&self) -> bool {
        let [coded, carried, both] = &self.types().notations[..] else { panic!("three columns") };
        let is_coded = [coded, both].iter().any(|own| matches!(own, Notation::Undecided(_)));
        is_coded || matches!(carried, Notation::Undecided(Doubt::Thousands))
    }
}

fn requests() -> Vec<ColumnRequest> {
    let request = |name: &str, coded, carried| ColumnRequest {
        name: name.to_owned(),
        column_type: None,
        coded,
        carried,
    };
    vec![
        request("coded", true, false),
        request("carried", false, true),
        request("both", true, true),
    ]
}

/// How often a source was scanned, and what came of it: types and rows.
fn read(source: &dyn Source) -> (usize, Result<(RequestedTypes, usize)>) {
    let requests = requests();
    let mut n_scans = 0;
    let outcome = with_settled_types(source, &requests, &mut |types| {
        n_scans += 1;
        let mut n_rows = 0;
        let mut scan = source.scan(&requests, types)?;
        for_each_chunk(scan.as_mut(), &Silent, &Ok, &mut |chunk: SourceChunk| {
            assert_eq!(chunk.first_row, RowId::new(n_rows as u64));
            n_rows += chunk.n_rows;
            Ok(())
        })?;
        Ok(n_rows)
    });
    (n_scans, outcome)
}

#[test]
fn types_are_those_that_a_look_at_every_cell_tells_in_any_order() {
    let [n_again, n_once, n_taken, n_refused, n_undecided] = [const { Cell::new(0) }; 5];
    let count = |counter: &Cell<usize>| counter.set(counter.get() + 1);
    let mut runner = TestRunner::new(Config { cases: 900, ..Config::default() });
    let outcome = runner.run(&case(), |case| {
        let folder = tempfile::tempdir().unwrap();
        for order in &case.orders {
            let source = case.open(folder.path(), order);
            let (n_scans, outcome) = read(source.as_ref());
            count(if n_scans > 1 { &n_again } else { &n_once });
            if case.is_undecided() {
                let is_refused = matches!(&outcome, Err(TableError::File { .. }));
                prop_assert!(is_refused, "it can be read in two ways");
                count(&n_undecided);
                continue;
            }
            match (outcome, case.misfit(order)) {
                (Ok((types, n_rows)), None) => {
                    prop_assert_eq!((types, n_rows), (case.types(), N_ROWS));
                    count(&n_taken);
                }
                (Err(TableError::Cell { place, .. }), Some(at)) => {
                    let line = if case.way == 1 { at % (N_ROWS / 3) } else { at } + 2;
                    prop_assert_eq!(place, format!("line {line}"));
                    count(&n_refused);
                }
                (outcome, misfit) => {
                    let outcome = outcome.map_err(|error| error.to_string());
                    prop_assert!(false, "{outcome:?} where {misfit:?} does not fit");
                }
            }
        }
        Ok(())
    });
    outcome.unwrap();
    for counter in [n_again, n_once, n_taken, n_refused, n_undecided] {
        assert!(counter.get() > 50, "each way is taken often, this one {} times", counter.get());
    }
}

/// The type of a column, and how often it was read, if the first of these many rows tell its type.
fn settled(cells: &[&str], first_rows: usize) -> (usize, Result<ColumnType>) {
    let text = format!("coded,carried,both\n{}", cells.join(",7,x\n") + ",7,x\n");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, text).unwrap();
    let sizes = TextSizes::tiny(20, first_rows);
    let options = ReadOptions::default();
    let source = FileSource::open_sized(&path, None, &options, Arc::default(), sizes).unwrap();
    let (n_scans, outcome) = read(&source);
    (n_scans, outcome.map(|(types, _)| types.column_types[0]))
}

#[test]
fn every_type_gives_way_to_that_of_all_rows() {
    use ColumnType::*;
    for (early, late, first, all) in [
        (vec!["7"; 9], vec!["007"], Integer, Code),
        (vec!["7"; 9], vec!["7.5"], Integer, Decimal),
        (vec!["7"; 9], vec!["7e5"], Integer, Float),
        (vec!["7"; 9], vec!["seven"], Integer, Text),
        (vec!["123456789012345678"], vec!["0.5"], Integer, Float),
        (vec!["007"], vec!["7.5"], Code, Decimal),
        (vec!["007"], vec!["north"; 2], Code, Text),
        (vec!["7.5"], vec!["7e5"], Decimal, Float),
        (vec!["123456789012345678", "0.5"], vec!["0.25"; 9], Float, Float),
        (vec!["1234567.5"; 3], vec!["0.123456789012"], Decimal, Float),
        (vec!["0.123456789012"; 3], vec!["1234567"], Decimal, Float),
        (vec!["2024-01-31"; 9], vec!["x"], Date, Text),
        (vec!["2024-01-31"; 1], vec!["2024-01-31 10:00"; 20], Date, Timestamp),
        (vec!["true"; 30], vec!["maybe"], Boolean, Text),
        (vec!["true"; 1], vec!["7"; 19], Boolean, Integer),
        (vec!["", ""], vec!["7"; 3], Text, Integer),
        (vec!["x"], vec!["true"; 3], Text, Text),
        (vec!["x"], vec!["1"; 19], Text, Integer),
    ] {
        let cells = [&early[..], &late[..]].concat();
        let mut sample = TypeSample::default();
        let given = early.iter().filter(|cell| !cell.is_empty());
        given.for_each(|cell| sample.add(cell.as_bytes()));
        assert_eq!(sample.column_type(), first, "{early:?}");
        let expected = if first == all { 1 } else { 2 };
        let (n_scans, outcome) = settled(&cells, early.len());
        assert_eq!(n_scans, expected, "{early:?} and {late:?}");
        match outcome {
            Ok(kind) => assert_eq!(kind, all, "{early:?} and {late:?}"),
            // One cell of twenty is wrong, and refused as that.
            Err(error) => assert!(error.to_string().contains(&format!("of type {all}")), "{error}"),
        }
    }
}

/// Blocks that were parsed with the one that gives rise to doubt are looked at as well.
#[test]
fn the_number_of_threads_does_not_decide_the_type() {
    for n_threads in [1, 2, 3, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        for cells in [
            ["1234567.5", "0.123456789012", "word", "word"],
            ["7", "007", "word", "word"],
            ["2024-01-31", "word", "word", "word"],
        ] {
            let (n_scans, outcome) = pool.install(|| settled(&cells, 1));
            assert_eq!((n_scans, outcome.unwrap()), (2, ColumnType::Text), "{n_threads} threads");
        }
    }
}

#[test]
fn a_few_bad_cells_are_refused_where_they_stand_wherever_that_is() {
    for at in [0, 5, 29] {
        let mut cells = vec!["2024-01-31"; 30];
        cells[at] = "secret";
        for first_rows in [1, 2, 10, 40] {
            let Err(error) = settled(&cells, first_rows).1 else { panic!("one date is bad") };
            let text = error.to_string();
            assert!(text.contains(&format!("line {}, column 'coded'", at + 2)), "{text}");
            assert!(text.contains("not of type date") && !text.contains("secret"), "{text}");
        }
    }
}

/// Another text, as long as the one before, at the same time: only what is read tells it.
fn change(path: &Path) {
    let changed_at = std::fs::metadata(path).unwrap().modified().unwrap();
    std::fs::write(path, "x\n1\n2\n3\n4e5\n").unwrap();
    File::options().append(true).open(path).unwrap().set_modified(changed_at).unwrap();
}

#[test]
fn a_table_that_changes_between_two_looks_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, "x\n1\n2\n3\n4.5\n").unwrap();
    let sizes = TextSizes::tiny(4, 1);
    let options = ReadOptions::default();
    let source = FileSource::open_sized(&path, None, &options, Arc::default(), sizes).unwrap();
    let requests = requests_of(&source, None);
    let outcome = with_settled_types(&source, &requests, &mut |types| {
        let mut scan = source.scan(&requests, types)?;
        for_each_chunk(scan.as_mut(), &Silent, &Ok, &mut |_| Ok(())).inspect_err(|_| change(&path))
    });
    let Err(TableError::OtherTypes { types, .. }) = &outcome else { panic!("it changed") };
    assert_eq!(&types.column_types, &[ColumnType::Float]);
    assert!(outcome.unwrap_err().to_string().contains("changed while it was read"));
}

#[test]
fn whoever_watches_can_end_a_look_at_the_rest() {
    let text = format!("x\n1\n{}", "word\n".repeat(10_000));
    let folder = tempfile::tempdir().unwrap();
    let sizes = TextSizes::tiny(64, 1);
    let reader = Box::new(std::io::Cursor::new(text.into_bytes()));
    let options = ReadOptions::default();
    let source =
        StreamSource::text_sized(folder.path(), reader, "pipe", None, &options, sizes).unwrap();
    let requests = requests_of(&source, None);
    let types = source.types(&requests).unwrap();
    assert_eq!(types.column_types, [ColumnType::Integer]);
    let mut scan = source.scan(&requests, &types).unwrap();
    let mut n_rounds = 0;
    while let Ok(round) = scan.next_round() {
        assert!(!round.is_empty(), "the rows are not all whole numbers");
        n_rounds += 1;
    }
    assert!(n_rounds > 100, "{n_rounds} rounds");
}
