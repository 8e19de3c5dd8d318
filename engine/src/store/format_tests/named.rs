//! The events about what a commit record names besides itself.

use super::{AT, are_read};
use crate::action::{AnswerBody, ClaimKey, Event, Instigator, SecretVersion};
use crate::canon::Digest;

#[test]
fn i26_the_events_about_secrets_and_keys_of_claims_are_still_read() {
    let events = [
        Event::SecretNamed {
            attempt: 1,
            secret: SecretVersion {
                name: "secrets/shop.token".to_owned(),
                version: "131337.1800000000123000000".to_owned(),
                changed_at: Some(AT),
            },
            at: AT,
        },
        Event::LeaseKeyed {
            attempt: 1,
            key: ClaimKey {
                key: Digest::of(b"key"),
                fingerprint: Digest::of(b"claim"),
            },
            at: AT,
        },
    ];
    are_read("events-1-named.txt", &events);
}

#[test]
fn i26_the_answers_that_are_kept_as_they_came_are_still_read() {
    let kept = |body| Event::AnswerKept {
        attempt: 1,
        body,
        at: AT,
    };
    let events = [
        kept(AnswerBody::Text("{ \"id\": 7 }".to_owned())),
        kept(AnswerBody::Broken("the body was cut off".to_owned())),
    ];
    are_read("events-1-answers.txt", &events);
}

#[test]
fn i26_the_event_about_who_made_a_run_go_on_is_still_read() {
    let by = vec![
        Instigator {
            id: "per_opa".to_owned(),
            name: "Opa".to_owned(),
            owner: None,
        },
        Instigator {
            id: "key_nightly".to_owned(),
            name: "nightly".to_owned(),
            owner: Some("per_otto".to_owned()),
        },
    ];
    are_read(
        "events-1-instigated.txt",
        &[Event::Instigated { by, at: AT }],
    );
}
