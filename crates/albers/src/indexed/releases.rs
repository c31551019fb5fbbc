//! All releases of one index: classes of every granularity, shuffled, verified and written.

use std::path::{Path, PathBuf};

use albers_classes::packed::RowLayout;
use albers_index::buffer_tree::{BufferTree, BulkPlan, Loaded, Subtree};
use albers_index::granularity::{self, Granularity};
use albers_measure::{LeftOut, Loss, LossOfParts};
use albers_release::ReleaseError;
use albers_release::publish::{Destination, SlabLimits, manifest_path, name_all};
use albers_release::stream::{
    LeafRows, Passed, Published, Shuffle, StreamPlan, StreamSizes, Totals,
};
use albers_storage::StorageError;
use albers_storage::memory_budget::MemoryBudget;
use albers_table::progress::Progress;

use super::Protection;
use super::load::LoadedTable;
use crate::anonymize::{self, Clock, Outcome, destination_of, manifest_of, report_of, seed_of};
use crate::error::{Error, Result};
use crate::job::{GranularityChoice, Job};
use crate::paths;
use crate::report::{AlsoReport, ClassSize, ClassSizes, Report};
use crate::secrets;
use crate::table::Table;

/// The most children of a node of the index.
const FAN_OUT: usize = 16;

/// What is said where there are several releases.
const BOUND_NOTE: &str = "every class of every release is a union of whole leaves of one index, each of \
    which satisfies the requirement of the finest: together the releases tell no more";

/// The releases of a job: the finest first.
pub struct Targets {
    releases: Vec<Target>,
}

struct Target {
    k: u64,
    path: PathBuf,
}

impl Targets {
    /// Checks what a job says of its releases.
    pub fn of(job: &Job, input: &Path, output: &Path) -> Result<Targets> {
        let base_k = secrets::given_k(job)?;
        let read = anonymize::files_read(job, input)?;
        let read: Vec<&Path> = read.iter().map(PathBuf::as_path).collect();
        let mut releases = vec![Target { k: base_k, path: output.to_owned() }];
        for &k in &job.also_k {
            if k <= base_k {
                return Err(Error::usage(
                    format!("a coarser release for k = {k} is asked for besides k = {base_k}"),
                    "give the least k with -k, and greater ones with --also-k",
                ));
            }
            if releases.iter().any(|other| other.k == k) {
                return Err(Error::usage(
                    format!("k = {k} is asked for twice"),
                    "give each k once",
                ));
            }
            let path = beside(output, k);
            paths::check_output(&path, &read)?;
            paths::check_place(&manifest_path(&path), &read)?;
            releases.push(Target { k, path });
        }
        Ok(Targets { releases })
    }

    /// All k, the least first.
    pub fn ks(&self) -> impl Iterator<Item = u64> + '_ {
        self.releases.iter().map(|target| target.k)
    }

    /// The k of the index.
    pub fn base_k(&self) -> u64 {
        self.releases[0].k
    }

    /// The greatest k.
    pub fn greatest_k(&self) -> u64 {
        self.ks().max().unwrap_or(1)
    }
}

/// `NAME.k10.EXT` beside `NAME.EXT`.
fn beside(output: &Path, k: u64) -> PathBuf {
    let name = output.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let packed = [".csv.gz", ".csv.zst", ".csv.zstd", ".tsv.gz", ".tsv.zst", ".tsv.zstd"];
    let ending = packed.into_iter().find(|ending| name.to_ascii_lowercase().ends_with(ending));
    let n_ending = match ending {
        Some(ending) => ending.len(),
        None => name.rfind('.').map_or(0, |at| name.len() - at),
    };
    let (stem, ending) = name.split_at(name.len() - n_ending);
    output.with_file_name(format!("{stem}.k{k}{ending}"))
}

/// Builds the index part by part and publishes all releases.
pub fn publish_all(
    job: &Job,
    targets: &Targets,
    protection: &Protection,
    bulk: &BulkPlan<'_>,
    loaded: LoadedTable<'_>,
    mut clock: Clock,
    progress: &dyn Progress,
) -> Result<Report> {
    let LoadedTable { table, tree, payload, fingerprint, notes, memory: _memory } = loaded;
    let first_sensitive = usize::from(bulk.facts.subject.is_some());
    let sensitive_facts: Vec<usize> = (first_sensitive..bulk.layout.n_facts()).collect();
    let streamed = Streamed::of_tree(bulk, &tree, table.n_rows, protection.requirements.len());
    let sizes = stream_sizes(&streamed);
    let plan_of = |requirement| StreamPlan {
        attributes: &table.attributes,
        layout: bulk.layout,
        facts: bulk.facts,
        sensitive_facts: &sensitive_facts,
        payload: &payload,
        requirement,
        seed: seed_of(job),
        show_regions: bulk.plan.keep_regions,
        budget: bulk.budget,
        store: bulk.store,
        sizes,
    };
    let plans: Vec<StreamPlan<'_>> = protection.requirements.iter().map(plan_of).collect();
    let shuffles = shuffle_all(job, bulk, tree, &plans, progress)?;
    clock.seconds.partition = clock.lap();

    let expected = Totals { n_rows: table.n_rows as u64, fingerprint, ..Totals::default() };
    let mut written = Vec::new();
    for (shuffle, target) in shuffles.into_iter().zip(&targets.releases) {
        let destination = destination_of(job, &table, &target.path, &[]);
        let left_out = LeftOut::default();
        written.push(Written::of(shuffle, &destination, &table, left_out, progress)?);
    }
    check_totals(&expected, &written)?;
    clock.seconds.verify = written.iter().map(|own| own.published.verify_seconds).sum();
    clock.seconds.write = clock.lap() - clock.seconds.verify;
    clock.seconds.total = clock.start.elapsed().as_secs_f64();

    let mut notes = [protection.notes.clone(), notes].concat();
    notes.extend((written.len() > 1).then(|| BOUND_NOTE.to_owned()));
    let reports = written.into_iter().zip(&protection.requirements).map(|(own, requirement)| {
        let outcome = Outcome {
            n_rows: own.published.totals.n_rows,
            n_suppressed: 0,
            n_classes: own.n_classes,
            class_size: own.class_size,
            requirement,
            method: method_of(job, requirement.k() != targets.base_k()),
            loss: own.loss,
            notes: notes.clone(),
            spilled_bytes: bulk.store.written_bytes(),
            generalization: None,
        };
        let report = report_of(job, &table, outcome, clock.seconds.clone());
        let read_back_bytes = bulk.store.read_bytes();
        (own.published, Report { read_back_bytes, ..report })
    });
    finish_all(reports.collect(), targets)
}

/// Gives all releases their names, when all of them are on disk. The report of the finest tells of
/// all.
fn finish_all(mut reports: Vec<(Published, Report)>, targets: &Targets) -> Result<Report> {
    let (base, mut report) = reports.remove(0);
    let mut sealed = Vec::new();
    for ((published, own), target) in reports.into_iter().zip(&targets.releases[1..]) {
        sealed.push(published.pending.seal(&manifest_of(&own))?);
        let path = target.path.display().to_string();
        report.also.push(AlsoReport { k: target.k, path, report: own });
    }
    sealed.insert(0, base.pending.seal(&manifest_of(&report))?);
    name_all(sealed)?;
    Ok(report)
}

fn method_of(job: &Job, is_coarser: bool) -> String {
    let split = job.split.unwrap_or_default().name();
    match is_coarser {
        false => format!("rtree, {split} split"),
        true => format!("rtree, {split} split, {}", job.granularity.unwrap_or_default().name()),
    }
}

/// What is to be shuffled.
pub struct Streamed<'a> {
    /// The memory of all.
    pub budget: &'a MemoryBudget,
    /// How rows are packed.
    pub layout: &'a RowLayout,
    /// What is written to the store at once.
    pub block_bytes: usize,
    /// Rows.
    pub n_rows: usize,
    /// What all of them carry.
    pub n_payload_bytes: usize,
    /// Releases that are shuffled together.
    pub n_releases: usize,
}

impl<'a> Streamed<'a> {
    fn of_tree(
        bulk: &BulkPlan<'a>,
        tree: &BufferTree<'_>,
        n_rows: usize,
        n_releases: usize,
    ) -> Streamed<'a> {
        Streamed {
            budget: bulk.budget,
            layout: bulk.layout,
            block_bytes: bulk.sizes.block_bytes,
            n_rows,
            n_payload_bytes: tree.n_payload_bytes(),
            n_releases,
        }
    }
}

/// How classes are shuffled within the budget.
pub fn stream_sizes(streamed: &Streamed<'_>) -> StreamSizes {
    let Streamed { budget, layout, block_bytes, n_rows, n_payload_bytes, n_releases } = *streamed;
    let budget_bytes = budget.limit_bytes();
    let n_bytes = n_rows * StreamPlan::row_bytes(layout) + 3 * n_payload_bytes;
    let wanted = n_bytes.div_ceil((budget_bytes / 6).max(1)).next_power_of_two();
    let most = (budget_bytes / 8 / n_releases / block_bytes).max(2);
    // The greatest power of two that is not above the most.
    let most = 1 << most.ilog2();
    // A slab is built in the formats of all columns, and the next while it is written.
    let n_slab_bytes = (budget_bytes / 8).clamp(1 << 16, 256 << 20);
    let n_slab_rows = n_slab_bytes / (64 * (layout.n_attributes() + 1));
    StreamSizes {
        n_buckets: wanted.min(most),
        block_bytes,
        slab: SlabLimits { n_rows: n_slab_rows.clamp(64, 1 << 18), n_bytes: n_slab_bytes },
        group_bytes: (budget_bytes / 8).clamp(1 << 20, 128 << 20),
    }
}

/// Builds the index part by part, and hands the classes of each part to all releases.
fn shuffle_all<'p>(
    job: &Job,
    bulk: &BulkPlan<'_>,
    tree: BufferTree<'_>,
    plans: &'p [StreamPlan<'p>],
    progress: &dyn Progress,
) -> Result<Vec<Shuffle<'p>>> {
    let mut shuffles = plans
        .iter()
        .map(Shuffle::new)
        .collect::<std::result::Result<Vec<Shuffle<'p>>, ReleaseError>>()?;
    let granularity = match job.granularity.unwrap_or_default() {
        GranularityChoice::Cut => Granularity::Cut,
        GranularityChoice::LeafScan => Granularity::LeafScan,
        GranularityChoice::Hierarchical => Granularity::Hierarchical { fan_out: FAN_OUT },
    };
    progress.phase("partition", Some(tree.n_rows()));
    let mut n_leaves = 0u64;
    // What went wrong in the sink, which can only tell of storage.
    let mut fault: Option<ReleaseError> = None;
    let drained = tree.drain(&mut |loaded| {
        let added = match &loaded {
            Loaded::Subtree(subtree) => {
                let added = add_subtree(bulk, subtree, granularity, &mut shuffles, n_leaves);
                n_leaves += subtree.tree.n_leaves() as u64;
                progress.advance(subtree.tree.n_rows() as u64);
                added
            }
            Loaded::Giant(giant) => {
                let region = giant.region.as_deref();
                let mut shuffles = shuffles.iter_mut();
                n_leaves += 1;
                progress.advance(giant.n_rows);
                shuffles.try_for_each(|own| own.add_giant(&giant.blocks, n_leaves - 1, region))
            }
        };
        added.map_err(|error| match error {
            ReleaseError::Storage(error) => error,
            other => {
                fault = Some(other);
                StorageError::Stopped
            }
        })
    });
    match (fault, drained) {
        (Some(fault), _) => Err(fault.into()),
        (None, drained) => Ok(drained.map(|()| shuffles)?),
    }
}

fn add_subtree(
    bulk: &BulkPlan<'_>,
    subtree: &Subtree,
    granularity: Granularity,
    shuffles: &mut [Shuffle<'_>],
    first_leaf: u64,
) -> std::result::Result<(), ReleaseError> {
    let regions = subtree.region.as_ref().map(|whole| subtree.tree.leaf_regions(whole));
    let leaves = LeafRows {
        rows: &subtree.rows,
        order: &subtree.order,
        ends: subtree.tree.leaf_ends(),
        boxes: subtree.tree.leaf_boxes(),
        first_leaf,
        regions: regions.as_deref(),
    };
    for shuffle in shuffles {
        let requirement = shuffle.requirement();
        let classes = (requirement.k() != bulk.plan.requirement.k()).then(|| {
            granularity::classes(subtree.tree_rows(bulk), granularity, requirement, &bulk.plan)
        });
        shuffle.add(leaves, classes.as_deref())?;
    }
    Ok(())
}

/// A release that is written but not yet under its name.
pub struct Written {
    /// What gives it its name.
    pub published: Published,
    /// What it loses.
    pub loss: Loss,
    /// Its classes.
    pub n_classes: u64,
    /// Their sizes.
    pub class_size: ClassSize,
}

impl Written {
    /// Publishes what was shuffled, and measures it with the rows that are left out.
    pub fn of(
        shuffle: Shuffle<'_>,
        destination: &Destination<'_>,
        table: &Table,
        left_out: LeftOut,
        progress: &dyn Progress,
    ) -> Result<Written> {
        let mut loss = LossOfParts::new(table.attributes.len());
        let mut sizes = ClassSizes::default();
        let published =
            shuffle.publish(destination, progress, &mut |passed: &Passed<'_, '_>| {
                loss.add(passed);
                passed.class_sizes().into_iter().for_each(|size| sizes.add(size));
            })?;
        if left_out.n_rows() > 0 {
            loss.add_left_out(left_out, table.n_rows as u64, table.attributes.iter());
        }
        Ok(Written {
            published,
            loss: loss.finish(table.attributes.iter()),
            n_classes: sizes.n_classes(),
            class_size: sizes.finish(),
        })
    }
}

/// Every release must hold the rows that were read, and every leaf of the index as a whole.
fn check_totals(expected: &Totals, written: &[Written]) -> Result<()> {
    let base = &written[0].published.totals;
    for own in written {
        let totals = &own.published.totals;
        let same_rows =
            (totals.n_rows, totals.fingerprint) == (expected.n_rows, expected.fingerprint);
        let same_leaves =
            (totals.leaf_rows, totals.whole_leaves) == (base.leaf_rows, base.whole_leaves);
        if !same_rows || !same_leaves {
            return Err(ReleaseError::RowsChanged.into());
        }
    }
    Ok(())
}
