//! Conditions: when a step is left out.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::vars::Vars;
use crate::tool::Rule;

/// The name under which a condition reads all variables.
const ALL: &str = "vars";

/// A condition of a step: a CEL expression over `vars` (all variables by name) and, by their bare names,
/// what earlier steps bind. It never sees a secret.
#[derive(Clone, Debug)]
pub struct When {
    rule: Arc<Rule>,
    names: Vec<String>,
}

impl PartialEq for When {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text() && self.names == other.names
    }
}

impl When {
    /// Reads a condition. `binds` are the names that earlier steps bind.
    pub(super) fn parse(text: &str, binds: &[String]) -> Result<Self, String> {
        let mut names: Vec<String> = binds.iter().filter(|name| *name != ALL).cloned().collect();
        names.sort_unstable();
        names.dedup();
        let mut variables = vec![ALL];
        variables.extend(names.iter().map(String::as_str));
        let rule = Rule::compile(text, &variables)?;
        Ok(Self {
            rule: Arc::new(rule),
            names,
        })
    }

    /// Its text.
    pub fn text(&self) -> &str {
        self.rule.source()
    }

    /// The variables that it reads by way of `vars`.
    pub(super) fn variables(&self) -> BTreeSet<String> {
        self.rule.members_of(ALL)
    }

    /// Whether it holds. What is not bound, because its step was left out, is `null` under its bare
    /// name and missing in `vars`.
    pub fn holds(&self, vars: &Vars) -> Result<bool, String> {
        let values = vars.values();
        let all: Map<String, Value> = values.clone().into_iter().collect();
        let all = Value::Object(all);
        let mut input = vec![(ALL, &all)];
        input.extend(self.names.iter().map(|name| {
            let value = values.get(name).unwrap_or(&Value::Null);
            (name.as_str(), value)
        }));
        self.rule.holds(&input).map_err(|error| error.to_string())
    }
}
