//! The requirement a release must meet: k, and rules for sensitive columns.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 2.1.
//! Departures: rules can be combined freely, and k can count persons instead of rows.
//! Guarantee: what each rule promises stands in its module; together they promise all of it, column
//! by column, and every part is monotone under merging classes.
//! Cost: the sum of the rules' costs per check; k is checked first.

use std::fmt;
use std::sync::OnceLock;

use crate::alpha_k::max_share;
use crate::class_summary::{ClassSummary, SummaryShape};
use crate::criterion::Criterion;
use crate::error::PrivacyError;
use crate::k_anonymity::group_size;
use crate::l_diversity::{distinct_l, entropy_l, is_recursive, recursive_c};
use crate::screen::Screen;
use crate::sensitive_column::{GroundDistance, SensitiveColumn};
use crate::t_closeness::{WholeDistribution, bounds_of_emd, emd_to};
use crate::tolerance::{at_least, at_most, clearly_above, clearly_at_most};
use crate::variance_diversity::variance;
use crate::violation::{Bound, Violation};

/// What must hold of every class. Only valid requirements exist.
///
/// With several sensitive columns, each rule looks at its own column alone. This is weaker than the
/// definition of Machanavajjhala et al., which adds the other sensitive columns to the
/// quasi-identifier: whoever already knows a person's value in one sensitive column may narrow down
/// another one further than the rule for it alone suggests.
///
/// Rules count rows even where k counts subjects: a person with many rows weighs more in the
/// histogram of a sensitive column.
#[derive(Clone)]
pub struct Requirement {
    k: u64,
    shape: SummaryShape,
    columns: Vec<SensitiveColumn>,
    rules: Vec<(usize, Criterion)>,
    /// The whole table's distribution of each column that a t-closeness rule looks at, once bound.
    wholes: Vec<Option<WholeDistribution>>,
    /// Made of them when they are first asked for.
    screens: OnceLock<Vec<Screen>>,
}

impl Requirement {
    /// Checks and builds a requirement; `rules` pairs the position of a sensitive column with what
    /// must hold of it.
    ///
    /// # Errors
    /// When a parameter is out of range, a rule names no column or one of the wrong kind, or a
    /// column's description contradicts itself.
    pub fn new(
        k: u64,
        counts_subjects: bool,
        columns: Vec<SensitiveColumn>,
        rules: Vec<(usize, Criterion)>,
    ) -> Result<Self, PrivacyError> {
        if k == 0 {
            let hint = "give a k of at least 1 (2 or more to hide anybody)";
            return Err(PrivacyError::Parameter { parameter: "k", given: k.to_string(), hint });
        }
        columns.iter().try_for_each(SensitiveColumn::check)?;
        for &(column_idx, criterion) in &rules {
            criterion.check()?;
            let n_columns = columns.len();
            let column = columns
                .get(column_idx)
                .ok_or(PrivacyError::NoSuchColumn { column_idx, n_columns })?;
            if matches!(criterion, Criterion::Variance { .. }) && column.numbers.is_none() {
                return Err(PrivacyError::NotNumeric { column: column.name.clone() });
            }
        }
        let n_values = columns.iter().map(|column| column.n_values).collect();
        let wholes = vec![None; columns.len()];
        let (shape, screens) = (SummaryShape { counts_subjects, n_values }, OnceLock::new());
        Ok(Self { k, shape, columns, rules, wholes, screens })
    }

    /// Fixes the distribution that t-closeness compares with: that of the whole table. Without
    /// t-closeness it does nothing.
    ///
    /// # Panics
    /// When the summary has another shape than [`Self::shape`].
    pub fn bind(&mut self, whole_table: &ClassSummary) {
        self.screens = OnceLock::new();
        for &(column_idx, criterion) in &self.rules {
            if matches!(criterion, Criterion::TCloseness { .. }) {
                let distance = &self.columns[column_idx].distance;
                let whole = whole_table.histogram(column_idx);
                let n_values = self.columns[column_idx].n_values;
                assert_eq!(whole.n_values(), n_values, "the table is summarized in another shape");
                self.wholes[column_idx] = Some(WholeDistribution::new(distance, whole));
            }
        }
    }

    /// Whether the class may be published.
    ///
    /// # Panics
    /// When a t-closeness rule was never bound to the whole table.
    pub fn holds(&self, class: &ClassSummary) -> bool {
        group_size(class) >= self.k
            && self.rules.iter().all(|&(column, criterion)| self.meets(class, column, criterion))
    }

    /// Whether the rules of one sensitive column hold of some rows of a class; of no rows, none
    /// does.
    ///
    /// # Panics
    /// As [`Self::holds`] does.
    pub fn holds_of_column(&self, rows: &ClassSummary, column: usize) -> bool {
        let mut rules = self.rules.iter().filter(|(own, _)| *own == column).peekable();
        rules.peek().is_none()
            || rows.n_rows() > 0 && rules.all(|&(own, criterion)| self.meets(rows, own, criterion))
    }

    /// Whether one of [`Self::rules`] holds of some rows.
    ///
    /// # Panics
    /// As [`Self::holds`] does, and when there is no such rule.
    pub fn holds_of_rule(&self, rows: &ClassSummary, rule_idx: usize) -> bool {
        let (column, criterion) = self.rules[rule_idx];
        self.meets(rows, column, criterion)
    }

    /// `Some(k)` when the requirement is nothing but k-anonymity by rows.
    pub fn is_only_row_count(&self) -> Option<u64> {
        (self.rules.is_empty() && !self.shape.counts_subjects).then_some(self.k)
    }

    /// A lower bound on the rows of any satisfying class: necessary, not sufficient.
    pub fn min_rows(&self) -> u64 {
        self.rules.iter().map(|(_, criterion)| criterion.min_rows()).fold(self.k, u64::max)
    }

    /// Whether a class that satisfies it still does with any rows added to it: k and distinct l do.
    /// Only then are ever fewer rows left out as classes are merged.
    pub fn survives_additions(&self) -> bool {
        self.rules.iter().all(|(_, criterion)| criterion.survives_additions())
    }

    /// The part of the requirement that survives additions: k, and as many distinct values as each
    /// rule implies. Whatever satisfies the whole satisfies this.
    pub fn lasting_part(&self) -> Requirement {
        let implied = |&(column, criterion): &(usize, Criterion)| {
            let l = criterion.implied_distinct()?;
            Some((column, Criterion::DistinctLDiversity { l }))
        };
        // Rows are no fewer than subjects, so that a bound on rows bounds k only where k counts
        // them.
        let k = if self.shape.counts_subjects { self.k } else { self.min_rows() };
        let rules = self.rules.iter().filter_map(implied).collect();
        Requirement { k, rules, screens: OnceLock::new(), ..self.clone() }
    }

    /// Screens for rules of t-closeness over values on a line: what one of them refuses does not
    /// satisfy the requirement.
    ///
    /// # Panics
    /// When such a rule was never bound to the whole table.
    pub fn screens(&self) -> &[Screen] {
        self.screens.get_or_init(|| {
            let screen = |&(column, criterion): &(usize, Criterion)| match criterion {
                Criterion::TCloseness { t } => match &self.columns[column].distance {
                    GroundDistance::Ordered { positions } => {
                        Screen::new((column, t), positions, self.whole(column))
                    }
                    GroundDistance::Equal | GroundDistance::Hierarchical { .. } => None,
                },
                _ => None,
            };
            self.rules.iter().filter_map(screen).collect()
        })
    }

    /// What summaries for this requirement count.
    pub fn shape(&self) -> &SummaryShape {
        &self.shape
    }

    /// The k asked for.
    pub fn k(&self) -> u64 {
        self.k
    }

    /// The sensitive columns, in the order of the summaries' histograms.
    pub fn columns(&self) -> &[SensitiveColumn] {
        &self.columns
    }

    /// The rules: the position of a sensitive column, and what must hold of it.
    pub fn rules(&self) -> &[(usize, Criterion)] {
        &self.rules
    }

    /// Every part the class misses, k first, then the rules in order; empty exactly when
    /// [`Self::holds`].
    ///
    /// # Panics
    /// When a t-closeness rule was never bound to the whole table.
    pub fn violations(&self, class: &ClassSummary) -> Vec<Violation> {
        let mut violations = Vec::new();
        let size = group_size(class);
        if size < self.k {
            let by = if self.shape.counts_subjects { " by subjects" } else { "" };
            violations.push(Violation {
                what: format!("k-anonymity{by}"),
                bound: Bound::AtLeast,
                asked: self.k as f64,
                reached: size as f64,
            });
        }
        let missed = self.rules.iter().filter(|&&(col, rule)| !self.meets(class, col, rule));
        violations.extend(missed.map(|&(col, rule)| self.violation(class, col, rule)));
        violations
    }

    /// The requirement in words, for the manifest.
    pub fn describe(&self) -> String {
        let unit = if self.shape.counts_subjects { " subjects" } else { "" };
        let mut text = format!("k = {}{unit}", self.k);
        for (column, criterion) in &self.rules {
            text.push_str(&format!(", {criterion} of '{}'", self.columns[*column].name));
        }
        text
    }

    fn meets(&self, class: &ClassSummary, column: usize, criterion: Criterion) -> bool {
        let histogram = class.histogram(column);
        match criterion {
            Criterion::DistinctLDiversity { l } => distinct_l(histogram) >= l,
            Criterion::EntropyLDiversity { l } => at_least(entropy_l(histogram), l),
            Criterion::RecursiveDiversity { c, l } => is_recursive(histogram, c, l),
            Criterion::TCloseness { t } => self.is_close(class, column, t),
            Criterion::AlphaK { alpha } => at_most(max_share(histogram), alpha),
            Criterion::Variance { minimum } => at_least(self.variance(class, column), minimum),
        }
    }

    fn violation(&self, class: &ClassSummary, column: usize, criterion: Criterion) -> Violation {
        let histogram = class.histogram(column);
        let (rule, bound, asked, reached) = match criterion {
            Criterion::DistinctLDiversity { l } => {
                let reached = f64::from(distinct_l(histogram));
                ("distinct l-diversity".to_owned(), Bound::AtLeast, f64::from(l), reached)
            }
            Criterion::EntropyLDiversity { l } => {
                ("entropy l-diversity".to_owned(), Bound::AtLeast, l, entropy_l(histogram))
            }
            Criterion::RecursiveDiversity { c, l } => {
                let rule = format!("c of recursive (c, {l})-diversity");
                (rule, Bound::Below, c, recursive_c(histogram, l))
            }
            Criterion::TCloseness { t } => {
                ("t-closeness".to_owned(), Bound::AtMost, t, self.emd(class, column))
            }
            Criterion::AlphaK { alpha } => {
                ("largest share".to_owned(), Bound::AtMost, alpha, max_share(histogram))
            }
            Criterion::Variance { minimum } => {
                ("variance".to_owned(), Bound::AtLeast, minimum, self.variance(class, column))
            }
        };
        let what = format!("{rule} of '{}'", self.columns[column].name);
        Violation { what, bound, asked, reached }
    }

    fn emd(&self, class: &ClassSummary, column: usize) -> f64 {
        emd_to(&self.columns[column].distance, class.histogram(column), self.whole(column))
    }

    /// Whether the distance is at most t. Bounds of it, which cost little, decide most classes.
    fn is_close(&self, class: &ClassSummary, column: usize, t: f64) -> bool {
        match bounds_of_emd(class.histogram(column), self.whole(column)) {
            Some(bounds) if clearly_at_most(bounds.most, t) => true,
            Some(bounds) if clearly_above(bounds.least, t) => false,
            _ => at_most(self.emd(class, column), t),
        }
    }

    fn whole(&self, column: usize) -> &WholeDistribution {
        self.wholes[column]
            .as_ref()
            .expect("t-closeness is checked only after the requirement was bound to the table")
    }

    fn variance(&self, class: &ClassSummary, column: usize) -> f64 {
        let numbers = self.columns[column].numbers.as_ref();
        let numbers = numbers.expect("the constructor let variance rules only onto numbers");
        variance(class.histogram(column), numbers)
    }
}

/// Shows the description, no values and no distribution.
impl fmt::Debug for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Requirement").field(&self.describe()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str) -> SensitiveColumn {
        let numbers = Some(vec![0.0, 1.0, 2.0, 10.0]);
        SensitiveColumn { name: name.into(), n_values: 4, distance: GroundDistance::Equal, numbers }
    }

    fn one_rule(criterion: Criterion) -> Requirement {
        Requirement::new(1, false, vec![column("disease")], vec![(0, criterion)]).unwrap()
    }

    fn class_of(requirement: &Requirement, codes: &[u32]) -> ClassSummary {
        let mut class = ClassSummary::new(requirement.shape());
        for (subject, &code) in codes.iter().enumerate() {
            class.add(subject as u64, &vec![code; requirement.columns().len()]);
        }
        class
    }

    fn accepts(criterion: Criterion, codes: &[u32]) -> bool {
        let mut requirement = one_rule(criterion);
        requirement.bind(&class_of(&requirement, &[0, 1, 2, 3]));
        let class = class_of(&requirement, codes);
        let holds = requirement.holds(&class);
        assert_eq!(holds, requirement.violations(&class).is_empty());
        holds
    }

    #[test]
    fn every_rule_accepts_its_bound_and_refuses_just_beyond() {
        assert!(accepts(Criterion::DistinctLDiversity { l: 3 }, &[0, 0, 1, 2]));
        assert!(!accepts(Criterion::DistinctLDiversity { l: 4 }, &[0, 0, 1, 2]));
        assert!(accepts(Criterion::EntropyLDiversity { l: 3.0 }, &[0, 1, 2]));
        assert!(!accepts(Criterion::EntropyLDiversity { l: 3.0 }, &[0, 0, 1, 2]));
        assert!(accepts(Criterion::RecursiveDiversity { c: 2.1, l: 3 }, &[0, 0, 1, 2]));
        assert!(!accepts(Criterion::RecursiveDiversity { c: 2.0, l: 3 }, &[0, 0, 1, 2]));
        assert!(accepts(Criterion::TCloseness { t: 0.25 }, &[0, 1, 2]));
        assert!(!accepts(Criterion::TCloseness { t: 0.249 }, &[0, 1, 2]));
        assert!(accepts(Criterion::TCloseness { t: 0.0 }, &[0, 1, 2, 3]));
        assert!(accepts(Criterion::AlphaK { alpha: 0.5 }, &[0, 0, 1, 2]));
        assert!(!accepts(Criterion::AlphaK { alpha: 0.49 }, &[0, 0, 1, 2]));
        assert!(accepts(Criterion::Variance { minimum: 1.0 }, &[0, 2]));
        assert!(!accepts(Criterion::Variance { minimum: 1.01 }, &[0, 2]));
    }

    #[test]
    fn k_by_subjects_refuses_many_rows_of_few_persons() {
        let requirement = Requirement::new(3, true, vec![], vec![]).unwrap();
        let mut class = ClassSummary::new(requirement.shape());
        (0..10).for_each(|row| class.add(row % 2, &[]));
        assert!(!requirement.holds(&class));
        let shown = requirement.violations(&class)[0].to_string();
        assert_eq!(shown, "k-anonymity by subjects: needs 3, the class reaches 2");
        class.add(2, &[]);
        assert!(requirement.holds(&class));
    }

    #[test]
    fn an_empty_class_never_holds() {
        let requirement = Requirement::new(1, false, vec![], vec![]).unwrap();
        assert!(!requirement.holds(&ClassSummary::new(requirement.shape())));
    }

    #[test]
    fn only_plain_k_anonymity_offers_the_fast_path() {
        let plain = |counts_subjects, rules| {
            let columns = vec![column("disease")];
            Requirement::new(5, counts_subjects, columns, rules).unwrap().is_only_row_count()
        };
        assert_eq!(plain(false, vec![]), Some(5));
        assert_eq!(plain(true, vec![]), None);
        assert_eq!(plain(false, vec![(0, Criterion::DistinctLDiversity { l: 1 })]), None);
    }

    #[test]
    fn a_wrong_requirement_cannot_be_built() {
        let build = |k, column_idx, numbers: Option<Vec<f64>>, criterion| {
            let columns = vec![SensitiveColumn { numbers, ..column("disease") }];
            Requirement::new(k, false, columns, vec![(column_idx, criterion)]).unwrap_err()
        };
        let distinct = Criterion::DistinctLDiversity { l: 2 };
        let variance = Criterion::Variance { minimum: 1.0 };
        assert!(build(0, 0, None, distinct).to_string().starts_with("k is 0"));
        assert!(matches!(build(1, 7, None, distinct), PrivacyError::NoSuchColumn { .. }));
        assert!(matches!(build(1, 0, None, variance), PrivacyError::NotNumeric { .. }));
        let too_few = Some(vec![1.0]);
        assert!(matches!(build(1, 0, too_few, distinct), PrivacyError::Column { .. }));
        let no_l = Criterion::DistinctLDiversity { l: 0 };
        assert!(matches!(build(1, 0, None, no_l), PrivacyError::Parameter { .. }));
    }

    #[test]
    fn the_description_names_every_part() {
        let rules = vec![
            (0, Criterion::DistinctLDiversity { l: 3 }),
            (1, Criterion::TCloseness { t: 0.2 }),
        ];
        let columns = vec![column("disease"), column("income")];
        let requirement = Requirement::new(10, false, columns, rules).unwrap();
        assert_eq!(
            requirement.describe(),
            "k = 10, distinct 3-diversity of 'disease', 0.2-closeness of 'income'"
        );
        assert_eq!(requirement.min_rows(), 10);
    }

    #[test]
    fn violations_name_every_missed_part_with_its_figures() {
        let rules = vec![
            (0, Criterion::DistinctLDiversity { l: 5 }),
            (0, Criterion::AlphaK { alpha: 0.9 }),
            (0, Criterion::RecursiveDiversity { c: 1.5, l: 2 }),
        ];
        let requirement = Requirement::new(4, false, vec![column("disease")], rules).unwrap();
        let class = class_of(&requirement, &[0, 0, 1]);
        let shown: Vec<String> =
            requirement.violations(&class).iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "k-anonymity: needs 4, the class reaches 3",
                "distinct l-diversity of 'disease': needs 5, the class reaches 2",
                "c of recursive (c, 2)-diversity of 'disease': allows less than 1.5, \
                 the class reaches 2",
            ]
        );
    }

    #[test]
    #[should_panic(expected = "only after the requirement was bound")]
    fn t_closeness_without_the_whole_table_is_refused() {
        let requirement = one_rule(Criterion::TCloseness { t: 1.0 });
        requirement.holds(&class_of(&requirement, &[0]));
    }
}
