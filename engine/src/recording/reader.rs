//! Reads a recording line by line, within bounds.

use serde_json::{Map, Value};

use super::error::RecordingError;
use super::gather::{Gather, Recording};
use super::recognise::Format;
use super::{claude_code, codex, open_claw, trace};
use crate::canon::{parse_answer_up_to, parse_strict_up_to};
use crate::limits::{RECORDING_BYTES_MAX, RECORDING_LINE_BYTES_MAX};

/// Reads a recording; takes its lines in order.
pub struct Reader {
    format: Format,
    gather: Gather,
    bytes: usize,
    /// The line that could not be read, and why: the last one may have been cut off.
    broken: Option<RecordingError>,
}

/// A line, read.
pub(super) struct Line {
    pub(super) members: Map<String, Value>,
    /// A number of it was kept as the text of its digits.
    pub(super) inexact: bool,
}

impl Reader {
    /// A reader of this format.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            gather: Gather::new(format),
            bytes: 0,
            broken: None,
        }
    }

    /// Reads the next line, without its line end.
    ///
    /// # Errors
    ///
    /// A line that is not as the format has it, one beyond the bounds of [`crate::limits`], and, in a
    /// transcript, a line after one that is not JSON.
    pub fn line(&mut self, line: &[u8]) -> Result<(), RecordingError> {
        if let Some(broken) = self.broken.take() {
            return Err(broken);
        }
        self.gather.line += 1;
        self.bytes = self.bytes.saturating_add(line.len() + 1);
        if self.bytes > RECORDING_BYTES_MAX {
            return Err(RecordingError::Whole(format!(
                "it is longer than {RECORDING_BYTES_MAX} bytes; record one job at a time, or cut the file"
            )));
        }
        if line.len() > RECORDING_LINE_BYTES_MAX {
            return Err(self
                .gather
                .error(format!("longer than {RECORDING_LINE_BYTES_MAX} bytes")));
        }
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let line = match self.read(line) {
            Ok(line) => line,
            Err(error) if self.format.is_transcript() => {
                // A program that was killed leaves half a line at the end, and only there.
                self.broken = Some(error);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        match self.format {
            Format::Trace => trace::line(&mut self.gather, line),
            Format::ClaudeCode => claude_code::line(&mut self.gather, line),
            Format::Codex => codex::line(&mut self.gather, line),
            Format::OpenClaw => open_claw::line(&mut self.gather, line),
        }
    }

    /// What was recorded.
    ///
    /// # Errors
    ///
    /// Where there is no call in it.
    pub fn finish(mut self) -> Result<Recording, RecordingError> {
        if self.broken.is_some() {
            self.gather
                .question("the last line is not whole and was skipped. Was a call cut off?");
        }
        self.gather.finish()
    }

    fn read(&self, line: &[u8]) -> Result<Line, RecordingError> {
        // The pointer of an error is text of the recording, so it is not told.
        let (value, inexact) = match parse_strict_up_to(line, RECORDING_LINE_BYTES_MAX) {
            Ok(value) => (value, false),
            Err(_) => match parse_answer_up_to(line, RECORDING_LINE_BYTES_MAX) {
                Ok(value) => (value, true),
                Err(error) => {
                    let (message, column) = (error.message, error.column);
                    return Err(self
                        .gather
                        .error(format!("not JSON: {message} (column {column})")));
                }
            },
        };
        match value {
            Value::Object(members) => Ok(Line { members, inexact }),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Err(self.gather.error("not a JSON object")),
        }
    }
}

/// Takes a member that must be text.
pub(super) fn take_text(members: &mut Map<String, Value>, key: &str) -> Option<String> {
    match members.remove(key) {
        Some(Value::String(text)) => Some(text),
        Some(_) | None => None,
    }
}

/// Takes arguments: an object, or nothing.
pub(super) fn take_args(
    gather: &Gather,
    members: &mut Map<String, Value>,
    key: &str,
) -> Result<Map<String, Value>, RecordingError> {
    match members.remove(key) {
        Some(Value::Object(args)) => Ok(args),
        Some(Value::Null) | None => Ok(Map::new()),
        Some(_) => Err(gather.error(format!("{key:?} of the call is not a JSON object"))),
    }
}
