//! What a class shows on one attribute, as codes and as text.
//!
//! Source: Iwuchukwu & Naughton 2007, section 2.3 (compaction).
//! Departures: a missing value is never inside an interval or a label; a class that has both shows
//! them as a set, `{, [48, 62]}`.
//! Guarantee: the description covers every row of the class, and its bounds are exact values: those
//! of rows, or for regions, values between those of rows where there is room.
//! Cost: one pass over the rows of the class.

mod content;
mod content_hash;
mod facts;
mod name;
mod places;
mod text_hash;

use std::sync::Mutex;

use albers_classes::region::{NO_CODES, span};
use albers_classes::space::Shown;
use albers_classes::{Attribute, Span};
use albers_table::code::Code;
use albers_table::domain::{End, OrderedValue};
use albers_table::hierarchy::{Hierarchy, Node};
use rustc_hash::FxHashMap;

pub use content::CellContent;
pub(crate) use content::{ANY, share_of_steps};
pub use facts::ShownFacts;
use name::{push_member, push_name, reads_as_interval};
use places::SetOrder;
pub use places::{PlaceEnd, PlaceNumbers};

/// What a class shows on one attribute. Two classes show the same if and only if their cells are
/// equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShownCell {
    /// The least code shown, for intervals and labels, or place, for sets that are shown by places;
    /// half a set's bits or its number otherwise.
    a: u32,
    /// The greatest one, with the missing value; the other half of the bits otherwise.
    b: u32,
}

impl ShownCell {
    /// An interval without the missing value.
    pub(crate) fn plain_interval((lo, hi): Span) -> ShownCell {
        ShownCell { a: lo.get(), b: hi.get() }
    }

    /// The least and the greatest code shown, of an interval or a label; the places of a set.
    fn codes(self) -> Span {
        span(self.a & !IN_GAPS, self.b & !WITH_MISSING)
    }

    /// Whether an interval or a label is shown with the missing value.
    fn with_missing(self) -> bool {
        self.b & WITH_MISSING != 0
    }

    /// Whether the ends of an interval lie in the gaps beside its codes.
    fn is_in_gaps(self) -> bool {
        self.a & IN_GAPS != 0
    }
}

/// Codes have 31 bits; the last one of the greatest code says that the missing value is shown
/// beside others.
const WITH_MISSING: u32 = 1 << 31;

/// The last bit of the least code says that both ends lie in the gaps beside their codes: they are
/// those of a region, of values that lie far apart.
const IN_GAPS: u32 = 1 << 31;

/// Sets of up to this many possible values are kept as bits.
const BIT_SET: u64 = 64;

/// Numbers for sets that have too many possible values for bits.
#[derive(Default)]
struct SetNumbers {
    tables: Mutex<SetTables>,
}

#[derive(Default)]
struct SetTables {
    number_of: FxHashMap<Box<[Code]>, u32>,
    sets: Vec<Box<[Code]>>,
    /// The hash of each set's text.
    hashes: Vec<u64>,
}

impl SetNumbers {
    /// The number of a set, and its hash taken if it is new.
    fn number_of(&self, set: &[Code], hash_of: impl Fn(&[Code]) -> u64) -> u32 {
        // A poisoned lock still guards a usable table: a set is added whole or not at all.
        let mut tables = self.tables.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(&number) = tables.number_of.get(set) {
            return number;
        }
        let number = u32::try_from(tables.sets.len()).expect("fewer sets than rows");
        tables.number_of.insert(set.into(), number);
        tables.sets.push(set.into());
        tables.hashes.push(hash_of(set));
        number
    }

    fn hash_of(&self, number: u32) -> u64 {
        let tables = self.tables.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        tables.hashes[number as usize]
    }

    /// The sum of something over the members of a set.
    fn sum_over(&self, number: u32, of: impl Fn(Code) -> usize) -> usize {
        let tables = self.tables.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        tables.sets[number as usize].iter().map(|&code| of(code)).sum()
    }

    /// Whether a set has this member and no other.
    fn is_only(&self, number: u32, code: Code) -> bool {
        let tables = self.tables.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *tables.sets[number as usize] == [code]
    }

    fn set_of(&self, number: u32) -> Vec<Code> {
        let tables = self.tables.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        tables.sets[number as usize].to_vec()
    }
}

/// Turns rows into cells, and cells into what they show, for one attribute.
pub struct Describer<'a> {
    attribute: &'a Attribute,
    missing: Option<Code>,
    /// Whether any row has a value.
    has_values: bool,
    is_bit_set: bool,
    /// Whether the ends of regions are values between those of their codes and of their neighbours.
    ends_in_gaps: bool,
    /// Whether no published row misses the value, although the table misses some.
    hides_missing: bool,
    /// The hashes of the texts of all values by their codes, where there are few.
    first_hashes: Vec<u64>,
    numbers: SetNumbers,
    /// Whether labels and sets are shown by their places in a public order.
    shows_places: bool,
    /// That order, of sets that are shown so.
    set_order: Option<SetOrder>,
}

impl<'a> Describer<'a> {
    /// The describer of an attribute.
    pub fn new(attribute: &'a Attribute) -> Describer<'a> {
        let (missing, n_values) = (attribute.domain.missing_code(), attribute.domain.n_values());
        let mut describer = Describer {
            attribute,
            missing,
            has_values: n_values > u64::from(missing.is_some()),
            is_bit_set: n_values <= BIT_SET,
            ends_in_gaps: false,
            hides_missing: false,
            first_hashes: Vec::new(),
            numbers: SetNumbers::default(),
            shows_places: false,
            set_order: None,
        };
        describer.first_hashes = describer.first_hashes();
        describer
    }

    /// The same, where regions end between values: where cuts are, and at the edges of the domain
    /// at its least and its greatest value. Otherwise their ends are values of rows where values
    /// lie far apart.
    pub fn with_ends_in_gaps(mut self, ends_in_gaps: bool) -> Describer<'a> {
        let is_far = self.attribute.domain.regions_end_in_gaps();
        self.ends_in_gaps = ends_in_gaps && is_far && self.attribute.shown == Shown::Interval;
        self
    }

    /// The same; if `hides_missing`, no published row misses the value, although the table misses
    /// some. Then no label is shown with the missing value: what is said of it would tell of rows
    /// that are left out. A label for everything is any value, as everywhere.
    pub fn with_missing_hidden(mut self, hides_missing: bool) -> Describer<'a> {
        self.hides_missing = hides_missing;
        self
    }

    /// The attribute.
    pub fn attribute(&self) -> &'a Attribute {
        self.attribute
    }

    /// Whether a class shows the least and the greatest of its codes and nothing else.
    pub fn is_plain_interval(&self) -> bool {
        self.attribute.shown == Shown::Interval && self.missing.is_none()
    }

    /// Whether a cell of an interval or a label shows missing values alone.
    fn is_missing(&self, cell: ShownCell) -> bool {
        self.missing == Some(Code::new(cell.a))
    }

    /// The tightest description of a class's codes on this attribute: of its part of a column of
    /// codes, and so of plain numbers.
    pub fn describe(&self, codes: impl Iterator<Item = u32> + Clone) -> ShownCell {
        match self.attribute.shown {
            Shown::Interval | Shown::Label => {
                let (mut lo, mut hi, mut with_missing) = (u32::MAX, 0, false);
                match self.missing.map(Code::get) {
                    None => {
                        for code in codes {
                            lo = lo.min(code);
                            hi = hi.max(code);
                        }
                    }
                    Some(missing) => {
                        for code in codes {
                            if code == missing {
                                with_missing = true;
                            } else {
                                lo = lo.min(code);
                                hi = hi.max(code);
                            }
                        }
                    }
                }
                self.range_cell((Code::new(lo), Code::new(hi)), with_missing)
            }
            Shown::Set if self.shows_places => self.describe_by_places(codes),
            Shown::Set if self.is_bit_set => {
                let bits = codes.fold(0u64, |bits, code| bits | 1 << code);
                ShownCell { a: bits as u32, b: (bits >> 32) as u32 }
            }
            Shown::Set => {
                let mut set: Vec<Code> = codes.map(Code::new).collect();
                set.sort_unstable();
                set.dedup();
                ShownCell { a: self.numbers.number_of(&set, |set| self.set_hash(set)), b: 0 }
            }
        }
    }

    /// The description of a class's region: all of the domain that routes to the class.
    pub fn describe_region(&self, (lo, hi): Span) -> ShownCell {
        let (first, last) = self.attribute.domain.code_range();
        let with_missing = self.missing.is_some_and(|missing| (lo..=hi).contains(&missing));
        match self.attribute.shown {
            Shown::Interval | Shown::Label if !self.has_values => {
                self.range_cell(NO_CODES, with_missing)
            }
            Shown::Interval | Shown::Label => {
                let domain = &self.attribute.domain;
                let lo = domain.shown_code(lo.max(first), End::Low);
                let hi = domain.shown_code(hi.min(last), End::High);
                let mut cell = self.range_cell((lo, hi), with_missing);
                if self.ends_in_gaps && !self.is_missing(cell) {
                    cell.a |= IN_GAPS;
                }
                cell
            }
            Shown::Set => {
                let missing = self.missing.filter(|_| with_missing).map(Code::get);
                self.describe((lo.max(first).get()..=hi.min(last).get()).chain(missing))
            }
        }
    }

    fn range_cell(&self, (lo, hi): Span, with_missing: bool) -> ShownCell {
        let hierarchy = self.attribute.domain.hierarchy().filter(|_| self.has_values);
        if let (Some(hierarchy), Some(level)) = (hierarchy, self.attribute.level)
            && level == hierarchy.height()
        {
            // The top stands for every value, and for none.
            let last = hierarchy.n_leaves() - 1;
            let with_missing = self.missing.map_or(0, |_| WITH_MISSING);
            return ShownCell { a: 0, b: last | with_missing };
        }
        if lo > hi {
            let missing = self.missing.expect("a class has rows, and these are all missing");
            return ShownCell::plain_interval((missing, missing));
        }
        let (lo, hi) = match (self.attribute.shown, hierarchy) {
            (Shown::Label, Some(hierarchy)) => {
                let leaves = hierarchy.leaves_of(self.node_of(hierarchy, (lo, hi)));
                (leaves.start.get(), leaves.end.get() - 1)
            }
            _ => (lo.get(), hi.get()),
        };
        ShownCell { a: lo, b: hi | if with_missing { WITH_MISSING } else { 0 } }
    }

    /// Whether an interval or a label stands for the missing value too.
    fn stands_for_missing(&self, cell: ShownCell) -> bool {
        match (self.attribute.domain.hierarchy(), self.attribute.shown) {
            (Some(hierarchy), Shown::Label) if self.hides_missing => {
                let node = self.node_of(hierarchy, cell.codes());
                node.level == hierarchy.height() && hierarchy.label(node) == ANY
            }
            _ => cell.with_missing(),
        }
    }

    /// Whether a node is the top of the hierarchy, and every class shows it.
    fn is_top_for_all(&self, node: Node) -> bool {
        let height = self.attribute.domain.hierarchy().map(Hierarchy::height);
        height == Some(node.level) && height == self.attribute.level
    }

    /// The node that shows the codes from `lo` to `hi`: never below the attribute's own level, nor
    /// below the finest of its hierarchy.
    fn node_of(&self, hierarchy: &Hierarchy, (lo, hi): Span) -> Node {
        let lowest = hierarchy.lowest_common_ancestor(lo, hi);
        let level = self.attribute.level.unwrap_or(0).max(hierarchy.finest());
        match level > lowest.level {
            true => Node { level, index: hierarchy.node_at(level, lo) },
            false => lowest,
        }
    }

    /// What a cell shows.
    pub fn content(&self, cell: ShownCell) -> CellContent {
        if let Some(order) = &self.set_order {
            return CellContent::Set(self.codes_between(order, cell));
        }
        if self.attribute.shown == Shown::Set {
            let set = if self.is_bit_set {
                codes_of(bits_of(cell)).collect()
            } else {
                self.numbers.set_of(cell.a)
            };
            return CellContent::Set(set);
        }
        if self.is_missing(cell) {
            return CellContent::Missing;
        }
        let ((lo, hi), with_missing) = (cell.codes(), self.stands_for_missing(cell));
        match (self.attribute.shown, self.attribute.domain.hierarchy()) {
            (Shown::Label, Some(hierarchy)) => {
                let node = self.node_of(hierarchy, (lo, hi));
                let is_top = self.hides_missing || self.attribute.level == Some(hierarchy.height());
                if is_top && with_missing && hierarchy.label(node) == ANY {
                    return CellContent::Everything;
                }
                CellContent::Label { node, with_missing }
            }
            _ => CellContent::Interval { lo, hi, with_missing },
        }
    }

    /// The values at the ends of a cell that shows an interval; nothing if it shows none.
    pub fn ends(&self, cell: ShownCell) -> Option<(OrderedValue, OrderedValue)> {
        if self.attribute.shown != Shown::Interval || self.is_missing(cell) {
            return None;
        }
        let domain = &self.attribute.domain;
        let (lo, hi) = cell.codes();
        match cell.is_in_gaps() {
            true => Some((domain.region_end(lo, End::Low), domain.region_end(hi, End::High))),
            false => Some((domain.value(lo)?, domain.value(hi)?)),
        }
    }

    /// The codes of those ends of an interval that are values: the ends of a region may lie between
    /// the values of its codes.
    pub fn end_values(&self, cell: ShownCell) -> [Option<Code>; 2] {
        if self.attribute.shown != Shown::Interval || self.is_missing(cell) {
            return [None; 2];
        }
        let (lo, hi) = cell.codes();
        if !cell.is_in_gaps() {
            return [Some(lo), Some(hi)];
        }
        let domain = &self.attribute.domain;
        [(lo, End::Low), (hi, End::High)].map(|(code, end)| {
            Some(code).filter(|_| domain.value(code) == Some(domain.region_end(code, end)))
        })
    }

    /// What the cell loses, from 0 to 1, before weights.
    pub fn loss(&self, cell: ShownCell) -> f64 {
        share_of_steps(&self.attribute.domain, self.lost_steps(cell))
    }

    /// What the cell loses, in steps of which the domain has
    /// [`albers_table::domain::Domain::n_steps`].
    ///
    /// An interval loses its length; a label or a set loses the values it covers beyond the first.
    /// An interval or a label that is shown with the missing value loses everything.
    pub fn lost_steps(&self, cell: ShownCell) -> u64 {
        let domain = &self.attribute.domain;
        if self.attribute.shown == Shown::Set {
            return self.set_len(cell).saturating_sub(1);
        }
        if self.is_missing(cell) {
            return 0;
        }
        if self.stands_for_missing(cell) {
            return domain.n_steps();
        }
        let (lo, hi) = cell.codes();
        match self.attribute.shown {
            Shown::Interval if cell.is_in_gaps() => {
                self.ends(cell).map_or(0, |(lo, hi)| domain.steps_between(lo, hi))
            }
            Shown::Interval => domain.interval_steps(lo, hi),
            Shown::Label | Shown::Set => u64::from(hi - lo),
        }
    }

    /// How many values of the domain the cell covers.
    pub fn n_covered(&self, cell: ShownCell) -> u64 {
        if self.attribute.shown == Shown::Set {
            return self.set_len(cell);
        }
        if self.is_missing(cell) {
            return 1;
        }
        let (lo, hi) = cell.codes();
        let n_present = self.attribute.domain.n_distinct_between(lo, hi);
        n_present + u64::from(self.stands_for_missing(cell))
    }

    fn set_len(&self, cell: ShownCell) -> u64 {
        if self.shows_places {
            self.n_between(cell)
        } else if self.is_bit_set {
            u64::from(cell.a.count_ones() + cell.b.count_ones())
        } else {
            self.numbers.set_of(cell.a).len() as u64
        }
    }

    /// About how many bytes of text the cell shows; never fewer for labels and sets, the only ones
    /// that can be long.
    pub(crate) fn text_bytes(&self, cell: ShownCell) -> usize {
        const INTERVAL_BYTES: usize = 32;
        if self.shows_places {
            return INTERVAL_BYTES;
        }
        // All of it quotes, which are doubled; around it quotes, braces, a comma and a space.
        let member_bytes = |text: &str| 2 * text.len() + 8;
        let code_bytes =
            |code: Code| member_bytes(self.attribute.domain.category(code).unwrap_or_default());
        match self.attribute.shown {
            Shown::Interval => INTERVAL_BYTES,
            Shown::Set if !self.is_bit_set => self.numbers.sum_over(cell.a, code_bytes),
            Shown::Label | Shown::Set => match self.content(cell) {
                CellContent::Set(codes) => codes.into_iter().map(code_bytes).sum(),
                CellContent::Label { node, .. } => {
                    let label = self.attribute.domain.hierarchy().map(|tree| tree.label(node));
                    member_bytes(label.unwrap_or_default())
                }
                _ => INTERVAL_BYTES,
            },
        }
    }

    /// Writes what the cell shows at the end of `out`.
    pub fn write_text(&self, cell: ShownCell, out: &mut String) {
        let domain = &self.attribute.domain;
        if let Some(order) = self.set_order.as_ref().filter(|_| !self.is_missing(cell)) {
            let (lo, hi) = self.end_codes(order, cell);
            let name = |code| domain.category(code).unwrap_or_default();
            with_braces(cell.with_missing(), out, |out| {
                push_member(name(lo), out);
                out.push_str("..");
                push_member(name(hi), out);
            });
            return;
        }
        match self.content(cell) {
            CellContent::Missing => {}
            CellContent::Interval { with_missing, .. } => {
                let (lo, hi) = self.ends(cell).expect("an interval has ends");
                with_braces(with_missing, out, |out| {
                    if lo == hi {
                        domain.write_ordered(lo, out);
                    } else {
                        out.push('[');
                        domain.write_ordered(lo, out);
                        out.push_str(", ");
                        domain.write_ordered(hi, out);
                        out.push(']');
                    }
                });
            }
            CellContent::Label { node, with_missing } => {
                let hierarchy = domain.hierarchy().expect("labels come from a hierarchy");
                let label = hierarchy.label(node);
                let is_bare = self.is_bare(node, label, with_missing);
                with_braces(with_missing, out, |out| match is_bare {
                    true => out.push_str(label),
                    false if with_missing => push_member(label, out),
                    false => push_name(label, out),
                });
            }
            CellContent::Set(codes) => self.write_set(&codes, out),
            CellContent::Everything => out.push_str(ANY),
        }
    }

    /// Whether a label is written without quotes although it reads like something else, because it
    /// is just that: everything, or in a column of numbers or times an interval of them.
    fn is_bare(&self, node: Node, label: &str, with_missing: bool) -> bool {
        let domain = &self.attribute.domain;
        let is_top = domain.hierarchy().is_some_and(|tree| tree.height() == node.level);
        let is_interval = || domain.column_type().is_ordered() && reads_as_interval(label);
        (label == ANY && is_top) || (!with_missing && is_interval())
    }

    fn write_set(&self, codes: &[Code], out: &mut String) {
        let domain = &self.attribute.domain;
        if let [code] = codes {
            if let Some(name) = domain.category(*code) {
                push_name(name, out);
            }
            return;
        }
        out.push('{');
        let with_missing = self.missing.is_some_and(|missing| codes.contains(&missing));
        let present = codes.iter().filter(|&&code| Some(code) != self.missing);
        let mut names: Vec<&str> =
            present.map(|&code| domain.category(code).unwrap_or_default()).collect();
        if domain.hierarchy().is_some() {
            // Codes under a hierarchy may be ordered by how many rows have them, which a release
            // must not tell. Without one they are in the natural order of the values.
            names.sort_unstable();
        }
        for (member_idx, name) in names.into_iter().enumerate() {
            if member_idx > 0 || with_missing {
                out.push_str(", ");
            }
            push_member(name, out);
        }
        out.push('}');
    }
}

/// The bits of a set.
fn bits_of(cell: ShownCell) -> u64 {
    u64::from(cell.a) | u64::from(cell.b) << 32
}

/// The codes of a set of bits, ascending.
fn codes_of(mut bits: u64) -> impl Iterator<Item = Code> {
    std::iter::from_fn(move || {
        let code = (bits != 0).then_some(Code::new(bits.trailing_zeros()))?;
        bits &= bits - 1;
        Some(code)
    })
}

/// Writes a description, as the second member of a set if the missing value is the first.
fn with_braces(with_missing: bool, out: &mut String, write: impl FnOnce(&mut String)) {
    if with_missing {
        out.push_str("{, ");
    }
    write(out);
    if with_missing {
        out.push('}');
    }
}
