//! The classes of a release as boxes of positions, and what they answer.
//!
//! Source: Iwuchukwu & Naughton 2007, sections 2.3 and 5.4: a class is returned as a whole if it
//! meets the query, or by the share of its region that lies inside. Raschia & Anjum 2011, section
//! 3.2: of classes that lie within each other, the innermost around a point is the right one.
//! Departures: bounds that always hold. Where the ends of intervals and the members of sets are
//! values of rows, as in a compacted release, each of them is the value of a row at least: of the
//! class `[48, 62]` at least one row is up to 50, and at least one is not. For nested classes no
//! elementary ranges are enumerated: a class meets a box if it has more positions in it than its
//! holes have.
//! Guarantee: `lower <= true <= upper <= overlap`, whichever rows stand behind the classes, as long
//! as every row lies in the cells of its class and in no hole of it.
//! Cost: for each box of a query one scan of two columns of 4 bytes per class, on the axis where the
//! fewest classes meet it; the other axes look only at what is left.

use rayon::prelude::*;

use crate::cover::{Asked, Cover, Missing, intersection, length};
use crate::holes::Holes;
use crate::term::{Query, Term};

/// How long positions are.
#[derive(Debug, Clone, PartialEq)]
pub enum Scale {
    /// Every position is one value, as codes and names are.
    Counted,
    /// Position `p` reaches from the `p`-th of these to the next one.
    Measured(Box<[f64]>),
}

/// Which values rows of a class surely have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// None.
    Nothing,
    /// The least and the greatest of a cell, and the missing value where it is shown.
    Ends,
    /// All that a cell covers.
    All,
}

/// One axis: its distinct cells, and the cell of each class.
#[derive(Debug, Clone)]
pub struct AxisCells {
    /// What cells cover.
    pub cells: Vec<Cover>,
    /// The cell of each class, or of each part where the axis is carried.
    pub cell_of: Vec<u32>,
    /// How many positions there are.
    pub n_positions: u32,
    /// How long they are.
    pub scale: Scale,
    /// Which values rows surely have.
    pub known: Known,
}

/// Rows of a class that are alike on carried columns.
#[derive(Debug, Clone)]
pub struct Parts {
    /// Where the parts of each class begin, and where those of the last one end.
    pub starts: Vec<u32>,
    /// Rows of each part.
    pub sizes: Vec<u64>,
    /// The carried columns, whose cells hold one value each; numbered after the other axes.
    pub axes: Vec<AxisCells>,
}

/// What a release answers to a query.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Answer {
    /// Rows whose region meets the query.
    pub overlap: u64,
    /// Rows that satisfy it if they are spread evenly over their regions.
    pub estimate: f64,
    /// Rows that satisfy it at least.
    pub lower: u64,
    /// Rows that satisfy it at most.
    pub upper: u64,
}

/// What a class contributes to an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contribution {
    /// The class.
    pub class: usize,
    /// Of its rows.
    pub answer: Answer,
}

/// The classes of a release.
pub struct Boxes {
    sizes: Vec<u64>,
    axes: Vec<Axis>,
    parts: Option<Parts>,
    holes: Option<Holes>,
}

struct Axis {
    own: AxisCells,
    /// Where all cells are ranges: the first and the last position of each class.
    ranges: Option<Ranges>,
}

/// Cells that are ranges, class by class.
struct Ranges {
    first: Vec<u32>,
    last: Vec<u32>,
    /// Classes that begin up to a position.
    begun: Vec<u32>,
    /// Classes that end before a position.
    ended: Vec<u32>,
}

/// A class that meets a term.
struct Judged {
    class: usize,
    term: usize,
    /// Its rows that satisfy what is asked of carried columns.
    n_rows: u64,
    /// The share of its region inside.
    share: f64,
    /// Its rows in the term at most.
    at_most: u64,
}

impl Boxes {
    /// Classes of so many rows.
    pub fn new(sizes: Vec<u64>, axes: Vec<AxisCells>) -> Boxes {
        let axes = axes.into_par_iter().map(Axis::new).collect();
        Boxes { sizes, axes, parts: None, holes: None }
    }

    /// The same, with rows that are told apart by carried columns.
    pub fn with_parts(self, parts: Parts) -> Boxes {
        Boxes { parts: Some(parts), ..self }
    }

    /// The same, where a class is its box without those of greater levels. Nothing is changed, and
    /// `false` told, if boxes of one level share something: then a level tells nothing.
    pub fn with_levels(mut self, levels: &[u32]) -> (Boxes, bool) {
        let axes: Vec<&AxisCells> = self.axes.iter().map(|axis| &axis.own).collect();
        self.holes = Holes::of(&axes, levels);
        let is_nested = self.holes.is_some();
        (self, is_nested)
    }

    /// How many positions each axis has, the carried ones last.
    pub fn n_positions(&self) -> Vec<u32> {
        let carried = self.parts.iter().flat_map(|parts| &parts.axes);
        self.axes.iter().map(|axis| &axis.own).chain(carried).map(|own| own.n_positions).collect()
    }

    /// Whether a query needs the boxes of its opposite: a single box tells itself what lies inside
    /// of it, but for holes.
    pub fn needs_opposite(&self, query: &Query) -> bool {
        self.holes.is_some() || query.terms().len() > 1
    }

    /// What the classes answer to queries.
    ///
    /// # Panics
    /// When a query lacks the opposite that it needs.
    pub fn answers(&self, queries: &[Query]) -> Vec<Answer> {
        queries.par_iter().map(|query| self.answer(query)).collect()
    }

    /// What they answer to one.
    ///
    /// # Panics
    /// When the query lacks the opposite that it needs.
    pub fn answer(&self, query: &Query) -> Answer {
        self.contributions(query).into_iter().fold(Answer::default(), |sum, own| Answer {
            overlap: sum.overlap + own.answer.overlap,
            estimate: sum.estimate + own.answer.estimate,
            lower: sum.lower + own.answer.lower,
            upper: sum.upper + own.answer.upper,
        })
    }

    /// What each class contributes to that, those that meet the query, in ascending order.
    ///
    /// # Panics
    /// When the query lacks the opposite that it needs.
    pub fn contributions(&self, query: &Query) -> Vec<Contribution> {
        let mut judged: Vec<Judged> = Vec::new();
        for (term_idx, term) in query.terms().iter().enumerate() {
            let classes = self.meeting(term);
            judged
                .extend(classes.into_iter().filter_map(|class| self.judge(class, term_idx, term)));
        }
        if query.terms().len() > 1 {
            judged.sort_by_key(|own| own.class);
        }
        let by_class = judged.chunk_by(|one, other| one.class == other.class);
        by_class.map(|own| self.contribution(own, query)).collect()
    }

    fn contribution(&self, judged: &[Judged], query: &Query) -> Contribution {
        let class = judged[0].class;
        let overlap = self.n_in_some(judged, query.terms());
        let estimate = judged.iter().map(|own| own.n_rows as f64 * own.share).sum();
        let lower = match query.opposite() {
            Some(opposite) => {
                let terms = opposite.iter().enumerate();
                let outside: Vec<Judged> =
                    terms.filter_map(|(idx, term)| self.judge(class, idx, term)).collect();
                self.sizes[class] - self.at_most(&outside, opposite)
            }
            None => {
                assert!(!self.needs_opposite(query), "the query has its opposite");
                self.at_least(class, judged[0].n_rows, &query.terms()[0])
            }
        };
        let upper = self.at_most(judged, query.terms());
        Contribution { class, answer: Answer { overlap, estimate, lower, upper } }
    }

    /// Rows of a class in some of the terms that it meets, at most.
    fn at_most(&self, judged: &[Judged], terms: &[Term]) -> u64 {
        let at_most = judged.iter().map(|own| own.at_most).sum();
        self.n_in_some(judged, terms).min(at_most)
    }

    /// Rows of a class that some of the terms return which it meets.
    fn n_in_some(&self, judged: &[Judged], terms: &[Term]) -> u64 {
        let Some(first) = judged.first() else { return 0 };
        let Some(parts) = self.parts.as_ref().filter(|_| judged.len() > 1) else {
            return first.n_rows;
        };
        let terms = || judged.iter().map(|own| &terms[own.term]);
        let own = parts.of(first.class);
        let is_in = |&part: &usize| terms().any(|term| self.is_part_in(parts, part, term));
        own.filter(is_in).map(|part| parts.sizes[part]).sum()
    }

    /// The classes whose boxes meet a term, ascending.
    fn meeting(&self, term: &Term) -> Vec<usize> {
        let axes = term.iter().filter(|(axis, _)| *axis < self.axes.len());
        let mut asked: Vec<(u64, &Axis, Test<'_>)> = axes
            .map(|(axis, asked)| {
                let axis = &self.axes[*axis];
                let test = axis.test(asked);
                (axis.n_meeting(&test), axis, test)
            })
            .collect();
        asked.sort_by_key(|own| own.0);
        let mut asked = asked.into_iter();
        let Some((_, axis, test)) = asked.next() else { return (0..self.sizes.len()).collect() };
        let mut classes = axis.all_meeting(&test);
        for (_, axis, test) in asked {
            classes.retain(|&class| axis.meets(class, &test));
        }
        classes
    }

    /// How a class lies to a term; nothing if it does not meet it.
    fn judge(&self, class: usize, term_idx: usize, term: &Term) -> Option<Judged> {
        let n_class = self.sizes[class];
        let n_rows = self.n_satisfying(class, term);
        if n_rows == 0 {
            return None;
        }
        let (mut share, mut at_most) = (1.0, n_rows);
        for (axis, asked) in self.quasi_of(term) {
            let cover = axis.cover(class);
            if !cover.meets(asked) {
                return None;
            }
            if !cover.is_inside(asked) {
                share *= axis.own.scale.share(cover, asked);
                let outside = axis.own.known.n_outside(cover, asked);
                at_most = at_most.min(n_class.saturating_sub(outside));
            }
        }
        if let Some(holes) = &self.holes {
            let axes: Vec<&AxisCells> = self.axes.iter().map(|axis| &axis.own).collect();
            share = holes.share(&axes, class, term, share)?;
        }
        Some(Judged { class, term: term_idx, n_rows, share, at_most })
    }

    /// The rows of a class that surely lie in a term, of which so many satisfy what is asked of
    /// carried columns: all of these but those that may lie outside on some axis.
    fn at_least(&self, class: usize, n_rows: u64, term: &Term) -> u64 {
        let n_class = self.sizes[class];
        let may_be_outside = self.quasi_of(term).map(|(axis, asked)| {
            let cover = axis.cover(class);
            match cover.is_inside(asked) {
                true => 0,
                false => n_class.saturating_sub(axis.own.known.n_inside(cover, asked)),
            }
        });
        n_rows.saturating_sub(may_be_outside.sum())
    }

    fn quasi_of<'q>(&'q self, term: &'q Term) -> impl Iterator<Item = (&'q Axis, &'q Asked)> {
        let quasi = term.iter().filter(|(axis, _)| *axis < self.axes.len());
        quasi.map(|(axis, asked)| (&self.axes[*axis], asked))
    }

    /// The rows of a class that satisfy what a term asks of carried columns.
    fn n_satisfying(&self, class: usize, term: &Term) -> u64 {
        let asks = term.last().is_some_and(|(axis, _)| *axis >= self.axes.len());
        match self.parts.as_ref().filter(|_| asks) {
            None => self.sizes[class],
            Some(parts) => {
                let own = parts.of(class).filter(|&part| self.is_part_in(parts, part, term));
                own.map(|part| parts.sizes[part]).sum()
            }
        }
    }

    fn is_part_in(&self, parts: &Parts, part: usize, term: &Term) -> bool {
        term.iter().all(|(axis, asked)| match axis.checked_sub(self.axes.len()) {
            None => true,
            Some(carried) => {
                let axis = &parts.axes[carried];
                axis.cells[axis.cell_of[part] as usize].is_inside(asked)
            }
        })
    }
}

impl Parts {
    /// The parts of a class.
    fn of(&self, class: usize) -> std::ops::Range<usize> {
        self.starts[class] as usize..self.starts[class + 1] as usize
    }
}

/// What is asked for on an axis, as it is looked up there.
enum Test<'q> {
    /// One range of positions, where all cells are ranges.
    Range(u32, u32),
    /// Which cells meet it.
    Cells(Vec<bool>, &'q AxisCells),
}

impl Axis {
    fn new(own: AxisCells) -> Axis {
        let is_range = |cover: &Cover| cover.spans.len() == 1 && cover.missing == Missing::No;
        let ranges = own.cells.iter().all(is_range).then(|| Ranges::of(&own));
        Axis { own, ranges }
    }

    fn cover(&self, class: usize) -> &Cover {
        &self.own.cells[self.own.cell_of[class] as usize]
    }

    fn test<'q>(&'q self, asked: &Asked) -> Test<'q> {
        match (&self.ranges, &asked.spans[..]) {
            (Some(_), &[(first, last)]) => Test::Range(first, last),
            _ => {
                let meets = self.own.cells.iter().map(|cover| cover.meets(asked));
                Test::Cells(meets.collect(), &self.own)
            }
        }
    }

    /// How many classes, or where that takes a look at all of them, how many cells meet a test.
    fn n_meeting(&self, test: &Test<'_>) -> u64 {
        match (test, &self.ranges) {
            (Test::Range(first, last), Some(ranges)) => {
                let n_begun = ranges.begun[*last as usize];
                u64::from(n_begun - ranges.ended[*first as usize])
            }
            (Test::Cells(meets, own), _) => {
                let n_meeting = meets.iter().filter(|&&meets| meets).count();
                (own.cell_of.len() * n_meeting / meets.len().max(1)) as u64
            }
            (Test::Range(..), None) => unreachable!("only ranges are tested by their ends"),
        }
    }

    fn all_meeting(&self, test: &Test<'_>) -> Vec<usize> {
        match (test, &self.ranges) {
            (Test::Range(first, last), Some(ranges)) => ranges.all_meeting(*first, *last),
            _ => (0..self.own.cell_of.len()).filter(|&class| self.meets(class, test)).collect(),
        }
    }

    fn meets(&self, class: usize, test: &Test<'_>) -> bool {
        match (test, &self.ranges) {
            (Test::Range(first, last), Some(ranges)) => {
                ranges.first[class] <= *last && ranges.last[class] >= *first
            }
            (Test::Cells(meets, own), _) => meets[own.cell_of[class] as usize],
            (Test::Range(..), None) => unreachable!("only ranges are tested by their ends"),
        }
    }
}

impl Ranges {
    fn of(axis: &AxisCells) -> Ranges {
        let span = |&cell: &u32| axis.cells[cell as usize].spans[0];
        let (first, last): (Vec<u32>, Vec<u32>) = axis.cell_of.iter().map(span).unzip();
        let n_positions = axis.n_positions as usize;
        let (mut begun, mut ended) = (vec![0u32; n_positions + 1], vec![0u32; n_positions + 2]);
        first.iter().for_each(|&first| begun[first as usize] += 1);
        last.iter().for_each(|&last| ended[last as usize + 1] += 1);
        let add_up = |counts: &mut [u32]| {
            let mut sum = 0;
            for count in counts {
                sum += *count;
                *count = sum;
            }
        };
        add_up(&mut begun);
        add_up(&mut ended);
        Ranges { first, last, begun, ended }
    }

    /// The classes that meet a range. Blocks are looked at without branches, so that the compiler
    /// compares many at once; few of them have any.
    fn all_meeting(&self, first: u32, last: u32) -> Vec<usize> {
        const BLOCK: usize = 64;
        let mut classes = Vec::new();
        let blocks = self.first.chunks(BLOCK).zip(self.last.chunks(BLOCK)).enumerate();
        for (block, (firsts, lasts)) in blocks {
            let meets = |(own_first, own_last): (&u32, &u32)| {
                u32::from((*own_first <= last) & (*own_last >= first))
            };
            let n_meeting: u32 = firsts.iter().zip(lasts).map(meets).sum();
            if n_meeting > 0 {
                let hits = firsts.iter().zip(lasts).enumerate();
                let hits = hits.filter(|(_, own)| meets(*own) == 1);
                classes.extend(hits.map(|(place, _)| block * BLOCK + place));
            }
        }
        classes
    }
}

impl Scale {
    /// How long ranges are.
    fn measure(&self, spans: impl Iterator<Item = (u32, u32)>) -> f64 {
        match self {
            Scale::Counted => length(spans) as f64,
            Scale::Measured(edges) => {
                spans.map(|(first, last)| edges[last as usize + 1] - edges[first as usize]).sum()
            }
        }
    }

    /// The share of a cell that is asked for. Values without a length count by their positions.
    pub(crate) fn share(&self, cover: &Cover, asked: &Asked) -> f64 {
        let inside = || intersection(&cover.spans, &asked.spans);
        let all = || cover.spans.iter().copied();
        let of_values = match self.measure(all()) {
            whole if whole > 0.0 => self.measure(inside()) / whole,
            _ => length(inside()) as f64 / length(all()).max(1) as f64,
        };
        let of_missing = f64::from(u8::from(asked.missing));
        match cover.missing {
            Missing::Shown if cover.spans.is_empty() => of_missing,
            Missing::Shown => 0.5 * of_values + 0.5 * of_missing,
            Missing::No | Missing::Possible => of_values,
        }
    }
}

impl Known {
    /// How many values of a cell that rows surely have are asked for.
    fn n_inside(self, cover: &Cover, asked: &Asked) -> u64 {
        if cover.missing == Missing::Possible {
            return 0;
        }
        let missing = u64::from(cover.missing == Missing::Shown && asked.missing);
        match self {
            Known::Nothing => 0,
            Known::All => missing + length(intersection(&cover.spans, &asked.spans)),
            Known::Ends => {
                let has = |position: u32| {
                    let held = |&(first, last): &(u32, u32)| (first..=last).contains(&position);
                    u64::from(asked.spans.iter().any(held))
                };
                missing + cover.ends().map(has).sum::<u64>()
            }
        }
    }

    /// How many of them are not.
    fn n_outside(self, cover: &Cover, asked: &Asked) -> u64 {
        if cover.missing == Missing::Possible {
            return 0;
        }
        let all = match self {
            Known::Nothing => return 0,
            Known::All => length(cover.spans.iter().copied()),
            Known::Ends => cover.ends().count() as u64,
        };
        all + u64::from(cover.missing == Missing::Shown) - self.n_inside(cover, asked)
    }
}

impl Cover {
    /// The least and the greatest position, once if they are the same.
    fn ends(&self) -> impl Iterator<Item = u32> {
        let least = self.spans.first().map(|own| own.0);
        let greatest = self.spans.last().map(|own| own.1);
        least.into_iter().chain(greatest.filter(|own| Some(*own) != least))
    }
}
