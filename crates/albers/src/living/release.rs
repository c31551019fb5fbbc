//! A release of an index: its leaves, or unions of them, through the door and into the ledger.
//!
//! ```text
//!   buffers emptied ──► parts ──► leaves, or coarser classes ──► door ──► sinks, still without names
//!                                                                 │
//!                        ledger ◄── the class of every row ───────┘
//!                           │ no set of rows below the requirement?
//!                           ▼
//!                        committed ──► names
//! ```
//!
//! Guarantee: that of the door; and before anything has a name, every set of rows that all releases
//! together cannot tell apart satisfies the requirement that the index was created with, or its owner
//! accepts by name that some do not. The ledger knows of a release before it appears: what is
//! interrupted between the two counts as published.
//! Cost: one pass over all rows, and one number for each row in memory.

use albers_index::granularity::Granularity;
use albers_ledger::{Ledger, Needs, NewRelease, ReleaseKind, Verdict};
use albers_privacy::{ClassSummary, Requirement};
use albers_release::door::{Door, PackedRows, Passed, RowStore};
use albers_storage::memory_budget::Reservation;
use albers_storage::store::Pages;
use albers_storage::watch::{Phase, Watch};
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::schema::Role;
use albers_table::sink::Sink;

use super::classes::Admission;
use super::grouped::Grouping;
use super::ledger::refused;
use super::parts::StoredRows;
use super::report::ReleaseReport;
use super::seen::SeenClasses;
use super::settle::{Growth, RowCounts};
use super::shown::{ShownTable, StoredSource};
use super::state::{State, Tabled};
use crate::context::{Context, DoorRows};
use crate::error::{Error, Result};
use crate::finding::{Acceptance, Finding, FindingName};
use crate::job::Job;
use crate::memory::Memory;
use crate::plan::Plan;
use crate::protection::Protection;
use crate::report::{Clock, Note, Prepared, Report};

/// What a release of an index is to be.
#[derive(Debug, Clone, Default)]
pub struct ReleaseRequest {
    /// Rows (or subjects) per class, at least; that of the index when not given.
    pub k: Option<u64>,
    /// More releases, coarser ones: the k of each.
    pub also_k: Vec<u64>,
    /// How leaves are brought together for these.
    pub granularity: Option<Granularity>,
    /// Whether earlier classes stay as they were or are joined, and new rows have classes of their own.
    pub batch: bool,
    /// Whether the key is published too.
    pub keep_key: bool,
    /// Findings that do not stop the release, beside those of the index's job.
    pub accept: Vec<Acceptance>,
}

impl ReleaseRequest {
    /// The k of each release.
    pub(super) fn ks(&self, of_index: &Job) -> Vec<u64> {
        let k = self.k.or(of_index.k).unwrap_or(1);
        std::iter::once(k).chain(self.also_k.iter().copied()).collect()
    }

    /// The job of the release of an index.
    pub(super) fn job(&self, of_index: &Job, key: &str) -> Result<Job> {
        let base_k = of_index.k.unwrap_or(1);
        let k = self.k.unwrap_or(base_k);
        if k < base_k {
            return Err(Error::usage(
                format!("the index was made for k = {base_k}, and k = {k} is less"),
                wording!["give ", Field::K.of(base_k.to_string()), " or more"],
            ));
        }
        if self.batch && !self.also_k.is_empty() {
            return Err(Error::usage(
                "coarser releases are made of the leaves of the tree, and the classes of a batch are \
                 those of earlier releases",
                wording!["drop --batch, or ", Field::AlsoK],
            ));
        }
        let mut job = of_index.clone();
        job.k = Some(k);
        job.also_k.clone_from(&self.also_k);
        if self.granularity.is_some() && self.batch {
            return Err(Error::usage(
                wording![
                    Field::Granularity,
                    " has no effect with --batch: sets are joined as they lie"
                ],
                "drop one of them",
            ));
        }
        if self.granularity.is_some_and(Granularity::needs_nesting) {
            return Err(Error::usage(
                wording![
                    Field::Granularity.of("nested"),
                    ": no regions of rtree lie in each other"
                ],
                wording!["use ", Field::Granularity.of("dendrogram")],
            ));
        }
        // How leaves are brought together for a greater k alone is no matter of a plan.
        job.granularity = self.granularity.filter(|_| !self.also_k.is_empty());
        if self.granularity.is_some() && self.also_k.is_empty() && k == base_k {
            return Err(Error::usage(
                wording![Field::Granularity, " has no effect, since every leaf is a class"],
                wording!["drop it, or give a greater ", Field::K],
            ));
        }
        job.accept.extend(self.accept.iter().cloned());
        if self.keep_key {
            job.column(key).role = Some(Role::Keep);
        }
        Ok(job)
    }
}

/// What a release is made of.
pub(super) struct Releasing<'r> {
    pub(super) state: &'r State,
    pub(super) pages: Pages,
    pub(super) memory: &'r Memory,
    pub(super) watch: &'r dyn Watch,
    /// What the index is called.
    pub(super) name: &'r str,
    /// Runs since buffers began to be emptied.
    pub(super) clock: Clock,
}

/// A release that is verified, written and tested, and the ledger that knows it.
pub(super) struct Released {
    pub(super) prepared: Prepared,
    pub(super) ledger: Ledger,
    pub(super) figures: ReleaseFigures,
    _memory: Reservation,
}

/// What is told of a release beside what is told of any.
#[derive(Clone, Copy)]
pub(super) struct ReleaseFigures {
    number: u64,
    tested: TestedSets,
    waiting: u64,
}

impl ReleaseFigures {
    pub(super) fn report(&self, prepared: &Prepared, rows_cut: u64) -> ReleaseReport {
        ReleaseReport {
            report: prepared.report.clone(),
            release: self.number,
            smallest_set: self.tested.verdict.smallest_set,
            rows_below: self.tested.verdict.rows_below,
            sets_seconds: self.tested.seconds,
            waiting: self.waiting,
            rows_cut,
        }
    }
}

impl<'r> Releasing<'r> {
    /// Publishes all rows of the index, as far as they do not wait.
    pub(super) fn release(
        &self,
        request: &ReleaseRequest,
        counts: &RowCounts,
        sinks: Vec<Box<dyn Sink>>,
    ) -> Result<Released> {
        let tabled = self.state.tabled()?;
        let job = request.job(&self.state.job.job, &self.state.catalogue.key)?;
        let plan = Plan::of(&job, self.name, &tabled.schema.columns)?;
        let plan = Plan { identifiers: Vec::new(), ..plan };
        if sinks.len() != plan.ks.len() {
            return Err(Error::usage(
                format!("{} sinks for {} releases", sinks.len(), plan.ks.len()),
                "give a sink for k, and one for each other k",
            ));
        }
        let base_k = [self.state.job.job.k.unwrap_or(1)];
        let n_rows = self.state.counters.n_rows;
        let base = counts.protection(self.state, &base_k, n_rows)?;
        let (mut ledger, memory) = self.ledger(&base.requirements[0])?;
        let mut grouping = None;
        if request.batch && ledger.n_releases() > 0 {
            let protection = counts.protection(self.state, &plan.ks, n_rows)?;
            grouping = Some(Grouping::of(self, &protection, &ledger)?);
        }
        let waiting = grouping.as_ref().map_or(0, Grouping::n_waiting);
        let without = grouping.as_ref().filter(|_| waiting > 0);
        let recounted = without.map(|own| own.counts(self)).transpose()?;
        let counts = recounted.as_ref().unwrap_or(counts);
        let protection = counts.protection(self.state, &plan.ks, n_rows - waiting)?;
        let base = counts.protection(self.state, &base_k, n_rows - waiting)?;
        let publication = Publication {
            plan: &plan,
            request,
            n_rows: n_rows - waiting,
            counts,
            protection: &protection,
            base: &base.requirements[0],
            grouping: grouping.as_ref(),
        };
        let (prepared, tested) = self.publish(publication, &mut ledger, sinks)?;
        let number = ledger.n_releases() as u64;
        let figures = ReleaseFigures { number, tested, waiting };
        Ok(Released { prepared, ledger, figures, _memory: memory })
    }

    /// The ledger, and the memory that it takes.
    fn ledger(&self, requirement: &Requirement) -> Result<(Ledger, Reservation)> {
        let record = &self.state.catalogue.ledger;
        let n_bytes = record.memory_bytes(self.state.counters.next_row);
        let memory = self.memory.budget.try_reserve("the ledger of the releases", n_bytes)?;
        let read = |extent| Ok(self.pages.read(extent)?);
        Ok((record.read(Needs::of(requirement), &read)?, memory))
    }

    /// The rows of all parts.
    pub(super) fn rows(&self) -> Result<StoredRows<'_>> {
        let parts = self.state.catalogue.parts.clone();
        Ok(StoredRows::new(parts, &[], self.pages.clone(), &self.state.tabled()?.coding))
    }

    fn publish(
        &self,
        publication: Publication<'_>,
        ledger: &mut Ledger,
        sinks: Vec<Box<dyn Sink>>,
    ) -> Result<(Prepared, TestedSets)> {
        let Publication { plan, request, protection, grouping, .. } = publication;
        let tabled = self.state.tabled()?;
        let source = StoredSource { name: self.name, schema: &tabled.schema };
        let mut run = Context::new(plan, &source, self.memory, &sinks, self.watch)?;
        run.clock = self.clock.clone();
        let keep_key = request.keep_key.then_some(self.state.catalogue.key.as_str());
        let shown = ShownTable::of(self, plan, (keep_key, run.typed_output), grouping)?;
        let growth = Growth::of(&tabled.schema, &tabled.coding, &protection.ruled);
        let first = tabled.schema.n_subject_facts();
        let sensitive_facts: Vec<usize> = (first..shown.layout.n_facts()).collect();
        let door_plan = run.door_plan(DoorRows {
            attributes: &shown.attributes,
            columns: &shown.columns,
            shows_regions: false,
            n_rows: publication.n_rows,
            fingerprint: 0,
            rows: RowStore::Packed(PackedRows {
                layout: &shown.layout,
                facts: &growth.facts,
                sensitive_facts: &sensitive_facts,
                payload: &shown.payload,
                payload_bytes: shown.payload_bytes,
                budget: &self.memory.budget,
                store: &self.memory.release_store,
            }),
        })?;
        let mut door = Door::open(&door_plan, protection.requirements.clone(), self.watch)?;
        self.watch.phase(Phase::Partition, Some(publication.n_rows));
        let admission = Admission {
            releasing: self,
            shown: &shown,
            bulk: growth.bulk(&tabled.schema, &tabled.coding, publication.base, self.memory),
            granularity: request.granularity.unwrap_or_default(),
        };
        let fingerprint = match grouping {
            None => admission.admit_parts(&mut door)?,
            Some(grouping) => grouping.admit(&admission, ledger, &mut door)?,
        };
        door.expect(fingerprint);
        run.clock.read();
        let finest = door.chain()[0];
        let release = publication.new_release(ledger, sinks[finest].as_ref());
        let whole = publication.whole();
        let opened = ledger
            .open(release, publication.base, Some(&whole))
            .map_err(|error| refused(&error))?;
        let mut seen = SeenClasses::new(opened, finest);
        let story = shown.story(publication.notes(tabled), publication.may_overlap());
        let see = &mut |release: usize, passed: &Passed<'_, '_>| seen.see(release, passed);
        let mut prepared = run.close_before(door, sinks, &story, see)?;
        let (tested, seconds) = seen.finish()?;
        let verdict = tested.verdict();
        let accepts = plan.accept.iter().any(|own| own.name == FindingName::Linkage);
        if !verdict.holds() && !accepts {
            return Err(Error::Linkage {
                rows_below: verdict.rows_below,
                smallest_set: verdict.smallest_set,
            });
        }
        tested.keep(accepts && !verdict.holds()).map_err(|error| refused(&error))?;
        note_linkage(&mut prepared.report, &verdict);
        Ok((prepared, TestedSets { verdict, seconds }))
    }
}

/// What came of the test of all sets.
#[derive(Clone, Copy)]
struct TestedSets {
    verdict: Verdict,
    /// The time that it took.
    seconds: f64,
}

/// What is published, and what it is checked against.
#[derive(Clone, Copy)]
struct Publication<'p> {
    plan: &'p Plan,
    request: &'p ReleaseRequest,
    n_rows: u64,
    counts: &'p RowCounts,
    protection: &'p Protection,
    /// What every set of rows must satisfy.
    base: &'p Requirement,
    grouping: Option<&'p Grouping>,
}

impl Publication<'_> {
    fn new_release(&self, ledger: &Ledger, sink: &dyn Sink) -> NewRelease {
        let file_name = std::path::Path::new(sink.name()).file_name();
        NewRelease {
            id: (ledger.n_releases() + 1).to_string(),
            kind: if self.request.batch { ReleaseKind::Batch } else { ReleaseKind::Plain },
            k: self.plan.ks[0],
            requirement: self.protection.requirements[0].describe(),
            coarser_ks: self.plan.ks[1..].to_vec(),
            file_name: file_name.map(|name| name.to_string_lossy().into_owned()),
            n_waiting: self.grouping.map_or(0, Grouping::n_waiting),
            extra: Vec::new(),
        }
    }

    /// What is published, summed up as a requirement sees it.
    fn whole(&self) -> ClassSummary {
        let counts = self.counts.ruled(&self.protection.ruled);
        // Only the distribution of the sensitive codes is compared with.
        ClassSummary::of_counts(self.base.shape(), self.n_rows, 1, &counts)
    }

    fn notes(&self, tabled: &Tabled) -> Vec<Note> {
        let mut notes = self.protection.notes.clone();
        notes.extend((self.plan.ks.len() > 1).then_some(Note::BoundTogether));
        let unknown = tabled.coding.unknown_columns();
        notes.extend(unknown.map(|column| Note::ValuesUnknown { column }));
        notes
    }

    /// Whether classes are not just the leaves of the tree.
    fn may_overlap(&self) -> bool {
        self.grouping.is_some() || self.protection.requirements[0].k() > self.base.k()
    }
}

/// Says what was accepted, and that nothing was where nothing had to be.
fn note_linkage(report: &mut Report, verdict: &Verdict) {
    if verdict.holds() {
        return;
    }
    let is_linkage = |note: &Note| matches!(note, Note::NothingToAccept { accepted } if accepted.name == FindingName::Linkage);
    report.notes.retain(|note| !is_linkage(note));
    report.findings.push(Finding {
        name: FindingName::Linkage,
        column: None,
        count: verdict.rows_below,
        is_about: false,
        is_severe: true,
        sentence: wording![format!(
            "this release and the earlier ones together leave {} rows in sets below the requirement",
            verdict.rows_below
        )],
    });
}
