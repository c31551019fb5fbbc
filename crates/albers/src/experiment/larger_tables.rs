//! What an index moves to disk and back that does not fit in memory: by the rows of the table, and
//! by the memory.
//!
//! Source: Iwuchukwu & Naughton 2007, section 5.2 and figures 8(a) and 8(b).
//! Departures: the paper has seconds and calls of the system; here bytes are counted that are
//! written to temporary files and read back, so that figures follow from name and scale: on one
//! thread, since several share the memory differently each time. Bytes are packed. Tables are up to
//! 22 times as large as the memory; the paper's are up to 14 times.

use albers_generate::{Kind, Options};

use super::imprecision::AGRAWAL;
use super::trial::Table;
use super::{Experiment, Outcome, Setting};
use crate::chart::{Axis, Chart, Series};
use crate::error::Result;
use crate::job::{ByteSize, Job, Method};
use crate::report::MovedBytes;

pub(super) const BY_ROWS: Experiment = Experiment {
    name: "moved-by-rows",
    source: "Iwuchukwu and Naughton 2007, figure 8(a)",
    claim: "Within the same memory an index adapts gracefully to ever larger tables: its cost \
            grows about as they do.",
    seed: 80,
    run: run_by_rows,
};

pub(super) const BY_MEMORY: Experiment = Experiment {
    name: "moved-by-memory",
    source: "Iwuchukwu and Naughton 2007, figure 8(b)",
    claim: "Half the memory makes an index move less than twice as much to disk and back.",
    seed: 81,
    run: run_by_memory,
};

/// What is moved per row may grow so much while a table that is twice as large as the memory
/// becomes ten times as large.
const GRACEFUL: f64 = 1.5;
const K: u64 = 10;
/// A row in the paper's table.
const ROW_BYTES: u64 = 36;

fn job(table: &Table, memory_bytes: u64, least_bytes: u64) -> Result<Job> {
    let mut job = table.job(K, &AGRAWAL)?;
    for name in AGRAWAL {
        job.column(name).hierarchy = None;
    }
    job.method = Some(Method::Rtree);
    (job.memory, job.least_memory) = (Some(ByteSize(memory_bytes)), Some(ByteSize(least_bytes)));
    job.threads = Some(1);
    Ok(job)
}

/// The bytes that are written and those that are read back.
fn moved(table: &Table, memory_bytes: u64, least_bytes: u64) -> Result<[f64; 2]> {
    let MovedBytes {
        partition_spilled,
        partition_read_back,
        release_spilled,
        release_read_back,
        ..
    } = table.report(&job(table, memory_bytes, least_bytes)?)?.bytes;
    let written = partition_spilled + release_spilled;
    Ok([written as f64, (partition_read_back + release_read_back) as f64])
}

/// Lines of what was written and read back, by x.
fn lines(xs: &[u64], moved: &[[f64; 2]]) -> Vec<Series> {
    let line = |name: &str, at: usize| {
        let points = xs.iter().zip(moved).map(|(&x, own)| (x as f64, own[at]));
        Series::new(name, points.collect())
    };
    vec![line("written", 0), line("read back", 1)]
}

fn chart(x: &str, series: Vec<Series>) -> Chart {
    Chart { title: "disk".to_owned(), x: Axis::log(x), y: Axis::log("bytes"), series }
}

fn run_by_rows(setting: &Setting) -> Result<Outcome> {
    const SMALL: [u64; 5] = [1_500, 3_000, 6_000, 15_000, 60_000];
    const FULL: [u64; 6] = [250_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000];
    let sizes = setting.pick(&SMALL[..], &FULL);
    let memory_bytes = setting.pick(100_000, 16_000_000);
    let all = sizes[sizes.len() - 1];
    let table = Table::generate(Kind::Agrawal, all, setting.seed, &Options::default())?;
    let of_size =
        |&n_rows: &u64| moved(&table.stretch(0, n_rows as usize), memory_bytes, memory_bytes);
    let moved: Vec<[f64; 2]> = sizes.iter().map(of_size).collect::<Result<_>>()?;
    let per_row = |at: usize| (moved[at][0] + moved[at][1]) / sizes[at] as f64;
    let is_larger = |&size: &u64| size * ROW_BYTES >= 2 * memory_bytes;
    let first = sizes.iter().position(is_larger).unwrap_or(0);
    let last = sizes.len() - 1;
    let growth = per_row(last) / per_row(first);
    let found = format!(
        "with {} bytes of memory {} rows move {:.1} bytes each, and {} rows {:.1}: {growth:.2} \
         times.",
        memory_bytes,
        sizes[first],
        per_row(first),
        sizes[last],
        per_row(last)
    );
    let panels = vec![chart("rows of the table", lines(sizes, &moved))];
    let title = "What an index moves to disk and back, by the rows of the table".to_owned();
    Ok(Outcome { title, panels, holds: growth <= GRACEFUL, found })
}

fn run_by_memory(setting: &Setting) -> Result<Outcome> {
    let (n_rows, least_bytes, n_halves) =
        setting.pick((20_000, 100_000, 4), (10_000_000, 32_000_000, 4));
    let table = Table::generate(Kind::Agrawal, n_rows, setting.seed, &Options::default())?;
    let memories: Vec<u64> = (0..n_halves).map(|halved: u32| least_bytes << halved).collect();
    let of_memory = |&memory_bytes: &u64| moved(&table, memory_bytes, least_bytes);
    let moved: Vec<[f64; 2]> = memories.iter().map(of_memory).collect::<Result<_>>()?;
    let total = |own: &[f64; 2]| own[0] + own[1];
    let ratios: Vec<f64> = moved.windows(2).map(|pair| total(&pair[0]) / total(&pair[1])).collect();
    let told: Vec<String> = ratios.iter().rev().map(|ratio| format!("{ratio:.2}")).collect();
    let found = format!(
        "{n_rows} rows move {} bytes with {} bytes of memory, and each half of it has {} times as \
         much moved as the memory before.",
        total(&moved[moved.len() - 1]),
        memories[memories.len() - 1],
        told.join(", ")
    );
    let holds = ratios.iter().all(|&ratio| ratio < 2.0);
    let panels = vec![chart("bytes of memory", lines(&memories, &moved))];
    let title = "What an index moves to disk and back, by its memory".to_owned();
    Ok(Outcome { title, panels, holds, found })
}
