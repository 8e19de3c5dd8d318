//! The time of the engine: the injected clock, made so that it never goes back (invariant I9).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::time::{Clock, Timestamp};

/// A clock that never goes back, not across a restart either: it starts at the time of the log's
/// last record.
pub(crate) struct EngineTime {
    clock: Arc<dyn Clock>,
    latest: AtomicI64,
}

impl EngineTime {
    /// Time that starts no earlier than `log_time`.
    pub(crate) fn new(clock: Arc<dyn Clock>, log_time: Timestamp) -> Self {
        Self {
            clock,
            latest: AtomicI64::new(log_time.0),
        }
    }

    /// Now; never earlier than any answer before.
    pub(crate) fn now(&self) -> Timestamp {
        let now = self.clock.now().0;
        Timestamp(self.latest.fetch_max(now, Ordering::AcqRel).max(now))
    }
}
