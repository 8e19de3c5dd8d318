//! Time and randomness, injected.
//!
//! Nothing outside this module reads the wall clock or a random source; tests and the simulator
//! replace both.

use std::fmt;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bincode::{Decode, Encode};
use chrono::{DateTime, SecondsFormat, Utc};

/// A moment in milliseconds since the Unix epoch, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Encode, Decode)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// This moment and `duration` more; stays at the end of time instead of overflowing.
    pub fn plus(self, duration: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// This moment and `milliseconds` more; stays at the end of time instead of overflowing.
    pub fn plus_ms(self, milliseconds: u64) -> Self {
        self.plus(Duration::from_millis(milliseconds))
    }

    /// How long it is from `earlier` to this moment; zero where `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// As RFC 3339 with milliseconds, in UTC: `2026-03-01T12:00:00.000Z`. A moment that chrono
    /// cannot name is written as the nearest one that it can.
    pub fn rfc3339(self) -> String {
        let nearest = if self.0 < 0 {
            DateTime::<Utc>::MIN_UTC
        } else {
            DateTime::<Utc>::MAX_UTC
        };
        DateTime::from_timestamp_millis(self.0)
            .unwrap_or(nearest)
            .to_rfc3339_opts(SecondsFormat::Millis, true)
    }

    /// Reads RFC 3339 with any offset.
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc3339(text)
            .ok()
            .map(|moment| Self(moment.timestamp_millis()))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rfc3339())
    }
}

/// The time, and what a process knows of how much of it has really passed. A clock that is set forward
/// makes it later, and lets nothing pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elapsed {
    now: Timestamp,
    began: Option<Timestamp>,
    steps: Vec<(Timestamp, Duration)>,
}

impl Elapsed {
    /// What a process knows that began to count at `began`, where it can count, and saw its clock set
    /// forward by so much at these moments.
    pub fn new(
        now: Timestamp,
        began: Option<Timestamp>,
        steps: Vec<(Timestamp, Duration)>,
    ) -> Self {
        Self { now, began, steps }
    }

    /// The clock as it stands, believed.
    pub fn by_clock(now: Timestamp) -> Self {
        Self::new(now, None, Vec::new())
    }

    /// Now, as the clock stands.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// `start` and what has passed since then: now, less what the process saw the clock set forward in
    /// between. What lies before the process is believed.
    pub fn seen_since(&self, start: Timestamp) -> Timestamp {
        let steps = self.steps.iter().filter(|(at, _)| start <= *at);
        let stepped = steps.fold(Duration::ZERO, |sum, (_, step)| sum.saturating_add(*step));
        less(self.now, stepped)
    }

    /// `start` and what has certainly passed since then: the same, less what lies before the process, in
    /// which the clock may have been set by any amount.
    pub fn proven_since(&self, start: Timestamp) -> Timestamp {
        let before = self.began.map(|began| began.since(start));
        less(self.seen_since(start), before.unwrap_or_default())
    }
}

/// A moment that much earlier; stays at the beginning of time instead of overflowing.
fn less(moment: Timestamp, time: Duration) -> Timestamp {
    let millis = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    Timestamp(moment.0.saturating_sub(millis))
}

/// Where the time comes from.
pub trait Clock: Send + Sync + 'static {
    /// The time now, as the machine is set.
    fn now(&self) -> Timestamp;

    /// How long it is since any fixed moment in this process, by a clock that nobody can set. The
    /// engine's time goes on by it while [`Clock::now`] was set back, and notices where that was set
    /// forward. A clock that has none stands still in the first case and is believed in the second.
    fn steady(&self) -> Option<Duration> {
        None
    }
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the wall clock"
    )]
    fn now(&self) -> Timestamp {
        Timestamp(Utc::now().timestamp_millis())
    }

    fn steady(&self) -> Option<Duration> {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        Some(START.elapsed())
    }
}

/// Where unpredictable bytes come from.
pub trait Entropy: Send + Sync + 'static {
    /// Fills `bytes`.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError>;
}

/// The operating system has no random bytes; nothing that needs an id or a secret can go on.
#[derive(Debug, thiserror::Error)]
#[error("the operating system's random source failed")]
pub struct EntropyError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// The random source of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the random source"
    )]
    fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError> {
        getrandom::fill(bytes).map_err(|error| EntropyError(Box::new(error)))
    }
}
