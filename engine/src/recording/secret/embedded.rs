//! JSON inside of a text: its secrets are found as those of arguments are.

use std::ops::Range;

use serde_json::Value;

use super::place::Place;
use super::{Span, own_at, shapes};
use crate::canon::{Spans, parse_spanned, pointer_push};
use crate::limits::JSON_BYTES_MAX;
use crate::recording::words::sorted;

/// The secrets of a text that is JSON; none where it is not.
pub(super) fn find(text: &str, place: &Place, depth: usize) -> Option<Vec<Span>> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let (value, spans) = parse_spanned(text.as_bytes(), JSON_BYTES_MAX).ok()?;
    let mut walk = Walk {
        text,
        spans,
        depth,
        found: Vec::new(),
    };
    walk.value(&value, "", &place.without_part());
    Some(walk.found)
}

struct Walk<'a> {
    text: &'a str,
    spans: Spans,
    depth: usize,
    found: Vec<Span>,
}

impl Walk<'_> {
    fn value(&mut self, value: &Value, pointer: &str, place: &Place) {
        match value {
            Value::Object(members) => {
                for (key, value) in sorted(members) {
                    let pointer = pointer_push(pointer, key);
                    if let Some(at) = self.spans.key(&pointer) {
                        self.inside(at, key, shapes::find(key));
                    }
                    self.value(value, &pointer, &place.member(members, key));
                }
            }
            Value::Array(items) => {
                let places = place.items(items);
                for (index, (item, place)) in items.iter().zip(places).enumerate() {
                    self.value(item, &pointer_push(pointer, &index.to_string()), &place);
                }
            }
            Value::String(text) => {
                if let Some(at) = self.spans.value(pointer) {
                    self.inside(at, text, own_at(text, place, self.depth));
                }
            }
            Value::Number(number) => {
                let name = place.number(&number.to_string()).map(str::to_owned);
                if let (Some(name), Some(at)) = (name, self.spans.value(pointer)) {
                    self.found.push(Span::new(at, name));
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// The secrets of a string, where they stand in the text; `at` has its quotes.
    fn inside(&mut self, at: Range<usize>, text: &str, spans: Vec<Span>) {
        let start = at.start + 1;
        let raw = &self.text[start..at.end - 1];
        let mut cursor = Cursor {
            raw,
            at: 0,
            read: 0,
        };
        for span in spans {
            let inner = if raw == text {
                span.at
            } else {
                cursor.to(span.at.start)..cursor.to(span.at.end)
            };
            let is_encoded = span.is_encoded || raw[inner.clone()].contains('\\');
            self.found.push(Span {
                at: start + inner.start..start + inner.end,
                name: span.name,
                is_encoded,
            });
        }
    }
}

/// A place in a JSON string as it is written, and in the text that it stands for.
struct Cursor<'a> {
    raw: &'a str,
    at: usize,
    read: usize,
}

impl Cursor<'_> {
    /// Goes on to a place of the text, and answers where it is written.
    fn to(&mut self, place: usize) -> usize {
        while self.read < place && self.at < self.raw.len() {
            let rest = &self.raw[self.at..];
            let (written, read) = match rest.strip_prefix("\\u") {
                Some(code) => escaped(code),
                None if rest.starts_with('\\') => (2, 1),
                None => {
                    let length = rest.chars().next().map_or(1, char::len_utf8);
                    (length, length)
                }
            };
            self.at += written;
            self.read += read;
        }
        self.at
    }
}

/// How many bytes `\uXXXX`, or a pair of them, are as it is written and as a character.
fn escaped(code: &str) -> (usize, usize) {
    let unit = code
        .get(..4)
        .and_then(|code| u32::from_str_radix(code, 16).ok())
        .unwrap_or(0);
    match unit {
        0xd800..=0xdbff => (12, 4),
        unit => (6, char::from_u32(unit).map_or(3, char::len_utf8)),
    }
}
