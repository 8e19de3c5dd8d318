//! What the program prints: data to stdout, messages to stderr.

use std::io::{self, IsTerminal, Write};

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::Value;

use crate::escape;

/// How to print.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// Data as JSON.
    pub(crate) json: bool,
    /// No messages but errors.
    pub(crate) quiet: bool,
}

impl Output {
    /// Prints one line of data. The caller has escaped what came from elsewhere.
    #[expect(
        clippy::unused_self,
        reason = "data goes through the same hands as messages"
    )]
    pub(crate) fn line(self, line: &str) -> io::Result<()> {
        let mut out = anstream::stdout().lock();
        writeln!(out, "{line}")?;
        out.flush()
    }

    /// Prints a JSON value: on several lines for a terminal, on one line for a pipe.
    pub(crate) fn value(self, value: &Value) -> io::Result<()> {
        self.line(&if io::stdout().is_terminal() {
            escape::json_pretty(value)
        } else {
            escape::json(value)
        })
    }

    /// Prints a message for the person at the terminal.
    pub(crate) fn note(self, message: &str) {
        if !self.quiet {
            // A closed stderr must not stop the work.
            let _ = writeln!(anstream::stderr().lock(), "{message}");
        }
    }

    /// Prints a table. Cells are escaped here.
    pub(crate) fn table<const N: usize>(
        self,
        head: [&str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) -> io::Result<()> {
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(head.map(str::to_uppercase));
        for row in rows {
            table.add_row(row.map(|cell| escape::text(&cell)));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        for line in table.lines() {
            self.line(line.trim_end())?;
        }
        Ok(())
    }

    /// Whether a person can be asked: both ends are a terminal and stdout is not for a program.
    pub(crate) fn can_ask(self) -> bool {
        !self.json && io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Whether something may move on the screen.
    pub(crate) fn can_animate(self) -> bool {
        !self.quiet && !self.json && io::stderr().is_terminal()
    }
}

/// The text at a JSON pointer; a dash where there is none.
pub(crate) fn field(value: &Value, pointer: &str) -> String {
    match value.pointer(pointer) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// A count and its noun: `1 warning`, `2 warnings`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}
