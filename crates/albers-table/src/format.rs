//! How a table is stored, told by the ending of its file's name or by a word.

use std::path::Path;

use albers_storage::input::Packing;

use crate::{Result, TableError};

/// How a table is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// `.csv`, also packed: text, cells between commas or what the header shows.
    Csv,
    /// `.tsv`, also packed: text, cells between tabs.
    Tsv,
    /// `.parquet` or `.pq`, never packed as a whole.
    Parquet,
    /// `.jsonl` or `.ndjson`, also packed: one JSON object per line.
    JsonLines,
    /// `.xlsx` or `.ods`: a sheet of a workbook, which is read and not written.
    Sheet,
}

albers_storage::choices!(Format {
    Csv: "csv", "Text, cells between commas";
    Tsv: "tsv", "Text, cells between tabs";
    Parquet: "parquet", "Parquet";
    JsonLines: "jsonl", "JSON Lines: one object per line";
    Sheet: "sheet", "A sheet of a workbook, .xlsx or .ods";
} but not {
    "json": "JSON is read with one object per line: say jsonl";
    "ndjson": "say jsonl";
    "xlsx": "say sheet";
    "ods": "say sheet";
    "xls": "old workbooks are not read: save it as .xlsx";
});

impl Format {
    /// The format that the ending of a name stands for, if it stands for one.
    pub fn of(path: &Path) -> Option<Format> {
        let packing = Packing::of(path);
        match (ending_of(path, packing).as_deref(), packing) {
            (Some("csv"), _) => Some(Format::Csv),
            (Some("tsv"), _) => Some(Format::Tsv),
            (Some("jsonl" | "ndjson"), _) => Some(Format::JsonLines),
            (Some("parquet" | "pq"), Packing::Plain) => Some(Format::Parquet),
            (Some("xlsx" | "ods"), Packing::Plain) => Some(Format::Sheet),
            _ => None,
        }
    }

    /// The format of a file to be read: a name without a known ending means text.
    pub fn for_reading(path: &Path) -> Result<Format> {
        if is_packed_parquet(path) {
            return Err(packed_parquet(path, "unpack it first"));
        }
        let is_json = ending_of(path, Packing::of(path)).as_deref() == Some("json");
        Ok(Format::of(path).unwrap_or(if is_json { Format::JsonLines } else { Format::Csv }))
    }

    /// The format of a file to be written: a name without a known ending is refused.
    pub fn for_writing(path: &Path) -> Result<Format> {
        if is_packed_parquet(path) {
            let hint = "end the name in .parquet; its columns are compressed anyway";
            return Err(packed_parquet(path, hint));
        }
        let table = || path.display().to_string();
        match Format::of(path) {
            Some(format) => format.check_written(&table()),
            None => Err(TableError::File {
                table: table(),
                problem: "the ending of the name does not tell how to write the table".to_owned(),
                hint: "end it in .csv, .tsv or .jsonl, perhaps with .gz or .zst behind, or in \
                       .parquet"
                    .into(),
            }),
        }
    }

    /// The format, if tables are written in it.
    pub fn check_written(self, table: &str) -> Result<Format> {
        match self {
            Format::Csv | Format::Tsv | Format::Parquet | Format::JsonLines => Ok(self),
            Format::Sheet => Err(TableError::File {
                table: table.to_owned(),
                problem: "spreadsheets are read, and not written".to_owned(),
                hint: "write CSV, which spreadsheets import".into(),
            }),
        }
    }

    /// Whether cells keep their types.
    pub fn is_typed(self) -> bool {
        match self {
            Format::Csv | Format::Tsv | Format::Sheet => false,
            Format::Parquet | Format::JsonLines => true,
        }
    }

    /// Whether intervals are two columns there, unless somebody asks for something else.
    pub fn shows_bounds(self) -> bool {
        self == Format::Parquet
    }

    /// Whether its files may be packed as a whole.
    pub fn may_be_packed(self) -> bool {
        match self {
            Format::Csv | Format::Tsv | Format::JsonLines => true,
            Format::Parquet | Format::Sheet => false,
        }
    }
}

/// The ending of a name in small letters, without that of the packing.
pub(crate) fn ending_of(path: &Path, packing: Packing) -> Option<String> {
    let unpacked = match packing {
        Packing::Plain => path.to_owned(),
        Packing::Gzip | Packing::Zstd => path.with_extension(""),
    };
    let ending = unpacked.extension().and_then(|ending| ending.to_str());
    ending.map(str::to_ascii_lowercase)
}

fn is_packed_parquet(path: &Path) -> bool {
    let packing = Packing::of(path);
    let ending = ending_of(path, packing);
    packing != Packing::Plain && matches!(ending.as_deref(), Some("parquet" | "pq"))
}

pub(crate) fn packed_parquet(path: &Path, hint: &str) -> TableError {
    TableError::File {
        table: path.display().to_string(),
        problem: "a Parquet file is not packed as a whole".to_owned(),
        hint: hint.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_tells_the_format_whatever_the_packing_of_text() {
        for (name, expected) in [
            ("a/t.csv", Some(Format::Csv)),
            ("t.CSV", Some(Format::Csv)),
            ("t.csv.gz", Some(Format::Csv)),
            ("t.tsv.zst", Some(Format::Tsv)),
            ("t.tsv.zstd", Some(Format::Tsv)),
            ("t.parquet", Some(Format::Parquet)),
            ("t.pq", Some(Format::Parquet)),
            ("t.jsonl", Some(Format::JsonLines)),
            ("t.ndjson.gz", Some(Format::JsonLines)),
            ("t.json", None),
            ("t.XLSX", Some(Format::Sheet)),
            ("t.ods", Some(Format::Sheet)),
            ("t.ods.gz", None),
            ("t.parquet.gz", None),
            ("t.gz", None),
            ("t.txt", None),
            ("csv", None),
        ] {
            assert_eq!(Format::of(Path::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn an_unknown_ending_is_text_to_read_and_refused_to_write() {
        let path = Path::new("t.data");
        assert_eq!(Format::for_reading(path).unwrap(), Format::Csv);
        assert!(Format::for_writing(path).unwrap_err().to_string().contains(".parquet"));
    }

    #[test]
    fn json_is_not_read_as_text_and_json_without_lines_is_never_written() {
        for name in ["t.json", "t.JSONL", "t.ndjson.gz"] {
            assert_eq!(Format::for_reading(Path::new(name)).unwrap(), Format::JsonLines);
        }
        assert!(Format::for_writing(Path::new("t.json")).is_err());
    }

    #[test]
    fn spreadsheets_are_not_written() {
        let message = Format::for_writing(Path::new("t.xlsx")).unwrap_err().to_string();
        assert!(message.contains("spreadsheets are read"), "{message}");
    }

    #[test]
    fn packed_parquet_is_refused_both_ways() {
        let path = Path::new("t.pq.zst");
        assert!(Format::for_reading(path).is_err());
        assert!(Format::for_writing(path).is_err());
    }
}
