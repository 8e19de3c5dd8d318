//! The action of a step, followed to its end: what it waits for, and what becomes of it where its run is called
//! off.

use std::sync::Arc;

use super::called::{Called, called_of, may_still_be_cancelled, waits_for};
use super::decide::Command;
use super::driver::{AGAIN_WAIT, Driver, Halt};
use super::event::{StepOutcome, Waiting};
use super::id::StepPath;
use super::state::Made;
use crate::action::{Action, ActionId};
use crate::engine::Versioned;
use crate::scheduler::ENGINE;
use crate::target::aside::SECRETS_LABEL;

impl Driver {
    /// Waits until an action is final, and says in the log what it waits for. One that is not the step's own
    /// is left as it is, whatever becomes of the run.
    pub(super) async fn follow(
        &self,
        path: &StepPath,
        id: ActionId,
        is_own: bool,
    ) -> Result<Versioned, Halt> {
        let store = Arc::clone(&self.runs.store);
        let mut waiter = store.waiters.register(id);
        let mut changed = self.live.watch();
        let mut given = self.live.given.watch();
        let mut closing = self.closing.subscribe();
        loop {
            let view = self.load(id)?.ok_or(Halt::Stopping)?;
            if view.action.status().is_final() {
                return Ok(view);
            }
            if let Some(why) = self.waits(path, &view.action)? {
                let (path, action) = (path.clone(), id);
                self.commit(Command::Wait { path, action, why }).await?;
            }
            if !is_own {
                self.check_cancel()?;
            }
            let calling_off = self.check_cancel().is_err() && may_still_be_cancelled(&view.action);
            if calling_off {
                self.cancel_action(id).await;
            }
            tokio::select! {
                biased;
                () = store.stop.reached() => return Err(Halt::Stopping),
                () = waiter.changed() => {}
                _ = changed.changed() => {}
                _ = given.changed() => {}
                _ = closing.changed() => {}
                // What could not be called off now is tried again.
                () = tokio::time::sleep(AGAIN_WAIT), if calling_off => {}
            }
        }
    }

    /// What the action of a step waits for. One that was held back until its secret came is offered again.
    fn waits(&self, path: &StepPath, action: &Action) -> Result<Option<Waiting>, Halt> {
        let run = self.run();
        let open = run.step(path).and_then(|step| step.open());
        let said = open.and_then(|made| made.waiting).map(|(_, why)| why);
        let now = self.runs.store.time.now();
        if action.run_at().is_some() && action.proposal.labels.contains_key(SECRETS_LABEL) {
            let engine = self.engine()?;
            if engine.work().world.asides.missing_secret(action).is_some() {
                return Ok(Some(Waiting::Secret));
            }
            self.runs.store.inbox.offer(action, now);
        }
        Ok(waits_for(action, said, now))
    }

    /// Takes back what is under way, where that is still possible, and waits for the end of what is not:
    /// what a run leaves open when it ends could take effect later, and nobody would note it.
    pub(super) async fn call_off_steps(&self) -> Result<(), Halt> {
        self.close();
        let run = self.run();
        let open = run.steps.iter().filter_map(|step| {
            let (made, attempt) = (step.open()?, run.try_of(&step.path)?);
            Some(self.call_off(&step.path, made, attempt.action_id(made.started_at)))
        });
        futures_util::future::try_join_all(open).await.map(drop)
    }

    async fn call_off(&self, path: &StepPath, made: &Made, id: ActionId) -> Result<(), Halt> {
        let called = if self.load(id)?.is_some() {
            called_of(&self.follow(path, id, true).await?.action)
        } else {
            let message = match made.waiting {
                Some((other, _)) => format!(
                    "the run ended; {other}, which stood for this call, is not its own and goes on"
                ),
                None => "the run ended before it was made".to_owned(),
            };
            Called::not_made(StepOutcome::Cancelled, message)
        };
        self.end_step(path, called.report()).await
    }

    /// Takes an action of the run back, as the engine: whoever calls a run off need not be who started it,
    /// whose credential may have ended.
    async fn cancel_action(&self, id: ActionId) {
        let reason = match self.run().cancel.clone() {
            Some(reason) => reason,
            None => Some("its run ended while it was open".to_owned()),
        };
        let wish = |at| crate::action::Command::Cancel {
            by: ENGINE.to_owned(),
            reason: reason.clone(),
            at,
        };
        // Where it was too late, the action goes on to its end, and so does the step.
        drop(self.runs.store.act(id, ENGINE, wish).await);
    }
}
