//! What people and callers do to an action that is there.

use super::{ActError, Ballot, Engine, Versioned, may_see};
use crate::action::{Action, ActionId, Command, Refusal};
use crate::identity::{Principal, Role};
use crate::store::CommitError;
use crate::time::Timestamp;

/// The longest reason, in characters: it is read by people.
pub(super) const REASON_CHARS_MAX: usize = 2000;

impl Engine {
    /// Votes on what a page showed. The one function that records a vote.
    ///
    /// The same vote again is answered as the first one was.
    pub async fn vote(
        &self,
        by: &Principal,
        id: ActionId,
        ballot: Ballot,
    ) -> Result<Versioned, ActError> {
        check_reason(ballot.reason.as_deref())?;
        self.visible(by, id)?;
        self.act(by, id, |at| Command::Vote {
            voter: by.voter(),
            vote: ballot.vote,
            reason: said(ballot.reason.clone()),
            revision: ballot.revision,
            digest: ballot.digest,
            snapshot_digest: ballot.snapshot_digest,
            at,
        })
        .await
    }

    /// Takes the own approval back in the hold window.
    pub async fn withdraw(
        &self,
        by: &Principal,
        id: ActionId,
        reason: Option<String>,
    ) -> Result<Versioned, ActError> {
        check_reason(reason.as_deref())?;
        self.visible(by, id)?;
        self.act(by, id, |at| Command::Withdraw {
            by: by.id.clone(),
            reason: said(reason.clone()),
            elapsed: self.inner.store.time.elapsed(),
            at,
        })
        .await
    }

    /// Until when at least an approver may take the approval of an action back; none where that is over.
    pub fn held_until(&self, action: &Action) -> Option<Timestamp> {
        action.withdrawable_until(&self.inner.store.time.elapsed())
    }

    /// Takes an action back before anything is sent: its caller, the owner of the calling key, or
    /// an administrator.
    pub async fn cancel(
        &self,
        by: &Principal,
        id: ActionId,
        reason: Option<String>,
    ) -> Result<Versioned, ActError> {
        check_reason(reason.as_deref())?;
        let view = self.visible(by, id)?;
        let caller = &view.action.proposal.caller;
        let is_own = caller.id == by.id || caller.owner.as_ref() == Some(&by.id);
        if !is_own && !by.has(Role::Admin) {
            return Err(ActError::Forbidden(
                "only whoever asked for an action, or an administrator, can cancel it".to_owned(),
            ));
        }
        self.act(by, id, |at| Command::Cancel {
            by: by.id.clone(),
            reason: said(reason.clone()),
            at,
        })
        .await
    }

    /// Settles an outcome that nobody knows; needs the role of operator.
    pub async fn settle(
        &self,
        by: &Principal,
        id: ActionId,
        happened: bool,
        reason: String,
    ) -> Result<Versioned, ActError> {
        check_reason(Some(&reason))?;
        self.visible(by, id)?;
        if !by.has(Role::Operator) {
            return Err(ActError::Forbidden(
                "only an operator can settle an unknown outcome".to_owned(),
            ));
        }
        self.act(by, id, |at| Command::Settle {
            by: by.id.clone(),
            happened,
            reason: reason.trim().to_owned(),
            at,
        })
        .await
    }

    async fn act(
        &self,
        by: &Principal,
        id: ActionId,
        wish: impl Fn(Timestamp) -> Command,
    ) -> Result<Versioned, ActError> {
        let store = &self.inner.store;
        store
            .stop
            .may_begin()
            .map_err(|error| ActError::Unavailable(Box::new(error)))?;
        let committed = store.act(id, &by.id, wish).await?;
        Ok(committed.into_view())
    }

    /// The action, where the principal may see it; whose credential has ended since it was looked at
    /// sees nothing (a wait takes up to a minute).
    pub(super) fn visible(&self, by: &Principal, id: ActionId) -> Result<Versioned, ActError> {
        let loaded = self
            .inner
            .store
            .load(id)
            .map_err(|error| ActError::Unavailable(Box::new(error)))?;
        loaded
            .filter(|view| may_see(by, &view.action) && !self.identity().has_ended(&by.id))
            .ok_or(ActError::NotFound)
    }
}

impl From<CommitError> for ActError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Refused(Refusal::Missing) | CommitError::Missing => Self::NotFound,
            CommitError::Refused(refusal) => Self::Refused(refusal),
            CommitError::Full(source) | CommitError::Unavailable(source) => {
                Self::Unavailable(source)
            }
            error @ (CommitError::Conflict
            | CommitError::ClaimTaken { .. }
            | CommitError::TooLarge(_)) => Self::Unavailable(Box::new(error)),
        }
    }
}

fn check_reason(reason: Option<&str>) -> Result<(), ActError> {
    match reason {
        Some(reason) if REASON_CHARS_MAX < reason.chars().count() => Err(ActError::Forbidden(
            format!("a reason has at most {REASON_CHARS_MAX} characters"),
        )),
        Some(_) | None => Ok(()),
    }
}

/// What was said, without the space around it; blank is nothing.
pub(super) fn said(reason: Option<String>) -> Option<String> {
    reason
        .map(|reason| reason.trim().to_owned())
        .filter(|reason| !reason.is_empty())
}
