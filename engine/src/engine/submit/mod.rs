//! From a wish to a durable action.
//!
//! The order matters. A request that was made before is answered before anything is asked about its
//! tool, which may be another one by now; then comes what can be refused without asking anybody, and a
//! key of the tool that was used before is answered before the state is read. Bounds are checked before
//! anything is stored (invariant I21).

mod bounds;
pub(super) mod claims;
mod draft;
mod take_over;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::alone::Asked;
use super::{Answered, Engine, Submission, SubmitError, Submitted, Versioned, may_see};
use crate::action::{ActionId, AttemptOutcome, Command, Refused, SafetyClass, Status};
use crate::identity::Principal;
use crate::store::{CommitError, Request};
use crate::tool::{ArgError, RenderError, Tool};
use claims::{Keys, Used};
pub(crate) use draft::AsStep;
use draft::Draft;

/// Actions that are not final. Beyond it nobody can decide on them any more, and the disk fills.
const OPEN_ACTIONS_MAX: u64 = 5_000_000;

impl Engine {
    /// Takes a call on, or answers it at once where its tool is idempotent.
    ///
    /// The same submission under the same key is answered with the first action (`replayed`).
    pub async fn submit(
        &self,
        by: &Principal,
        submission: Submission,
    ) -> Result<Submitted, SubmitError> {
        self.submit_as(by, submission, None).await
    }

    /// The same; with `step` for a step of a run.
    pub(crate) async fn submit_as(
        &self,
        by: &Principal,
        submission: Submission,
        step: Option<AsStep>,
    ) -> Result<Submitted, SubmitError> {
        bounds::check(&submission)?;
        let store = &self.inner.store;
        store.stop.may_begin().map_err(unavailable)?;
        let request = submission
            .request_key
            .as_ref()
            .and_then(|request| Asked::of("rk/", by, Some(&request.key), request.fingerprint));
        let _alone = request
            .as_ref()
            .map(|request| self.begin(&request.key).ok_or(SubmitError::InProgress))
            .transpose()?;
        let first = self.request_used(request.as_ref())?;
        if let Some(used) = first.as_ref().filter(|used| used.same) {
            return self.first_answer(by, used.id);
        }
        let registry = self.registry();
        let tool = registry
            .get(&submission.tool)
            .filter(|tool| step.is_some() || !tool.is_built_in())
            .ok_or_else(|| SubmitError::UnknownTool {
                tool: submission.tool.clone(),
                suggestion: registry.nearest(&submission.tool).map(str::to_owned),
            })?;
        bounds::check_labels(tool, &submission)?;
        bounds::check_schedule(tool, &submission)?;
        tool.check_args(&submission.args).map_err(wrong_args)?;
        check_secrets(tool, &submission, step.as_ref())?;
        let Ok(_slot) = self.inner.submissions.try_acquire() else {
            return Err(SubmitError::Overloaded);
        };
        if OPEN_ACTIONS_MAX <= store.tally.open() {
            return Err(SubmitError::Overloaded);
        }
        let mut draft = Draft::new(self, tool, by, submission, step)?;
        let keys = Keys::of(&draft, request.clone());
        let used = first.map_or_else(|| self.intent_used(&keys), |used| Ok(Some(used)))?;
        if let Some(used) = used
            && !self.is_free_for(by, &draft, &used)?
        {
            return self.replay(by, &keys, used).await;
        }
        if let Some(refused) = draft.refusal(by) {
            return self.refuse(by, draft, keys, refused).await;
        }
        draft.snapshot = draft
            .read_state(self)
            .await
            .map_err(SubmitError::StateUnavailable)?;
        if let Some(refused) = draft.failed_precondition() {
            return self.refuse(by, draft, keys, refused).await;
        }
        let rendered = draft.request().map_err(invalid_args)?;
        if draft.class == SafetyClass::Idempotent {
            if self.is_paused() {
                return Err(SubmitError::Paused);
            }
            // Reading the state took a while, and the store may have failed since (I22).
            store.stop.may_begin().map_err(unavailable)?;
            return Ok(self.answer(&draft, &rendered).await);
        }
        // With the state, where the key is made from it.
        let mut keys = Keys::of(&draft, request);
        let _taken = self.take_over(by, &draft, &mut keys)?;
        // Until it is durable: whoever makes the run go on finds it then, or is found by it here.
        let run = draft.run();
        let _asking = match &run {
            Some(run) => Some(run.asking.lock().await),
            None => None,
        };
        let at = store.time.now();
        let requirement =
            (draft.class == SafetyClass::ApprovalBound).then(|| draft.requirement(at));
        bounds::check_times(draft.not_before, requirement.as_ref(), at)?;
        let command = Command::Submit {
            arranged: draft.arranged(),
            proposal: draft.proposal().map_err(invalid_args)?,
            snapshot: draft.snapshot.clone(),
            request: rendered,
            requirement,
            at,
        };
        let request = Request {
            before: None,
            id: draft.id,
            command,
            actor: by.id.clone(),
            claims: keys.claims(draft.id),
            releases: keys.releases(),
            at,
        };
        match store.commit(request).await {
            Ok(committed) => Ok(taken(committed.into_view(), false)),
            Err(CommitError::ClaimTaken { key, holder }) => {
                let used = keys.used_by(&key, &holder)?;
                self.replay(by, &keys, used).await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Keeps a record of a refused try (invariant I24). It holds the request key, so that a repeat
    /// of the request has the same answer, but not the key of the intent.
    async fn refuse(
        &self,
        by: &Principal,
        draft: Draft<'_>,
        keys: Keys,
        refused: Refused,
    ) -> Result<Submitted, SubmitError> {
        let at = self.inner.store.time.now();
        let request = Request {
            before: None,
            id: draft.id,
            command: Command::Refuse {
                proposal: draft.proposal().map_err(invalid_args)?,
                refused,
                at,
            },
            actor: by.id.clone(),
            claims: keys.request_claim(draft.id).into_iter().collect(),
            releases: Vec::new(),
            at,
        };
        match self.inner.store.commit(request).await {
            Ok(committed) => Err(SubmitError::Refused {
                action: Box::new(committed.into_view()),
            }),
            Err(CommitError::ClaimTaken { key, holder }) => {
                let used = keys.used_by(&key, &holder)?;
                self.replay(by, &keys, used).await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Answers with the action that holds the key, or says that the key was used for something else,
    /// or by somebody else for the same.
    async fn replay(
        &self,
        by: &Principal,
        keys: &Keys,
        used: Used,
    ) -> Result<Submitted, SubmitError> {
        if !used.same {
            return Err(self.reused(by, keys, &used));
        }
        let answer = self.first_answer(by, used.id);
        if let Err(SubmitError::AskedByAnother | SubmitError::Unavailable(_)) = &answer {
            return answer;
        }
        if !used.by_request_key
            && let Some(claim) = keys.request_claim(used.id)
        {
            // So that this request key, too, stands for this action from now on.
            match self.inner.store.claim(claim).await {
                Ok(()) => {}
                Err(CommitError::ClaimTaken { key, holder }) => {
                    let other = keys.used_by(&key, &holder)?;
                    if !other.same || other.id != used.id {
                        return Err(self.reused(by, keys, &other));
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        answer
    }

    /// The answer to a repeat of the request, or of the call, that made this action.
    fn first_answer(&self, by: &Principal, id: ActionId) -> Result<Submitted, SubmitError> {
        let first = self.inner.store.load(id).map_err(unavailable)?;
        let Some(view) = first.filter(|view| may_see(by, &view.action)) else {
            return Err(SubmitError::AskedByAnother);
        };
        if view.action.status() == Status::Refused {
            return Err(SubmitError::Refused {
                action: Box::new(view),
            });
        }
        Ok(taken(view, true))
    }

    /// The key stands for something else; what differs, where the first action may be seen.
    fn reused(&self, by: &Principal, keys: &Keys, used: &Used) -> SubmitError {
        let first = self.get(by, used.id).ok().map(|view| view.action);
        let request_key = used.by_request_key;
        SubmitError::KeyReused {
            request_key,
            differs: first
                .as_ref()
                .map_or_else(Vec::new, |first| keys.differs(first, request_key)),
            first: first.map(|first| first.id),
        }
    }

    async fn answer(&self, draft: &Draft<'_>, request: &crate::action::Rendered) -> Submitted {
        let (state, key) = (draft.state(), draft.key().ok());
        let world = &self.inner.work.world;
        let begun = self.now();
        let outcome = world
            .call_idempotent(
                draft.tool,
                request,
                draft.context(state.as_ref(), key.as_deref()),
                (draft.id, draft.timeout()),
            )
            .await;
        super::observe::execution(draft.tool.class, &outcome, self.now().since(begun));
        let (status, http_status, result) = match outcome {
            AttemptOutcome::Done {
                http_status,
                result,
            } => (Status::Succeeded, http_status, result.value()),
            AttemptOutcome::Refused {
                http_status,
                answer,
            } => (Status::Failed, http_status, answer.value()),
            AttemptOutcome::VersionMoved { answer } => (Status::Failed, Some(412), answer.value()),
            AttemptOutcome::NotDelivered { message } => {
                (Status::Failed, None, Value::String(message))
            }
            AttemptOutcome::Unknown {
                http_status,
                message,
            } => (Status::Failed, http_status, Value::String(message)),
        };
        Submitted::Answered(Answered {
            status,
            class: SafetyClass::Idempotent,
            summary: draft.summary(),
            http_status,
            result,
        })
    }

    fn new_id(&self) -> Result<ActionId, SubmitError> {
        let mut random = [0; 10];
        self.inner.entropy.fill(&mut random).map_err(unavailable)?;
        Ok(ActionId::new(self.now(), random))
    }
}

fn taken(view: Versioned, replayed: bool) -> Submitted {
    Submitted::Action {
        action: Box::new(view),
        replayed,
    }
}

/// Refuses a step whose tool decides by a secret of its run.
fn check_secrets(
    tool: &Tool,
    submission: &Submission,
    step: Option<&AsStep>,
) -> Result<(), SubmitError> {
    let holes = step.map_or_else(Vec::new, |step| step.secret_holes(&submission.args));
    let wrong = tool.check_secrets(&holes);
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong_args(wrong))
    }
}

fn wrong_args(errors: Vec<ArgError>) -> SubmitError {
    let list = errors.into_iter();
    SubmitError::InvalidArgs(list.map(|error| (error.pointer, error.message)).collect())
}

fn invalid_args(error: RenderError) -> SubmitError {
    SubmitError::InvalidArgs(vec![(error.pointer.unwrap_or_default(), error.message)])
}

fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> SubmitError {
    SubmitError::Unavailable(Box::new(error))
}

impl From<CommitError> for SubmitError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::TooLarge(message) => Self::Invalid(message),
            CommitError::Full(source) | CommitError::Unavailable(source) => {
                Self::Unavailable(source)
            }
            error @ (CommitError::Refused(_)
            | CommitError::Conflict
            | CommitError::ClaimTaken { .. }
            | CommitError::Missing) => Self::Unavailable(Box::new(error)),
        }
    }
}
