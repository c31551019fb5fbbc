//! The codebook of a release, from its plan and what its cells look like.
//!
//! Guarantee: everything comes from the plan (which is the job, with the files of its
//! hierarchies), from
//! the manifest or from the published cells; nothing from the table.

use albers_classes::Attribute;
use albers_classes::space::Shown;
use albers_privacy::Criterion;
use albers_release::publish::CellCounts;
use albers_table::hierarchy::HierarchySpec;
use albers_table::schema::{ColumnType, Role};
use albers_table::sink::Sink;

use super::{Context, Story};
use crate::plan::{MethodPlan, PlannedColumn};
use crate::report::{
    CODEBOOK, Codebook, CodebookColumn, CodebookHierarchy, Example, Manifest, PLACES,
    PublishedColumn, REGIONS, Told, ToldCells, reads,
};

/// A release that is written and waits for its codebook.
pub(super) struct Release<'a> {
    /// The name of its file.
    pub(super) name: String,
    /// What is told of it beside.
    pub(super) manifest: &'a Manifest,
    /// Rows or persons of a class, at least.
    pub(super) k: u64,
}

/// What looks at the cells of a release, where a codebook will stand beside it.
pub(super) fn told(story: &Story<'_>, sink: &dyn Sink) -> Option<Told> {
    let quasi = story.attributes.iter().map(|own| own.domain.name().to_owned()).collect();
    sink.format_beside().map(|format| Told::of_nothing(format, quasi))
}

impl Context<'_> {
    /// The texts of a release's codebook: for people, and for programs.
    pub(super) fn codebook(
        &self,
        story: &Story<'_>,
        release: &Release<'_>,
        told: &ToldCells,
    ) -> Vec<String> {
        let published = release.manifest.columns.iter();
        let (columns, examples): (Vec<CodebookColumn>, Vec<Option<Example>>) =
            published.map(|own| self.codebook_column(story, told, own)).unzip();
        let is_dropped =
            |role: Option<Role>| matches!(role, Some(Role::Identifier | Role::Subject));
        let is_published = |name: &str| columns.iter().any(|own| own.name == name);
        let dropped = self.plan.table.iter().filter(|own| is_dropped(own.role));
        let dropped = dropped.filter(|own| !is_published(&own.name)).map(|own| own.name.clone());
        let codebook = Codebook {
            codebook: CODEBOOK,
            release: release.name.clone(),
            digest: release.manifest.digest.clone(),
            format: told.format.to_string(),
            delimiter: told.delimiter.map(String::from),
            dropped: dropped.collect(),
            promised: self.promised(release),
            not_promised: self.not_promised(release),
            version: release.manifest.version.clone(),
            columns,
        };
        vec![codebook.page(&examples), codebook.text()]
    }

    fn codebook_column(
        &self,
        story: &Story<'_>,
        told: &ToldCells,
        published: &PublishedColumn,
    ) -> (CodebookColumn, Option<Example>) {
        let name = &published.name;
        let attribute = story.attributes.iter().find(|own| own.domain.name() == name);
        let has = |column: &String| told.column(column).is_some();
        let with = |ending: &str| format!("{name}_{ending}");
        let by_bounds = [with("min"), with("max"), with("missing")];
        let shown_in: Vec<String> = match attribute {
            Some(_) if !has(name) => by_bounds.into_iter().filter(has).collect(),
            _ => vec![name.clone()],
        };
        let mean = Some(with("mean")).filter(|_| !published.statistics.is_empty());
        let seen = shown_in.iter().filter_map(|own| told.column(own));
        let missing = seen.clone().any(|own| {
            let is_flag = attribute.is_some() && own.name != *name;
            own.has_missing || own.shows_missing || (is_flag && own.has_true)
        });
        let has_any = seen.clone().any(|own| own.has_any);
        let known = seen.clone().flat_map(|own| own.known.clone()).collect::<Vec<_>>();
        let hierarchy = attribute.and_then(|_| self.codebook_hierarchy(published, &known));
        let by_cells = seen.clone().find_map(|own| own.column_type());
        let (column_type, type_from) = self.type_of(published, attribute, &known, by_cells);
        let ends = attribute.map(|own| self.ends_of(own).to_owned());
        let low = seen.clone().find_map(|own| own.example.clone());
        let flag = with("missing");
        let high = seen.clone().rfind(|own| own.name != flag);
        let high = high.and_then(|own| own.example.clone());
        let example = low.zip(high).map(|(low, high)| Example { low: low.low, high: high.high });
        let mut column = CodebookColumn {
            name: name.clone(),
            role: published.role.clone(),
            shown: published.shown.clone(),
            shown_in,
            mean,
            column_type: column_type.name().to_owned(),
            type_from: type_from.to_owned(),
            ends,
            missing,
            hierarchy,
            reads: String::new(),
        };
        column.reads = reads(&column, has_any);
        (column, example)
    }

    /// Whose values ends and members are. Labels stand for values that nobody may have.
    fn ends_of(&self, attribute: &Attribute) -> &'static str {
        let is_fixed = self.plan.has_fixed_ranges(attribute.domain.name());
        match attribute.shown {
            Shown::Interval | Shown::Set if !self.shows_regions && !is_fixed => "values",
            Shown::Interval | Shown::Set | Shown::Label => REGIONS,
        }
    }

    /// The same as a manifest tells it, of intervals whose ends are nobody's values.
    pub(super) fn told_ends(&self, attribute: &Attribute) -> Option<String> {
        // Ranges that are fixed tell by their brackets which end is theirs.
        let is_fixed = self.plan.has_fixed_ranges(attribute.domain.name());
        let is_told = self.shows_regions && !is_fixed && attribute.shown == Shown::Interval;
        is_told.then(|| REGIONS.to_owned())
    }

    /// The hierarchy of labels or places, as far as the job and its file tell it.
    fn codebook_hierarchy(
        &self,
        published: &PublishedColumn,
        known: &[String],
    ) -> Option<CodebookHierarchy> {
        // Where no labels are shown, no word of a hierarchy is in the manifest either.
        published.hierarchy.as_ref()?;
        Some(match self.plan.hierarchy_of(&published.name)?.whole() {
            HierarchySpec::File(_) => return None,
            HierarchySpec::Rows(rows) => {
                CodebookHierarchy::File { rows: rows.fields(&published.name, known)? }
            }
            HierarchySpec::Prefix => CodebookHierarchy::Prefix,
            spec @ HierarchySpec::Ranges(_) => CodebookHierarchy::Ranges { spec: spec.to_string() },
            HierarchySpec::Dates(levels) => {
                CodebookHierarchy::Dates { spec: (!levels.are_usual()).then(|| levels.to_string()) }
            }
            HierarchySpec::Suppress => CodebookHierarchy::Suppress,
            HierarchySpec::AtLeast(..) => unreachable!("a whole hierarchy is no part of one"),
        })
    }

    /// The type of a column, and what tells it.
    fn type_of(
        &self,
        published: &PublishedColumn,
        attribute: Option<&Attribute>,
        known: &[String],
        by_cells: Option<ColumnType>,
    ) -> (ColumnType, &'static str) {
        let planned = self.plan.columns.iter().find(|own| own.name == published.name);
        // The types of recoded quasi-identifiers are those of other rows.
        let is_recoded = matches!(self.plan.method, MethodPlan::Recoded { .. });
        let declared = planned.filter(|_| attribute.is_none() || !is_recoded);
        if let Some(declared) = declared.and_then(|own| own.column_type) {
            return (declared, "job");
        }
        let Some(attribute) = attribute else {
            return (by_cells.unwrap_or(ColumnType::Text), "cells");
        };
        let by_cells = by_cells.filter(|_| published.shown != PLACES);
        let hierarchy = self.plan.hierarchy_of(&published.name);
        let by_hierarchy = hierarchy.and_then(|spec| type_under(spec, published, known, by_cells));
        let told = by_hierarchy.or(by_cells).unwrap_or(ColumnType::Text);
        // Whole numbers without a hierarchy are shown as intervals.
        let is_name = attribute.shown == Shown::Set && hierarchy.is_none();
        match told {
            ColumnType::Integer if is_name => (ColumnType::Code, "cells"),
            told => (told, "cells"),
        }
    }

    /// What is promised of a release, in words.
    fn promised(&self, release: &Release<'_>) -> Vec<String> {
        let unit = match self.plan.table.iter().any(|own| own.role == Some(Role::Subject)) {
            true => "persons",
            false => "rows",
        };
        let k = release.k;
        let mut promised = Vec::new();
        if let Some(privacy) = &release.manifest.privacy {
            let (epsilon, delta) = (privacy.epsilon, privacy.delta);
            let factor = epsilon.exp();
            promised.push(format!(
                "Differential privacy with epsilon = {epsilon} and delta = {delta}: whether or \
                 not one person is in the original, any release is at most {factor:.2} times as \
                 likely, but for a chance of {delta}. Rows were drawn in secret for it, and \
                 ranges were fixed before."
            ));
        }
        if k > 1 {
            promised.push(format!(
                "Every class, all rows that show the same in the columns that are made coarser, \
                 has at least {k} {unit} (k = {k})."
            ));
        }
        for column in &self.plan.columns {
            let rules = column.criteria.iter().filter(|own| own.asks_for_something());
            promised.extend(rules.map(|own| rule_in_words(own, &column.name)));
        }
        if promised.is_empty() {
            promised.push("Nothing: classes may be single rows.".to_owned());
        }
        promised.push(
            "This was verified on the rows of every class before they were written.".to_owned(),
        );
        promised
    }

    /// What is not, in words.
    fn not_promised(&self, release: &Release<'_>) -> Vec<String> {
        let mut words = Vec::new();
        let is_ruled =
            |own: &&PlannedColumn| own.criteria.iter().any(Criterion::asks_for_something);
        let names = |role: Role, is_ruled_too: bool| {
            let own = self.plan.columns.iter().filter(|own| own.role == role);
            let own = own.filter(|own| is_ruled_too || !is_ruled(own));
            own.map(|own| own.name.clone()).collect::<Vec<_>>().join(", ")
        };
        let secrets = names(Role::Sensitive, false);
        if !secrets.is_empty() {
            words.push(format!(
                "No rule protects {secrets}: where all rows of a class share a value, whoever \
                 finds the class knows it."
            ));
        }
        let kept = names(Role::Keep, true);
        if !kept.is_empty() {
            words.push(format!(
                "Kept columns leave as they came ({kept}): somebody who knows a value of them \
                 that is rare may find a row by it."
            ));
        }
        if release.manifest.privacy.is_none() {
            words.push(
                "Rows may be left out; the manifest says how many. Figures are those of the \
                 published rows."
                    .to_owned(),
            );
            words.push(
                "Further releases about the same people may tell more together with this one."
                    .to_owned(),
            );
        } else {
            words.push(
                "Only a share of the rows was drawn: counts are to be divided by the sampling \
                 rate in the manifest, and rare combinations are missing."
                    .to_owned(),
            );
        }
        words.push(
            "Within a class nobody knows who has which value: counts over parts of an interval, a \
             set or a label are estimates."
                .to_owned(),
        );
        words
    }
}

/// The type of the values below labels, where the hierarchy tells it.
fn type_under(
    spec: &HierarchySpec,
    published: &PublishedColumn,
    known: &[String],
    by_cells: Option<ColumnType>,
) -> Option<ColumnType> {
    match spec.whole() {
        HierarchySpec::File(_) | HierarchySpec::Suppress | HierarchySpec::AtLeast(..) => None,
        HierarchySpec::Rows(rows) => {
            let mut counts = CellCounts::nothing();
            let rows = rows.fields(&published.name, known)?;
            rows.iter().for_each(|row| counts.add_text(row[0].trim()));
            counts.column_type()
        }
        HierarchySpec::Prefix => match by_cells {
            Some(ColumnType::Integer | ColumnType::Code) => Some(ColumnType::Code),
            _ => Some(ColumnType::Text),
        },
        HierarchySpec::Ranges(_) => match by_cells {
            Some(ColumnType::Integer | ColumnType::Decimal | ColumnType::Float) => by_cells,
            _ if spec.to_string().contains('.') => Some(ColumnType::Decimal),
            _ => Some(ColumnType::Integer),
        },
        HierarchySpec::Dates(_) => match by_cells {
            Some(ColumnType::Timestamp) => by_cells,
            _ => Some(ColumnType::Date),
        },
    }
}

/// What a rule promises of the values of a column.
fn rule_in_words(criterion: &Criterion, column: &str) -> String {
    match criterion {
        Criterion::DistinctLDiversity { l } => {
            format!("Every class has at least {l} different values of {column}.")
        }
        Criterion::EntropyLDiversity { l } => format!(
            "The values of {column} are spread in every class at least as well as {l} equally \
             frequent ones (entropy)."
        ),
        Criterion::RecursiveDiversity { c, l } => format!(
            "In every class the most frequent value of {column} has fewer rows than {c} times all \
             values from the one of rank {l} on."
        ),
        Criterion::TCloseness { t } => format!(
            "In every class the values of {column} are distributed as in the whole table but for a \
             distance of at most {t} (t-closeness)."
        ),
        Criterion::AlphaK { alpha } => {
            format!("No value of {column} has more than a share of {alpha} in any class.")
        }
        Criterion::Variance { minimum } => {
            format!("The variance of {column} is at least {minimum} in every class.")
        }
    }
}
