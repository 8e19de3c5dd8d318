//! Every stored form that was ever written is still read, to the same values.
//!
//! The samples in `tests/formats/` are never changed once released; a new format adds a file. To
//! write the samples of a format that has none yet: `UPDATE_FORMATS=1 cargo test format`.

mod damage;
mod named;
mod runs;
mod time;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use holdpoint_storage::{Hash, Record};
use serde_json::json;

use super::codec;
use crate::action::{
    Action, ActionId, Caller, Difference, Event, PrincipalKind, Proposal, Refused, Rendered,
    ReplanReason, SafetyClass, Snapshot, Terms, Window, evolve,
};
use crate::approval::{CastVote, Need, Requirement, Vote, Voter};
use crate::canon::{CanonicalJson, Digest};
use crate::engine::Versioned;
use crate::time::Timestamp;

const AT: Timestamp = Timestamp(1_800_000_000_123);
const LATER: Timestamp = Timestamp(1_800_000_060_000);

fn json_of(value: &serde_json::Value) -> CanonicalJson {
    CanonicalJson::of(value)
}

fn proposal() -> Proposal {
    Proposal {
        tool: "issue_refund".to_owned(),
        class: SafetyClass::ApprovalBound,
        tool_digest: Digest::of(b"tool"),
        args: json_of(&json!({ "order_id": "8812", "amount_minor": 1200 })),
        digest: Digest::of(b"action"),
        caller: Caller {
            id: "key_checkout".to_owned(),
            name: "checkout".to_owned(),
            kind: PrincipalKind::Agent,
            owner: Some("per_otto".to_owned()),
            attributes: BTreeMap::from([("tenant".to_owned(), "eu".to_owned())]),
        },
        reason: Some("sent back".to_owned()),
        summary: "Refund 12.00 EUR".to_owned(),
        labels: BTreeMap::from([("order_id".to_owned(), "8812".to_owned())]),
        idempotency_key: "refund:8812:r1".to_owned(),
        terms: Terms {
            can_check: true,
            restage: false,
            attempts_max: 5,
            backoff_min_ms: 1000,
            backoff_max_ms: 300_000,
            timeout_ms: 10_000,
            request_lifetime_ms: 60_000,
            settle_ms: 2000,
        },
    }
}

fn snapshot() -> Snapshot {
    Snapshot {
        state: json_of(&json!({ "refundable_minor": 5000 })),
        watched: BTreeMap::from([("/refundable_minor".to_owned(), json_of(&json!(5000)))]),
        digest: Digest::of(b"snapshot"),
        etag: Some("\"v1\"".to_owned()),
        taken_at: AT,
    }
}

fn request() -> Rendered {
    Rendered {
        method: "POST".to_owned(),
        url: "https://shop.example/refunds".to_owned(),
        headers: vec![("If-Match".to_owned(), "{state_etag}".to_owned())],
        content_type: Some("application/json".to_owned()),
        body: Some("{\"amount\":1200}".to_owned()),
        secrets: vec!["shop.token".to_owned()],
        digest: Digest::of(b"request"),
    }
}

fn requirement() -> Requirement {
    Requirement {
        needs: vec![Need {
            required: 1,
            groups: BTreeSet::from(["finance".to_owned()]),
            because: Some("above 500.00".to_owned()),
        }],
        deadline: LATER,
        hold_ms: 30_000,
    }
}

fn cast() -> CastVote {
    CastVote {
        voter: Voter {
            id: "per_alice".to_owned(),
            name: "Alice".to_owned(),
            groups: BTreeSet::from(["finance".to_owned()]),
            is_person: true,
            is_approver: true,
            changed_access_at: None,
        },
        vote: Vote::Approve,
        reason: None,
        at: AT,
    }
}

fn diff() -> Vec<Difference> {
    vec![Difference {
        path: "/refundable_minor".to_owned(),
        approved: Some(json_of(&json!(5000))),
        now: None,
    }]
}

pub(crate) fn staged() -> Event {
    Event::Staged {
        proposal: proposal(),
        snapshot: Some(snapshot()),
        request: request(),
        requirement: requirement(),
        at: AT,
    }
}

/// The beginning of a life, and what people do.
fn samples_of_people() -> Vec<Event> {
    let (by, reason) = ("per_alice".to_owned(), "not this one".to_owned());
    let said = Some(reason.clone());
    vec![
        staged(),
        Event::Accepted {
            proposal: proposal(),
            snapshot: None,
            request: request(),
            at: AT,
        },
        Event::Refused {
            proposal: proposal(),
            refused: Refused {
                code: "missing_scope".to_owned(),
                message: "the credential lacks a scope".to_owned(),
            },
            at: AT,
        },
        Event::VoteRecorded {
            cast: cast(),
            revision: 1,
            digest: Digest::of(b"action"),
            snapshot_digest: Some(Digest::of(b"snapshot")),
        },
        Event::Approved {
            hold_until: LATER,
            at: AT,
        },
        Event::Rejected {
            by: by.clone(),
            reason: reason.clone(),
            at: AT,
        },
        Event::Expired { at: AT },
        Event::Withdrawn {
            by: by.clone(),
            reason: said.clone(),
            at: AT,
        },
        Event::Cancelled {
            by: by.clone(),
            reason: said,
            at: AT,
        },
        Event::Settled {
            attempt: 1,
            by,
            happened: true,
            reason,
            at: AT,
        },
    ]
}

/// What the engine does and finds.
fn samples_of_the_engine() -> Vec<Event> {
    let evidence = json_of(&json!({ "refunds": [] }));
    let message = "the connection was refused".to_owned();
    vec![
        Event::Deferred {
            message: message.clone(),
            retry_at: Some(LATER),
            at: AT,
        },
        Event::ReplanRequired {
            reason: ReplanReason::PreconditionFailed("more than is left".to_owned()),
            diff: diff(),
            at: AT,
        },
        Event::Restaged {
            revision: 2,
            snapshot: snapshot(),
            request: request(),
            requirement: requirement(),
            diff: diff(),
            at: AT,
        },
        Event::CommitRecorded {
            attempt: 1,
            digest: Digest::of(b"action"),
            approved_by: vec!["per_alice".to_owned()],
            tool_digest: Digest::of(b"tool"),
            request_digest: Digest::of(b"request"),
            revalidated: Some(snapshot()),
            idempotency_key: "refund:8812:r1".to_owned(),
            send_deadline: LATER,
            window: Window::Closed,
            at: AT,
        },
        Event::AttemptSucceeded {
            attempt: 1,
            http_status: Some(201),
            result: evidence.clone(),
            at: AT,
        },
        Event::AttemptRefused {
            attempt: 1,
            http_status: Some(422),
            answer: evidence.clone(),
            at: AT,
        },
        Event::AttemptNotDelivered {
            attempt: 1,
            message: message.clone(),
            retry_at: None,
            at: AT,
        },
        Event::AttemptUnknown {
            attempt: 1,
            http_status: None,
            message: message.clone(),
            quiet_at: LATER,
            next_check: Some(LATER),
            at: AT,
        },
        Event::FoundDone {
            attempt: 1,
            evidence: evidence.clone(),
            at: AT,
        },
        Event::FoundNotDone {
            attempt: 1,
            evidence: evidence.clone(),
            retry_at: Some(LATER),
            at: AT,
        },
        Event::CheckInconclusive {
            attempt: 1,
            message,
            next_check: None,
            at: AT,
        },
        Event::LateAnswer {
            attempt: 1,
            http_status: Some(201),
            evidence,
            at: AT,
        },
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("text grows");
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal");
    (0..text.len()).step_by(2).map(digits).collect()
}

/// The lines of a file of samples; written first where that is asked for and there is none.
fn samples(name: &str, fresh: &str) -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/formats");
    let path = folder.join(name);
    if std::env::var_os("UPDATE_FORMATS").is_some() && !path.exists() {
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(&path, fresh).expect("written");
    }
    let text = std::fs::read_to_string(&path).expect("samples; see the top of this file");
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(kind, bytes)| (kind.to_owned(), unhex(bytes)))
        .collect()
}

fn record(kind: &str, body: Vec<u8>) -> Record {
    Record {
        position: 1,
        stream: codec::stream_of(ActionId::from_bytes([7; 16])),
        version: 1,
        time_ms: AT.0,
        actor: "engine".to_owned(),
        kind: kind.to_owned(),
        body,
        prev: Hash::default(),
        hash: Hash::default(),
    }
}

#[test]
fn i26_the_first_format_of_events_is_still_read() {
    let events: Vec<Event> = [samples_of_people(), samples_of_the_engine()].concat();
    let kinds: BTreeSet<_> = events.iter().map(Event::kind).collect();
    assert_eq!(
        (kinds.len(), events.len()),
        (22, 22),
        "one sample of each kind"
    );
    are_read("events-1.txt", &events);
}

fn are_read(file: &str, events: &[Event]) {
    let mut fresh = String::new();
    for event in events {
        let new = codec::encode_event(event, "engine", AT).expect("encoded");
        writeln!(fresh, "{} {}", new.kind, hex(&new.body)).expect("text grows");
    }
    let stored = samples(file, &fresh);
    assert_eq!(stored.len(), events.len());
    for (event, (kind, body)) in events.iter().zip(stored) {
        let new = codec::encode_event(event, "engine", AT).expect("encoded");
        assert_eq!(new.body, body, "{kind} is written as ever");
        let read = codec::decode_event(&record(&kind, body)).expect("read");
        assert_eq!(read, *event, "{kind} is read as ever");
        assert!(crate::action::describe(event).is_object(), "{kind}");
    }
}

#[test]
fn views_are_stored_as_this_version_says() {
    let id = ActionId::from_bytes([7; 16]);
    let action: Action = evolve(None, id, &staged()).expect("a first event");
    let view = Versioned { action, version: 1 };
    let bytes = codec::encode_view(&view).expect("encoded");
    let stored = samples("views-8.txt", &format!("view {}\n", hex(&bytes)));
    assert_eq!(stored.len(), 1);
    assert_eq!(codec::decode_view(&stored[0].1).expect("read"), view);
    assert_eq!(stored[0].1, bytes);
}
