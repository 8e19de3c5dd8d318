//! One step of a run: begun durably, made once, followed to its end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::decide::Command;
use super::driver::{Driver, Halt};
use super::event::{StepCall, StepOutcome, StepReport, Verdict, Waiting};
use super::id::{StepPath, StepTry};
use super::shell::RunError;
use super::state::Made;
use crate::action::{Action, ActionId, FailReason, Phase, SafetyClass, Status};
use crate::canon::CanonicalJson;
use crate::engine::submit::AsStep;
use crate::engine::{Answered, Engine, Submission, SubmitError, Submitted, Versioned};
use crate::identity::Principal;
use crate::target::aside::{Heard, SECRETS_LABEL};
use crate::tool::{Execute, Tool};

/// The wait before something that could not be taken on is offered again.
const AGAIN_WAIT: Duration = Duration::from_secs(1);

/// The longest wait between two tries of a read.
const RETRY_WAIT_MAX: Duration = Duration::from_secs(30);

/// A step that is to be made.
pub(crate) struct StepWish {
    /// Where it stands.
    pub(crate) path: StepPath,
    /// What it calls. Which try it is, is decided when it begins.
    pub(crate) call: StepCall,
    /// The longest that the call may take, where that is less than the tool's own.
    pub(crate) timeout: Option<Duration>,
    /// How often a read that fails, or a write that was certainly not delivered, is made once more.
    pub(crate) retries: Option<u32>,
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Called {
    /// How it ended: passed where the target did it.
    pub(crate) outcome: StepOutcome,
    /// Why, where it did not pass.
    pub(crate) message: Option<String>,
    /// The action that stands for it; none where it only read.
    pub(crate) action: Option<ActionId>,
    /// How often it was made.
    pub(crate) attempts: u32,
    /// The status of the answer.
    pub(crate) http_status: Option<u16>,
    /// The answer as it is kept.
    pub(crate) answer: Value,
    /// The answer as it came, where this process saw it.
    pub(crate) text: Option<String>,
}

impl Called {
    fn not_made(outcome: StepOutcome, message: String) -> Self {
        Self {
            outcome,
            message: Some(message),
            action: None,
            attempts: 0,
            http_status: None,
            answer: Value::Null,
            text: None,
        }
    }

    /// As the report of a step, before anything is said about its assertions.
    pub(crate) fn report(&self) -> StepReport {
        StepReport {
            outcome: self.outcome.clone(),
            failures: self.message.iter().cloned().collect(),
            action: self.action,
            attempts: self.attempts,
            http_status: self.http_status,
            answer: CanonicalJson::of(&self.answer),
            asserts: Vec::new(),
            binds: BTreeMap::new(),
            notes: Vec::new(),
        }
    }
}

impl Driver {
    /// Begins a step, durably; goes on with the one that began there before a crash. Answers the report
    /// instead where it ended already.
    pub(crate) async fn begin_step(
        &self,
        wish: &StepWish,
    ) -> Result<Result<Box<Made>, StepReport>, Halt> {
        let (path, call) = (wish.path.clone(), wish.call.clone());
        let run = self.commit(Command::BeginStep { path, call }).await?;
        let made = run.step(&wish.path).and_then(|step| step.made());
        // The core has just said that it is there.
        let made = made.ok_or(Halt::Stopping)?;
        Ok(match made.settled() {
            Some(report) => Err(report.clone()),
            None => Ok(Box::new(made.clone())),
        })
    }

    /// Makes the call of a step that began, or finds the one that was made, and waits for its end.
    pub(crate) async fn make(&self, wish: &StepWish, made: &Made) -> Result<Called, Halt> {
        let verdict = made.call.verdict;
        if !verdict.calls() {
            return Ok(withheld(verdict));
        }
        let engine = self.engine()?;
        let Some(tool) = engine.registry().get(&made.call.tool).cloned() else {
            let near = engine.registry().nearest(&made.call.tool);
            let near = near.map_or_else(String::new, |name| format!("; did you mean {name}?"));
            let message = format!("there is no tool named {}{near}", made.call.tool);
            return Ok(Called::not_made(StepOutcome::Failed, message));
        };
        let class = match verdict {
            Verdict::Stage => tool.class.max(SafetyClass::ApprovalBound),
            Verdict::Go
            | Verdict::NeedsAllowWrites
            | Verdict::NeedsYes
            | Verdict::NotAsApproved => tool.class,
        };
        let secrets = self.secrets_in(&made.call.args);
        let attempt = self.run().try_of(&wish.path).ok_or(Halt::Stopping)?;
        let step = AsStep {
            id: attempt.action_id(made.started_at),
            key: attempt.key(),
            class,
            timeout: wish.timeout,
            attempts: wish.retries.map(|more| more.saturating_add(1)),
            labels: labels(&attempt, &secrets),
        };
        if let Some(message) = self.missing_secret(&tool, &secrets)
            && self.load(step.id)?.is_none()
        {
            return Ok(Called::not_made(StepOutcome::Failed, message));
        }
        let world = &engine.work().world;
        let beside = world.asides.begin(step.id, Arc::clone(&self.secrets));
        drop(engine);
        if class == SafetyClass::Idempotent {
            let called = self.read(wish, made, &step).await?;
            return Ok(with_text(called, beside.heard()));
        }
        let called = self.write(wish, made, step).await?;
        Ok(with_text(called, beside.heard()))
    }

    /// The secret inputs that stand in some arguments.
    fn secrets_in(&self, args: &CanonicalJson) -> Vec<String> {
        let run = self.run();
        let is_used = |name: &&String| args.as_str().contains(&format!("{{{{{name}}}}}"));
        run.start.secrets.iter().filter(is_used).cloned().collect()
    }

    /// Why the call cannot be made with its secrets: one leaves only by a call that this process makes,
    /// and only where it knows it.
    fn missing_secret(&self, tool: &Tool, secrets: &[String]) -> Option<String> {
        let first = secrets.first()?;
        let is_pulled = match tool.execute {
            Execute::Worker => true,
            Execute::Http(_) | Execute::Local(_) | Execute::Request(_) => false,
        };
        if is_pulled {
            return Some(format!(
                "the secret input {first} cannot be given to a worker, which reads its arguments from the log"
            ));
        }
        let unknown = secrets.iter().find(|name| !self.secrets.has(name))?;
        Some(format!(
            "the secret input {unknown} is not known to this process; resume the run with it"
        ))
    }

    fn load(&self, id: ActionId) -> Result<Option<Versioned>, Halt> {
        let loaded = self.runs.store.load(id);
        loaded.map_err(|error| Halt::Run(RunError::Unavailable(Box::new(error))))
    }

    /// Calls what only reads, again where that was asked for.
    async fn read(&self, wish: &StepWish, made: &Made, step: &AsStep) -> Result<Called, Halt> {
        let tries = wish.retries.unwrap_or(0).saturating_add(1);
        let mut attempts = 0;
        loop {
            attempts += 1;
            let mut called = match self.submit(made, step).await? {
                Ok(Submitted::Answered(answered)) => answered_of(answered),
                Ok(Submitted::Action { action, .. }) => called_of(&action.action),
                Err(called) => called,
            };
            called.attempts = attempts;
            let is_worth_it = called.outcome == StepOutcome::Failed
                && called
                    .http_status
                    .is_none_or(|status| status == 429 || 500 <= status);
            if tries <= attempts || !is_worth_it {
                return Ok(called);
            }
            let wait = AGAIN_WAIT.saturating_mul(1 << attempts.min(10).saturating_sub(1));
            self.rest(wait.min(RETRY_WAIT_MAX)).await?;
        }
    }

    /// Makes an action of the step, or finds the one that it is, and follows it to its end.
    async fn write(&self, wish: &StepWish, made: &Made, step: AsStep) -> Result<Called, Halt> {
        let id = match self.load(step.id)? {
            Some(_) => step.id,
            None => match self.submit(made, &step).await? {
                Ok(Submitted::Action { action, .. }) => action.action.id,
                Ok(Submitted::Answered(answered)) => return Ok(answered_of(answered)),
                Err(called) => return Ok(called),
            },
        };
        let view = self.follow(&wish.path, id).await?;
        Ok(called_of(&view.action))
    }

    /// Offers the call to the engine until it is taken on or refused.
    async fn submit(&self, made: &Made, step: &AsStep) -> Result<Result<Submitted, Called>, Halt> {
        loop {
            self.check_cancel()?;
            let engine = self.engine()?;
            let Some(by) = self.principal(&engine) else {
                let message = "the credential that started the run works no longer".to_owned();
                return Ok(Err(Called::not_made(StepOutcome::Refused, message)));
            };
            let error = match self.submit_once(&engine, &by, made, step).await {
                Ok(submitted) => return Ok(Ok(submitted)),
                Err(error) => error,
            };
            drop(engine);
            match error {
                SubmitError::Overloaded | SubmitError::Paused | SubmitError::InProgress => {
                    self.rest(AGAIN_WAIT).await?;
                }
                SubmitError::Unavailable(_) => return Err(Halt::Stopping),
                SubmitError::Refused { action } => return Ok(Err(called_of(&action.action))),
                SubmitError::InvalidArgs(mistakes) => {
                    let lines = mistakes.into_iter().map(|(pointer, message)| {
                        if pointer.is_empty() {
                            message
                        } else {
                            format!("{pointer}: {message}")
                        }
                    });
                    let message = lines.collect::<Vec<_>>().join("; ");
                    return Ok(Err(Called::not_made(StepOutcome::Failed, message)));
                }
                error @ (SubmitError::UnknownTool { .. }
                | SubmitError::KeyReused { .. }
                | SubmitError::StateUnavailable(_)
                | SubmitError::Invalid(_)) => {
                    let message = error.to_string();
                    return Ok(Err(Called::not_made(StepOutcome::Failed, message)));
                }
            }
        }
    }

    async fn submit_once(
        &self,
        engine: &Engine,
        by: &Principal,
        made: &Made,
        step: &AsStep,
    ) -> Result<Submitted, SubmitError> {
        let submission = Submission {
            tool: made.call.tool.clone(),
            args: made.call.args.value(),
            reason: made.call.intent.clone(),
            labels: BTreeMap::new(),
            expires_in: None,
            not_before: None,
            request_key: None,
        };
        engine.submit_as(by, submission, Some(step.clone())).await
    }

    /// Waits until an action is final, and says in the log what it waits for.
    async fn follow(&self, path: &StepPath, id: ActionId) -> Result<Versioned, Halt> {
        let store = Arc::clone(&self.runs.store);
        let mut waiter = store.waiters.register(id);
        let mut changed = self.live.watch();
        loop {
            let view = self.load(id)?.ok_or(Halt::Stopping)?;
            if view.action.status().is_final() {
                return Ok(view);
            }
            if let Some(why) = waits_for(&view.action) {
                let (path, action) = (path.clone(), id);
                self.commit(Command::Wait { path, action, why }).await?;
            }
            let calling_off = self.check_cancel().is_err() && may_still_be_cancelled(&view.action);
            if calling_off {
                self.cancel_action(id).await?;
            }
            tokio::select! {
                biased;
                () = store.stop.reached() => return Err(Halt::Stopping),
                () = waiter.changed() => {}
                _ = changed.changed() => {}
                // What could not be called off now is tried again.
                () = tokio::time::sleep(AGAIN_WAIT), if calling_off => {}
            }
        }
    }

    async fn cancel_action(&self, id: ActionId) -> Result<(), Halt> {
        let engine = self.engine()?;
        let by = self.principal(&engine).ok_or(Halt::CalledOff)?;
        let reason = self.run().cancel.clone().flatten();
        // Where it was too late, the action goes on to its end, and so does the step.
        drop(engine.cancel(&by, id, reason).await);
        Ok(())
    }

    /// Waits, or stops with the engine or the run.
    async fn rest(&self, time: Duration) -> Result<(), Halt> {
        let stop = &self.runs.store.stop;
        tokio::select! {
            biased;
            () = stop.reached() => Err(Halt::Stopping),
            () = tokio::time::sleep(time) => self.check_cancel(),
        }
    }
}

/// What an action of a run says of itself; whether it is true is told by its id.
fn labels(attempt: &StepTry, secrets: &[String]) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::from([
        ("run".to_owned(), attempt.run.to_string()),
        ("step".to_owned(), attempt.path.to_string()),
    ]);
    if !secrets.is_empty() {
        labels.insert(SECRETS_LABEL.to_owned(), secrets.join(" "));
    }
    labels
}

fn withheld(verdict: Verdict) -> Called {
    match verdict.flag() {
        Some(flag) => {
            let message = format!("withheld: nothing was sent; {flag} would allow it");
            Called::not_made(StepOutcome::Withheld, message)
        }
        None => {
            let message = "the call is not the one that the step's approve hash was made of: nothing was sent, and no flag allows it";
            Called::not_made(StepOutcome::Failed, message.to_owned())
        }
    }
}

fn with_text(mut called: Called, heard: Option<Heard>) -> Called {
    if let Some(heard) = heard.filter(|heard| Some(heard.status) == called.http_status) {
        called.text = heard.text;
    }
    called
}

fn answered_of(answered: Answered) -> Called {
    let passed = answered.status == Status::Succeeded;
    let message = (!passed).then(|| match answered.http_status {
        Some(status) => format!("the answer's status is {status}"),
        None => answered
            .result
            .as_str()
            .unwrap_or("there was no answer")
            .to_owned(),
    });
    Called {
        outcome: if passed {
            StepOutcome::Passed
        } else {
            StepOutcome::Failed
        },
        message,
        action: None,
        attempts: 1,
        http_status: answered.http_status,
        answer: answered.result,
        text: None,
    }
}

/// What a final action came to.
fn called_of(action: &Action) -> Called {
    let (outcome, message, answer) = match &action.phase {
        Phase::Succeeded { result } => (StepOutcome::Passed, None, result.value()),
        Phase::Failed(reason) => failed(reason, action),
        Phase::Rejected { reason, .. } => rejected(StepOutcome::Rejected, "rejected", reason),
        Phase::Expired => {
            let message = "nobody decided in time".to_owned();
            (StepOutcome::Expired, Some(message), Value::Null)
        }
        Phase::Cancelled { reason, .. } => {
            let reason = reason.as_deref().unwrap_or("no reason was given");
            rejected(StepOutcome::Cancelled, "called off", reason)
        }
        Phase::Refused(refused) => rejected(StepOutcome::Refused, &refused.code, &refused.message),
        Phase::ReplanRequired { message } => {
            let message = Some(message.clone());
            (StepOutcome::ReplanRequired, message, Value::Null)
        }
        // Only final actions are looked at.
        Phase::Staged
        | Phase::Approved { .. }
        | Phase::Accepted { .. }
        | Phase::Executing
        | Phase::Unknown { .. } => {
            let message = "it has not ended yet".to_owned();
            (StepOutcome::Failed, Some(message), Value::Null)
        }
    };
    let last = action.attempts.last();
    Called {
        outcome,
        message,
        action: Some(action.id),
        attempts: last.map_or(0, |last| last.number),
        http_status: last.and_then(|last| last.http_status),
        answer,
        text: None,
    }
}

fn rejected(outcome: StepOutcome, how: &str, reason: &str) -> (StepOutcome, Option<String>, Value) {
    (outcome, Some(format!("{how}: {reason}")), Value::Null)
}

fn failed(reason: &FailReason, action: &Action) -> (StepOutcome, Option<String>, Value) {
    let status = action.attempts.last().and_then(|last| last.http_status);
    match reason {
        FailReason::TargetRefused { answer } => {
            let message = match status {
                Some(status) => format!("the answer's status is {status}"),
                None => "the target refused it".to_owned(),
            };
            (StepOutcome::Failed, Some(message), answer.value())
        }
        FailReason::NeverDelivered { message } => {
            let message = format!("it was never delivered: {message}");
            (StepOutcome::Failed, Some(message), Value::Null)
        }
        FailReason::WorkerFailed { answer } => {
            let message = "the worker is certain that nothing happened".to_owned();
            (StepOutcome::Failed, Some(message), answer.value())
        }
        FailReason::SettledAsNotDone { reason } => rejected(
            StepOutcome::SettledNotDone,
            "nobody knew whether it happened, and a person settled that it did not",
            reason,
        ),
    }
}

/// What an action waits for that does not come by itself in a moment.
fn waits_for(action: &Action) -> Option<Waiting> {
    match &action.phase {
        Phase::Staged => Some(Waiting::Approval),
        Phase::Approved { .. } | Phase::Accepted { .. } if action.is_pulled() => {
            Some(Waiting::Turn)
        }
        Phase::Unknown { .. } => Some(Waiting::Settlement),
        Phase::Approved { .. }
        | Phase::Accepted { .. }
        | Phase::Executing
        | Phase::Succeeded { .. }
        | Phase::Failed(_)
        | Phase::Rejected { .. }
        | Phase::Expired
        | Phase::Cancelled { .. }
        | Phase::Refused(_)
        | Phase::ReplanRequired { .. } => None,
    }
}

fn may_still_be_cancelled(action: &Action) -> bool {
    match action.status() {
        Status::Staged | Status::Approved | Status::Accepted => true,
        Status::Executing
        | Status::Unknown
        | Status::Succeeded
        | Status::Failed
        | Status::Rejected
        | Status::Expired
        | Status::Cancelled
        | Status::Refused
        | Status::ReplanRequired => false,
    }
}
