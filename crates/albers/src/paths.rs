//! Checks on paths before any work starts.

use std::path::Path;

use albers_storage::StorageError;

use crate::error::{Error, Result};

/// Refuses an output that is a folder, that lies in no folder, that is one of the inputs, or whose
/// name does not tell how a table is written.
pub fn check_output(output: &Path, inputs: &[&Path]) -> Result<()> {
    check_place(output, inputs)?;
    albers_table::write::Format::of(output)?;
    Ok(())
}

/// Refuses an output that is a folder, that lies in no folder, or that is one of the inputs.
pub fn check_place(output: &Path, inputs: &[&Path]) -> Result<()> {
    if output.is_dir() {
        return Err(StorageError::IsFolder { path: output.to_owned() }.into());
    }
    let folder = match output.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        return Err(Error::usage(
            format!("cannot write {}: there is no folder {}", output.display(), folder.display()),
            "create the folder, or name another",
        ));
    }
    for input in inputs {
        if is_same_file(output, input) {
            return Err(Error::usage(
                format!("the output {} is also an input", output.display()),
                "give the output a name of its own",
            ));
        }
    }
    Ok(())
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) if a == b => true,
        (Ok(a), Ok(b)) => is_same_inode(&a, &b),
        _ => false,
    }
}

#[cfg(unix)]
fn is_same_inode(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (a.metadata(), b.metadata()) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_same_inode(_a: &Path, _b: &Path) -> bool {
    false
}
