//! Walks all of a store and names what is not as it was written.
//!
//! Guarantee: every page of every extent is read, and every page of the catalogue; nothing is changed.
//! Cost: reads both files once, the catalogue up to four times; memory of 24 bytes for an extent.

use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use super::catalogue::{CATALOGUE, extents_of};
use super::disk::Opening;
use super::engine;
use super::opening::{NOT_AS_WRITTEN, open_catalogue};
use super::page_file::{FIRST_PAGE, PAGE_BYTES, Slot, page_file_name};
use super::shared::Shared;
use super::snapshot::Snapshot;
use crate::Result;

/// Something in a store that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckProblem {
    /// The catalogue fails the engine's own check.
    #[error("{} is damaged: {what}; restore a copy", path.display())]
    Catalogue {
        /// The catalogue.
        path: PathBuf,
        /// What the engine says.
        what: String,
    },
    /// A record of where an extent stands is none.
    #[error("{} is damaged: it does not say where an extent stands; restore a copy", path.display())]
    Record {
        /// The catalogue.
        path: PathBuf,
    },
    /// An extent has a number that was never given to one.
    #[error("{} is damaged: no extent has the number {extent} yet; restore a copy", path.display())]
    Number {
        /// The catalogue.
        path: PathBuf,
        /// The number.
        extent: u64,
    },
    /// Two extents stand at the same place.
    #[error(
        "{} is damaged: the extents {extent} and {other} both use page {page}; restore a copy",
        path.display()
    )]
    Overlap {
        /// The catalogue.
        path: PathBuf,
        /// The extent that begins at the page.
        extent: u64,
        /// The extent that has not ended there.
        other: u64,
        /// The page.
        page: u64,
    },
    /// An extent stands where the page file has no pages for extents.
    #[error(
        "{} is damaged: {n_pages} pages from page {first_page} on, of extent {extent}, are not all in \
         it; restore a copy",
        path.display()
    )]
    Outside {
        /// The page file.
        path: PathBuf,
        /// The extent.
        extent: u64,
        /// Its first page.
        first_page: u64,
        /// How many pages it has.
        n_pages: u64,
    },
    /// A page is not as it was written.
    #[error(
        "{} is damaged: page {page} (at byte {offset}), of extent {extent}, is not as it was written; \
         restore a copy",
        path.display()
    )]
    Page {
        /// The page file.
        path: PathBuf,
        /// The extent.
        extent: u64,
        /// The page's number in the file.
        page: u64,
        /// Where the page begins in the file.
        offset: u64,
    },
}

/// Reports everything in a store that is not as it was written; nobody may change it meanwhile.
pub(super) fn check(shared: &Arc<Shared>, report: &mut dyn FnMut(CheckProblem)) -> Result<()> {
    shared.expect_usable()?;
    if !shared.ledger().begin_writing() {
        return Err(shared.busy("a batch of changes is under way"));
    }
    let _writing = Writing(shared);
    if let Some(what) = check_catalogue(shared)? {
        report(CheckProblem::Catalogue { path: shared.disk.path(CATALOGUE), what });
    }
    let snapshot = Snapshot::new(shared)?;
    let next_extent = shared.ledger().next_extent;
    let mut extents = Vec::new();
    if let Some(table) = snapshot.extents() {
        let path = || shared.disk.path(CATALOGUE);
        shared.engine(|| {
            extents_of(table, &mut |record| match record {
                Some((extent, _)) if extent == 0 || extent >= next_extent => {
                    report(CheckProblem::Number { path: path(), extent });
                }
                Some((extent, slot)) => extents.push((extent, slot)),
                None => report(CheckProblem::Record { path: path() }),
            })
        })?;
    }
    extents.sort_unstable_by_key(|(extent, slot)| (slot.first_page, *extent));
    check_places(shared, &mut extents, report);
    for (extent, slot) in extents {
        check_pages(shared, extent, slot, report);
    }
    Ok(())
}

/// Others may change the store again when the check ends, however it ends.
struct Writing<'a>(&'a Shared);

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.ledger().end_writing();
    }
}

/// Opens the catalogue a second time, without writing to it, and lets the engine check all of it; the
/// answer is what it found.
pub(super) fn check_catalogue(shared: &Shared) -> Result<Option<String>> {
    let file = open_catalogue(&*shared.disk, Opening::Read)?;
    let went_back = Rc::new(Cell::new(false));
    let seen = Rc::clone(&went_back);
    // The engine reports this part of the way only when it gives up the last commit for the one before.
    let on_repair = move |progress: f64| seen.set(seen.get() || (progress > 0.0 && progress < 0.5));
    let checked = engine::open_to_read(file, shared.cache_bytes, on_repair)
        .and_then(|mut database| database.is_whole());
    Ok(match checked {
        Ok(true) if !went_back.get() => None,
        Ok(_) => Some(NOT_AS_WRITTEN.to_owned()),
        Err(error) => Some(error.to_string()),
    })
}

/// Keeps the extents that stand inside the page file, and reports the others and those that overlap.
fn check_places(
    shared: &Shared,
    extents: &mut Vec<(u64, Slot)>,
    report: &mut dyn FnMut(CheckProblem),
) {
    let pages_path = shared.disk.path(&page_file_name(shared.head.generation));
    let n_pages = shared.pages.n_pages();
    extents.retain(|&(extent, slot)| {
        let run = slot.run();
        let ends_inside = run.end().is_some_and(|end| end <= n_pages);
        let is_inside = run.n_pages == 0 || (run.first_page >= FIRST_PAGE && ends_inside);
        if !is_inside {
            let path = pages_path.clone();
            let (first_page, n_pages) = (run.first_page, run.n_pages);
            report(CheckProblem::Outside { path, extent, first_page, n_pages });
        }
        is_inside && run.n_pages > 0
    });
    let mut furthest: Option<(u64, u64)> = None;
    for &(extent, slot) in &*extents {
        let run = slot.run();
        if let Some((_, other)) = furthest.filter(|(end, _)| *end > run.first_page) {
            let (path, page) = (shared.disk.path(CATALOGUE), run.first_page);
            report(CheckProblem::Overlap { path, extent, other, page });
        }
        furthest = furthest.max(run.end().map(|end| (end, extent)));
    }
}

/// Reads all pages of an extent that stands inside the page file.
fn check_pages(shared: &Shared, extent: u64, slot: Slot, report: &mut dyn FnMut(CheckProblem)) {
    let run = slot.run();
    for page in run.first_page..run.first_page + run.n_pages {
        // What cannot be read is as bad as what is read wrongly, and the rest is still to be seen.
        if !shared.pages.page_is_whole(page, extent).unwrap_or(false) {
            let path = shared.disk.path(&page_file_name(shared.head.generation));
            report(CheckProblem::Page { path, extent, page, offset: page * PAGE_BYTES as u64 });
        }
    }
}
