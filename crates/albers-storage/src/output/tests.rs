//! Outputs that wait, that are named together, and that are packed.

use std::io::Read as _;

use super::*;

#[test]
fn an_output_dropped_before_finish_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.csv");
    let mut output = OutputFile::create(&target).unwrap();
    output.write_all(b"half").unwrap();
    drop(output);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_rehearsed_output_has_no_name_at_any_time() {
    let folder = tempfile::tempdir().unwrap();
    let names = || std::fs::read_dir(folder.path()).unwrap().count();
    let target = folder.path().join("out.csv");
    let mut output = OutputFile::create_for(Purpose::Rehearse, Place::look(&target)).unwrap();
    output.write_all(b"all").unwrap();
    assert_eq!(names(), 0);
    let sealed = output.seal().unwrap();
    assert_eq!(names(), 0);
    sealed.name().unwrap();
    assert_eq!(names(), 0);
}

#[test]
fn a_finished_output_replaces_its_target_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.csv");
    std::fs::write(&target, "old").unwrap();
    let mut output = OutputFile::create(&target).unwrap();
    output.write_all(b"new").unwrap();
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "old");
    output.finish().unwrap();
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "new");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_has_no_name_until_it_has_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.csv");
    let mut output = OutputFile::create(&target).unwrap();
    output.write_all(b"all").unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    output.finish().unwrap();
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "all");
}

#[cfg(unix)]
#[test]
fn a_replaced_output_keeps_its_rights_and_a_private_one_is_its_owners() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.csv");
    let mode = || std::fs::metadata(&target).unwrap().permissions().mode() & 0o777;
    std::fs::write(&target, "old").unwrap();
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o640)).unwrap();
    OutputFile::create(&target).unwrap().finish().unwrap();
    assert_eq!(mode(), 0o640);
    OutputFile::create(&target).unwrap().seal_private().unwrap().name().unwrap();
    assert_eq!(mode(), 0o600);
}

/// The last of some names is taken by a folder between the look and the end.
#[test]
fn files_that_cannot_all_have_their_names_leave_all_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b", "c"].map(|name| folder.path().join(name));
    std::fs::write(&paths[1], "old").unwrap();
    let sealed = |path| OutputFile::create(path).unwrap().seal().unwrap();
    let staged = Staged::of(paths.iter().map(|path| sealed(path)).collect()).unwrap();
    std::fs::create_dir(&paths[2]).unwrap();
    let error = staged.name().unwrap_err();
    assert!(matches!(error, StorageError::Overtaken { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(&paths[1]).unwrap(), "old");
    assert!(!paths[0].exists());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn files_that_wait_under_names_beside_take_their_places_alike() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    std::fs::write(&paths[1], "old").unwrap();
    let beside = |path: &PathBuf| {
        let (file, waits) = waiting_beside(folder.path()).unwrap();
        let mut output = OutputFile { file, waits, place: Place::look(path) };
        output.write_all(b"new").unwrap();
        output.seal().unwrap()
    };
    name_files(paths.iter().map(beside).collect()).unwrap();
    for path in &paths {
        assert_eq!(std::fs::read_to_string(path).unwrap(), "new");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn packed_outputs_read_back_as_written() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.csv", "a.csv.gz", "a.csv.zst"] {
        let target = folder.path().join(name);
        let mut output = PackedOutput::create(&target).unwrap();
        output.write_all(b"a,b\n1,2\n").unwrap();
        output.finish(&target).unwrap();
        let mut text = String::new();
        let mut input = crate::input::open_unpacked(&target).unwrap();
        input.read_to_string(&mut text).unwrap();
        assert_eq!(text, "a,b\n1,2\n", "{name}");
    }
}

#[test]
fn packed_bytes_are_the_same_in_whatever_pieces_they_come() {
    let folder = tempfile::tempdir().unwrap();
    let rows = (0..120_000u64).map(|row| format!("{},{}\n", row % 977, row * row % 10_007));
    let text = rows.collect::<String>().into_bytes();
    for name in ["a.csv.gz", "a.csv.zst"] {
        let target = folder.path().join(name);
        let packed = |n_bytes: usize| {
            let mut output = PackedOutput::create(&target).unwrap();
            text.chunks(n_bytes).for_each(|piece| output.write_all(piece).unwrap());
            output.finish(&target).unwrap();
            std::fs::read(&target).unwrap()
        };
        let whole = packed(text.len());
        for n_bytes in [997, 65_536, 300_000] {
            assert!(packed(n_bytes) == whole, "{name} in pieces of {n_bytes}");
        }
    }
}

#[test]
fn a_folder_as_target_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(OutputFile::create(folder.path()), Err(StorageError::IsFolder { .. })));
}

/// Whoever has the lock, as an interrupt has, finds no file that nobody would remove.
#[test]
fn a_file_that_waits_beside_is_known_as_long_as_it_is_there() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let folder = tempfile::tempdir().unwrap();
    let (watched, is_over) = (Mutex::new(PathBuf::new()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // Who does not sleep has the lock as soon as it is free.
                let Ok(files) = FILES.try_lock() else { continue };
                let path = watched.lock().unwrap();
                assert!(!path.exists() || files.unfinished.contains(&*path), "it is forgotten");
            }
        });
        let place = Place::free(&folder.path().join("out.csv"));
        for _ in 0..20_000 {
            let (file, waits) = waiting_beside(folder.path()).unwrap();
            if let Waits::Beside(path) = &waits {
                *watched.lock().unwrap() = path.to_path_buf();
            }
            drop(OutputFile { file, waits, place: place.clone() });
            if watcher.is_finished() {
                break;
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
