//! The right to send one attempt.

use crate::action::{Action, Event, Rendered};
use crate::store::Committed;
use crate::time::Timestamp;

/// Proof that the commit record of an attempt is durable (invariant I1). Made from what only a
/// durable append answers, and used up by sending.
pub(crate) struct CommitPermit {
    action: Action,
    request: Rendered,
    attempt: u32,
    send_deadline: Timestamp,
    etag: Option<String>,
}

impl CommitPermit {
    /// The permit, where a commit record is what was appended.
    pub(crate) fn of(committed: Committed) -> Option<Self> {
        let (attempt, request_digest, send_deadline, etag) =
            committed.events().iter().find_map(|event| match event {
                Event::CommitRecorded {
                    attempt,
                    request_digest,
                    send_deadline,
                    revalidated,
                    ..
                } => {
                    let etag = revalidated.as_ref().and_then(|state| state.etag.clone());
                    Some((*attempt, *request_digest, *send_deadline, etag))
                }
                _ => None, // Whatever else happened permits nothing.
            })?;
        let action = committed.into_view().action;
        let request = action.request.clone()?;
        assert!(
            request.digest == request_digest,
            "what is sent is what the commit record names"
        );
        Some(Self {
            action,
            request,
            attempt,
            send_deadline,
            etag,
        })
    }

    pub(crate) fn action(&self) -> &Action {
        &self.action
    }

    pub(crate) fn request(&self) -> &Rendered {
        &self.request
    }

    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }

    pub(crate) fn send_deadline(&self) -> Timestamp {
        self.send_deadline
    }

    /// The version of the state that was read right before.
    pub(crate) fn etag(&self) -> Option<&str> {
        self.etag.as_deref()
    }
}
