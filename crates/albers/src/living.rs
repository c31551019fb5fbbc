//! A living index: rows come, change and go, and a release is a scan.
//!
//! ```text
//!   insert, update, delete, sync ──► runs of rows, keys and events      one commit per batch
//!                                          │ emptied lazily
//!                                          ▼
//!   directory ──► parts ──► leaves that satisfy the requirement
//!                              │ release
//!                              ▼
//!                            door ──► sinks;  ledger: no set of rows told apart by all releases
//! ```
//!
//! Source: Iwuchukwu & Naughton 2007, section 2.2.
//! Guarantee: every batch happens as a whole or not at all, also through a crash at any moment; a
//! release goes out through the same door as any other, and all releases of an index together tell
//! no fewer rows apart than its requirement allows, or its owner accepts that by name.
//! Cost: a batch costs what its rows cost; a release costs one pass over all rows.
//!
//! - `index_job`, `stored_table`: what lasts of a job and of the first rows.
//! - `catalogue`, `state`: what is stored, and the same ready for use.
//! - `coding`: codes that change. `keys`, `row_number`: whose row it is.
//! - `batch`, `intake`, `decide`, `events`, `peek`: rows in and out.
//! - `parts`, `settle`: buffers emptied.
//! - `release`, `classes`, `grouped`, `shown`, `seen`, `ledger`: what is published, and what is known
//!   of it.
//! - `look`: all of an index looked at. `report`: what is said.

mod batch;
mod catalogue;
mod classes;
mod coding;
mod decide;
mod events;
mod grouped;
mod index_job;
mod intake;
mod keys;
mod ledger;
mod look;
mod parts;
mod peek;
mod release;
mod report;
mod row_number;
mod seen;
mod settle;
mod shown;
mod state;
mod stored_table;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use albers_ledger::Ledger;
use albers_storage::StorageError;
use albers_storage::secret_bits::{SecretBits as _, SystemBits};
use albers_storage::store::disk::Disk;
use albers_storage::store::{Access, CACHE_BYTES, Changes, Store, StoreError};
use albers_storage::watch::Watch;
use albers_table::sink::Sink;
use albers_table::source::Source;

use crate::error::{Error, Result};
use crate::files;
use crate::job::Job;
use crate::memory::{Memory, on_threads, pool};
use crate::plan::Resources;
use crate::report::{Clock, Prepared, peak_rss_bytes};
use batch::Batch;
use catalogue::{Catalogue, FORMAT, has_catalogue, put_catalogue, put_counters};
use decide::Kind;
use index_job::IndexJob;
use release::{Released, Releasing};
use settle::{RowCounts, count_rows, removed_rows, settle_all};
use state::State;
use stored_table::canary;

pub use release::ReleaseRequest;
pub use report::{BatchReport, IndexCheck, IndexInfo, IndexProblem, ReleaseInfo, ReleaseReport};

/// An index that lasts.
pub struct Index {
    store: Store,
    name: String,
    folder: PathBuf,
    /// What was committed last; nothing after a failure, until it is read again.
    state: Option<State>,
    resources: Resources,
    pool: rayon::ThreadPool,
    /// Whether nothing of what is done is committed.
    is_rehearsal: bool,
}

impl Index {
    /// Creates an index without rows in a folder that is not there yet, or empty. The columns of the
    /// job are checked when the first rows come.
    pub fn create(folder: &Path, job: &Job, key: &str) -> Result<Index> {
        let job = IndexJob::of(job, key)?;
        let resources = Resources::of(&job.job)?;
        crate::plan::check_job(&job.job)?;
        let store = Store::create(folder, FORMAT);
        let store = begun(store, || Store::open(folder, FORMAT, Access::Write))?;
        Index::begin(store, folder, job, key, resources)
    }

    /// The same on any disk.
    pub fn create_on(disk: Arc<dyn Disk>, job: &Job, key: &str) -> Result<Index> {
        let job = IndexJob::of(job, key)?;
        let resources = Resources::of(&job.job)?;
        crate::plan::check_job(&job.job)?;
        let folder = disk.path("");
        let store = Store::create_on(disk.clone(), FORMAT, CACHE_BYTES);
        let store = begun(store, || Store::open_on(disk, FORMAT, Access::Write, CACHE_BYTES))?;
        Index::begin(store, &folder, job, key, resources)
    }

    fn begin(
        store: Store,
        folder: &Path,
        job: IndexJob,
        key: &str,
        resources: Resources,
    ) -> Result<Index> {
        let mut bits = SystemBits::new();
        let mut secret = [0; 16];
        for half in secret.chunks_exact_mut(8) {
            half.copy_from_slice(&bits.word()?.to_le_bytes());
        }
        let catalogue = Catalogue {
            key: key.to_owned(),
            job: job.text()?,
            secret,
            canary: canary(&secret)?,
            table: None,
            epochs: Default::default(),
            directory: Vec::new(),
            parts: Default::default(),
            next_part: 1,
            arrivals: Vec::new(),
            keys: Vec::new(),
            events: Vec::new(),
            removed: Vec::new(),
            ledger: Default::default(),
        };
        let mut state = State::new(catalogue, job);
        let mut changes = store.begin()?;
        commit(&mut state, &mut changes)?;
        changes.commit()?;
        Index::with(store, folder, state, resources)
    }

    fn with(store: Store, folder: &Path, state: State, resources: Resources) -> Result<Index> {
        Ok(Index {
            store,
            name: folder.display().to_string(),
            folder: folder.to_owned(),
            state: Some(state),
            pool: pool(resources.n_threads)?,
            resources,
            is_rehearsal: false,
        })
    }

    /// Commits nothing from now on: batches and releases are done to the end, and the index is as it
    /// was.
    pub fn rehearse(&mut self) {
        self.is_rehearsal = true;
    }

    /// Opens an index to change it. Nobody else can use it then, but through this one.
    pub fn open(folder: &Path) -> Result<Index> {
        let store = Store::open(folder, FORMAT, Access::Write)?;
        Index::of_store(store, folder)
    }

    /// Opens an index to look at it, as many may at a time.
    pub fn open_to_read(folder: &Path) -> Result<Index> {
        let store = Store::open(folder, FORMAT, Access::Read)?;
        Index::of_store(store, folder)
    }

    /// Opens an index on any disk to change it.
    pub fn open_on(disk: Arc<dyn Disk>) -> Result<Index> {
        let folder = disk.path("");
        let store = Store::open_on(disk, FORMAT, Access::Write, CACHE_BYTES)?;
        Index::of_store(store, &folder)
    }

    fn of_store(store: Store, folder: &Path) -> Result<Index> {
        let state = State::read(&store.snapshot()?)?;
        let resources = Resources::of(&state.job.job)?;
        Index::with(store, folder, state, resources)
    }

    /// The job of the index.
    pub fn job(&self) -> Result<Job> {
        Ok(self.read_state()?.job.job)
    }

    /// The column that tells rows apart.
    pub fn key(&self) -> Result<String> {
        Ok(self.read_state()?.catalogue.key)
    }

    /// Uses other memory, threads and temporary folder than the job of the index says, as far as
    /// this one says any.
    pub fn use_resources(&mut self, job: &Job) -> Result<()> {
        let mut own = self.job()?;
        own.memory = job.memory.or(own.memory);
        own.threads = job.threads.or(own.threads);
        own.spill_dir = job.spill_dir.clone().or(own.spill_dir);
        self.resources = Resources::of(&own)?;
        self.pool = pool(self.resources.n_threads)?;
        Ok(())
    }

    /// Takes in new rows.
    pub fn insert(&mut self, source: &dyn Source, watch: &dyn Watch) -> Result<BatchReport> {
        self.batch(watch, |batch| batch.put(Kind::Insert, source))
    }

    /// Puts rows into the place of those with the same keys.
    pub fn update(&mut self, source: &dyn Source, watch: &dyn Watch) -> Result<BatchReport> {
        self.batch(watch, |batch| batch.put(Kind::Update, source))
    }

    /// Removes the rows whose keys a source has.
    pub fn delete(&mut self, source: &dyn Source, watch: &dyn Watch) -> Result<BatchReport> {
        self.batch(watch, |batch| batch.delete(source))
    }

    /// Makes the index hold the rows of a source and no others, in one batch; refuses to remove more
    /// than a share of its rows.
    pub fn sync(
        &mut self,
        source: &dyn Source,
        max_deletes: f64,
        watch: &dyn Watch,
    ) -> Result<BatchReport> {
        self.batch(watch, |batch| batch.sync(source, max_deletes))
    }

    fn batch(
        &mut self,
        watch: &dyn Watch,
        work: impl FnOnce(&mut Batch<'_>) -> Result<BatchReport> + Send,
    ) -> Result<BatchReport> {
        let start = Instant::now();
        let memory = self.memory();
        let mut report = self.change(|state, changes| {
            let mut batch = Batch { state, changes, memory: &memory, watch };
            let mut report = work(&mut batch)?;
            state.counters.n_batches += 1;
            report.rows = state.counters.n_rows;
            Ok(report)
        })?;
        report.dry_run = self.is_rehearsal;
        report.seconds = start.elapsed().as_secs_f64();
        report.peak_rss_bytes = peak_rss_bytes();
        Ok(report)
    }

    /// Changes the index in one commit; after an error it is what it was.
    fn change<T: Send>(
        &mut self,
        work: impl FnOnce(&mut State, &mut Changes) -> Result<T> + Send,
    ) -> Result<T> {
        if self.state.is_none() {
            self.state = Some(self.read_state()?);
        }
        let mut state = self.state.take().expect("it was read");
        let mut changes = self.store.begin()?;
        let outcome = self.pool.install(|| {
            let outcome = work(&mut state, &mut changes)?;
            commit(&mut state, &mut changes)?;
            Ok::<T, Error>(outcome)
        })?;
        if self.is_rehearsal {
            // Dropped changes are undone, and the state is read again where it is needed.
            return Ok(outcome);
        }
        changes.commit()?;
        self.state = Some(state);
        Ok(outcome)
    }

    fn read_state(&self) -> Result<State> {
        State::read(&self.store.snapshot()?)
    }

    fn memory(&self) -> Memory {
        let Resources { memory_bytes, spill_folder, .. } = &self.resources;
        // What is spilled is as private as the rows of the index.
        let beside = Some(self.folder.as_path()).filter(|folder| folder.is_dir());
        Memory::new(*memory_bytes, spill_folder.as_deref().or(beside))
    }

    /// Publishes a release of all rows of the index.
    pub fn release(
        &mut self,
        request: &ReleaseRequest,
        sinks: Vec<Box<dyn Sink>>,
        watch: &dyn Watch,
    ) -> Result<ReleaseReport> {
        self.prepare_release(request, sinks, watch)?.name()
    }

    /// The same, but for the last step: all is verified, tested and written, and waits for its name.
    pub fn prepare_release(
        &mut self,
        request: &ReleaseRequest,
        sinks: Vec<Box<dyn Sink>>,
        watch: &dyn Watch,
    ) -> Result<PreparedRelease<'_>> {
        let mut clock = Clock::start();
        let memory = self.memory();
        memory.check_folder()?;
        let own = self.job()?;
        // What is refused for its own sake changes nothing, not even where rows lie.
        request.job(&own, &self.key()?)?;
        let ks = request.ks(&own);
        if self.is_rehearsal {
            return self.rehearse_release(request, sinks, (&memory, clock), watch);
        }
        let settled = self.change(|state, changes| settle(state, changes, &ks, &memory, watch))?;
        clock.partition();
        let state = self.state.as_ref().expect("it was committed");
        let pages = self.store.pages()?;
        let name = self.name.clone();
        let released = self.pool.install(|| {
            let releasing = Releasing { state, pages, memory: &memory, watch, name: &name, clock };
            releasing.release(request, &settled.counts, sinks)
        })?;
        let Released { prepared, ledger, figures, .. } = released;
        let report = figures.report(&prepared, settled.rows_cut);
        Ok(PreparedRelease { index: self, ledger, prepared, report })
    }

    /// The same over changes that are undone: rows are settled, published to sinks that keep nothing,
    /// and tested against the ledger.
    fn rehearse_release(
        &mut self,
        request: &ReleaseRequest,
        sinks: Vec<Box<dyn Sink>>,
        (memory, mut clock): (&Memory, Clock),
        watch: &dyn Watch,
    ) -> Result<PreparedRelease<'_>> {
        let ks = request.ks(&self.job()?);
        let (mut state, mut changes) = (self.read_state()?, self.store.begin()?);
        let name = self.name.clone();
        let (released, rows_cut) = self.pool.install(|| {
            let settled = settle(&mut state, &mut changes, &ks, memory, watch)?;
            clock.partition();
            let pages = changes.pages()?;
            let releasing = Releasing { state: &state, pages, memory, watch, name: &name, clock };
            let released = releasing.release(request, &settled.counts, sinks)?;
            Ok::<_, Error>((released, settled.rows_cut))
        })?;
        drop(changes);
        let Released { prepared, ledger, figures, .. } = released;
        let mut report = figures.report(&prepared, rows_cut);
        report.report.dry_run = true;
        Ok(PreparedRelease { index: self, ledger, prepared, report })
    }

    /// What the index is.
    pub fn info(&self) -> Result<IndexInfo> {
        let state = self.read_state()?;
        Ok(look::info(&state, self.store.n_bytes()?))
    }

    /// Looks at everything: pages, records, keys, leaves, the ledger.
    pub fn check(&self, watch: &dyn Watch) -> Result<IndexCheck> {
        let memory = self.memory();
        self.pool.install(|| look::check(&self.store, &memory, watch))
    }

    /// The same for an index that may be too damaged to be opened, in what a job says may be used.
    pub fn check_folder(folder: &Path, resources: &Job, watch: &dyn Watch) -> Result<IndexCheck> {
        let Resources { memory_bytes, n_threads, spill_folder, .. } = Resources::of(resources)?;
        let memory = Memory::new(memory_bytes, Some(spill_folder.as_deref().unwrap_or(folder)));
        let look = |store| on_threads(n_threads, || look::check(&store, &memory, watch));
        let store = Store::open(folder, FORMAT, Access::Read).map_err(Error::from);
        store.and_then(look).or_else(look::damage)
    }

    /// Writes everything anew, so that nothing is left of rows that are gone but what the ledger must
    /// know.
    pub fn compact(mut self, watch: &dyn Watch) -> Result<Index> {
        let memory = self.memory();
        self.change(|state, changes| look::rewrite(state, changes, &memory, watch))?;
        let Index { store, folder, resources, .. } = self;
        let store = store.compact()?;
        let state = State::read(&store.snapshot()?)?;
        Index::with(store, &folder, state, resources)
    }
}

/// A store without anything in it: a new one, or what an interrupted creation left.
fn begun(
    created: albers_storage::Result<Store>,
    open: impl FnOnce() -> albers_storage::Result<Store>,
) -> Result<Store> {
    let error = match created {
        Ok(store) => return Ok(store),
        Err(error) => error,
    };
    if !matches!(error, StorageError::Store(StoreError::NotEmpty { .. })) {
        return Err(error.into());
    }
    let store = match open() {
        Ok(store) => store,
        // It is a store, and what it holds remains to be seen.
        Err(unopened @ StorageError::Store(StoreError::Io { .. })) => return Err(unopened.into()),
        Err(_) => return Err(error.into()),
    };
    match has_catalogue(&store.snapshot()?)? {
        true => Err(error.into()),
        false => Ok(store),
    }
}

/// Rows that lie in leaves, and what is known of them.
struct Settled {
    counts: RowCounts,
    rows_cut: u64,
}

/// Empties all buffers, for releases of these k.
fn settle(
    state: &mut State,
    changes: &mut Changes,
    ks: &[u64],
    memory: &Memory,
    watch: &dyn Watch,
) -> Result<Settled> {
    state.flush_pending(changes)?;
    let pages = changes.pages()?;
    let removed = removed_rows(state, &pages)?;
    let greatest_k = ks.iter().copied().max().unwrap_or(1);
    let counts = count_rows(state, pages, &removed, greatest_k)?;
    let base_k = [state.job.job.k.unwrap_or(1)];
    let protection = counts.protection(state, &base_k, state.counters.n_rows)?;
    let rows_cut = match state.is_unsettled() {
        true => settle_all(state, changes, &protection, memory, watch)?,
        false => 0,
    };
    Ok(Settled { counts, rows_cut })
}

/// Puts what changed into the batch of changes.
fn commit(state: &mut State, changes: &mut Changes) -> Result<()> {
    put_counters(changes, &state.counters)?;
    state.changed_catalogue().map_or(Ok(()), |catalogue| put_catalogue(changes, catalogue))
}

/// A release of an index that is verified, tested and written, and that does not appear before it
/// is named.
pub struct PreparedRelease<'i> {
    index: &'i mut Index,
    ledger: Ledger,
    prepared: Prepared,
    /// What there is to tell of it.
    pub report: ReleaseReport,
}

impl PreparedRelease<'_> {
    /// Adds what only its owner may read, where a job asks for it.
    pub fn with_owner_files(mut self, job: &Job) -> Result<Self> {
        if let Some(path) = &job.owner_report {
            let text = serde_json::to_string_pretty(&self.report)
                .expect("a report has only plain fields")
                + "\n";
            let place = files::place(job, path);
            self.prepared.add(albers_table::sink::private_text(job.purpose(), &place, &text)?);
        }
        Ok(self)
    }

    /// Lets it appear, with all that belongs to it, or nothing. The ledger knows it before: if it
    /// cannot be named, it counts as published all the same. A rehearsed one neither appears nor is
    /// known.
    pub fn name(self) -> Result<ReleaseReport> {
        let PreparedRelease { index, mut ledger, prepared, report } = self;
        if index.is_rehearsal {
            return Ok(report);
        }
        index.change(|state, changes| {
            let epoch = state.tabled()?.coding.epoch();
            let mut record = std::mem::take(&mut state.catalogue.ledger);
            record.write(&mut ledger, epoch, changes)?;
            state.catalogue.ledger = record;
            ledger::forget_changes(changes)?;
            state.touch();
            Ok(())
        })?;
        prepared.name()?;
        Ok(report)
    }
}
