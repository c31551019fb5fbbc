//! A model as it was written.

use std::fs::File;
use std::io::{BufReader, Read, Seek as _, SeekFrom};
use std::path::Path;

use albers_classes::Span;
use albers_classes::region::span;
use albers_index::leaf_buffers::LeafTree;
use albers_partition::split::cut::Cut;
use albers_storage::StorageError;
use albers_storage::digest::digest_of;
use albers_storage::memory_budget::{MemoryBudget, Reservation};
use albers_table::TableError;
use albers_table::coding::{CodeMap, Coding, ColumnCoding};

use super::fingerprint::Fingerprint;
use super::items::{Item, StoredCut, StoredTurn};
use super::{CHECKSUM_BYTES, Head, MAGIC, VERSION};
use crate::error::{Error, Result};
use crate::job::Job;

/// What of its leaves is kept in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Nothing but the way to them, and their regions where they have any.
    Regions,
    /// The codes that tell what they show, too.
    Cells,
}

/// A model whose tree is still to be read.
pub(crate) struct ModelFile {
    name: String,
    reader: BufReader<File>,
    /// Bytes up to the checksum.
    n_left: u64,
    head: Head,
    /// The job.
    pub(crate) job: Job,
    /// The coding of the quasi-identifiers.
    pub(crate) coding: Coding,
    /// About what all but the tree takes.
    head_bytes: u64,
}

/// A recoding function.
pub(crate) struct Model {
    /// The fingerprint of the rows that it was made of.
    pub(crate) fingerprint: Fingerprint,
    /// Parents first, what lies inside before what lies outside; nothing for a leaf.
    nodes: Vec<Option<Cut>>,
    /// How many of these rows each leaf has, as far as 32 bits tell it.
    pub(crate) weights: Vec<u32>,
    /// What tells the leaves, one after another: codes by attribute, and regions.
    shown: Vec<u32>,
    shown_ends: Vec<usize>,
    has_regions: bool,
    greatest: Vec<u32>,
    _memory: Reservation,
}

impl ModelFile {
    /// Opens a model, and checks that its bytes are those that were written. What is read at once is
    /// refused where it takes more than this memory.
    pub(crate) fn open(path: &Path, limit_bytes: u64) -> Result<ModelFile> {
        let read_error = |source| StorageError::Read { path: path.to_owned(), source };
        let name = path.display().to_string();
        let mut file = File::open(path).map_err(read_error)?;
        let metadata = file.metadata().map_err(read_error)?;
        if !metadata.is_file() {
            return Err(refused(&name, "is no file, and a model is one", WRITE_ONE));
        }
        let mut start = [0; MAGIC.len() + 2];
        let is_model = file.read_exact(&mut start).is_ok() && start.starts_with(MAGIC);
        if !is_model {
            return Err(refused(&name, "is no model of this program", WRITE_ONE));
        }
        let version = u16::from_le_bytes([start[MAGIC.len()], start[MAGIC.len() + 1]]);
        if version > VERSION {
            return Err(refused(
                &name,
                &format!("is of format {version}, and this program reads format {VERSION}"),
                "it was written by a newer version: use that, or write the model anew with this one",
            ));
        }
        let n_checked = metadata.len().checked_sub(CHECKSUM_BYTES as u64);
        let n_checked = n_checked.filter(|&n| n >= start.len() as u64).ok_or(damaged(&name))?;
        file.rewind().map_err(read_error)?;
        let digest = digest_of((&mut file).take(n_checked)).map_err(read_error)?;
        let mut checksum = Vec::new();
        (&mut file).take(CHECKSUM_BYTES as u64).read_to_end(&mut checksum).map_err(read_error)?;
        if version != VERSION || checksum != digest.as_bytes() {
            return Err(damaged(&name));
        }
        file.seek(SeekFrom::Start(start.len() as u64)).map_err(read_error)?;
        let n_left = n_checked - start.len() as u64;
        let mut reader = Bytes { name: &name, reader: BufReader::new(file), n_left };
        let n_head = u64::from_le_bytes(reader.array()?);
        let head_bytes = n_head.saturating_mul(HEAD_COPIES);
        if n_head <= reader.n_left && head_bytes > limit_bytes {
            let needed_bytes = head_bytes.saturating_mul(2);
            return Err(StorageError::OverBudget { what: MODEL, needed_bytes, limit_bytes }.into());
        }
        let bytes = reader.take(n_head)?;
        let Bytes { reader, n_left, .. } = reader;
        let mut head: Head = postcard::from_bytes(&bytes).map_err(|_| damaged(&name))?;
        drop(bytes);
        let job = head.parsed_job().ok_or_else(|| damaged(&name))?;
        let coding = head.parsed_coding().ok_or_else(|| damaged(&name))?;
        head.coding = Vec::new();
        if coding.columns().len() != head.types.len() || coding.columns().is_empty() {
            return Err(damaged(&name));
        }
        Ok(ModelFile { name, reader, n_left, head, job, coding, head_bytes })
    }

    /// What there is beside the tree.
    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    /// Reads the tree into memory.
    pub(crate) fn read_tree(self, keep: Keep, budget: &MemoryBudget) -> Result<Model> {
        let ModelFile { name, reader, n_left, head, coding, head_bytes, .. } = self;
        let greatest = |own: &ColumnCoding| own.domain().greatest_code().get();
        let greatest: Vec<u32> = coding.columns().iter().map(greatest).collect();
        let mut memory = budget.reserve_nothing(MODEL);
        memory.try_grow(usize::try_from(head_bytes).unwrap_or(usize::MAX))?;
        let mut parts = Parts::new(&name, greatest, (head.has_regions, keep), memory);
        let mut bytes = Bytes { name: &name, reader, n_left };
        let n_tree = n_left;
        let end = loop {
            let n_frame = u32::from_le_bytes(bytes.array()?);
            if n_frame == 0 {
                break parts.end.take().filter(|_| bytes.n_left == 0);
            }
            let frame = bytes.take(u64::from(n_frame))?;
            let mut rest = &frame[..];
            while !rest.is_empty() {
                let (item, after) = postcard::take_from_bytes(rest).map_err(|_| damaged(&name))?;
                let n_read = n_tree - bytes.n_left;
                parts.add(item).map_err(|error| whole(error, n_read, n_tree))?;
                rest = after;
            }
        };
        let sum = end.ok_or_else(|| damaged(&name))?;
        let fingerprint = Fingerprint { key: head.key, sum, n_rows: head.n_rows };
        parts.finish(fingerprint)
    }
}

/// What refusals call it.
const MODEL: &str = "the recoding function";
/// How often the values of a model are in memory, from their bytes to the codings that are made of
/// them.
const HEAD_COPIES: u64 = 16;

/// A refusal for want of memory after so many bytes of a tree, with what all of it would take, and a
/// quarter for the rows.
fn whole(error: Error, n_read: u64, n_tree: u64) -> Error {
    match error {
        Error::Table(TableError::Storage(StorageError::OverBudget {
            what,
            needed_bytes,
            limit_bytes,
        })) => {
            let needed = u128::from(needed_bytes) * u128::from(n_tree) / u128::from(n_read.max(1));
            let needed_bytes = u64::try_from(needed + needed / 4).unwrap_or(u64::MAX);
            StorageError::OverBudget { what, needed_bytes, limit_bytes }.into()
        }
        other => other,
    }
}

const WRITE_ONE: &str = "write one with 'albers anonymize --model FILE'";

fn refused(name: &str, problem: &str, hint: &str) -> Error {
    Error::Table(TableError::File {
        table: name.to_owned(),
        problem: problem.to_owned(),
        hint: hint.to_owned().into(),
    })
}

fn damaged(name: &str) -> Error {
    refused(name, "is damaged", "restore it from a copy, or write the model anew")
}

/// Bytes of which it is known how many there are.
struct Bytes<'n> {
    name: &'n str,
    reader: BufReader<File>,
    n_left: u64,
}

impl Bytes<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.take(N as u64)?;
        bytes.try_into().map_err(|_| damaged(self.name))
    }

    fn take(&mut self, n_bytes: u64) -> Result<Vec<u8>> {
        self.n_left = self.n_left.checked_sub(n_bytes).ok_or_else(|| damaged(self.name))?;
        let mut bytes = Vec::new();
        let read = (&mut self.reader).take(n_bytes).read_to_end(&mut bytes);
        match read {
            Ok(n_read) if n_read as u64 == n_bytes => Ok(bytes),
            _ => Err(damaged(self.name)),
        }
    }
}

/// A node above the parts.
#[derive(Clone, Copy)]
enum TopNode {
    Unknown,
    Cut(StoredCut, [usize; 2]),
    Part(usize),
}

/// The parts of a tree as they come.
struct Parts<'n> {
    name: &'n str,
    top: Vec<TopNode>,
    way: Vec<StoredTurn>,
    /// Where the nodes and the leaves of each part begin.
    firsts: Vec<(usize, usize)>,
    nodes: Vec<Option<Cut>>,
    /// Sides of the part at hand that are still to come.
    n_open: usize,
    weights: Vec<u32>,
    shown: Vec<u32>,
    shown_ends: Vec<usize>,
    greatest: Vec<u32>,
    has_regions: bool,
    keep: Keep,
    end: Option<u128>,
    memory: Reservation,
}

/// What a node takes while the tree is read, and routed along.
const NODE_BYTES: usize = 100;

impl<'n> Parts<'n> {
    fn new(
        name: &'n str,
        greatest: Vec<u32>,
        (has_regions, keep): (bool, Keep),
        memory: Reservation,
    ) -> Parts<'n> {
        Parts {
            name,
            top: vec![TopNode::Unknown],
            way: Vec::new(),
            firsts: Vec::new(),
            nodes: Vec::new(),
            n_open: 0,
            weights: Vec::new(),
            shown: Vec::new(),
            shown_ends: Vec::new(),
            greatest,
            has_regions,
            keep,
            end: None,
            memory,
        }
    }

    fn damaged(&self) -> Error {
        damaged(self.name)
    }

    fn add(&mut self, item: Item) -> Result<()> {
        let is_between = matches!(item, Item::Turns { .. } | Item::End { .. });
        if self.end.is_some() || is_between != (self.n_open == 0) {
            return Err(self.damaged());
        }
        match item {
            Item::Turns { n_shared, turns } => {
                if n_shared as usize > self.way.len() {
                    return Err(self.damaged());
                }
                self.memory.try_grow(turns.len() * NODE_BYTES)?;
                self.way.truncate(n_shared as usize);
                self.way.extend(turns);
                self.n_open = 1;
                self.firsts.push((self.nodes.len(), self.weights.len()));
                self.place_part()
            }
            Item::Cut(cut) => {
                self.memory.try_grow(NODE_BYTES)?;
                let cut = self.checked(cut)?;
                self.nodes.push(Some(Cut::new(cut.axis as usize, cut.lo, cut.hi)));
                self.n_open += 1;
                Ok(())
            }
            Item::Leaf { n_rows, shown } => {
                self.memory.try_grow(NODE_BYTES + shown.len() * 12)?;
                self.check_shown(&shown)?;
                self.nodes.push(None);
                self.n_open -= 1;
                self.weights.push(u32::try_from(n_rows).unwrap_or(u32::MAX));
                if self.keep == Keep::Cells || self.has_regions {
                    self.shown.extend(shown);
                }
                self.shown_ends.push(self.shown.len());
                Ok(())
            }
            Item::End { n_leaves, sum } => {
                self.end = Some(sum);
                match n_leaves == self.weights.len() as u64 {
                    true => Ok(()),
                    false => Err(self.damaged()),
                }
            }
        }
    }

    fn checked(&self, cut: StoredCut) -> Result<StoredCut> {
        let greatest = self.greatest.get(cut.axis as usize);
        match greatest.is_some_and(|&greatest| cut.lo <= cut.hi && cut.lo <= greatest) {
            true => Ok(cut),
            false => Err(self.damaged()),
        }
    }

    /// Refuses a leaf whose codes its attributes do not have.
    fn check_shown(&self, shown: &[u32]) -> Result<()> {
        let mut rest = shown;
        for &greatest in &self.greatest {
            let split = rest.split_first();
            let (&n_codes, after) = split.ok_or_else(|| self.damaged())?;
            let codes = after.split_at_checked(n_codes as usize);
            let (codes, after) = codes.ok_or_else(|| self.damaged())?;
            let is_sound = !codes.is_empty() && codes.iter().all(|&code| code <= greatest);
            rest = after;
            if self.has_regions {
                let region = rest.split_at_checked(2);
                let (region, after) = region.ok_or_else(|| self.damaged())?;
                if region[0] > region[1] || region[0] > greatest {
                    return Err(self.damaged());
                }
                rest = after;
            }
            if !is_sound {
                return Err(self.damaged());
            }
        }
        if rest.is_empty() { Ok(()) } else { Err(self.damaged()) }
    }

    /// Puts the part at hand where its way leads.
    fn place_part(&mut self) -> Result<()> {
        let mut at = 0;
        for &StoredTurn { cut, is_inside } in &self.way {
            let cut = self.checked(cut)?;
            let children = match self.top[at] {
                TopNode::Cut(own, children) if own == cut => children,
                TopNode::Unknown => {
                    let first = self.top.len();
                    self.top.extend([TopNode::Unknown; 2]);
                    self.top[at] = TopNode::Cut(cut, [first, first + 1]);
                    [first, first + 1]
                }
                TopNode::Cut(..) | TopNode::Part(_) => return Err(self.damaged()),
            };
            at = children[usize::from(!is_inside)];
        }
        match self.top[at] {
            TopNode::Unknown => self.top[at] = TopNode::Part(self.firsts.len() - 1),
            _ => return Err(self.damaged()),
        }
        Ok(())
    }

    /// The whole tree, from left to right.
    fn finish(mut self, fingerprint: Fingerprint) -> Result<Model> {
        self.firsts.push((self.nodes.len(), self.weights.len()));
        let mut nodes = Vec::with_capacity(self.nodes.len() + self.top.len());
        let mut order: Vec<u32> = Vec::with_capacity(self.weights.len());
        let mut pending = vec![0];
        while let Some(at) = pending.pop() {
            match self.top[at] {
                TopNode::Unknown => return Err(self.damaged()),
                TopNode::Cut(cut, [inside, outside]) => {
                    nodes.push(Some(Cut::new(cut.axis as usize, cut.lo, cut.hi)));
                    pending.extend([outside, inside]);
                }
                TopNode::Part(part) => {
                    let (first, end) = (self.firsts[part], self.firsts[part + 1]);
                    nodes.extend_from_slice(&self.nodes[first.0..end.0]);
                    order.extend(first.1 as u32..end.1 as u32);
                }
            }
        }
        let mut model = Model {
            fingerprint,
            nodes,
            weights: Vec::with_capacity(order.len()),
            shown: Vec::with_capacity(self.shown.len()),
            shown_ends: Vec::with_capacity(order.len()),
            has_regions: self.has_regions,
            greatest: self.greatest,
            _memory: self.memory,
        };
        for leaf in order {
            let leaf = leaf as usize;
            let start = if leaf == 0 { 0 } else { self.shown_ends[leaf - 1] };
            model.weights.push(self.weights[leaf]);
            model.shown.extend_from_slice(&self.shown[start..self.shown_ends[leaf]]);
            model.shown_ends.push(model.shown.len());
        }
        Ok(model)
    }
}

impl Model {
    /// The tree, with codes that have changed since.
    pub(crate) fn tree(&self, changes: &[CodeMap]) -> Option<LeafTree> {
        let mapped = |cut: &Cut| {
            let axis = cut.axis as usize;
            let (lo, hi) = mapped(changes.get(axis), self.greatest[axis], (cut.lo, cut.hi));
            Cut::new(axis, lo, hi)
        };
        let nodes: Vec<Option<Cut>> =
            self.nodes.iter().map(|node| node.as_ref().map(mapped)).collect();
        LeafTree::of(&nodes)
    }

    /// Whether leaves have regions.
    pub(crate) fn has_regions(&self) -> bool {
        self.has_regions
    }

    /// Number of leaves.
    pub(crate) fn n_leaves(&self) -> usize {
        self.weights.len()
    }

    /// The region of a leaf, with codes that have changed since; nothing if leaves have none.
    pub(crate) fn region(&self, leaf: u32, changes: &[CodeMap]) -> Option<Vec<Span>> {
        if !self.has_regions {
            return None;
        }
        let mut spans = Vec::with_capacity(self.greatest.len());
        self.for_each_cell(leaf, &mut |_, region| spans.extend(region));
        for (axis, own) in spans.iter_mut().enumerate() {
            let ends = (own.0.get(), own.1.get());
            let (lo, hi) = mapped(changes.get(axis), self.greatest[axis], ends);
            *own = span(lo, hi);
        }
        Some(spans)
    }

    /// Shows what tells a leaf, attribute by attribute: codes, and its region if leaves have regions.
    pub(crate) fn for_each_cell(&self, leaf: u32, see: &mut dyn FnMut(&[u32], Option<Span>)) {
        let leaf = leaf as usize;
        let start = if leaf == 0 { 0 } else { self.shown_ends[leaf - 1] };
        let mut rest = &self.shown[start..self.shown_ends[leaf]];
        while let Some((&n_codes, after)) = rest.split_first() {
            let (codes, after) = after.split_at(n_codes as usize);
            match self.has_regions {
                true => {
                    see(codes, Some(span(after[0], after[1])));
                    rest = &after[2..];
                }
                false => {
                    see(codes, None);
                    rest = after;
                }
            }
        }
    }
}

/// Codes from `lo` to `hi` when codes have changed: values between two known ones go the way of the
/// greater.
fn mapped(change: Option<&CodeMap>, greatest: u32, (lo, hi): (u32, u32)) -> (u32, u32) {
    use albers_table::code::Code;
    let Some(change) = change.filter(|own| !own.is_identity()) else { return (lo, hi) };
    let after = |code: u32| change.code(Code::new(code.min(greatest))).get();
    let first = if lo == 0 { 0 } else { after(lo - 1) + 1 };
    // Beyond the last value there is nothing that would go elsewhere.
    let last = if hi >= greatest { u32::MAX } else { after(hi) };
    (first, last.max(first))
}
