//! Small builders, so that a test shows only what it is about.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_engine::action::{
    Action, ActionId, Arrangement, Caller, Command, Event, Instigator, PrincipalKind, Proposal,
    Refusal, Rendered, Revalidation, SafetyClass, Snapshot, Terms, WORKER_METHOD, Window, Worker,
    decide, evolve,
};
use holdpoint_engine::approval::{Need, Requirement, Vote, Voter};
use holdpoint_engine::canon::{CanonicalJson, Digest};
use holdpoint_engine::time::{Elapsed, Timestamp};
use serde_json::{Value, json};

pub(crate) const HOUR: i64 = 3_600_000;
pub(crate) const T0: Timestamp = Timestamp(1_800_000_000_000);
pub(crate) const DEADLINE: Timestamp = Timestamp(T0.0 + 24 * HOUR);

pub(crate) fn at(milliseconds: i64) -> Timestamp {
    Timestamp(T0.0 + milliseconds)
}

pub(crate) fn id() -> ActionId {
    ActionId::new(T0, [7; 10])
}

pub(crate) fn json_of(value: &Value) -> CanonicalJson {
    CanonicalJson::of(value)
}

pub(crate) fn terms() -> Terms {
    Terms {
        can_check: true,
        restage: false,
        attempts_max: 3,
        backoff_min_ms: 1_000,
        backoff_max_ms: 60_000,
        timeout_ms: 10_000,
        request_lifetime_ms: 60_000,
        settle_ms: 2_000,
    }
}

pub(crate) fn proposal(class: SafetyClass) -> Proposal {
    Proposal {
        tool: "issue_refund".to_owned(),
        class,
        tool_digest: Digest::of(b"tool"),
        args: json_of(&json!({ "amount_minor": 4800, "order_id": "8812" })),
        digest: Digest::of(b"binding"),
        caller: Caller {
            id: "key_checkout".to_owned(),
            name: "checkout".to_owned(),
            kind: PrincipalKind::Service,
            owner: Some("per_owner".to_owned()),
            attributes: BTreeMap::new(),
        },
        reason: None,
        summary: "Refund 48.00 EUR to order 8812".to_owned(),
        labels: BTreeMap::new(),
        idempotency_key: "refund:8812:r1".to_owned(),
        terms: terms(),
    }
}

pub(crate) fn snapshot(refundable: i64) -> Snapshot {
    let watched = BTreeMap::from([
        ("/refundable_minor".to_owned(), json_of(&json!(refundable))),
        ("/status".to_owned(), json_of(&json!("paid"))),
    ]);
    Snapshot {
        state: json_of(&json!({ "refundable_minor": refundable, "status": "paid" })),
        digest: Digest::of(format!("{watched:?}").as_bytes()),
        watched,
        etag: Some("\"1\"".to_owned()),
        taken_at: T0,
    }
}

pub(crate) fn request() -> Rendered {
    Rendered {
        method: "POST".to_owned(),
        url: "https://shop.example/refunds".to_owned(),
        headers: vec![("If-Match".to_owned(), "{state_etag}".to_owned())],
        content_type: Some("application/json".to_owned()),
        body: Some("{\"amount\":4800}".to_owned()),
        secrets: vec!["secrets/shop.token".to_owned()],
        digest: Digest::of(b"request"),
    }
}

/// The request of a tool that workers pull.
pub(crate) fn pulled() -> Rendered {
    Rendered {
        method: WORKER_METHOD.to_owned(),
        url: String::new(),
        headers: Vec::new(),
        ..request()
    }
}

pub(crate) fn worker(name: &str) -> Worker {
    Worker {
        id: format!("key_{name}"),
        name: name.to_owned(),
    }
}

pub(crate) fn need(required: u32, groups: &[&str]) -> Need {
    let groups = groups.iter().map(ToString::to_string).collect();
    Need {
        required,
        groups,
        because: None,
    }
}

pub(crate) fn requirement(needs: Vec<Need>) -> Requirement {
    Requirement {
        needs,
        deadline: DEADLINE,
        hold_ms: 0,
    }
}

pub(crate) fn person(name: &str) -> Voter {
    Voter {
        id: format!("per_{name}"),
        name: name.to_owned(),
        groups: BTreeSet::from(["finance".to_owned()]),
        is_person: true,
        is_approver: true,
        changed_access_at: None,
    }
}

pub(crate) fn found() -> Revalidation {
    Revalidation {
        snapshot: Some(snapshot(5_000)),
        by_conditions: false,
        failed_precondition: None,
        tool_digest: Some(Digest::of(b"tool")),
        request: Some(request()),
        requirement: Some(requirement(vec![need(1, &["finance"])])),
        window: Window::Closed,
        secret: None,
    }
}

/// An action on its way: what was decided is applied.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) action: Action,
    pub(crate) events: Vec<Event>,
}

/// Somebody who made the run go on.
pub(crate) fn instigator(name: &str, owner: Option<&str>) -> Instigator {
    Instigator {
        id: format!("per_{name}"),
        name: name.to_owned(),
        owner: owner.map(|owner| format!("per_{owner}")),
    }
}

impl Case {
    pub(crate) fn staged_with(proposal: Proposal, requirement: Requirement) -> Self {
        Self::start(Command::Submit {
            proposal,
            snapshot: Some(snapshot(5_000)),
            request: request(),
            requirement: Some(requirement),
            arranged: Arrangement::default(),
            at: T0,
        })
    }

    pub(crate) fn staged() -> Self {
        let proposal = proposal(SafetyClass::ApprovalBound);
        Self::staged_with(proposal, requirement(vec![need(1, &["finance"])]))
    }

    pub(crate) fn accepted(class: SafetyClass) -> Self {
        Self::start(Command::Submit {
            proposal: proposal(class),
            snapshot: Some(snapshot(5_000)),
            request: request(),
            requirement: None,
            arranged: Arrangement::default(),
            at: T0,
        })
    }

    /// The same, with what else holds for it.
    pub(crate) fn arranged(self, arranged: Arrangement) -> Self {
        let action = self.action;
        Self::start(Command::Submit {
            snapshot: action.snapshot,
            request: action.request.expect("it has a request"),
            requirement: action.approval.map(|approval| approval.requirement),
            proposal: action.proposal,
            arranged,
            at: T0,
        })
    }

    /// An action whose target keeps its key for this long.
    pub(crate) fn keyed(self, kept_ms: u64) -> Self {
        self.arranged(Arrangement {
            key_kept_ms: Some(kept_ms),
            ..Arrangement::default()
        })
    }

    pub(crate) fn approved() -> Self {
        Self::staged().then(approve("ana", at(1)))
    }

    pub(crate) fn executing() -> Self {
        Self::approved().then(commit(at(2)))
    }

    /// What workers pull, accepted without an approval.
    pub(crate) fn pulled(class: SafetyClass) -> Self {
        Self::start(Command::Submit {
            proposal: proposal(class),
            snapshot: Some(snapshot(5_000)),
            request: pulled(),
            requirement: None,
            arranged: Arrangement::default(),
            at: T0,
        })
    }

    /// What workers pull, waiting for its approval.
    pub(crate) fn pulled_staged() -> Self {
        Self::start(Command::Submit {
            proposal: proposal(SafetyClass::ApprovalBound),
            snapshot: Some(snapshot(5_000)),
            request: pulled(),
            requirement: Some(requirement(vec![need(1, &["finance"])])),
            arranged: Arrangement::default(),
            at: T0,
        })
    }

    /// What was done so far, and one more wish that may be refused.
    pub(crate) fn perhaps(self, command: Command) -> Self {
        if self.when(command.clone()).is_ok() {
            self.then(command)
        } else {
            self
        }
    }

    fn start(command: Command) -> Self {
        let events = decide(None, command).expect("a submission is taken on");
        let action = events.iter().fold(None, |action, event| {
            Some(evolve(action, id(), event).expect("the event is legal"))
        });
        Self {
            action: action.expect("a submission has events"),
            events,
        }
    }

    /// What the core answers, without applying it.
    pub(crate) fn when(&self, command: Command) -> Result<Vec<Event>, Refusal> {
        decide(Some(&self.action), command)
    }

    /// The kinds of the events that the core answers.
    pub(crate) fn kinds(&self, command: Command) -> Result<Vec<&'static str>, Refusal> {
        self.when(command)
            .map(|events| events.iter().map(Event::kind).collect())
    }

    /// Decides and applies.
    pub(crate) fn then(mut self, command: Command) -> Self {
        let events = self.when(command).expect("the command is not refused");
        for event in events {
            self.action = evolve(Some(self.action), id(), &event).expect("the event is legal");
            self.events.push(event);
        }
        self
    }
}

pub(crate) fn ballot(name: &str, vote: Vote, reason: Option<&str>, at: Timestamp) -> Command {
    Command::Vote {
        voter: person(name),
        vote,
        reason: reason.map(str::to_owned),
        revision: 1,
        digest: Digest::of(b"binding"),
        snapshot_digest: Some(snapshot(5_000).digest),
        at,
    }
}

pub(crate) fn approve(name: &str, at: Timestamp) -> Command {
    ballot(name, Vote::Approve, None, at)
}

pub(crate) fn reject(name: &str, at: Timestamp) -> Command {
    ballot(name, Vote::Reject, Some("not ours"), at)
}

pub(crate) fn commit(at: Timestamp) -> Command {
    Command::Commit {
        revalidation: found(),
        at,
        elapsed: Elapsed::by_clock(at),
    }
}

/// A worker asks for it; its lease is ten seconds long.
pub(crate) fn claim(name: &str, at: Timestamp) -> Command {
    Command::Claim {
        revalidation: Revalidation {
            request: Some(pulled()),
            ..found()
        },
        worker: worker(name),
        lease_ms: 10_000,
        key: None,
        at,
        elapsed: Elapsed::by_clock(at),
    }
}
