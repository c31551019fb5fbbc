//! How often a file was opened: for tests of what reads a file no more often than it must.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// Kept beside the list, so that an opening costs no lock where nobody counts.
static N_COUNTS: AtomicUsize = AtomicUsize::new(0);

static COUNTS: Mutex<Vec<(PathBuf, Weak<AtomicU64>)>> = Mutex::new(Vec::new());

/// Counts the openings of one file while it lives.
#[derive(Debug)]
pub struct OpenCount {
    n_opens: Arc<AtomicU64>,
}

impl OpenCount {
    /// Starts to count.
    pub fn of(path: &Path) -> OpenCount {
        let n_opens = Arc::new(AtomicU64::new(0));
        let mut counts = counts();
        counts.retain(|(_, count)| count.strong_count() > 0);
        counts.push((path.to_owned(), Arc::downgrade(&n_opens)));
        N_COUNTS.store(counts.len(), Ordering::Relaxed);
        OpenCount { n_opens }
    }

    /// How often the file was opened since.
    pub fn n_opens(&self) -> u64 {
        self.n_opens.load(Ordering::Relaxed)
    }
}

/// A file was opened.
pub(super) fn count(path: &Path) {
    if N_COUNTS.load(Ordering::Relaxed) == 0 {
        return;
    }
    for (_, count) in counts().iter().filter(|(counted, _)| counted == path) {
        if let Some(count) = count.upgrade() {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn counts() -> MutexGuard<'static, Vec<(PathBuf, Weak<AtomicU64>)>> {
    // A poisoned lock still guards a usable list: additions and removals cannot be half done.
    COUNTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
