//! The right to send one attempt.

use crate::action::{Action, Event, Lease, Rendered, SecretVersion, Snapshot};
use crate::store::Committed;
use crate::time::Timestamp;

/// Proof that the commit record of an attempt is durable (invariant I1). Made from what only a
/// durable append answers, and used up by sending.
pub(crate) struct CommitPermit {
    action: Action,
    request: Rendered,
    attempt: u32,
    is_resend: bool,
    send_deadline: Timestamp,
    revalidated: Option<Snapshot>,
}

impl CommitPermit {
    /// The permit, where a commit record is what was appended.
    pub(crate) fn of(committed: Committed) -> Option<Self> {
        let (attempt, is_resend, request_digest, send_deadline, revalidated) =
            committed.events().iter().find_map(|event| match event {
                Event::CommitRecorded {
                    attempt,
                    request_digest,
                    send_deadline,
                    revalidated,
                    ..
                } => {
                    let state = revalidated.clone();
                    Some((*attempt, false, *request_digest, *send_deadline, state))
                }
                Event::ResendRecorded { resend, .. } => Some((
                    resend.attempt,
                    true,
                    resend.request_digest,
                    resend.send_deadline,
                    resend.revalidated.clone(),
                )),
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
            is_resend,
            send_deadline,
            revalidated,
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

    /// Whether the same call is sent once more, while nobody knows what became of it.
    pub(crate) fn is_resend(&self) -> bool {
        self.is_resend
    }

    pub(crate) fn send_deadline(&self) -> Timestamp {
        self.send_deadline
    }

    /// The version of the state that travels along: the one that was read right before, or that of
    /// the first send where the same call is sent again.
    pub(crate) fn etag(&self) -> Option<&str> {
        self.action.attempts.last()?.etag.as_deref()
    }

    /// The version of the secret that it is to be sent with, as the commit record names it.
    pub(crate) fn secret(&self) -> Option<&SecretVersion> {
        self.action.attempts.last()?.secret.as_ref()
    }

    /// The lease of the worker that is to make the call; none where the engine makes it.
    pub(crate) fn lease(&self) -> Option<&Lease> {
        self.action.attempts.last()?.lease.as_ref()
    }

    /// The action, with the state as it was read right before: all that a worker is given.
    pub(crate) fn into_parts(self) -> (Action, Option<Snapshot>) {
        (self.action, self.revalidated)
    }
}
