use proptest::prelude::*;

use super::super::encode;
use super::*;
use crate::chunk::TextColumnBuilder;
use crate::hierarchy::HierarchySpec;

fn chunk_of(column_type: ColumnType, cells: &[String]) -> ColumnChunk {
    let mut builder = TextColumnBuilder::new(column_type);
    for cell in cells {
        match cell.as_str() {
            "" => builder.push_missing(),
            text => builder.push(text.as_bytes()).unwrap(),
        }
    }
    builder.finish().map_err(|_| "the cells are valid").unwrap()
}

fn cell(column_type: ColumnType) -> BoxedStrategy<String> {
    let value = match column_type {
        ColumnType::Integer => prop_oneof![
            (-50i64..50).prop_map(|v| v.to_string()),
            any::<i32>().prop_map(|v| v.to_string())
        ]
        .boxed(),
        ColumnType::Decimal => {
            (-500i64..500, 0usize..4).prop_map(|(v, n)| format!("{:.*}", n, v as f64 / 8.0)).boxed()
        }
        ColumnType::Float => (-9i32..9).prop_map(|v| format!("{v}e3")).boxed(),
        ColumnType::Date => (1u8..29).prop_map(|day| format!("2024-02-{day:02}")).boxed(),
        _ => "[a-e]{1,2}".boxed(),
    };
    prop_oneof![9 => value, 1 => Just(String::new())].boxed()
}

fn column() -> impl Strategy<Value = (ColumnType, Vec<Vec<String>>)> {
    let types = [
        ColumnType::Integer,
        ColumnType::Decimal,
        ColumnType::Float,
        ColumnType::Date,
        ColumnType::Text,
    ];
    prop::sample::select(types.to_vec()).prop_flat_map(|kind| {
        let chunk = prop::collection::vec(cell(kind), 1..12);
        (Just(kind), prop::collection::vec(chunk, 1..5))
    })
}

proptest! {
    #[test]
    fn two_passes_give_the_codes_of_one(
        (column_type, texts) in column(),
        as_category in any::<bool>(),
        with_hierarchy in any::<bool>(),
    ) {
        let spec = HierarchySpec::Suppress;
        let coding = if column_type.is_ordered() && !as_category {
            Coding::Ordered
        } else {
            Coding::Categories { hierarchy: with_hierarchy.then_some(&spec), by_frequency: true }
        };
        let chunks: Vec<ColumnChunk> =
            texts.iter().map(|cells| chunk_of(column_type, cells)).collect();
        let raw = RawColumn {
            name: "c".to_owned(),
            column_type,
            data_type: None,
            chunks: chunks.clone(),
        };
        let expected = encode(raw, coding).unwrap();

        let survey = |look| {
            let mut survey = ColumnSurvey::new("c", look);
            chunks.iter().for_each(|chunk| survey.add(ChunkSurvey::of(chunk, look)).unwrap());
            survey
        };
        let mut found = survey(Look::for_column(column_type, coding));
        if found.needs_values() {
            found = survey(Look::Values);
        }
        let mut coder = found.finish(column_type, None, coding).unwrap();
        coder.count_values();
        let codes: Vec<Vec<u32>> =
            chunks.iter().map(|chunk| coder.encode(chunk.clone()).unwrap()).collect();
        prop_assert_eq!(&codes, &expected.codes);
        let domain = coder.into_domain();
        prop_assert_eq!(domain.n_missing(), expected.domain.n_missing());
        prop_assert_eq!(domain.n_values(), expected.domain.n_values());
        prop_assert_eq!(domain.code_range(), expected.domain.code_range());
        for code in codes.into_iter().flatten() {
            let (mut text, mut expected_text) = (String::new(), String::new());
            domain.write_value(code, &mut text);
            expected.domain.write_value(code, &mut expected_text);
            prop_assert_eq!(text, expected_text);
        }
    }
}
