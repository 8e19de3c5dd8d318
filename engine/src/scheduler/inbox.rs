//! Where what has become due is handed to the scheduler, at once and in memory.
//!
//! Approved actions have a lane of their own, so that none of them waits behind new submissions. A
//! full lane is no loss: the entry is in the open index, and the scheduler is told to look there.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use crate::action::{Action, ActionId, Status};
use crate::store::index::{NEVER, OpenKey, RemindKey};
use crate::sync::{AtomicBool, AtomicI64, Mutex, Notify, mpsc};
use crate::time::Timestamp;

/// What a lane holds before it falls back to the index. Larger than a burst between two turns of
/// the dispatcher, small enough that the memory is nothing.
const LANE_MAX: usize = 2048;

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) id: ActionId,
    pub(crate) tool: String,
    pub(crate) urgency: Urgency,
}

impl Job {
    /// A job. Deadlines call nothing, so they take no place of their tool.
    pub(crate) fn new(id: ActionId, tool: &str, urgency: Urgency) -> Self {
        let tool = match urgency {
            Urgency::Approved | Urgency::Ordinary => tool.to_owned(),
            Urgency::Deadline => String::new(),
        };
        Self { id, tool, urgency }
    }
}

/// Which lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Urgency {
    /// People have decided; the call should leave at once.
    Approved,
    /// New submissions and questions to the source of truth.
    Ordinary,
    /// Deadlines: nothing is called.
    Deadline,
}

impl Urgency {
    /// The lane of a status; none for what the scheduler does not move.
    pub(crate) fn of(status: Status) -> Option<Self> {
        match status {
            Status::Approved => Some(Self::Approved),
            Status::Accepted | Status::Unknown => Some(Self::Ordinary),
            // Of a call on its way only the end of a worker's lease is ever due.
            Status::Staged | Status::Executing => Some(Self::Deadline),
            Status::Succeeded
            | Status::Failed
            | Status::Rejected
            | Status::Expired
            | Status::Cancelled
            | Status::Refused
            | Status::ReplanRequired => None,
        }
    }
}

/// The sending side, shared by everybody who commits.
pub(crate) struct Inbox {
    approved: mpsc::Sender<Job>,
    ordinary: mpsc::Sender<Job>,
    spilled: AtomicBool,
    /// The earliest moment in the future at which something is due, as far as is known.
    next_due: AtomicI64,
    wake: Notify,
    receivers: Mutex<Option<Receivers>>,
}

/// The receiving side.
pub(crate) struct Receivers {
    pub(crate) approved: mpsc::Receiver<Job>,
    pub(crate) ordinary: mpsc::Receiver<Job>,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        let (approved, approved_receiver) = mpsc::channel(LANE_MAX);
        let (ordinary, ordinary_receiver) = mpsc::channel(LANE_MAX);
        Self {
            approved,
            ordinary,
            spilled: AtomicBool::new(false),
            next_due: AtomicI64::new(NEVER.0),
            wake: Notify::new(),
            receivers: Mutex::new(Some(Receivers {
                approved: approved_receiver,
                ordinary: ordinary_receiver,
            })),
        }
    }

    /// The receiving side, once.
    pub(crate) fn receivers(&self) -> Option<Receivers> {
        self.receivers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Hands over an action that has just changed, where there is something to do about it.
    pub(crate) fn offer(&self, action: &Action, now: Timestamp) {
        if let Some(remind) = RemindKey::of(action) {
            // The index is looked at then, or at once where that moment has passed.
            self.due_at(remind.due);
        }
        let Some(open) = OpenKey::of(action) else {
            return;
        };
        let Some(urgency) = Urgency::of(open.status) else {
            return;
        };
        if now < open.due {
            self.due_at(open.due);
            return;
        }
        let lane = match urgency {
            Urgency::Approved => &self.approved,
            Urgency::Ordinary | Urgency::Deadline => &self.ordinary,
        };
        let job = Job::new(action.id, &action.proposal.tool, urgency);
        if lane.try_send(job).is_err() {
            self.look_again();
        }
    }

    /// Something is due then; the scheduler is woken only if it meant to sleep longer.
    pub(crate) fn due_at(&self, due: Timestamp) {
        if due.0 < self.next_due.fetch_min(due.0, Ordering::AcqRel) {
            self.wake.notify_one();
        }
    }

    /// When the scheduler must look again.
    pub(crate) fn next_due(&self) -> Timestamp {
        Timestamp(self.next_due.load(Ordering::Acquire))
    }

    /// Forgets the moment; whoever calls this looks at the index afterwards.
    pub(crate) fn forget_due(&self) {
        self.next_due.store(NEVER.0, Ordering::Release);
    }

    /// Whether something did not fit since the last call.
    pub(crate) fn take_spilled(&self) -> bool {
        self.spilled.swap(false, Ordering::AcqRel)
    }

    /// Makes the scheduler look at all of the index.
    pub(crate) fn look_again(&self) {
        self.spilled.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    /// Makes the scheduler look at the clock.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Waits to be woken.
    pub(crate) async fn woken(&self) {
        self.wake.notified().await;
    }
}
