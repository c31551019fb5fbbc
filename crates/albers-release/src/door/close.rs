//! When all classes have come: every release is verified, measured and written.
//!
//! `verify` is the time of checking and measuring; `write` is what goes by beside that. Where a
//! bucket is checked while the one before it is written, only the excess counts as writing, so that
//! the two add up to the time that closing takes.

use std::time::Instant;

use albers_privacy::Requirement;
use albers_storage::watch::{Phase, Watch};
use albers_table::sink::Sink;

use super::buckets::gate::Gate;
use super::buckets::{BucketPlan, Shuffle, Totals};
use super::memory::MemoryDoor;
use super::passed::{ClassSizes, LeftOut, Passed, PassedClasses};
use super::plan::{DoorPlan, TableRows};
use super::{Measure, Passage};
use crate::describe::ShownFacts;
use crate::error::{ReleaseError, Result};
use crate::publish::{Contents, Writer};
use crate::verify::describe;

/// What all releases are checked against.
pub(super) struct Closing<'c, 'a> {
    pub(super) plan: &'a DoorPlan<'a>,
    /// What all rows together must have.
    pub(super) fingerprint: u64,
    pub(super) left_out: &'c LeftOut,
    /// The releases from the finest to the coarsest.
    pub(super) chain: &'c [usize],
    pub(super) watch: &'a dyn Watch,
}

impl<'a> Closing<'_, 'a> {
    /// Every row that was read must be there, or left out.
    fn check_rows(&self, n_rows: u64, fingerprint: u64) -> Result<()> {
        let n_rows = n_rows + self.left_out.n_rows();
        let fingerprint = fingerprint.wrapping_add(self.left_out.fingerprint());
        match (n_rows, fingerprint) == (self.plan.n_rows, self.fingerprint) {
            true => Ok(()),
            false => Err(ReleaseError::RowsChanged),
        }
    }

    fn measure_left_out(&self, release: usize, measure: &mut Measure<'_>) {
        if self.left_out.n_rows() > 0 {
            measure(release, &Passed::LeftOut(self.left_out));
        }
    }

    /// Verifies, measures and writes the releases of a table in memory.
    pub(super) fn close_memory(
        &self,
        rows: TableRows<'a>,
        mut door: MemoryDoor,
        requirements: Vec<Requirement>,
        sinks: Vec<Box<dyn Sink>>,
        measure: &mut Measure<'_>,
    ) -> Result<Vec<Passage>> {
        let mut passages = Vec::with_capacity(sinks.len());
        let carried = self.left_out.fields_of_table(rows.carried)?;
        let hides_missing = self.left_out.hides_missing(self.plan);
        for (release, (requirement, sink)) in self.in_chain(requirements.into_iter().zip(sinks)) {
            let start = Instant::now();
            self.watch.phase(Phase::Verify, Some(door.n_rows(release)));
            let blocks = door.take(release)?;
            let options = self.plan.show_options();
            let describers = options.describers(self.plan.attributes, &hides_missing);
            let described = describe(blocks, describers, options, None, self.watch)?;
            self.check_rows(described.n_rows, described.fingerprint)?;
            let classes = &described.verify(&requirement, rows.facts)?;
            door.note(classes, self.plan.n_rows)?;
            let mut sizes = ClassSizes::default();
            sizes.add_all(classes);
            let passed = PassedClasses {
                classes,
                row_ids: None,
                sensitive: rows.sensitive,
                facts: rows.facts,
                carried: rows.carried,
                requirement: &requirement,
            };
            measure(release, &Passed::Classes(passed));
            self.measure_left_out(release, measure);
            let verify_seconds = start.elapsed().as_secs_f64();
            self.watch.phase(Phase::Write, Some(classes.n_rows()));
            let output = self.plan.output(None);
            let contents = Contents { shown: classes.facts(), carried: carried.clone() };
            let mut writer = Writer::begin(sink, classes.describers(), output, contents)?;
            writer.write(classes, rows.carried, self.watch)?;
            passages.push(Passage {
                sink: writer.into_sink(),
                classes: sizes,
                n_left_out: self.left_out.n_rows(),
                requirement,
                verify_seconds,
                write_seconds: start.elapsed().as_secs_f64() - verify_seconds,
            });
        }
        Ok(self.as_opened(passages))
    }

    /// What belongs to each release with its number, from the finest to the coarsest.
    fn in_chain<T>(&self, of_releases: impl Iterator<Item = T>) -> Vec<(usize, T)> {
        let mut numbered: Vec<(usize, T)> = of_releases.enumerate().collect();
        let place = |release: usize| self.chain.iter().position(|&other| other == release);
        numbered.sort_by_key(|&(release, _)| place(release));
        numbered
    }

    /// What came of the releases from the finest to the coarsest, as they were given.
    fn as_opened<T>(&self, of_chain: Vec<T>) -> Vec<T> {
        let mut numbered: Vec<(usize, T)> = self.chain.iter().copied().zip(of_chain).collect();
        numbered.sort_by_key(|&(release, _)| release);
        numbered.into_iter().map(|(_, own)| own).collect()
    }

    /// The same for classes that were shuffled into buckets.
    pub(super) fn close_buckets(
        &self,
        by_bucket: &BucketPlan<'a>,
        shuffles: Vec<Shuffle<'a>>,
        requirements: Vec<Requirement>,
        sinks: Vec<Box<dyn Sink>>,
        measure: &mut Measure<'_>,
    ) -> Result<Vec<Passage>> {
        let mut passages = Vec::with_capacity(sinks.len());
        let mut finer: Option<Totals> = None;
        let carried = self.left_out.fields_of_payload(by_bucket.rows.payload);
        let hides_missing = self.left_out.hides_missing(self.plan);
        let by_bucket = &BucketPlan { hides_missing: &hides_missing, ..*by_bucket };
        // The buffers of all releases are emptied before anything is loaded.
        let facts = shuffles.iter().map(|shuffle| (shuffle.n_rows, shuffle.shown.clone()));
        let facts: Vec<(u64, Vec<ShownFacts>)> = facts.collect();
        let shuffled = shuffles.into_iter().map(|shuffle| shuffle.into_buckets(by_bucket));
        let shuffled = shuffled.collect::<Result<Vec<_>>>()?;
        let releases = requirements.into_iter().zip(sinks).zip(shuffled).zip(facts);
        for (release, (((requirement, sink), buckets), (n_rows, shown))) in self.in_chain(releases)
        {
            let start = Instant::now();
            self.watch.phase(Phase::Verify, Some(n_rows));
            let describers = by_bucket.describers();
            let output = self.plan.output(Some(&by_bucket.sizes));
            let contents = Contents { shown, carried: carried.clone() };
            let writer = Writer::begin(sink, &describers, output, contents)?;
            drop(describers);
            let mut of_release = |passed: &Passed<'_, '_>| measure(release, passed);
            let mut gate =
                Gate::new(by_bucket, &requirement, writer, self.watch, &mut of_release, n_rows);
            gate.pass_all(buckets)?;
            let Gate { writer, totals, sizes, mut verify_seconds, .. } = gate;
            self.check_rows(totals.n_rows, totals.fingerprint)?;
            if finer.replace(totals).is_some_and(|finer| finer.classes != totals.parts) {
                return Err(ReleaseError::NotNested);
            }
            let measured = Instant::now();
            self.measure_left_out(release, measure);
            verify_seconds += measured.elapsed().as_secs_f64();
            passages.push(Passage {
                sink: writer.into_sink(),
                classes: sizes,
                n_left_out: self.left_out.n_rows(),
                requirement,
                verify_seconds,
                write_seconds: (start.elapsed().as_secs_f64() - verify_seconds).max(0.0),
            });
        }
        Ok(self.as_opened(passages))
    }
}
