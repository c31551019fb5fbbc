//! Who may use a store at the same time.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use albers_storage::store::disk::MemoryDisk;
use albers_storage::store::{Access, Store};

use crate::common::*;

fn refusal(folder: &Path, access: Access) -> String {
    Store::open(folder, FORMAT, access).unwrap_err().to_string()
}

#[test]
fn one_writer_or_many_readers_have_a_folder() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("index");
    let writer = Store::create(&folder, FORMAT).unwrap();
    assert!(refusal(&folder, Access::Write).contains("reads or writes it; wait"));
    assert!(refusal(&folder, Access::Read).contains("writes it; wait"));
    drop(writer);
    let readers = [(); 3].map(|()| Store::open(&folder, FORMAT, Access::Read).unwrap());
    assert!(refusal(&folder, Access::Write).contains("reads or writes it; wait"));
    assert!(readers[0].begin().unwrap_err().to_string().contains("reading only"));
    drop(readers);
    Store::open(&folder, FORMAT, Access::Write).unwrap();
}

#[test]
fn a_snapshot_keeps_the_folder() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("index");
    let store = Store::create(&folder, FORMAT).unwrap();
    let snapshot = store.snapshot().unwrap();
    drop(store);
    assert!(refusal(&folder, Access::Write).contains("in use"));
    assert_eq!(state_of(&snapshot).unwrap(), State::default());
    drop(snapshot);
    Store::open(&folder, FORMAT, Access::Write).unwrap();
}

#[test]
fn a_store_is_created_in_an_empty_folder_only_and_is_private() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("index");
    drop(Store::create(&folder, FORMAT).unwrap());
    let error = Store::create(&folder, FORMAT).unwrap_err().to_string();
    assert!(error.contains("index") && error.contains("not empty"), "{error}");
    let missing = refusal(parent.path(), Access::Read);
    assert!(missing.contains("holds no index"), "{missing}");
    assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 1, "a lock was left behind");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        for entry in std::fs::read_dir(&folder).unwrap() {
            assert_eq!(mode(&entry.unwrap().path()), 0o600);
        }
    }
}

#[test]
fn a_reader_leaves_the_files_as_they_are() {
    let disk = MemoryDisk::new();
    let mut progress = Progress { committed: Some(State::default()), attempted: None };
    let store = small_batch(create(&disk), 0, &mut progress).unwrap();
    // As if the process had been killed here: the catalogue has to be repaired by who opens it.
    let killed = disk.copy();
    drop(store);
    let before = killed.bytes("catalogue.redb");
    let reader = try_open(&killed, Access::Read).unwrap();
    assert_eq!(Some(state(&reader)), progress.committed);
    assert_eq!(problems(&reader), Vec::<String>::new());
    drop(reader);
    assert_eq!(killed.bytes("catalogue.redb"), before);
}

#[test]
fn a_second_batch_is_refused_while_one_is_under_way() {
    let store = create(&MemoryDisk::new());
    let changes = store.begin().unwrap();
    assert!(store.begin().unwrap_err().to_string().contains("another batch"));
    assert!(store.check(&mut |_| {}).unwrap_err().to_string().contains("batch"));
    drop(changes);
    store.begin().unwrap().commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    assert!(store.compact().unwrap_err().to_string().contains("snapshot"));
    drop(snapshot);
}

#[test]
fn a_snapshot_reads_its_old_content_while_others_commit_and_free() {
    let disk = MemoryDisk::new();
    let mut progress = Progress { committed: Some(State::default()), attempted: None };
    let mut store = small_batch(create(&disk), 0, &mut progress).unwrap();
    let old = store.snapshot().unwrap();
    let old_state = progress.committed.clone().unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut n_reads = 0;
            while !done.load(Ordering::SeqCst) || n_reads < 3 {
                assert_eq!(state_of(&old).unwrap(), old_state);
                n_reads += 1;
            }
        });
        for number in 1..40 {
            store = small_batch(store, number, &mut progress).unwrap();
            assert_eq!(Some(state(&store)), progress.committed);
        }
        done.store(true, Ordering::SeqCst);
        reader.join().unwrap();
    });
    assert_eq!(state_of(&old).unwrap(), old_state);
}
