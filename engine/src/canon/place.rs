//! Places in a JSON text: lines, columns, pointers and byte ranges.

use std::collections::BTreeMap;
use std::ops::Range;

/// Why a text is not taken as JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (line {line}, column {column}{})", self.place())]
pub struct JsonError {
    /// What is wrong, and what to do about it.
    pub message: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The offset in bytes, from 0.
    pub offset: usize,
    /// The JSON Pointer of the value in which it was found.
    pub pointer: String,
}

impl JsonError {
    fn place(&self) -> String {
        if self.pointer.is_empty() {
            String::new()
        } else {
            format!(", at {}", self.pointer)
        }
    }
}

/// Where the values of a text are: byte ranges by JSON Pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans {
    values: BTreeMap<String, Range<usize>>,
    keys: BTreeMap<String, Range<usize>>,
}

impl Spans {
    /// Where the value is.
    pub fn value(&self, pointer: &str) -> Option<Range<usize>> {
        self.values.get(pointer).cloned()
    }

    /// Where the key of a member is.
    pub fn key(&self, pointer: &str) -> Option<Range<usize>> {
        self.keys.get(pointer).cloned()
    }

    /// Notes where a value is, and its key where it is a member of an object.
    pub fn insert(&mut self, pointer: String, key: Option<Range<usize>>, value: Range<usize>) {
        if let Some(key) = key {
            self.keys.insert(pointer.clone(), key);
        }
        self.values.insert(pointer, value);
    }
}

/// The line and the column, both from 1, of a byte offset; the column counts characters.
pub fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

/// `pointer` and one more reference token (RFC 6901).
pub fn pointer_push(pointer: &str, token: &str) -> String {
    format!("{pointer}/{}", token.replace('~', "~0").replace('/', "~1"))
}
