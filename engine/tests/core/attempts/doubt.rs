//! What is asked and done while nobody knows whether a call took effect.

use holdpoint_engine::action::{Command, Finding, Phase, Refusal, SafetyClass, Status};
use serde_json::json;

use super::{QUIET, ask, doubtful, not_found, record, unknown};
use crate::given::{Case, at, commit, instigator, json_of};

#[test]
fn i10_not_found_before_quiet_time_proves_nothing() {
    let case = doubtful();
    let Phase::Unknown { quiet_at, .. } = case.action.phase else {
        panic!("it is in doubt")
    };
    assert_eq!(quiet_at, at(QUIET));
    let early = ask(not_found(), QUIET - 1);
    assert_eq!(case.kinds(early), Ok(vec!["action.check_inconclusive"]));
    assert_eq!(
        case.kinds(ask(not_found(), QUIET)),
        Ok(vec!["action.found_not_done"])
    );
}

#[test]
fn i10_what_the_source_of_truth_finds_is_believed_at_once() {
    let evidence = json_of(&json!({ "refunds": [{ "id": "re_1" }] }));
    let case = doubtful().then(ask(
        Finding::Happened {
            evidence: evidence.clone(),
        },
        3_000,
    ));
    assert_eq!(case.action.phase, Phase::Succeeded { result: evidence });
    assert_eq!(case.action.attempts.len(), 1);
}

#[test]
fn i02_a_second_attempt_follows_only_proof_that_the_first_had_no_effect() {
    let case = doubtful();
    let refused = case.when(commit(at(5_000)));
    assert_eq!(
        refused,
        Err(Refusal::OutOfPlace {
            status: Status::Unknown
        })
    );
    let case = case.then(ask(not_found(), QUIET));
    let Phase::Approved { run_at, .. } = case.action.phase else {
        panic!("it may go again")
    };
    assert_eq!(case.then(commit(run_at)).action.attempts.len(), 2);
}

#[test]
fn i02_an_irreversible_call_is_never_sent_twice_by_the_machine() {
    let case = Case::accepted(SafetyClass::Irreversible)
        .then(commit(at(2)))
        .then(record(unknown(), at(1_000)))
        .then(ask(not_found(), QUIET));
    assert_eq!(case.action.status(), Status::Failed);
}

#[test]
fn incident_18_a_source_of_truth_that_cannot_answer_says_nothing() {
    let silent = Finding::Inconclusive {
        message: "503".to_owned(),
    };
    let mut case = doubtful();
    for turn in 0..19 {
        case = case.then(ask(silent.clone(), QUIET + turn));
        assert!(case.action.due_at().is_some(), "it is asked again");
    }
    let case = case.then(ask(silent, QUIET + 19));
    assert_eq!(
        (case.action.status(), case.action.due_at()),
        (Status::Unknown, None)
    );
}

#[test]
fn the_source_of_truth_is_asked_for_about_an_hour_whatever_the_retry_of_the_tool_says() {
    for (min, max) in [(1, 5), (500, 500), (1_000, 300_000), (3_600_000, 3_600_000)] {
        let mut case = doubtful();
        case.action.proposal.terms.backoff_min_ms = min;
        case.action.proposal.terms.backoff_max_ms = max;
        let mut asked_at = QUIET;
        loop {
            let silent = Finding::Inconclusive {
                message: "503".to_owned(),
            };
            case = case.then(ask(silent, asked_at));
            match case.action.due_at() {
                Some(next) => asked_at = next.0 - at(0).0,
                None => break,
            }
        }
        let minutes = (asked_at - QUIET) / 60_000;
        assert!((50..70).contains(&minutes), "{minutes} for {min}..{max}");
    }
}

#[test]
fn without_a_check_a_person_settles_at_once() {
    let mut case = Case::executing();
    case.action.proposal.terms.can_check = false;
    let case = case.then(record(unknown(), at(1_000)));
    assert_eq!(case.action.due_at(), None);
    let settle = |by: &str, happened, reason: &str| Command::Settle {
        by: by.to_owned(),
        happened,
        reason: reason.to_owned(),
        at: at(2_000),
    };
    assert_eq!(
        case.when(settle("per_op", true, " ")),
        Err(Refusal::ReasonRequired)
    );
    assert_eq!(
        case.when(settle("per_ana", true, "seen")),
        Err(Refusal::OwnOutcome)
    );
    assert_eq!(
        case.when(settle("per_owner", true, "seen")),
        Err(Refusal::OwnOutcome)
    );
    let mut pushed = case.clone();
    pushed.action.instigators = vec![instigator("op", None)];
    assert_eq!(
        pushed.when(settle("per_op", true, "seen")),
        Err(Refusal::OwnOutcome)
    );
    for (happened, status) in [(true, Status::Succeeded), (false, Status::Failed)] {
        let settled = case
            .clone()
            .then(settle("per_op", happened, "the statement"));
        assert_eq!(settled.action.status(), status);
        // The same word of the same person again is a repeat; any other comes too late.
        let repeat = settled.when(settle("per_op", happened, "again"));
        assert_eq!(repeat, Ok(Vec::new()));
        for late in [
            settle("per_op", !happened, "no"),
            settle("per_eve", happened, "me too"),
        ] {
            let Err(refusal @ Refusal::NotUnknown { .. }) = settled.when(late) else {
                panic!("it is settled already");
            };
            let words = refusal.to_string();
            assert!(
                words.starts_with("it was already settled by per_op at "),
                "{words}"
            );
        }
    }
}
