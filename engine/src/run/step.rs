//! One step of a run: begun durably, made once, followed to its end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::authority::Authority;
use super::called::{Called, answered_of, called_of, stood_for, unauthorised, with_body, withheld};
use super::decide::Command;
use super::driver::{AGAIN_WAIT, Driver, Halt};
use super::event::{StepCall, StepOutcome, StepReport, Verdict};
use super::gate::Effects;
use super::id::{StepPath, StepTry};
use super::shell::RunError;
use super::state::Made;
use crate::action::{ActionId, AnswerBody, SafetyClass, Status};
use crate::engine::submit::AsStep;
use crate::engine::{Engine, Submission, SubmitError, Submitted, Versioned};
use crate::identity::Principal;
use crate::target::aside::{Heard, SECRETS_LABEL};
use crate::tool::EffectClass;

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

impl Driver {
    /// Begins a step, durably; goes on with the one that began there before a crash. Answers the report
    /// instead where it ended already.
    pub(crate) async fn begin_step(
        &self,
        wish: &StepWish,
    ) -> Result<Result<Box<Made>, StepReport>, Halt> {
        let run = self.commit(self.begins(wish)).await?;
        let made = run.step(&wish.path).and_then(|step| step.made());
        // The core has just said that it is there.
        let made = made.ok_or(Halt::Stopping)?;
        Ok(match made.settled() {
            Some(report) => Err(report.clone()),
            None => Ok(Box::new(made.clone())),
        })
    }

    /// Begins and ends a step of which nothing is sent, in one append: there is no moment at which it looks
    /// as if something were on its way.
    pub(super) async fn end_unmade(&self, wish: &StepWish, report: StepReport) -> Result<(), Halt> {
        let end = Command::EndStep {
            path: wish.path.clone(),
            report: Box::new(report),
        };
        self.commit_all(vec![self.begins(wish), end]).await?;
        Ok(())
    }

    /// A file is filled again where nothing of a step was sent; the calls of code are those of its history.
    fn begins(&self, wish: &StepWish) -> Command {
        let (path, call) = (wish.path.clone(), wish.call.clone());
        let run = self.run();
        let is_open = run.step(&path).is_some_and(|step| step.open().is_some());
        if is_open && run.is_skill() {
            Command::BeginAnew { path, call }
        } else {
            Command::BeginStep { path, call }
        }
    }

    /// Makes the call of a step that began, or finds the one that was made, and waits for its end.
    pub(crate) async fn make(&self, wish: &StepWish, made: &Made) -> Result<Called, Halt> {
        let verdict = made.call.verdict;
        if !verdict.calls() {
            return Ok(withheld(verdict));
        }
        let attempt = self.run().try_of(&wish.path).ok_or(Halt::Stopping)?;
        let id = attempt.action_id(made.started_at);
        let is_there = self.load(id)?.is_some();
        let engine = self.engine()?;
        let Some(tool) = engine.registry().get(&made.call.tool).cloned() else {
            if is_there {
                // What was asked for goes on, whatever the tools file says now.
                return Ok(called_of(&self.follow(&wish.path, id, true).await?.action));
            }
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
            | Verdict::NotAsApproved
            | Verdict::NeedsAuthority(_) => tool.class,
        };
        let run = self.run();
        let secrets: Vec<_> = run.secrets_in(&made.call.args).cloned().collect();
        let step = AsStep {
            id,
            key: attempt.key(),
            class,
            timeout: wish.timeout,
            attempts: wish.retries.map(|more| more.saturating_add(1)),
            live: Arc::clone(&self.live),
            labels: labels(&attempt, &secrets),
        };
        if let Some(message) = self.missing_secret(&secrets)
            && !is_there
        {
            return Ok(Called::not_made(StepOutcome::Failed, message));
        }
        let world = &engine.work().world;
        let beside = world.asides.begin(step.id, Arc::clone(&self.live.given));
        drop(engine);
        if class == SafetyClass::Idempotent && !is_there {
            let called = self.read(wish, made, &step).await?;
            return self.with_answer(called, beside.heard());
        }
        let called = self.write(wish, made, step).await?;
        self.with_answer(called, beside.heard())
    }

    /// With the answer of an action as it came: as this process heard it, else as it was kept.
    fn with_answer(&self, called: Called, heard: Option<Heard>) -> Result<Called, Halt> {
        if let Some(heard) = heard.filter(|heard| Some(heard.status) == called.http_status) {
            return Ok(with_body(called, heard.body));
        }
        // Without a status there was no answer but that of a function.
        let Some(id) = called.action.filter(|_| called.http_status.is_some()) else {
            return Ok(called);
        };
        let kept = self.runs.store.kept_answer(id);
        let kept = kept.map_err(|error| Halt::Run(RunError::Unavailable(Box::new(error))))?;
        Ok(match (kept, &called.answer) {
            (Some(body), _) => with_body(called, body),
            (None, Value::String(text)) => {
                let body = AnswerBody::Text(text.clone());
                with_body(called, body)
            }
            (None, _) => called,
        })
    }

    /// Why the call cannot be made with its secrets: this process does not know one.
    fn missing_secret(&self, secrets: &[String]) -> Option<String> {
        let known = self.secrets();
        let unknown = secrets.iter().find(|name| !known.has(name))?;
        Some(format!(
            "the secret input {unknown} is not known to this process; resume the run with it"
        ))
    }

    /// Whether the action of a step that is under way is there.
    pub(super) fn has_action(&self, path: &StepPath, made: &Made) -> Result<bool, Halt> {
        let attempt = self.run().try_of(path).ok_or(Halt::Stopping)?;
        let view = self.load(attempt.action_id(made.started_at))?;
        Ok(view.is_some())
    }

    /// The action of a try that is over, where its write certainly took effect.
    pub(super) fn happened(&self, made: &Made) -> Result<Option<ActionId>, Halt> {
        for id in made.actions() {
            let view = self.load(id)?;
            if view.is_some_and(|view| view.action.status() == Status::Succeeded) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    pub(super) fn load(&self, id: ActionId) -> Result<Option<Versioned>, Halt> {
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
            if called.attempts != 0 {
                called.attempts = attempts;
            }
            if tries <= attempts || !called.may_end_otherwise {
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
        let is_own = id == step.id;
        self.ask_for(id, is_own).await?;
        let view = self.follow(&wish.path, id, is_own).await?;
        Ok(if is_own {
            called_of(&view.action)
        } else {
            stood_for(&view.action)
        })
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
            if let Some(class) = Authority::of(&by).lacks(self.lets_out(&engine, made)) {
                return Ok(Err(unauthorised(StepOutcome::Refused, class)));
            }
            let error = match self.submit_once(&engine, &by, made, step).await {
                Ok(submitted) => return Ok(Ok(submitted)),
                Err(error) => error,
            };
            drop(engine);
            match error {
                // An engine that stops says so when it is asked for.
                SubmitError::Overloaded
                | SubmitError::Paused
                | SubmitError::InProgress
                | SubmitError::Unavailable(_) => self.rest(AGAIN_WAIT).await?,
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
                error @ SubmitError::StateUnavailable(_) => {
                    let called = Called::not_made(StepOutcome::Failed, error.to_string());
                    return Ok(Err(Called {
                        may_end_otherwise: true,
                        ..called
                    }));
                }
                error @ (SubmitError::UnknownTool { .. }
                | SubmitError::KeyReused { .. }
                | SubmitError::AskedByAnother
                | SubmitError::Invalid(_)) => {
                    let message = error.to_string();
                    return Ok(Err(Called::not_made(StepOutcome::Failed, message)));
                }
            }
        }
    }

    /// The class of calls that whoever started the run must be allowed to let out for a step to be made.
    fn lets_out(&self, engine: &Engine, made: &Made) -> EffectClass {
        // People let out what is put before them; what code calls is what the program says.
        if made.call.verdict == Verdict::Stage || !self.run().is_skill() {
            return EffectClass::Read;
        }
        let said = made.call.effect;
        let tool = engine.registry().get(&made.call.tool);
        tool.map_or(said, |tool| {
            Effects {
                said,
                usual: tool.effect,
            }
            .worst()
        })
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
