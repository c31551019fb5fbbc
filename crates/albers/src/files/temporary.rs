//! Where a job keeps temporary data.

use std::path::PathBuf;

use albers_storage::wording;
use albers_storage::wording::Field;

use super::is_standard;
use crate::error::{Error, Result};
use crate::job::Job;

/// Where temporary data of a job goes: where it says, beside its release, or where the system
/// keeps such things.
pub(crate) fn spill_folder(job: &Job) -> PathBuf {
    let output = job.output.as_deref().filter(|output| !is_standard(output));
    let beside = output.map(|output| match output.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    });
    job.spill_dir.clone().or(beside).unwrap_or_else(std::env::temp_dir)
}

/// Refuses a place for temporary data that is no folder, also where none would be needed.
pub(crate) fn check_spill_folder(job: &Job) -> Result<()> {
    match &job.spill_dir {
        Some(folder) if !folder.is_dir() => Err(Error::usage(
            format!("temporary data cannot be kept in {}, which is no folder", folder.display()),
            wording!["name a folder that exists with ", Field::SpillDir],
        )),
        _ => Ok(()),
    }
}
