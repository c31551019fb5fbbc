//! What a requirement knows of a sensitive column: its domain and how far values lie apart.
//!
//! Values are dense codes `0..n_values`; the dictionary stays with the table.

use std::fmt;

use rustc_hash::FxHashSet;

use crate::error::PrivacyError;

/// One sensitive column. `Debug` shows its name and size, no values.
#[derive(Clone)]
pub struct SensitiveColumn {
    /// The column's name, for messages.
    pub name: String,
    /// Values are the codes `0..n_values`.
    pub n_values: u32,
    /// How far two values lie apart, for t-closeness.
    pub distance: GroundDistance,
    /// The number each code stands for, for variance; `None` when the column is not a number.
    pub numbers: Option<Vec<f64>>,
}

/// How far two values of a sensitive column lie apart, scaled to at most 1.
#[derive(Clone)]
pub enum GroundDistance {
    /// Any two different values are at distance 1.
    Equal,
    /// Values lie on a line; distance is the gap over the length of the line.
    Ordered {
        /// The position of each code, ascending; ranks `0, 1, 2, ..` give the plain ordered
        /// distance, the values themselves its numeric variant.
        positions: Vec<f64>,
    },
    /// Values are the leaves of a tree; distance is the height of the lowest common ancestor over
    /// the height of the tree.
    Hierarchical {
        /// `levels[i][code]` is the ancestor of `code` at height `i + 1`. Codes are in depth-first
        /// order, so that every node is one run of codes; the last level has one node.
        levels: Vec<Vec<u32>>,
    },
}

impl SensitiveColumn {
    /// Checks that the description does not contradict itself.
    pub(crate) fn check(&self) -> Result<(), PrivacyError> {
        let n_values = self.n_values as usize;
        let found = match &self.numbers {
            Some(numbers) if numbers.len() != n_values => {
                Err(("it has not one number per value", "give one number for each code"))
            }
            Some(numbers) if !numbers.iter().all(|x| x.is_finite()) => {
                Err(("one of its numbers is not finite", "treat missing and infinite as no number"))
            }
            _ => self.distance.check(n_values),
        };
        found.map_err(|(problem, hint)| PrivacyError::Column {
            column: self.name.clone(),
            problem,
            hint,
        })
    }
}

impl GroundDistance {
    /// The plain ordered distance: `n_values` codes, one step apart.
    pub fn ranks(n_values: u32) -> Self {
        Self::Ordered { positions: (0..n_values).map(f64::from).collect() }
    }

    fn check(&self, n_values: usize) -> Result<(), (&'static str, &'static str)> {
        match self {
            Self::Equal => Ok(()),
            Self::Ordered { positions } => check_positions(positions, n_values),
            Self::Hierarchical { levels } => check_levels(levels, n_values),
        }
    }
}

impl fmt::Debug for SensitiveColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SensitiveColumn")
            .field("name", &self.name)
            .field("n_values", &self.n_values)
            .field("distance", &self.distance)
            .field("is_number", &self.numbers.is_some())
            .finish()
    }
}

/// Shows the kind only: positions are cell values.
impl fmt::Debug for GroundDistance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "Equal",
            Self::Ordered { .. } => "Ordered",
            Self::Hierarchical { .. } => "Hierarchical",
        })
    }
}

fn check_positions(positions: &[f64], n_values: usize) -> Result<(), (&'static str, &'static str)> {
    if positions.len() != n_values {
        return Err(("it has not one position per value", "give one position for each code"));
    }
    if !positions.iter().all(|x| x.is_finite()) || !positions.is_sorted() {
        return Err((
            "its positions are not ascending finite numbers",
            "number the codes in order",
        ));
    }
    let (Some(first), Some(last)) = (positions.first(), positions.last()) else {
        return Ok(());
    };
    if n_values > 1 && last <= first {
        // All distances would be 0 and every class would pass.
        return Err(("all its values share one position", "use the equal distance"));
    }
    if (last - first).is_infinite() {
        return Err(("its values span too wide a range", "use ranks as positions"));
    }
    Ok(())
}

fn check_levels(levels: &[Vec<u32>], n_values: usize) -> Result<(), (&'static str, &'static str)> {
    let Some(top) = levels.last() else {
        return Err(("its hierarchy has no level", "add a top level with one node"));
    };
    if levels.iter().any(|level| level.len() != n_values) {
        return Err((
            "its hierarchy does not cover every value",
            "give every code a node per level",
        ));
    }
    if top.windows(2).any(|pair| pair[0] != pair[1]) {
        return Err(("its hierarchy has several roots", "add a top level with one node"));
    }
    let mut seen = FxHashSet::default();
    for level in levels {
        seen.clear();
        let starts_run = |idx: usize| idx == 0 || level[idx - 1] != level[idx];
        if (0..n_values).any(|idx| starts_run(idx) && !seen.insert(level[idx])) {
            return Err(("its codes are not in depth-first order", "number leaves along the tree"));
        }
    }
    for pair in levels.windows(2) {
        let (lower, upper) = (&pair[0], &pair[1]);
        if (1..n_values).any(|i| lower[i - 1] == lower[i] && upper[i - 1] != upper[i]) {
            return Err(("a node of its hierarchy has two parents", "make every level coarser"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(distance: GroundDistance, numbers: Option<Vec<f64>>) -> SensitiveColumn {
        SensitiveColumn { name: "income".into(), n_values: 3, distance, numbers }
    }

    fn problem(distance: GroundDistance) -> String {
        column(distance, None).check().unwrap_err().to_string()
    }

    #[test]
    fn well_formed_columns_are_accepted() {
        let levels = vec![vec![0, 0, 1], vec![0, 0, 0]];
        for distance in [
            GroundDistance::Equal,
            GroundDistance::ranks(3),
            GroundDistance::Ordered { positions: vec![-1.0, 5.0, 5.0] },
            GroundDistance::Hierarchical { levels },
        ] {
            assert_eq!(column(distance, Some(vec![1.0, 2.0, 3.0])).check(), Ok(()));
        }
    }

    #[test]
    fn malformed_positions_are_refused() {
        let ordered =
            |positions: &[f64]| problem(GroundDistance::Ordered { positions: positions.to_vec() });
        assert!(ordered(&[0.0, 1.0]).contains("one position per value"));
        assert!(ordered(&[0.0, 2.0, 1.0]).contains("ascending"));
        assert!(ordered(&[0.0, 1.0, f64::NAN]).contains("ascending finite"));
        assert!(ordered(&[4.0, 4.0, 4.0]).contains("share one position"));
        assert!(ordered(&[f64::MIN, 0.0, f64::MAX]).contains("too wide"));
    }

    #[test]
    fn malformed_hierarchies_are_refused() {
        let tree = |levels: &[[u32; 3]]| {
            let levels = levels.iter().map(|level| level.to_vec()).collect();
            problem(GroundDistance::Hierarchical { levels })
        };
        assert!(tree(&[]).contains("no level"));
        assert!(tree(&[[0, 0, 1]]).contains("several roots"));
        assert!(tree(&[[0, 1, 0], [0, 0, 0]]).contains("depth-first"));
        assert!(tree(&[[0, 0, 1], [0, 1, 1], [0, 0, 0]]).contains("two parents"));
        let short = GroundDistance::Hierarchical { levels: vec![vec![0, 0]] };
        assert!(problem(short).contains("cover every value"));
    }

    #[test]
    fn numbers_must_be_finite_and_complete() {
        for numbers in [vec![1.0], vec![1.0, f64::INFINITY, 2.0]] {
            assert!(column(GroundDistance::Equal, Some(numbers)).check().is_err());
        }
    }

    #[test]
    fn debug_output_shows_no_values() {
        let positions = vec![1.0, 54321.0, 99999.0];
        let distance = GroundDistance::Ordered { positions: positions.clone() };
        let shown = format!("{:?}", column(distance, Some(positions)));
        assert!(shown.contains("income") && !shown.contains("54321"));
    }
}
