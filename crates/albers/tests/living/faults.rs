//! Calls of a small history fail, in every way, and the power is cut: an index is what it was
//! before what failed, or what it would have been after.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::{Arc, OnceLock};

use albers::{Error, Index, ReleaseRequest, Result, Silent};
use albers_storage::store::disk::{Call, Disk, Fault, FaultyDisk, MemoryDisk};

use super::table::*;

/// One step of the history.
#[derive(Debug, Clone)]
enum Deed {
    Create,
    Insert(People),
    Update(People),
    Delete(Vec<u32>),
    Sync(People),
    Release { batch: bool },
    Compact,
}

/// What an index holds, as its owner knows it.
#[derive(Clone, Default, PartialEq)]
struct World {
    exists: bool,
    people: People,
    n_releases: u64,
}

impl World {
    fn after(&self, deed: &Deed) -> World {
        let mut world = self.clone();
        match deed {
            Deed::Create => world.exists = true,
            Deed::Insert(rows) | Deed::Update(rows) => world.people.extend(rows),
            Deed::Delete(ids) => world.people.retain(|id, _| !ids.contains(id)),
            Deed::Sync(rows) => world.people = rows.clone(),
            Deed::Release { .. } => world.n_releases += 1,
            Deed::Compact => {}
        }
        world
    }
}

fn people(ids: impl Iterator<Item = u32>, version: u32) -> People {
    let person = |id: u32| Person {
        age: ((id * 37 + version * 13) % 90) as i32,
        zip: (id * 101 % 1000) as i32,
        illness: ((id + version * 5) % 9) as u8,
    };
    ids.map(|id| (id, person(id))).collect()
}

/// Rows come through runs and one by one, change and go, and releases of all kinds are made.
fn history() -> Vec<Deed> {
    let mut extract = people(4..40, 0);
    extract.extend(people(20..24, 2));
    extract.extend(people(50..58, 1));
    vec![
        Deed::Create,
        Deed::Insert(people(0..30, 0)),
        Deed::Insert(people(30..31, 0)),
        Deed::Release { batch: false },
        Deed::Insert(people(31..43, 0)),
        Deed::Update(people(5..6, 1)),
        Deed::Update(people(10..22, 1)),
        Deed::Delete(vec![2]),
        Deed::Delete((3..20).collect()),
        Deed::Sync(extract),
        Deed::Release { batch: true },
        Deed::Compact,
        Deed::Insert(people(70..71, 0)),
        Deed::Release { batch: true },
    ]
}

/// An index that is open or not there yet.
type Opened = Option<Index>;

fn do_deed(deed: &Deed, disk: &Arc<dyn Disk>, opened: &mut Opened) -> Result<()> {
    if let Deed::Create = deed {
        let job = albers::Job { least_memory: Some("64KB".parse().unwrap()), ..job(3) };
        *opened = Some(Index::create_on(disk.clone(), &job, "id")?);
        return Ok(());
    }
    if let Deed::Compact = deed {
        let index = opened.take().unwrap();
        *opened = Some(index.compact(&Silent)?);
        return Ok(());
    }
    let index = opened.as_mut().unwrap();
    match deed {
        Deed::Insert(rows) => insert(index, rows).map(drop),
        Deed::Update(rows) => index.update(&source(text_of(rows)), &Silent).map(drop),
        Deed::Delete(ids) => delete(index, ids).map(drop),
        Deed::Sync(rows) => index.sync(&source(text_of(rows)), 1.0, &Silent).map(drop),
        Deed::Release { batch } => release(index, &accepting(*batch)).map(drop),
        Deed::Create | Deed::Compact => unreachable!("they are done above"),
    }
}

/// A release with keys, whatever it tells with those before.
fn accepting(batch: bool) -> ReleaseRequest {
    let mut request = ReleaseRequest { batch, ..with_keys() };
    request.accept.push("linkage".parse().unwrap());
    request
}

/// What an index on a disk holds; the disk stays as it is.
fn world_of(disk: &MemoryDisk) -> World {
    let mut index = match Index::open_on(Arc::new(disk.copy())) {
        Ok(index) => index,
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("no index") || text.contains("create it again"), "{text}");
            return World::default();
        }
    };
    let info = index.info().unwrap();
    let n_releases = info.releases.len() as u64;
    assert!(index.check(&Silent).unwrap().problems.is_empty());
    if info.rows == 0 {
        return World { exists: true, people: People::new(), n_releases };
    }
    let (_, rows) = release(&mut index, &accepting(false)).unwrap();
    // Ages and zips follow from the key and the illness.
    let versions: BTreeMap<(u32, String), Person> = (0..3)
        .flat_map(|version| people(0..80, version))
        .map(|(id, person)| ((id, format!("i{}", person.illness)), person))
        .collect();
    let mut found = People::new();
    for row in rows {
        let id = row.id.unwrap();
        let person = versions[&(id, row.illness)];
        assert!(covers(&row.shown[0], person.age) && covers(&row.shown[1], person.zip));
        assert!(found.insert(id, person).is_none(), "a row is there twice");
    }
    assert_eq!(found.len() as u64, info.rows);
    World { exists: true, people: found, n_releases }
}

/// The history, the disks before each of its deeds and after the last, and what the index is then.
struct Told {
    deeds: Vec<Deed>,
    disks: Vec<MemoryDisk>,
    worlds: Vec<World>,
}

/// The history, told once for all tests.
fn told() -> &'static Told {
    static TOLD: OnceLock<Told> = OnceLock::new();
    TOLD.get_or_init(Told::new)
}

impl Told {
    fn new() -> Told {
        let deeds = history();
        let mut disks = vec![MemoryDisk::new()];
        let mut worlds = vec![World::default()];
        for deed in &deeds {
            let disk = disks.last().unwrap().copy();
            let mut opened = open_if_there(&disk, &worlds.last().unwrap().clone());
            do_deed(deed, &(Arc::new(disk.clone()) as Arc<dyn Disk>), &mut opened).unwrap();
            drop(opened);
            let world = worlds.last().unwrap().after(deed);
            assert!(world_of(&disk) == world, "the history is not what it should be");
            disks.push(disk);
            worlds.push(world);
        }
        Told { deeds, disks, worlds }
    }

    /// An index after a fault at some deed is as it was before or after, and the rest can be done.
    fn continues(&self, disk: &MemoryDisk, at: usize, what: &str) {
        let found = world_of(disk);
        let is_before = found == self.worlds[at];
        assert!(is_before || found == self.worlds[at + 1], "{what}: neither before nor after");
        let rest = if is_before { at } else { at + 1 };
        let mut opened = open_if_there(disk, &found);
        let same: Arc<dyn Disk> = Arc::new(disk.clone());
        // One deed more than the one that failed is enough when not everything is tried.
        let end = if tries_all() { self.deeds.len() } else { self.deeds.len().min(at + 2) };
        for deed in &self.deeds[rest..end] {
            do_deed(deed, &same, &mut opened).unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        drop(opened);
        assert!(world_of(disk) == self.worlds[end.max(rest)], "{what}: it cannot go on");
    }

    /// Does one deed with a fault, after the one before it without; tells whether it happened.
    fn survives(&self, at: usize, fault: Fault) -> bool {
        let disk = self.disks[at.saturating_sub(1)].copy();
        let (faulty, outcome, mut opened) = self.run(&disk, at, fault);
        let what = format!("{fault:?} at {at}");
        let happened = has_happened(&faulty, fault);
        assert!(outcome.is_ok() || happened, "{what}: {outcome:?}");
        let is_read = matches!(fault, Fault::Nth { call: Call::Read | Call::Open, .. });
        if let (Err(_), false, Some(index)) = (&outcome, is_read, &mut opened) {
            let again = insert(index, &people(60..61, 0));
            assert!(is_refused(&again.unwrap_err()), "{what}: it went on");
        }
        drop(opened);
        if happened {
            self.continues(&disk, at, &what);
        }
        happened
    }

    fn run(
        &self,
        disk: &MemoryDisk,
        at: usize,
        fault: Fault,
    ) -> (Arc<FaultyDisk>, Result<()>, Opened) {
        let faulty = Arc::new(FaultyDisk::new(Arc::new(disk.clone()), None));
        let through: Arc<dyn Disk> = faulty.clone();
        let before = at.saturating_sub(1);
        let mut opened =
            self.worlds[before].exists.then(|| Index::open_on(through.clone()).unwrap());
        if before < at {
            do_deed(&self.deeds[before], &through, &mut opened).unwrap();
        }
        faulty.set_fault(Some(fault));
        let outcome = do_deed(&self.deeds[at], &through, &mut opened);
        (faulty, outcome, opened)
    }

    /// Tries a fault at every deed and every call of it, or at some of them.
    fn every_n(&self, fault: impl Fn(u64) -> Fault) {
        let mut n_tried = 0;
        for at in 0..self.deeds.len() {
            let mut calls = sampled(at as u64);
            while self.survives(at, fault(calls.next().unwrap())) {
                n_tried += 1;
            }
        }
        assert!(n_tried > 0, "nothing was tried");
    }
}

fn open_if_there(disk: &MemoryDisk, world: &World) -> Opened {
    world.exists.then(|| Index::open_on(Arc::new(disk.clone())).unwrap())
}

fn has_happened(faulty: &FaultyDisk, fault: Fault) -> bool {
    match fault {
        Fault::Nth { call, nth, .. } => faulty.n_calls(call) >= nth,
        Fault::ShortWrite { nth, .. } => faulty.n_calls(Call::Write) >= nth,
        Fault::Off { nth } => faulty.n_changes() >= nth,
    }
}

fn is_refused(error: &Error) -> bool {
    error.to_string().contains("open it again")
}

fn tries_all() -> bool {
    std::env::var_os("LIVING_ALL").is_some()
}

/// The calls at which faults are tried: all, or some that differ from deed to deed.
fn sampled(shift: u64) -> impl Iterator<Item = u64> {
    let step = if tries_all() { 1 } else { 7 };
    // The first call of each deed is always among them: some deeds make few of a kind.
    std::iter::once(1).chain((2 + shift % step..).step_by(step as usize))
}

#[test]
fn a_failed_write_leaves_the_index_as_it_was() {
    told().every_n(|nth| Fault::Nth { call: Call::Write, nth, kind: ErrorKind::StorageFull });
}

#[test]
fn a_short_write_leaves_the_index_as_it_was() {
    told().every_n(|nth| Fault::ShortWrite { nth, kind: ErrorKind::WriteZero });
}

#[test]
fn a_failed_sync_leaves_the_index_as_it_was() {
    let told = told();
    told.every_n(|nth| Fault::Nth { call: Call::Sync, nth, kind: ErrorKind::Other });
    told.every_n(|nth| Fault::Nth { call: Call::SyncFolder, nth, kind: ErrorKind::Other });
    told.every_n(|nth| Fault::Nth { call: Call::SetLength, nth, kind: ErrorKind::StorageFull });
}

#[test]
fn a_failed_rename_or_removal_leaves_the_index_as_it_was() {
    let told = told();
    told.every_n(|nth| Fault::Nth { call: Call::Rename, nth, kind: ErrorKind::Other });
    told.every_n(|nth| Fault::Nth { call: Call::Remove, nth, kind: ErrorKind::Other });
}

#[test]
fn a_failed_read_leaves_the_index_as_it_was() {
    let told = told();
    told.every_n(|nth| Fault::Nth { call: Call::Read, nth, kind: ErrorKind::Other });
    told.every_n(|nth| Fault::Nth { call: Call::Open, nth, kind: ErrorKind::PermissionDenied });
}

#[test]
fn a_machine_that_goes_off_at_any_call_leaves_the_index_as_it_was() {
    told().every_n(|nth| Fault::Off { nth });
}

#[test]
fn a_power_cut_at_any_call_leaves_the_index_as_it_was() {
    let told = told();
    let n_seeds = if tries_all() { 4 } else { 2 };
    let mut n_tried = 0;
    for at in 0..told.deeds.len() {
        for nth in sampled(at as u64) {
            let disk = told.disks[at.saturating_sub(1)].copy();
            let (faulty, outcome, opened) = told.run(&disk, at, Fault::Off { nth });
            let is_off = faulty.n_changes() >= nth;
            assert!(outcome.is_ok() || is_off);
            if !is_off {
                break;
            }
            for seed in 0..n_seeds {
                let crashed = disk.crash(seed * 1000 + nth);
                told.continues(&crashed, at, &format!("call {nth} of {at}, seed {seed}"));
                n_tried += 1;
            }
            drop(opened);
        }
    }
    assert!(n_tried > 30, "too little was tried");
}
