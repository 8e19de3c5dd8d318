//! What people are told of an action.

use holdpoint_engine::action::{
    AttemptOutcome, Command, Holder, Phase, Reminder, SafetyClass, WorkReport, explain,
};
use holdpoint_engine::canon::Digest;
use holdpoint_engine::time::Elapsed;
use serde_json::{Value, json};

use crate::given::{Case, DEADLINE, approve, at, claim, commit, json_of};

/// An action whose call was lost, at a target that keeps its key and cannot be asked.
fn to_be_resent() -> Case {
    let mut case = Case::accepted(SafetyClass::WriteOnceCheckable);
    case.action.proposal.terms.can_check = false;
    let outcome = AttemptOutcome::Unknown {
        http_status: None,
        message: "the answer was lost".to_owned(),
    };
    case.keyed(600_000)
        .then(commit(at(2)))
        .then(Command::Record {
            attempt: 1,
            outcome,
            at: at(1_000),
            answer: None,
        })
}

#[test]
fn i27_a_resend_that_waits_for_the_pause_to_end_says_so() {
    let case = to_be_resent();
    let Phase::Unknown {
        next_resend: Some(resend),
        ..
    } = case.action.phase
    else {
        unreachable!("a resend is planned: {:?}", case.action.phase)
    };
    let next = |paused| {
        let why = explain(
            &case.action,
            &case.events,
            paused,
            &Elapsed::by_clock(at(1_001)),
        );
        why.expect("a doubt").next
    };
    assert!(next(true).contains("the engine is paused"));
    let planned = format!("is sent again with the same key at {resend}");
    assert!(next(false).contains(&planned), "{}", next(false));
}

#[test]
fn a_reminder_says_how_much_of_the_time_is_over() {
    assert!(Reminder::Half.words().starts_with("half of the time"));
    assert!(Reminder::NineTenths.words().starts_with("nine tenths"));
}

/// An action whose worker said this after the end of its lease.
fn said_late(said: &Value) -> Case {
    let case = Case::pulled(SafetyClass::WriteOnceCheckable).then(claim("anton", at(1)));
    let last = case.action.attempts.last().expect("an attempt");
    let lease = last.lease.as_ref().expect("a lease");
    let holder = Holder {
        attempt: last.number,
        worker: lease.worker.id.clone(),
        epoch: lease.epoch,
    };
    let evidence = json_of(said);
    let report = WorkReport {
        outcome: AttemptOutcome::Unknown {
            http_status: None,
            message: "late".to_owned(),
        },
        digest: Digest::of(evidence.as_str().as_bytes()),
        evidence: Some(evidence),
        tells_more: false,
    };
    case.then(Command::Report {
        holder,
        report,
        at: at(60_000),
    })
}

#[test]
fn i27_whoever_settles_is_shown_what_the_worker_said_too_late() {
    let long = "x".repeat(5000);
    let cases = [
        (
            json!({ "outcome": "succeeded", "result": { "parcel": "P1" } }),
            r#"the worker says succeeded, with the result {"parcel":"P1"}"#,
        ),
        (
            json!({ "outcome": "failed", "reason": "no such order" }),
            "the worker says failed, because: no such order",
        ),
        (json!({ "odd": 1 }), r#"kept as evidence: {"odd":1}"#),
        (
            json!({ "outcome": "succeeded", "result": long }),
            "x… (the first 300 of 5002 characters)",
        ),
    ];
    for (said, words) in cases {
        let case = said_late(&said);
        let why = explain(
            &case.action,
            &case.events,
            false,
            &Elapsed::by_clock(at(60_001)),
        )
        .expect("a doubt");
        let line = why.tried.iter().find(|line| line.contains("came late"));
        let line = line.expect("a line about it");
        assert!(line.contains(words), "{line}");
    }
}

#[test]
fn what_was_approved_and_then_expired_does_not_say_that_nobody_decided() {
    let undecided = Case::staged().then(Command::ReachDeadline { at: DEADLINE });
    assert_eq!(undecided.action.expiry_words(), "nobody decided in time");
    let approved = Case::staged().then(approve("ana", at(1)));
    let approved = approved.then(Command::ReachDeadline { at: DEADLINE });
    assert_eq!(approved.action.phase, Phase::Expired);
    let words = approved.action.expiry_words();
    assert!(
        words.starts_with("it was approved, and could not be called"),
        "{words}"
    );
}
