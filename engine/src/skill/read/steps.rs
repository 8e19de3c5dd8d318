//! The steps: their headers, and the lines below them.

use std::ops::Range;

use super::header::{Header, Heading, heading};
use super::{FieldPlace, Front, Layout, StepPlace, quoted};
use crate::limits::{SKILL_PATTERNS_MAX, SKILL_STEPS_MAX};
use crate::skill::Step;
use crate::skill::error::Report;
use crate::skill::text::{Source, trim};
use crate::tool::did_you_mean;

mod fields;

/// The key of a line of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::skill) enum Key {
    Intent,
    Action,
    Effect,
    Assert,
    Bind,
    Approve,
    Timeout,
    Retry,
    When,
    Exposure,
    Attest,
    Expect,
    Emit,
}

impl Key {
    /// All of them, in the order in which a new file has them.
    pub(in crate::skill) const ALL: [Self; 13] = [
        Self::Intent,
        Self::Action,
        Self::When,
        Self::Assert,
        Self::Bind,
        Self::Effect,
        Self::Timeout,
        Self::Retry,
        Self::Exposure,
        Self::Approve,
        Self::Attest,
        Self::Expect,
        Self::Emit,
    ];

    pub(in crate::skill) fn name(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Action => "action",
            Self::Effect => "effect",
            Self::Assert => "assert",
            Self::Bind => "bind",
            Self::Approve => "approve",
            Self::Timeout => "timeout",
            Self::Retry => "retry",
            Self::When => "when",
            Self::Exposure => "exposure",
            Self::Attest => "attest",
            Self::Expect => "expect",
            Self::Emit => "emit",
        }
    }

    pub(in crate::skill) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.name() == name)
    }

    /// Whether a step may have several of it.
    fn repeats(self) -> bool {
        matches!(self, Self::Assert | Self::Bind)
    }
}

/// Reads all steps, and notes where they are.
pub(super) fn read(
    source: &Source<'_>,
    front: &Front,
    report: &mut Report,
    layout: &mut Layout,
) -> Vec<Step> {
    let headers = find(source, report, layout);
    let mut steps: Vec<Step> = Vec::new();
    let mut patterns = 0;
    let mut bound: Vec<String> = Vec::new();
    let mut expected = 1;
    for (place, header) in layout.steps.iter_mut().zip(headers) {
        let number = number(source, &header, expected, report);
        expected = number.saturating_add(1);
        place.fields = lines(source, place, number, report);
        let step = fields::step(source, place, number, &header, front, &bound, report);
        bound.extend(step.binds.iter().map(|bind| bind.name.clone()));
        patterns += step.asserts.iter().filter(|one| one.has_pattern()).count();
        patterns += step.binds.iter().filter(|one| one.has_pattern()).count();
        steps.push(step);
        if SKILL_PATTERNS_MAX < patterns {
            let message = format!("there are more than {SKILL_PATTERNS_MAX} regular expressions");
            report.wrong(source.trimmed(place.header), message, None);
            break;
        }
    }
    steps
}

/// Finds the headers and where each step ends.
fn find(source: &Source<'_>, report: &mut Report, layout: &mut Layout) -> Vec<Header> {
    let mut headers = Vec::new();
    let mut open = false;
    for line in layout.body..source.lines.len() {
        let range = source.trimmed(line);
        let last = layout.steps.last_mut().filter(|_| open);
        match heading(source.text, range.clone()) {
            Heading::Other => {}
            Heading::Section => {
                if let Some(step) = last {
                    step.end = line;
                }
                open = false;
            }
            Heading::Almost => report.wrong(
                range,
                "this looks like the header of a step, and is not",
                Some("write ### Step N — Title".to_owned()),
            ),
            Heading::Step(header) => {
                if let Some(step) = last {
                    step.end = line;
                }
                open = true;
                if headers.len() == SKILL_STEPS_MAX {
                    let message = format!("there are more than {SKILL_STEPS_MAX} steps");
                    report.wrong(range, message, None);
                    break;
                }
                headers.push(header);
                layout.steps.push(StepPlace {
                    header: line,
                    end: source.lines.len(),
                    fields: Vec::new(),
                });
            }
        }
    }
    let end = layout
        .steps
        .last()
        .map_or(source.lines.len(), |step| step.end);
    layout.trailing = source.start_of(end);
    if headers.is_empty() {
        let at = source.start_of(layout.body);
        report.wrong(
            at..at,
            "there are no steps",
            Some("a step starts with a line ### Step 1 — Title".to_owned()),
        );
    }
    headers
}

fn number(source: &Source<'_>, header: &Header, expected: u32, report: &mut Report) -> u32 {
    let text = &source.text[header.number.clone()];
    let found = text.parse().ok().filter(|found: &u32| *found == expected);
    if found.is_none() {
        report.wrong(
            header.number.clone(),
            format!("this is step {expected}, and says {text}"),
            Some("steps are numbered 1, 2, 3 … without gaps".to_owned()),
        );
        // What follows is measured by what stands here, so that one gap is one mistake.
        return text.parse().unwrap_or(expected);
    }
    expected
}

/// Finds the lines with a key. The rest is prose.
fn lines(
    source: &Source<'_>,
    step: &StepPlace,
    number: u32,
    report: &mut Report,
) -> Vec<FieldPlace> {
    let mut fields: Vec<FieldPlace> = Vec::new();
    for line in step.header + 1..step.end {
        let range = source.trimmed(line);
        if !source.text[range.clone()].starts_with('-') {
            continue;
        }
        let (key, value) = key_and_value(source.text, &range);
        let name = &source.text[key.clone()];
        let Some(known) = value.as_ref().and_then(|_| Key::of_name(name)) else {
            let names = Key::ALL.map(Key::name);
            let help = did_you_mean(name, names).unwrap_or_else(|| {
                format!(
                    "a line that starts with - is - KEY: VALUE, the key one of {}; other text starts otherwise",
                    names.join(", ")
                )
            });
            let text = quoted(&source.text[range.clone()]);
            let message = format!("step {number} has a line that is none of a step: {text}");
            report.wrong(
                if value.is_some() { key } else { range },
                message,
                Some(help),
            );
            continue;
        };
        if !known.repeats() && fields.iter().any(|field| field.key == known) {
            let message = format!("step {number} has {name:?} twice");
            report.wrong(key, message, Some("leave one out".to_owned()));
            continue;
        }
        let value = value.unwrap_or_default();
        if source.text[value.clone()].contains('\r') {
            report.wrong(value.clone(), "there is a stray carriage return", None);
        }
        fields.push(FieldPlace {
            key: known,
            line,
            value,
        });
    }
    fields
}

/// The key and the value of `- key: value`; no value where there is no colon.
fn key_and_value(text: &str, range: &Range<usize>) -> (Range<usize>, Option<Range<usize>>) {
    let rest = trim(text, range.start + 1..range.end);
    match text[rest.clone()].find(':') {
        Some(at) => (
            trim(text, rest.start..rest.start + at),
            Some(trim(text, rest.start + at + 1..rest.end)),
        ),
        None => (rest, None),
    }
}
