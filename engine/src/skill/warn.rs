//! What works in a skill file, but perhaps not as meant.

use std::collections::BTreeSet;
use std::ops::Range;

use super::error::{Report, SkillError};
use super::read::{Key, StepPlace};
use super::template::{Part, parts};
use super::text::Source;
use super::{Skill, Step};
use crate::tool::Annotations;

/// Something doubtful in a skill file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillWarning {
    /// The number of the step it is about; none where it is about the file.
    pub step: Option<u32>,
    /// What, where, and what to do.
    pub place: SkillError,
}

impl Skill {
    /// What works, but perhaps not as meant, in the order of the text. `annotations` says what the
    /// server of a tool says of it.
    pub fn warnings(&self, annotations: impl Fn(&str) -> Annotations) -> Vec<SkillWarning> {
        let source = Source::new(&self.text);
        let mut warnings = Vec::new();
        let mut bound: BTreeSet<&str> = self.inputs.keys().map(String::as_str).collect();
        for (step, place) in self.steps.iter().zip(&self.layout.steps) {
            let told = step.classified(annotations(&step.tool));
            let mut warner = Warner {
                source: &source,
                place,
                report: Report::default(),
            };
            if told.weakens {
                let message = format!(
                    "`effect: {}` is weaker than what {:?} does by its name or its server: {} ({})",
                    told.effect, step.tool, told.classified.effect, told.classified.reason
                );
                warner.at(Key::Effect, message, "make sure that it holds; it counts");
            }
            if told.classified.review && step.effect.is_none() {
                let message = format!(
                    "nothing says what {:?} does: {}",
                    step.tool, told.classified.reason
                );
                warner.at(Key::Action, message, "add a line - effect: …");
            }
            if step.approved() == Some(false) {
                let message = format!(
                    "`approve` is of another call than this one, which is {}",
                    step.approve_digest()
                );
                warner.at(
                    Key::Approve,
                    message,
                    "the step will fail; look at it and approve it anew",
                );
            }
            if step.asserts.is_empty() {
                let message = "nothing is checked in the answer".to_owned();
                warner.at(Key::Action, message, "add a line - assert: status == 200");
            }
            if let Some(manifest) = &self.manifest
                && !manifest.names(&step.tool)
            {
                let message = format!("the manifest does not name {:?}", step.tool);
                warner.at(
                    Key::Action,
                    message,
                    "its input is not checked before the run; make the manifest anew",
                );
            }
            self.unbound(step, &bound, &mut warner);
            bound.extend(step.binds.iter().map(|bind| bind.name.as_str()));
            let found = warner.report.finish(&source).into_iter();
            warnings.extend(found.map(|place| SkillWarning {
                step: Some(step.number),
                place,
            }));
        }
        let prose = self.step_lines_in_prose(&source).into_iter();
        warnings.extend(prose.map(|place| SkillWarning { step: None, place }));
        warnings.sort_by_key(|warning| warning.place.span.start);
        warnings
    }

    /// Something that is wrong with the call of a step, at its `action` line; none where there is no such
    /// step.
    pub(crate) fn at_action(&self, step: u32, message: String) -> Option<SkillError> {
        let source = Source::new(&self.text);
        let index = usize::try_from(step).ok()?.checked_sub(1)?;
        let mut warner = Warner {
            source: &source,
            place: self.layout.steps.get(index)?,
            report: Report::default(),
        };
        warner.at(
            Key::Action,
            message,
            "change what the step calls it with, or its tool",
        );
        warner.report.finish(&source).pop()
    }

    /// Holes that only a later step, or the step itself, binds.
    fn unbound(&self, step: &Step, bound: &BTreeSet<&str>, warner: &mut Warner<'_, '_>) {
        let mut holes = BTreeSet::new();
        step.each_text(&mut |text| {
            holes.extend(parts(text).into_iter().filter_map(|(_, part)| match part {
                Part::Hole(name) => Some(name),
                Part::Text(_) => None,
            }));
        });
        for hole in holes.into_iter().filter(|hole| !bound.contains(hole)) {
            let binder = self
                .steps
                .iter()
                .find(|later| later.binds.iter().any(|bind| bind.name == hole));
            if let Some(binder) = binder {
                let message = format!(
                    "{{{{{hole}}}}} is bound by step {}, which comes too late",
                    binder.number
                );
                warner.at(
                    Key::Action,
                    message,
                    "bind it in an earlier step, or give it with --var",
                );
            }
        }
    }

    /// Lines that look as if they belonged to a step, and stand outside of all.
    fn step_lines_in_prose(&self, source: &Source<'_>) -> Vec<SkillError> {
        let mut report = Report::default();
        let steps = &self.layout.steps;
        for line in self.layout.body..source.lines.len() {
            let range = source.trimmed(line);
            let key = source.text[range.clone()]
                .strip_prefix('-')
                .and_then(|rest| rest.split_once(':'))
                .and_then(|(key, _)| Key::of_name(key.trim()));
            let inside = steps
                .iter()
                .any(|step| step.header < line && line < step.end);
            if let (Some(key), false) = (key, inside) {
                let message = format!("this line {:?} belongs to no step", key.name());
                let help = "it is prose: a step ends at the next ## heading".to_owned();
                report.wrong(range, message, Some(help));
            }
        }
        report.finish(source)
    }
}

struct Warner<'a, 't> {
    source: &'a Source<'t>,
    place: &'a StepPlace,
    report: Report,
}

impl Warner<'_, '_> {
    /// Something about the value of a key, or about the step where it has no such line.
    fn at(&mut self, key: Key, message: String, help: &str) {
        let field = self.place.fields.iter().find(|field| field.key == key);
        let span: Range<usize> = match field {
            Some(field) => field.value.clone(),
            None => self.source.trimmed(self.place.header),
        };
        self.report.wrong(span, message, Some(help.to_owned()));
    }
}
