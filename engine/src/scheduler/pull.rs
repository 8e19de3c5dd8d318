//! Work for services that ask for it. To give work out is to commit it: what was approved is compared
//! with the world, and commit record and lease are one append (invariants I3 and I12).

use std::collections::HashMap;
use std::time::Duration;

use holdpoint_storage::{Direction, ScanRange};
use tokio::time::Instant;

use super::work::{ENGINE, Sender, Step, Work};
use crate::action::{
    Action, ActionId, AttemptOutcome, ClaimKey, Command, Holder, WorkReport, Worker,
};
use crate::canon::Digest;
use crate::engine::observe;
use crate::limits::{LEASE_MS_MAX, LEASE_MS_MIN};
use crate::store::CommitError;
use crate::store::index::{self, NEVER, WorkKey};
use crate::target::CommitPermit;
use crate::time::Timestamp;

/// How many entries of a tool are read at once.
pub(super) const PAGE: usize = 64;

/// The longest that a claim waits for the state of one action. A worker gives up 30 seconds after the
/// wait that it asked for, and would then be given nothing for ever.
pub(super) const STATE_WAIT_MAX: Duration = Duration::from_secs(20);

/// How often an action is looked at again because it changed in the meantime.
const CONFLICTS_MAX: u32 = 32;

/// Who asks for work, and how.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) worker: Worker,
    /// How long the lease is to be, in milliseconds; none for the time limit of the tool.
    pub(crate) lease_ms: Option<u64>,
    /// The key of the claim, where it has one.
    pub(crate) key: Option<ClaimKey>,
}

/// What a look for work came to.
pub(crate) enum Pulled {
    /// This is the worker's now.
    Work(Box<CommitPermit>),
    /// There is nothing now; when there may be, as far as is known.
    Nothing {
        /// [`NEVER`] where nothing waits.
        next: Timestamp,
    },
}

/// What became of one thing that was ready.
enum Given {
    /// It is committed for the worker.
    Work(Box<CommitPermit>),
    /// Not now; when it may be.
    Later(Timestamp),
    /// Not now.
    Nothing,
}

/// How far a look for work has come.
struct Look<'a> {
    now: Timestamp,
    /// The last entry of each tool that was looked at.
    above: HashMap<&'a str, Vec<u8>>,
    /// Whether the state of something was read, and it could not be given out.
    read_in_vain: bool,
    /// When the first of those may be given out that a clock which was set forward does not free.
    held_until: Timestamp,
    /// What went wrong with one of them.
    broken: Option<CommitError>,
}

impl Work {
    /// Gives one thing to a worker: what has been ready longest, of any of these tools. Where the state
    /// of one was read in vain, what needs no reading comes before what does, and nothing is read once
    /// `until` is over: one tool whose state does not come must not keep the worker from the others.
    pub(crate) async fn pull(
        &self,
        tools: &[String],
        asked: &Asked,
        until: Instant,
    ) -> Result<Pulled, CommitError> {
        if self.store.pause.is_paused() {
            // Resuming wakes everybody who waits.
            return Ok(Pulled::Nothing { next: NEVER });
        }
        let now = self.store.time.now();
        let mut look = Look {
            now,
            above: HashMap::new(),
            read_in_vain: false,
            held_until: NEVER,
            broken: None,
        };
        let all: Vec<&str> = tools.iter().map(String::as_str).collect();
        let (read, at_once): (Vec<&str>, Vec<&str>) =
            all.iter().partition(|tool| self.reads_state(tool));
        let mut given = self
            .look(&mut look, &all, asked, |look| look.read_in_vain)
            .await?;
        if given.is_none() && look.read_in_vain {
            given = self.look(&mut look, &at_once, asked, |_| false).await?;
        }
        if given.is_none() && look.read_in_vain {
            let is_over = |_: &Look<'_>| until <= Instant::now();
            given = self.look(&mut look, &read, asked, is_over).await?;
        }
        if let Some(permit) = given {
            return Ok(Pulled::Work(Box::new(permit)));
        }
        if let Some(error) = look.broken {
            return Err(error);
        }
        let mut next = look.held_until;
        for tool in tools {
            next = next.min(self.next_of(tool, now)?);
        }
        Ok(Pulled::Nothing { next })
    }

    /// Goes on through what is ready of these tools, in the order in which it became ready, until
    /// something can be given out, or `ends`.
    async fn look<'a>(
        &self,
        look: &mut Look<'a>,
        tools: &[&'a str],
        asked: &Asked,
        ends: impl Fn(&Look<'a>) -> bool,
    ) -> Result<Option<CommitPermit>, CommitError> {
        loop {
            let mut ready = Vec::new();
            for tool in tools {
                if self.store.board.is_busy(tool, self.limit_of(tool)) {
                    continue;
                }
                let last = look.above.get(tool).map(Vec::as_slice);
                let page = self.ready(tool, last, look.now)?;
                ready.extend(page.into_iter().map(|key| (*tool, key)));
            }
            if ready.is_empty() {
                return Ok(None);
            }
            ready.sort_by_key(|(_, key)| (key.due, key.id));
            for (tool, key) in &ready {
                if ends(look) {
                    return Ok(None);
                }
                look.above.insert(tool, key.bytes());
                let limit = self.limit_of(tool);
                let Some(hand) = self.store.board.take(key.id, tool, limit) else {
                    continue;
                };
                let given = self.give(key.id, asked).await;
                hand.done(matches!(given, Ok(Given::Work(_))));
                if let Ok(Given::Later(moment)) = given {
                    look.held_until = look.held_until.min(moment);
                    continue;
                }
                look.read_in_vain |= self.reads_state(tool);
                match given {
                    Ok(Given::Work(permit)) => return Ok(Some(*permit)),
                    Ok(Given::Nothing | Given::Later(_)) => {}
                    Err(error) if self.store.stop.may_begin().is_err() => return Err(error),
                    // What is wrong with this one keeps nobody from the others.
                    Err(error) => {
                        tracing::error!(
                            action.id = %key.id,
                            error = &error as &dyn std::error::Error,
                            "{} could not be given to a worker", key.id
                        );
                        look.broken = look.broken.take().or(Some(error));
                    }
                }
            }
        }
    }

    /// Whether the state is read before a call of the tool is given out.
    fn reads_state(&self, tool: &str) -> bool {
        let tool = self.registry.get(tool);
        tool.is_some_and(|tool| tool.state_query().is_some())
    }

    /// How many of a tool may be under way at once.
    fn limit_of(&self, tool: &str) -> usize {
        let tool = self.registry.get(tool);
        tool.map_or(1, |tool| tool.concurrency.max(1) as usize)
    }

    /// What of a tool may be pulled now, in order.
    fn ready(
        &self,
        tool: &str,
        above: Option<&[u8]>,
        now: Timestamp,
    ) -> Result<Vec<WorkKey>, CommitError> {
        let end = index::work_after(tool, now);
        self.scan(tool, above, Some(&end), PAGE)
    }

    /// When something of a tool may be pulled next.
    fn next_of(&self, tool: &str, now: Timestamp) -> Result<Timestamp, CommitError> {
        let end = index::work_after(tool, now);
        let next = self.scan(tool, Some(&end), None, 1)?;
        Ok(next.first().map_or(NEVER, |key| key.due))
    }

    fn scan(
        &self,
        tool: &str,
        above: Option<&[u8]>,
        below: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<WorkKey>, CommitError> {
        let prefix = index::work_of(tool);
        let range = ScanRange {
            prefix: &prefix,
            above,
            below,
        };
        let entries = self
            .store
            .log
            .scan(index::WORK, range, limit, Direction::Forward)
            .map_err(|error| CommitError::Unavailable(Box::new(error)))?;
        let keys = entries.iter();
        Ok(keys
            .filter_map(|(key, value)| WorkKey::parse(key, value))
            .collect())
    }

    /// Commits one action for a worker, where nothing stands against it.
    async fn give(&self, id: ActionId, asked: &Asked) -> Result<Given, CommitError> {
        for _ in 0..CONFLICTS_MAX {
            match self.claim(id, asked).await? {
                Step::Rest => return Ok(Given::Nothing),
                Step::Later(moment) => return Ok(Given::Later(moment)),
                Step::Again => tokio::task::yield_now().await,
                Step::Send(permit) => {
                    // The store failed for somebody else in between: no effect without a way to
                    // record it (I22). The attempt is unknown when its lease ends.
                    let stopped = |error| CommitError::Unavailable(Box::new(error));
                    self.store.stop.may_write().map_err(stopped)?;
                    let permit = self.in_time(*permit).await.map(Box::new);
                    return Ok(permit.map_or(Given::Nothing, Given::Work));
                }
            }
        }
        Ok(Given::Nothing)
    }

    async fn claim(&self, id: ActionId, asked: &Asked) -> Result<Step, CommitError> {
        if self.store.stop.may_begin().is_err() {
            return Ok(Step::Rest);
        }
        let Some(view) = self.store.load(id)? else {
            return Ok(Step::Rest);
        };
        let now = self.store.time.now();
        let action = &view.action;
        if action.deadline().is_some_and(|deadline| deadline <= now) {
            let wish = |at| Command::ReachDeadline { at };
            return self.commit(view, ENGINE, wish).await;
        }
        if index::pulled_from(action).is_none_or(|from| now < from) {
            return Ok(Step::Rest);
        }
        if let Some(moment) = self.held_until(action) {
            return Ok(Step::Later(moment));
        }
        let sender = Sender::Worker {
            worker: &asked.worker,
            lease_ms: asked.lease_ms.unwrap_or_else(|| lease_of(action)),
            key: asked.key,
        };
        self.attempt(view, &sender).await
    }

    /// The permit, unless the approval ended while the commit record became durable (invariant I9).
    async fn in_time(&self, permit: CommitPermit) -> Option<CommitPermit> {
        let deadline = permit.action().deadline();
        if deadline.is_some_and(|deadline| deadline <= self.store.time.now()) {
            self.give_back(permit, "the approval ended before a worker could have it")
                .await;
            return None;
        }
        Some(permit)
    }

    /// Takes back what no worker has seen: certainly nothing was done about it.
    pub(crate) async fn give_back(&self, permit: CommitPermit, why: &str) {
        let Some(holder) = holder_of(&permit) else {
            return;
        };
        let id = permit.action().id;
        let outcome = AttemptOutcome::NotDelivered {
            message: why.to_owned(),
        };
        let class = permit.action().proposal.class;
        observe::execution(class, &outcome, Duration::ZERO);
        let report = WorkReport {
            outcome,
            digest: Digest::of(why.as_bytes()),
            evidence: None,
            tells_more: false,
        };
        let wish = |at| Command::Report {
            holder: holder.clone(),
            report: report.clone(),
            at,
        };
        if let Err(error) = self.store.act(id, ENGINE, wish).await {
            tracing::error!(
                action.id = %id,
                error = &error as &dyn std::error::Error,
                "{id} could not be taken back from a worker that never had it; it is unknown when \
                 its lease ends"
            );
        }
    }
}

/// How long a lease is where the worker asks for no other length, in milliseconds: the time limit of
/// the tool, within the bounds of a lease.
pub(crate) fn lease_of(action: &Action) -> u64 {
    let timeout = action.proposal.terms.timeout_ms;
    timeout.clamp(LEASE_MS_MIN, LEASE_MS_MAX)
}

/// The lease that the permit stands for.
fn holder_of(permit: &CommitPermit) -> Option<Holder> {
    let lease = permit.lease()?;
    Some(Holder {
        attempt: permit.attempt(),
        worker: lease.worker.id.clone(),
        epoch: lease.epoch,
    })
}
