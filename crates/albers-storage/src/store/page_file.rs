//! The page file: extents in whole pages, each with a checksum.
//!
//! ```text
//!   page 0      header: what the file is, of which store, of which generation
//!   page 1 ..   32,760 bytes of one extent (the last page is filled up with zeros)
//!               8 bytes of checksum over them, the store, the page's and the extent's number
//! ```
//!
//! Guarantee: bytes that were not written to this page for this extent are found when they are read.
//! Cost: 0.03 % more bytes, and half a page on average for the end of an extent.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use super::disk::{Disk, DiskFile, Opening};
use super::error::StoreError;
use super::space::Run;
use crate::Result;

/// How long a page is.
pub(super) const PAGE_BYTES: usize = 32 * 1024;
/// How many bytes of an extent a page holds.
pub(super) const PAYLOAD_BYTES: usize = PAGE_BYTES - size_of::<u64>();
/// The first page that extents may use.
pub(super) const FIRST_PAGE: u64 = 1;
/// The newest layout of the files of a store.
pub(super) const LAYOUT: u32 = 1;

/// With what the header begins.
const MAGIC: &[u8; 16] = b"albers pages\r\n\x1a\n";
/// How many pages are read or written by one call.
const PAGES_PER_CALL: u64 = 16;
/// The header's page belongs to no extent, whose numbers begin at 1.
const NO_EXTENT: u64 = 0;

/// A byte string in a store, by its number; valid until it is freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Extent {
    pub(super) number: u64,
    pub(super) n_bytes: u64,
}

impl Extent {
    /// Its number, which no other extent of the store ever had.
    pub fn number(self) -> u64 {
        self.number
    }

    /// How long it is.
    pub fn n_bytes(self) -> u64 {
        self.n_bytes
    }

    /// For keeping it in a record.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..].copy_from_slice(&self.n_bytes.to_le_bytes());
        bytes
    }

    /// What [`to_bytes`](Extent::to_bytes) made; nothing when the bytes are too few or too many.
    pub fn from_bytes(bytes: &[u8]) -> Option<Extent> {
        let (number, n_bytes) = bytes.split_at_checked(8)?;
        Some(Extent {
            number: u64::from_le_bytes(number.try_into().ok()?),
            n_bytes: u64::from_le_bytes(n_bytes.try_into().ok()?),
        })
    }
}

/// Where an extent stands in the page file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) first_page: u64,
    pub(super) n_bytes: u64,
}

impl Slot {
    pub(super) fn run(self) -> Run {
        Run { first_page: self.first_page, n_pages: n_pages_of(self.n_bytes) }
    }
}

/// How many pages an extent takes.
pub(super) fn n_pages_of(n_bytes: u64) -> u64 {
    n_bytes.div_ceil(PAYLOAD_BYTES as u64)
}

/// Which store a file is of: random, so that no two are alike.
pub(super) type StoreId = [u8; 16];

/// The name of the page file of a generation.
pub(super) fn page_file_name(generation: u64) -> String {
    format!("pages.{generation}")
}

/// An open page file.
#[derive(Debug)]
pub(super) struct PageFile {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    store_id: StoreId,
    /// How many whole pages the file has.
    n_pages: AtomicU64,
}

impl PageFile {
    /// Creates an empty page file; it is not synced yet.
    pub(super) fn create(disk: &dyn Disk, generation: u64, store_id: StoreId) -> Result<PageFile> {
        let name = page_file_name(generation);
        let path = disk.path(&name);
        let file = disk.open(&name, Opening::Create).map_err(|source| StoreError::Io {
            path: path.clone(),
            doing: "create",
            source,
        })?;
        let pages = PageFile { file, path, store_id, n_pages: AtomicU64::new(0) };
        let mut page = header(generation, store_id);
        page.resize(PAYLOAD_BYTES, 0);
        page.extend(pages.checksum(&page, 0, NO_EXTENT).to_le_bytes());
        pages.write_pages(0, &page)?;
        Ok(pages)
    }

    /// Opens the page file of a generation.
    pub(super) fn open(
        disk: &dyn Disk,
        generation: u64,
        store_id: StoreId,
        opening: Opening,
    ) -> Result<PageFile> {
        let name = page_file_name(generation);
        let path = disk.path(&name);
        let io = |source| StoreError::Io { path: path.clone(), doing: "open", source };
        let file = disk.open(&name, opening).map_err(io)?;
        let n_pages = AtomicU64::new(file.n_bytes().map_err(io)? / PAGE_BYTES as u64);
        let pages = PageFile { file, path, store_id, n_pages };
        pages.check_header(generation)?;
        Ok(pages)
    }

    fn check_header(&self, generation: u64) -> Result<()> {
        let mut page = vec![0; PAGE_BYTES];
        if self.n_pages() == 0 {
            return Err(self.damaged("it has no header"));
        }
        self.read_pages(0, &mut page)?;
        if !page.starts_with(MAGIC) {
            let what = "it does not begin as a page file".to_owned();
            return Err(StoreError::Foreign { path: self.path.clone(), what }.into());
        }
        let found = u32::from_le_bytes(page[16..20].try_into().expect("four bytes"));
        if found > LAYOUT {
            return Err(StoreError::Newer { path: self.path.clone(), found, known: LAYOUT }.into());
        }
        let expected = header(generation, self.store_id);
        if page[24..48] != expected[24..48] {
            let what = "it belongs to another index".to_owned();
            return Err(StoreError::Foreign { path: self.path.clone(), what }.into());
        }
        if page[..48] != expected || !self.is_whole(&page, 0, NO_EXTENT) {
            return Err(self.damaged("its header is not as it was written"));
        }
        Ok(())
    }

    /// Writes an extent to its slot, which nobody else uses.
    pub(super) fn write(&self, extent: u64, slot: Slot, bytes: &[u8]) -> Result<()> {
        let mut page = slot.first_page;
        let mut buffer = Vec::new();
        for part in bytes.chunks(PAYLOAD_BYTES * PAGES_PER_CALL as usize) {
            buffer.clear();
            for (payload, page) in part.chunks(PAYLOAD_BYTES).zip(page..) {
                let start = buffer.len();
                buffer.extend(payload);
                buffer.resize(start + PAYLOAD_BYTES, 0);
                let checksum = self.checksum(&buffer[start..], page, extent);
                buffer.extend(checksum.to_le_bytes());
            }
            self.write_pages(page, &buffer)?;
            page += (buffer.len() / PAGE_BYTES) as u64;
        }
        Ok(())
    }

    /// Reads the bytes `range` of an extent; only the pages that hold them are read.
    pub(super) fn read(&self, extent: u64, slot: Slot, range: Range<u64>) -> Result<Vec<u8>> {
        let run = slot.run();
        let in_file = run.end().is_some_and(|end| end <= self.n_pages());
        if run.n_pages > 0 && (run.first_page < FIRST_PAGE || !in_file) {
            return Err(self.damaged(&format!("extent {extent} lies outside of it")));
        }
        let start = range.start.min(slot.n_bytes);
        let end = range.end.clamp(start, slot.n_bytes);
        let mut bytes = Vec::with_capacity((end - start) as usize);
        let payload_bytes = PAYLOAD_BYTES as u64;
        let mut page_idx = start / payload_bytes;
        let mut buffer = Vec::new();
        while page_idx * payload_bytes < end {
            let n_pages = (n_pages_of(end) - page_idx).min(PAGES_PER_CALL);
            buffer.resize(n_pages as usize * PAGE_BYTES, 0);
            self.read_pages(run.first_page + page_idx, &mut buffer)?;
            for page in buffer.chunks_exact(PAGE_BYTES) {
                self.expect_whole(page, run.first_page + page_idx, extent)?;
                let page_start = page_idx * payload_bytes;
                let from = start.saturating_sub(page_start) as usize;
                let to = (end - page_start).min(payload_bytes) as usize;
                bytes.extend(&page[from..to]);
                page_idx += 1;
            }
        }
        Ok(bytes)
    }

    /// Whether a page of the file is as it was written for an extent.
    pub(super) fn page_is_whole(&self, page: u64, extent: u64) -> Result<bool> {
        let mut bytes = vec![0; PAGE_BYTES];
        self.read_pages(page, &mut bytes)?;
        Ok(self.is_whole(&bytes, page, extent))
    }

    /// Returns when all written pages stand on the disk.
    pub(super) fn sync(&self) -> Result<()> {
        let synced = self.file.sync();
        Ok(synced.map_err(|source| StoreError::Io {
            path: self.path.clone(),
            doing: "sync",
            source,
        })?)
    }

    /// How many whole pages the file has.
    pub(super) fn n_pages(&self) -> u64 {
        self.n_pages.load(Ordering::Acquire)
    }

    /// How long the file is.
    pub(super) fn n_bytes(&self) -> Result<u64> {
        let n_bytes = self.file.n_bytes();
        Ok(n_bytes.map_err(|source| StoreError::Io {
            path: self.path.clone(),
            doing: "read",
            source,
        })?)
    }

    fn write_pages(&self, first_page: u64, bytes: &[u8]) -> Result<()> {
        let written = self.file.write_at(first_page * PAGE_BYTES as u64, bytes);
        written.map_err(|source| StoreError::Io {
            path: self.path.clone(),
            doing: "write",
            source,
        })?;
        let end = first_page + (bytes.len() / PAGE_BYTES) as u64;
        self.n_pages.fetch_max(end, Ordering::AcqRel);
        Ok(())
    }

    fn read_pages(&self, first_page: u64, bytes: &mut [u8]) -> Result<()> {
        let read = self.file.read_at(first_page * PAGE_BYTES as u64, bytes);
        Ok(read.map_err(|source| StoreError::Io {
            path: self.path.clone(),
            doing: "read",
            source,
        })?)
    }

    fn expect_whole(&self, bytes: &[u8], page: u64, extent: u64) -> Result<()> {
        if self.is_whole(bytes, page, extent) {
            return Ok(());
        }
        let offset = page * PAGE_BYTES as u64;
        Err(StoreError::DamagedPage { path: self.path.clone(), extent, page, offset }.into())
    }

    fn is_whole(&self, bytes: &[u8], page: u64, extent: u64) -> bool {
        let (payload, checksum) = bytes.split_at(PAYLOAD_BYTES);
        checksum == self.checksum(payload, page, extent).to_le_bytes()
    }

    fn checksum(&self, payload: &[u8], page: u64, extent: u64) -> u64 {
        let mut place = [0; 32];
        place[..16].copy_from_slice(&self.store_id);
        place[16..24].copy_from_slice(&page.to_le_bytes());
        place[24..].copy_from_slice(&extent.to_le_bytes());
        XxHash3_64::oneshot_with_seed(XxHash3_64::oneshot(&place), payload)
    }

    fn damaged(&self, what: &str) -> crate::StorageError {
        StoreError::Damaged { path: self.path.clone(), what: what.to_owned() }.into()
    }
}

/// The bytes with which the header's page begins.
fn header(generation: u64, store_id: StoreId) -> Vec<u8> {
    let mut header = Vec::with_capacity(PAGE_BYTES);
    header.extend(MAGIC);
    header.extend(LAYOUT.to_le_bytes());
    header.extend((PAGE_BYTES as u32).to_le_bytes());
    header.extend(generation.to_le_bytes());
    header.extend(store_id);
    header
}
