//! Random histories against plain maps.

use albers_storage::store::Snapshot;
use albers_storage::store::disk::MemoryDisk;
use proptest::prelude::*;

use crate::common::*;

#[derive(Debug, Clone)]
enum Step {
    Put(u8, usize),
    Remove(u8),
    Write(u8, usize),
    Free(u8),
    Commit,
    Undo,
    TakeSnapshot,
    DropSnapshot(prop::sample::Index),
    Reopen,
    Compact,
}

fn step() -> impl Strategy<Value = Step> {
    let extent_bytes = prop_oneof![
        Just(0),
        Just(1),
        Just(PAYLOAD_BYTES),
        Just(PAYLOAD_BYTES + 1),
        0..4 * PAGE_BYTES,
        Just(18 * PAYLOAD_BYTES + 5),
    ];
    prop_oneof![
        4 => (0_u8..12, 0_usize..300).prop_map(|(key, n_bytes)| Step::Put(key, n_bytes)),
        2 => (0_u8..12).prop_map(Step::Remove),
        4 => (0_u8..6, extent_bytes).prop_map(|(name, n_bytes)| Step::Write(name, n_bytes)),
        2 => (0_u8..6).prop_map(Step::Free),
        3 => Just(Step::Commit),
        1 => Just(Step::Undo),
        2 => Just(Step::TakeSnapshot),
        1 => any::<prop::sample::Index>().prop_map(Step::DropSnapshot),
        1 => Just(Step::Reopen),
        1 => Just(Step::Compact),
    ]
}

/// Applies a step to a batch and to its model.
fn change(
    changes: &mut albers_storage::store::Changes,
    model: &mut State,
    step: &Step,
    number: usize,
) {
    match step {
        Step::Put(key, n_bytes) => {
            let value = bytes_of(number, *n_bytes);
            changes.put(RECORDS, &[*key], &value).unwrap();
            model.records.insert(vec![*key], value);
        }
        Step::Remove(key) => {
            let was_there = changes.remove(RECORDS, &[*key]).unwrap();
            assert_eq!(was_there, model.records.remove([*key].as_slice()).is_some());
        }
        Step::Write(name, n_bytes) => {
            let bytes = bytes_of(number, *n_bytes);
            set_extent(changes, &[*name], &bytes).unwrap();
            model.extents.insert(vec![*name], bytes);
        }
        Step::Free(name) => {
            free_extent(changes, &[*name]).unwrap();
            model.extents.remove([*name].as_slice());
        }
        _ => unreachable!("not a change"),
    }
}

fn run(steps: &[Step]) {
    let disk = MemoryDisk::new();
    let mut store = Some(create(&disk));
    let mut committed = State::default();
    let mut batch = None;
    let mut snapshots: Vec<(Snapshot, State)> = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let open_store = store.as_ref().unwrap();
        match step {
            Step::Put(..) | Step::Remove(_) | Step::Write(..) | Step::Free(_) => {
                let (changes, model) =
                    batch.get_or_insert_with(|| (open_store.begin().unwrap(), committed.clone()));
                change(changes, model, step, number);
            }
            Step::Commit => {
                if let Some((changes, model)) = batch.take() {
                    changes.commit().unwrap();
                    committed = model;
                }
            }
            Step::Undo => drop(batch.take()),
            Step::TakeSnapshot => {
                snapshots.push((open_store.snapshot().unwrap(), committed.clone()));
            }
            Step::DropSnapshot(which) if !snapshots.is_empty() => {
                snapshots.swap_remove(which.index(snapshots.len()));
            }
            Step::DropSnapshot(_) => {}
            Step::Reopen | Step::Compact => {
                batch = None;
                snapshots.clear();
                let closing = store.take().unwrap();
                store = Some(match step {
                    Step::Compact => closing.compact().unwrap(),
                    _ => {
                        drop(closing);
                        open(&disk)
                    }
                });
            }
        }
        if let Some((changes, model)) = &batch {
            assert_eq!(&state_of_changes(changes), model);
        } else {
            assert_eq!(problems(store.as_ref().unwrap()), Vec::<String>::new());
        }
        for (snapshot, model) in &snapshots {
            assert_eq!(&state_of(snapshot).unwrap(), model);
        }
        assert_eq!(state(store.as_ref().unwrap()), committed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(24),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_store_is_what_plain_maps_are(steps in prop::collection::vec(step(), 1..50)) {
        run(&steps);
    }
}

#[test]
fn a_batch_of_many_records_is_seen_in_order_and_from_any_key() {
    let store = create(&MemoryDisk::new());
    let mut changes = store.begin().unwrap();
    let keys: Vec<Vec<u8>> = (0..3_000_u32).map(|key| (key * 2).to_be_bytes().to_vec()).collect();
    changes.put_all(RECORDS, keys.iter().map(|key| (key, [7; 50]))).unwrap();
    let seen_from = |start: Option<&[u8]>, n_wanted: usize| {
        let mut seen = Vec::new();
        let mut note = |key: &[u8], _: &[u8]| {
            seen.push(key.to_vec());
            Ok(match seen.len() < n_wanted {
                true => std::ops::ControlFlow::Continue(()),
                false => std::ops::ControlFlow::Break(()),
            })
        };
        changes.for_each(RECORDS, start, &mut note).unwrap();
        seen
    };
    assert_eq!(seen_from(None, usize::MAX), keys);
    assert_eq!(seen_from(Some(&5_u32.to_be_bytes()), 2_000), keys[3..2_003]);
}

#[test]
fn pages_that_were_freed_are_used_again() {
    let disk = MemoryDisk::new();
    let mut store = create(&disk);
    for number in 0..40 {
        let mut changes = store.begin().unwrap();
        set_extent(&mut changes, b"a", &bytes_of(number, 3 * PAYLOAD_BYTES)).unwrap();
        changes.commit().unwrap();
        if number % 7 == 0 {
            drop(store);
            store = open(&disk);
        }
    }
    // The header, the extent in use, and the place of the one before.
    assert_eq!(disk.bytes("pages.1").unwrap().len(), (1 + 3 + 3) * PAGE_BYTES);
}

#[test]
fn compaction_leaves_no_byte_of_what_was_deleted() {
    let secret = b"a secret that is in the store once";
    let holds_secret = |disk: &MemoryDisk, name: &str| {
        let bytes = disk.bytes(name).unwrap_or_default();
        bytes.windows(secret.len()).any(|window| window == secret)
    };
    let disk = MemoryDisk::new();
    let store = create(&disk);
    let mut changes = store.begin().unwrap();
    set_extent(&mut changes, b"gone", secret).unwrap();
    set_extent(&mut changes, b"kept", b"kept").unwrap();
    changes.put(RECORDS, b"gone", secret).unwrap();
    changes.commit().unwrap();
    let mut changes = store.begin().unwrap();
    free_extent(&mut changes, b"gone").unwrap();
    changes.remove(RECORDS, b"gone").unwrap();
    changes.commit().unwrap();
    assert!(holds_secret(&disk, "pages.1") && holds_secret(&disk, "catalogue.redb"));
    let n_bytes = store.n_bytes().unwrap();
    let store = store.compact().unwrap();
    assert!(!holds_secret(&disk, "pages.2") && !holds_secret(&disk, "catalogue.redb"));
    assert_eq!(disk.bytes("pages.1"), None);
    assert!(store.n_bytes().unwrap() < n_bytes);
    assert_eq!(state(&store).extents.len(), 1);
}
