//! A folder of the operating system, readable to its owner only.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::{Disk, DiskFile, Held, Hold, Opening};
use crate::positioned::{Positioned, uninterrupted};

/// The file that is locked while somebody has the folder; nothing is ever written to it.
const LOCK_NAME: &str = "lock";

/// A folder of the operating system.
#[derive(Debug)]
pub struct FolderDisk {
    folder: PathBuf,
}

impl FolderDisk {
    /// The folder, which exists.
    pub fn new(folder: &Path) -> FolderDisk {
        FolderDisk { folder: folder.to_owned() }
    }

    /// Makes the folder where it is missing, and opens it to its owner only.
    pub fn create(folder: &Path) -> io::Result<FolderDisk> {
        match make_folder(folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && folder.is_dir() => {}
            done => {
                done?;
                sync_folder(folder.parent().filter(|parent| *parent != Path::new("")))?;
            }
        }
        close_to_others(folder)?;
        Ok(FolderDisk::new(folder))
    }

    fn lock_file(&self, hold: Hold) -> io::Result<File> {
        let path = self.folder.join(LOCK_NAME);
        let made = file_options().write(true).create(true).truncate(false).open(&path);
        match made {
            // A reader may have no right to write, and needs none.
            Err(error) if hold == Hold::Shared => File::open(&path).map_err(|_| error),
            made => made,
        }
    }
}

/// A file that is locked until this is dropped.
struct Locked(File);

impl Drop for Locked {
    fn drop(&mut self) {
        // Closing alone is not enough: a process that this one is about to start has the file open,
        // too, until it runs a program of its own. When unlocking fails, closing is all that is left.
        let _ = self.0.unlock();
    }
}

impl Disk for FolderDisk {
    fn open(&self, name: &str, opening: Opening) -> io::Result<Box<dyn DiskFile>> {
        let mut options = file_options();
        options.read(true).write(opening != Opening::Read).create_new(opening == Opening::Create);
        Ok(Box::new(Positioned::new(options.open(self.folder.join(name))?)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.folder.join(from), self.folder.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.folder.join(name))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let entries = uninterrupted(|| fs::read_dir(&self.folder))?;
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn sync_folder(&self) -> io::Result<()> {
        sync_folder(Some(&self.folder))
    }

    fn hold(&self, hold: Hold) -> io::Result<Option<Held>> {
        let file = self.lock_file(hold)?;
        let held = match hold {
            Hold::Exclusive => file.try_lock(),
            Hold::Shared => file.try_lock_shared(),
        };
        match held {
            Ok(()) => Ok(Some(Box::new(Locked(file)))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.folder.clone() } else { self.folder.join(name) }
    }
}

impl DiskFile for Positioned {
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        Positioned::read_at(self, offset, bytes)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        Positioned::write_at(self, offset, bytes)
    }

    fn n_bytes(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn set_n_bytes(&self, n_bytes: u64) -> io::Result<()> {
        self.set_len(n_bytes)
    }

    fn sync(&self) -> io::Result<()> {
        Positioned::sync(self)
    }
}

#[cfg(unix)]
fn file_options() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

#[cfg(not(unix))]
fn file_options() -> OpenOptions {
    OpenOptions::new()
}

#[cfg(unix)]
fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)
}

#[cfg(unix)]
fn close_to_others(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn close_to_others(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Syncs the names in `folder`, or in the current one.
#[cfg(unix)]
fn sync_folder(folder: Option<&Path>) -> io::Result<()> {
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Elsewhere folders cannot be opened, and the operating system keeps their names safe itself.
#[cfg(not(unix))]
fn sync_folder(_folder: Option<&Path>) -> io::Result<()> {
    Ok(())
}
