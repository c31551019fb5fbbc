//! Sheets of workbooks.

use std::process::Stdio;

use proptest::prelude::*;
use rust_xlsxwriter::{Formula, Workbook};

use super::workbooks::{archive, fill, ods, ods_rows, write_cell, write_xlsx};
use crate::common::watched::watched;
use crate::common::{Folder, PEOPLE, piped, rows_of};

const JOB: &str = "--quasi age,zip --type zip=code --hierarchy zip=prefix --sensitive disease \
                   --keep born,pay -k 3";

fn refused(folder: &Folder, command: &str, says: &[&str]) {
    let run = folder.run(command);
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{command}: {}", run.said());
    for own in says {
        assert!(run.err.contains(own), "{command}: '{own}' is not in: {}", run.err);
    }
}

#[test]
fn a_workbook_gives_the_release_that_csv_gives_wherever_its_table_lies() {
    let folder = Folder::with(PEOPLE);
    folder.anonymize(&format!("in.csv -o expected.csv {JOB}"));
    let expected = folder.read("expected.csv");
    let cells = rows_of(PEOPLE, ',');
    write_xlsx(&folder.path("a.xlsx"), (0, 0), &cells);
    write_xlsx(&folder.path("b.xlsx"), (7, 3), &cells);
    let table = format!("<table:table table:name=\"People\">{}</table:table>", ods_rows(&cells));
    folder.write("c.ods", ods(&table));
    // What it is tells the content, not the name.
    folder.write("d.csv", folder.bytes("a.xlsx"));
    folder.write("e", folder.bytes("c.ods"));
    for input in ["a.xlsx", "b.xlsx", "c.ods", "d.csv", "e", "e --from sheet"] {
        folder.anonymize(&format!("{input} -o out.csv {JOB}"));
        assert_eq!(folder.read("out.csv"), expected, "{input}");
        let run = folder.run(&format!("check {input} --quasi age"));
        assert!(run.out.starts_with("12 rows in 12 classes"), "{}", run.said());
    }
    let (code, out, err) = piped(
        &folder,
        &format!("anonymize - -o - --from sheet {JOB} --accept unique-keep:pay,unique-keep:born"),
        &folder.bytes("b.xlsx"),
    );
    assert_eq!((code, String::from_utf8(out).unwrap()), (Some(0), expected), "{err}");
    let run = folder.run("init a.xlsx -o job.toml");
    assert_eq!(run.code, Some(0), "{}", run.said());
    assert!(folder.read("job.toml").contains("output = \"a.anonymized.csv\""));
    let run = folder
        .run("measure b.xlsx expected.csv --quasi age,zip --type zip=code --hierarchy zip=prefix");
    assert_eq!(run.code, Some(0), "{}", run.said());
}

#[test]
fn workbooks_of_libreoffice_give_the_release_that_csv_gives() {
    let folder = Folder::with(PEOPLE);
    folder.anonymize(&format!("in.csv -o expected.csv {JOB}"));
    for ending in ["xlsx", "ods"] {
        let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/people.libreoffice.");
        folder.write(&format!("in.{ending}"), std::fs::read(format!("{data}{ending}")).unwrap());
        folder.anonymize(&format!("in.{ending} -o out.csv {JOB}"));
        assert_eq!(folder.read("out.csv"), folder.read("expected.csv"), "{ending}");
    }
}

#[test]
fn one_of_several_sheets_must_be_named() {
    let folder = Folder::new();
    let cells = rows_of(PEOPLE, ',');
    let mut workbook = Workbook::new();
    workbook.add_worksheet().set_name("Notes").unwrap().write_string(4, 2, "see below").unwrap();
    fill(workbook.add_worksheet().set_name("People").unwrap(), (0, 0), &cells);
    workbook.add_worksheet().set_name("Empty").unwrap();
    workbook.save(folder.path("in.xlsx")).unwrap();
    let table =
        |name: &str, rows: &str| format!("<table:table table:name=\"{name}\">{rows}</table:table>");
    let (notes, rows) = (ods_rows(&[vec!["see below".to_owned()]]), ods_rows(&cells));
    let sheets = [table("Notes", &notes), table("People", &rows), table("Empty", "")];
    folder.write("in.ods", ods(&sheets.concat()));
    for input in ["in.xlsx", "in.ods"] {
        let command = format!("anonymize {input} -o out.csv --quasi age -k 3 --force");
        refused(
            &folder,
            &command,
            &["several sheets hold something: 'Notes', 'People'", "--sheet NAME"],
        );
        refused(
            &folder,
            &format!("{command} --sheet Persons"),
            &["there is no sheet 'Persons'", "'Notes', 'People', 'Empty'"],
        );
        refused(&folder, &format!("{command} --sheet Empty"), &["the sheet is empty"]);
        let run = folder.run(&format!("{command} --sheet People"));
        assert_eq!(run.code, Some(0), "{}", run.said());
        let run = folder.run(&format!("init {input} --sheet People -o job.toml --force"));
        assert_eq!(run.code, Some(0), "{}", run.said());
        assert!(folder.read("job.toml").contains("sheet = \"People\""));
        let run = folder.run(&format!("check {input} --sheet People --quasi age"));
        assert!(run.out.starts_with("12 rows in 12 classes"), "{}", run.said());
    }
    folder.write("in.csv", PEOPLE);
    let command = "anonymize in.csv -o out2.csv --quasi age -k 3 --sheet People";
    refused(&folder, command, &["--sheet has no effect on delimited text"]);
    refused(&folder, "check in.csv --quasi age --sheet People", &["--sheet has no effect"]);
}

/// A sheet for each person may be named after them.
#[test]
fn names_of_many_sheets_are_not_shown() {
    let folder = Folder::new();
    let mut workbook = Workbook::new();
    for name in ["Ann", "Ben", "Cleo", "Dora"] {
        let cells = rows_of(PEOPLE, ',');
        fill(workbook.add_worksheet().set_name(name).unwrap(), (0, 0), &cells);
    }
    workbook.save(folder.path("in.xlsx")).unwrap();
    refused(&folder, "init in.xlsx", &["4 sheets hold something", "--sheet NAME"]);
    refused(&folder, "init in.xlsx --sheet Emil", &["there are 4 sheets with other names"]);
    for command in ["init in.xlsx", "init in.xlsx --sheet Emil"] {
        let run = folder.run(command);
        assert!(!run.err.contains("Ann") && !run.err.contains("Cleo"), "{}", run.err);
    }
}

#[test]
fn cells_become_the_text_that_they_mean() {
    let folder = Folder::new();
    let mut workbook = Workbook::new();
    let sheet = workbook.add_worksheet();
    let header = ["whole", "part", "day", "moment", "flag", "sum"].map(str::to_owned);
    fill(sheet, (0, 0), &[header.to_vec()]);
    for row in 1..=20u32 {
        write_cell(sheet, row, 0, &format!("{row}"));
        write_cell(sheet, row, 1, &format!("{row}.25"));
        write_cell(sheet, row, 2, "2024-02-29");
        let moment = if row == 7 { "2024-02-29 00:00:00" } else { "2024-02-29 13:45:10" };
        write_cell(sheet, row, 3, moment);
        write_cell(sheet, row, 4, if row % 2 == 0 { "true" } else { "false" });
        // The value of a formula is the one that was kept with it.
        sheet.write_formula(row, 5, Formula::new("=A2+1").set_result("42")).unwrap();
    }
    workbook.save(folder.path("in.xlsx")).unwrap();
    folder.anonymize("in.xlsx -o out.csv --quasi whole --keep part,day,moment,flag,sum -k 1");
    let rows = folder.rows("out.csv");
    assert_eq!(rows[0], header);
    let row = rows.iter().find(|row| row[0] == "7").unwrap();
    assert_eq!(row[1..], ["7.25", "2024-02-29", "2024-02-29 00:00:00", "false", "42"]);
    let row = rows.iter().find(|row| row[0] == "8").unwrap();
    assert_eq!(row[1..], ["8.25", "2024-02-29", "2024-02-29 13:45:10", "true", "42"]);
    // The types are those of numbers and dates, not of text.
    folder.anonymize("in.xlsx -o typed.parquet --quasi sum --keep whole,part,day,moment,flag -k 1 --values interval");
    let types: Vec<String> = folder
        .parquet("typed.parquet")
        .schema()
        .fields()
        .iter()
        .filter(|field| field.name() != "sum")
        .map(|field| field.data_type().to_string())
        .collect();
    assert_eq!(types[0], "Int64");
    assert!(types[1].starts_with("Decimal128") && types[2] == "Date32", "{types:?}");
    assert!(types[3].starts_with("Timestamp") && types[4] == "Boolean", "{types:?}");
}

#[test]
fn cells_of_an_ods_become_the_text_that_they_mean() {
    let folder = Folder::new();
    let cells = "<table:table-row><table:table-cell office:value-type=\"percentage\" \
         office:value=\"0.5\"/><table:table-cell office:value-type=\"boolean\" \
         office:boolean-value=\"true\"/><table:table-cell office:value-type=\"date\" \
         office:date-value=\"2024-02-29T13:45:10\"/><table:table-cell office:value-type=\"time\" \
         office:time-value=\"PT12H30M00S\"/><table:table-cell office:value-type=\"string\">\
         <office:annotation><text:p>a remark</text:p></office:annotation>\
         <text:p>a &amp; b<draw:frame><draw:text-box><text:p>drawn</text:p></draw:text-box>\
         </draw:frame><text:s text:c=\"2\"/>c</text:p><text:p>&#100;</text:p>\
         <draw:frame><draw:text-box><text:p>drawn</text:p></draw:text-box></draw:frame>\
         </table:table-cell></table:table-row>";
    let header: Vec<String> = ["share", "flag", "at", "time", "note"].map(str::to_owned).to_vec();
    let sheet = format!(
        "<table:table table:name=\"S\"><table:table-row table:number-rows-repeated=\"3\"/>{}{}{}\
         <table:table-row table:number-rows-repeated=\"1048000\"><table:table-cell \
         table:number-columns-repeated=\"16384\"/></table:table-row></table:table>",
        ods_rows(&[header]),
        cells.replace("<table:table-row>", "<table:table-row table:number-rows-repeated=\"4\">"),
        "<table:table-row><table:table-cell table:number-columns-repeated=\"2\" \
         office:value-type=\"string\"><text:p>x</text:p></table:table-cell></table:table-row>",
    );
    folder.write("in.ods", ods(&sheet));
    folder.anonymize(
        "in.ods -o out.csv --quasi flag --type flag=text --keep share,at,time,note -k 1",
    );
    let text = folder.read("out.csv");
    let record = "0.5,true,2024-02-29 13:45:10,12:30:00,\"a & b  c\nd\"\n";
    assert_eq!(text.matches(record).count(), 4, "{text}");
    assert!(text.contains("x,x,,,\n"), "{text}");
    // A row is told by its number in the sheet, whatever lines its text has.
    let run = folder.run("anonymize in.ods -o o.csv --quasi share -k 1 --type share=decimal");
    assert_eq!(run.code, Some(2), "{}", run.said());
    assert!(run.err.contains("row 9"), "{}", run.err);
}

#[test]
fn a_cell_that_does_not_fit_is_told_by_its_row_of_the_sheet() {
    let folder = Folder::new();
    let mut workbook = Workbook::new();
    let sheet = workbook.add_worksheet();
    fill(sheet, (4, 1), &[vec!["note".to_owned(), "age".to_owned()]]);
    for row in 0..60u32 {
        // Every tenth row is empty, and every text has two lines.
        if row % 10 != 9 {
            sheet.write_string(5 + row, 1, "a\nb").unwrap();
            sheet.write_number(5 + row, 2, f64::from(20 + row)).unwrap();
        }
    }
    sheet.write_string(65, 2, "Xanthippe").unwrap();
    workbook.save(folder.path("in.xlsx")).unwrap();
    let run = folder.run("anonymize in.xlsx -o out.csv --quasi age -k 3");
    assert_eq!(run.code, Some(2), "{}", run.said());
    assert!(run.err.contains("row 66") && run.err.contains("age"), "{}", run.err);
    assert!(!run.said().contains("Xanthippe"), "{}", run.err);
}

/// Whoever exports a workbook from a program of another country often has texts for numbers.
#[test]
fn texts_of_a_sheet_that_look_like_numbers_are_never_read_wrongly() {
    let sheet = |folder: &Folder, texts: &[&str]| {
        let mut workbook = Workbook::new();
        let sheet = workbook.add_worksheet();
        sheet.write_string(0, 0, "cost").unwrap();
        sheet.write_string(0, 1, "sex").unwrap();
        for (row, text) in texts.iter().enumerate() {
            sheet.write_string(row as u32 + 1, 0, *text).unwrap();
            sheet.write_string(row as u32 + 1, 1, "f").unwrap();
        }
        workbook.save(folder.path("in.xlsx")).unwrap();
    };
    let job = "anonymize in.xlsx -o out.csv --force --quasi cost,sex -k 1 --accept low-k";
    let folder = Folder::new();
    sheet(&folder, &["45.310", "980", "12.500"]);
    refused(&folder, job, &["column 'cost'", "two ways", "--decimal point"]);
    let run = folder.run(&format!("{job} --decimal point"));
    assert_eq!(run.code, Some(0), "{}", run.said());
    assert!(folder.read("out.csv").contains("45.31,f"), "{}", folder.read("out.csv"));
    sheet(&folder, &["1.234,50", "7,25", "980"]);
    let run = folder.run(job);
    assert!(run.out.contains("'cost' are read as text: they are texts"), "{}", run.said());
    assert!(folder.read("out.csv").contains("\"1.234,50\",f"), "{}", folder.read("out.csv"));
}

#[test]
fn a_cell_with_an_error_is_refused_by_its_place_unless_it_stands_for_missing() {
    let folder = Folder::new();
    let mut workbook = Workbook::new();
    let sheet = workbook.add_worksheet();
    fill(sheet, (0, 0), &rows_of("name,age\nAda,30\nBob,31\nCleo,32\nDan,33\n", ','));
    let broken = Formula::new("=NA()").set_result("#N/A");
    sheet.write_formula(3, 1, broken).unwrap();
    workbook.save(folder.path("in.xlsx")).unwrap();
    refused(
        &folder,
        "anonymize in.xlsx -o out.csv --quasi age -k 2",
        &["row 4, column 'B'", "an error instead of a value", "--missing '#N/A'"],
    );
    folder.anonymize("in.xlsx -o out.csv --quasi name --keep age -k 1 --missing #N/A");
    let ages = folder.column("out.csv", "age");
    assert_eq!(ages.iter().filter(|age| age.parse::<u8>().is_ok()).count(), 3, "{ages:?}");
}

#[test]
fn a_workbook_that_is_locked_or_broken_or_empty_is_refused_as_that() {
    let folder = Folder::new();
    write_xlsx(&folder.path("good.xlsx"), (0, 0), &rows_of(PEOPLE, ','));
    let good = folder.bytes("good.xlsx");
    folder.write("cut.xlsx", &good[..good.len() / 2]);
    let mut flipped = good.clone();
    for at in (200..good.len() - 200).step_by(97) {
        flipped[at] ^= 0x55;
    }
    folder.write("flipped.xlsx", &flipped);
    Workbook::new().save(folder.path("empty.xlsx")).unwrap();
    folder.write("none.ods", ods(""));
    let mut locked = vec![0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];
    locked.extend([0; 504]);
    let old = locked.clone();
    locked.extend("EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes));
    folder.write("locked.xlsx", &locked);
    folder.write("old.xls", &old);
    folder.write(
        "locked.ods",
        archive(&[
            ("mimetype", b"application/vnd.oasis.opendocument.spreadsheet"),
            ("content.xml", b"\x93\x12noise"),
            ("META-INF/manifest.xml", b"<manifest:encryption-data/>"),
        ]),
    );
    folder.write("parts.xlsx", archive(&[("xl/workbook.xml", b"<workbook/>")]));
    let claims = b"<sst uniqueCount=\"99999999999999\"><si><t>a</t></si></sst>";
    folder.write(
        "claims.xlsx",
        archive(&[("xl/workbook.xml", b"<workbook/>"), ("xl/sharedStrings.xml", claims)]),
    );
    for (file, says) in [
        ("cut.xlsx", "the workbook is damaged"),
        ("flipped.xlsx", "the workbook is damaged"),
        ("claims.xlsx", "the workbook is damaged"),
        ("parts.xlsx", "the "),
        ("empty.xlsx", "the sheet is empty"),
        ("none.ods", "the sheet is empty"),
        ("locked.xlsx", "the workbook is encrypted"),
        ("locked.ods", "the workbook is encrypted"),
        ("old.xls", "soffice --headless --convert-to xlsx 'old.xls'"),
    ] {
        refused(&folder, &format!("check {file} --quasi age"), &[file, says]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_zip_bomb_is_refused_without_memory() {
    const MOST_BYTES: u64 = 96 << 20;
    let folder = Folder::new();
    let workbook = b"<workbook xmlns:r=\"r\"><sheets><sheet name=\"S\" sheetId=\"1\" r:id=\"r1\"/>\
                     </sheets></workbook>";
    let strings = [b"<sst>".to_vec(), b"<si><t>a</t></si>".repeat(12 << 20)].concat();
    let text = [b"<worksheet><sheetData><row><c t=\"inlineStr\"><is><t>".to_vec()].concat();
    let text = [text, vec![b'a'; 200 << 20]].concat();
    for (part, bytes) in [("xl/sharedStrings.xml", &strings), ("xl/worksheets/sheet1.xml", &text)] {
        folder.write("bomb.xlsx", archive(&[("xl/workbook.xml", workbook), (part, bytes)]));
        assert!(folder.bytes("bomb.xlsx").len() < 4 << 20, "it is small as long as it is packed");
        // What is nothing but one letter is a bomb in any memory.
        let memories = if part.contains("sheet1") { &["64MB", "100GB"][..] } else { &["64MB"] };
        for memory in memories {
            let arguments = ["check", "bomb.xlsx", "--quasi", "age", "--memory", memory];
            let run = watched(&folder.path(""), &arguments, Stdio::null());
            assert_eq!(run.code, Some(2), "{part}: {}", run.err);
            assert!(run.err.contains("the workbook unpacks to"), "{part}: {}", run.err);
            assert!(run.peak_bytes < MOST_BYTES, "{part}: {} bytes", run.peak_bytes);
        }
    }
}

#[test]
fn repeated_rows_and_columns_beyond_the_budget_are_refused() {
    let folder = Folder::new();
    let cell = "<table:table-cell table:number-columns-repeated=\"16000\" \
                office:value-type=\"string\"><text:p>aaaaaaaa</text:p></table:table-cell>";
    let row =
        format!("<table:table-row table:number-rows-repeated=\"1000000\">{cell}</table:table-row>");
    folder.write("in.ods", ods(&format!("<table:table table:name=\"S\">{row}</table:table>")));
    refused(
        &folder,
        "check in.ods --quasi age --memory 1MB",
        &["the text of the sheet is longer than the memory allows", "--memory"],
    );
}

#[test]
fn a_workbook_beyond_the_memory_is_refused_with_what_would_do() {
    let folder = Folder::new();
    let mut cells = vec![vec!["age".to_owned(), "note".to_owned()]];
    cells.extend((0..4_000).map(|row| vec![(20 + row % 60).to_string(), format!("text {row}")]));
    write_xlsx(&folder.path("in.xlsx"), (0, 0), &cells);
    let run = folder.run("check in.xlsx --quasi age --memory 100KB");
    assert_eq!(run.code, Some(2), "{}", run.said());
    let (_, memory) = run.err.split_once("--memory ").unwrap();
    let run = folder.run(&format!("check in.xlsx --quasi age --memory {}", memory.trim()));
    assert!(matches!(run.code, Some(0 | 1)), "{}", run.said());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn a_table_as_a_workbook_and_as_csv_gives_the_same_release(
        rows in prop::collection::vec(
            (20i64..60, "[a-z][a-z ,\"é\n]{0,5}[a-z]", prop::option::of(-9999i32..9999), 1u8..29),
            6..40,
        ),
        at in (0u32..5, 0u16..5),
    ) {
        let folder = Folder::new();
        let mut cells = vec![["age", "note", "n", "day"].map(str::to_owned).to_vec()];
        for (age, note, n, day) in &rows {
            let n = n.map_or(String::new(), |n| format!("{}", f64::from(n) / 8.0));
            cells.push(vec![age.to_string(), note.clone(), n, format!("2023-02-{day:02}")]);
        }
        let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
        let line = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n";
        folder.write("in.csv", cells.iter().map(line).collect::<String>());
        write_xlsx(&folder.path("in.xlsx"), at, &cells);
        let job = "--header --quasi age,day --keep note,n --type note=text -k 3";
        folder.anonymize(&format!("in.csv -o a.csv {job}"));
        folder.anonymize(&format!("in.xlsx -o b.csv {job}"));
        prop_assert_eq!(folder.read("a.csv"), folder.read("b.csv"));
    }
}
