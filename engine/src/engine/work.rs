//! Work for services that pull it: claim, heartbeat, complete (invariant I12).
//!
//! Only keys of services and agents with the scope `work:{tool}` or `work:*` are given work. What is
//! given out is committed, so that all that holds for a call of the engine's own holds for it.

mod again;
mod types;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::Instant;

pub use types::{Assignment, ClaimWish, WorkError, WorkId, WorkIdFormatError, WorkOutcome};

use super::alone::{Alone, claim_key};
use super::{Engine, Versioned, may_see, observe};
use crate::action::{
    Action, AttemptOutcome, ClaimKey, Command, Event, Holder, PrincipalKind, WorkReport, Worker,
};
use crate::canon::{CanonicalJson, Digest};
use crate::identity::Principal;
use crate::limits::{
    CLAIM_TOOLS_MAX, CLAIM_WAIT_MAX, LEASE_MS_MAX, LEASE_MS_MIN, WORK_REASON_CHARS_MAX,
};
use crate::scheduler::{Asked, Pulled, lease_of};
use crate::store::Committed;
use crate::store::index::NEVER;
use crate::target::kept;
use crate::time::Timestamp;
use crate::tool::Execute;

/// The longest sleep while something may be pulled later: a wall clock that was set shows by then.
const SLEEP_MAX: Duration = Duration::from_mins(1);

impl Engine {
    /// Gives the principal one thing to do, waiting for it where there is nothing now; none where
    /// there was nothing in time, or the engine stops.
    ///
    /// Whoever goes away before the answer is not taken to have it. With a key, the same claim again is
    /// answered with what the first one was given, while the worker still has it.
    pub async fn claim(
        &self,
        by: &Principal,
        wish: ClaimWish,
    ) -> Result<Option<Assignment>, WorkError> {
        let store = &self.inner.store;
        store.stop.may_begin().map_err(unavailable)?;
        may_work_on(by, &wish.tools)?;
        let lease_ms = wish.lease.map(lease_ms).transpose()?;
        let key = wish.request_key.as_ref().map(|asked| ClaimKey {
            key: Digest::of(&claim_key("wk/", &by.id, &asked.key)),
            fingerprint: asked.fingerprint,
        });
        let alone = match &key {
            None => None,
            Some(key) => Some(Arc::new(
                self.begin(key.key.as_bytes())
                    .ok_or(WorkError::InProgress)?,
            )),
        };
        if let Some(given) = key
            .map(|key| self.given_before(by, key))
            .transpose()?
            .flatten()
        {
            return Ok(Some(given));
        }
        let tools = self.check_tools(&wish.tools)?;
        let asked = Asked {
            worker: Worker {
                id: by.id.clone(),
                name: by.name.clone(),
            },
            lease_ms,
            key,
        };
        let until = Instant::now() + wish.wait.min(CLAIM_WAIT_MAX);
        let turn = store
            .board
            .join(Arc::clone(&tools))
            .ok_or(WorkError::Overloaded)?;
        loop {
            turn.lie_down();
            self.still_works(by)?;
            let next = match self.pull(&asked, &tools, alone.clone(), until).await? {
                Pulled::Work(permit) => {
                    if let Err(error) = self.still_works(by) {
                        let why = "the key of the worker ended before it could have it";
                        self.inner.work.give_back(*permit, why).await;
                        return Err(error);
                    }
                    return Ok(Assignment::of(*permit));
                }
                Pulled::Nothing { next } => next,
            };
            tokio::select! {
                biased;
                () = store.stop.reached() => return Ok(None),
                // Before the others: what was put off by this very look wakes it too.
                () = tokio::time::sleep_until(until) => return Ok(None),
                () = turn.woken() => {}
                () = sleep(next, self.now()) => {}
            }
        }
    }

    /// A claim may wait for a minute; a key that ends meanwhile is given nothing.
    fn still_works(&self, by: &Principal) -> Result<(), WorkError> {
        if self.identity().has_ended(&by.id) {
            return Err(WorkError::Forbidden(
                "the key was revoked or has expired, or its owner is disabled".to_owned(),
            ));
        }
        Ok(())
    }

    /// In a task of its own: what was committed for somebody who has gone is taken back at once,
    /// since nobody has seen it.
    async fn pull(
        &self,
        asked: &Asked,
        tools: &Arc<[String]>,
        alone: Option<Arc<Alone>>,
        until: Instant,
    ) -> Result<Pulled, WorkError> {
        let (work, tools) = (Arc::clone(&self.inner.work), Arc::clone(tools));
        let (give, given) = oneshot::channel();
        let asked = asked.clone();
        tokio::spawn(async move {
            let pulled = work.pull(&tools, &asked, until).await;
            // Until what nobody waits for any more is taken back, its key is in use.
            if let Err((Ok(Pulled::Work(permit)), _alone)) = give.send((pulled, alone)) {
                work.give_back(*permit, "the worker had gone before it could have it")
                    .await;
            }
        });
        match given.await {
            Ok((pulled, _alone)) => Ok(pulled?),
            Err(error) => Err(unavailable(error)),
        }
    }

    /// Makes the lease longer: the principal is still at it. Answers when it ends now.
    pub async fn heartbeat(
        &self,
        by: &Principal,
        id: WorkId,
        epoch: u64,
        lease: Option<Duration>,
    ) -> Result<Timestamp, WorkError> {
        let view = self.work_of(by, id)?;
        let lease_ms = match lease {
            Some(lease) => lease_ms(lease)?,
            None => lease_of(&view.action),
        };
        let holder = holder(by, id, epoch);
        let wish = |at| Command::Heartbeat {
            holder: holder.clone(),
            lease_ms,
            at,
        };
        let committed = self.inner.store.act(id.action, &by.id, wish).await?;
        let events = committed.events();
        let counts = |event: &Event| matches!(event, Event::LeaseExtended { .. });
        if !events.is_empty() && !events.iter().any(counts) {
            return Err(WorkError::LeaseLost);
        }
        let action = committed.into_view().action;
        let lease = action.attempts.last().and_then(|last| last.lease.as_ref());
        lease.map(|lease| lease.until).ok_or(WorkError::NotFound)
    }

    /// Takes what the principal says of its attempt. The same again is answered as the first one was.
    ///
    /// What comes after the end of the lease is kept as evidence and answered with
    /// [`WorkError::LeaseLost`], what names another epoch with [`WorkError::WrongEpoch`], what differs from
    /// the first report with [`WorkError::AlreadyReported`].
    pub async fn complete(
        &self,
        by: &Principal,
        id: WorkId,
        epoch: u64,
        outcome: WorkOutcome,
    ) -> Result<Versioned, WorkError> {
        check_reason(&outcome)?;
        let view = self.work_of(by, id)?;
        let report = self.report_of(&view.action, outcome);
        let holder = holder(by, id, epoch);
        let wish = |at| Command::Report {
            holder: holder.clone(),
            report: report.clone(),
            at,
        };
        let committed = self.inner.store.act(id.action, &by.id, wish).await?;
        if counts(&committed, id, epoch)? {
            let proposal = &view.action.proposal;
            let begun = view.action.attempts.last().map(|last| last.started_at);
            let took = begun.map(|begun| self.now().since(begun));
            observe::execution(proposal.class, &report.outcome, took.unwrap_or_default());
        }
        Ok(committed.into_view())
    }

    /// What a report means. A result that cannot be relied on is no success: it is looked up.
    fn report_of(&self, action: &Action, outcome: WorkOutcome) -> WorkReport {
        let proposal = &action.proposal;
        let said = match &outcome {
            WorkOutcome::Succeeded(result) => json!({ "outcome": "succeeded", "result": result }),
            WorkOutcome::Failed(reason) => json!({ "outcome": "failed", "reason": reason }),
            WorkOutcome::Unknown(reason) => json!({ "outcome": "unknown", "reason": reason }),
        };
        let succeeded = matches!(outcome, WorkOutcome::Succeeded(_));
        let digest = Digest::of(CanonicalJson::of(&said).as_str().as_bytes());
        let unknown = |message: String| AttemptOutcome::Unknown {
            http_status: None,
            message,
        };
        let tool = self.registry().get(&proposal.tool);
        let tool = tool.filter(|tool| tool.digest == proposal.tool_digest);
        let outcome = match outcome {
            WorkOutcome::Succeeded(result) => match tool {
                Some(tool) if tool.result_fits(&result) => AttemptOutcome::Done {
                    http_status: None,
                    result: kept(&result),
                },
                Some(_) => unknown(
                    "the worker says that it succeeded, but its result does not fit the result \
                         schema: it probably happened"
                        .to_owned(),
                ),
                None => unknown(
                    "the worker says that it succeeded, but the tool is defined in another way \
                         now, so that its result cannot be checked: it probably happened"
                        .to_owned(),
                ),
            },
            WorkOutcome::Failed(reason) => AttemptOutcome::Refused {
                http_status: None,
                answer: CanonicalJson::of(&Value::String(reason.trim().to_owned())),
            },
            WorkOutcome::Unknown(reason) => {
                unknown(format!("the worker does not know: {}", reason.trim()))
            }
        };
        WorkReport {
            tells_more: succeeded && matches!(outcome, AttemptOutcome::Unknown { .. }),
            outcome,
            digest,
            evidence: Some(kept(&said)),
        }
    }

    /// The tools that a claim names, where all of them exist and are pulled.
    fn check_tools(&self, tools: &[String]) -> Result<Arc<[String]>, WorkError> {
        let mut names = Vec::new();
        for name in tools {
            let registry = self.registry();
            let tool = registry.get(name).ok_or_else(|| WorkError::UnknownTool {
                tool: name.clone(),
                suggestion: registry.nearest(name).map(str::to_owned),
            })?;
            match tool.execute {
                Execute::Worker => names.push(name.clone()),
                Execute::Http(_) | Execute::Local(_) | Execute::Request(_) => {
                    return Err(WorkError::Invalid(format!(
                        "the engine itself makes the calls of {name}; only tools without execute \
                         are pulled"
                    )));
                }
            }
        }
        names.sort();
        names.dedup();
        Ok(names.into())
    }

    /// The action of an attempt, for whoever may work on its tool.
    fn work_of(&self, by: &Principal, id: WorkId) -> Result<Versioned, WorkError> {
        let loaded = self.inner.store.load(id.action).map_err(unavailable)?;
        let view = loaded.ok_or(WorkError::NotFound)?;
        match may_work(by, &view.action.proposal.tool) {
            Ok(()) => Ok(view),
            Err(error) if may_see(by, &view.action) => Err(error),
            Err(_) => Err(WorkError::NotFound),
        }
    }
}

/// Whether a report counted now; false for a repeat of one that did. Where it was only kept as evidence,
/// why it does not count.
fn counts(committed: &Committed, id: WorkId, epoch: u64) -> Result<bool, WorkError> {
    let events = committed.events();
    let is_report = |event: &Event| matches!(event, Event::WorkReported { .. });
    if events.is_empty() || events.iter().any(is_report) {
        return Ok(!events.is_empty());
    }
    let mut attempts = committed.view().action.attempts.iter();
    let held = attempts.find(|attempt| attempt.number == id.attempt);
    Err(match held.and_then(|held| held.lease.as_ref()) {
        Some(lease) if lease.epoch != epoch => WorkError::WrongEpoch,
        Some(lease) if lease.reported.is_some() => WorkError::AlreadyReported,
        Some(_) | None => WorkError::LeaseLost,
    })
}

/// Fails unless the principal may work on every tool that a claim names.
fn may_work_on(by: &Principal, tools: &[String]) -> Result<(), WorkError> {
    if tools.is_empty() || CLAIM_TOOLS_MAX < tools.len() {
        return Err(WorkError::Invalid(format!(
            "a claim names 1 to {CLAIM_TOOLS_MAX} tools"
        )));
    }
    tools.iter().try_for_each(|tool| may_work(by, tool))
}

/// Default deny: a person never, a key only with a scope that names the tool, or all of them.
fn may_work(by: &Principal, tool: &str) -> Result<(), WorkError> {
    if by.kind == PrincipalKind::Person {
        return Err(WorkError::Forbidden(
            "people do not claim work; use the key of a service".to_owned(),
        ));
    }
    let scope = format!("work:{tool}");
    if by.scopes.contains("work:*") || by.scopes.contains(&scope) {
        return Ok(());
    }
    Err(WorkError::Forbidden(format!(
        "the key lacks the scope {scope} (or work:*)"
    )))
}

fn holder(by: &Principal, id: WorkId, epoch: u64) -> Holder {
    Holder {
        attempt: id.attempt,
        worker: by.id.clone(),
        epoch,
    }
}

fn lease_ms(lease: Duration) -> Result<u64, WorkError> {
    let millis = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
    if (LEASE_MS_MIN..=LEASE_MS_MAX).contains(&millis) {
        return Ok(millis);
    }
    Err(WorkError::Invalid(format!(
        "a lease is {} to {} seconds long",
        LEASE_MS_MIN / 1000,
        LEASE_MS_MAX / 1000
    )))
}

fn check_reason(outcome: &WorkOutcome) -> Result<(), WorkError> {
    let reason = match outcome {
        WorkOutcome::Succeeded(_) => return Ok(()),
        WorkOutcome::Failed(reason) | WorkOutcome::Unknown(reason) => reason.trim(),
    };
    if reason.is_empty() || WORK_REASON_CHARS_MAX < reason.chars().count() {
        return Err(WorkError::Invalid(format!(
            "a reason has 1 to {WORK_REASON_CHARS_MAX} characters"
        )));
    }
    Ok(())
}

fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> WorkError {
    WorkError::Unavailable(Box::new(error))
}

async fn sleep(until: Timestamp, now: Timestamp) {
    if until == NEVER {
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(until.since(now).min(SLEEP_MAX)).await;
}
