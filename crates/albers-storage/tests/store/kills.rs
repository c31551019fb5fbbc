//! A process that is killed leaves a whole store.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use albers_storage::store::disk::{FolderDisk, KillingDisk, Moment};
use albers_storage::store::{Access, Store};

use crate::common::*;

/// The folder of the store, in the environment of the child.
const FOLDER: &str = "STORE_TEST_FOLDER";
/// At which call the child dies.
const NTH: &str = "STORE_TEST_NTH";

/// Opens the store and changes it until it is killed; says the number of every batch that is
/// committed.
fn child(folder: &Path) {
    let nth = std::env::var(NTH).unwrap().parse::<u64>().unwrap();
    let moment = if nth.is_multiple_of(2) { Moment::Before } else { Moment::After };
    let disk = KillingDisk::new(Arc::new(FolderDisk::new(folder)), nth / 2, moment);
    let mut store = Store::open_on(Arc::new(disk), FORMAT, Access::Write, CACHE_BYTES).unwrap();
    let first = n_batches(&store);
    let mut stdout = std::io::stdout();
    for number in first.. {
        let mut changes = store.begin().unwrap();
        changes.put(RECORDS, b"batches", &(number + 1).to_le_bytes()).unwrap();
        let name = [(number % 4) as u8];
        let n_bytes = number % 3 * PAYLOAD_BYTES + 10;
        set_extent(&mut changes, &name, &bytes_of(number, n_bytes)).unwrap();
        changes.commit().unwrap();
        writeln!(stdout, "committed {}", number + 1).unwrap();
        if number % 5 == 4 {
            store = store.compact().unwrap();
        }
    }
}

fn n_batches(store: &Store) -> usize {
    let found = store.snapshot().unwrap().get(RECORDS, b"batches").unwrap();
    found.map_or(0, |bytes| usize::from_le_bytes(bytes.try_into().unwrap()))
}

/// Runs a child until it has said that it committed `n_lines` batches, or died; answers the number of
/// the last one.
fn run_child(test: &str, folder: &Path, nth: u64, n_lines: usize) -> Option<usize> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .env(NTH, nth.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The harness says the name of the test in the same line as the child its first words.
    let numbers = lines.map_while(Result::ok).filter_map(|line| {
        line.split_once("committed ").map(|(_, number)| number.parse().unwrap())
    });
    let last = numbers.take(n_lines).last();
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success(), "the child was not killed");
    last
}

/// The store after a child is what its last batch left, or the one that it had not finished.
fn check_after(folder: &Path, committed: usize) -> usize {
    let store = Store::open(folder, FORMAT, Access::Write).unwrap();
    let n_batches = n_batches(&store);
    assert!(n_batches >= committed, "batch {committed} was lost, {n_batches} are left");
    let mut expected = State::default();
    for number in 0..n_batches {
        let bytes = bytes_of(number, number % 3 * PAYLOAD_BYTES + 10);
        expected.extents.insert(vec![(number % 4) as u8], bytes);
    }
    if n_batches > 0 {
        expected.records.insert(b"batches".to_vec(), n_batches.to_le_bytes().to_vec());
    }
    assert_eq!(state(&store), expected);
    assert_eq!(problems(&store), Vec::<String>::new());
    n_batches
}

fn n_kills() -> u64 {
    std::env::var("STORE_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(20)
}

#[test]
fn a_process_that_dies_at_any_call_leaves_a_whole_store() {
    if let Ok(folder) = std::env::var(FOLDER) {
        return child(Path::new(&folder));
    }
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("index");
    drop(Store::create(&folder, FORMAT).unwrap());
    let mut committed = 0;
    for kill in 0..n_kills() {
        // Some number below 400, another one for every kill.
        let nth = 2 + kill.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 397;
        let name = "kills::a_process_that_dies_at_any_call_leaves_a_whole_store";
        let last = run_child(name, &folder, nth, usize::MAX);
        let before = last.unwrap_or(committed);
        committed = check_after(&folder, before);
        assert!(committed <= before + 1, "kill at {nth}: a batch happened twice");
    }
    assert!(committed > 20, "the children did too little");
}

#[test]
fn a_process_that_is_killed_at_any_moment_leaves_a_whole_store() {
    if let Ok(folder) = std::env::var(FOLDER) {
        return child(Path::new(&folder));
    }
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("index");
    drop(Store::create(&folder, FORMAT).unwrap());
    let mut committed = 0;
    for kill in 0..n_kills() / 2 {
        let name = "kills::a_process_that_is_killed_at_any_moment_leaves_a_whole_store";
        let last = run_child(name, &folder, u64::MAX, 1 + kill as usize * 5 % 9);
        assert!(last > Some(committed));
        committed = check_after(&folder, last.unwrap());
    }
}
