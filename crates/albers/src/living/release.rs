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

use albers_classes::Attribute;
use albers_classes::packed::RowLayout;
use albers_classes::space::Shown;
use albers_index::granularity::Granularity;
use albers_ledger::{Ledger, Needs, NewRelease, ReleaseKind, Verdict};
use albers_privacy::Requirement;
use albers_release::door::{Door, PackedRows, RowStore};
use albers_release::publish::{CarriedSurvey, OutputColumn, Payload};
use albers_storage::store::Pages;
use albers_storage::watch::{Phase, Watch};
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::schema::{ColumnType, Role};
use albers_table::sink::Sink;
use arrow_array::ArrayRef;

use super::catalogue::damaged;
use super::classes::{Admission, admit_parts};
use super::decide::RowSet;
use super::grouped;
use super::ledger::refused;
use super::parts::StoredRows;
use super::report::ReleaseReport;
use super::seen::SeenClasses;
use super::settle::{Growth, RowFactsCounts};
use super::source::StoredSource;
use super::state::{State, Tabled};
use super::stored_table::split_payload;
use crate::context::{Context, DoorRows, Story};
use crate::error::{Error, Result};
use crate::finding::{Acceptance, Finding, FindingName};
use crate::job::Job;
use crate::memory::Memory;
use crate::plan::Plan;
use crate::protection::Protection;
use crate::report::{Note, Prepared};
use crate::rows::attribute_of;

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
        job.granularity = self.granularity;
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
    pub(super) name: &'r str,
    pub(super) counts: &'r RowFactsCounts,
}

/// A release that is verified, written and tested, and the ledger that knows it.
pub(super) struct Released {
    pub(super) prepared: Prepared,
    pub(super) ledger: Ledger,
    pub(super) figures: ReleaseFigures,
}

/// What is told of a release beside what is told of any.
#[derive(Clone, Copy)]
pub(super) struct ReleaseFigures {
    number: u64,
    verdict: Verdict,
    waiting: u64,
}

impl ReleaseFigures {
    pub(super) fn report(&self, prepared: &Prepared) -> ReleaseReport {
        ReleaseReport {
            report: prepared.report.clone(),
            release: self.number,
            smallest_set: self.verdict.smallest_set,
            rows_below: self.verdict.rows_below,
            waiting: self.waiting,
        }
    }
}

impl Releasing<'_> {
    /// Publishes all rows of the index, as far as they do not wait.
    pub(super) fn release(
        &self,
        request: &ReleaseRequest,
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
        let base = self.counts.protection(self.state, &[self.base_k()])?;
        let needs = Needs::of(&base.requirements[0]);
        let read = |extent| Ok(self.pages.read(extent)?);
        let n_bytes = 4 * self.state.counters.next_row as usize;
        let _memory = self.memory.budget.try_reserve("the ledger of the releases", 2 * n_bytes)?;
        let mut ledger = self.state.catalogue.ledger.read(needs, &read)?;
        let waiting = match request.batch && ledger.n_releases() > 0 {
            true => Some(grouped::waiting_rows(self, &plan, &ledger)?),
            false => None,
        };
        let published = PublishedRows::of(self, waiting.as_ref())?;
        let protection = published.counts(self)?.protection_of(self.state, &plan.ks, published.n_rows)?;
        self.publish(Publication { plan: &plan, request, protection: &protection, published: &published }, &mut ledger, sinks)
    }

    fn base_k(&self) -> u64 {
        self.state.job.job.k.unwrap_or(1)
    }
}
