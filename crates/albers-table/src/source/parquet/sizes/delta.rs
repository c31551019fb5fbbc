//! Texts that are told by what they share with those before them.

use std::sync::Arc;

use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::ByteArrayType;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;

use super::super::{Chunks, LANE_ROWS};

/// What some of them may take while they are looked at.
const PIECE_BYTES: u64 = 4 << 20;

/// The longest text of a column whose largest page has so many bytes: none is longer than its page.
pub(super) fn longest_shared(
    chunks: &Arc<Chunks>,
    column: &ColumnChunkMetaData,
    largest_bytes: u64,
) -> Option<u64> {
    // Pages of a few bytes tell enough.
    const SMALL_BYTES: u64 = 64;
    if largest_bytes <= SMALL_BYTES {
        return Some(largest_bytes);
    }
    let n_cells = usize::try_from(column.num_values()).ok()?;
    let pages = SerializedPageReader::new(chunks.clone(), column, n_cells, None).ok()?;
    let mut reader =
        ColumnReaderImpl::<ByteArrayType>::new(column.column_descr_ptr(), Box::new(pages));
    // As few as fit however long they are.
    let n_at_once = (PIECE_BYTES / largest_bytes).clamp(1, LANE_ROWS as u64) as usize;
    let (mut values, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
    let mut longest = 0;
    loop {
        values.clear();
        defined.clear();
        repeated.clear();
        let read =
            reader.read_records(n_at_once, Some(&mut defined), Some(&mut repeated), &mut values);
        if read.ok()?.0 == 0 {
            return Some(longest);
        }
        longest = values.iter().map(|value| value.len() as u64).fold(longest, u64::max);
    }
}
