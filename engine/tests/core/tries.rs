//! How often a call is tried, whatever else went wrong in between.

use holdpoint_engine::action::{
    AttemptOutcome, Command, Event, FailReason, Finding, Holder, Phase, SafetyClass, Status,
    WorkReport,
};
use holdpoint_engine::canon::Digest;
use holdpoint_engine::limits::TAKEN_BACK_MAX;
use holdpoint_engine::time::{Elapsed, Timestamp};
use proptest::prelude::*;
use serde_json::json;

use crate::given::{Case, approve, at, claim, commit, json_of, need, proposal, requirement};

/// What `given::terms` allows.
const TRIES: usize = 3;

/// When it may be called; it waits for that.
fn due(case: &Case) -> Timestamp {
    case.action.run_at().expect("it waits for its call")
}

fn unread(case: Case) -> Case {
    let at = due(&case);
    let message = "503".to_owned();
    case.then(Command::Defer { message, at })
}

fn called(case: Case, outcome: AttemptOutcome) -> Case {
    let at = due(&case);
    let case = case.then(commit(at));
    let attempt = u32::try_from(case.action.attempts.len()).expect("few");
    let answer = None;
    case.then(Command::Record {
        attempt,
        outcome,
        answer,
        at,
    })
}

fn refused_connection() -> AttemptOutcome {
    AttemptOutcome::NotDelivered {
        message: "connection refused".to_owned(),
    }
}

fn times(count: u32, mut case: Case, step: impl Fn(Case) -> Case) -> Case {
    for _ in 0..count {
        case = step(case);
    }
    case
}

#[test]
fn an_outage_of_the_state_query_uses_up_no_try_of_the_call() {
    let case = times(5, Case::approved(), unread);
    let case = called(case, refused_connection());
    assert_eq!(case.action.status(), Status::Approved, "one of three");
    let case = called(times(5, case, unread), refused_connection());
    assert_eq!(case.action.status(), Status::Approved, "two of three");
    let case = called(times(5, case, unread), refused_connection());
    let why = FailReason::NeverDelivered {
        message: "connection refused".to_owned(),
    };
    assert_eq!(case.action.phase, Phase::Failed(why));
    assert_eq!(case.action.attempts.len(), TRIES);
}

#[test]
fn without_an_approval_as_many_reads_in_a_row_may_fail_as_calls() {
    let accepted = || Case::accepted(SafetyClass::Irreversible);
    let case = called(times(2, accepted(), unread), refused_connection());
    let case = times(2, case, unread);
    assert_eq!(
        case.action.status(),
        Status::Accepted,
        "never three in a row"
    );
    assert_eq!(unread(case).action.status(), Status::Failed);
    assert_eq!(times(3, accepted(), unread).action.status(), Status::Failed);
}

#[test]
fn the_wait_after_a_call_does_not_grow_with_the_reads_that_failed_before_it() {
    let case = times(5, Case::approved(), unread);
    let called_at = due(&case);
    let case = called(case, refused_connection());
    assert_eq!(due(&case), called_at.plus_ms(1_000));
    let read_at = due(&case);
    assert_eq!(
        due(&unread(case)),
        read_at.plus_ms(1_000),
        "the first again"
    );
}

#[test]
fn a_moved_version_is_staged_again_although_the_state_could_not_be_read_for_a_while() {
    let mut restaging = proposal(SafetyClass::ApprovalBound);
    restaging.terms.restage = true;
    let case = Case::staged_with(restaging, requirement(vec![need(1, &["finance"])]))
        .then(approve("ana", at(1)));
    let moved = AttemptOutcome::VersionMoved {
        answer: json_of(&json!("moved")),
    };
    let case = called(times(5, case, unread), moved);
    assert_eq!(case.action.status(), Status::Approved, "it is read anew");
}

#[test]
fn what_did_not_happen_is_tried_again_although_the_state_could_not_be_read_for_a_while() {
    let lost = AttemptOutcome::Unknown {
        http_status: Some(502),
        message: "a bad gateway".to_owned(),
    };
    let case = called(times(5, Case::approved(), unread), lost);
    let Phase::Unknown { quiet_at, .. } = case.action.phase else {
        panic!("it is in doubt")
    };
    let finding = Finding::NotFound {
        evidence: json_of(&json!([])),
    };
    let case = case.then(Command::Check {
        attempt: 1,
        finding,
        asked_at: quiet_at,
        at: quiet_at,
    });
    assert_eq!(case.action.status(), Status::Approved);
}

/// Given to a worker that had gone by then.
fn taken_back(case: Case) -> Case {
    let at = due(&case);
    let case = case.then(claim("anton", at));
    let last = case.action.attempts.last().expect("an attempt");
    let lease = last.lease.clone().expect("a lease");
    let holder = Holder {
        attempt: last.number,
        worker: lease.worker.id,
        epoch: lease.epoch,
    };
    let report = WorkReport {
        outcome: refused_connection(),
        digest: Digest::of(b"gone"),
        evidence: None,
        tells_more: false,
    };
    case.then(Command::Report { holder, report, at })
}

#[test]
fn workers_that_go_before_they_have_it_use_up_no_try() {
    let case = Case::pulled(SafetyClass::Irreversible);
    let first = due(&case);
    let case = taken_back(case);
    assert_eq!(due(&case), first, "the next one has it at once");
    let case = times(20, case, taken_back);
    assert_eq!(case.action.status(), Status::Accepted);
    assert_eq!(case.action.tries_failed, 0);
    assert!(first < due(&case), "it waits longer each time");
    // Not without end: each of them stays in the action.
    let case = times(TAKEN_BACK_MAX - 21, case, taken_back);
    assert_eq!(case.action.status(), Status::Accepted);
    assert_eq!(taken_back(case).action.status(), Status::Failed);
}

#[test]
fn what_no_worker_got_to_see_is_given_out_again_after_reads_that_failed() {
    let case = Case::pulled(SafetyClass::Irreversible);
    let case = times(2, case, unread);
    let moment = due(&case);
    let case = taken_back(case);
    assert!(moment <= due(&case));
    assert_eq!(case.action.status(), Status::Accepted);
}

#[test]
fn an_approval_can_no_longer_be_taken_back_once_a_call_was_made() {
    let case = called(Case::approved(), refused_connection());
    let Phase::Approved { hold_until, .. } = case.action.phase else {
        panic!("it is tried again")
    };
    assert_eq!(hold_until, None);
    let withdraw = Command::Withdraw {
        by: "per_ana".to_owned(),
        reason: None,
        elapsed: Elapsed::by_clock(at(0)),
        at: at(0),
    };
    assert!(case.when(withdraw).is_err());
}

proptest! {
    #[test]
    fn i27_an_approved_call_is_tried_just_as_often_as_its_tool_says(
        outages in prop::collection::vec(0..4_u32, TRIES),
    ) {
        let mut case = Case::approved();
        for outage in outages {
            prop_assert_eq!(case.action.status(), Status::Approved);
            case = called(times(outage, case, unread), refused_connection());
        }
        prop_assert_eq!(case.action.status(), Status::Failed);
        let sent = |event: &&Event| matches!(event, Event::CommitRecorded { .. });
        prop_assert_eq!(case.events.iter().filter(sent).count(), TRIES);
    }
}
