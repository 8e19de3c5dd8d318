//! Actions for the tests of pages.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_engine::action::{
    Action, ActionId, Caller, Event, Phase, PrincipalKind, Proposal, Rendered, SafetyClass,
    Snapshot, Terms,
};
use holdpoint_engine::approval::{Need, Requirement};
use holdpoint_engine::canon::{CanonicalJson, Digest};
use holdpoint_engine::engine::HistoryEntry;
use holdpoint_engine::identity::{Principal, Role};
use holdpoint_engine::time::Timestamp;
use serde_json::{Value, json};

/// The moment at which every test reads its page.
pub(super) const NOW: Timestamp = Timestamp(1_772_366_400_000);

/// Ada, an approver in finance.
pub(super) fn ada() -> Principal {
    Principal {
        id: "per_ada".into(),
        name: "Ada Byron".into(),
        kind: PrincipalKind::Person,
        owner: None,
        scopes: BTreeSet::new(),
        groups: BTreeSet::from(["finance".to_owned()]),
        roles: BTreeSet::from([Role::Approver]),
        attributes: BTreeMap::new(),
        changed_access_at: None,
    }
}

/// Somebody with that id and these roles, in no group.
pub(super) fn person(id: &str, roles: &[Role]) -> Principal {
    Principal {
        id: id.into(),
        name: id.to_uppercase(),
        groups: BTreeSet::new(),
        roles: roles.iter().copied().collect(),
        ..ada()
    }
}

/// A text with everything that lies or breaks out (faults V3 and V4).
pub(super) const HOSTILE: &str = "\"><script>alert(1)</script>'{{7*7}}{% raw %}<img src=x \
    onerror=alert(1)>javascript:alert(1)\u{202E}gpj\u{200B}\u{E0041}\u{1B}[2Jpаypal e\u{301}\u{301}\u{301}\u{301}\r\n\
    </bdi></td></table></main><style>*{display:none}</style>&lt;b&gt;&#x202E;⟦U+0041⟧";

pub(super) fn snapshot(left: i64) -> Snapshot {
    let state = CanonicalJson::of(&json!({ "status": "paid", "refundable_minor": left }));
    let left = CanonicalJson::of(&json!(left));
    Snapshot {
        digest: left.digest(),
        watched: BTreeMap::from([("/refundable_minor".to_owned(), left)]),
        state,
        etag: Some("\"v7\"".into()),
        taken_at: Timestamp(NOW.0 - 60_000),
    }
}

/// A refund that waits for one approver in finance.
pub(super) fn refund() -> Action {
    with_args(&json!({ "order_id": "8812", "amount_minor": 4800, "currency": "EUR" }))
}

/// The same with other arguments.
pub(super) fn with_args(args: &Value) -> Action {
    let body = CanonicalJson::of(args);
    let created_at = Timestamp(NOW.0 - 120_000);
    Action {
        id: ActionId::new(created_at, [9; 10]),
        proposal: Proposal {
            tool: "issue_refund".into(),
            class: SafetyClass::ApprovalBound,
            tool_digest: Digest::of(b"tool"),
            args: body.clone(),
            digest: body.digest(),
            caller: Caller {
                id: "key_bot".into(),
                name: "support-bot".into(),
                kind: PrincipalKind::Agent,
                owner: Some("per_owner".into()),
                attributes: BTreeMap::new(),
            },
            reason: Some("The customer got the wrong size.".into()),
            summary: "Refund 48.00 EUR to order 8812".into(),
            labels: BTreeMap::from([("order_id".to_owned(), "8812".to_owned())]),
            idempotency_key: "refund:8812:r1".into(),
            terms: Terms {
                can_check: true,
                restage: false,
                attempts_max: 5,
                backoff_min_ms: 1_000,
                backoff_max_ms: 60_000,
                timeout_ms: 10_000,
                request_lifetime_ms: 60_000,
                settle_ms: 2_000,
            },
        },
        revision: 1,
        snapshot: Some(snapshot(5_000)),
        request: Some(Rendered {
            method: "POST".into(),
            url: "https://shop.example/refunds".into(),
            headers: vec![("If-Match".into(), "{state_etag}".into())],
            content_type: Some("application/json".into()),
            body: Some(body.as_str().to_owned()),
            secrets: vec!["secrets/shop.token".into()],
            digest: Digest::of(b"request"),
        }),
        approval: Some(holdpoint_engine::action::Approval {
            requirement: Requirement {
                needs: vec![Need {
                    required: 1,
                    groups: BTreeSet::from(["finance".to_owned()]),
                    because: Some("above 20.00".into()),
                }],
                deadline: NOW.plus_ms(3_600_000),
                hold_ms: 30_000,
            },
            votes: Vec::new(),
        }),
        phase: Phase::Staged,
        attempts: Vec::new(),
        reads_failed: 0,
        tries_failed: 0,
        diff: Vec::new(),
        not_before: None,
        key_kept_ms: None,
        reminded: None,
        doubt: None,
        instigators: Vec::new(),
        withdrawn: Vec::new(),
        settled: None,
        created_at,
        updated_at: created_at,
    }
}

/// A refund in which every text from outside is hostile.
pub(super) fn hostile() -> Action {
    let mut action = with_args(&json!({ HOSTILE: [HOSTILE, { "nested": HOSTILE }], "n": 1e21 }));
    let text = || HOSTILE.to_owned();
    action.proposal.tool = text();
    action.proposal.caller.name = text();
    action.proposal.reason = Some(text());
    action.proposal.summary = text();
    action.proposal.labels = BTreeMap::from([(text(), text())]);
    action.proposal.idempotency_key = text();
    if let Some(request) = &mut action.request {
        request.method = text();
        request.url = format!("javascript:{HOSTILE}");
        request.headers = vec![(text(), text())];
        request.content_type = Some(text());
        request.body = Some(text());
        request.secrets = vec![text()];
    }
    if let Some(approval) = &mut action.approval {
        approval.requirement.needs[0].because = Some(text());
        approval.requirement.needs[0].groups.insert(text());
    }
    if let Some(snapshot) = &mut action.snapshot {
        let value = CanonicalJson::of(&json!(HOSTILE));
        snapshot.watched = BTreeMap::from([(text(), value)]);
        snapshot.state = CanonicalJson::of(&json!({ HOSTILE: HOSTILE }));
        snapshot.etag = Some(text());
    }
    action
}

/// The first event of an action.
pub(super) fn staged(action: &Action) -> Event {
    Event::Staged {
        proposal: action.proposal.clone(),
        snapshot: action.snapshot.clone(),
        request: action.request.clone().expect("a request"),
        requirement: action
            .approval
            .as_ref()
            .expect("an approval")
            .requirement
            .clone(),
        at: action.created_at,
    }
}

/// The events of an action as its page gets them.
pub(super) fn history(action: &Action, events: Vec<Event>) -> Vec<HistoryEntry> {
    (1..)
        .zip(events)
        .map(|(position, event)| HistoryEntry {
            position,
            stream: action.id.to_string(),
            version: position,
            at: event.at(),
            actor: action.proposal.caller.id.clone(),
            kind: event.kind().to_owned(),
            data: json!({ "said": action.proposal.reason }),
            event: Some(event),
            hash: "ab".repeat(32),
            prev: "cd".repeat(32),
        })
        .collect()
}
