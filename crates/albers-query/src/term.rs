//! Queries as boxes that share nothing, and their opposites.
//!
//! Guarantee: the terms of a query share no point, and neither do those of its opposite; a point
//! lies in a term of the one or of the other.
//! Cost: each term divides those before it into no more than one box for each of its axes, so that
//! many terms on many axes explode; their number is limited.

use crate::cover::Asked;

/// The most boxes that a query may come to.
pub const MAX_TERMS: usize = 1024;

/// A box: what is asked for on some axes, each named once, in ascending order; anything on all
/// others.
pub type Term = Vec<(usize, Asked)>;

/// A query, as boxes that share nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The boxes; none if nothing satisfies the query.
    terms: Vec<Term>,
    /// The boxes of all that does not satisfy it, where somebody needs them.
    opposite: Option<Vec<Term>>,
}

/// A query came to more boxes than [`MAX_TERMS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyTerms;

impl Query {
    /// A query that asks for one of some boxes, each a list of what is asked for on axes (all of
    /// it); `n_positions` of each axis.
    pub fn any_of(
        boxes: Vec<Vec<(usize, Asked)>>,
        n_positions: &[u32],
    ) -> Result<Query, TooManyTerms> {
        let boxes = boxes.into_iter().map(joined).filter(|term| !is_nothing(term));
        let mut terms: Vec<Term> = Vec::new();
        for term in boxes {
            let mut rest = vec![term];
            for known in &terms {
                rest = rest.iter().flat_map(|own| minus(own, known, n_positions)).collect();
                check(rest.len())?;
            }
            terms.extend(rest);
            check(terms.len())?;
        }
        Ok(Query { terms, opposite: None })
    }

    /// The boxes.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The same query, with the boxes of its opposite at hand.
    pub fn with_opposite(mut self, n_positions: &[u32]) -> Result<Query, TooManyTerms> {
        let mut rest: Vec<Term> = vec![Vec::new()];
        for term in &self.terms {
            rest = rest.iter().flat_map(|own| minus(own, term, n_positions)).collect();
            check(rest.len())?;
        }
        self.opposite = Some(rest);
        Ok(self)
    }

    /// The boxes of the opposite, where they were made.
    pub fn opposite(&self) -> Option<&[Term]> {
        self.opposite.as_deref()
    }
}

fn check(n_terms: usize) -> Result<(), TooManyTerms> {
    if n_terms > MAX_TERMS { Err(TooManyTerms) } else { Ok(()) }
}

/// A box whose axes are named once.
fn joined(mut tests: Vec<(usize, Asked)>) -> Term {
    tests.sort_by_key(|(axis, _)| *axis);
    let mut term: Term = Vec::with_capacity(tests.len());
    for (axis, asked) in tests {
        match term.last_mut().filter(|(known, _)| *known == axis) {
            Some((_, known)) => *known = known.and(&asked),
            None => term.push((axis, asked)),
        }
    }
    term
}

fn is_nothing(term: &Term) -> bool {
    term.iter().any(|(_, asked)| asked.is_nothing())
}

/// A box without another, as boxes that share nothing: on each axis of the other in turn what is
/// not asked for there, and on the axes before it only what is.
pub(crate) fn minus(term: &Term, other: &Term, n_positions: &[u32]) -> Vec<Term> {
    let mut parts = Vec::new();
    let mut inside = term.clone();
    for (axis, asked) in other {
        let outside = narrowed(&inside, *axis, &asked.opposite(n_positions[*axis]));
        parts.extend(Some(outside).filter(|part| !is_nothing(part)));
        inside = narrowed(&inside, *axis, asked);
        if is_nothing(&inside) {
            return parts;
        }
    }
    parts
}

/// A box with one axis narrowed.
fn narrowed(term: &Term, axis: usize, asked: &Asked) -> Term {
    let mut narrowed = term.clone();
    match narrowed.binary_search_by_key(&axis, |(own, _)| *own) {
        Ok(place) => narrowed[place].1 = narrowed[place].1.and(asked),
        Err(place) => narrowed.insert(place, (axis, asked.clone())),
    }
    narrowed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const N: [u32; 3] = [5, 4, 3];

    fn asked() -> impl Strategy<Value = Asked> {
        (prop::collection::vec(0u32..5, 0..4), any::<bool>())
            .prop_map(|(positions, missing)| Asked { missing, ..Asked::positions(positions) })
    }

    fn test() -> impl Strategy<Value = (usize, Asked)> {
        (0usize..3, asked()).prop_map(|(axis, asked)| {
            let whole = Asked { missing: true, ..Asked::range(0, N[axis] - 1) };
            (axis, asked.and(&whole))
        })
    }

    /// A position, or the missing value.
    type Coordinate = Option<u32>;

    fn is_in(term: &[(usize, Asked)], point: [Coordinate; 3]) -> bool {
        term.iter().all(|(axis, asked)| match point[*axis] {
            None => asked.missing,
            Some(own) => asked.spans.iter().any(|&(first, last)| (first..=last).contains(&own)),
        })
    }

    proptest! {
        #[test]
        fn every_point_is_in_one_term_of_a_query_or_of_its_opposite(
            boxes in prop::collection::vec(prop::collection::vec(test(), 0..4), 0..4),
        ) {
            let query = Query::any_of(boxes.clone(), &N).and_then(|own| own.with_opposite(&N));
            let query = query.expect("few boxes");
            let axis = |n: u32| (0..n).map(Some).chain([None]);
            for x in axis(N[0]) {
                for y in axis(N[1]) {
                    for z in axis(N[2]) {
                        let point = [x, y, z];
                        let wanted = boxes.iter().any(|own| is_in(own, point));
                        let count = |terms: &[Term]| {
                            terms.iter().filter(|own| is_in(own, point)).count()
                        };
                        prop_assert_eq!(count(query.terms()), usize::from(wanted));
                        let opposite = query.opposite().expect("it was made");
                        prop_assert_eq!(count(opposite), usize::from(!wanted));
                    }
                }
            }
        }
    }
}
