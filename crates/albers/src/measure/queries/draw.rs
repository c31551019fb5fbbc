//! Random queries of a table: what one record has, or what lies between two.
//!
//! Source: Iwuchukwu & Naughton 2007, section 5.4: two random records are the corners of a window.
//! Anjum & Raschia 2017, section 5.4: point and window queries on some of the attributes.
//! Departures: on a category, which has no order, a window asks for one of its corners' two values:
//! also on numbers under a hierarchy that does not keep their order, such as their prefixes. So it
//! does on an ordered attribute where a corner misses its value: there is no range between a value
//! and none. A point asks for the missing value where its record has none. Every
//! query is satisfied by the records that it was drawn from.
//! Guarantee: queries are a function of the seed and of the rows, whatever their order: records are
//! drawn from the rows by ascending hash of their codes. A query is that of its number: more
//! queries begin with the fewer.
//! Cost: one sort of the rows, 16 bytes for each.

use albers_classes::points::codes_hash;
use albers_storage::choices;
use albers_table::code::Code;
use albers_table::domain::Domain;
use albers_table::mix::mix;
use rayon::prelude::*;

/// What a query asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum QueryKind {
    /// What lies between two records.
    #[default]
    Window,
    /// What one record has.
    Point,
}

choices!(QueryKind {
    Window: "window", "What lies between two random records; on a category one of their two values";
    Point: "point", "The values of one random record";
});

/// What is asked of one attribute, in codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Between {
    /// All codes from one to another; none of them is the missing one.
    Range(u32, u32),
    /// One of two codes, which may be the same, or the missing one.
    Either(u32, u32),
}

impl Between {
    /// Whether a code is asked for.
    #[inline]
    pub(super) fn has(self, code: u32) -> bool {
        match self {
            Between::Range(lo, hi) => code.wrapping_sub(lo) <= hi - lo,
            Between::Either(a, b) => (code == a) | (code == b),
        }
    }

    /// Ranges of the codes that are asked for, without the missing one.
    pub(super) fn spans(self, missing: Option<u32>) -> impl Iterator<Item = (u32, u32)> {
        let (first, second) = match self {
            Between::Range(lo, hi) => (Some((lo, hi)), None),
            Between::Either(a, b) => (Some((a, a)), Some((b, b)).filter(|_| a != b)),
        };
        let both = first.into_iter().chain(second);
        both.filter(move |&(code, _)| Some(code) != missing)
    }

    /// Whether the missing value is asked for.
    pub(super) fn has_missing(self, missing: Option<u32>) -> bool {
        match self {
            Between::Range(..) => false,
            Between::Either(a, b) => missing.is_some_and(|own| own == a || own == b),
        }
    }

    /// What a query of some corners asks of an attribute, whose codes may have an order.
    fn corners(domain: &Domain, has_order: bool, a: u32, b: u32) -> Between {
        let missing = domain.missing_code().map(Code::get);
        match has_order && missing != Some(a) && missing != Some(b) {
            true => Between::Range(a.min(b), a.max(b)),
            false => Between::Either(a.min(b), a.max(b)),
        }
    }
}

/// A conjunction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DrawnQuery {
    /// Attributes, ascending, and what is asked of each.
    pub(super) terms: Vec<(usize, Between)>,
}

impl DrawnQuery {
    /// What is asked of an attribute.
    pub(super) fn on(&self, axis: usize) -> Option<Between> {
        self.terms.iter().find(|(own, _)| *own == axis).map(|(_, between)| *between)
    }
}

/// The attributes of queries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OnAttributes {
    /// These.
    These(Vec<usize>),
    /// So many at random, from the least number to the greatest, in turn.
    Random {
        /// The least number.
        least: usize,
        /// The greatest one.
        most: usize,
    },
}

/// The rows of a table, by what they hold.
pub(super) struct Records<'a> {
    domains: &'a [&'a Domain],
    codes: &'a [Vec<u32>],
    /// Whether what lies between two codes lies between their values.
    have_order: Vec<bool>,
    /// Places of rows, by ascending hash of their codes.
    by_content: Vec<u32>,
}

impl<'a> Records<'a> {
    /// Of the codes of a table, attribute by attribute.
    pub(super) fn of(domains: &'a [&'a Domain], codes: &'a [Vec<u32>]) -> Records<'a> {
        let n_rows = codes.first().map_or(0, Vec::len) as u32;
        let at = |row: u32| codes.iter().map(move |column| column[row as usize]);
        let hashed = (0..n_rows).into_par_iter().map_init(Vec::new, |own, row| {
            own.clear();
            own.extend(at(row));
            (mix(codes_hash(own)), row)
        });
        let mut hashed: Vec<(u64, u32)> = hashed.collect();
        // Rows with equal codes are alike, in whatever order they are.
        hashed.par_sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| at(a.1).cmp(at(b.1))));
        let by_content = hashed.into_iter().map(|(_, row)| row).collect();
        let have_order = domains.iter().map(|domain| has_order(domain)).collect();
        Records { domains, codes, have_order, by_content }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.by_content.is_empty()
    }

    /// Draws so many queries.
    pub(super) fn draw(
        &self,
        n_queries: usize,
        kind: QueryKind,
        attributes: &OnAttributes,
        seed: u64,
    ) -> Vec<DrawnQuery> {
        let query = |number: usize| {
            let mut draw = Draw::of_query(seed, number as u64);
            let (first, second) = (self.record(&mut draw), self.record(&mut draw));
            let second = if kind == QueryKind::Point { first } else { second };
            let axes = match attributes {
                OnAttributes::These(axes) => axes.clone(),
                OnAttributes::Random { least, most } => {
                    draw.some_of(self.codes.len(), least + number % (most - least + 1))
                }
            };
            let asked = |axis: usize| {
                let column = &self.codes[axis];
                let (a, b) = (column[first], column[second]);
                Between::corners(self.domains[axis], self.have_order[axis], a, b)
            };
            DrawnQuery { terms: axes.into_iter().map(|axis| (axis, asked(axis))).collect() }
        };
        (0..n_queries).into_par_iter().map(query).collect()
    }

    fn record(&self, draw: &mut Draw) -> usize {
        self.by_content[draw.below(self.by_content.len())] as usize
    }
}

/// Whether the codes of a domain are in the order of its values: numbers, days or times, also under
/// a hierarchy that keeps their order.
fn has_order(domain: &Domain) -> bool {
    let ascend = |numbers: &[f64]| numbers.windows(2).all(|two| two[0] <= two[1]);
    domain.is_ordered() || domain.numbers().is_some_and(ascend)
}

/// Random numbers of one query.
struct Draw {
    base: u64,
    n_drawn: u64,
}

impl Draw {
    fn of_query(seed: u64, number: u64) -> Draw {
        Draw { base: mix(mix(seed ^ 0x7175_6572_6965_7321) ^ number), n_drawn: 0 }
    }

    fn bits(&mut self) -> u64 {
        self.n_drawn += 1;
        mix(self.base ^ mix(self.n_drawn))
    }

    /// A number below another.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// So many different numbers below another, ascending.
    fn some_of(&mut self, n_all: usize, n_some: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n_all).collect();
        for place in 0..n_some {
            let other = place + self.below(n_all - place);
            all.swap(place, other);
        }
        all.truncate(n_some);
        all.sort_unstable();
        all
    }
}
