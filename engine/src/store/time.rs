//! The time of the engine: the injected clock, made so that it never goes back and never stands still
//! (invariant I9).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::seeded::Bug;
use crate::time::{Clock, Elapsed, Timestamp};

/// A clock that never goes back, not across a restart either: it starts at the time of the log's
/// last record. While the machine's clock is behind, it goes on at the pace of the steady clock, so
/// that a clock that was set back lengthens no deadline and holds up nothing that is due.
pub(crate) struct EngineTime {
    clock: Arc<dyn Clock>,
    /// When this process began to count, where it has a steady clock to count by.
    counts_from: Option<Timestamp>,
    /// When this process began, where the clock was behind the log then: it was set back, and how long
    /// nobody wrote anything before is not known.
    blind_before: Option<Timestamp>,
    anchor: Mutex<Anchor>,
}

/// What is no step but the clocks' own small disagreement.
const STEP_MIN: Duration = Duration::from_secs(1);

/// The most steps that are remembered one by one; older ones count as later than they were.
const STEPS_MAX: usize = 64;

/// A moment by both clocks.
struct Anchor {
    at: Timestamp,
    steady: Option<Duration>,
    /// How far the time was set forward, and when.
    steps: VecDeque<(Timestamp, Duration)>,
}

impl Anchor {
    fn now(&mut self, clock: &dyn Clock) -> Timestamp {
        let (set, steady) = (clock.now(), clock.steady());
        let passed = steady
            .zip(self.steady)
            .map(|(now, then)| now.saturating_sub(then));
        let least = self.at.plus(passed.unwrap_or_default());
        if least < set {
            let step = set.since(least);
            if passed.is_some() && STEP_MIN < step {
                self.remember(least, step);
            }
            (self.at, self.steady) = (set, steady);
        }
        least.max(set)
    }

    fn remember(&mut self, at: Timestamp, step: Duration) {
        if STEPS_MAX <= self.steps.len()
            && let Some((_, oldest)) = self.steps.pop_front()
            && let Some((_, next)) = self.steps.front_mut()
        {
            *next = next.saturating_add(oldest);
        }
        self.steps.push_back((at, step));
    }
}

impl EngineTime {
    /// Time that starts no earlier than `log_time`.
    pub(crate) fn new(clock: Arc<dyn Clock>, log_time: Timestamp) -> Self {
        let behind = log_time.since(clock.now());
        if Duration::from_mins(1) < behind {
            tracing::warn!(
                "the machine's clock is {} s behind the last record of the log; the engine's time \
                 goes on from there. If the clock is right now, it was wrong before",
                behind.as_secs()
            );
        }
        let (at, steady) = (log_time.max(clock.now()), clock.steady());
        let anchor = Mutex::new(Anchor {
            at,
            steady,
            steps: VecDeque::new(),
        });
        Self {
            clock,
            counts_from: steady.map(|_| at),
            blind_before: (STEP_MIN < behind).then_some(at),
            anchor,
        }
    }

    /// Now; never earlier than any answer before.
    pub(crate) fn now(&self) -> Timestamp {
        if Bug::WallClockDeadline.is_on() {
            return self.clock.now();
        }
        let mut anchor = self.anchor.lock().unwrap_or_else(PoisonError::into_inner);
        anchor.now(self.clock.as_ref())
    }

    /// Whether more may have passed since `start` than the engine's time says, as far as this process
    /// can tell. For what must not be believed too late.
    pub(crate) fn may_be_longer_ago(&self, start: Timestamp) -> bool {
        self.blind_before.is_some_and(|began| start <= began)
    }

    /// Now, with what this process knows of how much time has really passed.
    pub(crate) fn elapsed(&self) -> Elapsed {
        let mut anchor = self.anchor.lock().unwrap_or_else(PoisonError::into_inner);
        let now = anchor.now(self.clock.as_ref());
        Elapsed::new(
            now,
            self.counts_from,
            anchor.steps.iter().copied().collect(),
        )
    }

    /// [`Elapsed::proven_since`] as of now. For what must not be believed too early.
    pub(crate) fn proven_since(&self, start: Timestamp) -> Timestamp {
        self.elapsed().proven_since(start)
    }
}

impl Clock for EngineTime {
    fn now(&self) -> Timestamp {
        Self::now(self)
    }

    fn steady(&self) -> Option<Duration> {
        self.clock.steady()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

    use super::*;

    #[derive(Default)]
    struct Hands {
        set: AtomicI64,
        steady: AtomicU64,
    }

    impl Hands {
        fn pass(&self, millis: u64) {
            self.steady.fetch_add(millis, Ordering::SeqCst);
            self.step(i64::try_from(millis).expect("a short time"));
        }

        fn step(&self, millis: i64) {
            self.set.fetch_add(millis, Ordering::SeqCst);
        }
    }

    impl Clock for Hands {
        fn now(&self) -> Timestamp {
            Timestamp(self.set.load(Ordering::SeqCst))
        }

        fn steady(&self) -> Option<Duration> {
            Some(Duration::from_millis(self.steady.load(Ordering::SeqCst)))
        }
    }

    #[test]
    fn i09_a_clock_that_is_set_back_lengthens_no_deadline_and_stops_nothing() {
        let hands = Arc::new(Hands::default());
        hands.step(1_000_000);
        let time = EngineTime::new(hands.clone(), Timestamp(0));
        assert_eq!(time.now(), Timestamp(1_000_000));
        hands.step(-900_000);
        assert_eq!(time.now(), Timestamp(1_000_000));
        hands.pass(500);
        assert_eq!(time.now(), Timestamp(1_000_500));
        hands.step(900_000);
        assert_eq!(time.now(), Timestamp(1_000_500));
        hands.pass(10);
        assert_eq!(time.now(), Timestamp(1_000_510));
        hands.step(5_000);
        assert_eq!(time.now(), Timestamp(1_005_510), "forward it follows");
    }

    #[test]
    fn i09_a_log_from_the_future_does_not_stop_the_time() {
        let hands = Arc::new(Hands::default());
        let time = EngineTime::new(hands.clone(), Timestamp(i64::from(i32::MAX)));
        hands.pass(1_234);
        assert_eq!(time.now(), Timestamp(i64::from(i32::MAX) + 1_234));
    }

    #[test]
    fn i09_the_end_of_time_is_no_overflow() {
        let hands = Arc::new(Hands::default());
        let time = EngineTime::new(hands.clone(), Timestamp(i64::MAX));
        hands.pass(u64::from(u32::MAX));
        assert_eq!(time.now(), Timestamp(i64::MAX));
        let time = EngineTime::new(hands, Timestamp(i64::MIN));
        assert_eq!(time.now(), Timestamp(i64::from(u32::MAX)));
    }

    #[test]
    fn i02_a_clock_that_is_behind_the_log_at_the_start_measures_nothing_from_before() {
        let hands = Arc::new(Hands::default());
        hands.step(1_000_000);
        let before = EngineTime::new(hands.clone(), Timestamp(0));
        let sent = before.now();
        assert!(!before.may_be_longer_ago(sent));
        hands.pass(5_000);
        let last_record = before.now();
        hands.step(-900_000);
        hands.pass(300_000);
        assert!(!before.may_be_longer_ago(sent), "the steady clock tells");
        let after = EngineTime::new(hands.clone(), last_record);
        assert!(after.may_be_longer_ago(sent));
        hands.pass(1);
        assert!(!after.may_be_longer_ago(after.now()));
        hands.step(900_000);
        let right = EngineTime::new(hands.clone(), last_record);
        assert!(!right.may_be_longer_ago(sent));
    }

    #[test]
    fn i10_a_clock_that_was_set_forward_while_no_process_ran_proves_nothing() {
        let hands = Arc::new(Hands::default());
        hands.step(1_000_000);
        let start = EngineTime::new(hands.clone(), Timestamp(0)).now();
        hands.step(86_400_000);
        let time = EngineTime::new(hands.clone(), start);
        assert_eq!(time.proven_since(start), start);
        hands.pass(2_000);
        assert_eq!(time.proven_since(start), start.plus_ms(2_000));
        hands.step(5_000);
        assert_eq!(time.proven_since(start), start.plus_ms(2_000));
    }

    #[test]
    fn i10_a_clock_that_is_set_forward_proves_nothing() {
        let hands = Arc::new(Hands::default());
        hands.step(1_000_000);
        let time = EngineTime::new(hands.clone(), Timestamp(0));
        let start = time.now();
        hands.pass(2_000);
        assert_eq!(time.proven_since(start), Timestamp(1_002_000));
        for _ in 0..100 {
            hands.step(86_400_000);
            time.now();
        }
        hands.pass(3_000);
        assert_eq!(time.proven_since(start), Timestamp(1_005_000));
        let later = time.now();
        assert_eq!(later, Timestamp(1_005_000 + 100 * 86_400_000));
        assert_eq!(
            time.proven_since(later),
            later,
            "what was before is no matter"
        );
    }
}
