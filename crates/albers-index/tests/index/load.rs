//! Loads a table into an index with absurdly small sizes, and looks at every part as it comes out.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::OnceLock;

use albers_classes::packed::FactColumns;
use albers_classes::packed::{RowBlock, RowLayout};
use albers_classes::region::span;
use albers_classes::{ClassId, Region};
use albers_index::buffer_tree::{BufferTree, BulkPlan, Giant, Intake, Loaded, Sizes, Subtree};
use albers_index::granularity::dendrogram::Closeness;
use albers_index::granularity::{Coarsening, Granularity, releases};
use albers_partition::cell::TableSize;
use albers_partition::grain::Grain;
use albers_partition::mondrian::Plan;
use albers_partition::sample::{TupleSample, Tuples, tuple_hash};
use albers_partition::split::Policy;
use albers_partition::top::SampledTops;
use albers_partition::trust::Trust;
use albers_privacy::Facts;
use albers_privacy::Requirement;
use albers_storage::Result;
use albers_storage::memory_budget::MemoryBudget;
use albers_storage::spill::SpillStore;
use albers_storage::spill::backend::{Backend, MemoryBackend};
use albers_table::row::{RowId, RowIdx};
use rayon::ThreadPool;

use super::oracle;
use super::table::{Dice, Table};

/// The most children of a node.
const FAN_OUT: usize = 3;

/// Every way to bring leaves together.
pub const GRANULARITIES: [(Granularity, Closeness); 6] = [
    (Granularity::LeafScan, Closeness::Loss),
    (Granularity::Hierarchical, Closeness::Loss),
    (Granularity::Cut, Closeness::Loss),
    (Granularity::Dendrogram, Closeness::Loss),
    (Granularity::Dendrogram, Closeness::Density),
    (Granularity::DendrogramCut, Closeness::Loss),
];

/// How a table is loaded.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    pub policy: Policy,
    pub keep_regions: bool,
    pub budget_bytes: usize,
    /// What the store keeps free for the work.
    pub room_bytes: usize,
    pub sizes: Sizes,
    pub grain: Grain,
    /// How samples are asked which splits they support; such a table has no coarser release.
    pub trust: Option<Trust>,
    pub n_chunks: usize,
}

impl Setup {
    pub fn draw(seed: u64, policy: Policy, keep_regions: bool) -> Setup {
        let mut dice = Dice(seed ^ 0x5e7);
        let block_bytes = dice.of(&[256, 512, 1024]);
        let budget_bytes = 256 << 10;
        let sizes = Sizes {
            part_bytes: dice.of(&[512, 1 << 10, 4 << 10, 16 << 10]),
            buffer_bytes: dice.of(&[2, 4, 32]) * block_bytes,
            block_bytes,
        };
        Setup {
            policy,
            keep_regions,
            budget_bytes,
            room_bytes: dice.of(&[budget_bytes / 5 * 3, budget_bytes - 512, budget_bytes]),
            sizes,
            grain: Grain {
                whole_rows: dice.of(&[20, 60, 150, 500]),
                cell_rows: dice.of(&[1, 8, 30, 60]),
                sample_bytes: dice.of(&[1 << 10, 4 << 10, 32 << 10]),
                sample_rows: None,
            },
            trust: None,
            n_chunks: 1 + dice.below(6) as usize,
        }
    }
}

/// What came out of a buffer tree.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    pub pieces: Vec<Piece>,
}

/// A unit, or a giant as one leaf.
#[derive(Debug, PartialEq)]
pub struct Piece {
    pub is_giant: bool,
    pub leaves: Vec<Leaf>,
    /// The class of each leaf, for each of [`GRANULARITIES`] in all releases, the finest first.
    pub releases: Vec<Vec<Vec<ClassId>>>,
}

impl Piece {
    /// The class of each leaf in the coarsest release, for each of [`GRANULARITIES`].
    pub fn coarsest(&self) -> impl Iterator<Item = &Vec<ClassId>> {
        self.releases.iter().map(|releases| releases.last().expect("there is a coarser release"))
    }
}

#[derive(Debug, PartialEq)]
pub struct Leaf {
    /// The rows, by their numbers in the table.
    pub rows: Vec<u32>,
    pub region: Option<Region>,
}

impl Outcome {
    pub fn leaves(&self) -> impl Iterator<Item = &Leaf> {
        self.pieces.iter().flat_map(|piece| &piece.leaves)
    }

    pub fn n_giants(&self) -> usize {
        self.pieces.iter().filter(|piece| piece.is_giant).count()
    }
}

/// A pool of so many threads, made once.
pub fn pool(n_threads: usize) -> &'static ThreadPool {
    static POOLS: OnceLock<[ThreadPool; 4]> = OnceLock::new();
    let pools = POOLS.get_or_init(|| {
        [1, 2, 3, 4].map(|n_threads| {
            let builder = rayon::ThreadPoolBuilder::new().num_threads(n_threads);
            builder.build().expect("threads can be started")
        })
    });
    &pools[n_threads - 1]
}

/// Loads a table in a store that needs no disk, and asserts that it spilled if it had to.
pub fn load(table: &Table, setup: &Setup, n_threads: usize) -> Outcome {
    let budget = MemoryBudget::new(setup.budget_bytes);
    let backend = Box::new(MemoryBackend::new());
    let store = store(setup, backend, &budget);
    let outcome = pool(n_threads).install(|| try_load(table, setup, &budget, &store));
    let n_bytes = table.n_rows * layout_of(table).stride_bytes()
        + (0..table.n_rows).map(|row| table.payload(row).len()).sum::<usize>();
    if n_bytes > setup.budget_bytes - setup.room_bytes {
        assert!(store.written_bytes() > 0, "{n_bytes} bytes of rows were all kept in memory");
    }
    assert_eq!((budget.used_bytes(), store.space_bytes()), (0, 0), "all is given back");
    assert!(budget.peak_bytes() <= setup.budget_bytes);
    outcome.expect("a store in memory does not fail")
}

pub fn store(setup: &Setup, backend: Box<dyn Backend>, budget: &MemoryBudget) -> SpillStore {
    let store = SpillStore::with_backend(backend, PathBuf::from("nowhere"), budget.clone());
    store.with_room(setup.room_bytes)
}

/// Loads a table and checks every part as it comes out.
pub fn try_load(
    table: &Table,
    setup: &Setup,
    budget: &MemoryBudget,
    store: &SpillStore,
) -> Result<Outcome> {
    let mut pieces = Vec::new();
    visit(table, setup, budget, store, &mut |plan, loaded| {
        pieces.push(match loaded {
            Loaded::Subtree(subtree) => checked_subtree(table, plan, &subtree),
            Loaded::Giant(giant) => checked_giant(table, plan, giant)?,
        });
        Ok(())
    })?;
    Ok(Outcome { pieces })
}

/// Loads a table and hands every part on.
pub fn visit(
    table: &Table,
    setup: &Setup,
    budget: &MemoryBudget,
    store: &SpillStore,
    sink: &mut dyn FnMut(&BulkPlan<'_>, Loaded<'_>) -> Result<()>,
) -> Result<SampledTops> {
    with_plan(table, setup, (budget, store), |plan| {
        let top = plan.top_of_table(&tuples_of(table, setup), table.n_rows as u64);
        let payload_bytes = table.payload_bytes();
        let mut tree = BufferTree::new(plan, top, table.n_rows as u64, payload_bytes)?;
        take_in(table, setup, &mut tree)?;
        tree.drain(&mut |loaded| sink(plan, loaded))
    })
}

/// Takes all rows of a table in, in chunks.
pub fn take_in<'a>(table: &Table, setup: &Setup, intake: &mut impl Intake<'a>) -> Result<()> {
    let router = intake.router();
    let columns = fact_columns(table);
    let chunk_rows = table.n_rows.div_ceil(setup.n_chunks);
    for first in (0..table.n_rows).step_by(chunk_rows) {
        let end = (first + chunk_rows).min(table.n_rows);
        let facts: Vec<Vec<u32>> = columns.iter().map(|own| own[first..end].to_vec()).collect();
        let codes = table.rows[first..end].concat();
        let payload = |row: usize| table.payload(first + row);
        intake.append(&router.route(RowId::new(first as u64), &codes, &facts, payload))?;
    }
    assert_eq!(intake.n_rows(), table.n_rows as u64);
    Ok(())
}

/// Does something with the plan of a table.
pub fn with_plan<T>(
    table: &Table,
    setup: &Setup,
    (budget, store): (&MemoryBudget, &SpillStore),
    work: impl FnOnce(&BulkPlan<'_>) -> T,
) -> T {
    let (requirement, coarser) =
        (table.requirement(&table.asked), table.requirement(&table.coarser));
    let layout = layout_of(table);
    let first_secret = if table.subjects.is_empty() { 0 } else { 2 };
    let facts = FactColumns {
        subject: (!table.subjects.is_empty()).then_some([0, 1]),
        ruled: (first_secret..first_secret + table.secrets.len()).collect(),
        targets: Vec::new(),
    };
    let no_facts = Facts { subjects: Vec::new(), sensitive: Vec::new(), n_sensitive: 0 };
    let plan = BulkPlan {
        plan: Plan {
            space: &table.space,
            requirement: &requirement,
            facts: &no_facts,
            policy: setup.policy,
            keep_regions: setup.keep_regions,
            workload: None,
            labels_apart: setup.trust.is_none(),
            is_exact: false,
            trust: setup.trust,
            portfolio: None,
            grain: setup.grain,
            seed: 1,
        },
        strictest: if setup.trust.is_some() { &requirement } else { &coarser },
        has_coarser: setup.trust.is_none(),
        layout: &layout,
        facts: &facts,
        table: TableSize::of(table.n_rows as u64, &setup.grain),
        budget,
        store,
        sizes: setup.sizes,
    };
    work(&plan)
}

fn layout_of(table: &Table) -> RowLayout {
    let subject = (!table.subjects.is_empty()).then_some([u32::MAX; 2]);
    let secrets = table.secrets.iter().map(|_| super::table::N_SECRETS - 1);
    let facts: Vec<u32> = subject.into_iter().flatten().chain(secrets).collect();
    RowLayout::new(&table.greatest, &facts, !table.payloads.is_empty())
}

pub fn fact_columns(table: &Table) -> Vec<Vec<u32>> {
    fact_columns_of(table).collect()
}

pub fn tuples_of(table: &Table, setup: &Setup) -> Tuples {
    let n_attributes = table.rows[0].len();
    let limit = setup.grain.sample_tuples(n_attributes);
    let mut sample = TupleSample::new(limit, n_attributes, false);
    table.rows.iter().for_each(|row| sample.add(tuple_hash(row, 2), row, &[], 1));
    let mut tuples = sample.finish();
    if setup.trust.is_some() && !table.secrets.is_empty() {
        let mut counter = tuples.fact_counter(limit);
        for (row, codes) in table.rows.iter().enumerate() {
            let secrets: Vec<u32> = table.secrets.iter().map(|own| own[row]).collect();
            counter.add(codes, &secrets);
        }
    }
    tuples
}

fn checked_subtree(table: &Table, plan: &BulkPlan<'_>, subtree: &Subtree<'_>) -> Piece {
    let ids: Vec<u32> = subtree
        .order
        .iter()
        .map(|&row| checked_row(table, plan, subtree.rows, row as usize))
        .collect();
    let tree = &subtree.tree;
    let codes: Vec<Vec<u32>> = ids.iter().map(|&row| table.rows[row as usize].clone()).collect();
    tree.check_invariants(&codes, |places| oracle::holds(table, &table.asked, &ids[places]));
    check_queries(table, subtree);
    let regions = subtree.region.as_ref().map(|whole| tree.leaf_regions(whole));
    let n_attributes = tree.n_attributes();
    let leaf = |leaf: u32| Leaf {
        rows: ids[tree.rows_of(leaf..leaf + 1)].to_vec(),
        region: regions.as_ref().map(|regions| {
            let at = leaf as usize * n_attributes;
            regions[at..at + n_attributes].to_vec()
        }),
    };
    let leaves: Vec<Leaf> = (0..tree.n_leaves() as u32).map(leaf).collect();
    let asked = table.releases();
    let requirements: Vec<Requirement> = asked.iter().map(|own| table.requirement(own)).collect();
    let requirements: Vec<&Requirement> = requirements.iter().collect();
    let releases = GRANULARITIES.map(|(granularity, closeness)| {
        let coarsening = Coarsening { granularity, fan_out: FAN_OUT, closeness, plan: &plan.plan };
        let runs = subtree.leaf_runs(plan);
        let found = releases(runs, coarsening, &requirements, &mut |_, classes| {
            Ok::<_, Infallible>(shown_together(table, &leaves, classes))
        });
        let Ok(releases) = found;
        releases.classes
    });
    Piece { is_giant: false, leaves, releases: releases.to_vec() }
}

/// A number for what the class of each leaf shows.
fn shown_together(table: &Table, leaves: &[Leaf], classes: &[ClassId]) -> Vec<ClassId> {
    let mut rows_of: BTreeMap<ClassId, Vec<u32>> = BTreeMap::new();
    for (leaf, &class) in leaves.iter().zip(classes) {
        rows_of.entry(class).or_default().extend(&leaf.rows);
    }
    let mut first_of: BTreeMap<Vec<Vec<u32>>, ClassId> = BTreeMap::new();
    let mut shown_of: BTreeMap<ClassId, ClassId> = BTreeMap::new();
    for (&class, rows) in &rows_of {
        shown_of.insert(class, *first_of.entry(table.shown_by(rows)).or_insert(class));
    }
    classes.iter().map(|class| shown_of[class]).collect()
}

pub fn checked_giant(table: &Table, plan: &BulkPlan<'_>, giant: Giant) -> Result<Piece> {
    let mut rows = Vec::new();
    for block in giant.blocks {
        let mut own = RowBlock::default();
        let rest_bytes = plan.store.take(block)?;
        assert!(own.read_from(plan.layout, &rest_bytes).is_empty());
        rows.extend((0..own.n_rows()).map(|row| checked_row(table, plan, &own, row)));
    }
    assert_eq!(rows.len() as u64, giant.n_rows);
    let leaf = Leaf { rows, region: giant.region };
    let n_releases = 1 + table.releases().len();
    let releases = vec![vec![vec![ClassId::new(0)]; n_releases]; GRANULARITIES.len()];
    Ok(Piece { is_giant: true, leaves: vec![leaf], releases })
}

/// The number of a packed row, once it is seen that all of it is as it was put in.
pub fn checked_row(table: &Table, plan: &BulkPlan<'_>, rows: &RowBlock, at: usize) -> u32 {
    let row_idx = RowIdx::of_id(rows.row_id(plan.layout, at));
    let row = row_idx.index();
    let mut codes = vec![0; plan.layout.n_attributes()];
    rows.codes(plan.layout, at, &mut codes);
    assert_eq!(codes, table.rows[row], "a row has the codes of another");
    for (fact, column) in fact_columns_of(table).enumerate() {
        assert_eq!(rows.fact(plan.layout, at, fact), column[row], "a row has another's facts");
    }
    assert_eq!(rows.payload(at), table.payload(row), "a row has the payload of another");
    row_idx.get()
}

/// Both halves of the subject, which differ, and the secrets.
fn fact_columns_of(table: &Table) -> impl Iterator<Item = Vec<u32>> + '_ {
    let subjects = (!table.subjects.is_empty()).then(|| {
        let high = table.subjects.iter().map(|subject| subject % 3).collect();
        [table.subjects.iter().map(|subject| subject / 3).collect(), high]
    });
    subjects.into_iter().flatten().chain(table.secrets.iter().cloned())
}

/// A search by a box finds exactly the leaves whose boxes meet it.
fn check_queries(table: &Table, subtree: &Subtree<'_>) {
    let tree = &subtree.tree;
    let mut dice = Dice(tree.n_rows() as u64);
    for _ in 0..8 {
        let query: Region = (0..tree.n_attributes())
            .map(|axis| {
                let mut code = || match dice.once_in(5) {
                    true => dice.below(1 << 30),
                    false => table.rows[dice.below(table.n_rows as u32) as usize][axis],
                };
                let (a, b) = (code(), code());
                span(a.min(b), a.max(b))
            })
            .collect();
        let boxes = tree.leaf_boxes().chunks_exact(tree.n_attributes());
        let meeting = (0u32..).zip(boxes).filter(|(_, own)| {
            own.iter().zip(&query).all(|(own, asked)| own.0.max(asked.0) <= own.1.min(asked.1))
        });
        let expected: Vec<u32> = meeting.map(|(leaf, _)| leaf).collect();
        assert_eq!(tree.leaves_meeting(&query), expected);
    }
}
