//! `albers index info`, `check` and `compact`: how an index is, and how it is kept well.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use albers::Index;
use albers::living::{IndexInfo, ReleaseInfo};
use anyhow::{Result, anyhow};
use clap::Args;
use serde::Serialize;

use crate::flags::ResourceFlags;
use crate::interrupt::Work;
use crate::progress::Bar;
use crate::render;

/// Tell what an index holds and what it has published; this is for its owner
#[derive(Args)]
pub struct Info {
    /// The folder of the index
    dir: PathBuf,
    /// Print it as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Look at every page, row, key and leaf of an index, and tell what is damaged; no row is shown
#[derive(Args)]
pub struct Check {
    /// The folder of the index
    dir: PathBuf,
    /// Print it as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    resources: ResourceFlags,
}

/// Rewrite an index, so that no deleted row is left in it
///
/// The old files are overwritten. Values that some row once had stay in the list of codes, and the
/// keyed hash of every key stays: a key that comes back continues its history.
#[derive(Args)]
pub struct Compact {
    /// The folder of the index
    dir: PathBuf,
    /// Print it as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    resources: ResourceFlags,
}

/// What came of rewriting an index.
#[derive(Serialize)]
struct Compacted {
    rows: u64,
    bytes_before: u64,
    bytes_after: u64,
    seconds: f64,
}

/// Runs `info`.
pub fn info(arguments: Info) -> Result<ExitCode> {
    let Info { dir, json } = arguments;
    let info = Index::open_to_read(&dir)?.info()?;
    match json {
        true => render::print_json(&info)?,
        false => render::print(&words(&info))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs `check`.
pub fn check(arguments: Check) -> Result<ExitCode> {
    let Check { dir, json, resources } = arguments;
    let resources = super::resources_of(resources)?;
    let found = {
        let bar = Bar::new();
        Index::check_folder(&dir, &resources, &bar)?
    };
    if json {
        render::print_json(&found)?;
    } else if found.problems.is_empty() {
        let (rows, leaves) = (render::count(found.rows), render::count(found.leaves));
        render::tell(&format!("{rows} rows in {leaves} leaves, and no problem\n"))?;
    } else {
        let lines = found.problems.iter().map(|own| format!("problem: {}\n", own.problem));
        render::print(&lines.collect::<String>())?;
    }
    Ok(if found.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Runs `compact`.
pub fn compact(arguments: Compact) -> Result<ExitCode> {
    let Compact { dir, json, resources } = arguments;
    let start = Instant::now();
    let resources = super::resources_of(resources)?;
    let index = super::open(&dir, &resources, Work::Changes)?;
    let bytes_before = bytes_in(&dir)?;
    let rows = {
        let bar = Bar::new();
        index.compact(&bar)?.info()?.rows
    };
    // The catalogue is as short as it can be only when it is closed.
    let bytes_after = bytes_in(&dir)?;
    let seconds = start.elapsed().as_secs_f64();
    let compacted = Compacted { rows, bytes_before, bytes_after, seconds };
    match json {
        true => render::print_json(&compacted)?,
        false => render::tell(&format!(
            "{} before, {} after\nwrote {} in {:.2} s\n",
            albers::format_bytes(compacted.bytes_before),
            albers::format_bytes(compacted.bytes_after),
            dir.display(),
            compacted.seconds,
        ))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// How long all files of a folder are.
fn bytes_in(dir: &Path) -> Result<u64> {
    let length = || -> std::io::Result<u64> {
        std::fs::read_dir(dir)?.map(|entry| Ok(entry?.metadata()?.len())).sum()
    };
    length().map_err(|error| anyhow!("cannot read {}: {error}; check the folder", dir.display()))
}

fn words(info: &IndexInfo) -> String {
    let mut lines = vec![
        format!(
            "{} rows, {} of them in buffers; {} leaves",
            render::count(info.rows),
            render::count(info.buffered),
            render::count(info.leaves),
        ),
        format!("key:         {}", info.key),
        format!("requirement: {}", info.requirement),
        format!("batches:     {}", render::count(info.batches)),
        format!("size:        {}", albers::format_bytes(info.bytes)),
    ];
    if info.releases.is_empty() {
        lines.push("no releases yet".to_owned());
    }
    lines.extend(info.releases.iter().map(release_line));
    lines.join("\n") + "\n"
}

fn release_line(release: &ReleaseInfo) -> String {
    let also: Vec<String> = release.also_k.iter().map(u64::to_string).collect();
    let also = match also.is_empty() {
        true => String::new(),
        false => format!(", also for k = {}", also.join(", ")),
    };
    format!(
        "release {}: {} rows in {} classes, {}{also}{}{}",
        release.release,
        render::count(release.rows),
        render::count(release.classes),
        release.requirement,
        if release.batch { ", by batch" } else { "" },
        if release.linkage_accepted { ", linkage accepted" } else { "" },
    )
}
