//! A table whose people's histories are kept in full, and what they tell by brute force.

use std::collections::{BTreeMap, BTreeSet};

use albers_ledger::{DeadRow, Ledger, LedgerError, Needs, NewRelease, PieceKey, RowFacts, Verdict};
use albers_privacy::{ClassSummary, Criterion, GroundDistance, Requirement, SensitiveColumn};

pub const N_CODES: u32 = 4;

#[derive(Debug, Clone, Copy)]
pub enum Step {
    Insert {
        subject: u64,
        code: u32,
    },
    Delete {
        person: u8,
    },
    Revive {
        person: u8,
        anew: bool,
        subject: u64,
        code: u32,
    },
    /// With `other` the code is another one; with `touched` another published column changed.
    Update {
        person: u8,
        other: bool,
        touched: bool,
        code: u32,
    },
    Recode,
    Release {
        mode: Mode,
        accepts: bool,
    },
}

#[derive(Debug, Clone, Copy)]
pub enum Mode {
    /// Classes at random; some rows wait.
    Anew { n_classes: u8, n_waiting_of_8: u8, salt: u64 },
    /// Unions of whole sets, and new rows in a class of their own or waiting.
    Batch { salt: u64, new_wait: bool },
}

type Values = (u64, u32);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Class(usize, u32),
    Changed,
}

#[derive(Clone)]
struct Person {
    history: Vec<Event>,
    /// The values in each release that published the person.
    shown: BTreeMap<usize, Values>,
    values: Values,
    has_changed: bool,
    state: State,
}

#[derive(Clone)]
enum State {
    Living(u32),
    Dead(Option<DeadRow>),
}

#[derive(Clone, Default)]
pub struct Seen {
    pub n_held: u64,
    pub n_refused: u64,
    pub n_accepted: u64,
    pub n_inherited: u64,
    pub n_eras: u64,
    pub n_revived: u64,
}

impl Seen {
    pub fn add(&mut self, other: &Seen) {
        self.n_held += other.n_held;
        self.n_refused += other.n_refused;
        self.n_accepted += other.n_accepted;
        self.n_inherited += other.n_inherited;
        self.n_eras += other.n_eras;
        self.n_revived += other.n_revived;
    }
}

/// A set by brute force: its signature, and whether it is below and accepted.
type Sets = BTreeMap<BTreeSet<usize>, (Vec<Event>, bool)>;

pub struct Model {
    requirement: Requirement,
    ledger: Ledger,
    store: BTreeMap<PieceKey, Vec<u8>>,
    people: Vec<Person>,
    next_row: u32,
    wholes: Vec<Option<Vec<Values>>>,
    sets: Sets,
    pub seen: Seen,
}

pub fn requirements() -> Vec<Requirement> {
    let column = || SensitiveColumn {
        name: "disease".into(),
        n_values: N_CODES,
        distance: GroundDistance::Equal,
        numbers: None,
    };
    let build = |k, subjects, rules: Vec<Criterion>| {
        let rules = rules.into_iter().map(|rule| (0, rule)).collect();
        Requirement::new(k, subjects, vec![column()], rules).unwrap()
    };
    let distinct = Criterion::DistinctLDiversity { l: 2 };
    let entropy = Criterion::EntropyLDiversity { l: 1.8 };
    let closeness = Criterion::TCloseness { t: 0.4 };
    vec![
        build(2, false, vec![]),
        build(3, false, vec![]),
        build(2, true, vec![]),
        build(1, false, vec![distinct]),
        build(2, true, vec![distinct]),
        build(2, false, vec![entropy]),
        build(2, true, vec![entropy]),
        build(1, false, vec![closeness]),
        build(2, true, vec![closeness, distinct]),
    ]
}

impl Model {
    pub fn new(requirement: Requirement) -> Self {
        let ledger = Ledger::new(Needs::of(&requirement));
        Self {
            requirement,
            ledger,
            store: BTreeMap::new(),
            people: Vec::new(),
            next_row: 3,
            wholes: Vec::new(),
            sets: BTreeMap::new(),
            seen: Seen::default(),
        }
    }

    pub fn apply(&mut self, step: Step) {
        match step {
            Step::Insert { subject, code } => {
                let state = State::Living(self.new_row());
                let (history, shown) = (Vec::new(), BTreeMap::new());
                let values = (subject, code);
                self.people.push(Person { history, shown, values, has_changed: false, state });
            }
            Step::Delete { person } => self.delete(person),
            Step::Revive { person, anew, subject, code } => {
                self.revive(person, anew, (subject, code));
            }
            Step::Update { person, other, touched, code } => {
                self.update(person, other, touched, code);
            }
            Step::Recode => self.recode(),
            Step::Release { mode, accepts } => self.release(mode, accepts),
        }
    }

    /// Compares the ledger with the histories, and with what was stored and read back.
    pub fn check(&mut self) {
        for piece in self.ledger.take_changed_pieces() {
            match piece.bytes {
                Some(bytes) => self.store.insert(piece.key, bytes),
                None => self.store.remove(&piece.key),
            };
        }
        assert!(self.ledger.take_changed_pieces().is_empty(), "what is stored is stored");
        let stored = self.store.iter().map(|(&key, bytes)| (key, bytes));
        let read = Ledger::from_pieces(stored).unwrap();
        let all: BTreeMap<_, _> =
            self.ledger.pieces().into_iter().map(|p| (p.key, p.bytes.unwrap())).collect();
        assert!(all == self.store, "changed pieces are all that changed");
        self.ledger = read;
        self.check_sets();
    }

    /// Rows are in one set exactly when their signatures are equal, and sets count their members.
    fn check_sets(&self) {
        let mut set_of = BTreeMap::new();
        let mut counts = BTreeMap::new();
        for person in &self.people {
            let mut signature = person.history.clone();
            if person.has_changed && !signature.is_empty() {
                signature.push(Event::Changed);
            }
            let set = match &person.state {
                State::Living(row) => self.ledger.set_of(*row).unwrap(),
                State::Dead(Some(dead)) => dead.set(),
                State::Dead(None) => continue,
            };
            assert_eq!(*set_of.entry(signature).or_insert(set), set, "one signature, one set");
            if !person.history.is_empty() {
                let count = counts.entry(set).or_insert((0, 0));
                match person.state {
                    State::Living(_) => count.0 += 1,
                    State::Dead(_) => count.1 += 1,
                }
            }
        }
        let sets: BTreeSet<_> = set_of.values().collect();
        assert_eq!(sets.len(), set_of.len(), "one set, one signature");
        let current = self.ledger.current_sets().map(|set| (set.id, (set.n_living, set.n_dead)));
        assert_eq!(current.collect::<BTreeMap<_, _>>(), counts);
    }

    fn new_row(&mut self) -> u32 {
        // Some numbers are left out, so that rows end up in several pieces.
        self.next_row += if self.next_row.is_multiple_of(7) { 1500 } else { 1 };
        self.next_row
    }

    fn pick(&self, person: u8, is_right: impl Fn(&Person) -> bool) -> Option<usize> {
        let right: Vec<usize> =
            (0..self.people.len()).filter(|&i| is_right(&self.people[i])).collect();
        (!right.is_empty()).then(|| right[person as usize % right.len()])
    }

    fn delete(&mut self, person: u8) {
        let Some(idx) = self.pick(person, |p| matches!(p.state, State::Living(_))) else { return };
        let person = &mut self.people[idx];
        let State::Living(row) = person.state else { unreachable!() };
        let codes = [person.values.1];
        let was = RowFacts { subject: person.values.0, codes: &codes };
        let dead = self.ledger.delete(row, was).unwrap();
        assert_eq!(dead.is_some(), !person.history.is_empty(), "only the published leave a trace");
        if dead.is_some() {
            assert_eq!(self.ledger.delete(row, was), Err(LedgerError::UnknownRow { row }));
        }
        person.state = State::Dead(dead.map(|d| DeadRow::from_bytes(&d.to_bytes()).unwrap()));
    }

    fn revive(&mut self, person: u8, anew: bool, values: Values) {
        let is_dead = |p: &Person| matches!(p.state, State::Dead(Some(_)));
        let Some(idx) = self.pick(person, is_dead) else { return };
        let new_row = self.new_row();
        let person = &mut self.people[idx];
        let State::Dead(Some(dead)) = person.state.clone() else { unreachable!() };
        let values = if anew { values } else { person.values };
        let changed = values != person.values;
        self.ledger.revive(dead, new_row, changed).unwrap();
        person.values = values;
        person.has_changed |= changed;
        person.state = State::Living(new_row);
        self.seen.n_revived += 1;
    }

    fn update(&mut self, person: u8, other: bool, touched: bool, code: u32) {
        let Some(idx) = self.pick(person, |p| matches!(p.state, State::Living(_))) else { return };
        let new_row = self.new_row();
        let person = &mut self.people[idx];
        let State::Living(row) = person.state else { unreachable!() };
        let codes = [person.values.1];
        let was = RowFacts { subject: person.values.0, codes: &codes };
        let code = if other { code } else { person.values.1 };
        let changed = touched || code != person.values.1;
        self.ledger.replace(row, new_row, changed, was).unwrap();
        person.values.1 = code;
        person.has_changed |= changed && !person.history.is_empty();
        person.state = State::Living(new_row);
    }

    fn recode(&mut self) {
        let code_of = |_: usize, code: u32| (code + 1) % N_CODES;
        self.ledger.recode(&[N_CODES], &code_of).unwrap();
        for person in &mut self.people {
            person.values.1 = code_of(0, person.values.1);
            person.shown.values_mut().for_each(|values| values.1 = code_of(0, values.1));
        }
        let wholes = self.wholes.iter_mut().flatten().flatten();
        wholes.for_each(|values| values.1 = code_of(0, values.1));
    }

    /// The class of each living person, by position.
    fn classes(&self, mode: Mode) -> BTreeMap<u32, Vec<usize>> {
        let mut classes: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (idx, person) in self.people.iter().enumerate() {
            let State::Living(row) = person.state else { continue };
            let class = match mode {
                Mode::Anew { n_classes, n_waiting_of_8, salt } => {
                    let hash = mix(salt, idx as u64);
                    let waits = hash % 8 < u64::from(n_waiting_of_8);
                    (!waits).then_some((hash >> 8) as u32 % u32::from(n_classes))
                }
                Mode::Batch { new_wait, .. } if self.ledger.is_new(row) => (!new_wait).then_some(9),
                Mode::Batch { salt, .. } => {
                    let set = self.ledger.set_of(row).unwrap();
                    Some(mix(salt, u64::from(set.0)) as u32 % 3)
                }
            };
            if let Some(class) = class {
                classes.entry(class).or_default().push(idx);
            }
        }
        classes
    }

    fn release(&mut self, mode: Mode, accepts: bool) {
        let classes = self.classes(mode);
        let published: Vec<Values> =
            classes.values().flatten().map(|&idx| self.people[idx].values).collect();
        if published.is_empty() {
            return;
        }
        let before: Vec<_> = self.ledger.pieces();
        let (after, whole) = (self.published(&classes), self.summary(&published));
        self.wholes.push(Some(published));
        let (expected, sets) = self.brute_force(&after);
        let waiting: Vec<usize> = (0..self.people.len())
            .filter(|idx| !classes.values().flatten().any(|other| other == idx))
            .collect();
        let release = NewRelease::new(self.ledger.n_releases().to_string(), 2, "k = 2");
        let mut opened = self.ledger.open(release, &self.requirement, Some(&whole)).unwrap();
        for (class, members) in classes.values().enumerate() {
            for &idx in members {
                let (row, codes) = row_of(&self.people[idx]);
                let facts = RowFacts { subject: self.people[idx].values.0, codes: &codes };
                opened.add(row, facts).unwrap();
                assert_eq!(opened.add(row, facts), Err(LedgerError::RowTwice { row }), "{class}");
            }
            opened.end_class().unwrap();
        }
        for idx in waiting {
            if matches!(self.people[idx].state, State::Living(_)) {
                let (row, codes) = row_of(&self.people[idx]);
                let facts = RowFacts { subject: self.people[idx].values.0, codes: &codes };
                opened.waiting(row, facts).unwrap();
            }
        }
        let tested = opened.finish().unwrap();
        assert_eq!(tested.verdict(), expected);
        if let Err(error) = tested.keep(accepts) {
            let Verdict { sets_below: n_sets, rows_below: n_rows, .. } = expected;
            assert_eq!(error, LedgerError::Linkage { n_sets, n_rows });
            assert!(self.ledger.pieces() == before, "a refused release leaves no trace");
            self.wholes.pop();
            self.seen.n_refused += 1;
            return;
        }
        assert!(accepts || expected.holds());
        self.seen.n_held += u64::from(expected.holds() && self.wholes.len() > 1);
        self.seen.n_accepted += u64::from(!expected.holds());
        self.people = after;
        self.sets = sets;
    }

    /// The people after a release of these classes.
    fn published(&self, classes: &BTreeMap<u32, Vec<usize>>) -> Vec<Person> {
        let mut people = self.people.clone();
        let release = self.wholes.len();
        for (class, members) in classes.values().enumerate() {
            for &idx in members {
                let person = &mut people[idx];
                if std::mem::take(&mut person.has_changed) && !person.history.is_empty() {
                    person.history.push(Event::Changed);
                }
                person.history.push(Event::Class(release, class as u32));
                person.shown.insert(release, person.values);
            }
        }
        people
    }

    fn summary(&self, rows: &[Values]) -> ClassSummary {
        let mut summary = ClassSummary::new(self.requirement.shape());
        rows.iter().for_each(|&(subject, code)| summary.add(subject, &[code]));
        summary
    }

    /// What the newest release reveals, from full signatures, and all sets.
    fn brute_force(&mut self, people: &[Person]) -> (Verdict, Sets) {
        let mut by_signature: BTreeMap<Vec<Event>, BTreeSet<usize>> = BTreeMap::new();
        for (idx, person) in people.iter().enumerate() {
            if !person.history.is_empty() {
                by_signature.entry(person.history.clone()).or_default().insert(idx);
            }
        }
        let mut verdict = Verdict::default();
        let mut sets = Sets::new();
        for (signature, members) in by_signature {
            let is_below = !self.holds(people, &signature, &members);
            let n_new = match self.sets.get(&members) {
                Some((before, was_below)) => {
                    assert_eq!(&signature[..before.len()], before);
                    let added = &signature[before.len()..];
                    assert!(is_below || !was_below, "what is below stays so");
                    match added {
                        [] => {
                            assert_eq!(
                                is_below, *was_below,
                                "what nothing happened to is as it was"
                            );
                            0
                        }
                        [Event::Class(..)] => usize::from(!was_below),
                        _ => 2,
                    }
                }
                None => 1,
            };
            let is_again = n_new == 0 && self.sets[&members].0 != signature;
            self.seen.n_inherited += u64::from(is_again);
            self.seen.n_eras += u64::from(signature.contains(&Event::Changed));
            if n_new > 0 {
                let size = self.size(people, &signature, &members);
                let least = verdict.smallest_set.map_or(size, |least| least.min(size));
                verdict.smallest_set = Some(least);
                verdict.sets_below += u64::from(is_below);
                verdict.rows_below += if is_below { members.len() as u64 } else { 0 };
            }
            sets.insert(members, (signature, is_below));
        }
        (verdict, sets)
    }

    fn holds(&self, people: &[Person], signature: &[Event], members: &BTreeSet<usize>) -> bool {
        releases_of(signature).all(|release| {
            let mut requirement = self.requirement.clone();
            requirement.bind(&self.summary(self.wholes[release].as_ref().unwrap()));
            let rows: Vec<Values> = members.iter().map(|&i| people[i].shown[&release]).collect();
            requirement.holds(&self.summary(&rows))
        })
    }

    fn size(&self, people: &[Person], signature: &[Event], members: &BTreeSet<usize>) -> u64 {
        let last = releases_of(signature).last().unwrap();
        let rows: Vec<Values> = members.iter().map(|&i| people[i].shown[&last]).collect();
        self.summary(&rows).n_subjects()
    }
}

fn releases_of(signature: &[Event]) -> impl Iterator<Item = usize> {
    signature.iter().filter_map(|event| match event {
        Event::Class(release, _) => Some(*release),
        Event::Changed => None,
    })
}

fn row_of(person: &Person) -> (u32, [u32; 1]) {
    let State::Living(row) = person.state else { panic!("only the living have rows") };
    (row, [person.values.1])
}

fn mix(salt: u64, value: u64) -> u64 {
    let x = (salt ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x ^ (x >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 20
}
