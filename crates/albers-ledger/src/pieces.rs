//! The ledger as pieces of bytes that are stored one by one.
//!
//! ```text
//! head        version u32 | needs, recodings, numbers of all that follows
//! rows n      65,520 x set u32            sets n    65,520 x (parent u32, class u32)
//! past n      (row, its earlier facts)    dead n    (set, deleted members)    of 65,520 rows or sets
//! release n   what is recorded of it      below     sets that were accepted below
//! recoding n  what became of codes
//! ```
//!
//! Guarantee: a release appends its own sets and its record, and rewrites the rows that it
//! publishes; an update rewrites a few pieces. Bytes that are no ledger are refused: nothing panics
//! on them, and no more memory is asked for than they are long.
//! Cost: numbers are little-endian, the rest is in the postcard format.

mod load;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::facts::Needs;
use crate::ledger::Ledger;
use crate::piece_key::PieceKey;
use crate::unsaved::{CHUNK, Unsaved};

/// The version of the format.
const VERSION: u32 = 1;

/// A piece to be stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Piece {
    /// Which one.
    pub key: PieceKey,
    /// Its bytes; `None` when there is nothing to store and what was stored must go.
    pub bytes: Option<Vec<u8>>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    needs: Needs,
    n_recodings: u32,
    n_rows: u32,
    n_sets: u32,
    n_releases: u32,
    n_dead: u64,
    n_below: u32,
}

/// Shows the key and the length, no values.
impl fmt::Debug for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_bytes = self.bytes.as_ref().map(Vec::len);
        f.debug_struct("Piece").field("key", &self.key).field("n_bytes", &n_bytes).finish()
    }
}

impl Ledger {
    /// All pieces of the ledger, to be stored where nothing is yet.
    pub fn pieces(&self) -> Vec<Piece> {
        let mut pieces = self.pieces_of(&Unsaved::all());
        pieces.retain(|piece| piece.bytes.is_some());
        pieces
    }

    /// The pieces that differ from those taken before, or from those that the ledger was read from.
    /// They belong together: store all or, if that fails, read the ledger anew.
    pub fn take_changed_pieces(&mut self) -> Vec<Piece> {
        let unsaved = std::mem::replace(&mut self.unsaved, Unsaved::none(self.set_of.len()));
        if unsaved.is_empty() { Vec::new() } else { self.pieces_of(&unsaved) }
    }

    fn pieces_of(&self, unsaved: &Unsaved) -> Vec<Piece> {
        let mut pieces = vec![Piece { key: PieceKey::Head, bytes: Some(self.head_bytes()) }];
        let chunks = |n: usize| 0..n.div_ceil(CHUNK as usize) as u32;
        let n_sets = self.signatures.nodes().len();
        let mut push = |key, bytes: Option<Vec<u8>>| pieces.push(Piece { key, bytes });
        for chunk in chunks(self.set_of.len()) {
            if unsaved.all || unsaved.rows.get(chunk as usize) != Some(&false) {
                push(PieceKey::Rows(chunk), Some(self.rows_bytes(chunk)));
            }
        }
        if let Some(first_set) = if unsaved.all { Some(0) } else { unsaved.first_set } {
            for chunk in first_set / CHUNK..chunks(n_sets).end {
                push(PieceKey::Sets(chunk), Some(self.sets_bytes(chunk)));
            }
        }
        let all_past = unsaved.all.then(|| chunks(self.set_of.len())).into_iter().flatten();
        for chunk in all_past.chain(unsaved.past.iter().copied()) {
            push(PieceKey::Past(chunk), self.past_bytes(chunk));
        }
        let all_dead = unsaved.all.then(|| chunks(n_sets)).into_iter().flatten();
        for chunk in all_dead.chain(unsaved.dead.iter().copied()) {
            push(PieceKey::Dead(chunk), self.dead_bytes(chunk));
        }
        if let Some(first) = if unsaved.all { Some(0) } else { unsaved.first_release } {
            for (release_idx, recorded) in self.releases.iter().enumerate().skip(first as usize) {
                push(PieceKey::Release(release_idx as u32), Some(encode(recorded)));
            }
            push(PieceKey::Below, self.below_bytes());
        }
        // A recoding rewrites everything.
        let recodings = self.recodings.iter().enumerate().filter(|_| unsaved.all);
        for (recoding_idx, recoding) in recodings {
            push(PieceKey::Recoding(recoding_idx as u32), Some(encode(recoding)));
        }
        pieces
    }

    fn head_bytes(&self) -> Vec<u8> {
        let head = Head {
            needs: self.needs,
            n_recodings: self.recodings.len() as u32,
            n_rows: self.set_of.len() as u32,
            n_sets: self.signatures.n_sets(),
            n_releases: self.releases.len() as u32,
            n_dead: self.dead.n_rows,
            n_below: self.below.len() as u32,
        };
        let mut bytes = VERSION.to_le_bytes().to_vec();
        bytes.extend(encode(&head));
        bytes
    }

    fn rows_bytes(&self, chunk: u32) -> Vec<u8> {
        let rows = chunk_of(&self.set_of, chunk);
        rows.iter().flat_map(|set| set.to_le_bytes()).collect()
    }

    fn sets_bytes(&self, chunk: u32) -> Vec<u8> {
        let nodes = chunk_of(self.signatures.nodes(), chunk);
        let words = nodes.iter().flat_map(|node| [node.parent, node.class]);
        words.flat_map(u32::to_le_bytes).collect()
    }

    fn past_bytes(&self, chunk: u32) -> Option<Vec<u8>> {
        let eras_of = &self.past.eras_of;
        let rows = numbers_of(chunk).filter_map(|row| Some((row, eras_of.get(&row)?)));
        let rows: Vec<_> = if eras_of.is_empty() { Vec::new() } else { rows.collect() };
        (!rows.is_empty()).then(|| encode(&rows))
    }

    fn dead_bytes(&self, chunk: u32) -> Option<Vec<u8>> {
        let of_set = &self.dead.of_set;
        let sets = numbers_of(chunk).filter_map(|set| Some((set, of_set.get(&set)?)));
        let sets: Vec<_> = if of_set.is_empty() { Vec::new() } else { sets.collect() };
        (!sets.is_empty()).then(|| encode(&sets))
    }

    fn below_bytes(&self) -> Option<Vec<u8>> {
        let mut below: Vec<u32> = self.below.iter().copied().collect();
        below.sort_unstable();
        (!below.is_empty()).then(|| encode(&below))
    }
}

fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect("numbers, texts and lists can always be written to memory")
}

fn chunk_of<T>(all: &[T], chunk: u32) -> &[T] {
    let start = chunk as usize * CHUNK as usize;
    &all[start..all.len().min(start + CHUNK as usize)]
}

fn numbers_of(chunk: u32) -> impl Iterator<Item = u32> {
    let start = chunk * CHUNK;
    start..=start + (CHUNK - 1)
}
