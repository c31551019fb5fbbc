//! Compaction as a tool of its own: the tightest description of the classes of any release.
//!
//! ```text
//!   release  ──► texts ──► rows that show the same ──┐
//!   key      ──► pairs of rows ──────────────────────┼──► Groups ──► verify ──► publish
//!   original ──► domains, codes ─────────────────────┘
//! ```
//!
//! Source: Iwuchukwu & Naughton 2007, section 2.3.
//! Departures: classes are told from the release's text alone, so that any notation will do.
//! Guarantee: the rows of a class of the release stay together, and what they show is recomputed
//! from the original; classes that show the same then are one. Rows that the release leaves out
//! stay left out. The requirement is checked on the given classes, and verified on the published
//! rows as for any other release.
//! Cost: one pass over the release and two over the original; their codes in memory, twice.

mod given;

use std::path::Path;

use albers_classes::class_block::{ClassBlock, Groups};
use albers_classes::space::Shown;
use albers_measure::released::loss_of_part;
use albers_measure::{Classes, Loss};
use albers_release::publish::{manifest_path, publish};
use albers_release::verify::{Expectation, Verified, verify};
use albers_table::progress::Progress;
use albers_table::read::{self, Format};
use albers_table::schema::Role;
use serde::Serialize;

use crate::anonymize::{self, Clock, destination_of, seed_of};
use crate::error::Result;
use crate::job::Job;
use crate::measure;
use crate::paths;
use crate::report::Report;
use crate::roles;
use crate::secrets::{Protection, protect_rows};
use crate::table::{self, Table};
use given::{Accounted, Given};

/// The manifest of a compacted release.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompactReport {
    /// What is published; its loss counts the rows that the given release leaves out.
    #[serde(flatten)]
    pub release: Report,
    /// The ncp of the given release; nothing if its cells are not understood.
    pub ncp_before: Option<f64>,
}

/// Publishes the tightest description of the classes of a release. The job's input is the original;
/// the key is a column that is unique in both files and tells which rows belong together.
///
/// Without a k of the job, the smallest class of the release decides it. What the job says of the
/// method has no effect.
pub fn compact(
    job: &Job,
    release: &Path,
    key: &str,
    progress: &dyn Progress,
) -> Result<CompactReport> {
    anonymize::on_threads(job, || run(job, release, key, progress))
}

fn run(job: &Job, release: &Path, key: &str, progress: &dyn Progress) -> Result<CompactReport> {
    let mut clock = Clock::start();
    let (original, output) = checked_paths(job, release)?;
    let format = Format::of(output);
    let values = anonymize::values_of(job, format);
    check_job(job, original, key)?;
    roles::check_columns(job, original, values)?;
    let mut given = Given::read(job, original, release, key, progress)?;
    let mut table = table::load(job, original, format == Format::Parquet, None, progress)?;
    let mut job = job.clone();
    given.set_k(&mut job, &table);
    let published = given.original_rows.iter().map(|&row| row as usize);
    let protection = protect_rows(&job, &mut table, published)?;
    given.check_requirement(release, &protection)?;
    clock.seconds.read = clock.lap();

    let fingerprint = table.points.fingerprint();
    let codes = measure::codes_of(&mut table);
    let groups = groups_of(&given.classes, &given.original_rows, &codes);
    let ncp_before = given.ncp_before(&job, release, &mut table, &codes);
    clock.seconds.partition = clock.lap();

    progress.phase("verify", None);
    let accounted = given.without_suppressed(fingerprint, &codes, table.n_rows);
    let verified = verified(&job, groups, &table, &protection, &accounted)?;
    let pairing = given.pairing(&codes, &protection.sensitive);
    let loss = loss_of_part(&verified, table.n_rows, &pairing);
    clock.seconds.verify = clock.lap();

    let destination = destination_of(&job, &table, output, &table.carried);
    let pending = publish(&verified, &destination, progress)?;
    clock.seconds.write = clock.lap();
    clock.seconds.total = clock.start.elapsed().as_secs_f64();
    given.notes.extend(notes_of(&job, key, &table, ncp_before, &loss));
    given.notes.extend_from_slice(&protection.notes);
    let report = Report {
        suppressed: (table.n_rows - verified.n_rows()) as u64,
        method: "compaction of a given release".to_owned(),
        notes: given.notes,
        ..anonymize::report(&job, &table, &protection, &verified, loss, clock.seconds)
    };
    let report = CompactReport { release: report, ncp_before };
    let manifest = serde_json::to_string_pretty(&report).expect("a report has only plain fields");
    pending.finish(&(manifest + "\n"))?;
    Ok(report)
}

/// The original and the output, which must not be the release.
fn checked_paths<'j>(job: &'j Job, release: &Path) -> Result<(&'j Path, &'j Path)> {
    let (original, output) = anonymize::checked_paths(job)?;
    albers_storage::input::open(release)?;
    paths::check_place(output, &[release])?;
    paths::check_place(&manifest_path(output), &[release])?;
    Ok((original, output))
}

/// Refuses roles that make no release, and a key that is not there or that a release changes.
fn check_job(job: &Job, original: &Path, key: &str) -> Result<()> {
    let mut with_k = job.clone();
    with_k.k.get_or_insert(1);
    roles::check_roles(&with_k)?;
    measure::check_columns(job, Some(key))?;
    read::place_of(original, &read::header(original, &job.read_options()?)?, key)?;
    Ok(())
}

/// The classes of a release as groups of rows of the original.
fn groups_of(classes: &Classes, original_rows: &[u32], codes: &[Vec<u32>]) -> Groups {
    /// Blocks are described in parallel.
    const ROWS_PER_BLOCK: usize = 1 << 16;
    let mut blocks = Vec::new();
    let mut block = ClassBlock::default();
    for class in classes.iter() {
        for &released_row in class {
            let row = original_rows[released_row as usize];
            block.row_ids.push(row);
            block.codes.extend(codes.iter().map(|column| column[row as usize]));
        }
        block.class_ends.push(block.row_ids.len() as u32);
        if block.row_ids.len() >= ROWS_PER_BLOCK {
            blocks.push(std::mem::take(&mut block));
        }
    }
    if !block.class_ends.is_empty() {
        blocks.push(block);
    }
    Groups::of_all(codes.len(), blocks)
}

fn verified<'t>(
    job: &Job,
    groups: Groups,
    table: &'t Table,
    protection: &Protection,
    accounted: &Accounted,
) -> Result<Verified<'t>> {
    let expected = Expectation {
        requirement: &protection.requirement,
        facts: &protection.facts,
        n_rows: accounted.n_rows,
        max_suppressed: 0,
        fingerprint: accounted.fingerprint,
        row_ids: None,
        seed: seed_of(job),
        show_regions: false,
    };
    Ok(verify(groups, &table.attributes, &expected)?)
}

fn notes_of(
    job: &Job,
    key: &str,
    table: &Table,
    ncp_before: Option<f64>,
    loss: &Loss,
) -> Vec<String> {
    let mut notes = Vec::new();
    let shows_labels = table.attributes.iter().any(|attribute| attribute.shown == Shown::Label);
    if shows_labels && ncp_before.is_some_and(|before| loss.ncp > before + 1e-9) {
        notes.push(
            "the given release loses less, since labels of a hierarchy are coarser than what it \
             shows: --categories set shows intervals and sets"
                .to_owned(),
        );
    }
    if job.columns.get(key).is_some_and(|column| column.role == Some(Role::Keep)) {
        notes.push(format!("the key '{key}' is published: whoever knows a key finds its row"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use albers_measure::Codes;

    #[test]
    fn groups_hold_the_rows_of_the_original_class_by_class() {
        let texts = [0, 1, 0];
        let classes = Classes::of(3, &[Codes { codes: &texts, n_values: 2 }]);
        let groups = groups_of(&classes, &[3, 0, 1], &[vec![10, 11, 12, 13], vec![5, 6, 7, 8]]);
        assert_eq!((groups.n_rows(), groups.n_classes()), (3, 2));
        let [block] = &groups.blocks[..] else { panic!("a small release is one block") };
        assert_eq!(block.row_ids, [3, 1, 0]);
        assert_eq!(block.codes, [13, 8, 11, 6, 10, 5]);
        assert_eq!(block.class_ends, [2, 3]);
    }

    #[test]
    fn a_large_release_is_cut_into_blocks_of_whole_classes() {
        let texts: Vec<u32> = (0..200_000).map(|row| row % 5).collect();
        let classes = Classes::of(texts.len(), &[Codes { codes: &texts, n_values: 5 }]);
        let rows: Vec<u32> = (0..200_000).collect();
        let groups = groups_of(&classes, &rows, std::slice::from_ref(&texts));
        assert_eq!((groups.n_rows(), groups.n_classes()), (200_000, 5));
        assert_eq!(groups.blocks.len(), 3);
    }
}
