//! Why an action does not move, in words for a person (invariant I27). Pure.

use serde_json::Value;

use super::{Action, Attempt, AttemptResult, Event, Phase};
use crate::approval::Shortage;
use crate::canon::CanonicalJson;
use crate::limits::OVERDUE_MS;
use crate::time::{Elapsed, Timestamp};

/// The most characters of a late answer that one line shows; the event has all of it.
const EVIDENCE_CHARS_MAX: usize = 300;

/// What stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nobody knows whether it happened.
    Unknown,
    /// It could be called, and is not.
    Stuck,
    /// Fewer people may vote on it than its approval asks for.
    Short,
    /// The target may know its key with another request.
    Alarm,
}

impl Trouble {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Stuck => "stuck",
            Self::Short => "short",
            Self::Alarm => "alarm",
        }
    }
}

/// Why an action does not move, and what would move it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// What stands still.
    pub trouble: Trouble,
    /// Since when.
    pub since: Timestamp,
    /// What was tried, and what the source of truth said, in order.
    pub tried: Vec<String>,
    /// What happens next by itself, and when.
    pub next: String,
    /// What a person can do.
    pub help: String,
}

/// Explains an action that has an unknown outcome, or that should have been called and was not;
/// none for any other. `events` is its history, as far as it is known.
pub fn explain(
    action: &Action,
    events: &[Event],
    paused: bool,
    elapsed: &Elapsed,
) -> Option<Explanation> {
    let now = elapsed.now();
    match &action.phase {
        Phase::Unknown { since, .. } => Some(Explanation {
            trouble: Trouble::Unknown,
            since: *since,
            tried: tried(action, events),
            next: next_of_unknown(action, paused, now),
            help: format!(
                "look at the target itself, then: holdpoint actions settle {} \
                 --happened|--did-not-happen --reason HOW-YOU-KNOW (an operator who neither asked \
                 for it nor approved it)",
                action.id
            ),
        }),
        Phase::Approved { run_at, .. } | Phase::Accepted { run_at }
            if run_at.plus_ms(OVERDUE_MS) <= now =>
        {
            Some(stuck(action, *run_at, paused, elapsed))
        }
        Phase::Staged
        | Phase::Approved { .. }
        | Phase::Accepted { .. }
        | Phase::Executing
        | Phase::Succeeded { .. }
        | Phase::Failed(_)
        | Phase::Rejected { .. }
        | Phase::Expired
        | Phase::Cancelled { .. }
        | Phase::Refused(_)
        | Phase::ReplanRequired { .. } => None,
    }
}

/// Explains an action whose approval asks for more people than may vote on it.
pub fn explain_short(action: &Action, missing: &[Shortage]) -> Explanation {
    let missing: Vec<_> = missing.iter().map(Shortage::to_string).collect();
    let end = action.deadline();
    Explanation {
        trouble: Trouble::Short,
        since: action.created_at,
        tried: Vec::new(),
        next: end.map_or_else(String::new, |end| {
            format!("nobody can approve it: it expires at {end}")
        }),
        help: missing.join(" "),
    }
}

fn stuck(action: &Action, since: Timestamp, paused: bool, elapsed: &Elapsed) -> Explanation {
    let id = action.id;
    let held = action.held_for(elapsed);
    let end = action.deadline().map_or_else(String::new, |deadline| {
        format!(" Without that it expires at {deadline}.")
    });
    let (next, help) = if paused {
        (
            format!("nothing is sent while the engine is paused.{end}"),
            "holdpoint resume, once the reason for the pause is gone".to_owned(),
        )
    } else if !held.is_zero() {
        (
            format!(
                "the machine's clock was set forward, or the server was started again, before its \
                 time was really over: it is held back for another {} s.{end}",
                held.as_secs() + 1
            ),
            format!("look at the clock of the machine; or holdpoint actions cancel {id}"),
        )
    } else if action.is_pulled() {
        (
            format!(
                "it waits for a worker that claims {}.{end}",
                action.proposal.tool
            ),
            format!(
                "start the worker of {}, with a key that has the scope work:{}; or holdpoint \
                 actions cancel {id}",
                action.proposal.tool, action.proposal.tool
            ),
        )
    } else {
        (
            format!("it waits for its turn: the tool is busy, or the store is full.{end}"),
            format!("look at the log of the server; or holdpoint actions cancel {id}"),
        )
    };
    Explanation {
        trouble: Trouble::Stuck,
        since,
        tried: Vec::new(),
        next,
        help,
    }
}

/// What was sent, what was asked, and what came of it.
pub(super) fn tried(action: &Action, events: &[Event]) -> Vec<String> {
    let mut lines: Vec<String> = action.attempts.iter().map(attempt).collect();
    if let Phase::Unknown { checks, .. } = &action.phase
        && 0 < *checks
    {
        lines.push(format!(
            "the source of truth was asked {checks} times{}",
            last_finding(events)
        ));
    }
    lines.extend(events.iter().filter_map(also_said));
    lines
}

/// What the attempts themselves do not tell.
fn also_said(event: &Event) -> Option<String> {
    if let Event::LateAnswer {
        attempt,
        http_status,
        evidence,
        at,
    } = event
    {
        return Some(format!(
            "an answer to attempt {attempt} came late, at {at}{}; it is kept as evidence: {}",
            status(*http_status),
            told(evidence)
        ));
    }
    if let Event::ResendDropped { message, at, .. } = event {
        return Some(format!("not sent again ({at}): {message}"));
    }
    if let Event::ResendFailed {
        http_status: Some(422),
        ..
    } = event
    {
        let alarm = "ALARM: the target knows the key with other bytes; its definition and the \
                     target do not agree on what the key stands for";
        return Some(alarm.to_owned());
    }
    None
}

/// What evidence says: a worker's outcome with its result or reason, or what a target answered.
fn told(evidence: &CanonicalJson) -> String {
    let value = evidence.value();
    let outcome = value.get("outcome").and_then(Value::as_str);
    let Some(outcome) = outcome else {
        return beginning(evidence.as_str());
    };
    let result = value.get("result").map(Value::to_string);
    let reason = value.get("reason").and_then(Value::as_str);
    let more = match (result, reason) {
        (Some(result), _) => format!(", with the result {}", beginning(&result)),
        (None, Some(reason)) => format!(", because: {}", beginning(reason)),
        (None, None) => String::new(),
    };
    format!("the worker says {}{more}", beginning(outcome))
}

/// The text, or as much of it as a line takes, with how much that is.
fn beginning(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(EVIDENCE_CHARS_MAX) else {
        return text.to_owned();
    };
    let (start, all) = (&text[..end], text.chars().count());
    format!("{start}… (the first {EVIDENCE_CHARS_MAX} of {all} characters)")
}

fn attempt(attempt: &Attempt) -> String {
    let what = if attempt.is_resend {
        "the same call again, with the same key"
    } else {
        "the call"
    };
    let result = match &attempt.result {
        None => "it is on its way",
        Some(AttemptResult::Done) => "it took effect",
        Some(AttemptResult::NotDone) => "it certainly had no effect of its own",
        Some(AttemptResult::Unknown) => "nobody knows whether it took effect",
    };
    let note = attempt.note.as_deref().unwrap_or_default();
    let separator = if note.is_empty() { "" } else { ": " };
    format!(
        "attempt {} at {}: {what}{}; {result}{separator}{note}",
        attempt.number,
        attempt.started_at,
        status(attempt.http_status)
    )
}

fn status(http_status: Option<u16>) -> String {
    http_status.map_or_else(String::new, |status| format!(", answered with {status}"))
}

fn last_finding(events: &[Event]) -> String {
    let last = events.iter().rev().find_map(|event| {
        if let Event::CheckInconclusive { message, at, .. } = event {
            Some(format!(", last at {at}: {message}"))
        } else {
            None
        }
    });
    last.unwrap_or_default()
}

fn next_of_unknown(action: &Action, paused: bool, now: Timestamp) -> String {
    let Phase::Unknown {
        quiet_at,
        next_check,
        next_resend,
        ..
    } = &action.phase
    else {
        return String::new();
    };
    let quiet = if now < *quiet_at {
        format!(
            " Until {quiet_at} a copy of the call may still take effect, so \"not found\" proves \
             nothing before."
        )
    } else {
        String::new()
    };
    match (next_check, next_resend) {
        (Some(check), _) => format!("the source of truth is asked again at {check}.{quiet}"),
        (None, Some(_)) if paused => {
            format!(
                "the same call would be sent again with the same key, but the engine is paused.{quiet}"
            )
        }
        (None, Some(resend)) => format!(
            "the same call is sent again with the same key at {resend}: the target keeps keys, so \
             that it happens once.{quiet}"
        ),
        (None, None) => {
            format!("nothing happens by itself any more: a person must settle it.{quiet}")
        }
    }
}
