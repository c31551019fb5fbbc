//! The loss of a release is the same whether it passes the door at once or bucket by bucket.

use albers_classes::class_block::ClassBlock;
use albers_classes::packed::{FactColumns, RowBlock, RowLayout};
use albers_classes::points::{Points, codes_hash};
use albers_classes::space::Shown;
use albers_classes::{Attribute, Suppressed};
use albers_measure::{Divergence, Loss, LossOfParts};
use albers_privacy::{Facts, Requirement};
use albers_release::door::{LeafClasses, LeafRows, PackedRows, Passed, TableRows};
use albers_release::publish::{OutputColumn, Payload, Values};
use albers_release::{Door, DoorPlan, RowStore};
use albers_storage::memory_budget::MemoryBudget;
use albers_storage::spill::SpillStore;
use albers_storage::watch::Silent;
use albers_table::chunk::TextColumnBuilder;
use albers_table::code::Code;
use albers_table::coding::{CodingPlan, RawColumn, encode};
use albers_table::mix::mix;
use albers_table::row::{RowId, RowIdx};
use albers_table::schema::ColumnType;
use albers_table::sink::BatchSink;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

const N_ROWS: u32 = 2000;
/// Rows of a class; the last of the table are left out.
const CLASS_ROWS: usize = 9;
const N_LEFT_OUT: usize = 20;

fn attribute(name: &str, cells: impl Iterator<Item = u64>) -> (Attribute, Vec<u32>) {
    typed_attribute(name, ColumnType::Integer, cells.map(|cell| cell.to_string()))
}

fn typed_attribute(
    name: &str,
    column_type: ColumnType,
    cells: impl Iterator<Item = String>,
) -> (Attribute, Vec<u32>) {
    let mut builder = TextColumnBuilder::new(column_type);
    cells.for_each(|cell| builder.push(cell.as_bytes()).expect("a value of the type"));
    let chunks = vec![builder.finish().expect("a column")];
    let column = RawColumn { name: name.to_owned(), column_type, data_type: None, chunks };
    let (shown, coding) = match column_type {
        ColumnType::Text => {
            (Shown::Set, CodingPlan::Categories { hierarchy: None, by_frequency: false })
        }
        _ => (Shown::Interval, CodingPlan::Ordered),
    };
    let coded = encode(column, coding).expect("codes");
    let (level, weight, preferred) = (None, 2.0, false);
    (Attribute { domain: coded.domain, shown, level, weight, preferred }, coded.codes.concat())
}

struct Table {
    attributes: Vec<Attribute>,
    columns: Vec<Vec<u32>>,
    secrets: Vec<u32>,
}

impl Table {
    fn new() -> Table {
        let draw = |row: u32, salt: u64| mix(u64::from(row) << 8 | salt);
        let columns = vec![
            attribute("age", (0..N_ROWS).map(|row| draw(row, 1) % 40)),
            attribute("income", (0..N_ROWS).map(|row| draw(row, 2) % 900)),
        ];
        let (attributes, columns) = columns.into_iter().unzip();
        let secrets = (0..N_ROWS).map(|row| draw(row, 3) as u32 % 5).collect();
        Table { attributes, columns, secrets }
    }

    /// A table of other kinds of columns: values far apart, floats, and names.
    fn mixed() -> Table {
        let draw = |row: u32, salt: u64| mix(u64::from(row) << 8 | salt);
        let rows = 0..N_ROWS;
        let far = rows.clone().map(|row| (draw(row, 4) as i64).to_string());
        let rate = rows.clone().map(|row| format!("{:?}", (draw(row, 5) % 1000) as f64 / 7.0));
        let city = rows.clone().map(|row| format!("city {}", draw(row, 6) % 30));
        let columns = vec![
            attribute("age", rows.map(|row| draw(row, 1) % 40)),
            typed_attribute("far", ColumnType::Integer, far),
            typed_attribute("rate", ColumnType::Float, rate),
            typed_attribute("city", ColumnType::Text, city),
        ];
        let (attributes, columns) = columns.into_iter().unzip();
        let secrets = (0..N_ROWS).map(|row| draw(row, 3) as u32 % 5).collect();
        Table { attributes, columns, secrets }
    }

    fn codes(&self, row: u32) -> Vec<u32> {
        self.columns.iter().map(|column| column[row as usize]).collect()
    }

    /// Classes of neighbours, and the rows that are left out.
    fn classes(&self) -> (Vec<Vec<u32>>, Vec<u32>) {
        let mut rows: Vec<u32> = (0..N_ROWS).collect();
        rows.sort_by_key(|&row| self.codes(row));
        let left_out = rows.split_off(N_ROWS as usize - N_LEFT_OUT);
        (rows.chunks(CLASS_ROWS).map(<[u32]>::to_vec).collect(), left_out)
    }

    fn plan<'a>(&'a self, columns: &'a [OutputColumn], rows: RowStore<'a>) -> DoorPlan<'a> {
        let codes = self.columns.iter().map(|column| vec![column.clone()]).collect();
        DoorPlan {
            attributes: &self.attributes,
            columns,
            features: &[],
            values: Values::Interval,
            delimiter: None,
            seed: 0,
            show_regions: false,
            ends_in_gaps: false,
            is_nested: false,
            n_rows: u64::from(N_ROWS),
            n_missing: None,
            fingerprint: Points::new(codes).fingerprint(),
            max_left_out: N_LEFT_OUT as u64,
            may_be_empty: false,
            rows,
        }
    }
}

const COLUMNS: [OutputColumn; 2] = [OutputColumn::Attribute(0), OutputColumn::Attribute(1)];

fn requirement() -> Requirement {
    Requirement::new(1, false, Vec::new(), Vec::new()).expect("valid")
}

/// The loss of what passes, and in how many parts it came.
fn close(door: Door<'_>, table: &Table) -> ((Loss, Divergence), usize) {
    let mut loss = LossOfParts::new(&table.attributes);
    let mut n_parts = 0;
    let (sink, _collected) = BatchSink::new();
    let mut measure = |_: usize, passed: &Passed<'_, '_>| {
        n_parts += 1;
        loss.add(passed);
    };
    door.close(vec![Box::new(sink)], &mut measure).expect("the door takes it");
    (loss.finish(), n_parts)
}

fn loss_in_memory(table: &Table) -> (Loss, Divergence) {
    let (classes, left_out) = table.classes();
    loss_of_blocks(table, &[&classes], left_out)
}

/// The loss of classes that come in blocks.
fn loss_of_blocks(table: &Table, blocks: &[&[Vec<u32>]], left_out: Vec<u32>) -> (Loss, Divergence) {
    let columns: Vec<_> = (0..table.columns.len()).map(OutputColumn::Attribute).collect();
    let facts = Facts { subjects: Vec::new(), sensitive: Vec::new(), n_sensitive: 0 };
    let sensitive = [table.secrets.clone()];
    let rows = TableRows { facts: &facts, sensitive: &sensitive, carried: &[] };
    let plan = table.plan(&columns, RowStore::Memory(rows));
    let mut door = Door::open(&plan, vec![requirement()], &Silent).expect("the door takes it");
    for classes in blocks {
        let mut block = ClassBlock::default();
        for class in *classes {
            block.row_idxs.extend(class.iter().map(|&row| RowIdx::new(row)));
            block.codes.extend(class.iter().flat_map(|&row| table.codes(row)));
            block.class_ends.push(block.row_idxs.len() as u32);
        }
        door.admit(0, block).expect("the door takes it");
    }
    let codes = left_out.iter().flat_map(|&row| table.codes(row)).collect();
    let row_idxs = left_out.into_iter().map(RowIdx::new).collect();
    door.leave_out(&Suppressed { row_idxs, codes }).expect("the door takes it");
    let (loss, n_parts) = close(door, table);
    assert_eq!(n_parts, 2, "all classes at once, and what is left out");
    loss
}

fn loss_by_buckets(table: &Table) -> (Loss, Divergence) {
    let folder = tempfile::tempdir().expect("a folder");
    let budget = MemoryBudget::new(1 << 16);
    let store = SpillStore::in_folder(folder.path(), budget.clone()).with_room(1 << 16);
    let layout = RowLayout::new(&[u32::MAX; 2], &[4], false);
    let payload = Payload::new(Vec::new()).expect("valid");
    let rows = PackedRows {
        layout: &layout,
        facts: &FactColumns::default(),
        sensitive_facts: &[0],
        payload: &payload,
        payload_bytes: 0,
        budget: &budget,
        store: &store,
    };
    let plan = table.plan(&COLUMNS, RowStore::Packed(rows));
    let mut door = Door::open(&plan, vec![requirement()], &Silent).expect("the door takes it");
    let (classes, left_out) = table.classes();
    let mut rows = RowBlock::default();
    let (mut ends, mut boxes) = (Vec::new(), Vec::new());
    for class in classes.iter().chain([&left_out]) {
        for &row in class {
            let values = table.codes(row).into_iter().chain([table.secrets[row as usize]]);
            rows.push(&layout, RowId::new(row.into()), values, &[]);
        }
        ends.push(rows.n_rows() as u32);
        boxes.extend(table.columns.iter().map(|column| {
            let codes = class.iter().map(|&row| Code::new(column[row as usize]));
            (codes.clone().min().expect("a class has rows"), codes.max().expect("a class has rows"))
        }));
    }
    // The last of them is no leaf, but what is left out.
    ends.pop();
    boxes.truncate(2 * ends.len());
    let n_published = N_ROWS - N_LEFT_OUT as u32;
    let order: Vec<u32> = (0..n_published).collect();
    let leaves = LeafRows {
        layout: &layout,
        rows: &rows,
        order: &order,
        ends: &ends,
        boxes: &boxes,
        regions: None,
    };
    door.admit_leaves(leaves, &[LeafClasses::default()]).expect("the door takes it");
    door.leave_out_packed(&layout, &rows, n_published..N_ROWS).expect("the door takes it");
    let (loss, n_parts) = close(door, table);
    assert!(n_parts > 3 && store.written_bytes() > 0, "{n_parts} parts");
    loss
}

/// The same by the definitions, class by class and row by row.
fn loss_by_definition(table: &Table) -> [f64; 4] {
    let (classes, left_out) = table.classes();
    let n_values = |attribute: usize| table.attributes[attribute].domain.n_values() as f64;
    let tuple = |row: u32| (table.secrets[row as usize], codes_hash(&table.codes(row)));
    let (mut discernibility, mut penalty) = (0.0, 0.0);
    let (mut of_quasi, mut with_sensitive) = (0.0, 0.0);
    for (class, is_left_out) in
        classes.iter().map(|class| (class, false)).chain([(&left_out, true)])
    {
        let n_rows = class.len() as f64;
        discernibility += n_rows * if is_left_out { f64::from(N_ROWS) } else { n_rows };
        let mut volume = 1.0;
        for (attribute, column) in table.columns.iter().enumerate() {
            let domain = &table.attributes[attribute].domain;
            let codes = class.iter().map(|&row| Code::new(column[row as usize]));
            let (lo, hi) = (
                codes.clone().min().expect("a class has rows"),
                codes.max().expect("a class has rows"),
            );
            let loss = if is_left_out { 1.0 } else { domain.interval_loss(lo, hi) };
            penalty += 2.0 * n_rows * loss;
            volume *= match is_left_out {
                true => n_values(attribute),
                false => domain.n_distinct_between(lo, hi) as f64,
            };
        }
        for &row in class {
            let n_same = class.iter().filter(|&&other| tuple(other) == tuple(row)).count() as f64;
            let secret = table.secrets[row as usize];
            let n_secret = class.iter().filter(|&&other| table.secrets[other as usize] == secret);
            with_sensitive += (n_same * volume / n_secret.count() as f64).ln();
            let n_quasi = class.iter().filter(|&&other| tuple(other).1 == tuple(row).1).count();
            of_quasi += (n_quasi as f64 * volume / n_rows).ln();
        }
    }
    let n_rows = f64::from(N_ROWS);
    [discernibility, penalty, of_quasi / n_rows, with_sensitive / n_rows]
}

fn assert_same(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * a.abs().max(b.abs()), "{a} and {b}");
}

#[test]
fn the_loss_is_that_of_the_definitions_at_once_and_by_buckets() {
    let table = Table::new();
    let (memory, buckets) = (loss_in_memory(&table), loss_by_buckets(&table));
    let [discernibility, penalty, of_quasi, with_sensitive] = loss_by_definition(&table);
    for (loss, divergence) in [&memory, &buckets] {
        assert_same(loss.discernibility, discernibility);
        assert_same(loss.certainty_penalty, penalty);
        assert_same(loss.ncp, penalty / (4.0 * f64::from(N_ROWS)));
        assert_same(divergence.quasi, of_quasi);
        assert_same(divergence.with_sensitive, with_sensitive);
    }
    assert_eq!(memory, buckets, "to the last digit");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_loss_is_the_same_to_the_last_digit_in_any_order_and_any_groups(
        seed in any::<u64>(),
        block_classes in 1usize..300,
        is_mixed in any::<bool>(),
    ) {
        let table = if is_mixed { Table::mixed() } else { Table::new() };
        let (mut classes, mut left_out) = table.classes();
        let expected = loss_of_blocks(&table, &[&classes], left_out.clone());
        let key = |row: u32| mix(seed ^ u64::from(row));
        classes.sort_by_key(|class| key(class[0]));
        classes.iter_mut().for_each(|class| class.sort_by_key(|&row| key(row)));
        left_out.sort_by_key(|&row| key(row));
        let blocks: Vec<&[Vec<u32>]> = classes.chunks(block_classes).collect();
        prop_assert_eq!(loss_of_blocks(&table, &blocks, left_out), expected);
    }
}
