//! Texts that are read as a whole: manifests, codebooks, conditions and job files.

use std::fs::File;
use std::path::Path;

use albers_storage::StorageError;
use albers_storage::input::whole_of;

use super::is_standard;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::query::check_room;

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

/// The conditions of a file, one on each line; lines that begin with `#` are skipped.
pub fn conditions_of(job: &Job, path: &Path) -> Result<Vec<String>> {
    let text = text_of(job, path, "the conditions")?;
    let text = text.trim_start_matches('\u{feff}');
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    check_room(job, lines.clone().count(), text.len())?;
    let conditions: Vec<String> = lines.map(str::to_owned).collect();
    match conditions.is_empty() {
        true => Err(Error::usage(
            format!("{} holds no condition", path.display()),
            "write one on each line",
        )),
        false => Ok(conditions),
    }
}

/// Bytes of a file as text.
pub(crate) fn decoded(bytes: Vec<u8>, path: &Path) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| {
        Error::usage(format!("{} is not UTF-8", path.display()), "save it as UTF-8, or name a text")
    })
}
