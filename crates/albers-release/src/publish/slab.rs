//! Rows that are built and written at once.
//!
//! Guarantee: a slab stays within its limits, or is a single row; the slabs' rows one after another
//! are the rows of the release, whatever the limits.
//! Cost: one pass over the classes; memory for a slab and for the row numbers of one class, and where
//! texts are carried that are long, for the length of each row's.

use albers_classes::{ClassId, FeatureValue};
use albers_table::TableError;
use albers_table::row::RowIdx;

use super::carried::{CarriedBytes, CarriedColumn, RowKeys};
use super::{Output, Values};
use crate::describe::ShownCell;
use crate::error::Result;
use crate::mean::Mean;
use crate::verify::Verified;

/// How much is built before it is written. A row larger than that is built alone.
#[derive(Debug, Clone, Copy)]
pub struct SlabLimits {
    /// Rows of a slab.
    pub n_rows: usize,
    /// Bytes of text in a slab, all columns together.
    pub n_bytes: usize,
}

impl Default for SlabLimits {
    fn default() -> SlabLimits {
        // Far below the 2 GiB that one array of text can hold.
        SlabLimits { n_rows: 1 << 16, n_bytes: 16 << 20 }
    }
}

/// Pieces of classes that are written at once.
#[derive(Default)]
pub struct Slab {
    /// Rows of all pieces.
    pub n_rows: usize,
    /// Rows of each piece.
    pub sizes: Vec<u32>,
    /// What each piece's class shows, attribute by attribute.
    cells: Vec<ShownCell>,
    /// What it shows beside them, feature by feature.
    features: Vec<FeatureValue>,
    /// The mean of each piece's class, attribute by attribute; empty when they are not shown.
    means: Vec<Option<Mean>>,
    /// All rows, piece by piece; empty when no column is carried.
    pub row_idxs: Vec<RowIdx>,
}

impl Slab {
    /// Pieces of so many rows, and what the class of each shows, attribute by attribute.
    pub fn of_pieces(sizes: Vec<u32>, cells: Vec<ShownCell>) -> Slab {
        let n_rows = sizes.iter().map(|&size| size as usize).sum();
        Slab { n_rows, sizes, cells, ..Slab::default() }
    }

    /// What the pieces show on one attribute.
    pub fn cells_of(&self, attribute: usize) -> impl Iterator<Item = ShownCell> + '_ {
        let n_attributes = self.cells.len() / self.sizes.len();
        self.cells[attribute..].iter().step_by(n_attributes).copied()
    }

    /// The means that the pieces show of one attribute.
    pub fn means_of(&self, attribute: usize) -> impl Iterator<Item = Option<Mean>> + '_ {
        let n_attributes = self.means.len() / self.sizes.len();
        self.means[attribute..].iter().step_by(n_attributes).copied()
    }

    /// What the pieces show of one feature.
    pub fn features_of(&self, feature: usize) -> impl Iterator<Item = FeatureValue> + '_ {
        let n_features = self.features.len() / self.sizes.len();
        self.features[feature..].iter().step_by(n_features).copied()
    }
}

/// What the text of a feature, or of a mean, takes at most.
const FEATURE_BYTES: usize = 24;

/// Cuts verified classes into slabs.
pub struct Cutter<'r> {
    classes: &'r Verified<'r>,
    carried: CarriedBytes,
    keys: Option<&'r RowKeys>,
    limits: SlabLimits,
    shows_means: bool,
    /// The class at hand.
    class_idx: usize,
    /// How many rows it has.
    n_class_rows: usize,
    /// Its rows in the order of publication, if a column is carried.
    class_rows: Vec<RowIdx>,
    /// How many of its rows are in slabs already.
    n_taken: usize,
    /// Its means, where they are shown.
    means: Vec<Option<Mean>>,
    /// What each of its rows takes, but for the texts that it carries.
    own_bytes: usize,
}

impl<'r> Cutter<'r> {
    /// Starts at the first class.
    pub fn new(
        classes: &'r Verified<'r>,
        carried: &'r [CarriedColumn],
        keys: Option<&'r RowKeys>,
        output: &Output<'_>,
    ) -> Cutter<'r> {
        let limits = output.limits;
        Cutter {
            classes,
            carried: CarriedBytes::of(carried, limits),
            keys,
            limits,
            shows_means: output.values == Values::Mean,
            class_idx: 0,
            n_class_rows: 0,
            class_rows: Vec::new(),
            n_taken: 0,
            means: Vec::new(),
            own_bytes: 0,
        }
    }

    /// The next slab; it has no rows when there are no more.
    pub fn next_slab(&mut self) -> Result<Slab> {
        let mut slab = Slab::default();
        let mut n_bytes = 0;
        while self.class_idx < self.classes.n_classes() {
            if self.n_taken == 0 {
                self.open_class()?;
            }
            let (n_rows, n_more_bytes) = self.fitting(slab.n_rows, n_bytes);
            if n_rows == 0 {
                break;
            }
            let end = self.n_taken + n_rows;
            if self.keys.is_some() {
                slab.row_idxs.extend_from_slice(&self.class_rows[self.n_taken..end]);
            }
            let class = self.classes.class(ClassId::of_index(self.class_idx));
            slab.cells.extend_from_slice(class.cells);
            slab.features.extend_from_slice(class.features);
            slab.means.extend_from_slice(&self.means);
            slab.sizes.push(n_rows as u32);
            slab.n_rows += n_rows;
            n_bytes += n_more_bytes;
            self.n_taken = end;
            if end < self.n_class_rows {
                break;
            }
            self.class_idx += 1;
            self.n_taken = 0;
        }
        Ok(slab)
    }

    fn open_class(&mut self) -> Result<()> {
        let class = self.classes.class(ClassId::of_index(self.class_idx));
        self.n_class_rows = class.n_rows();
        self.own_bytes = self.carried.of_each_row + class.features.len() * FEATURE_BYTES;
        for (describer, &cell) in self.classes.describers().iter().zip(class.cells) {
            let cell_bytes = describer.text_bytes(cell);
            if i32::try_from(cell_bytes).is_err() {
                return Err(too_long(describer.attribute().domain.name()).into());
            }
            self.own_bytes += cell_bytes;
        }
        if self.shows_means {
            self.means = self.classes.means(ClassId::of_index(self.class_idx));
            self.own_bytes += self.means.len() * FEATURE_BYTES;
        }
        self.class_rows.clear();
        if let Some(keys) = self.keys {
            class.parts().for_each(|(rows, _)| self.class_rows.extend_from_slice(rows));
            keys.order(&mut self.class_rows);
        }
        Ok(())
    }

    /// How many of the class's next rows still fit, and their bytes; at least one fits into an
    /// empty slab.
    fn fitting(&self, n_slab_rows: usize, n_slab_bytes: usize) -> (usize, usize) {
        let n_left = self.n_class_rows - self.n_taken;
        let n_rows = n_left.min(self.limits.n_rows.saturating_sub(n_slab_rows));
        let room_bytes = self.limits.n_bytes.saturating_sub(n_slab_bytes);
        let least = usize::from(n_slab_rows == 0);
        if self.carried.of_texts.is_empty() {
            let n_fitting = room_bytes / self.own_bytes.max(1);
            let n_rows = n_rows.min(n_fitting).max(least);
            return (n_rows, n_rows * self.own_bytes);
        }
        let mut n_bytes = 0;
        for (idx, &row) in self.class_rows[self.n_taken..self.n_taken + n_rows].iter().enumerate() {
            let row_bytes = self.own_bytes + self.carried.of_texts[row.index()] as usize;
            if idx >= least && n_bytes + row_bytes > room_bytes {
                return (idx, n_bytes);
            }
            n_bytes += row_bytes;
        }
        (n_rows, n_bytes)
    }
}

fn too_long(column: &str) -> TableError {
    TableError::Column {
        column: column.to_owned(),
        problem: "a class would show more text in one cell than a table can hold".to_owned(),
        hint: "give the column a hierarchy, or choose a smaller k".into(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use albers_classes::Attribute;
    use albers_classes::class_block::ClassBlock;
    use albers_classes::space::Shown;
    use albers_privacy::{Facts, Requirement};
    use albers_storage::watch::Silent;
    use albers_table::chunk::TextColumnBuilder;
    use albers_table::coding::{CodingPlan, RawColumn, encode};
    use albers_table::schema::ColumnType;
    use arrow_array::StringArray;

    use super::*;
    use crate::publish::Typing;
    use crate::verify::{ShowOptions, describe};

    /// Ages, three rows each.
    fn ages(n_classes: u32) -> (Attribute, Vec<u32>) {
        let column_type = ColumnType::Integer;
        let mut builder = TextColumnBuilder::new(column_type);
        for row in 0..3 * n_classes {
            builder.push((20 + row / 3).to_string().as_bytes()).unwrap();
        }
        let chunks = vec![builder.finish().unwrap()];
        let name = "age".to_owned();
        let column = RawColumn { name, column_type, data_type: None, chunks };
        let coded = encode(column, CodingPlan::Ordered).unwrap();
        let (shown, level, weight, preferred) = (Shown::Interval, None, 1.0, false);
        let attribute = Attribute { domain: coded.domain, shown, level, weight, preferred };
        (attribute, coded.codes.concat())
    }

    #[test]
    fn the_rows_of_all_slabs_are_the_same_whatever_the_limits() {
        let (attribute, codes) = ages(12);
        let n_rows = codes.len() as u32;
        let class_ends = (3..=n_rows).step_by(3).collect();
        let row_idxs = RowIdx::FIRST.take(codes.len()).collect();
        let block = ClassBlock { row_idxs, codes, class_ends, ..ClassBlock::default() };
        let seed = 3;
        let options = ShowOptions {
            seed,
            show_regions: false,
            ends_in_gaps: false,
            is_nested: false,
            n_features: 0,
            shows_means: false,
            shows_places: false,
        };
        let attributes = [attribute];
        let describers = options.describers(&attributes, &[]);
        let described = describe(vec![block], describers, options, None, &Silent).unwrap();
        let requirement = Requirement::new(3, false, Vec::new(), Vec::new()).unwrap();
        let facts = Facts { subjects: Vec::new(), sensitive: Vec::new(), n_sensitive: 0 };
        let classes = described.verify(&requirement, &facts).unwrap();
        let notes = (0..n_rows).map(|row| "x".repeat(row as usize * 3));
        let notes = Arc::new(StringArray::from_iter_values(notes));
        let note = "note".to_owned();
        let carried = [CarriedColumn::new(note, Typing::AsRead, vec![notes])];
        let keys = RowKeys::of(&carried, seed).unwrap();
        let rows_within = |limits: SlabLimits| {
            let output = Output {
                columns: &[],
                features: &[],
                values: Values::Mean,
                delimiter: None,
                seed,
                limits,
            };
            let mut cutter = Cutter::new(&classes, &carried, keys.as_ref(), &output);
            let mut rows = Vec::new();
            loop {
                let slab = cutter.next_slab().unwrap();
                if slab.n_rows == 0 {
                    return rows;
                }
                let note_bytes: usize = slab.row_idxs.iter().map(|row| 3 * row.index()).sum();
                assert!(slab.n_rows <= limits.n_rows);
                assert!(slab.n_rows == 1 || note_bytes <= limits.n_bytes);
                assert_eq!(slab.sizes.iter().sum::<u32>() as usize, slab.row_idxs.len());
                rows.extend(slab.row_idxs);
            }
        };
        let all = rows_within(SlabLimits::default());
        assert_eq!(all.len(), n_rows as usize);
        for n_rows in 1..20 {
            for n_bytes in [0, 40, 150, 400] {
                assert_eq!(rows_within(SlabLimits { n_rows, n_bytes }), all);
            }
        }
    }
}
