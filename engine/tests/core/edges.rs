//! The exact edges of decisions: the moment itself, the number just beyond, the other person. Each of
//! these was found by a change to the core that no other test of it noticed.

mod written;

use holdpoint_engine::action::{
    AttemptOutcome, AttemptResult, Command, Event, Finding, Holder, Phase, Refusal, Revalidation,
    SafetyClass, Status, WorkReport, explain,
};
use holdpoint_engine::approval::{Requirement, Tally, tally};
use holdpoint_engine::canon::Digest;
use holdpoint_engine::limits::{HEARTBEAT_EVERY_MS_MIN, LEASE_MS_MAX, LEASE_TOTAL_MS_MAX};
use holdpoint_engine::time::{Elapsed, Timestamp};
use serde_json::json;

use crate::given::{
    Case, DEADLINE, approve, at, claim, commit, found, json_of, need, proposal, requirement,
    snapshot,
};

fn record(attempt: u32, outcome: AttemptOutcome, moment: Timestamp) -> Command {
    Command::Record {
        attempt,
        outcome,
        at: moment,
        answer: None,
    }
}

fn lost() -> AttemptOutcome {
    AttemptOutcome::Unknown {
        http_status: Some(504),
        message: "the answer was lost".to_owned(),
    }
}

fn doubtful() -> Case {
    Case::executing().then(record(1, lost(), at(1_000)))
}

fn quiet_at(case: &Case) -> Timestamp {
    let Phase::Unknown { quiet_at, .. } = case.action.phase else {
        unreachable!("the case is in doubt")
    };
    quiet_at
}

/// What a check that finds nothing plans as the next one.
fn next_check(case: &Case, moment: Timestamp) -> Option<Timestamp> {
    let finding = Finding::NotFound {
        evidence: json_of(&json!(null)),
    };
    let events = case.when(Command::Check {
        attempt: 1,
        finding,
        asked_at: at(1_000),
        at: moment,
    });
    let Ok([Event::CheckInconclusive { next_check, .. }]) = events.as_deref() else {
        unreachable!("nothing can be concluded: {events:?}")
    };
    *next_check
}

#[test]
fn only_an_attempt_that_was_made_has_an_outcome() {
    let case = Case::executing();
    for attempt in [0, 2] {
        let refusal = Refusal::OutOfPlace {
            status: Status::Executing,
        };
        assert_eq!(case.when(record(attempt, lost(), at(5))), Err(refusal));
    }
}

#[test]
fn i10_the_last_look_before_quiet_time_is_followed_by_one_at_quiet_time() {
    let case = doubtful();
    let quiet = quiet_at(&case);
    assert_eq!(next_check(&case, Timestamp(quiet.0 - 1)), Some(quiet));
    assert!(next_check(&case, quiet) > Some(quiet));
    assert!(next_check(&case, Timestamp(quiet.0 + 1)) > Some(Timestamp(quiet.0 + 1)));
}

#[test]
fn i29_what_was_on_its_way_when_the_copy_was_made_is_unknown_and_nothing_else_is() {
    let lose = || Command::LoseAttempt { at: at(9) };
    let unknown = vec!["action.attempt_unknown"];
    assert_eq!(Case::executing().kinds(lose()), Ok(unknown));
    assert_eq!(doubtful().kinds(lose()), Ok(Vec::new()));
    assert_eq!(Case::approved().kinds(lose()), Ok(Vec::new()));
}

#[test]
fn i29_a_lease_that_was_lost_in_a_copy_counts_no_more_although_it_has_not_run_out() {
    let case = Case::pulled(SafetyClass::WriteOnceCheckable).then(claim("ana", at(1)));
    assert!(case.action.is_leased());
    let lease = case.action.attempts[0].lease.clone().expect("a lease");
    let case = case.then(Command::LoseAttempt { at: at(2) });
    assert!(!case.action.is_leased());
    let report = Command::Report {
        holder: Holder {
            attempt: 1,
            worker: lease.worker.id,
            epoch: lease.epoch,
        },
        report: WorkReport {
            outcome: AttemptOutcome::Done {
                http_status: None,
                result: json_of(&json!({})),
            },
            digest: Digest::of(b"report"),
            evidence: Some(json_of(&json!("done"))),
            tells_more: false,
        },
        at: at(3),
    };
    assert_eq!(case.kinds(report), Ok(vec!["action.late_answer"]));
    assert!(!Case::executing().action.is_leased());
}

#[test]
fn i29_a_worker_may_hold_a_lease_for_longer_than_the_copy_knows() {
    let case = Case::pulled(SafetyClass::WriteOnceCheckable).then(claim("ana", at(1)));
    let (terms, attempt) = (&case.action.proposal.terms, &case.action.attempts[0]);
    let longest = attempt.started_at.plus_ms(LEASE_TOTAL_MS_MAX);
    let lease = attempt.lease.as_ref().expect("a lease");
    for (moment, held_until) in [
        (at(2), at(2).plus_ms(LEASE_MS_MAX)),
        (Timestamp(longest.0 - 1), longest),
        (lease.until, lease.until.plus_ms(LEASE_MS_MAX)),
        (longest.plus_ms(5), longest),
    ] {
        let quiet = held_until
            .plus_ms(terms.request_lifetime_ms)
            .plus_ms(terms.settle_ms);
        let lost = case.clone().then(Command::LoseAttempt { at: moment });
        assert_eq!(quiet_at(&lost), quiet, "restored at {moment:?}");
    }
}

#[test]
fn a_heartbeat_counts_from_the_very_moment_it_may_come() {
    let case = Case::pulled(SafetyClass::WriteOnceCheckable).then(claim("ana", at(1)));
    let lease = case.action.attempts[0].lease.clone().expect("a lease");
    let beat = |moment: Timestamp| Command::Heartbeat {
        holder: Holder {
            attempt: 1,
            worker: lease.worker.id.clone(),
            epoch: lease.epoch,
        },
        lease_ms: 60_000,
        at: moment,
    };
    let first = at(1).plus_ms(HEARTBEAT_EVERY_MS_MIN);
    let extended = vec!["action.lease_extended"];
    assert_eq!(case.kinds(beat(first)), Ok(extended));
    assert_eq!(case.kinds(beat(Timestamp(first.0 - 1))), Ok(Vec::new()));
}

#[test]
fn a_state_that_cannot_be_read_in_the_hold_window_changes_nothing() {
    let requirement = Requirement {
        hold_ms: 30_000,
        ..requirement(vec![need(1, &[])])
    };
    let case = Case::staged_with(proposal(SafetyClass::ApprovalBound), requirement)
        .then(approve("ana", at(1)));
    let defer = |moment| Command::Defer {
        message: "no answer".to_owned(),
        at: moment,
    };
    let run_at = at(30_001);
    assert_eq!(case.when(defer(at(2))), Err(Refusal::NotDue { run_at }));
    assert_eq!(case.kinds(defer(at(30_002))), Ok(vec!["action.deferred"]));
}

#[test]
fn a_resend_before_which_the_state_cannot_be_read_is_put_off() {
    let mut case = Case::accepted(SafetyClass::WriteOnceCheckable);
    case.action.proposal.terms.can_check = false;
    let mut case = case
        .keyed(600_000)
        .then(commit(at(2)))
        .then(record(1, lost(), at(1_000)));
    for attempt in 1..=2 {
        let due = case.action.due_at().expect("a resend is planned");
        let events = case.when(Command::Defer {
            message: "no answer".to_owned(),
            at: due,
        });
        let planned = matches!(
            events.as_deref(),
            Ok([Event::ResendPlanned { attempt: of, because: Some(_), .. }]) if *of == attempt
        );
        assert!(planned, "{events:?}");
        if attempt == 1 {
            let resend = Command::Resend {
                revalidation: found(),
                at: due,
            };
            case = case.then(resend).then(record(2, lost(), due));
        }
    }
    // Either of the two may have taken effect: the key makes them one, and the last stands for it.
    let settled = |happened| {
        let settle = Command::Settle {
            by: "per_ops".to_owned(),
            happened,
            reason: "seen in the books".to_owned(),
            at: at(400_000),
        };
        let case = case.clone().then(settle);
        let last = case.events.last();
        assert!(matches!(last, Some(Event::Settled { attempt: 2, .. })));
        let results = case.action.attempts.into_iter();
        results
            .map(|attempt| attempt.result)
            .collect::<Option<Vec<_>>>()
    };
    let (done, unknown) = (AttemptResult::Done, AttemptResult::Unknown);
    assert_eq!(settled(true), Some(vec![unknown, done]));
    let neither = vec![AttemptResult::NotDone, AttemptResult::NotDone];
    assert_eq!(settled(false), Some(neither));
}

#[test]
fn a_second_cancel_by_somebody_else_is_told_that_it_is_decided() {
    let cancel = |by: &str| Command::Cancel {
        by: by.to_owned(),
        reason: None,
        at: at(5),
    };
    let case = Case::staged().then(cancel("key_checkout"));
    assert_eq!(case.when(cancel("key_checkout")), Ok(Vec::new()));
    let decided = Refusal::AlreadyDecided {
        status: Status::Cancelled,
    };
    assert_eq!(case.when(cancel("per_ops")), Err(decided));
}

#[test]
fn a_refused_version_is_tried_again_at_once_where_the_tool_stages_again() {
    let mut restaging = Case::executing();
    restaging.action.proposal.terms.restage = true;
    let moved = AttemptOutcome::VersionMoved {
        answer: json_of(&json!("moved")),
    };
    let events = restaging.when(record(1, moved, at(7)));
    let [
        Event::AttemptNotDelivered {
            retry_at: Some(moment),
            ..
        },
    ] = events.as_deref().expect("recorded")
    else {
        unreachable!("it is tried again: {events:?}")
    };
    assert_eq!(*moment, at(7));
}

#[test]
fn a_moved_state_stops_only_what_is_read_again_before_the_call() {
    let Command::Commit {
        mut revalidation, ..
    } = commit(at(2))
    else {
        unreachable!("a commit")
    };
    revalidation.snapshot = Some(snapshot(1));
    let commit = |class| {
        Case::accepted(class).kinds(Command::Commit {
            revalidation: revalidation.clone(),
            at: at(2),
            elapsed: Elapsed::by_clock(at(2)),
        })
    };
    let sent = Ok(vec!["action.commit_recorded"]);
    assert_eq!(commit(SafetyClass::WriteOnceCheckable), sent);
    let stopped = Ok(vec!["action.replan_required"]);
    assert_eq!(commit(SafetyClass::Irreversible), stopped);
}

#[test]
fn an_open_tally_says_how_many_are_missing() {
    let asked = requirement(vec![need(3, &["finance"]), need(1, &["finance"])]);
    assert_eq!(asked.required(), 3);
    let case = Case::staged_with(proposal(SafetyClass::ApprovalBound), asked.clone())
        .then(approve("ana", at(1)));
    let votes = case.action.approval.expect("an approval").votes;
    let open = Tally::Open(vec![(need(3, &["finance"]), 2)]);
    assert_eq!(tally(&asked, &votes), open);
}

#[test]
fn i27_a_doubt_is_explained_with_what_was_tried_and_what_comes_next() {
    let case = doubtful();
    let quiet = quiet_at(&case);
    let told = |case: &Case, now| {
        explain(&case.action, &case.events, false, &Elapsed::by_clock(now)).expect("a doubt")
    };
    let early = told(&case, Timestamp(quiet.0 - 1));
    assert_eq!((early.trouble.name(), early.tried.len()), ("unknown", 1));
    assert!(early.tried[0].contains("attempt 1"), "{early:?}");
    assert!(early.tried[0].contains("answered with 504"), "{early:?}");
    assert!(early.next.contains("is asked again"), "{early:?}");
    assert!(early.next.contains("proves nothing"), "{early:?}");
    assert!(!told(&case, quiet).next.contains("proves nothing"));
    let asked = case.then(Command::Check {
        attempt: 1,
        finding: Finding::Inconclusive {
            message: "no such page".to_owned(),
        },
        asked_at: at(2_000),
        at: at(2_000),
    });
    let tried = told(&asked, at(3_000)).tried;
    assert!(tried[1].contains("asked 1 times"), "{tried:?}");
    assert!(tried[1].contains("no such page"), "{tried:?}");
}

#[test]
fn i09_staged_again_keeps_the_deadline_of_the_first_time() {
    let mut case = Case::approved();
    case.action.proposal.terms.restage = true;
    let later = Requirement {
        deadline: Timestamp(DEADLINE.0 + 1),
        ..requirement(vec![need(1, &["finance"])])
    };
    let events = case.when(Command::Commit {
        revalidation: Revalidation {
            snapshot: Some(snapshot(1)),
            requirement: Some(later),
            ..found()
        },
        at: at(2),
        elapsed: Elapsed::by_clock(at(2)),
    });
    let Ok([Event::Restaged { requirement, .. }]) = events.as_deref() else {
        unreachable!("it is staged again: {events:?}")
    };
    assert_eq!(requirement.deadline, DEADLINE);
}
