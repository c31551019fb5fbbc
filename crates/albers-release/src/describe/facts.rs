//! What the schema of a release must have room for, told from what its classes show.
//!
//! Guarantee: the facts of a release are a function of the texts that it shows.
//! Cost: a few steps for each cell.

use albers_classes::space::Shown;
use albers_table::domain::OrderedValue;
use albers_table::hierarchy::Hierarchy;
use albers_table::value::{Decimal, TickFormat};
use rustc_hash::FxHashSet;

use super::places::PlaceEnd;
use super::{Describer, ShownCell, bits_of};

/// What some cells of an attribute show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShownFacts {
    /// Whether one shows nothing but the missing value.
    pub has_missing_alone: bool,
    /// Whether one shows the missing value, alone or beside others.
    pub shows_missing: bool,
    /// The most digits before the point, for decimals.
    pub n_whole_digits: u8,
    /// The most digits after the point, for decimals.
    pub n_fraction_digits: u8,
    /// The ends of labels and sets that are shown by places.
    pub ends: FxHashSet<PlaceEnd>,
}

impl ShownFacts {
    /// Adds what other cells show.
    pub fn add(&mut self, other: &ShownFacts) {
        self.has_missing_alone |= other.has_missing_alone;
        self.shows_missing |= other.shows_missing;
        self.n_whole_digits = self.n_whole_digits.max(other.n_whole_digits);
        self.n_fraction_digits = self.n_fraction_digits.max(other.n_fraction_digits);
        self.ends.extend(&other.ends);
    }

    /// Adds what a cell shows.
    pub(crate) fn add_cell(&mut self, describer: &Describer<'_>, cell: ShownCell) {
        self.add(&describer.facts(cell));
        if let Some((lo, hi)) = describer.place_ends(cell) {
            self.ends.extend([lo, hi]);
        }
    }

    /// Adds what the cells of a class show to the facts of all attributes.
    pub(crate) fn add_class(
        all: &mut Vec<ShownFacts>,
        describers: &[Describer<'_>],
        cells: &[ShownCell],
    ) {
        all.resize(describers.len(), ShownFacts::default());
        for ((facts, describer), &cell) in all.iter_mut().zip(describers).zip(cells) {
            facts.add_cell(describer, cell);
        }
    }

    /// Adds the facts of all attributes of other classes.
    pub(crate) fn add_all(all: &mut Vec<ShownFacts>, others: &[ShownFacts]) {
        all.resize(all.len().max(others.len()), ShownFacts::default());
        all.iter_mut().zip(others).for_each(|(own, other)| own.add(other));
    }
}

impl Describer<'_> {
    /// What a cell shows, the ends of places left out.
    pub fn facts(&self, cell: ShownCell) -> ShownFacts {
        let Some(missing) = self.missing else { return self.digits(cell) };
        let has_missing_alone = match self.attribute.shown {
            Shown::Set if self.shows_places() => self.is_missing(cell),
            Shown::Set if self.is_bit_set => bits_of(cell) == 1 << missing.get(),
            Shown::Set => self.numbers.is_only(cell.a, missing),
            Shown::Interval | Shown::Label => self.is_missing(cell),
        };
        let is_beside = match self.attribute.shown {
            Shown::Set => self.shows_places() && cell.with_missing(),
            // Whether a top that all classes show tells of missing values is asked in the end.
            Shown::Label if self.shows_places() => {
                let is_top = |own: &Hierarchy| self.attribute.level == Some(own.height());
                let is_top = self.attribute.domain.hierarchy().is_some_and(is_top);
                !is_top && self.tells_of_missing(cell)
            }
            Shown::Interval | Shown::Label => self.stands_for_missing(cell),
        };
        let shows_missing = has_missing_alone || is_beside;
        ShownFacts { has_missing_alone, shows_missing, ..self.digits(cell) }
    }

    /// The digits of the ends, for intervals of decimals.
    fn digits(&self, cell: ShownCell) -> ShownFacts {
        let mut facts = ShownFacts::default();
        if self.attribute.shown != Shown::Interval {
            return facts;
        }
        let Some(TickFormat::Decimal { scale }) = self.attribute.domain.tick_format() else {
            return facts;
        };
        for end in self.ends(cell).into_iter().flat_map(|(lo, hi)| [lo, hi]) {
            let OrderedValue::Ticks(mantissa) = end else { continue };
            let Decimal { mantissa, scale } = Decimal { mantissa, scale }.without_trailing_zeros();
            let whole = mantissa.unsigned_abs() / 10u64.pow(u32::from(scale));
            let n_whole = whole.checked_ilog10().map_or(0, |exponent| exponent as u8 + 1);
            facts.n_whole_digits = facts.n_whole_digits.max(n_whole);
            facts.n_fraction_digits = facts.n_fraction_digits.max(scale);
        }
        facts
    }
}
