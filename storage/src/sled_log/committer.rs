//! The one thread that writes.
//!
//! It takes whatever is waiting, up to a bound, makes it one group, and answers only when the group
//! is on the device: apply, `flush`, `fdatasync`, show it to readers, answer. While the device
//! works, the next group gathers in the queue, so that the slower the device, the larger the groups.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use metrics::{counter, histogram};
use tokio::sync::{OwnedSemaphorePermit, oneshot, watch};
use tracing::{error, warn};

use super::fault::Fault;
use super::group::{Group, Refusal, Tails, Write};
use super::keys::Tip;
use super::mark::Mark;
use super::store::Store;
use super::sync::mpsc;
use super::view::View;
use super::waker::Waker;
use crate::batch::Batch;
use crate::log::{AppendError, Appended};
use crate::record::{Position, Record};
use crate::seeded::Bug;

/// The most batches in one group. Beyond this a larger group gains little (each key costs about
/// 10 µs of this thread, a sync a few hundred), and the first batch would wait longer.
pub(super) const GROUP_MAX: usize = 256;

/// The most bytes in one group, the last batch aside.
const GROUP_BYTES_MAX: usize = 16 * 1024 * 1024;

type Answer = Result<Appended, AppendError>;

/// What is to be written.
pub(super) enum Work {
    /// A batch, checked against what is there.
    Append(Batch),
    /// Records as another log had them.
    Restore(Vec<Record>),
}

/// Something on its way to the committer.
pub(super) struct Request {
    pub(super) work: Work,
    pub(super) bytes: usize,
    pub(super) answer: oneshot::Sender<Answer>,
    /// The room that it takes in the queue, given back when it is done.
    pub(super) room: OwnedSemaphorePermit,
}

/// Counters since opening.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) batches: AtomicU64,
    pub(super) syncs: AtomicU64,
}

pub(super) struct Committer {
    pub(super) store: Arc<Store>,
    pub(super) view: Arc<View>,
    pub(super) counters: Arc<Counters>,
    pub(super) waker: Waker,
    pub(super) mark: Mark,
    pub(super) tip: Tip,
    pub(super) tails: Tails,
    pub(super) publish: watch::Sender<Position>,
    /// Why nothing is written any more, once that is so (invariant I22).
    pub(super) stopped: Option<String>,
    /// Whether room for a start on a full disk is still to be set aside.
    pub(super) wants_reserve: bool,
}

impl Committer {
    /// Works until every sender of the queue is gone, then lets go of the files.
    pub(super) fn run(mut self, mut queue: mpsc::Receiver<Request>) {
        while let Some(first) = queue.blocking_recv() {
            let mut bytes = first.bytes;
            let mut group = vec![first];
            while group.len() < GROUP_MAX && bytes < GROUP_BYTES_MAX {
                let Ok(next) = queue.try_recv() else { break };
                bytes += next.bytes;
                group.push(next);
            }
            self.answer(group, bytes);
            self.wants_reserve = self.wants_reserve && self.store.wants_reserve();
        }
        self.close();
    }

    fn answer(&mut self, group: Vec<Request>, bytes: usize) {
        let mut waiting = Vec::with_capacity(group.len());
        let mut batches = Vec::with_capacity(group.len());
        for Request {
            work, answer, room, ..
        } in group
        {
            batches.push(work);
            waiting.push((answer, room));
        }
        let answers = if let Some(reason) = &self.stopped {
            batches
                .iter()
                .map(|_| {
                    Err(AppendError::Stopped {
                        reason: reason.clone(),
                    })
                })
                .collect()
        } else if let Some(reason) = self.store.too_full(bytes) {
            // A batch that changes nothing is refused as well: whoever only checks has to act next.
            batches
                .iter()
                .map(|_| {
                    Err(AppendError::Full {
                        reason: reason.clone(),
                    })
                })
                .collect()
        } else {
            self.commit(batches)
        };
        for ((answer, room), result) in waiting.into_iter().zip(answers) {
            drop(room);
            // Whoever no longer waits does not want the answer.
            drop(answer.send(result));
        }
    }

    fn commit(&mut self, batches: Vec<Work>) -> Vec<Answer> {
        let count = batches.len();
        let _watched = self.waker.begin();
        // sled panics where it meets what cannot be; the tree is not to be trusted after that.
        let committed = catch_unwind(AssertUnwindSafe(|| self.try_commit(batches)))
            .unwrap_or_else(|_| Err(Fault::Corrupt("the store gave up in an append".to_owned())));
        let fault = match committed {
            Ok(answers) => return answers,
            Err(fault) => fault,
        };
        let cause = match fault {
            Fault::Io(error) => error,
            Fault::Corrupt(reason) => io::Error::new(io::ErrorKind::InvalidData, reason),
        };
        error!("the log stops accepting records until it is opened again: {cause}");
        if !Bug::GoOnAfterEio.is_on() {
            self.stopped = Some(format!("an earlier append failed: {cause}"));
        }
        let again = || io::Error::new(cause.kind(), cause.to_string());
        (0..count).map(|_| Err(AppendError::Io(again()))).collect()
    }

    fn try_commit(&mut self, batches: Vec<Work>) -> Result<Vec<Answer>, Fault> {
        // At most GROUP_MAX.
        let size = u32::try_from(batches.len()).unwrap_or(u32::MAX);
        let mut answers = Vec::with_capacity(batches.len());
        let store = Arc::clone(&self.store);
        let mut group = Group::new(&store.db, &mut self.tails, self.tip);
        for work in batches {
            let taken = match work {
                Work::Append(batch) => group.add(batch),
                Work::Restore(records) => group.restore(&records),
            };
            answers.push(match taken {
                Ok(appended) => Ok(appended),
                Err(Refusal::Batch(error)) => Err(error),
                Err(Refusal::Store(fault)) => return Err(fault),
            });
        }
        let Write {
            tip,
            overlay,
            batch,
        } = group.finish();
        if let Some(batch) = batch {
            self.view.cover(overlay);
            store.db.apply_batch(batch)?;
            let start = Instant::now();
            if !Bug::AckBeforeSync.is_on() {
                store.db.flush()?;
                store.sync().map_err(Fault::Io)?;
            }
            histogram!("holdpoint_store_sync_seconds").record(start.elapsed());
            self.counters.syncs.fetch_add(1, Ordering::Relaxed);
            self.mark.set(&tip).map_err(Fault::Io)?;
            self.tip = tip;
            self.view.publish(tip.head);
            self.publish.send_replace(tip.head.position);
        }
        let applied = answers.iter().filter(|answer| answer.is_ok()).count() as u64;
        self.counters.batches.fetch_add(applied, Ordering::Relaxed);
        counter!("holdpoint_appends_total").increment(applied);
        histogram!("holdpoint_append_batch_size").record(f64::from(size));
        Ok(answers)
    }

    fn close(self) {
        let Self {
            store,
            view,
            waker,
            mark,
            publish,
            ..
        } = self;
        let watched = waker.begin();
        let flushed = catch_unwind(AssertUnwindSafe(|| store.db.flush().map_err(Fault::from)));
        let last = [
            flushed.is_ok_and(|done| done.is_ok()),
            store.sync().is_ok(),
            mark.sync().is_ok(),
        ];
        if last.contains(&false) {
            warn!("closing the log: the last sync failed; what was acknowledged is safe");
        }
        drop(watched);
        drop(waker);
        drop(publish);
        drop(view.close());
        // The last reference closes the tree, then gives back the lock.
        drop(store);
    }
}
