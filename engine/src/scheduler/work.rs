//! What is done about one action that is due.

use std::sync::Arc;
use std::time::Duration;

use super::pull::STATE_WAIT_MAX;
use super::revalidate::view_of;
use crate::action::{
    Action, ActionId, AttemptOutcome, ClaimKey, Command, Finding, Phase, Refusal, Reminder,
    Revalidation, Worker,
};
use crate::engine::{Versioned, observe};
use crate::run::StepTry;
use crate::store::{CommitError, Request, Store};
use crate::target::aside::undecided;
use crate::target::{CommitPermit, World, kept_beside};
use crate::time::{Elapsed, Timestamp};
use crate::tool::{Context, Registry};

/// Who acts, in the log, where no principal does.
pub(crate) const ENGINE: &str = "engine";

/// How often an action is looked at again because it changed in the meantime.
const CONFLICTS_MAX: u32 = 32;

/// The wait after a look at an action failed.
const RETRY_WAIT: Duration = Duration::from_secs(1);

/// The shortest wait between two looks at what could expire while paused.
const PAUSED_WAIT: Duration = Duration::from_secs(1);

/// Everything that executing needs.
pub(crate) struct Work {
    pub(crate) store: Arc<Store>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) world: World,
}

/// Who is to make the call.
pub(super) enum Sender<'a> {
    /// The engine.
    Engine,
    /// A worker that asks for it.
    Worker {
        worker: &'a Worker,
        lease_ms: u64,
        key: Option<ClaimKey>,
    },
}

impl Sender<'_> {
    fn actor(&self) -> &str {
        match self {
            Self::Engine => ENGINE,
            Self::Worker { worker, .. } => &worker.id,
        }
    }

    fn wish(&self, revalidation: Revalidation, elapsed: Elapsed, at: Timestamp) -> Command {
        match self {
            Self::Engine => Command::Commit {
                revalidation,
                elapsed,
                at,
            },
            Self::Worker {
                worker,
                lease_ms,
                key,
            } => Command::Claim {
                revalidation,
                worker: (*worker).clone(),
                lease_ms: *lease_ms,
                key: *key,
                elapsed,
                at,
            },
        }
    }
}

/// What a look at an action came to.
pub(super) enum Step {
    /// Nothing more to do now.
    Rest,
    /// Nothing more to do before this moment, which is in no index.
    Later(Timestamp),
    /// It changed in the meantime; look again.
    Again,
    /// A commit record is durable.
    Send(Box<CommitPermit>),
}

impl Work {
    /// Does whatever is due for the action.
    pub(crate) async fn advance(&self, id: ActionId) {
        for _ in 0..CONFLICTS_MAX {
            match self.step(id).await {
                Ok(Step::Rest) => return,
                Ok(Step::Later(moment)) => return self.store.inbox.due_at(moment),
                Ok(Step::Again) => tokio::task::yield_now().await,
                Ok(Step::Send(permit)) => return self.send(*permit).await,
                Err(error) => {
                    tracing::error!(
                        action.id = %id,
                        error = &error as &dyn std::error::Error,
                        "{id} could not be moved on"
                    );
                    // It is still in the index; the scheduler looks there again after a while.
                    let later = self.store.time.now().plus(RETRY_WAIT);
                    return self.store.inbox.due_at(later);
                }
            }
        }
    }

    async fn step(&self, id: ActionId) -> Result<Step, CommitError> {
        if self.store.stop.may_begin().is_err() {
            return Ok(Step::Rest);
        }
        let Some(view) = self.store.load(id)? else {
            return Ok(Step::Rest);
        };
        let now = self.store.time.now();
        let past_deadline = view
            .action
            .deadline()
            .is_some_and(|deadline| deadline <= now);
        match view.action.phase {
            Phase::Staged | Phase::Approved { .. } if past_deadline => {
                let wish = |at| Command::ReachDeadline { at };
                self.commit(view, ENGINE, wish).await
            }
            Phase::Staged if is_due(view.action.next_reminder(), now) => {
                let wish = |at| Command::Remind { at };
                self.commit(view, ENGINE, wish).await
            }
            Phase::Approved { run_at, .. } | Phase::Accepted { run_at } if run_at <= now => {
                if view.action.is_pulled() && self.is_defined(&view.action) {
                    return Ok(Step::Rest);
                }
                if self.store.pause.is_paused() || self.lacks_secret(&view.action) {
                    self.look_at_the_deadline(&view.action, now);
                    return Ok(Step::Rest);
                }
                if let Some(moment) = self.held_until(&view.action) {
                    self.look_at_the_deadline(&view.action, now);
                    return Ok(Step::Later(moment));
                }
                self.attempt(view, &Sender::Engine).await
            }
            Phase::Executing if leased_until(&view.action).is_some_and(|end| end <= now) => {
                let wish = |at| Command::ReachLeaseEnd { at };
                self.commit(view, ENGINE, wish).await
            }
            Phase::Unknown {
                next_check: Some(at),
                ..
            } if at <= now => self.check(view).await,
            Phase::Unknown {
                next_check: None,
                next_resend: Some(at),
                ..
            } if at <= now && !self.store.pause.is_paused() => self.attempt_again(view).await,
            Phase::Staged
            | Phase::Approved { .. }
            | Phase::Accepted { .. }
            | Phase::Executing
            | Phase::Unknown { .. }
            | Phase::Succeeded { .. }
            | Phase::Failed(_)
            | Phase::Rejected { .. }
            | Phase::Expired
            | Phase::Cancelled { .. }
            | Phase::Refused(_)
            | Phase::ReplanRequired { .. } => Ok(Step::Rest),
        }
    }

    /// Until when a call is held back that the clock alone would let go; none where it is not.
    pub(super) fn held_until(&self, action: &Action) -> Option<Timestamp> {
        let elapsed = self.store.time.elapsed();
        let held = action.held_for(&elapsed);
        (!held.is_zero()).then(|| self.store.time.now().plus(held))
    }

    /// What is held back can still expire. Looked at no more than once a second, for
    /// however many deadlines.
    fn look_at_the_deadline(&self, action: &Action, now: Timestamp) {
        if let Some(deadline) = action.deadline() {
            self.store.inbox.due_at(deadline.max(now.plus(PAUSED_WAIT)));
        }
    }

    /// Reads the world again and sends the same call once more, or learns that it cannot be.
    async fn attempt_again(&self, view: Versioned) -> Result<Step, CommitError> {
        let first = view.action.attempts.first();
        let is_longer_ago =
            first.is_some_and(|first| self.store.time.may_be_longer_ago(first.started_at));
        let forgotten = is_longer_ago.then(|| {
            "the machine's clock was behind the log at the start, so that the target may have \
             forgotten the key"
                .to_owned()
        });
        let otherwise = || self.world.asides.sent_otherwise(&view.action);
        if let Some(message) = forgotten.or_else(otherwise) {
            let wish = |at| Command::DropResend { message, at };
            return self.commit(view, ENGINE, wish).await;
        }
        match self.look_again(&view.action).await {
            Ok(revalidation) => {
                let wish = |at| Command::Resend { revalidation, at };
                self.commit(view, ENGINE, wish).await
            }
            Err(message) => {
                let wish = |at| Command::Defer { message, at };
                self.commit(view, ENGINE, wish).await
            }
        }
    }

    /// Reads the world again and commits, defers, or learns that it moved. All of it is decided on
    /// the version that was loaded before the world was read (invariant I3).
    pub(super) async fn attempt(
        &self,
        view: Versioned,
        sender: &Sender<'_>,
    ) -> Result<Step, CommitError> {
        let looked = self.look_again(&view.action);
        let found = match sender {
            Sender::Engine => looked.await,
            // Whoever claims waits for it.
            Sender::Worker { .. } => tokio::time::timeout(STATE_WAIT_MAX, looked)
                .await
                .unwrap_or_else(|_| Err(unread_in_time())),
        };
        match found {
            Ok(revalidation) => {
                let elapsed = self.store.time.elapsed();
                let wish = |at| sender.wish(revalidation, elapsed, at);
                self.commit(view, sender.actor(), wish).await
            }
            Err(message) => {
                let wish = |at| Command::Defer { message, at };
                self.commit(view, ENGINE, wish).await
            }
        }
    }

    /// Whether the tool is still the one that the action was proposed with.
    fn is_defined(&self, action: &Action) -> bool {
        let proposal = &action.proposal;
        self.registry
            .get(&proposal.tool)
            .is_some_and(|tool| tool.digest == proposal.tool_digest)
    }

    pub(super) async fn commit(
        &self,
        view: Versioned,
        actor: &str,
        wish: impl FnOnce(Timestamp) -> Command,
    ) -> Result<Step, CommitError> {
        // Not one commit record after a stop (I22).
        if self.store.stop.may_begin().is_err() {
            return Ok(Step::Rest);
        }
        // Held until the commit record is durable, where it comes to one.
        let sending = self.store.pause.sending().await;
        let at = self.store.time.now();
        let command = wish(at);
        let sends = matches!(
            command,
            Command::Commit { .. } | Command::Claim { .. } | Command::Resend { .. }
        );
        if sends && sending.is_none() {
            return Ok(Step::Rest);
        }
        let request = Request {
            id: view.action.id,
            before: Some(view),
            command,
            actor: actor.to_owned(),
            claims: Vec::new(),
            releases: Vec::new(),
            at,
        };
        match self.store.commit(request).await {
            Ok(committed) => Ok(CommitPermit::of(committed)
                .map_or(Step::Rest, |permit| Step::Send(Box::new(permit)))),
            Err(CommitError::Conflict) => Ok(Step::Again),
            // Somebody was faster, or the clock of the decision was a little earlier.
            Err(CommitError::Refused(Refusal::OutOfPlace { .. } | Refusal::NotDue { .. })) => {
                Ok(Step::Rest)
            }
            Err(error) => Err(error),
        }
    }

    async fn send(&self, permit: CommitPermit) {
        let id = permit.action().id;
        let attempt = permit.attempt();
        // The store failed for somebody else in between: no effect without a way to record it (I22).
        // At the next start this attempt is unknown, as any that has no result.
        if self.store.stop.may_write().is_err() {
            return;
        }
        let class = permit.action().proposal.class;
        let begun = self.store.time.now();
        let is_step = StepTry::of_action(permit.action()).is_some();
        let (outcome, body) = if let Some(tool) = self.registry.get(&permit.action().proposal.tool)
        {
            self.world.send(permit, tool, &self.store.time).await
        } else {
            let message = "the tool is not defined any more".to_owned();
            (AttemptOutcome::NotDelivered { message }, None)
        };
        // A run looks at an answer as it came, also after a crash.
        let body = body.filter(|_| is_step);
        let answer = body.and_then(|body| kept_beside(&outcome, body));
        observe::execution(class, &outcome, self.store.time.now().since(begun));
        self.record(id, attempt, outcome, answer).await;
    }

    /// Asks the source of truth whether the last attempt took effect.
    async fn check(&self, view: Versioned) -> Result<Step, CommitError> {
        let action = &view.action;
        let proposal = &action.proposal;
        let Some(last) = action.attempts.last() else {
            return Ok(Step::Rest);
        };
        let attempt = last.number;
        // A clock that was set forward makes no request arrive sooner.
        let asked_at = self.store.time.proven_since(last.started_at);
        let tool = self
            .registry
            .get(&proposal.tool)
            .filter(|tool| tool.digest == proposal.tool_digest);
        let finding = match tool.map(|tool| (tool, undecided(tool, action))) {
            Some((_, Some(message))) => Finding::Inconclusive { message },
            Some((tool, None)) => {
                let args = proposal.args.value();
                let state = action
                    .snapshot
                    .as_ref()
                    .map(|snapshot| snapshot.state.value());
                let ctx = Context {
                    args: &args,
                    caller: &proposal.caller,
                    state: view_of(state.as_ref(), action.snapshot.as_ref()),
                    action_id: Some(action.id),
                    idempotency_key: Some(&proposal.idempotency_key),
                };
                self.world.ask(tool, &ctx).await
            }
            None => Finding::Inconclusive {
                message: "the tool is not defined any more as it was when the call was sent"
                    .to_owned(),
            },
        };
        let wish = |at| Command::Check {
            attempt,
            finding,
            asked_at,
            at,
        };
        self.commit(view, ENGINE, wish).await
    }
}

/// When the lease of the attempt on its way ends, where a worker has it.
pub(super) fn leased_until(action: &Action) -> Option<Timestamp> {
    let lease = action.attempts.last()?.lease.as_ref()?;
    Some(lease.until)
}

fn unread_in_time() -> String {
    format!(
        "the state could not be read in {} s, the longest that a claim of a worker waits for it",
        STATE_WAIT_MAX.as_secs()
    )
}

fn is_due(next: Option<(Reminder, Timestamp)>, now: Timestamp) -> bool {
    next.is_some_and(|(_, due)| due <= now)
}
