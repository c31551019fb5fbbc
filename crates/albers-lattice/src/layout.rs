//! Tuples as keys: the values of some attributes at some levels, packed into words.
//!
//! ```text
//!   one word     | age | zip | sex || subject | disease |     what classes are told by || the rest
//!   more words   | age | zip | sex | . | . || subject | disease | . |
//! ```
//!
//! Guarantee: two keys are equal if and only if the tuples are; a field never crosses two words.
//! Cost: as many bits per field as its values need at its level.

use crate::dimension::Dimension;

/// Something about a row that is never generalized: its subject or a sensitive value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FactField {
    /// Values are below this; 2^32 for half a subject.
    pub n_values: u64,
}

/// Where a value stands in a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The word.
    pub word: usize,
    /// The lowest bit.
    pub shift: u32,
    /// Number of bits, 32 at most.
    pub n_bits: u32,
}

impl Field {
    /// The value in a key.
    #[inline]
    pub fn get(self, key: &[u64]) -> u32 {
        (key[self.word] >> self.shift & self.mask()) as u32
    }

    /// Puts a value into a key that has zeros in its place.
    #[inline]
    pub fn put(self, value: u32, key: &mut [u64]) {
        key[self.word] |= u64::from(value) << self.shift;
    }

    fn mask(self) -> u64 {
        (1 << self.n_bits) - 1
    }
}

/// How tuples of some attributes at some levels become keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyLayout {
    attributes: Vec<usize>,
    levels: Vec<u16>,
    fields: Vec<Field>,
    facts: Vec<Field>,
    n_words: usize,
    /// Words, or the bits of the only word, that tell a class.
    class_words: usize,
    fact_bits: u32,
}

fn bits_for(n_values: u64) -> u32 {
    64 - n_values.saturating_sub(1).leading_zeros()
}

impl KeyLayout {
    /// The layout for some attributes, in ascending order, at these levels.
    pub fn new(
        dimensions: &[Dimension],
        facts: &[FactField],
        attributes: Vec<usize>,
        levels: Vec<u16>,
    ) -> KeyLayout {
        let n_values = |(&attribute, &level): (&usize, &u16)| {
            bits_for(u64::from(dimensions[attribute].n_values(level)))
        };
        let widths: Vec<u32> = attributes.iter().zip(&levels).map(n_values).collect();
        let fact_widths: Vec<u32> = facts.iter().map(|fact| bits_for(fact.n_values)).collect();
        let class_bits: u32 = widths.iter().sum();
        let fact_bits: u32 = fact_widths.iter().sum();
        if class_bits + fact_bits <= 64 {
            let (facts, _) = place(&fact_widths, 0, 0);
            let (fields, _) = place(&widths, 0, fact_bits);
            let (n_words, class_words) = (1, 1);
            return KeyLayout {
                attributes,
                levels,
                fields,
                facts,
                n_words,
                class_words,
                fact_bits,
            };
        }
        let (fields, class_words) = place(&widths, 0, 0);
        let (facts, n_words) = match fact_widths.is_empty() {
            true => (Vec::new(), class_words),
            false => place(&fact_widths, class_words, 0),
        };
        KeyLayout { attributes, levels, fields, facts, n_words, class_words, fact_bits: 0 }
    }

    /// The attributes.
    pub fn attributes(&self) -> &[usize] {
        &self.attributes
    }

    /// Their levels.
    pub fn levels(&self) -> &[u16] {
        &self.levels
    }

    /// The places of their values.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The places of the facts.
    pub fn facts(&self) -> &[Field] {
        &self.facts
    }

    /// Words per key.
    pub fn n_words(&self) -> usize {
        self.n_words
    }

    /// Appends the key of a row with these values and facts.
    pub fn pack(
        &self,
        values: impl Iterator<Item = u32>,
        facts: impl Iterator<Item = u32>,
        keys: &mut Vec<u64>,
    ) {
        let start = keys.len();
        keys.resize(start + self.n_words, 0);
        let key = &mut keys[start..];
        self.fields.iter().zip(values).for_each(|(field, value)| field.put(value, key));
        self.facts.iter().zip(facts).for_each(|(field, fact)| field.put(fact, key));
    }

    /// Whether two keys are of one class.
    #[inline]
    pub fn same_class(&self, a: &[u64], b: &[u64]) -> bool {
        match self.n_words {
            1 => self.class_part(a[0]) == self.class_part(b[0]),
            _ => a[..self.class_words] == b[..self.class_words],
        }
    }

    /// A number that is the same for all keys of a class.
    #[inline]
    pub fn class_hash(&self, key: &[u64]) -> u64 {
        match self.n_words {
            1 => hash_word(self.class_part(key[0]), 0),
            _ => hash_words(&key[..self.class_words], 0),
        }
    }

    /// The part of a one-word key that tells its class.
    #[inline]
    fn class_part(&self, word: u64) -> u64 {
        word.checked_shr(self.fact_bits).unwrap_or(0)
    }

    /// A number for the hashes of a table of such keys. Sets leave a table in the order of their
    /// hashes; were the next one to use the same, its keys would crowd.
    pub(crate) fn seed(&self) -> u64 {
        let fields = self.attributes.iter().zip(&self.levels);
        fields.fold(0x243f_6a88_85a3_08d3, |seed, (&attribute, &level)| {
            albers_table::mix::mix(seed ^ (attribute as u64) << 16 ^ u64::from(level))
        })
    }

    /// How many different keys there can be, if that is at most 2^32.
    pub fn n_keys(&self) -> Option<u64> {
        let fields = self.fields.iter().chain(&self.facts);
        let n_bits: u32 = fields.map(|field| field.n_bits).sum();
        (self.n_words == 1 && n_bits <= 32).then(|| 1 << n_bits)
    }
}

/// The places of fields of these widths from a word and a bit on, and the words needed.
fn place(widths: &[u32], first_word: usize, first_bit: u32) -> (Vec<Field>, usize) {
    let (mut word, mut shift) = (first_word, first_bit);
    let mut fields = Vec::with_capacity(widths.len());
    for &n_bits in widths {
        if shift + n_bits > 64 {
            (word, shift) = (word + 1, 0);
        }
        // A field without bits may follow a word that is full.
        fields.push(Field { word, shift: shift.min(63), n_bits });
        shift += n_bits;
    }
    (fields, word + 1)
}

/// Spreads a word over all 64 bits.
///
/// The halves of the full product are folded, so that every bit of the word reaches every bit of
/// the hash: packed fields are far from random.
#[inline]
pub(crate) fn hash_word(word: u64, seed: u64) -> u64 {
    let product = u128::from(word ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    (product >> 64) as u64 ^ product as u64
}

/// The same for several words.
#[inline]
pub(crate) fn hash_words(words: &[u64], seed: u64) -> u64 {
    words.iter().fold(seed, |hash, &word| hash_word(word, hash.rotate_left(23)))
}

/// How keys of one layout become keys of a coarser one.
pub(crate) struct Mapping<'d> {
    steps: Vec<Step<'d>>,
}

struct Step<'d> {
    from: Field,
    to: Field,
    map: Option<&'d [u32]>,
}

impl<'d> Mapping<'d> {
    /// From one layout to another with the same facts, whose attributes are among those of the
    /// first and whose levels are no lower.
    pub(crate) fn new(
        dimensions: &'d [Dimension],
        from: &KeyLayout,
        to: &KeyLayout,
    ) -> Mapping<'d> {
        let mut steps: Vec<Step<'d>> = Vec::new();
        for (at, &attribute) in to.attributes.iter().enumerate() {
            let source = from.attributes.iter().position(|&other| other == attribute);
            let source = source.expect("a set is only derived from one with all its attributes");
            let map = dimensions[attribute].map(from.levels[source], to.levels[at]);
            steps.push(Step { from: from.fields[source], to: to.fields[at], map });
        }
        let facts = from.facts.iter().zip(&to.facts);
        let facts = facts.map(|(&from, &to)| Step { from, to, map: None });
        // Facts lie below the fields, so that neighbours are neighbours in this order.
        let steps = facts.chain(steps).filter(|step| step.to.n_bits > 0).collect();
        Mapping { steps: merged(steps) }
    }

    /// The key that a key becomes.
    #[inline]
    pub(crate) fn apply(&self, key: &[u64], out: &mut [u64]) {
        out.fill(0);
        for step in &self.steps {
            let value = key[step.from.word] >> step.from.shift & step.from.mask();
            let value = match step.map {
                Some(map) => u64::from(map[value as usize]),
                None => value,
            };
            out[step.to.word] |= value << step.to.shift;
        }
    }

    /// The same for keys of one word, of which there are about so many.
    pub(crate) fn narrow(&self, n_entries: u64) -> NarrowMapping<'d> {
        // All tables together are to take less time than the keys.
        let n_bits = (n_entries / 16).max(16).ilog2().min(MAX_TABLE_BITS);
        let mut tables: Vec<TableStep> = Vec::new();
        let mut moves = Vec::new();
        let mut steps: Vec<&Step<'_>> = self.steps.iter().collect();
        steps.sort_by_key(|step| step.from.shift);
        let mut steps = steps.into_iter().peekable();
        while let Some(first) = steps.next() {
            if first.from.n_bits > n_bits {
                moves.push(Move { from: first.from, to: first.to.shift, map: first.map });
                continue;
            }
            let mut members = vec![first];
            let start = first.from.shift;
            let end = |step: &Step<'_>| step.from.shift + step.from.n_bits - start;
            while let Some(next) = steps.next_if(|next| end(next) <= n_bits) {
                members.push(next);
            }
            tables.push(TableStep::new(&members));
        }
        NarrowMapping { tables, moves }
    }
}

/// Tables with more bits do not stay in the cache nearest to the processor.
const MAX_TABLE_BITS: u32 = 12;

/// How keys of one word become keys of one word: a table for every few neighbouring fields.
pub(crate) struct NarrowMapping<'d> {
    tables: Vec<TableStep>,
    /// Fields that are too wide for a table.
    moves: Vec<Move<'d>>,
}

struct Move<'d> {
    from: Field,
    to: u32,
    map: Option<&'d [u32]>,
}

struct TableStep {
    shift: u32,
    mask: u64,
    /// What the bits become, at their new places.
    table: Vec<u64>,
}

impl TableStep {
    /// Of steps in the order of their bits.
    fn new(members: &[&Step<'_>]) -> TableStep {
        let shift = members[0].from.shift;
        let end = members.iter().map(|step| step.from.shift + step.from.n_bits).max();
        let n_bits = end.unwrap_or(shift) - shift;
        let mask = (1u64 << n_bits) - 1;
        let becomes = |bits: u64| {
            members.iter().fold(0, |out, step| {
                let value = bits >> (step.from.shift - shift) & step.from.mask();
                let value = match step.map {
                    // Bits that no value has become nothing.
                    Some(map) => map.get(value as usize).map_or(0, |&value| u64::from(value)),
                    None => value,
                };
                out | value << step.to.shift
            })
        };
        TableStep { shift, mask, table: (0..=mask).map(becomes).collect() }
    }
}

impl NarrowMapping<'_> {
    /// The key that a key becomes.
    #[inline]
    pub(crate) fn apply(&self, key: u64) -> u64 {
        let mut out = 0;
        for step in &self.tables {
            out |= step.table[(key >> step.shift & step.mask) as usize];
        }
        for step in &self.moves {
            let value = key >> step.from.shift & step.from.mask();
            out |= step.map.map_or(value, |map| u64::from(map[value as usize])) << step.to;
        }
        out
    }
}

/// Unchanged fields that are neighbours in both layouts move together.
fn merged(steps: Vec<Step<'_>>) -> Vec<Step<'_>> {
    let mut merged: Vec<Step<'_>> = Vec::with_capacity(steps.len());
    for step in steps {
        let joins = |last: &Step<'_>| {
            let follows = |a: Field, b: Field| a.word == b.word && a.shift + a.n_bits == b.shift;
            last.map.is_none()
                && step.map.is_none()
                && follows(last.from, step.from)
                && follows(last.to, step.to)
                && last.from.n_bits + step.from.n_bits < 64
        };
        match merged.last_mut() {
            Some(last) if joins(last) => {
                last.from.n_bits += step.from.n_bits;
                last.to.n_bits += step.to.n_bits;
            }
            _ => merged.push(step),
        }
    }
    merged
}
