//! Several files as one table.

use albers_storage::input::OpenCount;

use super::*;

fn folder_of(names: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in names {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn open_all(folder: &Path) -> Result<FilesSource> {
    FilesSource::open(expand(folder)?, None, &ReadOptions::default())
}

#[test]
fn the_files_of_a_folder_are_one_table_in_the_order_of_their_names() {
    let folder = folder_of(&[
        ("b.csv", "x,y\n3,c\n\n4,d\n"),
        ("a.csv", "x,y\n1,a\n2,b\n"),
        ("c.csv", "x,y\n"),
        ("d.csv", "\"x\";y\n5;e\n"),
        ("_SUCCESS.csv", "no table"),
        (".hidden.csv", "no table"),
        ("README.md", "no table"),
    ]);
    let source = open_all(folder.path()).unwrap();
    for _ in 0..2 {
        let chunks = chunks_of(&source).unwrap();
        assert_eq!(numbers_of(chunks, 0), [1, 2, 3, 4, 5]);
    }
    assert!(source.name().ends_with("a.csv and 3 more files"), "{}", source.name());
    let Some(Stamp::Files(stamps)) = source.stamp() else { panic!("files have stamps") };
    assert_eq!(stamps.len(), 4);
}

#[test]
fn no_file_is_opened_more_than_twice() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ["csv", "parquet"] {
        let paths: Vec<PathBuf> =
            (0..5).map(|at| folder.path().join(format!("{at}.{ending}"))).collect();
        for (at, path) in paths.iter().enumerate() {
            write_table(path, &[numbered(at as i64 * 9_000, 9_000)]);
        }
        let opens: Vec<OpenCount> = paths.iter().map(|path| OpenCount::of(path)).collect();
        let source = FilesSource::open(paths, None, &ReadOptions::default()).unwrap();
        let n_opens = || opens.iter().map(OpenCount::n_opens).collect::<Vec<u64>>();
        assert_eq!(n_opens(), [1, 0, 0, 0, 0], "only the first is opened before it must");
        for n_scans in 1..=2 {
            let chunks = chunks_of(&source).unwrap();
            assert_eq!(numbers_of(chunks, 0), (0..45_000).collect::<Vec<i64>>());
            assert_eq!(n_opens(), [n_scans; 5]);
        }
        assert!(source.read_bytes() > 0);
        let n_rows = source.n_rows().unwrap();
        assert!((40_000..60_000).contains(&n_rows), "{n_rows}");
    }
}

#[test]
fn types_are_told_over_the_first_files() {
    let folder = folder_of(&[
        ("a.csv", "x\n1\n2\n"),
        ("b.csv", "x\n2.5\n3\n"),
        ("c.csv", "x\nword\nanother\nthird\nfourth\n"),
    ]);
    let types_of = |names: &[&str]| {
        let paths = names.iter().map(|name| folder.path().join(name)).collect();
        let source = FilesSource::open(paths, None, &ReadOptions::default()).unwrap();
        source.types(&requests_of(&source, None)).unwrap().column_types[0]
    };
    assert_eq!(types_of(&["a.csv"]), ColumnType::Integer);
    assert_eq!(types_of(&["a.csv", "b.csv"]), ColumnType::Decimal);
    assert_eq!(types_of(&["a.csv", "b.csv", "c.csv"]), ColumnType::Text);
}

#[test]
fn a_file_with_other_columns_is_named_and_no_cell_is_shown() {
    for (text, problem) in [
        ("x,z\n1,2\n", "column 2 has another name"),
        ("x\n1\n", "1 columns where"),
        ("y,x\n1,2\n", "column 1 has another name"),
    ] {
        let folder = folder_of(&[("a.csv", "x,y\n1,secret\n"), ("b.csv", text)]);
        let source = open_all(folder.path()).unwrap();
        let error = chunks_of(&source).err().unwrap().to_string();
        assert!(error.contains("b.csv: ") && error.contains(problem), "{error}");
    }
    let folder = tempfile::tempdir().unwrap();
    write_table(&folder.path().join("a.parquet"), &[numbered(0, 3)]);
    let narrow: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let names: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let other = RecordBatch::try_from_iter([("id", narrow), ("name", names)]).unwrap();
    write_table(&folder.path().join("b.parquet"), &[other]);
    let error = chunks_of(&open_all(folder.path()).unwrap()).err().unwrap().to_string();
    assert!(error.contains("b.parquet: column 1 has another type"), "{error}");
}

#[test]
fn a_fault_is_told_by_its_file_and_the_line_there() {
    let folder = folder_of(&[("a.csv", "x,y\n1,2\n3,4\n"), ("b.csv", "x,y\n5,6\n7\n")]);
    let outcome = chunks_of(&open_all(folder.path()).unwrap());
    let Err(TableError::Line { table, line, .. }) = outcome else { panic!("the row is ragged") };
    assert!(table.ends_with("b.csv"), "{table}");
    assert_eq!(line, 3);
}

#[test]
fn a_folder_that_is_not_one_table_is_refused() {
    let folder = folder_of(&[("a.txt", "x\n")]);
    let problem = |folder: &Path| expand(folder).unwrap_err().to_string();
    assert!(problem(folder.path()).contains("holds no tables"));
    std::fs::write(folder.path().join("a.csv"), "x\n").unwrap();
    assert_eq!(expand(folder.path()).unwrap().len(), 1);
    std::fs::write(folder.path().join("b.parquet"), "x\n").unwrap();
    assert!(problem(folder.path()).contains("several formats"));
    std::fs::create_dir(folder.path().join("0")).unwrap();
    assert!(problem(folder.path()).contains("other folders"));
}

#[test]
fn a_pattern_stands_for_what_matches_it() {
    let folder = folder_of(&[("a1.csv", "x\n1\n"), ("a2.csv", "x\n2\n"), ("b.csv", "x\n3\n")]);
    let pattern = |name: &str| expand(&folder.path().join(name));
    assert_eq!(pattern("a?.csv").unwrap().len(), 2);
    assert_eq!(pattern("*.csv").unwrap().len(), 3);
    assert_eq!(pattern("[!a]*.csv").unwrap(), [folder.path().join("b.csv")]);
    assert!(pattern("c*.csv").unwrap_err().to_string().contains("no file matches"));
    assert_eq!(pattern("missing.csv").unwrap(), [folder.path().join("missing.csv")]);
}

#[test]
fn files_of_several_formats_and_no_files_are_refused() {
    let folder = folder_of(&[("a.csv", "x\n1\n"), ("b.tsv", "x\n2\n")]);
    let paths = vec![folder.path().join("a.csv"), folder.path().join("b.tsv")];
    let options = ReadOptions::default();
    assert!(FilesSource::open(paths.clone(), None, &options).is_err());
    let given = Some(crate::format::Format::Csv);
    assert!(FilesSource::open(paths, given, &options).is_ok());
    assert!(FilesSource::open(Vec::new(), None, &options).is_err());
}
