//! How to add a method: a function from points and a requirement to groups of rows; then a variant
//! of `Method`, one of `MethodPlan`, and an arm in `method::in_memory`.
//!
//! This one puts neighbours on the first attribute together. It knows nothing of verifying,
//! describing, ordering, measuring or writing: the door does that for any groups, and refuses wrong
//! ones.

use albers::sink::{BatchSink, name_all};
use albers::{ColumnType, Silent};
use albers_classes::Attribute;
use albers_classes::class_block::{ClassBlock, Groups};
use albers_classes::points::Points;
use albers_classes::space::Shown;
use albers_privacy::{Facts, Requirement};
use albers_release::ReleaseError;
use albers_release::door::{Door, DoorPlan, RowStore, TableRows};
use albers_release::publish::{OutputColumn, Values};
use albers_table::chunk::{ColumnChunk, TickUnit, narrow_ticks};
use albers_table::coding::{CodedColumn, CodingPlan, RawColumn, encode};
use albers_table::row::RowIdx;

/// The method: sorted by the first attribute, so many rows to a class; the last class takes the
/// rest.
fn neighbours(points: &Points, k: usize) -> Groups {
    let chunk = &points.chunks()[0];
    let mut rows: Vec<RowIdx> = RowIdx::FIRST.take(points.n_rows()).collect();
    rows.sort_by_key(|row| chunk.columns[0][row.index()]);
    let mut block = ClassBlock::default();
    for &row in &rows {
        block.row_idxs.push(row);
        block.codes.extend(chunk.columns.iter().map(|codes| codes[row.index()]));
    }
    let n_classes = (rows.len() / k).max(1) as u32;
    block.class_ends = (1..n_classes).map(|class| class * k as u32).collect();
    block.class_ends.push(rows.len() as u32);
    Groups::of_all(points.n_attributes(), vec![block])
}

fn column(name: &str, numbers: Vec<i64>) -> CodedColumn {
    let cells = narrow_ticks(numbers, &[], TickUnit::Integer);
    let chunks = vec![ColumnChunk { cells, missing: Vec::new() }];
    let column_type = ColumnType::Integer;
    let raw = RawColumn { name: name.to_owned(), column_type, data_type: None, chunks };
    encode(raw, CodingPlan::Ordered).expect("numbers have an order")
}

/// What becomes of the groups of the method for a k, when the door asks for five rows.
fn released(k: usize) -> Result<usize, ReleaseError> {
    let columns = [
        column("age", (0..100).map(|row| 20 + row * 37 % 60).collect()),
        column("height", (0..100).map(|row| 150 + row * 11 % 45).collect()),
    ];
    let (mut attributes, mut codes) = (Vec::new(), Vec::new());
    for CodedColumn { domain, codes: of_column } in columns {
        let (shown, weight) = (Shown::Interval, 1.0);
        attributes.push(Attribute { domain, shown, level: None, weight, preferred: false });
        codes.push(of_column);
    }
    let points = Points::new(codes);
    let facts = Facts { subjects: Vec::new(), sensitive: Vec::new(), n_sensitive: 0 };
    let requirement = Requirement::new(5, false, Vec::new(), Vec::new()).expect("k is enough");
    let plan = DoorPlan {
        attributes: &attributes,
        columns: &[OutputColumn::Attribute(0), OutputColumn::Attribute(1)],
        features: &[],
        values: Values::Interval,
        delimiter: None,
        seed: 0,
        show_regions: false,
        ends_in_gaps: false,
        is_nested: false,
        n_rows: points.n_rows() as u64,
        n_missing: None,
        fingerprint: points.fingerprint(),
        max_left_out: 0,
        may_be_empty: false,
        rows: RowStore::Memory(TableRows { facts: &facts, sensitive: &[], carried: &[] }),
    };
    let mut door = Door::open(&plan, vec![requirement], &Silent)?;
    door.admit_groups(neighbours(&points, k))?;
    let (sink, collected) = BatchSink::new();
    let passages = door.close(vec![Box::new(sink)], &mut |_, _| {})?;
    let sealed = passages.into_iter().map(|passage| passage.seal());
    name_all(sealed.collect::<Result<_, _>>()?)?;
    Ok(collected.take().iter().map(|batch| batch.num_rows()).sum())
}

#[test]
fn a_new_method_is_published_by_the_door_or_refused() {
    assert_eq!(released(5).unwrap(), 100);
    assert!(matches!(released(3), Err(ReleaseError::RequirementViolated { .. })));
}
