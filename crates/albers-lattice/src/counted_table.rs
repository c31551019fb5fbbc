//! What all searches stand on: the table as a frequency set at the lowest levels, and what levels
//! lose.
//!
//! Source: Iwuchukwu & Naughton 2007, definitions 4 and 5, for the loss; Sweeney 2002 for
//! precision.
//! Departures: an exact value loses nothing. A row that is left out loses everything.
//! Guarantee: [`CountedTable::ncp`] is the loss that the manifest of the release will show.
//! Cost: the loss of all rows is a sum over attributes, known for every node before any is looked
//! at.

use std::sync::atomic::{AtomicU64, Ordering};

use albers_classes::points::Points;
use albers_privacy::Facts;
use albers_privacy::Requirement;
use albers_storage::Result;
use rayon::prelude::*;

use crate::dimension::Dimension;
use crate::found::MovedTuples;
use crate::frequency_set::{FrequencySet, SetBuilder, Workspace};
use crate::lattice::height_of;
use crate::layout::{FactField, KeyLayout};
use crate::question::Verdict;

/// A table that is searched.
pub struct CountedTable<'a> {
    /// The attributes.
    pub dimensions: &'a [Dimension],
    /// Where frequency sets live.
    pub workspace: Workspace<'a>,
    facts: Vec<FactField>,
    table: FrequencySet,
    n_rows: u64,
    /// The weighted loss of all rows, by attribute and level.
    losses: Vec<Vec<f64>>,
    /// Tuples that were read and written so far.
    n_moved: [AtomicU64; 2],
}

/// What the keys hold besides the attributes, so that a requirement can be judged: both halves of
/// the subject, the lower first, if it counts, and the sensitive columns that it looks at.
pub fn fact_fields(requirement: &Requirement) -> Vec<FactField> {
    let shape = requirement.shape();
    let subject = shape.counts_subjects.then_some([FactField { n_values: 1 << 32 }; 2]);
    let secret = |&n_values: &u32| FactField { n_values: u64::from(n_values) };
    subject.into_iter().flatten().chain(shape.n_values.iter().map(secret)).collect()
}

/// Both halves of a subject, the lower first.
pub(crate) fn halves(subject: u64) -> [u32; 2] {
    [subject as u32, (subject >> 32) as u32]
}

impl<'a> CountedTable<'a> {
    /// The counts of a table in memory. The codes of its points are values of level 0. With counts,
    /// each point stands for so many rows that are alike in all that the search looks at.
    pub fn of_points(
        dimensions: &'a [Dimension],
        workspace: Workspace<'a>,
        (points, counts): (&Points, Option<&[u32]>),
        facts: &Facts,
        requirement: &Requirement,
    ) -> Result<CountedTable<'a>> {
        let fields = fact_fields(requirement);
        let layout = KeyLayout::bottom(dimensions, &fields);
        let counts_subjects = requirement.shape().counts_subjects;
        let packed: Vec<Vec<u64>> = points
            .chunks()
            .par_iter()
            .map(|chunk| {
                let mut keys = Vec::with_capacity(chunk.n_rows * layout.n_words());
                for row in 0..chunk.n_rows {
                    let row_idx = chunk.first_row.index() + row;
                    let codes = chunk.columns.iter().map(|column| column[row]);
                    let subject = counts_subjects.then(|| halves(facts.subject(row_idx)));
                    let own =
                        subject.into_iter().flatten().chain(facts.codes(row_idx).iter().copied());
                    layout.pack(codes, own, &mut keys);
                }
                keys
            })
            .collect();
        let mut builder = SetBuilder::new(workspace, layout);
        for (keys, chunk) in packed.iter().zip(points.chunks()) {
            match counts {
                None => builder.add_keys(keys)?,
                Some(counts) => {
                    let of_chunk = counts[chunk.first_row.index()..].iter().copied();
                    builder.add_counted(keys, of_chunk)?;
                }
            }
        }
        CountedTable::new(dimensions, workspace, fields, builder)
    }

    /// The counts of a table whose rows were all added to `builder`, by keys of
    /// [`KeyLayout::bottom`].
    pub fn new(
        dimensions: &'a [Dimension],
        workspace: Workspace<'a>,
        facts: Vec<FactField>,
        builder: SetBuilder<'_>,
    ) -> Result<CountedTable<'a>> {
        let n_rows = builder.n_rows();
        let table = builder.finish(dimensions)?;
        let (losses, n_moved) = (Vec::new(), Default::default());
        let mut counted =
            CountedTable { dimensions, workspace, facts, table, n_rows, losses, n_moved };
        let attributes = 0..dimensions.len();
        counted.losses = attributes
            .into_par_iter()
            .map(|attribute| counted.losses_of(attribute))
            .collect::<Result<_>>()?;
        Ok(counted)
    }

    /// What all rows lose on one attribute, level by level, with its weight.
    fn losses_of(&self, attribute: usize) -> Result<Vec<f64>> {
        let dimension = &self.dimensions[attribute];
        let layout = KeyLayout::new(self.dimensions, &[], vec![attribute], vec![0]);
        let own = self.table.derive(self.workspace, self.dimensions, layout)?;
        let field = own.layout().fields()[0];
        let mut n_rows = vec![0u64; dimension.n_values(0) as usize];
        own.visit_classes(self.workspace, false, &mut |entries| {
            for (at, &count) in entries.counts.iter().enumerate() {
                n_rows[field.get(entries.key(at)) as usize] += u64::from(count);
            }
        })?;
        let at_level = |level: u16| {
            let losses = dimension.losses(level);
            let map = dimension.map(0, level);
            let rows = n_rows.iter().enumerate();
            let sum: f64 = rows
                .map(|(value, &n_rows)| {
                    let value = map.map_or(value, |map| map[value] as usize);
                    n_rows as f64 * losses[value]
                })
                .sum();
            dimension.weight() * sum
        };
        Ok((0..=dimension.height()).map(at_level).collect())
    }

    /// The table at the lowest levels.
    pub fn table(&self) -> &FrequencySet {
        &self.table
    }

    /// Rows of the table.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// The level of each attribute's top.
    pub fn heights(&self) -> Vec<u16> {
        self.dimensions.iter().map(Dimension::height).collect()
    }

    /// The set of some attributes at some levels, from one that is no coarser.
    pub fn derive(
        &self,
        from: &FrequencySet,
        attributes: &[usize],
        levels: &[u16],
    ) -> Result<FrequencySet> {
        self.derive_counted(from, self.layout(attributes, levels))
    }

    /// The set of some attributes at some levels, if reading it so often instead of the one it is
    /// from saves more time than it takes to make.
    pub(crate) fn derive_if_worth(
        &self,
        from: &FrequencySet,
        attributes: &[usize],
        levels: &[u16],
        n_reads: usize,
    ) -> Result<Option<FrequencySet>> {
        // What is beyond the processor's cache takes many times as long to write as to read.
        const IN_CACHE: u64 = 1 << 16;
        const MANY_READS: usize = 40;
        let quarter = from.n_entries() / 4;
        let most = if n_reads < MANY_READS { quarter.min(IN_CACHE) } else { quarter };
        let layout = self.layout(attributes, levels);
        match from.shrinks(self.dimensions, &layout, most) {
            true => self.derive_counted(from, layout).map(Some),
            false => Ok(None),
        }
    }

    /// Whether sets of so many bytes can be kept for later beside what else there is, without
    /// anything going to the spill store for their sake. Half of the memory is left for the work.
    pub(crate) fn has_room(&self, n_bytes: usize) -> bool {
        let budget = self.workspace.budget;
        budget.free_bytes() >= n_bytes.saturating_add(budget.limit_bytes() / 2)
    }

    /// What the set of some attributes at some levels takes at most, from one that is no coarser.
    pub(crate) fn most_bytes(
        &self,
        from: &FrequencySet,
        attributes: &[usize],
        levels: &[u16],
    ) -> usize {
        from.most_bytes(&self.layout(attributes, levels))
    }

    fn derive_counted(&self, from: &FrequencySet, layout: KeyLayout) -> Result<FrequencySet> {
        let set = from.derive(self.workspace, self.dimensions, layout)?;
        for (n_moved, own) in self.n_moved.iter().zip([from, &set]) {
            n_moved.fetch_add(own.n_entries(), Ordering::Relaxed);
        }
        Ok(set)
    }

    /// The tuples that were moved so far to derive sets. Sums do not depend on the threads.
    pub(crate) fn moved(&self) -> MovedTuples {
        let [read, written] = [0, 1].map(|at: usize| self.n_moved[at].load(Ordering::Relaxed));
        MovedTuples { read, written }
    }

    fn layout(&self, attributes: &[usize], levels: &[u16]) -> KeyLayout {
        KeyLayout::new(self.dimensions, &self.facts, attributes.to_vec(), levels.to_vec())
    }

    /// The set of all attributes at some levels, from one that is no coarser.
    pub fn derive_all(&self, from: &FrequencySet, levels: &[u16]) -> Result<FrequencySet> {
        let attributes: Vec<usize> = (0..self.dimensions.len()).collect();
        self.derive(from, &attributes, levels)
    }

    fn weights(&self) -> f64 {
        self.dimensions.iter().map(Dimension::weight).sum()
    }

    /// The weighted loss of all rows at some levels of all attributes, with nothing left out.
    fn loss_of_all(&self, levels: &[u16]) -> f64 {
        self.losses.iter().zip(levels).map(|(losses, &level)| losses[usize::from(level)]).sum()
    }

    fn as_share(&self, loss: f64) -> f64 {
        loss / (self.n_rows.max(1) as f64 * self.weights().max(f64::MIN_POSITIVE))
    }

    /// The normalized certainty penalty at some levels, with nothing left out. It bounds that of
    /// every generalization of them from below, whatever is left out.
    pub fn least_ncp(&self, levels: &[u16]) -> f64 {
        self.as_share(self.loss_of_all(levels))
    }

    /// The normalized certainty penalty of a release at some levels.
    pub fn ncp(&self, levels: &[u16], verdict: &Verdict) -> f64 {
        let left_out = verdict.n_suppressed as f64 * self.weights() - verdict.suppressed_loss;
        self.as_share(self.loss_of_all(levels) + left_out)
    }

    /// One minus the mean share of their hierarchies that values have risen.
    pub fn precision(&self, levels: &[u16], verdict: &Verdict) -> f64 {
        let risen = levels.iter().zip(self.dimensions);
        let risen = risen.map(|(&level, own)| f64::from(level) / f64::from(own.height().max(1)));
        let mean = risen.sum::<f64>() / levels.len().max(1) as f64;
        let suppressed = verdict.n_suppressed as f64 / self.n_rows.max(1) as f64;
        1.0 - (suppressed + (1.0 - suppressed) * mean)
    }

    /// The height with the attributes' weights: each level counts as a share of its hierarchy.
    pub fn weighted_height(&self, levels: &[u16]) -> f64 {
        let risen = levels.iter().zip(self.dimensions);
        let weighted = risen
            .map(|(&level, own)| own.weight() * f64::from(level) / f64::from(own.height().max(1)));
        weighted.sum()
    }

    /// The sum of some levels.
    pub fn height(&self, levels: &[u16]) -> usize {
        height_of(levels)
    }
}

impl KeyLayout {
    /// The layout of all attributes at their lowest levels.
    pub fn bottom(dimensions: &[Dimension], facts: &[FactField]) -> KeyLayout {
        let attributes: Vec<usize> = (0..dimensions.len()).collect();
        KeyLayout::new(dimensions, facts, attributes, vec![0; dimensions.len()])
    }
}
