//! How the classes of a release lie to each other: whether a person may fit several of them.
//!
//! Guarantee: what is told is true of what is shown; where it would take too long, nothing is told.
//! Cost: classes are divided in space until few are left to be compared pair by pair, so that
//! disjoint classes take about n log n; the first pair that overlaps ends the search.
//!
//! ```text
//!   disjoint      |  |  |     no value tuple fits two classes
//!   nested        | [ ] |     where one fits two, all of one class's fit the other
//!   overlapping   | [ | ]     some fit two classes of which neither holds the other
//! ```

use albers_classes::ClassId;
use albers_release::door::{Passed, PassedClasses};
use albers_release::{CellContent, Describer, ShownCell};
use albers_table::code::{Code, CodeRange};
use albers_table::domain::Domain;
use serde::Serialize;

use crate::classes::Classes;
use crate::released::ReleasedColumn;

/// How classes lie to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// No two share anything.
    Disjoint,
    /// Two that share something lie in each other.
    Nested,
    /// Some share something, and neither lies in the other.
    Overlapping,
}

/// What a class covers on one attribute: values from `lo` to `hi` (none if these are turned), of
/// them only the names, where these are told one by one; and perhaps the missing value.
#[derive(Debug, Clone, PartialEq)]
pub struct Cover {
    /// The least value.
    pub lo: f64,
    /// The greatest value.
    pub hi: f64,
    /// The names, ascending, where not all between are covered.
    pub names: Option<Box<[u32]>>,
    /// Whether the missing value is covered.
    pub missing: bool,
}

impl Cover {
    /// Any value.
    pub fn any() -> Cover {
        Cover { lo: f64::NEG_INFINITY, hi: f64::INFINITY, names: None, missing: true }
    }

    /// Only the missing value.
    pub fn missing() -> Cover {
        Cover { lo: f64::INFINITY, hi: f64::NEG_INFINITY, names: None, missing: true }
    }

    /// All values between two.
    pub fn range(lo: f64, hi: f64, missing: bool) -> Cover {
        Cover { lo, hi, names: None, missing }
    }

    /// Some names, ascending.
    pub fn names(names: Vec<u32>, missing: bool) -> Cover {
        let [Some(lo), Some(hi)] = [names.first(), names.last()].map(|name| name.copied()) else {
            return Cover { missing, ..Cover::missing() };
        };
        Cover { lo: f64::from(lo), hi: f64::from(hi), names: Some(names.into()), missing }
    }

    fn is_empty(&self) -> bool {
        self.lo > self.hi
    }

    /// Whether something lies at or below a cut, above it, and whether the missing value is covered.
    fn parts_at(&self, cut: f64) -> [bool; 3] {
        let has_values = !self.is_empty();
        [has_values && self.lo <= cut, has_values && self.hi > cut, self.missing]
    }

    fn meets(&self, other: &Cover) -> bool {
        if self.missing && other.missing {
            return true;
        }
        let (lo, hi) = (self.lo.max(other.lo), self.hi.min(other.hi));
        lo <= hi
            && match (&self.names, &other.names) {
                (Some(a), Some(b)) => a.iter().any(|name| b.binary_search(name).is_ok()),
                (Some(names), None) | (None, Some(names)) => {
                    names.iter().any(|&name| (lo..=hi).contains(&f64::from(name)))
                }
                (None, None) => true,
            }
    }

    fn holds(&self, other: &Cover) -> bool {
        if other.missing && !self.missing {
            return false;
        }
        other.is_empty()
            || (self.lo <= other.lo
                && other.hi <= self.hi
                && match (&self.names, &other.names) {
                    (None, _) => true,
                    (Some(own), Some(names)) => {
                        names.iter().all(|name| own.binary_search(name).is_ok())
                    }
                    (Some(own), None) => {
                        other.lo == other.hi && own.iter().any(|&name| f64::from(name) == other.lo)
                    }
                })
    }
}

/// Pairs that are compared at most.
const MAX_PAIRS: u64 = 30_000_000;

/// Groups of so few classes are compared pair by pair.
const FEW: usize = 24;

/// How classes lie to each other, each told by what it covers on every attribute; nothing if that
/// takes too long to find out.
pub fn relation_of(classes: &[Vec<Cover>]) -> Option<Relation> {
    let mut search = Search { classes, found: Relation::Disjoint, n_pairs: 0 };
    let all: Vec<usize> = (0..classes.len()).collect();
    search.divide(&all)?;
    Some(search.found)
}

struct Search<'c> {
    classes: &'c [Vec<Cover>],
    found: Relation,
    n_pairs: u64,
}

/// Where an attribute could be cut.
struct Halves {
    attribute: usize,
    cut: f64,
    /// The classes of the largest part.
    largest: usize,
}

impl Search<'_> {
    /// Compares all pairs of some classes that may meet.
    fn divide(&mut self, group: &[usize]) -> Option<()> {
        if self.found == Relation::Overlapping {
            return Some(());
        }
        let n_attributes = self.classes.first().map_or(0, Vec::len);
        let halves = match group.len() <= FEW {
            true => None,
            false => (0..n_attributes)
                .map(|attribute| self.halve(group, attribute))
                .min_by_key(|halves| halves.largest),
        };
        match halves.filter(|halves| halves.largest * 10 <= group.len() * 9) {
            Some(halves) => {
                self.parts(group, &halves).iter().try_for_each(|part| self.divide(part))
            }
            None => self.compare(group),
        }
    }

    /// Cuts an attribute where half of the classes end, and counts what comes of it.
    fn halve(&self, group: &[usize], attribute: usize) -> Halves {
        let covers = || group.iter().map(|&class| &self.classes[class][attribute]);
        let present = covers().filter(|cover| !cover.is_empty());
        let mut ends: Vec<f64> = present.map(|cover| cover.hi).collect();
        let cut = match ends.len() {
            0 => 0.0,
            n_ends => *ends.select_nth_unstable_by(n_ends / 2, f64::total_cmp).1,
        };
        let mut sizes = [0; 3];
        for cover in covers() {
            let is_in = cover.parts_at(cut);
            sizes.iter_mut().zip(is_in).for_each(|(size, is_in)| *size += usize::from(is_in));
        }
        Halves { attribute, cut, largest: sizes.into_iter().max().unwrap_or_default() }
    }

    /// The classes below a cut, above it, and those with missing values: two that meet on the
    /// attribute are in one of these together.
    fn parts(&self, group: &[usize], halves: &Halves) -> [Vec<usize>; 3] {
        let mut parts: [Vec<usize>; 3] = Default::default();
        for &class in group {
            let is_in = self.classes[class][halves.attribute].parts_at(halves.cut);
            let fits = parts.iter_mut().zip(is_in).filter(|(_, is_in)| *is_in);
            fits.for_each(|(part, _)| part.push(class));
        }
        parts
    }

    fn compare(&mut self, group: &[usize]) -> Option<()> {
        for (at, &a) in group.iter().enumerate() {
            self.n_pairs += (group.len() - at - 1) as u64;
            if self.n_pairs > MAX_PAIRS {
                return None;
            }
            for &b in &group[at + 1..] {
                let (a, b) = (&self.classes[a], &self.classes[b]);
                if !a.iter().zip(b).all(|(a, b)| a.meets(b)) {
                    continue;
                }
                let holds = |a: &[Cover], b: &[Cover]| a.iter().zip(b).all(|(a, b)| a.holds(b));
                self.found = match holds(a, b) || holds(b, a) {
                    true => self.found.max(Relation::Nested),
                    false => Relation::Overlapping,
                };
                if self.found == Relation::Overlapping {
                    return Some(());
                }
            }
        }
        Some(())
    }
}

/// How the classes of a release lie to each other, if all of them pass the door at once.
#[derive(Debug, Default)]
pub struct RelationOfParts {
    n_parts: u64,
    of_first: Option<Relation>,
}

/// More cells of classes than this are not compared.
const MAX_CELLS: usize = 2_000_000;

impl RelationOfParts {
    /// Looks at some classes.
    pub fn add(&mut self, part: &Passed<'_, '_>) {
        match part {
            Passed::LeftOut(_) | Passed::GiantRows(_) => return,
            Passed::Giant(_) => {}
            Passed::Classes(classes) if self.n_parts == 0 => {
                let n_cells = classes.n_classes() * classes.describers().len();
                let classes = Some(*classes).filter(|_| n_cells <= MAX_CELLS);
                self.of_first = classes.and_then(relation_of_passed);
            }
            Passed::Classes(_) => {}
        }
        self.n_parts += 1;
    }

    /// How they lie to each other; nothing where not all came at once, or it took too long.
    pub fn finish(self) -> Option<Relation> {
        self.of_first.filter(|_| self.n_parts == 1)
    }
}

fn relation_of_passed(classes: PassedClasses<'_, '_>) -> Option<Relation> {
    let describers = classes.describers();
    let covers = ClassId::first(classes.n_classes()).map(|class_id| {
        let cells = classes.class(class_id).cells;
        let cover = |(describer, &cell): (&Describer<'_>, &ShownCell)| {
            cover_of(describer.content(cell), &describer.attribute().domain)
        };
        describers.iter().zip(cells).map(cover).collect()
    });
    relation_of(&covers.collect::<Vec<_>>())
}

/// How the classes of a release lie to each other that was read back from a file.
pub fn relation_of_released(columns: &[ReleasedColumn<'_>], classes: &Classes) -> Option<Relation> {
    if classes.n_classes() * columns.len() > MAX_CELLS {
        return None;
    }
    let covers = classes.iter().map(|class| {
        let cover = |column: &ReleasedColumn<'_>| {
            let cell = column.cell(class.first_run());
            cover_of(cell.content.clone(), &column.attribute.domain)
        };
        columns.iter().map(cover).collect()
    });
    relation_of(&covers.collect::<Vec<_>>())
}

/// What a cell covers, in codes.
fn cover_of(content: CellContent, domain: &Domain) -> Cover {
    match content {
        CellContent::Missing => Cover::missing(),
        CellContent::Everything => Cover::any(),
        CellContent::Interval { lo, hi, with_missing } => {
            Cover::range(f64::from(lo.get()), f64::from(hi.get()), with_missing)
        }
        CellContent::Label { node, with_missing } => {
            let hierarchy = domain.hierarchy();
            let leaves = hierarchy.map_or(CodeRange::EMPTY, |tree| tree.leaves_of(node));
            let (start, end) = (leaves.start.get(), leaves.end.get());
            Cover::range(f64::from(start), f64::from(end) - 1.0, with_missing)
        }
        CellContent::Set(mut codes) => {
            let missing = domain.missing_code();
            let n_codes = codes.len();
            codes.retain(|&code| Some(code) != missing);
            let with_missing = codes.len() < n_codes;
            Cover::names(codes.into_iter().map(Code::get).collect(), with_missing)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_pairs(classes: &[Vec<Cover>]) -> Relation {
        let mut found = Relation::Disjoint;
        for (at, a) in classes.iter().enumerate() {
            for b in &classes[at + 1..] {
                let meet = a.iter().zip(b).all(|(a, b)| a.meets(b));
                let holds = |a: &[Cover], b: &[Cover]| a.iter().zip(b).all(|(a, b)| a.holds(b));
                found = found.max(match (meet, holds(a, b) || holds(b, a)) {
                    (false, _) => Relation::Disjoint,
                    (true, true) => Relation::Nested,
                    (true, false) => Relation::Overlapping,
                });
            }
        }
        found
    }

    #[test]
    fn boxes_on_a_line_are_told_apart() {
        let line = |ends: &[(f64, f64)]| -> Option<Relation> {
            let classes: Vec<Vec<Cover>> =
                ends.iter().map(|&(lo, hi)| vec![Cover::range(lo, hi, false)]).collect();
            relation_of(&classes)
        };
        assert_eq!(line(&[(0.0, 1.0), (2.0, 3.0)]), Some(Relation::Disjoint));
        assert_eq!(line(&[(0.0, 9.0), (2.0, 3.0), (4.0, 5.0)]), Some(Relation::Nested));
        assert_eq!(line(&[(0.0, 4.0), (3.0, 6.0)]), Some(Relation::Overlapping));
        assert_eq!(line(&[]), Some(Relation::Disjoint));
    }

    #[test]
    fn sets_and_missing_values_meet_only_where_they_share_something() {
        let names = |names: &[u32], missing| vec![Cover::names(names.to_vec(), missing)];
        let of = |a, b| relation_of(&[a, b]);
        assert_eq!(of(names(&[1, 5], false), names(&[2, 4], false)), Some(Relation::Disjoint));
        assert_eq!(of(names(&[1, 5], true), names(&[2], true)), Some(Relation::Overlapping));
        assert_eq!(of(names(&[1, 5], true), vec![Cover::missing()]), Some(Relation::Nested));
        assert_eq!(of(vec![Cover::any()], names(&[2, 4], true)), Some(Relation::Nested));
        assert_eq!(of(names(&[1, 5], true), names(&[2], false)), Some(Relation::Disjoint));
    }

    fn cover() -> impl Strategy<Value = Cover> {
        let ends = (0u32..40, 0u32..12, any::<bool>());
        prop_oneof![
            4 => ends.prop_map(|(lo, more, missing)| {
                Cover::range(f64::from(lo), f64::from(lo + more), missing && more == 1)
            }),
            1 => Just(Cover::missing()),
            1 => prop::collection::btree_set(0u32..40, 1..4)
                .prop_map(|names| Cover::names(names.into_iter().collect(), false)),
        ]
    }

    proptest! {
        #[test]
        fn the_search_finds_what_all_pairs_tell(
            classes in prop::collection::vec((cover(), cover(), cover()), 0..80),
            cells in 0u32..3,
        ) {
            let mut classes: Vec<Vec<Cover>> =
                classes.into_iter().map(|(a, b, c)| vec![a, b, c]).collect();
            if cells == 0 {
                // Cells of a grid, some of them in each other.
                classes = (0..200u32)
                    .map(|at| {
                        let (x, y) = (f64::from(at % 14), f64::from(at / 14));
                        vec![Cover::range(x, x + 0.5, false), Cover::range(y, y + 0.5, false)]
                    })
                    .collect();
            }
            prop_assert_eq!(relation_of(&classes), Some(by_pairs(&classes)));
        }
    }
}
