//! Which event may happen to an action of which status.

use super::{Event, Status};

/// The statuses in which an event may happen; empty for the events that create an action.
pub fn legal_from(event: &Event) -> &'static [Status] {
    use Status::{
        Accepted, Approved, Cancelled, Executing, Expired, Failed, Refused, Rejected,
        ReplanRequired, Staged, Succeeded, Unknown,
    };
    match event {
        Event::Staged { .. } | Event::Accepted { .. } | Event::Refused { .. } => &[],
        Event::VoteRecorded { .. }
        | Event::Approved { .. }
        | Event::Rejected { .. }
        | Event::Reminded { .. } => &[Staged],
        Event::Expired { .. } | Event::Withdrawn { .. } => &[Staged, Approved],
        Event::Cancelled { .. } => &[Staged, Approved, Accepted],
        Event::Scheduled { .. } | Event::KeyKept { .. } => &[Staged, Accepted],
        Event::Instigated { .. } => &[Staged, Approved, Accepted, Executing, Unknown],
        Event::Deferred { .. } | Event::CommitRecorded { .. } => &[Approved, Accepted],
        Event::ReplanRequired { .. } => &[Approved, Accepted, Executing],
        Event::Restaged { .. } => &[Approved],
        Event::AttemptSucceeded { .. }
        | Event::AttemptRefused { .. }
        | Event::AttemptNotDelivered { .. }
        | Event::AttemptUnknown { .. }
        | Event::LeaseGranted { .. }
        | Event::LeaseExtended { .. }
        | Event::WorkReported { .. }
        | Event::SecretNamed { .. }
        | Event::LeaseKeyed { .. }
        | Event::AnswerKept { .. }
        | Event::ResendFailed { .. } => &[Executing],
        Event::FoundDone { .. }
        | Event::FoundNotDone { .. }
        | Event::CheckInconclusive { .. }
        | Event::Settled { .. }
        | Event::ResendPlanned { .. }
        | Event::ResendRecorded { .. }
        | Event::ResendDropped { .. } => &[Unknown],
        Event::LateAnswer { .. } => &[
            Staged,
            Approved,
            Accepted,
            Executing,
            Unknown,
            Succeeded,
            Failed,
            Rejected,
            Expired,
            Cancelled,
            Refused,
            ReplanRequired,
        ],
    }
}
