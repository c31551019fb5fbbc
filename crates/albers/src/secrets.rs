//! The requirement of a job, on the sensitive columns of its table.

use albers_privacy::Facts;
use albers_privacy::{ClassSummary, Criterion, GroundDistance, Requirement, SensitiveColumn};
use albers_table::domain::Domain;
use albers_table::schema::{ColumnType, Role};
use rustc_hash::FxHashSet;

use crate::error::{Error, Result};
use crate::job::Job;
use crate::table::{SensitiveData, Table};

/// A requirement with the rows it looks at.
pub struct Protection {
    /// What every class must satisfy; bound to the whole table.
    pub requirement: Requirement,
    /// What it looks at, by row number.
    pub facts: Facts,
    /// The codes of all sensitive columns, also of those without a requirement.
    pub sensitive: Vec<Vec<u32>>,
    /// Things the user should know.
    pub notes: Vec<String>,
}

/// Builds the requirement, and refuses one that even the whole table does not satisfy.
pub fn protect(job: &Job, table: &mut Table) -> Result<Protection> {
    let n_rows = table.n_rows;
    protect_rows(job, table, 0..n_rows)
}

/// The same where only some rows of the table will be published: these are the whole table then.
pub fn protect_rows(
    job: &Job,
    table: &mut Table,
    published: impl Iterator<Item = usize>,
) -> Result<Protection> {
    let n_rows = table.n_rows;
    let k = checked_k(given_k(job)?, table.subjects.is_some(), table.n_subjects, table.n_rows)?;
    let sensitive: Vec<Vec<u32>> = table.sensitive.iter().map(SensitiveData::codes).collect();
    // Leaves of a hierarchy that no row has are values of the domain, but of no class.
    let n_values = |codes: &Vec<u32>| codes.iter().collect::<FxHashSet<_>>().len();
    let occurring = table.sensitive.iter().zip(&sensitive);
    let occurring: Vec<(&Domain, usize)> =
        occurring.map(|(data, codes)| (&data.column.domain, n_values(codes))).collect();
    let rules = Rules::of(job, k, &occurring)?;
    table.sensitive.clear();
    let Rules { columns, rules, ruled, notes } = rules;
    let subjects = table.subjects.take().unwrap_or_default();
    let mut requirement = Requirement::new(k, !subjects.is_empty(), columns, rules)?;
    let facts = Facts {
        subjects,
        sensitive: interleave(&sensitive, &ruled, table.n_rows),
        n_sensitive: ruled.len(),
    };
    if requirement.is_only_row_count().is_none() {
        let mut whole = ClassSummary::new(requirement.shape());
        published.for_each(|row| facts.add(row, &mut whole));
        requirement.bind(&whole);
        if !requirement.holds(&whole) && !may_hold_without_some(job, &requirement, n_rows) {
            return Err(Error::CannotHold {
                n_rows: whole.n_rows(),
                violations: requirement.violations(&whole),
            });
        }
    }
    Ok(Protection { requirement, facts, sensitive, notes })
}

/// Whether classes may satisfy a requirement that all rows together do not: if some rows may be
/// left out, and more rows do not always make it easier.
pub fn may_hold_without_some(job: &Job, requirement: &Requirement, n_rows: usize) -> bool {
    job.method().is_full_domain()
        && job.max_suppressed(n_rows) > 0
        && !requirement.survives_additions()
}

/// What a job says of its sensitive columns.
pub struct Rules {
    /// The columns with a requirement.
    pub columns: Vec<SensitiveColumn>,
    /// The requirements, by their places among these.
    pub rules: Vec<(usize, Criterion)>,
    /// The places of these among all sensitive columns.
    pub ruled: Vec<usize>,
    /// Things the user should know.
    pub notes: Vec<String>,
}

impl Rules {
    /// The rules of a job on sensitive columns, of which so many values occur.
    pub fn of(job: &Job, k: u64, sensitive: &[(&Domain, usize)]) -> Result<Rules> {
        let mut of_job =
            Rules { columns: Vec::new(), rules: Vec::new(), ruled: Vec::new(), notes: Vec::new() };
        if k == 1 {
            of_job.notes.push("k = 1 hides nobody: a class may be a single row".to_owned());
        }
        for (at, (domain, n_values)) in sensitive.iter().enumerate() {
            let criteria = job.columns[domain.name()].criteria(domain.name())?;
            for criterion in &criteria {
                check_l(domain, *n_values, criterion)?;
                of_job.rules.push((of_job.columns.len(), *criterion));
            }
            if !criteria.is_empty() {
                of_job.columns.push(sensitive_column(domain, &criteria, &mut of_job.notes)?);
                of_job.ruled.push(at);
            }
        }
        check_criteria_have_roles(job)?;
        Ok(of_job)
    }
}

/// The k of a job, which must be there.
pub fn given_k(job: &Job) -> Result<u64> {
    match job.k {
        None => Err(Error::usage(
            "it is not said how many rows a class must have",
            "give -k, for example -k 5",
        )),
        Some(0) => Err(Error::usage("k = 0 hides nobody", "use a k of 2 or more")),
        Some(k) => Ok(k),
    }
}

/// Refuses a k that all rows together do not reach.
pub fn checked_k(k: u64, has_subjects: bool, n_subjects: u64, n_rows: usize) -> Result<u64> {
    let (n_units, unit) = match has_subjects {
        true => (n_subjects, "subjects"),
        false => (n_rows as u64, "rows"),
    };
    if k > n_units {
        return Err(Error::usage(
            format!("k = {k} is more than the {n_units} {unit} of the table"),
            format!("use a k of at most {n_units}"),
        ));
    }
    Ok(k)
}

/// Refuses an l above the number of values that occur, which no class could satisfy.
fn check_l(domain: &Domain, n_values: usize, criterion: &Criterion) -> Result<()> {
    let l = match criterion {
        Criterion::DistinctLDiversity { l } | Criterion::RecursiveDiversity { l, .. } => {
            f64::from(*l)
        }
        Criterion::EntropyLDiversity { l } => *l,
        _ => return Ok(()),
    };
    if l > n_values as f64 {
        return Err(Error::usage(
            format!("l = {l} is more than the {n_values} values of column '{}'", domain.name()),
            format!("use an l of at most {n_values}"),
        ));
    }
    Ok(())
}

/// A requirement on a column that is not sensitive would be silently without effect.
pub fn check_criteria_have_roles(job: &Job) -> Result<()> {
    for (name, column) in &job.columns {
        if column.role != Some(Role::Sensitive) && !column.criteria(name)?.is_empty() {
            return Err(Error::usage(
                format!("there is a requirement on column '{name}', which is not sensitive"),
                format!("add --sensitive '{name}', or drop the requirement"),
            ));
        }
    }
    Ok(())
}

/// A sensitive column as the requirement sees it; the distance follows from type and hierarchy.
pub fn sensitive_column(
    domain: &Domain,
    criteria: &[Criterion],
    notes: &mut Vec<String>,
) -> Result<SensitiveColumn> {
    let name = domain.name();
    let has_missing = domain.n_missing() > 0;
    let n_values = u32::try_from(domain.n_values()).expect("codes have 32 bits");
    let wants = |test: fn(&Criterion) -> bool| criteria.iter().any(test);
    let wants_variance = wants(|criterion| matches!(criterion, Criterion::Variance { .. }));
    if wants_variance && has_missing {
        return Err(Error::usage(
            format!("column '{name}' has missing values, which have no variance"),
            "fill them in, or use l-diversity",
        ));
    }
    let is_number = matches!(
        domain.column_type(),
        ColumnType::Integer | ColumnType::Decimal | ColumnType::Float
    );
    // A leaf of the hierarchy that no row has needs no number.
    let finite = |number: &f64| if number.is_nan() { 0.0 } else { *number };
    let numbers = domain.numbers().filter(|_| is_number && !has_missing);
    let numbers = numbers.map(|numbers| numbers.iter().map(finite).collect());
    let distance = match (domain.hierarchy(), domain.numbers()) {
        (Some(hierarchy), _) if !has_missing => {
            GroundDistance::Hierarchical { levels: hierarchy.level_maps() }
        }
        (None, Some(positions)) if !has_missing && positions.len() > 1 => {
            ordered_distance(positions)
        }
        _ => GroundDistance::Equal,
    };
    if wants(|criterion| matches!(criterion, Criterion::TCloseness { .. })) {
        notes.push(match distance {
            GroundDistance::Equal if has_missing => format!(
                "t-closeness of '{name}' counts all values as equally far apart, since some are \
                 missing"
            ),
            GroundDistance::Equal => {
                format!("t-closeness of '{name}' counts all values as equally far apart")
            }
            GroundDistance::Ordered { .. } => {
                format!("t-closeness of '{name}' uses the distance between its values")
            }
            GroundDistance::Hierarchical { .. } => {
                format!("t-closeness of '{name}' uses the distance in its hierarchy")
            }
        });
    }
    Ok(SensitiveColumn { name: name.to_owned(), n_values, distance, numbers })
}

/// The distance between values, or between their ranks where floats cannot tell the values apart.
fn ordered_distance(positions: &[f64]) -> GroundDistance {
    // Halved, so that the distance of the two ends of f64 stays finite.
    let positions: Vec<f64> = positions.iter().map(|position| position / 2.0).collect();
    if positions.first() < positions.last() {
        GroundDistance::Ordered { positions }
    } else {
        GroundDistance::ranks(u32::try_from(positions.len()).expect("codes have 32 bits"))
    }
}

/// The codes of some columns, row by row.
pub fn interleave(columns: &[Vec<u32>], chosen: &[usize], n_rows: usize) -> Vec<u32> {
    let mut codes = Vec::with_capacity(n_rows * chosen.len());
    if chosen.is_empty() {
        return codes;
    }
    for row in 0..n_rows {
        codes.extend(chosen.iter().map(|&column| columns[column][row]));
    }
    codes
}
