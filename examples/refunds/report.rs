//! What the story found, in words and a table.

use std::fmt;

use comfy_table::{ContentArrangement, Table, presets};

use crate::client::Reply;

/// How wide the table is, in characters.
const WIDTH: u16 = 110;

/// One action of the story.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Its summary.
    pub(crate) action: String,
    /// What people and the shop did.
    pub(crate) what: String,
    /// Where it ended.
    pub(crate) status: String,
    /// Where it should have ended.
    pub(crate) expected_status: String,
    /// How many refunds the shop counts on its order.
    pub(crate) counted: usize,
    /// How many it should count.
    pub(crate) expected_count: usize,
}

impl Line {
    fn holds(&self) -> bool {
        self.status == self.expected_status && self.counted == self.expected_count
    }
}

/// A promise with whether it was kept.
#[derive(Clone, Debug)]
struct Promise {
    words: String,
    kept: bool,
    /// What was answered instead.
    answers: Vec<String>,
}

/// Everything that was found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    lines: Vec<Line>,
    promises: Vec<Promise>,
}

impl Report {
    /// Notes whether a promise was kept, with the answers that show it where it was not.
    pub(crate) fn promise(&mut self, words: &str, kept: bool, answers: &[&Reply]) {
        let answers = answers
            .iter()
            .map(|reply| format!("{} {}", reply.status, reply.body));
        self.promises.push(Promise {
            words: words.to_owned(),
            kept,
            answers: if kept { Vec::new() } else { answers.collect() },
        });
    }

    /// Adds a line to the table.
    pub(crate) fn line(&mut self, line: Line) {
        self.lines.push(line);
    }

    /// Whether everything was as promised.
    pub(crate) fn holds(&self) -> bool {
        self.lines.iter().all(Line::holds) && self.promises.iter().all(|promise| promise.kept)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(presets::UTF8_HORIZONTAL_ONLY);
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(WIDTH);
        table.set_header([
            "action",
            "what was done to it",
            "status",
            "refunds counted",
            "expected",
            "",
        ]);
        for line in &self.lines {
            table.add_row([
                line.action.clone(),
                line.what.clone(),
                line.status.clone(),
                line.counted.to_string(),
                format!("{}, {}", line.expected_status, line.expected_count),
                if line.holds() { "kept" } else { "BROKEN" }.to_owned(),
            ]);
        }
        writeln!(f, "{table}\n")?;
        for promise in &self.promises {
            writeln!(
                f,
                "{} {}",
                if promise.kept { "  kept  " } else { "  BROKEN" },
                promise.words
            )?;
            for answer in &promise.answers {
                writeln!(f, "           answered: {answer}")?;
            }
        }
        let verdict = if self.holds() {
            "Every promise was kept."
        } else {
            "A promise was broken."
        };
        write!(f, "\n{verdict}")
    }
}
