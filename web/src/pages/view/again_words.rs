//! Events about time, and about sending again, in words.

use holdpoint_engine::action::Event;

use super::Names;
use super::event_words::{Words, window_words};

/// The events about time, and about sending again.
pub(super) fn timely(event: &Event, names: &Names) -> Words {
    match event {
        Event::Scheduled { not_before, .. } => Words::say(format!(
            "Scheduled: not called before {}",
            not_before.rfc3339()
        ))
        .fact("not before", &not_before.rfc3339()),
        Event::KeyKept { kept_ms, .. } => {
            Words::say("The target keeps the key, counted from the first send")
                .fact("kept for", &format!("{} s", kept_ms / 1000))
        }
        Event::Reminded {
            reminder, deadline, ..
        } => Words::say(format!("Reminder: {}", reminder.words()))
            .fact("deadline", &deadline.rfc3339()),
        Event::ResendPlanned {
            attempt,
            resend_at,
            kept_until,
            because,
            ..
        } => Words::say(format!(
            "Attempt {attempt} stays in doubt; the same call is sent again with the same key at {}",
            resend_at.rfc3339()
        ))
        .fact("the target keeps the key until", &kept_until.rfc3339())
        .quoting(because.as_deref()),
        Event::ResendRecorded { resend, .. } => resend
            .approved_by
            .iter()
            .fold(
                Words::say(format!(
                    "Revalidated and committed: attempt {}, the same call with the same key, may \
                     be sent",
                    resend.attempt
                )),
                |words, id| words.fact("approved by", &names.of(id)),
            )
            .fact("idempotency key", &resend.idempotency_key)
            .fact("not sent after", &resend.send_deadline.rfc3339())
            .fact(
                "the target keeps the key until",
                &resend.kept_until.rfc3339(),
            )
            .fact("window", window_words(resend.window))
            .digest("request", Some(&resend.request_digest)),
        Event::ResendFailed {
            attempt,
            http_status,
            answer,
            message,
            ..
        } => {
            let words = Words::say(format!(
                "Attempt {attempt} had no effect of its own; the first send stays in doubt"
            ))
            .status(*http_status)
            .quoting(Some(message));
            match answer {
                Some(answer) => words.json("answer", answer),
                None => words,
            }
        }
        Event::ResendDropped {
            attempt, message, ..
        } => Words::say(format!(
            "Attempt {attempt} stays in doubt and is not sent again; a person must settle it"
        ))
        .quoting(Some(message)),
        other => unreachable!("{} has words of its own", other.kind()),
    }
}
