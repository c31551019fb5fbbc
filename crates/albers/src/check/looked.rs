//! What an audit that has all texts of a table in memory sees in them.

use albers_measure::{Classes, Relation};
use albers_table::schema::Role;

use super::loss::TextLoss;
use super::original::Original;
use super::relation::{Told, relation_of_texts};
use super::whole::InternedColumn;
use crate::job::Job;
use crate::report::{ConcernedRows, Manifest};

/// More cells of classes than this are not compared.
const MAX_CELLS: usize = 2_000_000;

/// What there is to see, and what was seen.
#[derive(Default)]
pub(super) struct Looked<'m> {
    pub(super) manifest: Option<&'m Manifest>,
    pub(super) original: Option<Original<'m>>,
    /// Whether the numbers of the rows are wanted that findings are about.
    pub(super) wants_rows: bool,
    /// These rows.
    pub(super) rows: Vec<ConcernedRows>,
    /// What the quasi-identifiers lose, where there is a manifest.
    pub(super) loss: Option<TextLoss<'m>>,
    /// How the classes lie to each other, where the texts tell it.
    pub(super) relation: Option<Relation>,
}

impl<'m> Looked<'m> {
    /// Nothing yet, beside a manifest.
    pub(super) fn beside(manifest: &'m Manifest) -> Looked<'m> {
        let loss = Some(TextLoss::of(manifest));
        Looked { manifest: Some(manifest), loss, ..Looked::default() }
    }

    /// Looks at the classes and at the columns that show quasi-identifiers.
    pub(super) fn look(&mut self, job: &Job, classes: &Classes, columns: &[InternedColumn]) {
        if let Some(loss) = &mut self.loss {
            loss.look(classes, columns);
        }
        let told = |name| {
            self.manifest.and_then(|own| own.columns.iter().find(|column| column.name == name))
        };
        let quasi: Vec<Told<'_>> =
            job.with_role(Role::Quasi).map(|name| (name, told(name))).collect();
        if classes.n_classes() * quasi.len() <= MAX_CELLS {
            self.relation = relation_of_texts(&quasi, classes, columns);
        }
    }
}
