//! The coding of one column: made of a survey, and applied to chunks.
//!
//! Cost: the distinct values of categories and of ordered values that lie far apart; two numbers
//! for all other columns.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use albers_storage::memory_budget;
use arrow_schema::DataType;
use rustc_hash::FxHashMap;

use super::CodingPlan;
use super::survey::{ColumnSurvey, Look, present_keys};
use crate::chunk::{Cells, ColumnChunk, TickUnit, tick_bounds};
use crate::code::Code;
use crate::domain::occupancy::{self, Occupancy};
use crate::domain::scale::{Scale, all_keys, names_and_numbers};
use crate::domain::{Domain, DomainKind};
use crate::hierarchy::{Hierarchy, HierarchySpec};
use crate::schema::ColumnType;
use crate::value::{self, TickFormat};
use crate::{Result, TableError};

/// Which value of a column has which code.
#[derive(Clone)]
pub struct ColumnCoding {
    pub(super) domain: Domain,
    /// What ticks count, where values are ticks.
    pub(super) unit: Option<TickUnit>,
    pub(super) lookup: Lookup,
    /// What the hierarchy was made of.
    pub(super) hierarchy: Option<HierarchySpec>,
}

/// The way from a value to its code: how far that lies above the first code of the domain.
#[derive(Clone)]
pub(super) enum Lookup {
    /// As far as the value lies above the least one.
    Distance,
    Keys(FxHashMap<i64, u32>),
    Names(FxHashMap<String, u32>),
}

/// Distinct values in their natural order.
pub(super) enum DistinctValues {
    /// Of numbers, dates and times.
    Keys(Vec<i64>),
    /// Of texts.
    Names(Vec<String>),
}

/// The order of the siblings of a hierarchy.
pub(super) enum SiblingOrder<'a> {
    /// That of the values, or of the rows of a file.
    Natural,
    /// The more rows the earlier; the rows of each value are given.
    ByFrequency(&'a [u64]),
    /// That of the codes which leaves had before; what is new comes last.
    Frozen(&'a dyn Fn(&str) -> Option<Code>),
}

impl DistinctValues {
    /// The domain of a category of these values, and the code of each.
    pub(super) fn into_category(
        self,
        column: &ColumnKind<'_>,
        hierarchy: Option<&HierarchySpec>,
        order: &SiblingOrder<'_>,
    ) -> Result<(DomainKind, Lookup)> {
        let (names, numbers) = match &self {
            DistinctValues::Names(names) => (names.clone(), None),
            DistinctValues::Keys(keys) => {
                let (names, numbers) = names_and_numbers(keys, column.format());
                (names, Some(numbers))
            }
        };
        let Some(spec) = hierarchy else {
            let codes = (0..names.len()).map(Code::of_index);
            return Ok((DomainKind::Names { names, numbers }, self.into_lookup(codes)));
        };
        let canonical = |name: String| value::canonical(column.column_type, &name).unwrap_or(name);
        let values: Vec<String> = names.into_iter().map(canonical).collect();
        let (hierarchy, codes) = ordered_hierarchy(column, spec, &values, order)?;
        let numbers = numbers.map(|by_place| {
            let mut by_code = vec![f64::NAN; hierarchy.n_leaves() as usize];
            for (number, &code) in by_place.into_iter().zip(&codes) {
                by_code[code.index()] = number;
            }
            by_code
        });
        Ok((DomainKind::Tree { hierarchy, numbers }, self.into_lookup(codes)))
    }

    /// Categories have codes from 0 on.
    fn into_lookup(self, codes: impl IntoIterator<Item = Code>) -> Lookup {
        let codes = codes.into_iter().map(Code::get);
        match self {
            DistinctValues::Keys(keys) => Lookup::Keys(keys.into_iter().zip(codes).collect()),
            DistinctValues::Names(names) => Lookup::Names(names.into_iter().zip(codes).collect()),
        }
    }
}

/// The hierarchy of some values, and the code of each.
fn ordered_hierarchy(
    column: &ColumnKind<'_>,
    spec: &HierarchySpec,
    values: &[String],
    order: &SiblingOrder<'_>,
) -> Result<(Hierarchy, Vec<Code>)> {
    let hierarchy = Hierarchy::build(spec, column.name, column.column_type, values)?;
    let codes_in = |hierarchy: &Hierarchy| -> Vec<Code> {
        let code = |name| hierarchy.code_of(name).expect("a built hierarchy covers every value");
        values.iter().map(|name| code(name)).collect()
    };
    let hierarchy = match order {
        SiblingOrder::Natural => hierarchy,
        SiblingOrder::ByFrequency(rows) => {
            let mut rows_of_leaf = vec![0u64; hierarchy.n_leaves() as usize];
            let leaves = codes_in(&hierarchy).into_iter();
            leaves.zip(*rows).for_each(|(leaf, n_rows)| rows_of_leaf[leaf.index()] += n_rows);
            hierarchy.ordered_by_frequency(&rows_of_leaf)
        }
        SiblingOrder::Frozen(old_code) => hierarchy.ordered_like(old_code),
    };
    let codes = codes_in(&hierarchy);
    Ok((hierarchy, codes))
}

/// What is known of a column besides its values.
pub(super) struct ColumnKind<'a> {
    pub(super) name: &'a str,
    pub(super) column_type: ColumnType,
    pub(super) unit: Option<TickUnit>,
}

impl ColumnKind<'_> {
    /// How its values are written, if they are ticks.
    pub(super) fn format(&self) -> Option<TickFormat> {
        let unit = self.unit.unwrap_or(TickUnit::of(self.column_type));
        (self.column_type != ColumnType::Float).then_some(unit.format())
    }
}

/// Ordered values that lie far apart.
pub(super) fn far(scale: Scale, has_missing: bool) -> (DomainKind, Lookup) {
    let first_code = if has_missing { Code::new(scale.length() + 1) } else { Code::ZERO };
    let code_of = scale.keys().zip(scale.codes().iter().copied()).collect();
    (DomainKind::Far { scale: Arc::new(scale), first_code }, Lookup::Keys(code_of))
}

/// Ordered values that lie near: the ticks of the ends, if there is any value.
pub(super) fn near(
    ends: Option<(i64, i64)>,
    format: TickFormat,
    occupancy: Occupancy,
    has_missing: bool,
) -> (DomainKind, Lookup) {
    let (min, max) = ends.unwrap_or((0, 0));
    let length = max.abs_diff(min) as u32;
    let first_code = if has_missing { Code::new(length + 1) } else { Code::ZERO };
    (DomainKind::Near { min, max, first_code, format, occupancy }, Lookup::Distance)
}

impl ColumnSurvey {
    /// The coding of what was found, and what the survey tells about it.
    pub fn finish(
        mut self,
        column_type: ColumnType,
        data_type: Option<DataType>,
        plan: CodingPlan<'_>,
    ) -> Result<ColumnCoder> {
        self.check_offsets()?;
        let n_missing = self.n_missing;
        let name = std::mem::take(&mut self.name);
        let unit = self.unit.filter(|_| column_type.is_ordered());
        let column = ColumnKind { name: &name, column_type, unit };
        let mut counts = Vec::new();
        let mut n_single = None;
        let ((kind, lookup), hierarchy) = match plan {
            CodingPlan::Ordered => (self.into_ordered(&column), None),
            CodingPlan::Categories { hierarchy, by_frequency } => {
                let mut hierarchy = hierarchy.cloned();
                let limit_bytes = memory_budget::default_bytes();
                hierarchy.as_mut().map(|own| own.read_file_within(limit_bytes)).transpose()?;
                let (values, rows) = self.into_values(column_type);
                let order = match by_frequency {
                    true => SiblingOrder::ByFrequency(&rows),
                    false => SiblingOrder::Natural,
                };
                let coded = values.into_category(&column, hierarchy.as_ref(), &order)?;
                counts = coded.1.counts(&rows);
                n_single = Some(rows.iter().filter(|&&n_rows| n_rows == 1).count() as u64);
                (coded, hierarchy)
            }
        };
        let domain = Domain { name, column_type, data_type, kind, n_missing, n_single };
        if let Some(missing_code) = domain.missing_code().filter(|_| !domain.is_ordered()) {
            counts.push((missing_code, n_missing));
        }
        let coding = ColumnCoding { domain, unit, lookup, hierarchy };
        Ok(ColumnCoder { coding, seen: Vec::new(), counts })
    }

    fn into_ordered(self, column: &ColumnKind<'_>) -> (DomainKind, Lookup) {
        assert!(column.column_type.is_ordered(), "only ordered types are points on a line");
        let has_missing = self.n_missing > 0;
        match column.format() {
            Some(format) if self.look == Look::Ends => {
                let occupancy = match self.ends {
                    Some((min, max)) => Occupancy::Every(max.abs_diff(min) as u32),
                    None => Occupancy::list(Vec::new()),
                };
                near(self.ends, format, occupancy, has_missing)
            }
            format => far(Scale::of_keys(self.sorted_keys().0, format), has_missing),
        }
    }

    /// The values in their natural order, and the rows of each.
    fn into_values(self, column_type: ColumnType) -> (DistinctValues, Vec<u64>) {
        if column_type.is_ordered() && self.has_no_names() {
            let (keys, rows) = self.sorted_keys();
            return (DistinctValues::Keys(keys), rows);
        }
        let (names, rows) = self.sorted_names();
        (DistinctValues::Names(names), rows)
    }
}

impl Lookup {
    /// How many rows have each code of a category, by the rows of each value in their natural
    /// order.
    fn counts(&self, rows: &[u64]) -> Vec<(Code, u64)> {
        fn in_order<K: Ord>(code_of: &FxHashMap<K, u32>) -> Vec<u32> {
            let mut codes: Vec<(&K, u32)> =
                code_of.iter().map(|(key, &code)| (key, code)).collect();
            codes.sort_unstable();
            codes.into_iter().map(|(_, code)| code).collect()
        }
        let codes = match self {
            Lookup::Distance => Vec::new(),
            Lookup::Keys(code_of) => in_order(code_of),
            Lookup::Names(code_of) => in_order(code_of),
        };
        codes.into_iter().map(Code::new).zip(rows.iter().copied()).collect()
    }
}

impl ColumnCoding {
    /// What the codes mean.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// What its hierarchy was made of.
    pub fn hierarchy_spec(&self) -> Option<&HierarchySpec> {
        self.hierarchy.as_ref()
    }

    /// Whether all values of a chunk have codes.
    pub fn knows(&self, chunk: &ColumnChunk) -> bool {
        if !self.has_same_cells(chunk) {
            return false;
        }
        match (self.unit, chunk.unit()) {
            (Some(TickUnit::Decimal(_)), Some(TickUnit::Decimal(_))) => {
                self.known(chunk.clone()).is_ok()
            }
            _ => self.knows_all(chunk),
        }
    }

    /// The codes of a chunk; an error if the coding does not know all its values.
    pub fn encode(&self, chunk: ColumnChunk) -> Result<Vec<u32>> {
        Ok(self.encode_known(self.known(chunk)?, &mut |_, _| {}))
    }

    /// The chunk in the unit of the coding, if the coding knows all its values.
    fn known(&self, mut chunk: ColumnChunk) -> Result<ColumnChunk> {
        let is_known = self.has_same_cells(&chunk)
            && self.bring_to_unit(&mut chunk)?
            && self.knows_all(&chunk);
        match is_known {
            true => Ok(chunk),
            false => Err(TableError::Column {
                column: self.domain.name.clone(),
                problem: "the file changed while it was read".to_owned(),
                hint: "let nobody write to it, and run again".into(),
            }),
        }
    }

    /// Brings decimals to the digits of the coding; false where they have more.
    fn bring_to_unit(&self, chunk: &mut ColumnChunk) -> Result<bool> {
        let (Some(TickUnit::Decimal(scale)), Some(TickUnit::Decimal(own))) =
            (self.unit, chunk.unit())
        else {
            return Ok(true);
        };
        if own > scale {
            return Ok(chunk.missing.len() == chunk.n_rows());
        }
        chunk.rescale(scale).ok_or_else(|| super::survey::too_wide(&self.domain.name))?;
        Ok(true)
    }

    /// Whether a chunk holds its cells as the coding knows them.
    pub(super) fn has_same_cells(&self, chunk: &ColumnChunk) -> bool {
        let is_names = matches!(self.lookup, Lookup::Names(_));
        let is_float = self.domain.column_type == ColumnType::Float;
        chunk.missing.len() == chunk.n_rows()
            || match &chunk.cells {
                Cells::Names { .. } => is_names,
                Cells::Floats(_) => is_float,
                Cells::Ticks { unit, .. } | Cells::WideTicks { unit, .. } => {
                    let own = self.unit.unwrap_or(TickUnit::of(self.domain.column_type));
                    !is_names
                        && !is_float
                        && std::mem::discriminant(unit) == std::mem::discriminant(&own)
                }
            }
    }

    /// Whether the coding knows all values of a chunk.
    fn knows_all(&self, chunk: &ColumnChunk) -> bool {
        if !chunk.missing.is_empty() && self.domain.n_missing == 0 {
            return false;
        }
        if chunk.missing.len() == chunk.n_rows() {
            return true;
        }
        match (&self.lookup, &chunk.cells, &self.domain.kind) {
            (Lookup::Distance, _, DomainKind::Near { min, max, .. }) => {
                tick_bounds(chunk).is_some_and(|(lo, hi)| *min <= lo && hi <= *max)
            }
            (Lookup::Names(code_of), Cells::Names { names, .. }, _) => {
                names.iter().all(|name| code_of.contains_key(name))
            }
            (Lookup::Keys(code_of), _, _) => {
                present_keys(chunk).all(|key| code_of.contains_key(&key))
            }
            _ => false,
        }
    }

    /// The codes of a chunk of values that are known. Shows the codes of near values from 0 on,
    /// and which of them are missing.
    fn encode_known(&self, chunk: ColumnChunk, see: &mut dyn FnMut(&[u32], &[u32])) -> Vec<u32> {
        let first_code = self.domain.first_code().get();
        let n_rows = chunk.n_rows();
        let mut codes = match (&self.lookup, chunk.cells, &self.domain.kind) {
            _ if chunk.missing.len() == n_rows => vec![0; n_rows],
            (Lookup::Distance, cells, DomainKind::Near { min, .. }) => {
                let mut codes = distances(cells, *min);
                see(&codes, &chunk.missing);
                if first_code > 0 {
                    codes.iter_mut().for_each(|code| *code = code.wrapping_add(first_code));
                }
                codes
            }
            (Lookup::Names(code_of), Cells::Names { names, places }, _) => {
                let code = |name| code_of.get(name).copied().unwrap_or(0);
                let codes: Vec<u32> = names.iter().map(code).collect();
                let at = |&place: &u32| codes.get(place as usize).copied().unwrap_or(0);
                places.iter().map(at).collect()
            }
            (Lookup::Keys(code_of), cells, _) => all_keys(&cells)
                .map(|key| first_code + code_of.get(&key).copied().unwrap_or(0))
                .collect(),
            _ => unreachable!("chunks whose cells are held otherwise are refused"),
        };
        if let Some(missing_code) = self.domain.missing_code() {
            chunk.missing.iter().for_each(|&row| codes[row as usize] = missing_code.get());
        }
        codes
    }
}

/// The distances of ticks from the least.
fn distances(cells: Cells, min: i64) -> Vec<u32> {
    match cells {
        Cells::Ticks { base, mut offsets, .. } => {
            let shift = base.wrapping_sub(min) as u32;
            offsets.iter_mut().for_each(|offset| *offset = offset.wrapping_add(shift));
            offsets
        }
        Cells::WideTicks { ticks, .. } => {
            ticks.iter().map(|tick| tick.wrapping_sub(min) as u32).collect()
        }
        Cells::Floats(_) | Cells::Names { .. } => unreachable!("near values are ticks"),
    }
}

/// Codes the chunks of one column, and remembers which values occur if that is to be known.
pub struct ColumnCoder {
    coding: ColumnCoding,
    /// A bit per code that was met.
    seen: Vec<AtomicU64>,
    /// How many rows have each code of a category.
    counts: Vec<(Code, u64)>,
}

impl ColumnCoder {
    /// Of a coding that was made before.
    pub(super) fn of(coding: ColumnCoding) -> ColumnCoder {
        ColumnCoder { coding, seen: Vec::new(), counts: Vec::new() }
    }

    /// The coding, as far as it is known before all chunks are coded.
    pub fn coding(&self) -> &ColumnCoding {
        &self.coding
    }

    /// The domain, as far as it is known before all chunks are coded.
    pub fn domain(&self) -> &Domain {
        &self.coding.domain
    }

    /// How many rows have each code that occurs, of a category.
    pub fn counts(&self) -> &[(Code, u64)] {
        &self.counts
    }

    /// Bytes that it takes to remember which values occur; nothing where that is known, or where
    /// there are too many to remember.
    pub fn memory_to_count_values(&self) -> Option<usize> {
        match &self.coding.domain.kind {
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
        if let DomainKind::Near { min, max, .. } = &self.coding.domain.kind {
            let n_words = max.abs_diff(*min) as usize / 64 + 1;
            self.seen = (0..n_words).map(|_| AtomicU64::new(0)).collect();
        }
    }

    /// The codes of a chunk.
    pub fn encode(&self, chunk: ColumnChunk) -> Result<Vec<u32>> {
        if self.seen.is_empty() {
            return self.coding.encode(chunk);
        }
        let mut see = |codes: &[u32], missing: &[u32]| self.mark(codes, missing);
        Ok(self.coding.encode_known(self.coding.known(chunk)?, &mut see))
    }

    /// The coding, which knows the values that occur, and the codes of all chunks that were
    /// surveyed.
    pub(super) fn encode_all(
        self,
        chunks: Vec<ColumnChunk>,
    ) -> Result<(ColumnCoding, Vec<Vec<u32>>)> {
        let mut coding = self.coding;
        let mut occupancy = match &coding.domain.kind {
            DomainKind::Near { min, max, .. } => occupancy::Builder::new(max.abs_diff(*min) as u32),
            _ => occupancy::Builder::new(0),
        };
        let mut codes = Vec::with_capacity(chunks.len());
        for mut chunk in chunks {
            coding.bring_to_unit(&mut chunk)?;
            let mut see = |codes: &[u32], missing: &[u32]| occupancy.add(codes, missing);
            codes.push(coding.encode_known(chunk, &mut see));
        }
        coding.occupied_by(occupancy);
        Ok((coding, codes))
    }

    fn mark(&self, codes: &[u32], missing: &[u32]) {
        let mut holes = missing.iter().peekable();
        for (row_idx, &code) in codes.iter().enumerate() {
            if holes.next_if(|&&hole| hole as usize == row_idx).is_some() {
                continue;
            }
            let (word, bit) = (&self.seen[(code / 64) as usize], 1 << (code % 64));
            // Nearly always marked already, and a look is cheaper than a write that others wait
            // for.
            if word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    /// The coding, when all chunks are coded.
    pub fn into_coding(self) -> ColumnCoding {
        let mut coding = self.coding;
        if !self.seen.is_empty() {
            let words = self.seen.into_iter().map(AtomicU64::into_inner).collect();
            coding.occupied_by(occupancy::Builder::of_words(words));
        }
        coding
    }

    /// The domain, when all chunks are coded.
    pub fn into_domain(self) -> Domain {
        self.into_coding().domain
    }

    /// Whether it is known which values of the domain occur.
    pub fn knows_values(&self) -> bool {
        !matches!(self.coding.domain.kind, DomainKind::Near { .. }) || !self.seen.is_empty()
    }
}

impl ColumnCoding {
    fn occupied_by(&mut self, found: occupancy::Builder) {
        if let DomainKind::Near { occupancy, .. } = &mut self.domain.kind {
            *occupancy = found.finish();
        }
    }
}
