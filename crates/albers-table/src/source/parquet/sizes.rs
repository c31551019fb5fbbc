//! What a row group takes while it is read: its pages, and the cells that they become.
//!
//! A cell that stands in a dictionary once may be that of every row, and one that is told by what it
//! shares with the cell before it may be as long as all of its page, so that a file of some KB can
//! hold cells of many GB. What any other page becomes is told by its header alone.
//!
//! Cost: a look at the header of every page, and at each dictionary that holds texts; texts that
//! share beginnings are decoded once more where their pages alone do not tell that they are short,
//! and pages whose decoders do not end where they should are unpacked once more.

mod delta;
mod unpacked;

use std::sync::Arc;

use albers_storage::decoding::guarded;
use parquet::basic::Type as PhysicalType;
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;
use rayon::prelude::*;

use self::delta::longest_shared;
use super::Chunks;
use super::header::PageHeader;

/// What the columns of a row group take together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct GroupSizes {
    /// A page of each column, packed and unpacked, and its dictionary.
    pub(super) page_bytes: u64,
    /// The cells of a row, by the longest text of each dictionary; those that are in none by the
    /// densest page.
    pub(super) row_bytes: u64,
}

/// The pages of a column in a row group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ColumnPages {
    /// The largest, unpacked and packed.
    largest_bytes: u64,
    largest_packed_bytes: u64,
    /// The dictionary, unpacked.
    dictionary_bytes: u64,
    /// A cell of the page that has most bytes for each of its cells.
    densest_bytes: u64,
    /// The largest page whose texts are told by what they share with those before them.
    shared_bytes: u64,
}

impl ColumnPages {
    fn add(&mut self, header: &PageHeader) {
        let largest = |own: &mut u64, n_bytes: u64| *own = n_bytes.max(*own);
        largest(&mut self.largest_packed_bytes, header.packed_bytes);
        if header.is_dictionary {
            return largest(&mut self.dictionary_bytes, header.page_bytes);
        }
        largest(&mut self.largest_bytes, header.page_bytes);
        largest(&mut self.densest_bytes, header.page_bytes.div_ceil(header.n_cells.max(1)));
        if header.shares {
            largest(&mut self.shared_bytes, header.page_bytes);
        }
    }

    /// What is in memory of them at a time.
    fn held_bytes(&self) -> u64 {
        let pages = self.largest_bytes.saturating_add(self.largest_packed_bytes);
        pages.saturating_add(self.dictionary_bytes.saturating_mul(2))
    }
}

/// What some columns of a row group take; nothing if it cannot be told, since the file is damaged.
/// Pages that take more than `most_bytes` are not looked into.
pub(super) fn sizes_of(
    chunks: &Arc<Chunks>,
    group: &RowGroupMetaData,
    places: &[usize],
    most_bytes: u64,
) -> Option<GroupSizes> {
    let schema = group.schema_descr();
    let columns = group.columns().iter().enumerate();
    let columns: Vec<&ColumnChunkMetaData> = columns
        .filter(|(leaf, _)| places.contains(&schema.get_column_root_idx(*leaf)))
        .map(|(_, column)| column)
        .collect();
    // Others of these threads have no guard of their own.
    let pages: Option<Vec<ColumnPages>> = columns
        .par_iter()
        .map(|column| guarded(|| pages_of(chunks, column, most_bytes)).ok().flatten())
        .collect();
    let mut sizes = GroupSizes::default();
    for (column, pages) in columns.into_iter().zip(pages?) {
        sizes.page_bytes = sizes.page_bytes.saturating_add(pages.held_bytes());
        let is_small = sizes.page_bytes <= most_bytes;
        let row_bytes = row_bytes(chunks, group, column, &pages, is_small)?;
        sizes.row_bytes = sizes.row_bytes.saturating_add(row_bytes);
    }
    Some(sizes)
}

/// What the cells of a column take in a row; its texts are looked into if its pages are small.
fn row_bytes(
    chunks: &Arc<Chunks>,
    group: &RowGroupMetaData,
    column: &ColumnChunkMetaData,
    pages: &ColumnPages,
    is_small: bool,
) -> Option<u64> {
    let n_rows = u64::try_from(group.num_rows()).ok()?.max(1);
    let n_cells = u64::try_from(column.num_values()).ok()?.max(n_rows);
    let told = column.unencoded_byte_array_data_bytes().unwrap_or(0).max(0) as u64;
    let by_mean = u64::try_from(column.uncompressed_size()).ok()?.max(told) / n_rows;
    let in_dictionary = match is_small {
        true => longest_cell(chunks, column, pages.dictionary_bytes)?,
        false => pages.dictionary_bytes,
    };
    let is_text = column.column_type() == PhysicalType::BYTE_ARRAY;
    let shared = match pages.shared_bytes {
        n_bytes if is_text && is_small => longest_shared(chunks, column, n_bytes)?,
        n_bytes if is_text => n_bytes,
        _ => 0,
    };
    let longest = in_dictionary.max(shared).max(pages.densest_bytes).max(8);
    Some(by_mean.max(n_cells.div_ceil(n_rows).saturating_mul(longest)))
}

/// The longest cell that a dictionary holds.
fn longest_cell(
    chunks: &Arc<Chunks>,
    column: &ColumnChunkMetaData,
    dictionary_bytes: u64,
) -> Option<u64> {
    const SHORT_BYTES: u64 = 32;
    match column.column_type() {
        PhysicalType::BYTE_ARRAY if dictionary_bytes > SHORT_BYTES => {}
        PhysicalType::BYTE_ARRAY => return Some(SHORT_BYTES),
        PhysicalType::FIXED_LEN_BYTE_ARRAY => {
            return u64::try_from(column.column_descr().type_length()).ok();
        }
        _ => return Some(size_of::<u64>() as u64),
    }
    let n_rows = usize::try_from(column.num_values()).ok()?;
    let mut pages = SerializedPageReader::new(chunks.clone(), column, n_rows, None).ok()?;
    let Ok(Some(Page::DictionaryPage { buf, .. })) = pages.get_next_page() else {
        return Some(SHORT_BYTES);
    };
    // Each cell has its length before it.
    let (mut rest, mut longest) = (buf.as_ref(), SHORT_BYTES);
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length);
        longest = longest.max(u64::from(length));
        rest = behind.get(length as usize..)?;
    }
    Some(longest)
}

/// Walks the headers of a column's pages, from where its reader will begin, and refuses pages that
/// unpack to more than they announce. Those that announce more than `most_bytes` are not unpacked at
/// all.
fn pages_of(chunks: &Chunks, column: &ColumnChunkMetaData, most_bytes: u64) -> Option<ColumnPages> {
    // A damaged footer may have places that no file has.
    let offset = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let start = u64::try_from(offset).ok()?;
    let end = start.checked_add(u64::try_from(column.compressed_size()).ok()?)?;
    let (mut at, mut pages) = (start, ColumnPages::default());
    let is_without_end = unpacked::is_without_end(column.compression());
    while at < end {
        let header = PageHeader::read(chunks.get_read(at).ok()?)?;
        let page = at.checked_add(header.n_bytes)?;
        at = page.checked_add(header.packed_bytes)?;
        pages.add(&header);
        if is_without_end && header.page_bytes <= most_bytes {
            unpacked::check(chunks, column.compression(), &header, page)?;
        }
    }
    Some(pages)
}
