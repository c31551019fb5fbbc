//! Reading a ledger from its pieces, with every check that later work relies on.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

use super::{Head, VERSION};
use crate::dead::{Dead, DeadMembers};
use crate::error::LedgerError;
use crate::facts::{KeptFacts, Needs};
use crate::ledger::Ledger;
use crate::past::Past;
use crate::piece_key::PieceKey;
use crate::recoding::Recoding;
use crate::release::Recorded;
use crate::signatures::{CHANGED, GONE, NEW, Node, Signatures};
use crate::unsaved::{CHUNK, Unsaved};

type Stored<B> = BTreeMap<PieceKey, B>;

impl Ledger {
    /// Reads a ledger from its pieces, in any order.
    ///
    /// # Errors
    /// When a piece is missing, damaged or of a newer version.
    pub fn from_pieces<B: AsRef<[u8]>>(
        pieces: impl IntoIterator<Item = (PieceKey, B)>,
    ) -> Result<Self, LedgerError> {
        let mut stored: Stored<B> = pieces.into_iter().collect();
        let head = read_head(&stored)?;
        let set_of = read_rows(&mut stored, &head)?;
        let signatures = read_signatures(&mut stored, &head)?;
        let releases = read_releases(&stored, &head)?;
        check_releases(&signatures, &releases)?;
        let n_changes = count_changes(&signatures);
        let n_living = count_living(&set_of, head.n_sets);
        let past = read_past(&stored, head.needs, &set_of, &n_changes)?;
        let dead = read_dead(&stored, &head, &signatures, &n_changes)?;
        let below = read_below(&stored, &head, &signatures)?;
        let unsaved = Unsaved::none(set_of.len());
        let recodings = read_recodings(&stored, &head)?;
        let needs = head.needs;
        Ok(Self {
            needs,
            recodings,
            signatures,
            set_of,
            n_living,
            past,
            dead,
            below,
            releases,
            unsaved,
        })
    }
}

fn damaged(piece: PieceKey, problem: &'static str) -> LedgerError {
    LedgerError::Damaged { piece, problem }
}

fn decode<'a, T: Deserialize<'a>>(piece: PieceKey, bytes: &'a [u8]) -> Result<T, LedgerError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok(_) => Err(damaged(piece, "it is too long")),
        Err(_) => Err(damaged(piece, "it cannot be read")),
    }
}

fn get<B: AsRef<[u8]>>(stored: &Stored<B>, key: PieceKey) -> Result<&[u8], LedgerError> {
    stored.get(&key).map(AsRef::as_ref).ok_or(damaged(key, "it is missing"))
}

fn read_head<B: AsRef<[u8]>>(stored: &Stored<B>) -> Result<Head, LedgerError> {
    let bytes = get(stored, PieceKey::Head)?;
    let Some((version, rest)) = bytes.split_first_chunk::<4>() else {
        return Err(damaged(PieceKey::Head, "it is too short"));
    };
    let found = u32::from_le_bytes(*version);
    if found != VERSION {
        return Err(LedgerError::Version { found, known: VERSION });
    }
    let head: Head = decode(PieceKey::Head, rest)?;
    let needs = head.needs;
    if !needs.facts && (needs.subjects || needs.wholes || needs.n_sensitive > 0) {
        return Err(damaged(PieceKey::Head, "it needs facts and keeps none"));
    }
    Ok(head)
}

/// What the words of all pieces of one kind say, so many in all, a piece of `CHUNK`. A piece is given
/// up when it is read, so that no two copies of all of them are in memory.
fn read_words<B: AsRef<[u8]>, T, const WORDS: usize>(
    stored: &mut Stored<B>,
    key_of: fn(u32) -> PieceKey,
    n_items: u32,
    item: fn([u32; WORDS]) -> T,
) -> Result<Vec<T>, LedgerError> {
    let mut items = Vec::new();
    for chunk in 0..n_items.div_ceil(CHUNK) {
        let n_own = (n_items - chunk * CHUNK).min(CHUNK) as usize;
        let bytes = stored.remove(&key_of(chunk));
        let bytes = bytes.as_ref().map(AsRef::as_ref);
        let bytes = bytes.ok_or(damaged(key_of(chunk), "it is missing"))?;
        let (words, rest) = bytes.as_chunks::<4>();
        let (own, odd) = words.as_chunks::<WORDS>();
        if own.len() != n_own || !odd.is_empty() || !rest.is_empty() {
            return Err(damaged(key_of(chunk), "it has another length than the head says"));
        }
        items.extend(own.iter().map(|words| item(words.map(u32::from_le_bytes))));
    }
    Ok(items)
}

fn read_rows<B: AsRef<[u8]>>(
    stored: &mut Stored<B>,
    head: &Head,
) -> Result<Vec<u32>, LedgerError> {
    let set_of = read_words(stored, PieceKey::Rows, head.n_rows, |[set]| set)?;
    let wrong = set_of.iter().position(|&set| set >= head.n_sets && set != GONE);
    match wrong {
        None => Ok(set_of),
        Some(row) => {
            let piece = PieceKey::Rows(row as u32 / CHUNK);
            Err(damaged(piece, "a row is in a set that is not there"))
        }
    }
}

fn read_signatures<B: AsRef<[u8]>>(
    stored: &mut Stored<B>,
    head: &Head,
) -> Result<Signatures, LedgerError> {
    let node = |[parent, class]: [u32; 2]| Node { parent, class };
    let nodes = read_words(stored, PieceKey::Sets, head.n_sets, node)?;
    Signatures::from_nodes(nodes).map_err(|problem| damaged(PieceKey::Sets(0), problem))
}

fn read_releases<B: AsRef<[u8]>>(
    stored: &Stored<B>,
    head: &Head,
) -> Result<Vec<Recorded>, LedgerError> {
    let mut releases = Vec::new();
    for release_idx in 0..head.n_releases {
        let key = PieceKey::Release(release_idx);
        let recorded: Recorded = decode(key, get(stored, key)?)?;
        let is_sound = match &recorded.whole {
            Some(whole) => head.needs.wholes && whole.is_sound(head.needs.n_sensitive),
            None => !head.needs.wholes,
        };
        if !is_sound {
            return Err(damaged(key, "its distribution contradicts itself"));
        }
        releases.push(recorded);
    }
    Ok(releases)
}

/// Every class lies in the sets of its release, which come from sets before it.
fn check_releases(signatures: &Signatures, releases: &[Recorded]) -> Result<(), LedgerError> {
    let nodes = signatures.nodes();
    let is_change = |node: &Node| node.class == CHANGED;
    let mut checked = 1;
    for (release_idx, recorded) in releases.iter().enumerate() {
        let key = PieceKey::Release(release_idx as u32);
        let first = recorded.first_set as usize;
        let end = first.saturating_add(recorded.n_sets as usize);
        let (Some(between), Some(own)) = (nodes.get(checked..first), nodes.get(first..end)) else {
            return Err(damaged(key, "its sets are not there"));
        };
        let fits =
            |node: &Node| node.class < recorded.release.n_classes && (node.parent as usize) < first;
        if !between.iter().all(is_change) || !own.iter().all(fits) {
            return Err(damaged(key, "its sets contradict its classes"));
        }
        checked = end;
    }
    if nodes[checked..].iter().all(is_change) {
        Ok(())
    } else {
        Err(damaged(PieceKey::Head, "a class is of no release"))
    }
}

/// By set: changes in its signature.
fn count_changes(signatures: &Signatures) -> Vec<u32> {
    let mut n_changes: Vec<u32> = Vec::with_capacity(signatures.nodes().len());
    for node in signatures.nodes() {
        let before = n_changes.get(node.parent as usize).copied().unwrap_or(0);
        n_changes.push(before + u32::from(node.class == CHANGED));
    }
    n_changes
}

fn count_living(set_of: &[u32], n_sets: u32) -> Vec<u32> {
    let mut n_living = vec![0_u32; n_sets as usize];
    for &set in set_of {
        if set != GONE && set != NEW {
            n_living[set as usize] += 1;
        }
    }
    n_living
}

fn read_past<B: AsRef<[u8]>>(
    stored: &Stored<B>,
    needs: Needs,
    set_of: &[u32],
    n_changes: &[u32],
) -> Result<Past, LedgerError> {
    let mut eras_of = FxHashMap::default();
    for (&key, bytes) in stored.range(PieceKey::Past(0)..=PieceKey::Past(u32::MAX)) {
        let rows: Vec<(u32, Vec<KeptFacts>)> = decode(key, bytes.as_ref())?;
        for (row, eras) in rows {
            let set = set_of.get(row as usize).copied().unwrap_or(GONE);
            let n_eras = n_changes.get(set as usize).map_or(0, |&n| n as usize);
            let fits = |facts: &KeptFacts| facts.codes.len() == needs.n_sensitive as usize;
            let is_right = key == PieceKey::Past(row / CHUNK) && needs.facts && n_eras > 0;
            if !is_right || eras.len() != n_eras || !eras.iter().all(fits) {
                return Err(damaged(key, "a row has values that it cannot have had"));
            }
            eras_of.insert(row, eras);
        }
    }
    let changes_of = |set: u32| n_changes.get(set as usize).copied().unwrap_or(0);
    let n_expected = set_of.iter().filter(|&&set| changes_of(set) > 0).count();
    if needs.facts && n_expected != eras_of.len() {
        return Err(damaged(PieceKey::Past(0), "rows lack values that they had"));
    }
    Ok(Past { eras_of })
}

fn read_dead<B: AsRef<[u8]>>(
    stored: &Stored<B>,
    head: &Head,
    signatures: &Signatures,
    n_changes: &[u32],
) -> Result<Dead, LedgerError> {
    let needs = head.needs;
    let mut n_rows = 0;
    let mut of_set = FxHashMap::default();
    for (&key, bytes) in stored.range(PieceKey::Dead(0)..=PieceKey::Dead(u32::MAX)) {
        let sets: Vec<(u32, DeadMembers)> = decode(key, bytes.as_ref())?;
        for (set, members) in sets {
            let is_known = set != NEW && set < signatures.n_sets();
            if !is_known || key != PieceKey::Dead(set / CHUNK) {
                return Err(damaged(key, "rows were deleted from a set that is not there"));
            }
            let n_shown =
                n_changes[set as usize] as usize + usize::from(!signatures.is_changed(set));
            let n_eras = if needs.facts { n_shown } else { 0 };
            if !members.is_sound(n_eras, needs.n_sensitive as usize) {
                return Err(damaged(key, "deleted rows are not counted in each era"));
            }
            n_rows += members.n_rows;
            if of_set.insert(set, members).is_some() {
                return Err(damaged(key, "a set is there twice"));
            }
        }
    }
    if n_rows != head.n_dead {
        return Err(damaged(PieceKey::Dead(0), "deleted rows are missing"));
    }
    Ok(Dead { n_rows, of_set })
}

fn read_recodings<B: AsRef<[u8]>>(
    stored: &Stored<B>,
    head: &Head,
) -> Result<Vec<Recoding>, LedgerError> {
    let mut recodings = Vec::new();
    for recoding_idx in 0..head.n_recodings {
        let key = PieceKey::Recoding(recoding_idx);
        let recoding: Recoding = decode(key, get(stored, key)?)?;
        if !recoding.is_sound(head.needs.n_sensitive) {
            return Err(damaged(key, "it does not fit the columns"));
        }
        recodings.push(recoding);
    }
    Ok(recodings)
}

fn read_below<B: AsRef<[u8]>>(
    stored: &Stored<B>,
    head: &Head,
    signatures: &Signatures,
) -> Result<FxHashSet<u32>, LedgerError> {
    if head.n_below == 0 {
        return Ok(FxHashSet::default());
    }
    let below: Vec<u32> = decode(PieceKey::Below, get(stored, PieceKey::Below)?)?;
    let is_shown =
        |&set: &u32| set != NEW && set < signatures.n_sets() && !signatures.is_changed(set);
    let below: FxHashSet<u32> = below.into_iter().filter(is_shown).collect();
    if below.len() != head.n_below as usize {
        return Err(damaged(PieceKey::Below, "a set is not there"));
    }
    Ok(below)
}
