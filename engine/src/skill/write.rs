//! New skill files.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::error::SkillErrors;
use super::read::Key;
use super::{Input, Manifest, Skill};
use crate::canon::{CanonicalJson, Digest};
use crate::tool::EffectClass;

/// What a new skill file is to say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// Its name; see [`Skill::name`] for what it must not hold.
    pub name: String,
    /// What it does; one line.
    pub description: String,
    /// Further lines of the front matter.
    pub front: Vec<(String, String)>,
    /// The variables that it declares.
    pub inputs: BTreeMap<String, Input>,
    /// The input schemas that its tools have.
    pub manifest: Option<Manifest>,
    /// The text before the first step, in LF; may be empty.
    pub preamble: String,
    /// Its steps, in their order.
    pub steps: Vec<DraftStep>,
    /// The text behind the last step; empty, or starting with a `## ` heading.
    pub trailing: String,
}

/// What a step of a new skill file is to say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DraftStep {
    /// Its title; one line.
    pub title: String,
    /// What it is for; one line.
    pub intent: String,
    /// The tool that is called.
    pub tool: String,
    /// The arguments as a template: a JSON object.
    pub args: Value,
    /// The effect class, where it is to be said.
    pub effect: Option<EffectClass>,
    /// The assertions, as they stand in a file.
    pub asserts: Vec<String>,
    /// The binds, as they stand in a file.
    pub binds: Vec<String>,
    /// The digest of the call that somebody approved.
    pub approve: Option<Digest>,
    /// How long one attempt may take, in whole milliseconds.
    pub timeout: Option<Duration>,
    /// How often it is tried again.
    pub retry: Option<u32>,
    /// When it is left out, as it stands in a file.
    pub when: Option<String>,
    /// A key of the format's other readers.
    pub exposure: Option<String>,
}

/// Why a draft cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The text that it makes cannot be read.
    #[error("the draft is no skill file")]
    Unreadable(#[source] SkillErrors),
    /// The text that it makes says something else, because a value holds a line end for example.
    #[error("the draft cannot be written so that it says the same: {0}")]
    Different(String),
}

impl Skill {
    /// Writes a new file. It is read again, and says exactly what the draft says.
    pub fn write(draft: &Draft) -> Result<Self, WriteError> {
        let skill = Self::parse(&draft.text()).map_err(WriteError::Unreadable)?;
        match draft.difference(&skill) {
            None => Ok(skill),
            Some(what) => Err(WriteError::Different(what)),
        }
    }
}

impl Draft {
    fn text(&self) -> String {
        let mut out = String::from("---\n");
        let mut front = |key: &str, value: &str| {
            out.push_str(format!("{key}: {value}").trim_end());
            out.push('\n');
        };
        front("name", &self.name);
        front("description", &self.description);
        if !self.inputs.is_empty() {
            let inputs = self.inputs.iter();
            let inputs: Map<String, Value> = inputs
                .map(|(name, input)| (name.clone(), input.to_json()))
                .collect();
            front("inputs", &json(&Value::Object(inputs)));
        }
        if let Some(manifest) = &self.manifest {
            front("manifest", &json(&manifest.to_json()));
        }
        for (key, value) in &self.front {
            front(key, value);
        }
        out.push_str("---\n");
        out.push_str(&self.preamble);
        if !self.preamble.is_empty() && !self.preamble.ends_with('\n') {
            out.push('\n');
        }
        for (index, step) in self.steps.iter().enumerate() {
            if index > 0 {
                out.push('\n');
            }
            step.write(index + 1, &mut out);
        }
        if !self.trailing.is_empty() {
            out.push('\n');
            out.push_str(&self.trailing);
        }
        out
    }

    /// What the file says otherwise than the draft.
    fn difference(&self, skill: &Skill) -> Option<String> {
        let mut front: Vec<(&str, &str)> = skill
            .front
            .iter()
            .map(|line| (line.key.as_str(), line.value.as_str()))
            .collect();
        front.retain(|(key, _)| !["name", "description", "inputs", "manifest"].contains(key));
        let meant = self.front.iter();
        let meant: Vec<(&str, &str)> = meant.map(|(key, value)| (&**key, &**value)).collect();
        let preamble = skill.preamble.strip_suffix('\n').unwrap_or("");
        let same = [
            ("the name", self.name == skill.name),
            ("the description", self.description == skill.description),
            ("the inputs", self.inputs == skill.inputs),
            ("the manifest", self.manifest == skill.manifest),
            ("the front matter", meant == front),
            (
                "the preamble",
                self.preamble == skill.preamble || self.preamble == preamble,
            ),
            ("the number of steps", self.steps.len() == skill.steps.len()),
            ("the text behind the steps", self.trailing == skill.trailing),
        ];
        let other = same.iter().find(|(_, same)| !same);
        let other = other.map(|(what, _)| (*what).to_owned());
        other.or_else(|| {
            let mut steps = self.steps.iter().zip(&skill.steps);
            steps.find_map(|(draft, step)| {
                let same = draft.is(step);
                (!same).then(|| format!("step {}", step.number))
            })
        })
    }
}

impl DraftStep {
    fn write(&self, number: usize, out: &mut String) {
        let args = json(&self.args);
        for part in ["### Step ", &number.to_string(), " — ", &self.title, "\n"] {
            out.push_str(part);
        }
        for key in Key::ALL {
            let one = |value: Option<String>| value.into_iter().collect::<Vec<String>>();
            let values = match key {
                Key::Intent => vec![self.intent.clone()],
                Key::Action => vec![format!("{} {args}", self.tool)],
                Key::When => one(self.when.clone()),
                Key::Assert => self.asserts.clone(),
                Key::Bind => self.binds.clone(),
                Key::Effect => one(self.effect.map(|effect| effect.name().to_owned())),
                Key::Timeout => one(self.timeout.map(|time| format!("{}ms", time.as_millis()))),
                Key::Retry => one(self.retry.map(|retry| retry.to_string())),
                Key::Exposure => one(self.exposure.clone()),
                Key::Approve => one(self.approve.map(|digest| digest.to_string())),
                Key::Attest | Key::Expect | Key::Emit => Vec::new(),
            };
            for value in values {
                out.push_str(format!("- {}: {value}", key.name()).trim_end());
                out.push('\n');
            }
        }
    }

    fn is(&self, step: &super::Step) -> bool {
        let asserts: Vec<&str> = step.asserts.iter().map(super::Assertion::text).collect();
        let binds: Vec<&str> = step.binds.iter().map(super::Bind::text).collect();
        self.title == step.title
            && self.intent == step.intent
            && self.tool == step.tool
            && CanonicalJson::of(&self.args) == CanonicalJson::of(&step.args)
            && self.effect == step.effect
            && self.asserts == asserts
            && self.binds == binds
            && self.approve == step.approve
            && self.timeout == step.timeout
            && self.retry == step.retry
            && self.when.as_deref() == step.when.as_ref().map(super::When::text)
            && self.exposure == step.exposure
    }
}

fn json(value: &Value) -> String {
    CanonicalJson::of(value).as_str().to_owned()
}
