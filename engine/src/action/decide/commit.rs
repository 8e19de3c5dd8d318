//! The last decision before a call leaves (invariants I1 and I3).

use super::{backoff, expiry};
use crate::action::command::Revalidation;
use crate::action::{
    Action, ClaimKey, Difference, Event, Refusal, ReplanReason, SafetyClass, Snapshot, Status,
    Worker,
};
use crate::approval::{self, Requirement, Tally};
use crate::time::{Elapsed, Timestamp};

/// Records that the state could not be read, so that nothing was sent.
pub(super) fn defer(
    action: &Action,
    message: String,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    let run_at = waiting(action)?;
    if let Some(expired) = expiry(action, at) {
        return Ok(vec![expired]);
    }
    // Else the next try could come before the end of the hold window.
    if at < run_at {
        return Err(Refusal::NotDue { run_at });
    }
    // An approval ends by its deadline, so reading goes on until then. Without one, the number of
    // reads in a row is bounded as that of tries is (invariant I27), and uses up none of them.
    let failures = action.reads_failed.saturating_add(1);
    let goes_on = action.deadline().is_some() || failures < action.proposal.terms.attempts_max;
    let retry_at = goes_on.then(|| at.plus_ms(backoff(action, failures)));
    Ok(vec![Event::Deferred {
        message,
        retry_at,
        at,
    }])
}

/// Who is to have the attempt, and for how long, in milliseconds.
pub(super) struct LeaseWish {
    pub(super) worker: Worker,
    pub(super) lease_ms: u64,
    pub(super) key: Option<ClaimKey>,
}

/// Records the commit, or what stands against it. What a worker pulls is committed for a worker
/// only, with its lease in the same append (invariant I12), and anything else never.
pub(super) fn commit(
    action: &Action,
    found: Revalidation,
    lease: Option<LeaseWish>,
    elapsed: &Elapsed,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    let run_at = waiting(action)?.max(at.plus(action.held_for(elapsed)));
    if let Some(expired) = expiry(action, at) {
        return Ok(vec![expired]);
    }
    if at < run_at {
        return Err(Refusal::NotDue { run_at });
    }
    let proposal = &action.proposal;
    let diff = differences(action.snapshot.as_ref(), found.snapshot.as_ref());
    if let Some(reason) = mismatch(action, &found) {
        return Ok(vec![moved(action, found, reason, diff, at)]);
    }
    let (Some(request), Some(tool_digest)) = (found.request, found.tool_digest) else {
        return Ok(vec![Event::ReplanRequired {
            reason: ReplanReason::RequestChanged,
            diff,
            at,
        }]);
    };
    if lease.is_some() != action.is_pulled() {
        return Err(Refusal::OutOfPlace {
            status: action.status(),
        });
    }
    let attempt = u32::try_from(action.attempts.len())
        .unwrap_or(u32::MAX)
        .saturating_add(1);
    let send_ms = lease
        .as_ref()
        .map_or(proposal.terms.timeout_ms, |lease| lease.lease_ms);
    let until = at.plus_ms(send_ms);
    let mut events = vec![Event::CommitRecorded {
        attempt,
        digest: proposal.digest,
        approved_by: approvers(action),
        tool_digest,
        request_digest: request.digest,
        revalidated: found.snapshot,
        idempotency_key: proposal.idempotency_key.clone(),
        send_deadline: until,
        window: found.window,
        at,
    }];
    events.extend(found.secret.map(|secret| Event::SecretNamed {
        attempt,
        secret,
        at,
    }));
    if let Some(LeaseWish { worker, key, .. }) = lease {
        events.push(Event::LeaseGranted {
            attempt,
            worker,
            epoch: next_epoch(action, at),
            until,
            at,
        });
        events.extend(key.map(|key| Event::LeaseKeyed { attempt, key, at }));
    }
    Ok(events)
}

/// Larger than every epoch before, and not one that a log which was set back would give again.
fn next_epoch(action: &Action, at: Timestamp) -> u64 {
    let before = action
        .attempts
        .iter()
        .filter_map(|attempt| attempt.lease.as_ref())
        .map(|lease| lease.epoch)
        .max()
        .unwrap_or(0);
    u64::try_from(at.0)
        .unwrap_or(0)
        .max(before.saturating_add(1))
}

/// When an action that waits for its call may be called; refuses any other.
fn waiting(action: &Action) -> Result<Timestamp, Refusal> {
    action.run_at().ok_or_else(|| Refusal::OutOfPlace {
        status: action.status(),
    })
}

/// The people whose votes the commit rests on. That they suffice is checked once more here.
fn approvers(action: &Action) -> Vec<String> {
    let Some(approval) = &action.approval else {
        assert_ne!(action.proposal.class, SafetyClass::ApprovalBound);
        return Vec::new();
    };
    assert_eq!(action.status(), Status::Approved);
    assert_eq!(
        approval::tally(&approval.requirement, &approval.votes),
        Tally::Approved
    );
    approval
        .votes
        .iter()
        .map(|cast| cast.voter.id.clone())
        .collect()
}

/// What stands against sending, if anything: the first reason in the order below.
pub(super) fn mismatch(action: &Action, found: &Revalidation) -> Option<ReplanReason> {
    let proposal = &action.proposal;
    if found.tool_digest != Some(proposal.tool_digest) {
        return Some(ReplanReason::ToolChanged);
    }
    if proposal.class.revalidates() {
        if let Some(message) = &found.failed_precondition {
            return Some(ReplanReason::PreconditionFailed(message.clone()));
        }
        let approved = action.snapshot.as_ref().map(|snapshot| snapshot.digest);
        let now = found.snapshot.as_ref().map(|snapshot| snapshot.digest);
        let may_move = found.by_conditions && approved.is_some() && now.is_some();
        if approved != now && !may_move {
            return Some(ReplanReason::StateMoved);
        }
    }
    let shown = action.request.as_ref().map(|request| request.digest);
    let sent = found.request.as_ref().map(|request| request.digest);
    if shown != sent || sent.is_none() {
        return Some(ReplanReason::RequestChanged);
    }
    // Rules may look at more of the state than is watched, and conditions let it move.
    let (Some(approval), Some(now)) = (&action.approval, &found.requirement) else {
        return None;
    };
    (approval::tally(now, &approval.votes) != Tally::Approved)
        .then_some(ReplanReason::ApprovalOutgrown)
}

/// The world moved: the end of this action, or a new revision where the tool asks for that.
fn moved(
    action: &Action,
    found: Revalidation,
    reason: ReplanReason,
    diff: Vec<Difference>,
    at: Timestamp,
) -> Event {
    let by_state = match &reason {
        ReplanReason::StateMoved
        | ReplanReason::RequestChanged
        | ReplanReason::ApprovalOutgrown => true,
        // New votes cannot help a call that its own tool forbids, or a tool that is another one.
        ReplanReason::PreconditionFailed(_)
        | ReplanReason::ToolChanged
        | ReplanReason::VersionMoved => false,
    };
    let restage = by_state && action.proposal.terms.restage;
    match (
        found.snapshot,
        found.request,
        found.requirement,
        action.deadline(),
    ) {
        (Some(snapshot), Some(request), Some(requirement), Some(deadline)) if restage => {
            Event::Restaged {
                revision: action.revision.saturating_add(1),
                snapshot,
                request,
                // The deadline is absolute: staging again does not lengthen it.
                requirement: Requirement {
                    deadline,
                    ..requirement
                },
                diff,
                at,
            }
        }
        (_, _, _, _) => Event::ReplanRequired { reason, diff, at },
    }
}

/// Field by field, what differs between two snapshots.
fn differences(approved: Option<&Snapshot>, now: Option<&Snapshot>) -> Vec<Difference> {
    let (Some(approved), Some(now)) = (approved, now) else {
        return Vec::new();
    };
    let paths: std::collections::BTreeSet<_> =
        approved.watched.keys().chain(now.watched.keys()).collect();
    paths
        .into_iter()
        .filter(|path| approved.watched.get(*path) != now.watched.get(*path))
        .map(|path| Difference {
            path: path.clone(),
            approved: approved.watched.get(path).cloned(),
            now: now.watched.get(path).cloned(),
        })
        .collect()
}
