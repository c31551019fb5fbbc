//! What a job would write, for a dry run to tell.

use std::path::{Path, PathBuf};

use super::{beside, codebook_paths, is_standard, manifest_path};
use crate::job::Job;

/// All files that a job writes, in the order in which they are told: every release with its codebook
/// and its manifest, and what is its owner's. What goes to standard output is no file.
pub fn written(job: &Job) -> Vec<PathBuf> {
    let output = job.output.as_deref().filter(|output| !is_standard(output));
    let first = output.map(Path::to_owned);
    let also = output.into_iter().flat_map(|output| job.also_k.iter().map(|&k| beside(output, k)));
    let mut files = Vec::new();
    for (place, release) in first.into_iter().chain(also).enumerate() {
        let named = job.manifest.clone().filter(|_| place == 0);
        let manifest = named.unwrap_or_else(|| manifest_path(&release));
        let codebook = (job.codebook != Some(false)).then(|| codebook_paths(&release));
        files.push(release);
        files.extend(codebook.into_iter().flatten());
        files.push(manifest);
    }
    files.extend(job.manifest.clone().filter(|_| output.is_none()));
    files.extend(job.owner_report.iter().chain(&job.dendrogram).chain(&job.model).cloned());
    files
}

/// Those of some files that are there already and that a job may not replace.
pub fn in_the_way(job: &Job, files: &[PathBuf]) -> Vec<PathBuf> {
    match job.force {
        Some(true) => Vec::new(),
        _ => files.iter().filter(|path| path.symlink_metadata().is_ok()).cloned().collect(),
    }
}
