//! How much the classes of a release tell of columns that it holds as they are.

use albers_classes::ClassId;
use albers_measure::Classes;
use albers_measure::told::{conditional_entropy_bits, mean_squared_error};
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::code::Code;
use albers_table::coding::CodedColumn;
use albers_table::schema::Role;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::job::{Job, Split, TargetKind};

/// How much classes tell of a target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredTarget {
    /// The column.
    pub name: String,
    /// The mean entropy of its values in a class, in bits, where it is a class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditional_entropy: Option<f64>,
    /// The mean squared distance of its values from the mean of their class, where it is a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_squared_error: Option<f64>,
}

/// Refuses targets that a release does not hold as they are.
pub(super) fn check(job: &Job) -> Result<()> {
    let is_quasi = |name: &str| job.with_role(Role::Quasi).any(|own| own == name);
    match job.workload.targets.iter().find(|target| is_quasi(&target.column)) {
        None => Ok(()),
        Some(target) => Err(Error::usage(
            format!(
                "target '{}' is a quasi-identifier, which a release does not hold as it is",
                target.column
            ),
            wording!["drop it from ", Field::Quasi, ", or from ", Field::Target],
        )),
    }
}

/// What the classes of a release tell of the targets of a job, which are a class unless said
/// otherwise.
pub(super) fn measured(
    job: &Job,
    columns: &[CodedColumn],
    classes: &Classes,
) -> Result<Vec<MeasuredTarget>> {
    let mut class_of = vec![ClassId::new(0); classes.n_rows()];
    for (class, own) in ClassId::first(classes.n_classes()).zip(classes.iter()) {
        own.rows().for_each(|row| class_of[row.index()] = class);
    }
    let targets = job.workload.targets.iter().zip(columns);
    let of_target = |(target, column): (&crate::job::TargetSpec, &CodedColumn)| {
        let name = target.column.clone();
        let missing = column.domain.missing_code();
        let codes = column.codes.iter().flatten().map(|&code| Code::new(code));
        let codes = codes.map(|code| (Some(code) != missing).then_some(code));
        let kind = target.kind.or(job.split.and_then(Split::target_kind));
        if kind != Some(TargetKind::Number) {
            let labels: Vec<Option<u32>> = codes.map(|code| code.map(Code::get)).collect();
            let entropy = conditional_entropy_bits(&class_of, &labels);
            let conditional_entropy = Some(entropy);
            return Ok(MeasuredTarget { name, conditional_entropy, mean_squared_error: None });
        }
        let number = |code: Code| column.domain.category(code).and_then(|text| text.parse().ok());
        let numbers: Option<Vec<Option<f64>>> =
            codes.map(|code| code.map_or(Some(None), |code| number(code).map(Some))).collect();
        let Some(numbers) = numbers else {
            return Err(Error::usage(
                format!("target '{name}' is no number in every row of the release"),
                "measure it as a class",
            ));
        };
        let error = Some(mean_squared_error(&class_of, &numbers));
        Ok(MeasuredTarget { name, conditional_entropy: None, mean_squared_error: error })
    };
    targets.map(of_target).collect()
}
