//! Rows as bytes: what travels through buffers and spill files.
//!
//! ```text
//!   row     | code | code | ... | fact | ... | row number |     fixed width, each as narrow as it can be
//!   block   | n_rows | n_payload_bytes | rows | length of each payload | payloads |
//! ```
//!
//! The codes of the quasi-identifiers come first, then facts: what the requirement and the measures
//! look at (subject, sensitive codes). The row number stands last, so that four bytes can be read
//! or written at the start of any field. The payload of a row is the cells that leave as they came.

use albers_privacy::Facts;
use albers_table::row::{RowId, RowIdx};

use crate::targets::TargetCodes;

/// Where the fields of a row stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowLayout {
    n_attributes: usize,
    fields: Vec<Field>,
    stride: usize,
    has_payload: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field {
    offset: usize,
    /// The bits of the four bytes from the offset on that are the field's own.
    mask: u32,
}

const ROW_ID_BYTES: usize = 4;

impl RowLayout {
    /// A layout for attributes and facts with these greatest codes.
    pub fn new(attributes: &[u32], facts: &[u32], has_payload: bool) -> RowLayout {
        let mut offset = 0;
        let fields = attributes
            .iter()
            .chain(facts)
            .map(|&greatest| {
                let width = (u32::BITS - greatest.leading_zeros()).div_ceil(8).max(1);
                let field = Field { offset, mask: u32::MAX >> (u32::BITS - 8 * width) };
                offset += width as usize;
                field
            })
            .collect();
        let stride = offset + ROW_ID_BYTES;
        RowLayout { n_attributes: attributes.len(), fields, stride, has_payload }
    }

    /// Number of attributes.
    pub fn n_attributes(&self) -> usize {
        self.n_attributes
    }

    /// Number of facts.
    pub fn n_facts(&self) -> usize {
        self.fields.len() - self.n_attributes
    }

    /// Bytes of a row without its payload.
    pub fn stride_bytes(&self) -> usize {
        self.stride
    }

    /// The same fields, with a payload or without.
    pub fn with_payload(&self, has_payload: bool) -> RowLayout {
        RowLayout { has_payload, ..self.clone() }
    }

    /// Whether rows have a payload.
    pub fn has_payload(&self) -> bool {
        self.has_payload
    }

    /// Writes a row at the end of `out`; `values` are the codes and the facts.
    #[inline]
    fn push(&self, row_id: RowId, values: impl Iterator<Item = u32>, out: &mut Vec<u8>) {
        let number = u32::try_from(row_id.get()).expect("packed rows have numbers of 32 bits");
        let start = out.len();
        out.resize(start + self.stride, 0);
        let row = &mut out[start..];
        // What a value writes beyond its field is overwritten by the next.
        for (field, value) in self.fields.iter().zip(values) {
            row[field.offset..field.offset + 4].copy_from_slice(&value.to_le_bytes());
        }
        row[self.stride - ROW_ID_BYTES..].copy_from_slice(&number.to_le_bytes());
    }

    #[inline]
    fn read(&self, field_idx: usize, row: &[u8]) -> u32 {
        let Field { offset, mask } = self.fields[field_idx];
        word_at(row, offset) & mask
    }
}

#[inline]
fn word_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Rows side by side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowBlock {
    n_rows: usize,
    fixed: Vec<u8>,
    /// Where each row's payload ends; empty when rows have none.
    payload_ends: Vec<usize>,
    payload: Vec<u8>,
}

impl RowBlock {
    /// An empty block with room for some rows.
    pub fn with_capacity(layout: &RowLayout, n_rows: usize) -> RowBlock {
        RowBlock { fixed: Vec::with_capacity(n_rows * layout.stride), ..RowBlock::default() }
    }

    /// An empty block with room for some rows and for what they carry, and no more.
    pub fn with_room(layout: &RowLayout, n_rows: usize, n_payload_bytes: usize) -> RowBlock {
        let n_payloads = if layout.has_payload { n_rows } else { 0 };
        RowBlock {
            payload_ends: Vec::with_capacity(n_payloads),
            payload: Vec::with_capacity(n_payload_bytes),
            ..RowBlock::with_capacity(layout, n_rows)
        }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Bytes held.
    pub fn n_bytes(&self) -> usize {
        self.fixed.len() + self.payload.len() + self.payload_ends.len() * size_of::<usize>()
    }

    /// Adds a row; `values` are its codes and its facts.
    #[inline]
    pub fn push(
        &mut self,
        layout: &RowLayout,
        row_id: RowId,
        values: impl Iterator<Item = u32>,
        payload: &[u8],
    ) {
        layout.push(row_id, values, &mut self.fixed);
        if layout.has_payload {
            self.payload.extend_from_slice(payload);
            self.payload_ends.push(self.payload.len());
        }
        self.n_rows += 1;
    }

    /// Adds some neighbouring rows of another block.
    pub fn extend(&mut self, layout: &RowLayout, other: &RowBlock, rows: std::ops::Range<usize>) {
        let fixed = rows.start * layout.stride..rows.end * layout.stride;
        self.fixed.extend_from_slice(&other.fixed[fixed]);
        self.n_rows += rows.len();
        if layout.has_payload && !rows.is_empty() {
            let start = other.payload_start(rows.start);
            let shift = self.payload.len();
            self.payload_ends
                .extend(other.payload_ends[rows.clone()].iter().map(|end| end - start + shift));
            let end = other.payload_ends[rows.end - 1];
            self.payload.extend_from_slice(&other.payload[start..end]);
        }
    }

    /// Adds one row of another block.
    #[inline]
    pub fn extend_row(&mut self, layout: &RowLayout, other: &RowBlock, row: usize) {
        if layout.has_payload {
            return self.extend(layout, other, row..row + 1);
        }
        self.fixed.extend_from_slice(&other.fixed[row * layout.stride..(row + 1) * layout.stride]);
        self.n_rows += 1;
    }

    /// Forgets all rows and keeps the room.
    pub fn clear(&mut self) {
        self.n_rows = 0;
        self.fixed.clear();
        self.payload.clear();
        self.payload_ends.clear();
    }

    /// Forgets all rows, and keeps the room if it has no more than so many bytes: one long row must not
    /// take memory for as long as there are rows.
    pub fn clear_within(&mut self, n_bytes: usize) {
        let ends = self.payload_ends.capacity() * size_of::<usize>();
        match self.fixed.capacity() + self.payload.capacity() + ends <= n_bytes {
            true => self.clear(),
            false => *self = RowBlock::default(),
        }
    }

    /// The number of a row in its table.
    #[inline]
    pub fn row_id(&self, layout: &RowLayout, row: usize) -> RowId {
        RowId::new(u64::from(self.number(layout, row)))
    }

    /// The numbers of all rows in their table.
    pub fn row_ids(&self, layout: &RowLayout) -> PackedRowIds {
        let numbers = (0..self.n_rows).map(|row| self.number(layout, row));
        PackedRowIds { numbers: numbers.collect() }
    }

    #[inline]
    fn number(&self, layout: &RowLayout, row: usize) -> u32 {
        word_at(&self.fixed, (row + 1) * layout.stride - ROW_ID_BYTES)
    }

    /// A row's code on one attribute.
    #[inline]
    pub fn code(&self, layout: &RowLayout, row: usize, attribute: usize) -> u32 {
        layout.read(attribute, &self.fixed[row * layout.stride..(row + 1) * layout.stride])
    }

    /// A row's codes, into the first slots of `out`.
    #[inline]
    pub fn codes(&self, layout: &RowLayout, row: usize, out: &mut [u32]) {
        let bytes = &self.fixed[row * layout.stride..(row + 1) * layout.stride];
        for (field, slot) in layout.fields[..layout.n_attributes].iter().zip(out) {
            *slot = word_at(bytes, field.offset) & field.mask;
        }
    }

    /// One of a row's facts.
    #[inline]
    pub fn fact(&self, layout: &RowLayout, row: usize, fact: usize) -> u32 {
        let bytes = &self.fixed[row * layout.stride..(row + 1) * layout.stride];
        layout.read(layout.n_attributes + fact, bytes)
    }

    /// What a row takes with its payload.
    #[inline]
    pub fn row_bytes(&self, layout: &RowLayout, row: usize) -> usize {
        layout.stride + if layout.has_payload { self.payload(row).len() } else { 0 }
    }

    /// A row's payload.
    pub fn payload(&self, row: usize) -> &[u8] {
        match self.payload_ends.get(row) {
            Some(&end) => &self.payload[self.payload_start(row)..end],
            None => &[],
        }
    }

    fn payload_start(&self, row: usize) -> usize {
        if row == 0 { 0 } else { self.payload_ends[row - 1] }
    }

    /// The same rows with other payloads, which are told from their own; `map` writes one behind what
    /// is there. The layout must be one with a payload.
    pub fn with_payloads(&self, mut map: impl FnMut(&[u8], &mut Vec<u8>)) -> RowBlock {
        let mut payload = Vec::with_capacity(self.payload.len());
        let mut payload_ends = Vec::with_capacity(self.payload_ends.len());
        for row in 0..self.payload_ends.len() {
            map(self.payload(row), &mut payload);
            payload_ends.push(payload.len());
        }
        RowBlock { n_rows: self.n_rows, fixed: self.fixed.clone(), payload_ends, payload }
    }

    /// The same rows without payloads, for the same layout without one.
    pub fn without_payloads(&self) -> RowBlock {
        RowBlock { n_rows: self.n_rows, fixed: self.fixed.clone(), ..RowBlock::default() }
    }

    /// The block as bytes, after what `out` holds.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.n_rows as u64).to_le_bytes());
        out.extend_from_slice(&(self.payload.len() as u64).to_le_bytes());
        out.extend_from_slice(&self.fixed);
        for row in 0..self.payload_ends.len() {
            let length = self.payload_ends[row] - self.payload_start(row);
            let length = u32::try_from(length).expect("a cell has less than 4 GiB");
            out.extend_from_slice(&length.to_le_bytes());
        }
        out.extend_from_slice(&self.payload);
    }

    /// The block at the start of some bytes, and what follows it; nothing if they are not those of
    /// [`RowBlock::write_to`]. No more is allocated than the bytes justify.
    pub fn try_read_from<'b>(layout: &RowLayout, bytes: &'b [u8]) -> Option<(RowBlock, &'b [u8])> {
        let (n_rows, rest) = bytes.split_first_chunk::<8>()?;
        let (n_payload_bytes, rest) = rest.split_first_chunk::<8>()?;
        let n_rows = usize::try_from(u64::from_le_bytes(*n_rows)).ok()?;
        let n_payload_bytes = usize::try_from(u64::from_le_bytes(*n_payload_bytes)).ok()?;
        let (_, mut after) = rest.split_at_checked(n_rows.checked_mul(layout.stride)?)?;
        if layout.has_payload {
            let (lengths, payloads) = after.split_at_checked(n_rows.checked_mul(4)?)?;
            let lengths = lengths.chunks_exact(4).map(|length| u64::from(word_at(length, 0)));
            if lengths.sum::<u64>() != n_payload_bytes as u64 {
                return None;
            }
            (_, after) = payloads.split_at_checked(n_payload_bytes)?;
        } else if n_payload_bytes > 0 {
            return None;
        }
        let mut block = RowBlock::default();
        block.read_from(layout, bytes);
        Some((block, after))
    }

    /// Adds the rows of a block of bytes, and returns what follows them.
    ///
    /// # Panics
    /// When the bytes are not those of [`RowBlock::write_to`]: spill files are private to the
    /// process.
    pub fn read_from<'b>(&mut self, layout: &RowLayout, bytes: &'b [u8]) -> &'b [u8] {
        let (head, rest) = bytes.split_at(16);
        let number = |at: usize| {
            let bytes = head[at..at + 8].try_into().expect("eight bytes");
            u64::from_le_bytes(bytes) as usize
        };
        let (n_rows, n_payload_bytes) = (number(0), number(8));
        let (fixed, mut rest) = rest.split_at(n_rows * layout.stride);
        self.fixed.extend_from_slice(fixed);
        self.n_rows += n_rows;
        if layout.has_payload {
            let (lengths, payloads) = rest.split_at(n_rows * 4);
            let mut end = self.payload.len();
            for length in lengths.chunks_exact(4) {
                end += word_at(length, 0) as usize;
                self.payload_ends.push(end);
            }
            let (payload, after) = payloads.split_at(n_payload_bytes);
            self.payload.extend_from_slice(payload);
            rest = after;
        }
        rest
    }
}

/// The numbers of some packed rows in their table, as narrow as they are packed.
pub struct PackedRowIds {
    numbers: Vec<u32>,
}

impl PackedRowIds {
    /// The number of the row at a place.
    #[inline]
    pub fn of(&self, row_idx: RowIdx) -> RowId {
        RowId::new(u64::from(self.numbers[row_idx.index()]))
    }
}

/// Where the facts of packed rows stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FactColumns {
    /// The two facts that tell the subject, the lower half of its number first.
    pub subject: Option<[usize; 2]>,
    /// The facts that the requirement looks at, in the order of its sensitive columns.
    pub ruled: Vec<usize>,
    /// The facts that are carried targets of a workload, in their order.
    pub targets: Vec<usize>,
}

impl FactColumns {
    /// The number of a row's subject; 0 where subjects are not counted.
    #[inline]
    pub fn subject_of(&self, layout: &RowLayout, block: &RowBlock, row: u32) -> u64 {
        self.subject.map_or(0, |halves| {
            let [low, high] = halves.map(|fact| block.fact(layout, row as usize, fact));
            u64::from(high) << 32 | u64::from(low)
        })
    }

    /// What some packed rows carry of a workload, in their order.
    pub fn targets_of(
        &self,
        layout: &RowLayout,
        block: &RowBlock,
        rows: impl Iterator<Item = u32>,
    ) -> TargetCodes {
        let mut codes = Vec::new();
        for row in rows {
            let own = self.targets.iter();
            codes.extend(own.map(|&fact| block.fact(layout, row as usize, fact)));
        }
        TargetCodes { codes, n_columns: self.targets.len() }
    }

    /// The facts of some packed rows, in their order.
    pub fn facts_of(
        &self,
        layout: &RowLayout,
        block: &RowBlock,
        rows: impl Iterator<Item = u32> + Clone,
    ) -> Facts {
        let subjects = match self.subject {
            Some(_) => rows.clone().map(|row| self.subject_of(layout, block, row)).collect(),
            None => Vec::new(),
        };
        let mut sensitive = Vec::new();
        if !self.ruled.is_empty() {
            for row in rows {
                let codes = self.ruled.iter();
                sensitive.extend(codes.map(|&fact| block.fact(layout, row as usize, fact)));
            }
        }
        Facts { subjects, sensitive, n_sensitive: self.ruled.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_the_way_through_bytes() {
        let layout = RowLayout::new(&[200, 70_000, u32::MAX, 0], &[300], true);
        assert_eq!(layout.stride_bytes(), 4 + 1 + 3 + 4 + 1 + 2);
        let rows = [
            (7u64, [200, 70_000, u32::MAX, 0, 299], &b"payload"[..]),
            (9, [0, 1, 2, 0, 4], b""),
            (8, [3, 65_536, 1 << 30, 0, 256], b"x"),
        ];
        let mut block = RowBlock::default();
        for (row_id, values, payload) in rows {
            block.push(&layout, RowId::new(row_id), values.into_iter(), payload);
        }
        let mut bytes = Vec::new();
        block.write_to(&mut bytes);
        bytes.extend_from_slice(b"rest");
        let mut read = RowBlock::default();
        read.extend(&layout, &block, 1..2);
        assert_eq!(read.read_from(&layout, &bytes), b"rest");
        assert_eq!(read.n_rows(), 4);
        for (at, (row_id, values, payload)) in
            [rows[1], rows[0], rows[1], rows[2]].iter().enumerate()
        {
            let mut codes = [0; 4];
            read.codes(&layout, at, &mut codes);
            assert_eq!(read.row_id(&layout, at), RowId::new(*row_id));
            assert_eq!(read.row_ids(&layout).of(RowIdx::of_index(at)), RowId::new(*row_id));
            assert_eq!(codes, values[..4]);
            assert_eq!(read.code(&layout, at, 1), values[1]);
            assert_eq!(read.fact(&layout, at, 0), values[4]);
            assert_eq!(read.payload(at), *payload);
        }
    }
}
