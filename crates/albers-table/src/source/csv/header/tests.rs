//! First lines of real tables, and of tables without names.

use proptest::prelude::*;

use super::*;
use crate::source::csv::records::BlankLines;

/// What the first line of a text with commas is.
fn first_line(text: &str) -> FirstLine {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let name = |name: &str| SourceColumn { name: name.trim().to_owned(), data_type: None };
    let columns: Vec<SourceColumn> = first.split(',').map(name).collect();
    let rows = Records::new(rest.as_bytes(), b',', BlankLines::of(columns.len()));
    judge(&columns, rows, &ReadOptions::default())
}

fn is_record(text: &str) -> bool {
    matches!(first_line(text), FirstLine::Record { .. })
}

/// Names as they stand in tables of people, with rows below them.
const NAMED: [&str; 23] = [
    "name,age,zip\nAnn,34,01907\nBen,29,01908\n",
    "sex,age,race,salary-class\nMale,39,White,<=50K\nMale,50,White,<=50K\n",
    "iage,irace,isex\n48,0,0\n42,1,0\n",
    "id,Q1,Q2,Q3\n1,2,3,4\n2,2,2,2\n",
    "icd10,drg\nA10,B20\nA11,B21\n",
    "name,1st_test,2nd_test\nAnn,85,90\nBen,70,75\n",
    "town,18-24,25-34\nUlm,100,120\nKiel,90,80\n",
    "town,25%,50%\nUlm,1.5,2.5\nKiel,1.0,3.0\n",
    "name,town\nAnn Miller,Ulm\nBen Young,Kiel\nCleo Hill,Ulm\n",
    "[id],[name]\n1,Ann\n2,Ben\n",
    "{id},name\n1,Ann\n2,Ben\n",
    "email,phone\nann@example.org,+49 171 5\nben@example.org,+49 172 6\n",
    "e-mail@home,smoker\nann@example.org,true\nben@example.org,false\n",
    "name,born,seen\nAnn,1980-01-02,2020-01-01 10:00:00\nBen,1981-02-03,2020-01-01 11:00:00\n",
    "name,2019\nAnn,good\nBen,bad\n",
    "t,f\n1.5,true\n2.5,false\n",
    "age\n34\n29\n",
    "disease\nflu\ncold\nflu\n",
    "name,age\n",
    "name,age\nAnn,34\n",
    "Geschlecht,Größe,Straße\nw,1.70,Hauptstraße 1\nm,1.80,Hauptstraße 2\n",
    "age,disease\n[20-30],flu\n[20-30],cold\n",
    "name,note\nAnn,\nBen,\n",
];

/// The same kinds of tables without names.
const NAMELESS: [&str; 24] = [
    "Ann,34,01907\nBen,29,01908\n",
    "Ann,01907\nBen,01908\nCleo,02139\n",
    "Ann,1980-01-02\nBen,1981-02-03\n",
    "Ann,2020-01-01 10:00:00\nBen,2020-01-01 11:00:00\n",
    "Ann,true\nBen,false\n",
    "Ann,1.5\nBen,2\n",
    "Ann,1e5\nBen,2.5\n",
    "Ann,3/12/1980\nBen,4/1/1981\n",
    "Ann,12.03.1980\nBen,13.04.1981\n",
    "Ann,+49 171 5\nBen,+49 172 6\n",
    "ann@example.org,x\nben.young@example.org,y\n",
    "Ann,F\nBen,M\nCleo,F\n",
    "flu\ncold\nflu\n",
    "34\n29\n",
    "Ann,34,flu\nBen,unknown,cold\nCleo,29,measles\n",
    "Ann,N/A,F\nBen,29,M\nCleo,31,F\n",
    "Ann,unknown,F,flu\nBen,29,M,cold\nCleo,31,F,flu\n",
    "Ann,34\n",
    "Ann,34",
    "Ann,34,\nBen,,\n",
    "F,>85,Bonn\nM,70,Trier\nF,71,Mainz\nM,72,Köln\n",
    "F,~90\nM,70\nF,71\n",
    "Ann,keine Angabe,F\nBen,34,M\nCleo,28,F\nDora,45,F\n",
    "Ann,ninety,F\nBen,34,M\nCleo,28,F\nDora,45,F\n",
];

#[test]
fn names_of_real_tables_are_names() {
    for text in NAMED {
        assert!(!is_record(text), "{text:?}");
    }
}

#[test]
fn records_of_real_tables_are_no_names() {
    for text in NAMELESS {
        assert!(is_record(text), "{text:?}");
    }
}

#[test]
fn years_above_numbers_look_like_a_record_until_the_user_says_otherwise() {
    assert_eq!(
        first_line("town,2019,2020\nUlm,5,6\nKiel,7,8\n"),
        FirstLine::Record { column_idx: 1 }
    );
}

#[test]
fn a_name_that_occurs_again_is_one_if_half_of_the_columns_speak_for_names() {
    assert!(is_record("sex,kind,age\nF,kind,30\nM,unkind,40\n"));
    assert!(!is_record("kind,age\nkind,30\nunkind,40\n"));
}

#[test]
fn words_above_numbers_are_surely_names_and_words_above_words_are_not() {
    assert_eq!(first_line("name,age\nAnn,34\n"), FirstLine::Names { surely: true });
    assert_eq!(first_line("Ann,Ulm\nBen,Kiel\n"), FirstLine::Names { surely: false });
}

#[test]
fn the_refusal_shows_no_cell_and_names_what_the_user_can_say() {
    let message = not_names("people.csv", 1).to_string();
    assert!(message.starts_with("people.csv: the first line looks like a record"), "{message}");
    assert!(message.contains("column 2"), "{message}");
    assert!(message.contains("`header = false`") && message.contains("`header = true`"));
}

#[test]
fn json_is_told_from_names_and_cells_in_brackets() {
    for text in ["{\"name\": 1}\n", "[\n  {\"a\": 1}", "{}", "[]", " [[1, 2]]", "{\n\"a\":1}"] {
        assert!(is_json(text.as_bytes()), "{text:?}");
    }
    for text in ["[id],[name]\n", "{a, b},x\n", "[20-30],F\n", "name,age\n", "{", "["] {
        assert!(!is_json(text.as_bytes()), "{text:?}");
    }
}

/// A cell of a column of some type; words are drawn so that none occurs twice.
fn cell(kind: usize, row_idx: usize, draw: u32) -> String {
    match kind {
        0 => draw.to_string(),
        1 => format!("{}.{}", draw % 1000, draw % 7),
        2 => format!("{:04}-{:02}-{:02}", 1900 + draw % 120, 1 + draw % 12, 1 + draw % 28),
        3 => format!("{:05}", draw % 10_000),
        4 => (draw.is_multiple_of(2)).to_string(),
        5 => format!("2020-01-{:02} {:02}:00:00", 1 + draw % 28, draw % 24),
        6 => ["blue", "green", "red"][draw as usize % 3].to_owned(),
        _ => format!("word{}", "x".repeat(row_idx + 1)),
    }
}

proptest! {
    #[test]
    fn a_table_that_lost_its_names_is_refused_unless_it_is_words_of_which_none_recurs(
        kinds in prop::collection::vec(0usize..8, 1..6),
        draws in prop::collection::vec(prop::collection::vec(any::<u32>(), 6), 1..40),
    ) {
        let rows: Vec<Vec<String>> = draws
            .iter()
            .enumerate()
            .map(|(row_idx, draws)| {
                kinds.iter().zip(draws).map(|(&kind, &draw)| cell(kind, row_idx, draw)).collect()
            })
            .collect();
        let text: String = rows.iter().map(|row| row.join(",") + "\n").collect();
        let recurs = |at: usize| rows[1..].iter().any(|row| row[at] == rows[0][at]);
        let is_telling = kinds.iter().enumerate().any(|(at, &kind)| kind < 6 || recurs(at));
        prop_assert_eq!(is_record(&text), is_telling, "{}", text);

        let names: Vec<String> = (0..kinds.len()).map(|at| format!("name{at}")).collect();
        let named = format!("{}\n{text}", names.join(","));
        prop_assert!(!is_record(&named), "{}", named);
    }
}
