//! When an event that was not taken is sent again. Pure; published in `docs/WEBHOOKS.md`.

use std::time::Duration;

use chrono::DateTime;

use crate::time::Timestamp;

/// How long after the attempt before each attempt follows: that of Standard Webhooks, about three
/// days in all. The waits are lengthened by up to a tenth, so that endpoints that fell together do
/// not come back together.
pub const SCHEDULE: [Duration; 10] = [
    Duration::ZERO,
    Duration::from_secs(5),
    Duration::from_mins(5),
    Duration::from_mins(30),
    Duration::from_hours(2),
    Duration::from_hours(5),
    Duration::from_hours(10),
    Duration::from_hours(14),
    Duration::from_hours(20),
    Duration::from_hours(24),
];

/// The least wait where the endpoint says that it is too busy.
const BUSY_WAIT_MIN: Duration = Duration::from_mins(1);

/// The longest `Retry-After` that is honoured: the longest wait of the schedule.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(24);

/// When the attempt after `made` attempts follows; none where there is no further one. `jitter` is
/// any random number, `busy` how long an endpoint asks to wait that has too much to do.
pub(super) fn next_attempt(
    made: u32,
    now: Timestamp,
    jitter: u32,
    busy: Option<Duration>,
) -> Option<Timestamp> {
    let wait = *SCHEDULE.get(usize::try_from(made).unwrap_or(usize::MAX))?;
    let wait = match busy {
        Some(asked) => wait.max(BUSY_WAIT_MIN).max(asked.min(RETRY_AFTER_MAX)),
        None => wait,
    };
    Some(
        now.plus(wait)
            .plus(wait.mul_f64(f64::from(jitter) / f64::from(u32::MAX) / 10.0)),
    )
}

/// What a `Retry-After` asks for: seconds, or a date.
pub(super) fn retry_after(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(Duration::from_secs(u64::from(seconds)));
    }
    let date = DateTime::parse_from_rfc2822(text).ok()?;
    Some(Timestamp(date.timestamp_millis()).since(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_790_812_800_000);

    #[test]
    fn the_schedule_is_the_published_one_and_jitter_only_lengthens_it() {
        let published = include_str!("../../../docs/WEBHOOKS.md");
        assert!(published.contains("0, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h"));
        let hours = 3600;
        let seconds = [
            0,
            5,
            300,
            1800,
            2 * hours,
            5 * hours,
            10 * hours,
            14 * hours,
            20 * hours,
            24 * hours,
        ];
        for (made, seconds) in (0..).zip(seconds) {
            let wait = Duration::from_secs(seconds);
            assert_eq!(next_attempt(made, NOW, 0, None), Some(NOW.plus(wait)));
            let longest = next_attempt(made, NOW, u32::MAX, None);
            assert_eq!(longest, Some(NOW.plus(wait + wait / 10)));
        }
        assert_eq!(next_attempt(10, NOW, 0, None), None);
        assert_eq!(next_attempt(u32::MAX, NOW, 0, None), None);
    }

    #[test]
    fn a_busy_endpoint_is_given_time_within_bounds() {
        let busy = |made, asked: Duration| next_attempt(made, NOW, 0, Some(asked));
        let after = |wait| Some(NOW.plus(wait));
        assert_eq!(busy(1, Duration::ZERO), after(Duration::from_mins(1)));
        let asked = Duration::from_mins(7);
        assert_eq!(busy(1, asked), after(asked));
        assert_eq!(busy(3, asked), after(Duration::from_mins(30)));
        let year = Duration::from_hours(24 * 365);
        assert_eq!(busy(1, year), after(Duration::from_hours(24)));
    }

    #[test]
    fn retry_after_is_a_number_of_seconds_or_a_date() {
        assert_eq!(retry_after(" 120 ", NOW), Some(Duration::from_mins(2)));
        let date = "Thu, 01 Oct 2026 00:01:00 GMT";
        assert_eq!(retry_after(date, NOW), Some(Duration::from_mins(1)));
        let past = "Wed, 21 Oct 2015 07:28:00 GMT";
        assert_eq!(retry_after(past, NOW), Some(Duration::ZERO));
        for odd in ["", "soon", "-5", "1.5", "99999999999999999999"] {
            assert_eq!(retry_after(odd, NOW), None, "{odd}");
        }
    }
}
