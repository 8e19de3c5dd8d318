//! One log line per change of an action, and metrics. Never a payload; never an id as a label.

use std::time::Duration;

use metrics::{counter, histogram};

use crate::action::{Action, AttemptOutcome, Event, SafetyClass};

/// Tells of what has just become durable.
pub(crate) fn events(action: &Action, events: &[Event]) {
    let tool = &action.proposal.tool;
    let class = action.proposal.class.name();
    for event in events {
        let kind = event.kind();
        tracing::info!(
            action.id = %action.id,
            tool = %tool,
            status = action.status().name(),
            "{} of {tool}: {}",
            action.id,
            words(kind)
        );
        counter!("holdpoint_actions_total", "tool" => tool.clone(), "class" => class, "event" => kind)
            .increment(1);
        match event {
            Event::VoteRecorded { cast, .. } => {
                counter!("holdpoint_votes_total", "vote" => cast.vote.name()).increment(1);
            }
            Event::Approved { at, .. } | Event::Rejected { at, .. } | Event::Expired { at } => {
                let waited = at.since(action.created_at).as_secs_f64();
                histogram!("holdpoint_decision_seconds").record(waited);
            }
            Event::AttemptRefused {
                http_status: Some(422),
                ..
            } if action.alarmed_at().is_some() => {
                counter!("holdpoint_key_alarms_total", "tool" => tool.clone()).increment(1);
                tracing::error!(
                    action.id = %action.id,
                    tool = %tool,
                    "{} of {tool}: the target answered 422 to a call with a key; it may know the key \
                     with another request. Look at `holdpoint doctor`",
                    action.id
                );
            }
            Event::ResendFailed {
                http_status: Some(status @ 422),
                ..
            }
            | Event::AttemptUnknown {
                http_status: Some(status @ 409),
                ..
            } if action.attempts.last().is_some_and(|last| last.is_resend) => {
                counter!("holdpoint_resend_alarms_total", "status" => status.to_string())
                    .increment(1);
                tracing::error!(
                    action.id = %action.id,
                    tool = %tool,
                    "{} of {tool}: the target answered {status} to the same call sent again; it \
                     does not keep keys as its definition says. Look at `holdpoint doctor`",
                    action.id
                );
            }
            Event::ResendFailed { .. }
            | Event::Scheduled { .. }
            | Event::KeyKept { .. }
            | Event::Reminded { .. }
            | Event::ResendPlanned { .. }
            | Event::ResendRecorded { .. }
            | Event::ResendDropped { .. }
            | Event::Staged { .. }
            | Event::Accepted { .. }
            | Event::Refused { .. }
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
            | Event::SecretNamed { .. }
            | Event::LeaseKeyed { .. }
            | Event::AnswerKept { .. }
            | Event::Instigated { .. } => {}
        }
    }
}

/// Tells of a call that has ended.
pub(crate) fn execution(class: SafetyClass, outcome: &AttemptOutcome, took: Duration) {
    let outcome = match outcome {
        AttemptOutcome::Done { .. } => "done",
        AttemptOutcome::Refused { .. } => "refused",
        AttemptOutcome::VersionMoved { .. } => "version_moved",
        AttemptOutcome::NotDelivered { .. } => "not_delivered",
        AttemptOutcome::Unknown { .. } => "unknown",
    };
    counter!("holdpoint_executions_total", "class" => class.name(), "outcome" => outcome)
        .increment(1);
    histogram!("holdpoint_execution_seconds", "class" => class.name()).record(took.as_secs_f64());
}

fn words(kind: &str) -> String {
    kind.strip_prefix("action.")
        .unwrap_or(kind)
        .replace('_', " ")
}
