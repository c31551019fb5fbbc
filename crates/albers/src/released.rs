//! A release, ours or anybody's: its texts, and what they show.

pub(crate) mod pairs;

use std::collections::hash_map::Entry;

use albers_classes::Attribute;
use albers_classes::space::Shown;
use albers_measure::released::{Pairing, ReleasedColumn, uncovered};
use albers_measure::{ClassNumbers, Classes, Codes, RowRuns};
use albers_release::describe::CellContent;
use albers_release::parse::{
    CellParser, CellProblem, ReadCell, is_set_of_values, shows_missing_too,
};
use albers_storage::memory_budget::Reservation;
use albers_storage::watch::Watch;
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::TableError;
use albers_table::code::Code;
use albers_table::coding::CodedColumn;
use albers_table::row::{RowId, RowIdx};
use albers_table::schema::ColumnType;
use albers_table::source::{Source, place_of};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::columns::{ShownIn, WantedColumn, intern, read_columns};
use crate::error::{DifferingColumn, Error, Result};
use crate::job::Categories;
use crate::memory::Memory;
use crate::report::Note;
use crate::rows::Table;

/// The columns of a release that are looked at.
pub(crate) struct ReleasedColumns<'n> {
    /// The quasi-identifiers.
    pub(crate) quasi: Vec<&'n str>,
    /// The column that tells how deep the regions of its classes lie.
    pub(crate) level: Option<&'n str>,
    /// The column that pairs its rows with those of the original.
    pub(crate) key: Option<&'n str>,
    /// The sensitive columns, or others that leave as they came.
    pub(crate) sensitive: Vec<&'n str>,
    /// Columns that are published as they are, and of which it is told how much classes tell.
    pub(crate) targets: Vec<&'n str>,
}

/// A category with a hierarchy that is shown by sets loses by values, not by labels.
pub(crate) fn find_sets(
    categories: Option<Categories>,
    released: &Released,
    attributes: &mut [Attribute],
) {
    for attribute in attributes {
        let hierarchy = attribute.domain.hierarchy();
        let (Some(hierarchy), Shown::Label, None) = (hierarchy, attribute.shown, categories) else {
            continue;
        };
        let column = released.quasi_of(attribute);
        let is_set = |text: &str| is_set_of_values(text) && hierarchy.node_by_label(text).is_none();
        if column.texts().any(is_set) {
            attribute.shown = Shown::Set;
        }
    }
}

/// The codes of the original, attribute by attribute.
pub(crate) fn codes_of(table: &mut Table) -> Vec<Vec<u32>> {
    let points = table.take_points();
    let mut codes = vec![Vec::with_capacity(table.n_rows); table.attributes.len()];
    for chunk in points.into_chunks() {
        for (all, of_chunk) in codes.iter_mut().zip(chunk.columns) {
            all.extend_from_slice(&of_chunk);
        }
    }
    codes
}

pub(crate) fn differing_quasi(
    columns: &[ReleasedColumn<'_>],
    pairing: &Pairing<'_>,
) -> Vec<DifferingColumn> {
    let faults = columns.iter().zip(uncovered(columns, pairing));
    let differing = faults.filter_map(|(column, fault)| {
        let fault = fault?;
        Some(DifferingColumn {
            column: column.attribute.domain.name().to_owned(),
            n_rows: fault.n_rows,
            first_row: fault.first_row,
        })
    });
    differing.collect()
}

/// A release as read: texts, not yet understood.
pub(crate) struct Released {
    /// What messages call it.
    pub(crate) name: String,
    /// Its rows that stand together and show the same.
    runs: RowRuns,
    /// By runs, as the level is; other columns are by rows.
    quasi: Vec<QuasiTexts>,
    level: Option<CodedColumn>,
    pub(crate) key: Option<CodedColumn>,
    pub(crate) sensitive: Vec<CodedColumn>,
    pub(crate) targets: Vec<CodedColumn>,
    pub(crate) notes: Vec<Note>,
    /// What it takes.
    _memory: Reservation,
}

/// The texts of one quasi-identifier, in one column or as bounds.
struct QuasiTexts {
    name: String,
    is_bounds: bool,
    columns: Vec<CodedColumn>,
}

impl Released {
    /// Reads the columns that show some quasi-identifiers, a key and some sensitive columns.
    pub(crate) fn read(
        source: &dyn Source,
        columns: &ReleasedColumns<'_>,
        memory: &Memory,
        watch: &dyn Watch,
    ) -> Result<Self> {
        let as_text = |name: &str| WantedColumn {
            name: name.to_owned(),
            column_type: Some(ColumnType::Text),
        };
        let mut wanted = Vec::new();
        let mut places = Vec::new();
        let mut notes = Vec::new();
        for &name in &columns.quasi {
            let shown_in = ShownIn::find(source, name)?;
            notes.extend(shown_in.note(name));
            let as_it_stands = |name: &String| WantedColumn::as_it_stands(source.columns(), name);
            wanted.extend(shown_in.names().iter().map(as_it_stands));
            let is_bounds = matches!(shown_in, ShownIn::Bounds(_));
            places.push((name.to_owned(), is_bounds, shown_in.names().len()));
        }
        let n_shown = wanted.len() + columns.level.iter().len();
        let levels = columns.level.iter();
        for &name in levels.chain(&columns.key).chain(&columns.sensitive).chain(&columns.targets) {
            place_of(source.name(), source.columns(), name)?;
            wanted.push(as_text(name));
        }
        let whole = read_columns(source, wanted, n_shown, (memory, watch))?;
        let texts: Vec<CodedColumn> =
            whole.columns.into_par_iter().map(intern).collect::<Result<_>>()?;
        let mut texts = texts.into_iter();
        let quasi = places
            .into_iter()
            .map(|(name, is_bounds, n_columns)| {
                let columns = texts.by_ref().take(n_columns).collect();
                QuasiTexts { name, is_bounds, columns }
            })
            .collect();
        let level = columns.level.and_then(|_| texts.next());
        let key = columns.key.and_then(|_| texts.next());
        Ok(Released {
            name: source.name().to_owned(),
            runs: whole.runs,
            quasi,
            level,
            key,
            sensitive: texts.by_ref().take(columns.sensitive.len()).collect(),
            targets: texts.collect(),
            notes,
            _memory: whole.memory,
        })
    }

    /// How many rows it has.
    pub(crate) fn n_rows(&self) -> usize {
        self.runs.n_rows()
    }

    /// Its runs that show the same by these codes.
    pub(crate) fn classes_by(&self, columns: &[Codes<'_>]) -> Classes {
        Classes::of(self.runs.clone(), columns)
    }

    /// Whether it shows a quasi-identifier by its bounds.
    pub(crate) fn is_by_bounds(&self, name: &str) -> bool {
        self.quasi.iter().any(|quasi| quasi.name == name && quasi.is_bounds)
    }

    /// Rows that show the same text on all quasi-identifiers, and the same level, whether or not it
    /// is understood.
    pub(crate) fn classes_of_texts(&self) -> Classes {
        let columns = self.quasi.iter().flat_map(|quasi| &quasi.columns);
        let codes = columns.map(|column| (column.codes.concat(), column.domain.n_values() as u32));
        let codes: Vec<(Vec<u32>, u32)> = codes.chain(self.levels()).collect();
        let columns: Vec<Codes<'_>> =
            codes.iter().map(|(codes, n_values)| Codes { codes, n_values: *n_values }).collect();
        self.classes_by(&columns)
    }

    /// The level of each run of rows as a whole number; nothing where none are told.
    pub(crate) fn level_numbers(&self) -> Result<Option<Vec<i64>>> {
        let Some(column) = &self.level else { return Ok(None) };
        let number = |&code: &u32| column.domain.category(Code::new(code))?.trim().parse().ok();
        let numbers: Vec<Option<i64>> = column.codes.iter().flatten().map(number).collect();
        let Some(wrong) = numbers.iter().position(Option::is_none) else {
            return Ok(Some(numbers.into_iter().flatten().collect()));
        };
        Err(Error::usage(
            format!(
                "{}, row {}: the level in column '{}' is no whole number",
                self.name,
                RowId::new(self.runs.rows(wrong).start as u64),
                column.domain.name()
            ),
            wording!["name another column with ", Field::LevelColumn],
        ))
    }

    /// The levels of all runs of rows as codes, and how many there are; nothing where none are told.
    pub(crate) fn levels(&self) -> Option<(Vec<u32>, u32)> {
        let column = self.level.as_ref()?;
        Some((column.codes.concat(), column.domain.n_values() as u32))
    }

    fn quasi_of(&self, attribute: &Attribute) -> &QuasiTexts {
        let name = attribute.domain.name();
        self.quasi.iter().find(|quasi| quasi.name == name).expect("every attribute was read")
    }

    /// What the cells of an attribute show.
    pub(crate) fn column<'a>(&'a self, attribute: &'a Attribute) -> Result<ReleasedColumn<'a>> {
        let texts = self.quasi_of(attribute);
        let codes: Vec<Vec<u32>> = texts.columns.iter().map(|c| c.codes.concat()).collect();
        let columns: Vec<Codes<'_>> = texts
            .columns
            .iter()
            .zip(&codes)
            .map(|(column, codes)| Codes { codes, n_values: column.domain.n_values() as u32 })
            .collect();
        let parser = CellParser::new(attribute, texts.shows_missing());
        let mut cells = Vec::new();
        let mut place_of: FxHashMap<(CellContent, u64), u32> = FxHashMap::default();
        let numbers = ClassNumbers::of(self.runs.n_runs(), &columns);
        let mut place_of_texts: Vec<u32> = Vec::with_capacity(numbers.n_classes());
        for run in numbers.first_runs() {
            let text = |at: usize| texts.columns[at].domain.category(Code::new(codes[at][run]));
            let cell = match texts.columns.len() {
                1 => parser.parse(text(0)),
                2 => parser.parse_bounds(text(0), text(1), None),
                _ => parser.parse_bounds(text(0), text(1), text(2)),
            };
            let cell = cell.map_err(|problem| {
                let first_row = RowIdx::of_index(self.runs.rows(run).start);
                cell_error(&self.name, first_row.into(), texts, problem)
            })?;
            place_of_texts.push(place_of_cell(cell, &mut cells, &mut place_of));
        }
        let places = numbers.of_runs().map(|number| place_of_texts[number.index()]).collect();
        Ok(ReleasedColumn { attribute, cells, places, runs: &self.runs })
    }
}

/// The place of a cell among those known so far. Texts that show the same are one cell, of whose
/// ends those are values that are one in some of the texts.
fn place_of_cell(
    cell: ReadCell,
    cells: &mut Vec<ReadCell>,
    place_of: &mut FxHashMap<(CellContent, u64), u32>,
) -> u32 {
    match place_of.entry((cell.content.clone(), cell.lost_steps)) {
        Entry::Occupied(known) => {
            let place = *known.get();
            let known = &mut cells[place as usize];
            known.are_values.iter_mut().zip(cell.are_values).for_each(|(a, b)| *a |= b);
            place
        }
        Entry::Vacant(new) => {
            cells.push(cell);
            *new.insert(cells.len() as u32 - 1)
        }
    }
}

impl QuasiTexts {
    /// The distinct texts of the first column.
    fn texts(&self) -> impl Iterator<Item = &str> {
        self.columns[0].domain.categories().map(|(_, text)| text)
    }

    /// Whether a cell shows the missing value, alone or beside others.
    fn shows_missing(&self) -> bool {
        self.columns[0].domain.n_missing() > 0 || self.texts().any(shows_missing_too)
    }
}

fn cell_error(table: &str, row: RowId, texts: &QuasiTexts, problem: CellProblem) -> Error {
    let names: Vec<&str> = texts.columns.iter().map(|column| column.domain.name()).collect();
    Error::Table(TableError::Cell {
        table: table.to_owned(),
        place: format!("row {row}"),
        column: names.join(", "),
        problem: problem.problem().to_owned(),
        hint: problem.hint(&texts.name),
    })
}
