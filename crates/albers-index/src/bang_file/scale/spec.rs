//! A scale as a job asks for it: the text after `column=` of a flag, or in a job file.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use albers_storage::StorageError;
use albers_storage::input::read_whole;

/// The most halvings of an attribute that can be asked for.
pub const MAX_BITS: u32 = 24;

/// How the values of an attribute become cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScaleSpec {
    /// Ranges of equal length.
    Equal {
        /// The least and the greatest value, as text; those of the table when not given.
        ends: Option<(String, String)>,
        /// How often the attribute can be halved.
        n_bits: Option<u32>,
    },
    /// Ranges of about equally many rows.
    Quantile {
        /// How often the attribute can be halved.
        n_bits: Option<u32>,
    },
    /// The nodes of the column's hierarchy.
    Hierarchy,
    /// The ranges of a file, which has to be read before a scale can be built.
    File(PathBuf),
    /// The lines of such a file.
    Lines(Arc<ScaleLines>),
}

/// Lines of text, one range each. Not `Debug` in full: their ends may be values.
#[derive(Clone, PartialEq, Eq)]
pub struct ScaleLines {
    origin: String,
    pub(super) text: String,
}

impl ScaleLines {
    /// Lines that lie in no file.
    pub fn of_text(origin: &str, text: &str) -> ScaleLines {
        ScaleLines { origin: origin.to_owned(), text: text.to_owned() }
    }

    /// Reads a file, packed or not, for somebody who may take this much memory for all.
    fn read(path: &Path, limit_bytes: u64) -> Result<ScaleLines, ScaleFileError> {
        let bytes = read_whole(path, "the file of a scale", limit_bytes)?;
        let text = String::from_utf8(bytes)
            .map_err(|_| ScaleFileError::NotUtf8 { path: path.to_owned() })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
        Ok(ScaleLines { origin: path.display().to_string(), text })
    }
}

/// Why the file of a scale cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ScaleFileError {
    /// It is not there, or takes too much memory.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// It is no text.
    #[error("{}: the text is not UTF-8", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
    },
}

impl fmt::Debug for ScaleLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScaleLines({})", self.origin)
    }
}

impl ScaleSpec {
    /// Reads the file, if it is one that has not been read, for somebody who may take this much
    /// memory for all.
    pub fn read_file_within(&mut self, limit_bytes: u64) -> Result<(), ScaleFileError> {
        if let ScaleSpec::File(path) = self {
            *self = ScaleSpec::Lines(Arc::new(ScaleLines::read(path, limit_bytes)?));
        }
        Ok(())
    }
}

impl FromStr for ScaleSpec {
    type Err = String;

    /// Reads `equal`, `equal:8`, `equal:0..100`, `equal:0..100:8`, `quantile`, `quantile:8` or
    /// `hierarchy`; all else is a path. A file of such a name is reached as `./equal`.
    fn from_str(text: &str) -> Result<ScaleSpec, String> {
        let (kind, rest) = text.split_once(':').map_or((text, None), |(a, b)| (a, Some(b)));
        match (kind, rest) {
            ("", None) => {
                Err("no scale given; use equal, quantile, hierarchy or a file".to_owned())
            }
            ("hierarchy", None) => Ok(ScaleSpec::Hierarchy),
            ("hierarchy", Some(_)) => {
                Err("a scale of a hierarchy has as many bits as that needs; use hierarchy"
                    .to_owned())
            }
            ("quantile", rest) => Ok(ScaleSpec::Quantile {
                n_bits: rest.map(|own| bits_of(own, "quantile:8")).transpose()?,
            }),
            ("equal", None) => Ok(ScaleSpec::Equal { ends: None, n_bits: None }),
            ("equal", Some(rest)) => equal_of(rest),
            _ => Ok(ScaleSpec::File(PathBuf::from(text))),
        }
    }
}

/// `LO..HI`, `LO..HI:BITS` or `BITS`.
fn equal_of(text: &str) -> Result<ScaleSpec, String> {
    let Some((lo, rest)) = text.split_once("..") else {
        return Ok(ScaleSpec::Equal { ends: None, n_bits: Some(bits_of(text, EQUAL_EXAMPLES)?) });
    };
    let (hi, n_bits) = match rest.rsplit_once(':') {
        Some((hi, n_bits)) => (hi, Some(bits_of(n_bits, EQUAL_EXAMPLES)?)),
        None => (rest, None),
    };
    let (lo, hi) = (lo.trim(), hi.trim());
    if lo.is_empty() || hi.is_empty() {
        return Err("an end is missing; write for example equal:0..100".to_owned());
    }
    Ok(ScaleSpec::Equal { ends: Some((lo.to_owned(), hi.to_owned())), n_bits })
}

const EQUAL_EXAMPLES: &str = "equal:8 or equal:0..100:8";

fn bits_of(text: &str, examples: &str) -> Result<u32, String> {
    let n_bits = text.trim().parse::<u32>().ok().filter(|n_bits| (1..=MAX_BITS).contains(n_bits));
    n_bits.ok_or_else(|| {
        format!(
            "the bits are not a whole number from 1 to {MAX_BITS}; write for example {examples}"
        )
    })
}

impl fmt::Display for ScaleSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, ends, n_bits) = match self {
            ScaleSpec::Hierarchy => return f.write_str("hierarchy"),
            ScaleSpec::File(path) => return write!(f, "{}", path.display()),
            ScaleSpec::Lines(lines) => return f.write_str(&lines.origin),
            ScaleSpec::Equal { ends, n_bits } => ("equal", ends.as_ref(), n_bits),
            ScaleSpec::Quantile { n_bits } => ("quantile", None, n_bits),
        };
        f.write_str(word)?;
        if let Some((lo, hi)) = ends {
            write!(f, ":{lo}..{hi}")?;
        }
        n_bits.map_or(Ok(()), |n_bits| write!(f, ":{n_bits}"))
    }
}
