//! What becomes of the attempts of an action, and of the leases that workers have of them.

use crate::action::{Action, AttemptResult, FailReason, Lease, SecretVersion, Worker};
use crate::canon::CanonicalJson;
use crate::time::Timestamp;

/// The attempt that was just committed belongs to a worker.
pub(super) fn grant(
    action: &mut Action,
    worker: Worker,
    epoch: u64,
    until: Timestamp,
    at: Timestamp,
) {
    if let Some(attempt) = action.attempts.last_mut() {
        attempt.lease = Some(Lease {
            worker,
            epoch,
            until,
            extended_at: at,
            extensions: 0,
            reported: None,
            late: Vec::new(),
            key: None,
        });
    }
}

/// The attempt that was just committed is sent with this version of its secret.
pub(super) fn named(action: &mut Action, secret: &SecretVersion) {
    if let Some(attempt) = action.attempts.last_mut() {
        attempt.secret = Some(secret.clone());
    }
}

/// The lease of one attempt, where a worker had it.
pub(super) fn lease_of(action: &mut Action, attempt: u32) -> Option<&mut Lease> {
    let place = usize::try_from(attempt.checked_sub(1)?).ok()?;
    action.attempts.get_mut(place)?.lease.as_mut()
}

/// A longer lease. Quiet time is counted from the longest one.
pub(super) fn extend(action: &mut Action, attempt: u32, until: Timestamp, at: Timestamp) {
    if let Some(lease) = lease_of(action, attempt) {
        lease.until = until;
        lease.extended_at = at;
        lease.extensions = lease.extensions.saturating_add(1);
    }
    if let Some(last) = action.attempts.last_mut() {
        last.send_deadline = last.send_deadline.max(until);
    }
}

/// Whether the last attempt was taken back from a worker that never had it: no worker says of a call
/// that it was not delivered.
pub(super) fn was_taken_back(action: &Action) -> bool {
    let last = action.attempts.last();
    last.is_some_and(|last| last.lease.is_some())
}

/// Whose certain refusal it was.
pub(super) fn refusal(action: &Action, answer: CanonicalJson) -> FailReason {
    match action.attempts.last() {
        Some(last) if last.lease.is_some() => FailReason::WorkerFailed { answer },
        Some(_) | None => FailReason::TargetRefused { answer },
    }
}

/// Writes down how the attempt on its way ended.
pub(super) fn end(
    action: &mut Action,
    result: AttemptResult,
    http_status: Option<u16>,
    note: Option<&String>,
    at: Timestamp,
) {
    if let Some(attempt) = action.attempts.last_mut() {
        attempt.ended_at = Some(at);
        attempt.result = Some(result);
        attempt.http_status = http_status;
        attempt.note = note.cloned();
    }
}
