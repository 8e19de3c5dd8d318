//! How often somebody may ask.
//!
//! Two limiters: per principal for requests with a valid credential, per address for all others
//! (sign-in, wrong tokens). Both refuse before anything is read or logged (invariant I21).

use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::limits;

/// The limiters of one server.
pub(crate) struct RateLimits {
    principals: DefaultKeyedRateLimiter<String>,
    addresses: DefaultKeyedRateLimiter<IpAddr>,
    clock: DefaultClock,
}

impl RateLimits {
    /// Limits with `per_second` requests of one principal, and more in a burst.
    pub(crate) fn new(per_second: NonZeroU32) -> Self {
        let burst = per_second.saturating_mul(limits::PRINCIPAL_BURST_FACTOR);
        Self {
            principals: RateLimiter::keyed(Quota::per_second(per_second).allow_burst(burst)),
            addresses: RateLimiter::keyed(
                Quota::per_second(limits::ADDRESS_PER_SECOND).allow_burst(limits::ADDRESS_BURST),
            ),
            clock: DefaultClock::default(),
        }
    }

    /// Counts a request of a principal; refused with the time to wait.
    pub(crate) fn principal(&self, id: &str) -> Result<(), Duration> {
        check(&self.principals, &id.to_owned(), &self.clock)
    }

    /// Counts a request without a valid credential; refused with the time to wait.
    pub(crate) fn address(&self, address: IpAddr) -> Result<(), Duration> {
        check(&self.addresses, &network(address), &self.clock)
    }
}

fn check<K: Hash + Eq + Clone>(
    limiter: &DefaultKeyedRateLimiter<K>,
    key: &K,
    clock: &DefaultClock,
) -> Result<(), Duration> {
    if limits::RATE_KEYS_SWEEP < limiter.len() {
        limiter.retain_recent();
    }
    limiter
        .check_key(key)
        .map_err(|not_until| not_until.wait_time_from(clock.now()))
}

/// One household or machine often owns a whole /64, so that single IPv6 addresses mean nothing.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_allowed_and_the_next_request_is_told_how_long_to_wait() {
        let rates = RateLimits::new(limits::PRINCIPAL_PER_SECOND);
        let burst = limits::PRINCIPAL_PER_SECOND
            .saturating_mul(limits::PRINCIPAL_BURST_FACTOR)
            .get();
        for _ in 0..burst {
            let _ = rates.principal("per_a");
        }
        let refused = (0..burst).find_map(|_| rates.principal("per_a").err());
        assert!(refused.is_some_and(|wait| wait <= Duration::from_secs(1)));
        assert!(rates.principal("per_b").is_ok(), "others are not affected");
    }

    #[test]
    fn addresses_of_one_ipv6_network_count_together() {
        let first: IpAddr = "2001:db8::1".parse().expect("an address");
        let second: IpAddr = "2001:db8::ffff:1".parse().expect("an address");
        assert_eq!(network(first), network(second));
        let mapped: IpAddr = "::ffff:192.0.2.1".parse().expect("an address");
        assert_eq!(
            network(mapped),
            "192.0.2.1".parse::<IpAddr>().expect("an address")
        );
    }
}
