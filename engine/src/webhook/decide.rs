//! What becomes of an endpoint after an attempt. Pure: time and chance arrive as arguments.

use std::time::Duration;

use holdpoint_storage::{Position, Version};

use super::endpoint::{Endpoint, Place, Trying};
use super::event::{Cause, Event};
use super::schedule::next_attempt;
use crate::time::Timestamp;

/// How many messages go out between two records of the place: what is at most sent again where the
/// log comes without its indexes.
const RECORD_EVERY: u32 = 256;

/// Why an endpoint that answered 410 is disabled.
pub(super) const GONE: &str = "the endpoint answered 410: it does not want to hear any more";

/// What an attempt came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It was taken.
    Taken,
    /// The endpoint is gone, for ever.
    Gone,
    /// The endpoint has too much to do; how long it asks to wait.
    Busy(Option<Duration>),
    /// Anything else: refused, redirected, no answer.
    Failed,
}

/// One attempt to tell of the event at a position.
#[derive(Clone, Debug)]
pub(super) struct Attempted {
    /// The place from which it was sent.
    pub(super) epoch: Version,
    /// Where it was sent to.
    pub(super) url: String,
    /// Which event.
    pub(super) position: Position,
    /// What it came to.
    pub(super) seen: Seen,
    /// The same in words.
    pub(super) words: String,
    /// When it ended.
    pub(super) at: Timestamp,
    /// Any random number.
    pub(super) jitter: u32,
}

/// What follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    /// What is recorded in the log.
    pub(super) events: Vec<Event>,
    /// Where the endpoint stands then.
    pub(super) place: Place,
    /// What became of the message.
    pub(super) outcome: Outcome,
}

/// What became of a message after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was taken; the next event follows.
    Delivered,
    /// It is sent again then.
    Again(Timestamp),
    /// Nothing is sent any more; the place is kept.
    Stopped,
    /// Somebody moved or disabled the endpoint in the meantime; whoever enables it begins anew.
    Overtaken,
}

/// Decides what follows an attempt.
pub(super) fn after_attempt(endpoint: &Endpoint, attempted: &Attempted) -> Decision {
    let position = attempted.position;
    let is_overtaken = endpoint.place.epoch != attempted.epoch
        || position <= endpoint.place.through
        || (!endpoint.is_enabled() && attempted.seen != Seen::Taken);
    if is_overtaken {
        return Decision {
            events: Vec::new(),
            place: endpoint.place,
            outcome: Outcome::Overtaken,
        };
    }
    let before = match endpoint.place.trying {
        Some(trying) if trying.position == position => trying.attempts,
        Some(_) | None => 0,
    };
    if attempted.seen != Seen::Taken && attempted.url != endpoint.url {
        // What another address said means nothing for this one, which is tried at once.
        return again(endpoint, position, before, attempted.at);
    }
    let made = before + 1;
    let stop = |mut events: Vec<Event>, cause, reason| {
        let through = endpoint.place.through;
        events.push(Event::Disabled {
            cause,
            reason,
            through,
        });
        Decision {
            events,
            place: Place {
                trying: None,
                ..endpoint.place
            },
            outcome: Outcome::Stopped,
        }
    };
    let busy = match attempted.seen {
        Seen::Taken => return delivered(endpoint, position),
        Seen::Gone => {
            return stop(Vec::new(), Cause::Gone, GONE.to_owned());
        }
        Seen::Busy(asked) => Some(asked.unwrap_or_default()),
        Seen::Failed => None,
    };
    let Some(next_at) = next_attempt(made, attempted.at, attempted.jitter, busy) else {
        let exhausted = Event::DeliveryExhausted {
            position,
            attempts: made,
            error: attempted.words.clone(),
        };
        let reason = format!(
            "the event at position {position} was not taken at {made} attempts; the last: {}",
            attempted.words
        );
        return stop(vec![exhausted], Cause::Exhausted, reason);
    };
    again(endpoint, position, made, next_at)
}

fn again(endpoint: &Endpoint, position: Position, attempts: u32, next_at: Timestamp) -> Decision {
    let trying = Some(Trying {
        position,
        attempts,
        next_at,
    });
    Decision {
        events: Vec::new(),
        place: Place {
            trying,
            ..endpoint.place
        },
        outcome: Outcome::Again(next_at),
    }
}

fn delivered(endpoint: &Endpoint, position: Position) -> Decision {
    let mut place = endpoint.done_with(position);
    place.unrecorded = place.unrecorded.saturating_add(1);
    let mut events = Vec::new();
    if RECORD_EVERY <= place.unrecorded {
        place.unrecorded = 0;
        events.push(Event::Progressed { through: position });
    }
    Decision {
        events,
        place,
        outcome: Outcome::Delivered,
    }
}

#[cfg(test)]
mod tests;
