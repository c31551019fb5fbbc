//! Texts that a table shows as they are: the names in the cells of its quasi-identifiers.
//!
//! A cell shows one name, or a set of them. A name that stands in one text only is that of one row
//! if this text has no more rows than names, since each of its names is that of some row. In a table
//! that nobody has generalized this counts the values of one row; in a release it is a least number.
//!
//! Guarantee: counts are exact up to a number of distinct names, and beyond it estimates from those
//! of least hash, which neither the memory nor the order of the rows decides.
//! Cost: one look at each distinct text of a chunk; a bounded number of names.

use std::hash::BuildHasher as _;

use albers_release::parse::names_of;
use albers_table::chunk::{Cells, ColumnChunk};
use albers_table::distinct_sample::halved;
use albers_table::infer::TypeSample;
use albers_table::mix::mix;
use albers_table::schema::ColumnType;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::texts::ANY;

/// Names of a column that are counted exactly.
const MAX_NAMES: usize = 1 << 16;

/// What the texts of a chunk show.
#[derive(Default)]
pub(super) struct ChunkNames {
    texts: Vec<ChunkText>,
    types: TypeSample,
}

/// A text, its rows and the hashes of its names.
struct ChunkText {
    hash: u64,
    n_rows: u64,
    names: Vec<u64>,
}

impl ChunkNames {
    /// Of one column, each cell of which stands for so many rows; nothing where it holds numbers.
    pub(super) fn of(chunk: &ColumnChunk, sizes: &[u32]) -> ChunkNames {
        let Cells::Names { names, places } = &chunk.cells else { return ChunkNames::default() };
        let mut n_rows = vec![0u64; names.len()];
        let mut holes = chunk.missing.iter().peekable();
        for (cell, (&place, &size)) in places.iter().zip(sizes).enumerate() {
            let is_hole = holes.next_if(|&&hole| hole as usize == cell).is_some();
            let count = n_rows.get_mut(place as usize).filter(|_| !is_hole);
            count.into_iter().for_each(|count| *count += u64::from(size));
        }
        let mut of_chunk = ChunkNames::default();
        for (text, n_rows) in names.iter().zip(n_rows).filter(|(_, n_rows)| *n_rows > 0) {
            of_chunk.add(text, n_rows);
        }
        of_chunk
    }

    fn add(&mut self, text: &str, n_rows: u64) {
        if text == ANY {
            return;
        }
        let hash = |text: &str| mix(FxBuildHasher.hash_one(text));
        // An interval is a single name here, which looks like the numbers between which it lies.
        let looks = |name: &str| name.trim_start_matches(['[', '(', ']']).to_owned();
        let names = names_of(text);
        let names: Vec<&String> = names.iter().filter(|name| !name.is_empty()).collect();
        for name in &names {
            let looks = looks(name);
            let first = looks.split_once([',', ';']).filter(|_| looks != **name);
            self.types.add(first.map_or(name.as_bytes(), |(first, _)| first.as_bytes()));
        }
        let names = names.iter().map(|name| hash(name)).collect();
        self.texts.push(ChunkText { hash: hash(text), n_rows, names });
    }
}

/// The names of a column.
#[derive(Default)]
pub(super) struct ListedNames {
    names: FxHashMap<u64, Listed>,
    /// Names of this hash or more are not among them; nothing where all are.
    bound: Option<u64>,
    types: TypeSample,
}

/// What is known of a name.
struct Listed {
    /// The only text that shows it; nothing where several do.
    text: Option<u64>,
    n_rows: u64,
    n_names: u64,
}

/// How many names a column shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NameCount {
    pub(super) n_names: u64,
    /// Those that are of one row.
    pub(super) n_single: u64,
    /// Whether both are estimates.
    pub(super) is_about: bool,
}

impl ListedNames {
    /// Adds what a chunk shows.
    pub(super) fn add(&mut self, chunk: &ChunkNames) {
        self.types.merge(&chunk.types);
        for text in &chunk.texts {
            for &name in &text.names {
                self.add_name(name, text);
            }
        }
    }

    fn add_name(&mut self, name: u64, text: &ChunkText) {
        if self.bound.is_some_and(|bound| name >= bound) {
            return;
        }
        let n_names = text.names.len() as u64;
        let first = || Listed { text: Some(text.hash), n_rows: 0, n_names };
        let listed = self.names.entry(name).or_insert_with(first);
        listed.text = listed.text.filter(|&own| own == text.hash);
        listed.n_rows += text.n_rows;
        while self.names.len() >= MAX_NAMES {
            let bound = halved(self.bound);
            self.names.retain(|&name, _| name < bound);
            self.bound = Some(bound);
        }
    }

    /// Its names, where these are text of a given type, or look like it.
    pub(super) fn count(&self, given: Option<ColumnType>) -> Option<NameCount> {
        let column_type = given.unwrap_or_else(|| self.types.column_type());
        if !matches!(column_type, ColumnType::Text | ColumnType::Code) {
            return None;
        }
        let is_single = |own: &&Listed| own.text.is_some() && own.n_rows <= own.n_names;
        let n_single = self.names.values().filter(is_single).count();
        let share = self.bound.map_or(1.0, |bound| bound as f64 / 2f64.powi(64));
        let all = |n: usize| (n as f64 / share).round() as u64;
        Some(NameCount {
            n_names: all(self.names.len()),
            n_single: all(n_single),
            is_about: share < 1.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(texts: &[(&str, u64)], given: Option<ColumnType>) -> Option<NameCount> {
        let mut names = ListedNames::default();
        for (text, n_rows) in texts {
            let mut chunk = ChunkNames::default();
            chunk.add(text, *n_rows);
            names.add(&chunk);
        }
        names.count(given)
    }

    #[test]
    fn a_name_is_of_one_row_where_its_only_text_has_no_more_rows_than_names() {
        let exact = |n_names, n_single| Some(NameCount { n_names, n_single, is_about: false });
        assert_eq!(count(&[("a", 1), ("b", 2), ("b", 1), ("*", 9)], None), exact(2, 1));
        assert_eq!(count(&[("{a, b}", 1), ("{c, d}", 3), ("{a, b}", 1)], None), exact(4, 2));
        assert_eq!(count(&[("{a, b}", 2), ("{b, c}", 2)], None), exact(3, 2));
    }

    #[test]
    fn numbers_and_intervals_are_no_text_unless_their_type_says_so() {
        assert_eq!(count(&[("[48, 62]", 3), ("71", 1)], None), None);
        assert!(count(&[("48", 3)], Some(ColumnType::Code)).is_some());
        assert!(count(&[("01907", 3)], None).is_some());
    }
}
