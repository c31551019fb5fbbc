//! Some columns of a table that this program may not have made, read without a plan for a release.

use std::path::Path;

use albers_table::domain::{CodedColumn, Coding, RawColumn, encode};
use albers_table::progress::Progress;
use albers_table::read::{self, ColumnRequest, HeaderColumn, ReadOptions};
use albers_table::schema::ColumnType;

use crate::error::{Error, Result};
use crate::roles::BOUND_ENDINGS;

/// The most rows of a table in memory.
const MAX_ROWS: u64 = u32::MAX as u64 - 1;

/// A column to be read.
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// Its type; told from the file when not given.
    pub column_type: Option<ColumnType>,
}

impl Wanted {
    /// A column whose cells are wanted as they stand.
    pub fn as_it_stands(header: &[HeaderColumn], name: &str) -> Wanted {
        let column = header.iter().find(|column| column.name == name);
        let data_type = column.and_then(|column| column.data_type.as_ref());
        // Whole numbers of a typed file are written in one way only, and compared faster as such.
        let is_whole = data_type.is_some_and(|own| own.is_integer());
        let column_type = if is_whole { ColumnType::Integer } else { ColumnType::Text };
        Wanted { name: name.to_owned(), column_type: Some(column_type) }
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
    pub fn find(path: &Path, header: &[HeaderColumn], name: &str) -> Result<ShownIn> {
        let is_there = |name: &str| header.iter().any(|column| column.name == name);
        let [min, max, missing] = BOUND_ENDINGS;
        let bounds = [format!("{name}{min}"), format!("{name}{max}")];
        if is_there(name) || !bounds.iter().all(|bound| is_there(bound)) {
            read::place_of(path, header, name)?;
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
    pub fn note(&self, name: &str) -> Option<String> {
        match self {
            ShownIn::One(_) => None,
            ShownIn::Bounds(names) => {
                Some(format!("'{name}' is shown by its bounds: {}", names.join(", ")))
            }
        }
    }
}

/// Reads columns whole; a table without rows is refused.
pub fn read_columns(
    path: &Path,
    options: &ReadOptions,
    wanted: Vec<Wanted>,
    progress: &dyn Progress,
) -> Result<(usize, Vec<RawColumn>)> {
    let requests: Vec<ColumnRequest> = wanted
        .into_iter()
        .map(|Wanted { name, column_type }| ColumnRequest {
            name,
            column_type,
            coded: true,
            carried: false,
        })
        .collect();
    let mut chunks = vec![Vec::new(); requests.len()];
    let mut n_rows = 0u64;
    let columns = read::read(path, options, &requests, progress, &mut |chunk| {
        n_rows += chunk.n_rows as u64;
        for (of_column, coded) in chunks.iter_mut().zip(chunk.coded) {
            of_column.push(coded);
        }
        Ok(())
    })?;
    check_size(path, n_rows)?;
    let raw =
        requests.into_iter().zip(chunks).enumerate().map(|(at, (request, chunks))| RawColumn {
            name: request.name,
            column_type: columns.column_types[at],
            data_type: columns.data_types[at].clone(),
            chunks,
        });
    Ok((n_rows as usize, raw.collect()))
}

/// Refuses a table without rows, and one with more than can be numbered.
pub fn check_size(path: &Path, n_rows: u64) -> Result<()> {
    if n_rows == 0 {
        return Err(Error::usage(
            format!("{} has column names but no rows", path.display()),
            "a table needs at least one row",
        ));
    }
    if n_rows > MAX_ROWS {
        return Err(Error::usage(
            format!("{} has {n_rows} rows, more than fit in memory here", path.display()),
            "split the table",
        ));
    }
    Ok(())
}

/// The distinct texts or values of a column, and which of them each row has.
pub fn intern(column: RawColumn) -> Result<CodedColumn> {
    Ok(encode(column, Coding::Categories { hierarchy: None, by_frequency: false })?)
}
