//! When a schedule is due: a cron pattern in a time zone.
//!
//! Five fields (minute, hour, day of month, month, day of week), as POSIX has them, with `L`, `W` and
//! `#`. Where clocks are set forward, a time that does not exist that day is due at the first moment after
//! the gap; a pattern that repeats within an hour leaves the gap out. Where clocks are set back, a
//! fixed time is due once, the first time; a pattern that repeats goes on through both hours.

use std::fmt;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};

use crate::limits::CRON_BYTES_MAX;
use crate::time::Timestamp;

/// A pattern in a time zone, read and checked.
#[derive(Clone)]
pub struct Timetable {
    cron: Cron,
    pattern: String,
    zone: Tz,
}

impl fmt::Debug for Timetable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.pattern, self.zone)
    }
}

impl PartialEq for Timetable {
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern && self.zone == other.zone
    }
}

impl Eq for Timetable {}

impl Timetable {
    /// Reads a pattern such as `30 9 * * MON-FRI` and the name of a zone such as `Europe/Berlin`. Fails
    /// with words where either is wrong, or where the pattern is never due.
    pub fn parse(pattern: &str, zone: &str) -> Result<Self, String> {
        if CRON_BYTES_MAX < pattern.len() {
            return Err(format!("the pattern is longer than {CRON_BYTES_MAX} bytes"));
        }
        let zone: Tz = zone.parse().map_err(|_| {
            format!("{zone:?} is no time zone; write UTC, or a name such as Europe/Berlin")
        })?;
        let parser = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .year(Year::Disallowed)
            .build();
        let cron = parser.parse(pattern).map_err(|error| {
            format!(
                "{pattern:?} is no cron pattern ({error}); write five fields, as in \"30 9 * * MON-FRI\""
            )
        })?;
        let table = Self {
            cron,
            pattern: pattern.to_owned(),
            zone,
        };
        match table.next_after(Timestamp(0)) {
            Some(_) => Ok(table),
            None => Err(format!("{pattern:?} is never due")),
        }
    }

    /// The pattern, as written.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// The name of the zone.
    pub fn zone(&self) -> &'static str {
        self.zone.name()
    }

    /// In words, for people.
    pub fn words(&self) -> String {
        format!("{}, {}", self.cron.describe(), self.zone.name())
    }

    /// The first moment after `at` at which it is due; none where there is none that can be named.
    pub fn next_after(&self, at: Timestamp) -> Option<Timestamp> {
        let found = self.cron.find_next_occurrence(&self.local(at)?, false);
        found
            .ok()
            .map(|moment| Timestamp(moment.timestamp_millis()))
    }

    /// The last moment at which it was due, not after `at`.
    pub fn last_until(&self, at: Timestamp) -> Option<Timestamp> {
        // From a whole second: from within the last one before a doubled hour, what is found is later.
        let second = Timestamp(at.0 - at.0.rem_euclid(1000));
        let found = self
            .cron
            .find_previous_occurrence(&self.local(second)?, true);
        found
            .ok()
            .map(|moment| Timestamp(moment.timestamp_millis()))
    }

    fn local(&self, at: Timestamp) -> Option<DateTime<Tz>> {
        let utc: DateTime<Utc> = DateTime::from_timestamp_millis(at.0)?;
        Some(utc.with_timezone(&self.zone))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_rfc3339(text).expect("a moment")
    }

    fn times(pattern: &str, zone: &str, from: &str, count: usize) -> Vec<String> {
        let table = Timetable::parse(pattern, zone).expect("a timetable");
        let mut now = at(from);
        let mut found = Vec::new();
        for _ in 0..count {
            now = table.next_after(now).expect("a next time");
            found.push(now.rfc3339());
        }
        found
    }

    #[test]
    fn a_time_that_the_clock_leaves_out_is_due_right_after_the_gap() {
        // Berlin, 2026-03-29: from 02:00 to 03:00 at once.
        let found = times(
            "30 2 * * *",
            "Europe/Berlin",
            "2026-03-28T03:00:00+01:00",
            2,
        );
        assert_eq!(
            found,
            ["2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"]
        );
    }

    #[test]
    fn a_time_that_the_clock_shows_twice_is_due_once() {
        // Berlin, 2026-10-25: from 03:00 back to 02:00.
        let found = times(
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-24T03:00:00+02:00",
            2,
        );
        assert_eq!(
            found,
            ["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"]
        );
    }

    #[test]
    fn what_repeats_goes_on_through_a_doubled_hour() {
        let found = times(
            "*/30 * * * *",
            "Europe/Berlin",
            "2026-10-25T02:00:00+02:00",
            4,
        );
        assert_eq!(
            found,
            [
                "2026-10-25T00:30:00.000Z",
                "2026-10-25T01:00:00.000Z",
                "2026-10-25T01:30:00.000Z",
                "2026-10-25T02:00:00.000Z",
            ]
        );
    }

    #[test]
    fn the_last_time_is_found_from_any_moment_after_it() {
        let table = Timetable::parse("0 9 * * MON-FRI", "UTC").expect("a timetable");
        let sunday = at("2026-11-29T12:00:00Z");
        let friday = at("2026-11-27T09:00:00Z");
        assert_eq!(table.last_until(sunday), Some(friday));
        assert_eq!(table.last_until(friday), Some(friday));
    }

    #[test]
    fn the_last_time_is_never_one_that_comes_where_clocks_are_set_back() {
        for (zone, from) in [
            ("Europe/Berlin", "2026-10-24T22:00:00Z"),
            ("America/New_York", "2027-11-07T03:00:00Z"),
            ("Australia/Lord_Howe", "2027-04-03T13:00:00Z"),
        ] {
            for pattern in ["0 * * * *", "0 */2 * * *", "*/30 * * * *"] {
                let table = Timetable::parse(pattern, zone).expect("a timetable");
                let mut last = table.next_after(at(from)).expect("a next time");
                for _ in 0..6 {
                    let next = table.next_after(last).expect("a next time");
                    for before in [1, 500, 999, 1000, 1001] {
                        let found = table.last_until(Timestamp(next.0 - before));
                        assert_eq!(found, Some(last), "{pattern} {zone} {next} {before}");
                    }
                    assert_eq!(table.last_until(next), Some(next));
                    last = next;
                }
            }
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_words() {
        for (pattern, zone, words) in [
            ("x", "UTC", "is no cron pattern"),
            ("* * * * * *", "UTC", "is no cron pattern"),
            ("0 9 * * *", "Berlin", "is no time zone"),
            ("0 0 30 2 *", "UTC", "never due"),
        ] {
            let error = Timetable::parse(pattern, zone).expect_err("refused");
            assert!(error.contains(words), "{error}");
        }
    }
}
