//! Rows that came after a coding was made: where their values lie in it.
//!
//! ```text
//!   known values      10        20   25             40
//!                ──────┼─────────┼────┼──────────────┼──────
//!   later value     7: beyond  18: inside, as 20       44: beyond
//! ```
//!
//! Guarantee: a value has the same place whatever rows come with it. A value between two known ones
//! goes the way of the greater, on which side of a cut it lies in a coding that has grown by it.
//! Cost: a look at the ends of each chunk; a search for each row where something is not inside.

#[cfg(test)]
mod tests;

use super::column::Lookup;
use super::survey::present_keys;
use super::{ColumnCoder, ColumnCoding, ColumnSurvey, Look};
use crate::Result;
use crate::chunk::{Cells, ColumnChunk, TickUnit, tick_bounds};
use crate::coding::grow::CodeMap;
use crate::domain::DomainKind;
use crate::domain::scale::{Scale, all_keys, names_and_numbers};
use crate::hierarchy::Hierarchy;
use crate::value;

/// How a value lies to the values of a coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// It is one of them, or lies between two.
    Inside,
    /// It lies below the least or above the greatest.
    Beyond,
    /// It is a name that nobody had, or a missing value where none was missing.
    Unknown,
}

/// Where the values of a chunk lie.
pub struct Placed {
    /// The code that tells each row's way: its own, or the nearest.
    pub codes: Vec<u32>,
    /// How each lies to the coding.
    pub fits: Vec<Fit>,
}

impl ColumnCoding {
    /// Whether the cells of a chunk are of the kind that the coding knows.
    pub fn reads(&self, chunk: &ColumnChunk) -> bool {
        self.has_same_cells(chunk)
    }

    /// What has to be found out about later rows of the column.
    pub fn later_look(&self) -> Look {
        match self.domain.kind {
            DomainKind::Near { .. } => Look::Ends,
            _ => Look::Values,
        }
    }

    /// A survey of later rows, which lie inside.
    pub fn later_survey(&self, look: Look) -> ColumnSurvey {
        ColumnSurvey::of_unit(&self.domain.name, look, self.unit)
    }

    /// Whether all values of a chunk are inside: told by its ends where values are ordered.
    pub fn covers(&self, chunk: &ColumnChunk) -> bool {
        if !chunk.missing.is_empty() && self.domain.n_missing == 0 {
            return false;
        }
        if chunk.missing.len() == chunk.n_rows() {
            return true;
        }
        if !self.has_same_cells(chunk) {
            return false;
        }
        match (self.line(), &chunk.cells) {
            (Some(line), _) => {
                let around = |(lo, hi): (i64, i64), key: i64| (lo.min(key), hi.max(key));
                let by_key = || present_keys(chunk).fold((i64::MAX, i64::MIN), around);
                let (lo, hi) = tick_bounds(chunk).unwrap_or_else(by_key);
                let steps = self.steps(chunk.unit());
                [lo, hi].iter().all(|&key| line.fit(steps.key(key)) == Fit::Inside)
            }
            (None, Cells::Names { names, .. }) => {
                names.iter().all(|name| self.code_of_name(name).is_some())
            }
            (None, _) => {
                let steps = self.steps(chunk.unit());
                let is_known =
                    |key| steps.exact(key).and_then(|key| self.code_of_key(key)).is_some();
                present_keys(chunk).all(is_known)
            }
        }
    }

    /// Where the values of a chunk lie; its cells must be of the kind that the coding knows.
    pub fn placed(&self, chunk: &ColumnChunk) -> Placed {
        let n_rows = chunk.n_rows();
        let mut placed = Placed { codes: vec![0; n_rows], fits: vec![Fit::Unknown; n_rows] };
        let is_empty = chunk.missing.len() == n_rows || !self.has_same_cells(chunk);
        let first_code = self.domain.first_code().get();
        let mut set = |row: usize, fit: Fit, code: u32| {
            (placed.fits[row], placed.codes[row]) = (fit, code);
        };
        match (self.line(), &chunk.cells) {
            _ if is_empty => {}
            (Some(line), cells) => {
                let steps = self.steps(chunk.unit());
                for (row, key) in all_keys(cells).enumerate() {
                    let key = steps.key(key);
                    set(row, line.fit(key), first_code + line.place(key));
                }
            }
            (None, Cells::Names { names, places }) => {
                let codes: Vec<Option<u32>> =
                    names.iter().map(|name| self.code_of_name(name)).collect();
                for (row, &place) in places.iter().enumerate() {
                    if let Some(&Some(code)) = codes.get(place as usize) {
                        set(row, Fit::Inside, code);
                    }
                }
            }
            (None, cells) => {
                let steps = self.steps(chunk.unit());
                for (row, key) in all_keys(cells).enumerate() {
                    if let Some(code) = steps.exact(key).and_then(|key| self.code_of_key(key)) {
                        set(row, Fit::Inside, code);
                    }
                }
            }
        }
        let missing = self.domain.missing_code();
        for &row in &chunk.missing {
            match missing {
                Some(code) => set(row as usize, Fit::Inside, code.get()),
                None => set(row as usize, Fit::Unknown, 0),
            }
        }
        placed
    }

    /// Which values of a chunk a coding has to grow for, if there are any: far ones that it does not
    /// have, and near ones with more digits. Of values that are outside nothing is told.
    pub fn grows_by(&self, chunk: &ColumnChunk) -> Option<Vec<bool>> {
        let steps = self.steps(chunk.unit());
        let code_of = match (&self.domain.kind, &self.lookup) {
            (DomainKind::Near { .. }, _) if steps.parts > 1 => None,
            (DomainKind::Far { .. }, Lookup::Keys(code_of)) => Some(code_of),
            _ => return None,
        };
        if chunk.missing.len() == chunk.n_rows() || !self.has_same_cells(chunk) {
            return None;
        }
        let is_known = |key: i64| code_of.is_none_or(|code_of| code_of.contains_key(&key));
        let is_new = |key: i64| !steps.exact(key).is_some_and(is_known);
        let mut grows: Vec<bool> = all_keys(&chunk.cells).map(is_new).collect();
        chunk.missing.iter().for_each(|&row| grows[row as usize] = false);
        grows.contains(&true).then_some(grows)
    }

    /// A chunk of values that are inside, with no more digits after the point than the coding has
    /// where its values need no more: others that stood beside them may have had some.
    pub fn fitted(&self, mut chunk: ColumnChunk) -> ColumnChunk {
        if let (Some(TickUnit::Decimal(own)), Some(TickUnit::Decimal(later))) =
            (self.unit, chunk.unit())
            && later > own
        {
            chunk.shorten(own);
        }
        chunk
    }

    /// What codes the later rows that a survey saw, all of which lie inside, and how the codes of
    /// those before change: ordered values between others get codes of their own.
    pub fn for_later(&self, survey: ColumnSurvey) -> Result<(ColumnCoder, CodeMap)> {
        let is_same_unit = match (self.unit, survey.unit) {
            (Some(TickUnit::Decimal(own)), Some(TickUnit::Decimal(later))) => own == later,
            _ => true,
        };
        let n_missing = self.domain.n_missing;
        let n_single = survey.n_single();
        let (mut coding, map) = match (&self.domain.kind, &self.lookup) {
            (DomainKind::Near { .. }, _) if is_same_unit => (self.clone(), CodeMap::identity()),
            (DomainKind::Far { .. }, Lookup::Keys(code_of))
                if is_same_unit && survey.keys().all(|key| code_of.contains_key(&key)) =>
            {
                (self.clone(), CodeMap::identity())
            }
            (DomainKind::Near { .. } | DomainKind::Far { .. }, _) => self.grown_by(survey)?,
            _ => (self.with_leaves_of(&survey), CodeMap::identity()),
        };
        // Whether there is a code for it follows from the rows of before.
        coding.domain.n_missing = n_missing;
        coding.domain.n_single = n_single;
        Ok((ColumnCoder::of(coding), map))
    }

    /// A category that also finds the leaves of its hierarchy that no row had before.
    fn with_leaves_of(&self, survey: &ColumnSurvey) -> ColumnCoding {
        let mut coding = self.clone();
        match &mut coding.lookup {
            Lookup::Names(code_of) => {
                for name in survey.names() {
                    if let Some(code) = self.code_of_name(name) {
                        code_of.entry(name.to_owned()).or_insert(code);
                    }
                }
            }
            Lookup::Keys(code_of) => {
                for key in survey.keys() {
                    if let Some(code) = self.code_of_key(key) {
                        code_of.entry(key).or_insert(code);
                    }
                }
            }
            Lookup::Distance => {}
        }
        coding
    }

    fn code_of_name(&self, name: &str) -> Option<u32> {
        let Lookup::Names(code_of) = &self.lookup else { return None };
        code_of.get(name).copied().or_else(|| self.leaf_of(name.to_owned()))
    }

    fn code_of_key(&self, key: i64) -> Option<u32> {
        let Lookup::Keys(code_of) = &self.lookup else { return None };
        let leaf = || {
            let format = self.kind_with(self.unit).format();
            self.leaf_of(names_and_numbers(&[key], format).0.pop()?)
        };
        code_of.get(&key).copied().or_else(leaf)
    }

    /// The code of a leaf of the hierarchy, whether or not any row had it.
    fn leaf_of(&self, name: String) -> Option<u32> {
        let hierarchy: &Hierarchy = self.domain.hierarchy()?;
        let name = value::canonical(self.domain.column_type, &name).unwrap_or(name);
        hierarchy.code_of(&name).map(|code| code.get())
    }

    /// The values of the coding, where they lie on a line.
    fn line(&self) -> Option<Line<'_>> {
        match &self.domain.kind {
            DomainKind::Near { occupancy, .. } if occupancy.is_empty() => Some(Line::Empty),
            DomainKind::Near { min, max, .. } => Some(Line::Near { min: *min, max: *max }),
            DomainKind::Far { scale, .. } => Some(Line::Far(scale)),
            DomainKind::Names { .. } | DomainKind::Tree { .. } => None,
        }
    }

    /// How the keys of a chunk are compared with those of the coding.
    fn steps(&self, unit: Option<TickUnit>) -> Steps {
        match (self.unit, unit) {
            (Some(TickUnit::Decimal(own)), Some(TickUnit::Decimal(later))) => {
                let power = |n_digits: u8| 10i128.saturating_pow(u32::from(n_digits));
                Steps {
                    times: power(own.saturating_sub(later)),
                    parts: power(later.saturating_sub(own)),
                }
            }
            _ => Steps { times: 1, parts: 1 },
        }
    }
}

/// A key of another unit, in that of a coding: the next one that is not below it, and whether it is
/// that one.
#[derive(Clone, Copy)]
struct Steps {
    times: i128,
    parts: i128,
}

impl Steps {
    /// The key in the coding's unit, where there is one.
    fn exact(self, key: i64) -> Option<i64> {
        let (above, below) = self.key(key);
        i64::try_from(above).ok().filter(|_| above == below)
    }

    /// The least key of the coding's unit that is not below the value, and the greatest that is not
    /// above it.
    fn key(self, key: i64) -> (i128, i128) {
        let key = i128::from(key).saturating_mul(self.times);
        let below = key.div_euclid(self.parts);
        (below + i128::from(key.rem_euclid(self.parts) != 0), below)
    }
}

enum Line<'c> {
    Empty,
    Near { min: i64, max: i64 },
    Far(&'c Scale),
}

impl Line<'_> {
    fn ends(&self) -> Option<(i128, i128)> {
        match self {
            Line::Empty => None,
            Line::Near { min, max } => Some((i128::from(*min), i128::from(*max))),
            Line::Far(scale) => scale.end_keys().map(|(lo, hi)| (i128::from(lo), i128::from(hi))),
        }
    }

    fn fit(&self, (above, below): (i128, i128)) -> Fit {
        match self.ends() {
            None => Fit::Unknown,
            Some((min, max)) if min <= below && above <= max => Fit::Inside,
            Some(_) => Fit::Beyond,
        }
    }

    /// How far the code of the nearest value that is not below lies above the first; that of the
    /// greatest where all are below.
    fn place(&self, (above, _): (i128, i128)) -> u32 {
        match self {
            Line::Empty => 0,
            Line::Near { min, max } => {
                let key = above.clamp(i128::from(*min), i128::from(*max));
                (key - i128::from(*min)) as u32
            }
            Line::Far(scale) => {
                let (codes, at) = (scale.codes(), scale.n_below_key(above));
                codes.get(at.min(codes.len().saturating_sub(1))).copied().unwrap_or(0)
            }
        }
    }
}
