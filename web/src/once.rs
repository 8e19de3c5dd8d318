//! Secrets on their way to the one page that shows them.
//!
//! A form that makes a secret ends in a redirect, and the page after it shows the secret once. In
//! between it waits here: in memory, for the session that made it, for a minute.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdpoint_engine::identity::Secret;
use holdpoint_engine::time::Timestamp;

/// How long a secret waits for its page.
const WAITS: Duration = Duration::from_mins(1);

/// The most secrets that wait; the oldest one makes room, and its owner makes a new one.
const WAITING_MAX: usize = 64;

/// What waits, the oldest first.
#[derive(Default)]
pub(crate) struct Once(Mutex<Vec<Waiting>>);

struct Waiting {
    session: String,
    subject: String,
    until: Timestamp,
    secret: Secret,
}

impl Once {
    /// Keeps a secret for the next page of this session about this subject.
    pub(crate) fn keep(&self, session: &str, subject: &str, secret: Secret, now: Timestamp) {
        let mut waiting = self.lock(now);
        if WAITING_MAX <= waiting.len() {
            waiting.remove(0);
        }
        waiting.push(Waiting {
            session: session.to_owned(),
            subject: subject.to_owned(),
            until: now.plus(WAITS),
            secret,
        });
    }

    /// The secret, which is gone afterwards.
    pub(crate) fn take(&self, session: &str, subject: &str, now: Timestamp) -> Option<Secret> {
        let mut waiting = self.lock(now);
        let is_it = |it: &Waiting| it.session == session && it.subject == subject;
        let place = waiting.iter().position(is_it)?;
        Some(waiting.remove(place).secret)
    }

    fn lock(&self, now: Timestamp) -> MutexGuard<'_, Vec<Waiting>> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|it| now < it.until);
        waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_a_secret_is_shown_once_to_the_session_that_made_it_and_not_later() {
        let (once, now) = (Once::default(), Timestamp(1_000_000));
        let keep = |session: &str| once.keep(session, "whk_1", Secret::new("canary"), now);
        keep("a");
        assert!(once.take("b", "whk_1", now).is_none());
        assert!(once.take("a", "whk_2", now).is_none());
        assert!(once.take("a", "whk_1", now).is_some());
        assert!(once.take("a", "whk_1", now).is_none());
        keep("a");
        assert!(once.take("a", "whk_1", now.plus(WAITS)).is_none());
        for number in 0..1000 {
            keep(&number.to_string());
        }
        assert_eq!(once.lock(now).len(), WAITING_MAX);
    }
}
