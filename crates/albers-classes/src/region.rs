//! The part of space that routes to a class, and what else a class shows.
//!
//! ```text
//!   ┌───────────────┐
//!   │ outer   ┌───┐ │    a nested region is a box without its holes: what lies in a hole
//!   │    ┌──┐ │   │ │    belongs to a region further in
//!   │    └──┘ └───┘ │
//!   └───────────────┘
//! ```

use albers_table::code::Code;

/// The least and greatest code on one attribute.
pub type Span = (Code, Code);

/// The span between two codes that stand in columns of codes.
#[inline]
pub const fn span(lo: u32, hi: u32) -> Span {
    (Code::new(lo), Code::new(hi))
}

/// All codes of an attribute.
pub const ALL_CODES: Span = (Code::ZERO, Code::MAX);

/// No code of an attribute.
pub const NO_CODES: Span = (Code::MAX, Code::ZERO);

/// The part of space that routes to a class. A depth that is to be published is a feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClassRegion {
    /// A box: one span per attribute.
    Box(Vec<Span>),
    /// A box without the boxes of the regions that lie in it.
    Nested {
        /// The box around it.
        outer: Vec<Span>,
        /// What lies in it and is not part of it.
        holes: Vec<Vec<Span>>,
    },
}

impl ClassRegion {
    /// The box around it.
    pub fn outer(&self) -> &[Span] {
        match self {
            ClassRegion::Box(outer) | ClassRegion::Nested { outer, .. } => outer,
        }
    }

    /// What lies in the box and is not part of it.
    pub fn holes(&self) -> &[Vec<Span>] {
        match self {
            ClassRegion::Box(_) => &[],
            ClassRegion::Nested { holes, .. } => holes,
        }
    }
}

/// Whether a point, given as a row of a table of codes, lies in a box.
pub fn is_in_box(spans: &[Span], codes: &[u32]) -> bool {
    let is_in = |(&(lo, hi), &code): (&Span, &u32)| (lo.get()..=hi.get()).contains(&code);
    spans.iter().zip(codes).all(is_in)
}

/// The holes of some regions, class by class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holes {
    /// Box after box.
    spans: Vec<Span>,
    /// Where the spans of each class end.
    ends: Vec<u32>,
}

impl Holes {
    /// Adds the holes of the next class, box after box.
    pub fn push(&mut self, holes: impl IntoIterator<Item = Span>) {
        self.spans.extend(holes);
        let end = u32::try_from(self.spans.len()).expect("holes are fewer than rows");
        self.ends.push(end);
    }

    /// For how many classes holes are told.
    pub fn n_classes(&self) -> usize {
        self.ends.len()
    }

    /// The holes of a class, box after box; none where none are told.
    pub fn of(&self, class_idx: usize) -> &[Span] {
        let Some(&end) = self.ends.get(class_idx) else { return &[] };
        let start = if class_idx == 0 { 0 } else { self.ends[class_idx - 1] };
        &self.spans[start as usize..end as usize]
    }

    /// Whether a point lies in a hole of a class.
    pub fn contain(&self, class_idx: usize, codes: &[u32]) -> bool {
        self.of(class_idx).chunks_exact(codes.len()).any(|hole| is_in_box(hole, codes))
    }

    /// Forgets all of them and keeps the room.
    pub fn clear(&mut self) {
        self.spans.clear();
        self.ends.clear();
    }
}

/// A value that all rows of a class show beside their quasi-identifiers. Equal values are one
/// value: there is no negative zero, and what is not a number is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FeatureValue(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
enum Kind {
    #[default]
    Missing,
    Integer(i64),
    /// The bits of a number, since numbers themselves have no total order.
    Number(u64),
}

impl FeatureValue {
    /// No value.
    pub const MISSING: FeatureValue = FeatureValue(Kind::Missing);

    /// A whole number.
    pub fn integer(value: i64) -> FeatureValue {
        FeatureValue(Kind::Integer(value))
    }

    /// Any number.
    pub fn number(value: f64) -> FeatureValue {
        // Adding a zero makes a negative zero positive.
        if value.is_nan() {
            Self::MISSING
        } else {
            FeatureValue(Kind::Number((value + 0.0).to_bits()))
        }
    }

    /// The whole number, if it is one.
    pub fn as_integer(self) -> Option<i64> {
        match self.0 {
            Kind::Integer(value) => Some(value),
            _ => None,
        }
    }

    /// The value as a number, if there is one.
    pub fn as_number(self) -> Option<f64> {
        match self.0 {
            Kind::Missing => None,
            Kind::Integer(value) => Some(value as f64),
            Kind::Number(bits) => Some(f64::from_bits(bits)),
        }
    }

    /// Two words that tell it apart from all others.
    pub fn to_words(self) -> [u64; 2] {
        match self.0 {
            Kind::Missing => [0, 0],
            Kind::Integer(value) => [1, value as u64],
            Kind::Number(bits) => [2, bits],
        }
    }

    /// The value of two words.
    pub fn of_words(words: [u64; 2]) -> FeatureValue {
        FeatureValue(match words {
            [1, value] => Kind::Integer(value as i64),
            [2, bits] => Kind::Number(bits),
            _ => Kind::Missing,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_told_class_by_class() {
        let mut holes = Holes::default();
        holes.push([]);
        let spans = [(1, 2), (3, 4), (7, 9), (0, 0)];
        holes.push(spans.map(|(lo, hi)| span(lo, hi)));
        assert_eq!((holes.n_classes(), holes.of(0), holes.of(2)), (2, &[][..], &[][..]));
        assert!(holes.contain(1, &[2, 3]) && holes.contain(1, &[8, 0]));
        assert!(!holes.contain(0, &[2, 3]) && !holes.contain(1, &[2, 5]));
    }

    #[test]
    fn equal_values_are_one_value_and_survive_as_words() {
        let values = [
            FeatureValue::MISSING,
            FeatureValue::integer(-3),
            FeatureValue::number(-3.0),
            FeatureValue::number(0.0),
        ];
        for value in values {
            assert_eq!(FeatureValue::of_words(value.to_words()), value);
            assert_eq!(values.iter().filter(|other| **other == value).count(), 1);
        }
        assert_eq!(FeatureValue::number(-0.0), FeatureValue::number(0.0));
        assert_eq!(FeatureValue::number(f64::NAN), FeatureValue::MISSING);
        assert_eq!(FeatureValue::integer(2).as_number(), Some(2.0));
    }
}
