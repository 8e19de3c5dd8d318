//! What carries a run on: the file or the function on one side, the engine on the other.
//!
//! A driver lives as long as its task. It holds the engine weakly, so that an engine that is dropped
//! stops as if the process had died; what it leaves open is found in the log.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::authority::Authority;
use super::decide::Command;
use super::event::{End, StepReport};
use super::id::StepPath;
use super::refusal::RunRefusal;
use super::shell::{Live, RunError, Runs};
use super::state::Run;
use crate::canon::CanonicalJson;
use crate::engine::{Engine, WeakEngine};
use crate::identity::{LOCAL, Principal};
use crate::scheduler::ENGINE;
use crate::skill::Secrets;
use crate::target::shortened;

/// The longest words at the end of a run, in characters.
const MESSAGE_CHARS_MAX: usize = 4000;

/// The wait before something that could not be taken on is offered again.
pub(super) const AGAIN_WAIT: Duration = Duration::from_secs(1);

/// Carries on one run.
#[derive(Clone)]
pub(crate) struct Driver {
    pub(crate) engine: WeakEngine,
    pub(crate) runs: Arc<Runs>,
    pub(crate) live: Arc<Live>,
    /// Whether its code has ended: what that left open is called off then.
    pub(super) closing: Arc<watch::Sender<bool>>,
}

/// Why nothing more happens now. The run stays as it is in the log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Halt {
    /// The engine stops; whoever starts next goes on.
    #[error("the engine is stopping")]
    Stopping,
    /// Somebody called the run off.
    #[error("the run was called off")]
    CalledOff,
    /// The log did not take it, or the core said no.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Halt {
    /// Whether the run ends by it, for good: then nothing of it stays open.
    pub(super) fn ends_run(&self) -> bool {
        matches!(
            self,
            Self::CalledOff | Self::Run(RunError::Refused(RunRefusal::Full) | RunError::Invalid(_))
        )
    }
}

impl Driver {
    /// Carries on that run.
    pub(crate) fn new(engine: WeakEngine, runs: Arc<Runs>, live: Arc<Live>) -> Self {
        Self {
            engine,
            runs,
            live,
            closing: Arc::new(watch::Sender::new(false)),
        }
    }

    /// The engine, while it is there and works.
    pub(crate) fn engine(&self) -> Result<Engine, Halt> {
        let engine = self.engine.upgrade().ok_or(Halt::Stopping)?;
        self.runs
            .store
            .stop
            .may_begin()
            .map_err(|_| Halt::Stopping)?;
        Ok(engine)
    }

    /// The run as it is now.
    pub(crate) fn run(&self) -> Arc<Run> {
        self.live.run()
    }

    /// Its secret inputs, as far as this process knows them now.
    pub(crate) fn secrets(&self) -> Arc<Secrets> {
        self.live.given.now()
    }

    /// Who started the run, with what they may do now (invariant I18); none where their credential has
    /// ended.
    pub(crate) fn principal(&self, engine: &Engine) -> Option<Principal> {
        let caller = &self.run().start.caller;
        if caller.id == LOCAL {
            return Some(Principal::local(&caller.name, engine.registry().scopes()));
        }
        engine.identity().principal(&caller.id)
    }

    /// What whoever started the run may let out now (invariant I18).
    pub(crate) fn authority(&self, engine: &Engine) -> Authority {
        let by = self.principal(engine);
        by.as_ref().map_or(Authority::NONE, Authority::of)
    }

    /// Fails where nothing more may be begun: somebody called the run off, or its code has ended.
    pub(crate) fn check_cancel(&self) -> Result<(), Halt> {
        match self.run().cancel {
            Some(_) => Err(Halt::CalledOff),
            None if *self.closing.borrow() => Err(Halt::CalledOff),
            None => Ok(()),
        }
    }

    /// Waits until nothing more may be begun.
    pub(super) async fn called_off(&self) {
        let (mut changed, mut closing) = (self.live.watch(), self.closing.subscribe());
        while self.check_cancel().is_ok() {
            tokio::select! {
                _ = changed.changed() => {}
                _ = closing.changed() => {}
            }
        }
    }

    /// Says that it is carried on, maybe once more.
    pub(super) fn open(&self) {
        self.closing.send_replace(false);
    }

    /// Says that its code has ended: from now on what is open is called off.
    pub(super) fn close(&self) {
        self.closing.send_replace(true);
    }

    /// Decides a wish of the run's own, and waits until it is durable.
    pub(crate) async fn commit(&self, command: Command) -> Result<Arc<Run>, Halt> {
        self.commit_all(vec![command]).await
    }

    /// The same for several wishes, in one append.
    pub(crate) async fn commit_all(&self, wishes: Vec<Command>) -> Result<Arc<Run>, Halt> {
        loop {
            let wishes = wishes.clone();
            match self.runs.commit_all(&self.live, ENGINE, wishes).await {
                Err(RunError::NoRoom(_)) => self.wait_for_room().await?,
                done => return Ok(done?),
            }
        }
    }

    /// Waits until it is worth to try again what the store had no room for, or the engine stops.
    pub(super) async fn wait_for_room(&self) -> Result<(), Halt> {
        let id = self.live.id;
        tracing::warn!(run.id = %id, "{id} goes on when the store has room again");
        tokio::select! {
            biased;
            () = self.runs.store.stop.reached() => Err(Halt::Stopping),
            () = tokio::time::sleep(AGAIN_WAIT) => Ok(()),
        }
    }

    /// Ends a step.
    pub(crate) async fn end_step(&self, path: &StepPath, report: StepReport) -> Result<(), Halt> {
        self.commit(Command::EndStep {
            path: path.clone(),
            report: Box::new(report),
        })
        .await
        .map(|_| ())
    }

    /// Ends the run.
    pub(crate) async fn end(
        &self,
        end: End,
        output: CanonicalJson,
        message: Option<String>,
    ) -> Result<(), Halt> {
        let message = message.map(|words| shortened(&words, MESSAGE_CHARS_MAX));
        self.commit(Command::End {
            end,
            output,
            message,
        })
        .await
        .map(|_| ())
    }
}
