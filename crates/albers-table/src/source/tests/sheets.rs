//! Workbooks that take more than they seem to, and such as are damaged.

use std::io::{Cursor, Write as _};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

const MEMORY_BYTES: u64 = 32 << 20;

fn archive(parts: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        writer.start_file(name.as_str(), SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn part(name: &str, text: &str) -> (String, Vec<u8>) {
    (name.to_owned(), text.as_bytes().to_vec())
}

/// A workbook with these rows.
fn ods(rows: &str) -> Vec<u8> {
    let content = format!(
        "<office:document-content><office:body><office:spreadsheet><table:table \
         table:name=\"S\">{rows}</table:table></office:spreadsheet></office:body>\
         </office:document-content>"
    );
    let kind = "application/vnd.oasis.opendocument.spreadsheet";
    archive(&[part("mimetype", kind), part("content.xml", &content)])
}

fn ods_cell(attributes: &str, text: &str) -> String {
    format!(
        "<table:table-cell office:value-type=\"string\" {attributes}><text:p>{text}</text:p>\
         </table:table-cell>"
    )
}

fn ods_row(attributes: &str, cells: &[String]) -> String {
    format!("<table:table-row {attributes}>{}</table:table-row>", cells.concat())
}

/// The parts of a workbook with this sheet and one shared text.
fn xlsx_parts(sheet: &str, shared: &str) -> Vec<(String, Vec<u8>)> {
    let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let relation = |id: &str, kind: &str, target: &str| {
        format!("<Relationship Id=\"{id}\" Type=\"{kinds}/{kind}\" Target=\"{target}\"/>")
    };
    let relations = |own: &str| format!("<Relationships>{own}</Relationships>");
    let workbook = format!(
        "<workbook xmlns=\"{main}\" xmlns:r=\"{kinds}\"><sheets><sheet name=\"S\" sheetId=\"1\" \
         r:id=\"r1\"/></sheets></workbook>"
    );
    let own = relation("r1", "worksheet", "worksheets/sheet1.xml")
        + &relation("r2", "sharedStrings", "sharedStrings.xml");
    vec![
        part("_rels/.rels", &relations(&relation("r1", "officeDocument", "xl/workbook.xml"))),
        part("xl/workbook.xml", &workbook),
        part("xl/_rels/workbook.xml.rels", &relations(&own)),
        part("xl/sharedStrings.xml", &format!("<sst><si><t>{shared}</t></si></sst>")),
        part("xl/worksheets/sheet1.xml", &format!("<worksheet>{sheet}</worksheet>")),
    ]
}

fn xlsx(sheet: &str, shared: &str) -> Vec<u8> {
    archive(&xlsx_parts(sheet, shared))
}

fn xlsx_row(row: usize) -> String {
    format!("<row r=\"{row}\"><c r=\"A{row}\" t=\"s\"><v>0</v></c></row>")
}

/// How many rows are read in this memory, or why none are.
fn n_rows_of(name: &str, bytes: &[u8], limit_bytes: u64) -> std::result::Result<usize, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let options = ReadOptions {
        limit_bytes: Some(limit_bytes),
        header: Some(false),
        ..ReadOptions::default()
    };
    let rows = FileSource::open(&path, None, &options).and_then(|source| chunks_of(&source));
    match rows {
        Ok(chunks) => Ok(chunks.iter().map(|chunk| chunk.n_rows).sum()),
        Err(error) => Err(error.to_string()),
    }
}

fn assert_says(name: &str, bytes: &[u8], expected: &str) {
    let message = n_rows_of(name, bytes, MEMORY_BYTES).unwrap_err();
    assert!(message.contains(expected), "{message}");
}

#[test]
fn a_long_cell_that_is_repeated_along_a_row_is_refused() {
    let text = "x".repeat(1 << 20);
    let row = |n: usize| {
        ods(&ods_row("", &[ods_cell(&format!("table:number-columns-repeated=\"{n}\""), &text)]))
    };
    assert_eq!(n_rows_of("t.ods", &row(3), MEMORY_BYTES), Ok(1));
    assert_says("t.ods", &row(5), "too small for the longest row");
    assert_says("t.ods", &row(3_000), "row 1 is longer than 256 MB");
}

#[test]
fn a_long_shared_text_that_cells_of_a_row_refer_to_is_refused() {
    let shared = "x".repeat(1 << 20);
    let row = |n: u8| {
        let cells =
            (0..n).map(|at| format!("<c r=\"{}1\" t=\"s\"><v>0</v></c>", (b'A' + at) as char));
        let row = format!("<row r=\"1\">{}</row>", cells.collect::<String>());
        xlsx(&format!("<sheetData>{row}</sheetData>"), &shared)
    };
    assert_eq!(n_rows_of("t.xlsx", &row(3), MEMORY_BYTES), Ok(1));
    assert_says("t.xlsx", &row(5), "too small for the longest row");
    // What it advises is enough for the row.
    let message = n_rows_of("t.xlsx", &row(25), MEMORY_BYTES).unwrap_err();
    assert!(message.contains("the longest row"), "{message}");
    assert_eq!(n_rows_of("t.xlsx", &row(25), (8 * 26) << 20), Ok(1));
}

#[test]
fn blanks_that_are_written_as_a_number_are_counted_before_they_are_made() {
    let cell = |n: usize| ods_cell("", &"<text:s text:c=\"32768\"/>".repeat(n));
    let sheet = |n| ods(&ods_row("", &[ods_cell("", "a"), cell(n)]));
    assert_eq!(n_rows_of("t.ods", &sheet(100), MEMORY_BYTES), Ok(1));
    assert_says("t.ods", &sheet(200), "too small for the longest row");
    assert_says("t.ods", &sheet(60_000), "row 1 is longer than 256 MB");
}

#[test]
fn what_is_repeated_no_time_at_all_is_damaged() {
    let (row, cell) = ("table:number-rows-repeated=\"0\"", "table:number-columns-repeated=\"0\"");
    let sheet = |row: &str, cell: &str| {
        let other = ods_row("", &[ods_cell("", "a"), ods_cell("", "b")]);
        ods(&(other.clone() + &ods_row(row, &[ods_cell(cell, "c"), ods_cell("", "d")]) + &other))
    };
    assert_eq!(n_rows_of("t.ods", &sheet("", ""), MEMORY_BYTES), Ok(3));
    assert_says("t.ods", &sheet(row, ""), "the workbook is damaged");
    assert_says("t.ods", &sheet("", cell), "the workbook is damaged");
}

#[test]
fn a_time_that_is_no_number_is_damaged() {
    let sheet = |time: &str| {
        let cell =
            format!("<table:table-cell office:value-type=\"time\" office:time-value=\"{time}\"/>");
        ods(&ods_row("", &[cell]))
    };
    assert_eq!(n_rows_of("t.ods", &sheet("PT12H00M00S"), MEMORY_BYTES), Ok(1));
    assert_says("t.ods", &sheet("PTnanH0M0S"), "the workbook is damaged");
}

#[test]
fn rows_behind_the_end_of_all_rows_are_damage() {
    let rows = |from: usize| (from..from + 5).map(xlsx_row).collect::<String>();
    let sheet = |middle: &str| {
        let rows = format!("<sheetData>{}{middle}{}</sheetData><pageMargins/>", rows(1), rows(6));
        xlsx(&rows, "a")
    };
    assert_eq!(n_rows_of("t.xlsx", &sheet(""), MEMORY_BYTES), Ok(10));
    for middle in ["</sheetData>", "</sheetData><sheetData>"] {
        assert_says("t.xlsx", &sheet(middle), "the workbook is damaged in row 5 or near it");
    }
}

#[test]
fn a_list_of_parts_beyond_the_memory_is_refused_before_it_is_read() {
    let mut parts = xlsx_parts(&format!("<sheetData>{}</sheetData>", xlsx_row(1)), "a");
    assert_eq!(n_rows_of("t.xlsx", &archive(&parts), MEMORY_BYTES), Ok(1));
    let name = "n".repeat(60_000);
    parts.extend((0..50).map(|at| part(&format!("{name}{at}"), "")));
    let bytes = archive(&parts);
    assert_says("t.xlsx", &bytes, "too small for the list of the parts of a workbook");
    // What it says of its length is not believed either.
    let mut lying = bytes.clone();
    let end = memchr::memmem::rfind(&lying, b"PK\x05\x06").unwrap();
    lying[end + 12..end + 16].copy_from_slice(&100u32.to_le_bytes());
    assert_says("t.xlsx", &lying, "the workbook is damaged");
    assert_eq!(n_rows_of("t.xlsx", &bytes, 1 << 30), Ok(1));
}

#[test]
fn an_archive_without_an_end_is_damaged() {
    let bytes = xlsx(&format!("<sheetData>{}</sheetData>", xlsx_row(1)), "a");
    for n_bytes in [4, 21, 40, bytes.len() - 1] {
        assert_says("t.xlsx", &bytes[..n_bytes], "the workbook is damaged");
    }
}
