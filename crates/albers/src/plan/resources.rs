//! What a job may use.

use std::path::PathBuf;

use albers_storage::memory_budget;
use albers_storage::wording;
use albers_storage::wording::Field;

use crate::error::{Error, Result};
use crate::job::{ByteSize, Job};

/// What a job may use.
#[derive(Debug, Clone)]
pub struct Resources {
    /// The memory to work in.
    pub(crate) memory_bytes: usize,
    /// Whether the job says so.
    pub(crate) is_memory_given: bool,
    /// Threads to work on, where the job says so.
    pub(crate) n_threads: Option<usize>,
    /// Where temporary data goes, where the job says so.
    pub(crate) spill_folder: Option<PathBuf>,
}

/// More threads than any machine has cores would only exhaust it.
const MAX_THREADS: usize = 1024;

impl Resources {
    /// What a job says of them.
    pub(crate) fn of(job: &Job) -> Result<Resources> {
        let n_bytes = match job.memory {
            None => memory_budget::default_bytes(),
            Some(size) => checked_bytes(size)?,
        };
        match job.threads {
            Some(0) => {
                return Err(Error::usage(
                    "no work gets done on 0 threads",
                    wording!["use ", Field::Threads.of("1"), " or more"],
                ));
            }
            Some(n_threads) if n_threads > MAX_THREADS => {
                return Err(Error::usage(
                    format!("{n_threads} threads are more than the {MAX_THREADS} possible"),
                    "use about as many as the machine has cores",
                ));
            }
            _ => {}
        }
        Ok(Resources {
            memory_bytes: usize::try_from(n_bytes).unwrap_or(usize::MAX),
            is_memory_given: job.memory.is_some(),
            n_threads: job.threads,
            spill_folder: job.spill_dir.clone(),
        })
    }
}

/// An amount of memory that some table needs.
pub(super) fn checked_bytes(size: ByteSize) -> Result<u64> {
    const LEAST_BYTES: u64 = 64_000;
    match size.0 < LEAST_BYTES {
        true => Err(Error::usage(
            format!("{} bytes of memory are less than the 64KB that any table needs", size.0),
            "add the unit, for example 256MB",
        )),
        false => Ok(size.0),
    }
}
