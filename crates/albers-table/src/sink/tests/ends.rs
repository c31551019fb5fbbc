//! Where tables go: all of it appears, or nothing.

use std::io;
use std::sync::{Arc, Mutex};

use albers_storage::digest::digest_of;
use albers_storage::output::{Place, Purpose};

use super::*;
use crate::format::Format;

/// A stream whose bytes can be looked at, and that fails after some of them.
#[derive(Clone, Default)]
struct Pipe {
    bytes: Arc<Mutex<Vec<u8>>>,
    fault: Option<(usize, io::ErrorKind)>,
    is_flushed: Arc<Mutex<bool>>,
}

impl io::Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = self.bytes.lock().unwrap();
        match self.fault {
            Some((room, kind)) if written.len() + bytes.len() > room => Err(kind.into()),
            _ => {
                written.extend_from_slice(bytes);
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        *self.is_flushed.lock().unwrap() = true;
        Ok(())
    }
}

fn sealed(mut sink: impl Sink + 'static, manifest: &str) -> Box<dyn Sealed> {
    sink.begin(mixed_batch().schema(), WriteOptions::default()).unwrap();
    sink.write(&mixed_batch()).unwrap();
    let mut sealed = Box::new(sink).seal().unwrap();
    sealed.attach(manifest).unwrap();
    sealed
}

fn file(path: &Path) -> FileSink {
    FileSink::new(path, None, Some(manifest_of(path))).unwrap()
}

fn manifest_of(path: &Path) -> PathBuf {
    path.with_extension("json")
}

fn n_files(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_table_and_its_manifest_appear_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let table = sealed(file(&path), "{}");
    assert_eq!(n_files(folder.path()), 0);
    let digest = table.digest().unwrap().to_owned();
    name_all(vec![table]).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text_of("t.csv", &[mixed_batch()]));
    assert_eq!(digest_of(std::fs::File::open(&path).unwrap()).unwrap(), digest);
    assert_eq!(std::fs::read_to_string(manifest_of(&path)).unwrap(), "{}");
    assert_eq!(n_files(folder.path()), 2);
}

#[test]
fn data_does_not_stay_without_its_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("release.csv");
    let table = sealed(file(&path), "{}");
    // A folder takes the manifest's name at the last moment.
    std::fs::create_dir_all(manifest_of(&path).join("inside")).unwrap();
    let error = name_all(vec![table]).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("release.json") && error.contains("nothing was written"), "{error}");
    assert!(!path.exists());
}

#[test]
fn a_table_that_cannot_take_its_place_leaves_what_was_there_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("release.csv");
    let texts = ["release.md", "release.txt"].map(|name| folder.path().join(name));
    for old in [&path, &texts[0], &texts[1], &manifest_of(&path)] {
        std::fs::write(old, "earlier").unwrap();
    }
    let mut sink = file(&path).with_texts(&texts);
    sink.begin(mixed_batch().schema(), WriteOptions::default()).unwrap();
    let mut table = (Box::new(sink) as Box<dyn Sink>).seal().unwrap();
    table.attach_texts(&["one".to_owned(), "two".to_owned()]).unwrap();
    table.attach("{}").unwrap();
    // Somebody else writes the manifest at the last moment.
    std::fs::remove_file(manifest_of(&path)).unwrap();
    std::fs::write(manifest_of(&path), "another run").unwrap();
    let error = name_all(vec![table]).unwrap_err();
    assert!(matches!(error, TableError::Storage(StorageError::Overtaken { .. })), "{error}");
    for old in [&path, &texts[0], &texts[1]] {
        assert_eq!(std::fs::read_to_string(old).unwrap(), "earlier");
    }
    assert_eq!(std::fs::read_to_string(manifest_of(&path)).unwrap(), "another run");
    assert_eq!(n_files(folder.path()), 4);
}

#[test]
fn of_two_runs_on_one_output_one_wins_whole_and_the_other_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("release.csv");
    for is_there in [false, true] {
        let tables = [sealed(file(&path), "{1}"), sealed(file(&path), "{2}")];
        let outcomes = tables.map(|table| name_all(vec![table]));
        assert!(outcomes[0].is_ok());
        let error = outcomes[1].as_ref().unwrap_err().to_string();
        assert!(error.contains("release.csv was written by another program"), "{error}");
        assert_eq!(std::fs::read_to_string(manifest_of(&path)).unwrap(), "{1}", "{is_there}");
        assert_eq!(n_files(folder.path()), 2);
    }
}

#[test]
fn texts_appear_with_their_table_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("release.csv");
    let texts = ["release.md", "release.txt"].map(|name| folder.path().join(name));
    let with_texts = || {
        let mut table = Box::new(file(&path).with_texts(&texts));
        assert_eq!((table.format_beside(), file(&path).format_beside()), (Some(Format::Csv), None));
        table.begin(mixed_batch().schema(), WriteOptions::default()).unwrap();
        table.write(&mixed_batch()).unwrap();
        let mut table = (table as Box<dyn Sink>).seal().unwrap();
        table.attach_texts(&["one".to_owned(), "two".to_owned()]).unwrap();
        table.attach("{}").unwrap();
        assert!(!path.exists() && !texts[0].exists() && !texts[1].exists());
        table
    };
    name_all(vec![with_texts()]).unwrap();
    assert_eq!(texts.each_ref().map(|own| std::fs::read_to_string(own).unwrap()), ["one", "two"]);
    assert_eq!(n_files(folder.path()), 4);
    for own in [&path, &texts[0], &texts[1], &manifest_of(&path)] {
        std::fs::remove_file(own).unwrap();
    }
    // Whichever of the names is taken at the last moment, the others do not stay.
    for taken in [&texts[0], &texts[1], &manifest_of(&path)] {
        let table = with_texts();
        std::fs::create_dir_all(taken.join("inside")).unwrap();
        assert!(name_all(vec![table]).is_err());
        assert_eq!(n_files(folder.path()), 1, "only the folder in the way is left");
        std::fs::remove_dir_all(taken).unwrap();
    }
}

#[test]
fn tables_that_belong_together_appear_together() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.csv", "b.parquet", "c.csv"].map(|name| folder.path().join(name));
    let tables = || paths.iter().map(|path| sealed(file(path), "{}")).collect();
    name_all(tables()).unwrap();
    assert_eq!(n_files(folder.path()), 6);
    for path in &paths {
        std::fs::remove_file(path).unwrap();
        std::fs::remove_file(manifest_of(path)).unwrap();
    }
    let tables = tables();
    std::fs::create_dir(&paths[2]).unwrap();
    std::fs::write(paths[2].join("inside"), "x").unwrap();
    let error = name_all(tables).unwrap_err().to_string();
    assert!(error.contains("c.csv") && error.contains("nothing was written"), "{error}");
    assert_eq!(n_files(folder.path()), 1, "only the folder in the way is left");
}

#[test]
fn the_first_table_that_cannot_appear_is_a_plain_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let table = sealed(file(&path), "{}");
    std::fs::create_dir_all(path.join("inside")).unwrap();
    let error = name_all(vec![table]).unwrap_err();
    assert!(matches!(error, TableError::Storage(StorageError::Overtaken { .. })), "{error}");
}

#[test]
fn what_cannot_be_taken_back_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let other = folder.path().join("b.csv");
    let tables = vec![sealed(file(&path), "{}"), sealed(file(&other), "{}")];
    struct Lost(Box<dyn Sealed>);
    impl Sealed for Lost {
        fn files(&mut self) -> Vec<SealedFile> {
            self.0.files()
        }

        fn withdraw(&mut self) -> std::result::Result<(), String> {
            Err("a.csv (read-only)".to_owned())
        }
    }
    let tables = tables.into_iter().map(|table| Box::new(Lost(table)) as Box<dyn Sealed>);
    // The system gives the second name to somebody else between the look and the end.
    struct Late(PathBuf);
    impl Sealed for Late {
        fn appear(&mut self) -> Result<()> {
            std::fs::create_dir_all(self.0.join("inside")).unwrap();
            Ok(())
        }
    }
    let late = Box::new(Late(other.clone())) as Box<dyn Sealed>;
    let error = name_all(tables.chain([late]).collect()).unwrap_err().to_string();
    assert!(error.ends_with("throw them away: a.csv (read-only), a.csv (read-only)"), "{error}");
    assert!(!error.contains("nothing was written") && !path.exists(), "{error}");
}

#[test]
fn a_stream_gets_a_table_only_when_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = folder.path().join("m.json");
    for (format, name) in [(Format::Csv, "t.csv"), (Format::Tsv, "t.tsv")] {
        let pipe = Pipe::default();
        let place = Some(manifest.clone());
        let output = Box::new(pipe.clone());
        let sink = StreamSink::new(output, "standard output", format, folder.path(), place);
        let table = sealed(sink, "{}");
        assert!(pipe.bytes.lock().unwrap().is_empty() && !manifest.exists());
        name_all(vec![table]).unwrap();
        assert_eq!(*pipe.bytes.lock().unwrap(), text_of(name, &[mixed_batch()]).into_bytes());
        assert!(*pipe.is_flushed.lock().unwrap() && manifest.exists());
        std::fs::remove_file(&manifest).unwrap();
    }
}

#[test]
fn parquet_through_a_stream_has_the_same_bytes_as_in_a_file() {
    let (folder, path) = written("t.parquet", &[mixed_batch()]);
    let pipe = Pipe::default();
    let output = Box::new(pipe.clone());
    let sink = StreamSink::new(output, "standard output", Format::Parquet, folder.path(), None);
    assert!(sink.is_typed());
    let mut table = sealed(sink, "");
    let digest = table.digest().unwrap().to_owned();
    table.appear().unwrap();
    assert_eq!(*pipe.bytes.lock().unwrap(), std::fs::read(&path).unwrap());
    assert_eq!(digest_of(std::fs::File::open(&path).unwrap()).unwrap(), digest);
}

#[test]
fn a_reader_that_stops_is_no_error_and_a_full_disk_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let named = |kind, manifest: Option<PathBuf>| {
        let output = Box::new(Pipe { fault: Some((10, kind)), ..Pipe::default() });
        let sink = StreamSink::new(output, "standard output", Format::Csv, folder.path(), manifest);
        name_all(vec![sealed(sink, "{}")])
    };
    let manifest = folder.path().join("m.json");
    named(io::ErrorKind::BrokenPipe, None).unwrap();
    let error = named(io::ErrorKind::StorageFull, None).unwrap_err();
    assert!(matches!(error, TableError::Storage(StorageError::Send { .. })), "{error}");
    let error = named(io::ErrorKind::StorageFull, Some(manifest)).unwrap_err();
    assert!(matches!(error, TableError::Storage(StorageError::Send { .. })), "{error}");
    assert_eq!(n_files(folder.path()), 0);
}

#[test]
fn batches_appear_when_they_are_named() {
    let (sink, collected) = BatchSink::new();
    assert!(sink.is_typed());
    let mut table = sealed(sink, "{}");
    assert!(collected.take().is_empty() && collected.manifest().is_none());
    table.appear().unwrap();
    assert_eq!(collected.schema(), Some(mixed_batch().schema()));
    assert_eq!(collected.take(), [mixed_batch()]);
    assert_eq!(collected.manifest().as_deref(), Some("{}"));
    table.withdraw().unwrap();
    assert!(collected.manifest().is_none());
}

#[test]
fn a_sink_that_is_dropped_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    drop(sealed(file(&path), "{}"));
    let (sink, collected) = BatchSink::new();
    drop(sealed(sink, "{}"));
    assert!(collected.take().is_empty());
    assert_eq!(n_files(folder.path()), 0);
}

#[test]
fn a_given_format_counts_more_than_the_ending() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.gz");
    let mut sink = FileSink::new(&path, Some(Format::Parquet), None).unwrap();
    sink.begin(mixed_batch().schema(), WriteOptions::default()).unwrap();
    sink.finish().unwrap();
    assert!(std::fs::read(&path).unwrap().starts_with(b"PAR1"), "Parquet is never packed");
}

#[test]
fn the_digest_is_that_of_the_bytes_of_the_file_packed_or_not() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["t.csv", "t.csv.gz", "t.csv.zst", "t.parquet"] {
        let path = folder.path().join(name);
        let table = sealed(file(&path), "{}");
        let digest = table.digest().unwrap().to_owned();
        name_all(vec![table]).unwrap();
        assert_eq!(digest_of(std::fs::File::open(&path).unwrap()).unwrap(), digest, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_private_text_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("owner.json");
    let text = private_text(Purpose::Appear, &Place::look(&path), "{}").unwrap();
    assert!(!path.exists());
    name_all(vec![text]).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}
