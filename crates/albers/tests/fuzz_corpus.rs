//! What the fuzz targets begin with, and what they found, on any compiler: whole, cut short, and with
//! single bytes changed.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

#[path = "../../../fuzz/src/readers.rs"]
mod readers;

use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// The seeds of a reader, in the order of their names.
fn seeds(reader: &str) -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(reader);
    let mut seeds: Vec<(String, Vec<u8>)> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), fs::read(&path).unwrap()))
        .collect();
    seeds.sort();
    assert!(!seeds.is_empty(), "{} has seeds", folder.display());
    seeds
}

/// Runs a reader, and tells which bytes it panicked on.
fn assert_read(reader: fn(&[u8]), bytes: &[u8], what: &str) {
    let read = panic::catch_unwind(AssertUnwindSafe(|| reader(bytes)));
    assert!(read.is_ok(), "a reader panicked on {what}");
}

#[test]
fn every_seed_is_read_or_refused_and_never_panics() {
    for (name, reader) in readers::READERS {
        for (path, bytes) in seeds(name) {
            assert_read(reader, &bytes, &path);
        }
    }
}

#[test]
fn a_seed_that_is_cut_short_never_panics() {
    for (name, reader) in readers::READERS {
        for (path, bytes) in seeds(name) {
            let step = bytes.len().div_ceil(64).max(1);
            for end in (0..bytes.len()).step_by(step) {
                assert_read(reader, &bytes[..end], &format!("the first {end} bytes of {path}"));
            }
        }
    }
}

#[test]
fn a_seed_with_changed_bytes_never_panics() {
    for (name, reader) in readers::READERS {
        let seeds = seeds(name);
        let change = (0..seeds.len(), prop::collection::vec((any::<u32>(), any::<u8>()), 1..4));
        let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
        let outcome = runner.run(&change, |(seed, changes)| {
            let (path, mut bytes) = seeds[seed].clone();
            for &(place, byte) in &changes {
                let place = place as usize % bytes.len();
                bytes[place] = byte;
            }
            assert_read(reader, &bytes, &format!("{path} with changes {changes:?}"));
            Ok(())
        });
        outcome.unwrap();
    }
}
