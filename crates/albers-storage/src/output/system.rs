//! What only some systems can: files without names, and names that change places.
//!
//! Everything has a way for systems that cannot, so that callers need not ask.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use tempfile::TempPath;

use super::{folder_of, named_beside};

/// What tells whether a name still means the file that it meant before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts {
    id: (u64, u64),
    n_bytes: u64,
    changed: Option<std::time::SystemTime>,
    /// The rights that its owner gave it, where it is an ordinary file.
    pub(super) mode: Option<u32>,
}

impl Facts {
    /// Of what a name means now; nothing where it means nothing. A link is looked at itself.
    pub(super) fn of(path: &Path) -> Option<Facts> {
        let metadata = fs::symlink_metadata(path).ok()?;
        Some(Facts {
            id: id_of(&metadata),
            n_bytes: metadata.len(),
            changed: metadata.modified().ok(),
            mode: metadata.is_file().then(|| mode_of(&metadata)),
        })
    }

    /// What orders files, by whatever name they are called.
    pub(super) fn id(&self) -> (u64, u64) {
        self.id
    }

    /// Whether a file has these facts but for its rights, which its owner may change at any time.
    pub(super) fn is_of(&self, path: &Path) -> bool {
        Facts::of(path).is_some_and(|own| Facts { mode: self.mode, ..own } == *self)
    }
}

#[cfg(unix)]
fn id_of(metadata: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn id_of(_metadata: &fs::Metadata) -> (u64, u64) {
    (0, 0)
}

#[cfg(unix)]
fn mode_of(metadata: &fs::Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o777
}

#[cfg(not(unix))]
fn mode_of(_metadata: &fs::Metadata) -> u32 {
    0
}

/// A new file without a name that can be given one later; nothing where the system has none.
#[cfg(target_os = "linux")]
pub(super) fn unnamed(folder: &Path) -> io::Result<Option<File>> {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::OFlags;
    use rustix::io::Errno;

    let flags = OFlags::TMPFILE.bits().cast_signed();
    let mut options = fs::OpenOptions::new();
    match options.read(true).write(true).mode(0o600).custom_flags(flags).open(folder) {
        // The name is given by way of this link.
        Ok(file) => Ok(Some(file).filter(|file| fs::symlink_metadata(way_to(file)).is_ok())),
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => Ok(None),
            _ => Err(error),
        },
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn unnamed(_folder: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

#[cfg(target_os = "linux")]
fn way_to(file: &File) -> String {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Gives a file without a name one that is free.
#[cfg(target_os = "linux")]
pub(super) fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    let link = || Ok(linkat(CWD, way_to(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?);
    until_done(link, || is_file_at(file, path))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn link(_file: &File, _path: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Moves a file to a name that is free.
pub(super) fn move_to_free(from: &Path, to: &Path) -> io::Result<()> {
    match rename_with(from, to, How::Free) {
        Err(error) if is_unsupported(&error) => {
            link_also(from, to)?;
            // The name that stays is one of a temporary file, which is removed with the others.
            let _ = fs::remove_file(from);
            Ok(())
        }
        other => other,
    }
}

/// Moves a file to the place of another one, which is gone then.
pub(super) fn move_over(from: &Path, to: &Path) -> io::Result<()> {
    let before = Facts::of(from);
    until_done(|| fs::rename(from, to), || has_left(from, before))
}

/// Puts a file in the place of another one, which has the first one's name afterwards. Where it has
/// a third one instead this is returned, also after a failure: what is there may be the only copy.
pub(super) fn exchange(own: &Path, other: &Path) -> (io::Result<()>, Option<TempPath>) {
    match rename_with(own, other, How::Exchange) {
        Err(error) if is_unsupported(&error) => exchange_by_links(own, other),
        done => (done, None),
    }
}

/// The same in two steps, of which the second is the one that counts.
fn exchange_by_links(own: &Path, other: &Path) -> (io::Result<()>, Option<TempPath>) {
    let keep = |path: &Path| match link_also(other, path) {
        Ok(()) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // A system without links has a moment without the file.
        Err(_) => move_over(other, path).map(|()| true),
    };
    let (is_moved, kept) = match named_beside(folder_of(other), keep) {
        Ok(kept) => kept,
        Err(error) => return (Err(error), None),
    };
    match move_over(own, other) {
        Ok(()) => (Ok(()), Some(kept)),
        // Where the file is still under its own name, the other one goes.
        Err(error) => (Err(error), Some(kept).filter(|_| is_moved)),
    }
}

/// Gives a file another name too, which is free.
fn link_also(from: &Path, to: &Path) -> io::Result<()> {
    let own = Facts::of(from);
    until_done(|| fs::hard_link(from, to), || own.is_some_and(|own| is_at(own.id, to)))
}

/// Does to names what the system may interrupt: again, unless it was done all the same, since what
/// is exchanged twice is as it was.
fn until_done(
    mut act: impl FnMut() -> io::Result<()>,
    is_done: impl Fn() -> bool,
) -> io::Result<()> {
    loop {
        match act() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                if is_done() {
                    return Ok(());
                }
            }
            other => return other,
        }
    }
}

/// Whether a name means this file; where files have no numbers, whether it means any.
pub(super) fn is_file_at(file: &File, path: &Path) -> bool {
    file.metadata().is_ok_and(|own| is_at(id_of(&own), path))
}

/// Whether a name means the file that is known by its number.
fn is_at(id: (u64, u64), path: &Path) -> bool {
    Facts::of(path).is_some_and(|there| there.id == id)
}

/// Whether a name means no longer what it meant.
fn has_left(path: &Path, before: Option<Facts>) -> bool {
    Facts::of(path).map(|now| now.id) != before.map(|before| before.id)
}

#[derive(Clone, Copy, PartialEq)]
enum How {
    Free,
    Exchange,
}

#[cfg(target_os = "linux")]
fn rename_with(from: &Path, to: &Path, how: How) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let flags = match how {
        How::Free => RenameFlags::NOREPLACE,
        How::Exchange => RenameFlags::EXCHANGE,
    };
    let before = Facts::of(from);
    until_done(|| Ok(renameat_with(CWD, from, CWD, to, flags)?), || has_left(from, before))
}

#[cfg(not(target_os = "linux"))]
fn rename_with(_from: &Path, _to: &Path, _how: How) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Whether a system, or a disk, does not know what was asked of it.
fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput)
}

/// Sees that names in a folder survive a loss of power, where the system can.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    // A folder that may be written but not listed cannot be opened, and has its names all the same.
    let Ok(folder) = File::open(folder) else { return Ok(()) };
    match folder.sync_all() {
        Err(error) if is_unsupported(&error) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls that are interrupted so many times, and then succeed.
    fn interrupted(n_times: usize) -> impl FnMut() -> io::Result<()> {
        let mut n_left = n_times;
        move || match n_left {
            0 => Ok(()),
            _ => {
                n_left -= 1;
                Err(io::ErrorKind::Interrupted.into())
            }
        }
    }

    #[test]
    fn an_interrupted_call_is_made_again_unless_it_was_done() {
        until_done(interrupted(3), || false).unwrap();
        until_done(interrupted(usize::MAX), || true).unwrap();
        let failed = until_done(|| Err(io::ErrorKind::NotFound.into()), || true);
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn an_exchange_by_links_leaves_both_files_or_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let [own, other] = ["own", "other"].map(|name| folder.path().join(name));
        fs::write(&other, "old").unwrap();
        let (failed, kept) = exchange_by_links(&own, &other);
        assert!(failed.is_err() && kept.is_none());
        assert_eq!(fs::read_to_string(&other).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        fs::write(&own, "new").unwrap();
        let (done, kept) = exchange_by_links(&own, &other);
        done.unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "new");
        assert_eq!(fs::read_to_string(kept.unwrap()).unwrap(), "old");
    }
}
