//! What the requirement looks at in a row, and what is kept of it.

use std::fmt;

use albers_privacy::{Criterion, Requirement};
use serde::{Deserialize, Serialize};

use crate::error::LedgerError;
use crate::signatures::SetId;

/// What the requirement looks at in one row.
#[derive(Clone, Copy, Default)]
pub struct RowFacts<'a> {
    /// The person; ignored where persons are not counted.
    pub subject: u64,
    /// One code per sensitive column; ignored where only rows are counted.
    pub codes: &'a [u32],
}

/// What a ledger must keep to test a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    /// Whether rows are told apart by more than their number: by persons or by rules.
    pub facts: bool,
    /// Whether persons are counted.
    pub subjects: bool,
    /// Sensitive columns.
    pub n_sensitive: u32,
    /// Whether the distribution of each release is compared with.
    pub wholes: bool,
}

impl Needs {
    /// What a requirement needs.
    pub fn of(requirement: &Requirement) -> Self {
        let is_closeness =
            |rule: &(usize, Criterion)| matches!(rule.1, Criterion::TCloseness { .. });
        let facts = requirement.is_only_row_count().is_none();
        Self {
            facts,
            subjects: requirement.shape().counts_subjects,
            n_sensitive: if facts { requirement.columns().len() as u32 } else { 0 },
            wholes: requirement.rules().iter().any(is_closeness),
        }
    }

    /// The facts to keep of a row; `None` when only rows are counted.
    pub(crate) fn keep(
        &self,
        row: u32,
        facts: RowFacts<'_>,
    ) -> Result<Option<KeptFacts>, LedgerError> {
        if !self.facts {
            return Ok(None);
        }
        if facts.codes.len() != self.n_sensitive as usize {
            return Err(LedgerError::Facts { row });
        }
        let subject = if self.subjects { facts.subject } else { 0 };
        Ok(Some(KeptFacts { subject, codes: facts.codes.into() }))
    }
}

/// The facts of a row in an era that is over.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct KeptFacts {
    pub subject: u64,
    pub codes: Box<[u32]>,
}

impl KeptFacts {
    pub fn recode(&mut self, code_of: &dyn Fn(usize, u32) -> u32) {
        let codes = self.codes.iter_mut().enumerate();
        codes.for_each(|(column, code)| *code = code_of(column, *code));
    }
}

/// What continues the signature of a deleted row when its key is inserted again. It holds the
/// values that the row was published with: store it sealed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadRow {
    pub(crate) set: u32,
    /// How often the ledger had been recoded when the row was deleted.
    pub(crate) coding: u32,
    /// The row's facts in each era in which it was published, oldest first.
    pub(crate) eras: Vec<KeptFacts>,
}

impl DeadRow {
    /// The set that the row is a member of.
    pub fn set(&self) -> SetId {
        SetId(self.set)
    }

    /// The row as bytes, to be sealed.
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("numbers and lists can always be written to memory")
    }

    /// Reads what [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// When the bytes are no deleted row.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, LedgerError> {
        match postcard::take_from_bytes(bytes) {
            Ok((row, [])) => Ok(row),
            _ => Err(LedgerError::UnknownDead),
        }
    }
}

/// Shows the set, no values.
impl fmt::Debug for DeadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeadRow")
            .field("set", &self.set)
            .field("n_eras", &self.eras.len())
            .finish_non_exhaustive()
    }
}
