//! Answers a command with the events it causes.

mod attempt;
mod commit;
mod people;
mod remind;
mod resend;
mod work;

use super::{Action, Command, Event, Phase, Refusal, SafetyClass, Status};
use crate::time::Timestamp;

/// Answers a command with the events it causes, or says why it is refused.
///
/// `state` is the action as it is, or none where nothing under this id was ever recorded. No events
/// means that the wish is already fulfilled: a repeat of what was answered before. Every event that
/// is answered is one that [`super::evolve`] accepts, in order.
pub fn decide(state: Option<&Action>, command: Command) -> Result<Vec<Event>, Refusal> {
    match (state, command) {
        (
            None,
            Command::Submit {
                proposal,
                snapshot,
                request,
                requirement,
                arranged,
                at,
            },
        ) => {
            // What needs approval must have a requirement, and nothing else may: anything else is a
            // fault of this program that could let a call pass without its approval.
            assert_eq!(
                requirement.is_some(),
                proposal.class == SafetyClass::ApprovalBound
            );
            let deadline = requirement.as_ref().map(|asked| asked.deadline);
            assert!(
                arranged
                    .not_before
                    .is_none_or(|moment| deadline.is_none_or(|deadline| moment < deadline)),
                "it could never run"
            );
            let mut events = vec![match requirement {
                Some(requirement) => Event::Staged {
                    proposal,
                    snapshot,
                    request,
                    requirement,
                    at,
                },
                None => Event::Accepted {
                    proposal,
                    snapshot,
                    request,
                    at,
                },
            }];
            events.extend(
                arranged
                    .not_before
                    .map(|not_before| Event::Scheduled { not_before, at }),
            );
            events.extend(
                arranged
                    .key_kept_ms
                    .map(|kept_ms| Event::KeyKept { kept_ms, at }),
            );
            let by = arranged.instigators;
            events.extend((!by.is_empty()).then_some(Event::Instigated { by, at }));
            Ok(events)
        }
        (
            None,
            Command::Refuse {
                proposal,
                refused,
                at,
            },
        ) => Ok(vec![Event::Refused {
            proposal,
            refused,
            at,
        }]),
        (Some(_), Command::Submit { .. } | Command::Refuse { .. }) => Err(Refusal::Exists),
        (
            None,
            Command::Vote { .. }
            | Command::Withdraw { .. }
            | Command::Cancel { .. }
            | Command::Instigate { .. }
            | Command::ReachDeadline { .. }
            | Command::Remind { .. }
            | Command::Defer { .. }
            | Command::Commit { .. }
            | Command::Claim { .. }
            | Command::Heartbeat { .. }
            | Command::Report { .. }
            | Command::ReachLeaseEnd { .. }
            | Command::LoseAttempt { .. }
            | Command::Resend { .. }
            | Command::DropResend { .. }
            | Command::Record { .. }
            | Command::Check { .. }
            | Command::Settle { .. },
        ) => Err(Refusal::Missing),
        (Some(action), command) => decide_existing(action, command),
    }
}

fn decide_existing(action: &Action, command: Command) -> Result<Vec<Event>, Refusal> {
    match command {
        Command::Submit { .. } | Command::Refuse { .. } => Err(Refusal::Exists),
        Command::Vote {
            voter,
            vote,
            reason,
            revision,
            digest,
            snapshot_digest,
            at,
        } => {
            let ballot = people::Ballot {
                voter,
                vote,
                reason,
                revision,
                digest,
                snapshot_digest,
            };
            people::vote(action, ballot, at)
        }
        Command::Withdraw {
            by,
            reason,
            elapsed,
            at,
        } => people::withdraw(action, by, reason, &elapsed, at),
        Command::Cancel { by, reason, at } => people::cancel(action, by, reason, at),
        Command::Instigate {
            by,
            may_have_approved,
            at,
        } => people::instigate(action, by, may_have_approved, at),
        Command::Settle {
            by,
            happened,
            reason,
            at,
        } => people::settle(action, by, happened, reason, at),
        Command::ReachDeadline { at } => Ok(expiry(action, at).into_iter().collect()),
        Command::Remind { at } => Ok(remind::remind(action, at).into_iter().collect()),
        Command::Defer { message, at } if action.status() == Status::Unknown => {
            resend::put_off(action, message, at)
        }
        Command::Defer { message, at } => commit::defer(action, message, at),
        Command::Commit {
            revalidation,
            elapsed,
            at,
        } => commit::commit(action, revalidation, None, &elapsed, at),
        Command::Claim {
            revalidation,
            worker,
            lease_ms,
            key,
            elapsed,
            at,
        } => {
            let lease = commit::LeaseWish {
                worker,
                lease_ms,
                key,
            };
            commit::commit(action, revalidation, Some(lease), &elapsed, at)
        }
        Command::Heartbeat {
            holder,
            lease_ms,
            at,
        } => work::heartbeat(action, &holder, lease_ms, at),
        Command::Report { holder, report, at } => work::report(action, &holder, report, at),
        Command::ReachLeaseEnd { at } => Ok(work::lease_end(action, at).into_iter().collect()),
        Command::LoseAttempt { at } => Ok(attempt::lost_in_copy(action, at).into_iter().collect()),
        Command::Resend { revalidation, at } => resend::resend(action, revalidation, at),
        Command::DropResend { message, at } => resend::drop(action, message, at),
        Command::Record {
            attempt,
            outcome,
            answer,
            at,
        } => attempt::record(action, attempt, (outcome, answer), at),
        Command::Check {
            attempt,
            finding,
            asked_at,
            at,
        } => attempt::check(action, attempt, finding, asked_at, at),
    }
}

/// The expiry of an action that still waits although its deadline has passed. Whoever comes first
/// after the deadline, a person or the timer, finds the action expired (invariant I9).
fn expiry(action: &Action, at: Timestamp) -> Option<Event> {
    let waits = match &action.phase {
        Phase::Staged | Phase::Approved { .. } => true,
        Phase::Accepted { .. }
        | Phase::Executing
        | Phase::Unknown { .. }
        | Phase::Succeeded { .. }
        | Phase::Failed(_)
        | Phase::Rejected { .. }
        | Phase::Expired
        | Phase::Cancelled { .. }
        | Phase::Refused(_)
        | Phase::ReplanRequired { .. } => false,
    };
    let passed = action.deadline().is_some_and(|deadline| deadline <= at);
    (waits && passed).then_some(Event::Expired { at })
}

/// How long to wait after `failures` failures in a row: the shortest wait, doubled each time.
fn backoff(action: &Action, failures: u32) -> u64 {
    let terms = &action.proposal.terms;
    doubled(terms.backoff_min_ms, terms.backoff_max_ms, failures)
}

/// The shortest wait, doubled with each failure after the first, up to the longest.
fn doubled(min_ms: u64, max_ms: u64, failures: u32) -> u64 {
    let factor = 2_u64.saturating_pow(failures.saturating_sub(1));
    min_ms.saturating_mul(factor).min(max_ms)
}

/// When to try again after one more call that certainly had no effect; none where that was the last
/// try that the tool allows. Reads of the state that failed before it do not count.
fn next_try(action: &Action, at: Timestamp) -> Option<Timestamp> {
    let failures = action.tries_failed.saturating_add(1);
    (failures < action.proposal.terms.attempts_max).then(|| at.plus_ms(backoff(action, failures)))
}
