//! What the readers of all formats fill: calls, paired with what they answered.

use std::collections::{BTreeMap, HashMap};

use chrono::NaiveDate;
use serde_json::{Map, Value};

use super::answer::body;
use super::error::RecordingError;
use super::reader::Arguments;
use super::recognise::Format;
use crate::limits::RECORDING_CALLS_MAX;
use crate::time::Timestamp;
use crate::tool::Annotations;

/// What was recorded.
#[derive(Debug)]
pub struct Recording {
    pub(super) format: Format,
    /// What the recording calls itself.
    pub(super) name: Option<String>,
    /// What it says that it is for.
    pub(super) description: Option<String>,
    /// The UTC day of its first line that has a time.
    pub(super) day: Option<NaiveDate>,
    pub(super) calls: Vec<Call>,
    /// What was odd about it, for a person to look at. Holds no text of the recording.
    pub(super) questions: Vec<String>,
}

impl Recording {
    /// How many calls were recorded.
    pub fn calls(&self) -> usize {
        self.calls.len()
    }

    /// The format that it was recorded in.
    pub fn format(&self) -> Format {
        self.format
    }
}

/// One recorded call.
#[derive(Debug)]
pub(super) struct Call {
    /// The line it stands in, from 1.
    pub(super) line: usize,
    /// Its place among calls and answers.
    pub(super) order: usize,
    pub(super) tool: String,
    pub(super) args: Map<String, Value>,
    /// Its arguments could be read; a call without them was never made.
    pub(super) is_readable: bool,
    pub(super) hints: Annotations,
    /// What was said right before it.
    pub(super) words: Option<String>,
    pub(super) answer: Option<Answer>,
}

/// What a call answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) order: usize,
    pub(super) ok: bool,
    pub(super) status: Option<u64>,
    /// The answer as JSON; none where it is text.
    pub(super) json: Option<Value>,
    /// The answer where it is text, of which no path leads to a value.
    pub(super) text: Option<String>,
}

/// A call as a reader found it.
pub(super) struct Called {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) arguments: Arguments,
    pub(super) hints: Option<Annotations>,
}

/// An answer as a reader found it.
pub(super) struct Answered {
    pub(super) id: String,
    pub(super) ok: bool,
    pub(super) status: Option<u64>,
    pub(super) body: Value,
}

/// A recording that is being read.
pub(super) struct Gather {
    format: Format,
    pub(super) line: usize,
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    /// What a server said of its tools, by their names.
    pub(super) hints: HashMap<String, Annotations>,
    day: Option<NaiveDate>,
    calls: Vec<Call>,
    by_id: HashMap<String, usize>,
    words: Option<String>,
    order: usize,
    questions: Vec<String>,
    /// What was odd about lines that could be read all the same: the first of them, and how many.
    odd: BTreeMap<&'static str, (usize, usize)>,
    /// Calls that are of a kind that is not read, and calls of helpers, which are inside another call.
    pub(super) foreign: usize,
    pub(super) nested: usize,
}

impl Gather {
    pub(super) fn new(format: Format) -> Self {
        Self {
            format,
            line: 0,
            name: None,
            description: None,
            hints: HashMap::new(),
            day: None,
            calls: Vec::new(),
            by_id: HashMap::new(),
            words: None,
            order: 0,
            questions: Vec::new(),
            odd: BTreeMap::new(),
            foreign: 0,
            nested: 0,
        }
    }

    pub(super) fn error(&self, what: impl Into<String>) -> RecordingError {
        RecordingError::Line {
            line: self.line,
            what: what.into(),
        }
    }

    pub(super) fn question(&mut self, what: &str) {
        let line = self.line;
        self.questions.push(format!("Line {line}: {what}"));
    }

    /// Notes that this line is odd, but can be read.
    pub(super) fn odd(&mut self, what: &'static str) {
        let line = self.line;
        self.odd.entry(what).or_insert((line, 0)).1 += 1;
    }

    /// Notes a time; the first one says which day it was.
    pub(super) fn moment(&mut self, time: Option<&Value>) {
        if self.day.is_none() {
            self.day = time
                .and_then(milliseconds)
                .and_then(chrono::DateTime::from_timestamp_millis)
                .map(|moment| moment.date_naive());
        }
    }

    /// Notes what was said; the last words before a call are its intent.
    pub(super) fn say(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.words = Some(text.to_owned());
        }
    }

    /// Notes what the recording is about; the first words count.
    pub(super) fn about(&mut self, text: &str) {
        // What starts like markup was put there by a program.
        if self.description.is_none() && !text.trim().is_empty() && !text.trim().starts_with('<') {
            self.description = Some(text.to_owned());
        }
    }

    pub(super) fn call(&mut self, called: Called) -> Result<(), RecordingError> {
        let Called {
            id,
            tool,
            arguments,
            hints,
        } = called;
        let Arguments {
            args,
            inexact,
            is_readable,
        } = arguments;
        if let Some(first) = self.by_id.get(&id).and_then(|at| self.calls.get(*at)) {
            // Sessions that were gone on with repeat their lines.
            if self.format.is_transcript() && first.tool == tool && first.args == args {
                return Ok(());
            }
            let line = first.line;
            return Err(self.error(format!(
                "the call has the same number as the one in line {line}; each needs its own"
            )));
        }
        if self.calls.len() == RECORDING_CALLS_MAX {
            return Err(self.error(format!(
                "more than {RECORDING_CALLS_MAX} calls; record one job at a time, or cut the file"
            )));
        }
        if inexact {
            self.question(
                "a number has more digits than JSON numbers keep, so it stands as text. Should it be a string?",
            );
        }
        let hints = hints
            .or_else(|| self.hints.get(&tool).copied())
            .unwrap_or_default();
        self.order += 1;
        self.by_id.insert(id, self.calls.len());
        self.calls.push(Call {
            line: self.line,
            order: self.order,
            tool,
            args,
            is_readable,
            hints,
            words: self.words.take(),
            answer: None,
        });
        Ok(())
    }

    pub(super) fn result(&mut self, answered: Answered) -> Result<(), RecordingError> {
        let line = self.line;
        self.order += 1;
        let order = self.order;
        let at = self.by_id.get(&answered.id).copied();
        let Some(call) = at.and_then(|at| self.calls.get_mut(at)) else {
            if self.format.is_transcript() {
                self.question("a result without its call was skipped. Is the transcript whole?");
                return Ok(());
            }
            return Err(self.error("a result without its call; the call must stand before it"));
        };
        let body = body(&call.tool, answered.body);
        let answer = Answer {
            order,
            ok: answered.ok && !body.failed,
            status: answered.status.or(body.status),
            json: body.json,
            text: body.text,
        };
        if let Some(first) = &call.answer {
            let of = call.line;
            if self.format.is_transcript() {
                if (first.ok, &first.json, &first.text) != (answer.ok, &answer.json, &answer.text) {
                    self.question(&format!(
                        "a second result of the call in line {of} was skipped. Which one is right?"
                    ));
                }
                return Ok(());
            }
            return Err(RecordingError::Line {
                line,
                what: format!("a second result of the call in line {of}; a call has one"),
            });
        }
        call.answer = Some(answer);
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Recording, RecordingError> {
        if self.calls.is_empty() {
            let title = self.format.title();
            return Err(RecordingError::Whole(format!(
                "there is no call in it, read as {title}"
            )));
        }
        for (what, (line, count)) in &self.odd {
            let more = match count - 1 {
                0 => String::new(),
                more => format!(" ({more} more such lines)"),
            };
            self.questions.push(format!("Line {line}{more}: {what}"));
        }
        for (count, what) in [
            (self.foreign, "Calls of a kind that is not read"),
            (self.nested, "Calls that a helper made inside of another"),
        ] {
            if count > 0 {
                self.questions.push(format!(
                    "{what} were left out: {count}. Does the job need them?"
                ));
            }
        }
        Ok(Recording {
            format: self.format,
            name: self.name,
            description: self.description,
            day: self.day,
            calls: self.calls,
            questions: self.questions,
        })
    }
}

/// A time as text, or as the seconds or milliseconds since 1970.
fn milliseconds(time: &Value) -> Option<i64> {
    // As seconds the year 5138, as milliseconds 1973: nothing was recorded in either.
    const SECONDS_MAX: i64 = 100_000_000_000;
    match time {
        Value::String(text) => Timestamp::parse_rfc3339(text).map(|moment| moment.0),
        Value::Number(number) => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a fraction of a second names no day"
            )]
            let whole = number
                .as_i64()
                .or_else(|| number.as_f64().map(|n| n as i64))?;
            let is_seconds = whole.abs() < SECONDS_MAX;
            Some(if is_seconds { whole * 1000 } else { whole })
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
