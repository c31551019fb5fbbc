//! How many cases of each kind a test has run, so that none of its promises is vacuous.

use std::collections::BTreeMap;
use std::sync::Mutex;

/// Counts by kind. Several threads may count at once.
pub struct Tally {
    counts: Mutex<BTreeMap<String, usize>>,
}

impl Tally {
    pub const fn new() -> Tally {
        Tally { counts: Mutex::new(BTreeMap::new()) }
    }

    /// Counts a case of a kind.
    pub fn count(&self, kind: impl Into<String>) {
        let mut counts = self.counts.lock().expect("no counting fails");
        *counts.entry(kind.into()).or_insert(0) += 1;
    }

    /// Fails unless there were so many cases of each of these kinds.
    pub fn assert_at_least(&self, least: usize, kinds: &[impl ToString]) {
        let counts = self.counts.lock().expect("no counting fails");
        for kind in kinds.iter().map(ToString::to_string) {
            let n_cases = counts.get(&kind).copied().unwrap_or(0);
            assert!(n_cases >= least, "{n_cases} cases '{kind}', not {least}: {counts:?}");
        }
    }
}
