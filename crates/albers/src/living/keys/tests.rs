use std::collections::BTreeMap;
use std::sync::Arc;

use albers_storage::store::disk::MemoryDisk;
use albers_storage::store::{Format, Store};

use super::*;

fn hash(number: u64) -> KeyHash {
    KeyHash::of(&[7; 16], &number.to_le_bytes())
}

fn entry(number: u64, row: u32, is_gone: bool) -> KeyEntry {
    KeyEntry { hash: hash(number), row: RowNumber::new(row), is_gone, content: number }
}

/// Runs with many blocks, in which keys come again and go.
#[test]
fn of_several_entries_of_a_key_the_newest_counts() {
    let format = Format { name: "a test", version: 1 };
    let store = Store::create_on(Arc::new(MemoryDisk::new()), format, 1 << 20).unwrap();
    let mut changes = store.begin().unwrap();
    let mut known: BTreeMap<KeyHash, KeyEntry> = BTreeMap::new();
    let mut runs = Vec::new();
    for (run, step) in [(0u32, 1u64), (1, 3), (2, 7), (3, 9_000)] {
        let numbers = (0..30_000).step_by(step as usize);
        let mut entries: Vec<KeyEntry> =
            numbers.map(|number| entry(number, run * 30_000 + number as u32, step == 7)).collect();
        entries.sort_unstable_by_key(|own| own.hash);
        known.extend(entries.iter().map(|own| (own.hash, *own)));
        let write = &mut |bytes: &[u8]| Ok(changes.write(bytes)?);
        runs.push(KeyRun::write(entries.into_iter().map(Ok), write).unwrap());
    }
    let pages = changes.pages().unwrap();
    let read = |extent, range| pages.read_range(extent, range);
    let mut asked: Vec<KeyHash> = (0..31_000).step_by(11).map(hash).collect();
    asked.sort_unstable();
    let found = find(&runs, &asked, &read).unwrap();
    for (hash, found) in asked.iter().zip(found) {
        assert_eq!(found, known.get(hash).copied());
    }
    let all: Vec<KeyEntry> = NewestKeys::new(&runs, &read).unwrap().collect::<Result<_>>().unwrap();
    assert_eq!(all, known.values().copied().collect::<Vec<_>>());
    let from = asked[700];
    let rest = NewestKeys::from(&runs, from, &read).unwrap().collect::<Result<Vec<_>>>().unwrap();
    assert_eq!(rest, known.range(from..).map(|(_, own)| *own).collect::<Vec<_>>());
}

#[test]
fn runs_of_about_one_size_are_merged_when_they_are_many() {
    let run = |n_entries: u64| KeyRun { n_entries, extents: Vec::new(), fences: Vec::new() };
    let sizes = |sizes: &[u64]| due(&sizes.iter().map(|&size| run(size)).collect::<Vec<_>>());
    assert_eq!(sizes(&[]), None);
    assert_eq!(sizes(&[5; 8]), None);
    assert_eq!(sizes(&[5; 9]), Some(0));
    assert_eq!(sizes(&[1_000_000, 5, 5, 5, 5, 5, 5, 5, 5, 5]), Some(1));
}
