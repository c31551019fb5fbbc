//! Where the codebook of a release stands, and where none may.

use std::path::{Path, PathBuf};

use albers_storage::wording;
use albers_storage::wording::Field;

use super::{is_standard, text_of};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::report::Codebook;

/// Where the codebook of a release stands: the one for people, and the one for programs.
pub fn codebook_paths(release: &Path) -> [PathBuf; 2] {
    [".codebook.md", ".codebook.json"].map(|ending| {
        let mut name = release.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    })
}

/// The codebook for programs that stands beside a release, if there is one.
pub fn codebook_beside(release: &Path) -> Option<PathBuf> {
    let [_, path] = codebook_paths(release);
    Some(path).filter(|path| !is_standard(release) && path.is_file())
}

/// The codebook that stands beside a release, if there is one.
pub fn codebook_of(job: &Job, release: &Path) -> Result<Option<Codebook>> {
    let Some(path) = codebook_beside(release) else { return Ok(None) };
    let text = text_of(job, &path, "the codebook")?;
    let codebook = serde_json::from_str(&text).map_err(|error| {
        Error::usage(
            format!(
                "{} is no codebook of this program: line {}, column {}",
                path.display(),
                error.line(),
                error.column()
            ),
            "it is damaged, or of another version; remove it to read the release without it",
        )
    })?;
    Ok(Some(codebook))
}

/// Refuses to say anything of a codebook where there is none.
pub(super) fn check_no_codebook_for_stream(job: &Job) -> Result<()> {
    match job.codebook {
        None => Ok(()),
        Some(true) => Err(Error::usage(
            "standard output has no codebook beside it, and the job asks for one",
            wording!["name a file with ", Field::Output],
        )),
        Some(false) => Err(Error::usage(
            wording![
                Field::Codebook.of("false"),
                " has no effect on standard output, which never has a codebook"
            ],
            "drop it",
        )),
    }
}

/// Refuses a release beside the codebook of another one, which would be read with it.
pub(super) fn check_no_codebook_stays(codebooks: &[PathBuf]) -> Result<()> {
    match codebooks.iter().find(|path| path.exists()) {
        None => Ok(()),
        Some(path) => Err(Error::usage(
            format!(
                "{} is there already and would stand beside a release that it does not tell of",
                path.display()
            ),
            wording!["remove it, or drop ", Field::Codebook.of("false")],
        )),
    }
}
