//! What was measured: a line as soon as it is known, or one object at the end.

use serde_json::{Map, Value, json};

use super::figures::{Times, rounded};
use super::rate::Rate;
use crate::failure::Outcome;
use crate::output::Output;

/// What was measured.
pub(super) struct Report {
    /// Where it goes.
    pub(super) output: Output,
    rows: Map<String, Value>,
}

impl Report {
    /// Nothing yet.
    pub(super) fn new(output: Output) -> Self {
        Self {
            output,
            rows: Map::new(),
        }
    }

    /// Prints the object, where lines were not printed before.
    pub(super) fn finish(self) -> Outcome<()> {
        if self.output.json {
            self.output.value(&Value::Object(self.rows))?;
        }
        Ok(())
    }

    /// A value that only the object has.
    pub(super) fn keep(&mut self, name: &str, value: Value) {
        self.rows.insert(name.to_owned(), value);
    }

    /// Something per second.
    pub(super) fn rate(&mut self, words: &str, name: &str, rate: Rate) -> Outcome<()> {
        let per_second = rate.per_second();
        self.keep(name, json!(rounded(per_second)));
        self.line(words, &format!("{per_second:>10.0} /s"))
    }

    /// A size.
    pub(super) fn bytes(&mut self, words: &str, name: &str, bytes: u64) -> Outcome<()> {
        self.keep(name, json!(bytes));
        self.line(words, &format!("{:>10} KiB", bytes.div_ceil(1024)))
    }

    /// How long something took.
    pub(super) fn times(&mut self, words: &str, name: &str, times: Times) -> Outcome<()> {
        self.keep(
            name,
            json!({ "p50_ms": rounded(times.p50_ms), "p99_ms": rounded(times.p99_ms) }),
        );
        let figures = format!("p50 {:.2} ms, p99 {:.2} ms", times.p50_ms, times.p99_ms);
        self.line(words, &figures)
    }

    fn line(&self, words: &str, figures: &str) -> Outcome<()> {
        if !self.output.json {
            self.output.line(&format!("{words:<66} {figures}"))?;
        }
        Ok(())
    }
}
