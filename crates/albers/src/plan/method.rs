//! How classes are found: what a job says of its method, and nothing that has no effect on it.

use albers_index::access_methods::Relative;
use albers_index::granularity::{FAN_OUT, Granularity};
use albers_lattice::choose::Minimize;
use albers_partition::grain::Grain;
use albers_partition::n_lanes;
use albers_partition::split::Policy;
use albers_partition::trust::Trust;
use albers_privacy::DifferentialPrivacy;
use albers_release::publish::FeatureColumn;

use super::portfolio::PortfolioPlan;
use super::resources::checked_bytes;
use super::search::SearchPlan;
use super::{columns, external, private};
use crate::error::Result;
use crate::job::{Effort, External, Job, Knobs, Method, Split};

/// How classes are found. Each variant holds what has an effect on it, and nothing else.
#[derive(Debug, Clone)]
pub(crate) enum MethodPlan {
    /// Cuts, in memory where the table fits.
    Cuts {
        /// How they are chosen and shown.
        cuts: CutPlan,
    },
    /// An index, in memory or not.
    Index {
        /// How leaves are split and shown.
        cuts: CutPlan,
        /// How leaves are brought together for coarser releases.
        granularity: Granularity,
        /// The most children of a node, where nodes bring them together.
        fan_out: usize,
        /// Whether it is drawn how they were merged.
        draws: bool,
    },
    /// Every value of a column at the same level.
    FullDomain(SearchPlan),
    /// One recoding of each column, found from the top down.
    Specialize {
        /// Which one.
        kind: Specialization,
        /// The share of the rows that may be left out.
        suppress: f64,
    },
    /// Rows grouped by least added loss.
    Local {
        /// The share of the rows that may be left out.
        suppress: f64,
    },
    /// A BANG file.
    Bang {
        /// Whether regions may lie in each other.
        nests: bool,
        /// What classes show beside their cells: the depth of their regions, where these tell them
        /// apart.
        features: Vec<FeatureColumn>,
        /// How blocks are brought together for coarser releases; without it, what loses least.
        granularity: Option<Granularity>,
        /// Whether that is drawn.
        draws: bool,
        /// Whether classes show their regions instead of their rows' bounds.
        shows_regions: bool,
        /// Sizes that decide how large blocks are divided.
        grain: Grain,
    },
    /// A relative of it.
    Access {
        /// Which one.
        relative: Relative,
        /// Its word.
        method: Method,
        /// What classes show beside their cells, as of a BANG file.
        features: Vec<FeatureColumn>,
        /// Whether classes show their regions instead of their rows' bounds.
        shows_regions: bool,
    },
    /// The cells of a grid.
    Grid {
        /// Whether classes show their regions instead of their rows' bounds.
        shows_regions: bool,
    },
    /// The cells of a grid that does not look at the rows, of which some are drawn in secret.
    Private {
        /// What is promised, and what keeps it.
        promise: DifferentialPrivacy,
    },
    /// The leaves of a recoding function, which was found on other rows.
    Recoded {
        /// How its leaves were split, and are shown.
        cuts: CutPlan,
    },
    /// The classes of a given release.
    Given {
        /// The k that the job asks for; without one, the given release tells it.
        k: Option<u64>,
        /// What its classes show beside their cells: the depth of their regions, where it tells it.
        features: Vec<FeatureColumn>,
    },
}

/// How cuts are chosen, and what they leave.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CutPlan {
    /// How a cut is chosen.
    pub(crate) split: Split,
    /// The same where targets have no say.
    pub(crate) policy: Policy,
    /// Whether classes show their regions instead of their rows' bounds.
    pub(crate) shows_regions: bool,
    /// Sizes that decide which cuts are made.
    pub(crate) grain: Grain,
    /// How a table is cut that need not fit in memory, where the job says so.
    pub(crate) external: Option<External>,
    /// Whether every cut is weighed on all rows.
    pub(crate) is_exact: bool,
    /// Whether counts of values decide all cuts.
    pub(crate) counts_decide: bool,
    /// The share of the rows that may be left out.
    pub(crate) suppress: f64,
    /// What experiments set.
    pub(crate) knobs: Knobs,
    /// What is tried besides, where the job leaves open how its table is cut.
    pub(crate) portfolio: Option<PortfolioPlan>,
}

impl CutPlan {
    /// The words for reports.
    fn words(&self) -> String {
        let split = match self.split.follows_workload() {
            false => self.split.to_string(),
            true => format!("{}, then {}", self.split, self.policy),
        };
        let how = how_words(self.is_exact, self.external);
        let how = how.map(|own| format!(", {own}")).unwrap_or_default();
        let least = match self.policy {
            Policy::Sizes => format!(", least {}", Minimize::Discernibility),
            Policy::Compact | Policy::Median => String::new(),
        };
        format!("{split} split{how}{least}")
    }

    /// Whether a table that does not fit in memory is refused.
    pub(crate) fn is_only_in_memory(&self) -> bool {
        self.is_exact && self.external.is_none() || self.regroups()
    }

    /// Whether rows are also grouped by local recoding.
    pub(crate) fn regroups(&self) -> bool {
        self.portfolio.is_some_and(|own| own.effort == Effort::Best)
    }

    /// Whether classes that overlap are refused.
    pub(crate) fn is_disjoint(&self) -> bool {
        self.portfolio.is_some_and(|own| own.is_disjoint)
    }

    /// Whether a table is cut by counts of values although it may fit in memory.
    pub(crate) fn counts_outside(&self) -> bool {
        self.external == Some(External::Tree) && self.knobs.memory_rows.is_some()
    }

    /// About what so many rows take while they are cut at once, beside their codes: points of whole
    /// vectors, and what is tried of them.
    pub(crate) fn table_bytes(&self, n_rows: u64, n_attributes: usize) -> usize {
        let ways = self.portfolio.and_then(PortfolioPlan::ways);
        let spare_lanes = n_lanes(n_attributes).saturating_sub(n_attributes);
        let row_bytes =
            spare_lanes * size_of::<u32>() + ways.map_or(0, |ways| ways.row_bytes(n_attributes));
        let at_once = n_rows.min(self.grain.whole_rows as u64) as usize;
        at_once.saturating_mul(row_bytes)
    }

    /// How far a sample is trusted, where tests tell it.
    pub(crate) fn trust(&self) -> Option<Trust> {
        let Knobs { test, height, .. } = self.knobs;
        let is_tested = self.external == Some(External::Sample);
        is_tested.then_some(Trust { test, height })
    }
}

/// A recoding that treats equal values alike wherever they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Specialization {
    /// Whole subtrees of hierarchies.
    Subtree,
    /// Intervals or sets of ordered values.
    OrderedSet,
    /// Either, by what tells most of the targets.
    Tds,
}

impl Specialization {
    /// The method that finds it.
    pub(crate) fn method(self) -> Method {
        match self {
            Specialization::Subtree => Method::Subtree,
            Specialization::OrderedSet => Method::OrderedSet,
            Specialization::Tds => Method::Tds,
        }
    }
}

impl MethodPlan {
    /// The plan of the job's method, of which [`effects::check`] has refused what it cannot use.
    pub(super) fn of(job: &Job) -> Result<MethodPlan> {
        let suppress = job.suppress.unwrap_or(0.0);
        let cuts = CutPlan {
            split: job.split.unwrap_or_default(),
            policy: policy_of(job),
            shows_regions: job.compact == Some(false),
            grain: grain_of(job)?,
            external: job.external,
            is_exact: is_exact(job),
            counts_decide: external::counts_decide(job),
            suppress,
            knobs: job.knobs,
            portfolio: PortfolioPlan::of(job),
        };
        let (granularity, draws) = (job.granularity.unwrap_or_default(), job.dendrogram.is_some());
        Ok(match job.method() {
            Method::Auto if job.also_k.is_empty() => MethodPlan::Cuts { cuts },
            Method::Mondrian => MethodPlan::Cuts { cuts },
            Method::Auto | Method::Rtree => {
                let fan_out = job.fan_out.map_or(FAN_OUT, |own| own as usize);
                MethodPlan::Index { cuts, granularity, fan_out, draws }
            }
            Method::Incognito
            | Method::Samarati
            | Method::BottomUp
            | Method::AttributeSuppression => MethodPlan::FullDomain(SearchPlan::of(job)?),
            Method::Subtree => MethodPlan::Specialize { kind: Specialization::Subtree, suppress },
            Method::OrderedSet => {
                MethodPlan::Specialize { kind: Specialization::OrderedSet, suppress }
            }
            Method::Tds => MethodPlan::Specialize { kind: Specialization::Tds, suppress },
            Method::Local => MethodPlan::Local { suppress },
            Method::Bang => {
                let CutPlan { shows_regions, grain, .. } = cuts;
                let nests = job.nesting != Some(false);
                // Whoever names the column of levels asks for levels.
                let is_leveled = job.level_column.is_some() && !job.also_k.is_empty();
                let granularity = job.granularity.or(is_leveled.then_some(Granularity::Nested));
                let features = columns::level_features(job);
                MethodPlan::Bang { nests, features, granularity, draws, shows_regions, grain }
                    .with_levels()
            }
            method @ (Method::BdTree
            | Method::HbTree
            | Method::KdTrie
            | Method::KdBTrie
            | Method::PrQuadtree
            | Method::GridFile) => MethodPlan::Access {
                relative: method.relative().expect("these are relatives"),
                method,
                features: columns::level_features(job),
                shows_regions: cuts.shows_regions,
            },
            Method::Grid => match private::promise_of(job)? {
                Some(promise) => MethodPlan::Private { promise },
                None => MethodPlan::Grid { shows_regions: cuts.shows_regions },
            },
        })
    }

    /// The words for reports; `is_coarser` tells of a release of several.
    pub(crate) fn words(&self, is_coarser: bool) -> String {
        match self {
            MethodPlan::Cuts { cuts } => format!("mondrian, {}", cuts.words()),
            MethodPlan::Index { cuts, granularity, .. } => match is_coarser {
                false => format!("rtree, {}", cuts.words()),
                true => format!("rtree, {}, {granularity}", cuts.words()),
            },
            MethodPlan::FullDomain(search) => search.words(),
            MethodPlan::Specialize { kind, .. } => kind.method().to_string(),
            MethodPlan::Local { .. } => "local".to_owned(),
            MethodPlan::Bang { nests, granularity, .. } => {
                let nesting = if *nests { "" } else { ", no nesting" };
                let granularity = granularity.filter(|_| is_coarser);
                let granularity = granularity.map(|own| format!(", {own}")).unwrap_or_default();
                format!("bang{nesting}{granularity}")
            }
            MethodPlan::Access { method, .. } => method.to_string(),
            MethodPlan::Grid { .. } => "grid".to_owned(),
            MethodPlan::Private { .. } => "grid, drawn in secret".to_owned(),
            MethodPlan::Recoded { cuts } => format!("recoded, {}", cuts.words()),
            MethodPlan::Given { .. } => "compaction of a given release".to_owned(),
        }
    }

    /// Whether the same rows, job and seed give the same release: a search with a time limit finds
    /// what it has time for, and rows that are drawn in secret are others each time.
    pub(crate) fn is_repeatable(&self) -> bool {
        match self {
            MethodPlan::FullDomain(search) => search.time.is_none(),
            MethodPlan::Private { .. } => false,
            _ => true,
        }
    }

    /// Whether classes that overlap are refused.
    pub(crate) fn is_disjoint(&self) -> bool {
        matches!(self, MethodPlan::Cuts { cuts } if cuts.is_disjoint())
    }

    /// What is promised of it, where it is differential privacy.
    pub(crate) fn promise(&self) -> Option<DifferentialPrivacy> {
        match self {
            MethodPlan::Private { promise } => Some(*promise),
            _ => None,
        }
    }

    /// Sizes that decide which cuts are made, where there are cuts.
    pub(crate) fn grain(&self) -> Option<Grain> {
        match self {
            MethodPlan::Cuts { cuts }
            | MethodPlan::Index { cuts, .. }
            | MethodPlan::Recoded { cuts } => Some(cuts.grain),
            MethodPlan::Bang { grain, .. } => Some(*grain),
            _ => None,
        }
    }

    /// The same where a sample of the rows has a say.
    pub(crate) fn sample_grain(&self) -> Option<Grain> {
        match self {
            MethodPlan::Recoded { .. } => None,
            other => other.grain(),
        }
    }

    /// Whether classes come of cuts, so that one class means that no cut was allowable.
    pub(crate) fn is_cut(&self) -> bool {
        matches!(
            self,
            MethodPlan::Cuts { .. }
                | MethodPlan::Index { .. }
                | MethodPlan::Bang { .. }
                | MethodPlan::Access { .. }
                | MethodPlan::Grid { .. }
        )
    }

    /// What classes show beside their cells.
    pub(crate) fn features(&self) -> &[FeatureColumn] {
        match self {
            MethodPlan::Bang { features, .. }
            | MethodPlan::Given { features, .. }
            | MethodPlan::Access { features, .. } => features,
            _ => &[],
        }
    }

    /// The same without a level where regions that lie in each other are no longer classes.
    fn with_levels(mut self) -> MethodPlan {
        if let MethodPlan::Bang { features, granularity, .. } = &mut self
            && granularity.is_some_and(|own| !own.needs_nesting())
        {
            features.clear();
        }
        self
    }

    /// The same with blocks brought together in a given way.
    pub(crate) fn with_granularity(&self, chosen: Granularity) -> MethodPlan {
        let mut method = self.clone();
        if let MethodPlan::Bang { granularity, .. } = &mut method {
            *granularity = Some(chosen);
        }
        method.with_levels()
    }

    /// Whether the regions of classes lie in each other, and their levels are shown.
    pub(crate) fn is_nested(&self) -> bool {
        !self.features().is_empty()
    }
}

/// How cuts are chosen that follow no target.
pub(super) fn policy_of(job: &Job) -> Policy {
    let policy = match job.split {
        Some(Split::Median) => Policy::Median,
        Some(Split::InfoGain | Split::Regression | Split::Selection) => {
            job.then.unwrap_or_default()
        }
        Some(Split::Compact) | None => Policy::Compact,
    };
    match (policy, job.minimize) {
        (Policy::Compact, Some(Minimize::Discernibility)) => Policy::Sizes,
        _ => policy,
    }
}

/// How the first cuts of a large table are chosen, where a job says it.
pub(super) fn how(job: &Job) -> Option<&'static str> {
    how_words(is_exact(job), job.external)
}

fn how_words(is_exact: bool, external: Option<External>) -> Option<&'static str> {
    match (is_exact, external) {
        (true, _) => Some("exact"),
        (false, Some(_)) => Some("tested sample"),
        (false, None) => None,
    }
}

/// Whether every cut is weighed on all rows: it is said, or counts of all rows decide.
fn is_exact(job: &Job) -> bool {
    job.exact == Some(true) || job.external == Some(External::Tree)
}

/// The sizes that follow from the least memory that a job is planned for.
fn grain_of(job: &Job) -> Result<Grain> {
    let grain = match job.least_memory {
        _ if is_exact(job) => return Ok(Grain::exact()),
        None => Grain::default(),
        Some(size) => Grain::of(usize::try_from(checked_bytes(size)?).unwrap_or(usize::MAX)),
    };
    if job.external != Some(External::Sample) {
        return Ok(grain);
    }
    let Knobs { sample_rows, memory_rows, .. } = job.knobs;
    let whole_rows = memory_rows.unwrap_or(grain.whole_rows).max(1);
    Ok(Grain { whole_rows, cell_rows: whole_rows / 8, sample_rows, ..grain })
}
