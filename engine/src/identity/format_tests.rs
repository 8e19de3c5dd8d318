//! Samples of everything that identity stores, as it has been written since format 1.
//!
//! The samples are in `engine/tests/formats/identity-1.txt`: a name and the stored bytes on a line.
//! `UPDATE_FORMATS=1 cargo test format` adds the samples that are not there yet; one that is there
//! is never written again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Debug, Write as _};
use std::fs;
use std::path::PathBuf;

use bincode::{Decode, Encode};

use super::event::{EndCause, Event, RefusalCause, decode, encode};
use super::links::OpenLink;
use super::password::PasswordHash;
use super::principal::Role;
use super::session::{Session, SessionKind, SignInMethod};
use crate::action::PrincipalKind;
use crate::canon::Digest;
use crate::time::Timestamp;

/// 2026-10-01T00:00:00.123Z.
const THEN: Timestamp = Timestamp(1_790_812_800_123);

fn text(value: &str) -> String {
    value.to_owned()
}

fn set(values: &[&str]) -> BTreeSet<String> {
    values.iter().copied().map(text).collect()
}

fn tenant() -> BTreeMap<String, String> {
    BTreeMap::from([(text("tenant"), text("caf\u{e9}"))])
}

/// The number by which a variant is stored. A new variant does not compile before it has one here;
/// give it the next number, and a sample in [`events`].
fn number(event: &Event) -> u8 {
    match event {
        Event::PersonCreated { .. } => 0,
        Event::PersonChanged { .. } => 1,
        Event::PasswordSet { .. } => 2,
        Event::PersonDisabled { .. } => 3,
        Event::PersonEnabled { .. } => 4,
        Event::KeyCreated { .. } => 5,
        Event::KeyRevoked { .. } => 6,
        Event::SessionStarted { .. } => 7,
        Event::SessionEnded { .. } => 8,
        Event::SignInRefused { .. } => 9,
        Event::LinkCreated { .. } => 10,
        Event::LinkRedeemed { .. } => 11,
    }
}

fn events() -> Vec<(&'static str, Event)> {
    let mut events = people();
    events.extend(keys());
    events.extend(sessions());
    events.extend(refusals());
    events.extend([
        (
            "link.created",
            Event::LinkCreated {
                person: text("per_0190c7e26f3a7b1c9d4e5f60718293a4"),
                hash: Digest([0xc1; 32]),
                expires_at: THEN,
            },
        ),
        (
            "link.redeemed",
            Event::LinkRedeemed {
                session: text("ses_0190c7e26f3a7b1c9d4e5f60718293a5"),
                from: text("192.0.2.7"),
            },
        ),
    ]);
    events
}

fn people() -> Vec<(&'static str, Event)> {
    vec![
        (
            "person.created",
            Event::PersonCreated {
                email: text("ada@example.com"),
                name: text("Ada"),
                roles: Role::ALL.into(),
                groups: set(&["finance", "risk"]),
                scopes: set(&["refunds:write"]),
                attributes: tenant(),
                password: Some(PasswordHash::dummy()),
            },
        ),
        (
            "person.created, as little as possible",
            Event::PersonCreated {
                email: text("b@example.com"),
                name: text("B"),
                roles: BTreeSet::new(),
                groups: BTreeSet::new(),
                scopes: BTreeSet::new(),
                attributes: BTreeMap::new(),
                password: None,
            },
        ),
        (
            "person.changed",
            Event::PersonChanged {
                name: text("Ada L."),
                roles: BTreeSet::from([Role::Approver]),
                groups: set(&["finance"]),
                scopes: set(&["actions:read"]),
                attributes: tenant(),
                reason: Some(text("moved to another team")),
            },
        ),
        (
            "person.password_set",
            Event::PasswordSet {
                password: PasswordHash::dummy(),
            },
        ),
        (
            "person.disabled",
            Event::PersonDisabled {
                reason: text("left"),
            },
        ),
        (
            "person.enabled",
            Event::PersonEnabled {
                reason: text("is back"),
            },
        ),
    ]
}

fn keys() -> Vec<(&'static str, Event)> {
    let created = |kind, expires_at| Event::KeyCreated {
        public: text("hp_k7m2"),
        hash: Digest([0xa7; 32]),
        name: text("checkout"),
        kind,
        owner: text("per_0190c7e26f3a7b1c9d4e5f60718293a4"),
        scopes: set(&["refunds:write"]),
        attributes: tenant(),
        expires_at,
    };
    vec![
        (
            "key.created, person",
            created(PrincipalKind::Person, Some(THEN)),
        ),
        (
            "key.created, service",
            created(PrincipalKind::Service, None),
        ),
        (
            "key.created, agent",
            created(PrincipalKind::Agent, Some(THEN)),
        ),
        (
            "key.revoked",
            Event::KeyRevoked {
                reason: text("leaked"),
            },
        ),
    ]
}

fn sessions() -> Vec<(&'static str, Event)> {
    let started = |kind, method| Event::SessionStarted {
        person: text("per_0190c7e26f3a7b1c9d4e5f60718293a4"),
        hash: Digest([0x5e; 32]),
        kind,
        method,
        from: text("2001:db8::7"),
        expires_at: THEN,
    };
    let ended = |cause| Event::SessionEnded {
        person: text("per_0190c7e26f3a7b1c9d4e5f60718293a4"),
        cause,
    };
    vec![
        (
            "session.started, browser",
            started(SessionKind::Browser, SignInMethod::Password),
        ),
        (
            "session.started, api",
            started(SessionKind::Api, SignInMethod::Link),
        ),
        ("session.ended, signed out", ended(EndCause::SignedOut)),
        ("session.ended, all ended", ended(EndCause::AllEnded)),
        ("session.ended, disabled", ended(EndCause::Disabled)),
        ("session.ended, password set", ended(EndCause::PasswordSet)),
        ("session.ended, expired", ended(EndCause::Expired)),
        ("session.ended, too many", ended(EndCause::TooMany)),
    ]
}

fn refusals() -> Vec<(&'static str, Event)> {
    let refused = |person: Option<&str>, cause, unrecorded| Event::SignInRefused {
        person: person.map(text),
        from: text("192.0.2.7"),
        cause,
        unrecorded,
    };
    let ada = Some("per_0190c7e26f3a7b1c9d4e5f60718293a4");
    vec![
        (
            "sign_in.refused, wrong",
            refused(ada, RefusalCause::Wrong, 0),
        ),
        (
            "sign_in.refused, disabled",
            refused(ada, RefusalCause::Disabled, 1),
        ),
        (
            "sign_in.refused, throttled",
            refused(None, RefusalCause::Throttled, 70_000),
        ),
        (
            "sign_in.refused, link",
            refused(None, RefusalCause::Link, u64::MAX),
        ),
    ]
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/formats/identity-1.txt")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes everything");
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("two hexadecimal digits");
    (0..text.len()).step_by(2).map(digit).collect()
}

/// The stored bytes by name.
fn samples() -> BTreeMap<String, Vec<u8>> {
    let all = fs::read_to_string(path()).unwrap_or_default();
    all.lines()
        .map(|line| line.split_once(": ").expect("a name and its bytes"))
        .map(|(name, bytes)| (text(name), unhex(bytes)))
        .collect()
}

/// Whether the sample is read as `value`, and `value` written as the sample.
fn check<T>(name: &str, value: &T)
where
    T: Encode + Decode<()> + PartialEq + Debug,
{
    let stored = encode(value);
    if std::env::var_os("UPDATE_FORMATS").is_some() && !samples().contains_key(name) {
        let mut all = fs::read_to_string(path()).unwrap_or_default();
        writeln!(all, "{name}: {}", hex(&stored)).expect("a string takes everything");
        fs::write(path(), all).expect("the samples can be written");
    }
    let samples = samples();
    let golden = samples
        .get(name)
        .unwrap_or_else(|| panic!("no sample of {name}"));
    assert_eq!(
        decode::<T>(golden).as_ref(),
        Ok(value),
        "{name} is read as ever"
    );
    assert_eq!(hex(&stored), hex(golden), "{name} is written as ever");
}

/// What was written once must be read for ever.
#[test]
fn i26_samples_of_every_stored_fact_of_identity_are_read() {
    let events = events();
    for (name, event) in &events {
        assert!(name.starts_with(event.kind()), "{name} is another kind");
        assert_eq!(encode(event)[1], number(event), "{name} keeps its number");
        check(name, event);
    }
    let session = Session {
        id: text("ses_0190c7e26f3a7b1c9d4e5f60718293a5"),
        person: text("per_0190c7e26f3a7b1c9d4e5f60718293a4"),
        kind: SessionKind::Api,
        method: SignInMethod::Link,
        from: text("192.0.2.7"),
        started_at: THEN,
        last_seen_at: THEN.plus_ms(1),
        expires_at: THEN.plus_ms(2),
    };
    check("index of sessions", &session);
    let link = OpenLink {
        id: text("lnk_0190c7e26f3a7b1c9d4e5f60718293a6"),
        person: text("per_0190c7e26f3a7b1c9d4e5f60718293a4"),
        expires_at: THEN,
    };
    check("index of links", &link);
    check("index of the use of keys", &THEN);
    assert_eq!(
        samples().len(),
        events.len() + 3,
        "a sample that nothing reads"
    );
}

/// Every kind that `event.rs` names has a sample, so that a new one cannot be forgotten.
#[test]
fn i26_every_kind_of_fact_has_a_sample() {
    let sampled: BTreeSet<&str> = events().iter().map(|(_, event)| event.kind()).collect();
    let named: BTreeSet<&str> = include_str!("event.rs")
        .lines()
        .filter(|line| line.contains("Self::"))
        .filter_map(|line| line.split('"').nth(1))
        .filter(|name| name.contains('.'))
        .collect();
    assert_eq!(sampled, named);
}

#[test]
fn i26_a_newer_format_is_refused_in_words() {
    let mut stored = encode(&THEN);
    stored[0] += 1;
    let refused = decode::<Timestamp>(&stored).expect_err("it is newer");
    assert_eq!(refused, "format 2 is newer than this version");
}
