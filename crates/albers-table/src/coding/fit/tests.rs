use proptest::prelude::*;

use super::*;
use crate::chunk::TextColumnBuilder;
use crate::coding::{ChunkSurvey, CodingPlan, RawColumn, code_column};
use crate::hierarchy::{HierarchyRows, HierarchySpec};
use crate::schema::ColumnType;

/// The coding of a column of texts.
fn coding_of(column_type: ColumnType, texts: &[String], plan: CodingPlan<'_>) -> ColumnCoding {
    let chunk = chunk_of(column_type, texts);
    let column =
        RawColumn { name: "x".to_owned(), column_type, data_type: None, chunks: vec![chunk] };
    code_column(column, plan).unwrap().0
}

fn chunk_of(column_type: ColumnType, texts: &[String]) -> ColumnChunk {
    let mut builder = TextColumnBuilder::new(column_type);
    for text in texts {
        match text.as_str() {
            "" => builder.push_missing(),
            text => builder.push(text.as_bytes()).unwrap(),
        }
    }
    builder.finish().map_err(|_| "the cells are valid").unwrap()
}

fn decimals() -> impl Strategy<Value = Vec<String>> {
    let decimal = (-40..40i32, 0..3usize, 0..100u32).prop_map(|(whole, n_digits, fraction)| {
        let text = format!("{whole}.{fraction:02}");
        text[..text.len() - 2 + n_digits].trim_end_matches('.').to_owned()
    });
    let cell = prop_oneof![8 => decimal, 1 => Just(String::new())];
    prop::collection::vec(cell, 1..12)
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}

/// So many cases, unless `PROPTEST_CASES` asks for another number.
fn config() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig::with_cases(asked.unwrap_or(64))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_later_value_is_inside_if_it_lies_between_known_ones_and_goes_the_way_of_the_next(
        known in decimals(),
        later in decimals(),
        kind in prop::sample::select(&[ColumnType::Decimal, ColumnType::Float][..])
    ) {
        let coding = coding_of(kind, &known, CodingPlan::Ordered);
        let chunk = chunk_of(kind, &later);
        let placed = coding.placed(&chunk);
        let values: Vec<f64> = known.iter().filter_map(|text| number(text)).collect();
        let has_missing = known.iter().any(String::is_empty);
        let (min, max) = values.iter().fold((f64::MAX, f64::MIN), |(lo, hi), &own| (lo.min(own), hi.max(own)));
        let mut all_inside = true;
        for (row, text) in later.iter().enumerate() {
            let expected = match number(text) {
                None if has_missing => Fit::Inside,
                None => Fit::Unknown,
                Some(_) if values.is_empty() => Fit::Unknown,
                Some(own) if min <= own && own <= max => Fit::Inside,
                Some(_) => Fit::Beyond,
            };
            prop_assert_eq!(placed.fits[row], expected, "{}", text);
            all_inside &= expected == Fit::Inside;
            if let (Some(own), false) = (number(text), values.is_empty()) {
                let code = |text: &String| coding.placed(&chunk_of(kind, std::slice::from_ref(text))).codes[0];
                for other in known.iter().filter(|other| !other.is_empty()) {
                    let is_at_or_above = number(other).unwrap() >= own.min(max);
                    prop_assert_eq!(code(other) >= placed.codes[row], is_at_or_above, "{} and {}", text, other);
                }
            }
        }
        prop_assert_eq!(coding.covers(&chunk), all_inside);
    }

    #[test]
    fn a_coding_for_later_rows_keeps_every_known_value_on_its_side(
        known in decimals(),
        later in decimals(),
        kind in prop::sample::select(&[ColumnType::Decimal, ColumnType::Float][..])
    ) {
        let coding = coding_of(kind, &known, CodingPlan::Ordered);
        let all = chunk_of(kind, &later);
        let fits = coding.placed(&all).fits;
        let rows: Vec<u32> =
            (0u32..).zip(&fits).filter(|(_, fit)| **fit == Fit::Inside).map(|(row, _)| row).collect();
        let inside = coding.fitted(all.select(&rows));
        let look = coding.later_look();
        let mut survey = coding.later_survey(look);
        survey.add(ChunkSurvey::of(&inside, look)).unwrap();
        let Ok((coder, change)) = coding.for_later(survey) else { return Ok(()) };
        let codes = coder.encode(inside).unwrap();
        let routed = coding.placed(&all.select(&rows)).codes;
        // A cut after any known value leaves each later one where the next known value lies.
        for cut in known.iter().filter(|text| !text.is_empty()) {
            let cut = coding.encode(chunk_of(kind, std::slice::from_ref(cut))).unwrap()[0];
            let changed = change.code(crate::code::Code::new(cut)).get();
            for (own, way) in codes.iter().zip(&routed) {
                prop_assert_eq!(*own <= changed, *way <= cut);
            }
        }
    }

    #[test]
    fn a_coding_grows_for_none_but_the_values_that_it_names(
        known in decimals(),
        later in decimals(),
        kind in prop::sample::select(&[ColumnType::Decimal, ColumnType::Float][..])
    ) {
        let coding = coding_of(kind, &known, CodingPlan::Ordered);
        let all = chunk_of(kind, &later);
        let fits = coding.placed(&all).fits;
        let grows = coding.grows_by(&all).unwrap_or(vec![false; later.len()]);
        let survey_of = |rows: &[u32]| {
            let look = coding.later_look();
            let mut survey = coding.later_survey(look);
            survey.add(ChunkSurvey::of(&coding.fitted(all.select(rows)), look)).unwrap();
            survey
        };
        let inside = (0u32..).zip(&fits).filter(|(_, fit)| **fit == Fit::Inside);
        let inside: Vec<u32> = inside.map(|(row, _)| row).collect();
        let has_grown = |row: u32| grows[row as usize];
        let others: Vec<u32> = inside.iter().copied().filter(|&row| !has_grown(row)).collect();
        prop_assert!(coding.for_later(survey_of(&others)).unwrap().1.is_identity());
        for &row in inside.iter().filter(|&&row| has_grown(row)) {
            prop_assert!(!known.contains(&later[row as usize]), "a known value needs no growth");
        }
    }
}

#[test]
fn a_leaf_that_no_row_had_is_known_and_a_name_that_no_leaf_has_is_not() {
    let mut spec =
        HierarchySpec::Rows(HierarchyRows::of_bytes("h", b"a,x,*\nb,x,*\nc,y,*\n".to_vec()).into());
    spec.read_file_within(1 << 20).unwrap();
    let plan = CodingPlan::Categories { hierarchy: Some(&spec), by_frequency: true };
    let texts = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let coding = coding_of(ColumnType::Text, &texts(&["a", "b", "b"]), plan);
    let later = chunk_of(ColumnType::Text, &texts(&["c", "d", "a", ""]));
    let fits = coding.placed(&later).fits;
    assert_eq!(fits, [Fit::Inside, Fit::Unknown, Fit::Inside, Fit::Unknown]);
    let inside = later.select(&[0, 2]);
    assert!(coding.covers(&inside));
    let mut survey = coding.later_survey(coding.later_look());
    survey.add(ChunkSurvey::of(&inside, coding.later_look())).unwrap();
    let (coder, change) = coding.for_later(survey).unwrap();
    assert!(change.is_identity());
    assert_eq!(coder.encode(inside).unwrap(), coding.placed(&later.select(&[0, 2])).codes);
}

#[test]
fn selected_rows_hold_nothing_of_others_in_the_place_of_a_missing_cell() {
    let texts = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let names = chunk_of(ColumnType::Text, &texts(&["poison", "", "a"])).select(&[1, 2]);
    let coding = coding_of(
        ColumnType::Text,
        &texts(&["a", ""]),
        CodingPlan::Categories { hierarchy: None, by_frequency: false },
    );
    assert!(coding.knows(&names));
    let ages = chunk_of(ColumnType::Integer, &texts(&["-5", "", "30"])).select(&[1, 2]);
    let coding = coding_of(ColumnType::Integer, &texts(&["30", ""]), CodingPlan::Ordered);
    assert!(coding.knows(&ages) && coding.covers(&ages));
}
