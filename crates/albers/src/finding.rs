//! Findings: what puts people at risk although the requirement holds.
//!
//! A requirement speaks of classes. Beside them a release shows kept columns, secrets without a
//! rule and lists of names, and these can tell who is who. What is found is said; what is severe
//! stops the release before anything appears, unless the job accepts it by name.
//!
//! Here is what a finding is and how it is accepted; `findings` counts them.

use std::fmt;
use std::str::FromStr;

use albers_storage::choice::Choice;
use albers_storage::spelling;
use albers_storage::wording;
use albers_storage::wording::Wording;
use serde::{Deserialize, Serialize};

/// What is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FindingName {
    /// Cells of a column that tell a quasi-identifier which their class hides.
    KeepTellsQuasi,
    /// Rows that several releases of an index together tell from too many others.
    Linkage,
    /// Nothing is asked for that hides anybody.
    LowK,
    /// Means of classes so small that they tell single values.
    MeanBelowFive,
    /// A recoding function that lies in the folder of its release.
    ModelBesideRelease,
    /// Published ends that are the value of few rows.
    OwnValueBounds,
    /// Classes whose rule holds only by the rows of one person.
    PersonRulesClass,
    /// People who have several rows, and count several times.
    RowsPerPerson,
    /// Rows that are recoded by the function of an earlier release, and are not those of it.
    SecondRelease,
    /// Values of a secret that whole classes share, without a rule for it.
    SecretWithoutRule,
    /// A secret that cuts follow.
    SensitiveTarget,
    /// Classes that share one value of a kept column that cuts follow.
    TargetInClasses,
    /// A column of text that is published as lists of its own values.
    TextList,
    /// Values of a kept column that one row has.
    UniqueKeep,
    /// Rows that are alone by all kept columns.
    UniqueKeeps,
}

albers_storage::choices!(FindingName {
    KeepTellsQuasi: "keep-tells-quasi", "Cells tell a quasi-identifier that is shown coarser";
    Linkage: "linkage", "Several releases of an index together tell rows apart";
    LowK: "low-k", "k is 1 and no other rule is given";
    MeanBelowFive: "mean-below-5", "Means of classes of fewer than 5 are published";
    ModelBesideRelease: "model-beside-release", "A recoding function lies beside its release";
    OwnValueBounds: "own-value-bounds", "Ends of intervals are the values of few rows";
    PersonRulesClass: "person-rules-class", "A rule holds only by the rows of one person";
    RowsPerPerson: "rows-per-person", "Rows share an identifier, and count as several people";
    SecondRelease: "second-release", "Rows are recoded by the function of an earlier release";
    SecretWithoutRule: "secret-without-rule", "Classes share one value of a sensitive column";
    SensitiveTarget: "sensitive-target", "Cuts follow a sensitive column";
    TargetInClasses: "target-in-classes", "Classes share one value of a kept column that cuts follow";
    TextList: "text-list", "A text is published as lists of its values";
    UniqueKeep: "unique-keep", "Rows have a kept value that nobody else has";
    UniqueKeeps: "unique-keeps", "Rows are alone by all kept columns together";
});

impl FindingName {
    /// Whether it is about a single column.
    fn is_of_column(self) -> bool {
        !matches!(
            self,
            FindingName::Linkage
                | FindingName::LowK
                | FindingName::MeanBelowFive
                | FindingName::ModelBesideRelease
                | FindingName::RowsPerPerson
                | FindingName::SecondRelease
                | FindingName::UniqueKeeps
        )
    }

    /// Whether anybody can count it on the release, so that it may stand in a manifest.
    fn is_published(self) -> bool {
        match self {
            FindingName::LowK
            | FindingName::MeanBelowFive
            | FindingName::SecretWithoutRule
            | FindingName::TextList
            | FindingName::UniqueKeep
            | FindingName::UniqueKeeps => true,
            FindingName::KeepTellsQuasi
            | FindingName::Linkage
            | FindingName::ModelBesideRelease
            | FindingName::OwnValueBounds
            | FindingName::PersonRulesClass
            | FindingName::RowsPerPerson
            | FindingName::SecondRelease
            | FindingName::SensitiveTarget
            | FindingName::TargetInClasses => false,
        }
    }
}

/// Something that puts people at risk although the requirement holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What it is.
    pub name: FindingName,
    /// The column, where it is about one.
    pub column: Option<String>,
    /// How many rows, or values, are concerned.
    pub count: u64,
    /// Whether the count is an estimate.
    pub is_about: bool,
    /// Whether it stops a release that does not accept it.
    pub is_severe: bool,
    /// What it means, in one sentence.
    pub sentence: Wording,
}

impl Finding {
    /// The finding as an acceptance names it.
    pub fn label(&self) -> String {
        match &self.column {
            Some(column) => format!("{}:{column}", self.name),
            None => self.name.to_string(),
        }
    }

    /// What is said of it; each face names settings in its own words.
    pub fn wording(&self) -> Wording {
        let mut words = wording![format!("{}: ", self.label())];
        words.append(self.sentence.clone());
        words
    }

    /// What may be published of it, if anything.
    pub(crate) fn published(&self) -> Option<PublishedFinding> {
        self.name.is_published().then(|| PublishedFinding {
            name: self.name.to_string(),
            column: self.column.clone(),
            count: self.count,
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.wording())
    }
}

/// A finding as the owner's report holds it.
#[derive(Serialize)]
struct OwnersFinding<'f> {
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<&'f str>,
    count: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    about: bool,
    severe: bool,
    sentence: String,
}

impl Serialize for Finding {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let finding = OwnersFinding {
            name: self.name.name(),
            column: self.column.as_deref(),
            count: self.count,
            about: self.is_about,
            severe: self.is_severe,
            sentence: self.sentence.to_string(),
        };
        finding.serialize(serializer)
    }
}

/// A finding as a manifest holds it: counted on the release itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedFinding {
    /// Its name.
    pub name: String,
    /// The column, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub column: Option<String>,
    /// How many rows, or values, are concerned.
    pub count: u64,
}

/// A finding that a job accepts: `unique-keep` for every column, `unique-keep:id` for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    /// What is accepted.
    pub name: FindingName,
    /// Of which column; of any when not given.
    pub column: Option<String>,
}

impl Acceptance {
    fn meets(&self, finding: &Finding) -> bool {
        self.name == finding.name && (self.column.is_none() || self.column == finding.column)
    }
}

impl FromStr for Acceptance {
    type Err = String;

    fn from_str(text: &str) -> Result<Acceptance, String> {
        let (name, column) = match text.split_once(':') {
            Some((name, column)) => (name, Some(column.trim().to_owned())),
            None => (text, None),
        };
        let known = FindingName::ALL.iter().copied().find(|known| known.name() == name.trim());
        let name = known.ok_or_else(|| {
            let names: Vec<&str> = FindingName::ALL.iter().map(|known| known.name()).collect();
            let question = spelling::question(name, names.iter().copied());
            let question = question.map(|own| format!("; {own}")).unwrap_or_default();
            format!("'{}' is no finding; use one of {}{question}", name.trim(), names.join(", "))
        })?;
        match column {
            Some(_) if !name.is_of_column() => Err(format!("{name} is about no single column")),
            Some(column) if column.is_empty() => Err(format!("no column is named after {name}:")),
            column => Ok(Acceptance { name, column }),
        }
    }
}

impl fmt::Display for Acceptance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.column {
            Some(column) => write!(f, "{}:{column}", self.name),
            None => write!(f, "{}", self.name),
        }
    }
}

/// The severe findings that no acceptance meets.
pub(crate) fn not_accepted(findings: &[Finding], accepted: &[Acceptance]) -> Vec<Finding> {
    let is_met = |finding: &Finding| accepted.iter().any(|own| own.meets(finding));
    let severe = findings.iter().filter(|finding| finding.is_severe && !is_met(finding));
    severe.cloned().collect()
}

/// The acceptances that meet nothing.
pub(crate) fn without_effect(findings: &[Finding], accepted: &[Acceptance]) -> Vec<Acceptance> {
    let meets_none = |own: &&Acceptance| !findings.iter().any(|finding| own.meets(finding));
    accepted.iter().filter(meets_none).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acceptances_are_read_and_written_alike() {
        for text in ["unique-keep", "unique-keep:id", "low-k", "text-list:a:b"] {
            assert_eq!(text.parse::<Acceptance>().unwrap().to_string(), text);
        }
        for (text, word) in
            [("unique", "unique-keeps"), ("low-k:age", "no single column"), ("text-list:", "named")]
        {
            let refusal = text.parse::<Acceptance>().unwrap_err();
            assert!(refusal.contains(word), "{refusal}");
        }
    }

    #[test]
    fn an_acceptance_of_a_column_meets_that_column_only() {
        let finding = |column: &str| Finding {
            name: FindingName::UniqueKeep,
            column: Some(column.to_owned()),
            count: 9,
            is_about: false,
            is_severe: true,
            sentence: Wording::default(),
        };
        let findings = [finding("id"), finding("note")];
        let accepted = |texts: &[&str]| -> Vec<Acceptance> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        assert_eq!(not_accepted(&findings, &accepted(&["unique-keep:id"])), [finding("note")]);
        assert!(not_accepted(&findings, &accepted(&["unique-keep"])).is_empty());
        let idle = without_effect(&findings, &accepted(&["unique-keep:x", "unique-keep"]));
        assert_eq!(idle, accepted(&["unique-keep:x"]));
    }
}
