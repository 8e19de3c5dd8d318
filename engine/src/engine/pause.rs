//! The pause switch, for the people who may use it.

use holdpoint_storage::EventLog;

use super::act::{REASON_CHARS_MAX, said};
use super::{ActError, Engine, Paused, time_of};
use crate::action::Refusal;
use crate::identity::{Principal, Role};
use crate::store::{PauseEvent, PauseSwitch, pause};
use crate::time::Timestamp;

impl Engine {
    /// Switches to paused: nothing new is sent until [`Engine::resume`]. Everything else goes on:
    /// submitting, voting, cancelling, expiry, the questions to the source of truth. A call whose
    /// commit record is durable already is finished. Paused already: answers who was first.
    ///
    /// For administrators and operators; needs a reason. Survives a restart.
    pub async fn pause(&self, by: &Principal, reason: &str) -> Result<Paused, ActError> {
        may_switch(by)?;
        let event = pausing(&by.id, &by.name, reason)?;
        let paused = self.inner.store.switch(event, true).await?;
        if let Some(paused) = &paused {
            tracing::warn!("paused by {}: nothing new is sent", paused.name);
        }
        paused.ok_or(ActError::NotFound)
    }

    /// Sends what is due again. Not paused: does nothing.
    pub async fn resume(&self, by: &Principal, reason: Option<String>) -> Result<(), ActError> {
        may_switch(by)?;
        let event = resuming(&by.id, &by.name, reason)?;
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

/// Switches a log to paused that no engine runs on: an engine that is opened on it sends nothing new.
/// For whoever has the log in hand; `by` and `name` say who that is. Needs a reason. Paused already:
/// answers who was first.
pub async fn pause_in(
    log: &dyn EventLog,
    now: Timestamp,
    (by, name): (&str, &str),
    reason: &str,
) -> Result<Paused, ActError> {
    let event = pausing(by, name, reason)?;
    let paused = pause::switch_in(log, not_before_the_log(log, now)?, event, true).await?;
    paused.ok_or(ActError::NotFound)
}

/// Takes the pause of a log back that no engine runs on. Not paused: does nothing.
pub async fn resume_in(
    log: &dyn EventLog,
    now: Timestamp,
    (by, name): (&str, &str),
    reason: Option<String>,
) -> Result<(), ActError> {
    let event = resuming(by, name, reason)?;
    pause::switch_in(log, not_before_the_log(log, now)?, event, false).await?;
    Ok(())
}

/// Who paused a log, why and since when.
pub fn paused_in(log: &dyn EventLog) -> Result<Option<Paused>, ActError> {
    Ok(PauseSwitch::load(log)?.paused())
}

/// Time never goes back in the log (invariant I9).
fn not_before_the_log(log: &dyn EventLog, now: Timestamp) -> Result<Timestamp, ActError> {
    let last = time_of(log).map_err(|error| ActError::Unavailable(Box::new(error)))?;
    Ok(now.max(last))
}

fn pausing(
    by: &str,
    name: &str,
    reason: &str,
) -> Result<impl FnOnce(Timestamp) -> PauseEvent + Send + use<>, ActError> {
    let reason = said(Some(reason.to_owned())).ok_or(Refusal::ReasonRequired)?;
    check(Some(&reason))?;
    let (by, name) = (by.to_owned(), name.to_owned());
    Ok(|at| PauseEvent::Paused {
        by,
        name,
        reason,
        at,
    })
}

fn resuming(
    by: &str,
    name: &str,
    reason: Option<String>,
) -> Result<impl FnOnce(Timestamp) -> PauseEvent + Send + use<>, ActError> {
    let reason = said(reason);
    check(reason.as_deref())?;
    let (by, name) = (by.to_owned(), name.to_owned());
    Ok(|at| PauseEvent::Resumed {
        by,
        name,
        reason,
        at,
    })
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
