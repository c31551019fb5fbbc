//! t-closeness: the sensitive values of a class are distributed nearly as in the whole table.
//!
//! Source: Li, Li & Venkatasubramanian 2007. The distance is the earth mover's distance (EMD): the
//! least work that turns one distribution into the other.
//! Departures: the hierarchical form is summed by levels. Its distance, the height of the lowest
//! common ancestor over the height H of the tree, is the length of a path whose edges all weigh
//! 1 / 2H, and the EMD on such a tree is the sum over its edges of the mass that must cross them:
//! 1 / H times the positive excesses of all nodes below the root. It equals the paper's recursion,
//! and the equal distance is its case H = 1.
//!
//! # Guarantee
//! Whoever finds a person's class learns little about the sensitive column beyond what the whole
//! table tells everybody: the two distributions are at most t apart. What the whole table shows is
//! not hidden, and t bounds the distance of distributions, not the confidence in one value: a rare
//! value may still become several times more likely. It is monotone under merging, because the
//! EMD to a fixed distribution is convex and a union's distribution is a mixture of its parts'.
//!
//! Cost: O(d log d) at most for d distinct values in the class (times H in a hierarchy), and
//! O(min(v, d log v)) for the ordered distance over v values. Excesses are exact integers over the
//! common denominator n * N; only the final division (and the gaps of a line) is rounded, so that a
//! class that mirrors the table has distance exactly 0. A class with few of the values of a line
//! takes sums over whole stretches of it, exact to about 15 digits. Whether a distance is at most t is
//! mostly told by bounds, from sums over at most 256 stretches of the line.

use crate::histogram::{Histogram, stretch_bits};
use crate::sensitive_column::GroundDistance;

/// The earth mover's distance between a class and the whole table, in 0..=1. An empty class is at
/// distance 0 from everything.
///
/// # Panics
/// When the histograms have different domains, or the distance was described for a smaller one.
pub fn emd(distance: &GroundDistance, class: &Histogram, whole: &Histogram) -> f64 {
    emd_to(distance, class, &WholeDistribution::new(distance, whole))
}

/// The whole table's distribution of one column, prepared for many comparisons.
#[derive(Clone)]
pub struct WholeDistribution {
    n_rows: u64,
    /// `totals[0][code]` is the count of a code; `totals[i][code]` that of its ancestor at height
    /// i. The root is left out: it never has an excess.
    totals: Vec<Vec<u64>>,
    /// For the ordered distance only.
    line: Option<Line>,
}

/// Sums along a line, so that the work across a stretch of it needs no walk.
#[derive(Clone)]
struct Line {
    /// Rows with this code or a lower one.
    n_up_to: Vec<u64>,
    /// The sum over the gaps before a code of the gap times the rows before it.
    work_before: Vec<f64>,
    /// What is known of the stretches that histograms count; none when the domain is small.
    stretches: Vec<Stretch>,
}

/// A stretch of codes on a line of length 1, with the shares of the whole table's rows.
#[derive(Clone, Copy)]
struct Stretch {
    /// From its first code to that of the next stretch.
    width: f64,
    /// The share of the rows before it.
    before: f64,
    /// The share of the rows before the next.
    up_to: f64,
    /// The sum over its gaps of the gap times the share of the rows before that.
    work: f64,
}

impl Line {
    fn new(positions: &[f64], counts: &[u64]) -> Line {
        let mut n_up_to = Vec::with_capacity(counts.len());
        let mut work_before = Vec::with_capacity(counts.len());
        // What rounding has taken from the sum so far is given back at the next step.
        let (mut n_rows, mut work, mut lost) = (0u64, 0f64, 0f64);
        for (code, &count) in counts.iter().enumerate() {
            work_before.push(work);
            n_rows += count;
            n_up_to.push(n_rows);
            let gap = positions.get(code + 1).map_or(0.0, |next| next - positions[code]);
            let more = gap * n_rows as f64 - lost;
            let sum = work + more;
            lost = (sum - work) - more;
            work = sum;
        }
        let mut line = Line { n_up_to, work_before, stretches: Vec::new() };
        line.stretches = line.stretches_of(positions);
        line
    }

    fn stretches_of(&self, positions: &[f64]) -> Vec<Stretch> {
        let (Some(first), Some(last)) = (positions.first(), positions.last()) else {
            return Vec::new();
        };
        let (length, n_rows) = (last - first, self.n_up_to.last().copied().unwrap_or(0) as f64);
        let n_values = u32::try_from(positions.len()).expect("codes have 32 bits");
        let Some(bits) = stretch_bits(n_values).filter(|_| length > 0.0 && n_rows > 0.0) else {
            return Vec::new();
        };
        let stretch = |start: usize| {
            let next = (start + (1 << bits)).min(positions.len());
            // No gap follows the last code.
            let end = next.min(positions.len() - 1);
            let n_before = if start == 0 { 0 } else { self.n_up_to[start - 1] };
            Stretch {
                width: (positions[end] - positions[start]) / length,
                before: n_before as f64 / n_rows,
                up_to: self.n_up_to[next - 1] as f64 / n_rows,
                work: (self.work_before[end] - self.work_before[start]) / (n_rows * length),
            }
        };
        (0..positions.len()).step_by(1 << bits).map(stretch).collect()
    }
}

impl WholeDistribution {
    /// Prepares the distribution of a whole table.
    pub fn new(distance: &GroundDistance, whole: &Histogram) -> Self {
        let counts: Vec<u64> = (0..whole.n_values()).map(|code| whole.count(code)).collect();
        let mut totals = vec![];
        if let GroundDistance::Hierarchical { levels } = distance {
            let below_root = &levels[..levels.len().saturating_sub(1)];
            totals.extend(below_root.iter().map(|level| node_totals(level, &counts)));
        }
        let line = match distance {
            GroundDistance::Ordered { positions } => Some(Line::new(positions, &counts)),
            _ => None,
        };
        totals.insert(0, counts);
        Self { n_rows: whole.n_rows(), totals, line }
    }

    /// The rows of all codes together.
    pub(crate) fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// The rows of each code.
    pub(crate) fn counts(&self) -> &[u64] {
        &self.totals[0]
    }
}

/// [`emd`], against a prepared distribution.
///
/// # Panics
/// As [`emd`] does.
pub fn emd_to(distance: &GroundDistance, class: &Histogram, whole: &WholeDistribution) -> f64 {
    let n_values = whole.totals[0].len();
    assert_eq!(class.n_values() as usize, n_values, "class and table differ in their domain");
    if class.n_rows() == 0 {
        return 0.0;
    }
    if whole.n_rows == 0 {
        // A class with rows is no part of a table without: nothing can vouch for it.
        return 1.0;
    }
    let denominator = class.n_rows() as f64 * whole.n_rows as f64;
    match distance {
        GroundDistance::Equal => excess_of_nodes(class, whole, 0, |code| code) as f64 / denominator,
        GroundDistance::Ordered { positions } => {
            let n_present = class.n_distinct() as usize;
            let work = match &whole.line {
                Some(line) if n_present * SPARSE < n_values => {
                    sparse_ordered_work(positions, class, whole.n_rows, line)
                }
                _ => ordered_work(positions, class, whole),
            };
            work / denominator
        }
        GroundDistance::Hierarchical { levels } => {
            let leaves = excess_of_nodes(class, whole, 0, |code| code);
            let inner = (1..levels.len()).map(|height| {
                excess_of_nodes(class, whole, height, |code| levels[height - 1][code as usize])
            });
            (leaves + inner.sum::<i128>()) as f64 / (denominator * levels.len() as f64)
        }
    }
}

/// What an earth mover's distance is at least and at most, up to rounding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct EmdBounds {
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// Bounds of the ordered distance over many values, by the rows of the class in each stretch of the
/// line; nothing where there are no stretches.
///
/// Across a gap moves the difference between the shares of both before it. Within a stretch that of
/// the class rises from what lies before the stretch to what lies before the next, and that of the
/// table does, in a way that is known.
pub(crate) fn bounds_of_emd(class: &Histogram, whole: &WholeDistribution) -> Option<EmdBounds> {
    let line = whole.line.as_ref().filter(|line| !line.stretches.is_empty())?;
    if class.n_rows() == 0 {
        return None;
    }
    let row_share = 1.0 / class.n_rows() as f64;
    let (mut n_up_to, mut before) = (0u64, 0.0f64);
    let (mut least, mut most) = (0.0f64, 0.0f64);
    for (stretch, &n_own) in line.stretches.iter().zip(class.stretches()) {
        n_up_to += n_own;
        let up_to = n_up_to as f64 * row_share;
        let ahead = before * stretch.width - stretch.work;
        let behind = stretch.work - up_to * stretch.width;
        least += ahead.max(behind).max(0.0);
        most += stretch.width * (up_to - stretch.before).max(stretch.up_to - before);
        before = up_to;
    }
    Some(EmdBounds { least, most })
}

/// The positive excesses of the class over the table, summed over the nodes of one height, in units
/// of 1 / (n * N). Only nodes with rows of the class can have one, and each is a run of codes.
fn excess_of_nodes(
    class: &Histogram,
    whole: &WholeDistribution,
    height: usize,
    node_of: impl Fn(u32) -> u32,
) -> i128 {
    let totals = &whole.totals[height];
    let mut pairs = class.iter().peekable();
    let mut sum = 0;
    while let Some((code, mut n_class)) = pairs.next() {
        let node = node_of(code);
        while let Some((_, n)) = pairs.next_if(|&(next, _)| node_of(next) == node) {
            n_class += n;
        }
        sum += excess(n_class, class.n_rows(), totals[code as usize], whole.n_rows).max(0);
    }
    sum
}

/// The work on a line: across each gap between neighbours moves the excess of everything before it.
fn ordered_work(positions: &[f64], class: &Histogram, whole: &WholeDistribution) -> f64 {
    let (Some(first), Some(last)) = (positions.first(), positions.last()) else {
        return 0.0;
    };
    if last <= first {
        return 0.0;
    }
    let counts = &whole.totals[0];
    let (mut n_class, mut n_whole, mut work) = (0, 0, 0.0);
    let mut pairs = class.iter().peekable();
    for (code, gap) in positions.windows(2).map(|pair| pair[1] - pair[0]).enumerate() {
        n_whole += counts[code];
        if let Some((_, n)) = pairs.next_if(|&(present, _)| present as usize == code) {
            n_class += n;
        }
        let carried = excess(n_class, class.n_rows(), n_whole, whole.n_rows);
        work += gap * carried.unsigned_abs() as f64;
    }
    work / (last - first)
}

/// A class with fewer than one in so many values of a line is summed by stretches.
const SPARSE: usize = 32;

/// The same work, for a class with few of the values. Between two of them the class's count stands
/// still while the table's rises, so that the excess changes its sign at most once.
fn sparse_ordered_work(positions: &[f64], class: &Histogram, n_table: u64, line: &Line) -> f64 {
    let (Some(first), Some(last)) = (positions.first(), positions.last()) else {
        return 0.0;
    };
    if last <= first {
        return 0.0;
    }
    let n = class.n_rows();
    let n_gaps = positions.len() - 1;
    let (mut start, mut n_class, mut work) = (0, 0u64, 0.0);
    let ends = class.iter().map(|(code, n)| (code as usize, n)).chain([(n_gaps, 0)]);
    for (end, n_more) in ends {
        let stretch = &line.n_up_to[start..end];
        let n_ahead = stretch.partition_point(|&n_whole| excess(n_class, n, n_whole, n_table) >= 0);
        let turn = start + n_ahead;
        let of_class = n_class as f64 * n_table as f64;
        let between = |from: usize, to: usize| {
            let of_table = n as f64 * (line.work_before[to] - line.work_before[from]);
            of_class * (positions[to] - positions[from]) - of_table
        };
        work += between(start, turn).max(0.0) + (-between(turn, end)).max(0.0);
        n_class += n_more;
        start = end;
    }
    work / (last - first)
}

/// n_class / n - n_whole / N, in units of 1 / (n * N): exact.
fn excess(n_class: u64, n: u64, n_whole: u64, n_table: u64) -> i128 {
    i128::from(n_class) * i128::from(n_table) - i128::from(n_whole) * i128::from(n)
}

/// For each code, the count of the node it belongs to. Nodes are runs of codes.
fn node_totals(level: &[u32], counts: &[u64]) -> Vec<u64> {
    let mut totals = Vec::with_capacity(counts.len());
    for run in level.chunk_by(|a, b| a == b) {
        let start = totals.len();
        let total = counts[start..start + run.len()].iter().sum();
        totals.resize(start + run.len(), total);
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(counts: &[u64]) -> Histogram {
        let mut histogram = Histogram::new(counts.len() as u32);
        for (code, &n) in counts.iter().enumerate() {
            (0..n).for_each(|_| histogram.add(code as u32));
        }
        histogram
    }

    /// Salaries 3k..11k of Li et al. 2007, section 4.1: nine values, once each in the table.
    fn salaries(codes: &[usize]) -> f64 {
        let mut counts = [0; 9];
        codes.iter().for_each(|&code| counts[code] += 1);
        emd(&GroundDistance::ranks(9), &histogram(&counts), &histogram(&[1; 9]))
    }

    #[test]
    fn the_papers_salary_examples_come_out() {
        assert!((salaries(&[0, 1, 2]) - 0.375).abs() < 1e-12);
        assert!((salaries(&[3, 5, 8]) - 0.167).abs() < 1e-3);
    }

    #[test]
    fn the_equal_distance_is_half_the_sum_of_differences() {
        // 3/4, 1/4, 0 against 1/4, 1/4, 1/2.
        let distance = emd(&GroundDistance::Equal, &histogram(&[3, 1, 0]), &histogram(&[1, 1, 2]));
        assert_eq!(distance, 0.5);
    }

    #[test]
    fn the_numeric_variant_weighs_each_gap() {
        // All mass moves from 10 to 0 on a line of length 10, or from 1 to 0.
        let line = GroundDistance::Ordered { positions: vec![0.0, 1.0, 10.0] };
        assert_eq!(emd(&line, &histogram(&[1, 0, 0]), &histogram(&[0, 0, 1])), 1.0);
        assert_eq!(emd(&line, &histogram(&[1, 0, 0]), &histogram(&[0, 1, 0])), 0.1);
    }

    #[test]
    fn siblings_are_nearer_than_cousins() {
        let tree = GroundDistance::Hierarchical { levels: vec![vec![0, 0, 1, 1], vec![0; 4]] };
        let from_first = |whole: &[u64]| emd(&tree, &histogram(&[1, 0, 0, 0]), &histogram(whole));
        assert_eq!(from_first(&[0, 1, 0, 0]), 0.5);
        assert_eq!(from_first(&[0, 0, 1, 0]), 1.0);
        assert_eq!(from_first(&[1, 1, 1, 1]), 0.625);
    }

    #[test]
    fn a_class_that_mirrors_the_table_is_at_distance_exactly_zero() {
        let tree = GroundDistance::Hierarchical { levels: vec![vec![0, 0, 1], vec![0; 3]] };
        let line = GroundDistance::Ordered { positions: vec![0.1, 0.2, 0.7] };
        for distance in [GroundDistance::Equal, GroundDistance::ranks(3), line, tree] {
            assert_eq!(emd(&distance, &histogram(&[1, 2, 4]), &histogram(&[7, 14, 28])), 0.0);
        }
    }

    #[test]
    fn an_empty_class_is_near_and_an_empty_table_far() {
        let (some, none) = (histogram(&[1, 1]), histogram(&[0, 0]));
        assert_eq!(emd(&GroundDistance::Equal, &none, &some), 0.0);
        assert_eq!(emd(&GroundDistance::Equal, &some, &none), 1.0);
    }

    #[test]
    fn stretches_of_a_line_sum_up_to_its_gaps() {
        const N_VALUES: u32 = 500;
        let mut state = 1u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let mut position = 0.0;
            let positions: Vec<f64> = (0..N_VALUES)
                .map(|_| {
                    position += 0.1 + draw(1000) as f64;
                    position
                })
                .collect();
            let (mut whole, mut class) = (Histogram::new(N_VALUES), Histogram::new(N_VALUES));
            (0..300).for_each(|_| whole.add(draw(u64::from(N_VALUES)) as u32));
            (0..1 + draw(12)).for_each(|_| class.add(draw(u64::from(N_VALUES)) as u32));
            let line = GroundDistance::Ordered { positions: positions.clone() };
            let prepared = WholeDistribution::new(&line, &whole);
            let walked = ordered_work(&positions, &class, &prepared);
            let sums = prepared.line.as_ref().unwrap();
            let summed = sparse_ordered_work(&positions, &class, prepared.n_rows, sums);
            assert!((walked - summed).abs() <= 1e-12 * walked, "{walked} {summed}");
        }
    }

    #[test]
    fn bounds_of_a_line_hold_the_distance() {
        let mut state = 7u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let mut widest = 0.0f64;
        for round in 0..200 {
            let n_values = [1025, 3000, 4097, 70_000][round % 4];
            let mut position = 0.0;
            let mut next = |code: u32| {
                // Few values lie far from the others, or none.
                let is_far = round.is_multiple_of(3) && code.is_multiple_of(977);
                position += if is_far { draw(100_000) as f64 } else { draw(3) as f64 };
                position
            };
            let positions: Vec<f64> = (0..n_values).map(&mut next).collect();
            let line = GroundDistance::Ordered { positions };
            let (mut whole, mut class) = (Histogram::new(n_values), Histogram::new(n_values));
            (0..2000).for_each(|_| whole.add(draw(u64::from(n_values)) as u32));
            let end = 1 + draw(u64::from(n_values));
            (0..1 + draw(300)).for_each(|_| class.add(draw(end) as u32));
            let whole = WholeDistribution::new(&line, &whole);
            let exact = emd_to(&line, &class, &whole);
            let EmdBounds { least, most } = bounds_of_emd(&class, &whole).unwrap();
            assert!(least <= exact + 1e-12 && exact <= most + 1e-12, "{least} {exact} {most}");
            widest = widest.max(most - least);
        }
        assert!(widest < 0.5, "bounds that far apart decide nothing");
    }

    #[test]
    fn a_line_of_few_values_or_of_no_rows_has_no_bounds() {
        let (few, many) = (GroundDistance::ranks(1024), GroundDistance::ranks(1025));
        let bounds = |line: &GroundDistance, n_values: u32, n_whole: u64, n_class: u64| {
            let (mut whole, mut class) = (Histogram::new(n_values), Histogram::new(n_values));
            (0..n_whole).for_each(|_| whole.add(3));
            (0..n_class).for_each(|_| class.add(3));
            bounds_of_emd(&class, &WholeDistribution::new(line, &whole))
        };
        assert_eq!(bounds(&few, 1024, 1, 1), None);
        assert_eq!(bounds(&many, 1025, 0, 1), None);
        assert_eq!(bounds(&many, 1025, 1, 0), None);
        assert!(bounds(&many, 1025, 1, 1).is_some());
    }

    #[test]
    fn a_domain_of_one_value_has_no_distances() {
        for distance in
            [GroundDistance::ranks(1), GroundDistance::Hierarchical { levels: vec![vec![0]] }]
        {
            assert_eq!(emd(&distance, &histogram(&[2]), &histogram(&[5])), 0.0);
        }
    }
}
