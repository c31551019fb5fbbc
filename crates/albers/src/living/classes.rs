//! The leaves of an index, or coarser classes of them, on their way to the door.
//!
//! Coarser classes are made within units: the lowest nodes of the directory whose two sides do not
//! both satisfy the strictest requirement of all releases, or parts. Where several releases show
//! labels, the whole index is one unit, since labels of different units may be alike.

use albers_classes::packed::RowBlock;
use albers_classes::points::row_fingerprint;
use albers_classes::space::Shown;
use albers_classes::{ClassId, Span};
use albers_index::buffer_tree::BulkPlan;
use albers_index::granularity::dendrogram::{Closeness, Dendrogram};
use albers_index::granularity::leaves::{Index, LeafRuns};
use albers_index::granularity::{self, Coarsening, FAN_OUT, Granularity};
use albers_index::living::{DirectoryNode, Part, PartId};
use albers_index::rplus_tree::RPlusTree;
use albers_index::rplus_tree::grow::Source;
use albers_partition::mondrian::Plan as CutSettings;
use albers_partition::split_tree::{SplitTree, TreeNode};
use albers_privacy::{ClassSummary, Requirement};
use albers_release::door::{Door, LeafClasses, LeafRows};
use albers_storage::memory_budget::Reservation;
use rayon::prelude::*;

use super::release::Releasing;
use super::shown::ShownTable;
use crate::error::Result;

/// What admits the rows of an index.
pub(super) struct Admission<'a> {
    pub(super) releasing: &'a Releasing<'a>,
    pub(super) shown: &'a ShownTable,
    /// How leaves are split, and what every one of them satisfies.
    pub(super) bulk: BulkPlan<'a>,
    pub(super) granularity: Granularity,
}

/// Some leaves with their rows, as they come to the door.
pub(super) struct LoadedLeaves {
    rows: RowBlock,
    ends: Vec<u32>,
    boxes: Vec<Span>,
    /// Tells which rows there are.
    pub(super) fingerprint: u64,
    /// Their splits, where they are the leaves of a tree.
    tree: SplitTree,
    _memory: Reservation,
}

impl Admission<'_> {
    /// How leaves are split so that every one of them satisfies another requirement.
    pub(super) fn bulk_for<'b>(&'b self, requirement: &'b Requirement) -> BulkPlan<'b> {
        let plan = CutSettings { requirement, ..self.bulk.plan };
        BulkPlan { plan, strictest: requirement, ..self.bulk }
    }

    /// Admits all parts; tells the fingerprint of their rows.
    pub(super) fn admit_parts(&self, door: &mut Door<'_>) -> Result<u64> {
        let base_k = self.bulk.plan.requirement.k();
        let is_plain = door.n_releases() == 1 && door.requirement(0).k() == base_k;
        let units = if is_plain { self.windows() } else { self.units(door)? };
        let mut fingerprint = 0u64;
        let mut next = units.first().map(|unit| self.load(unit)).transpose()?;
        for place in 0..units.len() {
            let Some(own) = next.take() else { break };
            let following = units.get(place + 1);
            // The next rows are read while these go to the door.
            let (admitted, loaded) = rayon::join(
                || self.admit(&own, is_plain, door),
                || following.map(|unit| self.load(unit)).transpose(),
            );
            admitted?;
            fingerprint = fingerprint.wrapping_add(own.fingerprint);
            self.releasing.watch.done(own.rows.n_rows() as u64)?;
            next = loaded?;
        }
        Ok(fingerprint)
    }

    /// Runs of parts that are looked at together, where every leaf is a class.
    fn windows(&self) -> Vec<Vec<DirectoryNode>> {
        let most = self.bulk.plan.grain.whole_rows as u64;
        let mut windows: Vec<Vec<DirectoryNode>> = Vec::new();
        let mut n_rows = most;
        for part in self.releasing.state.directory.parts() {
            let n_own = self.n_rows(part);
            n_rows += n_own;
            if n_rows > most || windows.is_empty() {
                windows.push(Vec::new());
                n_rows = n_own;
            }
            windows.last_mut().expect("there is one").push(DirectoryNode::Part(part));
        }
        windows
    }

    fn n_rows(&self, part: PartId) -> u64 {
        self.releasing.state.catalogue.parts.get(&part.0).map_or(0, |own| own.n_rows)
    }

    /// The nodes of the directory within which coarser classes are made.
    fn units(&self, door: &Door<'_>) -> Result<Vec<Vec<DirectoryNode>>> {
        let nodes = self.releasing.state.directory.nodes();
        let has_labels = self.shown.attributes.iter().any(|own| own.shown == Shown::Label);
        if has_labels && door.n_releases() > 1 {
            return Ok(vec![nodes.to_vec()]);
        }
        let strictest = (0..door.n_releases()).map(|release| door.requirement(release));
        let strictest = strictest.max_by_key(|own| own.k()).expect("there is a release");
        let ends = ends_of(nodes);
        let holds = self.holding(nodes, &ends, strictest)?;
        let mut units = Vec::new();
        let mut pending = vec![0];
        while let Some(node) = pending.pop() {
            let sides = [node + 1, ends.get(node + 1).copied().unwrap_or(node)];
            let is_cut = matches!(nodes[node], DirectoryNode::Cut(_));
            match is_cut && sides.iter().all(|&side| holds[side]) {
                true => pending.extend([sides[1], sides[0]]),
                false => units.push(nodes[node..ends[node]].to_vec()),
            }
        }
        Ok(units)
    }

    /// Whether the rows below each node satisfy a requirement.
    fn holding(
        &self,
        nodes: &[DirectoryNode],
        ends: &[usize],
        requirement: &Requirement,
    ) -> Result<Vec<bool>> {
        let stored = self.releasing.rows()?;
        let layout = stored.layout();
        let mut below: Vec<ClassSummary> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let mut summary = ClassSummary::new(requirement.shape());
            if let DirectoryNode::Part(part) = node {
                match requirement.is_only_row_count() {
                    Some(_) => summary.add_many(0, &[], self.n_rows(*part)),
                    None => {
                        let part = stored.part(*part)?;
                        let rows = 0..part.n_rows() as u32;
                        let facts = self.bulk.facts.facts_of(layout, part.rows(), rows.clone());
                        rows.for_each(|row| facts.add(row as usize, &mut summary));
                    }
                }
            }
            below.push(summary);
        }
        // Children come behind their parents.
        for node in (0..nodes.len()).rev() {
            if matches!(nodes[node], DirectoryNode::Cut(_)) {
                for side in [node + 1, ends[node + 1]] {
                    let (own, of_side) = below.split_at_mut(side);
                    own[node].merge(&of_side[0]);
                }
            }
        }
        Ok(below.iter().map(|summary| requirement.holds(summary)).collect())
    }

    /// Loads the parts of some nodes.
    fn load(&self, nodes: &[DirectoryNode]) -> Result<LoadedLeaves> {
        let catalogue = &self.releasing.state.catalogue;
        let ids: Vec<PartId> = nodes
            .iter()
            .filter_map(|node| match node {
                DirectoryNode::Part(part) => Some(*part),
                DirectoryNode::Cut(_) => None,
            })
            .collect();
        let records = ids.iter().filter_map(|part| catalogue.parts.get(&part.0));
        let n_bytes: u64 = records.map(|own| 3 * own.extent.n_bytes()).sum();
        let memory = self.bulk.budget.try_reserve("some parts of the index", n_bytes as usize)?;
        let stored = self.releasing.rows()?;
        let schema = &self.releasing.state.tabled()?.schema;
        let loaded: Vec<(Part, Vec<Span>, u64, RowBlock)> = ids
            .par_iter()
            .map(|&part| {
                let part = stored.part(part)?;
                let boxes = part.leaf_boxes(stored.layout());
                let fingerprint = fingerprint_of(stored.layout(), part.rows());
                let rows = self.shown.without_keys(part.rows(), schema)?;
                Ok((part, boxes, fingerprint, rows))
            })
            .collect::<Result<_>>()?;
        let mut leaves = LoadedLeaves {
            rows: RowBlock::default(),
            ends: Vec::new(),
            boxes: Vec::new(),
            fingerprint: 0,
            tree: SplitTree::default(),
            _memory: memory,
        };
        let mut loaded = loaded.into_iter();
        for node in nodes {
            match node {
                DirectoryNode::Cut(cut) => leaves.tree.push(TreeNode::Cut(*cut)),
                DirectoryNode::Part(_) => {
                    let (part, boxes, fingerprint, rows) =
                        loaded.next().expect("every part was loaded");
                    if part.n_rows() > 0 {
                        leaves.add(&self.shown.layout, &part, (boxes, fingerprint), &rows);
                    }
                }
            }
        }
        Ok(leaves)
    }

    /// Admits some leaves, each as a class or as parts of coarser ones.
    pub(super) fn admit(
        &self,
        leaves: &LoadedLeaves,
        is_plain: bool,
        door: &mut Door<'_>,
    ) -> Result<()> {
        let order: Vec<u32> = (0..leaves.rows.n_rows() as u32).collect();
        if order.is_empty() {
            return Ok(());
        }
        let rows = LeafRows {
            layout: &self.shown.layout,
            rows: &leaves.rows,
            order: &order,
            ends: &leaves.ends,
            boxes: &leaves.boxes,
            regions: None,
        };
        let classes = match is_plain {
            true => vec![LeafClasses::default()],
            false => self.coarser(leaves, rows, door)?,
        };
        Ok(door.admit_leaves(rows, &classes)?)
    }

    /// The classes of each release, of a whole unit.
    fn coarser(
        &self,
        leaves: &LoadedLeaves,
        rows: LeafRows<'_>,
        door: &Door<'_>,
    ) -> Result<Vec<LeafClasses>> {
        let n_attributes = self.shown.layout.n_attributes();
        let index = RPlusTree::new(n_attributes, &leaves.tree, leaves.boxes.clone());
        let layout = &self.shown.layout;
        let source = Source { layout, block: &leaves.rows, facts: self.bulk.facts };
        let ends = &leaves.ends;
        let runs = LeafRuns { source, order: rows.order, ends, index: Index::Tree(&index) };
        let base_k = self.bulk.plan.requirement.k();
        let chain = door.chain();
        let coarser: Vec<usize> =
            chain.iter().copied().filter(|&own| door.requirement(own).k() > base_k).collect();
        let requirements: Vec<&Requirement> =
            coarser.iter().map(|&own| door.requirement(own)).collect();
        let n_bytes = match self.granularity.has_dendrogram() {
            true => Dendrogram::work_bytes(leaves.ends.len(), n_attributes),
            false => 0,
        };
        let _memory = self.bulk.budget.try_reserve("the dendrogram of a part", n_bytes)?;
        let coarsening = Coarsening {
            granularity: self.granularity,
            fan_out: FAN_OUT,
            closeness: Closeness::default(),
            plan: &self.bulk.plan,
        };
        // Where the leaves themselves are not published, it matters little which of them look alike.
        let release_at = |place: usize| match place {
            0 => chain[0],
            _ => coarser[place - 1],
        };
        let made =
            granularity::releases(runs, coarsening, &requirements, &mut |place, of_leaf| {
                door.shown_together(release_at(place), rows, (of_leaf, &[]))
            })?;
        let mut classes = vec![LeafClasses::default(); door.n_releases()];
        let mut made: Vec<Vec<ClassId>> = made.classes;
        for (&release, own) in coarser.iter().zip(made.split_off(1)) {
            classes[release] = LeafClasses::from(Some(own));
        }
        if coarser.len() < chain.len() {
            classes[chain[0]] = LeafClasses::from(made.pop());
        }
        Ok(classes)
    }
}

impl LoadedLeaves {
    fn add(
        &mut self,
        layout: &albers_classes::packed::RowLayout,
        part: &Part,
        (boxes, fingerprint): (Vec<Span>, u64),
        rows: &RowBlock,
    ) {
        let start = self.rows.n_rows() as u32;
        self.rows.extend(layout, rows, 0..rows.n_rows());
        self.ends.extend(part.leaf_ends().into_iter().map(|end| start + end));
        self.boxes.extend(boxes);
        self.fingerprint = self.fingerprint.wrapping_add(fingerprint);
        part.tree().nodes().iter().for_each(|node| self.tree.push(*node));
    }

    /// Rows whose classes are given by where they end, as they come to the door.
    pub(super) fn of_classes(
        layout: &albers_classes::packed::RowLayout,
        rows: RowBlock,
        ends: Vec<u32>,
        memory: Reservation,
    ) -> LoadedLeaves {
        let n_attributes = layout.n_attributes();
        let fingerprint = fingerprint_of(layout, &rows);
        let mut boxes = Vec::with_capacity(ends.len() * n_attributes);
        let mut start = 0;
        for &end in &ends {
            for attribute in 0..n_attributes {
                let codes = (start..end).map(|row| rows.code(layout, row as usize, attribute));
                let (lo, hi) =
                    codes.fold((u32::MAX, 0), |(lo, hi), code| (lo.min(code), hi.max(code)));
                boxes.push(albers_classes::region::span(lo, hi));
            }
            start = end;
        }
        let tree = SplitTree::default();
        LoadedLeaves { rows, ends, boxes, fingerprint, tree, _memory: memory }
    }
}

/// What tells whether rows are there with their codes.
fn fingerprint_of(layout: &albers_classes::packed::RowLayout, rows: &RowBlock) -> u64 {
    let mut codes = vec![0; layout.n_attributes()];
    (0..rows.n_rows()).fold(0u64, |sum, row| {
        rows.codes(layout, row, &mut codes);
        sum.wrapping_add(row_fingerprint(rows.row_id(layout, row), &codes))
    })
}

/// Where the nodes below each node end.
fn ends_of(nodes: &[DirectoryNode]) -> Vec<usize> {
    let mut ends = vec![0; nodes.len()];
    for node in (0..nodes.len()).rev() {
        ends[node] = match nodes[node] {
            DirectoryNode::Part(_) => node + 1,
            DirectoryNode::Cut(_) => {
                let inside_end: usize = ends[node + 1];
                ends[inside_end]
            }
        };
    }
    ends
}
