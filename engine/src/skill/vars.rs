//! Variables: what holes are filled with.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::secrets::Secrets;
use super::template::{Part, parts};
use super::{Input, Skill, When, is_name};
use crate::tool::did_you_mean;

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
                        vars.secrets.put(name, value);
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
        vars.secrets.take_values(secrets);
        for (name, value) in values.as_object().into_iter().flatten() {
            vars.bind(name, value.clone());
        }
        vars
    }

    fn empty(skill: &Skill) -> Self {
        let secret = |(name, input): (&String, &Input)| input.secret.then(|| name.clone());
        Self {
            values: BTreeMap::new(),
            secrets: Secrets::declared(skill.inputs.iter().filter_map(secret).collect()),
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
        if self.secrets.declares(name) {
            self.secrets.put(name, value);
        } else {
            self.values.insert(name.to_owned(), value);
        }
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

pub(super) fn error(name: &str, why: &str) -> VarError {
    VarError {
        name: name.to_owned(),
        message: format!("the variable {name:?} {why}"),
    }
}

/// The option that gives a variable. A secret does not belong into the history of a shell.
pub(super) fn how_to_give(name: &str, is_secret: bool) -> String {
    if is_secret {
        format!("--var-file {name}=FILE")
    } else {
        format!("--var {name}=…")
    }
}

fn missing(name: &str, input: &Input) -> VarError {
    let what = input.description.as_deref();
    let what = what.map_or_else(String::new, |what| format!(" ({what})"));
    let how = how_to_give(name, input.secret);
    error(name, &format!("is required{what}; give it with {how}"))
}

fn unknown(name: &str, skill: &Skill, used: &BTreeSet<String>) -> VarError {
    let mut known: BTreeSet<&str> = skill.inputs.keys().map(String::as_str).collect();
    known.extend(used.iter().map(String::as_str));
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
    fn names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for step in &self.steps {
            step.each_text(&mut |text| {
                names.extend(parts(text).into_iter().filter_map(|(_, part)| match part {
                    Part::Hole(name) if is_name(name) && name != "today" => Some(name.to_owned()),
                    Part::Hole(_) | Part::Text(_) => None,
                }));
            });
            let read = step.when.iter().flat_map(When::variables);
            names.extend(read.filter(|name| is_name(name)));
        }
        names
    }
}
