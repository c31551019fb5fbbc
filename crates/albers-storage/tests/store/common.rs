//! What all tests of the store use: a state, how to read it, and a small history.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use albers_storage::Result;
use albers_storage::store::disk::Disk;
use albers_storage::store::{Access, Changes, Extent, Format, Snapshot, Store, Table};

pub const FORMAT: Format = Format { name: "test", version: 3 };
pub const RECORDS: Table = Table::new("records");
pub const NAMES: Table = Table::new("names of extents");
pub const CACHE_BYTES: usize = 256 * 1024;
pub const PAGE_BYTES: usize = 32 * 1024;
pub const PAYLOAD_BYTES: usize = PAGE_BYTES - 8;

/// What a store holds: records, and extents by names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    pub records: BTreeMap<Vec<u8>, Vec<u8>>,
    pub extents: BTreeMap<Vec<u8>, Vec<u8>>,
}

pub fn create(disk: &(impl Disk + Clone + 'static)) -> Store {
    Store::create_on(Arc::new(disk.clone()), FORMAT, CACHE_BYTES).unwrap()
}

pub fn open(disk: &(impl Disk + Clone + 'static)) -> Store {
    try_open(disk, Access::Write).unwrap()
}

pub fn try_open(disk: &(impl Disk + Clone + 'static), access: Access) -> Result<Store> {
    Store::open_on(Arc::new(disk.clone()), FORMAT, access, CACHE_BYTES)
}

pub fn state_of(snapshot: &Snapshot) -> Result<State> {
    let mut state = State::default();
    snapshot.for_each(RECORDS, None, &mut |key, value| {
        state.records.insert(key.to_vec(), value.to_vec());
        Ok(ControlFlow::Continue(()))
    })?;
    snapshot.for_each(NAMES, None, &mut |key, value| {
        let extent = Extent::from_bytes(value).expect("an extent");
        state.extents.insert(key.to_vec(), snapshot.read(extent)?);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(state)
}

/// As a batch of changes sees it.
pub fn state_of_changes(changes: &Changes) -> State {
    let mut state = State::default();
    let mut note = |key: &[u8], value: &[u8]| {
        state.records.insert(key.to_vec(), value.to_vec());
        Ok(ControlFlow::Continue(()))
    };
    changes.for_each(RECORDS, None, &mut note).unwrap();
    let mut note = |key: &[u8], value: &[u8]| {
        let bytes = changes.read(Extent::from_bytes(value).unwrap())?;
        state.extents.insert(key.to_vec(), bytes);
        Ok(ControlFlow::Continue(()))
    };
    changes.for_each(NAMES, None, &mut note).unwrap();
    state
}

pub fn state(store: &Store) -> State {
    state_of(&store.snapshot().unwrap()).unwrap()
}

pub fn problems(store: &Store) -> Vec<String> {
    let mut problems = Vec::new();
    store.check(&mut |problem| problems.push(problem.to_string())).unwrap();
    problems
}

/// Bytes that differ for every number.
pub fn bytes_of(number: usize, n_bytes: usize) -> Vec<u8> {
    (0..n_bytes).map(|idx| (idx / 251 + idx * 7 + number * 31) as u8).collect()
}

/// Writes an extent under a name, in the place of the one that had it.
pub fn set_extent(changes: &mut Changes, name: &[u8], bytes: &[u8]) -> Result<()> {
    free_extent(changes, name)?;
    let extent = changes.write(bytes)?;
    changes.put(NAMES, name, &extent.to_bytes())
}

pub fn free_extent(changes: &mut Changes, name: &[u8]) -> Result<()> {
    if let Some(extent) = changes.get(NAMES, name)? {
        changes.free(Extent::from_bytes(&extent).expect("an extent"))?;
        changes.remove(NAMES, name)?;
    }
    Ok(())
}

/// How far a history came.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// After the last commit that was answered; nothing before the store exists.
    pub committed: Option<State>,
    /// After the commit that is under way.
    pub attempted: Option<State>,
}

impl Progress {
    /// Whether a store may be like this after a fault.
    pub fn allows(&self, found: &State) -> bool {
        self.committed.as_ref() == Some(found) || self.attempted.as_ref() == Some(found)
    }
}

/// Creates a store and changes it in some batches, of which one is undone, with a compaction
/// among them.
pub fn small_history(disk: Arc<dyn Disk>, progress: &mut Progress) -> Result<Store> {
    let mut store = Store::create_on(disk, FORMAT, CACHE_BYTES)?;
    progress.committed = Some(State::default());
    for number in 0..5 {
        store = small_batch(store, number, progress)?;
        if number == 2 {
            let mut undone = store.begin()?;
            undone.put(RECORDS, b"undone", b"undone")?;
            undone.write(&bytes_of(77, 2 * PAGE_BYTES))?;
            drop(undone);
            store = store.compact()?;
        }
    }
    Ok(store)
}

/// One batch of the small history.
pub fn small_batch(store: Store, number: usize, progress: &mut Progress) -> Result<Store> {
    let mut next = progress.committed.clone().expect("the store exists");
    let mut changes = store.begin()?;
    for key in number..number + 3 {
        let value = bytes_of(number, 40);
        changes.put(RECORDS, &key.to_le_bytes(), &value)?;
        next.records.insert(key.to_le_bytes().to_vec(), value);
    }
    changes.remove(RECORDS, &number.to_le_bytes())?;
    next.records.remove(number.to_le_bytes().as_slice());
    let name = [number as u8 % 3];
    let bytes = bytes_of(number, PAYLOAD_BYTES * (number % 2) + 100);
    set_extent(&mut changes, &name, &bytes)?;
    next.extents.insert(name.to_vec(), bytes);
    progress.attempted = Some(next.clone());
    changes.commit()?;
    *progress = Progress { committed: Some(next), attempted: None };
    Ok(store)
}
