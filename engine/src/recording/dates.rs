//! Days in arguments, relative to the day of the recording.

use std::ops::Range;

use chrono::NaiveDate;

/// The farthest day that a skill file can name relative to today.
const DAYS_MAX: i64 = 365;

/// How a day is written.
const LENGTH: usize = 10;

/// A day in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Day {
    pub(super) at: Range<usize>,
    /// The hole that stands for it, such as `{{today-7d}}`.
    pub(super) hole: String,
}

/// Whether a text is a day, and nothing else.
pub(super) fn is_date(text: &str) -> bool {
    day(text).is_some()
}

fn day(text: &str) -> Option<NaiveDate> {
    let shape = |(at, byte): (usize, u8)| {
        if matches!(at, 4 | 7) {
            byte == b'-'
        } else {
            byte.is_ascii_digit()
        }
    };
    (text.len() == LENGTH && text.bytes().enumerate().all(shape))
        .then(|| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok())
        .flatten()
}

/// Whether there is a day in a text.
pub(super) fn has_day(text: &str) -> bool {
    text.match_indices('-').any(|(dash, _)| {
        let start = dash.checked_sub(4);
        start.is_some_and(|start| text.get(start..start + LENGTH).is_some_and(is_date))
    })
}

/// The days of a text that a hole can stand for, where the recording was made on `today`.
pub(super) fn find(text: &str, today: NaiveDate) -> Vec<Day> {
    let mut days: Vec<Day> = Vec::new();
    for (dash, _) in text.match_indices('-') {
        let Some(start) = dash.checked_sub(4) else {
            continue;
        };
        let at = start..start + LENGTH;
        let Some(named) = text.get(at.clone()).and_then(day) else {
            continue;
        };
        let is_part =
            |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit() || c == '-' || c == '_');
        let before = text[..at.start].chars().next_back();
        let after = text[at.end..].chars().next();
        let distance = (named - today).num_days();
        let is_brace = before == Some('{') || after == Some('}');
        if is_part(before)
            || before.is_some_and(char::is_alphabetic)
            || is_part(after)
            || is_brace
            || distance.abs() > DAYS_MAX
        {
            continue;
        }
        let hole = match distance {
            0 => "{{today}}".to_owned(),
            days => format!("{{{{today{days:+}d}}}}"),
        };
        days.push(Day { at, hole });
    }
    days
}
