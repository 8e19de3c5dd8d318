//! The loop that starts what is due.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_storage::{Direction, ReadError, ScanRange};
use tokio::task::{Id, JoinError, JoinSet};

use super::inbox::{Job, Receivers, Urgency};
use super::queues::{Limits, Queues};
use super::work::Work;
use crate::action::Status;
use crate::store::fatal;
use crate::store::index::{self, NEVER, OpenKey};
use crate::time::Timestamp;

/// How many entries of a lane are read at once: the work of one turn.
const PAGE: usize = 256;

/// The longest sleep while something is due later: a wall clock that was set shows by then.
const SLEEP_MAX: Duration = Duration::from_mins(1);

/// The lanes that the scheduler moves, the most urgent first.
const LANES: [Status; 5] = [
    Status::Approved,
    Status::Unknown,
    Status::Accepted,
    Status::Executing,
    Status::Staged,
];

/// The scheduler of one engine.
pub(crate) struct Dispatcher {
    work: Arc<Work>,
    receivers: Receivers,
    queues: Queues,
    lanes: [Lane; LANES.len()],
    running: JoinSet<()>,
    jobs: HashMap<Id, Job>,
}

/// How far a lane of the index has been read.
#[derive(Default)]
struct Lane {
    /// Whether there may be more that is due.
    more: bool,
    /// The last key that was read; none to start at the beginning.
    above: Option<Vec<u8>>,
}

impl Lane {
    fn from_start() -> Self {
        Self {
            more: true,
            above: None,
        }
    }
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
            lanes: std::array::from_fn(|_| Lane::from_start()),
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
            self.lanes = std::array::from_fn(|_| Lane::from_start());
        }
    }

    fn may_fill(&self) -> bool {
        self.queues.has_room() && self.lanes.iter().any(|lane| lane.more)
    }

    /// Reads one page of each lane that may have more.
    fn fill(&mut self) {
        for place in 0..LANES.len() {
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
        let status = LANES[place];
        let Some(urgency) = Urgency::of(status) else {
            return Ok(());
        };
        let log = &self.work.store.log;
        let prefix: Vec<u8> = index::lane(status).into_iter().collect();
        let end = index::after(status, self.work.store.time.now());
        let lane = &mut self.lanes[place];
        let range = ScanRange {
            prefix: &prefix,
            above: lane.above.as_deref(),
            below: Some(&end),
        };
        let entries = log.scan(index::OPEN, range, PAGE, Direction::Forward)?;
        lane.more = entries.len() == PAGE;
        lane.above = entries.last().map(|(key, _)| key.clone());
        for (key, tool) in entries {
            if let Some(open) = OpenKey::parse(&key) {
                let tool = String::from_utf8_lossy(&tool);
                self.queues.push(Job::new(open.id, &tool, urgency));
            }
        }
        if lane.more {
            return Ok(());
        }
        lane.above = None;
        // The end key itself belongs to no entry, so what follows it is the next to be due.
        let next = ScanRange {
            prefix: &prefix,
            above: Some(&end),
            below: None,
        };
        let first = log.scan(index::OPEN, next, 1, Direction::Forward)?;
        if let Some(open) = first.first().and_then(|(key, _)| OpenKey::parse(key))
            && open.due != NEVER
        {
            self.work.store.inbox.due_at(open.due);
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
