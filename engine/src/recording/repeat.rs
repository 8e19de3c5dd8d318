//! Values that several steps use.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::dates::is_date;
use super::fill::Filler;
use super::secret::Secrets;
use super::words::{json_line, one_line, sorted};

/// Values that several steps use: asked about, or made inputs.
pub(super) fn repeated(
    filler: &mut Filler<'_>,
    filled: &mut [Map<String, Value>],
    secrets: &Secrets,
    apply: bool,
) {
    let mut places: BTreeMap<String, (String, Vec<usize>, Value)> = BTreeMap::new();
    for (index, args) in filled.iter().enumerate() {
        for (key, value) in sorted(args) {
            literals(value, key, &mut |value, key| {
                let (_, steps, _) = places
                    .entry(value.to_string())
                    .or_insert_with(|| (key.to_owned(), Vec::new(), value.clone()));
                if steps.last() != Some(&(index + 1)) {
                    steps.push(index + 1);
                }
            });
        }
    }
    let mut found: Vec<(String, Vec<usize>, Value)> = places
        .into_values()
        .filter(|(_, steps, _)| steps.len() > 1)
        .collect();
    found.sort_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    for (key, steps, value) in found {
        let listed: Vec<String> = steps.iter().map(usize::to_string).collect();
        let listed = listed.join(", ");
        if apply {
            let hole = filler.inputs.value(&value, &key);
            for args in filled.iter_mut() {
                for inner in args.values_mut() {
                    replace(inner, &value, &hole);
                }
            }
        } else {
            let shown = one_line(&secrets.redact(&json_line(&value)), 60);
            let key = one_line(&key, 40);
            filler.questions.push(format!(
                "Steps {listed} all use {shown} (\"{key}\"). Should it be an input?"
            ));
        }
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

fn replace(value: &mut Value, literal: &Value, hole: &str) {
    if value == literal {
        *value = Value::String(hole.to_owned());
        return;
    }
    match value {
        Value::Object(members) => members
            .values_mut()
            .for_each(|value| replace(value, literal, hole)),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|value| replace(value, literal, hole)),
        Value::String(_) | Value::Number(_) | Value::Null | Value::Bool(_) => {}
    }
}
