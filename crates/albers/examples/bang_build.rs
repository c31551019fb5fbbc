//! Table 2 of Anjum & Raschia 2017: how long a BANG file and an R+-tree take to build.
//!
//! From codes in memory to leaves, on one thread and on all, each the median of five; prints a table
//! in Markdown. Every attribute is ordered, names by their ranks, for both; M = 5 unless the first
//! argument says another, and a second one makes the tables smaller (a share of their rows).
//!
//! ```sh
//! cargo run --release --locked -p albers --example bang_build
//! ```

#![allow(clippy::print_stdout, reason = "a benchmark prints what it measures")]
#![allow(clippy::expect_used, reason = "a benchmark may fail where it stands")]

use std::sync::Arc;
use std::time::Instant;

use albers_classes::packed::{FactColumns, RowLayout};
use albers_classes::space::{Axis, Shown, Space};
use albers_generate::{Generator, Kind, Options};
use albers_index::bang_file::LotSizes;
use albers_index::bang_file::scale::Scale;
use albers_index::bang_file::space::HalvedSpace;
use albers_index::buffer_tree::{BufferTree, BulkPlan, Intake, Loaded, Sizes};
use albers_index::granularity::dendrogram::{Closeness, Dendrogram};
use albers_index::key_buffers::{BangLoad, KeyBuffers, LoadedUnit, Visit};
use albers_partition::cell::TableSize;
use albers_partition::grain::Grain;
use albers_partition::mondrian::Plan;
use albers_partition::sample::{TupleSample, Tuples, tuple_hash};
use albers_partition::split::Policy;
use albers_privacy::{Facts, Requirement};
use albers_storage::StorageError;
use albers_storage::memory_budget::MemoryBudget;
use albers_storage::spill::SpillStore;
use albers_storage::threads;
use albers_storage::watch::Silent;
use albers_table::chunk::{ColumnChunk, TickUnit, narrow_ticks};
use albers_table::coding::{CodedColumn, CodingPlan, RawColumn, encode};
use albers_table::row::RowId;
use albers_table::schema::ColumnType;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Decimal128Type, Int64Type};
use arrow_array::{Array as _, ArrayRef};
use arrow_cast::cast;
use arrow_schema::DataType;

const N_ROUNDS: usize = 5;

/// A table, and which of its columns are quasi-identifiers.
struct Set {
    name: &'static str,
    kind: Kind,
    n_rows: u64,
    quasi: &'static [&'static str],
}

const SEVEN: [&str; 7] = [
    "gender",
    "birth-date",
    "postal-code",
    "income",
    "household-size",
    "profession",
    "marital-status",
];

const FIFTEEN: [&str; 15] = [
    "gender",
    "birth-date",
    "postal-code",
    "city",
    "income",
    "household-size",
    "profession",
    "marital-status",
    "education",
    "children",
    "vehicle",
    "phone-prefix",
    "customer-since",
    "segment",
    "balance",
];

const SETS: [Set; 4] = [
    Set {
        name: "voters",
        kind: Kind::Voters,
        n_rows: 54_803,
        quasi: &["age", "zipcode", "salary"],
    },
    Set {
        name: "adult",
        kind: Kind::Adult,
        n_rows: 1_000_000,
        quasi: &["age", "zipcode", "education"],
    },
    Set { name: "customer", kind: Kind::Customer, n_rows: 1_000_000, quasi: &SEVEN },
    Set { name: "customer", kind: Kind::Customer, n_rows: 1_000_000, quasi: &FIFTEEN },
];

/// A table as codes, row by row.
struct Coded {
    columns: Vec<CodedColumn>,
    codes: Vec<u32>,
    n_rows: usize,
}

/// Seconds of an index, and how many rows its leaves have.
struct Built {
    seconds: f64,
    dendrogram_seconds: f64,
    cut_seconds: f64,
    sizes: Vec<u32>,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let min_rows: u64 = arguments.next().map_or(5, |text| text.parse().expect("a number of rows"));
    let share: f64 = arguments.next().map_or(1.0, |text| text.parse().expect("a share"));
    println!(
        "| set | rows x QI | threads | rtree median, s | bang, s | ratio | bang, us per row and attribute | dendrogram, us per block and attribute | cut for k = 100 by build | leaves of rtree | blocks of bang |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for set in SETS {
        let n_rows = (set.n_rows as f64 * share) as u64;
        let table = coded(&set, n_rows);
        for n_threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build();
            let pool = pool.expect("threads");
            let mut rounds: Vec<(Built, Built)> = Vec::new();
            for _ in 0..N_ROUNDS {
                rounds.push(pool.install(|| (tree(&table, min_rows), bang(&table, min_rows))));
            }
            let median = |of: fn(&(Built, Built)) -> f64| {
                let mut all: Vec<f64> = rounds.iter().map(of).collect();
                all.sort_by(f64::total_cmp);
                all[N_ROUNDS / 2]
            };
            let (of_tree, of_bang) = (median(|own| own.0.seconds), median(|own| own.1.seconds));
            let cells = (table.n_rows * set.quasi.len()) as f64;
            let n_blocks = rounds[0].1.sizes.len();
            let of_dendrogram = median(|own| own.1.dendrogram_seconds);
            println!(
                "| {} | {} x {} | {n_threads} | {of_tree:.3} | {of_bang:.3} | {:.2} | {:.4} | {:.2} | {:.3} | {} | {} |",
                set.name,
                table.n_rows,
                set.quasi.len(),
                of_bang / of_tree,
                1e6 * of_bang / cells,
                1e6 * of_dendrogram / (n_blocks * set.quasi.len()) as f64,
                median(|own| own.1.cut_seconds) / of_bang,
                spread(&rounds[0].0.sizes),
                spread(&rounds[0].1.sizes),
            );
        }
    }
}

/// Number of leaves, and the least, the median and the greatest number of their rows.
fn spread(sizes: &[u32]) -> String {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    format!("{}: {}, {}, {}", sizes.len(), sizes[0], sizes[sizes.len() / 2], sizes[sizes.len() - 1])
}

fn coded(set: &Set, n_rows: u64) -> Coded {
    let options = Options { has_zipcode: set.kind == Kind::Adult, ..Options::default() };
    let generator = Generator::new(set.kind, n_rows, 1, options).expect("a generator");
    let batches: Vec<_> = generator.into_batches().collect();
    let columns: Vec<CodedColumn> = set
        .quasi
        .iter()
        .map(|name| {
            let cells = batches.iter().map(|batch| batch.column_by_name(name).expect("a column"));
            let numbers = ranked(&cells.map(numbers_of).collect::<Vec<_>>());
            let cells = narrow_ticks(numbers, &[], TickUnit::Integer);
            let chunks = vec![ColumnChunk { cells, missing: Vec::new() }];
            let column_type = ColumnType::Integer;
            let raw = RawColumn { name: (*name).to_owned(), column_type, data_type: None, chunks };
            encode(raw, CodingPlan::Ordered).expect("whole numbers")
        })
        .collect();
    let flat: Vec<Vec<u32>> = columns.iter().map(|own| own.codes.concat()).collect();
    let n_rows = n_rows as usize;
    let codes = (0..n_rows).flat_map(|row| flat.iter().map(move |own| own[row])).collect();
    Coded { columns, codes, n_rows }
}

/// Values of a column: numbers, or names.
enum Values {
    Numbers(Vec<i64>),
    Names(Vec<String>),
}

fn numbers_of(column: &ArrayRef) -> Values {
    match column.data_type() {
        DataType::Utf8 => {
            let names = column.as_string::<i32>().iter();
            Values::Names(names.map(|name| name.unwrap_or_default().to_owned()).collect())
        }
        DataType::Decimal128(..) => {
            let values = column.as_primitive::<Decimal128Type>().values().iter();
            Values::Numbers(values.map(|&value| value as i64).collect())
        }
        DataType::Date32 => {
            let days = cast(column, &DataType::Int32).expect("days");
            numbers_of(&days)
        }
        _ => {
            let numbers = cast(column, &DataType::Int64).expect("whole numbers");
            Values::Numbers(numbers.as_primitive::<Int64Type>().values().to_vec())
        }
    }
}

/// Numbers as they are, names by their ranks.
fn ranked(chunks: &[Values]) -> Vec<i64> {
    let mut names: Vec<&str> = Vec::new();
    for chunk in chunks {
        if let Values::Names(own) = chunk {
            names.extend(own.iter().map(String::as_str));
            names.sort_unstable();
            names.dedup();
        }
    }
    let rank = |name: &String| names.partition_point(|own| *own < name.as_str()) as i64;
    let of_chunk = |chunk: &Values| match chunk {
        Values::Numbers(numbers) => numbers.clone(),
        Values::Names(own) => own.iter().map(rank).collect(),
    };
    chunks.iter().flat_map(of_chunk).collect()
}

/// What both indexes are given.
struct Bench {
    space: Space,
    requirement: Requirement,
    layout: RowLayout,
    facts: FactColumns,
    no_facts: Facts,
    budget: MemoryBudget,
    store: SpillStore,
    tuples: Tuples,
}

impl Bench {
    fn of(table: &Coded, min_rows: u64) -> Bench {
        let axis = |own: &CodedColumn| Axis::new(&own.domain, Shown::Interval, 1.0, false);
        let greatest = |own: &CodedColumn| own.domain.greatest_code().get();
        let greatest: Vec<u32> = table.columns.iter().map(greatest).collect();
        let budget = MemoryBudget::new(16 << 30);
        let n_attributes = table.columns.len();
        let grain = Grain::default();
        let mut sample = TupleSample::new(grain.sample_tuples(n_attributes), n_attributes, false);
        for row in table.codes.chunks_exact(n_attributes) {
            sample.add(tuple_hash(row, 0), row, &[], 1);
        }
        Bench {
            space: Space { axes: table.columns.iter().map(axis).collect() },
            requirement: Requirement::new(min_rows, false, Vec::new(), Vec::new()).expect("k"),
            layout: RowLayout::new(&greatest, &[], false),
            facts: FactColumns::default(),
            no_facts: Facts { subjects: Vec::new(), sensitive: Vec::new(), n_sensitive: 0 },
            store: SpillStore::in_folder(&std::env::temp_dir(), budget.clone()),
            budget,
            tuples: sample.finish(),
        }
    }

    fn plan(&self, n_rows: usize) -> BulkPlan<'_> {
        let grain = Grain::default();
        BulkPlan {
            plan: Plan {
                space: &self.space,
                requirement: &self.requirement,
                facts: &self.no_facts,
                workload: None,
                policy: Policy::Median,
                keep_regions: false,
                labels_apart: false,
                is_exact: false,
                trust: None,
                portfolio: None,
                grain,
                seed: 0,
            },
            strictest: &self.requirement,
            has_coarser: false,
            layout: &self.layout,
            facts: &self.facts,
            table: TableSize::of(n_rows as u64, &grain),
            budget: &self.budget,
            store: &self.store,
            sizes: Sizes::within(self.budget.limit_bytes()),
        }
    }
}

/// Takes all rows in, in chunks as a source has them.
fn take_in<'a>(table: &Coded, intake: &mut impl Intake<'a>) {
    const CHUNK_ROWS: usize = 1 << 16;
    let router = intake.router();
    let n_attributes = table.columns.len();
    use rayon::prelude::*;
    let chunks: Vec<(usize, &[u32])> =
        table.codes.chunks(CHUNK_ROWS * n_attributes).enumerate().collect();
    for some in chunks.chunks(threads::of_machine()) {
        let routed: Vec<_> = some
            .par_iter()
            .map(|(chunk, codes)| {
                let first = RowId::new((chunk * CHUNK_ROWS) as u64);
                router.route(first, codes, &[], |_| &[])
            })
            .collect();
        routed.iter().for_each(|own| intake.append(own).expect("memory"));
    }
}

fn tree(table: &Coded, min_rows: u64) -> Built {
    let bench = Bench::of(table, min_rows);
    let start = Instant::now();
    let plan = bench.plan(table.n_rows);
    let top = plan.top_of_table(&bench.tuples, table.n_rows as u64);
    let mut tree = BufferTree::new(&plan, top, table.n_rows as u64, 0).expect("memory");
    take_in(table, &mut tree);
    let mut sizes = Vec::new();
    tree.drain(&mut |loaded| -> Result<(), StorageError> {
        if let Loaded::Subtree(subtree) = loaded {
            sizes.extend(sizes_of(subtree.tree.leaf_ends()));
        }
        Ok(())
    })
    .expect("a tree");
    let seconds = start.elapsed().as_secs_f64();
    Built { seconds, dendrogram_seconds: 0.0, cut_seconds: 0.0, sizes }
}

fn bang(table: &Coded, min_rows: u64) -> Built {
    let bench = Bench::of(table, min_rows);
    let start = Instant::now();
    let plan = bench.plan(table.n_rows);
    let scale = |own: &CodedColumn| {
        Scale::of_counts(None, (&own.domain, Shown::Interval), None).expect("a scale")
    };
    let space = Arc::new(HalvedSpace::new(table.columns.iter().map(scale).collect()));
    let load = BangLoad {
        bulk: &plan,
        space: &space,
        nests: true,
        lot_sizes: LotSizes::of(table.n_rows as u64, &plan.plan.grain),
        is_one_unit: false,
    };
    let mut buffers =
        KeyBuffers::new(load, &Tuples::default(), table.n_rows as u64, 0).expect("memory");
    take_in(table, &mut buffers);
    let mut file = buffers.sort(&Silent).expect("memory");
    let mut sizes = Vec::new();
    let (mut dendrogram_seconds, mut cut_seconds) = (0.0, 0.0);
    let coarser = Requirement::new(100, false, Vec::new(), Vec::new()).expect("k");
    file.visit(Visit::Last, &Silent, &mut |loaded| -> Result<(), StorageError> {
        if let LoadedUnit::Unit(unit) = loaded {
            sizes.extend(sizes_of(&unit.ends));
            let start = Instant::now();
            let leaves = unit.leaf_runs(&plan);
            let dendrogram = Dendrogram::of(leaves, &plan.plan, Closeness::default());
            dendrogram_seconds += start.elapsed().as_secs_f64();
            let start = Instant::now();
            std::hint::black_box(dendrogram.classes(leaves, &coarser));
            cut_seconds += start.elapsed().as_secs_f64();
        }
        Ok(())
    })
    .expect("a file");
    let seconds = start.elapsed().as_secs_f64() - dendrogram_seconds - cut_seconds;
    Built { seconds, dendrogram_seconds, cut_seconds, sizes }
}

/// The rows of each leaf.
fn sizes_of(ends: &[u32]) -> impl Iterator<Item = u32> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    ends.iter().zip(starts).map(|(end, start)| end - start)
}
