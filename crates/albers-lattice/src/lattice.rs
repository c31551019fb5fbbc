//! The lattice of full-domain generalizations: one level per attribute.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2005, section 2 and figure 3.
//! Departures: none; edges are not stored, since the direct generalizations of a node follow from
//! its levels.
//! Guarantee: nodes are numbered densely, and a generalization has a greater number than what it
//! generalizes.
//! Cost: nothing but the heights; a set of nodes takes one bit per node.
//!
//! ```text
//!   height 3          <1,2>
//!   height 2      <0,2>   <1,1>        <sex, zip>: numbers 5 | 2 4 | 1 3 | 0 with zip's stride 1
//!   height 1      <0,1>   <1,0>
//!   height 0          <0,0>
//! ```

/// The levels of all attributes.
pub type Levels = Vec<u16>;

/// All combinations of levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lattice {
    heights: Vec<u16>,
    /// How far apart the numbers are of two nodes that differ by one level of an attribute.
    strides: Vec<usize>,
    n_nodes: usize,
}

/// How many nodes the lattice of these heights has; the greatest number if there are more.
pub fn count_nodes(heights: impl IntoIterator<Item = u16>) -> u128 {
    heights
        .into_iter()
        .fold(1u128, |product, height| product.saturating_mul(u128::from(height) + 1))
}

impl Lattice {
    /// The lattice of attributes with these heights.
    ///
    /// # Panics
    /// When its nodes cannot be numbered.
    pub fn new(heights: Vec<u16>) -> Lattice {
        let mut strides = vec![0; heights.len()];
        let mut n_nodes = 1usize;
        for (stride, &height) in strides.iter_mut().zip(&heights).rev() {
            *stride = n_nodes;
            n_nodes = n_nodes
                .checked_mul(usize::from(height) + 1)
                .expect("the size of a lattice is checked before it is searched");
        }
        Lattice { heights, strides, n_nodes }
    }

    /// Number of attributes.
    pub fn n_attributes(&self) -> usize {
        self.heights.len()
    }

    /// The level of each attribute's top.
    pub fn heights(&self) -> &[u16] {
        &self.heights
    }

    /// Number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.n_nodes
    }

    /// The height of the top.
    pub fn height(&self) -> usize {
        height_of(&self.heights)
    }

    /// The levels of a node.
    pub fn levels(&self, node: usize) -> Levels {
        (0..self.heights.len()).map(|attribute| self.level(node, attribute)).collect()
    }

    /// The level of one attribute.
    pub fn level(&self, node: usize, attribute: usize) -> u16 {
        let n_levels = usize::from(self.heights[attribute]) + 1;
        (node / self.strides[attribute] % n_levels) as u16
    }

    /// The node with these levels.
    pub fn node(&self, levels: &[u16]) -> usize {
        self.strides.iter().zip(levels).map(|(stride, &level)| stride * usize::from(level)).sum()
    }

    /// The number of steps from the bottom.
    pub fn height_of_node(&self, node: usize) -> usize {
        (0..self.heights.len()).map(|attribute| usize::from(self.level(node, attribute))).sum()
    }

    /// The direct generalizations of a node.
    pub fn above(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let can_rise = move |&at: &usize| self.level(node, at) < self.heights[at];
        (0..self.heights.len()).filter(can_rise).map(move |at| node + self.strides[at])
    }

    /// The nodes that a node directly generalizes.
    pub fn below(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let can_fall = move |&at: &usize| self.level(node, at) > 0;
        (0..self.heights.len()).filter(can_fall).map(move |at| node - self.strides[at])
    }

    /// The number of a node without one of its attributes.
    pub fn without(&self, node: usize, attribute: usize) -> usize {
        let n_levels = usize::from(self.heights[attribute]) + 1;
        let stride = self.strides[attribute];
        node / (stride * n_levels) * stride + node % stride
    }

    /// The nodes of each height, in their order.
    pub fn nodes_by_height(&self) -> Vec<Vec<usize>> {
        let mut nodes = vec![Vec::new(); self.height() + 1];
        (0..self.n_nodes).for_each(|node| nodes[self.height_of_node(node)].push(node));
        nodes
    }
}

/// The sum of some levels.
pub fn height_of(levels: &[u16]) -> usize {
    levels.iter().map(|&level| usize::from(level)).sum()
}

/// A set of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSet {
    bits: Vec<u64>,
}

impl NodeSet {
    /// No node of a lattice of so many.
    pub fn empty(n_nodes: usize) -> NodeSet {
        NodeSet { bits: vec![0; n_nodes.div_ceil(64)] }
    }

    /// Whether a node is in the set.
    #[inline]
    pub fn contains(&self, node: usize) -> bool {
        self.bits[node / 64] >> (node % 64) & 1 == 1
    }

    /// Adds a node.
    pub fn insert(&mut self, node: usize) {
        self.bits[node / 64] |= 1 << (node % 64);
    }

    /// Takes a node out.
    pub fn remove(&mut self, node: usize) {
        self.bits[node / 64] &= !(1 << (node % 64));
    }

    /// Number of nodes in the set.
    pub fn len(&self) -> usize {
        self.bits.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|&word| word == 0)
    }

    /// The nodes in the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.bits.iter().enumerate().flat_map(|(at, &word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 64 + bit)
        })
    }

    /// The nodes with no node of the set below them, be it directly or further down.
    pub fn minimal(&self, lattice: &Lattice) -> Vec<usize> {
        let mut covered = NodeSet::empty(lattice.n_nodes());
        let mut minimal = Vec::new();
        // Whatever lies below a node has a smaller number.
        for node in 0..lattice.n_nodes() {
            if lattice.below(node).any(|below| covered.contains(below)) {
                covered.insert(node);
            } else if self.contains(node) {
                covered.insert(node);
                minimal.push(node);
            }
        }
        minimal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_levels_belong_together() {
        let lattice = Lattice::new(vec![1, 2, 3]);
        assert_eq!(lattice.n_nodes(), 24);
        for node in 0..lattice.n_nodes() {
            let levels = lattice.levels(node);
            assert_eq!(lattice.node(&levels), node);
            assert_eq!(lattice.height_of_node(node), height_of(&levels));
            for above in lattice.above(node) {
                assert!(above > node && lattice.below(above).any(|below| below == node));
            }
            for attribute in 0..3 {
                let mut rest = levels.clone();
                rest.remove(attribute);
                let mut heights = lattice.heights().to_vec();
                heights.remove(attribute);
                assert_eq!(lattice.without(node, attribute), Lattice::new(heights).node(&rest));
            }
        }
    }

    #[test]
    fn minimal_nodes_have_nothing_below_them_at_any_distance() {
        let lattice = Lattice::new(vec![2, 2]);
        let mut set = NodeSet::empty(lattice.n_nodes());
        // <0,1> and <2,2>, with a gap between them.
        set.insert(lattice.node(&[0, 1]));
        set.insert(lattice.node(&[2, 2]));
        set.insert(lattice.node(&[2, 0]));
        assert_eq!(set.minimal(&lattice), [lattice.node(&[0, 1]), lattice.node(&[2, 0])]);
    }

    #[test]
    fn a_lattice_too_large_to_number_is_counted() {
        assert_eq!(count_nodes([4, 1, 1, 2, 3, 2, 2, 2, 1]), 12_960);
        assert_eq!(count_nodes([9; 64]), u128::MAX);
    }
}
