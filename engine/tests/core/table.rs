//! Keeps `docs/TRANSITIONS.md` true. `HOLDPOINT_RENEW=1` writes it anew.

mod time;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use holdpoint_engine::action::{
    Action, AnswerBody, Difference, Event, Phase, Refused, ReplanReason, SafetyClass, Status,
    Window, evolve, legal_from,
};
use holdpoint_engine::approval::{CastVote, Vote};
use holdpoint_engine::canon::Digest;

use crate::given::{
    Case, T0, at, commit, id, json_of, need, person, proposal, request, requirement, snapshot,
    worker,
};
use crate::kept::is_kept;

/// Actions of each status: one that needed an approval where that can be, and one that did not.
fn samples(status: Status) -> Vec<Action> {
    let approved = Case::executing().action;
    let accepted = Case::accepted(SafetyClass::Irreversible)
        .then(commit(at(2)))
        .action;
    match status {
        Status::Staged | Status::Approved | Status::Rejected | Status::Expired => {
            vec![put(approved, status)]
        }
        Status::Accepted => vec![put(accepted, status)],
        Status::Executing
        | Status::Unknown
        | Status::Succeeded
        | Status::Failed
        | Status::Cancelled
        | Status::Refused
        | Status::ReplanRequired => vec![put(approved, status), put(accepted, status)],
    }
}

/// The same action in a phase of this status.
fn put(mut action: Action, status: Status) -> Action {
    let unknown = Phase::Unknown {
        since: T0,
        quiet_at: T0,
        checks: 0,
        next_check: Some(T0),
        next_resend: None,
    };
    action.phase = match status {
        Status::Staged => Phase::Staged,
        Status::Approved => Phase::Approved {
            run_at: T0,
            hold_until: Some(T0),
        },
        Status::Accepted => Phase::Accepted { run_at: T0 },
        Status::Executing => Phase::Executing,
        Status::Unknown => unknown,
        Status::Succeeded => Phase::Succeeded {
            result: json_of(&serde_json::json!({})),
        },
        Status::Failed => Phase::Failed(holdpoint_engine::action::FailReason::NeverDelivered {
            message: String::new(),
        }),
        Status::Rejected => Phase::Rejected {
            by: String::new(),
            reason: String::new(),
        },
        Status::Expired => Phase::Expired,
        Status::Cancelled => Phase::Cancelled {
            by: String::new(),
            reason: None,
        },
        Status::Refused => Phase::Refused(Refused {
            code: String::new(),
            message: String::new(),
        }),
        Status::ReplanRequired => Phase::ReplanRequired {
            message: String::new(),
        },
    };
    action
}

/// At least one event of every kind, and one for each way that it can go.
#[expect(clippy::too_many_lines, reason = "one sample after the other")]
fn events() -> Vec<Event> {
    let proposal = || proposal(SafetyClass::ApprovalBound);
    let body = || json_of(&serde_json::json!({}));
    let words = || "why".to_owned();
    let requirement = || requirement(vec![need(1, &[])]);
    let cast = CastVote {
        voter: person("ben"),
        vote: Vote::Approve,
        reason: None,
        at: T0,
    };
    let refused = Refused {
        code: "missing_scope".to_owned(),
        message: words(),
    };
    let diff: Vec<Difference> = Vec::new();
    let (snapshot, request, by, later) = (
        || Some(snapshot(1)),
        request,
        || "per_ana".to_owned(),
        Some(at(9)),
    );
    let digest = Digest::of(b"binding");
    vec![
        Event::Staged {
            proposal: proposal(),
            snapshot: snapshot(),
            request: request(),
            requirement: requirement(),
            at: T0,
        },
        Event::Accepted {
            proposal: proposal(),
            snapshot: None,
            request: request(),
            at: T0,
        },
        Event::Refused {
            proposal: proposal(),
            refused,
            at: T0,
        },
        Event::VoteRecorded {
            cast,
            revision: 1,
            digest,
            snapshot_digest: None,
        },
        Event::Approved {
            hold_until: T0,
            at: T0,
        },
        Event::Rejected {
            by: by(),
            reason: words(),
            at: T0,
        },
        Event::Expired { at: T0 },
        Event::Withdrawn {
            by: by(),
            reason: None,
            at: T0,
        },
        Event::Cancelled {
            by: by(),
            reason: None,
            at: T0,
        },
        Event::Deferred {
            message: words(),
            retry_at: later,
            at: T0,
        },
        Event::Deferred {
            message: words(),
            retry_at: None,
            at: T0,
        },
        Event::ReplanRequired {
            reason: ReplanReason::StateMoved,
            diff: diff.clone(),
            at: T0,
        },
        Event::Restaged {
            revision: 2,
            snapshot: crate::given::snapshot(2),
            request: request(),
            requirement: requirement(),
            diff,
            at: T0,
        },
        Event::CommitRecorded {
            attempt: 1,
            digest,
            approved_by: Vec::new(),
            tool_digest: digest,
            request_digest: digest,
            revalidated: None,
            idempotency_key: words(),
            send_deadline: at(9),
            window: Window::Open,
            at: T0,
        },
        Event::AttemptSucceeded {
            attempt: 1,
            http_status: None,
            result: body(),
            at: T0,
        },
        Event::AttemptRefused {
            attempt: 1,
            http_status: None,
            answer: body(),
            at: T0,
        },
        Event::AttemptNotDelivered {
            attempt: 1,
            message: words(),
            retry_at: later,
            at: T0,
        },
        Event::AttemptNotDelivered {
            attempt: 1,
            message: words(),
            retry_at: None,
            at: T0,
        },
        Event::AttemptUnknown {
            attempt: 1,
            http_status: None,
            message: words(),
            quiet_at: T0,
            next_check: None,
            at: T0,
        },
        Event::FoundDone {
            attempt: 1,
            evidence: body(),
            at: T0,
        },
        Event::FoundNotDone {
            attempt: 1,
            evidence: body(),
            retry_at: later,
            at: T0,
        },
        Event::FoundNotDone {
            attempt: 1,
            evidence: body(),
            retry_at: None,
            at: T0,
        },
        Event::CheckInconclusive {
            attempt: 1,
            message: words(),
            next_check: None,
            at: T0,
        },
        Event::Settled {
            attempt: 1,
            by: by(),
            happened: true,
            reason: words(),
            at: T0,
        },
        Event::Settled {
            attempt: 1,
            by: by(),
            happened: false,
            reason: words(),
            at: T0,
        },
        Event::LateAnswer {
            attempt: 1,
            http_status: None,
            evidence: body(),
            at: T0,
        },
        Event::LeaseGranted {
            attempt: 1,
            worker: worker("anton"),
            epoch: 1,
            until: at(9),
            at: T0,
        },
        Event::LeaseExtended {
            attempt: 1,
            epoch: 1,
            until: at(19),
            at: T0,
        },
        Event::WorkReported {
            attempt: 1,
            epoch: 1,
            report: digest,
            at: T0,
        },
        Event::SecretNamed {
            attempt: 1,
            secret: crate::named::secret("1.1"),
            at: T0,
        },
        Event::LeaseKeyed {
            attempt: 1,
            key: crate::named::claim_key("a"),
            at: T0,
        },
        Event::AnswerKept {
            attempt: 1,
            body: AnswerBody::Text("{ }".to_owned()),
            at: T0,
        },
    ]
}

pub(crate) fn all_events() -> Vec<Event> {
    [events(), time::events()].concat()
}

fn names(statuses: &BTreeSet<Status>) -> String {
    if statuses.len() == Status::ALL.len() {
        return "any".to_owned();
    }
    let names: Vec<_> = statuses
        .iter()
        .map(|status| format!("`{}`", status.name()))
        .collect();
    names.join(", ")
}

fn table() -> String {
    let mut text =
        "| event | may happen to an action that is | and makes it |\n| --- | --- | --- |\n"
            .to_owned();
    let mut kinds: Vec<&str> = Vec::new();
    for event in all_events() {
        if !kinds.contains(&event.kind()) {
            kinds.push(event.kind());
        }
    }
    for kind in kinds {
        let (mut from, mut to, mut unchanged) = (BTreeSet::new(), BTreeSet::new(), true);
        for event in all_events().iter().filter(|event| event.kind() == kind) {
            if legal_from(event).is_empty() {
                to.insert(evolve(None, id(), event).expect("it creates").status());
                unchanged = false;
            }
            for status in legal_from(event) {
                for action in samples(*status) {
                    let after = evolve(Some(action), id(), event).expect("it is legal");
                    from.insert(*status);
                    to.insert(after.status());
                    unchanged &= after.status() == *status;
                }
            }
        }
        let from = if from.is_empty() {
            "not there yet".to_owned()
        } else {
            names(&from)
        };
        let to = if unchanged {
            "as it was".to_owned()
        } else {
            names(&to)
        };
        writeln!(text, "| `{kind}` | {from} | {to} |").expect("writing to a string");
    }
    text
}

#[test]
fn the_documented_transitions_are_those_of_the_code() {
    let text = format!(
        "# Transitions of an action\n\nMade from the code; a test keeps it true. What may happen to an \
         action, and what it makes of it.\nFinal statuses (`succeeded`, `failed`, `rejected`, `expired`, \
         `cancelled`, `refused`, `replan_required`) are left by nothing; a late answer is only kept.\n\n{}",
        table()
    );
    is_kept("docs/TRANSITIONS.md", &text);
}

#[test]
fn i11_an_event_that_does_not_fit_is_refused() {
    for event in all_events() {
        for status in Status::ALL {
            let legal = legal_from(&event).contains(&status);
            for action in samples(status) {
                let result = evolve(Some(action), id(), &event);
                assert_eq!(
                    result.is_ok(),
                    legal,
                    "{} in {}",
                    event.kind(),
                    status.name()
                );
            }
        }
        assert_eq!(
            evolve(None, id(), &event).is_ok(),
            legal_from(&event).is_empty()
        );
    }
}
