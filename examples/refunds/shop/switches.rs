//! Switches that make the shop misbehave.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How the shop misbehaves. All off at first.
#[derive(Debug, Default)]
pub(crate) struct Switches {
    lose_answers: AtomicU64,
    fail_after: AtomicU64,
    refuse: AtomicU64,
    slow_ms: AtomicU64,
    forget_keys: AtomicBool,
}

/// What happens to one request that wants to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mishap {
    /// Nothing: it is answered.
    None,
    /// The work is done, then the connection is closed without an answer.
    LoseAnswer,
    /// The work is done, then the answer is 500.
    FailAfter,
    /// The work is not done, the answer is 422.
    Refuse,
}

impl Switches {
    /// Does the work of the next `times` writes and closes the connection instead of answering.
    pub(crate) fn lose_answers(&self, times: u64) {
        self.lose_answers.store(times, Ordering::SeqCst);
    }

    /// Does the work of the next `times` writes and answers 500.
    pub(crate) fn fail_after(&self, times: u64) {
        self.fail_after.store(times, Ordering::SeqCst);
    }

    /// Refuses the next `times` writes.
    pub(crate) fn refuse(&self, times: u64) {
        self.refuse.store(times, Ordering::SeqCst);
    }

    /// Waits this long before each write, until set to 0.
    pub(crate) fn slow(&self, milliseconds: u64) {
        self.slow_ms.store(milliseconds, Ordering::SeqCst);
    }

    /// Treats every request as a new one, whatever its key: what a shop without idempotency does.
    pub(crate) fn forget_keys(&self, on: bool) {
        self.forget_keys.store(on, Ordering::SeqCst);
    }

    /// Whether keys are forgotten.
    pub(crate) fn forgets_keys(&self) -> bool {
        self.forget_keys.load(Ordering::SeqCst)
    }

    /// How long to wait before a write.
    pub(crate) fn delay(&self) -> Duration {
        Duration::from_millis(self.slow_ms.load(Ordering::SeqCst))
    }

    /// What happens to the next write; uses up one of the times of its switch.
    pub(crate) fn next(&self) -> Mishap {
        if take(&self.refuse) {
            Mishap::Refuse
        } else if take(&self.lose_answers) {
            Mishap::LoseAnswer
        } else if take(&self.fail_after) {
            Mishap::FailAfter
        } else {
            Mishap::None
        }
    }

    /// In words, for the page.
    pub(crate) fn describe(&self) -> Vec<String> {
        let mut words = Vec::new();
        for (switch, what) in [
            (
                &self.lose_answers,
                "answers to be lost after the work is done",
            ),
            (&self.fail_after, "answers to be 500 after the work is done"),
            (&self.refuse, "requests to be refused"),
            (&self.slow_ms, "milliseconds of waiting before each write"),
        ] {
            let value = switch.load(Ordering::SeqCst);
            if value > 0 {
                words.push(format!("{what}: {value}"));
            }
        }
        if self.forgets_keys() {
            words.push("idempotency keys are ignored".to_owned());
        }
        words
    }
}

fn take(switch: &AtomicU64) -> bool {
    switch
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
            left.checked_sub(1)
        })
        .is_ok()
}
