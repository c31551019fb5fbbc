//! The coding of an index through its growth.
//!
//! A value that nobody had before gives codes to others: a lesser least value, a name between two
//! names. Codes change by monotone maps then, and what was stored before keeps its old codes until
//! it is written anew. An epoch is the time between two changes: parts and runs know theirs, and
//! are brought to the last one when they are read.
//!
//! ```text
//!   epoch 3 ──maps──► epoch 4 ──maps──► epoch 5: the coding
//!     part a            part c            part d, directory, new rows
//!     part b
//! ```

use std::ops::Range;

use albers_classes::packed::{RowBlock, RowLayout};
use albers_index::living::{Part, recode_rows};
use albers_storage::store::{Changes, Extent};
use albers_table::chunk::ColumnChunk;
use albers_table::code::Code;
use albers_table::coding::{CodeMap, Coding, ColumnCoding};
use albers_table::domain::Domain;
use albers_table::row::RowId;
use serde::{Deserialize, Serialize};

use super::catalogue::{damaged, decoded, encoded};
use super::stored_table::{GreatestCodes, Schema, layout_of};
use crate::error::{Error, Result};

/// The epochs of an index as they are stored.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Epochs {
    /// The coding of the last one.
    coding: Option<Extent>,
    /// The number of the first that is still known.
    first: u32,
    /// From the first on.
    known: Vec<Epoch>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Epoch {
    greatest: GreatestCodes,
    /// How codes of the epoch before became those of this one, column by column.
    maps: Option<Extent>,
}

/// The coding of an index, and the way to it from all epochs that are still known.
pub(super) struct LivingCoding {
    pub(super) coding: Coding,
    pub(super) epochs: Epochs,
    layouts: Vec<RowLayout>,
    /// The maps to each epoch but the first, column by column: quasi-identifiers, then facts.
    maps: Vec<Vec<CodeMap>>,
    is_quasi: Vec<bool>,
    n_subject_facts: usize,
}

impl LivingCoding {
    /// Of the first rows.
    pub(super) fn new(
        schema: &Schema,
        columns: Vec<ColumnCoding>,
        changes: &mut Changes,
    ) -> Result<LivingCoding> {
        let coding = Coding::new(columns);
        let greatest = schema.greatest_codes(&coding);
        let layouts = vec![layout_of(&greatest, schema.has_subject())];
        let epoch = Epoch { greatest, maps: None };
        let mut epochs = Epochs { coding: None, first: 0, known: vec![epoch] };
        epochs.coding = Some(changes.write(&coding_bytes(&coding)?)?);
        Ok(LivingCoding::with(schema, coding, epochs, layouts, Vec::new()))
    }

    fn with(
        schema: &Schema,
        coding: Coding,
        epochs: Epochs,
        layouts: Vec<RowLayout>,
        maps: Vec<Vec<CodeMap>>,
    ) -> LivingCoding {
        let is_quasi = schema.are_quasi();
        let n_subject_facts = schema.n_subject_facts();
        LivingCoding { coding, epochs, layouts, maps, is_quasi, n_subject_facts }
    }

    /// As it was stored.
    pub(super) fn read(
        schema: &Schema,
        coding: Coding,
        epochs: &Epochs,
        read: &dyn Fn(Extent) -> Result<Vec<u8>>,
    ) -> Result<LivingCoding> {
        let has_subject = schema.has_subject();
        let layouts = epochs.known.iter().map(|own| layout_of(&own.greatest, has_subject));
        let maps = epochs.known.iter().skip(1).map(|own| -> Result<Vec<CodeMap>> {
            let extent = own.maps.ok_or_else(|| damaged("the change of its codes is not there"))?;
            decoded(&read(extent)?, "the change of its codes")
        });
        let maps = maps.collect::<Result<Vec<_>>>()?;
        let is_sound =
            !epochs.known.is_empty() && maps.iter().all(|own| own.len() == coding.columns().len());
        match is_sound {
            true => Ok(LivingCoding::with(schema, coding, epochs.clone(), layouts.collect(), maps)),
            false => Err(damaged("its epochs are not those of its coding")),
        }
    }

    /// The number of the epoch.
    pub(super) fn epoch(&self) -> u32 {
        self.epochs.first + self.layouts.len() as u32 - 1
    }

    /// How rows of the epoch are packed.
    pub(super) fn layout(&self) -> &RowLayout {
        self.layouts.last().expect("there is an epoch")
    }

    fn place(&self, epoch: u32) -> Result<usize> {
        let place = epoch.checked_sub(self.epochs.first).map(|place| place as usize);
        let place = place.filter(|&place| place < self.layouts.len());
        place.ok_or_else(|| damaged("rows are of an epoch that is not known"))
    }

    /// How rows of an epoch are packed.
    pub(super) fn layout_of(&self, epoch: u32) -> Result<&RowLayout> {
        Ok(&self.layouts[self.place(epoch)?])
    }

    /// The maps of one change, quasi-identifiers first and then facts; nothing where codes stay.
    fn field_maps(&self, change: usize) -> Vec<Option<&CodeMap>> {
        let of_kind = |quasi: bool| {
            let columns = self.maps[change].iter().zip(&self.is_quasi);
            columns.filter(move |(_, own)| **own == quasi).map(|(map, _)| Some(map))
        };
        let subject = std::iter::repeat_n(None, self.n_subject_facts);
        let maps = of_kind(true).chain(subject).chain(of_kind(false));
        maps.map(|map| map.filter(|own| !own.is_identity())).collect()
    }

    fn changes_from(&self, epoch: u32) -> Result<Range<usize>> {
        Ok(self.place(epoch)?..self.maps.len())
    }

    /// Rows of an epoch, with the codes of the last one.
    pub(super) fn recoded(&self, mut rows: RowBlock, epoch: u32) -> Result<RowBlock> {
        for change in self.changes_from(epoch)? {
            let (old, new) = (&self.layouts[change], &self.layouts[change + 1]);
            rows = recode_rows(&rows, old, new, &self.field_maps(change));
        }
        Ok(rows)
    }

    /// A part of an epoch, with the codes of the last one.
    pub(super) fn recoded_part(&self, mut part: Part, epoch: u32) -> Result<Part> {
        for change in self.changes_from(epoch)? {
            let (old, new) = (&self.layouts[change], &self.layouts[change + 1]);
            part = part.recoded(old, new, &self.field_maps(change));
        }
        Ok(part)
    }

    /// Learns the values of more rows, column by column, each in chunks with the number of their first
    /// row; tells the maps if any code changed or may be new.
    pub(super) fn grow(
        &mut self,
        schema: &Schema,
        chunks: &[Vec<(RowId, &ColumnChunk)>],
        changes: &mut Changes,
    ) -> Result<bool> {
        let columns = self.coding.columns();
        let is_known = |(column, chunks): (&ColumnCoding, &Vec<(RowId, &ColumnChunk)>)| {
            chunks.iter().all(|(_, chunk)| column.knows(chunk))
        };
        if columns.iter().zip(chunks).all(is_known) {
            return Ok(false);
        }
        let grown = columns.iter().zip(chunks).map(|(column, chunks)| grown(column, chunks));
        let (columns, maps): (Vec<_>, Vec<CodeMap>) =
            grown.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let coding = Coding::new(columns);
        let greatest = schema.greatest_codes(&coding);
        self.layouts.push(layout_of(&greatest, schema.has_subject()));
        let extent = changes.write(&encoded(&maps))?;
        self.epochs.known.push(Epoch { greatest, maps: Some(extent) });
        self.maps.push(maps);
        self.coding = coding;
        self.store_coding(changes)?;
        Ok(true)
    }

    fn store_coding(&mut self, changes: &mut Changes) -> Result<()> {
        if let Some(old) = self.epochs.coding.take() {
            changes.free(old)?;
        }
        self.epochs.coding = Some(changes.write(&coding_bytes(&self.coding)?)?);
        Ok(())
    }

    /// The domains of the quasi-identifiers.
    pub(super) fn quasi_domains(&self) -> impl Iterator<Item = &Domain> + '_ {
        self.domains(true)
    }

    /// The domains of the sensitive columns.
    pub(super) fn sensitive_domains(&self) -> impl Iterator<Item = &Domain> + '_ {
        self.domains(false)
    }

    fn domains(&self, quasi: bool) -> impl Iterator<Item = &Domain> + '_ {
        let columns = self.coding.columns().iter().zip(&self.is_quasi);
        columns.filter(move |(_, own)| **own == quasi).map(|(column, _)| column.domain())
    }

    /// The quasi-identifiers of which it is not known which values occur.
    pub(super) fn unknown_columns(&self) -> impl Iterator<Item = String> + '_ {
        let is_near = |own: &&Domain| own.is_ordered() && own.far_codes().is_none();
        self.quasi_domains().filter(is_near).map(|own| own.name().to_owned())
    }

    /// The codes of missing values of the quasi-identifiers, where there are any.
    pub(super) fn missing_codes(&self) -> impl Iterator<Item = Option<Code>> + '_ {
        self.quasi_domains().map(Domain::missing_code)
    }

    /// The maps of the last change, for what always has the codes of the last epoch.
    pub(super) fn last_maps(&self) -> Vec<Option<&CodeMap>> {
        self.field_maps(self.maps.len() - 1)
    }

    /// How the codes of the sensitive columns changed since an epoch, change by change.
    pub(super) fn sensitive_changes(
        &self,
        epoch: u32,
    ) -> Result<impl Iterator<Item = SensitiveChange<'_>>> {
        let of_change = |change: usize| {
            let columns = self.maps[change].iter().zip(&self.is_quasi);
            let maps = columns.filter(|(_, is_quasi)| !**is_quasi).map(|(map, _)| map);
            let greatest = &self.epochs.known[change].greatest.sensitive;
            SensitiveChange { maps: maps.collect(), greatest }
        };
        Ok(self.changes_from(epoch)?.map(of_change))
    }

    /// Forgets epochs of which nothing is left: all before this one.
    pub(super) fn forget_before(&mut self, epoch: u32, changes: &mut Changes) -> Result<()> {
        let n_gone = self.place(epoch)?;
        self.layouts.drain(..n_gone);
        self.maps.drain(..n_gone);
        self.epochs.first = epoch;
        for gone in self.epochs.known.drain(..n_gone) {
            gone.maps.map(|extent| changes.free(extent)).transpose()?;
        }
        if let Some(first) = self.epochs.known.first_mut() {
            first.maps.take().map(|extent| changes.free(extent)).transpose()?;
        }
        Ok(())
    }
}

/// One change of the codes of the sensitive columns.
pub(super) struct SensitiveChange<'c> {
    maps: Vec<&'c CodeMap>,
    greatest: &'c [u32],
}

impl SensitiveChange<'_> {
    /// How many codes a column had before.
    pub(super) fn n_values(&self, column: usize) -> u32 {
        self.greatest[column] + 1
    }

    /// What a code of a column became.
    pub(super) fn code(&self, column: usize, code: u32) -> u32 {
        self.maps[column].code(Code::new(code)).get()
    }
}

impl Epochs {
    /// Where the coding lies.
    pub(super) fn coding(&self) -> Option<Extent> {
        self.coding
    }
}

fn coding_bytes(coding: &Coding) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let written = coding.write_to(&mut bytes);
    written.map_err(|_| damaged("its coding cannot be written"))?;
    Ok(bytes)
}

/// A column that also knows the values of some chunks. Where they are refused, so is the first row
/// that makes it so.
fn grown(
    column: &ColumnCoding,
    chunks: &[(RowId, &ColumnChunk)],
) -> Result<(ColumnCoding, CodeMap)> {
    let all: Vec<ColumnChunk> = chunks.iter().map(|(_, chunk)| (*chunk).clone()).collect();
    let error = match column.grown(&all) {
        Ok(grown) => return Ok(grown),
        Err(error) => error,
    };
    let culprit = chunks.iter().find(|(_, chunk)| column.grown(&[(*chunk).clone()]).is_err());
    let Some((first_row, chunk)) = culprit else { return Err(error.into()) };
    let is_refused = |n_rows: usize| {
        let rows: Vec<u32> = (0..n_rows as u32).collect();
        column.grown(&[chunk.select(&rows)]).is_err()
    };
    let (mut good, mut bad) = (0, chunk.n_rows());
    while good + 1 < bad {
        let middle = (good + bad) / 2;
        if is_refused(middle) { bad = middle } else { good = middle }
    }
    let row = *first_row + good as u64;
    Err(Error::usage(
        format!("row {row}, column '{}' does not fit the index: {error}", column.domain().name()),
        "correct the row, or create the index anew with a job that has room for it",
    ))
}
