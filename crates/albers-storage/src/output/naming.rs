//! Names for files that belong together: all of them get theirs, or none, and then what was there
//! before is there again.
//!
//! ```text
//!   name free        no name, or .albers-X.tmp ──link or move──► target
//!   name taken       .albers-X.tmp ◄──exchange──► target      (X holds what was there before)
//!     no exchange    target ──link, else move──► .albers-Y.tmp; X ──► target      (Y holds it)
//!   one cannot       back in reverse: new names removed, X or Y renamed to its target; but what
//!                    another process has put there meanwhile stays
//!   all could        folders synced, every X or Y removed
//! ```
//!
//! Guarantee: at any moment each name means a whole file; the first file is the first to appear and
//! files marked as the last ones are the last. Of two processes with the same first file one gets
//! its names: a name that was free is taken by the system, once, and one that was not is changed
//! while its file is locked, and only if it still means the file that it meant at the beginning.
//! A name is taken back while its file is locked, and only if it still means the file of this
//! process.

use std::fmt::Display;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::system::{self, Facts};
use super::{Files, OutputFile, SealedFile, Waits, folder_of, lock, named_beside};
use crate::{Result, StorageError};

/// Files that could have their names at once.
pub struct Staged {
    pub(super) waiting: Vec<Waiting>,
    /// The files that are to be replaced, which other processes leave alone meanwhile.
    _locked: Vec<File>,
}

/// One of them.
pub(super) struct Waiting {
    output: OutputFile,
    became: Became,
}

/// What was done of the naming of a file.
#[derive(Clone, Copy, PartialEq)]
enum Became {
    Nothing,
    New,
    /// What was there before is beside it.
    InPlace,
}

/// Why a file does not have its name.
#[derive(Debug)]
pub(super) enum Fault {
    System(io::Error),
    /// Another process was there before.
    Overtaken,
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        match error.kind() {
            io::ErrorKind::AlreadyExists => Fault::Overtaken,
            _ => Fault::System(error),
        }
    }
}

impl Fault {
    fn about(self, path: &Path) -> StorageError {
        let path = path.to_owned();
        match self {
            Fault::System(source) => StorageError::Write { path, source },
            Fault::Overtaken => StorageError::Overtaken { path },
        }
    }
}

/// Gives files their names in their order, but those that are marked last after all others. If one
/// cannot have its name none has, and what was there before is there again.
pub fn name_files(files: Vec<SealedFile>) -> Result<()> {
    Staged::of(files)?.name()
}

impl Staged {
    /// Does all that can fail and that nobody sees.
    pub fn of(files: Vec<SealedFile>) -> Result<Staged> {
        let (last, mut ordered): (Vec<_>, Vec<_>) = files.into_iter().partition(|own| own.is_last);
        ordered.extend(last);
        let outputs = ordered.into_iter().map(|own| own.output);
        let waiting = outputs
            .filter(|output| !matches!(output.waits, Waits::Rehearsed))
            .map(|output| Waiting { output, became: Became::Nothing });
        let mut staged = Staged { waiting: waiting.collect(), _locked: Vec::new() };
        staged._locked = staged.locked()?;
        for own in &mut staged.waiting {
            own.stage().map_err(|fault| fault.about(own.target()))?;
        }
        Ok(staged)
    }

    /// Locks what is to be replaced, in an order that is the same in all processes.
    fn locked(&self) -> Result<Vec<File>> {
        let replaced = |own: &Waiting| own.output.place.before.filter(|own| own.mode.is_some());
        let waiting = self.waiting.iter();
        let mut taken: Vec<(Facts, &Path)> =
            waiting.filter_map(|own| Some((replaced(own)?, own.target()))).collect();
        taken.sort_by_key(|(facts, _)| facts.id());
        let mut locked = Vec::new();
        for (_, path) in taken {
            // What may not be read can be replaced all the same.
            let Ok(file) = File::open(path) else { continue };
            wait_for(&file, Duration::from_secs(10)).map_err(|fault| fault.about(path))?;
            locked.push(file);
        }
        Ok(locked)
    }

    /// Gives all of them their names, or none. An interrupt waits until it is over.
    pub fn name(mut self) -> Result<()> {
        let mut files = lock();
        let named = self.name_in_order(&mut files);
        let (fault, place) = match named {
            Ok(()) => return self.forget_what_was(&mut files),
            Err(fault) => fault,
        };
        let left = self.take_back();
        self.unregister(&mut files);
        let error = fault.about(&place);
        match left.is_empty() {
            true => Err(error),
            false => Err(StorageError::HalfNamed { source: Box::new(error), left }),
        }
    }

    pub(super) fn name_in_order(
        &mut self,
        files: &mut Files,
    ) -> std::result::Result<(), (Fault, PathBuf)> {
        for own in &mut self.waiting {
            own.appear(files).map_err(|fault| (fault, own.target().to_owned()))?;
        }
        let mut folders: Vec<PathBuf> = Vec::new();
        for own in &self.waiting {
            let folder = folder_of(own.target());
            if !folders.iter().any(|known| known == folder) {
                folders.push(folder.to_owned());
                let synced = system::sync_folder(folder);
                synced.map_err(|error| (Fault::System(error), own.target().to_owned()))?;
            }
        }
        Ok(())
    }

    /// Takes all names back, the last one first, and says what could not be.
    pub(super) fn take_back(&mut self) -> Vec<String> {
        self.waiting.iter_mut().rev().filter_map(|own| own.take_back().err()).collect()
    }

    /// All have their names: removes what they replaced.
    pub(super) fn forget_what_was(mut self, files: &mut Files) -> Result<()> {
        let (mut paths, mut first) = (Vec::new(), None);
        for own in &self.waiting {
            files.named.insert(own.target().to_owned());
            let old = own.beside().filter(|_| own.became == Became::InPlace);
            let removed = old.map(|path| (path, fs::remove_file(path)));
            if let Some((path, Err(source))) = removed {
                paths.push(path.to_owned());
                first.get_or_insert(source);
            }
        }
        self.unregister(files);
        match first {
            None => Ok(()),
            Some(source) => Err(StorageError::OldStays { paths, source }),
        }
    }

    /// Forgets where files waited. What must stay there stays.
    fn unregister(&mut self, files: &mut Files) {
        for own in &mut self.waiting {
            let Waits::Beside(path) = std::mem::take(&mut own.output.waits) else { continue };
            files.unfinished.remove(&*path);
            if own.became == Became::InPlace {
                // Removed already, or the only copy of what was there before.
                let _ = path.keep();
            }
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if self.waiting.iter().any(|own| own.beside().is_some()) {
            self.unregister(&mut lock());
        }
    }
}

impl Waiting {
    fn target(&self) -> &Path {
        &self.output.place.path
    }

    /// Where it stands until it has its name; nothing where it has no name at all.
    fn beside(&self) -> Option<&Path> {
        match &self.output.waits {
            Waits::Beside(path) => Some(path),
            Waits::Unnamed | Waits::Rehearsed => None,
        }
    }

    /// Gives it a name beside one that is taken, with which it can change places.
    fn stage(&mut self) -> std::result::Result<(), Fault> {
        let is_as_before = match self.output.place.before {
            None => Facts::of(self.target()).is_none(),
            Some(before) => before.is_of(self.target()),
        };
        if !is_as_before {
            return Err(Fault::Overtaken);
        }
        if self.output.place.before.is_none() || self.beside().is_some() {
            return Ok(());
        }
        // An interrupt waits for the lock, so that it finds every name that was given.
        let mut files = lock();
        let link = |path: &Path| system::link(&self.output.file, path);
        let ((), path) = named_beside(folder_of(self.target()), link).map_err(Fault::System)?;
        files.unfinished.insert(path.to_path_buf());
        self.output.waits = Waits::Beside(path);
        Ok(())
    }

    /// Gives it its name.
    pub(super) fn appear(&mut self, files: &mut Files) -> std::result::Result<(), Fault> {
        match (self.beside(), self.output.place.before) {
            (None, _) => system::link(&self.output.file, self.target())?,
            (Some(beside), None) => system::move_to_free(beside, self.target())?,
            (Some(_), Some(before)) => return self.replace(before, files),
        }
        self.became = Became::New;
        Ok(())
    }

    /// Gives it a name that is taken.
    fn replace(&mut self, before: Facts, files: &mut Files) -> std::result::Result<(), Fault> {
        let Some(beside) = self.beside() else { return Ok(()) };
        let (exchanged, elsewhere) = system::exchange(beside, self.target());
        let has_moved = exchanged.is_ok() || elsewhere.is_some();
        if let Some(elsewhere) = elsewhere {
            files.unfinished.remove(beside);
            files.unfinished.insert(elsewhere.to_path_buf());
            self.output.waits = Waits::Beside(elsewhere);
        }
        if has_moved {
            self.became = Became::InPlace;
        }
        exchanged.map_err(Fault::System)?;
        let is_as_before = self.beside().is_some_and(|beside| before.is_of(beside));
        if is_as_before { Ok(()) } else { Err(Fault::Overtaken) }
    }

    /// Undoes that. Says what could not be undone. A name that means another file by now is left to
    /// whoever took it: that release is whole.
    fn take_back(&mut self) -> std::result::Result<(), String> {
        if self.became == Became::Nothing {
            return Ok(());
        }
        // Who replaces this file locks it before, and looks again then. Where nobody can lock, what
        // the name means is still looked at.
        let _ = wait_for(&self.output.file, Duration::from_secs(1));
        let is_own = system::is_file_at(&self.output.file, self.target());
        let target = self.target().display();
        match (self.became, self.beside()) {
            (Became::InPlace, Some(beside)) => {
                let old = beside.display();
                let stays = |why: &dyn Display| {
                    format!("{target} ({why}; what was there before is in {old})")
                };
                let put_back = match Facts::of(self.target()) {
                    Some(_) if is_own => system::move_over(beside, self.target()),
                    Some(_) => return Err(stays(&"another program has written it since")),
                    // It was removed, or two names could not quite change places.
                    None => system::move_to_free(beside, self.target()),
                };
                put_back.map_err(|error| stays(&error))?;
            }
            (Became::New, _) if is_own => {
                fs::remove_file(self.target()).map_err(|error| format!("{target} ({error})"))?;
            }
            _ => {}
        }
        self.became = Became::Nothing;
        Ok(())
    }
}

/// Waits for a file that another process is about to replace.
fn wait_for(file: &File, longest: Duration) -> std::result::Result<(), Fault> {
    let begin = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if begin.elapsed() < longest => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(TryLockError::WouldBlock) => {
                return Err(Fault::System(io::Error::other("another program has locked it")));
            }
            // A disk without locks: what is lost is only that two processes know of each other.
            Err(TryLockError::Error(_)) => return Ok(()),
        }
    }
}
