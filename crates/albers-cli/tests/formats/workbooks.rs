//! Workbooks that tests write.

use std::io::{Cursor, Write as _};
use std::path::Path;

use rust_xlsxwriter::{ExcelDateTime, Format, Workbook, Worksheet};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Writes a cell of text as what it looks like: a number, a date, a boolean or text.
pub fn write_cell(sheet: &mut Worksheet, row: u32, column: u16, cell: &str) {
    let day = Format::new().set_num_format("yyyy-mm-dd");
    let moment = Format::new().set_num_format("yyyy-mm-dd hh:mm:ss");
    let is_code = cell.len() > 1 && cell.starts_with('0') && !cell.contains('.');
    if cell.is_empty() {
        return;
    }
    if let Ok(number) = cell.parse::<f64>().map_err(|_| ()).and_then(|own| match is_code {
        true => Err(()),
        false => Ok(own),
    }) {
        sheet.write_number(row, column, number).unwrap();
    } else if cell == "true" || cell == "false" {
        sheet.write_boolean(row, column, cell == "true").unwrap();
    } else if cell.len() == 10 && cell.as_bytes()[4] == b'-' {
        let own = ExcelDateTime::parse_from_str(cell).unwrap();
        sheet.write_datetime_with_format(row, column, &own, &day).unwrap();
    } else if cell.len() == 19 && cell.as_bytes()[10] == b' ' {
        let own = ExcelDateTime::parse_from_str(&cell.replace(' ', "T")).unwrap();
        sheet.write_datetime_with_format(row, column, &own, &moment).unwrap();
    } else {
        sheet.write_string(row, column, cell).unwrap();
    }
}

/// A sheet with cells of text, from a row and a column on.
pub fn fill(sheet: &mut Worksheet, (row, column): (u32, u16), cells: &[Vec<String>]) {
    for (row_idx, cells) in cells.iter().enumerate() {
        for (cell_idx, cell) in cells.iter().enumerate() {
            write_cell(sheet, row + row_idx as u32, column + cell_idx as u16, cell);
        }
    }
}

/// A workbook with one sheet.
pub fn write_xlsx(path: &Path, at: (u32, u16), cells: &[Vec<String>]) {
    let mut workbook = Workbook::new();
    fill(workbook.add_worksheet(), at, cells);
    workbook.save(path).unwrap();
}

/// An archive of zip with these parts.
pub fn archive(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// The container of an .ods with this content between the tags of its spreadsheet.
pub fn ods(sheets: &str) -> Vec<u8> {
    let content = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><office:document-content \
         xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" \
         xmlns:table=\"urn:oasis:names:tc:opendocument:xmlns:table:1.0\" \
         xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\">\
         <office:body><office:spreadsheet>{sheets}</office:spreadsheet></office:body>\
         </office:document-content>"
    );
    archive(&[
        ("mimetype", b"application/vnd.oasis.opendocument.spreadsheet"),
        ("content.xml", content.as_bytes()),
        ("META-INF/manifest.xml", b"<manifest:manifest/>"),
    ])
}

/// The rows of a sheet of an .ods, each cell as what it looks like.
pub fn ods_rows(cells: &[Vec<String>]) -> String {
    let cell = |own: &String| {
        let is_code = own.len() > 1 && own.starts_with('0');
        if own.is_empty() {
            "<table:table-cell/>".to_owned()
        } else if own.parse::<f64>().is_ok() && !is_code {
            format!("<table:table-cell office:value-type=\"float\" office:value=\"{own}\"/>")
        } else if own.len() == 10 && own.as_bytes()[4] == b'-' {
            format!("<table:table-cell office:value-type=\"date\" office:date-value=\"{own}\"/>")
        } else {
            let text = own.replace('&', "&amp;").replace('<', "&lt;");
            format!(
                "<table:table-cell office:value-type=\"string\"><text:p>{text}</text:p>\
                 </table:table-cell>"
            )
        }
    };
    let row = |row: &Vec<String>| {
        let cells: String = row.iter().map(cell).collect();
        format!("<table:table-row>{cells}</table:table-row>")
    };
    cells.iter().map(row).collect()
}
