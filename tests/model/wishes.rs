//! What the model says to the real core, and the numbers that keep its world small.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_engine::action::{
    Action, ActionId, Arrangement, AttemptOutcome, Caller, Command, PrincipalKind, Proposal,
    Rendered, Revalidation, SafetyClass, Snapshot, Terms, Window, decide, evolve,
};
use holdpoint_engine::approval::{Need, Requirement, Vote, Voter};
use holdpoint_engine::canon::{CanonicalJson, Digest};
use holdpoint_engine::time::{Elapsed, Timestamp};
use serde_json::json;

use crate::world::{Kind, World};

const T0: i64 = 1_800_000_000_000;
const TICK: u64 = 60_000;
/// No vote counts from here on.
pub(crate) const DEADLINE: u8 = 7;
/// A call is not sent, and no answer waited for, for longer than this.
pub(crate) const PATIENCE: u8 = 1;
/// A call that left may take effect for so much longer.
pub(crate) const LIFETIME: u8 = 2;
/// The source of truth lags behind by this.
pub(crate) const LAG: u8 = 1;
/// The target keeps a key for this long from when it first came.
pub(crate) const KEPT: u8 = 6;

/// A tick of the clock, as a moment.
pub(crate) fn moment(tick: u8) -> Timestamp {
    Timestamp(T0).plus_ms(u64::from(tick) * TICK)
}

pub(crate) fn id() -> ActionId {
    ActionId::new(Timestamp(T0), [7; 10])
}

fn snapshot(state: u8) -> Snapshot {
    let state = CanonicalJson::of(&json!({ "open": state }));
    Snapshot {
        digest: Digest::of(format!("{state:?}").as_bytes()),
        watched: BTreeMap::from([(String::new(), state.clone())]),
        state,
        etag: None,
        taken_at: Timestamp(T0),
    }
}

/// The state that the current revision is about.
pub(crate) fn state_of(action: &Action) -> u8 {
    let shown = action.snapshot.as_ref().map(|snapshot| snapshot.digest);
    u8::from(shown != Some(snapshot(0).digest))
}

pub(crate) fn request() -> Rendered {
    Rendered {
        method: "POST".to_owned(),
        url: "https://shop.example/refunds".to_owned(),
        headers: Vec::new(),
        content_type: None,
        body: Some("{\"amount\":4800}".to_owned()),
        secrets: Vec::new(),
        digest: Digest::of(b"request"),
    }
}

fn requirement() -> Requirement {
    Requirement {
        needs: vec![Need {
            required: 2,
            groups: BTreeSet::new(),
            because: None,
        }],
        deadline: moment(DEADLINE),
        hold_ms: 0,
    }
}

/// The action that is there when the world begins.
pub(crate) fn submitted(kind: Kind) -> Action {
    let terms = Terms {
        can_check: kind.can_be_asked,
        restage: kind.restages,
        attempts_max: 2,
        backoff_min_ms: TICK,
        backoff_max_ms: TICK,
        timeout_ms: u64::from(PATIENCE) * TICK,
        request_lifetime_ms: u64::from(LIFETIME) * TICK,
        settle_ms: u64::from(LAG) * TICK,
    };
    let proposal = Proposal {
        tool: "issue_refund".to_owned(),
        class: SafetyClass::ApprovalBound,
        tool_digest: Digest::of(b"tool"),
        args: CanonicalJson::of(&json!({ "amount_minor": 4800 })),
        digest: Digest::of(b"binding"),
        caller: Caller {
            id: "key_checkout".to_owned(),
            name: "checkout".to_owned(),
            kind: PrincipalKind::Service,
            owner: Some(OWNER.to_owned()),
            attributes: BTreeMap::new(),
        },
        reason: None,
        summary: "Refund 48.00 EUR".to_owned(),
        labels: BTreeMap::new(),
        idempotency_key: "refund:8812".to_owned(),
        terms,
    };
    let submit = Command::Submit {
        proposal,
        snapshot: Some(snapshot(0)),
        request: request(),
        requirement: Some(requirement()),
        arranged: Arrangement {
            key_kept_ms: kind.keeps_keys.then_some(u64::from(KEPT) * TICK),
            ..Arrangement::default()
        },
        at: moment(0),
    };
    let events = decide(None, submit).expect("a submission is taken on");
    let action = events.iter().fold(None, |action, event| {
        Some(evolve(action, id(), event).expect("the event is legal"))
    });
    action.expect("a submission has events")
}

/// The owner of the credential that asks; may never vote.
pub(crate) const OWNER: &str = "per_owner";
/// Two that may vote, and the owner, who tries.
pub(crate) const VOTERS: [&str; 3] = ["per_ana", "per_ben", OWNER];

/// A vote by the page of this revision, which showed this state.
pub(crate) fn vote(world: &World, voter: &str, vote: Vote, revision: u32, shown: u8) -> Command {
    Command::Vote {
        voter: Voter {
            id: voter.to_owned(),
            name: voter.to_owned(),
            groups: BTreeSet::new(),
            is_person: true,
            is_approver: true,
            changed_access_at: None,
        },
        vote,
        reason: Some("looked at it".to_owned()),
        revision,
        digest: Digest::of(b"binding"),
        snapshot_digest: Some(snapshot(shown).digest),
        at: world.at(),
    }
}

fn found(state: u8) -> Revalidation {
    Revalidation {
        snapshot: Some(snapshot(state)),
        by_conditions: false,
        failed_precondition: None,
        tool_digest: Some(Digest::of(b"tool")),
        request: Some(request()),
        requirement: Some(requirement()),
        window: Window::Narrowed,
        secret: None,
    }
}

/// To send, after this state was read: for the first time, or the same call again.
pub(crate) fn send(world: &World, state: u8, is_resend: bool) -> Command {
    let (revalidation, at) = (found(state), world.at());
    if is_resend {
        Command::Resend { revalidation, at }
    } else {
        Command::Commit {
            revalidation,
            elapsed: Elapsed::by_clock(at),
            at,
        }
    }
}

/// To record how an attempt ended.
pub(crate) fn record(world: &World, attempt: u32, outcome: AttemptOutcome) -> Command {
    Command::Record {
        attempt,
        outcome,
        answer: None,
        at: world.at(),
    }
}

/// What an answer of the target means.
pub(crate) fn outcome(is_done: bool) -> AttemptOutcome {
    let answer = CanonicalJson::of(&json!({}));
    if is_done {
        AttemptOutcome::Done {
            http_status: Some(201),
            result: answer,
        }
    } else {
        AttemptOutcome::Refused {
            http_status: Some(409),
            answer,
        }
    }
}
