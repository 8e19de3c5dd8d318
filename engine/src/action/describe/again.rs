//! Events about what holds besides a proposal, and about sending again, as JSON.

use serde_json::{Value, json};

use crate::action::{Event, Resend};
use crate::time::Timestamp;

pub(super) fn arranged(event: &Event) -> Value {
    match event {
        Event::Scheduled { not_before, at } => {
            json!({ "not_before": not_before.rfc3339(), "at": at.rfc3339() })
        }
        Event::Instigated { by, at } => json!({
            "by": by.iter().map(|by| json!({ "id": by.id, "name": by.name })).collect::<Vec<_>>(),
            "at": at.rfc3339(),
        }),
        Event::KeyKept { kept_ms, at } => json!({ "kept_ms": kept_ms, "at": at.rfc3339() }),
        Event::Reminded {
            reminder,
            deadline,
            at,
        } => json!({
            "reminder": reminder.name(), "deadline": deadline.rfc3339(), "at": at.rfc3339(),
        }),
        other => unreachable!("{} arranges nothing", other.kind()),
    }
}

pub(super) fn sent_again(event: &Event) -> Value {
    match event {
        Event::ResendPlanned {
            attempt,
            resend_at,
            kept_until,
            because,
            at,
        } => json!({
            "attempt": attempt, "resend_at": resend_at.rfc3339(),
            "kept_until": kept_until.rfc3339(), "because": because, "at": at.rfc3339(),
        }),
        Event::ResendRecorded { resend, at } => resent(resend, *at),
        Event::ResendFailed {
            attempt,
            http_status,
            answer,
            message,
            at,
        } => json!({
            "attempt": attempt, "http_status": http_status,
            "answer": answer.as_ref().map(crate::canon::CanonicalJson::value),
            "message": message, "at": at.rfc3339(),
        }),
        Event::ResendDropped {
            attempt,
            message,
            at,
        } => json!({ "attempt": attempt, "message": message, "at": at.rfc3339() }),
        other => unreachable!("{} sends nothing again", other.kind()),
    }
}

fn resent(resend: &Resend, at: Timestamp) -> Value {
    json!({
        "attempt": resend.attempt, "first": resend.first, "digest": resend.digest.to_string(),
        "approved_by": resend.approved_by, "tool_digest": resend.tool_digest.to_string(),
        "request_digest": resend.request_digest.to_string(),
        "revalidated": resend.revalidated.as_ref().map(super::snapshot),
        "idempotency_key": resend.idempotency_key, "send_deadline": resend.send_deadline.rfc3339(),
        "kept_until": resend.kept_until.rfc3339(), "window": resend.window.name(),
        "at": at.rfc3339(),
    })
}
