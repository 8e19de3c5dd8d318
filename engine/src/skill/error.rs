//! What is wrong in a skill file, and where.

use std::fmt;
use std::ops::Range;

use super::text::Source;
use crate::canon::JsonError;
use crate::limits::SKILL_ERRORS_MAX;

/// One mistake of a skill file, or something doubtful in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// Where it is in the text, in bytes.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What is valid, or what to do about it.
    pub help: Option<String>,
}

impl fmt::Display for SkillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

/// All mistakes of a skill file, in the order of its text; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillErrors(pub Vec<SkillError>);

impl fmt::Display for SkillErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            let line_end = if index == 0 { "" } else { "\n" };
            write!(f, "{line_end}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SkillErrors {}

/// Collects what is found while a file is read.
#[derive(Debug, Default)]
pub(super) struct Report {
    found: Vec<(Range<usize>, String, Option<String>)>,
    more: usize,
}

impl Report {
    /// Something at `span` is wrong.
    pub(super) fn wrong(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        if self.found.len() < SKILL_ERRORS_MAX {
            self.found.push((span, message.into(), help));
        } else {
            self.more += 1;
        }
    }

    /// A JSON text that stands at `span` cannot be read.
    pub(super) fn wrong_json(&mut self, span: &Range<usize>, what: &str, error: &JsonError) {
        let at = (span.start + error.offset).min(span.end);
        let message = format!("{what} is not JSON: {}", error.message);
        self.wrong(at..span.end, message, None);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Everything that was found, in the order of the text.
    pub(super) fn finish(mut self, source: &Source<'_>) -> Vec<SkillError> {
        self.found.sort_by_key(|(span, ..)| span.start);
        let mut errors: Vec<SkillError> = self
            .found
            .into_iter()
            .map(|(span, message, help)| place(source, span, message, help))
            .collect();
        if let (Some(last), 1..) = (errors.last().cloned(), self.more) {
            errors.push(SkillError {
                message: format!("and {} more mistakes", self.more),
                help: Some("correct these first".to_owned()),
                ..last
            });
        }
        errors
    }
}

fn place(
    source: &Source<'_>,
    span: Range<usize>,
    message: String,
    help: Option<String>,
) -> SkillError {
    let index = source
        .lines
        .partition_point(|line| line.start <= span.start)
        .saturating_sub(1);
    let start = source.lines.get(index).map_or(0, |line| line.start);
    let before = source.text.get(start..span.start).unwrap_or_default();
    SkillError {
        line: index + 1,
        column: before.chars().count() + 1,
        span,
        message,
        help,
    }
}
