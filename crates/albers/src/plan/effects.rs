//! Which settings have an effect on which method: the one place that refuses those that have none.
//!
//! Resources (memory, threads, the folder of temporary data) and the order of the output have an
//! effect on every method, and are never refused.

use albers_index::access_methods::{MAX_ATTRIBUTES, Relative};
use albers_index::granularity::{Granularity, LEAST_FAN_OUT, MOST_FAN_OUT};
use albers_lattice::choose::Minimize;
use albers_partition::split::Policy;
use albers_release::publish::Values;
use albers_storage::choice::Choice;
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::schema::Role;

use super::method::policy_of;
use super::{columns, external, portfolio, private};
use crate::error::{Error, Result};
use crate::job::{Categories, External, Job, Method, Split};

/// Refuses what a job says without effect, or against its method.
pub(super) fn check(job: &Job) -> Result<()> {
    let method = job.method();
    for (field, is_given, suits, other) in settings(job) {
        if is_given && !suits(method) {
            return Err(Error::usage(
                wording![field, " has no effect with ", Field::Method.of(method.name())],
                wording!["drop it, or use ", Field::Method.of(other.name())],
            ));
        }
    }
    if job.granularity.is_some() && job.also_k.is_empty() {
        return Err(Error::usage(
            wording![Field::Granularity, " has no effect, since no coarser release is asked for"],
            wording!["add ", Field::AlsoK.of("10,100"), ", for example"],
        ));
    }
    check_granularity(job, method)?;
    check_fan_out(job)?;
    check_minimize(job, method)?;
    if job.level_column.is_some() && job.nesting == Some(false) {
        return Err(Error::usage(
            wording![Field::LevelColumn, " has no effect with ", Field::Nesting.of("false")],
            "drop one of them: classes side by side have no levels",
        ));
    }
    check_external(job)?;
    portfolio::check(job)?;
    check_quadtree(job, method)?;
    private::promise_of(job)?;
    check_means(job)?;
    check_categories(job, method)?;
    check_suppression(job, method)?;
    check_finest(job)?;
    columns::check_roles(job)
}

/// Regions must lie in each other to be brought together so, and leaves be merged to be drawn.
fn check_granularity(job: &Job, method: Method) -> Result<()> {
    let granularity = job.granularity.unwrap_or_default();
    let nests = method == Method::Bang && job.nesting != Some(false);
    if granularity.needs_nesting() && !nests {
        return Err(Error::usage(
            wording![
                Field::Granularity.of(granularity.name()),
                match method {
                    Method::Bang => ": no regions lie in each other without nesting".to_owned(),
                    _ => format!(": no regions of {method} lie in each other"),
                }
            ],
            wording!["use ", Field::Granularity.of(Granularity::Dendrogram.name())],
        ));
    }
    if granularity == Granularity::Hierarchical && method == Method::Bang {
        return Err(Error::usage(
            wording![
                Field::Granularity.of(granularity.name()),
                ": a BANG file has no nodes above its blocks"
            ],
            wording!["use ", Field::Granularity.of(Granularity::Nested.name())],
        ));
    }
    let is_plain = job.granularity.is_some_and(|own| !own.needs_nesting());
    if job.level_column.is_some() && is_plain && method == Method::Bang {
        return Err(Error::usage(
            wording![
                Field::LevelColumn,
                " has no effect with ",
                Field::Granularity.of(granularity.name())
            ],
            wording![
                "drop one of them, or use ",
                Field::Granularity.of(Granularity::Nested.name())
            ],
        ));
    }
    if job.dendrogram.is_some() && job.also_k.is_empty() {
        return Err(Error::usage(
            wording![Field::Dendrogram, " has no effect, since no coarser release is asked for"],
            wording![
                "add ",
                Field::AlsoK.of("10,100"),
                " and ",
                Field::Granularity.of(Granularity::Dendrogram.name()),
                ", for example"
            ],
        ));
    }
    if job.dendrogram.is_some() && !granularity.has_dendrogram() {
        return Err(Error::usage(
            wording![
                Field::Dendrogram,
                " has no effect, since leaves are brought together without a dendrogram"
            ],
            wording!["drop it, or use ", Field::Granularity.of(Granularity::Dendrogram.name())],
        ));
    }
    Ok(())
}

/// Nodes must bring leaves together for their number of children to matter.
fn check_fan_out(job: &Job) -> Result<()> {
    let Some(fan_out) = job.fan_out else { return Ok(()) };
    let hierarchical = || Field::Granularity.of(Granularity::Hierarchical.name());
    if job.also_k.is_empty() || job.granularity != Some(Granularity::Hierarchical) {
        return Err(Error::usage(
            wording![
                Field::FanOut,
                " has no effect, since leaves are not brought together by nodes"
            ],
            wording!["drop it, or use ", hierarchical(), " with ", Field::AlsoK],
        ));
    }
    match (LEAST_FAN_OUT as u64..=MOST_FAN_OUT as u64).contains(&fan_out) {
        true => Ok(()),
        false => Err(Error::usage(
            format!("nodes cannot have up to {fan_out} children"),
            format!("use a number from {LEAST_FAN_OUT} to {MOST_FAN_OUT}"),
        )),
    }
}

/// Cuts can be chosen by what they lose or by the classes they leave, unless medians choose them.
fn check_minimize(job: &Job, method: Method) -> Result<()> {
    let Some(minimize) = job.minimize.filter(|_| cuts(method)) else { return Ok(()) };
    if matches!(minimize, Minimize::Height | Minimize::Weights) {
        return Err(Error::usage(
            wording![
                Field::Minimize.of(minimize.name()),
                " has no effect with ",
                Field::Method.of(method.name()),
                ", whose classes have no levels"
            ],
            wording![
                "use ",
                Field::Minimize.of(Minimize::Ncp.name()),
                ", ",
                Field::Minimize.of(Minimize::Discernibility.name()),
                " or ",
                Field::Method.of(Method::Incognito.name())
            ],
        ));
    }
    if policy_of(job) != Policy::Median {
        return Ok(());
    }
    let median = match job.then {
        Some(then) => Field::Then.of(then.name()),
        None => Field::Split.of(Split::Median.name()),
    };
    Err(Error::usage(
        wording![Field::Minimize, " has no effect with ", median, ", which weighs no cuts"],
        wording!["drop one of them, or use ", Field::Split.of(Split::Compact.name())],
    ))
}

/// What contradicts how a large table is to be cut.
fn check_external(job: &Job) -> Result<()> {
    if job.exact == Some(true) && job.external == Some(External::Sample) {
        return Err(Error::usage(
            wording![
                Field::Exact,
                " and ",
                Field::External.of("sample"),
                " contradict each other: a sample has a part of the rows only"
            ],
            wording!["drop one of them, or use ", Field::External.of("tree")],
        ));
    }
    let one_release = [
        (
            Field::Exact,
            job.exact == Some(true),
            "classes of several releases are made within units",
        ),
        (
            Field::External,
            job.external.is_some(),
            "classes of several releases are made within units",
        ),
        (Field::Model, job.model.is_some(), "a recoding function is of one release"),
    ];
    for (field, is_given, why) in one_release {
        if is_given && !job.also_k.is_empty() {
            return Err(Error::usage(
                wording![field, " and ", Field::AlsoK, format!(" contradict each other: {why}")],
                "drop one of them",
            ));
        }
    }
    let is_fixed = job.least_memory.is_some()
        && (job.exact == Some(true) || job.external == Some(External::Tree));
    if is_fixed {
        return Err(Error::usage(
            wording![Field::LeastMemory, " has no effect, since every cut is weighed on all rows"],
            "drop it: the release is the same in any memory",
        ));
    }
    external::check(job)
}

type Suits = fn(Method) -> bool;

/// Each setting that only some methods look at: whether it is given, which methods those are, and
/// one of them.
fn settings(job: &Job) -> [(Field, bool, Suits, Method); 23] {
    let any = |says: fn(&crate::job::ColumnJob) -> bool| job.columns.values().any(says);
    let any_level = any(|column| column.level.is_some());
    // A fixed grid shows the labels of a level.
    let is_fixed = job.method() == Method::Grid && job.epsilon.is_some();
    [
        (Field::Epsilon, job.epsilon.is_some(), is_grid, Method::Grid),
        (Field::Delta, job.delta.is_some(), is_grid, Method::Grid),
        (Field::Then, job.then.is_some(), cuts, Method::Mondrian),
        (Field::Features, !job.workload.features.is_empty(), cuts, Method::Mondrian),
        (Field::Target, !job.workload.targets.is_empty(), follows, Method::Mondrian),
        (Field::Select, !job.workload.select.is_empty(), cuts, Method::Mondrian),
        (Field::Split, job.split.is_some(), cuts, Method::Mondrian),
        (Field::Exact, job.exact == Some(true), is_mondrian, Method::Mondrian),
        (Field::External, job.external.is_some(), is_mondrian, Method::Mondrian),
        (Field::Model, job.model.is_some(), cuts, Method::Mondrian),
        (Field::Bias, any(|column| column.bias == Some(true)), follows, Method::Mondrian),
        (Field::Compact, job.compact == Some(false), has_regions, Method::Mondrian),
        (Field::LeastMemory, job.least_memory.is_some(), has_grain, Method::Mondrian),
        (Field::AlsoK, !job.also_k.is_empty(), is_index, Method::Rtree),
        (Field::Variant, job.variant.is_some(), searches, Method::Incognito),
        (Field::Minimize, job.minimize.is_some(), minimizes, Method::Incognito),
        (Field::Level, any_level && !is_fixed, searches, Method::Incognito),
        (Field::Time, job.time.is_some(), searches, Method::Incognito),
        (Field::Suppress, job.suppress.is_some(), can_suppress, Method::Incognito),
        (Field::Finest, any(|column| column.finest.is_some()), has_finest, Method::Mondrian),
        (Field::Scale, any(|column| column.scale.is_some()), halves, Method::Bang),
        (Field::Nesting, job.nesting == Some(false), |own| own == Method::Bang, Method::Bang),
        (Field::LevelColumn, job.level_column.is_some(), Method::may_nest, Method::Bang),
    ]
}

/// What is never shown finer than a label is shown as one, and no function of it is handed on.
fn check_finest(job: &Job) -> Result<()> {
    if job.columns.values().all(|column| column.finest.is_none()) {
        return Ok(());
    }
    let against = [
        (Field::Categories.of("set"), job.categories == Some(Categories::Set), "sets of values"),
        (Field::Values.of("features"), job.values == Some(Values::Features), "places of values"),
    ];
    if let Some((setting, _, what)) = against.into_iter().find(|(_, is_given, _)| *is_given) {
        return Err(Error::usage(
            wording![setting, format!(" shows {what}, which are finer than "), Field::Finest],
            "drop one of them",
        ));
    }
    match job.model.is_some() {
        true => Err(Error::usage(
            wording![Field::Model, " does not keep what may not be shown by ", Field::Finest],
            "drop one of them",
        )),
        false => Ok(()),
    }
}

fn cuts(method: Method) -> bool {
    matches!(method, Method::Auto | Method::Mondrian | Method::Rtree)
}

/// Whether something is chosen that has least of a cost.
fn minimizes(method: Method) -> bool {
    searches(method) || cuts(method)
}

/// Whether tables are cut that may, but need not, fit in memory.
fn is_mondrian(method: Method) -> bool {
    matches!(method, Method::Auto | Method::Mondrian)
}

/// Whether space is halved again and again, where scales say.
fn halves(method: Method) -> bool {
    matches!(method, Method::Bang | Method::Grid)
        || method.relative().is_some_and(Relative::is_regular)
}

/// Whether sizes that follow from the least memory decide anything.
fn has_grain(method: Method) -> bool {
    cuts(method) || method == Method::Bang
}

/// Whether classes show the lowest labels of their values, but for those that are too fine.
fn has_finest(method: Method) -> bool {
    cuts(method) || method == Method::Local
}

fn is_grid(method: Method) -> bool {
    method == Method::Grid
}

/// Whether classes have regions beyond the bounds of their rows.
fn has_regions(method: Method) -> bool {
    cuts(method) || halves(method) || method.relative().is_some()
}

/// Whether a column can come before the others, or targets can.
fn follows(method: Method) -> bool {
    cuts(method) || method == Method::Tds
}

fn is_index(method: Method) -> bool {
    matches!(method, Method::Auto | Method::Rtree | Method::Bang)
}

/// Whether every value of a column is shown at the same level.
pub(super) fn searches(method: Method) -> bool {
    matches!(
        method,
        Method::Incognito | Method::Samarati | Method::BottomUp | Method::AttributeSuppression
    )
}

fn can_suppress(method: Method) -> bool {
    searches(method)
        || cuts(method)
        || matches!(method, Method::Subtree | Method::OrderedSet | Method::Local)
}

/// A quadtree halves all attributes at once, and so into more parts than a table can fill.
fn check_quadtree(job: &Job, method: Method) -> Result<()> {
    let n_quasi = job.with_role(Role::Quasi).count();
    if method != Method::PrQuadtree || n_quasi <= MAX_ATTRIBUTES {
        return Ok(());
    }
    Err(Error::usage(
        format!(
            "pr-quadtree halves all quasi-identifiers at once: {n_quasi} of them make 2^{n_quasi} \
             parts, and hardly any rows would be divided"
        ),
        wording![
            format!("give at most {MAX_ATTRIBUTES}, or use "),
            Field::Method.of(Method::KdTrie.name())
        ],
    ))
}

/// A region tells where cuts are, a mean tells of the rows: whoever asks for the one to be told
/// less would tell more by the other.
fn check_means(job: &Job) -> Result<()> {
    if job.values == Some(Values::Mean) && !job.also_k.is_empty() {
        return Err(Error::usage(
            wording![
                Field::Values.of("mean"),
                " and ",
                Field::AlsoK,
                " contradict each other: the mean of a coarser class tells more of the finer ones"
            ],
            wording!["drop one of them, or use ", Field::Values.of("bounds")],
        ));
    }
    let mean = || Field::Values.of("mean");
    match (job.values, job.compact) {
        (Some(Values::Mean), Some(false)) => Err(Error::usage(
            wording![
                mean(),
                " and ",
                Field::Compact.of("false"),
                " contradict each other: regions tell nothing of single rows, and a mean does"
            ],
            wording!["drop one of them, or use ", Field::Values.of("bounds")],
        )),
        _ => Ok(()),
    }
}

/// Methods that climb hierarchies show labels, and one that orders values shows none.
fn check_categories(job: &Job, method: Method) -> Result<()> {
    let climbs = searches(method) || method == Method::Subtree;
    if climbs && job.categories == Some(Categories::Set) {
        let other = if method == Method::Subtree { Method::OrderedSet } else { Method::Mondrian };
        return Err(Error::usage(
            format!("{method} shows the labels of hierarchies, not sets"),
            wording![
                "drop ",
                Field::Categories.of("set"),
                ", or use ",
                Field::Method.of(other.name())
            ],
        ));
    }
    if method == Method::OrderedSet && job.categories == Some(Categories::Label) {
        return Err(Error::usage(
            "ordered-set shows intervals and sets, not labels",
            wording![
                "drop ",
                Field::Categories.of("label"),
                ", or use ",
                Field::Method.of("subtree")
            ],
        ));
    }
    let mut quasi = job.columns.values().filter(|own| own.role == Some(Role::Quasi));
    let has_hierarchy =
        method == Method::AttributeSuppression || quasi.any(|column| column.hierarchy.is_some());
    if job.categories == Some(Categories::Label) && !has_hierarchy {
        return Err(Error::usage(
            wording![
                Field::Categories.of("label"),
                " has no effect, since no quasi-identifier has a hierarchy"
            ],
            wording!["drop it, or add ", Field::Hierarchy],
        ));
    }
    if climbs && method != Method::AttributeSuppression {
        columns::check_hierarchies(job)?;
    }
    Ok(())
}

fn check_suppression(job: &Job, method: Method) -> Result<()> {
    let has_closeness = job.columns.values().any(|column| column.t_closeness.is_some());
    if job.suppress.is_some_and(|share| share > 0.0) && has_closeness && !searches(method) {
        return Err(Error::usage(
            format!(
                "{method} cannot leave out rows under t-closeness, since they change the \
                 distribution that it compares with"
            ),
            wording!["drop ", Field::Suppress, ", or use ", Field::Method.of("incognito")],
        ));
    }
    match job.suppress {
        Some(share) if !(0.0..=1.0).contains(&share) => Err(Error::usage(
            format!("{share} is not a share of the rows that may be left out"),
            wording![
                "use a number from 0 to 1, for example ",
                Field::Suppress.of("0.02"),
                " for 2 %"
            ],
        )),
        Some(share) if share > 0.0 && cuts(method) => check_outliers(job),
        _ => Ok(()),
    }
}

/// What cannot be kept, or has no sense, where the rows that are left out are told by the leaves of an
/// index.
fn check_outliers(job: &Job) -> Result<()> {
    let follows_workload = job.split.is_some_and(Split::follows_workload);
    let contradictions: [(Field, bool, &str); 4] = [
        (Field::Compact, job.compact == Some(false), "regions reach to rows that are left out"),
        (
            Field::Model,
            job.model.is_some(),
            "a recoding function says where rows go, and not that they are left out",
        ),
        (
            Field::Split,
            follows_workload,
            "rows are left out by what they lose, and these cuts follow something else",
        ),
        (
            Field::External,
            job.external == Some(External::Tree),
            "counts of values do not tell which rows are outliers",
        ),
    ];
    for (field, is_given, why) in contradictions {
        if is_given {
            return Err(Error::usage(
                wording![Field::Suppress, " and ", field, format!(" contradict each other: {why}")],
                "drop one of them",
            ));
        }
    }
    Ok(())
}
