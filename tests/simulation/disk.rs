//! A simulated disk: the log in memory, with a sync that takes time and can go wrong.
//!
//! What has been appended waits in a group. A group becomes durable, and visible, all at once when
//! its sync ends. If the process dies before, the group on its way is lost or kept, or its first part is,
//! as if it had been two groups: the real store writes a group whole or not at all, and which batches
//! make one is a matter of a moment. What still waited for its group is lost.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use holdpoint_storage::{
    AppendError, Appended, Batch, EventLog, MemoryLog, Position, ReadError, Record, Subscription,
    TailSource, forward_reads,
};
use tokio::sync::{oneshot, watch};

use crate::clock::SimClock;
use crate::dice::Dice;
use crate::weather::{Fault, Weather};

/// The most batches of a group.
const GROUP_MAX: usize = 32;

type Answer = oneshot::Sender<Result<Appended, AppendError>>;

/// What a disk is made of.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) dice: Arc<Dice>,
    pub(crate) weather: Arc<Weather>,
    pub(crate) clock: Arc<SimClock>,
    /// A disk that says "synced" before it is: what the checks must find.
    pub(crate) lies: bool,
}

/// The log of one process. See the [module](self).
pub(crate) struct SimDisk {
    shared: Arc<Shared>,
}

struct Shared {
    durable: Arc<MemoryLog>,
    parts: Parts,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: Vec<(Batch, Answer)>,
    /// The group whose sync is on its way.
    group: Vec<Batch>,
    is_writing: bool,
    stopped: Option<String>,
    failure: Option<Failure>,
    /// Until this true time there is no room, in milliseconds.
    full_until: u64,
    /// Something was refused for want of room.
    was_full: bool,
    /// Who follows the log, each by a channel of its own: of several that wait on one, the runtime
    /// draws which is woken first, and not from the seed.
    tails: Vec<watch::Sender<Position>>,
}

/// A write that failed.
#[derive(Clone, Copy)]
pub(crate) struct Failure {
    /// When, in true milliseconds.
    pub(crate) at: u64,
    /// What is durable from here on nobody was told to be.
    pub(crate) from: Position,
}

enum Sync {
    Good,
    Full,
    Fails,
    AnswerLost,
}

impl SimDisk {
    /// A disk with what `durable` holds.
    pub(crate) fn over(durable: MemoryLog, parts: Parts) -> Self {
        let shared = Shared {
            durable: Arc::new(durable),
            parts,
            state: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// What is durable.
    pub(crate) fn durable(&self) -> &MemoryLog {
        &self.shared.durable
    }

    /// Whether it has stopped for good, so that the process must be started again.
    pub(crate) fn has_stopped(&self) -> bool {
        self.shared.state().stopped.is_some()
    }

    /// Whether it has refused anything for want of room.
    pub(crate) fn was_full(&self) -> bool {
        self.shared.state().was_full
    }

    /// The write that failed, if one did.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.shared.state().failure
    }

    /// There is no room for so long.
    pub(crate) fn fill(&self, millis: u64) {
        let until = self.shared.parts.clock.true_ms() + millis;
        self.shared.state().full_until = until;
    }

    /// The power is cut. Answers with what the next process finds. To be called when nothing of the
    /// process runs any more.
    pub(crate) fn crash(&self) -> MemoryLog {
        let Parts { dice, weather, .. } = &self.shared.parts;
        let mut group = std::mem::take(&mut self.shared.state().group);
        if 1 < group.len() && weather.strikes(Fault::WriteTorn, dice) {
            group.truncate(1 + dice.place(group.len() - 1));
        } else if !group.is_empty()
            && (weather.strikes(Fault::WriteLost, dice)
                || !weather.strikes(Fault::WriteKept, dice) && dice.in_thousand(500))
        {
            group.clear();
        }
        for batch in group {
            drop(self.shared.apply(batch));
        }
        self.shared.durable.reopen()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn apply(&self, batch: Batch) -> Result<Appended, AppendError> {
        let applied = self.durable.append(batch).now_or_never();
        if let Some(Ok(appended)) = &applied {
            let tails = &mut self.state().tails;
            tails.retain(|tail| tail.send(appended.last).is_ok());
        }
        applied.unwrap_or_else(|| Err(AppendError::Io(io::Error::other("memory never waits"))))
    }

    fn next_sync(&self) -> (Duration, Sync) {
        let Parts {
            dice,
            weather,
            clock,
            ..
        } = &self.parts;
        let micros = if weather.strikes(Fault::DiskSlow, dice) {
            dice.between(1_000_000, 30_000_000)
        } else {
            dice.between(0, 8_000)
        };
        let now = clock.true_ms();
        if weather.strikes(Fault::DiskFull, dice) {
            self.state().full_until = now + dice.between(1, 120_000);
        }
        let outcome = if now < self.state().full_until {
            Sync::Full
        } else if weather.strikes(Fault::WriteFails, dice) {
            Sync::Fails
        } else if weather.strikes(Fault::AnswerOfWriteLost, dice) {
            Sync::AnswerLost
        } else {
            Sync::Good
        };
        (Duration::from_micros(micros), outcome)
    }

    /// Writes groups until nothing waits.
    async fn write(self: Arc<Self>) {
        loop {
            let group: Vec<_> = {
                let mut state = self.state();
                let count = state.waiting.len().min(GROUP_MAX);
                if count == 0 {
                    state.is_writing = false;
                    return;
                }
                state.waiting.drain(..count).collect()
            };
            let (takes, outcome) = self.next_sync();
            if let Sync::Full = outcome {
                self.state().was_full = true;
                for (_, answer) in group {
                    let reason = "the simulated disk is full".to_owned();
                    drop(answer.send(Err(AppendError::Full { reason })));
                }
                continue;
            }
            let (batches, answers): (Vec<_>, Vec<_>) = group.into_iter().unzip();
            if self.parts.lies {
                self.lie(batches, answers, takes).await;
                continue;
            }
            self.state().group.clone_from(&batches);
            tokio::time::sleep(takes).await;
            self.state().group.clear();
            self.end(batches, answers, &outcome);
        }
    }

    fn end(&self, batches: Vec<Batch>, answers: Vec<Answer>, outcome: &Sync) {
        let from = self
            .durable
            .stats()
            .map_or(0, |stats| stats.last_position + 1);
        for (batch, answer) in batches.into_iter().zip(answers) {
            let lost = || Err(AppendError::Io(io::Error::other("a simulated fault")));
            let result = match outcome {
                Sync::Good | Sync::Full => self.apply(batch),
                Sync::Fails => lost(),
                Sync::AnswerLost => {
                    drop(self.apply(batch));
                    lost()
                }
            };
            drop(answer.send(result));
        }
        if let Sync::Fails | Sync::AnswerLost = outcome {
            let mut state = self.state();
            state.stopped = Some("an earlier write failed".to_owned());
            let at = self.parts.clock.true_ms();
            state.failure = Some(Failure { at, from });
            for (_, answer) in std::mem::take(&mut state.waiting) {
                drop(answer.send(Err(stopped("an earlier write failed"))));
            }
        }
    }

    /// Says that a group is durable before it is: a write cache without a battery.
    async fn lie(&self, batches: Vec<Batch>, answers: Vec<Answer>, takes: Duration) {
        let position = self.durable.stats().map_or(0, |stats| stats.last_position);
        for answer in answers {
            let appended = Appended {
                first: position,
                last: position,
                time_ms: 0,
            };
            drop(answer.send(Ok(appended)));
        }
        self.state().group.clone_from(&batches);
        tokio::time::sleep(takes).await;
        self.state().group.clear();
        for batch in batches {
            drop(self.apply(batch));
        }
    }
}

impl TailSource for Shared {
    fn read_tail(&self, after: Position, limit: usize) -> Result<Vec<Record>, ReadError> {
        self.durable.read_all(after, limit)
    }
}

fn stopped(reason: &str) -> AppendError {
    AppendError::Stopped {
        reason: reason.to_owned(),
    }
}

#[async_trait]
impl EventLog for SimDisk {
    async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        holdpoint_storage::bounds::check(&batch)?;
        let (answer, answered) = oneshot::channel();
        {
            let mut state = self.shared.state();
            if let Some(reason) = &state.stopped {
                return Err(stopped(reason));
            }
            state.waiting.push((batch, answer));
            if !state.is_writing {
                state.is_writing = true;
                tokio::spawn(Arc::clone(&self.shared).write());
            }
        }
        answered
            .await
            .unwrap_or_else(|_| Err(stopped("the process ended")))
    }

    forward_reads!(self => self.durable(), except subscribe);

    fn subscribe(&self, after: Position) -> Subscription {
        let last = self
            .durable()
            .stats()
            .map_or(0, |stats| stats.last_position);
        let (tail, durable) = watch::channel(last);
        self.shared.state().tails.push(tail);
        Subscription::new(Arc::clone(&self.shared) as Arc<_>, durable, after)
    }

    async fn close(&self) {
        while self.shared.state().is_writing {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let closed = Some("it was closed".to_owned());
        self.shared.state().stopped = closed;
        self.shared.state().tails.clear();
        self.durable().close().await;
    }
}
