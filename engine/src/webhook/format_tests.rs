//! Samples of everything that webhooks store, as it has been written since format 1.
//!
//! The samples are in `engine/tests/formats/webhooks-1.txt`: a name and the stored bytes on a line.
//! `UPDATE_FORMATS=1 cargo test format` adds the samples that are not there yet; one that is there
//! is never written again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Debug, Write as _};
use std::fs;
use std::path::PathBuf;

use bincode::{Decode, Encode};

use super::delivery::{Attempt, Delivery, DeliveryState};
use super::endpoint::{Place, Trying};
use super::event::{Cause, Event, FORMAT};
use super::id::{EndpointId, MessageId};
use crate::action::ActionId;
use crate::canon::Digest;
use crate::store::codec::{decode, encode};
use crate::time::Timestamp;

/// 2026-10-01T00:00:00.123Z.
const THEN: Timestamp = Timestamp(1_790_812_800_123);
const ID: EndpointId = EndpointId::from_bytes([0x19; 16]);

fn text(value: &str) -> String {
    value.to_owned()
}

fn set(values: &[&str]) -> BTreeSet<String> {
    values.iter().copied().map(text).collect()
}

/// The number by which a variant is stored. A new variant does not compile before it has one here;
/// give it the next number, and a sample in [`events`].
fn number(event: &Event) -> u8 {
    match event {
        Event::Created { .. } => 0,
        Event::Changed { .. } => 1,
        Event::SecretRotated { .. } => 2,
        Event::Disabled { .. } => 3,
        Event::Enabled { .. } => 4,
        Event::Deleted { .. } => 5,
        Event::DeliveryExhausted { .. } => 6,
        Event::Progressed { .. } => 7,
    }
}

fn events() -> Vec<(String, Event)> {
    let mut events = vec![
        Event::Created {
            owner: text("per_0190c7e26f3a7b1c9d4e5f60718293a4"),
            name: text("Orders"),
            url: text("https://example.com/hook"),
            types: set(&["action.approved", "action.rejected"]),
            tools: set(&["issue_refund"]),
            fingerprint: Digest([0xf1; 32]),
            from: 4711,
        },
        Event::Changed {
            name: text("Orders"),
            url: text("https://example.com/hook2"),
            types: BTreeSet::new(),
            tools: BTreeSet::new(),
            reason: Some(text("moved")),
        },
        Event::SecretRotated {
            fingerprint: Digest([0xf2; 32]),
            old_until: THEN,
            reason: None,
        },
        Event::Enabled {
            reason: text("repaired"),
            from: 4711,
        },
        Event::Deleted {
            reason: text("not needed any more"),
        },
        Event::DeliveryExhausted {
            position: 4712,
            attempts: 10,
            error: text("answered 500"),
        },
        Event::Progressed { through: 5000 },
    ];
    let causes = [
        Cause::Person,
        Cause::Gone,
        Cause::Exhausted,
        Cause::OwnerLost,
        Cause::SecretLost,
    ];
    events.extend(causes.map(|cause| Event::Disabled {
        cause,
        reason: text("because"),
        through: 4711,
    }));
    let named = |event: Event| match &event {
        Event::Disabled { cause, .. } => (format!("{}, {}", event.kind(), cause.name()), event),
        _ => (event.kind().to_owned(), event),
    };
    events.into_iter().map(named).collect()
}

fn delivery(state: DeliveryState, id: MessageId) -> Delivery {
    Delivery {
        id,
        kind: text("action.approved"),
        action: Some(ActionId::from_bytes([7; 16])),
        state,
        attempts: vec![Attempt {
            at: THEN,
            took_ms: 15_000,
            status: Some(503),
            error: Some(text("answered 503: too much to do")),
            by: Some(text("per_0190c7e26f3a7b1c9d4e5f60718293a4")),
        }],
        made: 3,
    }
}

fn check<T: Encode + Decode<()> + PartialEq + Debug>(
    known: &mut BTreeMap<String, String>,
    name: &str,
    value: &T,
) {
    let bytes = encode(FORMAT, value).expect("it fits");
    let mut hex = String::new();
    for byte in &bytes {
        write!(hex, "{byte:02x}").expect("writing to a string");
    }
    let stored = known.entry(name.to_owned()).or_insert_with(|| hex.clone());
    assert_eq!(*stored, hex, "{name} is written differently now");
    assert_eq!(&decode::<T>(FORMAT, &bytes).expect("it is read"), value);
}

#[test]
fn i26_every_stored_format_is_still_read_and_written() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/formats/webhooks-1.txt");
    let before = fs::read_to_string(&path).unwrap_or_default();
    let mut known: BTreeMap<String, String> = before
        .lines()
        .filter_map(|line| line.rsplit_once(' '))
        .map(|(name, hex)| (name.to_owned(), hex.to_owned()))
        .collect();
    let stored = known.len();
    for (name, event) in events() {
        let bytes = encode(FORMAT, &event).expect("it fits");
        assert_eq!(bytes[1], number(&event), "{name} has another number");
        check(&mut known, &name, &event);
    }
    let trying = Some(Trying {
        position: 4712,
        attempts: 2,
        next_at: THEN,
    });
    let place = Place {
        epoch: 3,
        through: 4711,
        trying,
        unrecorded: 17,
    };
    check(&mut known, "a place", &place);
    let of_event = MessageId::Event {
        endpoint: ID,
        position: 4712,
    };
    let test = MessageId::Test {
        endpoint: ID,
        at: THEN,
    };
    let restored = MessageId::Restored {
        endpoint: ID,
        position: 4712,
        incarnation: 0x00c0_ffee,
    };
    let pending = DeliveryState::Pending { next_at: THEN };
    for (name, state, id) in [
        ("a delivery, pending", pending, of_event),
        ("a delivery, delivered", DeliveryState::Delivered, test),
        ("a delivery, failed", DeliveryState::Failed, of_event),
        ("a delivery, held", DeliveryState::Held, of_event),
        ("a delivery, dropped", DeliveryState::Dropped, of_event),
        ("a delivery, restored", DeliveryState::Held, restored),
    ] {
        check(&mut known, name, &delivery(state, id));
    }
    if known.len() != stored {
        assert!(
            std::env::var_os("UPDATE_FORMATS").is_some(),
            "samples are missing; UPDATE_FORMATS=1 cargo test format adds them"
        );
        let mut lines = String::new();
        for (name, hex) in &known {
            writeln!(lines, "{name} {hex}").expect("writing to a string");
        }
        fs::write(&path, lines).expect("writable");
    }
}
