//! What a worker that has an attempt may say, and what its silence means (invariant I12).
//!
//! A lease belongs to one attempt and one worker. It ends by the first report, or at its end by the
//! clock: whoever comes first after that, the timer or the worker, finds the attempt unknown. It is
//! never free again by itself, since nobody knows what the worker did.

use super::attempt;
use crate::action::command::{AttemptOutcome, Holder};
use crate::action::{Action, Attempt, Event, Lease, Phase, Refusal, WorkReport};
use crate::canon::{CanonicalJson, Digest};
use crate::limits::{
    HEARTBEAT_EVERY_MS_MIN, LATE_ANSWERS_MAX, LEASE_EXTENSIONS_MAX, LEASE_TOTAL_MS_MAX,
};
use crate::seeded::Bug;
use crate::time::Timestamp;

/// Makes a lease longer. No event where it is long enough, was extended a moment ago, or has reached
/// its bound: the answer is then the lease as it is.
pub(super) fn heartbeat(
    action: &Action,
    holder: &Holder,
    lease_ms: u64,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    let (held, lease) = held(action, holder)?;
    if !names_epoch(lease, holder) {
        return Err(Refusal::WrongEpoch);
    }
    if !is_live(action, held, lease, at) {
        return ended_or_lost(action, None, at);
    }
    let bound = held.started_at.plus_ms(LEASE_TOTAL_MS_MAX);
    let until = at.plus_ms(lease_ms).min(bound);
    let is_soon = at < lease.extended_at.plus_ms(HEARTBEAT_EVERY_MS_MIN);
    if until <= lease.until || is_soon || LEASE_EXTENSIONS_MAX <= lease.extensions {
        return Ok(Vec::new());
    }
    Ok(vec![Event::LeaseExtended {
        attempt: held.number,
        epoch: lease.epoch,
        until,
        at,
    }])
}

/// Takes what the worker says. The same report again is answered as the first one was; one that
/// comes after the end of the lease, after another report, or names another epoch than its own, is
/// kept as evidence and changes nothing (invariant I11).
pub(super) fn report(
    action: &Action,
    holder: &Holder,
    report: WorkReport,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    let (held, lease) = held(action, holder)?;
    let attempt = held.number;
    let evidence = report
        .evidence
        .and_then(|evidence| kept(attempt, lease, evidence, at));
    let or_else = |refusal| evidence.clone().map(|kept| vec![kept]).ok_or(refusal);
    if !names_epoch(lease, holder) {
        return or_else(Refusal::WrongEpoch);
    }
    match lease.reported {
        Some(first) if first == report.digest => return Ok(Vec::new()),
        Some(_) => return or_else(Refusal::AlreadyReported),
        None => {}
    }
    if !is_live(action, held, lease, at) {
        return ended_or_lost(action, evidence, at);
    }
    let unsettled = evidence.filter(|_| report.tells_more);
    let reported = Event::WorkReported {
        attempt,
        epoch: lease.epoch,
        report: report.digest,
        at,
    };
    let ended = attempt::ended(action, held, report.outcome, at);
    Ok([reported, ended].into_iter().chain(unsettled).collect())
}

/// The end of a lease that has run out.
pub(super) fn lease_end(action: &Action, at: Timestamp) -> Option<Event> {
    let last = action.attempts.last()?;
    let lease = last.lease.as_ref()?;
    if action.phase != Phase::Executing || at < lease.until {
        return None;
    }
    let outcome = AttemptOutcome::Unknown {
        http_status: None,
        message: format!(
            "the lease of {} ran out before it said what became of the call",
            lease.worker.name
        ),
    };
    Some(attempt::ended(action, last, outcome, at))
}

/// What follows from a word that does not count: the end of the lease where nobody noticed it
/// before, the word itself as evidence, or else only the refusal.
fn ended_or_lost(
    action: &Action,
    evidence: Option<Event>,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    let events: Vec<Event> = lease_end(action, at).into_iter().chain(evidence).collect();
    if events.is_empty() {
        return Err(Refusal::LeaseLost {
            status: action.status(),
        });
    }
    Ok(events)
}

/// The attempt and the lease that the worker speaks of; refuses whoever never had it.
fn held<'a>(action: &'a Action, holder: &Holder) -> Result<(&'a Attempt, &'a Lease), Refusal> {
    let place = holder
        .attempt
        .checked_sub(1)
        .and_then(|place| usize::try_from(place).ok());
    let attempt = place.and_then(|place| action.attempts.get(place));
    let Some((attempt, lease)) = attempt.and_then(|held| Some((held, held.lease.as_ref()?))) else {
        return Err(Refusal::OutOfPlace {
            status: action.status(),
        });
    };
    if lease.worker.id != holder.worker {
        return Err(Refusal::NotHolder);
    }
    Ok((attempt, lease))
}

/// Whether the worker speaks of the lease that it was given.
fn names_epoch(lease: &Lease, holder: &Holder) -> bool {
    lease.epoch == holder.epoch || Bug::StaleLeaseAccepted.is_on()
}

/// Whether what the worker says now counts.
fn is_live(action: &Action, held: &Attempt, lease: &Lease, at: Timestamp) -> bool {
    let is_last = action.attempts.last().map(|last| last.number) == Some(held.number);
    let is_in_time = at < lease.until || Bug::StaleLeaseAccepted.is_on();
    action.phase == Phase::Executing && is_last && lease.reported.is_none() && is_in_time
}

/// An answer as evidence, once, and not without end.
fn kept(attempt: u32, lease: &Lease, evidence: CanonicalJson, at: Timestamp) -> Option<Event> {
    let digest = Digest::of(evidence.as_str().as_bytes());
    let is_new = !lease.late.contains(&digest) && lease.late.len() < LATE_ANSWERS_MAX;
    is_new.then_some(Event::LateAnswer {
        attempt,
        http_status: None,
        evidence,
        at,
    })
}
