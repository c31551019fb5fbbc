//! Delimited text, cut into rows that know their line.
//!
//! Written by hand because a refusal must name the line, also after blank lines and line breaks
//! inside quotes, and because an open quote must be noticed.

use std::borrow::Cow;

use super::MAX_LEVELS;

/// A row of the file.
pub(super) struct Record<'a> {
    /// The 1-based line on which the row starts.
    pub(super) line: u64,
    /// At least one, and at most one more than there may be levels.
    pub(super) fields: Vec<Cow<'a, str>>,
    /// How many there are, be they kept or not.
    pub(super) n_fields: usize,
}

/// Text that is not delimited as promised.
pub(super) struct Malformed {
    pub(super) line: u64,
    pub(super) problem: &'static str,
}

/// The rows of a text that are not blank; ends after the first error.
pub(super) struct Records<'a> {
    rest: &'a str,
    line: u64,
    delimiter: Option<char>,
}

/// What follows a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Delimiter,
    Line,
}

impl<'a> Records<'a> {
    /// Without a delimiter every line is one field.
    pub(super) fn new(text: &'a str, delimiter: Option<char>) -> Records<'a> {
        Records { rest: text, line: 1, delimiter }
    }

    fn skip_blank_lines(&mut self) {
        while let Some((line, rest)) = self.rest.split_once('\n') {
            if !line.trim().is_empty() {
                return;
            }
            self.rest = rest;
            self.line += 1;
        }
        if self.rest.trim().is_empty() {
            self.rest = "";
        }
    }

    fn record(&mut self) -> Result<Record<'a>, Malformed> {
        let line = self.line;
        let (mut fields, mut n_fields) = (Vec::new(), 0);
        loop {
            let (field, end) = match self.rest.strip_prefix('"') {
                Some(quoted) => self.quoted_field(quoted)?,
                None => self.plain_field(),
            };
            // A delimiter is a byte, and the field before it many.
            n_fields += 1;
            if n_fields <= MAX_LEVELS + 1 {
                fields.push(field);
            }
            if end == End::Line {
                return Ok(Record { line, fields, n_fields });
            }
        }
    }

    fn plain_field(&mut self) -> (Cow<'a, str>, End) {
        let is_end = |letter| letter == '\n' || Some(letter) == self.delimiter;
        let n_bytes = self.rest.find(is_end).unwrap_or(self.rest.len());
        let (field, rest) = self.rest.split_at(n_bytes);
        if !rest.is_empty() && !rest.starts_with('\n') {
            self.rest = &rest[1..];
            return (Cow::Borrowed(field), End::Delimiter);
        }
        self.end_line(rest);
        (Cow::Borrowed(field.strip_suffix('\r').unwrap_or(field)), End::Line)
    }

    /// Reads on after an opening quote.
    fn quoted_field(&mut self, quoted: &'a str) -> Result<(Cow<'a, str>, End), Malformed> {
        let line = self.line;
        let bytes = quoted.as_bytes();
        let mut close = 0;
        loop {
            let quote = quoted[close..]
                .find('"')
                .ok_or(Malformed { line, problem: "a quote is never closed" })?;
            close += quote;
            if bytes.get(close + 1) != Some(&b'"') {
                break;
            }
            close += 2;
        }
        let (inside, after) = (&quoted[..close], &quoted[close + 1..]);
        self.line += inside.bytes().filter(|&byte| byte == b'\n').count() as u64;
        let field = if inside.contains('"') {
            Cow::Owned(inside.replace("\"\"", "\""))
        } else {
            Cow::Borrowed(inside)
        };
        if let Some(rest) = self.delimiter.and_then(|delimiter| after.strip_prefix(delimiter)) {
            self.rest = rest;
            return Ok((field, End::Delimiter));
        }
        let after = after.strip_prefix('\r').unwrap_or(after);
        if !after.is_empty() && !after.starts_with('\n') {
            return Err(Malformed { line: self.line, problem: "text follows a closing quote" });
        }
        self.end_line(after);
        Ok((field, End::Line))
    }

    fn end_line(&mut self, rest: &'a str) {
        self.rest = rest.strip_prefix('\n').unwrap_or(rest);
        self.line += 1;
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        self.skip_blank_lines();
        if self.rest.is_empty() {
            return None;
        }
        let record = self.record();
        if record.is_err() {
            self.rest = "";
        }
        Some(record)
    }
}
