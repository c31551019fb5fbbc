//! Which role a column should have, from its name and its counts.
//!
//! Decisions are pure functions of a summary. A column that nothing speaks for gets no role and is
//! dropped: publishing what nobody has looked at is the user's choice to make.

use albers_table::profile::ColumnProfile;
use albers_table::profile::shape::Look;
use albers_table::schema::{ColumnType, Role};

use crate::findings::is_list_of_itself;
use crate::names::{self, Hint};

/// A column is nearly unique when it has this many values per row that has one.
const NEARLY_UNIQUE: f64 = 0.9;
/// A sensitive column has at most this many values per row; else a value points at a row.
const MAX_SENSITIVE_VALUES_PER_ROW: f64 = 0.5;
const MAX_SUGGESTED_L: u64 = 3;
/// Codes that are shorter have no prefix worth publishing; longer ones are no codes.
const PREFIX_CHARS: std::ops::RangeInclusive<usize> = 3..=20;
/// Whole numbers of one length, and texts of one word and length, are codes from so many
/// characters on.
const CODE_WIDTH: usize = 5;
/// Fewer values than this, in more rows each than this, are no numbers of persons.
const FEWEST_PERSONS: u64 = 20;
/// Texts of so many words in the mean are sentences.
const SENTENCE_WORDS: f64 = 4.0;

/// The reason of a column that has none.
const NOTHING_SPEAKS: &str = "nothing speaks for a role; dropped unless you give it one";

/// The reason of numbers that are measured: they tell rows apart, but name nobody.
const MEASUREMENT: &str =
    "a measurement: nearly every row has a number of its own, which names nobody by itself";

/// The reason of whole numbers of which no two are alike.
const MEASURED_OR_NUMBERED: &str = "no two rows have the same number: a measurement, which names \
     nobody by itself, or the number of a person, which must be an identifier";

/// The reason of a column that must not be a quasi-identifier as it is.
const FREE_TEXT: &str =
    "free text, which would be published as a list of itself; give it a hierarchy as quasi";

/// The reason of a column of sentences.
const SENTENCES: &str = "free text of many words, in which names and other secrets may stand";

/// What a decision looks at.
pub struct Facts<'a> {
    /// The column's name.
    pub name: &'a str,
    /// The type of its values.
    pub column_type: ColumnType,
    /// Its counts.
    pub profile: &'a ColumnProfile,
    /// Rows of the table.
    pub n_rows: u64,
}

/// What is proposed for a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The role; without one the column is dropped.
    pub role: Option<Role>,
    /// Why, in a few words.
    pub reason: String,
    /// Whether the column may still become a quasi-identifier when a combination needs it.
    pub is_open: bool,
    /// Whether it may be the column that tells which rows belong to one person.
    pub may_be_subject: bool,
    /// Whether the job file offers to publish it as it is.
    pub may_be_kept: bool,
}

/// A hierarchy, taken or only suggested.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shape {
    /// The hierarchy that the job uses.
    pub hierarchy: Option<&'static str>,
    /// Lines that the user may take over.
    pub suggestions: Vec<String>,
}

impl Facts<'_> {
    fn n_filled(&self) -> u64 {
        self.n_rows - self.profile.n_missing
    }

    /// The share of the table's rows whose value no other row has.
    pub fn unique_share(&self) -> f64 {
        (self.profile.n_unique / self.n_rows.max(1) as f64).clamp(0.0, 1.0)
    }

    fn is_nearly_unique(&self) -> bool {
        let n_filled = self.n_filled();
        n_filled > 1 && self.profile.n_distinct as f64 >= NEARLY_UNIQUE * n_filled as f64
    }

    /// Whether it is text that nothing generalizes, of values that are mostly one row's each.
    pub fn is_free_text(&self) -> bool {
        let n_single = self.profile.n_unique.round() as u64;
        self.is_text()
            && shape(self).hierarchy.is_none()
            && is_list_of_itself(self.profile.n_distinct, n_single)
    }

    /// Whether its cells may be names or numbers of something. Numbers with fractions never are.
    fn can_name_rows(&self) -> bool {
        let is_flag = self.profile.n_distinct <= 2 && self.n_rows > 10;
        !is_flag
            && match self.column_type {
                ColumnType::Text | ColumnType::Code | ColumnType::Integer => true,
                ColumnType::Decimal | ColumnType::Float => self.profile.shape.all_whole,
                ColumnType::Boolean | ColumnType::Date | ColumnType::Timestamp => false,
            }
    }

    fn rows_per_value(&self) -> f64 {
        self.n_filled() as f64 / self.profile.n_distinct.max(1) as f64
    }

    /// Whether a column named like the number of a person has only a few values, in many rows each.
    fn are_too_few_for_persons(&self) -> bool {
        self.profile.n_distinct < FEWEST_PERSONS && self.rows_per_value() > FEWEST_PERSONS as f64
    }

    /// Whether a column named like a key may be one whose values several rows share.
    fn may_be_key_of_several(&self) -> bool {
        self.profile.n_distinct >= FEWEST_PERSONS && self.can_name_rows()
    }

    /// Whether its whole numbers are all different, and none is missing.
    fn are_all_other_numbers(&self) -> bool {
        let profile = self.profile;
        self.column_type == ColumnType::Integer
            && !profile.is_estimate
            && profile.n_distinct == self.n_rows
    }

    fn is_number(&self) -> bool {
        matches!(self.column_type, ColumnType::Integer | ColumnType::Decimal | ColumnType::Float)
    }

    fn is_text(&self) -> bool {
        matches!(self.column_type, ColumnType::Text | ColumnType::Code)
    }

    fn is_point_in_time(&self) -> bool {
        matches!(self.column_type, ColumnType::Date | ColumnType::Timestamp)
    }

    /// What its values look like, if that is what identifies rows. Whole numbers may be measured:
    /// they are numbers of something if they were counted on or all have as many digits.
    fn look_of_identifiers(&self) -> Option<&'static str> {
        let shape = &self.profile.shape;
        let is_coded = shape.same_width.is_some_and(|width| width >= CODE_WIDTH);
        match self.column_type {
            ColumnType::Integer if shape.is_dense => Some("are numbers that were counted on"),
            ColumnType::Integer if is_coded => Some("are numbers of one length"),
            ColumnType::Text | ColumnType::Code => match shape.look {
                Look::Emails => Some("look like addresses of mail"),
                Look::Uuids => Some("look like keys of a database"),
                Look::Codes => Some("look like codes"),
                Look::Names => Some("look like names of people"),
                Look::Plain if is_coded && shape.n_words == 1.0 => Some("look like codes"),
                Look::Plain => None,
            },
            _ => None,
        }
    }

    /// Whether most rows have a text of many words of their own.
    fn is_sentences(&self) -> bool {
        let is_varied = 2 * self.profile.n_distinct >= self.n_filled();
        self.is_text() && is_varied && self.profile.shape.n_words >= SENTENCE_WORDS
    }
}

impl Choice {
    fn role(role: Role, reason: impl Into<String>) -> Choice {
        let is_open = role == Role::Quasi;
        let (may_be_subject, may_be_kept) = (false, true);
        Choice { role: Some(role), reason: reason.into(), is_open, may_be_subject, may_be_kept }
    }

    /// Makes it a quasi-identifier for a further reason, unless it has a role.
    pub fn make_quasi(&mut self, reason: String) {
        if self.role.is_none() {
            self.role = Some(Role::Quasi);
            self.add_reason(reason);
        }
    }

    /// Says one more thing of it.
    pub fn add_reason(&mut self, reason: String) {
        self.reason = match self.reason.as_str() {
            NOTHING_SPEAKS => reason,
            earlier => format!("{earlier}; {reason}"),
        };
    }

    fn none(reason: impl Into<String>, is_open: bool) -> Choice {
        let (may_be_subject, may_be_kept) = (false, true);
        Choice { role: None, reason: reason.into(), is_open, may_be_subject, may_be_kept }
    }

    /// A column that is dropped, and that the job file does not offer to publish.
    fn dropped(reason: impl Into<String>) -> Choice {
        Choice { may_be_kept: false, ..Choice::none(reason, false) }
    }
}

/// The role that a column's own name and counts speak for. Free text is never a quasi-identifier,
/// whatever its name.
pub fn choose(facts: &Facts<'_>) -> Choice {
    let choice = by_name_and_counts(facts);
    match choice.is_open && facts.is_free_text() {
        true => Choice::dropped(FREE_TEXT),
        false => choice,
    }
}

fn by_name_and_counts(facts: &Facts<'_>) -> Choice {
    let profile = facts.profile;
    if profile.n_distinct == 0 {
        return Choice::none("every cell is missing", false);
    }
    if profile.n_distinct == 1 && profile.n_missing == 0 && facts.n_rows > 1 {
        return Choice::none("all rows have the same value", false);
    }
    let what = names::meaning(facts.name).unwrap_or_default();
    match names::hint(facts.name) {
        Some(Hint::Direct) if facts.can_name_rows() => {
            Choice::role(Role::Identifier, format!("by its name {what}"))
        }
        Some(Hint::PersonId) if facts.can_name_rows() => choose_person_id(facts),
        Some(Hint::Postal | Hint::Quasi) => {
            Choice::role(Role::Quasi, format!("by its name {what}"))
        }
        Some(Hint::Event) if facts.is_point_in_time() || facts.is_number() => {
            Choice::role(Role::Quasi, format!("by its name {what}"))
        }
        Some(Hint::Notes) if facts.is_text() => Choice::dropped(format!("by its name {what}")),
        Some(Hint::Sensitive) => choose_sensitive(facts, what),
        Some(Hint::Id) if facts.is_nearly_unique() && facts.can_name_rows() => {
            Choice::role(Role::Identifier, format!("by its name {what}, one per row"))
        }
        Some(Hint::Id) if names::names_a_key(facts.name) && facts.may_be_key_of_several() => {
            choose_repeated_key(facts, what)
        }
        _ => by_counts(facts),
    }
}

/// What the values of a column speak for whose name says nothing.
fn by_counts(facts: &Facts<'_>) -> Choice {
    if facts.profile.shape.is_row_number {
        let reason = "the numbers of the rows, in their order: they tell nothing else";
        return Choice::role(Role::Identifier, reason);
    }
    if facts.is_sentences() {
        return Choice::dropped(SENTENCES);
    }
    let look = facts.look_of_identifiers().filter(|_| facts.is_nearly_unique());
    if let Some(look) = look {
        let reason = format!("nearly every row has a value of its own, and they {look}");
        return Choice::role(Role::Identifier, reason);
    }
    if facts.is_point_in_time() {
        return Choice::role(Role::Quasi, "a date or time, which others may know of a person");
    }
    match facts.is_number() && facts.is_nearly_unique() {
        true if facts.are_all_other_numbers() => Choice::none(MEASURED_OR_NUMBERED, true),
        true => Choice::none(MEASUREMENT, true),
        false => Choice::none(NOTHING_SPEAKS, true),
    }
}

/// A column whose cells are no numbers, dates or texts.
pub fn unreadable() -> Choice {
    Choice::dropped("its cells are of a type that cannot be anonymized")
}

fn choose_person_id(facts: &Facts<'_>) -> Choice {
    if facts.is_nearly_unique() || facts.n_rows == 1 {
        return Choice::role(Role::Identifier, "the number of a person or record, one per row");
    }
    if facts.are_too_few_for_persons() {
        return Choice::dropped(format!(
            "named like the number of a person, but with {} values, which are too few for persons",
            facts.profile.n_distinct
        ));
    }
    let reason = format!(
        "looks like the number of a person, about {:.1} rows each; as subject it makes k count \
         persons",
        facts.rows_per_value()
    );
    Choice { may_be_subject: true, ..Choice::role(Role::Identifier, reason) }
}

/// A number or key that several rows share: of whom or of what, its name does not say.
fn choose_repeated_key(facts: &Facts<'_>, what: &str) -> Choice {
    let reason = format!(
        "by its name {what}, about {:.1} rows each: if it tells persons apart, it is the subject; \
         dropped unless you give it a role",
        facts.rows_per_value()
    );
    Choice { may_be_subject: true, ..Choice::dropped(reason) }
}

fn choose_sensitive(facts: &Facts<'_>, what: &str) -> Choice {
    let n_distinct = facts.profile.n_distinct;
    if n_distinct as f64 > MAX_SENSITIVE_VALUES_PER_ROW * facts.n_rows as f64 {
        return Choice::none(
            format!(
                "sensitive, by its name {what}, but with too many values to publish them as they are"
            ),
            true,
        );
    }
    let reason = format!("sensitive, by its name {what}, with few values for so many rows");
    Choice::role(Role::Sensitive, reason)
}

/// The l-diversity that a sensitive column can have.
pub fn suggested_l(profile: &ColumnProfile) -> Option<u64> {
    (profile.n_distinct >= 2).then(|| profile.n_distinct.min(MAX_SUGGESTED_L))
}

/// How a quasi-identifier is generalized.
pub fn shape(facts: &Facts<'_>) -> Shape {
    let is_postal = names::hint(facts.name) == Some(Hint::Postal);
    let profile = facts.profile;
    let taken = |hierarchy| Shape { hierarchy: Some(hierarchy), suggestions: Vec::new() };
    let offered = |lines: &[&str]| {
        let suggestions = lines.iter().map(|&line| line.to_owned()).collect();
        Shape { hierarchy: None, suggestions }
    };
    match facts.column_type {
        ColumnType::Text | ColumnType::Code
            if (profile.all_digits || is_postal)
                && PREFIX_CHARS.contains(&profile.n_longest_chars) =>
        {
            taken("prefix")
        }
        ColumnType::Date if profile.all_plain_days => taken("dates"),
        ColumnType::Timestamp => offered(&[r#"hierarchy = "dates""#]),
        ColumnType::Integer if is_postal => {
            offered(&[r#"type = "code""#, r#"hierarchy = "prefix""#])
        }
        ColumnType::Integer | ColumnType::Decimal | ColumnType::Float => {
            let sizes =
                profile.shape.round_width.and_then(|width| width.sizes(profile.shape.all_whole));
            let line = sizes.map(|sizes| format!(r#"hierarchy = "ranges:{sizes}""#));
            Shape { hierarchy: None, suggestions: line.into_iter().collect() }
        }
        _ => Shape::default(),
    }
}

#[cfg(test)]
mod tests {
    use albers_table::profile::shape::ValueShape;

    use super::*;

    fn profile(n_distinct: u64, n_missing: u64, n_unique: f64) -> ColumnProfile {
        ColumnProfile {
            n_missing,
            n_distinct,
            is_estimate: false,
            n_unique,
            all_digits: false,
            n_longest_chars: 0,
            all_plain_days: false,
            shape: ValueShape::default(),
            fingerprint: 0,
        }
    }

    fn role_of(name: &str, column_type: ColumnType, n_distinct: u64) -> Option<Role> {
        let profile = profile(n_distinct, 0, 0.0);
        choose(&Facts { name, column_type, profile: &profile, n_rows: 1_000 }).role
    }

    #[test]
    fn roles_follow_from_names_and_counts() {
        use ColumnType::{Date, Float, Integer, Text};
        assert_eq!(role_of("zip", Integer, 1_000), Some(Role::Quasi));
        assert_eq!(role_of("age", Integer, 80), Some(Role::Quasi));
        assert_eq!(role_of("disease", Text, 12), Some(Role::Sensitive));
        assert_eq!(role_of("salary", Float, 998), None);
        assert_eq!(role_of("disease", Text, 1), None, "a constant tells nothing");
        assert_eq!(role_of("colour", Text, 8), None);
        assert_eq!(role_of("last name", Text, 200), Some(Role::Identifier));
        assert_eq!(role_of("mobile", Text, 2), None, "a flag names nobody");
        assert_eq!(role_of("discharge date", Date, 300), Some(Role::Quasi));
        assert_eq!(role_of("day", Date, 300), Some(Role::Quasi));
        assert_eq!(role_of("comment", Text, 10), None);
        assert_eq!(role_of("ticket no", Integer, 990), Some(Role::Identifier));
    }

    #[test]
    fn identifiers_look_like_some_and_measurements_do_not() {
        use ColumnType::{Decimal, Float, Integer, Text};
        let role = |column_type, shape: ValueShape| {
            let own = ColumnProfile { shape, ..profile(990, 0, 980.0) };
            choose(&Facts { name: "x", column_type, profile: &own, n_rows: 1_000 })
        };
        let plain = ValueShape::default;
        let whole = || ValueShape { all_whole: true, ..plain() };
        let is_identifier = |choice: Choice| choice.role == Some(Role::Identifier);
        assert!(is_identifier(role(Integer, ValueShape { is_dense: true, ..whole() })));
        assert!(is_identifier(role(Integer, ValueShape { same_width: Some(7), ..whole() })));
        assert!(!is_identifier(role(Integer, ValueShape { same_width: Some(3), ..whole() })));
        for column_type in [Integer, Decimal, Float] {
            let choice = role(column_type, whole());
            assert_eq!((choice.role, choice.reason.as_str()), (None, MEASUREMENT));
        }
        assert!(!is_identifier(role(Decimal, ValueShape { is_dense: true, ..whole() })));
        for look in [Look::Emails, Look::Uuids, Look::Codes, Look::Names] {
            assert!(is_identifier(role(Text, ValueShape { look, ..plain() })));
        }
        let row_number = ValueShape { is_row_number: true, is_dense: true, ..whole() };
        assert!(role(Integer, row_number).reason.starts_with("the numbers of the rows"));
        let sentences = role(Text, ValueShape { n_words: 6.0, ..plain() });
        assert_eq!(
            (sentences.role, sentences.may_be_kept, sentences.is_open),
            (None, false, false)
        );
    }

    #[test]
    fn free_text_is_no_quasi_identifier_whatever_its_name() {
        let role = |name: &str, n_unique: f64, all_digits: bool| {
            let own = ColumnProfile { all_digits, n_longest_chars: 5, ..profile(200, 0, n_unique) };
            let column_type = ColumnType::Text;
            choose(&Facts { name, column_type, profile: &own, n_rows: 1_000 })
        };
        assert_eq!(role("occupation", 99.0, false).role, Some(Role::Quasi));
        assert_eq!(role("occupation", 100.0, false).role, None);
        assert!(!role("remark", 100.0, false).is_open, "nor in a set with others");
        assert_eq!(role("zip", 100.0, true).role, Some(Role::Quasi), "it has prefixes");
    }

    #[test]
    fn a_repeated_person_number_may_be_the_subject() {
        let profile = profile(100, 0, 0.0);
        let column_type = ColumnType::Integer;
        let facts = Facts { name: "patient id", column_type, profile: &profile, n_rows: 1_000 };
        let choice = choose(&facts);
        assert!(choice.may_be_subject && choice.role == Some(Role::Identifier));
    }

    #[test]
    fn the_suggested_l_is_one_that_the_table_can_satisfy() {
        let suggested = |n_distinct| suggested_l(&profile(n_distinct, 0, 0.0));
        assert_eq!([1, 2, 3, 50].map(suggested), [None, Some(2), Some(3), Some(3)]);
    }
}
