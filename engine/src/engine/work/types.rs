//! What workers ask for, are given, and may be told.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde_json::Value;

use crate::action::{Action, ActionId, Refusal, Snapshot};
use crate::engine::RequestKey;
use crate::store::CommitError;
use crate::target::CommitPermit;
use crate::time::Timestamp;

/// One attempt that a worker has: `act_….1`, the action and the number of the attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WorkId {
    /// The action.
    pub action: ActionId,
    /// Counts from 1.
    pub attempt: u32,
}

impl fmt::Display for WorkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.action, self.attempt)
    }
}

/// The text is not the id of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of an attempt is written as the id of its action, a full stop and its number")]
pub struct WorkIdFormatError;

impl FromStr for WorkId {
    type Err = WorkIdFormatError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (action, number) = text.split_once('.').ok_or(WorkIdFormatError)?;
        let action = action.parse().map_err(|_| WorkIdFormatError)?;
        let attempt: u32 = number.parse().map_err(|_| WorkIdFormatError)?;
        let id = Self { action, attempt };
        // One text for each attempt.
        (0 < attempt && id.to_string() == text)
            .then_some(id)
            .ok_or(WorkIdFormatError)
    }
}

/// What a worker asks for.
#[derive(Clone, Debug)]
pub struct ClaimWish {
    /// The tools it can carry out, 1 to [`CLAIM_TOOLS_MAX`](crate::limits::CLAIM_TOOLS_MAX).
    pub tools: Vec<String>,
    /// How long to wait where there is nothing now; at most [`CLAIM_WAIT_MAX`](crate::limits::CLAIM_WAIT_MAX), longer is cut.
    pub wait: Duration,
    /// How long it may take before it says anything; none for the time limit of the tool.
    pub lease: Option<Duration>,
    /// The `Idempotency-Key` of the request, with the digest of the whole request.
    pub request_key: Option<RequestKey>,
}

/// What a worker is given. Made only from a durable commit record (invariant I1).
#[derive(Clone, Debug)]
pub struct Assignment {
    /// Which attempt.
    pub id: WorkId,
    /// To be sent along with everything that the worker says of it.
    pub epoch: u64,
    /// From then on nothing that it says counts.
    pub lease_until: Timestamp,
    /// The action; its arguments are the call.
    pub action: Box<Action>,
    /// The state as it was read right before, where the tool has a state query.
    pub state: Option<Snapshot>,
}

/// What a worker says at the end.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkOutcome {
    /// It took effect; the result, which must fit the tool's result schema.
    Succeeded(Value),
    /// It is certain that nothing happened, and nothing will; why.
    Failed(String),
    /// It may or may not have happened; why that is not known.
    Unknown(String),
}

/// Why a worker is refused.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// There is no such attempt, or not for this principal.
    #[error("there is no such work")]
    NotFound,
    /// The credential does not allow it.
    #[error("{0}")]
    Forbidden(String),
    /// No such tool in the registry.
    #[error("there is no tool named {tool}")]
    UnknownTool {
        /// The name that was asked for.
        tool: String,
        /// The nearest name that exists.
        suggestion: Option<String>,
    },
    /// Something is out of bounds.
    #[error("{0}")]
    Invalid(String),
    /// The same claim is being answered at this moment.
    #[error("a claim with this Idempotency-Key is still being answered")]
    InProgress,
    /// The key was used for another claim, and the worker still has what that one was given.
    #[error(
        "this Idempotency-Key was used for another claim, which was given {first}; use a new key"
    )]
    KeyReused {
        /// What it has.
        first: WorkId,
    },
    /// Too many wait for work already.
    #[error("too many claims wait; try again later")]
    Overloaded,
    /// Another worker has it.
    #[error("another worker holds this attempt")]
    NotHolder,
    /// The lease ended, or was never this one. What was said is evidence at most.
    #[error("the lease has ended; what was said does not count any more")]
    LeaseLost,
    /// The epoch is not that of the lease. What was said is evidence at most.
    #[error(
        "this is not the epoch of the lease; use the one that came with the claim. What was said does \
         not count"
    )]
    WrongEpoch,
    /// The worker has said something else before.
    #[error("this attempt was reported before, with another outcome")]
    AlreadyReported,
    /// The store cannot take it now. Nothing was acknowledged.
    #[error("the store cannot take it now")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Assignment {
    pub(super) fn of(permit: CommitPermit) -> Option<Self> {
        let attempt = permit.attempt();
        let lease = permit.lease()?;
        let (epoch, lease_until) = (lease.epoch, lease.until);
        let (action, state) = permit.into_parts();
        Some(Self {
            id: WorkId {
                action: action.id,
                attempt,
            },
            epoch,
            lease_until,
            action: Box::new(action),
            state,
        })
    }
}

impl From<CommitError> for WorkError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Refused(Refusal::NotHolder) => Self::NotHolder,
            CommitError::Refused(Refusal::LeaseLost { .. }) => Self::LeaseLost,
            CommitError::Refused(Refusal::WrongEpoch) => Self::WrongEpoch,
            CommitError::Refused(Refusal::AlreadyReported) => Self::AlreadyReported,
            CommitError::Refused(Refusal::OutOfPlace { .. } | Refusal::Missing)
            | CommitError::Missing => Self::NotFound,
            CommitError::TooLarge(message) => Self::Invalid(message),
            CommitError::Full(source) | CommitError::Unavailable(source) => {
                Self::Unavailable(source)
            }
            error @ (CommitError::Refused(_)
            | CommitError::Conflict
            | CommitError::ClaimTaken { .. }) => Self::Unavailable(Box::new(error)),
        }
    }
}
