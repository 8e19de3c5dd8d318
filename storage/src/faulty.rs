//! A log that fails on purpose, around any other (faults D2 and P1, as seen by the engine).
//!
//! A fault is set for the next append, or drawn for each by a seed. After a fault that leaves
//! something unknown the log has stopped, as a real one has (invariant I22), until
//! [`FaultyLog::heal`]. Look-ups fail where a test says so, and stop nothing.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::batch::Batch;
use crate::conformance::history::Draw;
use crate::forward_reads;
use crate::log::{AppendError, Appended, EventLog, ReadError};

/// What goes wrong with an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is no room. Nothing is written, and the next append may succeed.
    Full,
    /// The write fails before anything is written. The caller is told [`AppendError::Io`].
    CrashBefore,
    /// The write succeeds, the answer is lost. The caller is told [`AppendError::Io`] too, and
    /// cannot know the difference.
    CrashAfter,
}

/// A log around `inner` that fails when told to. See the [module](self).
pub struct FaultyLog<L> {
    inner: Arc<L>,
    plan: Mutex<Plan>,
}

struct Plan {
    /// The next fault, how many appends go well before it, and how often it strikes.
    next: Option<(u64, u64, Fault)>,
    /// Draws a fault for about one in `one_in` appends.
    drawn: Option<(Draw, u64)>,
    /// How many look-ups fail, and in which index alone.
    unread: (u64, Option<u8>),
    stopped: bool,
    faults: u64,
}

impl<L: EventLog> FaultyLog<L> {
    /// A log that works until it is told otherwise.
    pub fn new(inner: Arc<L>) -> Self {
        let plan = Plan {
            next: None,
            drawn: None,
            unread: (0, None),
            stopped: false,
            faults: 0,
        };
        Self {
            inner,
            plan: Mutex::new(plan),
        }
    }

    /// A log in which about one in `one_in` appends (at least 1) fails, in a way that the seed
    /// decides.
    pub fn drawn(inner: Arc<L>, seed: u64, one_in: u64) -> Self {
        let log = Self::new(inner);
        log.plan().drawn = Some((Draw::new(seed), one_in.max(1)));
        log
    }

    /// Sets the fault that strikes after `successes` more appends.
    pub fn fail_after(&self, successes: u64, fault: Fault) {
        self.fail_for(successes, 1, fault);
    }

    /// Sets a fault that strikes after `successes` more appends, `times` times in a row.
    pub fn fail_for(&self, successes: u64, times: u64, fault: Fault) {
        self.plan().next = Some((successes, times, fault));
    }

    /// Makes the next `times` look-ups fail: of one index, or of all.
    pub fn fail_gets(&self, index: Option<u8>, times: u64) {
        self.plan().unread = (times, index);
    }

    /// Ends every fault that was set or drawn, and starts a stopped log again, as opening it again
    /// would.
    pub fn heal(&self) {
        let mut plan = self.plan();
        (plan.next, plan.drawn, plan.stopped) = (None, None, false);
        plan.unread = (0, None);
    }

    /// Starts a stopped log again and goes on with the plan of faults.
    pub fn restart(&self) {
        self.plan().stopped = false;
    }

    /// Whether a fault has stopped the log.
    pub fn has_stopped(&self) -> bool {
        self.plan().stopped
    }

    /// How many faults have struck.
    pub fn faults(&self) -> u64 {
        self.plan().faults
    }

    /// The log inside.
    pub fn inner(&self) -> &Arc<L> {
        &self.inner
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Plan {
    fn strike(&mut self) -> Option<Fault> {
        let set = match &mut self.next {
            Some((0, times, fault)) => {
                let fault = *fault;
                *times = times.saturating_sub(1);
                if *times == 0 {
                    self.next = None;
                }
                Some(fault)
            }
            Some((successes, _, _)) => {
                *successes -= 1;
                None
            }
            None => None,
        };
        let fault = set.or_else(|| {
            let (draw, one_in) = self.drawn.as_mut()?;
            (draw.below(*one_in) == 0).then(|| match draw.below(3) {
                0 => Fault::Full,
                1 => Fault::CrashBefore,
                _ => Fault::CrashAfter,
            })
        });
        self.faults += u64::from(fault.is_some());
        self.stopped |= matches!(fault, Some(Fault::CrashBefore | Fault::CrashAfter));
        fault
    }

    fn strike_get(&mut self, index: u8) -> bool {
        let (times, only) = &mut self.unread;
        let strikes = *times > 0 && only.is_none_or(|only| only == index);
        *times -= u64::from(strikes);
        self.faults += u64::from(strikes);
        strikes
    }
}

#[async_trait]
impl<L: EventLog> EventLog for FaultyLog<L> {
    async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        let fault = {
            let mut plan = self.plan();
            if plan.stopped {
                return Err(AppendError::Stopped {
                    reason: "an injected fault".to_owned(),
                });
            }
            plan.strike()
        };
        let lost = || Err(AppendError::Io(io::Error::other("an injected fault")));
        match fault {
            None => self.inner.append(batch).await,
            Some(Fault::Full) => Err(AppendError::Full {
                reason: "an injected fault".to_owned(),
            }),
            Some(Fault::CrashBefore) => lost(),
            Some(Fault::CrashAfter) => {
                // Whether it was applied or refused: the caller does not learn it.
                drop(self.inner.append(batch).await);
                lost()
            }
        }
    }

    forward_reads!(self => self.inner, except get);

    fn get(&self, index: u8, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        if self.plan().strike_get(index) {
            return Err(ReadError::Io(io::Error::other("an injected fault")));
        }
        self.inner.get(index, key)
    }

    fn confirm_origin(&self) -> io::Result<()> {
        self.inner.confirm_origin()
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}
