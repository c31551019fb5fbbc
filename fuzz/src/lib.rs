//! Fuzz targets of everything that reads what comes from outside.
//!
//! `bench/fuzz.sh` builds and runs all of them; with a nightly compiler `cargo fuzz run csv` runs one.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

pub mod readers;

/// Runs a reader; a panic that comes out of it ends the process. One that is caught further in does
/// not, unlike with the hook that the fuzzer sets: the guard around foreign decoders is part of what
/// is tested.
pub fn run(name: &str, bytes: &[u8]) {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| panic::set_hook(Box::new(|_| {})));
    let (_, reader) = readers::READERS.iter().find(|(own, _)| *own == name).expect("a reader's name");
    if panic::catch_unwind(AssertUnwindSafe(|| reader(bytes))).is_err() {
        eprintln!("the reader '{name}' panicked");
        std::process::abort();
    }
}
