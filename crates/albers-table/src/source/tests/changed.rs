//! A file that is changed while it is read is not the table of anybody.

use std::fs::File;
use std::time::{Duration, SystemTime};

use super::*;
use crate::source::csv::TextSizes;

/// Whoever writes to a file later than it was opened.
fn touch(path: &Path) {
    let later = SystemTime::now() + Duration::from_secs(60);
    File::options().append(true).open(path).unwrap().set_modified(later).unwrap();
}

/// Cuts a file off at the end of a line.
fn cut(path: &Path) {
    let text = std::fs::read(path).unwrap();
    let end = memchr::memrchr(b'\n', &text[..text.len() / 2]).unwrap() + 1;
    File::options().write(true).open(path).unwrap().set_len(end as u64).unwrap();
}

/// Reads all rows, of which some were handed on when `change` is done.
fn read_changing(source: &dyn Source, change: impl FnOnce()) -> Result<usize> {
    let requests = requests_of(source, None);
    let types = source.types(&requests)?;
    let mut scan = source.scan(&requests, &types)?;
    let mut n_rows = 0;
    let mut change = Some(change);
    loop {
        let round = scan.next_round()?;
        if round.is_empty() {
            return Ok(n_rows);
        }
        n_rows += round.iter().map(|chunk| chunk.n_rows).sum::<usize>();
        if let Some(change) = change.take() {
            change();
        }
    }
}

fn assert_refused(outcome: Result<usize>, name: &str) {
    let message = outcome.expect_err("the file was changed").to_string();
    let expected = format!("{name}: the file was changed while it was read; ");
    assert!(message.contains(&expected), "{message}");
}

#[test]
fn a_file_that_changes_while_it_is_read_is_refused_whatever_it_is() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["t.csv", "t.csv.gz", "t.csv.zst", "t.jsonl", "t.parquet"] {
        let path = folder.path().join(name);
        let batches: Vec<RecordBatch> = (0..9).map(|at| numbered(at * 500, 500)).collect();
        write_table(&path, &batches);
        let sizes = TextSizes::tiny(4096, 50);
        let options = ReadOptions::default();
        let source = FileSource::open_sized(&path, None, &options, Arc::default(), sizes).unwrap();
        assert_eq!(read_changing(&source, || ()).unwrap(), 4_500, "{name}");
        assert_refused(read_changing(&source, || touch(&path)), name);
    }
}

#[test]
fn a_text_that_is_cut_at_the_end_of_a_line_while_it_is_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["t.csv", "t.jsonl"] {
        let path = folder.path().join(name);
        // Longer than what is read of it before the first row is handed on.
        write_table(&path, &[numbered(0, 400_000)]);
        let source = FileSource::open_sized(
            &path,
            None,
            &ReadOptions::default(),
            Arc::default(),
            TextSizes::tiny(4096, 50),
        );
        assert_refused(read_changing(&source.unwrap(), || cut(&path)), name);
    }
}

#[test]
fn a_file_of_a_folder_that_changes_before_or_while_it_is_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ["csv", "parquet"] {
        let paths: Vec<PathBuf> =
            (0..20).map(|at| folder.path().join(format!("{at:02}.{ending}"))).collect();
        for changed in [0, 19] {
            for path in &paths {
                write_table(path, &[numbered(0, 3_000)]);
            }
            let sizes = TextSizes::tiny(4096, 50);
            let options = ReadOptions::default();
            let source = FilesSource::open_sized(paths.clone(), None, &options, sizes).unwrap();
            let outcome = read_changing(&source, || touch(&paths[changed]));
            assert_refused(outcome, &format!("{changed:02}.{ending}"));
        }
    }
}

#[test]
fn what_nobody_else_can_write_to_is_not_asked_about_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    write_table(&path, &[numbered(0, 50)]);
    let bytes = std::fs::read(&path).unwrap();
    let source = StreamSource::put_aside(
        Box::new(std::io::Cursor::new(bytes)),
        "standard input",
        folder.path(),
        crate::format::Format::Parquet,
        &ReadOptions::default(),
    );
    assert_eq!(read_changing(&source.unwrap(), || touch(&path)).unwrap(), 50);
}
