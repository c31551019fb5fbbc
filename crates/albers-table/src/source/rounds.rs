//! The chunks of a scan one after another, with all threads busy.
//!
//! ```text
//!   round   next_round    map        sink
//!     1     ████████
//!     2     ████████      ████████                three stages, each a round behind
//!     3     ████████      ████████   ████████     the one before it
//! ```

use albers_storage::watch::Watch;
use rayon::prelude::*;

use super::{Scan, SourceChunk};
use crate::Result;

/// Reads a table of any size: `map` makes something of each chunk, on all threads, and `sink` gets
/// what it made one after another, in the order of the scan. No more than three rounds of chunks
/// exist at a time. What is wrong first in that order is what is told. A chunk without rows only
/// tells that the scan goes on.
pub fn for_each_chunk<T: Send>(
    scan: &mut (dyn Scan + '_),
    watch: &dyn Watch,
    map: &(dyn Fn(SourceChunk) -> Result<T> + Sync),
    sink: &mut (dyn FnMut(T) -> Result<()> + Send),
) -> Result<()> {
    let mut read = scan.next_round();
    let mut made: Vec<Result<T>> = Vec::new();
    loop {
        let (round, fault) = match read {
            Ok(round) => (round, None),
            Err(fault) => (Vec::new(), Some(fault)),
        };
        if round.is_empty() {
            made.into_iter().try_for_each(|outcome| sink(outcome?))?;
            return fault.map_or(Ok(()), Err);
        }
        watch.done(round.iter().map(|chunk| chunk.n_rows as u64).sum())?;
        let last = std::mem::take(&mut made);
        let ((handed_on, mapped), next) = rayon::join(
            || {
                rayon::join(
                    || last.into_iter().try_for_each(|outcome| sink(outcome?)),
                    || mapped_rows(round, map),
                )
            },
            || scan.next_round(),
        );
        handed_on?;
        made = mapped;
        read = next;
    }
}

fn mapped_rows<T: Send>(
    round: Vec<SourceChunk>,
    map: &(dyn Fn(SourceChunk) -> Result<T> + Sync),
) -> Vec<Result<T>> {
    round.into_par_iter().filter(|chunk| chunk.n_rows > 0).map(map).collect()
}
