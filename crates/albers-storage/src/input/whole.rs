//! Small files that are kept as a whole: hierarchies, scales, models' companions, conditions.

use std::io::Read;
use std::path::Path;

use super::open_unpacked;
use crate::{Result, StorageError};

/// How often such a file is in memory at a time, from its bytes to what is made of them.
const COPIES: u64 = 8;
/// What may be read in any memory.
const LEAST_BYTES: u64 = 4 << 20;

/// All bytes of a file, unpacked by the ending of its name, for somebody who may take this much
/// memory for all; `what` is what a refusal calls it.
pub fn read_whole(path: &Path, what: &'static str, limit_bytes: u64) -> Result<Vec<u8>> {
    // What is packed does not tell how long it is.
    let packed_bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    whole_of(open_unpacked(path)?, path, packed_bytes, (what, limit_bytes))
}

/// The same of what is open, and has as many bytes as is known, or more.
pub fn whole_of(
    reader: impl Read,
    path: &Path,
    known_bytes: u64,
    (what, limit_bytes): (&'static str, u64),
) -> Result<Vec<u8>> {
    let most_bytes = (limit_bytes / COPIES).max(LEAST_BYTES);
    let mut bytes = Vec::new();
    reader
        .take(most_bytes.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|source| StorageError::Read { path: path.to_owned(), source })?;
    let n_bytes = bytes.len() as u64;
    if n_bytes <= most_bytes {
        return Ok(bytes);
    }
    let needed_bytes = (2 * n_bytes).max(known_bytes).saturating_mul(COPIES);
    Err(StorageError::OverBudget { what, needed_bytes, limit_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_longer_than_the_memory_allows_is_refused_and_never_held() {
        let read = |n_bytes: u64, limit_bytes: u64| {
            whole_of(std::io::repeat(0).take(n_bytes), Path::new("t"), 0, ("a file", limit_bytes))
        };
        assert_eq!(read(LEAST_BYTES, 1).unwrap().len() as u64, LEAST_BYTES);
        assert_eq!(read(5 << 20, 40 << 20).unwrap().len(), 5 << 20);
        for n_bytes in [(5 << 20) + 1, u64::MAX] {
            let Err(StorageError::OverBudget { needed_bytes, .. }) = read(n_bytes, 40 << 20) else {
                panic!("{n_bytes} bytes were read");
            };
            assert!(needed_bytes > 80 << 20);
        }
    }
}
