//! Rows of a table that does not fit in memory: coded, packed, on their way to a method.

use albers_classes::Attribute;
use albers_classes::packed::{FactColumns, RowLayout};
use albers_classes::space::{Axis, Space};
use albers_release::publish::OutputColumn;
use albers_storage::memory_budget::Reservation;
use albers_table::coding::ColumnCoder;
use albers_table::schema::{ColumnType, Role};

use crate::protection::Protection;
use crate::rows::{Surveyed, attribute_of};

/// The axes of a surveyed table.
pub(super) fn space_of(surveyed: &Surveyed<'_>) -> Space {
    let known = &surveyed.known;
    let columns = known.planned.iter().zip(&surveyed.coders).zip(&known.shown);
    let quasi = columns.filter(|((column, _), _)| column.role == Role::Quasi);
    let axes = quasi.filter_map(|((column, coder), &shown)| {
        let domain = coder.as_ref()?.domain();
        Some(Axis::new(domain, shown, column.weight, column.preferred))
    });
    Space { axes: axes.collect() }
}

/// How rows are packed, and where their facts stand: the halves of the subject, then all
/// sensitive columns, then the kept ones that are targets, then the cell of the features, if there
/// are any. `targets` are the places of what a workload looks at among these columns.
pub(super) fn layout_of(
    surveyed: &Surveyed<'_>,
    protection: &Protection,
    targets: &[usize],
) -> (RowLayout, FactColumns) {
    let greatest = |coder: &ColumnCoder| coder.domain().greatest_code().get();
    let attributes: Vec<u32> = surveyed.coders_of(Role::Quasi).map(greatest).collect();
    let first = n_subject_facts(surveyed);
    let has_subject = first > 0;
    let subject = has_subject.then_some([u32::MAX; 2]);
    let sensitive = surveyed.coders_of(Role::Sensitive).map(greatest);
    let kept = surveyed.kept_targets().map(greatest);
    let cell = surveyed.feature_space.as_ref().map(|space| space.n_cells() as u32 - 1);
    let facts = subject.into_iter().flatten().chain(sensitive).chain(kept).chain(cell);
    let facts: Vec<u32> = facts.collect();
    let layout = RowLayout::new(&attributes, &facts, !surveyed.payload.is_empty());
    let ruled = protection.ruled.iter().map(|&column| first + column).collect();
    let targets = targets.iter().map(|&column| first + column).collect();
    (layout, FactColumns { subject: has_subject.then_some([0, 1]), ruled, targets })
}

/// How many facts come before those of columns: the halves of the subject, if there is one.
pub(super) fn n_subject_facts(surveyed: &Surveyed<'_>) -> usize {
    let has_subject = surveyed.known.planned.iter().any(|column| column.role == Role::Subject);
    if has_subject { 2 } else { 0 }
}

/// The places of all sensitive columns among the facts, after which come those of kept targets and
/// of features.
pub(super) fn sensitive_facts(
    layout: &RowLayout,
    facts: &FactColumns,
    n_kept: usize,
) -> Vec<usize> {
    (facts.subject.map_or(0, |halves| halves.len())..layout.n_facts() - n_kept).collect()
}

/// What is left of a survey when all rows are packed: the quasi-identifiers and the columns of the
/// release.
pub(crate) struct PackedTable {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) output_columns: Vec<OutputColumn>,
    pub(crate) column_types: Vec<(String, ColumnType)>,
    /// What the domains take.
    _values: Reservation,
}

impl PackedTable {
    pub(super) fn of(surveyed: Surveyed<'_>) -> PackedTable {
        let mut attributes = Vec::new();
        let mut output_columns = Vec::new();
        let mut column_types = Vec::new();
        let mut n_carried = 0;
        let known = surveyed.known;
        let kinds = known.types.column_types.iter();
        let columns = known.planned.iter().zip(surveyed.coders).zip(&known.shown).zip(kinds);
        for (((column, coder), &shown), &kind) in columns {
            column_types.push((column.name.clone(), kind));
            match (column.role, coder) {
                (Role::Quasi, Some(coder)) => {
                    output_columns.push(OutputColumn::Attribute(attributes.len()));
                    attributes.push(attribute_of(column, coder.into_domain(), shown));
                }
                (Role::Sensitive | Role::Keep, _) => {
                    output_columns.push(OutputColumn::Carried(n_carried));
                    n_carried += 1;
                }
                _ => {}
            }
        }
        // The way from values to codes is gone.
        let mut values = surveyed.values;
        values.shrink(values.n_bytes() / 3 * 2);
        PackedTable { attributes, output_columns, column_types, _values: values }
    }
}
