//! What a run prints to. A run goes on where nobody reads it any more, and ends with its own exit code.

use std::io::{self, ErrorKind};

use serde_json::Value;

use crate::output::Output;

/// Stdout, for as long as it is there.
pub(super) struct Paper {
    pub(super) output: Output,
    is_gone: bool,
}

impl Paper {
    pub(super) fn new(output: Output) -> Self {
        Self {
            output,
            is_gone: false,
        }
    }

    /// Prints one line of data.
    pub(super) fn line(&mut self, line: &str) {
        let output = self.output;
        self.print(|| output.line(line));
    }

    /// Prints a JSON value.
    pub(super) fn value(&mut self, value: &Value) {
        let output = self.output;
        self.print(|| output.value(value));
    }

    fn print(&mut self, print: impl FnOnce() -> io::Result<()>) {
        if self.is_gone {
            return;
        }
        let Err(error) = print() else {
            return;
        };
        self.is_gone = true;
        // A reader that has seen enough (`| head`) needs no words.
        if error.kind() != ErrorKind::BrokenPipe {
            self.output.note(&format!(
                "warning: the output cannot be written ({error}); the run goes on, and `holdpoint runs show` prints its receipt"
            ));
        }
    }
}
