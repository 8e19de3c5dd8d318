//! Simulated time: it passes when everybody waits, and only then.
//!
//! True time goes on across crashes. The clock on the wall is true time and whatever somebody has
//! set it to; the steady clock cannot be set.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use holdpoint_engine::time::{Clock, Timestamp};
use tokio::time::Instant;

/// When the simulation begins: 2027-01-15, in milliseconds since the Unix epoch.
const EPOCH: i64 = 1_800_000_000_000;

/// The clocks of the world.
#[derive(Default)]
pub(crate) struct SimClock {
    /// True time when the runtime of the present process began, in milliseconds.
    base: AtomicU64,
    begun: Mutex<Option<Instant>>,
    /// How far the wall clock is set off, in milliseconds.
    offset: AtomicI64,
    /// By how much it was set back in all, in milliseconds.
    back: AtomicU64,
    /// The same, when the present process began.
    hidden: AtomicU64,
    /// The furthest that it was ever set off, in milliseconds.
    furthest: AtomicI64,
}

impl SimClock {
    /// True time since the beginning, in milliseconds.
    pub(crate) fn true_ms(&self) -> u64 {
        let begun = *self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = begun.map_or(Duration::ZERO, |begun| begun.elapsed());
        let passed = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        self.base.load(Ordering::Relaxed).saturating_add(passed)
    }

    /// True time when the present process began, in milliseconds.
    pub(crate) fn process_began(&self) -> u64 {
        self.base.load(Ordering::Relaxed)
    }

    /// A process begins, in a runtime of its own.
    pub(crate) fn begin(&self) {
        let back = self.back.load(Ordering::Relaxed);
        self.hidden.store(back, Ordering::Relaxed);
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        *begun = Some(Instant::now());
    }

    /// The process is gone; its runtime is still there. Time stands until the next one begins.
    pub(crate) fn end(&self, down_ms: u64) {
        let now = self.true_ms();
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        *begun = None;
        self.base
            .store(now.saturating_add(down_ms), Ordering::Relaxed);
    }

    /// Somebody sets the wall clock, by so many milliseconds.
    pub(crate) fn step(&self, by_ms: i64) {
        let offset = self.offset.fetch_add(by_ms, Ordering::Relaxed) + by_ms;
        self.furthest.fetch_max(offset, Ordering::Relaxed);
        if by_ms < 0 {
            self.back.fetch_add(by_ms.unsigned_abs(), Ordering::Relaxed);
        }
    }

    /// How much time was hidden from the present process by clocks that were set back before it began,
    /// in milliseconds: what is set back while it runs hides nothing from it.
    pub(crate) fn hidden_ms(&self) -> u64 {
        self.hidden.load(Ordering::Relaxed)
    }

    /// No process can take it to be later than this: the clock on the wall, had it never been set back.
    pub(crate) fn latest(&self) -> i64 {
        let passed = i64::try_from(self.true_ms()).unwrap_or(i64::MAX);
        EPOCH + passed + self.furthest.load(Ordering::Relaxed)
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        let passed = i64::try_from(self.true_ms()).unwrap_or(i64::MAX);
        Timestamp(EPOCH + passed + self.offset.load(Ordering::Relaxed))
    }

    fn steady(&self) -> Option<Duration> {
        Some(Duration::from_millis(self.true_ms()))
    }
}
