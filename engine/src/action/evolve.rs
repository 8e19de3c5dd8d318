//! Applies one fact: the only place where an action changes, live and on replay.

mod again;
mod attempt;

use super::{
    Action, ActionId, Approval, Attempt, AttemptResult, Event, FailReason, Phase, Proposal,
    Rendered, Settlement, Snapshot, Status, doubt, legal_from,
};
use crate::canon::{CanonicalJson, Digest};
use crate::seeded::Bug;
use crate::time::Timestamp;

/// The event does not fit the state: the log is damaged, or from another program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} cannot happen to an action that is {}", status.map_or("not there", Status::name))]
pub struct IllegalEvent {
    /// The kind of the event.
    pub kind: &'static str,
    /// The status of the action; none where it is not there.
    pub status: Option<Status>,
}

/// Applies one event to the action with this id; `state` is none before its first event.
pub fn evolve(state: Option<Action>, id: ActionId, event: &Event) -> Result<Action, IllegalEvent> {
    let status = state.as_ref().map(Action::status);
    let illegal = IllegalEvent {
        kind: event.kind(),
        status,
    };
    match state {
        None => create(id, event).ok_or(illegal),
        Some(action) if status.is_some_and(|status| legal_from(event).contains(&status)) => {
            Ok(apply(action, event))
        }
        Some(_) => Err(illegal),
    }
}

/// The action that its first event makes; none for an event that is never the first.
fn create(id: ActionId, event: &Event) -> Option<Action> {
    match event {
        Event::Staged {
            proposal,
            snapshot,
            request,
            requirement,
            at,
        } => {
            let approval = Approval {
                requirement: requirement.clone(),
                votes: Vec::new(),
            };
            let mut action = blank(id, proposal, Phase::Staged, *at);
            action.snapshot.clone_from(snapshot);
            action.request = Some(request.clone());
            action.approval = Some(approval);
            Some(action)
        }
        Event::Accepted {
            proposal,
            snapshot,
            request,
            at,
        } => {
            let mut action = blank(id, proposal, Phase::Accepted { run_at: *at }, *at);
            action.snapshot.clone_from(snapshot);
            action.request = Some(request.clone());
            Some(action)
        }
        Event::Refused {
            proposal,
            refused,
            at,
        } => Some(blank(id, proposal, Phase::Refused(refused.clone()), *at)),
        Event::VoteRecorded { .. }
        | Event::Approved { .. }
        | Event::Rejected { .. }
        | Event::Expired { .. }
        | Event::Withdrawn { .. }
        | Event::Cancelled { .. }
        | Event::Deferred { .. }
        | Event::ReplanRequired { .. }
        | Event::Restaged { .. }
        | Event::CommitRecorded { .. }
        | Event::AttemptSucceeded { .. }
        | Event::AttemptRefused { .. }
        | Event::AttemptNotDelivered { .. }
        | Event::AttemptUnknown { .. }
        | Event::FoundDone { .. }
        | Event::FoundNotDone { .. }
        | Event::CheckInconclusive { .. }
        | Event::Settled { .. }
        | Event::LateAnswer { .. }
        | Event::LeaseGranted { .. }
        | Event::LeaseExtended { .. }
        | Event::WorkReported { .. }
        | Event::Scheduled { .. }
        | Event::KeyKept { .. }
        | Event::Reminded { .. }
        | Event::ResendPlanned { .. }
        | Event::ResendRecorded { .. }
        | Event::ResendFailed { .. }
        | Event::ResendDropped { .. }
        | Event::SecretNamed { .. }
        | Event::LeaseKeyed { .. }
        | Event::AnswerKept { .. }
        | Event::Instigated { .. } => None,
    }
}

fn blank(id: ActionId, proposal: &Proposal, phase: Phase, at: Timestamp) -> Action {
    Action {
        id,
        proposal: proposal.clone(),
        revision: 1,
        snapshot: None,
        request: None,
        approval: None,
        phase,
        attempts: Vec::new(),
        reads_failed: 0,
        tries_failed: 0,
        diff: Vec::new(),
        not_before: None,
        key_kept_ms: None,
        reminded: None,
        doubt: None,
        instigators: Vec::new(),
        withdrawn: Vec::new(),
        settled: None,
        created_at: at,
        updated_at: at,
    }
}

#[expect(
    clippy::too_many_lines,
    reason = "one arm for each event, read as a table"
)]
fn apply(mut action: Action, event: &Event) -> Action {
    action.updated_at = event.at();
    match event {
        // `legal_from` lets the first three through only where there is no action yet.
        // An answer that was kept is looked up in the log where it is needed.
        Event::Staged { .. }
        | Event::Accepted { .. }
        | Event::Refused { .. }
        | Event::AnswerKept { .. } => {}
        Event::LateAnswer {
            attempt, evidence, ..
        } => {
            if let Some(lease) = attempt::lease_of(&mut action, *attempt) {
                lease.late.push(Digest::of(evidence.as_str().as_bytes()));
            }
        }
        Event::LeaseGranted {
            worker,
            epoch,
            until,
            at,
            ..
        } => {
            attempt::grant(&mut action, worker.clone(), *epoch, *until, *at);
        }
        Event::LeaseKeyed { attempt, key, .. } => {
            if let Some(lease) = attempt::lease_of(&mut action, *attempt) {
                lease.key = Some(*key);
            }
        }
        Event::LeaseExtended {
            attempt, until, at, ..
        } => attempt::extend(&mut action, *attempt, *until, *at),
        Event::WorkReported {
            attempt, report, ..
        } => {
            if let Some(lease) = attempt::lease_of(&mut action, *attempt) {
                lease.reported = Some(*report);
            }
        }
        Event::VoteRecorded { cast, .. } => {
            if let Some(approval) = &mut action.approval {
                approval.votes.push(cast.clone());
                Bug::HashMapOrderInEvolve.shuffle(&mut approval.votes);
            }
        }
        Event::Approved { hold_until, .. } => {
            // Until it may be called at all, an approver may take the approval back.
            let until = action
                .not_before
                .map_or(*hold_until, |moment| moment.max(*hold_until));
            action.phase = Phase::Approved {
                run_at: until,
                hold_until: Some(until),
            };
        }
        Event::Rejected { by, reason, .. } => {
            action.phase = Phase::Rejected {
                by: by.clone(),
                reason: reason.clone(),
            };
        }
        Event::Expired { .. } => action.phase = Phase::Expired,
        Event::Withdrawn { by, .. } => {
            if let Some(approval) = &mut action.approval {
                approval.votes.retain(|cast| cast.voter.id != *by);
            }
            action.withdrawn.push(by.clone());
            action.phase = Phase::Staged;
        }
        Event::Cancelled { by, reason, .. } => {
            action.phase = Phase::Cancelled {
                by: by.clone(),
                reason: reason.clone(),
            };
        }
        Event::Deferred {
            message, retry_at, ..
        } => again::not_read(&mut action, message, *retry_at),
        Event::ReplanRequired { reason, diff, at } => {
            if action.phase == Phase::Executing {
                attempt::end(&mut action, AttemptResult::NotDone, Some(412), None, *at);
            }
            action.diff.clone_from(diff);
            action.phase = Phase::ReplanRequired {
                message: reason.message(),
            };
        }
        Event::Restaged {
            revision,
            snapshot,
            request,
            requirement,
            diff,
            ..
        } => {
            action.revision = *revision;
            action.withdrawn.clear();
            restage(&mut action, snapshot, request);
            action.approval = Some(Approval {
                requirement: requirement.clone(),
                votes: Vec::new(),
            });
            action.diff.clone_from(diff);
        }
        Event::CommitRecorded {
            attempt,
            request_digest,
            send_deadline,
            window,
            revalidated,
            at,
            ..
        } => {
            action.attempts.push(Attempt {
                number: *attempt,
                started_at: *at,
                send_deadline: *send_deadline,
                ended_at: None,
                result: None,
                http_status: None,
                note: None,
                window: *window,
                request_digest: *request_digest,
                lease: None,
                etag: revalidated.as_ref().and_then(|state| state.etag.clone()),
                is_resend: false,
                secret: None,
            });
            action.reads_failed = 0;
            action.phase = Phase::Executing;
        }
        Event::SecretNamed { secret, .. } => attempt::named(&mut action, secret),
        Event::AttemptSucceeded {
            http_status,
            result,
            at,
            ..
        } => {
            attempt::end(&mut action, AttemptResult::Done, *http_status, None, *at);
            action.doubt = None;
            action.phase = Phase::Succeeded {
                result: result.clone(),
            };
        }
        Event::AttemptRefused {
            http_status,
            answer,
            at,
            ..
        } => {
            attempt::end(&mut action, AttemptResult::NotDone, *http_status, None, *at);
            action.phase = Phase::Failed(attempt::refusal(&action, answer.clone()));
        }
        Event::AttemptNotDelivered {
            message,
            retry_at,
            at,
            ..
        } => {
            let note = Some(message);
            attempt::end(&mut action, AttemptResult::NotDone, None, note, *at);
            let failures = action.tries_failed;
            again::not_done(&mut action, message, *retry_at);
            if attempt::was_taken_back(&action) {
                // Nothing was tried.
                action.tries_failed = failures;
            }
        }
        Event::AttemptUnknown {
            http_status,
            message,
            quiet_at,
            next_check,
            at,
            ..
        } => {
            attempt::end(
                &mut action,
                AttemptResult::Unknown,
                *http_status,
                Some(message),
                *at,
            );
            doubt::enter(&mut action, *quiet_at, *next_check, *at);
        }
        Event::FoundDone { evidence, .. } => {
            doubt::resolve(&mut action, true);
            action.phase = Phase::Succeeded {
                result: evidence.clone(),
            };
        }
        Event::FoundNotDone { retry_at, .. } => {
            doubt::resolve(&mut action, false);
            let message = "the source of truth shows that it did not happen";
            again::not_done(&mut action, message, *retry_at);
        }
        Event::CheckInconclusive { next_check, .. } => doubt::asked(&mut action, *next_check),
        Event::Settled {
            by,
            happened,
            reason,
            at,
            ..
        } => {
            doubt::resolve(&mut action, *happened);
            action.settled = Some(Settlement {
                by: by.clone(),
                happened: *happened,
                at: *at,
            });
            action.phase = if *happened {
                let result = CanonicalJson::of(&serde_json::json!({ "settled": reason }));
                Phase::Succeeded { result }
            } else {
                let reason = reason.clone();
                Phase::Failed(FailReason::SettledAsNotDone { reason })
            };
        }
        Event::Scheduled { not_before, .. } => schedule(&mut action, *not_before),
        Event::Instigated { by, .. } => action.instigators.clone_from(by),
        Event::KeyKept { kept_ms, .. } => action.key_kept_ms = Some(*kept_ms),
        Event::Reminded { reminder, .. } => action.reminded = Some(*reminder),
        Event::ResendPlanned { resend_at, .. } => doubt::plan(&mut action, Some(*resend_at)),
        Event::ResendDropped { .. } => doubt::plan(&mut action, None),
        Event::ResendRecorded { resend, at } => doubt::resend(&mut action, resend, *at),
        Event::ResendFailed {
            http_status,
            message,
            at,
            ..
        } => {
            let note = Some(message);
            attempt::end(&mut action, AttemptResult::NotDone, *http_status, note, *at);
            doubt::back(&mut action, *at);
        }
    }
    action
}

fn schedule(action: &mut Action, not_before: Timestamp) {
    action.not_before = Some(not_before);
    if let Phase::Accepted { run_at } = &mut action.phase {
        *run_at = not_before.max(*run_at);
    }
}

fn restage(action: &mut Action, snapshot: &Snapshot, request: &Rendered) {
    action.snapshot = Some(snapshot.clone());
    action.request = Some(request.clone());
    action.reads_failed = 0;
    action.tries_failed = 0;
    action.phase = Phase::Staged;
}
