//! The loop that starts what is due.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_storage::ReadError;
use tokio::task::{Id, JoinError, JoinSet};

use super::inbox::{Job, Receivers};
use super::lane::{self, Lane};
use super::queues::{Limits, Queues};
use super::work::Work;
use crate::store::fatal;
use crate::store::index::NEVER;
use crate::time::Timestamp;

/// How much of what has arrived is taken at once.
const PAGE: usize = 256;

/// The longest sleep while something is due later: a wall clock that was set shows by then.
const SLEEP_MAX: Duration = Duration::from_mins(1);

/// The scheduler of one engine.
pub(crate) struct Dispatcher {
    work: Arc<Work>,
    receivers: Receivers,
    queues: Queues,
    lanes: Vec<Lane>,
    running: JoinSet<()>,
    jobs: HashMap<Id, Job>,
}

impl Dispatcher {
    /// A scheduler that runs at most `calls_max` jobs at once.
    pub(crate) fn new(work: Arc<Work>, receivers: Receivers, calls_max: usize) -> Self {
        let all = calls_max.max(2);
        let limits = Limits {
            all,
            // A quarter is kept for what people have decided.
            not_approved: all - (all / 4).max(1),
            tool: 8,
        };
        let tool_limits = work
            .registry
            .iter()
            .map(|tool| (tool.name.clone(), tool.concurrency.max(1) as usize))
            .collect();
        Self {
            work,
            receivers,
            queues: Queues::new(limits, tool_limits),
            lanes: lane::all(),
            running: JoinSet::new(),
            jobs: HashMap::new(),
        }
    }

    /// Runs until the engine stops, then waits for what is on its way. To be dropped when that
    /// takes too long: an attempt that is cut off is unknown at the next start.
    pub(crate) async fn run(mut self) {
        let work = Arc::clone(&self.work);
        let stop = &work.store.stop;
        while stop.may_begin().is_ok() {
            self.look_for_due();
            self.fill();
            self.start();
            if self.may_fill() {
                tokio::task::yield_now().await;
                while let Some(ended) = self.running.try_join_next_with_id() {
                    self.ended(ended);
                }
                continue;
            }
            let inbox = &work.store.inbox;
            tokio::select! {
                biased;
                () = stop.reached() => {}
                Some(ended) = self.running.join_next_with_id() => self.ended(ended),
                Some(job) = self.receivers.approved.recv() => self.queues.push(job),
                Some(job) = self.receivers.ordinary.recv() => self.queues.push(job),
                () = inbox.woken() => {}
                () = sleep(inbox.next_due(), work.store.time.now()) => {}
            }
            self.drain();
        }
        while self.running.join_next().await.is_some() {}
    }

    /// Takes whatever else has arrived or ended.
    fn drain(&mut self) {
        while let Some(ended) = self.running.try_join_next_with_id() {
            self.ended(ended);
        }
        for _ in 0..PAGE {
            let job = self.receivers.approved.try_recv();
            match job.or_else(|_| self.receivers.ordinary.try_recv()) {
                Ok(job) => self.queues.push(job),
                Err(_) => break,
            }
        }
    }

    /// Decides whether the index has to be read.
    fn look_for_due(&mut self) {
        let inbox = &self.work.store.inbox;
        let reached = inbox.next_due() <= self.work.store.time.now();
        if reached {
            // Before the index is read: what is committed from here on lowers it again.
            inbox.forget_due();
        }
        let spilled = inbox.take_spilled();
        let refill = self.queues.take_refill();
        if reached || spilled || refill {
            self.lanes = lane::all();
        }
    }

    fn may_fill(&self) -> bool {
        self.queues.has_room() && self.lanes.iter().any(|lane| lane.more)
    }

    /// Reads one page of each lane that may have more.
    fn fill(&mut self) {
        for place in 0..self.lanes.len() {
            if self.lanes[place].more
                && self.queues.has_room()
                && let Err(error) = self.fill_lane(place)
            {
                tracing::error!(%error, "what is due cannot be read");
                self.lanes[place].more = false;
                // Tried again after a while, not at once.
                let later = self.work.store.time.now().plus(SLEEP_MAX);
                self.work.store.inbox.due_at(later);
            }
        }
    }

    fn fill_lane(&mut self, place: usize) -> Result<(), ReadError> {
        let store = &self.work.store;
        let due = self.lanes[place].read(store.log.as_ref(), store.time.now())?;
        if let Some(next) = due.next {
            store.inbox.due_at(next);
        }
        for job in due.jobs {
            self.queues.push(job);
        }
        Ok(())
    }

    fn start(&mut self) {
        while let Some(job) = self.queues.start() {
            let work = Arc::clone(&self.work);
            let id = job.id;
            let handle = self.running.spawn(async move { work.advance(id).await });
            self.jobs.insert(handle.id(), job);
        }
    }

    fn ended(&mut self, ended: Result<(Id, ()), JoinError>) {
        let task = match &ended {
            Ok((task, ())) => *task,
            Err(error) => error.id(),
        };
        if let Err(error) = ended
            && error.is_panic()
        {
            fatal("an assertion failed while an action was executed");
        }
        if let Some(job) = self.jobs.remove(&task) {
            self.queues.finish(&job);
        }
    }
}

async fn sleep(until: Timestamp, now: Timestamp) {
    if until == NEVER {
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(until.since(now).min(SLEEP_MAX)).await;
}
