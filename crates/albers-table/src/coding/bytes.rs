//! Codings as bytes.
//!
//! ```text
//!   "albers coding" | version | body | SHA-256 of all before it
//! ```
//!
//! Guarantee: what was written is read back as it was, or refused: another version, bytes that are
//! missing or changed, and bytes that no coding has. Codes are stored, not computed anew; only the
//! labels of a hierarchy are, and its leaves are compared with those that were stored.
//! Cost: the bytes once in memory.

use std::io::{self, Read, Write};

use arrow_schema::DataType;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::column::{ColumnKind, DistinctValues, Lookup, SiblingOrder, far, near};
use super::{Coding, ColumnCoding};
use crate::chunk::TickUnit;
use crate::code::Code;
use crate::domain::occupancy::{self, Occupancy};
use crate::domain::scale::{self, Scale};
use crate::domain::{Domain, DomainKind};
use crate::hierarchy::{Hierarchy, HierarchyRows, HierarchySpec};
use crate::schema::ColumnType;

const MAGIC: &[u8] = b"albers coding";
/// What the body looks like; another number for every change of it.
const VERSION: u16 = 1;
const CHECKSUM_BYTES: usize = 32;

/// Why bytes are not read as a coding. No message holds a value.
#[derive(Debug, thiserror::Error)]
pub enum ReadCodingError {
    /// The bytes cannot be read.
    #[error("cannot read the coding: {0}")]
    Io(#[from] io::Error),
    /// They are something else.
    #[error("this is not the coding of a table")]
    NotACoding,
    /// They were written by another version.
    #[error("the coding has format {found}, and this program reads format {VERSION}")]
    OtherVersion {
        /// Its number.
        found: u16,
    },
    /// They are not what was written.
    #[error("the coding is damaged: restore it from a copy, or code the table anew")]
    Damaged,
}

type ReadResult<T> = Result<T, ReadCodingError>;

impl Coding {
    /// Writes the coding. It holds every raw value of its columns.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let columns: Vec<StoredColumn> = self.columns.iter().map(StoredColumn::of).collect();
        let body = postcard::to_stdvec(&columns).map_err(io::Error::other)?;
        let head = [MAGIC, &VERSION.to_le_bytes()].concat();
        let checksum = Sha256::new().chain_update(&head).chain_update(&body).finalize();
        out.write_all(&head)?;
        out.write_all(&body)?;
        out.write_all(&checksum)
    }

    /// Reads a coding, to the end of the bytes.
    pub fn read_from(input: &mut dyn Read) -> Result<Coding, ReadCodingError> {
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes)?;
        let rest = bytes.strip_prefix(MAGIC).ok_or(ReadCodingError::NotACoding)?;
        let (version, rest) = rest.split_first_chunk::<2>().ok_or(ReadCodingError::Damaged)?;
        let found = u16::from_le_bytes(*version);
        if found != VERSION {
            return Err(ReadCodingError::OtherVersion { found });
        }
        let (body, checksum) =
            rest.split_last_chunk::<CHECKSUM_BYTES>().ok_or(ReadCodingError::Damaged)?;
        if Sha256::digest(&bytes[..bytes.len() - CHECKSUM_BYTES])[..] != checksum[..] {
            return Err(ReadCodingError::Damaged);
        }
        let columns: Vec<StoredColumn> =
            postcard::from_bytes(body).map_err(|_| ReadCodingError::Damaged)?;
        let columns = columns.into_iter().map(StoredColumn::into_coding);
        Ok(Coding { columns: columns.collect::<ReadResult<_>>()? })
    }
}

/// A column as it is stored.
#[derive(Serialize, Deserialize)]
struct StoredColumn {
    name: String,
    column_type: ColumnType,
    data_type: Option<String>,
    n_missing: u64,
    unit: Option<TickUnit>,
    values: StoredValues,
    hierarchy: Option<StoredHierarchy>,
}

#[derive(Serialize, Deserialize)]
enum StoredValues {
    /// The ends of near values, and which of them occur.
    Near { min: i64, max: i64, occupied: StoredOccupancy },
    /// Far values and their codes, ascending.
    Far { keys: Vec<i64>, codes: Vec<u32> },
    /// The keys of a category, ascending.
    Keys(Vec<i64>),
    /// The names of a category, ascending.
    Names(Vec<String>),
}

#[derive(Serialize, Deserialize)]
enum StoredOccupancy {
    Every,
    Bits(Vec<u64>),
    List(Vec<u32>),
}

#[derive(Serialize, Deserialize)]
struct StoredHierarchy {
    spec: StoredSpec,
    /// In the order of their codes.
    leaves: Vec<String>,
}

#[derive(Serialize, Deserialize)]
enum StoredSpec {
    /// The word of a built-in one.
    BuiltIn(String),
    /// The rows of a file, and what messages call it.
    Rows { origin: String, bytes: Vec<u8> },
}

impl StoredColumn {
    fn of(coding: &ColumnCoding) -> StoredColumn {
        let Domain { name, column_type, data_type, kind, n_missing, .. } = &coding.domain;
        let values = match (kind, &coding.lookup) {
            (DomainKind::Near { min, max, occupancy, .. }, _) => {
                let occupied = match occupancy {
                    Occupancy::Every(_) => StoredOccupancy::Every,
                    Occupancy::Bits { words, .. } => StoredOccupancy::Bits(words.clone()),
                    Occupancy::List(codes) => StoredOccupancy::List(codes.codes().to_vec()),
                };
                StoredValues::Near { min: *min, max: *max, occupied }
            }
            (DomainKind::Far { scale, .. }, _) => {
                StoredValues::Far { keys: scale.keys().collect(), codes: scale.codes().to_vec() }
            }
            (_, Lookup::Keys(code_of)) => {
                let mut keys: Vec<i64> = code_of.keys().copied().collect();
                keys.sort_unstable();
                StoredValues::Keys(keys)
            }
            (_, Lookup::Names(code_of)) => {
                let mut names: Vec<String> = code_of.keys().cloned().collect();
                names.sort_unstable();
                StoredValues::Names(names)
            }
            (_, Lookup::Distance) => unreachable!("only near values are coded as distances"),
        };
        let hierarchy = match (coding.domain.hierarchy(), &coding.hierarchy) {
            (Some(hierarchy), Some(spec)) => Some(StoredHierarchy::of(hierarchy, spec)),
            _ => None,
        };
        StoredColumn {
            name: name.clone(),
            column_type: *column_type,
            data_type: data_type.as_ref().map(DataType::to_string),
            n_missing: *n_missing,
            unit: coding.unit,
            values,
            hierarchy,
        }
    }

    fn into_coding(self) -> ReadResult<ColumnCoding> {
        let StoredColumn { name, column_type, data_type, n_missing, unit, values, hierarchy } =
            self;
        let data_type = data_type.map(|text| text.parse()).transpose();
        let data_type = data_type.map_err(|_| ReadCodingError::Damaged)?;
        let spec = hierarchy.as_ref().map(StoredHierarchy::spec).transpose()?;
        let column = ColumnKind { name: &name, column_type, unit };
        let leaves = hierarchy.map(|hierarchy| hierarchy.leaves);
        let (kind, lookup) = values.coded(&column, spec.as_ref(), leaves, n_missing > 0)?;
        let domain = Domain { name, column_type, data_type, kind, n_missing, n_single: None };
        Ok(ColumnCoding { domain, unit, lookup, hierarchy: spec })
    }
}

impl StoredValues {
    fn coded(
        self,
        column: &ColumnKind<'_>,
        spec: Option<&HierarchySpec>,
        leaves: Option<Vec<String>>,
        has_missing: bool,
    ) -> ReadResult<(DomainKind, Lookup)> {
        let values = match self {
            StoredValues::Near { min, max, occupied } => {
                let length = max.checked_sub(min).filter(|&n| n < i64::from(scale::LONGEST));
                let length = length.and_then(|n| u32::try_from(n).ok());
                let length = length.ok_or(ReadCodingError::Damaged)?;
                let format = column.format().ok_or(ReadCodingError::Damaged)?;
                let occupancy = occupied.of_length(length)?;
                return Ok(near(Some((min, max)), format, occupancy, has_missing));
            }
            StoredValues::Far { keys, codes } => {
                let is_sound = keys.len() == codes.len()
                    && keys.is_sorted_by(|a, b| a < b)
                    && codes.is_sorted_by(|a, b| a < b)
                    && codes.last().is_none_or(|&last| last <= scale::LONGEST);
                if !is_sound {
                    return Err(ReadCodingError::Damaged);
                }
                return Ok(far(Scale::of_codes(keys, codes, column.format()), has_missing));
            }
            StoredValues::Keys(keys) if keys.is_sorted_by(|a, b| a < b) => {
                DistinctValues::Keys(keys)
            }
            StoredValues::Names(names) if names.is_sorted_by(|a, b| a < b) => {
                DistinctValues::Names(names)
            }
            StoredValues::Keys(_) | StoredValues::Names(_) => return Err(ReadCodingError::Damaged),
        };
        let leaves = leaves.unwrap_or_default();
        let codes = (0..).map(Code::new);
        let code_of: FxHashMap<&str, Code> = leaves.iter().map(String::as_str).zip(codes).collect();
        let frozen = |leaf: &str| code_of.get(leaf).copied();
        let coded = values.into_category(column, spec, &SiblingOrder::Frozen(&frozen));
        let (kind, lookup) = coded.map_err(|_| ReadCodingError::Damaged)?;
        if let DomainKind::Tree { hierarchy, .. } = &kind
            && !leaves.iter().map(String::as_str).eq(hierarchy.leaves())
        {
            return Err(ReadCodingError::Damaged);
        }
        Ok((kind, lookup))
    }
}

impl StoredOccupancy {
    /// The occupancy of codes up to this one.
    fn of_length(self, length: u32) -> ReadResult<Occupancy> {
        let occupancy = match self {
            StoredOccupancy::Every => Occupancy::Every(length),
            StoredOccupancy::Bits(words) => occupancy::Builder::of_words(words).finish(),
            StoredOccupancy::List(codes) if codes.is_sorted_by(|a, b| a < b) => {
                Occupancy::list(codes)
            }
            StoredOccupancy::List(_) => return Err(ReadCodingError::Damaged),
        };
        match occupancy.n_below(u32::MAX) == occupancy.n_below(length + 1) {
            true => Ok(occupancy),
            false => Err(ReadCodingError::Damaged),
        }
    }
}

impl StoredHierarchy {
    fn of(hierarchy: &Hierarchy, spec: &HierarchySpec) -> StoredHierarchy {
        let spec = match spec {
            HierarchySpec::Rows(rows) => {
                StoredSpec::Rows { origin: spec.to_string(), bytes: rows.bytes().to_vec() }
            }
            built_in => StoredSpec::BuiltIn(built_in.to_string()),
        };
        StoredHierarchy { spec, leaves: hierarchy.leaves().map(str::to_owned).collect() }
    }

    fn spec(&self) -> ReadResult<HierarchySpec> {
        match &self.spec {
            StoredSpec::Rows { origin, bytes } => {
                let rows = HierarchyRows::of_bytes(origin, bytes.clone());
                Ok(HierarchySpec::Rows(rows.into()))
            }
            StoredSpec::BuiltIn(word) => match word.parse() {
                Ok(HierarchySpec::File(_)) | Err(_) => Err(ReadCodingError::Damaged),
                Ok(spec) => Ok(spec),
            },
        }
    }
}
