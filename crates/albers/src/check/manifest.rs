//! A release against the manifest beside it: years later, and without the original.
//!
//! ```text
//!   manifest ──► columns, requirement ──► job ──► audit of the release ──┐
//!   release  ──► SHA-256 ───────────────────────────────────────────────┴──► compared, by field
//! ```
//!
//! Guarantee: what is said to be verified was found in the release file; what is not there, such as
//! the persons of a subject column that was dropped, is named.
//! Cost: that of an audit, and one more reading of the bytes.

use albers_privacy::{Criterion, RELATIVE_TOLERANCE, parse_description};
use albers_storage::watch::Watch;
use albers_table::hierarchy::HierarchySpec;
use albers_table::schema::Role;
use albers_table::source::Source;
use serde::Serialize;

use super::looked::Looked;
use super::loss::TextLoss;
use super::{CheckReport, audited};
use crate::error::{Error, Result};
use crate::finding::{Finding, FindingName};
use crate::job::{Diversity, Job};
use crate::report::{ConcernedRows, LEVEL, Manifest};

/// What came of the comparison of a release with its manifest.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ManifestCheck {
    /// The fields of the manifest that the release agrees with.
    pub verified: Vec<String>,
    /// Those that it does not agree with.
    pub differs: Vec<Differs>,
    /// What cannot be told from the release, in words.
    pub unverified: Vec<String>,
}

/// A field of a manifest that its release does not agree with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Differs {
    /// The field.
    pub field: String,
    /// What the manifest says.
    pub manifest: String,
    /// What was found.
    pub release: String,
}

/// A requirement as its words tell it.
struct Described {
    k: u64,
    counts_subjects: bool,
    rules: Vec<(String, Criterion)>,
}

/// Audits a release and compares it with its manifest, which tells the columns and the requirement
/// unless the job does. The digest is that of the bytes of the release.
pub fn check_release(
    job: &Job,
    release: &dyn Source,
    manifest: &Manifest,
    digest: &str,
    threshold: Option<f64>,
    watch: &dyn Watch,
) -> Result<CheckReport> {
    let looked = Looked::beside(manifest);
    let (report, _) = compared(job, (release, looked), (manifest, digest), threshold, watch)?;
    Ok(report)
}

/// The same, with the rows that findings are about where they are wanted.
pub(super) fn compared(
    job: &Job,
    (release, looked): (&dyn Source, Looked<'_>),
    (manifest, digest): (&Manifest, &str),
    threshold: Option<f64>,
    watch: &dyn Watch,
) -> Result<(CheckReport, Vec<ConcernedRows>)> {
    let described = Described::read(manifest)?;
    let mut compared = ManifestCheck::default();
    let told = job_of(job, release, manifest, &described, &mut compared)?;
    let (mut report, mut looked) = audited(&told, release, threshold, looked, watch)?;
    // Closeness is a rule too, though the audit was not asked for it.
    report.findings.retain(|own| !described.protects(own));
    looked.rows.retain(|own| report.findings.iter().any(|found| found.label() == own.finding));
    match &manifest.digest {
        Some(says) => compared.compare("digest", says.as_str(), digest),
        None => compared.unverified.push("the bytes: the manifest has no digest".to_owned()),
    }
    compared.compare("rows", &manifest.rows, &report.rows);
    if is_about_its_columns(&told, manifest) {
        compared.compare("classes", &manifest.classes, &report.classes);
        let sizes = [&manifest.class_size, &report.class_size];
        let [says, is] =
            sizes.map(|own| format!("{} to {}, mean {:.6}", own.min, own.max, own.mean));
        compared.compare("class_size", &says, &is);
        compared.compare_loss(manifest, looked.loss.as_ref());
        match asks_for_itself(job) && job.k.is_none_or(|k| k != described.k || described.is_more())
        {
            true => compared
                .unverified
                .push("the requirement of the manifest, since another one is asked for".to_owned()),
            false => compared.compare_requirement(&described, &report),
        }
    } else {
        let why = "classes and requirement: other columns are asked for than the manifest names";
        compared.unverified.push(why.to_owned());
    }
    report.manifest = Some(compared);
    report.accept(job, Some(manifest));
    Ok((report, looked.rows))
}

impl Described {
    /// Whether a finding says that no rule protects a column that has one.
    fn protects(&self, finding: &Finding) -> bool {
        let is_of_it = |(name, criterion): &(String, Criterion)| {
            finding.column.as_ref() == Some(name) && criterion.asks_for_something()
        };
        finding.name == FindingName::SecretWithoutRule && self.rules.iter().any(is_of_it)
    }

    /// Whether there is more to it than a number of rows.
    fn is_more(&self) -> bool {
        self.counts_subjects || !self.rules.is_empty()
    }

    /// Reads `k = 5 subjects, distinct 3-diversity of 'disease'` back.
    fn read(manifest: &Manifest) -> Result<Described> {
        let damaged = || {
            Error::usage(
                "the requirement of the manifest cannot be read",
                "it is damaged, or of another version of the program; check the table with flags \
                 in another folder",
            )
        };
        let text = manifest.requirement.strip_prefix("k = ").ok_or_else(damaged)?;
        let (k, mut rest) = text.split_at(text.find(", ").unwrap_or(text.len()));
        let (k, counts_subjects) = match k.strip_suffix(" subjects") {
            Some(k) => (k, true),
            None => (k, false),
        };
        let mut rules = Vec::new();
        while let Some(rule) = rest.strip_prefix(", ") {
            let (words, named) = rule.split_once(" of \'").ok_or_else(damaged)?;
            let criterion = parse_description(words).ok_or_else(damaged)?;
            // Names may hold anything, so that the longest that fits is meant.
            let names = manifest.columns.iter().map(|column| column.name.as_str());
            let fits = |name: &&str| {
                let after = named.strip_prefix(*name).and_then(|rest| rest.strip_prefix('\''));
                after.is_some_and(|after| after.is_empty() || after.starts_with(", "))
            };
            let name = names.filter(fits).max_by_key(|name| name.len()).ok_or_else(damaged)?;
            rules.push((name.to_owned(), criterion));
            rest = &named[name.len() + 1..];
        }
        let k = k.parse().map_err(|_| damaged())?;
        Ok(Described { k, counts_subjects, rules })
    }
}

/// The job, with the columns and the requirement of the manifest where it names none.
fn job_of(
    job: &Job,
    source: &dyn Source,
    manifest: &Manifest,
    described: &Described,
    compared: &mut ManifestCheck,
) -> Result<Job> {
    let mut told = job.clone();
    for column in manifest.columns.iter().filter(|column| column.role == "keep") {
        // What is asked for of a column goes before what the manifest says of it.
        if told.column(&column.name).role.is_none() {
            told.set_role(&column.name, Role::Keep)?;
        }
    }
    let level = manifest.columns.iter().find(|column| column.role == LEVEL.0);
    if let (None, Some(level)) = (&job.level_column, level) {
        match source.columns().iter().any(|own| own.name == level.name) {
            true => told.level_column = Some(level.name.clone()),
            false => compared.unverified.push(format!(
                "the levels of its classes: the release has no column '{}'",
                level.name
            )),
        }
    }
    if job.with_role(Role::Quasi).next().is_some() {
        return Ok(told);
    }
    for column in &manifest.columns {
        let role = match column.role.as_str() {
            "quasi" => Role::Quasi,
            "sensitive" => Role::Sensitive,
            _ => continue,
        };
        told.set_role(&column.name, role)?;
        let own = told.column(&column.name);
        if role == Role::Sensitive && own.hierarchy.is_none() {
            own.hierarchy = column.hierarchy.as_deref().and_then(built_in);
        }
    }
    if asks_for_itself(job) {
        return Ok(told);
    }
    told.k = Some(described.k);
    for (name, criterion) in &described.rules {
        let published = manifest.columns.iter().find(|own| own.name == *name);
        let is_from_file = published.and_then(|own| own.hierarchy.as_deref()) == Some("file");
        let own = told.column(name);
        match *criterion {
            Criterion::TCloseness { .. } if is_from_file && own.hierarchy.is_none() => {
                compared.unverified.push(format!(
                    "{}, whose distances are those of a hierarchy file: ask for it with that file",
                    closeness_of(name)
                ));
            }
            // It is compared with what is reached: a manifest tells neither the type of the column
            // nor what stands for a missing value, which decide how far values are apart.
            Criterion::TCloseness { .. } => {}
            Criterion::AlphaK { alpha } => own.alpha = Some(alpha),
            Criterion::Variance { minimum } => own.variance = Some(minimum),
            diversity => {
                if own.l_diversity.replace(Diversity(diversity)).is_some() {
                    compared.unverified.push(format!("a second diversity of \'{name}\'"));
                }
            }
        }
    }
    Ok(told)
}

/// Whether a job asks for a requirement of its own.
fn asks_for_itself(job: &Job) -> bool {
    let asks = |own: &crate::job::ColumnJob| {
        own.l_diversity.is_some()
            || own.t_closeness.is_some()
            || own.alpha.is_some()
            || own.variance.is_some()
    };
    job.k.is_some() || job.columns.values().any(asks)
}

/// A built-in hierarchy by its name.
pub(super) fn built_in(name: &str) -> Option<HierarchySpec> {
    let spec: HierarchySpec = name.parse().ok()?;
    (name != "file" && !matches!(spec, HierarchySpec::File(_))).then_some(spec)
}

/// Whether classes are told by the columns that the manifest names.
fn is_about_its_columns(job: &Job, manifest: &Manifest) -> bool {
    let mut named: Vec<&str> = manifest
        .columns
        .iter()
        .filter(|column| column.role == "quasi")
        .map(|column| column.name.as_str())
        .collect();
    named.sort_unstable();
    job.with_role(Role::Quasi).eq(named)
}

/// The sensitive columns of which a manifest says how close they are, without those whose distances
/// are those of a hierarchy file.
pub(super) fn closeness_by(manifest: &Manifest) -> Result<Vec<(String, f64)>> {
    let is_from_file = |name: &str| {
        let column = manifest.columns.iter().find(|own| own.name == name);
        column.and_then(|own| own.hierarchy.as_deref()) == Some("file")
    };
    let rules = Described::read(manifest)?.rules.into_iter();
    let close = rules.filter_map(|(name, criterion)| match criterion {
        Criterion::TCloseness { t } if !is_from_file(&name) => Some((name, t)),
        _ => None,
    });
    Ok(close.collect())
}

fn closeness_of(name: &str) -> String {
    format!("the closeness of \'{name}\'")
}

/// Whether two figures of four digits are the same, but for the rounding of the last.
fn is_same_figure(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1.001e-3 * a.abs()
}

impl ManifestCheck {
    fn compare<T>(&mut self, field: &str, manifest: &T, release: &T)
    where
        T: PartialEq + ToString + ?Sized,
    {
        match manifest == release {
            true => self.verified.push(field.to_owned()),
            false => self.differs.push(Differs {
                field: field.to_owned(),
                manifest: manifest.to_string(),
                release: release.to_string(),
            }),
        }
    }

    fn compare_loss(&mut self, manifest: &Manifest, by_texts: Option<&TextLoss<'_>>) {
        let Some(says) = &manifest.loss else { return };
        let Some((found, unknown)) = by_texts.and_then(TextLoss::loss) else {
            self.unverified.push("the loss: the release does not fit in memory".to_owned());
            return;
        };
        for name in &unknown {
            self.unverified
                .push(format!("the loss of \'{name}\', which its texts alone do not tell exactly"));
        }
        if says.discernibility != found.discernibility {
            return self.compare("loss", &says.discernibility, &found.discernibility);
        }
        let mut figures = Vec::new();
        for (name, &figure) in &found.ncp_by_column {
            if !unknown.contains(&name.as_str()) {
                let says = says.ncp_by_column.get(name).copied();
                figures.push((says.unwrap_or(f64::NAN), figure));
            }
        }
        if unknown.is_empty() {
            figures.push((says.certainty_penalty, found.certainty_penalty));
            figures.push((says.ncp, found.ncp));
        }
        match figures.into_iter().find(|&(says, is)| !is_same_figure(says, is)) {
            None => self.verified.push("loss".to_owned()),
            Some((says, is)) => self.differs.push(Differs {
                field: "loss".to_owned(),
                manifest: says.to_string(),
                release: is.to_string(),
            }),
        }
    }

    /// Rows are at least as many as persons, so that k rows are needed either way.
    fn compare_requirement(&mut self, described: &Described, report: &CheckReport) {
        let k = described.k;
        if report.k < k && report.k_counts == "rows" {
            let words = |k: u64| format!("k = {k}");
            return self.compare("requirement", &words(k), &words(report.k));
        }
        if described.counts_subjects && report.k_counts == "rows" {
            self.unverified.push(format!(
                "that every class has {k} persons: the column that tells them apart is not \
                 published"
            ));
        }
        for (name, criterion) in &described.rules {
            let Criterion::TCloseness { t } = *criterion else { continue };
            let is_close = report
                .sensitive
                .get(name)
                .is_some_and(|own| own.t <= t * (1.0 + RELATIVE_TOLERANCE));
            if !is_close && !self.unverified.iter().any(|own| own.contains(&closeness_of(name))) {
                self.unverified.push(format!(
                    "{}: as its published values look, it is not {t}; ask for it by the type that \
                     the column had",
                    closeness_of(name)
                ));
            }
        }
        let is_whole = self.unverified.is_empty();
        if report.holds == Some(true) && is_whole {
            self.verified.push("requirement".to_owned());
        }
    }
}
