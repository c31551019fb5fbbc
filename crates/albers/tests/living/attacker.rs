//! Whoever holds all releases, can link their rows, and knows whose row changed in between.

use std::collections::{BTreeMap, BTreeSet};

use super::table::*;

/// What a class, and every set of rows that cannot be told apart, must satisfy.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    pub k: u64,
    pub rule: Rule,
    /// Whether persons are counted, not rows.
    pub by_subject: bool,
}

/// What the illnesses of a class must be like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    Nothing,
    Distinct(usize),
    Entropy(f64),
    Closeness(f64),
}

impl Rules {
    /// Nothing but so many rows.
    pub fn rows(k: u64) -> Rules {
        Rules { k, rule: Rule::Nothing, by_subject: false }
    }

    /// How many there are of what is counted.
    pub fn size(&self, ids: &[u32]) -> u64 {
        match self.by_subject {
            true => ids.iter().map(|&id| subject_of(id)).collect::<BTreeSet<_>>().len() as u64,
            false => ids.len() as u64,
        }
    }

    /// Whether these rows of a release satisfy.
    pub fn hold(&self, ids: &[u32], release: &BTreeMap<u32, Published>) -> bool {
        self.size(ids) >= self.k && self.illnesses_hold(ids, release)
    }

    fn illnesses_hold(&self, ids: &[u32], release: &BTreeMap<u32, Published>) -> bool {
        const SLACK: f64 = 1e-9;
        let shares = shares(ids.iter().map(|id| &release[id]));
        match self.rule {
            Rule::Nothing => true,
            Rule::Distinct(l) => shares.len() >= l,
            Rule::Entropy(l) => {
                let entropy: f64 = shares.values().map(|share| -share * share.ln()).sum();
                entropy >= l.ln() - SLACK
            }
            Rule::Closeness(t) => {
                let all = self::shares(release.values());
                let apart = |(illness, share): (&&str, &f64)| {
                    (share - shares.get(illness).copied().unwrap_or(0.0)).abs()
                };
                all.iter().map(apart).sum::<f64>() / 2.0 <= t + SLACK
            }
        }
    }
}

fn shares<'r>(rows: impl Iterator<Item = &'r Published>) -> BTreeMap<&'r str, f64> {
    let (mut counts, mut n_rows) = (BTreeMap::new(), 0.0);
    for row in rows {
        *counts.entry(row.illness.as_str()).or_insert(0.0) += 1.0;
        n_rows += 1.0;
    }
    counts.values_mut().for_each(|count| *count /= n_rows);
    counts
}

/// The releases in which a person was, whether the row had changed since the one before, and what
/// its class showed.
pub type Signature = Vec<(usize, bool, Vec<String>)>;

/// All releases, with the keys of their rows.
#[derive(Default, Clone)]
pub struct Seen {
    pub releases: Vec<BTreeMap<u32, Published>>,
    signatures: BTreeMap<u32, Signature>,
    /// Whose rows changed since they were published last.
    changed: BTreeSet<u32>,
}

impl Seen {
    /// A published row changed.
    pub fn change(&mut self, id: u32) {
        if self.signatures.contains_key(&id) {
            self.changed.insert(id);
        }
    }

    /// The rows of just these people look otherwise than when they were published last.
    pub fn changed_are(&mut self, ids: BTreeSet<u32>) {
        self.changed = ids;
    }

    /// Whether a person was ever published.
    pub fn knows(&self, id: u32) -> bool {
        self.signatures.contains_key(&id)
    }

    /// Whether the last release shows a row of a person that had changed.
    pub fn is_changed_last(&self, id: u32) -> bool {
        let last = self.signatures[&id].last();
        last.is_some_and(|own| own.0 + 1 == self.releases.len() && own.1)
    }

    /// Another release appeared.
    pub fn publish(&mut self, rows: &[Published]) {
        let place = self.releases.len();
        let by_id: BTreeMap<u32, Published> =
            rows.iter().map(|row| (row.id.unwrap(), row.clone())).collect();
        assert_eq!(by_id.len(), rows.len(), "a row is published twice");
        for (&id, row) in &by_id {
            let is_changed = self.changed.remove(&id);
            let own = self.signatures.entry(id).or_default();
            own.push((place, is_changed, row.shown.clone()));
        }
        self.releases.push(by_id);
    }

    /// The people whom all releases together cannot tell apart, also those who are gone.
    pub fn sets(&self) -> BTreeMap<&Signature, Vec<u32>> {
        let mut sets: BTreeMap<&Signature, Vec<u32>> = BTreeMap::new();
        for (&id, signature) in &self.signatures {
            sets.entry(signature).or_default().push(id);
        }
        sets
    }

    /// The sets that do not satisfy in some release that they are in.
    pub fn found_sets(&self, rules: &Rules) -> Vec<Vec<u32>> {
        let sets = self.sets().into_iter();
        let is_found = |signature: &Signature, ids: &[u32]| {
            signature.iter().any(|(place, ..)| !rules.hold(ids, &self.releases[*place]))
        };
        sets.filter(|(own, ids)| is_found(own, ids)).map(|(_, ids)| ids).collect()
    }

    /// Everybody who cannot be told apart from a person.
    pub fn set_of(&self, id: u32) -> Vec<u32> {
        self.sets().remove(&self.signatures[&id]).unwrap()
    }
}

/// The classes of a release that do not satisfy.
pub fn bad_classes(rules: &Rules, rows: &[Published]) -> usize {
    let mut alone = Seen::default();
    alone.publish(rows);
    alone.found_sets(rules).len()
}
