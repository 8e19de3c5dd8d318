//! The values of secret inputs, and the one way in which they get into arguments.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::VarError;
use super::template::{Part, parts};
use super::vars::{error, how_to_give};
use crate::canon::{CanonicalJson, pointer_push};
use crate::hiding::Hiding;
use crate::tool::{SecretHole, percent, unreserved};

/// The values of secret inputs. Never stored, never printed.
#[derive(Clone, Default, PartialEq)]
pub struct Secrets {
    declared: BTreeSet<String>,
    values: BTreeMap<String, Value>,
}

/// How a secret is written at a place of the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// A text that is nothing but its hole takes the value with its type.
    Typed,
    /// As text.
    Text,
    /// Inside of a URL, percent-encoded.
    InUrl,
    /// Inside of a text that is JSON, escaped.
    InJson,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given: Vec<&String> = self.values.keys().collect();
        f.debug_struct("Secrets")
            .field("declared", &self.declared)
            .field("given", &given)
            .finish()
    }
}

impl Secrets {
    /// Of these names, and without values.
    pub(super) fn declared(names: BTreeSet<String>) -> Self {
        Self {
            declared: names,
            values: BTreeMap::new(),
        }
    }

    pub(super) fn put(&mut self, name: &str, value: Value) {
        self.values.insert(name.to_owned(), value);
    }

    /// Takes the values of others over.
    pub(super) fn take_values(&mut self, others: Self) {
        self.values = others.values;
    }

    /// Whether a name is that of a secret input.
    pub fn declares(&self, name: &str) -> bool {
        self.declared.contains(name)
    }

    /// Those that have a value, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        let all = self.values.iter();
        all.map(|(name, value)| (name.as_str(), value))
    }

    /// These and others; of two under one name the other one holds.
    pub(crate) fn with(&self, others: &Self) -> Self {
        let mut all = self.clone();
        all.declared.extend(others.declared.iter().cloned());
        let values = others.values.iter();
        all.values
            .extend(values.map(|(name, value)| (name.clone(), value.clone())));
        all
    }

    /// Whether a secret has a value.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// Whether a name stands for the same here and there.
    pub(crate) fn is_same(&self, name: &str, there: &Self) -> bool {
        self.values.get(name) == there.values.get(name)
    }

    /// The arguments that are sent: those of [`Filled`](super::Filled), with the holes of secrets filled.
    /// An error names a secret that has no value, after a restart for example.
    pub fn fill(&self, args: &Value) -> Result<Value, VarError> {
        self.fill_as(args, &|_| Written::Typed)
    }

    /// The same, where the JSON Pointer of a text says how a secret is written there.
    ///
    /// Only texts are looked at, never keys; and [`Step::fill`](super::Step::fill) lets none of them
    /// read like the hole of a secret that its template does not have there.
    pub(crate) fn fill_as(
        &self,
        args: &Value,
        written: &dyn Fn(&str) -> Written,
    ) -> Result<Value, VarError> {
        self.fill_at(args, written, "")
    }

    fn fill_at(
        &self,
        args: &Value,
        written: &dyn Fn(&str) -> Written,
        pointer: &str,
    ) -> Result<Value, VarError> {
        Ok(match args {
            Value::String(text) => self.fill_text(text, written(pointer))?,
            Value::Array(items) => Value::Array(
                items
                    .iter()
                    .enumerate()
                    .map(|(place, item)| self.fill_at(item, written, &format!("{pointer}/{place}")))
                    .collect::<Result<_, _>>()?,
            ),
            Value::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|(key, member)| {
                        let at = pointer_push(pointer, key);
                        Ok((key.clone(), self.fill_at(member, written, &at)?))
                    })
                    .collect::<Result<_, VarError>>()?,
            ),
            Value::Null | Value::Bool(_) | Value::Number(_) => args.clone(),
        })
    }

    fn fill_text(&self, text: &str, written: Written) -> Result<Value, VarError> {
        let value = |name: &str| {
            self.values.get(name).ok_or_else(|| {
                error(
                    name,
                    &format!(
                        "is a secret without a value; give it again with {}",
                        how_to_give(name, true)
                    ),
                )
            })
        };
        let parts = parts(text);
        if let ([(_, Part::Hole(name))], Written::Typed) = (parts.as_slice(), written)
            && self.declares(name)
        {
            return value(name).cloned();
        }
        let mut out = String::with_capacity(text.len());
        for (_, part) in parts {
            match part {
                Part::Hole(name) if self.declares(name) => {
                    let plain = match value(name)? {
                        Value::String(text) => text.clone(),
                        other => CanonicalJson::of(other).as_str().to_owned(),
                    };
                    match written {
                        Written::Typed | Written::Text => out.push_str(&plain),
                        Written::InUrl => percent(&mut out, &plain, unreserved),
                        Written::InJson => {
                            let quoted = CanonicalJson::of(&Value::String(plain));
                            out.push_str(&quoted.as_str()[1..quoted.as_str().len() - 1]);
                        }
                    }
                }
                Part::Hole(other) => {
                    out.push_str("{{");
                    out.push_str(other);
                    out.push_str("}}");
                }
                Part::Text(text) => out.push_str(text),
            }
        }
        Ok(Value::String(out))
    }

    fn hiding(&self) -> Hiding {
        let mut hiding = Hiding::default();
        for (name, value) in self.iter() {
            hiding.add(value, &format!("{{{{{name}}}}}"));
        }
        hiding
    }

    /// A text of an answer, with what is a secret replaced by its hole: services send back what they
    /// were sent. What is found, and in which forms, is said in `docs/SKILLS.md`.
    pub fn hide(&self, text: &str) -> String {
        self.hiding().text(text)
    }

    /// The same for a JSON value.
    pub fn hide_in(&self, value: &Value) -> Value {
        self.hiding().value(value)
    }
}

/// Where secrets stand in arguments: a place for each hole. Keys have none.
pub(crate) fn secret_holes_in(args: &Value, is_secret: &dyn Fn(&str) -> bool) -> Vec<SecretHole> {
    let mut found = Vec::new();
    find_holes(args, &mut Vec::new(), is_secret, &mut found);
    found
}

fn find_holes(
    value: &Value,
    path: &mut Vec<String>,
    is_secret: &dyn Fn(&str) -> bool,
    found: &mut Vec<SecretHole>,
) {
    let mut below = |name: String, value: &Value| {
        path.push(name);
        find_holes(value, path, is_secret, found);
        path.pop();
    };
    match value {
        Value::String(text) => {
            let holes = parts(text).into_iter().filter_map(|(_, part)| match part {
                Part::Hole(name) if is_secret(name) => Some(name.to_owned()),
                Part::Hole(_) | Part::Text(_) => None,
            });
            found.extend(holes.map(|name| SecretHole {
                path: path.clone(),
                name,
            }));
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                below(place.to_string(), item);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                below(name.clone(), member);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
