//! What a living index costs and loses, beside a bulk load of the same rows.
//!
//! Rows of eight attributes, some even and some skewed, arrive in batches, each of which settles;
//! then half of them go, all at once. The loss is the mean width of the leaves' boxes over rows and
//! attributes.
//!
//! ```text
//! cargo run --release -p albers-index --example living_cost -- 4500000 500000 10
//! ```

#![expect(clippy::print_stdout, reason = "an example that reports figures")]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use albers_classes::packed::{FactColumns, RowBlock, RowLayout};
use albers_classes::space::{Axis, AxisKind, Space};
use albers_index::buffer_tree::{BulkPlan, Sizes};
use albers_index::living::{
    Directory, LivingPlan, Part, PartId, PartSize, PartStore, Settled, settle,
};
use albers_partition::cell::TableSize;
use albers_partition::grain::Grain;
use albers_partition::mondrian::Plan;
use albers_partition::split::Policy;
use albers_privacy::{Facts, Requirement};
use albers_storage::StorageError;
use albers_storage::memory_budget::MemoryBudget;
use albers_storage::spill::SpillStore;
use albers_storage::watch::Silent;
use albers_table::domain::Ruler;
use albers_table::row::RowId;

/// The codes of each attribute, and how skewed they are.
const ATTRIBUTES: [(u32, u32); 8] =
    [(31_953, 2), (1_461, 1), (2, 1), (1_509, 3), (346, 3), (12, 4), (4, 2), (412, 2)];

struct Parts {
    layout: RowLayout,
    parts: BTreeMap<PartId, (Vec<u8>, PartSize, Vec<RowBlock>)>,
    next: u32,
}

impl PartStore for Parts {
    type Error = StorageError;

    fn size(&self, part: PartId) -> PartSize {
        self.parts[&part].1
    }

    fn load(&self, part: PartId) -> Result<Part, StorageError> {
        Ok(Part::read_from(&self.layout, &self.parts[&part].0).expect("bytes of a part"))
    }

    fn each_arrival(
        &self,
        part: PartId,
        take: &mut dyn FnMut(RowBlock) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        self.parts[&part].2.iter().try_for_each(|block| take(block.clone()))
    }

    fn add(&mut self, part: Part) -> Result<PartId, StorageError> {
        let id = PartId(self.next);
        self.next += 1;
        let mut bytes = Vec::new();
        part.write_to(&mut bytes);
        let size =
            PartSize { n_rows: part.n_rows(), n_arrivals: 0, n_bytes: part.rows().n_bytes() };
        self.parts.insert(id, (bytes, size, Vec::new()));
        Ok(id)
    }

    fn remove(&mut self, part: PartId) -> Result<(), StorageError> {
        self.parts.remove(&part);
        Ok(())
    }
}

struct Living {
    directory: Directory,
    parts: Parts,
}

impl Living {
    fn new(layout: &RowLayout) -> Living {
        let mut parts = Parts { layout: layout.clone(), parts: BTreeMap::new(), next: 0 };
        let empty = parts.add(Part::empty()).expect("memory does not fail");
        Living { directory: Directory::new(empty), parts }
    }

    fn arrive(&mut self, rows: impl Iterator<Item = u64>) {
        let router = self.directory.router(ATTRIBUTES.len());
        let layout = self.parts.layout.clone();
        for row in rows {
            let codes = codes_of(row);
            let part = router.route(&codes)[0];
            let (_, size, blocks) = self.parts.parts.get_mut(&part).expect("it is there");
            if blocks.last().is_none_or(|block| block.n_rows() == 4096) {
                blocks.push(RowBlock::default());
            }
            let block = blocks.last_mut().expect("there is one");
            block.push(&layout, RowId::new(row), codes.into_iter(), &[]);
            size.n_arrivals += 1;
            size.n_bytes += layout.stride_bytes();
        }
    }

    fn settle(&mut self, plan: &LivingPlan<'_>, is_removed: Option<fn(u64) -> bool>) -> Settled {
        let removed = |row: RowId| is_removed.is_some_and(|is_removed| is_removed(row.get()));
        let Living { directory, parts } = self;
        settle(directory, parts, plan, &removed, is_removed.is_some(), &Silent).expect("memory")
    }

    /// The loss, and the number of leaves.
    fn loss(&self, space: &Space) -> (f64, usize) {
        let (mut loss, mut n_rows, mut n_leaves) = (0.0, 0, 0);
        for id in self.directory.parts() {
            let part = self.parts.load(id).expect("it is there");
            let boxes = part.leaf_boxes(&self.parts.layout);
            for (own, leaf_rows) in boxes.chunks(ATTRIBUTES.len()).zip(part.tree().leaf_rows()) {
                let widths = space.axes.iter().zip(own);
                let width: f64 =
                    widths.map(|(axis, (lo, hi))| axis.width(lo.get(), hi.get())).sum();
                loss += width * f64::from(leaf_rows);
            }
            n_rows += part.n_rows();
            n_leaves += part.n_leaves();
        }
        (loss / (n_rows * ATTRIBUTES.len()) as f64, n_leaves)
    }
}

fn mixed(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

fn codes_of(row: u64) -> [u32; 8] {
    let mut state = row.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ATTRIBUTES.map(|(n_codes, skew)| {
        let draw = |_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            (mixed(state) >> 11) as f64 / (1u64 << 53) as f64
        };
        let share: f64 = (0..skew).map(draw).product();
        (share * f64::from(n_codes)) as u32
    })
}

fn is_odd(row: u64) -> bool {
    mixed(row ^ 0x5bd1) & 1 == 1
}

fn report(what: &str, started: Instant, settled: &Settled, living: &Living, space: &Space) -> f64 {
    let seconds = started.elapsed().as_secs_f64();
    let (loss, n_leaves) = living.loss(space);
    let Settled { n_rows, n_written, n_grown, .. } = settled;
    println!(
        "{what:<24} {n_rows:>8} rows {seconds:>6.2} s  {n_grown:>8} grown {n_written:>4} parts \
         {n_leaves:>7} leaves  loss {loss:.5}"
    );
    loss
}

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let [n_rows, batch_rows, k] = numbers[..] else {
        println!("usage: living_cost <rows> <rows of a batch> <k>");
        return;
    };
    let interval = |(n_codes, _)| AxisKind::Interval {
        scale: 1.0 / f64::from(n_codes - 1),
        ruler: Ruler::of_codes(),
    };
    let axis = |own| Axis { kind: interval(own), weight: 1.0, preferred: false };
    let space = Space { axes: ATTRIBUTES.map(axis).into_iter().collect() };
    let layout = RowLayout::new(&ATTRIBUTES.map(|(n_codes, _)| n_codes - 1), &[], false);
    let requirement = Requirement::new(k, false, Vec::new(), Vec::new()).expect("k is in range");
    let no_facts = Facts { subjects: Vec::new(), sensitive: Vec::new(), n_sensitive: 0 };
    let budget = MemoryBudget::new(1 << 30);
    let store = SpillStore::in_folder(Path::new("/tmp"), budget.clone());
    let grain = Grain::default();
    let plan = LivingPlan {
        bulk: BulkPlan {
            plan: Plan {
                space: &space,
                requirement: &requirement,
                facts: &no_facts,
                workload: None,
                policy: Policy::Compact,
                keep_regions: false,
                labels_apart: false,
                is_exact: false,
                trust: None,
                portfolio: None,
                grain,
                seed: 1,
            },
            strictest: &requirement,
            has_coarser: false,
            layout: &layout,
            facts: &FactColumns::default(),
            table: TableSize::Large,
            budget: &budget,
            store: &store,
            sizes: Sizes::within(budget.limit_bytes()),
        },
        part_rows: grain.cell_rows,
        looks_at_all: false,
    };
    let bulk = |rows: &mut dyn Iterator<Item = u64>| {
        let mut living = Living::new(&layout);
        living.arrive(rows);
        let started = Instant::now();
        let settled = living.settle(&plan, None);
        report("bulk load", started, &settled, &living, &space)
    };
    let all = bulk(&mut (0..n_rows));
    let half = bulk(&mut (0..n_rows).filter(|&row| !is_odd(row)));
    let mut living = Living::new(&layout);
    let mut loss = 0.0;
    for first in (0..n_rows).step_by(batch_rows as usize) {
        living.arrive(first..(first + batch_rows).min(n_rows));
        let started = Instant::now();
        let settled = living.settle(&plan, None);
        loss = report("batch", started, &settled, &living, &space);
    }
    println!("loss beside a bulk load: {:+.2} %", 100.0 * (loss / all - 1.0));
    let started = Instant::now();
    let settled = living.settle(&plan, Some(is_odd));
    let loss = report("half removed", started, &settled, &living, &space);
    println!("loss beside a bulk load: {:+.2} %", 100.0 * (loss / half - 1.0));
}
