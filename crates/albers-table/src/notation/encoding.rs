//! How letters are stored as bytes.

use std::fmt;
use std::str::FromStr;

use encoding_rs::{Encoding, UTF_8};

/// How letters are stored as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextEncoding(&'static Encoding);

impl TextEncoding {
    /// UTF-8, in which the program writes.
    pub const UTF_8: TextEncoding = TextEncoding(UTF_8);

    /// The encoding that the library knows by this name.
    pub(crate) fn of(encoding: &'static Encoding) -> TextEncoding {
        TextEncoding(encoding)
    }

    /// What reads and writes it.
    pub(crate) fn coding(self) -> &'static Encoding {
        self.0
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.0.name()
    }
}

impl fmt::Display for TextEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TextEncoding {
    type Err = String;

    fn from_str(label: &str) -> Result<TextEncoding, String> {
        let encoding = Encoding::for_label_no_replacement(label.as_bytes());
        encoding.map(TextEncoding).ok_or_else(|| {
            format!(
                "'{label}' is no encoding; use for example utf-8, utf-16, windows-1252, latin1 or \
                 iso-8859-15"
            )
        })
    }
}
