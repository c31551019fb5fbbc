//! The values of living rows in eras that are over.

use rustc_hash::FxHashMap;

use crate::facts::KeptFacts;

/// By row: its facts in each era that is over, oldest first. Rows that never changed have none.
#[derive(Default)]
pub(crate) struct Past {
    pub eras_of: FxHashMap<u32, Vec<KeptFacts>>,
}

impl Past {
    pub fn take(&mut self, row: u32) -> Vec<KeptFacts> {
        self.eras_of.remove(&row).unwrap_or_default()
    }

    pub fn put(&mut self, row: u32, eras: Vec<KeptFacts>) {
        if !eras.is_empty() {
            self.eras_of.insert(row, eras);
        }
    }

    pub fn get(&self, row: u32) -> &[KeptFacts] {
        self.eras_of.get(&row).map_or(&[], Vec::as_slice)
    }

    pub fn recode(&mut self, code_of: &dyn Fn(usize, u32) -> u32) {
        self.eras_of.values_mut().flatten().for_each(|facts| facts.recode(code_of));
    }
}
