//! Numbers: percentiles, memory, bytes written.

use std::time::Duration;

/// Two percentiles of some times.
#[derive(Clone, Copy)]
pub(super) struct Times {
    /// Half of them are below.
    pub(super) p50_ms: f64,
    /// All but one of a hundred are below.
    pub(super) p99_ms: f64,
}

impl Times {
    /// Of these times; zeros where there are none.
    pub(super) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |percent: usize| {
            let index = (times.len() * percent / 100).min(times.len().saturating_sub(1));
            let time = times.get(index).copied().unwrap_or_default();
            time.as_secs_f64() * 1000.0
        };
        Self {
            p50_ms: at(50),
            p99_ms: at(99),
        }
    }

    /// How far each percentile is above that of others.
    pub(super) fn above(self, others: Self) -> Self {
        Self {
            p50_ms: self.p50_ms - others.p50_ms,
            p99_ms: self.p99_ms - others.p99_ms,
        }
    }
}

/// To two places.
pub(super) fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// The memory of this process that is in RAM, in bytes; 0 where it cannot be told.
pub(super) fn resident_bytes() -> u64 {
    proc_value("/proc/self/status", "VmRSS:").saturating_mul(1024)
}

/// What this process has caused to be written to disks, in bytes; 0 where it cannot be told.
pub(super) fn written_bytes() -> u64 {
    proc_value("/proc/self/io", "write_bytes:")
}

fn proc_value(file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}
