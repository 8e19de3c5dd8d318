//! The strict reader of JSON text (invariant I13).
//!
//! Works on the source text: a reader that has already rounded a number, or kept the last of two
//! equal keys, can no longer tell.

mod string;

use std::fmt::Write as _;
use std::ops::Range;

use serde_json::{Map, Value};

use super::number;
use super::place::{JsonError, Spans, line_and_column, pointer_push};
use crate::limits::{JSON_BYTES_MAX, JSON_DEPTH_MAX};
use crate::seeded::Bug;

/// What becomes of a number whose value would change in canonical form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inexact {
    Refuse,
    KeepAsText,
}

/// Reads arguments and configuration: UTF-8 without a byte order mark, one value, no key twice, no
/// lone surrogate, at most [`JSON_DEPTH_MAX`] deep and [`JSON_BYTES_MAX`] long, and no number whose
/// value would change in canonical form.
pub fn parse_strict(bytes: &[u8]) -> Result<Value, JsonError> {
    Reader::start(bytes, JSON_BYTES_MAX, Inexact::Refuse)?.document()
}

/// Reads the answer of another system as strictly, but keeps a number whose value would change in
/// canonical form as a string of its digits: the answer is not ours to refuse, and two different
/// numbers must not become the same.
pub fn parse_answer(bytes: &[u8]) -> Result<Value, JsonError> {
    Reader::start(bytes, JSON_BYTES_MAX, Inexact::KeepAsText)?.document()
}

/// As [`parse_strict`], for a text of at most `bytes_max`.
pub fn parse_strict_up_to(bytes: &[u8], bytes_max: usize) -> Result<Value, JsonError> {
    Reader::start(bytes, bytes_max, Inexact::Refuse)?.document()
}

/// As [`parse_answer`], for a text of at most `bytes_max`.
pub fn parse_answer_up_to(bytes: &[u8], bytes_max: usize) -> Result<Value, JsonError> {
    Reader::start(bytes, bytes_max, Inexact::KeepAsText)?.document()
}

/// What a lenient reader read otherwise than it was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mended {
    /// A number was kept as the text of its digits.
    pub number: bool,
    /// A surrogate without its partner became U+FFFD.
    pub surrogate: bool,
    /// A key was there twice in one object, and the last one counts.
    pub key_twice: bool,
}

/// As [`parse_answer_up_to`], for what others have stored already: it mends what can be mended, and says so.
pub fn parse_lenient_up_to(bytes: &[u8], bytes_max: usize) -> Result<(Value, Mended), JsonError> {
    let mut reader = Reader::start(bytes, bytes_max, Inexact::KeepAsText)?;
    reader.is_lenient = true;
    let value = reader.document()?;
    Ok((value, reader.mended))
}

/// As [`parse_strict`], for a text of at most `bytes_max`, and says where every value is.
pub fn parse_spanned(bytes: &[u8], bytes_max: usize) -> Result<(Value, Spans), JsonError> {
    let mut reader = Reader::start(bytes, bytes_max, Inexact::Refuse)?;
    reader.spans = Some(Spans::default());
    let value = reader.document()?;
    Ok((value, reader.spans.take().unwrap_or_default()))
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    inexact: Inexact,
    is_lenient: bool,
    mended: Mended,
    path: Vec<Step>,
    spans: Option<Spans>,
}

enum Step {
    Key(String),
    Index(usize),
}

impl<'a> Reader<'a> {
    fn start(bytes: &'a [u8], bytes_max: usize, inexact: Inexact) -> Result<Self, JsonError> {
        let top = |message: String| JsonError {
            message,
            line: 1,
            column: 1,
            offset: 0,
            pointer: String::new(),
        };
        if bytes.len() > bytes_max && !Bug::LimitCheckedAfterParse.is_on() {
            let length = bytes.len();
            return Err(top(format!(
                "the JSON is {length} bytes long, at most {bytes_max} are read"
            )));
        }
        if bytes.starts_with(b"\xef\xbb\xbf") {
            return Err(top(
                "the text starts with a byte order mark; send it without".to_owned(),
            ));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let offset = error.valid_up_to();
            let valid = std::str::from_utf8(&bytes[..offset]).unwrap_or_default();
            let (line, column) = line_and_column(valid, offset);
            JsonError {
                message: "the text is not UTF-8; encode it as UTF-8".to_owned(),
                line,
                column,
                offset,
                pointer: String::new(),
            }
        })?;
        Ok(Self {
            text,
            at: 0,
            inexact,
            is_lenient: false,
            mended: Mended::default(),
            path: Vec::new(),
            spans: None,
        })
    }

    fn document(&mut self) -> Result<Value, JsonError> {
        let value = self.value(None)?;
        self.space();
        if self.is_found_too_long_late() {
            return Err(self.error("the JSON is too long"));
        }
        if self.at < self.text.len() {
            return Err(self.error("there is more text after the JSON value; send one value"));
        }
        Ok(value)
    }

    fn is_found_too_long_late(&self) -> bool {
        JSON_BYTES_MAX < self.text.len() && Bug::LimitCheckedAfterParse.is_on()
    }

    fn value(&mut self, key: Option<Range<usize>>) -> Result<Value, JsonError> {
        self.space();
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => self.object()?,
            Some(b'[') => self.array()?,
            Some(b'"') => Value::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word("true", Value::Bool(true))?,
            Some(b'f') => self.word("false", Value::Bool(false))?,
            Some(b'n') => self.word("null", Value::Null)?,
            Some(_) => return Err(self.error("expected a JSON value here")),
            None => return Err(self.error("the JSON ends where a value should be")),
        };
        if self.spans.is_some() {
            let pointer = self.pointer();
            if let Some(spans) = &mut self.spans {
                spans.insert(pointer, key, start..self.at);
            }
        }
        Ok(value)
    }

    fn object(&mut self) -> Result<Value, JsonError> {
        self.deeper()?;
        self.at += 1;
        let mut map = Map::new();
        self.space();
        if self.take(b'}') {
            return Ok(Value::Object(map));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.error("expected a key in double quotes"));
            }
            let start = self.at;
            let key = self.string()?;
            let span = start..self.at;
            let is_twice = map.contains_key(&key);
            self.mended.key_twice |= is_twice;
            if is_twice && !self.is_lenient && !Bug::DuplicateKeyLastWins.is_on() {
                self.at = start;
                self.path.push(Step::Key(key));
                return Err(self.error("this key is there twice in one object; keep one of them"));
            }
            self.space();
            if !self.take(b':') {
                return Err(self.error("expected a colon after the key"));
            }
            self.path.push(Step::Key(key));
            let value = self.value(Some(span))?;
            if let Some(Step::Key(key)) = self.path.pop() {
                map.insert(key, value);
            }
            self.space();
            if self.take(b'}') {
                return Ok(Value::Object(map));
            }
            if !self.take(b',') {
                return Err(self.error("expected a comma or the end of the object"));
            }
        }
    }

    fn array(&mut self) -> Result<Value, JsonError> {
        self.deeper()?;
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.take(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            self.path.push(Step::Index(items.len()));
            items.push(self.value(None)?);
            self.path.pop();
            self.space();
            if self.take(b']') {
                return Ok(Value::Array(items));
            }
            if !self.take(b',') {
                return Err(self.error("expected a comma or the end of the array"));
            }
        }
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let start = self.at;
        self.take(b'-');
        let leading_zero = self.peek() == Some(b'0');
        let whole = self.digits();
        if whole == 0 || (leading_zero && whole > 1) {
            return Err(self.error_at(
                start,
                "a number has no leading zeros and at least one digit",
            ));
        }
        if self.take(b'.') && self.digits() == 0 {
            return Err(self.error("expected a digit after the decimal point"));
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            if self.digits() == 0 {
                return Err(self.error("expected a digit in the exponent"));
            }
        }
        let text = &self.text[start..self.at];
        match (number::exact(text), self.inexact) {
            (Some(number), _) => Ok(Value::Number(number)),
            (None, Inexact::KeepAsText) => {
                self.mended.number = true;
                Ok(Value::String(text.to_owned()))
            }
            (None, Inexact::Refuse) => Err(self.error_at(
                start,
                "this number would lose its value (more digits than a double holds, or beyond 2^53); \
                 send it as a string",
            )),
        }
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, JsonError> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.error("expected a JSON value here"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn deeper(&self) -> Result<(), JsonError> {
        if self.path.len() < JSON_DEPTH_MAX {
            return Ok(());
        }
        Err(self.error(&format!(
            "the JSON is nested more than {JSON_DEPTH_MAX} deep"
        )))
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn pointer(&self) -> String {
        self.path
            .iter()
            .fold(String::new(), |mut pointer, step| match step {
                Step::Key(key) => pointer_push(&pointer, key),
                Step::Index(index) => {
                    // Writing to a string cannot fail.
                    let _ = write!(pointer, "/{index}");
                    pointer
                }
            })
    }

    fn error(&self, message: &str) -> JsonError {
        self.error_at(self.at, message)
    }

    fn error_at(&self, offset: usize, message: &str) -> JsonError {
        let (line, column) = line_and_column(self.text, offset);
        JsonError {
            message: message.to_owned(),
            line,
            column,
            offset,
            pointer: self.pointer(),
        }
    }
}
