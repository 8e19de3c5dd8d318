//! The events about time, and about sending again.

use serde_json::json;

use super::{AT, LATER, are_read, json_of, snapshot};
use crate::action::{Event, Reminder, Resend, Window};
use crate::canon::Digest;

/// What was added later: time, and sending again.
fn samples_about_time() -> Vec<Event> {
    let message = "the answer was lost".to_owned();
    vec![
        Event::Scheduled {
            not_before: LATER,
            at: AT,
        },
        Event::KeyKept {
            kept_ms: 86_400_000,
            at: AT,
        },
        Event::Reminded {
            reminder: Reminder::NineTenths,
            deadline: LATER,
            at: AT,
        },
        Event::ResendPlanned {
            attempt: 1,
            resend_at: LATER,
            kept_until: LATER,
            because: Some(message.clone()),
            at: AT,
        },
        Event::ResendRecorded {
            resend: Resend {
                attempt: 2,
                first: 1,
                digest: Digest::of(b"action"),
                approved_by: vec!["per_alice".to_owned()],
                tool_digest: Digest::of(b"tool"),
                request_digest: Digest::of(b"request"),
                revalidated: Some(snapshot()),
                etag: Some("\"v1\"".to_owned()),
                idempotency_key: "refund:8812:r1".to_owned(),
                send_deadline: LATER,
                kept_until: LATER,
                window: Window::Closed,
            },
            at: AT,
        },
        Event::ResendFailed {
            attempt: 2,
            http_status: Some(422),
            answer: Some(json_of(&json!("no"))),
            message: message.clone(),
            at: AT,
        },
        Event::ResendDropped {
            attempt: 1,
            message,
            at: AT,
        },
    ]
}

#[test]
fn i26_the_events_about_time_are_still_read() {
    are_read("events-1-time.txt", &samples_about_time());
}
