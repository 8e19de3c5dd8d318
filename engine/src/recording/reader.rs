//! Reads a recording line by line, within bounds.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::error::RecordingError;
use super::gather::{Gather, Recording};
use super::recognise::Format;
use super::{claude_code, codex, open_claw, trace};
use crate::canon::{
    JsonError, Mended, parse_answer_up_to, parse_lenient_up_to, parse_strict_up_to,
};
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
        let line = match self.read(without_mark(line, self.gather.line)) {
            Ok(line) => line,
            Err(error) if self.format.is_transcript() && is_cut(line) => {
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

    fn read(&mut self, line: &[u8]) -> Result<Line, RecordingError> {
        // The pointer of an error is text of the recording, so it is not told.
        let (value, inexact) = match parse_strict_up_to(line, RECORDING_LINE_BYTES_MAX) {
            Ok(value) => (value, false),
            Err(_) => match parse_answer_up_to(line, RECORDING_LINE_BYTES_MAX) {
                Ok(value) => (value, true),
                Err(error) => match self.mended(line) {
                    Some(read) => read,
                    None => return Err(self.gather.error(not_json(&error))),
                },
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

    /// A line of a transcript that only strict readers refuse: sessions hold what programs printed.
    fn mended(&mut self, line: &[u8]) -> Option<(Value, bool)> {
        if !self.format.is_transcript() {
            return None;
        }
        let text = String::from_utf8_lossy(line);
        let (value, mended) =
            parse_lenient_up_to(text.as_bytes(), RECORDING_LINE_BYTES_MAX).ok()?;
        let Mended {
            number,
            surrogate,
            key_twice,
        } = mended;
        if surrogate || matches!(text, Cow::Owned(_)) {
            self.gather.odd(
                "what is no character was read as U+FFFD. Does an argument need what stood there?",
            );
        }
        if key_twice {
            self.gather
                .odd("a key stands twice in an object, and the last one was read. Is that right?");
        }
        Some((value, number))
    }
}

/// Why a line is not JSON, without text of it.
pub(super) fn not_json(error: &JsonError) -> String {
    let (message, column) = (&error.message, error.column);
    format!("not JSON: {message} (column {column})")
}

/// The line without the byte order mark that some programs begin a file with.
pub(super) fn without_mark(line: &[u8], number: usize) -> &[u8] {
    match line.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) if number == 1 => rest,
        Some(_) | None => line,
    }
}

/// Whether the line ends before its object does, or is no object at all.
fn is_cut(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in line {
        match (in_text, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (true, b'"') => in_text = false,
            (false, b'"') => in_text = true,
            (false, b'{' | b'[') => depth += 1,
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            (true | false, _) => {}
        }
    }
    !line.starts_with(b"{") || in_text || depth > 0
}

/// Takes a member that must be text.
pub(super) fn take_text(members: &mut Map<String, Value>, key: &str) -> Option<String> {
    match members.remove(key) {
        Some(Value::String(text)) => Some(text),
        Some(_) | None => None,
    }
}

/// The arguments of a call.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub(super) args: Map<String, Value>,
    /// A number was kept as the text of its digits.
    pub(super) inexact: bool,
    /// They are an object, or nothing.
    pub(super) is_readable: bool,
}

/// The arguments of a call of a transcript: an object, or the text of one. What a model wrote may be
/// neither; its tool has then refused the call.
pub(super) fn arguments(value: Option<Value>, inexact: bool) -> Arguments {
    let read = |args, inexact| Arguments {
        args,
        inexact,
        is_readable: true,
    };
    match value {
        Some(Value::Object(args)) => read(args, inexact),
        Some(Value::Null) | None => read(Map::new(), inexact),
        Some(Value::String(text)) if text.trim().is_empty() => read(Map::new(), inexact),
        Some(Value::String(text)) => {
            match parse_lenient_up_to(text.as_bytes(), RECORDING_LINE_BYTES_MAX) {
                Ok((Value::Object(args), mended)) if !mended.key_twice => {
                    read(args, inexact || mended.number)
                }
                Ok(_) | Err(_) => Arguments::default(),
            }
        }
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => Arguments::default(),
    }
}
