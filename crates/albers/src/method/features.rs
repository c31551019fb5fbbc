//! The features of a plan, on the columns of its table: what a reader knows beside the
//! quasi-identifiers.

use albers_classes::points::Points;
use albers_partition::features::{Bins, FeatureSpace, Histogram};
use albers_partition::grain::Grain;
use albers_partition::split::workload::{NO_VALUE, Target, TargetPlace, TargetValues, Workload};
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::code::Code;
use albers_table::domain::Domain;

use super::targets::{TableWorkload, TargetDomains};
use crate::error::{Error, Result};
use crate::rows::Table;

/// The most values of a feature that is a category.
const MAX_VALUES: u64 = 64;
/// The most cells of all features together.
const MAX_CELLS: u64 = 4096;
/// The most that these may have of cells and classes of a target.
const MAX_PAIRS: u64 = 1 << 20;

/// Finds the cells of all features, by one look at every row.
pub(super) struct FeatureCounts {
    /// The first target that is a class: bins of numbers tell it.
    class: Option<Target>,
    features: Vec<Counted>,
    /// The most classes of a target.
    most_classes: u64,
}

enum Counted {
    /// Its values are its bins.
    Values(Bins),
    /// Its bins follow from how often its codes occur.
    Numbers(Histogram),
}

impl FeatureCounts {
    /// Of features with these domains, before any of so many rows; nothing where there are none.
    pub(super) fn of(
        domains: &[&Domain],
        workload: &Workload,
        n_rows: u64,
        grain: &Grain,
    ) -> Result<Option<FeatureCounts>> {
        if domains.is_empty() {
            return Ok(None);
        }
        let n_classes = |target: &Target| match target.values {
            TargetValues::Classes { n_classes, .. } => Some(n_classes),
            TargetValues::Numbers { .. } => None,
        };
        let class = workload.targets.iter().find(|target| n_classes(target).is_some()).cloned();
        let of_class = class.as_ref().and_then(n_classes);
        // No more than a sample takes, so that the bins do not depend on the memory at hand, and than
        // some buckets for each row.
        let n_numbers = domains.iter().filter(|domain| domain.is_ordered()).count();
        let most_counts = grain.sample_bytes / size_of::<u32>() / n_numbers.max(1);
        let enough = n_rows.saturating_mul(4).saturating_mul(of_class.unwrap_or(1).into());
        let most_counts = most_counts.min(usize::try_from(enough).unwrap_or(usize::MAX));
        let counted = |domain: &&Domain| -> Result<Counted> {
            let (range, missing) = (domain.code_range(), domain.missing_code());
            if domain.is_ordered() {
                let range = (range.0.get(), range.1.get());
                let missing = missing.map(Code::get);
                let histogram = Histogram::new(range, missing, of_class, most_counts);
                return Ok(Counted::Numbers(histogram));
            }
            match domain.n_values() > MAX_VALUES {
                true => Err(too_many_values(domain)),
                false => Ok(Counted::Values(Bins::Codes { n_codes: domain.n_values() as u32 })),
            }
        };
        let features = domains.iter().map(counted).collect::<Result<_>>()?;
        let most_classes = workload.targets.iter().filter_map(n_classes).max().unwrap_or(1);
        Ok(Some(FeatureCounts { class, features, most_classes: most_classes.into() }))
    }

    /// Where the codes of the class are that bins of numbers tell.
    pub(super) fn class_place(&self) -> Option<TargetPlace> {
        self.class.as_ref().map(|class| class.place)
    }

    /// What counting takes.
    pub(super) fn n_bytes(&self) -> usize {
        let of_feature = |feature: &Counted| match feature {
            Counted::Values(_) => 0,
            Counted::Numbers(histogram) => histogram.n_bytes(),
        };
        self.features.iter().map(of_feature).sum()
    }

    /// Adds rows by their codes of each feature, and by those of the class.
    pub(super) fn add<'c>(
        &mut self,
        columns: impl Iterator<Item = &'c [u32]>,
        classes: impl Fn(usize) -> u32,
    ) {
        for (feature, codes) in self.features.iter_mut().zip(columns) {
            let Counted::Numbers(histogram) = feature else { continue };
            for (row, &code) in codes.iter().enumerate() {
                let value = |class: &Target| class.value_of(classes(row));
                histogram.add(code, self.class.as_ref().map_or(NO_VALUE, value));
            }
        }
    }

    /// The cells, when all rows were seen.
    pub(super) fn finish(self) -> Result<FeatureSpace> {
        let bins = self.features.into_iter().map(|feature| match feature {
            Counted::Values(bins) => bins,
            Counted::Numbers(histogram) => histogram.bins(),
        });
        let space = FeatureSpace::new(bins.collect());
        let n_cells = space.n_cells();
        let most = MAX_CELLS.min(MAX_PAIRS / self.most_classes.max(1));
        match n_cells > most {
            true => Err(Error::usage(
                wording![
                    Field::Features,
                    format!(
                        " come to {n_cells} combinations of values, more than the {most} that can be \
                         told apart beside these targets"
                    )
                ],
                "name fewer of them, or put their values into groups first",
            )),
            false => Ok(space),
        }
    }
}

/// The cells of the rows of a table in memory, if there are features; the workload is then told.
pub(super) fn cells_of_table(
    workload: &mut TableWorkload,
    table: &Table,
    points: &Points,
    sensitive: &[Vec<u32>],
    grain: &Grain,
) -> Result<Option<Vec<u32>>> {
    let domains = TargetDomains::of_table(table).features;
    let Some(mut counts) =
        FeatureCounts::of(&domains, &workload.workload, table.n_rows as u64, grain)?
    else {
        return Ok(None);
    };
    let classes: Vec<u32> = match counts.class_place() {
        None => Vec::new(),
        Some(TargetPlace::Axis(axis)) => {
            points.chunks().iter().flat_map(|chunk| &chunk.columns[axis]).copied().collect()
        }
        Some(TargetPlace::Carried(place)) => {
            let carried = workload.carried_codes(table, sensitive, None);
            (0..table.n_rows).map(|row| carried.of_row(row)[place]).collect()
        }
    };
    let columns: Vec<Vec<u32>> = table.features.iter().map(|own| own.codes.concat()).collect();
    counts.add(columns.iter().map(Vec::as_slice), |row| classes[row]);
    let space = counts.finish()?;
    workload.add_features(&space);
    let columns: Vec<&[u32]> = columns.iter().map(Vec::as_slice).collect();
    Ok(Some(space.cells(&columns)))
}

fn too_many_values(domain: &Domain) -> Error {
    let (name, n_values) = (domain.name(), domain.n_values());
    Error::usage(
        format!(
            "feature '{name}' has {n_values} values, more than the {MAX_VALUES} that can be told apart"
        ),
        wording![
            "put its values into groups first, or give ",
            Field::Type.of_column(name, "integer"),
            " if they are numbers"
        ],
    )
}
