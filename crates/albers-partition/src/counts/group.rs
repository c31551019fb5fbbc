//! The counts of a node: how they are made, and what they take.
//!
//! ```text
//!   dense   one counter for each code of the known range and each value     cells <= 4 * rows
//!   sparse  a map from (code, value) to a counter, sorted when it is done   otherwise
//! ```

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::split::tally::Tally;
use crate::split::workload::{NO_VALUE, Target, TargetPlace, Workload};

/// Tables with at most so many cells for each row have a counter for each.
const DENSE_CELLS: u64 = 4;
/// What a sparse table takes for each place of its map while it grows or is sorted.
const PLACE_BYTES: u64 = 32;

/// What a code that occurs takes: its run, and its place in the order of cuts.
const RUN_BYTES: u64 = 12;

/// The group of a row that is not counted.
pub const NO_GROUP: u32 = u32::MAX;

/// What is counted along each attribute.
#[derive(Debug, Clone, Default)]
pub struct CountColumns {
    /// The targets, which are classes.
    targets: Vec<Target>,
    /// How many values each sensitive column has that a rule looks at.
    sensitive: Vec<u32>,
}

/// What is known of the codes of an attribute before they are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AxisShape {
    /// None is less.
    pub lo: u32,
    /// None is greater.
    pub hi: u32,
    /// No more are distinct.
    pub n_distinct: u64,
}

/// What is known of a node before it is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupShape {
    /// Its rows.
    pub n_rows: u64,
    /// Its attributes.
    pub axes: Vec<AxisShape>,
}

/// Rows that are to be counted.
pub struct CountedRows<'r> {
    /// The codes of the attributes, row by row.
    pub codes: &'r [u32],
    /// What rows carry of the targets, column by column.
    pub carried: Vec<Vec<u32>>,
    /// The sensitive codes, column by column.
    pub sensitive: Vec<Vec<u32>>,
    /// The group of each row, or [`NO_GROUP`].
    pub group_of: &'r [u32],
}

/// Counts that are being made, of several nodes at once.
pub struct Counter {
    columns: CountColumns,
    n_rows: Vec<u64>,
    /// What is needed beside the tables.
    beside_bytes: u64,
    /// By attribute, then by group.
    axes: Vec<Vec<AxisTables>>,
}

/// The counts of a node.
pub struct CountGroup {
    n_rows: u64,
    pub(super) axes: Vec<AxisCounts>,
}

/// Rows with one code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The code.
    pub code: u32,
    /// The rows.
    pub n_rows: u32,
}

/// The counts along an attribute.
pub(super) struct AxisCounts {
    /// The codes that occur, ascending.
    pub(super) runs: Vec<Run>,
    /// For each target, its classes by code; nothing for the attribute itself.
    classes: Vec<Option<CountTable>>,
    /// For each sensitive column, its values by code.
    sensitive: Vec<CountTable>,
}

struct AxisTables {
    codes: CountTable,
    classes: Vec<Option<CountTable>>,
    sensitive: Vec<CountTable>,
}

/// Counters by code and value.
#[derive(Debug)]
struct CountTable {
    lo: u32,
    n_values: u32,
    cells: Cells,
}

#[derive(Debug)]
enum Cells {
    /// Nothing is counted of an attribute with one code.
    Closed,
    Dense(Vec<u32>),
    Sparse(FxHashMap<u64, u32>),
    /// A sparse table that is done: the key is the code in the upper half and the value in the lower.
    Sorted(Vec<(u64, u32)>),
}

impl CountColumns {
    /// Of a workload whose targets are classes, and of sensitive columns with so many values.
    pub fn new(workload: Option<&Workload>, sensitive: &[u32]) -> CountColumns {
        let targets = workload.map_or(Vec::new(), |own| own.targets.clone());
        CountColumns { targets, sensitive: sensitive.to_vec() }
    }

    /// How many values each table of an attribute has, besides that of its codes.
    fn widths(&self, axis: usize) -> impl Iterator<Item = u32> + '_ {
        let classes = self.targets.iter().filter(move |own| own.place != TargetPlace::Axis(axis));
        classes.map(Target::n_classes).chain(self.sensitive.iter().copied())
    }
}

impl GroupShape {
    /// Of a table whose codes are no greater than these.
    pub fn of_table(n_rows: u64, greatest: &[u32]) -> GroupShape {
        let axis = |&hi: &u32| AxisShape { lo: 0, hi, n_distinct: u64::from(hi) + 1 };
        GroupShape { n_rows, axes: greatest.iter().map(axis).collect() }
    }

    /// What the counts take at most, while they are made, afterwards, and while a split is chosen.
    pub fn n_bytes(&self, columns: &CountColumns) -> u64 {
        self.sum_of(columns, |axis, width| axis.table_bytes(self.n_rows, width))
    }

    /// What they take at least, before the first row is counted.
    pub fn least_bytes(&self, columns: &CountColumns) -> u64 {
        self.sum_of(columns, |axis, width| axis.least_bytes(self.n_rows, width))
    }

    fn sum_of(&self, columns: &CountColumns, n_bytes: impl Fn(&AxisShape, u32) -> u64) -> u64 {
        let axis = |(place, axis): (usize, &AxisShape)| {
            let tables = columns.widths(place).chain([1]).map(|width| n_bytes(axis, width));
            tables.fold(axis.run_bytes(self.n_rows), u64::saturating_add)
        };
        self.axes.iter().enumerate().map(axis).fold(0, u64::saturating_add)
    }
}

impl AxisShape {
    fn is_closed(&self) -> bool {
        self.lo == self.hi
    }

    fn n_cells(&self, n_values: u32) -> u64 {
        (u64::from(self.hi - self.lo) + 1) * u64::from(n_values)
    }

    fn is_dense(&self, n_rows: u64, n_values: u32) -> bool {
        self.n_cells(n_values) <= DENSE_CELLS * n_rows
    }

    /// What the codes that occur take, and what is noted of each while a split is chosen.
    fn run_bytes(&self, n_rows: u64) -> u64 {
        self.n_distinct.min(n_rows).saturating_mul(RUN_BYTES)
    }

    fn least_bytes(&self, n_rows: u64, n_values: u32) -> u64 {
        match self.is_dense(n_rows, n_values) {
            true => self.table_bytes(n_rows, n_values),
            false => 0,
        }
    }

    fn table_bytes(&self, n_rows: u64, n_values: u32) -> u64 {
        if self.is_closed() {
            return 0;
        }
        if self.is_dense(n_rows, n_values) {
            return self.n_cells(n_values) * size_of::<u32>() as u64;
        }
        let n_entries = self.n_distinct.saturating_mul(u64::from(n_values)).min(n_rows);
        // A map is at most seven eighths full.
        let n_places = (n_entries / 7).saturating_mul(8).saturating_add(8);
        n_places.next_power_of_two().saturating_mul(PLACE_BYTES)
    }

    fn table(&self, n_rows: u64, n_values: u32) -> CountTable {
        let cells = match (self.is_closed(), self.is_dense(n_rows, n_values)) {
            (true, _) => Cells::Closed,
            (_, true) => Cells::Dense(vec![0; self.n_cells(n_values) as usize]),
            (_, false) => Cells::Sparse(FxHashMap::default()),
        };
        CountTable { lo: self.lo, n_values, cells }
    }
}

impl Counter {
    /// Of nodes that are known so far.
    pub fn new(columns: &CountColumns, shapes: &[&GroupShape]) -> Counter {
        let n_axes = shapes.first().map_or(0, |shape| shape.axes.len());
        let tables = |axis: usize, shape: &GroupShape| {
            let (own, n_rows) = (shape.axes[axis], shape.n_rows);
            let class = |target: &Target| {
                let is_other = target.place != TargetPlace::Axis(axis);
                is_other.then(|| own.table(n_rows, target.n_classes()))
            };
            let sensitive = |&n_values: &u32| own.table(n_rows, n_values);
            AxisTables {
                codes: own.table(n_rows, 1),
                classes: columns.targets.iter().map(class).collect(),
                sensitive: columns.sensitive.iter().map(sensitive).collect(),
            }
        };
        let by_group = |axis: usize| shapes.iter().map(|shape| tables(axis, shape)).collect();
        let beside = |shape: &&GroupShape| -> u64 {
            shape.axes.iter().map(|axis| axis.run_bytes(shape.n_rows)).sum()
        };
        Counter {
            columns: columns.clone(),
            n_rows: vec![0; shapes.len()],
            beside_bytes: shapes.iter().map(beside).sum(),
            axes: (0..n_axes).map(by_group).collect(),
        }
    }

    /// Counts rows, each attribute on a thread of its own, so that no counter is there twice.
    pub fn add(&mut self, rows: &CountedRows<'_>) {
        let n_attributes = self.axes.len();
        for &group in rows.group_of.iter().filter(|&&group| group != NO_GROUP) {
            self.n_rows[group as usize] += 1;
        }
        let values: Vec<Vec<u32>> =
            self.columns.targets.iter().map(|own| rows.values(own)).collect();
        let counted = || (0usize..).zip(rows.group_of).filter(|(_, group)| **group != NO_GROUP);
        self.axes.par_iter_mut().enumerate().for_each(|(axis, tables)| {
            let code = |row: usize| rows.codes[row * n_attributes + axis];
            for (row, &group) in counted() {
                tables[group as usize].codes.add(code(row), 0);
            }
            for (target, values) in values.iter().enumerate() {
                for (row, &group) in counted().filter(|(row, _)| values[*row] != NO_VALUE) {
                    if let Some(table) = &mut tables[group as usize].classes[target] {
                        table.add(code(row), values[row]);
                    }
                }
            }
            for (column, values) in rows.sensitive.iter().enumerate() {
                for (row, &group) in counted() {
                    tables[group as usize].sensitive[column].add(code(row), values[row]);
                }
            }
        });
    }

    /// What the counts take now, while they are sorted, and while a split is chosen.
    pub fn n_bytes(&self) -> u64 {
        let tables = self.axes.iter().flatten().flat_map(|own| {
            let classes = own.classes.iter().flatten();
            classes.chain(&own.sensitive).chain([&own.codes])
        });
        tables.map(CountTable::n_bytes).sum::<u64>() + self.beside_bytes
    }

    /// The counts of each node.
    pub fn finish(self) -> Vec<CountGroup> {
        let mut groups: Vec<CountGroup> =
            self.n_rows.iter().map(|&n_rows| CountGroup { n_rows, axes: Vec::new() }).collect();
        for tables in self.axes {
            let counts: Vec<(CountTable, AxisCounts)> =
                tables.into_par_iter().map(AxisTables::finish).collect();
            for (group, (codes, mut counts)) in groups.iter_mut().zip(counts) {
                counts.runs = codes.into_runs(group.n_rows as u32);
                group.axes.push(counts);
            }
        }
        groups
    }
}

impl CountedRows<'_> {
    /// The class of each row in a target.
    fn values(&self, target: &Target) -> Vec<u32> {
        match target.place {
            TargetPlace::Carried(place) => {
                self.carried[place].iter().map(|&code| target.value_of(code)).collect()
            }
            TargetPlace::Axis(axis) => {
                let n_attributes = self.codes.len() / self.group_of.len().max(1);
                let codes = self.codes.iter().skip(axis).step_by(n_attributes.max(1));
                codes.map(|&code| target.value_of(code)).collect()
            }
        }
    }
}

impl AxisTables {
    fn finish(mut self) -> (CountTable, AxisCounts) {
        self.classes.iter_mut().flatten().for_each(CountTable::finish);
        self.sensitive.iter_mut().for_each(CountTable::finish);
        let AxisTables { codes, classes, sensitive } = self;
        (codes, AxisCounts { runs: Vec::new(), classes, sensitive })
    }
}

impl CountTable {
    #[inline]
    fn add(&mut self, code: u32, value: u32) {
        match &mut self.cells {
            Cells::Dense(counts) => {
                counts[(code - self.lo) as usize * self.n_values as usize + value as usize] += 1;
            }
            Cells::Sparse(counts) => {
                *counts.entry(u64::from(code) << 32 | u64::from(value)).or_insert(0) += 1;
            }
            Cells::Closed => {}
            Cells::Sorted(_) => unreachable!("a table that is done counts no more"),
        }
    }

    fn n_bytes(&self) -> u64 {
        match &self.cells {
            Cells::Closed => 0,
            Cells::Dense(counts) => size_of_val(counts.as_slice()) as u64,
            Cells::Sparse(counts) if counts.is_empty() => 0,
            Cells::Sparse(counts) => {
                let n_places = (counts.capacity() as u64 / 7 * 8).max(4).next_power_of_two();
                n_places * PLACE_BYTES
            }
            Cells::Sorted(counts) => size_of_val(counts.as_slice()) as u64,
        }
    }

    fn finish(&mut self) {
        if let Cells::Sparse(counts) = &mut self.cells {
            let mut sorted: Vec<(u64, u32)> = std::mem::take(counts).into_iter().collect();
            sorted.sort_unstable();
            self.cells = Cells::Sorted(sorted);
        }
    }

    /// The codes that occur, of a table of codes; all rows have one where nothing was counted.
    fn into_runs(mut self, n_rows: u32) -> Vec<Run> {
        self.finish();
        let lo = self.lo;
        match self.cells {
            Cells::Closed => vec![Run { code: lo, n_rows }],
            Cells::Dense(counts) => {
                let n_runs = counts.iter().filter(|&&n_rows| n_rows > 0).count();
                let mut runs = Vec::with_capacity(n_runs);
                let present = (lo..=u32::MAX).zip(counts).filter(|(_, n_rows)| *n_rows > 0);
                runs.extend(present.map(|(code, n_rows)| Run { code, n_rows }));
                runs
            }
            Cells::Sorted(counts) => {
                let run = |(key, n_rows): (u64, u32)| Run { code: (key >> 32) as u32, n_rows };
                counts.into_iter().map(run).collect()
            }
            Cells::Sparse(_) => unreachable!("the table is done"),
        }
    }

    /// The values that rows with a code have, ascending, and how many have each.
    fn values(&self, code: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let n_values = self.n_values as usize;
        let (dense, sorted) = match &self.cells {
            Cells::Dense(counts) => {
                let start = (code - self.lo) as usize * n_values;
                (&counts[start..start + n_values], &[][..])
            }
            Cells::Sorted(counts) => {
                let start = counts.partition_point(|(key, _)| key >> 32 < u64::from(code));
                let after = &counts[start..];
                let end = after.partition_point(|(key, _)| key >> 32 == u64::from(code));
                (&[][..], &after[..end])
            }
            Cells::Closed | Cells::Sparse(_) => (&[][..], &[][..]),
        };
        let dense = (0u32..).zip(dense.iter().copied()).filter(|(_, n_rows)| *n_rows > 0);
        dense.chain(sorted.iter().map(|&(key, n_rows)| (key as u32, n_rows)))
    }
}

impl AxisCounts {
    /// Whether all rows have the same code.
    pub(super) fn is_closed(&self) -> bool {
        self.runs.len() < 2
    }

    /// The classes in a target of the rows with a code.
    pub(super) fn classes(
        &self,
        (place, target): (usize, &Target),
        run: Run,
        mut each: impl FnMut(u32, u32),
    ) {
        match &self.classes[place] {
            Some(table) => table.values(run.code).for_each(|(class, n_rows)| each(class, n_rows)),
            None => {
                let class = target.value_of(run.code);
                if class != NO_VALUE {
                    each(class, run.n_rows);
                }
            }
        }
    }

    /// The sensitive values of the rows with a code, column by column.
    pub(super) fn sensitive(
        &self,
        run: Run,
    ) -> impl Iterator<Item = impl Iterator<Item = (u32, u64)> + '_> + '_ {
        self.sensitive.iter().map(move |table| {
            table.values(run.code).map(|(value, n_rows)| (value, u64::from(n_rows)))
        })
    }
}

impl CountGroup {
    /// The rows behind the counts.
    pub fn n_rows(&self) -> usize {
        self.n_rows as usize
    }

    /// The codes of an attribute that occur, ascending, and the rows with each.
    pub fn runs(&self, axis: usize) -> &[Run] {
        &self.axes[axis].runs
    }

    /// What is known of the node by its counts.
    pub fn shape(&self) -> GroupShape {
        let axes = (0..self.axes.len()).map(|axis| self.axis_shape(axis)).collect();
        GroupShape { n_rows: self.n_rows, axes }
    }

    /// What is known of the codes of an attribute.
    pub fn axis_shape(&self, axis: usize) -> AxisShape {
        AxisShape::of_runs(self.runs(axis))
    }

    /// The classes of a target that is carried, along some attribute of which they were counted.
    pub(super) fn each_class(&self, place: usize, mut each: impl FnMut(u32, u32)) {
        let counted = self.axes.iter().find_map(|axis| {
            let table = axis.classes[place].as_ref()?;
            (!matches!(table.cells, Cells::Closed)).then_some((axis, table))
        });
        let Some((axis, table)) = counted else { return };
        for run in &axis.runs {
            table.values(run.code).for_each(|(class, n_rows)| each(class, n_rows));
        }
    }
}

impl AxisShape {
    /// Of codes that occur.
    pub(super) fn of_runs(runs: &[Run]) -> AxisShape {
        let lo = runs.first().map_or(0, |run| run.code);
        let hi = runs.last().map_or(lo, |run| run.code);
        AxisShape { lo, hi, n_distinct: runs.len() as u64 }
    }
}

/// Adds rows of a class to a tally, unless they have none.
pub(super) fn add_to(tally: &mut Tally, class: u32, n_rows: u32) {
    if class != NO_VALUE {
        tally.add_many(class, n_rows);
    }
}
