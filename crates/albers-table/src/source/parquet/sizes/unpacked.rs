//! Whether pages unpack to no more than they announce.
//!
//! What a page announces decides whether it may be read at all, and some decoders unpack all there
//! is, whatever was announced: a page that says 9 bytes may take all memory there is. So pages of
//! these codecs are unpacked into nothing before, until they are at their end or beyond what they
//! announce.
//!
//! ```text
//!   gzip        unpacked once more, in pieces
//!   LZ4         frames, as old writers made them, are counted; all else has a decoder with an end
//!   all others  have decoders with an end, but for brotli, whose pages are believed
//! ```
//!
//! Cost: each page of gzip is unpacked twice; no more memory than a piece.

use std::io::{BufRead, Read};

use albers_storage::input::{self, Packing};
use parquet::basic::Compression;
use parquet::file::reader::ChunkReader;

use super::super::Chunks;
use super::super::header::PageHeader;

/// The first bytes of LZ4 frames, and of those that were made before there was a format.
const FRAME_MAGIC: u32 = 0x184d_2204;
const LEGACY_MAGIC: u32 = 0x184c_2102;

/// Whether the decoder of some pages goes on beyond what they announce.
pub(super) fn is_without_end(codec: Compression) -> bool {
    matches!(codec, Compression::GZIP(_) | Compression::LZ4)
}

/// Nothing if the page behind a header, whose first byte stands at `at`, unpacks to more than it
/// announces.
pub(super) fn check(
    chunks: &Chunks,
    codec: Compression,
    header: &PageHeader,
    at: u64,
) -> Option<()> {
    // In front of what is packed there may be bytes that are not.
    let packed_bytes = header.packed_bytes.checked_sub(header.plain_bytes)?;
    let most_bytes = header.page_bytes.checked_sub(header.plain_bytes)?;
    if most_bytes == 0 || !header.is_packed {
        return Some(());
    }
    let mut page = chunks.get_read(at.checked_add(header.plain_bytes)?).ok()?.take(packed_bytes);
    let n_bytes = match codec {
        Compression::GZIP(_) => gzip_bytes(page, most_bytes)?,
        Compression::LZ4 => frame_bytes(&mut page, most_bytes)?,
        _ => return Some(()),
    };
    (n_bytes <= most_bytes).then_some(())
}

/// How many bytes a page of gzip unpacks to, counted no further than beyond `most_bytes`.
fn gzip_bytes(page: impl BufRead + Send + 'static, most_bytes: u64) -> Option<u64> {
    let mut unpacked = input::unpacked(page, Packing::Gzip, None).ok()?;
    let mut piece = vec![0; 1 << 15];
    let mut n_bytes = 0;
    while n_bytes <= most_bytes {
        match unpacked.read(&mut piece) {
            Ok(0) => break,
            Ok(n_read) => n_bytes += n_read as u64,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    Some(n_bytes)
}

/// How many bytes the blocks of a frame of LZ4 unpack to, counted no further than beyond
/// `most_bytes`; none if it is no frame.
fn frame_bytes(page: &mut impl BufRead, most_bytes: u64) -> Option<u64> {
    const SIZE_FLAG: u8 = 0x08;
    const DICTIONARY_FLAG: u8 = 0x01;
    const BLOCK_CHECKSUM_FLAG: u8 = 0x10;
    let Some(magic) = number(page) else { return Some(0) };
    let flags = match magic {
        FRAME_MAGIC => {
            let [flags, _] = bytes(page)?;
            // The sizes that it may announce are not believed either.
            let size = if flags & SIZE_FLAG > 0 { 8 } else { 0 };
            let dictionary = if flags & DICTIONARY_FLAG > 0 { 4 } else { 0 };
            skip(page, size + dictionary + 1)?;
            flags
        }
        LEGACY_MAGIC => 0,
        _ => return Some(0),
    };
    let mut n_bytes = 0;
    // A frame may end where its bytes do.
    while n_bytes <= most_bytes
        && let Some(size) = number(page).filter(|&size| size > 0)
    {
        const IS_PLAIN: u32 = 1 << 31;
        let block_bytes = u64::from(size & !IS_PLAIN);
        n_bytes += match size & IS_PLAIN > 0 {
            true => skip(page, block_bytes).map(|()| block_bytes)?,
            false => block_bytes_of(&mut page.take(block_bytes), most_bytes)?,
        };
        if flags & BLOCK_CHECKSUM_FLAG > 0 {
            skip(page, 4)?;
        }
    }
    Some(n_bytes)
}

/// How many bytes a block of LZ4 unpacks to: stretches that stand there as they are, each but the
/// last followed by one that is copied from before it.
fn block_bytes_of(block: &mut impl BufRead, most_bytes: u64) -> Option<u64> {
    const SHORTEST_COPY: u64 = 4;
    let mut n_bytes = 0;
    while n_bytes <= most_bytes
        && let Some([token]) = bytes(block)
    {
        let n_plain = length(block, token >> 4)?;
        skip(block, n_plain)?;
        n_bytes += n_plain;
        if block.fill_buf().ok()?.is_empty() {
            break;
        }
        skip(block, 2)?;
        n_bytes += length(block, token & 0x0f)? + SHORTEST_COPY;
    }
    Some(n_bytes)
}

/// A length that half a byte begins, and more bytes go on with if it is full.
fn length(block: &mut impl BufRead, half: u8) -> Option<u64> {
    let mut length = u64::from(half);
    if half == 0x0f {
        loop {
            let [more] = bytes(block)?;
            length += u64::from(more);
            if more < u8::MAX {
                break;
            }
        }
    }
    Some(length)
}

fn bytes<const N: usize>(input: &mut impl Read) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

fn number(input: &mut impl Read) -> Option<u32> {
    bytes(input).map(u32::from_le_bytes)
}

fn skip(input: &mut impl Read, n_bytes: u64) -> Option<()> {
    let n_skipped = std::io::copy(&mut input.take(n_bytes), &mut std::io::sink());
    (n_skipped.ok()? == n_bytes).then_some(())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    use parquet::arrow::ArrowWriter;
    use parquet::basic::GzipLevel;
    use parquet::file::properties::{WriterProperties, WriterVersion};

    use super::super::super::{ParquetTable, ReadOptions};
    use super::*;

    /// A file whose texts are not in a dictionary, as they are written with this codec.
    fn file_of(codec: Compression, version: WriterVersion) -> Vec<u8> {
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_writer_version(version)
            .set_compression(codec)
            .build();
        let ages: ArrayRef = Arc::new(Int64Array::from_iter((0..900).map(|n| n % 7)));
        let texts = (0..900).map(|n| (n % 5 > 0).then(|| format!("{n}{}", "z".repeat(300))));
        let texts: ArrayRef = Arc::new(StringArray::from_iter(texts));
        let batch = RecordBatch::try_from_iter([("age", ages), ("text", texts)]).unwrap();
        let properties = Some(properties);
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), properties).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    }

    fn table_of(bytes: &[u8]) -> ParquetTable {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let file = Arc::new(input::open(file.path()).unwrap());
        ParquetTable::open("t.parquet", (file, None), &ReadOptions::default()).unwrap()
    }

    /// The file, whose first page of texts says that it unpacks to so many bytes.
    fn lying(mut bytes: Vec<u8>, page_bytes: u32) -> Vec<u8> {
        let table = table_of(&bytes);
        let column = table.metadata.metadata().row_group(0).column(1);
        let at = column.data_page_offset() as usize;
        assert_eq!((bytes[at], bytes[at + 2]), (0x15, 0x15), "a type, and a size");
        let end = at + 3 + bytes[at + 3..].iter().take_while(|&&byte| byte > 0x7f).count();
        for (place, byte) in bytes[at + 3..=end].iter_mut().enumerate() {
            let more = if at + 3 + place < end { 0x80 } else { 0 };
            *byte = ((2 * page_bytes) >> (7 * place)) as u8 & 0x7f | more;
        }
        bytes
    }

    #[test]
    fn a_page_of_gzip_that_unpacks_to_more_than_it_says_is_refused_before_it_is_read() {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let bytes = file_of(Compression::GZIP(GzipLevel::default()), version);
            let sizes = |bytes: &[u8]| table_of(bytes).sizes(0, &[0, 1], u64::MAX);
            assert!(sizes(&bytes).unwrap().page_bytes > 200_000);
            let message = sizes(&lying(bytes.clone(), 4_000)).unwrap_err().to_string();
            assert!(message.contains("is damaged or cut off"), "{message}");
            // What says that it is too large is refused for that, and not unpacked.
            let most = table_of(&lying(bytes, 900_000)).sizes(0, &[0, 1], 1).unwrap();
            assert!(most.page_bytes >= 900_000);
        }
    }

    #[test]
    fn pages_of_other_codecs_are_not_unpacked_to_be_counted() {
        for codec in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::LZ4_RAW] {
            assert!(!is_without_end(codec));
        }
        let bytes = file_of(Compression::LZ4, WriterVersion::PARQUET_1_0);
        assert!(table_of(&bytes).sizes(0, &[0, 1], u64::MAX).is_ok());
    }

    #[test]
    fn nothing_is_unpacked_beyond_what_a_page_says() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::copy(&mut std::io::repeat(0).take(5 << 20), &mut packed).unwrap();
        let packed = packed.finish().unwrap();
        let count = |most| gzip_bytes(Cursor::new(packed.clone()), most);
        assert_eq!(count(5 << 20), Some(5 << 20));
        assert!(count(9).is_some_and(|n_bytes| (10..100_000).contains(&n_bytes)));
        assert_eq!(gzip_bytes(Cursor::new(packed[..99].to_vec()), u64::MAX), None);
    }

    /// A frame with one block in which a letter is copied again and again, and one that is plain.
    fn frame(n_full: usize) -> Vec<u8> {
        let mut block = vec![0x1f, b'a', 1, 0];
        block.extend(std::iter::repeat_n(0xff, n_full));
        block.extend([7, 0x50]);
        block.extend(b"hello");
        let mut frame = FRAME_MAGIC.to_le_bytes().to_vec();
        frame.extend([0x78, 0x40]);
        frame.extend([0; 9]);
        frame.extend((block.len() as u32).to_le_bytes());
        frame.extend(&block);
        frame.extend([0; 4]);
        frame.extend((3 | 1u32 << 31).to_le_bytes());
        frame.extend(b"abc");
        frame.extend([0; 8]);
        frame
    }

    #[test]
    fn what_frames_of_lz4_unpack_to_is_counted_without_unpacking_them() {
        let count = |bytes: &[u8], most| frame_bytes(&mut Cursor::new(bytes), most);
        let n_bytes = 1 + 4 + 15 + 255 * 1_000 + 7 + 5 + 3;
        assert_eq!(count(&frame(1_000), u64::MAX), Some(n_bytes));
        assert!(count(&frame(1_000), 9).unwrap() > 9);
        assert_eq!(count(&frame(1_000)[..60], u64::MAX), None, "it is cut off");
        for other in [&b""[..], b"abc", b"\0\0\0\x05\0\0\0\x06Phello"] {
            assert_eq!(count(other, 1), Some(0), "it is no frame");
        }
    }
}
