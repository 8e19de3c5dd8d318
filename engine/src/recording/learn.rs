//! The values of one answer, and the paths that lead to them.

use std::collections::HashMap;

use serde_json::Value;

use super::flow::{Source, id};
use super::secret::Secrets;
use super::words::{is_hidden, sorted};

/// The most leaves of an object or array that is compared as a whole.
const LEAVES_MAX: usize = 200;

/// The most places of one value in one answer that are compared.
const PLACES_MAX: usize = 8;

/// What was found in an answer.
pub(super) struct Learned {
    /// The places of each value.
    pub(super) found: HashMap<String, Vec<Source>>,
    /// Texts that no path leads to.
    pub(super) loose: Vec<String>,
    /// How many values were looked at.
    pub(super) looked_at: usize,
}

/// An answer that is gone through.
pub(super) struct Learning<'a> {
    step: usize,
    secrets: &'a Secrets,
    room: usize,
    learned: Learned,
}

/// Where a value stands.
#[derive(Clone, Copy)]
struct At<'a> {
    path: &'a str,
    key: &'a str,
    above: &'a str,
    depth: usize,
}

impl Learning<'_> {
    /// Goes through an answer that a step got of this tool, at most `room` values of it.
    pub(super) fn of(
        step: usize,
        tool: &str,
        answer: &Value,
        secrets: &Secrets,
        room: usize,
    ) -> Learned {
        let mut learning = Learning {
            step,
            secrets,
            room,
            learned: Learned {
                found: HashMap::new(),
                loose: Vec::new(),
                looked_at: 0,
            },
        };
        let top = At {
            path: "json",
            key: "",
            above: tool,
            depth: 0,
        };
        learning.value(answer, top);
        learning.learned
    }

    /// Takes a value and all inside of it; answers how many leaves it has.
    fn value(&mut self, value: &Value, at: At<'_>) -> usize {
        if self.learned.looked_at == self.room {
            return LEAVES_MAX + 1;
        }
        self.learned.looked_at += 1;
        let depth = at.depth + 1;
        let leaves = match value {
            Value::Object(members) => sorted(members)
                .into_iter()
                .map(|(key, inner)| match step_into(at.path, key) {
                    Some(path) if !self.secrets.is_in(key) => self.value(
                        inner,
                        At {
                            path: &path,
                            key,
                            above: if at.key.is_empty() { at.above } else { at.key },
                            depth,
                        },
                    ),
                    Some(_) | None => {
                        self.loose(inner);
                        LEAVES_MAX + 1
                    }
                })
                .fold(0, usize::saturating_add),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(index, inner)| {
                    let path = format!("{}.{index}", at.path);
                    self.value(
                        inner,
                        At {
                            path: &path,
                            depth,
                            ..at
                        },
                    )
                })
                .fold(0, usize::saturating_add),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
        };
        if at.depth > 0 && leaves <= LEAVES_MAX {
            self.take(value, at);
        }
        leaves
    }

    fn take(&mut self, value: &Value, at: At<'_>) {
        let Some(id) = id(value) else {
            return;
        };
        let kind = match value {
            Value::String(_) => "string",
            Value::Number(_) => "number",
            Value::Array(_) => "array",
            Value::Null | Value::Bool(_) | Value::Object(_) => "set",
        };
        let source = Source {
            step: self.step,
            path: at.path.to_owned(),
            key: at.key.to_owned(),
            above: at.above.to_owned(),
            depth: at.depth,
            kind,
        };
        // Of those that have the same name, the one with the shortest path counts.
        let places = self.learned.found.entry(id).or_default();
        let same = |known: &&mut Source| known.key == source.key && known.above == source.above;
        let has_room = places.len() < PLACES_MAX;
        match places.iter_mut().find(same) {
            Some(known) if known.depth <= source.depth => {}
            Some(known) => *known = source,
            None if has_room => places.push(source),
            None => {}
        }
    }

    /// Notes the texts of a value that no path leads to.
    fn loose(&mut self, value: &Value) {
        match value {
            Value::Object(members) => members.values().for_each(|inner| self.loose(inner)),
            Value::Array(items) => items.iter().for_each(|inner| self.loose(inner)),
            Value::String(text) => self.learned.loose.push(text.clone()),
            Value::Number(number) => self.learned.loose.push(number.to_string()),
            Value::Null | Value::Bool(_) => {}
        }
    }
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
