//! One step of a skill.

use std::time::Duration;

use chrono::NaiveDate;
use serde_json::Value;

use super::approve::call_digest;
use super::template::{FillError, Filled, Part, fill, parts};
use super::{Assertion, Bind, Vars, When};
use crate::canon::{Digest, pointer_push};
use crate::tool::{Annotations, Classified, EffectClass, Open, OpenText, classify_effect};

/// One step: a call, what must hold of its answer, and what is kept of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its number, from 1.
    pub number: u32,
    /// Its title.
    pub title: String,
    /// What it is for: one sentence.
    pub intent: String,
    /// The tool that is called.
    pub tool: String,
    /// The arguments as a template: a JSON object with holes in its strings.
    pub args: Value,
    /// The effect class that the file says; where it says none, the classifier decides.
    pub effect: Option<EffectClass>,
    /// What must hold of the answer.
    pub asserts: Vec<Assertion>,
    /// What is kept of the answer.
    pub binds: Vec<Bind>,
    /// The digest of the call that somebody approved, see [`Step::approve_digest`].
    pub approve: Option<Digest>,
    /// How long one attempt may take.
    pub timeout: Option<Duration>,
    /// How often it is tried again after a failure; only of reads and idempotent writes.
    pub retry: Option<u32>,
    /// When it is left out.
    pub when: Option<When>,
    /// A key of the format's other readers, kept as it is.
    pub exposure: Option<String>,
}

/// What a repeat of a step does, and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepEffect {
    /// The class that counts: that of the file, else that of the classifier.
    pub effect: EffectClass,
    /// What the classifier says.
    pub classified: Classified,
    /// Whether the file says another class than the classifier.
    pub overrides: bool,
    /// Whether the class of the file is weaker.
    pub weakens: bool,
}

impl Step {
    /// The effect class of the step. `annotations` is what the tool's server says of it.
    pub fn classified(&self, annotations: Annotations) -> StepEffect {
        let classified = classify_effect(&self.tool, annotations);
        let effect = self.effect.unwrap_or(classified.effect);
        StepEffect {
            effect,
            overrides: effect != classified.effect,
            weakens: effect < classified.effect,
            classified,
        }
    }

    /// The digest of the call with its holes unfilled: what `approve` has to say.
    pub fn approve_digest(&self) -> Digest {
        call_digest(&self.tool, &self.args)
    }

    /// Whether `approve` says what the call is; none where the step has no such line.
    pub fn approved(&self) -> Option<bool> {
        self.approve.map(|digest| digest == self.approve_digest())
    }

    /// The call with its holes filled, but for those of secrets. `today` is the UTC day on which the run
    /// began. An error for each hole that cannot be filled.
    pub fn fill(&self, vars: &Vars, today: NaiveDate) -> Result<Filled, Vec<FillError>> {
        fill(self.number, &self.args, vars, today)
    }

    /// What of `args`, which are those of the step filled as far as they can be, is not known: where the
    /// template has holes of whose inside `is_open` says that they are open.
    pub(crate) fn open(&self, args: &Value, is_open: impl Fn(&str) -> bool) -> Open {
        let mut open = Open::new();
        open_in(&self.args, Some(args), "", &is_open, &mut open);
        open
    }

    /// Calls `each` with every string of the arguments.
    pub(super) fn each_text<'a>(&'a self, each: &mut impl FnMut(&'a str)) {
        texts(&self.args, each);
    }
}

fn open_in(
    template: &Value,
    filled: Option<&Value>,
    pointer: &str,
    is_open: &impl Fn(&str) -> bool,
    open: &mut Open,
) {
    match template {
        Value::String(text) => {
            let parts = parts(text);
            let holes = parts.iter().filter_map(|(_, part)| match part {
                Part::Hole(inside) if is_open(inside) => Some(format!("{{{{{inside}}}}}")),
                Part::Hole(_) | Part::Text(_) => None,
            });
            let holes: Vec<String> = holes.collect();
            // What is filled in stays a text where there is something around the hole.
            let text = filled.and_then(Value::as_str).unwrap_or(text);
            let first = holes.iter().filter_map(|hole| text.find(hole)).min();
            let part = match (first, parts.len()) {
                (None, _) => return,
                (Some(_), 1) => OpenText::Whole,
                (Some(at), _) => OpenText::Part {
                    before: text[..at].to_owned(),
                    sample: holes
                        .iter()
                        .fold(text.to_owned(), |text, hole| text.replace(hole, "1")),
                },
            };
            open.insert(pointer.to_owned(), part);
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                let filled = filled.and_then(|filled| filled.get(place));
                open_in(item, filled, &format!("{pointer}/{place}"), is_open, open);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                let filled = filled.and_then(|filled| filled.get(key));
                open_in(member, filled, &pointer_push(pointer, key), is_open, open);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn texts<'a>(value: &'a Value, each: &mut impl FnMut(&'a str)) {
    match value {
        Value::String(text) => each(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, each)),
        Value::Object(members) => members.values().for_each(|member| texts(member, each)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
