//! The classes of a release, read from its file.
//!
//! ```text
//!   chunks ──► runs of rows that show the same ──► distinct cells ──► classes, and their parts
//! ```
//!
//! Guarantee: rows are in one class if all quasi-identifiers show the same, wherever they stand.
//! Cost: one pass; what is kept is a row of cells for each run, which in a release of this program
//! is a class, or a part of one where carried columns are asked for.

use albers_measure::{Classes, Codes, RowRuns};
use albers_storage::memory_budget::Reservation;
use albers_storage::watch::{Phase, Watch};
use albers_table::chunk::{Cells, ColumnChunk, TickUnit};
use albers_table::row::RowId;
use albers_table::source::{
    ColumnRequest, Source, SourceChunk, for_each_chunk, with_settled_types,
};

use crate::error::Result;
use crate::memory::Memory;
use crate::rows::check_size;
use crate::runs::RunChunk;

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

/// Reads columns of a release as runs.
pub(super) fn read_runs(
    source: &dyn Source,
    requests: &[ColumnRequest],
    memory: &Memory,
    watch: &dyn Watch,
) -> Result<Runs> {
    let (_, (mut chunks, memory)) = with_settled_types(source, requests, &mut |types| {
        let mut memory = memory.budget.reserve_nothing("the classes of a release");
        let mut chunks: Vec<RunChunk> = Vec::new();
        watch.phase(Phase::Read, source.n_rows());
        let mut scan = source.scan(requests, types)?;
        let map = |chunk: SourceChunk| Ok(RunChunk::of(chunk, requests.len()));
        for_each_chunk(scan.as_mut(), watch, &map, &mut |chunk: RunChunk| {
            memory.try_grow(n_bytes(&chunk))?;
            chunks.push(chunk);
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
        runs.sizes.extend(chunk.sizes().map(u64::from));
        runs.first_rows.extend(chunk.first_rows().map(RowId::get));
        let columns = runs.columns.iter_mut().zip(chunk.shown);
        columns.for_each(|(all, own)| all.push(own));
    }
    Ok(runs)
}

/// What the runs of a chunk take.
fn n_bytes(chunk: &RunChunk) -> usize {
    // Cells become the places of distinct ones, and classes are told by these.
    const PER_CELL_BYTES: usize = 28;
    chunk.cell_bytes() + chunk.n_runs() * (24 + PER_CELL_BYTES * chunk.shown.len())
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
        let classes = Classes::of(RowRuns::single(sizes.len()), quasi);
        let mut grouped = Grouped {
            runs: Vec::with_capacity(classes.n_classes()),
            sizes: Vec::with_capacity(classes.n_classes()),
            part_starts: vec![0],
            part_runs: Vec::new(),
            part_sizes: Vec::new(),
        };
        let key = |run: usize| carried.iter().map(move |column| column.codes[run]);
        for class in classes.iter() {
            let mut runs: Vec<usize> = class.runs().collect();
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
