//! Which values came out of earlier answers, so that a replay takes them from there again.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::Value;

use super::secret::Secrets;
use super::words::{is_hidden, sorted};
use crate::canon::CanonicalJson;
use crate::limits::{RECORDED_VALUES_MAX, SEARCHED_TEXT_BYTES_MAX};

/// The most leaves of an object or array that is compared as a whole.
const LEAVES_MAX: usize = 200;

/// The longest value that is looked for inside of other text, in bytes; ids are shorter.
const INSIDE_BYTES_MAX: usize = 128;

/// The shortest one, in bytes.
const INSIDE_BYTES_MIN: usize = 6;

/// Words that mean the same everywhere, so that finding them twice says nothing.
const COMMON: [&str; 34] = [
    "true", "false", "null", "none", "yes", "no", "on", "off", "ok", "error", "success", "failed",
    "pending", "active", "open", "closed", "done", "new", "all", "any", "get", "post", "put",
    "delete", "asc", "desc", "json", "text", "string", "user", "default", "main", "main.rs",
    "utf-8",
];

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// The number of the step that answered it, from 1.
    pub(super) step: usize,
    /// Its path in that answer, such as `json.order.id`.
    pub(super) path: String,
    /// The last key of the path.
    pub(super) key: String,
    /// What an assertion says of it: `string`, `number`, `array` or `set`.
    pub(super) kind: &'static str,
}

/// The values of all answers so far; of equal ones the newest counts.
#[derive(Default)]
pub(super) struct Flow {
    values: HashMap<String, Source>,
    seen: usize,
    /// Not all values were looked at.
    pub(super) is_full: bool,
}

/// The values of one answer; of equal ones the one with the shortest path counts.
struct Learning<'a> {
    step: usize,
    secrets: &'a Secrets,
    found: HashMap<String, (usize, Source)>,
    room: usize,
}

impl Flow {
    /// Takes the values of the answer of a step.
    pub(super) fn learn(&mut self, step: usize, answer: &Value, secrets: &Secrets) {
        let mut learning = Learning {
            step,
            secrets,
            found: HashMap::new(),
            room: RECORDED_VALUES_MAX - self.seen,
        };
        let room = learning.room;
        learning.value(answer, "json", "", 0);
        self.seen += room - learning.room;
        self.is_full |= learning.room == 0;
        self.values.extend(
            learning
                .found
                .into_iter()
                .map(|(value, (_, source))| (value, source)),
        );
    }

    /// Where an argument came from, if it came from an answer.
    pub(super) fn value(&self, value: &Value, key: &str) -> Option<&Source> {
        let source = self.values.get(&id(value)?)?;
        is_telling(value, key, &source.key).then_some(source)
    }

    /// Where exactly this text came from, whatever it is.
    pub(super) fn text(&self, text: &str) -> Option<&Source> {
        self.values.get(&id_of_text(text))
    }

    /// The parts of a longer text that came from answers, apart from one another and in order.
    pub(super) fn parts(&self, text: &str) -> Vec<(Range<usize>, &Source)> {
        let mut parts = Vec::new();
        if text.len() > SEARCHED_TEXT_BYTES_MAX || self.values.is_empty() {
            return parts;
        }
        let borders = borders(text);
        let mut from = 0;
        for (index, &start) in borders.iter().enumerate() {
            if start < from {
                continue;
            }
            let near = borders[index..].partition_point(|end| end - start <= INSIDE_BYTES_MAX);
            let ends = &borders[index..index + near];
            let found = ends.iter().rev().find_map(|&end| {
                let source = self.part(text.get(start..end)?)?;
                Some((start..end, source))
            });
            if let Some(found) = found {
                from = found.0.end;
                parts.push(found);
            }
        }
        parts
    }

    fn part(&self, text: &str) -> Option<&Source> {
        if !is_distinctive(text) {
            return None;
        }
        self.text(text).or_else(|| {
            self.values
                .get(text)
                .filter(|source| source.kind == "number")
        })
    }
}

impl Learning<'_> {
    /// Takes a value and all inside of it; answers how many leaves it has.
    fn value(&mut self, value: &Value, path: &str, key: &str, depth: usize) -> usize {
        if self.room == 0 {
            return LEAVES_MAX + 1;
        }
        self.room -= 1;
        let leaves = match value {
            Value::Object(members) => sorted(members)
                .into_iter()
                .map(|(key, inner)| match step_into(path, key) {
                    Some(path) if !self.secrets.is_in(key) => {
                        self.value(inner, &path, key, depth + 1)
                    }
                    Some(_) | None => LEAVES_MAX + 1,
                })
                .fold(0, usize::saturating_add),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(index, inner)| self.value(inner, &format!("{path}.{index}"), key, depth + 1))
                .fold(0, usize::saturating_add),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
        };
        if depth > 0 && leaves <= LEAVES_MAX {
            self.take(value, path, key, depth);
        }
        leaves
    }

    fn take(&mut self, value: &Value, path: &str, key: &str, depth: usize) {
        let Some(id) = id(value) else {
            return;
        };
        let known = self.found.get(&id);
        if known.is_some_and(|(other, _)| *other <= depth) {
            return;
        }
        let kind = match value {
            Value::String(_) => "string",
            Value::Number(_) => "number",
            Value::Array(_) => "array",
            Value::Null | Value::Bool(_) | Value::Object(_) => "set",
        };
        let source = Source {
            step: self.step,
            path: path.to_owned(),
            key: key.to_owned(),
            kind,
        };
        self.found.insert(id, (depth, source));
    }
}

/// What equal values share; none for values that are never compared.
fn id(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Bool(_) => None,
        Value::String(text) => Some(id_of_text(text)),
        Value::Array(items) if items.is_empty() => None,
        Value::Object(members) if members.is_empty() => None,
        Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Some(CanonicalJson::of(value).as_str().to_owned())
        }
    }
}

fn id_of_text(text: &str) -> String {
    format!("\"{text}")
}

/// The path of a member; none where its key has something that a path should not show.
fn step_into(path: &str, key: &str) -> Option<String> {
    let is_plain = |key: &str| {
        key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && key
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if is_plain(key) {
        return Some(format!("{path}.{key}"));
    }
    let is_odd = |c: char| is_hidden(c) || "\"\\{}[]`<".contains(c);
    if key.is_empty() || key.len() > 100 || key.trim() != key || key.contains(is_odd) {
        return None;
    }
    Some(format!("{path}[\"{key}\"]"))
}

/// Whether it says something that an argument equals a value of an answer.
fn is_telling(value: &Value, key: &str, source_key: &str) -> bool {
    let keys_agree = || {
        let (key, source) = (fold(key), fold(source_key));
        !source.is_empty() && (key.ends_with(&source) || source.ends_with(&key)) && !key.is_empty()
    };
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::String(text) => {
            let length = text.chars().count();
            let common = COMMON.contains(&text.to_ascii_lowercase().as_str());
            length >= 2 && !common && (length >= 4 || keys_agree())
        }
        Value::Number(number) => {
            let text = number.to_string();
            let digits = text.bytes().filter(u8::is_ascii_digit).count();
            let round = text.trim_end_matches('0').len() <= 1;
            (digits >= 4 && !round) || (digits >= 2 && keys_agree())
        }
        Value::Array(_) | Value::Object(_) => CanonicalJson::of(value).as_str().len() >= 8,
    }
}

/// A key as it is compared: letters and digits, in lower case.
fn fold(key: &str) -> String {
    key.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// Whether a text is unlikely to stand somewhere by chance.
fn is_distinctive(text: &str) -> bool {
    let has = |set: &str| text.contains(|c: char| set.contains(c));
    (INSIDE_BYTES_MIN..=INSIDE_BYTES_MAX).contains(&text.len())
        && !text.contains(char::is_whitespace)
        && !super::dates::is_date(text)
        && (has("0123456789@") || (text.len() >= 12 && has("-_./:")))
}

/// Places between words, and both ends.
fn borders(text: &str) -> Vec<usize> {
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
