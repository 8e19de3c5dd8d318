//! How often something was done in how long.

use std::time::Duration;

/// How often something was done in how long.
#[derive(Clone, Copy)]
pub(super) struct Rate {
    /// How often.
    pub(super) count: u64,
    /// In how long.
    pub(super) time: Duration,
}

impl Rate {
    /// Of things done one after another that took so long each.
    pub(super) fn of(times: &[Duration]) -> Self {
        Self {
            count: u64::try_from(times.len()).unwrap_or(u64::MAX),
            time: times.iter().sum(),
        }
    }

    /// Per second.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub(super) fn per_second(self) -> f64 {
        self.count as f64 / self.time.as_secs_f64().max(f64::EPSILON)
    }
}
