//! A process that is killed leaves a whole index: no committed row is lost, none is there twice.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use albers::sink::FileSink;
use albers::{Index, Job, ReleaseRequest, Silent};
use albers_storage::store::disk::{FolderDisk, KillingDisk, Moment};

use super::table::*;

/// The folder of the index, in the environment of the child.
const FOLDER: &str = "LIVING_TEST_FOLDER";
/// At which call the child dies.
const NTH: &str = "LIVING_TEST_NTH";

/// What a batch does.
enum Deed {
    Insert(People),
    Update(People),
    Delete(Vec<u32>),
    Sync(People),
}

fn person(id: u32, version: u32) -> Person {
    let mixed = (id * 7919 + version * 104_729) % 100_003;
    Person {
        age: (mixed % 90) as i32,
        zip: (mixed / 7 % 1000) as i32,
        illness: (mixed % 251) as u8,
    }
}

/// The batch of a number, on the people that those before left.
fn deed_of(number: u32, people: &People) -> Deed {
    let versioned = |ids: Vec<u32>| ids.into_iter().map(|id| (id, person(id, number))).collect();
    let some = |step: usize| people.keys().copied().skip(number as usize % step).step_by(step);
    let first = 20 * number;
    match number % 6 {
        _ if people.len() > 150 => Deed::Delete(some(2).collect()),
        0 | 5 => Deed::Insert(versioned((first..first + 14).collect())),
        1 => Deed::Insert(versioned(vec![first])),
        2 => Deed::Update(versioned(some(4).collect())),
        3 => Deed::Delete(some(9).collect()),
        _ => {
            let mut extract: People = people.clone();
            let gone: Vec<u32> = some(7).collect();
            extract.retain(|id, _| !gone.contains(id));
            extract.extend::<People>(versioned(some(5).collect()));
            extract.extend::<People>(versioned((first..first + 9).collect()));
            Deed::Sync(extract)
        }
    }
}

fn people_after(n_batches: u32) -> People {
    let mut people = People::new();
    for number in 0..n_batches {
        match deed_of(number, &people) {
            Deed::Insert(rows) | Deed::Update(rows) => people.extend(rows),
            Deed::Delete(ids) => people.retain(|id, _| !ids.contains(id)),
            Deed::Sync(rows) => people = rows,
        }
    }
    people
}

fn do_deed(index: &mut Index, deed: &Deed) {
    match deed {
        Deed::Insert(rows) => drop(insert(index, rows).unwrap()),
        Deed::Update(rows) => drop(index.update(&source(text_of(rows)), &Silent).unwrap()),
        Deed::Delete(ids) => drop(delete(index, ids).unwrap()),
        Deed::Sync(rows) => drop(index.sync(&source(text_of(rows)), 1.0, &Silent).unwrap()),
    }
}

fn accepting(batch: bool) -> ReleaseRequest {
    let mut request = ReleaseRequest { batch, ..with_keys() };
    request.accept.push("linkage".parse().unwrap());
    request
}

/// How far an index is: batches that were committed, and releases that its ledger knows.
fn progress(index: &Index) -> (u32, usize) {
    let info = index.info().unwrap();
    (info.batches as u32, info.releases.len())
}

fn release_file(folder: &Path, number: usize) -> std::path::PathBuf {
    folder.with_file_name(format!("release-{number}.csv"))
}

/// Opens the index, changes and releases it until it is killed; says what is committed.
fn child(folder: &Path) {
    let nth = std::env::var(NTH).unwrap().parse::<u64>().unwrap();
    let moment = if nth.is_multiple_of(2) { Moment::Before } else { Moment::After };
    let disk = KillingDisk::new(Arc::new(FolderDisk::new(folder)), nth / 2, moment);
    let mut index = Index::open_on(Arc::new(disk)).unwrap();
    let (mut n_batches, mut n_releases) = progress(&index);
    let mut people = people_after(n_batches);
    let mut stdout = std::io::stdout();
    loop {
        if n_releases < n_batches as usize / 3 {
            let path = release_file(folder, n_releases + 1);
            let sink = FileSink::new(&path, None, None).unwrap();
            let request = accepting(n_releases % 2 == 1);
            let report = index.release(&request, vec![Box::new(sink)], &Silent).unwrap();
            assert!(path.exists(), "what is released is there");
            n_releases = report.release as usize;
        } else {
            let deed = deed_of(n_batches, &people);
            do_deed(&mut index, &deed);
            n_batches += 1;
            people = people_after(n_batches);
        }
        writeln!(stdout, "committed {n_batches} {n_releases}").unwrap();
        if n_batches % 7 == 6 {
            index = index.compact(&Silent).unwrap();
        }
    }
}

/// Runs a child until it has said so many times that something is committed, or died; answers what
/// it said last.
fn run_child(test: &str, folder: &Path, nth: u64, n_lines: usize) -> Option<(u32, usize)> {
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
    let mut numbers = lines.map_while(Result::ok).filter_map(|line| {
        let (_, said) = line.split_once("committed ")?;
        let (batches, releases) = said.split_once(' ')?;
        Some((batches.parse().unwrap(), releases.parse().unwrap()))
    });
    let last = numbers.by_ref().take(n_lines).last();
    // Until somewhere in what it does next.
    for _ in 0..nth.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44 {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success(), "the child was not killed");
    numbers.last().or(last)
}

/// The index after a child is what its last batch left, or the one that it had not finished.
fn check_after(folder: &Path, said: (u32, usize)) -> (u32, usize) {
    let index = open(folder);
    let (n_batches, n_releases) = progress(&index);
    assert!((said.0..=said.0 + 1).contains(&n_batches), "a batch was lost or happened twice");
    assert!((said.1..=said.1 + 1).contains(&n_releases), "a release was lost or happened twice");
    assert!(
        (n_batches - said.0) as usize + (n_releases - said.1) <= 1,
        "more than one thing happened unsaid"
    );
    let named = (1..).take_while(|number| release_file(folder, *number).exists()).count();
    assert!(named <= n_releases, "a release appeared that the ledger does not know");
    assert!(index.check(&Silent).unwrap().problems.is_empty());
    drop(index);
    let people = people_after(n_batches);
    assert!(rows_in_copy(folder, &people) == people.len(), "rows are lost, doubled or others");
    (n_batches, n_releases)
}

/// Releases a copy of an index, and counts the rows that are as they should be.
fn rows_in_copy(folder: &Path, people: &People) -> usize {
    let copy = folder.with_file_name("copy");
    std::fs::create_dir(&copy).unwrap();
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), copy.join(file.file_name())).unwrap();
    }
    let mut index = open(&copy);
    let mut ids = std::collections::BTreeSet::new();
    if index.info().unwrap().rows > 0 {
        let (_, rows) = release(&mut index, &accepting(false)).unwrap();
        for row in rows {
            let id = row.id.unwrap();
            let own = people[&id];
            assert!(covers(&row.shown[0], own.age) && covers(&row.shown[1], own.zip));
            assert_eq!(row.illness, format!("i{}", own.illness));
            assert!(ids.insert(id), "a row is there twice");
        }
    }
    drop(index);
    std::fs::remove_dir_all(&copy).unwrap();
    ids.len()
}

fn n_kills() -> u64 {
    std::env::var("LIVING_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(30)
}

/// An index in a new folder.
fn begin() -> (tempfile::TempDir, std::path::PathBuf) {
    let parent = folder();
    let folder = parent.path().join("index");
    let job = Job { least_memory: Some("64KB".parse().unwrap()), ..job(3) };
    drop(Index::create(&folder, &job, "id").unwrap());
    (parent, folder)
}

/// Kills so many children, one after another on the same index, and begins anew now and then.
fn kill_children(test: &str, n_kills: u64, how: impl Fn(u64) -> (u64, usize)) {
    const ON_ONE_INDEX: u64 = 40;
    for first in (0..n_kills).step_by(ON_ONE_INDEX as usize) {
        let (_parent, folder) = begin();
        let mut said = (0, 0);
        for kill in first..n_kills.min(first + ON_ONE_INDEX) {
            let (nth, n_lines) = how(kill);
            said = run_child(test, &folder, nth, n_lines).unwrap_or(said);
            said = check_after(&folder, said);
        }
        assert!(said.0 > 3, "the children did too little");
    }
}

#[test]
fn a_process_that_dies_at_any_call_leaves_a_whole_index() {
    if let Ok(folder) = std::env::var(FOLDER) {
        return child(Path::new(&folder));
    }
    let name = "crash::a_process_that_dies_at_any_call_leaves_a_whole_index";
    // Some call of the first 300, before or after it, another one for every kill.
    kill_children(name, n_kills() * 2 / 3, |kill| {
        (2 + (kill.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % 599, usize::MAX)
    });
}

#[test]
fn a_process_that_is_killed_at_any_moment_leaves_a_whole_index() {
    if let Ok(folder) = std::env::var(FOLDER) {
        return child(Path::new(&folder));
    }
    let name = "crash::a_process_that_is_killed_at_any_moment_leaves_a_whole_index";
    kill_children(name, n_kills() / 3, |kill| (u64::MAX - kill, 1 + kill as usize * 5 % 9));
}
