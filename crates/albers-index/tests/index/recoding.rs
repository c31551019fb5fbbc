//! Codes change while an index lives: every row stays where it is.

use std::collections::BTreeSet;

use albers_classes::packed::RowLayout;
use albers_classes::space::{Axis, Shown, Space};
use albers_index::living::Part;
use albers_table::chunk::{ColumnChunk, TextColumnBuilder};
use albers_table::coding::{ChunkSurvey, CodeMap, CodingPlan, ColumnCoding, ColumnSurvey, Look};
use albers_table::hierarchy::HierarchySpec;
use albers_table::schema::ColumnType;
use proptest::prelude::*;

use super::living::{Living, plain_setup, with_living};
use super::properties::config;
use super::table::{Asked, Table};

/// How the columns are coded and shown: numbers, names, codes under their prefixes.
const COLUMNS: [(ColumnType, Shown); 3] = [
    (ColumnType::Integer, Shown::Interval),
    (ColumnType::Text, Shown::Set),
    (ColumnType::Code, Shown::Label),
];

/// The cells of a row; an empty one is missing.
type Cells = [String; 3];

fn cells() -> impl Strategy<Value = Cells> {
    let number =
        prop_oneof![8 => (-40..40i32).prop_map(|own| own.to_string()), 1 => Just(String::new())];
    let name = prop_oneof![8 => "[a-f]{1,2}", 1 => Just(String::new())];
    let code = prop_oneof![8 => "[0-3][0-2]", 1 => Just(String::new())];
    (number, name, code).prop_map(|(number, name, code)| [number, name, code])
}

fn chunk(rows: &[Cells], column: usize) -> ColumnChunk {
    let mut builder = TextColumnBuilder::new(COLUMNS[column].0);
    for row in rows {
        match row[column].as_str() {
            "" => builder.push_missing(),
            text => builder.push(text.as_bytes()).expect("the cell is valid"),
        }
    }
    builder.finish().map_err(|_| "the cells are valid").expect("a chunk")
}

fn coding(rows: &[Cells], column: usize) -> ColumnCoding {
    let prefix = HierarchySpec::Prefix;
    let plan = match COLUMNS[column].1 {
        Shown::Interval => CodingPlan::Ordered,
        Shown::Set => CodingPlan::Categories { hierarchy: None, by_frequency: false },
        Shown::Label => CodingPlan::Categories { hierarchy: Some(&prefix), by_frequency: true },
    };
    let mut survey = ColumnSurvey::new("x", Look::Values);
    survey.add(ChunkSurvey::of(&chunk(rows, column), Look::Values)).expect("few values");
    survey.finish(COLUMNS[column].0, None, plan).expect("a coding").into_coding()
}

/// The rows as a table, in the codes of these codings.
fn table(rows: &[Cells], codings: &[ColumnCoding], secrets: &[u32], k: u64) -> Table {
    let columns: Vec<Vec<u32>> = (0..3)
        .map(|column| codings[column].encode(chunk(rows, column)).expect("known values"))
        .collect();
    let axis = |(coding, (_, shown)): (&ColumnCoding, (ColumnType, Shown))| {
        Axis::new(coding.domain(), shown, 1.0, false)
    };
    let greatest = |coding: &ColumnCoding| {
        let (_, last) = coding.domain().code_range();
        coding.domain().missing_code().map_or(last, |missing| missing.max(last)).get()
    };
    let asked = Asked { k, rules: Vec::new() };
    Table {
        space: Space { axes: codings.iter().zip(COLUMNS).map(axis).collect() },
        n_rows: rows.len(),
        rows: (0..rows.len()).map(|row| columns.iter().map(|own| own[row]).collect()).collect(),
        greatest: codings.iter().map(greatest).collect(),
        subjects: Vec::new(),
        secrets: vec![secrets[..rows.len()].to_vec()],
        payloads: Vec::new(),
        coarser: asked.clone(),
        asked,
    }
}

/// The same index in other codes.
fn recode(living: &mut Living, new: &RowLayout, maps: &[Option<&CodeMap>]) {
    let old = std::mem::replace(&mut living.parts.layout, new.clone());
    for kept in living.parts.parts.values_mut() {
        let part = Part::read_from(&old, &kept.bytes).expect("bytes of a part");
        kept.bytes.clear();
        part.recoded(&old, new, maps).write_to(&mut kept.bytes);
    }
    living.directory = living.directory.recoded(maps);
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn rows_stay_in_their_leaves_when_codings_grow_and_new_ones_find_theirs(
        rows in prop::collection::vec(cells(), 4..120), n_first in 2..60usize, k in 2..4u64,
    ) {
        let n_first = n_first.min(rows.len() - 1);
        let secrets: Vec<u32> = (0..rows.len() as u32).map(|row| row % 4).collect();
        let codings: Vec<ColumnCoding> =
            (0..3).map(|column| coding(&rows[..n_first], column)).collect();
        let before = table(&rows[..n_first], &codings, &secrets, k);
        let first: Vec<u32> = (0..n_first as u32).collect();
        let (mut living, leaves) = with_living(&before, &plain_setup(), 6, |plan| {
            let mut living = Living::new(&plan.bulk);
            living.arrive(&before, &plan.bulk, &first, 5);
            living.settle(plan, &BTreeSet::new());
            let leaves = living.leaves(&before, &plan.bulk);
            (living, leaves)
        });
        let grown: Vec<(ColumnCoding, CodeMap)> = (0..3)
            .map(|column| codings[column].grown(&[chunk(&rows[n_first..], column)]).expect("it grows"))
            .collect();
        let (codings, maps): (Vec<ColumnCoding>, Vec<CodeMap>) = grown.into_iter().unzip();
        let maps: Vec<Option<&CodeMap>> = maps.iter().map(Some).chain([None]).collect();
        let after = table(&rows, &codings, &secrets, k);
        with_living(&after, &plain_setup(), 6, |plan| {
            recode(&mut living, plan.bulk.layout, &maps);
            assert_eq!(living.leaves(&after, &plan.bulk), leaves, "rows stay in their leaves");
            living.check_routes(&plan.bulk);
            let more: Vec<u32> = (n_first as u32..rows.len() as u32).collect();
            living.arrive(&after, &plan.bulk, &more, 5);
            let settled = living.settle(plan, &BTreeSet::new());
            living.check(&after, plan, &settled, &(0..rows.len() as u32).collect());
        });
    }
}
