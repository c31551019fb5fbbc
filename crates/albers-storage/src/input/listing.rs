//! What stands in a folder, and what matches a pattern.

use std::path::{Path, PathBuf};

use glob::MatchOptions;

use crate::positioned::uninterrupted;
use crate::{Result, StorageError};

/// The characters that make a name a pattern.
const WILDCARDS: [char; 4] = ['*', '?', '[', ']'];

/// What a folder holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its path: that of the folder, and its name.
    pub path: PathBuf,
    /// Whether it is a folder.
    pub is_folder: bool,
}

/// What a folder holds, by name; what begins with a dot is hidden.
pub fn entries_of(folder: &Path) -> Result<Vec<Entry>> {
    let read_error = |source| StorageError::Read { path: folder.to_owned(), source };
    let mut entries = Vec::new();
    for entry in uninterrupted(|| std::fs::read_dir(folder)).map_err(read_error)? {
        let path = entry.map_err(read_error)?.path();
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        if !name.starts_with(b".") {
            // What stands behind a link counts, as it does when its name is given.
            let is_folder = path.is_dir();
            entries.push(Entry { path, is_folder });
        }
    }
    entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

/// Whether a name is a pattern: it has wildcards, and no file has just this name.
pub fn is_pattern(path: &Path) -> bool {
    path.to_str().is_some_and(|name| name.contains(WILDCARDS)) && !path.exists()
}

/// What matches a pattern, by name, as in a shell: `*` and `?` stand neither for a slash nor for a
/// dot at the beginning of a name. A pattern that is not well formed matches nothing.
pub fn matches_of(pattern: &Path) -> Result<Vec<PathBuf>> {
    let options = MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: true,
    };
    let Some(Ok(matches)) = pattern.to_str().map(|name| glob::glob_with(name, options)) else {
        return Ok(Vec::new());
    };
    let mut paths = Vec::new();
    for matched in matches {
        paths.push(matched.map_err(|error| StorageError::Read {
            path: error.path().to_owned(),
            source: error.into(),
        })?);
    }
    paths.sort_unstable();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_files_are_neither_listed_nor_matched() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.csv", ".c.csv", "a.csv", "a[1].csv"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        std::fs::create_dir(folder.path().join("d.csv")).unwrap();
        let names = |paths: Vec<PathBuf>| -> Vec<String> {
            let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
            paths.iter().map(name).collect()
        };
        let entries = entries_of(folder.path()).unwrap();
        let folders: Vec<bool> = entries.iter().map(|entry| entry.is_folder).collect();
        assert_eq!(folders, [false, false, false, true]);
        let listed = names(entries.into_iter().map(|entry| entry.path).collect());
        assert_eq!(listed, ["a.csv", "a[1].csv", "b.csv", "d.csv"]);
        let matched = names(matches_of(&folder.path().join("[ab].csv")).unwrap());
        assert_eq!(matched, ["a.csv", "b.csv"]);
        assert!(is_pattern(&folder.path().join("*.csv")));
        assert!(!is_pattern(&folder.path().join("a[1].csv")), "a file has this name");
        assert!(matches_of(&folder.path().join("[")).unwrap().is_empty());
    }
}
