//! The positions of an axis: all values at which something begins or ends, and what lies between.
//!
//! ```text
//!   values          20        30     31            50
//!   positions   0   1    2    3      4      5      6    7
//!             below     21..29          32..49        above
//! ```
//!
//! Between two values is a position of its own, unless nothing lies there. Ends of cells and of
//! conditions are values, so that each covers or asks for a position as a whole or not at all.

/// A line of positions.
pub(super) struct Line<V> {
    /// Ascending.
    values: Vec<V>,
    /// The position of each value.
    at: Vec<u32>,
    /// Where each position begins, on a scale of lengths, and where the last one ends.
    edges: Vec<f64>,
}

/// How long the things on a line are.
pub(super) trait Lengths<V> {
    /// How long a value is.
    fn of_value(&self, value: &V) -> f64;
    /// How long what lies between two values is; nothing if nothing lies there.
    fn between(&self, below: &V, above: &V) -> Option<f64>;
    /// How long what lies below the least value, or above the greatest, is taken to be.
    fn beyond(&self) -> f64;
}

impl<V: Ord> Line<V> {
    /// The line of some values.
    pub(super) fn of(mut values: Vec<V>, lengths: &dyn Lengths<V>) -> Line<V> {
        values.sort_unstable();
        values.dedup();
        let mut at = Vec::with_capacity(values.len());
        let mut edges = vec![0.0, lengths.beyond()];
        let mut reached = lengths.beyond();
        let mut push = |length: f64| {
            reached += length;
            edges.push(reached);
            edges.len() as u32 - 2
        };
        for (place, value) in values.iter().enumerate() {
            at.push(push(lengths.of_value(value)));
            let gap = values.get(place + 1).and_then(|next| lengths.between(value, next));
            if let Some(gap) = gap {
                push(gap);
            }
        }
        push(lengths.beyond());
        Line { values, at, edges }
    }

    /// The values, ascending.
    pub(super) fn values(&self) -> &[V] {
        &self.values
    }

    /// The position of a value, if it is one of those of the line.
    pub(super) fn position(&self, value: &V) -> Option<u32> {
        self.values.binary_search(value).ok().map(|place| self.at[place])
    }

    /// The least and the greatest value that lie at positions from one to another, or bound what lies
    /// there.
    pub(super) fn hull(&self, first: u32, last: u32) -> Option<(&V, &V)> {
        let least = self.at.partition_point(|&at| at <= first).checked_sub(1)?;
        let greatest = self.at.partition_point(|&at| at < last);
        Some((&self.values[least], self.values.get(greatest)?))
    }

    /// The last position: above all values.
    pub(super) fn last(&self) -> u32 {
        self.edges.len() as u32 - 2
    }

    /// The value at a position, where it is one.
    pub(super) fn value_at(&self, position: u32) -> Option<&V> {
        self.at.binary_search(&position).ok().map(|place| &self.values[place])
    }

    /// How long a position is.
    pub(super) fn length_at(&self, position: u32) -> f64 {
        self.edges[position as usize + 1] - self.edges[position as usize]
    }

    /// Where positions begin and end.
    pub(super) fn edges(&self) -> &[f64] {
        &self.edges
    }
}
