//! Durations as people write them: `500ms`, `10s`, `1m30s`, `24h`, `7d`, and `1s..5m` for a range.

use std::time::Duration;

use crate::limits::DURATION_MAX;

/// The text is not a duration; says how one is written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DurationError(String);

/// From the largest to the smallest, in milliseconds.
const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1000),
    ("ms", 1),
];

/// Reads whole numbers with units, from the largest unit to the smallest, each at most once.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    let wrong = || {
        DurationError(format!(
            "{text:?} is not a duration; write whole numbers with units, such as 500ms, 10s, 1m30s, 24h or 7d"
        ))
    };
    let mut rest = text;
    let mut units = UNITS.iter();
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        let tail = &rest[digits..];
        let unit = tail
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (_, ms) = units
            .find(|(name, _)| *name == &tail[..unit])
            .ok_or_else(wrong)?;
        total = number
            .checked_mul(*ms)
            .and_then(|part| total.checked_add(part))
            .ok_or_else(wrong)?;
        rest = &tail[unit..];
    }
    if text.is_empty() {
        return Err(wrong());
    }
    let duration = Duration::from_millis(total);
    if DURATION_MAX < duration {
        return Err(DurationError(format!(
            "{text:?} is longer than a year; check the unit"
        )));
    }
    Ok(duration)
}

/// Reads `SHORTEST..LONGEST`.
pub(super) fn parse_range(text: &str) -> Result<(Duration, Duration), DurationError> {
    let (from, to) = text.split_once("..").ok_or_else(|| {
        DurationError(format!(
            "{text:?} is not a range of durations; write it as 1s..5m"
        ))
    })?;
    let (from, to) = (parse(from)?, parse(to)?);
    if to < from || from.is_zero() {
        return Err(DurationError(format!(
            "{text:?} must start above zero and not end before it starts; write it as 1s..5m"
        )));
    }
    Ok((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_in_every_unit() {
        for (text, ms) in [
            ("500ms", 500),
            ("10s", 10_000),
            ("1m30s", 90_000),
            ("24h", 86_400_000),
            ("7d", 604_800_000),
            ("1d2h3m4s5ms", 93_784_005),
            ("0s", 0),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_an_example() {
        for text in [
            "",
            "10",
            "s",
            "10 s",
            "1s1m",
            "1s1s",
            "1.5h",
            "-1s",
            "10S",
            "99999999999999999999s",
            "1w",
        ] {
            let error = parse(text).expect_err(text);
            assert!(
                error.to_string().contains("such as 500ms"),
                "{text}: {error}"
            );
        }
        assert!(
            parse("400d")
                .expect_err("too long")
                .to_string()
                .contains("year")
        );
    }

    #[test]
    fn ranges_go_upwards() {
        assert_eq!(
            parse_range("1s..5m"),
            Ok((Duration::from_secs(1), Duration::from_mins(5)))
        );
        for text in ["1s", "5m..1s", "0s..1s", "..", "1s..", "a..b"] {
            assert!(parse_range(text).is_err(), "{text}");
        }
    }
}
