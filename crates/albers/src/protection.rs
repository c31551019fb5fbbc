//! The requirement of a plan, on the sensitive columns of its table.

use albers_privacy::{
    ClassSummary, Criterion, Facts, GroundDistance, Requirement, SensitiveColumn,
};
use albers_table::code::Code;
use albers_table::coding::ColumnCoder;
use albers_table::domain::Domain;
use albers_table::row::RowIdx;
use albers_table::schema::{ColumnType, Role};
use rustc_hash::FxHashMap;

use crate::error::{Error, Result};
use crate::plan::{MethodPlan, Plan};
use crate::report::{Distance, Note};
use crate::rows::{SensitiveData, Surveyed, Table};

/// What every class of each release must satisfy.
pub(crate) struct Protection {
    /// The first is that of the finest release; all are bound to the whole table.
    pub(crate) requirements: Vec<Requirement>,
    /// The places of the columns with a requirement among the sensitive ones.
    pub(crate) ruled: Vec<usize>,
    /// Things the user should know.
    pub(crate) notes: Vec<Note>,
}

/// What a requirement needs to know of the rows.
pub(crate) struct TableFacts<'t> {
    /// Rows that may be published.
    pub(crate) n_rows: u64,
    /// Distinct subjects among them, as far as they had to be counted; nothing if rows are.
    pub(crate) n_subjects: Option<u64>,
    /// The sensitive columns, and how many of the rows have which of their codes.
    pub(crate) sensitive: Vec<(&'t Domain, Vec<(Code, u64)>)>,
}

impl<'t> TableFacts<'t> {
    /// Of a table in memory, of which these rows may be published.
    pub(crate) fn of_table(
        table: &'t Table,
        sensitive: &[Vec<u32>],
        published: Option<&[RowIdx]>,
    ) -> TableFacts<'t> {
        let counts = |codes: &Vec<u32>| match published {
            None => counted(codes.iter().copied()),
            Some(rows) => counted(rows.iter().map(|row| codes[row.index()])),
        };
        let columns = table.sensitive.iter().zip(sensitive);
        TableFacts {
            n_rows: published.map_or(table.n_rows, <[RowIdx]>::len) as u64,
            n_subjects: table.subjects.as_ref().map(|_| table.n_subjects),
            sensitive: columns.map(|(data, codes)| (&data.column.domain, counts(codes))).collect(),
        }
    }

    /// Of a table in memory whose rows stand for so many each.
    pub(crate) fn of_counted(
        table: &'t Table,
        sensitive: &[Vec<u32>],
        counts: &[u32],
    ) -> TableFacts<'t> {
        let weighted = |codes: &Vec<u32>| {
            let mut sums: FxHashMap<Code, u64> = FxHashMap::default();
            for (&code, &count) in codes.iter().zip(counts) {
                *sums.entry(Code::new(code)).or_insert(0) += u64::from(count);
            }
            let mut sums: Vec<(Code, u64)> = sums.into_iter().collect();
            sums.sort_unstable();
            sums
        };
        let columns = table.sensitive.iter().zip(sensitive);
        TableFacts {
            n_rows: counts.iter().map(|&count| u64::from(count)).sum(),
            n_subjects: table.subjects.as_ref().map(|_| table.n_subjects),
            sensitive: columns
                .map(|(data, codes)| (&data.column.domain, weighted(codes)))
                .collect(),
        }
    }

    /// Of a table that was surveyed.
    pub(crate) fn of_survey(surveyed: &'t Surveyed<'_>) -> TableFacts<'t> {
        let has_subject = surveyed.known.planned.iter().any(|column| column.role == Role::Subject);
        let columns = surveyed.coders_of(Role::Sensitive);
        TableFacts {
            n_rows: surveyed.n_rows,
            n_subjects: has_subject.then_some(surveyed.n_subjects),
            sensitive: columns
                .map(|coder: &ColumnCoder| (coder.domain(), coder.counts().to_vec()))
                .collect(),
        }
    }
}

/// How often each code occurs.
fn counted(codes: impl Iterator<Item = u32>) -> Vec<(Code, u64)> {
    let mut counts: FxHashMap<Code, u64> = FxHashMap::default();
    codes.for_each(|code| *counts.entry(Code::new(code)).or_insert(0) += 1);
    let mut counts: Vec<(Code, u64)> = counts.into_iter().collect();
    counts.sort_unstable();
    counts
}

impl Protection {
    /// Builds the requirements, and refuses one that even all rows together do not satisfy.
    pub(crate) fn of(plan: &Plan, facts: &TableFacts<'_>) -> Result<Protection> {
        Protection::with_ks(plan, &plan.ks, facts)
    }

    /// The same where rows that miss it are left out: what all rows together satisfy has no say.
    pub(crate) fn of_some(plan: &Plan, facts: &TableFacts<'_>) -> Result<Protection> {
        Rules::of(plan, facts, false)?.protect(plan, &plan.ks, facts, false)
    }

    /// The same with another k for each release than the plan has.
    pub(crate) fn with_ks(plan: &Plan, ks: &[u64], facts: &TableFacts<'_>) -> Result<Protection> {
        for &k in ks {
            check_k(k, facts)?;
        }
        Rules::of(plan, facts, true)?.protect(plan, ks, facts, true)
    }

    /// The requirement that implies all others: they differ in k only.
    pub(crate) fn strictest(&self) -> &Requirement {
        self.requirements.iter().max_by_key(|own| own.k()).expect("a plan has a requirement")
    }
}

/// What a plan asks of its sensitive columns.
struct Rules {
    /// The columns with a requirement.
    columns: Vec<SensitiveColumn>,
    /// The requirements, by their places among these.
    rules: Vec<(usize, Criterion)>,
    /// The places of these among all sensitive columns.
    ruled: Vec<usize>,
    notes: Vec<Note>,
}

impl Rules {
    /// What is asked; refuses, where all rows count, what even these cannot satisfy.
    fn of(plan: &Plan, facts: &TableFacts<'_>, all_count: bool) -> Result<Rules> {
        let mut all =
            Rules { columns: Vec::new(), rules: Vec::new(), ruled: Vec::new(), notes: Vec::new() };
        let sensitive = plan.columns.iter().filter(|column| column.role == Role::Sensitive);
        for (column_idx, (column, (domain, counts))) in sensitive.zip(&facts.sensitive).enumerate()
        {
            for criterion in &column.criteria {
                // Leaves of a hierarchy that no row has are values of the domain, but of no class.
                if all_count {
                    check_l(domain, counts.len(), criterion)?;
                }
                all.rules.push((all.columns.len(), *criterion));
            }
            if !column.criteria.is_empty() {
                all.columns.push(sensitive_column(domain, &column.criteria, &mut all.notes)?);
                all.ruled.push(column_idx);
            }
        }
        Ok(all)
    }

    fn protect(
        self,
        plan: &Plan,
        ks: &[u64],
        facts: &TableFacts<'_>,
        all_count: bool,
    ) -> Result<Protection> {
        let Rules { columns, rules, ruled, notes } = self;
        let counts: Vec<Vec<(u32, u64)>> =
            ruled.iter().map(|&column| value_counts(&facts.sensitive[column].1)).collect();
        let counts_subjects = facts.n_subjects.is_some();
        let n_subjects = facts.n_subjects.unwrap_or(0);
        let mut requirements = Vec::new();
        for &k in ks {
            let mut requirement =
                Requirement::new(k, counts_subjects, columns.clone(), rules.clone())?;
            let shape = requirement.shape();
            let all = ClassSummary::of_counts(shape, facts.n_rows, n_subjects, &counts);
            if requirement.is_only_row_count().is_none() {
                requirement.bind(&all);
                let misses = all_count && !requirement.holds(&all);
                if misses && !may_hold_without_some(plan, &requirement, facts) {
                    let violations = requirement.violations(&all);
                    return Err(Error::CannotHold { n_rows: facts.n_rows, violations });
                }
            }
            requirements.push(requirement);
        }
        Ok(Protection { requirements, ruled, notes })
    }
}

/// Counts of codes, as a requirement counts values: it knows no table, and its values are plain
/// numbers.
pub(crate) fn value_counts(counts: &[(Code, u64)]) -> Vec<(u32, u64)> {
    counts.iter().map(|&(code, n_rows)| (code.get(), n_rows)).collect()
}

/// Whether classes may satisfy a requirement that all rows together do not: if some rows may be
/// left out, and more rows do not always make it easier.
fn may_hold_without_some(plan: &Plan, requirement: &Requirement, facts: &TableFacts<'_>) -> bool {
    matches!(plan.method, MethodPlan::FullDomain(_))
        && plan.max_left_out(facts.n_rows) > 0
        && !requirement.survives_additions()
}

/// Refuses a k that all rows together do not reach.
fn check_k(k: u64, facts: &TableFacts<'_>) -> Result<()> {
    let (n_units, unit) = match facts.n_subjects {
        Some(n_subjects) => (n_subjects, "subjects"),
        None => (facts.n_rows, "rows"),
    };
    if k > n_units {
        return Err(Error::usage(
            format!("k = {k} is more than the {n_units} {unit} of the table"),
            format!("use a k of at most {n_units}"),
        ));
    }
    Ok(())
}

/// The facts of a table in memory, and the codes of all its sensitive columns.
pub(crate) fn facts_of(table: &mut Table, ruled: &[usize], sensitive: &[Vec<u32>]) -> Facts {
    Facts {
        subjects: table.subjects.take().unwrap_or_default(),
        sensitive: interleave(sensitive, ruled, table.n_rows),
        n_sensitive: ruled.len(),
    }
}

/// The codes of all sensitive columns of a table in memory.
pub(crate) fn sensitive_codes(table: &Table) -> Vec<Vec<u32>> {
    table.sensitive.iter().map(SensitiveData::codes).collect()
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

/// A sensitive column as the requirement sees it; the distance follows from type and hierarchy.
pub(crate) fn sensitive_column(
    domain: &Domain,
    criteria: &[Criterion],
    notes: &mut Vec<Note>,
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
        let distance = match distance {
            GroundDistance::Equal if has_missing => Distance::EqualSinceMissing,
            GroundDistance::Equal => Distance::Equal,
            GroundDistance::Ordered { .. } => Distance::Ordered,
            GroundDistance::Hierarchical { .. } => Distance::Hierarchical,
        };
        notes.push(Note::Closeness { column: name.to_owned(), distance });
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
pub(crate) fn interleave(columns: &[Vec<u32>], chosen: &[usize], n_rows: usize) -> Vec<u32> {
    let mut codes = Vec::with_capacity(n_rows * chosen.len());
    if chosen.is_empty() {
        return codes;
    }
    for row in 0..n_rows {
        codes.extend(chosen.iter().map(|&column| columns[column][row]));
    }
    codes
}
