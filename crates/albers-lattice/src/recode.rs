//! The classes of a table at chosen levels.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2005, section 2.1.
//! Departures: none.
//! Guarantee: rows are in one class if and only if all their values become the same; classes that
//! violate the requirement are left out as a whole.
//! Cost: one sort of the rows by their keys.

use albers_classes::class_block::{ClassBlock, Groups, Suppressed};
use albers_classes::points::{PointChunk, Points};
use albers_privacy::Facts;
use albers_privacy::{ClassSummary, Requirement};
use albers_storage::Result;
use albers_storage::memory_budget::Reservation;
use albers_table::row::RowIdx;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::dimension::Dimension;
use crate::frequency_set::{FrequencySet, Workspace};
use crate::layout::KeyLayout;
use crate::question::Question;

/// Blocks are verified in parallel.
const BLOCK_ROWS: usize = 1 << 14;

/// Groups the rows of a table by what they show at some levels.
pub fn groups(
    dimensions: &[Dimension],
    levels: &[u16],
    points: &Points,
    requirement: &Requirement,
    facts: &Facts,
) -> Groups {
    let keys = Keys::of(dimensions, levels, points);
    let mut order: Vec<RowIdx> = RowIdx::FIRST.take(points.n_rows()).collect();
    order.par_sort_unstable_by(|&a, &b| keys.of_row(a).cmp(keys.of_row(b)).then(a.cmp(&b)));
    let classes: Vec<&[RowIdx]> =
        order.chunk_by(|&a, &b| keys.of_row(a) == keys.of_row(b)).collect();
    let holds = |summary: &mut ClassSummary, rows: &&[RowIdx]| {
        if let Some(k) = requirement.is_only_row_count() {
            return rows.len() as u64 >= k;
        }
        summary.clear();
        rows.iter().for_each(|row| facts.add(row.index(), summary));
        requirement.holds(summary)
    };
    let new_summary = || ClassSummary::new(requirement.shape());
    let kept: Vec<bool> = classes.par_iter().map_init(new_summary, holds).collect();
    let n_attributes = dimensions.len();
    let columns = columns_of(points);
    let codes_of = |row: RowIdx| columns.iter().map(move |column| column.code(row));
    let mut suppressed = Suppressed::default();
    let mut tasks: Vec<Vec<&[RowIdx]>> = vec![Vec::new()];
    let mut n_task_rows = 0;
    for (rows, is_kept) in classes.into_iter().zip(kept) {
        if !is_kept {
            suppressed.row_idxs.extend_from_slice(rows);
            rows.iter().for_each(|&row| suppressed.codes.extend(codes_of(row)));
            continue;
        }
        if n_task_rows >= BLOCK_ROWS {
            tasks.push(Vec::new());
            n_task_rows = 0;
        }
        n_task_rows += rows.len();
        tasks.last_mut().expect("one was pushed").push(rows);
    }
    let block_of = |classes: &Vec<&[RowIdx]>| {
        let mut block = ClassBlock::default();
        for rows in classes {
            block.row_idxs.extend_from_slice(rows);
            rows.iter().for_each(|&row| block.codes.extend(codes_of(row)));
            block.class_ends.push(block.row_idxs.len() as u32);
        }
        block
    };
    Groups { n_attributes, blocks: tasks.par_iter().map(block_of).collect(), suppressed }
}

/// What rows show at some levels, as keys.
pub struct ClassKeys<'d> {
    layout: KeyLayout,
    maps: Vec<Option<&'d [u32]>>,
}

impl<'d> ClassKeys<'d> {
    /// At these levels of all attributes.
    pub fn new(dimensions: &'d [Dimension], levels: &[u16]) -> ClassKeys<'d> {
        let attributes: Vec<usize> = (0..dimensions.len()).collect();
        let maps = dimensions.iter().zip(levels).map(|(own, &level)| own.map(0, level)).collect();
        let layout = KeyLayout::new(dimensions, &[], attributes, levels.to_vec());
        ClassKeys { layout, maps }
    }

    /// Words per key.
    pub fn n_words(&self) -> usize {
        self.layout.n_words()
    }

    /// Appends the key of a row with these codes.
    pub fn push(&self, codes: impl Iterator<Item = u32>, keys: &mut Vec<u64>) {
        let shown = codes.zip(&self.maps);
        let shown = shown.map(|(code, map)| map.map_or(code, |map| map[code as usize]));
        self.layout.pack(shown, std::iter::empty(), keys);
    }

    /// Appends the key of a row that shows these values.
    fn push_shown(&self, shown: impl Iterator<Item = u32>, keys: &mut Vec<u64>) {
        self.layout.pack(shown, std::iter::empty(), keys);
    }
}

/// The classes of a generalization that violate the requirement.
pub struct Violating {
    keys: FxHashSet<Box<[u64]>>,
    _memory: Reservation,
}

impl Violating {
    /// Looks at the frequency set of all attributes at the levels of `keys`.
    pub fn of(
        question: &Question<'_>,
        keys: &ClassKeys<'_>,
        workspace: Workspace<'_>,
        set: &FrequencySet,
    ) -> Result<Violating> {
        const SET_BYTES: usize = 32;
        let key_bytes = 8 * keys.n_words() + SET_BYTES;
        let mut memory = workspace.budget.reserve_nothing("the classes that are left out");
        let mut violating = FxHashSet::default();
        let mut key = Vec::new();
        let mut n_violating = 0;
        let mut is_over = false;
        question.each_class(workspace, set, &mut |entry, holds| {
            n_violating += usize::from(!holds);
            // Whatever does not fit is still counted, to tell how much would do.
            is_over |= !holds && memory.try_grow(key_bytes).is_err();
            if !holds && !is_over {
                key.clear();
                let fields = set.layout().fields().iter();
                keys.push_shown(fields.map(|field| field.get(entry)), &mut key);
                violating.insert(Box::from(key.as_slice()));
            }
        })?;
        if is_over {
            memory.shrink(memory.n_bytes());
            memory.try_grow(n_violating * key_bytes)?;
        }
        Ok(Violating { keys: violating, _memory: memory })
    }

    /// Whether rows with this key are left out.
    pub fn contains(&self, key: &[u64]) -> bool {
        !self.keys.is_empty() && self.keys.contains(key)
    }
}

/// The keys of all rows.
struct Keys {
    n_words: usize,
    words: Vec<u64>,
}

impl Keys {
    fn of(dimensions: &[Dimension], levels: &[u16], points: &Points) -> Keys {
        let keys = ClassKeys::new(dimensions, levels);
        let keys_of = |chunk: &PointChunk| {
            let mut words = Vec::with_capacity(chunk.n_rows * keys.n_words());
            for row in 0..chunk.n_rows {
                keys.push(chunk.columns.iter().map(|column| column[row]), &mut words);
            }
            words
        };
        let words: Vec<Vec<u64>> = points.chunks().par_iter().map(keys_of).collect();
        Keys { n_words: keys.n_words(), words: words.concat() }
    }

    fn of_row(&self, row: RowIdx) -> &[u64] {
        &self.words[row.index() * self.n_words..(row.index() + 1) * self.n_words]
    }
}

/// The codes of one attribute, in the pieces that they were read in.
struct CodeColumn<'p> {
    attribute: usize,
    chunks: &'p [PointChunk],
}

impl CodeColumn<'_> {
    fn code(&self, row: RowIdx) -> u32 {
        let at = self.chunks.partition_point(|chunk| chunk.first_row <= row) - 1;
        let chunk = &self.chunks[at];
        chunk.columns[self.attribute][row.index() - chunk.first_row.index()]
    }
}

fn columns_of(points: &Points) -> Vec<CodeColumn<'_>> {
    let chunks = points.chunks();
    (0..points.n_attributes()).map(|attribute| CodeColumn { attribute, chunks }).collect()
}
