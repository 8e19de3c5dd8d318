//! The receipt of a run, for people: a line for each step as it ends, and the totals.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use super::paper::Paper;
use crate::escape;
use crate::exit_code::ExitCode;
use crate::output::field;

/// What a receipt says of steps that are not over.
const GOES_ON: [&str; 3] = ["pending", "running", "waiting"];

/// Prints a receipt while it grows.
pub(super) struct Printer {
    paper: Paper,
    /// The tries of steps that were printed: a step that is made once more is printed once more.
    shown: BTreeSet<(String, u64)>,
    bar: Option<ProgressBar>,
}

impl Printer {
    pub(super) fn new(paper: Paper) -> Self {
        let bar = paper.output.can_animate().then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        Self {
            paper,
            shown: BTreeSet::new(),
            bar,
        }
    }

    /// Says what is no part of the receipt.
    pub(super) fn note(&self, words: &str) {
        let output = self.paper.output;
        match &self.bar {
            Some(bar) => bar.suspend(|| output.note(words)),
            None => output.note(words),
        }
    }

    /// Prints the steps that have ended since.
    pub(super) fn update(&mut self, receipt: &Value) {
        let is_over = |step: &&Value| !GOES_ON.contains(&outcome(step));
        for step in steps(receipt).iter().take_while(is_over) {
            self.show(step);
        }
        if let Some(bar) = &self.bar {
            let under_way = steps(receipt)
                .iter()
                .find(|step| ["running", "waiting"].contains(&outcome(step)));
            bar.set_message(under_way.map_or_else(String::new, headline));
        }
    }

    /// Prints what is left and the totals; or all of it as JSON.
    pub(super) fn finish(mut self, receipt: &Value) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        if self.paper.output.json {
            return self.paper.value(receipt);
        }
        for step in steps(receipt) {
            self.show(step);
        }
        self.paper.line(&totals(receipt));
    }

    fn show(&mut self, step: &Value) {
        let tried = step.get("tried").and_then(Value::as_u64).unwrap_or(0);
        if self.paper.output.json || !self.shown.insert((field(step, "/path"), tried)) {
            return;
        }
        let text = of_step(step);
        let (bar, paper) = (&self.bar, &mut self.paper);
        match bar {
            Some(bar) => bar.suspend(|| paper.line(text.trim_end())),
            None => paper.line(text.trim_end()),
        }
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// All of a receipt.
pub(crate) fn describe(receipt: &Value) -> String {
    let mut out: String = steps(receipt).iter().map(of_step).collect();
    out.push_str(&totals(receipt));
    out
}

/// What a script learns from the status of a run.
pub(crate) fn exit_code(receipt: &Value) -> ExitCode {
    match receipt.get("status").and_then(Value::as_str) {
        Some("passed") => ExitCode::Ok,
        Some("failed" | "cancelled" | "diverged") => ExitCode::Failure,
        Some("rejected") => ExitCode::Rejected,
        Some("expired") => ExitCode::Expired,
        Some("replan_required") => ExitCode::Conflict,
        _ => ExitCode::Pending,
    }
}

fn steps(receipt: &Value) -> &[Value] {
    let steps = receipt.get("steps").and_then(Value::as_array);
    steps.map_or(&[], Vec::as_slice)
}

fn outcome(step: &Value) -> &str {
    step.get("outcome")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn headline(step: &Value) -> String {
    let words = format!("Step {} — {}", field(step, "/path"), field(step, "/title"));
    escape::text(&words)
}

/// A step: its line, and below it what should be known.
fn of_step(step: &Value) -> String {
    let outcome = outcome(step);
    // Green, yellow, grey, red; gone where nobody sees colours.
    let (mark, colour) = match outcome {
        "passed" => ("✓", 32),
        "withheld" => ("⊘", 33),
        "waiting" | "running" | "pending" => ("…", 33),
        "skipped" => ("-", 90),
        _ => ("✗", 31),
    };
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "\u{1b}[{colour}m{mark}\u{1b}[0m {} [{}] {} ms",
        headline(step),
        escape::text(outcome),
        step.get("ms").and_then(Value::as_u64).unwrap_or(0),
    );
    let rejections = step.get("rejections").and_then(Value::as_array);
    for before in rejections.into_iter().flatten() {
        let number = before.get("try").and_then(Value::as_u64).unwrap_or(0);
        let (at, why) = (field(before, "/at"), field(before, "/why"));
        let line = format!("try {number} was {why} ({at})");
        let _ = writeln!(out, "    \u{1b}[31m{}\u{1b}[0m", escape::text(&line));
    }
    for name in ["notes", "failures"] {
        let lines = step.get(name).and_then(Value::as_array);
        for line in lines.into_iter().flatten().filter_map(Value::as_str) {
            let _ = writeln!(out, "    {}", escape::text(line));
        }
    }
    if let Some(withheld) = step.get("withheld").filter(|withheld| !withheld.is_null()) {
        let args = withheld.get("args").unwrap_or(&Value::Null);
        let _ = writeln!(out, "    {}", call(&field(withheld, "/tool"), args));
    } else if let Some(action) = step.get("action").and_then(Value::as_str)
        && outcome != "passed"
    {
        let _ = writeln!(out, "    {}", escape::text(action));
    }
    out
}

/// A call: the tool and its arguments, in full.
pub(super) fn call(tool: &str, args: &Value) -> String {
    let args = escape::json_pretty(args).replace('\n', "\n    ");
    format!("{} {args}", escape::text(tool))
}

fn totals(receipt: &Value) -> String {
    let count = |name: &str| {
        let count = receipt.pointer(&format!("/totals/{name}"));
        let count = count.and_then(Value::as_u64).unwrap_or(0);
        format!("{count} {name}")
    };
    let counts = ["passed", "failed", "withheld", "skipped", "waiting"].map(count);
    escape::text(&format!(
        "{} {}: {} in {} ms",
        field(receipt, "/run"),
        field(receipt, "/status"),
        counts.join(", "),
        receipt.get("ms").and_then(Value::as_u64).unwrap_or(0),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn hostile_text_in_any_field_is_escaped() {
        let evil = "\u{1b}[2Jx\u{202e}\n✓ Step 2 — paid [passed] 1 ms";
        let step = json!({
            "path": evil, "title": evil, "outcome": evil, "failures": [evil], "notes": [evil], "action": evil,
            "withheld": { "tool": evil, "args": { evil: evil } },
        });
        let text = super::describe(&json!({ "run": evil, "status": evil, "steps": [step] }));
        assert!(
            !text.contains("\u{1b}[2J") && !text.contains('\u{202e}'),
            "{text}"
        );
        assert!(
            !text.lines().any(|line| line.starts_with("✓ Step 2")),
            "{text}"
        );
    }

    #[test]
    fn what_a_script_learns_is_the_status_of_the_run() {
        let codes = [
            ("passed", 0),
            ("failed", 1),
            ("cancelled", 1),
            ("rejected", 3),
            ("expired", 4),
            ("running", 5),
            ("waiting", 5),
            ("replan_required", 6),
            ("of a later version", 5),
        ];
        for (status, code) in codes {
            let receipt = json!({ "status": status });
            assert_eq!(super::exit_code(&receipt).number(), code, "{status}");
        }
    }
}
