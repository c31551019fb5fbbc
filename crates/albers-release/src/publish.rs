//! Verified classes become the rows of a table.
//!
//! Guarantee: only what the door has verified can be written; rows leave class by class, and within
//! a class in an order that depends on the seed and on what the rows hold, never on the order of
//! the input.
//! Cost: one pass over the classes; memory for a slab of rows.
//!
//! The columns stand in the order that is asked for. What a class shows beside its cells follows
//! the last of the quasi-identifiers:
//!
//! ```text
//!   | age | zip | level | note |
//!     quasi-ids   feature  carried
//! ```

mod carried;
mod columns;
mod means;
mod places;
mod slab;
mod stored;

use std::sync::Arc;

use albers_storage::watch::Watch;
use albers_storage::wording;
use albers_storage::wording::Wording;
use albers_table::TableError;
use albers_table::sink::{RunBatch, RunColumn, Sink, WriteOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use rayon::prelude::*;

use crate::describe::{Describer, PlaceNumbers, ShownFacts};
use crate::error::{ReleaseError, Result};
use crate::verify::Verified;

/// The bytes of carried cells, row by row.
pub use arrow_row::Rows as PayloadRows;
pub use carried::{
    CarriedColumn, CarriedSurvey, CellCounts, Payload, PayloadField, Typing, cell_hashes,
};
pub use columns::{FeatureColumn, FeatureKind, Values};
pub use stored::{StoredLeaves, StoredTable};

pub(crate) use carried::RowKeys;
use carried::RowPlaces;
pub(crate) use slab::SlabLimits;
use slab::{Cutter, Slab};

/// A column of the release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputColumn {
    /// A quasi-identifier, by its place among the attributes.
    Attribute(usize),
    /// A column that leaves as it came, by its place among the carried columns.
    Carried(usize),
}

/// What a release looks like.
#[derive(Clone, Copy)]
pub(crate) struct Output<'a> {
    /// The columns, in order.
    pub(crate) columns: &'a [OutputColumn],
    /// What classes show beside their cells.
    pub(crate) features: &'a [FeatureColumn],
    /// How intervals are written.
    pub(crate) values: Values,
    /// The byte between the cells of text, where the sink does not tell it.
    pub(crate) delimiter: Option<u8>,
    /// Decides the order of rows within a class.
    pub(crate) seed: u64,
    /// What is built before it is written.
    pub(crate) limits: SlabLimits,
}

/// A column as it stands in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Published {
    Given(OutputColumn),
    Feature(usize),
}

impl Output<'_> {
    /// All columns, with the features behind the last quasi-identifier.
    fn published(&self) -> Vec<Published> {
        let is_quasi = |column: &OutputColumn| matches!(column, OutputColumn::Attribute(_));
        let n_before = self.columns.iter().rposition(is_quasi).map_or(0, |last| last + 1);
        let (before, after) = self.columns.split_at(n_before);
        let features = (0..self.features.len()).map(Published::Feature);
        let given = |columns: &[OutputColumn]| -> Vec<Published> {
            columns.iter().copied().map(Published::Given).collect()
        };
        given(before).into_iter().chain(features).chain(given(after)).collect()
    }
}

/// What the schema of a release must have room for: told from what is published, since everybody
/// sees it.
pub(crate) struct Contents {
    /// What classes show, attribute by attribute.
    pub(crate) shown: Vec<ShownFacts>,
    /// The columns that leave as they came.
    pub(crate) carried: Vec<Field>,
}

/// A release that is being written, some classes at a time.
pub(crate) struct Writer<'a> {
    output: Output<'a>,
    columns: Vec<Published>,
    contents: Contents,
    /// The places of each attribute's ends.
    places: Vec<PlaceNumbers>,
    schema: SchemaRef,
    sink: Box<dyn Sink>,
}

impl<'a> Writer<'a> {
    /// Begins a table of these contents.
    pub(crate) fn begin(
        mut sink: Box<dyn Sink>,
        describers: &[Describer<'_>],
        output: Output<'a>,
        contents: Contents,
    ) -> Result<Writer<'a>> {
        let columns = output.published();
        let mut fields: Vec<Field> = Vec::new();
        for column in &columns {
            match *column {
                Published::Given(OutputColumn::Attribute(attribute)) => {
                    let (describer, facts) = (&describers[attribute], &contents.shown[attribute]);
                    fields.extend(columns::fields(describer, output.values, facts));
                }
                Published::Given(OutputColumn::Carried(column)) => {
                    fields.push(contents.carried[column].clone());
                }
                Published::Feature(feature) => fields.push(output.features[feature].field()),
            }
        }
        check_names(&fields, output.features)?;
        let schema = Arc::new(Schema::new(fields));
        let delimiter = output.delimiter;
        let options = WriteOptions { delimiter, has_runs: true };
        sink.begin(schema.clone(), options)?;
        let places = place_numbers(describers, &contents.shown);
        Ok(Writer { output, columns, contents, places, schema, sink })
    }

    /// Writes verified classes, in their order.
    pub(crate) fn write(
        &mut self,
        classes: &Verified<'_>,
        carried: &[CarriedColumn],
        watch: &dyn Watch,
    ) -> Result<()> {
        let Writer { output, columns, contents, places, schema, sink } = self;
        let told = (&*output, &*contents, &places[..]);
        let keys = RowKeys::of(carried, output.seed)?;
        let mut cutter = Cutter::new(classes, carried, keys.as_ref(), output);
        let mut slab = cutter.next_slab()?;
        while slab.n_rows > 0 {
            let (written, next) = rayon::join(
                || -> Result<()> {
                    let cells = cells_of(&slab, classes, told, columns, carried)?;
                    let rows = RunBatch::try_new(schema.clone(), slab.sizes.clone(), cells)?;
                    Ok(sink.write_runs(&rows)?)
                },
                || cutter.next_slab(),
            );
            written?;
            watch.done(slab.n_rows as u64)?;
            slab = next?;
        }
        Ok(())
    }

    /// All is written.
    pub(crate) fn into_sink(self) -> Box<dyn Sink> {
        self.sink
    }
}

/// The rows of a slab as they leave, column by column: what classes show, once for each piece.
fn cells_of(
    slab: &Slab,
    classes: &Verified<'_>,
    (output, contents, places): (&Output<'_>, &Contents, &[PlaceNumbers]),
    columns: &[Published],
    carried: &[CarriedColumn],
) -> Result<Vec<RunColumn>> {
    let row_places = RowPlaces::of(carried, &slab.row_idxs);
    let cells: Vec<Vec<RunColumn>> = columns
        .par_iter()
        .map(|column| match *column {
            Published::Given(OutputColumn::Attribute(attribute)) => {
                let describer = &classes.describers()[attribute];
                let told = (&contents.shown[attribute], &places[attribute]);
                let arrays = columns::arrays(describer, slab, attribute, output.values, told);
                Ok(arrays.into_iter().map(RunColumn::OfRuns).collect())
            }
            Published::Given(OutputColumn::Carried(column)) => {
                let data_type = contents.carried[column].data_type();
                Ok(vec![RunColumn::OfRows(carried[column].take_at(&row_places, data_type)?)])
            }
            Published::Feature(feature) => {
                Ok(vec![RunColumn::OfRuns(output.features[feature].array(slab, feature))])
            }
        })
        .collect::<Result<_>>()?;
    Ok(cells.into_iter().flatten().collect())
}

/// The places of the ends that each attribute shows.
fn place_numbers(describers: &[Describer<'_>], shown: &[ShownFacts]) -> Vec<PlaceNumbers> {
    let numbers = |(describer, facts): (&Describer<'_>, &ShownFacts)| {
        PlaceNumbers::of(describer.attribute(), facts.ends.iter().copied())
    };
    describers.iter().zip(shown).map(numbers).collect()
}

/// Bounds and features take new names, which a column that leaves as it came may already have.
fn check_names(fields: &[Field], features: &[FeatureColumn]) -> Result<()> {
    for (place, field) in fields.iter().enumerate() {
        if !fields[..place].iter().any(|earlier| earlier.name() == field.name()) {
            continue;
        }
        let is_feature = features.iter().any(|feature| &feature.name == field.name());
        let (problem, hint) = match is_feature {
            true => (
                "the release would have two columns of this name, one of them what a class shows \
                 beside its quasi-identifiers",
                Wording::from("rename the column"),
            ),
            false => (
                "the release would have two columns of this name, one of them a bound or a mean",
                wording![
                    "rename the column, or write intervals with ",
                    wording::Field::Values.of("interval")
                ],
            ),
        };
        return Err(ReleaseError::Table(TableError::Column {
            column: field.name().clone(),
            problem: problem.to_owned(),
            hint,
        }));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_follow_the_last_quasi_identifier() {
        use OutputColumn::{Attribute, Carried};
        let features = [FeatureColumn { name: "level".to_owned(), kind: FeatureKind::Integer }];
        let published = |columns: &[OutputColumn]| {
            let output = Output {
                columns,
                features: &features,
                values: Values::Interval,
                delimiter: None,
                seed: 0,
                limits: SlabLimits::default(),
            };
            let place = output
                .published()
                .iter()
                .position(|column| matches!(column, Published::Feature(_)));
            (place, output.published().len())
        };
        assert_eq!(published(&[Attribute(0), Carried(0), Attribute(1), Carried(1)]), (Some(3), 5));
        assert_eq!(published(&[Carried(0), Attribute(0)]), (Some(2), 3));
        assert_eq!(published(&[Carried(0)]), (Some(0), 2));
    }
}
