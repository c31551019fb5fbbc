//! What rows take that are kept.

use albers_table::chunk::ColumnChunk;
use albers_table::source::SourceChunk;
use arrow_array::{Array as _, ArrayRef};

/// What a coded cell takes while a table in memory is partitioned and written.
const CELL_BYTES: usize = 11;

/// How often a text that is coded is in memory: in its chunk, among all values, and in their order.
const TEXT_COPIES: usize = 3;

/// What a value takes besides where all values of a column are kept, as if no two were the same.
const WIDE_BYTES: usize = 40;

/// What a cell that leaves as it came takes while findings are looked for.
const HASH_BYTES: usize = 8;

/// What a chunk takes while its table is in memory.
pub(crate) fn kept_bytes(chunk: &SourceChunk) -> usize {
    let carried: usize = chunk.carried.iter().map(array_bytes).sum();
    cells_bytes(&chunk.coded) + chunk.n_rows * chunk.carried.len() * HASH_BYTES + carried
}

/// What coded columns take while their table is in memory.
pub(crate) fn cells_bytes(columns: &[ColumnChunk]) -> usize {
    let of_column = |column: &ColumnChunk| {
        let cell_bytes = CELL_BYTES + if column.is_wide() { WIDE_BYTES } else { 0 };
        column.n_rows() * cell_bytes + column.text_bytes() * TEXT_COPIES
    };
    columns.iter().map(of_column).sum()
}

/// What an array takes. A slice of a large batch says the size of the whole, which would count for
/// every slice.
pub(crate) fn array_bytes(array: &ArrayRef) -> usize {
    const MOST_SLACK: usize = 4;
    let whole = array.get_array_memory_size();
    let slice = array.to_data().get_slice_memory_size().unwrap_or(whole);
    if whole > MOST_SLACK * slice.max(64) { slice } else { whole }
}
