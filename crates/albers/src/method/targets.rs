//! The targets of a plan, on the columns of its table.

use albers_classes::TargetCodes;
use albers_partition::features::FeatureSpace;
use albers_partition::split::workload::{
    FeatureCells, Target, TargetPlace, TargetValues, Workload,
};
use albers_table::code::Code;
use albers_table::domain::Domain;
use albers_table::schema::Role;

use super::selects::TableSelects;
use crate::error::{Error, Result};
use crate::job::TargetKind;
use crate::plan::{Plan, PlannedTarget, PlannedWorkload};
use crate::rows::Table;

/// Classes beyond this tell nothing that a reader could use.
const MAX_CLASSES: u32 = 1000;
/// Where numbers that are coded as names lie: between 0 and this.
const LINE: f64 = (1u32 << 30) as f64;

/// The columns of a table by their roles, in the order of the source.
pub(super) struct TargetDomains<'d> {
    pub(super) quasi: Vec<&'d Domain>,
    pub(super) sensitive: Vec<&'d Domain>,
    /// Those kept columns that are targets.
    pub(super) kept: Vec<&'d Domain>,
    /// Those that are features.
    pub(super) features: Vec<&'d Domain>,
}

/// A workload, and where the codes of its carried targets stand: among the sensitive columns, or
/// among the kept targets after them. Behind these stands the cell of the features, if there are any.
pub(super) struct TableWorkload {
    pub(super) workload: Workload,
    pub(super) carried: Vec<usize>,
    /// Sensitive columns and kept targets.
    n_columns: usize,
    /// What the release will be asked for.
    pub(super) selects: TableSelects,
}

impl TableWorkload {
    /// The workload of a plan, if it has one.
    pub(super) fn of(plan: &Plan, domains: &TargetDomains<'_>) -> Result<Option<TableWorkload>> {
        let PlannedWorkload { targets, selects, .. } = &plan.workload;
        if targets.is_empty() && selects.is_empty() {
            return Ok(None);
        }
        let selects = TableSelects::of(selects, &domains.quasi)?;
        let predicates = selects.for_cuts();
        let workload = Workload { predicates, ..Workload::default() };
        let n_columns = domains.sensitive.len() + domains.kept.len();
        let mut found = TableWorkload { workload, carried: Vec::new(), n_columns, selects };
        for target in targets {
            let (domain, place) = found.place_of(target, domains);
            let values = values_of(target, domain)?;
            found.workload.targets.push(Target { place, values, weight: target.weight });
        }
        Ok(Some(found))
    }

    fn place_of<'d>(
        &mut self,
        target: &PlannedTarget,
        domains: &TargetDomains<'d>,
    ) -> (&'d Domain, TargetPlace) {
        let named = |all: &[&'d Domain]| all.iter().position(|own| own.name() == target.column);
        if let Some(axis) = named(&domains.quasi) {
            return (domains.quasi[axis], TargetPlace::Axis(axis));
        }
        let (domain, column) = match named(&domains.sensitive) {
            Some(place) => (domains.sensitive[place], place),
            None => {
                let place = named(&domains.kept).expect("targets have roles that are published");
                (domains.kept[place], domains.sensitive.len() + place)
            }
        };
        self.carried.push(column);
        (domain, TargetPlace::Carried(self.carried.len() - 1))
    }

    /// Lets impurities be summed over the cells of a feature space, which rows carry.
    pub(super) fn add_features(&mut self, space: &FeatureSpace) {
        let n_cells = space.n_cells() as u32;
        self.workload.features = Some(FeatureCells { place: self.carried.len(), n_cells });
        self.carried.push(self.n_columns);
    }

    /// What the rows of a table in memory carry of it; `cells` are theirs in the feature space.
    pub(super) fn carried_codes(
        &self,
        table: &Table,
        sensitive: &[Vec<u32>],
        cells: Option<Vec<u32>>,
    ) -> TargetCodes {
        let kept = table.targets.iter().map(|own| own.codes.concat());
        let kept: Vec<Vec<u32>> = kept.chain(cells).collect();
        let all: Vec<&[u32]> = sensitive.iter().chain(&kept).map(Vec::as_slice).collect();
        let chosen: Vec<&[u32]> = self.carried.iter().map(|&column| all[column]).collect();
        TargetCodes::of_columns(&chosen)
    }
}

impl<'d> TargetDomains<'d> {
    /// Of a table in memory.
    pub(super) fn of_table(table: &'d Table) -> TargetDomains<'d> {
        TargetDomains {
            quasi: table.attributes.iter().map(|own| &own.domain).collect(),
            sensitive: table.sensitive.iter().map(|own| &own.column.domain).collect(),
            kept: table.targets.iter().map(|own| &own.domain).collect(),
            features: table.features.iter().map(|own| &own.domain).collect(),
        }
    }

    /// Of a table that was surveyed.
    pub(super) fn of_survey(surveyed: &'d crate::rows::Surveyed<'_>) -> TargetDomains<'d> {
        let with = |role: Role| surveyed.coders_of(role).map(|coder| coder.domain()).collect();
        TargetDomains {
            quasi: with(Role::Quasi),
            sensitive: with(Role::Sensitive),
            kept: surveyed.kept_targets().map(|coder| coder.domain()).collect(),
            features: surveyed.features().map(|coder| coder.domain()).collect(),
        }
    }
}

/// What the codes of a target mean.
fn values_of(target: &PlannedTarget, domain: &Domain) -> Result<TargetValues> {
    let missing = domain.missing_code().map(Code::get);
    match target.kind {
        TargetKind::Class => {
            let greatest = domain.greatest_code().get();
            match domain.n_values() > u64::from(MAX_CLASSES) || greatest > 64 * MAX_CLASSES {
                true => Err(too_many_classes(target, domain)),
                false => Ok(TargetValues::Classes { n_classes: greatest + 1, missing }),
            }
        }
        TargetKind::Number if domain.is_ordered() => {
            Ok(TargetValues::Numbers { by_code: Vec::new(), missing })
        }
        TargetKind::Number => match domain.numbers() {
            Some(numbers) => Ok(TargetValues::Numbers { by_code: on_a_line(numbers), missing }),
            None => Err(Error::usage(
                format!("target '{}' is no number", target.column),
                "name it as a class, or give it a type that is a number",
            )),
        },
    }
}

fn too_many_classes(target: &PlannedTarget, domain: &Domain) -> Error {
    let what = match domain.is_ordered() {
        true => "more values, or values further apart, than".to_owned(),
        false => format!("{} values, more than", domain.n_values()),
    };
    Error::usage(
        format!("target '{}' has {what} the {MAX_CLASSES} that classes can tell", target.column),
        "put its values into groups first, or name it as a number",
    )
}

/// Numbers as whole steps between the least and the greatest.
fn on_a_line(numbers: &[f64]) -> Vec<u32> {
    let known = || numbers.iter().copied().filter(|number| !number.is_nan());
    let (least, greatest) = (known().fold(f64::MAX, f64::min), known().fold(f64::MIN, f64::max));
    // Halved, so that the distance of the two ends of f64 stays finite.
    let width = (greatest / 2.0 - least / 2.0).max(f64::MIN_POSITIVE);
    let place = |number: &f64| match number.is_nan() {
        true => 0,
        false => ((number / 2.0 - least / 2.0) / width * LINE).round() as u32,
    };
    numbers.iter().map(place).collect()
}
