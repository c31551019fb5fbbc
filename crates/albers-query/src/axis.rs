//! An axis as it is looked up: which classes meet what is asked for, and how.
//!
//! Cost: where all cells are ranges, two columns of 4 bytes per class are scanned without a branch.

use crate::cells::{AxisCells, CellJudgement, Known};
use crate::cover::{Asked, Cover, Missing};

/// An axis of the classes of a release.
pub(crate) struct Axis {
    pub(crate) own: AxisCells,
    /// Where all cells are ranges: the first and the last position of each class.
    ranges: Option<Ranges>,
}

/// Cells that are ranges, class by class.
struct Ranges {
    first: Vec<u32>,
    last: Vec<u32>,
    /// Where these begin and end on the scale, so that no class has to be looked up there.
    edges: Vec<(f64, f64)>,
    /// Classes that begin up to a position.
    begun: Vec<u32>,
    /// Classes that end before a position.
    ended: Vec<u32>,
}

/// What is asked for on an axis, as it is looked up there.
pub(crate) enum Test<'q> {
    /// One range of positions, where all cells are ranges.
    Range(u32, u32),
    /// Which cells meet it.
    Cells(Vec<bool>, &'q AxisCells),
}

impl Axis {
    pub(crate) fn new(own: AxisCells) -> Axis {
        let is_range = |cover: &Cover| cover.spans.len() == 1 && cover.missing == Missing::No;
        let ranges = own.cells.iter().all(is_range).then(|| Ranges::of(&own));
        Axis { own, ranges }
    }

    pub(crate) fn cover(&self, class: usize) -> &Cover {
        &self.own.cells[self.own.cell_of[class] as usize]
    }

    /// How the cell of a class lies to what is asked for; nothing if it does not meet it.
    pub(crate) fn judge(&self, class: usize, asked: &Asked) -> Option<CellJudgement> {
        match (&self.ranges, &asked.spans[..]) {
            // Ends that stand side by side are looked up faster than cells.
            (Some(ranges), &[asked]) => ranges.judge(class, asked, &self.own),
            _ => self.own.scale.judge(self.own.known, self.cover(class), asked),
        }
    }

    pub(crate) fn test<'q>(&'q self, asked: &Asked) -> Test<'q> {
        match (&self.ranges, &asked.spans[..]) {
            (Some(_), &[(first, last)]) => Test::Range(first, last),
            _ => {
                let meets = self.own.cells.iter().map(|cover| cover.meets(asked));
                Test::Cells(meets.collect(), &self.own)
            }
        }
    }

    /// How many classes, or where that takes a look at all of them, how many cells meet a test.
    pub(crate) fn n_meeting(&self, test: &Test<'_>) -> u64 {
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

    pub(crate) fn all_meeting(&self, test: &Test<'_>) -> Vec<u32> {
        match (test, &self.ranges) {
            (Test::Range(first, last), Some(ranges)) => ranges.all_meeting(*first, *last),
            _ => {
                let mut classes: Vec<u32> = (0..self.own.cell_of.len() as u32).collect();
                self.keep_meeting(&mut classes, test);
                classes
            }
        }
    }

    pub(crate) fn keep_meeting(&self, classes: &mut Vec<u32>, test: &Test<'_>) {
        match (test, &self.ranges) {
            (&Test::Range(first, last), Some(ranges)) => {
                keep(classes, |class| {
                    (ranges.first[class] <= last) & (ranges.last[class] >= first)
                });
            }
            (Test::Cells(meets, own), _) => {
                keep(classes, |class| meets[own.cell_of[class] as usize]);
            }
            (Test::Range(..), None) => unreachable!("only ranges are tested by their ends"),
        }
    }
}

impl Ranges {
    /// How the range of a class lies to one that is asked for; nothing if it does not meet it.
    fn judge(
        &self,
        class: usize,
        (from, to): (u32, u32),
        axis: &AxisCells,
    ) -> Option<CellJudgement> {
        let (first, last) = (self.first[class], self.last[class]);
        if first > to || last < from {
            return None;
        }
        if from <= first && last <= to {
            // Of a cell that lies inside nobody asks which of its values are known.
            let (known_inside, known_outside) = (0, 0);
            return Some(CellJudgement {
                is_inside: true,
                share: 1.0,
                known_inside,
                known_outside,
            });
        }
        let inside = (first.max(from), last.min(to));
        let (begin, end) = self.edges[class];
        let share = match end > begin {
            true => {
                let (asked_begin, asked_end) = axis.scale.edges((from, to));
                (end.min(asked_end) - begin.max(asked_begin)).max(0.0) / (end - begin)
            }
            false => f64::from(inside.1 - inside.0 + 1) / f64::from(last - first + 1),
        };
        let has = |position: u32| u64::from((from..=to).contains(&position));
        let (known_inside, n_known) = match axis.known {
            Known::Nothing => (0, 0),
            // A range that is not inside as a whole has two ends.
            Known::Ends => (has(first) + has(last), 2),
            Known::All => (u64::from(inside.1 - inside.0) + 1, u64::from(last - first) + 1),
        };
        let known_outside = n_known - known_inside;
        Some(CellJudgement { is_inside: false, share, known_inside, known_outside })
    }

    fn of(axis: &AxisCells) -> Ranges {
        let span = |&cell: &u32| axis.cells[cell as usize].spans[0];
        let (first, last): (Vec<u32>, Vec<u32>) = axis.cell_of.iter().map(span).unzip();
        let edges = axis.cell_of.iter().map(|cell| axis.scale.edges(span(cell))).collect();
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
        Ranges { first, last, edges, begun, ended }
    }

    /// The classes that meet a range. Every class is written and only those that meet it are gone on
    /// from: no branch has to be guessed.
    fn all_meeting(&self, first: u32, last: u32) -> Vec<u32> {
        let n_meeting = self.begun[last as usize] - self.ended[first as usize];
        let mut classes = vec![0u32; n_meeting as usize + 1];
        let mut n_found = 0;
        for (class, (&own_first, &own_last)) in self.first.iter().zip(&self.last).enumerate() {
            classes[n_found] = class as u32;
            n_found += usize::from((own_first <= last) & (own_last >= first));
        }
        classes.truncate(n_found);
        classes
    }
}

/// Keeps the classes that satisfy something, in their order and without branches.
fn keep(classes: &mut Vec<u32>, is_kept: impl Fn(usize) -> bool) {
    let mut n_kept = 0;
    for place in 0..classes.len() {
        let class = classes[place];
        classes[n_kept] = class;
        n_kept += usize::from(is_kept(class as usize));
    }
    classes.truncate(n_kept);
}
