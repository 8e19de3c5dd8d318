//! Values that several steps use.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::dates::is_date;
use super::fill::Filler;
use super::secret::Secrets;
use super::words::{json_line, one_line, sorted};
use crate::limits::SKILL_INPUTS_MAX;

/// The most keys that a question lists.
const KEYS_MAX: usize = 5;

/// A value, and where it stands.
struct Repeated {
    value: Value,
    /// The steps that use it, by the key that it stands under.
    keys: BTreeMap<String, Vec<usize>>,
}

impl Repeated {
    /// The steps that use it under any key.
    fn steps(&self) -> Vec<usize> {
        let mut steps: Vec<usize> = self.keys.values().flatten().copied().collect();
        steps.sort_unstable();
        steps.dedup();
        steps
    }
}

/// Values that several steps use: asked about, or, where they stand under the same key, made inputs.
pub(super) fn repeated(
    filler: &mut Filler<'_>,
    filled: &mut [Map<String, Value>],
    secrets: &Secrets,
    apply: bool,
) {
    let mut places: BTreeMap<String, Repeated> = BTreeMap::new();
    for (index, args) in filled.iter().enumerate() {
        for (key, value) in sorted(args) {
            literals(value, key, &mut |value, key| {
                let found = places.entry(value.to_string()).or_insert_with(|| Repeated {
                    value: value.clone(),
                    keys: BTreeMap::new(),
                });
                let steps = found.keys.entry(key.to_owned()).or_default();
                if steps.last() != Some(&(index + 1)) {
                    steps.push(index + 1);
                }
            });
        }
    }
    let mut found: Vec<(Vec<usize>, Repeated)> = places
        .into_values()
        .map(|found| (found.steps(), found))
        .filter(|(steps, _)| steps.len() > 1)
        .collect();
    found.sort_by(|(steps, found), (others, other)| {
        let keys = |found: &Repeated| found.keys.keys().next().cloned();
        steps
            .cmp(others)
            .then_with(|| keys(found).cmp(&keys(other)))
    });
    if apply {
        let proposals = found.iter().flat_map(|(_, found)| {
            let shared = found.keys.iter().filter(|(_, steps)| steps.len() > 1);
            shared.map(|(key, _)| (key, &found.value))
        });
        // One more than a file can have is told as too many.
        for (key, value) in proposals.take(SKILL_INPUTS_MAX + 1) {
            let hole = filler.inputs.value(value, key);
            for args in filled.iter_mut() {
                for (at, inner) in args.iter_mut() {
                    replace(inner, at, key, value, &hole);
                }
            }
        }
    }
    for (steps, found) in found {
        if apply && found.keys.len() == 1 {
            continue;
        }
        let listed: Vec<String> = steps.iter().map(usize::to_string).collect();
        let listed = listed.join(", ");
        let shown = one_line(&secrets.redact(&json_line(&found.value)), 60);
        let keys: Vec<String> = found
            .keys
            .keys()
            .take(KEYS_MAX)
            .map(|key| format!("\"{}\"", one_line(&secrets.redact(key), 40)))
            .collect();
        let keys = keys.join(", ");
        let what = if apply {
            "An input stands for one key only. Are they the same?"
        } else {
            "Should it be an input?"
        };
        filler
            .questions
            .push(format!("Steps {listed} all use {shown} ({keys}). {what}"));
    }
}

/// Calls `each` with every value that stands as it was recorded and could vary.
fn literals(value: &Value, key: &str, each: &mut impl FnMut(&Value, &str)) {
    match value {
        Value::Object(members) => {
            for (key, value) in sorted(members) {
                literals(value, key, each);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| literals(item, key, each)),
        Value::String(text) => {
            // Days are asked about already.
            let is_plain = !text.contains("{{") && !is_date(text);
            if is_plain && (4..=200).contains(&text.chars().count()) {
                each(value, key);
            }
        }
        Value::Number(number) => {
            if number.to_string().len() >= 4 {
                each(value, key);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// Puts a hole wherever the literal stands under the key; `at` is the key of the value.
fn replace(value: &mut Value, at: &str, key: &str, literal: &Value, hole: &str) {
    if at == key && value == literal {
        *value = Value::String(hole.to_owned());
        return;
    }
    match value {
        Value::Object(members) => members
            .iter_mut()
            .for_each(|(at, value)| replace(value, at, key, literal, hole)),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|value| replace(value, at, key, literal, hole)),
        Value::String(_) | Value::Number(_) | Value::Null | Value::Bool(_) => {}
    }
}
