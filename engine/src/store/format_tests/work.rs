//! The events about workers that pull.

use super::{AT, LATER, are_read};
use crate::action::{Event, Worker};
use crate::canon::Digest;

/// What workers that pull bring about.
fn samples_of_work() -> Vec<Event> {
    vec![
        Event::LeaseGranted {
            attempt: 1,
            worker: Worker {
                id: "key_anton".to_owned(),
                name: "anton".to_owned(),
            },
            epoch: 1_800_000_000_123,
            until: LATER,
            at: AT,
        },
        Event::LeaseExtended {
            attempt: 1,
            epoch: 1_800_000_000_123,
            until: LATER,
            at: AT,
        },
        Event::WorkReported {
            attempt: 1,
            epoch: 1_800_000_000_123,
            report: Digest::of(b"report"),
            at: AT,
        },
    ]
}

#[test]
fn i26_the_events_of_workers_are_still_read() {
    are_read("events-1-work.txt", &samples_of_work());
}
