//! Random histories against a plain map of people, and against everything that attackers could
//! compute from all releases together.

use std::collections::BTreeMap;
use std::sync::Arc;

use albers::{Index, Job, ReleaseRequest, Silent};
use albers_storage::store::disk::MemoryDisk;
use proptest::prelude::*;

use super::table::*;

/// A step of a history.
#[derive(Debug, Clone)]
enum Step {
    Insert(Vec<(u32, Person)>),
    Update(Vec<(usize, Person)>),
    Delete(Vec<usize>),
    Sync { kept: Vec<bool>, changed: Vec<(usize, Person)>, more: Vec<(u32, Person)> },
    Release { more_k: u64, batch: bool, accept: bool },
    Reopen,
    Compact,
}

fn person() -> impl Strategy<Value = Person> {
    (-20..60i32, 0..9i32, 0..3u8).prop_map(|(age, zip, illness)| Person { age, zip, illness })
}

fn step() -> impl Strategy<Value = Step> {
    let rows = || prop::collection::vec((0..90u32, person()), 0..14);
    let places = || prop::collection::vec(0..200usize, 0..5);
    let changes = || prop::collection::vec((0..200usize, person()), 0..5);
    prop_oneof![
        4 => rows().prop_map(Step::Insert),
        2 => changes().prop_map(Step::Update),
        2 => places().prop_map(Step::Delete),
        1 => (prop::collection::vec(prop::bool::weighted(0.9), 90), changes(), rows())
            .prop_map(|(kept, changed, more)| Step::Sync { kept, changed, more }),
        4 => (0..3u64, any::<bool>(), any::<bool>())
            .prop_map(|(more_k, batch, accept)| Step::Release { more_k, batch, accept }),
        1 => Just(Step::Reopen),
        1 => Just(Step::Compact),
    ]
}

/// What happened to a person, as whoever knows everything sees it: the classes of all releases in
/// which the person was, with a mark where the row changed in between.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Signature(Vec<(u64, Vec<String>)>, Vec<usize>);

#[derive(Default)]
struct History {
    people: People,
    /// Of everybody who was ever published; the secrets that each release showed.
    signatures: BTreeMap<u32, (Signature, bool)>,
    gone: People,
    n_releases: u64,
}

impl History {
    fn change(&mut self, id: u32) {
        if let Some((_, is_changed)) = self.signatures.get_mut(&id) {
            *is_changed = true;
        }
    }

    /// The sets that all releases together leave, if another is published.
    fn sets_with(&self, rows: &[Published]) -> BTreeMap<Signature, Vec<u32>> {
        let mut signatures = self.signatures.clone();
        for row in rows {
            let id = row.id.unwrap();
            let (signature, is_changed) = signatures.entry(id).or_default();
            if *is_changed {
                signature.1.push(signature.0.len());
                *is_changed = false;
            }
            signature.0.push((self.n_releases + 1, row.shown.clone()));
        }
        let mut sets: BTreeMap<Signature, Vec<u32>> = BTreeMap::new();
        for (id, (signature, _)) in signatures {
            sets.entry(signature).or_default().push(id);
        }
        sets
    }

    fn publish(&mut self, rows: &[Published]) {
        for (signature, ids) in self.sets_with(rows) {
            for id in ids {
                let is_new = signature.0.last().is_some_and(|own| own.0 == self.n_releases + 1);
                let entry = self.signatures.entry(id).or_default();
                let is_changed = entry.1 && !is_new;
                *entry = (signature.clone(), is_changed);
            }
        }
        self.n_releases += 1;
    }
}

const K: u64 = 2;

fn tiny_job() -> Job {
    Job { least_memory: Some("64KB".parse().unwrap()), ..job(K) }
}

fn check_rows(history: &History, rows: &[Published], waiting: u64) {
    assert_eq!(rows.len() as u64 + waiting, history.people.len() as u64, "every row is there");
    let mut sizes: BTreeMap<&[String], u64> = BTreeMap::new();
    for row in rows {
        let person = history.people[&row.id.unwrap()];
        assert_eq!(row.illness, format!("i{}", person.illness));
        for (shown, value) in row.shown.iter().zip([person.age, person.zip]) {
            assert!(covers(shown, value), "what a class shows covers its rows");
        }
        *sizes.entry(&row.shown).or_insert(0) += 1;
    }
    assert!(sizes.values().all(|&size| size >= K), "every class has k rows");
}

fn release_step(
    index: &mut Index,
    history: &mut History,
    (more_k, batch, accept): (u64, bool, bool),
) {
    let mut request = ReleaseRequest { k: Some(K + more_k), batch, ..with_keys() };
    request.accept.extend(accept.then(|| "linkage".parse().unwrap()));
    match release(index, &request) {
        Ok((report, rows)) => {
            check_rows(history, &rows, report.waiting);
            let sets = history.sets_with(&rows);
            let smallest = sets.values().map(|ids| ids.len() as u64).min();
            if !accept {
                assert!(smallest.is_none_or(|n| n >= K) || had_small(history), "{smallest:?}");
            }
            history.publish(&rows);
            assert_eq!(report.release, history.n_releases);
        }
        Err(error) => {
            let text = error.to_string();
            let is_too_few = (history.people.len() as u64) < K + more_k;
            let is_linkage = text.contains("in sets below");
            let is_empty = text.contains("no rows yet");
            let of_class = text.contains("does not satisfy") || text.contains("is more than the");
            assert!(is_too_few || is_linkage && !accept || is_empty || batch && of_class, "{text}");
        }
    }
}

/// Whether some set was below at an accepted release: it counts again only when it shrinks.
fn had_small(history: &History) -> bool {
    let mut sizes: BTreeMap<&Signature, u64> = BTreeMap::new();
    history.signatures.values().for_each(|(own, _)| *sizes.entry(own).or_insert(0) += 1);
    sizes.values().any(|&n| n < K)
}

fn apply(step: &Step, index: &mut Option<Index>, history: &mut History, disk: &Arc<MemoryDisk>) {
    let own = index.as_mut().unwrap();
    match step {
        Step::Insert(rows) => {
            let rows: People = rows.iter().copied().collect();
            let is_new = rows.keys().all(|id| !history.people.contains_key(id));
            let outcome = insert(own, &rows);
            match is_new && !rows.is_empty() {
                true => {
                    assert_eq!(outcome.unwrap().inserted, rows.len() as u64);
                    rows.keys().for_each(|&id| history.change_back(id, rows[&id]));
                    history.people.extend(rows);
                }
                false if rows.is_empty() => drop(outcome),
                false => assert!(outcome.unwrap_err().to_string().contains("row of the index")),
            }
        }
        Step::Update(changes) => {
            let ids: Vec<u32> = history.people.keys().copied().collect();
            if ids.is_empty() {
                return;
            }
            let rows: People =
                changes.iter().map(|(at, person)| (ids[at % ids.len()], *person)).collect();
            if rows.is_empty() {
                return;
            }
            let report = own.update(&source(text_of(&rows)), &Silent).unwrap();
            let changed = rows.iter().filter(|(id, person)| history.people[id] != **person);
            let changed: Vec<u32> = changed.map(|(&id, _)| id).collect();
            assert_eq!(report.updated, changed.len() as u64);
            changed.iter().for_each(|&id| history.change(id));
            history.people.extend(rows);
        }
        Step::Delete(places) => {
            let ids: Vec<u32> = history.people.keys().copied().collect();
            let gone: Vec<u32> = places.iter().filter_map(|at| ids.get(*at).copied()).collect();
            let gone: std::collections::BTreeSet<u32> = gone.into_iter().collect();
            if gone.is_empty() {
                return;
            }
            let gone: Vec<u32> = gone.into_iter().collect();
            assert_eq!(delete(own, &gone).unwrap().deleted, gone.len() as u64);
            gone.iter().for_each(|id| history.forget(*id));
        }
        Step::Sync { kept, changed, more } => sync_step(own, history, (kept, changed, more)),
        Step::Release { more_k, batch, accept } => {
            release_step(own, history, (*more_k, *batch, *accept));
        }
        Step::Reopen => {
            *index = None;
            *index = Some(Index::open_on(disk.clone()).unwrap());
        }
        Step::Compact => {
            let own = index.take().unwrap();
            *index = Some(own.compact(&Silent).unwrap());
        }
    }
}

fn sync_step(
    index: &mut Index,
    history: &mut History,
    (kept, changed, more): (&[bool], &[(usize, Person)], &[(u32, Person)]),
) {
    let ids: Vec<u32> = history.people.keys().copied().collect();
    let mut extract: People = history
        .people
        .iter()
        .filter(|(id, _)| kept[**id as usize])
        .map(|(&id, &person)| (id, person))
        .collect();
    if !ids.is_empty() {
        for (at, person) in changed {
            if let Some(own) = extract.get_mut(&ids[at % ids.len()]) {
                *own = *person;
            }
        }
    }
    extract.extend(more.iter().copied());
    if extract.is_empty() {
        return;
    }
    let report = index.sync(&source(text_of(&extract)), 1.0, &Silent).unwrap();
    let n_gone = history.people.keys().filter(|id| !extract.contains_key(id)).count();
    assert_eq!(report.deleted, n_gone as u64);
    assert_eq!(report.rows, extract.len() as u64);
    let before = std::mem::take(&mut history.people);
    for (id, person) in &before {
        match extract.get(id) {
            None => history.remember(*id, *person),
            Some(own) if own != person => history.change(*id),
            Some(_) => {}
        }
    }
    let new = extract.iter().filter(|(id, _)| !before.contains_key(id));
    let new: Vec<(u32, Person)> = new.map(|(&id, &person)| (id, person)).collect();
    new.iter().for_each(|&(id, person)| history.change_back(id, person));
    history.people = extract;
}

/// Rows that are gone, as they were last.
impl History {
    fn forget(&mut self, id: u32) {
        let person = self.people.remove(&id).unwrap();
        self.remember(id, person);
    }

    fn remember(&mut self, id: u32, person: Person) {
        self.gone.insert(id, person);
    }

    /// A key that comes back with another row has changed.
    fn change_back(&mut self, id: u32, person: Person) {
        if self.gone.remove(&id).is_some_and(|own| own != person) {
            self.change(id);
        }
    }
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn an_index_is_the_table_it_was_given_and_its_releases_tell_no_set_apart(
        steps in prop::collection::vec(step(), 1..25)
    ) {
        let (disk, index) = index(&tiny_job());
        let mut index = Some(index);
        let mut history = History::default();
        for step in &steps {
            apply(step, &mut index, &mut history, &disk);
            let own = index.as_ref().unwrap();
            prop_assert_eq!(own.info().unwrap().rows, history.people.len() as u64);
            let found = own.check(&Silent).unwrap();
            prop_assert!(found.problems.is_empty(), "{:?}", found.problems);
        }
    }
}
