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

/// Two files that are ready for their names, with the same text in both.
fn staged_pair(paths: &[PathBuf; 2], text: &str) -> Staged {
    let sealed = |path: &PathBuf| {
        let mut output = OutputFile::create(path).unwrap();
        output.write_all(text.as_bytes()).unwrap();
        output.seal().unwrap()
    };
    Staged::of(paths.iter().map(sealed).collect()).unwrap()
}

fn texts(paths: &[PathBuf; 2]) -> [String; 2] {
    paths.each_ref().map(|path| std::fs::read_to_string(path).unwrap())
}

/// One run stops between its two names, another one replaces both, and the first one goes on.
#[test]
fn a_run_that_loses_leaves_the_release_of_the_one_that_won() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    let mut loser = staged_pair(&paths, "loser");
    loser.waiting[0].appear(&mut lock()).unwrap();
    staged_pair(&paths, "winner").name().unwrap();
    assert!(loser.waiting[1].appear(&mut lock()).is_err());
    assert_eq!(loser.take_back(), Vec::<String>::new());
    drop(loser);
    assert_eq!(texts(&paths), ["winner", "winner"]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// The same where there was something before: nobody knows whether it is still wanted, so it stays.
#[test]
fn a_run_that_loses_in_the_place_of_others_leaves_the_winners_and_says_where_theirs_are() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    for path in &paths {
        std::fs::write(path, "old").unwrap();
    }
    let mut loser = staged_pair(&paths, "loser");
    loser.waiting[0].appear(&mut lock()).unwrap();
    // The winner would wait for the second file, which is still locked.
    OutputFile::create(&paths[0]).unwrap().finish().unwrap();
    let left = loser.take_back();
    assert!(left.len() == 1 && left[0].contains("another program has written it"), "{left:?}");
    drop(loser);
    assert_eq!(texts(&paths), ["", "old"]);
    let beside = left[0].split("before is in ").nth(1).unwrap().trim_end_matches(')');
    assert_eq!(std::fs::read_to_string(beside).unwrap(), "old");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[test]
fn a_file_that_was_removed_meanwhile_is_taken_back_to_what_was_before() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    std::fs::write(&paths[0], "old").unwrap();
    let mut staged = staged_pair(&paths, "new");
    staged.name_in_order(&mut lock()).unwrap();
    paths.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    assert_eq!(staged.take_back(), Vec::<String>::new());
    drop(staged);
    assert_eq!(std::fs::read_to_string(&paths[0]).unwrap(), "old");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn all_that_was_there_before_and_cannot_be_removed_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    for path in &paths {
        std::fs::write(path, "old").unwrap();
    }
    let mut staged = staged_pair(&paths, "new");
    staged.name_in_order(&mut lock()).unwrap();
    let is_beside = |path: &PathBuf| !paths.contains(path);
    let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let beside: Vec<PathBuf> = names.filter(is_beside).collect();
    assert_eq!(beside.len(), 2);
    for path in &beside {
        // A folder is not removed as a file, not even by root.
        std::fs::remove_file(path).unwrap();
        std::fs::create_dir(path).unwrap();
    }
    let error = staged.forget_what_was(&mut lock()).unwrap_err();
    let message = error.to_string();
    assert!(matches!(error, StorageError::OldStays { .. }), "{message}");
    assert!(beside.iter().all(|path| message.contains(path.to_str().unwrap())), "{message}");
    assert_eq!(texts(&paths), ["new", "new"]);
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
