//! Random histories against a plain map of people, and against everything that attackers could
//! compute from all releases together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use albers::{ErrorKind, Index, Job, ReleaseRequest, Role, Silent};
use albers_storage::store::disk::MemoryDisk;
use proptest::prelude::*;

use super::attacker::{Rule, Rules, Seen, bad_classes};
use super::table::*;

/// A step of a history.
#[derive(Debug, Clone)]
pub enum Step {
    Insert(Vec<(u32, Person)>),
    Update(Vec<(usize, Person)>),
    Delete(Vec<usize>),
    Sync { kept: Vec<bool>, changed: Vec<(usize, Person)>, more: Vec<(u32, Person)> },
    Release { more_k: u64, batch: bool, accept: bool },
    Reopen,
    Compact,
}

fn person() -> impl Strategy<Value = Person> {
    (-20..60i32, 0..9i32, 0..4u8).prop_map(|(age, zip, illness)| Person { age, zip, illness })
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

/// A table, what was published of it, and what it must satisfy.
struct History {
    rules: Rules,
    style: Style,
    people: People,
    /// As they were published last.
    published: People,
    seen: Seen,
    /// Sets that do not satisfy, and whose owner accepted that.
    accepted: BTreeSet<Vec<u32>>,
}

impl History {
    fn new(rules: Rules, style: Style) -> History {
        let (people, published) = (People::new(), People::new());
        let (seen, accepted) = (Seen::default(), BTreeSet::new());
        History { rules, style, people, published, seen, accepted }
    }

    /// Another release appeared. Who changed and changed back looks as before.
    fn publish(&mut self, rows: &[Published]) {
        let has_changed =
            |(id, own): &(&u32, &Person)| self.people.get(id).is_some_and(|now| now != *own);
        let changed = self.published.iter().filter(has_changed).map(|(&id, _)| id);
        self.seen.changed_are(changed.collect());
        self.seen.publish(rows);
        for id in rows.iter().filter_map(|row| row.id) {
            self.published.insert(id, self.people[&id]);
        }
    }
}

const K: u64 = 2;

/// A job for an index that has some rules, in absurdly little memory.
fn tiny_job(rules: &Rules, style: Style) -> Job {
    let mut job = Job { least_memory: Some("64KB".parse().unwrap()), ..job(rules.k) };
    let illness = job.column("illness");
    match rules.rule {
        Rule::Nothing => {}
        Rule::Distinct(l) => illness.l_diversity = Some(format!("distinct:{l}").parse().unwrap()),
        Rule::Entropy(l) => illness.l_diversity = Some(format!("entropy:{l}").parse().unwrap()),
        Rule::Closeness(t) => illness.t_closeness = Some(t),
    }
    if style == Style::Odd {
        job.column("age").column_type = Some("decimal".parse().unwrap());
        job.column("zip").column_type = Some("text".parse().unwrap());
    }
    if rules.by_subject {
        job.set_role("who", Role::Subject).unwrap();
        job.accept.push("person-rules-class".parse().unwrap());
    }
    job
}

fn check_rows(history: &History, rows: &[Published], waiting: u64) {
    assert_eq!(rows.len() as u64 + waiting, history.people.len() as u64, "every row is there");
    for row in rows {
        let person = history.people[&row.id.unwrap()];
        assert_eq!(row.illness, format!("i{}", person.illness));
        for (shown, cell) in row.shown.iter().zip(history.style.cells(&person)) {
            assert!(history.style.covers(shown, &cell), "what a class shows covers its rows");
        }
    }
    assert_eq!(bad_classes(&history.rules, rows), 0, "every class satisfies");
}

fn release_step(
    index: &mut Index,
    history: &mut History,
    (more_k, batch, accept): (u64, bool, bool),
) {
    let rules = history.rules;
    let mut request = ReleaseRequest { k: Some(rules.k + more_k), batch, ..with_keys() };
    request.accept.extend(accept.then(|| "linkage".parse().unwrap()));
    match release(index, &request) {
        Ok((report, rows)) => {
            check_rows(history, &rows, report.waiting);
            assert_eq!(report.report.suppressed, 0, "rows that wait are not suppressed");
            history.publish(&rows);
            assert_eq!(report.release, history.seen.releases.len() as u64);
            let found: BTreeSet<Vec<u32>> = history.seen.found_sets(&rules).into_iter().collect();
            // What was accepted counts again only when it becomes smaller, or shows new values.
            let counts = |ids: &Vec<u32>| {
                !history.accepted.contains(ids) || history.seen.is_changed_last(ids[0])
            };
            let n_below = found.iter().filter(|ids| counts(ids)).map(Vec::len).sum::<usize>();
            assert_eq!(report.rows_below, n_below as u64, "not all rows below are counted");
            assert!(accept || n_below == 0, "somebody is found");
            history.accepted = found;
        }
        Err(error) => {
            let text = error.to_string();
            let is_linkage = text.contains("in sets below") && !accept;
            let is_empty = text.contains("no rows yet");
            let is_missed = ["even with all", "is more than the", "does not satisfy"];
            let cannot_hold =
                is_missed.iter().any(|own| text.contains(own)) && may_miss(history, more_k, batch);
            assert!(is_linkage || is_empty || cannot_hold, "{text}");
            assert!(!is_linkage || error.kind() == ErrorKind::Requirement);
        }
    }
}

/// Whether rows that must be in classes without others miss the requirement of a release: all of
/// them, or those that were published before, in a release with the others or without.
fn may_miss(history: &History, more_k: u64, batch: bool) -> bool {
    let rules = Rules { k: history.rules.k + more_k, ..history.rules };
    let row = |(&id, person): (&u32, &Person)| {
        let illness = format!("i{}", person.illness);
        (id, Published { id: Some(id), shown: Vec::new(), illness })
    };
    let all: BTreeMap<u32, Published> = history.people.iter().map(row).collect();
    let ids: Vec<u32> = all.keys().copied().collect();
    let known: Vec<u32> = ids.iter().copied().filter(|&id| history.seen.knows(id)).collect();
    let alone = known.iter().map(|id| (*id, all[id].clone())).collect();
    let misses = |ids: &[u32], release| ids.is_empty() || !rules.hold(ids, release);
    misses(&ids, &all) || batch && (misses(&known, &all) || misses(&known, &alone))
}

fn apply(step: &Step, index: &mut Option<Index>, history: &mut History, disk: &Arc<MemoryDisk>) {
    let own = index.as_mut().unwrap();
    match step {
        Step::Insert(rows) => {
            let rows: People = rows.iter().copied().collect();
            let is_new = rows.keys().all(|id| !history.people.contains_key(id));
            let outcome = own.insert(&source(history.style.text_of(&rows)), &Silent);
            match is_new && !rows.is_empty() {
                true => {
                    assert_eq!(outcome.unwrap().inserted, rows.len() as u64);
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
            let report = own.update(&source(history.style.text_of(&rows)), &Silent).unwrap();
            let changed = rows.iter().filter(|(id, person)| history.people[id] != **person);
            let changed: Vec<u32> = changed.map(|(&id, _)| id).collect();
            assert_eq!(report.updated, changed.len() as u64);
            history.people.extend(rows);
        }
        Step::Delete(places) => {
            let ids: Vec<u32> = history.people.keys().copied().collect();
            let gone: Vec<u32> = places.iter().filter_map(|at| ids.get(*at).copied()).collect();
            let gone: BTreeSet<u32> = gone.into_iter().collect();
            if gone.is_empty() {
                return;
            }
            let gone: Vec<u32> = gone.into_iter().collect();
            assert_eq!(delete(own, &gone).unwrap().deleted, gone.len() as u64);
            gone.iter().for_each(|id| {
                history.people.remove(id);
            });
        }
        Step::Sync { kept, changed, more } => sync_step(own, history, kept, changed, more),
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
    kept: &[bool],
    changed: &[(usize, Person)],
    more: &[(u32, Person)],
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
    let report = index.sync(&source(history.style.text_of(&extract)), 1.0, &Silent).unwrap();
    let n_gone = history.people.keys().filter(|id| !extract.contains_key(id)).count();
    assert_eq!(report.deleted, n_gone as u64);
    assert_eq!(report.rows, extract.len() as u64);
    history.people = extract;
}

/// Does what a history says, and looks at everything after each step.
pub fn try_history(rules: Rules, style: Style, steps: &[Step]) {
    let (disk, index) = index(&tiny_job(&rules, style));
    let mut index = Some(index);
    let mut history = History::new(rules, style);
    for step in steps {
        apply(step, &mut index, &mut history, &disk);
        let own = index.as_ref().unwrap();
        assert_eq!(own.info().unwrap().rows, history.people.len() as u64);
        let found = own.check(&Silent).unwrap();
        assert!(found.problems.is_empty(), "{:?}", found.problems);
    }
}

/// The steps of a history.
pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..25)
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn an_index_is_the_table_it_was_given_and_its_releases_tell_no_set_apart(steps in steps()) {
        try_history(Rules::rows(K), Style::Plain, &steps);
    }

    #[test]
    fn an_index_is_its_table_through_new_names_digits_and_missing_values(steps in steps()) {
        try_history(Rules::rows(K), Style::Odd, &steps);
    }
}
