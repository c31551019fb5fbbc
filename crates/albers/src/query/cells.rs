//! The cells of a column of a release: what each run of rows shows there.

use albers_release::parse::is_set_of_values;
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::TableError;
use albers_table::chunk::{Cells, ColumnChunk};
use albers_table::hierarchy::{Hierarchy, HierarchySpec};
use albers_table::row::RowId;
use albers_table::schema::ColumnType;
use rustc_hash::FxHashMap;

use super::columns::{ColumnKind, ReleaseColumn};
use super::read::{Runs, ticks_of};
use super::shape::{Edge, Notation, Shape, Values, ends_of};
use super::yardstick::{Yardstick, float_key};
use crate::error::{Error, Result};

/// What the runs of a release show on one column.
pub(super) struct ColumnCells {
    /// How its texts were read.
    pub(super) notation: Notation,
    /// What is shown, each once.
    pub(super) shapes: Vec<Shape>,
    /// Which of that each run shows.
    pub(super) of_run: Vec<u32>,
    /// The texts that show it, where it is shown by texts.
    pub(super) texts: Option<Vec<Option<String>>>,
}

/// Where the cells of a column are, and what is asked of them.
pub(super) struct CellSource<'a> {
    /// The release, for messages.
    pub(super) release: &'a str,
    pub(super) column: &'a ReleaseColumn,
    pub(super) runs: &'a Runs,
    /// The places of its columns among those of the runs.
    pub(super) places: &'a [usize],
    /// How many digits after the point conditions have at most.
    pub(super) n_digits: u8,
    /// What conditions compare it with.
    pub(super) literals: &'a [&'a str],
}

/// Distinct things, with the place of each.
struct Distinct<K> {
    places: FxHashMap<K, u32>,
    shapes: Vec<Shape>,
}

impl<K: std::hash::Hash + Eq> Distinct<K> {
    fn new() -> Distinct<K> {
        Distinct { places: FxHashMap::default(), shapes: Vec::new() }
    }

    fn place(&mut self, key: K, shape: impl FnOnce() -> Result<Shape>) -> Result<u32> {
        if let Some(&place) = self.places.get(&key) {
            return Ok(place);
        }
        self.shapes.push(shape()?);
        let place = self.shapes.len() as u32 - 1;
        self.places.insert(key, place);
        Ok(place)
    }
}

impl CellSource<'_> {
    /// Reads the cells.
    pub(super) fn read(&self) -> Result<ColumnCells> {
        match self.places {
            [place] => {
                let chunks = &self.runs.columns[*place];
                match ticks_of(chunks).filter(|_| self.column.kind == ColumnKind::Carried) {
                    Some((ticks, unit)) => self.read_values(&ticks, Yardstick::of_unit(unit)),
                    None if self.are_floats(chunks) => {
                        self.read_values(&float_keys(chunks), Yardstick::Float)
                    }
                    None => self.read_texts(chunks),
                }
            }
            _ => self.read_bounds(),
        }
    }

    fn are_floats(&self, chunks: &[ColumnChunk]) -> bool {
        let is_float = |chunk: &ColumnChunk| matches!(chunk.cells, Cells::Floats(_));
        self.column.kind == ColumnKind::Carried && chunks.iter().any(is_float)
    }

    /// Cells that are values of their rows.
    fn read_values(&self, keys: &[Option<i64>], yardstick: Yardstick) -> Result<ColumnCells> {
        let mut distinct = Distinct::new();
        let mut of_run = Vec::with_capacity(keys.len());
        for &key in keys {
            let shape = || {
                Ok(key.map_or(Shape::MISSING, |key| Shape {
                    values: Values::Range(Edge::At(key), Edge::At(key)),
                    missing: false,
                }))
            };
            of_run.push(distinct.place(key, shape)?);
        }
        let notation = Notation::Ordered(yardstick);
        Ok(ColumnCells { notation, shapes: distinct.shapes, of_run, texts: None })
    }

    fn read_texts(&self, chunks: &[ColumnChunk]) -> Result<ColumnCells> {
        let texts = texts_of(chunks);
        let mut places: FxHashMap<Option<&str>, u32> = FxHashMap::default();
        let mut first_runs: Vec<usize> = Vec::new();
        let mut of_run = Vec::with_capacity(texts.len());
        for (run, text) in texts.iter().enumerate() {
            let next = first_runs.len() as u32;
            let place = *places.entry(text.as_deref()).or_insert(next);
            if place == next {
                first_runs.push(run);
            }
            of_run.push(place);
        }
        let shown = || first_runs.iter().filter_map(|&run| texts[run].as_deref());
        let notation = self.notation(&shown().collect::<Vec<_>>())?;
        let read = |text: Option<&str>| match self.column.kind {
            // A column that left as it came holds values, whatever they look like.
            ColumnKind::Carried => notation.value(text),
            _ => notation.read(text),
        };
        let shapes = first_runs.iter().map(|&run| {
            read(texts[run].as_deref()).ok_or_else(|| self.not_understood(run, &notation))
        });
        let shapes = shapes.collect::<Result<_>>()?;
        let texts = Some(first_runs.iter().map(|&run| texts[run].clone()).collect());
        Ok(ColumnCells { notation, shapes, of_run, texts })
    }

    /// What bounds are that are no whole numbers: floats, or whatever the column is said to be or
    /// compared with, where all of them are missing.
    fn yardstick_without_ends(&self, columns: &[&[ColumnChunk]]) -> Yardstick {
        let is_empty = |chunk: &ColumnChunk| chunk.missing.len() == chunk.n_rows();
        if !columns[..2].iter().copied().flatten().all(is_empty) {
            return Yardstick::Float;
        }
        let told = self.column.column_type.and_then(Yardstick::of_type);
        let told = told.or_else(|| Yardstick::of_texts(self.literals.iter().copied()));
        told.unwrap_or(Yardstick::Float).with_digits(self.n_digits)
    }

    fn read_bounds(&self) -> Result<ColumnCells> {
        let columns: Vec<&[ColumnChunk]> =
            self.places.iter().map(|&place| &self.runs.columns[place][..]).collect();
        let ends = [ticks_of(columns[0]), ticks_of(columns[1])];
        let flags = columns.get(2).map(|chunks| texts_of(chunks));
        let is_missing = |run: usize| {
            let flag = flags.as_ref().and_then(|flags| flags[run].as_deref());
            flag.is_some_and(|flag| flag.eq_ignore_ascii_case("true"))
        };
        let (lo, hi, yardstick) = match ends {
            [Some((lo, lo_unit)), Some((hi, hi_unit))] => {
                let units = [lo_unit, hi_unit].map(Yardstick::of_unit);
                self.at_one_scale((lo, units[0]), (hi, units[1]))?
            }
            _ => (
                float_keys(columns[0]),
                float_keys(columns[1]),
                self.yardstick_without_ends(&columns),
            ),
        };
        let has_names = columns[..2].iter().copied().flatten().position(|chunk| {
            matches!(chunk.cells, Cells::Names { .. }) && chunk.missing.len() < chunk.n_rows()
        });
        if has_names.is_some() {
            return Err(self.not_understood(0, &Notation::Ordered(yardstick)));
        }
        let is_given =
            |spec: &HierarchySpec| matches!(spec, HierarchySpec::File(_) | HierarchySpec::Rows(_));
        let notation = match (self.column.shown.as_deref(), &self.column.hierarchy) {
            (Some("places"), Some(spec)) if is_given(spec) => Notation::Places(self.hierarchy()?),
            // Places in an order that nothing tells may be of anything.
            (Some("places"), _) => Notation::Unknown,
            _ => Notation::Ordered(yardstick),
        };
        let mut distinct = Distinct::new();
        let mut of_run = Vec::with_capacity(lo.len());
        for run in 0..lo.len() {
            let missing = is_missing(run);
            let shape = || match (lo[run], hi[run]) {
                (None, None) => Ok(Shape::MISSING),
                (Some(lo), Some(hi)) if lo <= hi => {
                    let shape = match &notation {
                        Notation::Places(_) => {
                            notation.read_bounds(&lo.to_string(), &hi.to_string())
                        }
                        Notation::Unknown => Some(Shape { values: Values::Any, missing: true }),
                        _ => Some(Shape {
                            values: Values::Range(Edge::At(lo), Edge::At(hi)),
                            missing: false,
                        }),
                    };
                    let shape = shape.ok_or_else(|| self.not_understood(run, &notation))?;
                    Ok(Shape { missing: missing || shape.missing, ..shape })
                }
                _ => Err(self.not_understood(run, &notation)),
            };
            of_run.push(distinct.place((lo[run], hi[run], missing), shape)?);
        }
        Ok(ColumnCells { notation, shapes: distinct.shapes, of_run, texts: None })
    }

    /// Both ends with the same digits, as many as conditions have too if these fit in 64 bits.
    #[expect(clippy::type_complexity, reason = "two columns of keys and what they are")]
    fn at_one_scale(
        &self,
        (lo, lo_unit): (Vec<Option<i64>>, Yardstick),
        (hi, hi_unit): (Vec<Option<i64>>, Yardstick),
    ) -> Result<(Vec<Option<i64>>, Vec<Option<i64>>, Yardstick)> {
        let is_whole = [lo_unit, hi_unit] == [Yardstick::Integer; 2];
        let is_sure = self.column.is_type_sure || self.column.shown.as_deref() == Some("places");
        if is_whole && is_sure || !is_number(lo_unit) {
            return Ok((lo, hi, lo_unit));
        }
        let digits = lo_unit.n_digits().max(hi_unit.n_digits());
        let scaled = |keys: &[Option<i64>], unit: Yardstick, n_digits: u8| {
            let factor = 10i64.checked_pow(u32::from(n_digits - unit.n_digits()))?;
            let keys = keys.iter().map(|key| match key {
                Some(key) => key.checked_mul(factor).map(Some),
                None => Some(None),
            });
            keys.collect::<Option<Vec<_>>>()
        };
        for n_digits in (digits..=digits.max(self.n_digits)).rev() {
            let both = (scaled(&lo, lo_unit, n_digits), scaled(&hi, hi_unit, n_digits));
            if let (Some(lo), Some(hi)) = both {
                let yardstick = match is_whole {
                    true => Yardstick::Whole(n_digits),
                    false => Yardstick::Decimal(n_digits),
                };
                return Ok((lo, hi, yardstick));
            }
        }
        Err(self.not_understood(0, &Notation::Ordered(lo_unit)))
    }

    /// How the texts of the column are read.
    fn notation(&self, texts: &[&str]) -> Result<Notation> {
        let own = self.column;
        if own.kind == ColumnKind::Carried {
            return Ok(self.of_values(texts));
        }
        match (own.shown.as_deref(), &own.hierarchy) {
            (Some("interval"), _) if texts.iter().all(|text| ends_of(text).is_empty()) => {
                Ok(self.yardstick(texts).map_or(Notation::Unknown, Notation::Ordered))
            }
            (Some("interval"), _) => self.ordered(texts),
            (Some("set"), _) => Ok(Notation::Names),
            (Some("places"), _) => Ok(Notation::Unknown),
            (_, Some(spec)) => self.by_hierarchy(spec, texts),
            (Some(_), None) => Ok(Notation::Unknown),
            (None, None) => Ok(self.guessed(texts)),
        }
    }

    /// What the texts of a carried column are: names, unless all are ordered values of one type and
    /// nobody says otherwise.
    fn of_values(&self, texts: &[&str]) -> Notation {
        let is_named = matches!(self.column.column_type, Some(ColumnType::Text | ColumnType::Code));
        if is_named && self.column.is_type_sure || texts.is_empty() {
            return Notation::Names;
        }
        let is_boolean = |text: &&str| albers_table::value::parse_boolean(text.as_bytes()).is_ok();
        if texts.iter().all(is_boolean) {
            return Notation::Booleans;
        }
        let Some(own) = Yardstick::of_texts(texts.iter().copied()) else { return Notation::Names };
        // The digits of conditions too, where these fit in 64 bits.
        let fits = |own: &Yardstick| texts.iter().all(|text| own.key(text).is_some());
        let yardstick = [own.with_digits(self.n_digits), own].into_iter().find(fits);
        yardstick.map_or(Notation::Names, Notation::Ordered)
    }

    fn ordered(&self, texts: &[&str]) -> Result<Notation> {
        self.yardstick(texts).map(Notation::Ordered).ok_or_else(|| {
            Error::usage(
                format!(
                    "{}: the cells of column '{}' are not intervals of one type",
                    self.release, self.column.name
                ),
                wording!["say it with ", Field::Type.of_column(&self.column.name, "TYPE")],
            )
        })
    }

    /// What the ends of intervals are, with the digits that they and the conditions have.
    fn yardstick(&self, texts: &[&str]) -> Option<Yardstick> {
        let ends: Vec<String> = texts.iter().flat_map(|text| ends_of(text)).collect();
        if ends.is_empty() {
            // No cell tells what its values are: whatever they are compared with does.
            let told = Yardstick::of_texts(self.literals.iter().copied())?;
            return Some(told.with_digits(self.n_digits));
        }
        let ends = || ends.iter().map(String::as_str);
        let is_sure = self.column.is_type_sure;
        let own = self.column.column_type.filter(|_| is_sure).and_then(Yardstick::of_type);
        let own = own.or_else(|| Yardstick::of_texts(ends()))?.with_digits_of(ends());
        let more = own.with_digits(self.n_digits);
        let fits = |yardstick: &Yardstick| ends().all(|end| yardstick.key(end).is_some());
        [more, own].into_iter().find(fits)
    }

    fn by_hierarchy(&self, spec: &HierarchySpec, texts: &[&str]) -> Result<Notation> {
        Ok(match spec {
            HierarchySpec::AtLeast(spec, _) => self.by_hierarchy(spec, texts)?,
            HierarchySpec::File(_) | HierarchySpec::Rows(_) => Notation::Labels(self.hierarchy()?),
            HierarchySpec::Prefix => Notation::Prefix,
            HierarchySpec::Ranges(_) => self.ordered(texts)?,
            HierarchySpec::Dates(_) => {
                let is_time = |text: &&str| text.trim_matches(['{', '}', ',', ' ']).len() > 11;
                let is_day =
                    self.column.is_type_sure && self.column.column_type == Some(ColumnType::Date);
                // Days that are shown may be those of points in time.
                Notation::Dates(match texts.iter().any(is_time) {
                    true => Yardstick::Timestamp,
                    false if is_day => Yardstick::Date,
                    false => Yardstick::Day,
                })
            }
            HierarchySpec::Suppress => self.values_or_anything(texts),
        })
    }

    /// How values that are shown as they are, or as anything, are read.
    fn values_or_anything(&self, texts: &[&str]) -> Notation {
        let is_sure = self.column.is_type_sure;
        let sure = self.column.column_type.filter(|_| is_sure);
        if sure.is_some_and(|own| Yardstick::of_type(own).is_none()) {
            return Notation::Names;
        }
        let told: Vec<String> = texts.iter().flat_map(|text| ends_of(text)).collect();
        match self.yardstick(texts) {
            Some(yardstick) => Notation::Ordered(yardstick),
            None if told.is_empty() => Notation::Unknown,
            None => Notation::Names,
        }
    }

    /// The hierarchy file of the column.
    fn hierarchy(&self) -> Result<Hierarchy> {
        let spec = self.column.hierarchy.as_ref().ok_or_else(|| self.unknown_places())?;
        let column_type = self.column.column_type.unwrap_or(ColumnType::Text);
        Ok(Hierarchy::build(spec, &self.column.name, column_type, &[])?)
    }

    /// What the texts of a column look like of which nothing is known: labels, if they are nothing
    /// else.
    fn guessed(&self, texts: &[&str]) -> Notation {
        let has_ends = texts.iter().any(|text| !ends_of(text).is_empty());
        if let Some(yardstick) = self.yardstick(texts).filter(|_| has_ends) {
            return Notation::Ordered(yardstick);
        }
        let is_beginning = |text: &&str| text.len() > 1 && text.ends_with('*');
        if texts.iter().any(is_beginning) {
            return Notation::Prefix;
        }
        match texts.iter().any(|text| is_set_of_values(text)) {
            true => Notation::Names,
            false => Notation::Unknown,
        }
    }

    fn unknown_places(&self) -> Error {
        Error::usage(
            format!(
                "{}: column '{}' shows places in an order that nothing tells",
                self.release, self.column.name
            ),
            wording!["give its ", Field::Hierarchy, " file"],
        )
    }

    fn not_understood(&self, run: usize, notation: &Notation) -> Error {
        let problem = match notation {
            Notation::Labels(_) => "the cell is no label of the hierarchy and no value of it",
            Notation::Places(_) => "the cell is no place in the order of the hierarchy",
            Notation::Ordered(_) => {
                "the cell is neither a value nor an interval, or one that is turned"
            }
            _ => "the cell is not understood",
        };
        let hint = match notation {
            Notation::Labels(_) | Notation::Places(_) => {
                wording!["give the ", Field::Hierarchy, " that the release was made with"]
            }
            _ => wording![
                "say what the values are with ",
                Field::Type.of_column(&self.column.name, "TYPE")
            ],
        };
        Error::Table(TableError::Cell {
            table: self.release.to_owned(),
            place: format!("row {}", RowId::new(self.runs.first_rows[run])),
            column: self.column.shown_in.join(", "),
            problem: problem.to_owned(),
            hint,
        })
    }
}

fn is_number(yardstick: Yardstick) -> bool {
    matches!(yardstick, Yardstick::Integer | Yardstick::Whole(_) | Yardstick::Decimal(_))
}

/// The text of each run.
pub(super) fn texts_of(chunks: &[ColumnChunk]) -> Vec<Option<String>> {
    let mut texts = Vec::new();
    for chunk in chunks {
        let first = texts.len();
        let unit = chunk.unit();
        let of_tick = |tick: i64| unit.map(|unit| unit.format().text(tick));
        match &chunk.cells {
            Cells::Names { names, places } => {
                let own = places.iter().map(|&place| names.get(place as usize).cloned());
                texts.extend(own);
            }
            Cells::Ticks { base, offsets, .. } => {
                let own = offsets.iter().map(|&offset| base.wrapping_add(i64::from(offset)));
                texts.extend(own.map(of_tick));
            }
            Cells::WideTicks { ticks, .. } => texts.extend(ticks.iter().map(|&tick| of_tick(tick))),
            Cells::Floats(floats) => {
                let own = floats.iter().map(|&float| Some(albers_table::value::float_text(float)));
                texts.extend(own);
            }
        }
        chunk.missing.iter().for_each(|&row| texts[first + row as usize] = None);
    }
    texts
}

fn float_keys(chunks: &[ColumnChunk]) -> Vec<Option<i64>> {
    let mut keys = Vec::new();
    for chunk in chunks {
        let first = keys.len();
        match &chunk.cells {
            Cells::Floats(floats) => keys.extend(floats.iter().map(|&own| Some(float_key(own)))),
            Cells::Names { .. } => keys.extend(std::iter::repeat_n(None, chunk.n_rows())),
            // Whole numbers of one chunk stand beside fractions of another.
            Cells::Ticks { .. } | Cells::WideTicks { .. } => {
                let (ticks, unit) = ticks_of(std::slice::from_ref(chunk)).unzip();
                // By their texts, which are rounded once.
                let key = |tick: Option<i64>| {
                    let text = unit.map(|unit| unit.format().text(tick?).parse().ok());
                    text.flatten().map(float_key)
                };
                keys.extend(ticks.unwrap_or_default().into_iter().map(key));
            }
        }
        chunk.missing.iter().for_each(|&row| keys[first + row as usize] = None);
    }
    keys
}
