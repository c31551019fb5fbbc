//! The one door out: takes the classes of all releases, and lets them out when all is well.
//!
//! ```text
//!   open ──► admit, admit, leave out, admit ... ──► close ──► Passage ──seal──► Sealed
//!                                                     │
//!              every row there, and no more left out than may be
//!              every class satisfies, grouped by what is shown
//!              every class of a release whole in one class of the next coarser, as shown
//! ```
//!
//! Guarantee: a release that comes out holds exactly the rows that were read, with their codes, but
//! for those that may be and are left out; every class of it, grouped by what its rows show and
//! recomputed from them, satisfies the requirement; where rows are left out, closeness is to the
//! distribution of those that are published. Of several releases, which leave out the same rows, no
//! two classes of one show the same, and every class is a union of whole classes of the next finer
//! one: whoever holds some of them has the finest of these, and no more. Classes leave in an order that depends on the seed and
//! on the texts that they show, and rows within a class in one that depends on what they hold;
//! nothing else decides it, neither the order of the input nor rows that are left out. Nothing
//! appears before it is sealed and named, and there is no other way out.
//! Cost: one pass over the rows in memory; where rows are packed, each is written and read once
//! more, in large blocks.
//!
//! - `plan`: what comes, and what it is checked against.
//! - `leaves`: classes made of the leaves of an index.
//! - `memory`: rows of a table in memory.
//! - `buckets`: rows that are packed, shuffled by what they show.
//! - `giant`: classes that do not fit in memory.
//! - `close`: all releases verified, measured and written.
//! - `passed`: what those who measure get to see.

mod buckets;
mod close;
mod giant;
mod leaves;
mod memory;
mod passed;
mod plan;

use std::time::Instant;

use albers_classes::class_block::{ClassBlock, Groups, Suppressed};
use albers_classes::packed::{RowBlock, RowLayout};
use albers_classes::{ClassId, FeatureValue};
use albers_privacy::{ClassSummary, Criterion, Requirement, SummaryShape};
use albers_storage::watch::Watch;
use albers_table::row::{RowId, RowIdx};
use albers_table::sink::{Sealed, Sink};

use crate::error::{ReleaseError, Result};
use crate::verify::ShowOptions;
use buckets::{BucketPlan, Shuffle};
use close::Closing;
use leaves::Finer;
use memory::MemoryDoor;
use plan::BucketSizes;

pub use crate::verify::{Class, InMemory};
pub use giant::GiantClass;
pub use leaves::{GiantLeaf, LeafClasses, LeafRows};
pub use passed::{ClassSizes, GiantRows, LeftOut, Passed, PassedClasses, secret_hash};
pub use plan::{DoorPlan, PackedRows, RowStore, TableRows};

/// Those who measure: called with the number of a release and some of its rows.
pub type Measure<'m> = dyn FnMut(usize, &Passed<'_, '_>) + 'm;

/// The door while classes come.
pub struct Door<'a> {
    plan: &'a DoorPlan<'a>,
    requirements: Vec<Requirement>,
    watch: &'a dyn Watch,
    way: Way<'a>,
    left_out: LeftOut,
    /// How many published rows have which sensitive codes, where closeness will be to them.
    published: Option<ClassSummary>,
    n_leaves: u64,
    /// The fingerprint that all rows together must have.
    fingerprint: u64,
    /// The releases from the finest to the coarsest.
    chain: Vec<usize>,
}

/// How rows go through.
enum Way<'a> {
    Memory(TableRows<'a>, MemoryDoor),
    Buckets(BucketPlan<'a>, Vec<Shuffle<'a>>),
}

/// A release that is written and verified, and that does not appear yet.
pub struct Passage {
    /// Where it went; whoever holds the passage can seal it, and write nothing more.
    sink: Box<dyn Sink>,
    /// Its classes and rows.
    pub classes: ClassSizes,
    /// Rows left out.
    pub n_left_out: u64,
    /// What every class satisfies; where rows are left out, bound to those that are published.
    pub requirement: Requirement,
    /// The time that checking and measuring took.
    pub verify_seconds: f64,
    /// The time that went by beside that.
    pub write_seconds: f64,
}

impl Passage {
    /// Ends the table, so that nothing but its appearance is missing.
    pub fn seal(self) -> Result<Box<dyn Sealed>> {
        Ok(self.sink.seal()?)
    }
}

impl<'a> Door<'a> {
    /// Whether classes show their regions: values that no row of theirs has may be in them.
    pub fn shows_regions(&self) -> bool {
        self.plan.show_regions
    }

    /// Opens the door for one release per requirement; a greater k is coarser. All of them look at
    /// the same facts.
    ///
    /// # Panics
    /// When there is no requirement, or they look at different facts.
    pub fn open(
        plan: &'a DoorPlan<'a>,
        requirements: Vec<Requirement>,
        watch: &'a dyn Watch,
    ) -> Result<Door<'a>> {
        let shape = requirements.first().expect("there is a release").shape();
        let is_same = |other: &Requirement| other.shape() == shape;
        assert!(requirements.iter().all(is_same), "all releases look at the same facts");
        // Only histograms matter to closeness.
        let counts = ClassSummary::new(&SummaryShape { counts_subjects: false, ..shape.clone() });
        let may_rebind = plan.max_left_out > 0 && requirements.iter().any(is_by_closeness);
        let n_releases = requirements.len();
        let (way, memory) = match plan.rows {
            RowStore::Memory(rows) => (Way::Memory(rows, MemoryDoor::new(n_releases)), None),
            RowStore::Packed(rows) => {
                let sizes = BucketSizes::within(&rows, plan.n_rows, n_releases);
                let options = plan.show_options();
                let (attributes, are_several) = (plan.attributes, n_releases > 1);
                let hides_missing = &[];
                let by_bucket =
                    BucketPlan { attributes, rows, options, hides_missing, are_several, sizes };
                let shuffles =
                    requirements.iter().map(|_| Shuffle::new(&by_bucket)).collect::<Result<_>>()?;
                let memory = rows.budget.reserve_nothing("the rows that are left out");
                (Way::Buckets(by_bucket, shuffles), Some(memory))
            }
        };
        let left_out = LeftOut::of(plan.attributes, memory);
        let published = may_rebind.then_some(counts);
        let mut chain: Vec<usize> = (0..n_releases).collect();
        chain.sort_by_key(|&release| requirements[release].k());
        let fingerprint = plan.fingerprint;
        let n_leaves = 0;
        Ok(Door {
            plan,
            requirements,
            watch,
            way,
            left_out,
            published,
            n_leaves,
            fingerprint,
            chain,
        })
    }

    /// Says what fingerprint all rows together must have, where that is known only when all have
    /// been read.
    pub fn expect(&mut self, fingerprint: u64) {
        self.fingerprint = fingerprint;
    }

    /// Number of releases.
    pub fn n_releases(&self) -> usize {
        self.requirements.len()
    }

    /// What every class of a release must satisfy.
    pub fn requirement(&self, release: usize) -> &Requirement {
        &self.requirements[release]
    }

    /// The releases from the finest to the coarsest. Each class of one must be a union of whole
    /// classes of the one before it, as they are shown.
    pub fn chain(&self) -> &[usize] {
        &self.chain
    }

    /// Tells which classes of a release would show the same: for the class of each leaf, the number
    /// of the first class that shows what it shows. `features` are what classes show beside their
    /// cells, class by class.
    pub fn shown_together(
        &self,
        release: usize,
        leaves: LeafRows<'_>,
        (of_leaf, features): (&[ClassId], &[FeatureValue]),
    ) -> Result<Vec<ClassId>> {
        let options = self.options();
        leaves.check(self.plan.attributes.len(), options)?;
        let classes = (of_leaf, features);
        match &self.way {
            Way::Memory(..) => {
                let describers = options.describers(self.plan.attributes, &[]);
                leaves.shown_together(&describers, classes, options)
            }
            Way::Buckets(_, shuffles) => {
                leaves.shown_together(&shuffles[release].describers, classes, options)
            }
        }
    }

    /// Adds classes of a release, whose rows are told by their numbers.
    ///
    /// # Panics
    /// When the table is not in memory.
    pub fn admit(&mut self, release: usize, block: ClassBlock) -> Result<()> {
        self.watch.check()?;
        match &mut self.way {
            Way::Memory(_, door) => door.admit(release, block),
            Way::Buckets(..) => panic!("rows told by number are those of a table in memory"),
        }
        Ok(())
    }

    /// Adds all classes of the one release, and the rows that it leaves out.
    ///
    /// # Panics
    /// When the table is not in memory.
    pub fn admit_groups(&mut self, groups: Groups) -> Result<()> {
        for block in groups.blocks {
            self.admit(0, block)?;
        }
        self.leave_out(&groups.suppressed)
    }

    /// Adds the classes that each release makes of some leaves of an index. Every leaf comes once,
    /// and lies in one class as a whole; where there are several releases, also every class of a
    /// release in one of the next coarser.
    pub fn admit_leaves(&mut self, leaves: LeafRows<'_>, classes: &[LeafClasses]) -> Result<()> {
        self.watch.check()?;
        assert_eq!(classes.len(), self.n_releases(), "classes for each release");
        let options = self.options();
        leaves.check(self.plan.attributes.len(), options)?;
        let is_whole = |own: &LeafClasses| {
            own.of_leaf.as_ref().is_none_or(|of_leaf| of_leaf.len() == leaves.ends.len())
        };
        if !classes.iter().all(is_whole) {
            return Err(ReleaseError::RowsChanged);
        }
        match &mut self.way {
            Way::Memory(_, door) => door.admit_leaves(leaves, classes, options)?,
            Way::Buckets(plan, shuffles) => {
                check_layout(plan, leaves.layout);
                let mut finer = Finer { first: self.n_leaves, of_leaf: None };
                for &release in &self.chain {
                    let (shuffle, classes) = (&mut shuffles[release], &classes[release]);
                    let first = shuffle.n_classes;
                    shuffle.add(plan, leaves, finer, classes, self.watch)?;
                    finer = Finer { first, of_leaf: classes.of_leaf.as_deref() };
                }
                let rows = leaves.order.iter().copied();
                count(self.published.as_mut(), plan, leaves.rows, rows);
            }
        }
        self.n_leaves += leaves.ends.len() as u64;
        Ok(())
    }

    /// Adds a leaf that does not fit in memory: one class of every release. Its features are those of
    /// each release, one after another.
    pub fn admit_giant(&mut self, leaf: GiantLeaf<'_>) -> Result<()> {
        self.watch.check()?;
        let options = self.options();
        let n_features = options.n_features;
        if leaf.features.len() != n_features * self.n_releases() {
            return Err(ReleaseError::Incomplete { missing: "what they show beside their cells" });
        }
        let of_release = |release: usize| GiantLeaf {
            features: &leaf.features[release * n_features..(release + 1) * n_features],
            ..leaf
        };
        leaf.check(self.plan.attributes.len(), options)?;
        match &mut self.way {
            Way::Memory(_, door) => {
                (0..self.requirements.len())
                    .try_for_each(|own| door.admit_giant(own, of_release(own), options))?;
            }
            Way::Buckets(plan, shuffles) => {
                check_layout(plan, leaf.layout);
                let mut part_id = self.n_leaves;
                for &release in &self.chain {
                    let class_id = shuffles[release].n_classes;
                    shuffles[release].add_giant(plan, of_release(release), part_id, self.watch)?;
                    part_id = class_id;
                }
                if self.published.is_some() {
                    for block in leaf.blocks {
                        let rows = leaf.read(block)?;
                        let places = 0..rows.n_rows() as u32;
                        count(self.published.as_mut(), plan, &rows, places);
                    }
                }
            }
        }
        self.n_leaves += 1;
        Ok(())
    }

    /// Leaves rows out of all releases that are told by their numbers.
    ///
    /// # Panics
    /// When the table is not in memory.
    pub fn leave_out(&mut self, rows: &Suppressed) -> Result<()> {
        let Way::Memory(table, _) = &self.way else {
            panic!("rows told by number are those of a table in memory")
        };
        let n_attributes = self.plan.attributes.len();
        if rows.codes.len() != rows.row_idxs.len() * n_attributes {
            return Err(ReleaseError::RowsChanged);
        }
        for (&row_idx, codes) in rows.row_idxs.iter().zip(rows.codes.chunks_exact(n_attributes)) {
            add_left_out(&mut self.left_out, table, self.plan.n_rows, row_idx.into(), codes)?;
        }
        Ok(())
    }

    /// Leaves packed rows out of all releases: those at some places of a block.
    pub fn leave_out_packed(
        &mut self,
        layout: &RowLayout,
        rows: &RowBlock,
        places: impl Iterator<Item = u32>,
    ) -> Result<()> {
        let mut codes = vec![0; self.plan.attributes.len()];
        let places: Vec<usize> = places.map(|place| place as usize).collect();
        if let Way::Buckets(plan, _) = &self.way
            && !places.is_empty()
        {
            let payload = plan.rows.payload;
            self.left_out.add_cells(&payload.decode(places.iter().map(|&row| rows.payload(row)))?);
        }
        for row in places {
            let row_id = rows.row_id(layout, row);
            rows.codes(layout, row, &mut codes);
            match &self.way {
                Way::Memory(table, _) => {
                    add_left_out(&mut self.left_out, table, self.plan.n_rows, row_id, &codes)?;
                }
                Way::Buckets(plan, _) => {
                    let facts = plan.rows.sensitive_facts.iter();
                    let secrets = facts.map(|&fact| rows.fact(layout, row, fact));
                    self.left_out.add(row_id, &codes, secrets)?;
                }
            }
        }
        Ok(())
    }

    /// Verifies, measures and writes all releases, each to its sink. Nothing appears yet.
    ///
    /// # Panics
    /// When there is not one sink for each release.
    pub fn close(
        mut self,
        sinks: Vec<Box<dyn Sink>>,
        measure: &mut Measure<'_>,
    ) -> Result<Vec<Passage>> {
        assert_eq!(sinks.len(), self.n_releases(), "a sink for each release");
        let start = Instant::now();
        self.left_out.finish();
        self.check_left_out()?;
        self.bind_to_published()?;
        let Door { plan, requirements, watch, way, left_out, fingerprint, chain, .. } = self;
        let closing = Closing { plan, fingerprint, left_out: &left_out, chain: &chain, watch };
        let mut passages = match way {
            Way::Memory(rows, door) => {
                closing.close_memory(rows, door, requirements, sinks, measure)
            }
            Way::Buckets(by_bucket, shuffles) => {
                closing.close_buckets(&by_bucket, shuffles, requirements, sinks, measure)
            }
        }?;
        // What was checked for all of them counts for the first.
        let n_all: f64 = passages.iter().map(|own| own.verify_seconds + own.write_seconds).sum();
        passages[0].verify_seconds += (start.elapsed().as_secs_f64() - n_all).max(0.0);
        Ok(passages)
    }

    fn options(&self) -> ShowOptions {
        self.plan.show_options()
    }

    /// Rows that came to the finest release.
    fn n_admitted(&self) -> u64 {
        match &self.way {
            Way::Memory(_, door) => door.n_rows(0),
            Way::Buckets(_, shuffles) => shuffles[0].n_rows,
        }
    }

    /// Refuses to leave out more rows than may be, or all of them.
    fn check_left_out(&self) -> Result<()> {
        let (n_rows, n_suppressed) = (self.plan.n_rows, self.left_out.n_rows());
        let max_suppressed = self.plan.max_left_out;
        if n_suppressed > max_suppressed {
            return Err(ReleaseError::TooManySuppressed { n_suppressed, max_suppressed, n_rows });
        }
        if n_suppressed > 0 && self.n_admitted() == 0 && !self.plan.may_be_empty {
            return Err(ReleaseError::NothingLeft { n_rows });
        }
        Ok(())
    }

    /// Where rows are left out, closeness is to the distribution of those that are published:
    /// nobody sees the whole table.
    fn bind_to_published(&mut self) -> Result<()> {
        let Some(mut published) = self.published.take() else { return Ok(()) };
        if self.left_out.n_rows() == 0 {
            return Ok(());
        }
        if let Way::Memory(table, door) = &self.way {
            door.count(table.facts, self.plan.n_rows, &mut published)?;
        }
        self.requirements.iter_mut().for_each(|requirement| requirement.bind(&published));
        Ok(())
    }
}

fn is_by_closeness(requirement: &Requirement) -> bool {
    requirement.rules().iter().any(|(_, rule)| matches!(rule, Criterion::TCloseness { .. }))
}

fn check_layout(plan: &BucketPlan<'_>, layout: &RowLayout) {
    assert_eq!(plan.rows.layout, layout, "all rows are packed alike");
}

/// Counts the sensitive codes of packed rows, where that is asked for.
fn count(
    counts: Option<&mut ClassSummary>,
    plan: &BucketPlan<'_>,
    rows: &RowBlock,
    places: impl Iterator<Item = u32>,
) {
    let Some(counts) = counts else { return };
    let mut codes = Vec::new();
    for place in places {
        codes.clear();
        let ruled = plan.rows.facts.ruled.iter();
        codes.extend(ruled.map(|&fact| rows.fact(plan.rows.layout, place as usize, fact)));
        counts.add(0, &codes);
    }
}

fn add_left_out(
    left_out: &mut LeftOut,
    table: &TableRows<'_>,
    n_rows: u64,
    row_id: RowId,
    codes: &[u32],
) -> Result<()> {
    if row_id.get() >= n_rows {
        return Err(ReleaseError::RowsChanged);
    }
    let row_idx = RowIdx::of_id(row_id).index();
    left_out.add(row_id, codes, table.sensitive.iter().map(|column| column[row_idx]))
}
