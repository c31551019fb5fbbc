//! Chunks that were put aside.

use albers_storage::memory_budget::MemoryBudget;
use albers_storage::spill::SpillStore;
use arrow_array::builder::{StringDictionaryBuilder, StringViewBuilder};
use arrow_array::types::Int16Type;
use arrow_array::{BooleanArray, Decimal128Array, NullArray};
use proptest::prelude::*;

use super::*;
use crate::chunk::TickUnit;

/// Cells as a value that can be compared; floats by their bits.
fn comparable(chunk: &ColumnChunk) -> (Vec<u32>, String, Vec<i64>, Vec<String>) {
    let missing = chunk.missing.clone();
    match &chunk.cells {
        Cells::Ticks { base, offsets, unit } => {
            let offsets = offsets.iter().map(|&offset| i64::from(offset)).collect();
            (missing, format!("{unit:?} from {base}"), offsets, Vec::new())
        }
        Cells::WideTicks { ticks, unit } => {
            (missing, format!("{unit:?} wide"), ticks.clone(), Vec::new())
        }
        Cells::Floats(values) => {
            let bits = values.iter().map(|value| value.to_bits() as i64).collect();
            (missing, "floats".to_owned(), bits, Vec::new())
        }
        Cells::Names { names, places } => {
            let places = places.iter().map(|&place| i64::from(place)).collect();
            (missing, "names".to_owned(), places, names.clone())
        }
    }
}

fn assert_same(left: &[SourceChunk], right: &[SourceChunk]) {
    assert_eq!(left.len(), right.len());
    for (left, right) in left.iter().zip(right) {
        assert_eq!((left.first_row, left.n_rows), (right.first_row, right.n_rows));
        let cells = |chunk: &SourceChunk| chunk.coded.iter().map(comparable).collect::<Vec<_>>();
        assert_eq!(cells(left), cells(right));
        assert_eq!(left.carried, right.carried);
    }
}

fn all_of(mut scan: Box<dyn Scan + '_>) -> Vec<SourceChunk> {
    let mut chunks = Vec::new();
    loop {
        match scan.next_round().unwrap() {
            round if round.is_empty() => return chunks,
            round => chunks.extend(round),
        }
    }
}

fn copy_of(chunk: &SourceChunk) -> SourceChunk {
    SourceChunk {
        first_row: chunk.first_row,
        n_rows: chunk.n_rows,
        coded: chunk.coded.clone(),
        carried: chunk.carried.clone(),
    }
}

fn check_round_trip(chunks: &[SourceChunk]) {
    let folder = tempfile::tempdir().unwrap();
    for budget_bytes in [0, 1 << 30] {
        let budget = MemoryBudget::new(budget_bytes);
        let store = SpillStore::in_folder(folder.path(), budget.clone());
        let mut spilled = SpilledChunks::new(&store);
        chunks.iter().for_each(|chunk| spilled.put(copy_of(chunk)).unwrap());
        assert_eq!(spilled.n_rows(), chunks.iter().map(|chunk| chunk.n_rows as u64).sum::<u64>());
        assert_eq!(store.written_bytes() > 0, budget_bytes == 0 && !chunks.is_empty());
        for _ in 0..2 {
            assert_same(&all_of(spilled.scan()), chunks);
        }
        assert_same(&all_of(spilled.into_scan()), chunks);
        assert_eq!((store.space_bytes(), budget.used_bytes()), (0, 0), "all is free again");
    }
}

/// What a column is made of: which cells, of which unit, from which base, and values.
type Recipe = (u8, TickUnit, i64, Vec<u64>, Vec<String>);

/// The most rows of a chunk in these tests.
const MOST_ROWS: usize = 40;

fn recipe() -> impl Strategy<Value = Recipe> {
    let unit = prop_oneof![
        Just(TickUnit::Integer),
        (0..19u8).prop_map(TickUnit::Decimal),
        Just(TickUnit::Date),
        any::<bool>().prop_map(|zoned| TickUnit::Timestamp { zoned }),
    ];
    let values = proptest::collection::vec(any::<u64>(), MOST_ROWS);
    (0..4u8, unit, any::<i64>(), values, proptest::collection::vec("[aé\n]{0,4}", 0..9))
}

/// The column of a recipe; cells have no `Debug`, so that a strategy cannot make them.
fn column_of((kind, unit, base, values, names): Recipe, n_rows: usize) -> ColumnChunk {
    let values = &values[..n_rows];
    let narrow = || values.iter().map(|&value| value as u32).collect();
    let cells = match kind {
        0 => Cells::Ticks { base, offsets: narrow(), unit },
        1 => Cells::WideTicks { ticks: values.iter().map(|&value| value as i64).collect(), unit },
        2 => Cells::Floats(values.iter().map(|&bits| f64::from_bits(bits)).collect()),
        _ => Cells::Names { names, places: narrow() },
    };
    let missing = values.iter().map(|&value| value as u32).filter(|row| row % 3 == 0).collect();
    ColumnChunk { cells, missing }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_chunk_reads_back_as_it_was_put(
        parts in proptest::collection::vec(
            (proptest::collection::vec(recipe(), 0..4), 1..=MOST_ROWS, any::<u64>()),
            0..5,
        ),
        texts in proptest::collection::vec(proptest::option::of("[a-zé]{0,6}"), MOST_ROWS),
    ) {
        let chunks: Vec<SourceChunk> = parts
            .into_iter()
            .map(|(recipes, n_rows, first_row)| {
                let coded = recipes.into_iter().map(|recipe| column_of(recipe, n_rows)).collect();
                let texts: ArrayRef = Arc::new(StringArray::from(texts.clone()));
                let carried = vec![texts.slice(MOST_ROWS - n_rows, n_rows)];
                SourceChunk { first_row: RowId::new(first_row), n_rows, coded, carried }
            })
            .collect();
        check_round_trip(&chunks);
    }
}

#[test]
fn carried_cells_of_every_type_read_back() {
    let mut repeated = StringDictionaryBuilder::<Int16Type>::new();
    repeated.extend([Some("a"), None, Some("a"), Some("b")]);
    let mut view = StringViewBuilder::new();
    view.extend([None, Some("short"), Some("a text of more than twelve bytes"), Some("")]);
    let price = Decimal128Array::from(vec![Some(-5), None, Some(123_456), Some(0)]);
    let carried: Vec<ArrayRef> = vec![
        Arc::new(repeated.finish()),
        Arc::new(view.finish()),
        Arc::new(price.with_precision_and_scale(12, 2).unwrap()),
        Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), None])),
        Arc::new(NullArray::new(4)),
        Arc::new(Int64Array::from(vec![1, 2, 3, 4])),
    ];
    let sliced = carried.iter().map(|array| array.slice(1, 3)).collect();
    let chunk = |first_row, n_rows, carried| SourceChunk {
        first_row: RowId::new(first_row),
        n_rows,
        coded: Vec::new(),
        carried,
    };
    check_round_trip(&[chunk(7, 4, carried), chunk(0, 3, sliced), chunk(9, 2, Vec::new())]);
}
