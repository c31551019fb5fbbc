//! What a job chooses from, besides the choices of single methods.

use albers_index::access_methods::Relative;
use albers_storage::choices;

/// How classes are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[non_exhaustive]
pub enum Method {
    /// In memory if the table fits there, by an index on disk if not.
    #[default]
    Auto,
    /// The same by name: cuts from the top down, in memory and beyond it.
    Mondrian,
    /// An R+-tree, loaded by a buffer tree: for tables of any size, and for several releases of one
    /// index.
    Rtree,
    /// Full-domain generalization: every value of a column at the same level.
    Incognito,
    /// The same, by a binary search on the height.
    Samarati,
    /// The same, from the bottom of the lattice.
    BottomUp,
    /// Whole columns shown or suppressed.
    AttributeSuppression,
    /// One label for each value of a column, wherever it stands: whole subtrees of its hierarchy.
    Subtree,
    /// One interval or set for each value of a column, wherever it stands.
    OrderedSet,
    /// Top-down specialization: one label, interval or set for each value of a column, those that
    /// tell most of the targets of the workload.
    Tds,
    /// Local recoding: rows grouped by least added loss.
    Local,
    /// A BANG file: regions of halved space that may lie in each other.
    Bang,
    /// A grid: space halved equally often everywhere.
    Grid,
    /// A relative of it: the first halves on the way into the denser one that have few enough rows.
    BdTree,
    /// A relative of it: the same with a tree of cuts at medians instead of halves.
    HbTree,
    /// A relative of it: halves side by side, one column after another.
    KdTrie,
    /// A relative of it: halves of any column, side by side.
    KdBTrie,
    /// A relative of it: halves of all columns at once, side by side.
    PrQuadtree,
    /// A relative of it: boxes between lines that run through all of space.
    GridFile,
}

choices!(Method {
    Auto: "auto", "In memory if the table fits there, by an index on disk if not";
    Mondrian: "mondrian", "Cuts from the top down, in memory and beyond it";
    Rtree: "rtree", "An R+-tree loaded by a buffer tree: tables of any size, several releases of one index";
    Incognito: "incognito", "Full-domain: every value of a column at the same level of its hierarchy, the best of all";
    Samarati: "samarati", "Full-domain, by a binary search for the least sum of levels";
    BottomUp: "bottom-up", "Full-domain, by a search of the whole lattice from its bottom";
    AttributeSuppression: "attribute-suppression", "Whole columns, shown or suppressed";
    Subtree: "subtree", "One label for each value of a column, wherever it stands";
    OrderedSet: "ordered-set", "One interval or set for each value of a column, wherever it stands";
    Tds: "tds", "One label, interval or set for each value of a column: what tells most of the targets";
    Local: "local", "Rows grouped by least added loss: loses least, takes longest; classes may overlap";
    Bang: "bang", "Halves of halves of space, one within another, told apart by a level column";
    Grid: "grid", "Space halved equally often everywhere; without -k, tells the k of each resolution; with --epsilon, private by a proof";
    BdTree: "bd-tree", "Like bang, for comparison: the first denser half with at most two thirds of the rows";
    HbTree: "hb-tree", "Like bang, for comparison: parts of a tree of cuts at medians instead of halves";
    KdTrie: "kd-trie", "For comparison: halves side by side, one column after another";
    KdBTrie: "kd-b-trie", "For comparison: halves side by side, of any column";
    PrQuadtree: "pr-quadtree", "For comparison: halves of all columns at once, at most six columns";
    GridFile: "grid-file", "For comparison: boxes between lines that run through all of space";
} but not {
    "bsp": "its regions are no boxes, and a reader who filters column by column cannot find them";
    "bsp-tree": "its regions are no boxes, and a reader who filters column by column cannot find them";
    "kd-tree": "it is 'mondrian', with '--split median'";
    "kd-b-tree": "it divides rows as a kd-tree does: use 'mondrian'";
    "r-tree": "its regions overlap: use 'rtree', an R+-tree";
    "r+-tree": "it is 'rtree'";
    "bv-tree": "it has the regions of a BANG file, and differs in its directory: use 'bang'";
    "bang-file": "it is 'bang'";
    "quadtree": "of its kinds there is 'pr-quadtree'";
});

impl Method {
    /// The access method that it is, of those that are there for comparison with a BANG file.
    pub fn relative(self) -> Option<Relative> {
        Some(match self {
            Method::BdTree => Relative::BdTree,
            Method::HbTree => Relative::HbTree,
            Method::KdTrie => Relative::KdTrie,
            Method::KdBTrie => Relative::KdBTrie,
            Method::PrQuadtree => Relative::PrQuadtree,
            Method::GridFile => Relative::GridFile,
            _ => return None,
        })
    }

    /// Whether regions may lie in each other.
    pub fn may_nest(self) -> bool {
        self == Method::Bang || self.relative().is_some_and(Relative::is_nested)
    }
}

/// How cuts are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Split {
    /// The least loss of the parts.
    #[default]
    Compact,
    /// The widest column, nearest its median.
    Median,
    /// What tells most about classes.
    InfoGain,
    /// What tells most about numbers.
    Regression,
    /// What spares selections most rows.
    Selection,
}

choices!(Split {
    Compact: "compact", "The least loss over all cuts of all columns";
    Median: "median", "The widest column, nearest its median: faster, loses more";
    InfoGain: "info-gain", "What tells most about the classes of the targets, where anything does";
    Regression: "regression", "What tells most about the numbers of the targets, where anything does";
    Selection: "selection", "What spares the selections most rows that do not satisfy them, where anything does";
});

impl Split {
    /// How targets are taken whose kind is not given, where there are targets.
    pub fn target_kind(self) -> Option<TargetKind> {
        match self {
            Split::Compact | Split::Median | Split::Selection => None,
            Split::InfoGain => Some(TargetKind::Class),
            Split::Regression => Some(TargetKind::Number),
        }
    }

    /// Whether cuts follow a workload, and another policy where it has no say.
    pub fn follows_workload(self) -> bool {
        !matches!(self, Split::Compact | Split::Median)
    }
}

/// How much `auto` tries to lose less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effort {
    /// One way.
    Fast,
    /// Several ways, the one that loses least.
    #[default]
    Balanced,
    /// The same, and local recoding.
    Best,
}

choices!(Effort {
    Fast: "fast", "Cuts that lose least, and nothing else";
    Balanced: "balanced", "Six ways to cut, the one that loses least (default)";
    Best: "best", "The same, and local recoding: the table must fit in memory";
});

/// How a table is cut that need not fit in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum External {
    /// By counts of the values of all rows.
    Tree,
    /// By a sample, as far as tests support it.
    Sample,
}

choices!(External {
    Tree: "tree", "By counts of the values of all rows: the cuts of --exact, in any memory";
    Sample: "sample", "By a sample, as far as tests support it";
});

/// What is told of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// Which of its values.
    Class,
    /// How much.
    Number,
}

choices!(TargetKind {
    Class: "class", "Which of its values a row has";
    Number: "number", "How much it is";
});

/// How a lattice is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchVariant {
    /// Incognito: each root from the table.
    Basic,
    /// Incognito: the roots of one subset of the columns together.
    SuperRoots,
    /// Incognito: from sets computed beforehand for all subsets of the columns.
    Cube,
    /// Bottom-up: each set from one below.
    Rollup,
    /// Bottom-up: each set from the table.
    Scan,
}

choices!(SearchVariant {
    Basic: "basic", "Incognito: each root from the table";
    SuperRoots: "super-roots", "Incognito: the roots of one subset of the columns together (default)";
    Cube: "cube", "Incognito: from sets computed beforehand for all subsets of the columns";
    Rollup: "rollup", "Bottom-up: each set from one below (default)";
    Scan: "scan", "Bottom-up: each set from the table";
});

/// How columns with a hierarchy are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Categories {
    /// As the label of the lowest common ancestor.
    Label,
    /// As the set of values that occur; ordered values as an interval.
    Set,
}

choices!(Categories {
    Label: "label", "As the label of the lowest common ancestor (default)";
    Set: "set", "As the set of values that occur, ordered values as an interval: loses less";
});
