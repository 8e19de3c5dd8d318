//! Changes of a file that leave every other byte as it was.
//!
//! A change is a list of stretches that are replaced. The new text is read again and must say exactly
//! what was meant; otherwise nothing comes of it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error::SkillErrors;
use super::read::{FieldPlace, Key, StepPlace, is_section};
use super::text::{Source, Splice, spliced};
use super::{Assertion, Bind, Skill, Step, shorten};
use crate::canon::{CanonicalJson, Digest};
use crate::limits::SKILL_CHANGELOG_CHARS_MAX;

/// The heading below which changes are noted.
const CHANGELOG: &str = "## Changelog";

/// Why a file was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// There is no such step.
    #[error("there is no step {0}")]
    NoStep(u32),
    /// A new line cannot be read.
    #[error("step {step}: {message}")]
    Line {
        /// The number of the step.
        step: u32,
        /// What is wrong, and what is valid.
        message: String,
    },
    /// The new text cannot be read.
    #[error("the changed file could not be read again")]
    Unreadable(#[source] SkillErrors),
    /// The new text says something else than was meant.
    #[error("the changed file would not say what was meant; nothing was changed")]
    Different,
}

/// A change that is being put together; [`apply`](Self::apply) makes the new text.
#[derive(Clone, Debug)]
pub struct Edit<'s> {
    skill: &'s Skill,
    steps: BTreeMap<u32, Change>,
    entries: Vec<String>,
}

/// What is new in a step.
#[derive(Clone, Debug, Default)]
struct Change {
    args: Option<Value>,
    asserts: Option<Vec<String>>,
    binds: Option<Vec<String>>,
    /// One line, or none.
    approve: Option<Vec<Digest>>,
}

impl<'s> Edit<'s> {
    pub(super) fn of(skill: &'s Skill) -> Self {
        Self {
            skill,
            steps: BTreeMap::new(),
            entries: Vec::new(),
        }
    }

    /// Replaces all assertions of a step by these lines.
    pub fn asserts(mut self, step: u32, lines: Vec<String>) -> Self {
        self.steps.entry(step).or_default().asserts = Some(lines);
        self
    }

    /// Replaces all binds of a step by these lines.
    pub fn binds(mut self, step: u32, lines: Vec<String>) -> Self {
        self.steps.entry(step).or_default().binds = Some(lines);
        self
    }

    /// Replaces the arguments of a step. Its tool stays.
    pub fn args(mut self, step: u32, args: Value) -> Self {
        self.steps.entry(step).or_default().args = Some(args);
        self
    }

    /// Replaces, adds or removes the `approve` line of a step.
    pub fn approve(mut self, step: u32, digest: Option<Digest>) -> Self {
        self.steps.entry(step).or_default().approve = Some(digest.into_iter().collect());
        self
    }

    /// Adds an entry below `## Changelog`, behind those that are there. Line ends and control characters
    /// in it become spaces, and what is too long is cut.
    pub fn changelog(mut self, entry: &str) -> Self {
        let clean: String = entry
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        self.entries
            .push(shorten(clean.trim(), SKILL_CHANGELOG_CHARS_MAX));
        self
    }

    /// The changed text, read again.
    pub fn apply(&self) -> Result<Skill, EditError> {
        let skill = self.skill;
        let source = Source::new(&skill.text);
        let mut splices = Vec::new();
        let mut meant = skill.clone();
        for (number, change) in &self.steps {
            let index = usize::try_from(*number).ok().and_then(|n| n.checked_sub(1));
            let parts = index.and_then(|index| {
                meant
                    .steps
                    .get_mut(index)
                    .zip(skill.layout.steps.get(index))
            });
            let Some((step, place)) = parts else {
                return Err(EditError::NoStep(*number));
            };
            let mut lines = Lines {
                source: &source,
                place,
                splices: &mut splices,
            };
            change.apply(step, &mut lines)?;
        }
        if !self.entries.is_empty() {
            let entries = entries(&source, skill, &self.entries);
            meant.trailing = if skill.trailing.is_empty() {
                // A new section ends the last step; the blank line before it still belongs to that.
                let at = entries.text.find(CHANGELOG).unwrap_or(0);
                entries.text[at..].to_owned()
            } else {
                let only = std::slice::from_ref(&entries);
                spliced(&skill.text, skill.layout.trailing, only)
            };
            splices.push(entries);
        }
        // Lines that are added at one place stay in the order in which they came, and before what is
        // removed behind that place.
        splices.sort_by_key(|splice| (splice.range.start, splice.range.end));
        let text = spliced(&skill.text, 0, &splices);
        let changed = Skill::parse(&text).map_err(EditError::Unreadable)?;
        if changed.says_the_same(&meant) {
            Ok(changed)
        } else {
            Err(EditError::Different)
        }
    }
}

impl Change {
    /// Notes what is replaced in the text, and what the step says then.
    fn apply(&self, step: &mut Step, lines: &mut Lines<'_, '_>) -> Result<(), EditError> {
        let number = step.number;
        let wrong = |message: String| EditError::Line {
            step: number,
            message,
        };
        if let Some(args) = &self.args {
            if !args.is_object() {
                return Err(wrong("the arguments are not a JSON object".to_owned()));
            }
            let action = format!("{} {}", step.tool, CanonicalJson::of(args));
            lines.replace(Key::Action, &[action]);
            step.args = args.clone();
        }
        if let Some(texts) = &self.asserts {
            let read: Result<Vec<_>, _> = texts.iter().map(|text| Assertion::parse(text)).collect();
            step.asserts = read.map_err(wrong)?;
            let texts: Vec<String> = step
                .asserts
                .iter()
                .map(|one| one.text().to_owned())
                .collect();
            lines.replace(Key::Assert, &texts);
        }
        if let Some(texts) = &self.binds {
            let read: Result<Vec<_>, _> = texts.iter().map(|text| Bind::parse(text)).collect();
            step.binds = read.map_err(wrong)?;
            let texts: Vec<String> = step.binds.iter().map(|one| one.text().to_owned()).collect();
            lines.replace(Key::Bind, &texts);
        }
        if let Some(digests) = &self.approve {
            step.approve = digests.first().copied();
            let texts: Vec<String> = digests.iter().map(ToString::to_string).collect();
            lines.replace(Key::Approve, &texts);
        }
        Ok(())
    }
}

/// The lines of one step that are being replaced.
struct Lines<'a, 't> {
    source: &'a Source<'t>,
    place: &'a StepPlace,
    splices: &'a mut Vec<Splice>,
}

impl Lines<'_, '_> {
    /// Puts values in the place of those that a key has now: one by one where they differ; what is too
    /// many is removed with its line, what is new follows the last line of the key, or of the step.
    fn replace(&mut self, key: Key, values: &[String]) {
        let fields: Vec<&FieldPlace> = self
            .place
            .fields
            .iter()
            .filter(|field| field.key == key)
            .collect();
        for (field, value) in fields.iter().zip(values) {
            if self.source.text[field.value.clone()] != **value {
                self.splices.push(Splice {
                    range: field.value.clone(),
                    text: value.clone(),
                });
            }
        }
        for field in fields.iter().skip(values.len()) {
            let line = self.source.lines[field.line];
            self.splices.push(Splice {
                range: line.start..line.next,
                text: String::new(),
            });
        }
        let last = fields.last().copied().or(self.place.fields.last());
        let line = last.map_or(self.place.header, |field| field.line);
        let new = values.iter().skip(fields.len());
        let text: Vec<String> = new
            .map(|value| format!("- {}: {value}", key.name()))
            .collect();
        if !text.is_empty() {
            self.splices.push(below(self.source, line, &text));
        }
    }
}

/// Adds lines below a line, with its line end. Where the file ends without one, it still does.
fn below(source: &Source<'_>, line: usize, new: &[String]) -> Splice {
    let line = source.lines[line];
    let ending = &source.text[line.end..line.next];
    let (before, after) = if ending.is_empty() {
        (line_end(source), "")
    } else {
        ("", ending)
    };
    let lines: Vec<String> = new
        .iter()
        .map(|line| format!("{before}{line}{after}"))
        .collect();
    Splice {
        range: line.next..line.next,
        text: lines.concat(),
    }
}

/// The line end of the file: that of its first line.
fn line_end<'t>(source: &Source<'t>) -> &'t str {
    let first = source.lines.first();
    let ending = first.map(|line| &source.text[line.end..line.next]);
    ending.filter(|ending| !ending.is_empty()).unwrap_or("\n")
}

/// Adds entries to the changelog behind the steps, or else a new one at the end.
fn entries(source: &Source<'_>, skill: &Skill, entries: &[String]) -> Splice {
    let lines: Vec<String> = entries.iter().map(|entry| format!("- {entry}")).collect();
    let behind = skill.layout.steps.last().map_or(0, |step| step.end);
    let mut trailing = behind..source.lines.len();
    let section = trailing.rfind(|line| source.content(*line) == CHANGELOG);
    let Some(section) = section else {
        let ending = line_end(source);
        let end = source.text.len();
        let mut text = String::new();
        if !source.text.ends_with('\n') {
            text.push_str(ending);
        }
        let blank = source
            .lines
            .len()
            .checked_sub(1)
            .is_some_and(|last| source.content(last).is_empty());
        if !blank {
            text.push_str(ending);
        }
        text.push_str(CHANGELOG);
        text.push_str(ending);
        text.push_str(ending);
        for line in &lines {
            text.push_str(line);
            text.push_str(ending);
        }
        return Splice {
            range: end..end,
            text,
        };
    };
    let end = (section + 1..source.lines.len())
        .find(|line| is_section(source.content(*line)))
        .unwrap_or(source.lines.len());
    let last = (section..end)
        .rev()
        .find(|line| !source.content(*line).is_empty())
        .unwrap_or(section);
    if last == section && section + 1 < end {
        // Behind the blank line that follows the heading.
        return below(source, section + 1, &lines);
    }
    let mut splice = below(source, last, &lines);
    if last == section {
        // The first entry stands apart from the heading.
        let at = splice.text.find('-').unwrap_or(0);
        splice.text.insert_str(at, line_end(source));
    }
    splice
}
