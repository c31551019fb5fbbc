//! The classes of a release, read from its file.
//!
//! ```text
//!   chunks ──► runs of rows that show the same ──► distinct cells ──► classes, and their parts
//! ```
//!
//! Guarantee: rows are in one class if all quasi-identifiers show the same, wherever they stand.
//! Cost: one pass; what is kept is a row of cells for each run, which in a release of this program
//! is a class, or a part of one where carried columns are asked for.

use albers_measure::{Classes, Codes};
use albers_storage::memory_budget::Reservation;
use albers_storage::watch::{Phase, Watch};
use albers_table::chunk::{Cells, ColumnChunk, TickUnit};
use albers_table::source::{
    ColumnRequest, Source, SourceChunk, for_each_chunk, with_settled_types,
};

use crate::error::Result;
use crate::memory::Memory;
use crate::rows::check_size;

/// Rows that stand together and show the same in all columns that were read.
pub(super) struct Runs {
    /// How many rows each has.
    pub(super) sizes: Vec<u64>,
    /// The columns, in the order in which they were asked for, one cell for each run.
    pub(super) columns: Vec<Vec<ColumnChunk>>,
    /// The first row of each run, for messages.
    pub(super) first_rows: Vec<u64>,
    /// What they take.
    _memory: Reservation,
}

/// The runs of a chunk.
struct ChunkRuns {
    first_row: u64,
    starts: Vec<u32>,
    n_rows: usize,
    columns: Vec<ColumnChunk>,
}

/// Reads columns of a release as runs.
pub(super) fn read_runs(
    source: &dyn Source,
    requests: &[ColumnRequest],
    memory: &Memory,
    watch: &dyn Watch,
) -> Result<Runs> {
    let (_, (mut chunks, memory)) = with_settled_types(source, requests, &mut |types| {
        let mut memory = memory.budget.reserve_nothing("the classes of a release");
        let mut chunks: Vec<ChunkRuns> = Vec::new();
        watch.phase(Phase::Read, source.n_rows());
        let mut scan = source.scan(requests, types)?;
        for_each_chunk(scan.as_mut(), watch, &|chunk| Ok(ChunkRuns::of(&chunk)), &mut |runs| {
            memory.try_grow(runs.n_bytes())?;
            chunks.push(runs);
            Ok(())
        })?;
        Ok((chunks, memory))
    })?;
    check_size(source, chunks.iter().map(|chunk| chunk.n_rows as u64).sum())?;
    chunks.sort_by_key(|chunk| chunk.first_row);
    let mut runs = Runs {
        sizes: Vec::new(),
        columns: requests.iter().map(|_| Vec::new()).collect(),
        first_rows: Vec::new(),
        _memory: memory,
    };
    for chunk in chunks {
        let ends = chunk.starts.iter().skip(1).copied().chain([chunk.n_rows as u32]);
        let sizes = chunk.starts.iter().zip(ends).map(|(&start, end)| u64::from(end - start));
        runs.sizes.extend(sizes);
        let first_rows = chunk.starts.iter().map(|&start| chunk.first_row + u64::from(start));
        runs.first_rows.extend(first_rows);
        let columns = runs.columns.iter_mut().zip(chunk.columns);
        columns.for_each(|(all, own)| all.push(own));
    }
    Ok(runs)
}

impl ChunkRuns {
    fn of(chunk: &SourceChunk) -> ChunkRuns {
        let mut differs = vec![false; chunk.n_rows];
        if let Some(first) = differs.first_mut() {
            *first = true;
        }
        chunk.coded.iter().for_each(|column| mark_changes(column, &mut differs));
        let starts = (0..chunk.n_rows as u32).filter(|&row| differs[row as usize]);
        let starts: Vec<u32> = starts.collect();
        let columns = chunk.coded.iter().map(|column| column.select(&starts)).collect();
        let first_row = chunk.first_row.get();
        ChunkRuns { first_row, starts, n_rows: chunk.n_rows, columns }
    }

    fn n_bytes(&self) -> usize {
        // Cells become the places of distinct ones, and classes are told by these.
        const PER_CELL_BYTES: usize = 28;
        let cells: usize = self.columns.iter().map(ColumnChunk::n_bytes).sum();
        cells + self.starts.len() * (24 + PER_CELL_BYTES * self.columns.len())
    }
}

/// Marks the rows whose cell differs from that of the row before.
fn mark_changes(column: &ColumnChunk, differs: &mut [bool]) {
    fn changes<T: PartialEq>(cells: &[T], differs: &mut [bool]) {
        let pairs = cells.iter().zip(cells.iter().skip(1));
        for (differs, (before, own)) in differs.iter_mut().skip(1).zip(pairs) {
            *differs |= before != own;
        }
    }
    match &column.cells {
        Cells::Ticks { offsets, .. } => changes(offsets, differs),
        Cells::WideTicks { ticks, .. } => changes(ticks, differs),
        Cells::Floats(floats) => changes(floats, differs),
        Cells::Names { places, .. } => changes(places, differs),
    }
    // What stands in a missing cell's place has no meaning, but is the same in all of them.
    for (place, &row) in column.missing.iter().enumerate() {
        let follows = place.checked_sub(1).is_some_and(|before| column.missing[before] + 1 == row);
        differs[row as usize] |= !follows;
        let goes_on = column.missing.get(place + 1) == Some(&(row + 1));
        if let Some(next) = differs.get_mut(row as usize + 1).filter(|_| !goes_on) {
            *next = true;
        }
    }
}

/// The classes of runs, told by the places of their cells, and within these the parts, told by
/// carried cells.
pub(super) struct Grouped {
    /// A run of each class.
    pub(super) runs: Vec<usize>,
    /// Rows of each class.
    pub(super) sizes: Vec<u64>,
    /// Where the parts of each class begin, and where those of the last one end.
    pub(super) part_starts: Vec<u32>,
    /// A run of each part.
    pub(super) part_runs: Vec<usize>,
    /// Rows of each part.
    pub(super) part_sizes: Vec<u64>,
}

impl Grouped {
    /// Groups runs by some columns, and within these by others.
    pub(super) fn of(sizes: &[u64], quasi: &[Codes<'_>], carried: &[Codes<'_>]) -> Grouped {
        let classes = Classes::of(sizes.len(), quasi);
        let mut grouped = Grouped {
            runs: Vec::with_capacity(classes.n_classes()),
            sizes: Vec::with_capacity(classes.n_classes()),
            part_starts: vec![0],
            part_runs: Vec::new(),
            part_sizes: Vec::new(),
        };
        let key = |run: usize| carried.iter().map(move |column| column.codes[run]);
        for runs in classes.iter() {
            let mut runs: Vec<usize> = runs.iter().map(|run| run.index()).collect();
            grouped.runs.push(runs[0]);
            grouped.sizes.push(runs.iter().map(|&run| sizes[run]).sum());
            if !carried.is_empty() {
                runs.sort_by(|&a, &b| key(a).cmp(key(b)));
                for part in runs.chunk_by(|&a, &b| key(a).eq(key(b))) {
                    grouped.part_runs.push(part[0]);
                    grouped.part_sizes.push(part.iter().map(|&run| sizes[run]).sum());
                }
                grouped.part_starts.push(grouped.part_runs.len() as u32);
            }
        }
        grouped
    }
}

/// The ticks of all chunks of a column in one unit, with the rows whose cell is missing; nothing if
/// its cells are no ticks, or too long.
pub(super) fn ticks_of(chunks: &[ColumnChunk]) -> Option<(Vec<Option<i64>>, TickUnit)> {
    let scale = |unit: TickUnit| if let TickUnit::Decimal(scale) = unit { scale } else { 0 };
    let units: Option<Vec<TickUnit>> = chunks.iter().map(ColumnChunk::unit).collect();
    let unit = units?.into_iter().max_by_key(|&unit| scale(unit))?;
    let mut all = Vec::new();
    for chunk in chunks {
        let own = chunk.unit()?;
        let factor = 10i64.checked_pow(u32::from(scale(unit) - scale(own)))?;
        let first = all.len();
        match &chunk.cells {
            Cells::Ticks { base, offsets, .. } => {
                for &offset in offsets {
                    all.push(Some(base.wrapping_add(i64::from(offset)).checked_mul(factor)?));
                }
            }
            Cells::WideTicks { ticks, .. } => {
                for &tick in ticks {
                    all.push(Some(tick.checked_mul(factor)?));
                }
            }
            Cells::Floats(_) | Cells::Names { .. } => return None,
        }
        chunk.missing.iter().for_each(|&row| all[first + row as usize] = None);
    }
    Some((all, unit))
}
