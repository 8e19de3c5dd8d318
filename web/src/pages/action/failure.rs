//! Why an action failed, beside its status.

use holdpoint_engine::action::{Action, Event, FailReason};
use holdpoint_engine::canon::CanonicalJson;
use holdpoint_engine::engine::HistoryEntry;

use crate::pages::view::Names;

/// The most characters of an answer that stand beside the status.
const ANSWER_CHARS_MAX: usize = 200;

/// Why it failed: the last cause, the answer in short, or whose word it is.
pub(super) fn failure(
    action: &Action,
    reason: &FailReason,
    history: &[HistoryEntry],
    names: &Names,
) -> String {
    let last = action.attempts.last();
    match reason {
        FailReason::NeverDelivered { message } => format!("Why: {message}"),
        FailReason::TargetRefused { answer } => {
            let status = last.and_then(|last| last.http_status);
            let status = status.map_or_else(String::new, |status| format!(" with {status}"));
            format!("The target refused it{status}: {}", in_short(answer))
        }
        FailReason::WorkerFailed { answer } => {
            let lease = last.and_then(|last| last.lease.as_ref());
            let name = lease.map_or("", |lease| lease.worker.name.as_str());
            format!(
                "The worker {name} is certain that nothing happened: {}",
                in_short(answer)
            )
        }
        FailReason::SettledAsNotDone { reason } => {
            let by = history.iter().rev().find_map(|entry| match &entry.event {
                Some(Event::Settled { by, .. }) => Some(names.short(by)),
                Some(_) | None => None,
            });
            let who = by.unwrap_or_else(|| "A person".to_owned());
            format!("{who} settled it, and said: {reason}")
        }
    }
}

/// The beginning of an answer; all of it stands with the result.
fn in_short(answer: &CanonicalJson) -> String {
    let value = answer.value();
    let text = value.as_str().unwrap_or(answer.as_str());
    match text.char_indices().nth(ANSWER_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
