//! Moments and spans in words.

use std::time::Duration;

use askama::Template;
use askama::filters::HtmlSafe;
use chrono::{DateTime, Utc};
use holdpoint_engine::time::Timestamp;

/// A moment: exact for machines, in UTC and relative for people. Renders as HTML.
#[derive(Clone, Debug, PartialEq, Eq, Template)]
#[template(
    ext = "html",
    source = r#"<span class="when"><time datetime="{{ iso }}">{{ text }}</time> <span class="rel">({{ relative }})</span></span>"#
)]
pub(in crate::pages) struct When {
    iso: String,
    text: String,
    relative: String,
}

/// The template above escapes every part of it.
impl HtmlSafe for When {}

impl When {
    pub(in crate::pages) fn new(moment: Timestamp, now: Timestamp) -> Self {
        Self {
            iso: moment.rfc3339(),
            text: clock_words(moment),
            relative: relative(moment, now),
        }
    }

    /// As bare text in UTC.
    pub(in crate::pages) fn text(&self) -> &str {
        &self.text
    }
}

fn clock_words(moment: Timestamp) -> String {
    DateTime::<Utc>::from_timestamp_millis(moment.0).map_or_else(
        || moment.rfc3339(),
        |time| time.format("%-d %b %Y, %H:%M:%S UTC").to_string(),
    )
}

fn relative(moment: Timestamp, now: Timestamp) -> String {
    let ahead = moment.since(now);
    let behind = now.since(moment);
    if ahead < Duration::from_secs(1) && behind < Duration::from_secs(1) {
        "now".into()
    } else if now < moment {
        format!("in {}", span_words(ahead))
    } else {
        format!("{} ago", span_words(behind))
    }
}

/// A span in its two largest units: `2 h 5 min`.
pub(in crate::pages) fn span_words(span: Duration) -> String {
    let seconds = span.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) if 5 <= minutes || seconds.is_multiple_of(60) => format!("{minutes} min"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) if minutes.is_multiple_of(60) => format!("{hours} h"),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        (_, _, _) if hours.is_multiple_of(24) => format!("{days} d"),
        (_, _, _) => format!("{days} d {} h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_said_in_two_units() {
        for (seconds, words) in [
            (0, "0 s"),
            (59, "59 s"),
            (90, "1 min 30 s"),
            (3600, "1 h"),
            (7500, "2 h 5 min"),
            (86_400, "1 d"),
            (90_000, "1 d 1 h"),
        ] {
            assert_eq!(span_words(Duration::from_secs(seconds)), words);
        }
    }

    #[test]
    fn a_moment_is_said_in_utc_and_relative_to_now() {
        let moment = Timestamp(1_772_366_400_000);
        let when = When::new(moment, moment.plus_ms(61_000));
        assert_eq!(when.text(), "1 Mar 2026, 12:00:00 UTC");
        assert_eq!(when.relative, "1 min 1 s ago");
        assert_eq!(When::new(moment.plus_ms(1_000), moment).relative, "in 1 s");
        assert_eq!(When::new(moment, moment).relative, "now");
    }
}
