//! What every event has: a name and a moment.

use super::Event;
use crate::time::Timestamp;

impl Event {
    /// Its name in the log and on the wire; never changes once released.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Staged { .. } => "action.staged",
            Self::Accepted { .. } => "action.accepted",
            Self::Refused { .. } => "action.refused",
            Self::VoteRecorded { .. } => "action.vote_recorded",
            Self::Approved { .. } => "action.approved",
            Self::Rejected { .. } => "action.rejected",
            Self::Expired { .. } => "action.expired",
            Self::Withdrawn { .. } => "action.withdrawn",
            Self::Cancelled { .. } => "action.cancelled",
            Self::Deferred { .. } => "action.deferred",
            Self::ReplanRequired { .. } => "action.replan_required",
            Self::Restaged { .. } => "action.restaged",
            Self::CommitRecorded { .. } => "action.commit_recorded",
            Self::AttemptSucceeded { .. } => "action.attempt_succeeded",
            Self::AttemptRefused { .. } => "action.attempt_refused",
            Self::AttemptNotDelivered { .. } => "action.attempt_not_delivered",
            Self::AttemptUnknown { .. } => "action.attempt_unknown",
            Self::FoundDone { .. } => "action.found_done",
            Self::FoundNotDone { .. } => "action.found_not_done",
            Self::CheckInconclusive { .. } => "action.check_inconclusive",
            Self::Settled { .. } => "action.settled",
            Self::LateAnswer { .. } => "action.late_answer",
            Self::LeaseGranted { .. } => "action.lease_granted",
            Self::LeaseExtended { .. } => "action.lease_extended",
            Self::WorkReported { .. } => "action.work_reported",
            Self::Scheduled { .. } => "action.scheduled",
            Self::KeyKept { .. } => "action.key_kept",
            Self::Reminded { .. } => "action.reminded",
            Self::ResendPlanned { .. } => "action.resend_planned",
            Self::ResendRecorded { .. } => "action.resend_recorded",
            Self::ResendFailed { .. } => "action.resend_failed",
            Self::ResendDropped { .. } => "action.resend_dropped",
            Self::SecretNamed { .. } => "action.secret_named",
            Self::LeaseKeyed { .. } => "action.lease_keyed",
            Self::AnswerKept { .. } => "action.answer_kept",
            Self::Instigated { .. } => "action.instigated",
        }
    }

    /// When it happened.
    pub fn at(&self) -> Timestamp {
        match self {
            Self::VoteRecorded { cast, .. } => cast.at,
            Self::Staged { at, .. }
            | Self::Accepted { at, .. }
            | Self::Refused { at, .. }
            | Self::Approved { at, .. }
            | Self::Rejected { at, .. }
            | Self::Expired { at }
            | Self::Withdrawn { at, .. }
            | Self::Cancelled { at, .. }
            | Self::Deferred { at, .. }
            | Self::ReplanRequired { at, .. }
            | Self::Restaged { at, .. }
            | Self::CommitRecorded { at, .. }
            | Self::AttemptSucceeded { at, .. }
            | Self::AttemptRefused { at, .. }
            | Self::AttemptNotDelivered { at, .. }
            | Self::AttemptUnknown { at, .. }
            | Self::FoundDone { at, .. }
            | Self::FoundNotDone { at, .. }
            | Self::CheckInconclusive { at, .. }
            | Self::Settled { at, .. }
            | Self::LateAnswer { at, .. }
            | Self::LeaseGranted { at, .. }
            | Self::LeaseExtended { at, .. }
            | Self::WorkReported { at, .. }
            | Self::Scheduled { at, .. }
            | Self::KeyKept { at, .. }
            | Self::Reminded { at, .. }
            | Self::ResendPlanned { at, .. }
            | Self::ResendRecorded { at, .. }
            | Self::ResendFailed { at, .. }
            | Self::ResendDropped { at, .. }
            | Self::SecretNamed { at, .. }
            | Self::LeaseKeyed { at, .. }
            | Self::AnswerKept { at, .. }
            | Self::Instigated { at, .. } => *at,
        }
    }
}
