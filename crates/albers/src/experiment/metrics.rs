//! What is measured on published rows alone.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 3.2 and figure 4 (imprecision).
//! Departures: the imprecision of several predicates is read in two ways, see [`union_imprecision`] and [`summed_imprecision`].
//! Cost: one pass over the rows.

use albers_classes::ClassId;

/// One interval per axis, both ends included. A point is a region whose ends are the same.
pub(super) type Region = Vec<(f64, f64)>;

/// Rows per class.
pub(super) fn mean_class_size(classes: &[ClassId]) -> f64 {
    let distinct: std::collections::BTreeSet<ClassId> = classes.iter().copied().collect();
    classes.len() as f64 / distinct.len().max(1) as f64
}

/// How many rows a predicate returns although they do not satisfy it, where a row is returned when
/// what is published of it overlaps the predicate: rows that any of the predicates returns less
/// rows that satisfy any of them.
pub(super) fn union_imprecision(published: &[Region], true_rows: &[Region], any: &[Region]) -> f64 {
    let returned = |rows: &[Region]| {
        rows.iter().filter(|row| any.iter().any(|predicate| overlap(row, predicate))).count()
    };
    returned(published) as f64 - returned(true_rows) as f64
}

/// The same with every predicate asked by itself: the sum of all, each with weight one.
pub(super) fn summed_imprecision(
    published: &[Region],
    true_rows: &[Region],
    each: &[Region],
) -> f64 {
    let own = |predicate: &Region| {
        union_imprecision(published, true_rows, std::slice::from_ref(predicate))
    };
    each.iter().map(own).sum()
}

/// Whether two regions share a point.
fn overlap(one: &Region, other: &Region) -> bool {
    one.iter().zip(other).all(|(own, its)| own.0 <= its.1 && its.0 <= own.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_a_mean_size() {
        let classes: Vec<ClassId> = (0..16).map(|row| ClassId::new(u32::from(row >= 4))).collect();
        assert_eq!(mean_class_size(&classes), 8.0);
    }

    /// Figure 4: the predicate returns the ten rows of two classes and six rows satisfy it.
    #[test]
    fn the_predicate_of_figure_4_returns_ten_rows_of_which_six_are_right() {
        let classes = [
            (vec![(0.0, 4.0), (0.0, 9.0)], vec![(3.5, 5.0), (4.0, 6.0), (1.0, 5.0), (2.0, 1.0)]),
            (
                vec![(5.0, 9.0), (0.0, 9.0)],
                vec![(5.0, 5.0), (5.5, 4.0), (6.0, 6.0), (5.2, 7.0), (9.0, 5.0), (6.0, 0.5)],
            ),
            (vec![(10.0, 12.0), (0.0, 9.0)], vec![(10.0, 5.0), (11.0, 5.0), (12.0, 5.0)]),
        ];
        let (mut published, mut rows) = (Vec::new(), Vec::new());
        for (region, points) in classes {
            for (x, y) in points {
                published.push(region.clone());
                rows.push(vec![(x, x), (y, y)]);
            }
        }
        let predicate = vec![(3.0, 7.0), (3.0, 8.0)];
        let returned = published.iter().filter(|region| overlap(region, &predicate)).count();
        let right = rows.iter().filter(|row| overlap(row, &predicate)).count();
        assert_eq!((returned, right), (10, 6));
        assert_eq!(union_imprecision(&published, &rows, &[predicate]), 4.0);
    }

    #[test]
    fn a_row_counts_once_for_the_union_and_once_for_each_in_the_sum() {
        let published = vec![vec![(0.0, 10.0)]; 3];
        let rows: Vec<Region> = [1.0, 5.0, 9.0].map(|x| vec![(x, x)]).into();
        let predicates = [vec![(0.0, 2.0)], vec![(8.0, 10.0)]];
        assert_eq!(union_imprecision(&published, &rows, &predicates), 1.0);
        assert_eq!(summed_imprecision(&published, &rows, &predicates), 4.0);
        assert_eq!(union_imprecision(&rows, &rows, &predicates), 0.0, "points are exact");
    }
}
