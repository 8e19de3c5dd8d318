//! From the text of a skill file to what it says, or to all of its mistakes.

mod front;
mod header;
mod json;
mod steps;

use std::ops::Range;

use super::error::{Report, SkillErrors};
use super::text::Source;
use super::{Skill, shorten};
use crate::limits::SKILL_BYTES_MAX;
use front::Front;
pub(super) use header::is_section;
pub(super) use steps::Key;

/// Where the parts of a skill are in its text.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// The keys and values of the front matter, in the order of its lines.
    pub(super) front: Vec<(Range<usize>, Range<usize>)>,
    /// The steps.
    pub(super) steps: Vec<StepPlace>,
    /// The first line behind the front matter.
    pub(super) body: usize,
    /// Where the text behind the last step starts, in bytes.
    pub(super) trailing: usize,
}

/// Where a step is.
#[derive(Clone, Debug)]
pub(super) struct StepPlace {
    /// The line of its header, from 0.
    pub(super) header: usize,
    /// The line behind its last one.
    pub(super) end: usize,
    /// Its lines with a key.
    pub(super) fields: Vec<FieldPlace>,
}

/// Where a line with a key is.
#[derive(Clone, Debug)]
pub(super) struct FieldPlace {
    pub(super) key: Key,
    pub(super) line: usize,
    /// Where its value is, in bytes.
    pub(super) value: Range<usize>,
}

pub(super) fn read(text: &str) -> Result<Skill, SkillErrors> {
    let source = Source::new(text);
    let mut report = Report::default();
    if SKILL_BYTES_MAX < text.len() {
        let message = format!("the file is too long; a skill has at most {SKILL_BYTES_MAX} bytes");
        report.wrong(0..0, message, None);
        return Err(SkillErrors(report.finish(&source)));
    }
    let mut layout = Layout::default();
    let front = front::read(&source, &mut report, &mut layout);
    let steps = steps::read(&source, &front, &mut report, &mut layout);
    if !report.is_empty() {
        return Err(SkillErrors(report.finish(&source)));
    }
    let Front {
        lines,
        name,
        description,
        inputs,
        manifest,
    } = front;
    let first = layout.steps.first().map_or(0, |step| step.header);
    let preamble = source.start_of(layout.body)..source.start_of(first);
    Ok(Skill {
        name,
        description,
        front: lines,
        inputs,
        manifest,
        steps,
        preamble: text[preamble].to_owned(),
        trailing: text[layout.trailing..].to_owned(),
        text: text.to_owned(),
        layout,
    })
}

/// A text of the file in a message: quoted, and not too long.
fn quoted(text: &str) -> String {
    format!("{:?}", shorten(text, 80))
}
