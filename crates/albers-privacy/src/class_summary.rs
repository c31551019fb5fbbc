//! What a requirement may know of a class: counts that can be added, removed and merged.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 2.1 (the requirements it must serve).
//! Departures: distinct subjects are counted beside rows, for tables with several rows per person.
//! Guarantee: two summaries of the same rows are equal however they came about, so that the split
//! test and the final verifier cannot disagree.
//! Cost: O(sensitive columns) per row; clearing costs what was touched, so one scratch summary
//! serves millions of tiny classes.

use std::fmt;

use rustc_hash::FxHashMap;

use crate::histogram::{Histogram, clear_map};

/// What a summary counts: fixed by the requirement, shared by all its summaries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryShape {
    /// Whether distinct subjects (persons) are counted beside rows.
    pub counts_subjects: bool,
    /// The size of each sensitive column's domain, in column order.
    pub n_values: Vec<u32>,
}

/// The mergeable summary of one equivalence class.
#[derive(Clone)]
pub struct ClassSummary {
    n_rows: u64,
    /// Rows per subject, so that removal knows when a subject is gone; `None` when not counted.
    subjects: Option<FxHashMap<u64, u64>>,
    histograms: Vec<Histogram>,
}

impl ClassSummary {
    /// An empty summary.
    pub fn new(shape: &SummaryShape) -> Self {
        Self {
            n_rows: 0,
            subjects: shape.counts_subjects.then(FxHashMap::default),
            histograms: shape.n_values.iter().map(|&n| Histogram::new(n)).collect(),
        }
    }

    /// The summary of rows that were only counted: so many distinct subjects, and for each
    /// sensitive column how many rows have which code. Rows of a subject cannot be removed from it.
    ///
    /// # Panics
    /// When the columns do not have the same number of rows.
    pub fn of_counts(
        shape: &SummaryShape,
        n_rows: u64,
        n_subjects: u64,
        counts: &[Vec<(u32, u64)>],
    ) -> Self {
        let mut summary = Self::new(shape);
        summary.n_rows = n_rows;
        if let Some(subjects) = &mut summary.subjects {
            for subject in 0..n_subjects.min(n_rows) {
                let n_own = if subject == 0 { n_rows - (n_subjects.min(n_rows) - 1) } else { 1 };
                subjects.insert(subject, n_own);
            }
        }
        for (histogram, of_column) in summary.histograms.iter_mut().zip(counts) {
            of_column.iter().for_each(|&(code, n)| histogram.add_many(code, n));
        }
        summary.check_invariants();
        summary
    }

    /// Adds one row. `subject` is ignored when subjects are not counted; `sensitive` holds one code
    /// per sensitive column, in order.
    ///
    /// # Panics
    /// When the number of codes differs from the shape, or a code is outside its domain.
    pub fn add(&mut self, subject: u64, sensitive: &[u32]) {
        assert_eq!(sensitive.len(), self.histograms.len(), "one code per sensitive column");
        self.n_rows += 1;
        if let Some(subjects) = &mut self.subjects {
            *subjects.entry(subject).or_insert(0) += 1;
        }
        for (histogram, &code) in self.histograms.iter_mut().zip(sensitive) {
            histogram.add(code);
        }
    }

    /// Adds so many equal rows of one subject.
    ///
    /// # Panics
    /// As [`Self::add`] does.
    pub fn add_many(&mut self, subject: u64, sensitive: &[u32], n_rows: u64) {
        assert_eq!(sensitive.len(), self.histograms.len(), "one code per sensitive column");
        if n_rows == 0 {
            return;
        }
        self.n_rows += n_rows;
        if let Some(subjects) = &mut self.subjects {
            *subjects.entry(subject).or_insert(0) += n_rows;
        }
        for (histogram, &code) in self.histograms.iter_mut().zip(sensitive) {
            histogram.add_many(code, n_rows);
        }
    }

    /// Adds rows that were only counted: for each sensitive column, in order, how many of them have
    /// which code.
    ///
    /// # Panics
    /// When subjects are counted, which rows without a subject cannot be, or a code is outside its
    /// domain.
    pub fn add_counts<C>(&mut self, n_rows: u64, counts: impl IntoIterator<Item = C>)
    where
        C: IntoIterator<Item = (u32, u64)>,
    {
        assert!(self.subjects.is_none(), "counts know no subjects");
        self.n_rows += n_rows;
        for (histogram, of_column) in self.histograms.iter_mut().zip(counts) {
            of_column.into_iter().for_each(|(code, n)| histogram.add_many(code, n));
        }
    }

    /// Removes such rows.
    ///
    /// # Panics
    /// As [`Self::add_counts`] does, and when no such rows can have been added.
    pub fn remove_counts<C>(&mut self, n_rows: u64, counts: impl IntoIterator<Item = C>)
    where
        C: IntoIterator<Item = (u32, u64)>,
    {
        assert!(self.subjects.is_none(), "counts know no subjects");
        assert!(self.n_rows >= n_rows, "rows were removed that were never added");
        self.n_rows -= n_rows;
        for (histogram, of_column) in self.histograms.iter_mut().zip(counts) {
            of_column.into_iter().for_each(|(code, n)| histogram.remove_many(code, n));
        }
    }

    /// Removes one row that was added before.
    ///
    /// # Panics
    /// When no such row can have been added.
    pub fn remove(&mut self, subject: u64, sensitive: &[u32]) {
        assert_eq!(sensitive.len(), self.histograms.len(), "one code per sensitive column");
        assert!(self.n_rows > 0, "a row was removed that was never added");
        self.n_rows -= 1;
        if let Some(subjects) = &mut self.subjects {
            let n_rows = subjects.get_mut(&subject).expect("a subject was removed, never added");
            *n_rows -= 1;
            if *n_rows == 0 {
                subjects.remove(&subject);
            }
        }
        for (histogram, &code) in self.histograms.iter_mut().zip(sensitive) {
            histogram.remove(code);
        }
    }

    /// Adds all rows of another summary of the same shape.
    ///
    /// # Panics
    /// When the shapes differ.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.histograms.len(), other.histograms.len(), "merged shapes differ");
        self.n_rows += other.n_rows;
        match (&mut self.subjects, &other.subjects) {
            (Some(mine), Some(theirs)) => {
                for (&subject, &n_rows) in theirs {
                    *mine.entry(subject).or_insert(0) += n_rows;
                }
            }
            (None, None) => {}
            _ => panic!("merged shapes differ: only one of them counts subjects"),
        }
        for (mine, theirs) in self.histograms.iter_mut().zip(&other.histograms) {
            mine.merge(theirs);
        }
    }

    /// Forgets all rows, at a cost proportional to what was touched.
    pub fn clear(&mut self) {
        self.n_rows = 0;
        if let Some(subjects) = &mut self.subjects {
            clear_map(subjects);
        }
        self.histograms.iter_mut().for_each(Histogram::clear);
    }

    /// Number of rows.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// Number of distinct subjects, or of rows when subjects are not counted.
    pub fn n_subjects(&self) -> u64 {
        self.subjects.as_ref().map_or(self.n_rows, |subjects| subjects.len() as u64)
    }

    /// The counts of one sensitive column, by its position in the shape.
    ///
    /// # Panics
    /// When there is no such column.
    pub fn histogram(&self, column: usize) -> &Histogram {
        &self.histograms[column]
    }

    /// Asserts every invariant; for tests.
    ///
    /// # Panics
    /// When an invariant is broken.
    pub fn check_invariants(&self) {
        for histogram in &self.histograms {
            histogram.check_invariants();
            assert_eq!(histogram.n_rows(), self.n_rows, "every column sees every row");
        }
        if let Some(subjects) = &self.subjects {
            assert!(subjects.values().all(|&n| n > 0), "listed subjects have rows");
            assert_eq!(subjects.values().sum::<u64>(), self.n_rows, "every row has a subject");
        }
    }
}

/// Shows sizes only, never codes or subjects.
impl fmt::Debug for ClassSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClassSummary")
            .field("n_rows", &self.n_rows)
            .field("n_subjects", &self.n_subjects())
            .field("histograms", &self.histograms)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(counts_subjects: bool) -> SummaryShape {
        SummaryShape { counts_subjects, n_values: vec![4, 5000] }
    }

    #[test]
    fn a_person_with_three_rows_is_one_subject() {
        let mut summary = ClassSummary::new(&shape(true));
        for code in 0..3 {
            summary.add(9, &[code, 0]);
        }
        assert_eq!((summary.n_rows(), summary.n_subjects()), (3, 1));
        summary.remove(9, &[0, 0]);
        assert_eq!((summary.n_rows(), summary.n_subjects()), (2, 1));
    }

    #[test]
    fn without_subjects_every_row_is_a_subject() {
        let mut summary = ClassSummary::new(&shape(false));
        summary.add(9, &[0, 0]);
        summary.add(9, &[1, 0]);
        assert_eq!(summary.n_subjects(), 2);
    }

    #[test]
    fn a_subject_in_both_merged_classes_counts_once() {
        let mut a = ClassSummary::new(&shape(true));
        let mut b = a.clone();
        a.add(1, &[0, 0]);
        b.add(1, &[1, 0]);
        b.add(2, &[1, 4999]);
        a.merge(&b);
        a.check_invariants();
        assert_eq!((a.n_rows(), a.n_subjects()), (3, 2));
        assert_eq!(a.histogram(0).iter().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    }

    #[test]
    fn counted_rows_come_and_go_as_rows_do() {
        let mut rows = ClassSummary::new(&shape(false));
        let mut counted = rows.clone();
        for code in [1, 3, 1, 2] {
            rows.add(0, &[code, 7]);
        }
        counted.add_counts(5, [vec![(1, 3), (3, 1), (2, 1)], vec![(7, 5)]]);
        counted.check_invariants();
        counted.remove_counts(1, [vec![(1, 1)], vec![(7, 1)]]);
        counted.check_invariants();
        assert_eq!(counted.n_rows(), rows.n_rows());
        for column in 0..2 {
            let [own, other] = [&counted, &rows].map(|own| own.histogram(column));
            assert_eq!(own.iter().collect::<Vec<_>>(), other.iter().collect::<Vec<_>>());
        }
    }

    #[test]
    #[should_panic(expected = "know no subjects")]
    fn rows_without_a_subject_are_not_counted_as_subjects() {
        ClassSummary::new(&shape(true)).add_counts(1, [vec![(0, 1)], vec![(0, 1)]]);
    }

    #[test]
    #[should_panic(expected = "never added")]
    fn removing_an_unknown_subject_is_refused() {
        let mut summary = ClassSummary::new(&shape(true));
        summary.add(1, &[0, 0]);
        summary.remove(2, &[0, 0]);
    }

    #[test]
    #[should_panic(expected = "shapes differ")]
    fn merging_different_shapes_is_refused() {
        ClassSummary::new(&shape(true)).merge(&ClassSummary::new(&shape(false)));
    }
}
