//! Which role a column should have, from its name and its counts.
//!
//! Decisions are pure functions of a summary. A column that nothing speaks for gets no role and is
//! dropped: publishing what nobody has looked at is the user's choice to make.

use albers_table::profile::ColumnProfile;
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

/// The reason of a column that has none.
const NOTHING_SPEAKS: &str = "nothing speaks for a role; dropped unless you give it one";

/// The reason of a column that must not be a quasi-identifier as it is.
const FREE_TEXT: &str =
    "free text, which would be published as a list of itself; give it a hierarchy as quasi";

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
}

/// A hierarchy, taken or only suggested.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shape {
    /// The hierarchy that the job uses.
    pub hierarchy: Option<&'static str>,
    /// Lines that the user may take over.
    pub suggestions: Vec<&'static str>,
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
        let is_text = matches!(self.column_type, ColumnType::Text | ColumnType::Code);
        let n_single = self.profile.n_unique.round() as u64;
        is_text
            && shape(self).hierarchy.is_none()
            && is_list_of_itself(self.profile.n_distinct, n_single)
    }

    fn can_name_rows(&self) -> bool {
        matches!(self.column_type, ColumnType::Text | ColumnType::Code | ColumnType::Integer)
    }
}

impl Choice {
    fn role(role: Role, reason: impl Into<String>) -> Choice {
        let is_open = role == Role::Quasi;
        Choice { role: Some(role), reason: reason.into(), is_open, may_be_subject: false }
    }

    /// Makes it a quasi-identifier for a further reason, unless it has a role.
    pub fn make_quasi(&mut self, reason: String) {
        if self.role.is_none() {
            self.role = Some(Role::Quasi);
            self.reason = match self.reason.as_str() {
                NOTHING_SPEAKS => reason,
                earlier => format!("{earlier}; {reason}"),
            };
        }
    }

    fn none(reason: impl Into<String>, is_open: bool) -> Choice {
        Choice { role: None, reason: reason.into(), is_open, may_be_subject: false }
    }
}

/// The role that a column's own name and counts speak for. Free text is never a quasi-identifier,
/// whatever its name.
pub fn choose(facts: &Facts<'_>) -> Choice {
    let choice = by_name_and_counts(facts);
    match choice.is_open && facts.is_free_text() {
        true => Choice::none(FREE_TEXT, false),
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
    match names::hint(facts.name) {
        Some(Hint::Direct) if facts.can_name_rows() => {
            Choice::role(Role::Identifier, "by its name it names a person or leads to one")
        }
        Some(Hint::PersonId) if facts.can_name_rows() => choose_person_id(facts),
        Some(Hint::Postal) => Choice::role(Role::Quasi, "a postal code, which others know"),
        Some(Hint::Quasi) => Choice::role(Role::Quasi, "by its name others know it of a person"),
        Some(Hint::Sensitive) => choose_sensitive(facts),
        _ if facts.is_nearly_unique() && facts.can_name_rows() => {
            Choice::role(Role::Identifier, "nearly every row has a value of its own")
        }
        _ => Choice::none(NOTHING_SPEAKS, true),
    }
}

/// A column whose cells are no numbers, dates or texts.
pub fn unreadable() -> Choice {
    Choice::none("its cells are of a type that cannot be anonymized", false)
}

fn choose_person_id(facts: &Facts<'_>) -> Choice {
    if facts.is_nearly_unique() || facts.n_rows == 1 {
        return Choice::role(Role::Identifier, "the number of a person, one per row");
    }
    let per_value = facts.n_filled() as f64 / facts.profile.n_distinct as f64;
    let reason = format!(
        "looks like the number of a person, about {per_value:.1} rows each; as subject it makes k \
         count persons"
    );
    Choice { may_be_subject: true, ..Choice::role(Role::Identifier, reason) }
}

fn choose_sensitive(facts: &Facts<'_>) -> Choice {
    let n_distinct = facts.profile.n_distinct;
    if n_distinct as f64 > MAX_SENSITIVE_VALUES_PER_ROW * facts.n_rows as f64 {
        return Choice::none(
            "sensitive by its name, but with too many values to publish them as they are",
            true,
        );
    }
    Choice::role(Role::Sensitive, "sensitive by its name, with few values for so many rows")
}

/// The l-diversity that a sensitive column can have.
pub fn suggested_l(profile: &ColumnProfile) -> Option<u64> {
    (profile.n_distinct >= 2).then(|| profile.n_distinct.min(MAX_SUGGESTED_L))
}

/// How a quasi-identifier is generalized.
pub fn shape(facts: &Facts<'_>) -> Shape {
    let is_postal = names::hint(facts.name) == Some(Hint::Postal);
    let profile = facts.profile;
    match facts.column_type {
        ColumnType::Text | ColumnType::Code
            if profile.all_digits && PREFIX_CHARS.contains(&profile.n_longest_chars) =>
        {
            Shape { hierarchy: Some("prefix"), suggestions: Vec::new() }
        }
        ColumnType::Date if profile.all_plain_days => {
            Shape { hierarchy: Some("dates"), suggestions: Vec::new() }
        }
        ColumnType::Timestamp => {
            Shape { hierarchy: None, suggestions: vec![r#"hierarchy = "dates""#] }
        }
        ColumnType::Integer if is_postal => Shape {
            hierarchy: None,
            suggestions: vec![r#"type = "code""#, r#"hierarchy = "prefix""#],
        },
        ColumnType::Integer => {
            Shape { hierarchy: None, suggestions: vec![r#"hierarchy = "ranges:5,10,20""#] }
        }
        _ => Shape::default(),
    }
}

#[cfg(test)]
mod tests {
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
        }
    }

    fn role_of(name: &str, column_type: ColumnType, n_distinct: u64) -> Option<Role> {
        let profile = profile(n_distinct, 0, 0.0);
        choose(&Facts { name, column_type, profile: &profile, n_rows: 1_000 }).role
    }

    #[test]
    fn roles_follow_from_names_and_counts() {
        use ColumnType::{Float, Integer, Text};
        assert_eq!(role_of("ticket", Text, 990), Some(Role::Identifier));
        assert_eq!(role_of("ticket", Integer, 1_000), Some(Role::Identifier));
        assert_eq!(role_of("voltage", Float, 1_000), None, "a measurement is no name");
        assert_eq!(role_of("zip", Integer, 1_000), Some(Role::Quasi));
        assert_eq!(role_of("age", Integer, 80), Some(Role::Quasi));
        assert_eq!(role_of("disease", Text, 12), Some(Role::Sensitive));
        assert_eq!(role_of("salary", Float, 998), None);
        assert_eq!(role_of("disease", Text, 1), None, "a constant tells nothing");
        assert_eq!(role_of("colour", Text, 8), None);
        assert_eq!(role_of("last name", Text, 200), Some(Role::Identifier));
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
