//! Generalization hierarchies: from the values of a column to ever larger groups of them.
//!
//! Leaves get dense codes in depth-first order, so that every node is a contiguous range of codes
//! and the lowest common ancestor of a class follows from its smallest and its largest code:
//!
//! ```text
//! level 2   |               *               |      one node, the top
//! level 1   |    537*   |       538*        |      nodes are ranges of codes
//! level 0   | 5371 5372 | 5381  5382  5383  |      the leaves, the values of the column
//! code          0    1      2     3     4
//! ```
//!
//! Siblings may be put in another order, that of their rows' number. The order in which the leaves
//! were before is kept as their places: that of the rows of a file, where the leaves of a label that
//! stand apart come together at the first of them, and that of the values for a built-in. It tells
//! nothing of how many rows have a value, and every node is a range of places too.
//!
//! Guarantee: levels are nested, all leaves lie equally deep, there is one top, and a label means
//! one set of leaves wherever it stands, so that a published label can be read in one way only.
//! Missing cells are not leaves. A column without any value gets a hierarchy of no leaves and the
//! top `*` from a built-in; a file gives its own leaves as always.
//! Cost: one table of 4 bytes per leaf and level; labels are stored once. Building is linear in
//! leaves times levels.
//!
//! - `spec`: how a hierarchy is asked for.
//! - `file`: hierarchies in files, and their rules.
//! - `builtin`: `prefix` and `suppress`; `ranges`: intervals, in exact arithmetic; [`dates`]: stretches of
//!   the calendar.
//! - `builder`: paths from leaf to top become levels of nested code ranges.

mod builder;
mod builtin;
pub mod dates;
mod file;
mod finest;
mod ranges;
mod spec;

use std::cmp::Reverse;
use std::fmt;
use std::sync::Arc;

use albers_storage::memory_budget;
use albers_storage::wording::Wording;
use rustc_hash::FxHashMap;

use crate::code::{Code, CodeRange};
use crate::schema::ColumnType;
use crate::{Result, TableError};

pub use file::inspect::FileInspection;
pub use finest::Finest;
pub use ranges::Size;
pub use spec::{HierarchyRows, HierarchySpec};

/// The label of everything.
const TOP: &str = "*";

/// A group of values: the `index`-th node of a level, in the order of codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node {
    /// 0 for a leaf, [`Hierarchy::height`] for the top.
    pub level: usize,
    /// 0-based among the nodes of its level.
    pub index: usize,
}

/// A generalization hierarchy over the values of one column. See the module for its picture.
#[derive(Clone)]
pub struct Hierarchy {
    /// From the leaves to the top; never fewer than two.
    levels: Vec<Level>,
    /// The lowest node of each label.
    node_by_label: FxHashMap<Arc<str>, Node>,
    added_top: bool,
    /// Whether its leaves are those of a file, whatever the values of the column.
    is_given: bool,
    /// The lowest level that may be shown.
    finest: usize,
}

/// One level of a hierarchy.
#[derive(Clone)]
struct Level {
    labels: Vec<Arc<str>>,
    /// Node `i` holds the codes `starts[i]..starts[i + 1]`.
    starts: Vec<Code>,
    /// The node of each code.
    node_of: Vec<u32>,
    /// The place of each node's first leaf.
    places: Vec<u32>,
}

impl Hierarchy {
    /// Builds the hierarchy of a column.
    ///
    /// `values` are the distinct values that occur, as canonical text in the natural order of the
    /// type. Every one must be a leaf; a file may have more leaves, which count in the domain.
    pub fn build(
        spec: &HierarchySpec,
        column: &str,
        column_type: ColumnType,
        values: &[String],
    ) -> Result<Hierarchy> {
        let place = Place { column, origin: spec.to_string() };
        let given = |bytes: &[u8]| -> Result<Hierarchy> {
            let hierarchy = file::build(bytes, &place, column_type, values)?;
            Ok(Hierarchy { is_given: true, ..hierarchy })
        };
        match spec {
            HierarchySpec::File(path) => given(&file::read(path, memory_budget::default_bytes())?),
            HierarchySpec::Rows(rows) => given(&rows.bytes),
            HierarchySpec::Prefix => {
                Ok(builtin::prefix(&place, column_type, values)?.placed_by_text())
            }
            HierarchySpec::Ranges(sizes) => ranges::build(sizes, &place, column_type, values),
            HierarchySpec::Dates(levels) => dates::build(levels, &place, column_type, values),
            HierarchySpec::Suppress => builtin::suppress(&place, values),
            HierarchySpec::AtLeast(spec, finest) => {
                let hierarchy = Hierarchy::build(spec, column, column_type, values)?;
                let level = finest.level(spec, column_type, hierarchy.height());
                let finest = level
                    .map_err(|levels| place.error(format!("there is no level {finest}"), levels))?;
                Ok(Hierarchy { finest, ..hierarchy })
            }
        }
    }

    /// The lowest level that may be shown; 0 if all may.
    pub fn finest(&self) -> usize {
        self.finest
    }

    /// What does not fit of the rows of a file for a column of these values.
    pub fn inspect(
        rows: &HierarchyRows,
        column: &str,
        column_type: ColumnType,
        values: &[String],
    ) -> Result<FileInspection> {
        let place = Place { column, origin: rows.origin().to_owned() };
        file::inspect::inspect(&rows.bytes, &place, column_type, values)
    }

    /// The hierarchy of labels that stand side by side below the top, in their order; nothing if one
    /// comes twice, or stands for everything.
    pub fn of_labels(labels: &[String]) -> Option<Hierarchy> {
        let mut builder = builder::Builder::new(1);
        for label in labels {
            builder.add(0, label, &[TOP]).ok()?;
        }
        let hierarchy =
            if labels.is_empty() { Hierarchy::empty() } else { builder.finish().ok()? };
        (hierarchy.n_leaves() as usize == labels.len()).then_some(hierarchy)
    }

    /// The number of leaves; codes run from 0 to one less.
    pub fn n_leaves(&self) -> u32 {
        number(self.levels[0].labels.len())
    }

    /// The first code after those of the leaves.
    pub fn leaves_end(&self) -> Code {
        Code::new(self.n_leaves())
    }

    /// The level of the top.
    pub fn height(&self) -> usize {
        self.levels.len() - 1
    }

    /// The number of nodes of a level.
    pub fn n_nodes(&self, level: usize) -> usize {
        self.levels[level].labels.len()
    }

    /// The value with this code.
    pub fn leaf(&self, code: Code) -> &str {
        &self.levels[0].labels[code.index()]
    }

    /// The values in the order of their codes.
    pub fn leaves(&self) -> impl Iterator<Item = &str> {
        self.levels[0].labels.iter().map(|label| &**label)
    }

    /// The code of a value, given as canonical text.
    pub fn code_of(&self, value: &str) -> Option<Code> {
        let leaf = self.node_by_label(value).filter(|node| node.level == 0);
        leaf.map(|node| Code::of_index(node.index))
    }

    /// The index of the node of a level that holds a code; it never falls as codes rise.
    pub fn node_at(&self, level: usize, code: Code) -> usize {
        self.levels[level].node_of[code.index()] as usize
    }

    /// The codes of a node's leaves.
    pub fn leaves_of(&self, node: Node) -> CodeRange {
        self.levels[node.level].leaves_of(node.index)
    }

    /// The label of a node.
    pub fn label(&self, node: Node) -> &str {
        &self.levels[node.level].labels[node.index]
    }

    /// The lowest node that holds both codes, and so all codes between them.
    pub fn lowest_common_ancestor(&self, lo: Code, hi: Code) -> Node {
        self.levels
            .iter()
            .map(|level| (level.node_of[lo.index()], level.node_of[hi.index()]))
            .enumerate()
            .find(|(_, (of_lo, of_hi))| of_lo == of_hi)
            .map(|(level, (index, _))| Node { level, index: index as usize })
            .expect("the top holds every code")
    }

    /// The node with this label; the lowest, where one set of leaves has the same label twice.
    pub fn node_by_label(&self, label: &str) -> Option<Node> {
        self.node_by_label.get(label).copied()
    }

    /// The node of each code at level 1, level 2, and so on to the top.
    pub fn level_maps(&self) -> Vec<Vec<u32>> {
        self.levels[1..].iter().map(|level| level.node_of.clone()).collect()
    }

    /// Whether a root `*` was added, because the top level of the file had several labels.
    pub fn added_top(&self) -> bool {
        self.added_top
    }

    /// Whether its leaves are those of a file, whatever the values of the column: then they are known
    /// to whoever knows the file.
    pub fn is_given(&self) -> bool {
        self.is_given
    }

    /// The place of a node's first leaf, from 0 on; the others follow it. Neither the order of codes
    /// nor how many rows have a value has a part in it.
    pub fn first_place(&self, node: Node) -> u32 {
        self.levels[node.level].places[node.index]
    }

    /// The place of a leaf.
    pub fn place(&self, code: Code) -> u32 {
        self.levels[0].places[code.index()]
    }

    /// The same hierarchy with places in the order of the leaves' texts, in which those of a prefix
    /// lie together: numbers of several lengths do not, in their own order.
    fn placed_by_text(mut self) -> Hierarchy {
        let labels = &self.levels[0].labels;
        let mut order: Vec<u32> = (0..self.n_leaves()).collect();
        order.sort_by_key(|&leaf| &labels[leaf as usize]);
        let places = inverse(&order);
        for level in &mut self.levels {
            for (index, place) in level.places.iter_mut().enumerate() {
                let leaves = level.starts[index].index()..level.starts[index + 1].index();
                *place = places[leaves].iter().copied().min().unwrap_or(0);
            }
        }
        self
    }

    /// The same hierarchy with siblings in the order of falling row counts; ties keep their order.
    ///
    /// A cut between two codes can then separate the frequent values from the rest.
    pub fn ordered_by_frequency(self, rows_per_leaf: &[u64]) -> Hierarchy {
        assert_eq!(rows_per_leaf.len(), self.n_leaves() as usize, "one row count for each leaf");
        self.ordered_by(|leaves| {
            let rows = &rows_per_leaf[leaves.indexes()];
            Reverse(rows.iter().sum::<u64>())
        })
    }

    /// The same hierarchy with siblings in the order of codes that their leaves had before; those
    /// without any come last, in their order.
    pub fn ordered_like(self, old_code: &dyn Fn(&str) -> Option<Code>) -> Hierarchy {
        let old_codes: Vec<Code> =
            self.leaves().map(|leaf| old_code(leaf).unwrap_or(Code::MAX)).collect();
        self.ordered_by(|leaves| old_codes[leaves.indexes()].iter().copied().min())
    }

    /// The same hierarchy with siblings in the order of a key of their leaves; ties keep theirs.
    fn ordered_by<K: Ord>(mut self, key: impl Fn(CodeRange) -> K) -> Hierarchy {
        if self.n_leaves() == 0 {
            return self;
        }
        let orders = self.node_orders(key);
        let new_indexes: Vec<Vec<u32>> = orders.iter().map(|order| inverse(order)).collect();
        for (level, order) in self.levels.iter_mut().zip(&orders) {
            *level = level.reordered(order);
        }
        for node in self.node_by_label.values_mut() {
            node.index = new_indexes[node.level][node.index] as usize;
        }
        self
    }

    /// Asserts every property that the module promises.
    pub fn check_invariants(&self) {
        let n_leaves = self.n_leaves();
        let top = &self.levels[self.height()];
        assert!(self.height() >= 1, "a top stands above the leaves");
        assert_eq!(top.labels.len(), 1, "there is one top");
        assert_eq!(top.leaves_of(0).indexes(), 0..n_leaves as usize, "the top holds every leaf");
        for (level_idx, level) in self.levels.iter().enumerate() {
            let n_nodes = level.labels.len();
            assert_eq!(level.node_of.len(), n_leaves as usize, "all leaves are equally deep");
            assert_eq!(level.starts.len(), n_nodes + 1, "level {level_idx}: a range per node");
            for index in 0..n_nodes {
                let leaves = level.leaves_of(index);
                assert!(!leaves.is_empty() || n_leaves == 0, "level {level_idx}: an empty node");
                assert!(leaves.indexes().all(|code| level.node_of[code] == index as u32));
                let named = self.node_by_label(&level.labels[index]).expect("labels are indexed");
                assert!(named.level <= level_idx, "the lowest node of a label is indexed");
                assert!(self.leaves_of(named) == leaves, "a label means one set of leaves");
                let mut places: Vec<u32> =
                    leaves.into_iter().map(|code| self.levels[0].places[code.index()]).collect();
                places.sort_unstable();
                let expected = level.places[index]..level.places[index] + leaves.len() as u32;
                assert!(places.into_iter().eq(expected), "every node is a range of places");
            }
        }
        for pair in self.levels.windows(2) {
            let nested = |index| {
                let leaves = pair[0].leaves_of(index);
                let (first, last) = (leaves.start.index(), leaves.end.index() - 1);
                pair[1].node_of[first] == pair[1].node_of[last]
            };
            assert!((0..pair[0].labels.len()).all(nested), "levels are nested");
        }
    }

    /// A hierarchy without leaves, for a column without values.
    fn empty() -> Hierarchy {
        let top: Arc<str> = Arc::from(TOP);
        let leaves = Level {
            labels: Vec::new(),
            starts: vec![Code::ZERO],
            node_of: Vec::new(),
            places: Vec::new(),
        };
        let root = Level {
            labels: vec![top.clone()],
            starts: vec![Code::ZERO; 2],
            node_of: Vec::new(),
            places: vec![0],
        };
        let node_by_label = FxHashMap::from_iter([(top, Node { level: 1, index: 0 })]);
        Hierarchy {
            levels: vec![leaves, root],
            node_by_label,
            added_top: false,
            is_given: false,
            finest: 0,
        }
    }

    /// For each level, its present nodes in the order of a key within their parents.
    fn node_orders<K: Ord>(&self, key: impl Fn(CodeRange) -> K) -> Vec<Vec<u32>> {
        let mut orders = vec![Vec::new(); self.levels.len()];
        orders[self.height()] = vec![0];
        for level_idx in (0..self.height()).rev() {
            let (level, above) = (&self.levels[level_idx], &self.levels[level_idx + 1]);
            let mut order = Vec::with_capacity(level.labels.len());
            for &parent in &orders[level_idx + 1] {
                let leaves = above.leaves_of(parent as usize);
                let first = level.node_of[leaves.start.index()];
                let last = level.node_of[leaves.end.index() - 1];
                let n_done = order.len();
                order.extend(first..=last);
                let own = &mut order[n_done..];
                own.sort_by_cached_key(|&index| key(level.leaves_of(index as usize)));
            }
            orders[level_idx] = order;
        }
        orders
    }
}

/// Shows sizes only: labels are values of the column or tell about them.
impl fmt::Debug for Hierarchy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_nodes: Vec<usize> = self.levels.iter().map(|level| level.labels.len()).collect();
        f.debug_struct("Hierarchy")
            .field("n_nodes", &n_nodes)
            .field("added_top", &self.added_top)
            .finish_non_exhaustive()
    }
}

impl Level {
    fn leaves_of(&self, index: usize) -> CodeRange {
        CodeRange { start: self.starts[index], end: self.starts[index + 1] }
    }

    /// This level with its nodes in another order.
    fn reordered(&self, order: &[u32]) -> Level {
        let mut reordered = Level {
            labels: Vec::with_capacity(order.len()),
            starts: Vec::with_capacity(order.len() + 1),
            node_of: Vec::with_capacity(self.node_of.len()),
            places: Vec::with_capacity(order.len()),
        };
        for (new_index, &index) in order.iter().enumerate() {
            reordered.labels.push(self.labels[index as usize].clone());
            reordered.starts.push(Code::of_index(reordered.node_of.len()));
            reordered.places.push(self.places[index as usize]);
            let n_leaves = self.leaves_of(index as usize).len();
            reordered.node_of.extend(std::iter::repeat_n(number(new_index), n_leaves));
        }
        reordered.starts.push(Code::of_index(reordered.node_of.len()));
        reordered
    }
}

/// Where a hierarchy comes from, for messages.
struct Place<'a> {
    column: &'a str,
    origin: String,
}

impl Place<'_> {
    fn error(&self, problem: impl Into<String>, hint: impl Into<Wording>) -> TableError {
        self.error_at(None, problem, hint)
    }

    fn error_at(
        &self,
        line: Option<u64>,
        problem: impl Into<String>,
        hint: impl Into<Wording>,
    ) -> TableError {
        TableError::Hierarchy {
            column: self.column.to_owned(),
            origin: self.origin.clone(),
            line,
            problem: problem.into(),
            hint: hint.into(),
        }
    }
}

/// The place of each element of a permutation.
fn inverse(order: &[u32]) -> Vec<u32> {
    let mut places = vec![0; order.len()];
    for (place, &element) in order.iter().enumerate() {
        places[element as usize] = number(place);
    }
    places
}

/// A number of leaves or nodes, in the width in which they are kept.
fn number(number: usize) -> u32 {
    u32::try_from(number).expect("a column has fewer than 2^32 distinct values")
}

#[cfg(test)]
mod tests;
