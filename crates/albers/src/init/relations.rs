//! Columns that tell each other: the same cells under other names, or one that follows from
//! another.
//!
//! ```text
//!   dependences of the table ──► one-to-one: the same ──► one of them is published
//!                            └─► one way: told ─────────► said, and not offered to be kept
//! ```
//!
//! A kept column that tells a quasi-identifier undoes its generalization, so nothing of the kind is
//! proposed, and the job file says why.

use albers_table::profile::dependence::Dependence;
use albers_table::schema::Role;

use super::roles::Choice;

/// So many columns are named in a sentence.
const MAX_NAMED: usize = 3;

/// What columns tell of each other; places are those of the header.
#[derive(Debug, Default)]
pub(super) struct Relations {
    dependences: Vec<Dependence>,
}

/// What is said of a column's relations to others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Related {
    /// Columns that have the same cells, under other names maybe.
    same: Vec<usize>,
    /// Columns that follow from it.
    told: Vec<usize>,
    /// Columns that it follows from.
    tellers: Vec<usize>,
}

impl Relations {
    pub(super) fn new(dependences: Vec<Dependence>) -> Relations {
        Relations { dependences }
    }

    fn tells(&self, from: usize, to: usize) -> bool {
        self.dependences.contains(&Dependence { from, to })
    }

    /// What concerns a column.
    pub(super) fn of(&self, column: usize) -> Related {
        let mut related = Related::default();
        for &Dependence { from, to } in &self.dependences {
            if from == column && self.tells(to, from) {
                related.same.push(to);
            } else if from == column {
                related.told.push(to);
            } else if to == column && !self.tells(to, from) {
                related.tellers.push(from);
            }
        }
        related
    }

    /// Whether a column before it has the same cells.
    pub(super) fn is_repeated(&self, column: usize) -> bool {
        self.of(column).same.iter().any(|&other| other < column)
    }

    /// Takes back what would publish the same twice or tell a quasi-identifier.
    pub(super) fn settle(&self, choices: &mut [Choice], name: &dyn Fn(usize) -> String) {
        for column in 0..choices.len() {
            let related = self.of(column);
            let first = related.same.iter().copied().filter(|&other| other < column);
            let first = first.filter(|&other| is_quasi(&choices[other])).min();
            if let Some(other) = first
                && choices[column].is_open
            {
                choices[column].role = None;
                choices[column].is_open = false;
                choices[column].add_reason(format!(
                    "it has the cells of '{}' in every row, maybe under other names: one of the \
                     two is enough",
                    name(other)
                ));
            }
            let all = related.same.iter().chain(&related.told).chain(&related.tellers);
            let touches_quasi = all.copied().any(|other| is_quasi(&choices[other]));
            choices[column].may_be_kept &= !touches_quasi;
        }
    }
}

impl Related {
    /// Sentences for people, with the names of columns alone.
    pub(super) fn sentences(
        &self,
        choices: &[Choice],
        own: usize,
        name: &dyn Fn(usize) -> String,
    ) -> Vec<String> {
        // What follows from the number of a person is a trait of that person, and no surprise.
        let is_identifier = |&other: &usize| choices[other].role == Some(Role::Identifier);
        let without = |list: &[usize]| -> Vec<usize> {
            list.iter().copied().filter(|other| !is_identifier(other)).collect()
        };
        if is_identifier(&own) {
            return Vec::new();
        }
        let (same, told, tellers) =
            (without(&self.same), without(&self.told), without(&self.tellers));
        let mut sentences = Vec::new();
        if !same.is_empty() {
            let names = listed(&same, name);
            sentences.push(format!("has the same cells as {names}, maybe under other names"));
        }
        if !told.is_empty() {
            sentences.push(format!("tells {} in every row", listed(&told, name)));
        }
        if !tellers.is_empty() {
            sentences.push(format!("follows from {} in every row", listed(&tellers, name)));
        }
        let tells_quasi = |list: &[usize]| list.iter().any(|&other| is_quasi(&choices[other]));
        let is_published_plain = choices[own].role == Some(Role::Sensitive);
        if is_published_plain && (tells_quasi(&same) || tells_quasi(&told)) {
            sentences.push(
                "published as it is, it tells that quasi-identifier (the severe finding \
                 keep-tells-quasi): give both the role quasi, or leave one out"
                    .to_owned(),
            );
        } else if choices[own].role.is_none() && !sentences.is_empty() && !choices[own].may_be_kept
        {
            sentences.push(
                "kept, it would tell of a quasi-identifier (keep-tells-quasi): leave it out, or \
                 give it the role quasi too"
                    .to_owned(),
            );
        }
        sentences
    }
}

fn is_quasi(choice: &Choice) -> bool {
    choice.role == Some(Role::Quasi)
}

fn listed(columns: &[usize], name: &dyn Fn(usize) -> String) -> String {
    let mut names: Vec<String> =
        columns.iter().take(MAX_NAMED).map(|&column| format!("'{}'", name(column))).collect();
    if columns.len() > MAX_NAMED {
        names.push(format!("{} more", columns.len() - MAX_NAMED));
    }
    match names.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    }
}
