//! Workers that pull: one has an attempt at a time, and only what it says in time counts.

use holdpoint_engine::action::{
    AttemptOutcome, Command, Event, FailReason, Finding, Holder, Phase, Refusal, ReplanReason,
    SafetyClass, Status, WorkReport,
};
use holdpoint_engine::canon::Digest;
use holdpoint_engine::limits::{LEASE_EXTENSIONS_MAX, LEASE_TOTAL_MS_MAX};
use holdpoint_engine::time::{Elapsed, Timestamp};
use serde_json::json;

use crate::given::{Case, DEADLINE, approve, at, claim, commit, found, json_of, snapshot};

pub(crate) fn holder(case: &Case, name: &str) -> Holder {
    let last = case.action.attempts.last().expect("an attempt");
    let lease = last.lease.as_ref().expect("a lease");
    Holder {
        attempt: last.number,
        worker: format!("key_{name}"),
        epoch: lease.epoch,
    }
}

pub(crate) fn said(word: &str, outcome: AttemptOutcome) -> WorkReport {
    WorkReport {
        outcome,
        digest: Digest::of(word.as_bytes()),
        evidence: Some(json_of(&json!({ "said": word }))),
        tells_more: false,
    }
}

pub(crate) fn done() -> WorkReport {
    let outcome = AttemptOutcome::Done {
        http_status: None,
        result: json_of(&json!({ "refund": "rf_1" })),
    };
    said("done", outcome)
}

fn failed() -> WorkReport {
    let outcome = AttemptOutcome::Refused {
        http_status: None,
        answer: json_of(&json!("the account is closed")),
    };
    said("failed", outcome)
}

pub(crate) fn report(holder: &Holder, report: WorkReport, at: Timestamp) -> Command {
    Command::Report {
        holder: holder.clone(),
        report,
        at,
    }
}

fn heartbeat(holder: &Holder, lease_ms: u64, at: Timestamp) -> Command {
    Command::Heartbeat {
        holder: holder.clone(),
        lease_ms,
        at,
    }
}

pub(crate) fn claimed() -> Case {
    Case::pulled(SafetyClass::WriteOnceCheckable).then(claim("anton", at(1)))
}

pub(crate) const LEASE_END: i64 = 10_001;

#[test]
fn i12_a_claim_is_a_commit_record_and_a_lease_in_one_append() {
    let case = Case::pulled_staged().then(approve("ana", at(1)));
    let kinds = case.kinds(claim("anton", at(2))).expect("claimed");
    assert_eq!(kinds, ["action.commit_recorded", "action.lease_granted"]);
    let case = case.then(claim("anton", at(2)));
    assert_eq!(case.action.status(), Status::Executing);
    let last = case.action.attempts.last().expect("an attempt");
    let lease = last.lease.as_ref().expect("a lease");
    assert_eq!(
        (lease.worker.id.as_str(), lease.until),
        ("key_anton", at(10_002))
    );
    assert_eq!(last.send_deadline, lease.until);
    assert_eq!(case.action.due_at(), Some(lease.until));
}

#[test]
fn i12_whoever_claims_second_gets_nothing() {
    let refused = claimed().when(claim("berta", at(2)));
    let status = Status::Executing;
    assert_eq!(refused, Err(Refusal::OutOfPlace { status }));
}

#[test]
fn i12_what_is_pulled_is_never_sent_by_the_engine_and_the_other_way_round() {
    let case = Case::pulled(SafetyClass::WriteOnceCheckable);
    let mut wish = claim("anton", at(1));
    let Command::Claim { revalidation, .. } = &mut wish else {
        unreachable!("a claim is a claim")
    };
    let by_engine = Command::Commit {
        revalidation: revalidation.clone(),
        at: at(1),
        elapsed: Elapsed::by_clock(at(1)),
    };
    let status = Status::Accepted;
    assert_eq!(case.when(by_engine), Err(Refusal::OutOfPlace { status }));
    *revalidation = found();
    let case = Case::accepted(SafetyClass::WriteOnceCheckable);
    assert_eq!(case.when(wish), Err(Refusal::OutOfPlace { status }));
    assert!(case.when(commit(at(1))).is_ok());
}

#[test]
fn i03_a_claim_is_held_to_all_that_a_call_is_held_to() {
    let approved = Case::pulled_staged().then(approve("ana", at(1)));
    let changed = |change: fn(&mut holdpoint_engine::action::Revalidation)| {
        let mut wish = claim("anton", at(2));
        if let Command::Claim { revalidation, .. } = &mut wish {
            change(revalidation);
        }
        approved.when(wish)
    };
    let moved = changed(|found| found.snapshot = Some(snapshot(1)));
    assert!(matches!(
        moved.expect("decided").as_slice(),
        [Event::ReplanRequired {
            reason: ReplanReason::StateMoved,
            ..
        }]
    ));
    let other = changed(|found| found.tool_digest = None);
    assert!(matches!(
        other.expect("decided").as_slice(),
        [Event::ReplanRequired {
            reason: ReplanReason::ToolChanged,
            ..
        }]
    ));
    let broken = changed(|found| found.failed_precondition = Some("too little".to_owned()));
    assert!(matches!(
        broken.expect("decided").as_slice(),
        [Event::ReplanRequired {
            reason: ReplanReason::PreconditionFailed(_),
            ..
        }]
    ));
    let late = approved.when(claim("anton", DEADLINE));
    assert_eq!(late, Ok(vec![Event::Expired { at: DEADLINE }]));
}

#[test]
fn i03_nothing_is_claimed_in_the_hold_window_or_without_an_approval() {
    let staged = Case::pulled_staged();
    let status = Status::Staged;
    assert_eq!(
        staged.when(claim("anton", at(1))),
        Err(Refusal::OutOfPlace { status })
    );
    let accepted = Case::pulled(SafetyClass::WriteOnceCheckable);
    let run_at = at(0);
    let early = accepted.when(claim("anton", at(-1)));
    assert_eq!(early, Err(Refusal::NotDue { run_at }));
}

#[test]
fn a_worker_that_succeeds_ends_the_action_with_its_result() {
    let case = claimed();
    let anton = holder(&case, "anton");
    let case = case.then(report(&anton, done(), at(5_000)));
    assert_eq!(case.action.status(), Status::Succeeded);
    assert_eq!(
        case.when(report(&anton, done(), at(90_000))),
        Ok(Vec::new()),
        "the same report again is answered as the first one"
    );
    let other = report(&anton, failed(), at(5_001));
    assert_eq!(case.kinds(other.clone()), Ok(vec!["action.late_answer"]));
    let case = case.then(other.clone());
    assert_eq!(case.action.status(), Status::Succeeded, "it is evidence");
    assert_eq!(case.when(other), Err(Refusal::AlreadyReported), "once");
}

#[test]
fn a_worker_that_is_certain_of_a_no_ends_the_action_as_failed() {
    let case = claimed();
    let anton = holder(&case, "anton");
    let case = case.then(report(&anton, failed(), at(5_000)));
    let failed = Phase::Failed(FailReason::WorkerFailed {
        answer: json_of(&json!("the account is closed")),
    });
    assert_eq!(case.action.phase, failed);
}

#[test]
fn i12_a_lease_that_runs_out_makes_the_attempt_unknown_and_never_free() {
    let case = claimed();
    let early = Command::ReachLeaseEnd {
        at: at(LEASE_END - 1),
    };
    assert_eq!(case.when(early), Ok(Vec::new()));
    let case = case.then(Command::ReachLeaseEnd { at: at(LEASE_END) });
    assert_eq!(case.action.status(), Status::Unknown);
    let status = Status::Unknown;
    assert_eq!(
        case.when(claim("berta", at(20_000))),
        Err(Refusal::OutOfPlace { status })
    );
}

#[test]
fn i12_a_worker_that_wakes_after_its_lease_changes_nothing_and_is_kept_as_evidence() {
    let case = claimed();
    let anton = holder(&case, "anton");
    let late = report(&anton, done(), at(LEASE_END));
    // It is the first to notice that its own lease has ended.
    assert_eq!(
        case.kinds(late.clone()),
        Ok(vec!["action.attempt_unknown", "action.late_answer"])
    );
    let case = case.then(late.clone());
    assert_eq!(case.action.status(), Status::Unknown);
    let status = Status::Unknown;
    assert_eq!(case.when(late), Err(Refusal::LeaseLost { status }), "once");
    assert_eq!(
        case.when(heartbeat(&anton, 10_000, at(LEASE_END + 1))),
        Err(Refusal::LeaseLost { status })
    );
}

#[test]
fn i12_a_heartbeat_after_the_end_extends_nothing() {
    let case = claimed();
    let anton = holder(&case, "anton");
    let case = case.then(heartbeat(&anton, 10_000, at(LEASE_END)));
    assert_eq!(case.action.status(), Status::Unknown);
}

#[test]
fn i12_an_old_epoch_and_another_worker_are_refused() {
    let case = claimed();
    let anton = holder(&case, "anton");
    let old = Holder {
        epoch: anton.epoch - 1,
        ..anton.clone()
    };
    let status = Status::Executing;
    // What it says is kept, and the lease goes on as it was.
    let kinds = case.kinds(report(&old, done(), at(2)));
    assert_eq!(kinds, Ok(vec!["action.late_answer"]));
    let heard = case.clone().then(report(&old, done(), at(2)));
    assert_eq!(heard.action.status(), status);
    let again = heard.when(report(&old, done(), at(3)));
    assert_eq!(again, Err(Refusal::WrongEpoch), "once");
    assert_eq!(
        heard.when(heartbeat(&old, 10_000, at(3))),
        Err(Refusal::WrongEpoch)
    );
    let counts = heard.then(report(&anton, done(), at(4)));
    assert_eq!(counts.action.status(), Status::Succeeded);
    let berta = holder(&case, "berta");
    assert_eq!(
        case.when(report(&berta, done(), at(2))),
        Err(Refusal::NotHolder)
    );
    assert_eq!(
        case.when(heartbeat(&berta, 10_000, at(2))),
        Err(Refusal::NotHolder)
    );
    let engine = Command::Record {
        attempt: 1,
        outcome: done().outcome,
        at: at(2),
        answer: None,
    };
    assert_eq!(case.when(engine), Err(Refusal::OutOfPlace { status }));
}

#[test]
fn i10_quiet_time_is_counted_from_the_longest_lease() {
    let case = claimed();
    let anton = holder(&case, "anton");
    let case = case
        .then(heartbeat(&anton, 60_000, at(5_000)))
        .then(heartbeat(&anton, 10_000, at(8_000)))
        .then(Command::ReachLeaseEnd { at: at(65_000) });
    let Phase::Unknown { quiet_at, .. } = case.action.phase else {
        panic!("it is unknown: {:?}", case.action.phase)
    };
    let terms = case.action.proposal.terms;
    let quiet = at(65_000)
        .plus_ms(terms.request_lifetime_ms)
        .plus_ms(terms.settle_ms);
    assert_eq!(quiet_at, quiet);
}

#[test]
fn i21_heartbeats_are_stored_seldom_and_not_without_end() {
    let case = claimed();
    let anton = holder(&case, "anton");
    assert_eq!(
        case.when(heartbeat(&anton, 10_000, at(500))),
        Ok(Vec::new()),
        "too soon"
    );
    let mut case = case;
    let mut now = at(1).0;
    for _ in 0..LEASE_TOTAL_MS_MAX / 3_000_000 + 2 {
        now += 3_000_000;
        case = case.perhaps(heartbeat(&anton, 3_600_000, Timestamp(now)));
    }
    let bound = at(1).plus_ms(LEASE_TOTAL_MS_MAX);
    assert!(case.action.attempts[0].send_deadline <= bound);
    assert_eq!(case.action.status(), Status::Unknown, "a day was too long");
    let mut case = claimed();
    case.action.attempts[0]
        .lease
        .as_mut()
        .expect("a lease")
        .extensions = LEASE_EXTENSIONS_MAX;
    assert_eq!(
        case.when(heartbeat(&anton, 10_000, at(5_000))),
        Ok(Vec::new())
    );
}

#[test]
fn i02_a_second_attempt_follows_only_a_proof_and_has_the_same_key() {
    let case = claimed();
    let anton = holder(&case, "anton");
    let case = case
        .then(Command::ReachLeaseEnd { at: at(LEASE_END) })
        .then(Command::Check {
            attempt: 1,
            finding: Finding::NotFound {
                evidence: json_of(&json!([])),
            },
            asked_at: at(200_000),
            at: at(200_000),
        })
        .then(claim("berta", at(300_000)));
    let keys: Vec<&String> = case
        .events
        .iter()
        .filter_map(|event| match event {
            Event::CommitRecorded {
                idempotency_key, ..
            } => Some(idempotency_key),
            _ => None,
        })
        .collect();
    assert_eq!(keys, ["refund:8812:r1", "refund:8812:r1"]);
    let berta = holder(&case, "berta");
    assert!(anton.epoch < berta.epoch);
    // The first worker wakes up while the second one is at it.
    let case = case.then(report(&anton, done(), at(300_001)));
    assert_eq!(case.action.status(), Status::Executing);
    let case = case.then(report(&berta, failed(), at(300_002)));
    assert_eq!(case.action.status(), Status::Failed);
}

#[test]
fn i11_cancel_after_a_claim_does_not_pretend_to_stop_it() {
    let cancel = Command::Cancel {
        by: "key_checkout".to_owned(),
        reason: None,
        at: at(2),
    };
    let status = Status::Executing;
    assert_eq!(claimed().when(cancel), Err(Refusal::TooLate { status }));
}

#[test]
fn i09_a_deadline_that_passes_while_a_worker_has_it_takes_nothing_away() {
    let case = Case::pulled_staged().then(approve("ana", at(1)));
    let before = Timestamp(DEADLINE.0 - 1);
    let case = case.then(claim("anton", before));
    let after = Timestamp(DEADLINE.0 + 1_000);
    assert_eq!(
        case.when(Command::ReachDeadline { at: after }),
        Ok(Vec::new())
    );
    let anton = holder(&case, "anton");
    let case = case.then(report(&anton, done(), after));
    assert_eq!(case.action.status(), Status::Succeeded);
}
