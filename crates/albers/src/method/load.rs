//! All rows of a table, once more, into the buffers of an index.

use albers_classes::points::row_fingerprint;
use albers_index::buffer_tree::{Intake, RoutedRows};
use albers_release::publish::Payload;
use albers_storage::memory_budget::Reservation;
use albers_storage::watch::Phase;
use albers_table::schema::Role;
use albers_table::source::{SourceChunk, for_each_chunk};

use super::packed::PackedTable;
use super::selects::{SelectedRows, TableSelects};
use crate::context::Context;
use crate::error::Result;
use crate::model::RowPrinter;
use crate::report::Note;
use crate::rows::{CodedChunk, Surveyed, changed, check_unchanged};

/// A table whose rows are in the buffers of an index.
pub(super) struct LoadedRows<I> {
    pub(super) table: PackedTable,
    pub(super) intake: I,
    pub(super) payload: Payload,
    /// Tells whether every row is there with its codes.
    pub(super) fingerprint: u64,
    /// Tells these rows from all others, where that is asked for.
    pub(super) print: u128,
    pub(super) notes: Vec<Note>,
    /// What it takes to know which values occur.
    pub(super) _memory: Reservation,
}

/// Takes all rows into the buffers of an index.
pub(super) fn load<'t, I: Intake<'t> + Send>(
    run: &Context<'_>,
    mut surveyed: Surveyed<'_>,
    mut intake: I,
    selects: Option<&TableSelects>,
    printer: Option<RowPrinter>,
) -> Result<LoadedRows<I>> {
    let (memory, unknown) = surveyed.count_values(&run.memory.budget);
    let unknown = unknown.into_iter().map(|column| Note::ValuesUnknown { column });
    let mut selected = SelectedRows::new(selects);
    let again = surveyed.again.take();
    let router = intake.router();
    let n_attributes = surveyed.coders_of(Role::Quasi).count();
    let map = |chunk: SourceChunk| -> albers_table::Result<MappedChunk<'_>> {
        let SourceChunk { first_row, n_rows, coded, carried } = chunk;
        let CodedChunk { codes, facts, .. } = surveyed.code(coded, n_rows)?;
        let row_ids = (0..).map(|row| first_row + row);
        let rows = row_ids.zip(codes.chunks_exact(n_attributes));
        let fingerprint = rows
            .fold(0u64, |sum, (row_id, codes)| sum.wrapping_add(row_fingerprint(row_id, codes)));
        let mut of_chunk = SelectedRows::new(selects);
        of_chunk.add(codes.chunks_exact(n_attributes));
        let payload = surveyed.encode_payload(&carried)?;
        let rows: Vec<_> = payload.iter().flat_map(|payload| payload.iter()).collect();
        let carried = |row: usize| rows.get(row).map_or(&[][..], |row| row.data());
        let print_of = |printer: RowPrinter| {
            let own = codes.chunks_exact(n_attributes).enumerate().map(|(row, codes)| {
                printer.of_row(codes, facts.iter().map(|column| column[row]), carried(row))
            });
            own.fold(0u128, u128::wrapping_add)
        };
        let print = printer.map_or(0, print_of);
        let routed = router.route(first_row, &codes, &facts, carried);
        Ok(MappedChunk { routed, fingerprint, print, selected: of_chunk })
    };
    let (mut fingerprint, mut print) = (0u64, 0u128);
    let reading = run.reading(None);
    run.watch.phase(Phase::Read, Some(surveyed.n_rows));
    let (mut scan, stamp) = again.into_scan(&reading, &surveyed.known)?;
    for_each_chunk(scan.as_mut(), run.watch, &map, &mut |chunk: MappedChunk<'_>| {
        fingerprint = fingerprint.wrapping_add(chunk.fingerprint);
        print = print.wrapping_add(chunk.print);
        selected.merge(&chunk.selected);
        Ok(intake.append(&chunk.routed)?)
    })?;
    drop(scan);
    if intake.n_rows() != surveyed.n_rows {
        return Err(changed(&reading));
    }
    check_unchanged(&reading, stamp.as_ref())?;
    let notes = unknown.chain(selected.notes(run.plan.ks[0])).collect();
    let payload = std::mem::replace(&mut surveyed.payload, Payload::new(Vec::new())?);
    let table = PackedTable::of(surveyed);
    Ok(LoadedRows { table, intake, payload, fingerprint, print, notes, _memory: memory })
}

/// The rows of a chunk on their way to the buffers.
struct MappedChunk<'s> {
    routed: RoutedRows,
    fingerprint: u64,
    print: u128,
    selected: SelectedRows<'s>,
}
