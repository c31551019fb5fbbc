//! What must be true of an index that lives: rows come and go in any order, and it settles.

use std::collections::{BTreeMap, BTreeSet};

use albers_classes::Region;
use albers_classes::packed::{RowBlock, RowLayout};
use albers_classes::region::ALL_CODES;
use albers_index::buffer_tree::{BufferTree, BulkPlan, Intake, Loaded};
use albers_index::living::{
    DamagedPart, Directory, LivingPlan, Part, PartId, PartSize, PartStore, Settled, settle,
};
use albers_index::rplus_tree::grow::{Source, grow_cell};
use albers_partition::grain::Grain;
use albers_partition::sample::{TupleSample, tuple_hash};
use albers_partition::split::Policy;
use albers_partition::split::extent::has_small_sets;
use albers_privacy::Criterion;
use albers_storage::StorageError;
use albers_storage::memory_budget::MemoryBudget;
use albers_storage::spill::backend::MemoryBackend;
use albers_storage::watch::Silent;
use albers_table::row::RowId;
use proptest::prelude::*;

use super::load::{Setup, checked_row, fact_columns, pool, store, with_plan};
use super::oracle;
use super::properties::config;
use super::table::{Asked, Dice, Table};

/// Parts in memory, as bytes.
pub struct MemoryParts {
    pub layout: RowLayout,
    pub parts: BTreeMap<PartId, Kept>,
    next: u32,
}

#[derive(Default)]
pub struct Kept {
    pub bytes: Vec<u8>,
    size: PartSize,
    arrivals: Vec<RowBlock>,
}

impl PartStore for MemoryParts {
    type Error = StorageError;

    fn size(&self, part: PartId) -> PartSize {
        self.parts[&part].size
    }

    fn load(&self, part: PartId) -> Result<Part, StorageError> {
        Ok(Part::read_from(&self.layout, &self.parts[&part].bytes).expect("bytes of a part"))
    }

    fn each_arrival(
        &self,
        part: PartId,
        take: &mut dyn FnMut(RowBlock) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        self.parts[&part].arrivals.iter().try_for_each(|block| take(block.clone()))
    }

    fn add(&mut self, part: Part) -> Result<PartId, StorageError> {
        let id = PartId(self.next);
        self.next += 1;
        let mut bytes = Vec::new();
        part.write_to(&mut bytes);
        let n_bytes = part.rows().n_bytes();
        let size = PartSize { n_rows: part.n_rows(), n_arrivals: 0, n_bytes };
        self.parts.insert(id, Kept { bytes, size, arrivals: Vec::new() });
        Ok(id)
    }

    fn remove(&mut self, part: PartId) -> Result<(), StorageError> {
        self.parts.remove(&part).expect("a part is removed once");
        Ok(())
    }
}

/// An index of some rows of a table.
pub struct Living {
    pub directory: Directory,
    pub parts: MemoryParts,
}

/// The leaves of an index in tree order: the numbers of their rows.
pub type Leaves = Vec<Vec<u32>>;

impl Living {
    pub fn new(plan: &BulkPlan<'_>) -> Living {
        let layout = plan.layout.clone();
        let mut parts = MemoryParts { layout, parts: BTreeMap::new(), next: 7 };
        let empty = parts.add(Part::empty()).expect("memory does not fail");
        Living { directory: Directory::new(empty), parts }
    }

    /// Rows arrive, so many in a block.
    pub fn arrive(&mut self, table: &Table, plan: &BulkPlan<'_>, rows: &[u32], block_rows: usize) {
        let router = self.directory.router(plan.layout.n_attributes());
        let columns = fact_columns(table);
        for rows in rows.chunks(block_rows) {
            let codes: Vec<u32> =
                rows.iter().flat_map(|&row| table.rows[row as usize].clone()).collect();
            for (&row, part) in rows.iter().zip(router.route(&codes)) {
                let kept = self.parts.parts.get_mut(&part).expect("routing finds a part");
                if kept.arrivals.last().is_none_or(|block| block.n_rows() >= block_rows) {
                    kept.arrivals.push(RowBlock::default());
                }
                let block = kept.arrivals.last_mut().expect("there is one");
                let before = block.n_bytes();
                let at = row as usize;
                let values = table.rows[at].iter().copied();
                let values = values.chain(columns.iter().map(|column| column[at]));
                let number = RowId::new(u64::from(row));
                block.push(plan.layout, number, values, table.payload(at));
                kept.size.n_arrivals += 1;
                kept.size.n_bytes += block.n_bytes() - before;
            }
        }
    }

    pub fn settle(&mut self, plan: &LivingPlan<'_>, removed: &BTreeSet<u32>) -> Settled {
        let is_removed = |row: RowId| removed.contains(&(row.get() as u32));
        let has_removed = !removed.is_empty();
        let Living { directory, parts } = self;
        settle(directory, parts, plan, &is_removed, has_removed, &Silent).expect("enough memory")
    }

    fn loaded(&self) -> impl Iterator<Item = Part> + '_ {
        self.directory.parts().map(|part| self.parts.load(part).expect("it is there"))
    }

    pub fn leaves(&self, table: &Table, plan: &BulkPlan<'_>) -> Leaves {
        let mut leaves = Vec::new();
        for part in self.loaded() {
            let number = |row: usize| checked_row(table, plan, part.rows(), row);
            let numbers: Vec<u32> = (0..part.n_rows()).map(number).collect();
            let mut start = 0;
            for end in part.leaf_ends() {
                leaves.push(numbers[start..end as usize].to_vec());
                start = end as usize;
            }
        }
        leaves
    }

    /// Checks that every row is found where it is, from the root to its leaf.
    pub fn check_routes(&self, plan: &BulkPlan<'_>) {
        let n_attributes = plan.layout.n_attributes();
        let router = self.directory.router(n_attributes);
        for (id, part) in self.directory.parts().zip(self.loaded()) {
            let index = part.index(plan.layout);
            let mut codes = vec![0; n_attributes];
            for row in 0..part.n_rows() {
                part.rows().codes(plan.layout, row, &mut codes);
                assert_eq!(router.route(&codes), [id], "rows route to their part");
                let leaf = index.search(&codes);
                assert!(index.rows_of(leaf..leaf + 1).contains(&row), "and to their leaf");
            }
        }
    }

    /// Checks everything that is promised after a settle of these rows.
    pub fn check(
        &self,
        table: &Table,
        plan: &LivingPlan<'_>,
        settled: &Settled,
        rows: &BTreeSet<u32>,
    ) {
        let bulk = &plan.bulk;
        let leaves = self.leaves(table, bulk);
        let mut found: Vec<u32> = leaves.concat();
        found.sort_unstable();
        assert!(found.iter().eq(rows), "exactly the rows that stayed are in the index");
        assert_eq!(settled.n_rows, rows.len() as u64);
        self.directory.check_invariants();
        let ids: BTreeSet<PartId> = self.directory.parts().collect();
        assert!(self.parts.parts.keys().eq(&ids), "the store has the parts of the directory");
        assert!(self.parts.parts.values().all(|kept| kept.arrivals.is_empty()));
        let all: Vec<u32> = rows.iter().copied().collect();
        let asked = [&table.asked, &table.coarser];
        if !asked.iter().all(|asked| oracle::holds(table, asked, &all)) {
            assert_eq!(settled.missing.is_empty(), rows.is_empty(), "the miss is told");
            assert_eq!(leaves.len(), 1, "all rows are one leaf");
            return;
        }
        assert!(settled.missing.is_empty(), "nothing is missing");
        self.check_routes(bulk);
        let regions = self.directory.part_regions(&vec![ALL_CODES; bulk.layout.n_attributes()]);
        for (part, region) in self.loaded().zip(&regions) {
            part.check_invariants(bulk);
            check_regions(bulk, &part, region);
            let index = part.index(bulk.layout);
            assert_eq!(index.n_leaves(), part.n_leaves());
            check_whole_leaves(bulk, &part);
        }
        for leaf in &leaves {
            assert!(oracle::holds(table, &table.asked, leaf), "every leaf satisfies");
        }
    }
}

/// Every row lies in the region of its leaf, also where a cut claims to know what goes outside.
fn check_regions(plan: &BulkPlan<'_>, part: &Part, whole: &Region) {
    let n_attributes = plan.layout.n_attributes();
    let regions = part.tree().leaf_regions(whole);
    let boxes = part.leaf_boxes(plan.layout);
    assert_eq!(boxes.len(), part.n_leaves() * n_attributes);
    for (inner, outer) in boxes.iter().zip(&regions) {
        assert!(outer.0 <= inner.0 && inner.1 <= outer.1, "rows lie in the region of their leaf");
    }
}

/// No leaf has an allowable split.
fn check_whole_leaves(plan: &BulkPlan<'_>, part: &Part) {
    let source = Source { layout: plan.layout, block: part.rows(), facts: plan.facts };
    let mut start = 0;
    for end in part.leaf_ends() {
        let rows: Vec<u32> = (start..end).collect();
        start = end;
        if rows.len() > plan.plan.grain.whole_rows {
            continue;
        }
        let sets = has_small_sets(plan.plan.space);
        let region: Option<Region> = None;
        let plain = albers_partition::mondrian::Plan { keep_regions: false, ..plan.plan };
        let grown = albers_partition::with_lanes!(
            plan.layout.n_attributes(),
            sets,
            grow_cell(source, &rows, &plain, plan.table, region.as_ref())
        );
        assert_eq!(grown.tree.leaf_rows().count(), 1, "no leaf has an allowable split");
    }
}

/// A table, with what is asked of it, and absurd sizes.
fn drawn(seed: u64, n_rows: usize, n_attributes: usize) -> (Table, Setup, usize) {
    let table = Table::draw(seed, n_rows, n_attributes, true);
    let mut dice = Dice(seed ^ 0x11f3);
    let policy = dice.of(&[Policy::Compact, Policy::Median, Policy::Sizes]);
    let mut setup = Setup::draw(seed, policy, dice.once_in(3));
    setup.budget_bytes = 4 << 20;
    setup.room_bytes = setup.budget_bytes - 512;
    setup.grain = Grain { whole_rows: dice.of(&[32, 60, 400]), ..setup.grain };
    (table, setup, dice.of(&[4, 8, 30, 64]))
}

/// Calls `work` with a plan of which parts have so many rows.
pub fn with_living<T>(
    table: &Table,
    setup: &Setup,
    part_rows: usize,
    work: impl FnOnce(&LivingPlan<'_>) -> T,
) -> T {
    let budget = MemoryBudget::new(setup.budget_bytes);
    let store = store(setup, Box::new(MemoryBackend::new()), &budget);
    let found = with_plan(table, setup, (&budget, &store), |plan| {
        work(&LivingPlan { bulk: BulkPlan { ..*plan }, part_rows, looks_at_all: false })
    });
    assert_eq!((budget.used_bytes(), store.space_bytes()), (0, 0), "all is given back");
    found
}

/// What happens before a settle: rows that arrive, in their order, and rows that go.
struct Step {
    arrivals: Vec<u32>,
    removed: BTreeSet<u32>,
}

/// A history in which every row arrives at most once.
fn history(seed: u64, n_rows: usize) -> Vec<Step> {
    let mut dice = Dice(seed ^ 0x4157);
    let mut waiting: Vec<u32> = (0..n_rows as u32).collect();
    let mut present: BTreeSet<u32> = BTreeSet::new();
    let mut steps = Vec::new();
    for _ in 0..2 + dice.below(5) {
        let most = waiting.len() as u32;
        let n_arrivals = match dice.below(4) {
            0 => 0,
            1 => most.min(3),
            _ => dice.below(most + 1),
        };
        let mut arrivals = Vec::new();
        for _ in 0..n_arrivals {
            arrivals.push(waiting.swap_remove(dice.below(waiting.len() as u32) as usize));
        }
        present.extend(&arrivals);
        let one_in = dice.of(&[1, 2, 2, 8, 1000, 1000]);
        let removed: BTreeSet<u32> =
            present.iter().copied().filter(|_| dice.once_in(one_in)).collect();
        present.retain(|row| !removed.contains(row));
        steps.push(Step { arrivals, removed });
    }
    steps
}

/// The parts of an index as bytes, in tree order, and the cuts that lead to them.
fn content(living: &Living) -> (Vec<Vec<u8>>, String) {
    let bytes = living.directory.parts().map(|part| living.parts.parts[&part].bytes.clone());
    let cuts: Vec<String> =
        living.directory.nodes().iter().map(|node| format!("{node:?}")).collect();
    let cuts = cuts.into_iter().filter(|node| node.starts_with("Cut")).collect();
    (bytes.collect(), cuts)
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn whatever_comes_and_goes_every_leaf_satisfies_and_no_row_is_lost(
        seed in any::<u64>().no_shrink(), n_rows in 1..300usize, n_attributes in 1..=4usize
    ) {
        let (table, setup, part_rows) = drawn(seed, n_rows, n_attributes);
        with_living(&table, &setup, part_rows, |plan| {
            let mut living = Living::new(&plan.bulk);
            let mut rows = BTreeSet::new();
            for Step { arrivals, removed } in history(seed, n_rows) {
                living.arrive(&table, &plan.bulk, &arrivals, 7);
                rows.extend(arrivals);
                rows.retain(|row| !removed.contains(row));
                let settled = living.settle(plan, &removed);
                living.check(&table, plan, &settled, &rows);
            }
        });
    }

    #[test]
    fn neither_threads_nor_the_order_of_arrivals_nor_memory_change_anything(
        seed in any::<u64>().no_shrink(), n_rows in 1..300usize, n_attributes in 1..=3usize
    ) {
        let (table, setup, part_rows) = drawn(seed, n_rows, n_attributes);
        let run = |n_threads: usize, turn: usize, block_rows: usize, budget_bytes: usize| {
            let setup = Setup { budget_bytes, room_bytes: budget_bytes - 512, ..setup };
            pool(n_threads).install(|| with_living(&table, &setup, part_rows, |plan| {
                let mut living = Living::new(&plan.bulk);
                for Step { mut arrivals, removed } in history(seed, n_rows) {
                    let n_first = turn % arrivals.len().max(1);
                    arrivals.rotate_left(n_first);
                    living.arrive(&table, &plan.bulk, &arrivals, block_rows);
                    living.settle(plan, &removed);
                }
                content(&living)
            }))
        };
        let expected = run(1, 0, 1000, 4 << 20);
        prop_assert_eq!(&run(3, 17, 1, 4 << 20), &expected);
        prop_assert_eq!(&run(2, 5, 13, 512 << 10), &expected);
    }

    #[test]
    fn a_first_settle_has_the_leaves_of_a_bulk_load(
        seed in any::<u64>().no_shrink(), n_rows in 1..400usize, n_attributes in 1..=4usize
    ) {
        let (table, setup, part_rows) = drawn(seed, n_rows, n_attributes);
        let (found, expected) = with_living(&table, &setup, part_rows, |plan| {
            let mut living = Living::new(&plan.bulk);
            let all: Vec<u32> = (0..n_rows as u32).collect();
            living.arrive(&table, &plan.bulk, &all, 50);
            living.settle(plan, &BTreeSet::new());
            (living.leaves(&table, &plan.bulk), bulk_leaves(&table, &setup, &plan.bulk))
        });
        let sorted = |mut leaves: Leaves| {
            leaves.iter_mut().for_each(|leaf| leaf.sort_unstable());
            leaves.sort_unstable();
            leaves
        };
        prop_assert_eq!(sorted(found), sorted(expected));
    }

    #[test]
    fn damaged_bytes_are_refused_and_never_panic(
        seed in any::<u64>().no_shrink(), n_rows in 1..60usize, at in any::<prop::sample::Index>(),
        byte in any::<u8>(), is_cut_off in any::<bool>()
    ) {
        let (table, setup, part_rows) = drawn(seed, n_rows, 2);
        with_living(&table, &setup, part_rows, |plan| {
            let mut living = Living::new(&plan.bulk);
            let all: Vec<u32> = (0..n_rows as u32).collect();
            living.arrive(&table, &plan.bulk, &all, 50);
            living.settle(plan, &BTreeSet::new());
            let layout = plan.bulk.layout;
            let part = living.loaded().next().expect("there is a part");
            let mut bytes = Vec::new();
            part.write_to(&mut bytes);
            assert_eq!(Part::read_from(layout, &bytes).as_ref(), Ok(&part));
            let at = at.index(bytes.len());
            match is_cut_off {
                true => {
                    bytes.truncate(at);
                    assert!(Part::read_from(layout, &bytes).is_err());
                }
                false => {
                    bytes[at] = byte;
                    let _: Result<Part, DamagedPart> = Part::read_from(layout, &bytes);
                }
            }
            let mut bytes = living.directory.to_bytes();
            let n_attributes = layout.n_attributes();
            assert_eq!(Directory::from_bytes(n_attributes, &bytes).as_ref(), Ok(&living.directory));
            let at = at % bytes.len();
            bytes[at] = byte;
            if let Ok(read) = Directory::from_bytes(n_attributes, &bytes) {
                read.check_invariants();
            }
            bytes.truncate(at);
            assert!(Directory::from_bytes(n_attributes, &bytes).is_err());
        });
    }
}

/// The leaves of a bulk load.
fn bulk_leaves(table: &Table, setup: &Setup, plan: &BulkPlan<'_>) -> Leaves {
    let n_attributes = plan.layout.n_attributes();
    let limit = setup.grain.sample_tuples(n_attributes);
    let mut sample = TupleSample::new(limit, n_attributes, false);
    let seed = plan.plan.seed;
    table.rows.iter().for_each(|row| sample.add(tuple_hash(row, seed), row, &[], 1));
    let top = plan.top_of_table(&sample.finish(), table.n_rows as u64);
    let tree = BufferTree::new(plan, top, table.n_rows as u64, table.payload_bytes());
    let mut tree = tree.expect("enough memory");
    super::load::take_in(table, setup, &mut tree).expect("enough memory");
    assert_eq!(tree.n_rows(), table.n_rows as u64);
    let mut leaves = Vec::new();
    let drained = tree.drain(&mut |loaded| -> Result<(), StorageError> {
        match loaded {
            Loaded::Subtree(subtree) => {
                for leaf in 0..subtree.tree.n_leaves() as u32 {
                    let places = &subtree.order[subtree.tree.rows_of(leaf..leaf + 1)];
                    let number = |&row: &u32| checked_row(table, plan, subtree.rows, row as usize);
                    leaves.push(places.iter().map(number).collect());
                }
            }
            Loaded::Giant(giant) => {
                let mut rows = RowBlock::default();
                for block in giant.blocks {
                    rows.read_from(plan.layout, &plan.store.take(block)?);
                }
                let number = |row: usize| checked_row(table, plan, &rows, row);
                leaves.push((0..rows.n_rows()).map(number).collect());
            }
        }
        Ok(())
    });
    drained.expect("enough memory");
    leaves
}

/// A table of one attribute with these codes and secrets, of which k rows and a rule are asked.
fn plain_table(codes: Vec<u32>, secrets: Vec<u32>, k: u64, rule: Option<Criterion>) -> Table {
    let rows = codes.into_iter().map(|code| vec![code, 0]).collect();
    let rules: Vec<(usize, Criterion)> = rule.map(|rule| (0, rule)).into_iter().collect();
    let mut table = super::giant::table(rows, secrets, k, &[]);
    table.asked = Asked { k, rules: rules.clone() };
    table.coarser = Asked { k, rules };
    table
}

pub fn plain_setup() -> Setup {
    let setup = super::giant::setup(Policy::Compact);
    let grain = Grain { whole_rows: 32, ..setup.grain };
    Setup { grain, budget_bytes: 4 << 20, room_bytes: 1 << 20, ..setup }
}

#[test]
fn an_index_from_which_everything_was_removed_is_empty_and_takes_rows_again() {
    let table = plain_table((0..100).map(|at| at * 7 % 101).collect(), vec![0; 100], 2, None);
    with_living(&table, &plain_setup(), 8, |plan| {
        let mut living = Living::new(&plan.bulk);
        let settled = living.settle(plan, &BTreeSet::new());
        assert_eq!((settled.n_rows, settled.n_written), (0, 0));
        let all: Vec<u32> = (0..100).collect();
        living.arrive(&table, &plan.bulk, &all[..60], 9);
        living.settle(plan, &BTreeSet::new());
        assert!(living.directory.parts().count() > 3);
        let settled = living.settle(plan, &all[..60].iter().copied().collect());
        living.check(&table, plan, &settled, &BTreeSet::new());
        assert_eq!(living.directory.parts().count(), 1);
        living.arrive(&table, &plan.bulk, &all[60..], 9);
        let settled = living.settle(plan, &BTreeSet::new());
        living.check(&table, plan, &settled, &(60..100).collect());
    });
}

#[test]
fn a_batch_of_identical_points_is_one_leaf_however_many_there_are() {
    let codes = (0..200).map(|at| if at < 150 { 5 } else { at % 50 }).collect();
    let table = plain_table(codes, vec![0; 200], 3, None);
    with_living(&table, &plain_setup(), 8, |plan| {
        let mut living = Living::new(&plan.bulk);
        for (from, to) in [(150, 200), (0, 100), (100, 150)] {
            let rows: Vec<u32> = (from..to).collect();
            living.arrive(&table, &plan.bulk, &rows, 9);
            living.settle(plan, &BTreeSet::new());
        }
        let leaves = living.leaves(&table, &plan.bulk);
        assert!(leaves.iter().any(|leaf| leaf.len() >= 150), "equal points share a leaf");
        let rest = living.settle(plan, &(0..149).collect());
        living.check(&table, plan, &rest, &(149..200).collect());
    });
}

#[test]
fn rows_that_all_miss_the_requirement_are_one_leaf_until_others_come() {
    let secrets = (0..80).map(|at| u32::from(at >= 40) * (at % 4)).collect();
    let rule = Criterion::DistinctLDiversity { l: 3 };
    let table = plain_table((0..80).map(|at| at * 11 % 97).collect(), secrets, 2, Some(rule));
    with_living(&table, &plain_setup(), 8, |plan| {
        let mut living = Living::new(&plan.bulk);
        let rows: Vec<u32> = (0..80).collect();
        living.arrive(&table, &plan.bulk, &rows[..40], 9);
        let settled = living.settle(plan, &BTreeSet::new());
        assert!(!settled.missing.is_empty());
        living.check(&table, plan, &settled, &(0..40).collect());
        let again = living.settle(plan, &BTreeSet::new());
        assert!(!again.missing.is_empty(), "it is told as long as it is so");
        living.arrive(&table, &plan.bulk, &rows[40..], 9);
        let settled = living.settle(plan, &BTreeSet::new());
        living.check(&table, plan, &settled, &(0..80).collect());
        assert!(living.leaves(&table, &plan.bulk).len() > 3);
        let settled = living.settle(plan, &(40..80).collect());
        living.check(&table, plan, &settled, &(0..40).collect());
    });
}

#[test]
fn parts_that_have_become_very_small_are_joined_with_their_siblings() {
    let table = plain_table((0..200).collect(), vec![0; 200], 2, None);
    let setup = plain_setup();
    let setup = Setup { grain: Grain { whole_rows: 400, ..setup.grain }, ..setup };
    with_living(&table, &setup, 40, |plan| {
        let mut living = Living::new(&plan.bulk);
        living.arrive(&table, &plan.bulk, &(0..200).collect::<Vec<u32>>(), 9);
        living.settle(plan, &BTreeSet::new());
        assert!(living.directory.parts().count() >= 5);
        let stays = |row: &u32| row % 20 < 2;
        let removed: BTreeSet<u32> = (0..200).filter(|row| !stays(row)).collect();
        let settled = living.settle(plan, &removed);
        living.check(&table, plan, &settled, &(0..200).filter(stays).collect());
        assert!(living.directory.parts().count() <= 2, "20 rows need no more parts");
    });
}

#[test]
fn leaves_that_miss_a_new_requirement_are_mended_when_all_are_looked_at() {
    let codes: Vec<u32> = (0..90).map(|at| at * 11 % 97).collect();
    let secrets: Vec<u32> = (0..90).map(|at| at % 3).collect();
    let lax = plain_table(codes.clone(), secrets.clone(), 2, None);
    let rule = Criterion::EntropyLDiversity { l: 2.0 };
    let strict = plain_table(codes, secrets, 3, Some(rule));
    let mut living = with_living(&lax, &plain_setup(), 8, |plan| {
        let mut living = Living::new(&plan.bulk);
        let all: Vec<u32> = (0..90).collect();
        living.arrive(&lax, &plan.bulk, &all, 9);
        living.settle(plan, &BTreeSet::new());
        living
    });
    with_living(&strict, &plain_setup(), 8, |plan| {
        let plan = LivingPlan { bulk: BulkPlan { ..plan.bulk }, looks_at_all: true, ..*plan };
        let settled = living.settle(&plan, &BTreeSet::new());
        living.check(&strict, &plan, &settled, &(0..90).collect());
    });
}

#[test]
fn a_part_that_does_not_fit_in_memory_is_refused_and_all_memory_is_given_back() {
    let table = plain_table((0..200).collect(), vec![0; 200], 2, None);
    let setup = Setup { budget_bytes: 1 << 10, room_bytes: 512, ..plain_setup() };
    with_living(&table, &setup, 8, |plan| {
        let mut living = Living::new(&plan.bulk);
        living.arrive(&table, &plan.bulk, &(0..30).collect::<Vec<u32>>(), 9);
        let Living { directory, parts } = &mut living;
        let refused = settle(directory, parts, plan, &|_| false, false, &Silent);
        assert!(matches!(refused, Err(StorageError::OverBudget { .. })), "{refused:?}");
    });
}

#[test]
fn parts_that_nothing_happened_to_are_not_written() {
    let table = plain_table((0..200).collect(), vec![0; 200], 2, None);
    with_living(&table, &plain_setup(), 8, |plan| {
        let mut living = Living::new(&plan.bulk);
        let all: Vec<u32> = (0..200).collect();
        living.arrive(&table, &plan.bulk, &all[..190], 9);
        living.settle(plan, &BTreeSet::new());
        let before: BTreeSet<PartId> = living.directory.parts().collect();
        let settled = living.settle(plan, &BTreeSet::from([3]));
        assert!(settled.n_written <= 2, "{} parts were written", settled.n_written);
        let after: BTreeSet<PartId> = living.directory.parts().collect();
        assert!(before.len() > 5 && before.difference(&after).count() <= 2);
    });
}
