//! Every kind of bad input, through the program: the message says where and what to do, no cell is
//! shown, nothing is written.

mod common;

use arrow_array::{Float64Array, Int64Array, StringArray, UInt64Array};
use common::{Folder, PEOPLE, Run, array};

/// Roles under which [`PEOPLE`] is a good table.
const ROLES: &str = "--quasi age,zip --sensitive disease -k 2";

/// A run that must be refused: by its exit code, with what the message holds and how it ends.
struct Refusal<'a> {
    code: i32,
    says: &'a [&'a str],
    hint: &'a str,
}

/// Bad usage or input.
fn bad<'a>(says: &'a [&'a str], hint: &'a str) -> Refusal<'a> {
    Refusal { code: 2, says, hint }
}

/// A requirement that cannot be met.
fn unmet<'a>(says: &'a [&'a str], hint: &'a str) -> Refusal<'a> {
    Refusal { code: 1, says, hint }
}

impl Refusal<'_> {
    fn of(&self, folder: &Folder, arguments: &str) {
        self.of_all(folder, &arguments.split_whitespace().collect::<Vec<_>>());
    }

    fn of_all(&self, folder: &Folder, arguments: &[&str]) {
        let (names, files) = (folder.names(), folder.files());
        let run = folder.run_with(arguments);
        self.check(&run, arguments);
        assert_eq!(folder.names(), names, "{arguments:?}: nothing is written");
        assert_eq!(folder.files(), files, "{arguments:?}: nothing is changed");
        shows_no_cell(folder, &run);
    }

    fn check(&self, run: &Run, arguments: &[&str]) {
        assert_eq!(run.code, Some(self.code), "{arguments:?}: {}", run.said());
        assert_eq!(run.out, "", "{arguments:?}");
        for part in self.says {
            assert!(run.err.contains(part), "{arguments:?}: '{part}' is not in: {}", run.err);
        }
        let end = run.err.trim_end();
        assert!(end.ends_with(self.hint), "{arguments:?}: '{}' does not end: {end}", self.hint);
        let lines = end.lines().count();
        assert!(lines == 1 || end.ends_with("try '--help'."), "{arguments:?}: one line: {end}");
    }
}

/// No cell of any text in the folder is part of what was said. Cells of under four letters would
/// be part of ordinary words and figures.
fn shows_no_cell(folder: &Folder, run: &Run) {
    for (name, bytes) in folder.files() {
        if !name.ends_with(".csv") {
            continue;
        }
        let text = String::from_utf8_lossy(&bytes);
        for line in text.lines().skip(1) {
            for cell in line.split([',', ';', '\t', '"']).filter(|cell| cell.len() >= 4) {
                assert!(!run.said().contains(cell), "a cell of {name} is shown: {}", run.said());
            }
        }
    }
}

/// [`PEOPLE`] with one line (1-based) replaced.
fn people_with(line: usize, text: &str) -> String {
    let mut lines: Vec<&str> = PEOPLE.lines().collect();
    lines[line - 1] = text;
    lines.join("\n") + "\n"
}

fn people() -> Folder {
    Folder::with(PEOPLE)
}

fn anonymize(flags: &str) -> String {
    format!("anonymize in.csv -o out.csv {flags}")
}

#[test]
fn the_table_of_these_tests_is_good() {
    let folder = people();
    let run = folder.run(&anonymize(ROLES));
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(folder.names(), common::WITH_RELEASE);
}

// Files.

#[test]
fn a_missing_file_is_refused() {
    let refusal = bad(&["cannot read nope.csv: No such file"], "check the name and the folder");
    refusal.of(&people(), &format!("anonymize nope.csv -o out.csv {ROLES}"));
    let refusal = bad(&["cannot read nope.parquet"], "check the name and the folder");
    refusal.of(&people(), &format!("anonymize nope.parquet -o out.csv {ROLES}"));
    refusal.of(&people(), "check nope.parquet --quasi age");
}

#[test]
fn an_error_of_the_system_is_told_once() {
    let run = people().run(&format!("anonymize nope.csv -o out.csv {ROLES}"));
    assert_eq!(run.err.matches("No such file").count(), 1, "{}", run.err);
}

#[test]
fn a_folder_without_tables_as_input_is_refused() {
    let folder = people();
    std::fs::create_dir(folder.path("sub")).unwrap();
    std::fs::create_dir(folder.path("sub.parquet")).unwrap();
    for name in ["sub", "sub.parquet"] {
        bad(&[&format!("{name}: the folder holds no tables")], ".gz or .zst")
            .of(&folder, &format!("anonymize {name} -o out.csv {ROLES}"));
    }
}

#[test]
fn a_pipe_as_input_is_refused_without_waiting_for_a_writer() {
    let folder = people();
    let made = std::process::Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap();
    assert!(made.success());
    let refusal = bad(&["pipe is a pipe or a device"], "read it from standard input with -");
    refusal.of(&folder, &format!("anonymize pipe -o out.csv {ROLES}"));
    refusal.of(&folder, "check pipe --quasi age");
}

#[test]
fn a_folder_as_output_is_refused() {
    let folder = people();
    std::fs::create_dir(folder.path("out.csv")).unwrap();
    bad(&["out.csv is a folder"], "name a file").of(&folder, &anonymize(ROLES));
    bad(&[". is a folder"], "name a file").of(&folder, &format!("anonymize in.csv -o . {ROLES}"));
}

#[test]
fn a_folder_in_the_place_of_the_manifest_is_refused() {
    let folder = people();
    std::fs::create_dir(folder.path("out.csv.manifest.json")).unwrap();
    bad(&["out.csv.manifest.json is a folder"], "name a file").of(&folder, &anonymize(ROLES));
}

#[test]
fn an_output_in_a_folder_that_is_missing_is_refused() {
    bad(&["cannot write sub/out.csv", "no folder sub"], "create the folder, or name another")
        .of(&people(), &format!("anonymize in.csv -o sub/out.csv {ROLES}"));
}

#[test]
fn an_output_that_is_the_input_is_refused() {
    let folder = people();
    std::os::unix::fs::symlink("in.csv", folder.path("soft.csv")).unwrap();
    std::fs::hard_link(folder.path("in.csv"), folder.path("hard.csv")).unwrap();
    let whole = folder.path("in.csv");
    let whole = whole.to_str().unwrap();
    for output in ["in.csv", "./in.csv", "soft.csv", "hard.csv", whole] {
        bad(&[output, "is also an input"], "give the output a name of its own")
            .of(&folder, &format!("anonymize in.csv -o {output} {ROLES}"));
    }
    bad(&["in.csv", "is also an input"], "give the output a name of its own")
        .of(&folder, &format!("anonymize soft.csv -o in.csv {ROLES}"));
}

#[test]
fn an_output_that_is_a_hierarchy_is_refused() {
    let folder = Folder::with(people_with(1, "name,age,zip,disease,pay,born"));
    folder.write("zip.csv", hierarchy_of_zips());
    bad(&["zip.csv is also an input"], "give the output a name of its own")
        .of(&folder, &format!("anonymize in.csv -o zip.csv {ROLES} --hierarchy zip=zip.csv"));
}

#[test]
fn an_output_whose_ending_tells_no_format_is_refused() {
    for name in ["out.txt", "out", "out.csv.bz2", "out.gz"] {
        bad(&[name, "does not tell how to write the table"], "or in .parquet")
            .of(&people(), &format!("anonymize in.csv -o {name} {ROLES}"));
    }
    bad(&["out.parquet.gz"], "its columns are compressed anyway")
        .of(&people(), &format!("anonymize in.csv -o out.parquet.gz {ROLES}"));
}

#[test]
fn a_packed_file_that_is_not_packed_is_refused() {
    for name in ["in.csv.gz", "in.csv.zst"] {
        let folder = Folder::new();
        folder.write(name, PEOPLE);
        bad(&[name], "packed as the ending of its name says")
            .of(&folder, &format!("anonymize {name} -o out.csv {ROLES}"));
    }
}

#[test]
fn a_packed_file_that_is_cut_off_is_refused() {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(PEOPLE.as_bytes()).unwrap();
    let gzip = encoder.finish().unwrap();
    let zstd = zstd::stream::encode_all(PEOPLE.as_bytes(), 1).unwrap();
    for (name, bytes) in [("in.csv.gz", gzip), ("in.csv.zst", zstd)] {
        for end in [1, bytes.len() / 2, bytes.len() - 1] {
            let folder = Folder::new();
            folder.write(name, &bytes[..end]);
            bad(&[name], "packed as the ending of its name says")
                .of(&folder, &format!("anonymize {name} -o out.csv {ROLES}"));
        }
    }
}

// Text.

#[test]
fn a_row_with_too_few_or_too_many_cells_is_named_by_its_line() {
    let hint = "or name it with --delimiter";
    for (row, n_cells) in [("Xanthippe,7301", 2), ("Xanthippe,7301,01907,a,b,c,7777", 7)] {
        let problem = format!("in.csv, line 5: the row has {n_cells} cells where the header has 6");
        bad(&[&problem], hint).of(&Folder::with(people_with(5, row)), &anonymize(ROLES));
    }
}

#[test]
fn the_line_of_a_fault_counts_line_breaks_inside_quotes_and_blank_lines() {
    let table = "name,age\n\"Xan\nthippe\",7301\n\nQuillon,7302\nYsolde\n";
    bad(&["in.csv, line 6: the row has 1 cell"], "--delimiter")
        .of(&Folder::with(table), &anonymize("--quasi age -k 1"));
}

#[test]
fn text_that_is_not_utf_8_is_refused() {
    let people = PEOPLE.replace("Xanthippe", "Xänthippé");
    let place = people.find("rubella").unwrap();
    let mut table = people.into_bytes();
    table[place] = 0xff;
    bad(&["in.csv, line 4, column 'disease'", "not valid UTF-8"], OF_ENCODING)
        .of(&Folder::with(&table), &anonymize(ROLES));
    bad(&["in.csv, line 4, column 'disease'"], OF_ENCODING)
        .of(&Folder::with(&table), &anonymize("--quasi disease -k 2"));
    bad(&["in.csv, line 4, column 'disease'"], OF_ENCODING)
        .of(&Folder::with(&table), &anonymize("--quasi age --keep disease -k 2"));
}

const OF_ENCODING: &str = "convert the file to UTF-8, or say how it is stored with --encoding";

#[test]
fn a_header_that_is_not_utf_8_is_refused() {
    let mut table = PEOPLE.replace("Xanthippe", "Xänthippé").into_bytes();
    table[PEOPLE.find("zip").unwrap()] = 0xe9;
    let says = "in.csv, line 1: the name of column 3 is not valid UTF-8";
    bad(&[says], OF_ENCODING).of(&Folder::with(&table), &anonymize(ROLES));
}

#[test]
fn columns_of_the_same_name_are_refused() {
    let table = people_with(1, "name,age,zip,age,pay,born");
    bad(&["in.csv: columns 2 and 4 are both named 'age'"], "rename one of them")
        .of(&Folder::with(table), &anonymize(ROLES));
}

#[test]
fn a_column_without_a_name_is_refused() {
    let table = people_with(1, "name,age,,disease,pay,born");
    bad(&["in.csv: column 3 has no name"], "give every column a name in the first line")
        .of(&Folder::with(table), &anonymize("--quasi age -k 2"));
}

#[test]
fn names_of_columns_that_the_table_has_not_are_refused_in_every_flag() {
    let folder = people();
    for flag in [
        "--quasi nope",
        "--sensitive nope",
        "--identifier nope",
        "--keep nope",
        "--subject nope",
        "--type nope=text",
        "--hierarchy nope=prefix",
        "--bias nope",
        "--weight nope=2",
    ] {
        bad(
            &["in.csv: there is no column 'nope'"],
            "the columns are name, age, zip, disease, pay, born",
        )
        .of(&folder, &anonymize(&format!("{ROLES} {flag}")));
    }
    for flag in ["--l-diversity nope=2", "--t-closeness nope=0.2", "--alpha nope=0.5"] {
        bad(&["column 'nope'"], "add --sensitive 'nope', or drop the requirement")
            .of(&folder, &anonymize(&format!("{ROLES} {flag}")));
        bad(&["in.csv: there is no column 'nope'"], "disease, pay, born")
            .of(&folder, &anonymize(&format!("{ROLES} --sensitive nope {flag}")));
    }
}

#[test]
fn a_table_without_a_header_is_refused_and_its_first_row_is_not_shown() {
    let (_, rows) = PEOPLE.split_once('\n').unwrap();
    let folder = Folder::with(rows);
    let run = folder.run(&anonymize(ROLES));
    assert_eq!(run.code, Some(2));
    for cell in rows.lines().next().unwrap().split(',') {
        assert!(!run.said().contains(cell), "{}", run.said());
    }
    let refusal = ["in.csv: the first line looks like a record"];
    let refused =
        bad(&refusal, "--no-header if the file has no line of names, or --header if this is one");
    refused.of(&folder, &anonymize(ROLES));
    refused.of(&Folder::with(format!("7301,7301\n{rows}")), &anonymize(ROLES));
    let says = ["in.csv: there is no column"];
    bad(&says, "the first line of the file holds the names of the columns")
        .of(&folder, &anonymize(&format!("{ROLES} --header")));
}

#[test]
fn an_empty_file_is_refused() {
    for text in ["", "\n\r\n\n", "\u{feff}"] {
        bad(&["in.csv: the file is empty"], "at least one row")
            .of(&Folder::with(text), &anonymize(ROLES));
    }
}

#[test]
fn a_header_without_rows_is_refused() {
    let header = PEOPLE.lines().next().unwrap();
    for text in [header.to_owned(), format!("{header}\n"), format!("{header}\r\n\n")] {
        bad(&["in.csv has column names but no rows"], "a table needs at least one row")
            .of(&Folder::with(text), &anonymize(ROLES));
    }
}

#[test]
fn a_quote_that_is_never_closed_is_named_by_its_line() {
    let table = people_with(5, "\"Zebedee,7304,01910,measles,52004,1971-04-07");
    let hint = "close the quote, or double it if it is part of the text";
    bad(&["in.csv, line 5: a quoted cell starts here and never ends"], hint)
        .of(&Folder::with(table), &anonymize(ROLES));
}

#[test]
fn a_quote_that_is_never_closed_in_the_header_shows_no_row() {
    let table = people_with(1, "name,\"age,zip,disease,pay,born");
    bad(&["in.csv, line 1: a quoted cell starts here and never ends"], "part of the text")
        .of(&Folder::with(table), &anonymize(ROLES));
    let closed_later = people_with(1, "name,\"age,zip,disease,pay,born") + "Xan\"\n";
    bad(&["in.csv: there is no column 'age'"], "holds the names of the columns")
        .of(&Folder::with(closed_later), &anonymize(ROLES));
}

// Cells.

#[test]
fn infinities_are_refused() {
    for cell in ["inf", "-Infinity"] {
        let table = people_with(7, &format!("Philomena,{cell},01912,rubella,52006,1972-03-09"));
        let says = "in.csv, line 7, column 'age': NaN and infinities";
        let hint = "name its text with --missing if it stands for a missing value";
        bad(&[says], hint)
            .of(&Folder::with(table), &anonymize(&format!("{ROLES} --type age=float")));
    }
}

#[test]
fn nan_and_infinities_of_parquet_are_refused() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let folder = Folder::new();
        let ages = Float64Array::from(vec![Some(7301.5), None, Some(value), Some(7302.5)]);
        folder.write_parquet("in.parquet", vec![("age", array(ages))]);
        bad(
            &["in.parquet, row 3, column 'age': NaN and infinities"],
            "if it stands for a missing value",
        )
        .of(&folder, "anonymize in.parquet -o out.parquet --quasi age -k 2");
    }
}

#[test]
fn numbers_beyond_64_bits_are_refused() {
    for cell in ["9223372036854775808", "-9223372036854775809", "99999999999999999999999"] {
        let table = people_with(9, &format!("Clementine,{cell},01914,mumps,52008,1973-03-11"));
        let says = "in.csv, line 9, column 'age': the number does not fit in 64 bits";
        let hint = "read the digits as names with --type 'age=code'";
        bad(&[says], hint)
            .of(&Folder::with(table), &anonymize(&format!("{ROLES} --type age=integer")));
    }
    let folder = Folder::new();
    let ages = UInt64Array::from(vec![7301, u64::MAX, 7302]);
    folder.write_parquet("in.parquet", vec![("age", array(ages))]);
    bad(&["in.parquet, row 2, column 'age': the number does not fit"], "--type 'age=code'")
        .of(&folder, "anonymize in.parquet -o out.csv --quasi age -k 2");
}

#[test]
fn a_decimal_that_does_not_fit_beside_the_others_is_named_by_its_line() {
    let table = "age\n1.5\n2.5\n92233720368547758.5\n0.12345\n";
    bad(&["in.csv, line 4, column 'age': the number does not fit in 64 bits"], "'age=float'")
        .of(&Folder::with(table), &anonymize("--quasi age -k 1 --type age=decimal"));
}

/// A table of 40 dates with another cell on a line.
fn dates_with(line: usize, cell: &str) -> String {
    let mut lines = vec!["name,born".to_owned()];
    lines.extend((0..40).map(|day| format!("Name{day},1971-03-{:02}", day % 28 + 1)));
    lines[line - 1] = format!("Xanthippe,{cell}");
    lines.join("\n") + "\n"
}

#[test]
fn one_bad_date_in_a_column_of_dates_is_named_by_its_line() {
    for (line, cell) in [(2, "04.03.1971"), (17, "yesterday"), (41, "1971-3-04")] {
        let says = format!("in.csv, line {line}, column 'born': the cell is not of type date");
        bad(&[&says, "correct the cell"], "--type 'born=text'")
            .of(&Folder::with(dates_with(line, cell)), &anonymize("--quasi born -k 2"));
    }
}

#[test]
fn an_impossible_date_is_refused() {
    for cell in ["2023-02-30", "2023-13-01", "1900-02-29", "2023-00-10"] {
        bad(&["in.csv, line 23, column 'born': there is no such date"], "--type 'born=text'")
            .of(&Folder::with(dates_with(23, cell)), &anonymize("--quasi born -k 2"));
    }
}

#[test]
fn times_with_and_without_an_offset_in_one_column_are_refused() {
    let mut lines = vec!["seen".to_owned()];
    lines.extend((10..40).map(|minute| format!("2024-01-31 10:{minute}:00")));
    lines[20] = "2024-01-31 10:55:00+02:00".to_owned();
    bad(&["in.csv, line 21, column 'seen'"], "--type 'seen=text'")
        .of(&Folder::with(lines.join("\n")), &anonymize("--quasi seen -k 2"));
}

#[test]
fn a_cell_that_is_not_of_the_given_type_is_refused() {
    for kind in ["integer", "decimal", "float", "date", "timestamp", "boolean"] {
        let says = format!("in.csv, line 2, column 'disease': the cell is not of type {kind}");
        bad(&[&says], "--type 'disease=text'")
            .of(&people(), &anonymize(&format!("{ROLES} --type disease={kind}")));
    }
}

#[test]
fn a_bad_cell_far_into_a_large_file_is_named_by_its_line() {
    // Several blocks of 4 MiB, read by several threads.
    let mut table = String::from("age,note\n");
    let note = "x".repeat(90);
    for row in 0..140_000 {
        table += &format!("{},{note}\n", row % 97);
    }
    table += "later,y\n";
    table += "17,z\n";
    let folder = Folder::with(table);
    for threads in [1, 2, 4] {
        bad(&["in.csv, line 140002, column 'age': the cell is not of type integer"], "'age=text'")
            .of_all(
                &folder,
                &format!("anonymize in.csv -o out.csv --quasi age -k 2 --threads {threads}")
                    .split(' ')
                    .collect::<Vec<_>>(),
            );
    }
}

// Parquet.

fn parquet_of_people() -> Folder {
    let folder = Folder::new();
    let ages = Int64Array::from_iter_values((0..500).map(|row| 7301 + row % 90));
    let names = StringArray::from_iter_values((0..500).map(|row| format!("Xanthippe{row}")));
    folder.write_parquet("in.parquet", vec![("age", array(ages)), ("name", array(names))]);
    folder
}

#[test]
fn a_parquet_file_cut_off_anywhere_is_refused() {
    let folder = parquet_of_people();
    let bytes = folder.bytes("in.parquet");
    let n = bytes.len();
    for end in [0, 1, 3, 4, 7, 8, 12, n / 4, n / 2, 3 * n / 4, n - 9, n - 8, n - 4, n - 1] {
        folder.write("in.parquet", &bytes[..end]);
        bad(&["in.parquet: the file is not a whole Parquet file"], "cut off on its way")
            .of(&folder, "anonymize in.parquet -o out.csv --quasi age --keep name -k 2");
    }
}

#[test]
fn a_parquet_file_with_a_hole_is_refused_or_read_but_never_shown() {
    let folder = parquet_of_people();
    let bytes = folder.bytes("in.parquet");
    for start in (4..bytes.len()).step_by(97) {
        let mut damaged = bytes.clone();
        let end = (start + 40).min(damaged.len());
        damaged[start..end].fill(0xa5);
        folder.write("in.parquet", &damaged);
        let run = folder.run("anonymize in.parquet -o out.csv --quasi age --keep name -k 2");
        assert!(matches!(run.code, Some(0 | 2)), "hole at {start}: {:?} {}", run.code, run.err);
        assert!(!run.said().contains("Xanthippe"), "{}", run.said());
        if run.code == Some(2) {
            assert!(run.err.contains("in.parquet"), "hole at {start}: {}", run.err);
            assert_eq!(run.err.lines().count(), 1, "hole at {start}: {}", run.err);
            assert_eq!(folder.names(), ["in.parquet"]);
        } else {
            folder.remove_release("out.csv");
        }
    }
}

#[test]
fn text_under_the_name_of_a_parquet_file_is_refused() {
    let folder = Folder::new();
    folder.write("in.parquet", PEOPLE);
    bad(&["in.parquet: the file is not a whole Parquet file"], "cut off on its way")
        .of(&folder, &format!("anonymize in.parquet -o out.csv {ROLES}"));
}

#[test]
fn a_parquet_file_that_is_called_text_is_refused_and_not_shown() {
    let folder = parquet_of_people();
    folder.write("in.csv", folder.bytes("in.parquet"));
    let run = folder.run(&anonymize("--quasi age -k 2 --from csv"));
    assert_eq!(run.code, Some(2), "{}", run.said());
    assert!(!run.said().contains("Xanthippe"));
    assert_eq!(folder.names(), ["in.csv", "in.parquet"]);
}

// Requirements.

#[test]
fn a_k_of_0_is_refused() {
    bad(&["k = 0 hides nobody"], "use a k of 2 or more")
        .of(&people(), &anonymize("--quasi age -k 0"));
}

#[test]
fn a_k_that_is_no_count_is_refused() {
    for k in ["two", "2.5", "-2"] {
        bad(&["-k must be a whole number such as 5"], &format!("not '{k}'"))
            .of(&people(), &anonymize(&format!("--quasi age -k={k}")));
    }
    bad(&["no k: how many rows"], "give -k 5, for example")
        .of(&people(), &anonymize("--quasi age"));
}

#[test]
fn a_k_above_the_rows_or_the_subjects_is_refused() {
    bad(&["k = 13 is more than the 12 rows of the table"], "use a k of at most 12")
        .of(&people(), &anonymize("--quasi age -k 13"));
    bad(&["k = 4 is more than the 3 subjects of the table"], "use a k of at most 3")
        .of(&people(), &anonymize("--quasi age --subject disease -k 4"));
}

#[test]
fn an_l_above_the_values_of_its_column_is_refused() {
    for diversity in ["4", "distinct:4", "recursive:2,4", "entropy:3.5"] {
        bad(&["is more than the 3 values of column 'disease'"], "use an l of at most 3")
            .of(&people(), &anonymize(&format!("{ROLES} --l-diversity disease={diversity}")));
    }
}

#[test]
fn a_diversity_that_cannot_be_read_is_refused() {
    for diversity in ["many", "foo:2", "distinct:x", "recursive:2"] {
        bad(
            &["l-diversity of column 'disease'", &format!("'{diversity}'")],
            "use distinct:3, entropy:3 or recursive:2,3",
        )
        .of(&people(), &anonymize(&format!("{ROLES} --l-diversity disease={diversity}")));
    }
}

#[test]
fn parameters_out_of_their_range_are_refused_with_their_column() {
    for (flag, says, hint) in [
        ("--t-closeness disease=1.5", "t of column 'disease' is 1.5", "between 0 and 1"),
        ("--t-closeness disease=-0.1", "t of column 'disease' is -0.1", "between 0 and 1"),
        ("--t-closeness disease=NaN", "t of column 'disease' is NaN", "between 0 and 1"),
        ("--alpha disease=0", "alpha of column 'disease' is 0", "above 0, at most 1"),
        ("--alpha disease=1.1", "alpha of column 'disease' is 1.1", "above 0, at most 1"),
        ("--l-diversity disease=0", "diversity of column 'disease': l is 0", "ask for anything)"),
        ("--l-diversity disease=recursive:0,2", "of column 'disease': c is 0", "c above 0"),
        ("--variance disease=-1", "the least variance of column 'disease' is -1", "at least 0"),
        ("--variance disease=1", "column 'disease'", "l-diversity or t-closeness of it instead"),
    ] {
        bad(&[says], hint).of(&people(), &anonymize(&format!("{ROLES} {flag}")));
    }
}

#[test]
fn a_requirement_on_a_column_that_is_not_sensitive_is_refused() {
    for flag in [
        "--l-diversity pay=distinct:2",
        "--t-closeness age=0.3",
        "--alpha zip=0.5",
        "--variance pay=10",
    ] {
        let column = flag.split([' ', '=']).nth(1).unwrap();
        bad(
            &[&format!("requirement on column '{column}', which is not sensitive")],
            "or drop the requirement",
        )
        .of(&people(), &anonymize(&format!("{ROLES} {flag}")));
    }
}

#[test]
fn a_requirement_that_all_rows_together_miss_exits_with_1_and_tells_the_figure_reached() {
    let ask_less = "nothing was written; ask for less, or for more rows";
    // Two of three rows have one value: their entropy is that of 1.8899 even values.
    let table = "age,disease\n7301,measles\n7302,measles\n7303,rubella\n";
    for (flag, asked, reached) in [
        ("--l-diversity disease=entropy:2", "needs 2", "reaches 1.88"),
        ("--alpha disease=0.5", "at most 0.5", "reaches 0.66"),
    ] {
        let says = ["even with all 3 rows in one class", "'disease'", asked, reached];
        unmet(&says, ask_less).of(
            &Folder::with(table),
            &anonymize(&format!("--quasi age --sensitive disease -k 1 {flag}")),
        );
    }
    unmet(&["'pay'", "needs 1000", "reaches 11.9"], ask_less)
        .of(&people(), &anonymize("--quasi age --sensitive pay -k 2 --variance pay=1000"));
}

// Roles, flags and job files.

#[test]
fn a_column_with_two_roles_is_refused() {
    for (flag, roles) in [
        ("--sensitive age", "both quasi and sensitive"),
        ("--keep age", "both quasi and keep"),
        ("--identifier age", "both quasi and identifier"),
        ("--subject age", "both quasi and subject"),
        ("--keep disease", "both sensitive and keep"),
    ] {
        bad(&["column '", roles], "give each column one role")
            .of(&people(), &anonymize(&format!("{ROLES} {flag}")));
    }
}

#[test]
fn a_table_without_a_quasi_identifier_is_refused() {
    bad(&["no column is a quasi-identifier"], "let 'albers init' propose them")
        .of(&people(), &anonymize("--sensitive disease -k 2"));
}

#[test]
fn a_weight_out_of_its_range_is_refused() {
    for weight in ["0", "-1", "NaN", "inf", "1e-7", "1e7", "1e308"] {
        bad(
            &["the weight of column 'age' is not a number from 0.000001 to 1000000"],
            "like the others",
        )
        .of(&people(), &anonymize(&format!("{ROLES} --weight age={weight}")));
    }
    for (weight, hint) in [
        ("age", "write COLUMN=VALUE; there is no '='"),
        ("age=much", "what follows '=' must be a number such as 0.5"),
    ] {
        bad(&["--weight 'age"], hint)
            .of(&people(), &anonymize(&format!("{ROLES} --weight {weight}")));
    }
}

#[test]
fn no_threads_are_refused() {
    bad(&["0 threads"], "use --threads 1 or more")
        .of(&people(), &anonymize(&format!("{ROLES} --threads 0")));
}

#[test]
fn a_type_that_there_is_not_is_refused() {
    bad(
        &["'number' is not a type"],
        "use one of integer, decimal, float, date, timestamp, boolean, text, code",
    )
    .of(&people(), &anonymize(&format!("{ROLES} --type age=number")));
}

#[test]
fn a_delimiter_that_is_not_one_plain_character_is_refused() {
    let folder = people();
    let with = |delimiter| {
        let mut arguments: Vec<String> = anonymize(ROLES).split(' ').map(str::to_owned).collect();
        arguments.extend(["--delimiter".to_owned(), String::from(delimiter)]);
        arguments
    };
    for (delimiter, hint) in [
        (";;", "must be one character, or tab, not ';;'"),
        ("", "must be one character, or tab, not ''"),
        ("é", "use one of , ; | or a tab"),
        ("\"", "use one of , ; | or a tab"),
        ("\n", "use one of , ; | or a tab"),
    ] {
        let arguments = with(delimiter);
        bad(&["delimiter"], hint)
            .of_all(&folder, &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn a_wrong_delimiter_is_refused_and_shows_no_row() {
    let folder = people();
    let says = "in.csv: the table has one column";
    bad(&[says, "another delimiter"], "say --delimiter , if it separates cells")
        .of(&folder, &anonymize(&format!("{ROLES} --delimiter ;")));
}

#[test]
fn what_must_be_said_and_is_not_is_asked_for() {
    bad(&["no output file"], "give -o FILE").of(&people(), &format!("anonymize in.csv {ROLES}"));
    bad(
        &["there is no table to read"],
        "name a CSV, JSON Lines or Parquet file or a spreadsheet, or - for a pipe",
    )
    .of(&people(), &format!("anonymize -o out.csv {ROLES}"));
}

#[test]
fn a_job_file_with_a_fault_is_named_with_the_line() {
    let hint = "see 'albers init' for a job file with all its fields, and their schema";
    for (line, text, says) in [
        (2, "k = 2\nfoo = 3\n", "there is no field 'foo'"),
        (1, "foo = 3\nk = 2\n", "there is no field 'foo'"),
        (5, "k = 2\n\n[columns.age]\nrole = \"quasi\"\nfoo = 3\n", "there is no field 'foo'"),
        (3, "k = 2\n\n[columns.age\nrole = \"quasi\"\n", "unclosed table"),
        (3, "seed = 1\n\nk = \"two\"\n", "'k' must be a whole number such as 5, not \"two\""),
        (2, "seed = 1\nk = -2\n", "'k' must be a whole number such as 5, not -2"),
        (2, "[columns.age]\nrole = \"quazi\"\n", "did you mean 'quasi'?"),
        (2, "k = 2\nsplit = \"best\"\n", "'best' is none of compact, median"),
        (3, "k = 2\n\n???\n", ""),
        (2, "k = 2\nk = 3\n", "duplicate key"),
    ] {
        let folder = people();
        folder.write("job.toml", text);
        let place = format!("job.toml, line {line}: ");
        bad(&[&place, says], hint).of(&folder, &anonymize("--job job.toml"));
    }
    bad(&["cannot read nope.toml"], "check the name and the folder")
        .of(&people(), &anonymize("--job nope.toml"));
}

#[test]
fn a_job_file_is_checked_like_flags() {
    let folder = people();
    folder.write("job.toml", "k = 2\n[columns.nope]\nrole = \"quasi\"\n");
    bad(
        &["in.csv: there is no column 'nope'"],
        "the columns are name, age, zip, disease, pay, born",
    )
    .of(&folder, &anonymize("--job job.toml"));
    folder.write("job.toml", "k = 2\n[columns.age]\nrole = \"quasi\"\nalpha = 0.5\n");
    bad(&["requirement on column 'age'"], "or drop the requirement")
        .of(&folder, &anonymize("--job job.toml"));
}

// Hierarchies.

fn hierarchy_of_zips() -> String {
    (1907..=1918).map(|zip| format!("0{zip};0{}*;*\n", zip / 10)).collect()
}

#[test]
fn a_hierarchy_that_is_no_word_and_no_file_is_refused() {
    for word in ["prefiks", "nope.csv"] {
        bad(
            &["hierarchy of column 'zip'", &format!("cannot read {word}")],
            "prefix, ranges:5,10,20, dates or suppress, which need no file",
        )
        .of(&people(), &anonymize(&format!("{ROLES} --hierarchy zip={word}")));
    }
    for word in ["", "ranges", "ranges:"] {
        bad(&["hierarchy of column 'zip'"], "use a file, prefix, ranges:SIZES, dates or suppress")
            .of(&people(), &anonymize(&format!("{ROLES} --hierarchy zip={word}")));
    }
}

#[test]
fn ranges_that_do_not_divide_each_other_are_refused() {
    for sizes in ["5,12", "10,5", "0,5", "-5", "5,x"] {
        bad(&["hierarchy of column 'age'"], "use a file, prefix, ranges:SIZES, dates or suppress")
            .of(&people(), &anonymize(&format!("{ROLES} --hierarchy age=ranges:{sizes}")));
    }
}

#[test]
fn a_built_in_hierarchy_on_a_column_of_another_type_is_refused() {
    for (flag, says) in [
        ("zip=dates", "column 'zip' (dates)"),
        ("disease=ranges:5", "column 'disease' (ranges:5)"),
        ("age=dates", "column 'age' (dates)"),
    ] {
        bad(&["hierarchy of ", says], "or give the column another type")
            .of(&people(), &anonymize(&format!("{ROLES} --hierarchy {flag}")));
    }
}

#[test]
fn a_faulty_hierarchy_file_is_named_with_its_line() {
    let good = hierarchy_of_zips();
    let with = |line: usize, text: &str| {
        let mut lines: Vec<&str> = good.lines().collect();
        lines[line - 1] = text;
        lines.join("\n")
    };
    for (text, says, hint) in [
        (with(4, "01910;*"), "line 4", "where a level adds nothing"),
        (with(5, "01910;0190*;*"), "line 5", "keep one of the two lines"),
        (with(12, "01918;0191*;+"), "line 12", "different labels"),
        (with(3, "01909;;*"), "line 3", "which need none"),
        (with(7, ""), "1 of the column's 12 values", "add a line for each of them"),
        ("a;b\nc;d\n".into(), "12 of the column's 12", "is the value"),
        (String::new(), "the file is empty", "one line per value of the column"),
    ] {
        let folder = people();
        folder.write("zip.csv", text);
        let says = ["hierarchy of column 'zip' (zip.csv", says];
        bad(&says, hint).of(&folder, &anonymize(&format!("{ROLES} --hierarchy zip=zip.csv")));
    }
    let folder = people();
    folder.write("zip.csv", b"01907;\xff;*\n");
    bad(&["(zip.csv, line 1)", "not UTF-8"], "save the file as UTF-8")
        .of(&folder, &anonymize(&format!("{ROLES} --hierarchy zip=zip.csv")));
}

// Columns of the release.

#[test]
fn a_kept_column_with_the_name_of_a_bound_is_refused() {
    let table = people_with(1, "name,age,zip,age_min,pay,born");
    bad(&["column 'age_min'", "two columns of this name"], "--values interval").of(
        &Folder::with(table),
        "anonymize in.csv -o out.parquet --quasi age --keep age_min -k 2",
    );
}

#[test]
fn more_than_64_quasi_identifiers_are_refused() {
    let names: Vec<String> = (0..65).map(|at| format!("q{at}")).collect();
    let row: Vec<String> = (0..65).map(|at| format!("{}", 7000 + at)).collect();
    let table = format!("{}\n{}\n{}\n", names.join(","), row.join(","), row.join(","));
    bad(&["65 quasi-identifiers are more than the 64 possible"], "that nobody else knows")
        .of(&Folder::with(table), &anonymize(&format!("--quasi {} -k 2", names.join(","))));
}
