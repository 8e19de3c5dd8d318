//! How an attempt ended, and what the source of truth says of it.

use super::{backoff, doubled, next_try, resend};
use crate::action::command::{AttemptOutcome, Finding};
use crate::action::{
    Action, AnswerBody, Attempt, AttemptResult, Event, Phase, Refusal, ReplanReason, SafetyClass,
};
use crate::canon::CanonicalJson;
use crate::limits::{
    CHECK_WAIT_MS_MAX, CHECK_WAIT_MS_MIN, INCONCLUSIVE_CHECKS_MAX, LEASE_MS_MAX,
    LEASE_TOTAL_MS_MAX, TAKEN_BACK_MAX,
};
use crate::seeded::Bug;
use crate::time::Timestamp;

/// Records how an attempt ended. An answer to an attempt that is already recorded is kept as
/// evidence and changes nothing (invariant I11).
pub(super) fn record(
    action: &Action,
    attempt: u32,
    (outcome, answer): (AttemptOutcome, Option<AnswerBody>),
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    let Some(last) = action
        .attempts
        .last()
        .filter(|last| attempt <= last.number && 0 < attempt)
    else {
        return Err(Refusal::OutOfPlace {
            status: action.status(),
        });
    };
    if last.lease.is_some() {
        // Only whoever holds the lease says how it ended (invariant I12).
        return Err(Refusal::OutOfPlace {
            status: action.status(),
        });
    }
    let is_late = action.phase != Phase::Executing || attempt != last.number;
    if is_late && !Bug::ResultAfterFinal.is_on() {
        return Ok(late(attempt, outcome, at).into_iter().collect());
    }
    let kept = answer.map(|body| Event::AnswerKept { attempt, body, at });
    let ends = if last.is_resend {
        resend::ended(action, last, outcome, at)
    } else {
        and_plan(action, ended(action, last, outcome, at), at)
    };
    Ok(kept.into_iter().chain(ends).collect())
}

/// The end of an attempt, and what follows it: where nobody can be asked, the same call may be sent
/// again to a target that keeps keys.
pub(super) fn and_plan(action: &Action, event: Event, at: Timestamp) -> Vec<Event> {
    let planned = if let Event::AttemptUnknown {
        attempt,
        next_check: None,
        ..
    } = &event
    {
        resend::plan(action, *attempt, None, at)
    } else {
        None
    };
    std::iter::once(event).chain(planned).collect()
}

/// The attempt that was on its way when a copy of the log was made; nobody will report on it here. A worker
/// may hold a lease of it that the other log has made longer: as long as a heartbeat of this moment could.
pub(super) fn lost_in_copy(action: &Action, at: Timestamp) -> Option<Event> {
    let last = action.attempts.last()?;
    if action.phase != Phase::Executing {
        return None;
    }
    let outcome = AttemptOutcome::Unknown {
        http_status: None,
        message: "the log was restored from a copy that was made before the result was recorded"
            .to_owned(),
    };
    let longest = last.started_at.plus_ms(LEASE_TOTAL_MS_MAX);
    let held_until = match last.lease {
        Some(_) => at.plus_ms(LEASE_MS_MAX).min(longest),
        None => last.send_deadline,
    };
    let held = Attempt {
        send_deadline: last.send_deadline.max(held_until),
        ..last.clone()
    };
    Some(ended(action, &held, outcome, at))
}

/// What the end of the attempt on its way means for the action.
pub(super) fn ended(
    action: &Action,
    last: &Attempt,
    outcome: AttemptOutcome,
    at: Timestamp,
) -> Event {
    let (terms, attempt) = (&action.proposal.terms, last.number);
    match outcome {
        AttemptOutcome::Done {
            http_status,
            result,
        } => Event::AttemptSucceeded {
            attempt,
            http_status,
            result,
            at,
        },
        AttemptOutcome::Refused {
            http_status,
            answer,
        } => Event::AttemptRefused {
            attempt,
            http_status,
            answer,
            at,
        },
        // Certainly not done. A tool that stages again reads the state anew, and then knows
        // whether what the approver saw has moved.
        AttemptOutcome::VersionMoved { .. } if terms.restage && next_try(action, at).is_some() => {
            Event::AttemptNotDelivered {
                attempt,
                message: "the target refused the version that was sent (412)".to_owned(),
                retry_at: Some(at),
                at,
            }
        }
        AttemptOutcome::VersionMoved { .. } => Event::ReplanRequired {
            reason: ReplanReason::VersionMoved,
            diff: Vec::new(),
            at,
        },
        AttemptOutcome::NotDelivered { message } => Event::AttemptNotDelivered {
            attempt,
            message,
            retry_at: if last.lease.is_some() {
                taken_back(action, at)
            } else {
                next_try(action, at)
            },
            at,
        },
        AttemptOutcome::Unknown {
            http_status,
            message,
        } => Event::AttemptUnknown {
            attempt,
            http_status,
            message,
            quiet_at: last
                .send_deadline
                .plus_ms(if Bug::HalfQuietTime.is_on() {
                    terms.request_lifetime_ms / 2
                } else {
                    terms.request_lifetime_ms
                })
                .plus_ms(terms.settle_ms),
            next_check: terms.can_check.then(|| at.plus_ms(terms.settle_ms)),
            at,
        },
    }
}

/// When another worker may have what was taken back from one that never had it: at once, and later
/// each time that it happens again. Nothing was tried, so that it uses up no try of the tool; none
/// where it happened too often in a row (invariant I27).
fn taken_back(action: &Action, at: Timestamp) -> Option<Timestamp> {
    let before = action.attempts.iter().rev().skip(1);
    let before = before
        .take_while(|one| one.lease.is_some() && one.result == Some(AttemptResult::NotDone))
        .count();
    let before = u32::try_from(before).unwrap_or(u32::MAX);
    let wait_ms = match before {
        0 => 0,
        failures => backoff(action, failures),
    };
    (before < TAKEN_BACK_MAX).then(|| at.plus_ms(wait_ms))
}

/// A late answer that says something, as evidence.
fn late(attempt: u32, outcome: AttemptOutcome, at: Timestamp) -> Option<Event> {
    let (http_status, evidence) = match outcome {
        AttemptOutcome::Done {
            http_status,
            result,
        } => (http_status, result),
        AttemptOutcome::Refused {
            http_status,
            answer,
        } => (http_status, answer),
        AttemptOutcome::VersionMoved { answer } => (Some(412), answer),
        AttemptOutcome::NotDelivered { .. } | AttemptOutcome::Unknown { .. } => return None,
    };
    Some(Event::LateAnswer {
        attempt,
        http_status,
        evidence,
        at,
    })
}

/// Draws the conclusion from what the source of truth said; never more than it proves (I10).
pub(super) fn check(
    action: &Action,
    attempt: u32,
    finding: Finding,
    asked_at: Timestamp,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    let last = action.attempts.last().map(|last| last.number);
    let (
        Phase::Unknown {
            quiet_at, checks, ..
        },
        true,
    ) = (&action.phase, last == Some(attempt))
    else {
        return Err(Refusal::OutOfPlace {
            status: action.status(),
        });
    };
    let wait = doubled(
        CHECK_WAIT_MS_MIN,
        CHECK_WAIT_MS_MAX,
        checks.saturating_add(1),
    );
    let again = at.plus_ms(wait);
    let event = match finding {
        Finding::Happened { evidence } => Event::FoundDone {
            attempt,
            evidence,
            at,
        },
        Finding::NotFound { evidence } if *quiet_at <= asked_at || Bug::NoQuietTime.is_on() => {
            found_not_done(action, attempt, evidence, at)
        }
        Finding::NotFound { .. } => Event::CheckInconclusive {
            attempt,
            message: "not found, but the request may still take effect".to_owned(),
            // Early looks can only find good news; the one that counts is at quiet time, which is
            // later than its number says where the clock was set forward.
            next_check: Some(if at < *quiet_at {
                again.min(*quiet_at)
            } else {
                again
            }),
            at,
        },
        Finding::Inconclusive { message } => {
            let give_up = *quiet_at <= at && INCONCLUSIVE_CHECKS_MAX <= checks.saturating_add(1);
            let event = Event::CheckInconclusive {
                attempt,
                message,
                next_check: (!give_up).then_some(again),
                at,
            };
            let planned = if give_up {
                resend::plan(action, attempt, None, at)
            } else {
                None
            };
            return Ok(std::iter::once(event).chain(planned).collect());
        }
    };
    Ok(vec![event])
}

fn found_not_done(action: &Action, attempt: u32, evidence: CanonicalJson, at: Timestamp) -> Event {
    let retry_at = match action.proposal.class {
        SafetyClass::WriteOnceCheckable | SafetyClass::ApprovalBound => next_try(action, at),
        // Never sent again by the machine.
        SafetyClass::Irreversible | SafetyClass::Idempotent => None,
    };
    Event::FoundNotDone {
        attempt,
        evidence,
        retry_at,
        at,
    }
}
