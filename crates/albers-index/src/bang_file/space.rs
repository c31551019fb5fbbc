//! Space that is halved: the scale of each attribute, and which of them each halving halves.

use albers_classes::Span;
use albers_partition::plan::MAX_ATTRIBUTES;

use super::key::Interleaving;
use super::scale::Scale;

/// The scales of all attributes, and the order of their halvings.
#[derive(Debug, Clone)]
pub struct HalvedSpace {
    scales: Vec<Scale>,
    interleaving: Interleaving,
}

impl HalvedSpace {
    /// Of attributes with these scales.
    pub fn new(scales: Vec<Scale>) -> HalvedSpace {
        let interleaving = Interleaving::new(scales.iter().map(Scale::n_bits).collect());
        HalvedSpace { scales, interleaving }
    }

    /// The scale of each attribute.
    pub fn scales(&self) -> &[Scale] {
        &self.scales
    }

    /// Which attribute each halving halves.
    pub fn interleaving(&self) -> &Interleaving {
        &self.interleaving
    }

    /// Number of attributes.
    pub fn n_attributes(&self) -> usize {
        self.scales.len()
    }

    /// Words of a key.
    pub fn n_words(&self) -> usize {
        self.interleaving.n_words()
    }

    /// How often space can be halved.
    pub fn n_levels(&self) -> usize {
        self.interleaving.n_levels()
    }

    /// Writes the key of a point; `cells` is scratch, one for each attribute.
    #[inline]
    pub fn write_key(&self, codes: &[u32], cells: &mut [u64], key: &mut [u64]) {
        let columns = self.scales.iter().zip(codes).zip(&mut *cells);
        columns.for_each(|((scale, &code), cell)| *cell = scale.cell(code));
        self.interleaving.write_key(cells, key);
    }

    /// The key of a point.
    pub fn key(&self, codes: &[u32]) -> Vec<u64> {
        let mut key = vec![0; self.n_words()];
        self.write_key(codes, &mut vec![0; self.n_attributes()], &mut key);
        key
    }

    /// Does something with the key of a point, which takes no memory of its own.
    #[inline]
    pub(super) fn with_key<T>(&self, codes: &[u32], work: impl FnOnce(&[u64]) -> T) -> T {
        let (mut cells, mut key) = ([0; MAX_ATTRIBUTES], [0; MAX_ATTRIBUTES]);
        let key = &mut key[..self.n_words()];
        self.write_key(codes, &mut cells[..self.n_attributes()], key);
        work(key)
    }

    /// The codes of a region: the first so many bits of a key.
    pub fn region_box(&self, key: &[u64], n_bits: usize) -> Vec<Span> {
        self.interleaving.region_box(key, n_bits, &self.scales)
    }
}
