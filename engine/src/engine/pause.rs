//! The pause switch, for the people who may use it.

use super::act::{REASON_CHARS_MAX, said};
use super::{ActError, Engine, Paused};
use crate::action::Refusal;
use crate::identity::{Principal, Role};
use crate::store::PauseEvent;

impl Engine {
    /// Switches to paused: nothing new is sent until [`Engine::resume`]. Everything else goes on:
    /// submitting, voting, cancelling, expiry, the questions to the source of truth. A call whose
    /// commit record is durable already is finished. Paused already: answers who was first.
    ///
    /// For administrators and operators; needs a reason. Survives a restart.
    pub async fn pause(&self, by: &Principal, reason: &str) -> Result<Paused, ActError> {
        may_switch(by)?;
        let reason = said(Some(reason.to_owned())).ok_or(Refusal::ReasonRequired)?;
        check(Some(&reason))?;
        let (id, name) = (by.id.clone(), by.name.clone());
        let event = |at| PauseEvent::Paused {
            by: id,
            name,
            reason,
            at,
        };
        let paused = self.inner.store.switch(event, true).await?;
        if let Some(paused) = &paused {
            tracing::warn!("paused by {}: nothing new is sent", paused.name);
        }
        paused.ok_or(ActError::NotFound)
    }

    /// Sends what is due again. Not paused: does nothing.
    pub async fn resume(&self, by: &Principal, reason: Option<String>) -> Result<(), ActError> {
        may_switch(by)?;
        let reason = said(reason);
        check(reason.as_deref())?;
        let (id, name) = (by.id.clone(), by.name.clone());
        let event = |at| PauseEvent::Resumed {
            by: id,
            name,
            reason,
            at,
        };
        self.inner.store.switch(event, false).await?;
        tracing::info!("not paused: what is due is sent");
        Ok(())
    }

    /// Who paused, why and since when; none while what is due is sent.
    pub fn paused(&self) -> Option<Paused> {
        self.inner.store.pause.paused()
    }

    /// Whether nothing new may be sent: no call leaves, and no worker is given work.
    pub fn is_paused(&self) -> bool {
        self.inner.store.pause.is_paused()
    }
}

fn may_switch(by: &Principal) -> Result<(), ActError> {
    if by.has(Role::Admin) || by.has(Role::Operator) {
        return Ok(());
    }
    Err(ActError::Forbidden(
        "only an operator or an administrator can pause and resume".to_owned(),
    ))
}

fn check(reason: Option<&str>) -> Result<(), ActError> {
    match reason {
        Some(reason) if REASON_CHARS_MAX < reason.chars().count() => Err(ActError::Forbidden(
            format!("a reason has at most {REASON_CHARS_MAX} characters"),
        )),
        Some(_) | None => Ok(()),
    }
}
