//! What the catalogue says: what the store is for, where its extents stand, and the tables of its user.

use std::ops::ControlFlow;

use redb::{
    AccessGuard, Range, ReadOnlyTable, ReadTransaction, ReadableTable, TableDefinition, TableError,
    WriteTransaction,
};

use super::engine::EngineResult;
use super::page_file::{LAYOUT, Slot, StoreId};
use crate::Result;

/// The file that holds the catalogue.
pub(super) const CATALOGUE: &str = "catalogue.redb";
/// The file in which a catalogue is prepared.
pub(super) const NEW_CATALOGUE: &str = "catalogue.new";
/// With what a catalogue begins.
pub(super) const MAGIC: &[u8] = b"redb\x1a\x0a\xa9\x0d\x0a";

/// The table of what the store is for.
const HEAD: Definition = TableDefinition::new("store.head");
/// The table of where extents stand.
pub(super) const EXTENTS: Definition = TableDefinition::new("store.extents");
/// How the names of our own tables begin.
pub(super) const OWN_PREFIX: &str = "store.";

pub(super) type Definition = TableDefinition<'static, &'static [u8], &'static [u8]>;
/// A key and a value.
pub(super) type Record<'a> = (AccessGuard<'a, &'static [u8]>, AccessGuard<'a, &'static [u8]>);
pub(super) type ReadTable = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// Whoever looks at records: is shown a key and its value, and says whether to go on.
pub type EachRecord<'a> = dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>> + 'a;

/// What a store is for, and the newest version of it that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// What it is for.
    pub name: &'static str,
    /// The version of what is in it.
    pub version: u32,
}

/// A table of a store, by its name: byte strings by byte strings, in the order of their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table(&'static str);

impl Table {
    /// The table of this name.
    ///
    /// # Panics
    ///
    /// When the name is empty or begins with `store.`, which is kept for the store itself.
    pub const fn new(name: &'static str) -> Table {
        assert!(!name.is_empty(), "a table has a name");
        let (name_bytes, own) = (name.as_bytes(), OWN_PREFIX.as_bytes());
        let mut n_alike = 0;
        while n_alike < own.len()
            && n_alike < name_bytes.len()
            && name_bytes[n_alike] == own[n_alike]
        {
            n_alike += 1;
        }
        assert!(n_alike < own.len(), "names that begin with store. are kept for the store");
        Table(name)
    }

    pub(super) fn definition(self) -> Definition {
        TableDefinition::new(self.0)
    }
}

/// What the catalogue says of the store as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// The layout of the files.
    pub(super) layout: u32,
    /// What the store is for.
    pub(super) name: String,
    /// The version of what is in it.
    pub(super) version: u32,
    /// Which store this is.
    pub(super) store_id: StoreId,
    /// Which page file is in use.
    pub(super) generation: u64,
    /// The number of the next extent.
    pub(super) next_extent: u64,
}

impl Head {
    pub(super) fn new(format: Format, store_id: StoreId) -> Head {
        let name = format.name.to_owned();
        Head {
            layout: LAYOUT,
            name,
            version: format.version,
            store_id,
            generation: 1,
            next_extent: 1,
        }
    }

    /// What the catalogue says; nothing where it is no catalogue of a store.
    pub(super) fn read(transaction: &ReadTransaction) -> EngineResult<Option<Head>> {
        let table = match transaction.open_table(HEAD) {
            Ok(table) => table,
            Err(TableError::Storage(error)) => return Err(error.into()),
            Err(_) => return Ok(None),
        };
        let value = |key: &str| -> EngineResult<Option<Vec<u8>>> {
            Ok(table.get(key.as_bytes())?.map(|value| value.value().to_vec()))
        };
        let u32_of = |bytes: Vec<u8>| bytes.try_into().ok().map(u32::from_le_bytes);
        let u64_of = |bytes: Vec<u8>| bytes.try_into().ok().map(u64::from_le_bytes);
        let Some(layout) = value("layout")?.and_then(u32_of) else { return Ok(None) };
        let name = value("name")?.and_then(|bytes| String::from_utf8(bytes).ok());
        let version = value("version")?.and_then(u32_of);
        let store_id = value("store id")?.and_then(|bytes| bytes.try_into().ok());
        let generation = value("generation")?.and_then(u64_of);
        // A number that counting cannot reach is none.
        let next_extent =
            value("next extent")?.and_then(u64_of).filter(|next| *next < u64::MAX / 2);
        Ok((|| {
            Some(Head {
                layout,
                name: name?,
                version: version?,
                store_id: store_id?,
                generation: generation?,
                next_extent: next_extent?,
            })
        })())
    }

    /// Records all of it.
    pub(super) fn write(&self, transaction: &WriteTransaction) -> EngineResult<()> {
        let mut table = transaction.open_table(HEAD)?;
        let mut put = |key: &str, value: &[u8]| table.insert(key.as_bytes(), value).map(|_| ());
        put("layout", &self.layout.to_le_bytes())?;
        put("name", self.name.as_bytes())?;
        put("version", &self.version.to_le_bytes())?;
        put("store id", &self.store_id)?;
        put("generation", &self.generation.to_le_bytes())?;
        put("next extent", &self.next_extent.to_le_bytes())?;
        Ok(())
    }
}

/// Records the number of the next extent.
pub(super) fn write_next_extent(
    transaction: &WriteTransaction,
    next_extent: u64,
) -> EngineResult<()> {
    let mut table = transaction.open_table(HEAD)?;
    table.insert(b"next extent".as_slice(), next_extent.to_le_bytes().as_slice())?;
    Ok(())
}

/// The key of an extent: the order of the bytes is that of the numbers.
pub(super) fn extent_key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// The value of an extent.
pub(super) fn slot_value(slot: Slot) -> [u8; 16] {
    let mut value = [0; 16];
    value[..8].copy_from_slice(&slot.first_page.to_le_bytes());
    value[8..].copy_from_slice(&slot.n_bytes.to_le_bytes());
    value
}

/// The slot of a value; nothing when it is none.
pub(super) fn slot_of(value: &[u8]) -> Option<Slot> {
    let (first_page, n_bytes) = value.split_at_checked(8)?;
    Some(Slot {
        first_page: u64::from_le_bytes(first_page.try_into().ok()?),
        n_bytes: u64::from_le_bytes(n_bytes.try_into().ok()?),
    })
}

/// All extents by their numbers; nothing for a record that is none.
pub(super) fn extents_of(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    each: &mut dyn FnMut(Option<(u64, Slot)>),
) -> EngineResult<()> {
    for record in table.iter()? {
        let (key, value) = record?;
        let number = key.value().try_into().ok().map(u64::from_be_bytes);
        each(number.zip(slot_of(value.value())));
    }
    Ok(())
}

/// The value of a key.
pub(super) fn value_of(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    key: &[u8],
) -> EngineResult<Option<Vec<u8>>> {
    Ok(table.get(key)?.map(|value| value.value().to_vec()))
}

/// The slot of an extent; nothing when it has none.
pub(super) fn slot_in(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    number: u64,
) -> EngineResult<Option<Slot>> {
    let found = table.get(extent_key(number).as_slice())?;
    Ok(found.and_then(|value| slot_of(value.value())))
}

/// The next of some records. Both parts were looked at once, so that damaged lengths are found here.
pub(super) fn next_record<'a>(
    records: &mut Range<'a, &'static [u8], &'static [u8]>,
) -> EngineResult<Option<Record<'a>>> {
    let record = records.next().transpose()?;
    if let Some((key, value)) = &record {
        let _looked_at = (key.value(), value.value());
    }
    Ok(record)
}
