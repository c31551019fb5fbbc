//! Files that are foreign, newer or damaged are refused by name, and never believed.

use std::sync::Arc;

use albers_storage::StorageError;
use albers_storage::store::disk::MemoryDisk;
use albers_storage::store::{Access, Format, Store};

use twox_hash::XxHash3_64;

use crate::common::*;

const CATALOGUE: &str = "catalogue.redb";

/// A store of two extents, of one and of three pages.
fn small_store() -> MemoryDisk {
    let disk = MemoryDisk::new();
    let store = create(&disk);
    let mut changes = store.begin().unwrap();
    set_extent(&mut changes, b"small", b"small").unwrap();
    set_extent(&mut changes, b"large", &bytes_of(3, 2 * PAYLOAD_BYTES + 9)).unwrap();
    for key in 0..200_u32 {
        changes.put(RECORDS, &key.to_be_bytes(), &bytes_of(key as usize, 30)).unwrap();
    }
    changes.commit().unwrap();
    drop(store);
    disk
}

fn flip(disk: &MemoryDisk, name: &str, offset: usize) {
    let mut bytes = disk.bytes(name).unwrap();
    bytes[offset] ^= 0x10;
    disk.set_bytes(name, bytes);
}

fn refusal(disk: &MemoryDisk, format: Format, access: Access) -> String {
    Store::open_on(Arc::new(disk.clone()), format, access, CACHE_BYTES).unwrap_err().to_string()
}

#[test]
fn a_damaged_page_is_found_by_read_and_named_by_check() {
    let disk = small_store();
    for page in 1..5 {
        for within in [0, 5, 9, PAYLOAD_BYTES - 1, PAGE_BYTES - 1] {
            let damaged = disk.copy();
            let offset = page * PAGE_BYTES;
            flip(&damaged, "pages.1", offset + within);
            let store = open(&damaged);
            let error = state_of(&store.snapshot().unwrap()).unwrap_err().to_string();
            let extent = if page == 1 { 1 } else { 2 };
            let place = format!("page {page} (at byte {offset}), of extent {extent},");
            assert!(error.contains("pages.1") && error.contains(&place), "{error}");
            let problems = problems(&store);
            assert!(problems.len() == 1 && problems[0].contains(&place), "{problems:?}");
        }
    }
}

#[test]
fn a_range_reads_only_the_pages_that_hold_it() {
    let disk = small_store();
    flip(&disk, "pages.1", 3 * PAGE_BYTES);
    let store = open(&disk);
    let snapshot = store.snapshot().unwrap();
    let record = snapshot.get(NAMES, b"large").unwrap().unwrap();
    let extent = albers_storage::store::Extent::from_bytes(&record).unwrap();
    let bytes = bytes_of(3, 2 * PAYLOAD_BYTES + 9);
    let end = bytes.len() as u64;
    let payload_bytes = PAYLOAD_BYTES as u64;
    assert_eq!(snapshot.read_range(extent, 5..payload_bytes).unwrap(), bytes[5..PAYLOAD_BYTES]);
    let tail = snapshot.read_range(extent, 2 * payload_bytes..end + 70).unwrap();
    assert_eq!(tail, bytes[2 * PAYLOAD_BYTES..]);
    assert!(snapshot.read_range(extent, 0..payload_bytes + 1).is_err());
    assert_eq!(snapshot.read_range(extent, end..end + 5).unwrap(), b"");
}

#[test]
fn the_page_file_is_laid_out_as_its_document_says() {
    let bytes = small_store().bytes("pages.1").unwrap();
    assert_eq!(bytes.len(), 5 * PAGE_BYTES);
    assert_eq!(&bytes[..16], b"albers pages\r\n\x1a\n");
    assert_eq!(bytes[16..32], [1, 0, 0, 0, 0, 128, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes[48..PAYLOAD_BYTES], vec![0; PAYLOAD_BYTES - 48]);
    let store_id = &bytes[32..48];
    for (page, extent) in [(0, 0), (1, 1), (2, 2), (3, 2), (4, 2_u64)] {
        let place = [store_id, &u64::to_le_bytes(page), &extent.to_le_bytes()].concat();
        let seed = XxHash3_64::oneshot(&place);
        let (payload, checksum) =
            bytes[page as usize * PAGE_BYTES..][..PAGE_BYTES].split_at(PAYLOAD_BYTES);
        let expected = XxHash3_64::oneshot_with_seed(seed, payload);
        assert_eq!(checksum, expected.to_le_bytes(), "page {page}");
    }
    assert_eq!(&bytes[PAGE_BYTES..][..6], b"small\0");
}

#[test]
fn a_page_at_the_wrong_place_is_found() {
    let disk = small_store();
    let mut bytes = disk.bytes("pages.1").unwrap();
    let (front, behind) = bytes.split_at_mut(3 * PAGE_BYTES);
    front[2 * PAGE_BYTES..].swap_with_slice(&mut behind[..PAGE_BYTES]);
    disk.set_bytes("pages.1", bytes);
    assert_eq!(problems(&open(&disk)).len(), 2);
}

#[test]
fn a_page_file_that_is_cut_is_refused_and_named_by_check() {
    let disk = small_store();
    let mut bytes = disk.bytes("pages.1").unwrap();
    bytes.truncate(3 * PAGE_BYTES);
    disk.set_bytes("pages.1", bytes);
    assert!(refusal(&disk, FORMAT, Access::Write).contains("outside of the page file"));
    let store = try_open(&disk, Access::Read).unwrap();
    assert!(state_of(&store.snapshot().unwrap()).is_err());
    let problems = problems(&store);
    assert!(problems.len() == 1 && problems[0].contains("3 pages from page 2"), "{problems:?}");
}

#[test]
fn foreign_newer_and_damaged_headers_are_refused_by_name() {
    let disk = small_store();
    let other = small_store();
    let cases: [(&str, Vec<u8>, &str); 6] = [
        ("pages.1", other.bytes("pages.1").unwrap(), "foreign"),
        ("pages.1", Vec::new(), "damaged"),
        ("pages.1", vec![7; 3 * PAGE_BYTES], "foreign"),
        (CATALOGUE, Vec::new(), "foreign"),
        (CATALOGUE, b"id,name\n1,x\n".to_vec(), "foreign"),
        (CATALOGUE, disk.bytes(CATALOGUE).unwrap()[..2000].to_vec(), "damaged"),
    ];
    for (name, bytes, word) in cases {
        let damaged = disk.copy();
        damaged.set_bytes(name, bytes);
        for access in [Access::Read, Access::Write] {
            let error = refusal(&damaged, FORMAT, access);
            assert!(error.contains(name) && error.contains(word), "{error}");
        }
    }
    let newer = disk.copy();
    flip(&newer, "pages.1", 16 + 3);
    assert!(refusal(&newer, FORMAT, Access::Read).contains("newer"));
    let damaged = disk.copy();
    flip(&damaged, "pages.1", 100);
    assert!(refusal(&damaged, FORMAT, Access::Read).contains("damaged"));
}

#[test]
fn another_format_is_foreign_and_a_greater_version_is_newer() {
    let disk = small_store();
    let error = refusal(&disk, Format { name: "other", version: 3 }, Access::Write);
    assert!(error.contains(CATALOGUE) && error.contains("foreign"), "{error}");
    let error = refusal(&disk, Format { name: "test", version: 2 }, Access::Write);
    assert!(error.contains("newer format 3") && error.contains("2 at most"), "{error}");
    let store = Store::open_on(
        Arc::new(disk),
        Format { name: "test", version: 4 },
        Access::Write,
        CACHE_BYTES,
    );
    assert_eq!(store.unwrap().version(), 3);
}

/// Copies of a disk, each with one byte of the catalogue damaged: every byte of the engine's
/// header, and some of all pages that hold anything.
fn with_damaged_catalogues(disk: &MemoryDisk, mut each: impl FnMut(MemoryDisk, &str)) {
    let whole = disk.bytes(CATALOGUE).unwrap();
    let step = std::env::var("STORE_FLIP_STEP").ok().and_then(|n| n.parse().ok()).unwrap_or(307);
    let page = |offset: usize| &whole[offset & !0xfff..][..0x1000];
    let in_use = (320..whole.len()).step_by(step).filter(|at| page(*at).iter().any(|b| *b != 0));
    for offset in (0..320).chain(in_use) {
        for mask in [0x01, 0x80, 0xff] {
            let damaged = disk.copy();
            let mut bytes = whole.clone();
            bytes[offset] ^= mask;
            damaged.set_bytes(CATALOGUE, bytes);
            each(damaged, &format!("byte {offset} ^ {mask:02x}"));
        }
    }
}

fn expect_refusal(error: &StorageError, place: &str) {
    let message = error.to_string();
    let is_known = ["is damaged", "is foreign"].iter().any(|word| message.contains(word));
    assert!(is_known && message.contains(CATALOGUE), "{place}: {message}");
}

#[test]
fn a_damaged_catalogue_is_refused_whenever_it_is_opened_or_reads_as_it_was_written() {
    let disk = small_store();
    let expected = state(&try_open(&disk, Access::Read).unwrap());
    let (mut n_refused, mut n_read) = (0, 0);
    with_damaged_catalogues(&disk, |damaged, place| {
        let before = damaged.bytes(CATALOGUE);
        match try_open(&damaged, Access::Read) {
            Ok(store) => assert_eq!(state(&store), expected, "{place}"),
            Err(error) => expect_refusal(&error, place),
        }
        assert_eq!(damaged.bytes(CATALOGUE), before, "{place}: a reader has written");
        match try_open(&damaged, Access::Write) {
            Ok(store) => {
                assert_eq!(state(&store), expected, "{place}");
                let mut progress = Progress { committed: Some(expected.clone()), attempted: None };
                let store = small_batch(store, 0, &mut progress).unwrap().compact().unwrap();
                assert_eq!(Some(state(&store)), progress.committed, "{place}");
                n_read += 1;
            }
            Err(error) => {
                expect_refusal(&error, place);
                assert_eq!(damaged.bytes(CATALOGUE), before, "{place}: the damage was mended");
                n_refused += 1;
            }
        }
    });
    assert!(n_refused > 100 && n_read > 0, "{n_refused} refused, {n_read} read");
}

/// Where a process was killed, a last commit that is damaged is like one that was never finished.
#[test]
fn a_damaged_catalogue_of_a_killed_process_is_refused_or_reads_as_some_commit_left_it() {
    let disk = MemoryDisk::new();
    let mut progress = Progress { committed: Some(State::default()), attempted: None };
    let mut store = create(&disk);
    let mut commits = vec![State::default()];
    for number in 0..3 {
        store = small_batch(store, number, &mut progress).unwrap();
        commits.extend(progress.committed.clone());
    }
    let killed = disk.copy();
    drop(store);
    with_damaged_catalogues(&killed, |damaged, place| {
        for access in [Access::Read, Access::Write] {
            match try_open(&damaged, access) {
                Ok(store) => assert!(commits[2..].contains(&state(&store)), "{place}"),
                Err(error) => expect_refusal(&error, place),
            }
        }
    });
}

#[test]
fn a_catalogue_that_is_damaged_while_it_is_open_is_named_by_check() {
    let disk = small_store();
    let whole = disk.bytes(CATALOGUE).unwrap();
    let record = bytes_of(100, 30);
    let offset = whole.windows(30).position(|bytes| bytes == record).unwrap();
    let store = try_open(&disk, Access::Read).unwrap();
    flip(&disk, CATALOGUE, offset);
    let problems = problems(&store);
    assert!(
        problems.len() == 1 && problems[0].contains("catalogue.redb is damaged"),
        "{problems:?}"
    );
}
