//! Reads a table by a job's roles and codes what the method needs.

use std::ops::RangeInclusive;
use std::path::Path;

use albers_classes::Attribute;
use albers_classes::points::Points;
use albers_classes::space::Shown;
use albers_release::publish::CarriedColumn;
use albers_release::publish::OutputColumn;
use albers_storage::memory_budget::MemoryBudget;
use albers_table::chunk::ColumnChunk;
use albers_table::domain::{CodedColumn, Coding, RawColumn, encode};
use albers_table::hierarchy::HierarchySpec;
use albers_table::progress::Progress;
use albers_table::read::{self, ColumnRequest, HeaderColumn, SourceColumns};
use albers_table::schema::{ColumnType, Role};
use arrow_array::ArrayRef;
use rayon::prelude::*;

use crate::columns::check_size;
use crate::error::{Error, Result};
use crate::job::{Categories, Job, Method};

/// What a coded cell takes while a table in memory is partitioned and written.
const CELL_BYTES: usize = 11;

/// What a table may take in memory: where no budget is given, only the choice of a method depends
/// on it.
pub fn limit_bytes(job: &Job) -> Result<Option<usize>> {
    if job.method() != Method::Auto && job.memory.is_none() {
        return Ok(None);
    }
    Ok(Some(job.memory_bytes()?))
}

/// The weights that leave a sum of losses exact enough to compare cuts.
const WEIGHTS: RangeInclusive<f64> = 1e-6..=1e6;

/// A table, read and coded.
pub struct Table {
    /// Number of rows.
    pub n_rows: usize,
    /// The quasi-identifiers, in file order.
    pub attributes: Vec<Attribute>,
    /// Their codes.
    pub points: Points,
    /// The sensitive columns, coded as categories.
    pub sensitive: Vec<SensitiveData>,
    /// The subject of each row, if a column tells it.
    pub subjects: Option<Vec<u32>>,
    /// Number of distinct subjects.
    pub n_subjects: u64,
    /// The columns that leave as they came: sensitive and kept ones, in file order.
    pub carried: Vec<CarriedColumn>,
    /// All published columns, in file order.
    pub output_columns: Vec<OutputColumn>,
    /// The byte between the cells of a text file.
    pub delimiter: Option<u8>,
    /// All columns of the file.
    pub header: Vec<HeaderColumn>,
    /// The types of the columns that were read.
    pub column_types: Vec<(String, ColumnType)>,
    /// About what it takes in memory.
    pub n_bytes: usize,
}

/// A sensitive column.
pub struct SensitiveData {
    /// Its codes, and what they mean.
    pub column: CodedColumn,
}

impl SensitiveData {
    /// The codes of all rows.
    pub fn codes(&self) -> Vec<u32> {
        self.column.codes.concat()
    }
}

/// A column of the job, in file order.
pub struct Planned {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Its hierarchy.
    pub hierarchy: Option<HierarchySpec>,
    /// How much a loss on it counts.
    pub weight: f64,
    /// Whether it is cut before all others.
    pub preferred: bool,
}

/// Reads a table by the roles of a job. `typed_output` tells whether carried text becomes typed.
/// A table that would take more than `limit_bytes` is refused.
pub fn load(
    job: &Job,
    path: &Path,
    typed_output: bool,
    limit_bytes: Option<usize>,
    progress: &dyn Progress,
) -> Result<Table> {
    let options = job.read_options()?;
    let header = read::header(path, &options)?;
    let planned = plan_columns(job, path, &header)?;
    let requests = requests_of(job, &planned);
    let mut coded: Vec<Vec<ColumnChunk>> = vec![Vec::new(); planned.len()];
    let mut carried: Vec<Vec<ArrayRef>> = vec![Vec::new(); planned.len()];
    let mut n_rows = 0u64;
    let budget = MemoryBudget::new(limit_bytes.unwrap_or(usize::MAX));
    let mut memory = budget.reserve_nothing("the table in memory");
    let columns = read::read(path, &options, &requests, progress, &mut |chunk| {
        n_rows += chunk.n_rows as u64;
        let carried_bytes: usize =
            chunk.carried.iter().map(|array| array.get_array_memory_size()).sum();
        memory.try_grow(chunk.n_rows * chunk.coded.len() * CELL_BYTES + carried_bytes)?;
        let mut coded_chunks = chunk.coded.into_iter();
        let mut carried_chunks = chunk.carried.into_iter();
        for (at, request) in requests.iter().enumerate() {
            if request.coded {
                coded[at].extend(coded_chunks.next());
            }
            if request.carried {
                carried[at].extend(carried_chunks.next());
            }
        }
        Ok(())
    })?;
    check_size(path, n_rows)?;
    let table = Loaded { job, planned, columns, coded, carried, header, n_rows: n_rows as usize };
    Ok(Table { n_bytes: memory.n_bytes(), ..table.encode(typed_output)? })
}

/// How the columns are read.
pub fn requests_of(job: &Job, planned: &[Planned]) -> Vec<ColumnRequest> {
    planned
        .iter()
        .map(|column| ColumnRequest {
            name: column.name.clone(),
            column_type: job.columns[&column.name].column_type,
            coded: column.role != Role::Keep,
            carried: matches!(column.role, Role::Keep | Role::Sensitive),
        })
        .collect()
}

/// The columns with a role that is read, in file order.
pub fn plan_columns(job: &Job, path: &Path, header: &[HeaderColumn]) -> Result<Vec<Planned>> {
    for name in job.columns.keys() {
        read::place_of(path, header, name)?;
    }
    let mut planned = Vec::new();
    for column in header {
        let Some(of_job) = job.columns.get(&column.name) else { continue };
        let hierarchy = of_job.hierarchy_spec(&column.name)?;
        if let Some(HierarchySpec::File(file)) = &hierarchy {
            albers_storage::input::open(file).map_err(|error| {
                Error::usage(
                    format!("hierarchy of column '{}': {error}", column.name),
                    "or use prefix, ranges:5,10,20, dates or suppress, which need no file",
                )
            })?;
        }
        let Some(role) = of_job.role else { continue };
        let weight = of_job.weight.unwrap_or(1.0);
        if !WEIGHTS.contains(&weight) {
            return Err(Error::usage(
                format!(
                    "the weight of column '{}' is not a number from {} to {}",
                    column.name,
                    WEIGHTS.start(),
                    WEIGHTS.end()
                ),
                "use 1 for a column that counts like the others",
            ));
        }
        let preferred = of_job.bias.unwrap_or(false);
        if role != Role::Identifier {
            planned.push(Planned { name: column.name.clone(), role, hierarchy, weight, preferred });
        }
    }
    Ok(planned)
}

/// A table as read, before it is coded.
struct Loaded<'j> {
    job: &'j Job,
    planned: Vec<Planned>,
    columns: SourceColumns,
    coded: Vec<Vec<ColumnChunk>>,
    carried: Vec<Vec<ArrayRef>>,
    header: Vec<HeaderColumn>,
    n_rows: usize,
}

impl Loaded<'_> {
    fn encode(self, typed_output: bool) -> Result<Table> {
        let Loaded { job, planned, columns, coded, carried, header, n_rows } = self;
        let shown: Vec<Shown> = planned
            .iter()
            .zip(&columns.column_types)
            .map(|(column, &kind)| shown_as(kind, column.hierarchy.is_some(), job.categories))
            .collect();
        let encoded: Vec<Option<CodedColumn>> = planned
            .par_iter()
            .zip(coded)
            .enumerate()
            .map(|(at, (column, chunks))| {
                let raw = RawColumn {
                    name: column.name.clone(),
                    column_type: columns.column_types[at],
                    data_type: columns.data_types[at].clone(),
                    chunks,
                };
                encode_by_role(raw, column, shown[at])
            })
            .collect::<Result<_>>()?;

        let mut table = Table {
            n_rows,
            attributes: Vec::new(),
            points: Points::new(Vec::new()),
            sensitive: Vec::new(),
            subjects: None,
            n_subjects: 0,
            carried: Vec::new(),
            output_columns: Vec::new(),
            delimiter: columns.delimiter,
            header,
            column_types: Vec::new(),
            n_bytes: 0,
        };
        let mut points = Vec::new();
        for (at, ((column, encoded), carried)) in
            planned.into_iter().zip(encoded).zip(carried).enumerate()
        {
            let kind = columns.column_types[at];
            table.column_types.push((column.name.clone(), kind));
            match (column.role, encoded) {
                (Role::Quasi, Some(encoded)) => {
                    points.push(table.add_attribute(&column, encoded, shown[at]));
                }
                (Role::Subject, Some(encoded)) => {
                    table.n_subjects = encoded.domain.n_values();
                    table.subjects = Some(encoded.codes.concat());
                }
                (_, encoded) => {
                    let carried = CarriedColumn::new(column.name, kind, carried, typed_output);
                    table.add_carried(carried, encoded);
                }
            }
        }
        table.points = Points::new(points);
        Ok(table)
    }
}

impl Table {
    /// Adds a quasi-identifier; its codes are given back, since points need those of all.
    fn add_attribute(
        &mut self,
        column: &Planned,
        encoded: CodedColumn,
        shown: Shown,
    ) -> Vec<Vec<u32>> {
        self.output_columns.push(OutputColumn::Attribute(self.attributes.len()));
        self.attributes.push(Attribute {
            domain: encoded.domain,
            shown,
            level: None,
            weight: column.weight,
            preferred: column.preferred,
        });
        encoded.codes
    }

    /// Adds a column that leaves as it came; a sensitive one is also coded.
    fn add_carried(&mut self, carried: CarriedColumn, encoded: Option<CodedColumn>) {
        self.output_columns.push(OutputColumn::Carried(self.carried.len()));
        self.carried.push(carried);
        self.sensitive.extend(encoded.map(|column| SensitiveData { column }));
    }
}

fn encode_by_role(raw: RawColumn, column: &Planned, shown: Shown) -> Result<Option<CodedColumn>> {
    let encoded = coding_of(column, shown).map(|coding| encode(raw, coding));
    Ok(encoded.transpose()?)
}

/// How a column is coded, if it is.
pub fn coding_of(column: &Planned, shown: Shown) -> Option<Coding<'_>> {
    match column.role {
        Role::Keep | Role::Identifier => None,
        Role::Quasi if shown == Shown::Interval => Some(Coding::Ordered),
        Role::Quasi => {
            Some(Coding::Categories { hierarchy: column.hierarchy.as_ref(), by_frequency: true })
        }
        Role::Sensitive => {
            Some(Coding::Categories { hierarchy: column.hierarchy.as_ref(), by_frequency: false })
        }
        Role::Subject => Some(Coding::Categories { hierarchy: None, by_frequency: false }),
    }
}

/// How a quasi-identifier is shown: ordered values as intervals, categories as sets; with a
/// hierarchy as labels, unless sets are asked for.
pub fn shown_as(kind: ColumnType, has_hierarchy: bool, categories: Option<Categories>) -> Shown {
    if has_hierarchy && categories != Some(Categories::Set) {
        Shown::Label
    } else if kind.is_ordered() {
        Shown::Interval
    } else {
        Shown::Set
    }
}
