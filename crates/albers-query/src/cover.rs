//! What a cell covers on an axis, and what a query asks for there, in positions.
//!
//! The positions of an axis are whole numbers that stand for its values in order: codes, names, or
//! elementary ranges between all ends that occur. Whatever is covered or asked for holds each
//! position as a whole or not at all, so that questions about values become exact questions about
//! whole numbers. The missing value has no position.

/// Ascending ranges of positions, both ends included, of which no two touch.
pub type Spans = Box<[(u32, u32)]>;

/// What a cell covers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cover {
    /// The values.
    pub spans: Spans,
    /// Whether the missing value is among them.
    pub missing: Missing,
}

/// Whether a cell covers the missing value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Missing {
    /// It does not.
    No,
    /// It may: the cell stands for anything. An estimate takes no row for missing.
    Possible,
    /// It does, alone or beside values. An estimate takes half of the rows for missing where there
    /// are values too.
    Shown,
}

/// What a query asks for on an axis.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Asked {
    /// The values.
    pub spans: Spans,
    /// Whether the missing value is among them.
    pub missing: bool,
}

impl Cover {
    /// All positions from one to another.
    pub fn range(first: u32, last: u32) -> Cover {
        Cover { spans: Box::new([(first, last)]), missing: Missing::No }
    }

    /// Some positions, in any order.
    pub fn positions(positions: Vec<u32>) -> Cover {
        Cover { spans: spans_of(positions), missing: Missing::No }
    }

    /// The missing value alone.
    pub fn missing() -> Cover {
        Cover { spans: Box::new([]), missing: Missing::Shown }
    }

    /// The same, and perhaps the missing value.
    pub fn with(self, missing: Missing) -> Cover {
        Cover { missing, ..self }
    }

    /// Whether it has something that is asked for.
    pub fn meets(&self, asked: &Asked) -> bool {
        self.missing != Missing::No && asked.missing
            || intersection(&self.spans, &asked.spans).next().is_some()
    }

    /// Whether all of it is asked for.
    pub fn is_inside(&self, asked: &Asked) -> bool {
        (self.missing == Missing::No || asked.missing)
            && length(intersection(&self.spans, &asked.spans)) == length(self.spans.iter().copied())
    }
}

impl Asked {
    /// All positions from one to another.
    pub fn range(first: u32, last: u32) -> Asked {
        Asked { spans: Box::new([(first, last)]), missing: false }
    }

    /// Some positions, in any order.
    pub fn positions(positions: Vec<u32>) -> Asked {
        Asked { spans: spans_of(positions), missing: false }
    }

    /// The missing value alone.
    pub fn missing() -> Asked {
        Asked { spans: Box::new([]), missing: true }
    }

    /// Nothing.
    pub fn nothing() -> Asked {
        Asked { spans: Box::new([]), missing: false }
    }

    /// Whether nothing can satisfy it.
    pub fn is_nothing(&self) -> bool {
        self.spans.is_empty() && !self.missing
    }

    /// What both ask for.
    pub fn and(&self, other: &Asked) -> Asked {
        Asked {
            spans: intersection(&self.spans, &other.spans).collect(),
            missing: self.missing && other.missing,
        }
    }

    /// What one of both asks for.
    pub fn or(&self, other: &Asked) -> Asked {
        let mut all: Vec<(u32, u32)> = self.spans.iter().chain(&other.spans).copied().collect();
        all.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::with_capacity(all.len());
        for (first, last) in all {
            match joined.last_mut().filter(|own| first <= own.1.saturating_add(1)) {
                Some(own) => own.1 = own.1.max(last),
                None => joined.push((first, last)),
            }
        }
        Asked { spans: joined.into(), missing: self.missing || other.missing }
    }

    /// All else of an axis of so many positions.
    pub fn opposite(&self, n_positions: u32) -> Asked {
        let mut spans = Vec::with_capacity(self.spans.len() + 1);
        let mut next = 0;
        for &(first, last) in &self.spans {
            if first > next {
                spans.push((next, first - 1));
            }
            next = last + 1;
        }
        if next < n_positions {
            spans.push((next, n_positions - 1));
        }
        Asked { spans: spans.into(), missing: !self.missing }
    }
}

/// Positions as ranges.
fn spans_of(mut positions: Vec<u32>) -> Spans {
    positions.sort_unstable();
    positions.dedup();
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for position in positions {
        match spans.last_mut().filter(|own| own.1 + 1 == position) {
            Some(own) => own.1 = position,
            None => spans.push((position, position)),
        }
    }
    spans.into()
}

/// The ranges that two lists of ranges share.
pub(crate) fn intersection<'a>(
    a: &'a [(u32, u32)],
    b: &'a [(u32, u32)],
) -> impl Iterator<Item = (u32, u32)> + 'a {
    let (mut i, mut j) = (0, 0);
    std::iter::from_fn(move || {
        while i < a.len() && j < b.len() {
            let (first, last) = (a[i].0.max(b[j].0), a[i].1.min(b[j].1));
            match a[i].1 <= b[j].1 {
                true => i += 1,
                false => j += 1,
            }
            if first <= last {
                return Some((first, last));
            }
        }
        None
    })
}

/// How many positions ranges have.
pub(crate) fn length(spans: impl Iterator<Item = (u32, u32)>) -> u64 {
    spans.map(|(first, last)| u64::from(last - first) + 1).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const N: u32 = 12;

    fn asked() -> impl Strategy<Value = Asked> {
        (prop::collection::vec(0..N, 0..8), any::<bool>())
            .prop_map(|(positions, missing)| Asked { missing, ..Asked::positions(positions) })
    }

    fn holds(asked: &Asked, position: u32) -> bool {
        asked.spans.iter().any(|&(first, last)| (first..=last).contains(&position))
    }

    proptest! {
        #[test]
        fn sets_of_positions_are_joined_as_sets_are(a in asked(), b in asked()) {
            let [and, or, not] = [a.and(&b), a.or(&b), a.opposite(N)];
            for position in 0..N {
                let (in_a, in_b) = (holds(&a, position), holds(&b, position));
                prop_assert_eq!(holds(&and, position), in_a && in_b);
                prop_assert_eq!(holds(&or, position), in_a || in_b);
                prop_assert_eq!(holds(&not, position), !in_a);
            }
            prop_assert_eq!(and.missing, a.missing && b.missing);
            prop_assert_eq!(or.missing, a.missing || b.missing);
            prop_assert_eq!(not.missing, !a.missing);
            let touch = |own: &Asked| own.spans.windows(2).any(|two| two[0].1 + 1 >= two[1].0);
            prop_assert!(![and, or, not].iter().any(touch));
        }

        #[test]
        fn a_cell_meets_what_it_shares_a_value_with(a in asked(), b in asked()) {
            let missing = if a.missing { Missing::Shown } else { Missing::No };
            let cover = Cover { spans: a.spans.clone(), missing };
            prop_assert_eq!(cover.meets(&b), !a.and(&b).is_nothing());
            prop_assert_eq!(cover.is_inside(&b), a.and(&b.opposite(N)).is_nothing());
        }
    }
}
