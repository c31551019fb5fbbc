//! How the quasi-identifiers of a table are halved.

use albers_classes::points::Points;
use albers_index::bang_file::scale::{CodeCounts, Scale, ScaleProblem};
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::schema::Role;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::rows::{Surveyed, Table};

/// The scale of each quasi-identifier of a table in memory.
pub(crate) fn scales_of(plan: &Plan, table: &Table, points: &Points) -> Result<Vec<Scale>> {
    let attributes = table.attributes.iter().enumerate();
    let scales = attributes.map(|(place, attribute)| {
        let name = attribute.domain.name();
        let column = plan.columns.iter().find(|own| own.name == name);
        let spec = column.and_then(|own| own.scale.as_ref());
        Scale::of(spec, attribute, (points, place)).map_err(|problem| refused(name, problem))
    });
    scales.collect()
}

/// The scale of each quasi-identifier of a table that was surveyed. Rows are looked at once more where one wants them counted.
pub(super) fn scales_of_survey<'s>(
    run: &Context<'s>,
    surveyed: &mut Surveyed<'s>,
) -> Result<Vec<Scale>> {
    let planned = surveyed.known.planned.clone();
    let quasi: Vec<_> = planned.iter().filter(|column| column.role == Role::Quasi).collect();
    let coders = surveyed.coders_of(Role::Quasi);
    let wanted = quasi.iter().zip(coders);
    let mut counts: Vec<Option<CodeCounts>> = wanted
        .map(|(column, coder)| CodeCounts::wanted(column.scale.as_ref(), coder.domain()))
        .collect();
    let n_bytes = counts.iter().flatten().map(CodeCounts::n_bytes).sum();
    let _memory = run.memory.budget.try_reserve("the values of the scales", n_bytes)?;
    if n_bytes > 0 {
        let n_attributes = quasi.len();
        surveyed.look_again(&run.reading(None), &mut |chunk| {
            for row in chunk.codes.chunks_exact(n_attributes) {
                let counted = counts.iter_mut().zip(row);
                counted.for_each(|(counts, &code)| counts.iter_mut().for_each(|own| own.add(code)));
            }
        })?;
    }
    let known = surveyed.known.planned.iter().zip(&surveyed.known.shown);
    let shown = known.filter(|(column, _)| column.role == Role::Quasi).map(|(_, &shown)| shown);
    let domains = surveyed.coders_of(Role::Quasi).map(|coder| coder.domain()).zip(shown);
    let scales = quasi.iter().zip(domains).zip(&counts);
    let scales = scales.map(|((column, domain), counts)| {
        let scale = Scale::of_counts(column.scale.as_ref(), domain, counts.as_ref());
        scale.map_err(|problem| refused(&column.name, problem))
    });
    scales.collect()
}

fn refused(name: &str, ScaleProblem { problem, hint }: ScaleProblem) -> Error {
    Error::usage(
        format!("the scale of column '{name}' {problem}"),
        wording![hint, ", or drop ", Field::Scale.naming(name)],
    )
}
