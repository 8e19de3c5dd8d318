//! What is wrong, or doubtful, in a tools file, and where.

use std::fmt;

use super::source::Source;
use super::template::Slot;
use crate::canon::line_and_column;

/// One mistake in a tools file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// A JSON Pointer to the place.
    pub pointer: String,
    /// Where it starts in the text, in bytes.
    pub offset: usize,
    /// How long it is, in bytes.
    pub length: usize,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// Something in a tools file that works, but perhaps not as meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The tool it is about; none where it is about the file.
    pub tool: Option<String>,
    /// What, where, and what to do.
    pub problem: Problem,
}

/// A tools file that cannot be used, with all its mistakes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolsFileError {
    /// The name of the file.
    pub file: String,
    /// Its mistakes, in the order of the text; never empty.
    pub problems: Vec<Problem>,
    /// The whole text, so that the places can be shown; empty where it could not be read.
    pub text: String,
}

impl fmt::Display for ToolsFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(
                f,
                "{}:{}:{}: {}",
                self.file, problem.line, problem.column, problem.message
            )?;
            if let Some(help) = &problem.help {
                write!(f, " ({help})")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ToolsFileError {}

/// Collects what is wrong while a file is read.
pub(super) struct Report<'a> {
    pub(super) source: &'a Source,
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<Warning>,
    /// The placeholders of the tool that is being read, with their places.
    pub(super) slots: Vec<(Slot, String)>,
}

impl<'a> Report<'a> {
    pub(super) fn new(source: &'a Source) -> Self {
        Self {
            source,
            problems: Vec::new(),
            warnings: Vec::new(),
            slots: Vec::new(),
        }
    }

    /// The value at `pointer` is wrong.
    pub(super) fn wrong(
        &mut self,
        pointer: &str,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        self.problems
            .push(self.source.problem(pointer, false, message.into(), help));
    }

    /// The key at `pointer` is wrong.
    pub(super) fn wrong_key(
        &mut self,
        pointer: &str,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        self.problems
            .push(self.source.problem(pointer, true, message.into(), help));
    }

    /// Something about `tool` is doubtful; points to the key at `pointer`.
    pub(super) fn doubt(
        &mut self,
        tool: &str,
        pointer: &str,
        message: impl Into<String>,
        help: &str,
    ) {
        let problem = self
            .source
            .problem(pointer, true, message.into(), Some(help.to_owned()));
        self.warnings.push(Warning {
            tool: Some(tool.to_owned()),
            problem,
        });
    }
}

impl Source {
    /// A problem at `pointer`, or at the nearest place around it that is in the text.
    pub(super) fn problem(
        &self,
        pointer: &str,
        key: bool,
        message: String,
        help: Option<String>,
    ) -> Problem {
        let mut place = pointer;
        let span = loop {
            let span = if key { self.spans.key(place) } else { None };
            if let Some(span) = span.or_else(|| self.spans.value(place)) {
                break span;
            }
            match place.rfind('/') {
                Some(at) => place = &place[..at],
                None => break 0..0,
            }
        };
        let (line, column) = line_and_column(&self.text, span.start);
        Problem {
            message,
            help,
            pointer: pointer.to_owned(),
            offset: span.start,
            length: span.len(),
            line,
            column,
        }
    }
}

/// The candidate that was probably meant, if one is near enough.
pub(crate) fn nearest<'c>(
    name: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    let flat = |text: &str| text.to_lowercase().replace(['_', '-', ' ', '.'], "");
    let wanted = flat(name);
    candidates
        .into_iter()
        .map(|candidate| {
            (
                strsim::damerau_levenshtein(&wanted, &flat(candidate)),
                candidate,
            )
        })
        .filter(|(distance, candidate)| {
            *distance <= 1 + candidate.len() / 5 && *distance < candidate.len()
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// "did you mean …?", where something is near.
pub(crate) fn did_you_mean<'c>(
    name: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<String> {
    nearest(name, candidates).map(|near| format!("did you mean {near:?}?"))
}
