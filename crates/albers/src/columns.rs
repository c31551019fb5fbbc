//! Some columns of a table that this program may not have made, read without a plan for a release.

use albers_measure::RowRuns;
use albers_storage::memory_budget::Reservation;
use albers_storage::watch::{Phase, Watch};
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::coding::{CodedColumn, CodingPlan, RawColumn, encode};
use albers_table::schema::ColumnType;
use albers_table::source::{
    ColumnRequest, RequestedTypes, Source, SourceChunk, SourceColumn, for_each_chunk,
    with_settled_types,
};

use crate::error::{Error, Result};
use crate::job::Job;
use crate::memory::Memory;
use crate::plan::{BOUND_ENDINGS, place_of};
use crate::report::Note;
use crate::rows::check_size;
use crate::runs::{RunChunk, runs_of};

/// A column to be read.
pub struct WantedColumn {
    /// Its name.
    pub name: String,
    /// Its type; told from the file when not given.
    pub column_type: Option<ColumnType>,
}

impl WantedColumn {
    /// A column whose cells are wanted as they stand.
    pub fn as_it_stands(columns: &[SourceColumn], name: &str) -> WantedColumn {
        let column = columns.iter().find(|column| column.name == name);
        let data_type = column.and_then(|column| column.data_type.as_ref());
        // Whole numbers of a typed file are written in one way only, and compared faster as such.
        let is_whole = data_type.is_some_and(|own| own.is_integer());
        let column_type = if is_whole { ColumnType::Integer } else { ColumnType::Text };
        WantedColumn { name: name.to_owned(), column_type: Some(column_type) }
    }

    /// How it is read.
    pub fn request(self) -> ColumnRequest {
        let WantedColumn { name, column_type } = self;
        ColumnRequest { name, column_type, coded: true, carried: false }
    }
}

/// The columns in which a table shows a quasi-identifier.
pub enum ShownIn {
    /// One column of that name.
    One(String),
    /// Two columns of bounds and perhaps one that tells of missing values.
    Bounds(Vec<String>),
}

impl ShownIn {
    /// Finds the columns: the one of that name, or `NAME_min`, `NAME_max` and `NAME_missing`.
    pub fn find(source: &dyn Source, name: &str) -> Result<ShownIn> {
        let columns = source.columns();
        let is_there = |name: &str| columns.iter().any(|column| column.name == name);
        let [min, max, missing] = BOUND_ENDINGS;
        let bounds = [format!("{name}{min}"), format!("{name}{max}")];
        if is_there(name) || !bounds.iter().all(|bound| is_there(bound)) {
            place_of(source.name(), columns, name)?;
            return Ok(ShownIn::One(name.to_owned()));
        }
        let mut bounds = bounds.to_vec();
        bounds.extend(Some(format!("{name}{missing}")).filter(|name| is_there(name)));
        Ok(ShownIn::Bounds(bounds))
    }

    /// The names of the columns.
    pub fn names(&self) -> &[String] {
        match self {
            ShownIn::One(name) => std::slice::from_ref(name),
            ShownIn::Bounds(names) => names,
        }
    }

    /// What the user should know, if the quasi-identifier is shown by its bounds.
    pub fn note(&self, name: &str) -> Option<Note> {
        match self {
            ShownIn::One(_) => None,
            ShownIn::Bounds(names) => {
                Some(Note::ShownByBounds { column: name.to_owned(), shown_in: names.clone() })
            }
        }
    }
}

/// The column of a table that tells how deep the regions of its classes lie: that of the job, where
/// the table has it. Without it classes are one that show the same, which are larger.
pub fn level_of<'j>(job: &'j Job, source: &dyn Source) -> Result<Option<&'j str>> {
    let has_role = |name: &str| job.columns.get(name).is_some_and(|own| own.role.is_some());
    if let Some(name) = job.level_column.as_deref().filter(|name| has_role(name)) {
        return Err(Error::usage(
            format!("column '{name}' is said to have a role, and to tell levels"),
            wording!["drop its role, or ", Field::LevelColumn],
        ));
    }
    let is_there = |name: &&str| source.columns().iter().any(|own| own.name == *name);
    Ok(job.level_column().filter(is_there).filter(|name| !has_role(name)))
}

/// Columns of a table that are in memory as a whole.
pub(crate) struct WholeColumns {
    /// Rows of the table that stand together and show the same.
    pub(crate) runs: RowRuns,
    /// The columns, in the order in which they were asked for: those that are shown by runs, the
    /// others by rows.
    pub(crate) columns: Vec<RawColumn>,
    /// What they take.
    pub(crate) memory: Reservation,
}

impl WholeColumns {
    /// The columns of all chunks of a table, read by these requests.
    pub(crate) fn of(
        requests: &[ColumnRequest],
        types: &RequestedTypes,
        mut chunks: Vec<RunChunk>,
        memory: Reservation,
    ) -> WholeColumns {
        chunks.sort_by_key(|chunk| chunk.first_row);
        let runs = runs_of(&chunks);
        let mut by_column: Vec<Vec<_>> = requests.iter().map(|_| Vec::new()).collect();
        for chunk in chunks {
            let cells = chunk.shown.into_iter().chain(chunk.others);
            by_column.iter_mut().zip(cells).for_each(|(column, cells)| column.push(cells));
        }
        let columns = requests.iter().zip(by_column).enumerate();
        let columns = columns.map(|(column_idx, (request, chunks))| RawColumn {
            name: request.name.clone(),
            column_type: types.column_types[column_idx],
            data_type: types.data_types[column_idx].clone(),
            chunks,
        });
        WholeColumns { runs, columns: columns.collect(), memory }
    }
}

/// Reads columns whole, so many of them by runs of rows that show the same there; a table without
/// rows, or one that does not fit, is refused.
pub(crate) fn read_columns(
    source: &dyn Source,
    wanted: Vec<WantedColumn>,
    n_shown: usize,
    (memory, watch): (&Memory, &dyn Watch),
) -> Result<WholeColumns> {
    let requests: Vec<ColumnRequest> = wanted.into_iter().map(WantedColumn::request).collect();
    let (types, (chunks, memory)) = with_settled_types(source, &requests, &mut |types| {
        let mut memory = memory.budget.reserve_nothing("the columns of a table");
        let mut chunks: Vec<RunChunk> = Vec::new();
        watch.phase(Phase::Read, source.n_rows());
        let mut scan = source.scan(&requests, types)?;
        let map = |chunk: SourceChunk| Ok(RunChunk::of(chunk, n_shown));
        for_each_chunk(scan.as_mut(), watch, &map, &mut |chunk: RunChunk| {
            memory.try_grow(chunk.kept_bytes())?;
            chunks.push(chunk);
            Ok(())
        })?;
        Ok((chunks, memory))
    })?;
    check_size(source, chunks.iter().map(|chunk| chunk.n_rows as u64).sum())?;
    Ok(WholeColumns::of(&requests, &types, chunks, memory))
}

/// The distinct texts or values of a column, and which of them each row has.
pub fn intern(column: RawColumn) -> Result<CodedColumn> {
    Ok(encode(column, CodingPlan::Categories { hierarchy: None, by_frequency: false })?)
}
