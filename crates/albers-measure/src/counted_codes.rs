//! The codes of an attribute with their rows, in bounded memory.
//!
//! Guarantee: a code that is counted has been counted from its first row on: all codes where there
//! is room for them, and else those of least hash, whatever the order of the rows.
//! Cost: O(1) per row.

use albers_table::code::Code;
use albers_table::distinct_sample::halved;
use albers_table::mix::mix;
use rustc_hash::FxHashMap;

/// What a counted code takes in a table that is half full.
const CODE_BYTES: usize = 32;
/// Codes that are counted in any memory.
const LEAST_CODES: usize = 1 << 10;

/// Codes with the number of their rows, and of those that are marked.
pub(crate) enum CountedCodes {
    /// All of them, by code.
    All(Vec<(u32, u32)>),
    /// Those of least hash.
    Sample {
        /// The most that are held.
        limit: usize,
        /// Codes of this hash or more are not among them; nothing where all are.
        bound: Option<u64>,
        /// The codes.
        found: FxHashMap<Code, (u32, u32)>,
    },
}

impl CountedCodes {
    /// No code yet, of those up to a greatest one.
    pub(crate) fn new(greatest: Code, n_bytes: usize) -> CountedCodes {
        let all_bytes = (greatest.index() + 1).saturating_mul(size_of::<(u32, u32)>());
        if all_bytes <= n_bytes {
            return CountedCodes::All(Vec::new());
        }
        let limit = (n_bytes / CODE_BYTES).max(LEAST_CODES);
        CountedCodes::Sample { limit, bound: None, found: FxHashMap::default() }
    }

    /// Adds so many rows of a code, and marks so many.
    pub(crate) fn add(&mut self, code: Code, n_rows: u32, n_marked: u32) {
        let counted = match self {
            CountedCodes::All(codes) => {
                let place = code.index();
                if place >= codes.len() {
                    codes.resize(place + 1, (0, 0));
                }
                &mut codes[place]
            }
            CountedCodes::Sample { limit, bound, found } => {
                let is_beyond = |bound: &Option<u64>| bound.is_some_and(|own| hash_of(code) >= own);
                if is_beyond(bound) {
                    return;
                }
                while found.len() >= *limit && !found.contains_key(&code) {
                    shrink(bound, found);
                    if is_beyond(bound) {
                        return;
                    }
                }
                found.entry(code).or_default()
            }
        };
        counted.0 = counted.0.saturating_add(n_rows);
        counted.1 = counted.1.saturating_add(n_marked);
    }

    /// Shows the rows of each code, and those that are marked.
    pub(crate) fn for_each(&self, mut see: impl FnMut(u32, u32)) {
        match self {
            CountedCodes::All(codes) => codes.iter().for_each(|&(rows, marked)| see(rows, marked)),
            CountedCodes::Sample { found, .. } => {
                found.values().for_each(|&(rows, marked)| see(rows, marked));
            }
        }
    }

    /// The share of the codes that are counted.
    pub(crate) fn sampled_share(&self) -> f64 {
        match self {
            CountedCodes::Sample { bound: Some(bound), .. } => *bound as f64 / 2f64.powi(64),
            _ => 1.0,
        }
    }
}

/// Keeps the codes below half of the bound, about half of them.
fn shrink(bound: &mut Option<u64>, found: &mut FxHashMap<Code, (u32, u32)>) {
    let half = halved(*bound);
    *bound = Some(half);
    found.retain(|&code, _| hash_of(code) < half);
}

fn hash_of(code: Code) -> u64 {
    mix(u64::from(code.get()))
}
