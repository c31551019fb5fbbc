//! What a job chooses from.

use serde::{Deserialize, Serialize};

/// How classes are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The best for the table.
    #[default]
    Auto,
    /// Top-down cuts in memory.
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
    /// Local recoding: rows grouped by least added loss.
    Local,
}

impl Method {
    /// The word used in flags, job files and manifests.
    pub fn name(self) -> &'static str {
        match self {
            Method::Auto => "auto",
            Method::Mondrian => "mondrian",
            Method::Rtree => "rtree",
            Method::Incognito => "incognito",
            Method::Samarati => "samarati",
            Method::BottomUp => "bottom-up",
            Method::AttributeSuppression => "attribute-suppression",
            Method::Subtree => "subtree",
            Method::OrderedSet => "ordered-set",
            Method::Local => "local",
        }
    }

    /// Whether every value of a column is shown at the same level.
    pub fn is_full_domain(self) -> bool {
        matches!(
            self,
            Method::Incognito | Method::Samarati | Method::BottomUp | Method::AttributeSuppression
        )
    }

    /// Whether rows may be left out.
    pub fn can_suppress(self) -> bool {
        self.is_full_domain() || matches!(self, Method::Subtree | Method::OrderedSet)
    }
}

/// How a lattice is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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

impl SearchVariant {
    /// The word used in flags, job files and manifests.
    pub fn name(self) -> &'static str {
        match self {
            SearchVariant::Basic => "basic",
            SearchVariant::SuperRoots => "super-roots",
            SearchVariant::Cube => "cube",
            SearchVariant::Rollup => "rollup",
            SearchVariant::Scan => "scan",
        }
    }
}

/// What the best full-domain generalization has least of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MinimizeChoice {
    /// The normalized certainty penalty.
    #[default]
    Ncp,
    /// The sum of the levels.
    Height,
    /// The discernibility.
    Discernibility,
    /// The levels as shares of their hierarchies, by the weights of the columns.
    Weights,
}

impl MinimizeChoice {
    /// The word used in flags, job files and manifests.
    pub fn name(self) -> &'static str {
        match self {
            MinimizeChoice::Ncp => "ncp",
            MinimizeChoice::Height => "height",
            MinimizeChoice::Discernibility => "discernibility",
            MinimizeChoice::Weights => "weights",
        }
    }
}

/// How leaves of an index are brought together for a coarser release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GranularityChoice {
    /// The finest cut through the index.
    #[default]
    Cut,
    /// Leaves in tree order.
    LeafScan,
    /// Whole nodes of the index.
    Hierarchical,
}

impl GranularityChoice {
    /// The word used in flags, job files and manifests.
    pub fn name(self) -> &'static str {
        match self {
            GranularityChoice::Cut => "cut",
            GranularityChoice::LeafScan => "leaf-scan",
            GranularityChoice::Hierarchical => "hierarchical",
        }
    }
}

/// How cuts are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SplitPolicy {
    /// The least loss over all cuts of all columns.
    #[default]
    Compact,
    /// The widest column, nearest its median.
    Median,
}

impl SplitPolicy {
    /// The word used in flags, job files and manifests.
    pub fn name(self) -> &'static str {
        match self {
            SplitPolicy::Compact => "compact",
            SplitPolicy::Median => "median",
        }
    }
}

/// How categories with a hierarchy are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Categories {
    /// As the label of the lowest common ancestor.
    Label,
    /// As the set of values that occur; ordered values as an interval.
    Set,
}
