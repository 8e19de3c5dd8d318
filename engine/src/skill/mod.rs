//! Skill files: a job once done with tools, written down as Markdown so that it can be done again.
//!
//! ```text
//!  ---                                    front matter: name, description, inputs, manifest
//!  name: release-note
//!  description: Tell the team about a release
//!  ---
//!  prose                                  kept word for word
//!  ### Step 1 — Read the version
//!  - intent: …                            one sentence
//!  - action: TOOL {"arg": "{{hole}}"}     the call
//!  - assert: … · - bind: …                what must hold, what is kept for later steps
//!  ## Changelog                           kept word for word
//! ```
//!
//! A [`Skill`] is read whole or not at all: every mistake is reported at once, with its place, and
//! everything in it is checked then (predicates, regular expressions, conditions, JSON), so that a
//! run never meets a line that it cannot read. What a file does not say to change stays as it is,
//! byte for byte ([`Skill::edit`]).
//!
//! * `text`, `error`, `read`: lines, mistakes, and from there to a skill · `step`, `input`, `manifest`:
//!   what it consists of · `assertion`, `bind`, `path`, `pattern`, `when`: what is checked in an answer
//! * `template`, `vars`, `secrets`: holes, what fills them, and what of it is secret · `approve`: the digest of a step
//! * `edit`, `write`, `tidy`: from a skill to text · `warn`: what works, but perhaps not as meant
//!
//! Pure: no I/O, no clock, no randomness. It knows nothing of runs.
//!
//! Invariants:
//! * A value that was filled in is never searched for holes: neither a date, nor another variable, nor
//!   a secret can come out of an answer.
//! * Secrets are in no value that is stored or shown; [`Secrets`] puts them in right before the call.

mod answer;
mod approve;
mod assertion;
mod bind;
mod edit;
mod error;
mod input;
mod manifest;
mod path;
mod pattern;
mod read;
mod secrets;
mod step;
mod template;
#[cfg(test)]
mod tests;
mod text;
mod tidy;
mod vars;
mod warn;
mod when;
mod write;

use std::collections::BTreeMap;

pub use answer::{Answer, Verdict};
pub use approve::{call_digest, schema_digest};
pub use assertion::Assertion;
pub use bind::Bind;
pub use edit::{Edit, EditError};
pub use error::{SkillError, SkillErrors};
pub use input::{Input, InputKind};
pub use manifest::{Manifest, ManifestTool, Mismatch};
pub use secrets::Secrets;
pub(crate) use secrets::{Written, secret_holes_in};
pub use step::{Step, StepEffect};
pub(crate) use template::holes;
pub use template::{FillError, Filled};
pub use vars::{VarError, Vars};
pub use warn::SkillWarning;
pub use when::When;
pub use write::{Draft, DraftStep, WriteError};

use crate::canon::Digest;
use crate::tool::{Annotations, EffectClass};
use read::Layout;

/// A line of the front matter that is not blank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontLine {
    /// Its key.
    pub key: String,
    /// The rest, without white space around it.
    pub value: String,
}

impl FrontLine {
    /// Whether two lines say the same; JSON is compared where it is understood.
    fn says(&self, other: &Self) -> bool {
        let json = ["inputs", "manifest"].contains(&self.key.as_str());
        self.key == other.key && (json || self.value == other.value)
    }
}

/// A skill file, read and checked.
#[derive(Clone, Debug)]
pub struct Skill {
    /// Its name. It holds no `/`, `\` or control character and is neither `.` nor `..`, so that a file
    /// named after it stays in its folder.
    pub name: String,
    /// What it does.
    pub description: String,
    /// All lines of the front matter, in their order, those of unknown keys too.
    pub front: Vec<FrontLine>,
    /// The variables that it declares.
    pub inputs: BTreeMap<String, Input>,
    /// The input schemas that its tools had, where it says so.
    pub manifest: Option<Manifest>,
    /// Its steps, numbered from 1; never empty.
    pub steps: Vec<Step>,
    /// The text between the front matter and the first step.
    pub preamble: String,
    /// The text from the heading that ends the last step.
    pub trailing: String,
    text: String,
    layout: Layout,
}

impl Skill {
    /// Reads a file, or tells all of its mistakes.
    ///
    /// A byte order mark at its start is kept and means nothing. Lines end with LF or CRLF.
    pub fn parse(text: &str) -> Result<Self, SkillErrors> {
        read::read(text)
    }

    /// The text, exactly as it was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The digest of the file's bytes.
    pub fn digest(&self) -> Digest {
        Digest::of(self.text.as_bytes())
    }

    /// How many steps are of each class, from the mildest to the worst. `annotations` says what the
    /// server of a tool says of it.
    pub fn census(
        &self,
        annotations: impl Fn(&str) -> Annotations,
    ) -> [(EffectClass, usize); EffectClass::ALL.len()] {
        let effects: Vec<EffectClass> = self
            .steps
            .iter()
            .map(|step| step.classified(annotations(&step.tool)).effect)
            .collect();
        EffectClass::ALL.map(|class| {
            let count = effects.iter().filter(|effect| **effect == class).count();
            (class, count)
        })
    }

    /// Starts a change of the text, which leaves everything else as it is.
    pub fn edit(&self) -> Edit<'_> {
        Edit::of(self)
    }

    /// Whether two texts say the same: steps, inputs, front matter and prose, wherever they stand.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.front.len() == other.front.len()
            && self
                .front
                .iter()
                .zip(&other.front)
                .all(|(one, other)| one.says(other))
            && self.inputs == other.inputs
            && self.manifest == other.manifest
            && self.steps == other.steps
            && self.preamble == other.preamble
            && self.trailing == other.trailing
    }

    /// The line, from 1, on which a step starts; none where there is no such step.
    pub fn line_of(&self, step: u32) -> Option<usize> {
        let index = usize::try_from(step).ok()?.checked_sub(1)?;
        Some(self.layout.steps.get(index)?.header + 1)
    }
}

/// Whether a text can be the name of a variable: a letter or `_`, then letters, digits, `_`.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The start of a text that may be long.
fn shorten(text: &str, chars_max: usize) -> String {
    let mut short: String = text.chars().take(chars_max).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
