//! A model on its way to a file, part by part.

use std::io::{BufWriter, Write as _};
use std::path::Path;

use albers_classes::{Region, Span};
use albers_index::rplus_tree::{Child, RPlusTree};
use albers_partition::split::cut::{Cut, Turn};
use albers_storage::digest::Digested;
use albers_storage::output::OutputFile;
use albers_table::coding::Coding;
use albers_table::schema::Role;
use albers_table::sink::{Sealed, sealed_file};

use super::fingerprint::{RowPrinter, key_of};
use super::items::{FRAME_BYTES, Item, ShownCodes, StoredCut, StoredTurn};
use super::{Head, MAGIC, ModelJob, VERSION, coding_bytes};
use crate::error::Result;
use crate::files;
use crate::job::Job;
use crate::plan::Plan;
use crate::rows::KnownColumns;

/// A model that is asked for: what it keeps of its job, and where it goes.
pub(crate) struct ModelOrder {
    job: ModelJob,
    file: OutputFile,
}

impl ModelOrder {
    /// Of a job whose files of hierarchies are read. The file is there from now on, without its name.
    pub(crate) fn of(job: &Job, path: &Path) -> Result<ModelOrder> {
        Ok(ModelOrder {
            job: ModelJob::of(job)?,
            file: OutputFile::create_for(job.purpose(), files::place(job, path))?,
        })
    }

    /// Begins the file of a table of so many rows, whose quasi-identifiers are coded so.
    pub(crate) fn begin(
        self,
        plan: &Plan,
        known: &KnownColumns,
        coding: &Coding,
        (n_rows, has_regions): (u64, bool),
    ) -> Result<ModelWriter> {
        let columns = plan.table.iter().filter(|column| column.role.is_some());
        let kinds = known.planned.iter().zip(&known.types.column_types);
        let quasi = kinds.filter(|(column, _)| column.role == Role::Quasi);
        let coding = coding_bytes(coding)?;
        let key = key_of(&coding);
        let head = Head {
            job: self.job.text,
            hierarchies: self.job.hierarchies,
            columns: columns.map(|column| column.name.clone()).collect(),
            types: quasi.map(|(_, &kind)| kind).collect(),
            coding,
            has_regions,
            n_rows,
            key,
        };
        let subject = known.planned.iter().any(|column| column.role == Role::Subject);
        let printer = RowPrinter { key, n_subject_facts: if subject { 2 } else { 0 } };
        ModelWriter::begin(self.file, &head, printer)
    }
}

/// A model that is being written.
pub(crate) struct ModelWriter {
    out: BufWriter<Digested<OutputFile>>,
    frame: Vec<u8>,
    way: Vec<StoredTurn>,
    n_leaves: u64,
    /// What takes the fingerprint of the rows.
    pub(crate) printer: RowPrinter,
}

impl From<Cut> for StoredCut {
    fn from(cut: Cut) -> StoredCut {
        StoredCut { axis: cut.axis, lo: cut.lo, hi: cut.hi }
    }
}

impl ModelWriter {
    pub(super) fn begin(file: OutputFile, head: &Head, printer: RowPrinter) -> Result<ModelWriter> {
        let head = postcard::to_stdvec(head).map_err(|_| super::too_much())?;
        let mut writer = ModelWriter {
            out: BufWriter::new(Digested::new(file)),
            frame: Vec::new(),
            way: Vec::new(),
            n_leaves: 0,
            printer,
        };
        writer.write(MAGIC)?;
        writer.write(&VERSION.to_le_bytes())?;
        writer.write(&(head.len() as u64).to_le_bytes())?;
        writer.write(&head)?;
        Ok(writer)
    }

    /// Adds a part of the tree: the way to it from the root of all, its splits, and of each leaf what
    /// it shows, with the regions of all leaves where leaves have regions.
    pub(crate) fn add_tree<'s>(
        &mut self,
        way: &[Turn],
        tree: &RPlusTree,
        regions: Option<&Region>,
        shown: &mut dyn FnMut(u32) -> ShownCodes<'s>,
    ) -> albers_storage::Result<()> {
        self.go(way)?;
        let n_attributes = tree.n_attributes();
        let mut pending = vec![tree.root()];
        while let Some(child) = pending.pop() {
            match child {
                Child::Split(split) => {
                    let split = &tree.splits()[split as usize];
                    self.put(&Item::Cut(split.cut.into()))?;
                    pending.extend([split.outside, split.inside]);
                }
                Child::Leaf(leaf) => {
                    let at = leaf as usize * n_attributes;
                    let region = regions.map(|spans| &spans[at..at + n_attributes]);
                    self.put_leaf(&shown(leaf), region)?;
                }
            }
        }
        Ok(())
    }

    /// Adds a part that is one leaf.
    pub(crate) fn add_leaf(
        &mut self,
        way: &[Turn],
        region: Option<&Region>,
        shown: &ShownCodes<'_>,
    ) -> albers_storage::Result<()> {
        self.go(way)?;
        self.put_leaf(shown, region.map(Vec::as_slice))
    }

    /// All parts were there; the file waits for its name.
    pub(crate) fn finish(mut self, sum: u128) -> Result<Box<dyn Sealed>> {
        self.put(&Item::End { n_leaves: self.n_leaves, sum })?;
        self.end_frame()?;
        self.write(&0u32.to_le_bytes())?;
        let digested = match self.out.into_inner() {
            Ok(digested) => digested,
            Err(error) => {
                let (source, buffered) = error.into_parts();
                return Err(buffered.get_ref().inner().write_error(source).into());
            }
        };
        let (mut file, digest) = digested.finish();
        file.write_all(digest.as_bytes()).map_err(|source| file.write_error(source))?;
        Ok(sealed_file(file.seal_private()?))
    }

    /// Says where the next part lies.
    fn go(&mut self, way: &[Turn]) -> albers_storage::Result<()> {
        let turn = |turn: &Turn| StoredTurn { cut: turn.cut.into(), is_inside: turn.is_inside };
        let way: Vec<StoredTurn> = way.iter().map(turn).collect();
        let n_shared = way.iter().zip(&self.way).take_while(|(a, b)| a == b).count();
        self.put(&Item::Turns { n_shared: n_shared as u32, turns: way[n_shared..].to_vec() })?;
        self.way = way;
        Ok(())
    }

    fn put_leaf(
        &mut self,
        shown: &ShownCodes<'_>,
        region: Option<&[Span]>,
    ) -> albers_storage::Result<()> {
        self.n_leaves += 1;
        self.put(&shown.item(region))
    }

    fn put(&mut self, item: &Item) -> albers_storage::Result<()> {
        let frame = std::mem::take(&mut self.frame);
        self.frame = postcard::to_extend(item, frame).expect("an item has plain fields only");
        match self.frame.len() >= FRAME_BYTES {
            true => self.end_frame(),
            false => Ok(()),
        }
    }

    fn end_frame(&mut self) -> albers_storage::Result<()> {
        if self.frame.is_empty() {
            return Ok(());
        }
        let frame = std::mem::take(&mut self.frame);
        let n_bytes = u32::try_from(frame.len()).expect("a leaf has fewer codes than there are");
        self.write(&n_bytes.to_le_bytes())?;
        self.write(&frame)?;
        self.frame = frame;
        self.frame.clear();
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> albers_storage::Result<()> {
        let written = self.out.write_all(bytes);
        written.map_err(|source| self.out.get_ref().inner().write_error(source))
    }
}
