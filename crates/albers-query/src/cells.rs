//! The cells of one axis: what they cover, how long that is, and how it lies to what is asked for.

use crate::cover::{Asked, Cover, Missing, intersection, length};

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

/// How a cell lies to what is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellJudgement {
    /// Whether all of it is asked for.
    pub is_inside: bool,
    /// The share of it that is.
    pub share: f64,
    /// How many values that rows surely have are asked for.
    pub known_inside: u64,
    /// How many of them are not.
    pub known_outside: u64,
}

impl Scale {
    /// How a cell lies to what is asked for; nothing if it does not meet it.
    pub fn judge(&self, known: Known, cover: &Cover, asked: &Asked) -> Option<CellJudgement> {
        let is_inside = cover.is_inside(asked);
        cover.meets(asked).then(|| CellJudgement {
            is_inside,
            share: if is_inside { 1.0 } else { self.share(cover, asked) },
            known_inside: known.n_inside(cover, asked),
            known_outside: known.n_outside(cover, asked),
        })
    }
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

impl Scale {
    /// How long ranges are.
    fn measure(&self, spans: impl Iterator<Item = (u32, u32)>) -> f64 {
        match self {
            Scale::Counted => length(spans) as f64,
            Scale::Measured(_) => {
                let edges = spans.map(|span| self.edges(span));
                edges.map(|(begin, end)| end - begin).sum()
            }
        }
    }

    /// Where a range begins, and where it ends.
    pub(crate) fn edges(&self, (first, last): (u32, u32)) -> (f64, f64) {
        match self {
            Scale::Counted => (f64::from(first), f64::from(last) + 1.0),
            Scale::Measured(edges) => (edges[first as usize], edges[last as usize + 1]),
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
