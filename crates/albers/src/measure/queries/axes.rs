//! The classes of a release as boxes of positions, and what queries ask for there.
//!
//! The names of a category are positions as they are. Codes of ordered values are too many: their
//! positions are the ranges between all ends of cells and queries, each as long as the codes it
//! holds.
//!
//! ```text
//!   cells      [------------)
//!                     [--------------)
//!   queries       [------)
//!   positions  0  1   2  3  4        (their ends are codes)
//! ```

use albers_measure::released::ReleasedColumn;
use albers_measure::{ClassRows, Classes};
use albers_query::cells::Known;
use albers_query::{Asked, AxisCells, Boxes, Cover, Missing, Query, Scale};
use albers_release::CellContent;
use albers_table::code::{Code, CodeRange};
use albers_table::domain::Domain;
use rayon::prelude::*;

use super::draw::{Between, DrawnQuery};

/// What a release answers queries from.
pub(super) struct Answering {
    boxes: Boxes,
    axes: Vec<Positions>,
    /// Whether it has levels, and they tell nothing, since classes of one level overlap.
    pub(super) has_idle_levels: bool,
}

/// The positions of an attribute.
struct Positions {
    /// Where they end and the next ones begin, where they are ranges of codes.
    edges: Option<Vec<u32>>,
    n_positions: u32,
    missing: Option<u32>,
}

impl Answering {
    /// The classes of a release, each with its level where there are levels.
    pub(super) fn of(
        columns: &[ReleasedColumn<'_>],
        classes: &Classes,
        levels: Option<&[i64]>,
        queries: &[DrawnQuery],
    ) -> Answering {
        let axis = |(place, column): (usize, &ReleasedColumn<'_>)| {
            let positions = Positions::of(column, queries.iter().filter_map(|own| own.on(place)));
            let cells = positions.axis(column, classes);
            (positions, cells)
        };
        let (axes, mut cells): (Vec<Positions>, Vec<AxisCells>) =
            columns.par_iter().enumerate().map(|(place, own)| axis((place, own))).unzip();
        let sizes: Vec<u64> = classes.iter().map(|own| own.n_rows() as u64).collect();
        let level = |own: ClassRows<'_>| levels.map_or(0, |levels| levels[own.first_run()]);
        let levels_of: Vec<i64> = classes.iter().map(level).collect();
        let order = order_of(&cells, &levels_of);
        // Cells of other texts may cover the same.
        let is_same = |a: &usize, b: &usize| {
            levels_of[*a] == levels_of[*b]
                && cells.iter().all(|axis| axis.cell_of[*a] == axis.cell_of[*b])
        };
        let alike: Vec<&[usize]> = order.chunk_by(is_same).collect();
        let n_rows = |own: &&[usize]| own.iter().map(|&class| sizes[class]).sum();
        let n_rows: Vec<u64> = alike.iter().map(n_rows).collect();
        let firsts: Vec<usize> = alike.iter().map(|own| own[0]).collect();
        for axis in &mut cells {
            axis.cell_of = firsts.iter().map(|&class| axis.cell_of[class]).collect();
        }
        let boxes = Boxes::new(n_rows, cells);
        let (boxes, is_nested) = match levels {
            Some(_) => boxes.with_levels(&ranks_of(&firsts, &levels_of)),
            None => (boxes, true),
        };
        Answering { boxes, axes, has_idle_levels: !is_nested }
    }

    /// The rows that may satisfy a query, and how many are thought to.
    pub(super) fn answer(&self, query: &DrawnQuery) -> (u64, f64) {
        let terms = query.terms.iter();
        let term = terms.map(|&(axis, between)| (axis, self.axes[axis].asked(between)));
        let n_positions = self.boxes.n_positions();
        let query = Query::any_of(vec![term.collect()], &n_positions).and_then(|query| match self
            .boxes
            .needs_opposite(&query)
        {
            true => query.with_opposite(&n_positions),
            false => Ok(query),
        });
        let answer = self.boxes.answer(&query.expect("one box, without which one for each axis"));
        (answer.overlap, answer.estimate)
    }
}

/// The classes in an order that their cells tell: sums of floats are the same in any order of the
/// rows only if those of classes are.
fn order_of(axes: &[AxisCells], levels: &[i64]) -> Vec<usize> {
    let cells = |class: usize| axes.iter().map(move |axis| axis.cell_of[class]);
    let mut order: Vec<usize> = (0..levels.len()).collect();
    order.par_sort_by(|&a, &b| cells(a).cmp(cells(b)).then_with(|| levels[a].cmp(&levels[b])));
    order
}

/// The levels of classes as numbers from 0 on.
fn ranks_of(classes: &[usize], levels: &[i64]) -> Vec<u32> {
    let mut distinct = levels.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let rank = |&class: &usize| distinct.partition_point(|&own| own < levels[class]) as u32;
    classes.iter().map(rank).collect()
}

impl Positions {
    fn of(column: &ReleasedColumn<'_>, asked: impl Iterator<Item = Between>) -> Positions {
        let domain = &column.attribute.domain;
        let missing = domain.missing_code().map(Code::get);
        if !domain.is_ordered() {
            let n_positions = domain.code_range().1.get() + 1;
            return Positions { edges: None, n_positions, missing };
        }
        let mut edges = Vec::new();
        let mut add = |lo: u32, hi: u32| edges.extend([lo, hi + 1]);
        for cell in &column.cells {
            codes_of(&cell.content, domain).0.iter().for_each(|&(lo, hi)| add(lo, hi));
        }
        for between in asked {
            between.spans(missing).for_each(|(lo, hi)| add(lo, hi));
        }
        edges.sort_unstable();
        edges.dedup();
        let n_positions = edges.len().saturating_sub(1) as u32;
        Positions { edges: Some(edges), n_positions, missing }
    }

    /// The positions of a range of codes.
    fn span(&self, (lo, hi): (u32, u32)) -> (u32, u32) {
        let Some(edges) = &self.edges else { return (lo, hi) };
        let place = |code: u32| edges.partition_point(|&own| own < code) as u32;
        (place(lo), place(hi + 1) - 1)
    }

    fn asked(&self, between: Between) -> Asked {
        let nothing = Asked { missing: between.has_missing(self.missing), ..Asked::nothing() };
        let spans = between.spans(self.missing).map(|own| self.span(own));
        spans.fold(nothing, |sum, (first, last)| sum.or(&Asked::range(first, last)))
    }

    /// The cells of an attribute, ascending, and the cell of each class.
    fn axis(&self, column: &ReleasedColumn<'_>, classes: &Classes) -> AxisCells {
        let domain = &column.attribute.domain;
        let cover = |content: &CellContent| {
            let (codes, missing) = codes_of(content, domain);
            Cover { spans: codes.into_iter().map(|own| self.span(own)).collect(), missing }
        };
        let covers: Vec<Cover> = column.cells.par_iter().map(|cell| cover(&cell.content)).collect();
        let mut order: Vec<usize> = (0..covers.len()).collect();
        order.par_sort_by_key(|&cell| (&covers[cell].spans, covers[cell].missing as u8));
        let mut cells: Vec<Cover> = Vec::new();
        let mut cell_of_place = vec![0u32; covers.len()];
        for place in order {
            if cells.last() != Some(&covers[place]) {
                cells.push(covers[place].clone());
            }
            cell_of_place[place] = cells.len() as u32 - 1;
        }
        let cell = |own: ClassRows<'_>| cell_of_place[column.places[own.first_run()] as usize];
        let scale = match &self.edges {
            Some(edges) => Scale::Measured(edges.iter().map(|&code| f64::from(code)).collect()),
            None => Scale::Counted,
        };
        AxisCells {
            cells,
            cell_of: classes.iter().map(cell).collect(),
            n_positions: self.n_positions,
            scale,
            known: Known::Nothing,
        }
    }
}

/// The codes that a cell covers, as ascending ranges that do not touch.
fn codes_of(content: &CellContent, domain: &Domain) -> (Vec<(u32, u32)>, Missing) {
    let missing = domain.missing_code();
    let shown = |is_shown: bool| if is_shown { Missing::Shown } else { Missing::No };
    match content {
        CellContent::Missing => (Vec::new(), Missing::Shown),
        CellContent::Interval { lo, hi, with_missing } => {
            (vec![(lo.get(), hi.get())], shown(*with_missing))
        }
        CellContent::Label { node, with_missing } => {
            let hierarchy = domain.hierarchy();
            let leaves = hierarchy.map_or(CodeRange::EMPTY, |tree| tree.leaves_of(*node));
            let range = (leaves.start.get(), leaves.end.get().saturating_sub(1));
            let codes = if leaves.is_empty() { Vec::new() } else { vec![range] };
            (codes, shown(*with_missing))
        }
        CellContent::Set(codes) => {
            let mut ranges: Vec<(u32, u32)> = Vec::new();
            for code in codes.iter().filter(|&&code| Some(code) != missing).map(|own| own.get()) {
                match ranges.last_mut().filter(|(_, hi)| hi + 1 == code) {
                    Some((_, hi)) => *hi = code,
                    None => ranges.push((code, code)),
                }
            }
            (ranges, shown(missing.is_some_and(|own| codes.contains(&own))))
        }
        CellContent::Everything => {
            let (lo, hi) = domain.code_range();
            match (domain.n_distinct_between(lo, hi), missing) {
                // A column of missing values alone has no others.
                (0, _) => (Vec::new(), Missing::Shown),
                (_, None) => (vec![(lo.get(), hi.get())], Missing::No),
                (_, Some(_)) => (vec![(lo.get(), hi.get())], Missing::Possible),
            }
        }
    }
}
