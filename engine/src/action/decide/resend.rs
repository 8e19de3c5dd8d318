//! Sending the same call again, to a target that keeps keys (`docs/adr/0008-resends.md`).
//!
//! * Only while the outcome is unknown, and only after the source of truth, where there is one,
//!   could not tell.
//! * The time that the target keeps the key counts from the first send. Whatever of a resend could
//!   still take effect must do so before it ends.
//! * The world must still be the one that was approved, as for any commit record (invariant I3).
//! * Success ends the doubt. A refusal says nothing about the first send (incident 18).

use super::{attempt, backoff, commit};
use crate::action::command::{AttemptOutcome, Revalidation};
use crate::action::{Action, Attempt, Event, Phase, Refusal, Resend};
use crate::canon::CanonicalJson;
use crate::limits::RESENDS_MAX;
use crate::seeded::Bug;
use crate::time::Timestamp;

/// The plan to send again; none where that is not possible (any more), so that a person is asked.
pub(super) fn plan(
    action: &Action,
    attempt: u32,
    because: Option<String>,
    at: Timestamp,
) -> Option<Event> {
    let (resends, plans) = action
        .doubt
        .as_ref()
        .map_or((0, 0), |doubt| (doubt.resends, doubt.plans));
    if RESENDS_MAX <= resends {
        return None;
    }
    let resend_at = at.plus_ms(backoff(action, plans.saturating_add(1)));
    let kept_until = fits(action, resend_at).ok()?;
    Some(Event::ResendPlanned {
        attempt,
        resend_at,
        kept_until,
        because,
        at,
    })
}

/// Until when the target keeps the key, where a call that leaves at `at` ends before; else why not.
fn fits(action: &Action, at: Timestamp) -> Result<Timestamp, &'static str> {
    if action.is_pulled() {
        return Err("a worker makes the call");
    }
    let kept_ms = action
        .key_kept_ms
        .ok_or("it is not known that the target keeps keys")?;
    let first = if Bug::KeyretentionFromLastSend.is_on() {
        action.attempts.last()
    } else {
        action.attempts.first()
    };
    let first = first.ok_or("nothing was sent that could be sent again")?;
    let kept_until = first.started_at.plus_ms(kept_ms);
    let terms = &action.proposal.terms;
    // Later, a copy that waited somewhere would meet a target that has forgotten the key.
    let over = at
        .plus_ms(terms.timeout_ms)
        .plus_ms(terms.request_lifetime_ms);
    if kept_until < over {
        return Err("the target may have forgotten the key before it arrives");
    }
    // It would be the approval that takes effect, and that has an end (invariant I9).
    if action.deadline().is_some_and(|deadline| deadline <= at) {
        return Err("the approval has ended");
    }
    Ok(kept_until)
}

/// When the resend is due; refuses where none is planned.
fn due(action: &Action) -> Result<Timestamp, Refusal> {
    match (&action.phase, action.attempts.last()) {
        (
            Phase::Unknown {
                next_resend: Some(due),
                ..
            },
            Some(_),
        ) => Ok(*due),
        (
            Phase::Unknown { .. }
            | Phase::Staged
            | Phase::Approved { .. }
            | Phase::Accepted { .. }
            | Phase::Executing
            | Phase::Succeeded { .. }
            | Phase::Failed(_)
            | Phase::Rejected { .. }
            | Phase::Expired
            | Phase::Cancelled { .. }
            | Phase::Refused(_)
            | Phase::ReplanRequired { .. },
            _,
        ) => Err(Refusal::OutOfPlace {
            status: action.status(),
        }),
    }
}

fn last(action: &Action) -> u32 {
    action.attempts.last().map_or(0, |attempt| attempt.number)
}

/// The state could not be read before the resend: later, while that is possible.
pub(super) fn put_off(
    action: &Action,
    message: String,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    due(action)?;
    let planned = plan(action, last(action), Some(message.clone()), at);
    Ok(vec![planned.unwrap_or(Event::ResendDropped {
        attempt: last(action),
        message,
        at,
    })])
}

/// It is not sent again; a person is asked.
pub(super) fn drop(action: &Action, message: String, at: Timestamp) -> Result<Vec<Event>, Refusal> {
    due(action)?;
    Ok(vec![Event::ResendDropped {
        attempt: last(action),
        message,
        at,
    }])
}

/// The commit record of the resend, or what stands against it.
pub(super) fn resend(
    action: &Action,
    found: Revalidation,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    let run_at = due(action)?;
    if at < run_at {
        return Err(Refusal::NotDue { run_at });
    }
    let dropped = |message: String| {
        Ok(vec![Event::ResendDropped {
            attempt: last(action),
            message,
            at,
        }])
    };
    let kept_until = match fits(action, at) {
        Ok(kept_until) => kept_until,
        Err(why) => return dropped(why.to_owned()),
    };
    if let Some(reason) = commit::mismatch(action, &found) {
        // It may be our own first send that moved it, so nothing can be concluded.
        return dropped(format!("it is not sent again: {}", reason.message()));
    }
    let in_doubt = action.attempts.last();
    let (Some(in_doubt), Some(first), Some(request), Some(tool_digest)) = (
        in_doubt,
        action.attempts.first(),
        found.request,
        found.tool_digest,
    ) else {
        return dropped("the request can no longer be made".to_owned());
    };
    if request.digest != in_doubt.request_digest {
        return dropped("the request would no longer be the one that was sent".to_owned());
    }
    let proposal = &action.proposal;
    let resend = Resend {
        attempt: in_doubt.number.saturating_add(1),
        first: first.number,
        digest: proposal.digest,
        approved_by: action.approval.as_ref().map_or_else(Vec::new, |approval| {
            let votes = approval.votes.iter();
            votes.map(|cast| cast.voter.id.clone()).collect()
        }),
        tool_digest,
        request_digest: request.digest,
        revalidated: found.snapshot,
        etag: in_doubt.etag.clone(),
        idempotency_key: proposal.idempotency_key.clone(),
        send_deadline: at.plus_ms(proposal.terms.timeout_ms),
        kept_until,
        window: found.window,
    };
    let attempt = resend.attempt;
    let named = found.secret.map(|secret| Event::SecretNamed {
        attempt,
        secret,
        at,
    });
    let recorded = Event::ResendRecorded { resend, at };
    Ok(std::iter::once(recorded).chain(named).collect())
}

/// What the end of a resend says about the first send.
pub(super) fn ended(
    action: &Action,
    last: &Attempt,
    outcome: AttemptOutcome,
    at: Timestamp,
) -> Vec<Event> {
    let attempt = last.number;
    match outcome {
        outcome @ (AttemptOutcome::Done { .. } | AttemptOutcome::Unknown { .. }) => {
            attempt::and_plan(action, attempt::ended(action, last, outcome, at), at)
        }
        AttemptOutcome::NotDelivered { message } => {
            failed(action, attempt, None, None, message, at)
        }
        AttemptOutcome::VersionMoved { answer } => refused(action, attempt, Some(412), answer, at),
        AttemptOutcome::Refused {
            http_status,
            answer,
        } => refused(action, attempt, http_status, answer, at),
    }
}

fn refused(
    action: &Action,
    attempt: u32,
    http_status: Option<u16>,
    answer: CanonicalJson,
    at: Timestamp,
) -> Vec<Event> {
    let status = http_status.map_or_else(String::new, |status| format!(" with {status}"));
    let message = format!(
        "the target refused the second send{status}, which says nothing about the first one"
    );
    failed(action, attempt, http_status, Some(answer), message, at)
}

fn failed(
    action: &Action,
    attempt: u32,
    http_status: Option<u16>,
    answer: Option<CanonicalJson>,
    message: String,
    at: Timestamp,
) -> Vec<Event> {
    // The target knows the key with other bytes: no number of sends would tell more.
    let planned = match http_status {
        Some(422) => None,
        Some(_) | None => plan(action, attempt, None, at),
    };
    let event = Event::ResendFailed {
        attempt,
        http_status,
        answer,
        message,
        at,
    };
    std::iter::once(event).chain(planned).collect()
}
