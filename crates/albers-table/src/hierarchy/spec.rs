//! How a hierarchy is asked for: the text after `column=` of a flag or job file.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use super::file;
use super::file::rows;
use super::ranges::{Size, check_sizes};
use crate::Result as TableResult;

/// Where the hierarchy of a column comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HierarchySpec {
    /// A file with one row per leaf, from specific to general; it has to be read before a
    /// hierarchy can be built.
    File(PathBuf),
    /// The rows of such a file.
    Rows(Arc<HierarchyRows>),
    /// Characters are stripped from the right, one per level.
    Prefix,
    /// Nested intervals of these sizes, aligned at 0.
    Ranges(Vec<Size>),
    /// Day, month, quarter, year.
    Dates,
    /// The value or nothing.
    Suppress,
}

/// Rows of text, one per leaf, from specific to general. Not `Debug` in full: they hold values.
#[derive(Clone, PartialEq, Eq)]
pub struct HierarchyRows {
    /// What messages call them: the file's path.
    origin: String,
    pub(super) bytes: Vec<u8>,
}

impl HierarchyRows {
    /// Reads a file, packed or not.
    pub fn read(path: &Path) -> TableResult<HierarchyRows> {
        Ok(HierarchyRows { origin: path.display().to_string(), bytes: file::read(path)? })
    }

    /// Rows that lie in no file: text with one line per leaf.
    pub fn of_text(origin: &str, text: &str) -> HierarchyRows {
        HierarchyRows::of_bytes(origin, text.as_bytes().to_vec())
    }

    /// The bytes of a file, unpacked.
    pub fn of_bytes(origin: &str, bytes: Vec<u8>) -> HierarchyRows {
        HierarchyRows { origin: origin.to_owned(), bytes }
    }

    /// The bytes of the file, unpacked.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The fields of the file's rows, from specific to general, each leaf once and in the order of the
    /// leaves' places; nothing if they cannot be read. Told by the file, the name of its column and
    /// names that are known to stand in it; no table has a say.
    pub fn fields(&self, column: &str, known: &[String]) -> Option<Vec<Vec<String>>> {
        rows::fields(&self.bytes, column, known)
    }
}

impl fmt::Debug for HierarchyRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HierarchyRows({})", self.origin)
    }
}

impl HierarchySpec {
    /// Reads the file, if it is one that has not been read.
    pub fn read_file(&mut self) -> TableResult<()> {
        if let HierarchySpec::File(path) = self {
            *self = HierarchySpec::Rows(Arc::new(HierarchyRows::read(path)?));
        }
        Ok(())
    }
}

impl FromStr for HierarchySpec {
    type Err = String;

    /// Reads `prefix`, `ranges:5,10,20`, `dates` or `suppress`; all else is a path. A file of such
    /// a name is reached as `./prefix`.
    fn from_str(text: &str) -> Result<HierarchySpec, String> {
        match text {
            "" => Err("no hierarchy given; use a file, prefix, ranges:5,10,20, dates or suppress"
                .to_owned()),
            "prefix" => Ok(HierarchySpec::Prefix),
            "dates" => Ok(HierarchySpec::Dates),
            "suppress" => Ok(HierarchySpec::Suppress),
            "ranges" => Err("ranges needs sizes; write for example ranges:5,10,20".to_owned()),
            _ => match text.strip_prefix("ranges:") {
                None => Ok(HierarchySpec::File(PathBuf::from(text))),
                Some(sizes) => {
                    let sizes =
                        sizes.split(',').map(str::parse).collect::<Result<Vec<Size>, _>>()?;
                    check_sizes(&sizes)?;
                    Ok(HierarchySpec::Ranges(sizes))
                }
            },
        }
    }
}

impl fmt::Display for HierarchySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HierarchySpec::File(path) => write!(f, "{}", path.display()),
            HierarchySpec::Rows(rows) => f.write_str(&rows.origin),
            HierarchySpec::Prefix => f.write_str("prefix"),
            HierarchySpec::Dates => f.write_str("dates"),
            HierarchySpec::Suppress => f.write_str("suppress"),
            HierarchySpec::Ranges(sizes) => {
                let sizes: Vec<String> = sizes.iter().map(Size::to_string).collect();
                write!(f, "ranges:{}", sizes.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_words_are_not_paths_and_all_else_is() {
        for text in ["prefix", "dates", "suppress", "ranges:5,10,20", "ranges:0.5,1", "zip.csv"] {
            let spec: HierarchySpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), text);
            assert_eq!(matches!(spec, HierarchySpec::File(_)), text == "zip.csv");
        }
        assert!(matches!("./prefix".parse(), Ok(HierarchySpec::File(_))));
    }

    #[test]
    fn sizes_are_read_in_any_notation_and_written_in_one() {
        let spec: HierarchySpec = "ranges: 0.50,1e1,20.0".parse().unwrap();
        assert_eq!(spec.to_string(), "ranges:0.5,10,20");
    }

    #[test]
    fn sizes_that_do_not_divide_each_other_are_refused_by_name() {
        let refusal = |text: &str| text.parse::<HierarchySpec>().unwrap_err();
        let message = refusal("ranges:5,10,25");
        assert!(message.contains("10") && message.contains("25"), "{message}");
        assert!(refusal("ranges:10,5").contains("5 is not a multiple of 10"));
        assert!(refusal("ranges:5,5").contains("5 follows 5"));
        assert!(refusal("ranges:0,5").contains("'0'"));
        assert!(refusal("ranges:-5").contains("'-5'"));
        assert!(refusal("ranges:5,,10").contains("''"));
        assert!(refusal("ranges:five").contains("'five'"));
        assert!(refusal("ranges:1e30").contains("'1e30'"));
        assert!(refusal("ranges").contains("ranges:5,10,20"));
        assert!(refusal("ranges:").contains("ranges:5,10,20"));
        assert!(refusal("").contains("prefix"));
    }
}
