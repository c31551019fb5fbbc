//! Tests of the store.

use super::*;

const FORMAT: Format = Format { name: "test", version: 3 };
const TABLE: Table = Table::new("records");

#[test]
fn what_is_committed_is_there_after_a_reopen() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("index");
    let store = Store::create(&folder, FORMAT).unwrap();
    let mut changes = store.begin().unwrap();
    changes.put(TABLE, b"key", b"value").unwrap();
    let bytes: Vec<u8> = (0..100_000_u32).map(|number| number as u8).collect();
    let extent = changes.write(&bytes).unwrap();
    let empty = changes.write(b"").unwrap();
    assert_eq!(changes.read(extent).unwrap(), bytes);
    changes.commit().unwrap();
    drop(store);
    let store = Store::open(&folder, FORMAT, Access::Read).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.get(TABLE, b"key").unwrap().unwrap(), b"value");
    assert_eq!(snapshot.read(extent).unwrap(), bytes);
    assert_eq!(snapshot.read(empty).unwrap(), b"");
    assert_eq!(snapshot.read_range(extent, 32_750..32_770).unwrap(), bytes[32_750..32_770]);
}
