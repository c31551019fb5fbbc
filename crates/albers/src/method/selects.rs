//! The selections of a plan, on the columns of its table.

use albers_classes::Span;
use albers_classes::points::Points;
use albers_partition::split::workload::{Predicate, Term};
use albers_table::code::{Code, CodeRange};
use albers_table::domain::{Domain, End, OrderedValue};
use albers_table::schema::ColumnType;
use albers_table::value::{self, ParseProblem};

use crate::condition::{Asks, MAX_BOXES, Side, Test};
use crate::error::{Error, Result};
use crate::plan::PlannedSelect;
use crate::report::Note;

/// The predicates of some selections: one for each box.
pub(crate) struct TableSelects {
    pub(crate) predicates: Vec<Predicate>,
    /// Where the predicates of each selection end.
    ends: Vec<usize>,
}

impl TableSelects {
    /// On quasi-identifiers with these domains.
    pub(crate) fn of(selects: &[PlannedSelect], quasi: &[&Domain]) -> Result<TableSelects> {
        let mut found = TableSelects { predicates: Vec::new(), ends: Vec::new() };
        for select in selects {
            let first = found.predicates.len();
            for tests in select.condition.boxes() {
                let terms = terms_of(tests, quasi)?;
                let predicate = |terms| Predicate { weight: select.weight, terms };
                found.predicates.extend(terms.map(predicate));
            }
            if found.predicates.len() == first {
                return Err(Error::usage(
                    "a selection contradicts itself: no row can satisfy it",
                    "ask for what some value can be",
                ));
            }
            found.ends.push(found.predicates.len());
        }
        Ok(found)
    }

    /// The predicates as cuts see them: where a box asks for several runs of codes of an attribute,
    /// as `in` and `<>` do, each run is a box of its own, as long as there are not too many. A cut
    /// can then part the runs.
    pub(crate) fn for_cuts(&self) -> Vec<Predicate> {
        let mut n_boxes = self.predicates.len();
        let mut found = Vec::new();
        for predicate in &self.predicates {
            let n_runs: usize =
                predicate.terms.iter().map(|term| term.codes.len().max(1)).product();
            if n_runs > 1 && n_boxes - 1 + n_runs <= MAX_BOXES {
                n_boxes += n_runs - 1;
                found.extend(run_by_run(predicate));
            } else {
                found.push(predicate.clone());
            }
        }
        found
    }

    /// The predicates of each selection.
    pub(crate) fn each(&self) -> impl Iterator<Item = &[Predicate]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.predicates[start..end])
    }
}

/// How many rows each selection has.
pub(crate) struct SelectedRows<'s> {
    selects: Option<&'s TableSelects>,
    counts: Vec<u64>,
}

impl<'s> SelectedRows<'s> {
    /// None yet.
    pub(crate) fn new(selects: Option<&'s TableSelects>) -> SelectedRows<'s> {
        SelectedRows { selects, counts: vec![0; selects.map_or(0, |own| own.ends.len())] }
    }

    /// Counts some rows.
    pub(crate) fn add<'r>(&mut self, rows: impl Iterator<Item = &'r [u32]>) {
        let Some(selects) = self.selects.filter(|own| !own.ends.is_empty()) else { return };
        for codes in rows {
            for (count, any) in self.counts.iter_mut().zip(selects.each()) {
                *count += u64::from(any.iter().any(|own| own.selects(codes)));
            }
        }
    }

    /// Counts the rows of a table in memory.
    pub(crate) fn add_points(&mut self, points: &Points) {
        if self.counts.is_empty() {
            return;
        }
        let mut codes = vec![0; points.n_attributes()];
        for chunk in points.chunks() {
            for row in 0..chunk.n_rows {
                codes.iter_mut().zip(&chunk.columns).for_each(|(code, own)| *code = own[row]);
                self.add(std::iter::once(&codes[..]));
            }
        }
    }

    /// Adds what was counted of other rows.
    pub(crate) fn merge(&mut self, other: &SelectedRows<'_>) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, other)| *own += other);
    }

    /// Of selections with fewer than k rows; how many they have is not told.
    pub(crate) fn notes(&self, k: u64) -> Vec<Note> {
        let places = (1..).zip(&self.counts);
        places
            .filter(|(_, n_rows)| **n_rows < k)
            .map(|(place, _)| Note::SelectsFew { place })
            .collect()
    }
}

/// A predicate for each choice of one run for each attribute.
fn run_by_run(predicate: &Predicate) -> Vec<Predicate> {
    let mut found = vec![Predicate { weight: predicate.weight, terms: Vec::new() }];
    for term in &predicate.terms {
        let runs = term.codes.iter().map(|&run| Term { axis: term.axis, codes: vec![run] });
        let runs: Vec<Term> =
            if term.codes.is_empty() { vec![term.clone()] } else { runs.collect() };
        let with = |own: &Predicate, run: &Term| Predicate {
            weight: own.weight,
            terms: [&own.terms[..], std::slice::from_ref(run)].concat(),
        };
        found = found.iter().flat_map(|own| runs.iter().map(move |run| with(own, run))).collect();
    }
    found
}

/// The tests of a box, column by column; nothing if they contradict each other.
fn terms_of(tests: &[Test], quasi: &[&Domain]) -> Result<Option<Vec<Term>>> {
    let mut terms: Vec<Term> = Vec::new();
    for test in tests {
        let named = quasi.iter().position(|own| own.name() == test.column);
        let axis = named.expect("selections ask for quasi-identifiers");
        let codes = codes_of(test, quasi[axis])?;
        match terms.iter_mut().find(|term| term.axis == axis) {
            Some(term) => {
                let both = common(&term.codes, &codes);
                if both.is_empty() && !term.codes.is_empty() && !codes.is_empty() {
                    return Ok(None);
                }
                term.codes = both;
            }
            None => terms.push(Term { axis, codes }),
        }
    }
    Ok(Some(terms))
}

/// The codes that pass a test, as ascending runs; none where no value of the table does.
fn codes_of(test: &Test, domain: &Domain) -> Result<Vec<Span>> {
    let present = domain.code_range();
    Ok(match &test.asks {
        Asks::Missing(true) => domain.missing_code().map(|code| (code, code)).into_iter().collect(),
        Asks::Missing(false) => vec![present],
        Asks::Bound(side, text) if domain.is_ordered() => {
            bounded(domain, *side, text).map_err(|problem| unlike(domain, problem))?
        }
        Asks::Bound(side, text) => ordered_names(test, domain, *side, text)?,
        Asks::OneOf { values, negated } => {
            let mut runs = Vec::new();
            for text in values {
                runs.extend(match domain.is_ordered() {
                    true => equal(domain, text).map_err(|problem| unlike(domain, problem))?,
                    false => named(domain, text).map_err(|problem| unlike(domain, problem))?,
                });
            }
            let runs = merged(runs);
            if *negated { outside(&runs, present) } else { runs }
        }
    })
}

/// The codes on one side of a value.
fn bounded(
    domain: &Domain,
    side: Side,
    text: &str,
) -> std::result::Result<Vec<Span>, ParseProblem> {
    let text = &plain(text);
    let (lo, hi) = match side {
        Side::From => (Some(domain.bound(text, End::Low)?), None),
        Side::Above => (Some(domain.bound(text, End::High)?.inward(End::Low)), None),
        Side::UpTo => (None, Some(domain.bound(text, End::High)?)),
        Side::Below => (None, Some(domain.bound(text, End::Low)?.inward(End::High))),
    };
    Ok(domain.span_between(lo, hi).into_iter().collect())
}

/// A number as a column of numbers writes it; one that no column can hold as the nearest that some
/// can.
fn plain(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(number) if number.abs() >= i64::MAX as f64 => {
            if number > 0.0 { i64::MAX } else { i64::MIN }.to_string()
        }
        Ok(number) if text.contains(['e', 'E']) && number.abs() >= 1e-9 => number.to_string(),
        _ => text.to_owned(),
    }
}

fn equal(domain: &Domain, text: &str) -> std::result::Result<Vec<Span>, ParseProblem> {
    let ends: [OrderedValue; 2] = [domain.bound(text, End::Low)?, domain.bound(text, End::High)?];
    Ok(domain.span_between(Some(ends[0]), Some(ends[1])).into_iter().collect())
}

/// The codes of a name, or of all leaves below a label. A text that is neither must be of the type of
/// the column.
fn named(domain: &Domain, text: &str) -> std::result::Result<Vec<Span>, ParseProblem> {
    if let Some(hierarchy) = domain.hierarchy()
        && let Some(node) = hierarchy.node_by_label(text)
    {
        let leaves = hierarchy.leaves_of(node);
        return Ok(merged(leaves.into_iter().map(|code| (code, code)).collect()));
    }
    let truth = match domain.column_type() {
        ColumnType::Boolean => Some(value::parse_boolean(text.as_bytes())?.to_string()),
        _ => None,
    };
    let text = truth.as_deref().unwrap_or(text);
    let number = domain.numbers().map(|_| number_of(domain, text)).transpose()?;
    let is_same = |code: Code| {
        let numbers = domain.numbers().and_then(|numbers| numbers.get(code.index()));
        domain.category(code) == Some(text)
            || numbers.zip(number).is_some_and(|(own, number)| *own == number)
    };
    Ok(runs_of(domain, is_same))
}

/// The number that a text stands for among those of a domain.
fn number_of(domain: &Domain, text: &str) -> std::result::Result<f64, ParseProblem> {
    match domain.column_type() {
        ColumnType::Date => value::parse_date(text.as_bytes()).map(|days| days as f64),
        ColumnType::Timestamp => {
            value::parse_timestamp(text.as_bytes()).map(|(microseconds, _)| microseconds as f64)
        }
        _ => value::parse_float(text.as_bytes()),
    }
}

/// The codes on one side of a value, of names that stand for numbers, days or times.
fn ordered_names(test: &Test, domain: &Domain, side: Side, text: &str) -> Result<Vec<Span>> {
    let lies = |order| side.has(order);
    if let Some(numbers) = domain.numbers() {
        let bound = number_of(domain, text).map_err(|problem| unlike(domain, problem))?;
        let order = |code: Code| numbers.get(code.index())?.partial_cmp(&bound);
        return Ok(runs_of(domain, |code| order(code).is_some_and(lies)));
    }
    Err(Error::usage(
        format!("a selection asks for an order of column '{}', which has none", test.column),
        "ask for values with = or in",
    ))
}

fn unlike(domain: &Domain, problem: ParseProblem) -> Error {
    let problem = match problem {
        ParseProblem::NotA(_) | ParseProblem::NeedsWider { .. } => {
            format!("the value is not of type {}", domain.column_type())
        }
        other => other.problem(),
    };
    Error::usage(
        format!(
            "a selection compares column '{}' with what it cannot hold: {problem}",
            domain.name()
        ),
        "write the value as the table does",
    )
}

/// The codes of a category that pass, as runs.
fn runs_of(domain: &Domain, passes: impl Fn(Code) -> bool) -> Vec<Span> {
    let (first, last) = domain.code_range();
    let codes = CodeRange { start: first, end: last + 1 };
    merged(codes.into_iter().filter(|&code| passes(code)).map(|code| (code, code)).collect())
}

/// Ascending runs that neither touch nor overlap.
fn merged(mut runs: Vec<Span>) -> Vec<Span> {
    runs.sort_unstable();
    let mut merged: Vec<Span> = Vec::new();
    for (lo, hi) in runs {
        match merged.last_mut() {
            Some(last) if lo <= last.1 || lo - last.1 == 1 => last.1 = last.1.max(hi),
            _ => merged.push((lo, hi)),
        }
    }
    merged
}

/// The codes that both have.
fn common(one: &[Span], other: &[Span]) -> Vec<Span> {
    let pairs = one.iter().flat_map(|a| other.iter().map(move |b| (a.0.max(b.0), a.1.min(b.1))));
    merged(pairs.filter(|(lo, hi)| lo <= hi).collect())
}

/// The codes of a range that are in none of some runs.
fn outside(runs: &[Span], (first, last): Span) -> Vec<Span> {
    let mut rest = Vec::new();
    let mut next = first;
    for &(lo, hi) in runs {
        rest.extend((lo > next).then(|| (next, Code::new(lo.get() - 1))));
        next = hi + 1;
    }
    rest.extend((next <= last).then_some((next, last)));
    rest
}

#[cfg(test)]
mod tests {
    use albers_classes::region::span;

    use super::*;

    #[test]
    fn runs_of_codes_are_joined_cut_and_turned_round() {
        let runs = |all: &[(u32, u32)]| -> Vec<Span> {
            all.iter().map(|&(lo, hi)| span(lo, hi)).collect()
        };
        assert_eq!(merged(runs(&[(5, 6), (1, 2), (3, 3), (6, 9)])), runs(&[(1, 3), (5, 9)]));
        assert_eq!(common(&runs(&[(1, 5), (8, 9)]), &runs(&[(4, 8)])), runs(&[(4, 5), (8, 8)]));
        assert_eq!(outside(&runs(&[(1, 3), (5, 9)]), span(0, 9)), runs(&[(0, 0), (4, 4)]));
        assert_eq!(outside(&runs(&[(0, 9)]), span(0, 9)), []);
        assert_eq!(outside(&[], span(2, 4)), runs(&[(2, 4)]));
    }
}
