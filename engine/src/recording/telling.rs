//! Whether it says something that two values are equal.

use std::ops::Range;

use serde_json::Value;

use super::dates::is_date;
use super::flow::INSIDE_BYTES_MAX;
use crate::canon::CanonicalJson;

/// The shortest value that is looked for inside of other text, in bytes.
const INSIDE_BYTES_MIN: usize = 6;

/// Words that mean the same everywhere, so that finding them twice says nothing.
const COMMON: [&str; 34] = [
    "true", "false", "null", "none", "yes", "no", "on", "off", "ok", "error", "success", "failed",
    "pending", "active", "open", "closed", "done", "new", "all", "any", "get", "post", "put",
    "delete", "asc", "desc", "json", "text", "string", "user", "default", "main", "main.rs",
    "utf-8",
];

/// Whether it says something that an argument equals a value of an answer, whose key may agree.
pub(super) fn says(value: &Value, agrees: bool) -> bool {
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::String(text) => {
            let length = text.chars().count();
            let common = COMMON.contains(&text.to_ascii_lowercase().as_str());
            length >= 2 && !common && (length >= 4 || agrees)
        }
        Value::Number(number) => {
            let text = number.to_string();
            let digits = text.bytes().filter(u8::is_ascii_digit).count();
            (digits >= 4 && !is_round(&text)) || (digits >= 2 && agrees)
        }
        Value::Array(_) | Value::Object(_) => CanonicalJson::of(value).as_str().len() >= 8,
    }
}

fn is_round(number: &str) -> bool {
    number.trim_end_matches('0').len() <= 1
}

/// Whether a text is a word like others, that may stand in two places by chance.
pub(super) fn is_plain(text: &str) -> bool {
    const WORD_BYTES_MAX: usize = 20;
    let has = |set: &str| text.contains(|c: char| set.contains(c));
    let is_word = text.bytes().all(|byte| byte.is_ascii_alphabetic());
    !has("0123456789@") && (text.len() < 12 || (is_word && text.len() < WORD_BYTES_MAX))
}

/// Whether a text is unlikely to stand somewhere by chance.
pub(super) fn is_distinctive(text: &str) -> bool {
    let has = |set: &str| text.contains(|c: char| set.contains(c));
    (INSIDE_BYTES_MIN..=INSIDE_BYTES_MAX).contains(&text.len())
        && !text.contains(char::is_whitespace)
        && !is_date(text)
        && (has("0123456789@") || (text.len() >= 12 && has("-_./:")))
}

/// Whether a shorter text is so unlikely to, where it is known to be followed elsewhere.
pub(super) fn is_fair(text: &str) -> bool {
    text.len() >= 4
        && text.bytes().any(|byte| byte.is_ascii_digit())
        && !text.contains(char::is_whitespace)
        && !is_date(text)
        && !is_round(text)
}

/// Whether a word looks like an id: of one piece, with digits.
pub(super) fn is_code(word: &str) -> bool {
    (INSIDE_BYTES_MIN..=INSIDE_BYTES_MAX).contains(&word.len())
        && word.bytes().any(|byte| byte.is_ascii_digit())
        && !is_date(word)
}

/// Whether digits are a part of a longer number: `44117` of `44117.50`.
pub(super) fn is_part_of_number(text: &str, at: &Range<usize>) -> bool {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    let is_number = bytes[at.clone()].iter().all(u8::is_ascii_digit);
    let after = bytes.get(at.end) == Some(&b'.') && is_digit(bytes.get(at.end + 1));
    let before = at.start >= 2
        && bytes.get(at.start - 1) == Some(&b'.')
        && is_digit(bytes.get(at.start - 2));
    is_number && (after || before)
}

/// Places between words, and both ends.
pub(super) fn borders(text: &str) -> Vec<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut borders = Vec::new();
    let mut before = false;
    for (at, c) in text.char_indices() {
        if !(before && is_word(c)) {
            borders.push(at);
        }
        before = is_word(c);
    }
    borders.push(text.len());
    borders
}
