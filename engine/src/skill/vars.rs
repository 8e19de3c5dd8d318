//! Variables: what holes are filled with.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::template::{Part, parts};
use super::{Input, Skill, is_name};
use crate::canon::CanonicalJson;
use crate::tool::did_you_mean;

/// The shortest text that is hidden where it turns up: shorter ones are everywhere.
const HIDDEN_BYTES_MIN: usize = 4;

/// A variable that was not given as it should be. Names it, and never its value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct VarError {
    /// The name of the variable.
    pub name: String,
    /// What is wrong, and what is valid.
    pub message: String,
}

/// The values of a run's variables, and apart from them its secrets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vars {
    values: BTreeMap<String, Value>,
    secrets: Secrets,
}

impl Vars {
    /// The variables of a new run from texts `name=value`. A declared input is read by its type, all
    /// others are strings. Errors: a name given twice, one that neither the inputs nor the steps know,
    /// a text that does not fit, an input that is required and missing.
    pub fn given(skill: &Skill, given: &[(String, String)]) -> Result<Self, Vec<VarError>> {
        let read = |input: Option<&Input>, text: &String| match input {
            Some(input) => input.kind.value_of(text),
            None => Ok(Value::String(text.clone())),
        };
        Self::collect(skill, given, read)
    }

    /// The same, from JSON values.
    pub fn given_values(skill: &Skill, given: &[(String, Value)]) -> Result<Self, Vec<VarError>> {
        let read = |input: Option<&Input>, value: &Value| match input {
            Some(input) if !input.kind.fits(value) => {
                Err(format!("must be of type {}", input.kind.name()))
            }
            None if !value.is_string() => {
                Err("is no declared input, so it must be a string".to_owned())
            }
            Some(_) | None => Ok(value.clone()),
        };
        Self::collect(skill, given, read)
    }

    /// The variables of a run that goes on: `values` as they were stored, and the secrets given again.
    pub fn restored(
        skill: &Skill,
        values: BTreeMap<String, Value>,
        secrets: &[(String, String)],
    ) -> Result<Self, Vec<VarError>> {
        let mut vars = Self::empty(skill);
        let mut errors = Vec::new();
        for (name, text) in secrets {
            match skill.inputs.get(name).filter(|input| input.secret) {
                Some(input) => match input.kind.value_of(text) {
                    Ok(value) => {
                        vars.secrets.values.insert(name.clone(), value);
                    }
                    Err(why) => errors.push(error(name, &why)),
                },
                None => errors.push(error(
                    name,
                    "is not a secret input; the other variables of a run stay what they were",
                )),
            }
        }
        vars.values = values;
        vars.values.retain(|name, _| !vars.secrets.declares(name));
        if errors.is_empty() {
            Ok(vars)
        } else {
            Err(errors)
        }
    }

    /// The same where the secrets are in memory already.
    pub(crate) fn stored(skill: &Skill, values: &Value, secrets: Secrets) -> Self {
        let mut vars = Self::empty(skill);
        vars.secrets.values = secrets.values;
        for (name, value) in values.as_object().into_iter().flatten() {
            vars.bind(name, value.clone());
        }
        vars
    }

    fn empty(skill: &Skill) -> Self {
        let secret = |(name, input): (&String, &Input)| input.secret.then(|| name.clone());
        Self {
            values: BTreeMap::new(),
            secrets: Secrets {
                declared: skill.inputs.iter().filter_map(secret).collect(),
                values: BTreeMap::new(),
            },
        }
    }

    fn collect<T>(
        skill: &Skill,
        given: &[(String, T)],
        read: impl Fn(Option<&Input>, &T) -> Result<Value, String>,
    ) -> Result<Self, Vec<VarError>> {
        let mut vars = Self::empty(skill);
        let mut errors = Vec::new();
        let used = skill.names();
        let mut seen = BTreeSet::new();
        for (name, value) in given {
            let input = skill.inputs.get(name);
            if !seen.insert(name) {
                errors.push(error(name, "is given twice"));
            } else if input.is_none() && !used.contains(name.as_str()) {
                errors.push(unknown(name, skill, &used));
            } else {
                match read(input, value) {
                    Ok(value) => vars.insert(name, value),
                    Err(why) => errors.push(error(name, &why)),
                }
            }
        }
        for (name, input) in &skill.inputs {
            match (&input.default, seen.contains(name)) {
                (Some(default), false) => vars.insert(name, default.clone()),
                (None, false) if input.required => errors.push(missing(name, input)),
                (Some(_) | None, _) => {}
            }
        }
        if errors.is_empty() {
            Ok(vars)
        } else {
            Err(errors)
        }
    }

    fn insert(&mut self, name: &str, value: Value) {
        let values = if self.secrets.declares(name) {
            &mut self.secrets.values
        } else {
            &mut self.values
        };
        values.insert(name.to_owned(), value);
    }

    /// Learns secrets that were given later.
    pub(crate) fn know(&mut self, secrets: &Secrets) {
        self.secrets = self.secrets.with(secrets);
    }

    /// Adds what a step bound. The name of a secret cannot be bound: the file was refused.
    pub fn bind(&mut self, name: &str, value: Value) {
        self.values.insert(name.to_owned(), value);
    }

    /// All of them but the secrets: what is stored and shown.
    pub fn values(&self) -> &BTreeMap<String, Value> {
        &self.values
    }

    /// The secrets.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }
}

fn error(name: &str, why: &str) -> VarError {
    VarError {
        name: name.to_owned(),
        message: format!("the variable {name:?} {why}"),
    }
}

fn missing(name: &str, input: &Input) -> VarError {
    let what = input.description.as_deref();
    let what = what.map_or_else(String::new, |what| format!(" ({what})"));
    error(
        name,
        &format!("is required{what}; give it with --var {name}=…"),
    )
}

fn unknown(name: &str, skill: &Skill, used: &BTreeSet<&str>) -> VarError {
    let mut known: BTreeSet<&str> = skill.inputs.keys().map(String::as_str).collect();
    known.extend(used);
    let list = if known.is_empty() {
        "it has none".to_owned()
    } else {
        let names: Vec<&str> = known.iter().copied().collect();
        format!("it has {}", names.join(", "))
    };
    let near = did_you_mean(name, known).map_or_else(String::new, |near| format!("; {near}"));
    error(name, &format!("is not one of this skill: {list}{near}"))
}

impl Skill {
    /// The names that its steps speak of: in holes, and in conditions behind `vars`.
    fn names(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        for step in &self.steps {
            step.each_text(&mut |text| {
                names.extend(parts(text).into_iter().filter_map(|(_, part)| match part {
                    Part::Hole(name) if is_name(name) && name != "today" => Some(name),
                    Part::Hole(_) | Part::Text(_) => None,
                }));
            });
            if let Some(when) = &step.when {
                // `vars.name`, `vars["name"]`, `vars['name']`.
                let behind = when.text().split("vars").skip(1).filter_map(|rest| {
                    let rest = rest.trim_start_matches([' ', '?', '.', '[', '"', '\'']);
                    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                    rest.get(..end.unwrap_or(rest.len()))
                });
                names.extend(behind.filter(|name| is_name(name)));
            }
        }
        names
    }
}

/// The values of secret inputs. Never stored, never printed.
#[derive(Clone, Default, PartialEq)]
pub struct Secrets {
    declared: BTreeSet<String>,
    values: BTreeMap<String, Value>,
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

    /// The arguments that are sent: those of [`Filled`](super::Filled), with the holes of secrets filled.
    /// An error names a secret that has no value, after a restart for example.
    pub fn fill(&self, args: &Value) -> Result<Value, VarError> {
        Ok(match args {
            Value::String(text) => self.fill_text(text)?,
            Value::Array(items) => Value::Array(
                items
                    .iter()
                    .map(|item| self.fill(item))
                    .collect::<Result<_, _>>()?,
            ),
            Value::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|(key, member)| Ok((key.clone(), self.fill(member)?)))
                    .collect::<Result<_, VarError>>()?,
            ),
            Value::Null | Value::Bool(_) | Value::Number(_) => args.clone(),
        })
    }

    fn fill_text(&self, text: &str) -> Result<Value, VarError> {
        let value = |name: &str| {
            self.values.get(name).ok_or_else(|| {
                error(
                    name,
                    &format!("is a secret without a value; give it again with --var {name}=…"),
                )
            })
        };
        let parts = parts(text);
        if let [(_, Part::Hole(name))] = parts.as_slice()
            && self.declares(name)
        {
            return value(name).cloned();
        }
        let mut out = String::with_capacity(text.len());
        for (_, part) in parts {
            match part {
                Part::Hole(name) if self.declares(name) => match value(name)? {
                    Value::String(text) => out.push_str(text),
                    other => out.push_str(CanonicalJson::of(other).as_str()),
                },
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

    /// A text of an answer, with what is a secret replaced by its hole: services send back what they
    /// were sent. Values of fewer than four bytes are left.
    pub fn hide(&self, text: &str) -> String {
        let mut texts: Vec<(String, &str)> = Vec::new();
        for (name, value) in &self.values {
            let plain = match value {
                Value::String(text) => text.clone(),
                other => CanonicalJson::of(other).as_str().to_owned(),
            };
            // As it stands in JSON too, where that differs.
            let quoted = CanonicalJson::of(&Value::String(plain.clone()));
            let inner = &quoted.as_str()[1..quoted.as_str().len() - 1];
            texts.push((inner.to_owned(), name));
            texts.push((plain, name));
        }
        // The longest first: one secret may be part of another.
        texts.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        texts
            .iter()
            .filter(|(secret, _)| HIDDEN_BYTES_MIN <= secret.len())
            .fold(text.to_owned(), |text, (secret, name)| {
                text.replace(secret.as_str(), &format!("{{{{{name}}}}}"))
            })
    }

    /// The same for the strings of a JSON value; keys are left.
    pub fn hide_in(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.hide(text)),
            Value::Array(items) => items.iter().map(|item| self.hide_in(item)).collect(),
            Value::Object(members) => members
                .iter()
                .map(|(key, member)| (key.clone(), self.hide_in(member)))
                .collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}
