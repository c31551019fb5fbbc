//! Checks of what a job says of its columns, before any row is read.

use std::path::Path;

use albers_partition::mondrian::MAX_ATTRIBUTES;
use albers_release::publish::Values;
use albers_table::read::{self, HeaderColumn};
use albers_table::schema::Role;

use crate::error::{Error, Result};
use crate::full_domain::asked::check_hierarchies;
use crate::job::{Categories, ColumnJob, Job, Method};
use crate::secrets::{check_criteria_have_roles, given_k};

/// The endings of the columns that show a quasi-identifier by its bounds.
pub const BOUND_ENDINGS: [&str; 3] = ["_min", "_max", "_missing"];

/// Refuses a job whose roles make no release, whatever the table.
pub fn check_roles(job: &Job) -> Result<()> {
    check_method(job)?;
    if !matches!(job.method(), Method::Auto | Method::Rtree) && !job.also_k.is_empty() {
        return Err(Error::usage(
            format!(
                "several releases of one build need an index, which {} does not make",
                job.method().name()
            ),
            "use --method rtree with --also-k",
        ));
    }
    if job.granularity.is_some() && job.also_k.is_empty() {
        return Err(Error::usage(
            "a granularity is given, but no coarser release is asked for",
            "add --also-k, for example --also-k 10,100",
        ));
    }
    let n_quasi = job.with_role(Role::Quasi).count();
    if n_quasi == 0 {
        return Err(Error::usage(
            "no column is a quasi-identifier, so there is nothing to generalize",
            "name the columns that others know with --quasi, or let 'albers init' propose them",
        ));
    }
    if n_quasi > MAX_ATTRIBUTES {
        return Err(Error::usage(
            format!("{n_quasi} quasi-identifiers are more than the {MAX_ATTRIBUTES} possible"),
            "drop some, or keep those that nobody else knows",
        ));
    }
    if job.with_role(Role::Subject).count() > 1 {
        return Err(Error::usage("there are several subject columns", "name one"));
    }
    given_k(job)?;
    check_criteria_have_roles(job)
}

/// Refuses what the job's method knows nothing of, instead of silently ignoring it.
fn check_method(job: &Job) -> Result<()> {
    let method = job.method();
    let cuts = matches!(method, Method::Auto | Method::Mondrian | Method::Rtree);
    let searches = method.is_full_domain();
    let has_bias = job.columns.values().any(|column| column.bias == Some(true));
    let without_effect = [
        ("--split", job.split.is_some() && !cuts, "mondrian"),
        ("--bias", has_bias && !cuts, "mondrian"),
        ("--no-compact", job.compact == Some(false) && !cuts, "mondrian"),
        ("--variant", job.variant.is_some() && !searches, "incognito"),
        ("--minimize", job.minimize.is_some() && !searches, "incognito"),
        ("--level", job.has_levels() && !searches, "incognito"),
        ("--time", job.time.is_some() && !searches, "incognito"),
        ("--suppress", job.suppress.is_some() && !method.can_suppress(), "incognito"),
    ];
    for (flag, is_idle, other) in without_effect {
        if is_idle {
            return Err(Error::usage(
                format!("{flag} has no effect with --method {}", method.name()),
                format!("drop it, or use --method {other}"),
            ));
        }
    }
    if method == Method::Subtree {
        check_hierarchies(job)?;
        if job.categories == Some(Categories::Set) {
            return Err(Error::usage(
                "subtree shows the labels of hierarchies, not sets",
                "drop --categories set, or use --method ordered-set",
            ));
        }
    }
    if method == Method::OrderedSet && job.categories == Some(Categories::Label) {
        return Err(Error::usage(
            "ordered-set shows intervals and sets, not labels",
            "drop --categories label, or use --method subtree",
        ));
    }
    let has_closeness = job.columns.values().any(|column| column.t_closeness.is_some());
    if job.suppress.is_some_and(|share| share > 0.0) && has_closeness && !searches {
        return Err(Error::usage(
            format!(
                "{} cannot leave out rows under t-closeness, since they change the distribution \
                 that it compares with",
                method.name()
            ),
            "drop --suppress, or use --method incognito",
        ));
    }
    match job.suppress {
        Some(share) if !(0.0..=1.0).contains(&share) => Err(Error::usage(
            format!("{share} is not a share of the rows that may be left out"),
            "use a number from 0 to 1, for example --suppress 0.02 for 2 %",
        )),
        _ => Ok(()),
    }
}

/// Refuses what the header shows to be wrong: columns that are not there, what is said of a column
/// without effect, and bounds with the name of another column.
pub fn check_columns(job: &Job, path: &Path, values: Values) -> Result<()> {
    let header = read::header(path, &job.read_options()?)?;
    for name in job.columns.keys() {
        read::place_of(path, &header, name)?;
    }
    for (name, column) in &job.columns {
        check_effects(name, column)?;
    }
    if values == Values::Bounds { check_bounds(job, &header) } else { Ok(()) }
}

/// What has no effect on a column of this role would be silently ignored.
fn check_effects(name: &str, column: &ColumnJob) -> Result<()> {
    let is_quasi = column.role == Some(Role::Quasi);
    let has_hierarchy = is_quasi || column.role == Some(Role::Sensitive);
    let without_effect = [
        ("type", column.column_type.is_some() && column.role.is_none(), "any role"),
        ("hierarchy", column.hierarchy.is_some() && !has_hierarchy, "--quasi or --sensitive"),
        ("weight", column.weight.is_some() && !is_quasi, "--quasi"),
        ("level", column.level.is_some() && !is_quasi, "--quasi"),
        ("bias", column.bias == Some(true) && !is_quasi, "--quasi"),
    ];
    for (field, is_idle, needed) in without_effect {
        if is_idle {
            let role = column.role.map_or("has no role".to_owned(), |role| format!("is {role}"));
            return Err(Error::usage(
                format!("the {field} of column '{name}' has no effect, since the column {role}"),
                format!("give it {needed}, or drop the {field}"),
            ));
        }
    }
    Ok(())
}

/// Bounds take new names; a column with a role that has one of them would be taken for the bound.
fn check_bounds(job: &Job, header: &[HeaderColumn]) -> Result<()> {
    for name in job.with_role(Role::Quasi).filter(|name| may_show_bounds(job, header, name)) {
        for bound in BOUND_ENDINGS.map(|ending| format!("{name}{ending}")) {
            if job.columns.get(&bound).is_some_and(|other| other.role.is_some()) {
                return Err(Error::usage(
                    format!(
                        "column '{bound}': there would be two columns of this name, one of them \
                         a bound of '{name}'"
                    ),
                    "rename the column, or write intervals with --values interval",
                ));
            }
        }
    }
    Ok(())
}

/// Whether a quasi-identifier is ordered, as far as is known before its cells are read.
fn may_show_bounds(job: &Job, header: &[HeaderColumn], name: &str) -> bool {
    let column = &job.columns[name];
    if column.hierarchy.is_some() && job.categories != Some(Categories::Set) {
        return false;
    }
    let in_file = header.iter().find(|column| column.name == name);
    let data_type = in_file.and_then(|column| column.data_type.as_ref());
    match (column.column_type, data_type) {
        (Some(kind), _) => kind.is_ordered(),
        (None, Some(own)) => own.is_numeric() || own.is_temporal(),
        (None, None) => true,
    }
}
