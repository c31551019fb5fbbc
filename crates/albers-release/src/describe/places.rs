//! Labels and sets as places in a public order: what `--values features` shows of them.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 4.2 and figure 5: a class as a point in twice
//! as many dimensions. Departures: the paper assumes a total order on the values of each attribute;
//! here it is one that anybody knows who knows the hierarchy file, or that follows from what is shown.
//!
//! ```text
//!   leaves of a file, its rows in order   Nurse Doctor Porter | Judge Clerk     places 1 to 5
//!   the label Health                      [1                3]                  all its leaves
//!
//!   names without a file, as shown        {A, B}  {B, F}  {F}
//!   their ends, sorted                    A  B  F                               places 1 to 3
//!   what the classes show                 1, 2    2, 3    3, 3
//!
//!   labels of a built-in hierarchy        12*  123*  14999
//!   their ends, sorted                    12*[  123*[  ]123*  ]12*  14999       places 1 to 5
//!   what the classes show                 1, 4    2, 3    5, 5
//! ```
//!
//! Under a hierarchy file a place is that of a row of the file: all its leaves count, whether or not
//! some row has them, so that the places of a label tell what the label tells. Without one the
//! leaves are the values of the table. Places among these would tell how many values there are
//! below a label or between two names, also of rows that are left out: a label with one place would
//! be the value of all its rows. So there only ends have places, those that some class shows. A
//! label begins and ends at places of its own, around those of labels below it: how many values lie
//! there has no part in it.
//!
//! Guarantee: the places of a release are a function of the labels and of the least and greatest
//! names that its classes show, and of the hierarchy file. Neither internal codes, which are ordered
//! by the number of rows, nor rows that are left out have a part in them. Two cells of a column have
//! the same places if and only if they are the same cell: a set is no more than its least and its
//! greatest name in the order, so that classes that show the same are verified as one.
//! Cost: a few steps for each class; memory for the distinct ends of a column.

use albers_classes::Attribute;
use albers_classes::space::Shown;
use albers_table::code::Code;
use rustc_hash::FxHashSet;

use super::{CellContent, Describer, ShownCell, WITH_MISSING};

/// An end of what a class shows, in the public order of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlaceEnd {
    /// The place of the leaf or name among all of the domain.
    place: u32,
    /// Nothing for a value; below it where a label of so many leaves begins, the larger the earlier,
    /// and above it where one ends, the larger the later.
    turn: i64,
}

impl PlaceEnd {
    fn value(place: u32) -> PlaceEnd {
        PlaceEnd { place, turn: 0 }
    }
}

/// The numbers that the ends of a column have in a release, from 1 on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceNumbers {
    /// The ends that are shown, ascending; nothing where places are those of a hierarchy file.
    shown: Option<Vec<PlaceEnd>>,
}

impl PlaceNumbers {
    /// Of a column that shows these ends.
    pub fn of(attribute: &Attribute, ends: impl Iterator<Item = PlaceEnd>) -> PlaceNumbers {
        if attribute.domain.hierarchy().is_some_and(|hierarchy| hierarchy.is_given()) {
            return PlaceNumbers { shown: None };
        }
        let distinct: FxHashSet<PlaceEnd> = ends.collect();
        let mut shown: Vec<PlaceEnd> = distinct.into_iter().collect();
        shown.sort_unstable();
        PlaceNumbers { shown: Some(shown) }
    }

    /// The number of an end that is shown.
    pub fn number(&self, end: PlaceEnd) -> i64 {
        match &self.shown {
            None => i64::from(end.place) + 1,
            Some(shown) => shown.partition_point(|own| *own < end) as i64 + 1,
        }
    }
}

/// The public order of the values of a set.
pub(super) struct SetOrder {
    /// The codes in the order of their places, where the two differ.
    code_at: Option<Vec<Code>>,
}

impl SetOrder {
    /// Of an attribute's values.
    fn of(attribute: &Attribute) -> SetOrder {
        let code_at = attribute.domain.hierarchy().map(|hierarchy| {
            let mut codes: Vec<Code> = (0..hierarchy.n_leaves()).map(Code::new).collect();
            codes.sort_unstable_by_key(|&code| hierarchy.place(code));
            codes
        });
        SetOrder { code_at }
    }

    fn code(&self, place: u32) -> Code {
        self.code_at.as_ref().map_or(Code::new(place), |codes| codes[place as usize])
    }
}

impl<'a> Describer<'a> {
    /// The same; if `shows_places`, labels and sets are shown by their places, and a set is no more
    /// than its least and its greatest value.
    pub fn with_places(mut self, shows_places: bool) -> Describer<'a> {
        self.shows_places = shows_places && self.attribute.shown != Shown::Interval;
        self.set_order = (self.shows_places && self.attribute.shown == Shown::Set)
            .then(|| SetOrder::of(self.attribute));
        self
    }

    /// Whether the attribute is shown by places.
    pub fn shows_places(&self) -> bool {
        self.shows_places
    }

    /// The ends of a cell that is shown by places; nothing if it shows missing values alone.
    pub fn place_ends(&self, cell: ShownCell) -> Option<(PlaceEnd, PlaceEnd)> {
        if !self.shows_places || self.is_missing(cell) {
            return None;
        }
        let (lo, hi) = cell.codes();
        let hierarchy = match self.attribute.domain.hierarchy() {
            Some(hierarchy) if self.attribute.shown == Shown::Label => hierarchy,
            _ => return Some((PlaceEnd::value(lo.get()), PlaceEnd::value(hi.get()))),
        };
        let node = self.node_of(hierarchy, (lo, hi));
        let (first, n_leaves) = (hierarchy.first_place(node), hierarchy.leaves_of(node).len());
        let last = first + n_leaves as u32 - 1;
        let is_value = n_leaves == 1 && hierarchy.label(node) == hierarchy.leaf(lo);
        if hierarchy.is_given() || is_value {
            return Some((PlaceEnd::value(first), PlaceEnd::value(last)));
        }
        let turn = n_leaves as i64;
        Some((PlaceEnd { place: first, turn: -turn }, PlaceEnd { place: last, turn }))
    }

    /// Whether a cell that is shown by places says that it stands for the missing value too, as its
    /// text would: `*` stands for any value and says nothing.
    pub fn tells_of_missing(&self, cell: ShownCell) -> bool {
        match self.attribute.shown {
            Shown::Set => self.is_missing(cell) || cell.with_missing(),
            Shown::Interval | Shown::Label => match self.content(cell) {
                CellContent::Missing => true,
                CellContent::Label { with_missing, .. }
                | CellContent::Interval { with_missing, .. } => with_missing,
                CellContent::Set(_) | CellContent::Everything => false,
            },
        }
    }

    /// Whether all classes show the top of a hierarchy, with the missing value. Rows that are left
    /// out decide that, and so it is not known before all classes have come.
    pub(crate) fn tells_of_missing_at_top(&self) -> bool {
        let (Some(hierarchy), true) = (self.attribute.domain.hierarchy(), self.shows_places) else {
            return false;
        };
        self.attribute.shown == Shown::Label
            && self.attribute.level == Some(hierarchy.height())
            && hierarchy.n_leaves() > 0
            && self.tells_of_missing(ShownCell {
                a: 0,
                b: (hierarchy.n_leaves() - 1) | self.missing.map_or(0, |_| WITH_MISSING),
            })
    }

    /// The tightest description of a set's codes by places.
    pub(super) fn describe_by_places(&self, codes: impl Iterator<Item = u32>) -> ShownCell {
        let hierarchy = self.attribute.domain.hierarchy();
        let missing = self.missing.map(Code::get);
        let (mut lo, mut hi, mut with_missing) = (u32::MAX, 0, 0);
        for code in codes {
            if missing == Some(code) {
                with_missing = WITH_MISSING;
                continue;
            }
            let place = hierarchy.map_or(code, |hierarchy| hierarchy.place(Code::new(code)));
            (lo, hi) = (lo.min(place), hi.max(place));
        }
        if lo > hi {
            let missing = self.missing.expect("a class has rows, and these are all missing");
            return ShownCell::plain_interval((missing, missing));
        }
        ShownCell { a: lo, b: hi | with_missing }
    }

    /// The codes at the least and the greatest place of a set.
    pub(super) fn end_codes(&self, order: &SetOrder, cell: ShownCell) -> (Code, Code) {
        let (lo, hi) = cell.codes();
        (order.code(lo.get()), order.code(hi.get()))
    }

    /// All codes that a set by places stands for, ascending.
    pub(super) fn codes_between(&self, order: &SetOrder, cell: ShownCell) -> Vec<Code> {
        if self.is_missing(cell) {
            return self.missing.into_iter().collect();
        }
        let (lo, hi) = cell.codes();
        let mut codes: Vec<Code> = (lo.get()..=hi.get()).map(|place| order.code(place)).collect();
        codes.sort_unstable();
        codes.extend(self.missing.filter(|_| cell.with_missing()));
        codes
    }

    /// How many values a set by places stands for.
    pub(super) fn n_between(&self, cell: ShownCell) -> u64 {
        if self.is_missing(cell) {
            return 1;
        }
        let (lo, hi) = cell.codes();
        u64::from(hi - lo) + 1 + u64::from(cell.with_missing())
    }
}
