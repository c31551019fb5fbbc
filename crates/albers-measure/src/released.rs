//! The loss of a release that was read back from a file, whoever made it.
//!
//! Source and definitions: as in [`crate::loss`], whose arithmetic this shares.
//! Departures: none. A row that was left out loses everything: 1 on each attribute, and as many
//! pairs of rows in the discernibility as the original has rows. In the divergence all of them form
//! one class that covers the whole domain.
//! Guarantee: over the declared domain it equals the loss over the table that the owner's report of a
//! release of this program tells.
//! Cost: a look at each class; where rows are paired one pass over them, and classes are sorted one by
//! one to find equal rows.

use albers_classes::points::codes_hash;
use albers_classes::{Attribute, ClassId};
use albers_release::door::secret_hash;
use albers_release::parse::ReadCell;
use albers_table::code::Code;
use albers_table::row::{RowId, RowIdx};
use rayon::prelude::*;

use crate::classes::{Classes, RowRuns};
use crate::domains::ColumnSteps;
use crate::loss::{Divergence, LogRatios, Loss, Sums, Volume, times};

/// A quasi-identifier of a release.
pub struct ReleasedColumn<'a> {
    /// The attribute of the original.
    pub attribute: &'a Attribute,
    /// What its cells show, each content once.
    pub cells: Vec<ReadCell>,
    /// The place in `cells` of each run of rows.
    pub places: Vec<u32>,
    /// The runs of the release: the same for all its columns.
    pub runs: &'a RowRuns,
}

impl ReleasedColumn<'_> {
    /// What the rows of a run show.
    #[inline]
    pub fn cell(&self, run: usize) -> &ReadCell {
        &self.cells[self.places[run] as usize]
    }
}

/// Which row of the original stands behind each row of the release.
pub struct Pairing<'a> {
    /// The row of the original, by row of the release; no two are the same.
    pub original_rows: &'a [RowIdx],
    /// The codes of the original, attribute by attribute.
    pub codes: &'a [Vec<u32>],
    /// The codes of the original's sensitive columns.
    pub sensitive: &'a [Vec<u32>],
}

/// The rows of a release that do not cover their row of the original on one attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uncovered {
    /// How many rows there are.
    pub n_rows: u64,
    /// The first of them in the release.
    pub first_row: RowId,
}

/// Computes the loss of a release of `n_original` rows, whose columns can lose these steps; without a
/// pairing the divergence has no meaning and is 0.
pub fn loss_of_released(
    (columns, steps): (&[ReleasedColumn<'_>], &[ColumnSteps]),
    classes: &Classes,
    n_original: usize,
    pairing: Option<&Pairing<'_>>,
) -> (Loss, Divergence) {
    const CLASSES_PER_TASK: usize = 4096;
    let n_tasks = classes.n_classes().div_ceil(CLASSES_PER_TASK);
    let attributes = columns.iter().map(|column| column.attribute);
    let n_suppressed = n_original - classes.n_rows();
    let suppressed =
        sums_of_suppressed((attributes.clone(), steps), n_original, n_suppressed, pairing);
    let sums = (0..n_tasks)
        .into_par_iter()
        .map(|task| {
            let end = ((task + 1) * CLASSES_PER_TASK).min(classes.n_classes());
            sums_of((columns, steps), classes, task * CLASSES_PER_TASK..end, pairing)
        })
        .reduce(|| Sums::zero(columns.len()), |sum, task| sum.plus(&task));
    let attributes = attributes.zip(steps.iter().map(ColumnSteps::n_steps));
    sums.plus(&suppressed).into_loss(n_original, attributes)
}

/// For each attribute, the rows that do not cover their row of the original, if there are any.
pub fn uncovered(columns: &[ReleasedColumn<'_>], pairing: &Pairing<'_>) -> Vec<Option<Uncovered>> {
    let of_column = |(column, codes): (&ReleasedColumn<'_>, &Vec<u32>)| {
        let domain = &column.attribute.domain;
        let rows = column.runs.iter().enumerate().flat_map(|(run, rows)| {
            let content = &column.cell(run).content;
            rows.map(move |row| (row, content))
        });
        let mut faults = rows.filter(|(row, content)| {
            let original_row = pairing.original_rows[*row];
            !content.covers(domain, Code::new(codes[original_row.index()]))
        });
        let (first_row, _) = faults.next()?;
        Some(Uncovered {
            n_rows: 1 + faults.count() as u64,
            first_row: RowId::new(first_row as u64),
        })
    };
    columns.par_iter().zip(pairing.codes).map(of_column).collect()
}

fn sums_of(
    (columns, steps): (&[ReleasedColumn<'_>], &[ColumnSteps]),
    classes: &Classes,
    range: std::ops::Range<usize>,
    pairing: Option<&Pairing<'_>>,
) -> Sums {
    let mut sums = Sums::zero(columns.len());
    let mut tuples = Vec::new();
    for class in range {
        let class = classes.class(ClassId::of_index(class));
        let n_rows = class.n_rows() as u64;
        sums.discernibility += times(n_rows, n_rows);
        let mut volume = Volume::default();
        for ((column, steps), sum) in columns.iter().zip(steps).zip(&mut sums.by_attribute) {
            let cell = column.cell(class.first_run());
            let domain = &column.attribute.domain;
            *sum += times(n_rows, steps.lost_by(cell, domain));
            volume.extend(cell.content.n_covered(domain));
        }
        if let Some(pairing) = pairing {
            let original = class.rows().map(|row| pairing.original_rows[row.index()]);
            pairing.collect(original, &mut tuples);
            sums.log_ratios.add(LogRatios::of_class(volume.log(), &mut tuples));
        }
    }
    sums
}

/// The sums of the rows that were left out.
fn sums_of_suppressed<'a>(
    (attributes, steps): (impl Iterator<Item = &'a Attribute>, &[ColumnSteps]),
    n_original: usize,
    n_suppressed: usize,
    pairing: Option<&Pairing<'_>>,
) -> Sums {
    let n_rows = n_suppressed as u64;
    let lost = steps.iter().map(|own| times(n_rows, own.n_steps()));
    let pairing = pairing.filter(|_| n_suppressed > 0);
    Sums {
        discernibility: times(n_rows, n_original as u64),
        by_attribute: lost.collect(),
        log_ratios: pairing.map_or(LogRatios::default(), |pairing| {
            log_ratios_of_suppressed(attributes, n_original, pairing)
        }),
    }
}

fn log_ratios_of_suppressed<'a>(
    attributes: impl Iterator<Item = &'a Attribute>,
    n_original: usize,
    pairing: &Pairing<'_>,
) -> LogRatios {
    let mut is_released = vec![false; n_original];
    pairing.original_rows.iter().for_each(|row| is_released[row.index()] = true);
    let suppressed = RowIdx::FIRST.take(n_original).filter(|row| !is_released[row.index()]);
    let mut tuples = Vec::new();
    pairing.collect(suppressed, &mut tuples);
    LogRatios::of_class(Volume::of_all(attributes).log(), &mut tuples)
}

impl Pairing<'_> {
    /// A number for the secret and one for the tuple of each row.
    fn collect(&self, rows: impl Iterator<Item = RowIdx>, tuples: &mut Vec<(u64, u64)>) {
        let mut codes = Vec::with_capacity(self.codes.len());
        tuples.clear();
        for row in rows {
            let at = row.index();
            let secret = secret_hash(self.sensitive.iter().map(|column| column[at]));
            codes.clear();
            codes.extend(self.codes.iter().map(|column| column[at]));
            tuples.push((secret, codes_hash(&codes)));
        }
    }
}
