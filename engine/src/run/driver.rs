//! What carries a run on: the file or the function on one side, the engine on the other.
//!
//! A driver lives as long as its task. It holds the engine weakly, so that an engine that is dropped
//! stops as if the process had died; what it leaves open is found in the log.

use std::sync::Arc;

use super::authority::Authority;
use super::decide::Command;
use super::event::{End, StepReport};
use super::id::StepPath;
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

/// Carries on one run.
#[derive(Clone)]
pub(crate) struct Driver {
    pub(crate) engine: WeakEngine,
    pub(crate) runs: Arc<Runs>,
    pub(crate) live: Arc<Live>,
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

impl Driver {
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

    /// Fails where somebody called the run off.
    pub(crate) fn check_cancel(&self) -> Result<(), Halt> {
        match self.run().cancel {
            Some(_) => Err(Halt::CalledOff),
            None => Ok(()),
        }
    }

    /// Decides a wish of the run's own, and waits until it is durable.
    pub(crate) async fn commit(&self, command: Command) -> Result<Arc<Run>, Halt> {
        Ok(self.runs.commit(&self.live, ENGINE, command).await?)
    }

    /// The same for several wishes, in one append.
    pub(crate) async fn commit_all(&self, wishes: Vec<Command>) -> Result<Arc<Run>, Halt> {
        Ok(self.runs.commit_all(&self.live, ENGINE, wishes).await?)
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
