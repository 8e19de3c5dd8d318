//! Recordings and what is made of them.

mod compiling;
mod following;
mod hostile;
mod odd;
mod reading;
mod replay;
mod round_trip;

use serde_json::{Value, json};

use super::compile::{Apply, Compiled, Recorded, compile_all};
use super::error::{CompileError, RecordingError};
use super::gather::Recording;
use super::reader::Reader;
use super::recognise::Format;

/// Reads lines as a recording.
fn read(format: Format, lines: &[impl AsRef<[u8]>]) -> Result<Recording, RecordingError> {
    let mut reader = Reader::new(format);
    for line in lines {
        reader.line(line.as_ref())?;
    }
    reader.finish()
}

/// A trace of calls with their answers.
struct Trace {
    lines: Vec<String>,
    calls: u64,
}

impl Trace {
    fn new() -> Self {
        let meta = json!({ "t": "meta", "name": "job", "startedAt": "2026-03-02T09:00:00Z" });
        Self {
            lines: vec![meta.to_string()],
            calls: 0,
        }
    }

    fn line(mut self, line: &Value) -> Self {
        self.lines.push(line.to_string());
        self
    }

    fn call(self, tool: &str, args: &Value, answer: &Value) -> Self {
        self.ended(tool, args, answer, true)
    }

    fn ended(mut self, tool: &str, args: &Value, answer: &Value, ok: bool) -> Self {
        self.calls += 1;
        let number = self.calls;
        self.line(&json!({ "t": "call", "i": number, "tool": tool, "args": args }))
            .line(&json!({ "t": "result", "i": number, "ok": ok, "ms": 1, "body": answer }))
    }

    fn recording(&self) -> Recording {
        read(Format::Trace, &self.lines).expect("a trace that can be read")
    }

    fn try_compile(&self, apply: Apply) -> Result<(Compiled, Recorded), CompileError> {
        compile_all(&self.recording(), "file", apply)
    }

    fn compile(&self) -> Compiled {
        self.compile_with(Apply::default())
    }

    fn compile_with(&self, apply: Apply) -> Compiled {
        self.try_compile(apply).expect("a skill").0
    }
}

/// The lines of a text that start so.
fn lines<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    text.lines()
        .filter(|line| line.starts_with(start))
        .collect()
}

/// Checks that a text has each of these parts.
#[track_caller]
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} in:\n{text}");
    }
}
