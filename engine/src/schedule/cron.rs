//! When a schedule is due: a cron pattern in a time zone.
//!
//! Five fields (minute, hour, day of month, month, day of week), as POSIX has them, with `L`, `W` and
//! `#`. What the clock does in spring and in autumn is told apart by the field of the hours:
//!
//! * `*`, and steps and ranges over all hours, repeat: they are due whenever the clock shows such a time. They
//!   leave a gap out and go through a doubled hour twice.
//! * All others name times of the day, and each of these is due once a day: one that does not exist that
//!   day at the first moment after the gap, one that is there twice the first time.

use std::fmt;

use chrono::{DateTime, Duration, NaiveDateTime, Offset as _, TimeZone as _, Utc};
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
    /// Whether it is due whenever the clock shows such a time, and not at times of the day.
    repeats: bool,
}

/// No clock is set by more than this, but where a country changes the date.
const SHIFT_MAX: Duration = Duration::hours(26);

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
            repeats: repeats(pattern),
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
        let words = self.cron.describe();
        format!("{}, {}", words.trim_end_matches('.'), self.zone.name())
    }

    /// A moment as clocks in the zone show it.
    pub fn shown(&self, at: Timestamp) -> String {
        self.local(at).map_or_else(
            || at.rfc3339(),
            |local| local.format("%a %-d %b %Y, %H:%M %Z").to_string(),
        )
    }

    /// The first moment after `at` at which it is due; none where there is none that can be named.
    pub fn next_after(&self, at: Timestamp) -> Option<Timestamp> {
        let (mut from, mut inclusive) = (at, false);
        loop {
            let offset = self.offset(from)?;
            let shown = clock(from, offset)?;
            if !self.repeats {
                return self.next_time_of_day(shown, at);
            }
            let found = self.cron.find_next_occurrence(&shown, inclusive).ok()?;
            let found = moment(found, offset);
            if self.offset(found)? == offset {
                return Some(found);
            }
            // The clock is set before: from then on it shows other times.
            (from, inclusive) = (self.change(from, found)?, true);
        }
    }

    /// The last moment at which it was due, not after `at`.
    pub fn last_until(&self, at: Timestamp) -> Option<Timestamp> {
        // From a whole second: no pattern is due in between.
        let mut from = Timestamp(at.0 - at.0.rem_euclid(1000));
        loop {
            let offset = self.offset(from)?;
            let shown = clock(from, offset)?;
            if !self.repeats {
                return self.last_time_of_day(shown, at);
            }
            let found = self.cron.find_previous_occurrence(&shown, true).ok()?;
            let found = moment(found, offset);
            if self.offset(found)? == offset {
                return Some(found);
            }
            from = Timestamp(self.change(found, from)?.0 - 1000);
        }
    }

    fn next_time_of_day(&self, mut shown: DateTime<Utc>, at: Timestamp) -> Option<Timestamp> {
        loop {
            shown = self.cron.find_next_occurrence(&shown, false).ok()?;
            let due = self.due(shown.naive_utc())?;
            if at < due {
                return Some(due);
            }
        }
    }

    fn last_time_of_day(&self, shown: DateTime<Utc>, at: Timestamp) -> Option<Timestamp> {
        // The first of two equal times may be over although the clock shows an earlier one now.
        let mut shown = shown + SHIFT_MAX;
        loop {
            shown = self.cron.find_previous_occurrence(&shown, false).ok()?;
            let due = self.due(shown.naive_utc())?;
            if due <= at {
                return Some(due);
            }
        }
    }

    /// How far the clocks of the zone are before UTC.
    fn offset(&self, at: Timestamp) -> Option<Duration> {
        let seconds = self.local(at)?.offset().fix().local_minus_utc();
        Some(Duration::seconds(seconds.into()))
    }

    /// The first moment after `from`, not after `until`, at which the clock is set otherwise than at `from`;
    /// at `until` it is.
    fn change(&self, from: Timestamp, until: Timestamp) -> Option<Timestamp> {
        let before = self.offset(from)?;
        let (mut low, mut high) = (from.0, until.0);
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if self.offset(Timestamp(middle))? == before {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(Timestamp(high))
    }

    /// The moment at which a time of the day is due: when the clock first shows it, or else the first
    /// moment after the gap that it falls into.
    fn due(&self, shown: NaiveDateTime) -> Option<Timestamp> {
        let mut after = shown;
        while after <= shown + SHIFT_MAX {
            if let Some(moment) = self.zone.from_local_datetime(&after).earliest() {
                return Some(Timestamp(moment.timestamp_millis()));
            }
            after += Duration::minutes(1);
        }
        None
    }

    fn local(&self, at: Timestamp) -> Option<DateTime<Tz>> {
        let utc: DateTime<Utc> = DateTime::from_timestamp_millis(at.0)?;
        Some(utc.with_timezone(&self.zone))
    }
}

/// What a clock shows that is so far before UTC, as if it were UTC: there nothing is left out and nothing is
/// there twice.
fn clock(at: Timestamp, offset: Duration) -> Option<DateTime<Utc>> {
    Some(DateTime::from_timestamp_millis(at.0)? + offset)
}

/// The moment at which such a clock shows this.
fn moment(shown: DateTime<Utc>, offset: Duration) -> Timestamp {
    Timestamp((shown - offset).timestamp_millis())
}

/// Whether the field of the hours stands for all of the day.
fn repeats(pattern: &str) -> bool {
    match pattern.split_whitespace().nth(1) {
        Some(hours) => hours.split(',').any(|part| {
            let range = part.split('/').next();
            matches!(range, Some("*" | "?" | "0-23"))
        }),
        // The other names of patterns are of times of the day.
        None => pattern.trim().eq_ignore_ascii_case("@hourly"),
    }
}

#[cfg(test)]
mod tests;
