//! What a requirement looks at, row by row.

use crate::ClassSummary;

/// What the requirement looks at, row by row: the subject and the sensitive codes.
#[derive(Default)]
pub struct Facts {
    /// The subject of each row; empty when subjects are not counted.
    pub subjects: Vec<u64>,
    /// The sensitive codes of each row, row by row.
    pub sensitive: Vec<u32>,
    /// Sensitive codes per row.
    pub n_sensitive: usize,
}

impl Facts {
    /// Adds a row to a summary.
    pub fn add(&self, row_idx: usize, summary: &mut ClassSummary) {
        summary.add(self.subject(row_idx), self.codes(row_idx));
    }

    /// Removes a row from a summary.
    pub fn remove(&self, row_idx: usize, summary: &mut ClassSummary) {
        summary.remove(self.subject(row_idx), self.codes(row_idx));
    }

    /// The facts of some rows, in their order.
    pub fn gather(&self, row_idxs: impl ExactSizeIterator<Item = usize> + Clone) -> Facts {
        let mut sensitive = Vec::with_capacity(row_idxs.len() * self.n_sensitive);
        for row_idx in row_idxs.clone() {
            sensitive.extend_from_slice(self.codes(row_idx));
        }
        let subjects = if self.subjects.is_empty() {
            Vec::new()
        } else {
            row_idxs.map(|row_idx| self.subjects[row_idx]).collect()
        };
        Facts { subjects, sensitive, n_sensitive: self.n_sensitive }
    }

    /// The subject of a row; 0 when subjects are not counted.
    pub fn subject(&self, row_idx: usize) -> u64 {
        self.subjects.get(row_idx).copied().unwrap_or(0)
    }

    /// The sensitive codes of a row.
    pub fn codes(&self, row_idx: usize) -> &[u32] {
        &self.sensitive[row_idx * self.n_sensitive..(row_idx + 1) * self.n_sensitive]
    }
}
