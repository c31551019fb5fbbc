//! The memory of a job, and the place of what does not fit there.

use std::path::{Path, PathBuf};

use albers_storage::memory_budget::MemoryBudget;
use albers_storage::spill::{self, SpillStore};

use crate::error::{Error, Result};
use crate::plan::{MethodPlan, Plan, Resources};

/// What a job works in. Every job has its own, and its own threads: several run in one process.
pub(crate) struct Memory {
    /// All that grows with the rows holds a reservation of it.
    pub(crate) budget: MemoryBudget,
    /// Where what does not fit goes while classes are found.
    pub(crate) store: SpillStore,
    /// The same for what leaves: on the same disk, counted apart.
    pub(crate) release_store: SpillStore,
    folder: PathBuf,
}

impl Memory {
    /// The memory of a plan. A method that works in memory is only limited where the job says so.
    pub(crate) fn of(plan: &Plan) -> Memory {
        let Resources { memory_bytes, is_memory_given, spill_folder, .. } = &plan.resources;
        let goes_on_outside = match &plan.method {
            MethodPlan::Cuts { cuts } => !cuts.is_only_in_memory(),
            MethodPlan::Index { .. } | MethodPlan::FullDomain(_) | MethodPlan::Recoded { .. } => {
                true
            }
            _ => false,
        };
        let is_bounded = *is_memory_given || goes_on_outside;
        let limit_bytes = if is_bounded { *memory_bytes } else { usize::MAX };
        Memory::new(limit_bytes, spill_folder.as_deref())
    }

    /// The memory of a command that publishes nothing, only limited where the job says so.
    pub(crate) fn of_resources(resources: &Resources) -> Memory {
        let is_given = resources.is_memory_given;
        let limit_bytes = if is_given { resources.memory_bytes } else { usize::MAX };
        Memory::new(limit_bytes, resources.spill_folder.as_deref())
    }

    /// So many bytes, and a folder for the rest.
    pub(crate) fn new(limit_bytes: usize, folder: Option<&Path>) -> Memory {
        let folder = folder.map_or_else(std::env::temp_dir, Path::to_owned);
        let budget = MemoryBudget::new(limit_bytes);
        // Blocks stay in memory as long as there is room for the work besides.
        let store = SpillStore::in_folder(&folder, budget.clone()).with_room(limit_bytes / 5 * 3);
        let release_store = store.counted_apart();
        Memory { budget, store, release_store, folder }
    }

    /// Refuses a folder where nothing can be written, before much work is done that needs one.
    pub(crate) fn check_folder(&self) -> Result<()> {
        Ok(spill::check_folder(&self.folder)?)
    }
}

/// Does the work on a pool of its own.
pub(crate) fn on_threads<T: Send>(
    n_threads: Option<usize>,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    pool(n_threads)?.install(work)
}

/// Threads to work on, so many, or as many as the machine has.
pub fn pool(n_threads: Option<usize>) -> Result<rayon::ThreadPool> {
    let builder = rayon::ThreadPoolBuilder::new();
    let builder = match n_threads {
        Some(n_threads) => builder.num_threads(n_threads),
        None => builder,
    };
    builder.build().map_err(|_| no_thread())
}

/// The system starts no further thread.
pub(crate) fn no_thread() -> Error {
    let hint = "use fewer with --threads, or raise the limit of processes";
    Error::usage("not enough threads can be started", hint)
}
