//! What the rows of a table tell about the values of its columns, found chunk by chunk in one pass
//! and in any order.
//!
//! Cost: the distinct values of categories and of ordered values that lie far apart; two numbers
//! for all other columns.

use std::hash::BuildHasher;

use albers_storage::wording;
use albers_storage::wording::Field;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::CodingPlan;
use crate::chunk::{Cells, ColumnChunk, TickUnit, tick_bounds};
use crate::distinct_sample::DistinctSample;
use crate::domain::scale::{self, all_keys};
use crate::hierarchy::HierarchySpec;
use crate::mix::mix;
use crate::schema::ColumnType;
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
    pub fn for_column(column_type: ColumnType, plan: CodingPlan<'_>) -> Look {
        match plan {
            CodingPlan::Ordered if column_type != ColumnType::Float => Look::Ends,
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
                survey.ends = tick_bounds(chunk);
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
            let mut keys: Vec<i64> = present_keys(chunk).collect();
            keys.sort_unstable();
            let runs = keys.chunk_by(|a, b| a == b);
            survey.keys = runs.map(|run| (run[0], run.len() as u64)).collect();
        }
        survey
    }
}

/// What all chunks so far tell of a column.
pub struct ColumnSurvey {
    pub(super) name: String,
    pub(super) look: Look,
    pub(super) n_missing: u64,
    pub(super) unit: Option<TickUnit>,
    zoned_seen: [bool; 2],
    pub(super) ends: Option<(i64, i64)>,
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

    /// Of all values of more rows, by a coding whose ticks count this.
    pub(super) fn continuing(name: &str, unit: Option<TickUnit>) -> ColumnSurvey {
        ColumnSurvey::of_unit(name, Look::Values, unit)
    }

    /// Of no row yet, by a coding whose ticks count this.
    pub(super) fn of_unit(name: &str, look: Look, unit: Option<TickUnit>) -> ColumnSurvey {
        let mut survey = ColumnSurvey { unit, ..ColumnSurvey::new(name, look) };
        if let Some(TickUnit::Timestamp { zoned }) = unit {
            survey.zoned_seen[usize::from(zoned)] = true;
        }
        survey
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

    /// Rows that miss the value.
    pub fn n_missing(&self) -> u64 {
        self.n_missing
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
        too_wide(&self.name)
    }

    /// About how much memory it takes, and the coder that it will become.
    pub fn memory_bytes(&self) -> usize {
        // A table of twice the entries, the sorted values, their names and the way back.
        const VALUE_BYTES: usize = 160;
        let n_estimated = self.estimate.as_ref().map_or(0, DistinctSample::n_distinct) as usize;
        let n_values = self.keys.len() + self.names.len() + n_estimated;
        n_values * VALUE_BYTES + self.name_bytes * 3
    }

    /// About what a hierarchy of the values that were seen takes while it is made.
    pub fn hierarchy_bytes(&self, spec: &HierarchySpec) -> usize {
        let numbers: Vec<String> = self.keys.keys().map(i64::to_string).collect();
        spec.memory_bytes(self.names().chain(numbers.iter().map(String::as_str)).collect())
    }

    /// Whether the values turned out to lie so far apart that all of them must be known: another
    /// pass with [`Look::Values`] is needed.
    pub fn needs_values(&self) -> bool {
        let is_far = |(lo, hi): (i64, i64)| hi.abs_diff(lo) >= u64::from(scale::LONGEST);
        self.look == Look::Ends && self.ends.is_some_and(is_far)
    }

    /// Fails where only some of the times carry an offset.
    pub(super) fn check_offsets(&self) -> Result<()> {
        match self.zoned_seen {
            [true, true] => Err(only_some_offsets(&self.name)),
            _ => Ok(()),
        }
    }

    /// Whether no value came as a name.
    pub(super) fn has_no_names(&self) -> bool {
        self.names.is_empty()
    }

    /// The keys that were seen, in any order.
    pub(super) fn keys(&self) -> impl Iterator<Item = i64> + '_ {
        self.keys.keys().copied()
    }

    /// The names that were seen, in any order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> + '_ {
        self.names.keys().map(String::as_str)
    }

    /// Values that one row has each, where values were looked for.
    pub(super) fn n_single(&self) -> Option<u64> {
        let counts = self.keys.values().chain(self.names.values());
        let n_single = counts.filter(|&&n_rows| n_rows == 1).count() as u64;
        (self.look == Look::Values).then_some(n_single)
    }

    /// The keys in their order, and the rows of each.
    pub(super) fn sorted_keys(self) -> (Vec<i64>, Vec<u64>) {
        let mut keys: Vec<(i64, u64)> = self.keys.into_iter().collect();
        keys.sort_unstable();
        keys.into_iter().unzip()
    }

    /// The names in their order, and the rows of each.
    pub(super) fn sorted_names(self) -> (Vec<String>, Vec<u64>) {
        let mut names: Vec<(String, u64)> = self.names.into_iter().collect();
        names.sort_unstable();
        names.into_iter().unzip()
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

/// A key per row that has a value, ordered like the values.
pub(super) fn present_keys(chunk: &ColumnChunk) -> impl Iterator<Item = i64> + '_ {
    let mut holes = chunk.missing.iter().peekable();
    all_keys(&chunk.cells).enumerate().filter_map(move |(row_idx, key)| {
        holes.next_if(|&&hole| hole as usize == row_idx).is_none().then_some(key)
    })
}

fn only_some_offsets(column: &str) -> TableError {
    TableError::Column {
        column: column.to_owned(),
        problem: "only some of its times carry an offset".to_owned(),
        hint: "write all of them with an offset, or none".into(),
    }
}

pub(super) fn too_wide(column: &str) -> TableError {
    TableError::Column {
        column: column.to_owned(),
        problem: "its numbers do not fit in 64 bits at their longest fraction".to_owned(),
        hint: wording!["read the column with ", Field::Type.of_column(column, "float")],
    }
}
