//! What a job asks of a full-domain search, checked before any row is read.

use std::time::Duration;

use albers_classes::Attribute;
use albers_lattice::bottom_up::BottomUp;
use albers_lattice::choose::Minimize;
use albers_lattice::dimension::Dimension;
use albers_lattice::incognito::{MAX_CUBE_ATTRIBUTES, Variant};
use albers_lattice::lattice::Levels;
use albers_lattice::search::{Algorithm, too_many_nodes};
use albers_table::domain::Domain;
use albers_table::schema::Role;

use crate::error::{Error, Result};
use crate::job::{Categories, Job, Method, MinimizeChoice, SearchVariant};

/// What is asked of a search.
pub struct Asked {
    /// How the lattice is searched.
    pub algorithm: Algorithm,
    /// What the best has least of.
    pub minimize: Minimize,
    /// Whether columns are shown as they are or not at all.
    pub all_or_nothing: bool,
    /// The time that the search may take, if that is limited.
    pub time: Option<Duration>,
}

impl Asked {
    /// What a job asks for; refuses what contradicts itself.
    pub fn of(job: &Job) -> Result<Asked> {
        let method = job.method();
        let algorithm = algorithm_of(method, job.variant)?;
        if job.categories == Some(Categories::Set) {
            return Err(Error::usage(
                format!("{} shows the labels of hierarchies, not sets", method.name()),
                "drop --categories set, or use --method mondrian or local",
            ));
        }
        let all_or_nothing = method == Method::AttributeSuppression;
        if !all_or_nothing {
            check_hierarchies(job)?;
        }
        let minimize = match job.minimize.unwrap_or_default() {
            MinimizeChoice::Ncp => Minimize::Ncp,
            MinimizeChoice::Height => Minimize::Height,
            MinimizeChoice::Discernibility => Minimize::Discernibility,
            MinimizeChoice::Weights => Minimize::Weights,
        };
        let time = job.time.as_deref().map(parse_time).transpose()?;
        let is_searched = [job.time.is_some(), job.variant.is_some(), job.minimize.is_some()];
        if job.has_levels() && is_searched.contains(&true) {
            return Err(Error::usage(
                "there is nothing to search where the levels are given",
                "drop --level, or --time, --variant and --minimize",
            ));
        }
        let is_own = matches!(method, Method::Incognito | Method::AttributeSuppression);
        if time.is_some() && (job.variant.is_some() || !is_own) {
            return Err(Error::usage(
                "a search with a time limit goes its own way through the lattice",
                "drop --time, or use --method incognito without --variant",
            ));
        }
        Ok(Asked { algorithm, minimize, all_or_nothing, time })
    }

    /// The job that reads the table: columns without a hierarchy can be suppressed as a whole.
    pub fn reading(&self, job: &Job) -> Job {
        let mut job = job.clone();
        if self.all_or_nothing {
            let quasi = job.columns.values_mut().filter(|own| own.role == Some(Role::Quasi));
            for column in quasi {
                column.hierarchy.get_or_insert_with(|| "suppress".to_owned());
            }
        }
        job
    }

    /// The quasi-identifiers as dimensions.
    pub fn dimensions(&self, attributes: &[Attribute]) -> Vec<Dimension> {
        let domains = attributes.iter().map(|own| self.dimension(&own.domain, own.weight));
        domains.collect()
    }

    /// A quasi-identifier as a dimension.
    pub fn dimension(&self, domain: &Domain, weight: f64) -> Dimension {
        match self.all_or_nothing {
            true => Dimension::all_or_nothing(domain, weight),
            false => Dimension::new(domain, weight),
        }
    }

    /// Refuses a lattice that an exact search cannot keep track of.
    pub fn check_size(&self, dimensions: &[Dimension]) -> Result<()> {
        if self.time.is_some() {
            return Ok(());
        }
        let heights: Vec<u16> = dimensions.iter().map(Dimension::height).collect();
        if let Some(n_nodes) = too_many_nodes(&heights, self.algorithm) {
            let n_attributes = dimensions.len();
            return Err(Error::usage(
                format!(
                    "the lattice of {n_attributes} columns has {} generalizations, more than an \
                     exact search can keep track of",
                    in_words(n_nodes)
                ),
                "give --time 30s for the best found by then, or use fewer columns or levels",
            ));
        }
        if self.algorithm == Algorithm::Incognito(Variant::Cube)
            && dimensions.len() > MAX_CUBE_ATTRIBUTES
        {
            return Err(Error::usage(
                format!(
                    "a cube of {} columns has more sets than can be computed beforehand",
                    dimensions.len()
                ),
                format!("use --variant super-roots, or at most {MAX_CUBE_ATTRIBUTES} columns"),
            ));
        }
        Ok(())
    }
}

/// A count that may be beyond all bounds.
fn in_words(n_nodes: u128) -> String {
    match n_nodes {
        u128::MAX => "more than 3e38".to_owned(),
        n_nodes if n_nodes >= 1_000_000_000_000 => format!("{:.1e}", n_nodes as f64),
        n_nodes => n_nodes.to_string(),
    }
}

fn algorithm_of(method: Method, variant: Option<SearchVariant>) -> Result<Algorithm> {
    let wrong = |hint: &str| {
        let variant = variant.map_or("", SearchVariant::name);
        Err(Error::usage(format!("{} has no variant {variant}", method.name()), hint))
    };
    match (method, variant) {
        (Method::BottomUp, None | Some(SearchVariant::Rollup)) => {
            Ok(Algorithm::BottomUp(BottomUp::Rollup))
        }
        (Method::BottomUp, Some(SearchVariant::Scan)) => Ok(Algorithm::BottomUp(BottomUp::Scan)),
        (Method::BottomUp, _) => wrong("use rollup or scan, or --method incognito"),
        (Method::Samarati, None) => Ok(Algorithm::Samarati),
        (Method::Samarati, _) => wrong("drop --variant"),
        (_, None | Some(SearchVariant::SuperRoots)) => {
            Ok(Algorithm::Incognito(Variant::SuperRoots))
        }
        (_, Some(SearchVariant::Basic)) => Ok(Algorithm::Incognito(Variant::Basic)),
        (_, Some(SearchVariant::Cube)) => Ok(Algorithm::Incognito(Variant::Cube)),
        _ => wrong("use basic, super-roots or cube, or --method bottom-up"),
    }
}

/// How an algorithm calls its variant.
pub fn variant_name(algorithm: Algorithm) -> Option<&'static str> {
    match algorithm {
        Algorithm::Incognito(Variant::Basic) => Some("basic"),
        Algorithm::Incognito(Variant::SuperRoots) => Some("super-roots"),
        Algorithm::Incognito(Variant::Cube) => Some("cube"),
        Algorithm::BottomUp(BottomUp::Rollup) => Some("rollup"),
        Algorithm::BottomUp(BottomUp::Scan) => Some("scan"),
        Algorithm::Samarati => None,
    }
}

/// These methods climb hierarchies: every quasi-identifier must have one.
pub fn check_hierarchies(job: &Job) -> Result<()> {
    let lacks = |name: &&str| job.columns[*name].hierarchy.is_none();
    let without: Vec<&str> = job.with_role(Role::Quasi).filter(lacks).collect();
    let Some(first) = without.first() else { return Ok(()) };
    let names: Vec<String> = without.iter().map(|name| format!("'{name}'")).collect();
    Err(Error::usage(
        format!(
            "{} {} no hierarchy, which {} needs for every quasi-identifier",
            names.join(", "),
            if without.len() == 1 { "has" } else { "have" },
            job.method().name()
        ),
        format!(
            "add --hierarchy '{first}=ranges:5,10,20' (or prefix, dates, suppress, a FILE){}",
            if without.len() == 1 { "" } else { " for each" }
        ),
    ))
}

/// A time such as `30s`, `500ms`, `2m` or `1h`.
fn parse_time(text: &str) -> Result<Duration> {
    let problem = |problem: &str| {
        Error::usage(format!("time '{text}': {problem}"), "use for example 30s, 500ms or 2m")
    };
    let text = text.trim();
    let unit_at = text.find(|symbol: char| symbol.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "" => return Err(problem("there is no unit")),
        _ => return Err(problem("the unit is not known")),
    };
    let number: f64 = number.trim().parse().map_err(|_| problem("the number cannot be read"))?;
    if !(number > 0.0 && number * seconds <= 1e7) {
        return Err(problem("it is not a time between nothing and some weeks"));
    }
    Ok(Duration::from_secs_f64(number * seconds))
}

/// The levels that a job gives; columns that it does not name stay as they are.
pub fn given_levels(job: &Job, dimensions: &[Dimension]) -> Result<Option<Levels>> {
    if !job.has_levels() {
        return Ok(None);
    }
    let level_of = |dimension: &Dimension| {
        let level = job.columns[dimension.name()].level.unwrap_or(0);
        match level <= dimension.height() {
            true => Ok(level),
            false => Err(Error::usage(
                format!(
                    "level {level} of column '{}' is above the top of its hierarchy",
                    dimension.name()
                ),
                format!("use a level from 0 to {}", dimension.height()),
            )),
        }
    };
    dimensions.iter().map(level_of).collect::<Result<Levels>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(parse_time("30s").unwrap(), Duration::from_secs(30));
        assert_eq!(parse_time("500 ms").unwrap(), Duration::from_millis(500));
        assert_eq!(parse_time("1.5m").unwrap(), Duration::from_secs(90));
        for wrong in ["", "30", "s", "-1s", "0s", "NaNs", "3 fortnights", "1e99s"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }
}
