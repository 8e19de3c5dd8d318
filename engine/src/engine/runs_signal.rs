//! Events that runs are sent, each request once.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Engine;
use super::alone::Asked;
use super::runs::is_own;
use crate::canon::{CanonicalJson, Digest};
use crate::identity::{Principal, Role};
use crate::limits::{JSON_BYTES_MAX, SIGNAL_NAME_BYTES_MAX};
use crate::run::authority::SCOPE_RUNS;
use crate::run::{Command, Run, RunError, RunId};

impl Engine {
    /// Sends a run an event that its code may be waiting for, now or later.
    pub async fn signal_run(
        &self,
        by: &Principal,
        id: RunId,
        name: &str,
        data: &Value,
    ) -> Result<Arc<Run>, RunError> {
        let (run, _) = self.signal_run_once(by, id, name, data, None).await?;
        Ok(run)
    }

    /// The same, at most once for a key that the client chose, 1 to 255 printable ASCII characters. The same
    /// event under the same key is answered with the run as it is, and true; another request is refused. The
    /// keys are each principal's own, together with those of [`Engine::start_run_once`].
    pub async fn signal_run_once(
        &self,
        by: &Principal,
        id: RunId,
        name: &str,
        data: &Value,
        key: Option<&str>,
    ) -> Result<(Arc<Run>, bool), RunError> {
        if name.is_empty() || SIGNAL_NAME_BYTES_MAX < name.len() {
            return Err(RunError::Invalid(format!(
                "the name of an event has 1 to {SIGNAL_NAME_BYTES_MAX} bytes"
            )));
        }
        let data = CanonicalJson::exact(data)
            .map_err(|error| RunError::Invalid(format!("the data of the event: {error}")))?;
        if JSON_BYTES_MAX < data.as_str().len() {
            return Err(RunError::Invalid(format!(
                "the data of an event is longer than {JSON_BYTES_MAX} bytes"
            )));
        }
        let run = self.may_signal(by, id)?;
        let asked = Asked::of("rk/runs/", by, key, fingerprint(id, name, &data));
        if self.has_sent(by, asked.as_ref())? {
            return Ok((run, true));
        }
        let claim = asked.as_ref().map(|asked| asked.claim(id.as_bytes()));
        let live = self.inner.runs.open(id)?;
        let name = name.to_owned();
        let wishes = vec![Command::Signal { name, data }];
        // What the code asks for next may be made of it.
        let runs = &self.inner.runs;
        let sent = runs.commit_asking(&live, by.instigator(), wishes, true, claim);
        let refused = match sent.await {
            Ok(Ok(run)) => return Ok((run, false)),
            Ok(Err(_)) => RunError::KeyReused { first: None },
            Err(refused @ RunError::Refused(_)) => refused,
            Err(error) => return Err(error),
        };
        // Somebody may have been first in the meantime.
        if self.has_sent(by, asked.as_ref())? {
            Ok((live.run(), true))
        } else {
            Err(refused)
        }
    }

    /// The run, where the principal may send it events.
    fn may_signal(&self, by: &Principal, id: RunId) -> Result<Arc<Run>, RunError> {
        let run = self.run(by, id)?;
        let caller = &run.start.caller;
        let may = is_own(by, &caller.id, caller.owner.as_ref())
            || by.has(Role::Operator)
            || by.scopes.contains(SCOPE_RUNS);
        if !may {
            return Err(RunError::Forbidden(
                "events are sent to a run by whoever started it, an operator, or a key with the scope runs"
                    .to_owned(),
            ));
        }
        if run.is_skill() {
            return Err(RunError::Invalid(
                "only workflows in code wait for events; this is a run of a skill file".to_owned(),
            ));
        }
        Ok(run)
    }

    /// Whether the event was sent under its key before. Fails where the key stands for something else.
    fn has_sent(&self, by: &Principal, asked: Option<&Asked>) -> Result<bool, RunError> {
        match self.first(asked)? {
            None => Ok(false),
            Some((_, true)) => Ok(true),
            // The run is not named where it may not be seen any more.
            Some((first, false)) => Err(RunError::KeyReused {
                first: self
                    .run(by, RunId::from_bytes(first))
                    .ok()
                    .map(|run| run.id),
            }),
        }
    }
}

/// Over everything that is sent.
fn fingerprint(id: RunId, name: &str, data: &CanonicalJson) -> Digest {
    let to = CanonicalJson::of(&json!([id.to_string(), name]));
    Digest::of(format!("event\n{to}\n{data}").as_bytes())
}
