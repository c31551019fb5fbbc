//! Deleted rows that were published: how many each set has, and what values they had.
//!
//! The values of one row in different eras are not kept together, so that nothing here is the
//! history of a person; only the sealed [`crate::DeadRow`] is.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::error::LedgerError;
use crate::facts::{DeadRow, KeptFacts};

#[derive(Default)]
pub(crate) struct Dead {
    pub n_rows: u64,
    pub of_set: FxHashMap<u32, DeadMembers>,
}

/// The deleted members of one set.
#[derive(Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeadMembers {
    pub n_rows: u64,
    /// How many had which facts in each era; empty when only rows are counted.
    pub eras: Vec<BTreeMap<KeptFacts, u64>>,
}

impl Dead {
    pub fn n_rows_of(&self, set: u32) -> u64 {
        self.of_set.get(&set).map_or(0, |members| members.n_rows)
    }

    pub fn add(&mut self, row: &DeadRow) {
        let members = self.of_set.entry(row.set).or_default();
        members.n_rows += 1;
        self.n_rows += 1;
        members.eras.resize_with(row.eras.len(), BTreeMap::new);
        for (counts, facts) in members.eras.iter_mut().zip(&row.eras) {
            *counts.entry(facts.clone()).or_insert(0) += 1;
        }
    }

    /// Takes a row out again; nothing is changed when it is not there.
    pub fn remove(&mut self, row: &DeadRow) -> Result<(), LedgerError> {
        let members = self.of_set.get_mut(&row.set).ok_or(LedgerError::UnknownDead)?;
        let has = |(counts, facts): (&BTreeMap<KeptFacts, u64>, _)| counts.contains_key(facts);
        if members.eras.len() != row.eras.len() || !members.eras.iter().zip(&row.eras).all(has) {
            return Err(LedgerError::UnknownDead);
        }
        members.n_rows -= 1;
        self.n_rows -= 1;
        for (counts, facts) in members.eras.iter_mut().zip(&row.eras) {
            let n = counts.get_mut(facts).expect("its presence was just checked");
            *n -= 1;
            if *n == 0 {
                counts.remove(facts);
            }
        }
        if members.n_rows == 0 {
            self.of_set.remove(&row.set);
        }
        Ok(())
    }

    pub fn recode(&mut self, code_of: &dyn Fn(usize, u32) -> u32) {
        for counts in self.of_set.values_mut().flat_map(|members| &mut members.eras) {
            for (mut facts, n) in std::mem::take(counts) {
                facts.recode(code_of);
                *counts.entry(facts).or_insert(0) += n;
            }
        }
    }
}

impl DeadMembers {
    /// Whether each era counts each row.
    pub fn is_sound(&self, n_eras: usize, n_sensitive: usize) -> bool {
        let sum = |counts: &BTreeMap<KeptFacts, u64>| {
            counts.values().try_fold(0_u64, |sum, &n| sum.checked_add(n))
        };
        let fits = |counts: &BTreeMap<KeptFacts, u64>| {
            counts.iter().all(|(facts, &n)| n > 0 && facts.codes.len() == n_sensitive)
        };
        (1..=u64::from(u32::MAX)).contains(&self.n_rows)
            && self.eras.len() == n_eras
            && self.eras.iter().all(|era| sum(era) == Some(self.n_rows) && fits(era))
    }
}
