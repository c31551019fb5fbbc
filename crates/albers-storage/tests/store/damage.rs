//! Files that are foreign, newer or damaged are refused by name, and never believed.

use std::sync::Arc;

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

#[test]
fn a_damaged_catalogue_never_panics_and_is_never_right_to_the_check_when_it_is_wrong() {
    let disk = small_store();
    let expected = state(&try_open(&disk, Access::Read).unwrap());
    let n_bytes = disk.bytes(CATALOGUE).unwrap().len();
    let mut n_found = 0;
    let step = std::env::var("STORE_FLIP_STEP").ok().and_then(|n| n.parse().ok()).unwrap_or(1001);
    for offset in (9..400).step_by(7).chain((400..n_bytes).step_by(step)) {
        let damaged = disk.copy();
        flip(&damaged, CATALOGUE, offset);
        let mut progress = Progress { committed: Some(expected.clone()), attempted: None };
        let written = try_open(&damaged.copy(), Access::Write)
            .and_then(|store| small_batch(store, 0, &mut progress))
            .and_then(Store::compact);
        drop(written);
        let Ok(store) = try_open(&damaged, Access::Read) else {
            n_found += 1;
            continue;
        };
        let found = store.snapshot().and_then(|snapshot| state_of(&snapshot));
        if !matches!(found, Ok(found) if found == expected) {
            n_found += 1;
            let store = try_open(&damaged, Access::Read).unwrap();
            let mut n_problems = 0;
            let checked = store.check(&mut |_| n_problems += 1);
            assert!(checked.is_err() || n_problems > 0, "the damage at {offset} is not reported");
        }
    }
    assert!(n_found > 0, "nothing was damaged");
}
