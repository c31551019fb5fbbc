//! The classes of a release as boxes, and conditions as questions about them.

use albers_measure::Codes;
use albers_query::boxes::Parts;
use albers_query::{Answer, Asked, AxisCells, Boxes, Query};
use albers_storage::watch::Watch;
use albers_table::schema::ColumnType;
use albers_table::source::{ColumnRequest, Source};
use rayon::prelude::*;

use super::axis::{Ground, known};
use super::cells::{CellSource, ColumnCells};
use super::columns::{ColumnKind, ReleaseColumn, ReleaseColumns};
use super::read::{Grouped, Runs, read_runs};
use super::report::GroupAnswer;
use super::shape::{Edge, Notation, Values};
use super::{Asking, MAX_GROUPS, Question, n_digits, too_many};
use crate::condition::{ConditionError, Test};
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::report::Note;

/// What is wanted of a release.
pub(super) struct Wanted<'a> {
    pub(super) columns: &'a ReleaseColumns,
    /// The columns that somebody names.
    pub(super) named: &'a [&'a str],
    /// Those of them that are added up.
    pub(super) totals: &'a [&'a str],
    /// What is asked of them, with the place of the condition.
    pub(super) tests: &'a [(usize, &'a Test)],
    pub(super) asking: Asking<'a>,
}

/// A column that is asked for: an axis of the boxes.
pub(super) struct QueriedColumn {
    pub(super) column: ReleaseColumn,
    pub(super) ground: Ground,
    pub(super) cells: ColumnCells,
    /// The number of its axis.
    pub(super) axis: usize,
    /// The mean of each run, where the release has it.
    pub(super) means: Option<Vec<Option<f64>>>,
}

impl QueriedColumn {
    /// Whether its cells may hold more than the regions of their classes.
    fn shows_labels(&self) -> bool {
        self.column.shown.as_deref() == Some("label")
            || self.column.hierarchy.is_some()
            || !matches!(self.cells.notation, Notation::Ordered(_) | Notation::Names)
            || self.cells.shapes.iter().any(|shape| shape.values == Values::Any)
    }
}

/// The classes of a release.
pub(super) struct QueriedTable {
    pub(super) boxes: Boxes,
    pub(super) grouped: Grouped,
    pub(super) columns: Vec<QueriedColumn>,
    n_positions: Vec<u32>,
    n_quasi: usize,
    level_column: Option<String>,
    n_rows: u64,
    notes: Vec<Note>,
}

/// A condition as a question about boxes.
pub(super) struct BoxQuery {
    /// All that may satisfy it.
    pub(super) may: Query,
    /// All that surely does, where that is less: order among labels that nothing explains is not known.
    pub(super) must: Option<Query>,
}

/// A value that rows are grouped by.
pub(super) struct Group {
    /// Its text; none for the missing value.
    value: Option<String>,
    axis: usize,
    asked: Asked,
}

/// Where the columns of a release are among those that are read.
struct Layout<'a> {
    /// Quasi-identifiers, and behind them the carried columns that are named.
    columns: Vec<(&'a ReleaseColumn, Vec<usize>)>,
    n_quasi: usize,
    level: Option<usize>,
    means: Vec<Option<usize>>,
    requests: Vec<ColumnRequest>,
}

impl<'a> Layout<'a> {
    fn of(wanted: &Wanted<'a>, release: &dyn Source) -> Layout<'a> {
        let mut requests: Vec<ColumnRequest> = Vec::new();
        let mut request = |name: &str, column_type: Option<ColumnType>| {
            let name = name.to_owned();
            requests.push(ColumnRequest { name, column_type, coded: true, carried: false });
            requests.len() - 1
        };
        let mut columns = Vec::new();
        let mut means = Vec::new();
        for own in wanted.columns.of_kind(ColumnKind::Quasi) {
            // A column that stands by itself shows texts, bounds have types of their own.
            let as_text = (own.shown_in.len() == 1).then_some(ColumnType::Text);
            let places = own.shown_in.iter().map(|name| request(name, as_text)).collect();
            let is_added_up = wanted.totals.contains(&own.name.as_str());
            let mean = own.mean.as_ref().filter(|_| is_added_up);
            let mean = mean.map(|name| request(name, Some(ColumnType::Text)));
            columns.push((own, places));
            means.push(mean);
        }
        let n_quasi = columns.len();
        let level = wanted.columns.of_kind(ColumnKind::Level).next();
        let level = level.map(|own| request(&own.shown_in[0], Some(ColumnType::Integer)));
        for own in wanted.columns.of_kind(ColumnKind::Carried) {
            if wanted.named.contains(&own.name.as_str()) {
                let as_text = is_text(release, &own.shown_in[0]).then_some(ColumnType::Text);
                columns.push((own, vec![request(&own.shown_in[0], as_text)]));
                means.push(None);
            }
        }
        Layout { columns, n_quasi, level, means, requests }
    }
}

/// Whether the cells of a column are texts.
fn is_text(release: &dyn Source, name: &str) -> bool {
    let own = release.columns().iter().find(|own| own.name == name);
    own.is_none_or(|own| own.data_type.as_ref().is_none_or(|own| own.is_string()))
}

impl QueriedTable {
    /// Reads what is wanted of a release.
    pub(super) fn read(
        wanted: &Wanted<'_>,
        release: &dyn Source,
        (memory, watch): (&Memory, &dyn Watch),
    ) -> Result<QueriedTable> {
        let layout = Layout::of(wanted, release);
        let runs = read_runs(release, &layout.requests, memory, watch)?;
        let read = layout.columns.par_iter().enumerate().map(|(axis, (column, places))| {
            let means = layout.means[axis].map(|place| super::total::numbers(&runs, place));
            read_column(wanted, release, (column, places), &runs, axis, means)
        });
        let columns: Vec<QueriedColumn> = read.collect::<Result<_>>()?;
        let levels = layout.level.map(|place| levels_of(&runs, place, release)).transpose()?;
        let (boxes, grouped, mut notes) = boxes_of(&columns, layout.n_quasi, levels, &runs);
        let unread = columns.iter().filter(|own| {
            let is_named = wanted.named.contains(&own.column.name.as_str());
            is_named && matches!(own.cells.notation, Notation::Unknown)
        });
        let unread = unread.map(|own| Note::LabelsUnread { column: own.column.name.clone() });
        notes.extend(unread);
        let n_rows = runs.sizes.iter().sum();
        let n_positions = boxes.n_positions();
        let level = wanted.columns.of_kind(ColumnKind::Level).next();
        let level_column = level.map(|own| own.shown_in[0].clone());
        let n_quasi = layout.n_quasi;
        Ok(QueriedTable {
            boxes,
            grouped,
            columns,
            n_positions,
            n_quasi,
            level_column,
            n_rows,
            notes,
        })
    }

    pub(super) fn n_rows(&self) -> u64 {
        self.n_rows
    }

    pub(super) fn notes(&self) -> Vec<Note> {
        self.notes.clone()
    }

    /// The quasi-identifiers.
    pub(super) fn quasi(&self) -> impl Iterator<Item = &QueriedColumn> {
        self.columns[..self.n_quasi].iter()
    }

    /// The carried columns that are asked for.
    pub(super) fn carried(&self) -> impl Iterator<Item = &QueriedColumn> {
        self.columns[self.n_quasi..].iter()
    }

    /// The column of levels, where classes lie within each other.
    pub(super) fn level_column(&self) -> Option<&str> {
        self.level_column.as_deref()
    }

    /// Whether a class is its box without those of greater levels.
    pub(super) fn is_nested(&self) -> bool {
        self.boxes.is_nested()
    }

    pub(super) fn column(&self, name: &str) -> &QueriedColumn {
        let own = self.columns.iter().find(|own| own.column.name == name);
        own.expect("columns are checked before they are read")
    }

    /// A condition as a question about boxes.
    pub(super) fn query(
        &self,
        boxes: &[Vec<Test>],
    ) -> std::result::Result<BoxQuery, ConditionError> {
        let (mut may, mut must) =
            (Vec::with_capacity(boxes.len()), Vec::with_capacity(boxes.len()));
        let mut is_sure = true;
        for tests in boxes {
            let (mut may_be, mut must_be) = (Vec::new(), Vec::new());
            for test in tests {
                let own = self.column(&test.column);
                let asked = own.ground.asked(test)?;
                let unknown = own.ground.is_unknown(test);
                is_sure &= !unknown;
                let surely = if unknown { Asked::nothing() } else { asked.clone() };
                must_be.push((own.axis, surely));
                may_be.push((own.axis, asked));
            }
            may.push(may_be);
            must.push(must_be);
        }
        let must = if is_sure { None } else { Some(self.of_boxes(must)?) };
        Ok(BoxQuery { may: self.of_boxes(may)?, must })
    }

    pub(super) fn of_boxes(
        &self,
        boxes: Vec<Vec<(usize, Asked)>>,
    ) -> std::result::Result<Query, ConditionError> {
        let query = Query::any_of(boxes, &self.n_positions).map_err(too_many)?;
        match self.boxes.needs_opposite(&query) {
            true => query.with_opposite(&self.n_positions).map_err(too_many),
            false => Ok(query),
        }
    }

    /// The rows of a query that are asked for on an axis too.
    pub(super) fn narrowed(
        &self,
        query: &BoxQuery,
        axis: usize,
        asked: &Asked,
    ) -> Result<BoxQuery> {
        let narrowed = |query: &Query| {
            let terms = query.terms().iter().map(|term| {
                let mut term = term.clone();
                term.push((axis, asked.clone()));
                term
            });
            let query = self.of_boxes(terms.collect());
            query.map_err(|error| Error::usage(error.problem, error.hint))
        };
        let must = query.must.as_ref().map(narrowed).transpose()?;
        Ok(BoxQuery { may: narrowed(&query.may)?, must })
    }

    pub(super) fn answers(&self, queries: &[BoxQuery]) -> Vec<Answer> {
        queries.par_iter().map(|query| self.answer(query)).collect()
    }

    fn answer(&self, query: &BoxQuery) -> Answer {
        let answer = self.boxes.answer(&query.may);
        let lower = query.must.as_ref().map(|must| self.boxes.answer(must).lower);
        Answer { lower: lower.unwrap_or(answer.lower), ..answer }
    }

    /// The values of a column that rows are grouped by.
    pub(super) fn groups(&self, name: &str) -> Result<Vec<Group>> {
        let own = self.column(name);
        let axis = own.axis;
        let mut groups = Vec::new();
        let mut has_missing = false;
        let mut singles: Vec<(String, Asked)> = Vec::new();
        for shape in &own.cells.shapes {
            has_missing |= shape.missing && shape.values != Values::Any;
            let cover = own.ground.cover(shape);
            let asked = || Asked { spans: cover.spans.clone(), missing: false };
            match (&shape.values, own.ground.yardstick()) {
                (Values::Range(Edge::At(lo), Edge::At(hi)), Some(yardstick)) if lo == hi => {
                    singles.push((yardstick.text(*lo), asked()));
                }
                (Values::Names(names), None) => {
                    for name in names {
                        singles.push((name.clone(), own.ground.named(name)));
                    }
                }
                (Values::Leaves(_), None) => {}
                _ if own.column.kind == ColumnKind::Quasi && own.ground.yardstick().is_some() => {
                    return Err(Error::usage(
                        format!(
                            "column '{name}' shows ranges of ordered values, which are no groups"
                        ),
                        "ask for each range by a condition of its own",
                    ));
                }
                _ => {}
            }
        }
        if let Some(leaves) = own.ground.leaves() {
            singles.extend(leaves.into_iter().map(|leaf| {
                let asked = own.ground.named(&leaf);
                (leaf, asked)
            }));
        }
        if matches!(own.cells.notation, Notation::Ordered(_) | Notation::Dates(_)) {
            singles.sort_by_key(|(_, asked)| asked.spans.first().copied());
        } else {
            singles.sort_by(|a, b| a.0.cmp(&b.0));
        }
        singles.dedup_by(|a, b| a.0 == b.0);
        if singles.is_empty() && !has_missing {
            return Err(Error::usage(
                format!("column '{name}' shows labels only, which are no groups"),
                "ask for each value by a condition of its own",
            ));
        }
        if singles.len() > MAX_GROUPS {
            return Err(Error::usage(
                format!("column '{name}' has {} values to group by", singles.len()),
                format!("group by a column of at most {MAX_GROUPS}"),
            ));
        }
        let of_value = |(value, asked)| Group { value: Some(value), axis, asked };
        groups.extend(singles.into_iter().map(of_value));
        if has_missing {
            groups.push(Group { value: None, axis, asked: Asked::missing() });
        }
        Ok(groups)
    }

    /// What is answered for each group.
    pub(super) fn group_answers(
        &self,
        query: &BoxQuery,
        groups: &[Group],
        question: &Question,
    ) -> Result<Vec<GroupAnswer>> {
        let answered = groups.par_iter().map(|group| {
            let query = self.narrowed(query, group.axis, &group.asked)?;
            let answer = self.answer(&query);
            let totals = self.totals(&query, question)?;
            Ok(GroupAnswer::of(group.value.clone(), answer, totals))
        });
        answered.collect()
    }
}

fn read_column(
    wanted: &Wanted<'_>,
    release: &dyn Source,
    (column, places): (&ReleaseColumn, &[usize]),
    runs: &Runs,
    axis: usize,
    means: Option<Vec<Option<f64>>>,
) -> Result<QueriedColumn> {
    let tests = wanted.tests.iter().filter(|(_, test)| test.column == column.name);
    let tests: Vec<(usize, &Test)> = tests.copied().collect();
    let own_tests: Vec<&Test> = tests.iter().map(|(_, test)| *test).collect();
    let n_digits = n_digits(&own_tests);
    let literals: Vec<&str> = own_tests.iter().flat_map(|test| test.values()).collect();
    let literals = &literals;
    let source = CellSource { release: release.name(), column, runs, places, n_digits, literals };
    let cells = source.read()?;
    // The texts of a column that left as it came are names where they are nothing else.
    let is_carried = column.kind == ColumnKind::Carried;
    let column_type = match cells.notation {
        Notation::Booleans => Some(ColumnType::Boolean),
        _ => column.column_type.or(is_carried.then_some(ColumnType::Text)),
    };
    // What a carried column shows is all there is to its values.
    let told = (column_type, column.is_type_sure || is_carried);
    let ground = Ground::of(&cells.notation, &cells.shapes, &own_tests, told);
    let ground = ground.map_err(|error| {
        // The first condition that has it.
        let is_wrong = |test: &&Test| Ground::of(&cells.notation, &[], &[*test], told).is_err();
        let place = tests.iter().find(|(_, test)| is_wrong(test)).map_or(0, |(place, _)| *place);
        wanted.asking.refuse(place, &error)
    })?;
    Ok(QueriedColumn { column: column.clone(), ground, cells, axis, means })
}

fn levels_of(runs: &Runs, place: usize, release: &dyn Source) -> Result<Vec<u32>> {
    let refusal = || {
        Error::usage(
            format!("{}: the column of levels holds something that is no level", release.name()),
            "levels are whole numbers from 0 on",
        )
    };
    let (ticks, _) = super::read::ticks_of(&runs.columns[place]).ok_or_else(refusal)?;
    let level = |tick: Option<i64>| u32::try_from(tick?).ok();
    ticks.into_iter().map(|tick| level(tick).ok_or_else(refusal)).collect()
}

/// The boxes of all classes, and the classes themselves.
fn boxes_of(
    columns: &[QueriedColumn],
    n_quasi: usize,
    levels: Option<Vec<u32>>,
    runs: &Runs,
) -> (Boxes, Grouped, Vec<Note>) {
    let (quasi, carried) = columns.split_at(n_quasi);
    fn codes_of(own: &QueriedColumn) -> Codes<'_> {
        Codes { codes: &own.cells.of_run, n_values: own.cells.shapes.len() as u32 }
    }
    let mut quasi_codes: Vec<Codes<'_>> = quasi.iter().map(codes_of).collect();
    let n_levels = levels.as_ref().and_then(|own| own.iter().max()).map_or(0, |max| max + 1);
    quasi_codes.extend(levels.as_ref().map(|own| Codes { codes: own, n_values: n_levels }));
    let carried_codes: Vec<Codes<'_>> = carried.iter().map(codes_of).collect();
    let grouped = Grouped::of(&runs.sizes, &quasi_codes, &carried_codes);
    let axis_of = |own: &QueriedColumn, runs: &[usize]| AxisCells {
        cells: own.cells.shapes.iter().map(|shape| own.ground.cover(shape)).collect(),
        cell_of: runs.iter().map(|&run| own.cells.of_run[run]).collect(),
        n_positions: own.ground.n_positions(),
        scale: own.ground.scale(),
        known: known(&own.cells.notation, own.column.ends_are_values),
    };
    let axes = quasi.par_iter().map(|own| axis_of(own, &grouped.runs)).collect();
    let mut boxes = Boxes::new(grouped.sizes.clone(), axes);
    let mut notes = Vec::new();
    if let Some(levels) = levels {
        let shows_labels = quasi.iter().any(QueriedColumn::shows_labels);
        let own: Vec<u32> = grouped.runs.iter().map(|&run| levels[run]).collect();
        if shows_labels {
            notes.push(Note::LabelsHideLevels);
        } else {
            let is_nested;
            (boxes, is_nested) = boxes.with_levels(&own);
            notes.extend((!is_nested).then_some(Note::LevelsTellNothing));
        }
    }
    if !carried.is_empty() {
        boxes = boxes.with_parts(Parts {
            starts: grouped.part_starts.clone(),
            sizes: grouped.part_sizes.clone(),
            axes: carried.iter().map(|own| axis_of(own, &grouped.part_runs)).collect(),
        });
    }
    (boxes, grouped, notes)
}
