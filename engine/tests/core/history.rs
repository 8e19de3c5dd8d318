//! What the history says of each event, which others read: the API, webhooks and exports.

use std::collections::BTreeMap;

use holdpoint_engine::action::{
    Difference, Event, Reminder, ReplanReason, Resend, SafetyClass, Window, describe,
};
use holdpoint_engine::approval::{CastVote, Need, Vote};
use holdpoint_engine::canon::Digest;
use serde_json::{Value, json};

use crate::given::{T0, at, json_of, need, person, proposal, request, requirement, snapshot};
use crate::kept::is_kept;
use crate::table::all_events;

/// A field that is another one now, one that is new, and one that is gone.
fn differences() -> Vec<Difference> {
    let value = |number: i64| Some(json_of(&json!(number)));
    let field = |path: &str, approved, now| Difference {
        path: path.to_owned(),
        approved,
        now,
    };
    vec![
        field("/refundable_minor", value(5_000), value(4_000)),
        field("/hold", None, value(1)),
        field("/limit", value(2), None),
    ]
}

fn resend() -> Resend {
    Resend {
        attempt: 3,
        first: 2,
        digest: Digest::of(b"binding"),
        approved_by: vec!["per_ana".to_owned(), "per_ben".to_owned()],
        tool_digest: Digest::of(b"tool"),
        request_digest: Digest::of(b"request"),
        revalidated: Some(snapshot(7)),
        etag: Some("\"7\"".to_owned()),
        idempotency_key: "refund:8812:r1".to_owned(),
        send_deadline: at(9),
        kept_until: at(19),
        window: Window::Narrowed,
    }
}

/// Events with all that they can hold.
fn full() -> Vec<Event> {
    let mut proposal = proposal(SafetyClass::Irreversible);
    proposal.reason = Some("the customer was charged twice".to_owned());
    proposal.labels = BTreeMap::from([("team".to_owned(), "support".to_owned())]);
    proposal.caller.attributes = BTreeMap::from([("region".to_owned(), "eu".to_owned())]);
    let mut requirement = requirement(vec![
        need(2, &["finance", "legal"]),
        Need {
            because: Some("above 40.00".to_owned()),
            ..need(1, &[])
        },
    ]);
    requirement.hold_ms = 30_000;
    let answer = || json_of(&json!({ "id": 8812 }));
    let mut events = vec![
        Event::Staged {
            proposal,
            snapshot: Some(snapshot(5_000)),
            request: request(),
            requirement: requirement.clone(),
            at: T0,
        },
        Event::VoteRecorded {
            cast: CastVote {
                voter: person("ben"),
                vote: Vote::Reject,
                reason: Some("not ours".to_owned()),
                at: at(5),
            },
            revision: 2,
            digest: Digest::of(b"binding"),
            snapshot_digest: Some(Digest::of(b"snapshot")),
        },
        Event::Restaged {
            revision: 2,
            snapshot: snapshot(4_000),
            request: request(),
            requirement,
            diff: differences(),
            at: at(6),
        },
        Event::AttemptSucceeded {
            attempt: 2,
            http_status: Some(201),
            result: answer(),
            at: at(7),
        },
        Event::AttemptUnknown {
            attempt: 2,
            http_status: Some(504),
            message: "the answer was lost".to_owned(),
            quiet_at: at(8),
            next_check: Some(at(9)),
            at: at(7),
        },
        Event::CheckInconclusive {
            attempt: 2,
            message: "503".to_owned(),
            next_check: Some(at(12)),
            at: at(11),
        },
        Event::ResendPlanned {
            attempt: 2,
            resend_at: at(8),
            kept_until: at(9),
            because: Some("no answer".to_owned()),
            at: at(7),
        },
        Event::ResendRecorded {
            resend: resend(),
            at: at(8),
        },
        Event::ResendFailed {
            attempt: 3,
            http_status: None,
            answer: Some(answer()),
            message: "no".to_owned(),
            at: at(9),
        },
        Event::Reminded {
            reminder: Reminder::NineTenths,
            deadline: at(9),
            at: at(8),
        },
    ];
    let reasons = [
        ReplanReason::PreconditionFailed("the order is closed".to_owned()),
        ReplanReason::ToolChanged,
        ReplanReason::RequestChanged,
        ReplanReason::VersionMoved,
        ReplanReason::ApprovalOutgrown,
    ];
    events.extend(reasons.map(|reason| Event::ReplanRequired {
        reason,
        diff: differences(),
        at: at(9),
    }));
    events
}

/// With the members in their order: a map keeps another one where a dependency asks for that.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut members: Vec<_> = map.into_iter().collect();
            members.sort_by(|one, other| one.0.cmp(&other.0));
            let members = members.into_iter();
            members.map(|(key, value)| (key, sorted(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

#[test]
fn what_the_history_says_of_an_event_is_a_contract() {
    let said: Vec<_> = [full(), all_events()]
        .concat()
        .iter()
        .map(|event| sorted(json!({ "kind": event.kind(), "event": describe(event) })))
        .collect();
    let text = serde_json::to_string_pretty(&said).expect("it prints");
    is_kept("engine/tests/vectors/events.json", &format!("{text}\n"));
}
