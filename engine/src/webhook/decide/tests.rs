//! What follows an attempt, case by case.

use std::collections::BTreeSet;

use super::*;
use crate::canon::Digest;
use crate::webhook::endpoint::evolve;
use crate::webhook::id::EndpointId;

const NOW: Timestamp = Timestamp(1_790_812_800_000);
const URL: &str = "https://example.com/";
const ID: EndpointId = EndpointId::from_bytes([1; 16]);

fn created(from: Position) -> Endpoint {
    let event = Event::Created {
        owner: "per_ada".to_owned(),
        name: "orders".to_owned(),
        url: URL.to_owned(),
        types: BTreeSet::new(),
        tools: BTreeSet::new(),
        fingerprint: Digest([1; 32]),
        from,
    };
    let endpoint = evolve(None, ID, 1, NOW, &event).expect("a first event");
    endpoint.expect("an endpoint")
}

fn attempted(position: Position, seen: Seen) -> Attempted {
    Attempted {
        epoch: 1,
        url: URL.to_owned(),
        position,
        seen,
        words: "status 500".to_owned(),
        at: NOW,
        jitter: 0,
    }
}

/// The endpoint after a decision, as the shell makes it.
fn apply(mut endpoint: Endpoint, decision: &Decision) -> Endpoint {
    endpoint.place = decision.place;
    decision.events.iter().fold(endpoint, |endpoint, event| {
        let next = evolve(Some(endpoint), ID, 2, NOW, event);
        next.expect("an event that fits").expect("not deleted")
    })
}

#[test]
fn an_event_that_is_not_taken_is_tried_ten_times_and_then_the_endpoint_is_disabled_in_its_place() {
    let mut endpoint = created(4);
    for made in 1..10 {
        let decision = after_attempt(&endpoint, &attempted(7, Seen::Failed));
        assert!(decision.events.is_empty());
        assert!(matches!(decision.outcome, Outcome::Again(_)));
        endpoint = apply(endpoint, &decision);
        assert_eq!(endpoint.place.through, 4, "it keeps its place");
        assert_eq!(
            endpoint.place.trying.map(|trying| trying.attempts),
            Some(made)
        );
    }
    let decision = after_attempt(&endpoint, &attempted(7, Seen::Failed));
    assert_eq!(decision.outcome, Outcome::Stopped);
    let kinds: Vec<_> = decision.events.iter().map(Event::kind).collect();
    assert_eq!(kinds, ["webhook.delivery_exhausted", "webhook.disabled"]);
    endpoint = apply(endpoint, &decision);
    assert_eq!(endpoint.disabled.map(|it| it.cause), Some(Cause::Exhausted));
    assert_eq!((endpoint.place.through, endpoint.place.trying), (4, None));
}

#[test]
fn an_event_that_is_taken_late_makes_the_next_one_begin_at_the_first_attempt() {
    let endpoint = created(0);
    let endpoint = apply(
        endpoint.clone(),
        &after_attempt(&endpoint, &attempted(1, Seen::Failed)),
    );
    let taken = after_attempt(&endpoint, &attempted(1, Seen::Taken));
    let endpoint = apply(endpoint, &taken);
    assert_eq!((endpoint.place.through, endpoint.place.trying), (1, None));
    let decision = after_attempt(&endpoint, &attempted(2, Seen::Failed));
    let attempts = decision.place.trying.map(|trying| trying.attempts);
    assert_eq!(attempts, Some(1));
}

#[test]
fn gone_disables_at_once_and_keeps_the_place() {
    let endpoint = created(3);
    let endpoint = apply(
        endpoint.clone(),
        &after_attempt(&endpoint, &attempted(9, Seen::Gone)),
    );
    assert_eq!(endpoint.disabled.map(|it| it.cause), Some(Cause::Gone));
    assert_eq!(endpoint.place.through, 3);
}

#[test]
fn what_another_url_said_neither_disables_an_endpoint_that_was_moved_nor_counts() {
    let mut endpoint = created(4);
    for _ in 1..10 {
        let decision = after_attempt(&endpoint, &attempted(7, Seen::Failed));
        endpoint = apply(endpoint, &decision);
    }
    endpoint.url = "https://example.com/new".to_owned();
    for seen in [Seen::Gone, Seen::Failed, Seen::Busy(None)] {
        let decision = after_attempt(&endpoint, &attempted(7, seen));
        assert!(decision.events.is_empty());
        assert_eq!(decision.outcome, Outcome::Again(NOW), "at once");
        let attempts = decision.place.trying.map(|trying| trying.attempts);
        assert_eq!(attempts, Some(9), "the one to the old URL aside");
    }
    let taken = after_attempt(&endpoint, &attempted(7, Seen::Taken));
    assert_eq!(taken.outcome, Outcome::Delivered, "it heard of it");
}

#[test]
fn an_answer_for_an_earlier_place_moves_nothing() {
    let mut endpoint = created(3);
    endpoint.place.epoch = 2;
    for seen in [Seen::Taken, Seen::Gone, Seen::Failed, Seen::Busy(None)] {
        let decision = after_attempt(&endpoint, &attempted(9, seen));
        assert_eq!(decision.outcome, Outcome::Overtaken);
        assert_eq!(decision.place, endpoint.place);
        assert!(decision.events.is_empty());
    }
}

#[test]
fn what_was_taken_while_somebody_disabled_it_counts_and_what_was_not_does_not() {
    let endpoint = created(3);
    let off = Event::Disabled {
        cause: Cause::Person,
        reason: "maintenance".to_owned(),
        through: 3,
    };
    let endpoint = evolve(Some(endpoint), ID, 2, NOW, &off);
    let endpoint = endpoint.expect("fits").expect("not deleted");
    let taken = after_attempt(&endpoint, &attempted(4, Seen::Taken));
    assert_eq!(
        (taken.outcome, taken.place.through),
        (Outcome::Delivered, 4)
    );
    let failed = after_attempt(&endpoint, &attempted(4, Seen::Failed));
    assert_eq!(failed.outcome, Outcome::Overtaken);
}

#[test]
fn i06_the_place_is_recorded_in_the_log_now_and_then() {
    let mut endpoint = created(0);
    let mut recorded = Vec::new();
    for position in 1..=1000 {
        let decision = after_attempt(&endpoint, &attempted(position, Seen::Taken));
        recorded.extend(decision.events.clone());
        endpoint = apply(endpoint, &decision);
        assert_eq!(endpoint.place.through, position);
    }
    let expected = [256, 512, 768].map(|through| Event::Progressed { through });
    assert_eq!(recorded, expected);
}
