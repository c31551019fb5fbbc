//! What an interrupt says: that the program stopped, and what is there of its work.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use albers::Appeared;

use crate::render;

/// The exit code of a program that was interrupted.
const INTERRUPTED: i32 = 130;

/// What is at work, besides files that appear as a whole.
#[derive(Clone)]
pub enum Work {
    /// An index is made in this folder.
    Creates(PathBuf),
    /// The index of this folder is changed, as a whole or not at all.
    Changes(PathBuf),
    /// The index of this folder is published.
    Publishes(PathBuf),
}

static WORK: Mutex<Option<Work>> = Mutex::new(None);

/// Whether somebody ends the program already, an interrupt or `main`. Whoever is first does, so that
/// what is said and the exit code agree.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Says what is at work from now on.
pub fn at(work: fn(PathBuf) -> Work, folder: &Path) {
    *WORK.lock().unwrap_or_else(PoisonError::into_inner) = Some(work(folder.to_owned()));
}

/// Hears interrupts from now on.
pub fn listen() {
    let heard = ctrlc::set_handler(|| {
        // Decided before it waits for files that are being named: `main` ends as soon as they are.
        if IS_ENDING.swap(true, Ordering::SeqCst) {
            return;
        }
        let appeared = albers::remove_unfinished();
        let work = WORK.lock().unwrap_or_else(PoisonError::into_inner).clone();
        render::end_line();
        render::refuse(&format!("interrupted: {}", told(&appeared, work.as_ref())));
        std::process::exit(INTERRUPTED);
    });
    if let Err(error) = heard {
        render::warn(&format!("an interrupt may leave a temporary file behind: {error}"));
    }
}

/// Says that all work is done, and hears no interrupt from now on. Never returns if one was heard
/// before: it ends the program as soon as it has told what there is.
pub fn end() {
    if IS_ENDING.swap(true, Ordering::SeqCst) {
        loop {
            std::thread::park();
        }
    }
}

/// What is true of the work that was interrupted.
fn told(appeared: &Appeared, work: Option<&Work>) -> String {
    let mut parts = Vec::new();
    if !appeared.files.is_empty() {
        let files: Vec<String> =
            appeared.files.iter().map(|path| path.display().to_string()).collect();
        parts.push(format!("written already: {}", files.join(", ")));
    }
    if appeared.has_streamed {
        parts.push("a part of the rows may have gone to standard output".to_owned());
    }
    match work {
        None if parts.is_empty() => parts.push("nothing was written".to_owned()),
        None => {}
        Some(Work::Creates(folder)) => parts
            .push(format!("{} may hold an index without its rows; remove it", folder.display())),
        Some(Work::Changes(folder)) => parts.push(format!(
            "the index has all of the change or nothing of it; 'albers index info {}' tells which",
            folder.display()
        )),
        Some(Work::Publishes(folder)) => {
            if parts.is_empty() {
                parts.push("no release was written".to_owned());
            }
            parts.push(format!(
                "if 'albers index info {}' lists the release, it counts as published",
                folder.display()
            ));
        }
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_tells_what_is_there() {
        let nothing = Appeared { files: Vec::new(), has_streamed: false };
        assert_eq!(told(&nothing, None), "nothing was written");
        let some = Appeared { files: vec!["out.csv".into()], has_streamed: false };
        assert_eq!(told(&some, None), "written already: out.csv");
        let stream = Appeared { files: Vec::new(), has_streamed: true };
        assert!(told(&stream, None).contains("standard output"));
        let batch = told(&nothing, Some(&Work::Changes("idx".into())));
        assert!(batch.starts_with("the index has all of the change or nothing"), "{batch}");
        let release = told(&nothing, Some(&Work::Publishes("idx".into())));
        assert!(release.starts_with("no release was written; if "), "{release}");
        assert!(told(&nothing, Some(&Work::Creates("idx".into()))).contains("remove it"));
    }
}
