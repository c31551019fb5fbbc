//! What a store promises, with budgets of a few bytes.

use std::io::ErrorKind;
use std::sync::Arc;

use super::backend::{Fault, FaultyBackend, MemoryBackend};
use super::*;

/// Xorshift: repeatable numbers that no packer shrinks.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8
    }
}

pub(super) fn random_bytes(seed: u64, n_bytes: usize) -> Vec<u8> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    (0..n_bytes).map(|_| (random.next() & 0xff) as u8).collect()
}

pub(super) fn text_bytes(n_bytes: usize) -> Vec<u8> {
    (0..).flat_map(|row: u32| format!("{row},house,street\n").into_bytes()).take(n_bytes).collect()
}

fn store_in_memory(limit_bytes: usize) -> (SpillStore, MemoryBudget, Arc<MemoryBackend>) {
    let budget = MemoryBudget::new(limit_bytes);
    let backend = Arc::new(MemoryBackend::new());
    let store = SpillStore::with_backend(
        Box::new(Arc::clone(&backend)),
        PathBuf::from("nowhere"),
        budget.clone(),
    );
    (store, budget, backend)
}

#[test]
fn a_block_within_the_budget_stays_in_memory_and_reads_back() {
    let (store, budget, backend) = store_in_memory(1000);
    let block = store.put(text_bytes(1000)).unwrap();
    assert!(!block.is_spilled());
    assert_eq!((block.n_bytes(), budget.used_bytes()), (1000, 1000));
    assert_eq!(store.read(&block).unwrap(), text_bytes(1000));
    assert_eq!(store.take(block).unwrap(), text_bytes(1000));
    assert_eq!((budget.used_bytes(), backend.n_bytes()), (0, 0));
    assert_eq!((store.written_bytes(), store.read_bytes()), (0, 0));
}

#[test]
fn a_block_beyond_the_budget_is_spilled_and_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let budget = MemoryBudget::new(5_000);
    let store = SpillStore::in_folder(folder.path(), budget.clone());
    let contents: Vec<Vec<u8>> = (0..20_u64)
        .map(|seed| if seed % 3 == 0 { text_bytes(3_000) } else { random_bytes(seed, 4_500) })
        .collect();
    let blocks: Vec<Block> =
        contents.iter().map(|bytes| store.put(bytes.clone()).unwrap()).collect();
    assert_eq!(blocks.iter().filter(|block| block.is_spilled()).count(), 19);
    assert!(budget.peak_bytes() <= 5_000);
    for (block, bytes) in blocks.iter().zip(&contents) {
        assert!(store.read(block).unwrap() == *bytes);
    }
    for (block, bytes) in blocks.into_iter().zip(&contents).rev() {
        assert!(store.take(block).unwrap() == *bytes);
    }
    assert_eq!((budget.used_bytes(), store.space_bytes()), (0, 0));
}

#[test]
fn spilling_is_counted() {
    let (store, _, _) = store_in_memory(0);
    let block = store.put(random_bytes(1, 5_000)).unwrap();
    assert_eq!((store.written_bytes(), store.read_bytes()), (5_000, 0));
    store.read(&block).unwrap();
    store.take(block).unwrap();
    assert_eq!((store.written_bytes(), store.read_bytes()), (5_000, 10_000));
    assert_eq!(store.peak_space_bytes(), 8_192);
}

#[test]
fn a_block_without_bytes_needs_neither_memory_nor_space() {
    let (store, budget, _) = store_in_memory(10);
    let store = store.with_room(100);
    let block = store.put(Vec::with_capacity(100)).unwrap();
    assert!(!block.is_spilled());
    assert_eq!((budget.used_bytes(), store.space_bytes()), (0, 0));
    assert_eq!(store.take(block).unwrap(), b"");
}

#[test]
fn the_room_kept_free_is_never_taken_by_blocks() {
    let (store, budget, _) = store_in_memory(1000);
    let store = store.with_room(300);
    let blocks: Vec<Block> = (0..5).map(|_| store.put(vec![7; 250]).unwrap()).collect();
    let spilled: Vec<bool> = blocks.iter().map(Block::is_spilled).collect();
    assert_eq!(spilled, [false, false, true, true, true]);
    let working = budget.try_reserve("working memory", 500).unwrap();
    drop(working);
    store.keep_free(0);
    assert!(!store.put(vec![7; 500]).unwrap().is_spilled());
}

#[test]
fn memory_behind_the_last_byte_is_given_back_or_counted() {
    let (store, budget, _) = store_in_memory(10_000);
    let mut much = Vec::with_capacity(4_000);
    much.resize(1_000, 7);
    let block = store.put(much).unwrap();
    assert_eq!(budget.used_bytes(), 1_000);
    assert!(store.take(block).unwrap().capacity() < 4_000);
    let mut little = Vec::with_capacity(1_010);
    little.resize(1_000, 7);
    let _block = store.put(little).unwrap();
    assert_eq!(budget.used_bytes(), 1_010);
}

#[test]
fn freed_space_is_used_again() {
    let (store, _, backend) = store_in_memory(0);
    let mut blocks: Vec<Block> =
        (1..=8).map(|seed| store.put(random_bytes(seed, 10_000)).unwrap()).collect();
    let n_bytes = backend.n_bytes();
    let peak_bytes = store.peak_space_bytes();
    for turn in 0..100_u64 {
        let block = blocks.swap_remove(usize::try_from(turn % 8).unwrap());
        // Both ways of freeing.
        if turn % 2 == 0 {
            drop(block);
        } else {
            drop(store.take(block).unwrap());
        }
        blocks.push(store.put(random_bytes(turn, 9_000)).unwrap());
    }
    assert_eq!((backend.n_bytes(), store.peak_space_bytes()), (n_bytes, peak_bytes));
    drop(blocks);
    assert_eq!(store.space_bytes(), 0);
}

#[test]
fn incompressible_bytes_are_stored_plain_and_text_is_packed() {
    let (store, _, _) = store_in_memory(0);
    store.put(random_bytes(1, 50_000)).unwrap();
    assert_eq!(store.written_bytes(), 50_000);
    let (store, _, _) = store_in_memory(0);
    let block = store.put(text_bytes(50_000)).unwrap();
    assert!(store.written_bytes() < 25_000);
    assert_eq!(store.take(block).unwrap(), text_bytes(50_000));
}

#[test]
fn nothing_is_visible_in_the_folder_while_spilling() {
    let folder = tempfile::tempdir().unwrap();
    let store = SpillStore::in_folder(folder.path(), MemoryBudget::new(0));
    let block = store.put(random_bytes(1, 100_000)).unwrap();
    assert!(block.is_spilled());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_store_that_never_spills_does_not_touch_its_folder() {
    let store = SpillStore::in_folder(Path::new("/nonexistent"), MemoryBudget::new(100));
    let block = store.put(vec![1; 100]).unwrap();
    let error = store.put(vec![1; 100]).unwrap_err();
    assert!(matches!(error, StorageError::SpillWrite { .. }));
    assert!(error.to_string().contains("/nonexistent"), "{error}");
    assert_eq!(store.take(block).unwrap(), [1; 100]);
}

/// Puts, reads and takes until something fails; says what came back whole.
fn small_case(store: &SpillStore) -> Result<()> {
    let contents: Vec<Vec<u8>> = (0..6_u64)
        .map(|seed| if seed < 3 { text_bytes(2_000) } else { random_bytes(seed, 3_000) })
        .collect();
    let blocks = contents.iter().map(|b| store.put(b.clone())).collect::<Result<Vec<Block>>>()?;
    for (block, bytes) in blocks.into_iter().zip(&contents) {
        assert!(store.read(&block)? == *bytes);
        assert!(store.take(block)? == *bytes);
    }
    Ok(())
}

/// Runs the small case with a fault; the operations that there were, and how it ended.
fn small_case_with(fault: Option<Fault>) -> (u64, u64, Result<()>) {
    let budget = MemoryBudget::new(2_500);
    let backend = Arc::new(FaultyBackend::new(Box::new(MemoryBackend::new()), fault));
    let boxed = Box::new(Arc::clone(&backend));
    let store = SpillStore::with_backend(boxed, PathBuf::from("/spill/here"), budget.clone());
    let outcome = small_case(&store);
    assert_eq!((budget.used_bytes(), store.space_bytes()), (0, 0));
    // The store stays usable, since what failed holds nothing.
    small_case(&store).unwrap();
    (backend.n_writes() / 2, backend.n_reads() / 2, outcome)
}

#[test]
fn every_write_that_fails_is_an_error_and_leaves_nothing_reserved() {
    let (n_writes, _, outcome) = small_case_with(None);
    outcome.unwrap();
    assert_eq!(n_writes, 5);
    for nth in 1..=n_writes {
        let fault = Fault::Write { nth, kind: ErrorKind::StorageFull };
        let error = small_case_with(Some(fault)).2.unwrap_err();
        assert!(matches!(error, StorageError::SpillWrite { .. }), "{nth}: {error}");
        assert_eq!(
            error.to_string(),
            "cannot write temporary data in /spill/here: no storage space; \
             nothing was published; make room there, or name another folder with `spill-dir`"
        );
    }
}

#[test]
fn every_read_that_fails_is_an_error_and_leaves_nothing_reserved() {
    let (_, n_reads, _) = small_case_with(None);
    assert_eq!(n_reads, 10);
    for nth in 1..=n_reads {
        let fault = Fault::Read { nth, kind: ErrorKind::TimedOut };
        let error = small_case_with(Some(fault)).2.unwrap_err();
        assert!(matches!(error, StorageError::SpillRead { .. }), "{nth}: {error}");
        assert!(error.to_string().contains("/spill/here"), "{error}");
    }
}

#[test]
fn threads_put_and_take_at_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    let budget = MemoryBudget::new(20_000);
    let store = SpillStore::in_folder(folder.path(), budget.clone()).with_room(2_000);
    std::thread::scope(|scope| {
        for thread_idx in 0..4_u64 {
            let (store, budget) = (&store, &budget);
            scope.spawn(move || {
                let mut random = Random(thread_idx + 1);
                let mut held: Vec<(u64, usize, Block)> = Vec::new();
                for seed in thread_idx * 1_000..thread_idx * 1_000 + 300 {
                    let n_bytes = usize::try_from(random.next() % 9_000).unwrap();
                    held.push((seed, n_bytes, store.put(random_bytes(seed, n_bytes)).unwrap()));
                    assert!(budget.used_bytes() <= 18_000);
                    if held.len() > 6 {
                        let idx = usize::try_from(random.next() % 7).unwrap();
                        let (seed, n_bytes, block) = held.swap_remove(idx);
                        assert!(store.take(block).unwrap() == random_bytes(seed, n_bytes));
                    }
                }
            });
        }
    });
    assert!(store.written_bytes() > 0);
    assert_eq!((budget.used_bytes(), store.space_bytes()), (0, 0));
}

#[test]
#[should_panic(expected = "another store")]
fn a_block_of_another_store_is_refused() {
    let (one, _, _) = store_in_memory(0);
    let (other, _, _) = store_in_memory(0);
    let block = one.put(vec![1; 100]).unwrap();
    let _ = other.take(block);
}

#[test]
fn debug_output_shows_no_bytes() {
    let (store, _, _) = store_in_memory(100);
    let block = store.put(b"secret".to_vec()).unwrap();
    assert_eq!(format!("{block:?}"), "Block { n_bytes: 6, is_spilled: false }");
    assert_eq!(format!("{store:?}"), "SpillStore { folder: \"nowhere\", .. }");
}

#[test]
fn a_folder_that_cannot_hold_temporary_data_is_refused_early() {
    let folder = tempfile::tempdir().unwrap();
    check_folder(folder.path()).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    for path in [file, folder.path().join("missing")] {
        let error = check_folder(&path).unwrap_err();
        assert!(matches!(&error, StorageError::SpillWrite { folder, .. } if *folder == path));
        assert!(error.to_string().contains("name a folder that exists"), "{error}");
    }
}
