//! Damaged files are refused or read, and never panic; no message shows a value.

use std::io::Write as _;

use ::parquet::basic::{Encoding, ZstdLevel};
use ::parquet::file::properties::WriterVersion;
use ::parquet::file::reader::{FileReader as _, SerializedFileReader};
use albers_storage::input::Packing;
use bytes::Bytes;

use super::*;

const MASKS: [u8; 4] = [0x01, 0x10, 0x80, 0xff];
const SECRET: &str = "Vermilion";

/// Every way of writing that decodes by other code.
fn properties() -> Vec<WriterProperties> {
    let dictionary = WriterProperties::builder();
    let plain = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_compression(Compression::ZSTD(ZstdLevel::default()));
    let snappy = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let delta = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_column_encoding("age".into(), Encoding::DELTA_BINARY_PACKED)
        .set_column_encoding("town".into(), Encoding::DELTA_BYTE_ARRAY)
        .set_compression(Compression::LZ4_RAW);
    [dictionary, plain, snappy, delta]
        .map(|own| own.set_max_row_group_row_count(Some(12)).build())
        .into()
}

fn parquet_bytes(properties: WriterProperties) -> Vec<u8> {
    let age: ArrayRef = Arc::new(Int64Array::from_iter((0..30).map(|n| (n % 7 > 0).then_some(n))));
    let towns = (0..30).map(|n| Some(format!("{SECRET} {}", n % 4)));
    let town: ArrayRef = Arc::new(StringArray::from_iter(towns));
    let batch = RecordBatch::try_from_iter([("age", age), ("town", town)]).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// Reads a file to its end; says how many rows it had.
fn read(path: &Path) -> Result<usize> {
    let options = ReadOptions { limit_bytes: Some(64 << 20), ..ReadOptions::default() };
    let source = FileSource::open(path, None, &options)?;
    Ok(chunks_of(&source)?.iter().map(|chunk| chunk.n_rows).sum())
}

/// Flips bits of every byte in turn, and cuts the file off there; counts what was refused.
fn refused(name: &str, bytes: &[u8]) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let mut n_refused = 0;
    let mut check = |bytes: &[u8], what: String| {
        std::fs::write(&path, bytes).unwrap();
        if let Err(error) = read(&path) {
            let message = error.to_string();
            assert!(!message.contains(SECRET), "{name}, {what} shows a value");
            n_refused += 1;
        }
    };
    check(bytes, "as it is".to_owned());
    for at in 0..bytes.len() {
        for mask in MASKS {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= mask;
            check(&damaged, format!("byte {at} changed by {mask:#x}"));
        }
        check(&bytes[..at], format!("cut off at {at}"));
    }
    n_refused
}

#[test]
fn a_parquet_file_with_any_byte_changed_is_refused_or_read_and_never_panics() {
    for properties in properties() {
        let bytes = parquet_bytes(properties);
        let n_refused = refused("t.parquet", &bytes);
        assert!(n_refused > bytes.len(), "every file that is cut off is refused");
    }
}

#[test]
fn packed_text_with_any_byte_changed_is_refused_or_read_and_never_panics() {
    let text: String = (0..30).map(|n| format!("{n},{SECRET} {}\n", n % 4)).collect();
    let text = format!("age,town\n{text}");
    let mut gzip = flate2_bytes(text.as_bytes());
    let objects: String =
        (0..9).map(|n| format!("{{\"age\":{n},\"town\":\"{SECRET}\"}}\n")).collect();
    let packed = zstd_bytes(text.as_bytes());
    assert_eq!(Packing::of_content(&packed), Packing::Zstd);
    assert!(refused("t.csv.gz", &gzip) > gzip.len());
    assert!(refused("t.csv.zst", &packed) > packed.len() / 2);
    refused("t.csv", text.as_bytes());
    refused("t.jsonl", objects.as_bytes());
    gzip.extend(b"more");
    assert!(refused("t.csv.gz", &gzip) > gzip.len());
}

fn flate2_bytes(text: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(text).unwrap();
    packed.finish().unwrap()
}

fn zstd_bytes(text: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(text, 3).unwrap()
}

#[test]
fn a_failed_lane_is_not_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let mut bytes = parquet_bytes(properties().remove(1));
    // The end of the texts of the second row group: all headers are as they were.
    let metadata = SerializedFileReader::new(Bytes::from(bytes.clone())).unwrap();
    let column = metadata.metadata().row_group(1).column(1).byte_range();
    let end = (column.0 + column.1) as usize;
    bytes[end - 12..end].fill(0xff);
    std::fs::write(&path, &bytes).unwrap();
    let source = FileSource::open(&path, None, &ReadOptions::default()).unwrap();
    let requests = requests_of(&source, None);
    let types = source.types(&requests).unwrap();
    let mut scan = source.scan(&requests, &types).unwrap();
    let round = scan.next_round().unwrap();
    assert_eq!(round.len(), 1, "the lane was open, and what is before it is handed on");
    let read_bytes = source.read_bytes();
    assert!(scan.next_round().is_err());
    assert!(scan.next_round().unwrap().is_empty());
    assert_eq!(source.read_bytes(), read_bytes, "nothing more is read");
}

#[test]
fn a_page_whose_checksum_is_not_that_of_its_bytes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    // Written by pyarrow with `write_page_checksum=True`, plain and not packed: what is changed in it
    // is as good a text as before.
    let bytes = include_bytes!("page_checksums.parquet");
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(read(&path).unwrap(), 20);
    let texts: Vec<usize> =
        memchr::memmem::find_iter(bytes, SECRET).map(|at| at + SECRET.len() - 1).collect();
    assert_eq!(texts.len(), 20);
    for at in texts {
        let mut changed = *bytes;
        changed[at] = b'm';
        std::fs::write(&path, changed).unwrap();
        let message = read(&path).unwrap_err().to_string();
        assert!(message.contains("is damaged or cut off"), "{message}");
        assert!(!message.contains("Vermilio"), "{message}");
    }
}

#[test]
fn keys_that_are_longer_than_a_row_may_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    let key = |n: usize| format!("{{\"{n}{}\": 1}}\n", "a".repeat(1 << 20));
    let options = ReadOptions { limit_bytes: Some(32 << 20), ..ReadOptions::default() };
    let open = |n_keys| {
        std::fs::write(&path, (0..n_keys).map(key).collect::<String>()).unwrap();
        FileSource::open(&path, None, &options).map(|source| source.columns().len())
    };
    assert_eq!(open(3).unwrap(), 3);
    let message = open(4).unwrap_err().to_string();
    assert!(message.contains("line 4") && message.contains("the keys of all lines"), "{message}");
}
