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
use crate::report::Note;
use crate::rows::{CodedChunk, Surveyed, changed, check_unchanged};

/// A table whose rows are in the buffers of an index.
pub(super) struct LoadedRows<I> {
    pub(super) table: PackedTable,
    pub(super) intake: I,
    pub(super) payload: Payload,
    /// Tells whether every row is there with its codes.
    pub(super) fingerprint: u64,
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
) -> Result<LoadedRows<I>> {
    let (memory, unknown) = surveyed.count_values(&run.memory.budget);
    let unknown = unknown.into_iter().map(|column| Note::ValuesUnknown { column });
    let mut selected = SelectedRows::new(selects);
    let again = surveyed.again.take();
    let router = intake.router();
    let n_attributes = surveyed.coders_of(Role::Quasi).count();
    let map = |chunk: SourceChunk| -> albers_table::Result<(RoutedRows, u64, SelectedRows<'_>)> {
        let SourceChunk { first_row, n_rows, coded, carried } = chunk;
        let CodedChunk { codes, facts, .. } = surveyed.code(coded, n_rows)?;
        let row_ids = (0..).map(|row| first_row + row);
        let rows = row_ids.zip(codes.chunks_exact(n_attributes));
        let fingerprint = rows
            .fold(0u64, |sum, (row_id, codes)| sum.wrapping_add(row_fingerprint(row_id, codes)));
        let mut of_chunk = SelectedRows::new(selects);
        of_chunk.add(codes.chunks_exact(n_attributes));
        let routed = match surveyed.encode_payload(&carried)? {
            None => router.route(first_row, &codes, &facts, |_| &[]),
            Some(payload) => {
                let rows: Vec<_> = payload.iter().collect();
                router.route(first_row, &codes, &facts, |row| rows[row].data())
            }
        };
        Ok((routed, fingerprint, of_chunk))
    };
    let mut fingerprint = 0u64;
    let reading = run.reading(None);
    run.watch.phase(Phase::Read, Some(surveyed.n_rows));
    let (mut scan, stamp) = again.into_scan(&reading, &surveyed.known)?;
    for_each_chunk(scan.as_mut(), run.watch, &map, &mut |(
        routed,
        of_chunk,
        selected_of_chunk,
    )| {
        fingerprint = fingerprint.wrapping_add(of_chunk);
        selected.merge(&selected_of_chunk);
        Ok(intake.append(&routed)?)
    })?;
    drop(scan);
    if intake.n_rows() != surveyed.n_rows {
        return Err(changed(&reading));
    }
    check_unchanged(&reading, stamp.as_ref())?;
    let notes = unknown.chain(selected.notes(run.plan.ks[0])).collect();
    let payload = std::mem::replace(&mut surveyed.payload, Payload::new(Vec::new())?);
    let table = PackedTable::of(surveyed);
    Ok(LoadedRows { table, intake, payload, fingerprint, notes, _memory: memory })
}
