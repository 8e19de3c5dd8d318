//! The commit record, what follows it, and doubt.

mod doubt;

use holdpoint_engine::action::{
    AttemptOutcome, AttemptResult, Command, Event, FailReason, Finding, Phase, Refusal,
    Revalidation, SafetyClass, Status,
};
use holdpoint_engine::canon::Digest;
use holdpoint_engine::time::{Elapsed, Timestamp};
use serde_json::json;

use crate::given::{
    Case, DEADLINE, approve, at, commit, found, json_of, need, proposal, requirement, snapshot,
};

fn record(outcome: AttemptOutcome, moment: Timestamp) -> Command {
    Command::Record {
        attempt: 1,
        outcome,
        at: moment,
        answer: None,
    }
}

fn unknown() -> AttemptOutcome {
    AttemptOutcome::Unknown {
        http_status: Some(502),
        message: "a bad gateway".to_owned(),
    }
}

fn doubtful() -> Case {
    Case::executing().then(record(unknown(), at(1_000)))
}

/// `send_deadline` + `request_lifetime` + `settle` of the commit at 2 ms.
const QUIET: i64 = 2 + 10_000 + 60_000 + 2_000;

fn ask(finding: Finding, asked: i64) -> Command {
    Command::Check {
        attempt: 1,
        finding,
        asked_at: at(asked),
        at: at(asked + 5),
    }
}

fn not_found() -> Finding {
    Finding::NotFound {
        evidence: json_of(&json!({ "refunds": [] })),
    }
}

fn commits(change: impl FnOnce(&mut Revalidation)) -> Result<Vec<&'static str>, Refusal> {
    let mut revalidation = found();
    change(&mut revalidation);
    Case::approved().kinds(Command::Commit {
        revalidation,
        at: at(2),
        elapsed: Elapsed::by_clock(at(2)),
    })
}

#[test]
fn i03_any_difference_from_what_was_approved_ends_in_replan_required() {
    let replan = Ok(vec!["action.replan_required"]);
    assert_eq!(commits(|_| {}), Ok(vec!["action.commit_recorded"]));
    assert_eq!(
        commits(|found| found.snapshot = Some(snapshot(2_000))),
        replan
    );
    assert_eq!(commits(|found| found.snapshot = None), replan);
    assert_eq!(
        commits(|found| found.tool_digest = Some(Digest::of(b"new"))),
        replan
    );
    assert_eq!(commits(|found| found.tool_digest = None), replan);
    assert_eq!(
        commits(|found| found.failed_precondition = Some("no".to_owned())),
        replan
    );
    assert_eq!(commits(|found| found.request = None), replan);
    let other = |found: &mut Revalidation| {
        if let Some(request) = &mut found.request {
            request.digest = Digest::of(b"other");
        }
    };
    assert_eq!(commits(other), replan);
}

#[test]
fn incident_104_a_changed_definition_voids_the_approval() {
    let replan = commits(|found| found.tool_digest = Some(Digest::of(b"tool, other limits")));
    assert_eq!(replan, Ok(vec!["action.replan_required"]));
}

#[test]
fn a_replan_says_field_by_field_what_moved() {
    let mut revalidation = found();
    revalidation.snapshot = Some(snapshot(2_000));
    let case = Case::approved().then(Command::Commit {
        revalidation,
        at: at(2),
        elapsed: Elapsed::by_clock(at(2)),
    });
    let [difference] = case.action.diff.as_slice() else {
        panic!("one field moved")
    };
    assert_eq!(difference.path, "/refundable_minor");
    assert_eq!(difference.approved, Some(json_of(&json!(5_000))));
    assert_eq!(difference.now, Some(json_of(&json!(2_000))));
}

#[test]
fn watched_values_may_move_where_only_the_conditions_count() {
    let conditions = |found: &mut Revalidation| {
        found.by_conditions = true;
        found.snapshot = Some(snapshot(4_900));
    };
    assert_eq!(commits(conditions), Ok(vec!["action.commit_recorded"]));
}

#[test]
fn i03_a_commit_needs_an_approval_that_is_still_there() {
    let status = |case: &Case| {
        Err(Refusal::OutOfPlace {
            status: case.action.status(),
        })
    };
    let staged = Case::staged();
    assert_eq!(staged.when(commit(at(2))), status(&staged));
    let mut held = requirement(vec![need(1, &["finance"])]);
    held.hold_ms = 30_000;
    let held = Case::staged_with(proposal(SafetyClass::ApprovalBound), held)
        .then(approve("ana", at(1)))
        .then(Command::Withdraw {
            by: "per_ana".to_owned(),
            reason: None,
            at: at(2),
            elapsed: Elapsed::by_clock(at(2)),
        });
    assert_eq!(held.action.status(), Status::Staged, "withdrawn");
    assert_eq!(held.when(commit(at(60_000))), status(&held));
    let approved = Case::approved();
    assert_eq!(
        approved.kinds(commit(DEADLINE)),
        Ok(vec!["action.expired"]),
        "at its end it commits nothing"
    );
    let expired = approved.clone().then(commit(DEADLINE));
    assert_eq!(expired.when(commit(DEADLINE)), status(&expired));
    let cancelled = approved.then(Command::Cancel {
        by: "key_checkout".to_owned(),
        reason: None,
        at: at(2),
    });
    assert_eq!(cancelled.when(commit(at(3))), status(&cancelled));
    let executing = Case::executing();
    assert_eq!(
        executing.when(commit(at(3))),
        status(&executing),
        "i02: one call at a time"
    );
}

#[test]
fn the_commit_record_names_what_it_rests_on() {
    let events = Case::approved()
        .when(commit(at(2)))
        .expect("it may be sent");
    let [
        Event::CommitRecorded {
            attempt,
            digest,
            approved_by,
            tool_digest,
            request_digest,
            revalidated,
            idempotency_key,
            send_deadline,
            ..
        },
    ] = events.as_slice()
    else {
        panic!("one commit record")
    };
    assert_eq!(
        (*digest, *tool_digest, *request_digest),
        (
            Digest::of(b"binding"),
            Digest::of(b"tool"),
            Digest::of(b"request")
        )
    );
    assert_eq!(
        *revalidated,
        Some(snapshot(5_000)),
        "what was read right before"
    );
    assert_eq!((*attempt, idempotency_key.as_str()), (1, "refund:8812:r1"));
    assert_eq!(approved_by.as_slice(), ["per_ana"]);
    assert_eq!(*send_deadline, at(10_002));
}

#[test]
fn a_success_is_final_and_a_later_answer_is_only_evidence() {
    let done = || AttemptOutcome::Done {
        http_status: Some(201),
        result: json_of(&json!({})),
    };
    let case = Case::executing().then(record(done(), at(3)));
    assert_eq!(case.action.status(), Status::Succeeded);
    assert_eq!(case.action.attempts[0].result, Some(AttemptResult::Done));
    assert_eq!(
        case.kinds(record(done(), at(9))),
        Ok(vec!["action.late_answer"])
    );
    let after = case.clone().then(record(done(), at(9)));
    assert_eq!(after.action.phase, case.action.phase, "i11");
}

#[test]
fn a_certain_refusal_fails() {
    let answer = json_of(&json!({ "error": "already refunded" }));
    let refused = AttemptOutcome::Refused {
        http_status: Some(422),
        answer: answer.clone(),
    };
    let case = Case::executing().then(record(refused, at(3)));
    assert_eq!(
        case.action.phase,
        Phase::Failed(FailReason::TargetRefused { answer })
    );
}

#[test]
fn a_refused_version_means_plan_again() {
    let moved = AttemptOutcome::VersionMoved {
        answer: json_of(&json!({})),
    };
    let case = Case::executing().then(record(moved, at(3)));
    assert_eq!(case.action.status(), Status::ReplanRequired);
    assert_eq!(case.action.attempts[0].result, Some(AttemptResult::NotDone));
}

#[test]
fn what_was_never_delivered_is_tried_again_with_growing_waits_and_then_fails() {
    let lost = |attempt, moment| Command::Record {
        attempt,
        outcome: AttemptOutcome::NotDelivered {
            message: "connection refused".to_owned(),
        },
        at: moment,
        answer: None,
    };
    let case = Case::executing().then(lost(1, at(10)));
    let Phase::Approved { run_at, .. } = case.action.phase else {
        panic!("it waits again")
    };
    assert_eq!(run_at, at(1_010));
    let case = case.then(commit(at(1_010))).then(lost(2, at(1_020)));
    let Phase::Approved { run_at, .. } = case.action.phase else {
        panic!("it waits again")
    };
    assert_eq!(run_at, at(3_020));
    let case = case.then(commit(at(3_020))).then(lost(3, at(3_030)));
    assert_eq!(case.action.status(), Status::Failed);
    assert_eq!(case.action.attempts.len(), 3);
}

#[test]
fn an_unreadable_state_is_read_again_until_the_deadline() {
    let defer = |case: &Case| Command::Defer {
        message: "503".to_owned(),
        at: match case.action.phase {
            Phase::Approved { run_at, .. } | Phase::Accepted { run_at } => run_at,
            _ => panic!("it waits for its call"),
        },
    };
    let mut case = Case::approved();
    for _ in 1..=30 {
        let due = defer(&case);
        case = case.then(due);
        assert_eq!(case.action.status(), Status::Approved);
    }
    let still_unreadable = Command::Defer {
        message: "503".to_owned(),
        at: DEADLINE,
    };
    assert_eq!(case.then(still_unreadable).action.status(), Status::Expired);
    let mut case = Case::accepted(SafetyClass::Irreversible);
    for _ in 1..=3 {
        let due = defer(&case);
        case = case.then(due);
    }
    assert_eq!(
        case.action.status(),
        Status::Failed,
        "without a deadline the tries are bounded"
    );
}
