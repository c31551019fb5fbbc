//! Units are loaded, divided to the end and handed on.

use std::ops::Range;
use std::sync::Arc;

use albers_classes::Span;
use albers_classes::packed::RowBlock;
use albers_classes::region::span;
use albers_partition::split::rule::{Allowance, Rule};
use albers_storage::threads;
use albers_storage::watch::Watch;
use albers_storage::{Result, StorageError};
use rayon::prelude::*;

use super::sort::{Sorted, SortedBlock, SortedRows};
use super::{BangGiant, BangLoad, BangUnit, LoadedUnit, Visit};
use crate::bang_file::lots::Lots;
use crate::bang_file::sorted::SortedKeys;
use crate::bang_file::units::{Joins, Unit, UnitBlock};
use crate::bang_file::{BangFile, UnitRows};
use crate::buffer_tree::drain::enough;
use crate::buffer_tree::{BulkPlan, Part};

type Sink<'s, E> = dyn FnMut(LoadedUnit<'_>) -> std::result::Result<(), E> + 's;

/// The units of all rows.
pub(super) fn units(load: &BangLoad<'_>, lots: &Lots<'_>, watch: &dyn Watch) -> Result<Vec<Unit>> {
    let counted = Allowance { min_rows: load.bulk.plan.min_rows(), rule: None };
    let joins = match (load.bulk.has_coarser, load.is_one_unit) {
        (_, true) => Joins::All,
        (true, false) => Joins::Violating(load.bulk.strictest),
        (false, false) => Joins::Nothing,
    };
    load.bang_plan(counted).units(lots, joins, watch)
}

/// Divides all rows, unit by unit.
pub(super) fn visit<E: From<StorageError>>(
    load: &BangLoad<'_>,
    (sorted, units): (&mut Sorted<'_>, &[Unit]),
    visit: Visit,
    watch: &dyn Watch,
    sink: &mut Sink<'_, E>,
) -> std::result::Result<(), E> {
    let Sorted { lots, rows, payload_bytes } = sorted;
    let at = |number: u32| UnitAt { load, lots, units, number };
    let numbers: Vec<u32> = (0..units.len() as u32).collect();
    match rows {
        SortedRows::Whole { rows, keys, .. } => {
            // As many at once as there are threads, since much of a unit is done on one.
            for some in numbers.chunks(threads::of_pool()) {
                watch.check()?;
                let loaded = some.par_iter().map(|&number| at(number).at_hand(rows, keys, watch));
                let loaded: Vec<Result<LoadedUnit<'_>>> = loaded.collect();
                loaded.into_iter().try_for_each(|own| sink(own?))?;
            }
        }
        SortedRows::Blocks(blocks) => {
            for number in numbers {
                watch.check()?;
                let at = at(number);
                if at.is_giant() {
                    sink(LoadedUnit::Giant(at.giant_of_blocks(blocks, visit)?))?;
                    continue;
                }
                let n_bytes = at.n_rows() as usize * (load.row_bytes() + *payload_bytes);
                let memory = load.bulk.budget.try_reserve("a unit of the file", n_bytes);
                let _memory = memory.map_err(enough)?;
                let (rows, keys, places) = at.loaded(blocks, visit)?;
                sink(LoadedUnit::Unit(Box::new(at.divided(&rows, &keys, places, watch)?)))?;
            }
        }
    }
    Ok(())
}

/// A unit among all others.
struct UnitAt<'u> {
    load: &'u BangLoad<'u>,
    lots: &'u Lots<'u>,
    units: &'u [Unit],
    number: u32,
}

impl UnitAt<'_> {
    fn unit(&self) -> &Unit {
        &self.units[self.number as usize]
    }

    fn n_rows(&self) -> u64 {
        let places = self.unit().lots().into_iter().map(|lot| self.lots.places(lot));
        places.map(|own| own.end - own.start).sum()
    }

    /// The places of its rows among all rows, block by block.
    fn places(&self) -> Vec<UnitRows> {
        let rows_of = |block: &UnitBlock| {
            let places = block.lots.iter().flat_map(|&lot| self.lots.places(lot));
            let places = places.map(|place| place as u32).collect();
            UnitRows { n_bits: block.n_bits, places, is_whole: block.is_whole }
        };
        self.unit().blocks.iter().map(rows_of).collect()
    }

    /// Its rows in key order, their keys, and their places block by block.
    fn loaded(
        &self,
        blocks: &mut [SortedBlock],
        visit: Visit,
    ) -> Result<(RowBlock, Arc<SortedKeys>, Vec<UnitRows>)> {
        let plan = self.load.bulk;
        let lots = self.unit().lots();
        let mut rows = RowBlock::default();
        // Where the rows of each lot begin among those that are loaded.
        let mut starts = Vec::with_capacity(lots.len());
        let mut n_rows = 0u32;
        for &lot in &lots {
            starts.push(n_rows);
            let places = self.lots.places(lot);
            n_rows += (places.end - places.start) as u32;
        }
        for stretch in stretches(&lots, self.lots) {
            read(blocks, stretch, (plan, visit), &mut |own, range| {
                rows.extend(plan.layout, own, range);
            })?;
        }
        let codes = |row: usize, codes: &mut [u32]| rows.codes(plan.layout, row, codes);
        let keys = SortedKeys::of_sorted(self.load.space, rows.n_rows(), codes);
        let rows_of = |block: &UnitBlock| {
            let places = block.lots.iter().flat_map(|lot| {
                let at = lots.partition_point(|other| other < lot);
                let end = starts.get(at + 1).copied().unwrap_or(n_rows);
                starts[at]..end
            });
            let places = places.collect();
            UnitRows { n_bits: block.n_bits, places, is_whole: block.is_whole }
        };
        let places = self.unit().blocks.iter().map(rows_of).collect();
        Ok((rows, Arc::new(keys), places))
    }

    /// Divides its blocks to the end.
    fn divided<'r>(
        &self,
        rows: &'r RowBlock,
        keys: &Arc<SortedKeys>,
        places: Vec<UnitRows>,
        watch: &dyn Watch,
    ) -> Result<BangUnit<'r>> {
        let plan = self.load.bulk;
        let all = 0..rows.n_rows() as u32;
        let facts = self.load.rule().map(|_| plan.facts.facts_of(plan.layout, rows, all));
        let rule = facts.as_ref().map(|facts| Rule { requirement: plan.plan.requirement, facts });
        let allowance = Allowance { min_rows: plan.plan.min_rows(), rule };
        let inner = &self.unit().inner;
        let regions = inner.iter().map(|&other| &self.units[other as usize]);
        let regions: Vec<(&[u64], usize)> =
            regions.map(|other| (&other.key[..], other.n_bits)).collect();
        let bang_plan = self.load.bang_plan(allowance);
        let file = BangFile::of_unit(keys, places, &regions, &bang_plan, watch)?;
        let (order, ends) = order_of(&file);
        let boxes = boxes_of(self.load, rows, &order, &ends);
        let blocks = (0..file.n_blocks() as u32).into_par_iter();
        let regions = blocks.flat_map_iter(|block| file.region_box(block)).collect();
        let inner = inner.clone();
        Ok(BangUnit { number: self.number, inner, file, rows, order, ends, boxes, regions })
    }

    /// Whether it is one block that cannot be divided and has too many rows.
    fn is_giant(&self) -> bool {
        matches!(&self.unit().blocks[..], [UnitBlock { is_whole: true, .. }])
    }

    /// The unit of rows that are all at hand.
    fn at_hand<'r>(
        &self,
        rows: &'r RowBlock,
        keys: &Arc<SortedKeys>,
        watch: &dyn Watch,
    ) -> Result<LoadedUnit<'r>> {
        if !self.is_giant() {
            let unit = self.divided(rows, keys, self.places(), watch)?;
            return Ok(LoadedUnit::Unit(Box::new(unit)));
        }
        let mut part = Part::counting_rows();
        for place in self.places().into_iter().flat_map(|block| block.places) {
            let row = keys.row_ids()[place as usize] as usize;
            part.append(self.load.bulk, rows, row..row + 1)?;
        }
        Ok(LoadedUnit::Giant(self.giant(part)?))
    }

    /// Its rows in blocks of their own.
    fn giant_of_blocks(&self, blocks: &mut [SortedBlock], visit: Visit) -> Result<BangGiant> {
        let plan = self.load.bulk;
        let mut part = Part::counting_rows();
        for stretch in stretches(&self.unit().lots(), self.lots) {
            let mut appended = Ok(());
            read(blocks, stretch, (plan, visit), &mut |own, range| {
                if appended.is_ok() {
                    appended = part.append(plan, own, range);
                }
            })?;
            appended?;
        }
        self.giant(part)
    }

    fn giant(&self, mut part: Part) -> Result<BangGiant> {
        part.flush(self.load.bulk)?;
        let (unit, space) = (self.unit(), self.load.space);
        let inner = unit.inner.iter().map(|&other| &self.units[other as usize]);
        Ok(BangGiant {
            number: self.number,
            inner: unit.inner.clone(),
            n_rows: part.n_rows,
            blocks: part.blocks,
            region: space.region_box(&unit.key, unit.n_bits),
            holes: inner.flat_map(|other| space.region_box(&other.key, other.n_bits)).collect(),
        })
    }
}

/// The places of some lots, those of neighbours together.
fn stretches(lots: &[u32], all: &Lots<'_>) -> Vec<Range<u64>> {
    let mut found: Vec<Range<u64>> = Vec::new();
    for places in lots.iter().map(|&lot| all.places(lot)) {
        match found.last_mut() {
            Some(last) if last.end == places.start => last.end = places.end,
            _ => found.push(places),
        }
    }
    found
}

/// Shows the rows of a stretch, block by block: the rows of a block, and which of them are meant.
/// What has been asked for as a whole is forgotten.
fn read(
    blocks: &mut [SortedBlock],
    stretch: Range<u64>,
    (plan, visit): (&BulkPlan<'_>, Visit),
    see: &mut dyn FnMut(&RowBlock, Range<usize>),
) -> Result<()> {
    let first = blocks.partition_point(|block| block.places.end <= stretch.start);
    for own in blocks[first..].iter_mut().take_while(|own| own.places.start < stretch.end) {
        let start = stretch.start.max(own.places.start) - own.places.start;
        let end = stretch.end.min(own.places.end) - own.places.start;
        own.n_left -= if visit == Visit::Last { end - start } else { 0 };
        let Some(block) = own.block.take() else {
            unreachable!("a block is kept as long as rows of it are left")
        };
        let bytes = match own.n_left {
            0 => plan.store.take(block)?,
            _ => {
                let bytes = plan.store.read(&block)?;
                own.block = Some(block);
                bytes
            }
        };
        let mut rows = RowBlock::default();
        rows.read_from(plan.layout, &bytes);
        see(&rows, start as usize..end as usize);
    }
    Ok(())
}

/// The rows of a file, block by block, and where each block ends.
fn order_of(file: &BangFile) -> (Vec<u32>, Vec<u32>) {
    let (mut order, mut ends) = (Vec::new(), Vec::with_capacity(file.n_blocks()));
    for block in 0..file.n_blocks() as u32 {
        order.extend(file.rows_of(block));
        ends.push(order.len() as u32);
    }
    (order, ends)
}

/// The least and the greatest code of each block on each attribute.
fn boxes_of(load: &BangLoad<'_>, rows: &RowBlock, order: &[u32], ends: &[u32]) -> Vec<Span> {
    let layout = load.bulk.layout;
    let n_attributes = layout.n_attributes();
    let of_block = |block: usize| {
        let start = if block == 0 { 0 } else { ends[block - 1] };
        let mut codes = vec![0; n_attributes];
        let mut around = vec![(u32::MAX, 0u32); n_attributes];
        for &row in &order[start as usize..ends[block] as usize] {
            rows.codes(layout, row as usize, &mut codes);
            for (around, &code) in around.iter_mut().zip(&codes) {
                *around = (around.0.min(code), around.1.max(code));
            }
        }
        around.into_iter().map(|(lo, hi)| span(lo, hi))
    };
    (0..ends.len()).into_par_iter().flat_map_iter(of_block).collect()
}
