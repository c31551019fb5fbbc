use std::io::Write;

use crate::code::Code;
use crate::hierarchy::{Hierarchy, HierarchyRows, HierarchySpec, Node};
use crate::schema::ColumnType;
use crate::{Result, TableError};

const SECRETS: [&str; 3] = ["Xanthippe", "Yorick", "Zenobia"];

fn read_as(column_type: ColumnType, bytes: &[u8], values: &[&str]) -> Result<Hierarchy> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
    let spec = HierarchySpec::File(file.path().to_owned());
    Hierarchy::build(&spec, "name", column_type, &values)
}

fn read(text: &str, values: &[&str]) -> Hierarchy {
    let hierarchy = read_as(ColumnType::Text, text.as_bytes(), values).unwrap();
    hierarchy.check_invariants();
    hierarchy
}

/// The line and the message of a refusal, which must not show a value.
fn refusal(text: &str, values: &[&str]) -> (Option<u64>, String) {
    refusal_of(read_as(ColumnType::Text, text.as_bytes(), values))
}

fn refusal_of(result: Result<Hierarchy>) -> (Option<u64>, String) {
    let error = result.unwrap_err();
    let message = error.to_string();
    let shown = format!("{message} {error:?}");
    let secrets = SECRETS.iter().chain(&["Secret", "Hidden"]);
    assert!(secrets.into_iter().all(|secret| !shown.contains(secret)), "{shown}");
    let TableError::Hierarchy { line, .. } = error else { panic!("{message}") };
    (line, message)
}

fn labels(hierarchy: &Hierarchy, level: usize) -> Vec<&str> {
    (0..hierarchy.n_nodes(level)).map(|index| hierarchy.label(Node { level, index })).collect()
}

#[test]
fn scattered_rows_come_into_depth_first_order() {
    let hierarchy = read("a;A;*\nb;B;*\nc;A;*\nd;B;*\n", &["a", "b", "c", "d"]);
    assert_eq!(labels(&hierarchy, 0), ["a", "c", "b", "d"]);
    assert_eq!(labels(&hierarchy, 1), ["A", "B"]);
    assert!(!hierarchy.added_top());
}

#[test]
fn every_delimiter_is_recognized() {
    for delimiter in [";", "\t", "|", ","] {
        let text = "a;A;*\nb;B;*\n".replace(';', delimiter);
        assert_eq!(labels(&read(&text, &["a", "b"]), 1), ["A", "B"]);
    }
}

#[test]
fn commas_inside_labels_do_not_make_a_delimiter() {
    let hierarchy = read("0;[0,4];[0,9]\n7;[5,9];[0,9]\n", &["0", "7"]);
    assert_eq!(labels(&hierarchy, 1), ["[0,4]", "[5,9]"]);
    let hierarchy = read("a;b,A;c,*\nd;e,A;f,*\n", &["a;b", "d;e"]);
    assert_eq!(labels(&hierarchy, 0), ["a;b", "d;e"]);
}

#[test]
fn quotes_line_ends_blank_lines_and_byte_order_marks_are_understood() {
    let text = "\u{feff}\"a;\"\"x\"\"\";A;*\r\n\r\n  \r\n\"b\r\nb\";\"A\";*\r\nc;B\"B;*";
    let hierarchy = read(text, &["a;\"x\"", "b\r\nb", "c"]);
    assert_eq!(labels(&hierarchy, 1), ["A", "B\"B"]);
    assert_eq!(hierarchy.n_leaves(), 3);
    let (line, _) = refusal("\r\n\"a\nb\";A;*\nc;C\n", &["c"]);
    assert_eq!(line, Some(4));
}

#[test]
fn packed_files_are_unpacked() {
    // printf 'a;*\nb;*\n' | gzip -n
    let packed = [
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 0xb4, 0xd6, 0xe2, 0x4a, 2, 0x62, 0, 0xda, 0xa0,
        0x2f, 9, 8, 0, 0, 0,
    ];
    let mut file = tempfile::Builder::new().suffix(".gz").tempfile().unwrap();
    file.write_all(&packed).unwrap();
    let spec = HierarchySpec::File(file.path().to_owned());
    let values = ["a".to_owned(), "b".to_owned()];
    assert_eq!(Hierarchy::build(&spec, "name", ColumnType::Text, &values).unwrap().n_leaves(), 2);
}

#[test]
fn more_leaves_than_values_count_in_the_domain() {
    let hierarchy = read("a;*\nb;*\nc;*\n", &["b"]);
    assert_eq!(hierarchy.n_leaves(), 3);
}

#[test]
fn several_tops_get_a_root() {
    let hierarchy = read("a;A\nb;B\n", &["a", "b"]);
    assert!(hierarchy.added_top());
    assert_eq!((hierarchy.height(), labels(&hierarchy, 2)), (2, vec!["*"]));
}

#[test]
fn a_list_of_leaves_gets_a_root() {
    for text in ["a\nb, c\n", "\"a\"\n\"b, c\"\n", "name\na\nb, c\n"] {
        let hierarchy = read(text, &["a", "b, c"]);
        assert!(hierarchy.added_top());
        assert_eq!((hierarchy.height(), hierarchy.n_leaves()), (1, 2));
    }
}

#[test]
fn leaves_are_matched_in_canonical_form() {
    let bytes = b"007;low;*\n12;high;*\n";
    let hierarchy = read_as(ColumnType::Integer, bytes, &["7", "12"]).unwrap();
    assert_eq!(hierarchy.code_of("7"), Some(Code::ZERO));
}

#[test]
fn headers_are_skipped() {
    for header in ["name;group;all", "Name;group;all", "value;level1;level2", "Level 0;x;y"] {
        assert_eq!(read(&format!("{header}\na;A;*\n"), &["a"]).n_leaves(), 1);
    }
    let bytes = b"years;group;all\n1;A;*\n";
    assert_eq!(read_as(ColumnType::Integer, bytes, &["1"]).unwrap().n_leaves(), 1);
    assert_eq!(read("name;group\na;*\n", &[]).n_leaves(), 1);
}

#[test]
fn a_first_row_that_may_be_a_leaf_is_one() {
    assert_eq!(read("name;group;*\na;A;*\n", &["a"]).n_leaves(), 2);
    assert_eq!(read("name;group;all\na;A;top\n", &["a", "name"]).n_leaves(), 2);
    assert_eq!(read("other;group;all\na;A;top\n", &["a"]).n_leaves(), 2);
}

#[test]
fn a_leaf_may_come_twice_with_the_same_path() {
    assert_eq!(read("a;A;*\na;A;*\n", &["a"]).n_leaves(), 1);
}

#[test]
fn a_leaf_with_two_paths_is_refused_with_both_lines() {
    let (line, message) = refusal("Xanthippe;A;*\nYorick;A;*\nXanthippe;B;*\n", &SECRETS[..2]);
    assert_eq!(line, Some(3));
    assert!(message.contains("line 1"), "{message}");
}

#[test]
fn ragged_rows_are_refused_with_both_numbers_of_levels() {
    let (line, message) = refusal("Xanthippe;A;*\n\nYorick;*\n", &SECRETS[..2]);
    assert_eq!(line, Some(3));
    assert!(message.contains("expected 3 levels, found 2"), "{message}");
}

#[test]
fn more_levels_than_anybody_means_are_refused() {
    let line = |leaf: &str, n_levels: usize| format!("{leaf}{};*\n", ";A".repeat(n_levels - 2));
    read(&line("Xanthippe", 255), &SECRETS[..1]);
    let text = line("Xanthippe", 3) + &line("Yorick", 256);
    let (line, message) = refusal(&text, &SECRETS[..2]);
    assert_eq!(line, Some(2));
    assert!(message.contains("at most 255 levels, found 256"), "{message}");
}

#[test]
fn labels_beyond_the_most_levels_are_counted_and_not_kept() {
    let text = ",".repeat(100_000);
    let mut records = super::Records::new(&text, Some(','));
    let Some(Ok(record)) = records.next() else { panic!("it is one row") };
    assert_eq!((record.n_fields, record.fields.len()), (100_001, super::MAX_LEVELS + 1));
    let (line, message) = refusal(&format!("Xanthippe,*\n{text}\n"), &SECRETS[..1]);
    assert_eq!(line, Some(2));
    assert!(message.contains("at most 255 levels, found 100001"), "{message}");
}

#[test]
fn a_label_under_two_parents_is_refused() {
    let text = "Xanthippe;Secret;A;*\nYorick;Hidden;A;*\nZenobia;Secret;B;*\n";
    let (line, message) = refusal(text, &SECRETS);
    assert_eq!(line, Some(3));
    assert!(message.contains("level 1") && message.contains("line 1"), "{message}");
}

#[test]
fn a_label_of_two_levels_with_other_leaves_is_refused() {
    let (line, message) = refusal("Secret;Secret;*\nYorick;Secret;*\n", &["Yorick"]);
    assert_eq!(line, Some(2), "{message}");
    let (line, message) = refusal("Secret;A;*\nb;B;*\nYorick;Secret;*\n", &["Yorick"]);
    assert_eq!(line, Some(3));
    assert!(message.contains("level 0") && message.contains("level 1"), "{message}");
    let (line, _) = refusal("Yorick;Secret;*\nb;B;*\nSecret;A;*\n", &["Yorick"]);
    assert_eq!(line, Some(3));
}

#[test]
fn a_label_that_equals_the_added_root_is_refused() {
    let (line, message) = refusal("Xanthippe;*\nYorick;Hidden\n", &SECRETS[..2]);
    assert_eq!(line, Some(2));
    assert!(message.contains("`*`"), "{message}");
    let (_, message) = refusal("Hidden;x;y\nYorick;A;*\n", &["Yorick"]);
    assert!(message.contains("header"), "{message}");
}

#[test]
fn a_label_of_two_levels_with_equal_leaves_is_fine() {
    let hierarchy = read("a;a;*;*\nb;B;*;*\nc;B;*;*\n", &["a", "b", "c"]);
    assert_eq!(hierarchy.node_by_label("a"), Some(Node { level: 0, index: 0 }));
    assert_eq!(hierarchy.node_by_label("*"), Some(Node { level: 2, index: 0 }));
}

#[test]
fn missing_values_are_counted_and_never_named() {
    let (line, message) = refusal("Xanthippe;*\nb;*\n", &SECRETS);
    assert_eq!(line, None);
    assert!(message.contains("2 of the column's 3 values are missing"), "{message}");
    assert!(message.contains("add a line"), "{message}");
    let (_, message) = refusal("b;*\n", &SECRETS);
    assert!(message.contains("the file for this column"), "{message}");
}

#[test]
fn empty_files_are_refused() {
    for text in ["", "\u{feff}", "\n \r\n\n"] {
        let (line, message) = refusal(text, &["Yorick"]);
        assert_eq!(line, None);
        assert!(message.contains("empty"), "{message}");
    }
}

#[test]
fn empty_labels_are_refused() {
    let (line, message) = refusal("Xanthippe;A;*\nYorick;;*\n", &SECRETS[..2]);
    assert_eq!(line, Some(2));
    assert!(message.contains("level 1"), "{message}");
    assert_eq!(refusal("Xanthippe;*\n;*\n", &SECRETS[..1]).0, Some(2));
}

#[test]
fn invalid_utf8_is_refused_with_its_line() {
    let (line, message) =
        refusal_of(read_as(ColumnType::Text, b"Yorick;*\nZenobia\xff;*\n", &["Yorick"]));
    assert_eq!(line, Some(2));
    assert!(message.contains("UTF-8"), "{message}");
}

#[test]
fn broken_quotes_are_refused_with_their_line() {
    let (line, message) = refusal("a;*\n\"Yorick;*\n", &["a"]);
    assert_eq!(line, Some(2));
    assert!(message.contains("never closed"), "{message}");
    let (line, message) = refusal("a;*\n\"Yorick\"x;*\n", &["a"]);
    assert_eq!(line, Some(2));
    assert!(message.contains("closing quote"), "{message}");
}

#[test]
fn leaves_of_another_type_are_refused() {
    let bytes = b"1;*\nYorick;*\n";
    let (line, message) = refusal_of(read_as(ColumnType::Integer, bytes, &["1"]));
    assert_eq!(line, Some(2));
    assert!(message.contains("integer"), "{message}");
}

#[test]
fn a_missing_file_is_a_storage_error() {
    let spec = HierarchySpec::File("/nonexistent/hierarchy.csv".into());
    let error = Hierarchy::build(&spec, "name", ColumnType::Text, &[]).unwrap_err();
    assert!(matches!(error, TableError::Storage(_)));
}

#[test]
fn a_file_gives_its_leaves_to_a_column_without_values() {
    assert_eq!(read("a;A;*\nb;B;*\n", &[]).n_leaves(), 2);
}

/// The rows that a file tells by itself.
fn told(text: &str, known: &[&str]) -> Vec<Vec<String>> {
    let known: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
    HierarchyRows::of_text("file", text).fields("name", &known).unwrap()
}

#[test]
fn a_file_tells_its_rows_in_the_order_of_their_places() {
    let text = "a;A;X\nb;B;X\nc;A;X\nd;C;Y\nd;C;Y\ne;B;X\n";
    let hierarchy = read(text, &["a", "c"]);
    let rows = told(text, &[]);
    let leaves: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(leaves, ["a", "c", "b", "e", "d"]);
    for (place, row) in rows.iter().enumerate() {
        let Node { level: 0, index } = hierarchy.node_by_label(&row[0]).unwrap() else { panic!() };
        assert_eq!(hierarchy.place(Code::of_index(index)) as usize, place, "{row:?}");
        assert_eq!(row.len(), 3);
    }
}

#[test]
fn a_file_is_told_by_itself_as_it_is_read_with_its_table() {
    for text in ["a,A,*\nb,B,*\n", "name;group;all\na;A;*\nb;B;*\n", "Level 0|top\na|*\nb|*\n"] {
        let rows = told(text, &[]);
        let hierarchy = read(text, &["a", "b"]);
        assert_eq!(rows.len(), hierarchy.n_leaves() as usize, "{text}");
        assert_eq!((rows[0][0].as_str(), rows[1][0].as_str()), ("a", "b"));
    }
    // What only a number can be is no header's, and what looks like nothing else is a leaf.
    assert_eq!(told("years;all\n1;*\n2;*\n", &[]).len(), 2);
    assert_eq!(told("x;all\ny;*\nz;*\n", &[]).len(), 3);
    // Names that are shown tell how the file is cut, and that a first row is none of names.
    let odd = "a;b,A;c,*\nd;e,A;f,*\n";
    assert_eq!(told(odd, &["A;c"])[0], ["a;b", "A;c", "*"]);
    assert_eq!(told(odd, &[])[0], ["a", "b,A", "c,*"]);
    assert_eq!(told("name;B\na;A\n", &["name"]).len(), 2);
    assert_eq!(told("a\nb\n", &[]), [["a"], ["b"]]);
    let uneven = HierarchyRows::of_text("file", "a;A;*\nb;*\n");
    assert_eq!(uneven.fields("name", &[]), None);
}
