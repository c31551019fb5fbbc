use proptest::prelude::*;

use super::*;
use crate::chunk::TextColumnBuilder;
use crate::code::Code;
use crate::domain::End;

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
            CodingPlan::Ordered
        } else {
            CodingPlan::Categories { hierarchy: with_hierarchy.then_some(&spec), by_frequency: true }
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
        for code in codes.into_iter().flatten().map(Code::new) {
            let (mut text, mut expected_text) = (String::new(), String::new());
            domain.write_value(code, &mut text);
            expected.domain.write_value(code, &mut expected_text);
            prop_assert_eq!(text, expected_text);
        }
    }
}

/// How a column is coded.
fn plan() -> impl Strategy<Value = (bool, Option<HierarchySpec>)> {
    let rows = "a,x,*\nb,x,*\nc,y,*\nd,y,*\ne,z,*\n".to_owned()
        + &"abcde"
            .chars()
            .flat_map(|a| "abcde".chars().map(move |b| (a, b)))
            .fold(String::new(), |rows, (a, b)| rows + &format!("{a}{b},{b}_,*\n"));
    let rows = HierarchySpec::Rows(crate::hierarchy::HierarchyRows::of_text("rows", &rows).into());
    let spec = prop::sample::select(vec![
        None,
        Some(HierarchySpec::Suppress),
        Some(HierarchySpec::Prefix),
        Some("ranges:5,20".parse().unwrap()),
        Some(HierarchySpec::Dates(Default::default())),
        Some(rows),
    ]);
    (any::<bool>(), spec)
}

/// The plan, as far as it goes with a type.
fn plan_for<'a>(
    column_type: ColumnType,
    as_category: bool,
    spec: Option<&'a HierarchySpec>,
) -> CodingPlan<'a> {
    let fits = |spec: &&HierarchySpec| match spec.whole() {
        HierarchySpec::Suppress => true,
        HierarchySpec::Prefix => matches!(column_type, ColumnType::Text | ColumnType::Integer),
        HierarchySpec::Ranges(_) => {
            matches!(column_type, ColumnType::Integer | ColumnType::Decimal | ColumnType::Float)
        }
        HierarchySpec::Dates(_) => column_type == ColumnType::Date,
        HierarchySpec::Rows(_) | HierarchySpec::File(_) | HierarchySpec::AtLeast(..) => {
            column_type == ColumnType::Text
        }
    };
    if column_type.is_ordered() && !as_category {
        return CodingPlan::Ordered;
    }
    CodingPlan::Categories { hierarchy: spec.filter(fits), by_frequency: true }
}

/// The coding of some chunks, which knows the values that occur.
fn coding_of(
    column_type: ColumnType,
    chunks: &[ColumnChunk],
    plan: CodingPlan<'_>,
) -> ColumnCoding {
    let (name, chunks) = ("c".to_owned(), chunks.to_vec());
    code_column(RawColumn { name, column_type, data_type: None, chunks }, plan).unwrap().0
}

fn stored(coding: &Coding) -> Vec<u8> {
    let mut bytes = Vec::new();
    coding.write_to(&mut bytes).unwrap();
    bytes
}

fn text_of(domain: &Domain, code: Code) -> String {
    let mut text = String::new();
    domain.write_value(code, &mut text);
    text
}

proptest! {
    #[test]
    fn a_coding_is_read_back_as_it_was_written(
        (column_type, texts) in column(),
        (as_category, spec) in plan(),
    ) {
        let chunks: Vec<ColumnChunk> =
            texts.iter().map(|cells| chunk_of(column_type, cells)).collect();
        let plan = plan_for(column_type, as_category, spec.as_ref());
        let coding = Coding::new(vec![coding_of(column_type, &chunks, plan)]);
        let bytes = stored(&coding);
        let read = Coding::read_from(&mut bytes.as_slice()).unwrap();
        prop_assert_eq!(stored(&read), bytes);
        let [before, after] = [&coding, &read].map(|coding| &coding.columns()[0]);
        for chunk in &chunks {
            let codes = before.encode(chunk.clone()).unwrap();
            prop_assert_eq!(&after.encode(chunk.clone()).unwrap(), &codes);
            for code in codes.into_iter().map(Code::new) {
                prop_assert_eq!(text_of(before.domain(), code), text_of(after.domain(), code));
            }
        }
        prop_assert_eq!(before.domain().n_values(), after.domain().n_values());
        prop_assert_eq!(before.domain().code_range(), after.domain().code_range());
        prop_assert_eq!(before.domain().missing_code(), after.domain().missing_code());
        if let (Some(before), Some(after)) = (before.domain().hierarchy(), after.domain().hierarchy()) {
            after.check_invariants();
            prop_assert_eq!(before.level_maps(), after.level_maps());
        }
    }

    #[test]
    fn old_cuts_separate_the_same_rows_after_a_coding_has_grown(
        (column_type, batches) in column(),
        (as_category, spec) in plan(),
    ) {
        let chunks: Vec<ColumnChunk> =
            batches.iter().map(|cells| chunk_of(column_type, cells)).collect();
        let plan = plan_for(column_type, as_category, spec.as_ref());
        let mut coding = coding_of(column_type, &chunks[..1], plan);
        for n_known in 1..chunks.len() {
            let (grown, map) = coding.grown(&chunks[n_known..=n_known]).unwrap();
            let old_chunks = &chunks[..n_known];
            let [old_codes, new_codes] = [&coding, &grown].map(|coding| {
                let codes = old_chunks.iter().map(|chunk| coding.encode(chunk.clone()).unwrap());
                codes.flatten().map(Code::new).collect::<Vec<Code>>()
            });
            for (&old, &new) in old_codes.iter().zip(&new_codes) {
                prop_assert_eq!(map.code(old), new);
            }
            let (first, last) = coding.domain().code_range();
            let beyond = coding.domain().missing_code().unwrap_or(last).max(last);
            let near = old_codes.iter().flat_map(|&code| {
                [Code::new(code.get().saturating_sub(1)), code, code + 1]
            });
            for cut in near.chain([first, last]).filter(|&cut| cut <= beyond) {
                let new_cut = map.code(cut);
                for (&old, &new) in old_codes.iter().zip(&new_codes) {
                    prop_assert_eq!(old <= cut, new <= new_cut, "{:?} {:?}", old, cut);
                }
            }
            if let Some(hierarchy) = grown.domain().hierarchy() {
                hierarchy.check_invariants();
            }
            coding = grown;
        }
        // It knows what a coding of all rows at once knows.
        let whole = coding_of(column_type, &chunks, plan);
        prop_assert_eq!(whole.domain().n_values(), coding.domain().n_values());
        prop_assert_eq!(whole.domain().n_missing(), coding.domain().n_missing());
        for chunk in &chunks {
            let texts = |coding: &ColumnCoding| -> Vec<String> {
                let codes = coding.encode(chunk.clone()).unwrap();
                codes.into_iter().map(|code| text_of(coding.domain(), Code::new(code))).collect()
            };
            prop_assert_eq!(texts(&whole), texts(&coding));
        }
    }

    #[test]
    fn damaged_bytes_are_refused(at in any::<prop::sample::Index>(), bit in 0..8u8) {
        let chunk = chunk_of(ColumnType::Text, &["a", "b", ""].map(str::to_owned));
        let plan = CodingPlan::Categories { hierarchy: None, by_frequency: false };
        let bytes = stored(&Coding::new(vec![coding_of(ColumnType::Text, &[chunk], plan)]));
        let at = at.index(bytes.len());
        prop_assert!(Coding::read_from(&mut &bytes[..at]).is_err());
        let mut other = bytes;
        other[at] ^= 1 << bit;
        prop_assert!(Coding::read_from(&mut other.as_slice()).is_err());
    }
}

#[test]
fn bytes_of_another_version_are_refused_by_their_number() {
    let mut bytes = stored(&Coding::new(Vec::new()));
    bytes[b"albers coding".len()] = 7;
    let refusal = Coding::read_from(&mut bytes.as_slice()).err().unwrap();
    assert!(matches!(refusal, ReadCodingError::OtherVersion { found: 7 }), "{refusal}");
    let refusal = Coding::read_from(&mut &b"age,sex\n1,m\n"[..]).err().unwrap();
    assert!(matches!(refusal, ReadCodingError::NotACoding), "{refusal}");
}

#[test]
fn the_type_of_a_typed_file_is_stored() {
    let chunk = chunk_of(ColumnType::Timestamp, &["2024-01-01 00:00:00".to_owned()]);
    for zone in [None, Some("UTC".into())] {
        let data_type = DataType::Timestamp(arrow_schema::TimeUnit::Millisecond, zone);
        let look = Look::for_column(ColumnType::Timestamp, CodingPlan::Ordered);
        let mut survey = ColumnSurvey::new("seen", look);
        survey.add(ChunkSurvey::of(&chunk, look)).unwrap();
        let coder = survey.finish(ColumnType::Timestamp, Some(data_type), CodingPlan::Ordered);
        let coding = Coding::new(vec![coder.unwrap().into_coding()]);
        let read = Coding::read_from(&mut stored(&coding).as_slice()).unwrap();
        let [before, after] = [&coding, &read].map(|coding| coding.columns()[0].domain());
        assert_eq!(before.data_type(), after.data_type());
        assert_eq!(
            before.shown_code(Code::new(3), End::Low),
            after.shown_code(Code::new(3), End::Low)
        );
    }
}

#[test]
fn a_coding_grows_by_rows_of_the_same_columns_and_types_only() {
    let [ages, names] = [(ColumnType::Integer, "30"), (ColumnType::Text, "flu")]
        .map(|(kind, cell)| chunk_of(kind, &[cell.to_owned()]));
    let plan = CodingPlan::Categories { hierarchy: None, by_frequency: false };
    let coding = Coding::new(vec![
        coding_of(ColumnType::Integer, std::slice::from_ref(&ages), CodingPlan::Ordered),
        coding_of(ColumnType::Text, std::slice::from_ref(&names), plan),
    ]);
    let (grown, maps) = coding.grown(&[vec![ages.clone()], vec![names.clone()]]).unwrap();
    assert_eq!((grown.columns().len(), maps.len()), (2, 2));
    let refusal = coding.grown(&[vec![names], vec![ages]]).err().unwrap().to_string();
    assert!(refusal.contains("of another type") && !refusal.contains("flu"), "{refusal}");
}

#[test]
fn near_values_whose_occurrence_was_not_kept_do_not_become_far() {
    let chunks = ["5", "9999999999"].map(|n| chunk_of(ColumnType::Integer, &[n.to_owned()]));
    let survey = |chunk: &ColumnChunk| {
        let mut survey = ColumnSurvey::new("n", Look::Ends);
        survey.add(ChunkSurvey::of(chunk, Look::Ends)).unwrap();
        survey.finish(ColumnType::Integer, None, CodingPlan::Ordered).unwrap()
    };
    let refusal = survey(&chunks[0]).into_coding().grown(&chunks[1..]).err().unwrap();
    assert!(refusal.to_string().contains("too far apart"), "{refusal}");
    let mut coder = survey(&chunks[0]);
    coder.count_values();
    coder.encode(chunks[0].clone()).unwrap();
    assert!(coder.into_coding().grown(&chunks[1..]).is_ok());
}
