//! A submission while it is being made into an action.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::action::{
    ActionId, Arrangement, Caller, Proposal, Refused, Rendered, SafetyClass, Snapshot, Terms,
};
use crate::approval::Requirement;
use crate::canon::CanonicalJson;
use crate::engine::act::said;
use crate::engine::{Engine, Submission, SubmitError};
use crate::identity::Principal;
use crate::run::shell::Live;
use crate::scheduler::sends_without_etag;
use crate::target::aside::secret_holes;
use crate::time::Timestamp;
use crate::tool::{Context, Execute, RenderError, SecretHole, StateView, Tool};

/// What a step of a run has of its own.
#[derive(Clone)]
pub(crate) struct AsStep {
    /// The id of its action, made from the run and the step.
    pub(crate) id: ActionId,
    /// Its idempotency key, where the tool makes none.
    pub(crate) key: String,
    /// The least safety class: what a run has put before people is put before people.
    pub(crate) class: SafetyClass,
    /// The longest that the call may take, where that is less than the tool's own.
    pub(crate) timeout: Option<Duration>,
    /// How often a call that was certainly not delivered is made, where the step says so.
    pub(crate) attempts: Option<u32>,
    /// Its run, which knows who makes it go on besides its caller.
    pub(crate) live: Arc<Live>,
    /// Which run and which step, as labels.
    pub(crate) labels: BTreeMap<String, String>,
}

impl AsStep {
    /// Where its arguments have the hole of a secret input of its run.
    pub(super) fn secret_holes(&self, args: &Value) -> Vec<SecretHole> {
        secret_holes(&self.labels, args)
    }
}

pub(super) struct Draft<'t> {
    pub(super) tool: &'t Tool,
    /// The safety class of this call: the tool's, or a stronger one.
    pub(super) class: SafetyClass,
    step: Option<AsStep>,
    pub(super) id: ActionId,
    pub(super) args: Value,
    pub(super) canonical: CanonicalJson,
    pub(super) snapshot: Option<Snapshot>,
    pub(super) not_before: Option<Timestamp>,
    caller: Caller,
    pub(super) reason: Option<String>,
    pub(super) labels: BTreeMap<String, String>,
    expires_in: Option<Duration>,
}

impl<'t> Draft<'t> {
    pub(super) fn new(
        engine: &Engine,
        tool: &'t Tool,
        by: &Principal,
        submission: Submission,
        step: Option<AsStep>,
    ) -> Result<Self, SubmitError> {
        let canonical = CanonicalJson::of(&submission.args);
        let mut labels = submission.labels;
        if let Some(step) = &step {
            labels.extend(step.labels.clone());
        }
        labels.extend(tool.labels(&submission.args));
        Ok(Self {
            tool,
            class: step
                .as_ref()
                .map_or(tool.class, |step| step.class.max(tool.class)),
            id: match &step {
                Some(step) => step.id,
                None => engine.new_id()?,
            },
            step,
            // From the canonical bytes on, nothing else is looked at (invariant I13).
            args: canonical.value(),
            canonical,
            snapshot: None,
            not_before: submission.not_before,
            caller: by.caller(),
            reason: said(submission.reason),
            labels,
            expires_in: submission.expires_in,
        })
    }

    /// The run that it is a step of.
    pub(super) fn run(&self) -> Option<Arc<Live>> {
        self.step.as_ref().map(|step| Arc::clone(&step.live))
    }

    /// Whether it is a step of a run.
    pub(super) fn is_step(&self) -> bool {
        self.step.is_some()
    }

    /// Runs `make` on what is known of the call so far.
    fn with<T>(&self, key: Option<&str>, make: impl FnOnce(&Context<'_>) -> T) -> T {
        make(&self.context(self.state().as_ref(), key))
    }

    /// The state as it was read.
    pub(super) fn state(&self) -> Option<Value> {
        let snapshot = self.snapshot.as_ref()?;
        Some(snapshot.state.value())
    }

    /// What is known of the call so far, with its [`state`](Self::state).
    pub(super) fn context<'a>(
        &'a self,
        state: Option<&'a Value>,
        key: Option<&'a str>,
    ) -> Context<'a> {
        let snapshot = self.snapshot.as_ref();
        let etag = snapshot.and_then(|snapshot| snapshot.etag.as_deref());
        Context {
            args: &self.args,
            caller: &self.caller,
            state: state.map(|body| StateView { body, etag }),
            action_id: Some(self.id),
            idempotency_key: key,
        }
    }

    /// The key of the intent, as far as it can be made already.
    pub(super) fn key(&self) -> Result<String, RenderError> {
        if let Some(step) = &self.step
            && !self.tool.has_key_template()
        {
            return Ok(step.key.clone());
        }
        self.with(None, |ctx| self.tool.render_key(ctx))
    }

    /// What stands against the caller, without asking the world.
    pub(super) fn refusal(&self, by: &Principal) -> Option<Refused> {
        let missing = self.tool.missing_scopes(&by.scopes);
        if !missing.is_empty() {
            return Some(Refused {
                code: "missing_scope".to_owned(),
                message: format!("the credential lacks the scope {}", missing.join(", ")),
            });
        }
        let message = match self.with(None, |ctx| self.tool.check_identity(ctx)) {
            Ok(true) => return None,
            Ok(false) => "the identity rule of the tool does not hold for this caller".to_owned(),
            Err(error) => error.to_string(),
        };
        Some(Refused {
            code: "identity_check_failed".to_owned(),
            message,
        })
    }

    pub(super) async fn read_state(&self, engine: &Engine) -> Result<Option<Snapshot>, String> {
        let key = self.key().ok();
        let ctx = Context {
            args: &self.args,
            caller: &self.caller,
            state: None,
            action_id: Some(self.id),
            idempotency_key: key.as_deref(),
        };
        let time = &engine.inner.store.time;
        let snapshot = engine
            .inner
            .work
            .world
            .read_state(self.tool, &ctx, time)
            .await?;
        if sends_without_etag(self.tool, snapshot.as_ref()) {
            return Err(
                "the answer of the state query has no ETag, which the call needs".to_owned(),
            );
        }
        Ok(snapshot)
    }

    pub(super) fn failed_precondition(&self) -> Option<Refused> {
        let message = match self.with(None, |ctx| self.tool.failed_precondition(ctx)) {
            Ok(None) => return None,
            Ok(Some(message)) => message,
            Err(error) => error.to_string(),
        };
        Some(Refused {
            code: "precondition_failed".to_owned(),
            message,
        })
    }

    pub(super) fn request(&self) -> Result<Rendered, RenderError> {
        let key = self.key()?;
        self.with(Some(&key), |ctx| self.tool.render_execute(ctx))
    }

    pub(super) fn requirement(&self, now: Timestamp) -> Requirement {
        self.with(None, |ctx| self.tool.requirement(ctx, now, self.expires_in))
    }

    pub(super) fn summary(&self) -> String {
        self.with(None, |ctx| self.tool.render_summary(ctx))
    }

    /// What holds for the action besides its proposal.
    pub(super) fn arranged(&self) -> Arrangement {
        let by_us = match &self.tool.execute {
            Execute::Http(_) | Execute::Local(_) | Execute::Request(_) => true,
            // Whoever pulls the call makes it, and knows whether it may be made again.
            Execute::Worker => false,
        };
        let kept = self.tool.key_retention.filter(|_| by_us);
        Arrangement {
            not_before: self.not_before,
            key_kept_ms: kept.map(|kept| u64::try_from(kept.as_millis()).unwrap_or(u64::MAX)),
            instigators: self
                .step
                .as_ref()
                .map_or_else(Vec::new, |step| step.live.run().instigators.clone()),
        }
    }

    /// The longest that the call may take.
    pub(super) fn timeout(&self) -> Duration {
        let own = self.step.as_ref().and_then(|step| step.timeout);
        own.map_or(self.tool.timeout, |most| most.min(self.tool.timeout))
    }

    fn terms(&self) -> Terms {
        let mut terms = self.tool.terms();
        if let Some(step) = &self.step {
            let timeout = u64::try_from(self.timeout().as_millis());
            terms.timeout_ms = timeout.unwrap_or(terms.timeout_ms);
            terms.attempts_max = step.attempts.unwrap_or(terms.attempts_max);
        }
        terms
    }

    pub(super) fn proposal(&self) -> Result<Proposal, RenderError> {
        Ok(Proposal {
            tool: self.tool.name.clone(),
            class: self.class,
            tool_digest: self.tool.digest,
            args: self.canonical.clone(),
            digest: self
                .tool
                .binding_digest(&self.canonical, &self.caller, self.not_before),
            caller: self.caller.clone(),
            reason: self.reason.clone(),
            summary: self.summary(),
            labels: self.labels.clone(),
            idempotency_key: self.key()?,
            terms: self.terms(),
        })
    }
}
