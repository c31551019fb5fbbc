//! How the quasi-identifiers of a table are halved.

use albers_classes::points::Points;
use albers_index::bang_file::scale::{Scale, ScaleProblem};
use albers_storage::wording;
use albers_storage::wording::Field;

use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::rows::Table;

/// The scale of each quasi-identifier.
pub(crate) fn scales_of(plan: &Plan, table: &Table, points: &Points) -> Result<Vec<Scale>> {
    let attributes = table.attributes.iter().enumerate();
    let scales = attributes.map(|(place, attribute)| {
        let name = attribute.domain.name();
        let column = plan.columns.iter().find(|own| own.name == name);
        let spec = column.and_then(|own| own.scale.as_ref());
        Scale::of(spec, attribute, (points, place)).map_err(|ScaleProblem { problem, hint }| {
            Error::usage(
                format!("the scale of column '{name}' {problem}"),
                wording![hint, ", or drop ", Field::Scale.naming(name)],
            )
        })
    });
    scales.collect()
}
