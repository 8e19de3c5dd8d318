//! What the skill asks for: its inputs, and the names of everything that a hole can name.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::gather::Recording;
use super::words::identifier;

/// Names that are taken, and what is declared under them.
#[derive(Default)]
pub(super) struct Inputs {
    taken: HashSet<String>,
    /// The number that the next name like this one gets.
    next: HashMap<String, usize>,
    /// What is declared, in the order of the names.
    declared: BTreeMap<String, Value>,
    /// The names of secrets, by their values. Never shown.
    secrets: BTreeMap<String, String>,
    /// The names of other values, by the values and the keys that they stand under.
    texts: BTreeMap<(String, String), String>,
}

impl Inputs {
    /// Without the names that recorded text has between double braces: a secret of such a name would
    /// be looked for in that text.
    pub(super) fn of(recording: &Recording) -> Self {
        let mut inputs = Self::default();
        for call in &recording.calls {
            for value in call.args.values() {
                inputs.reserve(value);
            }
        }
        inputs
    }

    fn reserve(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                for rest in text.split("{{").skip(1) {
                    if let Some((name, _)) = rest.split_once("}}")
                        && name == identifier(name)
                    {
                        self.taken.insert(name.to_owned());
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.reserve(item)),
            Value::Object(members) => members.values().for_each(|member| self.reserve(member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// A name like this one that nothing has yet.
    pub(super) fn name(&mut self, wish: &str) -> String {
        let wish = identifier(wish);
        // `today` is a day, whatever a file binds.
        let is_day = wish == "today";
        let mut name = wish.clone();
        let number = self.next.entry(wish.clone()).or_insert(2);
        while is_day && name == wish || self.taken.contains(&name) {
            name = format!("{wish}_{number}");
            *number += 1;
        }
        self.taken.insert(name.clone());
        name
    }

    /// The hole of a secret. It is asked for at each run.
    pub(super) fn secret(&mut self, value: &Value, wish: &str) -> String {
        let key = value.to_string();
        if let Some(name) = self.secrets.get(&key) {
            return hole(name);
        }
        let name = self.name(&wish.to_ascii_lowercase());
        let kind = kind(value);
        self.declared.insert(
            name.clone(),
            json!({ "type": kind, "required": true, "secret": true }),
        );
        self.secrets.insert(key, name.clone());
        hole(&name)
    }

    /// The hole of a value that is given where nobody says otherwise.
    pub(super) fn value(&mut self, value: &Value, wish: &str) -> String {
        let key = (value.to_string(), wish.to_owned());
        if let Some(name) = self.texts.get(&key) {
            return hole(name);
        }
        let name = self.name(wish);
        self.declared.insert(
            name.clone(),
            json!({ "type": kind(value), "default": value }),
        );
        self.texts.insert(key, name.clone());
        hole(&name)
    }

    /// The names of the secrets, in their order.
    pub(super) fn secret_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.secrets.values().cloned().collect();
        names.sort();
        names
    }

    /// What each hole of an input stood for: the self check fills the skill with it.
    pub(super) fn recorded(&self) -> BTreeMap<String, Value> {
        let texts = self.texts.iter().map(|((value, _), name)| (value, name));
        self.secrets
            .iter()
            .chain(texts)
            .filter_map(|(value, name)| {
                let value = serde_json::from_str(value).ok()?;
                Some((name.clone(), value))
            })
            .collect()
    }

    /// The declarations, as the front matter has them.
    pub(super) fn declared(self) -> Map<String, Value> {
        self.declared.into_iter().collect()
    }
}

pub(super) fn hole(name: &str) -> String {
    format!("{{{{{name}}}}}")
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) | Value::Null => "string",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Bool(_) => "boolean",
        Value::Object(_) => "object",
        Value::Array(_) => "array",
    }
}
