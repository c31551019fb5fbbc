//! How a hierarchy is asked for: the text after `column=` of a flag or job file.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use super::dates::DateLevels;
use super::file;
use super::file::rows;
use super::finest::Finest;
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
    /// Stretches of the calendar: month, quarter and year, or others.
    Dates(DateLevels),
    /// The value or nothing.
    Suppress,
    /// One of the others, of which nothing below a level is shown.
    AtLeast(Box<HierarchySpec>, Finest),
}

/// Rows of text, one per leaf, from specific to general. Not `Debug` in full: they hold values.
#[derive(Clone, PartialEq, Eq)]
pub struct HierarchyRows {
    /// What messages call them: the file's path.
    origin: String,
    pub(super) bytes: Vec<u8>,
}

impl HierarchyRows {
    /// Reads a file, packed or not, for somebody who may take this much memory for all.
    pub fn read_within(path: &Path, limit_bytes: u64) -> TableResult<HierarchyRows> {
        let (origin, bytes) = (path.display().to_string(), file::read(path, limit_bytes)?);
        Ok(HierarchyRows { origin, bytes })
    }

    /// Rows that lie in no file: text with one line per leaf.
    pub fn of_text(origin: &str, text: &str) -> HierarchyRows {
        HierarchyRows::of_bytes(origin, text.as_bytes().to_vec())
    }

    /// The bytes of a file, unpacked.
    pub fn of_bytes(origin: &str, bytes: Vec<u8>) -> HierarchyRows {
        HierarchyRows { origin: origin.to_owned(), bytes }
    }

    /// What messages call them.
    pub fn origin(&self) -> &str {
        &self.origin
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
    /// The same without a level that nothing is shown below.
    pub fn whole(&self) -> &HierarchySpec {
        match self {
            HierarchySpec::AtLeast(spec, _) => spec.whole(),
            spec => spec,
        }
    }

    /// Reads the file, if it is one that has not been read, for somebody who may take this much
    /// memory for all.
    pub fn read_file_within(&mut self, limit_bytes: u64) -> TableResult<()> {
        if let HierarchySpec::File(path) = self {
            *self = HierarchySpec::Rows(HierarchyRows::read_within(path, limit_bytes)?.into());
        }
        Ok(())
    }

    /// About what the hierarchy of these values takes while it is made.
    pub fn memory_bytes(&self, mut values: Vec<&str>) -> usize {
        // A label with its text, its place in two tables and its node.
        const LABEL_BYTES: usize = 280;
        const LEAF_BYTES: usize = 8;
        values.sort_unstable();
        values.dedup();
        match self.whole() {
            HierarchySpec::Prefix => {
                let longest = values.iter().map(|value| value.chars().count()).max().unwrap_or(0);
                let labels = values.iter().scan("", |before, value| {
                    let shared = value.chars().zip(before.chars()).take_while(|(a, b)| a == b);
                    let n_labels = value.chars().count() - shared.count();
                    *before = value;
                    Some(n_labels)
                });
                labels.sum::<usize>() * LABEL_BYTES + values.len() * longest * LEAF_BYTES
            }
            HierarchySpec::Rows(rows) => rows.bytes.len() * 8,
            HierarchySpec::File(_) => 0,
            HierarchySpec::Suppress => values.len() * LABEL_BYTES,
            HierarchySpec::Ranges(sizes) => values.len() * (sizes.len() + 2) * LABEL_BYTES / 2,
            HierarchySpec::Dates(_) => values.len() * 2 * LABEL_BYTES,
            HierarchySpec::AtLeast(..) => unreachable!("the whole has no least level"),
        }
    }
}

impl FromStr for HierarchySpec {
    type Err = String;

    /// Reads `prefix`, `ranges:5,10,20`, `dates`, `dates:month,year` or `suppress`; all else is a
    /// path. A file of such a name is reached as `./prefix`.
    fn from_str(text: &str) -> Result<HierarchySpec, String> {
        match text {
            "" => Err("no hierarchy given; use a file, prefix, ranges:5,10,20, dates or suppress"
                .to_owned()),
            "prefix" => Ok(HierarchySpec::Prefix),
            "dates" => Ok(HierarchySpec::Dates(DateLevels::default())),
            "suppress" => Ok(HierarchySpec::Suppress),
            "ranges" => Err("ranges needs sizes; write for example ranges:5,10,20".to_owned()),
            _ => match (text.strip_prefix("ranges:"), text.strip_prefix("dates:")) {
                (Some(sizes), _) => {
                    let sizes =
                        sizes.split(',').map(str::parse).collect::<Result<Vec<Size>, _>>()?;
                    check_sizes(&sizes)?;
                    Ok(HierarchySpec::Ranges(sizes))
                }
                (_, Some(levels)) => Ok(HierarchySpec::Dates(levels.parse()?)),
                _ => Ok(HierarchySpec::File(PathBuf::from(text))),
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
            HierarchySpec::Dates(levels) => write!(f, "{levels}"),
            HierarchySpec::Suppress => f.write_str("suppress"),
            HierarchySpec::AtLeast(spec, _) => spec.fmt(f),
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
    fn prefixes_take_memory_for_each_that_differs_and_not_for_each_value() {
        let memory = |values: &[&str]| HierarchySpec::Prefix.memory_bytes(values.to_vec());
        assert_eq!(memory(&[]), 0);
        assert_eq!(memory(&["04109", "04109"]), memory(&["04109"]));
        assert!(memory(&["04109", "04108"]) < memory(&["04109", "17000"]));
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
