//! How fast somebody may guess, and how much of it is written down. In memory and bounded.
//!
//! An attempt is charged before the password is looked at, so that a hundred parallel guesses do
//! not all slip through; a success takes the charge back.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use super::text;
use crate::canon::Digest;
use crate::limits;
use crate::time::Timestamp;

/// Failed sign-ins per account and per address.
#[derive(Debug)]
pub(super) struct Throttle {
    accounts: Counter,
    addresses: Counter,
    recorded: Budget,
}

#[derive(Debug)]
struct Counter {
    failures: HashMap<Digest, Failures>,
    free: u32,
    wait_max_ms: u64,
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: Timestamp,
}

/// Records of refusals that may still be written.
#[derive(Debug)]
struct Budget {
    left: u64,
    filled_at: Timestamp,
    unrecorded: u64,
}

impl Throttle {
    pub(super) fn new() -> Self {
        Self {
            accounts: Counter {
                failures: HashMap::new(),
                free: limits::SIGN_IN_FAILURES_FREE_PER_ACCOUNT,
                wait_max_ms: limits::SIGN_IN_WAIT_MAX_MS_PER_ACCOUNT,
            },
            addresses: Counter {
                failures: HashMap::new(),
                free: limits::SIGN_IN_FAILURES_FREE_PER_ADDRESS,
                wait_max_ms: limits::SIGN_IN_WAIT_MAX_MS_PER_ADDRESS,
            },
            recorded: Budget {
                left: limits::REFUSALS_RECORDED_BURST,
                filled_at: Timestamp(0),
                unrecorded: 0,
            },
        }
    }

    /// Charges an attempt, or says how long to wait before the next one.
    pub(super) fn attempt(
        &mut self,
        email: &str,
        from: &str,
        now: Timestamp,
    ) -> Result<(), Duration> {
        let (account, address) = (account_key(email), address_key(from));
        let wait = self
            .accounts
            .wait(account, now)
            .max(self.addresses.wait(address, now));
        if wait > Duration::ZERO {
            return Err(wait);
        }
        self.accounts.charge(account, now);
        self.addresses.charge(address, now);
        Ok(())
    }

    /// Takes back what [`Throttle::attempt`] charged, and forgets the failures of the account.
    pub(super) fn succeeded(&mut self, email: &str, from: &str) {
        self.accounts.failures.remove(&account_key(email));
        if let Some(failures) = self.addresses.failures.get_mut(&address_key(from)) {
            failures.count = failures.count.saturating_sub(1);
        }
    }

    /// Whether a refusal may be written down now; then the number of those before it that were not.
    pub(super) fn record_refusal(&mut self, now: Timestamp) -> Option<u64> {
        let budget = &mut self.recorded;
        let elapsed_ms = u64::try_from(now.since(budget.filled_at).as_millis()).unwrap_or(0);
        let more = elapsed_ms / limits::REFUSALS_RECORDED_EVERY_MS;
        if more > 0 {
            budget.left = budget
                .left
                .saturating_add(more)
                .min(limits::REFUSALS_RECORDED_BURST);
            budget.filled_at = now;
        }
        if budget.left == 0 {
            budget.unrecorded = budget.unrecorded.saturating_add(1);
            return None;
        }
        budget.left -= 1;
        Some(std::mem::take(&mut budget.unrecorded))
    }
}

impl Counter {
    fn wait(&self, key: Digest, now: Timestamp) -> Duration {
        let Some(failures) = self.failures.get(&key) else {
            return Duration::ZERO;
        };
        let Some(over) = failures.count.checked_sub(self.free) else {
            return Duration::ZERO;
        };
        let wait_ms = limits::SIGN_IN_WAIT_MIN_MS
            .saturating_mul(1_u64.checked_shl(over).unwrap_or(u64::MAX))
            .min(self.wait_max_ms);
        failures.last.plus_ms(wait_ms).since(now)
    }

    fn charge(&mut self, key: Digest, now: Timestamp) {
        if !self.failures.contains_key(&key) && self.failures.len() >= limits::THROTTLED_MAX {
            self.make_room(now);
        }
        let failures = self.failures.entry(key).or_insert(Failures {
            count: 0,
            last: now,
        });
        if is_forgotten(*failures, now) {
            failures.count = 0;
        }
        failures.count = failures.count.saturating_add(1);
        failures.last = now;
    }

    /// Drops what is forgotten, or else whoever has failed least: a flood of new addresses does not
    /// wash out the one that is being guessed at.
    fn make_room(&mut self, now: Timestamp) {
        self.failures
            .retain(|_, failures| !is_forgotten(*failures, now));
        if self.failures.len() < limits::THROTTLED_MAX {
            return;
        }
        let least = self
            .failures
            .iter()
            .min_by_key(|(_, failures)| (failures.count, failures.last))
            .map(|(key, _)| *key);
        if let Some(key) = least {
            self.failures.remove(&key);
        }
    }
}

fn is_forgotten(failures: Failures, now: Timestamp) -> bool {
    Duration::from_millis(limits::SIGN_IN_FAILURES_FORGOTTEN_MS) <= now.since(failures.last)
}

fn account_key(email: &str) -> Digest {
    Digest::of(text::fold_email(email).as_bytes())
}

/// One key for one IPv6 network: whoever has one address of it has all of them.
fn address_key(from: &str) -> Digest {
    match from.parse() {
        Ok(IpAddr::V6(address)) => match address.to_ipv4_mapped() {
            Some(address) => Digest::of(address.to_string().as_bytes()),
            None => Digest::of(&address.octets()[..8]),
        },
        Ok(IpAddr::V4(_)) | Err(_) => Digest::of(from.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_their_bound_and_are_forgotten() {
        let mut throttle = Throttle::new();
        let mut now = Timestamp(1_000_000);
        for _ in 0..limits::SIGN_IN_FAILURES_FREE_PER_ACCOUNT {
            assert_eq!(throttle.attempt("a@b.c", "192.0.2.1", now), Ok(()));
        }
        let mut waits = Vec::new();
        for _ in 0..9 {
            let wait = throttle
                .attempt(" A@b.C", "192.0.2.2", now)
                .expect_err("the account has to wait");
            waits.push(wait.as_secs());
            now = now.plus(wait);
            assert_eq!(throttle.attempt("a@b.c", "192.0.2.2", now), Ok(()));
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(throttle.attempt("other@b.c", "192.0.2.3", now), Ok(()));
        now = now.plus_ms(limits::SIGN_IN_FAILURES_FORGOTTEN_MS);
        for _ in 0..limits::SIGN_IN_FAILURES_FREE_PER_ACCOUNT {
            assert_eq!(throttle.attempt("a@b.c", "192.0.2.1", now), Ok(()));
        }
    }

    #[test]
    fn i21_a_flood_of_addresses_stays_bounded_and_washes_nobody_out() {
        let mut throttle = Throttle::new();
        let now = Timestamp(1_000_000);
        for _ in 0..limits::SIGN_IN_FAILURES_FREE_PER_ACCOUNT {
            assert_eq!(throttle.attempt("a@b.c", "::1", now), Ok(()));
        }
        for number in 0..limits::THROTTLED_MAX + 50 {
            let (email, from) = (format!("{number}@b.c"), format!("2001:db8:{number:x}::1"));
            assert_eq!(throttle.attempt(&email, &from, now), Ok(()));
        }
        assert_eq!(throttle.accounts.failures.len(), limits::THROTTLED_MAX);
        assert!(throttle.attempt("a@b.c", "2001:db8:ffff::1", now).is_err());
    }

    #[test]
    fn i21_a_flood_of_refusals_is_counted_instead_of_recorded() {
        let mut throttle = Throttle::new();
        let now = Timestamp(1_000_000);
        let recorded = (0..1000)
            .filter_map(|_| throttle.record_refusal(now))
            .count();
        assert_eq!(recorded as u64, limits::REFUSALS_RECORDED_BURST);
        let later = now.plus_ms(limits::REFUSALS_RECORDED_EVERY_MS);
        let missed = 1000 - limits::REFUSALS_RECORDED_BURST;
        assert_eq!(throttle.record_refusal(later), Some(missed));
        assert_eq!(throttle.record_refusal(later), None);
    }
}
