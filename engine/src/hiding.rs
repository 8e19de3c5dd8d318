//! Secrets that come back: services repeat in an answer what they were sent.
//!
//! One place says in which forms a secret is looked for, from which length on, and what stands in its
//! place. JSON is read first and its values are looked at, so that no number and no quote is torn apart;
//! any other text is searched. What was put in a place is not searched again.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::Value;

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
    form: String,
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
            .sort_by_key(|sought| std::cmp::Reverse(sought.form.len()));
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
            if form.is_empty() || self.sought.iter().any(|known| known.form == form) {
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
                let length = length_of(&sought.form, rest)?;
                let is_meant = !sought.is_short || is_word(bytes, at, at + length);
                is_meant.then_some((length, &sought.in_its_place))
            });
            if let Some((length, place)) = found {
                out.extend_from_slice(place.as_bytes());
                at += length;
            } else {
                out.push(*byte);
                at += 1;
            }
        }
        out
    }
}

/// Everything that a text may look like in an answer, percent-encoding apart: that is read while it is
/// searched, for it comes in many styles.
fn forms(secret: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::from([secret.to_owned()]);
    let quoted = CanonicalJson::of(&Value::String(secret.to_owned()));
    let quoted = inner(quoted.as_str());
    let slashed = quoted.replace('/', "\\/");
    for once in [quoted.to_owned(), slashed] {
        for once in [ascii(&once, false), ascii(&once, true), once] {
            let twice = CanonicalJson::of(&Value::String(once.clone()));
            forms.insert(inner(twice.as_str()).to_owned());
            forms.insert(once);
        }
    }
    forms.insert(STANDARD_NO_PAD.encode(secret));
    forms.insert(URL_SAFE_NO_PAD.encode(secret));
    forms
}

fn inner(quoted: &str) -> &str {
    &quoted[1..quoted.len() - 1]
}

/// With every character that is not ASCII as `\uXXXX`.
fn ascii(text: &str, is_upper: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let digits = if is_upper {
                format!("\\u{unit:04X}")
            } else {
                format!("\\u{unit:04x}")
            };
            out.push_str(&digits);
        }
    }
    out
}

/// How long a form is where it stands at the start of some bytes: as it is, or with some of it
/// percent-encoded, once or twice, and spaces as `+`.
fn length_of(form: &str, bytes: &[u8]) -> Option<usize> {
    if bytes.starts_with(form.as_bytes()) {
        return Some(form.len());
    }
    let mut at = 0;
    for wanted in form.bytes() {
        at += encoded(wanted, bytes.get(at..)?)?;
    }
    Some(at)
}

fn encoded(wanted: u8, bytes: &[u8]) -> Option<usize> {
    let is_meant = |byte: u8, length: usize| (byte == wanted).then_some(length);
    match (bytes.first()?, hex(bytes.get(1..3))) {
        (b'%', Some(byte)) => is_meant(byte, 3)
            .or_else(|| is_meant(hex(bytes.get(3..5)).filter(|_| byte == b'%')?, 5)),
        (b'+', _) if wanted == b' ' => Some(1),
        (byte, _) => is_meant(*byte, 1),
    }
}

fn hex(digits: Option<&[u8]>) -> Option<u8> {
    let [high, low] = digits? else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
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
