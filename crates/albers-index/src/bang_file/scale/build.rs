//! The scale of an attribute.

use albers_classes::Attribute;
use albers_classes::points::Points;
use albers_classes::space::Shown;
use albers_table::code::Code;
use albers_table::domain::{Domain, End, OrderedValue};
use albers_table::hierarchy::{Hierarchy, Node};

use super::{Cells, MAX_BITS, MOST_BITS, Scale, ScaleLines, ScaleSpec, bits_for, cell_on_line};

/// Why an attribute has no such scale. Neither part holds a value of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScaleProblem {
    /// What is wrong.
    pub problem: String,
    /// What would do.
    pub hint: String,
}

impl ScaleProblem {
    fn new(problem: impl Into<String>, hint: impl Into<String>) -> ScaleProblem {
        ScaleProblem { problem: problem.into(), hint: hint.into() }
    }
}

impl Scale {
    /// The scale of the attribute at this place of the points, see [`Scale::of_counts`].
    pub fn of(
        spec: Option<&ScaleSpec>,
        attribute: &Attribute,
        (points, place): (&Points, usize),
    ) -> Result<Scale, ScaleProblem> {
        let mut counts = CodeCounts::wanted(spec, &attribute.domain);
        if let Some(counts) = &mut counts {
            let codes = points.chunks().iter().flat_map(|chunk| &chunk.columns[place]);
            codes.for_each(|&code| counts.add(code));
        }
        Scale::of_counts(spec, (&attribute.domain, attribute.shown), counts.as_ref())
    }

    /// The scale of a domain that is shown so: what is asked for, or the nodes of the hierarchy where labels are
    /// shown, and ranges of equal length everywhere else. `counts` are those of all rows, where they
    /// are wanted.
    pub fn of_counts(
        spec: Option<&ScaleSpec>,
        (domain, shown): (&Domain, Shown),
        counts: Option<&CodeCounts>,
    ) -> Result<Scale, ScaleProblem> {
        match spec {
            None if shown == Shown::Label => of_hierarchy(domain),
            None => Ok(of_codes(domain, None)),
            Some(ScaleSpec::Hierarchy) => of_hierarchy(domain),
            Some(ScaleSpec::Equal { ends: None, n_bits }) => Ok(of_codes(domain, *n_bits)),
            Some(ScaleSpec::Equal { ends: Some((lo, hi)), n_bits }) => {
                of_ends(domain, (lo, hi), *n_bits)
            }
            Some(ScaleSpec::Quantile { n_bits }) => {
                Ok(of_quantiles(domain, *n_bits, counts.expect("rows are counted for quantiles")))
            }
            Some(ScaleSpec::Lines(lines)) => of_lines(domain, lines),
            Some(ScaleSpec::File(_)) => {
                Err(ScaleProblem::new("is that of a file that was not read", "read it first"))
            }
        }
    }

    /// The scale of a domain with these cells of values.
    pub(super) fn with(domain: &Domain, n_value_bits: u32, cells: Cells) -> Scale {
        let (first, last) = domain.code_range();
        let missing = domain.missing_code().map(Code::get);
        Scale { missing, codes: (first.get(), last.get()), n_value_bits, cells }
    }
}

/// How many rows have which codes, the missing one left out. Codes of values that lie near each other
/// are counted in stretches of equal length where they are too many.
#[derive(Debug, Clone)]
pub struct CodeCounts {
    missing: Option<u32>,
    places: Places,
    n_rows: Vec<u64>,
}

/// Where the rows of a code are counted.
#[derive(Debug, Clone)]
enum Places {
    /// In stretches of so many codes, as bits, from the first code on.
    Stretches { first: u32, shift: u32 },
    /// One by one.
    Listed(Vec<u32>),
}

impl CodeCounts {
    /// More stretches tell little more of a million ranges.
    const MAX_STRETCHES: u32 = 1 << 20;

    /// No rows, where a scale wants them counted.
    pub fn wanted(spec: Option<&ScaleSpec>, domain: &Domain) -> Option<CodeCounts> {
        if !matches!(spec, Some(ScaleSpec::Quantile { .. })) {
            return None;
        }
        let (places, n_places) = match domain.far_codes() {
            Some(codes) => {
                let codes: Vec<u32> = codes.map(Code::get).collect();
                let n_places = codes.len();
                (Places::Listed(codes), n_places)
            }
            None => {
                let (first, last) = domain.code_range();
                let mut shift = 0;
                while (last - first) >> shift >= CodeCounts::MAX_STRETCHES {
                    shift += 1;
                }
                let n_places = ((last - first) >> shift) as usize + 1;
                (Places::Stretches { first: first.get(), shift }, n_places)
            }
        };
        let missing = domain.missing_code().map(Code::get);
        Some(CodeCounts { missing, places, n_rows: vec![0; n_places] })
    }

    /// What they take.
    pub fn n_bytes(&self) -> usize {
        self.n_rows.len() * (size_of::<u64>() + size_of::<u32>())
    }

    /// Adds a row.
    #[inline]
    pub fn add(&mut self, code: u32) {
        if self.missing != Some(code) {
            let place = match &self.places {
                Places::Stretches { first, shift } => ((code - first) >> shift) as usize,
                Places::Listed(codes) => codes.partition_point(|&own| own < code),
            };
            self.n_rows[place] += 1;
        }
    }

    /// The first code of each place that has rows, and how many.
    fn counted(&self) -> impl Iterator<Item = (u32, u64)> {
        let all = self.n_rows.iter().enumerate().filter(|(_, n_rows)| **n_rows > 0);
        all.map(|(place, &n_rows)| match &self.places {
            Places::Stretches { first, shift } => (first + ((place as u32) << shift), n_rows),
            Places::Listed(codes) => (codes[place], n_rows),
        })
    }
}

fn of_codes(domain: &Domain, n_bits: Option<u32>) -> Scale {
    let (first, last) = domain.code_range();
    let enough = bits_for(u128::from(last - first) + 1).min(MAX_BITS);
    Scale::with(domain, n_bits.unwrap_or(enough), Cells::Codes)
}

/// Ranges of equal length between two values.
fn of_ends(
    domain: &Domain,
    (lo, hi): (&str, &str),
    n_bits: Option<u32>,
) -> Result<Scale, ScaleProblem> {
    check_is_ordered(domain, "has ends")?;
    let kind = domain.column_type();
    let read = |text: &str, end: End| {
        domain.bound(text, end).map_err(|_| {
            let problem = format!("has an end that is no {kind}, which the column's values are");
            ScaleProblem::new(problem, "write for example equal:0..100")
        })
    };
    let (lo, hi) = (read(lo, End::Low)?, read(hi, End::High)?);
    if lo >= hi {
        let problem = if lo == hi { "ends where it begins" } else { "ends before it begins" };
        return Err(ScaleProblem::new(problem, "write the least value first, equal:0..100"));
    }
    let (first, _) = domain.code_range();
    match (lo, hi, domain.ticks(first), domain.far_codes()) {
        (OrderedValue::Ticks(lo), OrderedValue::Ticks(hi), Some(least), None) => {
            let length = i128::from(hi) - i128::from(lo) + 1;
            let enough = bits_for(length.unsigned_abs()).min(MAX_BITS);
            let origin = i128::from(least) - i128::from(lo);
            let n_bits = n_bits.unwrap_or(enough);
            Ok(Scale::with(domain, n_bits, Cells::Line { origin, length }))
        }
        (_, _, _, far) => {
            let n_bits = n_bits.unwrap_or(MAX_BITS);
            let numbered = far.into_iter().flatten().filter_map(|code| {
                Some((code.get(), cell_between(domain.value(code)?, (lo, hi), n_bits)))
            });
            Ok(listed(domain, n_bits, numbered))
        }
    }
}

/// The cell of a value on the line from one value to another.
fn cell_between(value: OrderedValue, ends: (OrderedValue, OrderedValue), n_bits: u32) -> u64 {
    match (value, ends) {
        (OrderedValue::Ticks(at), (OrderedValue::Ticks(lo), OrderedValue::Ticks(hi))) => {
            let place = i128::from(at) - i128::from(lo);
            cell_on_line(place, i128::from(hi) - i128::from(lo) + 1, n_bits)
        }
        (OrderedValue::Float(at), (OrderedValue::Float(lo), OrderedValue::Float(hi))) => {
            // Halved, so that the distance of the two ends of f64 stays finite.
            let share = (at / 2.0 - lo / 2.0) / (hi / 2.0 - lo / 2.0);
            let n_cells = (1u64 << n_bits) as f64;
            ((share.clamp(0.0, 1.0) * n_cells) as u64).min((1 << n_bits) - 1)
        }
        _ => 0,
    }
}

/// Ranges of about equally many rows.
fn of_quantiles(domain: &Domain, n_bits: Option<u32>, counts: &CodeCounts) -> Scale {
    let n_rows: u64 = counts.n_rows.iter().sum();
    // With a cell for each row, each value has one of its own.
    let enough = bits_for(n_rows.into()).min(MAX_BITS);
    let n_bits = n_bits.unwrap_or(enough);
    let mut n_before = 0;
    let numbered = counts.counted().map(|(code, n_own)| {
        let number = cell_on_line(n_before, n_rows.into(), n_bits);
        n_before += i128::from(n_own);
        (code, number)
    });
    listed(domain, n_bits, numbered)
}

/// The nodes of the hierarchy, each a dyadic range.
fn of_hierarchy(domain: &Domain) -> Result<Scale, ScaleProblem> {
    let Some(tree) = domain.hierarchy() else {
        return Err(ScaleProblem::new(
            "is that of a hierarchy, which the column does not have as it is shown",
            "add a hierarchy, or use equal",
        ));
    };
    let (numbers, n_bits) = leaf_cells(tree);
    if n_bits > MOST_BITS {
        return Err(ScaleProblem::new(
            format!(
                "would need {n_bits} bits for its hierarchy, more than the {MOST_BITS} possible"
            ),
            "use equal, or a hierarchy of fewer levels",
        ));
    }
    Ok(listed(domain, n_bits, (0..).zip(numbers)))
}

/// The cell of each leaf, and the bits of these cells: below each node its children are numbered,
/// in as many bits as tell apart those of the node of its level that has most.
fn leaf_cells(tree: &Hierarchy) -> (Vec<u64>, u32) {
    let mut numbers = vec![0u64; tree.n_leaves() as usize];
    let mut n_bits = 0u32;
    for level in 0..tree.height() {
        let parents = (0..tree.n_nodes(level + 1)).map(|index| Node { level: level + 1, index });
        let mut most_children = 1;
        // Where all values are missing, the top holds none.
        let leaves = parents.map(|parent| tree.leaves_of(parent));
        for leaves in leaves.filter(|leaves| !leaves.is_empty()) {
            let first_child = tree.node_at(level, leaves.start);
            for leaf in leaves {
                let child = tree.node_at(level, leaf) - first_child;
                most_children = most_children.max(child + 1);
                // What no longer fits is refused when all bits are counted.
                numbers[leaf.index()] |= (child as u64).checked_shl(n_bits).unwrap_or(0);
            }
        }
        n_bits += bits_for(most_children as u128);
    }
    (numbers, n_bits)
}

/// Ranges that a file lists, `LO,HI` on each line: from LO on, and below HI.
fn of_lines(domain: &Domain, lines: &ScaleLines) -> Result<Scale, ScaleProblem> {
    check_is_ordered(domain, "is a file of ranges")?;
    let at = |line: usize, problem: &str| {
        let problem = format!("is a file whose line {} {problem}", line + 1);
        ScaleProblem::new(
            problem,
            "write one range LO,HI on each line, each from where the last ends",
        )
    };
    let read = |line: usize, text: &str| {
        let kind = domain.column_type();
        let value = domain.bound(text.trim(), End::Low);
        value.map_err(|_| at(line, &format!("has an end that is no {kind}")))
    };
    let mut starts: Vec<OrderedValue> = Vec::new();
    let mut last_end: Option<OrderedValue> = None;
    let text = lines.text.lines().map(str::trim).enumerate();
    for (line, text) in text.filter(|(_, text)| !text.is_empty()) {
        let (lo, hi) = text.split_once(',').ok_or_else(|| at(line, "has no comma"))?;
        let (lo, hi) = (read(line, lo)?, read(line, hi)?);
        match last_end {
            _ if lo >= hi => return Err(at(line, "ends before it begins")),
            Some(end) if end < lo => return Err(at(line, "leaves a gap to the line before")),
            Some(end) if end > lo => return Err(at(line, "overlaps the line before")),
            _ => {}
        }
        starts.push(lo);
        last_end = Some(hi);
    }
    let n_bits = bits_for(starts.len() as u128);
    if starts.is_empty() || n_bits > MAX_BITS {
        let problem = "is a file without ranges, or with more than 16,777,216";
        return Err(ScaleProblem::new(problem, "write one range LO,HI on each line"));
    }
    let (first, _) = domain.code_range();
    let mut numbered: Vec<(u32, u64)> = vec![(first.get(), 0)];
    for (number, start) in (0..).zip(starts) {
        // Ranges behind the greatest value hold nobody.
        let Some((code, _)) = domain.span_between(Some(start), None) else { break };
        let code = code.get();
        match numbered.last_mut() {
            Some(last) if last.0 == code => last.1 = number,
            _ => numbered.push((code, number)),
        }
    }
    Ok(listed(domain, n_bits, numbered))
}

/// The scale of cells that begin at these codes, ascending; some may share a number.
fn listed(domain: &Domain, n_bits: u32, numbered: impl IntoIterator<Item = (u32, u64)>) -> Scale {
    let first = domain.code_range().0.get();
    let (mut starts, mut numbers) = (Vec::new(), Vec::new());
    for (code, number) in numbered {
        if numbers.last() != Some(&number) {
            starts.push(if starts.is_empty() { first } else { code });
            numbers.push(number);
        }
    }
    if starts.is_empty() {
        (starts, numbers) = (vec![first], vec![0]);
    }
    Scale::with(domain, n_bits, Cells::Listed { starts, numbers })
}

fn check_is_ordered(domain: &Domain, what: &str) -> Result<(), ScaleProblem> {
    match domain.is_ordered() {
        true => Ok(()),
        false => Err(ScaleProblem::new(
            format!("{what}, and the column's values have no distances as they are shown"),
            "use equal, quantile or hierarchy",
        )),
    }
}
