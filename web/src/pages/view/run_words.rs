//! Runs in words: where they stand, how their steps went, and what their events say.

use holdpoint_engine::canon::CanonicalJson;
use holdpoint_engine::engine::HistoryEntry;
use holdpoint_engine::run::{Flags, RunStatus};
use serde_json::Value;

use super::{StatusView, Words};
use crate::wire::INTERRUPTED;

/// The status of a run; `interrupted` where it is not over and nobody carries it on.
pub(in crate::pages) fn run_status(status: RunStatus, is_carried_on: bool) -> StatusView {
    if !status.is_final() && !is_carried_on {
        return interrupted();
    }
    let (word, means, tone, sign) = match status {
        RunStatus::Running => ("Running", "Its steps are being made.", "go", "◕"),
        RunStatus::Waiting => (
            "Waiting",
            "It goes on by itself when what it waits for has come.",
            "wait",
            "◔",
        ),
        RunStatus::Passed => (
            "Passed",
            "Every step passed, or was left out by its own condition.",
            "good",
            "✓",
        ),
        RunStatus::Failed => (
            "Failed",
            "A step failed or was withheld. What stands after it was not begun.",
            "bad",
            "✕",
        ),
        RunStatus::Rejected => (
            "Rejected",
            "A person said no to a step. What stands after it was not begun.",
            "bad",
            "✕",
        ),
        RunStatus::Expired => (
            "Expired",
            "The deadline of a step passed before it was called. What stands after it was not begun.",
            "off",
            "–",
        ),
        RunStatus::ReplanRequired => (
            "Must be planned again",
            "The world was no longer the one that was approved. The step was not done.",
            "alarm",
            "!",
        ),
        RunStatus::Cancelled => (
            "Called off",
            "Somebody called it off. What was under way was taken back where that was possible.",
            "off",
            "–",
        ),
        RunStatus::Diverged => (
            "Diverged",
            "The code is not the one that the history was made by. Nothing more was done.",
            "alarm",
            "!",
        ),
        RunStatus::Continued => ("Goes on", "It goes on as another run.", "go", "→"),
    };
    StatusView {
        code: status.name(),
        word,
        means,
        tone,
        sign,
    }
}

/// What a run is that was left behind.
pub(in crate::pages) fn interrupted() -> StatusView {
    StatusView {
        code: INTERRUPTED,
        word: "Interrupted",
        means: "The process that carried it on has ended. Nothing happens until somebody resumes it or calls it off; what passed is not made again.",
        tone: "alarm",
        sign: "!",
    }
}

/// How a step went: the outcome of a receipt.
pub(in crate::pages) fn step_outcome(outcome: &'static str) -> StatusView {
    let (word, tone, sign) = match outcome {
        "pending" => ("not begun", "off", "○"),
        "running" => ("under way", "go", "◕"),
        "waiting" => ("waiting", "wait", "◔"),
        "passed" => ("passed", "good", "✓"),
        "failed" => ("failed", "bad", "✕"),
        "withheld" => ("withheld", "wait", "‖"),
        "skipped" => ("left out", "off", "–"),
        "rejected" => ("rejected", "bad", "✕"),
        "expired" => ("expired", "off", "–"),
        "replan_required" => ("must be planned again", "alarm", "!"),
        "cancelled" => ("called off", "off", "–"),
        "refused" => ("refused", "bad", "✕"),
        "settled_not_done" => ("settled as not done", "bad", "✕"),
        other => (other, "off", "?"),
    };
    StatusView {
        code: outcome,
        word,
        means: "",
        tone,
        sign,
    }
}

/// What a run is allowed, in sentences.
pub(in crate::pages) fn flag_words(flags: Flags) -> Vec<&'static str> {
    let mut words = vec![match (flags.allow_writes, flags.yes) {
        (_, true) => "Reads, idempotent writes and destructive steps are made",
        (true, false) => "Reads and idempotent writes are made",
        (false, false) => "Reads are made",
    }];
    words.push(if flags.stage {
        "what is not allowed is put before people"
    } else {
        "what is not allowed is withheld"
    });
    words
}

/// What an event of a run says.
pub(in crate::pages) fn describe_run(entry: &HistoryEntry) -> Words {
    let data = &entry.data;
    let text = |name: &str| data.get(name).and_then(Value::as_str).unwrap_or_default();
    let step = format!("Step {}", text("step"));
    let words = match entry.kind.as_str() {
        "run.started" => Words::say("The run began"),
        "run.step_started" => match data.get("withheld").and_then(Value::as_bool) {
            Some(true) => Words::say(format!("{step} is withheld: nothing is sent")),
            Some(false) | None => Words::say(format!("{step} began")),
        },
        "run.step_waiting" => Words::say(format!("{step} waits: {}", text("why"))),
        "run.step_ended" => {
            let outcome = text("outcome").replace('_', " ");
            let failures = data.get("failures").and_then(Value::as_array);
            let lines = failures.into_iter().flatten().filter_map(Value::as_str);
            let why = lines.collect::<Vec<_>>().join("\n");
            Words::say(format!("{step} ended: {outcome}"))
                .quoting((!why.is_empty()).then_some(why.as_str()))
        }
        "run.step_skipped" => {
            Words::say(format!("{step} was left out")).quoting(Some(text("reason")))
        }
        "run.noted" => {
            Words::say("The code learned something, and learns the same at every replay")
        }
        "run.signalled" => Words::say("Somebody sent it an event"),
        "run.healed" => Words::say(format!("A model changed step {} of the file", text("step")))
            .quoting(Some(text("reason"))),
        "run.cancel_requested" => {
            let reason = data.get("reason").and_then(Value::as_str);
            Words::say("Somebody called it off").quoting(reason)
        }
        "run.resumed" => Words::say("Somebody resumed it"),
        "run.instigated" => {
            let name = data.pointer("/by/name").and_then(Value::as_str);
            Words::say(format!(
                "{} made it go on, and may not vote on its steps",
                name.unwrap_or("Somebody")
            ))
        }
        "run.ended" => {
            let end = data.get("end").and_then(Value::as_str);
            let end = end.unwrap_or("it goes on as another run").replace('_', " ");
            let message = data.get("message").and_then(Value::as_str);
            Words::say(format!("The run ended: {end}")).quoting(message)
        }
        _ => Words::default(),
    };
    let facts = data.as_object().into_iter().flatten();
    facts
        .filter(|(_, value)| !value.is_null())
        .fold(words, |words, (name, value)| {
            words.json(name, &CanonicalJson::of(value))
        })
}
