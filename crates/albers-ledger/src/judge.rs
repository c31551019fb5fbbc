//! Whether the members of a set satisfy the requirement, in each release that shows them.

use albers_privacy::{ClassSummary, Requirement};

use crate::error::LedgerError;
use crate::release::{Recorded, Whole};

/// Tests groups of rows against the requirement as it was at each release.
pub(crate) struct Judge {
    /// Bound to the release that is open.
    now: Requirement,
    /// Bound to earlier releases, where the requirement compares with them and was asked.
    then: Vec<Option<Requirement>>,
    compares: bool,
    pub summary: ClassSummary,
}

impl Judge {
    pub fn new(
        requirement: &Requirement,
        whole: Option<&Whole>,
        n_releases: usize,
    ) -> Option<Self> {
        let mut now = requirement.clone();
        if let Some(whole) = whole {
            bind(&mut now, whole)?;
        }
        let summary = ClassSummary::new(now.shape());
        Some(Self { now, then: vec![None; n_releases], compares: whole.is_some(), summary })
    }

    pub fn only_rows(&self) -> Option<u64> {
        self.now.is_only_row_count()
    }

    /// Adds so many equal rows, unless the facts do not fit the requirement.
    pub fn add(
        &mut self,
        row: u32,
        subject: u64,
        codes: &[u32],
        n: u64,
    ) -> Result<(), LedgerError> {
        self.check(row, codes)?;
        self.summary.add_many(subject, codes, n);
        Ok(())
    }

    /// Whether facts fit the requirement.
    pub fn check(&self, row: u32, codes: &[u32]) -> Result<(), LedgerError> {
        let n_values = &self.now.shape().n_values;
        let fits = codes.len() == n_values.len() && codes.iter().zip(n_values).all(|(c, n)| c < n);
        if fits { Ok(()) } else { Err(LedgerError::Facts { row }) }
    }

    /// Whether the rows added hold in the release that is open.
    pub fn holds_now(&self) -> bool {
        self.now.holds(&self.summary)
    }

    /// Whether the rows added hold in some earlier releases, which show the same values of them.
    pub fn held_in(&mut self, era: &[u32], releases: &[Recorded]) -> Result<bool, LedgerError> {
        if !self.compares {
            return Ok(era.is_empty() || self.holds_now());
        }
        for &release in era {
            let bound = &mut self.then[release as usize];
            if bound.is_none() {
                let mut requirement = self.now.clone();
                let whole = releases[release as usize].whole.as_ref();
                whole
                    .and_then(|whole| bind(&mut requirement, whole))
                    .ok_or(LedgerError::OtherRequirement)?;
                *bound = Some(requirement);
            }
            if !bound.as_ref().expect("it was just bound").holds(&self.summary) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// `None` when the distribution does not fit the requirement's columns.
fn bind(requirement: &mut Requirement, whole: &Whole) -> Option<()> {
    let shape = requirement.shape().clone();
    let in_domain = |(counts, n_values): (&Vec<(u32, u64)>, &u32)| {
        counts.iter().all(|(code, _)| code < n_values)
    };
    if !whole.is_sound(shape.n_values.len() as u32)
        || !whole.counts.iter().zip(&shape.n_values).all(in_domain)
    {
        return None;
    }
    requirement.bind(&ClassSummary::of_counts(&shape, whole.n_rows, 1, &whole.counts));
    Some(())
}
