//! Secrets that come back: services repeat in an answer what they were sent.
//!
//! One place says in which forms a secret is looked for, from which length on, and what stands in its
//! place. JSON is read first and its values are looked at, so that no number and no quote is torn apart;
//! any other text is searched. What was put in a place is not searched again.

mod forms;

use serde_json::Value;

use self::forms::{Form, edge_before, edge_behind, forms, hex};
use crate::canon::{CanonicalJson, parse_answer};

/// From this length on a secret is taken out wherever it stands; a shorter one would be found where it
/// is not meant, so only where it is a whole word, number or value.
const ANYWHERE_BYTES_MIN: usize = 6;

/// How many texts inside one another are read as JSON.
const NESTED_MAX: usize = 4;

/// What looks for secrets. Never printed.
#[derive(Default)]
pub(crate) struct Hiding {
    /// The longest first: one secret may be part of another.
    sought: Vec<Sought>,
    /// Secrets that read as a number, as its canonical digits.
    numbers: Vec<(String, String)>,
    /// Secrets that are an object or an array.
    whole: Vec<(Value, String)>,
}

/// One form of a secret.
struct Sought {
    form: Form,
    in_its_place: String,
    /// Whether it is found as a whole word only.
    is_short: bool,
}

impl Hiding {
    /// Adds a secret. `true`, `false` and `null` are everywhere and are not looked for.
    pub(crate) fn add(&mut self, secret: &Value, in_its_place: &str) {
        match secret {
            Value::Null | Value::Bool(_) => {}
            Value::Number(_) => self.add_text(&plain(secret), in_its_place),
            Value::String(text) => {
                self.add_text(text, in_its_place);
                // A key file is JSON: its parts are as secret as all of it.
                if let Some(value) = json_in(text) {
                    self.add_parts(&value, in_its_place);
                }
            }
            Value::Array(_) | Value::Object(_) => {
                self.add_parts(secret, in_its_place);
            }
        }
        self.sought
            .sort_by_key(|sought| std::cmp::Reverse(sought.form.text.len()));
    }

    /// An object or an array: all of it, and whatever in it is long enough to be told from other things.
    fn add_parts(&mut self, secret: &Value, in_its_place: &str) {
        let all = plain(secret);
        if ANYWHERE_BYTES_MIN <= all.len() {
            self.whole.push((secret.clone(), in_its_place.to_owned()));
            self.add_text(&all, in_its_place);
        }
        let mut parts = Vec::new();
        leaves(secret, &mut parts);
        for part in parts {
            if ANYWHERE_BYTES_MIN <= part.len() {
                self.add_text(&part, in_its_place);
            }
        }
    }

    fn add_text(&mut self, secret: &str, in_its_place: &str) {
        if let Some(digits) = digits_of(secret) {
            self.numbers.push((digits, in_its_place.to_owned()));
        }
        for form in forms(secret) {
            let is_known = |known: &Sought| known.form.text == form.text;
            if form.text.is_empty() || self.sought.iter().any(is_known) {
                continue;
            }
            self.sought.push(Sought {
                form,
                in_its_place: in_its_place.to_owned(),
                is_short: secret.len() < ANYWHERE_BYTES_MIN,
            });
        }
    }

    /// A text without the secrets. One that is JSON stays as it is where it holds none.
    pub(crate) fn text(&self, text: &str) -> String {
        self.text_at(text, 0)
    }

    /// A value without the secrets: in its texts, its keys, and where a whole number is one.
    pub(crate) fn value(&self, value: &Value) -> Value {
        self.value_at(value, 0)
    }

    /// The same for bytes, whatever they are.
    pub(crate) fn bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        if self.sought.is_empty() {
            return bytes;
        }
        match std::str::from_utf8(&bytes) {
            Ok(text) => self.text(text).into_bytes(),
            Err(_) => self.searched(&bytes),
        }
    }

    fn text_at(&self, text: &str, depth: usize) -> String {
        if self.sought.is_empty() {
            return text.to_owned();
        }
        if depth < NESTED_MAX
            && let Some(value) = json_in(text)
        {
            let hidden = self.value_at(&value, depth + 1);
            return if hidden == value {
                text.to_owned()
            } else {
                plain(&hidden)
            };
        }
        String::from_utf8_lossy(&self.searched(text.as_bytes())).into_owned()
    }

    fn value_at(&self, value: &Value, depth: usize) -> Value {
        let is_it = |(secret, _): &&(Value, String)| secret == value;
        if let Some((_, in_its_place)) = self.whole.iter().find(is_it) {
            return Value::String(in_its_place.clone());
        }
        match value {
            Value::String(text) => Value::String(self.text_at(text, depth)),
            Value::Number(_) => {
                let digits = plain(value);
                let mut numbers = self.numbers.iter();
                match numbers.find(|(number, _)| *number == digits) {
                    Some((_, in_its_place)) => Value::String(in_its_place.clone()),
                    None => value.clone(),
                }
            }
            Value::Array(items) => items
                .iter()
                .map(|item| self.value_at(item, depth))
                .collect(),
            Value::Object(members) => members
                .iter()
                .map(|(key, member)| (self.text_at(key, depth), self.value_at(member, depth)))
                .collect(),
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }

    fn searched(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            let rest = &bytes[at..];
            let mut places = self.sought.iter().map(|sought| &sought.in_its_place);
            if let Some(place) = places.find(|place| rest.starts_with(place.as_bytes())) {
                out.extend_from_slice(place.as_bytes());
                at += place.len();
                continue;
            }
            let found = self.sought.iter().find_map(|sought| {
                let length = sought.form.length_in(rest)?;
                let is_meant = !sought.is_short || is_word(bytes, at, at + length);
                is_meant.then_some((length, sought))
            });
            if let Some((length, sought)) = found {
                at += length;
                if sought.form.begins_before {
                    out.truncate(out.len() - edge_before(&out));
                }
                if sought.form.ends_behind {
                    at += edge_behind(&bytes[at..]);
                }
                out.extend_from_slice(sought.in_its_place.as_bytes());
            } else {
                out.push(*byte);
                at += 1;
            }
        }
        out
    }
}

/// Whether what stands between two places is no part of a longer word or number.
fn is_word(bytes: &[u8], start: usize, end: usize) -> bool {
    let goes_on = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || 0x80 <= *b);
    let before = start.checked_sub(1).and_then(|at| bytes.get(at));
    let escape = start.checked_sub(3).and_then(|at| bytes.get(at..start));
    let is_escape = escape.is_some_and(|part| part[0] == b'%' && hex(Some(&part[1..])).is_some());
    (is_escape || !goes_on(before)) && !goes_on(bytes.get(end))
}

/// A text of JSON: an object or an array.
fn json_in(text: &str) -> Option<Value> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    parse_answer(text.as_bytes()).ok()
}

/// The canonical digits of a text that reads as a number, also with a sign or zeros before it: a service writes
/// the number that it made of it.
fn digits_of(text: &str) -> Option<String> {
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let plain_digits = digits.trim_start_matches('0');
    let is_whole = plain_digits.starts_with(|first: char| first.is_ascii_digit());
    let zero = if is_whole || plain_digits.len() == digits.len() {
        ""
    } else {
        "0"
    };
    let number = format!("{sign}{zero}{plain_digits}");
    match parse_answer(number.as_bytes()) {
        Ok(value @ Value::Number(_)) => Some(plain(&value)),
        Ok(_) | Err(_) => None,
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            CanonicalJson::of(value).as_str().to_owned()
        }
    }
}

fn leaves(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(_) | Value::Number(_) => found.push(plain(value)),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, found)),
        Value::Object(members) => members.values().for_each(|member| leaves(member, found)),
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests;
