//! Events of what a worker pulls, as JSON.

use serde_json::{Value, json};

use crate::action::Event;

pub(super) fn worked(event: &Event) -> Value {
    match event {
        Event::LeaseGranted {
            attempt,
            worker,
            epoch,
            until,
            at,
        } => json!({
            "attempt": attempt, "worker": { "id": worker.id, "name": worker.name },
            "epoch": epoch, "until": until.rfc3339(), "at": at.rfc3339(),
        }),
        Event::LeaseExtended {
            attempt,
            epoch,
            until,
            at,
        } => json!({
            "attempt": attempt, "epoch": epoch, "until": until.rfc3339(), "at": at.rfc3339(),
        }),
        Event::LeaseKeyed { attempt, key, at } => json!({
            "attempt": attempt, "key_digest": key.key.to_string(),
            "fingerprint": key.fingerprint.to_string(), "at": at.rfc3339(),
        }),
        Event::WorkReported {
            attempt,
            epoch,
            report,
            at,
        } => json!({
            "attempt": attempt, "epoch": epoch, "report": report.to_string(),
            "at": at.rfc3339(),
        }),
        other => unreachable!("{} is not of a worker", other.kind()),
    }
}
