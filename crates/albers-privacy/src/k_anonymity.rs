//! k-anonymity: nobody stands in a group of fewer than k.
//!
//! Source: Samarati 2001; Sweeney 2002; LeFevre et al. 2008, definition 2.1.
//! Departures: when the table has several rows per person, persons are counted and not rows.
//!
//! # Guarantee
//! Whoever knows a person's quasi-identifier finds at least k rows (or k persons, when subjects are
//! counted) that fit it equally well. It promises nothing about what those rows have in common: if
//! all of them share one disease, the disease is known. It is monotone under merging, because a
//! union is at least as large as its parts.
//!
//! Cost: O(1).

use crate::class_summary::ClassSummary;

/// The size of the group a person hides in: distinct subjects when counted, rows otherwise.
pub fn group_size(class: &ClassSummary) -> u64 {
    class.n_subjects()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class_summary::SummaryShape;

    #[test]
    fn one_person_with_many_rows_is_a_group_of_one() {
        let shape = SummaryShape { counts_subjects: true, n_values: vec![] };
        let mut class = ClassSummary::new(&shape);
        (0..5).for_each(|_| class.add(3, &[]));
        assert_eq!(group_size(&class), 1);
    }
}
