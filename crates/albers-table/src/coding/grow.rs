//! Codings that learn more values, and how their codes change then.
//!
//! Guarantee: the map of every column is monotone: two codes that stood in some order stand in the
//! same one after it, and distinct codes of values stay distinct. So a cut after a code, mapped,
//! leaves every old row on its side.
//! Cost: that of making the coding anew, without reading any old row.

use serde::{Deserialize, Serialize};

use super::column::{ColumnKind, DistinctValues, Lookup, SiblingOrder, far, near};
use super::survey::too_wide;
use super::{ChunkSurvey, ColumnCoding, ColumnSurvey, Look};
use crate::chunk::{ColumnChunk, TickUnit};
use crate::code::Code;
use crate::domain::occupancy::{self, Occupancy};
use crate::domain::scale::{self, Scale};
use crate::domain::{Domain, DomainKind};
use crate::{Result, TableError};

/// How the codes of a column change when its coding grows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeMap {
    change: Change,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Change {
    /// Codes from `first` on become `new_first` and every `factor`-th after it; those below, of
    /// which only the missing one is used, stay.
    Line { first: Code, new_first: Code, factor: u32 },
    /// The codes that stand for something, ascending, and what each becomes.
    Steps { old: Vec<Code>, new: Vec<Code> },
}

impl CodeMap {
    /// The map that leaves every code as it is.
    pub(super) fn identity() -> CodeMap {
        let (first, new_first) = (Code::ZERO, Code::ZERO);
        CodeMap { change: Change::Line { first, new_first, factor: 1 } }
    }

    /// Whether it leaves every code as it is.
    pub fn is_identity(&self) -> bool {
        match &self.change {
            Change::Line { first, new_first, factor } => first == new_first && *factor == 1,
            Change::Steps { old, new } => old == new,
        }
    }

    /// What a code becomes. One that no value has becomes what the nearest below it becomes: a cut
    /// after it is a cut after that one.
    pub fn code(&self, code: Code) -> Code {
        match &self.change {
            Change::Line { first, .. } if code < *first => code,
            Change::Line { first, new_first, factor } => *new_first + (code - *first) * factor,
            Change::Steps { old, new } => {
                let n_up_to = old.partition_point(|&other| other <= code);
                n_up_to.checked_sub(1).map_or(Code::ZERO, |place| new[place])
            }
        }
    }

    /// The map between the codes of the same values in two lookups, and of the missing value.
    fn between(older: &ColumnCoding, newer: &ColumnCoding, factor: i64) -> CodeMap {
        let first_codes = [older, newer].map(|coding| coding.domain.first_code());
        let steps: Vec<(u32, u32)> = match (&older.lookup, &newer.lookup) {
            (Lookup::Names(older), Lookup::Names(newer)) => {
                older.iter().map(|(name, &code)| (code, newer[name])).collect()
            }
            (Lookup::Keys(older), Lookup::Keys(newer)) => {
                older.iter().map(|(key, &code)| (code, newer[&(key * factor)])).collect()
            }
            (Lookup::Distance, Lookup::Keys(newer)) => {
                let values = older.domain.near_values();
                values.map(|(code, ticks)| (code, newer[&(ticks * factor)])).collect()
            }
            // There was no value yet.
            (Lookup::Distance, Lookup::Distance) => Vec::new(),
            _ => unreachable!("a coding keeps its kind, but for near values that are far now"),
        };
        let of_steps = |(old, new)| (first_codes[0] + old, first_codes[1] + new);
        let mut pairs: Vec<(Code, Code)> = steps.into_iter().map(of_steps).collect();
        let missing = [older, newer].map(|coding| coding.domain.missing_code());
        if let [Some(old), Some(new)] = missing {
            pairs.push((old, new));
        }
        pairs.sort_unstable();
        pairs.dedup();
        let (old, new) = pairs.into_iter().unzip();
        CodeMap { change: Change::Steps { old, new } }
    }

    fn is_monotone(&self) -> bool {
        match &self.change {
            Change::Line { .. } => true,
            Change::Steps { old, new } => {
                [old, new].iter().all(|codes| codes.is_sorted_by(|a, b| a < b))
            }
        }
    }
}

impl Domain {
    /// How far the codes of near values that occur lie above the first, and their ticks.
    pub(super) fn near_values(&self) -> impl Iterator<Item = (u32, i64)> + '_ {
        let (min, occupied) = match &self.kind {
            DomainKind::Near { min, occupancy, .. } => (*min, Some(occupancy.codes())),
            _ => (0, None),
        };
        let steps = occupied.into_iter().flatten();
        steps.map(move |n_steps| (n_steps, min.wrapping_add(i64::from(n_steps))))
    }
}

impl ColumnCoding {
    /// The coding that also knows the values of these chunks, and how the codes change.
    ///
    /// Refused where cells are of another type than before, where a hierarchy from a file has no
    /// leaf for a value, and where near values become so far apart that all of them must be known,
    /// but it was not kept which occur.
    pub fn grown(&self, chunks: &[ColumnChunk]) -> Result<(ColumnCoding, CodeMap)> {
        let mut survey = ColumnSurvey::continuing(&self.domain.name, self.unit);
        for chunk in chunks {
            if !self.has_same_cells(chunk) {
                return Err(self.refusal("its new values are of another type than the old ones"));
            }
            survey.add(ChunkSurvey::of(chunk, Look::Values))?;
        }
        self.grown_by(survey)
    }

    /// The same with the values that a survey saw, which began with the unit of the coding.
    pub(super) fn grown_by(&self, survey: ColumnSurvey) -> Result<(ColumnCoding, CodeMap)> {
        survey.check_offsets()?;
        let factor = self.factor_to(survey.unit)?;
        let n_missing = self.domain.n_missing + survey.n_missing;
        let unit = survey.unit;
        let (kind, lookup) = match &self.domain.kind {
            DomainKind::Near { .. } => self.grown_near(survey, factor)?,
            DomainKind::Far { scale, .. } => {
                let keys = self.all_keys(scale.keys(), survey, factor)?;
                far(Scale::of_keys(keys, self.kind_with(unit).format()), n_missing > 0)
            }
            DomainKind::Names { .. } => {
                let values = self.all_values(survey, factor)?;
                values.into_category(&self.kind_with(unit), None, &SiblingOrder::Natural)?
            }
            DomainKind::Tree { hierarchy, .. } => {
                let values = self.all_values(survey, factor)?;
                let old_code = |leaf: &str| hierarchy.code_of(leaf);
                let order = SiblingOrder::Frozen(&old_code);
                values.into_category(&self.kind_with(unit), self.hierarchy.as_ref(), &order)?
            }
        };
        // Old rows of a value are not counted any more.
        let domain = Domain { kind, n_missing, n_single: None, ..self.domain.clone() };
        let hierarchy = self.hierarchy.clone();
        let grown = ColumnCoding { domain, unit, lookup, hierarchy };
        let map = self.map_to(&grown, factor);
        match map.is_monotone() {
            true => Ok((grown, map)),
            false => Err(self.refusal("its hierarchy orders the old values otherwise now")),
        }
    }

    pub(super) fn kind_with(&self, unit: Option<TickUnit>) -> ColumnKind<'_> {
        let Domain { name, column_type, .. } = &self.domain;
        ColumnKind { name, column_type: *column_type, unit }
    }

    fn refusal(&self, problem: &str) -> TableError {
        TableError::Column {
            column: self.domain.name.clone(),
            problem: problem.to_owned(),
            hint: "code the whole table anew".into(),
        }
    }

    /// What old ticks are multiplied with where new decimals have more digits.
    fn factor_to(&self, unit: Option<TickUnit>) -> Result<i64> {
        let (Some(TickUnit::Decimal(old)), Some(TickUnit::Decimal(new))) = (self.unit, unit) else {
            return Ok(1);
        };
        let factor = 10i64.checked_pow(u32::from(new - old));
        factor.ok_or_else(|| too_wide(&self.domain.name))
    }

    /// Old keys and new ones, ascending.
    fn all_keys(
        &self,
        old: impl Iterator<Item = i64>,
        survey: ColumnSurvey,
        factor: i64,
    ) -> Result<Vec<i64>> {
        let scaled = old.map(|key| key.checked_mul(factor));
        let scaled: Option<Vec<i64>> = scaled.collect();
        let mut keys = scaled.ok_or_else(|| too_wide(&self.domain.name))?;
        keys.extend(survey.sorted_keys().0);
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    }

    /// Old values of a category and new ones.
    fn all_values(&self, survey: ColumnSurvey, factor: i64) -> Result<DistinctValues> {
        let code_of = match &self.lookup {
            Lookup::Names(code_of) => code_of,
            Lookup::Keys(code_of) => {
                let keys = self.all_keys(code_of.keys().copied(), survey, factor)?;
                return Ok(DistinctValues::Keys(keys));
            }
            Lookup::Distance => unreachable!("categories are looked up"),
        };
        let mut names: Vec<String> = code_of.keys().cloned().collect();
        names.extend(survey.sorted_names().0);
        names.sort_unstable();
        names.dedup();
        Ok(DistinctValues::Names(names))
    }

    fn grown_near(&self, survey: ColumnSurvey, factor: i64) -> Result<(DomainKind, Lookup)> {
        let DomainKind::Near { min, max, occupancy, .. } = &self.domain.kind else {
            unreachable!("called for near values")
        };
        let has_missing = self.domain.n_missing + survey.n_missing > 0;
        let format = self.kind_with(survey.unit).format().expect("near values are ticks");
        let scaled =
            |ticks: i64| ticks.checked_mul(factor).ok_or_else(|| too_wide(&self.domain.name));
        let mut ends = survey.ends;
        if !occupancy.is_empty() {
            let (old_min, old_max) = (scaled(*min)?, scaled(*max)?);
            let with_new = |(lo, hi): (i64, i64)| (lo.min(old_min), hi.max(old_max));
            ends = Some(ends.map_or((old_min, old_max), with_new));
        }
        let Some((min, max)) = ends else {
            return Ok(near(None, format, Occupancy::list(Vec::new()), has_missing));
        };
        let is_known = !matches!(occupancy, Occupancy::Every(_));
        let is_far = max.abs_diff(min) >= u64::from(scale::LONGEST);
        if is_far && !is_known {
            return Err(self.refusal("its values lie too far apart for its codes now"));
        }
        if !is_known {
            let every = Occupancy::Every(max.abs_diff(min) as u32);
            return Ok(near(ends, format, every, has_missing));
        }
        let old = self.domain.near_values().map(|(_, ticks)| ticks);
        let keys = self.all_keys(old, survey, factor)?;
        if is_far {
            return Ok(far(Scale::of_keys(keys, Some(format)), has_missing));
        }
        let mut builder = occupancy::Builder::new(max.abs_diff(min) as u32);
        let codes: Vec<u32> = keys.iter().map(|key| key.wrapping_sub(min) as u32).collect();
        builder.add(&codes, &[]);
        Ok(near(ends, format, builder.finish(), has_missing))
    }

    fn map_to(&self, grown: &ColumnCoding, factor: i64) -> CodeMap {
        let (
            DomainKind::Near { min, first_code, occupancy, .. },
            DomainKind::Near { min: new_min, first_code: new_first_code, .. },
        ) = (&self.domain.kind, &grown.domain.kind)
        else {
            return CodeMap::between(self, grown, factor);
        };
        if occupancy.is_empty() {
            return CodeMap::between(self, grown, factor);
        }
        let shift = (min.wrapping_mul(factor)).wrapping_sub(*new_min) as u32;
        let new_first = Code::new(new_first_code.get().wrapping_add(shift));
        let change = Change::Line { first: *first_code, new_first, factor: factor as u32 };
        CodeMap { change }
    }
}
