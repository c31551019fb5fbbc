//! Texts that are read as a whole: manifests, codebooks and conditions.

use std::fs::File;
use std::path::Path;

use albers_storage::StorageError;
use albers_storage::input::whole_of;

use super::is_standard;
use crate::error::Result;
use crate::job::{Job, decoded};

/// The text of a file, or of standard input, as far as it fits in the memory of a job; `what` is
/// what a refusal calls it.
pub fn text_of(job: &Job, path: &Path, what: &'static str) -> Result<String> {
    let limit = (what, job.limit_bytes());
    if is_standard(path) {
        let path = Path::new("standard input");
        return decoded(whole_of(std::io::stdin(), path, 0, limit)?, path);
    }
    let read_error = |source| StorageError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(read_error)?;
    let n_bytes = file.metadata().map_err(read_error)?.len();
    decoded(whole_of(file, path, n_bytes, limit)?, path)
}
