//! What a file is, told from its first lines.

use std::fmt;

use serde_json::{Map, Value};

use super::reader::{not_json, without_mark};
use crate::canon::parse_lenient_up_to;
use crate::limits::{RECOGNISED_LINES_MAX, RECORDING_LINE_BYTES_MAX};

/// The formats of recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Lines of `{"t": "meta" | "note" | "call" | "result"}`.
    Trace,
    /// A session of Claude Code.
    ClaudeCode,
    /// A session of the Codex command line.
    Codex,
    /// A session of `OpenClaw`.
    OpenClaw,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Trace, Self::ClaudeCode, Self::Codex, Self::OpenClaw];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::OpenClaw => "openclaw",
        }
    }

    /// What such a file is, for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Trace => "a trace",
            Self::ClaudeCode => "a transcript of Claude Code",
            Self::Codex => "a transcript of Codex",
            Self::OpenClaw => "a transcript of OpenClaw",
        }
    }

    /// Whether lines that are no calls are expected in it.
    pub fn is_transcript(self) -> bool {
        match self {
            Self::Trace => false,
            Self::ClaudeCode | Self::Codex | Self::OpenClaw => true,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a file turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A recording.
    Recording(Format),
    /// A log that `holdpoint export` wrote: its first line says so.
    ExportedLog,
    /// Nothing that is known; the words say what was seen instead, without text of the file.
    Unknown(String),
}

/// Looks at the first lines of a file until one of them says what it is.
#[derive(Debug, Default)]
pub struct Recogniser {
    lines: usize,
    seen: Option<String>,
}

impl Recogniser {
    /// One that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks at the next line, without its end. Answers once it is known what the file is, or that no
    /// further line will tell.
    pub fn line(&mut self, line: &[u8]) -> Option<Kind> {
        self.lines += 1;
        let number = self.lines;
        if line.trim_ascii().is_empty() {
            return self.give_up_late();
        }
        // A log says so at the start of its first line, also where that line was cut off.
        if number == 1 && line.starts_with(b"{\"holdpoint_log\"") {
            return Some(Kind::ExportedLog);
        }
        // What a strict reader refuses may still be read as a line of a transcript.
        let text = String::from_utf8_lossy(without_mark(line, number));
        let value = match parse_lenient_up_to(text.as_bytes(), RECORDING_LINE_BYTES_MAX) {
            Ok((value, _)) => value,
            Err(error) => {
                let why = not_json(&error);
                return Some(Kind::Unknown(format!("line {number} is {why}")));
            }
        };
        let Value::Object(members) = value else {
            return Some(Kind::Unknown(format!("line {number} is not a JSON object")));
        };
        if let Some(format) = format_of(&members) {
            return Some(Kind::Recording(format));
        }
        if !members.get("type").is_some_and(Value::is_string) {
            let what = format!("line {number} is an object without \"t\" or \"type\"");
            return Some(Kind::Unknown(what));
        }
        self.seen
            .get_or_insert_with(|| format!("line {number} has a \"type\" that tells nothing"));
        self.give_up_late()
    }

    /// The file is over.
    pub fn end(self) -> Kind {
        Kind::Unknown(self.seen.unwrap_or_else(|| "the file is empty".to_owned()))
    }

    fn give_up_late(&self) -> Option<Kind> {
        (self.lines >= RECOGNISED_LINES_MAX).then(|| {
            Kind::Unknown(format!(
                "the first {RECOGNISED_LINES_MAX} lines do not tell what it is"
            ))
        })
    }
}

/// The format that a line belongs to, where it can belong to one only.
fn format_of(members: &Map<String, Value>) -> Option<Format> {
    if members.get("t").is_some_and(Value::is_string) {
        return Some(Format::Trace);
    }
    let object = |key: &str| members.get(key).and_then(Value::as_object);
    let role = object("message").is_some_and(|message| message.contains_key("role"));
    match members.get("type").and_then(Value::as_str)? {
        "user" | "assistant" if role => Some(Format::ClaudeCode),
        "session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted"
            if members.contains_key("payload") =>
        {
            Some(Format::Codex)
        }
        "message" if role => Some(Format::OpenClaw),
        "session" if members.contains_key("id") => Some(Format::OpenClaw),
        _ => None,
    }
}
