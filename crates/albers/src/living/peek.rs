//! A scan whose first chunk is looked at before it is taken.

use albers_table::Result;
use albers_table::source::{Scan, SourceChunk};

/// A scan, and what came first.
pub(super) struct Peeked<'s> {
    scan: Box<dyn Scan + 's>,
    first: Vec<SourceChunk>,
}

impl<'s> Peeked<'s> {
    /// Reads on until there are rows, or no more.
    pub(super) fn new(mut scan: Box<dyn Scan + 's>) -> Result<Peeked<'s>> {
        let mut first = Vec::new();
        while first.iter().all(|chunk: &SourceChunk| chunk.n_rows == 0) {
            let round = scan.next_round()?;
            if round.is_empty() {
                break;
            }
            first.extend(round);
        }
        Ok(Peeked { scan, first })
    }

    /// The first chunk with rows.
    pub(super) fn first(&self) -> Option<&SourceChunk> {
        self.first.iter().find(|chunk| chunk.n_rows > 0)
    }
}

impl Scan for Peeked<'_> {
    fn next_round(&mut self) -> Result<Vec<SourceChunk>> {
        match self.first.is_empty() {
            false => Ok(std::mem::take(&mut self.first)),
            true => self.scan.next_round(),
        }
    }
}
