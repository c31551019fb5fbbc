//! JSON Lines: one object per line, turned into delimited text for the text reader.
//!
//! ```text
//!   {"age": 34, "zip": "04109"}     first pass: keys in order of appearance, every value looked at
//!   {"zip": null, "sex": "F"}
//!                │                  every further pass
//!                ▼
//!   age,zip,sex
//!   34,04109,
//!   ,,F
//! ```
//!
//! Types, missing values, blocks and threads are those of text from there on. Numbers keep the
//! digits with which they are written.
//!
//! Guarantee: what the text reader is given has one record for each object, in their order, and
//! nothing is guessed: what is not flat is refused with its line and its key.
//! Cost: one pass over all lines before the first row; memory for the keys and for one line.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;
use std::sync::Arc;

use albers_storage::StorageError;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::allowance::{Allowance, LONGEST_RECORD_BYTES};
use super::table_error;
use super::unchanged::changed;
use crate::sink::push_text;
use crate::{Result, TableError};

const BUFFER_BYTES: usize = 1 << 20;
/// More keys than any table has columns are values in the place of names.
const MOST_KEYS: usize = 20_000;
/// Text that is made at a time.
const PIECE_BYTES: usize = 1 << 16;

/// The keys of all objects, which are the columns.
#[derive(Debug)]
pub(super) struct Keys {
    names: Vec<String>,
    places: FxHashMap<String, usize>,
    allowance: Allowance,
}

impl Keys {
    /// Reads all objects, and refuses what is no table.
    pub(super) fn of(
        table: &str,
        input: Box<dyn Read + Send>,
        allowance: Allowance,
    ) -> Result<Keys> {
        let mut lines = Lines::new(input, allowance);
        let mut keys = Keys { names: Vec::new(), places: FxHashMap::default(), allowance };
        let mut n_bytes = 0;
        while let Some(line) = lines.next_line(table)? {
            let fault = |what: LineFault| what.at(table, line.number);
            if line.number == 1 && line.bytes.trim_ascii_start().starts_with(b"[") {
                return Err(json_array(table));
            }
            let object = Object::of(line.bytes).map_err(fault)?;
            object.check().map_err(fault)?;
            for (key, _) in &object.0 {
                if !keys.places.contains_key(key.as_ref()) {
                    // All of them are a record: the header.
                    n_bytes += key.len();
                    if n_bytes > allowance.record_bytes() {
                        return Err(fault(LineFault::TooLongKeys { n_bytes }));
                    }
                    if keys.names.len() == MOST_KEYS {
                        return Err(fault(LineFault::TooManyKeys));
                    }
                    keys.places.insert(key.clone().into_owned(), keys.names.len());
                    keys.names.push(key.clone().into_owned());
                }
            }
        }
        if keys.names.is_empty() {
            return Err(table_error(
                table,
                "there is no object with a key in it",
                "a table needs at least one line such as {\"age\": 34}",
            ));
        }
        Ok(keys)
    }
}

/// Refuses an array of objects, with the command that makes lines of it.
pub(super) fn json_array(table: &str) -> TableError {
    let file = super::foreign::in_a_command(table);
    table_error(
        table,
        "this is one JSON array, not JSON Lines",
        format!("write one object per line: jq -c '.[]' {file} > {file}.jsonl"),
    )
}

/// A line that is not blank.
struct Line<'a> {
    /// From 1 on.
    number: u64,
    bytes: &'a [u8],
}

/// The lines of a file.
struct Lines {
    input: BufReader<Box<dyn Read + Send>>,
    line: Vec<u8>,
    n_lines: u64,
    allowance: Allowance,
}

impl Lines {
    fn new(input: Box<dyn Read + Send>, allowance: Allowance) -> Lines {
        let input = BufReader::with_capacity(BUFFER_BYTES, input);
        Lines { input, line: Vec::new(), n_lines: 0, allowance }
    }

    /// The next line that is not blank.
    fn next_line(&mut self, table: &str) -> Result<Option<Line<'_>>> {
        let read_error = |source| StorageError::Read { path: PathBuf::from(table), source };
        loop {
            self.line.clear();
            let most = self.allowance.record_bytes();
            let mut input = (&mut self.input).take(most as u64 + 1);
            if input.read_until(b'\n', &mut self.line).map_err(read_error)? == 0 {
                return Ok(None);
            }
            self.n_lines += 1;
            if self.line.len() > most && self.line.last() != Some(&b'\n') {
                let n_bytes = most as u64 + 1 + self.rest_of_line().map_err(read_error)?;
                return Err(match n_bytes > LONGEST_RECORD_BYTES as u64 {
                    true => LineFault::TooLong.at(table, self.n_lines),
                    false => self.allowance.refuse_record(n_bytes),
                });
            }
            if self.n_lines == 1 && self.line.starts_with(b"\xef\xbb\xbf") {
                self.line.drain(..3);
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some(Line { number: self.n_lines, bytes: &self.line }));
            }
        }
    }

    /// How many more bytes a line has, as far as anybody wants to know; they are given up as they
    /// come.
    fn rest_of_line(&mut self) -> io::Result<u64> {
        self.line = Vec::new();
        let mut n_bytes = 0;
        while n_bytes <= LONGEST_RECORD_BYTES {
            let buffered = self.input.fill_buf()?;
            let end = memchr::memchr(b'\n', buffered);
            let n_taken = end.unwrap_or(buffered.len());
            n_bytes += n_taken;
            if end.is_some() || n_taken == 0 {
                break;
            }
            self.input.consume(n_taken);
        }
        Ok(n_bytes as u64)
    }
}

/// What is wrong with a line.
enum LineFault {
    TooLong,
    NotUtf8,
    NoObject,
    /// The place of its key in the line, from 1 on: a key may be a value in the place of a name.
    Nested {
        key: usize,
        is_array: bool,
    },
    /// All keys hold objects.
    Keyed,
    Twice {
        key: usize,
    },
    NoName,
    BadText {
        key: usize,
    },
    TooManyKeys,
    TooLongKeys {
        n_bytes: usize,
    },
}

impl LineFault {
    fn at(self, table: &str, line: u64) -> TableError {
        let file = super::foreign::in_a_command(table);
        let (problem, hint) = match self {
            LineFault::TooLong => (
                format!("the line is longer than {} MB", LONGEST_RECORD_BYTES >> 20),
                "write one object per line".into(),
            ),
            LineFault::NotUtf8 => (
                "the line is not valid UTF-8".to_owned(),
                format!("convert it, for example with iconv -f UTF-16 -t UTF-8 {file}").into(),
            ),
            LineFault::NoObject => (
                "the line is not one whole JSON object".to_owned(),
                format!("write one object per line, for example with jq -c . {file}").into(),
            ),
            LineFault::Nested { key, is_array } => (
                format!(
                    "key {key} of the line holds {}",
                    if is_array { "an array" } else { "an object" }
                ),
                "a table has one value in each cell: take the parts that are needed as keys of \
                 their own, or leave the key out, for example with jq -c 'del(.KEY)'"
                    .into(),
            ),
            LineFault::Keyed => (
                "each key of the line holds an object, as where keys tell rows apart".to_owned(),
                format!(
                    "write one object per line, with its key in it: jq -c \
                     'to_entries[] | {{key}} + .value' {file} > {file}.jsonl"
                )
                .into(),
            ),
            LineFault::Twice { key } => (
                format!("key {key} of the line stands there before it"),
                "leave one of them out".into(),
            ),
            LineFault::NoName => {
                ("a key has no name".to_owned(), "keys are the names of the columns".into())
            }
            LineFault::BadText { key } => (
                format!("the text of key {key} of the line is not valid"),
                "look for an escape such as \\ud800 that stands for no character".into(),
            ),
            LineFault::TooManyKeys => (
                format!("there are more than {MOST_KEYS} keys in all lines up to this one"),
                "keys are the names of the columns: values belong behind them".into(),
            ),
            LineFault::TooLongKeys { n_bytes } => (
                format!("the keys of all lines up to this one have {} MB", n_bytes >> 20),
                "keys are the names of the columns, and are kept in memory: values belong behind them"
                    .into(),
            ),
        };
        TableError::Line { table: table.to_owned(), line, problem, hint }
    }
}

/// The keys of a line and what they hold, as it is written.
struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Object<'a> {
    fn of(line: &'a [u8]) -> std::result::Result<Object<'a>, LineFault> {
        let text = std::str::from_utf8(line).map_err(|_| LineFault::NotUtf8)?;
        serde_json::from_str(text).map_err(|_| LineFault::NoObject)
    }

    /// Refuses what cannot be a row.
    fn check(&self) -> std::result::Result<(), LineFault> {
        let mut seen = FxHashSet::default();
        let is_object = |value: &RawValue| value.get().starts_with('{');
        if self.0.len() > 1 && self.0.iter().all(|(_, value)| is_object(value)) {
            return Err(LineFault::Keyed);
        }
        for (key_idx, (name, value)) in self.0.iter().enumerate() {
            let key = key_idx + 1;
            if name.trim().is_empty() {
                return Err(LineFault::NoName);
            }
            if !seen.insert(name.as_ref()) {
                return Err(LineFault::Twice { key });
            }
            match value.get().as_bytes()[0] {
                b'{' => return Err(LineFault::Nested { key, is_array: false }),
                b'[' => return Err(LineFault::Nested { key, is_array: true }),
                b'"' if text_of(value.get()).is_none() => {
                    return Err(LineFault::BadText { key });
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The text that a JSON string stands for.
fn text_of(string: &str) -> Option<Cow<'_, str>> {
    match string.contains('\\') {
        true => serde_json::from_str(string).ok().map(Cow::Owned),
        false => Some(Cow::Borrowed(&string[1..string.len() - 1])),
    }
}

/// A key, borrowed where it has no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Key<'a>, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Cow<'de, str>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, key: &'de str) -> std::result::Result<Self::Value, E> {
                Ok(Cow::Borrowed(key))
            }

            fn visit_str<E>(self, key: &str) -> std::result::Result<Self::Value, E> {
                Ok(Cow::Owned(key.to_owned()))
            }
        }
        deserializer.deserialize_str(KeyVisitor).map(Key)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Object<'a>, D::Error> {
        struct ObjectVisitor;
        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut entries: A,
            ) -> std::result::Result<Self::Value, A::Error> {
                let mut found = Vec::new();
                while let Some((key, value)) = entries.next_entry::<Key<'de>, &'de RawValue>()? {
                    found.push((key.0, value));
                }
                Ok(found)
            }
        }
        deserializer.deserialize_map(ObjectVisitor).map(Object)
    }
}

/// The objects as delimited text, made as it is read.
pub(super) struct JsonText {
    table: String,
    lines: Lines,
    keys: Arc<Keys>,
    text: Vec<u8>,
    n_taken: usize,
    /// Lines of text so far, and the line of the last object.
    n_text_lines: u64,
    line: u64,
}

impl JsonText {
    /// The text of a file whose keys are known.
    pub(super) fn new(table: &str, input: Box<dyn Read + Send>, keys: Arc<Keys>) -> JsonText {
        let mut text = Vec::new();
        for (key_idx, name) in keys.names.iter().enumerate() {
            if key_idx > 0 {
                text.push(b',');
            }
            push_text(&mut text, name.as_bytes(), b',');
        }
        text.push(b'\n');
        let n_text_lines = memchr::memchr_iter(b'\n', &text).count() as u64;
        let (table, lines) = (table.to_owned(), Lines::new(input, keys.allowance));
        JsonText { table, lines, keys, text, n_taken: 0, n_text_lines, line: 0 }
    }

    /// Makes the record of the next object; nothing if there are no more.
    fn push_record(&mut self) -> Result<bool> {
        let Some(line) = self.lines.next_line(&self.table)? else { return Ok(false) };
        let changed = || changed(&self.table);
        let object = Object::of(line.bytes).map_err(|_| changed())?;
        let mut cells = vec![None; self.keys.names.len()];
        for (key, value) in &object.0 {
            let &place = self.keys.places.get(key.as_ref()).ok_or_else(changed)?;
            cells[place] = Some(value.get());
        }
        let start = self.text.len();
        for (cell_idx, cell) in cells.iter().enumerate() {
            if cell_idx > 0 {
                self.text.push(b',');
            }
            match cell.unwrap_or("null") {
                // A line without any byte would be no record.
                "null" if cells.len() == 1 => self.text.extend_from_slice(b"\"\""),
                "null" => {}
                string if string.starts_with('"') => {
                    let text = text_of(string).ok_or_else(changed)?;
                    push_text(&mut self.text, text.as_bytes(), b',');
                }
                plain => self.text.extend_from_slice(plain.as_bytes()),
            }
        }
        self.text.push(b'\n');
        self.line = line.number;
        self.n_text_lines += memchr::memchr_iter(b'\n', &self.text[start..]).count() as u64;
        Ok(true)
    }

    /// The line of the object whose record has this line of the text.
    pub(super) fn line_of(mut self, text_line: u64) -> Option<u64> {
        while self.n_text_lines < text_line {
            self.text.clear();
            if !self.push_record().ok()? {
                return None;
            }
        }
        Some(self.line)
    }
}

impl Read for JsonText {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.n_taken == self.text.len() {
            self.text.clear();
            self.n_taken = 0;
            while self.text.len() < PIECE_BYTES && self.push_record().map_err(io::Error::other)? {}
        }
        let n_read = bytes.len().min(self.text.len() - self.n_taken);
        bytes[..n_read].copy_from_slice(&self.text[self.n_taken..][..n_read]);
        self.n_taken += n_read;
        Ok(n_read)
    }
}
