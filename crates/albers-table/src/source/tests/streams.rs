//! Tables that come from a stream.

use std::io::{Cursor, Read};

use super::*;
use crate::format::Format;

/// Gives few bytes at a time, as a pipe may.
struct Trickle(Cursor<Vec<u8>>);

impl Read for Trickle {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let n_bytes = bytes.len().min(3);
        self.0.read(&mut bytes[..n_bytes])
    }
}

fn trickle(bytes: Vec<u8>) -> Box<dyn Read + Send> {
    Box::new(Trickle(Cursor::new(bytes)))
}

fn bytes_of(name: &str, n_rows: i64) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    write_table(&path, &[numbered(0, n_rows)]);
    std::fs::read(path).unwrap()
}

#[test]
fn a_text_is_read_once_whatever_its_packing() {
    for name in ["t.csv", "t.csv.gz", "t.csv.zst"] {
        let bytes = bytes_of(name, 5_000);
        let n_bytes = bytes.len() as u64;
        let options = ReadOptions::default();
        let source = StreamSource::text(trickle(bytes), "standard input", None, &options).unwrap();
        assert_eq!((source.stamp(), source.delimiter()), (None, Some(b',')));
        let chunks = chunks_of(&source).unwrap();
        assert_eq!(numbers_of(chunks, 0), (0..5_000).collect::<Vec<i64>>(), "{name}");
        assert_eq!(source.read_bytes(), n_bytes);
        assert!(matches!(chunks_of(&source), Err(TableError::ReadTwice { .. })));
    }
}

#[test]
fn parquet_is_put_aside_and_read_as_often_as_needed() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = bytes_of("t.parquet", 5_000);
    let options = ReadOptions::default();
    let source =
        StreamSource::parquet(trickle(bytes), "standard input", folder.path(), &options).unwrap();
    assert_eq!((source.stamp(), source.n_rows()), (Some(Stamp::Fixed), Some(5_000)));
    for _ in 0..2 {
        let chunks = chunks_of(&source).unwrap();
        assert_eq!(numbers_of(chunks, 0), (0..5_000).collect::<Vec<i64>>());
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it has no name");
}

#[test]
fn errors_name_the_stream_and_parquet_is_not_taken_for_text() {
    let options = ReadOptions::default();
    let text = |bytes: &[u8], format| {
        StreamSource::text(trickle(bytes.to_vec()), "standard input", format, &options)
    };
    let error = text(b"", None).err().unwrap().to_string();
    assert!(error.starts_with("standard input: "), "{error}");
    let error = text(&bytes_of("t.parquet", 5), None).err().unwrap().to_string();
    assert!(error.contains("this is Parquet"), "{error}");
    let source = text(b"a\tb;c\n1\t2\n3\n", Some(Format::Tsv)).unwrap();
    let error = chunks_of(&source).err().unwrap().to_string();
    assert!(error.starts_with("standard input, line 3: "), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let broken = StreamSource::parquet(trickle(b"PAR1".to_vec()), "it", folder.path(), &options);
    assert!(broken.err().unwrap().to_string().starts_with("it: "));
}

#[test]
fn a_cut_off_stream_is_an_error() {
    let mut bytes = bytes_of("t.csv.gz", 5_000);
    bytes.truncate(bytes.len() / 2);
    let options = ReadOptions::default();
    let outcome = StreamSource::text(trickle(bytes), "standard input", None, &options)
        .and_then(|source| chunks_of(&source));
    assert!(outcome.err().unwrap().to_string().contains("standard input"));
}
