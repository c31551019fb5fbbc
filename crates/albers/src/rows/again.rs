//! The rows of a table, once more.

use albers_storage::memory_budget::Reservation;
use albers_storage::threads;
use albers_table::source::{Scan, Source, SourceChunk, SpilledChunks, Stamp, for_each_chunk};

use super::{Kept, KnownColumns, Reading, kept_bytes};
use crate::error::{Error, Result};

/// Rows that were read and can be read once more.
pub(crate) enum RowsAgain<'s> {
    /// From memory.
    Memory(Vec<SourceChunk>, Reservation),
    /// From the spill store.
    Spilled(SpilledChunks<'s>),
    /// From the source, if it is still what it was.
    Source {
        /// What tells that it is.
        stamp: Option<Stamp>,
    },
    /// They were given out.
    Gone,
}

impl<'s> RowsAgain<'s> {
    pub(super) fn of(kept: Kept<'s>, stamp: Option<Stamp>) -> RowsAgain<'s> {
        match kept {
            Kept::Memory(chunks, memory) => RowsAgain::Memory(chunks, memory),
            Kept::Spilled(spilled) => RowsAgain::Spilled(spilled),
            Kept::Nothing => RowsAgain::Source { stamp },
        }
    }

    /// Gives them out.
    pub(crate) fn take(&mut self) -> RowsAgain<'s> {
        std::mem::replace(self, RowsAgain::Gone)
    }

    /// Shows all rows without using them up. A source would then have to be read a third time to
    /// see them once more, so they are spilled on the way.
    pub(super) fn look_closer(
        &mut self,
        reading: &Reading<'s>,
        known: &KnownColumns,
        see: &mut (dyn FnMut(&SourceChunk) -> albers_table::Result<()> + Send),
    ) -> Result<()> {
        match self {
            RowsAgain::Gone => unreachable!("rows are looked at before they are given out"),
            RowsAgain::Memory(chunks, _) => Ok(chunks.iter().try_for_each(see)?),
            RowsAgain::Spilled(spilled) => {
                let mut scan = spilled.scan();
                let look = &mut |chunk: SourceChunk| see(&chunk);
                Ok(for_each_chunk(scan.as_mut(), reading.watch, &Ok, look)?)
            }
            RowsAgain::Source { stamp } => {
                let mut spilled = SpilledChunks::new(&reading.memory.store);
                let mut scan = reading.source.scan(&known.requests, &known.types)?;
                for_each_chunk(scan.as_mut(), reading.watch, &Ok, &mut |chunk: SourceChunk| {
                    see(&chunk)?;
                    spilled.put(chunk)
                })?;
                drop(scan);
                check_unchanged(reading, stamp.as_ref())?;
                *self = RowsAgain::Spilled(spilled);
                Ok(())
            }
        }
    }

    /// The rows, for the last time.
    pub(crate) fn into_scan<'a>(
        self,
        reading: &Reading<'s>,
        known: &'a KnownColumns,
    ) -> Result<(Box<dyn Scan + 'a>, Option<Stamp>)>
    where
        's: 'a,
    {
        Ok(match self {
            RowsAgain::Gone => unreachable!("rows are given out once"),
            RowsAgain::Memory(chunks, memory) => {
                (Box::new(KeptScan { chunks: chunks.into_iter(), memory }), None)
            }
            RowsAgain::Spilled(spilled) => (spilled.into_scan(), None),
            RowsAgain::Source { stamp } => {
                (reading.source.scan(&known.requests, &known.types)?, stamp)
            }
        })
    }
}

/// Refuses a source that is not what it was when it was read before.
pub(crate) fn check_unchanged(reading: &Reading<'_>, stamp: Option<&Stamp>) -> Result<()> {
    match stamp {
        Some(stamp) if reading.source.stamp().as_ref() != Some(stamp) => Err(changed(reading)),
        _ => Ok(()),
    }
}

/// The table is not the one that was read before.
pub(crate) fn changed(reading: &Reading<'_>) -> Error {
    source_changed(reading.source)
}

/// A source is not what it was when it was read before.
pub(crate) fn source_changed(source: &dyn Source) -> Error {
    Error::usage(
        format!("{} changed while it was read", source.name()),
        "let nobody write to it, and run again",
    )
}

/// Rows in memory, given up as they are read.
struct KeptScan {
    chunks: std::vec::IntoIter<SourceChunk>,
    memory: Reservation,
}

impl Scan for KeptScan {
    fn next_round(&mut self) -> albers_table::Result<Vec<SourceChunk>> {
        let round: Vec<SourceChunk> = self.chunks.by_ref().take(2 * threads::of_pool()).collect();
        let n_bytes: usize = round.iter().map(kept_bytes).sum();
        self.memory.shrink(n_bytes.min(self.memory.n_bytes()));
        Ok(round)
    }
}
