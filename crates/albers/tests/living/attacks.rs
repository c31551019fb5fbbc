//! Attacks by name on two releases of a table that changed in between: each finds somebody in
//! releases that were made independently, and nobody in the releases of an index.

use albers::sink::BatchSink;
use albers::{Error, ErrorKind, Index, Job, Method, ReleaseRequest, Role, Silent, anonymize};
use proptest::prelude::*;

use super::attacker::{Rule, Rules, Seen, bad_classes};
use super::table::*;

const K: u64 = 3;

/// People of about the same age, far from those of other ages.
fn group(first_id: u32, n: u32, age: i32) -> People {
    let person = |own: u32| Person {
        age: age + own as i32 % 4,
        zip: age * 10 + own as i32,
        illness: (own % 3) as u8,
    };
    (0..n).map(|own| (first_id + own, person(own))).collect()
}

/// Some groups of four people each.
fn groups() -> People {
    (0..8).flat_map(|own| group(10 * own, 4, 1000 * own as i32)).collect()
}

/// A release of a table as if there were no others.
fn independent(job: &Job, k: u64, people: &People) -> Vec<Published> {
    let mut job = Job { k: Some(k), method: Some(Method::Rtree), ..job.clone() };
    job.set_role("id", Role::Keep).unwrap();
    job.accept.push("unique-keep:id".parse().unwrap());
    let (sink, batches) = BatchSink::new();
    anonymize(&job, &source(text_of(people)), vec![Box::new(sink)], &Silent).unwrap();
    published(batches.take())
}

/// What is known of who changed.
fn see_changes(seen: &mut Seen, before: &People, after: &People) {
    let changed = before.iter().filter(|(id, own)| after.get(id).is_some_and(|new| new != *own));
    changed.for_each(|(&id, _)| seen.change(id));
}

/// What independent releases before and after a change tell.
fn seen_in_independent(job: &Job, before: &People, after: &People) -> Seen {
    let mut seen = Seen::default();
    seen.publish(&independent(job, job.k.unwrap(), before));
    see_changes(&mut seen, before, after);
    seen.publish(&independent(job, job.k.unwrap(), after));
    seen
}

/// An index that released a table before it changed.
fn changed_index(job: &Job, before: &People, after: &People) -> (Index, Seen) {
    let (_, mut index) = index(job);
    let mut seen = Seen::default();
    insert(&mut index, before).unwrap();
    seen.publish(&release(&mut index, &with_keys()).unwrap().1);
    see_changes(&mut seen, before, after);
    index.sync(&source(text_of(after)), 1.0, &Silent).unwrap();
    (index, seen)
}

fn in_batches() -> ReleaseRequest {
    ReleaseRequest { batch: true, ..with_keys() }
}

fn accepting() -> ReleaseRequest {
    let mut request = with_keys();
    request.accept.push("linkage".parse().unwrap());
    request
}

fn is_linkage(error: &Error) -> bool {
    matches!(error, Error::Linkage { .. }) && error.kind() == ErrorKind::Requirement
}

/// The attack finds somebody in independent releases; the index refuses the second one.
fn is_refused(before: &People, after: &People, target: u32) -> (Index, Seen) {
    let rules = Rules::rows(K);
    let found = seen_in_independent(&job(K), before, after);
    assert!(found.set_of(target).len() < K as usize, "the attack does not work at all");
    for release in &found.releases {
        let rows: Vec<Published> = release.values().cloned().collect();
        assert_eq!(bad_classes(&rules, &rows), 0, "each release alone is sound");
    }
    let (mut index, seen) = changed_index(&job(K), before, after);
    assert!(is_linkage(&release(&mut index, &with_keys()).unwrap_err()));
    assert_eq!(index.info().unwrap().releases.len(), 1);
    assert!(seen.found_sets(&rules).is_empty());
    (index, seen)
}

#[test]
fn a_person_inserted_alone_is_not_found() {
    let before = groups();
    let mut after = before.clone();
    after.insert(99, Person { age: 3001, zip: 30_002, illness: 1 });
    let (mut index, mut seen) = is_refused(&before, &after, 99);
    let (report, rows) = release(&mut index, &in_batches()).unwrap();
    assert_eq!((report.waiting, report.report.rows, rows.len()), (1, 32, 32));
    assert_eq!(report.report.suppressed, 0);
    assert!(rows.iter().all(|row| row.id != Some(99)));
    seen.publish(&rows);
    assert!(seen.found_sets(&Rules::rows(K)).is_empty());
    // When enough others have come, all of them appear, in classes of their own.
    insert(&mut index, &group(200, 2, 5000)).unwrap();
    let (report, rows) = release(&mut index, &in_batches()).unwrap();
    assert_eq!((report.waiting, rows.len()), (0, 35));
    seen.publish(&rows);
    assert!(seen.found_sets(&Rules::rows(K)).is_empty());
    assert_eq!(seen.set_of(99), [99, 200, 201]);
}

#[test]
fn a_person_deleted_alone_is_not_found() {
    let before = groups();
    let mut after = before.clone();
    after.remove(&31);
    let (mut index, mut seen) = is_refused(&before, &after, 31);
    assert!(is_linkage(&release(&mut index, &in_batches()).unwrap_err()));
    // When the rest of the class has gone too, nobody is told apart.
    delete(&mut index, &[30, 32, 33]).unwrap();
    seen.publish(&release(&mut index, &in_batches()).unwrap().1);
    assert!(seen.found_sets(&Rules::rows(K)).is_empty());
    assert_eq!(seen.set_of(31), [30, 31, 32, 33]);
}

#[test]
fn a_person_updated_alone_is_not_found() {
    let before = groups();
    let illness_only = Person { illness: 2, ..before[&31] };
    for person in [illness_only, Person { age: 3003, ..before[&31] }, before[&72]] {
        let mut after = before.clone();
        after.insert(31, person);
        let (mut index, _) = is_refused(&before, &after, 31);
        assert!(is_linkage(&release(&mut index, &in_batches()).unwrap_err()));
    }
}

#[test]
fn a_person_moved_by_a_merge_is_not_found() {
    let mut before = groups();
    before.extend(group(300, 5, 20_000));
    let mut after = before.clone();
    // Three go, which are enough not to be told apart; two are left, who must join others.
    after.retain(|id, _| ![300, 301, 302].contains(id));
    let (mut index, _) = is_refused(&before, &after, 303);
    assert!(is_linkage(&release(&mut index, &in_batches()).unwrap_err()));
}

#[test]
fn two_releases_at_different_k_do_not_cross() {
    let mut n_crossing = 0;
    for seed in 0..40u32 {
        let mixed = |id: u32, salt: u32| (id * 7919 + seed * 104_729 + salt * 31_337) % 10_007;
        let people: People = (0..30)
            .map(|id| {
                let (age, zip) = (mixed(id, 0) % 50, mixed(id, 1) % 50);
                (id, Person { age: age as i32, zip: zip as i32, illness: (id % 3) as u8 })
            })
            .collect();
        let rules = Rules::rows(K);
        let mut crossed = Seen::default();
        crossed.publish(&independent(&job(K), K, &people));
        crossed.publish(&independent(&job(K), K + 1, &people));
        n_crossing += u32::from(!crossed.found_sets(&rules).is_empty());
        let (_, mut index) = index(&job(K));
        insert(&mut index, &people).unwrap();
        let mut seen = Seen::default();
        for k in [K, K + 1, K + 4, K + 2] {
            let request = ReleaseRequest { k: Some(k), ..with_keys() };
            seen.publish(&release(&mut index, &request).unwrap().1);
        }
        assert!(seen.found_sets(&rules).is_empty());
    }
    assert!(n_crossing > 0, "the attack does not work at all");
}

#[test]
fn people_updated_together_do_not_show_that_they_share_an_illness() {
    let rules = Rules { k: K, rule: Rule::Distinct(2), by_subject: false };
    let mut job = job(K);
    job.column("illness").l_diversity = Some("distinct:2".parse().unwrap());
    let mut before = groups();
    before.extend(group(300, 7, 20_000));
    // Three of one class move a little, and all of them have the same illness.
    let moved: Vec<u32> = (300..307).filter(|id| before[id].illness == 0).collect();
    let mut after = before.clone();
    moved.iter().for_each(|id| after.get_mut(id).unwrap().zip += 1);
    let found = seen_in_independent(&job, &before, &after);
    assert!(found.set_of(moved[0]).len() <= moved.len());
    assert!(!found.found_sets(&rules).is_empty(), "the attack does not work at all");
    let (mut index, seen) = changed_index(&job, &before, &after);
    assert!(is_linkage(&release(&mut index, &with_keys()).unwrap_err()));
    assert!(is_linkage(&release(&mut index, &in_batches()).unwrap_err()));
    assert!(seen.found_sets(&rules).is_empty());
}

#[test]
fn a_key_that_comes_back_continues_its_signature() {
    let before = groups();
    let (_, mut index) = index(&job(K));
    insert(&mut index, &before).unwrap();
    let mut seen = Seen::default();
    seen.publish(&release(&mut index, &with_keys()).unwrap().1);
    delete(&mut index, &[31]).unwrap();
    // It comes back as it was, together with too few new ones: it is no new row.
    let mut back = group(200, 2, 5000);
    back.insert(31, before[&31]);
    insert(&mut index, &back).unwrap();
    let (report, rows) = release(&mut index, &in_batches()).unwrap();
    assert_eq!((report.waiting, rows.len()), (2, 32));
    seen.publish(&rows);
    assert_eq!(seen.set_of(31), [30, 31, 32, 33]);
    // With something else in it, it is told apart.
    delete(&mut index, &[31]).unwrap();
    insert(&mut index, &People::from([(31, Person { illness: 0, ..before[&31] })])).unwrap();
    assert!(is_linkage(&release(&mut index, &in_batches()).unwrap_err()));
}

#[test]
fn a_set_accepted_below_counts_again_only_when_it_shrinks() {
    let mut before = groups();
    before.extend(group(300, 3, 20_000));
    let (_, mut index) = index(&job(K));
    insert(&mut index, &before).unwrap();
    release(&mut index, &with_keys()).unwrap();
    insert(&mut index, &group(200, 2, 20_000)).unwrap();
    let (report, _) = release(&mut index, &accepting()).unwrap();
    assert_eq!((report.rows_below, report.smallest_set), (2, Some(2)));
    for request in [with_keys(), in_batches()] {
        let (report, rows) = release(&mut index, &request).unwrap();
        assert_eq!((report.rows_below, rows.len()), (0, 37));
    }
    delete(&mut index, &[200]).unwrap();
    assert!(is_linkage(&release(&mut index, &with_keys()).unwrap_err()));
    assert!(is_linkage(&release(&mut index, &in_batches()).unwrap_err()));
}

proptest! {
    #![proptest_config(config(30))]

    #[test]
    fn a_history_of_inserts_alone_always_passes_in_batches(
        batches in prop::collection::vec((1..9usize, 0..3u64, any::<bool>()), 1..12),
        rule in prop_oneof![Just(Rule::Nothing), Just(Rule::Distinct(2)), Just(Rule::Entropy(1.5))],
        seed in any::<u32>(),
    ) {
        let rules = Rules { k: K, rule, by_subject: false };
        let mut job = Job { least_memory: Some("64KB".parse().unwrap()), ..job(K) };
        job.column("illness").l_diversity = match rule {
            Rule::Distinct(_) => Some("distinct:2".parse().unwrap()),
            Rule::Entropy(_) => Some("entropy:1.5".parse().unwrap()),
            _ => None,
        };
        let (disk, mut index) = index(&job);
        let mut people = (0..6).map(|id| (id, Person { age: 1, zip: 2, illness: id as u8 % 3 }));
        insert(&mut index, &people.by_ref().collect()).unwrap();
        let mut seen = Seen::default();
        seen.publish(&release(&mut index, &in_batches()).unwrap().1);
        let mut next = 6u32;
        for (n_rows, _, reopens) in batches {
            let ids = next..next + n_rows as u32;
            let mixed = |id: u32| id.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 8;
            let rows: People = ids.map(|id| (id, Person {
                age: (mixed(id) % 40) as i32,
                zip: (mixed(id) / 64 % 40) as i32,
                illness: (mixed(id) / 4096 % 3) as u8,
            })).collect();
            next += n_rows as u32;
            insert(&mut index, &rows).unwrap();
            let (report, rows) = release(&mut index, &in_batches()).unwrap();
            prop_assert_eq!(rows.len() as u64 + report.waiting, u64::from(next));
            prop_assert_eq!((report.report.rows, report.report.suppressed), (rows.len() as u64, 0));
            seen.publish(&rows);
            prop_assert!(seen.found_sets(&rules).is_empty());
            if reopens {
                drop(index);
                index = Index::open_on(disk.clone()).unwrap();
            }
        }
    }
}
