//! What the classes of a release are made of: the classes of the next finer one, as they are shown.

use albers_classes::ClassId;

/// Leaves that stay together, since the next finer release does not tell them apart.
pub struct Units {
    /// The unit of each leaf; units are numbered by their first leaves.
    of_leaf: Vec<u32>,
    /// Unit by unit.
    leaves: Vec<u32>,
    ends: Vec<u32>,
}

impl Units {
    /// From the class of each leaf in the next finer release, numbered by their first leaves: each
    /// is a unit.
    pub fn of(classes: &[ClassId]) -> Units {
        let of_leaf: Vec<u32> = classes.iter().map(|class| class.get()).collect();
        let n_units = of_leaf.iter().max().map_or(0, |&unit| unit as usize + 1);
        let mut ends = vec![0u32; n_units];
        of_leaf.iter().for_each(|&unit| ends[unit as usize] += 1);
        let mut end = 0;
        for own in &mut ends {
            end += *own;
            *own = end;
        }
        let mut next: Vec<u32> = std::iter::once(0).chain(ends.iter().copied()).collect();
        let mut leaves = vec![0; of_leaf.len()];
        for (leaf, &unit) in (0u32..).zip(&of_leaf) {
            let slot = &mut next[unit as usize];
            leaves[*slot as usize] = leaf;
            *slot += 1;
        }
        Units { of_leaf, leaves, ends }
    }

    /// Number of units.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The leaves of a unit.
    pub fn get(&self, unit: usize) -> &[u32] {
        let start = if unit == 0 { 0 } else { self.ends[unit - 1] };
        &self.leaves[start as usize..self.ends[unit] as usize]
    }

    /// The leaves of all units.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len()).map(|unit| self.get(unit))
    }

    /// The unit of a leaf.
    pub fn of_leaf(&self, leaf: u32) -> u32 {
        self.of_leaf[leaf as usize]
    }

    /// The class of each leaf, from that of each unit.
    pub fn of_leaves(&self, classes: &[ClassId]) -> Vec<ClassId> {
        self.of_leaf.iter().map(|&unit| classes[unit as usize]).collect()
    }

    /// The class of each leaf, once classes that have leaves of the same unit are one. Classes are
    /// numbered below the number of leaves.
    pub fn joined(&self, mut classes: Vec<ClassId>) -> Vec<ClassId> {
        let mut joins: Vec<ClassId> = ClassId::first(classes.len()).collect();
        for unit in self.iter() {
            for pair in unit.windows(2) {
                let [a, b] =
                    [pair[0], pair[1]].map(|leaf| root(&mut joins, classes[leaf as usize]));
                joins[a.max(b).index()] = a.min(b);
            }
        }
        classes.iter_mut().for_each(|class| *class = root(&mut joins, *class));
        classes
    }
}

/// The class that a class is joined with, in the end.
fn root(joins: &mut [ClassId], class: ClassId) -> ClassId {
    let mut at = class.index();
    while joins[at].index() != at {
        // Every other step is skipped from now on.
        joins[at] = joins[joins[at].index()];
        at = joins[at].index();
    }
    joins[at]
}

/// Numbers classes in the order of their first leaves; they are numbered below the number of leaves.
pub fn renumbered(mut classes: Vec<ClassId>) -> Vec<ClassId> {
    const NEW: ClassId = ClassId::new(u32::MAX);
    let mut numbers = vec![NEW; classes.len()];
    let mut next = 0;
    for class in &mut classes {
        let number = &mut numbers[class.index()];
        if *number == NEW {
            *number = ClassId::new(next);
            next += 1;
        }
        *class = *number;
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_that_share_a_unit_become_one_and_no_others() {
        let classes = |numbers: [u32; 6]| numbers.map(ClassId::new).to_vec();
        let units = Units::of(&classes([0, 1, 0, 2, 3, 1]));
        assert_eq!(units.get(0), [0, 2]);
        assert_eq!(units.get(1), [1, 5]);
        // Leaves 0 and 2 lie in classes 0 and 2, leaves 1 and 5 in 0 and 5.
        let joined = |numbers| renumbered(units.joined(classes(numbers)));
        assert_eq!(joined([0, 0, 2, 2, 4, 5]), classes([0, 0, 0, 0, 1, 0]));
        assert_eq!(joined([0, 1, 0, 3, 3, 1]), classes([0, 1, 0, 2, 2, 1]));
    }
}
