//! Who stands on the asking side of what a run has before people (invariant I8).
//!
//! An action keeps who made its run go on in its own history, and a vote looks there. So whoever makes a run
//! go on is put on each of its open actions first, and on the run after that: an action that is made in the
//! meantime is durable before it is looked for, or begins with what the run says by then. Both happen under
//! [`Live::asking`], so that there is no moment between.

use std::sync::Arc;

use holdpoint_storage::Claim;

use super::decide::Command;
use super::driver::{Driver, Halt};
use super::shell::{Live, RunError, Runs, after};
use super::state::Run;
use crate::action::{self, ActionId, Instigator, Refusal};
use crate::scheduler::ENGINE;
use crate::store::CommitError;

impl Runs {
    /// Makes wishes of somebody come true who makes the run go on by them, and does not vote on its steps from
    /// then on. Refused where they have approved one that is open, unless `may_have_approved`. In one write with
    /// a claim, where there is one; answers what its holder left where it is held.
    pub(crate) async fn commit_asking(
        self: &Arc<Self>,
        live: &Arc<Live>,
        by: Instigator,
        mut wishes: Vec<Command>,
        may_have_approved: bool,
        claim: Option<Claim>,
    ) -> Result<Result<Arc<Run>, Vec<u8>>, RunError> {
        let actor = by.id.clone();
        wishes.push(Command::Instigate { by: by.clone() });
        let others = live.asking.lock().await;
        self.store.may_answer()?;
        let run = live.run();
        // What is refused changes nothing.
        after(Some(&run), live.id, wishes.clone(), self.store.time.now())?;
        let open = run.open_actions().into_iter();
        for id in open.chain(others.iter().copied()) {
            let by = std::slice::from_ref(&by);
            match self.instigate(id, &actor, by, may_have_approved).await {
                Ok(()) => {}
                Err(CommitError::Refused(Refusal::OwnApproval)) => {
                    return Err(RunError::Forbidden(format!(
                        "whoever has approved {id}, which this run waits for, does not make the run go on; \
                         take the approval back where that is still possible, or let somebody else do it"
                    )));
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.commit_with(live, &actor, wishes, claim).await
    }

    /// Puts them on the asking side of an action, where it is there and open.
    async fn instigate(
        &self,
        id: ActionId,
        actor: &str,
        by: &[Instigator],
        may_have_approved: bool,
    ) -> Result<(), CommitError> {
        let wish = |at| action::Command::Instigate {
            by: by.to_vec(),
            may_have_approved,
            at,
        };
        match self.store.act(id, actor, wish).await {
            // A step begins before its action.
            Ok(_) | Err(CommitError::Missing) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl Driver {
    /// Puts everybody who makes the run go on on the asking side of the action that stands for a step of it:
    /// whoever started it too, where that action is not its own.
    pub(super) async fn ask_for(&self, id: ActionId, is_own: bool) -> Result<(), Halt> {
        loop {
            let mut others = self.live.asking.lock().await;
            let run = self.run();
            let mut by = run.instigators.clone();
            if !is_own {
                others.insert(id);
                let caller = &run.start.caller;
                by.push(Instigator {
                    id: caller.id.clone(),
                    name: caller.name.clone(),
                    owner: caller.owner.clone(),
                });
            }
            if by.is_empty() {
                return Ok(());
            }
            let done = self.runs.instigate(id, ENGINE, &by, true).await;
            drop(others);
            match done {
                Ok(()) => return Ok(()),
                Err(CommitError::Full(_)) => self.wait_for_room().await?,
                Err(error) => return Err(Halt::Run(error.into())),
            }
        }
    }
}

impl Run {
    /// The actions that may stand for the steps that are under way: their own, and what they wait for.
    fn open_actions(&self) -> Vec<ActionId> {
        let open = self.steps.iter().filter_map(|step| {
            let made = step.open()?;
            let own = self.try_of(&step.path)?.action_id(made.started_at);
            let other = made.waiting.map(|(id, _)| id).filter(|id| *id != own);
            Some(std::iter::once(own).chain(other))
        });
        open.flatten().collect()
    }
}
