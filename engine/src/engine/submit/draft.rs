//! A submission while it is being made into an action.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::action::{ActionId, Arrangement, Caller, Proposal, Refused, Rendered, Snapshot};
use crate::approval::Requirement;
use crate::canon::CanonicalJson;
use crate::engine::act::said;
use crate::engine::{Engine, RequestKey, Submission, SubmitError};
use crate::identity::Principal;
use crate::scheduler::sends_without_etag;
use crate::time::Timestamp;
use crate::tool::{Context, Execute, RenderError, StateView, Tool};

pub(super) struct Draft<'t> {
    pub(super) tool: &'t Tool,
    pub(super) id: ActionId,
    pub(super) args: Value,
    pub(super) canonical: CanonicalJson,
    pub(super) snapshot: Option<Snapshot>,
    pub(super) request_key: Option<RequestKey>,
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
    ) -> Result<Self, SubmitError> {
        let canonical = CanonicalJson::of(&submission.args);
        let mut labels = submission.labels;
        labels.extend(tool.labels(&submission.args));
        Ok(Self {
            tool,
            id: engine.new_id()?,
            // From the canonical bytes on, nothing else is looked at (invariant I13).
            args: canonical.value(),
            canonical,
            snapshot: None,
            request_key: submission.request_key,
            not_before: submission.not_before,
            caller: by.caller(),
            reason: said(submission.reason),
            labels,
            expires_in: submission.expires_in,
        })
    }

    /// Runs `make` on what is known of the call so far.
    fn with<T>(&self, key: Option<&str>, make: impl FnOnce(&Context<'_>) -> T) -> T {
        let state = self
            .snapshot
            .as_ref()
            .map(|snapshot| snapshot.state.value());
        let etag = self
            .snapshot
            .as_ref()
            .and_then(|snapshot| snapshot.etag.as_deref());
        make(&Context {
            args: &self.args,
            caller: &self.caller,
            state: state.as_ref().map(|body| StateView { body, etag }),
            action_id: Some(self.id),
            idempotency_key: key,
        })
    }

    /// The key of the intent, as far as it can be made already.
    pub(super) fn key(&self) -> Result<String, RenderError> {
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
            Execute::Http(_) | Execute::Local(_) => true,
            // Whoever pulls the call makes it, and knows whether it may be made again.
            Execute::Worker => false,
        };
        let kept = self.tool.key_retention.filter(|_| by_us);
        Arrangement {
            not_before: self.not_before,
            key_kept_ms: kept.map(|kept| u64::try_from(kept.as_millis()).unwrap_or(u64::MAX)),
        }
    }

    pub(super) fn proposal(&self) -> Result<Proposal, RenderError> {
        Ok(Proposal {
            tool: self.tool.name.clone(),
            class: self.tool.class,
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
            terms: self.tool.terms(),
        })
    }
}
