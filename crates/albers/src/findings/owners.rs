//! Findings about the table itself: for its owner, never in a manifest.
//!
//! They are counted on the classes that pass the door, with the values that these hide, and on what
//! was read beside them.

use albers_classes::Attribute;
use albers_measure::{EndParts, OwnEnds, PersonParts, TellParts, ToldRows};
use albers_privacy::Requirement;
use albers_release::door::Passed;
use albers_storage::wording;
use albers_storage::wording::Field;

use super::published::about;
use crate::finding::{Finding, FindingName};
use crate::plan::{MethodPlan, Plan};
use crate::rows::Repeated;

/// Of the rows, those told by another column that are worth a sentence: fewer may be chance.
const SAID_TOLD_SHARE: f64 = 0.01;
/// Of the rows, those told by another column that make it severe.
const SEVERE_TOLD_SHARE: f64 = 0.05;
/// Of the rows, those that share an identifier that make it severe.
const SEVERE_REPEATED_SHARE: f64 = 0.01;

/// What is counted of the classes that pass.
pub(crate) struct OwnersCounts<'a> {
    attributes: &'a [Attribute],
    /// Whether classes show the bounds of their rows, and could show regions.
    is_compact: bool,
    /// Sensitive columns that cuts follow.
    secret_targets: Vec<String>,
    ends: EndParts,
    persons: PersonParts,
    tells: TellParts,
}

impl<'a> OwnersCounts<'a> {
    /// Of no class yet.
    pub(crate) fn of_nothing(plan: &Plan, attributes: &'a [Attribute]) -> OwnersCounts<'a> {
        let is_compact = match &plan.method {
            MethodPlan::Cuts { cuts }
            | MethodPlan::Index { cuts, .. }
            | MethodPlan::Recoded { cuts } => !cuts.shows_regions,
            MethodPlan::Grid { shows_regions, .. } => !shows_regions,
            _ => false,
        };
        // As much as a sample of the rows takes, whatever the memory.
        let grain = plan.method.grain().unwrap_or_default();
        let n_bytes = grain.sample_bytes;
        let most_k = match plan.method {
            // The given release will tell.
            MethodPlan::Given { k: None, .. } => u64::MAX,
            _ => plan.greatest_k(),
        };
        OwnersCounts {
            attributes,
            is_compact,
            secret_targets: plan.secret_targets(),
            ends: EndParts::new(attributes, n_bytes, most_k),
            persons: PersonParts::new(grain.whole_rows),
            tells: TellParts::new(attributes, n_bytes),
        }
    }

    /// Adds some classes.
    pub(crate) fn add(&mut self, passed: &Passed<'_, '_>) {
        self.ends.add(passed);
        self.persons.add(passed);
        self.tells.add(passed);
    }

    /// What was found in so many rows of classes that satisfy a requirement.
    pub(crate) fn findings(&self, requirement: &Requirement, n_rows: u64) -> Vec<Finding> {
        let k = requirement.k();
        let ends = self.attributes.iter().zip(self.ends.own_ends(k));
        let mut findings: Vec<Finding> = ends
            .filter_map(|(own, ends)| own_value_bounds(own, ends?, k, self.is_compact))
            .collect();
        let ruled = requirement.columns().iter().zip(self.persons.n_classes());
        findings.extend(ruled.filter_map(|(own, &count)| person_rules_class(&own.name, count)));
        let told = self.tells.told();
        findings
            .extend(told.iter().filter_map(|told| keep_tells_quasi(self.attributes, told, n_rows)));
        findings.extend(self.secret_targets.iter().map(|name| sensitive_target(name, n_rows)));
        findings
    }
}

/// Rows whose cell of a column tells an attribute that their class hides.
pub(crate) fn keep_tells_quasi(
    attributes: &[Attribute],
    told: &ToldRows,
    n_rows: u64,
) -> Option<Finding> {
    let ToldRows { column, attribute, n_rows: n_told, is_about } = told;
    let quasi = attributes[*attribute].domain.name();
    let share = *n_told as f64 / n_rows.max(1) as f64;
    (share >= SAID_TOLD_SHARE).then(|| Finding {
        name: FindingName::KeepTellsQuasi,
        column: Some(column.clone()),
        count: *n_told,
        is_about: *is_about,
        is_severe: share >= SEVERE_TOLD_SHARE,
        sentence: format!(
            "{}{n_told} of {n_rows} rows have a value of '{column}' that occurs with one value \
             only of '{quasi}', which their class shows coarser: whoever reads it knows the other",
            about(*is_about),
        )
        .into(),
    })
}

/// Ends of an attribute that are the value of fewer than `k` rows; where classes show the bounds of
/// their rows and could show regions, that is said.
pub(crate) fn own_value_bounds(
    attribute: &Attribute,
    ends: OwnEnds,
    k: u64,
    is_compact: bool,
) -> Option<Finding> {
    let OwnEnds { n_few, n_ends, is_about } = ends;
    let name = attribute.domain.name();
    let mut sentence = wording![format!(
        "{}{n_few} of {n_ends} published ends of '{name}' are the value of fewer than {k} rows: \
         an outlier's own value may stand there",
        about(is_about),
    )];
    if is_compact {
        let regions = Field::Compact.of("false");
        sentence.append(wording!["; with ", regions, " they are nobody's where there is room"]);
    }
    (n_few > 0).then(|| Finding {
        name: FindingName::OwnValueBounds,
        column: Some(name.to_owned()),
        count: n_few,
        is_about,
        is_severe: false,
        sentence,
    })
}

/// Classes that satisfy the rules of a sensitive column only by the rows of one person.
pub(crate) fn person_rules_class(column: &str, n_classes: u64) -> Option<Finding> {
    (n_classes > 0).then(|| Finding {
        name: FindingName::PersonRulesClass,
        column: Some(column.to_owned()),
        count: n_classes,
        is_about: false,
        is_severe: true,
        sentence: format!(
            "{n_classes} classes satisfy the rule of '{column}' only by the rows of one person who \
             has several: without these, the others share too much"
        )
        .into(),
    })
}

/// A sensitive column that cuts follow.
fn sensitive_target(column: &str, n_rows: u64) -> Finding {
    Finding {
        name: FindingName::SensitiveTarget,
        column: Some(column.to_owned()),
        count: n_rows,
        is_about: false,
        is_severe: false,
        sentence: format!(
            "the classes of {n_rows} rows are made to tell '{column}', which is sensitive: they do \
             so as far as its rule allows, and where cuts lie tells a little more"
        )
        .into(),
    }
}

/// Of so many rows that were read, some share an identifier.
pub(crate) fn rows_per_person(repeated: &Repeated, n_rows: u64) -> Finding {
    let Repeated { column, n_rows: n_repeated, is_about } = repeated;
    Finding {
        name: FindingName::RowsPerPerson,
        column: None,
        count: *n_repeated,
        is_about: *is_about,
        is_severe: *n_repeated as f64 >= SEVERE_REPEATED_SHARE * n_rows as f64,
        sentence: wording![
            format!(
                "{}{n_repeated} of {n_rows} rows share their value of '{column}' with others, and \
                 each counts as a person: k rows may be one; name the column that tells persons \
                 apart with ",
                about(*is_about),
            ),
            Field::Subject,
        ],
    }
}
