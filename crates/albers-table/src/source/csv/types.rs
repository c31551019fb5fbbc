//! What the cells of the requested columns look like.

use crate::infer::TypeSample;
use crate::schema::ColumnType;
use crate::source::{ColumnRequest, RequestedTypes};

/// What cells of the requested columns look like whose types are not given, over one text or
/// several.
pub(crate) struct TypeSamples {
    /// One per request; nothing where the type is given.
    samples: Vec<Option<TypeSample>>,
    /// How many rows are to be looked at yet.
    n_missing_rows: usize,
}

impl TypeSamples {
    /// Nothing was looked at yet, and no more than so many rows will be.
    pub(crate) fn of_first(n_rows: usize, requests: &[ColumnRequest]) -> TypeSamples {
        let sample = |request: &ColumnRequest| match request.column_type {
            Some(_) => None,
            None => Some(TypeSample::default()),
        };
        let samples: Vec<_> = requests.iter().map(sample).collect();
        let is_needed = samples.iter().any(Option::is_some);
        TypeSamples { samples, n_missing_rows: if is_needed { n_rows } else { 0 } }
    }

    /// Nothing was looked at yet, and all rows will be.
    pub(super) fn of_all(requests: &[ColumnRequest]) -> TypeSamples {
        TypeSamples::of_first(usize::MAX, requests)
    }

    /// Whether enough was seen.
    pub(crate) fn is_enough(&self) -> bool {
        self.n_missing_rows == 0
    }

    /// Whether another row is to be looked at, which then counts as seen.
    pub(super) fn wants_row(&mut self) -> bool {
        let is_wanted = self.n_missing_rows > 0;
        self.n_missing_rows -= usize::from(is_wanted);
        is_wanted
    }

    /// What the cells of each requested column look like; nothing where the type is given.
    pub(super) fn samples_mut(&mut self) -> &mut [Option<TypeSample>] {
        &mut self.samples
    }

    /// Adds what other rows look like.
    pub(super) fn merge(&mut self, other: &TypeSamples) {
        for (sample, other) in self.samples.iter_mut().zip(&other.samples) {
            if let (Some(sample), Some(other)) = (sample, other) {
                sample.merge(other);
            }
        }
    }

    /// Whether a column that is read as decimals has digits that no decimals can hold.
    pub(super) fn are_too_wide_for(&self, column_types: &[ColumnType]) -> bool {
        let mut columns = self.samples.iter().zip(column_types);
        columns.any(|(sample, &kind)| {
            kind == ColumnType::Decimal && sample.as_ref().is_some_and(TypeSample::is_too_wide)
        })
    }

    /// The types, those that are given first.
    pub(crate) fn types(&self, requests: &[ColumnRequest]) -> RequestedTypes {
        let kinds = requests.iter().zip(&self.samples).map(|(request, sample)| {
            let told = sample.as_ref().map(TypeSample::column_type);
            request.column_type.or(told).unwrap_or(ColumnType::Text)
        });
        RequestedTypes { column_types: kinds.collect(), data_types: vec![None; requests.len()] }
    }
}
