//! A quasi-identifier as a dimension: what its values become, level by level.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2005, section 2 (domain and value generalization).
//! Departures: a missing value is a value of its own on every level but the top, which stands for
//! every value and for none.
//! Guarantee: levels are nested, and the last one has a single value, so that a column can always
//! be suppressed as a whole.
//! Cost: 4 bytes per value for each level, and for each pair of levels that somebody goes between.
//!
//! ```text
//!   level 2        *             0
//!   level 1    537*  538*       0   1       and the missing value, if there is one
//!   level 0   5371 5372 5381   0  1  2
//! ```

use std::sync::OnceLock;

use albers_table::code::Code;
use albers_table::domain::Domain;

/// What the values of one quasi-identifier become.
pub struct Dimension {
    name: String,
    weight: f64,
    /// The levels of the hierarchy that take part, from the values themselves to the top.
    hierarchy_levels: Vec<usize>,
    /// Number of values, by level.
    n_values: Vec<u32>,
    /// What each value of a level loses.
    losses: Vec<Vec<f64>>,
    /// The value of each code, by level.
    values_of_codes: Vec<Vec<u32>>,
    /// `maps[from][to - from - 1]` takes a value of one level to that of a higher one. A search goes
    /// between few of all pairs of levels, and a table for each would be too much of long hierarchies.
    maps: Vec<Vec<OnceLock<Vec<u32>>>>,
}

impl Dimension {
    /// A dimension with all levels of the domain's hierarchy.
    ///
    /// # Panics
    /// When the domain has no hierarchy.
    pub fn new(domain: &Domain, weight: f64) -> Dimension {
        let hierarchy = domain.hierarchy().expect("a dimension has a hierarchy");
        Dimension::of_levels(domain, weight, (0..=hierarchy.height()).collect())
    }

    /// A dimension whose values are shown or suppressed, with nothing between.
    ///
    /// # Panics
    /// When the domain has no hierarchy.
    pub fn all_or_nothing(domain: &Domain, weight: f64) -> Dimension {
        let hierarchy = domain.hierarchy().expect("a dimension has a hierarchy");
        Dimension::of_levels(domain, weight, vec![0, hierarchy.height()])
    }

    fn of_levels(domain: &Domain, weight: f64, hierarchy_levels: Vec<usize>) -> Dimension {
        let hierarchy = domain.hierarchy().expect("a dimension has a hierarchy");
        let n_leaves = hierarchy.n_leaves();
        let n_codes = n_leaves + u32::from(domain.missing_code().is_some());
        let per_value = 1.0 / (domain.n_values().max(2) - 1) as f64;
        let mut n_values = Vec::new();
        let mut losses = Vec::new();
        let mut values_of_codes: Vec<Vec<u32>> = Vec::new();
        for &level in &hierarchy_levels {
            let is_top = level == hierarchy.height();
            let n_nodes = hierarchy.n_nodes(level) as u32;
            let leaves = (0..n_leaves).map(Code::new);
            let of_leaves = leaves.map(|code| hierarchy.node_at(level, code) as u32);
            let of_missing = (n_leaves..n_codes).map(|_| if is_top { 0 } else { n_nodes });
            values_of_codes.push(of_leaves.chain(of_missing).collect());
            let own_missing = !is_top && n_codes > n_leaves;
            n_values.push(n_nodes + u32::from(own_missing));
            let loss = |index| {
                let leaves = hierarchy.leaves_of(albers_table::hierarchy::Node { level, index });
                leaves.len().saturating_sub(1) as f64 * per_value
            };
            let mut of_level: Vec<f64> = (0..n_nodes as usize).map(loss).collect();
            of_level.extend(own_missing.then_some(0.0));
            if is_top && n_codes > n_leaves {
                of_level[0] = if n_leaves == 0 { 0.0 } else { 1.0 };
            }
            losses.push(of_level);
        }
        let n_levels = hierarchy_levels.len();
        let maps_from = |from: usize| (from + 1..n_levels).map(|_| OnceLock::new()).collect();
        let maps = (0..n_levels).map(maps_from).collect();
        let name = domain.name().to_owned();
        Dimension { name, weight, hierarchy_levels, n_values, losses, values_of_codes, maps }
    }

    /// The name of the column.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How much a loss on it counts.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The level of the top.
    pub fn height(&self) -> u16 {
        u16::try_from(self.n_values.len() - 1).expect("a hierarchy has fewer than 2^16 levels")
    }

    /// The level of the column's hierarchy that a level stands for.
    pub fn hierarchy_level(&self, level: u16) -> usize {
        self.hierarchy_levels[usize::from(level)]
    }

    /// The number of values of a level.
    pub fn n_values(&self, level: u16) -> u32 {
        self.n_values[usize::from(level)]
    }

    /// What each value of a level loses, from 0 to 1 and before weights.
    pub fn losses(&self, level: u16) -> &[f64] {
        &self.losses[usize::from(level)]
    }

    /// What each value of a level becomes on a higher one; nothing if the levels are the same.
    pub fn map(&self, from: u16, to: u16) -> Option<&[u32]> {
        let (from, to) = (usize::from(from), usize::from(to));
        let n_steps = to.checked_sub(from).expect("levels only rise");
        let map = &self.maps[from][n_steps.checked_sub(1)?];
        Some(map.get_or_init(|| self.map_between(from, to)))
    }

    fn map_between(&self, from: usize, to: usize) -> Vec<u32> {
        let mut map = vec![0; self.n_values[from] as usize];
        for (&lower, &higher) in self.values_of_codes[from].iter().zip(&self.values_of_codes[to]) {
            map[lower as usize] = higher;
        }
        map
    }
}
