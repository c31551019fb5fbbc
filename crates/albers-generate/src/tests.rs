//! Tables are functions of their seed, have the sizes of the papers and fit their hierarchies.

use std::collections::{BTreeMap, BTreeSet};

use albers_table::sink::{FileSink, Sink as _, WriteOptions};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use rustc_hash::FxHashSet;

use super::*;

/// Figure 9: name, distinct values, height of the hierarchy.
const ADULT: [(&str, usize, usize); 9] = [
    ("age", 74, 4),
    ("sex", 2, 1),
    ("race", 5, 1),
    ("marital-status", 7, 2),
    ("education", 16, 3),
    ("native-country", 41, 2),
    ("workclass", 7, 2),
    ("occupation", 14, 2),
    ("salary-class", 2, 1),
];
const LANDS_END: [(&str, usize, usize); 8] = [
    ("zipcode", 31_953, 5),
    ("order-date", 320, 3),
    ("gender", 2, 1),
    ("style", 1_509, 1),
    ("price", 346, 4),
    ("quantity", 1, 1),
    ("cost", 1_412, 4),
    ("shipment", 2, 1),
];

fn batches(kind: Kind, n_rows: u64, seed: u64) -> Vec<RecordBatch> {
    Generator::new(kind, n_rows, seed, Options::default()).unwrap().into_batches().collect()
}

/// The distinct values of each column, as text.
fn distinct(kind: Kind, n_rows: u64) -> Vec<(String, FxHashSet<String>)> {
    let generator = Generator::new(kind, n_rows, 11, Options::default()).unwrap();
    let schema = generator.schema();
    let mut found: Vec<(String, FxHashSet<String>)> =
        schema.fields().iter().map(|field| (field.name().clone(), FxHashSet::default())).collect();
    for batch in generator.into_batches() {
        for ((_, seen), column) in found.iter_mut().zip(batch.columns()) {
            if let Some(texts) = column.as_string_opt::<i32>() {
                for text in texts.iter().flatten() {
                    if !seen.contains(text) {
                        seen.insert(text.to_owned());
                    }
                }
            } else {
                let format = FormatOptions::default();
                let format = ArrayFormatter::try_new(column.as_ref(), &format).unwrap();
                seen.extend((0..column.len()).map(|row_idx| format.value(row_idx).to_string()));
            }
        }
    }
    found
}

fn assert_distinct(kind: Kind, n_rows: u64, expected: &[(&str, usize, usize)], reached: bool) {
    let found = distinct(kind, n_rows);
    assert_eq!(found.len(), expected.len());
    for ((name, seen), (expected_name, n_distinct, _)) in found.iter().zip(expected) {
        assert_eq!(name, expected_name);
        assert!(seen.len() <= *n_distinct, "{name}: {}", seen.len());
        assert!(!reached || seen.len() == *n_distinct, "{name}: {}", seen.len());
    }
}

#[test]
fn the_same_seed_gives_the_same_table_and_another_seed_does_not() {
    for kind in Kind::ALL {
        let table = batches(kind, 70_000, 5);
        assert_eq!(table, batches(kind, 70_000, 5), "{kind}");
        let other = batches(kind, 70_000, 6);
        assert_ne!(table[0], other[0], "{kind}");
        assert_ne!(table[0].slice(0, 4000), table[1].slice(0, 4000), "{kind}");
    }
}

#[test]
fn threads_change_nothing() {
    for kind in Kind::ALL {
        let with_threads = |n_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
            pool.install(|| batches(kind, 200_000, 9))
        };
        assert_eq!(with_threads(1), with_threads(3), "{kind}");
    }
}

#[test]
fn a_longer_table_starts_with_the_blocks_of_a_shorter_one() {
    for kind in Kind::ALL {
        let (short, long) = (batches(kind, 66_000, 1), batches(kind, 140_000, 1));
        assert_eq!(short[0], long[0], "{kind}");
        assert_eq!(short[1].num_rows(), 66_000 - BLOCK_ROWS);
        assert_eq!(short[1], long[1].slice(0, short[1].num_rows()), "{kind}");
    }
}

#[test]
fn any_number_of_rows_is_a_table() {
    for kind in Kind::ALL {
        assert!(batches(kind, 0, 1).is_empty());
        for n_rows in [1, 65_536, 65_537] {
            let table = batches(kind, n_rows, 1);
            let n_made: usize = table.iter().map(RecordBatch::num_rows).sum();
            assert_eq!(n_made as u64, n_rows, "{kind}");
        }
        let huge = Generator::new(kind, 9_000_000_000, 1, Options::default()).unwrap();
        assert_eq!(huge.block(huge.n_blocks() - 1).num_rows() as u64, 9_000_000_000 % 65_536);
    }
}

#[test]
fn a_table_without_rows_is_written_as_its_header() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("voters.csv");
    let generator = Generator::new(Kind::Voters, 0, 1, Options::default()).unwrap();
    let mut writer = FileSink::new(&path, None, None).unwrap();
    writer.begin(generator.schema(), WriteOptions::default()).unwrap();
    for batch in generator.into_batches() {
        writer.write(&batch).unwrap();
    }
    writer.finish().unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "age,zipcode,salary\n");
}

#[test]
fn agrawal_has_nine_columns_until_asked_for_more() {
    let names = |options: Options| -> Vec<String> {
        let generator = Generator::new(Kind::Agrawal, 10, 1, options).unwrap();
        assert_eq!(generator.block(0).num_columns(), generator.schema().fields().len());
        generator.schema().fields().iter().map(|field| field.name().clone()).collect()
    };
    let nine = names(Options::default());
    assert_eq!(nine.len(), 9);
    let one = Options { class_functions: [ClassFunction::C7].into(), ..Options::default() };
    assert_eq!(names(one)[9..], ["class"]);
    let all = Options {
        class_functions: ClassFunction::ALL.into(),
        target_functions: TargetFunction::ALL.into(),
        ..Options::default()
    };
    assert_eq!(names(all)[9..], ["c2", "c3", "c4", "c5", "c6", "c7", "c9", "r7", "r10"]);
}

#[test]
fn labels_and_targets_leave_the_attributes_as_they_were() {
    let options = Options {
        class_functions: [ClassFunction::C2].into(),
        target_functions: [TargetFunction::R10].into(),
        ..Options::default()
    };
    let with = Generator::new(Kind::Agrawal, 1000, 3, options).unwrap().block(0);
    let without = &batches(Kind::Agrawal, 1000, 3)[0];
    assert_eq!(with.columns()[..9], without.columns()[..]);
}

#[test]
fn options_of_another_kind_are_refused() {
    let options = Options { target_functions: TargetFunction::ALL.into(), ..Options::default() };
    let normal = Options { salary: Salary::Normal, ..Options::default() };
    for kind in [Kind::LandsEnd, Kind::Customer, Kind::Adult, Kind::Voters] {
        assert!(Generator::new(kind, 1, 1, options.clone()).is_err());
        assert!(Generator::new(kind, 1, 1, normal.clone()).is_err());
    }
    let zipcode = Options { has_zipcode: true, ..Options::default() };
    for kind in [Kind::Agrawal, Kind::LandsEnd, Kind::Customer, Kind::Voters] {
        assert!(Generator::new(kind, 1, 1, zipcode.clone()).is_err());
    }
}

#[test]
fn constants_to_vary_need_a_function_that_has_some() {
    let options = |functions: &[ClassFunction]| Options {
        class_functions: functions.iter().copied().collect(),
        constants_seed: Some(1),
        ..Options::default()
    };
    let made = |functions| Generator::new(Kind::Agrawal, 1000, 1, options(functions));
    assert!(made(&[]).is_err() && made(&[ClassFunction::C7, ClassFunction::C9]).is_err());
    let varied = made(&[ClassFunction::C3, ClassFunction::C7]).unwrap().block(0);
    let functions = [ClassFunction::C3, ClassFunction::C7].into();
    let published = Options { class_functions: functions, ..Options::default() };
    let published = Generator::new(Kind::Agrawal, 1000, 1, published).unwrap().block(0);
    assert_eq!(varied.columns()[..9], published.columns()[..9]);
    assert_ne!(varied.column(9), published.column(9), "C3 has other constants");
    assert_eq!(varied.column(10), published.column(10), "C7 has none to vary");
}

#[test]
fn a_postal_code_leaves_the_census_as_it_was_and_is_dense_in_places() {
    let options = Options { has_zipcode: true, ..Options::default() };
    let generator = |n_rows| Generator::new(Kind::Adult, n_rows, 3, options.clone()).unwrap();
    let (long, without) = (generator(140_000), batches(Kind::Adult, 140_000, 3));
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for (block_idx, plain) in without.iter().enumerate() {
        let block = long.block(block_idx as u64);
        assert_eq!(block.columns()[..9], plain.columns()[..]);
        for code in block.column(9).as_string::<i32>().iter().flatten() {
            assert!(code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_digit()));
            *counts.entry(code.to_owned()).or_default() += 1;
        }
    }
    assert_eq!(generator(66_000).block(1), long.block(1).slice(0, 66_000 - BLOCK_ROWS));
    let hierarchies = hierarchies(Kind::Adult, &options);
    let (name, rows) = hierarchies.last().unwrap();
    assert_eq!((*name, rows.len(), rows[0].len()), ("zipcode", 5_000, 6));
    let known: FxHashSet<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert!(counts.keys().all(|code| known.contains(code.as_str())));
    let mut counts: Vec<u32> = counts.into_values().collect();
    counts.sort_unstable();
    let top: u32 = counts[counts.len() - counts.len() / 10..].iter().sum();
    assert!(top > 70_000, "the densest tenth of the codes has {top} of 140,000 people");
    assert!(counts.len() > 3_000 && counts[0] <= 2, "and some codes are sparse");
}

#[test]
fn names_read_back_and_others_are_refused_with_a_hint() {
    for kind in Kind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    assert!("census".parse::<Kind>().unwrap_err().contains("lands-end"));
    for function in ClassFunction::ALL {
        assert_eq!(function.to_string().to_uppercase().parse(), Ok(function));
    }
    for function in TargetFunction::ALL {
        assert_eq!(function.to_string().parse(), Ok(function));
    }
    for salary in Salary::ALL {
        assert_eq!(salary.to_string().parse(), Ok(salary));
    }
    assert!("gamma".parse::<Salary>().unwrap_err().contains("normal"));
    assert!("c8".parse::<ClassFunction>().unwrap_err().contains("c2"));
}

#[test]
fn adult_has_the_distinct_counts_of_figure_9() {
    assert_distinct(Kind::Adult, 300, &ADULT, false);
    assert_distinct(Kind::Adult, 400_000, &ADULT, true);
}

#[test]
fn lands_end_has_the_distinct_counts_of_figure_9() {
    assert_distinct(Kind::LandsEnd, 300, &LANDS_END, false);
    assert_distinct(Kind::LandsEnd, Kind::LandsEnd.default_rows(), &LANDS_END, true);
}

#[test]
fn hierarchies_cover_every_value_and_have_the_heights_of_figure_9() {
    for (kind, expected) in [(Kind::Adult, &ADULT[..]), (Kind::LandsEnd, &LANDS_END[..])] {
        let hierarchies = hierarchies(kind, &Options::default());
        let found = distinct(kind, 100_000);
        assert_eq!(hierarchies.len(), expected.len());
        for ((name, rows), (expected_name, n_distinct, height)) in hierarchies.iter().zip(expected)
        {
            assert_eq!(name, expected_name);
            assert!(
                rows.iter().all(|row| row.len() == height + 1 && row[*height] == "*"),
                "{name}"
            );
            let leaves: FxHashSet<&str> = rows.iter().map(|row| row[0].as_str()).collect();
            assert_eq!((leaves.len(), rows.len()), (*n_distinct, *n_distinct), "{name}");
            let (_, seen) = found.iter().find(|(column, _)| column == name).unwrap();
            assert!(seen.iter().all(|value| leaves.contains(value.as_str())), "{name}");
        }
    }
}

#[test]
fn hierarchies_of_agrawal_cover_every_education_and_every_car() {
    let found = distinct(Kind::Agrawal, 5_000);
    let hierarchies = hierarchies(Kind::Agrawal, &Options::default());
    let heights: Vec<(&str, usize, usize)> =
        hierarchies.iter().map(|(name, rows)| (*name, rows.len(), rows[0].len() - 1)).collect();
    assert_eq!(heights, [("elevel", 5, 2), ("car", 20, 3)]);
    for (name, rows) in &hierarchies {
        let leaves: FxHashSet<&str> = rows.iter().map(|row| row[0].as_str()).collect();
        let (_, seen) = found.iter().find(|(column, _)| column == name).unwrap();
        assert!(seen.iter().all(|value| leaves.contains(value.as_str())), "{name}");
    }
}

#[test]
fn hierarchies_are_nested_and_every_level_is_coarser() {
    let options = |kind| Options { has_zipcode: kind == Kind::Adult, ..Options::default() };
    for kind in [Kind::Adult, Kind::LandsEnd, Kind::Agrawal] {
        for (name, rows) in hierarchies(kind, &options(kind)) {
            let mut previous = usize::MAX;
            for level in 0..rows[0].len() {
                let mut parents: BTreeMap<&str, &str> = BTreeMap::new();
                for row in rows.iter().filter(|row| level + 1 < row.len()) {
                    let parent = parents.entry(&row[level]).or_insert(&row[level + 1]);
                    assert_eq!(*parent, row[level + 1], "{name}");
                }
                let n_labels = rows.iter().map(|row| &row[level]).collect::<BTreeSet<_>>().len();
                assert!(n_labels < previous || n_labels == 1, "{name}, level {level}");
                previous = n_labels;
            }
            let labels = |level: usize| rows.iter().map(move |row| (row[level].as_str(), level));
            let levels: BTreeSet<(&str, usize)> = (0..rows[0].len()).flat_map(labels).collect();
            let names: BTreeSet<&str> = levels.iter().map(|(label, _)| *label).collect();
            assert_eq!(levels.len(), names.len(), "{name}: one label, one level");
        }
    }
}

#[test]
fn customers_have_fifteen_attributes_and_a_town_that_fits_their_codes() {
    let table = &batches(Kind::Customer, 60_000, 2)[0];
    assert_eq!(table.num_columns(), 15);
    let text = |name: &str| table.column_by_name(name).unwrap().as_string::<i32>();
    let mut towns: BTreeMap<&str, &str> = BTreeMap::new();
    let mut prefixes: BTreeMap<&str, &str> = BTreeMap::new();
    for row_idx in 0..table.num_rows() {
        let town = text("city").value(row_idx);
        let code = text("postal-code").value(row_idx);
        assert_eq!(code.len(), 5);
        assert_eq!(*towns.entry(code).or_insert(town), town);
        let prefix = text("phone-prefix").value(row_idx);
        assert_eq!(*prefixes.entry(town).or_insert(prefix), prefix);
    }
    assert_eq!(prefixes.len(), 48);
}

#[test]
fn attributes_that_belong_together_go_together() {
    use arrow_array::types::Int32Type;
    let adult = &batches(Kind::Adult, 50_000, 2)[0];
    let ages = adult.column_by_name("age").unwrap().as_primitive::<Int32Type>();
    let text = |name: &str| adult.column_by_name(name).unwrap().as_string::<i32>();
    let share = |column: &str, label: &str, among: &dyn Fn(usize) -> bool| {
        let rows: Vec<usize> = (0..adult.num_rows()).filter(|&row_idx| among(row_idx)).collect();
        let n_hits = rows.iter().filter(|&&row_idx| text(column).value(row_idx) == label).count();
        n_hits as f64 / rows.len() as f64
    };
    let rich = |among: &dyn Fn(usize) -> bool| share("salary-class", "over 50K", among);
    assert!(share("marital-status", "never-married", &|row| ages.value(row) < 20) > 0.9);
    assert!(share("marital-status", "never-married", &|row| ages.value(row) > 50) < 0.2);
    assert!(rich(&|row| text("education").value(row) == "doctorate") > 0.6);
    assert!(rich(&|row| text("education").value(row) == "grade-9") < 0.1);
    let all = rich(&|_| true);
    assert!((0.2..0.3).contains(&all), "{all}");

    let sales = &batches(Kind::LandsEnd, 50_000, 2)[0];
    let cents = |name: &str| sales.column_by_name(name).unwrap().as_primitive::<Int32Type>();
    let pairs = cents("price").values().iter().zip(cents("cost").values());
    assert!(
        pairs.clone().all(|(price, cost)| cost * 10 <= price * 8 && cost * 10 >= price * 4 - 40)
    );
}

#[test]
fn lands_end_is_skewed() {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for batch in batches(Kind::LandsEnd, 200_000, 2) {
        for style in batch.column_by_name("style").unwrap().as_string::<i32>().iter().flatten() {
            *counts.entry(style.to_owned()).or_default() += 1;
        }
    }
    let mut counts: Vec<u32> = counts.into_values().collect();
    counts.sort_unstable();
    let top: u32 = counts[counts.len() - counts.len() / 10..].iter().sum();
    assert!(top > 80_000, "the top tenth of the styles has {top} of 200,000 sales");
}
