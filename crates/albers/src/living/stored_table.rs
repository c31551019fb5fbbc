//! The table of an index: which columns it has, how batches of it are read, and how rows are packed.
//!
//! ```text
//!   job + columns of the first batch ──► StoredTable ──► Schema ──► requests to every later batch
//! ```
//!
//! Types are those of the first rows. A later batch is read with them, so that a cell that does not
//! fit is refused with its row and column; one from a typed file must have the types of the first.

use std::hash::Hasher as _;
use std::sync::Arc;

use albers_classes::packed::{FactColumns, RowLayout};
use albers_release::publish::{Payload, PayloadField, PayloadRows};
use albers_table::chunk::{Cells, ColumnChunk, TickUnit};
use albers_table::coding::Coding;
use albers_table::schema::{ColumnType, Role};
use albers_table::source::{ColumnRequest, RequestedTypes, Source, SourceChunk, SourceColumn};
use albers_table::value_hash::value_hashes;
use arrow_array::{Array as _, ArrayRef, Int64Array, StringArray};
use arrow_schema::DataType;
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher24;

use super::catalogue::damaged;
use super::keys::KeyHash;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::plan::{CutPlan, MethodPlan, Plan, PlannedColumn};
use crate::rows::KnownColumns;

/// What was settled by the first rows.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct StoredTable {
    /// All columns of the source, in order, with their types where it was typed.
    columns: Vec<(String, Option<String>)>,
    /// The byte between the cells, where it was text.
    delimiter: Option<u8>,
    /// The types of the columns with a role that is read, in the order of the source.
    types: Vec<ColumnType>,
    /// The types in which the columns that leave as they came were read.
    carried: Vec<String>,
    /// The same of the key.
    key: String,
}

/// The table of an index, as everything reads and packs it.
pub(super) struct Schema {
    pub(super) plan: Plan,
    pub(super) known: KnownColumns,
    /// All columns of the source.
    pub(super) columns: Vec<SourceColumn>,
    pub(super) delimiter: Option<u8>,
    /// What is asked of a batch: the columns, the key as text, and the key as it is.
    requests: Vec<ColumnRequest>,
    types: RequestedTypes,
    key_column: String,
    /// The columns that leave as they came.
    pub(super) carried: Payload,
    /// The key as it is.
    pub(super) key: Payload,
    secret: [u8; 16],
}

impl StoredTable {
    /// What a source tells, when the types of its columns are settled.
    pub(super) fn of(
        source: &dyn Source,
        known: &KnownColumns,
        first: &SourceChunk,
    ) -> StoredTable {
        let columns = source.columns().iter();
        let text = |own: &DataType| own.to_string();
        let read_as = |array: &ArrayRef| plain_type(array.data_type()).to_string();
        let (key, carried) = first.carried.split_last().expect("the key is carried");
        StoredTable {
            columns: columns
                .map(|own| (own.name.clone(), own.data_type.as_ref().map(text)))
                .collect(),
            delimiter: source.delimiter(),
            types: known.types.column_types[..known.planned.len()].to_vec(),
            carried: carried.iter().map(read_as).collect(),
            key: read_as(key),
        }
    }

    /// All columns of the source.
    fn source_columns(&self) -> Result<Vec<SourceColumn>> {
        let column = |(name, data_type): &(String, Option<String>)| {
            let data_type = data_type.as_deref().map(parsed_type).transpose()?;
            Ok(SourceColumn { name: name.clone(), data_type })
        };
        self.columns.iter().map(column).collect()
    }
}

fn parsed_type(text: &str) -> Result<DataType> {
    text.parse().map_err(|_| damaged("the type of a column is not known"))
}

/// The type of cells that may come in dictionaries.
fn plain_type(own: &DataType) -> &DataType {
    match own {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

impl Schema {
    /// Of a table that was settled.
    pub(super) fn of(
        job: &Job,
        key: &str,
        stored: &StoredTable,
        secret: [u8; 16],
    ) -> Result<Schema> {
        let columns = stored.source_columns()?;
        let plan = Plan::of(job, "the index", &columns)?;
        let data_type = |name: &str| {
            columns.iter().find(|own| own.name == name).and_then(|own| own.data_type.clone())
        };
        let data_types = plan.columns.iter().map(|own| data_type(&own.name)).collect();
        let types = RequestedTypes::plain(stored.types.clone(), data_types);
        if types.column_types.len() != plan.columns.len() {
            return Err(damaged("its columns are not those of its job"));
        }
        let known = KnownColumns::stored(&plan, types.clone());
        let requests = requests_of(&plan, &types, key);
        let mut types = types;
        let of_key = vec![data_type(key), data_type(key)];
        types.append(RequestedTypes::plain(vec![ColumnType::Text; 2], of_key));
        let names = plan.columns.iter().filter(|own| is_carried(own)).map(|own| own.name.as_str());
        let field = |(name, read_as): (&str, &String)| {
            Ok(PayloadField::as_read(name, parsed_type(read_as)?))
        };
        let carried = names.zip(&stored.carried).map(field).collect::<Result<_>>()?;
        let key_field = PayloadField::as_read(key, parsed_type(&stored.key)?);
        Ok(Schema {
            carried: Payload::new(carried)?,
            key: Payload::new(vec![key_field])?,
            plan,
            known,
            delimiter: stored.delimiter,
            columns,
            requests,
            types,
            key_column: key.to_owned(),
            secret,
        })
    }

    /// What is asked of a batch, and the types that its cells must have; refuses one whose columns
    /// are others.
    pub(super) fn asked(&self, source: &dyn Source) -> Result<(&[ColumnRequest], RequestedTypes)> {
        for (request, data_type) in self.requests.iter().zip(&self.types.data_types) {
            let place = place_in(source, &request.name)?;
            let own = &source.columns()[place].data_type;
            if own != data_type {
                let of = |own: &Option<DataType>| match own {
                    Some(own) => format!("of type {own}"),
                    None => "text".to_owned(),
                };
                return Err(Error::usage(
                    format!(
                        "{}: column '{}' is {}, and in the index {}",
                        source.name(),
                        request.name,
                        of(own),
                        of(data_type)
                    ),
                    "give rows in the format of the first ones",
                ));
            }
        }
        let mut types = self.types.clone();
        if source.delimiter().is_some() {
            // Each batch is written in its own way.
            types.notations = source.types(&self.requests)?.notations;
        }
        Ok((&self.requests, types))
    }

    /// What a chunk of a batch holds beside its values: keys, contents, and what is carried.
    pub(super) fn look(&self, chunk: &SourceChunk) -> Result<LookedAt> {
        let (key_cells, coded) = chunk.coded.split_last().expect("the key is read as text");
        let (key, carried) = chunk.carried.split_last().expect("the key is carried");
        let keys = self.key_hashes(key_cells, chunk)?;
        let key = self.key.encode(std::slice::from_ref(key))?;
        let carried = match self.carried.is_empty() {
            true => None,
            false => Some(self.carried.encode(carried)?),
        };
        let values: Vec<Vec<u64>> = coded.iter().map(value_hashes).collect();
        let roles = self.known.coded_columns().map(|column| self.known.planned[column].role);
        let is_subject: Vec<bool> = roles.map(|role| role == Role::Subject).collect();
        let content = |row: usize| {
            let mut hasher = SipHasher24::new_with_key(&self.secret);
            let columns = || values.iter().zip(&is_subject);
            let write = |hasher: &mut SipHasher24, of_subject: bool| {
                let own = columns().filter(|(_, is_subject)| **is_subject == of_subject);
                own.for_each(|(column, _)| hasher.write_u64(column[row]));
            };
            write(&mut hasher, false);
            carried.iter().for_each(|rows| hasher.write(rows.row(row).data()));
            let published = hasher.finish();
            write(&mut hasher, true);
            published >> 32 << 32 | hasher.finish() >> 32
        };
        let contents = (0..chunk.n_rows).map(content).collect();
        Ok(LookedAt { keys, contents, key, carried })
    }

    /// The hashes of the keys of a chunk; refuses rows without one.
    pub(super) fn key_hashes(
        &self,
        cells: &ColumnChunk,
        chunk: &SourceChunk,
    ) -> Result<Vec<KeyHash>> {
        if let Some(&row) = cells.missing.first() {
            return Err(Error::usage(
                format!(
                    "row {} has no key in column '{}'",
                    chunk.first_row + u64::from(row),
                    self.key_column
                ),
                "every row of an index has a key of its own",
            ));
        }
        let Cells::Names { names, places } = &cells.cells else {
            return Ok(Vec::new());
        };
        let hashes: Vec<KeyHash> =
            names.iter().map(|name| KeyHash::of(&self.secret, name.as_bytes())).collect();
        Ok(places.iter().map(|&place| hashes[place as usize]).collect())
    }

    /// The greatest codes of the quasi-identifiers, and of the sensitive columns.
    pub(super) fn greatest_codes(&self, coding: &Coding) -> GreatestCodes {
        let of_role = |role: Role| {
            let columns = self.known.surveyed().zip(coding.columns());
            let own = columns.filter(|(column, _)| self.known.planned[*column].role == role);
            own.map(|(_, coding)| coding.domain().greatest_code().get()).collect()
        };
        GreatestCodes { quasi: of_role(Role::Quasi), sensitive: of_role(Role::Sensitive) }
    }

    /// Where the facts of packed rows stand, if these of the sensitive columns have rules.
    pub(super) fn facts(&self, ruled: &[usize]) -> FactColumns {
        let first = self.n_subject_facts();
        FactColumns {
            subject: self.has_subject().then_some([0, 1]),
            ruled: ruled.iter().map(|column| first + column).collect(),
            targets: Vec::new(),
        }
    }

    /// Which of the columns that have codes are quasi-identifiers; the others are sensitive.
    pub(super) fn are_quasi(&self) -> Vec<bool> {
        let columns = self.known.surveyed();
        columns.map(|column| self.known.planned[column].role == Role::Quasi).collect()
    }

    /// The places of the columns that have codes among those that come coded.
    pub(super) fn surveyed_places(&self) -> Vec<usize> {
        let coded = self.known.coded_columns().enumerate();
        let is_subject = |column: usize| self.known.planned[column].role == Role::Subject;
        coded.filter(|(_, column)| !is_subject(*column)).map(|(place, _)| place).collect()
    }

    /// How many facts come before those of the sensitive columns.
    pub(super) fn n_subject_facts(&self) -> usize {
        if self.has_subject() { 2 } else { 0 }
    }

    /// How the leaves of the index are split.
    pub(super) fn cuts(&self) -> CutPlan {
        match &self.plan.method {
            MethodPlan::Index { cuts, .. } => *cuts,
            _ => unreachable!("the method of an index is rtree"),
        }
    }

    pub(super) fn has_subject(&self) -> bool {
        self.plan.counts_subjects()
    }

    /// How many quasi-identifiers there are.
    pub(super) fn n_attributes(&self) -> usize {
        self.plan.columns.iter().filter(|own| own.role == Role::Quasi).count()
    }
}

/// What decides how wide a packed row is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GreatestCodes {
    pub(super) quasi: Vec<u32>,
    pub(super) sensitive: Vec<u32>,
}

/// How rows are packed: codes, the halves of the subject, the sensitive codes, and what they carry.
pub(super) fn layout_of(greatest: &GreatestCodes, has_subject: bool) -> RowLayout {
    let subject = has_subject.then_some([u32::MAX; 2]).into_iter().flatten();
    let facts: Vec<u32> = subject.chain(greatest.sensitive.iter().copied()).collect();
    RowLayout::new(&greatest.quasi, &facts, true)
}

/// What a chunk holds beside its values.
pub(super) struct LookedAt {
    pub(super) keys: Vec<KeyHash>,
    pub(super) contents: Vec<u64>,
    key: PayloadRows,
    carried: Option<PayloadRows>,
}

impl LookedAt {
    /// What a row carries: its key, and what leaves as it came.
    pub(super) fn payload(&self, row: usize, out: &mut Vec<u8>) {
        out.clear();
        let key = self.key.row(row);
        let n_key = u32::try_from(key.data().len()).expect("a cell has less than 4 GiB");
        out.extend_from_slice(&n_key.to_le_bytes());
        out.extend_from_slice(key.data());
        if let Some(carried) = &self.carried {
            out.extend_from_slice(carried.row(row).data());
        }
    }

    pub(super) fn n_bytes(&self) -> usize {
        let carried = self.carried.as_ref().map_or(0, PayloadRows::size);
        self.key.size() + carried + self.keys.len() * 24
    }
}

/// The key of a row that was packed, and what leaves as it came.
pub(super) fn split_payload(payload: &[u8]) -> Option<(&[u8], &[u8])> {
    let (n_key, rest) = payload.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_le_bytes(*n_key) as usize)
}

fn is_carried(column: &PlannedColumn) -> bool {
    matches!(column.role, Role::Keep | Role::Sensitive)
}

fn requests_of(plan: &Plan, types: &RequestedTypes, key: &str) -> Vec<ColumnRequest> {
    let planned = plan.columns.iter().zip(&types.column_types).zip(&types.data_types);
    let mut requests: Vec<ColumnRequest> = planned
        .map(|((column, &kind), data_type)| ColumnRequest {
            // Text is read as what the first rows were.
            column_type: column.column_type.or(data_type.is_none().then_some(kind)),
            ..column.request()
        })
        .collect();
    requests.extend(key_requests(key));
    requests
}

/// The place of a column in a batch. What the batch has instead may be the cells of a table without
/// a header, and is not told.
pub(super) fn place_in(source: &dyn Source, name: &str) -> Result<usize> {
    let place = source.columns().iter().position(|own| own.name == name);
    place.ok_or_else(|| {
        Error::usage(
            format!("{}: there is no column '{name}', which the index has", source.name()),
            "check that the first line holds the names of the columns, as that of the first rows did",
        )
    })
}

/// The key, as text and as it is.
pub(super) fn key_requests(key: &str) -> [ColumnRequest; 2] {
    let request = |coded: bool| ColumnRequest {
        name: key.to_owned(),
        column_type: Some(ColumnType::Text),
        coded,
        carried: !coded,
    };
    [request(true), request(false)]
}

/// What a known row hashes to. Hashes of contents are stored, and those of a program that makes them
/// otherwise would take every row for a changed one.
pub(super) fn canary(secret: &[u8; 16]) -> Result<u64> {
    let mut hasher = SipHasher24::new_with_key(secret);
    // What rows carry is stored as it is encoded.
    let columns: [ArrayRef; 2] =
        [Arc::new(StringArray::from(vec!["albers"])), Arc::new(Int64Array::from(vec![-7]))];
    let fields = columns.iter().map(|own| PayloadField::as_read("", own.data_type().clone()));
    let carried = Payload::new(fields.collect())?.encode(&columns)?;
    hasher.write(carried.row(0).data());
    let cells = [
        Cells::Names { names: vec!["albers".to_owned()], places: vec![0] },
        Cells::Ticks { base: -7, offsets: vec![9], unit: TickUnit::Decimal(2) },
        Cells::Floats(vec![0.5]),
    ];
    for cells in cells {
        let chunk = ColumnChunk { cells, missing: Vec::new() };
        value_hashes(&chunk).into_iter().for_each(|value| hasher.write_u64(value));
    }
    Ok(hasher.finish())
}
