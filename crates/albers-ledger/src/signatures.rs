//! The signatures of rows, interned as a tree.
//!
//! ```text
//! 0 never published
//! +-- 1 class 0 of release 0
//! |   +-- 3 class 0 of release 1
//! |   +-- 4 changed
//! |       +-- 5 class 1 of release 1
//! +-- 2 class 1 of release 0
//! ```
//!
//! Guarantee: a signature has one number, and a number one signature, for ever.
//! Cost: 8 bytes for each set that ever was.

use rustc_hash::FxHashMap;

use crate::error::LedgerError;
use crate::release::Recorded;

/// The number of a signature, and of the set of all rows that have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetId(
    /// The number.
    pub u32,
);

impl SetId {
    /// The signature of rows that were never published, which is no set and is never tested.
    pub const NEW: SetId = SetId(NEW);
}

pub(crate) const NEW: u32 = 0;
/// In the place of a row's set: the number is not that of a living row.
pub(crate) const GONE: u32 = u32::MAX;
/// In the place of a class: a published column was updated.
pub(crate) const CHANGED: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node {
    pub parent: u32,
    pub class: u32,
}

pub(crate) struct Signatures {
    /// The first is that of new rows, its own parent.
    nodes: Vec<Node>,
    changed_of: FxHashMap<u32, u32>,
}

impl Signatures {
    pub fn new() -> Self {
        let root = Node { parent: NEW, class: 0 };
        Self { nodes: vec![root], changed_of: FxHashMap::default() }
    }

    /// Takes stored nodes up; says what is wrong with them.
    pub fn from_nodes(nodes: Vec<Node>) -> Result<Self, &'static str> {
        let mut changed_of = FxHashMap::default();
        if nodes.first() != Some(&Node { parent: NEW, class: 0 }) {
            return Err("its first set is not that of new rows");
        }
        for (id, node) in nodes.iter().enumerate().skip(1) {
            if node.parent as usize >= id {
                return Err("a set comes before the one that it was taken from");
            }
            if node.class == CHANGED {
                let twice = nodes[node.parent as usize].class == CHANGED;
                let is_new = changed_of.insert(node.parent, id as u32).is_none();
                if node.parent == NEW || twice || !is_new {
                    return Err("a change follows what cannot change");
                }
            }
        }
        Ok(Self { nodes, changed_of })
    }

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub fn n_sets(&self) -> u32 {
        self.nodes.len() as u32
    }

    pub fn parent(&self, set: u32) -> u32 {
        self.nodes[set as usize].parent
    }

    pub fn push(&mut self, parent: u32, class: u32) -> Result<u32, LedgerError> {
        let id = u32::try_from(self.nodes.len()).map_err(|_| LedgerError::Full)?;
        if id == GONE {
            return Err(LedgerError::Full);
        }
        self.nodes.push(Node { parent, class });
        Ok(id)
    }

    /// Forgets the newest sets, none of which is a change.
    pub fn truncate(&mut self, n_sets: u32) {
        self.nodes.truncate(n_sets as usize);
    }

    pub fn is_changed(&self, set: u32) -> bool {
        set != NEW && self.nodes[set as usize].class == CHANGED
    }

    /// The set of those members of a set that changed since; with whether it is new.
    pub fn changed(&mut self, set: u32) -> Result<(u32, bool), LedgerError> {
        if set == NEW || self.is_changed(set) {
            return Ok((set, false));
        }
        if let Some(&known) = self.changed_of.get(&set) {
            return Ok((known, false));
        }
        let id = self.push(set, CHANGED)?;
        self.changed_of.insert(set, id);
        Ok((id, true))
    }

    /// The members of a set that changed since, if ever any did.
    pub fn changed_of(&self, set: u32) -> Option<u32> {
        self.changed_of.get(&set).copied()
    }

    /// What others can tell: a change shows only in the next release that has the row.
    pub fn visible(&self, set: u32) -> u32 {
        if self.is_changed(set) { self.parent(set) } else { set }
    }

    /// The releases that a visible set is in, era by era, oldest first.
    pub fn eras(&self, set: u32, releases: &[Recorded]) -> Vec<Vec<u32>> {
        let mut eras = Vec::new();
        let mut era = Vec::new();
        let mut at = set;
        while at != NEW {
            let node = self.nodes[at as usize];
            if node.class == CHANGED {
                eras.push(std::mem::take(&mut era));
            } else {
                era.push(release_of(at, releases));
            }
            at = node.parent;
        }
        if set != NEW {
            eras.push(era);
        }
        eras.iter_mut().for_each(|era| era.reverse());
        eras.reverse();
        eras
    }
}

/// The release that made a class's set.
pub(crate) fn release_of(set: u32, releases: &[Recorded]) -> u32 {
    (releases.partition_point(|release| release.first_set <= set) - 1) as u32
}
