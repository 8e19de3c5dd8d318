//! Reminders, and calls that are sent again within the time that a target keeps keys.

use holdpoint_engine::action::{
    Arrangement, AttemptOutcome, AttemptResult, Command, Event, Finding, Phase, Refusal, Reminder,
    SafetyClass, Status, Trouble, explain,
};
use holdpoint_engine::limits::{INCONCLUSIVE_CHECKS_MAX, RESENDS_MAX};
use holdpoint_engine::time::{Elapsed, Timestamp};
use serde_json::json;

use crate::given::{Case, DEADLINE, HOUR, T0, approve, at, commit, found, json_of, snapshot};

/// How long the target of these cases keeps keys, in milliseconds: ten minutes.
const KEPT: u64 = 600_000;

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
        http_status: None,
        message: "the answer was lost".to_owned(),
    }
}

fn refused(status: u16) -> AttemptOutcome {
    AttemptOutcome::Refused {
        http_status: Some(status),
        answer: json_of(&json!("no")),
    }
}

/// A call without a check, sent at 2 ms to a target that keeps keys, whose answer was lost.
fn in_doubt(kept_ms: u64) -> Case {
    let mut case = Case::accepted(SafetyClass::WriteOnceCheckable);
    case.action.proposal.terms.can_check = false;
    case.keyed(kept_ms)
        .then(commit(at(2)))
        .then(record(1, lost(), at(1_000)))
}

fn resend_at(case: &Case) -> Timestamp {
    let Phase::Unknown {
        next_resend: Some(moment),
        ..
    } = case.action.phase
    else {
        panic!("a resend is planned: {:?}", case.action.phase);
    };
    moment
}

fn resend(moment: Timestamp) -> Command {
    Command::Resend {
        revalidation: found(),
        at: moment,
    }
}

/// The same, with the call on its way again.
fn resending(case: Case) -> Case {
    let due = resend_at(&case);
    case.then(resend(due))
}

#[test]
fn incident_04_a_doubtful_call_is_sent_again_only_to_a_target_that_keeps_keys() {
    let mut without = Case::accepted(SafetyClass::WriteOnceCheckable);
    without.action.proposal.terms.can_check = false;
    let without = without
        .arranged(Arrangement::default())
        .then(commit(at(2)))
        .then(record(1, lost(), at(1_000)));
    assert_eq!(without.action.due_at(), None, "a person is asked");
    assert!(matches!(
        without.when(resend(at(2_000))),
        Err(Refusal::OutOfPlace { .. })
    ));
    let case = resending(in_doubt(KEPT));
    assert_eq!(case.action.status(), Status::Executing);
    let second = &case.action.attempts[1];
    assert!(second.is_resend);
    assert_eq!(
        second.request_digest,
        case.action.attempts[0].request_digest
    );
    let done = case.then(record(
        2,
        AttemptOutcome::Done {
            http_status: Some(201),
            result: json_of(&json!({ "id": 1 })),
        },
        at(9_000),
    ));
    assert_eq!(done.action.status(), Status::Succeeded);
}

#[test]
fn incident_18_a_refused_resend_says_nothing_about_the_first_send() {
    for status in [400, 401, 403, 404, 410, 412, 422] {
        let case = resending(in_doubt(KEPT)).then(record(2, refused(status), at(9_000)));
        assert_eq!(case.action.status(), Status::Unknown, "{status}");
        assert_eq!(
            case.action.attempts[0].result,
            Some(AttemptResult::Unknown),
            "{status}"
        );
        assert_eq!(
            case.action.attempts[1].result,
            Some(AttemptResult::NotDone),
            "{status}"
        );
    }
    let moved = AttemptOutcome::VersionMoved {
        answer: json_of(&json!(null)),
    };
    let undelivered = AttemptOutcome::NotDelivered {
        message: "refused".to_owned(),
    };
    for outcome in [moved, undelivered, lost()] {
        let case = resending(in_doubt(KEPT)).then(record(2, outcome, at(9_000)));
        assert_eq!(case.action.status(), Status::Unknown);
        assert_eq!(case.action.attempts[0].result, Some(AttemptResult::Unknown));
    }
}

#[test]
fn i10_a_target_that_knows_the_key_with_other_bytes_is_an_alarm_for_a_person() {
    let case = resending(in_doubt(KEPT)).then(record(2, refused(422), at(9_000)));
    assert_eq!(case.action.due_at(), None, "no number of sends would tell");
    let why = explain(
        &case.action,
        &case.events,
        false,
        &Elapsed::by_clock(at(10_000)),
    )
    .expect("it needs a person");
    assert_eq!(why.trouble, Trouble::Unknown);
    assert!(why.tried.iter().any(|line| line.starts_with("ALARM")));
    assert!(why.help.contains("actions settle"), "{}", why.help);
}

#[test]
fn i02_nothing_is_sent_again_after_retention_counted_from_the_first_send() {
    // 10 s to send and 60 s on the way must be over before the target forgets the key.
    let last = 2 + i64::try_from(KEPT).expect("small") - 70_000;
    let case = in_doubt(KEPT);
    assert!(matches!(
        case.when(resend(at(last))).as_deref(),
        Ok([Event::ResendRecorded { .. }])
    ));
    assert!(matches!(
        case.when(resend(at(last + 1))).as_deref(),
        Ok([Event::ResendDropped { .. }])
    ));
    // A second doubt does not make the time any longer.
    let again = resending(case).then(record(2, lost(), at(400_000)));
    let dropped = again.when(resend(at(last + 1)));
    assert!(matches!(
        dropped.as_deref(),
        Ok([Event::ResendDropped { .. }])
    ));
    assert_eq!(in_doubt(70_000).action.due_at(), None, "there is no time");
}

#[test]
fn i02_the_number_of_resends_is_bounded() {
    let mut case = in_doubt(24 * 3_600_000);
    let mut sends = 0;
    while let Phase::Unknown {
        next_resend: Some(due),
        ..
    } = case.action.phase
    {
        sends += 1;
        case = case
            .then(resend(due))
            .then(record(1 + sends, lost(), Timestamp(due.0 + 10_000)));
    }
    assert_eq!(sends, RESENDS_MAX);
    assert_eq!(case.action.due_at(), None, "then a person is asked");
}

#[test]
fn i03_a_resend_needs_the_world_that_was_approved() {
    let case = Case::approved().keyed(KEPT).then(approve("ana", at(1)));
    let mut case = case.then(commit(at(2)));
    case.action.proposal.terms.can_check = false;
    let case = case.then(record(1, lost(), at(1_000)));
    let mut revalidation = found();
    revalidation.snapshot = Some(snapshot(1));
    let due = resend_at(&case);
    let dropped = case.then(Command::Resend {
        revalidation,
        at: due,
    });
    assert_eq!(dropped.action.status(), Status::Unknown);
    assert_eq!(
        dropped.action.due_at(),
        None,
        "it may be our own first send"
    );
}

#[test]
fn i02_a_resend_that_is_dropped_leaves_the_doubt_to_a_person() {
    let case = Case::approved().keyed(KEPT).then(approve("ana", at(1)));
    let mut case = case.then(commit(at(2)));
    let message = || "nobody knows how long ago it was".to_owned();
    let none_planned = Command::DropResend {
        message: message(),
        at: at(3),
    };
    assert!(case.when(none_planned).is_err());
    case.action.proposal.terms.can_check = false;
    let case = case.then(record(1, lost(), at(1_000)));
    let dropped = case.then(Command::DropResend {
        message: message(),
        at: at(1_001),
    });
    assert_eq!(dropped.action.status(), Status::Unknown);
    assert_eq!(dropped.action.due_at(), None);
}

#[test]
fn i09_an_approval_that_has_ended_is_not_used_for_a_resend() {
    let long = 48 * 3_600_000;
    let case = Case::staged().keyed(long).then(approve("ana", at(1)));
    let mut case = case.then(commit(Timestamp(DEADLINE.0 - 20_000)));
    case.action.proposal.terms.can_check = false;
    let case = case.then(record(1, lost(), Timestamp(DEADLINE.0 - 10_000)));
    assert!(matches!(
        case.when(resend(DEADLINE)).as_deref(),
        Ok([Event::ResendDropped { .. }])
    ));
}

#[test]
fn where_the_target_can_be_asked_it_is_asked_before_anything_is_sent_again() {
    let mut case = Case::accepted(SafetyClass::WriteOnceCheckable)
        .keyed(24 * 3_600_000)
        .then(commit(at(2)))
        .then(record(1, lost(), at(1_000)));
    for _ in 0..INCONCLUSIVE_CHECKS_MAX {
        let Phase::Unknown {
            next_check: Some(due),
            next_resend: None,
            ..
        } = case.action.phase
        else {
            panic!("it is asked first");
        };
        let due = Timestamp(due.0.max(at(80_000).0));
        case = case.then(Command::Check {
            attempt: 1,
            finding: Finding::Inconclusive {
                message: "503".to_owned(),
            },
            asked_at: due,
            at: due,
        });
    }
    let case = resending(case);
    assert_eq!(case.action.attempts.len(), 2);
}

#[test]
fn incident_69_people_are_reminded_at_half_and_at_nine_tenths() {
    let remind = |moment: i64| Command::Remind { at: at(moment) };
    let case = Case::staged();
    assert_eq!(case.when(remind(12 * HOUR - 1)), Ok(Vec::new()));
    let half = case.clone().then(remind(12 * HOUR));
    assert_eq!(half.action.reminded, Some(Reminder::Half));
    assert_eq!(half.when(remind(13 * HOUR)), Ok(Vec::new()), "once");
    let last = 24 * HOUR - 24 * HOUR / 10;
    let both = half.then(remind(last));
    assert_eq!(both.action.reminded, Some(Reminder::NineTenths));
    assert_eq!(both.when(remind(24 * HOUR - 1)), Ok(Vec::new()), "once");
    assert_eq!(both.action.status(), Status::Staged, "nothing else changes");
    // Late for both: what half would say is no longer true.
    let late = case.clone().then(remind(last + 1));
    assert_eq!(late.action.reminded, Some(Reminder::NineTenths));
    assert_eq!(late.action.next_reminder(), None);
    assert_eq!(case.kinds(remind(24 * HOUR)), Ok(vec!["action.expired"]));
}

#[test]
fn whoever_voted_needs_no_reminder() {
    let case = Case::approved();
    assert_eq!(case.action.next_reminder(), None);
    assert_eq!(
        case.when(Command::Remind { at: at(20 * HOUR) }),
        Ok(Vec::new())
    );
}

#[test]
fn i27_what_could_be_called_and_is_not_is_explained() {
    let sent = Case::accepted(SafetyClass::Irreversible);
    let pulled = Case::pulled(SafetyClass::WriteOnceCheckable);
    for (case, paused, next, help) in [
        (&sent, true, "paused", "holdpoint resume"),
        (&sent, false, "its turn", "the log of the server"),
        (&pulled, false, "a worker that claims", "start the worker"),
    ] {
        assert_eq!(
            explain(&case.action, &[], paused, &Elapsed::by_clock(T0)),
            None
        );
        let why = explain(&case.action, &[], paused, &Elapsed::by_clock(at(HOUR)))
            .expect("it stands still");
        assert_eq!((why.trouble, why.since), (Trouble::Stuck, T0));
        assert!(why.next.contains(next), "{}", why.next);
        assert!(why.help.contains(help), "{}", why.help);
    }
}

#[test]
fn i27_an_unknown_outcome_is_explained_with_what_comes_next() {
    let asked = Case::accepted(SafetyClass::WriteOnceCheckable)
        .then(commit(at(2)))
        .then(record(1, lost(), at(1_000)));
    let mut alone = Case::accepted(SafetyClass::WriteOnceCheckable);
    alone.action.proposal.terms.can_check = false;
    let alone = alone
        .arranged(Arrangement::default())
        .then(commit(at(2)))
        .then(record(1, lost(), at(1_000)));
    for (case, paused, next) in [
        (&asked, false, "the source of truth is asked again at"),
        (&in_doubt(KEPT), false, "sent again with the same key at"),
        (&in_doubt(KEPT), true, "but the engine is paused"),
        (&alone, false, "a person must settle it"),
    ] {
        let why = explain(
            &case.action,
            &case.events,
            paused,
            &Elapsed::by_clock(at(2_000)),
        )
        .expect("it is in doubt");
        assert_eq!((why.trouble, why.since), (Trouble::Unknown, at(1_000)));
        assert!(
            why.tried[0].contains("the answer was lost"),
            "{:?}",
            why.tried
        );
        assert!(why.next.contains(next), "{}", why.next);
        assert!(why.next.contains("proves nothing"), "{}", why.next);
        assert!(why.help.contains("actions settle"), "{}", why.help);
    }
}
