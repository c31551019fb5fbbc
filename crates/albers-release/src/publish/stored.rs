//! Rows with the cells of classes that were found before: a table for learning, and no release.
//!
//! ```text
//!   leaves of a recoding function ──► cells ──┐
//!   rows, each with its leaf, or with none ───┴──► batches, in the order of the rows
//! ```
//!
//! Guarantee: what a row shows follows from its leaf alone. A row without a leaf shows `*` where
//! cells are text, and nothing where they are typed. Nothing of it is verified: the rows of a leaf
//! need not satisfy anything here.
//! Cost: a cell for each leaf and attribute; one pass over the rows.

use std::sync::Arc;

use albers_classes::{Attribute, Span};
use albers_table::row::RowIdx;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt32Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::take::take;
use rayon::prelude::*;

use super::carried::{CarriedColumn, CellCounts, PayloadField};
use super::columns::{self, Values};
use super::slab::Slab;
use super::{OutputColumn, check_names, place_numbers};
use crate::describe::{ANY, Describer, PlaceNumbers, ShownCell, ShownFacts};
use crate::error::Result;
use crate::verify::covering;

/// What the leaves of a recoding function show.
pub struct StoredLeaves<'a> {
    describers: Vec<Describer<'a>>,
    cells: Vec<ShownCell>,
    facts: Vec<ShownFacts>,
}

impl<'a> StoredLeaves<'a> {
    /// No leaf yet, of these quasi-identifiers. Regions end in the gaps between values.
    pub fn new(
        attributes: &'a [Attribute],
        shows_regions: bool,
        values: Values,
    ) -> StoredLeaves<'a> {
        let shows_places = values == Values::Features;
        let describer =
            |own| Describer::new(own).with_ends_in_gaps(shows_regions).with_places(shows_places);
        let describers: Vec<Describer<'a>> = attributes.iter().map(describer).collect();
        let facts = vec![ShownFacts::default(); describers.len()];
        StoredLeaves { describers, cells: Vec::new(), facts }
    }

    /// Adds what the next leaf shows on the next attribute: codes that occur in it, the ends and all
    /// of a set among them, and its region where regions are shown.
    pub fn push(&mut self, codes: &[u32], region: Option<Span>) {
        let attribute = self.cells.len() % self.describers.len();
        let describer = &self.describers[attribute];
        let cell = match region {
            Some(span) => covering(describer, span, codes.iter().copied()),
            None => describer.describe(codes.iter().copied()),
        };
        self.facts[attribute].add_cell(describer, cell);
        self.cells.push(cell);
    }

    fn of(&self, leaf: u32) -> &[ShownCell] {
        let n_attributes = self.describers.len();
        &self.cells[leaf as usize * n_attributes..(leaf as usize + 1) * n_attributes]
    }
}

/// Builds batches of rows that show what their leaves show.
pub struct StoredTable<'a> {
    leaves: StoredLeaves<'a>,
    columns: &'a [OutputColumn],
    carried: Vec<PayloadField>,
    values: Values,
    schema: SchemaRef,
    /// How many fields each column has.
    n_fields: Vec<usize>,
    /// The places of each attribute's ends.
    places: Vec<PlaceNumbers>,
}

impl<'a> StoredTable<'a> {
    /// A table of these columns.
    pub fn new(
        leaves: StoredLeaves<'a>,
        columns: &'a [OutputColumn],
        carried: Vec<PayloadField>,
        values: Values,
    ) -> Result<StoredTable<'a>> {
        let mut fields: Vec<Field> = Vec::new();
        let mut n_fields = Vec::new();
        for column in columns {
            let before = fields.len();
            match *column {
                OutputColumn::Attribute(attribute) => {
                    let describer = &leaves.describers[attribute];
                    let own = columns::fields(describer, values, &leaves.facts[attribute]);
                    // A row without a leaf shows nothing.
                    fields.extend(own.into_iter().map(|field| field.with_nullable(true)));
                }
                OutputColumn::Carried(column) => {
                    let field = carried[column].field(&CellCounts::nothing());
                    fields.push(field.with_nullable(true));
                }
            }
            n_fields.push(fields.len() - before);
        }
        check_names(&fields, &[])?;
        let schema = Arc::new(Schema::new(fields));
        let places = place_numbers(&leaves.describers, &leaves.facts);
        Ok(StoredTable { leaves, columns, carried, values, schema, n_fields, places })
    }

    /// The fields of the table.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Some rows: the leaf of each, and their cells that leave as they came, column by column.
    pub fn batch(&self, leaf_of: &[Option<u32>], carried: &[ArrayRef]) -> Result<RecordBatch> {
        let sorted = LeavesOfRows::of(leaf_of);
        let slab = Slab::of_pieces(
            sorted.sizes.clone(),
            sorted.leaves.iter().flat_map(|&leaf| self.leaves.of(leaf)).copied().collect(),
        );
        let row_idxs: Vec<RowIdx> = RowIdx::FIRST.take(leaf_of.len()).collect();
        let mut first = 0;
        let firsts: Vec<usize> = self
            .n_fields
            .iter()
            .map(|n_own| {
                first += n_own;
                first - n_own
            })
            .collect();
        let arrays: Vec<Vec<ArrayRef>> = self
            .columns
            .par_iter()
            .zip(firsts)
            .map(|(column, first)| match *column {
                OutputColumn::Attribute(attribute) => {
                    Ok(self.cells_of(attribute, &slab, &sorted, first))
                }
                OutputColumn::Carried(column) => {
                    let data_type = self.schema.field(first).data_type();
                    let array = &carried[column];
                    if array.data_type() == data_type {
                        return Ok(vec![array.clone()]);
                    }
                    let (name, typing) = self.carried[column].naming();
                    let column = CarriedColumn::new(name, typing, vec![array.clone()]);
                    Ok(vec![column.take(&row_idxs, data_type)?])
                }
            })
            .collect::<Result<_>>()?;
        let arrays = arrays.into_iter().flatten().collect();
        let batch = RecordBatch::try_new(self.schema.clone(), arrays);
        Ok(batch.expect("columns are built by the schema and have all rows"))
    }

    fn cells_of(
        &self,
        attribute: usize,
        slab: &Slab,
        sorted: &LeavesOfRows,
        first: usize,
    ) -> Vec<ArrayRef> {
        let describer = &self.leaves.describers[attribute];
        let told = (&self.leaves.facts[attribute], &self.places[attribute]);
        let fields = self.schema.fields().iter().skip(first);
        if slab.n_rows == 0 {
            let n_fields = columns::fields(describer, self.values, told.0).len();
            let nothing = |field: &Arc<Field>| sorted.without_leaves(field.data_type());
            return fields.take(n_fields).map(nothing).collect();
        }
        let arrays = columns::arrays(describer, slab, attribute, self.values, told);
        arrays.into_iter().map(|array| sorted.in_order(&array)).collect()
    }
}

/// The leaves of some rows, with the numbers of their rows.
struct LeavesOfRows {
    leaves: Vec<u32>,
    sizes: Vec<u32>,
    /// The place of each row's leaf among them; nothing for a row without a leaf.
    places: UInt32Array,
}

impl LeavesOfRows {
    fn of(leaf_of: &[Option<u32>]) -> LeavesOfRows {
        let mut rows: Vec<(u32, u32)> =
            (0u32..).zip(leaf_of).filter_map(|(row, leaf)| Some(((*leaf)?, row))).collect();
        rows.sort_unstable();
        let mut places = vec![None; leaf_of.len()];
        let (mut leaves, mut sizes) = (Vec::new(), Vec::new());
        for (place, of_leaf) in (0u32..).zip(rows.chunk_by(|a, b| a.0 == b.0)) {
            of_leaf.iter().for_each(|&(_, row)| places[row as usize] = Some(place));
            leaves.push(of_leaf[0].0);
            sizes.push(of_leaf.len() as u32);
        }
        LeavesOfRows { leaves, sizes, places: places.into() }
    }

    /// The cells of leaves, in the order of the rows.
    fn in_order(&self, of_leaves: &ArrayRef) -> ArrayRef {
        let cells = take(of_leaves.as_ref(), &self.places, None).expect("every place is there");
        match of_leaves.data_type() {
            DataType::Utf8 if self.places.null_count() > 0 => {
                let texts = cells.as_any().downcast_ref::<StringArray>();
                let texts = texts.expect("an array of text");
                let text = |row: usize| match () {
                    () if self.places.is_null(row) => Some(ANY),
                    () if texts.is_null(row) => None,
                    () => Some(texts.value(row)),
                };
                Arc::new((0..texts.len()).map(text).collect::<StringArray>())
            }
            _ => cells,
        }
    }

    /// The cells of rows none of which has a leaf.
    fn without_leaves(&self, data_type: &DataType) -> ArrayRef {
        match data_type {
            DataType::Utf8 => Arc::new(StringArray::from(vec![ANY; self.places.len()])) as ArrayRef,
            other => arrow_array::new_null_array(other, self.places.len()),
        }
    }
}
