//! Domains of tables that are not kept in memory: a first pass over the file finds the values, a
//! second one codes them.
//!
//! ```text
//!   pass 1   chunk ──► ChunkSurvey ──add──► ColumnSurvey ──finish──► ColumnCoder
//!   pass 2   chunk ─────────────────────────────────encode──────────────┘──► codes
//! ```
//!
//! Guarantee: a value gets the code that [`super::encode`] would give it.
//! Cost: the distinct values of categories and of ordered values that lie far apart; two numbers
//! for all other columns.

use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::DataType;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::occupancy::{self, Occupancy};
use super::scale::{self, Scale};
use super::{CategoryValues, Coding, Domain, DomainKind, RawColumn, rescale};
use crate::chunk::{Cells, ColumnChunk, TickUnit};
use crate::distinct_sample::DistinctSample;
use crate::mix::mix;
use crate::schema::ColumnType;
use crate::value::TickFormat;
use crate::{Result, TableError};

/// What a survey looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// The least and the greatest value.
    Ends,
    /// All distinct values, and how many rows have each.
    Values,
}

impl Look {
    /// What has to be found out about a column at first.
    pub fn for_column(column_type: ColumnType, coding: Coding<'_>) -> Look {
        match coding {
            Coding::Ordered if column_type != ColumnType::Float => Look::Ends,
            _ => Look::Values,
        }
    }
}

/// What one chunk tells of its column.
pub struct ChunkSurvey {
    n_missing: u64,
    /// What the ticks count; nothing if all cells are missing or none are ticks.
    unit: Option<TickUnit>,
    ends: Option<(i64, i64)>,
    keys: Vec<(i64, u64)>,
    names: Vec<(String, u64)>,
}

impl ChunkSurvey {
    /// Looks at a chunk.
    pub fn of(chunk: &ColumnChunk, look: Look) -> ChunkSurvey {
        let mut survey = ChunkSurvey {
            n_missing: chunk.missing.len() as u64,
            unit: None,
            ends: None,
            keys: Vec::new(),
            names: Vec::new(),
        };
        if chunk.missing.len() == chunk.n_rows() {
            return survey;
        }
        match &chunk.cells {
            Cells::Ticks { unit, .. } | Cells::WideTicks { unit, .. } => {
                survey.unit = Some(*unit);
                survey.ends = super::tick_bounds(std::slice::from_ref(chunk));
            }
            Cells::Floats(_) => {}
            Cells::Names { names, places } => {
                let mut rows = vec![0; names.len()];
                let mut holes = chunk.missing.iter().peekable();
                for (row_idx, &place) in places.iter().enumerate() {
                    if holes.next_if(|&&hole| hole as usize == row_idx).is_none() {
                        rows[place as usize] += 1;
                    }
                }
                survey.names = names.iter().cloned().zip(rows).collect();
                return survey;
            }
        }
        if look == Look::Values {
            let mut keys: Vec<i64> = scale::present_keys(chunk).collect();
            keys.sort_unstable();
            let runs = keys.chunk_by(|a, b| a == b);
            survey.keys = runs.map(|run| (run[0], run.len() as u64)).collect();
        }
        survey
    }
}

/// What all chunks so far tell of a column.
pub struct ColumnSurvey {
    name: String,
    look: Look,
    n_missing: u64,
    unit: Option<TickUnit>,
    zoned_seen: [bool; 2],
    ends: Option<(i64, i64)>,
    keys: FxHashMap<i64, u64>,
    names: FxHashMap<String, u64>,
    name_bytes: usize,
    /// How many values there are, when there is no room to keep them.
    estimate: Option<DistinctSample>,
}

/// Values of a sample that tells how many there are, to about 3 %.
const ESTIMATE_VALUES: usize = 1024;

impl ColumnSurvey {
    /// Of a column of which nothing has been seen.
    pub fn new(name: &str, look: Look) -> ColumnSurvey {
        ColumnSurvey {
            name: name.to_owned(),
            look,
            n_missing: 0,
            unit: None,
            zoned_seen: [false; 2],
            ends: None,
            keys: FxHashMap::default(),
            names: FxHashMap::default(),
            name_bytes: 0,
            estimate: None,
        }
    }

    /// Keeps no values any more, and only estimates from now on how much they would take.
    pub fn only_estimate(&mut self) {
        let mut sample = DistinctSample::new(ESTIMATE_VALUES);
        for (key, _) in std::mem::take(&mut self.keys) {
            sample.add(mix(key as u64), 1);
        }
        for (name, _) in std::mem::take(&mut self.names) {
            sample.add(mix(FxBuildHasher.hash_one(&name)), 1);
        }
        self.estimate = Some(sample);
    }

    /// What it looks for.
    pub fn look(&self) -> Look {
        self.look
    }

    /// Adds what a chunk tells.
    pub fn add(&mut self, mut chunk: ChunkSurvey) -> Result<()> {
        self.n_missing += chunk.n_missing;
        match (chunk.unit, self.unit) {
            (Some(TickUnit::Decimal(own)), Some(TickUnit::Decimal(widest))) if own < widest => {
                chunk.scale_by(10i64.checked_pow(u32::from(widest - own)).ok_or(self.too_wide())?);
            }
            (Some(TickUnit::Decimal(own)), Some(TickUnit::Decimal(widest))) if own > widest => {
                self.widen(own, widest)?;
            }
            (Some(unit), None) => self.unit = Some(unit),
            _ => {}
        }
        if chunk.ends.is_some_and(|(lo, hi)| lo > hi) {
            return Err(self.too_wide());
        }
        if let Some(TickUnit::Timestamp { zoned }) = chunk.unit {
            self.zoned_seen[usize::from(zoned)] = true;
        }
        self.ends = match (self.ends, chunk.ends) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (ends, None) | (None, ends) => ends,
        };
        if let Some(sample) = &mut self.estimate {
            chunk.keys.iter().for_each(|(key, _)| sample.add(mix(*key as u64), 1));
            for (name, _) in &chunk.names {
                let before = sample.n_distinct();
                sample.add(mix(FxBuildHasher.hash_one(name)), 1);
                let n_new = sample.n_distinct().saturating_sub(before) as usize;
                self.name_bytes += n_new * name.len();
            }
            return Ok(());
        }
        for (key, n_rows) in chunk.keys {
            *self.keys.entry(key).or_insert(0) += n_rows;
        }
        for (name, n_rows) in chunk.names {
            match self.names.get_mut(&name) {
                Some(n) => *n += n_rows,
                None => {
                    self.name_bytes += name.len();
                    self.names.insert(name, n_rows);
                }
            }
        }
        Ok(())
    }

    /// Brings what was seen to a longer fraction.
    fn widen(&mut self, scale: u8, from: u8) -> Result<()> {
        let factor = 10i64.checked_pow(u32::from(scale - from)).ok_or(self.too_wide())?;
        let times = |key: i64| key.checked_mul(factor);
        let keys = std::mem::take(&mut self.keys).into_iter();
        let keys: Option<FxHashMap<i64, u64>> =
            keys.map(|(key, n)| Some((times(key)?, n))).collect();
        self.keys = keys.ok_or(self.too_wide())?;
        if let Some((lo, hi)) = self.ends {
            self.ends =
                Some((times(lo).ok_or(self.too_wide())?, times(hi).ok_or(self.too_wide())?));
        }
        self.unit = Some(TickUnit::Decimal(scale));
        Ok(())
    }

    fn too_wide(&self) -> TableError {
        super::too_wide(&self.name)
    }

    /// About how much memory it takes, and the coder that it will become.
    pub fn memory_bytes(&self) -> usize {
        // A table of twice the entries, the sorted values, their names and the way back.
        const VALUE_BYTES: usize = 160;
        let n_estimated = self.estimate.as_ref().map_or(0, DistinctSample::n_distinct) as usize;
        let n_values = self.keys.len() + self.names.len() + n_estimated;
        n_values * VALUE_BYTES + self.name_bytes * 3
    }

    /// Whether the values turned out to lie so far apart that all of them must be known: another
    /// pass with [`Look::Values`] is needed.
    pub fn needs_values(&self) -> bool {
        let is_far = |(lo, hi): (i64, i64)| hi.abs_diff(lo) >= u64::from(scale::LONGEST);
        self.look == Look::Ends && self.ends.is_some_and(is_far)
    }

    /// The domain that was found, and the way to it.
    pub fn finish(
        self,
        column_type: ColumnType,
        data_type: Option<DataType>,
        coding: Coding<'_>,
    ) -> Result<ColumnCoder> {
        if self.zoned_seen == [true, true] {
            return Err(super::only_some_offsets(&self.name));
        }
        let format = self.unit.map(TickUnit::format);
        let column =
            RawColumn { name: self.name.clone(), column_type, data_type, chunks: Vec::new() };
        let n_missing = self.n_missing;
        let mut counts = Vec::new();
        let (kind, lookup) = match coding {
            Coding::Ordered => self.into_ordered(column_type, format),
            Coding::Categories { hierarchy, by_frequency } => {
                let (values, keys) = self.into_category_values(column_type, format);
                let names = if keys.is_empty() { values.names.clone() } else { Vec::new() };
                let rows = values.rows.clone();
                let (kind, codes) = values.into_domain(&column, hierarchy, by_frequency)?;
                counts = codes.iter().copied().zip(rows).collect();
                let lookup = if keys.is_empty() {
                    Lookup::Names(names.into_iter().zip(codes).collect())
                } else {
                    Lookup::Keys(keys.into_iter().zip(codes).collect())
                };
                (kind, lookup)
            }
        };
        let RawColumn { name, column_type, data_type, .. } = column;
        let domain = Domain { name, column_type, data_type, kind, n_missing };
        let scale = match format {
            Some(TickFormat::Decimal { scale }) => Some(scale),
            _ => None,
        };
        if let Some(missing_code) = domain.missing_code().filter(|_| !domain.is_ordered()) {
            counts.push((missing_code, n_missing));
        }
        Ok(ColumnCoder { domain, lookup, scale, seen: Vec::new(), counts })
    }

    fn into_ordered(
        self,
        column_type: ColumnType,
        format: Option<TickFormat>,
    ) -> (DomainKind, Lookup) {
        let has_missing = self.n_missing > 0;
        if column_type == ColumnType::Float || self.look == Look::Values {
            let mut keys: Vec<i64> = self.keys.into_keys().collect();
            keys.sort_unstable();
            let format = format.filter(|_| column_type != ColumnType::Float);
            let (scale, code_of) = Scale::of_keys(keys, format);
            let first_code = if has_missing { scale.length() + 1 } else { 0 };
            let scale = Arc::new(scale);
            return (DomainKind::Far { scale, first_code }, Lookup::Keys(code_of));
        }
        let (min, max) = self.ends.unwrap_or((0, 0));
        let length = max.abs_diff(min) as u32;
        let first_code = if has_missing { length + 1 } else { 0 };
        let format = format.unwrap_or(TickUnit::of(column_type).format());
        let occupancy = Occupancy::Every(length);
        (DomainKind::Near { min, max, first_code, format, occupancy }, Lookup::Distance)
    }

    /// The values of a category in their natural order, and their keys where they have keys.
    fn into_category_values(
        self,
        column_type: ColumnType,
        format: Option<TickFormat>,
    ) -> (CategoryValues, Vec<i64>) {
        if !self.names.is_empty() || !(column_type.is_ordered()) {
            let mut names: Vec<(String, u64)> = self.names.into_iter().collect();
            names.sort_unstable();
            let (names, rows) = names.into_iter().unzip();
            return (CategoryValues { names, numbers: None, rows }, Vec::new());
        }
        let mut keys: Vec<(i64, u64)> = self.keys.into_iter().collect();
        keys.sort_unstable();
        let (keys, rows): (Vec<i64>, Vec<u64>) = keys.into_iter().unzip();
        let format = format.filter(|_| column_type != ColumnType::Float);
        let (names, numbers) = scale::names_and_numbers(&keys, format);
        (CategoryValues { names, numbers: Some(numbers), rows }, keys)
    }
}

impl ChunkSurvey {
    /// Brings ticks to a longer fraction; ends that do not fit are left in the wrong order.
    fn scale_by(&mut self, factor: i64) {
        let scaled = self.ends.map(|(lo, hi)| (lo.checked_mul(factor), hi.checked_mul(factor)));
        self.ends = scaled.map(|ends| match ends {
            (Some(lo), Some(hi)) => (lo, hi),
            _ => (1, 0),
        });
        self.keys.iter_mut().for_each(|(key, _)| *key = key.wrapping_mul(factor));
    }
}

/// Codes the chunks of one column.
pub struct ColumnCoder {
    domain: Domain,
    lookup: Lookup,
    /// Digits after the point.
    scale: Option<u8>,
    /// A bit per code that was met, if that is to be known.
    seen: Vec<AtomicU64>,
    /// How many rows have each code of a category.
    counts: Vec<(u32, u64)>,
}

enum Lookup {
    /// The code is the distance from the least value.
    Distance,
    Keys(FxHashMap<i64, u32>),
    Names(FxHashMap<String, u32>),
}

impl ColumnCoder {
    /// The domain, as far as it is known before all chunks are coded.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// How many rows have each code that occurs, of a category.
    pub fn counts(&self) -> &[(u32, u64)] {
        &self.counts
    }

    /// Bytes that it takes to remember which values occur; nothing where that is known, or where
    /// there are too many to remember.
    pub fn memory_to_count_values(&self) -> Option<usize> {
        match &self.domain.kind {
            DomainKind::Near { min, max, .. } => {
                let length = max.abs_diff(*min) as u32;
                // A bit per code, and the count before each word.
                (length < occupancy::LONGEST_BITMAP).then_some((length as usize / 64 + 1) * 12)
            }
            _ => None,
        }
    }

    /// Remembers from now on which values occur.
    pub fn count_values(&mut self) {
        if let DomainKind::Near { min, max, .. } = &self.domain.kind {
            let n_words = max.abs_diff(*min) as usize / 64 + 1;
            self.seen = (0..n_words).map(|_| AtomicU64::new(0)).collect();
        }
    }

    /// The codes of a chunk.
    pub fn encode(&self, mut chunk: ColumnChunk) -> Result<Vec<u32>> {
        if let Some(scale) = self.scale {
            rescale(&mut chunk, scale).ok_or_else(|| super::too_wide(&self.domain.name))?;
        }
        let (missing_code, first_code) = match &self.domain.kind {
            DomainKind::Near { first_code, .. } | DomainKind::Far { first_code, .. } => {
                (0, *first_code)
            }
            _ => (self.domain.missing_code().unwrap_or(0), 0),
        };
        if !self.knows_all(&chunk) {
            return Err(TableError::Column {
                column: self.domain.name.clone(),
                problem: "the file changed while it was read".to_owned(),
                hint: "let nobody write to it, and run again".into(),
            });
        }
        let mut codes: Vec<u32> = match (&self.lookup, &chunk.cells) {
            (Lookup::Distance, _) => self.distances(&chunk, first_code),
            (Lookup::Names(code_of), Cells::Names { names, places }) => {
                let codes: Vec<u32> =
                    names.iter().map(|name| code_of.get(name).copied().unwrap_or(0)).collect();
                places
                    .iter()
                    .map(|&place| codes.get(place as usize).copied().unwrap_or(0))
                    .collect()
            }
            (Lookup::Names(_), _) => vec![0; chunk.n_rows()],
            (Lookup::Keys(code_of), Cells::Names { .. }) => {
                unreachable!("{} keys are of values that are no names", code_of.len())
            }
            (Lookup::Keys(code_of), _) => scale::all_keys(&chunk)
                .map(|key| first_code + code_of.get(&key).copied().unwrap_or(0))
                .collect(),
        };
        chunk.missing.iter().for_each(|&row| codes[row as usize] = missing_code);
        Ok(codes)
    }

    /// Whether the first pass met all values of a chunk.
    fn knows_all(&self, chunk: &ColumnChunk) -> bool {
        if chunk.missing.len() == chunk.n_rows() {
            return self.domain.n_missing > 0;
        }
        if !chunk.missing.is_empty() && self.domain.n_missing == 0 {
            return false;
        }
        match (&self.lookup, &chunk.cells, &self.domain.kind) {
            (Lookup::Distance, cells, DomainKind::Near { min, max, .. }) => {
                let is_tick = matches!(cells, Cells::Ticks { .. } | Cells::WideTicks { .. });
                let ends = super::tick_bounds(std::slice::from_ref(chunk));
                is_tick && ends.is_some_and(|(lo, hi)| *min <= lo && hi <= *max)
            }
            (Lookup::Names(code_of), Cells::Names { names, .. }, _) => {
                names.iter().all(|name| code_of.contains_key(name))
            }
            (Lookup::Keys(code_of), Cells::Names { .. }, _) => code_of.is_empty(),
            (Lookup::Keys(code_of), _, _) => {
                scale::present_keys(chunk).all(|key| code_of.contains_key(&key))
            }
            _ => false,
        }
    }

    fn distances(&self, chunk: &ColumnChunk, first_code: u32) -> Vec<u32> {
        let DomainKind::Near { min, .. } = &self.domain.kind else {
            unreachable!("only near values are coded as distances")
        };
        let codes: Vec<u32> = match &chunk.cells {
            Cells::Ticks { base, offsets, .. } => {
                let shift = (base.wrapping_sub(*min) as u32).wrapping_add(first_code);
                offsets.iter().map(|offset| offset.wrapping_add(shift)).collect()
            }
            Cells::WideTicks { ticks, .. } => ticks
                .iter()
                .map(|tick| (tick.wrapping_sub(*min) as u32).wrapping_add(first_code))
                .collect(),
            Cells::Floats(_) | Cells::Names { .. } => unreachable!("near values are ticks"),
        };
        if !self.seen.is_empty() && chunk.missing.len() < codes.len() {
            let mut holes = chunk.missing.iter().peekable();
            for (row_idx, code) in codes.iter().enumerate() {
                if holes.next_if(|&&hole| hole as usize == row_idx).is_none() {
                    self.mark(code - first_code);
                }
            }
        }
        codes
    }

    #[inline]
    fn mark(&self, code: u32) {
        let (word, bit) = (&self.seen[(code / 64) as usize], 1 << (code % 64));
        // Nearly always marked already, and a look is cheaper than a write that others wait for.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// The domain, when all chunks are coded.
    pub fn into_domain(self) -> Domain {
        let mut domain = self.domain;
        if let (DomainKind::Near { occupancy, .. }, false) =
            (&mut domain.kind, self.seen.is_empty())
        {
            let words = self.seen.into_iter().map(AtomicU64::into_inner).collect();
            *occupancy = occupancy::Builder::of_words(words).finish();
        }
        domain
    }

    /// Whether it is known which values of the domain occur.
    pub fn knows_values(&self) -> bool {
        !matches!(self.domain.kind, DomainKind::Near { .. }) || !self.seen.is_empty()
    }
}

#[cfg(test)]
mod tests;
