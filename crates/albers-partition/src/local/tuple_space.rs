//! The tuples of one cell in codes of their own, and what classes of them lose.
//!
//! Codes are numbered anew in each cell, in their order and without gaps. So all attributes
//! together have few codes, and what any newcomer would make a class lose fits in a short table:
//!
//! ```text
//!   slots:        | sex | age               | race    | ...        one per attribute and code
//!   lane losses:  | 0 1 | .3 .2 .1 .1 .1 .2 | 0 .5 .5 | ...        if that code joined the class
//!   a newcomer:       ^          ^            ^                     loses the sum of its slots
//! ```

use albers_classes::space::{Axis, AxisKind, LabelTree, Space};

use super::Member;
use super::tuples::Tuples;
use crate::plan::MAX_ATTRIBUTES;

/// Labels of at most so many codes in a cell have a table of what each pair of codes loses.
const PAIRED_CODES: usize = 256;
/// Lines of more codes are weighed by their ends, not code by code.
const WIDE_CODES: usize = 256;

/// The tuples of a cell.
pub struct TupleSpace<'a> {
    lanes: Vec<Lane<'a>>,
    /// The codes of each tuple.
    codes: Vec<u32>,
    n_slots: usize,
    n_words: usize,
}

/// One attribute within a cell.
pub struct Lane<'a> {
    /// The slot of its first code.
    first: u32,
    n_codes: u32,
    shown: ShownLane<'a>,
}

enum ShownLane<'a> {
    /// The weighted place of each code on a line; a missing value lies far away, and a mixture with
    /// it loses no more than `most`.
    Line { places: Vec<f32>, most: f32 },
    /// The weighted loss of each pair of codes.
    Pairs(Vec<f32>),
    /// A label with too many codes for a table of pairs.
    Tree { tree: &'a LabelTree, codes: Vec<u32>, weight: f64 },
    /// The weighted loss of one more value; the first word of its bits.
    Set { per_value: f32, first_word: usize },
}

/// What a class covers on one attribute: the least and the greatest code; for a set the number of
/// distinct codes, and the one that went with a member that is left out.
pub type Span = (u32, u32);

/// The span of nothing.
pub const NO_SPAN: Span = (u32::MAX, 0);
/// No code.
pub const NO_CODE: u32 = u32::MAX;

/// What a class covers.
#[derive(Clone, Default)]
pub struct Covered {
    /// Per attribute.
    pub spans: Vec<Span>,
    /// The codes of attributes that are shown as sets.
    bits: Vec<u64>,
}

impl<'a> TupleSpace<'a> {
    /// The ground of some tuples.
    pub fn new(tuples: &Tuples, ids: &[u32], space: &'a Space) -> TupleSpace<'a> {
        let n_lanes = space.axes.len();
        let mut ground = TupleSpace {
            lanes: Vec::with_capacity(space.axes.len()),
            codes: vec![0; ids.len() * n_lanes],
            n_slots: 0,
            n_words: 0,
        };
        for (at, axis) in space.axes.iter().enumerate() {
            let mut keys: Vec<u64> = (0u64..)
                .zip(ids)
                .map(|(place, &id)| u64::from(tuples.codes(id)[at]) << 32 | place)
                .collect();
            keys.sort_unstable();
            let mut codes = Vec::new();
            for run in keys.chunk_by(|a, b| a >> 32 == b >> 32) {
                let code = codes.len() as u32;
                codes.push((run[0] >> 32) as u32);
                for &key in run {
                    ground.codes[(key & 0xffff_ffff) as usize * n_lanes + at] = code;
                }
            }
            ground.add_lane(axis, codes);
        }
        ground
    }

    fn add_lane(&mut self, axis: &'a Axis, codes: Vec<u32>) {
        let n_codes = codes.len();
        let weight = axis.weight;
        let shown = match &axis.kind {
            AxisKind::Interval { scale, .. } => {
                let first = codes.first().copied().unwrap_or(0);
                let place = |&code: &u32| (f64::from(code - first) * scale * weight) as f32;
                ShownLane::Line { places: codes.iter().map(place).collect(), most: weight as f32 }
            }
            AxisKind::Label(tree) if n_codes <= PAIRED_CODES => {
                let pairs = codes.iter().flat_map(|&a| codes.iter().map(move |&b| (a, b)));
                let loss = |(a, b): (u32, u32)| (tree.loss(a.min(b), a.max(b)) * weight) as f32;
                ShownLane::Pairs(pairs.map(loss).collect())
            }
            AxisKind::Label(tree) => ShownLane::Tree { tree, codes, weight },
            AxisKind::Set { scale, .. } => {
                let first_word = self.n_words;
                self.n_words += n_codes.div_ceil(64);
                ShownLane::Set { per_value: (scale * weight) as f32, first_word }
            }
        };
        self.lanes.push(Lane { first: self.n_slots as u32, n_codes: n_codes as u32, shown });
        self.n_slots += n_codes;
    }

    /// Number of attributes.
    pub fn n_lanes(&self) -> usize {
        self.lanes.len()
    }

    /// Number of slots.
    pub fn n_slots(&self) -> usize {
        self.n_slots
    }

    /// The attributes.
    pub fn lanes(&self) -> &[Lane<'a>] {
        &self.lanes
    }

    /// The code of a tuple on an attribute.
    #[inline]
    pub fn code(&self, place: u32, lane: usize) -> u32 {
        self.codes[place as usize * self.lanes.len() + lane]
    }

    /// What some tuples cover.
    pub fn covered(&self, members: &[Member]) -> Covered {
        let mut covered = self.nothing();
        for member in members {
            self.cover(&mut covered, member.tuple);
        }
        covered
    }

    /// What no tuples cover.
    pub fn nothing(&self) -> Covered {
        let empty = |lane: &Lane<'_>| if lane.is_set() { (0, NO_CODE) } else { NO_SPAN };
        Covered { spans: self.lanes.iter().map(empty).collect(), bits: vec![0; self.n_words] }
    }

    /// Adds a tuple, and tells the lanes on which more is covered then, as bits.
    pub fn cover(&self, covered: &mut Covered, place: u32) -> u64 {
        let mut changed = 0;
        for (at, lane) in self.lanes.iter().enumerate() {
            let code = self.code(place, at);
            let is_new = !lane.is_set() || !covered.has(lane, code);
            let widened = lane.widened(covered.spans[at], code, is_new);
            changed |= u64::from(widened != covered.spans[at]) << at;
            covered.spans[at] = widened;
            if let ShownLane::Set { first_word, .. } = lane.shown {
                covered.bits[first_word + code as usize / 64] |= 1 << (code % 64);
            }
        }
        changed
    }

    /// All lanes, as bits.
    pub fn all_lanes(&self) -> u64 {
        match self.lanes.len() {
            0 => 0,
            n_lanes => u64::MAX >> (MAX_ATTRIBUTES - n_lanes),
        }
    }

    /// What a row of a class loses.
    pub fn loss(&self, covered: &Covered) -> f64 {
        self.loss_of(&covered.spans)
    }

    /// What a row loses that shows these spans.
    pub fn loss_of(&self, spans: &[Span]) -> f64 {
        self.lanes.iter().zip(spans).map(|(lane, &span)| f64::from(lane.loss(span))).sum()
    }

    /// What a row loses once a tuple has joined those that cover `spans`, which are all of
    /// `covered` or all but one tuple.
    #[inline]
    pub fn loss_with(&self, spans: &[Span], covered: &Covered, place: u32) -> f64 {
        self.loss_with_unless(spans, covered, place, |_| false).unwrap_or(f64::INFINITY)
    }

    /// The same; nothing as soon as what is lost on some lanes is too much. What is too much must
    /// stay so if it grows: losses are not negative, nor is what rounding makes of their sums.
    #[inline]
    pub fn loss_with_unless(
        &self,
        spans: &[Span],
        covered: &Covered,
        place: u32,
        is_too_much: impl Fn(f64) -> bool,
    ) -> Option<f64> {
        let codes = &self.codes[place as usize * self.lanes.len()..][..self.lanes.len()];
        let mut loss = 0.0;
        for ((lane, &span), &code) in self.lanes.iter().zip(spans).zip(codes) {
            let is_new = !lane.is_set() || code == span.1 || !covered.has(lane, code);
            loss += f64::from(lane.loss(lane.widened(span, code, is_new)));
            if is_too_much(loss) {
                return None;
            }
        }
        Some(loss)
    }
}

impl Lane<'_> {
    /// The slot of the first code.
    pub fn first(&self) -> usize {
        self.first as usize
    }

    /// Number of codes.
    pub fn n_codes(&self) -> usize {
        self.n_codes as usize
    }

    /// Whether it is shown as a set.
    #[inline]
    pub fn is_set(&self) -> bool {
        matches!(self.shown, ShownLane::Set { .. })
    }

    /// The places of a line's codes, which are in their order, and the most it loses.
    pub fn line(&self) -> Option<(&[f32], f32)> {
        match &self.shown {
            ShownLane::Line { places, most } => Some((places, *most)),
            _ => None,
        }
    }

    /// The same, if it has too many codes for tables.
    pub fn wide_line(&self) -> Option<(&[f32], f32)> {
        self.line().filter(|(places, _)| places.len() > WIDE_CODES)
    }

    /// What a span loses.
    #[inline]
    fn loss(&self, (a, b): Span) -> f32 {
        match &self.shown {
            ShownLane::Set { per_value, .. } => a.saturating_sub(1) as f32 * per_value,
            _ if a >= b => 0.0,
            ShownLane::Line { places, most } => {
                (places[b as usize] - places[a as usize]).min(*most)
            }
            ShownLane::Pairs(losses) => losses[(a * self.n_codes + b) as usize],
            ShownLane::Tree { tree, codes, weight } => {
                (tree.loss(codes[a as usize], codes[b as usize]) * weight) as f32
            }
        }
    }

    /// A span with a code; `is_new` tells whether a set does not have it yet.
    #[inline]
    fn widened(&self, (a, b): Span, code: u32, is_new: bool) -> Span {
        if self.is_set() { (a + u32::from(is_new), b) } else { (a.min(code), b.max(code)) }
    }

    /// What a span loses once a code has joined it.
    #[inline]
    pub fn loss_with(&self, span: Span, covered: &Covered, code: u32) -> f32 {
        let is_new = !self.is_set() || !covered.has(self, code);
        self.loss(self.widened(span, code, is_new))
    }

    /// The same for each code of the lane, after what is there.
    pub fn losses(&self, span: Span, covered: &Covered, out: &mut Vec<f32>) {
        let codes = 0..self.n_codes;
        match &self.shown {
            ShownLane::Set { .. } => {
                let (same, more) = (self.loss(span), self.loss((span.0 + 1, NO_CODE)));
                out.extend(codes.map(|code| if covered.has(self, code) { same } else { more }));
            }
            ShownLane::Line { places, most } if span.0 <= span.1 => {
                let ends = (places[span.0 as usize], places[span.1 as usize]);
                out.extend(places.iter().map(|&place| line_loss(ends, place, *most)));
            }
            _ => out.extend(codes.map(|code| self.loss(self.widened(span, code, true)))),
        }
    }
}

/// What a class of these ends on a line loses once a place has joined it: as by codes, since places are
/// in their order. Plain comparisons, of which the compiler makes one instruction each.
#[inline(always)]
pub fn line_loss((lo, hi): (f32, f32), place: f32, most: f32) -> f32 {
    let first = if place < lo { place } else { lo };
    let last = if place > hi { place } else { hi };
    let wide = last - first;
    if wide < most { wide } else { most }
}

impl Covered {
    /// Whether a code of a set is among those covered.
    #[inline]
    fn has(&self, lane: &Lane<'_>, code: u32) -> bool {
        match lane.shown {
            ShownLane::Set { first_word, .. } => {
                self.bits[first_word + code as usize / 64] >> (code % 64) & 1 == 1
            }
            _ => false,
        }
    }
}
