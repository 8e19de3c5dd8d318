//! When patterns are due, and what clocks do to that.

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

/// Each of a pattern, a zone, a moment, and the moments at which it is due next.
const CHANGES: [(&str, &str, &str, &[&str]); 16] = [
    // Berlin, 2026-03-29: from 02:00 to 03:00 at once.
    (
        "30 2 * * *",
        "Europe/Berlin",
        "2026-03-28T03:00:00+01:00",
        &["2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"],
    ),
    (
        "30 2,14 * * *",
        "Europe/Berlin",
        "2026-03-28T15:00:00+01:00",
        &["2026-03-29T01:00:00.000Z", "2026-03-29T12:30:00.000Z"],
    ),
    (
        "*/20 2 * * *",
        "Europe/Berlin",
        "2026-03-28T03:00:00+01:00",
        &["2026-03-29T01:00:00.000Z", "2026-03-30T00:00:00.000Z"],
    ),
    (
        "15 1-3 * * *",
        "Europe/Berlin",
        "2026-03-28T04:00:00+01:00",
        &[
            "2026-03-29T00:15:00.000Z",
            "2026-03-29T01:00:00.000Z",
            "2026-03-29T01:15:00.000Z",
        ],
    ),
    (
        "*/30 * * * *",
        "Europe/Berlin",
        "2026-03-29T01:30:00+01:00",
        &["2026-03-29T01:00:00.000Z", "2026-03-29T01:30:00.000Z"],
    ),
    (
        "15 */2 * * *",
        "Europe/Berlin",
        "2026-03-29T00:15:00+01:00",
        &["2026-03-29T02:15:00.000Z", "2026-03-29T04:15:00.000Z"],
    ),
    // Berlin, 2026-10-25: from 03:00 back to 02:00.
    (
        "30 2 * * *",
        "Europe/Berlin",
        "2026-10-24T03:00:00+02:00",
        &["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"],
    ),
    (
        "30 2,14 * * *",
        "Europe/Berlin",
        "2026-10-24T15:00:00+02:00",
        &["2026-10-25T00:30:00.000Z", "2026-10-25T13:30:00.000Z"],
    ),
    (
        "0,30 2 * * *",
        "Europe/Berlin",
        "2026-10-24T03:00:00+02:00",
        &[
            "2026-10-25T00:00:00.000Z",
            "2026-10-25T00:30:00.000Z",
            "2026-10-26T01:00:00.000Z",
        ],
    ),
    (
        "*/30 * * * *",
        "Europe/Berlin",
        "2026-10-25T02:00:00+02:00",
        &[
            "2026-10-25T00:30:00.000Z",
            "2026-10-25T01:00:00.000Z",
            "2026-10-25T01:30:00.000Z",
            "2026-10-25T02:00:00.000Z",
        ],
    ),
    (
        "0 0-23 * * *",
        "Europe/Berlin",
        "2026-10-25T01:00:00+02:00",
        &[
            "2026-10-25T00:00:00.000Z",
            "2026-10-25T01:00:00.000Z",
            "2026-10-25T02:00:00.000Z",
        ],
    ),
    // New York, 2026-11-01: from 02:00 back to 01:00.
    (
        "30 1 * * SUN",
        "America/New_York",
        "2026-10-31T12:00:00-04:00",
        &["2026-11-01T05:30:00.000Z", "2026-11-08T06:30:00.000Z"],
    ),
    // Lord Howe, 2026-10-04: from 02:00 to 02:30 at once; 2026-04-05: from 02:00 back to 01:30.
    (
        "15 2,4 * * *",
        "Australia/Lord_Howe",
        "2026-10-03T12:00:00+10:30",
        &["2026-10-03T15:30:00.000Z", "2026-10-03T17:15:00.000Z"],
    ),
    (
        "*/15 * * * *",
        "Australia/Lord_Howe",
        "2026-10-04T01:45:00+10:30",
        &["2026-10-03T15:30:00.000Z", "2026-10-03T15:45:00.000Z"],
    ),
    (
        "45 1,3 * * *",
        "Australia/Lord_Howe",
        "2026-04-04T12:00:00+11:00",
        &["2026-04-04T14:45:00.000Z", "2026-04-04T17:15:00.000Z"],
    ),
    (
        "45 * * * *",
        "Australia/Lord_Howe",
        "2026-04-05T01:00:00+11:00",
        &[
            "2026-04-04T14:45:00.000Z",
            "2026-04-04T15:15:00.000Z",
            "2026-04-04T16:15:00.000Z",
        ],
    ),
];

#[test]
fn where_clocks_are_set_each_time_of_the_day_is_due_once_and_what_repeats_follows_the_clock() {
    for (pattern, zone, from, expected) in CHANGES {
        let found = times(pattern, zone, from, expected.len());
        assert_eq!(found, expected, "{pattern} in {zone} from {from}");
    }
}

#[test]
fn what_is_due_next_is_what_was_due_last_from_then_until_the_one_after() {
    for (pattern, zone, from, expected) in CHANGES {
        let table = Timetable::parse(pattern, zone).expect("a timetable");
        let after = table.next_after(at(expected[expected.len() - 1]));
        let mut due: Vec<Timestamp> = expected.iter().map(|text| at(text)).collect();
        due.extend(after);
        for pair in due.windows(2) {
            for moment in [pair[0].0, pair[0].0 + 1, pair[1].0 - 1] {
                let last = table.last_until(Timestamp(moment));
                assert_eq!(last, Some(pair[0]), "{pattern} in {zone} from {from}");
            }
        }
    }
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
